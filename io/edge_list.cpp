// Edge lists: "source target [weight]" a line, as SNAP, KONECT, LDBC Graphalytics and GAP write them.

#include <algorithm>
#include <type_traits>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"
#include "chatty/io/vertex_ids.h"

namespace chatty::io {

bool IsEdgeList(Input& /*input*/, std::string_view head) {
  return head[0] == '#' || head[0] == '%' || head[0] == '-' || (head[0] >= '0' && head[0] <= '9');
}

RawGraph ReadEdgeList(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  // The first edge tells whether there are weights; the lines after it must agree.
  WeightText weights = WeightText::kNone;
  for (bool found = false; !found;) {
    std::string_view line;
    if (!input.PeekLine(&line)) Throw<InputError>("{}: holds no edges, so that its number of vertices is unknown", name);
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
    CheckVertexCount(name, std::uint64_t{parsed.largest} + 1, parsed.size(), 0);
    raw.vertices = parsed.largest + 1;
    raw.edges = std::move(parsed.pieces);
  }
  WarnOfRoundedIntegers(name, raw.edges);
  return raw;
}

void WriteEdgeList(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  const Adjacency& out = graph.out();
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
              output.Number(weights[e]);
            }
            output.Letter('\n');
          }
        }
      },
      out.weights);
}

}  // namespace chatty::io
