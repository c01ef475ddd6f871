/// \file
/// Bounded queues of 16-byte entries in a symmetric heap, one for each ordered pair of devices. Any thread of the sender may
/// write, and any thread of the receiver may read: Groute's distributed worklists and message channels are made of them.
///
/// A sender reserves slots by a counter of its own and stores each entry at the receiver. Bits of the entry's first word
/// hold the number of its lap around the ring, so an entry says by itself that it has arrived (as the cells of D. Vyukov's
/// bounded queue do): nothing else is stored to the receiver, and nobody waits for an acknowledgement. A receiver reads
/// entries and then claims them by a counter of its own. That counter is the sender's credit. The sender reads it when its
/// ring looks full, so credits cost nothing while there are enough.
///
/// Memory orders. An entry is one store and one load of 16 bytes on a GPU (`st.relaxed.sys.b128`, `ld.relaxed.sys.b128`),
/// which are single accesses; a host stores its second word and then the first with release, and loads the first with
/// acquire. An entry orders no other memory. A claim releases the loads of its entries; a sender acquires it before it
/// overwrites them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/heap.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/core/macros.h"

namespace chatty::symmetric {

/// An entry of a ring. The upper 8 bits of words[0] are the ring's.
struct alignas(16) RingEntry {
  std::uint64_t words[2];  ///< 120 bits of the caller's
};
/// Bits of RingEntry::words[0] that are the caller's.
inline constexpr unsigned kRingEntryBits = 56;

/// A counter with a line of its own.
struct alignas(kLine) RingCounter {
  std::uint64_t count;  ///< only grows
};

/// The rings between all devices of a heap, by value into kernels. Their memory is zero at first, or all counters and
/// entries are as an earlier run left them.
struct Rings {
  /// Instead of a position: the ring is full.
  static constexpr std::uint64_t kFull = ~std::uint64_t{0};

  Symmetric<RingEntry> entries;     ///< at the receiver: `capacity` from each sender
  Symmetric<RingCounter> reserved;  ///< at the sender, by receiver: slots reserved so far
  Symmetric<RingCounter> credit;    ///< at the sender, by receiver: what the sender knows of `claimed`
  Symmetric<RingCounter> claimed;   ///< at the receiver, by sender: entries claimed so far
  std::uint32_t capacity = 0;       ///< entries of each ring, a power of two

  /// Bytes on each of so many devices.
  static constexpr std::size_t Bytes(std::size_t devices, std::size_t capacity) {
    return devices * (capacity * sizeof(RingEntry) + 3 * sizeof(RingCounter));
  }
};

/// Allocates rings of `capacity` entries, a power of two. Throws as SymmetricHeap::Allocate, and CapabilityError if kernels
/// do not address all devices' memory, or a link may divide an entry: it is one store.
inline Rings MakeRings(SymmetricHeap& heap, std::uint32_t capacity) {
  if (!heap.backend().addressable) {
    Throw<CapabilityError>(
        "rings between devices need kernels that store into each other's memory, and backend '{}' of the symmetric heap has "
        "none; choose another",
        heap.backend().name);
  }
  for (std::size_t i = 0; i < heap.size(); ++i) {
    if (!heap.ref(i).pairs_are_whole) {
      Throw<CapabilityError>(
          "rings between devices need links that move 16 bytes at once, as NVLink does, and {} has another to a device",
          heap.device(i).label());
    }
  }
  CHATTY_CHECK(capacity != 0 && (capacity & (capacity - 1)) == 0, "a ring of {} entries", capacity);
  const std::size_t devices = heap.size();
  Rings rings;
  rings.entries = heap.Allocate<RingEntry>(devices * capacity);
  rings.reserved = heap.Allocate<RingCounter>(devices);
  rings.credit = heap.Allocate<RingCounter>(devices);
  rings.claimed = heap.Allocate<RingCounter>(devices);
  rings.capacity = capacity;
  return rings;
}

}  // namespace chatty::symmetric

namespace chatty::detail {

/// Stores an entry whose tag is `tag`; words[0] must have no upper bits.
CHATTY_FN void StoreTagged(symmetric::RingEntry* to, const symmetric::RingEntry& entry, std::uint64_t tag) {
  const std::uint64_t first = entry.words[0] | tag << symmetric::kRingEntryBits;
#if CHATTY_DEVICE_CODE
  StorePair(to, first, entry.words[1]);
#else
  StoreRelaxed(&to->words[1], entry.words[1]);
  StoreRelease(&to->words[0], first);
#endif
}

/// Loads an entry. Returns whether its tag is `tag`; words[0] then has no upper bits.
CHATTY_FN bool LoadTagged(const symmetric::RingEntry* from, std::uint64_t tag, symmetric::RingEntry* entry) {
  std::uint64_t first = 0, second = 0;
#if CHATTY_DEVICE_CODE
  const ulonglong2 pair = LoadPair(from);
  first = pair.x;
  second = pair.y;
  if (first >> symmetric::kRingEntryBits != tag) return false;
#else
  first = LoadAcquire(&from->words[0]);
  if (first >> symmetric::kRingEntryBits != tag) return false;
  second = LoadRelaxed(&from->words[1]);
#endif
  entry->words[0] = first & ((std::uint64_t{1} << symmetric::kRingEntryBits) - 1);
  entry->words[1] = second;
  return true;
}

/// The tag of the entry at a position: the number of its lap, from 1, of which 8 bits distinguish it from the lap before.
CHATTY_FN std::uint64_t LapOf(const symmetric::Rings& rings, std::uint64_t position) {
  return (position / rings.capacity + 1) & 0xff;
}

/// The address of the slot for the entry at a position, from one device to another.
CHATTY_FN symmetric::RingEntry* SlotAddress(const SymmetricRef& heap, const symmetric::Rings& rings, std::uint32_t from,
                                            std::uint32_t to, std::uint64_t position) {
  return heap.At(rings.entries, to) + std::uint64_t{from} * rings.capacity + (position & (rings.capacity - 1));
}

}  // namespace chatty::detail

