/// \file
/// The vertex-program concept: what a user writes, what each optional member switches on, and what a program that does not
/// fit is told. The four names InitVertex, ComputeScatter, ComputeReduce and UpdateStatus are ChattyGraph's published
/// interface; `Share` is its shared vertex; `Wants` is Groute's halo filter and Beamer's unvisited test in one.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "chatty/core/atomics.h"
#include "chatty/core/types.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/member_names.h"
#include "chatty/partition/subgraph.h"

#if CHATTY_CUDA_COMPILER
// A program's member without CHATTY_FN is left out of device code with a warning: answers would be wrong.
#pragma nv_diagnostic push
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#endif

namespace chatty {

/// A vertex as a program sees it: global id and degrees, whatever device it lives on.
struct Vertex {
  /// Its id in the whole graph.
  VertexId id;
  /// @{
  /// Edges that leave and enter it, in the whole graph.
  EdgeIndex out_degree, in_degree;
  /// @}
  EdgeIndex degree = 0;  ///< edges along kBoth: out and in together, those of a symmetric graph once
};

/// An edge as a program sees it: `source` sends, `target` receives, both global ids, whichever way kEdges runs.
template <class W = None>
struct Edge {
  /// @{
  /// Ids in the whole graph.
  VertexId source, target;
  /// @}
  /// What the graph says of the edge; 1 where it says nothing.
  [[no_unique_address]] W weight;
};

/// Where a run stands. The same on every device.
template <class G = None>
struct Round {
  std::uint32_t index = 0;   ///< rounds completed, over all phases: 0 in the first one; EndRound counts the one just run: 1
  std::uint32_t phase = 0;   ///< 0 at first; another when EndRound says kNextPhase
  VertexId vertices = 0;     ///< of the whole graph
  std::uint64_t active = 0;  ///< vertices that the last UpdateStatus sweep changed, on all devices; in EndRound
  bool fresh = false;        ///< messages may come from what their sources have become in this very round: AllowsGaussSeidel
  std::array<double, 5> kept{};      ///< what EndRound left there last, for itself and all that sees later rounds
  [[no_unique_address]] G global{};  ///< Measure of all vertices after the last sweep (before round 0: after InitVertex);
                                     ///< with kMeasureWhenQuiet G{} as long as any is active
};

/// How messages to one vertex combine. A message equal to the reduction's identity says nothing: whether UpdateStatus is
/// called for it alone is not guaranteed.
enum class Reduction : std::uint8_t {
  kMin,
  kMax,
  kSum,
  kOr,       ///< bitwise, integers only
  kAny,      ///< whichever arrives; all messages of a round to one vertex must be equally good
  kCustom,   ///< ComputeReduce, which must be associative and commutative; needs kIdentity
  kCollect,  ///< not pairwise: UpdateStatus sees all messages, sorted; pull only
  kCount,    ///< not pairwise: UpdateStatus sees each different message, in no order, and how often it came; pull only
};

/// In which order a program's updates may run and still be right.
enum class Safety : std::uint8_t {
  kSynchronous,   ///< rounds only
  kMonotone,      ///< values move one way and late or repeated messages do no harm: the engine `async` runs it
  kAccumulative,  ///< Consume takes a residual exactly once and sums commute: right in any order, though `async` refuses it
};

/// Who takes part in a round.
enum class Activity : std::uint8_t {
  kOnMessage,   ///< vertices whose last UpdateStatus returned true send; who receives is updated
  kEveryRound,  ///< every vertex sends and every vertex is updated, whether or not a message came; what UpdateStatus
                ///< returns does not matter, for a vertex counts as changed when its value's bytes are others
};

/// What EndRound decides.
enum class Next : std::uint8_t {
  kContinue,  ///< go on while any vertex is active
  kStop,
  kLimit,      ///< stop, though not converged: a limit of the program's own is reached
  kNextPhase,  ///< activate where IsActive holds, in the phase that EndRound wrote to Round::phase, or else the next
};

/// All messages to one vertex in one round, ascending, for kCollect programs. Iterates over runs of equal messages.
template <class Message>
class Messages {
 public:
  /// `count` messages with value `value`.
  struct Run {
    /// A message,
    Message value;
    /// and how often it was sent.
    std::uint64_t count;
  };
  /// Goes from run to run.
  class Iterator {
   public:
    /// At the run that begins at `at`, in messages that end at `end`.
    CHATTY_FN Iterator(const Message* at, const Message* end) : at_(at), end_(end) { Measure(); }
    /// The run that it stands at.
    CHATTY_FN Run operator*() const { return {*at_, static_cast<std::uint64_t>(next_ - at_)}; }
    /// To the next run.
    CHATTY_FN Iterator& operator++() {
      at_ = next_;
      Measure();
      return *this;
    }
    /// Whether they stand at different runs.
    CHATTY_FN bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    CHATTY_FN void Measure() {
      next_ = at_;
      while (next_ != end_ && !(*at_ < *next_) && !(*next_ < *at_)) ++next_;
    }
    const Message *at_, *end_, *next_ = nullptr;
  };

  /// A view of `size` messages in ascending order.
  CHATTY_FN Messages(const Message* data, std::uint64_t size) : data_(data), size_(size) {}
  CHATTY_FN std::uint64_t size() const { return size_; }  ///< messages, not runs
  /// Whether no message came.
  CHATTY_FN bool empty() const { return size_ == 0; }
  /// Message i, in ascending order.
  CHATTY_FN const Message& operator[](std::uint64_t i) const { return data_[i]; }
  /// @{
  /// Over runs of equal messages, for range-based for.
  CHATTY_FN Iterator begin() const { return {data_, data_ + size_}; }
  CHATTY_FN Iterator end() const { return {data_ + size_, data_ + size_}; }
  /// @}

