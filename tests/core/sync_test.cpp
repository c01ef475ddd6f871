#include "chatty/core/sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "waits.h"

namespace chatty {
namespace {

namespace waits = test::waits;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Of a wait that ends: it bounds a hang.
constexpr milliseconds kHang{60000};

// More than this machine has cores: waits must give their core away.
const int kThreads = static_cast<int>(2 * std::max(4u, std::thread::hardware_concurrency()));

// body(rank) on `count` threads at once. A failure inside must be caught there.
void OnThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

TEST(Barrier, SeparatesRoundsWithMoreThreadsThanCores) {
  constexpr int kRounds = 200;
  Barrier barrier(kThreads);
  std::vector<int> arrived(kThreads, 0);  // plain ints: the barrier is what orders them
  std::atomic<int> wrong{0};
  OnThreads(kThreads, [&](int rank) {
    for (int round = 1; round <= kRounds; ++round) {
      arrived[rank] = round;
      barrier.Arrive({}, "the others");
      for (const int other : arrived) wrong += other != round;
      barrier.Arrive({}, "the others");
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Barrier, OneThreadNeverWaits) {
  Barrier barrier(1);
  for (int i = 0; i < 100000; ++i) barrier.Arrive({nullptr, milliseconds(1)}, "nobody");
}

TEST(Barrier, ResetChangesTheNumberOfThreads) {
  Barrier barrier(2);
  for (const int threads : {5, 1, 3, 2}) {
    barrier.Reset(threads);
    std::atomic<int> before{0}, wrong{0};
    OnThreads(threads, [&](int) {
      ++before;
      barrier.Arrive({nullptr, kHang}, "the others");
      wrong += before != threads;
    });
    EXPECT_EQ(wrong, 0) << threads;
  }
}

TEST(Barrier, PoisonReachesThoseWhoWaitAndThoseWhoCome) {
  Barrier barrier(4);
  std::atomic<int> aborted{0};
  OnThreads(4, [&](int rank) {
    try {
      if (rank == 3) {
        EXPECT_TRUE(waits::AwaitQuiet());
        barrier.Poison();
      }
      barrier.Arrive({}, "a thread that never comes");
    } catch (const AbortedError& error) {
      aborted += std::string(error.what()).find("a thread that never comes") != std::string::npos;
    }
  });
  EXPECT_EQ(aborted, 4);
  EXPECT_THROW(barrier.Arrive({}, "anybody"), AbortedError);
  barrier.Reset(1);
  EXPECT_NO_THROW(barrier.Arrive({}, "anybody"));
}

TEST(Barrier, PoisonRacingWithTheLastArrivalIsNeverLost) {
  for (int i = 0; i < 300; ++i) {
    Barrier barrier(2);
    std::atomic<int> started{0};
    OnThreads(3, [&](int rank) {
      ++started;
      while (started != 3) std::this_thread::yield();
      if (rank == 2) return barrier.Poison();
      try {
        barrier.Arrive({}, "the other");
      } catch (const AbortedError&) {
      }
    });
    EXPECT_THROW(barrier.Arrive({}, "anybody"), AbortedError);
  }
}

TEST(Barrier, DeadlineNamesWhatWasWaitedFor) {
  Barrier barrier(2);
  const Clock::time_point start = Clock::now();
  try {
    barrier.Arrive({nullptr, milliseconds(30)}, "a device that never arrives");
    FAIL() << "returned without the other thread";
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find("a device that never arrives"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("30 ms"), std::string::npos) << error.what();
  }
  EXPECT_GE(Clock::now() - start, milliseconds(30));
}

TEST(WaitWhileEqual, ADeadlineShorterThanASliceOfSleepIsKept) {
  const std::atomic<std::uint32_t> word{0};
  const AbortToken abort;
  waits::LongestSleep();
  EXPECT_THROW(WaitWhileEqual(word, 0, {&abort, milliseconds(1)}, "nobody"), TimeoutError);
  EXPECT_LE(waits::LongestSleep(), milliseconds(1));
  EXPECT_THROW(WaitWhileEqual(word, 0, {&abort, milliseconds(25)}, "nobody"), TimeoutError);
  EXPECT_LE(waits::LongestSleep(), milliseconds(10)) << "it looks whether another has failed";
}

TEST(WaitWhileEqual, SpinsForItsTimeAndThenSleeps) {
  for (const nanoseconds spin : {nanoseconds(0), nanoseconds(kSpin), nanoseconds(kLongSpin)}) {
    const waits::SteppingClock clock(nanoseconds(10));
    std::atomic<std::uint32_t> word{0};
    std::thread writer([&] {
      EXPECT_TRUE(waits::AwaitQuiet());
      word = 1;
      WakeAll(word);
    });
    const std::uint64_t before = waits::Looks();
    EXPECT_FALSE(WaitWhileEqual(word, 0, {}, "the writer", spin));
    const std::uint64_t looks = waits::Looks() - before;
    writer.join();
    const auto spun = static_cast<std::uint64_t>(spin / nanoseconds(10));
    EXPECT_GE(looks, spun);
    EXPECT_LE(looks, spun + 2) << "from when on, and until when";
  }
}

TEST(Barrier, AbortTokenEndsASleepWithoutPoison) {
  Barrier barrier(2);
  AbortToken abort;
  std::thread failing([&] {
    EXPECT_TRUE(waits::AwaitQuiet());
    abort.Fail(std::make_exception_ptr(std::runtime_error("first")));
  });
  EXPECT_THROW(barrier.Arrive({&abort, {}}, "the other"), AbortedError);
  failing.join();
}

TEST(AbortToken, KeepsTheFirstFailureOnly) {
  AbortToken abort;
  EXPECT_FALSE(abort.aborted());
  EXPECT_NO_THROW(abort.RethrowFirst());
  EXPECT_NO_THROW(abort.ThrowIfAborted("anything"));
  abort.Fail(std::make_exception_ptr(UsageError("the cause")));
  abort.Fail(std::make_exception_ptr(AbortedError("a consequence")));
  EXPECT_TRUE(abort.aborted());
  EXPECT_TRUE(abort.flag().load());
  EXPECT_THROW(abort.ThrowIfAborted("anything"), AbortedError);
  EXPECT_THROW(abort.RethrowFirst(), UsageError);
  EXPECT_THROW(abort.RethrowFirst(), UsageError) << "asking twice gives the same answer";
  abort.Reset();
  EXPECT_FALSE(abort.aborted());
  EXPECT_NO_THROW(abort.RethrowFirst());
}

TEST(AbortToken, ManyThreadsFailAtOnce) {
  AbortToken abort;
  OnThreads(kThreads, [&](int rank) { abort.Fail(std::make_exception_ptr(UsageError(std::to_string(rank)))); });
  std::string first;
  try {
    abort.RethrowFirst();
  } catch (const UsageError& error) {
    first = error.what();
  }
  ASSERT_FALSE(first.empty());
  EXPECT_LT(std::stoi(first), kThreads);
}

TEST(WaitWhileEqual, ReturnsAtOnceOrWhenWoken) {
  std::atomic<std::uint32_t> word{7};
  WaitWhileEqual(word, 8, {nullptr, milliseconds(1)}, "nothing");
  int written = 0;
  std::thread writer([&] {
    EXPECT_TRUE(waits::AwaitQuiet());
    written = 1;
    word.store(8, std::memory_order_release);
    WakeAll(word);
  });
  WaitWhileEqual(word, 7, {nullptr, kHang}, "the writer");
  EXPECT_EQ(written, 1);
  writer.join();
}

TEST(WaitWhileEqual, SeesAStoreThatNobodyAnnounced) {
  std::atomic<std::uint32_t> word{0};
  std::thread writer([&] {
    EXPECT_TRUE(waits::AwaitQuiet());
    word.store(1, std::memory_order_release);  // no WakeAll: the sleeper looks by itself
  });
  WaitWhileEqual(word, 0, {nullptr, kHang}, "the writer");
  writer.join();
}

TEST(AllGatherBarrier, EverybodyFoldsEverybodysValueInOrder) {
  constexpr int kRounds = 200;
  AllGatherBarrier<double> meeting(kThreads);
  std::vector<std::vector<double>> sums(kThreads);
  std::atomic<int> out_of_order{0};
  OnThreads(kThreads, [&](int rank) {
    std::mt19937 random(rank + 1);
    for (int round = 0; round < kRounds; ++round) {
      if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      double sum = 0;
      int next = 0;
      meeting.Exchange(rank, round, 1.0 / (1 + rank + round), {}, "the others", [&](int r, const double& value) {
        out_of_order += r != next++ || value != 1.0 / (1 + r + round);
        sum += value;
      });
      sums[rank].push_back(sum);
    }
  });
  EXPECT_EQ(out_of_order, 0);
  for (int rank = 1; rank < kThreads; ++rank) EXPECT_EQ(sums[rank], sums[0]) << "sums differ in rounding on thread " << rank;
}

TEST(AllGatherBarrier, PoisonEndsAllRounds) {
  AllGatherBarrier<int> meeting(4);
  std::atomic<int> aborted{0};
  OnThreads(4, [&](int rank) {
    try {
      for (std::uint64_t round = 0;; ++round) {
        if (rank == 2 && round == 10) {
          meeting.Poison();
          return;
        }
        meeting.Exchange(rank, round, rank, {}, "the others", [](int, int) {});
      }
    } catch (const AbortedError&) {
      ++aborted;
    }
  });
  EXPECT_EQ(aborted, 3);
}

TEST(AllGatherBarrier, DeadlineOnADeviceThatNeverArrives) {
  AllGatherBarrier<int> meeting(3);
  std::atomic<int> timed_out{0}, folded{0};
  OnThreads(2, [&](int rank) {
    try {
      meeting.Exchange(rank, 0, rank, {nullptr, milliseconds(50)}, "all devices to pack", [&](int, int) { ++folded; });
    } catch (const TimeoutError& error) {
      timed_out += std::string(error.what()).find("all devices to pack") != std::string::npos;
    }
  });
  EXPECT_EQ(timed_out, 2);
  EXPECT_EQ(folded, 0);
}

TEST(AllGatherBarrier, FailureOfOneIsWhatAllReport) {
  // The engines' protocol: the first failure is recorded, then all waiting threads are woken.
  AllGatherBarrier<int> meeting(kThreads);
  AbortToken abort;
  OnThreads(kThreads, [&](int rank) {
    try {
      for (std::uint64_t round = 0; round < 50; ++round) {
        if (rank == 3 && round == 20) throw UsageError("the cause");
        meeting.Exchange(rank, round, rank, {&abort, {}}, "the others", [](int, int) {});
      }
    } catch (...) {
      abort.Fail(std::current_exception());
      meeting.Poison();
    }
  });
  EXPECT_THROW(abort.RethrowFirst(), UsageError);
}

TEST(SpinOf, NobodySpinsWhereMoreMeetThanThereAreCores) {
  EXPECT_GE(Cores(), 1);
  EXPECT_EQ(SpinOf(1), Cores() >= 4 ? kLongSpin : kSpin);
  EXPECT_EQ(SpinOf(Cores()), kSpin);
  EXPECT_EQ(SpinOf(Cores() + 1).count(), 0);
}

TEST(SpinPatience, WaitsInVainMakeTheNextShortAndOneThatSucceedsMakesAllLongAgain) {
  SpinPatience patience;
  const auto shorts = [&] {  // how many waits are short before the next long one
    int count = 0;
    while (patience.Next(kLongSpin) == kSpin) patience.Ended(kSpin, ++count % 2 == 0);
    return count;
  };
  EXPECT_EQ(shorts(), 0);
  for (const int expected : {1, 2, 4, 8, 16, 32, 32}) {
    patience.Ended(kLongSpin, false);
    EXPECT_EQ(shorts(), expected);
  }
  patience.Ended(kLongSpin, true);
  EXPECT_EQ(shorts(), 0);
  patience.Ended(kLongSpin, false);
  EXPECT_EQ(shorts(), 1);
  EXPECT_EQ(patience.Next(kSpin), kSpin);
  EXPECT_EQ(patience.Next(std::chrono::nanoseconds(0)).count(), 0) << "who may not spin does not";
}

// The thread waited for may need the core of a spinning thread, so no thread spins. In each round all threads but one wait,
// and that one arrives when they sleep.
TEST(Barrier, WhereMoreMeetThanThereAreCoresAllSleepAtOnce) {
  constexpr int kRounds = 50;
  const int threads = Cores() + 1;
  const waits::SteppingClock clock(nanoseconds(10));
  Barrier barrier(threads);
  std::atomic<int> coming{0};
  ASSERT_TRUE(waits::AwaitQuiet());
  const std::uint64_t looks = waits::Looks(), sleeps = waits::Sleeps();
  OnThreads(threads, [&](int rank) {
    for (int round = 1; round <= kRounds; ++round) {
      if (rank == 0) {
        while (coming != (threads - 1) * round) std::this_thread::yield();
        EXPECT_TRUE(waits::AwaitQuiet());
      } else {
        ++coming;
      }
      barrier.Arrive({}, "the others", kLongSpin);
    }
  });
  const auto waited = static_cast<std::uint64_t>(threads - 1) * kRounds;
  EXPECT_LE(waits::Looks() - looks, waited) << "a wait looks at the clock once, unless it spins";
  EXPECT_GE(waits::Sleeps() - sleeps, waited);
}

// A long spin on the core that the other needs brings nothing, and the scheduler does put two threads of a team on one. Here
// the other comes when the first has given up spinning, each time, as if it had had no core until then.
TEST(Barrier, LongSpinsInVainAreSeldom) {
  constexpr int kMeetings = 200;
  constexpr nanoseconds kStep{1000};
  const waits::SteppingClock clock(kStep);
  Barrier barrier(2);
  std::atomic<int> coming{0};
  ASSERT_TRUE(waits::AwaitQuiet());
  const std::uint64_t before = waits::Looks();
  OnThreads(2, [&](int rank) {
    for (int meeting = 1; meeting <= kMeetings; ++meeting) {
      if (rank == 0) {
        while (coming != meeting) std::this_thread::yield();
        EXPECT_TRUE(waits::AwaitQuiet());
      } else {
        coming = meeting;
      }
      barrier.Arrive({}, "the other", kLongSpin);
    }
  });
  const auto looks = static_cast<double>(waits::Looks() - before) / kMeetings;
  const auto spin = static_cast<double>(kLongSpin / kStep), least = static_cast<double>(kSpin / kStep) + 2;
  EXPECT_LT(looks, least + spin / 8) << "at the clock a meeting: one long spin takes " << spin;
}

// In every epoch a thread hears from those neighbours of it, on a ring, that have something to say: a set that changes.
TEST(NeighbourExchange, ReceiversGetTheValuesOfTheEpochFromThoseWhoSend) {
  constexpr int kEpochs = 300;
  NeighbourExchange<int> exchange(kThreads);
  Barrier end_of_epoch(kThreads);
  std::atomic<int> wrong{0}, received{0};
  const auto sends = [](int rank, int epoch) { return (rank * 7 + epoch) % 3 != 0; };
  OnThreads(kThreads, [&](int rank) {
    const int before = (rank + kThreads - 1) % kThreads, after = (rank + 1) % kThreads;
    std::mt19937 random(rank + 1);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      if (sends(rank, epoch)) {
        exchange.Outgoing(rank, epoch) = rank * kEpochs + epoch;
        exchange.Signal(before);
        exchange.Signal(after);
      }
      exchange.Wait(rank, sends(before, epoch) + sends(after, epoch), {nullptr, kHang}, "neighbours");
      for (const int from : {before, after}) {
        if (!sends(from, epoch)) continue;
        ++received;
        wrong += exchange.Incoming(from, epoch) != from * kEpochs + epoch;
      }
      end_of_epoch.Arrive({}, "the end of the epoch");
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(received, kThreads * kEpochs);
}

TEST(NeighbourExchange, AwaitingNobodyReturnsAtOnce) {
  NeighbourExchange<int> exchange(2);
  for (int i = 0; i < 1000; ++i) exchange.Wait(0, 0, {nullptr, milliseconds(1)}, "nobody");
}

TEST(NeighbourExchange, PoisonAndDeadlineEndAWait) {
  NeighbourExchange<int> exchange(2);
  EXPECT_THROW(exchange.Wait(0, 1, {nullptr, milliseconds(20)}, "one that never posts"), TimeoutError);
  std::thread failing([&] {
    EXPECT_TRUE(waits::AwaitQuiet());
    exchange.Poison();
  });
  EXPECT_THROW(exchange.Wait(1, 1, {}, "one that fails"), AbortedError);
  failing.join();
  EXPECT_THROW(exchange.Wait(1, 0, {}, "anybody"), AbortedError);
}

}  // namespace
}  // namespace chatty
