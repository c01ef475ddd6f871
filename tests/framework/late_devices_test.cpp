// Host devices of which one is late, and what the devices' common memory tells of it.
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "../core/waits.h"
#include "chatty/framework/fused/heap_reader.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/framework/fused/team.h"
#include "late_devices_test_body.h"

namespace chatty::test {

const std::chrono::milliseconds kLateDeadline = std::chrono::seconds(60);  // never missed, even on a busy machine

std::jthread ReleaseWhenGivenUp(Device&, std::uint32_t*) { return {}; }

namespace {

/// Lets deadlines pass until nobody looks at the clock any more, after somebody has waited: all have given up.
void HoldUntilGivenUp(std::uint32_t* hold) {
  constexpr int kQuiet = 150, kMost = 12000;  // looks, 5 ms apart
  const std::uint64_t first = waits::Looks();
  std::uint64_t before = first;
  bool waited = false;  // who gives up has looked when it began to wait, and once more
  int quiet = 0;
  for (int i = 0; i < kMost && (!waited || quiet < kQuiet); ++i) {
    waits::Advance(2 * kLateDeadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::uint64_t now = waits::Looks();
    waited = waited || now > first + 1;
    quiet = now == before ? quiet + 1 : 0;
    before = now;
  }
  detail::StoreRelaxed(hold, 0u);
}

class HostsHeldUp : public testing::Environment {
 public:
  void SetUp() override { g_hold_host_up = HoldUntilGivenUp; }
};
[[maybe_unused]] const testing::Environment* const kHostsHeldUp = testing::AddGlobalTestEnvironment(new HostsHeldUp);

// A device has one thread: a second one would see the deadline pass, too, and could not tell before the first ends.
INSTANTIATE_TEST_SUITE_P(Host, LateDevices, testing::Values(LateCase{"two", "host:2", 2}, LateCase{"three", "host:3", 3}),
                         LateName);
INSTANTIATE_TEST_SUITE_P(Host, LateWorklists, testing::Values(LateCase{"two", "host:2", 2}, LateCase{"three", "host:3", 3}),
                         LateName);

/// Three devices, and pointers to them.
struct ThreeHosts {
  std::vector<std::unique_ptr<Device>> owners = OpenDevices(ParseDevices("host:3"), 3);
  std::vector<Device*> all{owners[0].get(), owners[1].get(), owners[2].get()};
};

/// A GPU made of a host's memory. Its copies to the host can be held back, as those of a GPU that is busy.
class LaggingGpu final : public Device {
 public:
  explicit LaggingGpu(int index) : host_(MakeHostDevice(index, 1)), stream_(*this) {}
  void Lag() { lags_ = true; }
  /// Performs the copies that were held back.
  void CatchUp() {
    lags_ = false;
    for (const std::function<void()>& copy : std::exchange(held_back_, {})) copy();
  }
  int copies() const { return copies_; }     ///< to the host, asked for
  std::function<void()> before_synchronize;  ///< of each stream

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  int index() const override { return host_->index(); }
  const DeviceInfo& info() const override { return host_->info(); }
  MemoryResource& memory() override { return host_->memory(); }
  void set_memory(MemoryResource* resource) override { host_->set_memory(resource); }
  MemoryResource& pinned_memory() override { return host_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { host_->set_pinned_memory(resource); }
  void MakeCurrent() override {}
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<LaggingStream>(*this); }
  std::unique_ptr<Event> NewEvent() override { return host_->NewEvent(); }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream&) override { std::memcpy(device, host, bytes); }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream&) override {
    ++copies_;
    const auto copy = [=] { std::memcpy(host, device, bytes); };
    if (lags_) {
      held_back_.emplace_back(copy);
    } else {
      copy();
    }
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream&) override { std::memcpy(to, from, bytes); }
  bool AllowAccessBy(Device&) override { return true; }
  bool HasNativeAtomics(Device&) override { return true; }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream&) override { std::memset(device, byte, bytes); }

 private:
  class LaggingStream final : public Stream {
   public:
    explicit LaggingStream(LaggingGpu& owner) : owner_(owner) {}
    void Synchronize(const WaitContext& context) override {  // a deadline passes at once
      if (owner_.before_synchronize) owner_.before_synchronize();
      if (IsIdle()) return;
      if (context.timeout.count() > 0) Throw<TimeoutError>("waited for a copy that is held back");
      owner_.CatchUp();
    }
    bool IsIdle() override { return owner_.held_back_.empty(); }
    void* native() const override { return nullptr; }

   private:
    LaggingGpu& owner_;
  };

