/// \file
/// A round without the type of its program's aggregate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/framework/program.h"

namespace chatty {

/// Round<Global> without its type.
struct RoundState {
  /// @{
  /// As in Round.
  std::uint32_t index = 0, phase = 0;
  VertexId vertices = 0;
  std::uint64_t active = 0;
  bool gauss_seidel = false;
  std::array<double, 5> kept{};
  /// @}
  /// The bytes of Round::global.
  alignas(16) std::byte global[64] = {};

  /// The same with the program's Global.
  template <class G>
  Round<G> As() const {
    Round<G> round;
    round.index = index;
    round.phase = phase;
    round.vertices = vertices;
    round.active = active;
    round.gauss_seidel = gauss_seidel;
    round.kept = kept;
    if constexpr (!std::is_same_v<G, None>) std::memcpy(&round.global, global, sizeof(G));
    return round;
  }
};

}  // namespace chatty
