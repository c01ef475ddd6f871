/// \file
/// Programs for program_test_body.h: shared values, wants, phases, aggregates, rounds, edges, weights and priors.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "chatty/framework/run.h"
#include "reduction_programs.h"

namespace chatty::test {

/// Share: neighbours see sixteen bytes of a value of forty. Messages of eight.
struct Sharing {
  struct Value {
    std::uint64_t state[4];
    std::uint32_t changes;
  };
  struct Shared {
    std::uint64_t low, degree;
  };
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return {{Mix(v.id), 0, v.id, 7}, 0}; }
  CHATTY_FN Shared Share(const Value& v, Vertex x) const { return {v.state[0] % 1000, x.out_degree + 10 * x.in_degree}; }
  CHATTY_FN Message ComputeScatter(const Shared& s, Edge<> e, const Round<>&) const {
    return s.low * 1000 + s.degree + e.source % 2;
  }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>& round) const {
    v.state[1] += m;
    v.state[3] = round.active;
    if (m % 1000003 <= v.state[0] % 1000) return false;
    v.state[0] = m % 1000;
    v.changes += 1;
    return v.changes < 4;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return v.state[0] + 1000 * v.state[1] + v.changes + v.state[3]; }
};

/// Consume: tokens are handed on and must be neither lost nor doubled.
struct Tokens {
  struct Value {
    std::uint32_t kept, fresh;
  };
  using Shared = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kAccumulative;
  CHATTY_FN Value InitVertex(Vertex v) const {
    return {0, v.id % 3 == 0 ? 1000 + static_cast<std::uint32_t>(v.id % 64) : 0};
  }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.fresh > 20; }
  CHATTY_FN Shared Consume(Value& v, Vertex x) const {
    const auto degree = static_cast<std::uint32_t>(x.out_degree);
    const std::uint32_t each = degree == 0 ? 0 : v.fresh / 2 / degree;
    v.kept += v.fresh - each * degree;
    v.fresh = 0;
    return each;
  }
  CHATTY_FN Message ComputeScatter(const Shared& each, Edge<>, const Round<>&) const { return each; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    v.fresh += m;
    return v.fresh > 20;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return (std::uint64_t{v.kept} << 32) + v.fresh; }
};

/// Both Filter on a pushed program: settled vertices, and messages past a vertex's limit, are left alone. Messages are
/// combined before their target is asked, so what it wants has to include what is better than something it wants.
struct Picky {
  using Value = std::uint32_t;  ///< 1000 + limit until settled
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 50 == 0 ? 0 : 1000 + Mix(v.id) % 40; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<> e, const Round<>& round) const {
    return round.index * 4 + 1 + static_cast<Message>((e.source + e.target) % 3);
  }
  CHATTY_FN bool Filter(const Value& value) const { return value >= 1000; }
  CHATTY_FN bool Filter(const Value& value, Message m) const { return m < value % 1000; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value = m;
    return true;
  }
};

/// Rounds from the nearest of several vertices, of which any message of a round tells. A host device that has the whole
/// graph runs it in place; with kLax vertices that have settled go on wanting messages that change nothing.
template <class V, bool kLax>
struct Nearest {
  using Value = V;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.any_message_suffices = true};
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 300 == 1 ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const {
    return static_cast<Message>(value + 1);
  }
  CHATTY_FN bool Filter(const Value& value) const { return kLax || value == kInfinity<Value>; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};

/// The same, and the program says what a round's messages are.
template <class V, bool kLax>
struct NearestByRound : Nearest<V, kLax> {
  CHATTY_FN std::uint32_t RoundMessage(const Round<>& round) const { return round.index + 1; }
};

/// Every round's message must reach a vertex, because its update depends on all of them.
template <Reduction kHow>
struct Pulses {
  struct Value {
    std::uint32_t sum, id;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = kHow;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.any_message_suffices = true};
  CHATTY_FN Value InitVertex(Vertex v) const { return {0, static_cast<std::uint32_t>(v.id)}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>& round) const { return (v.id + round.phase) % 7 == 0; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return 3 * (round.index % 4) + 5 * round.phase + 1; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return RoundMessage(round); }
  CHATTY_FN bool Filter(const Value& v) const { return v.sum % 5 != 4; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    v.sum = v.sum * 31 + m;
    return v.sum % 3 == 0;
  }
  Next EndRound(Round<>& round) const {
    if (round.active > 0 && round.index % 4 != 3) return Next::kContinue;
    return round.phase >= 5 ? Next::kStop : Next::kNextPhase;
  }
  CHATTY_FN std::uint32_t Output(const Value& v) const { return v.sum; }
};

