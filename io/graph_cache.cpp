#include "chatty/io/graph_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "chatty/core/logging.h"
#include "chatty/io/array_file.h"
#include "chatty/io/formats.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kCacheVersion =
    2;  // version of the readers' results: increase it when a reader makes a different graph of a file
constexpr int kInEdgesVersion =
    1;  // version of files of in-edges, in addition: increase it when the result of Transpose changes

/// A path as JSON text: the path itself if it is UTF-8, otherwise a zero, which no path contains, and its bytes in
/// hexadecimal.
std::string PathText(const std::string& path) {
  try {
    static_cast<void>(Json(path).dump());
    return path;
  } catch (const Json::exception&) {
    std::string text(1, '\0');
    for (const char c : path) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text;
  }
}

/// Inverse of PathText.
std::string PathOf(const std::string& text) {
  if (!text.starts_with('\0')) return text;
  std::string path;
  for (std::size_t i = 1; i + 1 < text.size(); i += 2) {
    path += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, /*base=*/16));
  }
  return path;
}

/// Properties that change when a file changes; null if it is not a regular file.
Json Identity(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  const auto time = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {{"path", PathText(path)},
          {"bytes", info.st_size},
          {"modified", time(info.st_mtim)},
          {"changed", time(info.st_ctim)},  // unlike the time of modification, `touch` cannot set it back
          {"inode", info.st_ino}};
}

Json Identities(const std::vector<std::string>& paths) {
  Json all = Json::array();
  for (const std::string& path : paths) all.push_back(Identity(path));
  return all;
}

Json OptionsKey(const ReadOptions& options) {
  return {{"version", kCacheVersion},
          {"vertex_bits", CHATTY_VERTEX_BITS},
          {"format", options.format ? FormatName(ParseFormat(*options.format)) : std::string_view()},
          {"symmetrise", options.symmetrise},
          {"directed", options.directed},
          {"keep_loops", options.keep_loops},
          {"keep_parallel", options.keep_parallel},
          {"compact_ids", options.compact_ids}};
}

/// Waits until a later edit gives the source a different time: file times have the resolution of the kernel's ticks.
void LetTimePass(const std::string& path) {
  constexpr auto kTick = std::chrono::milliseconds(20);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  const auto changed = std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::seconds(info.st_ctim.tv_sec) + std::chrono::nanoseconds(info.st_ctim.tv_nsec)));
  const auto age = std::chrono::system_clock::now() - changed;
  if (age >= std::chrono::nanoseconds(0) && age < kTick) std::this_thread::sleep_for(kTick - age);
}

/// The note as text, also if a path is not UTF-8.
std::string NoteText(const Json& note) { return note.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace); }

Json ReportJson(const ReadReport& report) {
  return {{"format", FormatName(report.format)},
          {"compression", static_cast<int>(report.compression)},
          {"bytes", report.bytes},
          {"lines", report.lines},
          {"edges_given", report.build.edges_given},
          {"loops_removed", report.build.loops_removed},
          {"parallel_merged", report.build.parallel_merged},
          {"edges_kept", report.build.edges_kept},
          {"symmetrised", report.symmetrised},
          {"files", report.files},
          {"notes", report.notes}};
}

ReadReport ParseReport(const Json& json) {
  ReadReport report;
  report.format = ParseFormat(json.at("format").get<std::string>());
  report.compression = static_cast<Compression>(json.at("compression").get<int>());
  report.bytes = json.at("bytes");
  report.lines = json.at("lines");
  report.build.edges_given = json.at("edges_given");
  report.build.loops_removed = json.at("loops_removed");
  report.build.parallel_merged = json.at("parallel_merged");
  report.build.edges_kept = json.at("edges_kept");
  report.symmetrised = json.at("symmetrised");
  report.listed = !io::Format(report.format).has_rows;
  report.files = json.at("files").get<std::vector<std::string>>();
  report.notes = json.at("notes").get<std::vector<std::string>>();
  return report;
}

/// Options that read an entry's rows unchanged.
ReadOptions AsItIs(const ReadOptions& options) {
  ReadOptions as_it_is;
  as_it_is.format = "binary";
  as_it_is.keep_loops = as_it_is.keep_parallel = true;
  as_it_is.threads = options.threads;
  as_it_is.memory_limit = options.memory_limit;
  as_it_is.in_place = options.in_place;
  return as_it_is;
}

