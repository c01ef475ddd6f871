// The host's steps called one by one: push and pull of one round fill the same inboxes, with any team and in any form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "chatty/core/team.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/program_state.h"
#include "chatty/framework/steps/host/apply.h"
#include "chatty/framework/steps/host/frontier.h"
#include "chatty/framework/steps/host/group.h"
#include "chatty/framework/steps/host/pull.h"
#include "chatty/framework/steps/host/push.h"
#include "chatty/framework/steps/message_layout.h"
#include "test_inputs.h"

namespace chatty::test {
namespace host = steps::host;

/// Sends along edges of every third vertex; Weight included.
template <class M, Reduction kWhich>
struct OneRound {
  using Weight = std::int32_t;
  using Value = M;
  using Message = M;
  static constexpr auto kReduction = kWhich;
  static constexpr auto kSafety = Safety::kSynchronous;
  std::uint32_t sparse = 3;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<M>(v.id * 7 % 1000 + 1); }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const {
    return static_cast<std::uint32_t>(value) % sparse == 0;
  }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<Weight> e, const Round<>&) const {
    return static_cast<M>(value + static_cast<M>(e.weight));
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    value = m;
    return (v.id + static_cast<VertexId>(m)) % 2 == 0;
  }
};

/// Two words compared in turn, combined by a swap of eight bytes.
struct OnePair {
  struct Message {
    std::uint32_t first, second;
  };
  using Value = std::uint32_t;
  using Weight = std::int32_t;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Message kIdentity{~0u, ~0u};
  std::uint32_t sparse = 3;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id * 7 % 1000 + 1); }
  CHATTY_FN bool IsActive(const Value& value, const Round<>&) const { return value % sparse == 0; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<Weight> e, const Round<>&) const {
    return {value % 5, static_cast<std::uint32_t>(e.source) + static_cast<std::uint32_t>(e.weight)};
  }
  CHATTY_FN Message ComputeReduce(Message a, Message b) const {
    return a.first < b.first || (a.first == b.first && a.second <= b.second) ? a : b;
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value = m.first * 1000 + m.second;
    return value % 2 == 0;
  }
};

static_assert(CheckProgram<OneRound<std::uint32_t, Reduction::kMin>>() && CheckProgram<OnePair>());

