/// \file
/// A program's state on one device, as plain pointers: what every step reads and writes.
#pragma once

#include <cstdint>

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

/// Counters of one round on one device, in the device's memory; the host reads a copy. All fields count since the last
/// Clear.
struct Control {
  std::uint32_t touched_count = 0;       ///< entries of the queue of owned vertices with a message
  std::uint32_t touched_halo_count = 0;  ///< halo vertices with a message, counted in either form
  std::uint32_t slice_count = 0;
  std::uint32_t next_count = 0;       ///< entries of the next frontier's queue
  std::uint64_t active_vertices = 0;  ///< owned vertices that the last Apply changed (or Activate chose)
  std::uint64_t active_edges = 0;     ///< their forward edges: the work of a push
  std::int64_t wanting_edges = 0;     ///< change in the reverse edges of vertices that Wants accepts: the work of a pull
  std::uint64_t edges_touched = 0;    ///< edges that Advance or Gather looked at
  std::uint32_t dense_box = 0;        ///< form of the boxes just packed: 0 pairs, 1 bitmap and values
  std::uint32_t box_count[kMaxDevices] = {};     ///< entries packed for each peer, in either form
  std::uint64_t raw_messages[kMaxDevices] = {};  ///< edges that sent to a peer's vertex, before combining
};

/// Where packing writes: one box a peer. A transport decides where the pointers lead (staging, host memory, the peer).
///
/// A box in pair form holds `count` records of an index word and a payload; in dense form a bitmap of the pair's subset
/// and then a payload for every entry of it.
struct OutboxRef {
  std::byte* box[kMaxDevices] = {};
};
struct InboxRef {
  const std::byte* box = nullptr;
  std::uint32_t count = 0;  ///< records, or bits set
  bool dense = false;
};

/// Lengths of the two forms of a box.
CHATTY_FN constexpr std::size_t PairBytes(std::size_t count, std::size_t payload) { return count * (4 + payload); }
CHATTY_FN constexpr std::size_t DenseValuesOffset(std::size_t subset) { return (bits::Words(subset) * 4 + 15) / 16 * 16; }
CHATTY_FN constexpr std::size_t DenseBytes(std::size_t subset, std::size_t payload) {
  return DenseValuesOffset(subset) + subset * payload;
}

/// The border of one device, subset numbering: `vertices[begin[q] .. begin[q+1])` are the owned vertices in q's halo.
struct BorderRef {
  const LocalId* begin = nullptr;  ///< parts + 1 entries
  const LocalId* vertices = nullptr;
};

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
  Slot<Message>* inbox = nullptr;    ///< local entries: messages combined so far, identity where none
  std::uint32_t* touched = nullptr;  ///< bitmap, local: has a message
  std::uint32_t* active = nullptr;   ///< bitmap, local: the frontier, with the halo's copy after an exchange
  LocalId* frontier = nullptr;       ///< queue, owned entries
  LocalId* next = nullptr;           ///< queue, owned entries: the frontier in the making
  LocalId* touched_queue = nullptr;  ///< queue, owned entries
  LocalId* touched_halo = nullptr;   ///< queue, halo entries
  Slice* slices = nullptr;
  Message* collected = nullptr;  ///< kCollect: a place for every reverse edge's message
  Value* next_values = nullptr;  ///< kCollect: owned entries, so that neighbours still read the old value
  Control* control = nullptr;
  bool asynchronous = false;  ///< messages of several rounds meet: Wants(value), which speaks of one, is not asked

  CHATTY_FN Vertex At(LocalId v) const {
    const EdgeIndex out = graph.out_degrees[v], in = graph.in_degrees[v];
    return {graph.Global(v), out, in, graph.symmetric ? out : out + in};
  }
};

}  // namespace chatty
