/// \file
/// Who owns which vertex: the division of a graph among devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// An assignment of every vertex to one of `parts()` parts, with each part's own numbering of what it owns: local ids
/// ascend with global ids. Two forms behind one interface: contiguous ranges, which need no tables, and arbitrary
/// owners.
class Partition {
 public:
  Partition() = default;

  /// Part p owns [bounds[p], bounds[p+1]). `bounds` ascends from 0 to the vertex count and holds parts + 1 entries.
  /// Throws UsageError otherwise, CapabilityError when a part would own more vertices than 32-bit local ids can name.
  static Partition FromBounds(std::vector<VertexId> bounds, std::string name);
  /// owners[v] is v's part, below `parts`. Throws UsageError otherwise, CapabilityError as FromBounds does. Takes one
  /// pass to count and one to place, on `threads` threads (0: as many as there are cores).
  static Partition FromOwners(Array<PartId> owners, PartId parts, std::string name, int threads = 0);

  /// @{
  /// What was divided, into how many parts, by which partitioner; whether each part is a range of ids.
  PartId parts() const { return parts_; }
  VertexId vertices() const { return vertices_; }
  const std::string& name() const { return name_; }
  bool contiguous() const { return !bounds_.empty(); }
  /// @}

  // None of these checks its arguments: v is below vertices(), part below parts().

  PartId Owner(VertexId v) const {  ///< the part that owns v
    if (!contiguous()) return owners_[v];
    // The last bound at or below v: of several equal ones (empty parts) the last begins the part that holds v.
    return static_cast<PartId>(std::upper_bound(bounds_.begin(), bounds_.end(), v) - bounds_.begin() - 1);
  }
  LocalId Local(VertexId v) const {  ///< v's local id at its owner
    return contiguous() ? static_cast<LocalId>(v - bounds_[Owner(v)]) : locals_[v];
  }
  VertexId Global(PartId part, LocalId local) const {  ///< inverse of (Owner, Local); local below OwnedCount(part)
    return contiguous() ? bounds_[part] + local : globals_[part][local];
  }
  /// Vertices of `part`.
  VertexId OwnedCount(PartId part) const {
    return contiguous() ? bounds_[part + 1] - bounds_[part] : static_cast<VertexId>(globals_[part].size());
  }

 private:
  PartId parts_ = 0;
  VertexId vertices_ = 0;
  std::string name_;
  std::vector<VertexId> bounds_;          // contiguous form: parts + 1 entries
  Array<PartId> owners_;                  // arbitrary form: one a vertex
  Array<LocalId> locals_;                 // arbitrary form: one a vertex
  std::vector<Array<VertexId>> globals_;  // arbitrary form: owned vertices of each part, ascending
};

/// Options that partitioners share.
struct PartitionOptions {
  /// How many parts to make.
  PartId parts = 1;
  std::uint64_t seed = 1;  ///< for "random" and "metis": the same seed gives the same owners at any thread count
  int threads = 0;         ///< 0: as many as there are cores
  /// Where "metis" cannot be had: divide by another partitioner and warn of it, or throw CapabilityError.
  bool allow_fallback = true;
  /// Bytes that dividing may take beside the graph; 0: what there is. "metis", which takes several times the graph, keeps to
  /// it, or is taken not to be had; the others take next to nothing.
  std::uint64_t memory_limit = 0;
};

/// A way to divide a graph. Stateless; implementations are registered by name in MakePartitioner.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  /// The name that MakePartitioner knows it by.
  virtual std::string_view name() const = 0;
  /// The one number of parts that it divides into; 0 if any will do.
  virtual PartId parts() const { return 0; }
  /// Every vertex of `graph` given to one of `options.parts` parts, some of which may be empty. The result's name() says
  /// who divided: this partitioner, or the one that it fell back to. Throws UsageError for 0 parts, or for others than
  /// parts().
  virtual Partition Divide(const Graph& graph, const PartitionOptions& options) const = 0;
};

/// One of
/// - "contiguous": ranges of equal vertex counts, the first ones a vertex longer where the parts do not divide the
/// count;
/// - "edge-balanced": ranges of nearly equal out-edges plus vertices, so that no part exceeds the mean by more than its
/// one
///   heaviest vertex (chunking as in Zhu et al., "Gemini", OSDI 2016);
/// - "random": the owner is a hash of seed and vertex, the same at any thread count;
/// - "metis": few cut edges, by METIS' multilevel k-way method (Karypis and Kumar, J. Parallel Distrib. Comput. 48, 1998),
///   which balances edges plus vertices, as "edge-balanced" counts them, to within 3 % where it can. Edges count without
///   their direction; no part is empty. In a build without METIS, with more parts than vertices, without edges, for a
///   graph too large for METIS' integers or memory, or where METIS fails, "edge-balanced" divides instead and the log has
///   a warning that says why (see PartitionOptions::allow_fallback). METIS runs in a child process and takes several times
///   the graph's memory;
/// - a path, known by a `/` or a `.` in it: the METIS part file of that name is read now (see ReadPartFile), and divides
///   only into as many parts as it has.
/// Throws UsageError, naming the choices, for anything else; InputError for a file that is no part file.
std::unique_ptr<Partitioner> MakePartitioner(std::string_view name);
/// The names that MakePartitioner takes, in the order to show them; the same in every build.
std::vector<std::string_view> PartitionerNames();

/// How good a partition is: what the quality report prints.
struct PartitionQuality {
  EdgeIndex edge_cut = 0;                     ///< directed edges whose ends have different owners
  std::vector<VertexId> owned;                ///< vertices a part
  std::vector<EdgeIndex> edges;               ///< out-edges a part
  std::vector<std::vector<VertexId>> border;  ///< border[p][q]: vertices of p adjacent (either way) to a vertex of q
  std::vector<VertexId> border_union;         ///< vertices of p adjacent to any other part
  double vertex_balance = 1.0;                ///< largest part over mean; 1 is perfect; 1 for an empty graph
  double edge_balance = 1.0;                  ///< the same of `edges`
};

/// Measures in one pass over the out-edges for every 64 parts, with 13 bytes a vertex of scratch memory; in-edges are
/// not needed. Throws UsageError when the partition is of another vertex count than the graph.
PartitionQuality MeasureQuality(const Graph& graph, const Partition& partition, int threads = 0);
std::string FormatQuality(const PartitionQuality& quality);  ///< a readable table

}  // namespace chatty
