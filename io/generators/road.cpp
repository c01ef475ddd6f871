// Road networks: a grid of streets, some of which are closed. Bends are vertices, and lines have ranks.

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// The ranks of streets. Every 8th line of the grid is a main road, every 64th a motorway.
struct Rank {
  std::uint64_t line;   ///< a line whose number this divides has the rank, unless a higher one applies
  std::uint64_t kept;   ///< number of open stretches in 256 stretches between junctions
  std::uint64_t bends;  ///< 256 times the mean number of vertices on a stretch; each has at most 3
  std::uint64_t speed;  ///< km/h
};
constexpr std::array<Rank, 3> kRanks{{{64, 256, 64, 110}, {8, 244, 64, 60}, {1, 164, 80, 30}}};

/// The streets of a width x height grid of junctions: which exist, their bends and their travel times.
class Streets {
 public:
  Streets(std::uint64_t width, std::uint64_t height, std::uint64_t seed)
      : width_(width), height_(height), words_(seed, kStreets) {}

  std::uint64_t junctions() const { return width_ * height_; }

  /// A stretch from junction v to the right (kind 0) or down (kind 1).
  struct Stretch {
    std::uint64_t vertices_within;
    std::uint64_t word;  ///< random
    std::uint64_t speed;

    /// Travel time in tenths of a second of piece `piece`, which is 30 to 150 m long.
    std::int32_t Time(std::uint64_t piece) const {
      const std::uint64_t metres = 30 + Below(Mix(word + piece), 121);
      return static_cast<std::int32_t>((metres * 36 + speed / 2) / speed);
    }
  };

  /// Whether the stretch exists; if so, fills `stretch`.
  bool Find(std::uint64_t v, unsigned kind, Stretch& stretch) const {
    const std::uint64_t x = v % width_, y = v / width_;
    if (kind == 0 ? x + 1 == width_ : y + 1 == height_) return false;
    const Rank& rank = RankOf(kind == 0 ? y : x);
    stretch.word = words_[2 * v + kind];
    if ((stretch.word & 0xff) >= rank.kept) return false;
    stretch.vertices_within = 0;
    for (int bend = 0; bend < 3; ++bend) {
      stretch.vertices_within += (stretch.word >> (8 + 16 * bend) & 0xffff) < rank.bends * 256 / 3 ? 1 : 0;
    }
    stretch.speed = rank.speed;
    return true;
  }

  std::uint64_t Beyond(std::uint64_t v, unsigned kind) const { return kind == 0 ? v + 1 : v + width_; }
  /// Whether there is a junction before v in this direction.
  bool HasBefore(std::uint64_t v, unsigned kind) const { return kind == 0 ? v % width_ > 0 : v >= width_; }
  std::uint64_t Before(std::uint64_t v, unsigned kind) const { return kind == 0 ? v - 1 : v - width_; }

 private:
  static const Rank& RankOf(std::uint64_t line) {
    for (const Rank& rank : kRanks) {
      if (line % rank.line == 0) return rank;
    }
    return kRanks.back();
  }

  std::uint64_t width_, height_;
  RandomWords words_;
};

/// Entry v: the least junction in v's component. Threads link the greater root to the lesser one, so that the result does
/// not depend on their order.
Array<VertexId> Components(const Streets& streets, int threads) {
  Array<VertexId> parents(streets.junctions());
  ParallelFor(parents.size(), threads, [&](std::size_t v) { parents[v] = static_cast<VertexId>(v); });
  const auto root = [&](VertexId v) {
    for (VertexId parent;; v = parent) {
      parent = std::atomic_ref(parents[v]).load(std::memory_order_relaxed);
      if (parent == v) return v;
      // Path halving: a parent is replaced only by a lesser ancestor.
      const VertexId above = std::atomic_ref(parents[parent]).load(std::memory_order_relaxed);
      if (above != parent) std::atomic_ref(parents[v]).compare_exchange_weak(parent, above, std::memory_order_relaxed);
      parent = above;
    }
  };
  ParallelFor(parents.size(), threads, [&](std::size_t v) {
    Streets::Stretch stretch;
    for (const unsigned kind : {0u, 1u}) {
      if (!streets.Find(v, kind, stretch)) continue;
      auto a = static_cast<VertexId>(v);
      auto b = static_cast<VertexId>(streets.Beyond(v, kind));
      while ((a = root(a)) != (b = root(b))) {
        if (a < b) std::swap(a, b);
        VertexId expected = a;
        if (std::atomic_ref(parents[a]).compare_exchange_strong(expected, b, std::memory_order_relaxed)) break;
      }
    }
  });
  Array<VertexId> roots(parents.size());
  ParallelFor(parents.size(), threads, [&](std::size_t v) { roots[v] = root(static_cast<VertexId>(v)); });
  return roots;
}

/// The component with the most junctions; among equals, the first.
VertexId LargestComponent(const Array<VertexId>& roots, int threads) {
  Array<VertexId> sizes(roots.size(), 0);
  ParallelFor(roots.size(), threads,
              [&](std::size_t v) { std::atomic_ref(sizes[roots[v]]).fetch_add(1, std::memory_order_relaxed); });
  return static_cast<VertexId>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
}

/// A vertex's neighbours and the time to each, ascending: four at most.
struct RoadRow {
  std::size_t size = 0;
  std::array<std::pair<std::uint64_t, std::int32_t>, 4> entries;

  void Add(std::uint64_t neighbour, std::int32_t time) {
    std::size_t at = size++;
    for (; at > 0 && entries[at - 1].first > neighbour; --at) entries[at] = entries[at - 1];
    entries[at] = {neighbour, time};
  }
};

