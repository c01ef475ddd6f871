#include "chatty/core/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/host_memory.h"

namespace chatty {
namespace {

thread_local bool in_team = false;

/// @{
/// The parts of a shared job's gate. A thread that is too late compares the job's number, which comes again after 65536
/// jobs, with the number that it has just read.
constexpr std::uint32_t kInside = 0x7fff, kClosed = 0x8000;
constexpr std::uint32_t Gate(std::uint32_t job) { return job << 16; }
static_assert(kMaxThreads <= kInside);
/// @}

/// Stack size of OpenMP's threads from the environment, as libgomp parses it; 0: the default of threads.
std::size_t OpenMpStack() {
  const char* text = std::getenv("OMP_STACKSIZE");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
  if (text == nullptr) text = std::getenv("GOMP_STACKSIZE");  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr) return 0;
  char* unit = nullptr;
  const unsigned long long size = std::strtoull(text, &unit, 10);
  while (*unit == ' ') ++unit;
  switch (*unit) {
    case 'b':
    case 'B':
      return size;
    case 'm':
    case 'M':
      return size << 20;
    case 'g':
    case 'G':
      return size << 30;
    default:
      return size << 10;
  }
}

/// Starts `threads` threads at once and ends them. Throws DeviceError if the system does not start all of them. libgomp ends
/// the process if a thread cannot be started, so the library tries before it asks libgomp for threads.
void TryThreads(int threads) {
  std::vector<pthread_t> started(static_cast<std::size_t>(threads));
  std::atomic<bool> end{false};
  // Not std::thread: it frees memory in the new thread, which would then get a malloc arena of its own.
  const auto wait = [](void* flag) -> void* {
    static_cast<std::atomic<bool>*>(flag)->wait(false);
    return nullptr;
  };
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (const std::size_t stack = OpenMpStack(); stack != 0) ::pthread_attr_setstacksize(&attributes, stack);
  int count = 0, error = 0;
  while (count < threads && error == 0) {
    error = ::pthread_create(&started[static_cast<std::size_t>(count)], &attributes, wait, &end);
    if (error == 0) ++count;
  }
  end.store(true, std::memory_order_release);
  end.notify_all();
  for (int i = 0; i < count; ++i) ::pthread_join(started[static_cast<std::size_t>(i)], nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error == 0) return;
  Throw<DeviceError>("only {} of {} threads could be started ({}): {}; use fewer, with --threads", count, threads,
                     ErrnoText(error), DescribeThreadLimit(ReadThreadLimits(), static_cast<std::uint64_t>(threads)));
}

}  // namespace

int ThreadCount(int requested) {
  if (requested > 0) return requested;
  const int threads = omp_get_max_threads();
  if (threads > kMaxThreads) {
    Throw<UsageError>("OpenMP is set to {} threads; at most {} can be used, set OMP_NUM_THREADS to 1 to {}, or unset it",
                      threads, kMaxThreads, kMaxThreads);
  }
  return threads;
}

OpenMpTeam::OpenMpTeam(int threads, Work work) : requested_(threads), work_(work), spin_(SpinOf(threads)) {
  const auto region = [this] {
    omp_set_dynamic(0);
#pragma omp parallel num_threads(requested_)
    {
      if (omp_get_thread_num() == 0) {
        granted_.store(static_cast<std::uint32_t>(omp_get_num_threads()), std::memory_order_release);
        WakeAll(granted_);
      }
      if (work_ == Work::kThreads) {
        Serve(omp_get_thread_num());
      } else {
        ServeShared(omp_get_thread_num());
      }
    }
  };
  const Unbound unbound;  // the team outlives the caller's binding, so its threads use the caller's own mask
  TryThreads(std::min(threads, omp_get_thread_limit()));
  try {
    master_ = std::thread(region);
  } catch (const std::system_error& error) {
    Throw<DeviceError>("no thread could be started ({}): {}; {} were requested", error.what(),
                       DescribeThreadLimit(ReadThreadLimits(), static_cast<std::uint64_t>(threads) + 1), threads);
  }
  WaitWhileEqual(granted_, 0, {}, "OpenMP to start a team");
  size_ = static_cast<int>(granted_.load(std::memory_order_acquire));
}

