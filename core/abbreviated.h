/// \file
/// Shortens text of unknown length, such as a path, for use in a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chatty {

/// Maximum length in bytes of a text that a message repeats in full, such as a path or an option's value.
inline constexpr std::size_t kMaxRepeated = 100;

/// The text unchanged; if it is longer than kMaxRepeated, without its middle.
std::string Abbreviated(std::string_view text);

}  // namespace chatty
