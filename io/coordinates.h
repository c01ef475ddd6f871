/// \file
/// Positions of a road network's vertices: the `.co` files of the 9th DIMACS Implementation Challenge.
#pragma once

#include <string>

#include "chatty/core/array.h"

namespace chatty {

/// Positions of vertices, entry v for vertex v, in the file's unit. DIMACS files have millionths of a degree, with longitude
/// as x and latitude as y.
struct Coordinates {
  Array<double> x;  ///< entry v is vertex v's x
  Array<double> y;  ///< entry v is vertex v's y
};

/// Reads `p aux sp co N` and N lines `v ID X Y`, with ids 1 to N in any order and `c` lines as comments; plain, .gz or .zst;
/// "-" for standard input. Throws InputError with file and line unless each vertex has exactly one position of two finite
/// numbers.
Coordinates ReadCoordinates(const std::string& path, int threads = 0);

}  // namespace chatty
