// The out.* files of KONECT, the Koblenz network collection: Kunegis, "Handbook of Network Analysis: The KONECT Project",
// 2015.
//
//   % sym|asym|bip KIND          direction of the edges, or two sides; meaning of the third column
//   % EDGES VERTICES VERTICES    optional; for bip, the vertices of each side
//   FROM TO [NUMBER [TIME]]      one edge per line; ids from 1, for bip separately on each side

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

/// The meaning of the third column in a kind of network.
enum class KonectColumn : std::uint8_t {
  kOne,    ///< 1, present only if times follow
  kTimes,  ///< the number of parallel edges in this line
  kWeight,
  kEvent,  ///< 1 when the edge begins, -1 when it ends
};

struct KonectKind {
  std::string_view name;
  KonectColumn column;
  bool parallel;  ///< several lines may have the same two vertices
};

constexpr KonectKind kKonectKinds[] = {
    {"unweighted", KonectColumn::kOne, false},         {"positive", KonectColumn::kTimes, true},
    {"posweighted", KonectColumn::kWeight, false},     {"signed", KonectColumn::kWeight, false},
    {"multisigned", KonectColumn::kWeight, true},      {"weighted", KonectColumn::kWeight, false},
    {"multiweighted", KonectColumn::kWeight, true},    {"dynamic", KonectColumn::kEvent, true},
    {"multiposweighted", KonectColumn::kWeight, true},
};

const KonectKind* FindKonectKind(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kKonectKinds), std::end(kKonectKinds),
                                         [&](const KonectKind& kind) { return kind.name == name; });
  return found == std::end(kKonectKinds) ? nullptr : found;
}

/// The words of a line that is a header or a faulty one; empty for any other line.
std::vector<std::string> KonectWords(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || (line[first] != '%' && line[first] != '#')) return {};
  std::vector<std::string> words = Words(WithoutComment(line));
  if (words.empty() || (words[0] != "sym" && words[0] != "asym" && words[0] != "bip")) return {};
  const bool known = words.size() > 1 && FindKonectKind(words[1]) != nullptr;
  const bool meant = line[first] == '%' ? known || words.size() <= 2 : known && words.size() == 2;
  return meant ? words : std::vector<std::string>();
}

struct KonectHeader {
  bool symmetric = false, bipartite = false;
  const KonectKind* kind = nullptr;
  std::uint64_t line = 0;        ///< number of the header's line
  std::uint64_t sizes_line = 0;  ///< number of the line with the counts below; 0: there is none
  std::uint64_t edges = 0, left = 0, right = 0;

  bool weighted() const { return kind->column == KonectColumn::kWeight; }
  std::uint64_t vertices() const { return bipartite ? left + right : std::max(left, right); }
};

/// Reads the header, and the line of counts if there is one.
KonectHeader ReadKonectHeader(Input& input) {
  constexpr std::string_view kForm = "\"% sym|asym|bip KIND\"";
  const std::string& name = input.name();
  KonectHeader header;
  std::string_view line;
  for (std::vector<std::string> words; words.empty(); input.SkipLine()) {
    const bool more = input.PeekLine(&line);
    const std::size_t first = more ? line.find_first_not_of(" \t") : 0;
    if (!more || (first != std::string_view::npos && line[first] != '%' && line[first] != '#')) {
      FailAt(name, input.lines_skipped() + (more ? 1 : 0), fmt::format("the header {} is missing: write it first", kForm));
    }
    words = KonectWords(line);
    if (words.empty()) continue;
    header.line = input.lines_skipped() + 1;
    header.kind = words.size() > 1 ? FindKonectKind(words[1]) : nullptr;
    if (header.kind == nullptr) {
      std::string kinds;
      for (const KonectKind& kind : kKonectKinds) kinds.append(kinds.empty() ? "" : ", ").append(kind.name);
      FailAt(name, header.line, fmt::format("{} should be KONECT's header {}; kinds are {}", Quote(line), kForm, kinds));
    }
    if (header.kind->column == KonectColumn::kEvent) {
      FailAt(
          name, header.line,
          "a dynamic network, whose edges come and go, is not read; write the edges of one moment, and another kind here");
    }
    header.symmetric = words[0] != "asym";
    header.bipartite = words[0] == "bip";
  }
  if (!input.PeekLine(&line)) return header;
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] != '%') return header;
  LineCursor cursor(WithoutComment(line));
  try {
    const std::uint64_t edges = cursor.Unsigned("edge count");
    const std::uint64_t left = cursor.Unsigned("vertex count"), right = cursor.Unsigned("vertex count");
    cursor.FinishLine();
    header.edges = edges;
    header.left = left;
    header.right = right;
    header.sizes_line = input.lines_skipped() + 1;
  } catch (const LineError&) {  // some other comment
    return header;
  }
  input.SkipLine();
  constexpr std::uint64_t kMax = ~std::uint64_t{0} / 4;
  if (std::max({header.edges, header.left, header.right}) > kMax) {
    FailAt(name, header.sizes_line, fmt::format("{} are more than a file holds", Quote(line)));
  }
  CheckVertexCount(name, header.vertices(), std::min(header.edges, input.max_bytes() / 4 + 1), header.sizes_line);
  return header;
}

/// Skips a time, which may be any number.
void SkipTime(LineCursor& cursor) {
  const std::string_view field = cursor.Field();
  double time = 0;
  const auto [next, error] = std::from_chars(field.data(), field.data() + field.size(), time);
  if (error != std::errc() || next != field.data() + field.size()) {
    cursor.Fail("{} is not a time; the fourth column of KONECT's files has times", Quote(field));
  }
  cursor.SkipField();
}

