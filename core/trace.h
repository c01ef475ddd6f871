/// \file
/// A recording of runs as spans, counters and instants, for a timeline. A Span serves three purposes: it adds to a sum of
/// time, records in the timeline, and opens a range for profilers (NVTX).
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

/// The kind of a thread's work during a span.
enum class SpanCategory : std::uint8_t {
  kCompute,
  kCommunication,
  kWaiting,
  kHost,   ///< no device's work: loading, dividing, checking
  kRound,  ///< encloses other spans: a trial, a phase, a round
};
/// The category's name in files and profilers.
std::string_view Name(SpanCategory category);

/// A kind of span, counter or instant. Objects have static storage duration, because traces keep their addresses.
struct SpanKind {
  /// Maximum number of arguments of a span.
  static constexpr std::size_t kArguments = 3;

  /// Each # in `name` stands for the next argument of the span: "round # (push)". `arguments_` are their names, null if
  /// absent. `on_stream_`: the device works during the span, so the row of its stream shows the span too.
  constexpr SpanKind(const char* name_, SpanCategory category_, std::array<const char*, kArguments> arguments_ = {},
                     bool on_stream_ = true)
      : name(name_),
        category(category_),
        on_stream(on_stream_ && (category_ == SpanCategory::kCompute || category_ == SpanCategory::kCommunication)),
        arguments(arguments_) {}
  SpanKind(const SpanKind&) = delete;
  SpanKind& operator=(const SpanKind&) = delete;

  /// @{
  /// As given to the constructor.
  const char* const name;
  const SpanCategory category;
  const bool on_stream;
  const std::array<const char*, kArguments> arguments;
  /// @}
  /// NVTX's handle for the name, set at first use.
  mutable nvtx::Handle nvtx{nullptr};
};

/// The default name of a run's span.
inline constexpr SpanKind kRunSpan{"run", SpanCategory::kRound};

/// The rows of a track. Spans of one row follow or enclose each other.
enum class TraceRow : std::uint8_t {
  kRounds,
  kCompute,
  kCommunication,
  kWaiting,
  kHost,
  kStreamCompute,        ///< a GPU's main stream, by the GPU's clock
  kStreamCommunication,  ///< communication on the same stream
};
/// Number of rows of a track.
inline constexpr std::size_t kTraceRows = 7;
/// The row's name in files.
std::string_view Name(TraceRow row);

/// The values of a span's arguments.
using SpanArguments = std::array<std::uint64_t, SpanKind::kArguments>;
/// Placeholder for an argument that TraceTrack::SetArguments sets later. Files leave out arguments that stay unset.
inline constexpr std::uint64_t kUnknownYet = ~std::uint64_t{0};

/// One event of a trace. Times are in nanoseconds since the trace's construction.
struct TraceEvent {
  /// An interval, a value from a time on, or a moment.
  enum class Type : std::uint8_t { kSpan, kCounter, kInstant };
  /// The name and the category.
  const SpanKind* kind = nullptr;
  /// Begin of the event.
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< of spans only
  SpanArguments arguments{};     ///< a counter's value is the first
  /// The kind of event.
  Type type = Type::kSpan;
  /// The row that shows the event.
  TraceRow row = TraceRow::kHost;
};

class Trace;

/// The events of one device, or of the process. One thread at a time writes, without locks.
class TraceTrack {
 public:
  ~TraceTrack();
  TraceTrack(const TraceTrack&) = delete;
  TraceTrack& operator=(const TraceTrack&) = delete;

  const std::string& name() const { return name_; }  ///< "host:0", "cuda:1 NVIDIA H200", "process"
  /// Adds a span. If the trace is full, counts it as dropped.
  void AddSpan(const SpanKind& kind, Clock::time_point start, Clock::time_point end,
               const SpanArguments& arguments) noexcept;
  /// Adds a counter's value from `at` on.
  void AddCounter(const SpanKind& kind, Clock::time_point at, std::uint64_t value) noexcept;
  /// Sets the arguments of the latest span of this kind with the same first argument and an argument kUnknownYet; also in
  /// the stream's row. That span must have ended, and the enclosing span in row kRounds must not.
  void SetArguments(const SpanKind& kind, const SpanArguments& arguments) noexcept;
  /// Adds a moment.
  void AddInstant(const SpanKind& kind, Clock::time_point at) noexcept;

  /// All events, by their begin; an enclosing span comes before the enclosed ones. Not during a run.
  std::vector<const TraceEvent*> Sorted() const;
  /// Number of events kept.
  std::size_t size() const { return size_; }
  /// Number of events dropped because the trace was full.
  std::uint64_t dropped() const { return dropped_; }
  /// Uncertainty in microseconds of the offset between the GPU's and the host's clock: the rows of streams may be off by it.
  /// 0 without a GPU.
  double alignment_us() const { return alignment_us_; }
  /// The kind of a run's span on this track; see Trace::NameRuns.
  const SpanKind& run_kind() const;
  /// The arguments of a run's span on this track.
  const SpanArguments& run_arguments() const;

 private:
  friend class Trace;
  friend class TracedDevices;
  friend class Span;
  static constexpr std::size_t kChunk = 256;         // events per allocation, and per claim from the trace's limit
  static constexpr std::size_t kMaxRecorded = 8192;  // CUDA events recorded before they are converted to spans

  /// An interval of the device's stream between two events, not yet timed.
  struct StreamSpan {
    const SpanKind* kind;
    SpanArguments arguments;
    std::size_t begin, end;
  };
  static constexpr std::size_t kNoEvent = ~std::size_t{0};

