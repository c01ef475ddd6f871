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
  /// Waits for copies that were late: they write into memory that it frees. No kernel may run that holds them up.
  ~HeapReader();
  HeapReader(const HeapReader&) = delete;
  HeapReader& operator=(const HeapReader&) = delete;

  /// The first `words` words of an array on device `index`, as they are now. Returns nothing if the device has failed, does
  /// not answer within a second, or has not answered an earlier call yet. Any thread may call it, at any time. The caller's
  /// current device stays.
  template <class T>
  std::vector<std::uint64_t> Read(Symmetric<T> array, std::size_t words, std::size_t index) {
    return ReadWords(reinterpret_cast<const std::uint64_t*>(heap_.data(array, index)), words, index);
  }

 private:
  // A GPU's stream, and where its words are copied to. A late copy may still write there.
  struct Gpu {
    std::mutex mutex;
    Pinned<std::uint64_t> words;
    std::unique_ptr<Stream> stream;
    bool outstanding = false;  // a copy was not seen to end
  };

  std::vector<std::uint64_t> ReadWords(const std::uint64_t* from, std::size_t words, std::size_t index);

  const SymmetricHeap& heap_;
  std::vector<std::unique_ptr<Gpu>> gpus_;  // one a device; none of hosts
};

}  // namespace chatty::fused
