/// \file
/// Functions for the families of generated graphs: random numbers by position, checks of sizes, and construction of rows.
/// Internal to io/.
///
/// A graph must be the same on every machine. So nothing here uses a distribution of the standard library, whose algorithm
/// is not specified, and no result depends on floating-point sums of products, which some compilers fuse.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/core/progress.h"
#include "chatty/io/generators.h"

namespace chatty::generators {

inline constexpr std::size_t kGrain = std::size_t{1} << 16;

// ---- Randomness
// -------------------------------------------------------------------------------------------------------------
//
// A random number is a hash of a key and a position, never the next one of a sequence. So any thread can make any part of a
// graph, and the result does not depend on the threads. (GAP's graphs are the exception: they are made in blocks.)

/// The finaliser of SplitMix64 [Steele, Lea, Flood 2014]: a bijection of 64-bit words that mixes well.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The purpose of a stream of random words.
enum Purpose : std::uint64_t { kEdges = 1, kLabels, kDrops, kWeights, kPoints, kStreets, kRewiring, kHosts, kDegrees };

/// SplitMix64's sequence with random access: word `position`.
class RandomWords {
 public:
  /// `purpose` separates the streams of one seed.
  RandomWords(std::uint64_t seed, std::uint64_t purpose) : key_(Mix(Mix(seed + kGamma) ^ Mix(purpose * kGamma))) {}
  std::uint64_t operator[](std::uint64_t position) const { return Mix(key_ + (position + 1) * kGamma); }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;
  std::uint64_t key_;
};

/// A uniform double in [0, 1) from the upper 53 bits.
constexpr double UnitInterval(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A uniform whole number below `range`, as even as 64 bits allow.
constexpr std::uint64_t Below(std::uint64_t word, std::uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{word} * range >> 64);
}

// ---- What a family makes
// ----------------------------------------------------------------------------------------------------

/// A family's graph; with weights only if the spec requests those of the family.
struct Made {
  Adjacency adjacency;
  std::string name;       ///< contains the family and the parameters
  bool symmetric = true;  ///< both directions of each edge are stored
};

inline namespace CHATTY_ABI {

/// Throws UsageError for more vertices than ids can number. kNoVertex is not a vertex, so it is the maximum.
void CheckVertices(std::string_view family, std::uint64_t vertices);
/// Throws UsageError if vertices * degree is too large for a number of edges.
void CheckEdges(std::string_view family, std::uint64_t vertices, std::uint64_t degree);
/// spec.count; throws if it is below `least` or beyond the range of ids.
std::uint64_t CheckCount(const GeneratorSpec& spec, std::uint64_t least = 1);
/// Throws UsageError unless spec.scale is from 1 to `most`, or to the range of ids if that is less.
void CheckScale(const GeneratorSpec& spec, int most = std::numeric_limits<int>::max());
/// Number of edges that a spec with a scale and an edge factor generates.
std::uint64_t CheckScaleAndFactor(const GeneratorSpec& spec);
/// Throws UsageError unless `value` is in [0, 1].
void CheckProbability(std::string_view what, double value);
/// The product of sizes. Throws UsageError if one is zero or the product is beyond the range of ids.
std::uint64_t CheckSizes(std::string_view family, std::initializer_list<std::uint64_t> sizes);
/// Whether the spec requests weights of this family.
bool WantsOwnWeights(const GeneratorSpec& spec);

/// Fills an edge list: generated edge number i has the ends edge(i).
template <class MakeEdge>
EdgeList ListOfEdges(std::uint64_t vertices, std::uint64_t edges, int threads, MakeEdge&& edge) {
  EdgeList list;
  list.vertices = static_cast<VertexId>(vertices);
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  Progress progress("Generating edges", edges);
  ParallelChunks(edges, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::pair<std::uint64_t, std::uint64_t> ends = edge(i);
      list.sources[i] = static_cast<VertexId>(ends.first);
      list.targets[i] = static_cast<VertexId>(ends.second);
    }
    progress.Advance(end - begin);
  });
  return list;
}

/// Makes rows without a list of edges. visit(begin, end, row, emit) calls row(v) for each vertex in the range and then
/// emit(neighbour) for v's neighbours, ascending. It is called twice for every range, and must do the same both times.
template <class Visit>
Adjacency RowsOf(std::uint64_t vertices, int threads, Visit&& visit) {
  const std::size_t blocks = (vertices + kGrain - 1) / kGrain;
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(vertices + 1);
  Array<EdgeIndex> starts(blocks + 1, 0);
  const auto block_end = [&](std::size_t block) { return std::min<std::uint64_t>(vertices, (block + 1) * kGrain); };
  ParallelChunks(blocks, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      EdgeIndex edges = 0;
      visit(
          block * kGrain, block_end(block), [&](std::uint64_t v) { adjacency.offsets[v] = edges; },
          [&](std::uint64_t) { ++edges; });
      starts[block + 1] = edges;
    }
  });
  std::inclusive_scan(starts.begin(), starts.end(), starts.begin());
  adjacency.offsets[vertices] = starts[blocks];
  adjacency.neighbours = Array<VertexId>(starts[blocks]);
  ParallelChunks(blocks, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      VertexId* next = adjacency.neighbours.data() + starts[block];
      visit(
          block * kGrain, block_end(block), [&](std::uint64_t v) { adjacency.offsets[v] += starts[block]; },
          [&](std::uint64_t neighbour) { *next++ = static_cast<VertexId>(neighbour); });
    }
  });
  return adjacency;
}

// ---- The families, described at GeneratorSpec
// -------------------------------------------------------------------------------

Made MakeKron(const GeneratorSpec& spec);
Made MakeRmat(const GeneratorSpec& spec);
Made MakeUniform(const GeneratorSpec& spec);
Made MakeGapKron(const GeneratorSpec& spec);
Made MakeGapUrand(const GeneratorSpec& spec);
Made MakeRgg(const GeneratorSpec& spec);
Made MakeRoad(const GeneratorSpec& spec);
Made MakeBarabasiAlbert(const GeneratorSpec& spec);
Made MakeCitations(const GeneratorSpec& spec);
Made MakeWeb(const GeneratorSpec& spec);
Made MakeSmallWorld(const GeneratorSpec& spec);
Made MakeGrid(const GeneratorSpec& spec);
Made MakeDeBruijn(const GeneratorSpec& spec);
Made MakeChain(const GeneratorSpec& spec);
Made MakeStar(const GeneratorSpec& spec);
Made MakeComplete(const GeneratorSpec& spec);
Made MakeBinaryTree(const GeneratorSpec& spec);

}  // namespace CHATTY_ABI

}  // namespace chatty::generators
