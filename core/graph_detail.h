/// \file
/// What the sources of Graph share: arcs, weights by type, and their order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "chatty/core/graph.h"

namespace chatty::detail {

inline constexpr std::size_t kGrain = std::size_t{1} << 16;  ///< entries a chunk of streaming work
inline constexpr std::size_t kVertexGrain = 1024;            ///< vertices a chunk where hubs may cluster

/// How many weights there are: 0 without weights.
inline std::size_t WeightCount(const Weights& weights) {
  return std::visit(
      [](const auto& held) -> std::size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return 0;
        } else {
          return held.size();
        }
      },
      weights);
}

/// Calls body(W{}) with the type that `kind` stores: None, std::int32_t or float.
template <class Body>
auto WithWeightType(WeightKind kind, Body&& body) {
  switch (kind) {
    case WeightKind::kInt32:
      return body(std::int32_t{});
    case WeightKind::kFloat32:
      return body(float{});
    case WeightKind::kNone:
      break;
  }
  return body(None{});
}

/// @{
/// A total order on weights. Comparing floats with < would make a NaN break the sort, and -0 and 0 stand in either
/// order.
inline std::int32_t OrderKey(std::int32_t weight) { return weight; }
inline std::int32_t OrderKey(float weight) {
  const auto bits = std::bit_cast<std::int32_t>(weight);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
inline std::int32_t OrderKey(None) { return 0; }
/// @}

/// Entry i of a list's weights, as a float where W is one; nothing for None.
template <class W>
class WeightReader {
 public:
  explicit WeightReader(const Weights& weights) {
    if constexpr (std::is_same_v<W, float>) {
      if (const auto* integers = std::get_if<Array<std::int32_t>>(&weights)) {
        integers_ = integers->data();
        return;
      }
    }
    if constexpr (!std::is_same_v<W, None>) data_ = std::get<Array<W>>(weights).data();
  }
  W operator[](std::size_t i) const {
    if constexpr (std::is_same_v<W, None>) {
      return {};
    } else if constexpr (std::is_same_v<W, float>) {
      return integers_ == nullptr ? data_[i] : static_cast<float>(integers_[i]);
    } else {
      return data_[i];
    }
  }

 private:
  const W* data_ = nullptr;
  const std::int32_t* integers_ = nullptr;
};

/// An edge on its way into rows.
template <class W>
struct Arc {
  VertexId row;
  VertexId neighbour;
  [[no_unique_address]] W weight;
};

/// The order of a row: by neighbour, then by weight.
template <class W>
struct LighterArc {
  bool operator()(const Arc<W>& a, const Arc<W>& b) const {
    if (a.neighbour != b.neighbour) return a.neighbour < b.neighbour;
    return OrderKey(a.weight) < OrderKey(b.weight);
  }
};

}  // namespace chatty::detail
