// Transports that stall and throw, devices that fail, run out of memory or are interrupted, under both engines: all devices
// end by the deadline, with one error that names the cause, and nothing is left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../core/waits.h"
#include "../framework/test_inputs.h"
#include "chatty/comm/transport.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/run.h"
#include "chatty/programs/cc.h"

namespace chatty::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// Of what goes well, which is never so late, however busy the machine is. What stalls sets the clock forward, instead of
/// letting it pass.
constexpr std::chrono::milliseconds kDeadline = 60s;
/// An operation that no event ends gives up after this number of fifths of a deadline, and the test fails.
constexpr int kGiveUp = 500;

/// Lets a fifth of the deadline pass for all waiting threads, after they have begun to wait, so that no other thread is
/// late.
void PassTime() {
  if (!waits::AwaitQuiet()) throw std::logic_error("somebody spins");
  waits::Advance(kDeadline / 5);
  std::this_thread::sleep_for(1ms);
}

// --------------------------------------------------------- what may go wrong ----

enum class At : std::uint8_t { kNowhere, kPost, kMeet, kReceive };
enum class Do : std::uint8_t {
  kThrow,        ///< what no transport of this library throws
  kStall,        ///< until the run is aborted
  kTimeOut,      ///< until the deadline that the transport was given
  kOutOfMemory,  ///< as one that allocates
};

/// What a FaultyTransport does, and what became of it. Set while no run goes on.
struct Faults {
  At at = At::kNowhere;
  Do what = Do::kThrow;
  PartId device = 0;       ///< on whose thread
  std::uint32_t nth = 0;   ///< number of its calls of that kind since Set
  bool tear_down = false;  ///< Abort leaves it unusable, as an aborted communicator is
  bool in_place = true;    ///< what is read in place is said to be; otherwise engines that go by rounds tell lengths first

  std::array<std::array<std::atomic<std::uint32_t>, 8>, 4> calls{};  ///< by kind and device
  std::atomic<int> made{0}, aborts{0};
  std::atomic<bool> struck{false};
  std::atomic<bool> gave_up{false};     ///< no event ended the stalled operation
  std::atomic<bool> time_passes{true};  ///< while something stalls

  void Set(At where, Do fault, PartId on, std::uint32_t call) {
    at = where;
    what = fault;
    device = on;
    nth = call;
    struck = false;
    aborts = 0;
    for (auto& kind : calls) {
      for (auto& count : kind) count = 0;
    }
  }
  void Heal() { Set(At::kNowhere, Do::kThrow, 0, 0); }
};

/// Passes on what another transport does, but for what Faults says.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, Faults& faults, std::chrono::milliseconds timeout)
      : inner_(std::move(inner)), faults_(faults), timeout_(timeout) {
    ++faults_.made;
  }
  std::string_view name() const override { return "faulty"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kPost, from, bytes);
    inner_->Post(from, to, bytes, epoch);
  }
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override {
    Maybe(At::kMeet, at, 0);
    inner_->BeginCollective(at, incoming, broadcast, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kReceive, at, bytes);
    return inner_->Receive(at, from, bytes, epoch);
  }
  bool IsZeroCopyReceive(PartId from, PartId to) const override {
    return faults_.in_place && inner_->IsZeroCopyReceive(from, to);
  }
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override { return inner_->BroadcastOutbox(from, epoch); }
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kPost, from, bytes);
    inner_->Broadcast(from, bytes, epoch);
  }
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kReceive, at, bytes);
    return inner_->ReceiveBroadcast(at, from, bytes, epoch);
  }
  void Abort() noexcept override {
    ++faults_.aborts;
    torn_ = faults_.tear_down;
    aborted_ = true;
    inner_->Abort();
  }
  bool reusable() const override { return !torn_ && inner_->reusable(); }

 private:
  void Maybe(At at, PartId device, std::size_t bytes) {
    const std::uint32_t call = ++faults_.calls[static_cast<std::size_t>(at)][device];
    if (faults_.at != at || faults_.device != device || call != faults_.nth) return;
    faults_.struck = true;
    switch (faults_.what) {
      case Do::kThrow:
        throw std::runtime_error("the cable is cut");
      case Do::kOutOfMemory:
        Throw<OutOfMemoryError>("transport faulty: out of memory on host:{}: {} bytes were asked for", device, bytes);
      case Do::kStall:
      case Do::kTimeOut:
        break;
    }
    aborted_ = false;  // of this run
    const Clock::time_point start = Clock::now();
    for (int patience = kGiveUp; !aborted_; --patience) {
      if (patience == 0) {
        faults_.gave_up = true;
        throw std::logic_error("what stalls was not aborted");
      }
      if (faults_.what == Do::kTimeOut && Clock::now() - start >= timeout_) {
        Throw<TimeoutError>("transport faulty: host:{} waited {} ms for {} bytes", device, timeout_.count(), bytes);
      }
      while (!faults_.time_passes) std::this_thread::sleep_for(1ms);
      PassTime();
    }
    throw AbortedError("transport faulty: gave up");
  }

  std::unique_ptr<Transport> inner_;
  Faults& faults_;
  const std::chrono::milliseconds timeout_;
  std::atomic<bool> aborted_{false}, torn_{false};
};

