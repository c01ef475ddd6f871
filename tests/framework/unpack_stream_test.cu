// What arrives is unpacked on a stream of high priority: beside a push that goes on, and after an update that was enqueued
// before it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/framework/device_graph.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

constexpr VertexId kHalf = 5000;
constexpr WaitContext kPatience{nullptr, std::chrono::seconds(60)};

/// Holds up a stream, as a kernel that takes long, until it is opened.
class Gate {
 public:
  ~Gate() { Open(); }
  void Close(Stream& stream) {
    open_ = false;
    const auto wait = [](void* gate) {
      while (!static_cast<Gate*>(gate)->open_) std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    CHATTY_CUDA(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream.native()), wait, this));
  }
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{true};
};

/// The second half of a graph: vertex kHalf + i has an edge with vertex i of the first half, and they form a ring.
class UnpackStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
    device_ = MakeCudaDevice(0);
    std::vector<TestEdge> edges;
    for (VertexId i = 0; i < kHalf; ++i) {
      edges.push_back({i, kHalf + i, 1});
      edges.push_back({kHalf + i, kHalf + (i + 1) % kHalf, 1});
    }
    graph_ = MakeSymmetric(2 * kHalf, edges);
    const Partition halves = Partition::FromBounds({0, kHalf, 2 * kHalf}, "");
    subgraphs_ = BuildSubgraphs(graph_, halves, SubgraphOptions());
    device_->MakeCurrent();
    on_device_ = std::make_unique<DeviceGraph>(*device_, subgraphs_[1]);
    steps_ = TypedProgram<LabelPropagation, CudaOnly>(LabelPropagation()).MakeSteps(*on_device_, RowOptions());
    ASSERT_EQ(subgraphs_[1].border[0].size(), kHalf);
    for (const VertexId divisor : {1, 2, 4}) {  // message i is i / divisor
      std::vector<VertexId> messages(kHalf);
      for (VertexId i = 0; i < kHalf; ++i) messages[i] = i / divisor;
      buffers_.emplace_back(*device_, kHalf);
      device_->CopyIn(buffers_.back().data(), messages.data(), buffers_.back().bytes(), device_->stream());
      device_->stream().Synchronize();
    }
    round_.vertices = 2 * kHalf;
    steps_->SetAsynchronous(true);
    reader_ = steps_->ReceiveStream();
    // Once with every step, because the load of a kernel may wait for a stream that a gate holds up.
    Start();
    Push();
    Unpack(0);
    steps_->Read(kPatience, /*clear=*/false);
    steps_->Apply(round_, Form::kQueue, kHalf);
    steps_->Read(kPatience, /*clear=*/true);
    Start();
  }
  void TearDown() override {
    gate_.Open();
    if (device_ != nullptr) device_->stream().Synchronize();
  }

  Stream& main() { return device_->stream(); }
  void Start() {
    steps_->ClearControl();
    steps_->SetLimit(kInfinity<double>);
    steps_->Init(nullptr, round_);
    edges_ = steps_->Read(kPatience, /*clear=*/true).active_edges;
  }
  void Push() { steps_->Advance(round_, Form::kBitmap, kHalf, edges_, /*queue_out=*/true); }
  void Unpack(std::size_t buffer) {
    InboxRef inbox;
    inbox.buffer = reinterpret_cast<const std::byte*>(buffers_[buffer].data());
    inbox.encoding = Encoding::kDense;
    inbox.count = inbox.size = inbox.last = kHalf;
    steps_->UnpackArrived(inbox, 0);
  }
  void ExpectValues(VertexId divisor) {
    std::vector<VertexId> values(kHalf);
    steps_->CopyValues(reinterpret_cast<std::byte*>(values.data()), kPatience);
    for (VertexId i = 0; i < kHalf; ++i) ASSERT_EQ(values[i], i / divisor) << i;
  }

  std::unique_ptr<Device> device_;
  Graph graph_;
  std::vector<Subgraph> subgraphs_;
  std::unique_ptr<DeviceGraph> on_device_;
  std::vector<Buffer<VertexId>> buffers_;
  std::unique_ptr<StepSet> steps_;
  RoundState round_;
  Stream* reader_ = nullptr;
  std::uint64_t edges_ = 0;
  Gate gate_;
};

TEST_F(UnpackStreams, TheirPriorityIsTheGreatest) {
  ASSERT_NE(reader_, nullptr);
  EXPECT_NE(reader_->native(), main().native());
  EXPECT_EQ(steps_->ReceiveStream(), reader_) << "one for all";
  int least = 0, greatest = 0, priority = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(static_cast<cudaStream_t>(reader_->native()), &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
}

TEST_F(UnpackStreams, UnpackBesideAPush) {
  Push();
  gate_.Close(main());
  Unpack(0);
  reader_->Synchronize(kPatience);  // the main stream has yet to pass the gate
  EXPECT_TRUE(reader_->IsIdle());
  EXPECT_FALSE(main().IsIdle());
  gate_.Open();
  EXPECT_EQ(steps_->Read(kPatience, /*clear=*/false).touched_count, kHalf) << "each vertex is queued once";
  steps_->Apply(round_, Form::kQueue, kHalf);
  steps_->Read(kPatience, /*clear=*/true);
  ExpectValues(1);
}

TEST_F(UnpackStreams, UnpackAfterAnUpdateAndBeforeTheNext) {
  Push();
  Unpack(0);
  gate_.Close(main());
  steps_->Apply(round_, Form::kQueue, kHalf);
  Unpack(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // enough for a kernel that did not wait
  EXPECT_FALSE(reader_->IsIdle()) << "unpacks what Apply then clears";
  gate_.Open();
  EXPECT_EQ(steps_->Read(kPatience, /*clear=*/false).touched_count, kHalf - 1) << "all but 0, which has its least value";
  ExpectValues(1);
  steps_->Apply(round_, Form::kQueue, kHalf);  // enqueued behind the unpacking without a wait of the host
  steps_->Read(kPatience, /*clear=*/true);
  ExpectValues(2);
}

TEST_F(UnpackStreams, UnpackWhileTheHostReadsCounters) {
  Push();
  gate_.Close(main());
  int times = 0;
  const Control& control = steps_->ReadBeside(kPatience, [&] {
    if (++times > 1) return;
    for (const std::size_t buffer : {0, 2}) Unpack(buffer);
    reader_->Synchronize(kPatience);
    gate_.Open();
  });
  EXPECT_GE(times, 1);
  EXPECT_LE(control.touched_count, kHalf);
  EXPECT_EQ(steps_->Read(kPatience, /*clear=*/false).touched_count, kHalf);
  steps_->Apply(round_, Form::kQueue, kHalf);
  steps_->Read(kPatience, /*clear=*/true);
  ExpectValues(4);
}

}  // namespace
}  // namespace chatty::test
