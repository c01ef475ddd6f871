/// \file
/// How host threads wait for each other: a bounded spin, then sleep, always with an abort token and a deadline.
///
/// Barriers that only spin collapse when other work holds a core; barriers that only sleep cost tens of microseconds a
/// round. Every wait here spins for a bounded time (SpinOf) and then parks on a futex; where more threads meet than there
/// are cores, nobody spins, for the one that is waited for may need the very core.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/error.h"

namespace chatty {

/// The clock of all waits, deadlines and times.
using Clock = std::chrono::steady_clock;

/// Longest busy wait before a thread gives its core away.
inline constexpr std::chrono::nanoseconds kSpin{2000};
/// The same where cores are idle anyway, or the others are known to be about to arrive.
inline constexpr std::chrono::nanoseconds kLongSpin{100000};

/// Cores that this process may run on.
int Cores() noexcept;

/// Lets the calling thread run on all cores that OpenMP may use. A thread started by one that OpenMP has bound to a core
/// (OMP_PROC_BIND) inherits that one core, and would share it with its siblings.
void UseAllCores() noexcept;

/// How long threads that meet `threads` at a time spin: kSpin; not at all if they are more than the cores; and kLongSpin if
/// there are four cores for each, where others seldom want theirs, and a core that has gone to sleep takes up to 200 us to
/// wake.
std::chrono::nanoseconds SpinOf(int threads) noexcept;

/// How the first failure of any device reaches all others. Thread-safe.
class AbortToken {
 public:
  /// Records `error` if it is the first, and makes every wait that watches this token throw AbortedError.
  void Fail(std::exception_ptr error) noexcept;
  /// Whether some device has failed.
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  /// The address that a CUDA kernel or another wait may poll; non-zero once failed.
  const std::atomic<bool>& flag() const noexcept { return aborted_; }
  /// Throws AbortedError, naming what was being waited for, once some device failed.
  void ThrowIfAborted(std::string_view waiting_for) const {
    if (aborted()) [[unlikely]]
      Throw<AbortedError>("gave up waiting for {}: another device failed first", waiting_for);
  }
  /// Forgets the failure, once nobody waits any more.
  void Reset() noexcept;
  /// Rethrows the first recorded error, if any.
  void RethrowFirst() const;

 private:
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;
  std::exception_ptr first_;
};

/// What a wait needs besides its condition. `abort` may be null; a zero timeout waits for ever.
struct WaitContext {
  /// Watched while waiting; not owned; may be null.
  const AbortToken* abort = nullptr;
  /// Longest wait; 0: for ever.
  std::chrono::milliseconds timeout{0};
};

/// Blocks until `word` differs from `seen`: spins for `spin`, then sleeps. Acquires what the writer released. Throws
/// AbortedError or TimeoutError naming `what`. `sleepers`, if not null, counts those that no longer spin: who changes `word`
/// with sequentially consistent order and then finds none need not WakeAll. Returns whether it never had to sleep.
bool WaitWhileEqual(const std::atomic<std::uint32_t>& word, std::uint32_t seen, const WaitContext& context,
                    std::string_view what, std::chrono::nanoseconds spin = kSpin, std::atomic<int>* sleepers = nullptr);

/// Wakes all threads that WaitWhileEqual holds on `word`. Call after storing a new value with release order.
void WakeAll(const std::atomic<std::uint32_t>& word) noexcept;

/// How long those who meet at one place spin, by how it went there before. A wait longer than kSpin pays while the others
/// are awake on cores of their own; where the scheduler has put two of them on one core, or other work holds it, the waiter
/// burns all of it before the one that it waits for can run. So each long wait in vain makes the next 1, 2, 4 and at most
/// kLongest ones short, and one that succeeds makes all long again. Shared by the threads; its races cost time only.
class SpinPatience {
 public:
  /// The most waits that are short for one long one in vain: kLongSpin spread over them is about kSpin each.
  static constexpr int kLongest = 32;
  /// How long to spin now, if `spin` is the longest worth it.
  std::chrono::nanoseconds Next(std::chrono::nanoseconds spin) noexcept {
    if (spin <= kSpin) return spin;
    const int left = short_.load(std::memory_order_relaxed);
    if (left == 0) return spin;
    short_.store(left - 1, std::memory_order_relaxed);
    return kSpin;
  }
  /// Tells how a wait ended for which Next said `spun`.
  void Ended(std::chrono::nanoseconds spun, bool awake) noexcept {
    if (spun <= kSpin) return;
    const int last = step_.load(std::memory_order_relaxed);
    if (awake && last == 0) return;  // as always: nothing is written, so no cache line moves
    const int step = awake ? 0 : std::min(kLongest, last == 0 ? 1 : 2 * last);
    step_.store(step, std::memory_order_relaxed);
    short_.store(step, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> short_{0};  // waits to come that are short
  std::atomic<int> step_{0};   // how many the last long wait in vain made so
};

/// A reusable barrier for a fixed number of threads. A thread that fails calls Poison(), which makes all others throw.
class Barrier {
 public:
  /// For `threads` threads.
  explicit Barrier(int threads) : threads_(threads), spin_(SpinOf(threads)) {}

  /// Returns when all threads have arrived; what each did before happens before what any does after.
  void Arrive(const WaitContext& context, std::string_view what) { Arrive(context, what, spin_); }
  /// Spins for as long as that, if its threads ever spin and SpinPatience has not run out.
  void Arrive(const WaitContext& context, std::string_view what, std::chrono::nanoseconds spin);
  bool spins() const { return spin_.count() > 0; }  ///< there is a core for each thread
  /// Makes everybody who waits here, or comes to, throw AbortedError.
  void Poison() noexcept;
  /// Sets the number of threads anew. Only while nobody waits.
  void Reset(int threads) noexcept;

 private:
  static constexpr std::uint32_t kPoisoned = 0x80000000u;
  int threads_;
  std::chrono::nanoseconds spin_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};  // within a wait that no longer spins
  SpinPatience patience_;
};

/// A barrier at which each thread gives a value and gets those of all (MPI_Allgather). One barrier a call: two sets of slots
/// alternate, so that a fast thread's next value cannot overwrite one that a slow thread still reads.
template <class T>
class AllGatherBarrier {
 public:
  /// For `threads` threads.
  explicit AllGatherBarrier(int threads)
      : barrier_(threads), slots_{std::vector<Slot>(threads), std::vector<Slot>(threads)} {}

