/// \file
/// PageRank with ranks in double, for tolerances beyond the precision of float: `--precision double` on the command line.
#pragma once

#include "chatty/programs/pagerank.h"

namespace chatty {

/// As PageRank, with twice the memory for ranks and shares.
using PageRankDouble = BasicPageRank<double>;

}  // namespace chatty
