// The graphs of GBBS and PASGAL, in two formats. Binary, without weights, all little-endian:
//
//   vertices, edges, total bytes        3 x u64
//   offsets                             (vertices + 1) x u64
//   neighbours                          edges x u32
//
// A directed graph may continue with the same arrays for the in-edges. Text, from the Problem Based Benchmark Suite: the
// word AdjacencyGraph or WeightedAdjacencyGraph, the numbers of vertices and edges, the first edge of each vertex, the
// neighbours and, if weighted, the weights. Items are separated by line ends or blanks.
//
// Neither format states symmetry; it is derived from the edges.

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "chatty/core/progress.h"
#include "chatty/io/formats.h"
#include "chatty/io/rows.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

constexpr std::string_view kAdjacencyWord = "AdjacencyGraph";
constexpr std::string_view kWeightedAdjacencyWord = "WeightedAdjacencyGraph";
constexpr std::uint64_t kMaxGbbsIds = std::uint64_t{1} << 32;

// ---- First words ----

/// The keyword with which the text begins, if it is one of the two.
std::optional<std::string_view> AdjacencyWord(std::string_view head) {
  for (const std::string_view word : {kAdjacencyWord, kWeightedAdjacencyWord}) {
    if (!head.starts_with(word)) continue;
    if (head.size() == word.size() || std::string_view(" \t\r\n").find(head[word.size()]) != std::string_view::npos) {
      return word;
    }
  }
  return std::nullopt;
}

/// The first word of a text, in lower case.
std::string FirstWord(std::string_view head) {
  constexpr std::size_t kLongest = 64;
  const std::vector<std::string> words = Words(head.substr(0, std::min(head.find('\n'), kLongest)));
  return words.empty() ? std::string() : words[0];
}

/// Whether a word, in lower case, begins another text format of the Problem Based Benchmark Suite or of GBBS, or is a
/// misspelling.
bool IsOtherWord(std::string_view word) {
  for (const std::string_view begin : {"adjacency", "weightedadjacency", "edgearray", "weightededgearray"}) {
    if (word.starts_with(begin)) return true;
  }
  return false;
}

/// The next bytes of an input, without leading blanks.
std::string_view HeadWithoutBlanks(Input& input) {
  std::string_view head = input.Peek(std::size_t{1} << 16);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return head;
}

// ---- Binary ----

struct GbbsHeader {
  std::uint64_t vertices = 0, edges = 0, bytes = 0;

  /// The required value of `bytes`; nothing for impossible counts.
  std::optional<std::uint64_t> due() const {
    if (vertices > kMaxGbbsIds || edges > std::numeric_limits<std::uint64_t>::max() / 16) return std::nullopt;
    return 24 + (vertices + 1) * 8 + edges * 4;
  }
};
static_assert(sizeof(GbbsHeader) == 24, "the layout is the format");

GbbsHeader ReadGbbsHeader(Input& input, ArrayReader& reader) {
  const std::string_view head = HeadWithoutBlanks(input);
  if (const std::string word = FirstWord(head); IsOtherWord(word)) {
    FailAt(input.name(), 1,
           fmt::format("begins with {}; graphs are read whose first word is {} or {}{}", Quote(head.substr(0, word.size())),
                       kAdjacencyWord, kWeightedAdjacencyWord,
                       word.ends_with("edgearray")               ? "; without that line the rest is an edge list"
                       : word.find("hyper") != std::string::npos ? ", and no hypergraphs"
                                                                 : ""));
  }
  const auto header = reader.ReadOne<GbbsHeader>();
  if (header.bytes != header.due()) {
    Throw<InputError>(
        "{}: its header states {} vertices, {} edges and {} bytes, which do not fit each other: the file is damaged, or is "
        "compressed by GBBS, which cannot be read; write it uncompressed",
        reader.name(), header.vertices, header.edges, header.bytes);
  }
  reader.ExpectRoom(header.vertices + 1, sizeof(std::uint64_t));
  CheckVertexCount(reader.name(), header.vertices);
  return header;
}

