#include "chatty/comm/pairwise_broadcasts.h"

#include <algorithm>
#include <array>

namespace chatty {

PairBytesTable PairwiseBroadcasts::CapacitiesFor(PairBytesTable capacities, std::span<const std::size_t> broadcast) {
  for (std::size_t from = 0; from < broadcast.size(); ++from) {
    for (std::size_t to = 0; to < capacities[from].size(); ++to) {
      if (to != from) capacities[from][to] = std::max(capacities[from][to], broadcast[from]);
    }
  }
  return capacities;
}

void PairwiseBroadcasts::BeginCollective(PartId at, std::span<const std::size_t> incoming,
                                         std::span<const std::size_t> broadcast, std::uint64_t epoch) {
  std::array<std::size_t, kMaxDevices> counts{};
  for (PartId from = 0; from < devices_.size(); ++from) {
    if (from < incoming.size()) counts[from] = incoming[from];
    if (from == at || from >= broadcast.size() || inner_->IsZeroCopyReceive(from, at)) continue;
    counts[from] += broadcast[from];  // one of the two is 0
  }
  inner_->BeginCollective(at, std::span(counts).first(devices_.size()), {}, epoch);
}

std::byte* PairwiseBroadcasts::BroadcastOutbox(PartId from, std::uint64_t epoch) {
  return inner_->Outbox(from, FirstReceiver(from), epoch);
}

void PairwiseBroadcasts::Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) {
  const PartId first = FirstReceiver(from);
  const std::byte* const packed = inner_->Outbox(from, first, epoch);
  Device& device = *devices_[from];
  for (PartId to = 0; to < devices_.size() && bytes > 0; ++to) {
    if (to != from && to != first) device.CopyWithin(inner_->Outbox(from, to, epoch), packed, bytes, device.stream());
  }
  for (PartId to = 0; to < devices_.size(); ++to) {  // after the copies: the first receiver's buffer may move by then
    if (to != from) inner_->Post(from, to, bytes, epoch);
  }
}

}  // namespace chatty
