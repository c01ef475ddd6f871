/// \file
/// Graphs from a formula: test data of any size, identical on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// What to generate. A family reads the fields that list its name and ignores the others.
///
/// All graphs are undirected except citations, web and those with `directed`: the Graph is symmetric, and both directions of
/// an edge have the same weight. The same spec gives the same Graph, bit by bit, with any number of threads and on any
/// machine.
struct GeneratorSpec {
  /// - "kron": R-MAT [Chakrabarti, Zhan, Faloutsos 2004] with the parameters of Graph500 and of the 10th DIMACS challenge's
  ///   kron_g500 graphs, a .57, b .19, c .19, d .05, without noise. 2^scale vertices with permuted labels, edge_factor *
  ///   2^scale generated edges.
  /// - "rmat": the same with parameters a, b and c; d is 1 - a - b - c.
  /// - "uniform": 2^scale vertices, edge_factor * 2^scale edges whose ends are independent and uniform.
  /// - "gap-kron", "gap-urand": the GAP benchmark suite's own graphs (its -g and -u), bit by bit. They are instances of kron
  ///   and uniform; there is one for each scale and edge_factor. As in GAP, loops and parallel edges are removed, and the
  ///   graph ends at the last vertex with a generated edge. So it may have a few vertices less than 2^scale.
  /// - "rgg": 2^scale random points of the unit square, with an edge between any two at most `radius` apart, as the 10th
  ///   DIMACS challenge's rgg_n_2_X. Vertices are numbered along a Z curve, so that near ones have near numbers.
  /// - "road": similar to a road network. Some streets of a width x height grid are closed, only the largest component
  ///   remains, and bends are vertices of degree two. Every 8th line is a main road and every 64th a motorway, with few
  ///   closures and bends. Mean degree 2.5, diameter near 2 sqrt(n). Numbered row by row.
  /// - "ba": Barabási and Albert's preferential attachment. The first edges_per_vertex + 1 vertices are a clique. Each later
  ///   vertex has edges to edges_per_vertex distinct earlier ones, chosen with probability proportional to their degree.
  ///   Numbered by age.
  /// - "citations": directed and acyclic. Vertex v has edges to edges_per_vertex distinct older vertices, or to all if there
  ///   are fewer. With equal probability the target is any older vertex, or the target of an earlier edge. Numbered by age:
  ///   every edge leads to a lower number, and only vertex 0 has no out-edge.
  /// - "web": directed. Pages of a host have consecutive numbers; hosts have 8 pages or more, and few have many. A page has
  ///   no link with probability `dangling`, otherwise about edges_per_vertex links; few have many more. With probability
  ///   `local` a link leads to a page of the same host, preferably one of its first. Otherwise it leads to a page whose
  ///   probability is proportional to 1 / its rank of popularity.
  /// - "small-world": Watts and Strogatz' ring of `count` vertices, each with its `neighbours` nearest. Every edge keeps one
  ///   end and gets a random other one with probability `rewire`. Edges are distinct: there are count * neighbours / 2.
  /// - "grid": width * height * depth vertices, row by row and layer by layer, each with an edge to its right, its lower and
  ///   its deeper neighbour. Every edge is dropped with probability `drop`; vertices without edges stay.
  /// - "debruijn": 2^scale vertices; v has edges to 2 v and 2 v + 1, modulo 2^scale. Without loops and parallel edges.
  /// - "chain": vertices 0 to count - 1, each with an edge to the next.
  /// - "star": vertex 0 with an edge to each of the other count - 1.
  /// - "complete": `count` vertices, each with an edge to all others.
  /// - "binary-tree": vertices 0 to count - 1; v has edges to 2 v + 1 and 2 v + 2.
  std::string family;

  int scale = 0;                   ///< kron, rmat, uniform, gap-kron, gap-urand, rgg, debruijn
  std::uint64_t edge_factor = 16;  ///< kron, rmat, uniform, gap-*; counts generated edges, before duplicates are merged
  /// @{
  /// rmat: probabilities of the upper left, upper right and lower left quadrant of the adjacency matrix, at every level.
  double a = .57, b = .19, c = .19;
  /// @}
  double radius = 0;         ///< rgg; 0: .55 sqrt(ln n / n), for an almost connected graph
  std::uint64_t width = 0;   ///< grid, road
  std::uint64_t height = 0;  ///< grid, road
  std::uint64_t depth = 1;   ///< grid
  double drop = 0;           ///< grid; in [0, 1]
  /// ba, citations, web, small-world, chain, star, complete, binary-tree: number of vertices. road: approximate number; 0:
  /// width and height apply.
  std::uint64_t count = 0;
  std::uint64_t edges_per_vertex = 8;  ///< ba, citations, web
  double dangling = .3;                ///< web; in [0, 1]
  double local = .7;                   ///< web; in [0, 1]
  std::uint64_t neighbours = 8;        ///< small-world; even
  double rewire = .1;                  ///< small-world; in [0, 1]

  bool directed = false;       ///< kron, rmat, uniform: edges are directed from the first end to the second
  bool keep_loops = false;     ///< kron, rmat, uniform: keep edges from a vertex to itself
  bool keep_parallel = false;  ///< kron, rmat, uniform: keep edges that were generated more than once

  /// kNone, or uniform weights in [min_weight, max_weight] (integers for kInt32; both ends included). An edge's weight is a
  /// hash of the seed and its two ends, and depends on nothing else. Exception: integers from 1 to 255 on a GAP graph are
  /// GAP's own weights.
  WeightKind weights = WeightKind::kNone;
  /// @{
  /// The range of weights, both ends included.
  double min_weight = 1;
  double max_weight = 255;
  /// @}
  /// Use the weights that belong to the family, whatever `weights` is. road: travel times in tenths of a second; gap-kron,
  /// gap-urand: GAP's own; others have none.
  bool own_weights = false;

  /// The same seed gives the same graph. GAP's graphs have a fixed seed of their own.
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: one per core
};

/// A family for help texts and the command line.
struct GeneratorFamily {
  std::string_view name;     ///< GeneratorSpec::family
  std::string_view sizes;    ///< fields that determine the size, in capitals: "WIDTH HEIGHT"; "|" separates alternatives
  std::string_view options;  ///< options of `chatty generate` for the other fields: "edge-factor keep-loops"
  std::string_view says;     ///< description of its graphs
  bool own_weights = false;  ///< whether GeneratorSpec::own_weights is allowed
};

/// The families, in the order of GeneratorSpec::family.
std::vector<GeneratorFamily> GeneratorFamilies();
/// The families' names.
std::vector<std::string_view> GeneratorNames();

inline namespace CHATTY_ABI {

/// Makes the graph that `spec` describes. Its name contains the family and the parameters. Throws UsageError for an unknown
/// family, a size of zero or beyond vertex ids, a probability outside [0, 1] or an empty range of weights.
///
/// Peak memory is near twice that of the result; for families that may generate an edge twice, of the result before
/// duplicates are merged.
Graph Generate(const GeneratorSpec& spec);

}  // namespace CHATTY_ABI

}  // namespace chatty
