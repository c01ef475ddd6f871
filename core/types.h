/// \file
/// Ids, the empty type and infinity: the words that every other header speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "chatty/core/macros.h"

namespace chatty {

#ifndef CHATTY_ANY_WIDTH
/// A vertex of the whole graph, 0 to vertices-1. Files may number from 1; `Graph::first_id` remembers that.
#if CHATTY_VERTEX_BITS == 64
using VertexId = std::uint64_t;
#else
using VertexId = std::uint32_t;
#endif

inline constexpr VertexId kNoVertex = std::numeric_limits<VertexId>::max();  ///< no such vertex; also "has no parent"
#endif

/// A vertex as one device numbers it: first those that it owns, then the halo. Always 32 bits: a device with more is
/// refused.
using LocalId = std::uint32_t;

/// Counts and positions of edges. Never 32 bits in anything that holds a whole graph.
using EdgeIndex = std::uint64_t;

/// A part of a partition, which is also the index of the device that works on it.
using PartId = std::uint32_t;

/// The largest number of devices in one run. Pair tables in kernel parameters have this many entries.
inline constexpr int kMaxDevices = 64;

inline constexpr LocalId kNoLocal = std::numeric_limits<LocalId>::max();  ///< not present on this device

/// The empty type: an absent weight or global aggregate.
struct None {
  /// All are equal.
  friend constexpr bool operator==(None, None) { return true; }
};

/// The value of "unreached" for distances of type T: infinity for floating point, the largest value for integers.
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                                    : std::numeric_limits<T>::max();

/// What an edge carries in memory and in files.
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
