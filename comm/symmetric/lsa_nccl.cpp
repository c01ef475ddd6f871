#include <nccl.h>

#include "chatty/comm/symmetric/lsa_windows.h"
#include "chatty/core/error.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 0)

namespace chatty::detail {

std::unique_ptr<LsaMemory> MakeLsaWindows(std::span<Device* const>, std::size_t) {
  Throw<CapabilityError>(
      "backend 'lsa' of symmetric heaps needs the device API of NCCL 2.28, and this build has NCCL {}.{}.{}; choose p2p",
      NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
}

}  // namespace chatty::detail

#else

#include <nccl_device.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/nccl_communicator.h"
#include "chatty/core/bytes.h"

namespace chatty::detail {
namespace {

/// The version's two first numbers: the structures of the device API are those of one minor version.
constexpr int Minor(int version) { return version / 100; }

void CheckVersion() {
  int loaded = 0;
  ncclGetVersion(&loaded);
  if (Minor(loaded) == Minor(NCCL_VERSION_CODE)) return;
  Throw<CapabilityError>(
      "backend 'lsa' of symmetric heaps was compiled for the device API of NCCL {}.{}, and NCCL {}.{}.{} is loaded; choose "
      "p2p",
      NCCL_MAJOR, NCCL_MINOR, loaded / 10'000, loaded / 100 % 100, loaded % 100);
}

/// NCCL binds symmetric windows to multicast objects wherever its communicators may use NVLS.
void CheckMulticastIsOff() {
  const char* const set = std::getenv("NCCL_NVLS_ENABLE");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (set != nullptr && std::string_view(set) == "0") return;
  Throw<CapabilityError>(
      "backend 'lsa' of symmetric heaps uses no NVLink multicast, which NCCL would give its windows; set NCCL_NVLS_ENABLE=0 "
      "before the process starts, or choose p2p");
}

class LsaWindows final : public LsaMemory {
 public:
  LsaWindows(std::span<Device* const> devices, std::size_t bytes) : per_device_(devices.size()) {
    try {
      Make(devices, bytes);
    } catch (...) {
      Free();
      throw;
    }
  }
  ~LsaWindows() override { Free(); }
  LsaWindows(const LsaWindows&) = delete;
  LsaWindows& operator=(const LsaWindows&) = delete;

  /// The device's own block is at the address that NCCL allocated, which copies of all devices take, too.
  std::byte* base(std::size_t viewer, std::size_t owner) const override {
    return viewer == owner ? static_cast<std::byte*>(per_device_[owner].block) : per_device_[viewer].bases[owner];
  }

 private:
  struct PerDevice {
    Device* device = nullptr;
    std::unique_ptr<Rank> rank;
    void* block = nullptr;
    ncclWindow_t window = nullptr;
    ncclDevComm_t communicator{};
    bool has_communicator = false;
    Pinned<std::byte*> bases;  // of the window, by rank
  };

  /// Calls call(i, communicator of rank i) of all ranks in one group of NCCL, and waits until the group is done.
  template <class Call, class What>
  void Together(const Call& call, const What& what) {
    per_device_[0].rank->Group(
        deadline_,
        [&](ncclComm_t first) {
          call(0, first);
          for (std::size_t i = 1; i < per_device_.size(); ++i)
            per_device_[i].rank->Within([&](ncclComm_t comm) { call(i, comm); });
        },
        what);
    for (PerDevice& own : per_device_) own.rank->Await(deadline_, what);
  }

  void Make(std::span<Device* const> devices, std::size_t bytes) {
    std::vector<Rank*> ranks;
    for (std::size_t i = 0; i < per_device_.size(); ++i) {
      PerDevice& own = per_device_[i];
      own.device = devices[i];
      own.device->MakeCurrent();
      own.bases = Pinned<std::byte*>(*devices[i], devices.size());
      if (const ncclResult_t result = ncclMemAlloc(&own.block, bytes); result != ncclSuccess) {
        own.block = nullptr;
        Throw<OutOfMemoryError>("{}: backend 'lsa' of a symmetric heap needs {} from NCCL, and got none: {}",
                                devices[i]->label(), ExactBytes(bytes), ncclGetErrorString(result));
      }
      own.rank = std::make_unique<Rank>();
      ranks.push_back(own.rank.get());
    }
    const LinkSetting all_links(false);
    Rank::Connect(ranks, devices, deadline_);
    const auto what = [] { return std::string("backend 'lsa' of a symmetric heap"); };
    // No barrier, no signal, no multicast: a device communicator without resources. It only checks that NCCL has windows
    // here; without, a window would be no structure of the GPU.
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
    const ncclDevCommRequirements_t nothing = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
    const ncclDevCommRequirements_t nothing{};
#endif
    CHATTY_CHECK(!nothing.lsaMultimem && nothing.teamRequirementsList == nullptr, "a device communicator with multicast");
    bool has_windows = true;
    try {
      Together(
          [&](std::size_t i, ncclComm_t comm) {
            const ncclResult_t result = ncclDevCommCreate(comm, &nothing, &per_device_[i].communicator);
            has_windows = has_windows && result != ncclInvalidUsage;
            Rank::Check(result, comm, what);
          },
          what);
    } catch (const DeviceError&) {
      if (has_windows) throw;
      Throw<CapabilityError>(
          "backend 'lsa' of symmetric heaps needs NCCL's windows, and NCCL has none between these GPUs: it wants links "
          "between "
          "each two, and CUDA's virtual memory (NCCL_CUMEM_ENABLE and NCCL_WIN_ENABLE not 0); choose p2p or proxy");
    }
    for (PerDevice& own : per_device_) own.has_communicator = true;
    Together(
        [&](std::size_t i, ncclComm_t comm) {
          Rank::Check(
              ncclCommWindowRegister(comm, per_device_[i].block, bytes, &per_device_[i].window, NCCL_WIN_COLL_SYMMETRIC),
              comm, what);
        },
        what);
    for (PerDevice& own : per_device_) {
      int reached = 0;
      own.rank->Within([&](ncclComm_t comm) { reached = ncclTeamLsa(comm).nRanks; });
      if (static_cast<std::size_t>(reached) != per_device_.size() || own.window == nullptr) {
        Throw<CapabilityError>(
            "backend 'lsa' of symmetric heaps: {} addresses the windows of {} of {} GPUs by NCCL; choose p2p or proxy",
            own.device->label(), reached, per_device_.size());
      }
      own.device->MakeCurrent();
      ResolveWindow(own.window, per_device_.size(), own.bases.data(), own.device->stream().native());
    }
    for (PerDevice& own : per_device_) {
      own.device->MakeCurrent();
      own.device->stream().Synchronize();
    }
  }

  void Free() noexcept {
    for (PerDevice& own : per_device_) {
      if (own.device == nullptr) continue;
      try {
        own.device->MakeCurrent();
        own.device->stream().Synchronize();  // kernels use the windows of all
      } catch (const Error&) {               // a lost device
      }
    }
    for (PerDevice& own : per_device_) {
      if (own.rank == nullptr) continue;
      own.rank->Within([&](ncclComm_t comm) {
        if (comm == nullptr) return;
        if (own.window != nullptr) ncclCommWindowDeregister(comm, own.window);
        if (own.has_communicator) ncclDevCommDestroy(comm, &own.communicator);
      });
    }
    for (PerDevice& own : per_device_) own.rank.reset();
    for (PerDevice& own : per_device_) {
      if (own.block != nullptr) ncclMemFree(own.block);
    }
  }

  std::atomic<bool> aborted_{false};
  Deadline deadline_{std::chrono::minutes(2), &aborted_};
  std::vector<PerDevice> per_device_;
};

}  // namespace

std::unique_ptr<LsaMemory> MakeLsaWindows(std::span<Device* const> devices, std::size_t bytes) {
  CheckVersion();
  CheckMulticastIsOff();
  return std::make_unique<LsaWindows>(devices, bytes);
}

}  // namespace chatty::detail

#endif
