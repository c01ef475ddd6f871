/// \file
/// Tests of symmetric heaps, for host devices and for GPUs. The parameter is what --devices takes, and then the backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"
#include "symmetric_launch.h"
#include "symmetric_litmus.h"

namespace chatty::test {

class SymmetricTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      selection_ = ParseDevices(Place(GetParam()).devices);
      MakeHeap(1);  // whether this machine has what the backend needs
    } catch (const CapabilityError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  bool OnHosts() const { return selection_.kind == DeviceKind::kHost; }
  std::size_t Size() const { return selection_.indices.size(); }
  bool ByProxy() const { return Place(GetParam()).backend == "proxy"; }
  /// How often something is done: a request takes a proxy's host devices a microsecond and more, and GPUs ten.
  std::uint64_t Often(std::uint64_t on_hosts, std::uint64_t on_gpus, std::uint64_t by_proxy) const {
    if (ByProxy()) return CHATTY_TEST_SANITIZED ? by_proxy / 10 + 1 : by_proxy;
    return OnHosts() ? on_hosts : on_gpus;
  }

  /// The waits of GPUs that have ended in vain, one a device, ended within 100 ms after `longest`, by the GPUs' own clocks.
  /// The property has how long the last one took beyond it. A host's verdict is by a clock that the test sets
  /// (symmetric_test.cpp).
  void ExpectWaitsEnd(const SymmetricHeap& heap, std::chrono::milliseconds longest, const std::string& property) const {
    double most = 0;
    for (std::size_t i = 0; i < heap.size(); ++i) {
      if (!heap.Describe(i).empty()) most = std::max(most, static_cast<double>(heap.ref(i).report->waited_ns) / 1e6);
    }
    const double beyond = most - static_cast<double>(longest.count());
    RecordProperty(property, std::to_string(beyond));
    if (!OnHosts()) {
      EXPECT_LT(beyond, 100.0) << property;
    }
  }

  /// A heap whose waits have a bound that only a hang reaches.
  Heap MakeHeap(std::size_t bytes = 1 << 20) const {
    SymmetricOptions options;
    options.timeout = std::chrono::minutes(1);
    return Heap(GetParam(), bytes, options);
  }

  /// CHATTY_STRESS_ITEMS, or `items` without it.
  static std::uint64_t StressItems(std::uint64_t items) {
    const char* const asked = std::getenv("CHATTY_STRESS_ITEMS");  // NOLINT(concurrency-mt-unsafe)
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : items;
  }

  template <class Litmus>
  void Holds() const {
    if (OnHosts() && (Size() < Litmus::kRoles || Size() >= 2 * Litmus::kRoles)) {
      GTEST_SKIP() << "a host device has one role, and there are " << Litmus::kRoles;
    }
    const std::uint64_t instances = Often(CHATTY_TEST_SANITIZED ? 10'000 : 500'000, 10'000'000, kByProxy);  // of each layout
    const std::uint64_t batch = Often(8192, 65536, 4096);
    for (const Layout layout : {Layout::kSameLine, Layout::kOtherLine}) {
      const LitmusResult result = RunLitmus<Litmus>(GetParam(), instances, batch, layout);
      EXPECT_EQ(result.forbidden, 0u) << result.Text();
    }
  }

 private:
  DeviceSelection selection_;

 protected:
  static constexpr std::uint64_t kByProxy = 16'000;  // instances of a litmus test
};

using sym::Block;
using sym::Compare;
using sym::Grid;
using sym::SignalOp;
using sym::Team;
using sym::Thread;
using sym::Warp;

