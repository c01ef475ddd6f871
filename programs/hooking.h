/// \file
/// Forests in which vertices hang below each other until they hang below the least of their component: what is done at a
/// vertex, an edge or a tile of vertices, and forests in few words. For `cc`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/core/types.h"

namespace chatty {

namespace hooking {

/// How Link reads an entry. In memory that all threads share: who has been above a vertex still is, so that one that is read
/// once may be old.
struct FromAnyTime {
  template <class Id>
  CHATTY_FN static Id Read(const Id* entry) {
    return atomics::LoadOld(entry);
  }
  template <class Id>
  CHATTY_FN static void Write(Id* entry, Id id) {
    atomics::Store(entry, id);
  }
};
/// In a group's scratch, by atomics throughout: plain loads are a tenth faster, and races to whoever looks for them.
struct InScratch {
  template <class Id>
  CHATTY_FN static Id Read(Id* entry) {
    return atomics::Or<true>(entry, Id{0});
  }
  template <class Id>
  CHATTY_FN static void Write(Id* entry, Id id) {
    atomics::Exchange(entry, id);
  }
};

/// Joins the trees of a and b, the larger root below the smaller (Shiloach and Vishkin's hooking, as in ECL-CC and GAP): the
/// root of a finished component is its least vertex. Any number of threads at once.
template <class Access = FromAnyTime, class Id>
CHATTY_FN void Link(Id* parent, Id a, Id b) {
  Id p = Access::Read(parent + a), q = Access::Read(parent + b);
  while (p != q) {
    const Id high = p > q ? p : q, low = p > q ? q : p;
    Id above = Access::Read(parent + high);
    if (std::is_same_v<Access, FromAnyTime> && above == high) above = atomics::Load(parent + high);
    if (above == high) {
      above = atomics::CompareSwap(parent + high, high, low);
      if (above == high) return;
    }
    const Id next = Access::Read(parent + above);
    if (next != above) Access::Write(parent + high, next);  // halved, the path of whoever comes next is shorter
    p = next;                                               // less than high
    q = low;
  }
}

struct Reset {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = static_cast<VertexId>(v); }
};
/// Points v at its root, and on the way there ever higher: whoever walks through v meanwhile has a shorter way. Nobody may
/// link meanwhile, so that a root that was one still is.
struct Compress {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const {
    VertexId p = atomics::LoadOld(parent + v), above;
    while (p != (above = atomics::LoadOld(parent + p))) {
      atomics::Store(parent + v, above);
      p = above;
    }
  }
};
/// The same of an owned vertex.
struct CompressOwned {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const { Compress{parent}(graph.Global(v)); }
};
/// The same of several, which ask together for who is above them: a GPU's thread waits as long for one as for all. Leaves
/// their roots in `root`.
template <unsigned kCount>
CHATTY_FN void CompressTogether(VertexId* parent, const VertexId (&own)[kCount], VertexId (&root)[kCount]) {
  VertexId above[kCount];
  for (unsigned k = 0; k < kCount; ++k) root[k] = atomics::LoadOld(parent + own[k]);
  for (bool more = true; more;) {
    more = false;
    for (unsigned k = 0; k < kCount; ++k) above[k] = atomics::LoadOld(parent + root[k]);
    for (unsigned k = 0; k < kCount; ++k) {
      if (above[k] == root[k]) continue;
      atomics::Store(parent + own[k], above[k]);
      root[k] = above[k];
      more = true;
    }
  }
}
/// The same of owned vertices, `apart` from each other.
struct CompressSome {
  static constexpr unsigned kAtOnce = 4;
  GraphRef graph;
  VertexId* parent;
  LocalId apart;
  /// So many calls, from 0 on, compress all.
  CHATTY_FN static LocalId Calls(const GraphRef& graph) { return graph.owned / kAtOnce + (graph.owned % kAtOnce != 0); }
  CHATTY_FN void operator()(std::size_t i) const {
    VertexId own[kAtOnce], root[kAtOnce];
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t v = i + std::size_t{k} * apart;
      own[k] = graph.Global(static_cast<LocalId>(v < graph.owned ? v : i));
    }
    CompressTogether(parent, own, root);
  }
};
/// The root above v. What is above it meanwhile stays.
CHATTY_FN VertexId Root(const VertexId* parent, VertexId v) {
  VertexId root = v;
  for (VertexId above; (above = parent[root]) != root;) root = above;
  return root;
}
/// Of one vertex.
struct FindRoot {
  const VertexId* parent;
  VertexId v;
  VertexId* root;
  CHATTY_FN void operator()(std::size_t) const { *root = Root(parent, v); }
};
/// The entries of rows that are linked first: the first of a row, or of those that are owned, which follow each other where
/// parts are ranges and rows ascend. A device that links its own vertices alone makes a forest of all they join, while of
/// those that are not the least ids, which the rows begin with, may all be others'.
struct FirstLinks {
  GraphRef graph;
  bool own;           ///< of owned vertices alone
  OffsetsRef begins;  ///< of rows, or where they have come to owned neighbours

