/// \file
/// Neighbours' ids of the whole graph become a part's local ones, on a GPU: the host then copies no edge on the way.
#pragma once

#include "chatty/core/device.h"
#include "chatty/core/types.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Replaces `edges` ids of the whole graph at `neighbours`, in the memory of `device`, a GPU, by local ids of a part that
/// owns the `owned` vertices from `first` on; `words`: its halo, a word for 64 vertices of the graph. Work of the device's
/// stream.
void RenameNeighbours(Device& device, LocalId* neighbours, EdgeIndex edges, VertexId first, LocalId owned,
                      const HaloWord* words);

}  // namespace chatty
