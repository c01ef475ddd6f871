/// \file
/// Rows cut into tiles, for pulls in which every source sends: a tile's messages come from 2^16 sources and go to 2^15
/// targets, so that what it reads and writes stays in a core's cache, where rows of a large graph gather from all of memory.
/// Entries within a tile need 16 bits for either end. (Cache blocking: Nishtala et al., 2007; in two dimensions with short
/// indices: Buono et al., ICS'16. What it saves in PageRank: Beamer et al., IPDPS'17.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/options.h"
#include "chatty/framework/steps/host/steps.h"
#include "chatty/partition/part_shape.h"

namespace chatty::steps::host {

/// Whether P's pulls can go by tiles: they look at all edges, in any order, and at no weights.
template <class P>
inline constexpr bool kMayTile = Traits<P>::kEveryRound && !Traits<P>::kCollects && !Traits<P>::kFirstSuffices &&
                                 !Traits<P>::kHasWants && !Traits<P>::kHasWantsMessage && std::is_same_v<WeightOf<P>, None>;

/// A device's reverse rows in tiles, in its memory. Those of 2^15 targets are a stripe, which one thread works on at a time.
///
/// A tile has its single edges, a word each of source and target, and then its runs: at least kRun edges to one target, a
/// word of target and length and half a word a source. Runs are summed in registers, which keeps a hub from waiting for its
/// own sum.
class TiledRows {
 public:
  static constexpr unsigned kSourceBits = 16;  ///< of a source within its tile
  static constexpr unsigned kTargetBits = 15;  ///< of a target
  static constexpr EdgeIndex kRun = 8;         ///< the shortest run
  static constexpr EdgeIndex kLongest = 0xffff;

  /// No tiles.
  TiledRows() = default;
  /// Tiles of `graph`'s reverse rows, made by its device's threads. Throws OutOfMemoryError.
  explicit TiledRows(const DeviceGraph& graph);

  /// Whether tiles are to be made for such a part, whose sources share so many bytes each.
  static bool Pay(Tiling tiling, const PartShape& part, std::size_t shared_bytes) {
    constexpr std::size_t kCache = std::size_t{2} << 20;  // a core's second level; without tiles what fits in costs little
    const std::uint64_t tiles = Columns(part.local) * Stripes(part.owned);
    if (tiling != Tiling::kAuto) return tiling == Tiling::kAlways;
    return part.local * shared_bytes >= kCache && tiles <= part.reverse.edges / 64;
  }
  /// Bytes that tiles of such a part take.
  static std::uint64_t Bytes(const PartShape& part) {
    return part.reverse.edges * sizeof(std::uint32_t) + (Columns(part.local) * Stripes(part.owned) + 1) * sizeof(Tile);
  }

  bool empty() const { return tiles_.size() == 0; }  ///< none were made
  std::size_t stripes() const { return stripes_; }   ///< of targets
  EdgeIndex edges() const { return edges_; }         ///< in all tiles

  /// Calls single(first, source, target) and run(first, sources, count, target) for the edges of stripe i, with local ids: a
  /// source is `first` plus what is said of it. Meanwhile, a few at a time, ahead(first, line) for the lines of the next
  /// tile's sources, `lines` for all that a tile may have, where its edges are enough that most will be read.
  template <class Single, class Run, class Ahead>
  void ForEach(std::size_t i, std::size_t lines, Single&& single, Run&& run, Ahead&& ahead) const {
    const auto first_target = static_cast<LocalId>(i << kTargetBits);
    for (std::size_t c = 0; c < columns_; ++c) {
      const Tile* const tile = tiles_.data() + i * columns_ + c;
      const auto first = static_cast<LocalId>(c << kSourceBits);
      const auto of_single = [&](std::uint32_t word) { single(first, word >> 16, first_target + (word & 0xffff)); };
      const auto of_run = [&](const std::uint32_t* word) {
        const std::uint32_t count = *word >> 16;
        run(first, reinterpret_cast<const std::uint16_t*>(word + 1), count, first_target + (*word & 0xffff));
        return word + RunWords(count);
      };
      const std::uint32_t* word = words_.data() + tile->begin;
      const std::uint32_t* const runs = words_.data() + tile->runs;
      const std::uint32_t* const tile_end = words_.data() + tile->end;
      // Where nothing is to be called the blocks are the tile's two parts.
      const bool calls = c + 1 < columns_ && tile[1].end - tile[1].begin >= lines;
      std::size_t line = calls ? 0 : lines;
      const std::ptrdiff_t block = calls ? kBlock : tile_end - word;
      const std::size_t per_block = lines * kBlock / (tile->end - tile->begin + 1) + 1;
      const auto next_first = static_cast<LocalId>((c + 1) << kSourceBits);
      const auto call = [&] {
        for (const std::size_t end = std::min(lines, line + per_block); line < end; ++line) ahead(next_first, line);
      };
      while (word != runs) {
        call();
        for (const std::uint32_t* const end = word + std::min(block, runs - word); word != end; ++word) of_single(*word);
      }
      for (std::ptrdiff_t called = 0; word != tile_end; word = of_run(word)) {
        for (; called <= word - runs; called += block) call();
      }
      for (; line < lines; ++line) ahead(next_first, line);
    }
  }

