/// \file
/// Betweenness centrality from one source, from several, or from all vertices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/bc/count_paths.h"
#include "chatty/programs/bc/exchange.h"
#include "chatty/programs/bc/hand_back.h"
#include "chatty/programs/bc/path_numbers.h"
#include "chatty/programs/bc/search.h"
#include "chatty/programs/bc/sources.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Betweenness centrality (Brandes, J. Mathematical Sociology 25, 2001), unweighted, along out-edges: for each source and
/// each other vertex, the share of shortest paths through a vertex, ends excluded. Shares are summed, not normalised. With
/// all vertices as sources, a symmetric graph counts each pair in both directions. Parallel edges are different paths.
///
/// For each source, a search by levels counts paths, and a second pass visits the levels in reverse order. Each half reads
/// every edge about once.
///
/// - A vertex pulls its neighbours' values. It pushes only in the search: if it works alone, or if the sums are whole
///   numbers that a double holds exactly, so that the order of atomics has no effect.
/// - There is no comparison of levels: a neighbour outside of the previous level has the value 0.
/// - Large levels are found by pulls of unreached vertices, small ones by pushes from the previous level (Beamer's rule,
///   SC'12). So a graph with many small levels takes time proportional to its edges.
/// - Each level has a scale, because there are more paths across a grid than a double can count. If the path counts of one
///   level differ too much for one scale, the search starts again with numbers that have an exponent each.
struct BetweennessCentrality {
  /// @{
  /// Members that OperatorProgram and the command line use.
  using Output = double;
  static constexpr bool kReverse = true;
  static constexpr Info kInfo{
      .summary = "betweenness centrality: shares of shortest paths that pass a vertex, by source",
      .output_name = "centrality",
  };
  /// @}
  /// A level is pulled if its edges, times this factor, exceed the edges of unreached vertices.
  static constexpr std::uint64_t kPushCost = 4;
  /// The factor on a host device for marked levels (kMarkShare): an atomic waits for memory, a test of a row does not.
  static constexpr std::uint64_t kPushCostOnHost = 8;
  /// A level is marked in a bitmap first if at most one edge in kMarkShare leads from it (of all edges, in the search) or to
  /// it (of a level's edges, in the second pass). A CPU has the bitmap in its cache and then reads the numbers of marked
  /// vertices only.
  static constexpr std::uint64_t kMarkShare = 3;
  /// Vertices that a host device skips in the time of following one edge.
  static constexpr std::uint64_t kVerticesAnEdge = 8;
  /// Edges of a level that one thread of a host device processes before other threads could start.
  static constexpr std::uint64_t kFewEdges = 16384;
  /// Edges of a level that a GPU processes with other levels in one launch: the host could not launch a kernel sooner.
  static constexpr std::uint64_t kFewForGrid = 65536;
  /// Edges of a level that one block processes alone: several would wait for each other longer.
  static constexpr std::uint64_t kFewForBlock = 256;
  /// Doubles are between 2^-kRange and 2^kRange.
  static constexpr double kRange = 1021;

  VertexId source = 0;        ///< the first, or only, source
  std::uint32_t sources = 1;  ///< number of sources; 0: every vertex
  std::uint64_t seed = 1;     ///< seed for the choice of the other sources
  /// The parameters of the command line.
  static constexpr auto kParameters =
      std::make_tuple(Parameter{"source", &BetweennessCentrality::source, "vertex to start from"},
                      Parameter{"sources", &BetweennessCentrality::sources,
                                "how many vertices to start from: the others are picked at random; 0: every vertex"},
                      Parameter{"seed", &BetweennessCentrality::seed, "seed of the other sources"});

