/// \file
/// What a verifier says of an answer.
#pragma once

#include <string>
#include <utility>

#include "chatty/core/error.h"  // fmt, set up for nvcc

namespace chatty {

/// The outcome of checking an answer. A wrong answer is a verdict, not an error: verifiers throw only when they are
/// asked something that makes no sense.
struct [[nodiscard]] Verdict {
  /// Whether the answer is right.
  bool passed = false;
  std::string message;  ///< what was checked, or the first thing that is wrong, in the file's own ids

  /// As `passed`.
  explicit operator bool() const { return passed; }
};

/// By which rules an answer of unknown origin is checked, where its program leaves a choice.
struct AnswerRules {
  double tolerance = 0;       ///< how far a real value may be off, relative to the right one; 0: as the program has it
  bool rounds_given = false;  ///< the parameter `rounds` was given: so many rounds are asked for, and no other number
};

/// The answer is right. The text says what was checked: "levels: 7 of 9 vertices reached ...".
template <class... Args>
Verdict Passed(fmt::format_string<Args...> text, Args&&... args) {
  return {true, fmt::format(text, std::forward<Args>(args)...)};
}

/// The answer is wrong. The text names the vertex or edge that shows it, with the values found there.
template <class... Args>
Verdict Failed(fmt::format_string<Args...> text, Args&&... args) {
  return {false, fmt::format(text, std::forward<Args>(args)...)};
}

}  // namespace chatty
