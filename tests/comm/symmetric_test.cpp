#include "../core/waits.h"
#include "chatty/comm/symmetric/ring.h"
#include "symmetric_test_body.h"
#include "unlinked_device.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, SymmetricTest, testing::Values("host:1", "host:2", "host:4"));
INSTANTIATE_TEST_SUITE_P(HostProxy, SymmetricTest, testing::Values("host:1 proxy", "host:2 proxy", "host:3 proxy"));
INSTANTIATE_TEST_SUITE_P(HostProxyUnlinked, SymmetricTest,
                         testing::Values("host:2 proxy unlinked", "host:3 proxy unlinked"));

TEST(SymmetricHeap, RefusesDevicesThatDoNotReachEachOther) {
  const std::unique_ptr<Device> near = MakeHostDevice(0, 1);
  Unlinked far(MakeHostDevice(1, 1));
  Device* const both[] = {near.get(), &far};
  try {
    const SymmetricHeap heap(both, 1024);
    ADD_FAILURE() << "host:1 cannot be reached";
  } catch (const CapabilityError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "a symmetric heap needs devices that address each other's memory, and host:0 cannot address that of host:1; take "
        "devices with a link between each two (`chatty topology`), exchange through a transport, or choose backend proxy");
  }
  EXPECT_THROW(SymmetricHeap({}, 1024), UsageError);
  SymmetricOptions endless;
  endless.timeout = std::chrono::milliseconds(0);
  EXPECT_THROW(SymmetricHeap(std::span(both, 1), 1024, endless), UsageError);
}

TEST(SymmetricHeap, ProxyJoinsDevicesThatDoNotReachEachOther) {
  const std::unique_ptr<Device> near = MakeHostDevice(0, 1);
  Unlinked far(MakeHostDevice(1, 1));
  Device* const both[] = {near.get(), &far};
  SymmetricOptions options;
  options.backend = "proxy";
  SymmetricHeap heap(both, 1024, options);
  const Symmetric<std::uint32_t> word = heap.Allocate<std::uint32_t>(1);
  heap.BeginRun();
  sym::AtomicFetchAdd(heap.ref(0), word, 5, 1);
  EXPECT_EQ(sym::AtomicFetchAdd(heap.ref(1), word, 2, 1), 5u);
  EXPECT_EQ(*heap.data(word, 1), 7u);
  heap.Check();
}

template <class Error>
std::string ErrorOf(const std::string& devices, const SymmetricOptions& options) {
  const std::vector<std::unique_ptr<Device>> owners = OpenDevices(ParseDevices(devices), 1);
  std::vector<Device*> all;
  all.reserve(owners.size());
  for (const auto& owner : owners) all.push_back(owner.get());
  try {
    const SymmetricHeap heap(all, 1024, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SymmetricBackends, AreChosenByName) {
  SymmetricOptions options;
  EXPECT_EQ(Heap("host:2", 64, options)->backend().name, "host");
  EXPECT_EQ(Heap("host:2 proxy", 64, options)->backend().name, "proxy");
  EXPECT_EQ(FindSymmetricBackend("auto", DeviceKind::kCuda).name, "p2p");
  for (const SymmetricBackend& backend : SymmetricBackends()) {
    EXPECT_FALSE(backend.description.empty());
    for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kCuda}) {
      if (kind == DeviceKind::kHost ? backend.host : backend.cuda) {
        EXPECT_EQ(&FindSymmetricBackend(backend.name, kind), &backend);
      } else {
        EXPECT_THROW(FindSymmetricBackend(backend.name, kind), UsageError);
      }
    }
  }
  options.backend = "porxy";
  EXPECT_EQ(ErrorOf<UsageError>("host:1", options),
            "symmetric heaps have no backend 'porxy' (did you mean 'proxy'?); choose one of auto, host, proxy");
  options.backend = "lsa";
  EXPECT_EQ(ErrorOf<UsageError>("host:1", options),
            "backend 'lsa' of symmetric heaps is for GPUs, and these are host devices; choose one of auto, host, proxy");
  DelayedStores delays(1, {1, false});
  options.backend = "proxy";
  options.delays = &delays;
  EXPECT_EQ(ErrorOf<UsageError>("host:1", options), "stores are delayed with backend host only, not with proxy");
}

