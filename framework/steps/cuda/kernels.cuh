/// \file
/// A kernel a step, for engines that launch rounds from the host.
#pragma once

#include "chatty/framework/steps/cuda/apply.cuh"
#include "chatty/framework/steps/cuda/frontier.cuh"
#include "chatty/framework/steps/cuda/gather_all.cuh"
#include "chatty/framework/steps/cuda/pack.cuh"
#include "chatty/framework/steps/cuda/pull.cuh"
#include "chatty/framework/steps/cuda/push.cuh"
#include "chatty/framework/steps/cuda/unpack.cuh"

namespace chatty::steps::cuda::kernels {

/// A round's counters in mapped host memory, and which report they are of.
struct Report {
  Control control;
  alignas(64) std::uint32_t ticket;
};

/// Stores the counters where the host waits for them; `clear` empties them for the next round. One block. The fence makes
/// the counters visible to the host before the ticket is.
__device__ inline void StoreReport(Control* control, Report* report, std::uint32_t ticket, bool clear) {
  static_assert(sizeof(Control) % 8 == 0);
  auto* const from = reinterpret_cast<unsigned long long*>(control);
  auto* const to = reinterpret_cast<unsigned long long*>(&report->control);
  for (unsigned i = threadIdx.x; i < sizeof(Control) / 8; i += blockDim.x) {
    to[i] = atomics::Load(from + i);  // where others deliver, they count on
    if (clear) from[i] = 0;
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *const_cast<volatile std::uint32_t*>(&report->ticket) = ticket;
}
template <class P>
__global__ void ReportControl(Control* control, Report* report, std::uint32_t ticket, bool clear) {
  AwaitEarlierKernels();
  StoreReport(control, report, ticket, clear);
}

template <class P>
__global__ void __launch_bounds__(kBlock) Init(StateRef<P> s, const InputOf<P>* prior, RoundOf<P> round,
                                               BlockTickets* tickets, Report* report, std::uint32_t ticket) {
  AwaitEarlierKernels();
  cuda::Init(Grid{}, s, prior, round);
  if (IsLastBlock(Grid{}, tickets)) StoreReport(s.control, report, ticket, /*clear=*/true);
}
template <class P>
__global__ void __launch_bounds__(kBlock) FindRows(StateRef<P> s, std::uint32_t* rows) {
  AwaitEarlierKernels();
  cuda::FindRows(Grid{}, s, rows);
}
template <class P>
__global__ void __launch_bounds__(kBlock) FindCandidates(StateRef<P> s) {
  AwaitEarlierKernels();
  cuda::FindCandidates(Grid{}, s);
}
template <class P>
__global__ void __launch_bounds__(kBlock) Activate(StateRef<P> s, RoundOf<P> round) {
  AwaitEarlierKernels();
  cuda::Activate(Grid{}, s, round);
}
template <class P>
__global__ void __launch_bounds__(kBlock)
    Advance(StateRef<P> s, RoundOf<P> round, Form form, std::size_t count, bool queue_out) {
  AwaitEarlierKernels();
  cuda::Advance(Grid{}, s, round, form, count, queue_out);
}
template <class P>
__global__ void __launch_bounds__(kBlock) AdvanceSlices(StateRef<P> s, RoundOf<P> round, bool queue_out) {
  AwaitEarlierKernels();
  cuda::AdvanceSlices(Grid{}, s, round, queue_out);
}
template <class P>
__global__ void __launch_bounds__(kBlock) AdvanceHub(StateRef<P> s, RoundOf<P> round, bool queue_out) {
  AwaitEarlierKernels();
  cuda::AdvanceHub(Grid{}, s, round, queue_out);
}
template <class P>
__global__ void __launch_bounds__(kBlock) SettleHalo(StateRef<P> s) {
  AwaitEarlierKernels();
  cuda::SettleHalo(Grid{}, s);
}
template <class P>
__global__ void __launch_bounds__(kBlock) Publish(StateRef<P> s, Form form) {
  AwaitEarlierKernels();
  cuda::Publish(Grid{}, s, form);
}
/// Resident blocks of Gather: as many as an SM has threads for, which wait for memory. Wide messages need the registers.
template <class P>
inline constexpr int kGatherBlocks = sizeof(MessageOf<P>) <= 8 ? 8 : 1;
template <class P>
__global__ void __launch_bounds__(kBlock, kGatherBlocks<P>) Gather(StateRef<P> s, RoundOf<P> round, bool all_active) {
  AwaitEarlierKernels();
  cuda::Gather(Grid{}, s, round, all_active);
}
template <class P>
__global__ void __launch_bounds__(kBlock) GatherSlices(StateRef<P> s, RoundOf<P> round, bool all_active) {
  AwaitEarlierKernels();
  cuda::GatherSlices(Grid{}, s, round, all_active);
}
/// Updates. As in Init the last block reports and clears the counters: a kernel for that alone takes 4 us a round.
template <class P>
__global__ void __launch_bounds__(kBlock)
    Apply(StateRef<P> s, RoundOf<P> round, Form form, std::size_t count, GlobalOf<P>* partials, BlockTickets* tickets,
          Report* report, std::uint32_t ticket) {
  AwaitEarlierKernels();
  // The queue's length is only known on the device: the host launches Apply before it has read it.
  cuda::Apply(Grid{}, s, round, form, form == Form::kQueue ? atomics::Load(&s.control->touched_count) : count, partials);
  if (IsLastBlock(Grid{}, tickets)) StoreReport(s.control, report, ticket, /*clear=*/true);
}
template <class P>
__global__ void __launch_bounds__(kBlock) Collect(StateRef<P> s, RoundOf<P> round, bool all_active) {
  AwaitEarlierKernels();
  cuda::Collect(Grid{}, s, round, all_active);
}
template <class P>
__global__ void __launch_bounds__(kBlock) CommitCollected(StateRef<P> s) {
  AwaitEarlierKernels();
  cuda::CommitCollected(Grid{}, s);
}
template <class P>
__global__ void __launch_bounds__(kBlock) QueueToBitmap(StateRef<P> s, std::size_t count) {
  AwaitEarlierKernels();
  cuda::QueueToBitmap(Grid{}, s, count);
}
/// Counts the queue's entries, which the host knows, to 0 again: a memset between two kernels would keep them apart.
template <class P>
__global__ void __launch_bounds__(kBlock) BitmapToQueue(StateRef<P> s, BlockTickets* tickets) {
  AwaitEarlierKernels();
  cuda::BitmapToQueue(Grid{}, s);
  if (IsLastBlock(Grid{}, tickets) && threadIdx.x == 0) s.control->next_count = 0;
}
template <class P>
__global__ void __launch_bounds__(kBlock) Release(StateRef<P> s, Form form, std::size_t count) {
  AwaitEarlierKernels();
  cuda::Release(Grid{}, s, form, count);
}
template <class P>
__global__ void __launch_bounds__(kBlock) ClearActive(StateRef<P> s, bool halo_only) {
  AwaitEarlierKernels();
  cuda::ClearActive(Grid{}, s, halo_only);
}
template <class P>
__global__ void __launch_bounds__(kBlock) PackMessages(StateRef<P> s, OutboxRef outbox, bool queued) {
  AwaitEarlierKernels();
  cuda::PackMessages(Grid{}, s, outbox, queued);
}
template <class P>
__global__ void __launch_bounds__(kBlock) PackShared(StateRef<P> s, OutboxRef outbox, SharedPlan plan) {
  AwaitEarlierKernels();
  cuda::PackShared(Grid{}, s, outbox, plan);
}
template <class P>
__global__ void __launch_bounds__(kBlock) UnpackMessages(StateRef<P> s, InboxRef inbox, std::uint32_t peer, bool queue_out) {
  AwaitEarlierKernels();
  cuda::UnpackMessages(Grid{}, s, inbox, peer, queue_out);
}
template <class P>
__global__ void __launch_bounds__(kBlock)
    UnpackShared(StateRef<P> s, InboxRef inbox, std::uint32_t peer, const LocalId* to_halo) {
  AwaitEarlierKernels();
  cuda::UnpackShared(Grid{}, s, inbox, peer, to_halo);
}
template <class P>
__global__ void __launch_bounds__(kBlock) Measure(StateRef<P> s, RoundOf<P> round, GlobalOf<P>* partials) {
  AwaitEarlierKernels();
  cuda::Measure(Grid{}, s, round, partials);
}
template <class P>
__global__ void __launch_bounds__(kBlock) Output(StateRef<P> s, RoundOf<P> round, OutputOf<P>* out) {
  AwaitEarlierKernels();
  cuda::Output(Grid{}, s, round, out);
}

}  // namespace chatty::steps::cuda::kernels
