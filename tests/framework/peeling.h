/// \file
/// Core numbers, for tests of phases.
#pragma once

#include <cstdint>

#include "chatty/core/error.h"
#include "chatty/framework/program.h"

namespace chatty::test {

/// Core numbers by peeling: phases, which are chosen when no vertex is active on any device.
struct Peeling {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  struct Global {
    std::uint32_t least = kInfinity<std::uint32_t>;
  };
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Hints kHints{.measure_when_quiet = true, .continues_while_active = true};

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.degree); }
  CHATTY_FN bool IsActive(const Value& left, const Round<Global>& round) const { return left == round.phase; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>) const { return 1; }
  CHATTY_FN bool UpdateStatus(Value& left, Message gone, Vertex, const Round<Global>& round) const {
    if (left <= round.phase) return false;
    left = left - round.phase > gone ? left - gone : round.phase;
    return left == round.phase;
  }
  CHATTY_FN Global Measure(const Value& left, Vertex, const Round<Global>& round) const {
    return left > round.phase ? Global{left} : Global{};
  }
  CHATTY_FN static Global Combine(const Global& a, const Global& b) { return a.least < b.least ? a : b; }
  Next EndRound(Round<Global>& round) const {
    if (round.active > 0) throw UsageError("EndRound was called although a vertex is active");
    if (round.global.least == Global{}.least) return Next::kStop;
    round.phase = round.global.least;
    return Next::kNextPhase;
  }
};

}  // namespace chatty::test
