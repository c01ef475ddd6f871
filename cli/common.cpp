#include "chatty/cli/common.h"

#include <fmt/ranges.h>
#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "chatty/cli/interrupt.h"
#include "chatty/core/bytes.h"
#include "chatty/core/error.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/core/suggestion.h"
#include "chatty/core/version.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/results.h"
#include "chatty/io/writer.h"
#include "chatty/partition/part_file.h"

namespace chatty::cli {
namespace {

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A vertex from text in the graph's ids, 0-based.
VertexId ParseVertex(std::string_view option, std::string_view text, const Graph& graph) {
  const std::optional<std::uint64_t> id = ParseNumber<std::uint64_t>(text);
  const std::optional<VertexId> v = id ? graph.find(*id) : std::nullopt;
  if (v) return *v;
  if (graph.vertices() == 0) Throw<UsageError>("{} {}: not a vertex; the graph has none", option, text);
  Throw<UsageError>("{} {}: not a vertex; the graph's are {} to {}{}", option, text, graph.id(0),
                    graph.id(graph.vertices() - 1),
                    !graph.ids().empty()    ? ", with gaps (--ids zero counts from 0)"
                    : graph.first_id() == 1 ? " (--ids zero counts from 0)"
                                            : "");
}

/// A random-looking 64-bit number, the same everywhere (Steele, Lea and Flood's SplitMix64, OOPSLA'14).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string Shortened(double value, std::string_view unit) {
  return fmt::format("{:.{}f} {}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

bool IsNpy(const std::string& path) {
  constexpr std::string_view kMagic{"\x93NUMPY", 6};
  if (path == "-") return false;
  return Input(path).Peek(kMagic.size()) == kMagic;
}

/// Whether -1 can only mean unreached: in a program's own signed numbers it may be a value.
ResultKind KindToRead(const ErasedValues& shape) {
  if (shape.is_vertex) return ResultKind::kVertex;
  const bool is_unsigned = shape.type == ScalarType::kUint32 || shape.type == ScalarType::kUint64;
  return is_unsigned || shape.name == "level" || shape.name == "distance" ? ResultKind::kDistance : ResultKind::kNumber;
}

}  // namespace

// ------------------------------------------------------------------ output ----

void PrintText(std::string_view text) {
  Progress::WipeLine();
  OutputFile output("-");
  output.Write(text);
  output.Commit();
}

namespace {
bool g_quiet = false;
}  // namespace

void SetQuiet(bool quiet) { g_quiet = quiet; }

void PrintReport(std::string_view text, bool aside) {
  if (g_quiet) return;
  if (aside) {
    PrintError(text);
  } else {
    PrintText(text);
  }
}

void PrintError(std::string_view text) noexcept {
  Progress::WipeLine();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void WriteJson(const std::string& path, const Json& json) {
  OutputFile output(path);
  // A path need not be UTF-8; JSON has to be.
  output.Write(json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace));
  output.Letter('\n');
  output.Commit();
}

namespace {

void AppendLines(const Json& json, std::size_t indent, std::string& text) {
  const auto compact = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  const auto is_plain = [](const Json& value) { return !value.is_structured(); };
  if (json.is_object() ? json.empty() : std::all_of(json.begin(), json.end(), is_plain)) {
    text += compact(json);
    return;
  }
  text += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [name, value] : json.items()) {
    text += first ? "\n" : ",\n";
    text.append(indent + 2, ' ');
    if (json.is_object()) {
      text += compact(name) + ": ";
      AppendLines(value, indent + 2, text);
    } else {
      text += compact(value);
    }
    first = false;
  }
  text += '\n';
  text.append(indent, ' ');
  text += json.is_object() ? '}' : ']';
}

}  // namespace

void WriteJsonLines(const std::string& path, const Json& json) {
  std::string text;
  AppendLines(json, 0, text);
  OutputFile output(path);
  output.Write(text);
  output.Letter('\n');
  output.Commit();
}

void PrepareOutput(const std::string& path) {
  if (path.empty() || path == "-") return;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) Throw<InputError>("{}: is a directory; name a file in it", path);
    if (!S_ISREG(info.st_mode)) return;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    Throw<InputError>("{}: cannot be created: {}: {}", path, folder, ErrnoText(errno));
  }
  TakeInterrupts();
}

void PrepareJson(const std::string& path) {
  RefuseOtherSuffix("--json", path, "the record is JSON (.json)", {".json"});
  PrepareOutput(path);
}

