/// \file
/// What the engines derive from a program's members, with the default of each that is absent.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "chatty/core/graph.h"
#include "chatty/core/types.h"
#include "chatty/framework/program/messages.h"
#include "chatty/framework/program/types.h"

namespace chatty {

namespace detail {

template <class P>
struct SharedOfImpl {
  using type = typename P::Value;
};
template <class P>
requires requires { typename P::Shared; }
struct SharedOfImpl<P> {
  using type = typename P::Shared;
};
template <class P>
struct WeightOfImpl {
  using type = None;
};
template <class P>
requires requires { typename P::Weight; }
struct WeightOfImpl<P> {
  using type = typename P::Weight;
};
template <class P>
struct GlobalOfImpl {
  using type = None;
};
template <class P>
requires requires { typename P::Global; }
struct GlobalOfImpl<P> {
  using type = typename P::Global;
};
template <class P>
struct InputOfImpl {
  using type = None;
};
template <class P>
requires requires { typename P::Input; }
struct InputOfImpl<P> {
  using type = typename P::Input;
};
template <class P>
struct DataOfImpl {
  using type = None;
};
template <class P>
requires requires { typename P::Data; }
struct DataOfImpl<P> {
  using type = typename P::Data;
};

}  // namespace detail

/// What a vertex of P keeps.
template <class P>
using ValueOf = typename P::Value;
/// What an edge carries.
template <class P>
using MessageOf = typename P::Message;
/// What neighbours see of a vertex: P::Shared, or the Value.
template <class P>
using SharedOf = typename detail::SharedOfImpl<P>::type;
/// What P reads of an edge: P::Weight, or None.
template <class P>
using WeightOf = typename detail::WeightOfImpl<P>::type;
/// What P measures: P::Global, or None.
template <class P>
using GlobalOf = typename detail::GlobalOfImpl<P>::type;
/// What P starts from: P::Input, or None.
template <class P>
using InputOf = typename detail::InputOfImpl<P>::type;
/// What P is given of a vertex from outside: P::Data, or None.
template <class P>
using DataOf = typename detail::DataOfImpl<P>::type;
/// Where a run of P stands.
template <class P>
using RoundOf = Round<GlobalOf<P>>;

namespace detail {

// What UpdateStatus takes: a message, or all.
template <class P>
using UpdateOf = std::conditional_t<P::kReduction == Reduction::kCount, Counts<typename P::Message>, typename P::Message>;

}  // namespace detail

/// What P, a program of any kind, says of itself.
template <class P>
constexpr Info InfoOf() {
  if constexpr (requires { P::kInfo; }) {
    return P::kInfo;
  } else {
    return {};
  }
}

/// Everything that the engines derive from a program's members, as constants. Absent optional members read as their
/// defaults. A function that takes a `const Round&` may leave it out; `calls.h` calls either form.
template <class P>
struct Traits {
  /// @{
  /// As P says, or the default.
  static constexpr Reduction kReduction = P::kReduction;
  static constexpr Safety kSafety = P::kSafety;
  static constexpr Edges kEdges = [] {
    if constexpr (requires { P::kEdges; })
      return P::kEdges;
    else
      return Edges::kOut;
  }();
  static constexpr Activity kActivity = [] {
    if constexpr (requires { P::kActivity; })
      return P::kActivity;
    else
      return Activity::kOnMessage;
  }();
  /// @}
  /// What P promises; see Hints.
  static constexpr Hints kHints = [] {
    if constexpr (requires { P::kHints; })
      return P::kHints;
    else
      return Hints{};
  }();
  /// @{
  /// One hint each, as engines read it.
  static constexpr bool kAnyMessageSuffices = kHints.any_message_suffices;
  static constexpr bool kFirstInRowSuffices = kHints.first_in_row_suffices;
  static constexpr bool kUpdateIsReduction = kHints.update_is_reduction;
  static constexpr bool kMeasureWhenQuiet = kHints.measure_when_quiet;
  static constexpr bool kContinuesWhileActive = kHints.continues_while_active;
  static constexpr bool kStationary = kHints.stationary;
  /// @}
  /// Every vertex takes part in every round.
  static constexpr bool kEveryRound = kActivity == Activity::kEveryRound;
  /// UpdateStatus sees all messages, counted.
  static constexpr bool kCounts = kReduction == Reduction::kCount;
  /// P starts from another program's values.
  static constexpr bool kHasInput = !std::is_same_v<InputOf<P>, None>;
  /// P is given data of each vertex.
  static constexpr bool kHasData = !std::is_same_v<DataOf<P>, None>;
  /// @{
  /// P has the optional member, with a signature that is called.
  static constexpr bool kHasShare = requires(const P p, const ValueOf<P> v, Vertex x) {
    { p.Share(v, x) } -> std::convertible_to<SharedOf<P>>;
  };
  static constexpr bool kHasConsume = requires(const P p, ValueOf<P> v, Vertex x) {
    { p.Consume(v, x) } -> std::convertible_to<SharedOf<P>>;
  };
  static constexpr bool kHasFilter = requires(const P p, const ValueOf<P> v) {
    { p.Filter(v) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasFilterMessage = requires(const P p, const ValueOf<P> v, MessageOf<P> m) {
    { p.Filter(v, m) } -> std::convertible_to<bool>;
  };
  static constexpr bool kRoundMessageTakesRound = requires(const P p, const RoundOf<P> r) {
    { p.RoundMessage(r) } -> std::convertible_to<MessageOf<P>>;
  };
  static constexpr bool kHasRoundMessage = kRoundMessageTakesRound || requires(const P p) {
    { p.RoundMessage() } -> std::convertible_to<MessageOf<P>>;
  };
  static constexpr bool kScatterTakesRound =
      requires(const P p, const SharedOf<P> s, Edge<WeightOf<P>> e, const RoundOf<P> r) {
    p.ComputeScatter(s, e, r);
  };
  static constexpr bool kUpdateTakesRound =
      requires(const P p, ValueOf<P> v, detail::UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
    p.UpdateStatus(v, m, x, r);
  }
  || (kHasData && requires(const P p, ValueOf<P> v, detail::UpdateOf<P> m, Vertex x, const RoundOf<P> r, const DataOf<P> d) {
    p.UpdateStatus(v, m, x, r, d);
  });
  static constexpr bool kUpdateTakesData =
      kHasData && (requires(const P p, ValueOf<P> v, detail::UpdateOf<P> m, Vertex x, const RoundOf<P> r,
                            const DataOf<P> d) { p.UpdateStatus(v, m, x, r, d); } ||
                   (!kUpdateTakesRound && requires(const P p, ValueOf<P> v, detail::UpdateOf<P> m, Vertex x,
                                                   const DataOf<P> d) { p.UpdateStatus(v, m, x, d); }));
  /// A function and no hint: parameters decide, as PageRank with a number of rounds to keep must not take newer values.
  static constexpr bool kHasAllowsGaussSeidel = requires(const P p) {
    { p.AllowsGaussSeidel() } -> std::convertible_to<bool>;
  };
  static constexpr bool kIsActiveTakesRound = requires(const P p, const ValueOf<P> v, const RoundOf<P> r) {
    { p.IsActive(v, r) } -> std::convertible_to<bool>;
  }
  || (kHasData && requires(const P p, const ValueOf<P> v, const RoundOf<P> r, const DataOf<P> d) {
    { p.IsActive(v, r, d) } -> std::convertible_to<bool>;
  });
  static constexpr bool kIsActiveTakesData =
      kHasData && (requires(const P p, const ValueOf<P> v, const RoundOf<P> r, const DataOf<P> d) {
        { p.IsActive(v, r, d) } -> std::convertible_to<bool>;
      } || (!kIsActiveTakesRound && requires(const P p, const ValueOf<P> v, const DataOf<P> d) {
                     { p.IsActive(v, d) } -> std::convertible_to<bool>;
                   }));
  static constexpr bool kHasIsActive = kIsActiveTakesRound || kIsActiveTakesData || requires(const P p, const ValueOf<P> v) {
    { p.IsActive(v) } -> std::convertible_to<bool>;
  };
  static constexpr bool kInitTakesData =
      kHasData &&
      (kHasInput ? requires(const P p, Vertex x, const InputOf<P> prior, const DataOf<P> d) { p.InitVertex(x, prior, d); }
                 : requires(const P p, Vertex x, const DataOf<P> d) { p.InitVertex(x, d); });
  static constexpr bool kPreparesData = kHasData && requires(const P p, const Graph& graph, std::span<DataOf<P>> data,
                                                             std::span<const std::string_view> given) {
    p.PrepareData(graph, data, given);
  };
  static constexpr bool kMeasuresChangeInRound = requires(const P p, const ValueOf<P> v, Vertex x, const RoundOf<P> r) {
    { p.Measure(v, v, x, r) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kMeasuresChange = kMeasuresChangeInRound || requires(const P p, const ValueOf<P> v, Vertex x) {
    { p.Measure(v, v, x) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kMeasureTakesRound =
      kMeasuresChangeInRound || requires(const P p, const ValueOf<P> v, Vertex x, const RoundOf<P> r) {
    { p.Measure(v, x, r) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kHasMeasure =
      kMeasureTakesRound || kMeasuresChange || requires(const P p, const ValueOf<P> v, Vertex x) {
    { p.Measure(v, x) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kHasEndRound = requires(const P p, RoundOf<P> r) {
    { p.EndRound(r) } -> std::same_as<Next>;
  };
  static constexpr bool kHasPriority = requires(const P p, const ValueOf<P> v) { p.Priority(v); };
  static constexpr bool kOutputTakesRound = requires(const P p, const ValueOf<P> v, const RoundOf<P> r) { p.Output(v, r); };
  static constexpr bool kHasOutput = kOutputTakesRound || requires(const P p, const ValueOf<P> v) { p.Output(v); };
  /// @}
  /// Neighbours see something other than the value itself, so it is kept in an array of its own.
  static constexpr bool kSharesSeparately = kHasShare || kHasConsume;
  /// Push needs an atomic reduction of a message; 16-byte and counted messages are pulled instead.
  static constexpr bool kCanPush = !kCounts && sizeof(MessageOf<P>) <= 8;
  /// Reducing the same message twice changes nothing, so that a halo copy may remember what it has sent and filter.
  static constexpr bool kIdempotent =
      kReduction == Reduction::kMin || kReduction == Reduction::kMax || kReduction == Reduction::kOr;
  /// In rounds a halo copy need only remember that it has sent: its owner has had a message as good as any that follows.
  static constexpr bool kSendsOnce = kHasRoundMessage && kSafety == Safety::kMonotone && kIdempotent;
  /// Rounds take changed vertices in the order of their Priority, which only monotone programs allow. Filter(value),
  /// any_message_suffices, Measure and EndRound refer to one whole round, so they exclude it.
  static constexpr bool kOrders = kHasPriority && kSafety == Safety::kMonotone && kIdempotent && kCanPush && !kEveryRound &&
                                  !kHasFilter && !kAnyMessageSuffices && !kHasMeasure && !kHasEndRound;
};

}  // namespace chatty
