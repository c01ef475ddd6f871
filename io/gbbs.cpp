// The graphs of GBBS and PASGAL, in two dresses. Binary, without weights, all little-endian:
//
//   vertices, edges, bytes of all this  3 x u64
//   offsets                             (vertices + 1) x u64
//   neighbours                          edges x u32
//
// A directed graph may go on with the same of its in-edges. Text, as it came from the Problem Based Benchmark Suite: the
// word AdjacencyGraph or WeightedAdjacencyGraph, the numbers of vertices and edges, where each vertex' edges begin, the
// neighbours and, if weighted, the weights; each on a line, or with blanks between.
//
// Whether a graph is symmetric is not stated, and seen from the edges.

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "chatty/core/progress.h"
#include "chatty/io/formats.h"
#include "chatty/io/rows.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

constexpr std::string_view kAdjacencyWord = "AdjacencyGraph";
constexpr std::string_view kWeightedAdjacencyWord = "WeightedAdjacencyGraph";
constexpr std::uint64_t kMostGbbsIds = std::uint64_t{1} << 32;

// ---- Binary ----

struct GbbsHeader {
  std::uint64_t vertices = 0, edges = 0, bytes = 0;

  /// What `bytes` must be; nothing for counts that no file has.
  std::optional<std::uint64_t> due() const {
    if (vertices > kMostGbbsIds || edges > std::numeric_limits<std::uint64_t>::max() / 16) return std::nullopt;
    return 24 + (vertices + 1) * 8 + edges * 4;
  }
};
static_assert(sizeof(GbbsHeader) == 24, "the layout is the format");

GbbsHeader ReadGbbsHeader(ArrayReader& reader) {
  const auto header = reader.ReadOne<GbbsHeader>();
  if (header.bytes != header.due()) {
    Throw<InputError>(
        "{}: its header speaks of {} vertices, {} edges and {} bytes, which do not fit each other: the file is damaged, or "
        "is compressed by GBBS, which cannot be read; write it uncompressed",
        reader.name(), header.vertices, header.edges, header.bytes);
  }
  reader.ExpectRoom(header.vertices + 1, sizeof(std::uint64_t));
  CheckVertexCount(reader.name(), header.vertices);
  return header;
}

