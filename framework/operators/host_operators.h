/// \file
/// Operators on a host device.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/framework/operators/device_operators.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty {

namespace operators::host {

/// The threads of one call of ForEachGroup: here one thread, as one warp of one lane.
class ThreadGroup {
 public:
  /// Whether the group has other threads, so that shared data needs atomics.
  static constexpr bool kMany = false;
  static constexpr unsigned kRowThreads = 1;  ///< threads that a program gives a short row

  /// The group with this index and scratch.
  CHATTY_FN explicit ThreadGroup(std::size_t index, std::byte* scratch = nullptr) : index_(index), scratch_(scratch) {}
  /// The group's index, below the number given to ForEachGroup; unique among concurrent groups.
  CHATTY_FN std::size_t index() const { return index_; }
  /// The scratch memory from ForEachGroup, as objects of type T: private to the group during the call, and in fast memory.
  /// Aligned to 16 bytes; contents are indeterminate at the begin of a call.
  template <class T>
  CHATTY_FN T* Scratch() const {
    return reinterpret_cast<T*>(scratch_);
  }
  CHATTY_FN static constexpr unsigned thread() { return 0; }   ///< this thread's index
  CHATTY_FN static constexpr unsigned threads() { return 1; }  ///< their number
  CHATTY_FN static constexpr unsigned warp() { return 0; }     ///< this warp's index in the group
  CHATTY_FN static constexpr unsigned warps() { return 1; }    ///< their number
  CHATTY_FN static constexpr unsigned lane() { return 0; }     ///< index of this thread
  CHATTY_FN static constexpr unsigned lanes() { return 1; }    ///< their number
  /// Barrier of the group's threads; makes their writes visible to all. All call it, or none.
  CHATTY_FN static void Sync() {}
  /// The sum over the warp's lanes, on each lane. All call it.
  CHATTY_FN static std::uint32_t SumOfWarp(std::uint32_t value) { return value; }
  /// The first lane's value, on each lane. All call it.
  template <class T>
  CHATTY_FN static T OfFirstLane(const T& value) {
    return value;
  }
  /// The sum by `add(T& sum, const T& value)` over the warp's lanes, on each lane. All call it.
  template <class T, class Add>
  CHATTY_FN static T SumOfWarp(const T& value, Add) {
    return value;
  }
  /// The same over each kLanes lanes, a power of 2. All of these call it.
  template <unsigned kLanes, class T, class Add>
  CHATTY_FN static T SumOfLanes(const T& value, Add) {
    return value;
  }
  /// Increments *count, which the group shares, for each lane with `appends`. Returns the lane's index, which is valid if
  /// `appends`. All lanes of a warp call it.
  CHATTY_FN static std::uint32_t AppendIndex(bool appends, std::uint32_t* count) {
    const std::uint32_t index = *count;
    *count = index + std::uint32_t{appends};
    return index;
  }
  /// As SumOfWarp, over all threads of the group.
  template <class T, class Add>
  CHATTY_FN static T Sum(const T& value, Add) {
    return value;
  }

 private:
  std::size_t index_;
  std::byte* scratch_;
};

/// The groups of one call of LaunchCooperative: here one.
class Grid {
 public:
  CHATTY_FN static constexpr std::size_t rank() { return 0; }  ///< this group's index
  CHATTY_FN static constexpr std::size_t size() { return 1; }  ///< their number
  /// Barrier of all groups' threads; makes their writes visible to all. All call it, or none.
  CHATTY_FN static void Sync() {}
};

}  // namespace operators::host

/// The operators on a host device's threads. Same names and meanings as CudaOperators; a program is a template over both.
/// Given functions may run on several threads at once and update shared memory by chatty::atomics.
class HostOperators : public DeviceOperators {
 public:
  /// The constructor of DeviceOperators.
  using DeviceOperators::DeviceOperators;
  /// Whether For calls f concurrently for very many indexes: a call then does not see writes by preceding indexes.
  static constexpr bool kMassivelyParallel = false;

