/// \file
/// Programs whose values improve for ever: a fused step has an end nevertheless, after which a stop ends the run. Includers
/// instantiate the tests over devices.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/device.h"
#include "chatty/core/macros.h"
#include "chatty/framework/run.h"
#include "test_inputs.h"

namespace chatty::test {

/// What the programs have in common: a value that passes kFar sets *begun.
struct NeverDone {
  using Value = std::int64_t;
  using Message = std::int64_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Value kFar = -1000;
  std::uint32_t* begun = nullptr;  ///< page-locked memory

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == 0 ? 0 : 1; }
  CHATTY_FN bool IsActive(const Value& v) const { return v == 0; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<>) const { return v - 1; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (m >= v) return false;
    v = m;
    if (v == kFar) detail::StoreRelaxed(begun, 1u);
    return true;
  }
};
/// Below the first limit for ever.
struct NeverDoneInOrder : NeverDone {
  CHATTY_FN double Priority(const Value& v) const { return static_cast<double>(v); }
};

struct EndlessCase {
  const char* name;
  const char* devices;
  int threads;  ///< of host devices together
  Execution execution;
};
inline std::string EndlessName(const testing::TestParamInfo<EndlessCase>& info) { return info.param.name; }
inline void PrintTo(const EndlessCase& which, std::ostream* out) { *out << which.name; }

class EndlessTest : public testing::TestWithParam<EndlessCase> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam().devices); !why.empty()) GTEST_SKIP() << why;
  }

  /// Runs P on a graph until it is stopped in the middle of what never ends, and again.
  template <class P>
  static void StopsIn(const Graph& graph, double delta) {
    SessionOptions in_pieces;
    in_pieces.partition = "contiguous";
    Session session(graph, OpenDevices(ParseDevices(GetParam().devices), GetParam().threads), in_pieces);
    const Pinned<std::uint32_t> begun(session.device(0), 1);
    P program;
    program.begun = begun.data();
    for (int run = 0; run < 2; ++run) {
      begun[0] = 0;
      std::stop_source stop;
      RunOptions options;
      options.execution = GetParam().execution;
      options.delta = delta;
      options.stop = stop.get_token();
      const std::jthread stopper([&](const std::stop_token& over) {
        while (detail::LoadRelaxed(begun.data()) == 0 && !over.stop_requested()) std::this_thread::yield();
        stop.request_stop();
      });
      const auto result = chatty::Run(session, program, options);
      EXPECT_EQ(result.statistics.ended, Ended::kStopped);
      EXPECT_GT(result.statistics.fused_steps, 0u) << "rounds, which have an end";
      std::int64_t least = 0;
      for (VertexId v = 0; v < graph.vertices(); ++v) least = std::min(least, result.values[v]);
      EXPECT_LE(least, NeverDone::kFar);
    }
  }

  /// A cycle, of which each device has a piece, with chords: some vertices have several edges.
  static Graph Cycle(VertexId vertices, VertexId chords) {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v < vertices; ++v) edges.push_back({v, (v + 1) % vertices});
    for (VertexId v = 0; v < chords; ++v) edges.push_back({v, (7 * v + 3) % vertices});
    return MakeGraph(vertices, edges);
  }
};

TEST_P(EndlessTest, AStopEndsAChain) {
  StopsIn<NeverDone>(Cycle(60, 0), kAutoDelta);
  StopsIn<NeverDoneInOrder>(Cycle(60, 0), 4);
}

TEST_P(EndlessTest, AStopEndsManyItems) {
  StopsIn<NeverDone>(Cycle(3000, 2000), kAutoDelta);
  StopsIn<NeverDoneInOrder>(Cycle(3000, 2000), 4);
}

}  // namespace chatty::test
