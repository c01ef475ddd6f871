// The serialised graphs of the GAP benchmark suite, little-endian and without alignment:
//
//   directed        u8, 0 or 1
//   edges, vertices 2 x i64; an undirected edge counts twice
//   offsets         (vertices + 1) x i64
//   neighbours      edges x i32 (.sg), or edges x {i32 neighbour, i32 weight} (.wsg)
//
// A directed graph continues with offsets and neighbours of the in-edges. The length determines whether there are weights.

#include <limits>
#include <optional>

#include "chatty/io/formats.h"
#include "chatty/io/rows.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

constexpr std::uint64_t kMaxGapIds = std::uint64_t{1} << 31;
constexpr std::size_t kGapHeaderBytes = 17;

struct GapHeader {
  bool directed = false;
  std::uint64_t edges = 0, vertices = 0;

  std::uint64_t offsets_bytes() const { return (vertices + 1) * sizeof(std::uint64_t); }
  /// Bytes after the header, with `entry` bytes for each edge.
  std::uint64_t bytes(std::size_t entry) const { return (directed ? 2 : 1) * (offsets_bytes() + edges * entry); }
};

GapHeader ReadGapHeader(Input& input, ArrayReader& reader) {
  const std::string& name = input.name();
  const auto directed = reader.ReadOne<std::uint8_t>();
  GapHeader header;
  header.directed = directed == 1;
  header.edges = reader.ReadOne<std::uint64_t>();
  header.vertices = reader.ReadOne<std::uint64_t>();
  constexpr std::uint64_t kMaxEdges = std::uint64_t{1} << 58;  // keeps sizes far from overflow
  if (directed > 1 || header.edges > kMaxEdges || header.vertices >= kMaxGapIds) {
    Throw<InputError>(
        "{}: its header states {} vertices and {} edges and {} where 0 or 1 says whether they are directed, which is "
        "impossible in a graph of GAP: the file is damaged, or no such graph",
        name, static_cast<std::int64_t>(header.vertices), static_cast<std::int64_t>(header.edges), directed);
  }
  reader.ExpectRoom(header.vertices + 1, sizeof(std::uint64_t));
  CheckVertexCount(name, header.vertices);
  return header;
}

/// Whether there are weights; unknown if the input's length is.
std::optional<bool> GapWeighted(const Input& input, const GapHeader& header) {
  const auto left = input.remaining();
  if (!left) return std::nullopt;
  return header.edges > 0 && *left == header.bytes(8);
}

Array<EdgeIndex> ReadGapOffsets(ArrayReader& reader, const GapHeader& header, int threads) {
  Array<EdgeIndex> offsets = reader.Read<EdgeIndex>(header.vertices + 1);
  CheckOffsets(reader.name(), offsets, header.edges, threads);
  return offsets;
}

/// Whether the words read so far are all neighbours of the out-edges, rather than the first half of neighbours and weights.
/// The following bytes determine it.
bool GapEndsHere(Input& input, const GapHeader& header) {
  if (!header.directed) return input.Peek(1).empty();
  const std::string_view next = input.Peek(header.offsets_bytes());  // the in-edges' offsets, if the out-edges end here
  if (next.size() < header.offsets_bytes()) return true;             // the code that reads them reports the error
  std::uint64_t last = 0;
  for (std::uint64_t v = 0; v <= header.vertices; ++v) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, next.data() + v * sizeof offset, sizeof offset);
    if (offset < last || (v == 0 && offset != 0)) return false;
    last = offset;
  }
  return last == header.edges;
}

/// Converts words to ids of this build.
template <class Id = VertexId>
Array<Id> GapIds(Array<std::uint32_t> words, int threads) {
  if constexpr (std::is_same_v<Id, std::uint32_t>) {
    return words;
  } else {
    Array<Id> ids(words.size());
    ParallelFor(words.size(), threads, [&](std::size_t i) { ids[i] = words[i]; });
    return ids;
  }
}

/// Reads neighbours, and weights if there are any, when only the following bytes determine this. Returns whether there are
/// weights.
bool ReadGapStream(Input& input, ArrayReader& reader, const GapHeader& header, Adjacency& out, int threads) {
  Array<std::uint32_t> words = reader.Read<std::uint32_t>(header.edges);
  const bool weighted = header.edges > 0 && !GapEndsHere(input, header);
  if (weighted) {
    input.Claim(header.edges * sizeof(std::int32_t));
    // In place: word 2i becomes word i, which has been read already. The other half is filled as it arrives.
    Array<std::int32_t> weights(words.size());
    const auto put = [&](std::uint64_t i, std::uint32_t word) {
      if (i % 2 == 0) {
        words[i / 2] = word;
      } else {
        weights[i / 2] = static_cast<std::int32_t>(word);
      }
    };
    for (std::uint64_t i = 0; i < header.edges; ++i) put(i, words[i]);
    reader.ReadPieces(header.edges, sizeof(std::uint32_t), [&](std::uint64_t first, const char* at, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, at + i * sizeof word, sizeof word);
        put(header.edges + first + i, word);
      }
    });
    out.weights = std::move(weights);
  }
  out.neighbours = GapIds(std::move(words), threads);
  return weighted;
}

void ReadGapPairs(Input& input, ArrayReader& reader, const GapHeader& header, Adjacency& out, int threads) {
  reader.ExpectRoom(header.edges, 8);
  input.Claim(header.edges * (sizeof(VertexId) + sizeof(std::int32_t)));
  out.neighbours = Array<VertexId>(header.edges);
  Array<std::int32_t> weights(header.edges);
  reader.ReadPieces(header.edges, 8, [&](std::uint64_t first, const char* at, std::size_t n) {
    ParallelChunks(n, threads, std::size_t{1} << 18, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::uint32_t id = 0;
        std::memcpy(&id, at + 8 * i, sizeof id);
        out.neighbours[first + i] = id;
        std::memcpy(&weights[first + i], at + 8 * i + sizeof id, sizeof(std::int32_t));
      }
    });
  });
  out.weights = std::move(weights);
}

