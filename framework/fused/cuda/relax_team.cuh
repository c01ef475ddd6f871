/// \file
/// Label correcting in resident kernels of several GPUs, each of which has a part of the graph: see fused/team.h. Within a
/// GPU, the items, lists and warps are those of relax.cuh, but steps have no barrier.
///
/// A warp without items flushes its lists and marks itself idle in its block. The last one counts the block as idle on its
/// GPU. The first warp of an idle block then polls: the rings of other GPUs, and the next step. The other warps wait for
/// its donations, as in relax.cuh. The first block of a GPU also polls for the leader's order, and that of the first
/// GPU is the leader.
#pragma once

#include "chatty/framework/fused/cuda/frontier.cuh"
#include "chatty/framework/fused/cuda/relax.cuh"

namespace chatty::fused::cuda {

/// The kernel's input.
template <class P>
struct TeamRelaxRef : RelaxRef<P> {
  TeamRef team;
  TeamStep* begun = nullptr;  ///< in this GPU's memory
  std::uint64_t few = 0;      ///< of all devices: see Windows
  bool waits = false;         ///< the frontier has no room in a list: its vertices wait for windows of priorities
  bool full = false;          ///< as `waits`, without a Priority: the run ends at once
};

namespace detail {

/// What the warps of a block share.
template <bool kOrders>
struct TeamBlock {
  unsigned step;            ///< that the block is in, or the next one, whose order has come; atomics alone touch it
  StepOrder order;          ///< of that step
  unsigned long long done;  ///< StepCounts::done of idle warps
};

/// One warp's part in the kernel. All lanes call every function.
template <class P>
class TeamWorker : public RelaxWorker<P, Rows::kEither, Messages<P>> {
  using Base = RelaxWorker<P, Rows::kEither, Messages<P>>;
  static constexpr unsigned kAll = (1u << kWarps) - 1;

 public:
  using Base::kOrders;
  using typename Base::Entry;

  /// `leader`: of the first warp of the first GPU; else null.
  __device__ TeamWorker(const TeamRelaxRef<P>& a, unsigned char* shared, IdleWarps* idle, TeamBlock<kOrders>* block,
                        StepLeader<kOrders>* leader)
      : Base(a, shared, idle, Messages<P>(a.team, a.begun, a.s)), team_ref_(a), block_(block), leader_(leader) {}

  /// Takes items of two lists, of other warps and of other GPUs, and what comes of them. Returns when the step has ended
  /// everywhere and the next one's order is in the block.
  __device__ __forceinline__ void WorkStep(const ItemSlice<Entry>& near, const ItemSlice<Entry>& far) {
    ItemSlice<Entry> items = near, later = far;
    while (true) {  // one call of each: the worker's members stay in registers only where all its functions are inlined
      this->Drain(items);
      items = later;
      later.count = 0;
      if (items.count != 0) continue;
      Rest();
      if (!AwaitItems(&items)) return;
    }
  }

  /// Waits for items, all warps of the block being idle or on their way to it. Returns false once the step has ended. Items
  /// may be in the local queue as well.
  __device__ __forceinline__ bool AwaitItems(ItemSlice<Entry>* items) {
    *items = {};
    for (unsigned tries = 1;; ++tries) {
      unsigned donated = 0;
      bool over = false, polls = false;
      if (Lane() == 0) {
        donated = atomicExch(&this->idle_->donations[Warp()], 0u);
        over = atomicOr(&block_->step, 0u) != static_cast<unsigned>(this->protocol_step_);
        polls = Warp() == 0 && atomicOr(&this->idle_->mask, 0u) == kAll;
      }
      donated = __shfl_sync(kFull, donated, 0);
      if (donated != 0) {
        __threadfence();
        __syncwarp();  // what lane 0 has acquired is there for all
        *items = {this->DonationsTo(Warp()), donated};
        return true;
      }
      if (__shfl_sync(kFull, over, 0)) return false;
      if (!__shfl_sync(kFull, polls, 0)) {
        if (Warp() != 0) __nanosleep(40);
        continue;
      }
      if (this->TakeMessages(/*follow=*/true, /*was_idle=*/true)) {
        if (Lane() == 0) atomicAnd(&this->idle_->mask, ~1u);
        __syncwarp();
        return true;
      }
      if (blockIdx.x == 0) Lead();
      if (Lane() == 0) FollowOrder(tries);
      __syncwarp();
    }
  }

  /// A step that only takes a window into the far list.
  __device__ __forceinline__ void TakeWindow(const StepOrder& order) {
    const TakenWindow taken = TakeWindowOf<P>(team_ref_, order.width, order.limit, this->far_list_,
                                              team_ref_.team.heap.Own(team_ref_.team.windows));
    if (Lane() == 0 && taken.count != 0) atomicAdd(&this->counts_->far, taken.count);
    steps::cuda::MaxFromWarp(reinterpret_cast<std::uint64_t*>(&this->counts_->far_first), taken.first);
    __syncwarp();  // all lanes' items are there before the warp rests
  }

 private:
  /// The warp has no items. What it has done is counted before the block is idle.
  __device__ void Rest() {
    this->Flush();
    const unsigned long long done = this->StepDone();
    if (Lane() == 0) {
      if (done != 0) atomicAdd(&block_->done, done);
      __threadfence_block();  // the last warp releases what all have done
      const unsigned bit = 1u << Warp();
      if ((atomicOr(&this->idle_->mask, bit) | bit) == kAll) {
        __threadfence_block();
        const unsigned long long all = atomicExch(&block_->done, 0ull);
        if (all != 0) atomicAdd(&this->counts_->done, all);
        team_ref_.team.BecomeIdle();
      }
    }
    __syncwarp();
  }

