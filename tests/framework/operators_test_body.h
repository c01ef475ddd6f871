/// \file
/// Operators that no engine uses: what groups see, and sums over arrays. Each program is a question whose answers, one a
/// vertex, say what held.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/core/atomics.h"
#include "chatty/core/hash.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/io/generators.h"
#include "chatty/programs/cc.h"
#include "test_inputs.h"

namespace chatty::test {

inline Graph PathOf(std::uint64_t vertices) {
  GeneratorSpec spec;
  spec.family = "chain";
  spec.count = vertices;
  return Generate(spec);
}

/// What is true of a group's call, in bits.
enum : std::uint32_t { kOnce = 1, kAlone = 2, kWithin = 4, kAllThreads = 8, kSums = 16, kSees = 32, kAll = 63 };

/// Adds up numbers that are of no word's size.
struct Three {
  std::uint32_t numbers[3];
};
struct AddThree {
  CHATTY_FN void operator()(Three& sum, const Three& other) const {
    for (int i = 0; i < 3; ++i) sum.numbers[i] += other.numbers[i];
  }
};

/// A group's memory, as long as its index is its own.
struct GroupMemory {
  std::uint32_t user, sum, warps, threads;
};
template <class T>
struct Zero {
  T* values;
  CHATTY_FN void operator()(std::size_t i) const { values[i] = T{}; }
};
struct AskGroup {
  std::uint32_t* answers;
  GroupMemory* memories;
  std::size_t most;

  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t i, const ThreadGroup& group) const {
    if (group.index() >= most) return;  // no memory to ask
    GroupMemory& memory = memories[group.index()];
    if (group.thread() == 0) {
      // Another group of the same index would find this one's number there.
      const bool alone = atomics::CompareSwap(&memory.user, 0u, static_cast<std::uint32_t>(i + 1)) == 0;
      memory.sum = memory.warps = memory.threads = 0;
      atomics::Add<true>(answers + i, kOnce | kWithin | (alone ? kAlone : 0u));  // twice would carry
    }
    group.Sync();
    atomics::Add<true>(&memory.threads, std::uint32_t{group.thread() + 1});
    std::uint32_t lanes = 0;  // 1 + 2 + ... of a warp's
    for (unsigned lane = 0; lane < group.lanes(); ++lane) lanes += lane + 1;
    const Three mine{{group.lane() + 1, 1, group.thread() + 1}};
    const Three of_warp = group.SumOfWarp(mine, AddThree{}), of_group = group.Sum(mine, AddThree{});
    const std::uint32_t of_threads = group.threads() * (group.threads() + 1) / 2;
    const bool sums = group.OfFirstLane(group.thread() + 1) == group.warp() * group.lanes() + 1 &&
                      group.SumOfWarp(group.lane() + 1) == lanes && of_warp.numbers[0] == lanes &&
                      of_warp.numbers[1] == group.lanes() && of_group.numbers[0] == lanes * group.warps() &&
                      of_group.numbers[1] == group.threads() && of_group.numbers[2] == of_threads;
    if (group.lane() == 0) {
      if (sums) atomics::Add<true>(&memory.sum, std::uint32_t{1});
      atomics::Add<true>(&memory.warps, std::uint32_t{group.warp() + 1});
    }
    group.Sync();
    if (group.thread() != 0) return;
    std::uint32_t all = group.threads() * (group.threads() + 1) / 2, warps = group.warps() * (group.warps() + 1) / 2;
    std::uint32_t right = 0;
    if (memory.threads == all && group.threads() == group.warps() * group.lanes()) right |= kAllThreads;
    if (memory.sum == group.warps()) right |= kSums;
    if (memory.warps == warps && memory.user == i + 1) right |= kSees;
    atomics::Add<true>(answers + i, right);
    atomics::Store(&memory.user, 0u);
  }
};
struct GroupQuestion {
  using Output = std::uint32_t;
  std::size_t most = 1;

  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const LocalId n = ops.graph().owned;
    Buffer<GroupMemory> memories = ops.template Allocate<GroupMemory>(most);
    ops.For(most, Zero<GroupMemory>{memories.data()});
    ops.For(n, Zero<Output>{out});
    ops.ForEachGroup(n, most, AskGroup{out, memories.data(), most});
    ops.ForEachGroup(0, most, AskGroup{nullptr, nullptr, most});
  }
};

