// A memory resource that counts, and fails where a test wants it to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "chatty/core/device.h"

namespace chatty::test {

/// Takes memory from another resource. `fail_at` = n makes the n-th allocation from now (counting from 1) and all after it
/// throw OutOfMemoryError, as an exhausted device would; 0 never fails.
class CountingMemory final : public MemoryResource {
 public:
  explicit CountingMemory(MemoryResource& upstream) : upstream_(&upstream) {}

  void FailAt(std::uint64_t nth) {
    fail_at_ = nth;
    allocations_ = 0;
  }
  std::uint64_t allocations() const { return allocations_; }  ///< asked for since FailAt
  std::int64_t live() const { return live_; }                 ///< blocks handed out and not given back
  std::int64_t live_bytes() const { return live_bytes_; }

  void* Allocate(std::size_t bytes, Stream& stream) override {
    const std::uint64_t nth = ++allocations_;
    if (fail_at_ != 0 && nth >= fail_at_) {
      Throw<OutOfMemoryError>("allocation {} of {} bytes fails because a test says so", nth, bytes);
    }
    void* const pointer = upstream_->Allocate(bytes, stream);
    ++live_;
    live_bytes_ += static_cast<std::int64_t>(bytes);
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept override {
    --live_;
    live_bytes_ -= static_cast<std::int64_t>(bytes);
    upstream_->Deallocate(pointer, bytes, stream);
  }

 private:
  MemoryResource* upstream_;
  std::atomic<std::uint64_t> fail_at_{0}, allocations_{0};
  std::atomic<std::int64_t> live_{0}, live_bytes_{0};
};

}  // namespace chatty::test
