/// \file
/// A device whose memory no other device addresses, or updates by atomics, whatever links the machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "chatty/core/device.h"

namespace chatty::test {

/// Another device, as a machine without links has it. Copies go as the driver finds a way. `addressable`: with links that
/// load and store and do no more, as PCIe.
class Unlinked final : public Device {
 public:
  explicit Unlinked(std::unique_ptr<Device> device, bool addressable = false)
      : device_(std::move(device)), addressable_(addressable) {
    set_share(device_->share());
  }
  DeviceKind kind() const override { return device_->kind(); }
  int index() const override { return device_->index(); }
  const DeviceInfo& info() const override { return device_->info(); }
  std::uint64_t free_memory() override { return device_->free_memory(); }
  std::uint64_t kept_memory() override { return device_->kept_memory(); }
  MemoryResource& memory() override { return device_->memory(); }
  void set_memory(MemoryResource* resource) override { device_->set_memory(resource); }
  MemoryResource& pinned_memory() override { return device_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { device_->set_pinned_memory(resource); }
  void MakeCurrent() override { device_->MakeCurrent(); }
  Stream& stream() override { return device_->stream(); }
  std::unique_ptr<Stream> NewStream() override { return device_->NewStream(); }
  std::unique_ptr<Event> NewEvent() override { return device_->NewEvent(); }
  void CopyIn(void* to, const void* from, std::size_t bytes, Stream& on) override { device_->CopyIn(to, from, bytes, on); }
  void CopyOut(void* to, const void* from, std::size_t bytes, Stream& on) override { device_->CopyOut(to, from, bytes, on); }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& on) override {
    device_->CopyWithin(to, from, bytes, on);
  }
  void CopyToPeer(Device& peer, void* to, const void* from, std::size_t bytes, Stream& on) override {
    device_->CopyToPeer(peer, to, from, bytes, on);
  }
  bool AllowAccessBy(Device& peer) override { return addressable_ && device_->AllowAccessBy(peer); }
  bool HasNativeAtomics(Device&) override { return false; }
  void Fill(void* at, std::uint8_t byte, std::size_t bytes, Stream& on) override { device_->Fill(at, byte, bytes, on); }
  WorkerTeam* team() override { return device_->team(); }

 private:
  std::unique_ptr<Device> device_;
  const bool addressable_;
};

}  // namespace chatty::test
