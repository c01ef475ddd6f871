/// \file
/// The work that a calibration times: packing and unpacking as engines do it, and single kinds of access. Host devices do
/// it on their team, GPUs in small kernels. Everything is enqueued on the device's stream, in the thread that drives the
/// device and has made it current.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/device.h"
#include "chatty/core/macros.h"

namespace chatty::probes {

/// What stands for a program's values on a device: 2^bits words in its memory, and an order to visit them that no cache
/// foresees.
struct State {
  std::uint32_t* values = nullptr;  ///< 2^bits, made by Prepare
  std::uint32_t* order = nullptr;   ///< a permutation of their indices, made by Prepare
  unsigned bits = 0;                ///< 5 to 31
  std::uint32_t* marks = nullptr;   ///< a bit for each of the values: what an update sets
  /// @{
  /// On a GPU: as many places as values, for those that are updated one by one, and for messages that wait; and how many of
  /// it and of a buffer are taken, which who packs clears.
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

/// An entry of a list: which value, and its candidate.
struct Entry {
  std::uint32_t index, value;
};

/// What a buffer is made of, as the engines make theirs (docs/architecture.md).
enum class Kind : std::uint8_t {
  kBlock,    ///< values in order
  kPayload,  ///< the same, copied and not taken in; on GPUs
  kEntries,  ///< a list of them, each with its index; indices are evenly apart, and those of 32 in a row ascend
  kMarks,    ///< a list of indices alone; on GPUs
  /// @{
  /// Made and taken apart by going through places: bits that say which it holds, where each segment's values begin, and the
  /// values.
  kValues,    ///< which lower those of the receiver
  kMessages,  ///< which are combined with what waits there, if they are wanted; on GPUs
  kBits,      ///< bits alone, of which all are set; on GPUs
  /// @}
};
/// A buffer of a kind.
struct ProbeBuffer {
  static constexpr std::size_t kSegment = 256;
  Kind kind = Kind::kBlock;
  std::size_t count = 0;  ///< words, entries, or places, which are a multiple of kSegment; at most 2^bits
  unsigned every = 1;     ///< of values and messages: one place in so many is held; a power of two up to kSegment
  CHATTY_FN std::size_t held() const { return (count + every - 1) / every; }  ///< places that are
  CHATTY_FN std::size_t segments_at() const { return count / 8; }             ///< byte at which these begin
  CHATTY_FN std::size_t values_at() const { return segments_at() + count / kSegment * 4; }
  std::size_t bytes() const;  ///< its length
  /// Whether bits say which places it holds.
  bool swept() const { return kind == Kind::kValues || kind == Kind::kMessages || kind == Kind::kBits; }
  /// The largest of at most so many bytes; of lists one entry at least.
  static ProbeBuffer Of(Kind kind, std::size_t bytes, unsigned every = 1);
};

void Prepare(Device& device, const State& state);  ///< fills values and order

/// How far entries of a list lie apart: as far as values reach.
CHATTY_FN std::size_t EntriesApart(const State& state, const ProbeBuffer& list) {
  return list.count == 0 || list.count > std::size_t{1} << state.bits ? 1 : (std::size_t{1} << state.bits) / list.count;
}

/// @{
/// Packs such a buffer, and takes it in: of values candidates are smaller than what the sender has, so that updates go on to
/// succeed where it gets such ones, too. Of what is no block the receiver marks what it gets and, of lists and on a GPU,
/// notes it in a queue.
void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape);
void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape);
/// @}

/// What Touch does to each word.
enum class Access : std::uint8_t { kRead, kWrite, kAtomic };
/// Touches `words` words of `memory`, which `device` can address: one after the other, or, with `order`, at the indices that
/// it gives.
void Touch(Device& device, std::uint32_t* memory, std::size_t words, const std::uint32_t* order, Access access);

/// A kernel, or a job of the team, that does nothing.
void LaunchNothing(Device& device);

/// Microseconds of one of `rounds` turns of a flag from `a` to `b` and back. `a` waits for `flag_a`, which `b` writes, and
/// the other way round; both words can be addressed by both. Called by one thread for both devices; blocks. Throws
/// DeviceError if a flag does not arrive within a second.
double FlagRoundTripUs(Device& a, Device& b, std::uint32_t* flag_a, std::uint32_t* flag_b, unsigned rounds);

/// Microseconds of a barrier among all that runs on the device: a team's members, or a grid of one block a multiprocessor.
double DeviceBarrierUs(Device& device, unsigned rounds);

/// Whether atomics of `from` on the memory of `to` are carried out there.
bool NativeAtomics(Device& from, Device& to);

/// The versions of CUDA's driver and runtime and of NCCL that are in use, as their libraries number them; 0 without.
struct Versions {
  int driver = 0;   ///< 13000 for 13.0
  int runtime = 0;  ///< likewise
  int nccl = 0;     ///< 22809 for 2.28.9
};
Versions SoftwareVersions();  ///< asks the libraries; opens no device

/// The same on GPUs; only in builds with CUDA.
namespace cuda {
void Prepare(Device& device, const State& state);
void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape);
void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape);
void Touch(Device& device, std::uint32_t* memory, std::size_t words, const std::uint32_t* order, Access access);
void LaunchNothing(Device& device);
double FlagRoundTripUs(Device& a, Device& b, std::uint32_t* flag_a, std::uint32_t* flag_b, unsigned rounds);
double DeviceBarrierUs(Device& device, unsigned rounds);
bool NativeAtomics(Device& from, Device& to);
Versions SoftwareVersions();
}  // namespace cuda

}  // namespace chatty::probes
