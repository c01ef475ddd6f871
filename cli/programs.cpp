#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/json.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/core/error.h"

namespace chatty::cli {
namespace {

struct ProgramsOptions {
  std::string name, json;
};

/// The kinds of device that this executable has the program for.
std::vector<std::string> Backends(const Registry& registry, std::string_view name) {
  std::vector<std::string> backends;
  for (const auto& [kind, text] : {std::pair(DeviceKind::kHost, "host"), std::pair(DeviceKind::kCuda, "cuda")}) {
    try {
      registry.Find(name, kind);
      backends.emplace_back(text);
    } catch (const CapabilityError&) {
    }
  }
  return backends;
}

Json ProgramJson(const Registry& registry, const RegisteredProgram& program) {
  Json json;
  json["name"] = program.name();
  json["summary"] = program.summary();
  json["values"] = program.values();
  json["reduction"] = program.reduction();
  json["safety"] = program.safety();
  json["devices"] = Backends(registry, program.name());
  json["parameters"] = Json::array();
  for (const ParameterInfo& parameter : program.parameters()) {
    // A source's own default means nothing: the command line takes the vertex of largest degree.
    json["parameters"].push_back({{"name", parameter.name},
                                  {"default", parameter.name == "source" ? "max-degree" : parameter.default_value},
                                  {"vertex", parameter.is_vertex},
                                  {"help", parameter.help}});
  }
  json["vertex_data"] = Json::array();
  for (const VertexDataInfo& data : program.vertex_data()) {
    json["vertex_data"].push_back({{"name", data.name},
                                   {"type", NameOf(data.type)},
                                   {"required", data.required},
                                   {"complete", data.complete},
                                   {"instead_of", data.instead_of},
                                   {"help", data.help}});
  }
  return json;
}

std::string Table(const std::vector<const RegisteredProgram*>& programs) {
  std::size_t name_width = 7, values_width = 6, reduction_width = 9;
  for (const RegisteredProgram* program : programs) {
    name_width = std::max(name_width, program->name().size());
    values_width = std::max(values_width, fmt::format("{}", fmt::join(program->values(), ", ")).size());
    reduction_width = std::max(reduction_width, program->reduction().size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", "PROGRAM", name_width, "VALUES", values_width, "REDUCTION",
                                 reduction_width, "SAFETY");
  for (const RegisteredProgram* program : programs) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", program->name(), name_width,
                        fmt::format("{}", fmt::join(program->values(), ", ")), values_width, program->reduction(),
                        reduction_width, program->safety());
    text += fmt::format("    {}\n", program->summary());
    for (const ParameterInfo& parameter : program->parameters()) {
      text += fmt::format("      {}={}  {}\n", parameter.name,
                          parameter.name == "source" ? "max-degree" : parameter.default_value, parameter.help);
    }
    for (const VertexDataInfo& data : program->vertex_data()) {
      text += fmt::format("      --vertex-data {}=FILE  {} ({}, {}{}{})\n", data.name, data.help, NameOf(data.type),
                          data.required ? "required" : "optional", data.complete ? "" : "; vertices may be left out",
                          data.instead_of.empty() ? "" : fmt::format("; in place of {}", fmt::join(data.instead_of, ", ")));
    }
  }
  return text;
}

int Programs(const Registry& registry, const ProgramsOptions& options) {
  PrepareJson(options.json);
  std::vector<const RegisteredProgram*> programs = registry.All();
  if (!options.name.empty()) {
    const std::string_view name = FullProgramName(registry, options.name);
    std::erase_if(programs, [&](const RegisteredProgram* program) { return program->name() != name; });
    if (programs.empty()) registry.Find(options.name, DeviceKind::kHost);  // throws, naming the choices
  }
  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["programs"] = Json::array();
    for (const RegisteredProgram* program : programs) json["programs"].push_back(ProgramJson(registry, *program));
    WriteJson(options.json, json);
  }
  if (options.json != "-") PrintText(Table(programs));
  return kSuccess;
}

}  // namespace

void AddPrograms(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProgramsOptions>();
  CLI::App* command = app.add_subcommand("programs", "List the programs in this executable and their parameters");
  command->add_option("--only", options->name, "Show this one alone")->type_name("NAME");
  AddJsonOption(*command, options->json)->expected(0, 1)->default_str("-");
  command->footer(
      "Examples:\n"
      "  chatty programs\n"
      "  chatty programs --only pagerank\n"
      "  chatty programs --json\n"
      "\n"
      "VALUES: what `run --value` can compute; the first is the default. REDUCTION: how messages to a vertex combine.\n"
      "SAFETY: monotone and accumulative programs may run with --execution async; synchronous ones run in rounds; "
      "operators\n"
      "are no vertex programs. Parameters are shown with their defaults and set by `run --set NAME=VALUE`; below them stand "
      "the\n"
      "arrays that a program takes, an entry a vertex.");
  command->callback(
      [&context, options] { context.action = [&context, options] { return Programs(context.registry, *options); }; });
}

}  // namespace chatty::cli
