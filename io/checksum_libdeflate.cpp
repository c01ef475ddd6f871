#include <libdeflate.h>

#include "chatty/io/checksum.h"

namespace chatty::io {

std::uint32_t PieceChecksumLibdeflate(const void* data, std::size_t bytes) { return libdeflate_crc32(0, data, bytes); }

}  // namespace chatty::io
