/// \file
/// What tests of engines share: EngineTest runs the prebuilt programs through the registry, on a selection of devices and in
/// every configuration, and compares their answers with serial references.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../registered_programs.h"
#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/registry.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "test_inputs.h"

namespace chatty::test {

inline constexpr Direction kDirections[] = {Direction::kAuto, Direction::kPush, Direction::kPull};
inline constexpr const char* kPartitions[] = {"contiguous", "edge-balanced", "random"};

template <class T>
std::vector<T> Copied(std::span<const T> values) {
  return {values.begin(), values.end()};
}

class EngineTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    kind_ = ParseDevices(GetParam()).kind;
    try {
      Programs().Find("bfs", kind_);
    } catch (const CapabilityError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static SessionOptions Divided(const std::string& partition) {
    SessionOptions options;
    options.partition = partition;
    options.threads = 6;  // several threads a device, whatever the machine has
    return options;
  }
  static RunOptions Towards(Direction direction, const std::string& transport = "auto") {
    RunOptions options;
    options.direction = direction;
    options.comm = ParseCommSpec(transport);
    return options;
  }

  /// Every partition and transport once, every direction with each.
  void ForEachConfiguration(const Graph& graph, const std::function<void(Session&, const RunOptions&)>& body) {
    for (const char* partition : kPartitions) {
      Session session(graph, GetParam(), Divided(partition));
      // The transport of choice, and for one of the partitions some that are not.
      for (const std::string transport : {"auto", "staged", "uva", "chattygraph", "ring"}) {
        if (transport != "auto" && (session.device_count() == 1 || std::string(partition) != "random")) continue;
        // Making communicators takes longer than these runs; tests/engines tests NCCL.
        if (transport == "chattygraph" && session.device(0).kind() != DeviceKind::kHost) continue;
        for (const Direction direction : kDirections) {
          if (transport == "staged" && direction != Direction::kAuto) continue;
          SCOPED_TRACE(std::string(partition) + ", transport " + transport + ", direction " +
                       std::to_string(static_cast<int>(direction)));
          body(session, Towards(direction, transport));
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  const RegisteredProgram& Program(std::string_view name) const { return Programs().Find(name, kind_); }

  /// What every run's statistics must satisfy, whatever ran.
  static void CheckStatistics(const RunStatistics& s, const Session& session, const RunOptions& options,
                              std::uint64_t least_bits = 32) {
    EXPECT_EQ(s.execution, "bsp");
    EXPECT_EQ(s.push_rounds + s.pull_rounds, s.rounds);
    EXPECT_TRUE(options.direction != Direction::kPush || s.pull_rounds == 0);
    EXPECT_TRUE(options.direction != Direction::kPull || s.push_rounds == 0);
    EXPECT_TRUE(s.converged);
    EXPECT_GE(s.time_ms, 0.0);
    ASSERT_EQ(s.devices.size(), session.device_count());
    VertexId vertices = 0;
    for (std::size_t d = 0; d < s.devices.size(); ++d) {
      EXPECT_EQ(s.devices[d].device, session.device(d).label());
      EXPECT_EQ(s.devices[d].vertices, session.partition().OwnedCount(static_cast<PartId>(d)));
      EXPECT_GE(s.devices[d].compute_ms, 0.0);
      EXPECT_GE(s.devices[d].communication_ms, 0.0);
      EXPECT_GE(s.devices[d].waiting_ms, 0.0);
      vertices += s.devices[d].vertices;
    }
    EXPECT_EQ(vertices, session.graph().vertices());
    if (session.device_count() == 1) {
      EXPECT_EQ(s.transport, "none");
      EXPECT_TRUE(s.pairs.empty());
    } else if (options.comm.data == "auto") {
      const std::string first = s.transport.substr(0, s.transport.find('+'));
      EXPECT_NE(FindTransport(first), nullptr) << s.transport;
    } else {
      EXPECT_EQ(s.transport, options.comm.data);
    }
    for (const PairStatistics& pair : s.pairs) {
      EXPECT_LT(pair.from, session.device_count());
      EXPECT_LT(pair.to, session.device_count());
      EXPECT_NE(pair.from, pair.to);
      EXPECT_LE(pair.messages, pair.messages_before) << "combining adds nothing";
      if (!options.comm.broadcast && options.comm.data != "ring") {  // which tell all what is meant for one
        EXPECT_GT(pair.messages_before, 0u);
        EXPECT_EQ(pair.messages == 0, pair.bytes == 0);
      }
      EXPECT_GE(pair.bytes * 8, pair.messages * least_bits) << "no payload is under four bytes, unless all are one bit";
    }
  }

  template <class T>
  static std::string FirstDifference(std::span<const T> actual, const Array<T>& expected) {
    if (actual.size() != expected.size()) return "in their number";
    const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
    return a == actual.end() ? "nowhere" : fmt::format("vertex {}: {} instead of {}", a - actual.begin(), *a, *e);
  }

  /// The unique answers: byte for byte, in every configuration.
  template <class T>
  void AnswersAre(const Graph& graph, const char* program, const char* value, const ParameterValues& parameters,
                  const Array<T>& expected, const std::function<void(const RunStatistics&, const RunOptions&)>& check = {}) {
    SCOPED_TRACE(std::string(program) + " " + value);
    ForEachConfiguration(graph, [&](Session& session, const RunOptions& options) {
      const auto job = Program(program).Prepare(session, parameters, value, options);
      const int runs = graph.vertices() < 500 && options.direction == Direction::kAuto ? 2 : 1;
      for (int again = 0; again < runs; ++again) {
        const RunStatistics statistics = job->Execute();
        const ErasedValues output = job->Output();
        ASSERT_TRUE(std::ranges::equal(output.As<T>(), expected.span()))
            << "answers differ: " << FirstDifference(output.As<T>(), expected);
        if (session.partition().name() == "random" && options.direction == Direction::kAuto) {
          const Verdict verdict = Program(program).Verify(graph, parameters, output, &statistics);
          EXPECT_TRUE(verdict) << verdict.message;
        }
        CheckStatistics(statistics, session, options, std::string_view(program) == "bfs" ? 1 : 32);
        if (check) check(statistics, options);
      }
    });
  }

  void CheckBfs(const Graph& graph, VertexId source) {
    const ParameterValues parameters{{"source", std::to_string(source)}};
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    std::uint64_t reached = 0, edges = 0;
    std::uint32_t depth = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      if (levels[v] == kFar) continue;
      ++reached;
      edges += graph.out_degree(v);
      depth = std::max(depth, levels[v]);
    }
    AnswersAre(graph, "bfs", "level", parameters, levels, [&](const RunStatistics& s, const RunOptions& options) {
      EXPECT_EQ(s.rounds, depth + 1);
      EXPECT_EQ(s.phases, 1u);
      EXPECT_EQ(s.vertices_updated, reached - 1) << "every vertex but the source is reached once";
      EXPECT_EQ(s.items, s.wide_rounds > 0 ? reached - 1 : reached) << "and followed once";
      if (options.direction == Direction::kPush) {
        EXPECT_EQ(s.edges_touched, edges) << "a pushed search looks at the edges of what it reaches, once";
      }
    });
    AnswersAre(graph, "bfs", "parent", parameters, SerialBfsParents(graph, source));
  }

  void CheckSssp(const Graph& graph, VertexId source) {
    const ParameterValues parameters{{"source", std::to_string(source)}};
    if (graph.weight_kind() == WeightKind::kFloat32) {
      AnswersAre(graph, "sssp", "distance", parameters, SerialSssp<float>(graph, source));
    } else {
      AnswersAre(graph, "sssp", "distance", parameters, SerialSssp<std::uint32_t>(graph, source));
    }
  }

  void CheckComponents(const Graph& graph) {
    const Array<VertexId> components = SerialComponents(graph);
    AnswersAre(graph, "label_propagation", "component", {}, components);
    for (const char* partition : kPartitions) {
      SCOPED_TRACE(partition);
      Session session(graph, GetParam(), Divided(partition));
      const auto job = Program("cc").Prepare(session, {}, "", {});
      for (int again = 0; again < 3; ++again) {
        const RunStatistics statistics = job->Execute();
        const ErasedValues output = job->Output();
        ASSERT_EQ(Copied(output.As<VertexId>()), test::ToVector(components)) << "cc";
        EXPECT_EQ(statistics.devices.size(), session.device_count());
        EXPECT_EQ(statistics.execution, "operators");
        EXPECT_TRUE(Program("cc").Verify(graph, {}, output, &statistics));
      }
    }
  }

  void CheckPageRank(const Graph& graph) {
    constexpr std::uint32_t kRounds = 12;
    const ParameterValues fixed{{"rounds", std::to_string(kRounds)}, {"tolerance", "0"}};
    const Array<double> expected = SerialPageRank(graph, 0.85f, kRounds).ranks;
    ForEachConfiguration(graph, [&](Session& session, const RunOptions& options) {
      const auto job = Program("pagerank").Prepare(session, fixed, "", options);
      const RunStatistics statistics = job->Execute();
      const ErasedValues output = job->Output();
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_NEAR(output.As<float>()[v], expected[v], 1e-5 * expected[v]) << "pagerank of vertex " << v;
      }
      if (graph.vertices() > 0) {
        EXPECT_EQ(statistics.rounds, kRounds);
        if (options.direction == Direction::kPull) {
          const Verdict verdict = Program("pagerank").Verify(graph, fixed, output, &statistics);
          EXPECT_TRUE(verdict) << verdict.message;
        }
      }
      CheckStatistics(statistics, session, options);

      if (graph.vertices() == 0) return;
      const ParameterValues settled{{"tolerance", "1e-4"}};
      const auto settles = Program("pagerank").Prepare(session, settled, "", options);
      const RunStatistics settled_statistics = settles->Execute();
      EXPECT_EQ(settled_statistics.ended, Ended::kConverged);
      const ErasedValues ranks = settles->Output();
      const Verdict rounds = Program("pagerank").Verify(graph, settled, ranks, &settled_statistics);
      EXPECT_TRUE(rounds) << rounds.message;
      const Verdict residual = VerifyPageRank<float>(graph, ranks.As<float>(), 0.85f, 1e-4);
      EXPECT_TRUE(residual) << residual.message;

      const ParameterValues residuals{{"tolerance", "1e-3"}};
      const auto pushed = Program("pagerank_push").Prepare(session, residuals, "", options);
      const RunStatistics push_statistics = pushed->Execute();
      const Verdict verdict = Program("pagerank_push").Verify(graph, residuals, pushed->Output(), &push_statistics);
      EXPECT_TRUE(verdict) << verdict.message;
      CheckStatistics(push_statistics, session, options);
    });
  }

  void CheckAll(const Graph& graph, VertexId source) {
    if (graph.vertices() > 0) {
      CheckBfs(graph, source);
      CheckSssp(graph, source);
    }
    CheckComponents(graph);
    CheckPageRank(graph);
  }

  DeviceKind kind_ = DeviceKind::kHost;
};

}  // namespace chatty::test
