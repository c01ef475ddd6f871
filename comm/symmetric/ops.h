/// \file
/// Operations on a symmetric heap from inside a kernel, or on the thread of a host device. Names and meaning are
/// OpenSHMEM's, where a device is a processing element (PE). All threads of a scope (Thread, Warp, Block) make a call
/// together, with equal arguments.
///
/// Memory orders. PTX and C++ of each operation, what it orders, and what OpenSHMEM says are a table in docs/internals.md,
/// "Operations on symmetric heaps". In short: puts, gets and atomic operations are relaxed, and order nothing. PutSignal's
/// data is there for who acquires its signal. Fence orders the scope's stores before the leader's later ones; Quiet also
/// completes. WaitUntil and Test acquire.
///
/// Bytes that a put writes are neither read nor written by others until a signal, a fence and a flag, or a barrier orders
/// them. A word that several devices change at once is changed by atomics alone. Between GPUs, atomics need links that
/// execute them (TopologyLink::native_atomics).
///
/// With a proxy (comm/symmetric/proxy.h) the same is promised, by other means: a put or get of another device, a signal, and
/// a change of any device's word, the own one too, is a request, and a device's requests take effect in their order. So
/// Fence orders requests by their tickets; Quiet waits until the proxy has completed them. Each access of another device's
/// memory costs microseconds. Where the run's abort word or the deadline ends the wait of an operation, it returns what is
/// not promised, it may still take effect, and the next wait of the device returns false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/delayed_stores.h"
#include "chatty/comm/symmetric/proxy.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/comm/symmetric/scopes.h"
#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/macros.h"

namespace chatty::detail {

/// A relaxed store of a word of this device that no other device updates; a test may delay it.
template <class T>
CHATTY_FN void SetOwn(const SymmetricRef& heap, Symmetric<T> at, T value) {
  T* const address = heap.Own(at);
#if !CHATTY_DEVICE_CODE
  if (heap.delays != nullptr) return heap.delays->Set(heap.me, address, value);
#endif
  StoreRelaxed(address, value);
}

/// A relaxed store of a word of `device`, which a test may delay.
template <class T>
CHATTY_FN void Set(const SymmetricRef& heap, Symmetric<T> at, T value, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]] {
    ProxyUpdateWord(heap, symmetric::ProxyOp::kSet, at, value, device);
    return;
  }
  T* const address = heap.At(at, device);
#if !CHATTY_DEVICE_CODE
  if (heap.delays != nullptr) return heap.delays->Set(heap.me, address, value);
#endif
  StoreRelaxed(address, value);
}

/// Whether a copy between this device and `device` is a request.
CHATTY_FN bool CopiesByProxy(const SymmetricRef& heap, std::uint32_t device) {
  return heap.proxy != nullptr && device != heap.me;
}

/// Performs the delayed stores of this device to these bytes, before it reads or updates them.
CHATTY_FN void PerformAt([[maybe_unused]] const SymmetricRef& heap, [[maybe_unused]] const void* address,
                         [[maybe_unused]] std::size_t bytes) {
#if !CHATTY_DEVICE_CODE
  if (heap.delays != nullptr) heap.delays->PerformAt(heap.me, address, bytes);
#endif
}

/// The word that an atomic operation is about.
template <class T>
CHATTY_FN T* WordAt(const SymmetricRef& heap, Symmetric<T> at, std::uint32_t device) {
  static_assert(kIsWord<T>, "an atomic operation is on a word of 4 or 8 bytes");
  T* const word = heap.At(at, device);
  PerformAt(heap, word, sizeof(T));
  return word;
}

