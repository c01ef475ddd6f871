// Host devices that run out of memory: their own memory, pinned memory, and the process's.
#include <gtest/gtest-spi.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../registered_programs.h"
#include "chatty/core/config.h"
#include "chatty/core/logging.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
#include "chatty/io/results.h"
#include "chatty/io/trace_file.h"
#include "chatty/io/writer.h"
#include "chatty/partition/subgraph.h"
#include "chatty/programs/cc.h"
#include "sweep.h"
#include "sweep_together.h"

namespace chatty::test {
namespace {

MakeDevices HostDevices(int count, int threads) {
  return [count, threads] { return OpenDevices(ParseDevices("host:" + std::to_string(count)), threads); };
}

class Exhaustion : public testing::TestWithParam<SweepCase> {
 protected:
  void TearDown() override { RecordProperty("failures", failures_); }
  void Sweep(Scarce& scarce, const SweepOptions& options) {
    failures_ += test::Sweep(Programs(), DeviceKind::kHost, GetParam(), scarce, options);
  }
  int failures_ = 0;
};

TEST_P(Exhaustion, OfDeviceMemory) {
  const Lender single(HostDevices(1, 2)()), trio(HostDevices(3, 3)());
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    ScarceDeviceMemory one(std::ref(single), false, failing), three(std::ref(trio), false, failing);
    ScarceDeviceMemory staged(std::ref(trio), true, failing);
    Sweep(one, {});
    Sweep(three, {});
    Sweep(staged, {.transport = "staged"});
  }
}

// Devices are opened alike whatever runs: ExhaustionOfHostMemory has that.
TEST_P(Exhaustion, OfHostMemory) {
  const Lender single(HostDevices(1, 2)()), trio(HostDevices(3, 3)());
  ScarceHostMemory one(std::ref(single), Failing::kFromThere), three(std::ref(trio), Failing::kFromThere);
  ScarceHostMemory once(std::ref(trio), Failing::kOnce);
  Sweep(one, {});
  Sweep(three, {.transport = "staged"});
  Sweep(once, {});
}

TEST_P(Exhaustion, OfHostMemoryInTheVerifier) {
  const SweepCase& c = GetParam();
  const RegisteredProgram& program = Programs().Find(c.program, DeviceKind::kHost);
  const auto graph = [&] { return SweepGraph(c.weights, c.symmetric); };
  const Graph run_on = graph();
  Session session(run_on, "host:1");
  const auto job = program.Prepare(session, c.parameters, c.value, {});
  const RunStatistics statistics = job->Execute();
  const ErasedValues values = job->Output();
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    // Each time on a graph of its own: verifiers build in-edges, which graphs keep.
    const int failures = FailEverywhereOn("verifying", failing, graph, [&](const Graph& fresh) {
      const Verdict verdict = program.Verify(fresh, c.parameters, values, &statistics);
      if (!verdict.passed) Throw<InternalError>("the right answer fails: {}", verdict.message);
    });
    EXPECT_GT(failures, 0);
    failures_ += failures;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Exhaustion, testing::ValuesIn(SweepCases()),
                         [](const testing::TestParamInfo<SweepCase>& info) { return std::string(info.param.name); });

// Recording is the same for all programs of an engine, so one stands for each: rounds until done, every round, operators.
TEST(ExhaustionOfTheTrace, OfHostMemory) {
  const Lender pair(HostDevices(2, 2)());
  int failures = 0;
  for (const SweepCase& c : SweepCases()) {
    const std::string_view name = c.name;
    if (name != "bfs" && name != "pagerank" && name != "cc") continue;
    for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
      if (failing == Failing::kFromThere && name != "bfs") continue;
      ScarceHostMemory two(std::ref(pair), failing);
      failures += Sweep(Programs(), DeviceKind::kHost, c, two, {.trace = true});
    }
  }
  RecordProperty("failures", failures);
  EXPECT_GT(failures, kStep == 1 ? 100 : 30);
}

