// Models of directed networks: citations and links.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// Word of attempt `attempt`; attempt 0 has `word` itself.
std::uint64_t NextTry(std::uint64_t word, std::uint64_t attempt) {
  return attempt == 0 ? word : Mix(word ^ (attempt * 0x9e3779b97f4a7c15u));
}

// ---- Citations
// --------------------------------------------------------------------------------------------------------------

/// Citations of new vertices: with probability 1/2 any older vertex, otherwise the target of an earlier citation, so that
/// often cited vertices are cited more often. The earlier citation's target is computed again from its random word instead
/// of looked up [Sanders, Schulz 2016], which takes two steps on average.
class Citations {
 public:
  Citations(std::uint64_t edges_per_vertex, std::uint64_t seed) : k_(edges_per_vertex), words_(seed, kEdges) {}

  /// Number of v's citations.
  std::uint64_t Count(std::uint64_t v) const { return std::min(v, k_); }
  /// Number of v's first citation.
  std::uint64_t First(std::uint64_t v) const { return v <= k_ ? v * (v - (v > 0)) / 2 : FirstOfAll() + (v - k_ - 1) * k_; }

  /// Writes the distinct vertices that v cites.
  void Choose(std::uint64_t v, VertexId* chosen) const {
    for (std::uint64_t i = 0; i < Count(v); ++i) {
      if (v <= k_) {
        chosen[i] = static_cast<VertexId>(i);
        continue;
      }
      // A repeated citation of one vertex is drawn again. Later vertices use the first draw, which has the same
      // distribution.
      for (std::uint64_t attempt = 0;; ++attempt) {
        const auto vertex = static_cast<VertexId>(Resolve(NextTry(words_[First(v) + i], attempt), v));
        if (std::find(chosen, chosen + i, vertex) != chosen + i) continue;
        chosen[i] = vertex;
        break;
      }
    }
  }

 private:
  /// The first citation of vertex k + 1; earlier vertices cite all older ones.
  std::uint64_t FirstOfAll() const { return k_ * (k_ + 1) / 2; }
  /// The target that `word` gives to a vertex that comes after vertices 0 to older - 1.
  std::uint64_t Resolve(std::uint64_t word, std::uint64_t older) const {
    while (true) {
      if ((word & 1) == 0) return Below(word, older);
      const std::uint64_t citation = Below(word, First(older));
      if (citation < FirstOfAll()) return citation % k_;
      older = k_ + 1 + (citation - FirstOfAll()) / k_;
      word = words_[citation];
    }
  }

  std::uint64_t k_;
  RandomWords words_;
};

// ---- Web
// --------------------------------------------------------------------------------------------------------------------

/// A whole number of at least 1. It is about 2^j with probability about 2^(-1.5 j), and the mean is near 2.5. Integer
/// arithmetic only, because the C library's powers differ between machines.
std::uint64_t PowerLaw(std::uint64_t word) {
  const auto zeros = static_cast<unsigned>(std::countl_zero(word | 1));
  const std::uint64_t least = std::uint64_t{1} << (2 * zeros / 3);
  return least + (Mix(word) & (least - 1));
}

/// The links of pages. A host is a range of pages. Each block of kGrain pages begins with a new host, so that blocks are
/// independent.
class Links {
 public:
  Links(const GeneratorSpec& spec, std::uint64_t pages)
      : n_(pages),
        links_(spec.edges_per_vertex),
        bits_(static_cast<std::uint64_t>(std::bit_width(pages - 1))),
        dangling_(spec.dangling),
        local_(spec.local),
        words_(spec.seed, kEdges),
        places_(spec.seed, kLabels),
        drops_(spec.seed, kDrops),
        hosts_(spec.seed, kHosts),
        degrees_(spec.seed, kDegrees) {}

