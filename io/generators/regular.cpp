// Graphs whose rows a formula gives directly, without a list of edges.

#include <fmt/format.h>

#include <array>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// The rows of a grid with `Dimensions` sizes; the first coordinate varies fastest. A vertex's edges to its successors in
/// the dimensions, in this order, have the numbers Dimensions * v, Dimensions * v + 1, ... for kept().
template <std::size_t Dimensions, class Kept>
Adjacency GridRows(const std::array<std::uint64_t, Dimensions>& sizes, int threads, Kept&& kept) {
  std::array<std::uint64_t, Dimensions> strides;
  std::uint64_t n = 1;
  for (std::size_t d = 0; d < Dimensions; ++d) {
    strides[d] = n;
    n *= sizes[d];
  }
  return RowsOf(n, threads, [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
    std::array<std::uint64_t, Dimensions> at;
    for (std::size_t d = 0; d < Dimensions; ++d) at[d] = begin / strides[d] % sizes[d];
    for (std::uint64_t v = begin; v < end; ++v) {
      row(v);
      for (std::size_t d = Dimensions; d-- > 0;) {
        if (at[d] > 0 && kept(Dimensions * (v - strides[d]) + d)) emit(v - strides[d]);
      }
      for (std::size_t d = 0; d < Dimensions; ++d) {
        if (at[d] + 1 < sizes[d] && kept(Dimensions * v + d)) emit(v + strides[d]);
      }
      for (std::size_t d = 0; d < Dimensions && ++at[d] == sizes[d]; ++d) at[d] = 0;
    }
  });
}

}  // namespace

inline namespace CHATTY_ABI {

Made MakeGrid(const GeneratorSpec& spec) {
  CheckSizes("grid", {spec.width, spec.height, spec.depth});
  CheckProbability("an edge of a grid is dropped", spec.drop);
  const RandomWords words(spec.seed, kDrops);
  const auto kept = [words, drop = spec.drop](std::uint64_t edge) { return drop == 0 || UnitInterval(words[edge]) >= drop; };
  Made made;
  made.name = fmt::format("grid-{}x{}", spec.width, spec.height);
  if (spec.depth == 1) {
    made.adjacency = GridRows(std::array{spec.width, spec.height}, spec.threads, kept);
  } else {
    made.adjacency = GridRows(std::array{spec.width, spec.height, spec.depth}, spec.threads, kept);
    made.name += fmt::format("x{}", spec.depth);
  }
  if (spec.drop > 0) made.name += fmt::format("-drop{:g}", spec.drop);
  return made;
}

Made MakeChain(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(2 * (n - 1));
  ParallelFor(n, spec.threads, [&](std::size_t v) {
    const EdgeIndex start = v == 0 ? 0 : 2 * v - 1;
    adjacency.offsets[v] = start;
    if (v > 0) adjacency.neighbours[start] = static_cast<VertexId>(v - 1);
    if (v + 1 < n) adjacency.neighbours[start + (v > 0)] = static_cast<VertexId>(v + 1);
  });
  adjacency.offsets[n] = adjacency.neighbours.size();
  return {std::move(adjacency), fmt::format("chain-{}", n)};
}

Made MakeStar(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(2 * (n - 1));
  adjacency.offsets[0] = 0;
  ParallelFor(n - 1, spec.threads, [&](std::size_t i) {  // leaf i + 1
    adjacency.neighbours[i] = static_cast<VertexId>(i + 1);
    adjacency.offsets[i + 1] = n - 1 + i;
    adjacency.neighbours[n - 1 + i] = 0;
  });
  adjacency.offsets[n] = adjacency.neighbours.size();
  return {std::move(adjacency), fmt::format("star-{}", n)};
}

Made MakeComplete(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  CheckEdges("complete graph", n, n - 1);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(n * (n - 1));
  ParallelChunks(n, spec.threads, 64, [&](std::size_t begin, std::size_t end) {
    for (std::uint64_t v = begin; v < end; ++v) {
      adjacency.offsets[v] = v * (n - 1);
      VertexId* const row = adjacency.neighbours.data() + v * (n - 1);
      std::iota(row, row + v, VertexId{0});
      std::iota(row + v, row + (n - 1), static_cast<VertexId>(v + 1));
    }
  });
  adjacency.offsets[n] = n * (n - 1);
  return {std::move(adjacency), fmt::format("complete-{}", n)};
}

Made MakeBinaryTree(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  return {RowsOf(n, spec.threads,
                 [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
                   for (std::uint64_t v = begin; v < end; ++v) {
                     row(v);
                     if (v > 0) emit((v - 1) / 2);
                     for (std::uint64_t child = 2 * v + 1; child <= 2 * v + 2 && child < n; ++child) emit(child);
                   }
                 }),
          fmt::format("binary-tree-{}", n)};
}

Made MakeDeBruijn(const GeneratorSpec& spec) {
  CheckScale(spec);
  const std::uint64_t n = std::uint64_t{1} << spec.scale;
  return {RowsOf(n, spec.threads,
                 [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
                   for (std::uint64_t v = begin; v < end; ++v) {
                     row(v);
                     // The successors and the predecessors of v's digits: two ascending pairs.
                     const std::uint64_t next = 2 * v % n, previous = v / 2;
                     std::array<std::uint64_t, 4> around{next, next + 1, previous, previous + n / 2};
                     std::sort(around.begin(), around.end());
                     for (std::size_t i = 0; i < around.size(); ++i) {
                       if (around[i] != v && (i == 0 || around[i] != around[i - 1])) emit(around[i]);
                     }
                   }
                 }),
          fmt::format("debruijn-{}", spec.scale)};
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