/// A group's scratch memory is private and large; AppendIndex gives indexes to the lanes that append.
struct AskScratch {
  std::uint32_t* answers;
  std::uint32_t words;  ///< of scratch

  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t i, const ThreadGroup& group) const {
    auto* const scratch = group.template Scratch<std::uint32_t>();
    std::uint32_t* const count = scratch + words - 1;
    const auto mark = [&](std::uint32_t w) { return static_cast<std::uint32_t>(i * 7919 + w); };
    const auto appends = [](std::uint32_t w) { return w % 3 == 0; };
    for (std::uint32_t w = group.thread(); w < words - 1; w += group.threads()) scratch[w] = mark(w);
    if (group.thread() == 0) *count = 0;
    group.Sync();
    std::uint32_t wrong = 0;
    for (std::uint32_t w = group.threads() - 1 - group.thread(); w < words - 1; w += group.threads()) {
      if (scratch[w] != mark(w)) ++wrong;
    }
    const std::uint32_t half = (words - 1) / 2;
    group.Sync();
    for (std::uint32_t w = group.thread(); w < half; w += group.threads()) scratch[w] = 0;
    group.Sync();
    for (std::uint32_t base = 0; base < half; base += group.threads()) {
      const std::uint32_t w = base + group.thread();
      const bool mine = w < half && appends(w);
      const std::uint32_t index = group.AppendIndex(mine, count);
      if (mine) scratch[index] += half + w;
    }
    group.Sync();
    if (*count != (half + 2) / 3) ++wrong;
    const auto add = [](std::uint32_t& sum, std::uint32_t value) { sum += value; };
    std::uint32_t sum = 0, expected = 0;
    for (std::uint32_t w = group.thread(); w < half; w += group.threads()) {
      if ((scratch[w] != 0) != (w < *count)) ++wrong;
      sum += scratch[w];
      expected += appends(w) ? half + w : 0;
    }
    if (group.Sum(sum, add) != group.Sum(expected, add)) ++wrong;
    wrong = group.Sum(wrong, add);
    if (group.thread() == 0) atomics::Add<true>(answers + i, std::uint32_t{wrong == 0} + 2);
  }
};
struct ScratchQuestion {
  using Output = std::uint32_t;
  std::size_t bytes = 0;  ///< 0: as many as there are

  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const LocalId n = ops.graph().owned;
    const std::size_t scratch = bytes == 0 ? ops.max_shared_bytes() : bytes;
    ops.For(n, Zero<Output>{out});
    ops.ForEachGroup(n, ops.groups(), scratch, AskScratch{out, static_cast<std::uint32_t>(scratch / 4)});
    ops.ForEachGroup(0, ops.groups(), scratch, AskScratch{nullptr, 16});
  }
};

/// Numbers that a sum of many does not fit 32 bits of.
struct FillHashes {
  std::uint64_t* numbers;
  CHATTY_FN void operator()(std::size_t i) const { numbers[i] = Hash(i) >> 30; }
};
struct StoreSum {
  const std::uint64_t* sums;
  std::uint64_t* out;
  std::size_t size, owned;
  CHATTY_FN void operator()(LocalId v) const { out[v] = size == 0 ? 0 : sums[v * (size - 1) / (owned > 1 ? owned - 1 : 1)]; }
};
struct SumQuestion {
  using Output = std::uint64_t;
  std::size_t size = 0;

  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    Buffer<std::uint64_t> numbers = ops.template Allocate<std::uint64_t>(size);
    ops.For(size, FillHashes{numbers.data()});
    ops.ExclusiveSum(numbers.data(), size);
    ops.ForEachVertex(StoreSum{numbers.data(), out, size, ops.graph().owned});
  }
};

