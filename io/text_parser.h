/// \file
/// Functions for text readers: a cursor over the lines of one chunk, a list of edges, and the loop that parses the chunks of
/// an Input on several threads. Internal to io/.
#pragma once

#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"

namespace chatty::io {

/// Text that is safe on a terminal: control characters, characters that change the direction of writing, and bytes that are
/// not UTF-8 are escaped.
std::string Printable(std::string_view text);

/// Text of a file for an error message: unprintable characters are escaped, and long text is cut.
std::string Quote(std::string_view text);

/// The words of a line, separated by blanks, in lower case.
std::vector<std::string> Words(std::string_view line);

/// The line without leading comment characters and blanks.
std::string_view WithoutComment(std::string_view line);

/// Calls visit(line, number) for the first lines of a text, up to and including the first that is neither blank nor a
/// comment (% or #), until visit returns true.
template <class Visit>
void VisitLeadingLines(std::string_view text, Visit&& visit) {
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (visit(line, number)) return;
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '%' && line[first] != '#') return;
  }
}

/// Throws InputError "name:line: text".
[[noreturn]] void FailAt(const std::string& name, std::uint64_t line, std::string_view text);

/// An error in a chunk. ParseChunks turns it into an InputError when the lines of all earlier chunks are counted.
class LineError : public std::runtime_error {
 public:
  LineError(std::uint64_t line, const std::string& text) : std::runtime_error(text), line_(line) {}
  std::uint64_t line() const { return line_; }  ///< number of lines of the same chunk before the faulty one

 private:
  std::uint64_t line_;
};

/// The notation of weights in a file.
enum class WeightText : std::uint8_t {
  kNone,     ///< no weights
  kInteger,  ///< integers only; a weight beyond int32 makes all weights float
  kReal,     ///< float even if every value is whole
  kAny,      ///< int32 if every weight of the file is one, float otherwise
};

