/// \file
/// CRC-32 of large arrays, the checksum of gzip. Internal to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace chatty::io {

/// CRC-32 of `bytes` bytes at `data`, in pieces that `threads` threads (0: one per core) take in turn. If `look` is given,
/// look(begin, end) is called with the byte range of each piece while the piece is in the cache.
std::uint32_t Checksum(const void* data, std::size_t bytes, int threads,
                       const std::function<void(std::size_t, std::size_t)>& look = nullptr);

/// @{
/// CRC-32 on one thread. libdeflate's version uses the processor's carry-less multiplication and takes a third of zlib's
/// time.
std::uint32_t PieceChecksum(const void* data, std::size_t bytes);
std::uint32_t PieceChecksumLibdeflate(const void* data, std::size_t bytes);
/// @}

}  // namespace chatty::io
