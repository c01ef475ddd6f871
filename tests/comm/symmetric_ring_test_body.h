/// \file
/// Tests of the rings of symmetric heaps (comm/symmetric/ring.h), for host devices and for GPUs. Items have numbers, and the
/// receiver keeps a bit for each: an item that is lost or taken twice shows by its number. The parameter is what --devices
/// takes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../sanitized.h"
#include "chatty/comm/symmetric/ops.h"
#include "chatty/comm/symmetric/ring.h"
#include "symmetric_launch.h"
#include "symmetric_litmus.h"

namespace chatty::test {

/// How the threads of a test use their rings.
struct RingUse {
  std::uint64_t items = 0;     ///< from each device to each, itself included
  std::uint32_t capacity = 1;  ///< of each ring
  std::uint32_t burst = 1;     ///< most slots that are reserved at once, at most the capacity
  bool delays = false;         ///< between a reservation and its stores, and in periods in which a device takes nothing
};

/// What threads do in turns: each reserves slots, stores items and takes others. Thread w of so many sends items w,
/// w + threads, ... to each device.
struct ExchangeItems {
  static constexpr std::uint32_t kMaxDevices = 8, kTaken = 16;
  sym::Rings rings;
  RingUse use;
  Symmetric<std::uint32_t> taken_bits;           ///< by sender and item
  Symmetric<std::uint64_t> taken;                ///< one: items taken on this device
  Symmetric<std::uint64_t> twice, wrong, fulls;  ///< one each: items taken again, with other contents, and full rings seen

  ExchangeItems(SymmetricHeap& heap, const RingUse& how)
      : rings(sym::MakeRings(heap, how.capacity)),
        use(how),
        taken_bits(heap.Allocate<std::uint32_t>((heap.size() * how.items + 31) / 32)),
        taken(heap.Allocate<std::uint64_t>(1)),
        twice(heap.Allocate<std::uint64_t>(1)),
        wrong(heap.Allocate<std::uint64_t>(1)),
        fulls(heap.Allocate<std::uint64_t>(1)) {
    CHATTY_CHECK(heap.size() <= kMaxDevices, "{} devices", heap.size());
  }
  /// Bytes of a heap for it.
  static std::size_t Bytes(std::size_t devices, const RingUse& use) {
    return sym::Rings::Bytes(devices, use.capacity) + devices * use.items / 8 + 16 * sym::kLine;
  }
  /// 120 bits that depend on all of an item.
  CHATTY_FN static sym::RingEntry Pack(std::uint64_t item, std::uint32_t from, std::uint32_t to) {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << sym::kRingEntryBits) - 1;
    return {{(item | std::uint64_t{from} << 40 | std::uint64_t{0xa5} << 48) & kMask, Hash(item, from * 64 + to)}};
  }