/// A cursor over the fields in the lines of a chunk. Fields are separated by blanks, and by single commas if requested.
/// Members throw LineError for malformed text.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()), line_begin_(at_) {}

  /// Moves to the first field of the next line that is neither blank nor a comment. False at the end.
  template <char kComment, char kOtherComment = kComment>
  bool NextLine() {
    for (;;) {
      SkipBlanks();
      if (at_ == end_) {
        if (at_ != line_begin_) EndOfLine();  // blanks before the end of the file: only a line that is too long is an error
        return false;
      }
      if (*at_ == '\n') {
        EndOfLine();
      } else if (*at_ == kComment || *at_ == kOtherComment) {
        SkipToLineEnd();
        EndOfLine();
      } else {
        return true;
      }
    }
  }

  /// Moves to the first field of the next line that is not a comment; a blank line counts. False at the end.
  template <char kComment>
  bool NextRow() {
    while (at_ != end_) {
      SkipBlanks();
      if (at_ == end_ || *at_ != kComment) return true;
      SkipToLineEnd();
      EndOfLine();
    }
    return false;
  }

  /// First character of the next field; '\n' if the line has no further field.
  char Peek() {
    SkipBlanks();
    return at_ == end_ ? '\n' : *at_;
  }

  /// Skips the character that Peek has returned, which must be a whole field.
  void SkipLetter() {
    ++at_;
    if (!AtFieldEnd()) Fail("'{}' is not followed by a blank", *(at_ - 1));
  }

  /// Skips a field with any contents.
  void SkipField() {
    while (!AtFieldEnd()) ++at_;
  }

  /// Skips at most one comma, and the blanks before it.
  void SkipSeparator() {
    SkipBlanks();
    if (at_ != end_ && *at_ == ',') ++at_;
  }

  /// A field of decimal digits. `what` names it in errors: "source id".
  std::uint64_t Unsigned(const char* what) {
    SkipBlanks();
    std::uint64_t value = 0;
    if (const std::size_t digits = ShortNumber(&value); digits != 0) [[likely]] {
      at_ += digits;
      return value;
    }
    const auto [next, error] = std::from_chars(at_, end_, value);
    if (error == std::errc() && (next == end_ || IsFieldEnd(*next))) [[likely]] {
      at_ = next;
      return value;
    }
    BadUnsigned(what);
  }

  /// A whole number, also in floating notation: "5.0", "1e3". `what` as in Unsigned.
  std::uint64_t Whole(const char* what);

  /// Parses a weight and calls `on_integer(std::int32_t)` or `on_real(float)`.
  template <class OnInteger, class OnReal>
  void Weight(WeightText kind, OnInteger&& on_integer, OnReal&& on_real) {
    SkipBlanks();
    if (kind != WeightText::kReal) {
      std::int32_t value = 0;
      const auto [next, error] = std::from_chars(at_, end_, value);
      if (error == std::errc() && (next == end_ || IsFieldEnd(*next))) [[likely]] {
        at_ = next;
        on_integer(value);
        return;
      }
    } else {
      float value = 0;
      const auto [next, error] = std::from_chars(at_, end_, value);
      if (error == std::errc() && (next == end_ || IsFieldEnd(*next)) && value - value == 0) [[likely]] {
        at_ = next;
        on_real(value);
        return;
      }
    }
    const OddNumber odd = OddWeight(kind == WeightText::kInteger);
    if (odd.integer && kind != WeightText::kReal) {
      on_integer(static_cast<std::int32_t>(odd.value));
    } else {
      on_real(static_cast<float>(odd.value));
    }
  }

  /// Moves past the line's end. Throws if there are further fields.
  void FinishLine() {
    SkipBlanks();
    if (at_ != end_ && *at_ != '\n') [[unlikely]]
      BadLineEnd();
    EndOfLine();
  }

  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw LineError(lines_, fmt::format(text, std::forward<Args>(args)...));
  }

  std::uint64_t lines() const { return lines_; }  ///< finished lines; a last line without a line end counts
  std::string_view Field() const;                 ///< the text up to the next separator
  std::string_view Line() const;                  ///< the current line, or its begin if it is long

  /// Weights that were too small for a float and became 0.
  struct Underflow {
    std::uint64_t count = 0;
    std::uint64_t line = 0;  ///< of the first such weight, as LineError::line()
    std::string first;       ///< the first such weight in the file's notation
  };
  /// Whether a weight had a point or an exponent, unless the header declares integers.
  bool reals() const { return reals_; }
  const Underflow& underflow() const { return underflow_; }

 private:
  struct OddNumber {
    double value;
    bool integer;  // the value is an int32
  };

  static bool IsFieldEnd(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ','; }
  bool AtFieldEnd() const { return at_ == end_ || IsFieldEnd(*at_); }

  void SkipBlanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || (*at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n')))) ++at_;
  }
  void SkipToLineEnd() {
    const void* end = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = end == nullptr ? end_ : static_cast<const char*>(end);
  }
  void EndOfLine() {
    // "\r" is included: a megabyte needs no exact limit.
    if (static_cast<std::size_t>(at_ - line_begin_) > kMaxLineBytes + 1) [[unlikely]]
      LongLine();
    if (at_ != end_) ++at_;
    line_begin_ = at_;
    ++lines_;
  }
  /// Parses one to seven digits from a word of eight bytes: adjacent digits are combined to tens, then to hundreds and so
  /// on. Returns the number of digits; 0 if the field needs another parser or fewer than eight bytes are left.
  std::size_t ShortNumber(std::uint64_t* value) const {
    std::uint64_t word;
    if constexpr (std::endian::native != std::endian::little) return 0;
    if (static_cast<std::size_t>(end_ - at_) < sizeof(word)) return 0;
    std::memcpy(&word, at_, sizeof(word));
    word ^= 0x3030303030303030;
    const std::uint64_t others =
        ((word + 0x7676767676767676) | word) & 0x8080808080808080;  // correct up to the first set bit
    if (others == 0) return 0;
    const auto digits = static_cast<std::size_t>(std::countr_zero(others)) / 8;
    if (digits == 0 || !IsFieldEnd(at_[digits])) return 0;
    word <<= 64 - 8 * digits;
    word = (word * ((10 << 8) + 1)) >> 8;
    word = ((word & 0x00ff00ff00ff00ff) * ((100 << 16) + 1)) >> 16;
    *value = ((word & 0x0000ffff0000ffff) * ((std::uint64_t{10000} << 32) + 1)) >> 32;
    return digits;
  }

  [[noreturn]] void BadUnsigned(const char* what) const;
  [[noreturn]] void BadLineEnd() const;
  [[noreturn]] void LongLine() const;
  void FailIfLong() const;                  // chunks may end within a line that is too long; errors there are consequences
  void FailIfCarriageReturn() const;        // reports a carriage return without a line feed, the line end of old text files
  OddNumber OddWeight(bool integers_only);  // weights outside the fast path: "+5", large integers, tiny reals, and errors

  const char* at_;
  const char* end_;
  const char* line_begin_;
  std::uint64_t lines_ = 0;
  Underflow underflow_;
  bool reals_ = false;
};