/// Skips some edges at the beginning of each row and, where a second check follows, the rest of every other row.
struct SkipFirst {
  GraphRef graph;
  const std::uint32_t* seen;
  CHATTY_FN static EdgeIndex Of(VertexId v) { return v % 5; }
  CHATTY_FN static bool Settles(VertexId v) { return v % 2 == 1; }
  CHATTY_FN EdgeIndex operator()(LocalId v) const { return Of(graph.Global(v)); }
};
struct SkipSeen : SkipFirst {
  static constexpr EdgeIndex kCheckAfter = 3;
  CHATTY_FN bool Settled(LocalId v) const {
    return Settles(graph.Global(v)) && atomics::Load(seen + v) == kCheckAfter;  // what those edges did is seen
  }
};
struct NoteEdge {
  AdjacencyRef rows;
  std::uint32_t* visits;
  std::uint32_t* seen;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    // An edge of another row, or of another target, is none of this row's.
    const bool right = e >= rows.offsets[v] && e < rows.offsets[v + 1] && rows.neighbours[e] == u;
    atomics::Add<true>(visits + e, right ? 1u : 1u << 16);
    atomics::Add<true>(seen + v, 1u);
  }
};
/// Output: edges that were visited too often, or not, though they should have been.
template <class Skip>
struct CheckRow {
  GraphRef graph;
  const std::uint32_t* visits;
  std::uint32_t* out;
  bool listed = false;  ///< whether rows of listed vertices were visited alone
  CHATTY_FN static bool Lists(VertexId v) { return v % 7 < 4; }
  CHATTY_FN void operator()(LocalId v) const {
    const VertexId own = graph.Global(v);
    const EdgeIndex begin = graph.forward.offsets[v], degree = graph.forward.degree(v);
    EdgeIndex last = degree;
    if (operators::kCheckAfter < Skip >> 0 && Skip::Settles(own)) last = Skip::Of(own) + operators::kCheckAfter<Skip>;
    std::uint32_t wrong = 0;
    for (EdgeIndex i = 0; i < degree; ++i) {
      const std::uint32_t expected = i >= Skip::Of(own) && i < last && (!listed || Lists(own)) ? 1 : 0;
      if (visits[begin + i] != expected) ++wrong;
    }
    out[v] = wrong;
  }
};
/// Lists, in any order, whose rows are to be visited.
struct ListVertex {
  GraphRef graph;
  LocalId* list;
  LocalId* count;
  CHATTY_FN void operator()(LocalId v) const {
    if (CheckRow<SkipFirst>::Lists(graph.Global(v))) list[atomics::Add<true>(count, LocalId{1})] = v;
  }
};
template <class Skip, bool kListed = false>
struct EdgeQuestion {
  using Output = std::uint32_t;

  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const GraphRef& graph = ops.graph();
    Buffer<std::uint32_t> visits = ops.template Allocate<std::uint32_t>(ops.subgraph_edges());
    Buffer<std::uint32_t> seen = ops.template Allocate<std::uint32_t>(graph.owned);
    ops.For(ops.subgraph_edges(), Zero<std::uint32_t>{visits.data()});
    ops.For(graph.owned, Zero<std::uint32_t>{seen.data()});
    Skip skip;
    skip.graph = graph;
    skip.seen = seen.data();
    const NoteEdge note{graph.forward, visits.data(), seen.data()};
    if constexpr (kListed) {
      Buffer<LocalId> list = ops.template Allocate<LocalId>(std::size_t{graph.owned} + 1);
      LocalId* const count = list.data() + graph.owned;
      ops.For(1, Zero<LocalId>{count});
      ops.ForEachVertex(ListVertex{graph, list.data(), count});
      ops.ForEachEdgeOf(list.data(), count, skip, note);
      ops.ForEachVertex(CheckRow<Skip>{graph, visits.data(), out, true});
      LocalId listed = 0;
      ops.CopyOut(&listed, count, 1);  // the list lives until it has been read
    } else {
      ops.ForEachEdge(skip, note);
      ops.ForEachVertex(CheckRow<Skip>{graph, visits.data(), out});
    }
  }
};

/// What device `from` hands to device `to` in a round: a number of its own, and of some to some nothing.
struct FillPayload {
  std::uint64_t* payload;
  std::uint64_t first;
  CHATTY_FN void operator()(std::size_t i) const { payload[i] = first + i; }
};
struct StoreNumber {
  std::uint64_t* out;
  std::uint64_t number;
  CHATTY_FN void operator()(LocalId v) const { out[v] = number; }
};
struct ExchangeQuestion {
  using Output = std::uint64_t;
  static constexpr std::uint64_t kRounds = 6, kMax = 4000;

  static std::uint64_t Count(PartId from, PartId to, std::uint64_t round) {
    if (round == 3) return 0;  // no device sends
    return (from + 2 * to + round) % 3 * (round + 1) * 100;
  }
  static std::uint64_t First(PartId from, PartId to, std::uint64_t round) { return ((from * 16 + to) * 16 + round) << 20; }

