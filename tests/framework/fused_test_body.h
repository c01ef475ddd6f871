// Fused runs on every kind of device, against serial references: programs of every kind that relaxes edges, on graphs of
// every shape, entered at once (async) and between rounds (auto), and on several devices together (async). Includers
// instantiate FusedTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <queue>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/trace.h"
#include "chatty/framework/run.h"
#include "chatty/framework/spans.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "test_inputs.h"

namespace chatty::test {

/// Which of 64 sources reach a vertex: a union of bits, for which hardware has an operation.
struct ReachFromMany {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kOr;
  static constexpr auto kSafety = Safety::kMonotone;
  std::uint32_t every = 1;  ///< vertices between two sources

  CHATTY_FN bool IsSource(VertexId v) const { return v % every == 0 && v / every < 64; }
  CHATTY_FN Value InitVertex(Vertex v) const { return IsSource(v.id) ? Value{1} << v.id / every : 0; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v != 0; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<>, const Round<>&) const { return v; }
  CHATTY_FN bool UpdateStatus(Value& v, const Message& m, Vertex, const Round<>&) const {
    const Value before = v;
    v |= m;
    return v != before;
  }
};

/// Levels and least parents in one word: an update may change the value without activating the vertex.
struct LevelsAndParents {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? v.id : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<> e, const Round<>&) const {
    return ((v >> 32) + 1) << 32 | e.source;
  }
  CHATTY_FN bool UpdateStatus(Value& v, const Message& m, Vertex, const Round<>&) const {
    const bool closer = m >> 32 < v >> 32;
    if (m < v) v = m;
    return closer;
  }
  CHATTY_FN std::uint32_t Output(const Value& v) const {
    return v == kInfinity<Value> ? kInfinity<std::uint32_t> : static_cast<std::uint32_t>(v >> 32);
  }
};

/// Levels, kept as three times the level: UpdateStatus is not the reduction, although both take a minimum.
struct ThreefoldLevels {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<>, const Round<>&) const { return v / 3 + 1; }
  CHATTY_FN bool UpdateStatus(Value& v, const Message& m, Vertex, const Round<>&) const {
    if (v <= 3 * m) return false;
    v = 3 * m;
    return true;
  }
  CHATTY_FN std::uint32_t Output(const Value& v) const { return v == kInfinity<Value> ? v : v / 3; }
};

/// Widest paths: values are carried along, the widest first.
struct WidestFirst {
  using Weight = std::int32_t;
  using Value = std::int32_t;
  using Message = std::int32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? kInfinity<Value> : 0; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v > 0; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<Weight> e, const Round<>&) const {
    return e.weight < v ? e.weight : v;
  }
  CHATTY_FN double Priority(const Value& v) const { return -static_cast<double>(v); }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    if (m <= v) return false;
    v = m;
    return true;
  }
};

/// Numbers of shortest paths, modulo 2^32, and the round in which a vertex was reached: sums of one round, and its index.
struct PathsByRounds {
  struct Value {
    std::uint32_t level;
    std::uint32_t paths;
  };
  using Shared = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? Value{0, 1} : Value{kInfinity<std::uint32_t>, 0}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.level == 0; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.paths; }
  CHATTY_FN Message ComputeScatter(const Shared& paths, Edge<>, const Round<>&) const { return paths; }
  CHATTY_FN bool Filter(const Value& v) const { return v.level == kInfinity<std::uint32_t>; }
  CHATTY_FN bool UpdateStatus(Value& v, Message paths, Vertex, const Round<>& round) const {
    if (!Filter(v)) return false;
    v = {round.index + 1, paths};
    return true;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return std::uint64_t{v.level} << 32 | v.paths; }
};

