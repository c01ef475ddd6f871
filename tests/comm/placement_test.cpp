// On which CPUs devices' threads are to run, on machines that are made up.
#include "chatty/comm/placement.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "chatty/comm/machine.h"
#include "system_folder.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

class Placement : public test::SystemFolder {
 protected:
  /// Makes a node for each list of CPUs, and a GPU in the node of each number in `gpus`.
  void Make(const std::vector<std::string>& nodes, const std::vector<int>& gpus = {}) const {
    Write("sys/devices/system/node/online", nodes.size() == 1 ? "0" : "0-" + std::to_string(nodes.size() - 1));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      Write("sys/devices/system/node/node" + std::to_string(n) + "/cpulist", nodes[n]);
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const std::string at = "sys/devices/pci0000:00/0000:0" + std::to_string(g) + ":00.0";
      Write(at + "/numa_node", std::to_string(gpus[g]));
      fs::create_directories(root_ / "sys/bus/pci/devices");
      fs::create_symlink(root_ / at, root_ / "sys/bus/pci/devices" / fs::path(at).filename());
    }
  }
  /// What each of so many GPUs gets, as "node:CPUs".
  std::vector<std::string> Gpus(std::size_t count, const std::string& allowed) const {
    std::vector<std::string> buses;
    for (std::size_t g = 0; g < count; ++g) buses.push_back("0000:0" + std::to_string(g) + ":00.0");
    return Words(detail::PlaceGpus(buses, ParseCpuList(allowed), root_.string()));
  }
  std::vector<std::string> Hosts(const std::vector<int>& threads, const std::string& allowed) const {
    return Words(detail::PlaceHosts(threads, ParseCpuList(allowed), root_.string()));
  }
  static std::vector<std::string> Words(const std::vector<CpuPlacement>& places) {
    std::vector<std::string> words;
    for (const CpuPlacement& place : places) {
      words.push_back(std::to_string(place.numa_node) + ":" + CpuListText(place.cpus));
    }
    return words;
  }
  using Places = std::vector<std::string>;
};

TEST_F(Placement, AGpusThreadRunsOnTheGpusNode) {
  Make({"0-3,16-19", "4-7,20-23"}, {0, 1, 1});
  EXPECT_EQ(Gpus(3, "0-31"), (Places{"0:0-3,16-19", "1:4-7,20-23", "1:4-7,20-23"}));
}

TEST_F(Placement, OnlyOnCpusThatTheProcessMayUse) {
  Make({"0-3", "4-7"}, {0, 1});
  EXPECT_EQ(Gpus(2, "2-5"), (Places{"0:2-3", "1:4-5"}));
  EXPECT_EQ(Gpus(2, "1-2"), (Places{"0:", "1:"})) << "all are on the first node, none on the second";
  EXPECT_EQ(Gpus(2, "1-2,7"), (Places{"0:1-2", "1:7"}));
  EXPECT_EQ(Gpus(2, ""), (Places{"0:", "1:"})) << "the system does not tell";
}

TEST_F(Placement, WhereThereIsOneNodeOrNothingIsToldNothingIsBound) {
  EXPECT_EQ(Gpus(1, "0-3"), (Places{"-1:"}));
  EXPECT_EQ(Hosts({2, 2}, "0-3"), (Places{"-1:", "-1:"}));
  Make({"0-3"}, {-1});
  EXPECT_EQ(Gpus(1, "0-3"), (Places{"0:"})) << "the firmware says nothing of the GPU";
  EXPECT_EQ(Hosts({2, 2}, "0-3"), (Places{"0:", "0:"}));
}

TEST_F(Placement, HostDevicesAreDealtOutOverTheNodes) {
  Make({"0-3", "4-7"});
  EXPECT_EQ(Hosts({4, 4}, "0-7"), (Places{"0:0-3", "1:4-7"}));
  EXPECT_EQ(Hosts({2, 2, 2, 2}, "0-7"), (Places{"0:0-3", "0:0-3", "1:4-7", "1:4-7"}));
  EXPECT_EQ(Hosts({2, 1, 1}, "0-7"), (Places{"0:0-3", "0:0-3", "1:4-7"}));
  EXPECT_EQ(Hosts({1, 1}, "3-4"), (Places{"0:3", "1:4"}));
}

TEST_F(Placement, HostDevicesAreNotBoundWhereCoresWouldLieIdle) {
  Make({"0-3", "4-7"});
  EXPECT_EQ(Hosts({8}, "0-7"), (Places{"-1:"})) << "one device of both nodes";
  EXPECT_EQ(Hosts({3, 3, 2}, "0-7"), (Places{"-1:", "-1:", "-1:"})) << "six threads on four CPUs, two on four";
  EXPECT_EQ(Hosts({2, 2}, "0-4"), (Places{"-1:", "-1:"})) << "a single CPU of the second node for two threads";
  EXPECT_EQ(Hosts({1, 1}, "5-6"), (Places{"1:", "1:"})) << "held to one node by others";
}

TEST_F(Placement, NodesThatAreMemoryAloneHaveNoDevices) {
  Make({"0-3", "", "4-7"});
  EXPECT_EQ(Hosts({1, 1}, "0-7"), (Places{"0:0-3", "2:4-7"}));
  EXPECT_EQ(detail::CpusOfNode(1, root_.string()), CpuSet{});
  EXPECT_EQ(detail::CpusOfNode(9, root_.string()), CpuSet{});
  EXPECT_EQ(detail::NumaNodes(root_.string()), (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace chatty
