#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/json.h"
#include "chatty/cli/ldbc_input.h"
#include "chatty/cli/load.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/cli/values.h"
#include "chatty/core/error.h"
#include "chatty/core/progress.h"
#include "chatty/io/results.h"
#include "chatty/programs/reference.h"

namespace chatty::cli {
namespace {

struct VerifyOptions {
  std::string program, graph, values, ldbc, json;
  LoadOptions load;
  ParameterOptions parameters;
};

/// A share of right values by which real ones may be off. Throws UsageError.
double ParseTolerance(const std::string& text) {
  double tolerance = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, tolerance);
  if (error != std::errc() || next != end || !(tolerance > 0 && tolerance < 1)) {
    Throw<UsageError>(
        "--tolerance {}: give a number above 0 and below 1, by which values may be off, relative to right ones", text);
  }
  return tolerance;
}

/// Of a program with a parameter of that name, --tolerance is the parameter; of others it is taken out of the options and is
/// how far real values may be off. 0 without one. Throws UsageError where it means nothing, as far as that is known without
/// a graph.
double TakeTolerance(const RegisteredProgram& program, ParameterOptions& options) {
  const std::vector<ParameterInfo> own = program.parameters();
  if (options.tolerance.empty() ||
      std::any_of(own.begin(), own.end(), [](const ParameterInfo& p) { return p.name == "tolerance"; })) {
    return 0;
  }
  const double tolerance = ParseTolerance(std::exchange(options.tolerance, {}));
  if (!program.takes_tolerance(options.value)) {
    Throw<UsageError>("--tolerance: program '{}' has no real values whose verifier takes one; leave it out", program.name());
  }
  return tolerance;
}

/// Whether there is a path from the source to each vertex.
Array<bool> Reached(const Graph& graph, VertexId source) {
  const Array<std::uint32_t> levels = SerialBfs(graph, source);
  Array<bool> reached(levels.size());
  std::transform(levels.begin(), levels.end(), reached.begin(),
                 [](auto level) { return level != kInfinity<std::uint32_t>; });
  return reached;
}

/// Has marked values that are numbers or vertices, too, mean unreached or none wherever `reached` is false, or everywhere
/// without it.
void TakeMarks(ErasedValues& values, const ForeignMarks& marks, const Array<bool>* reached) {
  WithType(values.type, [&]<class T>(T) {
    T* const all = reinterpret_cast<T*>(values.bytes.data());
    for (std::size_t v = 0; v < marks.which.size(); ++v) {
      if (marks.which[v] != 0 && (reached == nullptr || !(*reached)[v])) all[v] = kInfinity<T>;
    }
  });
}

/// "2147483647 at 2 vertices was taken as unreached": which marks are no numbers; empty if none was read so.
std::string DescribeMarks(const ErasedValues& values, const ForeignMarks& marks) {
  std::map<std::uint8_t, std::uint64_t> counts;
  WithType(values.type, [&]<class T>(T) {
    for (std::size_t v = 0; v < marks.which.size(); ++v) {
      if (marks.which[v] != 0 && values.As<T>()[v] == kInfinity<T>) ++counts[marks.which[v]];
    }
  });
  std::vector<std::string> texts;
  for (const auto& [mark, count] : counts) {
    const std::string_view text = ForeignMarks::Text(mark);
    if (values.is_vertex && text == "-1") continue;  // as it is written here, too
    texts.push_back(fmt::format("{} at {} {}", text, Grouped(count), count == 1 ? "vertex" : "vertices"));
  }
  if (texts.empty()) return {};
  return fmt::format("{} {} taken as {}", fmt::join(texts, " and "), texts.size() == 1 ? "was" : "were",
                     values.is_vertex ? "no " + values.name : "unreached");
}

int Verify(const Registry& registry, const VerifyOptions& given) {
  VerifyOptions options = given;
  if (!options.ldbc.empty()) {  // then the only file named besides is that of the values
    if (!options.values.empty()) {
      Throw<UsageError>("GRAPH {} and --ldbc {}: give one of the two", options.graph, options.ldbc);
    }
    options.values = std::exchange(options.graph, options.ldbc);
  }
  if (options.graph.empty()) throw UsageError("GRAPH is required; see `chatty verify --help`");
  if (options.values.empty()) throw UsageError("VALUES is required; see `chatty verify --help`");
  if (options.graph == "-" && options.values == "-") {
    throw UsageError("graph and values cannot both come from standard input");
  }
  RefuseSameFile("--json", options.json, "the graph", options.graph);
  RefuseSameFile("--json", options.json, "the values", options.values);
  PrepareJson(options.json);
  const RegisteredProgram& program = FindProgram(registry, options.program, DeviceKind::kHost, options.parameters.precision);
  std::optional<LdbcChoice> ldbc;
  if (!options.ldbc.empty()) {
    ldbc = TakeLdbc(options.ldbc, program, options.parameters, options.load);
    RefuseSameFile("--json", options.json, "the graph's vertex file", ldbc->properties.vertex_path);
    RefuseSameFile("--json", options.json, "the graph's edge file", ldbc->properties.edge_path);
  }
  CheckVerifier(program, options.parameters.value, "compare it with an answer that is known to be right");
  double tolerance = TakeTolerance(program, options.parameters);
  CheckParameters(program, options.parameters);
  const std::vector<DataFile> data = VertexDataFiles(program, options.parameters);
  for (const DataFile& file : data) RefuseSameFile("--json", options.json, "--vertex-data", file.path);
  const LoadedGraph loaded = Load(options.graph, options.load);
  ResolvedParameters parameters = ResolveParameters(program, loaded.graph, options.parameters, /*seed=*/1);
  if (parameters.source) {
    if (parameters.source->random()) throw UsageError("--source random: name the vertex that the values start from");
    parameters.values["source"] = fmt::format("{}", parameters.source->Pick(loaded.graph, 0));
  }
  const VertexData vertex_data = ReadVertexData(data, loaded.graph);
  const ErasedValues shape = program.OutputShape(loaded.graph, options.parameters.value);
  if (tolerance > 0 && shape.type != ScalarType::kFloat32 && shape.type != ScalarType::kFloat64) {
    Throw<UsageError>("--tolerance: the values of '{}' on this graph are integers, which are right or wrong; leave it out",
                      program.name());
  }
  if (const auto own = parameters.values.find("tolerance"); own != parameters.values.end())
    tolerance = std::stod(own->second);
  PhaseLine phase("reading the values");
  const Stopwatch watch;
  Verdict verdict;
  try {
    ForeignMarks marks;
    ErasedValues values = ReadValues(options.values, loaded.graph, shape, &marks);
    phase.Begin("verifying");
    const auto verify = [&] {
      return program.VerifyAnswer(loaded.graph, parameters.values, values, tolerance, vertex_data);
    };
    verdict = verify();
    // A mark that is a number as well may be meant as that, and then it is right. Where it is not, a program that starts
    // from a source reaches no vertex without a path, and others tell by the name of their values that these may be
    // unreached.
    if (!verdict && !marks.which.empty()) {
      if (parameters.source) {
        const Array<bool> reached = Reached(loaded.graph, parameters.source->Pick(loaded.graph, 0));
        TakeMarks(values, marks, &reached);
        verdict = verify();
      } else if (shape.name == "level" || shape.name == "distance") {
        TakeMarks(values, marks, nullptr);
        verdict = verify();
      }
    }
    if (const std::string taken = DescribeMarks(values, marks); !taken.empty()) verdict.message += "; " + taken;
  } catch (const ImpossibleValueError& error) {
    verdict = Failed("{}", error.what());
  }

  phase.Finish();
  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["program"] = program.name();
    json["value"] = shape.name;
    json["values"] = options.values;
    json["graph"] = GraphJson(loaded);
    json["ldbc"] = LdbcJson(ldbc);
    json["parameters"] = ParametersJson(program, loaded.graph, parameters.values, data);
    json["vertex_data"] = VertexDataJson(data);
    json["phases_ms"] = {{"load", loaded.ms}, {"verify", watch.ms()}};
    json["verification"] = VerdictJson(verdict);
    WriteJson(options.json, json);
  }
  if (!verdict) {
    ReportWrongAnswer(verdict.message);
    return kWrongAnswer;
  }
  if (options.json != "-") PrintReport(fmt::format("{}: {}\n", Coloured("verified", true), verdict.message));
  return kSuccess;
}

}  // namespace

