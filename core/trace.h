/// \file
/// What ran when: the spans, counters and instants of runs, kept for a timeline. Accounts of time, the timeline and the
/// ranges of profilers (NVTX) are three views of one object, Span.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/nvtx.h"
#include "chatty/core/sync.h"

namespace chatty {

/// What a thread does in a span.
enum class SpanCategory : std::uint8_t {
  kCompute,
  kCommunication,
  kWaiting,
  kHost,   ///< what is no device's work: loading, dividing, checking
  kRound,  ///< encloses others: a trial, a phase, a round
};
/// What files and profilers call it.
std::string_view Name(SpanCategory category);

/// A kind of span, counter or instant. Objects have static storage: traces keep their addresses.
struct SpanKind {
  /// Arguments that a span may have.
  static constexpr std::size_t kArguments = 3;

  /// Each # in `name` stands for the next argument of the span: "round # (push)". `arguments` name them; null where there is
  /// none. `on_stream`: whether the device works meanwhile, so that its own row shows the span too.
  constexpr SpanKind(const char* name_, SpanCategory category_, std::array<const char*, kArguments> arguments_ = {},
                     bool on_stream_ = true)
      : name(name_),
        category(category_),
        on_stream(on_stream_ && (category_ == SpanCategory::kCompute || category_ == SpanCategory::kCommunication)),
        arguments(arguments_) {}
  SpanKind(const SpanKind&) = delete;
  SpanKind& operator=(const SpanKind&) = delete;

  /// @{
  /// As constructed.
  const char* const name;
  const SpanCategory category;
  const bool on_stream;
  const std::array<const char*, kArguments> arguments;
  /// @}
  /// What NVTX calls the name, once it was asked.
  mutable nvtx::Handle nvtx{nullptr};
};

/// What a run's span is called unless the trace says otherwise.
inline constexpr SpanKind kRunSpan{"run", SpanCategory::kRound};

/// The rows of a track. Within one, spans follow or enclose each other.
enum class TraceRow : std::uint8_t {
  kRounds,
  kCompute,
  kCommunication,
  kWaiting,
  kHost,
  kStreamCompute,        ///< a GPU's main stream, by its own clock
  kStreamCommunication,  ///< and what of it is exchange
};
/// How many rows a track has.
inline constexpr std::size_t kTraceRows = 7;
/// What files call it.
std::string_view Name(TraceRow row);

/// Numbers that a span carries, as its kind names them.
using SpanArguments = std::array<std::uint64_t, SpanKind::kArguments>;
/// An argument that is not known when its span ends. TraceTrack::SetArguments replaces it; files leave it out if nobody did.
inline constexpr std::uint64_t kUnknownYet = ~std::uint64_t{0};

/// One entry of a trace. Times are in nanoseconds since the trace was made.
struct TraceEvent {
  /// A stretch of time, a value at a time, or a moment.
  enum class Type : std::uint8_t { kSpan, kCounter, kInstant };
  /// What happened.
  const SpanKind* kind = nullptr;
  /// When it began.
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< of spans
  SpanArguments arguments{};     ///< a counter's value is the first
  /// Which of the three.
  Type type = Type::kSpan;
  /// Where to show it.
  TraceRow row = TraceRow::kHost;
};

class Trace;

/// The events of one device, or of the process. Written by one thread at a time, without locks.
class TraceTrack {
 public:
  ~TraceTrack();
  TraceTrack(const TraceTrack&) = delete;
  TraceTrack& operator=(const TraceTrack&) = delete;

  const std::string& name() const { return name_; }  ///< "host:0", "cuda:1 NVIDIA H200", "process"
  /// Adds events; counts them as dropped where the trace is full. Never throws.
  void AddSpan(const SpanKind& kind, Clock::time_point start, Clock::time_point end,
               const SpanArguments& arguments) noexcept;
  /// A value from `at` on. Never throws.
  void AddCounter(const SpanKind& kind, Clock::time_point at, std::uint64_t value) noexcept;
  /// Sets the arguments of the latest span of this kind that has the same first argument and some kUnknownYet, in the
  /// stream's row too. The span has ended; the span in row kRounds that encloses it has not.
  void SetArguments(const SpanKind& kind, const SpanArguments& arguments) noexcept;
  /// A moment. Never throws.
  void AddInstant(const SpanKind& kind, Clock::time_point at) noexcept;

  /// All events, each row's in order of their start, what encloses before what is enclosed. Not while a run writes.
  std::vector<const TraceEvent*> Sorted() const;
  /// Events kept.
  std::size_t size() const { return size_; }
  /// Events left out because the trace was full.
  std::uint64_t dropped() const { return dropped_; }
  /// Width of the window within which the GPU's clock was set against the host's, in microseconds: what rows of streams may
  /// be off by. 0 without a GPU.
  double alignment_us() const { return alignment_us_; }
  /// What a run's span on this track is called; see Trace::NameRuns.
  const SpanKind& run_kind() const;
  /// And its arguments.
  const SpanArguments& run_arguments() const;

