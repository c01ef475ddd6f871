/// \file
/// What a step takes: plain pointers into one device's memory. Owners are `DeviceGraph` and, on the host, `Graph`.
#pragma once

#include <cstdint>

#include "chatty/core/prefetch.h"
#include "chatty/core/types.h"

namespace chatty {

/// Row offsets, 32 bits wide where the device's edges allow and 64 otherwise. One predictable test a look-up buys half the
/// bytes and keeps every step a single instantiation.
struct OffsetsRef {
  /// 64-bit offsets, or null.
  const EdgeIndex* wide = nullptr;
  /// 32-bit offsets; where not null, these count.
  const std::uint32_t* narrow = nullptr;

  /// Whether there are any.
  CHATTY_FN bool there() const { return narrow != nullptr || wide != nullptr; }
  /// Where row v begins.
  CHATTY_FN EdgeIndex operator[](LocalId v) const { return narrow != nullptr ? narrow[v] : wide[v]; }
  /// Calls that from memory, on hosts.
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

  /// Length of row v.
  CHATTY_FN EdgeIndex degree(LocalId v) const { return offsets[v + 1] - offsets[v]; }
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

/// One device's part of a graph. Local ids below `owned` are its own, the rest up to `local` its halo.
struct GraphRef {
  VertexId vertices = 0;  ///< of the whole graph
  bool symmetric = true;  ///< every edge has its reverse
  /// How many vertices the device owns, and how many it knows with the halo.
  LocalId owned = 0, local = 0;
  AdjacencyRef forward;                    ///< edges along which owned vertices send
  AdjacencyRef reverse;                    ///< edges along which owned vertices are sent to
  const VertexId* global_ids = nullptr;    ///< null where local and global ids agree
  const EdgeIndex* out_degrees = nullptr;  ///< owned entries, whole-graph degrees
  /// Likewise.
  const EdgeIndex* in_degrees = nullptr;
  /// @{
  /// This device's place among all.
  std::uint32_t part = 0, parts = 1;
  /// @}
  const LocalId* halo_begin = nullptr;  ///< parts + 1 entries: who owns which stretch of the halo
  /// @{
  /// Where parts are ranges of ids, owned vertices' follow `first_id`, and of the halo's those before `lesser_end` are less,
  /// others greater.
  bool ranges = false;
  VertexId first_id = 0;
  LocalId lesser_end = 0;
  /// @}
  /// Where parts are ranges and the graph is symmetric: an entry a row, where in `forward.neighbours` it has come past what
  /// is less than every owned vertex, so that its owned neighbours begin, or others, or the next row. Null elsewhere, and
  /// where the halo has such vertices and the program does not ask (kOwnBegins).
  OffsetsRef own_begins;

  /// The id in the whole graph of local vertex v.
  CHATTY_FN VertexId Global(LocalId v) const {
    if (global_ids == nullptr) return VertexId{v};
    return ranges && v < owned ? first_id + v : global_ids[v];  // saves a look-up, at random where v is a neighbour
  }
  /// Whether halo vertex h's id in the whole graph is less than owned vertex v's.
  CHATTY_FN bool HaloBelow(LocalId h, LocalId v) const { return ranges ? h < lesser_end : Global(h) < Global(v); }
  /// The part that owns halo vertex h. Parts are few: a walk over the bounds beats a table look-up.
  CHATTY_FN std::uint32_t HaloOwner(LocalId h) const {
    std::uint32_t p = 0;
    while (halo_begin[p + 1] <= h) ++p;
    return p;
  }
};

}  // namespace chatty
