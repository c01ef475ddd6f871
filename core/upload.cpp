#include "chatty/core/upload.h"

namespace chatty {
namespace {

constexpr int kMaxFilling = 16;  // more threads than a link of 64 GB/s needs

}  // namespace

Uploader::Uploader(Device& device, int threads) : device_(&device), threads_(std::min(ThreadCount(threads), kMaxFilling)) {
  device.MakeCurrent();
  memory_ = Pinned<std::byte>(device, static_cast<std::size_t>(threads_) * 2 * kPieceBytes);
  slots_.resize(static_cast<std::size_t>(threads_));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].pieces = memory_.data() + i * 2 * kPieceBytes;
    for (std::unique_ptr<Stream>& stream : slots_[i].streams) stream = device.NewStream();
  }
}

Uploader::~Uploader() {
  try {
    End();  // a copy that is still running after a failure reads the pieces
  } catch (const std::exception&) {
    // an earlier call has reported the failure
  }
}

void Uploader::Begin() { device_->stream().Synchronize(); }

void* Uploader::Writable(std::size_t slot) {
  Uploading& mine = slots_[slot];
  mine.streams[mine.turn]->Synchronize();
  return mine.pieces + static_cast<std::size_t>(mine.turn) * kPieceBytes;
}

void Uploader::Send(std::size_t slot, void* to, std::size_t bytes) {
  Uploading& mine = slots_[slot];
  device_->CopyIn(to, mine.pieces + static_cast<std::size_t>(mine.turn) * kPieceBytes, bytes, *mine.streams[mine.turn]);
  mine.turn ^= 1;
}

void Uploader::End() {
  for (Uploading& slot : slots_) {
    for (std::unique_ptr<Stream>& stream : slot.streams) stream->Synchronize();
  }
}

}  // namespace chatty
