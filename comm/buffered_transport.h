/// \file
/// What transports with buffers share: devices, errors that name the buffer, an orderly end, the size of packets.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/message_buffers.h"
#include "chatty/comm/transport.h"
#include "chatty/core/error.h"

namespace chatty {

/// The receiver's number that stands for all devices.
inline constexpr PartId kAllParts = ~PartId{0};

/// @{
/// Bytes that a copy could carry in the time that starting one takes: 5 us at 55 GB/s to and from host memory (PCIe 5), and
/// at 390 GB/s between GPUs (NVLink 4).
inline constexpr double kHostBytesAStart = 256 << 10;
inline constexpr double kPeerBytesAStart = 2 << 20;
/// @}

/// Bytes of a packet, a multiple of 256 or all, where a buffer passes `stages` copies one after the other and its packets
/// overlap. With p packets the buffer takes (stages + p - 1) starts and copies of bytes / p. The minimum is at p =
/// sqrt((stages - 1) * bytes / bytes_a_start).
inline std::size_t PacketSize(std::size_t bytes, std::size_t stages, double bytes_a_start) {
  const double packets = std::floor(std::sqrt(static_cast<double>(bytes) * static_cast<double>(stages - 1) / bytes_a_start));
  if (packets < 2) return bytes;
  const auto size = static_cast<std::size_t>(static_cast<double>(bytes) / packets) + 1;
  return (size + 255) / 256 * 256;
}

/// A transport with buffers.
class BufferedTransport : public Transport {
 public:
  BufferedTransport(const BufferedTransport&) = delete;
  BufferedTransport& operator=(const BufferedTransport&) = delete;
  std::string_view name() const override { return name_; }
  std::uint32_t slots() const override { return buffers_.slots(); }
  bool has_broadcasts() const override { return true; }

 protected:
  /// Makes the buffers in the memory of devices. Throws OutOfMemoryError.
  BufferedTransport(std::string_view name, std::span<Device* const> devices, const BufferPlan& plan)
      : name_(name), devices_(devices.begin(), devices.end()), buffers_(plan, devices) {
    // Memory is ready for the stream that allocated it; other streams use it, too.
    for (Device* device : devices_) device->stream().Synchronize();
  }

  std::size_t parts() const { return devices_.size(); }
  /// The slot that an epoch uses, for what a transport keeps beside the buffers.
  std::size_t Slot(std::uint64_t epoch) const { return SlotOf(epoch, slots()); }
  Device& device(PartId part) const { return *devices_[part]; }
  Stream& main(PartId part) const { return devices_[part]->stream(); }
  const MessageBuffers& buffers() const { return buffers_; }
  /// For the sender: see MessageBuffers::Take.
  std::byte* Take(BufferId buffer, std::uint64_t epoch) { return buffers_.Take(buffer, epoch); }
  std::size_t Index(PartId from, PartId to) const { return std::size_t{from} * devices_.size() + to; }

  /// Waits for the stream and ignores errors of its work; null: no wait. Message buffers are freed in the order of their
  /// owner's stream. Streams that copy or read them may be others, so destructors wait for all.
  static void Drain(Stream* stream) noexcept {
    if (stream == nullptr) return;
    try {
      stream->Synchronize();
    } catch (...) {  // the wait for that work reports it
      return;
    }
  }
  void DrainDevices() const noexcept {
    for (Device* device : devices_) Drain(&device->stream());
  }

  /// "transport p2p-copy: 16 bytes from cuda:0 to cuda:1".
  std::string Describe(PartId from, PartId to, std::size_t bytes) const {
    return fmt::format("transport {}: {} bytes from {} to {}", name_, bytes, devices_[from]->label(),
                       to == kAllParts ? std::string("all") : devices_[to]->label());
  }
  /// Throws InternalError for more bytes than a buffer holds.
  void CheckFits(std::size_t bytes, BufferId buffer, PartId from, PartId to) const {
    CHATTY_CHECK(bytes <= buffers_.capacity(buffer), "{}, whose buffer holds {}", Describe(from, to, bytes),
                 buffers_.capacity(buffer));
  }
  /// Runs `work`; an error of a device names the buffer.
  template <class Work>
  void WithContext(PartId from, PartId to, std::size_t bytes, Work&& work) const {
    try {
      std::forward<Work>(work)();
    } catch (const DeviceError& error) {
      Throw<DeviceError>("{}: {}", Describe(from, to, bytes), error.what());
    }
  }

 private:
  std::string name_;
  std::vector<Device*> devices_;
  MessageBuffers buffers_;
};

}  // namespace chatty