namespace {

std::uint64_t Word(std::uint32_t x) { return x; }
std::uint64_t Word(std::uint64_t x) { return x; }
std::uint64_t Word(std::uint16_t x) { return x; }
std::uint64_t Word(const OnePair::Message& m) { return (std::uint64_t{m.first} << 32) | m.second; }

/// What a round leaves behind, whichever way it went.
struct Outcome {
  std::map<LocalId, std::uint64_t> inbox;  ///< vertices with a message
  std::vector<std::uint64_t> values;
  std::vector<LocalId> active;
  std::uint64_t active_vertices = 0, active_edges = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class StepsTest : public testing::TestWithParam<int> {
 protected:
  template <class P>
  struct Bench {
    Bench(const Graph& graph, const P& program, int threads)
        : device(MakeHostDevice(0, threads)), partition(Partition::FromBounds({0, graph.vertices()}, "whole")) {
      SubgraphOptions options;
      options.weights = WeightKind::kInt32;
      subgraphs = BuildSubgraphs(graph, partition, options);
      on_device = std::make_unique<DeviceGraph>(*device, subgraphs[0]);
      state = std::make_unique<ProgramState<P>>(*on_device, program);
    }
    const StateRef<P>& s() const { return state->ref(); }
    template <class Body>
    void Run(Body&& body) {
      std::uint32_t after = sweeps;
      device->team()->Run(device->team()->size(), [&](TeamMember& member) {
        host::Group group(member, cursors, sweeps);
        body(group);
        if (group.rank() == 0) after = group.sweeps();
      });
      sweeps = after;
    }

    std::unique_ptr<Device> device;
    Partition partition;
    std::vector<Subgraph> subgraphs;
    std::unique_ptr<DeviceGraph> on_device;
    std::unique_ptr<ProgramState<P>> state;
    host::Cursors cursors;
    std::uint32_t sweeps = 0;
  };

  /// One round from the start. `in` is the frontier's form, `queue_out` what a push is asked for.
  template <class P>
  Outcome OneRoundOf(const Graph& graph, const P& program, bool pull, Form in, bool queue_out) {
    Bench<P> bench(graph, program, GetParam());
    const auto& s = bench.s();
    const LocalId n = s.graph.owned;
    const RoundOf<P> round;
    *s.control = Control{};
    bench.Run([&](host::Group& g) {
      host::Init(g, s, nullptr);
      g.sync();
      host::Activate(g, s, round);
    });
    std::uint64_t senders = 0, edges = 0, candidate_edges = 0;
    for (LocalId v = 0; v < n; ++v) {
      candidate_edges += s.graph.reverse.degree(v);
      const bool sends = program.IsActive(s.values[v], round);
      EXPECT_EQ(bits::Test(s.active, v), sends) << v;
      senders += sends;
      edges += sends ? s.graph.forward.degree(v) : 0;
    }
    EXPECT_EQ(s.control->active_vertices, senders);
    if (senders == 1) {
      EXPECT_TRUE(bits::Test(s.active, s.frontier[0])) << "the only vertex is in the queue";
      ++lone_frontiers_;
    }
    EXPECT_EQ(s.control->active_edges, edges);
    EXPECT_EQ(static_cast<std::uint64_t>(s.control->candidate_edges), candidate_edges);

    if (in == Form::kQueue) {
      *s.control = Control{};
      bench.Run([&](host::Group& g) { host::BitmapToQueue(g, s); });
      EXPECT_EQ(s.control->next_count, senders);
      bench.state->SwapFrontier();
      std::vector<LocalId> queue(s.frontier, s.frontier + senders);
      std::sort(queue.begin(), queue.end());
      EXPECT_EQ(std::adjacent_find(queue.begin(), queue.end()), queue.end()) << "a vertex is queued twice";
      for (const LocalId v : queue) EXPECT_TRUE(bits::Test(s.active, v));
      // And back: only a complete bitmap is any good.
      bench.Run([&](host::Group& g) {
        host::ClearActive(g, s, false);
        g.sync();
        host::QueueToBitmap(g, s, senders);
      });
      for (LocalId v = 0; v < n; ++v) EXPECT_EQ(bits::Test(s.active, v), program.IsActive(s.values[v], round)) << v;
    }
    *s.control = Control{};
    if (pull) {
      bench.Run([&](host::Group& g) {
        host::Gather(g, s, round, in == Form::kAll);
        g.sync();
        host::GatherSlices(g, s, round, in == Form::kAll);
      });
      EXPECT_EQ(s.control->edges_touched, candidate_edges) << "a pull without Filter looks at every edge";
    } else {
      bench.Run([&](host::Group& g) {
        host::Advance(g, s, round, in, in == Form::kQueue ? senders : n, queue_out);
        g.sync();
        host::AdvanceSlices(g, s, round, queue_out);
      });
      EXPECT_EQ(s.control->edges_touched, in == Form::kAll ? candidate_edges : edges);
    }

    Outcome outcome;
    for (LocalId v = 0; v < n; ++v) {
      if (bits::Test(s.touched, v)) {
        outcome.inbox[v] = Word(s.inbox[v].message);
      } else {
        EXPECT_EQ(Word(s.inbox[v].message), Word(IdentityOf<P>())) << "an untouched inbox holds a message";
      }
    }
    if (!pull && queue_out) {
      EXPECT_EQ(s.control->touched_count, outcome.inbox.size());
      std::vector<LocalId> queue(s.touched_queue, s.touched_queue + s.control->touched_count);
      std::sort(queue.begin(), queue.end());
      EXPECT_TRUE(std::ranges::equal(queue, outcome.inbox, {}, {}, [](const auto& entry) { return entry.first; }));
    }
    const Form out = !pull && queue_out ? Form::kQueue : Form::kBitmap;
    bench.Run([&](host::Group& g) { host::Apply(g, s, round, out, out == Form::kQueue ? s.control->touched_count : n); });
    for (LocalId v = 0; v < n; ++v) {
      outcome.values.push_back(Word(s.values[v]));
      EXPECT_FALSE(bits::Test(s.touched, v)) << "Apply leaves nothing touched";
      EXPECT_EQ(Word(s.inbox[v].message), Word(IdentityOf<P>())) << "and every inbox empty";
      if (out == Form::kBitmap && bits::Test(s.active, v)) outcome.active.push_back(v);
    }
    if (out == Form::kQueue) {
      outcome.active.assign(s.next, s.next + s.control->next_count);
      std::sort(outcome.active.begin(), outcome.active.end());
    }
    outcome.active_vertices = s.control->active_vertices;
    outcome.active_edges = s.control->active_edges;
    EXPECT_EQ(outcome.active.size(), outcome.active_vertices);
    return outcome;
  }

  /// The same round by the definition.
  template <class P>
  Outcome BySerialLoop(const Graph& graph, const P& program, bool everybody) {
    Outcome outcome;
    const VertexId n = graph.vertices();
    const RoundOf<P> round;
    const auto& weights = std::get<Array<std::int32_t>>(graph.out().weights);
    std::vector<MessageOf<P>> combined(n, IdentityOf<P>());
    std::vector<bool> touched(n, false);
    for (VertexId u = 0; u < n; ++u) {
      const ValueOf<P> value = program.InitVertex({u, 0, 0});
      if (!everybody && !program.IsActive(value, round)) continue;
      for (EdgeIndex e = graph.out().offsets[u]; e < graph.out().offsets[u + 1]; ++e) {
        const VertexId v = graph.out().neighbours[e];
        const MessageOf<P> message = program.ComputeScatter(value, {u, v, weights[e]}, round);
        combined[v] = touched[v] ? Reduce<P>(program, combined[v], message) : message;
        touched[v] = true;
      }
    }
    for (VertexId v = 0; v < n; ++v) {
      ValueOf<P> value = program.InitVertex({v, 0, 0});
      if (touched[v]) {
        outcome.inbox[static_cast<LocalId>(v)] = Word(combined[v]);
        if (program.UpdateStatus(value, combined[v], {v, 0, 0}, round)) {
          outcome.active.push_back(static_cast<LocalId>(v));
          outcome.active_vertices += 1;
          outcome.active_edges += graph.out_degree(v);
        }
      }
      outcome.values.push_back(Word(value));
    }
    return outcome;
  }

  template <class P>
  void AllWaysAgree(const P& program) {
    static const std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kInt32);
    for (const NamedGraph& input : graphs) {
      SCOPED_TRACE(input.name);
      const Outcome expected = BySerialLoop(input.graph, program, false);
      const Outcome everybody = BySerialLoop(input.graph, program, true);
      for (int repeat = 0; repeat < 2; ++repeat) {
        EXPECT_TRUE(OneRoundOf(input.graph, program, true, Form::kBitmap, false) == expected) << "pull";
        EXPECT_TRUE(OneRoundOf(input.graph, program, true, Form::kQueue, false) == expected) << "pull after a queue";
        EXPECT_TRUE(OneRoundOf(input.graph, program, true, Form::kAll, false) == everybody) << "pull from all";
        for (const bool queue_out : {false, true}) {
          SCOPED_TRACE(queue_out ? "queue out" : "bitmap out");
          EXPECT_TRUE(OneRoundOf(input.graph, program, false, Form::kBitmap, queue_out) == expected) << "push from a bitmap";
          EXPECT_TRUE(OneRoundOf(input.graph, program, false, Form::kQueue, queue_out) == expected) << "push from a queue";
          EXPECT_TRUE(OneRoundOf(input.graph, program, false, Form::kAll, queue_out) == everybody) << "push from all";
        }
        if (HasFailure()) return;
      }
    }
  }

