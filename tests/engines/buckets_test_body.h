// Soft priority in the engines `bsp` and `async`: any width of buckets, and any priority, change the work and not the
// answer. On devices that the including file chooses.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "../prebuilt_programs.h"
#include "chatty/core/hash.h"
#include "chatty/core/trace.h"
#include "chatty/framework/typed_program.h"
#include "chatty/programs/reference.h"
#include "engines.h"

namespace chatty::test {

/// Spreads least labels, every vertex from the start.
struct PlainLabels {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id * 7919 % 10007); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};
/// The same in some order, sensible or not.
enum class Order : std::uint8_t { kRising, kFalling, kConstant, kNotANumber, kInfinite, kWide };
template <Order kOrder>
struct Labels : PlainLabels {
  CHATTY_FN auto Priority([[maybe_unused]] const Value& value) const {
    if constexpr (kOrder == Order::kRising) {
      return value;
    } else if constexpr (kOrder == Order::kFalling) {
      return -static_cast<float>(value);
    } else if constexpr (kOrder == Order::kConstant) {
      return 7;
    } else if constexpr (kOrder == Order::kNotANumber) {
      return value % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
    } else if constexpr (kOrder == Order::kInfinite) {
      return value % 2 == 0 ? kInfinity<float> : -kInfinity<float>;
    } else {
      return ~std::uint64_t{0} - value;  // more bits than a double has
    }
  }
};
/// Shortest paths with nothing said of which go first.
struct PlainSssp {
  using Weight = std::int32_t;
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? Value{0} : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& d, const Round<>&) const { return d != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& d, Edge<Weight> e, const Round<>&) const {
    return d + static_cast<std::uint32_t>(e.weight);
  }
  CHATTY_FN bool Filter(const Value& d, Message m) const { return m < d; }
  CHATTY_FN bool UpdateStatus(Value& d, Message m, Vertex, const Round<>&) const {
    if (!(m < d)) return false;
    d = m;
    return true;
  }
};
/// With values that leave bytes of a word unused, which hold whatever was there before.
struct PaddedSssp {
  struct Value {
    std::uint8_t reached;
    std::uint32_t distance;
    bool operator==(const Value& other) const = default;
  };
  using Weight = std::int32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;
  CHATTY_FN Value InitVertex(Vertex v) const {
    Value value;
    value.reached = v.id == source;
    value.distance = v.id == source ? 0 : kInfinity<std::uint32_t>;
    return value;
  }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value.reached != 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<Weight> e, const Round<>&) const {
    return value.distance + static_cast<std::uint32_t>(e.weight);
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (!(m < value.distance)) return false;
    value.reached = 1;
    value.distance = m;
    return true;
  }
  CHATTY_FN std::uint32_t Priority(const Value& value) const { return value.distance; }
};
static_assert(!Traits<PlainSssp>::kOrders && Traits<SsspOf<float>>::kOrders && Traits<Labels<Order::kWide>>::kOrders);
static_assert(!Traits<PlainLabels>::kOrders);

class Buckets : public testing::TestWithParam<Selection> {
 protected:
  Session Open(const Graph& graph, const char* partition = "random") const {
    return Session(graph, MakeDevices(std::get<0>(GetParam())), DividedBy(partition));
  }
  template <class P>
  struct Answer {
    std::vector<typename P::Value> values;
    RunStatistics statistics;
  };
  template <class P>
  Answer<P> Run(Session& session, const P& program, double delta, RunOptions options = {}) const {
    options.delta = delta;
    options.comm = ParseCommSpec(std::get<1>(GetParam()));
    const std::unique_ptr<Job> job = session.Prepare(std::make_shared<TypedProgram<P>>(program), options);
    Answer<P> answer;
    answer.statistics = job->Execute();
    answer.values.resize(session.graph().vertices());
    job->CopyOutput(reinterpret_cast<std::byte*>(answer.values.data()));
    return answer;
  }
  template <Order kOrder>
  void AnswersAre(Session& session, const std::vector<std::uint32_t>& expected, const RunOptions& options = {}) const {
    for (const double delta : {1.0, 500.0, 1e6, kInfinity<double>}) {
      EXPECT_EQ(Run(session, Labels<kOrder>{}, delta, options).values, expected)
          << "order " << static_cast<int>(kOrder) << ", delta " << delta;
    }
  }
  static RunOptions Asynchronously() {
    RunOptions options;
    options.execution = Execution::kAsync;
    return options;
  }