OpenMpTeam::~OpenMpTeam() {
  stopping_ = true;
  job_.fetch_add(1, std::memory_order_release);
  WakeAll(job_);
  ended_.store(1, std::memory_order_release);
  WakeAll(ended_);
  master_.join();
}

void OpenMpTeam::Dispatch(int width, Entry entry, void* context) {
  CHATTY_CHECK(work_ == Work::kThreads, "Run of a team whose caller works: nobody would end it");
  entry_ = entry;
  context_ = context;
  width_ = width;
  finished_.store(0, std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  WakeAll(job_);
  // All threads finish every job, idle ones included, so that none still reads the fields above when they change.
  const auto all_finished = static_cast<std::uint32_t>(size_);
  for (std::uint32_t seen; (seen = finished_.load(std::memory_order_acquire)) != all_finished;) {
    WaitWhileEqual(finished_, seen, {}, "the threads of a team", spin_);
  }
}

void OpenMpTeam::DispatchShared(int width, Entry entry, void* context) {
  CHATTY_CHECK(work_ == Work::kCaller, "RunShared of a team whose threads work: nobody would wait for them");
  entry_ = entry;
  context_ = context;
  width_ = width;
  const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
  gate_.store(Gate(job), std::memory_order_release);  // nobody is inside, so nobody reads the fields above meanwhile
  job_.store(job, std::memory_order_release);
  WakeAll(job_);
  in_team = true;
  entry(context, 0);
  in_team = false;
  std::uint32_t gate = gate_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  while ((gate & kInside) != 0) {
    WaitWhileEqual(gate_, gate, {}, "the threads of a team", spin_);
    gate = gate_.load(std::memory_order_acquire);
  }
}

void OpenMpTeam::ServeShared(int thread) noexcept {
  in_team = true;
  if (thread == 0) {  // the caller has its number, and its place where OpenMP binds threads to places
    WaitWhileEqual(ended_, 0, {}, "the end of a team");
    return;
  }
  for (std::uint32_t seen = 0;;) {
    WaitWhileEqual(job_, seen, {}, "work", spin_);
    if (stopping_) return;
    seen = job_.load(std::memory_order_acquire);
    std::uint32_t gate = gate_.load(std::memory_order_acquire);
    bool inside = false;
    while (!inside && (gate & ~kInside) == Gate(seen)) {  // it is open, and for this job
      inside = gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    if (!inside) continue;  // too late
    if (thread < width_) entry_(context_, thread);
    if (gate_.fetch_sub(1, std::memory_order_acq_rel) - 1 == (Gate(seen) | kClosed)) WakeAll(gate_);
  }
}

void OpenMpTeam::Serve(int thread) noexcept {
  in_team = true;
  for (std::uint32_t seen = 0;; ++seen) {
    WaitWhileEqual(job_, seen, {}, "work", spin_);
    if (stopping_) return;
    if (thread < width_) entry_(context_, thread);
    const auto all = static_cast<std::uint32_t>(omp_get_num_threads());
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == all) WakeAll(finished_);
  }
}

OpenMpTeam* PreparationTeam(int threads) {
  if (in_team || omp_in_parallel()) return nullptr;
  thread_local std::unique_ptr<OpenMpTeam> team;
  if (team == nullptr || team->requested() < threads) {
    team.reset();
    team = std::make_unique<OpenMpTeam>(threads, OpenMpTeam::Work::kCaller);
  }
  return team->size() > 1 ? team.get() : nullptr;
}

OpenMpTeam& DeviceTeam(int devices) {
  thread_local std::unique_ptr<OpenMpTeam> team;
  if (team == nullptr || team->requested() != devices) {
    team.reset();
    team = std::make_unique<OpenMpTeam>(devices);
  }
  return *team;
}

}  // namespace chatty