  /// `own`: where GraphRef::own_begins are there, or no vertex is owned.
  FirstLinks(const GraphRef& of, bool own_alone)
      : graph(of), own(own_alone), begins(own_alone ? of.own_begins : of.forward.offsets) {}

  /// Where they begin in v's row. Of owned ones there may be none: then a greater one's entry is there, or the row ends.
  CHATTY_FN EdgeIndex Begin(LocalId v) const { return begins[v]; }
  /// Whether an entry is one of them.
  CHATTY_FN bool Has(LocalId u) const { return !own || u < graph.owned; }
};
/// Hangs v below its first neighbour, the least, if that is less than v, and makes it a root otherwise: without atomics, for
/// only v's own entry is written (ECL-CC's initialisation, Jaiganesh and Burtscher, HPDC'18).
struct HookFirst {
  FirstLinks links;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const {
    const GraphRef& graph = links.graph;
    const EdgeIndex begin = links.Begin(v);
    const VertexId own = graph.Global(v);
    if (begin == graph.forward.offsets[v + 1] || !links.Has(graph.forward.neighbours[begin])) {
      parent[own] = own;
      return;
    }
    const VertexId first = graph.Global(graph.forward.neighbours[begin]);
    parent[own] = first < own ? first : own;  // no branch that nobody can predict
  }
};
/// How owned vertices are cut into tiles, which a group joins in its scratch, and what is noted of each: the vertices that
/// hold its trees together with others are few where vertices that follow each other are neighbours.
struct Tiles {
  static constexpr unsigned kBits = 14;
  static constexpr std::uint32_t kSize = 1u << kBits;  ///< vertices of a tile
  /// Entries of a row that are looked at: the first so many.
  static constexpr EdgeIndex kLooked = 2;
  /// Which neighbours of a vertex that is noted are left to be linked, besides its place in the tile. Only the first of
  /// whoever has none that is less, for that neighbour may not come to it.
  enum Left : std::uint16_t { kFirst = 1u << kBits, kSecond = 2u << kBits };
  /// How many places of a tile are noted.
  struct Counts {
    std::uint32_t hung;  ///< roots of the tile that hang below a vertex of another
    /// Vertices with neighbours in others that they are not linked with yet: the first among them, or the second alone.
    std::uint32_t first, second;
  };

  bool there = false;              ///< or vertices are not tiled
  LocalId owned = 0;               ///< vertices in all tiles
  std::uint16_t* noted = nullptr;  ///< places: two an owned vertex
  Counts* counts = nullptr;        ///< one a tile

  CHATTY_FN static constexpr std::size_t Count(std::uint64_t owned) { return (owned + kSize - 1) / kSize; }
  CHATTY_FN static constexpr LocalId Begin(std::size_t tile) { return static_cast<LocalId>(tile << kBits); }
  CHATTY_FN std::uint32_t Size(std::size_t tile) const { return owned - Begin(tile) < kSize ? owned - Begin(tile) : kSize; }
  CHATTY_FN std::uint16_t* Hung(std::size_t tile) const { return noted + std::size_t{2} * Begin(tile); }
  /// Those whose first neighbour is left come first. Others begin at the end, so that either can be gone through alone.
  CHATTY_FN std::uint16_t* FirstLeft(std::size_t tile) const { return Hung(tile) + Size(tile); }
  CHATTY_FN std::uint16_t* SecondLeft(std::size_t tile, std::uint32_t k) const {
    return FirstLeft(tile) + (Size(tile) - 1 - k);
  }
};

/// Joins what the first neighbours of a tile's vertices join within it, and hangs each tree that comes of it below another
/// tile's vertex, where one of its own has that as its first neighbour: by atomics in scratch alone. Images are labelled so,
/// block by block, before blocks are (Allegretti, Bolelli and Grana, TPDS 2020); of tiles of one vertex this is HookFirst.
/// Neighbours that are greater are left to link themselves, but for the first of a vertex that has no others.
class HookTile {
 public:
  static constexpr std::size_t kScratch =
      Tiles::kSize * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + sizeof(Tiles::Counts);

