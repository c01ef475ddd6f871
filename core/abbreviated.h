/// \file
/// How much of somebody's text a message repeats.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chatty {

/// The most bytes of somebody's text, say of a path or an option's value, that a message repeats.
inline constexpr std::size_t kMaxRepeated = 100;

/// Somebody's text for a message: as it is, or without its middle where it is longer than kMaxRepeated.
std::string Abbreviated(std::string_view text);

}  // namespace chatty
