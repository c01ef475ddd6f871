// One device that takes its messages late: the others go on, and the answer is right. On devices that the including file
// chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slow_peer.h"

namespace chatty::test {

class SlowPeers : public testing::TestWithParam<int> {
 protected:
  int devices() const { return GetParam(); }
};

// A path around all devices but the slow one: each hop needs the hop before. Each vertex of the path also sends to the slow
// device, whose slots are soon full. The slow device takes its first buffer only when most hops have been made. An engine
// that waits for all peers' slots would hang.
TEST_P(SlowPeers, HoldUpNobodyElse) {
  if (devices() < 3) GTEST_SKIP() << "there is no pair of others";
  constexpr VertexId kLength = 120;
  const auto count = static_cast<PartId>(devices());
  for (PartId slow = 0; slow < count; ++slow) {
    std::vector<PartId> fast;
    for (PartId d = 0; d < count; ++d) {
      if (d != slow) fast.push_back(d);
    }
    const auto hop = [&](VertexId t) { return fast[t % fast.size()] * kLength + t / static_cast<VertexId>(fast.size()); };
    std::vector<TestEdge> edges;
    for (VertexId t = 0; t < kLength; ++t) {
      edges.push_back({hop(t), VertexId{slow} * kLength + t, 1});
      if (t + 1 < kLength) edges.push_back({hop(t), hop(t + 1), 1});
    }
    const Graph graph = MakeGraph(count * kLength, edges, WeightKind::kInt32);
    Session session(graph, MakeDevices(DevicesNamed(devices())), DividedBy("contiguous"));
    for (const char* name : {"bfs", "sssp", "label_propagation"}) {
      const RegisteredProgram& program = Programs().Find(name, kKind);
      const ParameterValues parameters = From(program, graph, hop(0));
      const AsyncAnswer expected = RunBy("bsp", session, program, parameters);
      for (const std::uint32_t slots : {2u, 5u}) {
        SCOPED_TRACE(testing::Message() << name << ", slow " << slow << ", " << slots << " slots");
        const auto job = program.Prepare(session, parameters, "", WithSlowPeer({slow, kLength / 2, 0}, slots));
        EXPECT_TRUE(job->Execute().converged);
        EXPECT_TRUE(SameBytes(job->Output(), expected.values));
      }
    }
  }
}

// Messages that wait for a slow device's slots are neither lost nor sent to another device, whichever encodings they have.
TEST_P(SlowPeers, LoseNothing) {
  for (const bool symmetric : {true, false}) {
    const Graph graph = RandomGraph(91, 800, 5.0, WeightKind::kInt32, symmetric);
    Session session(graph, MakeDevices(DevicesNamed(devices())), DividedBy("random"));
    for (const char* name : {"bfs", "sssp", "label_propagation"}) {
      const RegisteredProgram& program = Programs().Find(name, kKind);
      const ParameterValues parameters = From(program, graph, 3);
      const AsyncAnswer expected = RunBy("bsp", session, program, parameters);
      for (PartId slow = 0; slow < static_cast<PartId>(devices()); ++slow) {
        for (const std::uint32_t slots : {2u, 3u}) {
          SCOPED_TRACE(testing::Message() << name << ", slow " << slow << ", " << slots << " slots");
          RunOptions options = WithSlowPeer({slow, 0, 20}, slots);
          if (slots == 3) options.delta = 30;  // with an order, for programs that have one
          const auto job = program.Prepare(session, parameters, "", options);
          for (int run = 0; run < 3; ++run) {
            const RunStatistics statistics = job->Execute();
            EXPECT_TRUE(statistics.converged);
            EXPECT_TRUE(SameBytes(job->Output(), expected.values)) << "run " << run;
            for (const PairStatistics& pair : statistics.pairs) {
              EXPECT_LE(pair.messages, pair.messages_before) << "each message is sent once";
            }
          }
        }
      }
    }
  }
}

}  // namespace chatty::test
