// Both engines over every transport: the same answers, whatever carries them. On devices that the including file chooses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  const Graph graph = RandomGraph(31, 3000, 6.0, WeightKind::kInt32, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  for (const RegisteredProgram* any : Programs().All()) {
    if (any->safety() == "operators" || any->name() == "pagerank_push") continue;  // the one talks otherwise; see below
    const RegisteredProgram& program = Programs().Find(any->name(), kKind);
    const ParameterValues parameters = From(program, graph, 17);
    const AsyncAnswer expected = RunBy("bsp", session, program, parameters, "staged");
    for (const std::string_view path : PathsFor(kKind)) {
      for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
        for (const char* execution : {"bsp", "async"}) {
          if (execution == std::string_view("async") && (program.safety() != "monotone" || direction != Direction::kAuto)) {
            continue;
          }
          SCOPED_TRACE(testing::Message() << execution << " " << program.name() << " over " << path << ", direction "
                                          << static_cast<int>(direction));
          RunOptions options;
          options.execution = execution;
          options.transport = path;
          options.direction = direction;
          options.timeout = std::chrono::seconds(30);
          std::unique_ptr<RegisteredJob> job;
          try {
            job = program.Prepare(session, parameters, "", options);
          } catch (const UsageError&) {
            continue;  // it cannot take this direction, or run asynchronously
          }
          for (int run = 0; run < 2; ++run) {  // boxes that a run leaves behind are the next one's
            const RunStatistics statistics = job->Execute();
            EXPECT_GT(statistics.pairs.size(), 0u);
            const ErasedValues values = job->Output();
            if (program.Verify(graph, parameters, expected.values, nullptr).passed && values.type != ScalarType::kFloat64 &&
                values.type != ScalarType::kFloat32) {
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
    options.links = mask;
    options.explain = true;
    const auto job = program.Prepare(session, {{"source", "3"}}, "", options);
    const RunStatistics statistics = job->Execute();
    EXPECT_TRUE(SameBytes(job->Output(), expected.values)) << mask;
    ASSERT_GT(statistics.boxes.size(), 0u);
    for (const BoxRecord& box : statistics.boxes) {
      EXPECT_NE(FindTransport(box.path), nullptr);
      EXPECT_GT(box.entries, 0u);
      EXPECT_GT(box.bytes, 0u);
      EXPECT_GT(box.measured_us, 0.0);
      EXPECT_TRUE(std::isfinite(box.predicted_us)) << box.path << " from " << box.from << " to " << box.to;
    }
  }
}

TEST_P(Comm, WhatIsRecordedIsWhatTravelled) {
  const Graph graph = RandomGraph(33, 2000, 6.0, WeightKind::kNone, true);
  Session session(graph, std::move(devices_), DividedBy("random"));
  const RegisteredProgram& program = Programs().Find("bfs", kKind);
  for (const std::string_view path : PathsFor(kKind)) {
    RunOptions options;
    options.transport = path;
    options.explain = true;
    const auto job = program.Prepare(session, {{"source", "3"}}, "", options);
    const RunStatistics statistics = job->Execute();
    std::uint64_t boxes = 0, pairs = 0;
    for (const BoxRecord& box : statistics.boxes) boxes += box.bytes;
    for (const PairStatistics& pair : statistics.pairs) pairs += pair.bytes;
    EXPECT_EQ(boxes, pairs) << path;
    options.explain = false;
    const auto plain = program.Prepare(session, {{"source", "3"}}, "", options);
    EXPECT_TRUE(plain->Execute().boxes.empty());
  }
}

}  // namespace chatty::test
