/// \file
/// Push or pull: what a round of either is expected to cost (Beamer, Asanović and Patterson, SC'12).
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/framework/options.h"

namespace chatty {

/// An edge pushed costs an atomic on a random place; an edge pulled, a read of one.
inline constexpr double kPushCost = 2.0;

/// Edges that a pull looks at, of the `wanting` that lead to vertices that want messages. Where the first message suffices a
/// row is left at the first active source: with `active_edges` leaving active vertices, a row holds `active_edges /
/// vertices` of them in the mean, as if spread at random, and one of k in a row of d is met after d / (1 + k).
CHATTY_FN double PullLooks(bool first_suffices, double wanting, double active_edges, double vertices) {
  return first_suffices ? wanting / (1 + active_edges / vertices) : wanting;
}

/// What a round has ahead of it, on all devices.
struct Ahead {
  std::uint64_t active_edges = 0;    ///< that leave active vertices
  std::int64_t candidate_edges = 0;  ///< that lead to vertices that want messages
};

/// Chooses between push and pull. Small and plain: all that feed copies of one the same sums choose alike.
class DirectionChooser {
 public:
  /// What it has to choose from, and for whom.
  struct Terms {
    bool can_push = true;         ///< it has this direction built
    bool can_pull = true;         ///< and this
    bool first_suffices = false;  ///< as ProgramTraits::first_suffices
    bool every_round = false;     ///< as ProgramTraits::every_round
    /// Buckets are pushed: few of a frontier's edges improve anything, so that an edge pushed costs hardly more than one
    /// pulled, and a pull looks at all of them.
    bool ordered = false;
    Direction direction = Direction::kAuto;  ///< that the user asks for
  };
  DirectionChooser() = default;
  /// With what every run of the program has in common.
  explicit DirectionChooser(const Terms& terms) : terms_(terms) {
    if (terms.ordered && terms.direction == Direction::kAuto) terms_.direction = Direction::kPush;
  }

  /// Whether there is a choice.
  bool Chooses() const {
    return terms_.can_push && terms_.can_pull && terms_.direction == Direction::kAuto && !terms_.every_round;
  }
  /// Whether the round that is ahead is pulled.
  bool UsePull(const Ahead& ahead, VertexId vertices) const {
    if (!terms_.can_push || !terms_.can_pull) return !terms_.can_push;
    if (terms_.direction != Direction::kAuto) return terms_.direction == Direction::kPull;
    if (terms_.every_round) return true;  // all edges either way, and a pull needs no atomics
    return Looks(ahead, vertices) * correction_ < push_cost_ * static_cast<double>(ahead.active_edges);
  }
  /// An edge pushed is now taken to cost so many that are looked at.
  void SetPushCost(double cost) { push_cost_ = cost; }
  /// A pull that began with `ahead` looked at `touched` edges.
  void Learn(const Ahead& ahead, VertexId vertices, std::uint64_t touched) {
    const double looks = Looks(ahead, vertices);
    if (looks >= 1) correction_ = 0.5 * correction_ + 0.5 * static_cast<double>(touched) / looks;
  }

 private:
  double Looks(const Ahead& ahead, VertexId vertices) const {
    return PullLooks(terms_.first_suffices, static_cast<double>(ahead.candidate_edges),
                     static_cast<double>(ahead.active_edges), static_cast<double>(vertices));
  }

  Terms terms_;
  double push_cost_ = kPushCost;
  double correction_ = 1;  // of what is expected, by what earlier pulls looked at
};

}  // namespace chatty
