// Results in memory of a device that the caller names, beside those that are copied to the host.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../programs/test_graphs.h"
#include "../registered_programs.h"
#include "chatty/core/array.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/gpu_memory.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/run_by_name.h"
#include "chatty/framework/session.h"

namespace chatty::test {
namespace {

std::unique_ptr<RegisteredJob> JobOf(Session& session, std::string_view name, std::string_view value = {}) {
  return FindProgram(Programs(), name, session.device(0).kind()).Prepare(session, {}, value, {});
}

/// The values of a job in host memory, after OutputTo the memory of a GPU, where device `target` is; `copies`: what the
/// target has copied meanwhile.
std::vector<std::byte> Placed(RegisteredJob& job, Device& target, std::size_t vertices, HostCopies* copies) {
  const ErasedValues expected = job.Output();
  const std::size_t width = SizeOf(expected.type);
  const std::shared_ptr<std::byte> memory = AllocateGpuMemory(target.index(), vertices * width);
  const HostCopies before = target.host_copies();
  const ErasedValues shape = job.OutputTo(target, memory.get());
  *copies = target.host_copies() - before;
  EXPECT_TRUE(shape.bytes.empty());
  EXPECT_EQ(shape.type, expected.type);
  EXPECT_EQ(shape.name, expected.name);
  std::vector<std::byte> values(vertices * width);
  CopyFromGpu(values.data(), target.index(), memory.get(), vertices, width, width, nullptr);
  EXPECT_EQ(std::memcmp(values.data(), expected.bytes.data(), values.size()), 0) << expected.name;
  return values;
}

TEST(PlacedOutput, OfHostDevicesIsCopiedOnce) {
  const Graph graph = GridGraph(7, 5, WeightKind::kInt32);
  Session session(graph, "host:2");
  const std::unique_ptr<RegisteredJob> job = JobOf(session, "sssp");
  const std::unique_ptr<Device> target = MakeHostDevice(0, 1);
  std::vector<std::uint32_t> values(graph.vertices());
  EXPECT_THROW(job->OutputTo(*target, reinterpret_cast<std::byte*>(values.data())), UsageError) << "nothing was executed";
  job->Execute();
  const ErasedValues shape = job->OutputTo(*target, reinterpret_cast<std::byte*>(values.data()));
  const ErasedValues expected = job->Output();
  EXPECT_EQ(shape.type, expected.type);
  EXPECT_EQ(shape.name, "distance");
  EXPECT_TRUE(shape.bytes.empty());
  EXPECT_EQ(std::memcmp(values.data(), expected.bytes.data(), expected.bytes.size()), 0);
}

TEST(PlacedOutput, StaysOnTheGpu) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU";
  const Graph graph = RandomGraph(3, 5000, 6.0, WeightKind::kInt32, true);
  for (const char* const devices : {"cuda:0", "cuda:3@0"}) {
    for (const char* const partition : {"edge-balanced", "random"}) {
      SessionOptions options;
      options.partition = partition;
      Session session(graph, devices, options);
      const std::unique_ptr<Device> other = MakeCudaDevice(0);  // none of the session's
      for (const char* const program : {"bfs", "sssp", "pagerank", "pagerank_double", "cc", "bc", "triangles"}) {
        SCOPED_TRACE(std::string(program) + " on " + devices + ", " + partition);
        const std::unique_ptr<RegisteredJob> job = JobOf(session, program);
        job->Execute();
        HostCopies copies;
        for (Device* const target : {&session.device(0), other.get()}) {
          Placed(*job, *target, graph.vertices(), &copies);
          EXPECT_EQ(copies.out, 0U);
          Placed(*job, *target, graph.vertices(), &copies);
          EXPECT_EQ(copies.in, 0U) << "ids are copied once";
        }
      }
    }
  }
}

TEST(PlacedOutput, RefusedValuesAreFoundThere) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU";
  const Graph graph = MakeGraph(4, {{0, 1, 2147483647}, {1, 2, 2147483647}, {2, 3, 2147483647}}, WeightKind::kInt32);
  Session session(graph, "cuda:0");
  const std::unique_ptr<RegisteredJob> job =
      FindProgram(Programs(), "sssp", DeviceKind::kCuda).Prepare(session, {{"source", "0"}}, {}, {});
  job->Execute();
  const std::shared_ptr<std::byte> memory = AllocateGpuMemory(0, 4 * sizeof(std::uint32_t));
  EXPECT_THROW(job->OutputTo(session.device(0), memory.get()), CapabilityError);
  job->Set("source", "3");
  job->Execute();
  HostCopies copies;
  Placed(*job, session.device(0), graph.vertices(), &copies);
  EXPECT_EQ(copies.out, 0U);
}

}  // namespace
}  // namespace chatty::test
