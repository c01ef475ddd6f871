/// \file
/// What the readers of binary rows share: arrays off a file, and the checks that make them an adjacency. Internal to io/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/io/input.h"

namespace chatty::io {

/// Takes arrays off an input, one after the other.
class ArrayReader {
 public:
  ArrayReader(Input& input, int threads) : input_(input), threads_(threads) {}

  const std::string& name() const { return input_.name(); }

  /// The next `count` elements. Where the input's length is not known, memory grows with what is read, not with what the
  /// header claims.
  template <class T>
  Array<T> Read(std::uint64_t count) {
    Array<T> all;
    if (const auto left = input_.remaining()) {
      if (count > *left / sizeof(T)) Truncated();
      all = Array<T>(count);
      const std::string_view bytes = input_.Peek(all.bytes());
      ParallelChunks(bytes.size(), threads_, std::size_t{1} << 24, [&](std::size_t begin, std::size_t end) {
        std::memcpy(reinterpret_cast<char*>(all.data()) + begin, bytes.data() + begin, end - begin);
      });
      input_.Consume(bytes.size());
    } else {
      std::size_t filled = 0;
      do {
        Array<T> larger(std::min<std::uint64_t>(count, std::max<std::size_t>(2 * all.size(), std::size_t{1} << 20)));
        std::copy(all.begin(), all.end(), larger.begin());
        all = std::move(larger);
        const std::size_t wanted = (all.size() - filled) * sizeof(T);
        if (input_.Read(all.data() + filled, wanted) != wanted) Truncated();
        filled = all.size();
      } while (filled < count);
    }
    return all;
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
    Throw<InputError>("{}: is shorter than its header says: the file is truncated; write or fetch it again", name());
  }

 private:
  Input& input_;
  int threads_;
};

/// Throws InputError, naming the file, unless offsets ascend from 0 to the number of neighbours and weights are finite. For
/// rows of which the Graph will check the rest: that neighbours are vertices and lists ascend.
void CheckOffsets(const std::string& name, const Adjacency& rows, int threads);

/// The same, and unless neighbours are vertices: what must hold before anything indexes by them. Lists may be in any order.
void CheckRows(const std::string& name, const Adjacency& rows, int threads);

}  // namespace chatty::io