void RefuseOtherSuffix(std::string_view option, const std::string& path, std::string_view forms,
                       std::initializer_list<std::string_view> own, bool decided) {
  constexpr std::string_view kPacked[] = {".bz2", ".xz", ".lz4", ".lzma", ".br", ".z",
                                          ".zip", ".7z", ".rar", ".tar",  ".tgz"};
  constexpr std::string_view kOthers[] = {
      ".csv",     ".tsv",         ".parquet", ".feather", ".arrow", ".orc",    ".avro",   ".xlsx",   ".xls",   ".ods",
      ".h5",      ".hdf5",        ".nc",      ".npz",     ".mat",   ".pkl",    ".pt",     ".pickle", ".jsonl", ".ndjson",
      ".xml",     ".yaml",        ".yml",     ".html",    ".db",    ".sqlite", ".pdf",    ".svg",    ".png",   ".dot",
      ".graphml", ".safetensors", ".npy",     ".json",    ".htm",   ".bson",   ".msgpack"};
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string lower = name;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  for (const std::string_view suffix : kPacked) {
    if (!lower.ends_with(suffix) && !name.ends_with(suffix)) continue;
    Throw<UsageError>("{} {}: nothing is packed as {}; end it in .gz or .zst, or pack it afterwards", option, path, suffix);
  }
  const bool packs = name.size() < lower.size();
  const bool chooses = own.size() > 1;  // among several forms
  const bool names_own =
      chooses && std::any_of(own.begin(), own.end(), [&](std::string_view form) { return name.ends_with(form); });
  const std::size_t kept = name.size() - (names_own ? name.size() - name.rfind('.') : 0);
  if ((packs || names_own) && !path.ends_with(lower.substr(kept))) {
    Throw<UsageError>("{} {}: suffixes are in lower case: end it in {}", option, path, lower.substr(kept));
  }
  if (decided) return;
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  const std::string suffix = name.substr(dot);
  const bool is_graph = suffix != ".txt" && suffix.size() > 1 && FormatOfSuffix(name).has_value();
  if (std::find(own.begin(), own.end(), suffix) != own.end()) return;
  if (!is_graph && std::find(std::begin(kOthers), std::end(kOthers), suffix) == std::end(kOthers)) return;
  Throw<UsageError>("{} {}: no {} file is written here; {}", option, path, suffix, forms);
}

void AddLossyOption(CLI::App& command, bool& lossy) {
  command.add_flag("--lossy", lossy, "Write also where the format cannot say all of the graph; what is lost is told");
}

std::vector<std::string> TakeLosses(const Graph& graph, const std::string& path, const std::optional<std::string>& format,
                                    bool lossy, std::string_view remedy) {
  std::vector<std::string> lost = LossesOf(graph, path, format);
  if (!lost.empty() && !lossy) {
    Throw<UsageError>("{}: its format cannot say all of the graph: {}; {}.chatty keeps all, and --lossy writes it so", path,
                      fmt::join(lost, "; "), remedy);
  }
  return lost;
}

std::string DescribeLosses(const std::vector<std::string>& lost, const std::string& path, int width) {
  std::string text;
  for (const std::string& what : lost) {
    if (path == "-") Log().warn("the format of what is written cannot say all of the graph: {}", what);
    text += fmt::format("  {:<{}} {}\n", "lost", width, what);
  }
  return text;
}

std::vector<std::string> GraphOutputFiles(const std::string& path, const std::optional<std::string>& format) {
  std::vector<std::string> files{path};
  const std::optional<GraphFormat> chosen = format ? ParseFormat(*format) : FormatOfSuffix(path);
  if (chosen == GraphFormat::kLdbc && path != "-") {
    const auto [vertices, edges] = LdbcFilesBeside(path);
    files.insert(files.end(), {vertices, edges});
  }
  return files;
}

void RefuseSameFile(std::string_view option, const std::string& path, std::string_view other_option,
                    const std::string& other) {
  namespace fs = std::filesystem;
  if (path.empty() || other.empty() || path == "-" || other == "-") return;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;  // /dev/null takes any number of outputs
  // Links, hard ones too, are seen where both exist; otherwise the folders decide.
  bool same = fs::equivalent(path, other, error);
  if (error) {
    std::error_code ignored;
    const fs::path a = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    same = !a.empty() && a == fs::weakly_canonical(fs::absolute(other, ignored), ignored);
  }
  if (same) Throw<UsageError>("{} {} and {} {} are the same file; name another", option, path, other_option, other);
}

CLI::Validator NotEmpty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "is empty; write a value" : ""; }, "");
}

CLI::Validator OneOf(std::vector<std::string_view> names) {
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        return fmt::format("there is no '{}'{}; choose one of {}", text, DidYouMean(text, names), fmt::join(names, ", "));
      },
      "");
}

CLI::Validator Unnamed(const CLI::Validator& validator) { return validator.description(""); }

CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::string() : fmt::format("'{}' is not a whole number", text);
      },
      "");
}

CLI::Validator SecondsBetween(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double seconds = 0;
        const bool valid = CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= most;
        return valid ? std::string() : fmt::format("'{}' is no number of seconds from {} to {}", text, least, most);
      },
      "");
}

CLI::Option* AddJsonOption(CLI::App& command, std::string& path) {
  return command
      .add_option("--json", path, "Write a record as JSON; - for standard output, and then nothing else goes there")
      ->type_name("FILE|-")
      ->check(NotEmpty());
}

std::string Grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string FormatMs(double ms) { return ms < 10000 ? Shortened(ms, "ms") : Shortened(ms / 1000, "s"); }

std::string FormatBytes(std::uint64_t bytes) { return chatty::FormatBytes(bytes); }

CLI::Option* AddBytesOption(CLI::App& command, const std::string& name, std::uint64_t& bytes, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [name, &bytes](const std::string& text) {
            const std::optional<std::uint64_t> parsed = ParseBytes(text);
            if (!parsed) {
              throw CLI::ValidationError(name, fmt::format("'{}' is no size; write, say, 500M, 2G or 1.5GiB", text));
            }
            bytes = *parsed;
          },
          help)
      ->type_name("SIZE");
}

std::string Coloured(std::string_view text, bool good) {
  if (::isatty(STDOUT_FILENO) == 0) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", good ? 32 : 31, text);
}

// ----------------------------------------------------------------- loading ----

