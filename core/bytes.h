/// \file
/// Amounts of memory as people read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chatty {

std::string FormatBytes(std::uint64_t bytes);  ///< "512 bytes", "12.3 MiB": three digits, powers of 1024

/// The amount in words for errors, exact and readable: "1,289,748 bytes (1.23 MiB)".
std::string ExactBytes(std::uint64_t bytes);

/// Parses "4096", "500M", "1.5GiB", "2 GB", in either case. K, M, G and T, and KiB, MiB, GiB and TiB, are powers of 1024;
/// KB, MB, GB and TB powers of 1000; a bare number and B are bytes. Fractions of a byte are dropped. Nothing for other text,
/// zero, or what does not fit 64 bits.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace chatty
