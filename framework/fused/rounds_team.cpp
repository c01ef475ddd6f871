#include "chatty/framework/fused/rounds_team.h"

#include <algorithm>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/error.h"

namespace chatty::fused {
namespace {

/// Words of a counter, of which the first is the count.
constexpr std::size_t kCounterWords = sizeof(symmetric::RingCounter) / sizeof(std::uint64_t);
/// Words of a device's entries of WideSums at one barrier, of which the first is the number of the barrier.
constexpr std::size_t kSumsWords = kWideEntries * kTeamEntryBytes / sizeof(std::uint64_t);

std::size_t ListBytes(std::size_t devices) { return devices * TeamListEntries(devices) * kTeamEntryBytes; }
std::size_t SumsBytes(std::size_t devices) { return 2 * devices * kWideEntries * kTeamEntryBytes; }
std::size_t SharedBytes(std::size_t devices) {
  constexpr std::size_t kArrays = 5;  // each begins a line
  return 2 * devices * sizeof(symmetric::RingCounter) + 3 * devices * sizeof(std::uint64_t) + kArrays * symmetric::kLine +
         SumsBytes(devices) + ListBytes(devices);
}

}  // namespace

std::uint64_t RoundsTeam::Bytes(std::size_t devices) { return SymmetricHeap::BlockBytes(SharedBytes(devices)); }

RoundsTeam::RoundsTeam(std::span<Device* const> devices)
    : heap_(devices, SharedBytes(devices.size())),
      reader_(heap_, 2 * devices.size() * std::max(kCounterWords, kSumsWords)),
      epochs_(devices.size()) {
  ref_.words = heap_.Allocate<symmetric::RingCounter>(2 * size());
  ref_.seen = heap_.Allocate<std::uint64_t>(2 * size());
  ref_.blocks = heap_.Allocate<std::uint64_t>(size());
  ref_.sums = heap_.Allocate<std::byte>(SumsBytes(size()));
  ref_.lists = heap_.Allocate<std::byte>(ListBytes(size()));
  ref_.capacity = TeamListEntries(size());
  ref_.max_edges = TeamRoundEdges(size());
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

// The words of `index` count the blocks that have arrived at barriers: those of each device, by the parity of the barrier,
// and since its kernel began. Two devices at the same barrier have arrived as often, each with all its blocks.
std::string RoundsTeam::DescribeWait(std::size_t index) {
  const std::string me = heap_.device(index).label();
  if (size() == 1) return fmt::format("{} makes these rounds alone", me);
  const std::vector<std::uint64_t> blocks = reader_.Read(ref_.blocks, size(), index);
  const std::vector<std::uint64_t> words = reader_.Read(ref_.words, 2 * size() * kCounterWords, index);
  const std::vector<std::uint64_t> seen = reader_.Read(ref_.seen, 2 * size(), index);
  if (blocks.empty() || words.empty() || seen.empty()) return fmt::format("{} does not answer", me);
  const auto has_begun = [&](std::size_t d) { return blocks[d] >> 32 == epochs_[index].value + 1; };
  const auto arrivals = [&](std::size_t parity, std::size_t d) {  // modulo 256: the upper bits have sums
    const std::size_t at = parity * size() + d;
    return static_cast<std::uint32_t>(words[at * kCounterWords] - seen[at]);
  };
  const auto is_beside = [&](std::size_t d) {
    const auto mine = static_cast<std::uint32_t>(blocks[index]), theirs = static_cast<std::uint32_t>(blocks[d]);
    return ((arrivals(0, d) * mine - arrivals(0, index) * theirs) & 0xff) == 0 &&
           ((arrivals(1, d) * mine - arrivals(1, index) * theirs) & 0xff) == 0;
  };
  if (!has_begun(index)) return fmt::format("the kernel of {} itself has not begun", me);
  std::string late;
  for (const bool begun : {false, true}) {
    for (std::size_t i = 1; i < size(); ++i) {
      const std::size_t d = (index + i) % size();
      if (has_begun(d) != begun || (begun && is_beside(d))) continue;
      late += fmt::format("{}{}", late.empty() ? "" : ", ", heap_.device(d).label());
    }
    if (late.empty()) continue;
    return begun ? fmt::format("{} is at another barrier than {}", me, late)
                 : fmt::format("{} waited for kernels that have not begun: {}", me, late);
  }
  return fmt::format("the kernel of {} is where all others are", me);
}

std::optional<std::uint64_t> RoundsTeam::LastSums(std::size_t from, std::size_t to) {
  const Symmetric<std::uint64_t> words{ref_.sums.offset, ref_.sums.count / sizeof(std::uint64_t)};
  const std::vector<std::uint64_t> read = reader_.Read(words, 2 * size() * kSumsWords, to);
  if (read.empty()) return std::nullopt;
  return std::max(read[from * kSumsWords], read[(size() + from) * kSumsWords]);
}

// A device stores its counters at all others before it waits for theirs.
std::string RoundsTeam::DescribeWideWait(std::size_t index) {
  const std::string me = heap_.device(index).label();
  std::string late;
  bool answers = false, begun = false;
  for (std::size_t i = 1; i < size(); ++i) {
    const std::size_t d = (index + i) % size();
    const std::optional<std::uint64_t> mine = LastSums(index, d), theirs = LastSums(d, index);
    answers = answers || mine;
    begun = begun || (mine && *mine > epochs_[index].value);
    if (mine && theirs && *theirs >= *mine) continue;
    late += fmt::format("{}{}", late.empty() ? "" : ", ", heap_.device(d).label());
  }
  if (!answers) return fmt::format("{} waited at a barrier for {}, which do not answer", me, late);
  if (!begun) return fmt::format("the kernel of {} itself has not reached a barrier", me);
  if (late.empty()) return fmt::format("{} has not reached the barrier of all others", me);
  return fmt::format("{} waited at a barrier for {}", me, late);
}

}  // namespace chatty::fused
