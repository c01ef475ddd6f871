/// \file
/// Rounds of any width in one resident kernel, on a GPU that has the whole graph or on several that have a part each. The
/// kernel loops over the steps that the host otherwise launches one by one: first values and frontier, push or pull,
/// updates. A barrier of the grid is between two steps that depend on each other, and each block decides by the same
/// counters what follows. Several GPUs exchange bits and counters as fused/wide_team.h has it; all of them make the same
/// decisions.
///
/// A search of few levels spends a third of its time in launches, and in counters that the host waits for
/// (docs/performance/log/2026-11-30-wide-rounds-in-a-kernel.md). Here it costs one launch and one report. The price is
/// occupancy: all steps have the registers of the one that needs most.
///
/// Two sets of counters take turns. A round counts in one; all blocks read it behind the round's last barrier. During the
/// next round, the first block clears it, behind a barrier that all blocks pass after they have read it. Conversions of the
/// frontier count in a set of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/bitmap.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/cuda/grid_barrier.cuh"
#include "chatty/framework/fused/cuda/wide_rounds_memory.h"
#include "chatty/framework/fused/cuda/wide_team.cuh"
#include "chatty/framework/steps/cuda/apply.cuh"
#include "chatty/framework/steps/cuda/frontier.cuh"
#include "chatty/framework/steps/cuda/pull.cuh"
#include "chatty/framework/steps/cuda/push.cuh"

namespace chatty::fused::cuda {

/// Where rounds stand between two of them: sums of all GPUs, but for the frontier, which is this one's.
struct WideProgress {
  DirectionChooser chooser;
  Ahead ahead;
  std::uint64_t active_vertices = 0;
  std::uint64_t first_active = 0;  ///< active_vertices after the first values, if the run begins
  std::uint64_t count = 0;         ///< entries of a frontier that is a queue
  Form form = Form::kBitmap;       ///< of the frontier
  bool in_next = false;            ///< the queue is StateRef::next, as after an odd number of exchanges
  bool queue_has_one = false;      ///< the frontier is a bitmap with one vertex, which is in the queue, too
  std::uint32_t narrow_rounds = 0, push_rounds = 0, pull_rounds = 0;
  std::uint64_t edges_touched = 0, vertices_updated = 0;
};

/// What the next round does.
struct WideRound {
  bool ends = false;      ///< nothing: the kernel ends
  bool pull = false;      ///< else a push
  bool converts = false;  ///< after the frontier has changed its form
  bool queues = false;    ///< a push lists its targets
  bool slices = false;    ///< some rows may be cut into slices
  bool is_a_hub = false;  ///< this GPU's frontier is one vertex, perhaps a hub
};

/// The kernel's result, in mapped host memory.
struct WideReport {
  WideProgress progress;
  std::uint64_t barriers = 0;  ///< at which blocks have met since the words were zero
  /// @{
  /// Of several GPUs.
  WideShare share;
  std::uint32_t epoch = 0;  ///< barriers of all
  bool failed = false;      ///< whether the run has failed: then nothing else here means anything
  /// @}
  alignas(64) std::uint32_t ticket = 0;  ///< written last
};

/// The kernel's input.
template <class P>
struct WideRoundsRef {
  WideControl* controls = nullptr;  ///< kWideControls, zero before and after
  PlainBarrierWords* barrier = nullptr;
  std::uint64_t barriers = 0;  ///< as WideReport::barriers, before
  WideReport* report = nullptr;
  std::uint32_t ticket = 0;                ///< the report's
  volatile std::uint32_t* host = nullptr;  ///< mapped: whether to stop; the round, by which the host sees progress
  const InputOf<P>* input = nullptr;
  bool begins = false;            ///< Init first
  bool skips_last_round = false;  ///< a round without candidates changes nothing, and is the last
  std::uint32_t max_rounds = 0;
  /// @{
  /// The kernel ends after more than so many rounds in a row with fewer edges, which another engine does better.
  std::uint32_t narrow_rounds = 0;
  std::uint64_t narrow_edges = 0;
  /// @}
  WideProgress progress;
};

/// The input of a kernel of several GPUs.
template <class P>
struct WideTeamRoundsRef : WideRoundsRef<P> {
  WideTeamRef team;
};

namespace detail {

/// One run of the kernel, as one thread sees it. Peers: NoPeers or WidePeers.
template <class P, class Peers>
class WideRun {
 public:
  static constexpr bool kSeveral = Peers::kSeveral;

