#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/partition/partition.h"

namespace chatty {
namespace {

/// Largest entry over the mean.
template <class T>
double Balance(const std::vector<T>& entries) {
  const double total = std::accumulate(entries.begin(), entries.end(), 0.0);
  if (total == 0.0) return 1.0;
  return static_cast<double>(*std::max_element(entries.begin(), entries.end())) * static_cast<double>(entries.size()) /
         total;
}

/// 1234567 as "1,234,567".
std::string Grouped(std::uint64_t value) {
  std::string text = fmt::to_string(value);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text;
}

double Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

PartitionQuality MeasureQuality(const Graph& graph, const Partition& partition, int threads) {
  if (partition.vertices() != graph.vertices() || partition.parts() == 0) {
    Throw<UsageError>("a partition of {} vertices into {} parts was given for a graph of {} vertices", partition.vertices(),
                      partition.parts(), graph.vertices());
  }
  threads = ThreadCount(threads);
  const std::size_t n = graph.vertices();
  const std::size_t parts = partition.parts();
  PartitionQuality quality;
  quality.owned.resize(parts);
  quality.edges.resize(parts);
  quality.border.assign(parts, std::vector<VertexId>(parts));
  quality.border_union.resize(parts);
  for (PartId p = 0; p < parts; ++p) quality.owned[p] = partition.OwnedCount(p);

  Array<PartId> owners(n);
  ParallelFor(n, threads, [&](std::size_t v) { owners[v] = partition.Owner(static_cast<VertexId>(v)); });

  // The parts adjacent to each vertex, 64 parts at a time: bit q of touched[v] is part first + q. The loop visits an edge at
  // its source and marks the target with an atomic, unless the graph is symmetric and has the reverse edge.
  const std::size_t coarse = std::max<std::size_t>(n / (static_cast<std::size_t>(threads) * 8) + 1, 1 << 12);
  Array<std::uint64_t> touched(n);
  Array<bool> counted(n);  // already counted in border_union, with an earlier block of parts
  std::mutex mutex;        // guards `quality`
  for (std::size_t first = 0; first < parts; first += 64) {
    ParallelFor(n, threads, [&](std::size_t v) {
      touched[v] = 0;
      if (first == 0) counted[v] = false;
    });
    const auto touch = [&](VertexId v, PartId q) {
      if (q - first >= 64) return;  // true also for q below first, because the subtraction wraps
      std::atomic_ref<std::uint64_t> word(touched[v]);
      const std::uint64_t bit = std::uint64_t{1} << (q - first);
      if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    };
    ParallelChunks(n, threads, 1 << 10, [&](std::size_t begin, std::size_t end) {
      EdgeIndex cut = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const auto v = static_cast<VertexId>(i);
        for (const VertexId u : graph.out()[v]) {
          if (owners[u] == owners[v]) continue;
          ++cut;
          touch(v, owners[u]);
          if (!graph.symmetric()) touch(u, owners[v]);
        }
      }
      if (first == 0) {
        const std::lock_guard lock(mutex);
        quality.edge_cut += cut;
      }
    });
    ParallelChunks(n, threads, coarse, [&](std::size_t begin, std::size_t end) {
      const std::size_t width = std::min<std::size_t>(64, parts - first);
      std::vector<VertexId> border(parts * width), border_union(parts);
      std::vector<EdgeIndex> edges(parts);
      for (std::size_t v = begin; v < end; ++v) {
        const PartId p = owners[v];
        edges[p] += graph.out_degree(static_cast<VertexId>(v));
        for (std::uint64_t bits = touched[v]; bits != 0; bits &= bits - 1) {
          ++border[p * width + static_cast<std::size_t>(std::countr_zero(bits))];
        }
        if (touched[v] != 0 && !counted[v]) {
          counted[v] = true;
          ++border_union[p];
        }
      }
      const std::lock_guard lock(mutex);
      for (std::size_t p = 0; p < parts; ++p) {
        for (std::size_t q = 0; q < width; ++q) quality.border[p][first + q] += border[p * width + q];
        quality.border_union[p] += border_union[p];
        if (first == 0) quality.edges[p] += edges[p];
      }
    });
  }
  quality.vertex_balance = Balance(quality.owned);
  quality.edge_balance = Balance(quality.edges);
  return quality;
}

std::string FormatQuality(const PartitionQuality& quality) {
  constexpr std::size_t kMatrixParts = 16;  // a wider matrix does not fit a terminal
  const std::size_t parts = quality.owned.size();
  const auto vertices = std::accumulate(quality.owned.begin(), quality.owned.end(), std::uint64_t{0});
  const auto edges = std::accumulate(quality.edges.begin(), quality.edges.end(), std::uint64_t{0});
  const auto borders = std::accumulate(quality.border_union.begin(), quality.border_union.end(), std::uint64_t{0});

  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "edge cut        {} of {} directed edges ({:.1f} %)\n", Grouped(quality.edge_cut), Grouped(edges),
                 Percent(quality.edge_cut, edges));
  fmt::format_to(out, "vertex balance  {:.3f}  (largest part over mean)\n", quality.vertex_balance);
  fmt::format_to(out, "edge balance    {:.3f}\n\n", quality.edge_balance);

  constexpr const char* kRow = "{:>6} {:>15} {:>19} {:>15} {:>8.1f} %\n";
  fmt::format_to(out, "{:>6} {:>15} {:>19} {:>15} {:>10}\n", "part", "vertices", "out-edges", "border", "of part");
  for (std::size_t p = 0; p < parts; ++p) {
    fmt::format_to(out, fmt::runtime(kRow), p, Grouped(quality.owned[p]), Grouped(quality.edges[p]),
                   Grouped(quality.border_union[p]), Percent(quality.border_union[p], quality.owned[p]));
  }
  fmt::format_to(out, fmt::runtime(kRow), "all", Grouped(vertices), Grouped(edges), Grouped(borders),
                 Percent(borders, vertices));
  if (parts < 2) return text;

  if (parts > kMatrixParts) {
    VertexId least = kNoVertex, most = 0;
    for (std::size_t p = 0; p < parts; ++p) {
      for (std::size_t q = 0; q < parts; ++q) {
        if (p == q) continue;
        least = std::min(least, quality.border[p][q]);
        most = std::max(most, quality.border[p][q]);
      }
    }
    fmt::format_to(out, "\nborder vertices per pair of parts: {} to {}\n", Grouped(least), Grouped(most));
    return text;
  }
  std::size_t width = 6;
  for (const auto& row : quality.border) {
    for (const VertexId count : row) width = std::max(width, Grouped(count).size());
  }
  fmt::format_to(out, "\nborder vertices per pair: owned by the row's part, adjacent to the column's\n{:>6}", "");
  for (std::size_t q = 0; q < parts; ++q) fmt::format_to(out, " {:>{}}", q, width);
  text += '\n';
  for (std::size_t p = 0; p < parts; ++p) {
    fmt::format_to(out, "{:>6}", p);
    for (std::size_t q = 0; q < parts; ++q) {
      fmt::format_to(out, " {:>{}}", p == q ? std::string("-") : Grouped(quality.border[p][q]), width);
    }
    text += '\n';
  }
  return text;
}

}  // namespace chatty
