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

/// Makes triangles of counts that have each twice.
struct Halve {
  std::uint64_t* counts;  ///< by owned vertices
  /// Does it for v.
  CHATTY_FN void operator()(LocalId v) const { counts[v] /= 2; }
};

}  // namespace triangles

/// How many triangles each vertex is a corner of: sets of three vertices with edges between all of them, whichever way these
/// lead. Loops and parallel edges do not count. See triangle_counts.h.
struct Triangles {
  /// @{
  /// What OperatorProgram and the command line ask for.
  using Output = std::uint64_t;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr const char* kSummary =
      "triangles through each vertex, and in all; edges of directed graphs taken both ways";
  static constexpr const char* kOutputName = "triangles";
  /// @}

  /// What counting takes.
  static std::uint64_t WorkBytes(const PartShape& part) { return triangles::WorkBytes(part); }
  /// Rows of `part`, or what it found.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    return from == to ? 0 : triangles::ExchangeBytes(part);
  }

  /// The program, on one device of those that run it together.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    if (triangles::Count(ops, out) == 2) ops.ForEachVertex(triangles::Halve{out});
  }

  /// Of the whole graph: each has three corners.
  static std::uint64_t Total(std::span<const std::uint64_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) / 3;
  }
  /// Against triangles counted anew: VerifyTriangles.
  Verdict Verify(const Graph& graph, std::span<const std::uint64_t> counts, const RunStatistics&) const {
    return VerifyTriangles(graph, counts);
  }
};

}  // namespace chatty
