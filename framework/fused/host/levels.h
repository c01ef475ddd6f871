/// \file
/// Rounds on host threads that have the whole graph, of a program whose first messages suffice. A round is part of one team
/// job and costs a barrier; edges update values directly, without inboxes. A push updates its targets by compare-and-swap. A
/// pull updates each vertex that has an active in-neighbour. For a breadth-first search this is the direction-optimising
/// search of Beamer, Asanović and Patterson, SC'12.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Whether of a round's messages the one from the row's first source stands for all, so that pushes have to find out which
/// that is: Filter(value, message) says which is better than what the round has left so far.
template <class P>
inline constexpr bool kTakesFirstInRow = [] {
  using T = Traits<P>;
  return T::kFirstInRowSuffices && T::kHasFilterMessage && T::kEdges != Edges::kBoth;
}();

/// Whether a thread that has a message may update the target by it: late and repeated messages do no harm, any message of a
/// round suffices or the first in a row, and no result of a single round is asked for.
template <class P>
inline constexpr bool kRunsInPlace = [] {
  using T = Traits<P>;
  constexpr bool kAnyMessage = T::kAnyMessageSuffices && !T::kHasFilterMessage;
  constexpr bool kNoPerRoundResult = !T::kOrders && !T::kHasMeasure;
  constexpr bool kSwaps = (sizeof(ValueOf<P>) == 4 || sizeof(ValueOf<P>) == 8) && sizeof(SharedOf<P>) <= 8;
  return AsynchronousProgram<P> && P::kSafety == Safety::kMonotone && T::kHasFilter && T::kCanPush && kNoPerRoundResult &&
         kSwaps && (kAnyMessage || kTakesFirstInRow<P>);
}();

/// The value that the vertices changed in a round share, if it is the same for all, as levels are in a search: a pull then
/// need not read the values of its sources.
class SharedValue {
 public:
  /// Adds what one vertex shares.
  template <class Shared>
  void Add(const Shared& share) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &share, sizeof(share));
    if (none_) {
      bits_ = bits;
      none_ = false;
    }
    same_ = same_ && bits == bits_;
  }
  /// Adds all that `other` has.
  void Add(const SharedValue& other) {
    if (other.none_) return;
    if (none_) *this = other;
    same_ = same_ && other.same_ && bits_ == other.bits_;
  }
  /// Whether there is one value, the same for all.
  explicit operator bool() const { return same_ && !none_; }
  /// The value.
  template <class Shared>
  Shared Get() const {
    Shared share;
    std::memcpy(&share, &bits_, sizeof(share));
    return share;
  }

 private:
  std::uint64_t bits_ = 0;
  bool none_ = true, same_ = true;
};

/// What the members share. Counts twice: while one round fills its own, the last one's may still be read.
struct InPlaceShared {
  /// What a member did since the last barrier.
  struct alignas(64) Count {
    std::uint64_t found = 0, edges = 0, examined = 0;
    std::int64_t candidate_edges = 0;  ///< change
    SharedValue share;
    bool stop = false;
  };
  using Counts = std::vector<Count>;
  InPlaceShared(int members, LocalId owned)
      : lists(members), counts{Counts(members), Counts(members)}, candidates(bits::Words(owned)) {}
  MemberLists lists;
  Counts counts[2];
  /// Where the first member leaves the run to the others, after rounds without them.
  struct Alone {
    FusedRun job;
    std::uint32_t round = 0;  ///< index of the next
    SharedValue share;        ///< what its frontier shares
    std::size_t which = 0;    ///< the lists that hold it
    bool stop = false;        ///< the run ends early
  };
  Alone alone;
  /// Candidates of the next pull: Filter accepted them at the last pull, and they have in-edges. Others never become
  /// candidates again. Filled by the first pull.
  std::vector<std::uint32_t> candidates;
};

namespace detail {

/// Edges of a frontier that one member walks before another has woken up: as many as it takes alone, round after round, and
/// as many as it then calls the others for.
inline constexpr std::uint64_t kEdgesAlone = 64, kEdgesTogether = 256;

/// Vertices for which Filter is called in the time of one pushed edge.
inline constexpr LocalId kVerticesAnEdge = 64;

/// One member's part in rounds. `touched`: vertices in a list that Filter still accepts. A vertex that Filter no longer
/// accepts is listed once, by the update after which Filter rejects it.
template <class P, bool kConcurrent>
class InPlaceWorker {
 public:
  InPlaceWorker(const StateRef<P>& s, const RoundOf<P>& round) : s_(s), round_(round) {}

