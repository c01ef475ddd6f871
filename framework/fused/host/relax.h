/// \file
/// Label correcting on CPU threads, with soft priority: the same items, limits and rule of widths
/// as the resident kernel of a GPU (cuda/relax.cuh).
///
/// A step takes the items whose priority is below a limit. Each thread takes slices of the list and follows edges on its
/// own: a target that a message improves becomes an item of the thread's ring, until nothing below the limit is left. What
/// lies beyond goes to the next step's list, or to a list of far items. Then the threads wait at a barrier, and the limit
/// rises. A search by levels finds tens of levels between two barriers (vertical granularity control, as PASGAL by Dong et
/// al., PPoPP'24), and shortest paths fuse buckets (Zhang et al., GraphIt, CGO'20). Every improvement becomes an item, so
/// answers do not depend on the order.
///
/// A value changes by compare-and-swap, or, if it is a minimum or a maximum, by a load and a store: a locked operation lets
/// no later load begin. Such a store may overwrite a better value that another thread has stored since the load. So each
/// thread keeps what it has stored in a step. Behind the step's barrier no store is under way; the thread whose value was
/// the best finds a worse one there, and restores its own by compare-and-swap before a second barrier. It has followed the
/// edges already, or has the item in a list: an item is left only for a better value. The next step then finds at each
/// vertex the best of all that were stored.
///
/// Memory order: values change by relaxed atomics; a ring is of one thread; lists and values are written before a barrier
/// and read behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/prefetch.h"
#include "chatty/core/sync.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/fused/relaxes.h"
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
    std::uint64_t below = 0;  ///< of these, below the limit: its ring had no room
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
  std::uint32_t ring = ~0u;    ///< items of a thread's ring, at most as many as it has
  bool stores = false;         ///< members store values rather than swap them: see the file
  /// Items a hop, or of a bucket in the order of a Priority, from which on rounds are better.
  double wide = kInfinity<double>;
};

