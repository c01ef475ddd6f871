// Both engines over every transport: the same answers, whatever carries them. On devices that the including file chooses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../sanitized.h"
#include "chatty/comm/checked_transport.h"
#include "chatty/comm/selector.h"
#include "engines.h"

namespace chatty::test {

/// Devices that all differ, or none where the machine has not so many.
std::vector<std::unique_ptr<Device>> MakeDifferentDevices(int count);

inline std::vector<std::string_view> PathsFor(DeviceKind kind) {
  std::vector<std::string_view> names{"auto", "chattygraph"};
  for (const TransportInfo& info : Transports()) {
    if (kind == DeviceKind::kHost ? info.host : info.cuda) names.push_back(info.name);
  }
  return names;
}

class Comm : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    devices_ = MakeDifferentDevices(GetParam());
    if (devices_.empty()) GTEST_SKIP() << "needs " << GetParam() << " devices that differ";
  }
  std::vector<std::unique_ptr<Device>> devices_;
};

TEST_P(Comm, AnswersAreTheSameOverEveryTransport) {
  // Thousands of runs: under a sanitizer, of a smaller graph.
  const Graph graph = RandomGraph(31, CHATTY_TEST_SANITIZED ? 400 : 1500, 6.0, WeightKind::kInt32, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  for (const RegisteredProgram* any : Programs().All()) {
    if (any->safety() == "operators" || any->name() == "pagerank_push") continue;  // the one talks otherwise; see below
    if (NeedsData(*any)) continue;                                                 // none is given here
    const RegisteredProgram& program = Programs().Find(any->name(), kKind);
    const ParameterValues parameters = From(program, graph, 17);
    const AsyncAnswer expected = RunBy("bsp", session, program, parameters, "staged");
    const bool unique = program.Verify(graph, parameters, expected.values, nullptr).passed &&
                        expected.values.type != ScalarType::kFloat64 && expected.values.type != ScalarType::kFloat32;
    for (const std::string_view path : PathsFor(kKind)) {
      for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
        for (const char* execution : {"bsp", "async"}) {
          const bool async = execution == std::string_view("async");
          if (async && (program.safety() != "monotone" || direction != Direction::kAuto)) continue;
          SCOPED_TRACE(testing::Message() << execution << " " << program.name() << " over " << path << ", direction "
                                          << static_cast<int>(direction));
          RunOptions options;
          options.execution = ParseExecution(execution);
          options.comm = ParseCommSpec(path);
          options.direction = direction;
          options.timeout = std::chrono::seconds(30);
          std::unique_ptr<RegisteredJob> job;
          try {
            job = program.Prepare(session, parameters, "", options);
          } catch (const UsageError&) {
            continue;  // it cannot take this direction, or run asynchronously
          }
          for (int run = 0; run < 2; ++run) {  // buffers that a run leaves behind are the next one's
            const RunStatistics statistics = job->Execute();
            EXPECT_GT(statistics.pairs.size(), 0u);
            const ErasedValues values = job->Output();
            if (unique) {
              ASSERT_TRUE(SameBytes(values, expected.values));
            } else {
              const Verdict verdict = program.Verify(graph, parameters, values, &statistics);
              ASSERT_TRUE(verdict.passed) << verdict.message;
            }
          }
        }
      }
    }
  }
}

