// Runs of several devices together of which one runs out of something, or is lost: the nth request of each supply fails, for
// every n. The run has to end with the error, and what was prepared has to run right afterwards, on the same devices.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "../programs/test_graphs.h"
#include "chatty/core/device.h"
#include "chatty/framework/run.h"
#include "chatty/framework/session.h"
#include "chatty/framework/worklist/worklist.h"
#include "sweep.h"

namespace chatty::test {

/// Calls that enqueue work on devices: one supply a device, of which the nth call fails, as where the device is lost.
class FailingCalls final : public Scarce {
 public:
  explicit FailingCalls(MakeDevices make) : make_(std::move(make)) { Open(); }

  const char* name() const override { return "calls of devices"; }
  std::vector<std::unique_ptr<Device>> Open() override {
    lent_ = make_();
    counts_.clear();
    std::vector<std::unique_ptr<Device>> devices;
    for (const auto& device : lent_) {
      counts_.push_back(std::make_unique<Count>());
      devices.push_back(std::make_unique<FailingDevice>(*device, *counts_.back()));
    }
    return devices;
  }
  std::size_t supplies() const override { return counts_.size(); }
  void FailAt(std::size_t supply, std::uint64_t nth) override {
    counts_[supply]->calls = 0;
    counts_[supply]->fail_at = nth;
  }
  std::int64_t live() const override { return 0; }
  bool asked(std::size_t) const override { return false; }
  bool reached(std::size_t supply) const override { return counts_[supply]->calls >= counts_[supply]->fail_at; }

 private:
  struct Count {
    std::atomic<std::uint64_t> calls{0}, fail_at{0};
  };
  class FailingDevice final : public BorrowedDevice {
   public:
    FailingDevice(Device& lender, Count& count) : BorrowedDevice(lender), count_(count) {}
    void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
      Call();
      BorrowedDevice::CopyIn(device, host, bytes, stream);
    }
    void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
      Call();
      BorrowedDevice::CopyOut(host, device, bytes, stream);
    }
    void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
      Call();
      BorrowedDevice::Fill(device, byte, bytes, stream);
    }

   private:
    void Call() {
      if (++count_.calls == count_.fail_at) Throw<DeviceError>("{}: a call is made to fail", label());
    }
    Count& count_;
  };

  MakeDevices make_;
  std::vector<std::unique_ptr<Device>> lent_;  // outlive the devices that pass calls on
  std::vector<std::unique_ptr<Count>> counts_;
};

/// An attempt of a sweep over a run on several devices. It begins with devices that may fail, and goes as far as it can.
class TogetherAttempt {
 public:
  virtual ~TogetherAttempt() = default;
  /// Prepares what is not prepared yet, and runs. Returns whether the answer is right.
  virtual bool Run() = 0;
  /// Whether the last run was of all devices together. One whose plan found too little memory is not.
  virtual bool was_resident() const { return true; }
};
using BeginAttempt = std::function<std::unique_ptr<TogetherAttempt>(std::vector<std::unique_ptr<Device>>)>;

/// Lets every `step`th request of each supply fail with an Error, while a run on several devices is prepared and while it
/// runs. The run ends then, and what was prepared runs right afterwards, on the same devices. Returns how often it failed.
template <class Error>
int SweepTogether(const std::string& what, Scarce& scarce, std::uint64_t step, const BeginAttempt& begin) {
  SCOPED_TRACE(what + ", out of " + scarce.name());
  for (int warm = 0; warm < 2; ++warm) {  // twice: whatever is made once in a process is there
    const std::unique_ptr<TogetherAttempt> attempt = begin(scarce.Open());
    EXPECT_TRUE(attempt->Run());
    EXPECT_TRUE(attempt->was_resident());
  }
  int failures = 0;
  for (std::size_t supply = 0; supply < scarce.supplies(); ++supply) {
    for (std::uint64_t nth = 1;; nth += step) {
      if (nth > 5000) {
        ADD_FAILURE() << "supply " << supply << " never lasts";
        return failures;
      }
      static_cast<void>(scarce.Open());  // whose counters begin anew, and are of no device
      const std::int64_t before = scarce.live();
      bool failed = false, right = false, reached = false;
      {
        const std::unique_ptr<TogetherAttempt> attempt = begin(scarce.Open());
        scarce.FailAt(supply, nth);
        try {
          right = attempt->Run();
          reached = scarce.reached(supply);
        } catch (const Error&) {
          failed = true;
        } catch (const std::exception& error) {
          scarce.FailAt(supply, 0);
          ADD_FAILURE() << "failure " << nth << " of supply " << supply << " is another error: " << error.what();
          return failures;
        }
        scarce.FailAt(supply, 0);
        if (failed) right = attempt->Run();
        EXPECT_TRUE(right) << "failure " << nth << " of supply " << supply;
      }
      if (scarce.live() != before) {
        ADD_FAILURE() << "failure " << nth << " of supply " << supply << " leaves " << scarce.live() - before << " blocks";
        return failures;
      }
      if (!failed && !reached) break;
      failures += failed ? 1 : 0;
    }
  }
  return failures;
}

