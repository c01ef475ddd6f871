/// \file
/// A program's state on one device, as plain pointers that every step reads and writes.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "chatty/comm/encoding.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/framework/program.h"

namespace chatty {

/// The form of a vertex set.
enum class Form : std::uint8_t {
  kQueue,   ///< a list of local ids
  kBitmap,  ///< bit per vertex
  kAll,     ///< every owned vertex; not stored
};

/// A message's place in memory and on the wire: the message padded to a width of the hardware's atomics.
template <class Message>
struct alignas(sizeof(Message) <= 4   ? 4
               : sizeof(Message) <= 8 ? 8
                                      : 16) Slot {
  Message message;
};

/// Bytes of a Slot on the wire. An empty type has none: its arrival suffices.
template <class Slot>
inline constexpr std::size_t kWireBytes = sizeof(Slot);
template <class Message>
inline constexpr std::size_t kWireBytes<Slot<Message>> = std::is_empty_v<Message> ? 0 : sizeof(Slot<Message>);

/// A range of a hub's edges. Slices prevent that one block or thread alone processes a million edges.
struct Slice {
  LocalId vertex;
  std::uint32_t index;  ///< edges [index * kSliceEdges, (index + 1) * kSliceEdges) of the vertex's row
};
inline constexpr EdgeIndex kSliceEdges = 4096;
inline constexpr EdgeIndex kHubDegree = 2 * kSliceEdges;  ///< vertices with at least this degree are cut into slices
/// The most slices of rows with `edges` edges, the longest with `max_degree`: a row of d >= kHubDegree edges has at most 1.5
/// * d / kSliceEdges.
constexpr std::size_t SliceBound(EdgeIndex edges, EdgeIndex max_degree) {
  return max_degree < kHubDegree ? 0 : edges * 3 / (2 * kSliceEdges) + 1;
}

/// Counts the GPU blocks that have finished a kernel, so that the last block knows. All 0 between kernels. Atomic additions
/// to one word are serial, 12 ns each, so blocks count in groups, and then the groups.
struct BlockTickets {
  static constexpr std::uint32_t kGroups = 31;
  std::uint32_t blocks[kGroups] = {};
  std::uint32_t groups = 0;
};

/// Counters of one round on one device, in device memory; the host reads a copy. All fields but the last count since the
/// last Clear.
struct Control {
  std::uint32_t touched_count = 0;       ///< entries of the queue of owned vertices with a message
  std::uint32_t touched_halo_count = 0;  ///< entries of the queue of halo vertices with a message
  std::uint32_t slice_count = 0;
  std::uint32_t next_count = 0;       ///< entries of the next frontier's queue
  std::uint64_t active_vertices = 0;  ///< owned vertices that the last Apply changed (or Activate chose)
  std::uint64_t active_edges = 0;     ///< their forward edges: the work of a push
  std::int64_t candidate_edges = 0;   ///< change in the reverse edges of vertices that Filter accepts: the work of a pull
  std::uint64_t edges_touched = 0;    ///< edges that Advance, Gather or Collect read
  /// @{
  /// Of programs with a Priority: see OrderRef.
  std::int64_t pending_vertices = 0;  ///< change in pending vertices
  std::uint64_t first_pending = 0;    ///< PriorityKey of the first that Apply made or Release left pending; 0: none
  std::uint64_t first_edges = 0;      ///< of active_edges, relaxed for the first time
  /// @}
  /// Halo vertices of each owner with a first message.
  std::uint32_t halo_count[kMaxDevices] = {};
  std::uint32_t buffer_count[kMaxDevices] = {};     ///< entries packed for each peer; broadcast: at the device's own index
  std::uint32_t buffer_encoding[kMaxDevices] = {};  ///< their Encoding
  std::uint64_t raw_messages[kMaxDevices] = {};     ///< edges that sent to a peer's vertex, before combining
  BlockTickets packed;                              ///< on a GPU, for packing
};

/// The border of one device, by pair: `vertices[begin[q] .. begin[q+1])` are the owned vertices in q's halo.
struct BorderRef {
  const LocalId* begin = nullptr;  ///< parts + 1 entries
  const LocalId* vertices = nullptr;
};

/// Entries of a bitmap with contiguous payloads: a GPU warp reads one segment at a time and packs at least one.
inline constexpr std::size_t kBufferSegment = 256;

/// Lengths of the encodings in bytes, and offsets in a bitmap: bits, then the position of each segment's first payload, then
/// payloads.
CHATTY_FN constexpr std::size_t SparseBytes(std::size_t count, std::size_t payload) { return count * (4 + payload); }
CHATTY_FN constexpr std::size_t DenseBytes(std::size_t size, std::size_t payload) { return size * payload; }
CHATTY_FN constexpr std::size_t SegmentsOffset(std::size_t size) { return bits::Words(size) * 4; }
CHATTY_FN constexpr std::size_t BitmapValuesOffset(std::size_t size) {
  return (SegmentsOffset(size) + (size + kBufferSegment - 1) / kBufferSegment * 4 + 15) / 16 * 16;
}
CHATTY_FN constexpr std::size_t BitmapBytes(std::size_t size, std::size_t count, std::size_t payload) {
  return payload == 0 ? bits::Words(size) * 4 : BitmapValuesOffset(size) + count * payload;
}
CHATTY_FN constexpr std::size_t BufferBytes(Encoding encoding, std::size_t size, std::size_t count, std::size_t payload) {
  switch (encoding) {
    case Encoding::kBitmap:
      return BitmapBytes(size, count, payload);
    case Encoding::kDense:
      return DenseBytes(size, payload);
    case Encoding::kSparse:
      break;
  }
  return SparseBytes(count, payload);
}
/// The shortest one for `count` of `size` entries.
CHATTY_FN constexpr Encoding ShortestEncoding(std::size_t size, std::size_t count, std::size_t payload) {
  if (count == size && payload > 0) return Encoding::kDense;
  return SparseBytes(count, payload) <= BitmapBytes(size, count, payload) ? Encoding::kSparse : Encoding::kBitmap;
}
/// The header at a buffer's end, for a receiver that reads the buffer in place: no host needs the counts before.
struct BufferHeader {
  std::uint32_t count = 0;  ///< entries
  Encoding encoding = Encoding::kSparse;
};
/// The header's offset: after the longest encoding.
CHATTY_FN constexpr std::size_t HeaderOffset(std::size_t size, std::size_t payload) {
  const std::size_t pairs = SparseBytes(size, payload), bitmap = BitmapBytes(size, size, payload);
  return ((pairs > bitmap ? pairs : bitmap) + 15) / 16 * 16;
}
/// Most bytes of a buffer in any encoding, header included.
CHATTY_FN constexpr std::size_t BufferCapacity(std::size_t size, std::size_t payload) {
  return size == 0 ? 0 : HeaderOffset(size, payload) + sizeof(BufferHeader);
}

/// Where packing writes: one buffer per peer, or one for all. A transport decides the pointers' targets (staging, host
/// memory, the peer).
struct OutboxRef {
  std::byte* buffer[kMaxDevices] = {};  ///< null: nothing is packed for that peer, whose messages stay as they are
  std::byte* for_all = nullptr;         ///< if not null, one buffer for all; peers' buffers are not written
  bool has_header = false;              ///< buffers have headers
};
/// How to pack shared values, chosen by the host.
struct SharedPlan {
  bool all = false;                         ///< all vertices of the border, not only active ones
  Encoding encoding[kMaxDevices] = {};      ///< of each peer's buffer; of a broadcast: at the device's own index
  const LocalId* union_vertices = nullptr;  ///< border_union, in device memory, for a broadcast
  LocalId union_size = 0;                   ///< its entries
};
/// Where unpacking reads: this device's entries are [first, last) of a buffer; its numbering counts from `first`.
struct InboxRef {
  const std::byte* buffer = nullptr;
  Encoding encoding = Encoding::kSparse;
  std::uint32_t count = 0;  ///< entries in the buffer
  std::uint32_t size = 0;   ///< of its numbering
  std::uint32_t first = 0, last = 0;
  bool has_header = false;  ///< the buffer's header has encoding and count; these are expectations, perhaps wrong
};

/// Vertices that wait for others with priority. A changed vertex is either active or pending.
struct OrderRef {
  std::uint32_t* pending = nullptr;  ///< bitmap, owned
  /// Bitmap, a bit per kPendingGroup vertices: one of them may be pending. Only hosts use it; a GPU reads all of `pending`.
  std::uint32_t* groups = nullptr;
  std::uint32_t* seen = nullptr;     ///< bitmap, owned: was active since Init, except in the first frontier
  double limit = kInfinity<double>;  ///< changed vertices with a Priority below are active, others pending
};
inline constexpr std::size_t kPendingGroup = 256;  ///< vertices per OrderRef::groups bit

/// Replaces a pointer to data. Its own type, because two empty members of one type would take space.
struct NoData {};

/// Owned vertex v as a program sees it.
CHATTY_FN Vertex VertexAt(const GraphRef& graph, LocalId v) {
  const EdgeIndex out = graph.out_degrees[v], in = graph.in_degrees[v];
  return {graph.Global(v), out, in, graph.symmetric ? out : out + in};
}

/// All data of a step. Passed to kernels by value.
template <class P>
struct StateRef {
  using Value = ValueOf<P>;
  using Message = MessageOf<P>;
  using Shared = SharedOf<P>;

