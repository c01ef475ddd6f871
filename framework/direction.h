/// \file
/// Push or pull: what a round of either is expected to cost (Beamer, Asanović and Patterson, SC'12).
#pragma once

#include "chatty/core/macros.h"

namespace chatty {

/// An edge pushed costs an atomic on a random place; an edge pulled, a read of one.
inline constexpr double kPushCost = 2.0;

/// Edges that a pull looks at, of the `wanting` that lead to vertices that want messages. Where the first message suffices a
/// row is left at the first active source: with `active_edges` leaving active vertices, a row holds `active_edges /
/// vertices` of them in the mean, as if spread at random, and one of k in a row of d is met after d / (1 + k).
CHATTY_FN double PullLooks(bool first_suffices, double wanting, double active_edges, double vertices) {
  return first_suffices ? wanting / (1 + active_edges / vertices) : wanting;
}

}  // namespace chatty
