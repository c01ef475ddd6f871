/// \file
/// The vertex-program concept: what a user writes, what each optional member switches on, and what a program that does not
/// fit is told. The four names InitVertex, ComputeScatter, ComputeReduce and UpdateStatus are ChattyGraph's published
/// interface; `Share` is its shared vertex; `Wants` is Groute's halo filter and Beamer's unvisited test in one.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "chatty/core/atomics.h"
#include "chatty/core/types.h"
#include "chatty/core/verdict.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// A vertex as a program sees it: global id and degrees, whatever device it lives on.
struct Vertex {
  VertexId id;
  EdgeIndex out_degree, in_degree;
};

/// An edge as a program sees it: `source` sends, `target` receives, both global ids, whichever way kEdges runs.
template <class W = None>
struct Edge {
  VertexId source, target;
  [[no_unique_address]] W weight;
};

/// Where a run stands. The same on every device.
template <class G = None>
struct Round {
  std::uint32_t index = 0;           ///< rounds completed since the start, over all phases
  std::uint32_t phase = 0;           ///< counts up when EndRound says kNextPhase
  VertexId vertices = 0;             ///< of the whole graph
  std::uint64_t active = 0;          ///< vertices that the last UpdateStatus sweep changed, on all devices; in EndRound
  [[no_unique_address]] G global{};  ///< Measure of all vertices after the last sweep (before round 0: after InitVertex)
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
};

/// In which order a program's updates may run and still be right.
enum class Safety : std::uint8_t {
  kSynchronous,   ///< rounds only
  kMonotone,      ///< values move one way and late or repeated messages do no harm: may run asynchronously
  kAccumulative,  ///< Consume takes a residual exactly once and sums commute: may run asynchronously
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
  kNextPhase,  ///< raise Round::phase by one (EndRound may have raised it further) and activate where IsActive holds
};

/// All messages to one vertex in one round, ascending, for kCollect programs. Iterates over runs of equal messages.
template <class Message>
class Messages {
 public:
  /// `count` messages with value `value`.
  struct Run {
    Message value;
    std::uint64_t count;
  };
  class Iterator {
   public:
    CHATTY_FN Iterator(const Message* at, const Message* end) : at_(at), end_(end) { Measure(); }
    CHATTY_FN Run operator*() const { return {*at_, static_cast<std::uint64_t>(next_ - at_)}; }
    CHATTY_FN Iterator& operator++() {
      at_ = next_;
      Measure();
      return *this;
    }
    CHATTY_FN bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    CHATTY_FN void Measure() {
      next_ = at_;
      while (next_ != end_ && !(*at_ < *next_) && !(*next_ < *at_)) ++next_;
    }
    const Message *at_, *end_, *next_ = nullptr;
  };

  CHATTY_FN Messages(const Message* data, std::uint64_t size) : data_(data), size_(size) {}
  CHATTY_FN std::uint64_t size() const { return size_; }  ///< messages, not runs
  CHATTY_FN bool empty() const { return size_ == 0; }
  CHATTY_FN const Message& operator[](std::uint64_t i) const { return data_[i]; }
  CHATTY_FN Iterator begin() const { return {data_, data_ + size_}; }
  CHATTY_FN Iterator end() const { return {data_ + size_, data_ + size_}; }

 private:
  const Message* data_;
  std::uint64_t size_;
};

/// One entry of a program's kParameters: a data member that the command line and the comparison may set.
template <class Program, class T>
struct Parameter {
  using Member = T Program::*;
  const char* name;  ///< as in --set name=value
  Member member;
  const char* help;  ///< one line, with the unit
};
template <class Program, class T>
Parameter(const char*, T Program::*, const char*) -> Parameter<Program, T>;

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

}  // namespace detail

template <class P>
using ValueOf = typename P::Value;
template <class P>
using MessageOf = typename P::Message;
template <class P>
using SharedOf = typename detail::SharedOfImpl<P>::type;
template <class P>
using WeightOf = typename detail::WeightOfImpl<P>::type;
template <class P>
using GlobalOf = typename detail::GlobalOfImpl<P>::type;
template <class P>
using PriorOf = typename detail::PriorOfImpl<P>::type;
template <class P>
using RoundOf = Round<GlobalOf<P>>;

