#include "chatty/io/generators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/progress.h"

namespace chatty {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;

// ---- Randomness -----------------------------------------------------------------------------------------------------
//
// Every random number is a hash of a key and a position, never the next one of a sequence: so any thread can make any
// part of a graph, and no part depends on who made the others.

/// The finaliser of SplitMix64 [Steele, Lea, Flood 2014]: a bijection of 64-bit words that mixes well.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Word `position` of SplitMix64's sequence, which any position can be asked for.
class RandomWords {
 public:
  /// `purpose` keeps apart the streams that one seed is used for.
  RandomWords(std::uint64_t seed, std::uint64_t purpose) : key_(Mix(Mix(seed + kGamma) ^ Mix(purpose * kGamma))) {}
  std::uint64_t operator[](std::uint64_t position) const { return Mix(key_ + (position + 1) * kGamma); }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;
  std::uint64_t key_;
};

enum Purpose : std::uint64_t { kEdges = 1, kLabels, kDrops, kWeights };

/// A uniform double in [0, 1) from the upper 53 bits.
double UnitInterval(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A permutation of [0, 2^bits): rounds of adding, multiplying by an odd number and folding the upper half on the lower
/// one, each of which can be undone. A keyed hash rather than a shuffled table, as in Graph500's own generator: it
/// needs no memory and no cache misses, and every thread can apply it to any label.
class LabelPermutation {
 public:
  LabelPermutation(int bits, std::uint64_t seed) : mask_((std::uint64_t{1} << bits) - 1), fold_((bits + 1) / 2) {
    const RandomWords words(seed, kLabels);
    for (std::size_t r = 0; r < kRounds; ++r) {
      add_[r] = words[2 * r];
      multiply_[r] = words[2 * r + 1] | 1;
    }
  }

  std::uint64_t operator()(std::uint64_t label) const {
    for (std::size_t r = 0; r < kRounds; ++r) {
      label = ((label + add_[r]) * multiply_[r]) & mask_;
      label ^= label >> fold_;
    }
    return label;
  }

 private:
  static constexpr std::size_t kRounds = 4;
  std::uint64_t mask_;
  int fold_;
  std::array<std::uint64_t, kRounds> add_, multiply_;
};

// ---- Kronecker ------------------------------------------------------------------------------------------------------

/// Draws four levels of an R-MAT edge, that is four bits of either end, from 32 random bits in constant time, by
/// Walker's alias method over the 256 outcomes. Levels are independent, so the odds of an outcome are the product of
/// its levels'.
class RmatLevels {
 public:
  static constexpr int kLevels = 4;

  RmatLevels() {
    constexpr double kOdds[4] = {.57, .19, .19, .05};
    std::array<double, kOutcomes> odds;  // times the number of outcomes: 1 is an outcome's fair share
    for (unsigned o = 0; o < kOutcomes; ++o) {
      odds[o] = kOutcomes;
      for (int level = 0; level < kLevels; ++level) odds[o] *= kOdds[o >> (2 * level) & 3];
    }
    // Slot s yields outcome s below its threshold and its alias above: each outcome short of its share is topped up by
    // one that has more than it.
    std::array<unsigned, kOutcomes> small, large;
    std::size_t smalls = 0, larges = 0;
    for (unsigned o = 0; o < kOutcomes; ++o) (odds[o] < 1 ? small[smalls++] : large[larges++]) = o;
    while (smalls > 0 && larges > 0) {
      const unsigned s = small[--smalls];
      const unsigned l = large[larges - 1];
      slots_[s] = {static_cast<std::uint32_t>(std::lround(odds[s] * kOne)), Bits(s), Bits(l)};
      odds[l] -= 1 - odds[s];
      if (odds[l] < 1) {
        --larges;
        small[smalls++] = l;
      }
    }
    while (larges > 0) Fill(large[--larges]);
    while (smalls > 0) Fill(small[--smalls]);  // of a full share but for rounding
  }

  /// The next four bits of the source in the upper half of a byte, of the target in the lower one.
  unsigned Draw(std::uint32_t random) const {
    const Slot& slot = slots_[random % kOutcomes];
    return random / kOutcomes < slot.threshold ? slot.own : slot.alias;
  }

 private:
  static constexpr unsigned kOutcomes = 1u << (2 * kLevels);
  static constexpr double kOne = 0x1p24;  // thresholds have the 24 bits that choosing the slot leaves

  struct Slot {
    std::uint32_t threshold;
    std::uint8_t own, alias;
  };

  void Fill(unsigned o) { slots_[o] = {static_cast<std::uint32_t>(kOne), Bits(o), Bits(o)}; }

  /// Gathers the quadrants of an outcome: two bits a level, the source's above the target's.
  static std::uint8_t Bits(unsigned outcome) {
    unsigned source = 0, target = 0;
    for (int level = 0; level < kLevels; ++level) {
      const unsigned quadrant = outcome >> (2 * level) & 3;
      source |= (quadrant >> 1) << level;
      target |= (quadrant & 1) << level;
    }
    return static_cast<std::uint8_t>(source << kLevels | target);
  }

  std::array<Slot, kOutcomes> slots_;
};

// ---- Weights --------------------------------------------------------------------------------------------------------

/// The weight of an undirected edge.
class WeightHash {
 public:
  explicit WeightHash(const GeneratorSpec& spec)
      : words_(spec.seed, kWeights), min_(spec.min_weight), max_(spec.max_weight) {}

  template <class W>
  W Weigh(VertexId u, VertexId v) const {
    const std::uint64_t word = words_[Mix(words_[std::min(u, v)]) ^ std::max(u, v)];
    if constexpr (std::is_same_v<W, std::int32_t>) {
      const auto values = static_cast<std::uint64_t>(max_ - min_) + 1;  // at most 2^32
      return static_cast<std::int32_t>(static_cast<std::int64_t>(min_) +
                                       static_cast<std::int64_t>((word >> 32) * values >> 32));
    } else {
      return static_cast<float>(min_ + (max_ - min_) * UnitInterval(word));
    }
  }

 private:
  RandomWords words_;
  double min_, max_;
};

template <class W>
Array<W> Weigh(const Adjacency& adjacency, const GeneratorSpec& spec) {
  const WeightHash hash(spec);
  Array<W> weights(adjacency.neighbours.size());
  ParallelChunks(adjacency.offsets.size() - 1, spec.threads, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
        weights[e] = hash.Weigh<W>(static_cast<VertexId>(v), adjacency.neighbours[e]);
      }
    }
  });
  return weights;
}