/// The graph of an entry, if it is that of the source in its present state. Otherwise `why` becomes the reason. `sources`
/// becomes the identities in the entry's note.
std::optional<Graph> ReadEntry(const std::string& file, const std::string& source, const Json& options_key,
                               const ReadOptions& options, ReadReport* report, Json* sources, std::string* why) try {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  std::string text;
  {
    Input input(file, /*chunk_bytes=*/1);
    text = io::ReadBinaryNote(input);
  }
  const Json note = Json::parse(text);
  if (note.at("options") != options_key || note.at("sources").at(0).at("path") != PathText(source)) {
    *why = "was of another file or version";
    return std::nullopt;
  }
  for (const Json& identity : note.at("sources")) {
    const std::string path = PathOf(identity.at("path"));
    if (Identity(path) != identity) {
      *why = fmt::format("was older than {}", path);
      return std::nullopt;
    }
  }
  ReadReport entry;
  Graph graph = ReadGraph(file, AsItIs(options), &entry);
  if (entry.writers_note != text) {  // derived data would be stored for another graph
    *why = "was replaced while it was read";
    return std::nullopt;
  }
  if (report != nullptr) *report = ParseReport(note.at("report"));
  *sources = note.at("sources");
  return graph;
} catch (const OutOfMemoryError&) {  // reading the source would take more memory
  throw;
} catch (const Error& error) {  // any other error: the source can still be read
  *why = fmt::format("could not be used ({})", error.what());
  return std::nullopt;
} catch (const Json::exception&) {
  *why = "was damaged";
  return std::nullopt;
}

Weights View(Weights& weights) {
  return std::visit(
      [](auto& array) -> Weights {
        if constexpr (std::is_same_v<std::decay_t<decltype(array)>, std::monostate>) {
          return {};
        } else {
          return std::decay_t<decltype(array)>::View(array.data(), array.size());
        }
      },
      weights);
}

/// Prepares the folder for a file of the cache. Throws InputError if the name belongs to something other than a regular
/// file: an OutputFile would write to a pipe and wait for its reader.
void PrepareFile(const std::string& file) {
  std::error_code failed, ignored;
  const fs::path folder = fs::path(file).parent_path();
  fs::create_directories(folder, failed);
  if (failed) Throw<InputError>("{}: cannot be created: {}", Abbreviated(folder.string()), failed.message());
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) Throw<InputError>("{}: is no file", file);
  RemoveStaleOutputs(folder.string(), "");  // of all entries, because such files are large
}

void WriteEntry(const Graph& graph, const std::string& file, const Json& note) {
  PrepareFile(file);
  OutputFile output(file);
  io::WriteBinary(graph, output, NoteText(note));
  output.Commit();
}

std::uint64_t TextHash(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = Hash(hash ^ static_cast<unsigned char>(c));
  return hash;
}

/// Data derived from a graph, in separate files beside its entry. A graph without derived data costs neither time nor disk
/// space for it. Each file's note states the graph, and the state of its source.
///
/// - ENTRY.in.chatty has the in-edges: a graph in the binary format, with the in-edges as its out-edges.
/// - ENTRY.HASH.arrays has the arrays of one key.
class FolderStore : public GraphStore {
 public:
  /// `entry` is the entry's path without its suffix.
  FolderStore(std::string entry, Json options_key, Json sources, const ReadOptions& options)
      : entry_(std::move(entry)),
        note_{{"options", std::move(options_key)}, {"sources", std::move(sources)}},
        options_(AsItIs(options)) {}

  std::optional<Adjacency> LoadInEdges() override {
    return Load<Adjacency>(InEdgesPath(), "in-edges are", [&](Input& input) -> std::optional<Adjacency> {
      if (io::ReadBinaryNote(input) != InEdgesNote()) return std::nullopt;  // from another state of the source
      ReadReport report;
      Graph graph = ReadGraph(InEdgesPath(), options_, &report);
      if (report.writers_note != InEdgesNote()) return std::nullopt;  // replaced while it was read
      return std::move(graph).TakeOut();
    });
  }

  void SaveInEdges(const Adjacency& in) noexcept override {
    Save("in-edges", [&] {
      auto& kept = const_cast<Adjacency&>(in);  // views need writable memory; WriteBinary only reads
      const Graph graph =
          Graph::OfChecked({Array<EdgeIndex>::View(kept.offsets.data(), kept.offsets.size()),
                            Array<VertexId>::View(kept.neighbours.data(), kept.neighbours.size()), View(kept.weights)},
                           /*symmetric=*/false);
      Write(InEdgesPath(), [&](OutputFile& output) { io::WriteBinary(graph, output, InEdgesNote()); });
    });
  }

  std::optional<KeptArrays> LoadArrays(const std::string& key) override {
    return Load<KeptArrays>(ArraysPath(key), "a division is",
                            [&](Input& input) { return io::ReadArrayFile(input, ArraysNote(key), options_.threads); });
  }

  void SaveArrays(const std::string& key, std::span<const std::span<const std::byte>> arrays) noexcept override {
    Save("division",
         [&] { Write(ArraysPath(key), [&](OutputFile& output) { io::WriteArrayFile(output, ArraysNote(key), arrays); }); });
  }

