/// \file
/// How a message buffer lists its entries: the key of its costs, of what a calibration measures, and of its layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chatty {

/// How a buffer lists its entries of a numbering. The numbering has `size` places: a pair's subset, a device's whole halo or
/// its border_union.
enum class Encoding : std::uint8_t {
  kSparse,  ///< an index and a payload for each entry
  kBitmap,  ///< a bit for each place of the numbering and the payloads of the set places; without payload: bits alone
  kDense,   ///< a payload for each place of the numbering: all are present; or a block of memory
};
inline constexpr Encoding kAllEncodings[] = {Encoding::kSparse, Encoding::kBitmap, Encoding::kDense};  ///< all of them

/// "sparse", "bitmap" or "dense".
inline std::string_view EncodingName(Encoding encoding) {
  constexpr std::string_view kNames[] = {"sparse", "bitmap", "dense"};
  return kNames[static_cast<int>(encoding)];
}

}  // namespace chatty
