/// \file
/// PageRank with ranks in double, for tolerances that float cannot keep: `--precision double` on the command line.
#pragma once

#include "chatty/programs/pagerank.h"

namespace chatty {

/// As PageRank, in twice the memory for ranks and what vertices share.
using PageRankDouble = BasicPageRank<double>;

}  // namespace chatty
