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
struct BucketBoard {
  /// What a member did since the last barrier.
  struct alignas(64) Count {
    std::uint64_t found = 0;  ///< vertices of its list
    std::uint64_t edges = 0, first_edges = 0, updated = 0, first_pending = 0;
    std::int64_t pending = 0;
    bool stop = false;
  };
  using Counts = std::vector<Count>;
  explicit BucketBoard(int members) : lists(members), counts{Counts(members), Counts(members)} {}
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
      const auto pieces = static_cast<std::uint32_t>((end - begin + kSliceEdges - 1) / kSliceEdges);
      const std::uint32_t at = atomics::Add<true>(&s_.control->slice_count, pieces);
      for (std::uint32_t i = 0; i < pieces; ++i) s_.slices[at + i] = {v, i};
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

  BucketBoard::Count count;

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

/// Runs `job` to its end, or until frontiers have been narrow for long; every member calls it with the same, and returns the
/// same.
template <class P, bool kConcurrent>
FusedRun RunBuckets(Group& group, const StateRef<P>& s, BucketBoard& board, bool ends_narrow, FusedRun job) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  RoundOf<P> round = job.round.As<GlobalOf<P>>();
  BucketWorker<P, kConcurrent> worker(s, round);
  worker.SetLimit(job.buckets.limit());
  std::size_t which = 0, turn = 0;
  std::uint64_t followed = 0, found = 0, first_pending = job.first_pending;
  std::int64_t pending = job.pending_vertices;
  std::uint32_t narrow = 0;
  bool stop = false;
  // Each member publishes its counts, waits at a barrier, and sums the counts of all.
  const auto sum_and_wait = [&] {
    BucketBoard::Count& mine = worker.count;
    mine.stop = rank == 0 && job.stop->stop_requested();
    board.counts[turn][rank] = mine;
    worker.count = {};
    group.sync_soon();
    BucketBoard::Count all;
    for (const BucketBoard::Count& one : board.counts[turn]) {
      all.found += one.found;
      all.edges += one.edges;
      all.first_edges += one.first_edges;
      all.updated += one.updated;
      all.pending += one.pending;
      all.first_pending = std::max(all.first_pending, one.first_pending);
      all.stop = all.stop || one.stop;
    }
    turn ^= 1;
    found = all.found;
    pending += all.pending;
    stop = all.stop;
    return all;
  };
  const auto stretch = [&](std::size_t words, std::size_t r) { return Stretch(words, r, members); };

  const std::size_t words = bits::Words(s.graph.owned);
  {
    std::vector<LocalId>& mine = board.lists.of(which, rank);
    for (std::size_t w = stretch(words, rank); w < stretch(words, rank + 1); ++w) {
      const std::uint32_t active = s.active[w] & bits::Mask(w, s.graph.owned);
      s.touched[w] = active;
      for (std::uint32_t rest = active; rest != 0; rest &= rest - 1) {
        mine.push_back(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
      }
    }
    worker.count.found = mine.size();
    sum_and_wait();
  }
  const bool hubs = kConcurrent && s.graph.forward.max_degree >= kHubDegree;
  while (true) {
    while (found == 0 && pending > 0) {  // NOLINT(bugprone-infinite-loop): sum_and_wait() sets both
      job.buckets.Raise(PriorityOfKey(first_pending));
      worker.SetLimit(job.buckets.limit());
      std::vector<LocalId>& mine = board.lists.of(which, rank);
      constexpr std::size_t kGroupWords = kPendingGroup / 32;
      const std::size_t groups = bits::Words((s.graph.owned + kPendingGroup - 1) / kPendingGroup);
      for (std::size_t i = stretch(groups, rank); i < stretch(groups, rank + 1); ++i) {
        for (std::uint32_t rest = s.order.groups[i]; rest != 0; rest &= rest - 1) {
          const std::size_t first = (i * 32 + static_cast<std::size_t>(__builtin_ctz(rest))) * kGroupWords;
          bool left = false;
          for (std::size_t w = first; w < std::min(first + kGroupWords, words); ++w) {
            std::uint32_t word = s.order.pending[w];
            if (word == 0) continue;
            for (std::uint32_t waiting = word; waiting != 0; waiting &= waiting - 1) {
              const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(waiting)));
              if (worker.Release(v, &mine)) word &= ~(waiting & (0 - waiting));
            }
            s.order.pending[w] = word;
            left = left || word != 0;
          }
          if (!left) s.order.groups[i] &= ~(rest & (0 - rest));
        }
      }
      worker.count.found = mine.size();
      first_pending = sum_and_wait().first_pending;
    }
    if (found == 0 || stop || job.push_rounds >= job.max_rounds) break;  // with something active if anything is left to do
    if (ends_narrow && narrow > kHostRelaxPolicy.narrow_rounds) break;
    followed += found;
    // The last round's lists, of which nobody takes any more, become the next one's.
    std::vector<LocalId>& next = board.lists.Clear(which ^ 1, rank);
    BucketWorker<P, kConcurrent> mine = worker;  // whose counts nobody else sees meanwhile: they stay in registers
    PrefetchPipeline ahead;
    board.lists.Take(which, rank, members, [&](std::span<const LocalId> vertices, std::size_t following) {
      ahead.Walk(
          vertices, following,
          [&](LocalId v) {
            const EdgeIndex row = s.graph.forward.offsets[v];
            Prefetch(s.graph.forward.neighbours + row);
            if constexpr (!std::is_same_v<WeightOf<P>, None>) {
              Prefetch(static_cast<const WeightOf<P>*>(s.graph.forward.weights) + row);
            }
          },
          [&](LocalId v) { mine.PrefetchTargets(v); }, [&](LocalId v) { mine.Visit(v, &next); });
    });
    worker.count = mine.count;
    if (hubs) {
      group.sync_soon();
      const std::uint32_t slices = atomics::Load(&s.control->slice_count);
      if (slices > 0) {
        group.Sweep(slices, 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) worker.VisitSlice(s.slices[i], &next);
        });
        group.sync_soon();  // all have read their number
        if (rank == 0) s.control->slice_count = 0;
      }
    }
    worker.count.found = next.size();
    const BucketBoard::Count all = sum_and_wait();
    which ^= 1;
    first_pending = std::max(first_pending, all.first_pending);
    job.buckets.Record(all.edges, all.first_edges);
    narrow = all.edges < kHostRelaxPolicy.narrow_edges ? narrow + 1 : 0;
    job.push_rounds += 1;
    job.edges_touched += all.edges;
    job.vertices_updated += all.updated;
    round.index += 1;
    round.active = found;
    worker.SetRound(round);
  }
  // What is active, if anything is left to do, is left in the bitmap.
  for (std::size_t w = stretch(words, rank); w < stretch(words, rank + 1); ++w) s.active[w] = std::exchange(s.touched[w], 0);
  job.items = job.items.value_or(0) + followed;
  job.round.index = round.index;
  job.round.active = found;
  job.active_vertices = found;
  job.first_pending = first_pending;
  job.pending_vertices = pending;
  return job;
}

}  // namespace detail

/// As FusedEngine::Run, of a program that orders and a run in buckets. Every member calls it with the same `job`, and
/// returns the same. `ends_narrow`: also once frontiers have been narrow for long.
template <class P>
FusedRun RunBuckets(Group& group, const StateRef<P>& s, BucketBoard& board, bool ends_narrow, const FusedRun& job) {
  return group.size() > 1 ? detail::RunBuckets<P, true>(group, s, board, ends_narrow, job)
                          : detail::RunBuckets<P, false>(group, s, board, ends_narrow, job);
}

}  // namespace chatty::fused::host
