/// \file
/// The graph in host memory as compressed sparse rows (CSR). Readers and generators make it; a partition divides it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/types.h"

namespace chatty {

std::string_view WeightName(WeightKind kind);  ///< "none", "int32" or "float32"

/// One weight per edge, in edge order; std::monostate for an unweighted graph.
using Weights = std::variant<std::monostate, Array<std::int32_t>, Array<float>>;

/// The kind of these weights.
WeightKind KindOf(const Weights& weights);
/// A copy. Throws OutOfMemoryError.
Weights Clone(const Weights& weights);

/// Edges grouped by one endpoint. Vertex v's neighbours are neighbours[offsets[v] .. offsets[v+1]), ascending.
struct Adjacency {
  Array<EdgeIndex> offsets;    ///< vertices + 1 entries, offsets[0] == 0
  Array<VertexId> neighbours;  ///< offsets.back() entries
  Weights weights;             ///< as many entries as neighbours, or none

  /// Length of v's list.
  EdgeIndex degree(VertexId v) const { return offsets[v + 1] - offsets[v]; }
  /// v's neighbours, ascending; valid during this object's lifetime.
  std::span<const VertexId> operator[](VertexId v) const {
    return {neighbours.data() + offsets[v], static_cast<std::size_t>(degree(v))};
  }
};

/// A list of directed edges, the input of BuildGraph. `weights` is empty or parallel to the other two arrays.
struct EdgeList {
  /// Number of vertices. All endpoints are below it.
  VertexId vertices = 0;
  /// Entry e is the source of edge e.
  Array<VertexId> sources;
  /// Entry e is the target of edge e.
  Array<VertexId> targets;
  /// Entry e is the weight of edge e; empty if unweighted.
  Weights weights;
};

/// How BuildGraph changes its input. The defaults keep the edge list as it is.
struct BuildOptions {
  bool symmetrise = false;        ///< add the reverse of every edge (with its weight); the graph is then symmetric
  bool assume_symmetric = false;  ///< the list already holds both directions of every edge: mark the graph so
  bool remove_loops = false;      ///< drop edges from a vertex to itself
  bool merge_parallel = false;    ///< of several equal edges, keep the lightest
  int threads = 0;                ///< 0: one per core
};

/// Counts of the edges that BuildGraph dropped or added, for a reader's log line.
struct BuildReport {
  EdgeIndex edges_given = 0;      ///< entries of the list
  EdgeIndex loops_removed = 0;    ///< entries of the list
  EdgeIndex parallel_merged = 0;  ///< directed edges, reverse ones included
  EdgeIndex edges_kept = 0;       ///< directed edges in the graph, reverse ones included
};

inline namespace CHATTY_ABI {

/// Arrays that a GraphStore returns, each aligned to 64 bytes.
struct KeptArrays {
  /// In the order in which they were saved. They are writable.
  std::vector<std::span<std::byte>> arrays;
  /// Keeps the arrays in memory.
  std::shared_ptr<const void> owner;
};

/// Stores data derived from a graph, so that a later process need not compute it again: the in-edges, and the division among
/// devices. Thread-safe. A failure to store is not an error: Save functions do not throw.
class GraphStore {
 public:
  virtual ~GraphStore() = default;
  /// The in-edges as Transpose makes them; nothing if they are not stored. Throws OutOfMemoryError.
  virtual std::optional<Adjacency> LoadInEdges() = 0;
  /// Stores the in-edges for later calls of LoadInEdges.
  virtual void SaveInEdges(const Adjacency& in) noexcept = 0;
  /// The arrays that were saved under this key, unchanged; nothing if there are none. Throws OutOfMemoryError.
  virtual std::optional<KeptArrays> LoadArrays(const std::string& key) = 0;
  /// Stores the arrays for later calls of LoadArrays with this key. The key identifies their content and the version of
  /// their layout.
  virtual void SaveArrays(const std::string& key, std::span<const std::span<const std::byte>> arrays) noexcept = 0;
};

/// Owner of a directed graph. It is immutable, except that the in-edges are built on first use.
///
/// A symmetric graph holds both directions of every edge and is its own transpose. Neighbour lists are sorted ascending.
/// Thread-safe for concurrent readers, `in()` and `in_degrees()` included.
class Graph {
 public:
  Graph() = default;
  /// Takes ownership of a finished adjacency. The caller guarantees `symmetric`. Checks in parallel and throws InputError if
  /// offsets do not ascend from 0 to neighbours.size(), a neighbour is out of range, a list does not ascend, or the number
  /// of weights differs from that of neighbours.
  Graph(Adjacency out, bool symmetric, int first_id = 0, std::string name = {});

  /// As the constructor, but checks only the last offset and reads no edge. The caller has checked the edges, for instance
  /// while computing a checksum.
  static Graph OfChecked(Adjacency out, bool symmetric);

  /// Vertices, isolated ones included.
  VertexId vertices() const { return vertices_; }
  EdgeIndex edges() const { return out_.neighbours.size(); }  ///< directed edges; an undirected edge counts twice
  /// Whether every edge has its reverse, with the same weight.
  bool symmetric() const { return symmetric_; }
  /// The kind of the edges' weights.
  WeightKind weight_kind() const { return KindOf(out_.weights); }
  int first_id() const { return first_id_; }  ///< 0 or 1: the file's id of vertex 0, unless there are ids()
  /// Sets first_id(): 0 or 1.
  void set_first_id(int first_id) { first_id_ = first_id; }
  /// The file's vertex ids where they have gaps, ascending: entry v is the id of vertex v. Empty if the id of vertex v is
  /// first_id() + v.
  const Array<std::uint64_t>& ids() const { return ids_; }
  /// Sets ids(): none, or one per vertex. Throws InputError if they do not ascend or their number is wrong.
  void set_ids(Array<std::uint64_t> ids);
  /// The file's id of v.
  std::uint64_t id(VertexId v) const {
    return ids_.empty() ? std::uint64_t{v} + static_cast<std::uint64_t>(first_id_) : ids_[v];
  }
  /// The vertex with that id in the file, if there is one.
  std::optional<VertexId> find(std::uint64_t id) const;
  /// @{
  /// The graph's name in tables and errors: a file's path, or the generator with its parameters.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// @}

  /// Names of vertices, if the source has them (for example package names); empty otherwise. Entry v is the name of vertex
  /// v.
  const std::vector<std::string>& labels() const { return labels_; }
  /// Sets labels(): none, or one per vertex.
  void set_labels(std::vector<std::string> labels) { labels_ = std::move(labels); }

  /// Out-edges; lists ascend by target.
  const Adjacency& out() const { return out_; }
  /// In-edges with their weights, lists ascending by source. A symmetric graph returns `out()`. Otherwise the first caller
  /// loads them from the store, or builds them in parallel and saves them there; the graph keeps them.
  const Adjacency& in() const;
  /// @{
  /// The store that in(), BuildSubgraphs and partitioner "metis" try first; null: none. Set it only while no other thread
  /// uses the graph. WithWeights does not copy it.
  void set_store(std::unique_ptr<GraphStore> store) { lazy_->store = std::move(store); }
  GraphStore* store() const { return lazy_->store.get(); }
  /// @}
  /// Whether in() has its result already, so that a call costs nothing.
  bool has_in_edges() const;
  /// In-degree of every vertex, without building the in-edges. The first caller computes them. Empty for a symmetric graph,
  /// whose in-degrees are its out-degrees.
  std::span<const EdgeIndex> in_degrees() const;

  /// @{
  /// Edges that leave or enter v.
  EdgeIndex out_degree(VertexId v) const { return out_.degree(v); }
  EdgeIndex in_degree(VertexId v) const { return symmetric_ ? out_.degree(v) : in_degrees()[v]; }
  /// @}

  /// Moves the out-edges out and discards the rest, for callers that use an adjacency read as a graph.
  Adjacency TakeOut() && { return std::move(out_); }

  /// The vertex of largest out-degree; among equals, the one with the least id. kNoVertex for an empty graph.
  VertexId max_degree_vertex() const;
  std::size_t bytes() const;  ///< host memory in use, in-edges included

  /// A graph of the same structure with other weights: none, or each weight converted. Throws InputError if a float weight
  /// has no exact int32 value. The edges of an unweighted graph get weight 1.
  Graph WithWeights(WeightKind kind) const;

 private:
  /// Takes ownership of an adjacency whose sizes agree.
  void Adopt(Adjacency out, bool symmetric);

  struct Lazy {  // a separate allocation keeps Graph movable
    Adjacency in;
    Array<EdgeIndex> in_degrees;
    std::unique_ptr<GraphStore> store;  // may be null
    std::atomic<bool> in_built{false}, degrees_built{false};
    std::mutex in_mutex, degrees_mutex;  // held while building; after a failed allocation the next call tries again
  };

  VertexId vertices_ = 0;
  Adjacency out_;
  bool symmetric_ = true;
  int first_id_ = 0;
  Array<std::uint64_t> ids_;
  std::string name_;
  std::vector<std::string> labels_;
  std::unique_ptr<Lazy> lazy_ = std::make_unique<Lazy>();
};

/// Sorts an edge list into a Graph, in parallel. Consumes the list, so that peak memory stays near twice the result. Throws
/// InputError for an endpoint that is not below `list.vertices`.
Graph BuildGraph(EdgeList list, const BuildOptions& options, BuildReport* report = nullptr);

/// As BuildGraph, but returns the adjacency, for callers that add data such as weights before it becomes a Graph. Parallel
/// edges that are kept are in ascending order of weight, so the result depends only on the multiset of edges.
Adjacency BuildAdjacency(EdgeList list, const BuildOptions& options, BuildReport* report = nullptr);

/// The same for a list in pieces, as several threads parse a file. The order of the pieces has no effect. Weights are floats
/// if any piece has floats. The function frees the pieces while the rows grow, so that peak memory is near the larger of the
/// list and the sorted edges with their sources. The pieces' member `vertices` is ignored.
Adjacency BuildAdjacency(VertexId vertices, std::vector<EdgeList> pieces, const BuildOptions& options,
                         BuildReport* report = nullptr);

/// Sorts, in place, the lists of an adjacency that do not ascend: by neighbour, then by weight. Offsets and neighbours must
/// be in range.
void SortLists(Adjacency& adjacency, int threads = 0);

/// Removes loops and parallel edges (the lightest stays), as `options` request. Lists must ascend by neighbour. Adds the
/// counts to `report`. Copies the adjacency only if there is an edge to remove.
void SimplifyLists(Adjacency& adjacency, const BuildOptions& options, BuildReport* report = nullptr);

/// What one pass over the lists of an adjacency finds.
struct RowReport {
  bool offsets_ascend = true;  ///< from 0 to the number of neighbours; if not, the rest is not known
  bool in_range = true;        ///< each neighbour is below the number of lists
  bool lists_ascend = true;    ///< each list ascends
  bool symmetric = true;       ///< as IsSymmetric; true if the caller did not ask
};

/// Checks offsets, neighbours and, if `symmetry`, as IsSymmetric, in one pass. Reads nothing outside the arrays.
RowReport InspectRows(const Adjacency& adjacency, bool symmetry, int threads = 0);

/// Whether every edge has its reverse, with the same weight and the same multiplicity. Of graphs with many edges, a pass
/// compares the sums of a 64-bit hash over ascending and over descending edges: a wrong answer has probability 2^-64. Of
/// others, a walk compares each edge with its reverse. Offsets must be in range.
bool IsSymmetric(const Adjacency& adjacency, int threads = 0);

/// Reverses every edge; lists ascend. `threads` 0: one per core.
Adjacency Transpose(VertexId vertices, const Adjacency& adjacency, int threads = 0);

}  // namespace CHATTY_ABI

}  // namespace chatty