TEST(ExhaustionOfFusedRuns, OfDeviceMemory) {
  const Lender single(HostDevices(1, 2)());
  ScarceDeviceMemory one(std::ref(single), false, Failing::kFromThere), once(std::ref(single), false, Failing::kOnce);
  RecordProperty("failures", SweepAllFused(one) + SweepAllFused(once));
}
TEST(ExhaustionOfFusedRuns, OfHostMemory) {
  const Lender single(HostDevices(1, 2)());
  ScarceHostMemory one(std::ref(single), Failing::kFromThere), once(std::ref(single), Failing::kOnce);
  RecordProperty("failures", SweepAllFused(one) + SweepAllFused(once));
}

// Engines that run on all devices together: no device waits for one that got no memory, or whose call failed.
TEST(ExhaustionOfRunsTogether, OfDeviceMemory) {
  const Lender pair(HostDevices(2, 3)()), trio(HostDevices(3, 3)());
  ScarceDeviceMemory two(std::ref(pair), false, Failing::kFromThere), once(std::ref(trio), false, Failing::kOnce);
  const int failures = SweepAllTogether<OutOfMemoryError>(two, /*rounds=*/false, 3 * kStep) +
                       SweepAllTogether<OutOfMemoryError>(once, /*rounds=*/false);
  RecordProperty("failures", failures);
  EXPECT_GT(failures, 20);
}
TEST(ExhaustionOfRunsTogether, OfHostMemory) {
  const Lender pair(HostDevices(2, 3)());
  ScarceHostMemory two(std::ref(pair), Failing::kFromThere), once(std::ref(pair), Failing::kOnce);
  const int failures = SweepAllTogether<OutOfMemoryError>(two, /*rounds=*/false, 3 * kStep) +
                       SweepAllTogether<OutOfMemoryError>(once, /*rounds=*/false);
  RecordProperty("failures", failures);
  EXPECT_GT(failures, 50);
}
TEST(ExhaustionOfRunsTogether, CallsOfOneDeviceThatFailEndAll) {
  const Lender trio(HostDevices(3, 3)());
  FailingCalls calls(std::ref(trio));
  RecordProperty("failures", SweepAllTogether<DeviceError>(calls, /*rounds=*/false));
}

TEST(ExhaustionOfHostMemory, InOpenMpRegions) {
  // Large enough that every step of dividing is done by several threads; where they allocate, they fail there.
  const Graph graph = RandomGraph(71, 40000, 2.5, WeightKind::kInt32, false);
  SubgraphOptions options;
  options.threads = 3;
  PartitionOptions divide;
  divide.parts = 2;
  divide.threads = 3;
  const auto partitioner = MakePartitioner("random");
  const Partition partition = partitioner->Divide(graph, divide);
  EXPECT_GT(FailEverywhere("subgraphs", Failing::kFromThere, [&] { BuildSubgraphs(graph, partition, options); }), 30);
}

TEST(ExhaustionOfHostMemory, InReadersWritersAndGenerators) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "chatty-exhaustion-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const Graph graph = SweepGraph(WeightKind::kInt32, false);
  ReadOptions options;
  options.threads = 3;
  for (const char* name : {"a.mtx", "a.el", "a.gr", "a.chatty", "a.el.gz", "a.mtx.zst"}) {
    const std::string path = folder / name;
    EXPECT_GT(FailEverywhere("writing", Failing::kFromThere, [&] { WriteGraph(graph, path); }), 3) << name;
    EXPECT_GT(FailEverywhere("reading", Failing::kFromThere, [&] { ReadGraph(path, options); }), 3) << name;
    EXPECT_GT(FailEverywhere("reading, once", Failing::kOnce, [&] { ReadGraph(path, options); }), 3) << name;
    EXPECT_EQ(ReadGraph(path, options).edges(), graph.edges() - 1) << name << ": all but the loop";
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path() << ": an unfinished file is left";
  }
  const std::vector<std::uint32_t> levels{0, 1, 2};
  for (const char* name : {"levels.txt", "levels.npy"}) {
    const std::string path = folder / name;
    EXPECT_GT(FailEverywhere("results", Failing::kFromThere,
                             [&] { WriteResult(path, 0, std::span<const std::uint32_t>(levels), ResultKind::kDistance); }),
              2)
        << name;
  }
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 5;
  EXPECT_GT(FailEverywhere("generating", Failing::kFromThere, [&] { Generate(spec); }), 3);
  fs::remove_all(folder);
}

