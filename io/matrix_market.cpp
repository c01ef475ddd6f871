// Matrix Market coordinate files: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

constexpr std::string_view kBanner = "%%MatrixMarket";

constexpr std::string_view kBannerForm = "%%MatrixMarket matrix coordinate FIELD SYMMETRY";

/// The words of a line that is a banner or a faulty banner, beginning with "matrixmarket"; empty for any other line. Faulty
/// banners have other characters before the word, or another first word before words that have no other meaning.
std::vector<std::string> BannerWords(std::string_view line) {
  constexpr std::string_view kFields = " real double integer unsigned-integer complex pattern ";
  constexpr std::string_view kSymmetries = " general symmetric skew-symmetric hermitian ";
  const auto among = [](std::string_view list, const std::string& word) {
    return list.find(" " + word + " ") != std::string_view::npos;
  };
  std::vector<std::string> words = Words(WithoutComment(line));
  if (words.size() > 1 && words[0] == "matrix" && words[1] == "market") {
    words.erase(words.begin());
    words[0] = "matrixmarket";
  }
  const std::size_t count = words.size();
  const bool says_all = count >= 3 && (words[count - 3] == "coordinate" || words[count - 3] == "array") &&
                        among(kFields, words[count - 2]) && among(kSymmetries, words[count - 1]);
  if (count > 0 && words[0] == "matrixmarket") {
    const std::size_t first = line.find_first_not_of(" \t");
    // Comments may contain any text, including the name of the file's origin.
    const bool starts_one = line[first] != '#' && (line.starts_with("%%") || count == 1 || words[1] == "matrix");
    return starts_one || says_all ? words : std::vector<std::string>();
  }
  if (!says_all) return {};
  return {"matrixmarket", "matrix", words[count - 3], words[count - 2], words[count - 1]};
}

bool IsExactBanner(std::string_view line) {
  return line.size() >= kBanner.size() && Words(line.substr(0, kBanner.size())) == Words(kBanner);
}

struct Banner {
  WeightText weights = WeightText::kNone;
  bool symmetric = false;
};

Banner ParseBanner(const std::vector<std::string>& words, std::uint64_t line, const std::string& name) {
  if (words.size() != 5 || words[0] != "matrixmarket") {
    FailAt(name, line,
           fmt::format("the banner, which is the first line, should read {}; --format edge-list reads lines of two ids",
                       kBannerForm));
  }
  const auto refuse = [&](const std::string& word, std::string_view known) {
    FailAt(name, line, fmt::format("{} is not supported: {}", Quote(word), known));
  };
  if (words[1] != "matrix") refuse(words[1], "only a matrix is a graph");
  if (words[2] != "coordinate") refuse(words[2], "a graph is read from coordinate format; convert the file to it");
  Banner banner;
  const std::string& field = words[3];
  if (field == "real" || field == "double") {
    banner.weights = WeightText::kReal;
  } else if (field == "integer" || field == "unsigned-integer") {
    banner.weights = WeightText::kInteger;
  } else if (field != "pattern") {
    refuse(field, "fields are pattern, integer and real");
  }
  const std::string& symmetry = words[4];
  if (symmetry == "symmetric") {
    banner.symmetric = true;
  } else if (symmetry != "general") {
    refuse(symmetry, "symmetries are general and symmetric; store both triangles as general");
  }
  return banner;
}

struct MatrixMarketHeader {
  Banner banner;
  std::uint64_t banner_line = 0;
  bool exact = true;  ///< the banner is the first line, as the format requires
  std::uint64_t rows = 0, entries = 0;
  std::uint64_t line = 0;  ///< number of the line with both counts

  /// The length of "1 1" or "1 1 1" with a line end.
  std::size_t least_entry_bytes() const { return banner.weights == WeightText::kNone ? 4 : 6; }
};

/// Reads the banner and the line with the counts.
MatrixMarketHeader ReadMatrixMarketHeader(Input& input) {
  const std::string& name = input.name();
  std::string_view line;
  MatrixMarketHeader header;
  std::string first;
  std::vector<std::string> words;
  for (; words.empty(); input.SkipLine()) {
    const bool more = input.PeekLine(&line);
    if (more && input.lines_skipped() == 0) first = Quote(line);
    const std::size_t begin = more ? line.find_first_not_of(" \t") : std::string_view::npos;
    if (more) words = BannerWords(line);
    if (!more || (words.empty() && begin != std::string_view::npos && line[begin] != '%' && line[begin] != '#')) {
      FailAt(name, 1, fmt::format("begins with {}; the first line should read {}", first, kBannerForm));
    }
    header.banner_line = input.lines_skipped() + 1;
    header.exact = header.banner_line == 1 && IsExactBanner(line);
  }
  header.banner = ParseBanner(words, header.banner_line, name);

  std::uint64_t columns = 0;
  while (header.line == 0) {
    if (!input.PeekLine(&line)) {
      FailAt(name, input.lines_skipped(), "the file ends before the line \"rows columns entries\": it is truncated");
    }
    LineCursor cursor(line);
    try {
      if (cursor.NextLine<'%'>()) {
        header.rows = cursor.Unsigned("row count");
        columns = cursor.Unsigned("column count");
        header.entries = cursor.Unsigned("entry count");
        cursor.FinishLine();
        header.line = input.lines_skipped() + 1;
      }
    } catch (const LineError&) {
      FailAt(name, input.lines_skipped() + 1, fmt::format("{} should be the line \"rows columns entries\"", Quote(line)));
    }
    input.SkipLine();
  }
  if (header.rows != columns) {
    FailAt(name, header.line, fmt::format("the matrix is {} by {}; a graph needs a square one", header.rows, columns));
  }
  CheckVertexCount(name, header.rows, std::min(header.entries, input.max_bytes() / header.least_entry_bytes() + 1),
                   header.line);
  return header;
}

}  // namespace