/// Everything that the engines derive from a program's members, as constants. Absent optional members read as their
/// defaults.
template <class P>
struct Traits {
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
  /// In one synchronous round all messages to a vertex are equal, so that a pull may stop at the first. Optional member.
  static constexpr bool kFirstSuffices = [] {
    if constexpr (requires { P::kFirstSuffices; })
      return P::kFirstSuffices;
    else
      return P::kReduction == Reduction::kAny;
  }();
  static constexpr bool kEveryRound = kActivity == Activity::kEveryRound;
  static constexpr bool kCollects = kReduction == Reduction::kCollect;
  static constexpr bool kHasPrior = !std::is_same_v<PriorOf<P>, None>;
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
  static constexpr bool kHasIsActive = requires(const P p, const ValueOf<P> v, const RoundOf<P> r) {
    { p.IsActive(v, r) } -> std::convertible_to<bool>;
  };
  static constexpr bool kHasMeasure = requires(const P p, const ValueOf<P> v, Vertex x) {
    { p.Measure(v, x) } -> std::convertible_to<GlobalOf<P>>;
  };
  static constexpr bool kHasEndRound = requires(const P p, RoundOf<P> r) {
    { p.EndRound(r) } -> std::same_as<Next>;
  };
  static constexpr bool kHasPriority = requires(const P p, const ValueOf<P> v) { p.Priority(v); };
  static constexpr bool kOutputSeesRound = requires(const P p, const ValueOf<P> v, const RoundOf<P> r) { p.Output(v, r); };
  static constexpr bool kHasOutput = kOutputSeesRound || requires(const P p, const ValueOf<P> v) { p.Output(v); };
  /// Neighbours see something other than the value itself, so it is kept in an array of its own.
  static constexpr bool kSharesSeparately = kHasShare || kHasConsume;
  /// Push needs an atomic reduction of a message; 16-byte and collected messages are pulled instead.
  static constexpr bool kCanPush = !kCollects && sizeof(MessageOf<P>) <= 8;
  /// Reducing the same message twice changes nothing, so that a halo copy may remember what it has sent and filter.
  static constexpr bool kIdempotent =
      kReduction == Reduction::kMin || kReduction == Reduction::kMax || kReduction == Reduction::kOr;
};

namespace detail {

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

}  // namespace detail

/// What `Output` returns: the type of a result, one a vertex. The Value itself without an Output. `Output` may also take the
/// last Round, say to normalise by a global sum.
template <class P>
using OutputOf = decltype(detail::OutputOfValue(std::declval<const P&>(), std::declval<const ValueOf<P>&>(),
                                                std::declval<const RoundOf<P>&>()));

namespace detail {

template <class T>
concept Plain = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>;

template <class P>
concept HasTypes = requires {
  typename P::Value;
  typename P::Message;
};
template <class P>
concept HasConstants = requires {
  { P::kReduction } -> std::convertible_to<Reduction>;
  { P::kSafety } -> std::convertible_to<Safety>;
};
template <class P>
concept Initialises = requires(const P p, Vertex v) {
  { p.InitVertex(v) } -> std::convertible_to<typename P::Value>;
}
|| requires(const P p, Vertex v, const PriorOf<P> prior) {
  { p.InitVertex(v, prior) } -> std::convertible_to<typename P::Value>;
};
template <class P>
concept Scatters = requires(const P p, const SharedOf<P> s, Edge<WeightOf<P>> e, const RoundOf<P> r) {
  { p.ComputeScatter(s, e, r) } -> std::convertible_to<typename P::Message>;
};
template <class P>
concept Reduces = requires(const P p, typename P::Message m) {
  { p.ComputeReduce(m, m) } -> std::convertible_to<typename P::Message>;
};
template <class P>
concept Updates = requires(const P p, typename P::Value v, typename P::Message m, Vertex x, const RoundOf<P> r) {
  { p.UpdateStatus(v, m, x, r) } -> std::convertible_to<bool>;
};
template <class P>
concept UpdatesFromAll = requires(const P p, typename P::Value v, Messages<typename P::Message> m, Vertex x,
                                  const RoundOf<P> r) {
  { p.UpdateStatus(v, m, x, r) } -> std::convertible_to<bool>;
};

}  // namespace detail

/// A complete vertex program. `CheckProgram<P>()` says in words what one that is not lacks.
template <class P>
concept VertexProgram = std::is_trivially_copyable_v<P> && detail::HasTypes<P> && detail::HasConstants<P> &&
    detail::Plain<typename P::Value> && detail::Plain<typename P::Message> && detail::Plain<SharedOf<P>> &&
    detail::Initialises<P> && detail::Scatters<P> &&
    (P::kReduction != Reduction::kCustom ||
     detail::Reduces<P>)&&(P::kReduction == Reduction::kCollect ? detail::UpdatesFromAll<P> : detail::Updates<P>);