TEST_P(SymmetricTest, ArraysHaveOneOffsetAndHoldTheirSize) {
  Heap heap = MakeHeap(4096);
  EXPECT_EQ(heap->bytes(), 4096u);
  const Symmetric<std::uint8_t> bytes = heap->Allocate<std::uint8_t>(3);
  const Symmetric<std::uint64_t> words = heap->Allocate<std::uint64_t>(16);
  EXPECT_EQ(words.offset - bytes.offset, sym::kLine);
  EXPECT_EQ(heap->Allocate<std::uint32_t>(1, 4).offset, words.offset + 16 * 8);
  EXPECT_EQ((words + 3).offset, words.offset + 24);
  EXPECT_EQ((words + 3).count, 13u);
  for (std::size_t i = 0; i < heap->size(); ++i) {
    const SymmetricRef ref = heap->ref(i);
    EXPECT_EQ(ref.me, i);
    EXPECT_EQ(ref.size, heap->size());
    EXPECT_EQ(ref.Own(words), heap->data(words, i));
    for (std::size_t j = 0; j < heap->size(); ++j) {
      if (j == i) continue;
      EXPECT_EQ(ref.base[j] != nullptr, heap->backend().addressable);
      const bool one_space = heap->backend().name == "host" || heap->backend().name == "p2p";
      if (one_space) {
        EXPECT_EQ(ref.At(words, static_cast<std::uint32_t>(j)), heap->data(words, j));
      }
    }
    EXPECT_EQ(heap.Read(words, i), std::vector<std::uint64_t>(16, 0));
  }
  try {
    heap->Allocate<std::uint64_t>(1000);
    ADD_FAILURE() << "8000 bytes fit into 4096";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("needs 8,000 bytes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("of its 4,096 bytes (4.00 KiB) are free"), std::string::npos) << error.what();
  }
  EXPECT_THROW(heap->Allocate<std::uint64_t>(~std::size_t{0}), OutOfMemoryError);
  heap->FreeAll();
  EXPECT_EQ(heap->Allocate<std::uint8_t>(4096).offset, bytes.offset);
}

TEST_P(SymmetricTest, SaysWhatMemoryItNeeds) {
  try {
    MakeHeap(std::size_t{1} << 50);
    ADD_FAILURE() << "a PiB of memory";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("the symmetric heap needs 1,125,899,906,8"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
  }
}

/// Puts from and gets of the next device, in each scope and at every alignment. The objects have `kCount` bytes together.
struct CopyToNext {
  static constexpr std::size_t kCount = 1000, kSlots = 16;
  Symmetric<std::uint8_t> from, to, back;
  template <class Scope>
  CHATTY_FN void Copy(const SymmetricRef& heap, const Scope& scope, std::size_t slot, std::size_t shift,
                      std::size_t bytes) const {
    const std::uint32_t next = (heap.me + 1) % heap.size;
    const std::size_t at = slot * kCount + shift;
    sym::Put(scope, heap, to + at, heap.Own(from + at), bytes, next);
    sym::Quiet(scope, heap);
    sym::Get(scope, heap, heap.Own(back + at), to + at, bytes, next);
  }
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    if (Grid().block() != 0) return;
    constexpr std::size_t kShifts[] = {0, 1, 4, 8};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t bytes = kCount - 16 - (i == 1 ? 3 : 0);
      Copy(heap, Block(), i, kShifts[i], bytes);
      if (Block().rank() < Warp().threads()) Copy(heap, Warp(), 4 + i, kShifts[i], bytes);
      if (Block().rank() == 0) Copy(heap, Thread(), 8 + i, kShifts[i], bytes);
    }
  }
};

