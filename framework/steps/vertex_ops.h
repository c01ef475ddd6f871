/// \file
/// The operations at one vertex or edge, the same for a CPU thread and a GPU thread. The steps of each backend only assign
/// them to threads.
#pragma once

#include "chatty/core/bitmap.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/state.h"

#if CHATTY_CUDA_COMPILER
// The compiler omits a program's member without CHATTY_FN from device code with a warning: wrong answers.
#pragma nv_diagnostic push
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#endif

namespace chatty::steps {

/// Combines `message` into `*slot`. Returns false if `*slot` certainly did not change.
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

/// The effect of a delivery on its target.
enum class Delivery : std::uint8_t { kIgnored, kCombined, kFirst };

/// Whether inboxes and buffers hold messages. In rounds of a program with RoundMessage, all messages of a round are equal:
/// state and buffers need only a bit for an arrival.
template <class P>
CHATTY_FN bool KeepsMessages(const StateRef<P>& s) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    return s.asynchronous;
  } else {
    return true;
  }
}

/// Deliver, without kept messages. Without `ask`, vertices that Filter rejects get one, too: if it accepts most targets,
/// reading their values costs more than extra bits, which Apply ignores. A GPU then does not report a first message, and
/// does not skip halo vertices whose owners have had one: SettleHalo does later.
template <class P, bool kConcurrent>
CHATTY_FN Delivery DeliverBit(const StateRef<P>& s, LocalId target, [[maybe_unused]] bool ask) {
#if CHATTY_DEVICE_CODE
  if (!ask) {  // the old bit is not needed
    atomics::Or<kConcurrent>(s.touched + (target >> 5), 1u << (target & 31));
    return Delivery::kCombined;
  }
#endif
  if (target < s.graph.owned) {
    if constexpr (Traits<P>::kHasFilter) {
      if (ask && !s.program.Filter(s.values[target])) return Delivery::kIgnored;
    }
  } else if constexpr (Traits<P>::kSendsOnce) {
    const auto bit = static_cast<LocalId>(target - s.SentWord() * 32);
    if (!bits::Set<kConcurrent>(s.sent, bit)) return Delivery::kIgnored;
  }
  return bits::Set<kConcurrent>(s.touched, target) ? Delivery::kFirst : Delivery::kIgnored;
}

/// Whether Filter accepts the message to local vertex `target`, as far as this device knows. Without kept messages,
/// DeliverBit checks.
template <class P>
CHATTY_FN bool PassesFilter(const StateRef<P>& s, LocalId target, [[maybe_unused]] const MessageOf<P>& message) {
  if (target >= s.graph.owned || !KeepsMessages(s)) return true;
  if constexpr (Traits<P>::kHasFilter) {
    if (!s.asynchronous && !s.program.Filter(s.values[target])) return false;
  }
  if constexpr (Traits<P>::kHasFilterMessage) return s.program.Filter(s.values[target], message);
  return true;
}

/// Deliver a message that PassesFilter.
template <class P, bool kConcurrent>
CHATTY_FN Delivery DeliverAccepted(const StateRef<P>& s, LocalId target, const MessageOf<P>& message,
                                   [[maybe_unused]] bool ask = true) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!KeepsMessages(s)) return DeliverBit<P, kConcurrent>(s, target, ask);
  }
  if constexpr (Traits<P>::kAnyMessageSuffices) {
    // A round's messages are equal and the first one suffices for an owner: no reduction. A halo copy also filters.
    if (!s.asynchronous && target < s.graph.owned) {
      if (!bits::Set<kConcurrent>(s.touched, target)) return Delivery::kIgnored;
      s.inbox[target].message = message;  // only the thread that set the bit writes
      return Delivery::kFirst;
    }
  }
  if (!ReduceInto<P, kConcurrent>(s.program, &s.inbox[target], message)) return Delivery::kIgnored;
  return bits::Set<kConcurrent>(s.touched, target) ? Delivery::kFirst : Delivery::kCombined;
}

/// Offers a message to local vertex `target`, owned or halo: the push side of an edge, or the receiving side of a message
/// from another device. kFirst: the caller must queue the target. `ask`: as in DeliverBit.
template <class P, bool kConcurrent>
CHATTY_FN Delivery Deliver(const StateRef<P>& s, LocalId target, const MessageOf<P>& message, bool ask = true) {
  if (!PassesFilter(s, target, message)) return Delivery::kIgnored;
  return DeliverAccepted<P, kConcurrent>(s, target, message, ask);
}

