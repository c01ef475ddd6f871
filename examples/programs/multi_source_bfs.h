/// \file
/// Breadth-first searches from up to 64 sources in one run, with the distances that they find.
#pragma once

#include <chatty/chatty.h>
#include <chatty/programs/bc/sources.h>

#include "../reference.h"

namespace multi_source {

/// What the searches have found at a vertex.
struct Visits {
  std::uint64_t seen;          ///< the searches that have reached it, a bit each
  std::uint64_t fresh;         ///< those that reached it in its last update: it sends them
  std::uint64_t farness;       ///< sum of the distances from the sources of `seen`
  std::uint32_t eccentricity;  ///< the largest of these distances
};

/// Number of set bits.
CHATTY_FN std::uint32_t Count(std::uint64_t searches) {
  return chatty::bits::Count(static_cast<std::uint32_t>(searches)) +
         chatty::bits::Count(static_cast<std::uint32_t>(searches >> 32));
}

/// Where searches begin: at `source`, and at others that `seed` picks as in `bc`, of the vertices with out-edges. A vertex
/// that is picked twice is the source of two searches. Vertex data `landmark` names sources in their place.
struct Sources {
  struct Data {
    std::uint64_t searches = 0;  ///< the searches that begin at the vertex, a bit each
  };
  chatty::VertexId source = 0;
  std::uint32_t sources = 64;
  std::uint64_t seed = 1;
  static constexpr auto kParameters = std::make_tuple(
      chatty::Parameter{"source", &Sources::source, "the first source"},
      chatty::Parameter{"sources", &Sources::sources, "searches, 1 to 64: the other sources are picked at random"},
      chatty::Parameter{"seed", &Sources::seed, "seed of the other sources"});
  static constexpr auto kVertexData = std::make_tuple(
      chatty::VertexDatum{"landmark", &Data::searches, "not 0 at a source, of which there are at most `sources`",
                          chatty::Presence::kOptional, chatty::Missing::kDefault, "source seed"});

  /// Numbers the searches: from landmarks in the order of their ids, or else from `source` and the others.
  void PrepareData(const chatty::Graph& graph, std::span<Data> data, std::span<const std::string_view> given) const {
    const auto n = static_cast<chatty::VertexId>(data.size());
    std::uint32_t search = 0;
    if (given.empty()) {
      const auto has_edges = [&](chatty::VertexId v) { return graph.out_degree(v) > 0; };
      for (; n > 0 && search < sources; ++search) {
        data[search == 0 ? source : chatty::brandes::PickSource(seed, search, n, has_edges)].searches |= Bit(search);
      }
      return;
    }
    for (chatty::VertexId v = 0; v < n; ++v) {
      if (data[v].searches == 0) continue;
      if (search == sources) chatty::Throw<chatty::UsageError>("there are more than {} landmarks: see `sources`", sources);
      data[v].searches = Bit(search++);
    }
    if (search == 0) throw chatty::UsageError("no vertex is a landmark: searches begin nowhere");
  }
  void CheckInput() const {
    if (sources < 1 || sources > 64) chatty::Throw<chatty::UsageError>("sources={}: a run has 1 to 64 searches", sources);
  }
  static reference::Searches Reference(const chatty::Graph& graph, std::span<const Data> data) {
    std::vector<std::uint32_t> begins;
    for (const Data& d : data) begins.push_back(Count(d.searches));
    return reference::SearchOneByOne(graph, begins);
  }

 private:
  static std::uint64_t Bit(std::uint32_t search) { return std::uint64_t{1} << search; }
};

/// A distance for `--value`: it reads the searches' values and sends no messages.
template <class T, T Visits::*kMember>
struct Distance : Sources {
  using Input = Visits;
  using Value = T;
  using Message = T;
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  Distance() = default;
  explicit Distance(const Sources& searches) : Sources(searches) {}

  CHATTY_FN Value InitVertex(chatty::Vertex, const Input& visits, const Data&) const { return visits.*kMember; }
  CHATTY_FN bool IsActive(const Value&) const { return false; }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>) const { return 0; }
  CHATTY_FN bool UpdateStatus(Value& distance, Message m, chatty::Vertex) const {
    distance = m;
    return false;
  }
};

/// The sum of distances: those from random sources estimate closeness centrality (Eppstein and Wang, SODA'01).
struct Farness : Distance<std::uint64_t, &Visits::farness> {
  using Distance::Distance;
  static constexpr chatty::Info kInfo{.output_name = "farness"};
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> farness, std::span<const Data> data) const {
    return reference::Same("farness", graph, farness, Reference(graph, data).farness);
  }
};

/// The largest distance: on a symmetric graph a lower bound on the vertex's eccentricity.
struct Eccentricity : Distance<std::uint32_t, &Visits::eccentricity> {
  using Distance::Distance;
  static constexpr chatty::Info kInfo{.output_name = "eccentricity"};
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> largest, std::span<const Data> data) const {
    return reference::Same("eccentricity", graph, largest, Reference(graph, data).eccentricity);
  }
};

}  // namespace multi_source

/// Multi-source breadth-first search (MS-BFS; Then et al., "The more the merrier", PVLDB 8, 2014): a round follows the edges
/// of a vertex once for all searches that reached it in the round before. A vertex's result is the number of searches that
/// reach it. A vertex without a path from any source has the number 0, and distances of 0.
///
/// Demonstrates rounds that are levels, a Share of what is new, both kinds of Filter, and Derived programs with vertex data.
struct MultiSourceBfs : multi_source::Sources {
  using Value = multi_source::Visits;
  using Shared = std::uint64_t;
  using Message = std::uint64_t;  ///< searches, a bit each
  static constexpr auto kReduction = chatty::Reduction::kOr;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr chatty::Info kInfo{
      .summary = "breadth-first searches from up to 64 sources at once; sums of distances and the largest",
      .output_name = "visits",
  };
  using Derived = chatty::DerivedPrograms<multi_source::Farness, multi_source::Eccentricity>;

  CHATTY_FN Value InitVertex(chatty::Vertex, const Data& data) const { return {data.searches, data.searches, 0, 0}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.fresh != 0; }
  CHATTY_FN Shared Share(const Value& v, chatty::Vertex) const { return v.fresh; }
  CHATTY_FN Message ComputeScatter(const Shared& fresh, chatty::Edge<>) const { return fresh; }
  /// Whether a search has not reached the vertex.
  CHATTY_FN bool Filter(const Value& v) const { return v.seen != ~std::uint64_t{0} >> (64 - sources); }
  CHATTY_FN bool Filter(const Value& v, Message m) const { return (m & ~v.seen) != 0; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, chatty::Vertex, const chatty::Round<>& round) const {
    const std::uint64_t fresh = m & ~v.seen;
    if (fresh == 0) return false;
    const std::uint32_t level = round.index + 1;
    v = {v.seen | fresh, fresh, v.farness + std::uint64_t{level} * multi_source::Count(fresh), level};
    return true;
  }
  CHATTY_FN std::uint32_t Output(const Value& v) const { return multi_source::Count(v.seen); }

  /// Pairs of a search and a vertex that it reaches.
  static std::uint64_t Total(std::span<const std::uint32_t> visits) {
    return std::accumulate(visits.begin(), visits.end(), std::uint64_t{0});
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const std::uint32_t> visits,
                         std::span<const Data> data) const {
    return reference::Same("number of visits", graph, visits, Reference(graph, data).visits);
  }
};
