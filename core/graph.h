/// \file
/// The graph in host memory: compressed sparse rows, as a reader or generator makes it and as a partition divides it.
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

/// One weight an edge, in edge order; none for an unweighted graph.
using Weights = std::variant<std::monostate, Array<std::int32_t>, Array<float>>;

/// What kind of weights these are.
WeightKind KindOf(const Weights& weights);
/// A copy. Throws OutOfMemoryError.
Weights Clone(const Weights& weights);

/// Edges grouped by one endpoint. Vertex v's neighbours are neighbours[offsets[v] .. offsets[v+1]), ascending.
struct Adjacency {
  Array<EdgeIndex> offsets;    ///< vertices + 1 entries, offsets[0] == 0
  Array<VertexId> neighbours;  ///< offsets.back() entries
  Weights weights;             ///< as many as neighbours, or none

  /// Length of v's list.
  EdgeIndex degree(VertexId v) const { return offsets[v + 1] - offsets[v]; }
  /// v's neighbours, ascending; valid as long as this object.
  std::span<const VertexId> operator[](VertexId v) const {
    return {neighbours.data() + offsets[v], static_cast<std::size_t>(degree(v))};
  }
};

/// A list of directed edges, the raw material of a Graph. `weights` is empty or parallel to the other two.
struct EdgeList {
  /// How many vertices there are; all ends are below this.
  VertexId vertices = 0;
  /// Entry e is where edge e starts.
  Array<VertexId> sources;
  /// Entry e is where edge e ends.
  Array<VertexId> targets;
  /// Entry e is edge e's weight; or none.
  Weights weights;
};

/// What BuildGraph does with what it is given. Defaults keep the edge list as it stands.
struct BuildOptions {
  bool symmetrise = false;        ///< add the reverse of every edge (with its weight); the graph is then symmetric
  bool assume_symmetric = false;  ///< the list already holds both directions of every edge: mark the graph so
  bool remove_loops = false;      ///< drop edges from a vertex to itself
  bool merge_parallel = false;    ///< keep one of several equal edges: the lightest
  int threads = 0;                ///< 0: as many as there are cores
};

/// Counts of what BuildGraph dropped or added, for the line that a reader prints.
struct BuildReport {
  EdgeIndex edges_given = 0;      ///< entries of the list
  EdgeIndex loops_removed = 0;    ///< entries of the list
  EdgeIndex parallel_merged = 0;  ///< directed edges, reverse ones included
  EdgeIndex edges_kept = 0;       ///< directed edges in the graph, reverse ones included
};

