// Plans of runs: the decisions as values, for a table of options; and that runs keep to them.
#include "chatty/framework/run_plan.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../prebuilt_programs.h"
#include "../registered_programs.h"
#include "chatty/core/trace.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/registration/typed_job.h"
#include "chatty/framework/run_by_name.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/typed_program.h"
#include "chatty/io/generators.h"
#include "chatty/programs/pagerank_push.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

Graph PlannedGraph() { return RandomGraph(11, 700, 3.0, WeightKind::kInt32, false); }

RunPlan PlanOf(Session& session, std::string_view program, std::string_view value = {}, const RunOptions& options = {}) {
  const RegisteredProgram& found = FindProgram(Programs(), program, DeviceKind::kHost);
  ParameterValues parameters;
  for (const ParameterInfo& parameter : found.parameters()) {
    if (parameter.is_vertex) parameters["source"] = "0";
  }
  return found.Plan(session, parameters, value, options);
}

std::string Bytes(const std::optional<std::size_t>& bytes) { return bytes ? fmt::format("{}", *bytes) : "-"; }

/// "level bsp, fused between rounds, push+pull, bytes 0/0" and, on several devices, ", 2 slots of host".
std::string Summary(const ProgramPlan& plan) {
  std::string text = fmt::format("{} {}, fused {}", plan.name, EngineName(plan.engine), FusedUseName(plan.fused));
  if (plan.engine != EngineKind::kOperators) {
    text += fmt::format(", {}{}{}, bytes {}/{}", plan.directions.push ? "push" : "",
                        plan.directions.push && plan.directions.pull ? "+" : "", plan.directions.pull ? "pull" : "",
                        Bytes(plan.message_payload), Bytes(plan.shared_payload));
  }
  if (!plan.comm.paths.empty()) text += fmt::format(", {} slots of {}", plan.slots, fmt::join(plan.comm.paths, "+"));
  return text;
}
std::string Summary(const RunPlan& plan) {
  std::vector<std::string> programs;
  for (const ProgramPlan& program : plan.programs) programs.push_back(Summary(program));
  return fmt::format("{}", fmt::join(programs, "; "));
}

RunOptions With(Execution execution, Direction direction = Direction::kAuto, double delta = kAutoDelta) {
  RunOptions options;
  options.execution = execution;
  options.direction = direction;
  options.delta = delta;
  return options;
}

