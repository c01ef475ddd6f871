// The project's own format: a Graph's arrays as in memory, after a header with their sizes and a checksum of each.
//
//   header (below)
//   note         note_bytes bytes from the file's writer, and zeros up to a multiple of 8: offsets and neighbours are
//                aligned in a mapped file
//   offsets      (vertices + 1) x u64
//   neighbours   edges x id_bytes
//   weights      edges x 4 bytes, unless weight_kind is none
//   ids          if flagged: vertices x u64, ascending
//   labels       if flagged: one label per vertex, each as u32 length and bytes

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/io/checksum.h"
#include "chatty/io/formats.h"
#include "chatty/io/rows.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kSymmetricFlag = 1;
constexpr std::uint32_t kLabelsFlag = 2;
constexpr std::uint32_t kIdsFlag = 4;

struct BinaryHeader {
  char magic[8];
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint32_t id_bytes;
  std::uint32_t weight_kind;
  std::uint32_t flags;
  std::uint32_t first_id;
  std::uint64_t vertices;
  std::uint64_t edges;
  std::uint64_t label_bytes;
  std::uint64_t note_bytes;
  std::uint32_t offsets_crc;
  std::uint32_t neighbours_crc;
  std::uint32_t weights_crc;
  std::uint32_t ids_crc;
  std::uint32_t labels_crc;
  std::uint32_t note_crc;
  std::uint32_t reserved;
  std::uint32_t header_crc;  // of all preceding bytes
};
static_assert(sizeof(BinaryHeader) == 96 && offsetof(BinaryHeader, header_crc) == 92, "the layout is the format");

template <class T>
std::string_view Bytes(const Array<T>& array) {
  return {reinterpret_cast<const char*>(array.data()), array.bytes()};
}

class Reader : public ArrayReader {
 public:
  /// `in_place`: if the file is mapped, arrays are views of it.
  Reader(Input& input, int threads, bool in_place = false)
      : ArrayReader(input, threads), threads_(threads), in_place_(in_place) {}

  /// Reads `count` elements and checks their checksum `crc`.
  template <class T>
  Array<T> Section(std::uint64_t count, std::uint32_t crc, std::string_view what) {
    return Section<T>(count, crc, what, nullptr);
  }
  /// As above, and calls look(all, begin, end) for pieces that together are the elements.
  template <class T, class Look>
  Array<T> Section(std::uint64_t count, std::uint32_t crc, std::string_view what, Look look) {
    std::optional<Array<T>> view;
    if (in_place_) view = ViewMapped<T>(count);
    Array<T> all = view ? std::move(*view) : Read<T>(count);
    std::function<void(std::size_t, std::size_t)> look_at;
    if constexpr (!std::is_null_pointer_v<Look>) {
      look_at = [&](std::size_t begin, std::size_t end) { look(all, begin / sizeof(T), end / sizeof(T)); };
    }
    if (Checksum(all.data(), all.bytes(), threads_, look_at) != crc) {
      Throw<InputError>("{}: the checksum of its {} is wrong: the file is damaged; write or fetch it again", name(), what);
    }
    return all;
  }

 private:
  int threads_;
  bool in_place_;
};

BinaryHeader ReadBinaryHeader(Input& input) {
  const std::string& name = input.name();
  BinaryHeader header{};
  if (input.Read(&header, sizeof header) != sizeof header) {
    Throw<InputError>("{}: ends inside its header: the file is truncated; write or fetch it again", name);
  }
  if (std::string_view(header.magic, sizeof header.magic) != kBinaryMagic)
    Throw<InputError>("{}: is not a binary graph file", name);
  if (header.byte_order != kByteOrder) {
    Throw<InputError>("{}: was written on a machine of the other byte order; convert it there to a text format", name);
  }
  if (header.version != kVersion) {  // the layout after the version may differ
    Throw<InputError>("{}: has version {} of the binary format, this build reads version {}; convert the graph again", name,
                      header.version, kVersion);
  }
  if (Checksum(&header, offsetof(BinaryHeader, header_crc), 1) != header.header_crc) {
    Throw<InputError>("{}: the checksum of its header is wrong: the file is damaged; write or fetch it again", name);
  }
  if ((header.id_bytes != 4 && header.id_bytes != 8) ||
      header.weight_kind > static_cast<std::uint32_t>(WeightKind::kFloat32) || header.first_id > 1 ||
      header.edges > std::numeric_limits<std::uint64_t>::max() / 8 ||
      (header.flags & ~(kSymmetricFlag | kLabelsFlag | kIdsFlag)) != 0 || header.reserved != 0) {
    Throw<InputError>("{}: its header contradicts itself: the file is damaged; write it again", name);
  }
  ArrayReader(input, 1).ExpectRoom(header.vertices, sizeof(EdgeIndex));
  CheckVertexCount(name, header.vertices);
  return header;
}

