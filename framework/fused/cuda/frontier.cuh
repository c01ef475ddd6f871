/// \file
/// From the frontier of rounds to the lists of a fused run, and back.
#pragma once

#include "chatty/framework/fused/cuda/relax_ref.cuh"

namespace chatty::fused::cuda {

/// The bits of v's value.
template <class P>
__device__ auto WordAt(const StateRef<P>& s, LocalId v) {
  return atomics::Load(reinterpret_cast<const atomics::Word<sizeof(ValueOf<P>)>*>(s.values + v));
}

/// Makes the first list of a frontier. In the order of hops it is the next list. In the order of a Priority it is the far
/// list, with pending vertices, whose first decides where the limit begins.
template <class P>
__global__ void __launch_bounds__(kThreads)
    TakeFrontier(const __grid_constant__ RelaxRef<P> a, Form form, std::size_t count) {
  constexpr bool kOrders = Traits<P>::kOrders;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  const std::size_t all = form == Form::kQueue && !kOrders ? count : std::size_t{a.s.graph.owned};
  unsigned long long first = 0;
  for (std::size_t base = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / 32 * 32; base < all; base += stride) {
    const std::size_t i = base + Lane();
    LocalId v = 0;
    bool take = false;
    if (i < all) {
      v = form == Form::kQueue && !kOrders ? a.s.frontier[i] : static_cast<LocalId>(i);
      take = form == Form::kQueue && !kOrders ? true : form == Form::kBitmap && bits::Test(a.s.active, v);
      if constexpr (kOrders) take = take || bits::Test(a.s.order.pending, v);
    }
    if (!__any_sync(kFull, take)) continue;
    const ItemOf<P> item = take ? [&]() -> ItemOf<P> {
      if constexpr (kOrders) {
        first = max(first, static_cast<unsigned long long>(PriorityKey(steps::PriorityOf(a.s.program, a.s.values[v]))));
        return {v, WordAt(a.s, v)};
      } else {
        return {v, 0, WordAt(a.s, v)};
      }
    }()
        : ItemOf<P>{};
    if constexpr (kOrders) {
      steps::cuda::Append(a.far[0], &a.totals->far[0], item, take);
    } else {
      steps::cuda::Append(a.near[0], &a.counts[0].near, item, take);
    }
  }
  if constexpr (kOrders) {
    if (form == Form::kQueue) {  // its vertices are in no bitmap
      for (std::size_t base = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / 32 * 32; base < count; base += stride) {
        const bool take = base + Lane() < count;
        const LocalId v = take ? a.s.frontier[base + Lane()] : 0;
        if (take)
          first = max(first, static_cast<unsigned long long>(PriorityKey(steps::PriorityOf(a.s.program, a.s.values[v]))));
        steps::cuda::Append(a.far[0], &a.totals->far[0], take ? ItemOf<P>{v, WordAt(a.s, v)} : ItemOf<P>{}, take);
      }
    }
    steps::cuda::MaxFromWarp(reinterpret_cast<std::uint64_t*>(&a.totals->far_first[0]), first);
  }
}

/// Makes all vertices of a frontier pending ones, which wait for their window.
template <class P>
__global__ void __launch_bounds__(kThreads)
    MakePending(const __grid_constant__ RelaxRef<P> a, Form form, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads, begin = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t words = bits::Words(a.s.graph.owned);
  if (form == Form::kQueue) {
    for (std::size_t i = begin; i < count; i += stride) bits::Set<true>(a.s.order.pending, a.s.frontier[i]);
  } else {
    for (std::size_t w = begin; w < words; w += stride) a.s.order.pending[w] |= a.s.active[w];
  }
}

/// What a warp has taken into the far list.
struct TakenWindow {
  std::uint32_t count = 0;       ///< vertices
  unsigned long long first = 0;  ///< PriorityKey of a lane's first
};
/// Takes pending vertices of a window into far list `list`, as far as there is room: see Windows. All warps of the grid call
/// it.
template <class P>
__device__ TakenWindow TakeWindowOf(const RelaxRef<P>& a, double from, double limit, unsigned list, WindowCounts* counts) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  TakenWindow taken;
  unsigned long long first_left = 0;
  std::uint32_t left = 0, full = 0;
  for (std::size_t base = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / 32 * 32; base < a.s.graph.owned;
       base += stride) {
    const std::uint32_t word = a.s.order.pending[base / 32];
    if (word == 0) continue;
    const auto v = static_cast<LocalId>(base + Lane());
    const bool waits = (word >> Lane() & 1) != 0;
    const auto value = waits ? WordAt(a.s, v) : 0;  // by an atomic load: the kernel may be the one that changes it
    const double priority = waits ? steps::PriorityOf(a.s.program, atomics::BitCast<ValueOf<P>>(value)) : 0;
    const auto key = static_cast<unsigned long long>(PriorityKey(priority));
    bool take = waits && !(priority < from) && steps::GoesNow(priority, limit);
    const unsigned mask = __ballot_sync(kFull, take);
    std::uint32_t at = 0;
    if (Lane() == 0 && mask != 0) at = atomicAdd(&a.totals->far[list], __popc(mask));
    at = __shfl_sync(kFull, at, 0) + __popc(mask & ((1u << Lane()) - 1));
    full += take && at >= a.capacity;
    take = take && at < a.capacity;
    if (take) {
      detail::StoreItem(a.far[list] + at, ItemOf<P>{v, value});
      taken.first = max(taken.first, key);
    }
    taken.count += __popc(__ballot_sync(kFull, take));
    const bool stays = waits && !take && !(priority < from);
    if (stays) {
      ++left;
      first_left = max(first_left, key);
    }
    const unsigned remains = __ballot_sync(kFull, stays);
    if (Lane() == 0 && remains != word) a.s.order.pending[base / 32] = remains;
  }
  left = __reduce_add_sync(kFull, left);
  full = __reduce_add_sync(kFull, full);
  if (Lane() == 0 && left != 0) atomicAdd(&counts->left, left);
  if (Lane() == 0 && full != 0) atomicAdd(&counts->full, full);
  steps::cuda::MaxFromWarp(reinterpret_cast<std::uint64_t*>(&counts->first), first_left);
  steps::cuda::MaxFromWarp(reinterpret_cast<std::uint64_t*>(&a.totals->far_first[list]), taken.first);
  return taken;
}
template <class P>
__global__ void __launch_bounds__(kThreads)
    TakeWindow(const __grid_constant__ RelaxRef<P> a, double from, double limit, WindowCounts* counts) {
  TakeWindowOf(a, from, limit, 0, counts);
}

