/// \file
/// Soft priority: when the limit for changed vertices rises, and how far. Delta stepping (Meyer and Sanders, 2003) with an
/// adaptive bucket width.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/types.h"

namespace chatty {

/// Orders priorities as words, the first highest, so that a Max finds the first priority; 0 means none.
CHATTY_FN std::uint64_t PriorityKey(double priority) {
  const auto bits = static_cast<std::uint64_t>(atomics::BitCast<unsigned long long>(priority));
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return ~((bits & kSign) != 0 ? ~bits : bits | kSign);
}
/// The priority for nonzero `key`.
CHATTY_FN double PriorityOfKey(std::uint64_t key) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const std::uint64_t ordered = ~key;
  return atomics::BitCast<double>(static_cast<unsigned long long>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered));
}

/// The decisions before a run.
struct BucketPlan {
  double width = kInfinity<double>;  ///< of the first bucket; infinite: no order, rounds take all changes
  bool adapts = false;               ///< whether the width may change
  double round_edges = 0;            ///< edges that relax in the minimum time of a round
  /// A bucket's last rounds relax few edges each. Below this number of edges the next bucket joins.
  double early_edges = 0;
  double graph_edges = kInfinity<double>;  ///< of the whole graph, for how many are left; infinite: not known
  /// @{
  /// The first bucket of a fused run, whose rounds within a bucket cost nothing: wider. Infinite: the program has
  /// no order.
  double fused_width = kInfinity<double>;
  double fused_max_width = kInfinity<double>;
  bool fused_adapts = false;
  /// @}
  bool operator==(const BucketPlan&) const = default;  ///< all members
};

/// A run's position among its buckets. Small and plain: copies with the same sums give the same answers.
class Buckets {
 public:
  /// No order.
  Buckets() = default;
  /// Before the first bucket.
  explicit Buckets(const BucketPlan& plan) : plan_(plan), width_(plan.width) {
    if (on()) limit_ = -kInfinity<double>;
  }

  /// Whether an order exists.
  bool on() const { return plan_.width < kInfinity<double>; }
  /// Changed vertices of priority below it go now.
  double limit() const { return limit_; }
  double width() const { return width_; }           ///< of the current bucket
  const BucketPlan& plan() const { return plan_; }  ///< the decisions before the run

  /// After a round. The next relaxes `edges`, `first_edges` of them for the first time.
  void Record(std::uint64_t edges, std::uint64_t first_edges) { RecordRounds(1, edges, first_edges); }
  /// The same after several rounds, or parts of one.
  void RecordRounds(double rounds, std::uint64_t edges, std::uint64_t first_edges) {
    rounds_ += rounds;
    edges_ += static_cast<double>(edges);
    first_edges_ += static_cast<double>(first_edges);
    done_edges_ += static_cast<double>(first_edges);
  }
  /// Released vertices join that round.
  void RecordReleased(std::uint64_t edges, std::uint64_t first_edges) { RecordRounds(0, edges, first_edges); }
  /// Whether the next bucket is due with this activity and pending vertices.
  bool Due(std::uint64_t active_vertices, std::uint64_t active_edges) const {
    return active_vertices == 0 || static_cast<double>(active_edges) < plan_.early_edges;
  }
  /// Raises the limit above `first`, the least pending priority.
  void Raise(double first) {
    if (plan_.adapts) Adapt();
    // At least one bit above, even if the width is below the precision.
    limit_ = std::max(std::max(first, limit_) + width_, std::nextafter(first, kInfinity<double>));
  }

 private:
  /// Narrow buckets cost rounds. Wide buckets relax edges again after their sources' values improve. At equal costs neither
  /// change would gain much.
  void Adapt() {
    const double again = std::max(0.0, edges_ - first_edges_), idle = rounds_ * plan_.round_edges;
    if (again > kTolerance * idle && again > kWaste * edges_) {
      width_ /= kStep;
    } else if (idle > kTolerance * again) {
      // The last vertices of a graph with hubs have few edges: it is cheaper to relax these again than to make more rounds.
      const bool last = plan_.graph_edges - done_edges_ < kLast * plan_.graph_edges;
      width_ = std::min(width_ * (last ? kLastStep : kStep), kMax * plan_.width);
    }
    rounds_ *= kMemory;
    edges_ *= kMemory;
    first_edges_ *= kMemory;
  }

  static constexpr double kTolerance = 2;                    // factor between the costs to act on
  static constexpr double kWaste = 1.0 / 16;                 // share of edges relaxed again that is always accepted
  static constexpr double kStep = 1.25;                      // factor of one width change
  static constexpr double kLast = 1.0 / 16, kLastStep = 16;  // the same where this share of the edges is left
  static constexpr double kMemory = 0.75;                    // of data before the last bucket
  // Times the first width: along a chain no width saves a round, and the whole rest would be one bucket.
  static constexpr double kMax = 512;

  BucketPlan plan_;
  double limit_ = kInfinity<double>, width_ = kInfinity<double>;
  double rounds_ = 0, edges_ = 0, first_edges_ = 0;
  double done_edges_ = 0;  // relaxed at least once
};

}  // namespace chatty
