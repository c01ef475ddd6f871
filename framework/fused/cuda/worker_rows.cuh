/// \file
/// How a warp of RelaxWorker follows rows, and how it sends and takes messages.
#pragma once

#include "chatty/framework/fused/cuda/worker.cuh"

namespace chatty::fused::cuda::detail {

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::WorkOnHubs(unsigned hubs, unsigned warp, unsigned warps) {
  spills_ = true;
  for (unsigned h = 0; h < hubs; ++h) {
    const Entry item = LoadItem(a_.hubs + h);
    const EdgeIndex begin = s_.graph.forward.offsets[item.vertex], end = s_.graph.forward.offsets[item.vertex + 1];
    const Shared share = ShareOf(item.vertex, ValueIn(item));
    for (EdgeIndex e = begin + std::uint64_t{warp} * 32; e < end; e += std::uint64_t{warps} * 32) {
      FollowEdge(e + Lane() < end, item, share, e + Lane(), /*looks=*/true);
    }
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FollowShort(const Entry& item, const Shared& share,
                                                                 const RowRecord& row, const RowRecord& weights, bool live) {
  Word value[RowRecord::kEdges];
  RowRecord rows[RowRecord::kEdges];
  Message message[RowRecord::kEdges];
  bool there[RowRecord::kEdges], improves[RowRecord::kEdges];
#pragma unroll
  for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
    there[j] = live && row.words[j] != RowRecord::kNone;
    step_edges_ += there[j];
    Weight weight{};
    if constexpr (kWeighted) weight = atomics::BitCast<Weight>(weights.words[j]);
    if (there[j]) message[j] = MessageOver(item.vertex, row.words[j], share, weight);
  }
  bool sends[RowRecord::kEdges] = {};
  if constexpr (kHasPeers) {
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      if (!there[j] || !IsHalo(row.words[j])) continue;
      sends[j] = ImprovesHalo(row.words[j], message[j]);
      there[j] = false;
    }
  }
  bool natively = false;
  if constexpr (kUpdatesNatively<P>) {
    natively = a_.natively;
    if (natively) {
#pragma unroll
      for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
        there[j] = there[j] && !IsNan(message[j]);
        if (there[j]) value[j] = atomics::BitCast<Word>(UpdateNatively<P>(s_.values + row.words[j], message[j]));
      }
      FetchRows(row, there, rows);
#pragma unroll
      for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
        Value changed = atomics::BitCast<Value>(value[j]);
        const bool was_identity = there[j] && steps::SameBytes(changed, IdentityOf<P>());
        improves[j] = there[j] && Improves(changed, message[j]);
        value[j] = atomics::BitCast<Word>(changed);
        this->first += improves[j] && was_identity;
      }
    }
  }
  if (!natively) {
    Word before[RowRecord::kEdges];
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      if (there[j]) before[j] = atomics::Load(WordOf(row.words[j]));
    }
    FetchRows(row, there, rows);
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      improves[j] = there[j] && UpdateBySwap(row.words[j], before[j], message[j], &value[j]);
      if constexpr (std::is_same_v<Value, Message>) {
        this->first += improves[j] && before[j] == atomics::BitCast<Word>(IdentityOf<P>());
      }
    }
  }
  PutAll(item, row, value, rows, improves);
  if constexpr (kHasPeers) {
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) Send(sends[j], item, row.words[j], message[j]);
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FetchRows(const RowRecord& row, const bool (&there)[RowRecord::kEdges],
                                                               RowRecord (&rows)[RowRecord::kEdges]) const {
  if constexpr (!kOrders) {
#pragma unroll
    for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
      if (there[j]) rows[j] = FetchRow(row.words[j]);
    }
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::PrefetchRow(LocalId v, [[maybe_unused]] const RowRecord& row) const {
  if constexpr (kOrders) {
    this->Prefetch(v);
  } else if (!HasRecords() || row.words[RowRecord::kEdges - 1] == RowRecord::kLong) {
    this->PrefetchEdges(row);
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FollowLong(const Entry& item, const Shared& share, const RowRecord& row,
                                                                bool is_long) {
  const EdgeIndex begin = this->BeginOf(row);
  const unsigned degree = is_long ? row.words[2] : 0;
  step_edges_ += degree;
  if (degree != 0) {  // all rows' first edges are on the way together
    PrefetchToL2(s_.graph.forward.neighbours + begin);
    if constexpr (kWeighted) PrefetchToL2(static_cast<const Weight*>(s_.graph.forward.weights) + begin);
  }
  const bool is_hub = !kHasPeers && degree >= kHub;  // warps of several devices have no common end for its row
  if (__any_sync(kFull, is_hub)) PutHub(is_hub, item);
  const WarpRows all(is_hub ? 0 : degree);
  for (unsigned k = 0; k < all.total(); k += 32) {
    unsigned place = 0;
    const unsigned owner = all.Owner(k + Lane(), &place);
    const Entry from = ShuffleItem(item, owner);
    const Shared shared = Shuffle(share, owner);
    const bool looks = __shfl_sync(kFull, degree, owner) >= kLook;
    FollowEdge(k + Lane() < all.total(), from, shared, Shuffle(begin, owner) + place, looks);
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline auto RelaxWorker<P, kRows, Peers>::ShuffleItem(const Entry& item, unsigned lane) -> Entry {
  Entry result{};
  result.vertex = __shfl_sync(kFull, item.vertex, lane);
  if constexpr (!kOrders) result.hops = __shfl_sync(kFull, item.hops, lane);
  result.value = Shuffle(item.value, lane);
  return result;
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::FollowEdge(bool live, const Entry& item, const Shared& share,
                                                                EdgeIndex e, bool looks) {
  LocalId target = 0;
  Word value{};
  RowRecord row{};
  bool improves = false, sends = false;
  Message message{};
  if (live) {
    target = s_.graph.forward.neighbours[e];
    message = MessageOver(item.vertex, target, share, s_.graph.forward.template weight<Weight>(e));
    if (IsHalo(target)) {
      sends = ImprovesHalo(target, message);
    } else {
      improves = Update(target, message, &value, looks, [&] {
        if constexpr (!kOrders) {
          if (!looks) row = FetchRow(target);
        }
      });
      if constexpr (!kOrders) {
        if (improves && looks) row = FetchRow(target);
      }
    }
  }
  Put(improves, Next(item, target, value), row);
  Send(sends, item, target, message);
}

template <class P, Rows kRows, class Peers>
__device__ inline bool RelaxWorker<P, kRows, Peers>::ImprovesHalo(LocalId v, const Message& message) const {
  return !IsNan(message) && steps::ReduceInto<P, true>(s_.program, s_.inbox + v, message);
}

template <class P, Rows kRows, class Peers>
__device__ inline void RelaxWorker<P, kRows, Peers>::Send(bool send, const Entry& from, LocalId v, const Message& message) {
  if constexpr (kHasPeers) {
    std::uint32_t hops = 0;
    if constexpr (!kOrders) hops = from.hops + 1;
    if (!__any_sync(kFull, send)) return;
    std::uint32_t owner = 0;
    const std::uint64_t position = peers_.Reserve(send, v, &owner);
    for (unsigned tries = 0;; ++tries) {
      if (send) send = !peers_.Write(owner, position, v, hops, protocol_step_, message, /*looks=*/tries != 0);
      if (!__any_sync(kFull, send)) return;
      if (tries == 0) continue;
      if (tries % symmetric::kTurnsPerAbortCheck == 0 && peers_.IsAborted()) aborted_ = true;
      if (aborted_) return;
      TakeMessages(/*follow=*/false, /*was_idle=*/false);
    }
  }
}

template <class P, Rows kRows, class Peers>
__device__ inline bool RelaxWorker<P, kRows, Peers>::TakeMessages(bool follow, bool was_idle) {
  LocalId v = 0;
  std::uint32_t hops = 0;
  Message message{};
  unsigned claimed = 0;
  const bool mine = peers_.Claim(protocol_step_, was_idle, &claimed, &v, &hops, &message);
  if (claimed == 0) return false;
  if (__any_sync(kFull, static_cast<unsigned>(clock()) - begun_ > kMostClocks)) spills_ = true;
  Word value{};
  RowRecord row{};
  bool improves = false;
  if (mine) {
    improves = Update(v, message, &value, /*look=*/true, [] {});
    if constexpr (!kOrders) {
      if (improves && follow) row = FetchRow(v);
    }
  }
  Entry item{};
  item.vertex = v;
  if constexpr (!kOrders) item.hops = hops;
  item.value = value;
  if (follow) {
    Put(improves, item, row);
  } else {
    step_improved_ += improves;
    PutOut(improves, item, improves && IsBelow(item));
  }
  return true;
}

}  // namespace chatty::fused::cuda::detail
