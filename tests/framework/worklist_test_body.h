/// \file
/// Tests of distributed worklists, for host devices and for GPUs: every item once, in the order of priorities, and every
/// end. The parameter is what --devices takes, and the threads of host devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/atomics.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "chatty/framework/worklist/worklist.h"
#include "test_inputs.h"

namespace chatty::test {

struct WorklistCase {
  const char* name;
  const char* devices;
  int threads = 0;  ///< of host devices together
};
inline std::string WorklistName(const testing::TestParamInfo<WorklistCase>& info) { return info.param.name; }
inline void PrintTo(const WorklistCase& which, std::ostream* out) { *out << which.devices; }

/// Devices of a worklist.
struct WorklistDevices {
  explicit WorklistDevices(const std::string& text, int threads = 0) : owners(OpenDevices(ParseDevices(text), threads)) {
    for (const auto& owner : owners) all.push_back(owner.get());
  }
  std::size_t size() const { return all.size(); }
  std::vector<std::unique_ptr<Device>> owners;
  std::vector<Device*> all;
};

/// Objects in a device's memory, zero at first.
template <class T>
class DeviceArray {
 public:
  DeviceArray(Device& device, std::size_t size) : device_(device), buffer_(MakeCurrent(device), size) {
    device.Fill(buffer_.data(), 0, buffer_.bytes(), device.stream());
    device.stream().Synchronize();
  }
  T* data() const { return buffer_.data(); }
  std::vector<T> Read() const {
    std::vector<T> values(buffer_.size());
    device_.MakeCurrent();
    device_.CopyOut(values.data(), buffer_.data(), buffer_.bytes(), device_.stream());
    device_.stream().Synchronize();
    return values;
  }

 private:
  static Device& MakeCurrent(Device& device) {
    device.MakeCurrent();
    return device;
  }
  Device& device_;
  Buffer<T> buffer_;
};

/// What a program's functions count on a device. `full`: rings that a host found full when it sent, and took messages.
struct WorklistCalls {
  std::uint64_t sent, packed, unpacked, received, wrong, delays, bursts, full;
};

/// What makes a run hard.
struct TreeUse {
  std::uint32_t children = 2;  ///< of a vertex; more than two go to one device, as a burst
  bool delays = false;         ///< of workers that process or receive an item
};

/// Between OnSend and Pack of an item: a host's worker that receives another one meanwhile has found a ring full.
inline thread_local bool g_sends_item = false;

/// A message of so many bytes, which has a 4-byte vertex and 8 bytes that depend on it.
template <std::size_t kBytes>
struct PlainMessage {
  unsigned char bytes[kBytes];
};

/// A heap-ordered tree whose vertices are items on random devices: vertex i of a binary one makes 2 i + 1 and 2 i + 2. Every
/// function counts, so that an item that is lost, repeated or changed on its way shows. Items and messages have several
/// sizes.
template <class Filler, std::size_t kMessageBytes>
struct TreeItems {
  struct Item {
    std::uint32_t check[2];  ///< Hash of the vertex
    std::uint32_t vertex;
    Filler filler;
  };
  using Message = PlainMessage<kMessageBytes>;
  std::uint32_t vertices;
  TreeUse use;
  std::uint32_t* visits;  ///< by vertex, of this device
  WorklistCalls* calls;   ///< of this device

