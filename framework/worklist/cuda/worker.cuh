/// \file
/// A distributed worklist in resident kernels of GPUs, one each: Groute's fused worker (Ben-Nun et al., PPoPP'17) for items
/// of any type. The steps are those of fused/team.h, and each warp is a worker.
///
/// A lane does one item at a time. What its Process makes goes into the warp's local queue in shared memory, if it is below
/// the limit and there is room. Else it goes into a list of the GPU: that of the next step, or beyond the next limit the far
/// list. What it sends waits in the warp's outbox, or where that is full in the GPU's list of unsent items, which are sent
/// in the next step. None of this waits for anything, so lanes may part as they like. When all lanes of the warp have ended
/// Process, the warp sends what the outbox has, 32 items at a time. Where a ring is full, it takes messages meanwhile: else
/// two devices could wait for each other. Their items go into the list of the next step.
///
/// A warp without items counts what it has done and becomes idle. It then polls the rings of the other devices and the begin
/// of the next step. The first warp of a GPU also takes the leader's order, and that of the first GPU is the leader. No
/// warp waits for another one of its block.
///
/// Progress. A slot in a ring is free once the entry a lap before it has been claimed. The first slot that is not written is
/// free as soon as the receiver has claimed all before it. The warp that has reserved it polls for that all the time.
/// Each warp of the receiver claims entries after some turns, while it sends, and when it is idle, because Process ends. So
/// that slot is written at some time, whatever other rings look like.
///
/// Memory order. Items of the local queue and the outbox are of one warp (`__syncwarp`). Items of lists are stored before
/// the warp becomes idle, which releases them, and loaded in the next step, behind its begin. Counters of the block in
/// shared memory are changed by atomics alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/atomics.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/fused/cuda/item_lists.cuh"
#include "chatty/framework/fused/cuda/team_steps.cuh"
#include "chatty/framework/steps/vertex_ops.h"
#include "chatty/framework/worklist/program.h"

namespace chatty::worklist::cuda {

using fused::cuda::kFull;
using fused::cuda::kThreads;
using fused::cuda::kWarps;
using fused::cuda::Lane;
using fused::cuda::Warp;

/// An item that had no room in an outbox.
template <class Item>
struct Unsent {
  Item item;
  std::uint32_t device;  ///< where it is to go
};

/// Lengths of a GPU's lists, which may be beyond their room: then the run has failed.
struct ListCounts {
  std::uint32_t near[2] = {}, unsent[2] = {};  ///< by the parity of the step that reads them
  std::uint32_t far[2] = {};                   ///< which take turns when far items are looked at
};

/// What a run did on a GPU.
struct Totals {
  unsigned long long processed = 0;
  std::uint32_t full = 0;     ///< a list had no room for an item
  std::uint32_t aborted = 0;  ///< the run has ended on another device
  // Written by the kernel's first warp at its end:
  std::uint32_t steps = 0;
  fused::End end{};
};

/// The kernel's input.
template <class P>
struct WorklistRef {
  P program;
  fused::TeamRef team;
  typename P::Item *near[2] = {}, *far[2] = {};  ///< `room` and `far_room` each; the first far list has the seeds
  Unsent<typename P::Item>* unsent[2] = {};      ///< `room` each, with several devices
  std::uint32_t room = 0, far_room = 0, seeds = 0;
  std::uint32_t queue = 0, outbox = 0;  ///< items of a warp's; powers of two
  ListCounts* counts = nullptr;
  Totals* totals = nullptr;
  fused::cuda::TeamStep* begun = nullptr;
  volatile std::uint32_t* host = nullptr;  ///< ResidentKernel::words
  double width = 0;
};

/// Bytes of a block's local queues and outboxes.
template <class Item>
constexpr std::size_t SharedBytes(std::size_t queue, std::size_t outbox) {
  return kWarps * (queue * sizeof(Item) + outbox * (sizeof(Item) + sizeof(std::uint32_t)));
}

/// How much of its shared memory's local queues the lanes of a warp have filled since the warp last looked.
struct Filled {
  unsigned queue, outbox;
};

/// One warp, which is the context that Process gets (see WorklistContext). All lanes call every function but those of the
/// context, which a lane calls for itself.
template <class P>
class Worker {
 public:
  using Item = typename P::Item;
  using Leader = fused::StepLeader<true>;

