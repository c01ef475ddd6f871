// Edge lists: one "source target [weight]" per line, as SNAP, LDBC Graphalytics and GAP write them.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"
#include "chatty/io/vertex_ids.h"

namespace chatty::io {

namespace {

/// The first line of an edge list written by this project. It states what the edges do not show: the number of vertices,
/// because some have no edges, and the words below.
constexpr std::string_view kVertexComment = "# vertices: ";
constexpr std::string_view kFromOne = ", from 1";           // ids are 1 to n, not 0 to n - 1
constexpr std::string_view kAsNamed = ", as named";         // the vertices are the ids in edges and in lines such as
constexpr std::string_view kVertexLine = "# vertex: ";      // "# vertex: ID", for a vertex without edges
constexpr std::string_view kListSymmetric = ", symmetric";  // both directions of every edge are stored

/// The contents of such a first line.
struct StatedList {
  std::uint64_t vertices = 0;
  bool from_one = false, as_named = false, symmetric = false;
};

/// The number after `prefix`. Removes prefix, number and line end from `line`; returns nothing and keeps the line if there
/// is none.
std::optional<std::uint64_t> TakeNumber(std::string_view& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [next, error] = std::from_chars(line.data() + prefix.size(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(next - line.data()));
  return number;
}

/// Parses the first line. Returns nothing for any other comment.
std::optional<StatedList> ParseStated(std::string_view line) {
  const std::optional<std::uint64_t> vertices = TakeNumber(line, kVertexComment);
  if (!vertices) return std::nullopt;
  const auto take = [&](std::string_view word) {
    const bool there = line.starts_with(word);
    if (there) line.remove_prefix(word.size());
    return there;
  };
  StatedList stated{.vertices = *vertices};
  stated.from_one = take(kFromOne);
  stated.as_named = !stated.from_one && take(kAsNamed);
  stated.symmetric = take(kListSymmetric);
  if (!line.empty() && line != "\r") return std::nullopt;
  return stated;
}

/// Contents of the comments before the first edge, as SNAP writes them.
struct ListComments {
  bool undirected = false;             ///< "# Undirected graph: ..."; each edge is stored once
  std::optional<std::uint64_t> edges;  ///< "# Nodes: N Edges: M"
};

ListComments ReadListComments(std::string_view head) {
  ListComments comments;
  VisitLeadingLines(head, [&](std::string_view line, std::uint64_t) {
    if (!line.starts_with('#')) return false;
    const std::vector<std::string> words = Words(WithoutComment(line));
    if (words.size() > 1 && words[0] == "undirected" && words[1].starts_with("graph")) comments.undirected = true;
    if (words.size() == 4 && words[0] == "nodes:" && words[2] == "edges:") {
      std::uint64_t edges = 0;
      const auto [end, error] = std::from_chars(words[3].data(), words[3].data() + words[3].size(), edges);
      if (error == std::errc() && end == words[3].data() + words[3].size()) comments.edges = edges;
    }
    return false;
  });
  return comments;
}

/// The first line with an edge.
struct FirstEdge {
  std::uint64_t line = 0;
  std::string text;
  std::vector<std::uint64_t> numbers;  ///< empty if a field is not a whole number
};

FirstEdge MakeFirstEdge(std::string_view text, std::uint64_t line) {
  FirstEdge first{line, Quote(text), {}};
  LineCursor cursor(text);
  try {
    while (cursor.Peek() != '\n') first.numbers.push_back(cursor.Unsigned("number"));
  } catch (const LineError&) {
    first.numbers.clear();
  }
  return first;
}

constexpr std::string_view kTakenAsEdges = "--format edge-list reads it as an edge";

/// A likely reading of a line without an edge, and advice; empty if there is none.
std::string DescribeOddLine(std::string_view line, const FirstEdge& first) {
  const std::vector<std::string> words = Words(line);
  if (words.empty()) return {};
  const std::string& word = words[0];
  const bool arc = words.size() > 1 && words[1].find_first_not_of("0123456789") == std::string::npos;
  if (word == "p" || word == "c" || (word == "a" && arc)) {
    return "; such lines are of DIMACS' .gr files, whose comments begin with c (--format dimacs)";
  }
  if (word.find("adjacency") != std::string::npos) return "; a graph of GBBS begins with that word, without comments before";
  const auto whole = [](const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; };
  if (words.size() == 2 && whole(words[0]) && !whole(words[1])) {
    return "; lines of an id and a value are results, and no graph";
  }
  if (words.size() == 2 && first.numbers.size() == 3 && first.numbers[0] == first.numbers[1] && whole(words[0])) {
    return fmt::format(
        "; line {}, {}, looks like the sizes of a Matrix Market file without banner: write \"%%MatrixMarket matrix "
        "coordinate "
        "pattern general\" (or symmetric) before it",
        first.line, first.text);
  }
  if (words.size() == 4) {
    return "; a fourth column, say of times, is read below KONECT's header alone (\"% asym weighted\"); cut it off";
  }
  return {};
}

std::int64_t WeightAt(const Weights& weights, std::size_t e) {
  const auto* const integers = std::get_if<Array<std::int32_t>>(&weights);
  return integers == nullptr ? -1 : (*integers)[e];
}

/// Whether the edges, except the first, look like the rows of a METIS graph with `vertices` vertices: each row's neighbours
/// list that row.
template <class Pieces>
bool LooksLikeMetisRows(const Pieces& pieces, std::uint64_t vertices, bool weighted) {
  std::vector<std::array<std::uint64_t, 3>> rows;
  rows.reserve(vertices);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::size_t e = p == 0 ? 1 : 0; e < pieces[p].sources.size(); ++e) {
      const std::int64_t third = weighted ? WeightAt(pieces[p].weights, e) : 0;
      const std::uint64_t last = third > 0 ? static_cast<std::uint64_t>(third) : 0;
      rows.push_back({pieces[p].sources[e], pieces[p].targets[e], weighted ? last : pieces[p].targets[e]});
    }
  }
  for (std::uint64_t v = 1; v <= vertices; ++v) {
    for (const std::uint64_t u : rows[v - 1]) {
      if (u < 1 || u > vertices || u == v) return false;
      const auto& back = rows[u - 1];
      if (std::find(back.begin(), back.end(), v) == back.end()) return false;
    }
  }
  return true;
}

/// Rejects a list whose first edge is a line of sizes, and warns of a list whose first edge may be one. `pieces` are the
/// edges in file order.
template <class Pieces>
void CheckFirstEdge(const std::string& name, const FirstEdge& first, const Pieces& pieces) {
  if (first.numbers.size() < 2) return;
  const bool three = first.numbers.size() == 3;
  const std::uint64_t a = first.numbers[0], b = first.numbers[1], c = first.numbers.back();
  std::uint64_t others = 0;
  for (const auto& piece : pieces) others += piece.sources.size();
  if (others < 2 || a == 0 || b == 0) return;
  --others;
  const bool counts_edges = c == others;
  const bool counts_rows = a == others && 2 * b == (three ? 3 : 2) * a && (!three || c == 0);
  if (!counts_edges && !counts_rows) return;
  std::uint64_t least = ~std::uint64_t{0}, sources = 0, targets = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::size_t e = p == 0 ? 1 : 0; e < pieces[p].sources.size(); ++e) {
      const std::uint64_t source = pieces[p].sources[e], target = pieces[p].targets[e];
      least = std::min({least, source, target});
      sources = std::max(sources, source);
      targets = std::max(targets, target);
    }
  }
  constexpr std::uint64_t kFew = 3;  // so few edges may match any numbers by chance
  if (three && counts_edges && least >= 1 && sources <= a && targets <= b && a == b && others >= kFew) {
    FailAt(name, first.line,
           fmt::format(
               "{} looks like the sizes of a Matrix Market file without banner: {} lines follow; write \"%%MatrixMarket "
               "matrix coordinate FIELD SYMMETRY\" before it; {}",
               first.text, others, kTakenAsEdges));
  }
  if (counts_rows && least >= 1 && LooksLikeMetisRows(pieces, a, three)) {
    FailAt(
        name, first.line,
        fmt::format("{} looks like the sizes of a METIS file, and the {} lines after it like its rows: --format metis reads "
                    "them so; {}",
                    first.text, others, kTakenAsEdges));
  }
  const std::uint64_t largest = std::max(sources, targets);
  if (!three && counts_edges && others >= kFew && (largest < a || (largest == a && least >= 1))) {
    Log().warn(
        "{}:{}: {} was read as an edge, but looks like counts of vertices and edges: {} edges follow; if so, delete the "
        "line",
        name, first.line, first.text, others);
  }
}