TEST(RunPlan, FollowsFromProgramOptionsAndDevices) {
  const Graph graph = PlannedGraph();
  const RunOptions automatic, push = With(Execution::kBsp, Direction::kPush), pull = With(Execution::kBsp, Direction::kPull),
                              async = With(Execution::kAsync), buckets = With(Execution::kAuto, Direction::kAuto, 5),
                              async_buckets = With(Execution::kAsync, Direction::kAuto, 5);
  RunOptions slots = async, few_rounds, broadcast;
  slots.slots = 4;
  few_rounds.max_rounds = 3;
  broadcast.comm.broadcast = true;
  struct Case {
    int devices;
    std::string_view program, value;
    const RunOptions& options;
    std::string_view expected;
  };
  const Case cases[] = {
      {1, "bfs", "", automatic, "level bsp, fused between rounds, push+pull, bytes 0/0"},
      {1, "bfs", "", push, "level bsp, fused between rounds, push, bytes 0/-"},
      {1, "bfs", "", few_rounds, "level bsp, fused between rounds, push+pull, bytes 0/0"},
      {1, "bfs", "parent", automatic, "parent bsp, fused between rounds, push+pull, bytes 8/4"},
      {2, "bfs", "", automatic, "level bsp, fused none, push+pull, bytes 0/0, 2 slots of host"},
      {2, "bfs", "", pull, "level bsp, fused none, pull, bytes -/0, 2 slots of host"},
      {2, "bfs", "", async, "level async, fused whole run, together, push, bytes 4/-, 2 slots of host"},
      {4, "bfs", "", slots, "level async, fused whole run, together, push, bytes 4/-, 4 slots of host"},
      {4, "bfs", "parent", automatic,
       "level bsp, fused none, push+pull, bytes 0/0, 2 slots of host; parent bsp, fused none, push+pull, bytes 8/4, 2 slots "
       "of host"},
      {1, "sssp", "", automatic, "distance bsp, fused between rounds, push+pull, bytes 4/4"},
      {1, "sssp", "", few_rounds, "distance bsp, fused none, push+pull, bytes 4/4"},
      {1, "sssp", "", buckets, "distance bsp, fused between rounds, push+pull, bytes 4/4"},
      {1, "sssp", "", async, "distance async, fused whole run, push, bytes 4/-"},
      {1, "sssp", "", async_buckets, "distance async, fused whole run, push, bytes 4/-"},
      {4, "sssp", "", buckets, "distance bsp, fused none, push+pull, bytes 4/4, 2 slots of host"},
      {4, "sssp", "", async_buckets, "distance async, fused whole run, together, push, bytes 4/-, 2 slots of host"},
      {1, "pagerank", "", automatic, "rank bsp, fused none, pull, bytes -/4"},
      {2, "pagerank", "", push, "rank bsp, fused none, push, bytes 8/-, 2 slots of host"},
      {2, "pagerank", "", broadcast, "rank bsp, fused none, pull, bytes -/4, 2 slots of host"},
      {1, "pagerank_push", "", async, "rank bsp, fused none, push+pull, bytes 4/4"},
      {3, "pagerank_push", "", slots, "rank async, fused none, push, bytes 4/-, 4 slots of host"},
      {1, "cc", "", automatic, "component operators, fused none"},
      {2, "cc", "", automatic, "component operators, fused none, 2 slots of host"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(fmt::format("{} {} on {}", one.program, one.value, one.devices));
    Session session(graph, fmt::format("host:{}", one.devices));
    const RunPlan plan = PlanOf(session, one.program, one.value, one.options);
    EXPECT_EQ(Summary(plan), one.expected);
    EXPECT_EQ(plan.devices.size(), plan.memory.size());
    for (const ProgramPlan& program : plan.programs) {
      EXPECT_FALSE(program.why.empty() || program.fused_why.empty());
      EXPECT_EQ(program.frontier, kHostFrontier);
      const bool all = one.options.comm.broadcast;
      EXPECT_EQ(program.comm.broadcasts == Broadcasts::kAlways, all && one.devices > 1);
    }
    EXPECT_EQ(plan, PlanOf(session, one.program, one.value, one.options)) << "planned again";
  }
}

TEST(RunPlan, DiffersWithWhatItDecides) {
  const Graph graph = PlannedGraph();
  Session two(graph, "host:2"), four(graph, "host:4"), again(graph, "host:2");
  const RunPlan plan = PlanOf(two, "sssp");
  EXPECT_EQ(plan, PlanOf(again, "sssp")) << "another session of the same devices and division";
  EXPECT_NE(plan, PlanOf(four, "sssp"));
  EXPECT_NE(plan, PlanOf(two, "bfs"));
  EXPECT_NE(plan, PlanOf(two, "sssp", {}, With(Execution::kAuto, Direction::kPush)));
  EXPECT_NE(plan, PlanOf(two, "sssp", {}, With(Execution::kAuto, Direction::kAuto, 7)));
  RunOptions options;
  options.links = LinkMask::Parse("none", 2);
  EXPECT_NE(plan, PlanOf(two, "sssp", {}, options));
}

TEST(RunPlan, IsWhatTheRunDoes) {
  const Graph graph = PlannedGraph();
  for (const char* const devices : {"host:1", "host:2", "host:4"}) {
    Session session(graph, devices);
    for (const char* const program : {"bfs", "sssp", "pagerank", "cc"}) {
      for (const RunOptions& options : {RunOptions{}, With(Execution::kBsp, Direction::kPull)}) {
        SCOPED_TRACE(fmt::format("{} on {}", program, devices));
        const RunPlan plan = PlanOf(session, program, {}, options);
        const RunStatistics run = RunByName(Programs(), session, program, {}, options).statistics;
        const ProgramPlan& one = plan.programs.at(0);
        EXPECT_EQ(run.execution, EngineName(one.engine));
        EXPECT_EQ(run.transport, one.comm.paths.empty() ? "none" : fmt::format("{}", fmt::join(one.comm.paths, "+")));
        EXPECT_TRUE(one.directions.push || run.push_rounds == 0);
        EXPECT_TRUE(one.directions.pull || run.pull_rounds == 0);
      }
    }
  }
}

/// Levels and parents, twice.
struct LevelsAndParents {
  using Output = VertexId;
  using Programs = SequencePrograms<Bfs, BfsParents>;
  static constexpr Info kInfo{.summary = "levels, and parents twice", .output_name = "parent"};
  template <class Steps>
  void Run(Steps& steps) const {
    for (int turn = 0; turn < 2; ++turn) steps.Then(Bfs{}).Then(BfsParents{});
  }
};

TEST(RunPlan, IsMadeOnceForASequence) {
  const Graph graph = PlannedGraph();
  for (const char* const devices : {"host:1", "host:2"}) {
    Session session(graph, devices);
    Trace trace;
    RunOptions options;
    options.trace = &trace;
    const auto plans = [&] {
      std::size_t count = 0;
      for (const TraceEvent* const event : trace.process().Sorted()) count += event->kind == &spans::kPlan ? 1 : 0;
      return count;
    };
    using SequenceRun = registration::TypedJob<LevelsAndParents, void, CompiledBackends>;
    const RunPlan plan = SequenceRun::Plan(session, {}, options);
    EXPECT_EQ(plans(), 1u);
    SequenceRun job(session, {}, "parent", options);
    for (int trial = 0; trial < 3; ++trial) job.Execute();
    EXPECT_EQ(plans(), 2u) << "planned again";
    EXPECT_EQ(job.plan(), plan);
    ASSERT_EQ(plan.programs.size(), 2u);
    // Without a plan of the caller each distinct program is planned, and not each turn.
    Sequence sequence(session, options);
    for (int turn = 0; turn < 3; ++turn) sequence.Then(Bfs{}).Then(BfsParents{});
    EXPECT_EQ(plans(), 4u);
    EXPECT_EQ(sequence.last()->plan().engine, plan.programs[1].engine);
    EXPECT_EQ(sequence.last()->plan().directions, plan.programs[1].directions);
  }
}

TEST(RunPlan, RefusesWhatNoEngineCanRun) {
  const Graph graph = PlannedGraph();
  Session session(graph, "host:2");
  EXPECT_THROW(PlanOf(session, "pagerank", {}, With(Execution::kAsync)), UsageError);
  EXPECT_THROW(PlanOf(session, "cc", {}, With(Execution::kAsync)), UsageError);
  EXPECT_THROW(PlanOf(session, "bfs", {}, With(Execution::kAsync, Direction::kPull)), UsageError);
  EXPECT_THROW(PlanOf(session, "cdlp", {}, With(Execution::kAuto, Direction::kPush)), UsageError);
  RunOptions options;
  options.comm.data = "p2p-copy";
  EXPECT_THROW(PlanOf(session, "bfs", {}, options), UsageError);
  SessionOptions tight;
  tight.memory_limit = 100;
  Session small(graph, "host:2", tight);
  EXPECT_THROW(PlanOf(small, "bfs"), OutOfMemoryError);
}

TEST(RunPlan, IsText) {
  const Graph graph = PlannedGraph();
  Session session(graph, "host:2");
  RunOptions options;
  options.delta = 5;
  const std::string text = Describe(PlanOf(session, "sssp", {}, options));
  for (const char* const part :
       {"devices     host:0, host:1, partition edge-balanced\n", "distance    bsp: the graph is small\n",
        "  direction push or pull, whichever is predicted to cost less\n", "  buckets   width 5\n",
        "  fused     none: each device has a part of the graph only\n",
        "  payload   4 bytes by push, 4 bytes by pull; sparse, bitmap or dense, whichever is shortest\n",
        "  transport host; 2 buffers a pair\n", "host:1      "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "is not in\n" << text;
  }
}

/// The plan knows a fused engine before there are steps.
template <class P>
void ExpectEngineOfSteps(Session& session, bool needs_buckets) {
  const TypedProgram<P> program{P{}};
  const ProgramTraits& traits = program.traits();
  const PreparedGraphs& graphs = session.Graphs(traits.edges, traits.weights, /*forward=*/true, /*reverse=*/true);
  const std::unique_ptr<StepSet> steps = program.MakeSteps(*graphs.devices[0], {});
  ASSERT_EQ(steps->fused() != nullptr, traits.host_fused.has_value());
  if (!traits.host_fused) return;
  EXPECT_TRUE(traits.host_fused->keeps_rounds);
  EXPECT_EQ(traits.host_fused->needs_buckets, needs_buckets);
  EXPECT_TRUE(traits.host_fused->asynchronous);
  EXPECT_FALSE(traits.host_fused->traces);
}

/// Exact rounds that a GPU may keep in one kernel.
struct QuietPush : PageRankPush {
  static constexpr Hints kHints{.measure_when_quiet = true};
};

template <class P>
void ExpectGpuEngine(bool relaxes) {
  const std::optional<FusedTraits> engine = TypedProgram<P>{P{}}.traits().gpu_fused;
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->keeps_rounds, !relaxes);
  EXPECT_EQ(engine->asynchronous, relaxes);
  EXPECT_EQ(engine->traces, relaxes);
}

TEST(RunPlan, AsyncOfWideFrontiersSendsBuffers) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 16;
  spec.edge_factor = 16;
  spec.weights = WeightKind::kInt32;
  const Graph kron = Generate(spec);
  ASSERT_GT(kron.edges(), EdgeIndex{1} << 20);
  Session two(kron, "host:2"), one(kron, "host:1");
  const RunOptions async = With(Execution::kAsync);
  const RunPlan plan = PlanOf(two, "bfs", "", async);
  EXPECT_TRUE(plan.wide_frontiers);
  EXPECT_FALSE(plan.Fitted(async).relax_together);
  const ProgramPlan& bfs = plan.programs.at(0);
  EXPECT_EQ(bfs.engine, EngineKind::kAsync);
  EXPECT_EQ(bfs.fused, FusedUse::kNone);
  EXPECT_FALSE(bfs.rows.together);
  EXPECT_EQ(bfs.fused_why, "the graph has few levels, whose messages go in buffers");
  RunOptions buffers = async;
  buffers.relax_together = false;
  EXPECT_EQ(plan.memory, PlanOf(two, "bfs", "", buffers).memory) << "no memory for what does not run";
  EXPECT_EQ(PlanOf(one, "bfs", "", async).programs.at(0).fused, FusedUse::kWholeRun);
  // Many levels, also where a host does their rounds in less time than an exchange takes, and graphs that say nothing.
  spec = {};
  spec.family = "grid";
  spec.width = spec.height = 600;
  const Graph grid = Generate(spec);
  ASSERT_GT(grid.edges(), EdgeIndex{1} << 20);
  Session roads(grid, "host:2");
  EXPECT_EQ(PlanOf(roads, "bfs", "", async).programs.at(0).fused, FusedUse::kTogether);
}

