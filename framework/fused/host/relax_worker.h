/// \file
/// One member's part in the steps of relax.h: its local queue, its lists, and how it changes values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/prefetch.h"
#include "chatty/core/sync.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::fused::host {

using namespace steps;        // NOLINT(google-build-using-namespace)
using namespace steps::host;  // NOLINT(google-build-using-namespace): the steps' groups and operations at a vertex

/// What the members share. Counts twice: while one step fills its own, the last one's may still be read.
template <class Item>
struct RelaxShared {
  /// What a member did since the last barrier.
  struct alignas(64) Count {
    std::uint64_t near = 0;   ///< items of its list
    std::uint64_t below = 0;  ///< of these, below the limit: its local queue had no room
    std::uint64_t far = 0;    ///< items of its far list
    std::uint64_t first_far = 0;
    std::uint64_t done = 0;   ///< items followed
    std::uint64_t first = 0;  ///< improvements of values that were the identity
    std::uint64_t edges = 0, improved = 0;
    std::uint32_t hops = 0;  ///< most of any item followed, plus 1
    bool stop = false;
  };
  /// What a member found among its own vertices when the run ended with work left.
  struct alignas(64) Left {
    std::uint64_t active = 0, edges = 0, first = 0;
    std::int64_t pending = 0, candidates = 0;
  };
  using Counts = std::vector<Count>;
  explicit RelaxShared(int members)
      : near(members),
        far(static_cast<std::size_t>(members)),
        hubs(far.size()),
        counts{Counts(members), Counts(members)},
        left(members) {}
  MemberListsOf<Item> near;
  std::vector<std::vector<Item>> far;   ///< a list a member, with a Priority
  std::vector<std::vector<Item>> hubs;  ///< a list a member: items with long rows, which all walk
  Counts counts[2];
  std::vector<Left> left;
};

/// The steps of a run.
struct RelaxTerms {
  double width = 0;            ///< of the first, in hops or the Priority's unit
  double least = 0, most = 0;  ///< widths between which it adapts, if they differ
  std::uint32_t queue = ~0u;   ///< items of a thread's local queue, at most as many as it has
  bool stores = false;         ///< members store values rather than swap them: see relax.h
  /// Items a hop, or of a bucket in the order of a Priority, from which on rounds are better.
  double wide = kInfinity<double>;
};

namespace detail {

/// The word of a vertex's value, which a member swaps. A value that is copied as such may lose its padding: see
/// atomics::Update.
template <class P>
atomics::Word<sizeof(ValueOf<P>)>* WordOf(const StateRef<P>& s, LocalId v) {
  return reinterpret_cast<atomics::Word<sizeof(ValueOf<P>)>*>(s.values + v);
}
/// Whether the vertex still has the item's value: else there is another item of it.
template <class P>
bool IsLive(const StateRef<P>& s, const ItemOf<P>& item) {
  return atomics::Load(WordOf(s, item.vertex)) == item.value;
}

/// Whether members may store values of P rather than swap them, if UpdatesNatively: see relax.h.
template <class P>
inline constexpr bool kStoresValues = kUpdatesNatively<P> &&
                                      (P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax);

/// One member's part in steps. `Peers` is None, or Messages<P> where the device has a part of the graph: the member then
/// sends messages to the vertices of other devices.
template <class P, class Peers = None>
class RelaxWorker {
 public:
  using Entry = ItemOf<P>;
  static constexpr bool kOrders = Traits<P>::kOrders, kHasPeers = !std::is_same_v<Peers, None>;

  /// `concurrent`: the device has other members, which change values, too.
  RelaxWorker(const StateRef<P>& s, const RoundOf<P>& round, const RelaxTerms& terms, bool concurrent,
              std::vector<Entry>* far, std::vector<Entry>* hubs, Peers peers = {})
      : s_(s),
        round_(round),
        far_(far),
        hubs_(hubs),
        peers_(peers),
        concurrent_(concurrent),
        stores_(kStoresValues<P> && !kHasPeers && concurrent && terms.stores),
        hub_degree_(concurrent && !kHasPeers ? kHubDegree : ~EdgeIndex{0}),
        room_(std::clamp<std::uint32_t>(terms.queue, 2, kLocalQueue)) {}