/// Number of vertices up to the last one with an edge. Lists ascend.
VertexId VerticesWithEdges(const Adjacency& out) {
  VertexId vertices = 0;
  for (std::size_t v = 0; v + 1 < out.offsets.size(); ++v) {
    if (out.offsets[v] == out.offsets[v + 1]) continue;
    vertices = std::max({vertices, static_cast<VertexId>(v + 1), out.neighbours[out.offsets[v + 1] - 1] + 1});
  }
  return vertices;
}

/// Writes the first line, unless the edges alone determine the graph, and a line for each vertex without edges if ids have
/// gaps.
void WriteStated(const Graph& graph, OutputFile& output) {
  const bool named = !graph.ids().empty(), from_one = !named && graph.first_id() == 1 && graph.vertices() > 0;
  const bool both_ways = graph.symmetric();
  if (!named && !from_one && !both_ways && graph.edges() > 0 && VerticesWithEdges(graph.out()) == graph.vertices()) return;
  output.Write(kVertexComment);
  output.Number(graph.vertices());
  output.Write(named ? kAsNamed : from_one ? kFromOne : "");
  output.Write(both_ways ? kListSymmetric : "");
  output.Letter('\n');
  if (!named) return;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (graph.out_degree(v) > 0 || graph.in_degree(v) > 0) continue;
    output.Write(kVertexLine);
    output.Number(graph.id(v));
    output.Letter('\n');
  }
}

}  // namespace