  TraceTrack(Trace& trace, std::string name) : trace_(&trace), name_(std::move(name)) {}
  void Append(const TraceEvent& event) noexcept;
  /// Shows the device's main stream in this track's rows until Detach. No effect without `events`: calls on a host device
  /// return after the work. Waits for the stream for up to `timeout` at a time.
  void Attach(Device& device, bool events, std::chrono::milliseconds timeout);
  void Detach() noexcept;
  /// Records an event on the stream and returns its number; kNoEvent if that fails or no stream is shown.
  std::size_t RecordEvent() noexcept;
  void AddStreamSpan(const SpanKind& kind, const SpanArguments& arguments, std::size_t begin, std::size_t end) noexcept;
  /// Calls Drain if there are many recorded events and no open span holds one. Then aligns the clocks again, because CUDA
  /// reports times between events in single precision.
  bool DrainIfFull() noexcept;
  /// Waits for the stream and converts the recorded events to spans.
  void Drain() noexcept;
  void Anchor();  ///< aligns the device's clock with the host's

  Trace* trace_;
  std::string name_;
  std::vector<std::unique_ptr<TraceEvent[]>> chunks_;
  std::size_t size_ = 0, room_ = 0;
  std::uint64_t dropped_ = 0;

  Device* device_ = nullptr;                 // null unless attached with events
  std::chrono::milliseconds timeout_{0};     // of waits for the stream
  std::unique_ptr<Event> base_, candidate_;  // base_ happened at time base_ns_
  std::int64_t base_ns_ = 0;
  std::vector<std::unique_ptr<Event>> pool_;  // reused in later runs; the first recorded_ are recorded
  std::size_t recorded_ = 0;
  int open_ = 0;  // open spans that hold an event
  std::vector<StreamSpan> pending_;
  std::array<std::int64_t, kTraceRows> row_end_ns_{};  // end of the last span in a stream's row
  double alignment_us_ = 0;
};

/// A recording of one or more runs. Several tracks may be written at the same time, each by one thread. Runs in one trace
/// follow each other. At most `limit` events of 56 bytes are kept; tracks count the dropped ones.
class Trace {
 public:
  /// About a million events.
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 20;

  /// `events_on_hosts`: also show the stream of host devices, where it repeats the other rows. For tests.
  explicit Trace(std::size_t limit = kDefaultLimit, bool events_on_hosts = false);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The track of the process: loading, dividing, trials. One thread at a time may write.
  TraceTrack& process() { return *process_; }
  /// The track of a device, created at the first call. Thread-safe.
  TraceTrack& Track(const Device& device);
  /// All tracks, the process's first. Not during a run.
  std::vector<const TraceTrack*> tracks() const;
  /// Maximum number of events.
  std::size_t limit() const { return limit_; }
  std::uint64_t dropped() const;  ///< events dropped because of the limit, in all tracks
  /// Time 0 of all events.
  Clock::time_point start() const { return start_; }

  /// Sets the kind of the spans that enclose the next runs: "trial # (source #)". Not during a run.
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

/// The process's track; null without a trace.
inline TraceTrack* ProcessTrack(Trace* trace) { return trace == nullptr ? nullptr : &trace->process(); }

/// Attaches the tracks of a run's devices during its lifetime. The constructor and the destructor wait for the devices'
/// streams. The thread that starts the run creates it, outside the measured time.
class TracedDevices {
 public:
  /// `trace` may be null: then there are no tracks. `timeout` limits the waits here, as it limits those of the run; 0: 10 s.
  /// A device that exceeds it gets no rows for its stream. Throws CapabilityError if two devices have one label, because two
  /// threads would then write one track.
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

/// An interval of a thread's time, from construction to destruction, in consecutive named parts. The same two clock reads
/// serve a sum of time (the account), the profilers and the trace. Without a trace parts cost nothing; without an account
/// either, no clock is read. Spans of one track and row must nest.
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
  /// A span that began earlier, at `since`.
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

  /// Ends the current part and begins the next one, for the same account.
  void Next(const SpanKind& kind, const SpanArguments& arguments = {}) {
    Pop();
    Push(kind, arguments);
    if (track_ != nullptr) [[unlikely]]
      NextPart(Clock::now(), kind, arguments);
  }
  /// As above, for another account, which may be null.
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
  /// Sets an argument of the current part that was unknown at its begin.
  void Argument(std::size_t i, std::uint64_t value) {
    if (track_ != nullptr) arguments_[i] = value;
  }

  /// The track that records the span; may be null.
  TraceTrack* track() const { return track_; }
  /// The sum, in milliseconds, that the span adds to; may be null.
  double* account() const { return account_; }
  /// Begin of the current part. Undefined without a track.
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
      RecordEnd();
    const Clock::time_point now = Clock::now();
    Add(now);
    if (track_ != nullptr) [[unlikely]]
      EndPart(now);
  }
  void BeginPart(const SpanKind& kind, const SpanArguments& arguments) noexcept;
  void NextPart(Clock::time_point now, const SpanKind& kind, const SpanArguments& arguments) noexcept;
  void TakeEvent(std::size_t shared) noexcept;
  void RecordEnd() noexcept;
  void EndPart(Clock::time_point now) noexcept;

  TraceTrack* const track_;
  double* account_;
  Clock::time_point start_{};  // begin of the time not yet added to the account

  // Members of the current part. Used only with a track, and otherwise left uninitialised: a round has several spans.
  const SpanKind* kind_;
  SpanArguments arguments_;
  Clock::rep part_start_;
  std::size_t begin_event_, end_event_;
};

}  // namespace chatty
