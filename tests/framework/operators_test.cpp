#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "../core/waits.h"
#include "chatty/comm/cost_model.h"
#include "operators_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, OperatorsTest, testing::Values("host:1", "host:2", "host:3"));

// Short payloads and long ones take different paths between the same two devices, and both ends know which.
TEST(OperatorPaths, EachPayloadTakesTheFasterOfSeveral) {
  const Graph graph = PathOf(600);
  const auto devices = OpenDevices(ParseDevices("host:2"), 2);
  const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, Partition::FromBounds({0, 250, 600}, ""), {});
  std::vector<Device*> pointers;
  std::vector<std::unique_ptr<DeviceGraph>> graphs;
  std::vector<Buffer<std::uint64_t>> outputs;
  for (PartId d = 0; d < 2; ++d) {
    pointers.push_back(devices[d].get());
    graphs.push_back(std::make_unique<DeviceGraph>(*devices[d], subgraphs[d]));
    outputs.emplace_back(*devices[d], subgraphs[d].owned);
  }
  CostModel costs({"host", "staged"}, 2);
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    for (const MeasuredLoad load : kAllLoads) {
      costs.set_cost(0, from, to, load, {1, 1});
      costs.set_cost(1, from, to, load, {1000, 0.001});
    }
  }
  RunOptions options;
  options.timeout = std::chrono::seconds(60);
  OperatorGroup group(pointers, options, costs);
  for (int run = 0; run < 2; ++run) {
    group.Reset();
    RunOnDevices(2, [&](int d) {
      try {
        DeviceStatistics account;
        HostOperators operators(group, *graphs[d], account);
        ExchangeQuestion{}.Run(operators, outputs[d].data());
      } catch (...) {
        group.Fail(std::current_exception());
      }
    });
    ASSERT_NO_THROW(group.RethrowFirst());
    EXPECT_EQ(group.transport_name(), "host+staged");
    for (PartId d = 0; d < 2; ++d) {
      for (LocalId v = 0; v < subgraphs[d].owned; ++v) ASSERT_EQ(outputs[d].data()[v], 0u) << "vertex " << v;
    }
  }
}

// A device that is late before anything was asked of a transport is named, and so is the transport.
TEST(OperatorPaths, ATimeoutSaysWhoHadNotComeAndByWhichPath) {
  const Graph graph = PathOf(600);
  const auto devices = OpenDevices(ParseDevices("host:3"), 3);
  const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, Partition::FromBounds({0, 200, 400, 600}, ""), {});
  std::vector<Device*> pointers;
  std::vector<std::unique_ptr<DeviceGraph>> graphs;
  for (PartId d = 0; d < 3; ++d) {
    pointers.push_back(devices[d].get());
    graphs.push_back(std::make_unique<DeviceGraph>(*devices[d], subgraphs[d]));
  }
  RunOptions options;
  options.comm.data = "staged";
  options.timeout = std::chrono::seconds(60);  // which pass at once, when the other two wait
  OperatorGroup group(pointers, options);
  const auto run = [&](int late) {
    group.Reset();
    std::atomic<bool> failed{false};
    RunOnDevices(3, [&](int d) {
      try {
        DeviceStatistics account;
        HostOperators operators(group, *graphs[d], account);
        if (d == late) {
          EXPECT_TRUE(waits::AwaitQuiet());
          waits::Advance(2 * options.timeout);
        }
        while (d == late && !failed) std::this_thread::yield();
        operators.AllReduceSum(1);
      } catch (...) {
        group.Fail(std::current_exception());
        failed = true;
      }
    });
    return group.LastOperation();
  };
  EXPECT_EQ(run(1), "nothing had been asked of transport staged yet; host:1 had not come");
  EXPECT_THROW(group.RethrowFirst(), TimeoutError);
  EXPECT_EQ(run(2), "nothing had been asked of transport staged yet; host:2 had not come")
      << "of the run before nothing is left";
}

// Which entries of a row are linked first, where devices begin with what they own and where they do not.
TEST(FirstLinks, OwnedEntriesFollowWhatIsLess) {
  const auto device = std::move(OpenDevices(ParseDevices("host:1"), 2).front());
  for (const Graph& graph : GraphsOfTrees()) {
    if (!graph.symmetric()) continue;
    const VertexId n = graph.vertices();
    const Partition partition = Partition::FromBounds({0, n / 4, n / 2, n / 2, n}, "");
    for (const Subgraph& part : BuildSubgraphs(graph, partition, {.own_begins = true})) {
      const DeviceGraph placed(*device, part);
      const GraphRef& ref = placed.ref();
      ASSERT_EQ(ref.own_begins.there(), part.owned > 0 && part.owned < n);
      if (!ref.own_begins.there()) continue;
      const union_find::FirstLinks own{ref, true}, all{ref, false};
      for (LocalId v = 0; v < part.owned; ++v) {
        ASSERT_EQ(all.Begin(v), ref.forward.offsets[v]);
        const EdgeIndex begin = own.Begin(v), end = ref.forward.offsets[v + 1];
        ASSERT_LE(begin, end);
        for (EdgeIndex e = ref.forward.offsets[v]; e < end; ++e) {
          ASSERT_EQ(ref.Global(ref.forward.neighbours[e]) < ref.first_id, e < begin) << "row " << v;
          const bool first_is_owned = begin < end && own.Has(ref.forward.neighbours[begin]);
          ASSERT_TRUE(first_is_owned || !own.Has(ref.forward.neighbours[e])) << "row " << v;
        }
      }
      EXPECT_TRUE(own.Has(part.owned - 1));
      EXPECT_FALSE(own.Has(part.owned));
      EXPECT_TRUE(all.Has(part.owned));
    }
  }
}