/// Warns if weights of a chunk became 0. `lines` lines of the file precede the chunk.
void WarnOfUnderflow(const std::string& name, std::uint64_t lines, const LineCursor::Underflow& underflow);

/// Edges between the file's ids, which are 64-bit names of vertices.
struct WideEdges {
  Array<std::uint64_t> sources, targets;
  Weights weights;
};

/// @{
/// Host memory of a sink's result for a chunk.
std::uint64_t HeldBytes(const EdgeList& edges);
std::uint64_t HeldBytes(const WideEdges& edges);
template <class T>
std::uint64_t HeldBytes(const Array<T>& array) {
  return array.bytes();
}
template <class T>
std::uint64_t HeldBytes(const std::vector<T>& entries) {
  return entries.size() * sizeof(T);
}
/// @}

/// The edges of one chunk during parsing. Its memory is reused for further chunks. kWide: ids are 64-bit names.
template <bool kWide>
class BasicEdgeSink {
 public:
  /// The result for a chunk.
  using Edges = std::conditional_t<kWide, WideEdges, EdgeList>;
  using Id = std::conditional_t<kWide, std::uint64_t, VertexId>;

  /// Clears the sink for a chunk of `text_bytes`, which can contain an edge every four bytes.
  void Begin(std::size_t text_bytes, WeightText weights);

  void Add(Id source, Id target) {
    sources_[size_] = source;
    targets_[size_] = target;
    if (source > largest_) largest_ = source;
    if (target > largest_) largest_ = target;
    ++size_;
  }
  /// Adds an edge whose weight is the cursor's next field.
  void AddWeighted(Id source, Id target, LineCursor& cursor) {
    cursor.Weight(
        real_ && text_ == WeightText::kAny ? WeightText::kReal : text_,  // avoids an attempt to parse an integer
        [&](std::int32_t weight) {
          if (real_) {
            reals_[size_] = static_cast<float>(weight);
          } else {
            integers_[size_] = weight;
          }
        },
        [&](float weight) {
          if (!real_) TurnReal();
          reals_[size_] = weight;
        });
    Add(source, target);
  }

  std::size_t size() const { return size_; }
  Id largest() const { return largest_; }  ///< largest id so far; 0 if none
  Edges Take() const;                      ///< a copy of exact size; `vertices` stays 0

 private:
  void TurnReal();

  WeightText text_ = WeightText::kNone;
  bool real_ = false;
  std::size_t size_ = 0;
  Id largest_ = 0;
  Array<Id> sources_, targets_;
  Array<std::int32_t> integers_;
  Array<float> reals_;
};

