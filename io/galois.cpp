// The binary .gr format of Galois, versions 1 and 2, all little-endian:
//
//   version, bytes of an edge's data, vertices, edges   4 x u64
//   end of each vertex's edges                          vertices x u64
//   targets                                             edges x u32 (version 1) or u64 (version 2)
//   padding to a multiple of 8 bytes                    version 1 with an odd number of edges
//   edge data                                           edges x data bytes
//
// The file states the size of edge data, not its type. Data of 4 bytes is read as int32, data of 8 bytes as int64. The file
// does not state symmetry either; it is derived from the edges.

#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "chatty/core/logging.h"
#include "chatty/io/formats.h"
#include "chatty/io/rows.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

struct GaloisHeader {
  std::uint64_t version, data_bytes, vertices, edges;
};
static_assert(sizeof(GaloisHeader) == 32, "the layout is the format");

constexpr std::uint64_t kMaxGaloisIds = std::uint64_t{1} << 32;  // of version 1

GaloisHeader ReadGaloisHeader(Input& input, ArrayReader& reader) {
  const std::string& name = input.name();
  const auto header = reader.ReadOne<GaloisHeader>();
  if (header.version != 1 && header.version != 2) {
    Throw<InputError>("{}: is not a Galois graph: it begins with {}, but the version must be 1 or 2", name, header.version);
  }
  if (header.data_bytes != 0 && header.data_bytes != 4 && header.data_bytes != 8) {
    Throw<InputError>("{}: has {} bytes of data an edge; 4 or 8, or none, can be read as weights", name, header.data_bytes);
  }
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max() / 32;  // keeps sizes far from overflow
  if (header.vertices > kMax || header.edges > kMax || (header.version == 1 && header.vertices > kMaxGaloisIds)) {
    Throw<InputError>("{}: its header states {} vertices and {} edges, more than such a file can hold: it is damaged", name,
                      header.vertices, header.edges);
  }
  reader.ExpectRoom(header.vertices, sizeof(std::uint64_t));
  CheckVertexCount(name, header.vertices);
  return header;
}

/// Reads the data of all edges. Some of Galois' code writes 8 bytes of padding before them also in version 2, if the number
/// of edges is odd. Then 8 bytes are left over.
template <class T>
Array<T> ReadGaloisData(const GaloisHeader& header, Input& input, ArrayReader& reader) {
  Array<T> data = reader.Read<T>(header.edges);
  if (header.version == 2 && header.edges % 2 == 1 && input.Peek(9).size() == 8) {
    constexpr std::size_t kShift = 8 / sizeof(T);
    const Array<T> last = reader.Read<T>(kShift);
    for (std::size_t e = 0; e < data.size(); ++e) {
      data[e] = e + kShift < data.size() ? data[e + kShift] : last[e + kShift - data.size()];
    }
  }
  return data;
}

/// Weights from 32-bit data. Warns of negative values, which may be data of another type.
Weights TakeGaloisInt32(const std::string& name, Array<std::int32_t> data, int threads) {
  std::atomic<std::uint64_t> negative{0};
  ParallelChunks(data.size(), threads, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    negative += static_cast<std::uint64_t>(
        std::count_if(data.begin() + begin, data.begin() + end, [](std::int32_t weight) { return weight < 0; }));
  });
  if (negative > 0) {
    Log().warn(
        "{}: {} of its edges have negative weights, if their data are int32; the file does not say so, and where they are "
        "uint32 or float instead the weights are wrong",
        name, negative.load());
  }
  return data;
}

/// Weights from 64-bit data: int32 if all values fit, float otherwise.
Weights TakeGaloisInt64(const std::string& name, const Array<std::int64_t>& data, int threads) {
  std::atomic<std::int64_t> least{0}, most{0};
  ParallelChunks(data.size(), threads, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    std::int64_t low = 0, high = 0;
    for (std::size_t e = begin; e < end; ++e) {
      low = std::min(low, data[e]);
      high = std::max(high, data[e]);
      // The bits of any double, except 0 and the smallest ones, exceed this as an integer.
      constexpr std::int64_t kExact = std::int64_t{1} << 52;
      if (data[e] >= kExact || data[e] <= -kExact) {
        Throw<InputError>(
            "{}: edge {} has the weight {}, if its 8 bytes are an integer; they look like floating point, which cannot be "
            "read from this format; convert the graph with 4-byte integer weights",
            name, e, data[e]);
      }
    }
    for (std::int64_t seen = least; low < seen && !least.compare_exchange_weak(seen, low);) {
    }
    for (std::int64_t seen = most; high > seen && !most.compare_exchange_weak(seen, high);) {
    }
  });
  const auto convert = [&]<class T>(T) {
    Array<T> weights(data.size());
    ParallelFor(data.size(), threads, [&](std::size_t e) { weights[e] = static_cast<T>(data[e]); });
    return Weights(std::move(weights));
  };
  using Limits = std::numeric_limits<std::int32_t>;
  if (least >= Limits::min() && most <= Limits::max()) return convert(std::int32_t{});
  WarnOfRoundedWeights(name, static_cast<double>(-least > most ? least : most));
  return convert(float{});
}

}  // namespace