  CHATTY_FN void Take(const SymmetricRef& heap, std::uint32_t from, std::uint32_t workers) const {
    const std::uint64_t next = sym::ClaimedOfRing(heap, rings, from);
    sym::RingEntry entries[kTaken];
    std::uint32_t count = 0;
    while (count < kTaken && sym::ReadFromRing(heap, rings, from, next + count, &entries[count])) ++count;
    if (count == 0 || !sym::ClaimFromRing(heap, rings, from, next, count)) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t item = entries[i].words[0] & ((std::uint64_t{1} << 40) - 1);
      const sym::RingEntry sent = Pack(item, from, heap.me);
      const bool in_order = workers > 1 || item == next + i;
      if (item >= use.items || !in_order || entries[i].words[0] != sent.words[0] || entries[i].words[1] != sent.words[1]) {
        sym::AtomicFetchAdd(heap, wrong, 1, heap.me);
        continue;
      }
      const std::uint64_t at = from * use.items + item;
      const std::uint32_t bit = 1u << at % 32;
      if ((sym::AtomicFetchOr(heap, taken_bits + at / 32, bit, heap.me) & bit) != 0) {
        sym::AtomicFetchAdd(heap, twice, 1, heap.me);
      }
    }
    sym::AtomicFetchAdd(heap, taken, count, heap.me);
  }

  /// One thread's part of a device's work.
  CHATTY_FN void operator()(const SymmetricRef& heap, std::uint32_t worker, std::uint32_t workers) const {
    std::uint64_t unsent[kMaxDevices];
    for (std::uint64_t& item : unsent) item = worker;
    std::uint64_t full = 0;
    bool sends = true;
    for (std::uint64_t turn = 0; sends || sym::AtomicFetch(heap, taken, heap.me) < heap.size * use.items; ++turn) {
      if (detail::LoadRelaxed(heap.abort) != 0) break;
      const std::uint64_t random = Hash(turn * workers + worker, heap.me);
      sends = false;
      for (std::uint32_t i = 0; i < heap.size; ++i) {
        const std::uint32_t to = (heap.me + i) % heap.size;
        if (unsent[to] >= use.items) continue;
        sends = true;
        const std::uint64_t left = (use.items - unsent[to] + workers - 1) / workers;
        const std::uint64_t some = 1 + (random >> 8 * (i % 4)) % use.burst;
        const auto count = static_cast<std::uint32_t>(some < left ? some : left);
        const std::uint64_t position = sym::ReserveInRing(heap, rings, to, count);
        if (position == sym::Rings::kFull) {
          full += 1;
          continue;
        }
        for (std::uint32_t k = 0; k < count; ++k, unsent[to] += workers) {
          if (use.delays && (random >> 32) % 64 == k) Delay(random);
          sym::WriteToRing(heap, rings, to, position + k, Pack(unsent[to], heap.me, to));
        }
      }
      if (use.delays && random % 16 == 0) Delay(random >> 4);
      if (!use.delays || (turn / 256 + heap.me) % 4 != 0) {
        for (std::uint32_t i = 0; i < heap.size; ++i) Take(heap, (heap.me + i + 1) % heap.size, workers);
      }
#if !CHATTY_DEVICE_CODE
      if (random % 4 == 0) std::this_thread::yield();
#endif
    }
    sym::AtomicFetchAdd(heap, fulls, full, heap.me);
  }
};

/// A function of (heap, worker, workers) as one of the heap, on a GPU.
template <class Function>
struct OnEachThread {
  Function function;
  CHATTY_FN void operator()(const SymmetricRef& heap) const { function(heap, sym::Grid().rank(), sym::Grid().threads()); }
};

