/// \file
/// Programs for program_test_body.h: one for each reduction, of every width.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "chatty/framework/run.h"

namespace chatty::test {

CHATTY_FN std::uint32_t Mix(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>(x >> 32);
}

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

/// Messages of M of which all of a round are equal, so that the first will do.
template <class M>
struct FirstVisit {
  using Value = std::uint32_t;
  using Message = M;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.any_message_suffices = true};
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id % 97 == 0 ? 0 : ~0u; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value == 0; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const {
    return static_cast<M>(round.index + 1);
  }
  CHATTY_FN bool Filter(const Value& value) const { return value == ~0u; }
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

/// kCount every round: LDBC's label propagation, which needs the counts of equal messages; in stationary rounds most
/// vertices are left out.
template <class Label, bool kAgain>
struct CountedCommunities {
  using Value = Label;
  using Message = Label;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Hints kHints{.stationary = kAgain};
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

/// kCount on message, with Share and Filter both ways: every message counts, and each value comes once.
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
  CHATTY_FN bool Filter(const Value& v) const { return v.updates < 3; }
  CHATTY_FN bool Filter(const Value& v, const Message& m) const {
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

}  // namespace chatty::test
