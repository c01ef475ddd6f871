// One device that takes its messages late: the others go on, and the answer is right. On devices that the including file
// chooses.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "chatty/comm/checked_transport.h"
#include "engines.h"

namespace chatty::test {

/// What a slow device waits for before it returns a buffer's credit.
struct SlowPeer {
  PartId slow = 0;
  std::uint64_t others = 0;  ///< buffers that the other devices must have received from each other
  int yields = 0;            ///< and as often it gives way to other threads
};

/// A transport that keeps the slow device in Receive.
class LateTransport final : public Transport {
 public:
  LateTransport(std::unique_ptr<Transport> inner, const SlowPeer& late) : inner_(std::move(inner)), late_(late) {}
  std::string_view name() const override { return inner_->name(); }
  std::uint32_t slots() const override { return inner_->slots(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    inner_->Post(from, to, bytes, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (at == late_.slow) {
      for (int i = 0; i < late_.yields; ++i) std::this_thread::yield();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return others_ >= late_.others || aborted_; });
    } else if (from != late_.slow) {
      const std::lock_guard lock(mutex_);
      ++others_;
      changed_.notify_all();
    }
    return inner_->Receive(at, from, bytes, epoch);
  }
  void Abort() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      aborted_ = true;
    }
    changed_.notify_all();
    inner_->Abort();
  }
  bool reusable() const override { return !aborted_ && inner_->reusable(); }

 private:
  std::unique_ptr<Transport> inner_;
  const SlowPeer late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t others_ = 0;
  bool aborted_ = false;
};

inline RunOptions WithSlowPeer(const SlowPeer& late, std::uint32_t slots) {
  RunOptions options;
  options.execution = Execution::kAsync;
  options.slots = slots;
  options.timeout = std::chrono::seconds(60);  // bounds a hang
  options.transport_factory = [late](std::span<Device* const> devices, const PairBytesTable& capacities,
                                     const TransportOptions& made) -> std::unique_ptr<Transport> {
    auto checked = std::make_unique<CheckedTransport>(MakeTransport("auto", devices, capacities, made), capacities, made);
    return std::make_unique<LateTransport>(std::move(checked), late);
  };
  return options;
}

inline std::string DevicesNamed(int count) {
  return std::string(kKind == DeviceKind::kHost ? "host:" : "cuda:") + std::to_string(count);
}

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
          const auto job = program.Prepare(session, parameters, "", WithSlowPeer({slow, 0, 20}, slots));
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
