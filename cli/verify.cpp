#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/common.h"
#include "chatty/core/error.h"
#include "chatty/io/results.h"

namespace chatty::cli {
namespace {

struct VerifyOptions {
  std::string program, graph, values, ldbc, json;
  LoadOptions load;
  ParameterOptions parameters;
};

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
  PrepareOutput(options.json);
  const RegisteredProgram& program = FindProgram(registry, options.program, DeviceKind::kHost);
  std::optional<LdbcChoice> ldbc;
  if (!options.ldbc.empty()) {
    ldbc = TakeLdbc(options.ldbc, program, options.parameters, options.load);
    RefuseSameFile("--json", options.json, "the graph's vertex file", ldbc->properties.vertex_path);
    RefuseSameFile("--json", options.json, "the graph's edge file", ldbc->properties.edge_path);
  }
  CheckParameters(program, options.parameters);
  const LoadedGraph loaded = Load(options.graph, options.load);
  Parameters parameters = ResolveParameters(program, loaded.graph, options.parameters, /*seed=*/1);
  if (parameters.source) {
    if (parameters.source->random()) throw UsageError("--source random: name the vertex that the values start from");
    parameters.values["source"] = fmt::format("{}", parameters.source->Pick(loaded.graph, 0));
  }
  const ErasedValues shape = program.OutputShape(loaded.graph, options.parameters.value);
  const Stopwatch watch;
  Verdict verdict;
  try {
    const ErasedValues values = ReadValues(options.values, loaded.graph, shape);
    verdict = program.Verify(loaded.graph, parameters.values, values, nullptr);
  } catch (const ImpossibleValueError& error) {
    verdict = Failed("{}", error.what());
  }

  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["program"] = program.name();
    json["value"] = shape.name;
    json["values"] = options.values;
    json["graph"] = GraphJson(loaded);
    json["ldbc"] = LdbcJson(ldbc);
    json["parameters"] = ParametersJson(program, loaded.graph, parameters.values);
    json["phases_ms"] = {{"load", loaded.ms}, {"verify", watch.ms()}};
    json["verification"] = VerdictJson(verdict);
    WriteJson(options.json, json);
  }
  if (!verdict) {
    ReportWrongAnswer(verdict.message);
    return kWrongAnswer;
  }
  if (options.json != "-") PrintText(fmt::format("{}: {}\n", Coloured("verified", true), verdict.message));
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
      "Read are also arrays of other integer and float types, -1, `inf` or 9223372036854775807 for unreached, and JSON\n"
      "arrays and objects {\"id\": value, ...}. Components may be called by any whole numbers. Real distances, and ranks\n"
      "after a number of rounds, may be off by 0.01 %, as other tools sum in another precision or order.\n"
      "\n"
      "Exit codes: 0 the answer is right; 3 it is wrong, and one line says where; 1 and 2 as everywhere.");
  command->callback(
      [&context, options] { context.action = [&context, options] { return Verify(context.registry, *options); }; });
}

}  // namespace chatty::cli
