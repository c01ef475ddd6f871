#include "chatty/comm/transport.h"

#include <fmt/ranges.h>

#include "chatty/core/config.h"

namespace chatty {

std::vector<std::string_view> TransportNames() {
#if CHATTY_WITH_CUDA
  return {"auto", "host", "p2p-copy", "staged"};
#else
  return {"auto", "host", "staged"};
#endif
}

std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities) {
  if (name == "auto") name = devices[0]->kind() == DeviceKind::kHost ? "host" : "p2p-copy";
  if (name == "host") return MakeHostTransport(devices, capacities);
  if (name == "staged") return MakeStagedTransport(devices, capacities);
#if CHATTY_WITH_CUDA
  if (name == "p2p-copy") return MakePeerCopyTransport(devices, capacities);
#endif
  Throw<UsageError>("there is no transport '{}' in this build; choose one of {}", name, fmt::join(TransportNames(), ", "));
}

}  // namespace chatty
