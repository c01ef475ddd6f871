/// \file
/// Two alternating boxes for each of a list, on devices or in page-locked memory: listed first, so that what they take is
/// known before it is taken, by the same code. Page-locked boxes are made one by one when their sender first asks for them:
/// locking pages takes a millisecond for a few megabytes, and a run that chooses other paths does without.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/comm/transport.h"

namespace chatty {

/// Names a box of a BoxPlan, and its twin of the other parity.
using BoxId = std::uint32_t;
inline constexpr BoxId kNoBox = ~BoxId{0};  ///< there is none

/// Which boxes a transport wants, and where. A value; holds no memory.
class BoxPlan {
 public:
  /// In the memory of device `owner`; none for zero bytes.
  BoxId OnDevice(PartId owner, std::size_t bytes) { return Add(owner, bytes, false); }
  /// In page-locked host memory that `owner` allocates and all devices address; none for zero bytes.
  BoxId InHostMemory(PartId owner, std::size_t bytes) { return Add(owner, bytes, true); }
  /// The most that Boxes will take on `parts` devices.
  TransportMemory Measure(std::size_t parts) const {
    TransportMemory memory;
    memory.devices.resize(parts);
    for (const Entry& entry : entries_) (entry.pinned ? memory.host : memory.devices[entry.owner]) += 2 * entry.bytes;
    return memory;
  }

 private:
  friend class Boxes;
  struct Entry {
    PartId owner;
    bool pinned;
    std::size_t bytes;
  };
  BoxId Add(PartId owner, std::size_t bytes, bool pinned) {
    if (bytes == 0) return kNoBox;
    entries_.push_back({owner, pinned, bytes});
    return static_cast<BoxId>(entries_.size() - 1);
  }
  std::vector<Entry> entries_;
};

/// The memory of a BoxPlan: two boxes an entry, each aligned to 256 bytes as all memory of devices is.
class Boxes {
 public:
  Boxes() = default;
  /// Makes the boxes in the memory of devices. Throws OutOfMemoryError.
  Boxes(const BoxPlan& plan, std::span<Device* const> devices) : boxes_(2 * plan.entries_.size()) {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      const BoxPlan::Entry& entry = plan.entries_[i / 2];
      Box& box = boxes_[i];
      box.owner = devices[entry.owner];
      box.bytes = entry.bytes;
      if (entry.pinned) continue;
      box.owner->MakeCurrent();
      box.buffer = Buffer<std::byte>(*box.owner, entry.bytes);
      box.data.store(box.buffer.data(), std::memory_order_relaxed);
    }
  }
  /// The one of the two boxes that `epoch` uses, by its parity; null for kNoBox and for a page-locked one that was never
  /// taken.
  std::byte* At(BoxId id, std::uint64_t epoch) const {
    return id == kNoBox ? nullptr : boxes_[2 * id + (epoch & 1)].data.load(std::memory_order_acquire);
  }
  /// The same for the thread that sends what the box will hold, one for each entry: makes the box if it is page-locked and
  /// not there. Throws OutOfMemoryError, and takes nothing then.
  std::byte* Take(BoxId id, std::uint64_t epoch) {
    if (id == kNoBox) return nullptr;
    Box& box = boxes_[2 * id + (epoch & 1)];
    std::byte* data = box.data.load(std::memory_order_relaxed);
    if (data == nullptr) {
      box.pinned = Pinned<std::byte>(*box.owner, box.bytes);
      data = box.pinned.data();
      box.data.store(data, std::memory_order_release);
    }
    return data;
  }
  /// Bytes that a box holds; 0 for kNoBox.
  std::size_t capacity(BoxId id) const { return id == kNoBox ? 0 : boxes_[2 * id].bytes; }

 private:
  struct Box {
    Buffer<std::byte> buffer;
    Pinned<std::byte> pinned;
    std::atomic<std::byte*> data = nullptr;  // of either
    Device* owner = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Box> boxes_;
};

}  // namespace chatty
