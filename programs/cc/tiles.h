/// \file
/// Step 1 of `cc` where consecutive vertices are often neighbours: a group of threads joins a tile of vertices in its
/// scratch memory, by what the first two entries of each row say. Links within a tile then cost no access to device memory,
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
    std::uint32_t linked;  ///< roots of the tile that hang below a vertex of another
    /// Vertices with neighbours in others that they are not linked with yet: the first among them, or the second alone.
    std::uint32_t first, second;
  };

  bool there = false;               ///< or vertices are not tiled
  LocalId owned = 0;                ///< vertices in all tiles
  std::uint16_t* places = nullptr;  ///< places: two an owned vertex
  Counts* counts = nullptr;         ///< one a tile

  CHATTY_FN static constexpr std::size_t Count(std::uint64_t owned) { return (owned + kSize - 1) / kSize; }
  CHATTY_FN static constexpr LocalId Begin(std::size_t tile) { return static_cast<LocalId>(tile << kBits); }
  CHATTY_FN std::uint32_t Size(std::size_t tile) const { return owned - Begin(tile) < kSize ? owned - Begin(tile) : kSize; }
  CHATTY_FN std::uint16_t* Linked(std::size_t tile) const { return places + std::size_t{2} * Begin(tile); }
  /// Those whose first neighbour is left come first. Others begin at the end, so that either can be gone through alone.
  CHATTY_FN std::uint16_t* FirstLeft(std::size_t tile) const { return Linked(tile) + Size(tile); }
  CHATTY_FN std::uint16_t* SecondLeft(std::size_t tile, std::uint32_t k) const {
    return FirstLeft(tile) + (Size(tile) - 1 - k);
  }
};

/// Joins what the first neighbours of a tile's vertices join within it, and links each tree that comes of it below another
/// tile's vertex, where one of its own has that as its first neighbour: by atomics in scratch alone. Images are labelled so,
/// block by block, before blocks are (Allegretti, Bolelli and Grana, TPDS 2020); of tiles of one vertex this is LinkFirst.
/// Neighbours that are greater are left to link themselves, but for the first of a vertex that has no others.
class LinkTile {
 public:
  static constexpr std::size_t kScratch =
      Tiles::kSize * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + sizeof(Tiles::Counts);

  LinkTile(const FirstLinks& links, VertexId* parent, const Tiles& tiles) : links_(links), parent_(parent), tiles_(tiles) {}

  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t tile, const ThreadGroup& group) const {
    // A place's entry: who is above it. A root's is kSize and the place by whose first neighbour it links, once it does.
    auto* const tile_parent = group.template Scratch<std::uint32_t>();
    auto* const counts = reinterpret_cast<Tiles::Counts*>(tile_parent + Tiles::kSize);
    // How far below it is another lesser neighbour in the tile, 0 for none; and which neighbours elsewhere are lesser. Or
    // kMin.
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

  /// What rows say of each of the tile's places, and LinkFirst of what is to be above it: of roots that stays. Several rows
  /// are asked for before the first is looked at.
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
        // Who is owned and has a lesser id lies below the tile, and so below its roots, as does all of the halo that is
        // below where parts are ranges; elsewhere it is left with the second.
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
/// Points the roots of tiles at the roots of their trees: those that hang below another tile's vertex.
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
/// Links what LinkTile has left: with the first eighth all vertices whose first neighbours are left, and of those whose
/// second ones are some eighths, which join most of a graph whose vertices have neighbours anywhere. A piece of a tile.
struct LinkTileRest {
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
      const std::uint32_t entry = k < firsts ? tiles.FirstLeft(tile)[k] : *tiles.SecondLeft(tile, skipped + k - firsts);
      const bool first = (entry & Tiles::kFirst) != 0, second = (entry & Tiles::kSecond) != 0;
      const LocalId v = Tiles::Begin(tile) + entry % Tiles::kSize;
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

}  // namespace chatty::union_find
