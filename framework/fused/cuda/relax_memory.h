/// \file
/// The memory of a fused run on a GPU, besides the program's state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "chatty/core/bitmap.h"
#include "chatty/framework/fused/cuda/row_records.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/fused/team.h"

namespace chatty::fused::cuda {

/// Items of each list, if `asked` is 0. A frontier with more is wide, and rounds suit it better.
inline std::uint32_t ListItems(std::uint64_t owned, std::uint32_t asked) {
  constexpr std::uint64_t kMin = 1u << 12, kMax = 1u << 22;
  return asked != 0 ? asked : static_cast<std::uint32_t>(std::clamp(owned, kMin, kMax));
}
/// Items with long rows, of one step.
inline constexpr std::uint32_t kHubItems = 1u << 14;
/// Steps of a run that a trace shows.
inline constexpr std::uint32_t kTraceSteps = 1u << 13;
/// Items that a warp donates to an idle one at once, and the room for donations to all warps of a block.
inline constexpr unsigned kDonation = 64, kDonationsOfBlock = 8 * kDonation;

/// Bytes on a part; none for programs that have no such runs.
template <class P>
std::uint64_t RelaxBytes(const PartShape& part, RowOptions rows) {
  const bool fuses = part.parts > 1 ? rows.together && kRelaxesTogether<P> : rows.fuses;
  if (!kRelaxes<P> || !fuses || !part.forward.built) return 0;
  constexpr std::uint64_t kBlocks = 256;  // a multiprocessor each, of some 150
  const std::uint64_t lists = Traits<P>::kOrders ? 4 : 2;
  const std::uint64_t items = lists * ListItems(part.owned, rows.list_items) + kHubItems + kBlocks * kDonationsOfBlock;
  const std::uint64_t records =
      RowRecords::Pay(part, rows.records) ? RowRecords::Bytes(part, !std::is_same_v<WeightOf<P>, None>) : 0;
  return items * sizeof(ItemOf<P>) + records + kTraceSteps * std::size_t{16} + 640;
}

}  // namespace chatty::fused::cuda