  CHATTY_FN static Item ItemOf(std::uint32_t vertex) {
    Item item{};
    const std::uint64_t check = Hash(vertex);
    item.check[0] = static_cast<std::uint32_t>(check);
    item.check[1] = static_cast<std::uint32_t>(check >> 32);
    item.vertex = vertex;
    return item;
  }
  CHATTY_FN void Count(std::uint64_t* calls_of) const { atomics::Add<true>(calls_of, std::uint64_t{1}); }
  /// Holds the worker up for up to 4 us, at one of 64 items.
  CHATTY_FN void MayDelay(const Item& item, std::uint64_t salt) const {
    const std::uint64_t random = Hash(item.vertex, salt);
    if (!use.delays || random % 64 != 0) return;
    Count(&calls->delays);
#if CHATTY_DEVICE_CODE
    __nanosleep(static_cast<unsigned>(random / 64 % 4096));
#else
    for (std::uint64_t i = random / 64 % 4096; i > 0; --i) std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
  CHATTY_FN static void SetSends([[maybe_unused]] bool sends) {
#if !CHATTY_DEVICE_CODE
    g_sends_item = sends;
#endif
  }
  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    const Item expected = ItemOf(item.vertex);
    if (item.check[0] != expected.check[0] || item.check[1] != expected.check[1] || context.device() >= context.devices() ||
        item.vertex >= vertices) {
      Count(&calls->wrong);
      return;
    }
    atomics::Add<true>(visits + item.vertex, 1u);
    MayDelay(item, 3);
    const bool bursts = use.children > 2;
    const std::uint64_t first = std::uint64_t{use.children} * item.vertex + 1;
    if (bursts && first < vertices) Count(&calls->bursts);
    for (std::uint64_t child = first; child < first + use.children && child < vertices; ++child) {
      const Item next = ItemOf(static_cast<std::uint32_t>(child));
      if (child % 5 == 0) {
        context.Push(next);
      } else {
        context.Send(static_cast<std::uint32_t>(Hash(bursts ? first : child, 1) % context.devices()), next);
      }
    }
  }
  CHATTY_FN double Priority(const Item& item) const { return static_cast<double>(Hash(item.vertex, 2) % 1000); }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const {
    Count(&calls->sent);
    SetSends(true);
    return true;
  }
  CHATTY_FN Message Pack(const Item& item) const {
    Count(&calls->packed);
    SetSends(false);
    Message message{};
    memcpy(message.bytes, &item.vertex, 4);
    memcpy(message.bytes + kMessageBytes - 8, item.check, 8);
    return message;
  }
  CHATTY_FN Item Unpack(const Message& message) const {
    Count(&calls->unpacked);
#if !CHATTY_DEVICE_CODE
    if (g_sends_item) Count(&calls->full);
#endif
    SetSends(false);
    Item item{};
    memcpy(&item.vertex, message.bytes, 4);
    memcpy(item.check, message.bytes + kMessageBytes - 8, 8);
    return item;
  }
  CHATTY_FN bool OnReceive(const Item& item) const {
    Count(&calls->received);
    MayDelay(item, 4);
    return true;
  }
};

class WorklistTest : public testing::TestWithParam<WorklistCase> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam().devices); !why.empty()) GTEST_SKIP() << why;
  }

  /// CHATTY_STRESS_ITEMS, or `items` without it.
  static std::uint32_t StressItems(std::uint32_t items) {
    const char* const asked = std::getenv("CHATTY_STRESS_ITEMS");  // NOLINT(concurrency-mt-unsafe)
    return asked != nullptr ? static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10)) : items;
  }
  /// Runs a tree of so many vertices and looks at all counts, which it returns.
  template <class Filler, std::size_t kMessageBytes>
  static WorklistCalls RunTree(std::uint32_t vertices, const WorklistOptions& options, const TreeUse& use = {}) {
    using Tree = TreeItems<Filler, kMessageBytes>;
    static_assert(WorklistProgram<Tree>);
    SCOPED_TRACE("width " + std::to_string(options.width) + ", lists of " + std::to_string(options.list_items) +
                 ", items of " + std::to_string(sizeof(typename Tree::Item)) + " bytes");
    WorklistDevices devices(GetParam().devices, GetParam().threads);
    std::vector<DeviceArray<std::uint32_t>> visits;
    std::vector<DeviceArray<WorklistCalls>> calls;
    std::vector<Tree> programs;
    for (Device* const device : devices.all) {
      visits.emplace_back(*device, vertices);
      calls.emplace_back(*device, 1);
      programs.push_back({vertices, use, visits.back().data(), calls.back().data()});
    }
    std::vector<std::vector<typename Tree::Item>> seeds(devices.size());
    seeds.back().push_back(Tree::ItemOf(0));
    const WorklistStatistics statistics = RunWorklist<Tree>(devices.all, programs, seeds, options);
    std::vector<std::uint32_t> all(vertices, 0);
    WorklistCalls sum{};
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const std::vector<std::uint32_t> mine = visits[d].Read();
      for (std::uint32_t v = 0; v < vertices; ++v) all[v] += mine[v];
      const WorklistCalls counted = calls[d].Read()[0];
      sum.sent += counted.sent;
      sum.packed += counted.packed;
      sum.unpacked += counted.unpacked;
      sum.received += counted.received;
      sum.wrong += counted.wrong;
      sum.delays += counted.delays;
      sum.bursts += counted.bursts;
      sum.full += counted.full;
    }
    EXPECT_EQ(std::count(all.begin(), all.end(), 1u), vertices);
    EXPECT_EQ(statistics.processed, vertices);
    EXPECT_EQ(sum.wrong, 0u);
    EXPECT_EQ(statistics.sent, sum.sent);
    EXPECT_EQ(sum.packed, sum.sent);
    EXPECT_EQ(sum.unpacked, sum.sent);
    EXPECT_EQ(sum.received, vertices - 1 - (vertices - 1) / 5) << "items that were sent, to this device or another one";
    EXPECT_EQ(sum.sent > 0, devices.size() > 1);
    EXPECT_FALSE(statistics.stopped);
    EXPECT_GE(statistics.steps, options.width < 100 ? 5u : 1u);
    return sum;
  }
};

