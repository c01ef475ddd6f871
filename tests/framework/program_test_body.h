// Programs that use every part of the interface, on every kind of device, against the interpreter. Includers instantiate
// ProgramTest over device selections; compiled by nvcc, the programs run on GPUs. CHATTY_TEST_REDUCTIONS and
// CHATTY_TEST_FEATURES, both 1 unless defined, choose which tests a file holds: nvcc takes its time over each program.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/programs/bfs.h"
#include "interpreter.h"
#include "test_inputs.h"

#ifndef CHATTY_TEST_REDUCTIONS
#define CHATTY_TEST_REDUCTIONS 1
#endif
#ifndef CHATTY_TEST_FEATURES
#define CHATTY_TEST_FEATURES 1
#endif

namespace chatty::test {

CHATTY_FN std::uint32_t Mix(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>(x >> 32);
}

// ------------------------------------------------------------------ reductions ----

/// kMin or kMax of a number as wide as M, spreading the extreme of hashed labels. Late messages do no harm.
template <class M, Reduction kWhich>
struct Extreme {
  using Value = M;
  using Message = M;
  static constexpr auto kReduction = kWhich;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN static bool Better(M a, M b) { return kWhich == Reduction::kMin ? a < b : b < a; }
  CHATTY_FN Value InitVertex(Vertex v) const {
    const auto label = static_cast<std::int32_t>(Mix(v.id) % 241) - 120;  // inside every type's limits, either sign
    if constexpr (std::is_signed_v<M>) {
      return static_cast<M>(label);
    } else {
      return static_cast<M>(label + 121);
    }
  }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (!Better(m, value)) return false;
    value = m;
    return true;
  }
};

/// kSum on message: three rounds of adding up. Wraps, so that every message counts.
template <class M>
struct SumThreeRounds {
  using Value = M;
  using Message = M;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<M>(v.id % 5 == 0 ? v.id + 1 : 0); }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value != 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<> e, const Round<>& round) const {
    return static_cast<M>(value * 3 + static_cast<M>(e.source % 7) + static_cast<M>(round.index) + 1);
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    value = static_cast<M>(value + m);
    return (v.id + Mix(static_cast<std::uint64_t>(value))) % 3 != 0;
  }
  Next EndRound(Round<>& round) const { return round.index >= 3 ? Next::kStop : Next::kContinue; }
};

/// kOr: which of the first 8 * sizeof(M) vertices reach a vertex.
template <class M>
struct ReachedFrom {
  using Value = M;
  using Message = M;
  static constexpr auto kReduction = Reduction::kOr;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id < 8 * sizeof(M) ? static_cast<M>(M{1} << v.id) : M{0}; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value != 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    const auto old = value;
    value = static_cast<M>(value | m);
    return value != old;
  }
};

/// kAny with messages of M: all of a round are equal, so the first will do.
template <class M>
struct FirstVisit {
  using Value = std::uint32_t;
  using Message = M;
  static constexpr auto kReduction = Reduction::kAny;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 97 == 0 ? 0 : ~0u; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const {
    return static_cast<M>(round.index + 1);
  }
  CHATTY_FN bool Wants(const Value& value) const { return value == ~0u; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value = static_cast<std::uint32_t>(m);
    return true;
  }
};

