#include "chatty/comm/calibration/probes.h"

#include "chatty/core/config.h"

#if CHATTY_WITH_NCCL
#include <nccl.h>
#endif

namespace chatty::probes {
namespace {

/// Items that are worth a further thread.
constexpr std::size_t kItemsAThread = 16 << 10;

/// Calls body(i) for all i below `items` on the device's team.
template <class Body>
void ForEach(Device& device, std::size_t items, const Body& body) {
  WorkerTeam& team = *device.team();
  const auto width = static_cast<int>(std::min<std::size_t>(team.size(), items / kItemsAThread + 1));
  team.Run(width, [&](TeamMember& member) {
    const auto rank = static_cast<std::size_t>(member.rank()), size = static_cast<std::size_t>(member.size());
    for (std::size_t i = items * rank / size; i < items * (rank + 1) / size; ++i) body(i);
  });
}

}  // namespace

// Returns the call's result on a GPU. In a build without CUDA no device is one, and what is discarded needs no definition.
#define CHATTY_ON_GPU(device, call)    \
  if constexpr (CHATTY_WITH_CUDA != 0) \
    if ((device).kind() == DeviceKind::kCuda) return cuda::call

void Prepare(Device& device, const State& state) {
  CHATTY_ON_GPU(device, Prepare(device, state));
  ForEach(device, std::size_t{1} << state.bits, [&](std::size_t i) { PrepareItem(state, i); });
}

void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape) {
  CHATTY_ON_GPU(device, Pack(device, state, buffer, shape));
  ForEach(device, shape.items, [&](std::size_t i) { PackItem(state, buffer, shape, i); });
}

void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape) {
  CHATTY_ON_GPU(device, Unpack(device, state, buffer, shape));
  ForEach(device, shape.items, [&](std::size_t i) { UnpackItem(state, buffer, shape, i); });
}

std::string SoftwareVersions() {
  std::string versions;
#if CHATTY_WITH_CUDA
  versions = cuda::SoftwareVersions();
#endif
#if CHATTY_WITH_NCCL
  if (int nccl = 0; ncclGetVersion(&nccl) == ncclSuccess) versions += " nccl " + std::to_string(nccl);
#endif
  return versions;
}

}  // namespace chatty::probes