Graph Finish(Adjacency adjacency, const GeneratorSpec& spec, std::string name) {
  switch (spec.weights) {
    case WeightKind::kNone:
      break;
    case WeightKind::kInt32:
      adjacency.weights = Weigh<std::int32_t>(adjacency, spec);
      break;
    case WeightKind::kFloat32:
      adjacency.weights = Weigh<float>(adjacency, spec);
      break;
  }
  return Graph(std::move(adjacency), /*symmetric=*/true, /*first_id=*/0, std::move(name));
}

// ---- Checks ---------------------------------------------------------------------------------------------------------

void CheckWeights(const GeneratorSpec& spec) {
  if (spec.weights == WeightKind::kNone) return;
  if (!(std::isfinite(spec.min_weight) && std::isfinite(spec.max_weight) && spec.min_weight <= spec.max_weight)) {
    Throw<UsageError>("weights cannot be drawn from [{}, {}]; give a range that ascends", spec.min_weight, spec.max_weight);
  }
  if (spec.weights == WeightKind::kInt32) {
    using Limits = std::numeric_limits<std::int32_t>;
    for (const double bound : {spec.min_weight, spec.max_weight}) {
      if (bound != std::trunc(bound) || bound < Limits::min() || bound > Limits::max()) {
        Throw<UsageError>("{} does not bound int32 weights; give an integer from {} to {}, or ask for float weights", bound,
                          Limits::min(), Limits::max());
      }
    }
  } else if (std::max(std::abs(spec.min_weight), std::abs(spec.max_weight)) > std::numeric_limits<float>::max()) {
    Throw<UsageError>("weights from [{}, {}] do not fit a float", spec.min_weight, spec.max_weight);
  }
}

/// kNoVertex names no vertex, so there are at most that many.
void CheckVertices(std::string_view family, std::uint64_t vertices) {
  if (vertices > kNoVertex) {
    Throw<UsageError>("a {} of {} vertices is larger than {}-bit vertex ids can name (at most {}){}", family, vertices,
                      CHATTY_VERTEX_BITS, std::uint64_t{kNoVertex},
                      CHATTY_VERTEX_BITS == 32 ? "; build with CHATTY_VERTEX_BITS=64" : "");
  }
}

