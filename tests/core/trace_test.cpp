#include "chatty/core/trace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace chatty {
namespace {

constexpr SpanKind kOuter{"outer #", SpanCategory::kRound, {"number"}};
constexpr SpanKind kWork{"work", SpanCategory::kCompute, {"edges"}};
constexpr SpanKind kSend{"send to #", SpanCategory::kCommunication, {"peer", "bytes"}};
constexpr SpanKind kRest{"rest", SpanCategory::kWaiting};
constexpr SpanKind kLevel{"level", SpanCategory::kRound};

std::vector<TraceEvent> Events(const TraceTrack& track, TraceRow row) {
  std::vector<TraceEvent> events;
  for (const TraceEvent* event : track.Sorted()) {
    if (event->row == row) events.push_back(*event);
  }
  return events;
}

void Spend(std::chrono::microseconds time) {
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < time) {
  }
}

TEST(Span, WithoutTraceAddsItsLifeToItsAccount) {
  double account = 10;
  const Clock::time_point before = Clock::now();
  {
    Span span(nullptr, &account, kWork);
    Spend(std::chrono::microseconds(300));
    span.Next(kSend, {1, 2});
    Spend(std::chrono::microseconds(300));
  }
  const double around = std::chrono::duration<double, std::milli>(Clock::now() - before).count();
  EXPECT_GE(account - 10, 0.6);
  EXPECT_LE(account - 10, around);
}

TEST(Span, MovesFromAccountToAccount) {
  double first = 0, second = 0;
  {
    Span span(nullptr, &first, kWork);
    Spend(std::chrono::microseconds(200));
    span.Next(&second, kRest);
    Spend(std::chrono::microseconds(500));
    span.Next(nullptr, kOuter);
    Spend(std::chrono::microseconds(400));
  }
  EXPECT_GE(first, 0.2);
  EXPECT_GE(second, 0.5);
}

TEST(Span, PartsSumUpToTheAccount) {
  Trace trace;
  const auto device = MakeHostDevice(0, 1);
  TraceTrack& track = trace.Track(*device);
  double account = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Span span(&track, &account, kWork, {i});
    span.Next(kWork, {i + 1000});
    span.Argument(0, i + 2000);
  }
  const std::vector<TraceEvent> events = Events(track, TraceRow::kCompute);
  ASSERT_EQ(events.size(), 200u);
  std::int64_t sum = 0;
  for (const TraceEvent& event : events) sum += event.duration_ns;
  EXPECT_NEAR(static_cast<double>(sum) * 1e-6, account, 1e-9);
  EXPECT_EQ(events[0].arguments[0], 0u);
  EXPECT_EQ(events[1].arguments[0], 2000u);
  EXPECT_EQ(events[1].start_ns, events[0].start_ns + events[0].duration_ns);
}

TEST(Span, IsWrittenWhenAnExceptionEndsIt) {
  Trace trace;
  double account = 0;
  try {
    const Span span(&trace.process(), &account, kRest);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(Events(trace.process(), TraceRow::kWaiting).size(), 1u);
  EXPECT_GT(account, 0);
}

TEST(Trace, WhatEnclosesComesFirst) {
  Trace trace;
  TraceTrack& track = trace.process();
  const Clock::time_point t = trace.start() + std::chrono::microseconds(5);
  const auto at = [&](int us) { return t + std::chrono::microseconds(us); };
  track.AddSpan(kOuter, at(0), at(2), {3});  // as they end: inner first, and one as long as its encloser
  track.AddSpan(kOuter, at(2), at(4), {4});
  track.AddSpan(kOuter, at(0), at(4), {2});
  track.AddSpan(kOuter, at(0), at(4), {1});
  track.AddCounter(kLevel, at(1), 77);
  std::vector<std::uint64_t> order;
  for (const TraceEvent* event : track.Sorted()) order.push_back(event->arguments[0]);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 77, 4}));
  EXPECT_EQ(track.Sorted()[0]->start_ns, 5000);
  EXPECT_EQ(track.Sorted()[0]->duration_ns, 4000);
}

TEST(Trace, ArgumentsMayBeSetLater) {
  Trace trace;
  TraceTrack& track = trace.process();
  const auto send = [&](std::uint64_t to, std::uint64_t bytes) { const Span span(&track, nullptr, kSend, {to, bytes}); };
  const auto sent = [&] {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const TraceEvent& span : Events(track, TraceRow::kCommunication)) {
      all.emplace_back(span.arguments[0], span.arguments[1]);
    }
    return all;
  };
  using Sent = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  {
    const Span round(&track, nullptr, kOuter, {0});
    send(1, kUnknownYet);
    send(2, kUnknownYet);
    send(1, 5);
    track.SetArguments(kSend, {1, 70});
    track.SetArguments(kSend, {3, 9});  // there is none
    EXPECT_EQ(sent(), (Sent{{1, 70}, {2, kUnknownYet}, {1, 5}}));
    track.SetArguments(kSend, {1, 71});
    EXPECT_EQ(sent(), (Sent{{1, 70}, {2, kUnknownYet}, {1, 5}})) << "it is known";
  }
  {
    const Span round(&track, nullptr, kOuter, {1});
    track.SetArguments(kSend, {2, 80});
    EXPECT_EQ(sent(), (Sent{{1, 70}, {2, kUnknownYet}, {1, 5}})) << "of a round that is over";
  }
}

