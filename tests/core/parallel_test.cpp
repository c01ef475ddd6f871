#include "chatty/core/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"
#include "chatty/core/team.h"
#include "waits.h"

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

TEST(OpenMpTeam, RunsEachNumberOnItsOwnOpenMpThread) {
  OpenMpTeam team(5);
  ASSERT_EQ(team.size(), 5);
  std::vector<std::thread::id> first(5);
  for (int job = 0; job < 200; ++job) {
    const int width = 1 + job % 5;
    std::vector<int> runs(5, 0);  // plain ints: the team is what orders them
    std::atomic<int> wrong{0};
    team.Run(width, [&](int thread) {
      ++runs[thread];
      wrong += omp_get_thread_num() != thread;
      if (job < 5) first[thread] = std::this_thread::get_id();
      wrong += first[thread] != std::this_thread::get_id();
    });
    EXPECT_EQ(wrong, 0);
    for (int t = 0; t < 5; ++t) ASSERT_EQ(runs[t], t < width) << "thread " << t << " of " << width;
  }
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 5u);
}

TEST(OpenMpTeam, WorkInsideATeamStaysOnItsThread) {
  OpenMpTeam team(2);
  std::atomic<int> strangers{0}, chunks{0};
  team.Run(2, [&](int) {
    const std::thread::id self = std::this_thread::get_id();
    ParallelChunks(1000, 4, 10, [&](std::size_t, std::size_t) {
      strangers += std::this_thread::get_id() != self;
      ++chunks;
    });
  });
  EXPECT_EQ(strangers, 0);
  EXPECT_GE(chunks, 2);
}

TEST(OpenMpTeam, TheCallerWorksInASharedJob) {
  OpenMpTeam team(3, OpenMpTeam::Work::kCaller);
  const std::thread::id self = std::this_thread::get_id();
  for (int job = 0; job < 2000; ++job) {
    const int width = 1 + job % 3;
    std::vector<int> runs(3, 0);  // plain ints: the team is what orders them
    std::atomic<int> wrong{0};
    team.RunShared(width, [&](int thread) {
      ++runs[thread];
      wrong += (thread == 0) != (std::this_thread::get_id() == self);
      wrong += thread > 0 && omp_get_thread_num() != thread;
    });
    EXPECT_EQ(wrong, 0);
    ASSERT_EQ(runs[0], 1);
    for (int t = 1; t < 3; ++t) ASSERT_LE(runs[t], t < width ? 1 : 0) << "thread " << t << " of " << width;
  }
}

TEST(OpenMpTeam, EachKindOfTeamHasItsOwnCall) {
  OpenMpTeam threads(2), caller(2, OpenMpTeam::Work::kCaller);
  std::atomic<int> calls{0};
  EXPECT_THROW(threads.RunShared(2, [&](int) { ++calls; }), InternalError);
  EXPECT_THROW(caller.Run(2, [&](int) { ++calls; }), InternalError);
  EXPECT_EQ(calls, 0);
  threads.Run(2, [&](int) { ++calls; });
  EXPECT_EQ(calls, threads.size());
  caller.RunShared(1, [&](int) { ++calls; });
  EXPECT_EQ(calls, threads.size() + 1) << "a refused call leaves a team as it was";
}

TEST(OpenMpTeam, ThreadsThatComeInTimeShareTheWork) {
  OpenMpTeam team(3, OpenMpTeam::Work::kCaller);
  for (int job = 0; job < 50; ++job) {
    std::atomic<int> inside{0}, left{0};
    team.RunShared(3, [&](int thread) {
      ++inside;
      while (inside < 3) std::this_thread::yield();  // for all
      if (thread == 1) {
        EXPECT_TRUE(test::waits::AwaitQuiet()) << "the caller waits for whoever is inside";
      }
      ++left;
    });
    ASSERT_EQ(left, 3);
  }
}

TEST(OpenMpTeam, ASharedJobInsideAnotherStaysOnItsThread) {
  std::atomic<int> strangers{0};
  ParallelChunks(64, 4, 1, [&](std::size_t, std::size_t) {
    const std::thread::id self = std::this_thread::get_id();
    ParallelChunks(1000, 4, 10, [&](std::size_t, std::size_t) { strangers += std::this_thread::get_id() != self; });
  });
  EXPECT_EQ(strangers, 0);
}

#if !CHATTY_TEST_SANITIZED  // which make stacks of their own
TEST(OpenMpTeam, AShortageOfThreadsIsAnErrorAndPasses) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);  // all the addresses that a process has
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(OpenMpTeam(3), DeviceError);
  EXPECT_THROW(WorkerTeam(3), DeviceError);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{3} << 45), 0);  // one has room and a second one has not
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(OpenMpTeam(3), DeviceError);
  EXPECT_THROW(WorkerTeam(3), DeviceError);
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(OpenMpTeam(3).size(), 3);
  EXPECT_EQ(WorkerTeam(3).size(), 3);
  ::pthread_attr_destroy(&huge);
  ::pthread_attr_destroy(&usual);
}
#endif

TEST(OpenMpTeam, WhoWaitsSleeps) {
  OpenMpTeam team(2);
  const test::waits::SteppingClock clock(std::chrono::nanoseconds(100));
  ASSERT_TRUE(test::waits::AwaitQuiet());
  const std::uint64_t before = test::waits::Looks();
  constexpr int kJobs = 20;
  for (int i = 0; i < kJobs; ++i) {
    // One thread and the caller wait for the other, and then all for the next job.
    team.Run(2, [](int thread) {
      if (thread == 0) {
        EXPECT_TRUE(test::waits::AwaitQuiet());
      }
    });
    EXPECT_TRUE(test::waits::AwaitQuiet());
  }
  // Of two threads each waits for work once a job, and the caller for each of them at most.
  const auto spin = static_cast<std::uint64_t>(SpinOf(2) / std::chrono::nanoseconds(100));
  EXPECT_LE(test::waits::Looks() - before, 4 * (spin + 3) * (kJobs + 1)) << "looks at the clock: they spin for longer";
}

}  // namespace
}  // namespace chatty
