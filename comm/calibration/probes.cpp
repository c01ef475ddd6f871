#include "chatty/comm/calibration/probes.h"

#include <algorithm>

#include "chatty/core/atomics.h"
#include "chatty/core/config.h"
#include "chatty/core/hash.h"

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
  ForEach(device, std::size_t{1} << state.bits, [&](std::size_t i) {
    state.values[i] = static_cast<std::uint32_t>(Hash(i) >> 32) | 0x80000000u;  // far from 0, the least value
    state.order[i] = Permuted(static_cast<std::uint32_t>(i), state.bits);
    if (i % 32 == 0) state.marks[i / 32] = 0;
  });
}

ProbeBuffer ProbeBuffer::Of(Encoding encoding, std::size_t bytes, unsigned every) {
  ProbeBuffer buffer{encoding, 0, every};
  if (encoding == Encoding::kBitmap) {
    const double one = 1.0 / 8 + 4.0 / kSegment + 4.0 / every;
    buffer.count = static_cast<std::size_t>(static_cast<double>(bytes) / one) / kSegment * kSegment;
  } else {
    buffer.count = std::max<std::size_t>(1, bytes / (encoding == Encoding::kSparse ? sizeof(Entry) : sizeof(std::uint32_t)));
  }
  return buffer;
}

void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape) {
  CHATTY_ON_GPU(device, Pack(device, state, buffer, shape));
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  if (shape.encoding == Encoding::kDense) {
    return ForEach(device, shape.count, [&](std::size_t i) { words[i] = state.values[i] - 1; });
  }
  if (shape.encoding == Encoding::kSparse) {
    auto* const entries = reinterpret_cast<Entry*>(buffer);
    return ForEach(device, shape.count, [&, apart = EntriesApart(state, shape)](std::size_t i) {
      entries[i] = {static_cast<std::uint32_t>(i * apart), state.values[i * apart] - 1};
    });
  }
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + shape.segments_at());
  auto* const values = reinterpret_cast<std::uint32_t*>(buffer + shape.values_at());
  ForEach(device, shape.count / ProbeBuffer::kSegment, [&](std::size_t segment) {
    const std::size_t first = segment * ProbeBuffer::kSegment, end = first + ProbeBuffer::kSegment;
    std::size_t place = (first + shape.every - 1) / shape.every;
    segments[segment] = static_cast<std::uint32_t>(place);
    std::fill(words + first / 32, words + end / 32, 0);
    for (std::size_t i = first; i < end; ++i) {
      if (i % shape.every != 0) continue;
      words[i / 32] |= 1u << (i % 32);
      values[place++] = state.values[i] - 1;
    }
  });
}

void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape) {
  CHATTY_ON_GPU(device, Unpack(device, state, buffer, shape));
  const auto* const words = reinterpret_cast<const std::uint32_t*>(buffer);
  if (shape.encoding == Encoding::kDense) {
    return ForEach(device, shape.count, [&](std::size_t i) { state.values[i] = std::min(state.values[i], words[i]); });
  }
  if (shape.encoding == Encoding::kSparse) {
    const auto* const entries = reinterpret_cast<const Entry*>(buffer);
    return ForEach(device, shape.count, [&](std::size_t i) {
      const std::uint32_t at = entries[i].index;
      atomics::Min<true>(&state.values[at], entries[i].value);
      atomics::Or<true>(&state.marks[at >> 5], 1u << (at & 31));
    });
  }
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(buffer + shape.segments_at());
  const auto* const values = reinterpret_cast<const std::uint32_t*>(buffer + shape.values_at());
  ForEach(device, shape.count / ProbeBuffer::kSegment, [&](std::size_t segment) {
    const std::size_t first = segment * ProbeBuffer::kSegment;
    std::size_t place = segments[segment];
    for (std::size_t i = first; i < first + ProbeBuffer::kSegment; ++i) {
      if ((words[i / 32] >> (i % 32) & 1u) == 0) continue;
      state.values[i] = std::min(state.values[i], values[place++]);
      atomics::Or<true>(&state.marks[i >> 5], 1u << (i & 31));
    }
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
