/// \file
/// The frontier in its two forms, a queue and a bitmap: from one to the other, and cleared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/framework/steps/host/group.h"

namespace chatty::steps::host {

template <class P>
void QueueToBitmap(Group& group, const StateRef<P>& s, std::size_t count) {
  group.Sweep(count, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) bits::Set<true>(s.active, s.frontier[i]);
  });
}

template <class P>
void BitmapToQueue(Group& group, const StateRef<P>& s) {
  detail::Appender<LocalId> next(s.next, &s.control->next_count, group.size() > 1);
  group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
      for (std::uint32_t word = s.active[w] & bits::Mask(w, end); word != 0; word &= word - 1) {
        next.Push(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(word))));
      }
    }
  });
}

template <class P>
void ClearActive(Group& group, const StateRef<P>& s, bool halo_only) {
  const LocalId first = halo_only ? s.graph.owned : 0;
  const std::size_t base = first / 32;
  group.Sweep(bits::Words(s.graph.local) - base, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = base + begin; w < base + end; ++w) s.active[w] = w == base ? s.active[w] & bits::Mask(w, first) : 0;
  });
}

}  // namespace chatty::steps::host