TEST_P(WorklistTest, EveryItemOnceInAnyWidthAndWithFullRings) {
  const std::uint32_t most = CHATTY_TEST_SANITIZED ? 20'000 : 200'000, vertices = std::min(most, StressItems(most));
  for (const double width : {kInfinity<double>, 400.0, 7.0}) {
    for (const std::uint32_t list_items : {0u, 64u}) {
      RunTree<std::uint32_t, 12>(vertices, {.width = width, .list_items = list_items});
    }
  }
}

struct NoFiller {};
struct LongFiller {
  std::uint32_t words[9];
};
struct OddFiller {
  unsigned char bytes[3];
};

TEST_P(WorklistTest, ItemsAndMessagesOfAnySize) {
  const WorklistOptions options{.width = 100, .list_items = 64};
  RunTree<NoFiller, 14>(20'000, options);
  RunTree<OddFiller, 13>(20'000, options);
  RunTree<double, 12>(20'000, options);
  RunTree<LongFiller, 14>(20'000, options);
}

/// The tree at a size of one's own: CHATTY_STRESS_ITEMS, 10^6 without it. Workers are delayed, and where rings are short, a
/// vertex makes more items at once than a ring has room for.
TEST_P(WorklistTest, EachOfManyItemsOnce) {
  const std::uint32_t vertices = StressItems(CHATTY_TEST_SANITIZED ? 50'000 : 1'000'000);
  const DeviceSelection devices = ParseDevices(GetParam().devices);
  for (const std::uint32_t list_items : {0u, 64u}) {
    const TreeUse use{.children = list_items == 0 ? 2u : 100u, .delays = true};
    const WorklistCalls counted =
        RunTree<std::uint32_t, 12>(vertices, {.list_items = list_items, .waiting_items = vertices}, use);
    EXPECT_GT(counted.delays, 0u);
    EXPECT_EQ(counted.bursts, list_items == 0 ? 0 : (vertices - 2) / use.children + 1);
    if (list_items != 0 && devices.kind == DeviceKind::kHost && devices.indices.size() > 1) {
      EXPECT_GT(counted.full, 0u) << "no ring was ever full";
    }
    std::printf("[  COUNTED ] %u items, each once; %llu delays, %llu bursts, rings full %llu times\n", vertices,
                static_cast<unsigned long long>(counted.delays), static_cast<unsigned long long>(counted.bursts),
                static_cast<unsigned long long>(counted.full));
  }
}

/// An item of the first kind makes many of the second, on all devices in turn, which have nothing to do.
struct BurstItems {
  struct Item {
    std::uint32_t number;
    std::uint32_t makes;
  };
  using Message = Item;
  unsigned long long *sum, *count;  ///< of the numbers of items processed on this device

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    atomics::Add<true>(sum, static_cast<unsigned long long>(item.number));
    atomics::Add<true>(count, 1ull);
    for (std::uint32_t i = 0; i < item.makes; ++i) context.Send((item.number + i) % context.devices(), {item.number + i, 0});
  }
  CHATTY_FN double Priority(const Item& item) const { return item.makes == 0 ? 1 : 0; }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const { return true; }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item&) const { return true; }
};

TEST_P(WorklistTest, BurstsThatNoRingHasRoomFor) {
  WorklistDevices devices(GetParam().devices, GetParam().threads);
  for (const double width : {kInfinity<double>, 0.5}) {
    std::vector<DeviceArray<unsigned long long>> sums;
    std::vector<BurstItems> programs;
    std::vector<std::vector<BurstItems::Item>> seeds(devices.size());
    const std::uint32_t bursts = 40, makes = CHATTY_TEST_SANITIZED ? 240 : 3000;
    unsigned long long sum = 0, count = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      sums.emplace_back(*devices.all[d], 2);
      programs.push_back({sums[d].data(), sums[d].data() + 1});
      for (std::uint32_t b = 0; b < bursts; ++b) {
        const auto number = static_cast<std::uint32_t>(1000 * d + b);
        seeds[d].push_back({number, makes});
        sum += number + std::uint64_t{number} * makes + std::uint64_t{makes} * (makes - 1) / 2;
        count += 1 + makes;
      }
    }
    const WorklistStatistics statistics =
        RunWorklist<BurstItems>(devices.all, programs, seeds, {.width = width, .list_items = 64});
    unsigned long long summed = 0, counted = 0;
    for (const auto& one : sums) {
      summed += one.Read()[0];
      counted += one.Read()[1];
    }
    EXPECT_EQ(summed, sum);
    EXPECT_EQ(counted, count);
    EXPECT_EQ(statistics.processed, count);
    EXPECT_EQ(statistics.sent,
              devices.size() == 1 ? 0 : (count - bursts * devices.size()) / devices.size() * (devices.size() - 1))
        << "a burst goes to all devices in turn, and its length is a multiple of their number";
  }
}

/// Notes the order in which items are processed: on one device.
struct OrderedItems {
  struct Item {
    std::uint32_t number;
  };
  using Message = Item;
  std::uint32_t *order, *length;

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    order[atomics::Add<true>(length, 1u)] = item.number;
    if (item.number % 10 == 0 && item.number != 0) context.Push({item.number - 5});
  }
  CHATTY_FN double Priority(const Item& item) const { return item.number; }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const { return true; }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item&) const { return true; }
};