  /// Output: how many objects came that were not the right ones.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const PartId devices = ops.devices();
    Buffer<std::uint64_t> payloads = ops.template Allocate<std::uint64_t>(devices * kMax);
    std::uint64_t wrong = 0;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (PartId p = 0; p < devices; ++p)
        ops.For(Count(ops.rank(), p, round), FillPayload{payloads.data() + p * kMax, First(ops.rank(), p, round)});
      std::vector<bool> heard(devices, false);
      ops.template AllToAllv<std::uint64_t>(
          [&](PartId to) {
            return std::span<const std::uint64_t>(payloads.data() + to * kMax, Count(ops.rank(), to, round));
          },
          [&](PartId from, std::span<const std::uint64_t> theirs) {
            heard[from] = true;
            std::vector<std::uint64_t> here(theirs.size());
            ops.CopyOut(here.data(), theirs.data(), theirs.size());
            if (here.size() != Count(from, ops.rank(), round)) ++wrong;
            for (std::size_t i = 0; i < here.size(); ++i) wrong += here[i] != First(from, ops.rank(), round) + i ? 1 : 0;
          });
      for (PartId p = 0; p < devices; ++p) {
        const bool should = p != ops.rank() && Count(p, ops.rank(), round) > 0;
        if (heard[p] != should) ++wrong;
      }
      const PartId next = (ops.rank() + 1) % devices, last = (ops.rank() + devices - 1) % devices;
      std::size_t received = 77;
      const std::uint64_t* const theirs =
          ops.Exchange(next, payloads.data() + next * kMax, Count(ops.rank(), next, round), last, &received);
      const std::size_t expected = devices == 1 ? 0 : Count(last, ops.rank(), round);
      if (received != expected || (theirs != nullptr) != (expected > 0)) ++wrong;
    }
    struct Pair {
      double sum, largest;
    };
    const double mine = ops.rank() + 1;
    const Pair all = ops.AllReduce(Pair{mine, -mine}, [](const Pair& a, const Pair& b) {
      return Pair{a.sum + b.sum, std::max(a.largest, b.largest)};
    });
    if (all.sum != devices * (devices + 1) / 2.0 || all.largest != -1) ++wrong;
    if (ops.AllReduceSum(mine) != all.sum || ops.BroadcastFirst(mine) != 1) ++wrong;
    const auto each = ops.AllGather(Pair{mine, -mine});
    for (PartId p = 0; p < devices; ++p) wrong += each[p].sum != p + 1 || each[p].largest != -1.0 - p ? 1 : 0;
    ops.ForEachVertex(StoreNumber{out, wrong});
  }
};

/// Several tiles of vertices each: grids with and without holes, whose first neighbours make columns and short trees; paths
/// in a random order; components, one of them large; and many vertices alone.
inline std::vector<Graph> GraphsOfTrees() {
  std::vector<Graph> graphs;
  for (const double drop : {0.0, 0.38, 0.7}) {
    GeneratorSpec spec;
    spec.family = "grid";
    spec.width = 163;
    spec.height = 307;
    spec.drop = drop;
    graphs.push_back(Generate(spec));
  }
  const auto linked = [&](std::uint64_t vertices, auto&& target) {
    std::vector<TestEdge> edges;
    for (std::uint64_t v = 0; v < vertices; ++v) {
      if (target(v) < vertices) edges.push_back({v, target(v)});
    }
    graphs.push_back(MakeSymmetric(vertices, edges));
  };
  linked(49999, [](std::uint64_t v) { return v * 1234 % 49999; });
  linked(33001, [](std::uint64_t v) { return v % 100 == 99 ? v : v + 1; });
  linked(32769, [](std::uint64_t v) { return v + 1; });
  linked(50000, [](std::uint64_t v) { return Hash(v) % (v % 3 == 0 ? 50000 : 1 + v / 40); });
  linked(40000, [](std::uint64_t v) { return v % 9 == 0 ? v / 2 : v; });
  linked(40000, [](std::uint64_t v) { return v < 20000 ? 39999 - v : v; });
  linked(1, [](std::uint64_t v) { return v; });
  // Halves that are not joined; and halves that are, whose odd vertices only know one of the other half.
  linked(40000, [](std::uint64_t v) { return v == 19999 ? v : v + 1; });
  linked(40000, [](std::uint64_t v) { return v % 2 == 0 ? v + 2 : 40000 - v; });
  for (const char* family : {"kron", "uniform"}) {  // neighbours anywhere, so that few of them show the largest component
    GeneratorSpec spec;
    spec.family = family;
    spec.scale = 16;
    for (const std::uint64_t factor : {5, 12}) {
      spec.edge_factor = factor;
      graphs.push_back(Generate(spec));
    }
  }
  return graphs;
}

class OperatorsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotShared(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(OperatorsTest, AThreadGroupIsAloneWithItsIndexAndAllOfItIsThere) {
  for (const std::uint64_t vertices : {1u, 5u, 3000u}) {
    const Graph graph = PathOf(vertices);
    Session session(graph, SharedDevices(GetParam()));
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{5000}}) {
      const auto result = chatty::Run(session, GroupQuestion{most});
      for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(result.values[v], kAll) << "vertex " << v << ", " << most;
    }
  }
}