/// Core numbers by peeling: phases, which are chosen when no vertex is active.
struct Peeling {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  struct Global {
    std::uint32_t least = kInfinity<std::uint32_t>;
  };
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Hints kHints{.measure_when_quiet = true, .continues_while_active = true};

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.degree); }
  CHATTY_FN bool IsActive(const Value& left, const Round<Global>& round) const { return left == round.phase; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>) const { return 1; }
  CHATTY_FN bool UpdateStatus(Value& left, Message gone, Vertex, const Round<Global>& round) const {
    if (left <= round.phase) return false;
    left = left - round.phase > gone ? left - gone : round.phase;
    return left == round.phase;
  }
  CHATTY_FN Global Measure(const Value& left, Vertex, const Round<Global>& round) const {
    return left > round.phase ? Global{left} : Global{};
  }
  CHATTY_FN static Global Combine(const Global& a, const Global& b) { return a.least < b.least ? a : b; }
  Next EndRound(Round<Global>& round) const {
    if (round.active > 0) throw UsageError("EndRound was called although a vertex is active");
    if (round.global.least == Global{}.least) return Next::kStop;
    round.phase = round.global.least;
    return Next::kNextPhase;
  }
};

struct FusedCase {
  const char* name;
  const char* devices;
  int threads;
  const char* partition = "edge-balanced";
  bool together = false;  ///< several devices
};