  std::unique_ptr<Device> host_;
  LaggingStream stream_;
  bool lags_ = false;
  int copies_ = 0;
  std::vector<std::function<void()>> held_back_;
};

TEST(LateCopiesOfAHeap, AreNotTakenForWordsOfAnotherDeviceOrCall) {
  LaggingGpu late(0), quick(1);
  Device* const both[] = {&late, &quick};
  SymmetricHeap heap(both, 1024);
  const Symmetric<std::uint64_t> words = heap.Allocate<std::uint64_t>(2);
  const std::vector<std::uint64_t> old{10, 11}, others{20, 21}, now{30, 31}, none;
  const auto store = [&](std::size_t device, const std::vector<std::uint64_t>& values) {
    std::memcpy(heap.data(words, device), values.data(), values.size() * sizeof(std::uint64_t));
  };
  store(0, old);
  store(1, others);
  {
    fused::HeapReader reader(heap, 2);
    EXPECT_EQ(reader.Read(words, 2, 0), old);
    EXPECT_EQ(reader.Read(words, 2, 1), others);
    late.Lag();
    EXPECT_EQ(reader.Read(words, 2, 0), none) << "it does not answer";
    const int copies = late.copies();
    EXPECT_EQ(reader.Read(words, 2, 0), none);
    EXPECT_EQ(late.copies(), copies) << "the first copy may still write where a second one would";
    quick.before_synchronize = [&] { late.CatchUp(); };  // the late copy comes while the other device's words are read
    EXPECT_EQ(reader.Read(words, 2, 1), others);
    quick.before_synchronize = nullptr;
    store(0, now);
    EXPECT_EQ(reader.Read(words, 2, 0), now) << "it answers again";
    late.Lag();
    EXPECT_EQ(reader.Read(words, 1, 0), none);
  }
  EXPECT_TRUE(late.stream().IsIdle()) << "a copy would write into memory that was freed";
}

TEST(LateDevicesOfATeam, AreSaidToHaveNotBegunOrToBeBusy) {
  ThreeHosts hosts;
  fused::Team team(hosts.all, 0);
  team.Begin();
  team.ref(0).BeginStep(1);
  team.ref(0).BecomeIdle();
  EXPECT_EQ(team.DescribeWait(0),
            "host:0 waited for host:1, which has not begun the step and host:2, which has not begun the step");
  for (const std::size_t d : {1u, 2u}) team.ref(d).BeginStep(2);
  EXPECT_EQ(team.DescribeWait(0), "host:0 waited for host:1, which has 2 busy workers and host:2, which has 2 busy workers");
  for (const std::size_t d : {1u, 1u, 2u}) team.ref(d).BecomeIdle();
  EXPECT_EQ(team.DescribeWait(0), "host:0 waited for host:2, which has 1 busy worker");
  EXPECT_EQ(team.DescribeWait(2), "host:2 itself has 1 busy worker");
  team.ref(2).BecomeIdle();
  EXPECT_EQ(team.DescribeWait(1), "no device is busy, and host:0 is to order the next step");
  team.ref(1).CountReceived((1ull << 40) - 2, /*was_idle=*/false);  // what the field of messages carries is lost
  for (int step = 2; step < 600; ++step) {                          // numbers of steps come again
    for (const std::size_t d : {0u, 1u}) {
      team.ref(d).BeginStep(1);
      team.ref(d).BecomeIdle();
    }
    EXPECT_EQ(team.DescribeWait(1), "host:1 waited for host:2, which has not begun the step");
    team.ref(2).BeginStep(1);
    team.ref(2).CountReceived(1, /*was_idle=*/false);
    team.ref(2).BecomeIdle();
  }
}

TEST(StateOfATeam, KeepsItsFieldsApart) {
  ThreeHosts hosts;
  fused::Team team(hosts.all, 0);
  team.Begin();
  const fused::TeamRef ref = team.ref(1);
  std::uint64_t received = 0;
  for (std::uint64_t step = 1; step < 1000; ++step) {
    ref.BeginStep(1000);
    for (const std::uint64_t more : {std::uint64_t{1}, (std::uint64_t{1} << 39) + step}) {
      received += more;
      ref.CountReceived(more, /*was_idle=*/true);
    }
    ref.BecomeIdle();
    const fused::TeamState state = ref.StateOf(1);
    ASSERT_EQ(state.step(), step % 256);
    ASSERT_EQ(state.active(), 1001u);
    ASSERT_TRUE(fused::TeamState::AllReceived(received, state.received()));
    ASSERT_FALSE(fused::TeamState::AllReceived(received + 1, state.received()));
    ASSERT_FALSE(fused::TeamState::AllReceived(received - 1, state.received()));
    for (int worker = 0; worker < 1001; ++worker) ref.BecomeIdle();
    ASSERT_EQ(ref.StateOf(1).active(), 0u);
  }
}

