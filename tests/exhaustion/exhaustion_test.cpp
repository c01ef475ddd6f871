// Host devices that run out of memory: their own memory, pinned memory, and the process's: this executable's operator new
// and aligned_alloc fail where a test wants it.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
#include "chatty/io/results.h"
#include "chatty/io/writer.h"
#include "chatty/partition/subgraph.h"
#include "chatty/programs/cc.h"
#include "sweep.h"

namespace {

// Constant-initialised: operator new is called before any constructor runs.
constinit std::atomic<bool> g_armed{false}, g_only_once{false};
constinit std::atomic<std::uint64_t> g_requests{0}, g_fail_at{0};
constinit std::atomic<std::int64_t> g_live{0};

/// Whether the request at hand is one that fails.
bool Refused() noexcept {
  if (!g_armed.load(std::memory_order_relaxed)) return false;
  const std::uint64_t nth = ++g_requests;
  return g_only_once ? nth == g_fail_at : nth >= g_fail_at;
}

/// Whether `code` belongs to an OpenMP runtime, which ends the process when it gets no memory: that is not ours to test.
bool IsOpenMp(void* code) noexcept {
  Dl_info info{};
  if (::dladdr(code, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const char* const file = slash == nullptr ? info.dli_fname : slash + 1;
  return std::strncmp(file, "libgomp", 7) == 0 || std::strncmp(file, "libomp", 6) == 0;
}

void* New(std::size_t bytes, std::size_t align) {
  void* pointer = nullptr;
  if (Refused() || ::posix_memalign(&pointer, align, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}
void Delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  g_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(pointer);
}

}  // namespace

// All other forms call these.
void* operator new(std::size_t bytes) { return New(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t align) { return New(bytes, static_cast<std::size_t>(align)); }
void operator delete(void* pointer) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { Delete(pointer); }

extern "C" void* aligned_alloc(std::size_t align, std::size_t bytes) noexcept {
  void* pointer = nullptr;
  if (!IsOpenMp(__builtin_return_address(0)) && Refused()) return nullptr;
  return ::posix_memalign(&pointer, align < sizeof(void*) ? sizeof(void*) : align, bytes) == 0 ? pointer : nullptr;
}

namespace chatty::test {
namespace {

/// The process's memory, as host devices opened by `selection` use it.
class ScarceHostMemory final : public Scarce {
 public:
  ScarceHostMemory(const char* selection, int threads, bool only_once)
      : selection_(selection), threads_(threads), only_once_(only_once) {}
  const char* name() const override { return only_once_ ? "host memory, once" : "host memory"; }
  std::vector<std::unique_ptr<Device>> Open() override { return OpenDevices(ParseDevices(selection_), threads_); }
  std::size_t supplies() const override { return 1; }
  void FailAt(std::size_t, std::uint64_t nth) override {
    g_fail_at = nth;
    g_only_once = only_once_;
    g_requests = 0;
    g_armed = nth != 0;
  }
  std::int64_t live() const override { return g_live; }
  bool asked(std::size_t) const override { return true; }
  bool reached(std::size_t) const override { return g_requests >= g_fail_at; }

 private:
  const char* selection_;
  int threads_;
  bool only_once_;
};

const Registry& Programs() {
  static const Registry& registry = *[] {
    auto* const made = new Registry;
    RegisterPrograms(*made);
    return made;
  }();
  return registry;
}

ScarceDeviceMemory::MakeDevices HostDevices(int count) {
  return [count] {
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < count; ++i) devices.push_back(MakeHostDevice(i, count == 1 ? 2 : 1));
    return devices;
  };
}

class Exhaustion : public testing::TestWithParam<SweepCase> {};

TEST_P(Exhaustion, OfDeviceMemory) {
  ScarceDeviceMemory one(HostDevices(1), false), three(HostDevices(3), false), staged(HostDevices(3), true);
  int failures = Sweep(Programs(), DeviceKind::kHost, GetParam(), one, "auto", false);
  failures += Sweep(Programs(), DeviceKind::kHost, GetParam(), three, "auto", false);
  failures += Sweep(Programs(), DeviceKind::kHost, GetParam(), staged, "staged", false);
  RecordProperty("failures", failures);
}

TEST_P(Exhaustion, OfHostMemory) {
  ScarceHostMemory one("host:1", 2, false), three("host:3", 3, false), once("host:3", 3, true);
  int failures = Sweep(Programs(), DeviceKind::kHost, GetParam(), one, "auto", true);
  failures += Sweep(Programs(), DeviceKind::kHost, GetParam(), three, "staged", true);
  failures += Sweep(Programs(), DeviceKind::kHost, GetParam(), once, "auto", true);
  RecordProperty("failures", failures);
}

INSTANTIATE_TEST_SUITE_P(Programs, Exhaustion, testing::ValuesIn(SweepCases()),
                         [](const testing::TestParamInfo<SweepCase>& info) { return std::string(info.param.name); });

TEST(ExhaustionOfTheResidentLoop, OfDeviceMemory) {
  ScarceDeviceMemory one(HostDevices(1), false);
  RecordProperty("failures", SweepAllResident(one));
}
TEST(ExhaustionOfTheResidentLoop, OfHostMemory) {
  ScarceHostMemory one("host:1", 2, false);
  RecordProperty("failures", SweepAllResident(one));
}

/// Calls `attempt` with ever later failures of host memory until none comes any more. Returns how often it failed.
int FailEverywhere(const char* what, bool only_once, const std::function<void()>& attempt) {
  SCOPED_TRACE(what);
  attempt();  // whatever is made once in a process
  ScarceHostMemory memory("host:1", 1, only_once);
  int failures = 0;
  for (std::uint64_t nth = 1; nth < 20000; ++nth) {
    const std::int64_t before = g_live;
    bool reached = false;
    std::string other;
    memory.FailAt(0, nth);
    try {
      attempt();
      reached = memory.reached(0);
    } catch (const OutOfMemoryError&) {
      reached = true;
      ++failures;
    } catch (const std::exception& error) {
      memory.FailAt(0, 0);
      other = error.what();
      ADD_FAILURE() << "failure " << nth << " is no OutOfMemoryError: " << other;
      return static_cast<int>(nth);
    }
    memory.FailAt(0, 0);
    if (g_live != before) {
      ADD_FAILURE() << "failure " << nth << " leaves " << g_live - before << " blocks";
      return static_cast<int>(nth);
    }
    if (!reached) return failures;
  }
  ADD_FAILURE() << "never gets through";
  return 0;
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
  EXPECT_GT(FailEverywhere("subgraphs", false, [&] { BuildSubgraphs(graph, partition, options); }), 30);
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
    EXPECT_GT(FailEverywhere("writing", false, [&] { WriteGraph(graph, path); }), 3) << name;
    EXPECT_GT(FailEverywhere("reading", false, [&] { ReadGraph(path, options); }), 3) << name;
    EXPECT_GT(FailEverywhere("reading, once", true, [&] { ReadGraph(path, options); }), 3) << name;
    EXPECT_EQ(ReadGraph(path, options).edges(), graph.edges() - 1) << name << ": all but the loop";
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path() << ": an unfinished file is left";
  }
  const std::vector<std::uint32_t> levels{0, 1, 2};
  for (const char* name : {"levels.txt", "levels.npy"}) {
    const std::string path = folder / name;
    EXPECT_GT(FailEverywhere("results", false,
                             [&] { WriteResult(path, 0, std::span<const std::uint32_t>(levels), ResultKind::kDistance); }),
              2)
        << name;
  }
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 5;
  EXPECT_GT(FailEverywhere("generating", false, [&] { Generate(spec); }), 3);
  fs::remove_all(folder);
}

TEST(ExhaustionOfHostMemory, InTheTypedInterface) {
  // The sweeps go through the registry, which has handlers of its own around these.
  const Graph graph = SweepGraph(WeightKind::kNone, false);
  SessionOptions options;
  options.partition = "random";
  options.threads = 2;
  EXPECT_GT(FailEverywhere("session", true, [&] { Session(graph, "host:2", options); }), 10);
  EXPECT_GT(FailEverywhere("graphs", true,
                           [&] {
                             Session session(graph, "host:2", options);
                             session.Graphs(Edges::kBoth, WeightKind::kInt32, true, true);
                           }),
            30);
  Session session(graph, "host:2", options);
  const std::shared_ptr<const ErasedProgram> program = std::make_shared<TypedProgram<Bfs>>(Bfs{});
  Array<std::uint32_t> levels(graph.vertices());
  auto* const bytes = reinterpret_cast<std::byte*>(levels.data());
  for (const bool once : {false, true}) {
    EXPECT_GT(FailEverywhere("prepare", once, [&] { session.Prepare(program); }), 10);
    EXPECT_GT(FailEverywhere("execute", once,
                             [&] {
                               const auto job = session.Prepare(program);
                               job->Execute();
                               job->CopyOutput(bytes);
                               job->CopyValues(bytes);
                             }),
              20);
    EXPECT_EQ(std::vector<std::uint32_t>(levels.begin(), levels.end()),
              (std::vector<std::uint32_t>{0, 3, 2, 3, 2, 1, 4, 3, 1, kInfinity<std::uint32_t>}));
    EXPECT_GT(FailEverywhere("run", once, [&] { chatty::Run(session, Bfs{}); }), 20);
    EXPECT_GT(FailEverywhere("operators", once, [&] { chatty::Run(session, ConnectedComponents{}); }), 20);
    EXPECT_GT(FailEverywhere("operator job", once,
                             [&] {
                               OperatorJob<ConnectedComponents> job(session, ConnectedComponents{}, {});
                               job.Execute();
                             }),
              20);
    EXPECT_GT(FailEverywhere("sequence", once, [&] { Sequence(session).Then(Bfs{}).Then(BfsParents{}); }), 40);
  }
}

TEST(ExhaustionOfHostMemory, ThreadsThatGetNoStateEndTheTeamAndNotTheProcess) {
  EXPECT_GE(FailEverywhere("a team of four", false, [] { MakeHostDevice(0, 4); }), 4);
  EXPECT_GE(FailEverywhere("three devices", true, [] { OpenDevices(ParseDevices("host:3"), 9); }), 6);
}

}  // namespace
}  // namespace chatty::test