TEST(RunPlan, AutoTakesARunOfAllDevicesWhereTheGraphHasManyLevels) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 100;
  spec.weights = WeightKind::kInt32;
  const Graph grid = Generate(spec);
  Session two(grid, "host:2"), one(grid, "host:1");
  const RunPlan taken = PlanOf(two, "bfs");
  EXPECT_EQ(Summary(taken), "level async, fused whole run, together, push, bytes 4/-, 2 slots of host");
  EXPECT_EQ(taken.execution, Execution::kAsync);
  EXPECT_NE(taken.programs.at(0).why.find("levels, each of which would cost an exchange"), std::string::npos);
  EXPECT_EQ(PlanOf(two, "sssp").programs.at(0).fused, FusedUse::kTogether);
  EXPECT_EQ(PlanOf(one, "bfs").programs.at(0).engine, EngineKind::kBsp);
  for (const char* rounds : {"pagerank", "label_propagation", "personalised_pagerank"}) {
    EXPECT_EQ(PlanOf(two, rounds).programs.at(0).engine, EngineKind::kBsp) << rounds;
  }
  EXPECT_EQ(PlanOf(two, "cc").programs.at(0).engine, EngineKind::kOperators);
  const RunPlan parents = PlanOf(two, "bfs", "parent");
  EXPECT_EQ(parents.programs.at(0).fused, FusedUse::kTogether);
  EXPECT_EQ(parents.programs.at(1).engine, EngineKind::kBsp) << "one round";
  EXPECT_EQ(parents.programs.at(1).why, "the default");
  Trace trace;
  RunOptions limited, watched, traced, explained, over_host, unordered;
  limited.max_rounds = 5000;
  watched.on_round = [](const RoundProgress&) {};
  traced.trace = &trace;
  explained.explain = true;
  over_host.comm.data = "host";
  const RunPlan with_progress = PlanOf(two, "bfs", {}, watched);  // not its memory: what is free may change meanwhile
  EXPECT_EQ(Summary(with_progress), Summary(taken)) << "progress does not choose";
  EXPECT_TRUE(with_progress.programs == taken.programs && with_progress.execution == taken.execution);
  const ProgramPlan by_host = PlanOf(two, "bfs", {}, over_host).programs.at(0);
  EXPECT_TRUE(by_host.engine == EngineKind::kAsync && by_host.fused == FusedUse::kNone);
  EXPECT_EQ(by_host.why, taken.programs.at(0).why);
  RunOptions async = With(Execution::kAsync), async_over_host = over_host;
  async_over_host.execution = Execution::kAsync;
  const std::uint64_t together = PlanOf(two, "bfs", {}, async).memory.at(0).state,
                      driven = PlanOf(two, "bfs", {}, async_over_host).memory.at(0).state;
  EXPECT_LT(driven + (1 << 17), together) << "rings that no host-driven run has";
  RunOptions masked = With(Execution::kAsync);
  masked.links = LinkMask::Parse("none", 2);
  EXPECT_EQ(PlanOf(two, "bfs", {}, masked).memory.at(0).state, driven);
  EXPECT_EQ(PlanOf(two, "bfs", {}, masked).programs.at(0).fused_why, "not every two devices address each other's memory");
  for (const RunOptions* options : {&limited, &traced, &explained}) {
    EXPECT_EQ(PlanOf(two, "bfs", {}, *options).programs.at(0).engine, EngineKind::kBsp);
  }
  const auto why = [&](const RunOptions& options) { return PlanOf(two, "bfs", {}, options).programs.at(0).why; };
  EXPECT_TRUE(
      why(explained).starts_with("explain records each message of a round; auto prefers async otherwise: the graph"));
  EXPECT_TRUE(why(traced).starts_with("the trace has a span for each round; auto prefers async otherwise: the graph"));
  EXPECT_EQ(PlanOf(two, "bfs", {}, With(Execution::kAuto, Direction::kPull)).programs.at(0).engine, EngineKind::kBsp);
  unordered.delta = kInfinity<double>;
  EXPECT_EQ(PlanOf(two, "sssp", {}, unordered).programs.at(0).engine, EngineKind::kBsp) << "without an order";
  spec.width = spec.height = 500;
  const Graph large = Generate(spec);
  SessionOptions random;
  random.partition = "random";
  Session scattered(large, "host:2", random);
  const ProgramPlan cut = PlanOf(scattered, "bfs").programs.at(0);
  EXPECT_EQ(cut.engine, EngineKind::kBsp);
  EXPECT_NE(cut.why.find("edges between devices, whose messages go in buffers"), std::string::npos) << cut.why;
  EXPECT_EQ(PlanOf(scattered, "sssp").programs.at(0).engine, EngineKind::kAsync) << "rounds with buckets cost more";
  spec = {};
  spec.family = "kron";
  spec.scale = 12;
  const Graph kron = Generate(spec);
  Session small_world(kron, "host:2");
  EXPECT_EQ(PlanOf(small_world, "bfs").programs.at(0).engine, EngineKind::kBsp);
  EXPECT_EQ(PlanOf(small_world, "bfs").programs.at(0).why, "the graph has few levels");
}

