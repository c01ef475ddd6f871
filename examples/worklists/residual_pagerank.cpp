// PageRank by residuals on a distributed worklist (Groute's PR; Whang et al., Euro-Par'15), compared with the library's.
//
//   residual_pagerank [GRAPH|- [DEVICES]]      residual_pagerank web.mtx host:4      residual_pagerank web.mtx cuda:0,1
//
// A vertex has a rank and a residual, which is rank that it has not yet sent to its out-neighbours. Its item takes the
// residual, adds it to the rank, and sends damping times it along the edges. A vertex has one item while its residual is
// above the tolerance: the addition that raises the residual above it creates the item.
#include <chatty/programs/pagerank.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "ranges.h"

struct ResidualPageRank {
  struct Item {
    chatty::VertexId vertex;
    double share = 0;  // of a vertex's residual, for an out-neighbour
  };
  using Halves = std::array<std::uint32_t, 2>;
  struct Message {
    std::uint32_t index;  // of the vertex among those of the receiver
    Halves share;         // 12 bytes; with an aligned double there would be 16
  };

  worklists::Rows rows;
  worklists::Ranges ranges;
  double *ranks, *residuals;  // by own vertex
  double* unsent;             // by vertex of other devices: shares that are not sent yet
  std::uint64_t* taken;       // residuals that this device has taken
  double waits;               // maximum unsent share of a vertex on each device; the tolerance over all devices
  double damping = 0.85, tolerance = 1e-6;

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    const chatty::VertexId v = item.vertex, own = v - rows.begin;
    const double residual = chatty::atomics::Exchange(residuals + own, 0.0);
    chatty::atomics::Add<true>(ranks + own, residual);
    chatty::atomics::Add<true>(taken, std::uint64_t{1});
    const chatty::EdgeIndex begin = rows.Begin(v), end = rows.End(v);
    if (begin == end) return;
    const double share = damping * residual / static_cast<double>(end - begin);
    for (chatty::EdgeIndex e = begin; e < end; ++e) {
      const chatty::VertexId u = rows.neighbours[e];
      context.Send(ranges.Owner(u), {u, share});
    }
  }
  /// Large residuals first: they go furthest.
  CHATTY_FN double Priority(const Item& item) const {
    return -std::log2(chatty::atomics::Load(residuals + (item.vertex - rows.begin)));
  }
  /// The sender combines shares until their sum is above `waits`. The addition that raises it above that sends it.
  CHATTY_FN bool OnSend(const Item& item, std::uint32_t) const {
    const double before = chatty::atomics::Add<true>(unsent + item.vertex, item.share);
    return before <= waits && before + item.share > waits;
  }
  CHATTY_FN Message Pack(const Item& item) const {
    const double all = chatty::atomics::Exchange(unsent + item.vertex, 0.0);
    return {static_cast<std::uint32_t>(item.vertex - ranges.Begin(ranges.Owner(item.vertex))),
            chatty::atomics::BitCast<Halves>(all)};
  }
  CHATTY_FN Item Unpack(const Message& message) const {
    return {rows.begin + message.index, chatty::atomics::BitCast<double>(message.share)};
  }
  CHATTY_FN bool OnReceive(const Item& item) const {
    const double before = chatty::atomics::Add<true>(residuals + (item.vertex - rows.begin), item.share);
    return before <= tolerance && before + item.share > tolerance;
  }
};

