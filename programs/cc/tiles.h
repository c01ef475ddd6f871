/// \file
/// Step 1 of `cc` where consecutive vertices are often neighbours: a group of threads links a tile of consecutive vertices
/// in its scratch memory, by the first two entries of each row. Links within a tile then cost no access to device memory,
/// and few trees of a tile are left to be linked with others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/first_links.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// How owned vertices are divided into tiles, with lists of places in each tile. These are the vertices whose links with
/// other tiles remain, and are few where consecutive vertices are neighbours.
struct Tiles {
  static constexpr unsigned kBits = 14;
  static constexpr std::uint32_t kSize = 1u << kBits;  ///< vertices per tile
  /// Number of entries of a row that are read, from the first.
  static constexpr EdgeIndex kLooked = 2;
  /// Flags beside a place in a list: which neighbours of the vertex remain to be linked. Without a lesser neighbour only the
  /// first remains, because the first entries of that neighbour's row may not contain the vertex.
  enum Left : std::uint16_t { kFirst = 1u << kBits, kSecond = 2u << kBits };
  /// Lengths of the lists of a tile.
  struct Counts {
    std::uint32_t linked;  ///< roots of the tile with a parent in another tile
    /// Vertices with a neighbour in another tile that remains to be linked: the first one, perhaps with the second; or the
    /// second alone.
    std::uint32_t first, second;
  };

  bool there = false;               ///< false: vertices are not tiled
  LocalId owned = 0;                ///< vertices in all tiles
  std::uint16_t* places = nullptr;  ///< all lists: room for two places per owned vertex
  Counts* counts = nullptr;         ///< one per tile

  CHATTY_FN static constexpr std::size_t Count(std::uint64_t owned) { return (owned + kSize - 1) / kSize; }
  CHATTY_FN static constexpr LocalId Begin(std::size_t tile) { return static_cast<LocalId>(tile << kBits); }
  CHATTY_FN std::uint32_t Size(std::size_t tile) const { return owned - Begin(tile) < kSize ? owned - Begin(tile) : kSize; }
  CHATTY_FN std::uint16_t* Linked(std::size_t tile) const { return places + std::size_t{2} * Begin(tile); }
  /// The list of vertices whose first neighbour remains. Those of which only the second does are stored from the end of the
  /// same memory, so that either list can be read alone.
  CHATTY_FN std::uint16_t* FirstLeft(std::size_t tile) const { return Linked(tile) + Size(tile); }
  CHATTY_FN std::uint16_t* SecondLeft(std::size_t tile, std::uint32_t k) const {
    return FirstLeft(tile) + (Size(tile) - 1 - k);
  }
};

/// Links the vertices of a tile with their first two neighbours in it, by atomics in scratch memory alone. If a vertex of a
/// resulting tree has its first neighbour in another tile, that neighbour becomes the parent of the tree's root. Images are
/// labelled in this way: pixels within blocks first, and then blocks (Allegretti, Bolelli and Grana, TPDS 2020). With tiles
/// of one vertex this is LinkFirst. Greater neighbours are not linked, as their own rows do that, except for the first
/// neighbour of a vertex without lesser ones.
class LinkTile {
 public:
  static constexpr std::size_t kScratch =
      Tiles::kSize * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + sizeof(Tiles::Counts);