/// kCustom on a struct of kWords words, compared word by word: least source of the greatest rank. 4 bytes to 16.
template <int kWords>
struct Champion {
  struct Message {
    std::uint32_t word[kWords];
  };
  using Value = Message;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr auto kSafety = kWords <= 2 ? Safety::kMonotone : Safety::kSynchronous;
  CHATTY_FN static constexpr Message Make(std::uint32_t x) {
    Message m{};
    for (int w = 0; w < kWords; ++w) m.word[w] = w + 1 < kWords ? x % (3 + w) : x;  // early words tie, the last decides
    return m;
  }
  static constexpr Message kIdentity = [] {
    Message m{};
    for (int w = 0; w < kWords; ++w) m.word[w] = ~0u;
    return m;
  }();
  CHATTY_FN static bool Less(const Message& a, const Message& b) {
    for (int w = 0; w < kWords; ++w) {
      if (a.word[w] != b.word[w]) return a.word[w] < b.word[w];
    }
    return false;
  }
  CHATTY_FN Value InitVertex(Vertex v) const { return Make(Mix(v.id) % 100000); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN Message ComputeReduce(Message a, Message b) const { return Less(b, a) ? b : a; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (!Less(m, value)) return false;
    value = m;
    return true;
  }
  CHATTY_FN std::uint32_t Output(const Value& value) const { return value.word[kWords - 1]; }
};

/// kSum of fractions: right up to rounding, whatever the order.
struct Fractions {
  using Value = double;
  using Message = float;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  CHATTY_FN Value InitVertex(Vertex v) const { return 1.0 / (1.0 + static_cast<double>(v.id)); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return static_cast<float>(value); }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    value = 0.5 * value + m / (1.0 + static_cast<double>(v.in_degree));
    return true;
  }
  Next EndRound(Round<>& round) const { return round.index >= 4 ? Next::kStop : Next::kContinue; }
};

/// kCollect every round: LDBC's label propagation, which needs the counts of equal messages.
struct Communities {
  using Value = VertexId;
  using Message = VertexId;
  static constexpr auto kReduction = Reduction::kCollect;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr auto kEdges = Edges::kBoth;
  std::uint32_t rounds = 5;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>, const Round<>&) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, Messages<Message> all, Vertex, const Round<>&) const {
    Value best = label;
    std::uint64_t most = 0;
    for (const auto run : all) {
      if (run.count > most) {
        most = run.count;
        best = run.value;
      }
    }
    const bool changed = best != label;
    label = best;
    return changed;
  }
  Next EndRound(Round<>& round) const { return round.index >= rounds ? Next::kStop : Next::kContinue; }
};

/// kCollect on message, with Share, Wants both ways and messages of two bytes: order and number of messages matter.
struct Digest {
  struct Value {
    std::uint64_t digest;
    std::uint32_t updates;
  };
  using Shared = std::uint16_t;
  using Message = std::uint16_t;
  static constexpr auto kReduction = Reduction::kCollect;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return {v.id + 1, 0}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.digest % 4 == 1; }
  CHATTY_FN Shared Share(const Value& v, Vertex x) const { return static_cast<Shared>(v.digest * 31 + x.out_degree); }
  CHATTY_FN Message ComputeScatter(const Shared& s, Edge<> e, const Round<>& r) const {
    return static_cast<Message>(s + e.target * 3 + r.index);
  }
  CHATTY_FN bool Wants(const Value& v) const { return v.updates < 3; }
  CHATTY_FN bool Wants(const Value& v, const Message& m) const { return (v.digest + m) % 5 != 0; }
  CHATTY_FN bool UpdateStatus(Value& v, Messages<Message> all, Vertex, const Round<>&) const {
    std::uint64_t h = v.digest;
    for (std::uint64_t i = 0; i < all.size(); ++i) h = h * 1099511628211ull + all[i];
    for (const auto run : all) h ^= run.count << (run.value % 50);
    v.digest = h;
    v.updates += 1;
    return h % 3 != 0;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return v.digest ^ v.updates; }
};

/// kCount every round, label propagation again; in the rounds of kSameAgain most vertices are left out.
template <class Label, bool kAgain>
struct CountedCommunities {
  using Value = Label;
  using Message = Label;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr bool kSameAgain = kAgain;
  std::uint32_t rounds = 9;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Label>(Mix(v.id) % 8 == 0 ? 0 : ~std::uint64_t{v.id}); }
  CHATTY_FN bool IsActive(const Value&, const Round<>&) const { return true; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>, const Round<>& round) const {
    return static_cast<Label>((label & ~Label{1}) | static_cast<Label>(round.phase & 1));
  }
  CHATTY_FN bool UpdateStatus(Value& label, Counts<Message> all, Vertex, const Round<>&) const {
    Value best = label;
    std::uint64_t most = 0;
    for (const auto run : all) {
      if (run.count < most || (run.count == most && best < run.value)) continue;
      most = run.count;
      best = run.value;
    }
    const bool changed = best != label;
    label = best;
    return changed;
  }
  /// In the second phase all messages are others.
  Next EndRound(Round<>& round) const {
    if (round.index >= rounds) return Next::kStop;
    return round.index == 3 ? Next::kNextPhase : Next::kContinue;
  }
};

