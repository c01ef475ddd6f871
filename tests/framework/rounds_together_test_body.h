// Exact rounds of few vertices in resident kernels: of one GPU, or of several together. Host devices meet in shared memory.
// What a program computes must be what one other device computes, bit for bit, or rounds that the host drives, on the only
// GPU. It must take the same rounds, edges and updates as these. Includers instantiate RoundsTogetherTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/trace.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "feature_programs.h"
#include "peeling.h"
#include "test_inputs.h"

namespace chatty::test {

/// Counts of shortest paths, modulo 2^32, and levels by Round::index.
struct PathCounts {
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

/// Sums of eight bytes whose messages read the round's index and its active vertices on all devices, both ends of an edge
/// and its weight; updates read the round, too. Vertices become active again and again, until they have been so often.
struct Rumours {
  using Weight = std::int32_t;
  struct Value {
    std::uint64_t sum;
    std::uint32_t times;
  };
  using Shared = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  VertexId source = 0;
  std::uint32_t most = 40;

  CHATTY_FN Value InitVertex(Vertex v) const { return {v.id, v.id == source ? 1u : 0u}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.times == 1; }
  CHATTY_FN Shared Share(const Value& v, Vertex x) const { return v.sum * 3 + x.out_degree; }
  CHATTY_FN Message ComputeScatter(const Shared& s, Edge<Weight> e, const Round<>& round) const {
    return s + round.index * 1000 + round.active * 7 + e.source * 13 + e.target + static_cast<std::uint64_t>(e.weight);
  }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>& round) const {
    v.sum = v.sum * 31 + m + round.active + round.phase;
    return ++v.times < most && (v.times <= 2 || (m + round.index) % 3 != 0);
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return v.sum * 64 + v.times; }
};

/// Largest of what others say, with a Filter that opens and closes: a vertex that wants no message must not keep one for
/// the next round. Updates read the round's active vertices.
struct Moods {
  struct Value {
    std::uint32_t best, times;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const {
    return {static_cast<std::uint32_t>(Mix(v.id) % 1000), v.id == source ? 1u : 0u};
  }
  CHATTY_FN bool IsActive(const Value& v) const { return v.times == 1; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<> e) const {
    return static_cast<std::uint32_t>(Mix(v.best * 64 + v.times + e.target) % 1000000);
  }
  CHATTY_FN bool Filter(const Value& v) const { return v.best % 3 != 2 || v.times % 5 == 0; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>& round) const {
    v.best = v.best * 31 + m + round.active;
    return ++v.times < 30;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return std::uint64_t{v.best} << 8 | v.times; }
};

/// One message a round, each of which matters: bits travel, and halo copies may not remember that they have sent.
struct Ticks {
  struct Value {
    std::uint32_t sum, times;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.any_message_suffices = true};
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return {static_cast<std::uint32_t>(v.id), v.id == source ? 1u : 0u}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.times == 1; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return 3 * (round.index % 5) + 1; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return RoundMessage(round); }
  CHATTY_FN bool Filter(const Value& v) const { return v.sum % 7 != 6; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    v.sum = v.sum * 31 + m;
    return ++v.times < 30 && v.sum % 4 != 0;
  }
  CHATTY_FN std::uint64_t Output(const Value& v) const { return std::uint64_t{v.sum} << 8 | v.times; }
};

/// Least labels, by rounds: a vertex is improved again and again, and its copies filter what is no improvement.
struct LeastLabels {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;