  /// A grid whose weights differ by a hundred times: what is few edges away is often not near.
  static Graph RoughGrid(VertexId width, VertexId height, WeightKind kind = WeightKind::kInt32) {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v < width * height; ++v) {
      const auto weight = [&](std::uint64_t which) { return static_cast<double>(1 + Hash(2 * v + which) % 100); };
      if ((v + 1) % width != 0) edges.push_back({v, v + 1, weight(0)});
      if (v + width < width * height) edges.push_back({v, v + width, weight(1)});
    }
    return MakeSymmetric(width * height, edges, kind);
  }
  static constexpr double kWidths[] = {kAutoDelta, 0.25, 3, 100, 1e9, kInfinity<double>};
};

TEST_P(Buckets, AnyWidthGivesTheSameDistances) {
  for (const WeightKind weights : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    std::vector<NamedGraph> graphs = MixedGraphs(weights);
    std::vector<TestEdge> star, zero;
    for (VertexId v = 1; v < 300; ++v) star.push_back({0, v, static_cast<double>(v % 40)});
    for (VertexId v = 1; v < 200; ++v) zero.push_back({v - 1, v, 0});
    graphs.push_back({"star", MakeSymmetric(300, star, weights)});
    graphs.push_back({"zero weights", MakeSymmetric(200, zero, weights)});
    graphs.push_back({"two grids apart", MakeSymmetric(9, {{0, 1, 4}, {1, 2, 9}, {4, 5, 3}, {5, 6, 1}}, weights)});
    graphs.push_back({"rough grid", RoughGrid(45, 40, weights)});
    VertexId turn = 0;
    for (const auto& [name, graph] : graphs) {
      if (graph.vertices() == 0) continue;  // no vertex to start from
      Session session = Open(graph, ++turn % 2 == 0 ? "random" : "edge-balanced");
      for (const double delta : kWidths) {
        SCOPED_TRACE(testing::Message() << name << ", delta " << delta);
        const VertexId source = 3 % graph.vertices();
        if (weights == WeightKind::kFloat32) {
          SsspOf<float> sssp;
          sssp.source = source;
          EXPECT_EQ(Run(session, sssp, delta).values, ToVector(SerialSssp<float>(graph, source)));
        } else {
          SsspOf<std::int32_t> sssp;
          sssp.source = source;
          EXPECT_EQ(Run(session, sssp, delta).values, ToVector(SerialSssp<std::uint32_t>(graph, source)));
        }
      }
    }
  }
}

TEST_P(Buckets, AnyPriorityGivesTheSameLabels) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    SCOPED_TRACE(name);
    Session session = Open(graph);
    const std::vector<std::uint32_t> expected = Run(session, PlainLabels{}, kAutoDelta).values;
    AnswersAre<Order::kRising>(session, expected);
    AnswersAre<Order::kFalling>(session, expected);
    AnswersAre<Order::kConstant>(session, expected);
    AnswersAre<Order::kNotANumber>(session, expected);
    AnswersAre<Order::kInfinite>(session, expected);
    AnswersAre<Order::kWide>(session, expected);
  }
}

