// Distributed worklists on host devices, and what only they have: exceptions.
#include <stdexcept>

#include "worklist_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, WorklistTest,
                         testing::Values(WorklistCase{"one", "host:1", 1}, WorklistCase{"team_of_3", "host:1", 3},
                                         WorklistCase{"devices_2_teams", "host:2", 3},
                                         WorklistCase{"devices_3", "host:3", 3}, WorklistCase{"devices_8", "host:8", 8}),
                         WorklistName);

/// Items of which one fails.
struct FailingItems {
  struct Item {
    std::uint32_t number;
  };
  using Message = Item;
  std::uint32_t fails_at;

  template <class Context>
  void Process(const Item& item, Context& context) const {
    if (item.number == fails_at) throw std::runtime_error("item " + std::to_string(item.number));
    if (item.number % 10 == 0 && item.number != 0) context.Push({item.number - 5});
  }
  double Priority(const Item& item) const { return item.number; }
  bool OnSend(const Item&, std::uint32_t) const { return true; }
  Message Pack(const Item& item) const { return item; }
  Item Unpack(const Message& message) const { return message; }
  bool OnReceive(const Item&) const { return true; }
};

TEST(Worklist, WhatAFunctionThrowsEndsAllDevices) {
  for (const int count : {1, 2, 8}) {
    WorklistDevices hosts("host:" + std::to_string(count));
    const std::vector<FailingItems> programs(hosts.size(), FailingItems{5'005});
    std::vector<std::vector<FailingItems::Item>> seeds(hosts.size());
    for (std::uint32_t i = 1000; i > 0; --i) seeds.back().push_back({10 * i});
    try {
      RunWorklist<FailingItems>(hosts.all, programs, seeds, {.width = 100});
      ADD_FAILURE() << "item 5005 is not processed";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "item 5005");
    }
  }
}

TEST(Worklist, RefusesWhatDoesNotFit) {
  WorklistDevices hosts("host:2");
  const std::vector<FailingItems> programs(1, FailingItems{0}), both(2, FailingItems{0});
  const std::vector<std::vector<FailingItems::Item>> seeds(2);
  try {
    RunWorklist<FailingItems>(hosts.all, programs, seeds);
    ADD_FAILURE() << "two devices with one program";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "a worklist of 2 devices needs as many programs and lists of seeds, not 1 and 2");
  }
  EXPECT_THROW(RunWorklist<FailingItems>(hosts.all, both, seeds, {.width = 0}), UsageError);
  EXPECT_THROW((RunWorklist<FailingItems, CudaOnly>(hosts.all, both, seeds)), CapabilityError);
}

}  // namespace
}  // namespace chatty::test