  P program;
  GraphRef graph;
  BorderRef border;
  Value* values = nullptr;           ///< owned entries; local entries where `shared` is the same memory
  Shared* shared = nullptr;          ///< local entries: what a pull reads. The values themselves without Share or Consume
  Slot<Message>* inbox = nullptr;    ///< local entries: combined messages, identity where none; see KeepsMessages
  std::uint32_t* touched = nullptr;  ///< bitmap, local: has a message
  std::uint32_t* sent = nullptr;     ///< Traits::kSendsOnce: bitmap, halo, from SentWord: its owner has had one
  std::uint32_t* active = nullptr;   ///< bitmap, local: the frontier, with the halo's copy after an exchange
  /// Bitmap, owned: the vertices that a pull looks at, which Filter accepts and which have reverse edges. For GPUs.
  std::uint32_t* candidates = nullptr;
  const std::uint32_t* rows = nullptr;  ///< bitmap, owned: has reverse edges. For GPUs
  LocalId* frontier = nullptr;          ///< queue, owned entries
  LocalId* next = nullptr;              ///< queue, owned entries: the next frontier
  LocalId* touched_queue = nullptr;     ///< queue, owned entries
  LocalId* touched_halo = nullptr;      ///< queue, halo entries
  Slice* slices = nullptr;
  Message* collected = nullptr;  ///< kCount: a place for each reverse edge's message
  Value* next_values = nullptr;  ///< kCount: owned entries, so that neighbours read old values
  Control* control = nullptr;
  [[no_unique_address]] std::conditional_t<Traits<P>::kOrders, OrderRef, None> order{};
  /// Owned entries: each vertex's data for the program.
  [[no_unique_address]] std::conditional_t<Traits<P>::kHasData, const DataOf<P>*, NoData> data{};
  bool asynchronous = false;  ///< messages of several rounds mix; Filter(value), of one round, is unused

  /// The word of `touched` with the first halo vertex. `sent` begins with the same vertices, including owned ones, for
  /// comparison word by word.
  CHATTY_FN std::size_t SentWord() const { return graph.owned / 32; }
  CHATTY_FN std::size_t SentWords() const { return bits::Words(graph.local) - SentWord(); }  ///< words of `sent`

  CHATTY_FN Vertex At(LocalId v) const {  // not VertexAt: gcc 12 then has a tenth more instructions in PageRank
    const EdgeIndex out = graph.out_degrees[v], in = graph.in_degrees[v];
    return {graph.Global(v), out, in, graph.symmetric ? out : out + in};
  }
};

}  // namespace chatty
