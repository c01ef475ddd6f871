// Transports that stall and throw, devices that fail, run out of memory or are interrupted, under both engines: all devices
// end by the deadline, with one error that names the cause, and nothing is left behind.
#include "faults.h"

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

namespace chatty::test::faults {
namespace {

namespace fs = std::filesystem;

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
  for (const At at : {At::kPost, At::kReceive, At::kCollective}) {
    for (const std::uint32_t call : {1u, 7u}) {
      SCOPED_TRACE(testing::Message() << "at " << static_cast<int>(at) << ", call " << call);
      LeavesNothing([&] {
        Session session(Path(), "host:4", Dealt());
        const auto job = Prepare(session, Options());
        ExpectRight(*job);
        if (at == At::kCollective && faults_.calls[static_cast<std::size_t>(at)][3] == 0) return;  // this engine has none
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
}  // namespace chatty::test::faults