  /// Calls fold(rank, value) for every rank in order, after all threads have arrived. Identical order, so identical
  /// floating-point results, on every thread.
  template <class Fold>
  void Exchange(int rank, std::uint64_t epoch, const T& mine, const WaitContext& context, std::string_view what,
                Fold&& fold) {
    auto& slots = slots_[epoch & 1];
    slots[rank].value = mine;
    barrier_.Arrive(context, what);
    for (std::size_t r = 0; r < slots.size(); ++r) fold(static_cast<int>(r), static_cast<const T&>(slots[r].value));
  }
  /// As Barrier::Poison.
  void Poison() noexcept { barrier_.Poison(); }

 private:
  struct alignas(64) Slot {
    T value{};
  };
  Barrier barrier_;
  std::vector<Slot> slots_[2];
};

/// Each thread gives a value to its neighbours and waits for their values alone (MPI_Neighbor_allgather). A receiver sleeps
/// at most once an epoch, however many senders it waits for; the last of them wakes it.
///
/// All threads count epochs alike. The caller ensures two things: no thread signals an epoch before the receiver has
/// returned from the Wait of the epoch before; and no thread writes a value while the one of two epochs ago is still read.
template <class T>
class NeighbourExchange {
 public:
  /// For `threads` threads.
  explicit NeighbourExchange(int threads)
      : spin_(SpinOf(threads)), slots_{std::vector<Slot>(threads), std::vector<Slot>(threads)}, arrivals_(threads) {}

  /// Rank's value for `epoch`, to be written before the first Signal of that epoch.
  T& Outgoing(int rank, std::uint64_t epoch) { return slots_[epoch & 1][rank].value; }
  /// Signals `to` that the caller's value is there: once an epoch for each thread that waits for it.
  void Signal(int to) noexcept {
    Arrivals& arrivals = arrivals_[to];
    // Either this sees the number waited for, or the waiter sees this arrival: both are sequentially consistent.
    std::uint32_t seen = arrivals.arrived.load(), counted;
    do {
      counted = (seen & kPoisoned) | ((seen + 1) & kCount);  // the count wraps without poisoning
    } while (!arrivals.arrived.compare_exchange_weak(seen, counted));
    if ((counted & kCount) == arrivals.wanted.load()) WakeAll(arrivals.arrived);
  }
  /// Returns once `senders` threads have signalled `rank` in this epoch; no other may signal in it. What they did before
  /// happens before what the caller does after. Throws AbortedError, TimeoutError.
  void Wait(int rank, int senders, const WaitContext& context, std::string_view what) {
    Arrivals& arrivals = arrivals_[rank];
    const std::uint32_t wanted =
        (arrivals.wanted.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(senders)) & kCount;
    if (senders > 0) arrivals.wanted.store(wanted);
    for (std::uint32_t seen; ((seen = arrivals.arrived.load()) & kCount) != wanted || (seen & kPoisoned) != 0;) {
      if (seen & kPoisoned) Throw<AbortedError>("gave up waiting for {}: another thread failed first", what);
      WaitWhileEqual(arrivals.arrived, seen, context, what, spin_);
    }
  }
  /// The value that `from` gave for `epoch`. Only after a Wait that counted it.
  const T& Incoming(int from, std::uint64_t epoch) const { return slots_[epoch & 1][from].value; }
  /// Makes all that wait, and all that come, throw.
  void Poison() noexcept {
    for (Arrivals& arrivals : arrivals_) {
      arrivals.arrived.fetch_or(kPoisoned);
      WakeAll(arrivals.arrived);
    }
  }

 private:
  static constexpr std::uint32_t kPoisoned = 0x80000000u, kCount = ~kPoisoned;
  struct alignas(64) Slot {
    T value{};
  };
  struct alignas(64) Arrivals {
    std::atomic<std::uint32_t> arrived{0};  // notices ever, modulo 2^31, and whether the run has failed
    std::atomic<std::uint32_t> wanted{0};   // notices that the receiver has asked for so far
  };
  std::chrono::nanoseconds spin_;
  std::vector<Slot> slots_[2];
  std::vector<Arrivals> arrivals_;
};

}  // namespace chatty