/// Runs function(heap, worker, workers) on `workers` threads of each host device, or on those of a GPU's grid.
template <class Function>
void RunWorkers(SymmetricHeap& heap, const Function& function, std::uint32_t workers) {
  if (heap.device(0).kind() == DeviceKind::kCuda) {
    RunOnAll(heap, OnEachThread<Function>{function}, workers == 1 ? GridShape{1, 1} : GridShape{4, 64});
    return;
  }
  heap.BeginRun();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < heap.size(); ++i) {
    for (std::uint32_t w = 0; w < workers; ++w) threads.emplace_back([&, i, w] { function(heap.ref(i), w, workers); });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Aborts a run that hangs, after which its counts tell what is missing.
class HangGuard {
 public:
  HangGuard(SymmetricHeap& heap, std::chrono::microseconds longest)
      : thread_([this, &heap, longest] {
          std::unique_lock lock(mutex_);
          if (!ended_.wait_for(lock, longest, [this] { return done_; })) heap.Abort();
        }) {}
  ~HangGuard() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

/// Exchanges items and checks that each has come once. Returns how often a ring was full.
inline std::uint64_t ExchangeAll(const std::string& devices, const RingUse& use, std::uint32_t workers) {
  SymmetricOptions options;
  options.timeout = std::chrono::minutes(1);
  Heap heap(devices, ExchangeItems::Bytes(ParseDevices(devices).indices.size(), use), options);
  const ExchangeItems exchange(*heap, use);
  {
    const HangGuard guard(*heap,
                          std::chrono::minutes(1) + std::chrono::microseconds(10 * use.items * heap->size() * heap->size()));
    RunWorkers(*heap, exchange, workers);
  }
  std::uint64_t fulls = 0;
  for (std::size_t i = 0; i < heap->size(); ++i) {
    const std::string device = heap->device(i).label();
    EXPECT_EQ(heap.Read(exchange.taken, i)[0], heap->size() * use.items) << device;
    EXPECT_EQ(heap.Read(exchange.twice, i)[0], 0u) << device << ": items taken twice";
    EXPECT_EQ(heap.Read(exchange.wrong, i)[0], 0u) << device << ": items with other contents, or out of order";
    std::uint64_t lost = 0;
    const std::vector<std::uint32_t> bits = heap.Read(exchange.taken_bits, i);
    for (std::uint64_t k = 0; k < heap->size() * use.items; ++k) lost += (bits[k / 32] >> k % 32 & 1) == 0 ? 1 : 0;
    EXPECT_EQ(lost, 0u) << device << ": items lost";
    fulls += heap.Read(exchange.fulls, i)[0];
    for (const auto& counter : heap.Read(exchange.rings.reserved, i)) EXPECT_EQ(counter.count, use.items) << device;
    for (const auto& counter : heap.Read(exchange.rings.claimed, i)) EXPECT_EQ(counter.count, use.items) << device;
  }
  return fulls;
}

class SymmetricRingTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      selection_ = ParseDevices(GetParam());
    } catch (const CapabilityError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  bool OnHosts() const { return selection_.kind == DeviceKind::kHost; }
  std::uint64_t Items(std::uint64_t hosts, std::uint64_t gpus) const {
    return OnHosts() ? (CHATTY_TEST_SANITIZED ? hosts / 20 : hosts) : gpus;
  }

 private:
  DeviceSelection selection_;
};

/// What one thread sees of a ring to its own device: positions, contents, credits, and no slot in a full ring.
struct LookAtOneRing {
  sym::Rings rings;
  Symmetric<std::uint64_t> seen;
  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    if (sym::Grid().rank() != 0 || heap.me != 0) return;
    const std::uint32_t other = heap.size - 1;  // with one device, itself
    std::uint64_t* const out = heap.Own(seen);
    sym::RingEntry entry{};
    out[0] = sym::ReserveInRing(heap, rings, other, 3);  // 0
    out[1] = sym::ReserveInRing(heap, rings, other, 2);  // full: one slot is left
    out[2] = sym::ReserveInRing(heap, rings, other, 1);  // 3
    out[3] = sym::ReserveInRing(heap, rings, other, 1);  // full
    SymmetricRef receiver = heap;
    receiver.me = other;                                                // its memory is reached from here
    out[4] = sym::ReadFromRing(receiver, rings, 0, 0, &entry) ? 1 : 0;  // nothing is stored yet
    sym::WriteToRing(heap, rings, other, 1, {{11, 111}});               // in any order
    out[5] = sym::ReadFromRing(receiver, rings, 0, 0, &entry) ? 1 : 0;  // the slot before it is empty
    sym::WriteToRing(heap, rings, other, 0, {{10, 110}});
    out[6] = sym::ReadFromRing(receiver, rings, 0, 0, &entry) ? entry.words[0] + entry.words[1] : 0;  // 120
    out[7] = sym::ReadFromRing(receiver, rings, 0, 1, &entry) ? entry.words[0] + entry.words[1] : 0;  // 122
    out[8] = sym::ReserveInRing(heap, rings, other, 1);                  // full: what is read is not claimed
    out[9] = sym::ClaimFromRing(receiver, rings, 0, 0, 2) ? 1 : 0;       // 1
    out[10] = sym::ClaimFromRing(receiver, rings, 0, 0, 1) ? 1 : 0;      // claimed before
    out[11] = sym::ClaimedOfRing(receiver, rings, 0);                    // 2
    out[12] = sym::ReserveInRing(heap, rings, other, 3);                 // full: two slots are free
    out[13] = sym::ReserveInRing(heap, rings, other, 2);                 // 4
    out[14] = sym::ReadFromRing(receiver, rings, 0, 4, &entry) ? 1 : 0;  // has the first lap's entry
    constexpr std::uint64_t kAll = (std::uint64_t{1} << sym::kRingEntryBits) - 1;
    sym::WriteToRing(heap, rings, other, 4, {{kAll, ~std::uint64_t{0}}});  // all of the caller's bits
    out[15] = sym::ReadFromRing(receiver, rings, 0, 4, &entry) && entry.words[0] == kAll && ~entry.words[1] == 0 ? 1 : 0;
  }
};

