/// \file
/// What one device holds of a graph: its vertices, the halo of its neighbours' vertices, and who needs what from whom.
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

/// Along which edges a program sends. For kBoth an edge carries a message in both directions; on a directed graph the
/// two adjacencies are concatenated, so a reciprocal pair of edges counts twice.
enum class Edges : std::uint8_t { kOut, kIn, kBoth };

/// What a subgraph holds besides its vertices.
struct SubgraphOptions {
  /// Along which edges the program sends.
  Edges edges = Edges::kOut;
  bool forward = true;  ///< edges along which owned vertices send (needed to push)
  bool reverse = true;  ///< edges along which owned vertices are sent to (needed to pull)
  WeightKind weights =
      WeightKind::kNone;    ///< what the program reads; the graph's weights are dropped, converted or set to 1
  bool own_begins = false;  ///< Subgraph::own_begins, which AddOwnBegins adds to subgraphs that were built without
  /// Neighbours get local ids. Otherwise they keep those of the graph where that saves a copy of all edges (parts are
  /// ranges, and no two lists are merged), and whoever copies them renames them: LocalAdjacency::global.
  bool rename = true;
  /// 0: as many as there are cores.
  int threads = 0;
};

/// Weights of a local adjacency: views of the graph's own where it could be shared.
using WeightSpan = std::variant<std::monostate, std::span<const std::int32_t>, std::span<const float>>;

/// Local CSR rows of the owned vertices. Neighbours are local ids, owned or halo; each list keeps the order of the
/// Graph's, which ascends by *global* id, so the local ids in it need not ascend. The spans view either this object's
/// own storage or, wherever the content is the same, the Graph's arrays (which must then outlive it): all of them for a
/// part that owns the whole graph, given 32-bit vertex ids and weights of the kind asked for; weights alone for a
/// contiguous part.
struct LocalAdjacency {
  std::span<const EdgeIndex> offsets;  ///< owned + 1 entries, from 0
  /// offsets.back() entries
  std::span<const LocalId> neighbours;
  /// As many as neighbours, or none.
  WeightSpan weights;
  EdgeIndex max_degree = 0;  ///< longest row; 0 without owned vertices
  /// `neighbours` are ids of the whole graph, for which Subgraph::halo_words has the local ones.
  bool global = false;

  /// @{
  /// What the spans above view, where it could not be shared with the graph.
  Array<EdgeIndex> offsets_storage;
  Array<LocalId> neighbours_storage;
  Weights weights_storage;
  /// @}
};

/// 64 vertices of the graph, of which a halo has those whose bit in `marks` is set: the first of them as local id `before`,
/// the others following it. A local id is then a word and the count of some of its bits: 2 bits a vertex of the graph, which
/// a cache holds, where a table of local ids would be 32.
struct HaloWord {
  /// Bit i: vertex 64 w + i, of word w, is in the halo.
  std::uint64_t marks = 0;
  std::uint64_t before = 0;  ///< the local id that the word's first halo vertex has
};

/// One part of a graph. Local ids: [0, owned) are the part's own vertices in ascending global order; [owned, local) is
/// the halo, grouped by owner and ascending by global id within an owner.
///
/// Two numberings connect the devices (both built here). *Subset*: entry i of `border[q]` of part p and halo vertex
/// `halo_begin[p] + i` of part q are the same vertex, so a message or a value crosses as (i, payload). *Union*: a
/// broadcast sends entries of `border_union` once to all; `union_to_halo[p]` of part q finds the halo vertex, if q
/// holds it.
struct Subgraph {
  /// @{
  /// Which part this is, of how many.
  PartId part = 0;
  PartId parts = 1;
  /// @}
  VertexId vertices = 0;   ///< of the whole graph
  bool symmetric = false;  ///< every edge of the whole graph has its reverse
  /// The part's own vertices.
  LocalId owned = 0;
  LocalId local = 0;           ///< owned + halo
  bool identity = false;       ///< the part owns every vertex, so local id == global id; `global_ids` is then empty
  Array<VertexId> global_ids;  ///< local entries
  /// Owned entries.
  Array<EdgeIndex> out_degrees, in_degrees;  ///< owned entries: degrees in the whole graph, whatever was built; the same
                                             ///< memory on a symmetric graph

  /// The halo, a word for 64 vertices of the graph, where lists are `global`; empty otherwise.
  Array<HaloWord> halo_words;

  /// Edges along which owned vertices send, and are sent to.
  std::shared_ptr<const LocalAdjacency> forward, reverse;  ///< null when not asked for; the same object when they agree

  /// Owned entries: where in the array of neighbours each row has come past those that are less than every owned vertex. The
  /// owned ones follow, for rows ascend by global id. Empty unless asked for, and unless the graph is symmetric and
  /// PartsAreRanges; and where the halo has nothing less, for then it is where the rows begin.
  Array<EdgeIndex> own_begins;

  std::vector<LocalId> halo_begin;              ///< parts + 1 entries: halo owned by q is [halo_begin[q], halo_begin[q+1])
  std::vector<Array<LocalId>> border;           ///< [q]: owned local ids that q holds in its halo, in q's order (ascending)
  Array<LocalId> border_union;                  ///< ascending owned local ids that appear in any border
  std::vector<Array<LocalId>> border_to_union;  ///< [q][i]: position of border[q][i] in border_union
  std::vector<Array<LocalId>> union_to_halo;    ///< [p][j]: my halo local id of entry j of p's border_union, or kNoLocal;
                                                ///< empty for p == part

  /// The id in the whole graph of local vertex l.
  VertexId Global(LocalId l) const { return identity ? VertexId{l} : global_ids[l]; }
  /// Halo vertices that `owner` owns.
  LocalId halo_count(PartId owner) const { return halo_begin[owner + 1] - halo_begin[owner]; }
};

/// Whether owned vertices' ids follow each other, and the halo's vertices of earlier parts have lesser ids than these, and
/// those of later parts greater. False where a part owns no vertex or all of them.
bool PartsAreRanges(const Subgraph& subgraph);

/// Fills in `own_begins` as far as it is not there yet; 0 threads: as many as there are cores. Nothing else changes.
void AddOwnBegins(std::span<Subgraph> subgraphs, int threads);

/// Builds every part's subgraph, in parallel. The graph must outlive them. Where the graph has a store, they are loaded from
/// it if it keeps them, and else kept there; not those of one part that views the graph.
///
/// Along kOut `forward` is made of out-edges and `reverse` of in-edges, along kIn the other way round. Along kBoth, and
/// on a symmetric graph along anything, one adjacency is both: the graph's own lists if symmetric, else out- and
/// in-edges merged by global neighbour (of equal neighbours, out-edges first). A part's halo is what its lists name and
/// it does not own, so it depends on which of the two were asked for. The graph's in-edges are built only if a list
/// needs them.
///
/// Weights of another kind than asked for are converted, int32 to float rounding to nearest; a graph without gets 1 an
/// edge.
///
/// Scratch memory is 4 bytes and a bit a vertex of the graph; edges are read twice, once to find the halo and once to
/// rename.
///
/// Throws UsageError when the partition is of another vertex count than the graph or a float weight asked for as int32
/// is no int32, CapabilityError when a part has more local vertices than 32-bit local ids can name.
std::vector<Subgraph> BuildSubgraphs(const Graph& graph, const Partition& partition, const SubgraphOptions& options);

}  // namespace chatty
