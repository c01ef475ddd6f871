/// \file
/// Operators on a host device.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "chatty/framework/operators/device_operators.h"
#include "chatty/framework/steps/host/steps.h"

namespace chatty {

/// The operators, on the threads of a host device's team. Same names and meanings as CudaOperators; a program is a template
/// over the two. Functions given may run on several threads at once and update shared memory by chatty::atomics.
class HostOperators : public DeviceOperators {
 public:
  /// As DeviceOperators.
  using DeviceOperators::DeviceOperators;
  /// Whether For calls f of very many indexes at once: what one call writes, those of the next indexes then do not see.
  static constexpr bool kManyAtOnce = false;

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
  /// f(source, target, e) for every forward edge of owned vertices, without the first `skip(source)` of each row; a row is
  /// left out entirely where that reaches its degree.
  template <class Skip, class F>
  void ForEachEdge(Skip skip, F f) {
    const Step step(*this, spans::kForEachEdge, {graph().owned});
    const AdjacencyRef rows = graph().forward;
    Sweep(graph().owned, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto v = static_cast<LocalId>(i);
        const EdgeIndex row_end = rows.offsets[v + 1];
        for (EdgeIndex e = rows.offsets[v] + skip(v); e < row_end; ++e) f(v, rows.neighbours[e], e);
      }
    });
  }
  /// The same for every forward edge.
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
  /// op over map(i) for i in [0, n), starting from `identity`; on this device alone. Combined in a fixed order.
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
  template <class Body>
  void Sweep(std::size_t n, Body&& body, std::size_t grain = steps::host::kVertexGrain) {
    std::uint32_t after = sweeps_;
    WorkerTeam& team = *device().team();
    team.Run(n < 4 * grain ? 1 : team.size(), [&](TeamMember& member) {
      steps::host::Group group(member, cursors_, sweeps_);
      group.Sweep(n, grain, body);
      if (group.rank() == 0) after = group.sweeps();
    });
    sweeps_ = after;
  }
  steps::host::Cursors cursors_;
  std::uint32_t sweeps_ = 0;
};

}  // namespace chatty