TEST(ExhaustionOfHostMemory, InTheTypedInterface) {
  // The sweeps go through the registry, which has handlers of its own around these.
  const Graph graph = SweepGraph(WeightKind::kNone, false);
  SessionOptions options;
  options.partition = "random";
  options.threads = 2;
  EXPECT_GT(FailEverywhere("session", Failing::kOnce, [&] { Session(graph, "host:2", options); }), 10);
  EXPECT_GT(FailEverywhere("graphs", Failing::kOnce,
                           [&] {
                             Session session(graph, "host:2", options);
                             session.Graphs(Edges::kBoth, WeightKind::kInt32, true, true);
                           }),
            30);
  Session session(graph, "host:2", options);
  const std::shared_ptr<const ErasedProgram> program = std::make_shared<TypedProgram<Bfs>>(Bfs{});
  Array<std::uint32_t> levels(graph.vertices());
  auto* const bytes = reinterpret_cast<std::byte*>(levels.data());
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    EXPECT_GT(FailEverywhere("prepare", failing, [&] { session.Prepare(program); }), 10);
    EXPECT_GT(FailEverywhere("execute", failing,
                             [&] {
                               const auto job = session.Prepare(program);
                               job->Execute();
                               job->CopyOutput(bytes);
                               job->CopyValues(bytes);
                             }),
              20);
    EXPECT_EQ(std::vector<std::uint32_t>(levels.begin(), levels.end()),
              (std::vector<std::uint32_t>{0, 3, 2, 3, 2, 1, 4, 3, 1, kInfinity<std::uint32_t>}));
    EXPECT_GT(FailEverywhere("run", failing, [&] { chatty::Run(session, Bfs{}); }), 20);
    EXPECT_GT(FailEverywhere("operators", failing, [&] { chatty::Run(session, ConnectedComponents{}); }), 20);
    EXPECT_GT(FailEverywhere("operator job", failing,
                             [&] {
                               OperatorJob<ConnectedComponents> job(session, ConnectedComponents{}, {});
                               job.Execute();
                             }),
              20);
    EXPECT_GT(FailEverywhere("sequence", failing, [&] { Sequence(session).Then(Bfs{}).Then(BfsParents{}); }), 40);
  }
}

TEST(ExhaustionOfHostMemory, ThreadsThatGetNoStateEndTheTeamAndNotTheProcess) {
  EXPECT_GE(FailEverywhere("a team of four", Failing::kFromThere, [] { MakeHostDevice(0, 4); }), 4);
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    ScarceHostMemory three(HostDevices(3, 3), failing);
    EXPECT_GT(Sweep(Programs(), DeviceKind::kHost, SweepCases().front(), three, {.open_in_attempt = true, .step = 1}), 100);
  }
  EXPECT_GE(FailEverywhere("three devices", Failing::kOnce, [] { OpenDevices(ParseDevices("host:3"), 9); }), 6);
}

