// The graph format of METIS 5.1: Karypis, "METIS: A Software Package for Partitioning Unstructured Graphs",
// version 5.1.0, 4.1.1.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/io/formats.h"
#include "chatty/io/parse_chunks.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

struct MetisHeader {
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t numbers_a_vertex = 0;  ///< numbers before the neighbours: the vertex's size and its weights
  bool weights = false;                ///< each neighbour is followed by a weight
  std::uint64_t line = 0;              ///< number of the header's line
};

bool IsFormatField(std::string_view field) {
  return field.size() <= 3 && field.find_first_not_of("01") == std::string_view::npos && !field.empty();
}

/// Parses "VERTICES EDGES [FMT [NCON]]".
MetisHeader ParseMetisHeader(LineCursor& cursor) {
  MetisHeader header;
  header.vertices = cursor.Unsigned("number of vertices");
  header.edges = cursor.Unsigned("number of edges");
  bool sizes = false, vertex_weights = false;
  if (cursor.Peek() != '\n') {
    const std::string_view field = cursor.Field();
    if (!IsFormatField(field)) {
      cursor.Fail(
          "{} is not a format of METIS: up to three digits 0 or 1, for vertex sizes, vertex weights and edge weights",
          Quote(field));
    }
    header.weights = field.back() == '1';
    vertex_weights = field.size() > 1 && field[field.size() - 2] == '1';
    sizes = field.size() == 3 && field[0] == '1';
    cursor.SkipField();
  }
  std::uint64_t weights = vertex_weights ? 1 : 0;
  if (cursor.Peek() != '\n') {
    weights = cursor.Unsigned("number of weights a vertex");
    if (weights > 0 && !vertex_weights) cursor.Fail("{} weights a vertex, but the format states none", weights);
    if (weights == 0 && vertex_weights) cursor.Fail("0 weights a vertex, but the format states some");
  }
  cursor.FinishLine();
  if (weights > kMaxLineBytes) cursor.Fail("{} weights a vertex are more than a line can hold", weights);
  header.numbers_a_vertex = weights + (sizes ? 1 : 0);
  return header;
}

MetisHeader ReadMetisHeader(Input& input) {
  const std::string& name = input.name();
  std::string_view line;
  for (; input.PeekLine(&line); input.SkipLine()) {
    LineCursor cursor(line);
    try {
      if (!cursor.NextLine<'%'>()) continue;
      MetisHeader header = ParseMetisHeader(cursor);
      header.line = input.lines_skipped() + 1;
      input.SkipLine();
      const auto left = input.remaining();  // each row needs a line end, except the last
      const bool short_of_rows = left && header.vertices > *left + 1;
      if (short_of_rows || header.edges > std::numeric_limits<std::uint64_t>::max() / 4 ||
          (left && header.edges > *left)) {  // each edge occurs twice, with a digit and a blank
        FailAt(name, header.line,
               fmt::format("the header promises {} vertices and {} edges, more than the file can hold: it is truncated, or "
                           "the header is wrong",
                           header.vertices, header.edges));
      }
      return header;
    } catch (const LineError& error) {
      FailAt(name, input.lines_skipped() + 1, error.what());
    }
  }
  FailAt(name, input.lines_skipped(),
         "the file ends before the line \"VERTICES EDGES\": it is truncated, or not a METIS file");
}

/// The rows of one chunk.
struct MetisRows {
  Array<EdgeIndex> ends;  ///< end of each row in `neighbours`
  Array<VertexId> neighbours;
  Array<std::int32_t> weights;
};

std::uint64_t HeldBytes(const MetisRows& rows) { return rows.ends.bytes() + rows.neighbours.bytes() + rows.weights.bytes(); }

class MetisRowSink {
 public:
  using Edges = MetisRows;
  using Id = VertexId;

