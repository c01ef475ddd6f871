#include "chatty/core/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace chatty {
namespace {

TEST(WorkerTeam, RefusesToBeEmpty) {
  EXPECT_THROW(WorkerTeam(0), UsageError);
  EXPECT_THROW(WorkerTeam(-1), UsageError);
}

TEST(WorkerTeam, EveryWidthHasItsMembers) {
  for (const int size : {1, 2, 5}) {
    WorkerTeam team(size);
    EXPECT_EQ(team.size(), size);
    for (const int width : {1, 2, 3, 5, 9, 2, 1, 5}) {
      const int expected = std::min(width, size);
      std::vector<int> calls(16, 0);  // plain: each member writes its own
      std::atomic<int> wrong{0};
      team.Run(width, [&](TeamMember& member) {
        calls[member.rank()] += 1;
        wrong += member.size() != expected;
      });
      EXPECT_EQ(wrong, 0);
      for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(calls[rank], rank < expected ? 1 : 0) << size << " " << width;
    }
  }
}

TEST(WorkerTeam, TheCallerIsMemberZero) {
  WorkerTeam team(3);
  std::vector<std::thread::id> ids(3);
  team.Run(3, [&](TeamMember& member) { ids[member.rank()] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[2], ids[1]);
  const std::vector<std::thread::id> first = ids;
  team.Run(3, [&](TeamMember& member) { ids[member.rank()] = std::this_thread::get_id(); });
  EXPECT_EQ(ids, first) << "threads live as long as the team";
}

TEST(WorkerTeam, TakesConstJobs) {
  WorkerTeam team(2);
  std::atomic<int> members{0};
  const auto job = [&](TeamMember&) { ++members; };
  team.Run(2, job);
  team.Run(1, job);
  EXPECT_EQ(members, 3);
}

TEST(WorkerTeam, ManyTinyJobs) {
  WorkerTeam team(4);
  std::uint64_t sum = 0, expected = 0;  // written by one member at a time; Run orders the jobs
  for (int i = 0; i < 3000; ++i) {
    const int width = 1 + i % 4;
    const int writer = i % width;
    expected += i;
    team.Run(width, [&](TeamMember& member) {
      if (member.rank() == writer) sum += i;
    });
  }
  EXPECT_EQ(sum, expected);
}

TEST(WorkerTeam, SyncSeparatesPhasesOfAJob) {
  WorkerTeam team(6);
  std::vector<int> at(6, 0);
  std::atomic<int> wrong{0};
  for (int job = 0; job < 5; ++job) {
    const int width = 6 - job;
    team.Run(width, [&](TeamMember& member) {
      for (int phase = 1; phase <= 40; ++phase) {
        at[member.rank()] = phase;
        member.sync();
        for (int r = 0; r < width; ++r) wrong += at[r] != phase;
        member.sync();
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerTeam, ExceptionOfAnyMemberReachesTheCaller) {
  WorkerTeam team(5);
  for (const int width : {1, 2, 5}) {
    for (int thrower = 0; thrower < width; ++thrower) {
      try {
        team.Run(width, [&](TeamMember& member) {
          if (member.rank() == thrower) throw UsageError("member " + std::to_string(thrower));
        });
        FAIL() << "the exception of member " << thrower << " was lost";
      } catch (const UsageError& error) {
        EXPECT_EQ(std::string(error.what()), "member " + std::to_string(thrower));
      }
      std::atomic<int> members{0};
      team.Run(width, [&](TeamMember&) { ++members; });
      EXPECT_EQ(members, width) << "the team works on after a failure";
    }
  }
}

TEST(WorkerTeam, MembersAtABarrierDoNotWaitForOneThatThrew) {
  WorkerTeam team(5);
  for (int i = 0; i < 50; ++i) {
    for (const int thrower : {0, 2, 4}) {
      // The others give up with AbortedError, which is not what the caller gets to see.
      EXPECT_THROW(team.Run(5,
                            [&](TeamMember& member) {
                              member.sync();
                              if (member.rank() == thrower) throw std::runtime_error("the cause");
                              member.sync();
                              ADD_FAILURE() << "passed a barrier that member " << thrower << " never reached";
                            }),
                   std::runtime_error);
    }
  }
  std::atomic<int> passed{0};
  team.Run(5, [&](TeamMember& member) {
    member.sync();
    ++passed;
  });
  EXPECT_EQ(passed, 5);
}

TEST(WorkerTeam, TheCauseIsPreferredToItsConsequences) {
  WorkerTeam team(4);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THROW(team.Run(4,
                          [&](TeamMember& member) {
                            if (member.rank() == 1) {
                              std::this_thread::yield();
                              throw UsageError("the cause");
                            }
                            if (member.rank() == 2) throw AbortedError("a consequence, and early");
                            member.sync();
                          }),
                 UsageError);
  }
}

TEST(WorkerTeam, AllMembersThrowAtOnce) {
  WorkerTeam team(4);
  for (int i = 0; i < 50; ++i) EXPECT_THROW(team.Run(4, [](TeamMember&) { throw UsageError("all"); }), UsageError);
}

TEST(WorkerTeam, DestructionWithAndWithoutWork) {
  for (int i = 0; i < 50; ++i) {
    WorkerTeam idle(1 + i % 5);
    auto used = std::make_unique<WorkerTeam>(3);
    std::atomic<int> members{0};
    used->Run(3, [&](TeamMember&) { ++members; });
    used.reset();  // at once after a job, while its workers are on their way to sleep
    EXPECT_EQ(members, 3);
  }
}

TEST(WorkerTeam, TeamsSideBySide) {
  std::vector<std::thread> callers;
  std::atomic<int> members{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      WorkerTeam team(3);
      for (int i = 0; i < 100; ++i) {
        team.Run(3, [&](TeamMember& member) {
          member.sync();
          ++members;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(members, 4 * 100 * 3);
}

}  // namespace
}  // namespace chatty
