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

#include "../prebuilt_programs.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "feature_programs.h"
#include "interpreter.h"
#include "reduction_programs.h"
#include "test_inputs.h"

#ifndef CHATTY_TEST_REDUCTIONS
#define CHATTY_TEST_REDUCTIONS 1
#endif
#ifndef CHATTY_TEST_FEATURES
#define CHATTY_TEST_FEATURES 1
#endif

namespace chatty::test {

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
        if (result.statistics.fused_steps == 0) {
          EXPECT_EQ(result.round.index, expected.round.index);
          EXPECT_EQ(result.statistics.rounds, expected.round.index);
        } else {  // rounds are not counted one by one
          EXPECT_NE(direction, Direction::kPull);
          EXPECT_GT(result.statistics.rounds, 0u);
        }
        EXPECT_EQ(result.round.phase, expected.round.phase);
        EXPECT_EQ(result.round.active, expected.round.active);
        EXPECT_EQ(result.round.vertices, graph.vertices());
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
  AgreesOnAll(Pulses<Reduction::kMax>{});
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