void AddLoadOptions(CLI::App& command, LoadOptions& options, const std::string& format_flag, bool uses) {
  const std::string group = "Loading";
  command
      .add_option(format_flag, options.format,
                  fmt::format("The input's format, which is otherwise seen from its content: {}", DescribeFormats()))
      ->type_name("FORMAT")
      ->group(group);
  if (uses) {
    command
        .add_option("--ids", options.ids,
                    "`file`: vertex ids are the file's own (default); `zero`, `one`: counted from 0 or 1")
        ->type_name("file|zero|one")
        ->check(OneOf({"file", "zero", "one"}))
        ->group(group);
    command
        .add_option("--weights", options.weights,
                    "`file`: as the file has them (default); `int`, `float`: converted, 1 where there are none; `none`: "
                    "dropped")
        ->type_name("file|int|float|none")
        ->check(OneOf({"file", "int", "float", "none"}))
        ->group(group);
  }
  command.add_flag("--symmetrise", options.read.symmetrise, "Every edge goes both ways, whatever the file says")
      ->group(group);
  command
      .add_flag("--directed", options.read.directed, "Edges go as stored, even where the file says that they go both ways")
      ->group(group);
  command.add_flag("--keep-loops", options.read.keep_loops, "Keep edges from a vertex to itself")->group(group);
  command
      .add_flag("--keep-parallel", options.read.keep_parallel,
                "Keep all edges between the same two vertices, not only the lightest")
      ->group(group);
  command
      .add_option(
          "--cache", options.cache,
          "Keep the graph in DIR as it is in memory, with its division among devices, and read both from there next time; "
          "`off` (default): do not")
      ->type_name("DIR|off")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_flag("--compact-ids", options.read.compact_ids,
                "Of an edge list: only ids that an edge names are vertices, so that gaps between ids take no memory")
      ->group(group);
  AddBytesOption(command, "--host-memory-limit", options.host_memory_limit,
                 "Memory that the host may hold, host devices included, say 500M, 2G or 1.5GiB; what needs more is refused "
                 "(default: what is available)")
      ->group(group);
  command.add_option("--threads", options.read.threads, "CPU threads to use (default: one a core)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(1, kMaxThreads)))
      ->group(group);
}

namespace {

ReadOptions ToReadOptions(const LoadOptions& options) {
  ReadOptions read = options.read;
  if (!options.format.empty()) read.format = options.format;
  read.memory_limit = options.host_memory_limit;
  return read;
}

/// Throws OutOfMemoryError, before anything is read, for a graph that takes more host memory than the limit, by its header
/// or, where it has none, by how long its lines are.
void RefuseBeyondLimit(const std::string& path, const LoadOptions& options) {
  const std::optional<GraphPeek> peek = PeekGraph(path, ToReadOptions(options));
  if (!peek) return;
  const std::uint64_t limit = options.host_memory_limit;
  const auto entry = [&](std::uint64_t ids) {
    return ids * sizeof(VertexId) + (peek->weights == WeightKind::kNone ? 0 : sizeof(float));
  };
  if (peek->vertices) {
    const std::uint64_t needed = (*peek->vertices + 1) * sizeof(EdgeIndex) + peek->edges_least * entry(1);
    if (needed <= limit) return;
    Throw<OutOfMemoryError>(
        "out of memory (nothing was allocated): a graph of {} vertices and {} stored edges ({}) needs at least {} of host "
        "memory, but the host's limit allows only {}: use a smaller graph or a larger limit",
        *peek->vertices, peek->stored, peek->from, FormatBytes(needed), FormatBytes(limit));
  }
  const std::uint64_t needed = peek->edges_likely * entry(2);
  if (needed - needed / 4 <= limit) return;  // of what is near the limit the reader finds out
  Throw<OutOfMemoryError>(
      "out of memory (nothing was allocated): {} has about {} edges, and reading them needs about {} of host memory, but "
      "the "
      "host's limit allows only {}: use a smaller graph or a larger limit",
      path, peek->edges_likely, FormatBytes(needed), FormatBytes(limit));
}

}  // namespace

std::optional<GraphPeek> Peek(const std::string& path, const LoadOptions& options) {
  std::optional<GraphPeek> peek = PeekGraph(path, ToReadOptions(options));
  if (peek && options.weights != "file") {
    peek->weights = options.weights == "int"     ? WeightKind::kInt32
                    : options.weights == "float" ? WeightKind::kFloat32
                                                 : WeightKind::kNone;
  }
  return peek;
}

LoadedGraph Load(const std::string& path, const LoadOptions& options) {
  LoadedGraph loaded;
  loaded.path = path;
  const ReadOptions read = ToReadOptions(options);
  if (options.cache != "off") TakeInterrupts();  // it is written to
  if (read.threads > 0) omp_set_num_threads(read.threads);
  if (options.host_memory_limit > 0) RefuseBeyondLimit(path, options);
  const PhaseLine phase("loading");
  const Stopwatch watch;
  if (options.cache == "off") {
    loaded.graph = ReadGraph(path, read, &loaded.report);
  } else {
    loaded.graph = ReadGraphCached(path, read, options.cache, &loaded.report, &loaded.cache);
  }
  if (options.weights != "file") {
    loaded.graph = loaded.graph.WithWeights(options.weights == "int"     ? WeightKind::kInt32
                                            : options.weights == "float" ? WeightKind::kFloat32
                                                                         : WeightKind::kNone);
  }
  if (options.ids != "file") {
    loaded.graph.set_first_id(options.ids == "one" ? 1 : 0);
    loaded.graph.set_ids({});
  }
  loaded.ms = watch.ms();
  return loaded;
}

Json BuildJson() {
  Json json;
  json["version"] = Version();
  json["commit"] = GitCommit();
  json["compiler"] = CompilerVersion();
  json["cuda"] = CudaVersion().empty() ? Json(nullptr) : Json(CudaVersion());
  json["vertex_bits"] = CHATTY_VERTEX_BITS;
  return json;
}

Json GraphJson(const LoadedGraph& loaded) {
  const Graph& graph = loaded.graph;
  Json json;
  json["path"] = loaded.path;
  json["name"] = graph.name();
  json["vertices"] = graph.vertices();
  json["edges"] = graph.edges();
  json["symmetric"] = graph.symmetric();
  json["weights"] = WeightName(graph.weight_kind());
  json["first_id"] = graph.ids().empty() ? Json(graph.first_id()) : Json(nullptr);  // null: ids leave gaps
  json["least_id"] = IdJson(graph, graph.vertices() == 0 ? kNoVertex : 0);
  json["largest_id"] = IdJson(graph, graph.vertices() == 0 ? kNoVertex : graph.vertices() - 1);
  if (loaded.cache.use != CacheReport::Use::kNone) {
    json["cache"] = {{"use", CacheUseName(loaded.cache.use)}, {"file", loaded.cache.file}};
  }
  return json;
}

Json IdJson(const Graph& graph, VertexId v) { return v == kNoVertex ? Json(nullptr) : Json(graph.id(v)); }

std::string DescribeLoad(const LoadedGraph& loaded, const LoadOptions& options, int width) {
  const ReadReport& report = loaded.report;
  const BuildReport& build = report.build;
  std::string text;
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<{}} {}\n", name, width, value);
  };
  const bool cached = loaded.cache.use == CacheReport::Use::kRead;
  line("file", fmt::format("{}, {}, {}, loaded {}in {} ({:.0f} MB/s)", FormatName(report.format),
                           CompressionName(report.compression), FormatBytes(report.bytes), cached ? "from the cache " : "",
                           FormatMs(loaded.ms), static_cast<double>(report.bytes) / 1e3 / std::max(loaded.ms, 1e-3)));
  if (cached) {
    line("cache", loaded.cache.file);
  } else if (loaded.cache.use == CacheReport::Use::kFilled) {
    line("cache", fmt::format("filled {}{}", loaded.cache.file,
                              loaded.cache.why.empty() ? "" : fmt::format(", which {}", loaded.cache.why)));
  } else if (!loaded.cache.why.empty()) {
    line("cache", fmt::format("not used: {}", loaded.cache.why));
  }
  const std::string direction = report.symmetrised ? options.read.symmetrise ? "both ways (--symmetrise)" : "both ways"
                                : loaded.graph.symmetric() ? "both ways, as they are stored"
                                : options.read.directed    ? "as stored (--directed)"
                                                           : "as stored (--symmetrise adds the reverse ones)";
  const auto dropped = [](bool keep, std::string_view what, std::uint64_t count, std::string_view verb) {
    return keep ? fmt::format("{} kept", what) : fmt::format("{} {} {}", Grouped(count), what, verb);
  };
  line("read as", fmt::format("{} edges {}; {}; {}", Grouped(build.edges_given), direction,
                              dropped(options.read.keep_loops, "loops", build.loops_removed, "dropped"),
                              dropped(options.read.keep_parallel, "parallel edges", build.parallel_merged,
                                      "merged into the lightest")));
  for (const std::string& note : report.notes) line("", note);
  line("", report.format != GraphFormat::kEdgeList ? "vertices without edges kept"
           : options.read.compact_ids              ? "ids that no edge names left out (--compact-ids)"
                                      : "ids that no edge names kept, without edges (--compact-ids leaves them out)");
  return text;
}

