#include "chatty/framework/fused/heap_reader.h"

#include <chrono>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/error.h"

namespace chatty::fused {

HeapReader::HeapReader(const SymmetricHeap& heap, std::size_t words) : heap_(heap) {
  if (heap.device(0).kind() == DeviceKind::kHost) return;
  for (std::size_t d = 0; d < heap.size(); ++d) {
    heap.device(d).MakeCurrent();
    streams_.push_back(heap.device(d).NewStream());
  }
  heap.device(0).MakeCurrent();
  words_ = Pinned<std::uint64_t>(heap.device(0), words);
}

std::vector<std::uint64_t> HeapReader::ReadWords(const std::uint64_t* from, std::size_t words, std::size_t index) {
  std::vector<std::uint64_t> read(words);
  if (streams_.empty()) {
    for (std::size_t i = 0; i < words; ++i) read[i] = detail::LoadRelaxed(from + i);
    return read;
  }
  try {
    const std::lock_guard lock(mutex_);
    CHATTY_CHECK(words <= words_.size(), "{} words are read, of at most {}", words, words_.size());
    heap_.device(index).CopyOut(words_.data(), from, words * sizeof(std::uint64_t), *streams_[index]);
    streams_[index]->Synchronize({nullptr, std::chrono::seconds(1)});
    read.assign(words_.data(), words_.data() + words);
  } catch (const Error&) {  // the device is lost, or late itself
    read.clear();
  }
  return read;
}

}  // namespace chatty::fused
