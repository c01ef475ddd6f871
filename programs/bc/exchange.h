/// \file
/// What the devices of a search exchange: the numbers of a level's vertices, and claims, which are vertices that a device
/// has reached for their owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/programs/bc/path_numbers.h"
#include "chatty/programs/bc/search.h"

namespace chatty::brandes {

/// The payload for a level: values; ids; with scaled numbers also the exponents.
struct LevelPayload {
  std::byte* bytes;     ///< Size(count) of them
  std::uint64_t count;  ///< vertices

  /// Bytes of a payload.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t count) {
    return count * (sizeof(double) + sizeof(VertexId) + sizeof(std::int32_t));
  }
  /// The numbers.
  template <class Number>
  CHATTY_FN Numbers<Number> numbers() const {
    return {reinterpret_cast<double*>(bytes), reinterpret_cast<std::int32_t*>(ids() + count)};
  }
  /// The ids of their vertices.
  CHATTY_FN VertexId* ids() const { return reinterpret_cast<VertexId*>(bytes + count * sizeof(double)); }
};
/// Packs a level of the order.
template <class Number>
struct PackLevel {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< of the level, in the order
  LevelPayload payload;   ///< the destination
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    payload.ids()[i] = search.graph.Global(search.order[begin + i]);
    payload.numbers<Number>().Set(i, search.at[begin + i]);
  }
};
/// Unpacks another device's level: the numbers of vertices in this device's halo.
template <class Number>
struct TakeLevel {
  Search<Number> search;  ///< the search
  LevelPayload payload;   ///< another device's
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.locals[payload.ids()[i]];
    if (v == kNoLocal) return;
    search.values.Set(v, payload.numbers<Number>()[i]);
    bits::Set<true>(search.seen, v);
  }
};
/// Appends owned vertices that another device reached to the order.
template <class Number>
struct TakeClaim {
  Search<Number> search;  ///< the search
  const VertexId* ids;    ///< the vertices
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.locals[ids[i]];
    if (bits::Set<true>(search.seen, v)) search.order[atomics::Add<true>(&search.tally->reached, std::uint64_t{1})] = v;
  }
};
/// Writes local ids.
struct MapLocal {
  GraphRef graph;   ///< the device's part
  LocalId* locals;  ///< by vertices of the whole graph
  /// Does it for local vertex v.
  CHATTY_FN void operator()(std::size_t v) const { locals[graph.Global(static_cast<LocalId>(v))] = static_cast<LocalId>(v); }
};
/// Sets local ids to none.
struct MapNone {
  LocalId* locals;  ///< by vertices of the whole graph
  /// Does it for vertex v.
  CHATTY_FN void operator()(std::size_t v) const { locals[v] = kNoLocal; }
};
}  // namespace chatty::brandes
