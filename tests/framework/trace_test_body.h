// Traces of runs on every kind of device: what the timeline shows must be what the statistics say. Includers instantiate
// TraceTest over selections of devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/chatty.h"
#include "chatty/core/trace.h"
#include "chatty/programs/cc.h"
#include "test_inputs.h"

namespace chatty::test {

class TraceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }

  static Graph Grid() {
    GeneratorSpec spec;
    spec.family = "grid";
    spec.width = 60;
    spec.height = 50;
    spec.drop = 0.2;
    return Generate(spec);
  }

  static std::map<TraceRow, std::vector<TraceEvent>> Spans(const TraceTrack& track) {
    std::map<TraceRow, std::vector<TraceEvent>> rows;
    for (const TraceEvent* event : track.Sorted()) {
      if (event->type == TraceEvent::Type::kSpan) rows[event->row].push_back(*event);
    }
    return rows;
  }
  static std::int64_t End(const TraceEvent& span) { return span.start_ns + span.duration_ns; }
  static double Milliseconds(const std::vector<TraceEvent>& spans) {
    std::int64_t sum = 0;
    for (const TraceEvent& span : spans) sum += span.duration_ns;
    return static_cast<double>(sum) * 1e-6;
  }
  static std::size_t Count(const std::vector<TraceEvent>& spans, std::string_view name) {
    std::size_t count = 0;
    for (const TraceEvent& span : spans) count += span.kind->name == name;
    return count;
  }

  /// What holds of a GPU's rows, which are by its own clock, set against the host's to within `slack`.
  static void CheckStream(std::map<TraceRow, std::vector<TraceEvent>>& rows, const TraceEvent& run, std::int64_t now,
                          std::int64_t slack) {
    std::vector<TraceEvent> all;
    for (const auto& [host, stream] : {std::pair(TraceRow::kCompute, TraceRow::kStreamCompute),
                                       std::pair(TraceRow::kCommunication, TraceRow::kStreamCommunication)}) {
      SCOPED_TRACE(Name(stream));
      std::vector<TraceEvent> enqueued;
      for (const TraceEvent& span : rows[host]) {
        if (span.kind->on_stream) enqueued.push_back(span);
      }
      ASSERT_EQ(rows[stream].size(), enqueued.size());
      for (std::size_t i = 0; i < enqueued.size(); ++i) {  // nothing runs before the host has asked for it
        ASSERT_GE(rows[stream][i].start_ns, enqueued[i].start_ns - slack) << i << ", " << rows[stream][i].kind->name;
      }
      all.insert(all.end(), rows[stream].begin(), rows[stream].end());
    }
    ASSERT_FALSE(all.empty());
    std::sort(all.begin(), all.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return std::pair(a.start_ns, End(a)) < std::pair(b.start_ns, End(b));
    });
    // A run ends when the host has read the last counters, which a kernel stores before it ends: the stream passes the event
    // behind that kernel some time later, and much later where another process has the GPU meanwhile. So it does the events
    // of a measure that the host need not wait for, since the round's kernels have made it. All before is over.
    std::size_t waited = all.size();
    while (waited > 0 && all[waited - 1].kind == &spans::kMeasure) --waited;
    ASSERT_GT(waited, 0u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_GE(all[i].start_ns, run.start_ns - slack) << all[i].kind->name;
      if (i < waited) {
        ASSERT_LE(all[i].start_ns, End(run) + slack) << all[i].kind->name;
      }
      if (i + 1 < waited) {
        ASSERT_LE(End(all[i]), End(run) + slack) << all[i].kind->name;
      }
    }
    ASSERT_LE(End(all.back()), now + slack) << all.back().kind->name;
  }

  /// What holds for the trace of any one run.
  static void Check(const Session& session, Trace& trace, const RunStatistics& statistics) {
    const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - trace.start()).count();
    EXPECT_EQ(trace.dropped(), 0u);
    ASSERT_EQ(statistics.devices.size(), session.device_count());
    std::map<std::pair<PartId, PartId>, std::uint64_t> posted, received, reported;
    for (PartId d = 0; d < session.device_count(); ++d) {
      const TraceTrack& track = trace.Track(session.device(d));
      SCOPED_TRACE(track.name());
      auto rows = Spans(track);
      for (const auto& [row, spans] : rows) {
        SCOPED_TRACE(Name(row));
        std::vector<std::int64_t> ends;
        for (const TraceEvent& span : spans) {
          ASSERT_GE(span.duration_ns, 0) << span.kind->name;
          while (!ends.empty() && ends.back() <= span.start_ns) ends.pop_back();
          if (!ends.empty()) {
            ASSERT_LE(End(span), ends.back()) << span.kind->name;
          }
          ends.push_back(End(span));
        }
      }
      // The same looks at the clock; sums of doubles differ from sums of nanoseconds by their rounding only.
      const DeviceStatistics& account = statistics.devices[d];
      EXPECT_NEAR(Milliseconds(rows[TraceRow::kCompute]), account.compute_ms, 1e-6);
      EXPECT_NEAR(Milliseconds(rows[TraceRow::kCommunication]), account.communication_ms, 1e-6);
      EXPECT_NEAR(Milliseconds(rows[TraceRow::kWaiting]), account.waiting_ms, 1e-6);
      EXPECT_GT(account.compute_ms, 0);
      EXPECT_EQ(rows[TraceRow::kWaiting].empty(), session.device_count() == 1 && statistics.execution == "operators");

      ASSERT_FALSE(rows[TraceRow::kRounds].empty());
      const TraceEvent run = rows[TraceRow::kRounds][0];
      EXPECT_STREQ(run.kind->name, "run");
      EXPECT_LE(static_cast<double>(run.duration_ns) * 1e-6, statistics.time_ms);
      for (const TraceRow row : {TraceRow::kCompute, TraceRow::kCommunication, TraceRow::kWaiting}) {
        for (const TraceEvent& span : rows[row]) {
          ASSERT_GE(span.start_ns, run.start_ns);
          ASSERT_LE(End(span), End(run));
        }
      }
      for (const TraceEvent& span : rows[TraceRow::kCommunication]) {
        const std::string_view name = span.kind->name;
        const auto peer = static_cast<PartId>(span.arguments[0]);
        if (name == "post to #") posted[{d, peer}] += span.arguments[1];
        if (name == "receive from #") received[{peer, d}] += span.arguments[1];
      }

      const bool gpu = session.device(d).kind() == DeviceKind::kCuda;
      const std::vector<TraceEvent>& stream = rows[TraceRow::kStreamCompute];
      EXPECT_EQ(stream.empty(), !gpu);
      if (gpu) {  // the device's own clock, set against the host's
        EXPECT_GT(track.alignment_us(), 0);
        const auto slack = static_cast<std::int64_t>(track.alignment_us() * 1e3) + 20'000;
        CheckStream(rows, run, now, slack);
        if (HasFatalFailure()) return;
        EXPECT_GT(Milliseconds(stream), 0);
        EXPECT_EQ(rows[TraceRow::kStreamCommunication].empty(), session.device_count() == 1);
      }
    }
    for (const PairStatistics& pair : statistics.pairs) {
      if (pair.bytes > 0) reported[{pair.from, pair.to}] = pair.bytes;
    }
    EXPECT_EQ(posted, reported);
    EXPECT_EQ(received, reported);
    EXPECT_EQ(reported.empty(), session.device_count() == 1);
  }
};

