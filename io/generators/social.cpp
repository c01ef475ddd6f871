// Models of networks that grow or are rewired.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// Word of attempt `attempt`; attempt 0 has `word` itself.
std::uint64_t Again(std::uint64_t word, std::uint64_t attempt) {
  return attempt == 0 ? word : Mix(word ^ (attempt * 0x9e3779b97f4a7c15u));
}

// ---- Preferential attachment
// ------------------------------------------------------------------------------------------------

/// Edges of new vertices in a Barabási-Albert graph. The first edges_per_vertex + 1 vertices are a clique. Every later one
/// chooses among the ends of all earlier edges, so that its choice is proportional to degree.
///
/// If the chosen end was itself chosen, that choice is computed again from its random word instead of looked up [Sanders,
/// Schulz 2016]. This takes two steps on average and no communication.
class Attachment {
 public:
  Attachment(std::uint64_t edges_per_vertex, std::uint64_t seed)
      : k_(edges_per_vertex), clique_edges_(k_ * (k_ + 1) / 2), words_(seed, kEdges) {}

  std::uint64_t clique_edges() const { return clique_edges_; }
  /// The first edge of v, a vertex after the clique.
  std::uint64_t FirstEdge(std::uint64_t v) const { return clique_edges_ + (v - k_ - 1) * k_; }

  /// Writes the distinct vertices that v attaches to.
  void Choose(std::uint64_t v, VertexId* chosen) const {
    const std::uint64_t first = FirstEdge(v);
    for (std::uint64_t i = 0; i < k_; ++i) {
      // A repeated edge to one vertex is drawn again. Later vertices use the first draw, which has the same distribution.
      for (std::uint64_t attempt = 0;; ++attempt) {
        const auto vertex = static_cast<VertexId>(Resolve(Again(words_[first + i], attempt), first));
        if (std::find(chosen, chosen + i, vertex) != chosen + i) continue;
        chosen[i] = vertex;
        break;
      }
    }
  }

 private:
  /// The vertex at the end that `word` chooses among the ends of the first `edges` edges.
  std::uint64_t Resolve(std::uint64_t word, std::uint64_t edges) const {
    while (true) {
      const std::uint64_t end = Below(word, 2 * edges);
      const std::uint64_t edge = end / 2;
      if (edge < clique_edges_) return end / k_;  // each vertex of the clique has k_ ends
      const std::uint64_t source = k_ + 1 + (edge - clique_edges_) / k_;
      if (end % 2 == 0) return source;
      word = words_[edge];
      edges = FirstEdge(source);
    }
  }

  std::uint64_t k_, clique_edges_;
  RandomWords words_;
};

// ---- Small world
// ------------------------------------------------------------------------------------------------------------

/// A ring whose edges are rewired with some probability [Watts, Strogatz 1998]. Edge number e belongs to vertex e / reach
/// and leads e % reach + 1 vertices ahead; if rewired, to any other vertex.
class Ring {
 public:
  Ring(std::uint64_t vertices, std::uint64_t reach, double rewire, std::uint64_t seed)
      : n_(vertices), reach_(reach), rewire_(rewire), strays_(seed, kDrops), words_(seed, kRewiring) {}

  std::uint64_t reach() const { return reach_; }
  std::uint64_t Source(std::uint64_t edge) const { return edge / reach_; }
  bool Strays(std::uint64_t edge) const { return UnitInterval(strays_[edge]) < rewire_; }
  std::uint64_t Target(std::uint64_t edge) const {
    if (Strays(edge)) return Stray(edge, 0);
    const std::uint64_t target = Source(edge) + edge % reach_ + 1;
    return target < n_ ? target : target - n_;
  }
  /// Any vertex except the source.
  std::uint64_t Stray(std::uint64_t edge, std::uint64_t attempt) const {
    const std::uint64_t target = Below(Again(words_[edge], attempt), n_ - 1);
    return target < Source(edge) ? target : target + 1;
  }

 private:
  std::uint64_t n_, reach_;
  double rewire_;
  RandomWords strays_, words_;
};

using Ends = std::pair<VertexId, VertexId>;

/// Numbers of the edges that duplicate another one, ascending: of the edges between the same two vertices, all but one that
/// was not rewired, or else the first. `adjacency` has both directions of all edges.
std::vector<std::uint64_t> FallenOnOthers(const Adjacency& adjacency, const Ring& ring, int threads) {
  std::vector<std::uint64_t> fallen;
  std::mutex mutex;
  ParallelChunks(adjacency.offsets.size() - 1, threads, 4096, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint64_t> mine, between;
    for (std::size_t v = begin; v < end; ++v) {
      const auto list = adjacency[static_cast<VertexId>(v)];
      for (auto same = std::ranges::adjacent_find(list); same != list.end();) {
        const VertexId u = *same;
        if (u > v) {
          between.clear();
          for (const std::uint64_t from : {std::uint64_t{v}, std::uint64_t{u}}) {
            for (std::uint64_t e = from * ring.reach(); e < (from + 1) * ring.reach(); ++e) {
              if (ring.Target(e) == (from == v ? u : v)) between.push_back(e);
            }
          }
          const auto straight = std::ranges::find_if(between, [&](std::uint64_t e) { return !ring.Strays(e); });
          between.erase(straight == between.end() ? between.begin() : straight);
          mine.insert(mine.end(), between.begin(), between.end());
        }
        while (same != list.end() && *same == u) ++same;
        same = std::adjacent_find(same, list.end());
      }
    }
    const std::lock_guard lock(mutex);
    fallen.insert(fallen.end(), mine.begin(), mine.end());
  });
  std::ranges::sort(fallen);
  return fallen;
}

