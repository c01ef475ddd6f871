/// \file
/// Step 4 of `cc`: merges the forests of several devices. A compressed forest has a bit in place of an id for each vertex of
/// the largest component, and pairs for the few others. Where parts are ranges, boundary pairs replace the forests: a bit
/// per vertex says whether it is in its owner's largest component, and lists have the few vertices outside of all of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// Links each vertex with its parent on another device.
struct LinkTrees {
  VertexId* parent;
  const VertexId* theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs[v] != v) Link(parent, static_cast<VertexId>(v), theirs[v]);
  }
};

/// A forest in few words: most vertices are roots or in the largest component. It has, in this order:
/// - the number of pairs;
/// - the largest component's root;
/// - a bit per vertex, set if that is its root and not itself;
/// - a pair, vertex and root, for each other vertex that is not a root.
struct CompressedForest {
  VertexId* ids;
  VertexId vertices;

  CHATTY_FN static constexpr std::size_t BitIds(std::uint64_t vertices) {
    return (bits::Words(vertices) * sizeof(std::uint32_t) + sizeof(VertexId) - 1) / sizeof(VertexId);
  }
  /// Maximum number of pairs. A compressed forest with pairs then takes at most half the memory of the forest.
  CHATTY_FN static constexpr std::size_t MaxPairs(std::uint64_t vertices) {
    const std::size_t fixed = 2 + BitIds(vertices), most = vertices / 2;
    return fixed < most ? (most - fixed) / 2 : 0;
  }
  /// Ids in a compressed forest with so many pairs.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t vertices, std::size_t pairs) {
    return 2 + BitIds(vertices) + 2 * pairs;
  }
  CHATTY_FN std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(ids + 2); }
  CHATTY_FN bool in_largest(std::size_t v) const { return (words()[v / 32] >> (v % 32) & 1) != 0; }
  CHATTY_FN VertexId* pairs() const { return ids + 2 + BitIds(vertices); }
};
struct ClearCompressedForest {
  CompressedForest forest;
  const VertexId* parent;
  VertexId largest;  ///< its root at some time; kNoVertex: there is none
  CHATTY_FN void operator()(std::size_t) const {
    forest.ids[0] = 0;
    forest.ids[1] = largest == kNoVertex ? kNoVertex : Root(parent, largest);
  }
};
/// Compresses a stretch of vertices; each warp takes a word at a time. Counts also pairs that do not fit.
struct CompressStretch {
  static constexpr std::size_t kVertices = 1 << 14;
  CompressedForest forest;
  const VertexId* parent;
  CHATTY_FN static constexpr std::size_t Count(std::uint64_t vertices) { return (vertices + kVertices - 1) / kVertices; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t stretch, const ThreadGroup& group) const {
    const VertexId largest = forest.ids[1];
    const std::size_t begin = stretch * kVertices / 32, words = bits::Words(forest.vertices);
    const std::size_t end = begin + kVertices / 32 < words ? begin + kVertices / 32 : words;
    for (std::size_t w = begin + group.warp(); w < end; w += group.warps()) {
      const std::size_t first = w * 32;
      const unsigned count = forest.vertices - first < 32 ? static_cast<unsigned>(forest.vertices - first) : 32;
      std::uint32_t below = 0, others = 0;
      for (unsigned b = group.lane(); b < count; b += group.lanes()) {
        const auto v = static_cast<VertexId>(first + b);
        const VertexId root = Root(parent, v);
        if (root != v) (root == largest ? below : others) |= 1u << b;
      }
      below = group.SumOfWarp(below);  // bits of different lanes
      const std::uint32_t all = group.SumOfWarp(others);
      if (group.lane() == 0) forest.words()[w] = below;
      if (all == 0) continue;
      VertexId place = 0;
      if (group.lane() == 0) place = atomics::Add<true>(forest.ids, static_cast<VertexId>(bits::Count(all)));
      place = group.OfFirstLane(place);
      for (unsigned b = group.lane(); b < count; b += group.lanes()) {
        if (!(others >> b & 1u)) continue;
        const std::size_t at = place + bits::Count(all & ((1u << b) - 1));
        if (at >= CompressedForest::MaxPairs(forest.vertices)) continue;
        const auto v = static_cast<VertexId>(first + b);
        forest.pairs()[2 * at] = v;
        forest.pairs()[2 * at + 1] = Root(parent, v);
      }
    }
  }
};
/// Links a vertex of another device's largest component with its root there.
struct LinkBit {
  VertexId* parent;
  CompressedForest theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs.in_largest(v)) Link(parent, static_cast<VertexId>(v), theirs.ids[1]);
  }
};
/// Links a pair of another device.
struct LinkPair {
  VertexId* parent;
  const VertexId* pairs;
  CHATTY_FN void operator()(std::size_t i) const { Link(parent, pairs[2 * i], pairs[2 * i + 1]); }
};