 private:
  std::string InEdgesPath() const { return entry_ + ".in.chatty"; }
  std::string ArraysPath(const std::string& key) const { return fmt::format("{}.{:016x}.arrays", entry_, TextHash(key)); }
  std::string InEdgesNote() const {
    Json note = note_;
    note["in_edges"] = kInEdgesVersion;
    return NoteText(note);
  }
  std::string ArraysNote(const std::string& key) const {
    Json note = note_;
    note["key"] = key;
    return NoteText(note);
  }

  /// The result of read(input) for a file; nothing if the file is missing or damaged.
  template <class T, class Read>
  std::optional<T> Load(const std::string& file, std::string_view what, Read&& read) try {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return std::nullopt;
    Input input(file, /*chunk_bytes=*/1);
    return read(input);
  } catch (const OutOfMemoryError&) {  // computing the data again would take more memory
    throw;
  } catch (const Error& error) {
    Log().warn("{} computed again: the cached data is unusable ({})", what, error.what());
    return std::nullopt;
  }

  /// Calls save(), and warns if it fails: the graph is usable without it.
  template <class Body>
  static void Save(std::string_view what, Body&& save) noexcept try {
    save();
  } catch (const std::exception& failure) {
    Log().warn("the cache cannot store the {}: {}", what, failure.what());
  }

  template <class Body>
  void Write(const std::string& file, Body&& write) const {
    PrepareFile(file);
    OutputFile output(file);
    write(output);
    output.Commit();
  }

  std::string entry_;
  Json note_;  // common to all files' notes
  ReadOptions options_;
};

/// The graph's name, for people, and a hash: one entry for each source and options.
std::string EntryName(const std::string& source, const Json& key) {
  return fmt::format("{}-{:016x}.chatty", io::GraphNameOf(source), TextHash(source + key.dump()));
}

}  // namespace

std::string_view CacheUseName(CacheReport::Use use) {
  switch (use) {
    case CacheReport::Use::kNone:
      return "none";
    case CacheReport::Use::kRead:
      return "read";
    case CacheReport::Use::kFilled:
      return "filled";
  }
  return "unknown";
}

inline namespace CHATTY_ABI {

Graph ReadGraphCached(const std::string& path, const ReadOptions& options, const std::string& folder, ReadReport* report,
                      CacheReport* cache) try {
  CacheReport own;
  CacheReport& used = cache != nullptr ? *cache : own;
  used = {};
  std::error_code error;
  const std::string source = path == "-" ? std::string() : fs::canonical(path, error).string();
  if (path == "-" || error || Identity(source).is_null()) {
    used.why = "only files are cached";
    return ReadGraph(path, options, report);
  }
  const Json key = OptionsKey(options);
  used.file = (fs::path(folder) / EntryName(source, key)).string();
  // derived data goes beside the entry when it is first computed
  const auto keep_derived = [&](Graph& graph, const Json& identities) {
    graph.set_store(
        std::make_unique<FolderStore>(fs::path(used.file).replace_extension().string(), key, identities, options));
  };
  Json sources_read;
  if (std::optional<Graph> graph = ReadEntry(used.file, source, key, options, report, &sources_read, &used.why)) {
    keep_derived(*graph, sources_read);
    graph->set_name(io::GraphNameOf(path));
    used.use = CacheReport::Use::kRead;
    return std::move(*graph);
  }

  LetTimePass(source);
  Json note{{"options", key}};
  ReadReport read;
  const Json before = Identity(source);
  Graph graph = ReadGraph(path, options, &read);
  if (report != nullptr) *report = read;
  if (read.format == GraphFormat::kBinary) {
    const Json after = Identity(source);
    if (after == before) keep_derived(graph, Json::array({after}));
    used = {CacheReport::Use::kNone, {}, "it is in the binary format already"};
    return graph;
  }
  std::vector<std::string> sources{source};
  for (const std::string& file : read.files) sources.push_back(fs::canonical(file, error).string());
  note["sources"] = Identities(sources);
  note["report"] = ReportJson(read);
  const bool changed = note["sources"][0] != before || std::any_of(note["sources"].begin(), note["sources"].end(),
                                                                   [](const Json& j) { return j.is_null(); });
  if (changed) {
    used = {CacheReport::Use::kNone, {}, "it changed while it was read"};
    return graph;
  }
  try {
    WriteEntry(graph, used.file, note);
    used.use = CacheReport::Use::kFilled;
    keep_derived(graph, note["sources"]);  // only if there is an entry
  } catch (const Error& failure) {         // the graph is usable all the same
    Log().warn("the cache could not be filled: {}", failure.what());
    used = {CacheReport::Use::kNone, {}, failure.what()};
  }
  return graph;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("reading a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