Adjacency ReadGbbsBinary(Input& input, int threads) {
  ArrayReader reader(input, threads);
  const GbbsHeader header = ReadGbbsHeader(reader);
  Adjacency out;
  out.offsets = reader.Read<EdgeIndex>(header.vertices + 1);
  CheckOffsets(reader.name(), out.offsets, header.edges, threads);
  out.neighbours = reader.ReadAs<VertexId, std::uint32_t>(header.edges, [](std::uint32_t id) { return VertexId{id}; });
  if (input.Peek(1).empty()) return out;
  // The in-edges say nothing new, but that the file is whole.
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

/// Whether text that begins like this is one of the two, and then which word.
std::optional<std::string_view> AdjacencyWord(std::string_view head) {
  for (const std::string_view word : {kAdjacencyWord, kWeightedAdjacencyWord}) {
    if (!head.starts_with(word)) continue;
    if (head.size() == word.size() || std::string_view(" \t\r\n").find(head[word.size()]) != std::string_view::npos) {
      return word;
    }
  }
  return std::nullopt;
}

/// The next of what an input holds, with blanks before it skipped.
std::string_view HeadWithoutBlanks(Input& input) {
  std::string_view head = input.Peek(std::size_t{1} << 16);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return head;
}

struct AdjacencyHeader {
  bool weighted = false;
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t line = 0;  ///< that holds the edges
};

/// Reads the three lines before the first offset.
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

/// An array of at most `most` elements that grows as they come, unless its size is `sure`.
template <class T>
class Growing {
 public:
  Growing(std::uint64_t most, bool sure) : most_(most), all_(sure ? most : std::min<std::uint64_t>(most, 1u << 20)) {}

  void Add(T value) {
    if (size_ == all_.size()) {
      Array<T> larger(std::min<std::uint64_t>(most_, 2 * std::uint64_t{size_}));
      std::copy_n(all_.begin(), size_, larger.begin());
      all_ = std::move(larger);
    }
    all_[size_++] = value;
  }
  std::size_t size() const { return size_; }
  T operator[](std::size_t i) const { return all_[i]; }
  Array<T> Take() { return std::move(all_); }  ///< once `most` have come

 private:
  std::uint64_t most_;
  Array<T> all_;
  std::size_t size_ = 0;
};

/// Takes the numbers of a text off its chunks, one after the other.
class NumberReader {
 public:
  explicit NumberReader(Input& input) : input_(input), progress_("Reading " + input.name(), input.remaining().value_or(0)) {}

  /// Goes to the next number. False at the end.
  bool Advance() {
    while (!cursor_ || !cursor_->NextLine<'\n'>()) {
      if (cursor_) {
        lines_ += cursor_->lines();
        progress_.Advance(chunk_.text.size());
        cursor_.reset();
      }
      if (!input_.Next(&chunk_)) return false;
      cursor_.emplace(chunk_.text);
    }
    return true;
  }
  /// Advances to number `at` of `count`, called so in errors.
  void AdvanceTo(const char* what, std::uint64_t at, std::uint64_t count) {
    if (Advance()) [[likely]]
      return;
    throw LineError(
        0, fmt::format("the file ends after {} of {} {}: it is truncated; write or fetch it again", at, count, what));
  }
  LineCursor& cursor() { return *cursor_; }
  std::uint64_t lines() const { return lines_; }  ///< finished, in chunks before this one

 private:
  Input& input_;
  Chunk chunk_;
  std::optional<LineCursor> cursor_;
  std::uint64_t lines_ = 0;
  Progress progress_;
};

Weights ReadAdjacencyWeights(NumberReader& numbers, std::uint64_t count, bool sure, const std::string& name) {
  Growing<std::int32_t> integers(count, sure);
  std::optional<Growing<float>> reals;
  double extreme = 0;  // of whole numbers that are no int32
  bool fraction = false;
  for (std::uint64_t e = 0; e < count; ++e) {
    numbers.AdvanceTo("weights", e, count);
    LineCursor& cursor = numbers.cursor();
    cursor.Weight(
        WeightText::kAny,
        [&](std::int32_t weight) {
          if (reals) {
            reals->Add(static_cast<float>(weight));
          } else {
            integers.Add(weight);
          }
        },
        [&](float weight) {
          if (!reals) {
            reals.emplace(count, sure);
            for (std::size_t i = 0; i < integers.size(); ++i) reals->Add(static_cast<float>(integers[i]));
            static_cast<void>(integers.Take());
          }
          reals->Add(weight);
          fraction |= std::trunc(weight) != weight;
          if (std::abs(weight) > std::abs(extreme)) extreme = weight;
        });
  }
  if (!reals) return integers.Take();
  if (!fraction && (extreme < -0x1p31 || extreme >= 0x1p31)) WarnOfRoundedWeights(name, extreme);
  return reals->Take();
}

Adjacency ReadAdjacencyText(Input& input, std::uint64_t* lines) {
  const std::string& name = input.name();
  const AdjacencyHeader header = ReadAdjacencyHeader(input);
  const auto left = input.remaining();
  const std::uint64_t vertices = header.vertices, edges = header.edges;
  if (left) {  // a number takes a digit, and a blank unless it is the last
    const std::uint64_t room = *left / 2 + 1, per_edge = header.weighted ? 2 : 1;
    if (vertices > room || edges > (room - vertices) / per_edge) {
      FailAt(
          name, header.line,
          fmt::format("the header promises {} vertices and {} edges, but the file is too short for so many numbers: it is "
                      "truncated, or the header is wrong",
                      vertices, edges));
    }
  }
  if (vertices == 0 && edges > 0) FailAt(name, header.line, fmt::format("{} edges in a graph without vertices", edges));
  NumberReader numbers(input);
  Adjacency out;
  try {
    Growing<EdgeIndex> offsets(vertices + 1, left.has_value());
    std::uint64_t last = 0;
    for (std::uint64_t v = 0; v < vertices; ++v) {
      numbers.AdvanceTo("offsets", v, vertices);
      const std::uint64_t offset = numbers.cursor().Unsigned("offset");
      if (offset < last || offset > edges || (v == 0 && offset != 0)) [[unlikely]] {
        numbers.cursor().Fail(
            "the edges of vertex {} begin at {}; offsets begin with 0, ascend and are at most the {} edges", v, offset,
            edges);
      }
      offsets.Add(last = offset);
    }
    offsets.Add(edges);
    out.offsets = offsets.Take();

    Growing<VertexId> neighbours(edges, left.has_value());
    for (std::uint64_t e = 0; e < edges; ++e) {
      numbers.AdvanceTo("edges", e, edges);
      const std::uint64_t id = numbers.cursor().Unsigned("vertex");
      if (id >= vertices) [[unlikely]] {
        numbers.cursor().Fail("vertex {} in a graph of {}; they are counted from 0 (line {})", id, vertices, header.line);
      }
      neighbours.Add(static_cast<VertexId>(id));
    }
    out.neighbours = neighbours.Take();
    if (header.weighted) out.weights = ReadAdjacencyWeights(numbers, edges, left.has_value(), name);
    if (numbers.Advance()) {
      numbers.cursor().Fail("{} follows what the header promises, {} vertices and {} edges", Quote(numbers.cursor().Field()),
                            vertices, edges);
    }
  } catch (const LineError& error) {
    FailAt(name, input.lines_skipped() + numbers.lines() + error.line() + 1, error.what());
  }
  *lines = input.lines_skipped() + numbers.lines();
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
          for (const auto weight : weights) line(weight);
        }
      },
      out.weights);
}

}  // namespace

bool IsGbbs(Input& input, std::string_view head) {
  if (AdjacencyWord(head)) return true;
  const std::string_view begin = input.Peek(sizeof(GbbsHeader));
  if (begin.size() < sizeof(GbbsHeader)) return false;
  GbbsHeader header;
  std::memcpy(&header, begin.data(), sizeof header);
  if (header.bytes != header.due()) return false;
  // Galois' graphs begin with 1 or 2 and a small number, and may then have just so many vertices.
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
    counts.entry_bytes = header.weighted ? 4 : 2;  // digits and line ends
    counts.other_bytes = header.vertices * 2;
    counts.weights = header.weighted ? WeightKind::kInt32 : WeightKind::kNone;
    counts.line = header.line;
  } else {
    ArrayReader reader(input, 1);
    const GbbsHeader header = ReadGbbsHeader(reader);
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
  Adjacency out =
      AdjacencyWord(HeadWithoutBlanks(input)) ? ReadAdjacencyText(input, &raw.lines) : ReadGbbsBinary(input, threads);
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
  if (header.vertices > kMostGbbsIds) {
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