  /// Whether values are stored, so that each step has to end with Restore.
  bool stores() const { return stores_; }
  /// Before a step: where to put items, and which are below.
  void Begin(std::vector<Entry>* next, double limit, double width, std::uint32_t hop_limit, std::uint64_t step = 0) {
    next_ = next;
    step_ = step;
    limit_ = limit;
    near_limit_ = limit + width;
    hop_limit_ = hop_limit;
    spills_ = false;
    done_ = 0;
    stored_.clear();
    far_begin_ = far_->size();
  }

  /// Takes a slice of a list and what comes of it, until nothing below the limit is left.
  void Work(std::span<const Entry> slice) {
    while (!slice.empty() || head_ != tail_) {
      if (head_ == tail_) {
        const std::size_t some = std::min<std::size_t>(slice.size(), room_ / 2);
        std::copy_n(slice.begin(), some, queue_.begin());
        slice = slice.subspan(some);
        head_ = 0;
        tail_ = static_cast<std::uint32_t>(some);
      }
      // Items are looked at all together: the atomics of an update let no later load begin before they end.
      const std::uint32_t some = std::min(tail_ - head_, kTogether),
                          prefetched = std::min(tail_ - head_, kTogether + kAhead);
      for (std::uint32_t i = kAhead; i < prefetched; ++i) PrefetchRow(Queued(head_ + i).vertex);
      for (std::uint32_t i = 0; i < some; ++i) Look(Queued(head_ + i));
      head_ += some;
      done_ += some;
      if (done_ > kMostItems) spills_ = true;
      UpdateTargets();
      if constexpr (kHasPeers) {
        if (++since_check_ % symmetric::kTurnsPerAbortCheck == 0) peers_.CheckAborted();
      }
    }
  }

  /// Part `rank` of so many of a long row. What comes of it goes to lists: other members still look at theirs.
  void WorkOnHub(const Entry& item, std::size_t rank, std::size_t members) {
    spills_ = true;
    const EdgeIndex begin = s_.graph.forward.offsets[item.vertex], edges = s_.graph.forward.degree(item.vertex);
    LookAlong(item, begin + edges * rank / members, begin + edges * (rank + 1) / members);
    UpdateTargets();
  }

  /// Claims messages of other devices, and takes them and what comes of them. Returns whether there were any.
  /// `was_idle`: as Messages::Claim.
  bool WorkOnMessages(bool was_idle) {
    const bool any = peers_.Claim(step_, was_idle, [this](LocalId v, std::uint32_t hops, const Message& message) {
      Update({v, hops, message});
    });
    if (any) Work({});
    return any;
  }

  /// Behind the step's barrier, and before another: restores the best of the values that members have stored in the step.
  void Restore() {
    const auto restore = [this](LocalId v, Word mine) {
      Word now = atomics::Load(WordOf(s_, v));
      while (IsBetter(mine, now)) {
        const Word found = atomics::CompareSwap(WordOf(s_, v), now, mine);
        if (found == now) return;
        now = found;
      }
    };
    for (const Stored& one : stored_) restore(one.vertex, one.value);
    for (const Entry& item : *next_) restore(item.vertex, item.value);
    for (std::size_t i = far_begin_; i < far_->size(); ++i) restore((*far_)[i].vertex, (*far_)[i].value);
  }

  /// Moves the far items that are below `limit` into `list`.
  void TakeFar(double limit, std::vector<Entry>* list) {
    std::size_t kept = 0;
    for (const Entry& item : *far_) {
      if (!IsLive(s_, item)) continue;
      const double priority = PriorityOf(s_.program, ValueIn(item));
      if (GoesNow(priority, limit)) {
        list->push_back(item);
      } else {
        count.first_far = std::max(count.first_far, PriorityKey(priority));
        (*far_)[kept++] = item;
      }
    }
    far_->resize(kept);
  }

  typename RelaxShared<ItemOf<P>>::Count count;

