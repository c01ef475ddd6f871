// Both engines over every transport, on GPUs.
#include "comm_test_body.h"

namespace chatty::test {

std::vector<std::unique_ptr<Device>> MakeDifferentDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  if (CudaDeviceCount() < count) return devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeCudaDevice(i));
  return devices;
}

namespace {

// NCCL has a GPU in a communicator once; whatever else there is carries between devices that share one.
TEST(CommOnRepeatedGpus, NcclIsRefusedByNameAndNotChosen) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
  const Graph graph = RandomGraph(33, 3000, 6.0, WeightKind::kInt32, true);
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(MakeCudaDevice(i % std::min(2, CudaDeviceCount())));
  Session session(graph, std::move(devices), DividedBy("random"));
  for (const char* const name : {"bfs", "sssp"}) {
    SCOPED_TRACE(name);
    const RegisteredProgram& program = Programs().Find(name, kKind);
    const ParameterValues parameters = From(program, graph, 17);
    const AsyncAnswer expected = RunBy("bsp", session, program, parameters, "staged");
    EXPECT_TRUE(program.Verify(graph, parameters, expected.values, nullptr).passed);
    for (const std::string_view path : PathsFor(kKind)) {
      SCOPED_TRACE(path);
      RunOptions options;
      options.comm = ParseCommSpec(path);
      options.timeout = std::chrono::seconds(30);
      if (path == "nccl" || path == "chattygraph") {
        EXPECT_THROW(program.Prepare(session, parameters, "", options), CapabilityError);
        continue;
      }
      const auto job = program.Prepare(session, parameters, "", options);
      const RunStatistics statistics = job->Execute();
      EXPECT_EQ(statistics.transport.find("nccl"), std::string::npos) << statistics.transport;
      EXPECT_TRUE(SameBytes(job->Output(), expected.values));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, Comm, testing::Values(2, 4),
                         [](const auto& info) { return "Devices" + std::to_string(info.param); });

}  // namespace
}  // namespace chatty::test
