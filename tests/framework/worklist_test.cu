#include <string>

#include "worklist_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, WorklistTest,
                         testing::Values(WorklistCase{"gpu", "cuda:0"}, WorklistCase{"two_on_a_gpu", "cuda:2@0"},
                                         WorklistCase{"four_on_a_gpu", "cuda:4@0"}),
                         WorklistName);
INSTANTIATE_TEST_SUITE_P(CudaTogether, WorklistTest,
                         testing::Values(WorklistCase{"two_gpus", "cuda:0,1"}, WorklistCase{"four_gpus", "cuda:0,1,2,3"}),
                         WorklistName);

// Lists that have no room for an item end the run of all devices, and the text says what would help. The next run is whole.
TEST(CudaWorklist, FullListsAreAnError) {
  for (const char* const text : {"cuda:0", "cuda:2@0"}) {
    WorklistDevices devices(text);
    std::vector<DeviceArray<unsigned long long>> sums;
    std::vector<BurstItems> programs;
    for (Device* const device : devices.all) {
      sums.emplace_back(*device, 2);
      programs.push_back({sums.back().data(), sums.back().data() + 1});
    }
    std::vector<std::vector<BurstItems::Item>> seeds(devices.size());
    seeds.back().push_back({0, 100'000});
    try {
      RunWorklist<BurstItems>(devices.all, programs, seeds, {.waiting_items = 1000});
      ADD_FAILURE() << "100,000 items wait in lists of 1000";
    } catch (const OutOfMemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("a list has room for 1000 items of 8 bytes"), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("WorklistOptions::waiting_items"), std::string::npos) << error.what();
    }
    EXPECT_EQ(RunWorklist<BurstItems>(devices.all, programs, seeds).processed, 100'001u);
  }
}

TEST(CudaWorklist, RefusesWhatIsNotCompiled) {
  WorklistDevices gpu("cuda:0");
  const std::vector<OrderedItems> programs(1, OrderedItems{nullptr, nullptr}), both(2, OrderedItems{nullptr, nullptr});
  const std::vector<std::vector<OrderedItems::Item>> seeds(1), two_seeds(2);
  try {
    RunWorklist<OrderedItems, HostOnly>(gpu.all, programs, seeds);
    ADD_FAILURE() << "a GPU, by a host's compiler";
  } catch (const CapabilityError& error) {
    EXPECT_NE(std::string(error.what()).find("compile the file that calls RunWorklist with nvcc"), std::string::npos)
        << error.what();
  }
  WorklistDevices host("host:1");
  const std::vector<Device*> mixed{gpu.all[0], host.all[0]};
  try {
    RunWorklist<OrderedItems>(mixed, both, two_seeds);
    ADD_FAILURE() << "a GPU and a host device";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "a worklist takes devices of one kind, not cuda:0 and host:0");
  }
}

}  // namespace
}  // namespace chatty::test