 private:
  friend class Trace;
  friend class TracedDevices;
  friend class Span;
  static constexpr std::size_t kChunk = 256;      // events that are allocated and claimed from the trace's limit together
  static constexpr std::size_t kMaxMarks = 8192;  // recorded CUDA events before they are turned into spans

  /// A stretch of the device's stream between two marks, recorded and not yet timed.
  struct StreamSpan {
    const SpanKind* kind;
    SpanArguments arguments;
    std::size_t begin, end;
  };
  static constexpr std::size_t kNoMark = ~std::size_t{0};

  TraceTrack(Trace& trace, std::string name) : trace_(&trace), name_(std::move(name)) {}
  void Append(const TraceEvent& event) noexcept;
  /// The device whose main stream this track's rows show from now on, until Detach. Nothing on a host device, whose work has
  /// run when a call returns, unless `events` insists. Waits for the stream for up to `timeout` at a time.
  void Attach(Device& device, bool events, std::chrono::milliseconds timeout);
  void Detach() noexcept;
  /// Records an event on the stream and returns its number; kNoMark where that fails or no stream is shown.
  std::size_t Mark() noexcept;
  void AddStreamSpan(const SpanKind& kind, const SpanArguments& arguments, std::size_t begin, std::size_t end) noexcept;
  /// Settles if many marks have been made and no span holds one, and sets the clocks against each other anew: CUDA tells
  /// times between events in single precision.
  bool SettleIfFull() noexcept;
  /// Waits for the stream, turns what was recorded into spans.
  void Settle() noexcept;
  void Anchor();  ///< sets the clocks of device and host against each other

  Trace* trace_;
  std::string name_;
  std::vector<std::unique_ptr<TraceEvent[]>> chunks_;
  std::size_t size_ = 0, room_ = 0;
  std::uint64_t dropped_ = 0;

  Device* device_ = nullptr;                 // while attached with events
  std::chrono::milliseconds timeout_{0};     // of waits for it
  std::unique_ptr<Event> base_, candidate_;  // base_ happened at base_ns_
  std::int64_t base_ns_ = 0;
  std::vector<std::unique_ptr<Event>> pool_;  // kept from run to run; the first marks_ are recorded
  std::size_t marks_ = 0;
  int open_ = 0;  // spans that hold a mark
  std::vector<StreamSpan> pending_;
  std::array<std::int64_t, kTraceRows> settled_ns_{};  // where a stream's row has got to
  double alignment_us_ = 0;
};

/// A recording of one or more runs. Lanes may be written at the same time, each by one thread; runs that are recorded by the
/// same trace come one after another. Bounded: at most `limit` events, 56 bytes each, are kept, and tracks count the rest.
class Trace {
 public:
  /// About a million events.
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 20;

  /// `events_on_hosts`: show a row of the stream for host devices too, where it repeats the others. For tests.
  explicit Trace(std::size_t limit = kDefaultLimit, bool events_on_hosts = false);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The track of the process: loading, dividing, trials. For one thread at a time.
  TraceTrack& process() { return *process_; }
  /// The track of a device, made at the first call. Thread-safe.
  TraceTrack& Track(const Device& device);
  /// All tracks, the process's first. Not while a run writes.
  std::vector<const TraceTrack*> tracks() const;
  /// The most events that are kept.
  std::size_t limit() const { return limit_; }
  std::uint64_t dropped() const;  ///< events that were left out because of the limit, by all tracks
  /// Time 0 of all events.
  Clock::time_point start() const { return start_; }

  /// What the next runs' spans, which enclose all their rounds, are called: "trial # (source #)". Not during a run.
  void NameRuns(const SpanKind& kind, const SpanArguments& arguments = {});

 private:
  friend class TraceTrack;
  friend class TracedDevices;
  std::size_t Claim(std::size_t wanted) noexcept;

