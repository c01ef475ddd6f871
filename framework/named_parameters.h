/// \file
/// A program's parameters by name, as text, and the vertex that a run starts from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/framework/registry.h"

namespace chatty {

/// How parameters are resolved for a graph.
struct ResolveOptions {
  std::uint64_t seed = 1;       ///< of the source "random"
  std::string_view ids_hint{};  ///< ends the error for a vertex that the graph lacks, if its ids do not count from 0
};

/// The vertex that a run starts from, for each of its trials.
class SourceChoice {
 public:
  /// Parses an id of the graph, "random", "random:SEED" or "max-degree". `label`: the parameter's name in errors. Throws
  /// UsageError, also for a graph without vertices.
  static SourceChoice Parse(std::string_view text, const Graph& graph, const ResolveOptions& options = {},
                            std::string_view label = "source");
  /// The source of a trial, 0-based. Random sources differ from trial to trial, and have out-edges if any vertex has.
  VertexId Pick(const Graph& graph, std::uint32_t trial) const;
  /// Whether trials have different sources.
  bool random() const { return random_; }

 private:
  bool random_ = false;
  std::uint64_t seed_ = 0;
  VertexId vertex_ = 0;
};

/// Parameters in the registry's form, for one graph.
struct ResolvedParameters {
  ParameterValues values;              ///< vertices are 0-based; without the source, if `source` chooses it
  std::optional<SourceChoice> source;  ///< of programs that have one
};

/// Whether `parameter` has no meaning because a run is given these arrays.
bool IsReplaced(std::string_view parameter, std::span<const VertexDataInfo> data);

/// Parameters as a caller names them: numbers as text, vertices by the graph's ids, and the parameter `source` also as
/// SourceChoice reads it. The program must outlive it.
class NamedParameters {
 public:
  /// Of `program`; none is set yet.
  explicit NamedParameters(const RegisteredProgram& program);

  /// Adds a parameter. `label` replaces its name in errors about its value. Throws UsageError for a name that the program
  /// does not have (with the nearest one), a parameter that is set already, and an empty value.
  void Set(std::string_view name, std::string_view value, std::string_view label = {});
  /// Checks what needs no graph: numbers, and what the program itself refuses. Throws UsageError.
  void Check() const;
  /// Whether a vertex is named by its id. Only a graph tells whether it has that vertex. Throws UsageError.
  bool NamesVertex() const;
  /// The parameters for a run on `graph` that is given the arrays `data`. Throws UsageError.
  ResolvedParameters Resolve(const Graph& graph, std::span<const VertexDataInfo> data = {},
                             const ResolveOptions& options = {}) const;

 private:
  struct Given {
    std::string name, value, label;
    bool is_vertex = false;
  };

  const RegisteredProgram* program_;
  std::vector<ParameterInfo> known_;
  std::vector<Given> given_;
};

}  // namespace chatty
