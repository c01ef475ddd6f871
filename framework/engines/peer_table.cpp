#include "chatty/framework/engines/peer_table.h"

namespace chatty {

PeerCounts::PeerCounts(const Subgraph& subgraph) : PeerCounts() {
  border_union = static_cast<LocalId>(subgraph.border_union.size());
  for (PartId q = 0; q <= subgraph.parts; ++q) halo_begin[q] = subgraph.halo_begin[q] - subgraph.owned;
}

}  // namespace chatty