 private:
  const Message* data_;
  std::uint64_t size_;
};

/// The different messages to one vertex in one round, each with how often it came, for kCount programs. In no order, which
/// may be another on every device and in every run: what a program makes of them must not depend on it.
template <class Message>
class Counts {
 public:
  /// `count` messages with value `value`.
  using Run = typename Messages<Message>::Run;
  /// Goes from run to run.
  class Iterator {
   public:
    /// At the first run in places [at, end); `counts` may be null, as Counts says.
    CHATTY_FN Iterator(const Message* values, const std::uint32_t* counts, std::uint64_t at, std::uint64_t end)
        : values_(values), counts_(counts), at_(at), end_(end) {
      Measure();
    }
    /// The run that it stands at.
    CHATTY_FN Run operator*() const { return {values_[at_], counts_ != nullptr ? counts_[at_] : next_ - at_}; }
    /// To the next run.
    CHATTY_FN Iterator& operator++() {
      at_ = next_;
      Measure();
      return *this;
    }
    /// Whether they stand at different runs.
    CHATTY_FN bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    CHATTY_FN void Measure() {
      if (counts_ != nullptr) {
        while (at_ != end_ && counts_[at_] == 0) ++at_;
        next_ = at_ + 1;
      } else {
        next_ = at_;
        while (next_ != end_ && values_[next_] == values_[at_]) ++next_;
      }
    }
    const Message* values_;
    const std::uint32_t* counts_;
    std::uint64_t at_, end_, next_ = 0;
  };

  /// A view of `places` places: values[i] came counts[i] times, and where that is 0, place i is free. `messages` came in
  /// all.
  CHATTY_FN Counts(const Message* values, const std::uint32_t* counts, std::uint64_t places, std::uint64_t messages)
      : values_(values), counts_(counts), places_(places), messages_(messages) {}
  /// A view of `messages` messages of which equal ones are next to each other.
  CHATTY_FN Counts(const Message* grouped, std::uint64_t messages) : Counts(grouped, nullptr, messages, messages) {}
  CHATTY_FN std::uint64_t size() const { return messages_; }  ///< messages, not runs
  /// Whether no message came.
  CHATTY_FN bool empty() const { return messages_ == 0; }
  /// @{
  /// Over different messages, for range-based for.
  CHATTY_FN Iterator begin() const { return {values_, counts_, 0, places_}; }
  CHATTY_FN Iterator end() const { return {values_, counts_, places_, places_}; }
  /// @}

 private:
  const Message* values_;
  const std::uint32_t* counts_;
  std::uint64_t places_, messages_;
};

/// One entry of a program's kParameters: a data member that the command line and the comparison may set.
template <class Program, class T>
struct Parameter {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "kParameters names data members that are numbers (not bool, not a function, not a struct): a parameter is "
                "set from the text of --set name=value");
  /// What `member` is.
  using Member = T Program::*;
  const char* name;  ///< as in --set name=value
  /// The data member to set.
  Member member;
  const char* help;  ///< one line, with the unit
};
/// Program and T follow from the member.
template <class Program, class T>
Parameter(const char*, T Program::*, const char*) -> Parameter<Program, T>;

/// Whether a run has to be given an array of vertex data.
enum class Presence : std::uint8_t {
  kOptional,  ///< without it every vertex keeps what Data{} has
  kRequired,  ///< a run without it is refused
};

/// What becomes of a vertex for which an array has no entry.
enum class Missing : std::uint8_t {
  kRefused,  ///< an array has an entry for every vertex
  kDefault,  ///< the vertex keeps what Data{} has
};