  HookTile(const FirstLinks& links, VertexId* parent, const Tiles& tiles) : links_(links), parent_(parent), tiles_(tiles) {}

  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t tile, const ThreadGroup& group) const {
    // A place's entry: who is above it. A root's is kSize and the place by whose first neighbour it hangs, once it does.
    auto* const above = group.template Scratch<std::uint32_t>();
    auto* const counts = reinterpret_cast<Tiles::Counts*>(above + Tiles::kSize);
    // How far below it is another lesser neighbour in the tile, 0 for none; and which neighbours elsewhere are lesser. Or
    // kMin.
    auto* const others = reinterpret_cast<std::uint16_t*>(counts + 1);
    const LocalId first = Tiles::Begin(tile);
    const std::uint32_t size = tiles_.Size(tile);
    if (group.thread() == 0) *counts = {};
    if (links_.own) {
      ReadRows<Entries::kOwned>(group, first, size, above, others);
    } else if (graph().global_ids == nullptr) {
      ReadRows<Entries::kAll>(group, first, size, above, others);
    } else {
      ReadRows<Entries::kHalo>(group, first, size, above, others);
    }
    group.Sync();
    for (std::uint32_t i = group.thread(); i < size; i += group.threads()) {  // as Compress does
      std::uint32_t p = InScratch::Read(above + i), next;
      while (p != (next = InScratch::Read(above + p))) InScratch::Write(above + i, p = next);
    }
    group.Sync();
    for (std::uint32_t i = group.thread(); i < size; i += group.threads()) {
      const std::uint32_t below = others[i] % Tiles::kSize;
      if (below != 0 && others[i] != kMin) Link<InScratch>(above, i, i - below);
    }
    group.Sync();
    for (std::uint32_t base = 0; base < size; base += group.threads()) {
      const std::uint32_t i = base + group.thread();
      bool hangs = false;
      std::uint32_t root = i, left = 0;
      if (i < size) {
        for (std::uint32_t next; (next = InScratch::Read(above + root)) != root && next < Tiles::kSize;) root = next;
        if (root != i) parent_[graph().Global(first + i)] = graph().Global(first + root);
        left = others[i] & (Tiles::kFirst | Tiles::kSecond);
        hangs = (left & Tiles::kFirst) != 0 && others[i] != kMin &&
                atomics::CompareSwap(above + root, root, Tiles::kSize + i) == root;
        if (hangs) left &= Tiles::kSecond;
      }
      const bool first_left = (left & Tiles::kFirst) != 0, second_left = left == Tiles::kSecond;
      const std::uint32_t hung_at = group.AppendIndex(hangs, &counts->hung);
      const std::uint32_t first_at = group.AppendIndex(first_left, &counts->first);
      const std::uint32_t second_at = group.AppendIndex(second_left, &counts->second);
      if (hangs) tiles_.Hung(tile)[hung_at] = static_cast<std::uint16_t>(root);
      if (first_left) tiles_.FirstLeft(tile)[first_at] = static_cast<std::uint16_t>(left | i);
      if (second_left) *tiles_.SecondLeft(tile, second_at) = static_cast<std::uint16_t>(left | i);
    }
    group.Sync();
    for (std::uint32_t k = group.thread(); k < counts->hung; k += group.threads()) {
      const std::uint32_t root = tiles_.Hung(tile)[k], by = above[root] % Tiles::kSize;
      if (by == root) continue;  // its own neighbour is above it already
      parent_[graph().Global(first + root)] = graph().Global(graph().forward.neighbours[links_.Begin(first + by)]);
    }
    if (group.thread() == 0) tiles_.counts[tile] = *counts;
  }

 private:
  /// What is noted of a vertex none of whose neighbours is less, and the first not in the tile: nothing else is noted so.
  static constexpr std::uint16_t kMin = Tiles::kFirst | 1;
  /// Which entries rows may have among the first: the whole graph's, of which all are owned; owned ones; any.
  enum class Entries { kAll, kOwned, kHalo };

  CHATTY_FN const GraphRef& graph() const { return links_.graph; }

  /// What rows say of each of the tile's places, and HookFirst of what is to be above it: of roots that stays. Several rows
  /// are asked for before the first is looked at.
  template <Entries kEntries, class ThreadGroup>
  CHATTY_FN void ReadRows(const ThreadGroup& group, LocalId first, std::uint32_t size, std::uint32_t* above,
                          std::uint16_t* others) const {
    constexpr unsigned kRows = ThreadGroup::kMany ? 4 : 1;
    constexpr bool kHalo = kEntries == Entries::kHalo, kIds = kEntries != Entries::kAll;
    const AdjacencyRef& rows = graph().forward;
    for (std::uint32_t base = group.thread(); base < size; base += kRows * group.threads()) {
      EdgeIndex begins[kRows], ends[kRows];
      LocalId entries[kRows][Tiles::kLooked];
      for (unsigned r = 0; r < kRows; ++r) {
        const std::uint32_t i = base + r * group.threads();
        const LocalId v = first + (i < size ? i : size - 1);
        begins[r] = links_.Begin(v);
        ends[r] = rows.offsets[v + 1];
      }
      for (unsigned r = 0; r < kRows; ++r) {  // the vertex itself where there is none, and the first again for the second
        const LocalId v = first + base + r * group.threads();
        entries[r][0] = begins[r] == ends[r] ? v : rows.neighbours[begins[r]];
        entries[r][1] = ends[r] - begins[r] < 2 ? v : rows.neighbours[begins[r] + 1];
        if (kEntries == Entries::kOwned && entries[r][0] >= tiles_.owned) entries[r][0] = v;
        if (kEntries == Entries::kOwned && entries[r][1] >= tiles_.owned) entries[r][1] = v;
      }
      for (unsigned r = 0; r < kRows; ++r) {
        const std::uint32_t i = base + r * group.threads();
        if (i >= size) break;
        const LocalId a = entries[r][0], b = entries[r][1], v = first + i;
        const std::uint32_t p = a - first, q = b - first;  // past the tile's size where they are of another
        const bool p_below = p < i, q_below = q < i;
        const std::uint32_t low = p_below && (!q_below || p < q) ? p : q_below ? q : i;
        const std::uint32_t high = p < q ? q : p;
        // Who is owned and has a lesser id lies below the tile, and so below its roots, as does all of the halo that is
        // below where parts are ranges; elsewhere it is left with the second.
        const bool a_below = a < first || (kHalo && a >= tiles_.owned && graph().HaloBelow(a, v));
        const bool hangs = a_below && (!kHalo || a < first || graph().ranges);
        const bool left =
            (a_below && !hangs) || (b != a && (b < first || (kHalo && b >= tiles_.owned && graph().HaloBelow(b, v))));
        const bool least = p >= size && !a_below;
        above[i] = low;
        others[i] = least ? kMin
                          : static_cast<std::uint16_t>((p_below && q_below ? i - high : 0) | (hangs ? Tiles::kFirst : 0) |
                                                       (left ? Tiles::kSecond : 0));
        const LocalId up = hangs ? a : v;
        parent_[kIds ? graph().Global(v) : v] = kIds ? graph().Global(up) : up;
      }
    }
  }

  FirstLinks links_;
  VertexId* parent_;
  Tiles tiles_;
};
/// Points the roots of tiles at the roots of their trees: those that hang below another tile's vertex.
struct CompressTile {
  VertexId* parent;
  GraphRef graph;
  Tiles tiles;
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t tile, const ThreadGroup& group) const {
    for (std::uint32_t k = group.thread(); k < tiles.counts[tile].hung; k += group.threads()) {
      Compress{parent}(graph.Global(Tiles::Begin(tile) + tiles.Hung(tile)[k]));
    }
  }
};
/// Links what HookTile has left: with the first eighth all vertices whose first neighbours are left, and of those whose
/// second ones are some eighths, which join most of a graph whose vertices have neighbours anywhere. A piece of a tile.
struct LinkTile {
  static constexpr std::uint32_t kEighths = 8;
  static constexpr std::size_t kPieces = 8;  ///< few tiles are enough for many groups
  VertexId* parent;
  FirstLinks links;
  Tiles tiles;
  std::uint32_t from = 0, to = kEighths;  ///< eighths of each tile's
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t piece, const ThreadGroup& group) const {
    const GraphRef& graph = links.graph;
    const std::size_t tile = piece / kPieces;
    const auto part = static_cast<std::uint32_t>(piece % kPieces);
    const Tiles::Counts counts = tiles.counts[tile];
    const std::uint32_t firsts = from == 0 ? counts.first : 0, skipped = counts.second / kEighths * from;
    const std::uint32_t all = firsts + (to == kEighths ? counts.second : counts.second / kEighths * to) - skipped;
    for (std::uint32_t k = part * group.threads() + group.thread(); k < all; k += kPieces * group.threads()) {
      const std::uint32_t noted = k < firsts ? tiles.FirstLeft(tile)[k] : *tiles.SecondLeft(tile, skipped + k - firsts);
      const bool first = (noted & Tiles::kFirst) != 0, second = (noted & Tiles::kSecond) != 0;
      const LocalId v = Tiles::Begin(tile) + noted % Tiles::kSize;
      const EdgeIndex row = links.Begin(v), degree = graph.forward.offsets[v + 1] - row;
      const VertexId own = graph.Global(v);
      const LocalId a = graph.forward.neighbours[row];
      // Where parts are no ranges, the first in the halo is noted with the second.
      const bool with_second = second && !graph.ranges && a >= graph.owned && graph.HaloBelow(a, v);
      if (first || with_second) Link(parent, own, graph.Global(a));
      if (!second || degree < 2) continue;
      const LocalId b = graph.forward.neighbours[row + 1];
      if (b < graph.owned ? b < v : links.Has(b) && graph.HaloBelow(b, v)) Link(parent, own, graph.Global(b));
    }
  }
};