TEST(LateDevicesOfATeam, AreNamedByTheTextOfATimeoutAlone) {
  ThreeHosts hosts;
  fused::Team team(hosts.all, 0);
  team.Begin();
  team.ref(2).BeginStep(1);
  const auto text_of = [&](const auto& error) -> std::string {
    try {
      try {
        throw error;
      } catch (...) {
        std::rethrow_exception(team.FailureOf(1));
      }
    } catch (const std::exception& failure) {
      EXPECT_EQ(typeid(failure), typeid(error));
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(text_of(UsageError("wrong")), "wrong");
  EXPECT_EQ(text_of(TimeoutError("late")),
            "late; host:1 waited for host:2, which has 1 busy worker and host:0, which has not begun the step");
}

TEST(LateDevicesOfRounds, AreAtAnotherBarrierOrHaveNotBegun) {
  ThreeHosts hosts;
  fused::RoundsTeam team(hosts.all);
  for (const std::uint32_t epoch : {0u, 6u}) {
    for (std::size_t d = 0; d < 3; ++d) team.SetEpoch(d, epoch);
    const fused::RoundsTeamRef ref = team.ref(0);
    for (const unsigned parity : {0u, 1u}) {  // as a kernel leaves it
      for (std::uint32_t from = 0; from < 3; ++from) *ref.Seen(parity, from) = *ref.Word(parity, from, 0);
    }
    constexpr std::uint64_t kBlocks = 132;
    const auto begins = [&](std::uint32_t from) { *ref.Blocks(from, 0) = std::uint64_t{epoch + 1} << 32 | kBlocks; };
    const auto arrive = [&](std::uint32_t from, std::uint32_t barrier, std::uint64_t blocks) {
      *ref.Word(barrier, from, 0) += blocks | 7ull << 40;  // and sums
    };
    EXPECT_EQ(team.DescribeWait(0), "the kernel of host:0 itself has not begun");
    begins(0);
    EXPECT_EQ(team.DescribeWait(0), "host:0 waited for kernels that have not begun: host:1, host:2");
    begins(1);
    EXPECT_EQ(team.DescribeWait(0), "host:0 waited for kernels that have not begun: host:2");
    begins(2);
    for (std::uint32_t barrier = epoch + 1; barrier < epoch + 300; ++barrier) {
      for (const std::uint32_t from : {0u, 1u}) arrive(from, barrier, kBlocks);
      ASSERT_EQ(team.DescribeWait(0), "host:0 is at another barrier than host:2") << barrier;
      arrive(2, barrier, kBlocks - 1);
      ASSERT_EQ(team.DescribeWait(0), "host:0 is at another barrier than host:2") << barrier;
      arrive(2, barrier, 1);
      ASSERT_EQ(team.DescribeWait(0), "the kernel of host:0 is where all others are") << barrier;
    }
  }
}

TEST(LateDevicesOfWideRounds, AreThoseWhoseCountersAreOfAnEarlierBarrier) {
  ThreeHosts hosts;
  fused::RoundsTeam team(hosts.all);
  const auto arrive = [&](std::uint32_t from, std::uint32_t barrier) {  // as a kernel does
    for (std::uint32_t to = 0; to < 3; ++to) {
      if (to != from) *reinterpret_cast<std::uint64_t*>(team.ref(from).Sums(barrier, from, to)) = barrier;
    }
  };
  for (std::uint32_t barrier = 1; barrier < 9; ++barrier) {
    for (std::size_t d = 0; d < 3; ++d) team.SetEpoch(d, barrier - 1);
    EXPECT_EQ(team.DescribeWideWait(0), "the kernel of host:0 itself has not reached a barrier");
    arrive(0, barrier);
    EXPECT_EQ(team.DescribeWideWait(0), "host:0 waited at a barrier for host:1, host:2");
    arrive(2, barrier);
    EXPECT_EQ(team.DescribeWideWait(0), "host:0 waited at a barrier for host:1");
    EXPECT_EQ(team.DescribeWideWait(2), "host:2 waited at a barrier for host:1");
    arrive(1, barrier);
    EXPECT_EQ(team.DescribeWideWait(2), "host:2 has not reached the barrier of all others");
  }
}

}  // namespace
}  // namespace chatty::test
