/// \file
/// Waits between host threads: a bounded spin, then sleep, with an abort token and a deadline.
///
/// A barrier that only spins is slow when other work occupies a core. A barrier that only sleeps costs tens of microseconds
/// a round. Every wait here spins for a bounded time (SpinOf) and then sleeps on a futex. With more threads than cores no
/// thread spins: the thread waited for may need the same core.
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

/// The clock of all waits, deadlines and measurements.
using Clock = std::chrono::steady_clock;

/// Longest spin before a thread gives up its core.
inline constexpr std::chrono::nanoseconds kSpin{2000};
/// Longest spin if cores are idle anyway, or the other threads arrive soon.
inline constexpr std::chrono::nanoseconds kLongSpin{100000};

/// Cores that this process may run on.
int Cores() noexcept;

/// Lets the calling thread run on all cores that OpenMP may use. A thread inherits the affinity of its creator, and OpenMP
/// may have bound that to a single core (OMP_PROC_BIND). All threads started there would share the core.
void UseAllCores() noexcept;

/// Spin time for a barrier of `threads` threads: kSpin; 0 with more threads than cores; kLongSpin with at least four cores
/// for each thread, where cores are seldom contended and a sleeping core takes up to 200 us to wake.
std::chrono::nanoseconds SpinOf(int threads) noexcept;

/// Carries the first failure of any device to all others. Thread-safe.
class AbortToken {
 public:
  /// Records `error` if it is the first. Every wait with this token then throws AbortedError.
  void Fail(std::exception_ptr error) noexcept;
  /// Whether a device has failed.
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  /// The flag for polling by a CUDA kernel or another wait; non-zero after a failure.
  const std::atomic<bool>& flag() const noexcept { return aborted_; }
  /// If a device has failed, throws AbortedError with the name of the operation waited for.
  void ThrowIfAborted(std::string_view waiting_for) const {
    if (aborted()) [[unlikely]]
      Throw<AbortedError>("gave up waiting for {}: another device failed first", waiting_for);
  }
  /// Clears the failure. No thread may be waiting.
  void Reset() noexcept;
  /// Rethrows the first recorded error, if any.
  void RethrowFirst() const;

 private:
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;
  std::exception_ptr first_;
};

/// Limits of a wait.
struct WaitContext {
  /// Polled during the wait; not owned; may be null.
  const AbortToken* abort = nullptr;
  /// Longest wait; 0: no limit.
  std::chrono::milliseconds timeout{0};
};

/// Blocks until `word` differs from `seen`: spins for `spin`, then sleeps. Has acquire semantics. Throws AbortedError or
/// TimeoutError naming `what`. `sleepers`, if not null, counts the threads that have ended their spin. A writer that changes
/// `word` with sequential consistency and then reads 0 sleepers need not call WakeAll. Returns whether the wait ended
/// without sleep.
bool WaitWhileEqual(const std::atomic<std::uint32_t>& word, std::uint32_t seen, const WaitContext& context,
                    std::string_view what, std::chrono::nanoseconds spin = kSpin, std::atomic<int>* sleepers = nullptr);

/// Wakes all threads that wait for `word` in WaitWhileEqual. Call it after a store of a new value with release order.
void WakeAll(const std::atomic<std::uint32_t>& word) noexcept;

