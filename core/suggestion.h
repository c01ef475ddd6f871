/// \file
/// Suggestions for misspelt names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chatty {

/// The entry of `names` with the fewest letters changed, left out, inserted or swapped with a neighbour in `word`, ignoring
/// case, if there is at most one such edit in three letters. Otherwise the only entry that begins with `word`, if that has
/// three letters or more. Empty if there is none, or if `word` has more than 64 letters.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> names);

/// " (did you mean 'bfs'?)", to append to the unknown name in a message; empty if no name is close. `names` is a range of
/// values that convert to std::string_view.
template <class Names>
std::string DidYouMean(std::string_view word, const Names& names) {
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  const std::string_view nearest = NearestName(word, views);
  return nearest.empty() ? std::string() : " (did you mean '" + std::string(nearest) + "'?)";
}

}  // namespace chatty
