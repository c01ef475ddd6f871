/// \file
/// What may be wrong with a program: its first fault, for CheckProgram to name. Part of program.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "chatty/framework/program/calls.h"
#include "chatty/framework/program/member_names.h"
#include "chatty/framework/program/messages.h"
#include "chatty/framework/program/retired_members.h"
#include "chatty/framework/program/traits.h"

namespace chatty {

namespace detail {

template <class T>
concept Plain = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>;

/// @cond
// Whether Name is a data member of each object, where it has to be a constant of the type.
#define CHATTY_DETAIL_HELD(Name)                                  \
  template <class P>                                              \
  constexpr bool Holds_##Name() {                                 \
    if constexpr (requires { &P::Name; }) {                       \
      return std::is_member_object_pointer_v<decltype(&P::Name)>; \
    } else {                                                      \
      return false;                                               \
    }                                                             \
  }
CHATTY_DETAIL_HELD(kReduction)
CHATTY_DETAIL_HELD(kSafety)
CHATTY_DETAIL_HELD(kIdentity)
CHATTY_DETAIL_HELD(kEdges)
CHATTY_DETAIL_HELD(kActivity)
CHATTY_DETAIL_HELD(kHints)
CHATTY_DETAIL_HELD(kInfo)
CHATTY_DETAIL_HELD(kParameters)
#undef CHATTY_DETAIL_HELD
/// @endcond

template <class P>
constexpr bool HoldsConstants() {
  return Holds_kReduction<P>() || Holds_kSafety<P>() || Holds_kIdentity<P>() || Holds_kEdges<P>() || Holds_kActivity<P>() ||
         Holds_kHints<P>() || Holds_kInfo<P>() || Holds_kParameters<P>();
}

// `Program` is P or const P: what fits the first alone lacks a const.
template <class P, class Program = const P>
concept Initialises = requires(Program p, Vertex v) {
  { p.InitVertex(v) } -> std::convertible_to<typename P::Value>;
}
|| requires(Program p, Vertex v, const InputOf<P> prior) {
  { p.InitVertex(v, prior) } -> std::convertible_to<typename P::Value>;
}
||
    (Traits<P>::kHasData &&
     requires(Program p, Vertex v, const DataOf<P> data) {
       { p.InitVertex(v, data) } -> std::convertible_to<typename P::Value>;
     }) ||
    (Traits<P>::kHasData && requires(Program p, Vertex v, const InputOf<P> prior, const DataOf<P> data) {
      { p.InitVertex(v, prior, data) } -> std::convertible_to<typename P::Value>;
    });
template <class P, class Program = const P>
concept Scatters = requires(Program p, const SharedOf<P> s, Edge<WeightOf<P>> e, const RoundOf<P> r) {
  { p.ComputeScatter(s, e, r) } -> std::convertible_to<typename P::Message>;
}
|| requires(Program p, const SharedOf<P> s, Edge<WeightOf<P>> e) {
  { p.ComputeScatter(s, e) } -> std::convertible_to<typename P::Message>;
};
template <class P, class Program = const P>
concept Reduces = requires(Program p, typename P::Message m) {
  { p.ComputeReduce(m, m) } -> std::convertible_to<typename P::Message>;
};
// Whether UpdateStatus may be called, with or without the round and the vertex's data, for a value given as a V.
template <class P, class Program, class V>
concept UpdatesA = requires(Program p, V&& v, UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
  p.UpdateStatus(static_cast<V&&>(v), m, x, r);
}
|| requires(Program p, V&& v, UpdateOf<P> m, Vertex x) { p.UpdateStatus(static_cast<V&&>(v), m, x); }
||
    (Traits<P>::kHasData && requires(Program p, V&& v, UpdateOf<P> m, Vertex x, const RoundOf<P> r,
                                     const DataOf<P> d) { p.UpdateStatus(static_cast<V&&>(v), m, x, r, d); }) ||
    (Traits<P>::kHasData && requires(Program p, V&& v, UpdateOf<P> m, Vertex x, const DataOf<P> d) {
      p.UpdateStatus(static_cast<V&&>(v), m, x, d);
    });
template <class P, class Program = const P>
concept TakesUpdates = UpdatesA<P, Program, typename P::Value&>;
// By value or by const reference: what UpdateStatus then writes is lost. Values to be written do not bind to temporaries.
template <class P>
concept TakesTemporaries = UpdatesA<P, const P, typename P::Value>;
// Of a program whose UpdateStatus may be called.
template <class P>
concept ReturnsBool = requires(const P p, typename P::Value v, UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
  { CallUpdateStatus(p, v, m, x, r) } -> std::convertible_to<bool>;
};

// Whether a kVertexData is a tuple of VertexDatum of P's Data.
template <class P, class List>
struct ListsDataImpl : std::false_type {};
template <class P, class... Ts>
struct ListsDataImpl<P, std::tuple<VertexDatum<DataOf<P>, Ts>...>> : std::true_type {};
// Whether files may hold such numbers.
template <class T>
concept DatumType = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class List>
struct ListsNumbersImpl;
template <class Data, class... Ts>
struct ListsNumbersImpl<std::tuple<VertexDatum<Data, Ts>...>> : std::bool_constant<(DatumType<Ts> && ...)> {};
template <class P>
concept ListsNumbers = ListsNumbersImpl<std::remove_cvref_t<decltype(P::kVertexData)>>::value;
template <class P>
concept ListsData = ListsDataImpl<P, std::remove_cvref_t<decltype(P::kVertexData)>>::value;
template <class P>
concept CombinesGlobals = requires(GlobalOf<P> g) {
  { P::Combine(g, g) } -> std::convertible_to<GlobalOf<P>>;
}
|| requires(GlobalOf<P> g) {
  { g + g } -> std::convertible_to<GlobalOf<P>>;
};

// Whether P has no kHints or kInfo, or one of its type.
template <class P>
constexpr bool HintsFit() {
  if constexpr (requires { P::kHints; }) return std::is_same_v<std::remove_cvref_t<decltype(P::kHints)>, Hints>;
  return true;
}
template <class P>
constexpr bool InfoFits() {
  if constexpr (requires { P::kInfo; }) return std::is_same_v<std::remove_cvref_t<decltype(P::kInfo)>, Info>;
  return true;
}

// What may be wrong with a program. Each has its sentence in CheckProgram. The order here and there is that of FindFault.
enum class Fault : std::uint8_t {
  kNone,
  kProgramNotPlain,
  kRetired,
  kMisspelt,
  kNoValue,
  kNoMessage,
  kNotStatic,
  kHintsUnfit,
  kInfoUnfit,
  kNoReduction,
  kReductionAny,
  kReductionCollect,
  kNoSafety,
  kValueNotPlain,
  kMessageNotPlain,
  kSharedNotPlain,
  kPointer,
  kDataNotPlain,
  kDataNotListed,
  kVertexDataWithoutData,
  kVertexDataUnfit,
  kVertexDataType,
  kWeight,
  kGlobalNotPlain,
  kGlobalSize,
  kMessageSize,
  kMonotoneSize,
  kAccumulativeSize,
  kShareUnfit,
  kConsumeUnfit,
  kSharedFromNowhere,
  kSharedSize,
  kNoInitVertex,
  kInitVertexNotConst,
  kInitVertexUnfit,
  kNoComputeScatter,
  kComputeScatterNotConst,
  kComputeScatterUnfit,
  kNoComputeReduce,
  kComputeReduceNotConst,
  kComputeReduceUnfit,
  kComputeReduceUnused,
  kNoIdentity,
  kArithmetic,
  kIntegral,
  kCountMessage,
  kCountSafety,
  kNoUpdateStatus,
  kUpdateStatusNotConst,
  kCountUpdateUnfit,
  kUpdateStatusUnfit,
  kUpdateStatusReturn,
  kUpdateStatusCopies,
  kDataUnused,
  kPrepareDataUnfit,
  kAnyMessageSuffices,
  kFirstInRowSuffices,
  kRoundMessage,
  kNoConsume,
  kAccumulativeReduction,
  kFilterUnfit,
  kConsumeFilter,
  kIsActiveUnfit,
  kEndRoundUnfit,
  kNoEndRound,
  kMeasureUnfit,
  kNoMeasure,
  kMeasuresChange,
  kMeasureWhenQuiet,
  kContinuesWhileActive,
  kStationary,
  kAllowsGaussSeidel,
  kCombine,
  kOutputUnfit,
  kOutputNotPlain,
  kPriorityUnfit,
};

template <class P>
using RawOutputOf =
    decltype(OutputOfValue(std::declval<const P&>(), std::declval<const ValueOf<P>&>(), std::declval<const RoundOf<P>&>()));

// The first fault of P, in an order in which each test may rely on those before it.
template <class P>
constexpr Fault FindFault() {
  // clang-format off
  if constexpr (!std::is_class_v<P> || !std::is_trivially_copyable_v<P>) return Fault::kProgramNotPlain;
  else if constexpr (HasRetiredMember<P>()) return Fault::kRetired;
  else if constexpr (MisspellsMember<P>()) return Fault::kMisspelt;
  else if constexpr (!requires { typename P::Value; }) return Fault::kNoValue;
  else if constexpr (!requires { typename P::Message; }) return Fault::kNoMessage;
  else if constexpr (HoldsConstants<P>()) return Fault::kNotStatic;
  else if constexpr (!HintsFit<P>()) return Fault::kHintsUnfit;
  else if constexpr (!InfoFits<P>()) return Fault::kInfoUnfit;
  else if constexpr (!requires { { P::kReduction } -> std::convertible_to<Reduction>; }) return Fault::kNoReduction;
  else if constexpr (P::kReduction == Reduction::kAny) return Fault::kReductionAny;
  else if constexpr (P::kReduction == Reduction::kCollect) return Fault::kReductionCollect;
  else if constexpr (!requires { { P::kSafety } -> std::convertible_to<Safety>; }) return Fault::kNoSafety;
  else if constexpr (!Plain<typename P::Value>) return Fault::kValueNotPlain;
  else if constexpr (!Plain<typename P::Message>) return Fault::kMessageNotPlain;
  else if constexpr (!Plain<SharedOf<P>>) return Fault::kSharedNotPlain;
  else if constexpr (std::is_pointer_v<typename P::Value> || std::is_pointer_v<typename P::Message> ||
                     std::is_pointer_v<SharedOf<P>>) return Fault::kPointer;
  else if constexpr (!Plain<DataOf<P>>) return Fault::kDataNotPlain;
  else if constexpr (Traits<P>::kHasData && !NameskVertexData<P>()) return Fault::kDataNotListed;
  else if constexpr (!Traits<P>::kHasData && NameskVertexData<P>()) return Fault::kVertexDataWithoutData;
  else if constexpr (Traits<P>::kHasData && !ListsData<P>) return Fault::kVertexDataUnfit;
  else if constexpr (Traits<P>::kHasData && !ListsNumbers<P>) return Fault::kVertexDataType;
  else if constexpr (!std::is_same_v<WeightOf<P>, None> && !std::is_same_v<WeightOf<P>, float> &&
                     !std::is_same_v<WeightOf<P>, std::int32_t>) return Fault::kWeight;
  else if constexpr (!Plain<GlobalOf<P>>) return Fault::kGlobalNotPlain;
  else if constexpr (sizeof(GlobalOf<P>) > 64) return Fault::kGlobalSize;
  else if constexpr (sizeof(typename P::Message) > 16) return Fault::kMessageSize;
  else if constexpr (P::kSafety == Safety::kMonotone && sizeof(typename P::Message) > 8) return Fault::kMonotoneSize;
  else if constexpr (P::kSafety == Safety::kAccumulative && sizeof(typename P::Message) > 8) return Fault::kAccumulativeSize;
  else if constexpr (NamesShare<P>() && !Traits<P>::kHasShare) return Fault::kShareUnfit;
  else if constexpr (NamesConsume<P>() && !Traits<P>::kHasConsume) return Fault::kConsumeUnfit;
  else if constexpr (!std::is_same_v<SharedOf<P>, typename P::Value> && !Traits<P>::kSharesSeparately)
    return Fault::kSharedFromNowhere;
  else if constexpr (sizeof(SharedOf<P>) > 16) return Fault::kSharedSize;
  else if constexpr (!Initialises<P> && !Initialises<P, P> && !NamesInitVertex<P>()) return Fault::kNoInitVertex;
  else if constexpr (!Initialises<P> && Initialises<P, P>) return Fault::kInitVertexNotConst;
  else if constexpr (!Initialises<P>) return Fault::kInitVertexUnfit;
  else if constexpr (!Scatters<P> && !Scatters<P, P> && !NamesComputeScatter<P>()) return Fault::kNoComputeScatter;
  else if constexpr (!Scatters<P> && Scatters<P, P>) return Fault::kComputeScatterNotConst;
  else if constexpr (!Scatters<P>) return Fault::kComputeScatterUnfit;
  else if constexpr (P::kReduction == Reduction::kCustom && !Reduces<P> && !Reduces<P, P> && !NamesComputeReduce<P>())
    return Fault::kNoComputeReduce;
  else if constexpr (P::kReduction == Reduction::kCustom && !Reduces<P> && Reduces<P, P>)
    return Fault::kComputeReduceNotConst;
  else if constexpr (P::kReduction == Reduction::kCustom && !Reduces<P>) return Fault::kComputeReduceUnfit;
  else if constexpr (P::kReduction != Reduction::kCustom && NamesComputeReduce<P>()) return Fault::kComputeReduceUnused;
  else if constexpr (P::kReduction == Reduction::kCustom &&
                     !requires { { P::kIdentity } -> std::convertible_to<typename P::Message>; }) return Fault::kNoIdentity;
  else if constexpr ((P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax ||
                      P::kReduction == Reduction::kSum) && !std::is_arithmetic_v<typename P::Message>)
    return Fault::kArithmetic;
  else if constexpr (P::kReduction == Reduction::kOr && !std::is_integral_v<typename P::Message>) return Fault::kIntegral;
  else if constexpr (P::kReduction == Reduction::kCount &&
                     !(std::is_integral_v<typename P::Message> &&
                       (sizeof(typename P::Message) == 4 || sizeof(typename P::Message) == 8)))
    return Fault::kCountMessage;
  else if constexpr (Traits<P>::kCounts && P::kSafety != Safety::kSynchronous) return Fault::kCountSafety;
  else if constexpr (!TakesUpdates<P> && !TakesUpdates<P, P> && !NamesUpdateStatus<P>()) return Fault::kNoUpdateStatus;
  else if constexpr (!TakesUpdates<P> && TakesUpdates<P, P>) return Fault::kUpdateStatusNotConst;
  else if constexpr (!TakesUpdates<P> && P::kReduction == Reduction::kCount) return Fault::kCountUpdateUnfit;
  else if constexpr (!TakesUpdates<P>) return Fault::kUpdateStatusUnfit;
  else if constexpr (!ReturnsBool<P>) return Fault::kUpdateStatusReturn;
  else if constexpr (TakesTemporaries<P>) return Fault::kUpdateStatusCopies;
  else if constexpr (Traits<P>::kHasData && !Traits<P>::kInitTakesData && !Traits<P>::kUpdateTakesData &&
                     !Traits<P>::kIsActiveTakesData) return Fault::kDataUnused;
  else if constexpr (NamesPrepareData<P>() && !Traits<P>::kPreparesData) return Fault::kPrepareDataUnfit;
  else if constexpr (Traits<P>::kAnyMessageSuffices &&
                     (P::kReduction == Reduction::kSum || Traits<P>::kCounts))
    return Fault::kAnyMessageSuffices;
  else if constexpr (Traits<P>::kFirstInRowSuffices &&
                     (P::kReduction == Reduction::kSum || Traits<P>::kCounts))
    return Fault::kFirstInRowSuffices;
  else if constexpr (NamesRoundMessage<P>() &&
                     !(Traits<P>::kHasRoundMessage && Traits<P>::kAnyMessageSuffices && Traits<P>::kCanPush &&
                       !Traits<P>::kEveryRound && !Traits<P>::kHasConsume && !Traits<P>::kHasFilterMessage))
    return Fault::kRoundMessage;
  else if constexpr (P::kSafety == Safety::kAccumulative && !Traits<P>::kHasConsume) return Fault::kNoConsume;
  else if constexpr (P::kSafety == Safety::kAccumulative && P::kReduction != Reduction::kSum &&
                     P::kReduction != Reduction::kCustom) return Fault::kAccumulativeReduction;
  else if constexpr (NamesFilter<P>() && !Traits<P>::kHasFilter && !Traits<P>::kHasFilterMessage) return Fault::kFilterUnfit;
  else if constexpr (Traits<P>::kHasConsume && NamesFilter<P>()) return Fault::kConsumeFilter;
  else if constexpr (NamesIsActive<P>() && !Traits<P>::kHasIsActive) return Fault::kIsActiveUnfit;
  else if constexpr (NamesEndRound<P>() && !Traits<P>::kHasEndRound) return Fault::kEndRoundUnfit;
  else if constexpr (Traits<P>::kEveryRound && !Traits<P>::kHasEndRound) return Fault::kNoEndRound;
  else if constexpr (NamesMeasure<P>() &&
                     (!Traits<P>::kHasMeasure || std::is_same_v<GlobalOf<P>, None>)) return Fault::kMeasureUnfit;
  else if constexpr (!std::is_same_v<GlobalOf<P>, None> && !Traits<P>::kHasMeasure) return Fault::kNoMeasure;
  else if constexpr (Traits<P>::kMeasuresChange &&
                     (!Traits<P>::kEveryRound || Traits<P>::kCounts || Traits<P>::kHasConsume))
    return Fault::kMeasuresChange;
  else if constexpr (Traits<P>::kMeasureWhenQuiet && (!Traits<P>::kHasMeasure || Traits<P>::kEveryRound))
    return Fault::kMeasureWhenQuiet;
  else if constexpr (Traits<P>::kContinuesWhileActive && (!Traits<P>::kHasEndRound || Traits<P>::kEveryRound))
    return Fault::kContinuesWhileActive;
  else if constexpr (Traits<P>::kStationary && !(Traits<P>::kCounts && Traits<P>::kEveryRound && !Traits<P>::kHasConsume &&
                                                !NamesFilter<P>()))
    return Fault::kStationary;
  else if constexpr (NamesAllowsGaussSeidel<P>() &&
                     !(Traits<P>::kHasAllowsGaussSeidel && Traits<P>::kEveryRound && Traits<P>::kHasShare &&
                       !Traits<P>::kCounts && !NamesFilter<P>()))
    return Fault::kAllowsGaussSeidel;
  else if constexpr (Traits<P>::kHasMeasure && !CombinesGlobals<P>) return Fault::kCombine;
  else if constexpr (NamesOutput<P>() && !requires { typename P::Output; } && !Traits<P>::kHasOutput)
    return Fault::kOutputUnfit;
  else if constexpr (!Plain<RawOutputOf<P>>) return Fault::kOutputNotPlain;
  else if constexpr (NamesPriority<P>() && !Traits<P>::kHasPriority) return Fault::kPriorityUnfit;
  else return Fault::kNone;
  // clang-format on
}

}  // namespace detail

}  // namespace chatty