TEST(Trace, TracksAreFoundByTheirDevice) {
  Trace trace;
  const auto zero = MakeHostDevice(0, 1), one = MakeHostDevice(1, 1), again = MakeHostDevice(0, 2);
  TraceTrack& track = trace.Track(*zero);
  EXPECT_NE(&track, &trace.Track(*one));
  EXPECT_EQ(&track, &trace.Track(*again));
  ASSERT_EQ(trace.tracks().size(), 3u);
  EXPECT_EQ(trace.tracks()[0]->name(), "process");
  EXPECT_EQ(trace.tracks()[1]->name(), "host:0");
  EXPECT_EQ(trace.tracks()[2]->name(), "host:1");
}

TEST(Trace, BeyondItsLimitCountsWhatItDrops) {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{10}, std::size_t{300}}) {
    Trace trace(limit);
    const auto device = MakeHostDevice(0, 1);
    for (int i = 0; i < 1000; ++i) trace.Track(*device).AddInstant(kLevel, Clock::now());
    EXPECT_EQ(trace.Track(*device).size(), limit);
    EXPECT_EQ(trace.dropped(), 1000 - limit);
    EXPECT_EQ(trace.Track(*device).Sorted().size(), limit);
  }
}

TEST(Trace, TracksAreWrittenAtTheSameTime) {
  constexpr std::size_t kThreads = 4, kEach = 5000, kLimit = 15000;
  Trace trace(kLimit);
  std::vector<std::unique_ptr<Device>> devices;
  for (std::size_t i = 0; i < kThreads; ++i) devices.push_back(MakeHostDevice(static_cast<int>(i), 1));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      TraceTrack& track = trace.Track(*devices[i]);
      for (std::uint64_t n = 0; n < kEach; ++n) Span(&track, nullptr, kWork, {n});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t kept = 0;
  for (const TraceTrack* track : trace.tracks()) {
    kept += track->size();
    std::uint64_t next = 0;
    for (const TraceEvent* event : track->Sorted()) ASSERT_EQ(event->arguments[0], next++) << track->name();
  }
  EXPECT_LE(kept, kLimit);
  EXPECT_GT(kept, kLimit - kThreads * 256);  // what tracks have claimed and not filled
  EXPECT_EQ(kept + trace.dropped(), kThreads * kEach);
}

TEST(Trace, RunsAreNamed) {
  Trace trace;
  EXPECT_EQ(std::string(trace.process().run_kind().name), "run");
  trace.NameRuns(kOuter, {7});
  EXPECT_EQ(&trace.process().run_kind(), &kOuter);
  EXPECT_EQ(trace.process().run_arguments()[0], 7u);
}

/// Events of host devices stand in for a GPU's: they go through the same recording and the same arithmetic.
TEST(TracedDevices, StreamsShowWhatTheirEventsSay) {
  Trace trace(Trace::kDefaultLimit, /*events_on_hosts=*/true);
  const auto device = MakeHostDevice(0, 1);
  Device* const devices[] = {device.get()};
  constexpr std::uint64_t kSpans = 5000;  // more events than are kept before they are drained
  for (int run = 0; run < 2; ++run) {
    const TracedDevices traced(&trace, devices);
    ASSERT_EQ(traced.track(0), &trace.Track(*device));
    for (std::uint64_t i = 0; i < kSpans; ++i) {
      const Span round(traced.track(0), nullptr, kOuter, {i});
      {
        Span span(traced.track(0), nullptr, kWork, {i});
        span.Next(kSend, {0, i % 2 == 0 ? i : kUnknownYet});
      }
      const Span rest(traced.track(0), nullptr, kRest);
      traced.track(0)->SetArguments(kSend, {0, i});  // every other span has all its arguments already
    }
  }
  const TraceTrack& track = trace.Track(*device);
  EXPECT_EQ(track.dropped(), 0u);
  EXPECT_EQ(track.alignment_us(), 0);
  const auto check = [&](TraceRow host_row, TraceRow stream_row, std::size_t argument) {
    const std::vector<TraceEvent> host = Events(track, host_row), stream = Events(track, stream_row);
    ASSERT_EQ(host.size(), 2 * kSpans);
    ASSERT_EQ(stream.size(), 2 * kSpans);
    std::int64_t end = 0, close = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      ASSERT_EQ(stream[i].kind, host[i].kind);
      ASSERT_EQ(stream[i].arguments[argument], i % kSpans);
      ASSERT_GE(stream[i].start_ns, end) << i;
      ASSERT_GE(stream[i].duration_ns, 0);
      end = stream[i].start_ns + stream[i].duration_ns;
      close += std::abs(stream[i].start_ns - host[i].start_ns) < 1'000'000;
    }
    EXPECT_GT(close, static_cast<std::int64_t>(kSpans / 2)) << "another clock: pairs that nothing interrupted are far apart";
  };
  check(TraceRow::kCompute, TraceRow::kStreamCompute, 0);
  check(TraceRow::kCommunication, TraceRow::kStreamCommunication, 1);
  EXPECT_EQ(Events(track, TraceRow::kRounds).size(), 2 * kSpans);
}

TEST(TracedDevices, WithoutTraceThereAreNoTracks) {
  const auto device = MakeHostDevice(0, 1);
  Device* const devices[] = {device.get()};
  const TracedDevices traced(nullptr, devices);
  EXPECT_EQ(traced.track(0), nullptr);
}

}  // namespace
}  // namespace chatty