  CHATTY_FN Value InitVertex(Vertex v) const { return Mix(v.id) % 100000; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, Message m, Vertex) const {
    if (m >= label) return false;
    label = m;
    return true;
  }
};

/// Says something better after some rounds, which RoundMessage does not allow.
struct BetterLate : Nearest<std::uint32_t, true> {
  CHATTY_FN std::uint32_t RoundMessage(const Round<>& round) const { return round.index < 7 ? 100 + round.index : 50; }
};

struct TogetherCase {
  const char* name;
  const char* devices;
  const char* partition = "edge-balanced";
};
inline std::string TogetherName(const testing::TestParamInfo<TogetherCase>& info) { return info.param.name; }

class RoundsTogetherTest : public testing::TestWithParam<TogetherCase> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam().devices); !why.empty()) GTEST_SKIP() << why;
  }

  static bool OnGpus() { return std::string_view(GetParam().devices).starts_with("cuda"); }
  static std::unique_ptr<Session> Open(const Graph& graph) {
    SessionOptions options;
    options.partition = GetParam().partition;
    return std::make_unique<Session>(graph, OpenDevices(ParseDevices(GetParam().devices), 0), options);
  }
  static RunOptions Rounds(bool together = true) {
    RunOptions options;
    options.execution = Execution::kBsp;
    options.rounds_together = together;
    return options;
  }
  static Graph Made(const char* family, std::uint64_t size) {
    GeneratorSpec spec;
    spec.family = family;
    spec.weights = WeightKind::kInt32;
    spec.scale = static_cast<int>(size);
    spec.count = size;
    spec.width = size;
    spec.height = size;
    spec.drop = 0.05;
    return Generate(spec);
  }

  static bool Alone() { return std::string_view(GetParam().devices) == "cuda:0"; }
  /// One device, of the same kind: programs of a CUDA test are compiled for GPUs alone.
  static std::unique_ptr<Session> OpenOne(const Graph& graph) {
    return std::make_unique<Session>(graph, OnGpus() ? "cuda:0" : "host:1");
  }
  /// Rounds that the host drives on one GPU, too: it notes each in `trace`.
  static RunOptions RoundsOfTheHost(Trace& trace) {
    RunOptions options = Rounds(/*together=*/false);
    if (Alone()) options.trace = &trace;
    return options;
  }
  /// Rounds of OpenOne's device, with which others are compared: of the host, where it is the only device that is tested.
  static RunOptions RoundsOfOne(Trace& trace) { return Alone() ? RoundsOfTheHost(trace) : Rounds(); }

  /// Runs P on one device, on this test's devices, and on these with rounds that the host drives; pushed, and as rounds
  /// choose. Returns how many of the latter were in resident kernels.
  template <class P>
  static std::uint32_t Check(Session& session, const P& program, const char* what, std::uint32_t max_rounds = 0) {
    const auto one = OpenOne(session.graph());
    std::uint32_t fused = 0;
    for (const Direction direction : {Direction::kPush, Direction::kAuto}) {
      SCOPED_TRACE(std::string(what) + (direction == Direction::kPush ? ", pushed" : ""));
      Trace of_one, of_host;
      RunOptions alone = RoundsOfOne(of_one), apart = RoundsOfTheHost(of_host), together = Rounds(), short_lists = Rounds();
      short_lists.list_items = 5;
      for (RunOptions* options : {&alone, &together, &apart, &short_lists}) {
        options->max_rounds = max_rounds;
        options->direction = direction;
      }
      const Result<P> expected = chatty::Run(*one, program, alone);
      const Result<P> host = chatty::Run(session, program, apart);
      const Result<P> result = chatty::Run(session, program, together);
      EXPECT_EQ(ToVector(result.values), ToVector(expected.values));
      EXPECT_EQ(ToVector(host.values), ToVector(expected.values));
      EXPECT_EQ(host.statistics.fused_steps, 0u);
      if (OnGpus()) {
        const Result<P> spilled = chatty::Run(session, program, short_lists);
        EXPECT_EQ(ToVector(spilled.values), ToVector(expected.values));
        EXPECT_EQ(spilled.statistics.rounds, result.statistics.rounds);
        EXPECT_EQ(spilled.statistics.fused_steps, result.statistics.fused_steps);
        EXPECT_EQ(spilled.statistics.edges_touched, result.statistics.edges_touched);
        EXPECT_EQ(spilled.statistics.vertices_updated, result.statistics.vertices_updated);
      }
      EXPECT_EQ(result.statistics.ended, host.statistics.ended);
      EXPECT_EQ(result.statistics.rounds, host.statistics.rounds);
      EXPECT_EQ(result.statistics.phases, host.statistics.phases);
      EXPECT_EQ(result.statistics.push_rounds + result.statistics.pull_rounds, result.statistics.rounds);
      fused = result.statistics.fused_steps;
      if (!OnGpus()) {
        EXPECT_EQ(fused, 0u);
      }
      if (direction == Direction::kAuto) continue;  // pulls read other edges, and a last round may be left out
      EXPECT_EQ(result.statistics.edges_touched, host.statistics.edges_touched);
      EXPECT_EQ(result.statistics.vertices_updated, host.statistics.vertices_updated);
      EXPECT_EQ(Crossed(result.statistics), Crossed(host.statistics));
    }
    return fused;
  }
  /// Messages to vertices of other devices, before combining.
  static std::uint64_t Crossed(const RunStatistics& statistics) {
    std::uint64_t crossed = 0;
    for (const PairStatistics& pair : statistics.pairs) {
      EXPECT_LE(pair.messages, pair.messages_before);
      EXPECT_GE(pair.bytes, pair.messages > 0 ? 1u : 0u);
      crossed += pair.messages_before;
    }
    return crossed;
  }

  /// Every program, from one source.
  static void CheckAll(const Graph& graph, VertexId source, std::uint32_t max_rounds = 0) {
    const auto session = Open(graph);
    PathCounts paths;
    paths.source = source;
    Check(*session, paths, "path counts", max_rounds);
    Rumours rumours;
    rumours.source = source;
    Check(*session, rumours, "rumours", max_rounds);
    Moods moods;
    moods.source = source;
    Check(*session, moods, "moods", max_rounds);
    Ticks ticks;
    ticks.source = source;
    Check(*session, ticks, "ticks", max_rounds);
    Bfs bfs;
    bfs.source = source;
    Check(*session, bfs, "levels", max_rounds);
    BfsTree tree;
    tree.source = source;
    Check(*session, tree, "levels and parents", max_rounds);
    Check(*session, LabelPropagation{}, "labels", max_rounds);
    Check(*session, LeastLabels{}, "least labels", max_rounds);
    Check(*session, Nearest<std::uint32_t, false>{}, "distances to the nearest", max_rounds);
    Check(*session, Picky{}, "filters of both kinds", max_rounds);
    Check(*session, Sharing{}, "wide shared values", max_rounds);
    Check(*session, Tokens{}, "tokens that are consumed", max_rounds);
    if (max_rounds == 0) Check(*session, Peeling{}, "cores");
  }
};