  /// `leader`: of the first warp of the first GPU; else null.
  __device__ Worker(const WorklistRef<P>& a, unsigned char* shared, Filled* filled, Leader* leader)
      : a_(a), filled_(filled), leader_(leader) {
    auto* const items = reinterpret_cast<Item*>(shared);
    queue_ = items + Warp() * a.queue;
    outbox_ = items + kWarps * a.queue + Warp() * a.outbox;
    outbox_to_ = reinterpret_cast<std::uint32_t*>(items + kWarps * (a.queue + a.outbox)) + Warp() * a.outbox;
  }

  /// @{
  /// As of WorklistContext.
  __device__ __forceinline__ void Push(const Item& item) { Put(item, spills_); }
  __device__ __forceinline__ void Send(std::uint32_t device, const Item& item) {
    if (device == a_.team.heap.me) {
      Item received = item;
      if (a_.program.OnReceive(received)) Put(received, spills_);
      return;
    }
    if (!a_.program.OnSend(item, device)) return;
    const unsigned place = atomicAdd(&filled_->outbox, 1u);
    if (place < a_.outbox) {
      outbox_[place] = item;
      outbox_to_[place] = device;
      return;
    }
    news_ |= kNear | kBelow;
    Append(a_.unsent[list_ ^ 1], &a_.counts->unsent[list_ ^ 1], a_.room, Unsent<Item>{item, device});
  }
  __device__ std::uint32_t device() const { return a_.team.heap.me; }
  __device__ std::uint32_t devices() const { return a_.team.heap.size; }
  /// @}

  /// The warp's part of the run.
  __device__ __forceinline__ void Run() {
    const unsigned warps = gridDim.x * kWarps, warp = Warp() * gridDim.x + blockIdx.x;  // neighbours' slices on other SMs
    // Step 1 has the seeds as its only result.
    const fused::cuda::detail::ItemSlice<Item> seeds = fused::cuda::SliceOf(a_.far[0], a_.seeds, warp, warps);
    for (unsigned i = Lane(); i < seeds.count; i += 32) {
      CountFar(PriorityOf(a_.program, fused::cuda::detail::LoadItem(seeds.items + i)));
    }
    fused::End end = fused::End::kDone;
    while (WorkStep()) {
      // The order is of the step that this GPU has begun.
      const fused::StepOrder& order = a_.begun->order;
      end = order.end;
      if (order.ends) break;
      step_ += 1;
      limit_ = order.limit;
      near_limit_ = order.limit + order.width;
      budget_ = order.mean > fused::kMostItems / 16 ? fused::kMostItems : 16 * order.mean + 1024;
      work_ = 0;
      begun_ = static_cast<unsigned>(clock());
      spills_ = false;
      list_ = static_cast<unsigned>(step_ & 1);
      near_ = fused::cuda::SliceOf(a_.near[list_], Length(&a_.counts->near[list_], a_.room), warp, warps);
      if (devices() > 1) {
        unsent_ = fused::cuda::SliceOf(a_.unsent[list_], Length(&a_.counts->unsent[list_], a_.room), warp, warps);
      }
      far_ = {};
      if (order.takes_far) {
        far_ = fused::cuda::SliceOf(a_.far[far_list_], Length(&a_.counts->far[far_list_], a_.far_room), warp, warps);
        far_list_ ^= 1;
      }
      __syncwarp();
    }
    unsigned long long done = done_;
    for (unsigned d = 16; d > 0; d /= 2) done += __shfl_xor_sync(kFull, done, d);
    if (Lane() == 0) {
      if (done != 0) atomicAdd(&a_.totals->processed, done);
      if (aborted_) atomics::Store(&a_.totals->aborted, 1u);
      if (IsFirst()) {
        a_.totals->steps = static_cast<std::uint32_t>(step_ - 1);  // without the seeds'
        a_.totals->end = end;
      }
    }
  }

 private:
  /// Turns of a busy warp after which it takes messages.
  static constexpr unsigned kTurns = 8;
  /// A local queue with fewer items is not dealt out: they are a chain.
  static constexpr unsigned kSpillFrom = 16;