  unsigned lone_frontiers_ = 0;  // first frontiers of one vertex
};

TEST_P(StepsTest, MinByAtomics) { AllWaysAgree(OneRound<std::uint32_t, Reduction::kMin>{}); }
TEST_P(StepsTest, MaxOfTwoBytes) { AllWaysAgree(OneRound<std::uint16_t, Reduction::kMax>{}); }
TEST_P(StepsTest, SumOfEightBytes) { AllWaysAgree(OneRound<std::uint64_t, Reduction::kSum>{1}); }
TEST_P(StepsTest, OrOfFourBytes) { AllWaysAgree(OneRound<std::uint32_t, Reduction::kOr>{2}); }
TEST_P(StepsTest, CustomPair) { AllWaysAgree(OnePair{}); }
TEST_P(StepsTest, OneVertexSends) {
  AllWaysAgree(OneRound<std::uint32_t, Reduction::kMin>{997});  // vertex 428 alone, up to 1428 vertices
  EXPECT_GT(lone_frontiers_, 0u);
}
TEST_P(StepsTest, NobodySends) { AllWaysAgree(OneRound<std::uint32_t, Reduction::kMin>{100000}); }

std::string TeamName(const testing::TestParamInfo<int>& info) { return "team_" + std::to_string(info.param); }
INSTANTIATE_TEST_SUITE_P(Teams, StepsTest, testing::Values(1, 2, 5), TeamName);

// A payload of a size that is no multiple of its alignment's friends survives the way through a record.
template <class Payload>
void RecordsKeep(const Payload& payload) {
  alignas(16) std::byte buffer[512];
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::memset(buffer, 0xee, sizeof(buffer));
    steps::StoreRecord(buffer, i, 4711 + i, payload);
    Payload back;
    EXPECT_EQ(steps::LoadRecord(buffer, i, &back), 4711 + i);
    EXPECT_EQ(std::memcmp(&back, &payload, sizeof(payload)), 0);
    EXPECT_EQ(buffer[SparseBytes(i + 1, sizeof(Payload))], std::byte{0xee}) << "wrote past its record";
    EXPECT_TRUE(i == 0 || buffer[SparseBytes(i, sizeof(Payload)) - 1] == std::byte{0xee}) << "wrote before its record";
  }
}
TEST(Records, EveryWidth) {
  RecordsKeep(Slot<std::uint32_t>{0x01020304u});
  RecordsKeep(Slot<std::uint64_t>{0x0102030405060708u});
  struct Wide {
    std::uint64_t a, b;
  };
  RecordsKeep(Slot<Wide>{{0x0102030405060708u, 0x1112131415161718u}});
}

