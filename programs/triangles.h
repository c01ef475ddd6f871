/// \file
/// Triangles through each vertex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/triangle_counts.h"
#include "chatty/programs/verify.h"

namespace chatty {

namespace triangles {

/// Converts counts that have each triangle twice.
struct Halve {
  std::uint64_t* counts;  ///< of owned vertices
  /// Halves v's count.
  CHATTY_FN void operator()(LocalId v) const { counts[v] /= 2; }
};

}  // namespace triangles

/// Number of triangles at each vertex: sets of three vertices with edges between all of them, in either direction. Loops and
/// parallel edges do not count. See triangle_counts.h.
struct Triangles {
  /// @{
  /// Members that OperatorProgram and the command line use.
  using Output = std::uint64_t;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Info kInfo{
      .summary = "triangles through each vertex, and in all; edges of directed graphs taken both ways",
      .output_name = "triangles",
  };
  /// @}

  /// Memory for counting.
  static std::uint64_t WorkBytes(const PartShape& part) { return triangles::WorkBytes(part); }
  /// Rows of `part`, or its counts.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    return from == to ? 0 : triangles::ExchangeBytes(part);
  }

  /// Runs the program on one of its devices.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    if (triangles::Count(ops, out) == 2) ops.ForEachVertex(triangles::Halve{out});
  }

  /// Number of triangles in the graph: each has three corners.
  static std::uint64_t Total(std::span<const std::uint64_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) / 3;
  }
  /// Compares with a count by another method: VerifyTriangles.
  Verdict Verify(const Graph& graph, std::span<const std::uint64_t> counts, const RunStatistics&) const {
    return VerifyTriangles(graph, counts);
  }
};

}  // namespace chatty
