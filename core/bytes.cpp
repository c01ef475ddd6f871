#include "chatty/core/bytes.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

namespace chatty {

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes) / 1024;
  for (; value >= 1024 && unit + 1 < std::size(units); value /= 1024) ++unit;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string ExactBytes(std::uint64_t bytes) {
  std::string digits = fmt::format("{}", bytes);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return bytes < 1024 ? digits + " bytes" : fmt::format("{} bytes ({})", digits, FormatBytes(bytes));
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  double value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest(next, static_cast<std::size_t>(text.data() + text.size() - next));
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  std::string unit;
  for (const char c : rest) unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  double scale = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view kLetters = "KMGT";
    const std::size_t power = kLetters.find(unit.front());
    if (power == std::string_view::npos) return std::nullopt;
    const std::string_view suffix = std::string_view(unit).substr(1);
    if (!suffix.empty() && suffix != "B" && suffix != "IB") return std::nullopt;
    scale = std::pow(suffix == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = value * scale;
  if (!(bytes >= 1) || bytes >= 0x1p64) return std::nullopt;  // the negated form also rejects NaN
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace chatty