 private:
  static constexpr std::ptrdiff_t kBlock = 16;  ///< words between two calls ahead
  struct Tile {
    std::uint64_t begin, runs, end;  ///< words
  };

  static std::uint64_t Columns(std::uint64_t local) { return (local + (1u << kSourceBits) - 1) >> kSourceBits; }
  static std::uint64_t Stripes(std::uint64_t owned) { return (owned + (1u << kTargetBits) - 1) >> kTargetBits; }
  static EdgeIndex RunWords(EdgeIndex count) { return 1 + (count + 1) / 2; }

  std::size_t columns_ = 0, stripes_ = 0;
  EdgeIndex edges_ = 0;
  Buffer<Tile> tiles_;
  Buffer<std::uint32_t> words_;
};

/// Pulls along all edges: messages are combined right in the inboxes, which are empty before.
template <class P>
void GatherTiles(Group& group, const StateRef<P>& s, const RoundOf<P>& round, const TiledRows& tiles) {
  using Message = MessageOf<P>;
  constexpr std::size_t kLineBytes = 64;
  // Copies, which no store can change, stay in registers.
  const P program = s.program;
  const SharedOf<P>* const shared = s.shared;
  Slot<Message>* const inbox = s.inbox;
  const VertexId* const ids = s.graph.global_ids;
  const std::size_t local = s.graph.local;
  const auto global = [ids](LocalId v) { return ids == nullptr ? VertexId{v} : ids[v]; };
  const auto message = [&](LocalId first, std::size_t source, LocalId target) -> Message {
    const SharedOf<P>* const column = shared + first;  // the same for all of a tile
    return program.ComputeScatter(column[source], {global(first + static_cast<LocalId>(source)), global(target), {}}, round);
  };
  const auto combine = [&](const Message& a, const Message& b) { return Reduce<P>(program, a, b); };
  group.Sweep(tiles.stripes(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      tiles.ForEach(
          i, ((sizeof(SharedOf<P>) << TiledRows::kSourceBits) + kLineBytes - 1) / kLineBytes,
          [&](LocalId first, std::size_t source, LocalId target) {
            Message& at = inbox[target].message;
            at = combine(at, message(first, source, target));
          },
          [&](LocalId first, const std::uint16_t* sources, std::uint32_t count, LocalId target) {
            static_assert(TiledRows::kRun >= 4);
            Message parts[4];
            for (std::uint32_t p = 0; p < 4; ++p) parts[p] = message(first, sources[p], target);
            std::uint32_t k = 4;
            for (; k + 4 <= count; k += 4) {
              for (std::uint32_t p = 0; p < 4; ++p) parts[p] = combine(parts[p], message(first, sources[k + p], target));
            }
            for (; k < count; ++k) parts[0] = combine(parts[0], message(first, sources[k], target));
            Message& at = inbox[target].message;
            at = combine(at, combine(combine(parts[0], parts[1]), combine(parts[2], parts[3])));
          },
          [&](LocalId first, std::size_t line) {
            const std::size_t source = first + line * kLineBytes / sizeof(SharedOf<P>);
            if (source < local) Prefetch(shared + source);
          });
    }
  });
  if (group.rank() == 0) atomics::Add<true>(&s.control->edges_touched, tiles.edges());
}

}  // namespace chatty::steps::host