Adjacency ReadGbbsBinary(Input& input, int threads) {
  ArrayReader reader(input, threads);
  const GbbsHeader header = ReadGbbsHeader(input, reader);
  Adjacency out;
  out.offsets = reader.Read<EdgeIndex>(header.vertices + 1);
  CheckOffsets(reader.name(), out.offsets, header.edges, threads);
  out.neighbours = reader.ReadAs<VertexId, std::uint32_t>(header.edges, [](std::uint32_t id) { return VertexId{id}; });
  if (input.Peek(1).empty()) return out;
  if (header.edges > 0 && input.remaining() == header.edges * sizeof(std::uint32_t)) {
    Throw<InputError>(
        "{}: goes on after its edges with {} bytes an edge, which look like weights; binary graphs are read without: write "
        "the graph as text, {}",
        reader.name(), sizeof(std::uint32_t), kWeightedAdjacencyWord);
  }
  // The in-edges contain no new information, but show that the file is complete.
  const auto again = reader.ReadOne<GbbsHeader>();
  if (again.vertices != header.vertices || again.edges != header.edges || again.bytes != header.bytes) {
    Throw<InputError>("{}: goes on after its edges, but not with the in-edges of the same graph: the file is damaged",
                      reader.name());
  }
  CheckOffsets(reader.name(), reader.Read<EdgeIndex>(header.vertices + 1), header.edges, threads);
  reader.Skip(header.edges * sizeof(std::uint32_t));
  reader.ExpectEnd();
  return out;
}

// ---- Text ----

struct AdjacencyHeader {
  bool weighted = false;
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t line = 0;  ///< number of the line with the number of edges
};

/// Reads the three items before the first offset.
AdjacencyHeader ReadAdjacencyHeader(Input& input) {
  const std::string& name = input.name();
  AdjacencyHeader header;
  for (int found = 0; found < 3; input.SkipLine()) {
    std::string_view line;
    if (!input.PeekLine(&line)) {
      FailAt(name, input.lines_skipped(), "the file ends inside its header: it is truncated; write or fetch it again");
    }
    LineCursor cursor(line);
    header.line = input.lines_skipped() + 1;
    try {
      if (!cursor.NextLine<'\n'>()) continue;
      if (found == 0) {
        header.weighted = cursor.Field() == kWeightedAdjacencyWord;
        cursor.SkipField();
      } else {
        (found == 1 ? header.vertices : header.edges) = cursor.Unsigned(found == 1 ? "vertex count" : "edge count");
      }
      cursor.FinishLine();
      ++found;
    } catch (const LineError& error) {
      FailAt(name, header.line, error.what());
    }
  }
  CheckVertexCount(name, header.vertices);
  return header;
}

/// The numbers of one chunk. Each array has the position of its first element in the whole array.
struct AdjacencyPiece {
  std::uint64_t offsets_at = 0, ids_at = 0, weights_at = 0;
  Array<EdgeIndex> offsets;
  Array<VertexId> ids;
  Array<std::int32_t> integers;
  Array<float> reals;  // used instead of `integers` if a weight is not an integer
  float extreme = 0;   // the weight in `reals` of largest magnitude
  bool fraction = false;
  std::uint64_t lines = 0;
  LineCursor::Underflow underflow;

  std::uint64_t bytes() const { return offsets.bytes() + ids.bytes() + integers.bytes() + reals.bytes(); }
};

std::uint64_t CountNumbers(std::string_view text) {
  const auto blank = [](char c) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(c == ' ') | static_cast<unsigned>(c == '\t') |
                                     static_cast<unsigned>(c == '\n') | static_cast<unsigned>(c == '\r'));
  };
  std::uint64_t count = !text.empty() && blank(text[0]) == 0 ? 1 : 0;
  constexpr std::size_t kBlock = 128;  // counts fit in a byte, so that compilers use vector instructions
  for (std::size_t begin = 1; begin < text.size(); begin += kBlock) {
    const char* const before = text.data() + begin - 1;
    const std::size_t size = std::min(kBlock, text.size() - begin);
    std::uint8_t begun = 0;
    for (std::size_t i = 0; i < size; ++i) {
      begun = static_cast<std::uint8_t>(begun + (blank(before[i]) & ~blank(before[i + 1]) & 1));
    }
    count += begun;
  }
  return count;
}

/// Parses the next `count` weights of a chunk.
void ParseAdjacencyWeights(LineCursor& cursor, std::size_t count, AdjacencyPiece& piece) {
  piece.integers = Array<std::int32_t>(count);
  for (std::size_t i = 0; i < count && cursor.NextLine<'\n'>(); ++i) {
    cursor.Weight(
        WeightText::kAny,
        [&](std::int32_t weight) {
          if (piece.reals.empty()) {
            piece.integers[i] = weight;
          } else {
            piece.reals[i] = static_cast<float>(weight);
          }
        },
        [&](float weight) {
          if (piece.reals.empty()) {
            piece.reals = Array<float>(count);
            std::copy_n(piece.integers.begin(), i, piece.reals.begin());
            piece.integers = {};
          }
          piece.reals[i] = weight;
          piece.fraction |= std::trunc(weight) != weight;
          if (std::abs(weight) > std::abs(piece.extreme)) piece.extreme = weight;
        });
  }
}

