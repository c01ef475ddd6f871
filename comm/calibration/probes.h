/// \file
/// The work that a calibration times: packing and unpacking as engines do it. Host devices run it on their team, GPUs in
/// small kernels. The thread that drives the device and has made it current enqueues all work on the device's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "chatty/comm/encoding.h"
#include "chatty/core/device.h"
#include "chatty/core/macros.h"

namespace chatty::probes {

/// Stands for a program's values on a device: 2^bits words in its memory, and an order of visits that no cache predicts.
struct State {
  std::uint32_t* values = nullptr;  ///< 2^bits, made by Prepare
  std::uint32_t* order = nullptr;   ///< a permutation of their indices, made by Prepare
  unsigned bits = 0;                ///< 5 to 31
  std::uint32_t* marks = nullptr;   ///< a bit for each value, which an update sets
  /// @{
  /// On a GPU: as many places as values, for values that are updated one by one; and how many places of the queue and of a
  /// buffer are taken. Packing clears both counts.
  std::uint32_t* queue = nullptr;
  std::uint32_t* counts = nullptr;  ///< 2
  /// @}
};

/// Entry i of the permutation of 0 to 2^bits - 1: a bijection by multiplications and shifts.
constexpr std::uint32_t Permuted(std::uint32_t i, unsigned bits) {
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  const unsigned half = (bits + 1) / 2;
  std::uint32_t x = (i * 0x9e3779b1u) & mask;  // odd factors are invertible modulo 2^bits, and so is x ^ x >> half
  x ^= x >> half;
  x = (x * 0x85ebca6bu) & mask;
  x ^= x >> half;
  x = (x * 0xc2b2ae35u) & mask;
  return x ^ x >> half;
}

/// An entry of a list: the index of a value, and its candidate.
struct Entry {
  std::uint32_t index, value;
};

/// A buffer of an encoding, as the engines make theirs (docs/architecture.md): dense, values in order; sparse, values with
/// their indices, which are evenly apart, those of 32 in a row ascending; a bitmap, whose packing and unpacking visit all
/// places, with bits for the set places, the begin of each segment's values, and the values.
struct ProbeBuffer {
  static constexpr std::size_t kSegment = 256;
  Encoding encoding = Encoding::kDense;
  std::size_t count = 0;  ///< words, entries, or places, which are a multiple of kSegment; at most 2^bits
  unsigned every = 1;     ///< of a bitmap: one place in `every` is set; a power of two up to kSegment
  CHATTY_FN std::size_t held() const { return (count + every - 1) / every; }  ///< set places
  CHATTY_FN std::size_t segments_at() const { return count / 8; }             ///< byte at which segments begin
  CHATTY_FN std::size_t values_at() const { return segments_at() + count / kSegment * 4; }
  /// Its length.
  std::size_t bytes() const {
    if (encoding == Encoding::kBitmap) return values_at() + held() * sizeof(std::uint32_t);
    return count * (encoding == Encoding::kSparse ? sizeof(Entry) : sizeof(std::uint32_t));
  }
  /// The largest of at most `bytes` bytes; a sparse one has one entry at least.
  static ProbeBuffer Of(Encoding encoding, std::size_t bytes, unsigned every = 1);
};

void Prepare(Device& device, const State& state);  ///< fills values and order

/// Distance between entries of a list: the list covers all values.
CHATTY_FN std::size_t EntriesApart(const State& state, const ProbeBuffer& list) {
  return list.count == 0 || list.count > std::size_t{1} << state.bits ? 1 : (std::size_t{1} << state.bits) / list.count;
}

/// @{
/// Packs a buffer of this shape, and unpacks it. Candidates are smaller than the sender's values, so that updates still
/// succeed where the sender receives candidates, too. The receiver marks what it gets, except of a dense buffer. Of a sparse
/// one on a GPU, it also adds what it gets to a queue.
void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape);
void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape);
/// @}

/// The versions of CUDA's driver and runtime and of NCCL that are in use, as their libraries number them: words of a text,
/// without those that are not there. Opens no device.
std::string SoftwareVersions();

/// As above, on GPUs; only in builds with CUDA.
namespace cuda {
void Prepare(Device& device, const State& state);
void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape);
void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape);
std::string SoftwareVersions();
}  // namespace cuda

}  // namespace chatty::probes
