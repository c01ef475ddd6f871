/// \file
/// Devices that are late in the engines that run on all devices together: one is held up in a function of the program, and
/// the others wait for it in vain. The error says who waited, for whom, for what and how long, and the next run on the same
/// devices is whole. Includers say how long a device waits, and instantiate the tests over devices.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/device.h"
#include "chatty/core/macros.h"
#include "chatty/framework/run.h"
#include "chatty/framework/worklist/worklist.h"
#include "test_inputs.h"
#include "time_to_end.h"

namespace chatty::test {

/// The longest wait of a device. Defined by the including file, as is the next function.
extern const std::chrono::milliseconds kLateDeadline;
/// Called before a worklist that is held up runs, which does not return before its kernels have ended. Clears *hold once
/// `waiting` has given up, where that is not done by the function that holds a host's thread up. The time to the run's end
/// begins then.
std::jthread ReleaseWhenGivenUp(Device& waiting, std::uint32_t* hold);

/// Holds a host's thread up until the others have given up, and clears the word that says so.
inline std::function<void(std::uint32_t*)> g_hold_host_up;  // set while no run goes on

/// From the failure of a run to its end. A host's run ends after its late device, so there the time begins as that one is
/// released.
inline TimeToEnd g_time_to_end;

/// Instead of being held up, a GPU's kernel traps.
inline constexpr std::uint32_t kTraps = 2;

/// Within a function of a program: holds its device up as long as *hold is not 0.
CHATTY_NO_EXEC_CHECK
CHATTY_FN void HoldUp(std::uint32_t* hold) {
#if CHATTY_DEVICE_CODE
  while (const std::uint32_t what = detail::LoadRelaxed(hold)) {
    if (what == kTraps) __trap();
  }
#else
  if (detail::LoadRelaxed(hold) == 0) return;
  g_hold_host_up(hold);
  g_time_to_end.Begin();
#endif
}

/// Levels from vertex 0; a vertex holds its device up.
struct HeldLevels {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  std::uint32_t* hold = nullptr;  ///< page-locked memory
  VertexId held = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == 0 ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& v) const { return v != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& v, Edge<>) const { return v + 1; }
  CHATTY_NO_EXEC_CHECK
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex vertex) const {
    if (vertex.id == held) HoldUp(hold);
    if (m >= v) return false;
    v = m;
    return true;
  }
};

/// An item that goes from device to device; the last device is held up by each that it gets.
struct HeldItems {
  struct Item {
    std::uint32_t number;
  };
  using Message = Item;
  static constexpr std::uint32_t kItems = 50;
  std::uint32_t* hold = nullptr;

  CHATTY_NO_EXEC_CHECK
  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    if (context.device() + 1 == context.devices()) HoldUp(hold);
    if (item.number + 1 < kItems) context.Send((item.number + 1) % context.devices(), {item.number + 1});
  }
  CHATTY_FN double Priority(const Item& item) const { return static_cast<double>(item.number / 8); }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const { return true; }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item&) const { return true; }
};

struct LateCase {
  const char* name;
  const char* devices;
  int threads;                              ///< of host devices together
  Execution execution = Execution::kAsync;  ///< of vertex programs
};
inline std::string LateName(const testing::TestParamInfo<LateCase>& info) { return info.param.name; }
inline void PrintTo(const LateCase& which, std::ostream* out) { *out << which.name; }

class LateDevices : public testing::TestWithParam<LateCase> {
 protected:
  static constexpr VertexId kLength = 400;

  void SetUp() override {
    if (const std::string why = WhyNot(GetParam().devices); !why.empty()) GTEST_SKIP() << why;
  }
  static std::vector<std::unique_ptr<Device>> Open() {
    return OpenDevices(ParseDevices(GetParam().devices), GetParam().threads);
  }
  /// A path, of which each device has a piece: the last vertices are the last device's.
  static Graph Path() {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v + 1 < kLength; ++v) edges.push_back({v, v + 1});
    return MakeGraph(kLength, edges);
  }
  static SessionOptions InPieces() {
    SessionOptions options;
    options.partition = "contiguous";
    return options;
  }
  static RunOptions Resident() {
    RunOptions options;
    options.execution = GetParam().execution;
    options.timeout = kLateDeadline;
    return options;
  }
  static void ExpectWhole(Job& job) {
    const RunStatistics statistics = job.Execute();
    EXPECT_EQ(statistics.ended, Ended::kConverged);
    EXPECT_GT(statistics.fused_steps, 0u) << "no run of all devices together";
    std::vector<std::uint32_t> levels(kLength);
    job.CopyOutput(reinterpret_cast<std::byte*>(levels.data()));
    for (VertexId v = 0; v < kLength; ++v) ASSERT_EQ(levels[v], v);
  }
  /// What all errors say.
  static void ExpectSays(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "': " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << "one line: " << text;
  }
  static std::string Waited() { return "waited " + std::to_string(kLateDeadline.count()) + " ms for "; }
};

TEST_P(LateDevices, EndTheRunOfAllAndAreNamed) {
  const Graph graph = Path();
  Session session(graph, Open(), InPieces());
  const std::string last = session.device(session.device_count() - 1).label();
  const Pinned<std::uint32_t> hold(session.device(0), 1);
  hold[0] = 1;
  const auto program = std::make_shared<TypedProgram<HeldLevels>>(HeldLevels{hold.data(), kLength - 2});
  const auto job = session.Prepare(program, Resident());
  g_time_to_end.Begin(kLateDeadline);
  try {
    job->Execute();
    ADD_FAILURE() << "waited for a device that was held up";
  } catch (const TimeoutError& error) {
    const bool rounds = GetParam().execution == Execution::kBsp;
    ExpectSays(error.what(),
               {": " + Waited(), "raise --timeout", last, rounds ? " is at another barrier than " : " busy worker"});
  } catch (const Error& error) {  // whatever comes, the device is released before the job ends
    ADD_FAILURE() << error.what();
  }
  g_time_to_end.End(session.device(0).kind());
  detail::StoreRelaxed(hold.data(), 0u);
  EXPECT_EQ(job->statistics().ended, Ended::kFailed);
  for (int run = 0; run < 2; ++run) ExpectWhole(*job);
}

class LateWorklists : public LateDevices {};

TEST_P(LateWorklists, EndTheRunOfAllAndAreNamed) {
  const std::vector<std::unique_ptr<Device>> owners = Open();
  std::vector<Device*> devices;
  for (const auto& owner : owners) devices.push_back(owner.get());
  const Pinned<std::uint32_t> hold(*devices[0], 1);
  const std::vector<HeldItems> programs(devices.size(), HeldItems{hold.data()});
  std::vector<std::vector<HeldItems::Item>> seeds(devices.size());
  seeds[0].push_back({0});
  for (int run = 0; run < 2; ++run) {
    hold[0] = 1;
    {
      const std::jthread releaser = ReleaseWhenGivenUp(*devices[0], hold.data());
      try {
        RunWorklist<HeldItems>(devices, programs, seeds, {.width = 1, .timeout = kLateDeadline});
        ADD_FAILURE() << "waited for a device that was held up";
      } catch (const TimeoutError& error) {
        ExpectSays(error.what(), {": " + Waited(), devices.back()->label() + ", which has "});
      }
      g_time_to_end.End(devices[0]->kind());
    }
    hold[0] = 0;
    EXPECT_EQ(RunWorklist<HeldItems>(devices, programs, seeds, {.width = 1}).processed, HeldItems::kItems);
  }
}

}  // namespace chatty::test