TEST(WidthRule, LimitsOfEachCase) {
  constexpr fused::WidthRule kRule{
      .few = 70, .many = 220, .halve_above = 0.625, .narrow_above = 0.375, .trim_above = 0.0625};
  const auto next = [&](std::uint64_t done, std::uint64_t first, bool counts = true, double width = 8) {
    return kRule.Next(width, done, first, counts, /*workers=*/100, /*least=*/1, /*most=*/16);
  };
  EXPECT_EQ(next(16000, 5999), 4) << "more than five eighths followed again";
  EXPECT_EQ(next(16000, 9999), 6.4) << "more than three eighths";
  EXPECT_EQ(next(16000, 14999), 6.4) << "more than a sixteenth, and enough to do";
  EXPECT_EQ(next(16000, 15000), 8) << "a sixteenth";
  EXPECT_EQ(next(6999, 5999), 10) << "few items: a sixteenth does not count";
  EXPECT_EQ(next(6999, 4000), 6.4) << "few items: three eighths do";
  EXPECT_EQ(next(22100, 22100), 6.4) << "many items";
  EXPECT_EQ(next(16000, 0, /*counts=*/false), 8) << "first improvements do not show";
  EXPECT_EQ(next(6999, 6999, true, 15), 16) << "at most";
  EXPECT_EQ(next(16000, 0, true, 1.5), 1) << "at least";
}

TEST(MessageBuffers, LengthsOfAllForms) {
  EXPECT_EQ(SparseBytes(3, 8), 36u);
  EXPECT_EQ(DenseBytes(3, 8), 24u);
  EXPECT_EQ(BitmapValuesOffset(0), 0u);
  EXPECT_EQ(BitmapValuesOffset(1), 16u) << "a word of bits and a segment's place";
  EXPECT_EQ(BitmapValuesOffset(96), 16u);
  EXPECT_EQ(BitmapValuesOffset(97), 32u);
  EXPECT_EQ(BitmapValuesOffset(256), 48u) << "eight words and one place";
  EXPECT_EQ(BitmapBytes(256, 100, 4), 48u + 100 * 4);
  EXPECT_EQ(BitmapBytes(256, 100, 0), 32u) << "bits alone";
}

}  // namespace
}  // namespace chatty::test
