// The asynchronous engine on host devices, and what ends it early.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "../prebuilt_programs.h"
#include "async_test_body.h"
#include "chatty/core/hash.h"
#include "chatty/core/trace.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"

namespace chatty::test {

const DeviceKind kKind = DeviceKind::kHost;
std::vector<std::unique_ptr<Device>> MakeDevices(std::string_view selection) {
  return OpenDevices(ParseDevices(selection), 6);
}

namespace {

INSTANTIATE_TEST_SUITE_P(Host, Async,
                         testing::Values(Selection{"host:1", "auto"}, Selection{"host:2", "auto"},
                                         Selection{"host:3", "staged"}, Selection{"host:8", "auto"}),
                         AsyncName);

RunOptions Asynchronously() {
  RunOptions options;
  options.execution = Execution::kAsync;
  return options;
}

/// Spreads least labels, and sleeps where it is told to. Programs hold plain data: the switches are outside.
std::atomic<std::uint32_t> g_late_from{~0u}, g_late_below{0}, g_updates{0}, g_throw_at{0};
struct Sleepy {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id * 7919 % 10007); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    const std::uint32_t update = ++g_updates;
    if (g_throw_at != 0 && update == g_throw_at) throw std::runtime_error("this update is too much");
    if (v.id >= g_late_from && v.id < g_late_below) std::this_thread::sleep_for(std::chrono::microseconds(update % 3 * 40));
    if (m >= value) return false;
    value = m;
    return true;
  }
};

/// Counts up for ever: a program that never becomes inactive.
struct Restless {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex) const { return 0; }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value + 1; }
  bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    ++g_updates;
    if (m <= value) return false;
    value = m;
    return true;
  }
};

class AsyncHost : public testing::Test {
 protected:
  void SetUp() override { Reset(); }
  void TearDown() override { Reset(); }
  static void Reset() {
    g_late_from = ~0u;
    g_late_below = 0;
    g_updates = 0;
    g_throw_at = 0;
  }
};

// A slow device reads late, so that its neighbours find both buffers full, keep messages back, and combine them.
TEST_F(AsyncHost, ASlowDeviceLosesNothing) {
  const Graph graph = RandomGraph(5, 900, 6.0, WeightKind::kNone, true);
  const auto expected = chatty::Run(graph, Sleepy{}, "host:1").values;
  Session session(graph, "host:4", DividedBy("contiguous"));
  for (std::uint32_t slow = 0; slow < 4; ++slow) {
    g_late_from = slow * 225;
    g_late_below = slow * 225 + 225;
    const auto result = chatty::Run(session, Sleepy{}, Asynchronously());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result.values.begin())) << slow;
  }
}

TEST_F(AsyncHost, AnyNumberOfSlotsLeadsToTheSameAnswer) {
  const Graph graph = RandomGraph(5, 900, 6.0, WeightKind::kNone, true);
  const auto expected = chatty::Run(graph, Sleepy{}, "host:1").values;
  for (const char* transport : {"host", "uva", "staged"}) {
    for (std::uint32_t slots = kMinTransportSlots; slots <= kMaxSlots; ++slots) {
      Session session(graph, "host:3", DividedBy("random"));
      RunOptions options = Asynchronously();
      options.comm = ParseCommSpec(transport);
      options.slots = slots;
      const auto result = chatty::Run(session, Sleepy{}, options);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result.values.begin())) << transport << ", " << slots;
    }
  }
}

// Graphs, divisions, devices, transports, slots and widths as they come.
TEST_F(AsyncHost, AnyCombinationLeadsToTheSameAnswer) {
  constexpr const char* kTransports[] = {"auto", "host", "uva", "staged", "ring", "p2p-direct"};
  constexpr const char* kPartitions[] = {"random", "contiguous", "edge-balanced"};
  constexpr double kWidths[] = {kAutoDelta, 1, 20, 300, kInfinity<double>};
  for (std::uint64_t run = 0; run < 60; ++run) {
    const std::uint64_t hash = Hash(run + 17);
    const auto devices = static_cast<int>(1 + hash % 8);
    const Graph graph = RandomGraph(run, static_cast<VertexId>(50 + hash / 8 % 3000), 1.5 + static_cast<double>(run % 5),
                                    WeightKind::kInt32, run % 3 != 0);
    Session session(graph, "host:" + std::to_string(devices), DividedBy(kPartitions[hash / 64 % std::size(kPartitions)]));
    RunOptions options = Asynchronously();
    options.comm = ParseCommSpec(devices == 1 ? "auto" : kTransports[hash / 1024 % std::size(kTransports)]);
    options.slots = static_cast<std::uint32_t>(kMinTransportSlots + hash / 16384 % (kMaxSlots - 1));
    options.delta = kWidths[hash / (std::uint64_t{1} << 20) % std::size(kWidths)];
    SCOPED_TRACE(testing::Message() << "run " << run << ": " << devices << " devices, " << options.slots << " slots, delta "
                                    << options.delta);
    SsspOf<std::int32_t> sssp;
    sssp.source = static_cast<VertexId>(run % graph.vertices());
    const auto result = chatty::Run(session, sssp, options);
    EXPECT_EQ(ToVector(result.values), ToVector(SerialSssp<std::uint32_t>(graph, sssp.source)));
    EXPECT_TRUE(result.statistics.converged);
  }
}

