/// \file
/// What the devices of an asynchronous run know of each other: who has work, who sleeps, which buffers are on the way, and
/// the limit of the bucket. From it they find together, without a barrier, that a run is over or that the limit is to rise.
///
/// Termination is Mattern's (four counters: Distributed Computing 2, 1987). A run with a limit (buckets.h) has two more
/// words a device: its pending vertices and the first of their priorities. The next bucket begins when nobody has work,
/// nothing is on the way and vertices are pending.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/core/sync.h"
#include "chatty/core/types.h"
#include "chatty/framework/buckets.h"

namespace chatty {

/// A device's work ahead, and what it has done since it last said so.
struct WorkReport {
  std::uint64_t edges = 0;          ///< of active vertices: below the limit
  std::int64_t pending = 0;         ///< vertices beyond the limit
  std::uint64_t first_pending = 0;  ///< PriorityKey of none later than the first of them; 0: none
  std::uint64_t added_edges = 0;    ///< of vertices that have become active
  std::uint64_t first_edges = 0;    ///< of added_edges, relaxed for the first time
  std::uint32_t sweeps = 0;         ///< pushes since the last report
};

/// The signals of all devices of a run. Each function names the device that calls it, or concerns; all may run at once. All
/// accesses are sequentially consistent.
class WorkSignals {
 public:
  /// Whether a run, or a bucket of it, has ended.
  enum class Termination : std::uint8_t {
    kNo,    ///< a device works, or a buffer is on the way
    kDone,  ///< nobody works, nothing is on the way, nothing is pending
    kNext,  ///< the same, but vertices are pending
  };
  /// The limit, and the number of its bucket, which changes with each raise.
  struct Limit {
    std::uint64_t bucket = 0;          ///< even
    double value = kInfinity<double>;  ///< perhaps that of a later bucket already
  };

  /// For so many devices, which sleep by `spin`.
  WorkSignals(std::size_t devices, const BucketPlan& plan);

  std::size_t size() const { return signals_.size(); }  ///< devices

  /// @{
  /// Sleep: a device reads its count, looks for work, and sleeps until the count has changed. Whoever has work for it wakes
  /// it, which counts it up.
  std::uint32_t WakeCount(PartId device) const { return signals_[device].wake_count.load(); }
  void Wake(PartId device) noexcept;
  void WakeAll() noexcept;
  /// Sleeps until the device is woken after its count was `seen`. Throws AbortedError, TimeoutError.
  void Wait(PartId device, std::uint32_t seen, const WaitContext& context) const;
  /// @}

  /// @{
  /// A device that waits for a credit is not idle. It sets this flag before it looks for credits; the receiver returns the
  /// credit and then reads the flag. So at least one of the two sees the other's store.
  void SetWaitsForCredit(PartId device, bool on) { signals_[device].waits_for_credit.store(on); }
  bool WaitsForCredit(PartId device) const { return signals_[device].waits_for_credit.load(); }
  /// @}

  /// @{
  /// Counts of buffers: sent, before the receiver can see the buffer; received, after its messages are in inboxes.
  void CountSent(PartId device) { signals_[device].sent.fetch_add(1); }
  void CountReceived(PartId device, std::uint64_t buffers) { signals_[device].received.fetch_add(buffers); }
  /// @}

  /// The device has no work below the limit of `bucket` and has sent all messages.
  void SetIdle(PartId device, std::uint64_t bucket) { signals_[device].idle_in.store(bucket); }
  /// The device is about to look for work. Before it takes any.
  void ClearIdle(PartId device) { signals_[device].idle_in.store(kNone); }
  /// Whether nobody works in `bucket`. One pass over the counters could see a device before it receives what another sends
  /// later, or takes a later limit. Two equal passes cannot.
  Termination CheckTermination(std::uint64_t bucket) const;

  /// @{
  /// The order of priorities.
  bool ordered() const { return ordered_; }
  Limit limit() const;
  /// The device has taken the limit of `bucket`, and this is its work.
  void Report(PartId device, std::uint64_t bucket, const WorkReport& report);
  /// Begins the bucket after `bucket`, unless another device has. All devices are idle in it, by CheckTermination.
  void Raise(std::uint64_t bucket);
  /// The same if devices still work, but on less than a bucket's last rounds are worth (BucketPlan::early_edges). Not before
  /// all have taken the limit of `bucket`, so that limits do not outrun a growing frontier. Returns whether it raised.
  bool RaiseEarly(std::uint64_t bucket);
  /// @}

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no bucket

  struct alignas(64) Signal {
    std::atomic<std::uint32_t> wake_count{0};
    std::atomic<bool> waits_for_credit{false};
    std::atomic<std::uint64_t> sent{0}, received{0};
    std::atomic<std::uint64_t> idle_in{kNone};  // a bucket
    // Of a run with an order. The bucket is written after the work in it.
    std::atomic<std::uint64_t> bucket{kNone};
    std::atomic<std::uint64_t> edges{0}, first_pending{0};
    std::atomic<std::int64_t> pending{0};
    std::atomic<std::uint64_t> added_edges{0}, first_edges{0}, sweeps{0};
  };

  bool RaiseAbove(std::uint64_t bucket, std::uint64_t first_pending);

  std::vector<Signal> signals_;
  const bool ordered_;
  const double early_edges_;
  const std::chrono::nanoseconds spin_;
  std::atomic<std::uint64_t> bucket_{0};  // odd while a device raises the limit
  std::atomic<double> limit_;
  Buckets buckets_;                                                  // of the device that has made bucket_ odd, as are:
  std::uint64_t seen_edges_ = 0, seen_first_ = 0, seen_sweeps_ = 0;  // sums at the last raise
};

}  // namespace chatty
