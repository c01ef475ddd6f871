/// \file
/// What happens at one vertex or one edge, the same for a CPU thread and a GPU thread. The steps of each backend only decide
/// which thread does it.
#pragma once

#include "chatty/core/bitmap.h"
#include "chatty/framework/state.h"

#if CHATTY_CUDA_COMPILER
// A program's member without CHATTY_FN is left out of device code with a warning: answers would be wrong.
#pragma nv_diagnostic push
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#endif

namespace chatty::steps {

/// Combines `message` into `*slot`. Returns false if that can be seen to have changed nothing.
template <class P, bool kConcurrent>
CHATTY_FN bool ReduceInto(const P& program, Slot<MessageOf<P>>* slot, const MessageOf<P>& message) {
  using Message = MessageOf<P>;
  using SlotType = Slot<Message>;
  constexpr Reduction kReduction = P::kReduction;
  constexpr bool kNative = std::is_arithmetic_v<Message> && (sizeof(Message) == 4 || sizeof(Message) == 8);
  if constexpr (kReduction == Reduction::kMin && kNative) {
    return atomics::Min<kConcurrent>(&slot->message, message);
  } else if constexpr (kReduction == Reduction::kMax && kNative) {
    return atomics::Max<kConcurrent>(&slot->message, message);
  } else if constexpr (kReduction == Reduction::kSum && kNative) {
    atomics::Add<kConcurrent>(&slot->message, message);
    return true;
  } else if constexpr (kReduction == Reduction::kOr && kNative) {
    if ((atomics::Load(&slot->message) & message) == message) return false;
    return (atomics::Or<kConcurrent>(&slot->message, message) & message) != message;
  } else {
    SlotType mine{};  // padding bytes are zero, so that equal messages are equal words
    mine.message = message;
    const bool changed = atomics::Update<kConcurrent>(slot, mine, [&program](const SlotType& old, const SlotType& value) {
      SlotType next{};
      next.message = Reduce<P>(program, old.message, value.message);
      return next;
    });
    return changed || !Traits<P>::kIdempotent;
  }
}

/// What an edge delivery did to its target.
enum class Delivery : std::uint8_t { kIgnored, kCombined, kFirst };

/// Offers a message to local vertex `target`, owned or halo: the push side of one edge and the receiving side of a message
/// from another device. kFirst says that the caller is the one to queue the target.
template <class P, bool kConcurrent>
CHATTY_FN Delivery Deliver(const StateRef<P>& s, LocalId target, const MessageOf<P>& message) {
  if constexpr (Traits<P>::kHasWants) {
    if (!s.asynchronous && target < s.graph.owned && !s.program.Wants(s.values[target])) return Delivery::kIgnored;
  }
  if constexpr (Traits<P>::kHasWantsMessage) {
    if (target < s.graph.owned && !s.program.Wants(s.values[target], message)) return Delivery::kIgnored;
  }
  if constexpr (P::kReduction == Reduction::kAny) {
    if (!bits::Set<kConcurrent>(s.touched, target)) return Delivery::kIgnored;
    s.inbox[target].message = message;  // only the thread that set the bit writes
    return Delivery::kFirst;
  } else {
    if (!ReduceInto<P, kConcurrent>(s.program, &s.inbox[target], message)) return Delivery::kIgnored;
    return bits::Set<kConcurrent>(s.touched, target) ? Delivery::kFirst : Delivery::kCombined;
  }
}

/// What vertex v shows its neighbours this round. Consume takes the residual, so call it once a vertex and round.
template <class P>
CHATTY_FN SharedOf<P> TakeShared(const StateRef<P>& s, LocalId v) {
  if constexpr (Traits<P>::kHasConsume) {
    return s.program.Consume(s.values[v], s.At(v));
  } else if constexpr (Traits<P>::kHasShare) {
    return s.program.Share(s.values[v], s.At(v));
  } else {
    return s.values[v];
  }
}

/// The message along edge e of a row, from `source` (local) to `target` (local).
template <class P>
CHATTY_FN MessageOf<P> Scatter(const StateRef<P>& s, const SharedOf<P>& shared, LocalId source, LocalId target,
                               const AdjacencyRef& rows, EdgeIndex e, const RoundOf<P>& round) {
  const Edge<WeightOf<P>> edge{s.graph.Global(source), s.graph.Global(target), rows.template weight<WeightOf<P>>(e)};
  return s.program.ComputeScatter(shared, edge, round);
}

/// One incoming edge in a pull: combines the message from `source` into `*message` if the source is active and the message
/// wanted. Returns whether it did.
template <class P>
CHATTY_FN bool GatherEdge(const StateRef<P>& s, LocalId source, LocalId target, EdgeIndex e, bool all_active,
                          const RoundOf<P>& round, bool have, MessageOf<P>* message) {
  if (!all_active && !bits::Test(s.active, source)) return false;
  const MessageOf<P> candidate = Scatter(s, s.shared[source], source, target, s.graph.reverse, e, round);
  if constexpr (Traits<P>::kHasWantsMessage) {
    if (!s.program.Wants(s.values[target], candidate)) return false;
  }
  if constexpr (Traits<P>::kCollects) {
    *message = candidate;
  } else {
    *message = have ? Reduce<P>(s.program, *message, candidate) : candidate;
  }
  return true;
}

template <class P>
CHATTY_FN bool IsCandidate(const StateRef<P>& s, LocalId v) {
  if constexpr (Traits<P>::kHasWants) {
    return s.program.Wants(s.values[v]);
  } else {
    return true;
  }
}

/// Counts that a thread keeps while it sweeps over vertices.
struct Tally {
  std::uint64_t vertices = 0, edges = 0;
  std::int64_t wanting = 0;
};

/// Whether two values are the same to the byte.
template <class T>
CHATTY_FN bool SameBytes(const T& a, const T& b) {
  const auto* const p = reinterpret_cast<const unsigned char*>(&a);
  const auto* const q = reinterpret_cast<const unsigned char*>(&b);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    if (p[i] != q[i]) return false;
  }
  return true;
}

