/// \file
/// Rows cut into tiles, for pulls in which every source sends. A tile's messages come from 2^16 sources and go to 2^15
/// targets, so what it reads and writes stays in a core's cache. Rows of a large graph would gather from all of memory.
/// Entries within a tile need 16 bits for either end. (Cache blocking: Nishtala et al., 2007; in two dimensions with short
/// indices: Buono et al., ICS'16. What it saves in PageRank: Beamer et al., IPDPS'17.)
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/core/sync.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/options.h"
#include "chatty/framework/steps/host/group.h"
#include "chatty/partition/part_shape.h"

namespace chatty::steps::host {

/// Whether P's pulls can go by tiles: they look at all edges, in any order, and at no weights.
template <class P>
inline constexpr bool kMayTile =
    Traits<P>::kEveryRound && !Traits<P>::kCounts && !Traits<P>::kAnyMessageSuffices && !Traits<P>::kHasFilter &&
    !Traits<P>::kHasFilterMessage && std::is_same_v<WeightOf<P>, None>;

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
    // A core's first level. What fits in the second one costs little to read, but a row's sum waits for each of its
    // additions, and runs have several sums at once.
    constexpr std::size_t kCache = std::size_t{32} << 10;
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
  std::size_t columns() const { return columns_; }   ///< of sources
  EdgeIndex edges() const { return edges_; }         ///< in all tiles

