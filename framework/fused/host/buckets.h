/// \file
/// Bucketed rounds on host threads that have the whole graph, of a program with a Priority. A round is part of one team job
/// and costs a barrier; edges update values directly, without inboxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/prefetch.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/fused/host/visit_frontier.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::fused::host {

using namespace steps;        // NOLINT(google-build-using-namespace)
using namespace steps::host;  // NOLINT(google-build-using-namespace): the steps' groups and operations at a vertex

/// Whether P runs in buckets here: a thread that has a message may update the target by compare-and-swap. Late and repeated
/// messages do no harm, and messages that were not combined before are such. UpdateStatus sees a copy, so no other thread
/// changes its value.
template <class P>
inline constexpr bool kRunsBuckets =
    Traits<P>::kOrders && !Traits<P>::kSharesSeparately && (sizeof(ValueOf<P>) == 4 || sizeof(ValueOf<P>) == 8);

/// What the members share. Counts twice: while one round fills its own, the last one's may still be read.
struct BucketsShared {
  /// What a member did since the last barrier.
  struct alignas(64) Count {
    std::uint64_t found = 0;  ///< vertices of its list
    std::uint64_t edges = 0, first_edges = 0, updated = 0, first_pending = 0;
    std::int64_t pending = 0;
    bool stop = false;
  };
  using Counts = std::vector<Count>;
  explicit BucketsShared(int members) : lists(members), counts{Counts(members), Counts(members)} {}
  MemberLists lists;
  Counts counts[2];
};

namespace detail {

/// One member's part in rounds.
template <class P, bool kConcurrent>
class BucketWorker {
 public:
  BucketWorker(const StateRef<P>& s, const RoundOf<P>& round) : s_(s), round_(round) {}

  /// Prefetches the values that relaxing v's edges reads first.
  void PrefetchTargets(LocalId v) const {
    const EdgeIndex begin = s_.graph.forward.offsets[v], end = s_.graph.forward.offsets[v + 1];
    for (EdgeIndex e = begin; e < std::min(end, begin + kTargetsOfARow); ++e) {
      PrefetchToWrite(s_.values + s_.graph.forward.neighbours[e]);
    }
  }
  /// Takes an active vertex from where it waited and relaxes its edges.
  void Visit(LocalId v, std::vector<LocalId>* next) {
    atomics::And<kConcurrent>(s_.touched + (v >> 5), ~(1u << (v & 31)));
    if constexpr (kConcurrent) OrderUpdateBeforeLoad();
    const EdgeIndex begin = s_.graph.forward.offsets[v], end = s_.graph.forward.offsets[v + 1];
    count.edges += end - begin;
    if (bits::Set<kConcurrent>(s_.order.seen, v)) count.first_edges += end - begin;
    if (kConcurrent && end - begin >= kHubDegree) {
      CutIntoSlices(s_.slices, &s_.control->slice_count, v, end - begin);
      return;
    }
    Relax(v, begin, end, next);
  }
  void VisitSlice(const Slice& slice, std::vector<LocalId>* next) {
    const EdgeIndex begin = s_.graph.forward.offsets[slice.vertex] + slice.index * kSliceEdges;
    Relax(slice.vertex, begin, std::min(begin + kSliceEdges, s_.graph.forward.offsets[slice.vertex + 1]), next);
  }
  /// A pending vertex whose turn has come, or that waits on.
  bool Release(LocalId v, std::vector<LocalId>* list) {
    const double priority = PriorityOf(s_.program, s_.values[v]);
    if (!GoesNow(priority, s_.order.limit)) {
      count.first_pending = std::max(count.first_pending, PriorityKey(priority));
      return false;
    }
    count.pending -= 1;
    if (bits::Set<kConcurrent>(s_.touched, v)) list->push_back(v);
    return true;
  }
  void SetLimit(double limit) { s_.order.limit = limit; }
  void SetRound(const RoundOf<P>& round) { round_ = round; }

  BucketsShared::Count count;

 private:
  using Value = ValueOf<P>;
  using Message = MessageOf<P>;
  /// What is swapped. A value that is copied as such may lose its padding: see atomics::Update.
  using Word = atomics::Word<sizeof(Value)>;

  Word* WordOf(LocalId v) const { return reinterpret_cast<Word*>(s_.values + v); }
  Value ValueNow(LocalId v) const { return atomics::BitCast<Value>(atomics::Load(WordOf(v))); }