/// Fails to compile, with a sentence a fault, for a program that does not fit. Always true otherwise.
template <class P>
constexpr bool CheckProgram() {
  static_assert(std::is_trivially_copyable_v<P>,
                "a vertex program travels to devices by value: it holds plain parameters only (no std::string, no "
                "std::vector, no virtual functions)");
  static_assert(detail::HasTypes<P>,
                "a vertex program names its types: `using Value = …;` (a vertex's state) and `using Message = …;`");
  static_assert(detail::HasConstants<P>,
                "a vertex program states `static constexpr auto kReduction = chatty::Reduction::…;` and `static constexpr "
                "auto kSafety = chatty::Safety::…;`");
  if constexpr (detail::HasTypes<P> && detail::HasConstants<P>) {
    using Message = typename P::Message;
    using Shared = SharedOf<P>;
    static_assert(detail::Plain<typename P::Value>,
                  "Value must be trivially copyable and default constructible: it is moved as bytes");
    static_assert(detail::Plain<Message>,
                  "Message must be trivially copyable and default constructible: it is moved as bytes");
    static_assert(detail::Plain<Shared>,
                  "Shared must be trivially copyable and default constructible: it is moved as bytes");
    static_assert(sizeof(Message) <= 16, "Message is larger than 16 bytes: send less, or split it over two phases");
    static_assert(sizeof(Shared) <= 16,
                  "Shared is larger than 16 bytes: give the program a `Share` that returns only what neighbours need");
    static_assert(P::kSafety != Safety::kMonotone || sizeof(Message) <= 8,
                  "Message is larger than 8 bytes, but kSafety = kMonotone promises asynchronous updates, which are atomic "
                  "on at most 8");
    static_assert(P::kSafety != Safety::kAccumulative || sizeof(Message) <= 8,
                  "Message is larger than 8 bytes, but kSafety = kAccumulative promises asynchronous updates, which are "
                  "atomic on at most 8");
    static_assert(detail::Initialises<P>,
                  "a vertex program has `Value InitVertex(chatty::Vertex) const` (or, with `using Prior = …;`, "
                  "`InitVertex(chatty::Vertex, const Prior&) const`)");
    static_assert(
        detail::Scatters<P>,
        "a vertex program has `Message ComputeScatter(const Shared&, chatty::Edge<Weight>, const chatty::Round<Global>&) "
        "const`; Shared is Value, Weight and Global are chatty::None unless the program names others");
    static_assert(P::kReduction != Reduction::kCustom || detail::Reduces<P>,
                  "kReduction = kCustom needs `Message ComputeReduce(Message, Message) const`, associative and commutative");
    static_assert(
        P::kReduction != Reduction::kCustom || requires { P::kIdentity; },
        "kReduction = kCustom needs `static constexpr Message kIdentity = …;`, the message that changes nothing");
    if constexpr (P::kReduction == Reduction::kCollect) {
      static_assert(detail::UpdatesFromAll<P>,
                    "kReduction = kCollect needs `bool UpdateStatus(Value&, chatty::Messages<Message>, chatty::Vertex, "
                    "const chatty::Round<Global>&) const`");
      static_assert(P::kSafety == Safety::kSynchronous,
                    "kReduction = kCollect sees all messages of a round, so kSafety must be kSynchronous");
    } else {
      static_assert(
          detail::Updates<P>,
          "a vertex program has `bool UpdateStatus(Value&, Message, chatty::Vertex, const chatty::Round<Global>&) const`");
    }
    static_assert(
        (P::kReduction != Reduction::kMin && P::kReduction != Reduction::kMax && P::kReduction != Reduction::kSum) ||
            std::is_arithmetic_v<Message>,
        "kMin, kMax and kSum reduce arithmetic messages; for a struct use kCustom with ComputeReduce");
    static_assert(P::kReduction != Reduction::kOr || std::is_integral_v<Message>, "kOr reduces integer messages");
    static_assert(!Traits<P>::kEveryRound || Traits<P>::kHasEndRound,
                  "kActivity = kEveryRound never falls quiet by itself: give the program `chatty::Next "
                  "EndRound(chatty::Round<Global>&) const`");
    static_assert(P::kSafety != Safety::kAccumulative || Traits<P>::kHasConsume,
                  "kSafety = kAccumulative needs `Shared Consume(Value&, chatty::Vertex) const`, which takes the residual");
    static_assert(!Traits<P>::kHasConsume || !(Traits<P>::kHasWants || Traits<P>::kHasWantsMessage),
                  "a program with Consume has no Wants: while some vertices give their residual away, others would read the "
                  "values that change");
    static_assert(!std::is_same_v<WeightOf<P>, double>, "Weight is None, std::int32_t or float");
    static_assert(std::is_same_v<GlobalOf<P>, None> || Traits<P>::kHasMeasure,
                  "a program with a Global has `Global Measure(const Value&, chatty::Vertex) const`");
    static_assert(sizeof(GlobalOf<P>) <= 64, "Global is larger than 64 bytes");
    static_assert(
        !Traits<P>::kHasMeasure ||
            requires(GlobalOf<P> g) {
              { P::Combine(g, g) } -> std::convertible_to<GlobalOf<P>>;
            } ||
            requires(GlobalOf<P> g) {
              { g + g } -> std::convertible_to<GlobalOf<P>>;
            },
        "Measure needs a way to combine: `static Global Combine(Global, Global)` or operator+ on Global; `Global{}` is its "
        "identity");
  }
  return true;
}

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