TEST_F(AsyncHost, AStopEndsAllDevices) {
  const Graph graph = RandomGraph(6, 300, 4.0, WeightKind::kNone, true);
  for (const char* devices : {"host:1", "host:3"}) {
    std::stop_source stop;
    RunOptions options = Asynchronously();
    options.stop = stop.get_token();
    g_updates = 0;
    std::thread other([&stop] {
      while (g_updates == 0) std::this_thread::yield();  // in the middle of the run
      stop.request_stop();
    });
    const auto result = chatty::Run(graph, Restless{}, devices, options);
    other.join();
    EXPECT_EQ(result.statistics.ended, Ended::kStopped);
    EXPECT_FALSE(result.statistics.converged);
    // Asked for before the run: values are the first ones, and the run is over.
    const auto none = chatty::Run(graph, Restless{}, devices, options);
    EXPECT_EQ(none.statistics.ended, Ended::kStopped);
  }
}

TEST_F(AsyncHost, MaxRoundsEndsAllDevices) {
  const Graph graph = RandomGraph(6, 300, 4.0, WeightKind::kNone, true);
  RunOptions options = Asynchronously();
  options.max_rounds = 17;
  for (const char* devices : {"host:1", "host:3"}) {
    const auto result = chatty::Run(graph, Restless{}, devices, options);
    EXPECT_EQ(result.statistics.ended, Ended::kMaxRounds);
    EXPECT_EQ(result.statistics.rounds, 17u);
  }
}

TEST_F(AsyncHost, ALaterLimitEndsDevicesThatRelaxedTogether) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 60;
  const Graph graph = Generate(spec);
  Session session(graph, "host:3");
  const auto job = session.Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}), Asynchronously());
  EXPECT_GT(job->Execute().fused_steps, 0u);
  job->SetLimits(5, {});
  const RunStatistics limited = job->Execute();
  EXPECT_EQ(limited.ended, Ended::kMaxRounds);
  EXPECT_LE(limited.rounds, 5u);
  job->SetLimits(0, {});
  EXPECT_EQ(job->Execute().ended, Ended::kConverged);
}

TEST_F(AsyncHost, AFailureEndsAllDevicesAndTheSessionGoesOn) {
  const Graph graph = RandomGraph(7, 800, 5.0, WeightKind::kNone, true);
  const auto expected = chatty::Run(graph, Sleepy{}, "host:1").values;
  Session session(graph, "host:4", DividedBy("random"));
  for (const std::uint32_t at : {1u, 100u, 700u}) {
    g_updates = 0;
    g_throw_at = at;
    EXPECT_THROW(chatty::Run(session, Sleepy{}, Asynchronously()), std::runtime_error) << at;
    Reset();
    const auto again = chatty::Run(session, Sleepy{}, Asynchronously());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), again.values.begin())) << at;
  }
}