/// Whether v counts as changed. For programs that are active every round what UpdateStatus returns need not say so, and
/// what others hold of v must be renewed when its value is another.
template <class P>
CHATTY_FN bool Changed(bool returned, const ValueOf<P>& before, const ValueOf<P>& after) {
  if constexpr (Traits<P>::kEveryRound) {
    return !SameBytes(before, after);
  } else {
    return returned;
  }
}

/// Runs `update(value)`, which returns whether the vertex becomes active, and keeps the tally of the work ahead.
template <class P, class Update>
CHATTY_FN bool Updated(const StateRef<P>& s, LocalId v, Tally* tally, Update&& update) {
  [[maybe_unused]] bool wanted = false;
  if constexpr (Traits<P>::kHasWants) wanted = s.program.Wants(s.values[v]);
  const ValueOf<P> before = s.values[v];
  const bool returned = update(s.values[v]);
  const bool active = Changed<P>(returned, before, s.values[v]);
  if (active) {
    tally->vertices += 1;
    tally->edges += s.graph.forward.degree(v);
  }
  if constexpr (Traits<P>::kHasWants) {
    const bool wants = s.program.Wants(s.values[v]);
    if (wants != wanted) {
      const auto edges = static_cast<std::int64_t>(s.graph.reverse.degree(v));
      tally->wanting += wants ? edges : -edges;
    }
  }
  return active;
}

/// Applies the combined message of owned vertex v and empties its inbox. Returns whether v becomes active.
template <class P>
CHATTY_FN bool ApplyOne(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, Tally* tally) {
  const MessageOf<P> message = s.inbox[v].message;
  Slot<MessageOf<P>> empty{};
  empty.message = IdentityOf<P>();
  s.inbox[v] = empty;
  return Updated(s, v, tally,
                 [&](ValueOf<P>& value) -> bool { return s.program.UpdateStatus(value, message, s.At(v), round); });
}

/// First value of owned vertex v.
template <class P>
CHATTY_FN ValueOf<P> InitialValue(const P& program, Vertex vertex, const PriorOf<P>* prior, LocalId v) {
  if constexpr (Traits<P>::kHasPrior) {
    return program.InitVertex(vertex, prior[v]);
  } else {
    return program.InitVertex(vertex);
  }
}

/// Whether v sends in the first round of a phase.
template <class P>
CHATTY_FN bool StartsActive(const StateRef<P>& s, LocalId v, const RoundOf<P>& round) {
  if constexpr (Traits<P>::kHasIsActive) {
    return s.program.IsActive(s.values[v], round);
  } else {
    return true;
  }
}

/// Writes record `i` of a box in pair form. Records are words, so a payload may be misaligned for its type.
template <class Payload>
CHATTY_FN void StoreRecord(std::byte* box, std::uint32_t i, std::uint32_t index, const Payload& payload) {
  static_assert(sizeof(Payload) % 4 == 0);
  constexpr int kWords = sizeof(Payload) / 4;
  std::uint32_t words[kWords];
  memcpy(words, &payload, sizeof(Payload));
  auto* out = reinterpret_cast<std::uint32_t*>(box) + static_cast<std::size_t>(i) * (1 + kWords);
  out[0] = index;
  for (int w = 0; w < kWords; ++w) out[1 + w] = words[w];
}

template <class Payload>
CHATTY_FN std::uint32_t LoadRecord(const std::byte* box, std::uint32_t i, Payload* payload) {
  constexpr int kWords = sizeof(Payload) / 4;
  const auto* in = reinterpret_cast<const std::uint32_t*>(box) + static_cast<std::size_t>(i) * (1 + kWords);
  std::uint32_t words[kWords];
  for (int w = 0; w < kWords; ++w) words[w] = in[1 + w];
  memcpy(payload, words, sizeof(Payload));
  return in[0];
}

/// What a shared value looks like on the wire.
template <class P>
using SharedSlot = Slot<SharedOf<P>>;

/// Receives one message from another device: entry `index` of the border towards `peer`.
template <class P, bool kConcurrent>
CHATTY_FN Delivery ReceiveMessage(const StateRef<P>& s, std::uint32_t peer, std::uint32_t index,
                                  const MessageOf<P>& message) {
  return Deliver<P, kConcurrent>(s, s.border.vertices[s.border.begin[peer] + index], message);
}

/// Receives one shared value: halo entry `index` of those that `peer` owns.
template <class P, bool kConcurrent>
CHATTY_FN void ReceiveShared(const StateRef<P>& s, std::uint32_t peer, std::uint32_t index, const SharedOf<P>& value) {
  const LocalId h = s.graph.halo_begin[peer] + index;
  s.shared[h] = value;
  bits::Set<kConcurrent>(s.active, h);
}

/// Forgets the message of halo vertex h once it has been packed. A monotone program's halo keeps the best message ever sent:
/// what does not improve on it is not sent again (Groute's filter).
template <class P, bool kConcurrent>
CHATTY_FN void ReleaseHalo(const StateRef<P>& s, LocalId h) {
  atomics::And<kConcurrent>(s.touched + (h >> 5), ~(1u << (h & 31)));
  if constexpr (!(P::kSafety == Safety::kMonotone && Traits<P>::kIdempotent)) {
    Slot<MessageOf<P>> empty{};
    empty.message = IdentityOf<P>();
    s.inbox[h] = empty;
  }
}

}  // namespace chatty::steps

#if CHATTY_CUDA_COMPILER
#pragma nv_diagnostic pop
#endif