/// The value that vertex v shares this round. Consume takes the residual: one call per vertex and round.
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

/// The message along edge e of a row, from `source` (local) to `target` (local). Reads `shared` only where messages depend
/// on it.
template <class P>
CHATTY_FN MessageOf<P> Scatter(const StateRef<P>& s, const SharedOf<P>& shared, LocalId source, LocalId target,
                               const AdjacencyRef& rows, EdgeIndex e, const RoundOf<P>& round) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!KeepsMessages(s)) return CallRoundMessage(s.program, round);
  }
  const Edge<WeightOf<P>> edge{s.graph.Global(source), s.graph.Global(target), rows.template weight<WeightOf<P>>(e)};
  return CallComputeScatter(s.program, shared, edge, round);
}

/// One in-edge of a pull: combines the message from `source` into `*message` if the source is active and Filter accepts it.
/// Returns whether it did.
template <class P>
CHATTY_FN bool GatherEdge(const StateRef<P>& s, LocalId source, LocalId target, EdgeIndex e, bool all_active,
                          const RoundOf<P>& round, bool have, MessageOf<P>* message) {
  if (!all_active && !bits::Test(s.active, source)) return false;
  const MessageOf<P> candidate = Scatter(s, s.shared[source], source, target, s.graph.reverse, e, round);
  if constexpr (Traits<P>::kHasFilterMessage) {
    if (!s.program.Filter(s.values[target], candidate)) return false;
  }
  if constexpr (Traits<P>::kCounts) {
    *message = candidate;
  } else {
    *message = have ? Reduce<P>(s.program, *message, candidate) : candidate;
  }
  return true;
}

template <class P>
CHATTY_FN bool IsCandidateWith(const StateRef<P>& s, [[maybe_unused]] const ValueOf<P>& value) {
  if constexpr (Traits<P>::kHasFilter) {
    return s.program.Filter(value);
  } else {
    return true;
  }
}
template <class P>
CHATTY_FN bool IsCandidate(const StateRef<P>& s, LocalId v) {
  return IsCandidateWith(s, s.values[v]);
}

/// Whether a vertex of a stationary program may see messages that differ from the last round's, for sources [begin, end) of
/// its row, `stride` apart. In each round the vertices that the last round changed are active; in a phase's first, all.
template <class P>
CHATTY_FN bool MaySeeOthers(const StateRef<P>& s, EdgeIndex begin, EdgeIndex end, EdgeIndex stride) {
  for (EdgeIndex e = begin; e < end; e += stride) {
    if (bits::Test(s.active, s.graph.reverse.neighbours[e])) return true;
  }
  return false;
}

/// A thread's counters during a sweep over vertices, for those of Control.
struct Counters {
  std::uint64_t vertices = 0, edges = 0;
  std::int64_t candidate_edges = 0;
  // With a Priority:
  std::int64_t pending = 0;
  std::uint64_t first_pending = 0, first_edges = 0;
};

/// The priority of a vertex with this value. NaN: last.
template <class P>
CHATTY_FN double PriorityOf(const P& program, const ValueOf<P>& value) {
  const auto priority = static_cast<double>(program.Priority(value));
  return priority == priority ? priority : kInfinity<double>;
}

/// Whether a changed vertex goes now. Below an infinite limit all go.
CHATTY_FN bool GoesNow(double priority, double limit) { return priority < limit || limit == kInfinity<double>; }

/// Decides whether owned vertex v, with `degree` forward edges and changed to `value`, becomes active now or pending.
template <class P>
CHATTY_FN bool ActiveNow(const StateRef<P>& s, LocalId v, const ValueOf<P>& value, EdgeIndex degree, Counters* tally) {
  if (s.order.limit == kInfinity<double>) return true;
  const double priority = PriorityOf(s.program, value);
  const std::size_t w = v >> 5;
  const std::uint32_t bit = 1u << (v & 31);  // this vertex's; only its update uses it
  const bool pending = (atomics::Load(s.order.pending + w) & bit) != 0;
  if (priority < s.order.limit) {
    if (pending) {
      atomics::And<true>(s.order.pending + w, ~bit);
      tally->pending -= 1;
    }
    if ((atomics::Load(s.order.seen + w) & bit) == 0) {
      atomics::Or<true>(s.order.seen + w, bit);
      tally->first_edges += degree;
    }
    return true;
  }
  const std::uint64_t key = PriorityKey(priority);
  if (key > tally->first_pending) tally->first_pending = key;
  if (!pending) {
    atomics::Or<true>(s.order.pending + w, bit);
    tally->pending += 1;
#if !CHATTY_DEVICE_CODE
    bits::Set<true>(s.order.groups, static_cast<LocalId>(v / kPendingGroup));
#endif
  }
  return false;
}

