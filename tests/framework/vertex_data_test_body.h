/// \file
/// Data a vertex from outside: what members see of them, whatever the devices, the partition, the direction and the engine;
/// and personalised PageRank, which takes them. Includers instantiate VertexDataTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/hash.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/partition/partition.h"
#include "chatty/programs/reference.h"
#include "test_inputs.h"

namespace chatty::test {

/// The least sum of delays on the way from a start: all three members take data.
struct Delays {
  struct Data {
    std::int32_t start = -1;  ///< below 0: none
    std::uint32_t delay = 1;
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr auto kVertexData =
      std::make_tuple(VertexDatum{"start", &Data::start, "where to start", Presence::kOptional, Missing::kDefault},
                      VertexDatum{"delay", &Data::delay, "what a vertex adds", Presence::kRequired});

  CHATTY_FN Value InitVertex(Vertex, const Data& data) const {
    return data.start < 0 ? kInfinity<Value> : static_cast<Value>(data.start);
  }
  CHATTY_FN bool IsActive(const Value&, const Round<>&, const Data& data) const { return data.start >= 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&, const Data& data) const {
    if (m == kInfinity<Message> || m + data.delay >= value) return false;
    value = m + data.delay;
    return true;
  }
};
/// The same in buckets.
struct OrderedDelays : Delays {
  CHATTY_FN std::uint32_t Priority(const Value& value) const { return value; }
};

/// A search whose values are four times the level and a tag of the vertex: rounds run in place where they can.
struct TaggedLevels {
  struct Data {
    std::uint32_t tag = 0;  ///< below 4
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.any_message_suffices = true};
  static constexpr auto kVertexData = std::make_tuple(VertexDatum{"tag", &Data::tag, "below 4", Presence::kRequired});
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v, const Data& data) const { return v.id == source ? data.tag : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value != kInfinity<Value>; }
  CHATTY_FN bool Filter(const Value& value) const { return value == kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value / 4 + 1; }
  CHATTY_FN bool UpdateStatus(Value& value, Message level, Vertex, const Round<>&, const Data& data) const {
    if (value / 4 <= level) return false;
    value = 4 * level + data.tag;
    return true;
  }
};

/// Rounds of sums in which each vertex has a number of its own: all take part, with rows in tiles and orders or without.
struct AddedSums {
  struct Data {
    std::int64_t added = 0;
  };
  using Value = std::uint32_t;
  using Shared = std::uint32_t;
  using Message = std::uint64_t;
  using Global = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr auto kVertexData = std::make_tuple(VertexDatum{"added", &Data::added, "a number", Presence::kRequired});

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id + 1); }
  CHATTY_FN Shared Share(const Value& value, Vertex) const { return value + 1; }
  CHATTY_FN Message ComputeScatter(const Shared& shared, Edge<>, const Round<Global>&) const { return shared; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<Global>& round, const Data& data) const {
    value = static_cast<Value>((m + static_cast<std::uint64_t>(data.added) + round.global % 7) % 1000003);
    return true;
  }
  CHATTY_FN Global Measure(const Value& value, Vertex) const { return value; }
  Next EndRound(Round<Global>& round) const { return round.index >= 4 ? Next::kStop : Next::kContinue; }
};

/// How many messages are a vertex's own number: counted.
struct OwnNumbers {
  struct Data {
    std::uint32_t number = 0;
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr auto kVertexData = std::make_tuple(VertexDatum{"number", &Data::number, "below 4", Presence::kRequired});

