#include "chatty/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace chatty {
namespace {

TEST(Parallel, ThreadCountHonoursRequests) {
  EXPECT_EQ(ThreadCount(3), 3);
  EXPECT_GE(ThreadCount(0), 1);
  EXPECT_GE(ThreadCount(-1), 1);
}

TEST(Parallel, ChunksCoverTheRangeOnce) {
  for (const int threads : {1, 2, 5}) {
    for (const std::size_t n : {0, 1, 9, 10, 11, 1000}) {
      for (const std::size_t grain : {0, 1, 10, 2000}) {
        std::vector<std::atomic<int>> seen(n);
        ParallelChunks(n, threads, grain, [&](std::size_t begin, std::size_t end) {
          EXPECT_LT(begin, end);
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        });
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(seen[i], 1) << "index " << i << " of " << n;
      }
    }
  }
}

TEST(Parallel, ForVisitsEveryIndexOnce) {
  std::vector<std::atomic<int>> seen(20000);
  ParallelFor(seen.size(), 4, [&](std::size_t i) { ++seen[i]; });
  for (const auto& count : seen) ASSERT_EQ(count, 1);
}

TEST(Parallel, ExceptionsReachTheCaller) {
  for (const int threads : {1, 4}) {
    EXPECT_THROW(ParallelChunks(100, threads, 1,
                                [](std::size_t begin, std::size_t end) {
                                  if (begin <= 42 && 42 < end) throw std::runtime_error("42");
                                }),
                 std::runtime_error);
    EXPECT_THROW(
        ParallelChunksWithState(
            100, threads, 1, []() -> int { throw std::runtime_error("no state"); }, [](int&, std::size_t, std::size_t) {}),
        std::runtime_error);
  }
}

TEST(Parallel, EveryThreadMakesItsStateOnce) {
  for (const int threads : {1, 4}) {
    std::atomic<int> made{0};
    std::vector<std::atomic<int>> seen(200);
    struct State {
      int id;
      bool busy;
    };
    ParallelChunksWithState(
        seen.size(), threads, 1,
        [&] {
          return State{made++, false};
        },
        [&](State& state, std::size_t begin, std::size_t end) {
          EXPECT_FALSE(state.busy) << "two threads share state " << state.id;
          state.busy = true;
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
          state.busy = false;
        });
    EXPECT_GE(made, 1);
    EXPECT_LE(made, threads);
    for (const auto& count : seen) ASSERT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace chatty