/// Links v with its nth neighbour, the second with the first as well, if HookFirst has not.
struct LinkNth {
  FirstLinks links;
  VertexId* parent;
  EdgeIndex nth;
  CHATTY_FN void operator()(LocalId v) const {
    const GraphRef& graph = links.graph;
    // Vertices are visited in order by a CPU, which a link's atomics would let wait for each row and each tree in turn.
    constexpr LocalId kRows = 32, kTrees = 16;
    if (v + kRows < graph.owned) Prefetch(graph.forward.neighbours + links.Begin(v + kRows) + nth);
    if (v + kTrees < graph.owned) {
      const EdgeIndex at = links.Begin(v + kTrees) + nth;
      if (at < graph.forward.offsets[v + kTrees + 1]) Prefetch(parent + graph.Global(graph.forward.neighbours[at]));
    }
    const EdgeIndex begin = links.Begin(v), degree = graph.forward.offsets[v + 1] - begin;
    const LocalId* const row = graph.forward.neighbours + begin;
    const VertexId own = graph.Global(v);
    if (nth == 1 && degree > 0 && links.Has(row[0]) && graph.Global(row[0]) > own) Link(parent, own, graph.Global(row[0]));
    if (degree > nth && links.Has(row[nth])) Link(parent, own, graph.Global(row[nth]));
  }
};
struct LinkEdge {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex) const { Link(parent, graph.Global(v), graph.Global(u)); }
};
/// Rows of vertices already in the largest component are skipped, and of others what has been linked. The rest of a row,
/// too, once some of its edges have joined the vertex to the largest component: to a neighbour that is not in it the
/// neighbour's own row leads as well, for graphs that have a largest component are symmetric.
struct SkipSettled {
  static constexpr EdgeIndex kAskedAfter = 4;
  GraphRef graph;
  const VertexId* parent;
  VertexId largest;  ///< kNoVertex: skip only what has been linked
  EdgeIndex linked;
  CHATTY_FN EdgeIndex operator()(LocalId v) const {
    if (largest == kNoVertex) return linked;
    const VertexId own = graph.Global(v), above = atomics::Load(parent + own);
    if (above == largest) return graph.forward.degree(v);
#if CHATTY_DEVICE_CODE
    // A tree's other vertices have joined with its first. A CPU pays more for the look than for their few edges.
    if (Hangs(own, above)) return graph.forward.degree(v);
#endif
    return linked;
  }
  /// Of hubs this is asked before they are cut into slices.
  CHATTY_FN bool Settled(LocalId v) const {
    if (largest == kNoVertex) return false;
    const VertexId own = graph.Global(v), above = atomics::Load(parent + own);
    return above == largest || Hangs(own, above);
  }

