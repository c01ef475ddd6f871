#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "fused_rounds_body.h"
#include "fused_test_body.h"
#include "time_to_end.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, FusedTest,
                         testing::Values(FusedCase{"team_1", "host:1", 1}, FusedCase{"team_3", "host:1", 3}), FusedName);
INSTANTIATE_TEST_SUITE_P(HostTogether, FusedTest,
                         testing::Values(FusedCase{"devices_3", "host:3", 3, "random", true},
                                         FusedCase{"devices_2_teams_of_2", "host:2", 4, "edge-balanced", true}),
                         FusedName);

/// Distances or levels; asks for a stop after so many updates.
template <bool kOrdered>
struct StopsItself {
  using Weight = std::conditional_t<kOrdered, std::int32_t, None>;
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static inline std::stop_source* stop = nullptr;
  static inline std::atomic<int> left{0};

  Value InitVertex(Vertex v) const { return v.id == 0 ? 0 : kInfinity<Value>; }
  bool IsActive(const Value& v) const { return v != kInfinity<Value>; }
  Message ComputeScatter(const Value& v, Edge<Weight> e) const {
    if constexpr (kOrdered) {
      return v + static_cast<std::uint32_t>(e.weight);
    } else {
      return v + 1;
    }
  }
  bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (left.fetch_sub(1) == 1 && stop != nullptr) stop->request_stop();
    if (m >= v) return false;
    v = m;
    return true;
  }
};

struct OrderedStopsItself : StopsItself<true> {
  double Priority(const Value& v) const { return v; }
};

template <bool kOrdered>
void StopsInTheMiddle(const RunOptions& how, int updates, const char* devices = "host:1", int threads = 2) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 60;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  Session session(graph, OpenDevices(ParseDevices(devices), threads));
  std::stop_source stop;
  RunOptions options = how;
  options.stop = stop.get_token();
  using P = std::conditional_t<kOrdered, OrderedStopsItself, StopsItself<false>>;
  P::stop = &stop;
  P::left = updates;
  const auto job = session.Prepare(std::make_shared<TypedProgram<P>>(P{}), options);
  const RunStatistics stopped = job->Execute();
  EXPECT_EQ(stopped.ended, Ended::kStopped) << stopped.rounds << " rounds, " << stopped.fused_steps << " steps";
  P::stop = nullptr;
  job->SetLimits(0, {});
  EXPECT_EQ(job->Execute().ended, Ended::kConverged);
  std::vector<std::uint32_t> values(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, kOrdered ? ToVector(SerialSssp<std::uint32_t>(graph, 0)) : ToVector(SerialBfs(graph, 0)));
}

TEST(HostRelaxation, AStopInTheMiddleIsNoEnd) {
  for (const Execution execution : {Execution::kAuto, Execution::kAsync}) {
    for (const double delta : {kAutoDelta, 25.0}) {
      for (const int updates : {300, 3000, 5000}) {
        RunOptions options;
        options.execution = execution;
        options.delta = delta;
        SCOPED_TRACE(std::string(ExecutionName(execution)) + ", " + std::to_string(delta) + ", " + std::to_string(updates));
        StopsInTheMiddle<true>(options, updates);
        StopsInTheMiddle<false>(options, updates);
        if (execution != Execution::kAsync) continue;
        StopsInTheMiddle<true>(options, updates, "host:3", 3);
        StopsInTheMiddle<false>(options, updates, "host:2", 4);
      }
    }
  }
}

/// Throws after so many updates, on whichever device makes the last.
struct ThrowsInTheMiddle : StopsItself<false> {
  static inline TimeToEnd to_end;
  bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (left.fetch_sub(1) == 1) {
      to_end.Begin();
      throw UsageError("enough");
    }
    if (m >= v) return false;
    v = m;
    return true;
  }
};

