/// \file
/// What subcommands print, and numbers as people read them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace chatty::cli {

void PrintText(std::string_view text);  ///< on standard output; throws CapabilityError if it does not take it
/// What tells of a command's work and is not what was asked for: as PrintText, or where `aside` on standard error, since
/// something else owns standard output. `--quiet` leaves it out.
void PrintReport(std::string_view text, bool aside = false);
void SetQuiet(bool quiet);  ///< of all reports from here on
/// On standard error, as it is, in place of a progress bar. What standard error does not take is lost: there is nowhere
/// left to tell of it, and the exit code still does.
void PrintError(std::string_view text) noexcept;

std::string Grouped(std::uint64_t number);     ///< "1,234,567"
std::string FormatBytes(std::uint64_t bytes);  ///< "12.3 MiB"
/// `text` in green or red if standard output is a terminal.
std::string Coloured(std::string_view text, bool good);
/// The text as it stands in HTML or SVG, in quotes too.
std::string Html(std::string_view text);

/// The number that the whole of `text` is; nothing for any other text.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace chatty::cli