 private:
  using Value = ValueOf<P>;
  using Message = MessageOf<P>;
  using Shared = SharedOf<P>;
  using Word = atomics::Word<sizeof(Value)>;
  static constexpr std::uint32_t kLocalQueue = 1u << 13;
  static constexpr std::uint32_t kTogether = 16;    ///< items that are looked at together
  static constexpr std::uint32_t kAhead = 16;       ///< items before them whose rows are called for
  static constexpr std::uint32_t kEdges = 64;       ///< edges that are looked at together
  static constexpr std::size_t kStored = 1u << 15;  ///< values of a step that are kept: more items go to the list
  /// What Restore needs of an item of the local queue, which later ones overwrite.
  struct Stored {
    LocalId vertex;
    Word value;
  };
  /// An edge whose message is better than its target's value.
  struct Improvement {
    LocalId target;
    std::uint32_t hops;  ///< of the source
    Message message;
  };

  Entry& Queued(std::uint32_t at) { return queue_[at % kLocalQueue]; }
  static Value ValueIn(const Entry& item) { return atomics::BitCast<Value>(item.value); }
  Shared ShareOf([[maybe_unused]] LocalId v, const Value& value) const {
    if constexpr (Traits<P>::kHasShare) {
      return s_.program.Share(value, s_.At(v));
    } else {
      return value;
    }
  }
  bool IsBelow(const Entry& item) const {
    if constexpr (kOrders) {
      return GoesNow(PriorityOf(s_.program, ValueIn(item)), limit_);
    } else {
      return item.hops < hop_limit_;
    }
  }
  void PrefetchRow(LocalId v) const {
    const EdgeIndex row = s_.graph.forward.offsets[v];
    Prefetch(s_.graph.forward.neighbours + row);
    if constexpr (!std::is_same_v<WeightOf<P>, None>) {
      Prefetch(static_cast<const WeightOf<P>*>(s_.graph.forward.weights) + row);
    }
  }
  /// Whether a value's bits say a better one than others. Of values that are a minimum or a maximum.
  static bool IsBetter(Word a, Word b) {
    const auto one = atomics::BitCast<Value>(a), other = atomics::BitCast<Value>(b);
    return P::kReduction == Reduction::kMin ? one < other : other < one;
  }
  /// Whether the item's edges are to be followed: a worse value than its own has overwritten it, and will be restored.
  bool IsToFollow(const Entry& item) const {
    if constexpr (kStoresValues<P>) {
      if (stores_) return !IsBetter(atomics::Load(WordOf(s_, item.vertex)), item.value);
    }
    return IsLive(s_, item);
  }
  void Look(const Entry& item) {
    if (!IsToFollow(item)) return;
    if (!IsBelow(item)) return PutOut(item);
    count.done += 1;
    if constexpr (!kOrders) count.hops = std::max(count.hops, item.hops + 1);
    const EdgeIndex begin = s_.graph.forward.offsets[item.vertex], end = s_.graph.forward.offsets[item.vertex + 1];
    count.edges += end - begin;
    if (end - begin >= hub_degree_) {
      hubs_->push_back(item);
    } else {
      LookAlong(item, begin, end);
    }
  }
  /// Looks at edges [e, end) of the item's row.
  void LookAlong(const Entry& item, EdgeIndex e, EdgeIndex end) {
    std::uint32_t hops = 0;
    if constexpr (!kOrders) hops = item.hops;
    const LocalId source = item.vertex;
    const AdjacencyRef& rows = s_.graph.forward;
    const Shared share = ShareOf(source, ValueIn(item));
    while (e < end) {
      if (better_count_ > kEdges) UpdateTargets();
      Improvement* better = better_.data() + better_count_;
      for (const EdgeIndex some = std::min(end, e + kEdges); e < some; ++e) {
        const LocalId target = rows.neighbours[e];
        const Message message = Scatter(s_, share, source, target, rows, e, round_);
        if constexpr (kHasPeers) {
          if (target >= s_.graph.owned) {
            *better++ = {target, hops, message};
            continue;
          }
        }
        Word word = atomics::Load(WordOf(s_, target));
        *better = {target, hops, message};  // a branch would be a guess
        better += Improve(target, message, word) ? 1 : 0;
      }
      better_count_ = static_cast<std::size_t>(better - better_.data());
    }
  }
  void UpdateTargets() {
    for (std::size_t i = 0; i < better_count_; ++i) Update(better_[i]);
    better_count_ = 0;
  }