/// A program whose run is resident on all devices.
template <class P>
class ProgramAttempt final : public TogetherAttempt {
 public:
  /// `graph` and `expected` must outlive it.
  ProgramAttempt(const Graph& graph, const P& program, Execution execution, const std::vector<OutputOf<P>>& expected,
                 std::vector<std::unique_ptr<Device>> devices)
      : graph_(graph), program_(program), expected_(expected), devices_(std::move(devices)) {
    options_.execution = execution;
    options_.timeout = std::chrono::seconds(60);  // a device that waits for one that failed is a hang
    options_.list_items = 64;
    for (const auto& device : devices_) lenders_.push_back(device.get());
  }
  bool Run() override try {
    if (!session_) {
      std::vector<std::unique_ptr<Device>> devices;  // the session's own: those of this attempt serve another one, too
      for (Device* const device : lenders_) devices.push_back(std::make_unique<BorrowedDevice>(*device));
      SessionOptions options;
      options.partition = "random";
      options.threads = 1;
      session_.emplace(graph_, std::move(devices), options);
    }
    if (!job_) job_ = session_->Prepare(std::make_shared<TypedProgram<P>>(program_), options_);
    const RunStatistics statistics = job_->Execute();
    std::vector<OutputOf<P>> values(graph_.vertices());
    job_->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    steps_ = statistics.fused_steps;
    return statistics.converged && values == expected_;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("what this test asks for itself");
  }
  bool was_resident() const override { return steps_ > 0; }

 private:
  const Graph& graph_;
  const P program_;
  const std::vector<OutputOf<P>>& expected_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> lenders_;
  RunOptions options_;
  std::optional<Session> session_;
  std::unique_ptr<Job> job_;
  std::uint32_t steps_ = 0;
};

/// Sweeps a program over a path whose neighbours are on random devices.
template <class Error, class P>
int SweepProgram(const std::string& what, const P& program, Execution execution, WeightKind weights, Scarce& scarce,
                 std::uint64_t step) {
  constexpr VertexId kLength = 24;
  std::vector<TestEdge> edges;
  for (VertexId v = 0; v + 1 < kLength; ++v) edges.push_back({v, v + 1, 1.0});
  const Graph graph = MakeGraph(kLength, edges, weights);
  std::vector<OutputOf<P>> expected;
  for (VertexId v = 0; v < kLength; ++v) expected.push_back(static_cast<OutputOf<P>>(v));  // each edge has length 1
  return SweepTogether<Error>(what, scarce, step, [&](std::vector<std::unique_ptr<Device>> devices) {
    return std::make_unique<ProgramAttempt<P>>(graph, program, execution, expected, std::move(devices));
  });
}

/// An item that goes from device to device.
struct PassedItems {
  struct Item {
    std::uint32_t number;
  };
  using Message = Item;
  static constexpr std::uint32_t kItems = 40;

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    if (item.number + 1 < kItems) context.Send((item.number + 1) % context.devices(), {item.number + 1});
  }
  CHATTY_FN double Priority(const Item& item) const { return static_cast<double>(item.number / 4); }
  CHATTY_FN bool OnSend(const Item&, std::uint32_t) const { return true; }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item&) const { return true; }
};

class WorklistAttempt final : public TogetherAttempt {
 public:
  explicit WorklistAttempt(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {
    for (const auto& device : devices_) all_.push_back(device.get());
    programs_.resize(all_.size());
    seeds_.resize(all_.size());
    seeds_[0].push_back({0});
  }
  bool Run() override {
    const WorklistStatistics statistics = RunWorklist<PassedItems>(
        all_, programs_, seeds_, {.width = 1, .timeout = std::chrono::seconds(60), .waiting_items = 1000});
    return statistics.processed == PassedItems::kItems && statistics.sent > 0;
  }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> all_;
  std::vector<PassedItems> programs_;
  std::vector<std::vector<PassedItems::Item>> seeds_;
};

/// All engines that are resident on several devices. `rounds`: there are exact rounds together, too.
template <class Error>
int SweepAllTogether(Scarce& scarce, bool rounds, std::uint64_t step = kStep) {
  int failures =
      SweepProgram<Error>("bfs together", Bfs{}, Execution::kAsync, WeightKind::kNone, scarce, step) +
      SweepProgram<Error>("sssp together", SsspOf<std::int32_t>{}, Execution::kAsync, WeightKind::kInt32, scarce, step) +
      SweepTogether<Error>("a worklist", scarce, step, [](std::vector<std::unique_ptr<Device>> devices) {
        return std::make_unique<WorklistAttempt>(std::move(devices));
      });
  if (rounds) {
    failures += SweepProgram<Error>("rounds together", Bfs{}, Execution::kBsp, WeightKind::kNone, scarce, step);
  }
  return failures;
}

}  // namespace chatty::test
