/// \file
/// Two alternating boxes for each ordered pair of devices, somewhere.
#pragma once

#include <vector>

#include "chatty/comm/transport.h"

namespace chatty {

/// Box is Buffer<std::byte> or Pinned<std::byte>; `place(from, to)` is the device that allocates a pair's boxes.
template <class Box>
class PairBoxes {
 public:
  PairBoxes() = default;
  /// Allocates both boxes of each pair with a capacity, in bytes. Throws OutOfMemoryError.
  template <class Place>
  PairBoxes(const PairBytesTable& capacities, Place&& place) : parts_(capacities.size()), boxes_(2 * parts_ * parts_) {
    for (PartId from = 0; from < parts_; ++from) {
      for (PartId to = 0; to < parts_; ++to) {
        if (from == to || capacities[from][to] == 0) continue;
        Device& device = place(from, to);
        device.MakeCurrent();
        for (std::uint64_t parity = 0; parity < 2; ++parity) At(from, to, parity) = Box(device, capacities[from][to]);
      }
    }
  }
  /// The box of a pair that `epoch` uses: its parity chooses one of the two.
  Box& At(PartId from, PartId to, std::uint64_t epoch) { return boxes_[(from * parts_ + to) * 2 + (epoch & 1)]; }

 private:
  std::size_t parts_ = 0;
  std::vector<Box> boxes_;
};

}  // namespace chatty