std::string DescribeGraph(const Graph& graph, std::string_view unweighted) {
  const WeightKind weights = graph.weight_kind();
  return fmt::format("{}: {} vertices, {} edges, {}, {}", graph.name(), Grouped(graph.vertices()), Grouped(graph.edges()),
                     graph.symmetric() ? "symmetric" : "directed",
                     weights == WeightKind::kNone ? "no weights" : fmt::format("{} weights", WeightName(weights))) +
         (weights == WeightKind::kNone || unweighted.empty() ? "" : fmt::format(", which {} does not use", unweighted));
}

// --------------------------------------------------------------- partition ----

void CheckParts(const Partitioner& partitioner, PartId parts, std::string_view whose) {
  if (partitioner.parts() == 0 || partitioner.parts() == parts) return;
  const std::string note = DescribeEmptyParts(partitioner);
  Throw<UsageError>("--partition {} divides into {} parts, which does not go with {}{}{}", partitioner.name(),
                    partitioner.parts(), whose, note.empty() ? "" : "; ", note);
}

CLI::Option* AddFallbackOption(CLI::App& command, bool& allow_fallback) {
  return command.add_flag_callback(
      "--no-fallback", [&allow_fallback] { allow_fallback = false; },
      "Fail where partition metis cannot be had, rather than warn and use edge-balanced");
}

