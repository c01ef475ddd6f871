#include "chatty/core/trace.h"

#include <algorithm>
#include <new>
#include <utility>

#include "chatty/core/error.h"

namespace chatty {
namespace {

/// Longest wait for a stream before its events are read. Only a failed device exceeds it.
constexpr std::chrono::milliseconds kDrainTimeout{10000};

TraceRow RowOf(SpanCategory category) {
  switch (category) {
    case SpanCategory::kCompute:
      return TraceRow::kCompute;
    case SpanCategory::kCommunication:
      return TraceRow::kCommunication;
    case SpanCategory::kWaiting:
      return TraceRow::kWaiting;
    case SpanCategory::kHost:
      return TraceRow::kHost;
    case SpanCategory::kRound:
      return TraceRow::kRounds;
  }
  return TraceRow::kHost;
}

std::int64_t Nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

std::string_view Name(SpanCategory category) {
  switch (category) {
    case SpanCategory::kCompute:
      return "compute";
    case SpanCategory::kCommunication:
      return "communication";
    case SpanCategory::kWaiting:
      return "waiting";
    case SpanCategory::kHost:
      return "host";
    case SpanCategory::kRound:
      return "round";
  }
  return "host";
}

std::string_view Name(TraceRow row) {
  constexpr std::array<std::string_view, kTraceRows> kNames = {
      "rounds", "compute", "communication", "waiting", "host", "stream 0: compute", "stream 0: communication"};
  return kNames[static_cast<std::size_t>(row)];
}

// --------------------------------------------------------------------- track ----

TraceTrack::~TraceTrack() = default;

void TraceTrack::Append(const TraceEvent& event) noexcept {
  if (room_ == 0) {
    const std::size_t granted = trace_->Claim(kChunk);
    if (granted > 0) {
      try {
        if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<TraceEvent[]>(kChunk));
        room_ = granted;
      } catch (const std::bad_alloc&) {  // a full memory drops the event and does not fail the run
      }
    }
  }
  if (room_ == 0) {
    ++dropped_;
    return;
  }
  chunks_[size_ / kChunk][size_ % kChunk] = event;
  ++size_;
  --room_;
}

void TraceTrack::AddSpan(const SpanKind& kind, Clock::time_point start, Clock::time_point end,
                         const SpanArguments& arguments) noexcept {
  Append({&kind, Nanoseconds(start - trace_->start()), Nanoseconds(end - start), arguments, TraceEvent::Type::kSpan,
          RowOf(kind.category)});
}

void TraceTrack::AddCounter(const SpanKind& kind, Clock::time_point at, std::uint64_t value) noexcept {
  Append({&kind, Nanoseconds(at - trace_->start()), 0, {value}, TraceEvent::Type::kCounter, TraceRow::kRounds});
}

void TraceTrack::SetArguments(const SpanKind& kind, const SpanArguments& arguments) noexcept {
  const auto set = [&](const SpanKind* of, SpanArguments& its) {
    const bool open = of == &kind && its[0] == arguments[0] && std::find(its.begin(), its.end(), kUnknownYet) != its.end();
    if (open) its = arguments;
    return open;
  };
  for (auto span = pending_.rbegin(); span != pending_.rend() && !set(span->kind, span->arguments); ++span) {
  }
  // The host's span precedes the stream's, which may have been drained since.
  for (std::size_t i = size_; i-- > 0;) {
    TraceEvent& event = chunks_[i / kChunk][i % kChunk];
    if (event.type != TraceEvent::Type::kSpan) continue;
    if (set(event.kind, event.arguments) && event.row == RowOf(kind.category)) return;
    if (event.row == TraceRow::kRounds) return;  // an event before this round: the span was dropped
  }
}

void TraceTrack::AddInstant(const SpanKind& kind, Clock::time_point at) noexcept {
  Append({&kind, Nanoseconds(at - trace_->start()), 0, {}, TraceEvent::Type::kInstant, RowOf(kind.category)});
}

std::vector<const TraceEvent*> TraceTrack::Sorted() const {
  std::vector<const TraceEvent*> events(size_);
  for (std::size_t i = 0; i < size_; ++i) events[i] = &chunks_[i / kChunk][i % kChunk];
  // Spans are written at their end. So of two spans with equal begin and end, the later one encloses the other.
  std::reverse(events.begin(), events.end());
  std::stable_sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
    return std::pair(a->start_ns, -a->duration_ns) < std::pair(b->start_ns, -b->duration_ns);
  });
  return events;
}

