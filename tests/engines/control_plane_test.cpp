// The control plane of threads, and the counts that devices exchange over it.
#include "chatty/framework/engines/control_plane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../core/waits.h"
#include "../framework/test_inputs.h"
#include "chatty/core/error.h"
#include "chatty/framework/engines/peer_table.h"

namespace chatty::test {
namespace {

using std::chrono::milliseconds;

/// Of waits that end: it bounds a hang.
constexpr milliseconds kHang{60000};
/// More than many machines have cores: waits must give their core away.
constexpr PartId kDevices = 8;

/// body(rank) on `devices` threads at once. The first failure is recorded, and ends all waits, as in DriveDevices.
void OnDevices(ThreadControlPlanes& planes, PartId devices, const std::function<void(ControlPlane&)>& body) {
  std::vector<std::thread> threads;
  for (PartId rank = 0; rank < devices; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(planes[rank]);
      } catch (...) {
        planes.Fail(std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void PauseNowAndThen(std::mt19937& random) {
  if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
}

/// A sum in which NCCL has no part: what NcclState states, through host memory.
class HostSums final : public NcclState {
 public:
  explicit HostSums(std::size_t devices) : meeting_(static_cast<int>(devices)), calls_(devices) {}
  void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) override {
    std::array<std::uint64_t, 64> mine{};
    std::copy(values.begin(), values.end(), mine.begin());
    std::fill(values.begin(), values.end(), 0);
    meeting_.Exchange(static_cast<int>(at), calls_[at]++, mine, wait, "sums", [&](int, const auto& theirs) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += theirs[i];
    });
  }
  void Abort() noexcept override {
    aborted_ = true;
    meeting_.Poison();
  }
  bool reusable() const noexcept override { return !aborted_; }

 private:
  AllGatherBarrier<std::array<std::uint64_t, 64>> meeting_;
  std::vector<std::uint64_t> calls_;
  std::atomic<bool> aborted_{false};
};

struct Numbers {
  double fraction;
  std::uint32_t rank;
  bool odd;
};

void ExpectAllValuesInOrder(NcclState* sums) {
  constexpr int kRounds = 200;
  ThreadControlPlanes planes(kDevices, kHang, sums);
  std::array<std::vector<double>, kDevices> totals;
  std::atomic<int> wrong{0};
  OnDevices(planes, kDevices, [&](ControlPlane& plane) {
    std::mt19937 random(plane.rank() + 1);
    wrong += plane.devices() != kDevices;
    for (int round = 0; round < kRounds; ++round) {
      PauseNowAndThen(random);
      double total = 0;
      PartId next = 0;
      const Numbers mine{1.0 / (1 + plane.rank() + round), plane.rank(), plane.rank() % 2 == 1};
      plane.AllReduce(mine, "the others", [&](PartId r, const Numbers& numbers) {
        wrong += r != next++ || numbers.rank != r || numbers.odd != (r % 2 == 1);
        total += numbers.fraction;
      });
      wrong += next != kDevices;
      totals[plane.rank()].push_back(total);
    }
  });
  planes.RethrowFirst();
  EXPECT_EQ(wrong, 0);
  for (const std::vector<double>& its : totals) EXPECT_EQ(its, totals[0]) << "sums differ in rounding";
}

TEST(ControlPlane, AllDevicesGetAllValuesInOrder) { ExpectAllValuesInOrder(nullptr); }

TEST(ControlPlane, AnAllReduceOfWordsGivesTheSameValues) {
  HostSums sums(kDevices);
  ExpectAllValuesInOrder(&sums);
  EXPECT_TRUE(sums.reusable());
}

TEST(ControlPlane, TheFirstDevicesValueIsAllDevicesValue) {
  ThreadControlPlanes planes(kDevices, kHang);
  std::atomic<int> wrong{0};
  OnDevices(planes, kDevices, [&](ControlPlane& plane) {
    std::mt19937 random(plane.rank() + 1);
    for (std::uint64_t round = 0; round < 200; ++round) {
      PauseNowAndThen(random);
      std::array<std::uint64_t, 20> value;
      value.fill(plane.rank() == 0 ? round : ~std::uint64_t{0});
      plane.Broadcast(value, "the first device");
      wrong += static_cast<int>(std::count_if(value.begin(), value.end(), [&](std::uint64_t v) { return v != round; }));
    }
  });
  planes.RethrowFirst();
  EXPECT_EQ(wrong, 0);
}

// In every epoch a device hears from those of its two neighbours that send: a set that changes. What they put beside their
// headers is there after the all-reduce, and is not overwritten before the one of the next epoch.
TEST(ControlPlane, NeighboursGetHeadersOfTheEpochAndWhatWasPutBesideThem) {
  constexpr std::uint64_t kEpochs = 200;
  struct Header {
    PartId from, to;
    std::uint64_t epoch;
  };
  ThreadControlPlanes planes(kDevices, kHang);
  std::atomic<int> wrong{0}, received{0};
  const auto sends = [](PartId rank, std::uint64_t epoch) { return (rank * 7 + epoch) % 3 != 0; };
  OnDevices(planes, kDevices, [&](ControlPlane& plane) {
    const PartId rank = plane.rank(), before = (rank + kDevices - 1) % kDevices, after = (rank + 1) % kDevices;
    std::mt19937 random(rank + 1);
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      PauseNowAndThen(random);
      for (const PartId to : {before, after}) {
        if (sends(rank, epoch)) plane.Signal(to, epoch, Header{rank, to, epoch});
      }
      plane.Wait(sends(before, epoch) + sends(after, epoch), "neighbours");
      for (const PartId from : {before, after}) {
        if (!sends(from, epoch)) continue;
        const auto header = plane.Header<Header>(from, epoch);
        ++received;
        wrong += header.from != from || header.to != rank || header.epoch != epoch;
      }
      for (const PartId to : {before, after}) {
        if (sends(rank, epoch)) plane.Put(to, epoch, Header{rank, to, epoch + 1});
      }
      plane.AllReduce(0, "the end of the epoch", [](PartId, int) {});
      for (const PartId from : {before, after}) {
        if (!sends(from, epoch)) continue;
        const auto put = plane.Get<Header>(from, epoch);
        wrong += put.from != from || put.to != rank || put.epoch != epoch + 1;
      }
    }
  });
  planes.RethrowFirst();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(received, static_cast<int>(kDevices * kEpochs));
}

// Device 3 fails while the others are in the wait that `wait` makes.
void ExpectFailureEnds(const std::function<void(ControlPlane&)>& wait, NcclState* sums = nullptr) {
  ThreadControlPlanes planes(kDevices, {}, sums);  // without deadline
  std::atomic<int> aborted{0};
  OnDevices(planes, kDevices, [&](ControlPlane& plane) {
    if (plane.rank() == 3) {
      EXPECT_TRUE(waits::AwaitQuiet());
      throw UsageError("the cause");
    }
    try {
      wait(plane);
      ADD_FAILURE() << "device " << plane.rank() << " has waited for nobody";
    } catch (const AbortedError&) {
      ++aborted;
    }
    EXPECT_TRUE(plane.wait().abort->aborted()) << "other waits of the device end, too";
    EXPECT_THROW(wait(plane), AbortedError) << "whoever comes later";
  });
  EXPECT_EQ(aborted, kDevices - 1);
  EXPECT_THROW(planes.RethrowFirst(), UsageError) << "not the errors that followed from it";
}

TEST(ControlPlane, AFailureEndsAllWaitsWithTheFirstError) {
  const auto reduce = [](ControlPlane& plane) { plane.AllReduce(1, "the others", [](PartId, int) {}); };
  ExpectFailureEnds(reduce);
  HostSums sums(kDevices);
  ExpectFailureEnds(reduce, &sums);
  EXPECT_FALSE(sums.reusable()) << "the next run makes others";
  ExpectFailureEnds([](ControlPlane& plane) {
    int value = 0;
    plane.Broadcast(value, "the first device");
  });
  ExpectFailureEnds([](ControlPlane& plane) { plane.Wait(1, "neighbours"); });
}

TEST(ControlPlane, ADeadlineNamesWhatWasAwaited) {
  const auto message = [](const std::function<void(ControlPlane&)>& wait) {
    ThreadControlPlanes planes(2, milliseconds(20));
    try {
      wait(planes[0]);  // alone
    } catch (const TimeoutError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto names = [](const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; };
  EXPECT_TRUE(names(message([](ControlPlane& plane) { plane.AllReduce(1, "all sums", [](PartId, int) {}); }), "all sums"));
  EXPECT_TRUE(names(message([](ControlPlane& plane) {
                      int value = 0;
                      plane.Broadcast(value, "the decision");
                    }),
                    "the decision"));
  EXPECT_TRUE(names(message([](ControlPlane& plane) { plane.Wait(1, "headers"); }), "headers"));
}

TEST(ControlPlane, OneDeviceWaitsForNobody) {
  ThreadControlPlanes planes(1, milliseconds(1));
  for (int i = 0; i < 1000; ++i) {
    int value = i, sum = 0;
    planes[0].AllReduce(i, "nobody", [&](PartId, int its) { sum += its; });
    planes[0].Broadcast(value, "nobody");
    planes[0].Wait(0, "nobody");
    ASSERT_EQ(sum, i);
    ASSERT_EQ(value, i);
  }
}

// The table of a job, and the same from counts that devices exchange, say what the subgraphs say.
TEST(PeerTable, HasTheCountsOfTheSubgraphs) {
  for (const auto& [name, graph] : MixedGraphs(WeightKind::kNone)) {
    for (const PartId parts : {1u, 2u, 3u, 8u}) {
      SCOPED_TRACE(name + " in " + std::to_string(parts));
      PartitionOptions divide;
      divide.parts = parts;
      const Partition partition = MakePartitioner("random")->Divide(graph, divide);
      const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, partition, {});
      std::vector<PeerTable> tables(parts);
      ThreadControlPlanes planes(parts, kHang);
      OnDevices(planes, parts, [&](ControlPlane& plane) {
        std::vector<PeerCounts> counts;
        plane.AllReduce(PeerCounts(subgraphs[plane.rank()]), "counts",
                        [&](PartId, const PeerCounts& its) { counts.push_back(its); });
        tables[plane.rank()] = PeerTable(std::move(counts));
      });
      planes.RethrowFirst();
      tables.emplace_back(std::span<const Subgraph>(subgraphs));
      for (const PeerTable& table : tables) {
        ASSERT_EQ(table.parts(), parts);
        for (PartId from = 0; from < parts; ++from) {
          const Subgraph& sender = subgraphs[from];
          EXPECT_EQ(table.Entries(Traffic::kMessages, from, from), sender.local - sender.owned);
          EXPECT_EQ(table.Entries(Traffic::kShared, from, from), sender.border_union.size());
          for (PartId to = 0; to < parts; ++to) {
            EXPECT_EQ(table.HaloBegin(from, to), sender.halo_begin[to] - sender.owned);
            EXPECT_EQ(table.HaloBegin(from, to + 1), sender.halo_begin[to + 1] - sender.owned);
            if (to == from) continue;
            EXPECT_EQ(table.Entries(Traffic::kMessages, from, to), sender.halo_count(to));
            EXPECT_EQ(table.Entries(Traffic::kShared, from, to), sender.border[to].size());
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace chatty::test
