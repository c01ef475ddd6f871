/// \file
/// Random graphs for the partition tests, and a check of subgraphs against the graph by brute force.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"

namespace chatty::test {

enum class TestWeights { kNone, kInt32, kFraction, kWholeFloat };

/// `edges` edges (before symmetrising) with loops and parallel edges among them; ends crowd at low ids when `skewed`.
inline Graph RandomGraph(std::uint64_t seed, VertexId vertices, std::size_t edges, bool symmetric,
                         TestWeights weights = TestWeights::kNone, bool skewed = false) {
  std::mt19937_64 random(seed);
  if (vertices == 0) edges = 0;
  const auto end = [&]() -> VertexId {
    const double x = std::uniform_real_distribution<double>(0, 1)(random);
    return std::min<VertexId>(vertices - 1,
                              static_cast<VertexId>((skewed ? x * x * x * x : x) * static_cast<double>(vertices)));
  };
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  Array<std::int32_t> integers(edges);
  Array<float> floats(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    list.sources[e] = end();
    list.targets[e] = random() % 16 == 0 ? list.sources[e] : end();
    integers[e] = static_cast<std::int32_t>(random() % 2000) - 1000;
    floats[e] = static_cast<float>(integers[e]) + (weights == TestWeights::kFraction ? 0.25f : 0.0f);
  }
  if (weights == TestWeights::kInt32) list.weights = std::move(integers);
  if (weights == TestWeights::kFraction || weights == TestWeights::kWholeFloat) list.weights = std::move(floats);
  BuildOptions options;
  options.symmetrise = symmetric;
  return BuildGraph(std::move(list), options);
}

inline Graph GraphOf(VertexId vertices, const std::vector<std::pair<VertexId, VertexId>>& edges, bool symmetric) {
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges.size());
  list.targets = Array<VertexId>(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) std::tie(list.sources[e], list.targets[e]) = edges[e];
  BuildOptions options;
  options.symmetrise = symmetric;
  return BuildGraph(std::move(list), options);
}

/// By the partitioner of this name.
inline Partition Divide(const Graph& graph, std::string_view name, PartId parts, std::uint64_t seed = 1) {
  return MakePartitioner(name)->Divide(graph, {.parts = parts, .seed = seed});
}

/// A list of (neighbour, weight), sorted.
using Row = std::vector<std::pair<VertexId, double>>;

inline double WeightAt(const Weights& weights, EdgeIndex e) {
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&weights)) return (*integers)[e];
  if (const auto* floats = std::get_if<Array<float>>(&weights)) return (*floats)[e];
  return 1.0;
}

/// The lists that owned vertices should have along `edges`: from the out-edges alone.
inline std::pair<std::vector<Row>, std::vector<Row>> ExpectedRows(const Graph& graph, const SubgraphOptions& options) {
  std::vector<Row> out(graph.vertices()), in(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      const VertexId u = graph.out().neighbours[e];
      const double weight = options.weights == WeightKind::kNone ? 0.0 : WeightAt(graph.out().weights, e);
      out[v].emplace_back(u, weight);
      in[u].emplace_back(v, weight);
    }
  }
  std::vector<Row> forward, reverse;
  if (graph.symmetric()) {
    forward = reverse = std::move(out);
  } else if (options.edges == Edges::kBoth) {
    for (VertexId v = 0; v < graph.vertices(); ++v) out[v].insert(out[v].end(), in[v].begin(), in[v].end());
    forward = reverse = std::move(out);
  } else {
    forward = options.edges == Edges::kOut ? out : in;
    reverse = options.edges == Edges::kOut ? in : out;
  }
  for (Row& row : forward) std::sort(row.begin(), row.end());
  for (Row& row : reverse) std::sort(row.begin(), row.end());
  return {std::move(forward), std::move(reverse)};
}