/// What devices exchange about vertices that more than one of them links, where parts are ranges and all devices' largest
/// components are one component. It has a bit per vertex, set if the vertex is in its owner's largest component; and two
/// lists of pairs, vertex and root. Their sizes are the first two ids. It uses the memory of the compressed forest.
struct BoundaryPairs {
  CompressedForest buffer;

  /// Maximum number of pairs in a list.
  CHATTY_FN static constexpr std::size_t MaxPairs(std::uint64_t vertices) {
    const std::size_t half = CompressedForest::MaxPairs(vertices) / 2, most = vertices / 16;
    return half < most ? half : most;
  }
  /// @{
  CHATTY_FN std::uint32_t* words() const { return buffer.words(); }
  CHATTY_FN bool in_largest(VertexId v) const { return buffer.in_largest(v); }
  CHATTY_FN VertexId* size(int list) const { return buffer.ids + list; }
  CHATTY_FN VertexId* pairs(int list) const { return buffer.pairs() + (list == 0 ? 0 : 2 * MaxPairs(buffer.vertices)); }
  /// @}
  /// Appends a pair. A pair that does not fit is counted; most of those after it are not, because their atomics would
  /// contend for one address.
  CHATTY_FN void Add(int list, VertexId v, VertexId root) const {
    if (atomics::Load(size(list)) > MaxPairs(buffer.vertices)) return;
    const VertexId at = atomics::Add<true>(size(list), VertexId{1});
    if (at >= MaxPairs(buffer.vertices)) return;
    pairs(list)[2 * at] = v;
    pairs(list)[2 * at + 1] = root;
  }
};
/// Empties both lists, and adds `v` to the first unless it is kNoVertex.
struct StartBoundaryPairs {
  BoundaryPairs boundary;
  VertexId v;
  CHATTY_FN void operator()(std::size_t) const {
    *boundary.size(0) = *boundary.size(1) = 0;
    if (v != kNoVertex) boundary.Add(0, v, v);
  }
};
/// Compresses the trees of a stretch of owned vertices, and sets the bits of those in the largest component. Each warp takes
/// several words at a time. Must not run concurrently with Link.
struct LargestStretch {
  static constexpr std::size_t kWords = 64;
  static constexpr unsigned kAtOnce = 4;  ///< words
  GraphRef graph;
  VertexId* parent;
  BoundaryPairs boundary;
  VertexId largest;
  /// @{
  /// The words with the bits of owned vertices.
  CHATTY_FN std::size_t Begin() const { return graph.first_id / 32; }
  CHATTY_FN std::size_t End() const { return (std::size_t{graph.first_id} + graph.owned + 31) / 32; }
  /// @}
  CHATTY_FN std::size_t Count() const { return (End() - Begin() + kWords - 1) / kWords; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t stretch, const ThreadGroup& group) const {
    const std::size_t begin = Begin() + stretch * kWords, end = begin + kWords < End() ? begin + kWords : End();
    for (std::size_t w = begin + std::size_t{kAtOnce} * group.warp(); w < end; w += std::size_t{kAtOnce} * group.warps()) {
      std::uint32_t in[kAtOnce] = {};
      for (unsigned b = group.lane(); b < 32; b += group.lanes()) {
        VertexId own[kAtOnce], root[kAtOnce];
        bool there[kAtOnce];
        for (unsigned k = 0; k < kAtOnce; ++k) {
          const std::size_t v = (w + k) * 32 + b;
          there[k] = w + k < end && v >= graph.first_id && v - graph.first_id < graph.owned;
          own[k] = there[k] ? static_cast<VertexId>(v) : largest;  // a root, which stays one
        }
        CompressTogether(parent, own, root);
        for (unsigned k = 0; k < kAtOnce; ++k) in[k] |= std::uint32_t{there[k] && root[k] == largest} << b;
      }
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const std::uint32_t all = group.SumOfWarp(in[k]);  // bits of different lanes
        if (group.lane() == 0 && w + k < end) boundary.words()[w + k] = all;
      }
    }
  }
};
/// Writes all devices' words, and combines those that have vertices of several devices.
struct JoinWords {
  BoundaryPairs boundary;
  const std::uint32_t* words[kMaxDevices] = {};
  std::size_t begin[kMaxDevices] = {}, size[kMaxDevices] = {};
  std::uint32_t count = 0;

