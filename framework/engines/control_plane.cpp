#include "chatty/framework/engines/control_plane.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "chatty/core/error.h"

namespace chatty {
namespace detail {

/// Gathers the values of all devices.
class AllGatherer {
 public:
  virtual ~AllGatherer() = default;
  /// Each device's thread calls it, all equally often.
  virtual void Gather(PartId rank, const void* mine, std::byte* all, std::size_t bytes, const WaitContext& wait,
                      std::string_view what) = 0;
  virtual void Abort() noexcept = 0;
};

/// A barrier in host memory. Two sets of slots alternate, so that a fast device's next value cannot overwrite one that a
/// slow device still reads.
class BarrierAllGather final : public AllGatherer {
 public:
  explicit BarrierAllGather(std::size_t devices)
      : barrier_(static_cast<int>(devices)),
        calls_(devices),
        slots_{std::vector<Slot>(devices), std::vector<Slot>(devices)} {}

  void Gather(PartId rank, const void* mine, std::byte* all, std::size_t bytes, const WaitContext& wait,
              std::string_view what) override {
    const std::vector<Slot>& slots = Exchange(rank, mine, bytes, wait, what);
    for (std::size_t r = 0; r < slots.size(); ++r) std::memcpy(all + r * bytes, slots[r].bytes, bytes);
  }
  /// Replaces `value` by that of device 0.
  void Broadcast(PartId rank, void* value, std::size_t bytes, const WaitContext& wait, std::string_view what) {
    const std::vector<Slot>& slots = Exchange(rank, value, rank == 0 ? bytes : 0, wait, what);
    if (rank != 0) std::memcpy(value, slots[0].bytes, bytes);
  }
  void Abort() noexcept override { barrier_.Poison(); }

 private:
  struct alignas(64) Slot {
    std::byte bytes[ControlPlane::kValueBytes];
  };
  struct alignas(64) Calls {
    std::uint64_t count = 0;  // of one device; only its thread reads it
  };

  const std::vector<Slot>& Exchange(PartId rank, const void* mine, std::size_t bytes, const WaitContext& wait,
                                    std::string_view what) {
    std::vector<Slot>& slots = slots_[calls_[rank].count++ & 1];
    std::memcpy(slots[rank].bytes, mine, bytes);
    barrier_.Arrive(wait, what);
    return slots;
  }

  Barrier barrier_;
  std::vector<Calls> calls_;
  std::vector<Slot> slots_[2];
};

/// An all-reduce of NCCL. Each device's words are zero in the sums of all others, so the sums are all devices' words.
class NcclAllGather final : public AllGatherer {
 public:
  NcclAllGather(std::size_t devices, NcclState& sums) : sums_(sums), words_(devices) {}

  void Gather(PartId rank, const void* mine, std::byte* all, std::size_t bytes, const WaitContext& wait,
              std::string_view) override {
    const std::size_t each = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    std::vector<std::uint64_t>& words = words_[rank];
    words.assign(words_.size() * each, 0);
    std::memcpy(&words[rank * each], mine, bytes);
    sums_.Sum(rank, words, wait);
    for (std::size_t r = 0; r < words_.size(); ++r) std::memcpy(all + r * bytes, &words[r * each], bytes);
  }
  void Abort() noexcept override { sums_.Abort(); }

 private:
  NcclState& sums_;
  std::vector<std::vector<std::uint64_t>> words_;  // one a device
};

}  // namespace detail

struct ThreadControlPlanes::Shared {
  /// What one device gives another: a cache line, so that a receiver fetches one.
  struct alignas(64) Line {
    std::byte bytes[ControlPlane::kHeaderBytes];
  };
  using Row = std::vector<Line>;  // one a receiver

  Shared(std::size_t devices, std::chrono::milliseconds timeout, NcclState* sums)
      : wait{&abort, timeout}, broadcasts(devices), headers(static_cast<int>(devices)) {
    if (sums != nullptr) {
      reductions = std::make_unique<detail::NcclAllGather>(devices, *sums);
    } else {
      reductions = std::make_unique<detail::BarrierAllGather>(devices);
    }
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (std::size_t d = 0; d < devices; ++d) headers.Outgoing(static_cast<int>(d), epoch).resize(devices);
      put[epoch].resize(devices, Row(devices));
    }
  }
  void Fail(std::exception_ptr error) noexcept {
    abort.Fail(std::move(error));
    reductions->Abort();
    headers.Poison();
    broadcasts.Abort();
  }

  AbortToken abort;
  const WaitContext wait;
  std::unique_ptr<detail::AllGatherer> reductions;
  detail::BarrierAllGather broadcasts;
  NeighbourExchange<Row> headers;
  std::vector<Row> put[2];  // [epoch & 1][from][to]
};

class ThreadControlPlanes::End final : public ControlPlane {
 public:
  End(Shared& shared, PartId rank, PartId devices) : ControlPlane(rank, devices), shared_(&shared) {}

  const WaitContext& wait() const noexcept override { return shared_->wait; }
  void Wait(std::uint32_t senders, std::string_view what) override {
    shared_->headers.Wait(static_cast<int>(rank()), static_cast<int>(senders), wait(), what);
  }
  void Fail(std::exception_ptr error) noexcept override { shared_->Fail(std::move(error)); }

 private:
  void AllGather(const void* mine, std::byte* all, std::size_t bytes, std::string_view what) override {
    shared_->reductions->Gather(rank(), mine, all, bytes, wait(), what);
  }
  void BroadcastBytes(void* value, std::size_t bytes, std::string_view what) override {
    shared_->broadcasts.Broadcast(rank(), value, bytes, wait(), what);
  }
  void SignalBytes(PartId to, std::uint64_t epoch, const void* header, std::size_t bytes) override {
    std::memcpy(shared_->headers.Outgoing(static_cast<int>(rank()), epoch)[to].bytes, header, bytes);
    shared_->headers.Signal(static_cast<int>(to));
  }
  void CopyHeader(PartId from, std::uint64_t epoch, void* header, std::size_t bytes) const override {
    std::memcpy(header, shared_->headers.Incoming(static_cast<int>(from), epoch)[rank()].bytes, bytes);
  }
  void PutBytes(PartId to, std::uint64_t epoch, const void* value, std::size_t bytes) override {
    std::memcpy(shared_->put[epoch & 1][rank()][to].bytes, value, bytes);
  }
  void GetBytes(PartId from, std::uint64_t epoch, void* value, std::size_t bytes) const override {
    std::memcpy(value, shared_->put[epoch & 1][from][rank()].bytes, bytes);
  }

  Shared* shared_;
};

ThreadControlPlanes::ThreadControlPlanes(std::size_t devices, std::chrono::milliseconds timeout, NcclState* sums)
    : shared_(std::make_unique<Shared>(devices, timeout, sums)) {
  ends_.reserve(devices);
  for (PartId rank = 0; rank < devices; ++rank) ends_.emplace_back(*shared_, rank, static_cast<PartId>(devices));
}

ThreadControlPlanes::~ThreadControlPlanes() = default;

ControlPlane& ThreadControlPlanes::operator[](std::size_t rank) noexcept { return ends_[rank]; }

const WaitContext& ThreadControlPlanes::wait() const noexcept { return shared_->wait; }

void ThreadControlPlanes::Fail(std::exception_ptr error) noexcept { shared_->Fail(std::move(error)); }

void ThreadControlPlanes::RethrowFirst() const { shared_->abort.RethrowFirst(); }

}  // namespace chatty