  /// Targets are looked at all together: the atomics of an update let no later load begin before they end.
  void Relax(LocalId source, EdgeIndex begin, EdgeIndex end, std::vector<LocalId>* next) {
    const Value value = ValueNow(source);
    for (; begin < end; begin += 32) {
      const auto edges = static_cast<unsigned>(std::min<EdgeIndex>(end - begin, 32));
      std::uint32_t accepted = 0;
      for (unsigned i = 0; i < edges; ++i) {
        bool accepts = true;
        if constexpr (Traits<P>::kHasFilterMessage) {
          const LocalId target = s_.graph.forward.neighbours[begin + i];
          const Message message = Scatter(s_, value, source, target, s_.graph.forward, begin + i, round_);
          accepts = s_.program.Filter(ValueNow(target), message);
        }
        accepted |= std::uint32_t{accepts} << i;
      }
      for (; accepted != 0; accepted &= accepted - 1) {
        const EdgeIndex e = begin + static_cast<unsigned>(__builtin_ctz(accepted));
        const LocalId target = s_.graph.forward.neighbours[e];
        Update(target, Scatter(s_, value, source, target, s_.graph.forward, e, round_), next);
      }
    }
  }

  void Update(LocalId v, const Message& message, std::vector<LocalId>* next) {
    const Vertex vertex = s_.At(v);
    Word before = atomics::Load(WordOf(v));
    while (true) {
      Value value = atomics::BitCast<Value>(before);
      const bool active = UpdateValue(s_, v, value, message, vertex, round_);
      if constexpr (kConcurrent) {
        const Word after = atomics::BitCast<Word>(value);
        const Word found = after == before ? before : atomics::CompareSwap(WordOf(v), before, after);
        if (found != before) {  // somebody else was faster
          before = found;
          continue;
        }
      } else {
        s_.values[v] = value;
      }
      if (active) Changed(v, value, next);
      return;
    }
  }

  void Changed(LocalId v, const Value& value, std::vector<LocalId>* next) {
    count.updated += 1;
    if constexpr (kConcurrent) OrderUpdateBeforeLoad();
    const double priority = PriorityOf(s_.program, value);
    if (GoesNow(priority, s_.order.limit)) {
      const std::uint32_t bit = 1u << (v & 31);
      std::uint32_t* const word = s_.order.pending + (v >> 5);
      if ((atomics::Load(word) & bit) != 0 && (atomics::And<kConcurrent>(word, ~bit) & bit) != 0) count.pending -= 1;
      if (bits::Set<kConcurrent>(s_.touched, v)) next->push_back(v);
      return;
    }
    count.first_pending = std::max(count.first_pending, PriorityKey(priority));
    if (!bits::Set<kConcurrent>(s_.order.pending, v)) return;
    count.pending += 1;
    bits::Set<kConcurrent>(s_.order.groups, static_cast<LocalId>(v / kPendingGroup));
  }

  StateRef<P> s_;  // a copy: what stores cannot change stays in registers
  RoundOf<P> round_;
};

/// One member's part in a run. All members call the same functions in the same order, and then have the same numbers.
template <class P, bool kConcurrent>
class BucketRun {
 public:
  BucketRun(Group& group, const StateRef<P>& s, BucketsShared& shared, const FusedRun& job)
      : group_(group),
        s_(s),
        shared_(shared),
        rank_(static_cast<std::size_t>(group.rank())),
        members_(static_cast<std::size_t>(group.size())),
        words_(bits::Words(s.graph.owned)),
        job_(job),
        round_(job.round.As<GlobalOf<P>>()),
        worker_(s, round_),
        first_pending_(job.first_pending),
        pending_(job.pending_vertices) {
    worker_.SetLimit(job.buckets.limit());
  }

  /// Runs the job to its end, or until frontiers have been narrow for long, if it `ends_narrow`. Returns where it stands.
  FusedRun Run(bool ends_narrow) {
    std::uint64_t followed = 0;
    std::uint32_t narrow = 0;  // rounds in a row with few edges
    ToLists();
    while (true) {
      while (found_ == 0 && pending_ > 0) Raise();  // NOLINT(bugprone-infinite-loop): SumAndWait() sets both
      if (found_ == 0 || stop_ || job_.push_rounds >= job_.max_rounds) break;
      if (ends_narrow && narrow > kHostRelaxPolicy.narrow_rounds) break;
      followed += found_;
      const std::uint64_t edges = Push();
      narrow = edges < kHostRelaxPolicy.narrow_edges ? narrow + 1 : 0;
    }
    // What is active, if anything is left to do, is left in the bitmap.
    for (std::size_t w = FirstOf(words_, rank_); w < FirstOf(words_, rank_ + 1); ++w) {
      s_.active[w] = std::exchange(s_.touched[w], 0);
    }
    job_.items = job_.items.value_or(0) + followed;
    job_.round.index = round_.index;
    job_.round.active = found_;
    job_.active_vertices = found_;
    job_.first_pending = first_pending_;
    job_.pending_vertices = pending_;
    return job_;
  }

 private:
  /// Where the share of member `rank` begins.
  std::size_t FirstOf(std::size_t words, std::size_t rank) const { return ShareBegin(words, rank, members_); }