TEST_P(SymmetricTest, PutsAndGetsCopyEveryByteAndNoOther) {
  Heap heap = MakeHeap();
  constexpr std::size_t kBytes = CopyToNext::kCount * CopyToNext::kSlots;
  const CopyToNext copy{heap->Allocate<std::uint8_t>(kBytes), heap->Allocate<std::uint8_t>(kBytes),
                        heap->Allocate<std::uint8_t>(kBytes)};
  std::vector<std::vector<std::uint8_t>> sources(heap->size(), std::vector<std::uint8_t>(kBytes));
  for (std::size_t i = 0; i < heap->size(); ++i) {
    for (std::size_t k = 0; k < kBytes; ++k) sources[i][k] = static_cast<std::uint8_t>(Hash(k, i) | 1);
    Device& device = heap->device(i);
    device.CopyIn(heap->data(copy.from, i), sources[i].data(), kBytes, device.stream());
    device.stream().Synchronize();
  }
  RunOnAll(*heap, copy);
  heap->Check();
  for (std::size_t i = 0; i < heap->size(); ++i) {
    const std::vector<std::uint8_t>&mine = sources[i], &before = sources[(i + heap->size() - 1) % heap->size()];
    const std::vector<std::uint8_t> to = heap.Read(copy.to, i), back = heap.Read(copy.back, i);
    for (std::size_t k = 0; k < kBytes; ++k) {
      constexpr std::size_t kShifts[] = {0, 1, 4, 8};
      const std::size_t slot = k / CopyToNext::kCount, place = k % CopyToNext::kCount, shift = kShifts[slot % 4];
      const bool copied = slot < 12 && place >= shift && place < shift + CopyToNext::kCount - 16 - (slot % 4 == 1 ? 3 : 0);
      ASSERT_EQ(to[k], copied ? before[k] : 0) << "device " << i << ", byte " << place << " of slot " << slot;
      ASSERT_EQ(back[k], copied ? mine[k] : 0) << "device " << i << ", byte " << place << " of slot " << slot;
    }
  }
}

/// Every atomic operation once, by one thread, at the next device; sums by many threads, at device 0.
struct UpdateWords {
  static constexpr std::size_t kSteps = 11, kWithoutResult = 8;
  Symmetric<std::uint32_t> words, before, later;
  Symmetric<std::int64_t> lows;
  Symmetric<std::uint64_t> sum;
  Symmetric<float> reals;
  std::uint64_t adds;
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    const std::uint32_t next = (heap.me + 1) % heap.size;
    if (Grid().rank() == 0) {
      std::uint32_t* const old = heap.Own(before);
      sym::AtomicSet(heap, words, 12u, next);
      old[0] = sym::AtomicFetchAdd(heap, words, 3, next);          // 15
      old[1] = sym::AtomicFetchAnd(heap, words, 6, next);          // 6
      old[2] = sym::AtomicFetchOr(heap, words, 9, next);           // 15
      old[3] = sym::AtomicFetchXor(heap, words, 5, next);          // 10
      old[4] = sym::AtomicFetchMin(heap, words, 7, next);          // 7
      old[5] = sym::AtomicFetchMin(heap, words, 8, next);          // 7
      old[6] = sym::AtomicFetchMax(heap, words, 20, next);         // 20
      old[7] = sym::AtomicSwap(heap, words, 30, next);             // 30
      old[8] = sym::AtomicCompareSwap(heap, words, 1, 2, next);    // 30
      old[9] = sym::AtomicCompareSwap(heap, words, 30, 40, next);  // 40
      old[10] = sym::AtomicFetch(heap, words, next);
      sym::AtomicFetchMin(heap, lows, -5, next);
      sym::AtomicSet(heap, reals, 0.5f, next);
      sym::AtomicFetchAdd(heap, reals, 0.25f, next);
      WithoutResult(heap, next);
    }
    for (std::uint64_t i = Grid().rank(); i < adds; i += Grid().threads()) {
      if (i % 2 == 0) {
        sym::AtomicFetchAdd(heap, sum, i, 0);
      } else {
        sym::AtomicAdd(heap, sum, i, 0);
      }
    }
  }
  /// Words behind the first, which a thread reads once they are complete.
  CHATTY_FN void WithoutResult(const SymmetricRef& heap, std::uint32_t next) const {
    for (std::size_t k = 1; k <= kWithoutResult; ++k) sym::AtomicSet(heap, words + k, 12, next);
    sym::AtomicAdd(heap, words + 1, 3, next);
    sym::AtomicAnd(heap, words + 2, 6, next);
    sym::AtomicOr(heap, words + 3, 9, next);
    sym::AtomicXor(heap, words + 4, 5, next);
    sym::AtomicMin(heap, words + 5, 7, next);
    sym::AtomicMin(heap, words + 6, 20, next);
    sym::AtomicMax(heap, words + 7, 20, next);
    sym::AtomicMax(heap, words + 8, 7, next);
    sym::AtomicMax(heap, lows + 1, -7, next);  // as unsigned words, 0 is less
    sym::AtomicMin(heap, lows + 1, -9, next);
    sym::AtomicAdd(heap, lows + 1, -1, next);
    sym::AtomicAdd(heap, reals + 1, 0.25f, next);
    sym::AtomicMin(heap, reals + 1, -0.5f, next);
    sym::AtomicMax(heap, reals + 2, 1.5f, heap.me);  // the own word, too
    sym::Quiet(Thread(), heap);
    for (std::size_t k = 0; k < kWithoutResult; ++k) heap.Own(later)[k] = sym::AtomicFetch(heap, words + (k + 1), next);
  }
};

