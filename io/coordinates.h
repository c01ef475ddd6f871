/// \file
/// Where the vertices of a road network lie: the `.co` files of the 9th DIMACS Implementation Challenge.
#pragma once

#include <string>

#include "chatty/core/array.h"

namespace chatty {

/// Positions of vertices, entry v for vertex v, in whatever unit their file has; DIMACS' own are millionths of a degree,
/// longitude as x and latitude as y.
struct Coordinates {
  Array<double> x;  ///< entry v is vertex v's
  Array<double> y;  ///< likewise
};

/// Reads `p aux sp co N` and N lines `v ID X Y`, ids from 1 to N in any order, `c` lines being comments; plain, .gz or .zst,
/// "-" for standard input. Throws InputError, with file and line, unless each vertex has one position, of two finite
/// numbers.
Coordinates ReadCoordinates(const std::string& path, int threads = 0);

}  // namespace chatty