/// kCount on message, with Share and Wants both ways: every message counts, and each value is told once.
template <class Number>
struct CountedDigest {
  struct Value {
    std::uint64_t digest;
    std::uint32_t updates;
  };
  using Shared = std::uint16_t;
  using Message = Number;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v) const { return {v.id + 1, 0}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.digest % 4 != 1; }
  CHATTY_FN Shared Share(const Value& v, Vertex x) const { return static_cast<Shared>(v.digest * 31 + x.out_degree); }
  CHATTY_FN Message ComputeScatter(const Shared& s, Edge<> e, const Round<>& r) const {
    return static_cast<Message>(s % (1 + e.target % 5000)) - 2 + static_cast<Message>(r.index % 2);
  }
  CHATTY_FN bool Wants(const Value& v) const { return v.updates < 3; }
  CHATTY_FN bool Wants(const Value& v, const Message& m) const {
    return (v.digest + static_cast<std::uint64_t>(m)) % 5 != 0;
  }
  CHATTY_FN bool UpdateStatus(Value& v, Counts<Message> all, Vertex, const Round<>&) const {
    std::uint64_t runs = 0, messages = 0, sum = 0;
    for (const auto run : all) {
      runs += 1;
      messages += run.count;
      sum += Mix(static_cast<std::uint64_t>(run.value)) * run.count * run.count;
    }
    v.digest = (v.digest * 1099511628211ull + runs) * 1099511628211ull + (messages == all.size() ? sum : 0);
    v.updates += 1;
    return v.digest % 3 != 0;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return v.digest ^ v.updates; }
};

// ------------------------------------------------------------- Share, Consume, Wants ----

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

/// Both Wants on a pushed program: settled vertices, and messages past a vertex's limit, are left alone. Messages are
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
  CHATTY_FN bool Wants(const Value& value) const { return value >= 1000; }
  CHATTY_FN bool Wants(const Value& value, Message m) const { return m < value % 1000; }
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
  static constexpr bool kFirstSuffices = true;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 300 == 1 ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const {
    return static_cast<Message>(value + 1);
  }
  CHATTY_FN bool Wants(const Value& value) const { return kLax || value == kInfinity<Value>; }
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

/// Vertices hear of rounds again and again, and what they make of it depends on each: none may be kept from them.
template <Reduction kHow>
struct Pulses {
  struct Value {
    std::uint32_t sum, id;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = kHow;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr bool kFirstSuffices = true;
  CHATTY_FN Value InitVertex(Vertex v) const { return {0, static_cast<std::uint32_t>(v.id)}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>& round) const { return (v.id + round.phase) % 7 == 0; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return 3 * (round.index % 4) + 5 * round.phase + 1; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return RoundMessage(round); }
  CHATTY_FN bool Wants(const Value& v) const { return v.sum % 5 != 4; }
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

/// The greatest number heard, 8 bytes wide and both ways: of rounds that say less and less the first.
struct FirstHeard {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr bool kFirstSuffices = true;
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 250 == 7 ? kMost : 0; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == kMost; }
  CHATTY_FN auto RoundMessage(const Round<>& round) const { return kMost - 1 - round.index; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value - 1; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m <= value) return false;
    value = m;
    return true;
  }
};

/// What a round says is a number of another type: it is converted before anybody sees it.
struct Halves {
  using Value = double;
  using Message = double;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr bool kFirstSuffices = true;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 300 == 1 ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN std::uint32_t RoundMessage(const Round<>& round) const { return round.index + 1; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return 2 * value + 1; }
  CHATTY_FN bool Wants(const Value& value) const { return value == kInfinity<Value>; }
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
    return round.phase % 3 != 1 && v.id % 6 == round.phase;  // phases 1 and 4 have nobody
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
  static constexpr bool kMeasureWhenQuiet = true;
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
  CHATTY_FN bool Wants(const Value& value, Message m) const { return m < value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (!(m < value)) return false;
    value = m;
    return true;
  }
};

