/// \file
/// Push or pull: the expected cost of a round of each (Beamer, Asanović and Patterson, SC'12).
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/options.h"

namespace chatty {

/// Edges that a pull reads of `candidate_edges`. Where the first message suffices, a pull leaves a row at its first active
/// source. With `active_edges` from active vertices, a row has `active_edges / vertices` of them on average, as
/// if spread at random; one of k in a row of d is met after d / (1 + k).
CHATTY_FN double ExpectedPullEdges(bool first_suffices, double candidate_edges, double active_edges, double vertices) {
  return first_suffices ? candidate_edges / (1 + active_edges / vertices) : candidate_edges;
}

/// The directions that a run's graphs support.
struct BuiltDirections {
  bool push = true;                                         ///< forward edges are there
  bool pull = true;                                         ///< reverse edges are there
  bool operator==(const BuiltDirections&) const = default;  ///< both
};

/// The next round's work, on all devices.
struct Ahead {
  std::uint64_t active_edges = 0;    ///< from active vertices
  std::int64_t candidate_edges = 0;  ///< to vertices that Filter accepts
};

/// Chooses between push and pull. Small and plain: copies with the same sums choose alike.
class DirectionChooser {
 public:
  /// The directions and the program's traits.
  struct Terms {
    bool can_push = true;         ///< push is built
    bool can_pull = true;         ///< and pull
    bool first_suffices = false;  ///< as ProgramTraits::first_suffices
    bool every_round = false;     ///< as ProgramTraits::every_round
    /// Buckets are pushed: few of a frontier's edges improve anything, so that a pushed edge costs hardly more than a pulled
    /// one, and a pull reads all of them.
    bool ordered = false;
    Direction direction = Direction::kAuto;      ///< the user's choice
    double push_cost = kHostFrontier.push_cost;  ///< FrontierPolicy::push_cost
  };
  DirectionChooser() = default;
  /// With the program's terms, common to all runs.
  explicit DirectionChooser(const Terms& terms) : terms_(terms) {
    if (terms.ordered && terms.direction == Direction::kAuto) terms_.direction = Direction::kPush;
  }

  /// Whether both are possible.
  bool Chooses() const {
    return terms_.can_push && terms_.can_pull && terms_.direction == Direction::kAuto && !terms_.every_round;
  }
  /// Whether the next round is a pull.
  CHATTY_FN bool UsePull(const Ahead& ahead, VertexId vertices) const {
    if (!terms_.can_push || !terms_.can_pull) return !terms_.can_push;
    if (terms_.direction != Direction::kAuto) return terms_.direction == Direction::kPull;
    if (terms_.every_round) return true;  // all edges either way, and a pull needs no atomics
    return Looks(ahead, vertices) * correction_ < terms_.push_cost * static_cast<double>(ahead.active_edges);
  }
  /// Pulls no more.
  void OnlyPush() { terms_.direction = Direction::kPush; }
  /// Sets the cost of a pushed edge in edges read by a pull.
  void SetPushCost(double cost) { terms_.push_cost = cost; }
  /// A pull that began with `ahead` read `touched` edges.
  CHATTY_FN void Learn(const Ahead& ahead, VertexId vertices, std::uint64_t touched) {
    const double looks = Looks(ahead, vertices);
    if (looks >= 1) correction_ = 0.5 * correction_ + 0.5 * static_cast<double>(touched) / looks;
  }

 private:
  CHATTY_FN double Looks(const Ahead& ahead, VertexId vertices) const {
    return ExpectedPullEdges(terms_.first_suffices, static_cast<double>(ahead.candidate_edges),
                             static_cast<double>(ahead.active_edges), static_cast<double>(vertices));
  }

  Terms terms_;
  double correction_ = 1;  // ratio of read to expected edges in earlier pulls
};

}  // namespace chatty
