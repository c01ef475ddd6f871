/// \file
/// Graphs made from a formula: test material of any size, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// What to generate. A family reads the fields that it names and ignores the other families' ones.
///
/// All but citations, web and what is asked for as `directed` are undirected: the Graph is symmetric and both directions of
/// an edge have one weight. The same spec gives the same Graph, bit by bit, at any thread count and on any machine.
struct GeneratorSpec {
  /// - "kron": R-MAT [Chakrabarti, Zhan, Faloutsos 2004] with the parameters of Graph500 and of the 10th DIMACS challenge's
  ///   kron_g500 graphs, a .57, b .19, c .19, d .05, without noise. 2^scale vertices with permuted labels,
  ///   edge_factor * 2^scale generated edges.
  /// - "rmat": the same with a, b and c of one's own; d is what they leave of 1.
  /// - "uniform": 2^scale vertices, edge_factor * 2^scale edges whose ends are independent and uniform.
  /// - "gap-kron", "gap-urand": the GAP benchmark suite's own graphs (its -g and -u), bit by bit: other draws of kron and
  ///   uniform, of which there is one a scale and edge_factor. As GAP builds them, loops and parallel edges are removed, and
  ///   the graph ends at the last vertex that an edge was generated at, so that it may have a few less than 2^scale.
  /// - "rgg": 2^scale random points of the unit square, with an edge between any two at most `radius` apart, as the 10th
  ///   DIMACS challenge's rgg_n_2_X. Vertices are numbered along a Z curve, so that near ones have near numbers.
  /// - "road": like a road network: of a width x height grid of streets, some are closed, what is not connected to the
  /// largest
  ///   part is left out, and bends are vertices of degree two. Every 8th line is a main road, every 64th a motorway, with
  ///   hardly a closure and few bends. Mean degree 2.5, diameter near 2 sqrt(n). Numbered row by row.
  /// - "ba": Barabási and Albert's preferential attachment. The first edges_per_vertex + 1 vertices are a clique; each later
  ///   one has edges to edges_per_vertex distinct earlier ones, chosen as likely as these had edges. Numbered by age.
  /// - "citations": directed and without cycles. Vertex v has edges to edges_per_vertex distinct older ones, or to all of
  /// them
  ///   where they are fewer: each edge to any of these, or as often to where an earlier edge leads. Numbered by age: every
  ///   edge leads to a lower number, and vertex 0 alone has none.
  /// - "web": directed. Pages of a host are numbered in a row; hosts have 8 pages and more, few have many. Each page has no
  ///   link with probability `dangling`, or else about edges_per_vertex, few many more. A link leads with probability
  ///   `local` to a page of the same host, rather to one of its first, or else to a page chosen as 1 over its place among
  ///   the popular.
  /// - "small-world": Watts and Strogatz' ring of `count` vertices, each with its `neighbours` nearest; every edge keeps one
  ///   end and gets a random other one with probability `rewire`. No two coincide: there are count * neighbours / 2.
  /// - "grid": width * height * depth vertices, row by row and layer by layer, each with an edge to its right, its lower and
  ///   its deeper neighbour; every edge is dropped with probability `drop`. Vertices that lose all edges stay.
  /// - "debruijn": 2^scale vertices; v has edges to 2 v and 2 v + 1, modulo 2^scale. Without loops and parallel edges.
  /// - "chain": vertices 0 to count-1, each with an edge to the next.
  /// - "star": vertex 0 with an edge to each of the other count-1.
  /// - "complete": `count` vertices, each with an edge to all others.
  /// - "binary-tree": vertices 0 to count-1; v has edges to 2 v + 1 and 2 v + 2.
  std::string family;

  int scale = 0;                   ///< kron, rmat, uniform, gap-kron, gap-urand, rgg, debruijn
  std::uint64_t edge_factor = 16;  ///< kron, rmat, uniform, gap-*; counts generated edges, before duplicates are merged
  /// @{
  /// rmat: odds that an edge is in the adjacency matrix's upper left, upper right and lower left quadrant, and again in
  /// every quadrant's.
  double a = .57, b = .19, c = .19;
  /// @}
  double radius = 0;         ///< rgg; 0: .55 sqrt(ln n / n), with which the graph is almost connected
  std::uint64_t width = 0;   ///< grid, road
  std::uint64_t height = 0;  ///< grid, road
  std::uint64_t depth = 1;   ///< grid
  double drop = 0;           ///< grid; in [0, 1]
  /// ba, citations, web, small-world, chain, star, complete, binary-tree: vertices. road: about so many; 0: go by width and
  /// height.
  std::uint64_t count = 0;
  std::uint64_t edges_per_vertex = 8;  ///< ba, citations, web
  double dangling = .3;                ///< web; in [0, 1]
  double local = .7;                   ///< web; in [0, 1]
  std::uint64_t neighbours = 8;        ///< small-world; even
  double rewire = .1;                  ///< small-world; in [0, 1]

  bool directed = false;       ///< kron, rmat, uniform: edges lead from the first end to the second
  bool keep_loops = false;     ///< kron, rmat, uniform: keep edges from a vertex to itself
  bool keep_parallel = false;  ///< kron, rmat, uniform: keep edges that were generated more than once

  /// kNone, or weights that are uniform in [min_weight, max_weight] (integers for kInt32; both ends included). The
  /// weight of an edge is a hash of the seed and its two ends, so that it depends on nothing else. But integers from 1 to
  /// 255 on a GAP graph are those that GAP puts there.
  WeightKind weights = WeightKind::kNone;
  /// @{
  /// The range of weights, both ends included.
  double min_weight = 1;
  double max_weight = 255;
  /// @}
  /// Ask for the weights that belong to the family, whatever `weights` says. road: travel times in tenths of a second;
  /// gap-kron, gap-urand: GAP's own; others have none.
  bool own_weights = false;

  /// The same seed gives the same graph. GAP's graphs have their own.
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: as many as there are cores
};

/// A family as help texts and the command line know it.
struct GeneratorFamily {
  std::string_view name;     ///< GeneratorSpec::family
  std::string_view sizes;    ///< fields that say how large, in capitals: "WIDTH HEIGHT"; with other choices behind a "|"
  std::string_view options;  ///< of `chatty generate`, for the other fields: "edge-factor keep-loops"
  std::string_view says;     ///< what its graphs are like
  bool own_weights = false;  ///< whether GeneratorSpec::own_weights may be asked for
};

/// The families, in the order of their description.
std::vector<GeneratorFamily> GeneratorFamilies();
/// Their names.
std::vector<std::string_view> GeneratorNames();

inline namespace CHATTY_ABI {

/// Makes the graph that `spec` describes; its name tells the family and the parameters. Throws UsageError for an
/// unknown family, a size of zero or beyond what vertex ids hold, a probability outside [0, 1] or an impossible range
/// of weights.
///
/// Peak memory is near twice that of the result; for families that generate edges twice, of the result before duplicates are
/// merged.
Graph Generate(const GeneratorSpec& spec);

}  // namespace CHATTY_ABI

}  // namespace chatty