/// Chooses the spin time at one barrier from the outcome of earlier waits. A long spin pays if the other threads run on
/// cores of their own. If two threads share a core, or other work occupies it, the spin delays the very thread that is
/// waited for. So each unsuccessful long spin makes the next 1, 2, 4, and at most kLongest, spins short. A successful one
/// resets this. The threads share the object; its races cost time only.
class SpinPatience {
 public:
  /// Maximum number of short spins after an unsuccessful long one: kLongSpin spread over them is about kSpin each.
  static constexpr int kLongest = 32;
  /// The next spin time; `spin` is the longest useful one.
  std::chrono::nanoseconds Next(std::chrono::nanoseconds spin) noexcept {
    if (spin <= kSpin) return spin;
    const int left = short_.load(std::memory_order_relaxed);
    if (left == 0) return spin;
    short_.store(left - 1, std::memory_order_relaxed);
    return kSpin;
  }
  /// Records the outcome of a wait whose spin time Next returned: `awake` if the thread did not sleep.
  void Ended(std::chrono::nanoseconds spun, bool awake) noexcept {
    if (spun <= kSpin) return;
    const int last = step_.load(std::memory_order_relaxed);
    if (awake && last == 0) return;  // the usual case: no write, so no cache line moves
    const int step = awake ? 0 : std::min(kLongest, last == 0 ? 1 : 2 * last);
    step_.store(step, std::memory_order_relaxed);
    short_.store(step, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> short_{0};  // number of short spins still to come
  std::atomic<int> step_{0};   // length of the current series of short spins
};

/// A reusable barrier for a fixed number of threads. A failed thread calls Poison(), and all others throw.
class Barrier {
 public:
  /// For `threads` threads.
  explicit Barrier(int threads) : threads_(threads), spin_(SpinOf(threads)) {}

  /// Returns when all threads have arrived. Work of any thread before the call happens before work of any thread after it.
  void Arrive(const WaitContext& context, std::string_view what) { Arrive(context, what, spin_); }
  /// Spins for up to `spin`, if the barrier's threads spin at all and SpinPatience allows it.
  void Arrive(const WaitContext& context, std::string_view what, std::chrono::nanoseconds spin);
  bool spins() const { return spin_.count() > 0; }  ///< there is a core for each thread
  /// Makes all current and future waits throw AbortedError.
  void Poison() noexcept;
  /// Sets the number of threads. No thread may be waiting.
  void Reset(int threads) noexcept;

 private:
  static constexpr std::uint32_t kPoisoned = 0x80000000u;
  int threads_;
  std::chrono::nanoseconds spin_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};  // threads whose spin has ended
  SpinPatience patience_;
};

/// A barrier at which each thread gives a value and gets the values of all (MPI_Allgather). A call takes one barrier. Two
/// sets of slots alternate, so that a fast thread's next value cannot overwrite one that a slow thread still reads.
template <class T>
class AllGatherBarrier {
 public:
  /// For `threads` threads.
  explicit AllGatherBarrier(int threads)
      : barrier_(threads), slots_{std::vector<Slot>(threads), std::vector<Slot>(threads)} {}

  /// Waits for all threads, then calls fold(rank, value) for every rank in order. The order is the same on every thread, and
  /// so are floating-point results.
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
/// at most once per epoch, however many senders there are: the last sender wakes it.
///
/// All threads number epochs alike. The caller ensures two things: no thread signals an epoch before the receiver has
/// returned from the Wait of the previous epoch; and no thread overwrites the value of two epochs ago while another still
/// reads it.
template <class T>
class NeighbourExchange {
 public:
  /// For `threads` threads.
  explicit NeighbourExchange(int threads)
      : spin_(SpinOf(threads)), slots_{std::vector<Slot>(threads), std::vector<Slot>(threads)}, arrivals_(threads) {}

  /// Rank's value for `epoch`. Write it before the first Signal of that epoch.
  T& Outgoing(int rank, std::uint64_t epoch) { return slots_[epoch & 1][rank].value; }
  /// Signals thread `to` that the caller's value is ready: once per epoch for each thread that waits for it.
  void Signal(int to) noexcept {
    Arrivals& arrivals = arrivals_[to];
    // Both accesses are sequentially consistent: either this thread sees the number waited for, or the waiter sees this
    // arrival.
    std::uint32_t seen = arrivals.arrived.load(), counted;
    do {
      counted = (seen & kPoisoned) | ((seen + 1) & kCount);  // the count wraps without setting kPoisoned
    } while (!arrivals.arrived.compare_exchange_weak(seen, counted));
    if ((counted & kCount) == arrivals.wanted.load()) WakeAll(arrivals.arrived);
  }
  /// Returns when `senders` threads have signalled `rank` in this epoch; no further thread may signal in it. The senders'
  /// earlier work happens before the caller's later work. Throws AbortedError, TimeoutError.
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
  /// The value of thread `from` for `epoch`. Valid after a Wait that counted its signal.
  const T& Incoming(int from, std::uint64_t epoch) const { return slots_[epoch & 1][from].value; }
  /// Makes all current and future waits throw AbortedError.
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
    std::atomic<std::uint32_t> arrived{0};  // all signals so far, modulo 2^31, and the bit kPoisoned
    std::atomic<std::uint32_t> wanted{0};   // signals that the receiver has waited for so far
  };
  std::chrono::nanoseconds spin_;
  std::vector<Slot> slots_[2];
  std::vector<Arrivals> arrivals_;
};

}  // namespace chatty
