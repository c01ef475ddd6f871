// Edge lists: "source target [weight]" a line, as SNAP, KONECT, LDBC Graphalytics and GAP write them.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"
#include "chatty/io/vertex_ids.h"

namespace chatty::io {

namespace {

/// How an edge list begins that says what its edges do not show: how many vertices there are, as those without edges are
/// not to be seen, and what may follow the number.
constexpr std::string_view kVertexComment = "# vertices: ";
constexpr std::string_view kFromOne = ", from 1";           // their ids are 1 to the number, not 0 to one less
constexpr std::string_view kAsNamed = ", as named";         // their ids are those that edges name, and those of such lines:
constexpr std::string_view kVertexLine = "# vertex: ";      // of a vertex without edges
constexpr std::string_view kListSymmetric = ", symmetric";  // both directions of every edge are there

/// What such a first line says.
struct StatedList {
  std::uint64_t vertices = 0;
  bool from_one = false, as_named = false, symmetric = false;
};

/// The number that is left of a line behind a prefix, which is taken off, and its line end; nothing if there is none.
std::optional<std::uint64_t> TakeNumber(std::string_view& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [next, error] = std::from_chars(line.data() + prefix.size(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(next - line.data()));
  return number;
}

/// Nothing for any other comment.
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

/// Vertices up to the last with an edge. Lists ascend.
VertexId VerticesWithEdges(const Adjacency& out) {
  VertexId vertices = 0;
  for (std::size_t v = 0; v + 1 < out.offsets.size(); ++v) {
    if (out.offsets[v] == out.offsets[v + 1]) continue;
    vertices = std::max({vertices, static_cast<VertexId>(v + 1), out.neighbours[out.offsets[v + 1] - 1] + 1});
  }
  return vertices;
}

/// Writes the first line, unless the edges alone say all, and a line for each vertex without edges that only such a line
/// names.
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

bool IsEdgeList(Input& /*input*/, std::string_view head) {
  return head[0] == '#' || head[0] == '%' || head[0] == '-' || (head[0] >= '0' && head[0] <= '9');
}

RawGraph ReadEdgeList(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  // The first edge tells whether there are weights; the lines after it must agree.
  WeightText weights = WeightText::kNone;
  std::optional<StatedList> stated;
  std::vector<std::uint64_t> more_ids;  // of vertices without edges
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
        found = true;
      } else {
        input.SkipLine();
      }
    } catch (const LineError& error) {
      FailAt(name, input.lines_skipped() + 1, error.what());
    }
  }

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
        if (source + first_id == 0 || target + first_id == 0) cursor.Fail("id 0 in a file that numbers from 1 (line 1)");
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
  if (compact) {
    ParsedWideEdges parsed = ParseWideChunks(input, weights, options.threads, [&](LineCursor& cursor, WideEdgeSink& sink) {
      parse(cursor, sink, std::uint64_t{});
    });
    input.Claim(2 * parsed.size() * sizeof(std::uint64_t));  // sorted, to number them
    raw = CompactIds(name, std::move(parsed.pieces), options.threads, more_ids);
    raw.lines = parsed.lines;
    if (!options.compact_ids && raw.vertices != stated->vertices) {
      FailAt(name, 1,
             fmt::format("says that there are {} vertices, but {} are named: correct the number, or remove the line",
                         stated->vertices, raw.vertices));
    }
  } else {
    ParsedEdges parsed = ParseChunks(input, weights, options.threads,
                                     [&](LineCursor& cursor, EdgeSink& sink) { parse(cursor, sink, VertexId{}); });
    raw.lines = parsed.lines;
    const std::uint64_t named = parsed.size() == 0 ? 0 : std::uint64_t{parsed.largest} + 1;
    if (stated && stated->vertices < named) {
      FailAt(name, 1,
             fmt::format("says that there are {} vertices, but an edge names vertex {}: correct the number, or "
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
  WarnOfRoundedIntegers(name, raw.edges);
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
