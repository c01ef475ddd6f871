#include "chatty/cli/parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "chatty/cli/values.h"
#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/results.h"

namespace chatty::cli {
namespace {

/// What the command line sets, each name once and known.
NamedParameters Given(const RegisteredProgram& program, const ParameterOptions& options) {
  NamedParameters given(program);
  for (const std::string& pair : options.set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) Throw<UsageError>("--set {}: write NAME=VALUE", pair);
    const std::string name = pair.substr(0, equals);
    given.Set(name, pair.substr(equals + 1), name == "source" ? "--source" : "--set " + name);
  }
  if (!options.source.empty()) given.Set("source", options.source, "--source");
  if (!options.damping.empty()) given.Set("damping", options.damping);
  if (!options.tolerance.empty()) given.Set("tolerance", options.tolerance);
  if (!options.rounds.empty()) given.Set("rounds", options.rounds);
  return given;
}

}  // namespace

bool IsGiven(const ParameterOptions& options, std::string_view name) {
  const auto sets = [&](const std::string& pair) { return std::string_view(pair).substr(0, pair.find('=')) == name; };
  return (name == "source" && !options.source.empty()) || (name == "damping" && !options.damping.empty()) ||
         (name == "tolerance" && !options.tolerance.empty()) || (name == "rounds" && !options.rounds.empty()) ||
         std::any_of(options.set.begin(), options.set.end(), sets);
}

const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind,
                                     std::string_view precision) {
  const RegisteredProgram& program = chatty::FindProgram(registry, name, kind);
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

void CheckVerifier(const RegisteredProgram& program, std::string_view value, std::string_view remedy) {
  if (program.has_verifier(value)) return;
  Throw<UsageError>("program '{}' has no verifier{}, so nothing can tell whether an answer is right; {}", program.name(),
                    value.empty() ? "" : fmt::format(" of the value '{}'", value), remedy);
}

/// Whether a parameter has no meaning beside one of these.
bool IsReplaced(std::string_view parameter, const std::vector<DataFile>& data) {
  return std::any_of(data.begin(), data.end(), [&](const DataFile& file) {
    return chatty::IsReplaced(parameter, std::span<const VertexDataInfo>(&file.info, 1));
  });
}

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

void CheckParameters(const RegisteredProgram& program, const ParameterOptions& options) { Given(program, options).Check(); }

bool NamesVertex(const RegisteredProgram& program, const ParameterOptions& options) {
  return Given(program, options).NamesVertex();
}

ResolvedParameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                                     std::uint64_t seed) {
  std::vector<VertexDataInfo> data;
  for (DataFile& file : VertexDataFiles(program, options)) data.push_back(std::move(file.info));
  return Given(program, options).Resolve(graph, data, {seed, " (--ids zero counts from 0)"});
}

}  // namespace chatty::cli