  /// A busy warp calls it each kTurnsPerAbortCheck turns, an idle one in each turn. The abort word in host memory is read
  /// each kTurnsPerAbortCheck turns by the GPU's first warp and by warps that wait for room in a ring.
  __device__ void CheckForAbort(bool reads_host) {
    if (fused::cuda::detail::IsAbortedForWarp(a_.team, a_.begun, reads_host)) aborted_ = true;
  }
  __device__ bool IsFirst() const { return blockIdx.x == 0 && Warp() == 0; }
  /// Of a list that is complete.
  __device__ static unsigned Length(const std::uint32_t* count, std::uint32_t room) {
    return min(static_cast<unsigned>(atomics::Load(count)), room);
  }

  /// Does the step's items, those of other GPUs and what comes of them, until the step has ended everywhere and this GPU has
  /// begun the next one. Returns false if the run has failed.
  __device__ __forceinline__ bool WorkStep() {
    bool busy = true;
    unsigned pause = 0;
    for (unsigned turns = 1;; ++turns) {
      if (turns % symmetric::kTurnsPerAbortCheck == 0 && busy) CheckForAbort(/*reads_host=*/IsFirst());
      if (aborted_) return false;
      const bool sends = outgoing_ + unsent_.count != 0, works = (tail_ - head_) + near_.count + far_.count != 0;
      if (sends) {
        SendSome();
        continue;
      }
      if (works) {
        DoSome();
        if (turns % kTurns != 0) continue;
      } else if (busy) {
        Rest();
        busy = false;
        pause = 0;
      }
      if (devices() > 1 && TakeMessages(/*was_idle=*/!busy, spills_)) {
        busy = true;
        continue;
      }
      if (busy) continue;
      if (IsFirst()) Lead();
      CheckForAbort(/*reads_host=*/IsFirst() && turns % symmetric::kTurnsPerAbortCheck == 0);
      bool over = false;
      if (Lane() == 0) over = fused::cuda::detail::HasBegun(a_.begun, step_ + 1);
      over = __shfl_sync(kFull, over, 0);
      __syncwarp();  // what a lane has acquired is there for all
      if (over) return true;
      if (!IsFirst()) {
        __nanosleep(pause);
        pause = min(pause + 50, 400u);
      }
    }
  }

  /// Does one item a lane: from the local queue, from the next step's list of the step before, then from the far list.
  __device__ __forceinline__ void DoSome() {
    if (near_.count == 0) {
      near_ = far_;
      far_.count = 0;
    }
    const unsigned ringed = min(32u, tail_ - head_), listed = min(32 - ringed, near_.count);
    const bool does = Lane() < ringed + listed;
    Item item{};
    if (Lane() < ringed) {
      item = queue_[(head_ + Lane()) & (a_.queue - 1)];
    } else if (does) {
      item = fused::cuda::detail::LoadItem(near_.items + (Lane() - ringed));
    }
    head_ += ringed;
    near_ = {near_.items + listed, near_.count - listed};
    work_ += ringed + listed;
    // So that others have a part of it, and the step an end.
    if (work_ > budget_ && (tail_ - head_ >= kSpillFrom || work_ > fused::kMostItems)) spills_ = true;
    __syncwarp();  // the local queue's places are free
    if (does) {
      const double priority = PriorityOf(a_.program, item);
      if (steps::GoesNow(priority, limit_)) {
        done_ += 1;
        a_.program.Process(item, *this);
      } else {
        Put(item, priority, /*spills=*/false);
      }
    }
    TakeFilled();
  }

  /// Sends one item a lane, from the outbox or the list of unsent items.
  __device__ __forceinline__ void SendSome() {
    const unsigned from_outbox = min(32u, outgoing_), listed = min(32 - from_outbox, unsent_.count);
    bool sends = Lane() < from_outbox + listed;
    Unsent<Item> unsent{};
    if (Lane() < from_outbox) {
      const unsigned at = outgoing_ - from_outbox + Lane();
      unsent = {outbox_[at], outbox_to_[at]};
    } else if (sends) {
      unsent = fused::cuda::detail::LoadItem(unsent_.items + (Lane() - from_outbox));
    }
    outgoing_ -= from_outbox;
    unsent_ = {unsent_.items + listed, unsent_.count - listed};
    __syncwarp();  // the outbox's places are free
    const std::uint64_t position = fused::cuda::detail::ReserveForLanes(a_.team, sends, unsent.device);
    for (unsigned tries = 0;; ++tries) {
      if (sends && symmetric::HasRoomInRing(a_.team.heap, a_.team.rings, unsent.device, position, /*looks=*/tries != 0)) {
        symmetric::WriteToRing(a_.team.heap, a_.team.rings, unsent.device, position,
                               EntryOf(a_.program.Pack(unsent.item), step_));
        sends = false;
      }
      if (!__any_sync(kFull, sends)) return;  // a lane that has written waits here, where its entry is on its way
      if (tries == 0) continue;
      if (tries % symmetric::kTurnsPerAbortCheck == 0) CheckForAbort(/*reads_host=*/true);
      if (aborted_) return;
      if (!TakeMessages(/*was_idle=*/false, /*spills=*/true)) __nanosleep(100);
    }
  }