class FusedTest : public testing::TestWithParam<FusedCase> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam().devices); !why.empty()) GTEST_SKIP() << why;
  }

  std::unique_ptr<Session> Open(const Graph& graph) const {
    SessionOptions options;
    options.threads = GetParam().threads;
    options.partition = GetParam().partition;
    return std::make_unique<Session>(graph, OpenDevices(ParseDevices(GetParam().devices), GetParam().threads), options);
  }
  /// Every way into a fused run and out of it.
  std::vector<RunOptions> Ways() const {
    std::vector<RunOptions> ways;
    for (const Execution execution : {Execution::kAuto, Execution::kAsync}) {
      if (GetParam().together && execution == Execution::kAuto) continue;  // rounds
      for (const Records records : {Records::kNever, Records::kAlways}) {
        for (const std::uint32_t list_items : {0u, 64u}) {
          RunOptions options;
          options.execution = execution;
          options.records = records;
          options.list_items = list_items;
          ways.push_back(options);
        }
      }
    }
    return ways;
  }
  static std::string Words(const RunOptions& options) {
    return std::string(ExecutionName(options.execution)) + ", records " + std::to_string(static_cast<int>(options.records)) +
           ", lists of " + std::to_string(options.list_items) + ", delta " + std::to_string(options.delta);
  }

  /// `sources`: active at first. A short list has no room for many: then rounds begin, and may go on to the end.
  template <class P, class T>
  void Is(Session& session, const P& program, const Array<T>& expected, const char* what, unsigned sources = 1) {
    for (const RunOptions& options : Ways()) {
      SCOPED_TRACE(std::string(what) + ": " + Words(options));
      const Result<P> result = chatty::Run(session, program, options);
      ASSERT_EQ(ToVector(result.values), ToVector(expected));
      EXPECT_TRUE(result.statistics.converged);
      const bool has_room = options.list_items == 0 || sources < options.list_items;
      if (GetParam().together && CarriesNothing<P>() && session.graph().edges() > 0 && has_room) {
        EXPECT_GT(result.statistics.fused_steps, 0u);
      }
    }
  }
  /// Whether hosts relax P's edges together, which they do without carried values.
  template <class P>
  static bool CarriesNothing() {
    return fused::kRelaxesTogether<P> &&
           (!Traits<P>::kOrders || std::is_same_v<P, SsspOf<std::int32_t>> || std::is_same_v<P, SsspOf<float>>);
  }

  void Check(const Graph& graph, VertexId source) {
    const auto session = Open(graph);
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    Bfs bfs;
    bfs.source = source;
    Is(*session, bfs, levels, "bfs");
    if (HasFatalFailure()) return;
    BfsTree tree;
    tree.source = source;
    Is(*session, tree, SerialBfsParents(graph, source), "bfs tree");
    if (HasFatalFailure()) return;
    ThreefoldLevels threefold;
    threefold.source = source;
    Is(*session, threefold, levels, "threefold levels");
    if (HasFatalFailure()) return;
    LevelsAndParents both;
    both.source = source;
    Is(*session, both, levels, "levels and parents");
    if (HasFatalFailure()) return;
    if (graph.weight_kind() == WeightKind::kFloat32) {
      SsspOf<float> sssp;
      sssp.source = source;
      Is(*session, sssp, SerialSssp<float>(graph, source), "sssp, float");
    } else {
      SsspOf<std::int32_t> sssp;
      sssp.source = source;
      const Array<std::uint32_t> distances = SerialSssp<std::uint32_t>(graph, source);
      Is(*session, sssp, distances, "sssp, int");
      for (const double delta : {1.0, 40.0, kInfinity<double>}) {
        RunOptions options;
        options.execution = Execution::kAsync;
        options.delta = delta;
        SCOPED_TRACE("sssp: " + Words(options));
        ASSERT_EQ(ToVector(chatty::Run(*session, sssp, options).values), ToVector(distances));
      }
    }
    if (HasFatalFailure()) return;
    Is(*session, LabelPropagation{}, SerialComponents(graph), "label propagation");
    if (HasFatalFailure()) return;
    ReachFromMany reach;
    reach.every = std::max<VertexId>(1, graph.vertices() / 64);
    Is(*session, reach, Reached(graph, reach), "reach", /*sources=*/64);
  }

  static Array<std::uint64_t> Reached(const Graph& graph, const ReachFromMany& reach) {
    Array<std::uint64_t> bits(graph.vertices());
    std::fill(bits.begin(), bits.end(), 0);
    for (VertexId source = 0; source < graph.vertices(); ++source) {
      if (!reach.IsSource(source)) continue;
      const Array<std::uint32_t> levels = SerialBfs(graph, source);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        if (levels[v] != kInfinity<std::uint32_t>) bits[v] |= std::uint64_t{1} << source / reach.every;
      }
    }
    return bits;
  }

  static Graph Made(const char* family, std::uint64_t size, WeightKind weights = WeightKind::kInt32) {
    GeneratorSpec spec;
    spec.family = family;
    spec.weights = weights;
    spec.scale = static_cast<int>(size);
    spec.count = size;
    spec.width = size;
    spec.height = size;
    spec.drop = 0.05;
    return Generate(spec);
  }

  /// Vertex 0 leads to `copies` vertices with rows of each length; all targets differ within a row.
  static Graph RowsOfEveryLength(VertexId copies, WeightKind weights = WeightKind::kInt32) {
    constexpr VertexId kLengths[] = {0, 1, 4, 5, 31, 32, 33, 1000}, kOthers = 1501;
    const VertexId rows = copies * static_cast<VertexId>(std::size(kLengths)),
                   others = rows + kOthers;  // not a multiple of 7
    std::vector<TestEdge> edges;
    for (VertexId row = 0; row < rows; ++row) {
      edges.push_back({0, 1 + row, static_cast<double>(row % 50)});
      for (VertexId k = 0; k < kLengths[row % std::size(kLengths)]; ++k) {
        edges.push_back({1 + row, 1 + (131 * row + 7 * k) % others, static_cast<double>((row + k * k) % 31)});
      }
    }
    return MakeGraph(1 + others, edges, weights);
  }
};