  LinkTile(const FirstLinks& links, VertexId* parent, const Tiles& tiles) : links_(links), parent_(parent), tiles_(tiles) {}

  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t tile, const ThreadGroup& group) const {
    // Parents by place. The entry of a root may become kSize and the place whose first neighbour becomes the root's parent.
    auto* const tile_parent = group.template Scratch<std::uint32_t>();
    auto* const counts = reinterpret_cast<Tiles::Counts*>(tile_parent + Tiles::kSize);
    // By place: the distance to a second lesser neighbour in the tile, 0 for none; and flags for lesser neighbours
    // elsewhere. Or kMin.
    auto* const others = reinterpret_cast<std::uint16_t*>(counts + 1);
    const LocalId first = Tiles::Begin(tile);
    const std::uint32_t size = tiles_.Size(tile);
    if (group.thread() == 0) *counts = {};
    if (links_.own) {
      ReadRows<Entries::kOwned>(group, first, size, tile_parent, others);
    } else if (graph().global_ids == nullptr) {
      ReadRows<Entries::kAll>(group, first, size, tile_parent, others);
    } else {
      ReadRows<Entries::kHalo>(group, first, size, tile_parent, others);
    }
    group.Sync();
    for (std::uint32_t i = group.thread(); i < size; i += group.threads()) {  // as Compress does
      std::uint32_t p = SharedMemoryAccess::Read(tile_parent + i), next;
      while (p != (next = SharedMemoryAccess::Read(tile_parent + p))) SharedMemoryAccess::Write(tile_parent + i, p = next);
    }
    group.Sync();
    for (std::uint32_t i = group.thread(); i < size; i += group.threads()) {
      const std::uint32_t below = others[i] % Tiles::kSize;
      if (below != 0 && others[i] != kMin) Link<SharedMemoryAccess>(tile_parent, i, i - below);
    }
    group.Sync();
    for (std::uint32_t base = 0; base < size; base += group.threads()) {
      const std::uint32_t i = base + group.thread();
      bool linked = false;
      std::uint32_t root = i, left = 0;
      if (i < size) {
        for (std::uint32_t next; (next = SharedMemoryAccess::Read(tile_parent + root)) != root && next < Tiles::kSize;)
          root = next;
        if (root != i) parent_[graph().Global(first + i)] = graph().Global(first + root);
        left = others[i] & (Tiles::kFirst | Tiles::kSecond);
        linked = (left & Tiles::kFirst) != 0 && others[i] != kMin &&
                 atomics::CompareSwap(tile_parent + root, root, Tiles::kSize + i) == root;
        if (linked) left &= Tiles::kSecond;
      }
      const bool first_left = (left & Tiles::kFirst) != 0, second_left = left == Tiles::kSecond;
      const std::uint32_t linked_at = group.AppendIndex(linked, &counts->linked);
      const std::uint32_t first_at = group.AppendIndex(first_left, &counts->first);
      const std::uint32_t second_at = group.AppendIndex(second_left, &counts->second);
      if (linked) tiles_.Linked(tile)[linked_at] = static_cast<std::uint16_t>(root);
      if (first_left) tiles_.FirstLeft(tile)[first_at] = static_cast<std::uint16_t>(left | i);
      if (second_left) *tiles_.SecondLeft(tile, second_at) = static_cast<std::uint16_t>(left | i);
    }
    group.Sync();
    for (std::uint32_t k = group.thread(); k < counts->linked; k += group.threads()) {
      const std::uint32_t root = tiles_.Linked(tile)[k], by = tile_parent[root] % Tiles::kSize;
      if (by == root) continue;  // ReadRows has written it
      parent_[graph().Global(first + root)] = graph().Global(graph().forward.neighbours[links_.Begin(first + by)]);
    }
    if (group.thread() == 0) tiles_.counts[tile] = *counts;
  }

 private:
  /// The entry of a vertex without lesser neighbours whose first neighbour is in another tile. No other vertex has this
  /// entry.
  static constexpr std::uint16_t kMin = Tiles::kFirst | 1;
  /// Which vertices may be among the first entries of rows: all of the whole graph, which are owned; owned ones; any.
  enum class Entries { kAll, kOwned, kHalo };

  CHATTY_FN const GraphRef& graph() const { return links_.graph; }

  /// Reads the rows of the tile's places. Writes each vertex's parent as LinkFirst does; roots of trees within the tile keep
  /// it. Several rows are requested before the first is used.
  template <Entries kEntries, class ThreadGroup>
  CHATTY_FN void ReadRows(const ThreadGroup& group, LocalId first, std::uint32_t size, std::uint32_t* tile_parent,
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
        // A lesser owned vertex outside of the tile is less than the roots of the tile. Where parts are ranges, so is a
        // lesser vertex of the halo. Elsewhere a first neighbour in the halo remains with the second.
        const bool a_below = a < first || (kHalo && a >= tiles_.owned && graph().HaloBelow(a, v));
        const bool linked = a_below && (!kHalo || a < first || graph().ranges);
        const bool left =
            (a_below && !linked) || (b != a && (b < first || (kHalo && b >= tiles_.owned && graph().HaloBelow(b, v))));
        const bool least = p >= size && !a_below;
        tile_parent[i] = low;
        others[i] = least ? kMin
                          : static_cast<std::uint16_t>((p_below && q_below ? i - high : 0) | (linked ? Tiles::kFirst : 0) |
                                                       (left ? Tiles::kSecond : 0));
        const LocalId parent = linked ? a : v;
        parent_[kIds ? graph().Global(v) : v] = kIds ? graph().Global(parent) : parent;
      }
    }
  }

  FirstLinks links_;
  VertexId* parent_;
  Tiles tiles_;
};
/// Path compression of the tile's roots that have a parent in another tile.
struct CompressTile {
  VertexId* parent;
  GraphRef graph;
  Tiles tiles;
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t tile, const ThreadGroup& group) const {
    for (std::uint32_t k = group.thread(); k < tiles.counts[tile].linked; k += group.threads()) {
      Compress{parent}(graph.Global(Tiles::Begin(tile) + tiles.Linked(tile)[k]));
    }
  }
};
/// Links the neighbours that LinkTile has left, of one piece of a tile. The first eighth has all vertices whose first
/// neighbour remains; each eighth has a share of those whose second one does. Some eighths join most of a graph whose
/// vertices have neighbours anywhere.
struct LinkTileRest {
  static constexpr std::uint32_t kEighths = 8;
  static constexpr std::size_t kPieces = 8;  ///< few tiles are enough for many groups
  VertexId* parent;
  FirstLinks links;
  Tiles tiles;
  std::uint32_t from = 0, to = kEighths;  ///< eighths of each tile's list
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t piece, const ThreadGroup& group) const {
    const GraphRef& graph = links.graph;
    const std::size_t tile = piece / kPieces;
    const auto part = static_cast<std::uint32_t>(piece % kPieces);
    const Tiles::Counts counts = tiles.counts[tile];
    const std::uint32_t firsts = from == 0 ? counts.first : 0, skipped = counts.second / kEighths * from;
    const std::uint32_t all = firsts + (to == kEighths ? counts.second : counts.second / kEighths * to) - skipped;
    for (std::uint32_t k = part * group.threads() + group.thread(); k < all; k += kPieces * group.threads()) {
      const std::uint32_t entry = k < firsts ? tiles.FirstLeft(tile)[k] : *tiles.SecondLeft(tile, skipped + k - firsts);
      const bool first = (entry & Tiles::kFirst) != 0, second = (entry & Tiles::kSecond) != 0;
      const LocalId v = Tiles::Begin(tile) + entry % Tiles::kSize;
      const EdgeIndex row = links.Begin(v), degree = graph.forward.offsets[v + 1] - row;
      const VertexId own = graph.Global(v);
      const LocalId a = graph.forward.neighbours[row];
      // Where parts are not ranges, a first neighbour in the halo remains with the second.
      const bool with_second = second && !graph.ranges && a >= graph.owned && graph.HaloBelow(a, v);
      if (first || with_second) Link(parent, own, graph.Global(a));
      if (!second || degree < 2) continue;
      const LocalId b = graph.forward.neighbours[row + 1];
      if (b < graph.owned ? b < v : links.Has(b) && graph.HaloBelow(b, v)) Link(parent, own, graph.Global(b));
    }
  }
};

}  // namespace chatty::union_find