/// Whether two values are equal in all bytes.
template <class T>
CHATTY_FN bool SameBytes(const T& a, const T& b) {
#if CHATTY_DEVICE_CODE
  if constexpr (sizeof(T) % 4 == 0) {  // by words, which stay in registers
    unsigned p[sizeof(T) / 4], q[sizeof(T) / 4];
    memcpy(p, &a, sizeof(T));
    memcpy(q, &b, sizeof(T));
    unsigned difference = 0;
    for (std::size_t i = 0; i < sizeof(T) / 4; ++i) difference |= p[i] ^ q[i];
    return difference == 0;
  }
  const auto* const p = reinterpret_cast<const unsigned char*>(&a);
  const auto* const q = reinterpret_cast<const unsigned char*>(&b);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    if (p[i] != q[i]) return false;
  }
  return true;
#else
  // Compiles to one word comparison. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): compares bits on purpose
  return memcmp(&a, &b, sizeof(T)) == 0;
#endif
}

/// Whether v counts as changed. With all vertices active in every round, UpdateStatus need not return it; copies of v on
/// others need an update when its value differs.
template <class P>
CHATTY_FN bool Changed(bool returned, const ValueOf<P>& before, const ValueOf<P>& after) {
  if constexpr (Traits<P>::kEveryRound) {
    return !SameBytes(before, after);
  } else {
    return returned;
  }
}

/// Runs `update(value)`, which returns whether the vertex becomes active, and updates the tally of work ahead. Uses a copy:
/// all reads precede the first store, so that they overlap and a vertex costs one trip to memory.
template <class P, class Update>
CHATTY_FN bool Updated(const StateRef<P>& s, LocalId v, Counters* tally, Update&& update) {
  const ValueOf<P> before = s.values[v];
  const EdgeIndex degree = s.graph.forward.degree(v);
  ValueOf<P> value = before;
  bool active = Changed<P>(update(value), before, value);
  s.values[v] = value;
  if constexpr (Traits<P>::kOrders) active = active && ActiveNow(s, v, value, degree, tally);
  if (active) {
    tally->vertices += 1;
    tally->edges += degree;
  }
  if constexpr (Traits<P>::kHasFilter) {
    const bool was_candidate = s.program.Filter(before), is_candidate = s.program.Filter(value);
    if (is_candidate != was_candidate) {
#if CHATTY_DEVICE_CODE  // in a symmetric graph they are the forward edges, whose number is there; hosts have both in a cache
      const auto edges = static_cast<std::int64_t>(s.graph.SameRows() ? degree : s.graph.reverse.degree(v));
#else
      const auto edges = static_cast<std::int64_t>(s.graph.reverse.degree(v));
#endif
      tally->candidate_edges += is_candidate ? edges : -edges;
    }
  }
  return active;
}

/// Updates `value`, of owned vertex v, with a message, or with all if the program sees all.
template <class P, class Update>
CHATTY_FN bool UpdateValue(const StateRef<P>& s, [[maybe_unused]] LocalId v, ValueOf<P>& value, const Update& update,
                           Vertex vertex, const RoundOf<P>& round) {
  if constexpr (kUpdateTakesData<P>) {
    return CallUpdateStatus(s.program, value, update, vertex, round, s.data[v]);
  } else {
    return CallUpdateStatus(s.program, value, update, vertex, round);
  }
}