TEST_P(Buckets, OrderSavesWorkAndOffIsAsIfThereWereNone) {
  const Graph graph = RoughGrid(120, 90);
  Session session = Open(graph);
  SsspOf<std::int32_t> sssp;
  RunOptions rounds;
  rounds.execution = Execution::kBsp;  // a GPU's fused run has an order of its own
  const auto off = Run(session, sssp, kInfinity<double>, rounds), narrow = Run(session, sssp, 25, rounds);
  const auto plain = Run(session, PlainSssp{}, 25, rounds);
  EXPECT_EQ(narrow.values, off.values);
  EXPECT_EQ(plain.values, off.values);
  EXPECT_LT(static_cast<double>(narrow.statistics.edges_touched), 0.5 * static_cast<double>(off.statistics.edges_touched));
  EXPECT_LT(narrow.statistics.vertices_updated, off.statistics.vertices_updated);
  EXPECT_GE(narrow.statistics.edges_touched, graph.edges()) << "each vertex's edges are relaxed once at least";
  EXPECT_EQ(narrow.statistics.pull_rounds, 0u);
  EXPECT_EQ(narrow.statistics.rounds, narrow.statistics.push_rounds);
  EXPECT_EQ(off.statistics.edges_touched, plain.statistics.edges_touched);
  EXPECT_EQ(off.statistics.vertices_updated, plain.statistics.vertices_updated);
  EXPECT_EQ(off.statistics.rounds, plain.statistics.rounds);
  EXPECT_EQ(off.statistics.push_rounds, plain.statistics.push_rounds);
}

TEST_P(Buckets, ValuesMayHavePadding) {
  const Graph graph = RoughGrid(120, 90);
  Session session = Open(graph);
  const auto expected = ToVector(SerialSssp<std::uint32_t>(graph, 0));
  for (const double delta : {3.0, 100.0, 1e9}) {
    const auto values = Run(session, PaddedSssp{}, delta).values;
    for (std::size_t v = 0; v < values.size(); ++v) ASSERT_EQ(values[v].distance, expected[v]) << v << ", delta " << delta;
  }
}

// Without rounds, the devices find by themselves when the next bucket begins.
TEST_P(Buckets, AsyncGivesTheSameDistancesByAnyWidth) {
  for (const WeightKind weights : {WeightKind::kInt32, WeightKind::kFloat32}) {
    std::vector<NamedGraph> graphs = MixedGraphs(weights);
    graphs.push_back({"two grids apart", MakeSymmetric(9, {{0, 1, 4}, {1, 2, 9}, {4, 5, 3}, {5, 6, 1}}, weights)});
    graphs.push_back({"rough grid", RoughGrid(45, 40, weights)});
    VertexId turn = 0;
    for (const auto& [name, graph] : graphs) {
      if (graph.vertices() == 0) continue;  // no vertex to start from
      Session session = Open(graph, ++turn % 2 == 0 ? "random" : "edge-balanced");
      for (const double delta : kWidths) {
        SCOPED_TRACE(testing::Message() << name << ", delta " << delta);
        const VertexId source = 3 % graph.vertices();
        if (weights == WeightKind::kFloat32) {
          SsspOf<float> sssp;
          sssp.source = source;
          EXPECT_EQ(Run(session, sssp, delta, Asynchronously()).values, ToVector(SerialSssp<float>(graph, source)));
        } else {
          SsspOf<std::int32_t> sssp;
          sssp.source = source;
          const auto answer = Run(session, sssp, delta, Asynchronously());
          EXPECT_EQ(answer.values, ToVector(SerialSssp<std::uint32_t>(graph, source)));
          EXPECT_EQ(answer.statistics.ended, Ended::kConverged);
        }
      }
    }
  }
}

TEST_P(Buckets, AsyncGivesTheSameLabelsByAnyPriority) {
  const Graph graph = RandomGraph(52, 500, 3.0, WeightKind::kNone, true);
  Session session = Open(graph);
  const std::vector<std::uint32_t> expected = Run(session, PlainLabels{}, kAutoDelta).values;
  AnswersAre<Order::kRising>(session, expected, Asynchronously());
  AnswersAre<Order::kFalling>(session, expected, Asynchronously());
  AnswersAre<Order::kConstant>(session, expected, Asynchronously());
  AnswersAre<Order::kNotANumber>(session, expected, Asynchronously());
  AnswersAre<Order::kInfinite>(session, expected, Asynchronously());
  AnswersAre<Order::kWide>(session, expected, Asynchronously());
}

