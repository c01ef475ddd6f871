/// \file
/// Label correcting in one resident kernel, with soft priority: Groute's fused worker (PPoPP'17) and bucket fusion (Zhang et
/// al., GraphIt, CGO'20), on the persistent kernel of the CPU-Free model.
///
/// The work is a list of items: changed vertices. A step of the kernel takes the items whose priority is below a limit. Each
/// warp takes a slice of the list and follows edges on its own. A target that a message improves becomes an item of the
/// warp's local queue in shared memory, until nothing below the limit is left. What lies beyond goes to the next step's
/// list, or to a list of far items. Then all blocks meet, and the limit rises. An atomic operation decides about each value,
/// and every improvement becomes an item, so answers do not depend on the order. The order decides how much is done twice.
///
/// A program's Priority is the order, if there is one. Otherwise the order is an item's hops: the edges from the frontier
/// with which the engine began. A search by levels then finds tens of levels in one step, and all levels below the limit are
/// right when the step ends.
///
/// Memory order: values change by relaxed atomics. Rows and records are constant. Items of a local queue are of one warp
/// (__syncwarp). Items of lists are written before a grid barrier and read behind it.
#pragma once

#include <cooperative_groups.h>

#include "chatty/framework/fused/cuda/worker.cuh"
#include "chatty/framework/fused/cuda/worker_lists.cuh"
#include "chatty/framework/fused/cuda/worker_rows.cuh"