TEST(SymmetricProxy, RingsAreRefused) {
  Heap heap("host:2 proxy", 1 << 16, SymmetricOptions());
  EXPECT_THROW(sym::MakeRings(*heap, 64), CapabilityError);
}

/// More words than the ring has descriptors, each with a wait for its own request alone: also the words that are written
/// twice.
TEST(SymmetricProxy, RequestsTakeEffectInTheirOrder) {
  Heap heap("host:2 proxy", 1 << 16, SymmetricOptions());
  const Symmetric<std::uint64_t> words = heap->Allocate<std::uint64_t>(64);
  heap->BeginRun();
  const SymmetricRef ref = heap->ref(0);
  for (std::uint64_t i = 0; i < 5 * sym::ProxyPort::kCapacity; ++i) sym::AtomicSet(ref, words + i % 64, i, i % 2);
  for (std::uint32_t device = 0; device < 2; ++device) {
    for (std::uint64_t i = device; i < 64; i += 2) {
      EXPECT_EQ(sym::AtomicFetch(ref, words + i, device), 5 * sym::ProxyPort::kCapacity - 64 + i);
    }
  }
  for (std::uint64_t i = 1; i <= 300; ++i) {  // the device sees its own changes of its own words
    sym::AtomicSet(ref, words, i, 0);
    ASSERT_EQ(sym::AtomicFetch(ref, words, 0), i);
    sym::AtomicSet(ref, words, 0, 0);
    ASSERT_TRUE(sym::Test(Thread(), ref, words, Compare::kEqual, 0));
    sym::PutSignal(Thread(), ref, words + 2, &i, 1, words, i, SignalOp::kAdd, 0);
    ASSERT_TRUE(sym::WaitUntil(Thread(), ref, words, Compare::kNotEqual, 0));
    ASSERT_EQ(*heap->data(words + 2, 0), i);
  }
  heap->Check();
}

/// Sources and targets of all sizes, and types of words that a proxy reads each in its own way.
TEST(SymmetricProxy, BytesAndWordsArriveWhole) {
  Heap heap("host:2 proxy", 1 << 16, SymmetricOptions());
  const Symmetric<std::uint8_t> bytes = heap->Allocate<std::uint8_t>(256);
  heap->BeginRun();
  const SymmetricRef ref = heap->ref(0);
  std::vector<std::uint8_t> source(101), back(101);
  for (std::size_t size = 0; size <= 100; ++size) {
    for (std::size_t i = 0; i < size; ++i) source[i] = static_cast<std::uint8_t>(Hash(i, size));
    sym::Put(Thread(), ref, bytes + 3, source.data() + size % 2, size - size % 2 * (size > 0), 1);
    sym::Get(Thread(), ref, back.data(), bytes + 3, size - size % 2 * (size > 0), 1);
    ASSERT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(size - size % 2),
                           source.begin() + static_cast<std::ptrdiff_t>(size % 2)))
        << size;
  }
  const Symmetric<std::int32_t> low = heap->Allocate<std::int32_t>(1);
  sym::AtomicFetchAdd(ref, low, -7, 1);
  EXPECT_EQ(sym::AtomicFetchMin(ref, low, 3, 1), -7);
  EXPECT_EQ(sym::AtomicFetchMax(ref, low, 3, 1), -7);
  EXPECT_EQ(sym::AtomicFetch(ref, low, 1), 3);
  const Symmetric<double> real = heap->Allocate<double>(1);
  sym::AtomicSet(ref, real, -0.5, 1);
  EXPECT_EQ(sym::AtomicFetchAdd(ref, real, 0.75, 1), -0.5);
  EXPECT_EQ(sym::AtomicFetchMin(ref, real, -8, 1), 0.25);
  EXPECT_EQ(sym::AtomicCompareSwap(ref, real, -8, 2.5, 1), -8);
  EXPECT_EQ(sym::AtomicCompareSwap(ref, real, -8, 4.5, 1), 2.5);
  EXPECT_EQ(sym::AtomicSwap(ref, real, -8, 1), 2.5);
  EXPECT_EQ(sym::AtomicFetch(ref, real, 1), -8);
  heap->Check();
}