void RaiseTo(std::atomic<std::uint64_t>& largest, std::uint64_t value) {
  for (std::uint64_t seen = largest; value > seen && !largest.compare_exchange_weak(seen, value);) {
  }
}

}  // namespace

bool IsKonect(Input& /*input*/, std::string_view head) {
  bool found = false;
  VisitLeadingLines(head, [&](std::string_view line, std::uint64_t) { return found = !KonectWords(line).empty(); });
  return found;
}

StatedCounts PeekKonect(Input& input) {
  const KonectHeader header = ReadKonectHeader(input);
  StatedCounts counts;
  counts.stored_once = header.symmetric;
  counts.weights = header.weighted() ? WeightKind::kInt32 : WeightKind::kNone;
  counts.entry_bytes = header.weighted() ? 6 : 4;  // "1 1 1" or "1 1", and a line end
  counts.most_vertices = header.sizes_line == 0;
  counts.most_entries = counts.most_vertices || header.kind->parallel;
  counts.line = header.sizes_line != 0 ? header.sizes_line : header.line;
  counts.entries = header.sizes_line != 0 ? header.edges : input.max_bytes() / counts.entry_bytes + 1;
  counts.vertices = header.sizes_line != 0 ? header.vertices() : counts.entries;
  return counts;
}

RawGraph ReadKonect(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const KonectHeader header = ReadKonectHeader(input);
  const bool sized = header.sizes_line != 0;
  const std::uint64_t most_left = !sized ? kNoVertex - 1 : header.bipartite ? header.left : header.vertices();
  const std::uint64_t most_right = !sized ? kNoVertex - 1 : header.bipartite ? header.right : header.vertices();
  const auto read_id = [&](LineCursor& cursor, const char* what, std::uint64_t most) {
    const std::uint64_t id = cursor.Unsigned(what);
    if (id - 1 >= most) [[unlikely]] {  // 0 wraps to the largest value
      if (id == 0) cursor.Fail("id 0 in a file that numbers from 1");
      if (sized) cursor.Fail("{} {} exceeds the {} of the header (line {})", what, id, most, header.sizes_line);
      cursor.Fail("id {} does not fit {}-bit vertex ids; use a build with CHATTY_VERTEX_BITS=64", id, 8 * sizeof(VertexId));
    }
    return id;
  };
  std::atomic<std::uint64_t> left{0}, right{0}, times{0}, copies{0};
  PromisedCount promise(name, header.sizes_line, "edges", sized ? header.edges : ~std::uint64_t{0});
  ParsedEdges parsed = ParseChunks(
      input, header.weighted() ? WeightText::kAny : WeightText::kNone, options.threads,
      [&](LineCursor& cursor, EdgeSink& sink) {
        std::uint64_t last_left = 0, last_right = 0, timed = 0, more = 0;
        while (cursor.NextLine<'%', '#'>()) {
          const std::uint64_t source = read_id(cursor, "source id", most_left);
          const std::uint64_t target = read_id(cursor, "target id", most_right);
          last_left = std::max(last_left, source);
          last_right = std::max(last_right, target);
          const auto from = static_cast<VertexId>(source - 1), to = static_cast<VertexId>(target - 1);
          if (header.weighted()) {
            sink.AddWeighted(from, to, cursor);
          } else {
            sink.Add(from, to);
            if (cursor.Peek() != '\n') {
              const std::uint64_t count = cursor.Whole("number of parallel edges");
              if (count == 0 || (count > 1 && header.kind->column == KonectColumn::kOne)) {
                cursor.Fail("{} parallel edges in a network that is {} by its header (line {})", count, header.kind->name,
                            header.line);
              }
              if (count > 1 && options.keep_parallel) {
                cursor.Fail("a line for {} parallel edges, of which one is read; leave out --keep-parallel", count);
              }
              if (count > (~std::uint64_t{0} >> 24)) cursor.Fail("{} parallel edges are more than a graph holds", count);
              more += count - 1;
            }
          }
          if (cursor.Peek() != '\n') {
            SkipTime(cursor);
            ++timed;
          }
          cursor.FinishLine();
        }
        RaiseTo(left, last_left);
        RaiseTo(right, last_right);
        times += timed;
        copies += more;
        promise.Add(sink.size());
      });
  if (sized && parsed.size() != header.edges && parsed.size() + copies != header.edges) {
    FailAt(name, header.sizes_line,
           fmt::format("the header promises {} edges, but the file holds {} in its {} lines: it is {}", header.edges,
                       parsed.size(), parsed.lines,
                       parsed.size() < header.edges ? "truncated, or the header is wrong" : "inconsistent"));
  }
  const std::uint64_t left_side = sized ? header.left : left.load();
  const std::uint64_t vertices = sized              ? header.vertices()
                                 : header.bipartite ? left + right
                                                    : std::max(left.load(), right.load());
  CheckVertexCount(name, vertices, parsed.size(), header.sizes_line);
  RawGraph raw;
  raw.vertices = static_cast<VertexId>(vertices);
  raw.edges = std::move(parsed.pieces);
  raw.symmetric = header.symmetric;
  raw.first_id = 1;
  raw.lines = parsed.lines;
  if (header.bipartite) {
    for (EdgeList& piece : raw.edges) {
      for (VertexId& target : piece.targets) target += static_cast<VertexId>(left_side);
    }
    raw.notes.push_back(
        fmt::format("two sides: ids 1 to {} are the left one's, and id k of the right one is {} + k", left_side, left_side));
  }
  if (copies > 0) raw.notes.push_back("numbers of parallel edges (column 3) left out: each line is one edge");
  if (times > 0) raw.notes.push_back("times (column 4) left out");
  WarnOfRoundedIntegers(name, raw.edges, parsed.reals);
  return raw;
}

}  // namespace chatty::io
