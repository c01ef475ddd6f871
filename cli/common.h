/// \file
/// What subcommands have in common: loading a graph, a program's parameters, values in and out, JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/registry.h"
#include "chatty/io/graph_cache.h"
#include "chatty/io/ldbc.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"
#include "chatty/io/results.h"
#include "chatty/partition/partition.h"

namespace CLI {  // parsed by those alone that add options: it takes a compiler seconds
class App;
class Option;
class Validator;
}  // namespace CLI

namespace chatty::cli {

using Json = nlohmann::ordered_json;

/// Milliseconds since it was made.
class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// ------------------------------------------------------------------ output ----

void PrintText(std::string_view text);  ///< on standard output; throws CapabilityError if it does not take it
/// What tells of a command's work and is not what was asked for: as PrintText, or where `aside` on standard error, since
/// something else owns standard output. `--quiet` leaves it out.
void PrintReport(std::string_view text, bool aside = false);
void SetQuiet(bool quiet);  ///< of all reports from here on
/// On standard error, as it is, in place of a progress bar. What standard error does not take is lost: there is nowhere
/// left to tell of it, and the exit code still does.
void PrintError(std::string_view text) noexcept;
void WriteJson(const std::string& path, const Json& json);  ///< indented, to a file that appears once complete, or "-"
/// The same with a line for each element of an array: a third of the bytes where there are many.
void WriteJsonLines(const std::string& path, const Json& json);
/// Announces that `path` will be written: throws InputError now, before a long run, if it could not be then; and has an
/// interrupt clean up. "-" and empty paths pass.
void PrepareOutput(const std::string& path);
/// Throws UsageError for the value of `option` if files that end so are something else than what is written, or packed as
/// nothing here packs. `forms` says what there is, and `own` which of the known endings it has. `decided`: the form was
/// given, and only packing matters.
void RefuseOtherSuffix(std::string_view option, const std::string& path, std::string_view forms,
                       std::initializer_list<std::string_view> own, bool decided = false);
/// Both for the path of `--json`.
void PrepareJson(const std::string& path);
/// The files that WriteGraph makes of a graph: `path`, and those beside it that its format has.
std::vector<std::string> GraphOutputFiles(const std::string& path, const std::optional<std::string>& format);
/// Adds `--lossy`.
void AddLossyOption(CLI::App& command, bool& lossy);
/// What WriteGraph will lose of the graph. Throws UsageError, with what else can be done, if that is anything and `lossy` is
/// not set.
std::vector<std::string> TakeLosses(const Graph& graph, const std::string& path, const std::optional<std::string>& format,
                                    bool lossy, std::string_view remedy);
/// Lines "lost ..." of a command's summary, names `width` wide; on standard error instead where the graph goes to "-".
std::string DescribeLosses(const std::vector<std::string>& lost, const std::string& path, int width);
/// Throws UsageError if two named files are the same one, whatever they are called. Empty paths, "-" and devices are
/// none.
void RefuseSameFile(std::string_view option, const std::string& path, std::string_view other_option,
                    const std::string& other);
/// A validator that help does not print beside the option's type.
CLI::Validator Unnamed(const CLI::Validator& validator);
/// Digits only: CLI11 alone would take -1 for the largest number there is.
CLI::Validator WholeNumber();
/// Refuses what is no number of seconds from `least` to `most`.
CLI::Validator SecondsBetween(double least, double most);
/// One of these names; the refusal of another lists them, and says which is near.
CLI::Validator OneOf(std::vector<std::string_view> names);
/// Not empty: what a script's unset variable gives is no value.
CLI::Validator NotEmpty();
/// Adds an option for an amount of memory, as ParseBytes reads it. `bytes` must outlive the parsing.
CLI::Option* AddBytesOption(CLI::App& command, const std::string& name, std::uint64_t& bytes, const std::string& help);
/// Adds `--json FILE|-`.
CLI::Option* AddJsonOption(CLI::App& command, std::string& path);

std::string Grouped(std::uint64_t number);     ///< "1,234,567"
std::string FormatMs(double ms);               ///< "0.123 ms", "45.6 ms", "12.3 s"
std::string FormatBytes(std::uint64_t bytes);  ///< "12.3 MiB"
/// `text` in green or red if standard output is a terminal.
std::string Coloured(std::string_view text, bool good);

// ----------------------------------------------------------------- loading ----

/// How a graph is read. The graph's ids are the file's own, unless `--ids zero` has it counted from 0.
struct LoadOptions {
  std::string format;
  std::string ids = "file";  ///< or zero, or one
  std::string weights = "file";
  std::string cache = "off";            ///< or a folder
  std::uint64_t host_memory_limit = 0;  ///< bytes that the host may hold; 0: what there is
  ReadOptions read;
};
/// `format_flag` names the option for the input's format; `uses`: whether the command itself uses ids and weights, and
/// so has a choice of them.
void AddLoadOptions(CLI::App& command, LoadOptions& options, const std::string& format_flag, bool uses);

struct LoadedGraph {
  std::string path;
  Graph graph;  ///< id() is how vertices are called
  ReadReport report;
  CacheReport cache;
  double ms = 0;
};
/// What the file's begin says of the graph that Load would make.
std::optional<GraphPeek> Peek(const std::string& path, const LoadOptions& options);
/// Also holds OpenMP, and so all host-side preparation, to `--threads`.
LoadedGraph Load(const std::string& path, const LoadOptions& options);

Json BuildJson();                           ///< version, commit, compiler: which program made the record
Json GraphJson(const LoadedGraph& loaded);  ///< path, name, sizes, kind of weights, ids
/// How the graph calls v, or null for kNoVertex.
Json IdJson(const Graph& graph, VertexId v);
/// What was read and by what rules it became the graph, for people: lines "file ...", "cache ...", "read as ...", their
/// names `width` wide.
std::string DescribeLoad(const LoadedGraph& loaded, const LoadOptions& options, int width);
/// "road: 1,000 vertices, 3,800 edges, undirected, int32 weights". `unweighted` is the program that runs on it, if that does
/// not use weights.
std::string DescribeGraph(const Graph& graph, std::string_view unweighted = {});

// --------------------------------------------------------------- partition ----

/// Throws UsageError if a partition, say one from a file, does not go with `parts` parts, which `whose` calls "4 devices".
/// For use before a long load.
void CheckParts(const Partitioner& partitioner, PartId parts, std::string_view whose);
/// Adds `--no-fallback`.
CLI::Option* AddFallbackOption(CLI::App& command, bool& allow_fallback);
Json QualityJson(const Partition& partition, const PartitionQuality& quality);

// -------------------------------------------------------------- parameters ----

/// A program's parameters as the command line gives them.
struct ParameterOptions {
  std::vector<std::string> set;          ///< "name=value"
  std::vector<std::string> vertex_data;  ///< "name=file"
  std::string source, damping, tolerance, rounds;
  std::string value;
  std::string precision = "float";  ///< or "double": see FindProgram
};
/// `runs`: the options are those of a run to be made, not of one that was.
void AddParameterOptions(CLI::App& command, ParameterOptions& options, bool runs);

/// Which vertex to start from, in each trial.
class SourceChoice {
 public:
  /// Parses "N", in the graph's ids, "random", "random:SEED" or "max-degree". Throws UsageError, also for a graph
  /// without vertices.
  static SourceChoice Parse(std::string_view text, const Graph& graph, std::uint64_t default_seed);
  /// The source of a trial, 0-based: random ones differ from trial to trial and have out-edges, if any vertex has.
  VertexId Pick(const Graph& graph, std::uint32_t trial) const;
  bool random() const { return random_; }