/// Starts from what SumThreeRounds left.
struct Following {
  using Prior = std::uint64_t;
  struct Value {
    std::uint64_t was;
    std::uint32_t hops;
  };
  using Shared = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  CHATTY_FN Value InitVertex(Vertex v, const Prior& prior) const { return {prior, (prior + v.id) % 9 == 0 ? 0 : 1000u}; }
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

// ----------------------------------------------------------------------- the tests ----

class ProgramTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotShared(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }

  static const std::vector<NamedGraph>& Inputs() {
    static const std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kNone);
    return graphs;
  }
  static constexpr int kThreads = 6;  // several a device, whatever the machine has
  static SessionOptions Divided(const char* partition) {
    SessionOptions options;
    options.partition = partition;
    options.threads = kThreads;
    return options;
  }

  template <class T>
  static bool Same(const T& a, const T& b, double tolerance) {
    if constexpr (std::is_floating_point_v<T>) {
      return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
    } else {
      return a == b && tolerance >= 0;
    }
  }

  /// Runs P in every direction it has and compares values, rounds, phases and the global aggregate with the interpreter's.
  template <class P>
  void Agrees(const Graph& graph, const P& program, double tolerance = 0, int repeats = 1) {
    const Interpretation<P> expected = Interpret(graph, program);
    const std::vector<OutputOf<P>> values = expected.Output(program);
    Session session(graph, SharedDevices(GetParam(), kThreads),
                    Divided(graph.vertices() % 2 == 0 ? "random" : "edge-balanced"));
    for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
      SCOPED_TRACE("direction " + std::to_string(static_cast<int>(direction)));
      RunOptions options;
      options.direction = direction;
      if (direction == Direction::kPush && !Traits<P>::kCanPush) {
        EXPECT_THROW(chatty::Run(session, program, options), UsageError);
        continue;
      }
      for (int repeat = 0; repeat < repeats; ++repeat) {
        const Result<P> result = chatty::Run(session, program, options);
        ASSERT_EQ(result.values.size(), values.size());
        for (std::size_t v = 0; v < values.size(); ++v) {
          ASSERT_TRUE(Same(result.values[v], values[v], tolerance))
              << "vertex " << v << ": " << +result.values[v] << " instead of " << +values[v];
        }
        EXPECT_EQ(result.round.index, expected.round.index);
        EXPECT_EQ(result.round.phase, expected.round.phase);
        EXPECT_EQ(result.round.active, expected.round.active);
        EXPECT_EQ(result.round.vertices, graph.vertices());
        EXPECT_EQ(result.statistics.rounds, expected.round.index);
        EXPECT_EQ(result.statistics.phases, expected.phases);
        EXPECT_EQ(result.statistics.push_rounds + result.statistics.pull_rounds, result.statistics.rounds);
        EXPECT_TRUE(direction != Direction::kPush || result.statistics.pull_rounds == 0);
        EXPECT_TRUE(direction != Direction::kPull || result.statistics.push_rounds == 0);
        EXPECT_TRUE(result.statistics.converged);
        CheckGlobal<P>(result.round, expected.round);
      }
    }
  }
  template <class P>
  static void CheckGlobal(const RoundOf<P>& actual, const RoundOf<P>& expected) {
    if constexpr (!std::is_same_v<GlobalOf<P>, None>) {
      EXPECT_EQ(std::memcmp(&actual.global, &expected.global, sizeof(actual.global)), 0) << "global aggregates differ";
    }
  }
  template <class P>
  void AgreesOnAll(const P& program, double tolerance = 0) {
    for (const NamedGraph& input : Inputs()) {
      SCOPED_TRACE(input.name);
      Agrees(input.graph, program, tolerance);
      if (HasFatalFailure()) return;
    }
  }
};