/// The first thing that is wrong with one adjacency of a part, or "".
inline std::string AdjacencyFault(const Subgraph& s, const LocalAdjacency& a, const std::vector<Row>& expected,
                                  WeightKind kind) {
  if (a.offsets.size() != std::size_t{s.owned} + 1 || a.offsets[0] != 0) return "offsets of the wrong size or start";
  if (a.offsets.back() != a.neighbours.size()) return "offsets do not end at the number of neighbours";
  const auto* integers = std::get_if<std::span<const std::int32_t>>(&a.weights);
  const auto* floats = std::get_if<std::span<const float>>(&a.weights);
  if ((integers != nullptr) != (kind == WeightKind::kInt32) || (floats != nullptr) != (kind == WeightKind::kFloat32)) {
    return "weights of the wrong kind";
  }
  if (integers != nullptr && integers->size() != a.neighbours.size()) return "wrong number of int32 weights";
  if (floats != nullptr && floats->size() != a.neighbours.size()) return "wrong number of float weights";
  EdgeIndex longest = 0;
  for (LocalId l = 0; l < s.owned; ++l) {
    if (a.offsets[l + 1] < a.offsets[l]) return fmt::format("offsets fall at row {}", l);
    longest = std::max(longest, a.offsets[l + 1] - a.offsets[l]);
    Row row;
    for (EdgeIndex e = a.offsets[l]; e < a.offsets[l + 1]; ++e) {
      if (a.neighbours[e] >= s.local) return fmt::format("neighbour out of range in row {}", l);
      const VertexId u = s.Global(a.neighbours[e]);
      if (!row.empty() && u < row.back().first) return fmt::format("row {} is not in global order", l);
      row.emplace_back(u, integers != nullptr ? (*integers)[e] : floats != nullptr ? (*floats)[e] : 0.0);
    }
    std::sort(row.begin(), row.end());
    if (row != expected[s.Global(l)]) return fmt::format("row {} (vertex {}) has the wrong edges", l, s.Global(l));
  }
  if (a.max_degree != longest) return fmt::format("max_degree is {}, not {}", a.max_degree, longest);
  return {};
}

/// What is wrong with a part's own_begins, or "".
inline std::string OwnBeginsFault(const Graph& graph, const Partition& partition, const SubgraphOptions& options,
                                  const Subgraph& s) {
  const LocalAdjacency* const rows = s.forward ? s.forward.get() : s.reverse.get();
  bool expected = options.own_begins && graph.symmetric() && rows != nullptr && s.owned > 0;
  VertexId lesser = 0;
  for (LocalId l = 0; expected && l < s.local; ++l) {
    if (s.Global(l) < s.Global(0)) ++lesser;
    const VertexId v = s.Global(l), first = s.Global(0);
    if (l < s.owned && v != first + l) expected = false;
    if (l >= s.owned && (partition.Owner(v) < s.part) != (v < first)) expected = false;
  }
  if (!expected || lesser == 0) return s.own_begins.empty() ? "" : "own_begins where there should be none";
  if (s.own_begins.size() != s.owned) return "own_begins of the wrong size";
  for (LocalId l = 0; l < s.owned; ++l) {
    EdgeIndex begin = rows->offsets[l];
    while (begin < rows->offsets[l + 1] && s.Global(rows->neighbours[begin]) < s.Global(0)) ++begin;
    if (s.own_begins[l] != begin) return fmt::format("own_begins are wrong in row {}", l);
    bool own = true;  // from there on, until there are no more
    for (EdgeIndex e = rows->offsets[l]; e < rows->offsets[l + 1]; ++e) {
      const bool owned = rows->neighbours[e] < s.owned;
      if (e < begin ? owned : owned && !own) return fmt::format("owned neighbours are elsewhere in row {}", l);
      if (e >= begin && !owned) own = false;
    }
  }
  return {};
}