/// The largest number received, 8 bytes wide and in both directions; of rounds with decreasing numbers, the first.
struct FirstHeard {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Hints kHints{.any_message_suffices = true};
  static constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 250 == 7 ? kMax : 0; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == kMax; }
  CHATTY_FN auto RoundMessage(const Round<>& round) const { return kMax - 1 - round.index; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value - 1; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m <= value) return false;
    value = m;
    return true;
  }
};

/// A round's message has another type: it is converted before its first use.
struct Halves {
  using Value = double;
  using Message = double;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.any_message_suffices = true};
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 300 == 1 ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN std::uint32_t RoundMessage(const Round<>& round) const { return round.index + 1; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return 2 * value + 1; }
  CHATTY_FN bool Filter(const Value& value) const { return value == kInfinity<Value>; }
  template <class M>
  CHATTY_FN bool UpdateStatus(Value& value, const M& m, Vertex, const Round<>&) const {
    if (m / 2 >= value) return false;
    value = m / 2;
    return true;
  }
};

/// Says one thing better every round, which RoundMessage does not allow.
struct EverBetter : Nearest<std::uint32_t, true> {
  CHATTY_FN std::uint32_t RoundMessage(const Round<>& round) const { return 20 - round.index; }
};

// ------------------------------------------------------------- phases, globals, rounds ----

/// IsActive, phases, Measure with + that sees the round, EndRound: a phase per residue class, some empty, some skipped.
struct Phases {
  struct Value {
    std::uint32_t label, touched;
    std::uint32_t id;
  };
  using Shared = std::uint32_t;
  using Message = std::uint32_t;
  struct Global {
    std::uint64_t touched = 0, labels = 0;
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
      return {a.touched + b.touched, a.labels + b.labels};
    }
  };
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return {Mix(v.id) % 1000, 0, static_cast<std::uint32_t>(v.id)}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<Global>& round) const {
    return round.phase % 3 != 1 && v.id % 6 == round.phase;  // phases 1 and 4 have no active vertex
  }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.label; }
  CHATTY_FN Message ComputeScatter(const Shared& label, Edge<>, const Round<Global>& round) const {
    return label + round.phase;
  }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<Global>& round) const {
    v.touched += 1 + static_cast<std::uint32_t>(round.global.labels % 3);
    if (m >= v.label) return false;
    v.label = m;
    return true;
  }
  CHATTY_FN Global Measure(const Value& v, Vertex x, const Round<Global>& round) const {
    return {v.touched + round.phase, v.label + x.out_degree + 3 * x.degree + round.global.touched % 5};
  }
  Next EndRound(Round<Global>& round) const {
    if (round.active > 0 && round.index % 3 != 2) return Next::kContinue;  // every third round a phase ends early
    if (round.phase >= 6) return Next::kStop;
    if (round.phase == 2) round.phase = 4;  // without a phase 3; else it is the next one's turn
    return Next::kNextPhase;
  }
  CHATTY_FN std::uint64_t Output(const Value& v, const Round<Global>& round) const {
    return v.label + 1000ull * v.touched + round.global.touched + round.index + round.phase;
  }
};

/// The same with an aggregate of quiet rounds only.
struct QuietPhases : Phases {
  static constexpr Hints kHints{.measure_when_quiet = true};
};

/// Combine instead of +: the greatest and the sum at once. kEveryRound, so that who sends does not depend on who changed.
struct Extremes {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  struct Global {
    std::uint64_t greatest = 0;
    std::uint64_t count = 0;
  };
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  CHATTY_FN static Global Combine(const Global& a, const Global& b) {
    return {a.greatest > b.greatest ? a.greatest : b.greatest, a.count + b.count};
  }
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 11; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<Global>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<Global>& round) const {
    const Value old = value;
    value = (value * 3 + m + round.global.greatest + v.in_degree) % 1000003;
    return value != old;
  }
  CHATTY_FN Global Measure(const Value& value, Vertex) const { return {value, value % 2}; }
  Next EndRound(Round<Global>& round) const {
    return round.index >= 7 || round.global.greatest > 1000000 ? Next::kStop : Next::kContinue;
  }
  CHATTY_FN std::uint64_t Output(const Value& value, const Round<Global>& round) const { return value + round.global.count; }
};