TEST_P(WorklistTest, NarrowBucketsGoInTheOrderOfPriorities) {
  const DeviceSelection all = ParseDevices(GetParam().devices);
  const auto owners = OpenDevices(all.First(1), GetParam().threads);
  const std::vector<Device*> device{owners[0].get()};
  const DeviceArray<std::uint32_t> order(*device[0], 2000), length(*device[0], 1);
  const std::vector<OrderedItems> programs{{order.data(), length.data()}};
  std::vector<std::vector<OrderedItems::Item>> seeds(1);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 1000; i > 0; --i) seeds[0].push_back({10 * i});
  for (std::uint32_t i = 1; i <= 1000; ++i) expected.insert(expected.end(), {10 * i, 10 * i - 5});
  const WorklistStatistics statistics = RunWorklist<OrderedItems>(device, programs, seeds, {.width = 1});
  EXPECT_EQ(length.Read()[0], 2000u);
  EXPECT_EQ(order.Read(), expected);
  EXPECT_EQ(statistics.steps, 1000u) << "an item that comes late is below the limit";
}

TEST_P(WorklistTest, NothingToDoEnds) {
  WorklistDevices devices(GetParam().devices, GetParam().threads);
  const std::vector<OrderedItems> programs(devices.size(), OrderedItems{nullptr, nullptr});
  const std::vector<std::vector<OrderedItems::Item>> seeds(devices.size());
  const WorklistStatistics statistics = RunWorklist<OrderedItems>(devices.all, programs, seeds);
  EXPECT_EQ(statistics.steps, 0u);
  EXPECT_EQ(statistics.processed, 0u);
  EXPECT_FALSE(statistics.stopped);
}