TEST_P(SymmetricTest, AtomicsUpdateWordsAndAddUp) {
  Heap heap = MakeHeap();
  const UpdateWords update{heap->Allocate<std::uint32_t>(1 + UpdateWords::kWithoutResult),
                           heap->Allocate<std::uint32_t>(UpdateWords::kSteps),
                           heap->Allocate<std::uint32_t>(UpdateWords::kWithoutResult),
                           heap->Allocate<std::int64_t>(2),
                           heap->Allocate<std::uint64_t>(1),
                           heap->Allocate<float>(3),
                           Often(CHATTY_TEST_SANITIZED ? 100'000 : 1'000'000, 10'000'000, 5'000)};
  RunOnAll(*heap, update);
  heap->Check();
  for (std::size_t i = 0; i < heap->size(); ++i) {
    EXPECT_EQ(heap.Read(update.before, i), (std::vector<std::uint32_t>{12, 15, 6, 15, 10, 7, 7, 20, 30, 30, 40}));
    EXPECT_EQ(heap.Read(update.later, i), (std::vector<std::uint32_t>{15, 4, 13, 9, 7, 12, 20, 12}));
    EXPECT_EQ(heap.Read(update.words, i), (std::vector<std::uint32_t>{40, 15, 4, 13, 9, 7, 12, 20, 12}));
    EXPECT_EQ(heap.Read(update.lows, i), (std::vector<std::int64_t>{-5, -10}));
    EXPECT_EQ(heap.Read(update.reals, i), (std::vector<float>{0.75f, -0.5f, 1.5f}));
  }
  EXPECT_EQ(heap.Read(update.sum, 0)[0], heap->size() * (update.adds * (update.adds - 1) / 2));
}

/// Wrong results of collectives.
struct MeetOften {
  Symmetric<std::uint64_t> inbox, from, to, wrong;
  std::uint32_t rounds, entries;
  CHATTY_FN void Count(const SymmetricRef& heap, bool right, unsigned kind) const {
    if (!right) sym::AtomicFetchAdd(heap, wrong + kind, 1, 0);
  }
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    Team team(heap);
    const Grid grid;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      // Entries for each device, by all threads; two inboxes take turns.
      const std::uint64_t slot = (round % 2) * heap.size;
      if (Hash(round * 64 + grid.block(), heap.me) % 8 == 0) Delay(8 * Hash(round, grid.block()));
      for (std::uint32_t i = grid.rank(); i < entries; i += grid.threads()) {
        const std::uint64_t value = round << 32 | i;
        for (std::uint32_t device = 0; device < heap.size; ++device) {
          sym::PutNbi(Thread(), heap, inbox + ((slot + heap.me) * entries + i), &value, 1, device);
        }
      }
      if (!sym::Barrier(team)) return;
      for (std::uint32_t i = grid.threads() - 1 - grid.rank(); i < entries;
           i += grid.threads()) {  // what another thread has put
        for (std::uint32_t device = 0; device < heap.size; ++device) {
          Count(heap, *heap.Own(inbox + ((slot + device) * entries + i)) == (round << 32 | i), 0);
        }
      }
      std::uint64_t sum = round + heap.me, root = 100 * round + heap.me;
      if (!sym::Reduce(team, &sum, sym::Sum())) return;
      Count(heap, sum == heap.size * round + std::uint64_t{heap.size} * (heap.size - 1) / 2, 1);
      float least = 1.5f * static_cast<float>(heap.me + 1);
      if (!sym::Reduce(team, &least, sym::Min())) return;
      Count(heap, least == 1.5f, 1);
      if (!sym::Broadcast(team, &root, static_cast<std::uint32_t>(round % heap.size))) return;
      Count(heap, root == 100 * round + round % heap.size, 2);
      if (round % 16 != 0) continue;
      for (std::uint32_t i = grid.rank(); i < entries; i += grid.threads()) *heap.Own(from + i) = round * (heap.me + 1) + i;
      if (!sym::Reduce(team, to, from, entries, sym::Max())) return;
      for (std::uint32_t i = grid.rank(); i < entries; i += grid.threads()) {
        Count(heap, *heap.Own(to + i) == round * heap.size + i, 1);
      }
      if (!sym::Barrier(team)) return;
      if (!sym::Broadcast(team, to, from, entries, heap.size - 1)) return;
      for (std::uint32_t i = grid.rank(); i < entries; i += grid.threads()) {
        Count(heap, *heap.Own(to + i) == round * heap.size + i, 2);
      }
      if (!sym::Barrier(team)) return;
    }
  }
};

