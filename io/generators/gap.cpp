// The two synthetic graphs of the GAP benchmark suite [Beamer, Asanovic, Patterson 2015], bit by bit. The edges come from a
// Mersenne Twister that is seeded again for every block of edges, and the labels of `kron` are shuffled with libstdc++'s
// algorithm.

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

constexpr std::uint32_t kGapSeed = 27491095;
constexpr std::uint64_t kGapBlock = std::uint64_t{1} << 18;  // edges per seed
constexpr int kGapMaxScale = 30;                             // GAP's ids are int32

/// MT19937 [Matsumoto, Nishimura 1998], with the sequence of std::mt19937. The loops that twist and temper the state compile
/// to vector instructions; those of the standard library, whose words may have 64 bits, do not.
class MersenneTwister {
 public:
  explicit MersenneTwister(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }

  std::uint32_t operator()() {
    if (next_ == kWords) Refill();
    return tempered_[next_++];
  }

  /// The next `count` words.
  void Fill(std::uint32_t* to, std::size_t count) {
    while (count > 0) {
      if (next_ == kWords) Refill();
      const std::size_t taken = std::min(count, kWords - next_);
      std::copy_n(tempered_.data() + next_, taken, to);
      next_ += taken;
      to += taken;
      count -= taken;
    }
  }

 private:
  static constexpr std::size_t kWords = 624, kShift = 397;

  static std::uint32_t Twist(std::uint32_t high, std::uint32_t low, std::uint32_t shifted) {
    const std::uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
    return shifted ^ (joined >> 1) ^ ((0u - (low & 1u)) & 0x9908b0dfu);
  }

  void Refill() {
    std::uint32_t* const s = state_.data();
    for (std::size_t i = 0; i < kWords - kShift; ++i) s[i] = Twist(s[i], s[i + 1], s[i + kShift]);
    for (std::size_t i = kWords - kShift; i < kWords - 1; ++i) s[i] = Twist(s[i], s[i + 1], s[i + kShift - kWords]);
    s[kWords - 1] = Twist(s[kWords - 1], s[0], s[kShift - 1]);
    for (std::size_t i = 0; i < kWords; ++i) {
      std::uint32_t word = s[i];
      word ^= word >> 11;
      word ^= (word << 7) & 0x9d2c5680u;
      word ^= (word << 15) & 0xefc60000u;
      tempered_[i] = word ^ (word >> 18);
    }
    next_ = 0;
  }

  std::array<std::uint32_t, kWords> state_, tempered_;
  std::size_t next_ = kWords;
};

/// A whole number below `range` from a generator of 32-bit words, as std::uniform_int_distribution of libstdc++ since gcc
/// 11: the upper half of a product, drawn again if the lower half would favour some numbers [Lemire 2019].
std::uint32_t DrawBelow(MersenneTwister& words, std::uint32_t range) {
  std::uint64_t product = std::uint64_t{words()} * range;
  if (static_cast<std::uint32_t>(product) < range) {
    const std::uint32_t threshold = (0u - range) % range;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{words()} * range;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

/// The labels 0 to 2^scale - 1 in the order of libstdc++'s std::shuffle. Entry i, from 1 on, is swapped with one at or
/// before it. Positions are drawn two at a time while one word suffices for both.
Array<std::uint32_t> ShuffledLabels(int scale) {
  const std::uint64_t count = std::uint64_t{1} << scale;
  MersenneTwister words(kGapSeed);
  Array<std::uint32_t> labels(count);
  std::iota(labels.begin(), labels.end(), 0u);
  if (scale < 16) {  // count * count fits in 32 bits
    std::swap(labels[1], labels[DrawBelow(words, 2)]);
    for (std::uint64_t i = 2; i < count; i += 2) {
      const auto second_range = static_cast<std::uint32_t>(i + 2);
      const std::uint32_t both = DrawBelow(words, static_cast<std::uint32_t>(i + 1) * second_range);
      std::swap(labels[i], labels[both / second_range]);
      std::swap(labels[i + 1], labels[both % second_range]);
    }
    return labels;
  }
  // Positions are drawn ahead, so that the labels there can be prefetched.
  constexpr std::size_t kAhead = 64;
  std::array<std::uint32_t, kAhead> places;
  for (std::uint64_t begin = 1; begin < count; begin += kAhead) {
    const std::uint64_t end = std::min<std::uint64_t>(begin + kAhead, count);
    for (std::uint64_t i = begin; i < end; ++i) {
      places[i - begin] = DrawBelow(words, static_cast<std::uint32_t>(i + 1));
      __builtin_prefetch(&labels[places[i - begin]], 1);
    }
    for (std::uint64_t i = begin; i < end; ++i) std::swap(labels[i], labels[places[i - begin]]);
  }
  return labels;
}

/// Calls body(block, begin, end) for the blocks of GAP's edge list, in parallel.
template <class Body>
void ForEachGapBlock(std::uint64_t edges, int threads, Body&& body) {
  ParallelChunks((edges + kGapBlock - 1) / kGapBlock, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::uint64_t block = first; block < last; ++block) {
      body(block, block * kGapBlock, std::min(edges, (block + 1) * kGapBlock));
    }
  });
}