  /// Publishes this member's counts, waits at a barrier, and sums the counts of all.
  BucketsShared::Count SumAndWait() {
    BucketsShared::Count& mine = worker_.count;
    mine.stop = rank_ == 0 && job_.stop->stop_requested();
    shared_.counts[turn_][rank_] = mine;
    worker_.count = {};
    group_.sync_soon();
    BucketsShared::Count all;
    for (const BucketsShared::Count& one : shared_.counts[turn_]) {
      all.found += one.found;
      all.edges += one.edges;
      all.first_edges += one.first_edges;
      all.updated += one.updated;
      all.pending += one.pending;
      all.first_pending = std::max(all.first_pending, one.first_pending);
      all.stop = all.stop || one.stop;
    }
    turn_ ^= 1;
    found_ = all.found;
    pending_ += all.pending;
    stop_ = all.stop;
    return all;
  }

  void ToLists() {
    std::vector<LocalId>& mine = shared_.lists.of(which_, rank_);
    for (std::size_t w = FirstOf(words_, rank_); w < FirstOf(words_, rank_ + 1); ++w) {
      const std::uint32_t active = s_.active[w] & bits::Mask(w, s_.graph.owned);
      s_.touched[w] = active;
      for (std::uint32_t rest = active; rest != 0; rest &= rest - 1) {
        mine.push_back(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
      }
    }
    worker_.count.found = mine.size();
    SumAndWait();
  }

  /// Raises the limit, and releases the pending vertices below it.
  void Raise() {
    job_.buckets.Raise(PriorityOfKey(first_pending_));
    worker_.SetLimit(job_.buckets.limit());
    std::vector<LocalId>& mine = shared_.lists.of(which_, rank_);
    const std::size_t groups = bits::Words((s_.graph.owned + kPendingGroup - 1) / kPendingGroup);
    for (std::size_t i = FirstOf(groups, rank_); i < FirstOf(groups, rank_ + 1); ++i) {
      for (std::uint32_t rest = s_.order.groups[i]; rest != 0; rest &= rest - 1) {
        const std::size_t pending_group = i * 32 + static_cast<std::size_t>(__builtin_ctz(rest));
        if (!Release(pending_group, mine)) s_.order.groups[i] &= ~(rest & (0 - rest));
      }
    }
    worker_.count.found = mine.size();
    first_pending_ = SumAndWait().first_pending;
  }
  /// Releases the vertices of a group of words; returns whether some wait on.
  bool Release(std::size_t pending_group, std::vector<LocalId>& released) {
    constexpr std::size_t kGroupWords = kPendingGroup / 32;
    const std::size_t first = pending_group * kGroupWords;
    bool left = false;
    for (std::size_t w = first; w < std::min(first + kGroupWords, words_); ++w) {
      std::uint32_t word = s_.order.pending[w];
      if (word == 0) continue;
      for (std::uint32_t waiting = word; waiting != 0; waiting &= waiting - 1) {
        const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(waiting)));
        if (worker_.Release(v, &released)) word &= ~(waiting & (0 - waiting));
      }
      s_.order.pending[w] = word;
      left = left || word != 0;
    }
    return left;
  }

  /// One round; returns its edges.
  std::uint64_t Push() {
    const std::vector<LocalId>& next = VisitFrontier(group_, s_, shared_.lists, which_, worker_, [this](LocalId v) {
      const EdgeIndex row = s_.graph.forward.offsets[v];
      Prefetch(s_.graph.forward.neighbours + row);
      if constexpr (!std::is_same_v<WeightOf<P>, None>) {
        Prefetch(static_cast<const WeightOf<P>*>(s_.graph.forward.weights) + row);
      }
    });
    worker_.count.found = next.size();
    const BucketsShared::Count all = SumAndWait();
    which_ ^= 1;
    first_pending_ = std::max(first_pending_, all.first_pending);
    job_.buckets.Record(all.edges, all.first_edges);
    job_.push_rounds += 1;
    job_.edges_touched += all.edges;
    job_.vertices_updated += all.updated;
    round_.index += 1;
    round_.active = found_;
    worker_.SetRound(round_);
    return all.edges;
  }

  Group& group_;
  const StateRef<P>& s_;
  BucketsShared& shared_;
  const std::size_t rank_, members_;
  const std::size_t words_;  // of a bitmap of owned vertices
  FusedRun job_;             // where the run stands
  RoundOf<P> round_;
  BucketWorker<P, kConcurrent> worker_;
  std::size_t which_ = 0, turn_ = 0;  // of two sets of lists, of two sets of counts
  std::uint64_t found_ = 0, first_pending_;
  std::int64_t pending_;
  bool stop_ = false;
};

}  // namespace detail

/// As FusedEngine::Run, of a program that orders and a run in buckets. Every member calls it with the same `job`, and
/// returns the same. `ends_narrow`: also once frontiers have been narrow for long.
template <class P>
FusedRun RunBuckets(Group& group, const StateRef<P>& s, BucketsShared& shared, bool ends_narrow, const FusedRun& job) {
  return group.size() > 1 ? detail::BucketRun<P, true>(group, s, shared, job).Run(ends_narrow)
                          : detail::BucketRun<P, false>(group, s, shared, job).Run(ends_narrow);
}

}  // namespace chatty::fused::host