  /// `weights`: kNone, or any other value for weights.
  void Begin(std::size_t text_bytes, WeightText weights) {
    weighted_ = weights != WeightText::kNone;
    if (ends_.size() < text_bytes + 1) {
      ends_ = Array<EdgeIndex>(text_bytes + 1);  // a row may consist of a line end only
      neighbours_ = Array<VertexId>(text_bytes / 2 + 1);
      if (weighted_) weights_ = Array<std::int32_t>(text_bytes / 4 + 1);
    }
    rows_ = size_ = 0;
  }
  void Add(VertexId neighbour) { neighbours_[size_++] = neighbour; }
  void Add(VertexId neighbour, std::int32_t weight) {
    weights_[size_] = weight;
    neighbours_[size_++] = neighbour;
  }
  void EndRow() { ends_[rows_++] = size_; }
  std::size_t rows() const { return rows_; }
  std::size_t size() const { return size_; }  ///< neighbours in all rows
  MetisRows Take() const {
    MetisRows rows;
    rows.ends = Array<EdgeIndex>(ends_.span().first(rows_));
    rows.neighbours = Array<VertexId>(neighbours_.span().first(size_));
    if (weighted_) rows.weights = Array<std::int32_t>(weights_.span().first(size_));
    return rows;
  }
  VertexId largest() const { return 0; }

 private:
  bool weighted_ = false;
  std::size_t rows_ = 0, size_ = 0;
  Array<EdgeIndex> ends_;
  Array<VertexId> neighbours_;
  Array<std::int32_t> weights_;
};

void ParseRows(LineCursor& cursor, MetisRowSink& sink, const MetisHeader& header) {
  const std::uint64_t vertices = std::min<std::uint64_t>(header.vertices, kNoVertex);
  while (cursor.NextRow<'%'>()) {
    if (cursor.Peek() != '\n') {
      for (std::uint64_t i = 0; i < header.numbers_a_vertex; ++i) cursor.Unsigned("vertex weight");
    }
    while (cursor.Peek() != '\n') {
      const std::uint64_t id = cursor.Unsigned("neighbour's id");
      if (id - 1 >= vertices) [[unlikely]] {  // 0 wraps to the largest value
        if (id == 0) cursor.Fail("id 0 in a file that numbers from 1");
        cursor.Fail("id {} exceeds the {} vertices of the header (line {})", id, header.vertices, header.line);
      }
      if (!header.weights) {
        sink.Add(static_cast<VertexId>(id - 1));
        continue;
      }
      const std::uint64_t weight = cursor.Whole("weight");
      if (weight == 0) cursor.Fail("the edge to {} has weight 0; METIS' are positive", id);
      if (weight > std::numeric_limits<std::int32_t>::max()) cursor.Fail("weight {} does not fit 32 bits", weight);
      sink.Add(static_cast<VertexId>(id - 1), static_cast<std::int32_t>(weight));
    }
    sink.EndRow();
    cursor.FinishLine();
  }
}

/// Line number of vertex v's row, if the file can be read again or has no comments among its rows; 0 otherwise.
std::uint64_t LineOfRow(const Input& input, const MetisHeader& header, std::uint64_t lines, std::uint64_t rows, VertexId v) {
  if (lines - header.line == rows) return header.line + v + 1;
  if (input.path() == "-") return 0;
  Input again(input.path());
  std::string_view line;
  for (std::uint64_t row = 0; again.PeekLine(&line); again.SkipLine()) {
    if (again.lines_skipped() < header.line) continue;
    LineCursor cursor(line);
    if (!line.empty() && !cursor.NextRow<'%'>()) continue;
    if (row++ == v) return again.lines_skipped() + 1;
  }
  return 0;
}

/// Describes an edge whose other direction is missing or has another weight. `rows` are sorted.
std::string DescribeAsymmetry(const Adjacency& rows, VertexId* at) {
  const auto* const weights = std::get_if<Array<std::int32_t>>(&rows.weights);
  const auto entry = [&](EdgeIndex e) { return weights == nullptr ? 0 : (*weights)[e]; };
  for (VertexId u = 0; u + 1 < rows.offsets.size(); ++u) {
    *at = u;
    for (EdgeIndex e = rows.offsets[u], end; e < rows.offsets[u + 1]; e = end) {
      const VertexId v = rows.neighbours[e];
      for (end = e; end < rows.offsets[u + 1] && rows.neighbours[end] == v; ++end) {
      }
      const auto back = rows[v];
      const auto [first, last] = std::equal_range(back.begin(), back.end(), u);
      if (first == last) return fmt::format("vertex {} lists {}, which does not list it", u + 1, v + 1);
      if (static_cast<EdgeIndex>(last - first) != end - e) {
        return fmt::format("vertex {} lists {} {} times, which lists it {} times", u + 1, v + 1, end - e, last - first);
      }
      const EdgeIndex other = rows.offsets[v] + static_cast<EdgeIndex>(first - back.begin());
      for (EdgeIndex i = 0; i < end - e; ++i) {
        if (entry(e + i) == entry(other + i)) continue;
        return fmt::format("vertex {} lists {} with weight {}, which lists it with weight {}", u + 1, v + 1, entry(e + i),
                           entry(other + i));
      }
    }
  }
  return {};
}