namespace detail {

/// A step should last long against a barrier; on a thread, what is followed again costs in full.
inline constexpr WidthRule kHostWidths{
    .few = 4096, .many = ~std::uint64_t{0}, .halve_above = 1.0 / 4, .narrow_above = 1.0 / 8};
/// A member's share of a step's list is so many slices, so that others can take some; their sizes.
inline constexpr std::size_t kSlices = 4, kMinSlice = 64, kMaxSlice = 1024;

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

/// Whether members may store values of P rather than swap them, if UpdatesNatively: see the file.
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
        room_(std::clamp<std::uint32_t>(terms.ring, 2, kRing)) {}

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
    stored_.clear();
    far_begin_ = far_->size();
  }

  /// Takes a slice of a list and what comes of it, until nothing below the limit is left.
  void Work(std::span<const Entry> slice) {
    while (!slice.empty() || head_ != tail_) {
      if (head_ == tail_) {
        const std::size_t some = std::min<std::size_t>(slice.size(), room_ / 2);
        std::copy_n(slice.begin(), some, ring_.begin());
        slice = slice.subspan(some);
        head_ = 0;
        tail_ = static_cast<std::uint32_t>(some);
      }
      // Items are looked at all together: the atomics of an update let no later load begin before they end.
      const std::uint32_t some = std::min(tail_ - head_, kTogether),
                          prefetched = std::min(tail_ - head_, kTogether + kAhead);
      for (std::uint32_t i = kAhead; i < prefetched; ++i) PrefetchRow(Ring(head_ + i).vertex);
      for (std::uint32_t i = 0; i < some; ++i) Look(Ring(head_ + i));
      head_ += some;
      UpdateTargets();
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
  static constexpr std::uint32_t kRing = 1u << 13;
  static constexpr std::uint32_t kTogether = 16;    ///< items that are looked at together
  static constexpr std::uint32_t kAhead = 16;       ///< items before them whose rows are called for
  static constexpr std::uint32_t kEdges = 64;       ///< edges that are looked at together
  static constexpr std::size_t kStored = 1u << 15;  ///< values of a step that are kept: more items go to the list
  /// What Restore needs of an item of the ring, which later ones overwrite.
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

  Entry& Ring(std::uint32_t at) { return ring_[at % kRing]; }
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
    Ring(tail_++) = item;
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
  const std::uint32_t room_;    // of the ring
  double limit_ = 0, near_limit_ = 0;
  std::uint32_t hop_limit_ = 0, head_ = 0, tail_ = 0;
  bool spills_ = false;
  std::vector<Stored> stored_;  // in this step, and followed or to follow in it
  std::size_t far_begin_ = 0;   // far items before this step
  std::size_t better_count_ = 0;
  std::array<Improvement, 2 * kEdges + 1> better_;
  std::array<Entry, kRing> ring_;
};

/// What is left becomes the frontier, a bitmap: active vertices, or in a run with buckets pending ones.
template <class P>
void Leave(Group& group, const StateRef<P>& s, RelaxShared<ItemOf<P>>& shared, std::size_t which, FusedRun* job) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  typename RelaxShared<ItemOf<P>>::Left& mine = shared.left[rank];
  const bool waits = Traits<P>::kOrders && job->buckets.on();
  const auto leave = [&](const std::vector<ItemOf<P>>& list) {
    for (const ItemOf<P>& item : list) {
      if (!IsLive(s, item)) continue;
      if constexpr (Traits<P>::kOrders) {
        if (waits) {
          bits::Set<true>(s.order.pending, item.vertex);
          bits::Set<true>(s.order.groups, static_cast<LocalId>(item.vertex / kPendingGroup));
          mine.first = std::max(mine.first, PriorityKey(PriorityOf(s.program, s.values[item.vertex])));
          continue;
        }
      }
      bits::Set<true>(s.active, item.vertex);
    }
  };
  leave(shared.near.of(which, rank));
  leave(shared.far[rank]);
  group.sync_soon();
  const std::size_t words = bits::Words(s.graph.owned);
  for (std::size_t w = Stretch(words, rank, members); w < Stretch(words, rank + 1, members); ++w) {
    for (std::uint32_t rest = s.active[w]; rest != 0; rest &= rest - 1) {
      mine.active += 1;
      mine.edges += s.graph.forward.degree(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
    }
    if constexpr (Traits<P>::kOrders) mine.pending += __builtin_popcount(s.order.pending[w]);
    if constexpr (Traits<P>::kHasFilter) {
      if (!s.graph.reverse.offsets.there()) continue;
      for (std::size_t v = w * 32; v < std::min<std::size_t>(w * 32 + 32, s.graph.owned); ++v) {
        if (IsCandidate(s, static_cast<LocalId>(v))) mine.candidates += s.graph.reverse.degree(static_cast<LocalId>(v));
      }
    }
  }
  group.sync_soon();
  for (const typename RelaxShared<ItemOf<P>>::Left& one : shared.left) {
    job->active_vertices += one.active;
    job->pending_vertices += one.pending;
    job->first_pending = std::max(job->first_pending, one.first);
    job->ahead.active_edges += one.edges;
    job->ahead.candidate_edges += one.candidates;
  }
}

/// The frontier becomes a list: of the next step, or with a Priority of far items, whose first, `*first_far`, says where the
/// limit begins.
template <class P>
void TakeFrontier(Group& group, const StateRef<P>& s, const FusedRun& job, std::vector<ItemOf<P>>* list,
                  std::uint64_t* first_far) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  const std::size_t words = bits::Words(s.graph.owned);
  const std::size_t first_word = Stretch(words, rank, members), last_word = Stretch(words, rank + 1, members);
  const auto take = [&](LocalId v) {
    ItemOf<P> item{};
    item.vertex = v;
    item.value = atomics::Load(WordOf(s, v));
    if constexpr (Traits<P>::kOrders) {
      const auto value = atomics::BitCast<ValueOf<P>>(item.value);
      *first_far = std::max(*first_far, PriorityKey(PriorityOf(s.program, value)));
    }
    list->push_back(item);
  };
  if (job.form == Form::kQueue) {
    for (std::size_t i = Stretch(job.count, rank, members); i < Stretch(job.count, rank + 1, members); ++i) {
      take(s.frontier[i]);
    }
  }
  for (std::size_t w = first_word; w < last_word; ++w) {
    std::uint32_t rest = job.form == Form::kBitmap ? s.active[w] & bits::Mask(w, s.graph.owned) : 0;
    s.active[w] = 0;
    if constexpr (Traits<P>::kOrders) rest |= std::exchange(s.order.pending[w], 0);
    for (; rest != 0; rest &= rest - 1) {
      take(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
    }
  }
  if constexpr (Traits<P>::kOrders) {
    const std::size_t groups = bits::Words((s.graph.owned + kPendingGroup - 1) / kPendingGroup);
    std::fill(s.order.groups + Stretch(groups, rank, members), s.order.groups + Stretch(groups, rank + 1, members), 0);
  }
}

}  // namespace detail