  void Add(std::size_t first, std::span<const std::uint32_t> theirs) {
    if (theirs.empty()) return;
    words[count] = theirs.data();
    begin[count] = first;
    size[count] = theirs.size();
    count += 1;
  }
  CHATTY_FN void operator()(std::size_t w) const {
    std::uint32_t all = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (w - begin[i] < size[i]) all |= words[i][w - begin[i]];
    }
    boundary.words()[w] = all;
  }
};
/// Searches for an edge between this device's largest component and that of a device before it, until one is found. It
/// visits the first `end` owned vertices, in `pieces`; a warp takes as many at a time as it has lanes. One lane of a warp
/// reads and writes `found` for all.
struct FindJoiningEdge {
  /// The first attempt has kFewPieces and kFew vertices. Where most vertices have such an edge these suffice, and more would
  /// be visited in vain.
  static constexpr std::size_t kFewPieces = 16, kPieces = 256;
  static constexpr LocalId kFew = 4096;
  GraphRef graph;
  BoundaryPairs boundary;
  VertexId* found;
  std::size_t pieces;
  LocalId end;
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t piece, const ThreadGroup& group) const {
    const std::size_t step = pieces * group.warps() * group.lanes();
    for (std::size_t base = (piece * group.warps() + group.warp()) * group.lanes(); base < end; base += step) {
      VertexId known = 0;
      if (group.lane() == 0) known = atomics::Load(found);
      if (group.OfFirstLane(known) != 0) return;
      const std::size_t v = base + group.lane();
      const bool meets = v < end && IsJoiningEdge(static_cast<LocalId>(v));
      if (group.SumOfWarp(std::uint32_t{meets}) != 0 && group.lane() == 0) atomics::Store(found, VertexId{1});
    }
  }

 private:
  CHATTY_FN bool IsJoiningEdge(LocalId v) const {
    if (graph.forward.degree(v) == 0 || !boundary.in_largest(graph.Global(v))) return false;
    const LocalId u = graph.forward.neighbours[graph.forward.offsets[v]];
    return u >= graph.owned && u < graph.lesser_end && boundary.in_largest(graph.Global(u));
  }
};
/// Links the roots of all devices' largest components, empties both lists, and adds this device's root to the first.
struct LinkLargest {
  VertexId* parent;
  BoundaryPairs boundary;
  VertexId own;
  VertexId largest_components[kMaxDevices] = {};
  std::uint32_t count = 0;
  CHATTY_FN void operator()(std::size_t) const {
    for (std::uint32_t i = 1; i < count; ++i) Link(parent, largest_components[0], largest_components[i]);
    StartBoundaryPairs{boundary, own}(0);
  }
};
/// Links an edge of a vertex outside of its owner's largest component. A neighbour of another device that is in its owner's
/// largest component is replaced by this device's largest root: all of these are one component. Other vertices of other
/// devices are added to the first list.
struct LinkEdgeOrLargest {
  GraphRef graph;
  VertexId* parent;
  BoundaryPairs boundary;
  VertexId largest;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex) const {
    const VertexId own = graph.Global(v), other = graph.Global(u);
    if (u < graph.owned) return Link(parent, own, other);
    if (boundary.in_largest(other)) return Link(parent, own, largest);
    Link(parent, own, other);
    boundary.Add(0, other, kNoVertex);
  }
};
/// Writes the roots of the vertices in the first list.
struct SetRoots {
  BoundaryPairs boundary;
  const VertexId* parent;
  CHATTY_FN void operator()(std::size_t i) const {
    VertexId* const pair = boundary.pairs(0) + 2 * i;
    pair[1] = Root(parent, pair[0]);
  }
};
/// Lists of pairs from other devices, concatenated.
struct PairLists {
  const VertexId* pairs[kMaxDevices] = {};
  std::size_t end[kMaxDevices] = {};  ///< number of pairs in a list and in those before it
  std::uint32_t count = 0;

  void Add(std::span<const VertexId> list) {
    if (list.empty()) return;
    pairs[count] = list.data();
    end[count] = size() + list.size() / 2;
    count += 1;
  }
  std::size_t size() const { return count == 0 ? 0 : end[count - 1]; }  ///< pairs in all
  /// Pair i: a vertex and its root.
  CHATTY_FN const VertexId* operator[](std::size_t i) const {
    std::uint32_t list = 0;
    while (end[list] <= i) ++list;
    return pairs[list] + 2 * (i - (list == 0 ? 0 : end[list - 1]));
  }
};
/// Links the pairs of all lists.
struct LinkPairs {
  VertexId* parent;
  PairLists theirs;
  CHATTY_FN void operator()(std::size_t i) const { Link(parent, theirs[i][0], theirs[i][1]); }
};
/// Adds to the second list the owned vertices of other devices' first lists, with their roots on this device.
struct AddOwnedRoots {
  GraphRef graph;
  const VertexId* parent;
  BoundaryPairs boundary;
  PairLists theirs;
  CHATTY_FN void operator()(std::size_t i) const {
    const VertexId v = theirs[i][0];
    if (v >= graph.first_id && v - graph.first_id < graph.owned) boundary.Add(1, v, Root(parent, v));
  }
};
}  // namespace chatty::union_find