/// Writes the offsets and neighbours of one direction.
void WriteGapRows(OutputFile& output, const Adjacency& rows, bool pairs, const std::string& path) {
  if (rows.offsets.empty()) WriteBytes(output, std::uint64_t{0});
  WriteArray<std::uint64_t>(output, rows.offsets.span());
  if (!pairs) {
    WriteArray<std::uint32_t>(output, rows.neighbours.span());
    return;
  }
  const IntegerWeights weights(rows, path);
  for (EdgeIndex e = 0; e < rows.neighbours.size(); ++e) {
    WriteBytes(output, static_cast<std::uint32_t>(rows.neighbours[e]));
    WriteBytes(output, weights[e]);
  }
}

}  // namespace

bool IsGap(Input& input, std::string_view /*head*/) {
  const std::string_view begin = input.Peek(kGapHeaderBytes + 2 * (sizeof(std::uint64_t) * 2) + 1);
  if (begin.size() < kGapHeaderBytes + sizeof(std::uint64_t)) return false;
  std::uint64_t words[3];  // edges, vertices, the first offset
  std::memcpy(words, begin.data() + 1, sizeof words);
  const auto directed = static_cast<unsigned char>(begin[0]);
  if (directed > 1 || words[1] >= kMaxGapIds || words[2] != 0) return false;
  // A file of zeros only is no graph, unless it has exactly the length of one without vertices.
  return words[1] > 0 || (words[0] == 0 && begin.size() == kGapHeaderBytes + (directed + 1) * sizeof(std::uint64_t));
}

StatedCounts PeekGap(Input& input) {
  ArrayReader reader(input, 1);
  const GapHeader header = ReadGapHeader(input, reader);
  // In a compressed file, only decompression of the whole file shows whether there are weights: assume there are.
  const std::optional<bool> weighted = GapWeighted(input, header);
  const std::uint64_t directions = header.directed ? 2 : 1;
  StatedCounts counts;
  counts.vertices = header.vertices;
  counts.entries = header.edges;
  counts.entry_bytes = directions * (weighted.value_or(false) ? 8 : 4);
  counts.other_bytes = kGapHeaderBytes + directions * header.offsets_bytes();
  counts.symmetric = !header.directed;
  counts.weights = weighted.value_or(true) ? WeightKind::kInt32 : WeightKind::kNone;
  return counts;
}

RawGraph ReadGap(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const int threads = options.threads;
  ArrayReader reader(input, threads);
  const GapHeader header = ReadGapHeader(input, reader);
  std::optional<bool> weighted = GapWeighted(input, header);
  if (weighted && !*weighted && *input.remaining() != header.bytes(4)) {
    Throw<InputError>(
        "{}: is {} bytes long behind its header, where its {} vertices and {} edges take {} (.sg) or with weights {} "
        "(.wsg): "
        "the file is {}; write or fetch it again",
        name, *input.remaining(), header.vertices, header.edges, header.bytes(4), header.bytes(8),
        *input.remaining() < header.bytes(8) ? "truncated" : "damaged");
  }
  Adjacency out;
  out.offsets = ReadGapOffsets(reader, header, threads);
  if (!weighted) {
    weighted = ReadGapStream(input, reader, header, out, threads);
  } else if (*weighted) {
    ReadGapPairs(input, reader, header, out, threads);
  } else {
    out.neighbours = reader.ReadAs<VertexId, std::uint32_t>(header.edges, [](std::uint32_t id) { return VertexId{id}; });
  }
  if (header.directed) {  // the in-edges contain no new information
    static_cast<void>(ReadGapOffsets(reader, header, threads));
    reader.Skip(header.edges * (*weighted ? 8 : 4));
  }
  reader.ExpectEnd();
  WarnOfFloatBits(name, out.weights, threads);
  CheckRows(name, out, threads);
  SortLists(out, threads);
  if (!header.directed && !IsSymmetric(out, threads)) {
    Throw<InputError>(
        "{}: says that its graph is undirected, but holds edges without their reverse, or with another weight: the file is "
        "damaged; write it again",
        name);
  }
  RawGraph raw;
  raw.rows = std::move(out);
  raw.symmetric = !header.directed;
  return raw;
}

void WriteGap(const Graph& graph, OutputFile& output, const std::string& path) {
  const bool weighted = graph.weight_kind() != WeightKind::kNone;
  if (weighted && EndsIn(path, ".sg")) {
    Throw<UsageError>("{}: a .sg file holds no weights, which this graph has; name it .wsg", path);
  }
  if (graph.vertices() >= kMaxGapIds) {
    Throw<CapabilityError>("{}: GAP's graphs have fewer than 2^31 vertices, this one has {}; write .chatty or .el", path,
                           graph.vertices());
  }
  const bool pairs = weighted || EndsIn(path, ".wsg");
  if (pairs) static_cast<void>(IntegerWeights(graph.out(), path));  // throws before anything is written
  WriteBytes(output, static_cast<std::uint8_t>(graph.symmetric() ? 0 : 1));
  WriteBytes(output, std::uint64_t{graph.edges()});
  WriteBytes(output, std::uint64_t{graph.vertices()});
  WriteGapRows(output, graph.out(), pairs, path);
  if (!graph.symmetric()) WriteGapRows(output, graph.in(), pairs, path);
}

}  // namespace chatty::io