TEST_P(FusedTest, RowsOfEveryLength) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const VertexId copies : {1u, 40u}) {  // few items of a warp, and many
      SCOPED_TRACE(copies);
      Check(RowsOfEveryLength(copies, kind), 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(FusedTest, CarriedValues) {
  for (const Graph& graph : {Made("grid", 40), Made("kron", 10), Made("binary-tree", 5000), RowsOfEveryLength(40)}) {
    WidestFirst widest;
    widest.source = graph.max_degree_vertex();
    Array<std::int32_t> expected(graph.vertices());  // Dijkstra's algorithm with (max, min)
    std::fill(expected.begin(), expected.end(), 0);
    expected[widest.source] = kInfinity<std::int32_t>;
    std::priority_queue<std::pair<std::int32_t, VertexId>> queue;
    queue.emplace(kInfinity<std::int32_t>, widest.source);
    const auto& weights = std::get<Array<std::int32_t>>(graph.out().weights);
    while (!queue.empty()) {
      const auto [width, v] = queue.top();
      queue.pop();
      for (EdgeIndex e = graph.out().offsets[v]; width == expected[v] && e < graph.out().offsets[v + 1]; ++e) {
        const std::int32_t through = std::min(width, weights[e]);
        const VertexId u = graph.out().neighbours[e];
        if (through <= expected[u]) continue;
        expected[u] = through;
        queue.emplace(through, u);
      }
    }
    const auto session = Open(graph);
    Is(*session, widest, expected, "widest paths");
    if (HasFatalFailure()) return;
  }
}

/// Distances of a program without IsActive: all vertices begin, most of them at infinity.
struct AllBegin {
  using Weight = float;
  using Value = float;
  using Message = float;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0.0f : kInfinity<float>; }
  CHATTY_FN Message ComputeScatter(const Value& d, Edge<Weight> e) const { return d + e.weight; }
  CHATTY_FN Value Priority(const Value& d) const { return d; }
  CHATTY_FN bool UpdateStatus(Value& d, Message m, Vertex) const {
    if (!(m < d)) return false;
    d = m;
    return true;
  }
};

TEST_P(FusedTest, InfinitePrioritiesEnd) {
  const Graph graph = Made("grid", 80, WeightKind::kFloat32);  // more vertices than a list has room for
  const auto session = Open(graph);
  AllBegin program;
  program.source = 17;
  Is(*session, program, SerialSssp<float>(graph, program.source), "all vertices begin");
}

TEST_P(FusedTest, RoundsOfFewVerticesAreExact) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const bool on_gpu = std::string_view(GetParam().devices).starts_with("cuda");
  for (const Graph& graph : {Made("grid", 60), Made("chain", 3000), Made("kron", 10),
                             HubGraph(41, 5000, WeightKind::kInt32, false), Made("binary-tree", 5000)}) {
    PathsByRounds program;
    program.source = graph.vertices() - 1;
    Array<std::uint64_t> expected(graph.vertices());
    const Array<std::uint32_t> levels = SerialBfs(graph, program.source);
    std::vector<std::vector<VertexId>> by_level(1, {program.source});
    std::vector<std::uint32_t> paths(graph.vertices(), 0);
    paths[program.source] = 1;
    for (std::size_t level = 0; level < by_level.size(); ++level) {
      std::vector<VertexId> next;
      for (const VertexId v : by_level[level]) {
        for (const VertexId u : graph.out()[v]) {
          if (levels[u] != level + 1) continue;
          if (paths[u] == 0 && std::find(next.begin(), next.end(), u) == next.end()) next.push_back(u);
          paths[u] += paths[v];
        }
      }
      if (!next.empty()) by_level.push_back(std::move(next));
    }
    for (VertexId v = 0; v < graph.vertices(); ++v) expected[v] = std::uint64_t{levels[v]} << 32 | paths[v];
    const auto session = Open(graph);
    for (const Execution execution : {Execution::kAuto, Execution::kBsp}) {
      RunOptions options;
      options.execution = execution;
      const Result<PathsByRounds> result = chatty::Run(*session, program, options);
      ASSERT_EQ(ToVector(result.values), ToVector(expected)) << ExecutionName(execution);
      if (on_gpu && by_level.size() > 50) {
        EXPECT_GT(result.statistics.fused_steps, 0u);
      }
      for (const std::uint32_t rounds : {4u, 11u}) {
        if (rounds >= by_level.size()) continue;
        RunOptions limited = options;
        limited.max_rounds = rounds;
        const Result<PathsByRounds> part = chatty::Run(*session, program, limited);
        EXPECT_EQ(part.statistics.rounds, rounds);
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          ASSERT_EQ(part.values[v] >> 32, levels[v] <= rounds ? levels[v] : kInfinity<std::uint32_t>) << v;
        }
      }
    }
  }
}

