#include "chatty/framework/fused/rounds_team.h"

#include <algorithm>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/error.h"

namespace chatty::fused {
namespace {

std::size_t ListBytes(std::size_t devices) { return devices * TeamRoundEdges(devices) * kTeamEntryBytes; }
std::size_t SumsBytes(std::size_t devices) { return 2 * devices * kWideEntries * kTeamEntryBytes; }
std::size_t SharedBytes(std::size_t devices) {
  constexpr std::size_t kArrays = 5;  // each begins a line
  return 2 * devices * sizeof(symmetric::RingCounter) + 3 * devices * sizeof(std::uint64_t) + kArrays * symmetric::kLine +
         SumsBytes(devices) + ListBytes(devices);
}

}  // namespace

std::uint64_t RoundsTeam::Bytes(std::size_t devices) { return SymmetricHeap::BlockBytes(SharedBytes(devices)); }

RoundsTeam::RoundsTeam(std::span<Device* const> devices)
    : heap_(devices, SharedBytes(devices.size())), epochs_(devices.size()) {
  ref_.words = heap_.Allocate<symmetric::RingCounter>(2 * size());
  ref_.seen = heap_.Allocate<std::uint64_t>(2 * size());
  ref_.blocks = heap_.Allocate<std::uint64_t>(size());
  ref_.sums = heap_.Allocate<std::byte>(SumsBytes(size()));
  ref_.lists = heap_.Allocate<std::byte>(ListBytes(size()));
  ref_.capacity = TeamRoundEdges(size());
}

RoundsTeam::~RoundsTeam() {
  heap_.Abort();
  for (std::size_t d = 0; d < size(); ++d) {
    try {
      heap_.device(d).MakeCurrent();
      heap_.device(d).stream().Synchronize();
    } catch (const Error&) {  // a lost device writes nothing
    }
  }
}

std::size_t RoundsTeam::SharingWith(std::size_t index) const {
  std::size_t sharing = 0;
  for (std::size_t d = 0; d < size(); ++d) sharing += heap_.device(d).index() == heap_.device(index).index() ? 1 : 0;
  return sharing;
}

RoundsTeamRef RoundsTeam::ref(std::size_t index) const {
  RoundsTeamRef ref = ref_;
  ref.heap = heap_.ref(index);
  return ref;
}

bool RoundsTeam::Begin() {
  const bool whole =
      std::all_of(epochs_.begin(), epochs_.end(), [&](const Epoch& epoch) { return epoch.value == epochs_.front().value; });
  constexpr std::uint32_t kLast = 1u << 31;  // an entry of a barrier with the same number is never left
  if (whole && epochs_.front().value < kLast && detail::LoadRelaxed(ref(0).heap.abort) == 0) return false;
  try {
    heap_.Clear();
    heap_.BeginRun();
  } catch (...) {
    heap_.Abort();  // so that the next run clears all again
    throw;
  }
  std::fill(epochs_.begin(), epochs_.end(), Epoch{});
  heap_.device(0).MakeCurrent();
  return true;
}

}  // namespace chatty::fused
