/// \file
/// A program's state on one device, as plain pointers: what every step reads and writes.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "chatty/core/bitmap.h"
#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/framework/program.h"

namespace chatty {

/// How a set of vertices is held.
enum class Form : std::uint8_t {
  kQueue,   ///< a list of local ids
  kBitmap,  ///< a bit a vertex
  kAll,     ///< every owned vertex; nothing is stored
};

/// A message's place in memory and on the wire: the message padded to what the hardware updates at once.
template <class Message>
struct alignas(sizeof(Message) <= 4   ? 4
               : sizeof(Message) <= 8 ? 8
                                      : 16) Slot {
  Message message;
};

/// Bytes of a Slot on the wire. A type without members is all said by its arrival.
template <class Slot>
inline constexpr std::size_t kWireBytes = sizeof(Slot);
template <class Message>
inline constexpr std::size_t kWireBytes<Slot<Message>> = std::is_empty_v<Message> ? 0 : sizeof(Slot<Message>);

/// A stretch of a hub's edges. Hubs are cut up so that no block or thread is left alone with a million edges.
struct Slice {
  LocalId vertex;
  std::uint32_t index;  ///< edges [index * kSliceEdges, (index + 1) * kSliceEdges) of the vertex's row
};
inline constexpr EdgeIndex kSliceEdges = 4096;
inline constexpr EdgeIndex kHubDegree = 2 * kSliceEdges;  ///< vertices with at least so many edges are cut into slices
/// The most slices of rows with so many edges, the longest with `max_degree`: a row of d >= kHubDegree edges has at most
/// 1.5 * d / kSliceEdges.
constexpr std::size_t SliceBound(EdgeIndex edges, EdgeIndex max_degree) {
  return max_degree < kHubDegree ? 0 : edges * 3 / (2 * kSliceEdges) + 1;
}

/// Which blocks of a GPU are through with a kernel, so that the last can tell. All 0 between kernels. Additions to one word
/// come one after the other, 12 ns each, so blocks are counted by groups, and then groups.
struct BlockTickets {
  static constexpr std::uint32_t kGroups = 31;
  std::uint32_t blocks[kGroups] = {};
  std::uint32_t groups = 0;
};

/// Counters of one round on one device, in the device's memory; the host reads a copy. All fields but the last count since
/// the last Clear.
struct Control {
  std::uint32_t touched_count = 0;       ///< entries of the queue of owned vertices with a message
  std::uint32_t touched_halo_count = 0;  ///< entries of the queue of halo vertices with a message
  std::uint32_t slice_count = 0;
  std::uint32_t next_count = 0;       ///< entries of the next frontier's queue
  std::uint64_t active_vertices = 0;  ///< owned vertices that the last Apply changed (or Activate chose)
  std::uint64_t active_edges = 0;     ///< their forward edges: the work of a push
  std::int64_t candidate_edges = 0;   ///< change in the reverse edges of vertices that Wants accepts: the work of a pull
  std::uint64_t edges_touched = 0;    ///< edges that Advance or Gather looked at
  /// @{
  /// Of programs with a Priority: see OrderRef.
  std::int64_t pending_vertices = 0;  ///< change in how many are pending
  std::uint64_t first_pending = 0;    ///< PriorityKey of the first of those that Apply set aside or Release left; 0: none
  std::uint64_t fresh_edges = 0;      ///< of active_edges, those of vertices that had not been active before
  /// @}
  /// Halo vertices of each owner that have got a first message.
  std::uint32_t halo_count[kMaxDevices] = {};
  std::uint32_t box_count[kMaxDevices] = {};     ///< entries packed for each peer; for all at once: the device's own place
  std::uint32_t box_form[kMaxDevices] = {};      ///< and the Encoding of them
  std::uint64_t raw_messages[kMaxDevices] = {};  ///< edges that sent to a peer's vertex, before combining
  BlockTickets packed;                           ///< of a GPU, while it packs
};

/// The border of one device, subset numbering: `vertices[begin[q] .. begin[q+1])` are the owned vertices in q's halo.
struct BorderRef {
  const LocalId* begin = nullptr;  ///< parts + 1 entries
  const LocalId* vertices = nullptr;
};

/// How a buffer lists which entries of a numbering it has. The numbering is a pair's subset, a device's whole halo, or its
/// border_union, and has `size` entries.
enum class Encoding : std::uint8_t {
  kSparse,  ///< an index word and a payload for each entry
  kBitmap,  ///< a bit for each place of the numbering, and the payloads of those that are set; a payload of none: bits alone
  kDense,   ///< a payload for each place of the numbering: all of them are there
  kAtomics,  ///< no buffer: the sender's atomics put the messages where the owner's own do
};

/// "sparse", "bitmap", "dense" or "atomics", for tables.
inline std::string_view EncodingName(Encoding encoding) {
  constexpr std::string_view kNames[] = {"sparse", "bitmap", "dense", "atomics"};
  return kNames[static_cast<int>(encoding)];
}

/// Entries of a bitmap whose payloads stand together: what a warp of a GPU takes in at a time, and the least it packs.
inline constexpr std::size_t kBufferSegment = 256;

/// Lengths of the forms, in bytes, and where a bitmap's parts begin: bits, then for each segment the place of its first
/// payload, then payloads.
CHATTY_FN constexpr std::size_t PairBytes(std::size_t count, std::size_t payload) { return count * (4 + payload); }
CHATTY_FN constexpr std::size_t WholeBytes(std::size_t size, std::size_t payload) { return size * payload; }
CHATTY_FN constexpr std::size_t SegmentsOffset(std::size_t size) { return bits::Words(size) * 4; }
CHATTY_FN constexpr std::size_t BitmapValuesOffset(std::size_t size) {
  return (SegmentsOffset(size) + (size + kBufferSegment - 1) / kBufferSegment * 4 + 15) / 16 * 16;
}
CHATTY_FN constexpr std::size_t BitmapBytes(std::size_t size, std::size_t count, std::size_t payload) {
  return payload == 0 ? bits::Words(size) * 4 : BitmapValuesOffset(size) + count * payload;
}
CHATTY_FN constexpr std::size_t BufferBytes(Encoding form, std::size_t size, std::size_t count, std::size_t payload) {
  switch (form) {
    case Encoding::kBitmap:
      return BitmapBytes(size, count, payload);
    case Encoding::kDense:
      return WholeBytes(size, payload);
    case Encoding::kSparse:
    case Encoding::kAtomics:  // a message, and its target in the owner's queue
      break;
  }
  return PairBytes(count, payload);
}
/// The shortest form for `count` of `size` entries.
CHATTY_FN constexpr Encoding ShortestForm(std::size_t size, std::size_t count, std::size_t payload) {
  if (count == size && payload > 0) return Encoding::kDense;
  return PairBytes(count, payload) <= BitmapBytes(size, count, payload) ? Encoding::kSparse : Encoding::kBitmap;
}
/// What a buffer holds, at its end: for a receiver who reads it where it was packed, so that no host has to know before.
struct BufferHeader {
  std::uint32_t count = 0;  ///< entries
  Encoding form = Encoding::kSparse;
};
/// Where a buffer's label is: behind all that any form has.
CHATTY_FN constexpr std::size_t HeaderOffset(std::size_t size, std::size_t payload) {
  const std::size_t pairs = PairBytes(size, payload), bitmap = BitmapBytes(size, size, payload);
  return ((pairs > bitmap ? pairs : bitmap) + 15) / 16 * 16;
}
/// What a buffer needs at most, whatever its form, label included.
CHATTY_FN constexpr std::size_t BufferCapacity(std::size_t size, std::size_t payload) {
  return size == 0 ? 0 : HeaderOffset(size, payload) + sizeof(BufferHeader);
}

/// Where packing writes: one buffer a peer, or one for all. A transport decides where the pointers lead (staging, host
/// memory, the peer).
struct OutboxRef {
  std::byte* buffer[kMaxDevices] = {};  ///< null: nothing is packed for that peer
  std::byte* for_all = nullptr;         ///< if not null, one buffer for all, and those of peers are not written
  bool labelled = false;                ///< buffers get their labels
};
/// How shared values are packed, as the host chose it.
struct SharedPlan {
  bool all = false;                         ///< every vertex of the border, and not the active ones alone
  Encoding form[kMaxDevices] = {};          ///< of each peer's buffer; of the one for all in the device's own place
  const LocalId* union_vertices = nullptr;  ///< border_union, in device memory, for a buffer for all
  LocalId union_size = 0;                   ///< its entries
};
/// Where unpacking reads: the entries [first, last) of a buffer are this device's; those of its numbering are counted from
/// `first` on.
struct InboxRef {
  const std::byte* buffer = nullptr;
  Encoding form = Encoding::kSparse;
  std::uint32_t count = 0;  ///< entries in the buffer
  std::uint32_t size = 0;   ///< of its numbering
  std::uint32_t first = 0, last = 0;
  bool labelled = false;  ///< the buffer's label says form and count, and these are what is expected, which may be wrong
};

/// Vertices that wait because others go first. A vertex whose value has changed is either active or pending.
struct OrderRef {
  std::uint32_t* pending = nullptr;  ///< bitmap, owned
  /// Bitmap, a bit for each kPendingGroup vertices: one of them may be pending. Hosts keep it; a GPU reads all of `pending`.
  std::uint32_t* groups = nullptr;
  std::uint32_t* seen = nullptr;     ///< bitmap, owned: has been active since Init, the first frontier apart
  double limit = kInfinity<double>;  ///< changed vertices whose Priority is below become active, others pending
};
inline constexpr std::size_t kPendingGroup = 256;  ///< vertices a bit of OrderRef::groups

/// In place of a pointer to data: a type of its own, as two empty members of one type would take room.
struct NoData {};

/// Everything a step needs. Passed to kernels by value.
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
  Slot<Message>* inbox = nullptr;    ///< local entries: messages combined so far, identity where none; see KeepsMessages
  std::uint32_t* touched = nullptr;  ///< bitmap, local: has a message
  std::uint32_t* told = nullptr;     ///< Traits::kTellsOnce: bitmap, halo, from ToldWord on: its owner has had a message
  std::uint32_t* active = nullptr;   ///< bitmap, local: the frontier, with the halo's copy after an exchange
  LocalId* frontier = nullptr;       ///< queue, owned entries
  LocalId* next = nullptr;           ///< queue, owned entries: the frontier in the making
  LocalId* touched_queue = nullptr;  ///< queue, owned entries
  LocalId* touched_halo = nullptr;   ///< queue, halo entries
  Slice* slices = nullptr;
  Message* collected = nullptr;  ///< kCollect, kCount: a place for every reverse edge's message
  Value* next_values = nullptr;  ///< kCollect, kCount: owned entries, so that neighbours still read the old value
  Control* control = nullptr;
  [[no_unique_address]] std::conditional_t<Traits<P>::kOrders, OrderRef, None> order{};
  /// Owned entries: what the program is given of each vertex.
  [[no_unique_address]] std::conditional_t<Traits<P>::kHasData, const DataOf<P>*, NoData> data{};
  bool asynchronous = false;   ///< messages of several rounds meet: Wants(value), which speaks of one, is not asked
  bool peers_deliver = false;  ///< other devices put messages into inbox, touched and touched_queue meanwhile

  /// The word of `touched` with the first halo vertex. `told` begins with the same vertices, owned ones among them, so that
  /// the two are compared word by word.
  CHATTY_FN std::size_t ToldWord() const { return graph.owned / 32; }
  CHATTY_FN std::size_t ToldWords() const { return bits::Words(graph.local) - ToldWord(); }  ///< words of `told`

  CHATTY_FN Vertex At(LocalId v) const {
    const EdgeIndex out = graph.out_degrees[v], in = graph.in_degrees[v];
    return {graph.Global(v), out, in, graph.symmetric ? out : out + in};
  }
};

}  // namespace chatty