std::string DescribeWords(std::string_view line, std::string_view next) {
  constexpr std::size_t kMaxFields = 4;  // more fields are a sentence
  const auto fields_of = [](std::string_view text) {
    std::string blank(text);
    std::replace_if(
        blank.begin(), blank.end(), [](char c) { return c == ',' || c == ';'; }, ' ');
    return Words(blank);
  };
  const auto is_word = [](const std::string& field) { return field.find_first_of("0123456789+-.") != 0; };
  const auto is_whole = [](const std::string& field) { return field.find_first_not_of("0123456789") == std::string::npos; };
  const std::vector<std::string> fields = fields_of(line), others = fields_of(next);
  if (fields.size() < 2 || !is_word(fields[0]) || !is_word(fields[1])) return {};
  if (std::count_if(others.begin(), others.end(), is_whole) >= 2) {
    return "looks like the names of columns; an edge list is lines \"SOURCE TARGET [WEIGHT]\" of numbers alone: remove the "
           "line";
  }
  if (fields.size() > kMaxFields || (!others.empty() && others.size() != fields.size())) return {};
  return "has words for ids; an edge list is lines \"SOURCE TARGET [WEIGHT]\" whose ids are whole numbers: number the "
         "vertices and write their numbers instead";
}

bool IsEdgeList(Input& /*input*/, std::string_view head) {
  return head[0] == '#' || head[0] == '%' || head[0] == '-' || (head[0] >= '0' && head[0] <= '9');
}

bool SaysUndirected(std::string_view head) { return ReadListComments(head).undirected; }