Json QualityJson(const Partition& partition, const PartitionQuality& quality) {
  Json json;
  json["name"] = partition.name();
  json["parts"] = partition.parts();
  json["edge_cut"] = quality.edge_cut;
  json["owned"] = quality.owned;
  json["edges"] = quality.edges;
  json["border"] = quality.border;
  json["border_union"] = quality.border_union;
  json["vertex_balance"] = quality.vertex_balance;
  json["edge_balance"] = quality.edge_balance;
  return json;
}

// -------------------------------------------------------------- parameters ----

void AddParameterOptions(CLI::App& command, ParameterOptions& options, bool runs) {
  const std::string group = "Program";
  command
      .add_option("--value", options.value,
                  fmt::format("Which of the program's values {}, say `parent` for bfs", runs ? "to compute" : "it is"))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--source", options.source,
                  fmt::format("Vertex to start from: its id{} or `max-degree` (default; the least id among equals)",
                              runs ? ", `random:SEED` (another one in each trial, of those with out-edges)" : ""))
      ->type_name(runs ? "N|random:SEED|max-degree" : "N|max-degree")
      ->check(NotEmpty())
      ->group(group);
  command.add_option("--set", options.set, "Set any of the program's parameters; `chatty programs` lists them")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--vertex-data", options.vertex_data,
                  "An array with a number for each vertex that the program takes, `chatty programs` says which: lines `id "
                  "value`, a value a line in the order of ids, or a NumPy array")
      ->type_name("NAME=FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--damping", options.damping, "Short for --set damping=...")
      ->type_name("X")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_option(
          "--tolerance", options.tolerance,
          runs ? "Short for --set tolerance=..."
               : "How far real values may be off, relative to each, above 0 and below 1 (default: 1e-4); of a program "
                 "with a parameter `tolerance`, short for --set tolerance=...")
      ->type_name("X")
      ->check(NotEmpty())
      ->group(group);
  command.add_option("--rounds", options.rounds, "Short for --set rounds=...")
      ->type_name("N")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_option("--precision", options.precision,
                  "What pagerank keeps ranks in: `float` (default), whose rounding ends near 1e-7, or `double`")
      ->type_name("float|double")
      ->check(CLI::IsMember({"float", "double"}))
      ->group(group);
}

namespace {

/// Of `random` and `random:SEED`; none for the others. Throws UsageError for what is no source whatever the graph.
std::optional<std::uint64_t> SourceSeed(std::string_view text, std::uint64_t default_seed) {
  if (text == "random") return default_seed;
  if (text.starts_with("random:")) {
    const std::optional<std::uint64_t> seed = ParseNumber<std::uint64_t>(text.substr(7));
    if (!seed) Throw<UsageError>("--source {}: the seed is no whole number; write, say, random:1", text);
    return seed;
  }
  if (text != "max-degree" && (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)) {
    Throw<UsageError>("--source '{}': write a vertex id, random:SEED or max-degree", text);
  }
  return std::nullopt;
}

/// What the command line sets, each name once and known.
struct GivenParameter {
  std::string_view name, value;
  bool is_vertex;
};

std::vector<GivenParameter> Given(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<ParameterInfo> known = program.parameters();
  std::vector<GivenParameter> given;
  const auto set = [&](std::string_view name, std::string_view value) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const ParameterInfo& p) { return p.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      names.reserve(known.size());
      for (const ParameterInfo& p : known) names.emplace_back(p.name);
      Throw<UsageError>("program '{}' has no parameter '{}'{}; it has {}", program.name(), name, DidYouMean(name, names),
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    if (std::any_of(given.begin(), given.end(), [&](const GivenParameter& other) { return other.name == name; })) {
      Throw<UsageError>("parameter '{}' is set twice", name);
    }
    if (value.empty()) Throw<UsageError>("parameter '{}' is set to nothing; write {}=VALUE", name, name);
    given.push_back({name, value, found->is_vertex});
  };
  for (const std::string& pair : options.set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) Throw<UsageError>("--set {}: write NAME=VALUE", pair);
    set(std::string_view(pair).substr(0, equals), std::string_view(pair).substr(equals + 1));
  }
  if (!options.source.empty()) set("source", options.source);
  if (!options.damping.empty()) set("damping", options.damping);
  if (!options.tolerance.empty()) set("tolerance", options.tolerance);
  if (!options.rounds.empty()) set("rounds", options.rounds);
  return given;
}

}  // namespace

SourceChoice SourceChoice::Parse(std::string_view text, const Graph& graph, std::uint64_t default_seed) {
  if (graph.vertices() == 0) throw UsageError("the graph has no vertices, so there is none to start from");
  SourceChoice choice;
  if (const std::optional<std::uint64_t> seed = SourceSeed(text, default_seed)) {
    choice.random_ = true;
    choice.seed_ = *seed;
  } else {
    choice.vertex_ = text == "max-degree" ? graph.max_degree_vertex() : ParseVertex("--source", text, graph);
  }
  return choice;
}

VertexId SourceChoice::Pick(const Graph& graph, std::uint32_t trial) const {
  if (!random_) return vertex_;
  constexpr int kDraws = 64;
  const VertexId n = graph.vertices();
  const std::uint64_t stream = Mix(Mix(seed_) + trial);
  VertexId v = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    v = static_cast<VertexId>(Mix(stream + static_cast<std::uint64_t>(draw)) % n);
    if (graph.out_degree(v) > 0) return v;
  }
  for (VertexId step = 0; step < n; ++step) {  // few vertices have out-edges: take the next one that has
    const VertexId u = v < n - step ? v + step : v - (n - step);
    if (graph.out_degree(u) > 0) return u;
  }
  return v;
}