bool IsGalois(Input& input, std::string_view /*head*/) {
  std::array<std::uint64_t, 4> words;
  const std::string_view begin = input.Peek(sizeof words + 1);
  if (begin.size() < sizeof words) return false;
  std::memcpy(words.data(), begin.data(), sizeof words);
  const auto [version, data_bytes, vertices, edges] = words;
  constexpr std::uint64_t kMaxData = 64;  // larger sizes up to this are rejected later, with the reason
  if ((version != 1 && version != 2) || data_bytes > kMaxData) return false;
  // GAP's directed graph without vertices begins with the same bytes, but is longer.
  return vertices > 0 || edges > 0 || begin.size() == sizeof words;
}

StatedCounts PeekGalois(Input& input) {
  ArrayReader reader(input, 1);
  const GaloisHeader header = ReadGaloisHeader(input, reader);
  StatedCounts counts;
  counts.vertices = header.vertices;
  counts.entries = header.edges;
  counts.entry_bytes = (header.version == 1 ? 4 : 8) + header.data_bytes;
  counts.other_bytes = sizeof header + header.vertices * sizeof(std::uint64_t);
  counts.maybe_symmetric = true;
  if (header.data_bytes > 0) counts.weights = WeightKind::kInt32;
  return counts;
}

RawGraph ReadGalois(Input& input, const ReadOptions& options) {
  const std::string& name = input.name();
  const int threads = options.threads;
  ArrayReader reader(input, threads);
  const GaloisHeader header = ReadGaloisHeader(input, reader);
  Adjacency out;
  out.offsets = reader.ReadAs<EdgeIndex, std::uint64_t>(
      header.vertices, [](std::uint64_t end) { return end; }, /*lead=*/1);
  CheckOffsets(name, out.offsets, header.edges, threads);
  if (header.version == 1) {
    out.neighbours =
        reader.ReadAs<VertexId, std::uint32_t>(header.edges, [](std::uint32_t id) { return static_cast<VertexId>(id); });
    if (header.edges % 2 == 1) {
      // Some writers without data omit the padding.
      if (header.data_bytes > 0 || !input.Peek(1).empty()) reader.Skip(4);
    }
  } else {
    out.neighbours = reader.ReadAs<VertexId, std::uint64_t>(header.edges, [&](std::uint64_t id) {
      if (id >= header.vertices) {
        Throw<InputError>("{}: contains vertex {}, but the graph has {} vertices (counted from 0): the file is damaged",
                          name, id, header.vertices);
      }
      return static_cast<VertexId>(id);
    });
  }
  if (header.data_bytes == 4) {
    out.weights = TakeGaloisInt32(name, ReadGaloisData<std::int32_t>(header, input, reader), threads);
  } else if (header.data_bytes == 8) {
    out.weights = TakeGaloisInt64(name, ReadGaloisData<std::int64_t>(header, input, reader), threads);
  }
  reader.ExpectEnd();
  if (header.data_bytes == 4) WarnOfFloatBits(name, out.weights, threads);
  CheckRows(name, out, threads);
  SortLists(out, threads);
  RawGraph raw;
  raw.symmetric = !options.directed && IsSymmetric(out, threads);
  raw.rows = std::move(out);
  return raw;
}

void WriteGalois(const Graph& graph, OutputFile& output, const std::string& path) {
  const Adjacency& out = graph.out();
  const IntegerWeights weights(out, path);
  const bool weighted = graph.weight_kind() != WeightKind::kNone;
  const bool wide = sizeof(VertexId) > 4 && std::uint64_t{graph.vertices()} > kMaxGaloisIds;
  const std::uint64_t vertices = graph.vertices(), edges = graph.edges();
  WriteBytes(output, GaloisHeader{wide ? 2u : 1u, weighted ? 4u : 0u, vertices, edges});
  if (vertices > 0) WriteArray<std::uint64_t>(output, out.offsets.span().subspan(1));
  if (wide) {
    WriteArray<std::uint64_t>(output, out.neighbours.span());
  } else {
    WriteArray<std::uint32_t>(output, out.neighbours.span());
    if (edges % 2 == 1) WriteBytes(output, std::uint32_t{0});
  }
  for (EdgeIndex e = 0; weighted && e < edges; ++e) WriteBytes(output, weights[e]);
}

}  // namespace chatty::io