 private:
  /// What an edge has joined hangs below the largest component's root; or below what another device's largest component has
  /// put above that; or below the root of a small tree that does.
  CHATTY_FN bool Hangs(VertexId own, VertexId above) const {
    const VertexId top = atomics::LoadOld(parent + largest);
    if (above == top) return true;
    const VertexId next = above == own ? own : atomics::Load(parent + above);
    return next == largest || next == top;
  }
};
/// Lists owned vertices whose rows SkipSettled does not leave out, so that those have threads side by side: a stretch of
/// vertices, several for each thread at a time, of a group with scratch.
struct ListUnsettled {
  static constexpr std::uint32_t kMax = 1u << 14, kMin = 1u << 10;  ///< vertices of a stretch
  static constexpr std::size_t kScratch = 2 * sizeof(LocalId) + kMax * sizeof(std::uint16_t);
  static constexpr unsigned kAtOnce = 4;
  SkipSettled skip;       ///< of a largest component
  LocalId* list;          ///< has room for all that are owned
  LocalId* size;          ///< of it; 0 at first
  std::uint32_t stretch;  ///< vertices of one

  CHATTY_FN std::size_t Count() const { return (std::size_t{skip.graph.owned} + stretch - 1) / stretch; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t index, const ThreadGroup& group) const {
    const GraphRef& graph = skip.graph;
    auto* const count = group.template Scratch<LocalId>();             // and where the group's begin in the list
    auto* const places = reinterpret_cast<std::uint16_t*>(count + 2);  // in the stretch
    const std::size_t first = index * stretch;
    const auto vertices = static_cast<std::uint32_t>(graph.owned - first < stretch ? graph.owned - first : stretch);
    if (group.thread() == 0) *count = 0;
    group.Sync();
    const VertexId largest = skip.largest, top = atomics::LoadOld(skip.parent + largest);
    for (std::uint32_t base = 0; base < vertices; base += kAtOnce * group.threads()) {
      VertexId own[kAtOnce], above[kAtOnce], next[kAtOnce];
      EdgeIndex degree[kAtOnce];
      bool left[kAtOnce];
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const std::uint32_t i = base + k * group.threads() + group.thread();
        left[k] = i < vertices;
        own[k] = graph.Global(static_cast<LocalId>(first + (left[k] ? i : 0)));
        above[k] = atomics::LoadOld(skip.parent + own[k]);
      }
      for (unsigned k = 0; k < kAtOnce; ++k) {
        left[k] = left[k] && above[k] != largest && above[k] != top;
        degree[k] =
            left[k] ? graph.forward.degree(static_cast<LocalId>(first + base + k * group.threads() + group.thread())) : 0;
        next[k] = left[k] && above[k] != own[k] ? atomics::LoadOld(skip.parent + above[k]) : above[k];
      }
      for (unsigned k = 0; k < kAtOnce; ++k) {
        left[k] = left[k] && degree[k] > skip.linked && next[k] != largest && next[k] != top;
        const std::uint32_t place = group.AppendIndex(left[k], count);
        if (left[k]) places[place] = static_cast<std::uint16_t>(base + k * group.threads() + group.thread());
      }
    }
    group.Sync();
    if (group.thread() == 0 && count[0] != 0) count[1] = atomics::Add<true>(size, count[0]);
    group.Sync();
    for (LocalId i = group.thread(); i < count[0]; i += group.threads()) {
      list[count[1] + i] = static_cast<LocalId>(first + places[i]);
    }
  }
};
struct ClearCount {
  LocalId* count;
  CHATTY_FN void operator()(std::size_t) const { *count = 0; }
};
/// Joins in what another device found.
struct LinkTrees {
  VertexId* parent;
  const VertexId* theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs[v] != v) Link(parent, static_cast<VertexId>(v), theirs[v]);
  }
};

