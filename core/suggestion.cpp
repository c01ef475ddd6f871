#include "chatty/core/suggestion.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace chatty {
namespace {

constexpr std::size_t kLongest = 64;  // longest name that is compared: an argument may have any length

/// Number of letters to change, leave out, insert or swap with a neighbour (optimal string alignment, after Damerau, CACM
/// 1964).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongest + 1>, 3>
      rows{};  // rows for the letter before the last, the last, and this one
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto &row = rows[i % 3], &last = rows[(i + 2) % 3], &before = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string_view> names) {
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view nearest, longer;
  std::size_t least = kLongest, longer_ones = 0;
  for (const std::string_view name : names) {
    if (name.empty() || name.size() > kLongest) continue;
    const std::size_t distance = Distance(word, name), longest = std::max(word.size(), name.size());
    if (distance < least && 3 * distance <= std::max<std::size_t>(longest, longest > 1 ? 3 : 0)) {
      least = distance;
      nearest = name;
    }
    if (word.size() >= 3 && name.starts_with(word)) {
      longer = name;
      ++longer_ones;
    }
  }
  return nearest.empty() && longer_ones == 1 ? longer : nearest;
}

}  // namespace chatty
