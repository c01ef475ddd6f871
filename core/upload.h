/// \file
/// Copies large arrays from pageable host memory to a device at the rate of the link. A driver copies pageable memory
/// through a small page-locked buffer that one thread fills. Here several threads each fill two pieces of page-locked memory
/// in turn: the device copies one piece while the thread fills the other.
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

/// Page-locked pieces and streams of one device. One thread at a time may start a copy.
class Uploader {
 public:
  /// `threads` threads fill pieces; 0: one per core, up to the number that a link can use. Throws OutOfMemoryError,
  /// DeviceError.
  Uploader(Device& device, int threads);
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  /// Copies `count` elements to `to` in the device's memory. fill(piece, begin, n) writes elements [begin, begin + n) to
  /// `piece`; several threads call it at once. Returns when the copy is complete. Throws DeviceError.
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
  /// Copies `count` elements from `from`.
  template <class T>
  void Copy(T* to, const T* from, std::size_t count) {
    CopyFilled(to, count,
               [&](T* piece, std::size_t begin, std::size_t n) { std::memcpy(piece, from + begin, n * sizeof(T)); });
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{2}
                                             << 20;  // long compared with a copy's fixed cost, small compared with a cache

  /// One thread's two pieces, with a stream for each.
  struct Uploading {
    std::byte* pieces = nullptr;
    std::unique_ptr<Stream> streams[2];
    int turn = 0;
  };

  /// Waits until earlier work on the device's main stream, including allocation of the target, has run.
  void Begin();
  /// The slot's next piece, after its previous copy has ended.
  void* Writable(std::size_t slot);
  void Send(std::size_t slot, void* to, std::size_t bytes);
  void End();

  Device* device_;
  int threads_;
  Pinned<std::byte> memory_;
  std::vector<Uploading> slots_;
};

}  // namespace chatty
