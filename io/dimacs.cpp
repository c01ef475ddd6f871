// The .gr format of the 9th DIMACS Implementation Challenge (shortest paths), 2006.

#include <algorithm>
#include <cctype>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {

namespace {

constexpr std::size_t kMinArcBytes = 8;  // "a 1 1 1" and a line end

/// The first line of a file written by this project. It states properties that the arcs do not show.
constexpr std::string_view kEdgesComment = "c edges: ";
constexpr std::string_view kSymmetricWord = "symmetric", kUnweightedWord = "unweighted";

struct DimacsHeader {
  std::uint64_t vertices = 0, arcs = 0;
  std::uint64_t line = 0;   ///< number of the line with both counts
  bool symmetric = false;   ///< both directions of every edge are stored
  bool unweighted = false;  ///< arcs have weight 1 only because the format requires a weight
};

/// Parses the first line, if it is such a comment.
void TakeStated(std::string_view line, DimacsHeader& header) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.starts_with(kEdgesComment)) return;
  line.remove_prefix(kEdgesComment.size());
  header.symmetric = line.starts_with(kSymmetricWord);
  header.unweighted = line.ends_with(kUnweightedWord);
}

DimacsHeader ReadDimacsHeader(Input& input) {
  const std::string& name = input.name();
  DimacsHeader header;
  while (header.line == 0) {
    std::string_view line;
    if (!input.PeekLine(&line)) {
      FailAt(name, input.lines_skipped(),
             "the file ends before the line \"p sp VERTICES ARCS\": it is truncated, or not a .gr file");
    }
    LineCursor cursor(line);
    const std::uint64_t number = input.lines_skipped() + 1;
    if (number == 1) TakeStated(line, header);
    try {
      if (cursor.NextLine<'c'>()) {
        if (cursor.Peek() != 'p') cursor.Fail("{} comes before the line \"p sp VERTICES ARCS\"", Quote(cursor.Field()));
        cursor.SkipLetter();
        if (cursor.Peek() == '\n' || cursor.Field() != "sp") {
          cursor.Fail("{} is a problem of another kind; a graph is read from \"p sp VERTICES ARCS\"", Quote(line));
        }
        cursor.SkipField();
        header.vertices = cursor.Unsigned("vertex count");
        header.arcs = cursor.Unsigned("arc count");
        cursor.FinishLine();
        header.line = number;
      }
    } catch (const LineError& error) {
      FailAt(name, number, error.what());
    }
    input.SkipLine();
  }
  CheckVertexCount(name, header.vertices, std::min(header.arcs, input.max_bytes() / kMinArcBytes + 1), header.line);
  return header;
}

}  // namespace

bool IsDimacs(Input& /*input*/, std::string_view head) {
  const bool letter_alone = head.size() == 1 || head[1] == ' ' || head[1] == '\t' || head[1] == '\r' || head[1] == '\n';
  if (!letter_alone || (head[0] != 'c' && head[0] != 'p' && head[0] != 'a')) return false;
  // Arcs have numbers: a line with words for ids, such as "a b", is no arc.
  const std::size_t next = head.find_first_not_of(" \t", 1);
  return head[0] != 'a' || next == std::string_view::npos || !std::isalpha(static_cast<unsigned char>(head[next]));
}

StatedCounts PeekDimacs(Input& input) {
  const DimacsHeader header = ReadDimacsHeader(input);
  StatedCounts counts;
  counts.vertices = header.vertices;
  counts.entries = header.arcs;
  counts.entry_bytes = kMinArcBytes;
  counts.symmetric = header.symmetric;
  counts.weights = header.unweighted ? WeightKind::kNone : WeightKind::kInt32;
  counts.line = header.line;
  return counts;
}

RawGraph ReadDimacs(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const DimacsHeader header = ReadDimacsHeader(input);
  const std::uint64_t vertices = header.vertices, arcs = header.arcs, size_line = header.line;

  // The format specifies integers only. Other programs also write reals, and so does this writer for a graph with real
  // weights.
  constexpr WeightText kWeights = WeightText::kAny;
  PromisedCount count(name, size_line, "arcs", arcs);
  ParsedEdges parsed = ParseChunks(input, kWeights, options.threads, [&](LineCursor& cursor, EdgeSink& sink) {
    while (cursor.NextLine<'c'>()) {
      if (cursor.Peek() != 'a') [[unlikely]] {
        if (cursor.Peek() == 'p') cursor.Fail("a second \"p\" line; the first is line {}", size_line);
        cursor.Fail("{} is not a line of a .gr file; lines begin with c, p or a", Quote(cursor.Field()));
      }
      cursor.SkipLetter();
      const std::uint64_t source = cursor.Unsigned("source id");
      const std::uint64_t target = cursor.Unsigned("target id");
      if (source - 1 >= vertices || target - 1 >= vertices) [[unlikely]] {  // 0 wraps to the largest value
        if (source == 0 || target == 0) cursor.Fail("id 0 in a file that numbers from 1");
        cursor.Fail("id {} exceeds the {} vertices of the header (line {})", std::max(source, target), vertices, size_line);
      }
      sink.AddWeighted(static_cast<VertexId>(source - 1), static_cast<VertexId>(target - 1), cursor);
      cursor.FinishLine();
    }
    count.Add(sink.size());
  });
  if (parsed.size() != arcs) {
    FailAt(name, size_line,
           fmt::format("the header promises {} arcs, but the file holds {} in its {} lines: it is {}", arcs, parsed.size(),
                       parsed.lines, parsed.size() < arcs ? "truncated, or the header is wrong" : "inconsistent"));
  }
  RawGraph raw;
  raw.vertices = static_cast<VertexId>(vertices);
  raw.edges = std::move(parsed.pieces);
  raw.first_id = 1;
  raw.lines = parsed.lines;
  raw.stated_symmetric = header.symmetric;
  for (EdgeList& piece : raw.edges) {
    if (!header.unweighted) break;
    const auto* const weights = std::get_if<Array<std::int32_t>>(&piece.weights);
    if (weights == nullptr || std::any_of(weights->begin(), weights->end(), [](std::int32_t w) { return w != 1; })) {
      FailAt(name, 1,
             "says \"unweighted\", but some arc has another weight than 1; remove the word, or write the file again");
    }
    piece.weights = std::monostate{};
  }
  WarnOfRoundedIntegers(name, raw.edges, parsed.reals);
  return raw;
}

void WriteDimacs(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  const Adjacency& out = graph.out();
  const bool unweighted = graph.weight_kind() == WeightKind::kNone && graph.edges() > 0;
  if (graph.symmetric() || unweighted) {
    output.Write(fmt::format("{}{}{}{}\n", kEdgesComment, graph.symmetric() ? kSymmetricWord : "",
                             graph.symmetric() && unweighted ? ", " : "", unweighted ? kUnweightedWord : ""));
  }
  output.Write(fmt::format("p sp {} {}\n", graph.vertices(), graph.edges()));
  std::visit(
      [&](const auto& weights) {
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
            output.Write("a ");
            output.Number(std::uint64_t{v} + 1);
            output.Letter(' ');
            output.Number(std::uint64_t{out.neighbours[e]} + 1);
            output.Letter(' ');
            if constexpr (std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
              output.Letter('1');
            } else {
              WriteWeight(output, weights[e]);
            }
            output.Letter('\n');
          }
        }
      },
      out.weights);
}

}  // namespace chatty::io
