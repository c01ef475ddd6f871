/// \file
/// Loads, stores, atomic updates, fences and copies of memory that other devices reach, each with its order. The scope is
/// the system. On a GPU these are libcu++'s atomics, and PTX for copies by 16 bytes, which libcu++ does not have. On hosts
/// they are std::atomic_ref and memcpy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/core/macros.h"

#if CHATTY_CUDA_COMPILER
#include <cuda/atomic>
#endif

/// 1 under ThreadSanitizer, which does not know fences. There, relaxed operations order what fences order elsewhere.
#define CHATTY_WITHOUT_FENCES 0
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef CHATTY_WITHOUT_FENCES
#define CHATTY_WITHOUT_FENCES 1
#endif
#endif

namespace chatty::detail {

/// Types that one instruction loads, stores and updates.
template <class T>
inline constexpr bool kIsWord = std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// The orders of the library that this pass of the compiler uses.
namespace order {
#if CHATTY_DEVICE_CODE
inline constexpr auto kRelaxed = cuda::memory_order_relaxed, kRelaxedLoad = kRelaxed, kRelaxedStore = kRelaxed,
                      kAcquire = cuda::memory_order_acquire, kRelease = cuda::memory_order_release,
                      kAcqRel = cuda::memory_order_acq_rel, kSeqCst = cuda::memory_order_seq_cst;
#else
inline constexpr auto kRelaxed = CHATTY_WITHOUT_FENCES ? std::memory_order_acq_rel : std::memory_order_relaxed,
                      kRelaxedLoad = CHATTY_WITHOUT_FENCES ? std::memory_order_acquire : std::memory_order_relaxed,
                      kRelaxedStore = CHATTY_WITHOUT_FENCES ? std::memory_order_release : std::memory_order_relaxed,
                      kAcquire = std::memory_order_acquire, kRelease = std::memory_order_release,
                      kAcqRel = std::memory_order_acq_rel, kSeqCst = std::memory_order_seq_cst;
#endif
}  // namespace order

#if CHATTY_DEVICE_CODE
template <class T>
using SystemAtomic = cuda::atomic_ref<T, cuda::thread_scope_system>;
#else
template <class T>
using SystemAtomic = std::atomic_ref<T>;
#endif

/// `ld.relaxed.sys`
template <class T>
CHATTY_FN T LoadRelaxed(const T* address) {
  return SystemAtomic<T>(*const_cast<T*>(address)).load(order::kRelaxedLoad);
}
/// `ld.acquire.sys`
template <class T>
CHATTY_FN T LoadAcquire(const T* address) {
  return SystemAtomic<T>(*const_cast<T*>(address)).load(order::kAcquire);
}
/// `st.relaxed.sys`
template <class T>
CHATTY_FN void StoreRelaxed(T* address, T value) {
  SystemAtomic<T>(*address).store(value, order::kRelaxedStore);
}
/// `st.release.sys`
template <class T>
CHATTY_FN void StoreRelease(T* address, T value) {
  SystemAtomic<T>(*address).store(value, order::kRelease);
}
/// `atom.add.release.sys`, whose result nobody uses
template <class T>
CHATTY_FN void AddRelease(T* address, T value) {
  SystemAtomic<T>(*address).fetch_add(value, order::kRelease);
}

/// `fence.acq_rel.sys`
CHATTY_FN void FenceAcqRel() {
#if CHATTY_DEVICE_CODE
  cuda::atomic_thread_fence(order::kAcqRel, cuda::thread_scope_system);
#elif !CHATTY_WITHOUT_FENCES
  std::atomic_thread_fence(order::kAcqRel);
#endif
}
/// `fence.sc.sys`
CHATTY_FN void FenceSeqCst() {
#if CHATTY_DEVICE_CODE
  cuda::atomic_thread_fence(order::kSeqCst, cuda::thread_scope_system);
#else
  std::atomic_thread_fence(order::kSeqCst);
#endif
}

/// Replaces *address by change(*address) as one step, relaxed; returns the value before.
template <class T, class Change>
CHATTY_FN T FetchChange(T* address, const Change& change) {
  SystemAtomic<T> word(*address);
  T old = word.load(order::kRelaxedLoad);
  while (!word.compare_exchange_weak(old, change(old), order::kRelaxed, order::kRelaxedLoad)) {
  }
  return old;
}

/// Counts a block of this GPU that arrives; returns the number before. Acquires what the blocks before have released:
/// `atom.acq_rel.gpu.add`.
CHATTY_FN std::uint32_t CountArrival(std::uint32_t* arrived) {
#if CHATTY_DEVICE_CODE
  return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*arrived).fetch_add(1u, order::kAcqRel);
#else
  return std::atomic_ref<std::uint32_t>(*arrived).fetch_add(1u, order::kAcqRel);
#endif
}