TEST_P(OperatorsTest, AThreadGroupsScratchIsItsOwn) {
  const Graph graph = PathOf(900);
  Session session(graph, SharedDevices(GetParam()));
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{4004}, std::size_t{65544}, std::size_t{0}}) {
    const auto result = chatty::Run(session, ScratchQuestion{bytes});
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(result.values[v], 3u) << "vertex " << v << ", " << bytes;
  }
}

TEST_P(OperatorsTest, EdgesAreVisitedOnceButForThoseToSkip) {
  // Rows of every length: none, short ones, those that a warp walks, and hubs that are cut into slices, odd and even.
  std::vector<TestEdge> edges;
  constexpr std::uint64_t kVertices = 40000;
  for (std::uint64_t v = 0; v < kVertices; ++v) {
    const std::uint64_t degree = v < 4 ? 9000 * (v + 1) : v % 1000 == 7 ? 700 : v % 50;
    for (std::uint64_t i = 0; i < degree; ++i) edges.push_back({v, Hash(v * 50000 + i) % kVertices});
  }
  const Graph graph = MakeGraph(kVertices, edges);
  for (const char* partition : {"edge-balanced", "random"}) {
    SessionOptions options;
    options.partition = partition;
    Session session(graph, SharedDevices(GetParam()), options);
    const auto once = chatty::Run(session, EdgeQuestion<SkipFirst>{});
    const auto asked = chatty::Run(session, EdgeQuestion<SkipSeen>{});
    const auto listed = chatty::Run(session, EdgeQuestion<SkipFirst, true>{});
    const auto listed_and_asked = chatty::Run(session, EdgeQuestion<SkipSeen, true>{});
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_EQ(once.values[v], 0u) << "vertex " << v << ", " << partition;
      ASSERT_EQ(asked.values[v], 0u) << "vertex " << v << ", asked again, " << partition;
      ASSERT_EQ(listed.values[v], 0u) << "vertex " << v << " of a list, " << partition;
      ASSERT_EQ(listed_and_asked.values[v], 0u) << "vertex " << v << " of a list, asked again, " << partition;
    }
  }
}

TEST_P(OperatorsTest, EachDeviceHasWhatOthersHandToIt) {
  const Graph graph = PathOf(600);
  Session session(graph, SharedDevices(GetParam()));
  for (int run = 0; run < 2; ++run) {  // buffers are there the second time
    const auto result = chatty::Run(session, ExchangeQuestion{});
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(result.values[v], 0u) << "vertex " << v;
  }
}

TEST_P(OperatorsTest, ComponentsOfTreesOfEveryLength) {
  std::size_t index = 0;
  for (const Graph& graph : GraphsOfTrees()) {
    SCOPED_TRACE("graph " + std::to_string(index++));
    for (const char* partition : {"edge-balanced", "contiguous", "random"}) {
      SessionOptions options;
      options.partition = partition;
      Session session(graph, SharedDevices(GetParam(), options.threads), options);
      for (const bool tiled : {false, true}) {
        const int repeats = partition == std::string_view("edge-balanced") ? 3 : 1;  // on one session each
        for (int repeat = 0; repeat < repeats; ++repeat) {
          const auto result = chatty::Run(session, ConnectedComponents{.tiled = tiled});
          const Verdict verdict = VerifyComponents(graph, result.values);
          ASSERT_TRUE(verdict.passed) << verdict.message << (tiled ? ", in tiles, " : ", ") << partition;
        }
      }
    }
  }
}

TEST_P(OperatorsTest, ExclusiveSumIsOfThoseBefore) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1023}, std::size_t{300001}}) {
    const Graph graph = PathOf(600);
    Session session(graph, SharedDevices(GetParam()));
    const auto result = chatty::Run(session, SumQuestion{size});
    std::vector<std::uint64_t> sums(size);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sums[i] = sum;
      sum += Hash(i) >> 30;
    }
    // Each device stores its sums from the first to the last, as many as it has vertices.
    std::vector<std::uint64_t> expected;
    for (const PartId part : {PartId{0}, PartId{1}, PartId{2}}) {
      if (part >= session.device_count()) break;
      const std::size_t owned = result.statistics.devices[part].vertices;
      ASSERT_GT(owned, 1u);
      for (std::size_t v = 0; v < owned; ++v) expected.push_back(size == 0 ? 0 : sums[v * (size - 1) / (owned - 1)]);
    }
    std::vector<std::uint64_t> found(result.values.begin(), result.values.end());
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << size;
  }
}

}  // namespace chatty::test
