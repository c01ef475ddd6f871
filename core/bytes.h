/// \file
/// Formats and parses amounts of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chatty {

std::string FormatBytes(std::uint64_t bytes);  ///< "512 bytes", "12.3 MiB": three digits, powers of 1024

/// The exact amount and a rounded one, for error texts: "1,289,748 bytes (1.23 MiB)".
std::string ExactBytes(std::uint64_t bytes);

/// Parses "4096", "500M", "1.5GiB" or "2 GB", in either case. K, M, G, T, KiB, MiB, GiB and TiB are powers of 1024. KB, MB,
/// GB and TB are powers of 1000. A bare number and B are bytes. Fractions of a byte are dropped. Returns nothing for any
/// other text, for less than one byte, and for a value of more than 64 bits.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace chatty
