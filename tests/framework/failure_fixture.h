/// \file
/// Devices, a graph and a program that throws, for tests of what goes wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "chatty/framework/run.h"
#include "test_inputs.h"

namespace chatty::test {

inline constexpr const char* kSelections[] = {"host:1", "host:2", "host:3", "host:8"};

inline SessionOptions Options() {
  SessionOptions options;
  options.partition = "random";
  options.threads = 6;
  return options;
}

inline Graph MadeGraph() { return HubGraph(51, 1500, WeightKind::kInt32, true); }

/// Spreads least ids, and throws where and when it is told to. Programs hold plain data: the switch is outside.
inline std::atomic<std::int64_t> g_updates_until_throw{-1};
inline std::atomic<std::int64_t> g_rounds_until_throw{-1};
struct Moody {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (g_updates_until_throw >= 0 && g_updates_until_throw-- == 0) throw std::runtime_error("UpdateStatus is in a mood");
    if (m >= value) return false;
    value = m;
    return true;
  }
  Next EndRound(Round<>&) const {
    if (g_rounds_until_throw >= 0 && g_rounds_until_throw-- == 0) throw std::runtime_error("EndRound is in a mood");
    return Next::kContinue;
  }
};

}  // namespace chatty::test
