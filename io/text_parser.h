/// \file
/// What the text readers share: a cursor over one chunk of lines, a growing list of edges, and the loop that parses the
/// chunks of an Input on several threads. Internal to io/.
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

/// Text without what a terminal would obey or cannot show: control characters, those that turn the direction of writing, and
/// bytes that are no UTF-8, are escaped.
std::string Printable(std::string_view text);

/// Text of a file fit for an error message: what does not print is escaped, what is long is cut.
std::string Quote(std::string_view text);

/// The words of a line, which blanks part, in lower case.
std::vector<std::string> Words(std::string_view line);

/// The line without the comment characters and blanks that it begins with.
std::string_view WithoutComment(std::string_view line);

/// Calls visit(line, number) for the lines that a text begins with, up to the first that is neither blank nor a comment (%
/// or #), that one too; until visit returns true.
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

/// A fault in a chunk. ParseChunks turns it into an InputError, once the lines of the chunks before it are counted.
class LineError : public std::runtime_error {
 public:
  LineError(std::uint64_t line, const std::string& text) : std::runtime_error(text), line_(line) {}
  std::uint64_t line() const { return line_; }  ///< lines of the same chunk before the faulty one

 private:
  std::uint64_t line_;
};

/// How the weights of a file may be written.
enum class WeightText : std::uint8_t {
  kNone,     ///< there are none
  kInteger,  ///< integers only; those beyond int32 turn the graph's weights to float
  kReal,     ///< float even where every value is whole
  kAny,      ///< int32 if every weight of the file is such an integer, float otherwise
};