/// Who is joined with whom.
class Joined {
 public:
  explicit Joined(std::size_t vertices) : parent_(vertices) { std::iota(parent_.begin(), parent_.end(), VertexId{0}); }
  VertexId Root(VertexId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void Join(VertexId a, VertexId b) {
    const VertexId p = Root(a), q = Root(b);
    parent_[std::max(p, q)] = std::min(p, q);
  }

 private:
  std::vector<VertexId> parent_;
};

// Tiles join each vertex with those of its first two neighbours that are less, and with a first one in another tile: no more
// and no fewer, all at once or some eighths at a time. Trees are then flattened, several vertices at a time.
TEST(Tiles, JoinWhatRowsBeginWith) {
  const auto device = std::move(OpenDevices(ParseDevices("host:1"), 2).front());
  int index = 0;
  for (const Graph& graph : GraphsOfTrees()) {
    const VertexId n = graph.vertices();
    for (const bool ranges : {true, false}) {
      Array<PartId> owners(n);
      for (VertexId v = 0; v < n; ++v) owners[v] = ranges ? (v < n / 2 ? 0 : 1) : static_cast<PartId>(Hash(v) % 2);
      for (const Subgraph& part :
           BuildSubgraphs(graph, Partition::FromOwners(std::move(owners), 2, ""), {.own_begins = true})) {
        const DeviceGraph placed(*device, part);
        const GraphRef& ref = placed.ref();
        for (const bool own : {false, true}) {
          if (part.owned == 0 || (own && !ref.own_begins.there())) continue;
          const union_find::FirstLinks links{ref, own};
          for (const bool eighths : {false, true}) {
            SCOPED_TRACE(testing::Message() << "graph " << index << ", part " << part.part << (ranges ? ", ranges" : "")
                                            << (own ? ", own alone" : "") << (eighths ? ", some eighths at a time" : ""));
            using union_find::Tiles;
            const std::size_t count = Tiles::Count(part.owned);
            std::vector<VertexId> parent(n);
            std::iota(parent.begin(), parent.end(), VertexId{0});
            std::vector<std::uint16_t> places(std::size_t{2} * part.owned);
            std::vector<Tiles::Counts> counts(count);
            alignas(16) static std::array<std::byte, union_find::LinkTile::kScratch> scratch;
            const Tiles tiles{.there = true, .owned = part.owned, .places = places.data(), .counts = counts.data()};
            for (std::size_t tile = 0; tile < count; ++tile) {
              union_find::LinkTile{links, parent.data(), tiles}(tile, operators::host::ThreadGroup(tile, scratch.data()));
              ASSERT_LE(counts[tile].first + counts[tile].second, tiles.Size(tile));
            }
            union_find::LinkTileRest link{parent.data(), links, tiles};
            for (const std::uint32_t to : {1u, 3u, 8u}) {
              if (!eighths && to < link.kEighths) continue;
              link.to = to;
              for (std::size_t piece = count * link.kPieces; piece-- > 0;) link(piece, operators::host::ThreadGroup(piece));
              link.from = to;
            }
            Joined expected(n), got(n);
            for (LocalId v = 0; v < part.owned; ++v) {
              const EdgeIndex begin = links.Begin(v), end = ref.forward.offsets[v + 1];
              for (EdgeIndex e = begin; e < std::min(end, begin + Tiles::kLooked); ++e) {
                const LocalId u = ref.forward.neighbours[e];
                if (!links.Has(u)) continue;
                const bool elsewhere = u >= part.owned || u / Tiles::kSize != v / Tiles::kSize;
                const VertexId a = ref.Global(v), b = ref.Global(u);
                if (b < a || (e == begin && elsewhere)) expected.Join(a, b);
              }
            }
            for (VertexId v = 0; v < n; ++v) got.Join(v, parent[v]);
            for (VertexId v = 0; v < n; ++v) ASSERT_EQ(got.Root(v), expected.Root(v)) << "vertex " << v;
            const LocalId calls = union_find::CompressSome::Calls(ref);
            for (LocalId i = 0; i < calls; ++i) union_find::CompressSome{ref, parent.data(), calls}(i);
            for (LocalId v = 0; v < part.owned; ++v) ASSERT_EQ(parent[ref.Global(v)], got.Root(ref.Global(v)));
          }
        }
      }
    }
    ++index;
  }
}

TEST(CompressSome, FlattensFewAsWell) {
  for (const VertexId n : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 1000u}) {
    GraphRef graph;
    graph.vertices = graph.owned = graph.local = n;
    std::vector<VertexId> parent(n + 1);
    for (VertexId v = 0; v <= n; ++v) parent[v] = v < 3 || v == n ? v : v - 2;  // two chains, and a vertex outside of both
    const LocalId calls = union_find::CompressSome::Calls(graph);
    EXPECT_EQ(calls, (n + 3) / 4);
    for (LocalId i = 0; i < calls; ++i) union_find::CompressSome{graph, parent.data(), calls}(i);
    for (VertexId v = 0; v < n; ++v) EXPECT_EQ(parent[v], v == 0 ? 0 : 2 - v % 2) << v << " of " << n;
    EXPECT_EQ(parent[n], n);
  }
}

TEST(PairLists, AreEndToEnd) {
  std::vector<std::vector<VertexId>> lists = {{}, {1, 2}, {}, {3, 4, 5, 6, 7, 8}, {9, 10}, {}};
  union_find::PairLists all;
  EXPECT_EQ(all.size(), 0u);
  for (const auto& list : lists) all.Add(list);
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i][0], 2 * i + 1);
    EXPECT_EQ(all[i][1], 2 * i + 2);
  }
}

}  // namespace
}  // namespace chatty::test
