/// \file
/// A verifier's result.
#pragma once

#include <string>
#include <utility>

#include "chatty/core/error.h"  // fmt, set up for nvcc

namespace chatty {

/// The outcome of checking an answer. A wrong answer is a verdict, not an error: verifiers throw only for invalid requests.
struct [[nodiscard]] Verdict {
  /// Whether the answer is correct.
  bool passed = false;
  std::string message;  ///< the property that was checked, or the first error found, in the file's own ids

  /// Equal to `passed`.
  explicit operator bool() const { return passed; }
};

/// Rules for checking an answer of unknown origin, where the program leaves a choice.
struct AnswerRules {
  double tolerance = 0;       ///< largest relative error of a real value; 0: the program's default
  bool rounds_given = false;  ///< the parameter `rounds` was given, so the answer must be that of exactly so many rounds
};

/// A correct answer. The text states the checked property: "levels: 7 of 9 vertices reached ...".
template <class... Args>
Verdict Passed(fmt::format_string<Args...> text, Args&&... args) {
  return {true, fmt::format(text, std::forward<Args>(args)...)};
}

/// A wrong answer. The text names a vertex or edge that shows it, with the values found there.
template <class... Args>
Verdict Failed(fmt::format_string<Args...> text, Args&&... args) {
  return {false, fmt::format(text, std::forward<Args>(args)...)};
}

}  // namespace chatty
