/// \file
/// What a device knows of the other devices' parts: how many vertices each pair of devices shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/types.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// What an exchange moves.
enum class Traffic : std::uint8_t {
  kMessages,  ///< combined, from halo copies to owners
  kShared,    ///< changed, from owners to halos
};

/// One part's counts, which every other device needs: fixed-size bytes, so that devices of other processes can get them by
/// an all-gather.
struct PeerCounts {
  LocalId border_union = 0;             ///< entries of Subgraph::border_union
  LocalId halo_begin[kMaxDevices + 1];  ///< Subgraph::halo_begin, counted from the first halo vertex; 0 behind the last part

  PeerCounts() : halo_begin{} {}
  /// Of this part.
  explicit PeerCounts(const Subgraph& subgraph);
};

/// The counts of all parts. A job makes one table for all devices from their subgraphs. So no device reads another device's
/// subgraph during a run.
class PeerTable {
 public:
  PeerTable() = default;
  /// From each part's counts, in the order of parts.
  explicit PeerTable(std::vector<PeerCounts> counts) : counts_(std::move(counts)) {}
  /// From subgraphs that are all in this process.
  explicit PeerTable(std::span<const Subgraph> subgraphs) : counts_(subgraphs.begin(), subgraphs.end()) {}

  PartId parts() const { return static_cast<PartId>(counts_.size()); }  ///< number of devices
  /// Entries in the numbering of a buffer from one part to another; from a part to itself: of its broadcast.
  std::size_t Entries(Traffic traffic, PartId from, PartId to) const {
    if (traffic == Traffic::kMessages) return from == to ? Halo(from) : HaloOf(from, to);
    return from == to ? counts_[from].border_union : HaloOf(to, from);  // the border is the other's halo
  }
  /// Where the vertices of `owner` begin in the halo of `part`, counted from the first halo vertex. The broadcast of
  /// messages numbers its entries so.
  LocalId HaloBegin(PartId part, PartId owner) const { return counts_[part].halo_begin[owner]; }

 private:
  std::size_t Halo(PartId part) const { return counts_[part].halo_begin[counts_.size()]; }
  std::size_t HaloOf(PartId part, PartId owner) const {
    return counts_[part].halo_begin[owner + 1] - counts_[part].halo_begin[owner];
  }

  std::vector<PeerCounts> counts_;
};

}  // namespace chatty
