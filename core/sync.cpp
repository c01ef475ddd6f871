#include "chatty/core/sync.h"

#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace chatty {
namespace {

/// A sleeping thread checks its abort token this often, even if no thread wakes it.
constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(10);

void CpuRelax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps while `word` equals `seen`, for at most `slice`; 0: until woken.
void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds slice) noexcept {
  const std::timespec limit{0, slice.count()};
  syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen,
          slice.count() > 0 ? &limit : nullptr, nullptr, 0);
}

}  // namespace

int Cores() noexcept {
  static const int cores = [] {
    // Not the calling thread's mask: with OMP_PROC_BIND set, OpenMP has already bound the main thread to one core.
    return std::max(1, omp_get_num_procs());
  }();
  return cores;
}

void UseAllCores() noexcept {
  if (omp_get_proc_bind() == omp_proc_bind_false) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::vector<int> ids;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    ids.resize(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids) CPU_SET(id, &cores);
  }
  if (CPU_COUNT(&cores) > 0) pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);  // failure costs time only
}

std::chrono::nanoseconds SpinOf(int threads) noexcept {
  if (threads > Cores()) return std::chrono::nanoseconds(0);
  return threads <= Cores() / 4 ? kLongSpin : kSpin;
}

void AbortToken::Fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(error);
  }
  aborted_.store(true, std::memory_order_release);
}

void AbortToken::Reset() noexcept {
  const std::lock_guard lock(mutex_);
  first_ = nullptr;
  aborted_.store(false, std::memory_order_release);
}

void AbortToken::RethrowFirst() const {
  std::exception_ptr first;
  {
    const std::lock_guard lock(mutex_);
    first = first_;
  }
  if (first) std::rethrow_exception(first);
}

bool WaitWhileEqual(const std::atomic<std::uint32_t>& word, std::uint32_t seen, const WaitContext& context,
                    std::string_view what, std::chrono::nanoseconds spin, std::atomic<int>* sleepers) {
  if (word.load(std::memory_order_acquire) != seen) return true;
  const Clock::time_point start = Clock::now();
  while (spin.count() > 0 && Clock::now() - start < spin) {
    for (int i = 0; i < 16; ++i) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      CpuRelax();
    }
  }
  struct Counted {
    explicit Counted(std::atomic<int>* count) : count_(count) {
      if (count_ != nullptr) count_->fetch_add(1, std::memory_order_seq_cst);
    }
    ~Counted() {
      if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>* const count_;
  };
  const Counted counted(sleepers);
  while (word.load(std::memory_order_seq_cst) == seen) {
    if (context.abort != nullptr) context.abort->ThrowIfAborted(what);
    std::chrono::nanoseconds slice = context.abort != nullptr ? kSlice : std::chrono::nanoseconds(0);
    if (context.timeout.count() > 0) {
      const std::chrono::nanoseconds left = context.timeout - (Clock::now() - start);
      if (left.count() <= 0) {
        Throw<TimeoutError>("waited {} ms for {}; raise --timeout if the work is known to take longer",
                            context.timeout.count(), what);
      }
      slice = std::min(left, kSlice);  // a deadline shorter than a slice must not be missed
    }
    FutexWait(word, seen, slice);
  }
  return false;
}

void WakeAll(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

void Barrier::Arrive(const WaitContext& context, std::string_view what, std::chrono::nanoseconds spin) {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (generation & kPoisoned) Throw<AbortedError>("gave up waiting for {}: another thread failed first", what);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    // The compare-exchange keeps the bit of a concurrent Poison().
    std::uint32_t expected = generation;
    generation_.compare_exchange_strong(expected, (generation + 1) & ~kPoisoned, std::memory_order_seq_cst);
    // The system call is the expensive part, so it is skipped while all waiters spin. A sleeper increments `sleepers_`
    // before its last load of the generation; this thread reads `sleepers_` after its store of the generation. So one of the
    // two sees the other.
    if (sleepers_.load(std::memory_order_seq_cst) > 0) WakeAll(generation_);
  } else {
    const std::chrono::nanoseconds patience = patience_.Next(spins() ? spin : spin_);
    patience_.Ended(patience, WaitWhileEqual(generation_, generation, context, what, patience, &sleepers_));
  }
  if (generation_.load(std::memory_order_acquire) & kPoisoned) {
    Throw<AbortedError>("gave up waiting for {}: another thread failed first", what);
  }
}

void Barrier::Poison() noexcept {
  generation_.fetch_or(kPoisoned, std::memory_order_acq_rel);
  WakeAll(generation_);
}

void Barrier::Reset(int threads) noexcept {
  threads_ = threads;
  spin_ = SpinOf(threads);
  arrived_.store(0, std::memory_order_relaxed);
  generation_.store(0, std::memory_order_release);
}

}  // namespace chatty