  const std::size_t limit_;
  const bool events_on_hosts_;
  const Clock::time_point start_;
  std::atomic<std::size_t> left_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<TraceTrack>> tracks_;
  TraceTrack* process_;
  const SpanKind* run_kind_;
  SpanArguments run_arguments_{};
};

/// Null for no trace.
inline TraceTrack* ProcessTrack(Trace* trace) { return trace == nullptr ? nullptr : &trace->process(); }

/// Devices whose tracks a run writes while this lives. Construction and destruction wait for the devices' streams; both are
/// for the thread that starts the run, outside of what it measures.
class TracedDevices {
 public:
  /// `trace` may be null: then there are no tracks. `timeout` is the run's longest wait, which bounds those here; 0: none,
  /// then 10 s. A device that does not come to an end in that time has no rows for its stream. Throws CapabilityError where
  /// two have one label: that would be one track for two threads.
  TracedDevices(Trace* trace, std::span<Device* const> devices,
                std::chrono::milliseconds timeout = std::chrono::milliseconds(0));
  ~TracedDevices();
  TracedDevices(const TracedDevices&) = delete;
  TracedDevices& operator=(const TracedDevices&) = delete;
  /// Device d's track; null without a trace.
  TraceTrack* track(std::size_t d) const { return tracks_.empty() ? nullptr : tracks_[d]; }

 private:
  std::vector<TraceTrack*> tracks_;
};

/// A stretch of a thread's time, from construction to destruction, in named parts: it is added to an account, shown by
/// profilers and written to a trace, by the same two looks at the clock. Without a trace the parts cost nothing, and without
/// an account either no clock is read. Spans of one track and row are made and ended like brackets.
class Span {
 public:
  /// `track` and `account`, in milliseconds, may be null.
  Span(TraceTrack* track, double* account, const SpanKind& kind, const SpanArguments& arguments = {})
      : track_(track), account_(account) {
    Push(kind, arguments);
    if (track_ != nullptr || account_ != nullptr) start_ = Clock::now();
    if (track_ != nullptr) [[unlikely]]
      BeginPart(kind, arguments);
  }
  /// The same for a stretch that began earlier, at `since`.
  Span(TraceTrack* track, double* account, const SpanKind& kind, const SpanArguments& arguments, Clock::time_point since)
      : track_(track), account_(account), start_(since) {
    Push(kind, arguments);
    if (track_ != nullptr) [[unlikely]]
      BeginPart(kind, arguments);
  }
  ~Span() {
    if (track_ != nullptr || account_ != nullptr) Stop();
    Pop();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// Ends the present part and begins the next, of the same account.
  void Next(const SpanKind& kind, const SpanArguments& arguments = {}) {
    Pop();
    Push(kind, arguments);
    if (track_ != nullptr) [[unlikely]]
      NextPart(Clock::now(), kind, arguments);
  }
  /// The same on another account, which may be null.
  void Next(double* account, const SpanKind& kind, const SpanArguments& arguments = {}) {
    Pop();
    Push(kind, arguments);
    if (track_ == nullptr && account_ == nullptr && account == nullptr) return;
    const Clock::time_point now = Clock::now();
    Add(now);
    start_ = now;
    account_ = account;
    if (track_ != nullptr) [[unlikely]]
      NextPart(now, kind, arguments);
  }
  /// Sets an argument of the present part that was not known when it began.
  void Argument(std::size_t i, std::uint64_t value) {
    if (track_ != nullptr) arguments_[i] = value;
  }

  /// Where it is recorded; may be null.
  TraceTrack* track() const { return track_; }
  /// What it is added to, in milliseconds; may be null.
  double* account() const { return account_; }
  /// When the present part began. Meaningless without a track.
  Clock::time_point part_start() const { return Clock::time_point(Clock::duration(part_start_)); }

 private:
  static void Push(const SpanKind& kind, const SpanArguments& arguments) {
    if (nvtx::Attached()) {
      nvtx::PushRange(kind.nvtx, kind.name, static_cast<std::uint32_t>(kind.category) + 1, Name(kind.category).data(),
                      arguments[0]);
    }
  }
  static void Pop() {
    if (nvtx::Attached()) nvtx::PopRange();
  }
  void Add(Clock::time_point end) {
    if (account_ != nullptr) *account_ += std::chrono::duration<double, std::milli>(end - start_).count();
  }
  void Stop() {
    if (track_ != nullptr) [[unlikely]]
      MarkEnd();
    const Clock::time_point now = Clock::now();
    Add(now);
    if (track_ != nullptr) [[unlikely]]
      EndPart(now);
  }
  void BeginPart(const SpanKind& kind, const SpanArguments& arguments) noexcept;
  void NextPart(Clock::time_point now, const SpanKind& kind, const SpanArguments& arguments) noexcept;
  void TakeMark(std::size_t shared) noexcept;
  void MarkEnd() noexcept;
  void EndPart(Clock::time_point now) noexcept;

  TraceTrack* const track_;
  double* account_;
  Clock::time_point start_{};  // of the account's stretch

  // Of the present part. Used with a track only, and without one not even initialised: a round has a handful of spans.
  const SpanKind* kind_;
  SpanArguments arguments_;
  Clock::rep part_start_;
  std::size_t begin_mark_, end_mark_;
};

}  // namespace chatty