TEST(ExhaustionOfHostMemory, InTraceFiles) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "chatty-exhaustion-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const Graph graph = SweepGraph(WeightKind::kNone, false);
  Trace trace(10000, /*events_on_hosts=*/true);
  {
    SessionOptions options;
    options.trace = &trace;
    Session session(graph, "host:2", options);
    RunOptions run;
    run.trace = &trace;
    chatty::Run(session, Bfs{}, run);
  }
  const TraceNotes notes{{"program", "bfs"}, {"graph", "one whose name is longer than a string holds without a block"}};
  for (const char* name : {"trace.json", "trace.json.gz", "trace.json.zst"}) {
    const std::string path = folder / name;
    for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
      EXPECT_GT(FailEverywhere(name, failing, [&] { WriteTraceFile(path, trace, notes); }), 5) << name;
      EXPECT_TRUE(fs::is_regular_file(path));
      fs::remove(path);
    }
  }
  EXPECT_TRUE(fs::is_empty(folder)) << "an unfinished file is left";
  fs::remove_all(folder);
}

/// Counts the library's warnings while it lives. Asks for no memory itself.
class Warnings final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  int count() const { return count_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override { count_ += message.level == spdlog::level::warn ? 1 : 0; }
  void flush_() override {}
  int count_ = 0;
};

TEST(ExhaustionOfHostMemory, InThePartitioners) {
  const auto warnings = std::make_shared<Warnings>();
  std::vector<spdlog::sink_ptr> sinks{warnings};
  sinks.swap(Log().sinks());
  const auto graph = [] { return SweepGraph(WeightKind::kNone, false); };
  int fallbacks = 0;
  for (const char* name : {"contiguous", "edge-balanced", "random", "metis"}) {
    for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
      for (const std::uint64_t limit : {0, 1}) {  // bytes; with one of them METIS is never had
        PartitionOptions options;
        options.parts = 3;
        options.threads = 1;
        options.memory_limit = limit;
        const auto divide = [&](const Graph& fresh) {
          const int before = warnings->count();
          const Partition partition = MakePartitioner(name)->Divide(fresh, options);
          if (partition.name() == name) return;
          ++fallbacks;
          if (warnings->count() == before)
            Throw<InternalError>("{} falls back to {} without a word", name, partition.name());
        };
        EXPECT_GT(FailEverywhereOn(name, failing, graph, divide), 0) << name;
      }
    }
  }
  EXPECT_GT(fallbacks, 5);
  sinks.swap(Log().sinks());
}

TEST(ExhaustionOfHostMemory, InMetisWithoutAFallback) {
  // A failure of METIS is a CapabilityError there, and one for want of memory says so.
  const auto graph = [] { return SweepGraph(WeightKind::kNone, false); };
  PartitionOptions options;
  options.parts = 3;
  options.threads = 1;
  options.allow_fallback = false;
  const auto partitioner = MakePartitioner("metis");
  int told = 0;
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    const auto divide = [&](const Graph& fresh) {
      try {
        partitioner->Divide(fresh, options);
      } catch (const CapabilityError& error) {
        if (!CHATTY_WITH_METIS) return;
        if (std::string_view(error.what()).find("memory") == std::string_view::npos) throw;
        ++told;
      }
    };
    FailEverywhereOn("metis", failing, graph, divide);
  }
  EXPECT_TRUE(told > 5 || !CHATTY_WITH_METIS) << told;
}

// The checks themselves: planted faults are reported.

/// Blocks that a test loses on purpose; a fixed number, for a vector would ask for memory itself.
struct Lost {
  std::array<void*, 64> blocks{};
  std::size_t count = 0;
  void Add(void* block) {
    if (count < blocks.size()) blocks[count++] = block;
  }
};

