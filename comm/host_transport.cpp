/// Shared memory between host devices: the outbox is the inbox, nothing moves.
#include "chatty/comm/boxes.h"

namespace chatty {
namespace {

class HostTransport final : public Transport {
 public:
  HostTransport(std::span<Device* const> devices, const PairBytesTable& capacities)
      : boxes_(capacities, [&](PartId, PartId to) -> Device& { return *devices[to]; }) {}
  std::string_view name() const override { return "host"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return boxes_.At(from, to, epoch).data(); }
  void Post(PartId, PartId, std::size_t, std::uint64_t) override {}
  const std::byte* Receive(PartId at, PartId from, std::size_t, std::uint64_t epoch) override {
    return boxes_.At(from, at, epoch).data();
  }

 private:
  PairBoxes<Buffer<std::byte>> boxes_;
};

}  // namespace

std::unique_ptr<Transport> MakeHostTransport(std::span<Device* const> devices, const PairBytesTable& capacities) {
  for (const Device* device : devices) {
    if (device->kind() != DeviceKind::kHost) {
      Throw<UsageError>("transport 'host' joins host devices only, and {} is none; use p2p-copy or staged", device->label());
    }
  }
  return std::make_unique<HostTransport>(devices, capacities);
}

}  // namespace chatty
