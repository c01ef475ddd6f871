/// \file
/// A persistent team of CPU threads: what a host device has instead of a GPU's blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/sync.h"

namespace chatty {

class WorkerTeam;

/// One thread's view of the team while a job runs: the host's counterpart of a CUDA cooperative group.
class TeamMember {
 public:
  /// 0 to size() - 1; the thread that started the job is 0.
  int rank() const { return rank_; }
  /// Members that take part in this job.
  int size() const { return size_; }
  /// Barrier among the job's members. Throws AbortedError if one of them threw.
  void sync() {
    if (size_ > 1) barrier_->Arrive({}, "a member of the same worker team");
  }
  /// The same where barriers follow each other closely: sleeping and waking would cost more than the work between them.
  void sync_soon() {
    if (size_ > 1) barrier_->Arrive({}, "a member of the same worker team", kLongSpin);
  }

 private:
  friend class WorkerTeam;
  TeamMember(int rank, int size, Barrier* barrier) : rank_(rank), size_(size), barrier_(barrier) {}
  int rank_, size_;
  Barrier* barrier_;
};

/// Threads that live as long as the team and run one job at a time. The calling thread is member 0, so a team of one starts
/// no thread and a job of width one wakes nobody: small rounds cost a function call.
class WorkerTeam {
 public:
  /// Throws UsageError for fewer than one thread, DeviceError if the system starts fewer: now, for it may later.
  explicit WorkerTeam(int threads);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  /// Threads, the calling one included.
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Has the team's own threads, all but the calling one, run on those of `cpus` on which they may, for good. Not during a
  /// Run. Empty: does nothing.
  void RestrictTo(const CpuSet& cpus);

  /// Runs job(TeamMember&) on the first `width` members and returns when all have. Rethrows the first exception, preferring
  /// one that is not AbortedError. Only one Run at a time.
  template <class Job>
  void Run(int width, Job&& job) {
    if (width <= 1 || workers_.empty()) {
      TeamMember member(0, 1, &barrier_);
      job(member);
      return;
    }
    Dispatch(
        width < size() ? width : size(),
        [](void* context, TeamMember& member) { (*static_cast<std::remove_reference_t<Job>*>(context))(member); },
        const_cast<void*>(static_cast<const void*>(std::addressof(job))));
  }

 private:
  using Entry = void (*)(void*, TeamMember&);
  void Dispatch(int width, Entry entry, void* context);
  void WorkerLoop(int rank);
  void Stop() noexcept;
  void Execute(int rank) noexcept;

  Entry entry_ = nullptr;
  void* context_ = nullptr;
  int width_ = 0;
  const std::chrono::nanoseconds spin_;
  bool stopping_ = false;
  alignas(64) std::atomic<std::uint32_t> job_{0};       // a new value: a new job, or the end
  alignas(64) std::atomic<std::uint32_t> finished_{0};  // counts up by one a worker and job
  Barrier barrier_{1};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  bool error_is_abort_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace chatty