/// One entry of a program's kVertexData: a data member of its Data that is filled from an array with an entry a vertex.
template <class Data, class T>
struct VertexDatum {
  /// What `member` is.
  using Member = T Data::*;
  const char* name;  ///< as in --vertex-data name=FILE
  Member member;     ///< the data member to fill
  const char* help;  ///< one line, with the unit
  /// Whether a run has to be given the array, and the array each vertex.
  Presence presence = Presence::kOptional;
  Missing missing = Missing::kRefused;  ///< see there
  /// Parameters that have no meaning where the array is given, apart by blanks; "": none.
  const char* instead_of = "";
};
/// Data and T follow from the member.
template <class Data, class T, class... WaitForWork>
VertexDatum(const char*, T Data::*, const char*, WaitForWork...) -> VertexDatum<Data, T>;

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
struct PriorOfImpl {
  using type = None;
};
template <class P>
requires requires { typename P::Prior; }
struct PriorOfImpl<P> {
  using type = typename P::Prior;
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
/// What P starts from: P::Prior, or None.
template <class P>
using PriorOf = typename detail::PriorOfImpl<P>::type;
/// What P is given of a vertex from outside: P::Data, or None.
template <class P>
using DataOf = typename detail::DataOfImpl<P>::type;
/// Where a run of P stands.
template <class P>
using RoundOf = Round<GlobalOf<P>>;

/// Everything that the engines derive from a program's members, as constants. Absent optional members read as their
/// defaults.
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
  /// In one synchronous round all messages to a vertex are equal, so that a pull may stop at the first. Optional member.
  static constexpr bool kFirstSuffices = [] {
    if constexpr (requires { P::kFirstSuffices; })
      return P::kFirstSuffices;
    else
      return P::kReduction == Reduction::kAny;
  }();
  /// Of the messages that a vertex wants, the one from the source of least id is what all of them reduce to: a pull that
  /// meets sources in that order leaves a row at the first. Optional member.
  static constexpr bool kFirstInRowSuffices = [] {
    if constexpr (requires { P::kFirstInRowSuffices; })
      return P::kFirstInRowSuffices;
    else
      return false;
  }();
  /// Measure is wanted only after rounds that leave no vertex active: after others the aggregate is Global{}. Optional
  /// member.
  static constexpr bool kMeasureWhenQuiet = [] {
    if constexpr (requires { P::kMeasureWhenQuiet; })
      return P::kMeasureWhenQuiet;
    else
      return false;
  }();
  /// Within a phase a vertex whose in-neighbours' values are what they were a round before gets the same messages again, and
  /// the same messages again change nothing: the vertex may be left out. Optional member.
  static constexpr bool kSameAgain = [] {
    if constexpr (requires { P::kSameAgain; })
      return P::kSameAgain;
    else
      return false;
  }();
  /// Every vertex takes part in every round.
  static constexpr bool kEveryRound = kActivity == Activity::kEveryRound;
  /// UpdateStatus sees all messages, sorted or counted.
  static constexpr bool kCollects = kReduction == Reduction::kCollect || kReduction == Reduction::kCount;
  /// And of these only how often each came.
  static constexpr bool kCounts = kReduction == Reduction::kCount;
  /// P starts from another program's values.
  static constexpr bool kHasPrior = !std::is_same_v<PriorOf<P>, None>;
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
  static constexpr bool kHasWants = requires(const P p, const ValueOf<P> v) {
    { p.Wants(v) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasWantsMessage = requires(const P p, const ValueOf<P> v, MessageOf<P> m) {
    { p.Wants(v, m) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasRoundMessage = requires(const P p, const RoundOf<P> r) {
    { p.RoundMessage(r) } -> std::convertible_to<MessageOf<P>>;
  };
  static constexpr bool kHasAllowsGaussSeidel = requires(const P p) {
    { p.AllowsGaussSeidel() } -> std::convertible_to<bool>;
  };
  static constexpr bool kIsActiveTakesData =
      kHasData && requires(const P p, const ValueOf<P> v, const RoundOf<P> r, const DataOf<P> d) {
    { p.IsActive(v, r, d) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasIsActive = kIsActiveTakesData || requires(const P p, const ValueOf<P> v, const RoundOf<P> r) {
    { p.IsActive(v, r) } -> std::convertible_to<bool>;
  };
  static constexpr bool kInitTakesData =
      kHasData &&
      (kHasPrior ? requires(const P p, Vertex x, const PriorOf<P> prior, const DataOf<P> d) { p.InitVertex(x, prior, d); }
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
  static constexpr bool kMeasureSeesRound =
      kMeasuresChangeInRound || requires(const P p, const ValueOf<P> v, Vertex x, const RoundOf<P> r) {
    { p.Measure(v, x, r) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kHasMeasure =
      kMeasureSeesRound || kMeasuresChange || requires(const P p, const ValueOf<P> v, Vertex x) {
    { p.Measure(v, x) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kHasEndRound = requires(const P p, RoundOf<P> r) {
    { p.EndRound(r) } -> std::same_as<Next>;
  };
  static constexpr bool kHasPriority = requires(const P p, const ValueOf<P> v) { p.Priority(v); };
  static constexpr bool kOutputSeesRound = requires(const P p, const ValueOf<P> v, const RoundOf<P> r) { p.Output(v, r); };
  static constexpr bool kHasOutput = kOutputSeesRound || requires(const P p, const ValueOf<P> v) { p.Output(v); };
  /// @}
  /// Neighbours see something other than the value itself, so it is kept in an array of its own.
  static constexpr bool kSharesSeparately = kHasShare || kHasConsume;
  /// Push needs an atomic reduction of a message; 16-byte and collected messages are pulled instead.
  static constexpr bool kCanPush = !kCollects && sizeof(MessageOf<P>) <= 8;
  /// Reducing the same message twice changes nothing, so that a halo copy may remember what it has sent and filter.
  static constexpr bool kIdempotent =
      kReduction == Reduction::kMin || kReduction == Reduction::kMax || kReduction == Reduction::kOr;
  /// In rounds a halo copy need only remember that it has sent: its owner has had a message as good as any that follows.
  static constexpr bool kTellsOnce = kHasRoundMessage && kSafety == Safety::kMonotone && kIdempotent;
  /// Rounds take changed vertices in the order of their Priority. What is late does no harm to a monotone program; what asks
  /// after each round, or says of one round alone what it wants, means rounds as they come.
  static constexpr bool kOrders = kHasPriority && kSafety == Safety::kMonotone && kIdempotent && kCanPush && !kEveryRound &&
                                  !kHasWants && !kFirstSuffices && !kHasMeasure && !kHasEndRound;
};

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
CHATTY_DETAIL_HELD(kFirstSuffices)
CHATTY_DETAIL_HELD(kFirstInRowSuffices)
CHATTY_DETAIL_HELD(kMeasureWhenQuiet)
CHATTY_DETAIL_HELD(kSameAgain)
CHATTY_DETAIL_HELD(kParameters)
CHATTY_DETAIL_HELD(kSummary)
CHATTY_DETAIL_HELD(kOutputName)
CHATTY_DETAIL_HELD(kOutputIsVertex)
#undef CHATTY_DETAIL_HELD
/// @endcond

template <class P>
constexpr bool HoldsConstants() {
  return Holds_kReduction<P>() || Holds_kSafety<P>() || Holds_kIdentity<P>() || Holds_kEdges<P>() || Holds_kActivity<P>() ||
         Holds_kFirstSuffices<P>() || Holds_kFirstInRowSuffices<P>() || Holds_kMeasureWhenQuiet<P>() ||
         Holds_kSameAgain<P>() || Holds_kParameters<P>() || Holds_kSummary<P>() || Holds_kOutputName<P>() ||
         Holds_kOutputIsVertex<P>();
}

// `Program` is P or const P: what fits the first alone lacks a const.
template <class P, class Program = const P>
concept Initialises = requires(Program p, Vertex v) {
  { p.InitVertex(v) } -> std::convertible_to<typename P::Value>;
}
|| requires(Program p, Vertex v, const PriorOf<P> prior) {
  { p.InitVertex(v, prior) } -> std::convertible_to<typename P::Value>;
}
||
    (Traits<P>::kHasData &&
     requires(Program p, Vertex v, const DataOf<P> data) {
       { p.InitVertex(v, data) } -> std::convertible_to<typename P::Value>;
     }) ||
    (Traits<P>::kHasData && requires(Program p, Vertex v, const PriorOf<P> prior, const DataOf<P> data) {
      { p.InitVertex(v, prior, data) } -> std::convertible_to<typename P::Value>;
    });
template <class P, class Program = const P>
concept Scatters = requires(Program p, const SharedOf<P> s, Edge<WeightOf<P>> e, const RoundOf<P> r) {
  { p.ComputeScatter(s, e, r) } -> std::convertible_to<typename P::Message>;
};
template <class P, class Program = const P>
concept Reduces = requires(Program p, typename P::Message m) {
  { p.ComputeReduce(m, m) } -> std::convertible_to<typename P::Message>;
};
template <class P>
using UpdateOf = std::conditional_t<
    P::kReduction == Reduction::kCollect, Messages<typename P::Message>,
    std::conditional_t<P::kReduction == Reduction::kCount, Counts<typename P::Message>, typename P::Message>>;
template <class P, class Program = const P>
concept TakesDataInUpdates = Traits<P>::kHasData &&
    requires(Program p, typename P::Value v, UpdateOf<P> m, Vertex x, const RoundOf<P> r, const DataOf<P> d) {
  p.UpdateStatus(v, m, x, r, d);
};
template <class P, class Program = const P>
concept TakesUpdates = TakesDataInUpdates<P, Program> ||
    requires(Program p, typename P::Value v, UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
  p.UpdateStatus(v, m, x, r);
};
// By value or by const reference: what UpdateStatus then writes is lost. Values to be written do not bind to temporaries.
template <class P>
concept TakesTemporaries = requires(const P p, UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
  p.UpdateStatus(std::declval<typename P::Value>(), m, x, r);
}
|| (Traits<P>::kHasData && requires(const P p, UpdateOf<P> m, Vertex x, const RoundOf<P> r, const DataOf<P> d) {
  p.UpdateStatus(std::declval<typename P::Value>(), m, x, r, d);
});
template <class P, class Program = const P>
concept Updates = requires(Program p, typename P::Value v, UpdateOf<P> m, Vertex x, const RoundOf<P> r) {
  { p.UpdateStatus(v, m, x, r) } -> std::convertible_to<bool>;
}
|| (TakesDataInUpdates<P, Program> &&
    requires(Program p, typename P::Value v, UpdateOf<P> m, Vertex x, const RoundOf<P> r, const DataOf<P> d) {
      { p.UpdateStatus(v, m, x, r, d) } -> std::convertible_to<bool>;
    });

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

// What may be wrong with a program. Each has its sentence in CheckProgram.
enum class Fault : std::uint8_t {
  kNone,
  kProgramNotPlain,
  kMisspelt,
  kNoValue,
  kNoMessage,
  kNotStatic,
  kNoReduction,
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
  kCollectOrder,
  kCollectSafety,
  kCountMessage,
  kNoUpdateStatus,
  kUpdateStatusNotConst,
  kUpdateStatusReturn,
  kUpdateStatusCopies,
  kUpdateStatusUnfit,
  kCollectUpdateUnfit,
  kCountUpdateUnfit,
  kDataUnused,
  kPrepareDataUnfit,
  kFirstSuffices,
  kFirstInRowSuffices,
  kRoundMessage,
  kNoConsume,
  kAccumulativeReduction,
  kConsumeWants,
  kWantsUnfit,
  kIsActiveUnfit,
  kEndRoundUnfit,
  kNoEndRound,
  kMeasureUnfit,
  kNoMeasure,
  kMeasuresChange,
  kMeasureWhenQuiet,
  kSameAgain,
  kAllowsGaussSeidel,
  kCombine,
  kOutputUnfit,
  kOutputNotPlain,
  kPriorityUnfit,
};

template <class P>
CHATTY_FN auto OutputOfValue(const P& program, const ValueOf<P>& value, [[maybe_unused]] const RoundOf<P>& round) {
  if constexpr (Traits<P>::kOutputSeesRound) {
    return program.Output(value, round);
  } else if constexpr (Traits<P>::kHasOutput) {
    return program.Output(value);
  } else {
    return value;
  }
}
template <class P>
using RawOutputOf =
    decltype(OutputOfValue(std::declval<const P&>(), std::declval<const ValueOf<P>&>(), std::declval<const RoundOf<P>&>()));

// The first fault of P, in an order in which each test may rely on those before it.
template <class P>
constexpr Fault FindFault() {
  // clang-format off
  if constexpr (!std::is_class_v<P> || !std::is_trivially_copyable_v<P>) return Fault::kProgramNotPlain;
  else if constexpr (MisspellsMember<P>()) return Fault::kMisspelt;
  else if constexpr (!requires { typename P::Value; }) return Fault::kNoValue;
  else if constexpr (!requires { typename P::Message; }) return Fault::kNoMessage;
  else if constexpr (HoldsConstants<P>()) return Fault::kNotStatic;
  else if constexpr (!requires { { P::kReduction } -> std::convertible_to<Reduction>; }) return Fault::kNoReduction;
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
  else if constexpr (P::kReduction == Reduction::kCustom && !Reduces<P> && Reduces<P, P>) return Fault::kComputeReduceNotConst;
  else if constexpr (P::kReduction == Reduction::kCustom && !Reduces<P>) return Fault::kComputeReduceUnfit;
  else if constexpr (P::kReduction != Reduction::kCustom && NamesComputeReduce<P>()) return Fault::kComputeReduceUnused;
  else if constexpr (P::kReduction == Reduction::kCustom &&
                     !requires { { P::kIdentity } -> std::convertible_to<typename P::Message>; }) return Fault::kNoIdentity;
  else if constexpr ((P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax ||
                      P::kReduction == Reduction::kSum) && !std::is_arithmetic_v<typename P::Message>)
    return Fault::kArithmetic;
  else if constexpr (P::kReduction == Reduction::kOr && !std::is_integral_v<typename P::Message>) return Fault::kIntegral;
  else if constexpr (P::kReduction == Reduction::kCollect &&
                     !requires(const typename P::Message a, const typename P::Message b) {
                       { a < b } -> std::convertible_to<bool>;
                     })
    return Fault::kCollectOrder;
  else if constexpr (P::kReduction == Reduction::kCount &&
                     !(std::is_integral_v<typename P::Message> &&
                       (sizeof(typename P::Message) == 4 || sizeof(typename P::Message) == 8)))
    return Fault::kCountMessage;
  else if constexpr (Traits<P>::kCollects && P::kSafety != Safety::kSynchronous) return Fault::kCollectSafety;
  else if constexpr (!TakesUpdates<P> && !TakesUpdates<P, P> && !NamesUpdateStatus<P>()) return Fault::kNoUpdateStatus;
  else if constexpr (!TakesUpdates<P> && TakesUpdates<P, P>) return Fault::kUpdateStatusNotConst;
  else if constexpr (!TakesUpdates<P> && P::kReduction == Reduction::kCollect) return Fault::kCollectUpdateUnfit;
  else if constexpr (!TakesUpdates<P> && P::kReduction == Reduction::kCount) return Fault::kCountUpdateUnfit;
  else if constexpr (!TakesUpdates<P>) return Fault::kUpdateStatusUnfit;
  else if constexpr (!Updates<P>) return Fault::kUpdateStatusReturn;
  else if constexpr (TakesTemporaries<P>) return Fault::kUpdateStatusCopies;
  else if constexpr (Traits<P>::kHasData && !Traits<P>::kInitTakesData && !TakesDataInUpdates<P> &&
                     !Traits<P>::kIsActiveTakesData) return Fault::kDataUnused;
  else if constexpr (NamesPrepareData<P>() && !Traits<P>::kPreparesData) return Fault::kPrepareDataUnfit;
  else if constexpr (requires { requires P::kFirstSuffices; } &&
                     (P::kReduction == Reduction::kSum || Traits<P>::kCollects))
    return Fault::kFirstSuffices;
  else if constexpr (Traits<P>::kFirstInRowSuffices &&
                     (P::kReduction == Reduction::kSum || Traits<P>::kCollects))
    return Fault::kFirstInRowSuffices;
  else if constexpr (NamesRoundMessage<P>() &&
                     !(Traits<P>::kHasRoundMessage && Traits<P>::kFirstSuffices && Traits<P>::kCanPush &&
                       !Traits<P>::kEveryRound && !Traits<P>::kHasConsume && !Traits<P>::kHasWantsMessage))
    return Fault::kRoundMessage;
  else if constexpr (P::kSafety == Safety::kAccumulative && !Traits<P>::kHasConsume) return Fault::kNoConsume;
  else if constexpr (P::kSafety == Safety::kAccumulative && P::kReduction != Reduction::kSum &&
                     P::kReduction != Reduction::kCustom) return Fault::kAccumulativeReduction;
  else if constexpr (NamesWants<P>() && !Traits<P>::kHasWants && !Traits<P>::kHasWantsMessage) return Fault::kWantsUnfit;
  else if constexpr (Traits<P>::kHasConsume && NamesWants<P>()) return Fault::kConsumeWants;
  else if constexpr (NamesIsActive<P>() && !Traits<P>::kHasIsActive) return Fault::kIsActiveUnfit;
  else if constexpr (NamesEndRound<P>() && !Traits<P>::kHasEndRound) return Fault::kEndRoundUnfit;
  else if constexpr (Traits<P>::kEveryRound && !Traits<P>::kHasEndRound) return Fault::kNoEndRound;
  else if constexpr (NamesMeasure<P>() &&
                     (!Traits<P>::kHasMeasure || std::is_same_v<GlobalOf<P>, None>)) return Fault::kMeasureUnfit;
  else if constexpr (!std::is_same_v<GlobalOf<P>, None> && !Traits<P>::kHasMeasure) return Fault::kNoMeasure;
  else if constexpr (Traits<P>::kMeasuresChange &&
                     (!Traits<P>::kEveryRound || Traits<P>::kCollects || Traits<P>::kHasConsume)) return Fault::kMeasuresChange;
  else if constexpr (Traits<P>::kMeasureWhenQuiet && (!Traits<P>::kHasMeasure || Traits<P>::kEveryRound))
    return Fault::kMeasureWhenQuiet;
  else if constexpr (Traits<P>::kSameAgain && !(Traits<P>::kCollects && Traits<P>::kEveryRound && !Traits<P>::kHasConsume &&
                                                !NamesWants<P>()))
    return Fault::kSameAgain;
  else if constexpr (NamesAllowsGaussSeidel<P>() && !(Traits<P>::kHasAllowsGaussSeidel && Traits<P>::kEveryRound && Traits<P>::kHasShare &&
                                               !Traits<P>::kCollects && !NamesWants<P>()))
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

/// A complete vertex program. `CheckProgram<P>()` says in words what one that is not lacks.
template <class P>
concept VertexProgram = detail::FindFault<P>()
== detail::Fault::kNone;

/// For a program that does not fit, fails to compile with one sentence, about its first fault. Returns whether P fits, so
/// that callers can leave alone what would only add noise to that sentence.
template <class P>
constexpr bool CheckProgram() {
  using detail::Fault;
  constexpr Fault kFault = detail::FindFault<P>();
  // One at a time: who mends the first often mends the next, and the sentence stands on the first line of the output.
  static_assert(kFault != Fault::kProgramNotPlain,
                "a vertex program travels to devices by value: it is a struct that holds plain parameters only (no "
                "std::string, no std::vector, no virtual functions)");
  if constexpr (kFault == Fault::kMisspelt) detail::TellOfMisspelling<P>();
  static_assert(kFault != Fault::kNoValue, "a vertex program has a public `using Value = …;`, what a vertex keeps");
  static_assert(kFault != Fault::kNoMessage, "a vertex program has a public `using Message = …;`, what an edge carries");
  static_assert(kFault != Fault::kNotStatic,
                "what is called kReduction, kSafety, kIdentity, kEdges, kActivity, kFirstSuffices, kFirstInRowSuffices, "
                "kMeasureWhenQuiet, kSameAgain, kParameters, kSummary or "
                "kOutputName is a constant of the program's type: write `static constexpr` before it");
  static_assert(kFault != Fault::kNoReduction,
                "a vertex program has `static constexpr auto kReduction = chatty::Reduction::…;`, how two messages to one "
                "vertex become one: kMin, kMax, kSum, kOr, kAny, kCustom, kCollect or kCount");
  static_assert(kFault != Fault::kNoSafety,
                "a vertex program has `static constexpr auto kSafety = chatty::Safety::…;`, a promise about the order of "
                "updates: kSynchronous if it makes none, kMonotone or kAccumulative");
  static_assert(kFault != Fault::kValueNotPlain,
                "Value must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(kFault != Fault::kMessageNotPlain,
                "Message must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(kFault != Fault::kSharedNotPlain,
                "Shared must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(kFault != Fault::kPointer,
                "Value, Message and Shared hold no pointers: they travel to other devices, where an address means nothing; "
                "keep an id or the data itself");
  static_assert(kFault != Fault::kDataNotPlain,
                "Data must be trivially copyable and default constructible: it is moved as bytes, and vertices without an "
                "entry get what `Data{}` has");
  static_assert(kFault != Fault::kDataNotListed,
                "the program has a Data, and nothing fills it: name its members in `static constexpr auto kVertexData = "
                "std::make_tuple(chatty::VertexDatum{\"name\", &Data::member, \"what it is\"}, …);`");
  static_assert(kFault != Fault::kVertexDataWithoutData,
                "the program has a kVertexData, and no `struct Data { … };` whose members it names");
  static_assert(
      kFault != Fault::kVertexDataUnfit,
      "kVertexData has to be a std::make_tuple of chatty::VertexDatum{\"name\", &Data::member, \"what it is\"}, of "
      "members of the program's Data alone");
  static_assert(
      kFault != Fault::kDataUnused,
      "the program has a Data that no member takes: InitVertex, UpdateStatus and IsActive may take a `const Data&` "
      "as their last parameter");
  static_assert(
      kFault != Fault::kPrepareDataUnfit,
      "the program has a PrepareData that does not fit and would never be called: `void PrepareData(const "
      "chatty::Graph&, std::span<Data>, std::span<const std::string_view> given) const`, of a program with a Data");
  static_assert(
      kFault != Fault::kVertexDataType,
      "kVertexData names members of Data that are std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float or "
      "double: what an array of a file may hold");
  static_assert(kFault != Fault::kWeight, "Weight is float or std::int32_t; a program without weights leaves it out");
  static_assert(kFault != Fault::kGlobalNotPlain,
                "Global must be trivially copyable and default constructible: it is moved as bytes, and `Global{}` is its "
                "identity");
  static_assert(kFault != Fault::kGlobalSize,
                "Global is larger than 64 bytes: measure fewer sums, or spread them over phases");
  static_assert(kFault != Fault::kMessageSize,
                "Message is larger than 16 bytes: send less, or split it over two phases (at most 8 bytes are pushed or "
                "pulled, 9 to 16 are pulled)");
  static_assert(kFault != Fault::kMonotoneSize,
                "Message is larger than 8 bytes, but kSafety = kMonotone promises asynchronous updates, which are atomic on "
                "at most 8: send less, or say kSynchronous");
  static_assert(
      kFault != Fault::kAccumulativeSize,
      "Message is larger than 8 bytes, but kSafety = kAccumulative promises asynchronous updates, which are atomic "
      "on at most 8: send less, or say kSynchronous");
  static_assert(kFault != Fault::kShareUnfit,
                "the program has a Share that does not fit: `Shared Share(const Value&, chatty::Vertex) const`, with `using "
                "Shared = …;` for what it returns");
  static_assert(kFault != Fault::kConsumeUnfit,
                "the program has a Consume that does not fit: `Shared Consume(Value&, chatty::Vertex) const`, with `using "
                "Shared = …;` for what it returns");
  static_assert(kFault != Fault::kSharedFromNowhere,
                "the program names a Shared, and nothing makes one: add `Shared Share(const Value&, chatty::Vertex) const`");
  static_assert(kFault != Fault::kSharedSize,
                "Shared is larger than 16 bytes: give the program a `Share` that returns only what neighbours need (without "
                "one, they see the whole Value)");
  static_assert(kFault != Fault::kNoInitVertex,
                "a vertex program has a public `Value InitVertex(chatty::Vertex) const` (or, with `using Prior = …;`, "
                "`InitVertex(chatty::Vertex, const Prior&) const`)");
  static_assert(kFault != Fault::kInitVertexNotConst,
                "InitVertex lacks a const: `Value InitVertex(chatty::Vertex) const`; many threads share one program");
  static_assert(kFault != Fault::kInitVertexUnfit,
                "the program has an InitVertex that does not fit: `Value InitVertex(chatty::Vertex) const` (or, with `using "
                "Prior = …;`, `InitVertex(chatty::Vertex, const Prior&) const`); a program with a Data may take a `const "
                "Data&` as the last parameter");
  static_assert(kFault != Fault::kNoComputeScatter,
                "a vertex program has a public `Message ComputeScatter(const Shared&, chatty::Edge<Weight>, const "
                "chatty::Round<Global>&) const`; Shared is Value, Weight and Global are chatty::None unless the program "
                "names others");
  static_assert(kFault != Fault::kComputeScatterNotConst,
                "ComputeScatter lacks a const: `Message ComputeScatter(…) const`; many threads share one program");
  static_assert(kFault != Fault::kComputeScatterUnfit,
                "the program has a ComputeScatter that does not fit: `Message ComputeScatter(const Shared&, "
                "chatty::Edge<Weight>, const chatty::Round<Global>&) const`, where Shared is what `Share` returns, or Value "
                "without one, and Weight and Global are chatty::None unless the program names others");
  static_assert(kFault != Fault::kNoComputeReduce,
                "kReduction = kCustom needs `Message ComputeReduce(Message, Message) const`, associative and commutative");
  static_assert(kFault != Fault::kComputeReduceNotConst,
                "ComputeReduce lacks a const: `Message ComputeReduce(Message, Message) const`; many threads share one "
                "program");
  static_assert(kFault != Fault::kComputeReduceUnfit,
                "the program has a ComputeReduce that does not fit: `Message ComputeReduce(Message, Message) const`");
  static_assert(kFault != Fault::kComputeReduceUnused,
                "the program has a ComputeReduce, which only kReduction = kCustom calls: say kCustom, or remove it");
  static_assert(kFault != Fault::kNoIdentity,
                "kReduction = kCustom needs `static constexpr Message kIdentity = …;`, the message that changes nothing");
  static_assert(kFault != Fault::kArithmetic,
                "kMin, kMax and kSum reduce messages that are numbers; for a struct use kCustom with ComputeReduce and "
                "kIdentity");
  static_assert(kFault != Fault::kIntegral, "kOr reduces messages that are integers");
  static_assert(kFault != Fault::kCollectOrder, "kReduction = kCollect sorts messages: give Message an operator<");
  static_assert(kFault != Fault::kCollectSafety,
                "kReduction = kCount or kCollect sees all messages of a round, so kSafety must be kSynchronous");
  static_assert(kFault != Fault::kCountMessage,
                "kReduction = kCount counts messages that are integers of 4 or 8 bytes; kCollect sorts any that have an "
                "operator<");
  static_assert(
      kFault != Fault::kNoUpdateStatus,
      "a vertex program has a public `bool UpdateStatus(Value&, Message, chatty::Vertex, const "
      "chatty::Round<Global>&) const` (with kCollect, chatty::Messages<Message> in place of Message, and with kCount "
      "chatty::Counts<Message>)");
  static_assert(
      kFault != Fault::kUpdateStatusNotConst,
      "UpdateStatus lacks a const: `bool UpdateStatus(…) const`; what changes is the Value, not the program, which "
      "many threads share");
  static_assert(
      kFault != Fault::kUpdateStatusUnfit,
      "the program has an UpdateStatus that does not fit: `bool UpdateStatus(Value&, Message, chatty::Vertex, "
      "const chatty::Round<Global>&) const`; a program with a Data may take a `const Data&` as the last parameter");
  static_assert(kFault != Fault::kCollectUpdateUnfit,
                "kReduction = kCollect needs `bool UpdateStatus(Value&, chatty::Messages<Message>, chatty::Vertex, const "
                "chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kCountUpdateUnfit,
                "kReduction = kCount needs `bool UpdateStatus(Value&, chatty::Counts<Message>, chatty::Vertex, const "
                "chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kUpdateStatusReturn,
                "UpdateStatus returns a bool: whether the neighbours must hear of the vertex in the next round");
  static_assert(kFault != Fault::kUpdateStatusCopies,
                "UpdateStatus changes the value in place: it takes a `Value&`, not a copy and not a const reference");
  static_assert(kFault != Fault::kFirstSuffices,
                "kFirstSuffices = true says that one message stands for all of a round; kSum, kCollect "
                "and kCount need them all");
  static_assert(
      kFault != Fault::kFirstInRowSuffices,
      "kFirstInRowSuffices = true says that the wanted message of the least source stands for all of a round; kSum, "
      "kCollect and kCount need them all");
  static_assert(kFault != Fault::kRoundMessage,
                "RoundMessage has to be `Message RoundMessage(const chatty::Round<Global>&) const`, of a program with "
                "kFirstSuffices = true and messages of at most 8 bytes, without kEveryRound, Consume and Wants(value, "
                "message)");
  static_assert(kFault != Fault::kNoConsume,
                "kSafety = kAccumulative needs `Shared Consume(Value&, chatty::Vertex) const`, which takes the residual");
  static_assert(kFault != Fault::kAccumulativeReduction,
                "kSafety = kAccumulative promises that nothing is lost, and this kReduction drops messages: it is kSum, or "
                "a kCustom that adds");
  static_assert(kFault != Fault::kConsumeWants,
                "a program with Consume has no Wants: while some vertices give their residual away, others would read the "
                "values that change");
  static_assert(
      kFault != Fault::kWantsUnfit,
      "the program has a Wants that does not fit and would never be asked: `bool Wants(const Value&) const`, `bool "
      "Wants(const Value&, Message) const`, or both");
  static_assert(kFault != Fault::kIsActiveUnfit,
                "the program has an IsActive that does not fit and would never be asked: `bool IsActive(const Value&, const "
                "chatty::Round<Global>&) const`; a program with a Data may take a `const Data&` as the last parameter");
  static_assert(kFault != Fault::kEndRoundUnfit,
                "the program has an EndRound that does not fit and would never be asked: `chatty::Next "
                "EndRound(chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kNoEndRound,
                "kActivity = kEveryRound never falls quiet by itself: give the program `chatty::Next "
                "EndRound(chatty::Round<Global>&) const`");
  static_assert(
      kFault != Fault::kMeasureUnfit,
      "the program has a Measure that does not fit: `Global Measure(const Value&, chatty::Vertex) const` or, with a "
      "last parameter, `const chatty::Round<Global>&`; where every vertex is updated in every round it may begin with the "
      "value before; with `using Global = …;` for what it returns");
  static_assert(kFault != Fault::kNoMeasure,
                "a program with a Global has `Global Measure(const Value&, chatty::Vertex) const`, or with a third "
                "parameter `const chatty::Round<Global>&`");
  static_assert(kFault != Fault::kMeasuresChange,
                "a Measure that takes the value before, too, measures updates: it is for kActivity = kEveryRound, without "
                "kCollect or Consume");
  static_assert(kFault != Fault::kMeasureWhenQuiet,
                "kMeasureWhenQuiet = true is for a program with a Measure whose rounds fall quiet: not for kActivity = "
                "kEveryRound");
  static_assert(kFault != Fault::kAllowsGaussSeidel,
                "AllowsGaussSeidel has to be `bool AllowsGaussSeidel() const`, of a program with kActivity = kEveryRound "
                "and a Share, without "
                "Wants, that does not see all messages");
  static_assert(kFault != Fault::kSameAgain,
                "kSameAgain = true is for kCollect and kCount with kActivity = kEveryRound, without Wants and Consume, by "
                "which the same neighbours might send something else");
  static_assert(kFault != Fault::kCombine,
                "Measure needs a way to combine: `static Global Combine(Global, Global)` or operator+ on Global; `Global{}` "
                "is its identity");
  static_assert(
      kFault != Fault::kOutputUnfit,
      "the program has an Output that does not fit: `T Output(const Value&) const` or `T Output(const Value&, const "
      "chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kOutputNotPlain,
                "Output returns what is copied from the devices, one a vertex: a number or a plain struct (not void, no "
                "std::string, nothing that owns memory)");
  static_assert(kFault != Fault::kPriorityUnfit,
                "the program has a Priority that does not fit and would never be asked: a number `Priority(const Value&) "
                "const`");
  return kFault == Fault::kNone;
}

/// A vertex program whose updates may run in any order: what an asynchronous engine may take. The engine `async` takes those
/// that are kMonotone, and CheckExecution refuses others in words. `kMonotone`: late and repeated messages do no harm, so
/// the reduction must be one that may see a message twice, and of two that are not equal lose neither. `kAccumulative`: each
/// residual is taken exactly once. A program active in every round, or that decides after each, is neither: its rounds are
/// its meaning.
template <class P>
concept AsynchronousProgram =
    VertexProgram<P> && P::kSafety != Safety::kSynchronous && !Traits<P>::kEveryRound && !Traits<P>::kHasEndRound &&
    !(P::kSafety == Safety::kMonotone && (P::kReduction == Reduction::kSum || P::kReduction == Reduction::kAny));

/// Fails to compile, with one sentence, for a program that an asynchronous engine must not run. Returns whether it may.
template <class P>
constexpr bool CheckAsynchronous() {
  constexpr bool kFits = CheckProgram<P>();
  if constexpr (kFits) {
    static_assert(P::kSafety != Safety::kSynchronous,
                  "kSafety = kSynchronous: the program is right in rounds only, and an asynchronous engine has none. Run it "
                  "by bsp, or declare kMonotone if values move one way and late or repeated messages do no harm, or "
                  "kAccumulative, which the engine async does not run yet, if Consume takes each residual exactly once");
    static_assert(P::kSafety == Safety::kSynchronous || !Traits<P>::kEveryRound,
                  "kActivity = kEveryRound: all vertices take part in each round, and an asynchronous engine has no rounds. "
                  "Run it by bsp, or say kOnMessage and let only what changed send");
    static_assert(P::kSafety == Safety::kSynchronous || Traits<P>::kEveryRound || !Traits<P>::kHasEndRound,
                  "EndRound is asked after each round, and an asynchronous engine has no rounds. Run it by bsp, or let the "
                  "program fall quiet by itself");
    static_assert(P::kSafety != Safety::kMonotone || P::kReduction != Reduction::kAny,
                  "kReduction = kAny keeps one message of a round, in which all are equal; asynchronously messages of "
                  "several rounds meet, and the better one would be lost. Run it by bsp, or say kMin or kMax");
    static_assert(P::kSafety != Safety::kMonotone || P::kReduction != Reduction::kSum,
                  "kSafety = kMonotone promises that repeated messages do no harm, and kSum adds them twice. Run it by bsp, "
                  "or keep a residual that Consume takes and say kAccumulative, which the engine async does not run yet");
  }
  return AsynchronousProgram<P>;
}

namespace detail {

// A program that does not fit has no output: CheckProgram speaks, and nothing else.
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
inline constexpr bool kUpdateTakesData = detail::TakesDataInUpdates<P>;

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
  } else if constexpr (P::kReduction == Reduction::kAny) {
    return a;
  } else {
    return program.ComputeReduce(a, b);
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
  } else if constexpr (Traits<P>::kMeasureSeesRound) {
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

}  // namespace chatty

#if CHATTY_CUDA_COMPILER
#pragma nv_diagnostic pop
#endif