  CHATTY_FN Value InitVertex(Vertex, const Data& data) const { return data.number; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  template <class All>
  CHATTY_FN bool UpdateStatus(Value& value, All messages, Vertex, const Round<>&, const Data& data) const {
    value = 0;
    for (const auto run : messages) value += run.value == data.number ? static_cast<Value>(run.count) : 0;
    return true;
  }
  Next EndRound(Round<>&) const { return Next::kStop; }
};

/// What arrives of arrays of every type, and what PrepareData and a program before make of it.
struct AllTypes {
  struct Data {
    std::int32_t i32 = -1;
    std::uint32_t u32 = 1;
    std::int64_t i64 = -2;
    std::uint64_t u64 = 2;
    float f32 = 0.5f;
    double f64 = 0.25;
    std::uint32_t arrays = 0;  ///< how many are given; from PrepareData
  };
  using Value = Data;
  using Message = std::uint32_t;
  using Input = std::uint32_t;
  using Shared = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kVertexData =
      std::make_tuple(VertexDatum{"i32", &Data::i32, "a number"}, VertexDatum{"u32", &Data::u32, "a number"},
                      VertexDatum{"i64", &Data::i64, "a number"}, VertexDatum{"u64", &Data::u64, "a number"},
                      VertexDatum{"f32", &Data::f32, "a number", Presence::kOptional, Missing::kDefault},
                      VertexDatum{"f64", &Data::f64, "a number"});

  void PrepareData(const Graph& graph, std::span<Data> data, std::span<const std::string_view> given) const {
    if (data.size() != graph.vertices()) throw UsageError("not as many as vertices");
    for (Data& d : data) d.arrays = static_cast<std::uint32_t>(given.size());
  }
  CHATTY_FN Value InitVertex(Vertex, const Input& level, const Data& data) const {
    Value value = data;
    value.u32 += level;
    return value;
  }
  CHATTY_FN bool IsActive(const Value&, const Round<>&) const { return false; }
  CHATTY_FN Shared Share(const Value& value, Vertex) const { return value.u32; }
  CHATTY_FN Message ComputeScatter(const Shared& shared, Edge<>, const Round<>&) const { return shared; }
  CHATTY_FN bool UpdateStatus(Value&, Message, Vertex, const Round<>&) const { return false; }
};

/// Numbers that differ from vertex to vertex, below `most`.
template <class T>
Array<T> Numbers(const Graph& graph, std::uint64_t seed, std::uint64_t most) {
  Array<T> numbers(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) numbers[v] = static_cast<T>(Hash(v, seed) % most);
  return numbers;
}

/// An array of starts with entries for some vertices, and one of delays.
struct DelayInput {
  explicit DelayInput(const Graph& graph) : delays(Numbers<std::uint32_t>(graph, 2, 50)) {
    Array<std::int32_t> starts(graph.vertices(), 12345);  // a value that is never read
    Array<bool> present(graph.vertices(), false);
    best.assign(graph.vertices(), kInfinity<std::uint32_t>);
    for (VertexId v = 0; v < graph.vertices(); v += 1 + graph.vertices() / 7) {
      present[v] = true;
      starts[v] = static_cast<std::int32_t>(Hash(v, 9) % 100);
      best[v] = static_cast<std::uint32_t>(starts[v]);
    }
    for (bool changed = true; changed;) {  // Bellman and Ford
      changed = false;
      for (VertexId u = 0; u < graph.vertices(); ++u) {
        for (const VertexId v : graph.out()[u]) {
          if (best[u] == kInfinity<std::uint32_t> || best[u] + delays[v] >= best[v]) continue;
          best[v] = best[u] + delays[v];
          changed = true;
        }
      }
    }
    given.emplace("start", VertexArray(VertexArray::Values(std::move(starts)), std::move(present)));
    given.emplace("delay", VertexArray(delays));
  }
  Array<std::uint32_t> delays;
  std::vector<std::uint32_t> best;  ///< the answer
  VertexData given;
};

class VertexDataTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNotShared(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  static Session On(const Graph& graph, const std::string& partition) {
    SessionOptions options;
    options.partition = partition;
    return Session(graph, SharedDevices(GetParam()), options);
  }
};

TEST_P(VertexDataTest, MembersSeeTheirVertexsDataUnderEveryPartition) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    const DelayInput input(graph);
    for (const std::string_view partition : PartitionerNames()) {
      Session session = On(graph, std::string(partition));
      for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
        SCOPED_TRACE(testing::Message() << name << ", " << partition << ", direction " << static_cast<int>(direction));
        RunOptions options;
        options.vertex_data = input.given;
        options.direction = direction;
        EXPECT_EQ(ToVector(chatty::Run(session, Delays{}, options).values), input.best);
        EXPECT_EQ(ToVector(chatty::Run(session, OrderedDelays{}, options).values), input.best);
      }
      RunOptions options;
      options.vertex_data = input.given;
      options.execution = Execution::kAsync;
      EXPECT_EQ(ToVector(chatty::Run(session, Delays{}, options).values), input.best) << name << ", async";
    }
  }
}

