/// \file
/// The tables between the parts of a graph: which owned vertices other parts have in their halos.
#pragma once

#include <span>

#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Fills in `border`, `border_union`, `border_to_union` and `union_to_halo` of all parts of `partition`, whose vertices and
/// halos are known. For all pairs at once: there may be thousands of pairs with several vertices each.
void BuildBorders(std::span<Subgraph> all, const Partition& partition, int threads);

}  // namespace chatty
