#include <fmt/format.h>

#include <array>
#include <cmath>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// A permutation of [0, 2^bits): several rounds of an addition, a multiplication by an odd number, and folding the upper
/// half onto the lower one; each is invertible. A keyed hash, in place of the shuffled table of Graph500's generator: it
/// needs no memory, and every thread can apply it to any label.
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

/// Draws four levels of an R-MAT edge, which are four bits of either end, from 32 random bits in constant time: Walker's
/// alias method over the 256 outcomes. Levels are independent, so an outcome's probability is the product over its levels.
class RmatLevels {
 public:
  static constexpr int kLevels = 4;

  /// `quadrants`: the probabilities a, b, c and d, with the sum 1.
  explicit RmatLevels(const std::array<double, 4>& quadrants) {
    std::array<double, kOutcomes> odds;  // times the number of outcomes: the average is 1
    for (unsigned o = 0; o < kOutcomes; ++o) {
      odds[o] = kOutcomes;
      for (int level = 0; level < kLevels; ++level) odds[o] *= quadrants[o >> (2 * level) & 3];
    }
    // Slot s yields outcome s below its threshold, and its alias above: an outcome with more than the average fills up one
    // with less.
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
    while (smalls > 0) Fill(small[--smalls]);  // a full share, except for rounding
  }

  /// Four bits of the source in the upper half of a byte, and of the target in the lower half.
  unsigned Draw(std::uint32_t random) const {
    const Slot& slot = slots_[random % kOutcomes];
    return random / kOutcomes < slot.threshold ? slot.own : slot.alias;
  }

 private:
  static constexpr unsigned kOutcomes = 1u << (2 * kLevels);
  static constexpr double kOne = 0x1p24;  // thresholds have the 24 bits that are left after the choice of a slot

  struct Slot {
    std::uint32_t threshold;
    std::uint8_t own, alias;
  };

  void Fill(unsigned o) { slots_[o] = {static_cast<std::uint32_t>(kOne), Bits(o), Bits(o)}; }

  /// The bits of an outcome's quadrants: two bits per level, the source's above the target's.
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

/// The part of a directed graph's name that distinguishes it.
std::string_view Directed(const GeneratorSpec& spec) { return spec.directed ? "-directed" : ""; }

/// Builds a graph of 2^scale vertices from generated edges with the ends edge(i).
template <class MakeEdge>
Adjacency BuildDrawn(const GeneratorSpec& spec, MakeEdge&& edge) {
  BuildOptions options;
  options.symmetrise = !spec.directed;
  options.remove_loops = !spec.keep_loops;
  options.merge_parallel = !spec.keep_parallel;
  options.threads = spec.threads;
  return BuildAdjacency(ListOfEdges(std::uint64_t{1} << spec.scale, CheckScaleAndFactor(spec), spec.threads, edge), options);
}

Adjacency Recursive(const GeneratorSpec& spec, const std::array<double, 4>& quadrants) {
  const RandomWords words(spec.seed, kEdges);
  const LabelPermutation permute(spec.scale, spec.seed);
  const RmatLevels levels(quadrants);
  const int draws = (spec.scale + RmatLevels::kLevels - 1) / RmatLevels::kLevels;
  const auto words_per_edge = static_cast<std::uint64_t>(draws + 1) / 2;
  const int surplus = draws * RmatLevels::kLevels - spec.scale;  // levels drawn beyond the scale
  return BuildDrawn(spec, [=](std::uint64_t i) {
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

}  // namespace

inline namespace CHATTY_ABI {

Made MakeKron(const GeneratorSpec& spec) {
  CheckScaleAndFactor(spec);
  return {Recursive(spec, {.57, .19, .19, .05}), fmt::format("kron-{}-ef{}{}", spec.scale, spec.edge_factor, Directed(spec)),
          !spec.directed};
}

Made MakeRmat(const GeneratorSpec& spec) {
  CheckScaleAndFactor(spec);
  for (const double odds : {spec.a, spec.b, spec.c}) CheckProbability("a quadrant of an rmat graph is chosen", odds);
  const double rest = 1 - (spec.a + spec.b + spec.c);
  if (rest < -1e-9) {
    Throw<UsageError>("the odds of rmat's quadrants a = {}, b = {} and c = {} add up to more than 1, which leaves none to d",
                      spec.a, spec.b, spec.c);
  }
  return {Recursive(spec, {spec.a, spec.b, spec.c, std::max(rest, 0.0)}),
          fmt::format("rmat-{}-ef{}-{:g}-{:g}-{:g}{}", spec.scale, spec.edge_factor, spec.a, spec.b, spec.c, Directed(spec)),
          !spec.directed};
}

Made MakeUniform(const GeneratorSpec& spec) {
  CheckScaleAndFactor(spec);
  const RandomWords words(spec.seed, kEdges);
  const int shift = 64 - spec.scale;
  return {BuildDrawn(spec, [=](std::uint64_t i) { return std::pair(words[2 * i] >> shift, words[2 * i + 1] >> shift); }),
          fmt::format("uniform-{}-ef{}{}", spec.scale, spec.edge_factor, Directed(spec)), !spec.directed};
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