TEST(ExhaustionFinds, LostBlocksOfEachKind) {
  Lost news, aligned;
  const auto lose = [&] {
    try {
      news.Add(::operator new(8));
    } catch (const std::bad_alloc&) {
      ThrowOutOfHostMemory("losing a block");
    }
  };
  EXPECT_NONFATAL_FAILURE(FailEverywhere("new", Failing::kOnce, lose), "blocks");
  for (std::size_t i = 0; i < news.count; ++i) ::operator delete(news.blocks[i]);

  struct Room {
    alignas(Array<int>) std::array<std::byte, sizeof(Array<int>)> bytes;
  };
  std::array<Room, 16> rooms;  // of Arrays whose destructors do not run
  std::size_t used = 0;
  EXPECT_NONFATAL_FAILURE(
      FailEverywhere("Array", Failing::kOnce, [&] { new (rooms.at(used).bytes.data()) Array<int>(5), ++used; }), "blocks");
  ASSERT_GT(used, 0u);
  for (std::size_t i = 0; i < used; ++i) std::destroy_at(std::launder(reinterpret_cast<Array<int>*>(rooms[i].bytes.data())));

  const std::unique_ptr<Device> device = MakeHostDevice(0, 1);
  for (MemoryResource* const memory : {&device->memory(), &device->pinned_memory()}) {
    aligned.count = 0;
    EXPECT_NONFATAL_FAILURE(
        FailEverywhere("device", Failing::kOnce, [&] { aligned.Add(memory->Allocate(5, device->stream())); }), "blocks");
    ASSERT_GT(aligned.count, 0u);
    for (std::size_t i = 0; i < aligned.count; ++i) memory->Deallocate(aligned.blocks[i], 5, device->stream());
  }
}

/// Drops a block of its memory, or of its pinned memory, before its first use.
class LosingDevice final : public BorrowedDevice {
 public:
  LosingDevice(Device& lender, bool pinned, Lost* lost) : BorrowedDevice(lender), pinned_(pinned), lost_(lost) {}
  void MakeCurrent() override {
    if (!std::exchange(lost_one_, true)) lost_->Add((pinned_ ? pinned_memory() : memory()).Allocate(kBytes, stream()));
    BorrowedDevice::MakeCurrent();
  }
  static constexpr std::size_t kBytes = 5;

 private:
  bool pinned_, lost_one_ = false;
  Lost* lost_;
};

TEST(ExhaustionFinds, LostBlocksInSweeps) {
  const std::unique_ptr<Device> lender = MakeHostDevice(0, 2);
  for (const bool pinned : {false, true}) {
    Lost lost;
    const MakeDevices losing = [&] {
      std::vector<std::unique_ptr<Device>> devices;
      devices.push_back(std::make_unique<LosingDevice>(*lender, pinned, &lost));
      return devices;
    };
    const SweepCase& bfs = SweepCases().front();
    for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
      ScarceDeviceMemory device_memory(losing, false, failing);
      EXPECT_NONFATAL_FAILURE(Sweep(Programs(), DeviceKind::kHost, bfs, device_memory, {.step = 1}), "blocks");
      EXPECT_NONFATAL_FAILURE(SweepFused("bfs", bfs.weights, Bfs{}, device_memory, 1), "blocks");
      ScarceHostMemory host_memory(losing, failing);
      EXPECT_NONFATAL_FAILURE(Sweep(Programs(), DeviceKind::kHost, bfs, host_memory, {.step = 1}), "blocks");
      EXPECT_NONFATAL_FAILURE(SweepFused("bfs", bfs.weights, Bfs{}, host_memory, 1), "blocks");
    }
    for (std::size_t i = 0; i < lost.count; ++i) {
      lender->memory().Deallocate(lost.blocks[i], LosingDevice::kBytes, lender->stream());
    }
  }
}

TEST(ExhaustionFinds, ErrorsOfAnotherType) {
  const auto wrong = [] {
    try {
      const Array<int> some(5);
    } catch (const OutOfMemoryError&) {
      throw InternalError("no bytes");
    }
  };
  EXPECT_NONFATAL_FAILURE(FailEverywhere("an error", Failing::kOnce, wrong), "is no OutOfMemoryError: no bytes");
  EXPECT_NONFATAL_FAILURE(FailEverywhere("operator new", Failing::kOnce, [] { ::operator delete(::operator new(8)); }),
                          "is no OutOfMemoryError");
}

}  // namespace
}  // namespace chatty::test