  /// Calls single(first, source, target) and run(first, sources, count, target) for the edges of stripe i whose sources are
  /// in columns [begin, end): a source is the local vertex `first` plus what is said of it, a target the stripe's first plus
  /// what is said of that. Meanwhile, a few at a time, ahead(first, line) for the lines of the next tile's sources, `lines`
  /// for all that a tile may have, where its edges are enough that most will be read.
  template <class Single, class Run, class Ahead>
  void ForEach(std::size_t i, std::size_t begin, std::size_t end, std::size_t lines, Single&& single, Run&& run,
               Ahead&& ahead) const {
    for (std::size_t c = begin; c < end; ++c) {
      const Tile* const tile = tiles_.data() + i * columns_ + c;
      const auto first = static_cast<LocalId>(c << kSourceBits);
      const auto of_single = [&](std::uint32_t word) { single(first, word >> 16, word & 0xffff); };
      const auto of_run = [&](const std::uint32_t* word) {
        const std::uint32_t count = *word >> 16;
        run(first, reinterpret_cast<const std::uint16_t*>(word + 1), count, *word & 0xffff);
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
        for (const std::uint32_t* const last = word + std::min(block, runs - word); word != last; ++word) of_single(*word);
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

namespace detail {

/// The update of vertices [begin, end), entry i of whose messages is begin + i's; what they share next; and their measure.
template <class P>
void EndRange(const StateRef<P> s, const RoundOf<P> round, std::size_t begin, std::size_t end, const MessageOf<P>* messages,
              SharedOf<P>* next, Counters* tally, [[maybe_unused]] GlobalOf<P>* partial) {
  Counters mine;
  GlobalOf<P> measure{};  // its own, and not the caller's to see until the end
  for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
    std::uint32_t active = 0;
    for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
      const auto v = static_cast<LocalId>(i);
      const Vertex vertex = s.At(v);
      [[maybe_unused]] const ValueOf<P> before = s.values[v];
      active |= std::uint32_t{Updated(
                    s, v, &mine,
                    [&](ValueOf<P>& value) -> bool { return UpdateValue(s, v, value, messages[i - begin], vertex, round); })}
                << (i & 31);
      if constexpr (Traits<P>::kHasMeasure) {
        measure = CombineGlobal<P>(measure, MeasureOf<P>(s.program, before, s.values[v], vertex, round));
      }
      next[v] = s.program.Share(s.values[v], vertex);
    }
    s.active[w] = active;
  }
  tally->vertices += mine.vertices;
  tally->edges += mine.edges;
  tally->candidate_edges += mine.candidate_edges;
  if constexpr (Traits<P>::kHasMeasure) *partial = measure;
}

/// Combines into at(k) the messages to stripe i's target k, from sources in columns [begin, end), of which first + k has
/// published *published(first, k).
template <class P, class Published, class At>
void GatherStripe(const P program, const GraphRef& graph, const RoundOf<P>& round, const TiledRows& tiles, std::size_t i,
                  std::size_t begin, std::size_t end, const Published published, const At at) {
  using Message = MessageOf<P>;
  constexpr std::size_t kLineBytes = 64;
  const VertexId* const ids = graph.global_ids;
  const std::size_t local = graph.local;
  const auto first_target = static_cast<LocalId>(i << TiledRows::kTargetBits);
  const auto global = [ids](LocalId v) { return ids == nullptr ? VertexId{v} : ids[v]; };
  const auto message = [&](LocalId first, std::size_t source, std::uint32_t target) -> Message {
    const Edge<> edge{global(first + static_cast<LocalId>(source)), global(first_target + target), {}};
    return CallComputeScatter(program, *published(first, source), edge, round);
  };
  const auto combine = [&](const Message& a, const Message& b) { return Reduce<P>(program, a, b); };
  tiles.ForEach(
      i, begin, end, ((sizeof(SharedOf<P>) << TiledRows::kSourceBits) + kLineBytes - 1) / kLineBytes,
      [&](LocalId first, std::size_t source, std::uint32_t target) {
        Message& sum = at(target);
        sum = combine(sum, message(first, source, target));
      },
      [&](LocalId first, const std::uint16_t* sources, std::uint32_t count, std::uint32_t target) {
        static_assert(TiledRows::kRun >= 4);
        Message parts[4];
        for (std::uint32_t p = 0; p < 4; ++p) parts[p] = message(first, sources[p], target);
        std::uint32_t k = 4;
        for (; k + 4 <= count; k += 4) {
          for (std::uint32_t p = 0; p < 4; ++p) parts[p] = combine(parts[p], message(first, sources[k + p], target));
        }
        for (; k < count; ++k) parts[0] = combine(parts[0], message(first, sources[k], target));
        Message& sum = at(target);
        sum = combine(sum, combine(combine(parts[0], parts[1]), combine(parts[2], parts[3])));
      },
      [&](LocalId first, std::size_t line) {
        const std::size_t source = line * kLineBytes / sizeof(SharedOf<P>);
        if (first + source < local) Prefetch(published(first, source));
      });
}

}  // namespace detail

/// Pulls along all edges: messages are combined right in the inboxes, which are empty before.
template <class P>
void GatherTiles(Group& group, const StateRef<P>& s, const RoundOf<P>& round, const TiledRows& tiles) {
  // Copies, which no store can change, stay in registers.
  const SharedOf<P>* const shared = s.shared;
  group.Sweep(tiles.stripes(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Slot<MessageOf<P>>* const inboxes = s.inbox + (i << TiledRows::kTargetBits);
      detail::GatherStripe(
          s.program, s.graph, round, tiles, i, 0, tiles.columns(),
          [=](LocalId first, std::size_t source) { return shared + first + source; },  // the same sum for all of a tile
          [=](std::uint32_t target) -> MessageOf<P>& { return inboxes[target].message; });
    }
  });
  if (group.rank() == 0) atomics::Add<true>(&s.control->edges_touched, tiles.edges());
}

/// Whether P's rounds by tiles may end stripe by stripe. What vertices publish for the next round is then in the memory of
/// the inboxes, apart from what they have published for this one.
template <class P>
inline constexpr bool kEndsByStripe =
    kMayTile<P>&& Traits<P>::kHasShare && !Traits<P>::kHasConsume && sizeof(SharedOf<P>) <= sizeof(Slot<MessageOf<P>>) &&
    alignof(SharedOf<P>) <= alignof(Slot<MessageOf<P>>);

/// What the members of a team share in such rounds: sums of their own, and how far stripes are.
template <class Message>
class StripeBoard {
 public:
  /// For the device's team. Throws OutOfMemoryError.
  StripeBoard(Device& device, std::size_t stripes)
      : stripes_(stripes),
        sums_(device, Bytes(device.team()->size())),
        ended_(std::make_unique<std::atomic<std::uint32_t>[]>(stripes)) {}
  /// Bytes of the device's memory that a board for so many members takes. All in one, and of a huge page's size at least:
  /// sums are met at random.
  static std::size_t Bytes(int members) {
    return std::max(static_cast<std::size_t>(members) * kSums * sizeof(Message), kHugePage);
  }
  Message* sums(int member) { return reinterpret_cast<Message*>(sums_.data()) + static_cast<std::size_t>(member) * kSums; }
  /// No round has ended of any stripe.
  void Reset() {
    failed_.store(false, std::memory_order_relaxed);
    for (std::size_t i = 0; i < stripes_; ++i) ended_[i].store(0, std::memory_order_relaxed);
  }
  /// One more round of stripe i has.
  void End(std::size_t i) {
    ended_[i].fetch_add(1);
    if (sleepers_.load() > 0) WakeAll(ended_[i]);
  }
  /// Returns once more rounds of stripe i have ended than so many. Throws AbortedError once a member has failed, whose
  /// stripes hold anything.
  void Await(std::size_t i, std::uint32_t rounds) {
    constexpr const char* kWhat = "a stripe of the round";
    while (ended_[i].load(std::memory_order_acquire) == rounds) {
      WaitWhileEqual(ended_[i], rounds, {}, kWhat, kSpin, &sleepers_);
    }
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      Throw<AbortedError>("gave up waiting for {}: another thread failed first", kWhat);
  }
  /// Nobody waits any longer.
  void Fail() noexcept {
    failed_.store(true, std::memory_order_relaxed);  // before what Await acquires
    for (std::size_t i = 0; i < stripes_; ++i) {
      ended_[i].fetch_add(1);
      WakeAll(ended_[i]);
    }
  }

