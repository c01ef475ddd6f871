/// \file
/// Rings through all devices of a topology: the order in which data should visit the devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/comm/topology.h"

namespace chatty {

/// A cyclic order of all devices; the last one's successor is the first.
struct Ring {
  std::vector<std::size_t> order;  ///< devices by index, beginning with 0
  double bandwidth = 0;            ///< nominal bytes/s of the narrowest hop, in the ring's direction; 0 if not known
  double total = 0;                ///< sum over the hops
  std::size_t narrowest = 0;       ///< the hop, from order[narrowest] to its successor; the first among equals
  /// The end of the hop from order[hop].
  std::size_t Next(std::size_t hop) const { return order[hop + 1 == order.size() ? 0 : hop + 1]; }
  bool operator==(const Ring&) const = default;  ///< all members
};

/// Up to this number of devices FindRings compares all rings; above, it improves good ones.
inline constexpr std::size_t kExactRingDevices = 12;

/// The result of FindRings.
struct Rings {
  /// The bandwidth of each link that could be a hop is known, or there is no choice. Otherwise kAssumedBandwidth replaces
  /// unknown bandwidths, and another ring may be wider than `best`.
  bool known = true;
  /// The ring with the widest narrowest hop; of those the one with the largest sum; of those the one with the most hops by
  /// peer access; of those the lexicographically least.
  Ring best;
  bool exact = true;  ///< all rings were compared; above kExactRingDevices there may be a better one
  /// Rings that can run at the same time, each in both directions, one NVLink a hop and no NVLink in two rings: as NCCL uses
  /// a DGX-1. Their bandwidth is that of one link a hop. The largest such set, unless `disjoint_exact` is false. They leave
  /// out links through an NVSwitch (where one ring can fill all links of a device) and pairs whose count of NVLinks is not
  /// known. Empty for fewer than three devices and more than kExactRingDevices.
  std::vector<Ring> disjoint;
  bool disjoint_exact = true;                     ///< no larger set of disjoint rings exists
  bool operator==(const Rings&) const = default;  ///< all members
};

/// Finds the rings of a topology. A hop between devices without peer access goes through host memory and counts with its
/// bandwidth. A hop of unknown bandwidth counts as in CostModel::Nominal, kAssumedBandwidth. Deterministic. Throws
/// UsageError for a topology with a fault (FindFault).
Rings FindRings(const Topology& topology);

}  // namespace chatty