TransportFactory FactoryOf(Faults& faults) {
  return [&faults](std::span<Device* const> devices, const PairBytesTable& capacities, const TransportOptions& options) {
    return std::make_unique<FaultyTransport>(MakeTransport("auto", devices, capacities), faults, options.timeout);
  };
}

/// A host device whose streams may come to a halt, as a GPU's do behind a kernel that never ends.
class HaltingDevice final : public Device {
 public:
  explicit HaltingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)), stream_(*this) {}
  void Halt(bool on) { halted_ = on; }

  DeviceKind kind() const override { return inner_->kind(); }
  int index() const override { return inner_->index(); }
  const DeviceInfo& info() const override { return inner_->info(); }
  MemoryResource& memory() override { return inner_->memory(); }
  void set_memory(MemoryResource* resource) override { inner_->set_memory(resource); }
  MemoryResource& pinned_memory() override { return inner_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { inner_->set_pinned_memory(resource); }
  void MakeCurrent() override { inner_->MakeCurrent(); }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<HaltingStream>(*this); }
  std::unique_ptr<Event> NewEvent() override { return inner_->NewEvent(); }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
    inner_->CopyIn(device, host, bytes, stream);
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
    inner_->CopyOut(host, device, bytes, stream);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    inner_->CopyWithin(to, from, bytes, stream);
  }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    inner_->Fill(device, byte, bytes, stream);
  }
  WorkerTeam* team() override { return inner_->team(); }

 private:
  class HaltingStream final : public Stream {
   public:
    explicit HaltingStream(HaltingDevice& owner) : owner_(owner) {}
    void Synchronize(const WaitContext& context) override {
      const Clock::time_point start = Clock::now();
      while (owner_.halted_) {
        if (context.abort != nullptr) context.abort->ThrowIfAborted("a stream that is halted");
        const auto waited = Clock::now() - start;
        if (context.timeout.count() > 0 && waited > context.timeout) Throw<TimeoutError>("waited for a halted stream");
        if (waited > 2 * kDeadline) throw std::logic_error("a stream was waited for without a deadline");
        std::this_thread::sleep_for(1ms);
        waits::Advance(kDeadline / 20);
      }
    }
    void* native() const override { return nullptr; }

   private:
    HaltingDevice& owner_;
  };

  std::unique_ptr<Device> inner_;
  std::atomic<bool> halted_{false};
  HaltingStream stream_;
};

/// Spreads least ids; throws, or halts a device, where it is told to. Programs hold plain data: the switches are outside.
constexpr VertexId kNoVertex = ~VertexId{0};
std::atomic<VertexId> g_bad_vertex{kNoVertex};
std::atomic<std::uint32_t> g_bad_round{0};
std::function<void()> g_bad_act;  // set while no run goes on
struct Spread {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>& round) const {
    if (v.id == g_bad_vertex && round.index >= g_bad_round) g_bad_act();
    if (m >= value) return false;
    value = m;
    return true;
  }
};

