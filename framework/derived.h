/// \file
/// How one name on the command line covers several programs: variants for different graphs, and programs that follow.
#pragma once

#include <tuple>
#include <type_traits>

namespace chatty {

/// A program's `using Derived = DerivedPrograms<…>;`: programs that start from its values and give another output, as
/// `--value NAME` with their kOutputName. Each is constructible from the program it follows, whose Value is its Prior.
///
/// Such a program may have `using AtOnce = …;`: a program with the same outputs and the parameters of the one that is
/// followed, constructible from that. On a host device that has the whole graph it runs in the place of the two, if it is
/// one whose rounds run in place there.
template <class... Ps>
using DerivedPrograms = std::tuple<std::type_identity<Ps>...>;

/// Base of a name that stands for several programs with the same parameters, chosen by
/// `static std::size_t Choose(const Graph&)`, an index into Ps.
template <class... Ps>
struct ProgramVariants {
  /// The programs, as Choose numbers them.
  using Variants = std::tuple<Ps...>;
};

}  // namespace chatty
