/// \file
/// Several programs under one name of the command line: variants for different graphs, and derived programs.
#pragma once

#include <tuple>
#include <type_traits>

namespace chatty {

/// A program's `using Derived = DerivedPrograms<…>;`: programs that start from its values and have another output. The
/// command line selects them with `--value NAME`, the output_name of their kInfo. Each is constructible from the program
/// that it follows, whose Value is its Input.
///
/// A derived program may have `using FusedWith = …;`: a program with the same output as the derived one and the parameters
/// of the program that it follows, from which it is constructible. It replaces both on a single host device, if its rounds
/// run in place there. It is a type and no hint, because a search for parents has other values and messages than one for
/// levels.
template <class... Ps>
using DerivedPrograms = std::tuple<std::type_identity<Ps>...>;

/// Base of a name with several programs of equal parameters; `static std::size_t Choose(const Graph&)` returns the index in
/// Ps.
template <class... Ps>
struct ProgramVariants {
  /// The programs, in the order of Choose's indices.
  using Variants = std::tuple<Ps...>;
};

}  // namespace chatty