  /// Prefetches the values that a push from v reads first: its updates let no later load begin.
  void PrefetchTargets(LocalId v) const {
    const EdgeIndex begin = s_.graph.forward.offsets[v], end = s_.graph.forward.offsets[v + 1];
    for (EdgeIndex e = begin; e < std::min(end, begin + kTargetsOfARow); ++e) {
      const LocalId target = s_.graph.forward.neighbours[e];
      PrefetchToWrite(s_.values + target);
      s_.graph.forward.offsets.Prefetch(target);
    }
  }
  /// Pushes from an active vertex.
  void Visit(LocalId v, std::vector<LocalId>* next) {
    Unlist(v);
    const EdgeIndex begin = s_.graph.forward.offsets[v], end = s_.graph.forward.offsets[v + 1];
    count.examined += end - begin;
    if (kConcurrent && end - begin >= kHubDegree) {
      CutIntoSlices(s_.slices, &s_.control->slice_count, v, end - begin);
      return;
    }
    Push(v, begin, end, next);
  }
  void VisitSlice(const Slice& slice, std::vector<LocalId>* next) {
    const EdgeIndex begin = s_.graph.forward.offsets[slice.vertex] + slice.index * kSliceEdges;
    Push(slice.vertex, begin, std::min(begin + kSliceEdges, s_.graph.forward.offsets[slice.vertex + 1]), next);
  }
  /// Puts an active vertex into a list.
  void List(LocalId v, std::vector<LocalId>* list) {
    if (s_.program.Filter(ValueNow(v))) bits::Set<kConcurrent>(s_.touched, v);
    list->push_back(v);
  }
  void Unlist(LocalId v) {
    const std::uint32_t bit = 1u << (v & 31);
    if ((atomics::Load(s_.touched + (v >> 5)) & bit) == 0) return;
    atomics::And<kConcurrent>(s_.touched + (v >> 5), ~bit);
    if constexpr (kConcurrent) OrderUpdateBeforeLoad();
  }
  /// The bits of word w's vertices below `end` that Filter accepts and that have in-edges. Prefetches the begins of their
  /// rows. If `last` is `filled`, only its vertices are looked at.
  std::uint32_t Candidates(std::vector<std::uint32_t>& last, bool filled, std::size_t w, std::size_t end) const {
    std::uint32_t candidates = 0;
    for (std::uint32_t rest = filled ? last[w] : bits::Mask(w, end); rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<unsigned>(__builtin_ctz(rest));
      candidates |= std::uint32_t{s_.program.Filter(s_.values[w * 32 + bit])} << bit;
    }
    const AdjacencyRef& rows = s_.graph.reverse;
    for (std::uint32_t rest = candidates; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<unsigned>(__builtin_ctz(rest));
      const auto v = static_cast<LocalId>(w * 32 + bit);
      const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
      candidates ^= std::uint32_t{begin == end} << bit;
      Prefetch(rows.neighbours + begin);
    }
    last[w] = candidates;
    return candidates;
  }
  /// Pulls into those of word w's vertices that are in `candidates`, each from the first source that is in `active`, and
  /// clears in `next_candidates` what Filter no longer accepts. Returns the bits of vertices that became active.
  std::uint32_t Pull(const std::uint32_t* active, std::size_t w, std::uint32_t candidates, std::uint32_t& next_candidates) {
    EdgeIndex first[32];
    const AdjacencyRef rows = s_.graph.reverse;
    std::uint32_t found = 0, changed = 0;
    std::uint64_t examined = 0;
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto bit = static_cast<unsigned>(__builtin_ctz(candidates));
      const auto v = static_cast<LocalId>(w * 32 + bit);
      const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
      EdgeIndex e = begin;
      while (e < end && !bits::Test(active, rows.neighbours[e])) ++e;
      first[bit] = e;
      examined += e - begin;
      if (e == end) continue;
      ++examined;
      found |= 1u << bit;
      if (!common_) Prefetch(s_.values + rows.neighbours[e]);
    }
    count.examined += examined;
    for (std::uint32_t rest = found; rest != 0; rest &= rest - 1) {  // apart, so that sources' values come for many at once
      const auto bit = static_cast<unsigned>(__builtin_ctz(rest));
      const auto v = static_cast<LocalId>(w * 32 + bit);
      const LocalId source = rows.neighbours[first[bit]];
      const Shared share = common_ ? share_ : ShareNow(source);
      const Message message = Scatter(s_, share, source, v, rows, first[bit], round_);
      Value value = ValueNow(v);  // nobody else's to change meanwhile
      const bool is_active = UpdateValue(s_, v, value, message, s_.At(v), round_);
      atomics::Store(WordOf(v), atomics::BitCast<Word>(value));
      changed |= std::uint32_t{is_active} << bit;
      next_candidates &= ~(std::uint32_t{!s_.program.Filter(value)} << bit);
      CountChanged(v, value, true, is_active);
    }
    return changed;
  }
  /// Before each round but the first: where the run stands, and what the frontier shares.
  void SetRound(const RoundOf<P>& round, const SharedValue& share) {
    round_ = round;
    common_ = bool{share};
    if (common_) share_ = share.Get<Shared>();
  }