  /// The GPU's first warp: decides for all if it leads, and lets this GPU begin the step whose order has come.
  __device__ void Lead() {
    LeadSteps(team_ref_.team, this->protocol_step_, leader_, team_ref_.host, team_ref_.begun, gridDim.x,
              [&](const StepOrder& order) {
                if (!order.takes_far) return;
                team_ref_.totals->far[this->far_list_ ^ 1] = 0;  // the list that was read the last time
                team_ref_.totals->far_first[this->far_list_ ^ 1] = 0;
              });
  }

  /// One lane: lets the block begin the next step, if the GPU has.
  __device__ void FollowOrder(unsigned tries) {
    const std::uint64_t step = this->protocol_step_;
    if (HasBegun(team_ref_.begun, step + 1)) {
      block_->order = team_ref_.begun->order;
    } else if (IsAborted(team_ref_.team, team_ref_.begun,
                         /*reads_host=*/blockIdx.x == 0 && tries % symmetric::kTurnsPerAbortCheck == 0)) {
      block_->order = StepOrder{.ends = true, .end = End::kStopped};
    } else {
      return;
    }
    __threadfence_block();
    atomicExch(&block_->step, static_cast<unsigned>(step + 1));
  }

  const TeamRelaxRef<P>& team_ref_;
  TeamBlock<kOrders>* const block_;
  StepLeader<kOrders>* const leader_;
};

}  // namespace detail

/// The kernel: as many blocks on each GPU as are resident at once. It is compiled once for all rows.
template <class P>
__global__ void __launch_bounds__(kThreads, 1) RelaxTogether(const __grid_constant__ TeamRelaxRef<P> a) {
  constexpr bool kOrders = Traits<P>::kOrders;
  using Leader = StepLeader<kOrders>;
  constexpr WidthRule kWidths{.few = 100, .many = 220, .halve_above = 5.0 / 8, .narrow_above = 3.0 / 8};
  extern __shared__ uint4 shared[];
  __shared__ detail::IdleWarps idle;
  __shared__ detail::TeamBlock<kOrders> block;
  __shared__ alignas(Leader) unsigned char leader_memory[sizeof(Leader)];
  auto* const leader = reinterpret_cast<Leader*>(leader_memory);
  const unsigned warps = gridDim.x * kWarps, warp = Warp() * gridDim.x + blockIdx.x;  // neighbours' slices on other SMs
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  StepCounts* const counts = a.team.heap.Own(a.team.counts);
  if (threadIdx.x == 0) {
    block.step = 1;
    block.done = 0;
    idle.mask = 0;
    if (blockIdx.x == 0) {
      new (leader) Leader(kWidths, warps * a.team.heap.size, a.width, a.adapts ? a.min_width : a.width,
                          a.adapts ? a.max_width : a.width, a.few);
    }
  }
  if (threadIdx.x < kWarps) idle.donations[threadIdx.x] = 0;
  if (first_thread) {  // step 1 has the frontier as its only result
    counts[1].near = a.counts[0].near;
    counts[1].far = a.totals->far[0];
    counts[1].far_first = a.totals->far_first[0];
    counts[1].overflow = a.full ? 1 : 0;
    if (a.waits) a.team.heap.Own(a.team.windows)->left = 1;  // some do
    a.team.BeginStep(gridDim.x);
  }
  __syncthreads();
  const bool leads = a.team.IsLeader() && blockIdx.x == 0 && Warp() == 0;
  detail::TeamWorker<P> worker(a, reinterpret_cast<unsigned char*>(shared), &idle, &block, leads ? leader : nullptr);
  std::uint64_t step = 1;
  unsigned far_list = 0;
  StepOrder order;
  detail::ItemSlice<ItemOf<P>> near_slice{}, far_slice{};
  while (true) {
    worker.Begin(counts + step % 3, a.near[(step + 1) & 1], far_list, order.limit, order.width, order.hop_limit,
                 order.mean > (1u << 26) ? ~0u : 16 * order.mean + 1024, step);
    if constexpr (kOrders) {
      if (order.takes_window) worker.TakeWindow(order);
    }
    worker.WorkStep(near_slice, far_slice);
    __syncthreads();
    order = block.order;
    if (order.ends) break;
    const unsigned near = min(static_cast<volatile std::uint32_t&>(counts[step % 3].near), a.capacity);
    step += 1;
    near_slice = SliceOf(a.near[step & 1], near, warp, warps);
    far_slice = {};
    if constexpr (kOrders) {
      if (order.takes_far) {
        const unsigned far = min(static_cast<volatile std::uint32_t&>(a.totals->far[far_list]), a.capacity);
        far_slice = SliceOf(a.far[far_list], far, warp, warps);
        far_list ^= 1;
      }
    }
    if (threadIdx.x == 0) idle.mask = 0;
    __syncthreads();  // all have read the order
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
    const volatile StepCounts& last = counts[step % 3];
    t.end = order.end;
    t.steps = static_cast<std::uint32_t>(step - 1);
    t.list = static_cast<std::uint32_t>((step + 1) & 1);
    t.far_list = far_list;
    t.near = min(last.near, a.capacity);
    t.far_count = min(static_cast<volatile std::uint32_t&>(t.far[far_list]), a.capacity);
    t.below = last.below;
    t.limit = order.limit;
    t.width = order.width;
  }
}

}  // namespace chatty::fused::cuda