#if CHATTY_TEST_REDUCTIONS
TEST_P(ProgramTest, MinOfEveryWidth) {
  AgreesOnAll(Extreme<std::int8_t, Reduction::kMin>{});
  AgreesOnAll(Extreme<std::uint16_t, Reduction::kMin>{});
  AgreesOnAll(Extreme<std::int32_t, Reduction::kMin>{});
  AgreesOnAll(Extreme<double, Reduction::kMin>{});
}

TEST_P(ProgramTest, MaxOfEveryWidth) {
  AgreesOnAll(Extreme<std::uint8_t, Reduction::kMax>{});
  AgreesOnAll(Extreme<std::int16_t, Reduction::kMax>{});
  AgreesOnAll(Extreme<float, Reduction::kMax>{});
  AgreesOnAll(Extreme<std::int64_t, Reduction::kMax>{});
}

TEST_P(ProgramTest, SumOfEveryWidth) {
  AgreesOnAll(SumThreeRounds<std::uint8_t>{});
  AgreesOnAll(SumThreeRounds<std::uint16_t>{});
  AgreesOnAll(SumThreeRounds<std::uint32_t>{});
  AgreesOnAll(SumThreeRounds<std::uint64_t>{});
}

TEST_P(ProgramTest, SumOfFractions) { AgreesOnAll(Fractions{}, 1e-4); }

TEST_P(ProgramTest, OrOfEveryWidth) {
  AgreesOnAll(ReachedFrom<std::uint8_t>{});
  AgreesOnAll(ReachedFrom<std::uint16_t>{});
  AgreesOnAll(ReachedFrom<std::uint32_t>{});
  AgreesOnAll(ReachedFrom<std::uint64_t>{});
}

TEST_P(ProgramTest, AnyOfEveryWidth) {
  AgreesOnAll(FirstVisit<std::uint8_t>{});
  AgreesOnAll(FirstVisit<std::uint16_t>{});
  AgreesOnAll(FirstVisit<std::uint32_t>{});
  AgreesOnAll(FirstVisit<double>{});
}

TEST_P(ProgramTest, CustomOfEveryWidth) {
  AgreesOnAll(Champion<1>{});
  AgreesOnAll(Champion<2>{});
  AgreesOnAll(Champion<3>{});
  AgreesOnAll(Champion<4>{});
}

#endif  // CHATTY_TEST_REDUCTIONS

