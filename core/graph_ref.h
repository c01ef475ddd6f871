/// \file
/// The graph as steps receive it: plain pointers into one device's memory. The owners are `DeviceGraph` and, on the host,
/// `Graph`.
#pragma once

#include <cstdint>

#include "chatty/core/prefetch.h"
#include "chatty/core/types.h"

namespace chatty {

/// Row offsets: 32 bits wide if the device's number of edges allows it, otherwise 64. The test on each access is
/// predictable, halves the bytes read, and avoids a second instantiation of every step.
struct OffsetsRef {
  /// 64-bit offsets, or null.
  const EdgeIndex* wide = nullptr;
  /// 32-bit offsets; if not null, they are used.
  const std::uint32_t* narrow = nullptr;

  /// Whether there are offsets.
  CHATTY_FN bool there() const { return narrow != nullptr || wide != nullptr; }
  /// The index of row v's first edge.
  CHATTY_FN EdgeIndex operator[](LocalId v) const { return narrow != nullptr ? narrow[v] : wide[v]; }
  /// Prefetches offset v into the cache, on hosts.
  void Prefetch(LocalId v) const {
    chatty::Prefetch(narrow != nullptr ? static_cast<const void*>(narrow + v) : static_cast<const void*>(wide + v));
  }
};

/// CSR rows of a device's owned vertices. Neighbours are local ids.
struct AdjacencyRef {
  /// Row v is neighbours[offsets[v] .. offsets[v+1]).
  OffsetsRef offsets;
  /// Local ids, owned or halo.
  const LocalId* neighbours = nullptr;
  const void* weights = nullptr;  ///< int32 or float, as the program's Weight; null for None
  /// The longest row.
  EdgeIndex max_degree = 0;

  /// Length of row v. In every inner loop: a call would take longer than the subtraction.
  [[gnu::always_inline]] CHATTY_FN EdgeIndex degree(LocalId v) const { return offsets[v + 1] - offsets[v]; }
  /// Edge e's weight; W is the program's Weight, and None gives None.
  template <class W>
  CHATTY_FN W weight(EdgeIndex e) const {
    if constexpr (std::is_same_v<W, None>) {
      return {};
    } else {
      return static_cast<const W*>(weights)[e];
    }
  }
};

/// One device's part of a graph. Local ids below `owned` are owned vertices; those from `owned` to `local` - 1 are the halo.
struct GraphRef {
  VertexId vertices = 0;  ///< in the whole graph
  bool symmetric = true;  ///< every edge has its reverse
  /// Numbers of owned vertices, and of owned and halo vertices together.
  LocalId owned = 0, local = 0;
  AdjacencyRef forward;                    ///< edges along which owned vertices send
  AdjacencyRef reverse;                    ///< edges along which owned vertices receive
  const VertexId* global_ids = nullptr;    ///< null where local and global ids are equal
  const EdgeIndex* out_degrees = nullptr;  ///< degrees in the whole graph, of owned vertices
  /// In-degrees in the whole graph, of owned vertices.
  const EdgeIndex* in_degrees = nullptr;
  /// @{
  /// This device's part, and the number of parts.
  std::uint32_t part = 0, parts = 1;
  /// @}
  const LocalId* halo_begin = nullptr;  ///< parts + 1 entries: part p owns halo vertices [halo_begin[p], halo_begin[p + 1])
  /// @{
  /// If parts are ranges of ids: the global ids of owned vertices begin at `first_id`. Halo vertices before `lesser_end`
  /// have lower global ids than owned vertices, the others higher ones.
  bool ranges = false;
  VertexId first_id = 0;
  LocalId lesser_end = 0;
  /// @}
  /// For parts that are ranges of ids, in a symmetric graph: for each row, the index in `forward.neighbours` of the first
  /// neighbour that is not less than every owned vertex. Null otherwise, and null if the halo has lesser vertices and the
  /// program does not declare kOwnBegins.
  OffsetsRef own_begins;

  /// Whether forward and reverse rows are the same memory.
  CHATTY_FN bool SameRows() const { return forward.neighbours == reverse.neighbours; }
  /// The global id of local vertex v.
  CHATTY_FN VertexId Global(LocalId v) const {
    if (global_ids == nullptr) return VertexId{v};
    return ranges && v < owned ? first_id + v
                               : global_ids[v];  // avoids a memory access, which is random if v is a neighbour
  }
  /// Whether halo vertex h has a lower global id than owned vertex v.
  CHATTY_FN bool HaloBelow(LocalId h, LocalId v) const { return ranges ? h < lesser_end : Global(h) < Global(v); }
  /// The part that owns halo vertex h. There are few parts: a loop over the bounds is faster than a table with an entry for
  /// each vertex.
  CHATTY_FN std::uint32_t HaloOwner(LocalId h) const {
    std::uint32_t p = 0;
    while (halo_begin[p + 1] <= h) ++p;
    return p;
  }
};

}  // namespace chatty