void AddVerify(CLI::App& app, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Check an answer, wherever it comes from, by the properties that only the right one has");
  command->add_option("PROGRAM", options->program, "Program whose answer it is; `chatty programs` lists them")->required();
  command->add_option("GRAPH", options->graph, "Graph file, or - for standard input; left out with --ldbc");
  command->add_option("VALUES", options->values,
                      "Result file: lines `id value` in any order, .npy or JSON; - for standard input");
  AddLdbcOption(*command, options->ldbc);
  AddParameterOptions(*command, options->parameters, /*runs=*/false);
  AddJsonOption(*command, options->json);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);
  command->footer(
      "Examples:\n"
      "  chatty verify bfs road.mtx levels.txt --source 17\n"
      "  chatty verify bfs road.mtx parents.txt --source 17 --value parent\n"
      "  chatty verify sssp USA-road-d.NY.gr.gz distances.txt --source 1\n"
      "  chatty verify pagerank web.mtx.zst ranks.npy --damping 0.85 --tolerance 1e-6\n"
      "  chatty verify wcc --ldbc graph.properties components.txt\n"
      "\n" +
      std::string(kResultsHelp) +
      "\n"
      "Read are also arrays of other integer and float types, and JSON arrays and objects {\"id\": value, ...}. What other\n"
      "tools write for unreached or no parent, where no right answer is that number, is taken as such and noted: -1, "
      "`inf`,\n"
      "and the largest int32, uint32, int64, uint64, float and double. The source is its own parent or has none.\n"
      "Components may be called by any whole numbers.\n"
      "\n"
      "Real values may be off by 0.01 %, as other tools sum in another precision or order, or by --tolerance. Ranks of\n"
      "`pagerank` are those after exactly so many rounds where --rounds is given, by --ldbc too, or the tolerance is 0; or\n"
      "else those that have settled: their L1 residual is at most the tolerance, or 1e-5 where that is less.\n"
      "\n"
      "Exit codes: 0 the answer is right; 3 it is wrong, and one line says where; 1 and 2 as everywhere.");
  command->callback(
      [&context, options] { context.action = [&context, options] { return Verify(context.registry, *options); }; });
}

}  // namespace chatty::cli