  /// Whether `message` changes a value with the bits `word`, which become those of the new one. A value that changes without
  /// activating the vertex makes an item, too: an earlier item of it no longer counts.
  bool Improve(LocalId v, const Message& message, Word& word) const {
    Value value = atomics::BitCast<Value>(word);
    if constexpr (Traits<P>::kHasFilterMessage) {
      if (!s_.program.Filter(value, message)) return false;
    }
    const bool active = UpdateValue(s_, v, value, message, s_.At(v), round_);
    const Word before = word;
    word = atomics::BitCast<Word>(value);
    return active || word != before;
  }

  void Update(const Improvement& edge) {
    const LocalId v = edge.target;
    if constexpr (kHasPeers) {
      if (v >= s_.graph.owned) return Send(edge);
    }
    Word before = atomics::Load(WordOf(s_, v));
    while (true) {
      Word after = before;
      if (!Improve(v, edge.message, after)) return;
      if (concurrent_ && !stores_) {
        const Word found = after == before ? before : atomics::CompareSwap(WordOf(s_, v), before, after);
        if (found != before) {  // somebody else was faster
          before = found;
          continue;
        }
      } else {
        atomics::Store(WordOf(s_, v), after);
      }
      count.improved += 1;
      if constexpr (std::is_same_v<Value, Message>) {
        count.first += before == atomics::BitCast<Word>(IdentityOf<P>()) ? 1 : 0;
      }
      if constexpr (kOrders) {
        Put({v, after});
      } else {
        Put({v, edge.hops + 1, after});
      }
      return;
    }
  }

  /// Sends a message to the target's owner, if it is better than all that this device has sent (Groute's filter). Where the
  /// owner's ring is full, takes messages meanwhile: else two devices could wait for each other. Their items wait.
  void Send(const Improvement& edge) {
    if (!ReduceInto<P, true>(s_.program, &s_.inbox[edge.target], edge.message)) return;
    const bool spilled = std::exchange(spills_, false);
    Clock::time_point begin{};
    while (!peers_.Send(edge.target, edge.hops, step_, edge.message)) {
      if (!spills_) begin = Clock::now();
      spills_ = true;
      peers_.CheckWait(begin);
      const bool any =
          peers_.Claim(step_, /*was_idle=*/false, [this](LocalId v, std::uint32_t hops, const Message& message) {
            Update({v, hops, message});
          });
      if (!any) std::this_thread::yield();
    }
    spills_ = spilled;
  }

  void Put(const Entry& item) {
    if (!IsBelow(item)) return PutOut(item);
    if (spills_ || tail_ - head_ >= room_ || stored_.size() == kStored) {  // wide: all members shall have a part of it
      spills_ = true;
      count.below += 1;
      next_->push_back(item);
      return;
    }
    s_.graph.forward.offsets.Prefetch(item.vertex);
    if (stores_) stored_.push_back({item.vertex, item.value});
    Queued(tail_++) = item;
  }
  void PutOut(const Entry& item) {
    if constexpr (kOrders) {
      const double priority = PriorityOf(s_.program, ValueIn(item));
      if (!GoesNow(priority, near_limit_)) {
        count.first_far = std::max(count.first_far, PriorityKey(priority));
        far_->push_back(item);
        return;
      }
    }
    next_->push_back(item);
  }

  StateRef<P> s_;  // a copy: what stores cannot change stays in registers
  RoundOf<P> round_;
  std::vector<Entry>*far_, *hubs_, *next_ = nullptr;
  [[no_unique_address]] Peers peers_;
  std::uint64_t step_ = 0;
  const bool concurrent_, stores_;
  const EdgeIndex hub_degree_;  // of rows that all members walk
  const std::uint32_t room_;    // of the local queue
  double limit_ = 0, near_limit_ = 0;
  std::uint32_t hop_limit_ = 0, head_ = 0, tail_ = 0;
  std::uint64_t done_ = 0;  // items of this step
  bool spills_ = false;
  std::uint32_t since_check_ = 0;
  std::vector<Stored> stored_;  // in this step, and followed or to follow in it
  std::size_t far_begin_ = 0;   // far items before this step
  std::size_t better_count_ = 0;
  std::array<Improvement, 2 * kEdges + 1> better_;
  std::array<Entry, kLocalQueue> queue_;
};

}  // namespace detail

}  // namespace chatty::fused::host
