#include "chatty/framework/steps/host/tiled_rows.h"

namespace chatty::steps::host {
namespace {

/// Calls visit(column, target within its stripe, first of its edges, one after the last) for each range of a stripe's rows
/// whose sources are of one column, cut where it would be too long for a run.
template <class Visit>
void ForEachTileRow(const AdjacencyRef& rows, LocalId first, LocalId last, Visit&& visit) {
  for (LocalId v = first; v < last; ++v) {
    const EdgeIndex end = rows.offsets[v + 1];
    for (EdgeIndex e = rows.offsets[v]; e < end;) {
      const LocalId column = rows.neighbours[e] >> TiledRows::kSourceBits;
      EdgeIndex next = e + 1;
      const EdgeIndex limit = std::min(end, e + TiledRows::kLongest);
      while (next < limit && rows.neighbours[next] >> TiledRows::kSourceBits == column) ++next;
      visit(column, v - first, e, next);
      e = next;
    }
  }
}

}  // namespace

TiledRows::TiledRows(const DeviceGraph& graph) {
  const GraphRef& ref = graph.ref();
  const AdjacencyRef& rows = ref.reverse;
  columns_ = Columns(ref.local);
  stripes_ = Stripes(ref.owned);
  edges_ = rows.offsets[ref.owned];
  tiles_ = Buffer<Tile>(graph.device(), columns_ * stripes_ + 1);
  words_ = Buffer<std::uint32_t>(graph.device(), edges_);  // no tile needs more than a word an edge
  const auto for_each_stripe = [&](auto&& body) {
    Cursors cursors;
    WorkerTeam& team = *graph.device().team();
    team.Run(team.size(), [&](TeamMember& member) {
      Group(member, cursors, 0).Sweep(stripes_, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto first = static_cast<LocalId>(i << kTargetBits);
          body(tiles_.data() + i * columns_, first,
               static_cast<LocalId>(std::min<std::size_t>(ref.owned, first + (1u << kTargetBits))));
        }
      });
    });
  };
  // Words of single edges and of runs first, positions then.
  for_each_stripe([&](Tile* tiles, LocalId first, LocalId last) {
    std::fill(tiles, tiles + columns_, Tile{});
    ForEachTileRow(rows, first, last, [&](LocalId column, LocalId, EdgeIndex begin, EdgeIndex end) {
      if (end - begin < kRun) {
        tiles[column].runs += end - begin;
      } else {
        tiles[column].end += RunWords(end - begin);
      }
    });
  });
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < columns_ * stripes_; ++i) {
    Tile& tile = tiles_.data()[i];
    tile.begin = at;
    tile.runs += at;
    tile.end += tile.runs;
    at = tile.end;
  }
  for_each_stripe([&](Tile* tiles, LocalId first, LocalId last) {
    struct Position {
      std::uint64_t single, run;
    };
    std::vector<Position> positions(columns_);
    for (std::size_t c = 0; c < columns_; ++c) positions[c] = {tiles[c].begin, tiles[c].runs};
    constexpr std::uint32_t kWithin = (1u << kSourceBits) - 1;
    ForEachTileRow(rows, first, last, [&](LocalId column, LocalId target, EdgeIndex begin, EdgeIndex end) {
      Position& position = positions[column];
      if (end - begin < kRun) {
        for (EdgeIndex e = begin; e < end; ++e) {
          words_.data()[position.single++] = (rows.neighbours[e] & kWithin) << 16 | target;
        }
        return;
      }
      std::uint32_t* const word = words_.data() + position.run;
      position.run += RunWords(end - begin);
      *word = static_cast<std::uint32_t>(end - begin) << 16 | target;
      auto* const sources = reinterpret_cast<std::uint16_t*>(word + 1);
      for (EdgeIndex e = begin; e < end; ++e) sources[e - begin] = static_cast<std::uint16_t>(rows.neighbours[e] & kWithin);
      if ((end - begin) % 2 != 0) sources[end - begin] = 0;
    });
  });
}

}  // namespace chatty::steps::host