/// New targets for duplicate edges, both directions of each, sorted. If an edge's vertex is adjacent to all others already,
/// the edge goes to the next vertex that is not: there is room for all edges of a ring.
std::vector<Ends> NewPlaces(const std::vector<std::uint64_t>& edges, const Adjacency& adjacency, const Ring& ring,
                            int threads) {
  const std::uint64_t n = adjacency.offsets.size() - 1;
  Array<VertexId> degrees(n);  // number of distinct neighbours
  ParallelFor(n, threads, [&](std::size_t v) {
    VertexId degree = 0, last = kNoVertex;
    for (const VertexId u : adjacency[static_cast<VertexId>(v)]) degree += std::exchange(last, u) != u ? 1 : 0;
    degrees[v] = degree;
  });
  struct HashEnds {
    std::size_t operator()(const Ends& ends) const { return Mix(Mix(ends.first) + ends.second); }
  };
  std::unordered_set<Ends, HashEnds> added;
  std::vector<Ends> places;
  for (const std::uint64_t edge : edges) {
    auto v = static_cast<VertexId>(ring.Source(edge));
    while (degrees[v] == n - 1) v = v + 1 == n ? 0 : v + 1;
    const auto list = adjacency[v];
    const auto is_free = [&](VertexId u) {
      return u != v && !std::ranges::binary_search(list, u) && !added.contains({v, u});
    };
    constexpr std::uint64_t kAttempts = 100;
    VertexId u = kNoVertex;
    for (std::uint64_t attempt = 1; attempt <= kAttempts && u == kNoVertex; ++attempt) {
      const auto drawn = static_cast<VertexId>(ring.Stray(edge, attempt));
      if (is_free(drawn)) u = drawn;
    }
    // Nearly all vertices are neighbours: takes the next one that is not, from a random vertex on.
    for (std::uint64_t next = ring.Stray(edge, kAttempts + 1); u == kNoVertex; next = next + 1 == n ? 0 : next + 1) {
      if (is_free(static_cast<VertexId>(next))) u = static_cast<VertexId>(next);
    }
    for (const Ends& ends : {Ends{v, u}, Ends{u, v}}) {
      added.insert(ends);
      places.push_back(ends);
      ++degrees[ends.first];
    }
  }
  std::ranges::sort(places);
  return places;
}

/// Removes duplicates from the rows and adds `places`.
Adjacency MoveEdges(const Adjacency& adjacency, const std::vector<Ends>& places, int threads) {
  return RowsOf(adjacency.offsets.size() - 1, threads, [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
    auto place = std::ranges::lower_bound(places, Ends{static_cast<VertexId>(begin), 0});
    for (std::uint64_t v = begin; v < end; ++v) {
      row(v);
      VertexId last = kNoVertex;
      for (const VertexId u : adjacency[static_cast<VertexId>(v)]) {
        if (u == last) continue;
        for (; place != places.end() && place->first == v && place->second < u; ++place) emit(place->second);
        emit(last = u);
      }
      for (; place != places.end() && place->first == v; ++place) emit(place->second);
    }
  });
}

}  // namespace

inline namespace CHATTY_ABI {

Made MakeBarabasiAlbert(const GeneratorSpec& spec) {
  const std::uint64_t k = spec.edges_per_vertex;
  const std::uint64_t n = CheckCount(spec);
  if (k == 0 || k >= n) {
    Throw<UsageError>(
        "{} vertices of a ba graph cannot attach to {} others each; give a number of edges per vertex from 1 "
        "to one less than there are vertices",
        n, k);
  }
  CheckEdges("ba", n, k);
  const Attachment attachment(k, spec.seed);
  EdgeList list;
  list.vertices = static_cast<VertexId>(n);
  const std::uint64_t edges = attachment.FirstEdge(n);
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  {
    Progress progress("Attaching vertices", n);
    ParallelChunks(n, spec.threads, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::uint64_t v = begin; v < end; ++v) {
        const std::uint64_t first = v <= k ? v * (v - 1) / 2 : attachment.FirstEdge(v);
        const std::uint64_t count = std::min(v, k);
        std::fill_n(list.sources.data() + first, count, static_cast<VertexId>(v));
        if (v <= k) {
          std::iota(list.targets.data() + first, list.targets.data() + first + count, VertexId{0});
        } else {
          attachment.Choose(v, list.targets.data() + first);
        }
      }
      progress.Advance(end - begin);
    });
  }
  BuildOptions options;
  options.symmetrise = true;
  options.threads = spec.threads;
  return {BuildAdjacency(std::move(list), options), fmt::format("ba-{}-k{}", n, k)};
}

Made MakeSmallWorld(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec);
  const std::uint64_t k = spec.neighbours;
  if (k == 0 || k % 2 != 0 || k >= n) {
    Throw<UsageError>(
        "{} vertices on a ring cannot each have their {} nearest as neighbours; give an even number of neighbours "
        "from 2 that is less than there are vertices",
        n, k);
  }
  CheckEdges("small-world", n, k / 2);
  CheckProbability("an edge of a small-world graph is rewired", spec.rewire);
  const Ring ring(n, k / 2, spec.rewire, spec.seed);
  BuildOptions options;
  options.symmetrise = true;
  options.threads = spec.threads;
  Adjacency adjacency =
      BuildAdjacency(ListOfEdges(n, n * ring.reach(), spec.threads,
                                 [&](std::uint64_t e) { return std::pair(ring.Source(e), ring.Target(e)); }),
                     options);
  if (const std::vector<std::uint64_t> fallen = FallenOnOthers(adjacency, ring, spec.threads); !fallen.empty()) {
    adjacency = MoveEdges(adjacency, NewPlaces(fallen, adjacency, ring, spec.threads), spec.threads);
  }
  return {std::move(adjacency), fmt::format("small-world-{}-k{}-p{:g}", n, k, spec.rewire)};
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
