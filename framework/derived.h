/// \file
/// How one name on the command line covers several programs: variants for different graphs, and programs that follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace chatty {

/// Text as a template argument.
template <std::size_t N>
struct FixedText {
  char text[N];
  constexpr FixedText(const char (&from)[N]) { std::copy_n(from, N, text); }  // NOLINT: implicit by purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// A program that starts from another's values and gives another output, as `--value NAME`. P is constructible from the
/// program it follows, and its Prior is that program's Value.
template <class P, FixedText kName>
struct DerivedProgram {
  using Program = P;
  static constexpr std::string_view kValueName = kName.view();
};

/// A program's `using Derived = DerivedPrograms<DerivedProgram<…>, …>;`.
template <class... D>
using DerivedPrograms = std::tuple<D...>;

/// Base of a name that stands for several programs with the same parameters, chosen by
/// `static std::size_t Choose(const Graph&)`, an index into Ps.
template <class... Ps>
struct ProgramVariants {
  using Variants = std::tuple<Ps...>;
};

}  // namespace chatty