TEST_P(TraceTest, ARoundWithoutCandidatesIsNotMade) {
  GeneratorSpec spec;
  spec.family = "complete";
  spec.count = 90;
  const Graph all_reached = Generate(spec), some_are_not = MakeSymmetric(6, {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {4, 5}});
  for (const Direction direction : {Direction::kPush, Direction::kPull, Direction::kAuto}) {
    for (const Graph* graph : {&all_reached, &some_are_not}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(direction) << ", " << graph->vertices() << " vertices");
      Trace trace;
      Session session(*graph, GetParam());
      RunOptions options;
      options.direction = direction;
      options.trace = &trace;
      const auto result = chatty::Run(session, Bfs{}, options);
      auto rows = Spans(trace.Track(session.device(0)));
      // Without rows of in-edges there is no count of candidate edges.
      const std::uint64_t unwanted = graph == &all_reached && direction != Direction::kPush ? 1 : 0;
      EXPECT_EQ(Count(rows[TraceRow::kCompute], "apply") + unwanted, result.statistics.rounds);
      EXPECT_EQ(result.statistics.rounds, 2u);
    }
  }
}

TEST_P(TraceTest, RoundsAreThoseOfTheStatistics) {
  const Graph graph = Grid();
  for (const Direction direction : {Direction::kPush, Direction::kPull, Direction::kAuto}) {
    SCOPED_TRACE(static_cast<int>(direction));
    Trace trace;
    SessionOptions session_options;
    session_options.trace = &trace;
    Session session(graph, GetParam(), session_options);
    RunOptions options;
    options.direction = direction;
    options.execution = Execution::kBsp;  // a GPU's fused run has steps
    options.trace = &trace;
    const auto result = chatty::Run(session, Bfs{}, options);
    Check(session, trace, result.statistics);
    if (HasFatalFailure()) return;
    for (PartId d = 0; d < session.device_count(); ++d) {
      const TraceTrack& track = trace.Track(session.device(d));
      auto rows = Spans(track);
      EXPECT_EQ(Count(rows[TraceRow::kRounds], "round # (push)"), result.statistics.push_rounds);
      EXPECT_EQ(Count(rows[TraceRow::kRounds], "round # (pull)"), result.statistics.pull_rounds);
      EXPECT_EQ(Count(rows[TraceRow::kRounds], "phase #"), 1u);
      EXPECT_EQ(Count(rows[TraceRow::kCompute], "init"), 1u);
      // If all vertices are reached, the last round is omitted.
      const std::size_t made = Count(rows[TraceRow::kCompute], "apply");
      EXPECT_LE(result.statistics.rounds - made, 1u);
      const std::size_t advances = Count(rows[TraceRow::kCompute], "advance");
      const std::size_t gathers = Count(rows[TraceRow::kCompute], "gather");
      EXPECT_EQ(advances + gathers, made);
      EXPECT_LE(advances, result.statistics.push_rounds);
      EXPECT_LE(gathers, result.statistics.pull_rounds);
      EXPECT_EQ(Count(rows[TraceRow::kWaiting], "all-reduce"), made + 1);
      std::uint32_t next = 0;
      for (const TraceEvent& span : rows[TraceRow::kRounds]) {
        if (std::string_view(span.kind->name).starts_with("round")) {
          EXPECT_EQ(span.arguments[0], next++);
        }
      }
      std::uint64_t sent = 0, bytes = 0;
      for (const TraceEvent* event : track.Sorted()) {
        if (event->type == TraceEvent::Type::kCounter && event->kind->name == std::string_view("bytes sent a round")) {
          sent += event->arguments[0];
        }
      }
      for (const PairStatistics& pair : result.statistics.pairs) bytes += pair.from == d ? pair.bytes : 0;
      EXPECT_EQ(sent, bytes);
    }
    auto host = Spans(trace.process());
    for (const char* name : {"partition", "build subgraphs", "upload", "prepare", "copy results"}) {
      EXPECT_EQ(Count(host[TraceRow::kHost], name), 1u) << name;
    }
    EXPECT_NEAR(static_cast<double>(host[TraceRow::kHost][0].duration_ns + host[TraceRow::kHost][2].duration_ns) * 1e-6,
                session.partition_ms(), 1e-6);
  }
}