  /// Claims messages, and puts their items into the local queue, or where they go otherwise. Returns whether there were any.
  /// `was_idle`: the warp was idle, and is busy if there were.
  __device__ __forceinline__ bool TakeMessages(bool was_idle, bool spills) {
    unsigned claimed = 0;
    std::uint32_t from = 0;
    symmetric::RingEntry entry = {};
    const bool mine = reader_.Claim(a_.team, step_, was_idle, &claimed, &from, &entry);
    if (claimed == 0) return false;
    if (__any_sync(kFull, static_cast<unsigned>(clock()) - begun_ > fused::kMostClocks)) spills = spills_ = true;
    if (mine) {
      Item item = a_.program.Unpack(MessageIn<typename P::Message>(entry));
      if (a_.program.OnReceive(item)) Put(item, spills);
    }
    TakeFilled();
    return true;
  }

  /// The lanes have put items into the local queue and the outbox. If the local queue had no room for all, there is much
  /// work, and other warps shall have a part of it.
  __device__ __forceinline__ void TakeFilled() {
    __syncwarp();  // what lanes have put there is there for all
    unsigned queue = 0, outbox = 0;
    if (Lane() == 0) {
      queue = atomicExch(&filled_->queue, 0u);
      if (devices() > 1) outbox = atomicExch(&filled_->outbox, 0u);
    }
    queue = __shfl_sync(kFull, queue, 0);
    outbox = __shfl_sync(kFull, outbox, 0);
    const unsigned room = a_.queue - (tail_ - head_);
    if (queue > room) spills_ = true;
    tail_ += min(queue, room);
    outgoing_ += min(outbox, a_.outbox);
  }

  /// A lane's item goes into the local queue, or a list of the next step, or the far list.
  __device__ __forceinline__ void Put(const Item& item, bool spills) { Put(item, PriorityOf(a_.program, item), spills); }
  __device__ __forceinline__ void Put(const Item& item, double priority, bool spills) {
    const bool below = steps::GoesNow(priority, limit_);
    if (below && !spills) {
      const unsigned place = atomicAdd(&filled_->queue, 1u);
      if (place < a_.queue - (tail_ - head_)) {  // which were free when the lanes began
        queue_[(tail_ + place) & (a_.queue - 1)] = item;
        return;
      }
    }
    const bool is_far = !below && !steps::GoesNow(priority, near_limit_);
    if (is_far) {
      CountFar(priority);
    } else {
      news_ |= below ? kNear | kBelow : kNear;
    }
    Append(is_far ? a_.far[far_list_] : a_.near[list_ ^ 1],
           is_far ? &a_.counts->far[far_list_] : &a_.counts->near[list_ ^ 1], is_far ? a_.far_room : a_.room, item);
  }
  __device__ void CountFar(double priority) {
    const std::uint64_t key = PriorityKey(priority);
    far_first_ = far_first_ > key ? far_first_ : key;
  }
  template <class Entry>
  __device__ __forceinline__ void Append(Entry* list, std::uint32_t* count, std::uint32_t room, const Entry& entry) {
    const unsigned place = atomicAdd(count, 1u);
    if (place < room) {
      fused::cuda::detail::StoreItem(list + place, entry);
    } else if (atomicExch(&a_.totals->full, 1u) == 0) {  // the item is lost: the run fails, on all devices
      chatty::detail::StoreRelaxed(a_.team.heap.abort, 1u);
      atomics::Store(&a_.begun->aborted, 1u);
    }
  }