/// Changes *word by `op` with `value`, relaxed; returns the value before. The compiler uses an instruction without a result
/// (`red`) where nobody reads it.
template <symmetric::ProxyOp kOp, class T>
CHATTY_FN T Change(T* word, T value) {
  using symmetric::ProxyOp;
  SystemAtomic<T> atomic(*word);
  if constexpr (kOp == ProxyOp::kSwap) {
    return atomic.exchange(value, order::kRelaxed);
  } else if constexpr (kOp == ProxyOp::kAdd) {
    return atomic.fetch_add(value, order::kRelaxed);
  } else if constexpr (kOp == ProxyOp::kAnd) {
    return atomic.fetch_and(value, order::kRelaxed);
  } else if constexpr (kOp == ProxyOp::kOr) {
    return atomic.fetch_or(value, order::kRelaxed);
  } else if constexpr (kOp == ProxyOp::kXor) {
    return atomic.fetch_xor(value, order::kRelaxed);
  } else {
    static_assert(kOp == ProxyOp::kMin || kOp == ProxyOp::kMax);
#if CHATTY_DEVICE_CODE
    if constexpr (kOp == ProxyOp::kMin) {
      return atomic.fetch_min(value, order::kRelaxed);
    } else {
      return atomic.fetch_max(value, order::kRelaxed);
    }
#else
    return FetchChange(word, [value](T old) {
      const bool replaces = kOp == ProxyOp::kMin ? value < old : old < value;
      return replaces ? value : old;
    });
#endif
  }
}

/// Changes a word of `device`, itself or by a request. Returns the value before.
template <symmetric::ProxyOp kOp, class T>
CHATTY_FN T FetchUpdate(const SymmetricRef& heap, Symmetric<T> at, T value, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]]
    return ProxyFetchUpdate(heap, kOp, at, value, device);
  return Change<kOp>(WordAt(heap, at, device), value);
}

/// The same without a result: a request is not waited for.
template <symmetric::ProxyOp kOp, class T>
CHATTY_FN void Update(const SymmetricRef& heap, Symmetric<T> at, T value, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]]
    return ProxyUpdateWord(heap, kOp, at, value, device);
  Change<kOp>(WordAt(heap, at, device), value);
}

}  // namespace chatty::detail

namespace chatty::symmetric {

/// What PutSignal does to the signal: OpenSHMEM's SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD.
enum class SignalOp : std::uint8_t { kSet, kAdd };

/// Begins to copy `count` objects from this device's memory to `to` on `device`. The source must not change before Quiet.
template <class Scope, class T>
CHATTY_FN void PutNbi([[maybe_unused]] const Scope& scope, const SymmetricRef& heap, Symmetric<T> to, const T* from,
                      std::size_t count, std::uint32_t device) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (detail::CopiesByProxy(heap, device)) [[unlikely]] {
    scope.Sync();
    if (scope.rank() == 0) detail::ProxyPut(heap, to.offset, from, count * sizeof(T), device);
    return;
  }
#if CHATTY_DEVICE_CODE
  detail::CopyPart<detail::CopySide::kWrites>(heap.At(to, device), from, count * sizeof(T), scope.rank(), scope.threads());
#else
  if (heap.delays != nullptr) return heap.delays->Put(heap.me, heap.At(to, device), from, count * sizeof(T));
  std::memcpy(heap.At(to, device), from, count * sizeof(T));
#endif
}

/// Copies `count` objects from this device's memory to `to` on `device`. Returns when the source may change.
template <class Scope, class T>
CHATTY_FN void Put(const Scope& scope, const SymmetricRef& heap, Symmetric<T> to, const T* from, std::size_t count,
                   std::uint32_t device) {
  if (detail::CopiesByProxy(heap, device)) [[unlikely]] {
    scope.Sync();
    if (scope.rank() == 0) {
      detail::ProxyAwait(heap, detail::ProxyPut(heap, to.offset, from, count * sizeof(T), device));
    }
  } else {
    PutNbi(scope, heap, to, from, count, device);
  }
  scope.Sync();
}

/// Begins to copy `count` objects from `from` on `device` to this device's memory. They are there after Quiet.
template <class Scope, class T>
CHATTY_FN void GetNbi([[maybe_unused]] const Scope& scope, const SymmetricRef& heap, T* to, Symmetric<T> from,
                      std::size_t count, std::uint32_t device) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (detail::CopiesByProxy(heap, device)) [[unlikely]] {
    scope.Sync();
    if (scope.rank() == 0) detail::ProxyGet(heap, to, from.offset, count * sizeof(T), device);
    return;
  }
  const T* const source = heap.At(from, device);
  detail::PerformAt(heap, source, count * sizeof(T));
