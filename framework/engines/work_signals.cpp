#include "chatty/framework/engines/work_signals.h"

#include <algorithm>

namespace chatty {

WorkSignals::WorkSignals(std::size_t devices, const BucketPlan& plan)
    : signals_(devices),
      ordered_(plan.width < kInfinity<double>),
      early_edges_(plan.early_edges),
      spin_(SpinOf(static_cast<int>(devices))),
      limit_(Buckets(plan).limit()),
      buckets_(plan) {}

void WorkSignals::Wake(PartId device) noexcept {
  signals_[device].wake_count.fetch_add(1);
  chatty::WakeAll(signals_[device].wake_count);
}

void WorkSignals::WakeAll() noexcept {
  for (PartId d = 0; d < signals_.size(); ++d) Wake(d);
}

void WorkSignals::Wait(PartId device, std::uint32_t seen, const WaitContext& context) const {
  WaitWhileEqual(signals_[device].wake_count, seen, context, "messages of other devices", spin_);
}

WorkSignals::Termination WorkSignals::CheckTermination(std::uint64_t bucket) const {
  std::uint64_t sent[2], received[2];
  std::int64_t pending = 0;
  for (int pass = 0; pass < 2; ++pass) {
    sent[pass] = received[pass] = 0;
    pending = 0;
    for (const Signal& signal : signals_) {
      if (signal.idle_in.load() != bucket) return Termination::kNo;
      received[pass] += signal.received.load();
      pending += signal.pending.load();
    }
    for (const Signal& signal : signals_) sent[pass] += signal.sent.load();
  }
  if (sent[0] != received[0] || sent[1] != sent[0] || received[1] != received[0]) return Termination::kNo;
  return pending == 0 ? Termination::kDone : Termination::kNext;
}

WorkSignals::Limit WorkSignals::limit() const {
  const std::uint64_t bucket = bucket_.load();
  return {bucket & ~std::uint64_t{1}, limit_.load()};
}

void WorkSignals::Report(PartId device, std::uint64_t bucket, const WorkReport& report) {
  Signal& signal = signals_[device];
  signal.edges.store(report.edges);
  signal.pending.store(report.pending);
  signal.first_pending.store(report.first_pending);
  if (report.added_edges != 0) signal.added_edges.fetch_add(report.added_edges);
  if (report.first_edges != 0) signal.first_edges.fetch_add(report.first_edges);
  if (report.sweeps != 0) signal.sweeps.fetch_add(report.sweeps);
  signal.bucket.store(bucket);
}

void WorkSignals::Raise(std::uint64_t bucket) {
  std::uint64_t first = 0;
  for (const Signal& signal : signals_) {
    if (signal.pending.load() > 0) first = std::max(first, signal.first_pending.load());
  }
  RaiseAbove(bucket, first);
}

bool WorkSignals::RaiseEarly(std::uint64_t bucket) {
  if (!(early_edges_ > 0)) return false;
  std::uint64_t edges = 0, first = 0;
  for (const Signal& signal : signals_) {
    if (signal.bucket.load() != bucket) return false;
    edges += signal.edges.load();
    if (signal.pending.load() > 0) first = std::max(first, signal.first_pending.load());
  }
  if (first == 0 || !(static_cast<double>(edges) < early_edges_)) return false;
  return RaiseAbove(bucket, first);
}

bool WorkSignals::RaiseAbove(std::uint64_t bucket, std::uint64_t first_pending) {
  if (first_pending == 0) return false;  // another device has raised the limit meanwhile
  std::uint64_t expected = bucket;
  if (!bucket_.compare_exchange_strong(expected, bucket + 1)) return false;
  std::uint64_t edges = 0, first = 0, sweeps = 0;
  for (const Signal& signal : signals_) {
    edges += signal.added_edges.load();
    first += signal.first_edges.load();
    sweeps += signal.sweeps.load();
  }
  // Devices sweep at the same time, so a sweep of each takes the place of a round.
  buckets_.RecordRounds(static_cast<double>(sweeps - seen_sweeps_) / static_cast<double>(size()), edges - seen_edges_,
                        first - seen_first_);
  seen_edges_ = edges;
  seen_first_ = first;
  seen_sweeps_ = sweeps;
  buckets_.Raise(PriorityOfKey(first_pending));
  limit_.store(buckets_.limit());
  bucket_.store(bucket + 2);
  WakeAll();
  return true;
}

}  // namespace chatty
