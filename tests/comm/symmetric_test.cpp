#include "../core/waits.h"
#include "symmetric_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, SymmetricTest, testing::Values("host:1", "host:2", "host:4"));

/// A host device whose memory no other device addresses, as a GPU without a link.
class Unreachable final : public Device {
 public:
  explicit Unreachable(int index) : device_(MakeHostDevice(index, 1)) {}
  DeviceKind kind() const override { return device_->kind(); }
  int index() const override { return device_->index(); }
  const DeviceInfo& info() const override { return device_->info(); }
  MemoryResource& memory() override { return device_->memory(); }
  void set_memory(MemoryResource* resource) override { device_->set_memory(resource); }
  MemoryResource& pinned_memory() override { return device_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { device_->set_pinned_memory(resource); }
  void MakeCurrent() override {}
  Stream& stream() override { return device_->stream(); }
  std::unique_ptr<Stream> NewStream() override { return device_->NewStream(); }
  std::unique_ptr<Event> NewEvent() override { return device_->NewEvent(); }
  void CopyIn(void* to, const void* from, std::size_t bytes, Stream& on) override { device_->CopyIn(to, from, bytes, on); }
  void CopyOut(void* to, const void* from, std::size_t bytes, Stream& on) override { device_->CopyOut(to, from, bytes, on); }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& on) override {
    device_->CopyWithin(to, from, bytes, on);
  }
  void Fill(void* at, std::uint8_t byte, std::size_t bytes, Stream& on) override { device_->Fill(at, byte, bytes, on); }
  bool AllowAccessBy(Device&) override { return false; }

 private:
  std::unique_ptr<Device> device_;
};

TEST(SymmetricHeap, RefusesDevicesThatDoNotReachEachOther) {
  const std::unique_ptr<Device> near = MakeHostDevice(0, 1);
  Unreachable far(1);
  Device* const both[] = {near.get(), &far};
  try {
    const SymmetricHeap heap(both, 1024);
    ADD_FAILURE() << "host:1 cannot be reached";
  } catch (const CapabilityError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "a symmetric heap needs devices that address each other's memory, and host:0 cannot address that of host:1; take "
        "devices with a link between each two (`chatty topology`), or exchange through a transport");
  }
  EXPECT_THROW(SymmetricHeap({}, 1024), UsageError);
  SymmetricOptions endless;
  endless.timeout = std::chrono::milliseconds(0);
  EXPECT_THROW(SymmetricHeap(std::span(both, 1), 1024, endless), UsageError);
}

/// The deadline of a wait is by the clock, which the test sets forward: a wait of an hour ends.
TEST(SymmetricHeap, DeadlineEndsAWait) {
  SymmetricOptions options;
  options.timeout = std::chrono::hours(1);
  Heap heap("host:2", 4096, options);
  const WaitForNothing wait{heap->Allocate<std::uint64_t>(1)};
  std::atomic<bool> ended{false};
  std::thread run([&] {
    RunOnAll(*heap, wait);
    ended = true;
  });
  while (!ended) {
    EXPECT_TRUE(waits::AwaitQuiet());
    waits::Advance(std::chrono::hours(1));
  }
  run.join();
  EXPECT_THROW(heap->Check(), TimeoutError);
}

/// The model of weakly ordered memory: stores take effect late and out of order, until a fence.
class DelayedStoresTest : public testing::Test {
 protected:
  template <class Litmus>
  LitmusResult Run(std::uint64_t instances, bool leave_out_fences = false) {
    DelayedStores delays(Litmus::kRoles, {seed_++, leave_out_fences});
    return RunLitmus<Litmus>("host:" + std::to_string(Litmus::kRoles), instances, 1024, Layout::kOtherLine, &delays);
  }
  template <class Litmus>
  void Holds() {
    const LitmusResult result = Run<Litmus>(CHATTY_TEST_SANITIZED ? 5'000 : 50'000);
    EXPECT_EQ(result.forbidden, 0u) << result.Text();
  }
  template <class Litmus>
  void IsFound(const std::string& name, bool leave_out_fences) {
    const LitmusResult result = Run<Litmus>(1024, leave_out_fences);
    EXPECT_GT(result.forbidden, 0u) << result.Text();
    EXPECT_EQ(result.name, name);
  }

 private:
  std::uint64_t seed_ = 1;
};

TEST_F(DelayedStoresTest, OperationsKeepTheirPromises) {
  Holds<MessagePassing<Handover::kPutSignal>>();
  Holds<MessagePassing<Handover::kPutSignalAdd>>();
  Holds<MessagePassing<Handover::kFence>>();
  Holds<MessagePassing<Handover::kQuiet>>();
  Holds<StoreBuffering<true>>();
  Holds<Isa2>();
  Holds<Iriw>();
  Holds<Coherence>();
  Holds<EitherOrder>();
}

TEST_F(DelayedStoresTest, MissingFenceIsFoundByName) {
  IsFound<MessagePassing<Handover::kNothing, true>>("message passing (Put, AtomicSet), other line", false);
}

TEST_F(DelayedStoresTest, FenceThatDoesNothingIsFoundByName) {
  IsFound<MessagePassing<Handover::kFence, true>>("message passing (Put, Fence, AtomicSet), other line", true);
  IsFound<MessagePassing<Handover::kQuiet, true>>("message passing (Put, Quiet, AtomicSet), other line", true);
}

TEST_F(DelayedStoresTest, StoresToOnePlaceKeepTheirOrder) {
  constexpr std::size_t kWords = 64;
  std::vector<std::uint64_t> memory(kWords, 0), expected(kWords, 0);
  DelayedStores delays(1, {7, false});
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    const std::size_t at = Hash(i) % kWords, count = std::min<std::size_t>(1 + Hash(i, 1) % 20, kWords - at);
    const std::vector<std::uint64_t> values(count, i);
    if (i % 3 == 0) {
      delays.Set(0, &memory[at], i);
      expected[at] = i;
    } else {
      delays.Put(0, &memory[at], values.data(), count * sizeof(std::uint64_t));
      std::copy(values.begin(), values.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
    delays.PerformAt(0, &memory[at], sizeof(std::uint64_t));
    ASSERT_EQ(memory[at], i);
    if (i % 7 == 0) delays.PerformOne(0);
  }
  EXPECT_NE(memory, expected) << "nothing was delayed";
  delays.Fence(0);
  EXPECT_EQ(memory, expected);
}

}  // namespace
}  // namespace chatty::test