/// Parses a chunk whose first number is number `start` after the header.
AdjacencyPiece ParseAdjacencyChunk(LineCursor& cursor, std::uint64_t start, std::uint64_t count,
                                   const AdjacencyHeader& header) {
  AdjacencyPiece piece;
  const std::uint64_t vertices = header.vertices, edges = header.edges;
  std::uint64_t at = start;
  /// How many of the next numbers belong to the section of `size` numbers at `begin`; `first` becomes their position in it.
  const auto part = [&](std::uint64_t begin, std::uint64_t size, std::uint64_t& first) {
    first = at - begin;
    const std::uint64_t n = first < size ? std::min(size - first, start + count - at) : 0;
    at += n;
    return static_cast<std::size_t>(n);
  };
  piece.offsets = Array<EdgeIndex>(part(0, vertices, piece.offsets_at));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < piece.offsets.size() && cursor.NextLine<'\n'>(); ++i) {
    const std::uint64_t offset = cursor.Unsigned("offset");
    const std::uint64_t vertex = piece.offsets_at + i;
    if (offset < last || offset > edges || (vertex == 0 && offset != 0)) [[unlikely]] {
      cursor.Fail("the edges of vertex {} begin at {}; offsets begin with 0, ascend and are at most the {} edges", vertex,
                  offset, edges);
    }
    piece.offsets[i] = last = offset;
  }
  piece.ids = Array<VertexId>(at < start + count ? part(vertices, edges, piece.ids_at) : 0);
  for (VertexId& place : piece.ids) {
    if (!cursor.NextLine<'\n'>()) break;
    const std::uint64_t id = cursor.Unsigned("vertex");
    if (id >= vertices) [[unlikely]] {
      cursor.Fail("vertex {} in a graph of {}; they are counted from 0 (line {})", id, vertices, header.line);
    }
    place = static_cast<VertexId>(id);
  }
  if (header.weighted && at < start + count) {
    ParseAdjacencyWeights(cursor, part(vertices + edges, edges, piece.weights_at), piece);
  }
  if (cursor.NextLine<'\n'>()) {
    if (at == start + count) cursor.Unsigned("number");  // the count took part of a number for one: throws
    cursor.Fail("{} follows what the header promises, {} vertices and {} edges", Quote(cursor.Field()), vertices, edges);
  }
  piece.lines = cursor.lines();
  piece.underflow = cursor.underflow();
  return piece;
}

/// Concatenates a member array of all pieces, and frees the pieces' arrays.
template <class T>
Array<T> JoinPieces(std::vector<AdjacencyPiece>& pieces, std::uint64_t size, Array<T> AdjacencyPiece::*member,
                    std::uint64_t AdjacencyPiece::*place, int threads) {
  Array<T> all(size);
  ParallelChunks(pieces.size(), threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Array<T> part = std::move(pieces[i].*member);
      if (!part.empty()) std::copy(part.begin(), part.end(), all.begin() + pieces[i].*place);
    }
  });
  return all;
}

Weights JoinAdjacencyWeights(std::vector<AdjacencyPiece>& pieces, std::uint64_t size, const std::string& name, int threads) {
  const auto real = [](const AdjacencyPiece& piece) { return !piece.reals.empty(); };
  if (std::none_of(pieces.begin(), pieces.end(), real)) {
    return JoinPieces(pieces, size, &AdjacencyPiece::integers, &AdjacencyPiece::weights_at, threads);
  }
  float extreme = 0;
  bool fraction = false;
  for (AdjacencyPiece& piece : pieces) {
    if (!real(piece)) {
      piece.reals = Array<float>(piece.integers.size());
      std::copy(piece.integers.begin(), piece.integers.end(), piece.reals.begin());
      piece.integers = {};
    }
    fraction |= piece.fraction;
    if (std::abs(piece.extreme) > std::abs(extreme)) extreme = piece.extreme;
  }
  if (!fraction && (extreme < -0x1p31f || extreme >= 0x1p31f)) WarnOfRoundedWeights(name, extreme);
  return JoinPieces(pieces, size, &AdjacencyPiece::reals, &AdjacencyPiece::weights_at, threads);
}

