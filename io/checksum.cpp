#include "chatty/io/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "chatty/core/config.h"
#include "chatty/core/parallel.h"

namespace chatty::io {

std::uint32_t PieceChecksum(const void* data, std::size_t bytes) {
#if CHATTY_WITH_LIBDEFLATE
  return PieceChecksumLibdeflate(data, bytes);
#else
  return static_cast<std::uint32_t>(crc32_z(crc32(0, nullptr, 0), static_cast<const Bytef*>(data), bytes));
#endif
}

std::uint32_t Checksum(const void* data, std::size_t bytes, int threads,
                       const std::function<void(std::size_t, std::size_t)>& look) {
  constexpr std::size_t kPiece = std::size_t{1} << 19;  // half of a core's private cache
  const auto* begin = static_cast<const std::byte*>(data);
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  std::vector<std::uint32_t> sums(pieces);
  const auto size = [&](std::size_t i) { return std::min(kPiece, bytes - i * kPiece); };
  ParallelChunks(pieces, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      sums[i] = PieceChecksum(begin + i * kPiece, size(i));
      if (look) look(i * kPiece, i * kPiece + size(i));
    }
  });
  uLong sum = crc32(0, nullptr, 0);
  for (std::size_t i = 0; i < pieces; ++i) sum = crc32_combine(sum, sums[i], static_cast<z_off_t>(size(i)));
  return static_cast<std::uint32_t>(sum);
}

}  // namespace chatty::io