std::uint64_t CountMetisLoops(const Adjacency& rows, int threads) {
  std::atomic<std::uint64_t> loops{0};
  ParallelChunks(rows.offsets.size() - 1, threads, 4096, [&](std::size_t begin, std::size_t end) {
    std::uint64_t mine = 0;
    for (std::size_t v = begin; v < end; ++v) {
      const auto row = rows[static_cast<VertexId>(v)];
      mine += static_cast<std::uint64_t>(std::count(row.begin(), row.end(), static_cast<VertexId>(v)));
    }
    loops += mine;
  });
  return loops;
}

/// Concatenates the pieces' rows. Rows beyond `vertices` are empty.
Adjacency JoinRows(std::vector<MetisRows>& pieces, std::uint64_t vertices, bool weighted, int threads) {
  std::vector<std::uint64_t> first_row(pieces.size() + 1, 0), first_entry(pieces.size() + 1, 0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    first_row[i + 1] = first_row[i] + pieces[i].ends.size();
    first_entry[i + 1] = first_entry[i] + pieces[i].neighbours.size();
  }
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(vertices + 1);
  rows.offsets[0] = 0;
  rows.neighbours = Array<VertexId>(first_entry.back());
  if (weighted) rows.weights = Array<std::int32_t>(first_entry.back());
  ParallelChunks(pieces.size(), threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const MetisRows piece = std::move(pieces[i]);  // freed at the end of this iteration
      for (std::size_t row = 0; row < piece.ends.size() && first_row[i] + row < vertices; ++row) {
        rows.offsets[first_row[i] + row + 1] = first_entry[i] + piece.ends[row];
      }
      std::copy(piece.neighbours.begin(), piece.neighbours.end(), rows.neighbours.begin() + first_entry[i]);
      if (weighted) {
        std::copy(piece.weights.begin(), piece.weights.end(),
                  std::get<Array<std::int32_t>>(rows.weights).begin() + first_entry[i]);
      }
    }
  });
  return rows;
}

// ---- Recognition ----

/// The numbers in a line; nothing if it contains anything else.
std::optional<std::vector<std::uint64_t>> Numbers(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    if (at == end) return numbers;
    std::uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next != end && *next != ' ' && *next != '\t' && *next != '\r')) return std::nullopt;
    numbers.push_back(number);
    at = next;
  }
}

/// The first part of a file, read as METIS rows.
struct MetisView {
  std::vector<std::vector<std::uint64_t>> rows;  ///< sorted neighbours, without weights
  std::uint64_t entries = 0;
  std::size_t fitting = 0;  ///< rows whose ids are vertices
  bool decisive = false;    ///< a line cannot belong to an edge list: it has one field, or more than three
  std::size_t blanks = 0;   ///< blank lines, which edge lists skip
};

/// Whether, for any two rows in view, either both list the other vertex once or neither does. `pairs` counts the pairs that
/// do.
bool LooksSymmetric(const MetisView& view, std::size_t* pairs) {
  *pairs = 0;
  for (std::uint64_t u = 1; u <= view.rows.size(); ++u) {
    for (const std::uint64_t v : view.rows[u - 1]) {
      if (v > view.rows.size()) continue;
      const std::vector<std::uint64_t>& back = view.rows[v - 1];
      const auto [first, last] = std::equal_range(back.begin(), back.end(), u);
      if (u == v || last - first != 1) return false;
      ++*pairs;
    }
  }
  return true;
}

}  // namespace