namespace {

/// Shorter names, and others that LDBC Graphalytics has.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"pr", "pagerank"}, {"wcc", "cc"}, {"ppr", "personalised_pagerank"}};

bool IsGiven(const ParameterOptions& options, std::string_view name) {
  const auto sets = [&](const std::string& pair) { return std::string_view(pair).substr(0, pair.find('=')) == name; };
  return (name == "source" && !options.source.empty()) || (name == "damping" && !options.damping.empty()) ||
         (name == "tolerance" && !options.tolerance.empty()) || (name == "rounds" && !options.rounds.empty()) ||
         std::any_of(options.set.begin(), options.set.end(), sets);
}

}  // namespace

std::string_view FullProgramName(const Registry& registry, std::string_view name) {
  const std::vector<const RegisteredProgram*> all = registry.All();
  const bool own = std::any_of(all.begin(), all.end(), [&](const RegisteredProgram* p) { return p->name() == name; });
  if (own) return name;
  for (const auto& [other, full] : kOtherNames) {
    if (name == other) return full;
  }
  return name;
}

const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind,
                                     std::string_view precision) {
  const RegisteredProgram& program = registry.Find(FullProgramName(registry, name), kind);
  constexpr std::string_view kSuffix = "_double";
  if (precision != "double" || program.name().ends_with(kSuffix)) return program;
  const std::string wide = fmt::format("{}{}", program.name(), kSuffix);
  std::string choices;
  for (const RegisteredProgram* other : registry.All()) {
    if (other->name() == wide) return registry.Find(wide, kind);
    if (other->name().ends_with(kSuffix)) {
      choices += choices.empty() ? "" : ", ";
      choices += other->name().substr(0, other->name().size() - kSuffix.size());
    }
  }
  Throw<UsageError>("--precision double: program '{}' has one precision; those that have two are {}", program.name(),
                    choices.empty() ? "none" : choices);
}

CLI::Option* AddLdbcOption(CLI::App& command, std::string& path) {
  return command
      .add_option("--ldbc", path,
                  "In place of GRAPH: a properties file of LDBC Graphalytics, which names the graph's files and says with "
                  "which parameters bfs, cdlp, lcc, pr, sssp and wcc run; options given besides go first")
      ->type_name("FILE.properties")
      ->check(NotEmpty());
}

LdbcChoice TakeLdbc(const std::string& path, const RegisteredProgram& program, ParameterOptions& parameters,
                    LoadOptions& load) {
  constexpr std::string_view kKnown[] = {"bfs", "cdlp", "lcc", "pagerank", "pagerank_double", "sssp", "cc"};
  const std::string_view name = program.name();
  if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
    Throw<UsageError>("--ldbc: LDBC Graphalytics has bfs, cdlp, lcc, pr, sssp and wcc, not {}; give GRAPH instead", name);
  }
  if (path == "-") throw UsageError("--ldbc -: the file names others beside it; give its path");
  if (!load.format.empty() && ParseFormat(load.format) != GraphFormat::kLdbc) {
    Throw<UsageError>("--format {} contradicts --ldbc; leave it out", load.format);
  }
  if (load.ids != "file") Throw<UsageError>("--ids {} contradicts --ldbc, whose parameters are in the file's ids", load.ids);
  load.format = FormatName(GraphFormat::kLdbc);
  LdbcChoice ldbc;
  ldbc.properties = ReadLdbcProperties(path);
  const LdbcProperties& file = ldbc.properties;
  const auto take = [&](std::string_view parameter, const auto& value, std::string_view property) {
    if (IsGiven(parameters, parameter)) return;
    if (!value) {
      Throw<InputError>("{}: does not say graph.{}.{}; add the line, or give --{}", path, file.name, property, parameter);
    }
    ldbc.taken.emplace_back(parameter, fmt::format("{}", *value));
    parameters.set.push_back(fmt::format("{}={}", parameter, *value));
  };
  if (name == "bfs") {
    take("source", file.bfs_source, "bfs.source-vertex");
  } else if (name == "sssp") {
    take("source", file.sssp_source, "sssp.source-vertex");
  } else if (name == "cdlp") {
    take("rounds", file.cdlp_rounds, "cdlp.max-iterations");
  } else if (name == "pagerank" || name == "pagerank_double") {
    take("damping", file.pr_damping, "pr.damping-factor");
    take("rounds", file.pr_rounds, "pr.num-iterations");
  }
  return ldbc;
}

std::string DescribeLdbc(const LdbcChoice& ldbc) {
  std::string text;
  for (const auto& [name, value] : ldbc.taken) text += fmt::format("{} {}, ", name, value);
  return text + (ldbc.taken.empty() ? "no parameters " : "") + "from " + ldbc.properties.path;
}

Json LdbcJson(const std::optional<LdbcChoice>& ldbc) {
  if (!ldbc) return nullptr;
  Json json;
  json["properties"] = ldbc->properties.path;
  json["taken"] = Json::object();
  for (const auto& [name, value] : ldbc->taken) json["taken"][name] = Json::parse(value);
  return json;
}

void CheckVerifier(const RegisteredProgram& program, std::string_view value, std::string_view remedy) {
  if (program.has_verifier(value)) return;
  Throw<UsageError>("program '{}' has no verifier{}, so nothing can tell whether an answer is right; {}", program.name(),
                    value.empty() ? "" : fmt::format(" of the value '{}'", value), remedy);
}