  InPlaceShared::Count count;

 private:
  using Value = ValueOf<P>;
  using Message = MessageOf<P>;
  using Shared = SharedOf<P>;
  /// What is swapped. A value that is copied as such may lose its padding: see atomics::Update.
  using Word = atomics::Word<sizeof(Value)>;

  Word* WordOf(LocalId v) const { return reinterpret_cast<Word*>(s_.values + v); }
  Value ValueNow(LocalId v) const { return atomics::BitCast<Value>(atomics::Load(WordOf(v))); }
  Shared ShareOf(LocalId v, const Value& value) const {
    if constexpr (Traits<P>::kSharesSeparately) {
      return s_.program.Share(value, s_.At(v));
    } else {
      return value;
    }
  }
  Shared ShareNow(LocalId v) const { return ShareOf(v, ValueNow(v)); }

  /// Targets are looked at all together: the atomics of an update let no later load begin before they end.
  void Push(LocalId source, EdgeIndex begin, EdgeIndex end, std::vector<LocalId>* next) {
    const Shared share = ShareNow(source);
    for (; begin < end; begin += 32) {
      const auto edges = static_cast<unsigned>(std::min<EdgeIndex>(end - begin, 32));
      std::uint32_t accepted = 0;
      for (unsigned i = 0; i < edges; ++i) {
        const LocalId target = s_.graph.forward.neighbours[begin + i];
        accepted |=
            std::uint32_t{Takes(ValueNow(target),
                                [&] { return Scatter(s_, share, source, target, s_.graph.forward, begin + i, round_); })}
            << i;
      }
      for (std::uint32_t rest = accepted; rest != 0;
           rest &= rest - 1) {  // for CountChanged, whose loads would wait for each swap
        s_.graph.forward.offsets.Prefetch(s_.graph.forward.neighbours[begin + static_cast<unsigned>(__builtin_ctz(rest))]);
      }
      for (; accepted != 0; accepted &= accepted - 1) {
        const EdgeIndex e = begin + static_cast<unsigned>(__builtin_ctz(accepted));
        const LocalId target = s_.graph.forward.neighbours[e];
        Update(target, Scatter(s_, share, source, target, s_.graph.forward, e, round_), next);
      }
    }
  }

  /// Whether a value is to be updated by what `message` returns.
  template <class MakeMessage>
  bool Takes(const Value& value, MakeMessage&& message) const {
    if constexpr (kTakesFirstInRow<P>) {
      return s_.program.Filter(value, message());
    } else {
      return s_.program.Filter(value);
    }
  }

  void Update(LocalId v, const Message& message, std::vector<LocalId>* next) {
    const Vertex vertex = s_.At(v);
    Word before = atomics::Load(WordOf(v));
    while (true) {
      Value value = atomics::BitCast<Value>(before);
      if (!Takes(value, [&] { return message; })) return;
      const bool was_candidate = s_.program.Filter(value);
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
      const bool listed = active && s_.program.Filter(value) && !bits::Set<kConcurrent>(s_.touched, v);
      CountChanged(v, value, was_candidate, active && !listed);
      if (active && !listed) next->push_back(v);
      return;
    }
  }

  /// Counts vertex v, which has got `value`: Filter accepted it before if `was_candidate`, and it is in the next frontier if
  /// `active`.
  void CountChanged(LocalId v, const Value& value, bool was_candidate, bool active) {
    count.share.Add(ShareOf(v, value));
    if (active) {
      count.found += 1;
      count.edges += s_.graph.forward.degree(v);
    }
    if (was_candidate && !s_.program.Filter(value))
      count.candidate_edges -= static_cast<std::int64_t>(s_.graph.reverse.degree(v));
  }

  StateRef<P> s_;  // a copy: what stores cannot change stays in registers
  RoundOf<P> round_;
  bool common_ = false;  // all of the frontier share share_
  Shared share_{};
};