  __device__ WideRun(const StateRef<P>& s, const RoundOf<P>& round, const WideRoundsRef<P>& a, Peers peers,
                     WideProgress* progress, WideRound* next)
      : s_(s), round_(round), a_(a), peers_(peers), progress_(*progress), next_(*next), barrier_(a.barrier, a.barriers) {}

  __device__ void Run(bool stops = false) {
    if (IsLeader()) progress_ = a_.progress;
    bool failed = a_.begins && !Begin(stops);
    while (!failed) {
      if (IsLeader()) next_ = BeginRound();
      __syncthreads();
      const WideRound next = next_;
      if (next.ends) break;
      round_.active = progress_.active_vertices;
      failed = !Round(next);
    }
    End(failed);
  }

 private:
  static __device__ bool IsLeader() { return threadIdx.x == 0; }

  /// Waits for all blocks of all GPUs; with kSums, for their counters. Returns false if the run has failed on another GPU,
  /// the same for all blocks.
  template <bool kSums>
  __device__ bool SyncAll() {
    if constexpr (kSeveral) {
      return peers_.template Sync<kSums>(barrier_, a_.controls[turn_ % 2]);
    } else {
      barrier_.Sync();
      return true;
    }
  }
  /// Active vertices of this GPU.
  __device__ std::uint64_t OwnActive() const {
    if constexpr (kSeveral) return peers_.share().active_vertices;
    return progress_.active_vertices;
  }

  __device__ bool Begin(bool stops) {
    UseControl();
    steps::cuda::Init(grid_, s_, a_.input, round_);
    if (kSeveral && stops && steps::cuda::IsFirst(grid_)) a_.controls[turn_ % 2].stop = 1;
    if (!SyncAll<true>()) return false;
    if (IsLeader()) {
      Count(/*pull=*/false);
      progress_.edges_touched = progress_.vertices_updated = 0;
      progress_.first_active = progress_.active_vertices;
      progress_.queue_has_one = OwnActive() == 1;
    }
    ++turn_;
    return true;
  }

  /// Chooses the next round and records the choice in the block's progress. By each block's first thread, equal in all.
  __device__ WideRound BeginRound() {
    constexpr FrontierPolicy policy = kGpuFrontier;  // as in every plan of GPUs, but known to the compiler
    WideProgress& p = progress_;
    WideRound next;
    const std::uint32_t rounds = p.push_rounds + p.pull_rounds;
    if (p.active_vertices == 0 || rounds >= a_.max_rounds || stop_ != 0) {
      next.ends = true;
      return next;
    }
    const std::uint32_t narrow = p.ahead.active_edges < a_.narrow_edges ? p.narrow_rounds + 1 : 0;
    if (narrow > a_.narrow_rounds) {
      next.ends = true;
      return next;
    }
    p.narrow_rounds = narrow;
    next.pull = p.chooser.UsePull(p.ahead, round_.vertices);
    if (a_.skips_last_round && p.ahead.candidate_edges == 0) {
      ++(next.pull ? p.pull_rounds : p.push_rounds);
      p.active_vertices = p.ahead.active_edges = 0;
      if constexpr (kSeveral) {
        peers_.share().active_vertices = peers_.share().active_edges = 0;
        peers_.share().skips = true;
      }
      next.ends = true;
      return next;
    }
    if (next.pull) {
      next.converts = p.form == Form::kQueue;
      next.slices =
          s_.graph.reverse.max_degree >= kHubDegree && p.ahead.candidate_edges >= static_cast<std::int64_t>(kHubDegree);
    } else {
      const bool to_queue = p.form == Form::kBitmap && PushesQueue(policy, OwnActive(), s_.graph.owned);
      next.converts = to_queue && !p.queue_has_one;
      if (to_queue) {
        p.form = Form::kQueue;
        p.count = OwnActive();
      }
      next.queues = QueuesTargets(policy, p.ahead.active_edges, round_.vertices);
      next.slices = s_.graph.forward.max_degree >= kHubDegree && p.ahead.active_edges >= kHubDegree;
      next.is_a_hub = !Traits<P>::kHasConsume && next.slices && p.form == Form::kQueue && p.count == 1;
    }
    return next;
  }