namespace {

/// Whether a parameter has no meaning beside one of these.
bool IsReplaced(std::string_view parameter, const std::vector<DataFile>& data) {
  return std::any_of(data.begin(), data.end(), [&](const DataFile& file) {
    const std::vector<std::string>& names = file.info.instead_of;
    return std::find(names.begin(), names.end(), parameter) != names.end();
  });
}

}  // namespace

std::vector<DataFile> VertexDataFiles(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<VertexDataInfo> known = program.vertex_data();
  std::vector<DataFile> files;
  for (const std::string& pair : options.vertex_data) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      Throw<UsageError>("--vertex-data {}: write NAME=FILE", pair);
    }
    const std::string name = pair.substr(0, equals), path = pair.substr(equals + 1);
    const auto found = std::find_if(known.begin(), known.end(), [&](const VertexDataInfo& i) { return i.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      names.reserve(known.size());
      for (const VertexDataInfo& info : known) names.emplace_back(info.name);
      Throw<UsageError>("--vertex-data {}: program '{}' takes no such array; it takes {}", pair, program.name(),
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    if (std::any_of(files.begin(), files.end(), [&](const DataFile& file) { return file.info.name == name; })) {
      Throw<UsageError>("--vertex-data {}: '{}' is given twice", pair, name);
    }
    if (path == "-") Throw<UsageError>("--vertex-data {}: data are read from a file; name one", pair);
    for (const std::string& parameter : found->instead_of) {
      if (!IsGiven(options, parameter)) continue;
      Throw<UsageError>("--vertex-data {}: parameter '{}' has no meaning beside it; give one of the two", pair, parameter);
    }
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) Input{path};  // throws
    files.push_back({*found, path});
  }
  for (const VertexDataInfo& info : known) {
    if (!info.required ||
        std::any_of(files.begin(), files.end(), [&](const DataFile& f) { return f.info.name == info.name; }))
      continue;
    Throw<UsageError>("program '{}' needs vertex data '{}', {}; give --vertex-data {}=FILE", program.name(), info.name,
                      info.help, info.name);
  }
  return files;
}

VertexData ReadVertexData(const std::vector<DataFile>& files, const Graph& graph) {
  VertexData data;
  for (const DataFile& file : files) {
    WithType(file.info.type, [&]<class T>(T) {
      VertexNumbers<T> read = ReadVertexNumbers<T>(file.path, graph.vertices(), graph, file.info.complete);
      data.emplace(file.info.name, VertexArray(VertexArray::Values(std::move(read.values)), std::move(read.present)));
    });
  }
  return data;
}

Json VertexDataJson(const std::vector<DataFile>& files) {
  Json json = Json::object();
  for (const DataFile& file : files) json[file.info.name] = file.path;
  return json;
}

void CheckParameters(const RegisteredProgram& program, const ParameterOptions& options) {
  ParameterValues values;
  for (const auto& [name, value, is_vertex] : Given(program, options)) {
    if (name == "source") {
      static_cast<void>(SourceSeed(value, 0));
    } else if (!is_vertex) {  // which vertices there are depends on the graph
      values.emplace(name, value);
    }
  }
  program.Check(values);
}

bool NamesVertex(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<GivenParameter> given = Given(program, options);
  return std::any_of(given.begin(), given.end(), [](const GivenParameter& p) {
    return p.is_vertex && (p.name != "source" || (p.value != "max-degree" && !SourceSeed(p.value, 0)));
  });
}

Parameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                             std::uint64_t seed) {
  Parameters parameters;
  std::string_view source = "max-degree";
  for (const auto& [name, value, is_vertex] : Given(program, options)) {
    if (name == "source") {
      source = value;
    } else if (is_vertex) {
      parameters.values.emplace(name, fmt::format("{}", ParseVertex(fmt::format("--set {}", name), value, graph)));
    } else {
      parameters.values.emplace(name, value);
    }
  }
  const std::vector<ParameterInfo> known = program.parameters();
  const bool replaced = IsReplaced("source", VertexDataFiles(program, options));
  if (!replaced && std::any_of(known.begin(), known.end(), [](const ParameterInfo& p) { return p.name == "source"; })) {
    parameters.source = SourceChoice::Parse(source, graph, seed);
  }
  return parameters;
}

Json ParametersJson(const RegisteredProgram& program, const Graph& graph, const ParameterValues& values,
                    const std::vector<DataFile>& data) {
  Json json = Json::object();
  for (const ParameterInfo& parameter : program.parameters()) {
    if (IsReplaced(parameter.name, data)) {
      json[parameter.name] = nullptr;
      continue;
    }
    const auto given = values.find(parameter.name);
    const std::string& text = given != values.end() ? given->second : parameter.default_value;
    if (const auto vertex = ParseNumber<VertexId>(text); parameter.is_vertex && vertex && *vertex < graph.vertices()) {
      json[parameter.name] = graph.id(*vertex);
    } else if (const auto integer = ParseNumber<std::int64_t>(text)) {
      json[parameter.name] = *integer;
    } else if (const auto real = ParseNumber<double>(text)) {
      json[parameter.name] = *real;
    } else {
      json[parameter.name] = text;
    }
  }
  return json;
}

// ------------------------------------------------------------------ values ----