const SpanKind& TraceTrack::run_kind() const { return *trace_->run_kind_; }
const SpanArguments& TraceTrack::run_arguments() const { return trace_->run_arguments_; }

void TraceTrack::Attach(Device& device, bool events, std::chrono::milliseconds timeout) {
  if (!events) return;
  timeout_ = timeout.count() > 0 ? std::min(timeout, kDrainTimeout) : kDrainTimeout;
  device_ = &device;
  if (base_ == nullptr) base_ = device.NewEvent();
  if (candidate_ == nullptr) candidate_ = device.NewEvent();  // an earlier call may have failed after creating base_
  recorded_ = 0;
  open_ = 0;
  pending_.clear();
  Anchor();
}

void TraceTrack::Detach() noexcept {
  if (device_ != nullptr) Drain();
  device_ = nullptr;
}

void TraceTrack::Anchor() {
  // The event happens between two reads of the host's clock. The narrowest window of several attempts is kept.
  std::int64_t best = 0;
  for (int i = 0; i < 4; ++i) {
    const Clock::time_point before = Clock::now();
    candidate_->Record(device_->stream());
    device_->stream().Synchronize({nullptr, timeout_});
    const std::int64_t window = Nanoseconds(Clock::now() - before);
    if (i > 0 && window >= best) continue;
    best = window;
    std::swap(base_, candidate_);
    base_ns_ = Nanoseconds(before - trace_->start()) + window / 2;
  }
  if (device_->kind() == DeviceKind::kCuda) alignment_us_ = std::max(alignment_us_, static_cast<double>(best) * 1e-3);
}

std::size_t TraceTrack::RecordEvent() noexcept {
  if (device_ == nullptr) return kNoEvent;
  try {
    if (recorded_ == pool_.size()) pool_.push_back(device_->NewEvent());
    pool_[recorded_]->Record(device_->stream());
    return recorded_++;
  } catch (...) {  // the run's own calls report a failed device
    ++dropped_;
    return kNoEvent;
  }
}

void TraceTrack::AddStreamSpan(const SpanKind& kind, const SpanArguments& arguments, std::size_t begin,
                               std::size_t end) noexcept {
  try {
    pending_.push_back({&kind, arguments, begin, end});
  } catch (...) {
    ++dropped_;
  }
}

bool TraceTrack::DrainIfFull() noexcept {
  if (device_ == nullptr || open_ > 0 || recorded_ < kMaxRecorded) return false;
  Drain();
  try {
    if (device_ != nullptr) Anchor();
  } catch (...) {  // as in Drain
    device_ = nullptr;
  }
  return true;
}

void TraceTrack::Drain() noexcept {
  std::size_t done = 0;
  try {
    device_->stream().Synchronize({nullptr, timeout_});
    for (; done < pending_.size(); ++done) {
      const StreamSpan& span = pending_[done];
      const TraceRow row =
          span.kind->category == SpanCategory::kCommunication ? TraceRow::kStreamCommunication : TraceRow::kStreamCompute;
      const auto at = [&](std::size_t event) {
        return base_ns_ + static_cast<std::int64_t>(pool_[event]->ElapsedMs(*base_) * 1e6);
      };
      // After a new alignment, times may differ by less than the window. A row never goes backwards.
      std::int64_t& row_end = row_end_ns_[static_cast<std::size_t>(row)];
      const std::int64_t start = std::max(at(span.begin), row_end);
      row_end = std::max(at(span.end), start);
      Append({span.kind, start, row_end - start, span.arguments, TraceEvent::Type::kSpan, row});
    }
    pending_.clear();
    recorded_ = 0;
  } catch (...) {  // the device failed: the run's own calls report it, and the host's rows remain
    dropped_ += pending_.size() - done;
    pending_.clear();
    recorded_ = 0;
    device_ = nullptr;
  }
}

// -------------------------------------------------------------------- trace ----

