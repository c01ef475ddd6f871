/// \file
/// What tests of fused runs share: programs of every kind that relaxes edges, and FusedTest, which runs them in every way on
/// an includer's devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "peeling.h"
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

  /// `sources`: active at first. A short list has no room for many: without a Priority, for which GPUs have windows, rounds
  /// begin, and may go on to the end.
  template <class P, class T>
  void Is(Session& session, const P& program, const Array<T>& expected, const char* what, unsigned sources = 1) {
    for (const RunOptions& options : Ways()) {
      SCOPED_TRACE(std::string(what) + ": " + Words(options));
      const Result<P> result = chatty::Run(session, program, options);
      ASSERT_EQ(ToVector(result.values), ToVector(expected));
      EXPECT_TRUE(result.statistics.converged);
      const bool has_room = options.list_items == 0 || sources < options.list_items;
      const bool is_taken = session.device(0).kind() == DeviceKind::kCuda && Traits<P>::kOrders
                                ? fused::kRelaxesTogether<P>
                                : CarriesNothing<P>() && has_room;
      if (GetParam().together && session.graph().edges() > 0 && is_taken) {
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

inline std::string FusedName(const testing::TestParamInfo<FusedCase>& info) { return info.param.name; }

}  // namespace chatty::test
