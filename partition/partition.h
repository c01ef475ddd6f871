/// \file
/// The division of a graph among devices: an owner for each vertex.
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

/// Assigns every vertex to one of `parts()` parts, and numbers the vertices of each part: local ids ascend with global ids.
/// There are two forms: contiguous ranges, which need no tables, and arbitrary owners.
class Partition {
 public:
  Partition() = default;

  /// Part p owns [bounds[p], bounds[p+1]). `bounds` ascends from 0 to the number of vertices and has parts + 1 entries.
  /// Throws UsageError otherwise, CapabilityError if a part would own more vertices than 32-bit local ids can number.
  static Partition FromBounds(std::vector<VertexId> bounds, std::string name);
  /// owners[v] is v's part, below `parts`. Throws UsageError otherwise, CapabilityError as FromBounds does. Takes one pass
  /// to count and one to place, on `threads` threads (0: one per core).
  static Partition FromOwners(Array<PartId> owners, PartId parts, std::string name, int threads = 0);

  /// @{
  /// Number of parts and of vertices, the partitioner's name, and whether each part is a range of ids.
  PartId parts() const { return parts_; }
  VertexId vertices() const { return vertices_; }
  const std::string& name() const { return name_; }
  bool contiguous() const { return !bounds_.empty(); }
  /// @}

  // These functions do not check arguments: v is below vertices(), part below parts().

  PartId Owner(VertexId v) const {  ///< the part that owns v
    if (!contiguous()) return owners_[v];
    // The last bound at or below v. Empty parts have equal bounds; the last of them belongs to the part with v.
    return static_cast<PartId>(std::upper_bound(bounds_.begin(), bounds_.end(), v) - bounds_.begin() - 1);
  }
  LocalId Local(VertexId v) const {  ///< v's local id at its owner
    return contiguous() ? static_cast<LocalId>(v - bounds_[Owner(v)]) : locals_[v];
  }
  VertexId Global(PartId part, LocalId local) const {  ///< inverse of (Owner, Local); local below OwnedCount(part)
    return contiguous() ? bounds_[part] + local : globals_[part][local];
  }
  /// Number of vertices of `part`.
  VertexId OwnedCount(PartId part) const {
    return contiguous() ? bounds_[part + 1] - bounds_[part] : static_cast<VertexId>(globals_[part].size());
  }

 private:
  PartId parts_ = 0;
  VertexId vertices_ = 0;
  std::string name_;
  std::vector<VertexId> bounds_;          // contiguous form: parts + 1 entries
  Array<PartId> owners_;                  // arbitrary form: one per vertex
  Array<LocalId> locals_;                 // arbitrary form: one per vertex
  std::vector<Array<VertexId>> globals_;  // arbitrary form: owned vertices of each part, ascending
};

/// Options of partitioners.
struct PartitionOptions {
  /// Number of parts.
  PartId parts = 1;
  std::uint64_t seed = 1;  ///< for "random" and "metis": the same seed gives the same owners with any number of threads
  int threads = 0;         ///< 0: one per core
  /// If "metis" is not available: use another partitioner and log a warning (true), or throw CapabilityError (false).
  bool allow_fallback = true;
  /// Bytes that division may take besides the graph; 0: no limit. "metis" takes several times the graph and respects the
  /// limit, or counts as unavailable; the others take very little.
  std::uint64_t memory_limit = 0;
};

/// A method to divide a graph. Stateless. MakePartitioner registers implementations by name.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  /// The name for MakePartitioner.
  virtual std::string_view name() const = 0;
  /// The only number of parts that it supports; 0: any.
  virtual PartId parts() const { return 0; }
  /// Assigns every vertex of `graph` to one of `options.parts` parts; parts may be empty. The result's name() is that of the
  /// partitioner that made it: this one or its fallback. Throws UsageError for 0 parts, or a number other than parts().
  virtual Partition Divide(const Graph& graph, const PartitionOptions& options) const = 0;
};

/// Makes one of these partitioners:
/// - "contiguous": ranges with equal numbers of vertices; if the number of parts does not divide that of vertices, the first
///   ranges have one more;
/// - "edge-balanced": ranges with nearly equal sums of out-edges and vertices, so that a part exceeds the mean by at most
///   its heaviest vertex (chunking as in Zhu et al., "Gemini", OSDI 2016);
/// - "random": the owner is a hash of seed and vertex, independent of the number of threads;
/// - "metis": few cut edges, by METIS' multilevel k-way method (Karypis and Kumar, J. Parallel Distrib. Comput. 48, 1998).
///   It balances edges plus vertices, as "edge-balanced" counts them, to within 3 % where possible. Edges count without
///   their direction; no part is empty. In a build without METIS, with more parts than vertices, without edges, for a graph
///   too large for METIS' integers or memory, or if METIS fails, "edge-balanced" divides instead, and a warning gives the
///   reason (see PartitionOptions::allow_fallback). METIS runs in a child process and takes several times the graph's
///   memory;
/// - a path, which contains a `/` or a `.`: the METIS part file of that name is read now (see ReadPartFile), and divides
///   only into its own number of parts.
///
/// Throws UsageError with the list of names for any other name; InputError for a file that is not a part file.
std::unique_ptr<Partitioner> MakePartitioner(std::string_view name);
/// The names for MakePartitioner, in display order; the same in every build.
std::vector<std::string_view> PartitionerNames();

/// The measures of a partition's quality, for the quality report.
struct PartitionQuality {
  EdgeIndex edge_cut = 0;                     ///< directed edges whose ends have different owners
  std::vector<VertexId> owned;                ///< vertices of each part
  std::vector<EdgeIndex> edges;               ///< out-edges of each part
  std::vector<std::vector<VertexId>> border;  ///< border[p][q]: vertices of p adjacent (either way) to a vertex of q
  std::vector<VertexId> border_union;         ///< vertices of p adjacent to any other part
  double vertex_balance = 1.0;                ///< largest part / mean; 1 is perfect; 1 for an empty graph
  double edge_balance = 1.0;                  ///< the same for `edges`
};

/// Measures a partition in one pass over the out-edges for every 64 parts, with 13 bytes of scratch memory per vertex. Needs
/// no in-edges. Throws UsageError if the partition and the graph differ in the number of vertices.
PartitionQuality MeasureQuality(const Graph& graph, const Partition& partition, int threads = 0);
std::string FormatQuality(const PartitionQuality& quality);  ///< a table for people

}  // namespace chatty