  __device__ bool Round(const WideRound& next) {
    // The word is far away: its value is needed at the round's end alone.
    std::uint32_t stop = 0;
    if (steps::cuda::IsFirst(grid_)) {
      stop = a_.host[0];
      a_.host[1] = progress_.push_rounds + progress_.pull_rounds + 1;
    }
    if (!(next.pull ? Pull(next) : Push(next))) return false;
    if (steps::cuda::IsFirst(grid_) && stop != 0) a_.controls[turn_ % 2].stop = 1;
    ClearControl(turn_ + 1);
    if (!SyncAll<true>()) return false;
    if (IsLeader()) {
      Count(next.pull);
      ++(next.pull ? progress_.pull_rounds : progress_.push_rounds);
      progress_.queue_has_one = false;
    }
    ++turn_;
    round_.index += 1;
    return true;
  }

  __device__ bool Push(const WideRound& next) {
    if (next.converts) {
      s_.control = &a_.controls[kWideControls - 1].control;
      UseQueue(progress_.in_next);
      steps::cuda::BitmapToQueue(grid_, s_);
      barrier_.Sync();
      if (IsLeader()) progress_.in_next = !progress_.in_next;
      __syncthreads();
      if (steps::cuda::IsFirst(grid_)) s_.control->next_count = 0;
    }
    UseControl();
    UseQueue(progress_.in_next);
    const Form form = progress_.form;
    if constexpr (!Traits<P>::kHasConsume) {
      if (next.is_a_hub) steps::cuda::AdvanceHub(grid_, s_, round_, next.queues);
    }
    if (!next.is_a_hub) {
      const std::size_t count = form == Form::kQueue ? progress_.count : s_.graph.owned;
      steps::cuda::Advance(grid_, s_, round_, form, count, next.queues);
    }
    barrier_.Sync();
    if (next.slices && !next.is_a_hub && atomics::Load(&s_.control->slice_count) != 0) {
      steps::cuda::AdvanceSlices(grid_, s_, round_, next.queues);
      barrier_.Sync();
    }
    if constexpr (kSeveral) {
      peers_.SendHalo(grid_, s_, /*settles=*/!next.queues);
      if (!SyncAll<false>()) return false;
      peers_.TakeIn(grid_, s_, next.queues);
      barrier_.Sync();
    }
    const std::size_t count = next.queues ? atomics::Load(&s_.control->touched_count) : s_.graph.owned;
    Apply(next.queues ? Form::kQueue : Form::kBitmap, count);
    if (IsLeader()) progress_.form = next.queues ? Form::kQueue : Form::kBitmap;
    return true;
  }

  __device__ bool Pull(const WideRound& next) {
    UseQueue(progress_.in_next);
    if (next.converts) ToBitmap();
    UseControl();
    if constexpr (Traits<P>::kSharesSeparately) {
      steps::cuda::Publish(grid_, s_, Form::kBitmap);
      barrier_.Sync();
    }
    if constexpr (kSeveral) {
      peers_.SendFrontier(grid_, s_);
      if (!SyncAll<false>()) return false;
      peers_.TakeFrontier(grid_, s_);
      barrier_.Sync();
    }
    steps::cuda::Gather(grid_, s_, round_, /*all_active=*/false);
    barrier_.Sync();
    if (next.slices && atomics::Load(&s_.control->slice_count) != 0) {
      steps::cuda::GatherSlices(grid_, s_, round_, /*all_active=*/false);
      barrier_.Sync();
    }
    Apply(Form::kBitmap, s_.graph.owned);
    if (IsLeader()) progress_.form = Form::kBitmap;
    return true;
  }

  __device__ void Apply(Form form, std::size_t count) { steps::cuda::Apply<P>(grid_, s_, round_, form, count); }

  /// A frontier that is a queue becomes a bitmap.
  __device__ void ToBitmap() {
    steps::cuda::ClearActive(grid_, s_, /*halo_only=*/false);
    barrier_.Sync();
    steps::cuda::QueueToBitmap(grid_, s_, progress_.count);
    barrier_.Sync();
  }

  /// Adds a round's counters, of which the next one begins.
  __device__ void Count(bool pull) {
    WideProgress& p = progress_;
    const Control& c = a_.controls[turn_ % 2].control;
    const Ahead before = p.ahead;
    std::uint64_t touched;
    if constexpr (kSeveral) {
      const WideSums& all = peers_.sums();
      touched = all.edges_touched;
      p.active_vertices = all.active_vertices;
      p.ahead.active_edges = all.active_edges;
      p.ahead.candidate_edges += static_cast<std::int64_t>(all.candidate_edges);
      WideShare& share = peers_.share();
      share.active_vertices = atomics::Load(&c.active_vertices);
      share.active_edges = atomics::Load(&c.active_edges);
      share.candidate_edges += atomics::Load(&c.candidate_edges);
    } else {
      touched = atomics::Load(&c.edges_touched);
      p.active_vertices = atomics::Load(&c.active_vertices);
      p.ahead.active_edges = atomics::Load(&c.active_edges);
      p.ahead.candidate_edges += atomics::Load(&c.candidate_edges);
    }
    p.edges_touched += touched;
    p.vertices_updated += p.active_vertices;
    if (p.form == Form::kQueue) {
      p.count = atomics::Load(&c.next_count);
      p.in_next = !p.in_next;
    }
    if constexpr (kSeveral) {
      stop_ = peers_.sums().stops != 0;
    } else {
      stop_ = atomics::Load(&a_.controls[turn_ % 2].stop);
    }
    if (pull) p.chooser.Learn(before, round_.vertices, touched);
  }