#if CHATTY_DEVICE_CODE
  detail::CopyPart<detail::CopySide::kReads>(to, source, count * sizeof(T), scope.rank(), scope.threads());
#else
  std::memcpy(to, source, count * sizeof(T));
#endif
}

/// Copies `count` objects from `from` on `device` to this device's memory. Returns when all threads of the scope have them.
template <class Scope, class T>
CHATTY_FN void Get(const Scope& scope, const SymmetricRef& heap, T* to, Symmetric<T> from, std::size_t count,
                   std::uint32_t device) {
  if (detail::CopiesByProxy(heap, device)) [[unlikely]] {
    scope.Sync();
    if (scope.rank() == 0) {
      detail::ProxyAwait(heap, detail::ProxyGet(heap, to, from.offset, count * sizeof(T), device));
    }
  } else {
    GetNbi(scope, heap, to, from, count, device);
  }
  scope.Sync();
}

/// Orders the scope's stores before it (puts, signals, atomics) before the leader's stores after it, for all devices. Stores
/// of the scope's other threads after it are not ordered.
template <class Scope>
CHATTY_FN void Fence(const Scope& scope, [[maybe_unused]] const SymmetricRef& heap) {
  scope.Sync();
  if (scope.rank() == 0) {
#if !CHATTY_DEVICE_CODE
    if (heap.delays != nullptr) heap.delays->Fence(heap.me);
#endif
    detail::FenceAcqRel();
  }
  scope.Sync();
}

/// Returns when the scope's operations before it are complete: stores at every device, gets at this one.
template <class Scope>
CHATTY_FN void Quiet(const Scope& scope, [[maybe_unused]] const SymmetricRef& heap) {
  scope.Sync();
  if (scope.rank() == 0) {
#if !CHATTY_DEVICE_CODE
    if (heap.delays != nullptr) heap.delays->Fence(heap.me);
#endif
    detail::FenceSeqCst();
    if (heap.proxy != nullptr) [[unlikely]]
      detail::ProxyQuiet(heap);
  }
  scope.Sync();
}

/// Put, then sets `signal` on `device` to `value`, or adds `value` to it; whoever acquires the signal sees the data. The
/// source is reusable on return. Over NVLink one store carries 8 bytes of data and a set signal, if both lie in one aligned
/// block of 16 bytes.
template <class Scope, class T>
CHATTY_FN void PutSignal(const Scope& scope, const SymmetricRef& heap, Symmetric<T> to, const T* from, std::size_t count,
                         Symmetric<std::uint64_t> signal, std::uint64_t value, SignalOp op, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]] {
    if (device == heap.me) PutNbi(scope, heap, to, from, count, device);
    scope.Sync();
    if (scope.rank() == 0) {
      std::uint64_t read = 0;
      if (device != heap.me) read = detail::ProxyPut(heap, to.offset, from, count * sizeof(T), device);
      detail::ProxySignal(heap, op == SignalOp::kAdd, signal, value, device);
      detail::ProxyAwait(heap, read);
    }
    scope.Sync();
    return;
  }
#if CHATTY_DEVICE_CODE
  if (heap.pairs_are_whole && op == SignalOp::kSet && count * sizeof(T) == sizeof(value) && to.offset % sizeof(value) == 0 &&
      (to.offset ^ signal.offset) == sizeof(value)) {
    scope.Sync();  // `from` may be several threads' work
    if (scope.rank() == 0) {
      std::uint64_t data;
      std::memcpy(&data, from, sizeof(data));
      const bool data_first = to.offset < signal.offset;
      detail::StorePair(heap.base[device] + (data_first ? to.offset : signal.offset), data_first ? data : value,
                        data_first ? value : data);
    }
    scope.Sync();
    return;
  }
