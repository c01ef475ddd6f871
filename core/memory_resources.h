/// \file
/// Memory resources that wrap another one to count, limit or fail allocations; RMM has the same kind of adaptors. Set one
/// with Device::set_memory before a Session gets the device. It must outlive all buffers allocated from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "chatty/core/bytes.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"

namespace chatty {

/// Counts allocations. Thread-safe. Values read during other threads' calls are those of some moment.
class CountingMemory final : public MemoryResource {
 public:
  /// `upstream` is not owned.
  explicit CountingMemory(MemoryResource& upstream) : upstream_(&upstream) {}

  std::uint64_t allocations() const { return allocations_; }  ///< successful ones, since construction
  std::int64_t live() const { return live_; }                 ///< blocks not yet deallocated
  /// Bytes not yet deallocated.
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }  ///< maximum of live_bytes() so far

  void* Allocate(std::size_t bytes, Stream& stream) override {
    void* const pointer = upstream_->Allocate(bytes, stream);
    ++allocations_;
    ++live_;
    const std::uint64_t now = live_bytes_ += bytes;
    for (std::uint64_t peak = peak_bytes_; now > peak && !peak_bytes_.compare_exchange_weak(peak, now);) {
    }
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept override {
    --live_;
    live_bytes_ -= bytes;
    upstream_->Deallocate(pointer, bytes, stream);
  }

 private:
  MemoryResource* upstream_;
  std::atomic<std::uint64_t> allocations_{0}, live_bytes_{0}, peak_bytes_{0};
  std::atomic<std::int64_t> live_{0};
};

/// Limits the bytes in use at once to `limit`, as on a device with less memory. Thread-safe.
class LimitingMemory final : public MemoryResource {
 public:
  /// `upstream` is not owned. Errors name the memory by `owner`, such as "host:0".
  LimitingMemory(MemoryResource& upstream, std::uint64_t limit, std::string owner)
      : upstream_(&upstream), limit_(limit), owner_(std::move(owner)) {}

  /// @{
  /// Bytes: the limit, and those in use.
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  /// @}

  /// Throws OutOfMemoryError with the limit, the bytes in use and the bytes requested.
  void* Allocate(std::size_t bytes, Stream& stream) override {
    std::uint64_t used = used_;
    do {
      if (bytes > limit_ || used > limit_ - bytes) {
        Throw<OutOfMemoryError>("{}: an allocation needs {}, but {} of its memory limit of {} are in use", owner_,
                                ExactBytes(bytes), ExactBytes(used), ExactBytes(limit_));
      }
    } while (!used_.compare_exchange_weak(used, used + bytes));
    try {
      return upstream_->Allocate(bytes, stream);
    } catch (...) {
      used_ -= bytes;
      throw;
    }
  }
  void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept override {
    upstream_->Deallocate(pointer, bytes, stream);
    used_ -= bytes;
  }

 private:
  MemoryResource* upstream_;
  const std::uint64_t limit_;
  const std::string owner_;
  std::atomic<std::uint64_t> used_{0};
};

/// Throws at an allocation that a test chooses, as a device without free memory would. Thread-safe.
class FailingMemory final : public MemoryResource {
 public:
  /// `upstream` is not owned.
  explicit FailingMemory(MemoryResource& upstream) : upstream_(&upstream) {}

  /// The `nth` allocation from now on, counted from 1, and all later ones throw OutOfMemoryError. With `only_once` only that
  /// one throws, as if other threads freed memory afterwards. 0: none throws. Resets requests(). Not concurrent with
  /// allocations.
  void FailAt(std::uint64_t nth, bool only_once = false) {
    fail_at_ = nth;
    only_once_ = only_once;
    requests_ = 0;
  }
  std::uint64_t requests() const { return requests_; }  ///< allocations requested since FailAt, including failed ones
  std::uint64_t fail_at() const { return fail_at_; }    ///< FailAt's argument; 0: none

  void* Allocate(std::size_t bytes, Stream& stream) override {
    const std::uint64_t nth = ++requests_;
    const std::uint64_t fail_at = fail_at_;
    if (fail_at != 0 && (only_once_ ? nth == fail_at : nth >= fail_at)) {
      Throw<OutOfMemoryError>("allocation {} of {} bytes was made to fail", nth, bytes);
    }
    return upstream_->Allocate(bytes, stream);
  }
  void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept override {
    upstream_->Deallocate(pointer, bytes, stream);
  }

 private:
  MemoryResource* upstream_;
  std::atomic<std::uint64_t> fail_at_{0}, requests_{0};
  std::atomic<bool> only_once_{false};
};

}  // namespace chatty