inline namespace CHATTY_ABI {

/// Arrays that a GraphStore has kept, each aligned to 64 bytes.
struct KeptArrays {
  /// In the order in which they were saved; they may be written.
  std::vector<std::span<std::byte>> arrays;
  /// Keeps them in memory.
  std::shared_ptr<const void> owner;
};

/// Where what is made of a graph is kept, so that it need not be made again: its in-edges, and its division among devices.
/// For any number of threads. What goes wrong with keeping is no error of the graph's: Save does not throw.
class GraphStore {
 public:
  virtual ~GraphStore() = default;
  /// The in-edges as Transpose makes them; none where they are not there. Throws OutOfMemoryError.
  virtual std::optional<Adjacency> LoadInEdges() = 0;
  /// Keeps them for the next LoadInEdges.
  virtual void SaveInEdges(const Adjacency& in) noexcept = 0;
  /// The arrays that were saved under this key, unchanged; none where there are none. Throws OutOfMemoryError.
  virtual std::optional<KeptArrays> LoadArrays(const std::string& key) = 0;
  /// Keeps them for the next LoadArrays of this key. The key names what they are, its layout's version included.
  virtual void SaveArrays(const std::string& key, std::span<const std::span<const std::byte>> arrays) noexcept = 0;
};

/// Owner of a directed graph, immutable once built but for the in-edges, which are made on first demand.
///
/// A symmetric graph holds both directions of every edge and is its own transpose. Neighbour lists are sorted ascending.
/// Thread-safe for concurrent readers, `in()` and `in_degrees()` included.
class Graph {
 public:
  Graph() = default;
  /// Takes over a finished adjacency. `symmetric` is the caller's promise. Throws InputError if offsets do not ascend from
  /// 0 to neighbours.size(), a neighbour is out of range, a list does not ascend, or weights are of another length; checks
  /// in parallel.
  Graph(Adjacency out, bool symmetric, int first_id = 0, std::string name = {});

  /// The same without looking at the edges, which whoever calls this has checked, and of offsets at no more than the last:
  /// for who reads them anyway, say for a checksum.
  static Graph OfChecked(Adjacency out, bool symmetric);

  /// Vertices, isolated ones included.
  VertexId vertices() const { return vertices_; }
  EdgeIndex edges() const { return out_.neighbours.size(); }  ///< directed edges: an undirected edge counts twice
  /// Whether every edge has its reverse, with the same weight.
  bool symmetric() const { return symmetric_; }
  /// What edges carry.
  WeightKind weight_kind() const { return KindOf(out_.weights); }
  int first_id() const { return first_id_; }  ///< 0 or 1: the file's own name of vertex 0, unless it has ids()
  /// Sets first_id(): 0 or 1.
  void set_first_id(int first_id) { first_id_ = first_id; }
  /// The file's own names of vertices where these leave gaps, ascending: entry v names vertex v. Empty where vertex v is
  /// first_id() + v.
  const Array<std::uint64_t>& ids() const { return ids_; }
  /// Sets ids(): none, or one a vertex. Throws InputError if they do not ascend or are of another number.
  void set_ids(Array<std::uint64_t> ids);
  /// How the file calls v.
  std::uint64_t id(VertexId v) const {
    return ids_.empty() ? std::uint64_t{v} + static_cast<std::uint64_t>(first_id_) : ids_[v];
  }
  /// The vertex that the file calls `id`, if there is one.
  std::optional<VertexId> find(std::uint64_t id) const;
  /// @{
  /// What tables and errors call the graph; a file's path, or what was generated.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// @}

  /// Names of vertices, where the source has them (say, package names); empty otherwise. Entry v names vertex v.
  const std::vector<std::string>& labels() const { return labels_; }
  /// Sets labels(): none, or one a vertex.
  void set_labels(std::vector<std::string> labels) { labels_ = std::move(labels); }

  /// Out-edges; lists ascend by target.
  const Adjacency& out() const { return out_; }
  /// In-edges with their weights, lists ascending by source. `out()` itself for a symmetric graph, otherwise loaded from the
  /// store, or else built in parallel and saved there, by the first caller and kept.
  const Adjacency& in() const;
  /// @{
  /// Where in(), BuildSubgraphs and partitioner "metis" look first; null: nowhere. It is not set while other threads use the
  /// graph. WithWeights does not pass it on.
  void set_store(std::unique_ptr<GraphStore> store) { lazy_->store = std::move(store); }
  GraphStore* store() const { return lazy_->store.get(); }
  /// @}
  /// Whether in() is there already, so that asking for it costs nothing.
  bool has_in_edges() const;
  /// In-degree of every vertex, without building the in-edges. Built by the first caller; empty for a symmetric graph,
  /// whose in-degrees are its out-degrees.
  std::span<const EdgeIndex> in_degrees() const;

  /// @{
  /// Edges that leave or enter v.
  EdgeIndex out_degree(VertexId v) const { return out_.degree(v); }
  EdgeIndex in_degree(VertexId v) const { return symmetric_ ? out_.degree(v) : in_degrees()[v]; }
  /// @}

  /// The out-edges alone, the rest of the graph given up: for who reads an adjacency as if it were a graph.
  Adjacency TakeOut() && { return std::move(out_); }

  /// Vertex of largest out-degree, the least id among equals. kNoVertex for an empty graph.
  VertexId max_degree_vertex() const;
  std::size_t bytes() const;  ///< host memory held, in-edges included

  /// The same structure with other weights: all kNone, or every weight converted. Throws InputError when a float weight
  /// does not fit an int32 exactly. An unweighted graph becomes one of weight 1.
  Graph WithWeights(WeightKind kind) const;

 private:
  /// Takes over an adjacency whose sizes agree.
  void Adopt(Adjacency out, bool symmetric);

  struct Lazy {  // behind a pointer so that a Graph stays movable
    Adjacency in;
    Array<EdgeIndex> in_degrees;
    std::unique_ptr<GraphStore> store;  // may be null
    std::atomic<bool> in_built{false}, degrees_built{false};
    std::mutex in_mutex, degrees_mutex;  // held while building; what fails, for want of memory, is built on the next demand
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

/// Sorts an edge list into a Graph, in parallel. Consumes the list, so that peak memory stays near twice the result.
/// Throws InputError for an endpoint that is not below `list.vertices`.
Graph BuildGraph(EdgeList list, const BuildOptions& options, BuildReport* report = nullptr);

/// The adjacency alone, for callers that add something, say weights, before it becomes a Graph. Otherwise as BuildGraph.
/// Parallel edges that are kept stand in ascending order of weight, so the result depends on the list as a multiset only.
Adjacency BuildAdjacency(EdgeList list, const BuildOptions& options, BuildReport* report = nullptr);

/// The same of a list in pieces, as threads parse it; their order does not matter. Weights are floats if some piece's are.
/// Memory of the pieces goes back to the system while the rows grow, so that peak memory is near the larger of the list and
/// the sorted edges with their sources. The pieces' own `vertices` are not looked at.
Adjacency BuildAdjacency(VertexId vertices, std::vector<EdgeList> pieces, const BuildOptions& options,
                         BuildReport* report = nullptr);

/// Sorts the lists of an adjacency that do not ascend, in place: by neighbour, then by weight. Offsets and neighbours must
/// be in range.
void SortLists(Adjacency& adjacency, int threads = 0);

/// Drops loops, and all but the lightest of parallel edges, from lists that ascend by neighbour, as `options` says; what it
/// drops is added to `report`. Costs a copy of the adjacency only where there is something to drop.
void SimplifyLists(Adjacency& adjacency, const BuildOptions& options, BuildReport* report = nullptr);

/// Whether every edge has its reverse, with the same weight and as often. One pass, by comparing sums of a 64-bit hash of
/// the edges that ascend and of those that descend: wrong with probability 2^-64.
bool IsSymmetric(const Adjacency& adjacency, int threads = 0);

/// Reverses every edge; lists ascend. `threads` 0: as many as there are cores.
Adjacency Transpose(VertexId vertices, const Adjacency& adjacency, int threads = 0);

}  // namespace CHATTY_ABI

}  // namespace chatty
