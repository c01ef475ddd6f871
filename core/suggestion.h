/// \file
/// What somebody meant who wrote a name that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chatty {

/// The one of `names` that `word` is most likely a misspelling of: the fewest letters changed, left out, put in or swapped
/// with their neighbours, whatever their case, and at most one in three; else the only one that begins with three letters
/// or more of `word`. Empty if there is none, or if `word` has more than 64 letters.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> names);

/// " (did you mean 'bfs'?)", to stand behind the unknown name in a message; empty where no name is near. `names` is a range
/// of what converts to std::string_view.
template <class Names>
std::string DidYouMean(std::string_view word, const Names& names) {
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  const std::string_view nearest = NearestName(word, views);
  return nearest.empty() ? std::string() : " (did you mean '" + std::string(nearest) + "'?)";
}

}  // namespace chatty