/// Converts ids to the width of this build.
template <class From>
Array<VertexId> ConvertIds(Array<From> ids, std::uint64_t vertices, int threads, const std::string& name) {
  if constexpr (std::is_same_v<From, VertexId>) {
    return ids;
  } else {
    Array<VertexId> converted(ids.size());
    ParallelFor(ids.size(), threads, [&](std::size_t i) {
      if (ids[i] >= vertices)
        Throw<InputError>("{}: contains vertex {}, but the graph has {} vertices: the file is damaged", name, ids[i],
                          vertices);
      converted[i] = static_cast<VertexId>(ids[i]);
    });
    return converted;
  }
}

/// Whether neighbours [begin, end) are vertices, ascend strictly within their rows and are not loops.
template <class Id>
bool AreSimple(const Array<EdgeIndex>& offsets, const Array<Id>& neighbours, std::size_t begin, std::size_t end) {
  if (begin == end) return true;
  const std::size_t vertices = offsets.size() - 1;
  auto v = static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), begin) - offsets.begin() - 1);
  unsigned wrong = 0;  // a whole word, so that compilers use vector instructions
  for (std::size_t e = begin; e < end; ++v) {
    const std::size_t row_end = std::min<std::size_t>(end, offsets[v + 1]);
    if (e < row_end) {  // compares also with the last neighbour of the previous piece, if the row began there
      wrong |= neighbours[e] == v || (e > offsets[v] && neighbours[e - 1] >= neighbours[e]) ? 1 : 0;
      for (std::size_t i = e + 1; i < row_end; ++i) {
        wrong |= (neighbours[i] == v ? 1u : 0u) | (neighbours[i - 1] >= neighbours[i] ? 1u : 0u);
      }
      wrong |= neighbours[row_end - 1] >= vertices ? 1 : 0;
      e = row_end;
    }
  }
  return wrong == 0;
}

std::vector<std::string> ParseLabels(std::string_view bytes, std::uint64_t vertices, const std::string& name) {
  std::vector<std::string> labels;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    std::uint32_t size = 0;
    const bool sized = bytes.size() >= sizeof size;
    if (sized) std::memcpy(&size, bytes.data(), sizeof size);
    if (!sized || bytes.size() - sizeof size < size)
      Throw<InputError>("{}: the label of vertex {} is cut off: the file is damaged", name, v);
    labels.emplace_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(sizeof size + size);
  }
  if (!bytes.empty()) Throw<InputError>("{}: has more labels than vertices: the file is damaged", name);
  return labels;
}

std::string ReadNote(const BinaryHeader& header, Reader& reader) {
  if (header.note_bytes == 0) return {};
  const auto bytes = reader.Section<char>(header.note_bytes, header.note_crc, "note");
  std::string note(bytes.begin(), bytes.end());
  note.resize(note.find_last_not_of('\0') + 1);
  return note;
}

}  // namespace

bool IsBinary(Input& /*input*/, std::string_view head) { return head.starts_with(kBinaryMagic); }

std::string ReadBinaryNote(Input& input) {
  const BinaryHeader header = ReadBinaryHeader(input);
  Reader reader(input, 1);
  return ReadNote(header, reader);
}

StatedCounts PeekBinary(Input& input) {
  const BinaryHeader header = ReadBinaryHeader(input);
  StatedCounts counts;
  counts.vertices = header.vertices;
  counts.entries = header.edges;
  counts.weights = static_cast<WeightKind>(header.weight_kind);
  counts.entry_bytes = header.id_bytes + (counts.weights == WeightKind::kNone ? 0 : 4);
  counts.other_bytes = header.note_bytes + (header.vertices + 1) * sizeof(EdgeIndex);
  if ((header.flags & kIdsFlag) != 0) counts.other_bytes += header.vertices * sizeof(std::uint64_t);
  counts.symmetric = (header.flags & kSymmetricFlag) != 0;
  return counts;
}