 private:
  bool random_ = false;
  std::uint64_t seed_ = 0;
  VertexId vertex_ = 0;
};

/// A program by its name or by a shorter one that is nobody else's: `pr` for pagerank, `wcc` for cc. With `precision` double
/// the one of that name and `_double`. Throws as Registry::Find does, and UsageError where a program has no such other.
const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind,
                                     std::string_view precision = "float");
/// The name that a program is registered under, for one of those.
std::string_view FullProgramName(const Registry& registry, std::string_view name);

/// `--ldbc`: a graph of LDBC Graphalytics and the parameters that come with it.
struct LdbcChoice {
  LdbcProperties properties;
  std::vector<std::pair<std::string, std::string>> taken;  ///< parameters and values that are from the file
};
/// Adds `--ldbc`.
CLI::Option* AddLdbcOption(CLI::App& command, std::string& path);
/// Reads the file and sets what the options leave open: the input's format, and the program's parameters. Throws UsageError
/// for a program that LDBC Graphalytics knows no parameters of, and for options that contradict it.
LdbcChoice TakeLdbc(const std::string& path, const RegisteredProgram& program, ParameterOptions& parameters,
                    LoadOptions& load);
/// "source 1, from road.properties"; which parameters were taken.
std::string DescribeLdbc(const LdbcChoice& ldbc);
Json LdbcJson(const std::optional<LdbcChoice>& ldbc);  ///< null without

