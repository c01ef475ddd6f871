/// \file
/// What a kernel gets of a symmetric heap, by value: offsets that are the same on every device, and each device's base
/// pointer. The pointers are resolved on the host, so that no kernel is compiled for a backend. Where a kernel cannot
/// address other devices' memory, their pointers are null, and the operations are requests to a thread of the host
/// (comm/symmetric/proxy.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"

namespace chatty {

class DelayedStores;

/// An array of a symmetric heap: `count` objects of T at the same offset on every device. A value without a pointer, valid
/// in kernels and on the host as long as the heap lives.
template <class T>
struct Symmetric {
  std::uint64_t offset = 0;  ///< bytes from the base of each device's block
  std::uint64_t count = 0;   ///< objects on each device

  /// The part of the array that begins at object i.
  CHATTY_FN constexpr Symmetric operator+(std::uint64_t i) const { return {offset + i * sizeof(T), count - i}; }
};

namespace symmetric {

/// How a wait compares a word with the value that it waits for: the six comparisons of OpenSHMEM.
enum class Compare : std::uint8_t { kEqual, kNotEqual, kGreater, kGreaterEqual, kLess, kLessEqual };

/// What a wait waits for.
enum class WaitKind : std::uint8_t { kWord, kBarrier, kProxy, kReplyCell };

/// Why a wait ended before its condition held.
enum class WaitEnd : std::uint32_t { kNone, kTimeout, kAbort };

/// No certain device: whoever writes the word.
inline constexpr std::uint32_t kAnyDevice = ~std::uint32_t{0};

/// The first wait of a device that ended before its condition held. The kernel writes it into host memory.
struct WaitReport {
  WaitEnd end = WaitEnd::kNone;       ///< written last
  std::uint32_t from = kAnyDevice;    ///< the device waited for
  WaitKind kind = WaitKind::kWord;    ///< what was waited for
  Compare compare = Compare::kEqual;  ///< how the word was to compare with `wanted`
  bool is_signed = false;             ///< whether `seen` and `wanted` are signed
  std::uint64_t offset = 0;           ///< the word's offset in its device's block, in bytes
  std::uint64_t seen = 0;             ///< the word's last value
  std::uint64_t wanted = 0;           ///< the value that it was compared with
  std::uint64_t waited_ns = 0;        ///< nanoseconds since the wait began
};

/// A line of all caches between devices, in bytes. Flags of different writers have a line each.
inline constexpr std::size_t kLine = 128;

struct ProxyPort;

/// The words of barriers over devices, at the begin of each device's block. One epoch is one barrier.
struct Control {
  /// The last epoch at which a device has arrived, written by this device alone.
  struct alignas(kLine) Flag {
    std::uint64_t epoch;  ///< of the barrier
  };
  alignas(kLine) std::uint32_t arrived;                 ///< this device's blocks that have arrived
  alignas(kLine) std::uint64_t epoch;                   ///< the last barrier at which all of this device's blocks arrived
  alignas(kLine) std::uint32_t reported;                ///< 1 once a wait of this device has claimed the report
  Flag flags[kMaxDevices];                              ///< by the device that writes
  alignas(kLine) std::uint64_t values[2][kMaxDevices];  ///< values of reductions and broadcasts, by parity of the epoch
};

}  // namespace symmetric

/// A symmetric heap as kernels see it. Pass it to kernels by value, as a `__grid_constant__` parameter, and within them by
/// reference: base pointers are looked up by index, and a copy would lie in local memory.
struct SymmetricRef {
  std::uint32_t me = 0;                     ///< this device's number in the run: OpenSHMEM's my_pe
  std::uint32_t size = 0;                   ///< devices of the run: OpenSHMEM's n_pes
  std::byte* base[kMaxDevices] = {};        ///< each device's block, by number; null if kernels do not address it
  std::uint32_t* abort = nullptr;           ///< host memory, shared by all devices: non-zero ends every wait
  symmetric::WaitReport* report = nullptr;  ///< host memory, this device's
  std::uint64_t timeout_ns = 0;             ///< longest wait
  bool pairs_are_whole = false;             ///< no link divides a store of 16 bytes
  DelayedStores* delays = nullptr;          ///< on host devices, in tests: stores that take effect later; else null
  symmetric::ProxyPort* proxy = nullptr;    ///< this device's way to a thread that does what stores cannot; else null

  /// The array's address on `device`.
  template <class T>
  CHATTY_FN T* At(Symmetric<T> array, std::uint32_t device) const {
    return reinterpret_cast<T*>(base[device] + array.offset);
  }
  /// The array's address on this device.
  template <class T>
  CHATTY_FN T* Own(Symmetric<T> array) const {
    return At(array, me);
  }
  /// The words of this device for barriers over devices.
  CHATTY_FN symmetric::Control& control() const { return *reinterpret_cast<symmetric::Control*>(base[me]); }
};

}  // namespace chatty
