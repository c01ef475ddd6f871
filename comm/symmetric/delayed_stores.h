/// \file
/// A model of weakly ordered memory for tests on host devices: what a device stores takes effect later, in another order,
/// until a fence. An x86 processor keeps the order of stores, so a missing fence would go unnoticed there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/comm/symmetric/access.h"

namespace chatty {

/// Holds back a random part of each device's stores into a symmetric heap. Stores to one address keep their order, fences
/// and quiets perform all stores before them, and a wait performs one now and then. Each device's thread uses its own part
/// alone.
class DelayedStores {
 public:
  /// What the model does.
  struct Options {
    std::uint64_t seed = 1;         ///< of the random choices
    bool leave_out_fences = false;  ///< a fault to be found: Fence and Quiet order nothing
  };
  /// For the stores of `devices` devices.
  DelayedStores(std::size_t devices, Options options);

  /// A copy of device `me` to `to`: in pieces of at most 64 bytes, each performed now or later.
  void Put(std::uint32_t me, void* to, const void* from, std::size_t bytes);
  /// A store of one word.
  template <class T>
  void Set(std::uint32_t me, T* address, T value) {
    static_assert(detail::kIsWord<T>);
    Store store{reinterpret_cast<std::byte*>(address), sizeof(T), {}};
    std::memcpy(store.value.data(), &value, sizeof(T));
    Add(me, store, kSetsDelayed);
  }
  /// Performs the stores of device `me` that touch these bytes. An atomic update, or a load of the device's own, comes
  /// after.
  void PerformAt(std::uint32_t me, const void* address, std::size_t bytes);
  /// Fence and Quiet: performs all stores of device `me` in their order, unless this is left out.
  void Fence(std::uint32_t me) {
    if (!options_.leave_out_fences) PerformAll(me);
  }
  /// Performs one store of device `me`, in a wait: a store takes effect some day.
  void PerformOne(std::uint32_t me);
  /// Performs all stores of device `me` at the end of its work, as the end of a kernel does.
  void PerformAll(std::uint32_t me);

 private:
  static constexpr std::size_t kPiece = 64, kMaxPending = 64;
  // Shares of stores that are delayed, in sixteenths. Data is later than words more often than the reverse.
  static constexpr std::uint64_t kPutsDelayed = 8, kSetsDelayed = 2;

  struct Store {
    std::byte* to;
    std::size_t bytes;
    std::array<std::byte, kPiece> value;
  };
  struct alignas(64) Writer {
    std::vector<Store> pending;  // in the order in which they were made
    std::uint64_t random = 0;
    std::uint32_t looks = 0;
  };

  std::uint64_t Random(Writer& writer) const;
  void Add(std::uint32_t me, const Store& store, std::uint64_t sixteenths);
  static void Perform(Writer& writer, std::size_t i);

  Options options_;
  std::vector<Writer> writers_;
};

}  // namespace chatty
