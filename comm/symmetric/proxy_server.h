/// \file
/// The host's side of backend `proxy` of symmetric heaps: the thread that serves the rings of all devices
/// (comm/symmetric/proxy.h has the kernel's side and the protocol).
///
/// One thread serves all rings in turn. A device's requests become copies on a stream of that device, and behind each batch
/// goes a copy of its last ticket into the device's memory. No copy waits for a kernel, so kernels may wait for copies. On
/// host devices the thread copies by memcpy, and words by loads and stores of std::atomic_ref.
///
/// A change of a word that depends on its old value (fetch-add, signal that adds) is read, changed and written by the
/// thread. Before it reads, it waits for the copies of all streams that write words, and after it for its own: so changes of
/// all devices follow each other. That takes two copies and three waits, some tens of microseconds on a GPU. It is right
/// only because no kernel updates such a word itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "chatty/comm/symmetric/proxy.h"
#include "chatty/core/device.h"

namespace chatty::detail {

/// The rings of a heap's devices and the thread that serves them. One thread at a time may call a member. The devices and
/// the blocks must outlive it.
class SymmetricProxy {
 public:
  /// `blocks[i]` is the block of device i; `abort` is the run's abort word, which a failure sets. Throws OutOfMemoryError,
  /// and DeviceError if the system starts no thread.
  SymmetricProxy(std::span<Device* const> devices, std::vector<std::byte*> blocks, std::uint32_t* abort);
  ~SymmetricProxy();
  SymmetricProxy(const SymmetricProxy&) = delete;
  SymmetricProxy& operator=(const SymmetricProxy&) = delete;

  /// What kernels of device `index` get: an address of that device.
  symmetric::ProxyPort* port(std::size_t index) const { return per_device_[index].port.data(); }
  /// Bytes of each device's memory that a proxy takes.
  static constexpr std::size_t PortBytes() { return sizeof(symmetric::ProxyPort); }
  /// Empties the rings and forgets a failure. No kernel may run.
  void BeginRun();
  /// Once the kernels have ended: returns when all that they have requested is done. Throws the failure of a copy.
  void Complete();

 private:
  /// A device's ring.
  struct PerDevice {
    Buffer<symmetric::ProxyPort> port;
    Pinned<symmetric::ProxyRequest> requests;
    std::unique_ptr<Stream> stream;
    std::uint64_t served = 0;   // the last ticket served
    bool words_behind = false;  // the stream may still write words
  };

  void Loop();
  /// Writes empty rings.
  void Empty();
  /// Serves what is in the rings; returns whether anything was. The caller holds mutex_.
  bool ServeAll();
  /// As ServeAll; a failure ends the run.
  bool TryToServeAll() noexcept;
  void ServeOnHost(std::size_t me, const symmetric::ProxyRequest& request);
  void ServeOnGpu(std::size_t me, symmetric::ProxyRequest& request);
  void ChangeOnGpu(std::size_t me, symmetric::ProxyRequest& request);
  void ReplyOnGpu(std::size_t me, const symmetric::ProxyRequest& request, const std::uint64_t* value);
  /// Waits for what device `index` has copied.
  void Wait(std::size_t index);
  /// Calls work() while the thread does not serve.
  template <class Work>
  void Visit(const Work& work);

  std::vector<Device*> devices_;
  std::vector<std::byte*> blocks_;
  std::uint32_t* abort_;
  bool on_hosts_;
  std::vector<std::vector<bool>> reaches_;  // [a][b]: whether a's copies address b's memory
  std::vector<PerDevice> per_device_;
  std::mutex mutex_;  // of the rings' state on the host's side
  std::condition_variable left_;
  std::atomic<int> visitors_{0};  // threads that want mutex_, which this object's thread would otherwise take again at once
  bool ends_ = false;
  std::uint64_t idle_ = 0;  // passes without a request
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace chatty::detail
