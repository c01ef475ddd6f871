/// \file
/// The work that a calibration times: packing and unpacking of message buffers, item by item, on a host device's team or in
/// a kernel. The thread that drives the device and has made it current enqueues all work on the device's stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "chatty/comm/encoding.h"
#include "chatty/core/atomics.h"
#include "chatty/core/device.h"
#include "chatty/core/macros.h"

namespace chatty::probes {

/// Stands for a program's values on a device, in its memory.
struct State {
  std::uint32_t* values = nullptr;    ///< 2^bits
  std::uint32_t* vertices = nullptr;  ///< 2^bits: of each place of a numbering, the index of its value
  std::uint32_t* marks = nullptr;     ///< a bit for each value, which an update sets
  unsigned bits = 0;                  ///< 5 to 31
};

/// An entry of a sparse buffer: the index of a value, and its candidate.
struct alignas(8) Entry {
  std::uint32_t index, value;
};
/// An item of a dense buffer.
struct alignas(16) Block {
  std::uint32_t value[4];
};

/// A buffer of an encoding. Dense: values in order. Sparse: values with their indices, which ascend at equal distances.
/// Bitmap: a bit for each place of a numbering, and the values of the set places.
struct ProbeBuffer {
  Encoding encoding = Encoding::kDense;
  std::size_t items = 0;   ///< blocks, entries, or places, which are a multiple of 32; their values are at most 2^bits
  std::size_t apart = 1;   ///< distance between the indices of a sparse buffer
  unsigned shift = 0;      ///< one place of a bitmap in 2^shift is set; 0 to 5
  std::uint32_t word = 0;  ///< the bits of 32 places
  /// @{
  /// The largest buffers of at most `bytes` bytes: one block or entry at least. A sparse one's indices cover 2^bits values,
  /// and a bitmap has so many places at most.
  static ProbeBuffer Dense(std::size_t bytes) { return {Encoding::kDense, std::max<std::size_t>(bytes / sizeof(Block), 1)}; }
  static ProbeBuffer Sparse(std::size_t bytes, unsigned bits) {
    const std::size_t entries = std::max<std::size_t>(bytes / sizeof(Entry), 1);
    return {Encoding::kSparse, entries, (std::size_t{1} << bits) / entries};
  }
  static ProbeBuffer Bitmap(std::size_t bytes, unsigned shift, unsigned bits) {
    const std::uint64_t ones = (std::uint64_t{1} << (1u << shift)) - 1;
    const std::size_t places = std::min(bytes / (4 + (std::size_t{128} >> shift)) * 32, std::size_t{1} << bits);
    return {Encoding::kBitmap, places, 1, shift, static_cast<std::uint32_t>(~0u / ones)};
  }
  /// @}
  /// Its length.
  std::size_t bytes() const {
    if (encoding == Encoding::kDense) return items * sizeof(Block);
    if (encoding == Encoding::kSparse) return items * sizeof(Entry);
    return items / 8 + (items >> shift) * sizeof(std::uint32_t);
  }
  /// As BufferShape counts them: none of a dense buffer.
  std::size_t entries() const { return encoding == Encoding::kDense ? 0 : items; }
};

/// What a step of a calibration does to each item: it packs a buffer, or unpacks it, or else makes values, vertices and
/// marks. Candidates are the sender's values, less one. The receiver always writes them, as it does with those that are
/// better than what it has, and marks them, except of a dense buffer.
struct Step {
  State state;                          ///< of the device
  ProbeBuffer shape = {};               ///< of the buffer
  std::byte* packed = nullptr;          ///< the buffer to pack
  const std::byte* received = nullptr;  ///< the buffer to unpack
  /// Number of items.
  std::size_t items() const { return packed != nullptr || received != nullptr ? shape.items : std::size_t{1} << state.bits; }
  /// Does one item's part.
  CHATTY_FN void operator()(std::size_t i) const {
    if (packed != nullptr) return Pack(i);
    return received != nullptr ? Unpack(i) : Prepare(i);
  }

 private:
  CHATTY_FN void Prepare(std::size_t i) const {
    state.values[i] = static_cast<std::uint32_t>(i) + 1;
    state.vertices[i] = static_cast<std::uint32_t>(i);
    if (i % 32 == 0) state.marks[i / 32] = 0;
  }
  CHATTY_FN void Pack(std::size_t i) const {
    if (shape.encoding == Encoding::kDense) {
      Block block = reinterpret_cast<const Block*>(state.values)[i];
      for (std::uint32_t& value : block.value) --value;
      reinterpret_cast<Block*>(packed)[i] = block;
    } else if (shape.encoding == Encoding::kSparse) {
      const auto index = static_cast<std::uint32_t>(i * shape.apart);
      reinterpret_cast<Entry*>(packed)[i] = {index, state.values[state.vertices[index]] - 1};
    } else {
      auto* const words = reinterpret_cast<std::uint32_t*>(packed);
      const std::uint32_t vertex = state.vertices[i];
      if (i % 32 == 0) words[i / 32] = shape.word;
      if ((shape.word >> (vertex % 32) & 1u) != 0) words[shape.items / 32 + (i >> shape.shift)] = state.values[vertex] - 1;
    }
  }
  CHATTY_FN void Unpack(std::size_t i) const {
    if (shape.encoding == Encoding::kDense) {
      Block block = reinterpret_cast<const Block*>(state.values)[i];
      const Block candidates = reinterpret_cast<const Block*>(received)[i];
      for (std::size_t k = 0; k < 4; ++k) {
        block.value[k] = candidates.value[k] < block.value[k] ? candidates.value[k] : block.value[k];
      }
      reinterpret_cast<Block*>(state.values)[i] = block;
      return;
    }
    Entry entry{static_cast<std::uint32_t>(i), 0};
    if (shape.encoding == Encoding::kSparse) {
      entry = reinterpret_cast<const Entry*>(received)[i];
    } else {
      const auto* const words = reinterpret_cast<const std::uint32_t*>(received);
      if ((words[i / 32] >> (i % 32) & 1u) == 0) return;
      entry.value = words[shape.items / 32 + (i >> shape.shift)];
    }
    const std::uint32_t vertex = state.vertices[entry.index];
    atomics::Exchange(&state.values[vertex], entry.value);
    atomics::Or<true>(&state.marks[vertex / 32], 1u << (vertex % 32));
  }
};

/// Enqueues a step.
void Run(Device& device, const Step& step);

/// The versions in use of CUDA's driver, CUDA's runtime and NCCL, as their libraries number them: a text of words, without
/// those that are absent. Opens no device.
std::string SoftwareVersions();

/// As above, on GPUs; only in builds with CUDA.
namespace cuda {
void Run(Device& device, const Step& step);
std::string SoftwareVersions();
}  // namespace cuda

}  // namespace chatty::probes
