/// \file
/// Vertex and edge ids, the empty type and infinity, directions of edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "chatty/core/macros.h"

namespace chatty {

#ifndef CHATTY_ANY_WIDTH
/// A vertex of the whole graph, 0 to vertices - 1. Files may number from 1; see `Graph::first_id`.
#if CHATTY_VERTEX_BITS == 64
using VertexId = std::uint64_t;
#else
using VertexId = std::uint32_t;
#endif

inline constexpr VertexId kNoVertex = std::numeric_limits<VertexId>::max();  ///< no such vertex; also "has no parent"
#endif

/// A vertex in one device's numbering: owned vertices first, then the halo. Always 32 bits: a device with more vertices is
/// refused.
using LocalId = std::uint32_t;

/// Counts and positions of edges. Always 64 bits, because a whole graph may have more than 2^32 edges.
using EdgeIndex = std::uint64_t;

/// A part of a partition. It is also the index of the device that owns it.
using PartId = std::uint32_t;

/// Maximum number of devices of a run. Tables in kernel parameters have this size.
inline constexpr int kMaxDevices = 64;

inline constexpr LocalId kNoLocal = std::numeric_limits<LocalId>::max();  ///< not present on this device

/// The empty type: an absent weight or global aggregate.
struct None {
  /// All objects are equal.
  friend constexpr bool operator==(None, None) { return true; }
};

/// The distance of an unreached vertex in type T: infinity for floating point, the maximum for integers.
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                                    : std::numeric_limits<T>::max();

/// The edges along which a program sends. For kBoth an edge carries a message in both directions. On a directed graph the
/// two adjacencies are concatenated, so a pair of opposite edges counts twice.
enum class Edges : std::uint8_t { kOut, kIn, kBoth };

/// The kind of edge weights in memory and in files.
enum class WeightKind : std::uint8_t { kNone, kInt32, kFloat32 };

/// The WeightKind that stores a program's Weight type.
template <class W>
constexpr WeightKind WeightKindOf() {
  if constexpr (std::is_same_v<W, None>) {
    return WeightKind::kNone;
  } else if constexpr (std::is_same_v<W, float>) {
    return WeightKind::kFloat32;
  } else {
    static_assert(std::is_same_v<W, std::int32_t>, "a program's Weight is chatty::None, std::int32_t or float");
    return WeightKind::kInt32;
  }
}

}  // namespace chatty
