/// \file
/// A program and its parameters, as the command line names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/framework/registry.h"

namespace chatty::cli {

/// A program's parameters as the command line gives them.
struct ParameterOptions {
  std::vector<std::string> set;          ///< "name=value"
  std::vector<std::string> vertex_data;  ///< "name=file"
  std::string source, damping, tolerance, rounds;
  std::string value;
  std::string precision = "float";  ///< or "double": see FindProgram
};
/// Whether the options set this parameter.
bool IsGiven(const ParameterOptions& options, std::string_view name);

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
/// Whether a parameter has no meaning beside one of these.
bool IsReplaced(std::string_view parameter, const std::vector<DataFile>& data);

/// Checks what can be checked before a graph is there: names, numbers, what the program itself refuses. Throws UsageError.
void CheckParameters(const RegisteredProgram& program, const ParameterOptions& options);
/// Whether a vertex is named, of which only the graph tells whether it has it. Throws what CheckParameters throws for names.
bool NamesVertex(const RegisteredProgram& program, const ParameterOptions& options);
/// Checks names against the program's parameters and turns vertex ids into 0-based ones. Throws UsageError.
Parameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                             std::uint64_t seed);

}  // namespace chatty::cli
