/// \file
/// Where a warp of RelaxWorker puts items: its local queue, an idle warp of its block, or a list in the GPU's memory.
#pragma once

#include "chatty/framework/fused/cuda/worker.cuh"

namespace chatty::fused::cuda::detail {

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Donate() {
  unsigned to = kWarps;
  if (Lane() == 0) {
    const unsigned mask = atomicOr(&idle_->mask, 0u);
    if (mask != 0) {
      const unsigned bit = mask & (0 - mask);
      if ((atomicAnd(&idle_->mask, ~bit) & bit) != 0) to = __ffs(bit) - 1;  // no other warp has been faster
    }
  }
  to = __shfl_sync(kFull, to, 0);
  if (to == kWarps) return;
  const unsigned count = min(kDonation, (tail_ - head_) / 2);
  for (unsigned i = Lane(); i < count; i += 32) StoreItem(DonationsTo(to) + i, queue_[(head_ + i) % kLocalQueue].item);
  head_ += count;
  __threadfence();
  __syncwarp();
  if (Lane() == 0) atomicExch(&idle_->donations[to], count);
}

template <class P, Rows kRows, class Peers>
__device__ inline unsigned RelaxWorker<P, kRows, Peers>::AwaitDonation() {
  constexpr unsigned kAll = (1u << kWarps) - 1;
  unsigned count = 0;
  if (Lane() == 0) {
    unsigned mask = atomicOr(&idle_->mask, 1u << Warp()) | 1u << Warp();
    // A warp's bit is cleared before it gets a donation, and only by a warp that is not idle: all bits are for good.
    while (mask != kAll && (count = atomicExch(&idle_->donations[Warp()], 0u)) == 0) {
      __nanosleep(40);
      mask = atomicOr(&idle_->mask, 0u);
    }
  }
  count = __shfl_sync(kFull, count, 0);
  __threadfence();
  __syncwarp();  // what lane 0 has acquired is there for all
  return count;
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::PutAll(const Entry& item, const RowRecord& row,
                                                            const Word (&value)[RowRecord::kEdges],
                                                            const RowRecord (&rows)[RowRecord::kEdges],
                                                            const bool (&improves)[RowRecord::kEdges]) {
  bool below[RowRecord::kEdges];
  unsigned mask[RowRecord::kEdges], count = 0;
#pragma unroll
  for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
    below[j] = improves[j] && IsBelow(Next(item, row.words[j], value[j]));
    step_improved_ += improves[j];
  }
#pragma unroll
  for (unsigned j = 0; j < RowRecord::kEdges; ++j) mask[j] = __ballot_sync(kFull, below[j]);
#pragma unroll
  for (unsigned j = 0; j < RowRecord::kEdges; ++j) count += __popc(mask[j]);
  const bool fits = !spills_ && tail_ - head_ + count <= kLocalQueue;
  bool left = false;
  if (fits) {
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      if (below[j]) {
        QueueItem<P>& entry = queue_[(tail_ + __popc(mask[j] & ((1u << Lane()) - 1))) % kLocalQueue];
        entry.item = Next(item, row.words[j], value[j]);
        if constexpr (!kOrders) entry.row = rows[j];
        PrefetchRow(row.words[j], rows[j]);
      }
      tail_ += __popc(mask[j]);
      left = left || (improves[j] && !below[j]);
    }
  } else {
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) left = left || improves[j];
  }
  if (__any_sync(kFull, left)) {
#pragma unroll 1
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      const bool put = (j == 0   ? improves[0]
                        : j == 1 ? improves[1]
                        : j == 2 ? improves[2]
                                 : improves[3]) &&
                       !(fits && (j == 0   ? below[0]
                                  : j == 1 ? below[1]
                                  : j == 2 ? below[2]
                                           : below[3]));
      const bool is_below = !fits && (j == 0 ? below[0] : j == 1 ? below[1] : j == 2 ? below[2] : below[3]);
      const LocalId target = j == 0 ? row.words[0] : j == 1 ? row.words[1] : j == 2 ? row.words[2] : row.words[3];
      const Word changed = j == 0 ? value[0] : j == 1 ? value[1] : j == 2 ? value[2] : value[3];
      if (__any_sync(kFull, put)) PutOut(put, Next(item, target, changed), is_below);
    }
  }
  __syncwarp();  // what lanes put into the local queue is there for all
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Put(bool put, const Entry& item, const RowRecord& row) {
  step_improved_ += put;
  bool below = put && IsBelow(item);
  const unsigned mask = __ballot_sync(kFull, below), count = __popc(mask);
  if (!spills_ && tail_ - head_ + count <= kLocalQueue) {
    if (below) {
      QueueItem<P>& entry = queue_[(tail_ + __popc(mask & ((1u << Lane()) - 1))) % kLocalQueue];
      entry.item = item;
      if constexpr (!kOrders) entry.row = row;
      PrefetchRow(item.vertex, row);
      put = below = false;
    }
    tail_ += count;
  }
  if (__any_sync(kFull, put)) PutOut(put, item, below);
  __syncwarp();  // what lanes put into the local queue is there for all
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::PutOut(bool put, const Entry& item, bool below) {
  bool is_far = false;
  if constexpr (kOrders) is_far = put && !below && !(steps::PriorityOf(s_.program, ValueIn(item)) < near_limit_);
  unsigned mask = __ballot_sync(kFull, put && !is_far), count = __popc(mask);
  below_ += __popc(__ballot_sync(kFull, put && below));
  if (count != 0) {
    if (near_count_ + count > kNearBuffer) FlushNear();
    if (put && !is_far) near_[near_count_ + __popc(mask & ((1u << Lane()) - 1))] = item;
    near_count_ += count;
  }
  if constexpr (kOrders) {
    mask = __ballot_sync(kFull, is_far);
    count = __popc(mask);
    if (count != 0) {
      if (far_count_ + count > kFarBuffer) FlushFar();
      if (is_far) {
        far_[far_count_ + __popc(mask & ((1u << Lane()) - 1))] = item;
        far_first_ =
            max(far_first_, static_cast<unsigned long long>(PriorityKey(steps::PriorityOf(s_.program, ValueIn(item)))));
      }
      far_count_ += count;
    }
  }
  __syncwarp();
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Spill() {
  spills_ = true;
  while (head_ != tail_) {
    const unsigned count = min(32u, tail_ - head_);
    const bool put = Lane() < count;
    const Entry item = put ? queue_[(head_ + Lane()) % kLocalQueue].item : Entry{};
    head_ += count;
    PutOut(put, item, put);
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::PutHub(bool put, const Entry& item) {
  const unsigned mask = __ballot_sync(kFull, put);
  unsigned first = 0;
  if (Lane() == 0) first = atomicAdd(&counts_->hubs, __popc(mask));
  first = __shfl_sync(kFull, first, 0) + __popc(mask & ((1u << Lane()) - 1));
  if (!put) return;
  if (first < a_.hub_capacity) {
    StoreItem(a_.hubs + first, item);
  } else {
    Overflow(item);
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Overflow(const Entry& item) {
  bits::Set<true>(s_.active, item.vertex);
  atomics::Store(&counts_->overflow, 1u);
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FlushNear() {
  if (near_count_ != 0) Store(near_, near_count_, next_, &counts_->near);
  if (Lane() == 0 && below_ != 0) atomicAdd(&counts_->below, below_);
  near_count_ = below_ = 0;
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FlushFar() {
  for (unsigned d = 16; d > 0; d /= 2) far_first_ = max(far_first_, __shfl_xor_sync(kFull, far_first_, d));
  if (far_count_ != 0) {
    Store(far_, far_count_, a_.far[far_list_], &a_.totals->far[far_list_]);
    if (Lane() == 0) atomicMax(&a_.totals->far_first[far_list_], far_first_);
    if constexpr (kHasPeers) {
      if (Lane() == 0) atomicAdd(&counts_->far, far_count_);
      if (Lane() == 0) atomicMax(&counts_->far_first, far_first_);
    }
  }
  far_count_ = 0;
  far_first_ = 0;
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Store(const Entry* from, unsigned count, Entry* list,
                                                           std::uint32_t* length) {
  unsigned first = 0;
  if (Lane() == 0) first = atomicAdd(length, count);
  first = __shfl_sync(kFull, first, 0);
  __syncwarp();
  for (unsigned i = Lane(); i < count; i += 32) {
    if (first + i < a_.capacity) {
      StoreItem(list + first + i, from[i]);
    } else {
      Overflow(from[i]);
    }
  }
  __syncwarp();
}

}  // namespace chatty::fused::cuda::detail
