// On which CPUs the threads of a run really are.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../framework/test_inputs.h"
#include "chatty/comm/machine.h"
#include "chatty/comm/placement.h"
#include "chatty/core/affinity.h"
#include "chatty/framework/run.h"

namespace chatty::test {
namespace {

constexpr VertexId kPairedVertices = 40000;

/// Notes on which CPUs the threads may run that begin with each half of the vertices.
std::mutex g_mutex;
std::map<int, std::set<std::string>> g_seen;
struct Noting {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const {
    if (v.id % 16 == 8) {  // not one of the vertices by which a fused engine samples the program
      const std::string cpus = CpuListText(AllowedCpus());
      const std::lock_guard lock(g_mutex);
      g_seen[v.id < kPairedVertices / 2 ? 0 : 1].insert(cpus);
    }
    return static_cast<Value>(v.id);
  }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};

/// Pairs of neighbours, none of them across the middle: a device sees the vertices of its own half alone.
const Graph& Halves() {
  static const Graph graph = [] {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v < kPairedVertices; v += 2) edges.push_back({v, v + 1});
    return MakeSymmetric(kPairedVertices, edges);
  }();
  return graph;
}

using Seen = std::map<int, std::set<std::string>>;

/// Runs on two host devices of two threads each, or one; each is placed on what `places` has for it, if anything.
Seen SeenOn(std::size_t count, const std::vector<CpuPlacement>& places, bool bind, const char* execution,
            std::vector<CpuPlacement>* told = nullptr) {
  std::vector<std::unique_ptr<Device>> devices;
  for (std::size_t d = 0; d < count; ++d) {
    devices.push_back(MakeHostDevice(static_cast<int>(d), 2));
    if (d < places.size()) devices[d]->Place(places[d]);
  }
  SessionOptions options;
  options.partition = "contiguous";
  options.threads = 2;
  options.bind = bind;
  Session session(Halves(), std::move(devices), options);
  if (told != nullptr) {
    for (std::size_t d = 0; d < count; ++d) told->push_back(session.device(d).placement());
  }
  g_seen.clear();
  RunOptions run;
  run.execution = ParseExecution(execution);
  chatty::Run(session, Noting{}, run);
  return g_seen;
}

class Binding : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engines, Binding, testing::Values("bsp", "async"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(Binding, DevicesRunWhereTheyArePlacedAndTheCallerAsBefore) {
  const CpuSet before = AllowedCpus();
  if (before.count() < 2 || OpenMpPlacesThreads()) GTEST_SKIP() << "nothing to choose from";
  std::vector<CpuPlacement> places;
  for (std::size_t cpu = 0; cpu < before.size() && places.size() < 2; ++cpu) {
    if (!before[cpu]) continue;
    places.push_back({static_cast<int>(places.size()), {}});
    places.back().cpus.set(cpu);
  }
  const std::string first = CpuListText(places[0].cpus), second = CpuListText(places[1].cpus);
  EXPECT_EQ(SeenOn(2, places, /*bind=*/false, GetParam()), (Seen{{0, {first}}, {1, {second}}}));
  EXPECT_EQ(AllowedCpus(), before);
  EXPECT_EQ(SeenOn(1, {places[1]}, /*bind=*/false, GetParam()), (Seen{{0, {second}}, {1, {second}}}));
  EXPECT_EQ(AllowedCpus(), before) << "a single device is driven by the caller's thread";
  const std::string all = CpuListText(before);
  EXPECT_EQ(SeenOn(2, {}, /*bind=*/false, GetParam()), (Seen{{0, {all}}, {1, {all}}})) << "the kept team is free again";
}

TEST_P(Binding, OfASessionIsWhatTheMachineHas) {
  if (OpenMpPlacesThreads()) GTEST_SKIP() << "OpenMP has been told where threads run";
  const CpuSet before = AllowedCpus();
  const std::string all = CpuListText(before);
  const std::vector<CpuPlacement> expected = detail::PlaceHosts(std::vector<int>{2, 2}, before);
  std::vector<CpuPlacement> told;
  const Seen seen = SeenOn(2, {}, /*bind=*/true, GetParam(), &told);
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<std::size_t>(d);
    EXPECT_EQ(told[i].numa_node, expected[i].numa_node);
    EXPECT_EQ(told[i].cpus, expected[i].cpus);
    const std::string cpus = expected[i].cpus.any() ? CpuListText(expected[i].cpus) : all;
    EXPECT_EQ(seen.at(d), std::set<std::string>{cpus});
    EXPECT_TRUE(cpus == all || detail::NumaNodes().size() > 1) << "nothing is bound on a single node";
  }
}

TEST_P(Binding, IsOpenMpsWhereTheUserSaysSo) {
  if (OpenMpPlacesThreads()) GTEST_SKIP() << "it has been told here";
  const std::string all = CpuListText(AllowedCpus());
  ASSERT_EQ(setenv("OMP_PLACES", "cores", 1), 0);  // too late for OpenMP itself
  std::vector<CpuPlacement> told;
  const Seen seen = SeenOn(2, {}, /*bind=*/true, GetParam(), &told);
  ASSERT_EQ(unsetenv("OMP_PLACES"), 0);
  EXPECT_EQ(told[0].numa_node, -1) << "not even looked at";
  EXPECT_TRUE(told[0].cpus.none());
  EXPECT_EQ(seen, (Seen{{0, {all}}, {1, {all}}}));
}

}  // namespace
}  // namespace chatty::test
