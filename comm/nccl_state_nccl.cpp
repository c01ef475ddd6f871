#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "chatty/comm/nccl_communicator.h"
#include "chatty/comm/nccl_state.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"

namespace chatty {
namespace {

class NcclSums final : public NcclState {
 public:
  NcclSums(std::span<Device* const> devices, std::size_t counters, const TransportOptions& options)
      : counters_(counters), deadline_{options.timeout, &aborted_}, per_device_(devices.size()) {
    std::vector<detail::Rank*> ranks;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      PerDevice& own = per_device_[i];
      own.device = devices[i];
      devices[i]->MakeCurrent();
      own.there = Buffer<std::uint64_t>(*devices[i], counters);
      own.here = Pinned<std::uint64_t>(*devices[i], counters);
      own.stream = devices[i]->NewStream();
      own.rank = std::make_unique<detail::Rank>();
      ranks.push_back(own.rank.get());
    }
    for (Device* device : devices) device->stream().Synchronize();  // the memory is ready
    const detail::LinkSetting setting(detail::TakesAway(options.links, devices.size()));
    try {
      detail::Rank::Connect(ranks, devices, deadline_);
    } catch (...) {
      Abort();
      throw;
    }
  }
  ~NcclSums() override {
    if (failed_) Abort();
    for (const PerDevice& own : per_device_) {
      try {
        own.stream->Synchronize({nullptr, std::chrono::seconds(10)});
      } catch (...) {  // the wait for that work reports it
        Abort();
      }
    }
    for (PerDevice& own : per_device_) own.rank.reset();  // all ranks before any stream; see NcclTransport
  }
  NcclSums(const NcclSums&) = delete;
  NcclSums& operator=(const NcclSums&) = delete;

  void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) override {
    const PerDevice& own = per_device_[at];
    CHATTY_CHECK(values.size() <= counters_, "{} counters, and there is room for {}", values.size(), counters_);
    const std::size_t bytes = values.size_bytes();
    if (bytes == 0) return;
    const auto what = [&] {
      return fmt::format("state over NCCL: the sum of {} bytes of counters on {}", bytes, own.device->label());
    };
    try {
      std::copy(values.begin(), values.end(), own.here.data());
      own.device->CopyIn(own.there.data(), own.here.data(), bytes, *own.stream);
      own.rank->Group(
          deadline_,
          [&](ncclComm_t comm) {
            detail::Rank::Check(ncclAllReduce(own.there.data(), own.there.data(), values.size(), ncclUint64, ncclSum, comm,
                                              detail::Native(*own.stream)),
                                comm, what);
          },
          what);
      own.device->CopyOut(own.here.data(), own.there.data(), bytes, *own.stream);
      own.stream->Synchronize(wait);
      std::copy_n(own.here.data(), values.size(), values.begin());
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void Abort() noexcept override {
    if (aborted_.exchange(true)) return;
    for (const PerDevice& own : per_device_) {
      if (own.rank != nullptr) own.rank->Abort();
    }
  }
  bool reusable() const noexcept override { return !aborted_ && !failed_; }

 private:
  struct PerDevice {
    Device* device = nullptr;
    Buffer<std::uint64_t> there;
    Pinned<std::uint64_t> here;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<detail::Rank> rank;
  };
  std::size_t counters_;
  std::atomic<bool> aborted_{false}, failed_{false};
  detail::Deadline deadline_;
  std::vector<PerDevice> per_device_;
};

}  // namespace

std::unique_ptr<NcclState> MakeNcclState(std::span<Device* const> devices, std::size_t counters,
                                         const TransportOptions& options) {
  CheckTransport("nccl", SelectionOf(devices));
  return std::make_unique<NcclSums>(devices, counters, options);
}

}  // namespace chatty
