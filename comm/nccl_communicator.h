/// \file
/// One device's end of an NCCL communicator, and how communicators are made, for the transport and for sums. Empty in builds
/// without NCCL.
#pragma once

#include "chatty/core/config.h"

#if CHATTY_WITH_NCCL

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "chatty/comm/topology.h"
#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"

namespace chatty::detail {

/// While this object lives, new communicators use links between GPUs, or do not.
class LinkSetting {
 public:
  /// Throws CapabilityError where the process's first communicator had the other setting.
  explicit LinkSetting(bool without) : lock_(mutex_) {
    const char* const set = std::getenv(kVariable);
    const bool already = set != nullptr && std::string_view(set) == "1";  // set before the process started
    if (without_.has_value()) {
      if (*without_ != (without || already)) {
        Throw<CapabilityError>(
            "transport nccl: NCCL decides once a process whether it uses links between GPUs, and its first communicator "
            "here {}; run this in a process of its own",
            *without_ ? "was made without (--links takes some away)" : "was made with all of them");
      }
      return;
    }
    without_ = without || already;
    if (!without || already) return;
    if (set != nullptr) before_ = set;
    restore_ = true;
    ::setenv(kVariable, "1", 1);
  }
  ~LinkSetting() {
    if (!restore_) return;
    if (before_.has_value()) {
      ::setenv(kVariable, before_->c_str(), 1);
    } else {
      ::unsetenv(kVariable);
    }
  }
  LinkSetting(const LinkSetting&) = delete;
  LinkSetting& operator=(const LinkSetting&) = delete;

 private:
  static constexpr const char* kVariable = "NCCL_P2P_DISABLE";
  inline static std::mutex mutex_;
  inline static std::optional<bool> without_;  // setting of the process's first communicator
  std::lock_guard<std::mutex> lock_;
  std::optional<std::string> before_;
  bool restore_ = false;
};

/// Whether a mask removes any link between these devices.
inline bool TakesAway(const LinkMask& links, std::size_t parts) {
  for (std::size_t a = 0; a < parts; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (!links.Allows(a, b)) return true;
    }
  }
  return false;
}

/// What ends a wait on a communicator.
struct Deadline {
  std::chrono::milliseconds timeout{0};  ///< 0: for ever
  const std::atomic<bool>* aborted = nullptr;
};

/// One device's end of a communicator. The device's thread uses it; any thread may abort it.
class Rank {
 public:
  Rank() = default;
  ~Rank() {
    if (comm_ == nullptr) return;
    // Destruction waits for work under way, and needs a communicator at rest.
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess) {
      ncclCommDestroy(comm_);
    } else {
      ncclCommAbort(comm_);
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Makes the communicator of `ranks`, whose devices are `devices`, and waits for its completion.
  static void Connect(std::span<Rank* const> ranks, std::span<Device* const> devices, const Deadline& deadline) {
    const auto what = [&] {
      std::string labels;
      for (const Device* device : devices) labels += (labels.empty() ? "" : ", ") + device->label();
      return "transport nccl: a communicator of " + labels;
    };
    ncclUniqueId id;
    Check(ncclGetUniqueId(&id), nullptr, what);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // every wait is in Await and has a deadline
    Check(ncclGroupStart(), nullptr, what);
    ncclResult_t result = ncclSuccess;
    for (std::size_t i = 0; i < ranks.size() && Went(result); ++i) {
      devices[i]->MakeCurrent();
      result = ncclCommInitRankConfig(&ranks[i]->comm_, static_cast<int>(ranks.size()), id, static_cast<int>(i), &config);
    }
    const ncclResult_t end = ncclGroupEnd();
    Check(result, nullptr, what);
    Check(end, nullptr, what);
    for (Rank* rank : ranks) rank->Await(deadline, what);
  }

  /// Enqueues a group of calls, `enqueue(comm)`, and returns when all of them are on their streams. `what()` names the work
  /// in errors.
  template <class Enqueue, class What>
  void Group(const Deadline& deadline, Enqueue&& enqueue, const What& what) {
    {
      const std::lock_guard lock(mutex_);
      ThrowIfAborted(deadline, what);
      Check(ncclGroupStart(), comm_, what);
      try {
        std::forward<Enqueue>(enqueue)(comm_);
      } catch (...) {
        ncclGroupEnd();
        throw;
      }
      Check(ncclGroupEnd(), comm_, what);
    }
    Await(deadline, what);
  }

  /// Runs `enqueue(comm)` within the group of another rank of this process.
  template <class Enqueue>
  void Within(Enqueue&& enqueue) {
    const std::lock_guard lock(mutex_);
    std::forward<Enqueue>(enqueue)(comm_);
  }

  /// Waits until NCCL has enqueued the requested work, not until the work is done.
  template <class What>
  void Await(const Deadline& deadline, const What& what) {
    const Clock::time_point start = Clock::now();
    for (std::uint32_t polls = 1;; ++polls) {
      ncclResult_t state = ncclSuccess;
      {
        ThrowIfAborted(deadline, what);  // before the lock, which an abort waits for
        const std::lock_guard lock(mutex_);
        ThrowIfAborted(deadline, what);
        Check(ncclCommGetAsyncError(comm_, &state), comm_, what);
        Check(state, comm_, what);
      }
      if (state == ncclSuccess) return;
      if (polls % 16 != 0) continue;
      std::this_thread::yield();  // NCCL works in its own thread, perhaps on this core
      if (deadline.timeout.count() > 0 && Clock::now() - start > deadline.timeout) {
        Throw<TimeoutError>("{}: waited {} ms for NCCL; raise --timeout if the others are known to take longer", what(),
                            deadline.timeout.count());
      }
    }
  }

  /// Ends waits on the communicator, and the communicator.
  void Abort() noexcept {
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) ncclCommAbort(comm_);
    comm_ = nullptr;
  }

  /// Throws DeviceError for a call that failed, with NCCL's message.
  template <class What>
  static void Check(ncclResult_t result, ncclComm_t comm, const What& what) {
    if (Went(result)) [[likely]]
      return;
    const char* const last = ncclGetLastError(comm);
    Throw<DeviceError>("{}: {} ({})", what(), ncclGetErrorString(result),
                       last == nullptr || *last == '\0' ? "NCCL says no more; NCCL_DEBUG=WARN makes it" : last);
  }

 private:
  static bool Went(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
  template <class What>
  void ThrowIfAborted(const Deadline& deadline, const What& what) const {
    if (deadline.aborted->load(std::memory_order_acquire)) [[unlikely]]
      Throw<AbortedError>("{}: gave up, because the run has been ended", what());
  }

  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
};

/// The CUDA stream of a GPU's stream.
inline cudaStream_t Native(const Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace chatty::detail

#endif  // CHATTY_WITH_NCCL
