/// \file
/// Short helpers over OpenMP for host-side preparation: loading, building, partitioning, checking. The engines do not use
/// them: their threads belong to devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace chatty {

/// Threads that a preparation step uses when asked for `requested`: that many, or one a core (OMP_NUM_THREADS honoured) for
/// 0.
int ThreadCount(int requested = 0);

/// Calls body(begin, end) over disjoint chunks that cover [0, n), on several threads. The first exception that a chunk
/// throws is rethrown to the caller once all have ended. Chunks are handed out dynamically.
template <class Body>
void ParallelChunks(std::size_t n, int threads, std::size_t grain, Body&& body) {
  threads = ThreadCount(threads);
  if (grain == 0) grain = 1;
  if (n <= grain || threads == 1) {
    if (n > 0) body(std::size_t{0}, n);
    return;
  }
  const std::size_t chunks = (n + grain - 1) / grain;
  std::exception_ptr error;
  std::atomic<bool> failed{false};
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t c = 0; c < chunks; ++c) {
    if (failed.load(std::memory_order_relaxed)) continue;
    try {
      const std::size_t begin = c * grain;
      body(begin, begin + grain < n ? begin + grain : n);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

/// ParallelChunks for bodies that need scratch too dear to make for every chunk: each thread calls make() once, before its
/// first chunk, and passes what it got to every body(state, begin, end) that it runs.
template <class MakeState, class Body>
void ParallelChunksWithState(std::size_t n, int threads, std::size_t grain, MakeState&& make, Body&& body) {
  threads = ThreadCount(threads);
  if (grain == 0) grain = 1;
  if (n <= grain || threads == 1) {
    if (n == 0) return;
    auto state = make();
    body(state, std::size_t{0}, n);
    return;
  }
  const std::size_t chunks = (n + grain - 1) / grain;
  std::exception_ptr error;
  std::atomic<bool> failed{false};
#pragma omp parallel num_threads(threads)
  {
    std::optional<decltype(make())> state;
#pragma omp for schedule(dynamic, 1)
    for (std::size_t c = 0; c < chunks; ++c) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        if (!state) state.emplace(make());
        const std::size_t begin = c * grain;
        body(*state, begin, begin + grain < n ? begin + grain : n);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

/// Calls body(i) for every i in [0, n), on several threads.
template <class Body>
void ParallelFor(std::size_t n, int threads, Body&& body) {
  ParallelChunks(n, threads, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace chatty
