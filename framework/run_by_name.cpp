#include "chatty/framework/run_by_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "chatty/core/device.h"

namespace chatty {
namespace {

/// Second names; LDBC Graphalytics has some of them.
constexpr std::pair<std::string_view, std::string_view> kSecondNames[] = {
    {"pr", "pagerank"}, {"wcc", "cc"}, {"ppr", "personalised_pagerank"}};

/// The program's parameters with those that a caller names, as far as checked without a graph.
NamedParameters CheckedParameters(const RegisteredProgram& program, const ParameterValues& parameters) {
  NamedParameters named(program);
  for (const auto& [name, value] : parameters) named.Set(name, value);
  named.Check();
  return named;
}

/// What the program says of the arrays that the run is given.
std::vector<VertexDataInfo> GivenData(const RegisteredProgram& program, const VertexData& data) {
  std::vector<VertexDataInfo> given = program.vertex_data();
  std::erase_if(given, [&](const VertexDataInfo& info) { return data.find(info.name) == data.end(); });
  return given;
}

}  // namespace

std::string_view FullProgramName(const Registry& registry, std::string_view name) {
  const std::vector<const RegisteredProgram*> all = registry.All();
  const bool own = std::any_of(all.begin(), all.end(), [&](const RegisteredProgram* p) { return p->name() == name; });
  if (own) return name;
  for (const auto& [second, full] : kSecondNames) {
    if (name == second) return full;
  }
  return name;
}

const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind) {
  return registry.Find(FullProgramName(registry, name), kind);
}

NamedResult RunByName(const Registry& registry, Session& session, std::string_view name, const ParameterValues& parameters,
                      const RunOptions& options, std::string_view value) {
  const RegisteredProgram& program = FindProgram(registry, name, session.device(0).kind());
  const Graph& graph = session.graph();
  ResolvedParameters resolved =
      CheckedParameters(program, parameters).Resolve(graph, GivenData(program, options.vertex_data));
  if (resolved.source) resolved.values["source"] = fmt::format("{}", resolved.source->Pick(graph, 0));
  const std::unique_ptr<RegisteredJob> job = program.Prepare(session, resolved.values, value, options);
  NamedResult result;
  result.statistics = job->Execute();
  result.values = job->Output();
  result.parameters = std::move(resolved.values);
  return result;
}

NamedResult RunByName(const Registry& registry, const Graph& graph, std::string_view name, const ParameterValues& parameters,
                      std::string_view devices, const RunOptions& options, std::string_view value) {
  const DeviceSelection selection = ParseDevices(devices);
  static_cast<void>(CheckedParameters(FindProgram(registry, name, selection.kind), parameters));
  Session session(graph, OpenDevices(selection));
  return RunByName(registry, session, name, parameters, options, value);
}

}  // namespace chatty