TEST_P(VertexDataTest, RoundsInPlaceSeeThem) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    if (graph.vertices() == 0) continue;
    SCOPED_TRACE(name);
    const Array<std::uint32_t> tags = Numbers<std::uint32_t>(graph, 5, 4), levels = SerialBfs(graph, 0);
    std::vector<std::uint32_t> expected(levels.begin(), levels.end());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      if (levels[v] != kInfinity<std::uint32_t>) expected[v] = 4 * levels[v] + tags[v];
    }
    Session session = On(graph, "random");
    for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
      RunOptions options;
      options.vertex_data.emplace("tag", VertexArray(tags));
      options.direction = direction;
      EXPECT_EQ(ToVector(chatty::Run(session, TaggedLevels{}, options).values), expected) << static_cast<int>(direction);
    }
  }
}

TEST_P(VertexDataTest, ProgramsOfEveryRoundSeeThem) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    const Array<std::int64_t> added = Numbers<std::int64_t>(graph, 3, 1000);
    std::vector<std::uint32_t> values(graph.vertices()), next(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) values[v] = static_cast<std::uint32_t>(v + 1);
    for (int round = 0; round < 4; ++round) {
      std::uint64_t global = 0;
      for (const std::uint32_t value : values) global += value;
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        std::uint64_t sum = static_cast<std::uint64_t>(added[v]) + global % 7;
        for (const VertexId u : graph.in()[v]) sum += values[u] + 1;
        next[v] = static_cast<std::uint32_t>(sum % 1000003);
      }
      values.swap(next);
    }
    for (const char* partition : {"edge-balanced", "random"}) {
      Session session = On(graph, partition);
      for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
        for (const Direction direction : {Direction::kPush, Direction::kPull}) {
          SCOPED_TRACE(testing::Message() << name << ", " << partition << ", tiles " << static_cast<int>(tiling)
                                          << ", direction " << static_cast<int>(direction));
          RunOptions options;
          options.vertex_data.emplace("added", VertexArray(added));
          options.tiling = tiling;
          options.direction = direction;
          EXPECT_EQ(ToVector(chatty::Run(session, AddedSums{}, options).values), values);
        }
      }
    }
  }
}

TEST_P(VertexDataTest, ProgramsThatSeeAllMessagesSeeThem) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    SCOPED_TRACE(name);
    const Array<std::uint32_t> numbers = Numbers<std::uint32_t>(graph, 4, 4);
    std::vector<std::uint32_t> expected(graph.vertices(), 0);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      for (const VertexId u : graph.in()[v]) expected[v] += numbers[u] == numbers[v];
    }
    Session session = On(graph, "random");
    RunOptions options;
    options.vertex_data.emplace("number", VertexArray(numbers));
    EXPECT_EQ(ToVector(chatty::Run(session, OwnNumbers{}, options).values), expected);
  }
}