#if CHATTY_TEST_FEATURES
TEST_P(ProgramTest, CollectEveryRound) { AgreesOnAll(Communities{}); }
TEST_P(ProgramTest, CollectOnMessage) { AgreesOnAll(Digest{}); }
TEST_P(ProgramTest, CountEveryRound) {
  AgreesOnAll(CountedCommunities<std::uint32_t, false>{});
  AgreesOnAll(CountedCommunities<std::uint32_t, true>{});
  AgreesOnAll(CountedCommunities<std::int64_t, true>{});
}
TEST_P(ProgramTest, CountOnMessage) {
  AgreesOnAll(CountedDigest<std::int32_t>{});
  AgreesOnAll(CountedDigest<std::uint64_t>{});
}
TEST_P(ProgramTest, Share) { AgreesOnAll(Sharing{}); }
TEST_P(ProgramTest, WantsBoth) { AgreesOnAll(Picky{}); }
TEST_P(ProgramTest, FirstMessagesSuffice) {
  AgreesOnAll(Nearest<std::uint32_t, false>{});
  AgreesOnAll(Nearest<std::uint32_t, true>{});
  AgreesOnAll(Nearest<std::uint64_t, true>{});
}
TEST_P(ProgramTest, ARoundMessageIsSentAsABit) {
  AgreesOnAll(NearestByRound<std::uint32_t, false>{});
  AgreesOnAll(NearestByRound<std::uint64_t, true>{});
  AgreesOnAll(Pulses<Reduction::kMin>{});
  AgreesOnAll(Pulses<Reduction::kAny>{});
  AgreesOnAll(FirstHeard{});
  AgreesOnAll(Halves{});
}
TEST_P(ProgramTest, ARoundMessageIsToldOnceInFewBytes) {
  const Graph graph = RandomGraph(41, 4000, 12.0, WeightKind::kNone, true);
  Session session(graph, SharedDevices(GetParam(), kThreads), Divided("random"));
  const auto traffic = [&](const auto& program, Direction direction) {
    RunOptions options;
    options.direction = direction;
    const RunStatistics statistics = chatty::Run(session, program, options).statistics;
    std::pair<std::uint64_t, std::uint64_t> sent;
    for (const PairStatistics& pair : statistics.pairs) {
      sent.first += pair.messages;
      sent.second += pair.bytes;
    }
    return sent;
  };
  for (const Direction direction : {Direction::kPush, Direction::kPull}) {
    const auto kept = traffic(Nearest<std::uint32_t, false>{}, direction);
    const auto bits = traffic(NearestByRound<std::uint32_t, false>{}, direction);
    EXPECT_EQ(bits.first, kept.first) << "a halo vertex that has been told is told again, or one is forgotten";
    if (session.device_count() == 1) continue;
    EXPECT_GT(bits.first, 0u);
    EXPECT_LT(bits.second, kept.second / 4);
  }
  for (const Direction direction : {Direction::kPush, Direction::kPull, Direction::kAuto}) {
    RunOptions options;
    options.direction = direction;
    if (session.device_count() == 1) {
      EXPECT_TRUE(chatty::Run(session, EverBetter{}, options).statistics.converged) << "nobody is told anything";
    } else {
      EXPECT_THROW(chatty::Run(session, EverBetter{}, options), UsageError);
    }
  }
}
TEST_P(ProgramTest, WhatWasToldInARunIsForgottenInTheNext) {
  const Graph graph = RandomGraph(42, 3000, 6.0, WeightKind::kNone, true);
  Session session(graph, SharedDevices(GetParam(), kThreads), Divided("random"));
  for (const char* const execution : {"bsp", "async"}) {
    RunOptions options;
    options.execution = ParseExecution(execution);
    options.direction = Direction::kPush;
    const auto program = std::make_shared<TypedProgram<Bfs>>(Bfs{.source = 1});
    const std::unique_ptr<Job> job = session.Prepare(program, options);
    for (const VertexId source : {1u, 1u, 77u, 1u}) {
      Bfs from;
      from.source = source;
      job->SetProgram(std::make_shared<TypedProgram<Bfs>>(from));
      job->Execute();
      Array<std::uint32_t> levels(graph.vertices());
      job->CopyOutput(reinterpret_cast<std::byte*>(levels.data()));
      EXPECT_TRUE(VerifyBfsLevels(graph, source, levels.span()).passed) << execution << " from " << source;
    }
  }
}
TEST_P(ProgramTest, PhasesAndMeasure) { AgreesOnAll(Phases{}); }
TEST_P(ProgramTest, PhasesAndMeasureWhenQuiet) { AgreesOnAll(QuietPhases{}); }
TEST_P(ProgramTest, MeasureWithCombine) { AgreesOnAll(Extremes{}); }
TEST_P(ProgramTest, MeasureOfUpdates) {
  AgreesOnAll(Churn{});
  AgreesOnAll(ChurnInRound{});
}
TEST_P(ProgramTest, EveryRoundWithFewChanges) { AgreesOnAll(Settling{}); }

TEST_P(ProgramTest, ConsumeLosesAndDoublesNothing) {
  AgreesOnAll(Tokens{});
  for (const NamedGraph& input : Inputs()) {
    Session session(input.graph, SharedDevices(GetParam(), kThreads), Divided("contiguous"));
    std::uint64_t before = 0, after = 0;
    for (VertexId v = 0; v < input.graph.vertices(); ++v) before += Tokens{}.InitVertex({v, 0, 0}).fresh;
    const Result<Tokens> result = chatty::Run(session, Tokens{});
    for (const std::uint64_t kept : result.values) after += (kept >> 32) + (kept & 0xffffffffu);
    EXPECT_EQ(after, before) << input.name;
  }
}

TEST_P(ProgramTest, EdgesInEveryDirection) {
  AgreesOnAll(Along<Edges::kOut>{});
  AgreesOnAll(Along<Edges::kIn>{});
  AgreesOnAll(Along<Edges::kBoth>{});
}

