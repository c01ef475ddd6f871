// Times kernels, or jobs of a team, that sum words; the time of one that reads nothing is subtracted.
#include "chatty/comm/memory_reads.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "chatty/core/config.h"
#include "chatty/core/hash.h"
#include "chatty/core/sync.h"
#include "chatty/core/team.h"

namespace chatty {
namespace {

void Read(Device& device, const std::uint32_t* memory, std::size_t words, const std::uint32_t* order) {
  if constexpr (CHATTY_WITH_CUDA != 0) {
    if (device.kind() == DeviceKind::kCuda) return detail::ReadOnGpu(device, memory, words, order);
  }
  std::atomic<std::uint32_t> sink{0};  // uses what is read
  device.team()->Run(device.team()->size(), [&](TeamMember& member) {
    const auto rank = static_cast<std::size_t>(member.rank()), size = static_cast<std::size_t>(member.size());
    std::uint32_t sum = 0;
    for (std::size_t i = words * rank / size; i < words * (rank + 1) / size; ++i) {
      sum += memory[order == nullptr ? i : order[i]];
    }
    sink.fetch_add(sum, std::memory_order_relaxed);
  });
}

/// Median seconds of a read.
double SecondsToRead(Device& device, const std::uint32_t* memory, std::size_t words, const std::uint32_t* order) {
  std::array<double, 4> times{};
  for (double& seconds : times) {
    device.stream().Synchronize();
    const Clock::time_point start = Clock::now();
    Read(device, memory, words, order);
    device.stream().Synchronize();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  std::sort(times.begin() + 1, times.end());  // the first one is not counted
  return times[2];
}

}  // namespace

std::vector<ReadRate> MeasureReads(std::span<Device* const> devices, const LinkMask& links) {
  Device& reader = *devices[0];
  const bool gpu = reader.kind() == DeviceKind::kCuda;
  // More than a cache has. A GPU reads 2^18 random words of host memory in a millisecond, and 2^23 of a peer's memory.
  const std::size_t words = std::size_t{1} << (gpu ? 25 : 22);
  reader.MakeCurrent();
  Pinned<std::uint32_t> host(reader, words);
  for (std::size_t i = 0; i < words; ++i) host.data()[i] = static_cast<std::uint32_t>(Hash(i) % words);
  const Buffer<std::uint32_t> order(reader, words);
  reader.CopyIn(order.data(), host.data(), words * sizeof(std::uint32_t), reader.stream());
  const double launch = SecondsToRead(reader, host.data(), 0, nullptr);
  std::vector<ReadRate> rates;
  const auto measure = [&](std::optional<std::size_t> owner, const std::uint32_t* memory) {
    const auto rate = [&](std::size_t count, const std::uint32_t* at) {
      const double seconds = SecondsToRead(reader, memory, count, at);
      return static_cast<double>(count * sizeof(std::uint32_t)) / std::max({seconds - launch, seconds / 100, 1e-9});
    };
    const std::size_t random = std::min(words, std::size_t{1} << (gpu && owner ? 23 : 18));
    rates.push_back({owner, rate(words, nullptr), rate(random, order.data())});
  };
  measure(std::nullopt, host.data());
  for (std::size_t d = 1; d < devices.size(); ++d) {
    Device& owner = *devices[d];
    if (!links.Allows(0, d) || !owner.AllowAccessBy(reader) || !reader.AllowAccessBy(owner)) continue;
    owner.MakeCurrent();
    const Buffer<std::uint32_t> memory(owner, words);
    owner.Fill(memory.data(), 1, words * sizeof(std::uint32_t), owner.stream());
    owner.stream().Synchronize();
    reader.MakeCurrent();
    measure(d, memory.data());
  }
  return rates;
}

}  // namespace chatty
