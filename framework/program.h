/// \file
/// The vertex-program concept: what a user writes, what each optional member enables, and the errors of a program that does
/// not fit. The four names InitVertex, ComputeScatter, ComputeReduce and UpdateStatus are ChattyGraph's published interface;
/// `Share` is its shared vertex; `Filter` is Groute's halo filter and Beamer's unvisited test in one.
#pragma once

#include "chatty/core/atomics.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/program/calls.h"
#include "chatty/framework/program/check.h"
#include "chatty/framework/program/faults.h"
#include "chatty/framework/program/messages.h"
#include "chatty/framework/program/traits.h"
#include "chatty/framework/program/types.h"

namespace chatty {

/// A complete vertex program. `CheckProgram<P>()` says in words what one that is not lacks.
template <class P>
concept VertexProgram = detail::FindFault<P>()
== detail::Fault::kNone;

/// A vertex program whose updates may run in any order: what the engine `async` takes; PlanProgram refuses others in words.
/// `kMonotone`: late and repeated messages do no harm, so the reduction must be one that may see a message twice.
/// `kAccumulative`: each residual is taken exactly once. A program active in every round, or that decides after each, is
/// neither: its rounds are its meaning.
template <class P>
concept AsynchronousProgram =
    VertexProgram<P> && P::kSafety != Safety::kSynchronous && !Traits<P>::kEveryRound && !Traits<P>::kHasEndRound &&
    !(P::kSafety == Safety::kMonotone && P::kReduction == Reduction::kSum);

/// Fails to compile, with one sentence, for a program that an asynchronous engine must not run. Returns whether it may.
template <class P>
constexpr bool CheckAsynchronous() {
  constexpr bool kFits = CheckProgram<P>();
  if constexpr (kFits) {
    static_assert(P::kSafety != Safety::kSynchronous,
                  "kSafety = kSynchronous: the program is right in rounds only, and an asynchronous engine has none. Run it "
                  "by bsp, or declare kMonotone if values move one way and late or repeated messages do no harm, or "
                  "kAccumulative if Consume takes each residual exactly once");
    static_assert(P::kSafety == Safety::kSynchronous || !Traits<P>::kEveryRound,
                  "kActivity = kEveryRound: all vertices take part in each round, and an asynchronous engine has no rounds. "
                  "Run it by bsp, or say kOnMessage and let only what changed send");
    static_assert(P::kSafety == Safety::kSynchronous || Traits<P>::kEveryRound || !Traits<P>::kHasEndRound,
                  "EndRound is called after each round, and an asynchronous engine has no rounds. Run it by bsp, or let the "
                  "program become inactive by itself");
    static_assert(P::kSafety != Safety::kMonotone || P::kReduction != Reduction::kSum,
                  "kSafety = kMonotone promises that repeated messages do no harm, and kSum adds them twice. Run it by bsp, "
                  "or keep a residual that Consume takes and say kAccumulative");
  }
  return AsynchronousProgram<P>;
}

namespace detail {

// A program that does not fit has no output: CheckProgram reports that, and nothing else does.
template <class P, bool fits = VertexProgram<P>>
struct OutputOfImpl {
  using type = None;
};
template <class P>
struct OutputOfImpl<P, true> {
  using type = RawOutputOf<P>;
};

}  // namespace detail

/// What `Output` returns: the type of a result, one a vertex. The Value itself without an Output. `Output` may also take the
/// last Round, say to normalise by a global sum.
template <class P>
using OutputOf = typename detail::OutputOfImpl<P>::type;

/// Whether UpdateStatus takes what P is given of the vertex.
template <class P>
inline constexpr bool kUpdateTakesData = Traits<P>::kUpdateTakesData;

}  // namespace chatty
