/// \file
/// Calls of a program's functions, in whichever form the program has them.
#pragma once

#include <limits>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/framework/program/traits.h"

#if CHATTY_CUDA_COMPILER
// A program's member without CHATTY_FN is left out of device code with a warning: answers would be wrong.
#pragma nv_diagnostic push
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#endif

namespace chatty {

/// The message that changes nothing under P's reduction.
template <class P>
CHATTY_FN constexpr MessageOf<P> IdentityOf() {
  using M = MessageOf<P>;
  if constexpr (requires { P::kIdentity; }) {
    return P::kIdentity;
  } else if constexpr (P::kReduction == Reduction::kMin) {
    return kInfinity<M>;
  } else if constexpr (P::kReduction == Reduction::kMax) {
    return std::numeric_limits<M>::has_infinity ? -std::numeric_limits<M>::infinity() : std::numeric_limits<M>::lowest();
  } else {
    return M{};
  }
}

/// Combines two messages as P says, on one thread.
template <class P>
CHATTY_FN MessageOf<P> Reduce(const P& program, const MessageOf<P>& a, const MessageOf<P>& b) {
  if constexpr (P::kReduction == Reduction::kMin) {
    return b < a ? b : a;
  } else if constexpr (P::kReduction == Reduction::kMax) {
    return a < b ? b : a;
  } else if constexpr (P::kReduction == Reduction::kSum) {
    return a + b;
  } else if constexpr (P::kReduction == Reduction::kOr) {
    return a | b;
  } else {
    return program.ComputeReduce(a, b);
  }
}

/// The message along an edge.
template <class P>
CHATTY_FN MessageOf<P> CallComputeScatter(const P& program, const SharedOf<P>& shared, const Edge<WeightOf<P>>& edge,
                                          [[maybe_unused]] const RoundOf<P>& round) {
  if constexpr (Traits<P>::kScatterTakesRound) {
    return program.ComputeScatter(shared, edge, round);
  } else {
    return program.ComputeScatter(shared, edge);
  }
}

/// The message along every edge of a round. For programs with a RoundMessage.
template <class P>
CHATTY_FN MessageOf<P> CallRoundMessage(const P& program, [[maybe_unused]] const RoundOf<P>& round) {
  if constexpr (Traits<P>::kRoundMessageTakesRound) {
    return program.RoundMessage(round);
  } else {
    return program.RoundMessage();
  }
}

/// Updates `value` with a message, or with all if the program sees all. Returns what UpdateStatus returns.
template <class P, class Update>
CHATTY_FN auto CallUpdateStatus(const P& program, ValueOf<P>& value, const Update& update, Vertex vertex,
                                [[maybe_unused]] const RoundOf<P>& round, [[maybe_unused]] const DataOf<P>& data = {}) {
  if constexpr (Traits<P>::kUpdateTakesRound && Traits<P>::kUpdateTakesData) {
    return program.UpdateStatus(value, update, vertex, round, data);
  } else if constexpr (Traits<P>::kUpdateTakesRound) {
    return program.UpdateStatus(value, update, vertex, round);
  } else if constexpr (Traits<P>::kUpdateTakesData) {
    return program.UpdateStatus(value, update, vertex, data);
  } else {
    return program.UpdateStatus(value, update, vertex);
  }
}

/// Whether a vertex sends in the first round of a phase. For programs with an IsActive.
template <class P>
CHATTY_FN bool CallIsActive(const P& program, const ValueOf<P>& value, [[maybe_unused]] const RoundOf<P>& round,
                            [[maybe_unused]] const DataOf<P>& data = {}) {
  if constexpr (Traits<P>::kIsActiveTakesRound && Traits<P>::kIsActiveTakesData) {
    return program.IsActive(value, round, data);
  } else if constexpr (Traits<P>::kIsActiveTakesRound) {
    return program.IsActive(value, round);
  } else if constexpr (Traits<P>::kIsActiveTakesData) {
    return program.IsActive(value, data);
  } else {
    return program.IsActive(value);
  }
}

/// What one vertex adds to the global aggregate. `Measure` may also take the Round that the last UpdateStatus saw: its
/// phase is the current one, its `global` the aggregate before this one; and the value `before` that update, which is
/// `value` itself where there has been none.
template <class P>
CHATTY_FN GlobalOf<P> MeasureOf(const P& program, [[maybe_unused]] const ValueOf<P>& before, const ValueOf<P>& value,
                                Vertex vertex, [[maybe_unused]] const RoundOf<P>& round) {
  if constexpr (Traits<P>::kMeasuresChangeInRound) {
    return program.Measure(before, value, vertex, round);
  } else if constexpr (Traits<P>::kMeasuresChange) {
    return program.Measure(before, value, vertex);
  } else if constexpr (Traits<P>::kMeasureTakesRound) {
    return program.Measure(value, vertex, round);
  } else {
    return program.Measure(value, vertex);
  }
}

/// Combines two global aggregates.
template <class P>
CHATTY_FN GlobalOf<P> CombineGlobal(const GlobalOf<P>& a, const GlobalOf<P>& b) {
  if constexpr (requires { P::Combine(a, b); }) {
    return P::Combine(a, b);
  } else if constexpr (Traits<P>::kHasMeasure) {
    return a + b;
  } else {
    return a;
  }
}

namespace detail {

template <class P>
CHATTY_FN auto OutputOfValue(const P& program, const ValueOf<P>& value, [[maybe_unused]] const RoundOf<P>& round) {
  if constexpr (Traits<P>::kOutputTakesRound) {
    return program.Output(value, round);
  } else if constexpr (Traits<P>::kHasOutput) {
    return program.Output(value);
  } else {
    return value;
  }
}

}  // namespace detail

}  // namespace chatty

#if CHATTY_CUDA_COMPILER
#pragma nv_diagnostic pop
#endif
