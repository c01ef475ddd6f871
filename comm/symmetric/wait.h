/// \file
/// Waits for a word of a symmetric heap, on a GPU or a host thread. Every wait has a bound: now and then it looks at the
/// abort word and at the clock. A wait that ends in vain writes a WaitReport for the host, and the first one of all sets the
/// abort word, so that the waits of all devices end.
///
/// The abort word is host memory. If all warps of a GPU read it, each waits for milliseconds (docs/performance/log,
/// 2026-11-29). So the grid's first warp reads the word each 100 us and the others each 20 ms, and before they report that
/// their time is over. All look at what the device's own memory says of it.
///
/// A GPU spins. A host thread spins for a moment, gives its core away, and then sleeps between its looks: whoever writes the
/// word wakes nobody.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/delayed_stores.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/core/macros.h"
#include "chatty/core/sync.h"

namespace chatty::symmetric {

/// Polls or work items of a worker between two of its checks of the abort word, which a GPU reads from host memory.
inline constexpr std::uint32_t kTurnsPerAbortCheck = 256;

/// Whether `seen` compares with `value` so.
template <class T>
CHATTY_FN bool Holds(Compare compare, T seen, T value) {
  switch (compare) {
    case Compare::kEqual:
      return seen == value;
    case Compare::kNotEqual:
      return seen != value;
    case Compare::kGreater:
      return seen > value;
    case Compare::kGreaterEqual:
      return seen >= value;
    case Compare::kLess:
      return seen < value;
    case Compare::kLessEqual:
      return seen <= value;
  }
  return false;
}

}  // namespace chatty::symmetric

namespace chatty::detail {

/// Nanoseconds of a clock that goes on while a wait lasts: the GPU's own, or the host's.
CHATTY_FN std::uint64_t Nanoseconds() {
#if CHATTY_DEVICE_CODE
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
#endif
}

/// The pause after try number `tries` of a wait; returns whether the wait is to look at the clock and at what ends it.
CHATTY_FN bool Pause(const SymmetricRef& heap, std::uint32_t tries) {
#if CHATTY_DEVICE_CODE
  return tries % 256 == 0;
#else
  constexpr std::uint32_t kSpins = 64, kYields = 64;
  if (tries <= kSpins) return false;
  if (heap.delays != nullptr) heap.delays->PerformOne(heap.me);
  if (tries <= kSpins + kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
#endif
}

/// The time between two reads of the abort word, by one thread.
CHATTY_FN std::uint64_t AbortReadNs() {
#if CHATTY_DEVICE_CODE
  const bool first_warp = blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.y + threadIdx.z == 0 && threadIdx.x < 32;
  return first_warp ? 100'000 : 20'000'000;
#else
  return 0;
#endif
}

/// What a wait waits for.
template <class T>
struct Awaited {
  const T* word;               ///< on this device
  symmetric::Compare compare;  ///< how the word is to compare with `value`
  T value;
  symmetric::WaitKind kind;
  std::uint32_t from;  ///< the device that is to write the word, or kAnyDevice
};

/// Writes the device's report, unless an earlier wait did, and ends all other waits of the run.
template <class T>
CHATTY_FN void Report(const SymmetricRef& heap, const Awaited<T>& awaited, T seen, std::uint64_t waited_ns,
                      symmetric::WaitEnd end) {
  std::uint32_t* const claimed = &heap.control().reported;
  if (SystemAtomic<std::uint32_t>(*claimed).exchange(1u, order::kRelaxed) == 0) {
    symmetric::WaitReport& report = *heap.report;
    report.from = awaited.from;
    report.kind = awaited.kind;
    report.compare = awaited.compare;
    report.is_signed = std::is_signed_v<T>;
    report.offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(awaited.word) - heap.base[heap.me]);
    report.seen = static_cast<std::uint64_t>(seen);
    report.wanted = static_cast<std::uint64_t>(awaited.value);
    report.waited_ns = waited_ns;
    StoreRelease(&report.end, end);
  }
  if (end == symmetric::WaitEnd::kTimeout) StoreRelaxed(heap.abort, 1u);
}

/// Waits for a word, which it acquires. Returns false if the wait ended first; the kernel is to end then.
template <class T>
CHATTY_FN bool Await(const SymmetricRef& heap, const Awaited<T>& awaited) {
  static_assert(std::is_integral_v<T> && kIsWord<T>, "a wait is for a word of 4 or 8 bytes");
  std::uint64_t begin = 0, read = 0;
  for (std::uint32_t tries = 1;; ++tries) {
    const T seen = LoadAcquire(awaited.word);
    if (symmetric::Holds(awaited.compare, seen, awaited.value)) return true;
    if (!Pause(heap, tries)) continue;
    const std::uint64_t now = Nanoseconds();
    if (begin == 0) begin = read = now;
    if (LoadRelaxed(&heap.control().reported) != 0) return false;  // another wait of this device has ended in vain
    const bool over = now - begin > heap.timeout_ns;
    bool aborted = false;
    if (over || now - read >= AbortReadNs()) {  // also at the end: another device may have failed, which is the cause
      aborted = LoadRelaxed(heap.abort) != 0;
      read = now;
    }
    if (!aborted && !over) continue;
    Report(heap, awaited, seen, now - begin, aborted ? symmetric::WaitEnd::kAbort : symmetric::WaitEnd::kTimeout);
    return false;
  }
}

}  // namespace chatty::detail
