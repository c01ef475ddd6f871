/// \file
/// What verifiers share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/core/verdict.h"

namespace chatty::detail {

/// A byte per vertex that any thread can set and read: a plain byte would be a data race.
class Marks {
 public:
  explicit Marks(VertexId vertices) : bytes_(vertices, std::uint8_t{0}) {}
  bool has(VertexId v) { return At(v).load(std::memory_order_relaxed) != 0; }
  void set(VertexId v) {
    if (!has(v)) At(v).store(1, std::memory_order_relaxed);  // most are set already: the load keeps the cache line shared
  }
  /// Sets v's mark; returns true to exactly one caller.
  bool claim(VertexId v) { return !has(v) && At(v).exchange(1, std::memory_order_relaxed) == 0; }

 private:
  std::atomic_ref<std::uint8_t> At(VertexId v) { return std::atomic_ref<std::uint8_t>(bytes_[v]); }
  Array<std::uint8_t> bytes_;
};

/// The sum of term(v) over vertices, with the same bits for any number of threads: partial sums of fixed ranges, added in
/// order.
template <class Term>
double ParallelSum(VertexId vertices, Term&& term) {
  constexpr std::size_t kRange = 4096;
  std::vector<double> partial((std::size_t{vertices} + kRange - 1) / kRange);
  ParallelChunks(partial.size(), 0, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t range = begin; range < end; ++range) {
      double sum = 0;
      for (std::size_t v = range * kRange; v < std::min<std::size_t>(vertices, (range + 1) * kRange); ++v) {
        sum += term(static_cast<VertexId>(v));
      }
      partial[range] = sum;
    }
  });
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

/// The verdict on an answer that has another length than the graph.
template <class T>
std::optional<Verdict> WrongLength(const Graph& graph, std::span<const T> values) {
  if (values.size() == graph.vertices()) return std::nullopt;
  return Failed("the answer has {} values, the graph {} vertices", values.size(), graph.vertices());
}

}  // namespace chatty::detail