/// Throws UsageError, with this remedy, if a value of the program has no verifier; before anything is loaded for it.
void CheckVerifier(const RegisteredProgram& program, std::string_view value, std::string_view remedy);

struct Parameters {
  ParameterValues values;              ///< for the registry: sources 0-based; without the source if `source` chooses it
  std::optional<SourceChoice> source;  ///< for programs that have one
};
/// A file with an array of vertex data.
struct DataFile {
  VertexDataInfo info;  ///< of the array that it is
  std::string path;     ///< its name
};
/// Those that the command line names. Throws UsageError for an array that the program does not take or that is named twice,
/// one that it needs and that is not named, and a parameter that has no meaning beside one; InputError for a file that is
/// not there.
std::vector<DataFile> VertexDataFiles(const RegisteredProgram& program, const ParameterOptions& options);
/// Reads them. Throws InputError.
VertexData ReadVertexData(const std::vector<DataFile>& files, const Graph& graph);
Json VertexDataJson(const std::vector<DataFile>& files);  ///< paths by name

/// Checks what can be checked before a graph is there: names, numbers, what the program itself refuses. Throws UsageError.
void CheckParameters(const RegisteredProgram& program, const ParameterOptions& options);
/// Whether a vertex is named, of which only the graph tells whether it has it. Throws what CheckParameters throws for names.
bool NamesVertex(const RegisteredProgram& program, const ParameterOptions& options);
/// Checks names against the program's parameters and turns vertex ids into 0-based ones. Throws UsageError.
Parameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                             std::uint64_t seed);
/// All parameters, defaults included, as numbers; vertices in the graph's ids. Those in whose place data were given are
/// null.
Json ParametersJson(const RegisteredProgram& program, const Graph& graph, const ParameterValues& values,
                    const std::vector<DataFile>& data);

// ------------------------------------------------------------------ values ----

/// How the forms of results are described in help texts.
inline constexpr std::string_view kResultsHelp =
    "Results are lines `id value`, one a vertex in id order; or a NumPy array if the name ends in .npy, entry 0 being\n"
    "the first vertex; or a JSON object with first_id, or ids where they leave gaps, and values if it ends in .json.\n"
    "Ids, and values that are vertices, are the file's own (--ids zero: counted from 0). What is not reached has level\n"
    "or distance `infinity` (in integer arrays the type's largest value, in JSON null) and parent -1.";

/// Calls body(T{}) with the type that `type` names.
template <class Body>
auto WithType(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::kUint32:
      return body(std::uint32_t{});
    case ScalarType::kInt32:
      return body(std::int32_t{});
    case ScalarType::kUint64:
      return body(std::uint64_t{});
    case ScalarType::kInt64:
      return body(std::int64_t{});
    case ScalarType::kFloat32:
      return body(float{});
    case ScalarType::kFloat64:
      return body(double{});
  }
  throw InternalError("an unknown scalar type");
}

/// In which form results are written.
struct ValueForm {
  std::string name;     ///< text, ldbc, npy or json; empty: by the name of the file
  std::string program;  ///< that computed them, for the forms that say so
};
/// Adds `--output-format`.
CLI::Option* AddValueFormOption(CLI::App& command, std::string& name);
/// Writes results, as kResultsHelp says.
void WriteValues(const std::string& path, const Graph& graph, const ErasedValues& values, const ValueForm& form);
/// Reads what WriteValues or another tool wrote. `shape` is what RegisteredProgram::OutputShape says. Components may be
/// called by any whole numbers: they come back by their least vertices. What other tools write for unreached or none is
/// marked in `marks`, and there is none of it without. Throws InputError; ImpossibleValueError (io/results.h) for a
/// well-formed file with a value that cannot be right.
ErasedValues ReadValues(const std::string& path, const Graph& graph, const ErasedValues& shape,
                        ForeignMarks* marks = nullptr);

Json VerdictJson(const Verdict& verdict);
/// Complains of a wrong answer on standard error.
void ReportWrongAnswer(std::string_view message);

/// The text as it stands in HTML or SVG, in quotes too.
std::string Html(std::string_view text);

}  // namespace chatty::cli
