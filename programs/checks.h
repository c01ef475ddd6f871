/// \file
/// Functions for references and verifiers: names of vertices in messages, checks of arguments, weights in the type of a
/// distance, and a parallel search for the first error.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"

namespace chatty {

/// "vertex 7", or "vertex 7 (libc6)" if the graph has names; the id is the file's.
std::string VertexName(const Graph& graph, VertexId v);

/// Throws UsageError unless `source` is a vertex of `graph`.
void CheckSource(const Graph& graph, VertexId source);

/// Throws UsageError unless 0 <= damping < 1.
void CheckDamping(double damping);

/// Throws UsageError with the first such edge if a weight is negative or not a number.
void CheckWeights(const Graph& graph);

/// Whether `given` equals `right` or is within `relative_bound` of it, relative to it. If `right` is infinite or 0, only the
/// same value is accepted; if it is undefined, none is. 0.0 and -0.0 are the same.
bool IsWithin(double given, double right, double relative_bound);

/// The type for sums of path lengths: 64-bit integers for any integer distance, so that sums do not wrap; the distance's own
/// type for floating point, so that sums round as the program's do.
template <class Distance>
using PathLength = std::conditional_t<std::is_floating_point_v<Distance>, Distance, std::int64_t>;

/// Calls body(weight_of), where weight_of(e) is the weight of the e-th out-edge as a PathLength<Distance>; 1 for an
/// unweighted graph. Throws UsageError for an integer Distance over float weights, which would round.
template <class Distance, class Body>
void VisitWeights(const Graph& graph, Body&& body) {
  static_assert(std::is_arithmetic_v<Distance>);
  using Length = PathLength<Distance>;
  std::visit(
      [&]<class W>(const W& weights) {
        if constexpr (std::is_same_v<W, std::monostate>) {
          body([](EdgeIndex) { return Length{1}; });
        } else if constexpr (std::is_same_v<W, Array<float>> && std::is_integral_v<Distance>) {
          throw UsageError(
              "integer distances are asked of a graph with float weights; use float distances, or convert the weights "
              "to "
              "int32 first");
        } else {
          body([w = weights.data()](EdgeIndex e) { return static_cast<Length>(w[e]); });
        }
      },
      graph.out().weights);
}

/// Calls check(v) for vertices in parallel and returns the result for the least faulty v, or an empty string. `check`
/// returns a std::string, empty for a correct vertex. If no vertex is faulty, it is called for all.
template <class Check>
std::string FirstFault(VertexId vertices, Check&& check) {
  std::atomic<std::size_t> least{vertices};
  std::mutex mutex;
  std::string text;
  ParallelChunks(vertices, 0, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end && v < least.load(std::memory_order_relaxed); ++v) {
      std::string fault = check(static_cast<VertexId>(v));
      if (fault.empty()) continue;
      const std::lock_guard lock(mutex);
      if (v < least.load(std::memory_order_relaxed)) {
        least.store(v, std::memory_order_relaxed);
        text = std::move(fault);
      }
      return;
    }
  });
  return text;
}

/// The sum of number_of(v) over all vertices v: the weights of a teleport vector. Throws UsageError unless each is finite
/// and not negative, and one is positive.
template <class NumberOf>
double SumOfTeleport(const Graph& graph, NumberOf&& number_of) {
  const std::string fault = FirstFault(graph.vertices(), [&](VertexId v) -> std::string {
    const double number = number_of(v);
    if (number >= 0 && std::isfinite(number)) return {};
    return fmt::format("the teleport vector has {} at {}; give numbers that are at least 0 and finite", number,
                       VertexName(graph, v));
  });
  if (!fault.empty()) throw UsageError(fault);
  double sum = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) sum += number_of(v);
  if (!std::isfinite(sum)) throw UsageError("the teleport vector sums to more than a double holds; scale it down");
  if (sum == 0 && graph.vertices() > 0) throw UsageError("the teleport vector is 0 at all vertices: walks begin nowhere");
  return sum;
}

/// `teleport` scaled to the sum 1. Throws UsageError unless it has a finite number for each vertex, none is negative, and
/// one is positive.
Array<double> NormalisedTeleport(const Graph& graph, std::span<const double> teleport);

}  // namespace chatty