/// Assigns to each chunk, in file order, the position of its first number in the file.
class NumberPlaces {
 public:
  /// Position of chunk `index`, which has `count` numbers. Waits for all earlier chunks.
  std::uint64_t Take(std::size_t index, std::uint64_t count) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return index == next_; });
    ++next_;
    turn_.notify_all();
    return std::exchange(place_, place_ + count);
  }
  /// Numbers in all chunks.
  std::uint64_t total() const { return place_; }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t next_ = 0;
  std::uint64_t place_ = 0;
};

/// An error in a chunk. The loop keeps the first one in the file so far.
struct AdjacencyFault {
  std::size_t chunk;
  std::uint64_t line;
  std::string text;
};

Adjacency ReadAdjacencyText(Input& input, int threads, std::uint64_t* lines) {
  const std::string& name = input.name();
  const AdjacencyHeader header = ReadAdjacencyHeader(input);
  const std::uint64_t vertices = header.vertices, edges = header.edges;
  if (vertices == 0 && edges > 0) FailAt(name, header.line, fmt::format("{} edges in a graph without vertices", edges));
  if (edges > std::numeric_limits<std::uint64_t>::max() / 32) {
    FailAt(name, header.line, fmt::format("{} edges are more than any file holds", edges));
  }

  auto workers = static_cast<std::size_t>(ThreadCount(threads));
  if (const auto left = input.remaining()) {  // a small file takes less time to read than threads take to start
    workers = std::min(workers, static_cast<std::size_t>(*left / Input::kDefaultChunkBytes) + 1);
  }
  NumberPlaces places;
  std::mutex mutex;
  std::vector<AdjacencyPiece> pieces;
  std::optional<AdjacencyFault> fault;
  std::exception_ptr unreadable;
  std::atomic<bool> stop{false};
  Progress progress("Reading " + name, input.remaining().value_or(0));
  ParallelChunks(workers, static_cast<int>(workers), 1, [&](std::size_t, std::size_t) {
    Chunk chunk;
    while (!stop.load(std::memory_order_relaxed)) {
      try {
        if (!input.Next(&chunk)) break;
      } catch (const InputError&) {
        const std::scoped_lock lock(mutex);
        unreadable = std::current_exception();
        stop = true;
        break;
      }
      const std::uint64_t count = CountNumbers(chunk.text);
      const std::uint64_t start = places.Take(chunk.index, count);
      LineCursor cursor(chunk.text);
      AdjacencyPiece piece;
      try {
        piece = ParseAdjacencyChunk(cursor, start, count, header);
        input.Claim(piece.bytes());
      } catch (const LineError& error) {
        const std::scoped_lock lock(mutex);
        if (!fault || chunk.index < fault->chunk) fault = AdjacencyFault{chunk.index, error.line(), error.what()};
        stop = true;
        break;
      } catch (...) {
        stop = true;
        throw;
      }
      progress.Advance(chunk.text.size());
      const std::scoped_lock lock(mutex);
      if (pieces.size() <= chunk.index) pieces.resize(chunk.index + 1);
      pieces[chunk.index] = std::move(piece);
    }
  });
  *lines = input.lines_skipped();
  for (std::size_t i = 0; i < std::min(fault ? fault->chunk : pieces.size(), pieces.size()); ++i) {
    if (!fault) WarnOfUnderflow(name, *lines, pieces[i].underflow);
    *lines += pieces[i].lines;
  }
  if (fault) FailAt(name, *lines + fault->line + 1, fault->text);
  if (unreadable) std::rethrow_exception(unreadable);
  std::uint64_t found = places.total();
  for (const auto& [what, due] : {std::pair<const char*, std::uint64_t>{"offsets", vertices},
                                  {"edges", edges},
                                  {"weights", header.weighted ? edges : 0}}) {
    if (found < due) {
      FailAt(name, *lines,
             fmt::format("the file ends after {} of {} {}: it is truncated; write or fetch it again", found, due, what));
    }
    found -= due;
  }

  // The largest array exists twice: in pieces and joined.
  input.Claim(std::max((vertices + 1) * sizeof(EdgeIndex), edges * sizeof(VertexId)));
  Adjacency out;
  out.offsets = JoinPieces(pieces, vertices + 1, &AdjacencyPiece::offsets, &AdjacencyPiece::offsets_at, threads);
  out.offsets[vertices] = edges;
  out.neighbours = JoinPieces(pieces, edges, &AdjacencyPiece::ids, &AdjacencyPiece::ids_at, threads);
  if (header.weighted) out.weights = JoinAdjacencyWeights(pieces, edges, name, threads);
  return out;
}