  /// f(i) for i in [0, n).
  template <class F>
  void For(std::size_t n, F f) {
    const Step step(*this, spans::kFor, {n});
    Sweep(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) f(i);
    });
  }
  /// f(v) for every owned vertex, a local id.
  template <class F>
  void ForEachVertex(F f) {
    const Step step(*this, spans::kForEachVertex, {graph().owned});
    Sweep(graph().owned, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) f(static_cast<LocalId>(v));
    });
  }
  /// f(source, target, e) for every forward edge of owned vertices, without the first `skip(source)` edges of each row.
  /// Skips the whole row if skip(source) is at least its degree. With kCheckAfter, a second check follows that number of
  /// edges: if skip.Settled(source), the rest is skipped. A GPU may visit edges of a row concurrently, including the first
  /// ones.
  template <class Skip, class F>
  void ForEachEdge(Skip skip, F f) {
    Rows(
        graph().owned, [](std::size_t i) { return static_cast<LocalId>(i); }, skip, f);
  }
  /// As above, only for the rows of list[0, *count), which are owned and distinct. Both are in device memory, so that the
  /// host need not wait for the step that writes them.
  template <class Skip, class F>
  void ForEachEdgeOf(const LocalId* list, const LocalId* count, Skip skip, F f) {
    Rows(
        *count, [list](std::size_t i) { return list[i]; }, skip, f);
  }
  /// As above, without `skip`.
  template <class F>
  void ForEachEdge(F f) {
    ForEachEdge([](LocalId) -> EdgeIndex { return 0; }, f);
  }
  /// f(v, a, b) for every owned vertex v and every pair of entries a before b of its row, as local ids.
  template <class F>
  void ForEachNeighbourPair(F f) {
    const Step step(*this, spans::kForEachNeighbourPair, {graph().owned});
    const AdjacencyRef rows = graph().forward;
    Sweep(graph().owned, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto v = static_cast<LocalId>(i);
        for (EdgeIndex a = rows.offsets[v]; a < rows.offsets[v + 1]; ++a) {
          for (EdgeIndex b = a + 1; b < rows.offsets[v + 1]; ++b) f(v, rows.neighbours[a], rows.neighbours[b]);
        }
      }
    });
  }
  /// Maximum number of concurrent groups of ForEachGroup.
  std::size_t groups() const { return static_cast<std::size_t>(device().team()->size()); }
  /// f(i, group) for i in [0, n); all threads of a group call it together. For indexes with too much or too uneven work for
  /// one thread. At most `most` groups run at a time (at least one), so that each can have its own memory. All threads of a
  /// group end a call before its next one begins. On the host a group is a thread, on a GPU a block. The last indexes begin
  /// last.
  template <class F>
  void ForEachGroup(std::size_t n, std::size_t most, F f) {
    Together(n, most, n < 64 * kTogetherGrain ? 1 : kTogetherGrain, 0, f);
  }
  /// Maximum scratch memory of a group in bytes.
  static constexpr std::size_t max_shared_bytes() { return std::size_t{256} << 10; }
  /// As above, with `scratch` bytes for each group, at most max_shared_bytes(), for work on a piece of the graph that fits
  /// there: a block's shared memory on a GPU, part of a core's cache on the host. A GPU's groups are wider than without
  /// scratch, and take indexes one by one.
  template <class F>
  void ForEachGroup(std::size_t n, std::size_t most, std::size_t scratch, F f) {
    Together(n, most, 1, scratch, f);
  }
  /// f(group, grid) once, by all threads of up to `most` groups that run at the same time, so that they may meet
  /// (grid.Sync): for many short steps that depend on each other. On the host one group, on a GPU a cooperative launch.
  template <class F>
  void LaunchCooperative([[maybe_unused]] std::size_t most, F f) {
    const Step step(*this, spans::kForEachGroup, {1});
    f(operators::host::ThreadGroup(0), operators::host::Grid{});
  }
  /// Replaces each of data[0, n), integers in device memory, by the sum of its predecessors.
  template <class T>
  void ExclusiveSum(T* data, std::size_t n) {
    const Step step(*this, spans::kExclusiveSum, {n});
    constexpr std::size_t kGrain = steps::host::kMeasureGrain;
    std::vector<T> before((n + kGrain - 1) / kGrain, T{});
    const auto sweep = [&](auto&& body) {
      Sweep(
          before.size(),
          [&](std::size_t first, std::size_t last) {
            for (std::size_t c = first; c < last; ++c) body(before[c], c * kGrain, std::min(n, (c + 1) * kGrain));
          },
          1);
    };
    sweep([&](T& sum, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) sum += data[i];
    });
    T total{};
    for (T& chunk : before) total += std::exchange(chunk, total);
    sweep([&](T sum, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) sum += std::exchange(data[i], sum);
    });
  }
  /// op over map(i) for i in [0, n), starting from `identity`; on this device only. Combined in a fixed order.
  template <class T, class Op, class Map>
  T Reduce(std::size_t n, T identity, Op op, Map map) {
    const Step step(*this, spans::kReduce, {n});
    constexpr std::size_t kGrain = steps::host::kMeasureGrain;
    std::vector<T> partials((n + kGrain - 1) / kGrain, identity);
    Sweep(
        partials.size(),
        [&](std::size_t first, std::size_t last) {
          for (std::size_t c = first; c < last; ++c) {
            for (std::size_t i = c * kGrain; i < std::min(n, (c + 1) * kGrain); ++i) partials[c] = op(partials[c], map(i));
          }
        },
        1);
    T total = identity;
    for (const T& partial : partials) total = op(total, partial);
    return total;
  }

 private:
  /// Consecutive indexes that a thread takes at a time in ForEachGroup: few, because their work is uneven.
  static constexpr std::size_t kTogetherGrain = 16;

  template <class Vertices, class Skip, class F>
  void Rows(std::size_t n, const Vertices& vertices, Skip& skip, F& f) {
    const Step step(*this, spans::kForEachEdge, {n});
    const AdjacencyRef rows = graph().forward;
    constexpr EdgeIndex kFirst = operators::kCheckAfter<Skip>;
    Sweep(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const LocalId v = vertices(i);
        const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
        EdgeIndex e = row + skip(v);
        if constexpr (kFirst > 0) {
          if (e + kFirst < row_end) {
            for (const EdgeIndex check = e + kFirst; e < check; ++e) f(v, rows.neighbours[e], e);
            if (skip.Settled(v)) continue;
          }
        }
        for (; e < row_end; ++e) f(v, rows.neighbours[e], e);
      }
    });
  }
  template <class F>
  void Together(std::size_t n, std::size_t most, std::size_t grain, std::size_t scratch, F& f) {
    const Step step(*this, spans::kForEachGroup, {n});
    const auto width = static_cast<int>(std::clamp<std::size_t>(std::min(most, n), 1, groups()));
    const std::size_t stride = (scratch + 63) / 64 * 64;  // groups do not share cache lines
    if (stride * static_cast<std::size_t>(width) > scratch_.size()) {
      scratch_ = Array<std::byte>(stride * static_cast<std::size_t>(width));
    }
    RunSweep(width, n, grain, [&](int rank, std::size_t begin, std::size_t end) {
      const operators::host::ThreadGroup group(static_cast<std::size_t>(rank),
                                               scratch_.data() + static_cast<std::size_t>(rank) * stride);
      for (std::size_t i = begin; i < end; ++i) f(i, group);
    });
  }
  template <class Body>
  void Sweep(std::size_t n, Body&& body, std::size_t grain = steps::host::kVertexGrain) {
    RunSweep(n < 4 * grain ? 1 : device().team()->size(), n, grain,
             [&](int, std::size_t begin, std::size_t end) { body(begin, end); });
  }
  template <class Body>
  void RunSweep(int width, std::size_t n, std::size_t grain, Body&& body) {
    std::uint32_t after = sweeps_;
    device().team()->Run(width, [&](TeamMember& member) {
      steps::host::Group group(member, cursors_, sweeps_);
      group.Sweep(n, grain, [&](std::size_t begin, std::size_t end) { body(member.rank(), begin, end); });
      if (group.rank() == 0) after = group.sweeps();
    });
    sweeps_ = after;
  }
  steps::host::Cursors cursors_;
  std::uint32_t sweeps_ = 0;
  Array<std::byte> scratch_;  // for all groups; grows to the largest size used
};

}  // namespace chatty