TEST_P(Buckets, AsyncDoesTheWorkOfRoundsInOrder) {
  const Graph graph = RoughGrid(120, 90);
  Session session = Open(graph, "contiguous");
  if (session.device_count() == 1) GTEST_SKIP() << "one device runs by itself";
  const SsspOf<std::int32_t> sssp;
  RunOptions rounds, slots = Asynchronously();
  rounds.execution = Execution::kBsp;
  slots.slots = 5;
  const auto off = Run(session, sssp, kInfinity<double>, Asynchronously()), expected = Run(session, sssp, 25, rounds);
  const auto plain = Run(session, PlainSssp{}, 25, slots);
  EXPECT_EQ(off.values, expected.values);
  EXPECT_EQ(plain.values, expected.values);
  for (const RunOptions& options : {Asynchronously(), slots}) {
    const auto narrow = Run(session, sssp, 25, options);
    EXPECT_EQ(narrow.values, expected.values);
    // Within a bucket messages may come late, and their targets are relaxed again.
    EXPECT_LT(static_cast<double>(narrow.statistics.edges_touched),
              1.5 * static_cast<double>(expected.statistics.edges_touched));
    EXPECT_GE(narrow.statistics.edges_touched, graph.edges()) << "each vertex's edges are relaxed once at least";
    EXPECT_LT(narrow.statistics.edges_touched, off.statistics.edges_touched);
    EXPECT_LT(narrow.statistics.vertices_updated, plain.statistics.vertices_updated);
  }
}

// The last device that falls idle raises the limit or ends the run, in every order that the machine has.
TEST_P(Buckets, AsyncEndsAndIsRightEveryTime) {
  const Graph graph = RoughGrid(12, 9);
  Session session = Open(graph);
  const auto expected = ToVector(SerialSssp<std::uint32_t>(graph, 0));
  const int runs = kKind == DeviceKind::kHost ? 100 : 40;
  for (const double delta : {2.0, 60.0}) {
    RunOptions options = Asynchronously();
    options.delta = delta;
    options.comm = ParseCommSpec(std::get<1>(GetParam()));
    const auto program = std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(SsspOf<std::int32_t>{});
    const std::unique_ptr<Job> job = session.Prepare(program, options);
    for (int run = 0; run < runs; ++run) {
      ASSERT_EQ(job->Execute().ended, Ended::kConverged);
      std::vector<std::uint32_t> values(graph.vertices());
      job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
      ASSERT_EQ(values, expected) << "run " << run << ", delta " << delta;
    }
  }
}

TEST_P(Buckets, AsyncEndsEarlyAndBeginsAnew) {
  const Graph graph = RoughGrid(40, 30);
  Session session = Open(graph);
  const auto program = std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(SsspOf<std::int32_t>{});
  RunOptions options = Asynchronously();
  options.delta = 30;
  options.max_rounds = 9;
  const std::unique_ptr<Job> cut = session.Prepare(program, options);
  for (int again = 0; again < 2; ++again) {
    const RunStatistics statistics = cut->Execute();
    EXPECT_EQ(statistics.ended, Ended::kMaxRounds);
    EXPECT_EQ(statistics.rounds, 9u);
  }
  std::stop_source stop;
  stop.request_stop();
  options.max_rounds = 0;
  options.stop = stop.get_token();
  EXPECT_EQ(session.Prepare(program, options)->Execute().ended, Ended::kStopped);
}