RawGraph ReadEdgeList(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  // The first edge determines whether there are weights; all other lines must agree.
  WeightText weights = WeightText::kNone;
  std::optional<StatedList> stated;
  std::vector<std::uint64_t> more_ids;  // ids of vertices without edges
  FirstEdge first;
  const ListComments comments = ReadListComments(input.Peek(std::size_t{1} << 16));
  for (bool found = false; !found;) {
    std::string_view line;
    if (!input.PeekLine(&line)) {
      if (stated && !options.compact_ids) break;
      Throw<InputError>(
          "{}: holds no edges, so that its number of vertices is unknown; begin it with a line \"{}N\", or write a format "
          "that says it",
          name, kVertexComment);
    }
    if (input.lines_skipped() == 0) stated = ParseStated(line);
    if (stated && stated->as_named && !options.compact_ids) {
      std::string_view rest = line;
      if (const std::optional<std::uint64_t> id = TakeNumber(rest, kVertexLine)) more_ids.push_back(*id);
    }
    LineCursor cursor(line);
    try {
      if (cursor.NextLine<'#', '%'>()) {
        cursor.Unsigned("source id");
        cursor.SkipSeparator();
        cursor.Unsigned("target id");
        cursor.SkipSeparator();
        if (cursor.Peek() != '\n') weights = WeightText::kAny;
        first = MakeFirstEdge(line, input.lines_skipped() + 1);
        found = true;
      } else {
        input.SkipLine();
      }
    } catch (const LineError& error) {
      const std::uint64_t number = input.lines_skipped() + 1;
      const std::string odd(line);
      input.SkipLine();
      std::string_view next;
      static_cast<void>(input.PeekLine(&next));
      const std::string known = DescribeOddLine(odd, first);
      const std::string words = known.empty() ? DescribeWords(odd, next) : known;
      if (known.empty() && !words.empty()) FailAt(name, number, fmt::format("{} {}", Quote(odd), words));
      FailAt(name, number, error.what() + known);
    }
  }

  bool reals = false;
  const bool compact = options.compact_ids || (stated && stated->as_named);
  const std::uint64_t first_id = stated && stated->from_one && !compact ? 1 : 0;
  RawGraph raw;
  const auto parse = [&](LineCursor& cursor, auto& sink, auto id) {
    using Id = decltype(id);
    while (cursor.NextLine<'#', '%'>()) {
      const std::uint64_t source = cursor.Unsigned("source id") - first_id;
      cursor.SkipSeparator();
      const std::uint64_t target = cursor.Unsigned("target id") - first_id;
      if (std::is_same_v<Id, VertexId> && (source >= kNoVertex || target >= kNoVertex)) [[unlikely]] {
        if (first_id == 1 && (source + 1 == 0 || target + 1 == 0))
          cursor.Fail("id 0 in a file that numbers from 1 (line 1)");
        cursor.Fail(
            "id {} does not fit {}-bit vertex ids; use a build with CHATTY_VERTEX_BITS=64, or renumber the vertices "
            "without gaps (--compact-ids)",
            std::max(source, target) + first_id, 8 * sizeof(VertexId));
      }
      if (weights == WeightText::kNone) {
        sink.Add(static_cast<Id>(source), static_cast<Id>(target));
      } else {
        cursor.SkipSeparator();
        sink.AddWeighted(static_cast<Id>(source), static_cast<Id>(target), cursor);
      }
      cursor.FinishLine();
    }
  };
  const auto explain = [&](LineCursor& cursor, auto&& body) {
    try {
      body();
    } catch (const LineError& error) {
      const std::string known = DescribeOddLine(cursor.Line(), first);
      const std::string words = known.empty() ? DescribeWords(cursor.Line(), cursor.Line()) : std::string();
      throw LineError(error.line(), error.what() + known + (words.empty() ? words : "; the line " + words));
    }
  };
  const auto check = [&](const auto& pieces, std::uint64_t edges) {
    if (!options.format && !stated) CheckFirstEdge(name, first, pieces);
    if (!comments.edges || *comments.edges == edges) return;
    Log().warn("{}: has a comment that says {} edges, and {} lines of edges: if it was fetched, part of it may be missing",
               name, *comments.edges, edges);
  };
  if (compact) {
    ParsedWideEdges parsed = ParseWideChunks(input, weights, options.threads, [&](LineCursor& cursor, WideEdgeSink& sink) {
      explain(cursor, [&] { parse(cursor, sink, std::uint64_t{}); });
    });
    check(parsed.pieces, parsed.size());
    reals = parsed.reals;
    input.Claim(2 * parsed.size() * sizeof(std::uint64_t));  // for the sorted ids, which number the vertices
    raw = CompactIds(name, std::move(parsed.pieces), options.threads, more_ids);
    raw.lines = parsed.lines;
    if (!options.compact_ids && raw.vertices != stated->vertices) {
      FailAt(name, 1,
             fmt::format("states {} vertices, but {} are named: correct the number, or remove the line", stated->vertices,
                         raw.vertices));
    }
  } else {
    ParsedEdges parsed = ParseChunks(input, weights, options.threads, [&](LineCursor& cursor, EdgeSink& sink) {
      explain(cursor, [&] { parse(cursor, sink, VertexId{}); });
    });
    raw.lines = parsed.lines;
    check(parsed.pieces, parsed.size());
    reals = parsed.reals;
    const std::uint64_t named = parsed.size() == 0 ? 0 : std::uint64_t{parsed.largest} + 1;
    if (stated && stated->vertices < named) {
      FailAt(name, 1,
             fmt::format("states {} vertices, but an edge names vertex {}: correct the number, or "
                         "remove the line",
                         stated->vertices, named - 1 + first_id));
    }
    const std::uint64_t vertices = stated ? stated->vertices : named;
    CheckVertexCount(name, vertices, parsed.size(), stated ? 1 : 0);
    raw.vertices = static_cast<VertexId>(vertices);
    raw.first_id = static_cast<int>(first_id);
    raw.edges = std::move(parsed.pieces);
  }
  raw.stated_symmetric = stated && stated->symmetric;
  raw.symmetric = comments.undirected && !raw.stated_symmetric;
  WarnOfRoundedIntegers(name, raw.edges, reals);
  return raw;
}

void WriteEdgeList(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  const Adjacency& out = graph.out();
  WriteStated(graph, output);
  std::visit(
      [&](const auto& weights) {
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
            output.Number(graph.id(v));
            output.Letter(' ');
            output.Number(graph.id(out.neighbours[e]));
            if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
              output.Letter(' ');
              WriteWeight(output, weights[e]);
            }
            output.Letter('\n');
          }
        }
      },
      out.weights);
}

}  // namespace chatty::io