TEST_P(RoundsTogetherTest, LongWays) {
  CheckAll(Made("grid", 40), 3);
  CheckAll(Made("chain", 400), 150);
  CheckAll(Made("binary-tree", 5000), 4999);
}

TEST_P(RoundsTogetherTest, AnswersAreThoseOfOneThread) {
  for (const Graph& graph : {Made("grid", 40), Made("chain", 700), Made("kron", 9)}) {
    const auto session = Open(graph);
    Bfs bfs;
    bfs.source = graph.max_degree_vertex();
    PathCounts paths;
    paths.source = bfs.source;
    const Array<std::uint32_t> levels = SerialBfs(graph, bfs.source);
    EXPECT_EQ(ToVector(chatty::Run(*session, bfs, Rounds()).values), ToVector(levels));
    const Result<PathCounts> counted = chatty::Run(*session, paths, Rounds());
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(counted.values[v] >> 32, levels[v]) << v;
    EXPECT_EQ(ToVector(chatty::Run(*session, Peeling{}, Rounds()).values), ToVector(SerialKCore(graph)));
    EXPECT_EQ(ToVector(chatty::Run(*session, LabelPropagation{}, Rounds()).values), ToVector(SerialComponents(graph)));
  }
}

TEST_P(RoundsTogetherTest, SmallAndOddGraphs) {
  for (const NamedGraph& input : MixedGraphs(WeightKind::kInt32)) {
    SCOPED_TRACE(input.name);
    if (input.graph.vertices() == 0) continue;  // no source
    CheckAll(input.graph, input.graph.vertices() / 2);
    if (HasFailure()) return;
  }
  CheckAll(MakeGraph(3000, {}, WeightKind::kInt32), 2999);
}

TEST_P(RoundsTogetherTest, HubsAndWideFrontiers) {
  const Graph kron = Made("kron", 10);
  CheckAll(kron, kron.max_degree_vertex());
  CheckAll(Made("star", 9000), 4321);  // a long row
  CheckAll(HubGraph(41, 5000, WeightKind::kInt32, false), 3);
}