/// A source changes as soon as Put and PutSignal return, and a target is read as soon as Get does.
TEST(SymmetricProxy, SourcesAreReadAndTargetsWrittenOnReturn) {
  Heap heap("host:2 proxy", 1 << 20, SymmetricOptions());
  constexpr std::size_t kWords = 4096;
  const Symmetric<std::uint64_t> words = heap->Allocate<std::uint64_t>(kWords), signal = heap->Allocate<std::uint64_t>(1);
  heap->BeginRun();
  const SymmetricRef ref = heap->ref(0);
  std::vector<std::uint64_t> source(kWords), target(kWords);
  for (std::uint64_t i = 1; i <= 300; ++i) {
    std::fill(source.begin(), source.end(), i);
    if (i % 2 == 0) {
      sym::Put(Thread(), ref, words, source.data(), kWords, 1);
    } else {
      sym::PutSignal(Thread(), ref, words, source.data(), kWords, signal, i, SignalOp::kSet, 1);
    }
    std::fill(source.begin(), source.end(), 0);
    sym::Get(Thread(), ref, target.data(), words, kWords, 1);
    ASSERT_EQ(target, std::vector<std::uint64_t>(kWords, i));
  }
  heap->Check();
}

/// A ticket that was taken and never written holds up all later requests: the waits for them end at their deadline.
TEST(SymmetricProxy, WaitForRequestsHasADeadlineAndWords) {
  SymmetricOptions options;
  options.timeout = std::chrono::hours(1);
  Heap heap("host:2 proxy", 4096, options);
  const Symmetric<std::uint64_t> word = heap->Allocate<std::uint64_t>(1);
  heap->BeginRun();
  const SymmetricRef ref = heap->ref(0);
  detail::SystemAtomic<std::uint64_t>(ref.proxy->posted).fetch_add(1);
  std::atomic<bool> ended{false};
  std::thread run([&] {
    sym::AtomicFetchAdd(ref, word, 1, 1);
    ended = true;
  });
  while (!ended) {
    EXPECT_TRUE(waits::AwaitQuiet());
    waits::Advance(std::chrono::hours(1));
  }
  run.join();
  const std::string text = heap->Describe(0);
  EXPECT_EQ(text.find("host:0 waited "), 0u) << text;
  EXPECT_NE(text.find(" ms for its proxy: 0 of its requests are complete, not 2; the longest wait is 3600000 ms"),
            std::string::npos)
      << text;
  EXPECT_THROW(heap->Check(), TimeoutError);
  heap->BeginRun();
  EXPECT_EQ(sym::AtomicFetchAdd(ref, word, 1, 1), 0u) << "what was held up is forgotten";
  EXPECT_NO_THROW(heap->Check());
}

/// A request that cannot be served ends the run of all devices, and Check throws what happened.
TEST(SymmetricProxy, FailureEndsAllWaits) {
  Heap heap("host:2 proxy", 4096, SymmetricOptions());
  const Symmetric<std::uint64_t> word = heap->Allocate<std::uint64_t>(1);
  heap->BeginRun();
  const SymmetricRef ref = heap->ref(0);
  std::thread other([&] { EXPECT_FALSE(sym::WaitUntil(Thread(), heap->ref(1), word, Compare::kNotEqual, 0)); });
  const std::uint64_t nonsense = sym::ProxyRequest::Head(static_cast<sym::ProxyOp>(200), {}, 1);
  EXPECT_EQ(detail::ProxyFetch(ref, nonsense, word.offset, 8, 0, 0), 0u);
  other.join();
  try {
    heap->Check();
    ADD_FAILURE() << "there is no operation 200";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("asked for operation 200"), std::string::npos) << error.what();
  }
  heap->BeginRun();
  EXPECT_EQ(sym::AtomicFetchAdd(ref, word, 1, 1), 0u);
  EXPECT_NO_THROW(heap->Check());
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

