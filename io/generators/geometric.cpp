// Random geometric graphs: points in the unit square, with edges between near ones.

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

constexpr int kCoordinateBits = 31;  // squares of distances fit 64 bits

/// Spreads the lower 32 bits of a word: bit i goes to bit 2 i.
constexpr std::uint64_t Spread(std::uint64_t x) {
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x << 2) & 0x3333333333333333u;
  return (x | x << 1) & 0x5555555555555555u;
}

/// Inverse of Spread(); uses even bits only.
constexpr std::uint64_t Gather(std::uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
  x = (x | x >> 8) & 0x0000ffff0000ffffu;
  return (x | x >> 16) & 0xffffffffu;
}

/// Position of a point or cell on the Z curve [Morton 1966]: nested squares are contiguous.
constexpr std::uint64_t Morton(std::uint64_t x, std::uint64_t y) { return Spread(x) | Spread(y) << 1; }

/// The Morton numbers of `count` random points, ascending. Points with the same number are identical, so the order in which
/// threads find them has no effect.
Array<std::uint64_t> SortedPoints(std::uint64_t count, std::uint64_t seed, int threads) {
  const RandomWords words(seed, kPoints);
  const auto point = [&](std::uint64_t i) {
    return words[i] >> (64 - 2 * kCoordinateBits);
  };  // one number holds both coordinates
  const int bucket_bits = std::clamp(static_cast<int>(std::bit_width(count >> 14)), 0, 12);
  const int shift = 2 * kCoordinateBits - bucket_bits;
  const std::size_t buckets = std::size_t{1} << bucket_bits;
  const std::size_t blocks = std::clamp<std::size_t>(count >> 16, 1, 256);
  const auto block_begin = [&](std::size_t block) {
    return count / blocks * block + std::min<std::uint64_t>(block, count % blocks);
  };

  Array<std::uint64_t> cursors(blocks * buckets, 0);
  const auto for_each_point = [&](auto&& body) {
    ParallelChunks(blocks, threads, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t block = first; block < last; ++block) {
        std::uint64_t* const mine = cursors.data() + block * buckets;
        for (std::uint64_t i = block_begin(block); i < block_begin(block + 1); ++i) {
          const std::uint64_t p = point(i);
          body(mine[p >> shift], p);
        }
      }
    });
  };
  for_each_point([](std::uint64_t& points, std::uint64_t) { ++points; });
  Array<std::uint64_t> starts(buckets + 1);
  std::uint64_t next = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    starts[bucket] = next;
    for (std::size_t block = 0; block < blocks; ++block) next += std::exchange(cursors[block * buckets + bucket], next);
  }
  starts[buckets] = next;
  Array<std::uint64_t> points(count);
  for_each_point([&](std::uint64_t& cursor, std::uint64_t p) { points[cursor++] = p; });
  ParallelChunks(buckets, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t bucket = first; bucket < last; ++bucket) {
      std::sort(points.data() + starts[bucket], points.data() + starts[bucket + 1]);
    }
  });
  return points;
}

/// Entry c: the first point in cell c or a later one. The upper bits of a point are its cell.
Array<std::uint64_t> CellStarts(const Array<std::uint64_t>& points, int shift, int threads) {
  const std::uint64_t cells = std::uint64_t{1} << (2 * kCoordinateBits - shift);
  Array<std::uint64_t> starts(cells + 1);
  ParallelFor(points.size(), threads, [&](std::size_t i) {
    for (std::uint64_t c = i == 0 ? 0 : (points[i - 1] >> shift) + 1; c <= points[i] >> shift; ++c) starts[c] = i;
  });
  for (std::uint64_t c = (points.back() >> shift) + 1; c <= cells; ++c) starts[c] = points.size();
  return starts;
}

}  // namespace

