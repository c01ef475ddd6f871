/// \file
/// Soft priority: how far the limit is raised below which changed vertices go now, and when. Delta stepping (Meyer and
/// Sanders, 2003) whose buckets are as wide as pays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/types.h"

namespace chatty {

/// Orders priorities in words, the first highest, so that a Max finds the first and 0 says that there is none.
CHATTY_FN std::uint64_t PriorityKey(double priority) {
  const auto bits = static_cast<std::uint64_t>(atomics::BitCast<unsigned long long>(priority));
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return ~((bits & kSign) != 0 ? ~bits : bits | kSign);
}
/// What became `key`, which is not 0.
inline double PriorityOfKey(std::uint64_t key) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const std::uint64_t ordered = ~key;
  return atomics::BitCast<double>(static_cast<unsigned long long>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered));
}

/// What is decided before a run.
struct BucketPlan {
  double width = kInfinity<double>;  ///< of the first bucket; infinite: no order, rounds take whatever changed
  bool adapts = false;               ///< whether later ones may have others
  double round_edges = 0;            ///< edges that could be relaxed in the time that a round takes however few there are
  /// A bucket's last rounds relax few edges each: once they are fewer than so many, the next one joins them.
  double early_edges = 0;
};

/// Where a run stands among its buckets. Small and plain: whoever feeds copies of one the same sums gets the same answers.
class Buckets {
 public:
  /// No order.
  Buckets() = default;
  /// Before the first bucket.
  explicit Buckets(const BucketPlan& plan) : plan_(plan), width_(plan.width) {
    if (on()) limit_ = -kInfinity<double>;
  }

  /// Whether there is an order at all.
  bool on() const { return plan_.width < kInfinity<double>; }
  /// Changed vertices whose priority is below go now.
  double limit() const { return limit_; }
  double width() const { return width_; }  ///< of the bucket at hand

  /// A round has been. The next will relax `edges`, of them `fresh` for the first time.
  void Note(std::uint64_t edges, std::uint64_t fresh) {
    rounds_ += 1;
    edges_ += static_cast<double>(edges);
    fresh_ += static_cast<double>(fresh);
  }
  /// What is pending no longer joins them.
  void NoteReleased(std::uint64_t edges, std::uint64_t fresh) {
    edges_ += static_cast<double>(edges);
    fresh_ += static_cast<double>(fresh);
  }
  /// Whether the next bucket is due when so much is active and something pending.
  bool Due(std::uint64_t active_vertices, std::uint64_t active_edges) const {
    return active_vertices == 0 || static_cast<double>(active_edges) < plan_.early_edges;
  }
  /// Raises the limit above `first`, the least priority that is pending.
  void Raise(double first) {
    if (plan_.adapts) Adapt();
    // At least a bit above, however narrow the bucket is for numbers of this size.
    limit_ = std::max(std::max(first, limit_) + width_, std::nextafter(first, kInfinity<double>));
  }

 private:
  /// Narrow buckets cost rounds, wide ones relax edges again whose sources' values have improved since. Where the two cost
  /// the same, neither would gain much.
  void Adapt() {
    const double again = std::max(0.0, edges_ - fresh_), idle = rounds_ * plan_.round_edges;
    if (again > kTolerance * idle && again > kWaste * edges_) {
      width_ /= kStep;
    } else if (idle > kTolerance * again) {
      width_ = std::min(width_ * kStep, kMax * plan_.width);
    }
    rounds_ *= kMemory;
    edges_ *= kMemory;
    fresh_ *= kMemory;
  }

  static constexpr double kTolerance = 2;     // of either cost being more than the other
  static constexpr double kWaste = 1.0 / 16;  // of all edges, relaxed again: little enough in any case
  static constexpr double kStep = 1.25;       // by which a width changes at once
  static constexpr double kMemory = 0.75;     // of what was before the last bucket
  // Of the first width: along a chain no width saves a round, and all that follows it would be one bucket.
  static constexpr double kMax = 512;

  BucketPlan plan_;
  double limit_ = kInfinity<double>, width_ = kInfinity<double>;
  double rounds_ = 0, edges_ = 0, fresh_ = 0;
};

}  // namespace chatty