/// Device 0 is dead, and the others come to the barrier one after another. The deadline of the first ends the waits of all
/// at that time of the clock, which stands but for what the test adds: nobody waits for a deadline of its own.
TEST(SymmetricHeap, DeadDeviceEndsTheWaitsOfAllAtTheFirstDeadline) {
  constexpr int kDevices = 4;
  constexpr std::chrono::milliseconds kApart{30}, kLongest{100}, kLook{1};
  SymmetricOptions options;
  options.timeout = kLongest;
  Heap heap("host:" + std::to_string(kDevices), 4096, options);
  heap->BeginRun();
  const waits::SteppingClock clock(std::chrono::nanoseconds(1));
  std::vector<std::thread> waiting;
  for (int device = 1; device < kDevices; ++device) {
    waiting.emplace_back([ref = heap->ref(device)] {
      Team team(ref);
      EXPECT_FALSE(sym::Barrier(team));
    });
    EXPECT_TRUE(waits::AwaitQuiet());  // it waits
    waits::Advance(kApart);
  }
  EXPECT_EQ(heap->Describe(1), "") << "no deadline has passed";
  waits::Advance(kLongest - (kDevices - 1) * kApart + kLook);
  for (std::thread& thread : waiting) thread.join();
  for (int device = 1; device < kDevices; ++device) {
    const std::chrono::nanoseconds waited(heap->ref(device).report->waited_ns), expected = kLongest - (device - 1) * kApart;
    EXPECT_GE(waited, expected) << heap->Describe(device);
    EXPECT_LT(waited, expected + 10 * kLook) << heap->Describe(device);
  }
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
  /// Roles act in turn on this thread, so that no outcome depends on how threads are scheduled. The second and later ones
  /// wait for word `awaited[role - 1]`, if there is one: an instance whose word has not come ends there.
  template <class Litmus>
  LitmusResult RunInTurn(const std::vector<unsigned>& awaited, bool leave_out_fences) {
    std::uint64_t completed = 0;
    constexpr std::uint64_t kInstances = 1024;
    DelayedStores delays(Litmus::kRoles, {seed_++, leave_out_fences});
    SymmetricOptions options;
    options.delays = &delays;
    Heap heap("host:" + std::to_string(Litmus::kRoles), 4096, options);
    const Words words = heap->Allocate<std::uint64_t>(kLocations), registers = heap->Allocate<std::uint64_t>(kRegisters);
    LitmusResult result{Litmus::Name(), kInstances};
    for (std::uint64_t batch = 1; batch <= kInstances; ++batch) {
      bool goes_on = true;
      for (unsigned role = 0; role < Litmus::kRoles && goes_on; ++role) {
        const SymmetricRef ref = heap->ref(role);
        const bool waits = role > 0 && role <= awaited.size();
        goes_on = !waits || sym::Test(Thread(), ref, words + awaited[role - 1], Compare::kEqual, batch);
        if (goes_on) {
          EXPECT_TRUE(Litmus::Act(role, Instance{ref, words, registers, 0, 1, batch, Layout::kOtherLine}));
        }
      }
      completed += goes_on ? 1 : 0;
      if (goes_on && Litmus::Forbidden(heap->data(registers, 0), batch)) ++result.forbidden;
      for (std::uint32_t device = 0; device < Litmus::kRoles; ++device) delays.PerformAll(device);
    }
    EXPECT_GT(completed, 0u) << result.Text();
    return result;
  }
  template <class Litmus>
  void IsFoundInTurn(const std::string& name, const std::vector<unsigned>& awaited) {
    const LitmusResult found = RunInTurn<Litmus>(awaited, true), held = RunInTurn<Litmus>(awaited, false);
    EXPECT_GT(found.forbidden, 0u) << found.Text();
    EXPECT_EQ(found.name, name);
    EXPECT_EQ(held.forbidden, 0u) << held.Text();
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
  IsFoundInTurn<Isa2>("ISA2", {1, 2});
  IsFoundInTurn<StoreBuffering<true>>("store buffering (Quiet)", {});
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