  /// The end of the host that begins at `first`, in a block that ends at `end`.
  std::uint64_t HostEnd(std::uint64_t first, std::uint64_t end) const {
    return std::min(end, first + kMin * PowerLaw(hosts_[first]));
  }
  /// Writes the distinct targets of page v's links, ascending. Its host is [first, end).
  void Choose(std::uint64_t v, std::uint64_t first, std::uint64_t end, std::vector<std::uint64_t>* chosen) const {
    chosen->clear();
    if (UnitInterval(drops_[v]) < dangling_) return;
    // Scales PowerLaw's mean, 5 / 2, to `links_`.
    const std::uint64_t count = std::min<std::uint64_t>(n_ - 1, (PowerLaw(degrees_[v]) * links_ * 2 + 4) / 5);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t word = Mix(words_[v] + i), place = Mix(word);
      std::uint64_t target;
      if (UnitInterval(word) < local_) {
        target = first + std::min(Below(place, end - first), Below(Mix(place), end - first));
      } else {
        target = Popular(place);
      }
      if (target != v) chosen->push_back(target);
    }
    if (chosen->empty()) chosen->push_back(v + 1 < n_ ? v + 1 : 0);  // all links led to the page itself
    std::ranges::sort(*chosen);
    chosen->erase(std::unique(chosen->begin(), chosen->end()), chosen->end());
  }

 private:
  static constexpr std::uint64_t kMin = 8;  // minimum number of pages of a host

  /// A page chosen with probability proportional to 1 / rank: draws a power of two, and a rank up to the next.
  std::uint64_t Popular(std::uint64_t word) const {
    const std::uint64_t least = std::uint64_t{1} << Below(word, bits_);
    return Below(places_[least + (Mix(word) & (least - 1))], n_);
  }

  std::uint64_t n_, links_, bits_;
  double dangling_, local_;
  RandomWords words_, places_, drops_, hosts_, degrees_;
};

}  // namespace

inline namespace CHATTY_ABI {

Made MakeCitations(const GeneratorSpec& spec) {
  const std::uint64_t k = spec.edges_per_vertex;
  const std::uint64_t n = CheckCount(spec);
  if (k == 0 || k >= n) {
    Throw<UsageError>(
        "{} vertices of a citations graph cannot cite {} others each; give a number of edges per vertex from 1 "
        "to one less than there are vertices",
        n, k);
  }
  CheckEdges("citations", n, k);
  const Citations citations(k, spec.seed);
  Adjacency adjacency;
  adjacency.offsets = Array<EdgeIndex>(n + 1);
  adjacency.neighbours = Array<VertexId>(citations.First(n));
  {
    Progress progress("Citing vertices", n);
    ParallelChunks(n, spec.threads, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::uint64_t v = begin; v < end; ++v) {
        VertexId* const row = adjacency.neighbours.data() + citations.First(v);
        adjacency.offsets[v] = citations.First(v);
        citations.Choose(v, row);
        std::sort(row, row + citations.Count(v));
      }
      progress.Advance(end - begin);
    });
  }
  adjacency.offsets[n] = citations.First(n);
  return {std::move(adjacency), fmt::format("citations-{}-k{}", n, k), /*symmetric=*/false};
}

Made MakeWeb(const GeneratorSpec& spec) {
  const std::uint64_t n = CheckCount(spec, 2);
  if (spec.edges_per_vertex == 0) throw UsageError("pages of a web graph have 0 links; give edges per vertex from 1");
  CheckEdges("web", n, spec.edges_per_vertex);
  CheckProbability("a page of a web graph has no links", spec.dangling);
  CheckProbability("a link of a web graph stays within its host", spec.local);
  const Links links(spec, n);
  Adjacency adjacency = RowsOf(n, spec.threads, [&](std::uint64_t begin, std::uint64_t end, auto&& row, auto&& emit) {
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t first = begin; first < end;) {
      const std::uint64_t host_end = links.HostEnd(first, end);
      for (std::uint64_t v = first; v < host_end; ++v) {
        row(v);
        links.Choose(v, first, host_end, &chosen);
        for (const std::uint64_t target : chosen) emit(target);
      }
      first = host_end;
    }
  });
  return {std::move(adjacency), fmt::format("web-{}-k{}-d{:g}-l{:g}", n, spec.edges_per_vertex, spec.dangling, spec.local),
          /*symmetric=*/false};
}

}  // namespace CHATTY_ABI
}  // namespace chatty::generators
