#include "chatty/comm/transport.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "chatty/core/config.h"

namespace chatty {

std::vector<std::string_view> TransportNames() {
#if CHATTY_WITH_CUDA
  return {"auto", "host", "p2p-copy", "staged"};
#else
  return {"auto", "host", "staged"};
#endif
}

namespace {

std::string_view Chosen(std::string_view name, DeviceKind kind) {
  return name != "auto" ? name : kind == DeviceKind::kHost ? "host" : "p2p-copy";
}

}  // namespace

void CheckTransport(std::string_view name, DeviceKind kind, std::size_t devices) {
  const std::vector<std::string_view> names = TransportNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    Throw<UsageError>("there is no transport '{}' in this build; choose one of {}", name, fmt::join(names, ", "));
  }
  if (devices < 2) return;  // none is made
  name = Chosen(name, kind);
  if (name == "host" && kind != DeviceKind::kHost) {
    Throw<UsageError>("transport 'host' joins host devices only, and these are GPUs; use p2p-copy or staged");
  }
  if (name == "p2p-copy" && kind != DeviceKind::kCuda) {
    Throw<UsageError>("transport 'p2p-copy' joins GPUs only, and these are host devices; use host or staged");
  }
}

TransportMemory MeasureTransport(std::string_view name, DeviceKind kind, const PairBytesTable& capacities) {
  const std::string_view chosen = Chosen(name, kind);
  TransportMemory memory;
  memory.devices.resize(capacities.size());
  for (PartId from = 0; from < capacities.size(); ++from) {
    for (PartId to = 0; to < capacities.size(); ++to) {
      if (from == to) continue;
      const std::uint64_t boxes = 2 * std::uint64_t{capacities[from][to]};  // that alternate
      memory.devices[to] += boxes;
      if (chosen != "host") memory.devices[from] += boxes;  // an outbox of its own
      if (chosen == "staged") memory.host += boxes;
    }
  }
  return memory;
}

std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities) {
  name = Chosen(name, devices[0]->kind());
  if (name == "host") return MakeHostTransport(devices, capacities);
  if (name == "staged") return MakeStagedTransport(devices, capacities);
#if CHATTY_WITH_CUDA
  if (name == "p2p-copy") return MakePeerCopyTransport(devices, capacities);
#endif
  Throw<UsageError>("there is no transport '{}' in this build; choose one of {}", name, fmt::join(TransportNames(), ", "));
}

}  // namespace chatty
