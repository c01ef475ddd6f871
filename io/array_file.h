/// \file
/// Files of arrays as in memory, with a checksum each. A cache stores data derived from graphs in them. Internal to io/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"

namespace chatty::io {

/// The first bytes of a file of arrays.
inline constexpr std::string_view kArrayFileMagic{"CHATTYAR", 8};

/// Writes arrays after a note that identifies them. A reader must give the same note.
void WriteArrayFile(OutputFile& output, std::string_view note, std::span<const std::span<const std::byte>> arrays);

/// The arrays of a file: views of private pages if it is mapped. Nothing if its note differs. `threads` compute checksums;
/// 0: one per core. Throws InputError for a damaged file or another format, OutOfMemoryError.
std::optional<KeptArrays> ReadArrayFile(Input& input, std::string_view note, int threads);

}  // namespace chatty::io
