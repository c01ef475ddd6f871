/// \file
/// Reads words of a symmetric heap from the host while kernels run on its devices. The text of a wait that ended in vain
/// says by them for whom it waited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "chatty/comm/symmetric/heap.h"

namespace chatty::fused {

/// Copies words of GPUs on streams of its own, which no kernel holds up. All memory is taken at first: an allocation could
/// wait for a kernel. The heap must outlive it.
class HeapReader {
 public:
  /// For at most `words` words of 8 bytes at once. Throws OutOfMemoryError and DeviceError.
  HeapReader(const SymmetricHeap& heap, std::size_t words);

  /// The first `words` words of an array on device `index`, as they are now. Returns nothing if the device has failed or
  /// does not answer within a second. Any thread may call it, at any time. The caller's current device stays.
  template <class T>
  std::vector<std::uint64_t> Read(Symmetric<T> array, std::size_t words, std::size_t index) {
    return ReadWords(reinterpret_cast<const std::uint64_t*>(heap_.data(array, index)), words, index);
  }

 private:
  std::vector<std::uint64_t> ReadWords(const std::uint64_t* from, std::size_t words, std::size_t index);

  const SymmetricHeap& heap_;
  std::mutex mutex_;
  Pinned<std::uint64_t> words_;                   // of GPUs
  std::vector<std::unique_ptr<Stream>> streams_;  // likewise, one a device
};

}  // namespace chatty::fused