/// Levels that read the number of the round: rounds are needed, whatever is declared.
struct ReadsTheRound {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return v.id == 0 ? 0 : kInfinity<Value>; }
  bool IsActive(const Value& v) const { return v == 0; }
  Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return round.index + 1; }
  bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (m >= v) return false;
    v = m;
    return true;
  }
};

TEST(RunPlan, KeepsRoundsForProgramsThatReadThem) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 100;
  const Graph grid = Generate(spec);
  Session session(grid, "host:2");
  const auto program = std::make_shared<TypedProgram<ReadsTheRound>>(ReadsTheRound{});
  EXPECT_EQ(PlanRun(session, program, {}).programs.at(0).engine, EngineKind::kBsp);
  EXPECT_EQ(PlanRun(session, program, With(Execution::kAsync)).programs.at(0).fused, FusedUse::kNone);
}

TEST(RunPlan, KnowsFusedEngines) {
  const Graph graph = PlannedGraph();
  Session session(graph, "host:1");
  ExpectEngineOfSteps<Bfs>(session, /*needs_buckets=*/false);
  ExpectEngineOfSteps<BfsParents>(session, /*needs_buckets=*/false);
  ExpectEngineOfSteps<SsspOf<std::int32_t>>(session, /*needs_buckets=*/true);
  ExpectGpuEngine<Bfs>(/*relaxes=*/true);
  ExpectGpuEngine<SsspOf<std::int32_t>>(/*relaxes=*/true);
  ExpectGpuEngine<QuietPush>(/*relaxes=*/false);
  Trace trace;
  RunOptions traced;
  traced.trace = &trace;
  EXPECT_EQ(PlanOf(session, "bfs", {}, traced).programs.at(0).fused, FusedUse::kNone) << "a trace shows each round";
}

}  // namespace
}  // namespace chatty::test
