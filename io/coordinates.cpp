#include "chatty/io/coordinates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/parse_chunks.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace io {
namespace {

struct Position {
  std::uint64_t id;
  double x, y;
};

/// The positions of one chunk.
class PositionSink {
 public:
  using Edges = std::vector<Position>;
  using Id = std::uint64_t;

  void Begin(std::size_t /*text_bytes*/, WeightText /*weights*/) { positions_.clear(); }
  void Add(const Position& position) { positions_.push_back(position); }
  std::vector<Position> Take() const { return positions_; }
  std::uint64_t largest() const { return 0; }

 private:
  std::vector<Position> positions_;
};

struct CoordinatesHeader {
  std::uint64_t vertices = 0;
  std::uint64_t line = 0;  ///< number of the line with the count
};

CoordinatesHeader ReadCoordinatesHeader(Input& input) {
  constexpr std::uint64_t kMinLine = 8;  // "v 1 0 0" and a line end
  const std::string& name = input.name();
  std::string_view line;
  for (; input.PeekLine(&line); input.SkipLine()) {
    LineCursor cursor(line);
    CoordinatesHeader header;
    try {
      if (!cursor.NextLine<'c'>()) continue;
      if (cursor.Peek() != 'p') cursor.Fail("{} comes before the line \"p aux sp co VERTICES\"", Quote(cursor.Field()));
      for (const std::string_view word : {"p", "aux", "sp", "co"}) {
        if (cursor.Peek() == '\n' || cursor.Field() != word) {
          cursor.Fail("{} should be the line \"p aux sp co VERTICES\"; a graph's coordinates are read from that",
                      Quote(line));
        }
        cursor.SkipField();
      }
      header.vertices = cursor.Unsigned("number of vertices");
      cursor.FinishLine();
    } catch (const LineError& error) {
      FailAt(name, input.lines_skipped() + 1, error.what());
    }
    header.line = input.lines_skipped() + 1;
    input.SkipLine();
    const auto left = input.remaining();
    if (left && header.vertices > *left / kMinLine + 1) {
      FailAt(name, header.line,
             fmt::format("the header promises {} vertices, more than the file can hold: it is truncated, or "
                         "the header is wrong",
                         header.vertices));
    }
    return header;
  }
  FailAt(name, input.lines_skipped(),
         "the file ends before the line \"p aux sp co VERTICES\": it is truncated, or not a .co file");
}

/// Throws with the line of the second position of vertex `id`, if the file can be read again.
[[noreturn]] void FailTwice(const std::string& name, const std::string& path, std::uint64_t id) {
  const std::string text = fmt::format("vertex {} has a position already", id);
  if (path != "-") {
    Input input(path);
    std::string_view line;
    for (bool seen = false; input.PeekLine(&line); input.SkipLine()) {
      LineCursor cursor(line);
      if (!cursor.NextLine<'c'>() || cursor.Peek() != 'v') continue;
      cursor.SkipLetter();
      if (cursor.Unsigned("vertex id") != id) continue;
      if (seen) FailAt(name, input.lines_skipped() + 1, text);
      seen = true;
    }
  }
  Throw<InputError>("{}: {}", name, text);
}

double ParseCoordinate(LineCursor& cursor, const char* what) {
  if (cursor.Peek() == '\n') cursor.Fail("the line ends where {} belongs", what);
  const std::string_view field = cursor.Field();
  double value = 0;
  const auto [next, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || next != field.data() + field.size() || !std::isfinite(value)) {
    cursor.Fail("{} is not a coordinate: expected a number", Quote(field));
  }
  cursor.SkipField();
  return value;
}

}  // namespace
}  // namespace io

Coordinates ReadCoordinates(const std::string& path, int threads) try {
  using io::LineCursor;
  Input input(path);
  if (input.Peek(3) == "\xef\xbb\xbf") input.Consume(3);  // a byte order mark
  const std::string& name = input.name();
  const io::CoordinatesHeader header = io::ReadCoordinatesHeader(input);
  const auto parsed = io::ParseChunksInto<io::PositionSink>(
      input, io::WeightText::kNone, threads, [&](LineCursor& cursor, io::PositionSink& sink) {
        while (cursor.NextLine<'c'>()) {
          if (cursor.Peek() != 'v') {
            if (cursor.Peek() == 'p') cursor.Fail("a second \"p\" line; the first is line {}", header.line);
            cursor.Fail("{} is not a line of a .co file; lines begin with c, p or v", io::Quote(cursor.Field()));
          }
          cursor.SkipLetter();
          io::Position position{};
          position.id = cursor.Unsigned("vertex id");
          if (position.id - 1 >= header.vertices) {  // 0 wraps to the largest value
            if (position.id == 0) cursor.Fail("id 0 in a file that numbers from 1");
            cursor.Fail("id {} exceeds the {} vertices of the header (line {})", position.id, header.vertices, header.line);
          }
          position.x = io::ParseCoordinate(cursor, "an x");
          position.y = io::ParseCoordinate(cursor, "a y");
          cursor.FinishLine();
          sink.Add(position);
        }
      });
  std::uint64_t count = 0;
  for (const std::vector<io::Position>& piece : parsed.pieces) count += piece.size();
  if (count != header.vertices) {
    io::FailAt(name, header.line,
               fmt::format("the header promises {} vertices, but the file has positions of {} in its {} lines: it is {}",
                           header.vertices, count, parsed.lines,
                           count < header.vertices ? "truncated, or the header is wrong" : "inconsistent"));
  }
  Coordinates coordinates{Array<double>(count), Array<double>(count)};
  Array<bool> seen(count, false);
  for (const std::vector<io::Position>& piece : parsed.pieces) {
    for (const io::Position& position : piece) {
      const std::uint64_t v = position.id - 1;
      if (seen[v]) io::FailTwice(name, path, position.id);
      seen[v] = true;
      coordinates.x[v] = position.x;
      coordinates.y[v] = position.y;
    }
  }
  return coordinates;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("reading coordinates");
}

}  // namespace chatty