namespace chatty::symmetric {

/// Reserves `count` consecutive slots, at most the capacity, in the ring to `device`, by one thread. Returns the first
/// one's position, or kFull. Every reserved slot must be written, without a wait for another device.
CHATTY_FN std::uint64_t ReserveInRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device,
                                      std::uint32_t count) {
  std::uint64_t* const reserved = &heap.Own(rings.reserved)[device].count;
  std::uint64_t* const credit = &heap.Own(rings.credit)[device].count;
  std::uint64_t begin = detail::LoadRelaxed(reserved);
  while (true) {
    if (begin + count - detail::LoadAcquire(credit) > rings.capacity) {
      const std::uint64_t claimed = detail::LoadAcquire(&heap.At(rings.claimed, device)[heap.me].count);
      detail::StoreRelease(credit, claimed);  // another thread may store an older one: then it is read again
      if (begin + count - claimed > rings.capacity) {
        const std::uint64_t now = detail::LoadRelaxed(reserved);
        if (now == begin) return Rings::kFull;
        begin = now;
        continue;
      }
    }
    if (detail::SystemAtomic<std::uint64_t>(*reserved).compare_exchange_weak(begin, begin + count, detail::order::kRelaxed,
                                                                             detail::order::kRelaxedLoad)) {
      return begin;
    }
  }
}

/// Reserves `count` consecutive slots in the ring to `device`, by one thread, whether or not there is room: one atomic
/// operation. Returns the first one's position. A slot may be written once HasRoomInRing says so. Meanwhile the sender must
/// take entries itself, if the receiver may wait for room in the same way.
CHATTY_FN std::uint64_t ReserveAheadInRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device,
                                           std::uint32_t count) {
  return detail::SystemAtomic<std::uint64_t>(heap.Own(rings.reserved)[device].count)
      .fetch_add(count, detail::order::kRelaxed);
}

/// Whether the slot at a reserved position is free. By any thread. `looks`: reads the receiver's counter, if the credit that
/// this device knows does not suffice.
CHATTY_FN bool HasRoomInRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device, std::uint64_t position,
                             bool looks) {
  std::uint64_t* const credit = &heap.Own(rings.credit)[device].count;
  if (position - detail::LoadAcquire(credit) < rings.capacity) return true;
  if (!looks) return false;
  const std::uint64_t claimed = detail::LoadAcquire(&heap.At(rings.claimed, device)[heap.me].count);
  detail::StoreRelease(credit, claimed);  // another thread may store an older one: then it is read again
  return position - claimed < rings.capacity;
}

/// Stores an entry at a reserved position, by one thread. The upper 8 bits of words[0] must be 0.
CHATTY_FN void WriteToRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device, std::uint64_t position,
                           const RingEntry& entry) {
  detail::StoreTagged(detail::SlotAddress(heap, rings, heap.me, device, position), entry, detail::LapOf(rings, position));
}

/// How many entries from `device` have been claimed: the position of the next one.
CHATTY_FN std::uint64_t ClaimedOfRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device) {
  return detail::LoadRelaxed(&heap.Own(rings.claimed)[device].count);
}

/// Loads the entry from `device` at a position that was not claimed, by one thread. Returns whether it is there. The entry
/// is the caller's once it has claimed it.
CHATTY_FN bool ReadFromRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device, std::uint64_t position,
                            RingEntry* entry) {
  return detail::LoadTagged(detail::SlotAddress(heap, rings, device, heap.me, position), detail::LapOf(rings, position),
                            entry);
}

/// Claims `count` entries from `device`, all of which have been read, from `position` on, by one thread. Returns false if
/// another thread has claimed some of them.
CHATTY_FN bool ClaimFromRing(const SymmetricRef& heap, const Rings& rings, std::uint32_t device, std::uint64_t position,
                             std::uint32_t count) {
  return detail::SystemAtomic<std::uint64_t>(heap.Own(rings.claimed)[device].count)
      .compare_exchange_strong(position, position + count, detail::order::kRelease, detail::order::kRelaxedLoad);
}

}  // namespace chatty::symmetric
