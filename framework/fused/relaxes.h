/// \file
/// Which programs a device may run by relaxing edges in any order.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/framework/program.h"

namespace chatty::fused {

/// Whether the value of P's target may change at once, by whoever has a message, in any order: late and repeated messages do
/// no harm, hardware swaps a value whole, and nothing is computed between rounds.
template <class P>
inline constexpr bool kRelaxes = [] {
  using T = Traits<P>;
  if constexpr (AsynchronousProgram<P>) {
    return P::kSafety == Safety::kMonotone && T::kIdempotent && T::kCanPush && !T::kCounts && !T::kHasConsume &&
           !T::kHasMeasure && !T::kHasInput && (sizeof(ValueOf<P>) == 4 || sizeof(ValueOf<P>) == 8) &&
           sizeof(SharedOf<P>) <= 8 && (!T::kOrders || !T::kSharesSeparately);
  } else {
    return false;
  }
}();

/// Whether hardware has P's update in one operation: P has the hint update_is_reduction (UpdateStatus replaces the value by
/// the reduction of value and message, and returns whether that is another value), which is a minimum, a maximum or a union
/// of bits of numbers.
template <class P>
inline constexpr bool kUpdatesNatively =
    Traits<P>::kUpdateIsReduction&& std::is_same_v<ValueOf<P>, MessageOf<P>>&& std::is_arithmetic_v<ValueOf<P>> &&
    !kUpdateTakesData<P> &&
    (P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax ||
     (P::kReduction == Reduction::kOr && std::is_integral_v<ValueOf<P>>));

/// Whether a message over an edge may be as good as its source's value, on samples: labels and widths are carried, distances
/// grow. One vertex's value then reaches any number of others without a change of priority, so the first bucket is the least
/// one, and rounds of the host, which have no order within a bucket, do better without buckets.
template <class P>
bool CarriesValues(const P& program) {
  if constexpr (Traits<P>::kOrders && std::is_same_v<ValueOf<P>, MessageOf<P>> && !Traits<P>::kHasShare &&
                requires(Vertex v) { program.InitVertex(v); }) {
    VertexId first = 0;
    if constexpr (requires { first = program.source; }) first = program.source;
    const auto over = [&](const ValueOf<P>& value, int weight) {
      Edge<WeightOf<P>> edge{first, first, WeightOf<P>{}};
      if constexpr (std::is_arithmetic_v<WeightOf<P>>) edge.weight = static_cast<WeightOf<P>>(weight);
      return CallComputeScatter(program, value, edge, RoundOf<P>{});
    };
    const ValueOf<P> message = over(program.InitVertex(Vertex{first, 2, 2, 2}), 1);
    const ValueOf<P> next = over(message, 2), identity = IdentityOf<P>();
    return std::memcmp(&message, &identity, sizeof(message)) != 0 && std::memcmp(&message, &next, sizeof(message)) == 0;
  } else {
    return false;
  }
}

/// A changed vertex that is to send. `value` has the value's bits, because a copy of a value may lose its padding, and items
/// are compared with memory. Without a Priority, `hops` counts the edges from the frontier with which the engine began: its
/// order.
template <class Word, bool kOrders>
struct alignas(16) Item {
  /// @{
  /// See above.
  LocalId vertex;
  std::uint32_t hops;
  Word value;
  /// @}
};
/// In the order of a Priority, which the value gives.
template <class Word>
struct alignas(8) Item<Word, true> {
  /// @{
  /// See above.
  LocalId vertex;
  Word value;
  /// @}
};
/// P's items.
template <class P>
using ItemOf = Item<atomics::Word<sizeof(ValueOf<P>)>, Traits<P>::kOrders>;

}  // namespace chatty::fused