/// An item that makes the next one, in a later step or in the same one, as often as its number says.
struct ChainItems {
  struct Item {
    std::uint64_t number;
  };
  using Message = Item;
  std::uint32_t* begun;    ///< set once; host memory
  std::uint64_t most;      ///< items
  std::uint32_t per_step;  ///< items of one priority

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    if (item.number == 100) detail::StoreRelaxed(begun, 1u);
    if (item.number < most) context.Send(context.devices() - 1, {item.number + 1});
  }
  CHATTY_FN double Priority(const Item& item) const {
    const std::uint64_t bucket = item.number / per_step;
    return static_cast<double>(bucket);
  }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const { return true; }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item&) const { return true; }
};

/// More steps, or items of one, than a test waits for: who is not stopped fails in the end.
inline constexpr std::uint64_t kManyChained = std::uint64_t{1} << 40;

TEST_P(WorklistTest, StopEndsAfterAStepWithItemsLeft) {
  WorklistDevices devices(GetParam().devices, GetParam().threads);
  const Pinned<std::uint32_t> begun(*devices.all[0], 1);
  begun[0] = 0;
  const std::vector<ChainItems> programs(devices.size(), ChainItems{begun.data(), kManyChained, 3});
  std::vector<std::vector<ChainItems::Item>> seeds(devices.size());
  seeds[0].push_back({0});
  std::stop_source stop;
  std::thread stopper([&] {
    while (detail::LoadRelaxed(begun.data()) == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const WorklistStatistics statistics =
      RunWorklist<ChainItems>(devices.all, programs, seeds, {.width = 1, .stop = stop.get_token()});
  stopper.join();
  EXPECT_TRUE(statistics.stopped);
  EXPECT_GE(statistics.processed, 100u);
  EXPECT_EQ(statistics.processed, 3ull * statistics.steps) << "steps end before a stop";
}

TEST_P(WorklistTest, StopEndsItemsThatMakeItemsForEver) {
  WorklistDevices devices(GetParam().devices, GetParam().threads);
  const Pinned<std::uint32_t> begun(*devices.all[0], 1);
  begun[0] = 0;
  const std::vector<ChainItems> programs(devices.size(), ChainItems{begun.data(), kManyChained, 1u << 30});
  std::vector<std::vector<ChainItems::Item>> seeds(devices.size());
  seeds[0].push_back({0});
  std::stop_source stop;
  std::thread stopper([&] {
    while (detail::LoadRelaxed(begun.data()) == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const WorklistStatistics statistics = RunWorklist<ChainItems>(devices.all, programs, seeds, {.stop = stop.get_token()});
  stopper.join();
  EXPECT_TRUE(statistics.stopped);
  EXPECT_GE(statistics.processed, 100u);
  EXPECT_LT(statistics.processed, kManyChained);
  // The next run is whole.
  const std::vector<ChainItems> short_ones(devices.size(), ChainItems{begun.data(), 99, 10});
  EXPECT_EQ(RunWorklist<ChainItems>(devices.all, short_ones, seeds, {.width = 1}).processed, 100u);
}

}  // namespace chatty::test