namespace chatty::fused::cuda {

/// Nanoseconds.
__device__ inline unsigned long long GlobalTimer() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// The kernel: a cooperative launch of blocks that are all resident.
template <class P, Rows kRows>
__global__ void __launch_bounds__(kThreads) Relax(const __grid_constant__ RelaxRef<P> a) {
  constexpr bool kOrders = Traits<P>::kOrders;
  // A step should have some work for each warp, and not much more. In the order of hops little is followed again, and less
  // where steps are no wider than that; with weights more work is worth fewer steps.
  constexpr WidthRule kWidths{.few = kOrders ? 55 : 70,
                              .many = kOrders ? 120 : 220,
                              .halve_above = 5.0 / 8,
                              .narrow_above = 3.0 / 8,
                              .trim_above = kOrders ? 1 : 0.06};
  extern __shared__ uint4 shared[];
  __shared__ unsigned long long block_done;
  __shared__ detail::IdleWarps idle;
  const auto grid = cooperative_groups::this_grid();
  const unsigned warps = gridDim.x * kWarps, warp = Warp() * gridDim.x + blockIdx.x;  // neighbours' slices on other SMs
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  detail::RelaxWorker<P, kRows> worker(a, reinterpret_cast<unsigned char*>(shared), &idle);
  if (threadIdx.x < kWarps) idle.donations[threadIdx.x] = 0;
  double limit = a.limit, width = a.width;
  std::uint32_t hop_limit = 0;
  unsigned far_list = 0, step = 0;
  std::uint32_t near = 0, below = 0, far = 0, mean = 0;
  bool counts_first = false;
  End end = End::kDone;
  for (;; ++step) {
    const volatile StepCounts& in = a.counts[step % 3];
    near = in.near;
    below = in.below;
    const unsigned long long last = in.done;
    const std::uint32_t done = static_cast<std::uint32_t>(last), first = static_cast<std::uint32_t>(last >> 32);
    if (first_thread && a.trace != nullptr && step != 0 && step <= kTraceSteps) {
      a.trace[step - 1] = {GlobalTimer(), done, static_cast<float>(width)};
    }
    if constexpr (kOrders) far = min(static_cast<volatile std::uint32_t&>(a.totals->far[far_list]), a.capacity);
    if (in.overflow != 0) {
      end = End::kOverflow;
      break;
    }
    if (near == 0 && far == 0) break;
    if (in.stop != 0) {
      end = End::kStopped;
      break;
    }
    if (below == 0 && step > 0 && a.wide != ~0u && near + far > 0 &&
        static_cast<double>(done) > a.wide * (kOrders ? 1.0 : width)) {
      end = End::kWide;
      break;
    }
    counts_first = counts_first || first != 0;
    if (a.adapts && done != 0 && below == 0)
      width = kWidths.Next(width, done, first, counts_first, warps, a.min_width, a.max_width);
    // The limit rises over what is left. Far items that it passes are taken with the near ones: if they waited until nothing
    // is near, all that follows from the near ones would be followed again.
    // All threads decide the same, although blocks that are ahead may append to the list meanwhile. What they append lies
    // beyond the next limit, and a length without a first yet has a NaN for its priority.
    bool take_far = false;
    if constexpr (kOrders) {
      const double first_far = far == 0
                                   ? kInfinity<double>
                                   : PriorityOfKey(static_cast<volatile unsigned long long&>(a.totals->far_first[far_list]));
      if (near == 0) {
        limit = max(max(limit, first_far) + width, nextafter(first_far, kInfinity<double>));
      } else if (below == 0) {
        limit += width;
      }
      take_far = near == 0 || first_far < limit;
    } else if (below == 0) {
      const auto hops = static_cast<std::uint32_t>(max(width, 1.0));
      hop_limit = hop_limit > ~hops ? ~0u : hop_limit + hops;
    }
    const detail::ItemSlice<ItemOf<P>> near_slice = SliceOf(a.near[step & 1], near, warp, warps);
    detail::ItemSlice<ItemOf<P>> far_slice{};
    if (take_far) {
      far_slice = SliceOf(a.far[far_list], far, warp, warps);
      grid.sync();  // all have read the list's length
      if (first_thread) {
        a.totals->far[far_list] = 0;
        a.totals->far_first[far_list] = 0;
      }
      far_list ^= 1;
    }
    StepCounts& out = a.counts[(step + 1) % 3];
    std::uint32_t stop = 0;
    if (first_thread) {
      a.counts[(step + 2) % 3] = StepCounts{};
      stop = a.host[0];  // arrives while this block works
      a.host[1] = step + 1;
    }
    if (threadIdx.x == 0) {
      block_done = 0;
      idle.mask = 0;
    }
    __syncthreads();
    // The blocks meet when a warp does far more than the mean, so that others can help.
    worker.Begin(&out, a.near[(step + 1) & 1], far_list, limit, width, hop_limit, 16 * mean + 1024);
    worker.Work(near_slice, far_slice);
    worker.Flush();
    if (a.s.graph.forward.max_degree >= kHub) {
      grid.sync();
      const std::uint32_t hubs = min(static_cast<volatile std::uint32_t&>(out.hubs), a.hub_capacity);
      if (hubs != 0) {
        worker.WorkOnHubs(hubs, warp, warps);
        worker.Flush();
      }
    }
    const unsigned long long warp_done = worker.StepDone();
    if (Lane() == 0 && warp_done != 0) atomicAdd(&block_done, warp_done);
    __syncthreads();
    if (threadIdx.x == 0 && block_done != 0) atomicAdd(&out.done, block_done);
    if (first_thread && stop != 0) out.stop = 1;
    grid.sync();
    mean = static_cast<std::uint32_t>(static_cast<volatile const unsigned long long&>(out.done)) / warps;
  }
  const unsigned hops = __reduce_max_sync(kFull, worker.hops);
  unsigned long long sums[3] = {worker.done(), worker.improved, worker.edges};
  for (unsigned long long& sum : sums) {
    for (unsigned d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
  }
  if (Lane() == 0) {
    atomicMax(&a.totals->hops, hops);
    atomicAdd(&a.totals->done, sums[0]);
    atomicAdd(&a.totals->improved, sums[1]);
    atomicAdd(&a.totals->edges, sums[2]);
  }
  if (first_thread) {
    RelaxTotals& t = *a.totals;
    t.end = end;
    t.steps = step;
    t.list = step & 1;
    t.far_list = far_list;
    t.near = min(near, a.capacity);
    t.far_count = min(far, a.capacity);
    t.below = below;
    t.limit = limit;
    t.width = width;
  }
}

}  // namespace chatty::fused::cuda