/// Makes pending vertices active.
template <class P>
__global__ void __launch_bounds__(kThreads) LeavePending(const __grid_constant__ RelaxRef<P> a) {
  const std::size_t words = bits::Words(a.s.graph.owned), stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t w = std::size_t{blockIdx.x} * kThreads + threadIdx.x; w < words; w += stride) {
    a.s.active[w] |= a.s.order.pending[w];
    a.s.order.pending[w] = 0;
  }
}

/// Puts what is left into the frontier's bitmap.
template <class P>
__global__ void __launch_bounds__(kThreads) LeaveFrontier(const __grid_constant__ RelaxRef<P> a) {
  const RelaxTotals& t = *a.totals;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads, begin = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto leave = [&](const ItemOf<P>* list, std::uint32_t count) {
    for (std::size_t i = begin; i < count; i += stride) {
      const ItemOf<P> item = list[i];
      if (WordAt(a.s, item.vertex) == item.value) bits::Set<true>(a.s.active, item.vertex);
    }
  };
  leave(a.near[t.list], t.near);
  if constexpr (Traits<P>::kOrders) leave(a.far[t.far_list], t.far_count);
}

/// Before rounds that keep messages, where earlier ones had bits alone.
template <class P>
__global__ void __launch_bounds__(kThreads) EmptyInboxes(const __grid_constant__ RelaxRef<P> a) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t v = std::size_t{blockIdx.x} * kThreads + threadIdx.x; v < a.s.graph.local; v += stride) {
    Slot<MessageOf<P>> empty{};
    empty.message = IdentityOf<P>();
    a.s.inbox[v] = empty;
  }
}

/// Counts the frontier, and the edges to vertices that Filter accepts, into Control.
template <class P>
__global__ void __launch_bounds__(kThreads) CountFrontier(const __grid_constant__ RelaxRef<P> a) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads, begin = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  unsigned long long vertices = 0, edges = 0, candidates = 0;
  for (std::size_t i = begin; i < a.s.graph.owned; i += stride) {
    const auto v = static_cast<LocalId>(i);
    if (bits::Test(a.s.active, v)) {
      vertices += 1;
      edges += a.s.graph.forward.degree(v);
    }
    if (a.s.graph.reverse.offsets.there() && steps::IsCandidate(a.s, v)) candidates += a.s.graph.reverse.degree(v);
  }
  Control& control = *a.s.control;
  steps::cuda::AddFromBlock(reinterpret_cast<unsigned long long*>(&control.active_vertices), vertices);
  steps::cuda::AddFromBlock(reinterpret_cast<unsigned long long*>(&control.active_edges), edges);
  steps::cuda::AddFromBlock(reinterpret_cast<unsigned long long*>(&control.candidate_edges), candidates);
}

}  // namespace chatty::fused::cuda