/// Edges that a spec with a scale generates.
std::uint64_t CheckScale(const GeneratorSpec& spec) {
  constexpr int kMaxScale = CHATTY_VERTEX_BITS == 32 ? 31 : 48;
  if (spec.scale < 1 || spec.scale > kMaxScale) {
    Throw<UsageError>("the scale of a {} graph is {}, but must be from 1 to {}: it has 2^scale vertices{}", spec.family,
                      spec.scale, kMaxScale,
                      CHATTY_VERTEX_BITS == 32 && spec.scale > kMaxScale ? "; CHATTY_VERTEX_BITS=64 allows more" : "");
  }
  constexpr int kMaxEdgeBits = 48;
  if (spec.edge_factor == 0 || spec.edge_factor > (std::uint64_t{1} << kMaxEdgeBits) >> spec.scale) {
    Throw<UsageError>("an edge factor of {} makes no sense at scale {}; give one from 1 to {}", spec.edge_factor, spec.scale,
                      (std::uint64_t{1} << kMaxEdgeBits) >> spec.scale);
  }
  return spec.edge_factor << spec.scale;
}

// ---- Families -------------------------------------------------------------------------------------------------------

/// Builds a graph of 2^scale vertices whose generated edge number i has the ends edge(i).
template <class MakeEdge>
Graph FromEdges(const GeneratorSpec& spec, MakeEdge&& edge) {
  const std::uint64_t edges = CheckScale(spec);
  EdgeList list;
  list.vertices = VertexId{1} << spec.scale;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  {
    Progress progress("Generating edges", edges);
    ParallelChunks(edges, spec.threads, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::pair<std::uint64_t, std::uint64_t> ends = edge(i);
        list.sources[i] = static_cast<VertexId>(ends.first);
        list.targets[i] = static_cast<VertexId>(ends.second);
      }
      progress.Advance(end - begin);
    });
  }
  BuildOptions options;
  options.symmetrise = true;
  options.remove_loops = !spec.keep_loops;
  options.merge_parallel = !spec.keep_parallel;
  options.threads = spec.threads;
  return Finish(BuildAdjacency(std::move(list), options), spec,
                fmt::format("{}-{}-ef{}", spec.family, spec.scale, spec.edge_factor));
}

Graph Kron(const GeneratorSpec& spec) {
  CheckScale(spec);
  const RandomWords words(spec.seed, kEdges);
  const LabelPermutation permute(spec.scale, spec.seed);
  const RmatLevels levels;
  const int draws = (spec.scale + RmatLevels::kLevels - 1) / RmatLevels::kLevels;
  const auto words_per_edge = static_cast<std::uint64_t>(draws + 1) / 2;
  const int surplus = draws * RmatLevels::kLevels - spec.scale;  // levels drawn beyond the scale
  return FromEdges(spec, [=](std::uint64_t i) {
    std::uint64_t source = 0, target = 0;
    std::uint64_t word = 0;
    for (int draw = 0; draw < draws; ++draw, word >>= 32) {
      if (draw % 2 == 0) word = words[i * words_per_edge + static_cast<std::uint64_t>(draw) / 2];
      const unsigned bits = levels.Draw(static_cast<std::uint32_t>(word));
      source = source << RmatLevels::kLevels | bits >> RmatLevels::kLevels;
      target = target << RmatLevels::kLevels | (bits & 0xf);
    }
    return std::pair(permute(source >> surplus), permute(target >> surplus));
  });
}

Graph Uniform(const GeneratorSpec& spec) {
  CheckScale(spec);
  const RandomWords words(spec.seed, kEdges);
  const int shift = 64 - spec.scale;
  return FromEdges(spec, [=](std::uint64_t i) { return std::pair(words[2 * i] >> shift, words[2 * i + 1] >> shift); });
}