// Weights that are all the same, graphs so small that rounds are all they cost, and pulls, which look at every edge in each.
TEST_P(Buckets, WithoutNeedThereAreNone) {
  RunOptions push, pull;
  push.execution = pull.execution = Execution::kBsp;  // a GPU's fused run has an order of its own
  pull.direction = Direction::kPull;
  for (const auto& [graph, options] :
       {std::pair(GridGraph(60, 50), push), std::pair(RoughGrid(5, 4), push), std::pair(RoughGrid(90, 60), pull)}) {
    Session session = Open(graph);
    SsspOf<std::int32_t> sssp;
    const RunStatistics off = Run(session, sssp, kInfinity<double>, options).statistics,
                        by_itself = Run(session, sssp, kAutoDelta, options).statistics;
    EXPECT_EQ(by_itself.rounds, off.rounds);
    EXPECT_EQ(by_itself.edges_touched, off.edges_touched);
    EXPECT_EQ(by_itself.vertices_updated, off.vertices_updated);
  }
}

TEST_P(Buckets, PullsAndPushesOfBucketsAgree) {
  const Graph graph = RoughGrid(40, 30);
  Session session = Open(graph);
  const auto expected = ToVector(SerialSssp<std::uint32_t>(graph, 0));
  for (const Direction direction : {Direction::kPush, Direction::kPull}) {
    RunOptions options;
    options.direction = direction;
    for (const double delta : kWidths) {
      const auto answer = Run(session, SsspOf<std::int32_t>{}, delta, options);
      EXPECT_EQ(answer.values, expected) << delta;
      EXPECT_EQ(direction == Direction::kPull ? answer.statistics.push_rounds : answer.statistics.pull_rounds, 0u);
    }
  }
}

TEST_P(Buckets, RunsEndEarlyAndBeginAnew) {
  const Graph graph = RoughGrid(40, 30);
  Session session = Open(graph);
  const auto expected = ToVector(SerialSssp<std::uint32_t>(graph, 0));
  RunOptions options;
  options.delta = 30;
  options.max_rounds = 9;
  const auto program = std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(SsspOf<std::int32_t>{});
  const std::unique_ptr<Job> cut = session.Prepare(program, options);
  for (int again = 0; again < 2; ++again) {
    const RunStatistics statistics = cut->Execute();
    EXPECT_EQ(statistics.ended, Ended::kMaxRounds);
    EXPECT_EQ(statistics.rounds, 9u);
  }
  options.max_rounds = 0;
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  const RunStatistics stopped = session.Prepare(program, options)->Execute();
  EXPECT_EQ(stopped.ended, Ended::kStopped);
  EXPECT_LE(stopped.rounds, 1u);
  options.stop = {};
  const std::unique_ptr<Job> whole = session.Prepare(program, options);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(whole->Execute().ended, Ended::kConverged);
    std::vector<std::uint32_t> values(graph.vertices());
    whole->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    EXPECT_EQ(values, expected);
  }
}

TEST_P(Buckets, ATraceShowsEachRound) {
  const Graph graph = RoughGrid(30, 20);
  Session session = Open(graph);
  Trace trace;
  RunOptions options;
  options.trace = &trace;
  std::set<std::string> labels;
  for (PartId d = 0; d < session.device_count(); ++d) labels.insert(session.device(d).label());
  if (labels.size() < session.device_count()) {  // one GPU several times
    EXPECT_THROW(Run(session, SsspOf<std::int32_t>{}, 40, options), CapabilityError);
    return;
  }
  const auto traced = Run(session, SsspOf<std::int32_t>{}, 40, options);
  EXPECT_EQ(traced.values, ToVector(SerialSssp<std::uint32_t>(graph, 0)));
  EXPECT_GT(traced.statistics.rounds, 10u);
}

TEST_P(Buckets, WidthsThatAreNoneAreRefused) {
  const Graph graph = RoughGrid(4, 4);
  Session session = Open(graph);
  for (const double delta : {-1.0, -kInfinity<double>, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(Run(session, SsspOf<std::int32_t>{}, delta), UsageError) << delta;
  }
}

}  // namespace chatty::test
