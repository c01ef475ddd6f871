#include "chatty/io/generators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/suggestion.h"
#include "chatty/io/generators/common.h"

namespace chatty {
namespace generators {
namespace {

constexpr int kMaxScale = CHATTY_VERTEX_BITS == 32 ? 31 : 48;
constexpr int kMaxEdgeBits = 48;  // 2 PiB of edges: a larger number is a mistake

// ---- Weights
// ----------------------------------------------------------------------------------------------------------------

/// The weight of an edge; equal for both directions.
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
      const volatile double above =
          (max_ - min_) * UnitInterval(word);  // rounded here, because a compiler may fuse it with the sum
      return static_cast<float>(min_ + above);
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

Graph Finish(Made made, const GeneratorSpec& spec) {
  Adjacency& adjacency = made.adjacency;
  if (KindOf(adjacency.weights) == WeightKind::kNone) {
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
  }
  return Graph(std::move(adjacency), made.symmetric, /*first_id=*/0, std::move(made.name));
}

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

// ---- The table
// --------------------------------------------------------------------------------------------------------------

struct Family {
  GeneratorFamily says;
  Made (*make)(const GeneratorSpec&);
};

constexpr std::string_view kDrawn = "directed edge-factor keep-loops keep-parallel seed";
constexpr Family kFamilies[] = {
    {{"kron", "SCALE", kDrawn, "R-MAT with Graph500's parameters: 2^SCALE vertices, a few of huge degree"}, MakeKron},
    {{"rmat", "SCALE", "a b c directed edge-factor keep-loops keep-parallel seed", "R-MAT with parameters of one's own"},
     MakeRmat},
    {{"uniform", "SCALE", kDrawn, "2^SCALE vertices, ends of edges drawn uniformly"}, MakeUniform},
    {{"gap-kron", "SCALE", "edge-factor", "the GAP benchmark's Kronecker graph, edge by edge", true}, MakeGapKron},
    {{"gap-urand", "SCALE", "edge-factor", "the GAP benchmark's uniform graph, edge by edge", true}, MakeGapUrand},
    {{"rgg", "SCALE", "radius seed", "2^SCALE random points, each with all that are near"}, MakeRgg},
    {{"road", "COUNT|WIDTH HEIGHT", "seed", "streets, main roads and motorways: about COUNT vertices, or so many junctions",
      true},
     MakeRoad},
    {{"ba", "COUNT", "edges-per-vertex seed", "Barabasi-Albert: the more edges a vertex has, the more it gets"},
     MakeBarabasiAlbert},
    {{"citations", "COUNT", "edges-per-vertex seed", "directed: each vertex cites older ones, oftener those often cited"},
     MakeCitations},
    {{"web", "COUNT", "dangling edges-per-vertex local seed",
      "directed: pages of hosts that link their own pages and popular ones, some of them nothing"},
     MakeWeb},
    {{"small-world", "COUNT", "neighbours rewire seed", "Watts-Strogatz: a ring of neighbours with shortcuts"},
     MakeSmallWorld},
    {{"grid", "WIDTH HEIGHT|WIDTH HEIGHT DEPTH", "drop seed",
      "neighbours right and below, and behind; --drop closes some; vertices all stay"},
     MakeGrid},
    {{"debruijn", "BITS", "", "2^BITS words of bits, each with those one shift away"}, MakeDeBruijn},
    {{"chain", "COUNT", "", "each vertex with the next: as deep as a graph can be"}, MakeChain},
    {{"star", "COUNT", "", "the first vertex with all others: as skewed as a graph can be"}, MakeStar},
    {{"complete", "COUNT", "", "each vertex with all others: as dense as a graph can be"}, MakeComplete},
    {{"binary-tree", "COUNT", "", "each vertex with two more, row by row until there are COUNT"}, MakeBinaryTree},
};

}  // namespace

inline namespace CHATTY_ABI {

// ---- Checks
// -----------------------------------------------------------------------------------------------------------------

void CheckVertices(std::string_view family, std::uint64_t vertices) {
  if (vertices > kNoVertex) {
    Throw<UsageError>("a {} of {} vertices is larger than {}-bit vertex ids can name (at most {}){}", family, vertices,
                      CHATTY_VERTEX_BITS, std::uint64_t{kNoVertex},
                      CHATTY_VERTEX_BITS == 32 ? "; build with CHATTY_VERTEX_BITS=64" : "");
  }
}

void CheckEdges(std::string_view family, std::uint64_t vertices, std::uint64_t degree) {
  if (degree > (std::uint64_t{1} << kMaxEdgeBits) / vertices) {
    Throw<UsageError>("a {} of {} vertices with {} edges each has more edges than make sense (at most 2^{})", family,
                      vertices, degree, kMaxEdgeBits);
  }
}

std::uint64_t CheckCount(const GeneratorSpec& spec, std::uint64_t least) {
  if (spec.count < least) {
    Throw<UsageError>("a {} of {} vertices is too small; give a count of at least {}", spec.family, spec.count, least);
  }
  CheckVertices(spec.family, spec.count);
  return spec.count;
}

void CheckScale(const GeneratorSpec& spec, int most) {
  const int limit = std::min(most, kMaxScale);
  if (spec.scale < 1 || spec.scale > limit) {
    Throw<UsageError>(
        "the scale of a {} graph is {}, but must be from 1 to {}: it has 2^scale vertices{}", spec.family, spec.scale, limit,
        CHATTY_VERTEX_BITS == 32 && spec.scale > limit && most > limit ? "; CHATTY_VERTEX_BITS=64 allows more" : "");
  }
}

std::uint64_t CheckScaleAndFactor(const GeneratorSpec& spec) {
  CheckScale(spec);
  if (spec.edge_factor == 0 || spec.edge_factor > (std::uint64_t{1} << kMaxEdgeBits) >> spec.scale) {
    Throw<UsageError>("an edge factor of {} makes no sense at scale {}; give one from 1 to {}", spec.edge_factor, spec.scale,
                      (std::uint64_t{1} << kMaxEdgeBits) >> spec.scale);
  }
  return spec.edge_factor << spec.scale;
}

void CheckProbability(std::string_view what, double value) {
  if (!(value >= 0 && value <= 1)) {
    Throw<UsageError>("{} with probability {}, which cannot be; give one from 0 to 1", what, value);
  }
}

std::uint64_t CheckSizes(std::string_view family, std::initializer_list<std::uint64_t> sizes) {
  std::uint64_t n = 1;
  for (const std::uint64_t size : sizes) {
    if (size == 0) Throw<UsageError>("a {} of {} has no vertices; give sizes from 1", family, fmt::join(sizes, " x "));
    if (size > std::numeric_limits<std::uint64_t>::max() / n) {
      Throw<UsageError>("a {} of {} has more vertices than 64 bits count", family, fmt::join(sizes, " x "));
    }
    n *= size;
  }
  CheckVertices(family, n);
  return n;
}

bool WantsOwnWeights(const GeneratorSpec& spec) {
  const bool as_gap = spec.weights == WeightKind::kInt32 && spec.min_weight == 1 && spec.max_weight == 255;
  return spec.own_weights || (as_gap && spec.family.starts_with("gap-"));
}

}  // namespace CHATTY_ABI
}  // namespace generators

std::vector<GeneratorFamily> GeneratorFamilies() {
  std::vector<GeneratorFamily> families;
  for (const generators::Family& family : generators::kFamilies) families.push_back(family.says);
  return families;
}

std::vector<std::string_view> GeneratorNames() {
  std::vector<std::string_view> names;
  for (const generators::Family& family : generators::kFamilies) names.push_back(family.says.name);
  return names;
}

inline namespace CHATTY_ABI {

Graph Generate(const GeneratorSpec& spec) try {
  generators::CheckWeights(spec);
  for (const generators::Family& family : generators::kFamilies) {
    if (family.says.name != spec.family) continue;
    if (spec.own_weights && !family.says.own_weights) {
      Throw<UsageError>("a {} graph has no weights of its own; say which it is to have", spec.family);
    }
    return generators::Finish(family.make(spec), spec);
  }
  const std::vector<std::string_view> names = GeneratorNames();
  Throw<UsageError>("there is no generator `{}`{}; the generators are {}", spec.family, DidYouMean(spec.family, names),
                    fmt::join(names, ", "));
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("generating a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
