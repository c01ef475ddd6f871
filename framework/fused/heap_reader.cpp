#include "chatty/framework/fused/heap_reader.h"

#include <chrono>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/error.h"

namespace chatty::fused {

HeapReader::HeapReader(const SymmetricHeap& heap, std::size_t words) : heap_(heap) {
  if (heap.device(0).kind() == DeviceKind::kHost) return;
  for (std::size_t d = 0; d < heap.size(); ++d) {
    Device& device = heap.device(d);
    device.MakeCurrent();
    Gpu& gpu = *gpus_.emplace_back(std::make_unique<Gpu>());
    gpu.stream = device.NewStream();
    gpu.words = Pinned<std::uint64_t>(device, words);
  }
  heap.device(0).MakeCurrent();
}

HeapReader::~HeapReader() {
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    if (!gpu->outstanding) continue;
    try {
      gpu->stream->Synchronize();
    } catch (const Error&) {  // a lost device writes nothing
    }
  }
}

std::vector<std::uint64_t> HeapReader::ReadWords(const std::uint64_t* from, std::size_t words, std::size_t index) {
  std::vector<std::uint64_t> read(words);
  if (gpus_.empty()) {
    for (std::size_t i = 0; i < words; ++i) read[i] = detail::LoadRelaxed(from + i);
    return read;
  }
  Gpu& gpu = *gpus_[index];
  const std::lock_guard lock(gpu.mutex);
  CHATTY_CHECK(words <= gpu.words.size(), "{} words are read, of at most {}", words, gpu.words.size());
  try {
    if (gpu.outstanding && !gpu.stream->IsIdle()) return {};
    gpu.outstanding = true;
    heap_.device(index).CopyOut(gpu.words.data(), from, words * sizeof(std::uint64_t), *gpu.stream);
    gpu.stream->Synchronize({nullptr, std::chrono::seconds(1)});
    gpu.outstanding = false;
    read.assign(gpu.words.data(), gpu.words.data() + words);
  } catch (const Error&) {  // the device is lost, or late itself
    read.clear();
  }
  return read;
}

}  // namespace chatty::fused