// ------------------------------------------------------ what may not be left ----

/// What a process has got from the system.
struct Held {
  std::size_t threads = 0, descriptors = 0;
  std::set<std::string> shared_memory;
  bool children = false;
  bool operator==(const Held&) const = default;

  static std::size_t Count(const char* folder) {
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++entries;
    return entries;
  }
  static Held Now() {
    Held held;
    held.threads = Count("/proc/self/task");
    held.descriptors = Count("/proc/self/fd");
    std::ifstream maps("/proc/self/maps");  // a look at /dev/shm would see what other processes have there
    for (std::string line; std::getline(maps, line);) {
      const std::size_t name = line.find("/dev/shm/");
      if (name != std::string::npos) held.shared_memory.insert(line.substr(name));
    }
    siginfo_t info{};
    held.children = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
    return held;
  }
};

/// Carries out `body` on a thread of its own, with which the OpenMP teams go that it makes, and sees what is left then. The
/// first time only what stays for good is made: the runtime's own threads.
void LeavesNothing(const std::function<void()>& body) {
  const auto carry_out = [](const std::function<void()>& what) {
    std::thread([&] {
      try {
        what();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "what should have gone well did not: " << error.what();
      }
    }).join();
  };
  static const bool warmed = [&] {
    carry_out([] {
      const Graph graph = MakeSymmetric(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
      Session session(graph, "host:4", {});
      chatty::Run(session, Spread{});
    });
    return true;
  }();
  ASSERT_TRUE(warmed);
  const auto settled = [] {  // joined threads leave /proc a little later
    EXPECT_TRUE(waits::AwaitQuiet());
    return Held::Now();
  };
  Held before = settled();
  carry_out(body);
  Held after = settled();
  if (after.threads >
      before.threads) {  // the runtime's pool has grown to what several teams at once need; it may do so once
    before = after;
    carry_out(body);
    after = settled();
  }
  EXPECT_LE(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.shared_memory, before.shared_memory);
  EXPECT_FALSE(after.children);
}

// ------------------------------------------------------------------- the tests ----

constexpr VertexId kVertices = 600, kBadVertex = 300;

/// A path, distributed at random: hundreds of rounds, in each of which every device may send to every other.
const Graph& Path() {
  static const Graph graph = [] {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v + 1 < kVertices; ++v) edges.push_back({v, v + 1});
    return MakeSymmetric(kVertices, edges);
  }();
  return graph;
}

SessionOptions Dealt() {
  SessionOptions options;
  options.partition = "random";
  options.threads = 4;
  return options;
}

/// Executes, and expects an error of type E that says all of `says`. What is not ended by the deadline gives up with
/// another.
template <class E>
void FailsAs(const std::function<void()>& execute, const std::vector<std::string>& says) {
  try {
    execute();
    ADD_FAILURE() << "did not fail";
  } catch (const E& error) {
    for (const std::string& text : says) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "should say '" << text << "': " << error.what();
    }
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line: " << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
  }
}

class FaultsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Reset(); }
  void TearDown() override { Reset(); }
  void Reset() {
    g_bad_vertex = kNoVertex;
    g_bad_act = nullptr;
    EXPECT_FALSE(faults_.gave_up) << "nobody ended what stalled";
    faults_.Heal();
  }
  RunOptions Options() {
    RunOptions options;
    options.execution = IsAsync() ? Execution::kAsync : Execution::kBsp;
    options.timeout = kDeadline;
    options.transport_factory = FactoryOf(faults_);
    faults_.in_place = GetParam() != std::string_view("bsp_by_lengths");
    return options;
  }
  static bool IsAsync() { return std::string_view(GetParam()) == "async"; }
  static void ExpectRight(Job& job) {
    EXPECT_EQ(job.Execute().ended, Ended::kConverged);
    ExpectZeros(job);
  }
  static void ExpectZeros(const Job& job) {
    std::vector<std::uint32_t> output(kVertices, 1);
    job.CopyOutput(reinterpret_cast<std::byte*>(output.data()));
    EXPECT_EQ(output, std::vector<std::uint32_t>(kVertices, 0));
  }
  static std::unique_ptr<Job> Prepare(Session& session, const RunOptions& options) {
    return session.Prepare(std::make_shared<TypedProgram<Spread>>(Spread{}), options);
  }

  Faults faults_;
};