bool IsMetis(Input& input, std::string_view /*head*/) {
  constexpr std::size_t kView = std::size_t{1} << 16, kEnoughPairs = 8;
  std::string_view text = input.Peek(kView + 1);
  bool whole = text.size() <= kView;
  if (!whole) text = text.substr(0, text.rfind('\n') + 1);
  MetisHeader header;
  bool has_header = false;
  MetisView view;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] == '%') continue;
    const std::optional<std::vector<std::uint64_t>> numbers = Numbers(line);
    if (!numbers) {  // an error in the rows, if this is METIS: the reader reports its line
      whole = false;
      break;
    }
    if (!has_header) {
      if (numbers->empty()) continue;
      try {
        LineCursor cursor(line);
        header = ParseMetisHeader(cursor);
      } catch (const LineError&) {
        return false;
      }
      has_header = true;
      view.decisive = numbers->size() == 4;
      continue;
    }
    view.blanks += numbers->empty() ? 1 : 0;
    view.decisive = view.decisive || numbers->size() == 1 || numbers->size() > 3;
    if (view.rows.size() == header.vertices) {
      if (numbers->empty()) continue;
      return false;  // more rows than vertices
    }
    std::vector<std::uint64_t>& row = view.rows.emplace_back();
    const std::size_t before = numbers->empty() ? 0 : static_cast<std::size_t>(header.numbers_a_vertex);
    const std::size_t step = header.weights ? 2 : 1;
    bool fits = numbers->size() >= before && (numbers->size() - before) % step == 0;
    for (std::size_t i = before; fits && i < numbers->size(); i += step) {
      row.push_back((*numbers)[i]);
      fits = (*numbers)[i] - 1 < header.vertices;
    }
    view.entries += row.size();
    view.fitting += fits ? 1 : 0;
    std::sort(row.begin(), row.end());
  }
  if (!has_header || (view.rows.empty() && !view.decisive)) return false;
  // No other format has such lines. If some are wrong, the reader reports them.
  if (view.decisive) return 2 * view.fitting > view.rows.size() || view.rows.empty();
  if (view.fitting != view.rows.size()) return false;
  std::size_t pairs = 0;
  if (!LooksSymmetric(view, &pairs)) return false;
  if (header.edges == 0 && header.vertices > 1 && view.blanks > 0) {  // "4 0" and four blank lines
    return view.entries == 0 && (whole ? view.blanks == header.vertices : view.blanks < header.vertices);
  }
  if (whole) return pairs > 0 && view.rows.size() == header.vertices && view.entries == 2 * header.edges;
  return view.blanks > 0 && pairs >= kEnoughPairs;
}

StatedCounts PeekMetis(Input& input) {
  const MetisHeader header = ReadMetisHeader(input);
  StatedCounts counts;
  counts.vertices = header.vertices;
  counts.entries = 2 * header.edges;
  counts.entry_bytes = header.weights ? 4 : 2;  // "1 " or "1 1 "
  counts.symmetric = true;
  counts.odd_loops = true;
  counts.weights = header.weights ? WeightKind::kInt32 : WeightKind::kNone;
  counts.line = header.line;
  return counts;
}