TEST_P(FusedTest, PhasesEndWhenNoVertexIsActive) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const bool on_gpu = std::string_view(GetParam().devices).starts_with("cuda");
  for (const Graph& graph : {Made("chain", 3000), Made("grid", 60), Made("kron", 10), Made("binary-tree", 5000)}) {
    const auto session = Open(graph);
    const Result<Peeling> result = chatty::Run(*session, Peeling{});
    EXPECT_EQ(ToVector(result.values), ToVector(SerialKCore(graph)));
    if (on_gpu && graph.vertices() == 3000) {
      EXPECT_GT(result.statistics.fused_steps, 1000u);
    }
  }
}

TEST_P(FusedTest, ATraceShowsSteps) {
  if (GetParam().together || !std::string_view(GetParam().devices).starts_with("cuda")) {
    GTEST_SKIP() << "hosts and several devices trace rounds";
  }
  const Graph graph = Made("grid", 60);
  const auto session = Open(graph);
  Trace trace;
  RunOptions options;
  options.execution = Execution::kAsync;
  options.trace = &trace;
  const Result<Bfs> result = chatty::Run(*session, Bfs{}, options);
  ASSERT_EQ(ToVector(result.values), ToVector(SerialBfs(graph, 0)));
  std::uint64_t steps = 0, items = 0;
  for (const auto& track : trace.tracks()) {
    for (const TraceEvent* event : track->Sorted()) {
      if (event->kind != &spans::kFusedStep) continue;
      EXPECT_EQ(event->arguments[0], steps);
      ++steps;
      items += event->arguments[1];
    }
  }
  EXPECT_EQ(steps, result.statistics.fused_steps);
  EXPECT_GE(items, graph.vertices());
}

TEST_P(FusedTest, SmallAndOddGraphs) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const NamedGraph& input : MixedGraphs(kind)) {
      SCOPED_TRACE(input.name);
      if (input.graph.vertices() == 0) continue;  // no source
      Check(input.graph, input.graph.vertices() / 2);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(FusedTest, NoEdges) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) Check(MakeGraph(3000, {}, kind), 2999);
}

TEST_P(FusedTest, LongWays) {
  Check(Made("grid", 40), 3);
  Check(Made("grid", 25, WeightKind::kFloat32), 311);
  Check(Made("chain", 300, WeightKind::kFloat32), 150);
}

TEST_P(FusedTest, HubsAndWideFrontiers) {
  const Graph kron = Made("kron", 10);
  Check(kron, kron.max_degree_vertex());
  Check(Made("star", 20000), 0);  // rows of every length: a hub is walked by all
  Check(Made("star", 9000, WeightKind::kFloat32), 4321);
  Check(HubGraph(41, 5000, WeightKind::kInt32, false), 3);
  Check(Made("binary-tree", 5000), 1);
  Check(Made("binary-tree", 5000), 4999);  // from a leaf: narrow for long, then more than a short list holds
}

TEST_P(FusedTest, TwoHundredRuns) {
  // A race is a matter of time.
  const Graph graph = Made("kron", 9), thin = Made("grid", 30);
  for (const Graph* g : {&graph, &thin}) {
    const auto session = Open(*g);
    SsspOf<std::int32_t> sssp;
    sssp.source = g->max_degree_vertex();
    const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(*g, sssp.source);
    RunOptions options;
    options.execution = Execution::kAsync;
    const auto job = session->Prepare(std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(sssp), options);
    std::vector<std::uint32_t> values(g->vertices());
    for (int run = 0; run < 100; ++run) {
      job->Execute();
      job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
      ASSERT_EQ(values, ToVector(expected)) << "run " << run;
    }
  }
}