/// Measures updates: what changed in the last round is kept nowhere. Phases, whose first measure is of no update.
struct Churn {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  struct Global {
    std::uint64_t changed = 0, risen = 0;
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
      return {a.changed + b.changed, a.risen + b.risen};
    }
  };
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  CHATTY_FN Value InitVertex(Vertex v) const { return Mix(v.id) % 97; }
  CHATTY_FN bool IsActive(const Value&, const Round<Global>&) const { return true; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<Global>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<Global>& round) const {
    const Value before = value;
    value = (value + m / 2 + round.global.risen % 7 + round.global.changed % 3) % (90 + v.in_degree % 16 + round.phase);
    return value != before;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& value, Vertex v) const {
    return {before != value ? 1u + v.out_degree : 0u, value > before ? value - before : 0};
  }
  Next EndRound(Round<Global>& round) const {
    if (round.index >= 9) return Next::kStop;
    return round.index % 4 == 3 && round.phase * 4 < round.index ? Next::kNextPhase : Next::kContinue;
  }
  CHATTY_FN std::uint64_t Output(const Value& value, const Round<Global>& round) const {
    return value + 1000 * (round.global.changed + round.global.risen) + round.phase;
  }
};

/// The same by what the round says, too, and with Share.
struct ChurnInRound : Churn {
  using Shared = std::uint32_t;
  CHATTY_FN Shared Share(const Value& value, Vertex v) const { return static_cast<Shared>(value * 2 + v.out_degree % 2); }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>, const Round<Global>&) const { return share; }
  CHATTY_FN Global Measure(const Value& before, const Value& value, Vertex v, const Round<Global>& round) const {
    const Global all = Churn::Measure(before, value, v);
    return {all.changed + round.index, all.risen + round.global.changed % 5};
  }
};

/// kEveryRound where ever fewer values change: halos have to keep what did not.
struct Settling {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  CHATTY_FN Value InitVertex(Vertex v) const { return Mix(v.id) % 5000; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<> e, const Round<>&) const {
    return value / 2 + static_cast<Message>(e.source % 3);
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m <= value) return false;
    value = m;
    return true;
  }
  Next EndRound(Round<>& round) const { return round.active == 0 || round.index >= 12 ? Next::kStop : Next::kContinue; }
};

// ------------------------------------------------------------- edges, weights, priors ----

/// Along out-edges, in-edges or both; the message names both ends.
template <Edges kWhich>
struct Along {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kEdges = kWhich;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 4 + v.out_degree * 100 + v.in_degree * 10000; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value % 4 != 1; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<> e, const Round<>&) const {
    return value % 1000 + e.source * 7 + e.target * 13;
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value += m;
    return value % 2 == 0;
  }
  Next EndRound(Round<>& round) const { return round.index >= 3 ? Next::kStop : Next::kContinue; }
};

/// Weights as the program asks for them, whatever the graph has.
template <class W>
struct Weighted {
  using Weight = W;
  using Value = std::conditional_t<std::is_same_v<W, float>, float, std::int64_t>;
  using Message = Value;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 200 == 3 ? Value{0} : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == Value{0}; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<W> e, const Round<>&) const { return value + e.weight; }
  CHATTY_FN bool Filter(const Value& value, Message m) const { return m < value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (!(m < value)) return false;
    value = m;
    return true;
  }
};

/// Starts from what SumThreeRounds left.
struct Following {
  using Input = std::uint64_t;
  struct Value {
    std::uint64_t was;
    std::uint32_t hops;
  };
  using Shared = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v, const Input& prior) const { return {prior, (prior + v.id) % 9 == 0 ? 0 : 1000u}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.hops == 0; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.hops; }
  CHATTY_FN Message ComputeScatter(const Shared& hops, Edge<>, const Round<>&) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    if (m >= v.hops) return false;
    v.hops = m;
    return true;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return v.was * 1001 + v.hops; }
};

}  // namespace chatty::test