INSTANTIATE_TEST_SUITE_P(Engines, FaultsTest, testing::Values("bsp", "bsp_by_lengths", "async"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(FaultsTest, ATransportThatStallsIsNamedAndEnded) {
  for (const Do what : {Do::kStall, Do::kTimeOut}) {
    for (const bool tear_down : {false, true}) {
      for (const At at : {At::kPost, At::kReceive}) {
        SCOPED_TRACE(testing::Message() << "stall " << static_cast<int>(what) << " at " << static_cast<int>(at)
                                        << (tear_down ? ", torn down" : ""));
        LeavesNothing([&] {
          Session session(Path(), "host:4", Dealt());
          const auto job = Prepare(session, Options());
          ExpectRight(*job);
          faults_.tear_down = tear_down;
          faults_.Set(at, what, /*on=*/2, /*call=*/3);
          faults_.made = 0;
          FailsAs<TimeoutError>([&] { job->Execute(); },
                                {"transport faulty", "host:2", "bytes", std::to_string(kDeadline.count()) + " ms"});
          EXPECT_TRUE(faults_.struck);
          EXPECT_EQ(faults_.aborts, 1);
          EXPECT_EQ(job->statistics().ended, Ended::kFailed);
          EXPECT_EQ(job->statistics().transport, "faulty");
          EXPECT_THROW(ExpectZeros(*job), UsageError) << "a failed run has no results";
          faults_.Heal();
          ExpectRight(*job);
          EXPECT_EQ(faults_.made, tear_down ? 1 : 0) << "made anew where it must be, and only there";
        });
      }
    }
  }
}

TEST_P(FaultsTest, WhoWasWithinTheTransportIsTold) {
  Session session(Path(), "host:4", Dealt());
  const auto job = Prepare(session, Options());
  faults_.Set(At::kReceive, Do::kStall, /*on=*/1, /*call=*/2);
  FailsAs<TimeoutError>([&] { job->Execute(); }, {"transport faulty was asked for host:1 to receive ",
                                                  " bytes from host:", ", and had not done it", "raise --timeout"});
}

TEST_P(FaultsTest, WhatATransportThrowsNamesPairAndBytes) {
  for (const At at : {At::kPost, At::kReceive, At::kMeet}) {
    for (const std::uint32_t call : {1u, 7u}) {
      SCOPED_TRACE(testing::Message() << "at " << static_cast<int>(at) << ", call " << call);
      LeavesNothing([&] {
        Session session(Path(), "host:4", Dealt());
        const auto job = Prepare(session, Options());
        ExpectRight(*job);
        if (at == At::kMeet && faults_.calls[static_cast<std::size_t>(at)][3] == 0) return;  // this engine has none
        faults_.Set(at, Do::kThrow, /*on=*/3, call);
        FailsAs<DeviceError>([&] { job->Execute(); },
                             {"transport faulty failed when asked for host:3 to ", "bytes", "the cable is cut"});
        EXPECT_TRUE(faults_.struck);
        EXPECT_EQ(faults_.aborts, 1);
        faults_.Heal();
        ExpectRight(*job);
      });
    }
  }
}

TEST_P(FaultsTest, ADeviceThatThrowsEndsTheOthers) {
  for (const std::uint32_t round : {0u, 5u}) {
    LeavesNothing([&] {
      Session session(Path(), "host:4", Dealt());
      const auto job = Prepare(session, Options());
      ExpectRight(*job);
      faults_.Heal();
      g_bad_act = [] { throw std::domain_error("a vertex is bad"); };
      g_bad_round = round;
      g_bad_vertex = kBadVertex;
      FailsAs<std::domain_error>([&] { job->Execute(); }, {"a vertex is bad"});
      EXPECT_EQ(faults_.aborts, 1) << "somebody may wait within the transport";
      g_bad_vertex = kNoVertex;
      ExpectRight(*job);
    });
  }
}

TEST_P(FaultsTest, ADeviceThatHaltsIsATimeout) {
  LeavesNothing([&] {
    std::vector<HaltingDevice*> halting;
    std::vector<std::unique_ptr<Device>> devices;
    for (int d = 0; d < 4; ++d) {
      auto device = std::make_unique<HaltingDevice>(MakeHostDevice(d, 1));
      halting.push_back(device.get());
      devices.push_back(std::move(device));
    }
    Session session(Path(), std::move(devices), Dealt());
    const auto job = Prepare(session, Options());
    ExpectRight(*job);
    const auto halt = [&](bool on) { halting[2]->Halt(on); };
    g_bad_act = [&] { halt(true); };
    g_bad_round = 4;
    g_bad_vertex = kBadVertex;
    FailsAs<TimeoutError>([&] { job->Execute(); }, {"waited"});
    g_bad_vertex = kNoVertex;
    FailsAs<TimeoutError>([&] { job->Execute(); }, {"waited"});  // it is halted still, and the job waits for it first
    halt(false);
    ExpectRight(*job);
    halt(true);
    std::vector<std::uint32_t> values(kVertices);
    FailsAs<TimeoutError>([&] { job->CopyValues(reinterpret_cast<std::byte*>(values.data())); }, {"waited"});
    halt(false);
    ExpectZeros(*job);
  });
}

// One device computes for longer than the others may wait. It goes on when they have given it up.
TEST_P(FaultsTest, ADeviceThatIsLateIsATimeout) {
  LeavesNothing([&] {
    Session session(Path(), "host:4", Dealt());
    const auto job = Prepare(session, Options());
    ExpectRight(*job);
    faults_.Heal();
    g_bad_act = [&] {
      for (int i = 0; i < kGiveUp && faults_.aborts == 0; ++i) PassTime();
    };
    g_bad_round = 4;
    g_bad_vertex = kBadVertex;
    FailsAs<TimeoutError>([&] { job->Execute(); }, {"waited " + std::to_string(kDeadline.count()) + " ms for",
                                                    IsAsync() ? "messages of other devices" : "devices"});
    g_bad_vertex = kNoVertex;
    ExpectRight(*job);
  });
}

TEST_P(FaultsTest, OneDeviceOfFourRunsOutOfMemory) {
  LeavesNothing([&] {
    std::vector<std::unique_ptr<Device>> devices;
    for (int d = 0; d < 4; ++d) devices.push_back(MakeHostDevice(d, 1));
    CountingMemory counting(devices[2]->memory());
    FailingMemory failing(counting);
    devices[2]->set_memory(&failing);
    Session session(Path(), std::move(devices), Dealt());
    for (const std::uint64_t nth : {1, 4, 8}) {  // while it is prepared: the graph, the state
      failing.FailAt(nth);
      FailsAs<OutOfMemoryError>([&] { Prepare(session, Options()); }, {"made to fail"});
    }
    failing.FailAt(0);
    faults_.tear_down = true;
    const auto job = Prepare(session, Options());
    ExpectRight(*job);
    const std::int64_t live = counting.live();

    faults_.Set(At::kPost, Do::kOutOfMemory, /*on=*/2, /*call=*/4);  // in the middle, within the transport
    FailsAs<OutOfMemoryError>([&] { job->Execute(); }, {"transport faulty", "host:2", "bytes"});
    faults_.Heal();
    failing.FailAt(1);  // while the transport is made anew
    FailsAs<OutOfMemoryError>([&] { job->Execute(); }, {"made to fail"});
    FailsAs<OutOfMemoryError>([&] { job->Execute(); }, {"made to fail"});
    failing.FailAt(0);
    ExpectRight(*job);

    g_bad_act = [] { throw std::bad_alloc(); };  // in the middle, within the program
    g_bad_round = 3;
    g_bad_vertex = kBadVertex;
    FailsAs<OutOfMemoryError>([&] { job->Execute(); }, {"running a program"});
    g_bad_vertex = kNoVertex;
    ExpectRight(*job);
    EXPECT_EQ(counting.live(), live) << "failed runs keep memory";
  });
}

TEST_P(FaultsTest, AnInterruptEndsARunThatGoesWell) {
  LeavesNothing([&] {
    std::stop_source interrupt;
    RunOptions options = Options();
    options.stop = interrupt.get_token();
    Session session(Path(), "host:4", Dealt());
    const auto job = Prepare(session, options);
    g_bad_act = [&] { interrupt.request_stop(); };
    g_bad_round = 4;
    g_bad_vertex = kBadVertex;
    EXPECT_EQ(job->Execute().ended, Ended::kStopped);
    EXPECT_EQ(faults_.aborts, 0) << "nothing has failed";
  });
}

TEST_P(FaultsTest, AnInterruptWhileATransportStallsEndsByTheDeadline) {
  LeavesNothing([&] {
    std::stop_source interrupt;
    RunOptions options = Options();
    options.stop = interrupt.get_token();
    Session session(Path(), "host:4", Dealt());
    const auto job = Prepare(session, options);
    faults_.Set(At::kReceive, Do::kStall, /*on=*/2, /*call=*/3);
    faults_.time_passes = false;
    const std::jthread impatient([&] {
      while (!faults_.struck) std::this_thread::sleep_for(1ms);
      interrupt.request_stop();
      faults_.time_passes = true;
    });
    FailsAs<TimeoutError>([&] { job->Execute(); }, {"transport faulty", "host:2 to receive", "bytes"});
  });
}

TEST(OperatorFaults, TransportsThatStallOrThrow) {
  Faults faults;
  RunOptions options;
  options.timeout = kDeadline;
  options.transport_factory = FactoryOf(faults);
  for (const bool tear_down : {false, true}) {
    LeavesNothing([&] {
      Session session(Path(), "host:4", Dealt());
      OperatorJob<ConnectedComponents> job(session, ConnectedComponents{}, options);
      const auto expect_right = [&] {
        faults.Heal();
        EXPECT_EQ(job.Execute().ended, Ended::kConverged);
        std::vector<VertexId> output(kVertices, 1);
        job.CopyOutput(reinterpret_cast<std::byte*>(output.data()));
        EXPECT_EQ(output, std::vector<VertexId>(kVertices, 0));
      };
      faults.tear_down = tear_down;
      expect_right();
      faults.Set(At::kReceive, Do::kStall, /*on=*/2, /*call=*/1);
      FailsAs<TimeoutError>([&] { job.Execute(); }, {"transport faulty was asked for host:2 to receive", "bytes from"});
      EXPECT_EQ(faults.aborts, 1);
      expect_right();
      faults.Set(At::kPost, Do::kThrow, /*on=*/3, /*call=*/1);
      FailsAs<DeviceError>([&] { job.Execute(); }, {"transport faulty", "host:3 to send", "bytes to", "cable"});
      expect_right();
    });
  }
}

TEST(TransportFactory, ThatMakesNothingIsRefused) {
  RunOptions options;
  options.transport_factory = [](std::span<Device* const>, const PairBytesTable&, const TransportOptions&) {
    return std::unique_ptr<Transport>();
  };
  Session pair(Path(), "host:2", Dealt());
  EXPECT_THROW(pair.Prepare(std::make_shared<TypedProgram<Spread>>(Spread{}), options), UsageError);
  Session single(Path(), "host:1", Dealt());
  EXPECT_EQ(single.Prepare(std::make_shared<TypedProgram<Spread>>(Spread{}), options)->Execute().ended, Ended::kConverged);
}

}  // namespace
}  // namespace chatty::test