/// Walks over the fields of the lines of a chunk. Fields are separated by blanks, and by single commas if asked for.
/// Members that find a fault throw LineError.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()), line_begin_(at_) {}

  /// Goes to the first field of the next line that is neither blank nor begins with a comment character. False at the
  /// end.
  template <char kComment, char kOtherComment = kComment>
  bool NextLine() {
    for (;;) {
      SkipBlanks();
      if (at_ == end_) {
        if (at_ != line_begin_) EndOfLine();  // blanks before the end of the file: no more than a long line can be wrong
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

  /// Goes to the first field of the next line that does not begin with a comment character, blank ones included. False at
  /// the end.
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

  /// First character of the next field, '\n' where the line has none left.
  char Peek() {
    SkipBlanks();
    return at_ == end_ ? '\n' : *at_;
  }

  /// Skips the one character that Peek has shown, which must be a field of its own.
  void SkipLetter() {
    ++at_;
    if (!AtFieldEnd()) Fail("'{}' is not followed by a blank", *(at_ - 1));
  }

  /// Skips a field whatever it holds.
  void SkipField() {
    while (!AtFieldEnd()) ++at_;
  }

  /// Skips at most one comma, and blanks around it.
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

  /// A whole number that other tools may have written in floating notation: "5.0", "1e3". `what` as above.
  std::uint64_t Whole(const char* what);

  /// A weight, through `on_integer(std::int32_t)` or `on_real(float)`.
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

  /// The line must hold nothing more; goes past its end.
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

  std::uint64_t lines() const { return lines_; }  ///< lines finished; a last line without a line end counts
  std::string_view Field() const;                 ///< from here to the next separator
  std::string_view Line() const;                  ///< the line that it is on, or its begin if that is long

  /// Weights that are too small for a float and became 0.
  struct Underflow {
    std::uint64_t count = 0;
    std::uint64_t line = 0;  ///< of the first, as LineError::line()
    std::string first;       ///< as it is written
  };
  /// Whether some weight was written with a point or an exponent, and no header says that weights are integers.
  bool reals() const { return reals_; }
  const Underflow& underflow() const { return underflow_; }

 private:
  struct OddNumber {
    double value;
    bool integer;  // an int32
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
    // "\r" counts here, but a megabyte needs no finer measure.
    if (static_cast<std::size_t>(at_ - line_begin_) > kMaxLineBytes + 1) [[unlikely]]
      LongLine();
    if (at_ != end_) ++at_;
    line_begin_ = at_;
    ++lines_;
  }
  /// The field's digits, if they are one to seven and the text goes on for a word, all at once: as bytes of a word, of which
  /// neighbours are joined to tens, hundreds and so on. How many; 0 where it is for others.
  std::size_t ShortNumber(std::uint64_t* value) const {
    std::uint64_t word;
    if constexpr (std::endian::native != std::endian::little) return 0;
    if (static_cast<std::size_t>(end_ - at_) < sizeof(word)) return 0;
    std::memcpy(&word, at_, sizeof(word));
    word ^= 0x3030303030303030;
    const std::uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;  // right up to the first of them
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
  void FailIfLong() const;                  // chunks end within lines that are too long, and what is seen there is no fault
  void FailIfCarriageReturn() const;        // that stands alone, as old text files have it
  OddNumber OddWeight(bool integers_only);  // what the fast path leaves: "+5", large integers, tiny reals, and faults

  const char* at_;
  const char* end_;
  const char* line_begin_;
  std::uint64_t lines_ = 0;
  Underflow underflow_;
  bool reals_ = false;
};

/// Warns of the weights of a chunk that became 0, if there are any. `lines` of the file come before the chunk.
void WarnOfUnderflow(const std::string& name, std::uint64_t lines, const LineCursor::Underflow& underflow);

/// Edges whose ends are ids of a file, 64-bit names of vertices.
struct WideEdges {
  Array<std::uint64_t> sources, targets;
  Weights weights;
};

/// @{
/// Host memory of what a sink makes of a chunk.
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

/// The edges of one chunk while it is parsed; its memory serves chunk after chunk. kWide: ids are 64-bit names.
template <bool kWide>
class BasicEdgeSink {
 public:
  /// What it makes of a chunk.
  using Edges = std::conditional_t<kWide, WideEdges, EdgeList>;
  using Id = std::conditional_t<kWide, std::uint64_t, VertexId>;

  /// Empties the sink for a chunk of `text_bytes`, which can hold an edge every four bytes.
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
        real_ && text_ == WeightText::kAny ? WeightText::kReal : text_,  // spares a try at an integer
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
  Id largest() const { return largest_; }  ///< largest id seen; 0 if none
  Edges Take() const;                      ///< an exact copy; `vertices` is left 0

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

/// All edges of a text, and what the readers' checks ask for.
template <class Sink>
struct BasicParsedEdges {
  std::vector<typename Sink::Edges> pieces;  ///< in file order
  typename Sink::Id largest = 0;             ///< largest id; 0 if there are no edges
  std::uint64_t lines = 0;                   ///< of the file, header included
  bool reals = false;                        ///< some weight is written as a real: LineCursor::reals

  /// Edges of all pieces.
  std::size_t size() const {
    std::size_t edges = 0;
    for (const auto& piece : pieces) edges += piece.sources.size();
    return edges;
  }
};
using ParsedEdges = BasicParsedEdges<EdgeSink>;
using ParsedWideEdges = BasicParsedEdges<WideEdgeSink>;

/// Parses what is left of `input` on `threads` threads (0: as many as there are cores): calls parse(cursor, sink) for
/// every chunk and keeps what the sinks took, in file order. Of several faults the first in the file is reported, as an
/// InputError with its line. Joining the pieces would cost their memory once more: BuildAdjacency takes them as they are.
/// Sinks other than the two above are instantiated by whoever includes io/parse_chunks.h: they have what BasicEdgeSink has
/// but for Add.
template <class Sink>
BasicParsedEdges<Sink> ParseChunksInto(Input& input, WeightText weights, int threads,
                                       const std::function<void(LineCursor&, Sink&)>& parse);

/// @{
/// The same for either width of ids.
inline ParsedEdges ParseChunks(Input& input, WeightText weights, int threads,
                               const std::function<void(LineCursor&, EdgeSink&)>& parse) {
  return ParseChunksInto<EdgeSink>(input, weights, threads, parse);
}
inline ParsedWideEdges ParseWideChunks(Input& input, WeightText weights, int threads,
                                       const std::function<void(LineCursor&, WideEdgeSink&)>& parse) {
  return ParseChunksInto<WideEdgeSink>(input, weights, threads, parse);
}
/// @}

/// Counts what a text of several chunks holds of something that its header counts, and throws once it is far more: then the
/// header lies, and what is left may be without end.
class PromisedCount {
 public:
  /// `what` are in `line` of the file `name` said to be `promised`: "entries".
  PromisedCount(std::string name, std::uint64_t line, std::string_view what, std::uint64_t promised)
      : name_(std::move(name)), what_(what), line_(line), promised_(promised) {}
  /// Takes in a chunk's. May be called by several threads.
  void Add(std::uint64_t found) {
    constexpr std::uint64_t kSlack = std::uint64_t{1} << 20;  // less is counted to the end, and told exactly
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

/// Warns where whole numbers became floats only because some do not fit an int32: that loses digits. Of `reals`, which are
/// written as such, nobody expects more.
void WarnOfRoundedIntegers(const std::string& name, const std::vector<EdgeList>& edges, bool reals = false);

/// Throws InputError, or CapabilityError where a 64-bit build would do, if a graph of `vertices` vertices cannot be
/// held. Guards against a header or a stray id that asks for more memory than the machine has.
void CheckVertexCount(const std::string& name, std::uint64_t vertices);
/// The same for a text of at most so many edges, where nothing but a number speaks for the vertices: that of its header in
/// `line`, or its largest id (line 0). A number that would leave nearly all vertices isolated, and take much memory for
/// that, is wrong.
void CheckVertexCount(const std::string& name, std::uint64_t vertices, std::uint64_t most_edges, std::uint64_t line);

}  // namespace chatty::io