RawGraph ReadMetis(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const MetisHeader header = ReadMetisHeader(input);
  const WeightText weights = header.weights ? WeightText::kInteger : WeightText::kNone;
  PromisedCount row_count(name, header.line, "vertices", header.vertices);
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max() / 4;
  PromisedCount neighbour_count(name, header.line, "neighbours",  // the count may exclude loops
                                2 * (header.edges + std::min(header.vertices, kMax)));
  auto parsed = ParseChunksInto<MetisRowSink>(input, weights, options.threads, [&](LineCursor& cursor, MetisRowSink& sink) {
    ParseRows(cursor, sink, header);
    row_count.Add(sink.rows());
    neighbour_count.Add(sink.size());
  });
  std::uint64_t rows = 0, filled = 0, entries = 0;  // `filled`: rows up to the last one with neighbours
  for (const MetisRows& piece : parsed.pieces) {
    for (std::size_t row = piece.ends.size(); row > 0; --row) {
      if (piece.ends[row - 1] == (row > 1 ? piece.ends[row - 2] : 0)) continue;
      filled = rows + row;
      break;
    }
    rows += piece.ends.size();
    entries += piece.neighbours.size();
  }
  if (rows < header.vertices || filled > header.vertices) {
    FailAt(name, header.line,
           fmt::format("the header promises {} vertices, but the file has {} rows in its {} lines: it is {}",
                       header.vertices, rows < header.vertices ? rows : filled, parsed.lines,
                       rows < header.vertices ? "truncated, or the header is wrong" : "inconsistent"));
  }
  CheckVertexCount(name, header.vertices);
  RawGraph raw;
  input.Claim((header.vertices + 1) * sizeof(EdgeIndex) + entries * (sizeof(VertexId) + (header.weights ? 4 : 0)));
  raw.rows = JoinRows(parsed.pieces, header.vertices, header.weights, options.threads);
  SortLists(*raw.rows, options.threads);
  if (!IsSymmetric(*raw.rows, options.threads)) {
    VertexId at = 0;
    const std::string text = DescribeAsymmetry(*raw.rows, &at);
    const std::uint64_t line = LineOfRow(input, header, parsed.lines, rows, at);
    const std::string advice =
        "an edge stands in the rows of both its ends: add it, or read a directed graph as another format";
    if (line == 0) Throw<InputError>("{}: {}; {}", name, text, advice);
    FailAt(name, line, fmt::format("{}; {}", text, advice));
  }
  // Files count a loop once, twice or, because METIS has none, not at all.
  const std::uint64_t loops = CountMetisLoops(*raw.rows, options.threads);
  if (entries != 2 * header.edges && entries + loops != 2 * header.edges && entries - loops != 2 * header.edges) {
    FailAt(name, header.line,
           fmt::format("the header promises {} edges, but the rows list {} neighbours where they should list twice as many: "
                       "the file is truncated, or the header is wrong",
                       header.edges, entries));
  }
  raw.symmetric = true;
  raw.first_id = 1;
  raw.lines = parsed.lines;
  if (header.numbers_a_vertex > 0) {
    raw.notes.push_back(fmt::format("weights and sizes of vertices ({} a row) left out", header.numbers_a_vertex));
  }
  return raw;
}

void WriteMetis(const Graph& graph, OutputFile& output, const std::string& path) {
  const Adjacency& out = graph.out();
  if (!graph.symmetric()) {
    Throw<UsageError>("{}: METIS' format has undirected graphs only; make this one symmetric (--symmetrise)", path);
  }
  if (graph.weight_kind() == WeightKind::kFloat32) {
    Throw<UsageError>(
        "{}: METIS' format has integer weights only; convert them (--weights int) or drop them (--weights none)", path);
  }
  const auto* const weights = std::get_if<Array<std::int32_t>>(&out.weights);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    VertexId last = kNoVertex;
    for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
      const VertexId u = out.neighbours[e];
      if (u == v) {
        Throw<UsageError>(
            "{}: METIS' format has no loops, but vertex {} has one; drop them, as reading does without "
            "--keep-loops",
            path, graph.id(v));
      }
      if (u == last) {
        Throw<UsageError>(
            "{}: METIS' format has no parallel edges, but there are several between {} and {}; merge them, as "
            "reading does without --keep-parallel",
            path, graph.id(v), graph.id(u));
      }
      last = u;
      if (weights != nullptr && (*weights)[e] <= 0) {
        Throw<UsageError>(
            "{}: METIS' format has positive weights only, but the edge between {} and {} has weight {}; change "
            "it, or drop weights (--weights none)",
            path, graph.id(v), graph.id(u), (*weights)[e]);
      }
    }
  }
  // Without edges the first line alone must distinguish the file from an edge list, which has no lines of four numbers.
  const std::string_view format = graph.edges() > 0    ? weights == nullptr ? "" : " 001"
                                  : weights == nullptr ? " 000 0"
                                                       : " 001 0";
  output.Write(fmt::format("{} {}{}\n", graph.vertices(), graph.edges() / 2, format));
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
      if (e > out.offsets[v]) output.Letter(' ');
      output.Number(std::uint64_t{out.neighbours[e]} + 1);
      if (weights == nullptr) continue;
      output.Letter(' ');
      output.Number((*weights)[e]);
    }
    output.Letter('\n');
  }
}

}  // namespace chatty::io
