/// \file
/// Functions for readers of binary rows: they read arrays from a file and check that these form an adjacency. Internal to
/// io/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"

namespace chatty::io {

static_assert(std::endian::native == std::endian::little, "binary formats are read and written as they lie in memory");

/// Reads arrays from an input, one after another.
class ArrayReader {
 public:
  ArrayReader(Input& input, int threads) : input_(input), threads_(threads) {}

  const std::string& name() const { return input_.name(); }

  /// Throws if `count` elements of `bytes` bytes each exceed the input's known length.
  void ExpectRoom(std::uint64_t count, std::size_t bytes) const {
    if (count > (input_.max_bytes() - input_.bytes_delivered()) / bytes) Truncated();
  }

  /// Calls body(first, at, n) for pieces that together are the next `count` elements of `bytes` bytes each: `n` elements
  /// from number `first` on, at `at`, not aligned. Afterwards the pages of a mapped file are released.
  template <class Body>
  void ReadPieces(std::uint64_t count, std::size_t bytes, Body&& body) {
    ExpectRoom(count, bytes);
    const std::size_t piece = (std::size_t{1} << (input_.remaining() ? 26 : 20)) / bytes;
    for (std::uint64_t first = 0; first < count;) {
      const std::size_t n = std::min<std::uint64_t>(count - first, piece);
      const std::string_view at = input_.Peek(n * bytes);
      if (at.size() < n * bytes) Truncated();
      body(first, at.data(), n);
      input_.Consume(n * bytes);
      first += n;
    }
  }

  /// Reads the next `count` elements, of type From in the file, converted by convert(From), after `lead` zeros. If the
  /// input's length is unknown, memory grows with the bytes read, not with the header's count.
  template <class To, class From, class Convert>
  Array<To> ReadAs(std::uint64_t count, Convert&& convert, std::size_t lead = 0) {
    ExpectRoom(count, sizeof(From));
    constexpr std::uint64_t kFirst = std::uint64_t{1} << 20;
    const bool known = input_.remaining().has_value();
    const std::uint64_t at_first = lead + (known ? count : std::min(count, kFirst));
    input_.Claim(at_first * sizeof(To));
    auto all = known ? Array<To>::InHugePages(at_first) : Array<To>(at_first);
    std::fill_n(all.begin(), lead, To{});
    ReadPieces(count, sizeof(From), [&](std::uint64_t first, const char* at, std::size_t n) {
      if (lead + first + n > all.size()) {
        const std::uint64_t grown = lead + std::min<std::uint64_t>(count, 2 * (first + n));
        input_.Claim((grown - all.size()) * sizeof(To));
        Array<To> larger(grown);
        std::copy_n(all.begin(), lead + first, larger.begin());
        all = std::move(larger);
      }
      To* const to = all.data() + lead + first;
      ParallelChunks(n, threads_, std::size_t{1} << 18, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          From value;
          std::memcpy(&value, at + i * sizeof(From), sizeof(From));
          to[i] = convert(value);
        }
      });
    });
    return all;
  }

  /// Reads the next `count` elements.
  template <class T>
  Array<T> Read(std::uint64_t count) {
    return ReadAs<T, T>(count, [](T value) { return value; });
  }

  /// A view of the next `count` elements in a mapped file, if they are aligned. Otherwise returns nothing and reads nothing.
  template <class T>
  std::optional<Array<T>> ViewMapped(std::uint64_t count) {
    ExpectRoom(count, sizeof(T));
    if (!input_.remaining()) return std::nullopt;
    const std::string_view at = input_.Peek(count * sizeof(T));
    if (at.size() < count * sizeof(T) || reinterpret_cast<std::uintptr_t>(at.data()) % alignof(T) != 0) return std::nullopt;
    std::shared_ptr<const void> owner = input_.KeepMapped();
    if (owner == nullptr) return std::nullopt;
    input_.Consume(at.size());
    return Array<T>::View(reinterpret_cast<T*>(const_cast<char*>(at.data())), count, std::move(owner));
  }

  /// Skips the next `bytes` bytes, which must exist.
  void Skip(std::uint64_t bytes) {
    ReadPieces(bytes, 1, [](std::uint64_t, const char*, std::size_t) {});
  }

  /// Reads one number, for instance of a header.
  template <class T>
  T ReadOne() {
    T value{};
    if (input_.Read(&value, sizeof value) != sizeof value) Truncated();
    return value;
  }

  /// Throws unless the input is at its end.
  void ExpectEnd() {
    char extra = 0;
    if (input_.Read(&extra, 1) != 0) {
      Throw<InputError>("{}: is longer than its header says: the file is damaged; write it again", name());
    }
  }

  [[noreturn]] void Truncated() const {
    Throw<InputError>(
        "{}: is shorter than its header says: what should follow byte {} is not all there; the file is truncated, or its "
        "header is wrong; write or fetch it again",
        name(), input_.bytes_delivered());
  }

 private:
  Input& input_;
  int threads_;
};

/// Throws InputError with the file's name unless offsets ascend from 0 to `edges`.
void CheckOffsets(const std::string& name, const Array<EdgeIndex>& offsets, std::uint64_t edges, int threads);

/// Throws InputError with the file's name unless weights are finite.
void CheckWeights(const std::string& name, const Adjacency& rows, int threads);

/// Calls both checks, and throws if a neighbour is not a vertex. Call it before any use of neighbours as indices; Graph
/// checks neighbours only in sorted lists. Lists may be in any order.
void CheckRows(const std::string& name, const Adjacency& rows, int threads);

/// Warns that integer weights of a file became floats and lost digits. `extreme` is the weight of largest magnitude.
void WarnOfRoundedWeights(const std::string& name, double extreme);

/// Warns if all weights look like the bits of floats, for a file whose format does not state their kind.
void WarnOfFloatBits(const std::string& name, const Weights& weights, int threads);

/// Weights of rows for a format with 32-bit integers. Floats with an exact int32 value are converted, and edges without a
/// weight have weight 1. Refers to the rows.
class IntegerWeights {
 public:
  /// Throws UsageError for any other float. `path` is the output file, for the message.
  IntegerWeights(const Adjacency& rows, const std::string& path);

  std::int32_t operator[](EdgeIndex e) const {
    return integers_ != nullptr ? integers_[e] : reals_ != nullptr ? static_cast<std::int32_t>(reals_[e]) : 1;
  }

 private:
  const std::int32_t* integers_ = nullptr;
  const float* reals_ = nullptr;
};

/// Writes a number in its memory representation.
template <class T>
void WriteBytes(OutputFile& output, T value) {
  output.Write({reinterpret_cast<const char*>(&value), sizeof value});
}

/// Writes numbers in the memory representation of type To, which must be able to represent them.
template <class To, class From>
void WriteArray(OutputFile& output, std::span<const From> values) {
  if constexpr (std::is_same_v<To, From>) {
    output.Write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  } else {
    for (const From value : values) WriteBytes(output, static_cast<To>(value));
  }
}

}  // namespace chatty::io