TEST_P(VertexDataTest, ArraysOfEveryTypeArriveBesideAPriorsValues) {
  const Graph graph = RandomGraph(21, 300, 3.0, WeightKind::kNone, false);
  const DelayInput first(graph);
  const Array<std::int32_t> i32 = Numbers<std::int32_t>(graph, 31, 1000);
  const Array<std::uint32_t> u32 = Numbers<std::uint32_t>(graph, 32, 1000);
  const Array<std::int64_t> i64 = Numbers<std::int64_t>(graph, 33, std::uint64_t{1} << 60);
  const Array<std::uint64_t> u64 = Numbers<std::uint64_t>(graph, 34, ~std::uint64_t{0});
  const Array<double> f64 = Numbers<double>(graph, 36, 1000);
  std::vector<float> halves(graph.vertices(), 1.5f);
  Array<bool> some(graph.vertices(), false);
  for (VertexId v = 0; v < graph.vertices(); v += 2) some[v] = true;
  RunOptions options;
  options.vertex_data = {{"i32", VertexArray(i32)},
                         {"u32", VertexArray(u32)},
                         {"i64", VertexArray(i64)},
                         {"u64", VertexArray(u64)},
                         {"f64", VertexArray(f64)},
                         {"f32", VertexArray(VertexArray::Values(Array(std::span<const float>(halves))), some.Clone())}};
  Session session = On(graph, "random");
  RunOptions before;
  before.vertex_data = first.given;
  const auto one = session.Prepare(std::make_shared<TypedProgram<Delays>>(Delays{}), before);
  const auto two = session.Prepare(std::make_shared<TypedProgram<AllTypes>>(AllTypes{}), options);
  one->Execute();
  two->Execute(one.get());
  Array<AllTypes::Data> values(graph.vertices());
  two->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    ASSERT_EQ(values[v].i32, i32[v]);
    ASSERT_EQ(values[v].u32, u32[v] + first.best[v]);
    ASSERT_EQ(values[v].i64, i64[v]);
    ASSERT_EQ(values[v].u64, u64[v]);
    ASSERT_EQ(values[v].f32, v % 2 == 0 ? 1.5f : 0.5f) << "vertex " << v;
    ASSERT_EQ(values[v].f64, f64[v]);
    ASSERT_EQ(values[v].arrays, 6u);
  }
}

TEST_P(VertexDataTest, FusedRunsSeeThem) {
  if (std::string(GetParam()).find(',') != std::string::npos) GTEST_SKIP() << "one device that holds the whole graph";
  const Graph graph = HubGraph(13, 2500, WeightKind::kNone, false);
  const DelayInput input(graph);
  Session session = On(graph, "edge-balanced");
  for (const Execution execution : {Execution::kAuto, Execution::kAsync}) {
    RunOptions options;
    options.execution = execution;
    options.vertex_data = input.given;
    EXPECT_EQ(ToVector(chatty::Run(session, Delays{}, options).values), input.best) << ExecutionName(execution);
  }
}