// Narrow for long, wide for a moment, narrow again: rounds go to the host, or to the kernel of wide rounds, and come back,
// with nothing lost.
TEST_P(RoundsTogetherTest, WideRoundsAreTheHosts) {
  std::vector<TestEdge> edges;
  VertexId last = 0;
  const auto append = [&](VertexId from) {
    ++last;
    edges.push_back({from, last, static_cast<double>(last % 7)});
    return last;
  };
  for (int i = 0; i < 60; ++i) append(last);
  std::vector<VertexId> level(1, last);
  const int doublings = OnGpus() ? 19 : 12;
  for (int wider = 0; wider <= doublings; ++wider) {  // no row is long; the last level has 3 * 2^19 edges on GPUs
    std::vector<VertexId> next;
    for (const VertexId v : level) {
      for (int child = 0; child < (wider < doublings ? 2 : 3); ++child) next.push_back(append(v));
    }
    level = std::move(next);
  }
  for (int i = 0, at = static_cast<int>(level.back()); i < 80; ++i) at = static_cast<int>(append(static_cast<VertexId>(at)));
  const Graph graph = MakeGraph(last + 1, edges, WeightKind::kInt32);
  const auto session = Open(graph);
  const std::uint32_t paths = Check(*session, PathCounts{}, "path counts"), rumours = Check(*session, Rumours{}, "rumours");
  const std::uint32_t levels = Check(*session, Bfs{}, "levels");
  if (OnGpus()) {
    EXPECT_GT(levels, 100u);
    EXPECT_GT(paths, 100u);  // 60 rounds before and 80 after, but a few
    EXPECT_LE(paths, 157u);  // of 160, and not the wide one, nor the first two
    EXPECT_GT(rumours, 100u);
  }
}

// Rows of four edges and fewer, of a few turns of a warp, rows that blocks deal out, and rows that are the host's; each with
// rounds of two or three vertices, of which one block finds all.
TEST_P(RoundsTogetherTest, RowsOfEveryLength) {
  std::vector<TestEdge> edges;
  VertexId last = 0, at = 0;
  for (const VertexId leaves :
       {0, 1, 2, 3, 4, 5, 28, 30, 31, 61, 62, 63, 124, 125, 126, 127, 600, 1022, 2045, 2046, 2047, 3000}) {
    for (int turn = 0; turn < 5; ++turn) {  // narrow rounds, after which the kernel begins again
      edges.push_back({at, ++last, static_cast<double>(last % 7)});
      at = last;
    }
    for (VertexId leaf = 0; leaf < leaves; ++leaf) edges.push_back({at, ++last, static_cast<double>(last % 7)});
  }
  CheckAll(MakeSymmetric(last + 1, edges, WeightKind::kInt32), 0);
  CheckAll(MakeGraph(last + 1, edges, WeightKind::kInt32), 0);
}

// Frontiers of which one block finds far more than others: a grid from its corner, and bushes of which each begins at a
// vertex.
TEST_P(RoundsTogetherTest, FrontiersAreDealtOut) {
  const Graph grid = Made("grid", OnGpus() ? 700 : 60);
  const auto session = Open(grid);
  Check(*session, PathCounts{}, "path counts");
  Rumours rumours;
  rumours.most = 4;
  Check(*session, rumours, "rumours");
  std::vector<TestEdge> edges;
  VertexId last = 0;
  for (VertexId parent = 0; parent < 3000; ++parent) {
    const VertexId children = parent % 60 == 59 ? 200 : parent % 2 + 1;
    for (VertexId child = 0; child < children; ++child) edges.push_back({parent, ++last, static_cast<double>(last % 5)});
  }
  const Graph bushes = MakeSymmetric(last + 1, edges, WeightKind::kInt32);
  const auto other = Open(bushes);
  Check(*other, PathCounts{}, "path counts of bushes");
  Check(*other, rumours, "rumours of bushes");
  Check(*other, Moods{}, "moods of bushes");
}

// Rounds of up to 650,000 edges, most of which cross: blocks' lists have no room for what they find.
TEST_P(RoundsTogetherTest, RoundsOfManyEdges) {
  GeneratorSpec spec;
  spec.family = "uniform";
  spec.weights = WeightKind::kInt32;
  spec.scale = OnGpus() ? 16 : 8;
  spec.edge_factor = 5;
  const Graph graph = Generate(spec);
  const auto session = Open(graph);
  Rumours rumours;
  rumours.most = 6;
  Check(*session, rumours, "rumours");
  Check(*session, PathCounts{}, "path counts");
  Check(*session, Moods{}, "moods");
  RunOptions pushed = Rounds();
  pushed.direction = Direction::kPush;
  const RunStatistics statistics = chatty::Run(*session, rumours, pushed).statistics;
  EXPECT_GT(statistics.edges_touched, graph.edges());
  if (OnGpus()) {
    EXPECT_GE(statistics.fused_steps + 4, statistics.rounds);
  }
}