Graph Grid(const GeneratorSpec& spec) {
  const std::uint64_t width = spec.width;
  const std::uint64_t height = spec.height;
  if (width == 0 || height == 0)
    Throw<UsageError>("a grid of {} x {} has no vertices; give two sizes from 1", width, height);
  if (width > std::numeric_limits<std::uint64_t>::max() / height) {
    Throw<UsageError>("a grid of {} x {} has more vertices than 64 bits count", width, height);
  }
  const std::uint64_t n = width * height;
  CheckVertices("grid", n);
  if (!(spec.drop >= 0 && spec.drop <= 1)) {
    Throw<UsageError>("edges cannot be dropped with probability {}; give one from 0 to 1", spec.drop);
  }
  const RandomWords words(spec.seed, kDrops);
  const auto kept = [words, drop = spec.drop](std::uint64_t edge) { return drop == 0 || UnitInterval(words[edge]) >= drop; };
  // Edge 2v leads from v to the right and 2v + 1 down. Visits the neighbours in ascending order.
  const auto visit = [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
    std::uint64_t x = begin % width;
    for (std::uint64_t v = begin; v < end; ++v, x = x + 1 == width ? 0 : x + 1) {
      row(v);
      if (v >= width && kept(2 * (v - width) + 1)) emit(v - width);
      if (x > 0 && kept(2 * (v - 1))) emit(v - 1);
      if (x + 1 < width && kept(2 * v)) emit(v + 1);
      if (n - v > width && kept(2 * v + 1)) emit(v + width);
    }
  };

  const std::size_t blocks = (n + kGrain - 1) / kGrain;
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  Array<EdgeIndex> starts(blocks + 1, 0);
  const auto block_end = [&](std::size_t block) { return std::min<std::uint64_t>(n, (block + 1) * kGrain); };
  ParallelChunks(blocks, spec.threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      EdgeIndex edges = 0;
      visit(
          block * kGrain, block_end(block), [&](std::uint64_t v) { adjacency.offsets[v] = edges; },
          [&](std::uint64_t) { ++edges; });
      starts[block + 1] = edges;
    }
  });
  std::inclusive_scan(starts.begin(), starts.end(), starts.begin());
  adjacency.offsets[n] = starts[blocks];
  adjacency.neighbours = Array<VertexId>(starts[blocks]);
  ParallelChunks(blocks, spec.threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      VertexId* next = adjacency.neighbours.data() + starts[block];
      visit(
          block * kGrain, block_end(block), [&](std::uint64_t v) { adjacency.offsets[v] += starts[block]; },
          [&](std::uint64_t neighbour) { *next++ = static_cast<VertexId>(neighbour); });
    }
  });
  std::string name = fmt::format("grid-{}x{}", width, height);
  if (spec.drop > 0) name += fmt::format("-drop{:g}", spec.drop);
  return Finish(std::move(adjacency), spec, std::move(name));
}

std::uint64_t CheckCount(const GeneratorSpec& spec) {
  if (spec.count == 0) Throw<UsageError>("a {} of 0 vertices is no graph; give a count from 1", spec.family);
  CheckVertices(spec.family, spec.count);
  return spec.count;
}

Graph Chain(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(2 * (n - 1));
  ParallelFor(n, spec.threads, [&](std::size_t v) {
    const EdgeIndex start = v == 0 ? 0 : 2 * v - 1;
    adjacency.offsets[v] = start;
    if (v > 0) adjacency.neighbours[start] = static_cast<VertexId>(v - 1);
    if (v + 1 < n) adjacency.neighbours[start + (v > 0)] = static_cast<VertexId>(v + 1);
  });
  adjacency.offsets[n] = adjacency.neighbours.size();
  return Finish(std::move(adjacency), spec, fmt::format("chain-{}", n));
}

Graph Star(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(2 * (n - 1));
  adjacency.offsets[0] = 0;
  ParallelFor(n - 1, spec.threads, [&](std::size_t i) {  // leaf i + 1
    adjacency.neighbours[i] = static_cast<VertexId>(i + 1);
    adjacency.offsets[i + 1] = n - 1 + i;
    adjacency.neighbours[n - 1 + i] = 0;
  });
  adjacency.offsets[n] = adjacency.neighbours.size();
  return Finish(std::move(adjacency), spec, fmt::format("star-{}", n));
}

struct Family {
  std::string_view name;
  Graph (*make)(const GeneratorSpec&);
};
constexpr Family kFamilies[] = {{"kron", Kron}, {"uniform", Uniform}, {"grid", Grid}, {"chain", Chain}, {"star", Star}};

}  // namespace

std::vector<std::string_view> GeneratorNames() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  return names;
}

inline namespace CHATTY_ABI {

Graph Generate(const GeneratorSpec& spec) try {
  CheckWeights(spec);
  for (const Family& family : kFamilies) {
    if (family.name == spec.family) return family.make(spec);
  }
  Throw<UsageError>("there is no generator `{}`; the generators are {}", spec.family, fmt::join(GeneratorNames(), ", "));
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("generating a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