/// One member's part in a run. All members call the same functions in the same order, and then have the same numbers.
template <class P, bool kConcurrent>
class InPlaceRun {
 public:
  InPlaceRun(Group& group, const StateRef<P>& s, InPlaceShared& shared, const FusedRun& job)
      : group_(group),
        s_(s),
        shared_(shared),
        rank_(static_cast<std::size_t>(group.rank())),
        members_(static_cast<std::size_t>(group.size())),
        first_(ShareBegin(bits::Words(s.graph.owned), rank_, members_)),
        last_(ShareBegin(bits::Words(s.graph.owned), rank_ + 1, members_)),
        job_(job),
        round_(job.round.As<GlobalOf<P>>()),
        worker_(s, round_),
        active_(s.active),
        next_active_(s.touched) {}

  /// Runs the job to its end, or until frontiers have been narrow for long, if it `ends_narrow`. Returns where it stands.
  FusedRun Run(bool ends_narrow) {
    const std::uint64_t entered = job_.active_vertices, updated_before = job_.vertices_updated;
    job_.chooser.SetPushCost(kInPlaceFrontier.push_cost);
    while (GoesOn()) {
      narrow_ = job_.ahead.active_edges < kHostRelaxPolicy.narrow_edges ? narrow_ + 1 : 0;
      if (ends_narrow && narrow_ > kHostRelaxPolicy.narrow_rounds) break;
      // A pull examines all vertices, however few edges it then reads.
      const bool small = job_.ahead.active_edges < s_.graph.owned / kVerticesAnEdge;
      const bool pulls = job_.chooser.UsePull(job_.ahead, round_.vertices) && !(small && listed_ && job_.chooser.Chooses());
      if (pulls == listed_) pulls ? ToBitmap() : ToLists();
      if (members_ > 1 && small && !pulls && job_.ahead.active_edges < kEdgesAlone) {
        const std::uint32_t before = job_.push_rounds;
        PushAlone(ends_narrow);
        narrow_ += job_.push_rounds - before - 1;
        continue;
      }
      pulls ? Pull() : Push();
      NextRound();
    }
    // What is active, if anything is left to do, is left in the bitmap, and nothing in the other.
    if (!listed_) ToLists();
    ToBitmap();
    // Each frontier was followed but the one that is left.
    job_.items = job_.items.value_or(0) + entered + (job_.vertices_updated - updated_before) - job_.active_vertices;
    job_.round.index = round_.index;
    job_.round.active = round_.active;
    return job_;
  }

 private:
  bool GoesOn() const { return job_.active_vertices > 0 && !stop_ && job_.push_rounds + job_.pull_rounds < job_.max_rounds; }
  void NextRound() {
    round_.index += 1;
    round_.active = job_.active_vertices;
    worker_.SetRound(round_, share_);
  }
  /// Takes what a round counted as the state of the run.
  void Record(const InPlaceShared::Count& counted) {
    job_.active_vertices = counted.found;
    job_.ahead.active_edges = counted.edges;
    job_.ahead.candidate_edges += counted.candidate_edges;
    job_.edges_touched += counted.examined;
    job_.vertices_updated += counted.found;
    share_ = counted.share;
  }
  /// Publishes this member's counts, waits at a barrier, and sums the counts of all. Returns the edges examined.
  std::uint64_t SumAndWait() {
    InPlaceShared::Count& mine = worker_.count;
    mine.stop = rank_ == 0 && job_.stop->stop_requested();
    shared_.counts[turn_][rank_] = mine;
    worker_.count = {};
    group_.sync_soon();
    InPlaceShared::Count all;
    for (const InPlaceShared::Count& one : shared_.counts[turn_]) {
      all.found += one.found;
      all.edges += one.edges;
      all.examined += one.examined;
      all.candidate_edges += one.candidate_edges;
      all.share.Add(one.share);
      all.stop = all.stop || one.stop;
    }
    turn_ ^= 1;
    stop_ = all.stop;
    Record(all);
    return all.examined;
  }