 private:
  static constexpr std::size_t kSums = std::size_t{1} << TiledRows::kTargetBits, kHugePage = std::size_t{2} << 20;

  const std::size_t stripes_;
  Buffer<std::byte> sums_;  // Messages, a member's after another's
  std::unique_ptr<std::atomic<std::uint32_t>[]> ended_;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> failed_{false};
};

/// A round by tiles, on a device that has the whole graph. A thread sums the messages of a stripe in its cache, updates and
/// measures the stripe's vertices, and writes what they share to `next`. In a Gauss–Seidel round (Round::gauss_seidel),
/// messages from stripes that are far enough below come from values of this round: those stripes have ended. How far does
/// not depend on the speed of threads, so a run on as many threads repeats itself (Gauss and Seidel's way, by blocks; Arasu
/// et al., WWW'02, for PageRank).
template <class P>
void EndByStripe(Group& group, const StateRef<P>& s, const RoundOf<P>& round, const TiledRows& tiles,
                 StripeBoard<MessageOf<P>>& board, std::uint32_t ended, const SharedOf<P>* published, SharedOf<P>* next,
                 [[maybe_unused]] GlobalOf<P>* partials) {
  constexpr std::size_t kTargets = std::size_t{1} << TiledRows::kTargetBits;
  constexpr std::size_t kStripesAColumn = std::size_t{1} << (TiledRows::kSourceBits - TiledRows::kTargetBits);
  static_assert(kTargets % kMeasureGrain == 0);
  const auto old_at = [=](LocalId first, std::size_t source) { return published + first + source; };
  const auto new_at = [=](LocalId first, std::size_t source) -> const SharedOf<P>* { return next + first + source; };
  const std::size_t lag = std::max<std::size_t>(2, static_cast<std::size_t>(group.size()));
  using Message = MessageOf<P>;
  Message* const sums = board.sums(group.rank());
  Counters tally;
  std::size_t awaited = 0;  // stripes from the first on; a member's own only rise
  try {
    group.Sweep(tiles.stripes(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t first = i * kTargets, last = std::min<std::size_t>(first + kTargets, s.graph.owned);
        const auto at = [=](std::uint32_t target) -> Message& { return sums[target]; };
        std::fill_n(sums, last - first, IdentityOf<P>());
        std::size_t updated_stripes = 0;  // stripes from the first on whose sources are
        if (round.gauss_seidel && i >= lag) {
          updated_stripes = i - lag + 1;
          for (; awaited < updated_stripes; ++awaited) board.Await(awaited, ended);
        }
        const std::size_t columns = tiles.columns(), new_columns = updated_stripes / kStripesAColumn;
        const std::size_t old_columns = (updated_stripes + kStripesAColumn - 1) / kStripesAColumn;
        const auto gather = [&](std::size_t from, std::size_t to, const auto& source_at) {
          detail::GatherStripe(s.program, s.graph, round, tiles, i, from, to, source_at, at);
        };
        gather(0, new_columns, new_at);
        const SharedOf<P>* parts[kStripesAColumn];  // of the column between some are updated: looked up, not guessed
        for (std::size_t k = 0; k < kStripesAColumn; ++k)
          parts[k] = k < updated_stripes % kStripesAColumn ? next : published;
        gather(new_columns, old_columns, [&parts](LocalId from, std::size_t source) {
          return parts[source >> TiledRows::kTargetBits] + from + source;
        });
        gather(old_columns, columns, old_at);
        for (std::size_t c = first / kMeasureGrain; c * kMeasureGrain < last; ++c) {
          const std::size_t chunk_end = std::min(last, (c + 1) * kMeasureGrain);
          detail::EndRange<P>(s, round, c * kMeasureGrain, chunk_end, sums + (c * kMeasureGrain - first), next, &tally,
                              Traits<P>::kHasMeasure ? partials + c : nullptr);
        }
        if (round.gauss_seidel) board.End(i);
      }
    });
  } catch (...) {
    if (round.gauss_seidel) board.Fail();
    throw;
  }
  detail::AddTally(s, tally);
  if (group.rank() == 0) atomics::Add<true>(&s.control->edges_touched, tiles.edges());
}

}  // namespace chatty::steps::host