CLI::Option* AddValueFormOption(CLI::App& command, std::string& name) {
  return command
      .add_option("--output-format", name,
                  "Form of the results, which otherwise goes by the name of the file: `text`; `ldbc`, text as LDBC "
                  "Graphalytics has it, reals as %.15e, unreached levels 9223372036854775807; `npy`; `json`")
      ->type_name("text|ldbc|npy|json")
      ->check(OneOf({"text", "ldbc", "npy", "json"}));
}

namespace {

/// Integer distances as reals, which LDBC Graphalytics has distances be.
template <class T>
Array<double> RealDistances(std::span<const T> distances) {
  Array<double> reals(distances.size());
  std::transform(distances.begin(), distances.end(), reals.begin(),
                 [](T d) { return d == kInfinity<T> ? kInfinity<double> : static_cast<double>(d); });
  return reals;
}

}  // namespace

void WriteValues(const std::string& path, const Graph& graph, const ErasedValues& values, const ValueForm& form) {
  const std::string name = !form.name.empty()               ? form.name
                           : HasResultSuffix(path, ".npy")  ? "npy"
                           : HasResultSuffix(path, ".json") ? "json"
                                                            : "text";
  WithType(values.type, [&]<class T>(T) {
    const std::span<const T> raw = values.As<T>();
    const ResultKind kind = values.is_vertex ? ResultKind::kVertex : ResultKind::kDistance;
    if (name == "json") {
      WriteResultJson(path, graph, raw, kind, {form.program, values.name});
    } else if (name == "ldbc" && std::is_integral_v<T> && values.name == "distance") {
      const Array<double> reals = RealDistances(raw);
      WriteResultText(path, graph, std::span<const double>(reals.span()), kind, ResultStyle::kLdbc);
    } else if (name != "npy") {
      WriteResultText(path, graph, raw, kind, name == "ldbc" ? ResultStyle::kLdbc : ResultStyle::kShortest);
    } else if (!values.is_vertex) {
      WriteResultNpy(path, raw);
    } else {
      Array<std::int64_t> ids(raw.size());
      std::transform(raw.begin(), raw.end(), ids.begin(), [&](T v) {
        return v == std::numeric_limits<T>::max() ? -1 : static_cast<std::int64_t>(graph.id(static_cast<VertexId>(v)));
      });
      WriteResultNpy(path, std::span<const std::int64_t>(ids.span()));
    }
  });
}

namespace {

/// Labels of any kind to the least vertices that have them.
template <class T, class Label>
Array<T> LeastVertices(const Array<Label>& labels) {
  Array<T> least(labels.size());
  std::unordered_map<Label, T> first;
  for (std::size_t v = 0; v < labels.size(); ++v) least[v] = first.try_emplace(labels[v], static_cast<T>(v)).first->second;
  return least;
}

}  // namespace

ErasedValues ReadValues(const std::string& path, const Graph& graph, const ErasedValues& shape, ForeignMarks* marks) {
  ErasedValues values;
  values.type = shape.type;
  values.is_vertex = shape.is_vertex;
  values.name = shape.name;
  const bool npy = IsNpy(path);
  WithType(shape.type, [&]<class T>(T) {
    Array<T> read;
    if (shape.is_vertex && shape.name == "component") {
      try {
        read = LeastVertices<T>(ReadResult<std::int64_t>(path, graph.vertices(), graph, ResultKind::kLabel));
      } catch (const ImpossibleValueError&) {  // hashes of 2^63 and more are without a sign
        if (path == "-") throw;                // which is not there a second time
        read = LeastVertices<T>(ReadResult<std::uint64_t>(path, graph.vertices(), graph, ResultKind::kLabel));
      }
    } else if (npy && shape.is_vertex) {
      const Array<std::int64_t> ids = ReadResultNpy<std::int64_t>(path, graph.vertices(), ResultKind::kDistance, marks);
      const auto marked = [&](std::size_t v) { return marks != nullptr && !marks->which.empty() && marks->which[v] != 0; };
      read = Array<T>(ids.size());
      for (std::size_t v = 0; v < ids.size(); ++v) {
        const bool none = ids[v] == kInfinity<std::int64_t>;
        const std::optional<VertexId> vertex =
            none || ids[v] < 0 ? std::nullopt : graph.find(static_cast<std::uint64_t>(ids[v]));
        if (!vertex && !none && !marked(v)) {
          Throw<ImpossibleValueError>("{}: entry {} is {}, which is no vertex; the graph's are {} to {}, and -1 means none",
                                      path, v, ids[v], graph.id(0), graph.id(graph.vertices() - 1));
        }
        read[v] = vertex ? static_cast<T>(*vertex) : kInfinity<T>;
      }
    } else {
      const bool may_be_none = !(shape.is_vertex && shape.name == "label");
      read = ReadResult<T>(path, graph.vertices(), graph, KindToRead(shape), may_be_none ? marks : nullptr);
    }
    values.bytes = Array<std::byte>(read.bytes());
    if (!read.empty()) std::memcpy(values.bytes.data(), read.data(), read.bytes());
  });
  return values;
}

Json VerdictJson(const Verdict& verdict) {
  Json json;
  json["passed"] = verdict.passed;
  json["message"] = verdict.message;
  return json;
}

void ReportWrongAnswer(std::string_view message) {
  PrintError(fmt::format("chatty: error: verification failed: {}\n", message));
}

std::string Html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace chatty::cli