/// A forest in few words: most vertices are below the largest component's root, or roots themselves. In this order: the
/// number of pairs; the largest component's root; a bit a vertex, set below that root; a pair, the vertex and its root, for
/// any other that is no root.
struct Digest {
  VertexId* ids;
  VertexId vertices;

  CHATTY_FN static constexpr std::size_t BitIds(std::uint64_t vertices) {
    return (bits::Words(vertices) * sizeof(std::uint32_t) + sizeof(VertexId) - 1) / sizeof(VertexId);
  }
  /// Pairs that fit where a digest with any takes at most half the room of the forest.
  CHATTY_FN static constexpr std::size_t Room(std::uint64_t vertices) {
    const std::size_t fixed = 2 + BitIds(vertices), most = vertices / 2;
    return fixed < most ? (most - fixed) / 2 : 0;
  }
  /// Ids in a digest with so many pairs.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t vertices, std::size_t pairs) {
    return 2 + BitIds(vertices) + 2 * pairs;
  }
  CHATTY_FN std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(ids + 2); }
  CHATTY_FN bool below(std::size_t v) const { return (words()[v / 32] >> (v % 32) & 1) != 0; }
  CHATTY_FN VertexId* pairs() const { return ids + 2 + BitIds(vertices); }
};
struct ClearDigest {
  Digest digest;
  const VertexId* parent;
  VertexId largest;  ///< once its root; kNoVertex: there is none
  CHATTY_FN void operator()(std::size_t) const {
    digest.ids[0] = 0;
    digest.ids[1] = largest == kNoVertex ? kNoVertex : Root(parent, largest);
  }
};
/// Digests a stretch of vertices, a word for each warp at a time; counts pairs that do not fit, too.
struct DigestStretch {
  static constexpr std::size_t kVertices = 1 << 14;
  Digest digest;
  const VertexId* parent;
  CHATTY_FN static constexpr std::size_t Count(std::uint64_t vertices) { return (vertices + kVertices - 1) / kVertices; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t stretch, const ThreadGroup& group) const {
    const VertexId largest = digest.ids[1];
    const std::size_t begin = stretch * kVertices / 32, words = bits::Words(digest.vertices);
    const std::size_t end = begin + kVertices / 32 < words ? begin + kVertices / 32 : words;
    for (std::size_t w = begin + group.warp(); w < end; w += group.warps()) {
      const std::size_t first = w * 32;
      const unsigned count = digest.vertices - first < 32 ? static_cast<unsigned>(digest.vertices - first) : 32;
      std::uint32_t below = 0, others = 0;
      for (unsigned b = group.lane(); b < count; b += group.lanes()) {
        const auto v = static_cast<VertexId>(first + b);
        const VertexId root = Root(parent, v);
        if (root != v) (root == largest ? below : others) |= 1u << b;
      }
      below = group.SumOfWarp(below);  // bits of different lanes
      const std::uint32_t all = group.SumOfWarp(others);
      if (group.lane() == 0) digest.words()[w] = below;
      if (all == 0) continue;
      VertexId place = 0;
      if (group.lane() == 0) place = atomics::Add<true>(digest.ids, static_cast<VertexId>(bits::Count(all)));
      place = group.OfFirstLane(place);
      for (unsigned b = group.lane(); b < count; b += group.lanes()) {
        if (!(others >> b & 1u)) continue;
        const std::size_t at = place + bits::Count(all & ((1u << b) - 1));
        if (at >= Digest::Room(digest.vertices)) continue;
        const auto v = static_cast<VertexId>(first + b);
        digest.pairs()[2 * at] = v;
        digest.pairs()[2 * at + 1] = Root(parent, v);
      }
    }
  }
};
/// Joins in a vertex of another device's largest component, and a pair.
struct LinkBit {
  VertexId* parent;
  Digest theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs.below(v)) Link(parent, static_cast<VertexId>(v), theirs.ids[1]);
  }
};
struct LinkPair {
  VertexId* parent;
  const VertexId* pairs;
  CHATTY_FN void operator()(std::size_t i) const { Link(parent, pairs[2 * i], pairs[2 * i + 1]); }
};