  /// Reports, and leaves a bitmap and cleared counters, unless the run has failed.
  __device__ void End(bool failed) {
    if (!failed) {
      UseQueue(progress_.in_next);
      if (progress_.form == Form::kQueue && progress_.active_vertices > 0) ToBitmap();
      barrier_.Sync();
      for (std::uint32_t i = 0; i < 2; ++i) ClearControl(i);
    }
    if constexpr (kSeveral) {
      if (!failed && steps::cuda::BlockRank(grid_) == 0) {
        peers_.ReportTraffic();
        __threadfence_system();
        __syncthreads();
      }
    }
    if (!steps::cuda::IsFirst(grid_)) return;
    if constexpr (kSeveral) {
      a_.report->share = peers_.share();
      a_.report->failed = failed;
      a_.report->epoch = peers_.epoch();
    }
    a_.report->progress = progress_;
    a_.report->barriers = barrier_.barriers();
    __threadfence_system();
    *const_cast<volatile std::uint32_t*>(&a_.report->ticket) = a_.ticket;
  }

  __device__ void UseControl() { s_.control = &a_.controls[turn_ % 2].control; }
  /// The frontier's queue, and the one that is written.
  __device__ void UseQueue(bool in_next) {
    if (in_next != swapped_) {
      LocalId* const queue = s_.frontier;
      s_.frontier = s_.next;
      s_.next = queue;
      swapped_ = in_next;
    }
  }
  /// By the first block.
  __device__ void ClearControl(std::uint32_t turn) const {
    if (steps::cuda::BlockRank(grid_) != 0) return;
    auto* const words = reinterpret_cast<std::uint32_t*>(&a_.controls[turn % 2]);
    for (unsigned i = threadIdx.x; i < sizeof(WideControl) / 4; i += steps::cuda::kBlock) words[i] = 0;
  }

  const steps::cuda::Grid grid_{};
  StateRef<P> s_;
  RoundOf<P> round_;
  const WideRoundsRef<P>& a_;
  Peers peers_;
  WideProgress& progress_;  // of the block
  WideRound& next_;
  PlainGridBarrier barrier_;
  std::uint32_t turn_ = 0, stop_ = 0;
  bool swapped_ = false;
};

}  // namespace detail

/// Blocks of a multiprocessor. With five, warps take words of bitmaps in unequal shares; with six, registers spill.
inline constexpr int kWideBlocks = 4;
template <class P>
__global__ void __launch_bounds__(steps::cuda::kBlock, kWideBlocks)
    WideRounds(const __grid_constant__ StateRef<P> s, const __grid_constant__ RoundOf<P> round,
               const __grid_constant__ WideRoundsRef<P> a) {
  __shared__ steps::cuda::SharedArray<WideProgress, 1> progress;
  __shared__ steps::cuda::SharedArray<WideRound, 1> next;
  detail::WideRun<P, detail::NoPeers>(s, round, a, {}, &progress[0], &next[0]).Run();
}

/// The kernel of one of several GPUs.
template <class P>
__global__ void __launch_bounds__(steps::cuda::kBlock, kWideBlocks)
    WideRoundsTogether(const __grid_constant__ StateRef<P> s, const __grid_constant__ RoundOf<P> round,
                       const __grid_constant__ WideTeamRoundsRef<P> a) {
  __shared__ steps::cuda::SharedArray<WideProgress, 1> progress;
  __shared__ steps::cuda::SharedArray<WideRound, 1> next;
  __shared__ steps::cuda::SharedArray<WideShare, 1> share;
  if (threadIdx.x == 0) share[0] = a.team.share;
  detail::WideRun<P, detail::WidePeers>(s, round, a, {a.team, &share[0]}, &progress[0], &next[0]).Run(a.team.stops);
}

}  // namespace chatty::fused::cuda