#if CHATTY_CUDA_COMPILER

/// Loads and stores of system scope past the L1, in the widths of copies: `ld.relaxed.sys`, `st.relaxed.sys`. A vector of 16
/// bytes is four words, each whole.
__device__ inline uint4 LoadPast(const uint4* from) {
  uint4 v;
  asm volatile("ld.relaxed.sys.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ inline void StorePast(uint4* to, uint4 v) {
  asm volatile("st.relaxed.sys.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
/// `st.relaxed.sys.b128`: both words at once, at a multiple of 16 bytes. Who sees one of them sees the other, where the link
/// moves the store as a whole (SymmetricRef::pairs_are_whole).
__device__ inline void StorePair(void* to, std::uint64_t first, std::uint64_t second) {
  asm volatile("{\n\t.reg .b128 pair;\n\tmov.b128 pair, {%1, %2};\n\tst.relaxed.sys.b128 [%0], pair;\n\t}" ::"l"(to),
               "l"(first), "l"(second)
               : "memory");
}
/// `ld.relaxed.sys.b128`: likewise.
__device__ inline ulonglong2 LoadPair(const void* from) {
  ulonglong2 pair;
  asm volatile("{\n\t.reg .b128 pair;\n\tld.relaxed.sys.b128 pair, [%2];\n\tmov.b128 {%0, %1}, pair;\n\t}"
               : "=l"(pair.x), "=l"(pair.y)
               : "l"(from)
               : "memory");
  return pair;
}
__device__ inline std::uint64_t LoadPast(const std::uint64_t* from) {
  std::uint64_t v;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
  return v;
}
__device__ inline void StorePast(std::uint64_t* to, std::uint64_t v) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}
__device__ inline std::uint32_t LoadPast(const std::uint32_t* from) {
  std::uint32_t v;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}
__device__ inline void StorePast(std::uint32_t* to, std::uint32_t v) {
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}
__device__ inline unsigned char LoadPast(const unsigned char* from) {
  std::uint32_t v;
  asm volatile("ld.relaxed.sys.u8 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return static_cast<unsigned char>(v);
}
__device__ inline void StorePast(unsigned char* to, unsigned char v) {
  asm volatile("st.relaxed.sys.u8 [%0], %1;" ::"l"(to), "r"(static_cast<std::uint32_t>(v)) : "memory");
}

/// Whether the symmetric heap's side of a copy is written or read. The other side is any memory of this thread's device.
enum class CopySide : std::uint8_t { kWrites, kReads };

template <CopySide kSide, class W>
__device__ W LoadSide(const W* from) {
  if constexpr (kSide == CopySide::kReads) {
    return LoadPast(from);
  } else {
    return *from;
  }
}
template <CopySide kSide, class W>
__device__ void StoreSide(W* to, W value) {
  if constexpr (kSide == CopySide::kWrites) {
    StorePast(to, value);
  } else {
    *to = value;
  }
}

/// This thread's part of a copy in words of type W, for `threads` threads of which it is number `rank`.
template <CopySide kSide, class W>
__device__ void CopyWords(void* to, const void* from, std::size_t bytes, unsigned rank, unsigned threads) {
  auto* const target = static_cast<W*>(to);
  const auto* const source = static_cast<const W*>(from);
  const std::size_t words = bytes / sizeof(W);
  constexpr unsigned kAtOnce = 4;  // loads on the way: a store must not wait for its load alone
  W values[kAtOnce];
  std::size_t i = rank;
  for (; i + (kAtOnce - 1) * std::size_t{threads} < words; i += kAtOnce * std::size_t{threads}) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) values[k] = LoadSide<kSide>(source + i + k * std::size_t{threads});
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) StoreSide<kSide>(target + i + k * std::size_t{threads}, values[k]);
  }
  for (; i < words; i += threads) StoreSide<kSide>(target + i, LoadSide<kSide>(source + i));
}

/// This thread's part of a copy, in the widest words to which addresses and size are aligned.
template <CopySide kSide>
__device__ void CopyPart(void* to, const void* from, std::size_t bytes, unsigned rank, unsigned threads) {
  const std::size_t bits = reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from) | bytes;
  if (bits % 16 == 0) {
    CopyWords<kSide, uint4>(to, from, bytes, rank, threads);
  } else if (bits % 8 == 0) {
    CopyWords<kSide, std::uint64_t>(to, from, bytes, rank, threads);
  } else if (bits % 4 == 0) {
    CopyWords<kSide, std::uint32_t>(to, from, bytes, rank, threads);
  } else {
    CopyWords<kSide, unsigned char>(to, from, bytes, rank, threads);
  }
}

#endif  // CHATTY_CUDA_COMPILER

}  // namespace chatty::detail