/// Applies the combined message of owned vertex v and empties its inbox. Returns whether v becomes active.
template <class P>
CHATTY_FN bool ApplyOne(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, Counters* tally) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!KeepsMessages(s)) {
      const MessageOf<P> message = CallRoundMessage(s.program, round);
      const Vertex vertex = s.At(v);
      return Updated(s, v, tally, [&](ValueOf<P>& value) -> bool {
        if constexpr (Traits<P>::kHasFilter) {
          if (!s.program.Filter(value)) return false;  // DeliverBit may not check
        }
        return UpdateValue(s, v, value, message, vertex, round);
      });
    }
  }
  const MessageOf<P> message = s.inbox[v].message;
  const Vertex vertex = s.At(v);
  const bool active =
      Updated(s, v, tally, [&](ValueOf<P>& value) -> bool { return UpdateValue(s, v, value, message, vertex, round); });
  Slot<MessageOf<P>> empty{};
  empty.message = IdentityOf<P>();
  s.inbox[v] = empty;
  return active;
}

/// First value of owned vertex v.
template <class P>
CHATTY_FN ValueOf<P> InitialValue(const StateRef<P>& s, const InputOf<P>* prior, LocalId v) {
  using T = Traits<P>;
  if constexpr (T::kHasInput && T::kInitTakesData) {
    return s.program.InitVertex(s.At(v), prior[v], s.data[v]);
  } else if constexpr (T::kHasInput) {
    return s.program.InitVertex(s.At(v), prior[v]);
  } else if constexpr (T::kInitTakesData) {
    return s.program.InitVertex(s.At(v), s.data[v]);
  } else {
    return s.program.InitVertex(s.At(v));
  }
}

/// Whether v, with this value, sends in the first round of a phase.
template <class P>
CHATTY_FN bool StartsActive(const StateRef<P>& s, [[maybe_unused]] LocalId v, [[maybe_unused]] const ValueOf<P>& value,
                            const RoundOf<P>& round) {
  constexpr bool kEvery = Traits<P>::kEveryRound;
  if constexpr (!kEvery && Traits<P>::kIsActiveTakesData) {
    return CallIsActive(s.program, value, round, s.data[v]);
  } else if constexpr (!kEvery && Traits<P>::kHasIsActive) {
    return CallIsActive(s.program, value, round);
  } else {
    return true;
  }
}

/// A shared value on the wire: empty if a pull needs only the active bits.
template <class P>
using SharedSlot = std::conditional_t<Traits<P>::kHasRoundMessage, Slot<None>, Slot<SharedOf<P>>>;

/// Stores the shared value of local vertex v.
template <class P>
CHATTY_FN void StoreShared(const StateRef<P>& s, LocalId v, const SharedSlot<P>& value) {
  if constexpr (!Traits<P>::kHasRoundMessage) s.shared[v] = value.message;
}
/// Loads it.
template <class P>
CHATTY_FN SharedSlot<P> LoadShared(const StateRef<P>& s, LocalId v) {
  SharedSlot<P> value{};
  if constexpr (!Traits<P>::kHasRoundMessage) value.message = s.shared[v];
  return value;
}

/// Receives one shared value: entry `index` of `peer`'s vertices in this halo, or of `to_halo`.
template <class P, bool kConcurrent>
CHATTY_FN void ReceiveShared(const StateRef<P>& s, std::uint32_t peer, std::uint32_t index, const LocalId* to_halo,
                             const SharedSlot<P>& value) {
  const LocalId h = to_halo == nullptr ? s.graph.halo_begin[peer] + index : to_halo[index];
  if (h == kNoLocal) return;  // another device's
  StoreShared(s, h, value);
  bits::Set<kConcurrent>(s.active, h);
}

/// Clears the message of halo vertex h, before its bit. A monotone program's halo keeps the best message ever sent and does
/// not send a message that does not improve on it (Groute's filter).
template <class P>
CHATTY_FN void EmptyHalo(const StateRef<P>& s, LocalId h) {
  if (!KeepsMessages(s)) return;
  if constexpr (!(P::kSafety == Safety::kMonotone && Traits<P>::kIdempotent)) {
    Slot<MessageOf<P>> empty{};
    empty.message = IdentityOf<P>();
    s.inbox[h] = empty;
  }
}

/// Clears the message of halo vertex h after packing.
template <class P, bool kConcurrent>
CHATTY_FN void ReleaseHalo(const StateRef<P>& s, LocalId h) {
  atomics::And<kConcurrent>(s.touched + (h >> 5), ~(1u << (h & 31)));
  EmptyHalo<P>(s, h);
}

}  // namespace chatty::steps

#if CHATTY_CUDA_COMPILER
#pragma nv_diagnostic pop
#endif