bool IsMatrixMarket(Input& /*input*/, std::string_view head) {
  bool found = false;
  VisitLeadingLines(head, [&](std::string_view line, std::uint64_t) {
    found = IsExactBanner(line) || !BannerWords(line).empty();
    return found;
  });
  return found;
}

StatedCounts PeekMatrixMarket(Input& input) {
  const MatrixMarketHeader header = ReadMatrixMarketHeader(input);
  StatedCounts counts;
  counts.vertices = header.rows;
  counts.entries = header.entries;
  counts.entry_bytes = header.least_entry_bytes();
  counts.stored_once = header.banner.symmetric;
  counts.weights = header.banner.weights == WeightText::kNone   ? WeightKind::kNone
                   : header.banner.weights == WeightText::kReal ? WeightKind::kFloat32
                                                                : WeightKind::kInt32;
  counts.line = header.line;
  return counts;
}

RawGraph ReadMatrixMarket(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const MatrixMarketHeader header = ReadMatrixMarketHeader(input);
  const Banner& banner = header.banner;
  const std::uint64_t rows = header.rows, entries = header.entries, size_line = header.line;
  if (!header.exact) {
    Log().warn("{}:{}: is nearly a banner of Matrix Market, and taken for one; the first line should read {}{}", name,
               header.banner_line, kBannerForm,
               options.format ? "" : " (--format edge-list reads the file as lines of edges)");
  }

  PromisedCount count(name, size_line, "entries", entries);
  ParsedEdges parsed = ParseChunks(input, banner.weights, options.threads, [&](LineCursor& cursor, EdgeSink& sink) {
    while (cursor.NextLine<'%'>()) {
      const std::uint64_t row = cursor.Unsigned("row id");
      const std::uint64_t column = cursor.Unsigned("column id");
      if (row - 1 >= rows || column - 1 >= rows) [[unlikely]] {  // 0 wraps to the largest value
        if (row == 0 || column == 0) cursor.Fail("id 0 in a file that numbers from 1");
        cursor.Fail("id {} exceeds the {} rows and columns of the header (line {})", std::max(row, column), rows, size_line);
      }
      const auto source = static_cast<VertexId>(row - 1), target = static_cast<VertexId>(column - 1);
      if (banner.weights == WeightText::kNone) {
        sink.Add(source, target);
      } else {
        sink.AddWeighted(source, target, cursor);
      }
      cursor.FinishLine();
    }
    count.Add(sink.size());
  });
  if (parsed.size() != entries) {
    FailAt(name, size_line,
           fmt::format("the header promises {} entries, but the file holds {} in its {} lines: it is {}", entries,
                       parsed.size(), parsed.lines,
                       parsed.size() < entries ? "truncated, or the header is wrong" : "inconsistent"));
  }
  RawGraph raw;
  raw.vertices = static_cast<VertexId>(rows);
  raw.edges = std::move(parsed.pieces);
  raw.symmetric = banner.symmetric;
  raw.first_id = 1;
  raw.lines = parsed.lines;
  if (banner.weights == WeightText::kInteger) WarnOfRoundedIntegers(name, raw.edges);
  return raw;
}

void WriteMatrixMarket(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  constexpr std::array<std::string_view, 3> kFields = {"pattern", "integer", "real"};
  const Adjacency& out = graph.out();
  EdgeIndex entries = graph.edges();
  if (graph.symmetric()) {  // the file stores the lower triangle only
    entries = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      const auto list = out[v];
      entries += static_cast<EdgeIndex>(std::upper_bound(list.begin(), list.end(), v) - list.begin());
    }
  }
  output.Write(fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n",
                           kFields[static_cast<std::size_t>(graph.weight_kind())],
                           graph.symmetric() ? "symmetric" : "general", graph.vertices(), graph.vertices(), entries));
  std::visit(
      [&](const auto& weights) {
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
            const VertexId u = out.neighbours[e];
            if (graph.symmetric() && u > v) break;
            output.Number(std::uint64_t{v} + 1);
            output.Letter(' ');
            output.Number(std::uint64_t{u} + 1);
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
