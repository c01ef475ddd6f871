/// \file
/// A program and its parameters, as the command line names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/framework/named_parameters.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/run_by_name.h"

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

/// A program as FindProgram of the library finds it; with `precision` double the one of that name and `_double`. Throws as
/// that does, and UsageError where a program has no such other.
const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind,
                                     std::string_view precision);
/// Throws UsageError, with this remedy, if a value of the program has no verifier; before anything is loaded for it.
void CheckVerifier(const RegisteredProgram& program, std::string_view value, std::string_view remedy);

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
ResolvedParameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                                     std::uint64_t seed);

}  // namespace chatty::cli