TEST_P(ProgramTest, WeightsOfEveryKind) {
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const NamedGraph& input : MixedGraphs(kind)) {
      SCOPED_TRACE(input.name);
      if (kind != WeightKind::kFloat32) Agrees(input.graph, Weighted<std::int32_t>{});
      Agrees(input.graph, Weighted<float>{});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ProgramTest, PriorsThroughASequence) {
  for (const NamedGraph& input : Inputs()) {
    SCOPED_TRACE(input.name);
    const SumThreeRounds<std::uint64_t> first;
    const Following second;
    const auto left = Interpret(input.graph, first);
    const Interpretation<Following> expected = Interpret(input.graph, second, &left.values);
    const std::vector<std::uint64_t> values = expected.Output(second);
    Session session(input.graph, SharedDevices(GetParam(), kThreads), Divided("random"));
    for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
      RunOptions options;
      options.direction = direction;
      Sequence sequence(session, options);
      sequence.Then(first).Then(second);
      const Array<std::uint64_t> output = sequence.Output<Following>();
      ASSERT_EQ(ToVector(output), values);
      EXPECT_EQ(sequence.Round<Following>().index, expected.round.index);
      EXPECT_EQ(sequence.statistics().rounds, left.round.index + expected.round.index);
      EXPECT_EQ(sequence.statistics().phases, 2u);
      EXPECT_EQ(sequence.statistics().devices.size(), session.device_count());
      EXPECT_EQ(sequence.statistics().transport == "none", session.device_count() == 1);
      EXPECT_FALSE(sequence.statistics().transport.empty());
    }
  }
}

template <class P>
void MaxRoundsEndRunsEarly(const Graph& graph, const char* devices, const SessionOptions& divided, const P& program) {
  const std::uint32_t needed = Interpret(graph, program).round.index;
  ASSERT_GT(needed, 3u);
  Session session(graph, SharedDevices(devices, divided.threads), divided);
  for (std::uint32_t rounds = 1; rounds <= needed + 1; ++rounds) {
    const auto expected = Interpret(graph, program, nullptr, rounds);
    RunOptions options;
    options.max_rounds = rounds;
    const auto result = chatty::Run(session, program, options);
    EXPECT_EQ(ToVector(result.values), expected.Output(program)) << rounds;
    EXPECT_EQ(result.statistics.rounds, std::min(rounds, needed));
    EXPECT_EQ(result.statistics.converged, rounds >= needed) << rounds;
    EXPECT_EQ(result.statistics.converged, expected.converged) << rounds;
  }
}
TEST_P(ProgramTest, MaxRoundsEndsARunEarly) {
  const Graph graph = RandomGraph(21, 500, 2.0, WeightKind::kNone, false);
  MaxRoundsEndRunsEarly(graph, GetParam(), Divided("random"), Extreme<std::int32_t, Reduction::kMin>{});
  MaxRoundsEndRunsEarly(graph, GetParam(), Divided("random"), Nearest<std::uint32_t, true>{});
}

TEST_P(ProgramTest, TheSameRunAgainAndAgain) {
  const Graph hubs = HubGraph(31, 2000, WeightKind::kNone, true);
  Agrees(hubs, Extreme<std::int16_t, Reduction::kMin>{}, 0, 8);
  Agrees(hubs, ReachedFrom<std::uint64_t>{}, 0, 8);
  Agrees(hubs, Champion<2>{}, 0, 8);
  Agrees(hubs, Picky{}, 0, 8);
  Agrees(hubs, Nearest<std::uint32_t, false>{}, 0, 8);
  Agrees(hubs, Nearest<std::uint64_t, true>{}, 0, 8);
  Agrees(hubs, NearestByRound<std::uint64_t, false>{}, 0, 8);
  Agrees(hubs, Pulses<Reduction::kMin>{}, 0, 8);
  Agrees(hubs, Tokens{}, 0, 8);
  Agrees(hubs, Phases{}, 0, 8);
}
#endif  // CHATTY_TEST_FEATURES

inline std::string DevicesName(const testing::TestParamInfo<const char*>& info) { return SelectionName(info.param); }

}  // namespace chatty::test