#endif
  Put(scope, heap, to, from, count, device);
  if (scope.rank() != 0) return;
  detail::PerformAt(heap, heap.At(to, device), count * sizeof(T));
  std::uint64_t* const word = detail::WordAt(heap, signal, device);
  if (op == SignalOp::kSet) {
    detail::StoreRelease(word, value);
  } else {
    detail::AddRelease(word, value);
  }
}

/// @{
/// One step on a word of `device`, by the calling thread alone. Those with Fetch in their name, Swap and CompareSwap return
/// the value before. The others return nothing and wait for nothing: they are complete behind Quiet. OpenSHMEM has no Min
/// and Max.
template <class T>
CHATTY_FN T AtomicFetch(const SymmetricRef& heap, Symmetric<T> at, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]] {
    if (device != heap.me) return detail::ProxyFetchUpdate(heap, ProxyOp::kFetch, at, T{}, device);
    detail::ProxyAwaitOwn(heap);
  }
  return detail::LoadRelaxed(detail::WordAt(heap, at, device));
}
template <class T>
CHATTY_FN void AtomicSet(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  static_assert(detail::kIsWord<T>);
  detail::Set(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicSwap(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kSwap>(heap, at, value, device);
}
/// Stores `value` if the word is `expected`.
template <class T>
CHATTY_FN T AtomicCompareSwap(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> expected,
                              std::type_identity_t<T> value, std::uint32_t device) {
  if (heap.proxy != nullptr) [[unlikely]]
    return detail::ProxyFetchUpdate(heap, ProxyOp::kCompareSwap, at, value, device, expected);
  detail::SystemAtomic<T>(*detail::WordAt(heap, at, device))
      .compare_exchange_strong(expected, value, detail::order::kRelaxed, detail::order::kRelaxedLoad);
  return expected;
}
template <class T>
CHATTY_FN T AtomicFetchAdd(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kAdd>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicAdd(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kAdd>(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicFetchAnd(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kAnd>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicAnd(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kAnd>(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicFetchOr(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kOr>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicOr(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kOr>(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicFetchXor(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kXor>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicXor(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kXor>(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicFetchMin(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kMin>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicMin(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kMin>(heap, at, value, device);
}
template <class T>
CHATTY_FN T AtomicFetchMax(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  return detail::FetchUpdate<ProxyOp::kMax>(heap, at, value, device);
}
template <class T>
CHATTY_FN void AtomicMax(const SymmetricRef& heap, Symmetric<T> at, std::type_identity_t<T> value, std::uint32_t device) {
  detail::Update<ProxyOp::kMax>(heap, at, value, device);
}
/// @}

/// Whether this device's word compares so with `value`. If so, acquires it.
template <class Scope, class T>
CHATTY_FN bool Test(const Scope& scope, const SymmetricRef& heap, Symmetric<T> at, Compare compare,
                    std::type_identity_t<T> value) {
  bool holds = true;
  if (heap.proxy != nullptr && scope.rank() == 0) [[unlikely]]
    detail::ProxyAwaitOwn(heap);
  if (scope.rank() == 0) holds = Holds(compare, detail::LoadAcquire(detail::WordAt(heap, at, heap.me)), value);
  return scope.All(holds);
}

/// Waits until this device's word compares so with `value`, and acquires it. `from` is the device that is to write the word,
/// for the report. Returns false if the wait ended before: at the deadline, or because another device's wait did. The kernel
/// is to end then, and SymmetricHeap::Check throws what happened.
template <class Scope, class T>
[[nodiscard]] CHATTY_FN bool WaitUntil(const Scope& scope, const SymmetricRef& heap, Symmetric<T> at, Compare compare,
                                       std::type_identity_t<T> value, std::uint32_t from = kAnyDevice) {
  bool held = true;
  if (scope.rank() == 0) {
    if (heap.proxy != nullptr) [[unlikely]]
      detail::ProxyAwaitOwn(heap);
    const T* const word = detail::WordAt(heap, at, heap.me);
    held = detail::Await(heap, detail::Awaited<T>{word, compare, value, WaitKind::kWord, from});
  }
  return scope.All(held);
}

}  // namespace chatty::symmetric