  /// The warp has no items. What it has done is counted before it becomes idle.
  __device__ __forceinline__ void Rest() {
    fused::StepCounts* const counts = a_.team.heap.Own(a_.team.counts) + step_ % 3;
    const unsigned news = __reduce_or_sync(kFull, news_);
    const unsigned done = __reduce_add_sync(kFull, static_cast<unsigned>(done_ - reported_));
    unsigned long long far_first = far_first_;
    for (unsigned d = 16; d > 0; d /= 2) {
      const unsigned long long other = __shfl_xor_sync(kFull, far_first, d);
      far_first = far_first > other ? far_first : other;
    }
    if (Lane() == 0) {
      if ((news & kNear) != 0) atomicAdd(&counts->near, 1u);
      if ((news & kBelow) != 0) atomicAdd(&counts->below, 1u);
      if (far_first != 0) {
        atomicAdd(&counts->far, 1u);
        atomicMax(&counts->far_first, far_first);
      }
      if (done != 0) atomicAdd(&counts->done, static_cast<unsigned long long>(done));
      a_.team.BecomeIdle();
    }
    __syncwarp();
    news_ = 0;
    far_first_ = 0;
    reported_ = done_;
  }

  /// The GPU's first warp: see LeadSteps.
  __device__ __forceinline__ void Lead() {
    fused::cuda::detail::LeadSteps(a_.team, step_, leader_, a_.host, a_.begun, gridDim.x * kWarps,
                                   [&](const fused::StepOrder& order) {  // what this step has read gets the next one's
                                     atomics::Store(&a_.counts->near[list_], 0u);
                                     atomics::Store(&a_.counts->unsent[list_], 0u);
                                     if (order.takes_far) atomics::Store(&a_.counts->far[far_list_ ^ 1], 0u);
                                   });
    __syncwarp();
  }

  /// Bits of news_: a list of the next step has got something; the limit does not rise for it.
  static constexpr unsigned kNear = 1, kBelow = 2;

  const WorklistRef<P>& a_;
  Filled* const filled_;
  Leader* const leader_;
  Item *queue_, *outbox_;
  std::uint32_t* outbox_to_;
  fused::cuda::detail::RingReader reader_;
  fused::cuda::detail::ItemSlice<Item> near_, far_;
  fused::cuda::detail::ItemSlice<Unsent<Item>> unsent_;
  unsigned head_ = 0, tail_ = 0, outgoing_ = 0;  // of the local queue and the outbox
  std::uint64_t step_ = 1;
  unsigned list_ = 1, far_list_ = 0;  // which lists the step reads, and which far list it fills
  double limit_ = -kInfinity<double>, near_limit_ = -kInfinity<double>;
  unsigned budget_ = 0, work_ = 0;  // items of this step, of all lanes
  unsigned begun_ = 0;              // the SM's clock at the step's begin
  bool spills_ = false;             // for the rest of the step nothing goes to the local queue
  bool aborted_ = false;
  // A lane's:
  unsigned long long done_ = 0, reported_ = 0;  // items processed
  std::uint64_t far_first_ = 0;                 // PriorityKey of the first item put into the far list
  unsigned news_ = 0;                           // what lists have got
};

/// The kernel: as many blocks on each GPU as are resident at once, one a multiprocessor, which has registers for all that a
/// worker keeps.
template <class P>
__global__ void __launch_bounds__(kThreads, 1) RunItems(const __grid_constant__ WorklistRef<P> a) {
  using Leader = fused::StepLeader<true>;
  extern __shared__ uint4 shared[];
  __shared__ Filled filled[kWarps];
  __shared__ alignas(Leader) unsigned char leader_memory[sizeof(Leader)];
  auto* const leader = reinterpret_cast<Leader*>(leader_memory);
  if (threadIdx.x < kWarps) {
    atomicExch(&filled[threadIdx.x].queue, 0u);
    atomicExch(&filled[threadIdx.x].outbox, 0u);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    new (leader) Leader({}, gridDim.x * kWarps * a.team.heap.size, a.width, a.width, a.width);
    a.team.BeginStep(gridDim.x * kWarps);
  }
  __syncthreads();
  const bool leads = a.team.IsLeader() && blockIdx.x == 0 && Warp() == 0;
  Worker<P> worker(a, reinterpret_cast<unsigned char*>(shared), filled + Warp(), leads ? leader : nullptr);
  worker.Run();
}

}  // namespace chatty::worklist::cuda