TEST_P(TraceTest, MeasuringAndDecidingAreShown) {
  Trace trace;
  const Graph graph = Grid();
  Session session(graph, GetParam());
  RunOptions options;
  options.trace = &trace;
  const auto result = chatty::Run(session, PageRank{}, options);
  Check(session, trace, result.statistics);
  auto rows = Spans(trace.Track(session.device(0)));
  EXPECT_EQ(Count(rows[TraceRow::kCompute], "measure"), result.statistics.rounds + 1);
  EXPECT_GE(Count(rows[TraceRow::kWaiting], "broadcast the decision"), result.statistics.rounds);
  EXPECT_EQ(Count(rows[TraceRow::kHost], "ask the program"), Count(rows[TraceRow::kWaiting], "broadcast the decision"));
}

TEST_P(TraceTest, OperatorsAreSpans) {
  Trace trace;
  const Graph graph = Grid();
  Session session(graph, GetParam());
  RunOptions options;
  options.trace = &trace;
  const auto result = chatty::Run(session, ConnectedComponents{.tiled = false}, options);
  Check(session, trace, result.statistics);
  auto rows = Spans(trace.Track(session.device(0)));
  EXPECT_EQ(Count(rows[TraceRow::kCompute], "for each edge"), 1u);
  // Hooks, links of second neighbours, a pass that shortens paths, which is of several vertices a call on GPUs and of all on
  // one host device, labels; more where a device's own vertices do not show the largest component.
  const bool gpu = session.device(0).kind() != DeviceKind::kHost;
  const std::size_t devices = session.device_count(), each_vertex = Count(rows[TraceRow::kCompute], "for each vertex");
  EXPECT_GE(each_vertex, devices == 1 || gpu ? 3u : 4u);
  EXPECT_LE(each_vertex, 5 + 2 * (devices - 1));
  EXPECT_GE(Count(rows[TraceRow::kCompute], "for"), 1u);
  // Vertices in largest components and digests of forests; on one GPU, a list of the vertices whose rows are left.
  const std::size_t before = Count(rows[TraceRow::kCompute], "for each group"), lists = gpu ? 1 : 0;
  if (devices == 1) {
    EXPECT_EQ(before, lists);
  } else {
    EXPECT_GE(before, 1u);
  }
  const auto tiled = chatty::Run(session, ConnectedComponents{.tiled = true}, options);
  const std::size_t together = Count(Spans(trace.Track(session.device(0)))[TraceRow::kCompute], "for each group");
  EXPECT_GE(together, before + 3 + (devices > 1 ? 1 : 0));
  EXPECT_TRUE(devices > 1 || together == before + 3 + lists) << together;
}

