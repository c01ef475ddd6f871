/// \file
/// The stream on which a GPU unpacks what has arrived, and its order to the steps on the main stream.
#pragma once

#include <memory>

#include "chatty/core/device.h"

namespace chatty::steps::cuda {

/// A stream of high priority, for UnpackArrived. Unpacking delivers as Advance does: by atomic operations on inboxes of
/// owned vertices, their `touched` bits and their queue. So it runs beside steps that deliver too (Advance), that use other
/// vertices' inboxes, bits and queues (PackMessages), or that only read counters (ReportControl without `clear`). All other
/// steps, as Apply, read or clear what it writes, so they run before it or after it.
///
/// Two events keep this order. Unpacking waits for `settled_`, behind which the main stream has steps of the first kind
/// alone. The main stream waits for `unpacked_` before all later work, so whoever waits for the main stream has waited for
/// this one, too.
class UnpackStream {
 public:
  /// Of `device`, which must outlive it and be current. Throws DeviceError.
  explicit UnpackStream(Device& device)
      : device_(device), stream_(device.NewStream()), settled_(device.NewEvent()), unpacked_(device.NewEvent()) {}

  Stream& stream() const { return *stream_; }  ///< not the device's main stream
  /// Whether all work of the main stream since `settled_` runs beside unpacking. Any other step clears it.
  bool beside() const { return beside_; }
  void set_beside(bool beside) { beside_ = beside; }  ///< see beside()

  /// Before a step of the first kind: all earlier steps of another kind precede later unpacking.
  void Settle() {
    if (beside_) return;
    settled_->Record(device_.stream());
    beside_ = true;
  }
  /// Before an unpacking kernel on stream(), and after Settle.
  void BeginUnpacking() { settled_->MakeWait(*stream_); }
  /// Behind it: the main stream's later work waits for it.
  void EndUnpacking() {
    unpacked_->Record(*stream_);
    unpacked_->MakeWait(device_.stream());
  }

 private:
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> settled_, unpacked_;
  bool beside_ = false;
};

}  // namespace chatty::steps::cuda
