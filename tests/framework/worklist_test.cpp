// Distributed worklists on host devices: every item once, in the order of priorities, and every end.
#include "chatty/framework/worklist/worklist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/atomics.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"

namespace chatty::test {
namespace {

/// Host devices, with one or two threads each.
struct WorklistDevices {
  explicit WorklistDevices(int count, int threads = 0) {
    for (int i = 0; i < count; ++i) owners.push_back(MakeHostDevice(i, threads != 0 ? threads : 1 + i % 2));
    for (const auto& owner : owners) all.push_back(owner.get());
  }
  std::vector<std::unique_ptr<Device>> owners;
  std::vector<Device*> all;
};

/// A heap-ordered binary tree whose vertices are items on random devices: vertex i makes 2 i + 1 and 2 i + 2. Every function
/// counts, so that an item that is lost, repeated or changed on its way shows.
struct TreeItems {
  struct Item {
    std::uint32_t vertex;
    std::uint64_t check;  ///< Hash of the vertex
  };
  struct Message {
    std::uint32_t words[3];
  };
  std::uint32_t vertices;
  std::uint32_t* visits;  ///< by vertex, of all devices
  std::uint32_t *sent, *packed, *unpacked, *received, *wrong;

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    if (item.check != Hash(item.vertex) || context.device() >= context.devices()) atomics::Add<true>(wrong, 1u);
    atomics::Add<true>(visits + item.vertex, 1u);
    for (std::uint32_t child = 2 * item.vertex + 1; child <= 2 * item.vertex + 2 && child < vertices; ++child) {
      const Item next{child, Hash(child)};
      if (child % 5 == 0) {
        context.Push(next);
      } else {
        context.Send(static_cast<std::uint32_t>(Hash(child, 1) % context.devices()), next);
      }
    }
  }
  CHATTY_FN double Priority(const Item& item) const { return static_cast<double>(Hash(item.vertex, 2) % 1000); }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const {
    atomics::Add<true>(sent, 1u);
    return true;
  }
  CHATTY_FN Message Pack(const Item& item) const {
    atomics::Add<true>(packed, 1u);
    return {{item.vertex, static_cast<std::uint32_t>(item.check), static_cast<std::uint32_t>(item.check >> 32)}};
  }
  CHATTY_FN Item Unpack(const Message& message) const {
    atomics::Add<true>(unpacked, 1u);
    return {message.words[0], message.words[1] | std::uint64_t{message.words[2]} << 32};
  }
  CHATTY_FN bool OnReceive(const Item&) const {
    atomics::Add<true>(received, 1u);
    return true;
  }
};
static_assert(WorklistProgram<TreeItems>);

class WorklistTest : public testing::TestWithParam<int> {};

TEST_P(WorklistTest, EveryItemOnceInAnyWidthAndWithFullRings) {
  const auto devices = static_cast<std::size_t>(GetParam());
  const std::uint32_t vertices = CHATTY_TEST_SANITIZED ? 20'000 : 200'000;
  for (const double width : {kInfinity<double>, 400.0, 7.0}) {
    for (const std::uint32_t list_items : {0u, 64u}) {
      WorklistDevices hosts(GetParam());
      std::vector<std::uint32_t> visits(vertices, 0);
      std::uint32_t sent = 0, packed = 0, unpacked = 0, received = 0, wrong = 0;
      const std::vector<TreeItems> programs(
          devices, TreeItems{vertices, visits.data(), &sent, &packed, &unpacked, &received, &wrong});
      std::vector<std::vector<TreeItems::Item>> seeds(devices);
      seeds.back().push_back({0, Hash(0)});
      const WorklistStatistics statistics =
          RunWorklist<TreeItems>(hosts.all, programs, seeds, {.width = width, .list_items = list_items});
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1u), vertices) << "width " << width;
      EXPECT_EQ(statistics.processed, vertices);
      EXPECT_EQ(wrong, 0u);
      EXPECT_EQ(statistics.sent, sent);
      EXPECT_EQ(packed, sent);
      EXPECT_EQ(unpacked, sent);
      EXPECT_EQ(received, vertices - 1 - (vertices - 1) / 5) << "items that were sent, to this device or another one";
      EXPECT_EQ(sent > 0, devices > 1);
      EXPECT_FALSE(statistics.stopped);
      EXPECT_GE(statistics.steps, width < 100 ? 5u : 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, WorklistTest, testing::Values(1, 2, 3, 8));

/// Notes the order in which items are processed.
struct OrderedItems {
  struct Item {
    std::uint32_t number;
  };
  using Message = Item;
  std::vector<std::uint32_t>* order;
  std::uint32_t fails_at = ~0u;
  std::stop_source* stop = nullptr;

  template <class Context>
  void Process(const Item& item, Context& context) const {
    if (item.number == fails_at) throw std::runtime_error("item " + std::to_string(item.number));
    if (order != nullptr) order->push_back(item.number);
    if (stop != nullptr) stop->request_stop();
    if (item.number % 10 == 0 && item.number != 0) context.Push({item.number - 5});
  }
  double Priority(const Item& item) const { return item.number; }
  bool OnSend(const Item&, std::uint32_t) const { return true; }
  Message Pack(const Item& item) const { return item; }
  Item Unpack(const Message& message) const { return message; }
  bool OnReceive(const Item&) const { return true; }
};

std::vector<std::vector<OrderedItems::Item>> Descending(std::uint32_t count) {
  std::vector<std::vector<OrderedItems::Item>> seeds(1);
  for (std::uint32_t i = count; i > 0; --i) seeds[0].push_back({10 * i});
  return seeds;
}

TEST(Worklist, NarrowBucketsGoInTheOrderOfPriorities) {
  WorklistDevices host(1, 1);
  std::vector<std::uint32_t> order, expected;
  const std::vector<OrderedItems> programs{{&order}};
  const WorklistStatistics statistics = RunWorklist<OrderedItems>(host.all, programs, Descending(1000), {.width = 1});
  for (std::uint32_t i = 1; i <= 1000; ++i) expected.insert(expected.end(), {10 * i, 10 * i - 5});
  EXPECT_EQ(order, expected);
  EXPECT_EQ(statistics.steps, 1000u) << "an item that comes late is below the limit";
  order.clear();
  RunWorklist<OrderedItems>(host.all, programs, Descending(1000));
  EXPECT_EQ(order.size(), 2000u);
  EXPECT_EQ(order[0], 10'000u) << "without a width, the order of the seeds";
}

TEST(Worklist, NothingToDoEnds) {
  WorklistDevices hosts(3);
  const std::vector<OrderedItems> programs(3, OrderedItems{nullptr});
  const std::vector<std::vector<OrderedItems::Item>> seeds(3);
  const WorklistStatistics statistics = RunWorklist<OrderedItems>(hosts.all, programs, seeds);
  EXPECT_EQ(statistics.steps, 0u);
  EXPECT_EQ(statistics.processed, 0u);
}

TEST(Worklist, StopEndsAfterAStepWithItemsLeft) {
  WorklistDevices host(1, 1);
  std::stop_source stop;
  const std::vector<OrderedItems> programs{{nullptr, ~0u, &stop}};
  const WorklistStatistics statistics =
      RunWorklist<OrderedItems>(host.all, programs, Descending(1000), {.width = 1, .stop = stop.get_token()});
  EXPECT_TRUE(statistics.stopped);
  EXPECT_EQ(statistics.processed, 2u);
}

TEST(Worklist, WhatAFunctionThrowsEndsAllDevices) {
  for (const int count : {1, 2, 8}) {
    WorklistDevices hosts(count);
    const std::vector<OrderedItems> programs(static_cast<std::size_t>(count), OrderedItems{nullptr, 5'005});
    std::vector<std::vector<OrderedItems::Item>> seeds(static_cast<std::size_t>(count));
    seeds.back() = Descending(1000)[0];
    try {
      RunWorklist<OrderedItems>(hosts.all, programs, seeds, {.width = 100});
      ADD_FAILURE() << "item 5005 is not processed";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "item 5005");
    }
  }
}

TEST(Worklist, RefusesWhatDoesNotFit) {
  WorklistDevices hosts(2);
  const std::vector<OrderedItems> programs(1, OrderedItems{nullptr}), both(2, OrderedItems{nullptr});
  const std::vector<std::vector<OrderedItems::Item>> seeds(2);
  try {
    RunWorklist<OrderedItems>(hosts.all, programs, seeds);
    ADD_FAILURE() << "two devices with one program";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "a worklist of 2 devices needs as many programs and lists of seeds, not 1 and 2");
  }
  EXPECT_THROW(RunWorklist<OrderedItems>(hosts.all, both, seeds, {.width = 0}), UsageError);
}

}  // namespace
}  // namespace chatty::test