TEST_P(FusedTest, RoundsAreLimitedExactly) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const Graph graph = Made("grid", 40);
  const auto session = Open(graph);
  Bfs bfs;
  const Array<std::uint32_t> levels = SerialBfs(graph, 0);
  for (const Execution execution : {Execution::kAuto, Execution::kAsync}) {
    for (const std::uint32_t rounds : {1u, 9u, 10u, 33u, 50u}) {
      SCOPED_TRACE(std::string(ExecutionName(execution)) + ", " + std::to_string(rounds));
      RunOptions options;
      options.execution = execution;
      options.max_rounds = rounds;
      const Result<Bfs> result = chatty::Run(*session, bfs, options);
      EXPECT_EQ(result.statistics.ended, Ended::kMaxRounds);
      EXPECT_EQ(result.statistics.rounds, rounds);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_EQ(result.values[v], levels[v] <= rounds ? levels[v] : kInfinity<std::uint32_t>) << v;
      }
    }
  }
}

TEST_P(FusedTest, AStopEndsARunAndTheNextOneIsWhole) {
  const Graph graph = Made("grid", 40);
  const auto session = Open(graph);
  RunOptions options;
  options.execution = Execution::kAsync;
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  const auto job = session->Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}), options);
  EXPECT_EQ(job->Execute().ended, Ended::kStopped);
  job->SetLimits(0, {});
  EXPECT_EQ(job->Execute().ended, Ended::kConverged);
  std::vector<std::uint32_t> values(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, ToVector(SerialBfs(graph, 0)));
}

/// Distances whose messages read the edge's target.
struct TargetsCount {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& v) const { return v != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<> e) const {
    return v + 1 + static_cast<Message>((e.source ^ e.target) % 5);
  }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (m >= v) return false;
    v = m;
    return true;
  }
};

TEST_P(FusedTest, MessagesMayReadBothEnds) {
  for (const Graph& graph : {Made("grid", 50), Made("kron", 9), Made("star", 9000)}) {
    TargetsCount program;
    program.source = graph.vertices() / 3;
    Array<std::uint32_t> expected(graph.vertices());  // Dijkstra's algorithm
    std::fill(expected.begin(), expected.end(), kInfinity<std::uint32_t>);
    expected[program.source] = 0;
    std::priority_queue<std::pair<std::uint32_t, VertexId>, std::vector<std::pair<std::uint32_t, VertexId>>, std::greater<>>
        queue;
    queue.emplace(0, program.source);
    while (!queue.empty()) {
      const auto [distance, v] = queue.top();
      queue.pop();
      if (distance != expected[v]) continue;
      for (const VertexId u : graph.out()[v]) {
        const std::uint32_t through = distance + 1 + static_cast<std::uint32_t>((v ^ u) % 5);
        if (through >= expected[u]) continue;
        expected[u] = through;
        queue.emplace(through, u);
      }
    }
    const auto session = Open(graph);
    Is(*session, program, expected, "both ends");
    if (HasFatalFailure()) return;
  }
}

// Every vertex is in every halo, and rings are short: devices wait for room and take messages meanwhile.
TEST_P(FusedTest, FullRingsLoseNothing) {
  GeneratorSpec spec;
  spec.family = "uniform";
  spec.scale = 12;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  SessionOptions dealt;
  dealt.partition = "random";
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), GetParam().threads), dealt);
  RunOptions options;
  options.execution = Execution::kAsync;
  options.list_items = 64;
  options.delta = 1000;  // one bucket: all that is improved is sent at once
  SsspOf<std::int32_t> sssp;
  sssp.source = graph.max_degree_vertex();
  const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(graph, sssp.source);
  const auto job = session.Prepare(std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(sssp), options);
  std::vector<std::uint32_t> values(graph.vertices());
  for (int run = 0; run < 20; ++run) {
    const RunStatistics statistics = job->Execute();
    job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    ASSERT_EQ(values, ToVector(expected)) << "run " << run;
    for (const PairStatistics& pair : statistics.pairs) {
      EXPECT_GT(pair.messages, 10 * 64u) << "a ring has 64 places";
    }
    EXPECT_EQ(statistics.pairs.size(), GetParam().together ? session.device_count() * (session.device_count() - 1) : 0u);
  }
}

inline std::string FusedName(const testing::TestParamInfo<FusedCase>& info) { return info.param.name; }

}  // namespace chatty::test