TEST_P(RoundsTogetherTest, RoundsAreInResidentKernels) {
  const Graph graph = Made("grid", 60);
  const auto session = Open(graph);
  const std::uint32_t paths = Check(*session, PathCounts{}, "path counts");
  const std::uint32_t levels = Check(*session, Bfs{}, "levels");
  const std::uint32_t rumours = Check(*session, Rumours{}, "rumours");
  if (OnGpus()) {
    EXPECT_GT(paths, 50u);
    EXPECT_GT(rumours, 20u);
    if (!Alone()) {  // one GPU relaxes edges in any order instead
      EXPECT_GT(levels, 50u);
    }
  }
  const Graph chain = Made("chain", 3000);
  const auto along = Open(chain);
  const std::uint32_t cores = Check(*along, Peeling{}, "cores");
  if (OnGpus()) {
    EXPECT_GT(cores, 1000u);
  }
}

TEST_P(RoundsTogetherTest, RoundsAreLimitedExactly) {
  const Graph graph = Made("grid", 30);
  for (const std::uint32_t rounds : {1u, 2u, 3u, 4u, 5u, 11u, 24u}) {
    CheckAll(graph, 17, rounds);
    if (HasFailure()) return;
  }
}

TEST_P(RoundsTogetherTest, AStopEndsTheSameRoundOnAllDevices) {
  const VertexId length = 200000;
  std::vector<TestEdge> edges;
  edges.reserve(length);
  for (VertexId v = 0; v + 1 < length; ++v) edges.push_back({v, v + 1, 1.0});
  const Graph graph = MakeGraph(length, edges);
  SessionOptions dealt;
  dealt.partition = GetParam().partition;
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), 0), dealt);
  std::stop_source stop;
  RunOptions options = Rounds();
  options.stop = stop.get_token();
  options.on_round = [&](const RoundProgress& progress) {
    if (progress.rounds == 2) stop.request_stop();  // the next rounds are in resident kernels
  };
  const auto job = session.Prepare(std::make_shared<TypedProgram<PathCounts>>(PathCounts{}), options);
  const RunStatistics stopped = job->Execute();
  EXPECT_EQ(stopped.ended, Ended::kStopped);
  EXPECT_LT(stopped.rounds, length - 1);
  std::vector<std::uint64_t> values(length);
  job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  for (VertexId v = 0; v < length; ++v) {
    ASSERT_EQ(values[v] >> 32, v <= stopped.rounds ? v : kInfinity<std::uint32_t>) << v << " of " << stopped.rounds;
  }
  job->SetLimits(1000, {});
  EXPECT_EQ(job->Execute().rounds, 1000u);
}

// The error comes after the rounds, and on all devices; the next run is whole.
TEST_P(RoundsTogetherTest, AWrongMessageFailsTheRunAndTheNextOneIsWhole) {
  if (Alone()) GTEST_SKIP() << "a device alone sends no messages";
  const Graph graph = Made("grid", 40);
  SessionOptions dealt;
  dealt.partition = "random";
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), 0), dealt);
  const auto job = session.Prepare(std::make_shared<TypedProgram<BetterLate>>(BetterLate{}), Rounds());
  for (int run = 0; run < 3; ++run) EXPECT_THROW(job->Execute(), UsageError);
  job->SetLimits(1, {});
  EXPECT_EQ(job->Execute().rounds, 1u);
}

// One device fails while others wait in a kernel, or are about to begin it. The next run is whole.
TEST_P(RoundsTogetherTest, AFailureOfOneDeviceEndsTheOthersKernels) {
  const Graph graph = Made("chain", 400);
  SessionOptions dealt;
  dealt.partition = "random";
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), 0), dealt);
  int calls = 0, fails_at = 0;
  RunOptions options = Rounds();
  options.on_round = [&](const RoundProgress&) {
    if (++calls == fails_at) throw std::runtime_error("this device fails");
  };
  const auto program = std::make_shared<TypedProgram<PathCounts>>(PathCounts{});
  const auto job = session.Prepare(program, options);
  const RunStatistics whole = job->Execute();
  const int all = calls;
  EXPECT_GT(all, 0);
  for (fails_at = 1; fails_at <= std::min(all, 5); ++fails_at) {
    calls = 0;
    EXPECT_THROW(job->Execute(), std::runtime_error) << "call " << fails_at;
  }
  calls = 0;
  fails_at = 0;
  const RunStatistics again = job->Execute();
  EXPECT_EQ(again.rounds, whole.rounds);
  EXPECT_EQ(again.vertices_updated, whole.vertices_updated);
  EXPECT_EQ(calls, all);
}