TEST_P(Comm, EnginesKeepTheContractOfTransports) {
  const Graph graph = RandomGraph(36, CHATTY_TEST_SANITIZED ? 400 : 2000, 6.0, WeightKind::kInt32, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  for (const char* name : {"bfs", "sssp", "label_propagation", "pagerank", "kcore"}) {
    const RegisteredProgram& program = Programs().Find(name, kKind);
    const ParameterValues parameters = From(program, graph, 17);
    for (const std::string_view path : PathsFor(kKind)) {
      for (const char* execution : {"bsp", "async"}) {
        if (execution == std::string_view("async") && program.safety() != "monotone") continue;
        SCOPED_TRACE(testing::Message() << execution << " " << name << " over " << path);
        RunOptions options;
        options.execution = ParseExecution(execution);
        options.comm = ParseCommSpec(path);
        options.timeout = std::chrono::seconds(30);
        options.transport_factory = [path](std::span<Device* const> devices, const PairBytesTable& capacities,
                                           const TransportOptions& made) -> std::unique_ptr<Transport> {
          const std::string_view named = FindTransport(path) == nullptr ? "auto" : path;
          return std::make_unique<CheckedTransport>(MakeTransport(named, devices, capacities, made), capacities, made);
        };
        std::unique_ptr<RegisteredJob> job;
        try {
          job = program.Prepare(session, parameters, "", options);
        } catch (const UsageError&) {
          continue;  // a path that needs rounds
        }
        for (int run = 0; run < 2; ++run) {
          const RunStatistics statistics = job->Execute();
          const Verdict verdict = program.Verify(graph, parameters, job->Output(), &statistics);
          EXPECT_TRUE(verdict.passed) << verdict.message;
        }
      }
    }
  }
}

TEST_P(Comm, MasksChangeTheWayAndNotTheAnswer) {
  const Graph graph = RandomGraph(32, 2000, 6.0, WeightKind::kNone, true);
  const auto count = static_cast<int>(devices_.size());
  Session session(graph, std::move(devices_), DividedBy("random"));
  const RegisteredProgram& program = Programs().Find("bfs", kKind);
  const AsyncAnswer expected = RunBy("bsp", session, program, {{"source", "3"}}, "staged");
  std::vector<std::string> masks{"all", "none"};
  if (count >= 4) masks.emplace_back("pairs {0,1}{2,3}");
  for (const std::string& mask : masks) {
    RunOptions options;
    options.links = LinkMask::Parse(mask, static_cast<std::size_t>(count));
    options.explain = true;
    const auto job = program.Prepare(session, {{"source", "3"}}, "", options);
    const RunStatistics statistics = job->Execute();
    EXPECT_TRUE(SameBytes(job->Output(), expected.values)) << mask;
    ASSERT_GT(statistics.buffers.size(), 0u);
    for (const BufferRecord& buffer : statistics.buffers) {
      EXPECT_NE(FindTransport(buffer.path), nullptr);
      EXPECT_GT(buffer.entries, 0u);
      EXPECT_GT(buffer.bytes, 0u);
      EXPECT_GT(buffer.measured_us, 0.0);
      EXPECT_TRUE(std::isfinite(buffer.predicted_us)) << buffer.path << " from " << buffer.from << " to " << buffer.to;
    }
  }
}

TEST_P(Comm, WhatManyShareIsToldToAllWhereThatIsFaster) {
  if (kKind != DeviceKind::kHost) GTEST_SKIP() << "between GPUs it depends on what the machine measured";
  const auto count = static_cast<PartId>(devices_.size());
  const auto broadcasts = [&](Session& session, const RegisteredProgram& program, const Graph& graph) {
    RunOptions options;
    options.direction = Direction::kPull;
    options.explain = true;
    const auto job = program.Prepare(session, From(program, graph, 17), "", options);
    const RunStatistics statistics = job->Execute();
    const Verdict verdict = program.Verify(graph, From(program, graph, 17), job->Output(), &statistics);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    std::uint64_t buffers = 0, pairs = 0, told = 0;
    for (const BufferRecord& buffer : statistics.buffers) {
      buffers += buffer.bytes;
      told += buffer.broadcast ? 1 : 0;
    }
    for (const PairStatistics& pair : statistics.pairs) pairs += pair.bytes;
    EXPECT_EQ(buffers, pairs);
    return told;
  };
  const Graph dense = RandomGraph(34, 12000, 24.0, WeightKind::kNone, true);  // each vertex has neighbours on all devices
  Session session(dense, std::move(devices_), DividedBy("random"));
  for (const char* const name : {"pagerank", "bfs", "label_propagation"}) {
    const std::uint64_t told = broadcasts(session, Programs().Find(name, kKind), dense);
    if (count > 2) {
      // A search tells bits, which are packed for each as fast as for all.
      EXPECT_TRUE(told > 0 || std::string_view(name) == "bfs") << name;
    } else {
      EXPECT_EQ(told, 0u) << name << ": between two a buffer for all is a buffer for the other";
    }
  }
  if (count == 2) return;
  const Graph line = GridGraph(4000, 1);  // each border is between two
  Session neighbours(line, MakeDifferentDevices(static_cast<int>(count)), DividedBy("contiguous"));
  EXPECT_EQ(broadcasts(neighbours, Programs().Find("pagerank", kKind), line), 0u);
}

/// Says of what device 1 sends, and of one buffer of device 2's, that it is copied: their hosts wait for lengths, and those
/// of others in the same round do not.
class SometimesInPlace final : public Transport {
 public:
  explicit SometimesInPlace(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return inner_->name(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    inner_->Post(from, to, bytes, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return inner_->Receive(at, from, bytes, epoch);
  }
  bool IsZeroCopyReceive(PartId from, PartId to) const override {
    return from != 1 && (from != 2 || to != 0) && inner_->IsZeroCopyReceive(from, to);
  }
  void Abort() noexcept override { inner_->Abort(); }
  bool reusable() const override { return inner_->reusable(); }

 private:
  std::unique_ptr<Transport> inner_;
};

TEST_P(Comm, WhatIsReadInPlaceIsCountedAsWhatIsCopied) {
  const Graph graph = RandomGraph(34, CHATTY_TEST_SANITIZED ? 400 : 3000, 6.0, WeightKind::kInt32, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  for (const char* name : {"bfs", "sssp", "label_propagation", "pagerank"}) {
    const RegisteredProgram& program = Programs().Find(name, kKind);
    const ParameterValues parameters = From(program, graph, 17);
    for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
      if (direction == Direction::kPush && name == std::string_view("pagerank")) continue;
      const auto run = [&](std::string_view path) {
        RunOptions options;
        if (path != "some of them") options.comm = ParseCommSpec(path);
        options.direction = direction;
        options.timeout = std::chrono::seconds(30);
        if (path == "some of them") {
          options.explain = true;
          options.transport_factory = [](std::span<Device* const> devices, const PairBytesTable& capacities,
                                         const TransportOptions& made) -> std::unique_ptr<Transport> {
            return std::make_unique<SometimesInPlace>(MakeTransport("uva", devices, capacities, made));
          };
        }
        const auto job = program.Prepare(session, parameters, "", options);
        const RunStatistics statistics = job->Execute();
        const Verdict verdict = program.Verify(graph, parameters, job->Output(), &statistics);
        EXPECT_TRUE(verdict.passed) << verdict.message;
        return statistics;
      };
      const RunStatistics copied = run("staged");
      for (const std::string_view path : {"uva", "p2p-direct", "some of them"}) {
        SCOPED_TRACE(testing::Message() << name << " over " << path << ", direction " << static_cast<int>(direction));
        const RunStatistics in_place = run(path);
        EXPECT_EQ(in_place.rounds, copied.rounds);
        EXPECT_EQ(in_place.buffers.empty(), path != "some of them");
        for (const BufferRecord& buffer : in_place.buffers)
          EXPECT_GT(buffer.measured_us, 0) << buffer.encoding << " from " << buffer.from;
        ASSERT_EQ(in_place.pairs.size(), copied.pairs.size());
        for (std::size_t i = 0; i < copied.pairs.size(); ++i) {
          EXPECT_EQ(in_place.pairs[i].messages, copied.pairs[i].messages);
          EXPECT_EQ(in_place.pairs[i].messages_before, copied.pairs[i].messages_before);
          EXPECT_EQ(in_place.pairs[i].bytes, copied.pairs[i].bytes);
          EXPECT_GT(copied.pairs[i].bytes, 0u);
        }
      }
    }
  }
}

/// A user's transport: no more than messages to pairs, through host memory that all devices address.
class PairsOnly final : public Transport {
 public:
  PairsOnly(std::span<Device* const> devices, const PairBytesTable& capacities) : devices_(devices.begin(), devices.end()) {
    for (std::size_t from = 0; from < devices.size(); ++from) {
      for (std::size_t to = 0; to < devices.size(); ++to) {
        for (std::uint32_t slot = 0; slot < kMinTransportSlots; ++slot) {
          buffers_.emplace_back(*devices[from], capacities[from][to] + kAlignment);
        }
      }
    }
  }
  std::string_view name() const override { return "pairs-only"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    void* at = buffers_[(from * devices_.size() + to) * kMinTransportSlots + epoch % kMinTransportSlots].data();
    std::size_t room = 2 * kAlignment;
    return static_cast<std::byte*>(std::align(kAlignment, kAlignment, at, room));
  }
  void Post(PartId from, PartId, std::size_t, std::uint64_t) override { devices_[from]->stream().Synchronize(); }
  const std::byte* Receive(PartId at, PartId from, std::size_t, std::uint64_t epoch) override {
    return Outbox(from, at, epoch);
  }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::vector<Device*> devices_;
  std::vector<Pinned<std::byte>> buffers_;  // [from][to][slot]
};

TEST_P(Comm, ATransportOfPairsRunsEveryProgram) {
  const Graph graph = RandomGraph(38, CHATTY_TEST_SANITIZED ? 300 : 800, 6.0, WeightKind::kInt32, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  for (const RegisteredProgram* any : Programs().All()) {
    if (NeedsData(*any)) continue;
    const RegisteredProgram& program = Programs().Find(any->name(), kKind);
    const ParameterValues parameters = From(program, graph, 17);
    for (const bool broadcast : {false, true}) {
      for (const Execution execution : {Execution::kBsp, Execution::kAsync}) {
        if (execution == Execution::kAsync && (broadcast || program.safety() != "monotone")) continue;
        SCOPED_TRACE(testing::Message() << ExecutionName(execution) << " " << program.name()
                                        << ", by broadcasts: " << broadcast);
        RunOptions options;
        options.execution = program.safety() == "operators" ? Execution::kAuto : execution;
        options.comm.broadcast = broadcast;
        options.timeout = std::chrono::seconds(30);
        options.transport_factory = [](std::span<Device* const> devices, const PairBytesTable& capacities,
                                       const TransportOptions& made) -> std::unique_ptr<Transport> {
          return std::make_unique<CheckedTransport>(std::make_unique<PairsOnly>(devices, capacities), capacities, made);
        };
        const auto job = program.Prepare(session, parameters, "", options);
        for (int run = 0; run < 2; ++run) {
          const RunStatistics statistics = job->Execute();
          EXPECT_EQ(statistics.transport, "pairs-only");
          const Verdict verdict = program.Verify(graph, parameters, job->Output(), &statistics);
          EXPECT_TRUE(verdict.passed) << verdict.message;
        }
      }
    }
  }
}

TEST_P(Comm, WhatIsRecordedIsWhatTravelled) {
  const Graph graph = RandomGraph(33, 2000, 6.0, WeightKind::kNone, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  struct Case {
    const char *program, *execution;
  };
  for (const Case& c : {Case{"bfs", "bsp"}, Case{"bfs", "async"}, Case{"triangles", "bsp"}}) {
    const RegisteredProgram& program = Programs().Find(c.program, kKind);
    const bool operators = program.safety() == "operators";
    for (const std::string_view path : PathsFor(kKind)) {
      SCOPED_TRACE(testing::Message() << c.program << " by " << c.execution << " over " << path);
      RunOptions options;
      options.comm = ParseCommSpec(path);
      options.execution = ParseExecution(c.execution);
      options.explain = true;
      options.timeout = std::chrono::seconds(30);
      std::unique_ptr<RegisteredJob> job;
      try {
        job = program.Prepare(session, From(program, graph, 3), "", options);
      } catch (const UsageError&) {
        EXPECT_NE(std::string_view(c.execution), "bsp");  // a path that needs rounds
        continue;
      }
      for (int again = 0; again < 2; ++again) {
        const RunStatistics statistics = job->Execute();
        std::uint64_t buffers = 0, pairs = 0, messages = 0;
        for (const BufferRecord& buffer : statistics.buffers) {
          buffers += buffer.bytes;
          EXPECT_NE(FindTransport(buffer.path), nullptr);
          EXPECT_EQ(buffer.encoding == "payload", operators);
          EXPECT_EQ(buffer.measured_us > 0, statistics.execution != "async");
        }
        for (const PairStatistics& pair : statistics.pairs) {
          pairs += pair.bytes;
          messages += pair.messages;
          EXPECT_NE(pair.from, pair.to);
        }
        EXPECT_GT(buffers, 0u);
        EXPECT_EQ(buffers, pairs);
        if (operators) {
          EXPECT_EQ(statistics.buffers.size(), messages) << "a payload is a message";
          EXPECT_GT(messages, statistics.pairs.size()) << "degrees and rows are exchanged apart";
        }
      }
      options.explain = false;
      const auto plain = program.Prepare(session, From(program, graph, 3), "", options);
      EXPECT_TRUE(plain->Execute().buffers.empty());
    }
  }
}

}  // namespace chatty::test
