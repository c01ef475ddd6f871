/// Through pinned host memory: the sender copies out, the receiver copies in. What every pair of devices can do.
#include <vector>

#include "chatty/comm/boxes.h"

namespace chatty {
namespace {

class StagedTransport final : public Transport {
 public:
  StagedTransport(std::span<Device* const> devices, const PairBytesTable& capacities)
      : devices_(devices.begin(), devices.end()),
        outboxes_(capacities, [&](PartId from, PartId) -> Device& { return *devices[from]; }),
        middle_(capacities, [&](PartId from, PartId) -> Device& { return *devices[from]; }),
        inboxes_(capacities, [&](PartId, PartId to) -> Device& { return *devices[to]; }),
        out_(2 * devices.size() * devices.size()) {
    for (PartId from = 0; from < devices_.size(); ++from) {
      for (PartId to = 0; to < devices_.size(); ++to) {
        if (capacities[from][to] == 0) continue;
        for (std::uint64_t parity = 0; parity < 2; ++parity) OutEvent(from, to, parity) = devices_[from]->NewEvent();
      }
    }
  }
  std::string_view name() const override { return "staged"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return outboxes_.At(from, to, epoch).data(); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    Device& device = *devices_[from];
    device.CopyOut(middle_.At(from, to, epoch).data(), outboxes_.At(from, to, epoch).data(), bytes, device.stream());
    OutEvent(from, to, epoch)->Record(device.stream());
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Device& device = *devices_[at];
    OutEvent(from, at, epoch)->MakeWait(device.stream());
    std::byte* const inbox = inboxes_.At(from, at, epoch).data();
    device.CopyIn(inbox, middle_.At(from, at, epoch).data(), bytes, device.stream());
    return inbox;
  }

 private:
  std::unique_ptr<Event>& OutEvent(PartId from, PartId to, std::uint64_t epoch) {
    return out_[(from * devices_.size() + to) * 2 + (epoch & 1)];
  }
  std::vector<Device*> devices_;
  PairBoxes<Buffer<std::byte>> outboxes_;
  PairBoxes<Pinned<std::byte>> middle_;
  PairBoxes<Buffer<std::byte>> inboxes_;
  std::vector<std::unique_ptr<Event>> out_;
};

}  // namespace

std::unique_ptr<Transport> MakeStagedTransport(std::span<Device* const> devices, const PairBytesTable& capacities) {
  return std::make_unique<StagedTransport>(devices, capacities);
}

}  // namespace chatty
