/// \file
/// How the members of a worker team share the work of a step, and what all steps on CPU threads use. The steps have the
/// names and meanings of steps/cuda.
///
/// Every member of the team calls every step; between two steps that depend on each other the caller puts a barrier of the
/// team (or the end of a job). Work is handed out in chunks, so that a thread that loses its core loses one chunk's time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chatty/core/team.h"
#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::steps::host {

/// Cursors that hand out chunks of work to the members of a team.
class Cursors {
 private:
  friend class Group;
  struct alignas(64) Cursor {
    std::atomic<std::size_t> next{0};
  };
  Cursor cursors_[4];

 public:
  /// Ready for sweep 0 again, after a job that ended in an exception and left them anywhere. Only while no job runs.
  void Reset() noexcept {
    for (Cursor& cursor : cursors_) cursor.next.store(0, std::memory_order_relaxed);
  }
};

/// One member's handle on the team's work: what a cooperative group is to a GPU step.
class Group {
 public:
  /// `sweeps` is how many sweeps have run on these cursors so far: the same for all members of a job.
  Group(TeamMember& member, Cursors& cursors, std::uint32_t sweeps) : member_(member), cursors_(cursors), sweeps_(sweeps) {}

  int rank() const { return member_.rank(); }
  int size() const { return member_.size(); }
  void sync() { member_.sync(); }
  void sync_soon() { member_.sync_soon(); }         ///< see TeamMember
  std::uint32_t sweeps() const { return sweeps_; }  ///< where the next job continues

  /// Calls body(begin, end) on chunks of [0, count) of `grain` items. There is no barrier in it: a member may run ahead into
  /// the next sweep. Between a sweep and the next but one there must be a barrier, or a cursor is reset while in use.
  template <class Body>
  void Sweep(std::size_t count, std::size_t grain, Body&& body) {
    if (size() == 1) {
      if (count > 0) body(std::size_t{0}, count);
      return;
    }
    std::atomic<std::size_t>& cursor = cursors_.cursors_[sweeps_ & 3].next;
    if (rank() == 0) cursors_.cursors_[(sweeps_ + 2) & 3].next.store(0, std::memory_order_relaxed);
    ++sweeps_;
    for (std::size_t begin; (begin = cursor.fetch_add(grain, std::memory_order_relaxed)) < count;) {
      body(begin, std::min(begin + grain, count));
    }
  }

 private:
  TeamMember& member_;
  Cursors& cursors_;
  std::uint32_t sweeps_;
};

inline bool IsFirst(const Group& group) { return group.rank() == 0; }

/// Vertices a chunk: a multiple of 32, so that a chunk owns its bitmap words.
inline constexpr std::size_t kVertexGrain = 1024;
inline constexpr std::size_t kQueueGrain = 64;
/// One partial aggregate a chunk of fixed size, combined in chunk order by the caller: the same bits at any thread count.
inline constexpr std::size_t kMeasureGrain = 16384;

/// Hands a hub's row to the queue of slices. Called by the member that met the hub.
inline void CutIntoSlices(Slice* slices, std::uint32_t* count, LocalId v, EdgeIndex degree) {
  const auto needed = static_cast<std::uint32_t>((degree + kSliceEdges - 1) / kSliceEdges);
  const std::uint32_t at = atomics::Add<true>(count, needed);
  for (std::uint32_t i = 0; i < needed; ++i) slices[at + i] = {v, i};
}

namespace detail {

/// Appends to a shared queue through a buffer of the thread's own.
template <class T>
class Appender {
 public:
  Appender(T* queue, std::uint32_t* count, bool concurrent) : queue_(queue), count_(count), concurrent_(concurrent) {}
  ~Appender() { Flush(); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;
  void Push(const T& item) {
    if (!concurrent_) {
      queue_[(*count_)++] = item;
      return;
    }
    buffer_[size_++] = item;
    if (size_ == kBuffer) Flush();
  }

 private:
  static constexpr std::uint32_t kBuffer = 512;
  void Flush() {
    if (size_ == 0) return;
    const std::uint32_t at = atomics::Add<true>(count_, size_);
    std::copy(buffer_, buffer_ + size_, queue_ + at);
    size_ = 0;
  }
  T* queue_;
  std::uint32_t* count_;
  bool concurrent_;
  std::uint32_t size_ = 0;
  T buffer_[kBuffer];
};

template <class P>
void AddTally(const StateRef<P>& s, const Counters& tally) {
  atomics::Add<true>(&s.control->active_vertices, tally.vertices);
  atomics::Add<true>(&s.control->active_edges, tally.edges);
  if (tally.candidate_edges != 0) atomics::Add<true>(&s.control->candidate_edges, tally.candidate_edges);
  if constexpr (Traits<P>::kOrders) {
    if (tally.pending != 0) atomics::Add<true>(&s.control->pending_vertices, tally.pending);
    if (tally.first_edges != 0) atomics::Add<true>(&s.control->first_edges, tally.first_edges);
    atomics::Max<true>(&s.control->first_pending, tally.first_pending);
  }
}

/// Calls body(std::bool_constant<concurrent>) so that a lone thread runs without atomics, unless `others` write, too.
template <class Body>
void ByConcurrency(const Group& group, Body&& body) {
  if (group.size() > 1) {
    body(std::true_type{});
  } else {
    body(std::false_type{});
  }
}

inline bool TestShared(const std::uint32_t* words, LocalId i) { return (atomics::Load(words + (i >> 5)) >> (i & 31)) & 1u; }

/// The edges of those of word w's vertices that are in `word`, none of them at or beyond `end`.
inline std::uint64_t EdgesOf(const AdjacencyRef& rows, std::size_t w, std::uint32_t word, std::size_t end) {
  const std::uint32_t all = bits::Mask(w, end);
  const bool most = 2 * __builtin_popcount(word) > __builtin_popcount(all);
  std::uint64_t counted = 0;
  for (std::uint32_t rest = most ? all & ~word : word; rest != 0; rest &= rest - 1) {
    counted += rows.degree(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
  }
  if (!most) return counted;
  const std::size_t last = std::min(end, w * 32 + 32);
  return rows.offsets[static_cast<LocalId>(last)] - rows.offsets[static_cast<LocalId>(w * 32)] - counted;
}

}  // namespace detail
}  // namespace chatty::steps::host