TEST_P(SymmetricTest, CollectivesMeetAndBringWhatWasWritten) {
  Heap heap = MakeHeap(std::size_t{1} << 22);
  const std::uint32_t entries = 1001;
  const MeetOften meet{heap->Allocate<std::uint64_t>(2 * heap->size() * entries),
                       heap->Allocate<std::uint64_t>(entries),
                       heap->Allocate<std::uint64_t>(entries),
                       heap->Allocate<std::uint64_t>(3),
                       static_cast<std::uint32_t>(Often(CHATTY_TEST_SANITIZED ? 100 : 1'000, 50'000, 32)),
                       entries};
  for (int launch = 0; launch < 2; ++launch) RunOnAll(*heap, meet);
  heap->Check();
  EXPECT_EQ(heap.Read(meet.wrong, 0), std::vector<std::uint64_t>(3, 0)) << "barriers, reductions, broadcasts";
}

/// Cumulativity within a device, CHATTY_STRESS_ITEMS times on hosts: all threads of a block store, their leader signals
/// behind a barrier of the block, and all threads of a block of the next device read. With kWhole the block puts and signals
/// together.
template <bool kWhole>
struct BlockToPeer {
  static constexpr std::uint32_t kWords = 256;
  Symmetric<std::uint64_t> from, data, signals, answers, wrong;
  std::uint64_t rounds;
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    const Block block;
    const std::uint32_t next = (heap.me + 1) % heap.size, last = (heap.me + heap.size - 1) % heap.size;
    const unsigned b = Grid().block();
    const Symmetric<std::uint64_t> source = from + b * kWords, target = data + b * kWords, line = signals + b * 16;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      for (unsigned i = block.rank(); i < kWords; i += block.threads()) {
        const std::uint64_t value = round * kWords + i;
        if (kWhole) {
          *heap.Own(source + i) = value;
        } else {
          sym::Put(Thread(), heap, target + i, &value, 1, next);
        }
      }
      if (block.rank() == 0) Delay(Hash(round, b));
      if (kWhole) {
        block.Sync();
        sym::PutSignal(block, heap, target, heap.Own(source), kWords, line, round, SignalOp::kSet, next);
      } else {
        block.Sync();
        if (block.rank() == 0) {
          sym::Fence(Thread(), heap);
          sym::AtomicSet(heap, line, round, next);
        }
      }
      if (!sym::WaitUntil(block, heap, line, Compare::kGreaterEqual, round, last)) return;
      for (unsigned i = block.rank(); i < kWords; i += block.threads()) {
        const unsigned other = kWords - 1 - i;  // of another thread
        if (*heap.Own(target + other) != round * kWords + other) sym::AtomicFetchAdd(heap, wrong, 1, 0);
      }
      block.Sync();
      if (block.rank() == 0) sym::AtomicSet(heap, answers + b * 16, round, last);  // what was read may be written again
      if (!sym::WaitUntil(block, heap, answers + b * 16, Compare::kGreaterEqual, round, next)) return;
    }
  }
};

