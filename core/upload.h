/// \file
/// Large arrays from pageable host memory to a device, at the rate of the link. A driver copies pageable memory through a
/// small page-locked buffer that one thread fills; here several threads fill pieces of page-locked memory, two each, and the
/// device copies one while its thread fills the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/parallel.h"

namespace chatty {

/// Page-locked pieces and streams of one device, for copies one after the other. For one thread at a time.
class Uploader {
 public:
  /// Fills pieces by `threads` threads; 0: one a core, as far as a link gains from more. Throws OutOfMemoryError,
  /// DeviceError.
  Uploader(Device& device, int threads);
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  /// Copies `count` elements to `to` in the device's memory: fill(piece, begin, n) writes elements [begin, begin + n) to
  /// `piece`, called by several threads at once. Returns when all is there. Throws DeviceError.
  template <class T, class Fill>
  void CopyFilled(T* to, std::size_t count, Fill&& fill) {
    const std::size_t step = kPieceBytes / sizeof(T);
    Begin();
    std::atomic<std::size_t> slots{0};
    ParallelChunksWithState((count + step - 1) / step, threads_, 1,
                            [&] {
                              device_->MakeCurrent();
                              return slots.fetch_add(1);
                            },
                            [&](std::size_t slot, std::size_t first, std::size_t last) {
                              for (std::size_t piece = first; piece < last; ++piece) {
                                const std::size_t begin = piece * step, n = std::min(step, count - begin);
                                fill(static_cast<T*>(Writable(slot)), begin, n);
                                Send(slot, to + begin, n * sizeof(T));
                              }
                            });
    End();
  }
  /// Copies `count` elements as they are.
  template <class T>
  void Copy(T* to, const T* from, std::size_t count) {
    CopyFilled(to, count,
               [&](T* piece, std::size_t begin, std::size_t n) { std::memcpy(piece, from + begin, n * sizeof(T)); });
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{2} << 20;  // large against what a copy costs, small in a cache

  /// What one thread fills: two pieces, and a stream for each.
  struct Uploading {
    std::byte* pieces = nullptr;
    std::unique_ptr<Stream> streams[2];
    int turn = 0;
  };

  /// Waits until the device's memory that is asked for is there.
  void Begin();
  /// The slot's next piece, once what it held has been copied.
  void* Writable(std::size_t slot);
  void Send(std::size_t slot, void* to, std::size_t bytes);
  void End();

  Device* device_;
  int threads_;
  Pinned<std::byte> memory_;
  std::vector<Uploading> slots_;
};

}  // namespace chatty
