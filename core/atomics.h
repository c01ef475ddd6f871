/// \file
/// Atomic updates of plain memory, with the same meaning on CPU threads and GPU threads. All are relaxed: the barrier or
/// kernel boundary that ends a step orders them. `kConcurrent` false gives the plain operation, for a step without
/// concurrent threads. `kScope` states which other threads may update the same memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/core/macros.h"

namespace chatty::atomics {

/// The threads with respect to which an operation is atomic.
enum class Scope : std::uint8_t {
  kDevice,  ///< threads of the same device
  kSystem,  ///< also threads of other devices, over a link that supports atomics
};

/// CUDA's atomic function of that name, in the scope kScope.
#define CHATTY_ATOMIC(function, ...) (kScope == Scope::kSystem ? function##_system(__VA_ARGS__) : function(__VA_ARGS__))

/// The unsigned integer of 4 or 8 bytes that hardware can compare and swap.
template <std::size_t kBytes>
using Word = std::conditional_t<kBytes == 8, unsigned long long, unsigned int>;

/// Reinterprets the bytes of a trivially copyable value.
template <class To, class From>
CHATTY_FN To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

/// A load that the compiler neither tears nor repeats, for 4- and 8-byte T.
template <class T>
CHATTY_FN T Load(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if CHATTY_DEVICE_CODE
  const Word<sizeof(T)> word = *reinterpret_cast<const volatile Word<sizeof(T)>*>(address);
  return BitCast<T>(word);
#else
  T value;
  __atomic_load(const_cast<T*>(address), &value, __ATOMIC_RELAXED);
  return value;
#endif
}

/// As Load, but returns a value that the object had at any time since the kernel began. A GPU may read it from its L1 cache,
/// where many threads read one object in parallel. Only for global memory that no other device writes.
template <class T>
CHATTY_FN T LoadOld(const T* address) {
#if CHATTY_DEVICE_CODE
  return BitCast<T>(__ldca(reinterpret_cast<const Word<sizeof(T)>*>(address)));
#else
  return Load(address);
#endif
}

/// A store that is not torn, for 4- and 8-byte T.
template <class T>
CHATTY_FN void Store(T* address, const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if CHATTY_DEVICE_CODE
  *reinterpret_cast<volatile Word<sizeof(T)>*>(address) = BitCast<Word<sizeof(T)>>(value);
#else
  T copy = value;
  __atomic_store(address, &copy, __ATOMIC_RELAXED);
#endif
}

/// Compare-and-swap on bytes; returns the value found in memory.
template <Scope kScope = Scope::kDevice, class T>
CHATTY_FN T CompareSwap(T* address, const T& expected, const T& desired) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if CHATTY_DEVICE_CODE
  using W = Word<sizeof(T)>;
  return BitCast<T>(CHATTY_ATOMIC(atomicCAS, reinterpret_cast<W*>(address), BitCast<W>(expected), BitCast<W>(desired)));
#else
  T found = expected, next = desired;
  __atomic_compare_exchange(address, &found, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return found;
#endif
}

/// Stores `value`; returns the previous value.
template <class T>
CHATTY_FN T Exchange(T* address, const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if CHATTY_DEVICE_CODE
  using W = Word<sizeof(T)>;
  return BitCast<T>(atomicExch(reinterpret_cast<W*>(address), BitCast<W>(value)));
#else
  T next = value, found;
  __atomic_exchange(address, &next, &found, __ATOMIC_RELAXED);
  return found;
#endif
}

/// Replaces *address by op(*address, value); retries until the swap succeeds or `op` changes nothing. Returns whether the
/// value changed.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T, class Op>
CHATTY_FN bool Update(T* address, const T& value, const Op& op) {
  using W = Word<sizeof(T)>;
  if constexpr (!kConcurrent) {
    const T old = *address;
    const T next = op(old, value);
    if (BitCast<W>(next) == BitCast<W>(old)) return false;
    *address = next;
    return true;
  } else {
    // The loop compares words, not objects of type T: a copy of a T may lose its padding, and then a failed swap looks like
    // a successful one. (Compilers make no type-based assumption about memory that the atomic builtins access.)
    auto* const words = reinterpret_cast<W*>(address);
    W old = Load(words);
    while (true) {
      const W next = BitCast<W>(static_cast<T>(op(BitCast<T>(old), value)));
      if (next == old) return false;
      const W found = CompareSwap<kScope>(words, old, next);
      if (found == old) return true;
      old = found;
    }
  }
}

/// Lowers *address to `value` if `value` is lower; returns whether it was. The function loads first: most candidates in a
/// graph are not improvements, and a load of an unmodified cache line is much cheaper than an atomic.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T>
CHATTY_FN bool Min(T* address, T value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (!kConcurrent) {
    if (!(value < *address)) return false;
    *address = value;
    return true;
  } else {
    if (!(value < Load(address))) return false;
#if CHATTY_DEVICE_CODE
    if constexpr (std::is_integral_v<T>) {
      using Native =
          std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>,
                             std::conditional_t<std::is_signed_v<T>, int, unsigned int>>;
      return value <
             static_cast<T>(CHATTY_ATOMIC(atomicMin, reinterpret_cast<Native*>(address), static_cast<Native>(value)));
    } else {
      // IEEE order is integer order for non-negative values and reversed unsigned order for negative ones.
      using Signed = std::conditional_t<sizeof(T) == 8, long long, int>;
      using Unsigned = Word<sizeof(T)>;
      if (!signbit(value)) {
        return value < BitCast<T>(CHATTY_ATOMIC(atomicMin, reinterpret_cast<Signed*>(address), BitCast<Signed>(value)));
      }
      return value < BitCast<T>(CHATTY_ATOMIC(atomicMax, reinterpret_cast<Unsigned*>(address), BitCast<Unsigned>(value)));
    }
#else
    return Update<true>(address, value, [](T old, T candidate) { return candidate < old ? candidate : old; });
#endif
  }
}

/// Raises *address to `value` if `value` is higher; returns whether it was.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T>
CHATTY_FN bool Max(T* address, T value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (!kConcurrent) {
    if (!(*address < value)) return false;
    *address = value;
    return true;
  } else {
    if (!(Load(address) < value)) return false;
#if CHATTY_DEVICE_CODE
    if constexpr (std::is_integral_v<T>) {
      using Native =
          std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>,
                             std::conditional_t<std::is_signed_v<T>, int, unsigned int>>;
      return static_cast<T>(CHATTY_ATOMIC(atomicMax, reinterpret_cast<Native*>(address), static_cast<Native>(value))) <
             value;
    } else {
      using Signed = std::conditional_t<sizeof(T) == 8, long long, int>;
      using Unsigned = Word<sizeof(T)>;
      if (!signbit(value)) {
        return BitCast<T>(CHATTY_ATOMIC(atomicMax, reinterpret_cast<Signed*>(address), BitCast<Signed>(value))) < value;
      }
      return BitCast<T>(CHATTY_ATOMIC(atomicMin, reinterpret_cast<Unsigned*>(address), BitCast<Unsigned>(value))) < value;
    }
#else
    return Update<true>(address, value, [](T old, T candidate) { return old < candidate ? candidate : old; });
#endif
  }
}

/// Adds `value`; returns the previous value.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T>
CHATTY_FN T Add(T* address, T value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (!kConcurrent) {
    const T old = *address;
    *address = old + value;
    return old;
  } else {
#if CHATTY_DEVICE_CODE
    if constexpr (std::is_integral_v<T>) {
      using Native = Word<sizeof(T)>;  // in two's complement, signed addition is unsigned addition
      return static_cast<T>(CHATTY_ATOMIC(atomicAdd, reinterpret_cast<Native*>(address), static_cast<Native>(value)));
    } else {
      return CHATTY_ATOMIC(atomicAdd, address, value);
    }
#else
    if constexpr (std::is_integral_v<T>) {
      return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    } else {
      T old = Load(address);
      while (true) {
        const T found = CompareSwap<kScope>(address, old, static_cast<T>(old + value));
        if (BitCast<Word<sizeof(T)>>(found) == BitCast<Word<sizeof(T)>>(old)) return old;
        old = found;
      }
    }
#endif
  }
}

/// Sets bits; returns the previous value.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T>
CHATTY_FN T Or(T* address, T bits) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (!kConcurrent) {
    const T old = *address;
    *address = old | bits;
    return old;
  } else {
#if CHATTY_DEVICE_CODE
    using Native = Word<sizeof(T)>;
    return static_cast<T>(CHATTY_ATOMIC(atomicOr, reinterpret_cast<Native*>(address), static_cast<Native>(bits)));
#else
    return __atomic_fetch_or(address, bits, __ATOMIC_RELAXED);
#endif
  }
}

/// Clears all bits but `bits`; returns the previous value.
template <bool kConcurrent, Scope kScope = Scope::kDevice, class T>
CHATTY_FN T And(T* address, T bits) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (!kConcurrent) {
    const T old = *address;
    *address = old & bits;
    return old;
  } else {
#if CHATTY_DEVICE_CODE
    using Native = Word<sizeof(T)>;
    return static_cast<T>(CHATTY_ATOMIC(atomicAnd, reinterpret_cast<Native*>(address), static_cast<Native>(bits)));
#else
    return __atomic_fetch_and(address, bits, __ATOMIC_RELAXED);
#endif
  }
}

#undef CHATTY_ATOMIC

}  // namespace chatty::atomics