/// As FusedEngine::Run, by label correcting: runs `job` until nothing is left, it is stopped, or rounds suit the frontier
/// better. Every member calls it with the same `job`, and returns the same.
template <class P>
FusedRun Relax(Group& group, const StateRef<P>& state, RelaxShared<ItemOf<P>>& shared, const RelaxTerms& terms,
               FusedRun job) {
  constexpr bool kOrders = Traits<P>::kOrders;
  using Entry = ItemOf<P>;
  using Count = typename RelaxShared<ItemOf<P>>::Count;
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  StateRef<P> s = state;
  s.asynchronous = true;
  std::vector<Entry>& far = shared.far[rank];
  const bool concurrent = members > 1;
  detail::RelaxWorker<P> worker(s, job.round.As<GlobalOf<P>>(), terms, concurrent, &far, &shared.hubs[rank]);
  const bool hubs = concurrent && s.graph.forward.max_degree >= kHubDegree;
  std::size_t which = 0, turn = 0;
  Count all;
  std::uint64_t first_far = 0;
  // Each member publishes its counts, waits at a barrier, and sums the counts of all.
  const auto sum_and_wait = [&] {
    Count& mine = worker.count;
    mine.near = shared.near.of(which, rank).size();
    mine.far = far.size();
    mine.stop = rank == 0 && job.stop != nullptr && job.stop->stop_requested();
    shared.counts[turn][rank] = mine;
    worker.count = {};
    group.sync_soon();
    all = {};
    for (const Count& one : shared.counts[turn]) {
      all.near += one.near;
      all.below += one.below;
      all.far += one.far;
      all.first_far = std::max(all.first_far, one.first_far);
      all.done += one.done;
      all.first += one.first;
      all.edges += one.edges;
      all.improved += one.improved;
      all.hops = std::max(all.hops, one.hops);
      all.stop = all.stop || one.stop;
    }
    turn ^= 1;
    first_far = std::max(first_far, all.first_far);
  };

  detail::TakeFrontier(group, s, job, kOrders ? &far : &shared.near.of(which, rank), &worker.count.first_far);
  sum_and_wait();

  double limit = -kInfinity<double>, width = terms.width;
  std::uint32_t hop_limit = 0, hops = 0, steps = 0;
  std::uint64_t done = 0, first_ones = 0;  // since the limit rose
  bool counts_first = false;
  while (all.near + all.far > 0 && !all.stop) {
    // In the order of hops a run ends where the limit rises: the frontier then has vertices of one level.
    if ((kOrders || all.below == 0) && static_cast<double>(done) > terms.wide * (kOrders ? 1.0 : width)) break;
    if (all.below == 0 && done != 0) {
      counts_first = counts_first || first_ones != 0;
      if (terms.least < terms.most) {
        width = detail::kHostWidths.Next(width, done, first_ones, counts_first, static_cast<unsigned>(members), terms.least,
                                         terms.most);
      }
      done = first_ones = 0;
    }
    if constexpr (kOrders) {
      const double first = all.far == 0 ? kInfinity<double> : PriorityOfKey(first_far);
      if (all.near == 0) {
        limit = std::max(std::max(limit, first) + width, std::nextafter(first, kInfinity<double>));
        shared.near.Clear(which, rank);
      } else if (all.below == 0) {
        limit += width;
      }
      if (all.near == 0 || first < limit) {
        worker.TakeFar(limit, &shared.near.of(which, rank));
        first_far = 0;
        sum_and_wait();
        if (all.near == 0) continue;  // all that was below has improved since
      }
    } else if (all.below == 0) {
      hop_limit += static_cast<std::uint32_t>(std::max(width, 1.0));
    }
    // The last step's lists, of which nobody takes any more, become the next one's.
    worker.Begin(&shared.near.Clear(which ^ 1, rank), limit, width, hop_limit);
    const std::size_t grain =
        std::clamp<std::size_t>(all.near / (members * detail::kSlices), detail::kMinSlice, detail::kMaxSlice);
    shared.near.Take(
        which, rank, members, [&](std::span<const Entry> slice, std::size_t) { worker.Work(slice); }, grain);
    if (hubs) {
      group.sync_soon();
      for (const std::vector<Entry>& items : shared.hubs) {
        for (const Entry& item : items) worker.WorkOnHub(item, rank, members);
      }
    }
    which ^= 1;
    sum_and_wait();
    if constexpr (detail::kStoresValues<P>) {
      if (worker.stores()) {
        worker.Restore();
        group.sync_soon();
      }
    }
    shared.hubs[rank].clear();
    steps += 1;
    done += all.done;
    first_ones += all.first;
    hops = std::max(hops, all.hops);
    job.edges_touched += all.edges;
    job.vertices_updated += all.improved;
  }
  job.steps += steps;
  job.push_rounds += kOrders ? steps : hops;
  job.round.index += kOrders ? steps : hops;
  job.form = Form::kBitmap;
  const bool left = all.near + all.far > 0;
  job.mixed = left && !kOrders && all.below != 0;
  job.active_vertices = job.first_pending = 0;
  job.pending_vertices = 0;
  job.ahead.active_edges = 0;
  if (Traits<P>::kHasFilter) job.ahead.candidate_edges = 0;  // counted again
  if (left) detail::Leave(group, state, shared, which, &job);
  job.round.active = job.active_vertices;
  return job;
}

}  // namespace chatty::fused::host