/// What devices tell each other of vertices that both link, where parts are ranges and each owns vertices of one largest
/// component: a bit a vertex, set in its owner's; and two lists of pairs, a vertex and its root, whose sizes are the
/// digest's first ids. They lie where a digest does when there is one.
struct Notes {
  Digest room;

  /// Pairs that fit in a list.
  CHATTY_FN static constexpr std::size_t Room(std::uint64_t vertices) {
    const std::size_t half = Digest::Room(vertices) / 2, most = vertices / 16;
    return half < most ? half : most;
  }
  /// @{
  CHATTY_FN std::uint32_t* words() const { return room.words(); }
  CHATTY_FN bool in_largest(VertexId v) const { return room.below(v); }
  CHATTY_FN VertexId* size(int list) const { return room.ids + list; }
  CHATTY_FN VertexId* pairs(int list) const { return room.pairs() + (list == 0 ? 0 : 2 * Room(room.vertices)); }
  /// @}
  /// Appends a pair. One that does not fit is counted, but not all that follow: very many would wait for one address.
  CHATTY_FN void Note(int list, VertexId v, VertexId root) const {
    if (atomics::Load(size(list)) > Room(room.vertices)) return;
    const VertexId at = atomics::Add<true>(size(list), VertexId{1});
    if (at >= Room(room.vertices)) return;
    pairs(list)[2 * at] = v;
    pairs(list)[2 * at + 1] = root;
  }
};
/// Empties both lists, and notes a vertex in the first, unless it is none.
struct StartNotes {
  Notes notes;
  VertexId v;
  CHATTY_FN void operator()(std::size_t) const {
    *notes.size(0) = *notes.size(1) = 0;
    if (v != kNoVertex) notes.Note(0, v, v);
  }
};
/// Compresses the trees of a stretch of owned vertices, and sets the bits of those in the largest component: some words for
/// each warp at a time. Nobody may link meanwhile.
struct LargestStretch {
  static constexpr std::size_t kWords = 64;
  static constexpr unsigned kAtOnce = 4;  ///< words
  GraphRef graph;
  VertexId* parent;
  Notes notes;
  VertexId largest;
  /// @{
  /// The words that owned vertices' bits are in.
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
        if (group.lane() == 0 && w + k < end) notes.words()[w + k] = all;
      }
    }
  }
};
/// Puts all devices' words in their places, and joins those that vertices of several are in.
struct JoinWords {
  Notes notes;
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
    notes.words()[w] = all;
  }
};
/// Looks for an edge between this device's largest component and that of one before it, until one is found: among the first
/// `end` owned vertices, in `pieces` of as many for each warp at a time as it has lanes. A warp asks and tells for all of
/// its lanes.
struct FindMeeting {
  /// Where most vertices have such an edge a few are enough, and more at once would all be looked at in vain.
  static constexpr std::size_t kFewPieces = 16, kPieces = 256;
  static constexpr LocalId kFew = 4096;
  GraphRef graph;
  Notes notes;
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
      const bool meets = v < end && Meets(static_cast<LocalId>(v));
      if (group.SumOfWarp(std::uint32_t{meets}) != 0 && group.lane() == 0) atomics::Store(found, VertexId{1});
    }
  }

 private:
  CHATTY_FN bool Meets(LocalId v) const {
    if (graph.forward.degree(v) == 0 || !notes.in_largest(graph.Global(v))) return false;
    const LocalId u = graph.forward.neighbours[graph.forward.offsets[v]];
    return u >= graph.owned && u < graph.lesser_end && notes.in_largest(graph.Global(u));
  }
};
/// Joins the devices' largest components, and begins both lists with this device's.
struct LinkLargest {
  VertexId* parent;
  Notes notes;
  VertexId own;
  VertexId largest_components[kMaxDevices] = {};
  std::uint32_t count = 0;
  CHATTY_FN void operator()(std::size_t) const {
    for (std::uint32_t i = 1; i < count; ++i) Link(parent, largest_components[0], largest_components[i]);
    StartNotes{notes, own}(0);
  }
};
/// An edge of a vertex that is not in its owner's largest component. All largest components are of one component; others'
/// vertices that are in none are noted.
struct LinkEdgeOrLargest {
  GraphRef graph;
  VertexId* parent;
  Notes notes;
  VertexId largest;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex) const {
    const VertexId own = graph.Global(v), other = graph.Global(u);
    if (u < graph.owned) return Link(parent, own, other);
    if (notes.in_largest(other)) return Link(parent, own, largest);
    Link(parent, own, other);
    notes.Note(0, other, kNoVertex);
  }
};
/// Completes the first list.
struct NoteRoot {
  Notes notes;
  const VertexId* parent;
  CHATTY_FN void operator()(std::size_t i) const {
    VertexId* const pair = notes.pairs(0) + 2 * i;
    pair[1] = Root(parent, pair[0]);
  }
};
/// Lists of pairs that other devices have handed on, end to end.
struct PairLists {
  const VertexId* pairs[kMaxDevices] = {};
  std::size_t end[kMaxDevices] = {};  ///< pairs in a list and those before it
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
/// Joins them in.
struct LinkPairs {
  VertexId* parent;
  PairLists theirs;
  CHATTY_FN void operator()(std::size_t i) const { Link(parent, theirs[i][0], theirs[i][1]); }
};
/// Notes in the second list what others' first ones have of this device's vertices, with the roots that these have here.
struct Answer {
  GraphRef graph;
  const VertexId* parent;
  Notes notes;
  PairLists theirs;
  CHATTY_FN void operator()(std::size_t i) const {
    const VertexId v = theirs[i][0];
    if (v >= graph.first_id && v - graph.first_id < graph.owned) notes.Note(1, v, Root(parent, v));
  }
};

/// Of owned vertices picked by a hash, the roots, the first neighbours, kNoVertex where there are none, and the degrees.
struct Sample {
  GraphRef graph;
  const VertexId* parent;
  VertexId* roots;
  VertexId* neighbours;
  VertexId* degrees;
  CHATTY_FN void operator()(std::size_t i) const {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    const auto v = static_cast<LocalId>((x ^ (x >> 31)) % graph.owned);
    const VertexId own = graph.Global(v);
    roots[i] = Root(parent, own);
    const EdgeIndex degree = graph.forward.degree(v);
    neighbours[i] = degree == 0 ? kNoVertex : graph.Global(graph.forward.neighbours[graph.forward.offsets[v]]);
    degrees[i] = degree < kNoVertex ? static_cast<VertexId>(degree) : kNoVertex;
  }
};
/// The root of each owned vertex.
struct Label {
  GraphRef graph;
  const VertexId* parent;
  VertexId* out;
  CHATTY_FN void operator()(LocalId v) const { out[v] = Root(parent, graph.Global(v)); }
};

}  // namespace hooking

}  // namespace chatty