TEST_P(TraceTest, RunsFollowEachOther) {
  Trace trace;
  const Graph graph = Grid();
  Session session(graph, GetParam());
  RunOptions options;
  options.trace = &trace;
  options.execution = Execution::kBsp;
  const auto job = session.Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}), options);
  std::uint64_t rounds = 0;
  for (int i = 0; i < 3; ++i) rounds += job->Execute().rounds;
  const auto spans = Spans(trace.Track(session.device(0)))[TraceRow::kRounds];
  EXPECT_EQ(Count(spans, "run"), 3u);
  EXPECT_EQ(Count(spans, "round # (push)") + Count(spans, "round # (pull)"), rounds);
}

TEST_P(TraceTest, WithoutOneNothingIsRecorded) {
  Trace trace;
  const Graph graph = Grid();
  Session session(graph, GetParam());
  const auto result = chatty::Run(session, Bfs{});
  EXPECT_GT(result.statistics.devices[0].compute_ms, 0);
  for (const TraceTrack* track : trace.tracks()) EXPECT_EQ(track->size(), 0u);
}

TEST_P(TraceTest, BeyondTheLimitTheRunGoesOn) {
  Trace trace(100);
  const Graph graph = Grid();
  Session session(graph, GetParam());
  RunOptions options;
  options.trace = &trace;
  const auto traced = chatty::Run(session, Bfs{}, options), plain = chatty::Run(session, Bfs{});
  EXPECT_EQ(ToVector(traced.values), ToVector(plain.values));
  std::size_t kept = 0;
  for (const TraceTrack* track : trace.tracks()) kept += track->size();
  EXPECT_LE(kept, 100u);
  EXPECT_GT(trace.dropped(), 0u);
}

/// Asks for a phase that it cannot start: a fault that shows when the run is under way.
struct Phaseless {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
  Next EndRound(Round<>& round) const { return round.index < 2 ? Next::kContinue : Next::kNextPhase; }
};

TEST_P(TraceTest, AFailedRunLeavesWhatThereWas) {
  Trace trace;
  const Graph graph = Grid();
  Session session(graph, GetParam());
  RunOptions options;
  options.trace = &trace;
  EXPECT_THROW(chatty::Run(session, Phaseless{}, options), UsageError);
  for (PartId d = 0; d < session.device_count(); ++d) {
    const TraceTrack& track = trace.Track(session.device(d));
    auto rows = Spans(track);
    EXPECT_EQ(Count(rows[TraceRow::kRounds], "run"), 1u);
    EXPECT_EQ(Count(rows[TraceRow::kRounds], "round # (push)") + Count(rows[TraceRow::kRounds], "round # (pull)"), 2u);
    std::size_t failed = 0;
    for (const TraceEvent* event : track.Sorted()) failed += event->type == TraceEvent::Type::kInstant;
    EXPECT_EQ(failed, 1u);
  }
}

inline std::string TraceName(const testing::TestParamInfo<const char*>& info) { return SelectionName(info.param); }

}  // namespace chatty::test
