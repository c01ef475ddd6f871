/// \file
/// Message buffers of a transport. A plan lists them first, so that one walk measures and allocates. Each entry has a buffer
/// for each slot, and epochs take the slots in turn. Page-locked buffers are allocated when their sender first uses them:
/// locking a few megabytes takes a millisecond, and a run that chooses other paths needs none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/comm/channel.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// Names an entry of a BufferPlan: a buffer in each slot.
using BufferId = std::uint32_t;
inline constexpr BufferId kNoBuffer = ~BufferId{0};  ///< there is none

/// Which buffers a transport wants, and where. A value; holds no memory.
class BufferPlan {
 public:
  explicit BufferPlan(std::uint32_t slots) : slots_(slots) {}
  std::uint32_t slots() const { return slots_; }  ///< buffers of an entry
  /// In the memory of device `owner`; none for zero bytes.
  BufferId OnDevice(PartId owner, std::size_t bytes) { return Add(owner, bytes, false); }
  /// In page-locked host memory that `owner` allocates and all devices address; none for zero bytes.
  BufferId InHostMemory(PartId owner, std::size_t bytes) { return Add(owner, bytes, true); }
  /// The most that Message buffers will take on `parts` devices.
  TransportMemory Measure(std::size_t parts) const {
    TransportMemory memory;
    memory.devices.resize(parts);
    for (const Entry& entry : entries_) (entry.pinned ? memory.host : memory.devices[entry.owner]) += slots_ * entry.bytes;
    return memory;
  }

 private:
  friend class MessageBuffers;
  struct Entry {
    PartId owner;
    bool pinned;
    std::size_t bytes;
  };
  BufferId Add(PartId owner, std::size_t bytes, bool pinned) {
    if (bytes == 0) return kNoBuffer;
    entries_.push_back({owner, pinned, bytes});
    return static_cast<BufferId>(entries_.size() - 1);
  }
  std::uint32_t slots_;
  std::vector<Entry> entries_;
};

/// The memory of a BufferPlan: a buffer for each entry and slot, each aligned to 256 bytes as all memory of devices is.
class MessageBuffers {
 public:
  /// Makes the buffers in the memory of devices. Throws OutOfMemoryError.
  MessageBuffers(const BufferPlan& plan, std::span<Device* const> devices)
      : slots_(plan.slots_), buffers_(slots_ * plan.entries_.size()) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const BufferPlan::Entry& entry = plan.entries_[i / slots_];
      MessageBuffer& buffer = buffers_[i];
      buffer.owner = devices[entry.owner];
      buffer.bytes = entry.bytes;
      if (entry.pinned) continue;
      buffer.owner->MakeCurrent();
      buffer.memory = Buffer<std::byte>(*buffer.owner, entry.bytes);
      buffer.data.store(buffer.memory.data(), std::memory_order_relaxed);
    }
  }
  std::uint32_t slots() const { return slots_; }  ///< buffers of an entry
  /// The buffer of the slot that `epoch` uses; null for kNoBuffer and for a page-locked one that was never taken.
  std::byte* At(BufferId id, std::uint64_t epoch) const {
    return id == kNoBuffer ? nullptr : buffers_[Index(id, epoch)].data.load(std::memory_order_acquire);
  }
  /// The same for the thread that sends what the buffer will hold, one for each entry: makes the buffer if it is page-locked
  /// and not there. Throws OutOfMemoryError, and takes nothing then.
  std::byte* Take(BufferId id, std::uint64_t epoch) {
    if (id == kNoBuffer) return nullptr;
    MessageBuffer& buffer = buffers_[Index(id, epoch)];
    std::byte* data = buffer.data.load(std::memory_order_relaxed);
    if (data == nullptr) {
      buffer.pinned = Pinned<std::byte>(*buffer.owner, buffer.bytes);
      data = buffer.pinned.data();
      buffer.data.store(data, std::memory_order_release);
    }
    return data;
  }
  /// Bytes that a buffer holds; 0 for kNoBuffer.
  std::size_t capacity(BufferId id) const { return id == kNoBuffer ? 0 : buffers_[Index(id, 0)].bytes; }

 private:
  struct MessageBuffer {
    Buffer<std::byte> memory;
    Pinned<std::byte> pinned;
    std::atomic<std::byte*> data = nullptr;  // of either
    Device* owner = nullptr;
    std::size_t bytes = 0;
  };
  std::size_t Index(BufferId id, std::uint64_t epoch) const { return std::size_t{slots_} * id + SlotOf(epoch, slots_); }

  std::uint32_t slots_;
  std::vector<MessageBuffer> buffers_;  // an entry's slots are neighbours
};

}  // namespace chatty
