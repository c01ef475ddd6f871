/// \file
/// Files of arrays as they lie in memory, with a checksum each: what a cache keeps besides graphs. Internal to io/.
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

/// What a file of arrays begins with.
inline constexpr std::string_view kArrayFileMagic{"CHATTYAR", 8};

/// Writes arrays behind a note, which says what they are. Readers take them only under the same note.
void WriteArrayFile(OutputFile& output, std::string_view note, std::span<const std::span<const std::byte>> arrays);

/// The arrays of a file, views of it where it is mapped, in private pages; none if its note is another. `threads`, of
/// checksums, 0: one a core. Throws InputError for a file that is damaged or no file of arrays, OutOfMemoryError.
std::optional<KeptArrays> ReadArrayFile(Input& input, std::string_view note, int threads);

}  // namespace chatty::io