inline namespace CHATTY_ABI {

Made MakeRgg(const GeneratorSpec& spec) {
  CheckScale(spec);
  constexpr double kMaxRadius = 1.5;  // longer than the diagonal, and its square still fits
  if (!(spec.radius >= 0 && spec.radius <= kMaxRadius)) {
    Throw<UsageError>(
        "a radius of {} is out of range for the unit square; give one above 0 and up to {}, or 0 for the default",
        spec.radius, kMaxRadius);
  }
  const std::uint64_t n = std::uint64_t{1} << spec.scale;
  // No std::log, whose rounding differs between machines. All these operations are exactly specified.
  constexpr double kLn2 = 0.693147180559945309417;
  const double usual = .55 * std::sqrt(static_cast<double>(spec.scale) * kLn2 / static_cast<double>(n));
  const double radius = spec.radius == 0 ? usual : spec.radius;
  const auto reach = std::max(static_cast<std::uint64_t>(radius * 0x1p31), std::uint64_t{1});

  // Fails now if the result cannot be allocated, rather than after edges were counted for hours. The size is half the
  // expected one.
  const double r = std::min(radius, 1.0), near_share = r * r * (3.14159265 - r * (8.0 / 3 - r / 2));
  {
    [[maybe_unused]] const Array<VertexId> room(
        static_cast<std::size_t>(near_share * static_cast<double>(n) * static_cast<double>(n) / 2));
  }

  // The side of a cell is at least half the radius, so neighbours are at most two cells away; it is larger if there are few
  // points.
  constexpr std::int64_t kRings = 2;
  const int side_bits = std::clamp(static_cast<int>(std::bit_width((reach + kRings - 1) / kRings - 1)),
                                   std::max(kCoordinateBits - (spec.scale + 1) / 2, 0), kCoordinateBits);
  const std::int64_t cells_a_side = std::int64_t{1} << (kCoordinateBits - side_bits);
  Array<std::uint64_t> points = SortedPoints(n, spec.seed, spec.threads);
  const Array<std::uint64_t> starts = CellStarts(points, 2 * side_bits, spec.threads);
  ParallelFor(n, spec.threads, [&](std::size_t i) { points[i] = Gather(points[i]) | Gather(points[i] >> 1) << 32; });

  Progress progress("Joining near points", 2 * n);
  Made made;
  made.adjacency = RowsOf(n, spec.threads, [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
    constexpr std::size_t kAround = (2 * kRings + 1) * (2 * kRings + 1);
    std::array<std::pair<std::uint64_t, std::uint64_t>, kAround> ranges;  // points that may be near, ascending
    std::size_t ranges_used = 0;
    std::vector<std::uint64_t> near;
    std::int64_t cell_x = -1, cell_y = -1;
    for (std::uint64_t v = begin; v < end; ++v) {
      row(v);
      const auto x = static_cast<std::uint32_t>(points[v]), y = static_cast<std::uint32_t>(points[v] >> 32);
      if (x >> side_bits != cell_x || y >> side_bits != cell_y) {
        cell_x = x >> side_bits;
        cell_y = y >> side_bits;
        ranges_used = 0;
        for (std::int64_t near_y = std::max<std::int64_t>(cell_y - kRings, 0);
             near_y <= std::min(cell_y + kRings, cells_a_side - 1); ++near_y) {
          for (std::int64_t near_x = std::max<std::int64_t>(cell_x - kRings, 0);
               near_x <= std::min(cell_x + kRings, cells_a_side - 1); ++near_x) {
            const std::uint64_t cell = Morton(static_cast<std::uint64_t>(near_x), static_cast<std::uint64_t>(near_y));
            if (starts[cell] < starts[cell + 1]) ranges[ranges_used++] = {starts[cell], starts[cell + 1]};
          }
        }
        std::sort(ranges.begin(), ranges.begin() + ranges_used);
        std::uint64_t candidates = 0;
        for (std::size_t r = 0; r < ranges_used; ++r) candidates += ranges[r].second - ranges[r].first;
        near.resize(candidates);
      }
      std::size_t found = 0;  // counted without a branch, which would often be mispredicted
      for (std::size_t r = 0; r < ranges_used; ++r) {
        for (std::uint64_t u = ranges[r].first; u < ranges[r].second; ++u) {
          const auto dx = static_cast<std::int64_t>(x) - static_cast<std::int64_t>(points[u] & 0xffffffffu);
          const auto dy = static_cast<std::int64_t>(y) - static_cast<std::int64_t>(points[u] >> 32);
          near[found] = u;
          found += static_cast<std::uint64_t>(dx * dx) + static_cast<std::uint64_t>(dy * dy) <= reach * reach ? 1 : 0;
        }
      }
      for (std::size_t i = 0; i < found; ++i) {
        if (near[i] != v) emit(near[i]);
      }
    }
    progress.Advance(end - begin);
  });
  made.name = fmt::format("rgg-{}", spec.scale);
  if (spec.radius != 0) made.name += fmt::format("-r{:g}", spec.radius);
  return made;
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