// Rounds in kernels count what they send: on a chain no two messages combine, and each is an entry of a list.
TEST_P(RoundsTogetherTest, EntriesAreCounted) {
  if (Alone() || !OnGpus()) GTEST_SKIP() << "no lists between devices";
  const Graph graph = Made("chain", 700);
  SessionOptions dealt;
  dealt.partition = "random";
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), 0), dealt);
  std::uint64_t messages[2] = {}, before[2] = {}, bytes[2] = {}, resident[2] = {};
  for (const int run : {0, 1}) {
    RunOptions options = Rounds();
    options.max_rounds = run == 0 ? 100 : 600;
    const RunStatistics statistics = chatty::Run(session, PathCounts{}, options).statistics;
    resident[run] = statistics.fused_steps;
    for (const PairStatistics& pair : statistics.pairs) {
      messages[run] += pair.messages;
      before[run] += pair.messages_before;
      bytes[run] += pair.bytes;
    }
  }
  EXPECT_EQ(resident[1] - resident[0], 500u);
  EXPECT_GT(messages[1] - messages[0], 100u);
  EXPECT_EQ(messages[1] - messages[0], before[1] - before[0]);
  EXPECT_EQ(bytes[1] - bytes[0], (messages[1] - messages[0]) * fused::kTeamEntryBytes);
}

// A race is a matter of time.
TEST_P(RoundsTogetherTest, HundredsOfRuns) {
  for (const Graph& graph : {Made("grid", 40), Made("kron", 9), Made("uniform", 9)}) {
    const auto session = Open(graph);
    const auto one = OpenOne(graph);
    Rumours rumours;
    rumours.source = graph.max_degree_vertex();
    Trace trace;
    const std::vector<std::uint64_t> expected = ToVector(chatty::Run(*one, rumours, RoundsOfOne(trace)).values);
    const auto job = session->Prepare(std::make_shared<TypedProgram<Rumours>>(rumours), Rounds());
    std::vector<std::uint64_t> values(graph.vertices());
    const int runs = OnGpus() ? 200 : 20;
    for (int run = 0; run < runs; ++run) {
      job->Execute();
      job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
      ASSERT_EQ(values, expected) << "run " << run;
    }
  }
}

TEST_P(RoundsTogetherTest, ThePlanSaysWhoDrivesRounds) {
  if (Alone()) GTEST_SKIP() << "a plan of one device";
  const Graph graph = Made("grid", 20);
  const auto session = Open(graph);
  const auto program = std::make_shared<TypedProgram<PathCounts>>(PathCounts{});
  const auto of = [&](const RunOptions& options) { return PlanRun(*session, program, options).programs[0]; };
  const ProgramPlan plan = of(RunOptions{});
  if (!OnGpus()) {
    EXPECT_EQ(plan.fused, FusedUse::kNone);
    EXPECT_EQ(plan.fused_why, "each device has a part of the graph only");
    return;
  }
  EXPECT_EQ(plan.fused, FusedUse::kBetweenRounds) << plan.fused_why;
  EXPECT_EQ(plan.fused_why, "the devices address each other's memory");
  EXPECT_EQ(of(Rounds(false)).fused_why, "the host is to drive each round");
  RunOptions named;
  named.comm = ParseCommSpec("staged");
  EXPECT_EQ(of(named).fused_why, "a transport is asked for");
  RunOptions pulled;
  pulled.direction = Direction::kPull;
  EXPECT_EQ(of(pulled).fused_why, "rounds only pull, and a fused engine needs forward edges");
  RunOptions explained;
  explained.explain = true;
  EXPECT_EQ(of(explained).fused_why, "the buffers of rounds are to be explained");
  const auto measures = std::make_shared<TypedProgram<Phases>>(Phases{});
  EXPECT_EQ(PlanRun(*session, measures, RunOptions{}).programs[0].fused, FusedUse::kNone);
}

}  // namespace chatty::test
