/// Copies between GPUs over NVLink or PCIe, enqueued by the sender; pairs without peer access are staged in host memory.
#include <vector>

#include "chatty/comm/boxes.h"
#include "chatty/core/cuda.h"

namespace chatty {
namespace {

bool Reachable(const Device& from, const Device& to) {
  int out = 0, back = 0;
  CHATTY_CUDA(cudaDeviceCanAccessPeer(&out, from.index(), to.index()));
  CHATTY_CUDA(cudaDeviceCanAccessPeer(&back, to.index(), from.index()));
  return out != 0 && back != 0;
}

/// Entries of `capacities` for pairs that can (or cannot) reach each other; zero elsewhere.
PairBytesTable Select(std::span<Device* const> devices, const PairBytesTable& capacities, bool reachable) {
  PairBytesTable selected(devices.size(), std::vector<std::size_t>(devices.size(), 0));
  for (PartId from = 0; from < devices.size(); ++from) {
    for (PartId to = 0; to < devices.size(); ++to) {
      if (from != to && Reachable(*devices[from], *devices[to]) == reachable) selected[from][to] = capacities[from][to];
    }
  }
  return selected;
}

class PeerCopyTransport final : public Transport {
 public:
  PeerCopyTransport(std::span<Device* const> devices, const PairBytesTable& capacities)
      : devices_(devices.begin(), devices.end()),
        direct_(Select(devices, capacities, true)),
        staged_(MakeStagedTransport(devices, Select(devices, capacities, false))),
        outboxes_(direct_, [&](PartId from, PartId) -> Device& { return *devices[from]; }),
        inboxes_(direct_, [&](PartId, PartId to) -> Device& { return *devices[to]; }),
        arrived_(2 * devices.size() * devices.size()) {
    for (PartId from = 0; from < devices_.size(); ++from) {
      for (PartId to = 0; to < devices_.size(); ++to) {
        if (direct_[from][to] == 0) continue;
        for (std::uint64_t parity = 0; parity < 2; ++parity) Arrived(from, to, parity) = devices_[from]->NewEvent();
      }
    }
  }
  std::string_view name() const override { return "p2p-copy"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    return direct_[from][to] > 0 ? outboxes_.At(from, to, epoch).data() : staged_->Outbox(from, to, epoch);
  }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    if (direct_[from][to] == 0) return staged_->Post(from, to, bytes, epoch);
    Device& sender = *devices_[from];
    if (bytes > 0) {
      CHATTY_CUDA(cudaMemcpyPeerAsync(inboxes_.At(from, to, epoch).data(), devices_[to]->index(),
                                      outboxes_.At(from, to, epoch).data(), sender.index(), bytes,
                                      static_cast<cudaStream_t>(sender.stream().native())));
    }
    Arrived(from, to, epoch)->Record(sender.stream());
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (direct_[from][at] == 0) return staged_->Receive(at, from, bytes, epoch);
    Arrived(from, at, epoch)->MakeWait(devices_[at]->stream());
    return inboxes_.At(from, at, epoch).data();
  }

 private:
  std::unique_ptr<Event>& Arrived(PartId from, PartId to, std::uint64_t epoch) {
    return arrived_[(from * devices_.size() + to) * 2 + (epoch & 1)];
  }
  std::vector<Device*> devices_;
  PairBytesTable direct_;
  std::unique_ptr<Transport> staged_;
  PairBoxes<Buffer<std::byte>> outboxes_, inboxes_;
  std::vector<std::unique_ptr<Event>> arrived_;
};

}  // namespace

std::unique_ptr<Transport> MakePeerCopyTransport(std::span<Device* const> devices, const PairBytesTable& capacities) {
  for (const Device* device : devices) {
    if (device->kind() != DeviceKind::kCuda) {
      Throw<UsageError>("transport 'p2p-copy' joins GPUs only, and {} is none; use host or staged", device->label());
    }
  }
  return std::make_unique<PeerCopyTransport>(devices, capacities);
}

}  // namespace chatty
