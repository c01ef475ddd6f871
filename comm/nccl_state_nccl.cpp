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
      : counters_(counters), deadline_{options.timeout, &aborted_}, seats_(devices.size()) {
    std::vector<detail::Rank*> ranks;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Seat& seat = seats_[i];
      seat.device = devices[i];
      devices[i]->MakeCurrent();
      seat.there = Buffer<std::uint64_t>(*devices[i], counters);
      seat.here = Pinned<std::uint64_t>(*devices[i], counters);
      seat.stream = devices[i]->NewStream();
      seat.rank = std::make_unique<detail::Rank>();
      ranks.push_back(seat.rank.get());
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
    for (const Seat& seat : seats_) {
      try {
        seat.stream->Synchronize({nullptr, std::chrono::seconds(10)});
      } catch (...) {  // the wait for that work reports it
        Abort();
      }
    }
    for (Seat& seat : seats_) seat.rank.reset();  // all ranks before any stream; see NcclTransport
  }
  NcclSums(const NcclSums&) = delete;
  NcclSums& operator=(const NcclSums&) = delete;

  void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) override {
    const Seat& seat = seats_[at];
    CHATTY_CHECK(values.size() <= counters_, "{} counters, and there is room for {}", values.size(), counters_);
    const std::size_t bytes = values.size_bytes();
    if (bytes == 0) return;
    const auto what = [&] {
      return fmt::format("state over NCCL: the sum of {} bytes of counters on {}", bytes, seat.device->label());
    };
    try {
      std::copy(values.begin(), values.end(), seat.here.data());
      seat.device->CopyIn(seat.there.data(), seat.here.data(), bytes, *seat.stream);
      seat.rank->Group(
          deadline_,
          [&](ncclComm_t comm) {
            detail::Rank::Check(ncclAllReduce(seat.there.data(), seat.there.data(), values.size(), ncclUint64, ncclSum, comm,
                                              detail::Native(*seat.stream)),
                                comm, what);
          },
          what);
      seat.device->CopyOut(seat.here.data(), seat.there.data(), bytes, *seat.stream);
      seat.stream->Synchronize(wait);
      std::copy_n(seat.here.data(), values.size(), values.begin());
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void Abort() noexcept override {
    if (aborted_.exchange(true)) return;
    for (const Seat& seat : seats_) {
      if (seat.rank != nullptr) seat.rank->Abort();
    }
  }
  bool reusable() const noexcept override { return !aborted_ && !failed_; }

 private:
  struct Seat {
    Device* device = nullptr;
    Buffer<std::uint64_t> there;
    Pinned<std::uint64_t> here;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<detail::Rank> rank;
  };
  std::size_t counters_;
  std::atomic<bool> aborted_{false}, failed_{false};
  detail::Deadline deadline_;
  std::vector<Seat> seats_;
};

}  // namespace

std::unique_ptr<NcclState> MakeNcclState(std::span<Device* const> devices, std::size_t counters,
                                         const TransportOptions& options) {
  CheckTransport("nccl", SelectionOf(devices));
  return std::make_unique<NcclSums>(devices, counters, options);
}

}  // namespace chatty
