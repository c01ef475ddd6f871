#include "chatty/comm/symmetric/delayed_stores.h"

#include <algorithm>
#include <cstring>

#include "chatty/core/hash.h"

namespace chatty {
namespace {

bool Overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

template <class T>
void StoreWord(std::byte* to, const std::byte* value) {
  T word;
  std::memcpy(&word, value, sizeof(T));
  detail::StoreRelaxed(reinterpret_cast<T*>(to), word);
}

}  // namespace

DelayedStores::DelayedStores(std::size_t devices, Options options) : options_(options), writers_(devices) {
  for (std::size_t i = 0; i < devices; ++i) writers_[i].random = Hash(i, options.seed);
}

std::uint64_t DelayedStores::Random(Writer& writer) const { return Hash(++writer.random, options_.seed); }

void DelayedStores::Put(std::uint32_t me, void* to, const void* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    Store store{static_cast<std::byte*>(to) + done, piece, {}};
    std::memcpy(store.value.data(), static_cast<const std::byte*>(from) + done, piece);
    Add(me, store, kPutsDelayed);
    done += piece;
  }
}

void DelayedStores::Add(std::uint32_t me, const Store& store, std::uint64_t sixteenths) {
  Writer& writer = writers_[me];
  if (writer.pending.size() == kMaxPending) Perform(writer, Random(writer) % kMaxPending);
  writer.pending.push_back(store);
  if (Random(writer) % 16 >= sixteenths) Perform(writer, writer.pending.size() - 1);
}

void DelayedStores::PerformAt(std::uint32_t me, const void* address, std::size_t bytes) {
  Writer& writer = writers_[me];
  for (std::size_t i = writer.pending.size(); i-- > 0;) {
    if (i >= writer.pending.size()) continue;  // earlier stores went with a later one
    const Store& store = writer.pending[i];
    if (Overlap(store.to, store.bytes, static_cast<const std::byte*>(address), bytes)) Perform(writer, i);
  }
}

void DelayedStores::PerformOne(std::uint32_t me) {
  constexpr std::uint32_t kLooks = 16;  // so that the device that waits for this store looks meanwhile at what it has
  Writer& writer = writers_[me];
  if (writer.pending.empty() || ++writer.looks % kLooks != 0) return;
  Perform(writer, Random(writer) % writer.pending.size());
}

void DelayedStores::PerformAll(std::uint32_t me) {
  Writer& writer = writers_[me];
  while (!writer.pending.empty()) Perform(writer, 0);
}

/// Performs store i, after the earlier ones to the same bytes.
void DelayedStores::Perform(Writer& writer, std::size_t i) {
  const Store store = writer.pending[i];
  for (std::size_t j = 0; j < i;) {
    const Store& earlier = writer.pending[j];
    if (!Overlap(earlier.to, earlier.bytes, store.to, store.bytes)) {
      ++j;
      continue;
    }
    const std::size_t before = writer.pending.size();
    Perform(writer, j);
    i -= before - writer.pending.size();
    j = 0;
  }
  writer.pending.erase(writer.pending.begin() + static_cast<std::ptrdiff_t>(i));
  // Data in words, too: a test that looks too early is to find old words, and not undefined behaviour.
  const std::size_t bits = reinterpret_cast<std::size_t>(store.to) | store.bytes;
  if (bits % 8 == 0) {
    for (std::size_t at = 0; at < store.bytes; at += 8) StoreWord<std::uint64_t>(store.to + at, store.value.data() + at);
  } else if (bits % 4 == 0) {
    for (std::size_t at = 0; at < store.bytes; at += 4) StoreWord<std::uint32_t>(store.to + at, store.value.data() + at);
  } else {
    std::memcpy(store.to, store.value.data(), store.bytes);
  }
}

}  // namespace chatty
