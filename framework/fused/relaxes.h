/// \file
/// Which programs a device may run by relaxing edges in any order.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/framework/program.h"

namespace chatty::fused {

/// Whether all bytes are equal.
template <class T>
bool SameBits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison): compares bits on purpose
}

/// Whether any holder of a message may change the value of P's target at once, in any order. For this, late and repeated
/// messages must do no harm, hardware must swap a value whole, and nothing may be computed between rounds.
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

/// Whether hardware has P's update in one operation: a minimum, a maximum or a union of bits of numbers. P must have the
/// hint update_is_reduction: UpdateStatus replaces the value by the reduction of value and message, and returns whether that
/// is another value.
template <class P>
inline constexpr bool kUpdatesNatively =
    Traits<P>::kUpdateIsReduction&& std::is_same_v<ValueOf<P>, MessageOf<P>>&& std::is_arithmetic_v<ValueOf<P>> &&
    !kUpdateTakesData<P> &&
    (P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax ||
     (P::kReduction == Reduction::kOr && std::is_integral_v<ValueOf<P>>));

/// Whether UpdateStatus of `program` does on samples what the hint update_is_reduction says. The value becomes the reduction
/// of value and message, and the vertex becomes active if that is another value. A program that throws at a sample does not.
template <class P>
bool UpdatesNatively([[maybe_unused]] const P& program) try {
  if constexpr (kUpdatesNatively<P>) {
    using Value = ValueOf<P>;
    using Limits = std::numeric_limits<Value>;
    std::array<Value, 13> samples = {
        Value{0},      Value{1},         Value{2},          Value{3},        Value{7},          Value{100},       Value{101},
        Limits::max(), Limits::lowest(), Limits::max() / 2, IdentityOf<P>(), Limits::max() / 3, Limits::max() / 7};
    const Vertex vertices[] = {{0, 0, 0, 0}, {1, 3, 3, 3}, {12345, 7, 2, 9}};
    for (const Vertex& vertex : vertices) {
      for (const Value before : samples) {
        for (const Value message : samples) {
          Value value = before;
          const bool active = CallUpdateStatus(program, value, message, vertex, RoundOf<P>{});
          Value expected = before;
          if constexpr (P::kReduction == Reduction::kMin) {
            expected = message < before ? message : before;
          } else if constexpr (P::kReduction == Reduction::kMax) {
            expected = before < message ? message : before;
          } else {
            expected = before | message;
          }
          if (!SameBits(value, expected) || active != !SameBits(expected, before)) return false;
        }
      }
    }
    return true;
  } else {
    return false;
  }
} catch (...) {
  return false;
}

/// Whether a message over an edge may be as good as its source's value, on samples: labels and widths are carried, distances
/// grow. One vertex's value then reaches any number of others without a change of priority, so the first bucket is the least
/// one. Rounds of the host, which have no order within a bucket, do better without buckets.
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
    return !SameBits(message, identity) && SameBits(message, next);
  } else {
    return false;
  }
}

/// Whether messages or updates of `program` depend on the round, on samples: such a program needs rounds, whatever it
/// declares.
template <class P>
bool ReadsRound(const P& program) {
  if constexpr (requires(Vertex v) { program.InitVertex(v); } && !kUpdateTakesData<P> &&
                std::equality_comparable<MessageOf<P>>) {
    RoundOf<P> later;
    later.index = 1000;
    later.active = 12345;
    VertexId first = 0;
    if constexpr (requires { first = program.source; }) first = program.source;
    const Vertex vertices[] = {{first, 2, 2, 2}, {1, 3, 3, 3}, {12345, 7, 2, 9}};
    for (const Vertex& source : vertices) {
      const ValueOf<P> value = program.InitVertex(source);
      if constexpr (Traits<P>::kHasIsActive && !Traits<P>::kIsActiveTakesData) {
        if (!CallIsActive(program, value, RoundOf<P>{})) continue;  // such a value sends nothing: perhaps it is infinite
      }
      SharedOf<P> share{};
      if constexpr (Traits<P>::kHasShare) {
        share = program.Share(value, source);
      } else if constexpr (Traits<P>::kHasConsume) {
        ValueOf<P> taken = value;
        share = program.Consume(taken, source);
      } else {
        share = value;
      }
      WeightOf<P> weight{};
      if constexpr (std::is_arithmetic_v<WeightOf<P>>) weight = WeightOf<P>{1};
      const Edge<WeightOf<P>> edge{source.id, 7, weight};
      const MessageOf<P> message = CallComputeScatter(program, share, edge, RoundOf<P>{});
      if (!(message == CallComputeScatter(program, share, edge, later))) return true;
      ValueOf<P> now = value, then = value;
      const bool active = CallUpdateStatus(program, now, message, source, RoundOf<P>{});
      if (active != CallUpdateStatus(program, then, message, source, later) || !SameBits(now, then)) return true;
    }
  }
  return false;
}

/// The width of the next step, by what the last one did. A step costs a barrier and the wait for the slowest worker, so it
/// should have work for each; a wide step improves vertices again. A program whose vertices start with other values than the
/// identity shows no first improvements: then work alone counts.
struct WidthRule {
  std::uint64_t few;      ///< items a worker, below which the next step is wider
  std::uint64_t many;     ///< items a worker, above which it is narrower
  double halve_above;     ///< part of all items that was followed again, above which it is half as wide
  double narrow_above;    ///< the same, above which it is narrower
  double trim_above = 1;  ///< the same, where workers have enough to do

  /// The width, after so many items were `done` by `workers`, of vertices that had a message for the `first` time, if that
  /// `counts`.
  CHATTY_FN double Next(double width, std::uint64_t done, std::uint64_t first, bool counts, unsigned workers, double least,
                        double most) const {
    const double all = static_cast<double>(done);
    const double again = counts && done > first ? static_cast<double>(done - first) : 0;
    const std::uint64_t each = done / workers;
    double next = width;
    if (again > halve_above * all) {
      next = width / 2;
    } else if (again > narrow_above * all || each > many || (each >= few && again > trim_above * all)) {
      next = width / 1.25;
    } else if (each < few) {
      next = width * 1.25;
    }
    return next < least ? least : next > most ? most : next;
  }
};

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
