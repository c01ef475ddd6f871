/// \file
/// One device's part of a graph: its vertices, the halo of their neighbours in other parts, and the tables that connect
/// borders and halos.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"
#include "chatty/partition/partition.h"

namespace chatty {

/// The contents of a subgraph besides its vertices.
struct SubgraphOptions {
  /// The edges along which the program sends.
  Edges edges = Edges::kOut;
  bool forward = true;  ///< edges along which owned vertices send (needed to push)
  bool reverse = true;  ///< edges along which owned vertices receive (needed to pull)
  WeightKind weights =
      WeightKind::kNone;    ///< the kind that the program reads; the graph's weights are dropped, converted or set to 1
  bool own_begins = false;  ///< build Subgraph::own_begins; AddOwnBegins can add it later
  /// Neighbours get local ids. Otherwise they keep the graph's ids if that saves a copy of all edges (parts are ranges, and
  /// no two lists are merged); the code that copies them then renames them: LocalAdjacency::global.
  bool rename = true;
  /// 0: one per core.
  int threads = 0;
};

/// Weights of a local adjacency; views of the graph's weights where possible.
using WeightSpan = std::variant<std::monostate, std::span<const std::int32_t>, std::span<const float>>;

/// Local CSR rows of the owned vertices. Neighbours are local ids, owned or halo. Each list has the order of the Graph's,
/// which ascends by *global* id, so local ids need not ascend. The spans are views of this object's own storage or, where
/// the contents are equal, of the Graph's arrays, which must then outlive it: all arrays for a part that owns the whole
/// graph, given 32-bit vertex ids and weights of the requested kind; only the weights for a contiguous part.
struct LocalAdjacency {
  std::span<const EdgeIndex> offsets;  ///< owned + 1 entries, from 0
  /// offsets.back() entries
  std::span<const LocalId> neighbours;
  /// As many as neighbours, or none.
  WeightSpan weights;
  EdgeIndex max_degree = 0;  ///< length of the longest row; 0 without owned vertices
  /// `neighbours` are global ids; Subgraph::halo_words maps them to local ids.
  bool global = false;

  /// @{
  /// Storage for the spans above, where they are not views of the graph.
  Array<EdgeIndex> offsets_storage;
  Array<LocalId> neighbours_storage;
  Weights weights_storage;
  /// @}
};

/// Maps 64 vertices of the graph to halo vertices. The vertices whose bit in `marks` is set are in the halo; the first has
/// local id `before`, and the others follow. So a local id is a word and a count of bits: 2 bits per vertex of the graph,
/// which fits a cache, where a table of local ids would take 32.
struct HaloWord {
  /// Bit i of word w: vertex 64 w + i is in the halo.
  std::uint64_t marks = 0;
  std::uint64_t before = 0;  ///< local id of the first halo vertex in this word
};

/// One part of a graph. Local ids: [0, owned) are the part's own vertices in ascending global order; [owned, local) is the
/// halo, grouped by owner and ascending by global id within an owner.
///
/// Two numberings connect the devices. *Subset*: entry i of `border[q]` of part p and halo vertex `halo_begin[p] + i` of
/// part q are the same vertex, so a message or a value travels as (i, payload). *Union*: a broadcast sends entries of
/// `border_union` once to all; `union_to_halo[p]` of part q maps them to halo vertices, if q has them.
struct Subgraph {
  /// @{
  /// Index of this part, and number of parts.
  PartId part = 0;
  PartId parts = 1;
  /// @}
  VertexId vertices = 0;   ///< of the whole graph
  bool symmetric = false;  ///< every edge of the whole graph has its reverse
  /// Number of the part's own vertices.
  LocalId owned = 0;
  LocalId local = 0;           ///< number of owned and halo vertices
  bool identity = false;       ///< the part owns every vertex, so local id == global id; `global_ids` is then empty
  Array<VertexId> global_ids;  ///< an entry for each local vertex
  /// Degrees in the whole graph, of owned vertices.
  Array<EdgeIndex> out_degrees, in_degrees;  ///< independent of the lists built; the same memory on a symmetric graph

  /// The halo, with a word for 64 vertices of the graph, if lists are `global`; empty otherwise.
  Array<HaloWord> halo_words;

  /// Edges along which owned vertices send, and along which they receive.
  std::shared_ptr<const LocalAdjacency> forward, reverse;  ///< null unless requested; the same object if they are equal

  /// For each owned vertex, the index in the array of neighbours of the first neighbour that is not less than every owned
  /// vertex. The owned neighbours begin there, because rows ascend by global id. Empty unless requested, and unless the
  /// graph is symmetric and PartsAreRanges. Also empty if the halo has no lesser vertices, because rows then begin with
  /// owned ones.
  Array<EdgeIndex> own_begins;

  std::vector<LocalId> halo_begin;              ///< parts + 1 entries: q owns halo vertices [halo_begin[q], halo_begin[q+1])
  std::vector<Array<LocalId>> border;           ///< [q]: owned local ids that are in q's halo, in q's order (ascending)
  Array<LocalId> border_union;                  ///< owned local ids that are in any border, ascending
  std::vector<Array<LocalId>> border_to_union;  ///< [q][i]: position of border[q][i] in border_union
  std::vector<Array<LocalId>>
      union_to_halo;  ///< [p][j]: this part's halo local id of entry j of p's border_union, or kNoLocal; empty for p == part

  /// The global id of local vertex l.
  VertexId Global(LocalId l) const { return identity ? VertexId{l} : global_ids[l]; }
  /// Number of halo vertices that `owner` owns.
  LocalId halo_count(PartId owner) const { return halo_begin[owner + 1] - halo_begin[owner]; }
};

/// Whether owned vertices have consecutive ids, halo vertices of earlier parts have lesser ids, and those of later parts
/// greater ones. False if a part owns no vertex or all of them.
bool PartsAreRanges(const Subgraph& subgraph);

/// Computes missing `own_begins`; changes nothing else. 0 threads: one per core.
void AddOwnBegins(std::span<Subgraph> subgraphs, int threads);

/// Builds every part's subgraph, in parallel. The graph must outlive them. If the graph has a store, they are loaded from
/// it, or else stored there; except those of a single part that views the graph.
///
/// For kOut, `forward` has out-edges and `reverse` in-edges; for kIn the other way round. For kBoth, and on a symmetric
/// graph always, one adjacency is both: the graph's own lists if symmetric, otherwise out- and in-edges merged by global
/// neighbour (of equal neighbours, out-edges first). A part's halo consists of the vertices in its lists that it does not
/// own, so it depends on which lists are requested. The graph's in-edges are built only if a list needs them.
///
/// Weights of another kind are converted, int32 to float with rounding to nearest; edges of an unweighted graph get weight
/// 1.
///
/// Scratch memory is 4 bytes and a bit per vertex of the graph. Edges are read twice, once to find the halo and once to
/// rename.
///
/// Throws UsageError if the partition and the graph differ in the number of vertices, or a float weight requested as int32
/// has no int32 value; CapabilityError if a part has more local vertices than 32-bit local ids can number.
std::vector<Subgraph> BuildSubgraphs(const Graph& graph, const Partition& partition, const SubgraphOptions& options);

}  // namespace chatty