/// First vertex and first entry of a junction. Its vertices are the junction itself, then those within its stretches to the
/// right and down.
struct Position {
  std::uint64_t vertex = 0;
  EdgeIndex entry = 0;
};

}  // namespace

inline namespace CHATTY_ABI {

Made MakeRoad(const GeneratorSpec& spec) {
  constexpr double kVerticesPerJunction = 1.389;
  std::uint64_t width = spec.width, height = spec.height;
  const bool by_count = spec.count > 0;
  if (by_count) {
    CheckVertices("road", spec.count);
    width = height =
        std::max<std::uint64_t>(1, std::llround(std::sqrt(static_cast<double>(spec.count) / kVerticesPerJunction)));
  }
  CheckSizes("road", {width, height});
  const Streets streets(width, height, spec.seed);
  const std::uint64_t junctions = streets.junctions();
  const Array<VertexId> roots = Components(streets, spec.threads);
  const VertexId kept = LargestComponent(roots, spec.threads);

  // First vertex and entry of each junction.
  const std::size_t blocks = (junctions + kGrain - 1) / kGrain;
  const auto block_end = [&](std::size_t block) { return std::min<std::uint64_t>(junctions, (block + 1) * kGrain); };
  Array<Position> positions(junctions);
  Array<Position> starts(blocks + 1);
  starts[0] = {};
  ParallelChunks(blocks, spec.threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      Position at;
      Streets::Stretch stretch;
      for (std::uint64_t v = block * kGrain; v < block_end(block); ++v) {
        positions[v] = at;
        if (roots[v] != kept) continue;
        ++at.vertex;
        for (const unsigned kind : {0u, 1u}) {
          if (streets.Find(v, kind, stretch)) {
            at.vertex += stretch.vertices_within;
            at.entry += 1 + 2 * stretch.vertices_within;
          }
          if (streets.HasBefore(v, kind) && streets.Find(streets.Before(v, kind), kind, stretch)) ++at.entry;
        }
      }
      starts[block + 1] = at;
    }
  });
  for (std::size_t block = 0; block < blocks; ++block) {
    starts[block + 1].vertex += starts[block].vertex;
    starts[block + 1].entry += starts[block].entry;
  }
  const Position end = starts[blocks];
  CheckVertices("road", end.vertex);
  const auto first_vertex = [&](std::uint64_t v) { return starts[v / kGrain].vertex + positions[v].vertex; };

  const bool timed = WantsOwnWeights(spec);
  Made made;
  made.adjacency.offsets = Array<EdgeIndex>(end.vertex + 1);
  made.adjacency.offsets[end.vertex] = end.entry;
  made.adjacency.neighbours = Array<VertexId>(end.entry);
  std::int32_t* times = nullptr;
  if (timed) times = made.adjacency.weights.emplace<Array<std::int32_t>>(end.entry).data();
  ParallelChunks(blocks, spec.threads, 1, [&](std::size_t first, std::size_t last) {
    const auto write = [&](std::uint64_t vertex, EdgeIndex& entry, const RoadRow& row) {
      made.adjacency.offsets[vertex] = entry;
      for (std::size_t i = 0; i < row.size; ++i, ++entry) {
        made.adjacency.neighbours[entry] = static_cast<VertexId>(row.entries[i].first);
        if (timed) times[entry] = row.entries[i].second;
      }
    };
    for (std::uint64_t v = first * kGrain; v < block_end(last - 1); ++v) {
      if (roots[v] != kept) continue;
      const std::uint64_t vertex = first_vertex(v);
      EdgeIndex entry = starts[v / kGrain].entry + positions[v].entry;
      std::array<Streets::Stretch, 2> onward;
      std::array<bool, 2> has_onward;
      RoadRow row;
      for (const unsigned kind : {0u, 1u}) {
        Streets::Stretch stretch;
        if (streets.HasBefore(v, kind) && streets.Find(streets.Before(v, kind), kind, stretch)) {
          const std::uint64_t before = streets.Before(v, kind);
          const std::uint64_t bends = stretch.vertices_within;
          std::uint64_t neighbour = first_vertex(before);
          if (bends > 0) {  // the last bend of the stretch; bends to the right of `before` come first
            Streets::Stretch right;
            neighbour += bends + (kind == 1 && streets.Find(before, 0, right) ? right.vertices_within : 0);
          }
          row.Add(neighbour, stretch.Time(bends));
        }
      }
      std::uint64_t within = vertex + 1;
      for (const unsigned kind : {0u, 1u}) {
        has_onward[kind] = streets.Find(v, kind, onward[kind]);
        if (!has_onward[kind]) continue;
        const std::uint64_t bends = onward[kind].vertices_within;
        row.Add(bends > 0 ? within : first_vertex(streets.Beyond(v, kind)), onward[kind].Time(0));
        within += bends;
      }
      write(vertex, entry, row);
      within = vertex + 1;
      for (const unsigned kind : {0u, 1u}) {
        if (!has_onward[kind]) continue;
        const std::uint64_t bends = onward[kind].vertices_within;
        for (std::uint64_t bend = 0; bend < bends; ++bend, ++within) {
          RoadRow between;
          between.Add(bend == 0 ? vertex : within - 1, onward[kind].Time(bend));
          between.Add(bend + 1 < bends ? within + 1 : first_vertex(streets.Beyond(v, kind)), onward[kind].Time(bend + 1));
          write(within, entry, between);
        }
      }
    }
  });
  made.name = by_count ? fmt::format("road-{}", spec.count) : fmt::format("road-{}x{}", width, height);
  return made;
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