MersenneTwister TwisterOfBlock(std::uint64_t block) { return MersenneTwister(kGapSeed + static_cast<std::uint32_t>(block)); }

/// GAP's weights of a list of `edges` edges: 1 to 255, in the list's order.
Array<std::int32_t> GapWeights(std::uint64_t edges, int threads) {
  Array<std::int32_t> weights(edges);
  ForEachGapBlock(edges, threads, [&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
    MersenneTwister words = TwisterOfBlock(block);
    for (std::uint64_t e = begin; e < end; ++e) {
      std::uint32_t word = words();
      while (word == std::numeric_limits<std::uint32_t>::max())
        word = words();  // this word would make the distribution uneven
      weights[e] = static_cast<std::int32_t>(word % 255) + 1;
    }
  });
  return weights;
}

/// Fills an edge list whose edges take `words_per_edge` random words each: make(words, count, sources, targets) writes the
/// ends of the next `count` edges. Then builds the graph as GAP does: it ends at the last vertex with a generated edge, both
/// directions of an edge are stored, loops are removed, and of parallel edges the lightest is kept.
template <class MakeEdges>
Made MakeGap(const GeneratorSpec& spec, int words_per_edge, MakeEdges&& make) {
  const std::uint64_t edges = spec.edge_factor << spec.scale;
  EdgeList list;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  std::atomic<VertexId> last_vertex{0};
  {
    constexpr std::size_t kBatch = 512;  // edges per batch; their words fit a first-level cache
    Progress progress("Generating edges", edges);
    ForEachGapBlock(edges, spec.threads, [&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      MersenneTwister twister = TwisterOfBlock(block);
      Array<std::uint32_t> words(kBatch * static_cast<std::size_t>(words_per_edge));
      VertexId last = 0;
      for (std::uint64_t e = begin; e < end; e += kBatch) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, end - e));
        twister.Fill(words.data(), count * static_cast<std::size_t>(words_per_edge));
        make(words.data(), count, list.sources.data() + e, list.targets.data() + e);
        for (std::uint64_t i = e; i < e + count; ++i) last = std::max({last, list.sources[i], list.targets[i]});
      }
      for (VertexId seen = last_vertex; seen < last && !last_vertex.compare_exchange_weak(seen, last);) continue;
      progress.Advance(end - begin);
    });
  }
  list.vertices = last_vertex + 1;
  if (WantsOwnWeights(spec)) list.weights = GapWeights(edges, spec.threads);
  BuildOptions options;
  options.symmetrise = options.remove_loops = options.merge_parallel = true;
  options.threads = spec.threads;
  std::string name = fmt::format("{}-{}", spec.family, spec.scale);
  if (spec.edge_factor != 16) name += fmt::format("-ef{}", spec.edge_factor);
  return {BuildAdjacency(std::move(list), options), std::move(name)};
}

}  // namespace

inline namespace CHATTY_ABI {

Made MakeGapKron(const GeneratorSpec& spec) {
  CheckScale(spec, kGapMaxScale);
  CheckScaleAndFactor(spec);
  constexpr std::uint32_t kA = 2448131358, kB = 816043786, kC = kB;  // .57, .19 and .19 of 2^32 - 1, truncated
  const Array<std::uint32_t> labels = ShuffledLabels(spec.scale);
  const auto levels = static_cast<std::size_t>(spec.scale);
  return MakeGap(spec, spec.scale, [&](std::uint32_t* words, std::size_t count, VertexId* sources, VertexId* targets) {
    // The bits that a word adds to both ends, side by side. Then those of a word and its 15 successors, and so on.
    for (std::size_t i = 0; i < count * levels; ++i) {
      const std::uint32_t word = words[i];
      const std::uint32_t source = word >= kA + kB ? 1 : 0;
      const std::uint32_t target = (word > kA && word < kA + kB) || word > kA + kB + kC ? 1 : 0;
      words[i] = source << 16 | target;
    }
    for (std::size_t e = 0; e < count; ++e) {
      const std::uint32_t* const bits = words + e * levels;
      std::uint32_t source = 0, target = 0;
      for (std::size_t level = 0; level < levels;) {
        const std::size_t end = std::min<std::size_t>(level + 16, levels);
        const auto width = static_cast<int>(end - level);
        std::uint32_t both = 0;
        for (; level < end; ++level) both = both << 1 | bits[level];
        source = source << width | both >> 16;
        target = target << width | (both & 0xffff);
      }
      sources[e] = labels[source];
      targets[e] = labels[target];
    }
  });
}

Made MakeGapUrand(const GeneratorSpec& spec) {
  CheckScale(spec, kGapMaxScale);
  CheckScaleAndFactor(spec);
  const std::uint32_t mask = (std::uint32_t{1} << spec.scale) - 1;
  return MakeGap(spec, 2, [&](std::uint32_t* words, std::size_t count, VertexId* sources, VertexId* targets) {
    for (std::size_t e = 0; e < count; ++e) {
      sources[e] = words[2 * e] & mask;
      targets[e] = words[2 * e + 1] & mask;
    }
  });
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
