#include "chatty/comm/calibration/probes.h"

#include "chatty/core/config.h"

#if CHATTY_WITH_NCCL
#include <nccl.h>
#endif

namespace chatty::probes {

void Run(Device& device, const Step& step) {
#if CHATTY_WITH_CUDA
  if (device.kind() == DeviceKind::kCuda) return cuda::Run(device, step);
#endif
  constexpr std::size_t kItemsAThread = 16 << 10;  // that are worth a further thread
  WorkerTeam& team = *device.team();
  const std::size_t items = step.items();
  team.Run(static_cast<int>(std::min<std::size_t>(team.size(), items / kItemsAThread + 1)), [&](TeamMember& member) {
    const auto rank = static_cast<std::size_t>(member.rank()), size = static_cast<std::size_t>(member.size());
    for (std::size_t i = items * rank / size; i < items * (rank + 1) / size; ++i) step(i);
  });
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