int main(int argc, char** argv) try {
  worklists::CheckArguments(argc, argv, 2, "residual_pagerank [GRAPH|- [DEVICES]]");
  chatty::GeneratorSpec spec;
  spec.family = "web";
  spec.count = 20'000;
  const chatty::Graph graph = worklists::IsNamed(argc, argv) ? chatty::ReadGraph(argv[1]) : chatty::Generate(spec);
  worklists::Devices devices(graph, argc > 2 ? argv[2] : "host:2");
  const std::size_t count = devices.all.size();

  // Ranks are stored times the number of vertices. At first all rank is residual.
  ResidualPageRank first{};
  first.ranges = devices.ranges;
  first.waits = first.tolerance / static_cast<double>(count);
  std::vector<worklists::OwnRows> rows;
  std::vector<worklists::OnDevice<double>> ranks_on, residuals_on, unsent_on;
  std::vector<worklists::OnDevice<std::uint64_t>> taken_on;
  std::vector<ResidualPageRank> programs(count, first);
  std::vector<std::vector<ResidualPageRank::Item>> seeds(count);
  for (std::size_t d = 0; d < count; ++d) {
    chatty::Device& device = *devices.all[d];
    rows.emplace_back(devices, d, graph);
    ranks_on.emplace_back(device, rows[d].vertices(), 0.0);
    residuals_on.emplace_back(device, rows[d].vertices(), 1 - first.damping);
    unsent_on.emplace_back(device, graph.vertices(), 0.0);
    taken_on.emplace_back(device, 1, 0);
    programs[d].rows = rows[d].ref();
    programs[d].ranks = ranks_on[d].data();
    programs[d].residuals = residuals_on[d].data();
    programs[d].unsent = unsent_on[d].data();
    programs[d].taken = taken_on[d].data();
    for (chatty::VertexId v = rows[d].begin(); v < rows[d].end(); ++v) seeds[d].push_back({v});
  }
  // Each bucket has the residuals within a factor of 2.
  const auto statistics = chatty::RunWorklist<ResidualPageRank>(devices.all, programs, seeds, {.width = 1});

  // Residuals are neither lost nor taken twice: the initial residuals equal the ranks, less what these have sent, and the
  // unsent shares.
  double left = (1 - first.damping) * graph.vertices();
  std::vector<double> ranks(graph.vertices(), 0.0);
  std::uint64_t takes = 0;
  for (std::size_t d = 0; d < count; ++d) {
    const std::vector<double> own_ranks = ranks_on[d].Read(), residuals = residuals_on[d].Read(),
                              unsent = unsent_on[d].Read();
    for (chatty::VertexId v = rows[d].begin(); v < rows[d].end(); ++v) {
      const chatty::VertexId own = v - rows[d].begin();
      left -= own_ranks[own] * (graph.out()[v].empty() ? 1 : 1 - first.damping) + residuals[own];
      ranks[v] += own_ranks[own] + residuals[own];
    }
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      left -= unsent[v];
      ranks[v] += unsent[v];
    }
    takes += taken_on[d].Read()[0];
  }
  // Vertices without out-edges keep what the library spreads over all vertices: a multiple of the uniform vector.
  const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0);
  chatty::PageRank program;
  program.tolerance = 1e-7;
  const auto expected = chatty::Run(graph, program, "host:1").values;
  double difference = 0;
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) difference += std::abs(ranks[v] / sum - expected[v]);
  const double bound = (2 * first.tolerance + program.tolerance) / (1 - first.damping) + 1e-5;  // and the rounding of float
  if (!(difference <= bound) || !(std::abs(left) <= 1e-9 * graph.vertices()) || takes != statistics.processed) {
    std::printf("WRONG: the ranks differ by %g in L1, at most %g is right; %g of %ju is lost; %ju residuals of %ju items\n",
                difference, bound, left, std::uintmax_t{graph.vertices()}, std::uintmax_t{takes},
                std::uintmax_t{statistics.processed});
    return 3;
  }
  std::printf("%ju vertices: %ju residuals taken, %ju messages, %u steps, %.1f ms; L1 difference %.1e; verified\n",
              std::uintmax_t{graph.vertices()}, std::uintmax_t{takes}, std::uintmax_t{statistics.sent}, statistics.steps,
              statistics.time_ms, difference);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
} catch (const std::exception& error) {
  std::fprintf(stderr, "residual_pagerank: %s\n", error.what());
  return 1;
}
