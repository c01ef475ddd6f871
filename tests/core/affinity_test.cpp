// On which CPUs threads run.
#include "chatty/core/affinity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "chatty/core/device.h"
#include "chatty/core/parallel.h"
#include "chatty/core/team.h"

namespace chatty {
namespace {

CpuSet Cpus(std::initializer_list<std::size_t> ids) {
  CpuSet cpus;
  for (const std::size_t id : ids) cpus.set(id);
  return cpus;
}

/// The nth CPU that the calling thread may run on, alone.
CpuSet Only(std::size_t nth) {
  const CpuSet allowed = AllowedCpus();
  for (std::size_t cpu = 0; cpu < allowed.size(); ++cpu) {
    if (allowed[cpu] && nth-- == 0) return Cpus({cpu});
  }
  return {};
}

TEST(Affinity, ListsAreWrittenAsLinuxDoes) {
  EXPECT_EQ(ParseCpuList("0-3,8"), Cpus({0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5"), Cpus({5}));
  EXPECT_EQ(ParseCpuList("2-3,1023"), Cpus({2, 3, 1023}));
  for (const char* nothing : {"", "nonsense", "-1", "4-", "1024", "2000-3000"}) EXPECT_EQ(ParseCpuList(nothing), CpuSet{});
  EXPECT_EQ(ParseCpuList("1,x,3"), Cpus({1}));
  EXPECT_EQ(ParseCpuList("1020-99999999999"), Cpus({1020, 1021, 1022, 1023}));
  for (const char* list : {"", "0", "0-1", "0-3,8", "1,3,5-7,1023"}) EXPECT_EQ(CpuListText(ParseCpuList(list)), list);
}

TEST(Affinity, IsNarrowedWhileBoundAndThenAsBefore) {
  const CpuSet before = AllowedCpus();
  ASSERT_TRUE(before.any());
  if (before.count() < 2) GTEST_SKIP() << "a single CPU: nothing to choose from";
  const CpuSet first = Only(0), second = Only(1);
  {
    const BoundTo bound(first);
    EXPECT_EQ(AllowedCpus(), first);
    {
      const BoundTo inner(second);  // though the thread may not run there now
      EXPECT_EQ(AllowedCpus(), second);
      const Unbound unbound;
      EXPECT_EQ(AllowedCpus(), before);
    }
    EXPECT_EQ(AllowedCpus(), first);
    {
      const BoundTo nothing{CpuSet{}};
      EXPECT_EQ(AllowedCpus(), first);
    }
    EXPECT_EQ(AllowedCpus(), first);
  }
  EXPECT_EQ(AllowedCpus(), before);
}

TEST(Affinity, IsNeverWidened) {
  const CpuSet before = AllowedCpus();
  {
    const BoundTo everywhere(CpuSet{}.set());
    EXPECT_EQ(AllowedCpus(), before);
    const BoundTo elsewhere(~before);
    EXPECT_EQ(AllowedCpus(), before) << "no CPU is left: it stays where it was";
  }
  if (before.count() < 2) GTEST_SKIP() << "a single CPU: nothing to choose from";
  const CpuSet first = Only(0), second = Only(1);
  std::thread([&] {
    ASSERT_TRUE(RunOn(first));  // as taskset would
    const BoundTo bound(first | second);
    EXPECT_EQ(AllowedCpus(), first);
    const BoundTo other(second);
    EXPECT_EQ(AllowedCpus(), first);
  }).join();
}

TEST(Affinity, TeamsThatAreKeptAreNotBoundWithTheirMaker) {
  const CpuSet before = AllowedCpus();
  if (before.count() < 2 || OpenMpPlacesThreads()) GTEST_SKIP() << "nothing to choose from";
  std::mutex mutex;
  std::set<std::string> seen;
  std::thread([&] {
    const BoundTo bound(Only(0));
    OpenMpTeam team(3);
    team.Run(team.size(), [&](int) {
      const std::lock_guard lock(mutex);
      seen.insert(CpuListText(AllowedCpus()));
    });
  }).join();
  EXPECT_EQ(seen, std::set<std::string>{CpuListText(before)});
}

TEST(Affinity, ThePlacedDeviceHasItsTeamThere) {
  const CpuSet before = AllowedCpus();
  if (before.count() < 2 || OpenMpPlacesThreads()) GTEST_SKIP() << "nothing to choose from";
  const CpuSet second = Only(1);
  const auto device = MakeHostDevice(0, 3);
  EXPECT_EQ(device->placement().numa_node, -1);
  const auto masks = [&] {
    std::mutex mutex;
    std::multiset<std::string> seen;
    device->team()->Run(3, [&](TeamMember&) {
      const std::lock_guard lock(mutex);
      seen.insert(CpuListText(AllowedCpus()));
    });
    return seen;
  };
  const std::string all = CpuListText(before), one = CpuListText(second);
  EXPECT_EQ(masks(), (std::multiset<std::string>{all, all, all}));
  device->Place({1, second});
  EXPECT_EQ(device->placement().numa_node, 1);
  EXPECT_EQ(device->placement().cpus, second);
  EXPECT_EQ(masks(), (std::multiset<std::string>{all, one, one})) << "the caller is its own master";
  EXPECT_EQ(AllowedCpus(), before);
}

TEST(Affinity, WhatTheUserHasToldOpenMpIsSeen) {
  if (OpenMpPlacesThreads()) GTEST_SKIP() << "it has been told here";
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES"}) {
    ASSERT_EQ(setenv(name, "false", 1), 0);
    EXPECT_TRUE(OpenMpPlacesThreads()) << name;
    ASSERT_EQ(unsetenv(name), 0);
    EXPECT_FALSE(OpenMpPlacesThreads()) << name;
  }
}

}  // namespace
}  // namespace chatty