/// The first promise of subgraph.h that `subgraphs` breaks, in words, or "".
inline std::string SubgraphFault(const Graph& graph, const Partition& partition, const SubgraphOptions& options,
                                 const std::vector<Subgraph>& subgraphs) {
  const VertexId n = graph.vertices();
  const PartId parts = partition.parts();
  if (subgraphs.size() != parts) return "wrong number of subgraphs";
  const auto [forward, reverse] = ExpectedRows(graph, options);
  std::vector<EdgeIndex> in_degrees(n);
  for (const VertexId u : graph.out().neighbours) ++in_degrees[u];
  const bool one_object = graph.symmetric() || options.edges == Edges::kBoth;

  VertexId owned = 0;
  for (PartId p = 0; p < parts; ++p) {
    const Subgraph& s = subgraphs[p];
    const auto fault = [p](const std::string& what) { return fmt::format("part {}: {}", p, what); };
    if (s.part != p || s.parts != parts || s.vertices != n) return fault("wrong part, parts or vertices");
    if (s.symmetric != graph.symmetric()) return fault("symmetric is wrong");
    if (s.owned != partition.OwnedCount(p)) return fault("wrong number of owned vertices");
    owned += s.owned;
    if (s.identity != (s.owned == n)) return fault("identity is wrong");
    if (s.global_ids.size() != (s.identity ? 0 : s.local)) return fault("global_ids of the wrong size");

    for (LocalId l = 0; l < s.owned; ++l) {
      const VertexId v = s.Global(l);
      if (v != partition.Global(p, l)) return fault("an owned vertex has the wrong global id");
      if (l > 0 && v <= s.Global(l - 1)) return fault("owned vertices do not ascend");
    }
    if (s.out_degrees.size() != s.owned || s.in_degrees.size() != s.owned) return fault("degrees of the wrong size");
    for (LocalId l = 0; l < s.owned; ++l) {
      if (s.out_degrees[l] != graph.out_degree(s.Global(l))) return fault("a wrong out-degree");
      if (s.in_degrees[l] != (graph.symmetric() ? graph.out_degree(s.Global(l)) : in_degrees[s.Global(l)])) {
        return fault("a wrong in-degree");
      }
    }

    if ((s.forward != nullptr) != options.forward) return fault("forward is there or not against the options");
    if ((s.reverse != nullptr) != options.reverse) return fault("reverse is there or not against the options");
    if (s.forward && s.reverse && (s.forward == s.reverse) != one_object) return fault("forward and reverse shared wrongly");
    if (s.forward) {
      const std::string text = AdjacencyFault(s, *s.forward, forward, options.weights);
      if (!text.empty()) return fault("forward: " + text);
    }
    if (s.reverse) {
      const std::string text = AdjacencyFault(s, *s.reverse, reverse, options.weights);
      if (!text.empty()) return fault("reverse: " + text);
    }

    const std::string begins = OwnBeginsFault(graph, partition, options, s);
    if (!begins.empty()) return fault(begins);

    std::vector<std::pair<PartId, VertexId>> halo;
    for (LocalId l = 0; l < s.owned; ++l) {
      const auto add = [&](const std::vector<Row>& rows) {
        for (const auto& [u, weight] : rows[s.Global(l)]) {
          if (partition.Owner(u) != p) halo.emplace_back(partition.Owner(u), u);
        }
      };
      if (options.forward) add(forward);
      if (options.reverse) add(reverse);
    }
    std::sort(halo.begin(), halo.end());
    halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
    if (s.local != s.owned + halo.size()) return fault("the halo is of the wrong size");
    if (s.halo_begin.size() != std::size_t{parts} + 1) return fault("halo_begin of the wrong size");
    if (s.halo_begin.front() != s.owned || s.halo_begin.back() != s.local) return fault("halo_begin does not span the halo");
    for (PartId q = 0; q < parts; ++q) {
      if (s.halo_begin[q + 1] < s.halo_begin[q]) return fault("halo_begin falls");
      for (LocalId h = s.halo_begin[q]; h < s.halo_begin[q + 1]; ++h) {
        if (halo[h - s.owned] != std::pair(q, s.Global(h))) return fault(fmt::format("halo vertex {} is wrong", h));
      }
    }
  }
  if (owned != n) return "the parts do not own every vertex";

  for (PartId p = 0; p < parts; ++p) {
    const Subgraph& s = subgraphs[p];
    const auto fault = [p](const std::string& what) { return fmt::format("part {}: {}", p, what); };
    if (s.border.size() != parts || s.border_to_union.size() != parts || s.union_to_halo.size() != parts) {
      return fault("border tables of the wrong size");
    }
    std::vector<LocalId> all;
    for (PartId q = 0; q < parts; ++q) {
      if (s.border[q].size() != subgraphs[q].halo_count(p)) return fault(fmt::format("border to {} of the wrong size", q));
      if (!std::is_sorted(s.border[q].begin(), s.border[q].end()))
        return fault(fmt::format("border to {} does not ascend", q));
      for (LocalId i = 0; i < s.border[q].size(); ++i) {
        if (s.border[q][i] >= s.owned || s.Global(s.border[q][i]) != subgraphs[q].Global(subgraphs[q].halo_begin[p] + i)) {
          return fault(fmt::format("entry {} of the border to {} is another vertex there", i, q));
        }
        all.push_back(s.border[q][i]);
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (!std::equal(all.begin(), all.end(), s.border_union.begin(), s.border_union.end()))
      return fault("border_union is wrong");
    for (PartId q = 0; q < parts; ++q) {
      if (s.border_to_union[q].size() != s.border[q].size()) return fault("border_to_union of the wrong size");
      for (LocalId i = 0; i < s.border[q].size(); ++i) {
        const LocalId j = s.border_to_union[q][i];
        if (j >= all.size() || all[j] != s.border[q][i]) return fault(fmt::format("border_to_union[{}][{}] is wrong", q, i));
      }
      const Array<LocalId>& to_halo = subgraphs[q].union_to_halo[p];
      if (to_halo.size() != (p == q ? 0 : all.size()))
        return fault(fmt::format("union_to_halo of {} is of the wrong size", q));
      LocalId found = 0;
      for (LocalId j = 0; j < to_halo.size(); ++j) {
        if (to_halo[j] == kNoLocal) continue;
        ++found;
        if (to_halo[j] < subgraphs[q].halo_begin[p] || to_halo[j] >= subgraphs[q].halo_begin[p + 1] ||
            subgraphs[q].Global(to_halo[j]) != s.Global(all[j])) {
          return fault(fmt::format("union_to_halo of {} is wrong at {}", q, j));
        }
      }
      if (found != s.border[q].size()) return fault(fmt::format("union_to_halo of {} misses vertices", q));
    }
  }
  return {};
}

}  // namespace chatty::test
