/// \file
/// OpenMP threads that wait on a futex, and helpers that use them for preparation on the host: loading, building,
/// partitioning, checking.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/sync.h"

namespace chatty {

/// Number of threads for a preparation step: `requested`, or for 0 one per core (OMP_NUM_THREADS is honoured).
int ThreadCount(int requested = 0);

/// The threads of one OpenMP parallel region that lasts as long as the object. Between jobs the threads sleep on a futex;
/// during a job of Run the caller does. One region per job would let the OpenMP runtime wait instead. Its threads by default
/// spin for milliseconds at each barrier (libgomp: GOMP_SPINCOUNT 300,000) and occupy cores that others need. These threads
/// do not exist in a child of fork(): after parallel work in the parent, the child must not use a team.
class OpenMpTeam {
 public:
  /// Who works: Run needs kThreads, RunShared kCaller, and each throws InternalError for the other.
  enum class Work {
    kThreads,  ///< all threads of the region, while the caller sleeps
    kCaller,   ///< the caller in place of the region's first thread, which sleeps, and those that come before it has ended
  };
  /// Throws DeviceError if the system does not start that many threads.
  explicit OpenMpTeam(int threads, Work work = Work::kThreads);
  ~OpenMpTeam();
  OpenMpTeam(const OpenMpTeam&) = delete;
  OpenMpTeam& operator=(const OpenMpTeam&) = delete;

  /// Number of threads requested.
  int requested() const { return requested_; }
  /// Number of threads that OpenMP granted: fewer than requested under OMP_THREAD_LIMIT.
  int size() const { return size_; }

  /// Calls body(t) concurrently for 0 <= t < width, each on the team's thread of that number. Returns when all calls have
  /// returned. `width` is at most size(); `body` must not throw. Only one Run at a time.
  template <class Body>
  void Run(int width, Body&& body) {
    Dispatch(width, &Call<Body>, Context(body));
  }
  /// Calls body(0) on the caller's thread, and meanwhile body(t) for some 0 < t < width, each on the team's thread of that
  /// number: for work that is handed out as threads come. A thread that has not begun when body(0) returns does not begin,
  /// so nobody waits for a thread to wake up. Returns when all calls have returned. Otherwise as Run.
  template <class Body>
  void RunShared(int width, Body&& body) {
    DispatchShared(width, &Call<Body>, Context(body));
  }

 private:
  using Entry = void (*)(void*, int);
  template <class Body>
  static void Call(void* context, int thread) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(thread);
  }
  template <class Body>
  static void* Context(Body& body) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(body)));
  }
  void Dispatch(int width, Entry entry, void* context);
  void DispatchShared(int width, Entry entry, void* context);
  void Serve(int thread) noexcept;
  void ServeShared(int thread) noexcept;

  const int requested_;
  const Work work_;
  int size_ = 0;
  const std::chrono::nanoseconds spin_;
  Entry entry_ = nullptr;
  void* context_ = nullptr;
  int width_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> granted_{0};
  alignas(64) std::atomic<std::uint32_t> job_{0};       // increases by one for each job and at the end
  alignas(64) std::atomic<std::uint32_t> finished_{0};  // increases by one for each thread that finishes a job
  // Of a shared job: its number, whether it is closed, and how many threads have entered and not left it.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  std::atomic<std::uint32_t> ended_{0};  // 1 at the end, for the first thread of a team whose caller works
  std::thread master_;                   // the region's first thread
};

/// The calling thread's team for preparation, with at least `threads` threads, itself included, or as many as OpenMP grants.
/// Null if the caller must work alone, because it is in a parallel region. Kept until the calling thread ends.
OpenMpTeam* PreparationTeam(int threads);
/// The calling thread's team with a thread for each of `devices` devices, or fewer if OpenMP grants fewer. Kept until the
/// thread requests another number, or ends.
OpenMpTeam& DeviceTeam(int devices);

/// Calls body(d) concurrently for every device d below `devices`, each on its own OpenMP thread (a single device on the
/// caller's thread). The caller's next run with the same number of devices reuses the threads. `body` must not throw. Throws
/// CapabilityError if OpenMP grants fewer threads: devices that wait for each other cannot take turns.
template <class Body>
void RunOnDevices(int devices, Body&& body) {
  if (devices == 1) {
    body(0);
    return;
  }
  OpenMpTeam& team = DeviceTeam(devices);
  if (team.size() != devices) {
    Throw<CapabilityError>("{} devices need as many OpenMP threads, but {} were granted; unset OMP_THREAD_LIMIT", devices,
                           team.size());
  }
  team.Run(devices, body);
}

/// As ParallelChunks, for bodies with scratch memory that is too expensive to allocate for every chunk. Each thread calls
/// make() once, before its first chunk, and passes the result to each of its calls body(state, begin, end).
template <class MakeState, class Body>
void ParallelChunksWithState(std::size_t n, int threads, std::size_t grain, MakeState&& make, Body&& body) {
  threads = ThreadCount(threads);
  if (grain == 0) grain = 1;
  OpenMpTeam* const team = n <= grain || threads == 1 ? nullptr : PreparationTeam(threads);
  if (team == nullptr) {
    if (n == 0) return;
    auto state = make();
    body(state, std::size_t{0}, n);
    return;
  }
  const std::size_t chunks = (n + grain - 1) / grain;
  if (static_cast<std::size_t>(threads) > chunks) threads = static_cast<int>(chunks);
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> failed{false};
  std::atomic<std::size_t> next{0};
  team->RunShared(threads < team->size() ? threads : team->size(), [&](int) {
    try {
      std::optional<decltype(make())> state;
      for (std::size_t c; !failed.load(std::memory_order_relaxed) && (c = next.fetch_add(1)) < chunks;) {
        if (!state) state.emplace(make());
        const std::size_t begin = c * grain;
        body(*state, begin, begin + grain < n ? begin + grain : n);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      failed.store(true, std::memory_order_relaxed);
    }
  });
  if (error) std::rethrow_exception(error);
}

/// Calls body(begin, end) on several threads, over disjoint chunks that cover [0, n). Chunks are handed out dynamically. The
/// first exception from a chunk is rethrown to the caller when all threads have ended.
template <class Body>
void ParallelChunks(std::size_t n, int threads, std::size_t grain, Body&& body) {
  struct Nothing {};
  ParallelChunksWithState(
      n, threads, grain, [] { return Nothing{}; }, [&](Nothing&, std::size_t begin, std::size_t end) { body(begin, end); });
}

/// Calls body(i) for every i in [0, n), on several threads.
template <class Body>
void ParallelFor(std::size_t n, int threads, Body&& body) {
  ParallelChunks(n, threads, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace chatty
