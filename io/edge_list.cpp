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

/// How an edge list begins that says how many vertices it has, as those without edges at its end are not to be seen.
constexpr std::string_view kVertexComment = "# vertices: ";

/// What such a first line says; nothing for any other comment.
std::optional<std::uint64_t> StatedVertices(std::string_view line) {
  if (!line.starts_with(kVertexComment)) return std::nullopt;
  line.remove_prefix(kVertexComment.size());
  std::uint64_t vertices = 0;
  const auto [next, error] = std::from_chars(line.data(), line.data() + line.size(), vertices);
  if (error != std::errc() || next != line.data() + line.size()) return std::nullopt;
  return vertices;
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

/// A whole number that is a real keeps a point, so that a graph whose weights are all such is read with real ones again.
void WriteWeight(OutputFile& output, std::int32_t weight) { output.Number(weight); }
void WriteWeight(OutputFile& output, float weight) {
  char digits[32];
  const char* const end = std::to_chars(digits, digits + sizeof digits, weight).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  output.Write(text);
  if (text.find_first_of(".e") == std::string_view::npos) output.Write(".0");
}

}  // namespace

bool IsEdgeList(Input& /*input*/, std::string_view head) {
  return head[0] == '#' || head[0] == '%' || head[0] == '-' || (head[0] >= '0' && head[0] <= '9');
}

RawGraph ReadEdgeList(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  // The first edge tells whether there are weights; the lines after it must agree.
  WeightText weights = WeightText::kNone;
  std::optional<std::uint64_t> stated;
  for (bool found = false; !found;) {
    std::string_view line;
    if (!input.PeekLine(&line)) {
      if (stated) break;
      Throw<InputError>(
          "{}: holds no edges, so that its number of vertices is unknown; begin it with a line \"{}N\", or write a format "
          "that says it",
          name, kVertexComment);
    }
    if (input.lines_skipped() == 0 && !options.compact_ids) stated = StatedVertices(line);
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

  RawGraph raw;
  const auto parse = [&](LineCursor& cursor, auto& sink, auto id) {
    using Id = decltype(id);
    while (cursor.NextLine<'#', '%'>()) {
      const std::uint64_t source = cursor.Unsigned("source id");
      cursor.SkipSeparator();
      const std::uint64_t target = cursor.Unsigned("target id");
      if (std::is_same_v<Id, VertexId> && (source >= kNoVertex || target >= kNoVertex)) [[unlikely]] {
        cursor.Fail(
            "id {} does not fit {}-bit vertex ids; use a build with CHATTY_VERTEX_BITS=64, or renumber the vertices "
            "without gaps (--compact-ids)",
            std::max(source, target), 8 * sizeof(VertexId));
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
  if (options.compact_ids) {
    ParsedWideEdges parsed = ParseWideChunks(input, weights, options.threads, [&](LineCursor& cursor, WideEdgeSink& sink) {
      parse(cursor, sink, std::uint64_t{});
    });
    raw = CompactIds(name, std::move(parsed.pieces), options.threads);
    raw.lines = parsed.lines;
  } else {
    ParsedEdges parsed = ParseChunks(input, weights, options.threads,
                                     [&](LineCursor& cursor, EdgeSink& sink) { parse(cursor, sink, VertexId{}); });
    raw.lines = parsed.lines;
    const std::uint64_t named = parsed.size() == 0 ? 0 : std::uint64_t{parsed.largest} + 1;
    if (stated && *stated < named) {
      FailAt(name, 1,
             fmt::format("says that there are {} vertices, but an edge names vertex {}: correct the number, or "
                         "remove the line",
                         *stated, named - 1));
    }
    CheckVertexCount(name, stated.value_or(named), parsed.size(), stated ? 1 : 0);
    raw.vertices = static_cast<VertexId>(stated.value_or(named));
    raw.edges = std::move(parsed.pieces);
  }
  WarnOfRoundedIntegers(name, raw.edges);
  return raw;
}

void WriteEdgeList(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  const Adjacency& out = graph.out();
  if (graph.ids().empty() && (graph.edges() == 0 || VerticesWithEdges(out) < graph.vertices())) {
    output.Write(kVertexComment);
    output.Number(graph.vertices());
    output.Letter('\n');
  }
  const auto name = [&](VertexId v) { return graph.ids().empty() ? std::uint64_t{v} : graph.ids()[v]; };
  std::visit(
      [&](const auto& weights) {
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
            output.Number(name(v));
            output.Letter(' ');
            output.Number(name(out.neighbours[e]));
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
