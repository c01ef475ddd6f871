/// \file
/// A persistent team of CPU threads: a host device's counterpart of a GPU's thread blocks.
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

/// One thread's view of the team during a job: the host's counterpart of a CUDA cooperative group.
class TeamMember {
 public:
  /// 0 to size() - 1; the thread that calls Run is 0.
  int rank() const { return rank_; }
  /// Number of members in this job.
  int size() const { return size_; }
  /// Barrier among the job's members. Throws AbortedError if a member has thrown.
  void sync() {
    if (size_ > 1) barrier_->Arrive({}, "a member of the same worker team");
  }
  /// As sync, with a longer spin, for barriers in quick succession: the work between them is shorter than sleeping and
  /// waking.
  void sync_soon() {
    if (size_ > 1) barrier_->Arrive({}, "a member of the same worker team", kLongSpin);
  }

 private:
  friend class WorkerTeam;
  TeamMember(int rank, int size, Barrier* barrier) : rank_(rank), size_(size), barrier_(barrier) {}
  int rank_, size_;
  Barrier* barrier_;
};

/// Threads that live as long as the team and run one job at a time. The calling thread is member 0. So a team of one starts
/// no thread, and a job of width one wakes none: a small round costs a function call.
class WorkerTeam {
 public:
  /// Starts all threads. Throws UsageError for fewer than one thread, DeviceError if the system starts fewer.
  explicit WorkerTeam(int threads);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  /// Number of threads, the calling one included.
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Restricts the team's threads, except the calling one, permanently to those of `cpus` that they may use. Not during a
  /// Run. An empty set changes nothing.
  void RestrictTo(const CpuSet& cpus);

  /// Runs job(TeamMember&) on the first `width` members and returns when all have returned. Rethrows the first exception,
  /// preferring one that is not AbortedError. Only one Run at a time.
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
  alignas(64) std::atomic<std::uint32_t> job_{0};       // increases by one for each job and at the end
  alignas(64) std::atomic<std::uint32_t> finished_{0};  // increases by one for each worker that finishes a job
  Barrier barrier_{1};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  bool error_is_abort_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace chatty