// The error of one device ends the run of all, and the next run is whole.
TEST(HostRelaxation, AnErrorOfOneDeviceEndsAll) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 60;
  const Graph graph = Generate(spec);
  for (const auto& [devices, threads] : {std::pair{"host:3", 3}, std::pair{"host:2", 5}}) {
    Session session(graph, OpenDevices(ParseDevices(devices), threads));
    RunOptions options;
    options.execution = Execution::kAsync;
    const auto job = session.Prepare(std::make_shared<TypedProgram<ThrowsInTheMiddle>>(ThrowsInTheMiddle{}), options);
    for (const int updates : {1, 700, 4000}) {
      ThrowsInTheMiddle::left = updates;
      EXPECT_THROW(job->Execute(), UsageError) << devices << ", " << updates << " updates";
      ThrowsInTheMiddle::to_end.End(DeviceKind::kHost);
    }
    ThrowsInTheMiddle::left = std::numeric_limits<int>::max();
    EXPECT_EQ(job->Execute().ended, Ended::kConverged);
    std::vector<std::uint32_t> values(graph.vertices());
    job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    EXPECT_EQ(values, ToVector(SerialBfs(graph, 0)));
  }
}

/// Holds up the device that owns one vertex for longer than the run may wait.
struct SleepsInTheMiddle : StopsItself<false> {
  static constexpr std::chrono::milliseconds kDeadline{100};
  static inline std::atomic<bool> sleeps{false};
  static inline TimeToEnd to_end;
  bool UpdateStatus(Value& v, Message m, Vertex vertex) const {
    if (vertex.id == 3599 && sleeps.exchange(false)) {
      std::this_thread::sleep_for(4 * kDeadline);
    }
    if (m >= v) return false;
    v = m;
    return true;
  }
};

TEST(HostRelaxation, ALateDeviceEndsTheRun) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 60;
  const Graph graph = Generate(spec);
  Session session(graph, OpenDevices(ParseDevices("host:2"), 2));
  RunOptions options;
  options.execution = Execution::kAsync;
  options.timeout = SleepsInTheMiddle::kDeadline;
  const auto job = session.Prepare(std::make_shared<TypedProgram<SleepsInTheMiddle>>(SleepsInTheMiddle{}), options);
  SleepsInTheMiddle::left = 0;
  SleepsInTheMiddle::sleeps = true;
  SleepsInTheMiddle::to_end.Begin(SleepsInTheMiddle::kDeadline);
  EXPECT_THROW(job->Execute(), TimeoutError);
  SleepsInTheMiddle::to_end.End(DeviceKind::kHost);
}

TEST(HostRelaxation, LeavesWideFrontiersToRoundsAndComesBack) {
  // A path, then a star whose leaves have tails: narrow for long, wide for a moment, narrow again, for short lists.
  std::vector<TestEdge> edges;
  VertexId last = 0;
  const auto append = [&](VertexId from) {
    ++last;
    edges.push_back({from, last, static_cast<double>(last % 7)});
    return last;
  };
  for (int i = 0; i < 40; ++i) append(last);
  const VertexId hub = last;
  for (int leaf = 0; leaf < 9000; ++leaf) append(hub);
  for (int i = 0, at = static_cast<int>(last); i < 60; ++i) at = static_cast<int>(append(static_cast<VertexId>(at)));
  const Graph graph = MakeGraph(last + 1, edges, WeightKind::kInt32);
  for (const int threads : {1, 3}) {
    SessionOptions team;
    team.threads = threads;
    Session session(graph, "host:1", team);
    for (const std::uint32_t list_items : {0u, 64u, 1000u}) {
      RunOptions options;
      options.list_items = list_items;
      SCOPED_TRACE(std::to_string(threads) + " threads, lists of " + std::to_string(list_items));
      const Result<Bfs> levels = chatty::Run(session, Bfs{}, options);
      EXPECT_EQ(ToVector(levels.values), ToVector(SerialBfs(graph, 0)));
      EXPECT_GT(levels.statistics.fused_steps, 0u);
      EXPECT_EQ(levels.statistics.ended, Ended::kConverged);
      const Result<SsspOf<std::int32_t>> distances = chatty::Run(session, SsspOf<std::int32_t>{}, options);
      EXPECT_EQ(ToVector(distances.values), ToVector(SerialSssp<std::uint32_t>(graph, 0)));
      EXPECT_GT(distances.statistics.fused_steps, 0u);
    }
  }
}

}  // namespace
}  // namespace chatty::test