template <bool kWhole>
void PassFromBlocks(Heap heap, std::uint64_t rounds) {
  const GridShape shape;
  const std::size_t words = shape.blocks * BlockToPeer<kWhole>::kWords;
  const BlockToPeer<kWhole> pass{heap->Allocate<std::uint64_t>(words),
                                 heap->Allocate<std::uint64_t>(words),
                                 heap->Allocate<std::uint64_t>(shape.blocks * 16),
                                 heap->Allocate<std::uint64_t>(shape.blocks * 16),
                                 heap->Allocate<std::uint64_t>(1),
                                 rounds};
  RunOnAll(*heap, pass, shape);
  heap->Check();
  EXPECT_EQ(heap.Read(pass.wrong, 0)[0], 0u) << "cumulativity: words that were old behind their signal";
}

TEST_P(SymmetricTest, CumulativityFromBlockToLeaderToPeer) {
  // In a round each block of each device passes words once, and there are two kinds: 10^7 times between two GPUs.
  const std::uint64_t times = StressItems((CHATTY_TEST_SANITIZED ? 1'000 : 20'000) * Size());
  const std::uint64_t rounds = Often((times + 2 * Size() - 1) / (2 * Size()), 80'000, 40);
  PassFromBlocks<false>(MakeHeap(), rounds);
  PassFromBlocks<true>(MakeHeap(), rounds);
}

TEST_P(SymmetricTest, LitmusMessagePassingBySignal) {
  Holds<MessagePassing<Handover::kPutSignal>>();
  Holds<MessagePassing<Handover::kPutSignalAdd>>();
}
TEST_P(SymmetricTest, LitmusMessagePassingByFence) { Holds<MessagePassing<Handover::kFence>>(); }
TEST_P(SymmetricTest, LitmusMessagePassingByQuiet) { Holds<MessagePassing<Handover::kQuiet>>(); }
TEST_P(SymmetricTest, LitmusStoreBufferingWithQuiet) { Holds<StoreBuffering<true>>(); }
TEST_P(SymmetricTest, LitmusIsa2) { Holds<Isa2>(); }
TEST_P(SymmetricTest, LitmusIriw) { Holds<Iriw>(); }
TEST_P(SymmetricTest, LitmusCoherence) { Holds<Coherence>(); }
TEST_P(SymmetricTest, LitmusWaitsInEitherOrder) { Holds<EitherOrder>(); }

/// What is not promised: a Fence does not order a store before a later load, and without one a flag may overtake data. The
/// counts are printed: they say what the other tests can find. No outcome is wrong.
TEST_P(SymmetricTest, LitmusOutcomesThatAreAllowedAreCounted) {
  if (OnHosts() && Size() < 2) GTEST_SKIP() << "a host device has one role";
  std::vector<LitmusResult> results;
  const std::uint64_t least = Often(100'000, 100'000, kByProxy);
  results.push_back(RunLitmus<StoreBuffering<false>>(GetParam(), least, 8192, Layout::kOtherLine));
  if (!OnHosts()) {  // a data race on a host, which ThreadSanitizer would report
    results.push_back(RunLitmus<MessagePassing<Handover::kNothing>>(GetParam(), 10 * least, 65536, Layout::kOtherLine));
  }
  for (const LitmusResult& result : results) {
    EXPECT_GE(result.instances, least) << result.name;
    EXPECT_LE(result.forbidden, result.instances) << result.name;
    std::printf("[  COUNTED ] %s\n", result.Text().c_str());
  }
}

/// What is wrong with one device.
enum class Trouble : std::uint8_t { kEndsEarly, kNeverWrites };

/// Device 0 is dead: it never comes to the barrier, or never writes the word that the others wait for.
struct WaitForTheDead {
  Trouble trouble;
  Symmetric<std::int32_t> word;
  Symmetric<std::uint32_t> ended;
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    Team team(heap);
    if (heap.me == 0) return;
    const bool held =
        trouble == Trouble::kEndsEarly ? sym::Barrier(team) : sym::WaitUntil(Block(), heap, word, Compare::kLess, -3, 0);
    if (!held && Block().rank() == 0) sym::AtomicFetchAdd(heap, ended, 1, heap.me);
    if (!held && sym::Barrier(team)) sym::AtomicSet(heap, ended, 1000, heap.me);  // a later wait ends, too
  }
};