TEST_P(SymmetricRingTest, PlacesContentsAndCredits) {
  Heap heap(GetParam(), 1 << 16, {});
  const LookAtOneRing look{sym::MakeRings(*heap, 4), heap->Allocate<std::uint64_t>(16)};
  RunOnAll(*heap, look);
  const std::uint64_t full = sym::Rings::kFull;
  EXPECT_EQ(heap.Read(look.seen, 0),
            (std::vector<std::uint64_t>{0, full, 3, full, 0, 0, 120, 122, full, 1, 0, 2, full, 4, 0, 1}));
}

TEST_P(SymmetricRingTest, OneThreadADeviceKeepsTheOrder) {
  ExchangeAll(GetParam(), {.items = Items(20'000, 20'000), .capacity = 64, .burst = 8}, 1);
}

/// Tags have 8 bits: rings of one and of two entries go round more than twice 256 times.
TEST_P(SymmetricRingTest, LapsWrapAround) {
  for (const std::uint32_t capacity : {1u, 2u}) {
    for (const std::uint32_t workers : {1u, 3u}) {
      ExchangeAll(GetParam(), {.items = 1300, .capacity = capacity, .burst = capacity}, workers);
    }
  }
}

TEST_P(SymmetricRingTest, ManyThreadsSendAndTakeEachItemOnce) {
  ExchangeAll(GetParam(), {.items = Items(40'000, 1'000'000), .capacity = 16, .burst = 5}, 4);
}

TEST_P(SymmetricRingTest, BurstsDelaysAndFullRingsLoseNothing) {
  const std::uint64_t fulls =
      ExchangeAll(GetParam(), {.items = Items(20'000, 500'000), .capacity = 4, .burst = 4, .delays = true}, 2);
  EXPECT_GT(fulls, 0u) << "no ring was ever full";
}

/// Device 0 takes nothing, and waits for an abort as the others do.
struct SendToTheDead {
  ExchangeItems exchange;
  CHATTY_FN void operator()(const SymmetricRef& heap, std::uint32_t worker, std::uint32_t workers) const {
    if (heap.me == 0) return;
    exchange(heap, worker, workers);
  }
};

TEST_P(SymmetricRingTest, AbortEndsWhoFindsRingsFullAndAClearedHeapBeginsAnew) {
  SymmetricOptions options;
  options.timeout = std::chrono::minutes(1);
  const RingUse use{.items = 100, .capacity = 8, .burst = 3};
  Heap heap(GetParam(), ExchangeItems::Bytes(ParseDevices(GetParam()).indices.size(), use), options);
  const ExchangeItems exchange(*heap, use);
  std::atomic<bool> done{false};
  std::thread abort([&] {  // again and again: a run clears the abort word at its begin
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      heap->Abort();
    }
  });
  RunWorkers(*heap, SendToTheDead{exchange}, 2);
  done = true;
  abort.join();
  EXPECT_EQ(heap.Read(exchange.taken, 0)[0], 0u);
  for (std::size_t i = 0; i < heap->size(); ++i) {
    EXPECT_LE(heap.Read(exchange.rings.reserved, i)[0].count, use.capacity) << "more slots than the ring has";
  }
  heap->Clear();
  RunWorkers(*heap, exchange, 2);
  for (std::size_t i = 0; i < heap->size(); ++i) {
    EXPECT_EQ(heap.Read(exchange.taken, i)[0], heap->size() * use.items);
    EXPECT_EQ(heap.Read(exchange.twice, i)[0] + heap.Read(exchange.wrong, i)[0], 0u);
  }
}

}  // namespace chatty::test