using EdgeSink = BasicEdgeSink<false>;
using WideEdgeSink = BasicEdgeSink<true>;

/// All edges of a text, and properties for the readers' checks.
template <class Sink>
struct BasicParsedEdges {
  std::vector<typename Sink::Edges> pieces;  ///< in file order
  typename Sink::Id largest = 0;             ///< largest id; 0 if there are no edges
  std::uint64_t lines = 0;                   ///< lines of the file, header included
  bool reals = false;                        ///< a weight has the notation of a real: LineCursor::reals

  /// Edges of all pieces.
  std::size_t size() const {
    std::size_t edges = 0;
    for (const auto& piece : pieces) edges += piece.sources.size();
    return edges;
  }
};
using ParsedEdges = BasicParsedEdges<EdgeSink>;
using ParsedWideEdges = BasicParsedEdges<WideEdgeSink>;

/// Parses the rest of `input` on `threads` threads (0: one per core). Calls parse(cursor, sink) for every chunk and keeps
/// the sinks' results in file order. The first error in the file is thrown as an InputError with its line. The pieces are
/// not joined, because that would double their memory: BuildAdjacency accepts pieces. A reader with another sink includes
/// io/parse_chunks.h; the sink has the members of BasicEdgeSink except Add.
template <class Sink>
BasicParsedEdges<Sink> ParseChunksInto(Input& input, WeightText weights, int threads,
                                       const std::function<void(LineCursor&, Sink&)>& parse);

/// @{
/// ParseChunksInto for either width of ids.
inline ParsedEdges ParseChunks(Input& input, WeightText weights, int threads,
                               const std::function<void(LineCursor&, EdgeSink&)>& parse) {
  return ParseChunksInto<EdgeSink>(input, weights, threads, parse);
}
inline ParsedWideEdges ParseWideChunks(Input& input, WeightText weights, int threads,
                                       const std::function<void(LineCursor&, WideEdgeSink&)>& parse) {
  return ParseChunksInto<WideEdgeSink>(input, weights, threads, parse);
}
/// @}

/// Counts items that a header counts too, and throws when there are far more: the header is then wrong, and the rest may be
/// endless.
class PromisedCount {
 public:
  /// Line `line` of the file `name` states the number `promised` of `what`: "entries".
  PromisedCount(std::string name, std::uint64_t line, std::string_view what, std::uint64_t promised)
      : name_(std::move(name)), what_(what), line_(line), promised_(promised) {}
  /// Adds a chunk's items. Several threads may call it.
  void Add(std::uint64_t found) {
    constexpr std::uint64_t kSlack = std::uint64_t{1} << 20;  // a smaller excess is counted to the end and reported exactly
    const std::uint64_t all = found_.fetch_add(found, std::memory_order_relaxed) + found;
    if (all > kSlack && all - kSlack > promised_) [[unlikely]]
      Fail(all);
  }

 private:
  [[noreturn]] void Fail(std::uint64_t found) const;

  std::string name_;
  std::string_view what_;
  std::uint64_t line_, promised_;
  std::atomic<std::uint64_t> found_{0};
};

/// Warns if whole numbers became floats only because some exceed int32: that loses digits. With `reals`, numbers in floating
/// notation, there is no warning.
void WarnOfRoundedIntegers(const std::string& name, const std::vector<EdgeList>& edges, bool reals = false);

/// Throws if a graph of `vertices` vertices is impossible: CapabilityError if a 64-bit build could hold it, otherwise
/// InputError. Protects against a header or an id that would need more memory than the machine has.
void CheckVertexCount(const std::string& name, std::uint64_t vertices);
/// As above, for a text with at most `max_edges` edges, where only a number states the vertices: that in line `line` of its
/// header, or its largest id (line 0). Rejects a number that needs much memory and would leave nearly all vertices isolated.
void CheckVertexCount(const std::string& name, std::uint64_t vertices, std::uint64_t max_edges, std::uint64_t line);

}  // namespace chatty::io