  void ToLists() {
    std::vector<LocalId>& mine = shared_.lists.Clear(which_, rank_);
    if (active_ != s_.active) {
      std::copy(active_ + first_, active_ + last_, next_active_ + first_);
      std::swap(active_, next_active_);
    }
    std::fill(next_active_ + first_, next_active_ + last_, 0);  // gets those in a list that Filter accepts
    for (std::size_t w = first_; w < last_; ++w) {
      for (std::uint32_t rest = active_[w] & bits::Mask(w, s_.graph.owned); rest != 0; rest &= rest - 1) {
        worker_.List(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))), &mine);
      }
    }
    group_.sync_soon();
    listed_ = true;
  }
  /// Each member reads all lists for the vertices of its own words, whose cache lines stay with it. If each set the bits of
  /// its own list, lines would move between caches, which takes longer.
  void ToBitmap() {
    std::uint32_t* const active = active_;
    const std::size_t first = first_, words = last_ - first_;
    std::fill_n(active + first, words, 0);
    std::fill_n(next_active_ + first, words, 0);
    std::uint32_t ignored = 0;  // takes the bits of others' words: a branch would be mispredicted
    for (std::size_t member = 0; member < members_; ++member) {
      for (const LocalId v : shared_.lists.of(which_, member)) {
        const std::size_t w = v >> 5;
        *(w - first < words ? active + w : &ignored) |= 1u << (v & 31);
      }
    }
    group_.sync_soon();
    listed_ = false;
  }

  void Push() {
    VisitFrontier(group_, s_, shared_.lists, which_, worker_,
                  [this](LocalId v) { Prefetch(s_.graph.forward.neighbours + s_.graph.forward.offsets[v]); });
    SumAndWait();
    which_ ^= 1;
    job_.push_rounds += 1;
  }
  /// Rounds of a few edges, one after the other, by the first member: beside other work each barrier costs the others a wait
  /// for a core. A small frontier is not pulled, so the direction is not chosen again.
  void PushAlone(bool ends_narrow) {
    if (rank_ == 0) {
      const std::uint32_t before = job_.push_rounds;
      const std::uint64_t together = std::min<std::uint64_t>(kEdgesTogether, s_.graph.owned / kVerticesAnEdge);
      do {
        std::vector<LocalId>& next = shared_.lists.Clear(which_ ^ 1, 0);
        for (std::size_t member = 1; member < members_; ++member) shared_.lists.Clear(which_ ^ 1, member);
        shared_.lists.TakeAll(which_, [&](std::span<const LocalId> vertices) {
          for (const LocalId v : vertices) worker_.Visit(v, &next);
        });
        which_ ^= 1;
        Record(worker_.count);
        worker_.count = {};
        job_.push_rounds += 1;
        NextRound();
        stop_ = job_.stop->stop_requested();
      } while (GoesOn() && job_.ahead.active_edges < together &&
               !(ends_narrow && narrow_ + (job_.push_rounds - before) > kHostRelaxPolicy.narrow_rounds));
      shared_.alone = {job_, round_.index, share_, which_, stop_};
    }
    group_.sync_soon();
    const InPlaceShared::Alone& alone = shared_.alone;
    job_ = alone.job;
    share_ = alone.share;
    which_ = alone.which;
    stop_ = alone.stop;
    round_.index = alone.round;
    round_.active = job_.active_vertices;
    worker_.SetRound(round_, share_);
  }
  void Pull() {
    const Ahead before = job_.ahead;
    group_.Sweep(s_.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      std::uint32_t candidates = worker_.Candidates(shared_.candidates, filled_, begin / 32, end);
      for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
        const std::uint32_t following =
            w + 1 < bits::Words(end) ? worker_.Candidates(shared_.candidates, filled_, w + 1, end) : 0;
        next_active_[w] = worker_.Pull(active_, w, candidates, shared_.candidates[w]);
        candidates = following;
      }
    });
    const std::uint64_t examined = SumAndWait();
    filled_ = true;
    std::swap(active_, next_active_);
    job_.chooser.Learn(before, round_.vertices, examined);
    job_.pull_rounds += 1;
  }

  Group& group_;
  const StateRef<P>& s_;
  InPlaceShared& shared_;
  const std::size_t rank_, members_;
  const std::size_t first_, last_;  // this member's words
  FusedRun job_;                    // where the run stands
  RoundOf<P> round_;
  InPlaceWorker<P, kConcurrent> worker_;
  SharedValue share_;                 // what the frontier shares
  std::size_t which_ = 0, turn_ = 0;  // of two sets of lists, of two sets of counts
  std::uint32_t narrow_ = 0;          // rounds in a row with few edges
  bool stop_ = false;
  // The frontier is a bitmap, of which pulls make another, or lists.
  std::uint32_t *active_, *next_active_;
  bool listed_ = false, filled_ = false;  // filled: shared_.candidates
};

}  // namespace detail

/// As FusedEngine::Run, of a program that runs in place. Every member calls it with the same `job`, and returns the same.
/// `ends_narrow`: also once frontiers have been narrow for long.
template <class P>
FusedRun RunInPlace(Group& group, const StateRef<P>& s, InPlaceShared& shared, bool ends_narrow, const FusedRun& job) {
  return group.size() > 1 ? detail::InPlaceRun<P, true>(group, s, shared, job).Run(ends_narrow)
                          : detail::InPlaceRun<P, false>(group, s, shared, job).Run(ends_narrow);
}

}  // namespace chatty::fused::host
