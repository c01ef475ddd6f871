/// \file
/// What the readers of binary rows share: arrays off a file, and the checks that make them an adjacency. Internal to io/.
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

/// Takes arrays off an input, one after the other.
class ArrayReader {
 public:
  ArrayReader(Input& input, int threads) : input_(input), threads_(threads) {}

  const std::string& name() const { return input_.name(); }

  /// Throws unless `count` elements of `bytes` bytes each can follow, as far as the input's length tells.
  void ExpectRoom(std::uint64_t count, std::size_t bytes) const {
    if (count > (input_.most_bytes() - input_.bytes_delivered()) / bytes) Truncated();
  }

  /// Calls body(first, at, n) for pieces that together are the next `count` elements of `bytes` bytes each: the `n` from
  /// number `first` on lie, not aligned, at `at`. What a piece took of a mapped file goes back to the system after it.
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

  /// The next `count` elements, each a From in the file and here what convert(From) makes of it, behind `lead` zeros. Where
  /// the input's length is not known, memory grows with what is read, not with what the header claims.
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

  /// The next `count` elements as they are.
  template <class T>
  Array<T> Read(std::uint64_t count) {
    return ReadAs<T, T>(count, [](T value) { return value; });
  }

  /// The next `count` elements as they are, where a mapped file has them, if it has them aligned. Otherwise null, and
  /// nothing is read.
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

  /// Passes over the next `bytes` bytes, which must be there.
  void Skip(std::uint64_t bytes) {
    ReadPieces(bytes, 1, [](std::uint64_t, const char*, std::size_t) {});
  }

  /// One number, say of a header.
  template <class T>
  T ReadOne() {
    T value{};
    if (input_.Read(&value, sizeof value) != sizeof value) Truncated();
    return value;
  }

  /// Throws unless the input ends here.
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

/// Throws InputError, naming the file, unless offsets ascend from 0 to `edges`.
void CheckOffsets(const std::string& name, const Array<EdgeIndex>& offsets, std::uint64_t edges, int threads);

/// Throws InputError, naming the file, unless weights are finite.
void CheckWeights(const std::string& name, const Adjacency& rows, int threads);

/// Both, and unless neighbours are vertices, which the Graph checks of lists that are sorted: what must hold before anything
/// indexes by them. Lists may be in any order.
void CheckRows(const std::string& name, const Adjacency& rows, int threads);

/// Says that integer weights of a file, of which `extreme` is the farthest from 0, became floats and lost digits.
void WarnOfRoundedWeights(const std::string& name, double extreme);

/// Warns where all weights of a file whose format does not say their kind look like bits of floats.
void WarnOfFloatBits(const std::string& name, const Weights& weights, int threads);

/// The weights of rows that go into a format of 32-bit integers: floats that are such integers become them, and edges
/// without a weight have weight 1. Refers to the rows.
class IntegerWeights {
 public:
  /// Throws UsageError for any other float. `path` is what the file to be written is called.
  IntegerWeights(const Adjacency& rows, const std::string& path);

  std::int32_t operator[](EdgeIndex e) const {
    return integers_ != nullptr ? integers_[e] : reals_ != nullptr ? static_cast<std::int32_t>(reals_[e]) : 1;
  }

 private:
  const std::int32_t* integers_ = nullptr;
  const float* reals_ = nullptr;
};

/// Writes a number as it lies in memory.
template <class T>
void WriteBytes(OutputFile& output, T value) {
  output.Write({reinterpret_cast<const char*>(&value), sizeof value});
}

/// Writes numbers as they lie in memory once they are of type To, which must hold them.
template <class To, class From>
void WriteArray(OutputFile& output, std::span<const From> values) {
  if constexpr (std::is_same_v<To, From>) {
    output.Write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  } else {
    for (const From value : values) WriteBytes(output, static_cast<To>(value));
  }
}

}  // namespace chatty::io
