#include "chatty/framework/fused/team.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "chatty/core/error.h"

namespace chatty::fused {
namespace {

/// Entries of a ring: what a band of a grid sends in some steps. A full ring costs its sender time alone.
constexpr std::uint32_t kRingEntries = 1u << 12;

std::uint32_t RingEntries(std::uint32_t list_items) {
  return list_items == 0 ? kRingEntries : std::bit_floor(std::clamp<std::uint32_t>(list_items, 64, kRingEntries));
}

std::size_t ArrayBytes(std::size_t devices, std::uint32_t list_items) {
  return symmetric::Rings::Bytes(devices, RingEntries(list_items)) + sizeof(symmetric::RingCounter) + 3 * symmetric::kLine +
         2 * sizeof(symmetric::RingEntry);
}

}  // namespace

void ThrowAborted(const WaitContext& context, std::string_view what) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  while (context.abort != nullptr && Clock::now() < end) {
    context.abort->ThrowIfAborted(what);
    std::this_thread::yield();
  }
  Throw<AbortedError>("gave up waiting for {}: another device failed first", what);
}

std::uint64_t Team::Bytes(std::size_t devices, std::uint32_t list_items) {
  return SymmetricHeap::BlockBytes(ArrayBytes(devices, list_items));
}

Team::Team(std::span<Device* const> devices, std::uint32_t list_items)
    : heap_(devices, ArrayBytes(devices.size(), list_items)) {
  ref_.rings = symmetric::MakeRings(heap_, RingEntries(list_items));
  ref_.state = heap_.Allocate<symmetric::RingCounter>(1);
  ref_.counts = heap_.Allocate<StepCounts>(3);
  ref_.order = heap_.Allocate<symmetric::RingEntry>(2);
}

Team::~Team() {
  heap_.Abort();
  for (std::size_t d = 0; d < size(); ++d) {
    try {
      heap_.device(d).MakeCurrent();
      heap_.device(d).stream().Synchronize();
    } catch (const Error&) {  // a lost device writes nothing
    }
  }
}

std::size_t Team::SharingWith(std::size_t index) const {
  std::size_t sharing = 0;
  for (std::size_t d = 0; d < size(); ++d) sharing += heap_.device(d).index() == heap_.device(index).index() ? 1 : 0;
  return sharing;
}

TeamRef Team::ref(std::size_t index) const {
  TeamRef ref = ref_;
  ref.heap = heap_.ref(index);
  return ref;
}

void Team::Begin() {
  heap_.BeginRun();
  heap_.Clear();
  heap_.device(0).MakeCurrent();
}

std::vector<std::uint64_t> Team::Sent(std::size_t index) const {
  Device& device = heap_.device(index);
  std::vector<symmetric::RingCounter> counters(size());
  device.CopyOut(counters.data(), heap_.data(ref_.rings.reserved, index), size() * sizeof(symmetric::RingCounter),
                 device.stream());
  device.stream().Synchronize();
  std::vector<std::uint64_t> sent;
  sent.reserve(size());
  for (const symmetric::RingCounter& counter : counters) sent.push_back(counter.count);
  return sent;
}

}  // namespace chatty::fused
