#include "chatty/framework/fused/wide_team.h"

#include <algorithm>

#include "chatty/core/array.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/parallel.h"

namespace chatty::fused {
namespace {

constexpr std::size_t kLineWords = 32;  // stores of two devices do not meet in a line

/// Words of a bitmap of so many bits behind `first` others.
std::size_t LineWords(std::size_t first, std::size_t bits) {
  return bits == 0 ? 0 : (bits::Words(first + bits) + kLineWords - 1) / kLineWords * kLineWords;
}
std::size_t Chunks(std::size_t vertices) { return (vertices + BorderWords::kChunk - 1) / BorderWords::kChunk; }

/// Where the arrays of one pair of devices are in a device's memory, in words.
struct Offsets {
  std::size_t messages = 0, frontier = 0;    ///< from the other device, in bits_
  std::size_t border = 0, border_words = 0;  ///< towards the other device, in borders_; and entries
};

/// Different words of a bitmap that the vertices, which ascend, are in.
std::size_t CountWords(const Array<LocalId>& vertices) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < vertices.size(); ++i) words += i == 0 || vertices[i] / 32 != vertices[i - 1] / 32 ? 1 : 0;
  return words;
}

/// Writes word, mask, rank and first, one after the other.
void FillBorder(const Array<LocalId>& vertices, std::size_t words, std::uint32_t* to) {
  std::uint32_t* const word = to;
  std::uint32_t* const mask = word + words;
  std::uint32_t* const rank = mask + words;
  std::uint32_t* const first = rank + words;
  std::size_t entry = 0;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    if (i == 0 || vertices[i] / 32 != vertices[i - 1] / 32) {
      word[entry] = static_cast<std::uint32_t>(vertices[i] / 32);
      mask[entry] = 0;
      rank[entry++] = static_cast<std::uint32_t>(i);
    }
    mask[entry - 1] |= 1u << (vertices[i] % 32);
    if (i % BorderWords::kChunk == 0) first[i / BorderWords::kChunk] = static_cast<std::uint32_t>(entry - 1);
  }
}

}  // namespace

std::uint64_t WideTeam::Bytes(std::size_t devices, std::uint64_t owned, std::uint64_t halo, std::uint64_t border) {
  const std::uint64_t bits = (halo + border) / 32 + 2 * devices * (kLineWords + 2);
  const std::uint64_t entries = std::min<std::uint64_t>(border, (devices - 1) * bits::Words(owned));
  return (bits + 3 * entries + Chunks(border) + devices) * sizeof(std::uint32_t) + devices * sizeof(HaloBits);
}

WideTeam::WideTeam(std::span<Device* const> devices, std::span<const Subgraph> parts)
    : devices_(devices.begin(), devices.end()) {
  const auto count = static_cast<PartId>(devices.size());
  std::vector<std::vector<Offsets>> offsets(count, std::vector<Offsets>(count));  // by device and peer
  const auto first = [&](PartId from, PartId to) { return std::size_t{parts[from].halo_begin[to]} % 32; };
  ParallelFor(std::size_t{count} * count, 0, [&](std::size_t pair) {
    const std::size_t me = pair / count, peer = pair % count;
    if (me != peer) offsets[me][peer].border_words = CountWords(parts[me].border[peer]);
  });
  std::vector<Array<std::uint32_t>> borders;
  for (PartId me = 0; me < count; ++me) {
    std::size_t bits = 0, border = 0;
    for (PartId peer = 0; peer < count; ++peer) {
      if (peer == me) continue;
      Offsets& mine = offsets[me][peer];
      const std::size_t in_border = parts[me].border[peer].size(), in_halo = parts[peer].border[me].size();
      mine.messages = bits;
      bits += LineWords(first(peer, me), in_border);
      mine.frontier = bits;
      bits += LineWords(0, in_halo);
      mine.border = border;
      border += 3 * mine.border_words + Chunks(in_border);
    }
    devices_[me]->MakeCurrent();
    bits_.emplace_back(*devices_[me], bits);
    borders_.emplace_back(*devices_[me], border);
    tables_.emplace_back(*devices_[me], count);
    borders.emplace_back(border);
  }
  Clear();
  ParallelFor(std::size_t{count} * count, 0, [&](std::size_t pair) {
    const std::size_t me = pair / count, peer = pair % count;
    const Offsets& mine = offsets[me][peer];
    if (me != peer) FillBorder(parts[me].border[peer], mine.border_words, borders[me].data() + mine.border);
  });
  for (PartId me = 0; me < count; ++me) {
    std::vector<HaloBits> table(count);
    for (PartId peer = 0; peer < count; ++peer) {
      if (peer == me) continue;
      const Offsets &mine = offsets[me][peer], &its = offsets[peer][me];
      HaloBits& bits = table[peer];
      bits.messages_to = bits_[peer].data() + its.messages;
      bits.frontier_to = bits_[peer].data() + its.frontier;
      bits.messages_from = bits_[me].data() + mine.messages;
      bits.frontier_from = bits_[me].data() + mine.frontier;
      bits.first = static_cast<std::uint32_t>(first(peer, me));
      bits.border.word = borders_[me].data() + mine.border;
      bits.border.mask = bits.border.word + mine.border_words;
      bits.border.rank = bits.border.mask + mine.border_words;
      bits.border.first = bits.border.rank + mine.border_words;
      bits.border.entries = static_cast<std::uint32_t>(mine.border_words);
      bits.border.vertices = static_cast<LocalId>(parts[me].border[peer].size());
    }
    Device& device = *devices_[me];
    device.MakeCurrent();
    if (!borders[me].empty()) device.CopyIn(borders_[me].data(), borders[me].data(), borders[me].bytes(), device.stream());
    device.CopyIn(tables_[me].data(), table.data(), tables_[me].bytes(), device.stream());
    device.stream().Synchronize();
  }
}

void WideTeam::Clear() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (bits_[d].size() == 0) continue;  // no two parts have an edge in common
    devices_[d]->MakeCurrent();
    devices_[d]->Fill(bits_[d].data(), 0, bits_[d].bytes(), devices_[d]->stream());
  }
  for (Device* const device : devices_) {
    device->MakeCurrent();
    device->stream().Synchronize();
  }
}

}  // namespace chatty::fused