  /// The order of vertices, numbers by position and by local vertex, and payloads for other devices.
  static std::uint64_t WorkBytes(const PartShape& part) {
    std::uint64_t bytes = part.owned * sizeof(LocalId) +
                          (part.owned + part.local) * (sizeof(double) + sizeof(std::int32_t)) +
                          2 * bits::Words(part.local) * sizeof(std::uint32_t) + sizeof(brandes::Progress);
    if (part.parts > 1) {
      bytes += part.vertices * sizeof(LocalId) + (part.halo() + part.parts) * sizeof(VertexId) +
               brandes::LevelPayload::Size(part.owned);
    }
    return bytes;
  }
  /// A level of `part`, or its claims.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    if (from == to) return 0;
    return std::max<std::size_t>(brandes::LevelPayload::Size(part.owned), part.halo() * sizeof(VertexId));
  }

  /// Runs the program on one of its devices.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const GraphRef graph = ops.graph();
    const bool several = ops.devices() > 1;
    Memory memory(ops);
    ops.For(graph.owned, brandes::SetZero<double>{out});
    if (several) {
      ops.For(graph.vertices, brandes::MapNone{memory.locals.data()});
      ops.For(graph.local, brandes::MapLocal{graph, memory.locals.data()});
      memory.halo_begin.resize(ops.devices() + 1);
      ops.CopyOut(memory.halo_begin.data(), graph.halo_begin, memory.halo_begin.size());
    }
    memory.in_edges = ops.AllReduceSum(static_cast<double>(ops.reverse_edges()));
    const auto longest = static_cast<double>(std::max(graph.forward.max_degree, graph.reverse.max_degree));
    const double row = std::log2(2 + ops.AllReduce(longest, [](double a, double b) { return std::max(a, b); }));
    memory.high = kRange - 2 * row;  // sums of paths over a row stay finite for two levels, until a scale applies
    memory.low = row + std::log2(graph.vertices) - kRange;  // and sums of shares, each of at most all vertices in one path
    ops.For(bits::Words(graph.local), brandes::Clear<brandes::Plain>{memory.SearchIn<brandes::Plain>(graph)});
    Unmark(ops, memory.SearchIn<brandes::Plain>(graph));
    ops.For(graph.local,
            brandes::Forget<brandes::Scaled>{memory.SearchIn<brandes::Scaled>(graph)});  // clears also the exponents
    const std::uint64_t count = sources == 0 ? graph.vertices : sources;
    bool plain = true;
    for (std::uint64_t i = 0; i < count && !ops.StopRequested(); ++i) {
      const LocalId from = LocalOf(ops, memory, SourceOf(ops, memory, i));
      if (plain) plain = From<brandes::Plain>(ops, memory, from, out);
      if (!plain) From<brandes::Scaled>(ops, memory, from, out);
    }
  }

  /// The sources on `graph`, in their order.
  std::vector<VertexId> SourcesOn(const Graph& graph) const {
    std::vector<VertexId> all;
    const std::uint64_t count = sources == 0 ? graph.vertices() : sources;
    for (std::uint64_t i = 0; i < count; ++i) {
      all.push_back(Pick(i, graph.vertices(), [&](VertexId v) { return !graph.out()[v].empty(); }));
    }
    return all;
  }
  /// Compares with Brandes' algorithm on one thread: VerifyBetweenness.
  Verdict Verify(const Graph& graph, std::span<const double> centralities, const RunStatistics&) const {
    return VerifyBetweenness(graph, SourcesOn(graph), centralities, 1e-9);
  }
  /// For an answer of unknown origin: within the given tolerance, or else within that of LDBC Graphalytics.
  Verdict VerifyAnswer(const Graph& graph, std::span<const double> centralities, const AnswerRules& rules) const {
    return VerifyBetweenness(graph, SourcesOn(graph), centralities, ToleranceOf(rules));
  }

 private:
  /// One device's memory for a run.
  struct Memory {
    template <class Operators>
    explicit Memory(Operators& ops) {
      const GraphRef graph = ops.graph();
      const std::size_t owned = graph.owned, local = graph.local;
      order = ops.template Allocate<LocalId>(owned);
      at = ops.template Allocate<double>(owned);
      at_exponents = ops.template Allocate<std::int32_t>(owned);
      values = ops.template Allocate<double>(local);
      exponents = ops.template Allocate<std::int32_t>(local);
      seen = ops.template Allocate<std::uint32_t>(bits::Words(local));
      marks = ops.template Allocate<std::uint32_t>(bits::Words(local));
      progress = ops.template Allocate<brandes::Progress>(1);
      if (ops.devices() == 1) return;
      locals = ops.template Allocate<LocalId>(graph.vertices);
      claims = ops.template Allocate<VertexId>(local - owned);
      claim_counts = ops.template Allocate<VertexId>(ops.devices());
      payload = ops.template Allocate<std::byte>(brandes::LevelPayload::Size(owned));
    }
    template <class Number>
    brandes::Search<Number> SearchIn(const GraphRef& graph) {
      return {graph,
              order.data(),
              {at.data(), at_exponents.data()},
              {values.data(), exponents.data()},
              seen.data(),
              marks.data(),
              &progress.data()->tally,
              claims.data(),
              claim_counts.data(),
              locals.data()};
    }

    Buffer<LocalId> order, locals;
    Buffer<double> at, values;
    Buffer<std::int32_t> at_exponents, exponents;
    Buffer<std::uint32_t> seen, marks;
    Buffer<brandes::Progress> progress;
    Buffer<VertexId> claims, claim_counts;
    Buffer<std::byte> payload;
    std::vector<LocalId> halo_begin;  ///< as in GraphRef, on the host
    double in_edges = 0;              ///< over all vertices of all devices
    double low = 0, high = 0;         ///< exponents of the range of path counts, with room for sums and shares
  };

  /// The i-th source.
  template <class HasEdgesOf>
  VertexId Pick(std::uint64_t i, VertexId n, HasEdgesOf&& has_edges) const {
    if (sources == 0) return static_cast<VertexId>(i);
    return i == 0 ? source : brandes::PickSource(seed, i, n, has_edges);
  }
  template <class Operators>
  VertexId SourceOf(Operators& ops, Memory& memory, std::uint64_t i) const {
    return Pick(i, ops.graph().vertices, [&](VertexId v) {
      const LocalId local = LocalOf(ops, memory, v);
      std::uint64_t has = 0;
      if (local != kNoLocal) {
        std::uint64_t* const flag = &memory.progress.data()->tally.reached;
        ops.For(1, brandes::HasEdges{ops.graph(), local, flag});
        ops.CopyOut(&has, flag, 1);
      }
      return ops.AllReduceSum(static_cast<double>(has)) > 0;
    });
  }
  /// A vertex's local id if it is owned; kNoLocal otherwise.
  template <class Operators>
  static LocalId LocalOf(Operators& ops, const Memory& memory, VertexId v) {
    if (ops.devices() == 1) return static_cast<LocalId>(v);
    LocalId local = kNoLocal;
    ops.CopyOut(&local, memory.locals.data() + v, 1);
    return local < ops.graph().owned ? local : kNoLocal;
  }
  /// Number of thread groups worth starting for so many edges.
  template <class Operators>
  static std::size_t GroupsFor(Operators& ops, double edges) {
    return Operators::kMassivelyParallel || edges >= kFewEdges ? ops.groups() : 1;
  }
  static constexpr std::size_t Chunks(std::size_t n, std::size_t chunk) { return (n + chunk - 1) / chunk; }

  /// Whether levels are marked (kMarkShare).
  template <class Operators>
  static constexpr bool kMarks = !Operators::kMassivelyParallel;
  /// Maximum number of edges of a level that is processed with others in one launch.
  template <class Operators>
  static constexpr std::uint64_t kFew = Operators::kMassivelyParallel ? kFewForGrid : kFewEdges;
  /// Groups for several levels of so many edges, in the first or at most.
  template <class Operators>
  static std::size_t GroupsForSeveral(Operators& ops, double edges) {
    return Operators::kMassivelyParallel && edges >= kFewForBlock ? ops.groups() / 8 : 1;
  }
  /// Adds one source's dependencies. Returns whether the path counts fit the numbers; if not, nothing has been added.
  template <class Number, class Operators>
  static bool From(Operators& ops, Memory& memory, LocalId source, double* out) {
    const brandes::Search<Number> search = memory.SearchIn<Number>(ops.graph());
    ops.For(1, brandes::Begin<Number>{search, source});
    std::vector<brandes::Level> levels;
    const bool fits = CountPaths(ops, memory, search, &levels);
    const std::size_t reached = levels.back().begin;
    if (fits) HandBack(ops, memory, search, levels, out);
    Forget(ops, search, reached, true);
    return fits;
  }
  /// The search: finds levels, and a last one without vertices. Returns whether path counts fit the numbers, as far as they
  /// were counted.
  template <class Number, class Operators>
  static bool CountPaths(Operators& ops, Memory& memory, brandes::Search<Number> search,
                         std::vector<brandes::Level>* levels) {
    using namespace brandes;  // NOLINT(google-build-using-namespace): this program's own steps
    const GraphRef graph = ops.graph();
    const bool several = ops.devices() > 1;
    Counters before{}, now{};
    ops.CopyOut(&now, search.tally, 1);
    Census last = OfAll(ops, before, now);
    std::size_t begin = 0;
    levels->push_back({begin, 1, now.out_edges, now.in_edges});
    if (several) Publish(ops, memory, search, begin, now.reached);
    const double degree = memory.in_edges / graph.vertices;
    double left = memory.in_edges;   // edges to unreached vertices
    bool fits = true, whole = true;  // no level has been scaled: numbers below 2^53 are exact counts
    while (last.out_edges > 0 && !ops.StopRequested()) {
      left -= last.in_edges;
      if constexpr (Number::kScales) {
        fits = ScaleNext(last.most, last.least, memory.low, memory.high, &search.scale);
        if (!fits) break;
        whole = whole && search.scale == 1;
      }
      // Sums of whole numbers that a double holds exactly, in any order.
      const bool adds = Number::kScales && whole && last.most * static_cast<double>(graph.reverse.max_degree) < kWhole;
      before = now;
      const std::size_t end = now.reached;
      if (!several && last.out_edges < kFew<Operators>) {
        const std::size_t groups = GroupsForSeveral(ops, last.out_edges);
        const std::uint64_t few = Operators::kMassivelyParallel && groups == 1 ? 2 * kFewForBlock : kFew<Operators>;
        ops.LaunchCooperative(groups, PushSeveral<Number>{search, begin, end, few, whole, last.most, memory.low, memory.high,
                                                          memory.progress.data()});
        Progress progress;
        ops.CopyOut(&progress, memory.progress.data(), 1);
        if (progress.count == 0) break;
        levels->insert(levels->end(), progress.levels, progress.levels + progress.count);
        for (std::uint64_t i = 0; i < progress.count; ++i) whole = whole && progress.levels[i].scale == 1;
        begin = levels->back().begin;
        now = progress.tally;
        left -= static_cast<double>(progress.before.in_edges - before.in_edges);
        last = OfAll(ops, progress.before, now);
        continue;
      }
      ops.For(1, ClearRange{search.tally});
      const VertexId few = graph.vertices / 32;
      const bool marks = kMarks<Operators> && !several && last.out_edges * kMarkShare < memory.in_edges;
      const bool pulls = last.out_edges * (marks ? kPushCostOnHost : kPushCost) > left + few;
      if (pulls) {
        if constexpr (kMarks<Operators>) {
          if (marks) ops.For(end - begin, Mark<Number>{search, begin});
        }
        ops.ForEachGroup(Chunks(graph.owned, kPullChunk), GroupsFor(ops, left),
                         Pull<Number>{search, marks ? PathsFrom::kMarkedRows : PathsFrom::kRows});
        if (marks) Unmark(ops, search);
      } else if (adds && !several) {
        if constexpr (Number::kScales) {
          const bool lists = Operators::kMassivelyParallel || last.out_edges * kVerticesAnEdge < graph.vertices;
          ops.ForEachGroup(Chunks(end - begin, kChunk), GroupsFor(ops, last.out_edges), AddPaths{search, begin, end, lists});
          if (lists) {
            ops.CopyOut(&now, search.tally, 1);
            ops.ForEachGroup(Chunks(now.reached - end, kChunk), ops.groups(), TakeAdded{search, end, now.reached});
          } else {
            ops.ForEachGroup(Chunks(graph.owned, kPullChunk), ops.groups(), Pull<Plain>{search, PathsFrom::kAdded});
          }
        }
      } else {
        if (several) ops.For(ops.devices(), SetZero<VertexId>{search.claim_counts});
        ops.ForEachGroup(Chunks(end - begin, kChunk), GroupsFor(ops, last.out_edges), Push<Number>{search, begin, end});
        if (several) HandClaims(ops, memory, search);
        ops.CopyOut(&now, search.tally, 1);
        ops.ForEachGroup(Chunks(now.reached - end, kChunk), GroupsFor(ops, degree * static_cast<double>(now.reached - end)),
                         Settle<Number>{search, end, now.reached});
      }
      ops.CopyOut(&now, search.tally, 1);
      last = OfAll(ops, before, now);
      if (last.reached == 0) break;
      if (pulls || !adds || several) ops.For(now.reached - end, Commit<Number>{search, end});
      begin = end;
      levels->push_back({begin, search.scale, now.out_edges - before.out_edges, now.in_edges - before.in_edges});
      if (several) Publish(ops, memory, search, begin, now.reached);
    }
    levels->push_back({now.reached, 1, 0, 0});
    return fits;
  }
  /// The second pass, from the last level to the first one after the source.
  template <class Number, class Operators>
  static void HandBack(Operators& ops, Memory& memory, const brandes::Search<Number>& search,
                       const std::vector<brandes::Level>& levels, double* out) {
    using namespace brandes;  // NOLINT(google-build-using-namespace): this program's own steps
    const std::size_t last = levels.size() - 2;
    if (last < 2 || ops.StopRequested()) return;  // no vertex is between two others
    Forget(ops, search, levels.back().begin, false);
    const auto together = [&](std::size_t level) {
      const std::size_t vertices = levels[level + 1].begin - levels[level].begin;
      return ops.devices() == 1 && vertices < kFew<Operators> && levels[level].out_edges < kFew<Operators>;
    };
    for (std::size_t level = last; level > 0; --level) {
      if (together(level)) {
        HandBackSeveral<Number> several{search, out, 0, level == last, false, {levels[level + 1].begin}, {}};
        std::size_t widest = 0;
        for (; several.count < kSeveral && level > 0 && together(level); --level) {
          widest = std::max(
              {widest, levels[level + 1].begin - levels[level].begin, static_cast<std::size_t>(levels[level].out_edges)});
          several.scales[several.count] = levels[level + 1].scale;
          several.begins[++several.count] = levels[level].begin;
        }
        several.to_source = level == 0;
        ops.LaunchCooperative(GroupsForSeveral(ops, static_cast<double>(widest)), several);
        if (level == 0 || ops.StopRequested()) break;
        ++level;  // cancels the loop's decrement
        continue;
      }
      const std::size_t begin = levels[level].begin, end = levels[level + 1].begin;
      if (level == last) {
        ops.For(end - begin, HandBackNothing<Number>{search, begin});
      } else {
        const HandBackLevel<Number> step{search, begin, end, levels[level + 1].scale, out};
        const bool few_lead_on = kMarks<Operators> && ops.devices() == 1 &&
                                 levels[level + 1].in_edges * kMarkShare < levels[level].out_edges &&
                                 levels[level].out_edges > ops.graph().vertices / kVerticesAnEdge;
        if (few_lead_on) {
          HandBackFromNext(ops, step, levels[level + 2].begin, levels[level + 1].in_edges);
        } else {
          const auto work = static_cast<double>(std::max<std::uint64_t>(levels[level].out_edges, end - begin));
          ops.ForEachGroup(Chunks(end - begin, kChunk), GroupsFor(ops, work), step);
        }
      }
      if (level == 1) break;  // the source's own value has no meaning
      ops.For(end - begin, Commit<Number>{search, begin});
      if (ops.devices() > 1) Publish(ops, memory, search, begin, end);
      if (ops.StopRequested()) break;
    }
  }
  /// The second pass for a level of which few edges lead to the next one, whose positions end at `next_end`. The next level
  /// marks these edges.
  template <class Number, class Operators>
  static void HandBackFromNext([[maybe_unused]] Operators& ops, [[maybe_unused]] const brandes::HandBackLevel<Number>& step,
                               [[maybe_unused]] std::size_t next_end, [[maybe_unused]] std::uint64_t in_edges) {
    if constexpr (kMarks<Operators>) {
      using namespace brandes;  // NOLINT(google-build-using-namespace): this program's own steps
      ops.ForEachGroup(Chunks(next_end - step.end, kChunk), GroupsFor(ops, static_cast<double>(in_edges)),
                       MarkLeading<Number>{step.search, step.end, next_end});
      ops.ForEachGroup(Chunks(step.end - step.begin, kChunk), ops.groups(), HandBackMarked<Number>{step});
      Unmark(ops, step.search);
    }
  }
  /// Clears all marks.
  template <class Number, class Operators>
  static void Unmark(Operators& ops, const brandes::Search<Number>& search) {
    ops.For(bits::Words(ops.graph().local), brandes::SetZero<std::uint32_t>{search.marks});
  }
  /// Sets the values that neighbours read to 0 wherever the search came. `over`: also resets the reached state.
  template <class Number, class Operators>
  static void Forget(Operators& ops, const brandes::Search<Number>& search, std::size_t reached, bool over) {
    ops.For(reached, brandes::ForgetReached<Number>{search, over});
    ops.For(ops.graph().local - ops.graph().owned, brandes::ForgetHalo<Number>{search, over});
  }
  /// Totals of a level over all devices.
  struct Census {
    double reached, out_edges, in_edges;  ///< as in Counters, for this level only
    double most, least;                   ///< largest and smallest number of paths to a vertex
  };
  template <class Operators>
  static Census OfAll(Operators& ops, const brandes::Counters& before, const brandes::Counters& now) {
    const auto more = [](std::uint64_t a, std::uint64_t b) { return static_cast<double>(b - a); };
    return ops.AllReduce(Census{more(before.reached, now.reached), more(before.out_edges, now.out_edges),
                                more(before.in_edges, now.in_edges), now.most, now.least},
                         [](const Census& a, const Census& b) {
                           return Census{a.reached + b.reached, a.out_edges + b.out_edges, a.in_edges + b.in_edges,
                                         std::max(a.most, b.most), std::min(a.least, b.least)};
                         });
  }
  /// Sends a level to all other devices, and receives theirs.
  template <class Number, class Operators>
  static void Publish(Operators& ops, Memory& memory, const brandes::Search<Number>& search, std::size_t begin,
                      std::size_t end) {
    const brandes::LevelPayload payload{memory.payload.data(), end - begin};
    ops.For(end - begin, brandes::PackLevel<Number>{search, begin, payload});
    const std::span<const std::byte> mine(payload.bytes, brandes::LevelPayload::Size(payload.count));
    ops.template AllToAllv<std::byte>(
        [&](PartId) { return mine; },
        [&](PartId, std::span<const std::byte> theirs) {
          const std::uint64_t count = theirs.size() / brandes::LevelPayload::Size(1);
          ops.For(count, brandes::TakeLevel<Number>{search, {const_cast<std::byte*>(theirs.data()), count}});
        });
  }
  /// Sends vertices that were reached to their owners, and receives those of this device.
  template <class Number, class Operators>
  static void HandClaims(Operators& ops, Memory& memory, const brandes::Search<Number>& search) {
    std::vector<VertexId> counts(ops.devices());
    ops.CopyOut(counts.data(), search.claim_counts, counts.size());
    ops.template AllToAllv<VertexId>(
        [&](PartId to) {
          return std::span<const VertexId>(search.claims + (memory.halo_begin[to] - ops.graph().owned), counts[to]);
        },
        [&](PartId, std::span<const VertexId> theirs) {
          ops.For(theirs.size(), brandes::TakeClaim<Number>{search, theirs.data()});
        });
  }
};

}  // namespace chatty
