/// \file
/// How devices agree: the small values that they exchange beside the message buffers of transports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "chatty/comm/nccl_state.h"
#include "chatty/core/sync.h"
#include "chatty/core/types.h"

namespace chatty {

/// One device's end of the control plane of a run. Each device's thread calls its own end, as a process calls MPI. All
/// values are trivially copyable and cross by value: the devices may be threads or processes. A value holds no pointer that
/// the receiver follows, and no time of another process's clock but as a plain number.
///
/// Every wait ends with AbortedError after Fail on any device, and with TimeoutError, which names what was awaited, after
/// the run's deadline.
class ControlPlane {
 public:
  /// Most bytes of a value that all devices get.
  static constexpr std::size_t kValueBytes = 512;
  /// Most bytes of a header for one neighbour.
  static constexpr std::size_t kHeaderBytes = 64;

  virtual ~ControlPlane() = default;

  PartId rank() const noexcept { return rank_; }        ///< this device
  PartId devices() const noexcept { return devices_; }  ///< number of devices
  /// What this device's other waits watch: the same failure and the same deadline.
  virtual const WaitContext& wait() const noexcept = 0;

  /// Calls fold(device, value) for the values of all devices in their order, so that all devices compute the same bits. All
  /// devices call it together (MPI_Allreduce, whose sums have no fixed order). It is also a barrier.
  template <class T, class Fold>
  void AllReduce(const T& mine, std::string_view what, Fold&& fold) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kValueBytes);
    alignas(T) std::byte all[kMaxDevices * sizeof(T)];  // indeterminate: only the devices' share is written
    AllGather(&mine, all, sizeof(T), what);
    for (PartId r = 0; r < devices_; ++r) fold(r, *std::launder(reinterpret_cast<const T*>(all + r * sizeof(T))));
  }
  /// Replaces `value` by the first device's. All devices call it together (MPI_Bcast).
  template <class T>
  void Broadcast(T& value, std::string_view what) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kValueBytes);
    BroadcastBytes(&value, sizeof(T), what);
  }

  /// Gives `to` this device's header of an epoch, once an epoch (an MPI_Isend to a neighbour). What this device did before
  /// happens before what `to` does after its Wait. Epoch e + 1 begins only after `to` has returned from the Wait of epoch e.
  /// Epoch e + 2 begins only after `to` has read the headers of epoch e. An AllReduce between two epochs ensures both.
  template <class T>
  void Signal(PartId to, std::uint64_t epoch, const T& header) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kHeaderBytes);
    SignalBytes(to, epoch, &header, sizeof(T));
  }
  /// Returns once `senders` devices have signalled this device in the epoch; no other device may.
  virtual void Wait(std::uint32_t senders, std::string_view what) = 0;
  /// The header of `from`, after the Wait that counted it.
  template <class T>
  T Header(PartId from, std::uint64_t epoch) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kHeaderBytes);
    T header;
    CopyHeader(from, epoch, &header, sizeof(T));
    return header;
  }
  /// Gives `to` a second value of the epoch without a signal. `to` may Get it after the next AllReduce of both devices
  /// (one-sided communication: MPI_Put, completed by a fence).
  template <class T>
  void Put(PartId to, std::uint64_t epoch, const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kHeaderBytes);
    PutBytes(to, epoch, &value, sizeof(T));
  }
  /// The value that `from` put for this device.
  template <class T>
  T Get(PartId from, std::uint64_t epoch) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kHeaderBytes);
    T value;
    GetBytes(from, epoch, &value, sizeof(T));
    return value;
  }

  /// Records the first error of the run, and ends all waits on all devices.
  virtual void Fail(std::exception_ptr error) noexcept = 0;

 protected:
  ControlPlane(PartId rank, PartId devices) : rank_(rank), devices_(devices) {}
  ControlPlane(const ControlPlane&) = default;

  /// @{
  /// The operations above, over bytes. `all`: `bytes` of each device.
  virtual void AllGather(const void* mine, std::byte* all, std::size_t bytes, std::string_view what) = 0;
  virtual void BroadcastBytes(void* value, std::size_t bytes, std::string_view what) = 0;
  virtual void SignalBytes(PartId to, std::uint64_t epoch, const void* header, std::size_t bytes) = 0;
  virtual void CopyHeader(PartId from, std::uint64_t epoch, void* header, std::size_t bytes) const = 0;
  virtual void PutBytes(PartId to, std::uint64_t epoch, const void* value, std::size_t bytes) = 0;
  virtual void GetBytes(PartId from, std::uint64_t epoch, void* value, std::size_t bytes) const = 0;
  /// @}

 private:
  PartId rank_, devices_;
};

/// The control plane of devices that are threads of this process: barriers and signals in shared memory. For one run.
class ThreadControlPlanes {
 public:
  /// For `devices` threads, whose waits end after `timeout`; 0: never. If `sums` is not null, AllReduce goes through NCCL
  /// (the values as words, each 0 on all devices but one) and not through host memory. `sums` must outlive this.
  explicit ThreadControlPlanes(std::size_t devices, std::chrono::milliseconds timeout = {}, NcclState* sums = nullptr);
  ~ThreadControlPlanes();
  ThreadControlPlanes(const ThreadControlPlanes&) = delete;
  ThreadControlPlanes& operator=(const ThreadControlPlanes&) = delete;

  /// A device's end.
  ControlPlane& operator[](std::size_t rank) noexcept;
  /// As ControlPlane::wait and ControlPlane::Fail, of all devices.
  const WaitContext& wait() const noexcept;
  void Fail(std::exception_ptr error) noexcept;
  /// Rethrows the first error of any device, if there is one. After the run.
  void RethrowFirst() const;

 private:
  struct Shared;
  class End;
  std::unique_ptr<Shared> shared_;
  std::vector<End> ends_;
};

}  // namespace chatty