RawGraph ReadBinary(Input& input, const ReadOptions& options) {
  const int threads = options.threads;
  const BinaryHeader header = ReadBinaryHeader(input);
  const std::string& name = input.name();
  Reader reader(input, threads, options.in_place);
  RawGraph raw;
  raw.writers_note = ReadNote(header, reader);
  Adjacency out;
  out.offsets = reader.Section<EdgeIndex>(header.vertices + 1, header.offsets_crc, "offsets");
  CheckOffsets(name, out.offsets, header.edges, threads);  // the loop below checks the rows
  std::atomic<bool> simple{true};
  const auto look = [&](const auto& ids, std::size_t begin, std::size_t end) {
    if (simple.load(std::memory_order_relaxed) && !AreSimple(out.offsets, ids, begin, end)) simple = false;
  };
  if (header.id_bytes == 4) {
    out.neighbours = ConvertIds(reader.Section<std::uint32_t>(header.edges, header.neighbours_crc, "neighbours", look),
                                header.vertices, threads, name);
  } else {
    out.neighbours = ConvertIds(reader.Section<std::uint64_t>(header.edges, header.neighbours_crc, "neighbours", look),
                                header.vertices, threads, name);
  }
  switch (static_cast<WeightKind>(header.weight_kind)) {
    case WeightKind::kNone:
      break;
    case WeightKind::kInt32:
      out.weights = reader.Section<std::int32_t>(header.edges, header.weights_crc, "weights");
      break;
    case WeightKind::kFloat32:
      out.weights = reader.Section<float>(header.edges, header.weights_crc, "weights");
      break;
  }
  if ((header.flags & kIdsFlag) != 0) raw.ids = reader.Section<std::uint64_t>(header.vertices, header.ids_crc, "ids");
  if ((header.flags & kLabelsFlag) != 0) {
    const auto bytes = reader.Section<char>(header.label_bytes, header.labels_crc, "labels");
    raw.labels = ParseLabels({bytes.data(), bytes.size()}, header.vertices, name);
  }
  reader.ExpectEnd();
  // A checksum detects accidents, not forgery. If the lists are not simple, the Graph checks the rest.
  CheckWeights(name, out, threads);
  raw.rows = std::move(out);
  raw.simple = simple;
  raw.symmetric = (header.flags & kSymmetricFlag) != 0;
  raw.first_id = static_cast<int>(header.first_id);
  return raw;
}

void WriteBinary(const Graph& graph, OutputFile& output, std::string_view note) {
  const Adjacency& out = graph.out();
  std::string padded(note);
  padded.resize((note.size() + 7) / 8 * 8, '\0');
  note = padded;
  CHATTY_CHECK(graph.labels().empty() || graph.labels().size() == graph.vertices(), "{} labels for {} vertices",
               graph.labels().size(), graph.vertices());
  std::string labels;
  for (const std::string& label : graph.labels()) {
    const auto size = static_cast<std::uint32_t>(label.size());
    labels.append(reinterpret_cast<const char*>(&size), sizeof size).append(label);
  }
  Array<EdgeIndex> no_vertices;  // a graph without vertices may lack offsets in memory, but not in a file
  if (out.offsets.empty()) no_vertices = Array<EdgeIndex>(1, 0);
  const std::string_view offsets = Bytes(out.offsets.empty() ? no_vertices : out.offsets);
  const std::string_view neighbours = Bytes(out.neighbours);
  const std::string_view ids = Bytes(graph.ids());
  const std::string_view weights = std::visit(
      [](const auto& array) -> std::string_view {
        if constexpr (std::is_same_v<std::decay_t<decltype(array)>, std::monostate>) {
          return {};
        } else {
          return Bytes(array);
        }
      },
      out.weights);

  BinaryHeader header{};
  std::copy(kBinaryMagic.begin(), kBinaryMagic.end(), header.magic);
  header.byte_order = kByteOrder;
  header.version = kVersion;
  header.id_bytes = sizeof(VertexId);
  header.weight_kind = static_cast<std::uint32_t>(graph.weight_kind());
  header.flags = (graph.symmetric() ? kSymmetricFlag : 0) | (graph.labels().empty() ? 0 : kLabelsFlag) |
                 (graph.ids().empty() ? 0 : kIdsFlag);
  header.first_id = static_cast<std::uint32_t>(graph.first_id());
  header.vertices = graph.vertices();
  header.edges = graph.edges();
  header.label_bytes = labels.size();
  header.note_bytes = note.size();
  header.offsets_crc = Checksum(offsets.data(), offsets.size(), 0);
  header.neighbours_crc = Checksum(neighbours.data(), neighbours.size(), 0);
  header.weights_crc = Checksum(weights.data(), weights.size(), 0);
  header.ids_crc = Checksum(ids.data(), ids.size(), 0);
  header.labels_crc = Checksum(labels.data(), labels.size(), 0);
  header.note_crc = Checksum(note.data(), note.size(), 0);
  header.header_crc = Checksum(&header, offsetof(BinaryHeader, header_crc), 1);

  output.Write({reinterpret_cast<const char*>(&header), sizeof header});
  for (const std::string_view section : {note, offsets, neighbours, weights, ids, std::string_view(labels)})
    output.Write(section);
}

}  // namespace chatty::io
