// Models of directed networks: what cites, and what links.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "chatty/io/generators/common.h"

namespace chatty::generators {
namespace {

/// Attempt `attempt` at what word `word` was the first for.
std::uint64_t NextTry(std::uint64_t word, std::uint64_t attempt) {
  return attempt == 0 ? word : Mix(word ^ (attempt * 0x9e3779b97f4a7c15u));
}

// ---- Citations
// --------------------------------------------------------------------------------------------------------------

/// Whom newcomers cite: half of the time any older vertex, or else the one that an earlier citation is of, so that a vertex
/// is cited the oftener the oftener it was. That citation's choice is made again from its random word instead of looked up
/// [Sanders, Schulz 2016], which takes two steps on average.
class Citations {
 public:
  Citations(std::uint64_t edges_per_vertex, std::uint64_t seed) : k_(edges_per_vertex), words_(seed, kEdges) {}

  /// How many v has.
  std::uint64_t Count(std::uint64_t v) const { return std::min(v, k_); }
  /// The number of v's first.
  std::uint64_t First(std::uint64_t v) const { return v <= k_ ? v * (v - (v > 0)) / 2 : FirstOfAll() + (v - k_ - 1) * k_; }

  /// Writes the distinct vertices that v cites.
  void Choose(std::uint64_t v, VertexId* chosen) const {
    for (std::uint64_t i = 0; i < Count(v); ++i) {
      if (v <= k_) {
        chosen[i] = static_cast<VertexId>(i);
        continue;
      }
      // A second citation of one vertex is drawn anew; later vertices go by the first draw, which is as likely anyone's.
      for (std::uint64_t attempt = 0;; ++attempt) {
        const auto vertex = static_cast<VertexId>(Resolve(NextTry(words_[First(v) + i], attempt), v));
        if (std::find(chosen, chosen + i, vertex) != chosen + i) continue;
        chosen[i] = vertex;
        break;
      }
    }
  }

 private:
  /// The first citation of vertex k + 1; those before have all older ones.
  std::uint64_t FirstOfAll() const { return k_ * (k_ + 1) / 2; }
  /// Whom `word` makes a vertex cite that comes after all of `older`.
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

/// A whole number from 1 on, of which 2^j is reached with probability about 2^(-1.5 j) and the mean is near 2.5. Whole
/// numbers alone, since powers of the C library are not the same everywhere.
std::uint64_t PowerLaw(std::uint64_t word) {
  const auto zeros = static_cast<unsigned>(std::countl_zero(word | 1));
  const std::uint64_t least = std::uint64_t{1} << (2 * zeros / 3);
  return least + (Mix(word) & (least - 1));
}

/// The links of pages. A host is a stretch of pages; blocks of kGrain pages begin with one, so that each is made alone.
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

  /// The last page of the host that begins at `first`, plus one, in a block that ends at `end`.
  std::uint64_t HostEnd(std::uint64_t first, std::uint64_t end) const {
    return std::min(end, first + kMin * PowerLaw(hosts_[first]));
  }
  /// Writes where page v's links lead, ascending and each once. Its host is [first, end).
  void Choose(std::uint64_t v, std::uint64_t first, std::uint64_t end, std::vector<std::uint64_t>* chosen) const {
    chosen->clear();
    if (UnitInterval(drops_[v]) < dangling_) return;
    // Of PowerLaw's mean, 5 / 2, to `links_`.
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
    if (chosen->empty()) chosen->push_back(v + 1 < n_ ? v + 1 : 0);  // all of its links were to itself
    std::ranges::sort(*chosen);
    chosen->erase(std::unique(chosen->begin(), chosen->end()), chosen->end());
  }

 private:
  static constexpr std::uint64_t kMin = 8;  // pages of a host

  /// A page, of those at place x with odds of 1 / x: a power of two is drawn, and a place up to the next.
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