TEST_P(SymmetricTest, DeadDeviceEndsAllWaitsWithWords) {
  if (Size() < 2) GTEST_SKIP() << "one device waits for itself only";
  for (const Trouble trouble : {Trouble::kEndsEarly, Trouble::kNeverWrites}) {
    Heap heap(GetParam(), 4096, SymmetricOptions());  // 100 ms
    const WaitForTheDead wait{trouble, heap->Allocate<std::int32_t>(2), heap->Allocate<std::uint32_t>(1)};
    GridShape shape;
    RunOnAll(*heap, wait, shape);
    const std::string dead = heap->device(0).label();
    bool timeout = false;
    for (std::size_t i = 1; i < heap->size(); ++i) {
      const std::string text = heap->Describe(i);
      timeout = timeout || text.find("; the longest wait is 100 ms") != std::string::npos;
      EXPECT_EQ(text.find(heap->device(i).label() + " waited "), 0u) << text;
      EXPECT_NE(text.find(" ms for "), std::string::npos) << text;
      const std::string what = trouble == Trouble::kEndsEarly
                                   ? dead + " at barrier 1: it is at barrier 0"
                                   : dead + ": the word at byte 0 of the symmetric heap is 0, not < -3";
      EXPECT_NE(text.find(what), std::string::npos) << text;
      EXPECT_EQ(heap.Read(wait.ended, i)[0], OnHosts() ? 1u : shape.blocks) << "blocks of device " << i;
    }
    EXPECT_TRUE(timeout);
    ExpectWaitsEnd(*heap, SymmetricOptions().timeout,
                   trouble == Trouble::kEndsEarly ? "ms_to_end_at_a_barrier" : "ms_to_end_at_a_word");
    EXPECT_EQ(heap->Describe(0), "");
    EXPECT_THROW(heap->Check(), TimeoutError);
    heap->BeginRun();
    EXPECT_NO_THROW(heap->Check());
  }
}

/// Every device waits for a word that nobody writes.
struct WaitForNothing {
  Symmetric<std::uint64_t> word;
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    if (sym::WaitUntil(Thread(), heap, word, Compare::kNotEqual, 0)) sym::AtomicSet(heap, word, 1, heap.me);
  }
};

TEST_P(SymmetricTest, AbortEndsAllWaits) {
  Heap heap = MakeHeap();
  const WaitForNothing wait{heap->Allocate<std::uint64_t>(1)};
  std::atomic<bool> done{false};
  std::thread abort([&] {  // again and again: RunOnAll clears the abort word at its begin
    while (!done) {
      heap->Abort();
      std::this_thread::yield();
    }
  });
  RunOnAll(*heap, wait);
  done = true;
  abort.join();
  ExpectWaitsEnd(*heap, std::chrono::milliseconds(0), "ms_to_end");  // the abort came before the waits
  for (std::size_t i = 0; i < heap->size(); ++i) {
    const std::string text = heap->Describe(i);
    EXPECT_EQ(text.find(heap->device(i).label() + " waited "), 0u) << text;
    EXPECT_NE(text.find("a device that writes it: the word at byte 0 of the symmetric heap is 0, not != 0"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("; it gave up, because another device failed first"), std::string::npos) << text;
  }
  EXPECT_THROW(heap->Check(), AbortedError);
}

}  // namespace chatty::test