Trace::Trace(std::size_t limit, bool events_on_hosts) try
    : limit_(limit), events_on_hosts_(events_on_hosts), start_(Clock::now()), left_(limit), run_kind_(&kRunSpan) {
  tracks_.push_back(std::unique_ptr<TraceTrack>(new TraceTrack(*this, "process")));
  process_ = tracks_[0].get();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("beginning a trace");
}

TraceTrack& Trace::Track(const Device& device) {
  std::string name = device.label();
  if (device.kind() == DeviceKind::kCuda) name += " " + device.info().name;
  const std::lock_guard lock(mutex_);
  for (const auto& track : tracks_) {
    if (track->name() == name) return *track;
  }
  tracks_.push_back(std::unique_ptr<TraceTrack>(new TraceTrack(*this, std::move(name))));
  return *tracks_.back();
}

std::vector<const TraceTrack*> Trace::tracks() const {
  const std::lock_guard lock(mutex_);
  std::vector<const TraceTrack*> all;
  for (const auto& track : tracks_) all.push_back(track.get());
  return all;
}

std::uint64_t Trace::dropped() const {
  std::uint64_t sum = 0;
  for (const TraceTrack* track : tracks()) sum += track->dropped();
  return sum;
}

void Trace::NameRuns(const SpanKind& kind, const SpanArguments& arguments) {
  run_kind_ = &kind;
  run_arguments_ = arguments;
}

std::size_t Trace::Claim(std::size_t wanted) noexcept {
  std::size_t left = left_.load(std::memory_order_relaxed);
  while (!left_.compare_exchange_weak(left, left - std::min(left, wanted), std::memory_order_relaxed)) {
  }
  return std::min(left, wanted);
}

TracedDevices::TracedDevices(Trace* trace, std::span<Device* const> devices, std::chrono::milliseconds timeout) {
  if (trace == nullptr) return;
  try {
    for (Device* device : devices) {
      TraceTrack& track = trace->Track(*device);
      if (std::find(tracks_.begin(), tracks_.end(), &track) != tracks_.end()) {  // two threads would write this track
        Throw<CapabilityError>(
            "two devices are called {}, but a trace has one track per device; number devices that share a GPU by "
            "Device::set_share",
            device->label());
      }
      tracks_.push_back(&track);
      device->MakeCurrent();
      track.Attach(*device, device->kind() == DeviceKind::kCuda || trace->events_on_hosts_, timeout);
    }
  } catch (...) {
    for (TraceTrack* track : tracks_) track->Detach();
    throw;
  }
}

TracedDevices::~TracedDevices() {
  for (TraceTrack* track : tracks_) track->Detach();
}

// --------------------------------------------------------------------- span ----

void Span::BeginPart(const SpanKind& kind, const SpanArguments& arguments) noexcept {
  track_->DrainIfFull();
  kind_ = &kind;
  arguments_ = arguments;
  part_start_ = start_.time_since_epoch().count();
  TakeEvent(TraceTrack::kNoEvent);
}

void Span::NextPart(Clock::time_point now, const SpanKind& kind, const SpanArguments& arguments) noexcept {
  RecordEnd();
  EndPart(now);
  const bool drained = track_->DrainIfFull();
  kind_ = &kind;
  arguments_ = arguments;
  part_start_ = now.time_since_epoch().count();
  TakeEvent(drained ? TraceTrack::kNoEvent : end_event_);  // the end of one part is the begin of the next
}

void Span::TakeEvent(std::size_t shared) noexcept {
  begin_event_ = !kind_->on_stream ? TraceTrack::kNoEvent : shared != TraceTrack::kNoEvent ? shared : track_->RecordEvent();
  if (begin_event_ != TraceTrack::kNoEvent) ++track_->open_;
}

void Span::RecordEnd() noexcept {
  end_event_ = TraceTrack::kNoEvent;
  if (begin_event_ == TraceTrack::kNoEvent) return;
  end_event_ = track_->RecordEvent();
  --track_->open_;
}

void Span::EndPart(Clock::time_point now) noexcept {
  track_->AddSpan(*kind_, part_start(), now, arguments_);
  if (end_event_ != TraceTrack::kNoEvent) track_->AddStreamSpan(*kind_, arguments_, begin_event_, end_event_);
}

}  // namespace chatty
