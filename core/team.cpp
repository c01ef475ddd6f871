#include "chatty/core/team.h"

#include <system_error>

#include "chatty/core/host_memory.h"

namespace chatty {

WorkerTeam::WorkerTeam(int threads) : spin_(SpinOf(threads)) {
  if (threads < 1) Throw<UsageError>("a worker team needs at least one thread, not {}", threads);
  workers_.reserve(threads - 1);
  const auto stop = [this] {  // destroying a std::thread that is not joined ends the process
    const int started = size();
    Stop();
    workers_.clear();
    return started;
  };
  try {
    for (int rank = 1; rank < threads; ++rank) workers_.emplace_back([this, rank] { WorkerLoop(rank); });
  } catch (const std::system_error& error) {  // the operating system refused a thread
    const int started = stop();
    Throw<DeviceError>("only {} of {} threads could be started ({}): {}; use fewer, with --threads", started, threads,
                       error.what(), DescribeThreadLimit(ReadThreadLimits(), static_cast<std::uint64_t>(threads)));
  } catch (...) {  // out of memory for a thread's state
    stop();
    throw;
  }
}

WorkerTeam::~WorkerTeam() { Stop(); }

void WorkerTeam::RestrictTo(const CpuSet& cpus) {
  if (cpus.none()) return;
  Run(size(), [&](TeamMember& member) {
    if (member.rank() > 0) RunOn(cpus & AllowedCpus());
  });
}

void WorkerTeam::Stop() noexcept {
  stopping_ = true;
  job_.fetch_add(1, std::memory_order_release);
  WakeAll(job_);
  for (std::thread& worker : workers_) worker.join();
}

void WorkerTeam::Dispatch(int width, Entry entry, void* context) {
  entry_ = entry;
  context_ = context;
  width_ = width;
  error_ = nullptr;
  error_is_abort_ = false;
  barrier_.Reset(width);
  const auto all_finished = static_cast<std::uint32_t>(workers_.size());
  finished_.store(0, std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  WakeAll(job_);
  Execute(0);
  // All workers finish every job, idle ones included, so that none still reads the fields above when they change.
  for (std::uint32_t seen; (seen = finished_.load(std::memory_order_acquire)) != all_finished;) {
    WaitWhileEqual(finished_, seen, {}, "the workers of a team", spin_);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void WorkerTeam::WorkerLoop(int rank) {
  UseAllCores();
  std::uint32_t seen = 0;
  while (true) {
    WaitWhileEqual(job_, seen, {}, "work", spin_);
    seen += 1;  // each job waits for all workers, so none is skipped
    if (stopping_) return;
    if (rank < width_) Execute(rank);
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_.size()) WakeAll(finished_);
  }
}

void WorkerTeam::Execute(int rank) noexcept {
  TeamMember member(rank, width_, &barrier_);
  const auto record = [&](bool is_abort) {
    const std::lock_guard lock(error_mutex_);
    if (!error_ || (error_is_abort_ && !is_abort)) {
      error_ = std::current_exception();
      error_is_abort_ = is_abort;
    }
    barrier_.Poison();
  };
  try {
    entry_(context_, member);
  } catch (const AbortedError&) {
    record(true);
  } catch (...) {
    record(false);
  }
}

}  // namespace chatty
