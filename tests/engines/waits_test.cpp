// More devices than cores: a waiting thread sleeps at once, because the thread waited for may need its core.
#include "../core/waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "../framework/test_inputs.h"
#include "../prebuilt_programs.h"
#include "chatty/core/sync.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/cc.h"

namespace chatty::test {
namespace {

/// On a clock on which the shortest spin takes 2000 looks. What is done between two waits takes up to 160.
constexpr std::chrono::nanoseconds kStep = kSpin / 2000;
constexpr double kMaxLooks = 700;

/// Looks at the clock for each wait that slept, of one more run of `job`. In each round somebody waits: where fewer waits
/// slept, because threads were late and found what they wait for, rounds are counted instead.
template <class Job>
double LooksAWait(Job& job) {
  job.Execute();  // teams are made, and memory is touched
  EXPECT_TRUE(waits::AwaitQuiet());
  const waits::SteppingClock clock(kStep);
  const std::uint64_t looks = waits::Looks(), sleeps = waits::Sleeps();
  const RunStatistics statistics = job.Execute();
  EXPECT_EQ(statistics.ended, Ended::kConverged);
  const std::uint64_t slept = waits::Sleeps() - sleeps;
  EXPECT_GT(slept, 0u) << "with fewer cores than devices somebody has waited";
  return static_cast<double>(waits::Looks() - looks) /
         static_cast<double>(std::max<std::uint64_t>(slept, statistics.rounds));
}

TEST(Waits, OfMoreDevicesThanCoresDoNotSpin) {
  if (Cores() >= kMaxDevices) GTEST_SKIP() << "no run takes more devices than there are cores here";
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 80;  // rounds are many and tiny
  const Graph graph = Generate(spec);
  SessionOptions divided;
  divided.partition = "contiguous";
  Session session(graph, "host:" + std::to_string(Cores() + 1), divided);
  for (const char* execution : {"bsp", "async"}) {
    SCOPED_TRACE(execution);
    RunOptions options;
    options.execution = ParseExecution(execution);
    const auto job = session.Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}), options);
    EXPECT_LT(LooksAWait(*job), kMaxLooks);
  }
  OperatorJob<ConnectedComponents> job(session, ConnectedComponents{}, RunOptions{});
  EXPECT_LT(LooksAWait(job), kMaxLooks);
}

}  // namespace
}  // namespace chatty::test