TEST_F(AsyncHost, WhatCannotRunIsRefused) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  const auto refused = [&](const auto& program, RunOptions options, const char* says) {
    try {
      chatty::Run(graph, program, "host:2", options);
      ADD_FAILURE() << "was accepted: " << says;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refused(PageRank{}, Asynchronously(), "is kSynchronous, so it cannot run asynchronously");
  RunOptions pull = Asynchronously();
  pull.direction = Direction::kPull;
  refused(Bfs{}, pull, "the asynchronous engine pushes");
  for (const std::uint32_t slots : {0u, 1u, 9u}) {
    RunOptions none = Asynchronously();
    none.slots = slots;
    refused(Bfs{}, none, "a transport has 2 to 8");
  }
  RunOptions push = Asynchronously();
  push.direction = Direction::kPush;
  EXPECT_EQ(chatty::Run(graph, Bfs{}, "host:2", push).values[2], 2u);
}

TEST_F(AsyncHost, ATraceShowsWorkAndIdleness) {
  const Graph graph = RandomGraph(8, 2000, 4.0, WeightKind::kNone, true);
  Trace trace;
  RunOptions options = Asynchronously();
  options.trace = &trace;
  SessionOptions divided = DividedBy("random");
  Session session(graph, "host:3", divided);
  const auto result = chatty::Run(session, Bfs{}, options);
  int advances = 0, idle = 0, tracks = 0;
  for (const TraceTrack* track : trace.tracks()) {
    tracks += track->name().starts_with("host:") ? 1 : 0;
    for (const TraceEvent* event : track->Sorted()) {
      advances += std::string_view(event->kind->name) == "advance" ? 1 : 0;
      idle += std::string_view(event->kind->name) == "idle" ? 1 : 0;
    }
  }
  EXPECT_EQ(tracks, 3);
  EXPECT_GE(advances, 3);
  EXPECT_GE(idle, 1) << "somebody was last";
  for (const DeviceStatistics& device : result.statistics.devices) {
    // The parts of one thread's time, by the same looks at the clock, of a whole that begins before and ends after them.
    EXPECT_LE(device.compute_ms + device.communication_ms + device.waiting_ms, result.statistics.time_ms * (1 + 1e-9));
  }
}

TEST_F(AsyncHost, ATraceShowsWhenVerticesAreReleased) {
  const Graph graph = RandomGraph(8, 2000, 4.0, WeightKind::kInt32, true);
  Session session(graph, "host:3", DividedBy("random"));
  for (const double delta : {10.0, kInfinity<double>}) {
    Trace trace;
    RunOptions options = Asynchronously();
    options.trace = &trace;
    options.delta = delta;
    options.explain = true;
    const auto result = chatty::Run(session, SsspOf<std::int32_t>{}, options);
    int releases = 0;
    for (const TraceTrack* track : trace.tracks()) {
      for (const TraceEvent* event : track->Sorted()) releases += std::string_view(event->kind->name) == "release" ? 1 : 0;
    }
    EXPECT_EQ(releases >= 3, delta < kInfinity<double>) << releases;
    std::uint64_t recorded = 0, messages = 0;
    for (const BufferRecord& buffer : result.statistics.buffers) recorded += buffer.entries;
    for (const PairStatistics& pair : result.statistics.pairs) messages += pair.messages;
    EXPECT_EQ(recorded, messages);
    for (const DeviceStatistics& device : result.statistics.devices) {
      EXPECT_LE(device.compute_ms + device.communication_ms + device.waiting_ms, result.statistics.time_ms * (1 + 1e-9));
    }
  }
}

TEST_F(AsyncHost, ATraceShowsBuffersThatTravelWhileADeviceComputes) {
  const Graph graph = RandomGraph(8, 20000, 8.0, WeightKind::kNone, true);
  for (int attempt = 0; attempt < 20; ++attempt) {  // whether a buffer is taken at once is the scheduler's business
    Trace trace;
    RunOptions options = Asynchronously();
    options.trace = &trace;
    Session session(graph, "host:2", DividedBy("random"));
    chatty::Run(session, Bfs{}, options);
    for (const TraceTrack* track : trace.tracks()) {
      std::vector<std::pair<std::int64_t, std::uint64_t>> buffers;  // how many were on the way, from when on
      for (const TraceEvent* event : track->Sorted()) {
        if (event->type == TraceEvent::Type::kCounter && std::string_view(event->kind->name) == "buffers in flight") {
          buffers.emplace_back(event->start_ns, event->arguments[0]);
        }
      }
      for (const TraceEvent* event : track->Sorted()) {
        if (std::string_view(event->kind->name) != "advance") continue;
        const auto before = std::find_if(buffers.rbegin(), buffers.rend(),
                                         [&](const auto& change) { return change.first <= event->start_ns; });
        if (before != buffers.rend() && before->second > 0) return;
      }
    }
  }
  FAIL() << "no device ever computed while a buffer of its own was on the way";
}

}  // namespace
}  // namespace chatty::test