void WriteAdjacencyText(const Graph& graph, OutputFile& output) {
  const Adjacency& out = graph.out();
  const auto line = [&](auto number) {
    output.Number(number);
    output.Letter('\n');
  };
  output.Write(graph.weight_kind() == WeightKind::kNone ? kAdjacencyWord : kWeightedAdjacencyWord);
  output.Letter('\n');
  line(std::uint64_t{graph.vertices()});
  line(std::uint64_t{graph.edges()});
  for (VertexId v = 0; v < graph.vertices(); ++v) line(out.offsets[v]);
  for (const VertexId id : out.neighbours) line(id);
  std::visit(
      [&](const auto& weights) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
          for (const auto weight : weights) {
            WriteWeight(output, weight);
            output.Letter('\n');
          }
        }
      },
      out.weights);
}

}  // namespace

bool IsGbbs(Input& input, std::string_view head) {
  if (AdjacencyWord(head) || IsOtherWord(FirstWord(head))) return true;
  const std::string_view begin = input.Peek(sizeof(GbbsHeader));
  if (begin.size() < sizeof(GbbsHeader)) return false;
  GbbsHeader header;
  std::memcpy(&header, begin.data(), sizeof header);
  if (header.bytes != header.due()) return false;
  // Galois' graphs begin with 1 or 2 and a small number. The numbers could be a size and counts here as well.
  if (header.vertices > 2 || header.edges > 64) return true;
  const std::uint64_t whole = header.bytes;
  const std::uint64_t seen = input.Peek(2 * whole + 1).size();
  return seen == whole || seen == 2 * whole;
}

StatedCounts PeekGbbs(Input& input) {
  StatedCounts counts;
  counts.maybe_symmetric = true;
  if (AdjacencyWord(HeadWithoutBlanks(input))) {
    const AdjacencyHeader header = ReadAdjacencyHeader(input);
    counts.vertices = header.vertices;
    counts.entries = header.edges;
    counts.entry_bytes = header.weighted ? 4 : 2;  // a digit and a line end
    counts.other_bytes = header.vertices * 2;
    counts.weights = header.weighted ? WeightKind::kInt32 : WeightKind::kNone;
    counts.line = header.line;
  } else {
    ArrayReader reader(input, 1);
    const GbbsHeader header = ReadGbbsHeader(input, reader);
    counts.vertices = header.vertices;
    counts.entries = header.edges;
    counts.entry_bytes = sizeof(std::uint32_t);
    counts.other_bytes = sizeof header + (header.vertices + 1) * sizeof(std::uint64_t);
  }
  return counts;
}

RawGraph ReadGbbs(Input& input, const ReadOptions& options) {
  const int threads = options.threads;
  RawGraph raw;
  Adjacency out = AdjacencyWord(HeadWithoutBlanks(input)) ? ReadAdjacencyText(input, threads, &raw.lines)
                                                          : ReadGbbsBinary(input, threads);
  CheckRows(input.name(), out, threads);
  SortLists(out, threads);
  raw.symmetric = !options.directed && IsSymmetric(out, threads);
  raw.rows = std::move(out);
  return raw;
}

void WriteGbbs(const Graph& graph, OutputFile& output, const std::string& path) {
  if (EndsIn(path, ".adj")) {
    WriteAdjacencyText(graph, output);
    return;
  }
  if (graph.weight_kind() != WeightKind::kNone) {
    Throw<UsageError>("{}: the binary graphs of GBBS hold no weights, which this graph has; name it .adj, which is text",
                      path);
  }
  GbbsHeader header{graph.vertices(), graph.edges(), 0};
  if (header.vertices > kMaxGbbsIds) {
    Throw<CapabilityError>(
        "{}: the binary graphs of GBBS have at most 2^32 vertices, this one has {}; write .chatty or .adj", path,
        header.vertices);
  }
  header.bytes = *header.due();
  const Adjacency& out = graph.out();
  WriteBytes(output, header);
  if (out.offsets.empty()) WriteBytes(output, std::uint64_t{0});
  WriteArray<std::uint64_t>(output, out.offsets.span());
  WriteArray<std::uint32_t>(output, out.neighbours.span());
}

}  // namespace chatty::io