// What does not fit is refused before anything runs.
TEST_P(VertexDataTest, WhatDoesNotFitIsRefused) {
  const Graph graph = MakeGraph(4, {{0, 1}, {1, 2}, {2, 3}});
  Session session = On(graph, "edge-balanced");
  const auto refused = [&](const VertexData& given, const std::string& says) {
    RunOptions options;
    options.vertex_data = given;
    try {
      chatty::Run(session, Delays{}, options);
      ADD_FAILURE() << "was not refused: " << says;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  const VertexArray delays(std::vector<std::uint32_t>{1, 2, 3, 4});
  refused({}, "needs vertex data 'delay', which is not given");
  refused({{"delay", delays}, {"delya", delays}}, "takes no vertex data 'delya'; it takes start, delay");
  refused({{"delay", VertexArray(std::vector<std::int32_t>{1, 2, 3, 4})}},
          "vertex data 'delay' are of type int32, and the program takes uint32; convert them");
  refused({{"delay", VertexArray(std::vector<std::uint32_t>{1, 2, 3})}},
          "vertex data 'delay' have 3 entries for a graph of 4 vertices");
  Array<bool> present{true, true, false, true};
  refused({{"delay", VertexArray(VertexArray::Values(Array<std::uint32_t>{1, 2, 3, 4}), std::move(present))}},
          "vertex data 'delay' have no entry for vertex 2; the program needs one for every vertex");
  RunOptions options;
  options.vertex_data.emplace("delay", delays);
  EXPECT_THROW(chatty::Run(session, PersonalisedPageRank{}, options), UsageError);
  EXPECT_EQ(ToVector(chatty::Run(session, Delays{}, options).values),
            std::vector<std::uint32_t>(4, kInfinity<std::uint32_t>));
}

/// A teleport vector by `kind`: one vertex, a few, or all.
inline std::vector<float> Teleport(const Graph& graph, int kind) {
  std::vector<float> teleport(graph.vertices(), 0.0f);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (kind == 0 ? v == graph.vertices() / 2 : kind == 1 ? Hash(v, 1) % 9 == 0 || v == 0 : true)
      teleport[v] = static_cast<float>(1 + Hash(v, 2) % 100) * 1e-3f;
  }
  return teleport;
}

TEST_P(VertexDataTest, PersonalisedRanksAreTheReferences) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    if (graph.vertices() == 0) continue;
    Session session = On(graph, "random");
    for (const int kind : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << name << ", teleport vector " << kind);
      const std::vector<float> teleport = Teleport(graph, kind);
      const std::vector<double> wide(teleport.begin(), teleport.end());
      for (const std::uint32_t rounds : {1u, 7u}) {
        PersonalisedPageRank program;
        program.rounds = rounds;
        program.tolerance = 0;
        RunOptions options;
        options.vertex_data.emplace("teleport", VertexArray(teleport));
        const auto result = chatty::Run(session, program, options);
        EXPECT_EQ(result.statistics.rounds, rounds);
        const PageRankResult expected = SerialPersonalisedPageRank(graph, wide, program.damping, rounds);
        double sum = 0;
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          ASSERT_NEAR(result.values[v], expected.ranks[v], 1e-5 * expected.ranks[v]) << "vertex " << v;
          sum += result.values[v];
        }
        EXPECT_NEAR(sum, 1, 1e-5);
        const auto data = AssembleVertexData(graph, program, options.vertex_data);
        EXPECT_TRUE(program.Verify(graph, result.values.span(), data.span(), result.statistics));
        EXPECT_TRUE(program.VerifyAnswer(graph, result.values.span(), data.span()));
      }
    }
  }
}

TEST_P(VertexDataTest, PersonalisedRanksOfSourcesSettle) {
  const Graph graph = HubGraph(14, 2500, WeightKind::kNone, false);
  Session session = On(graph, "edge-balanced");
  PersonalisedPageRank program;
  program.source = 3;
  for (const std::uint32_t sources : {1u, 5u, 0u}) {
    program.sources = sources;
    const auto result = chatty::Run(session, program);
    EXPECT_TRUE(result.statistics.converged);
    const auto data = AssembleVertexData(graph, program, {});
    const auto begins = std::count_if(data.begin(), data.end(), [](const auto& d) { return d.teleport > 0; });
    EXPECT_GE(begins, sources == 1 ? 1 : 2);
    EXPECT_LE(begins, sources == 0 ? graph.vertices() : sources);
    EXPECT_GT(data[3].teleport, 0);
    const Verdict verdict = program.VerifyAnswer(graph, result.values.span(), data.span());
    EXPECT_TRUE(verdict) << verdict.message;
    if (sources == 0) {  // which is PageRank
      const PageRankResult expected = SerialPageRank(graph, program.damping, 200, 1e-12);
      for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_NEAR(result.values[v], expected.ranks[v], 1e-5);
    }
  }
}

TEST_P(VertexDataTest, TeleportVectorsThatMeanNothingAreRefused) {
  const Graph graph = MakeGraph(3, {{0, 1}, {1, 2}});
  Session session = On(graph, "edge-balanced");
  const auto refused = [&](std::vector<float> teleport, const std::string& says) {
    RunOptions options;
    options.vertex_data.emplace("teleport", VertexArray(teleport));
    try {
      chatty::Run(session, PersonalisedPageRank{}, options);
      ADD_FAILURE() << "was not refused: " << says;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refused({1, std::nanf(""), 1}, "the teleport vector has nan at vertex 1");
  refused({1, 1, kInfinity<float>}, "the teleport vector has inf at vertex 2");
  refused({-1, 1, 1}, "the teleport vector has -1 at vertex 0");
  refused({0, 0, 0}, "the teleport vector is 0 at all vertices: walks begin nowhere");
}

}  // namespace chatty::test
