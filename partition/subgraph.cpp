#include "chatty/partition/subgraph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/partition/borders.h"
#include "chatty/partition/kept_division.h"
#include "chatty/partition/scan.h"

namespace chatty {
namespace {

using detail::CoarseGrain, detail::ExclusiveScan, detail::kEdgeGrain, detail::kVertexGrain, detail::Largest, detail::MarkSet,
    detail::Scan;

/// If local and global ids have the same type, makes `view` a view of `ids`. Returns whether they do.
template <class Id>
bool ViewAsLocal(std::span<const Id> ids, std::span<const LocalId>& view) {
  if constexpr (std::is_same_v<Id, LocalId>) view = ids;
  return std::is_same_v<Id, LocalId>;
}

[[noreturn]] void ThrowNotInt32(const Graph& graph, const Adjacency& adjacency, EdgeIndex edge, float weight) {
  const auto row =
      std::upper_bound(adjacency.offsets.begin(), adjacency.offsets.end(), edge) - adjacency.offsets.begin() - 1;
  auto source = static_cast<VertexId>(row), target = adjacency.neighbours[edge];
  if (&adjacency != &graph.out()) std::swap(source, target);
  Throw<UsageError>(
      "edge {} -> {} has the weight {}, which is not a 32-bit integer: run the program with float weights, or give the "
      "graph integer ones",
      graph.id(source), graph.id(target), weight);
}

/// Calls body(read), where read(e) is the weight of edge e of `adjacency` as a W.
template <class W, class Body>
void WithWeightReader(const Graph& graph, const Adjacency& adjacency, Body&& body) {
  if (const auto* floats = std::get_if<Array<float>>(&adjacency.weights)) {
    if constexpr (std::is_same_v<W, float>) {
      body([data = floats->data()](EdgeIndex e) { return data[e]; });
    } else {
      body([&graph, &adjacency, data = floats->data()](EdgeIndex e) {
        const float weight = data[e];
        // The negated form also rejects NaN. Both limits are powers of two, hence exact floats.
        if (!(weight >= -2147483648.0f && weight < 2147483648.0f && std::trunc(weight) == weight)) [[unlikely]] {
          ThrowNotInt32(graph, adjacency, e, weight);
        }
        return static_cast<std::int32_t>(weight);
      });
    }
  } else if (const auto* integers = std::get_if<Array<std::int32_t>>(&adjacency.weights)) {
    body([data = integers->data()](EdgeIndex e) { return static_cast<W>(data[e]); });
  } else {
    body([](EdgeIndex) { return W{1}; });
  }
}

/// Calls body(W{}) with the type that stores `kind`; not at all for kNone.
template <class Body>
void WithWeightType(WeightKind kind, Body&& body) {
  if (kind == WeightKind::kInt32) body(std::int32_t{});
  if (kind == WeightKind::kFloat32) body(float{});
}

/// Builds the subgraphs of all parts in turn. They share its scratch memory, which has the graph's size.
class Builder {
 public:
  Builder(const Graph& graph, const Partition& partition, const SubgraphOptions& options)
      : graph_(graph),
        partition_(partition),
        options_(options),
        threads_(ThreadCount(options.threads)),
        global_(!options.rename && partition.contiguous() && partition.parts() > 1 && sizeof(VertexId) == sizeof(LocalId)),
        marks_(partition.parts() > 1 ? graph.vertices() : 0, threads_),
        halo_words_(partition.parts() > 1 && partition.contiguous() ? MarkSet::Words(graph.vertices()) : 0),
        local_of_(partition.parts() > 1 && !partition.contiguous() ? graph.vertices() : 0) {
    const bool needs_in = options.edges == Edges::kOut  ? options.reverse
                          : options.edges == Edges::kIn ? options.forward
                                                        : options.forward || options.reverse;
    if (needs_in) graph.in();  // before the degrees, which in() also computes
  }

  std::vector<Subgraph> Build() {
    std::vector<Subgraph> subgraphs(partition_.parts());
    for (PartId p = 0; p < partition_.parts(); ++p) BuildPart(p, subgraphs[p]);
    BuildBorders(subgraphs, partition_, threads_);
    if (options_.own_begins) AddOwnBegins(subgraphs, threads_);
    return subgraphs;
  }

 private:
  /// The owned rows of the current part.
  struct Rows {
    PartId part = 0;
    LocalId owned = 0;
    VertexId first = 0;       ///< the least vertex of a contiguous part
    bool consecutive = true;  ///< owned vertices are consecutive, and so are their edges in the graph
  };

  VertexId GlobalOf(const Rows& rows, std::size_t row) const {
    return rows.consecutive ? static_cast<VertexId>(rows.first + row)
                            : partition_.Global(rows.part, static_cast<LocalId>(row));
  }

  void BuildPart(PartId part, Subgraph& subgraph) {
    Rows rows;
    rows.part = part;
    rows.owned = static_cast<LocalId>(partition_.OwnedCount(part));  // the partition has checked that it fits
    subgraph.part = part;
    subgraph.parts = partition_.parts();
    subgraph.vertices = graph_.vertices();
    subgraph.symmetric = graph_.symmetric();
    subgraph.owned = rows.owned;
    subgraph.identity = rows.owned == graph_.vertices();
    rows.consecutive = partition_.contiguous() || subgraph.identity || rows.owned == 0;
    rows.first = rows.owned > 0 ? partition_.Global(part, 0) : 0;

    FillDegrees(rows, subgraph);

    // First the distinct lists, with offsets; then the halo of all of them; then their neighbours as local ids.
    std::vector<std::pair<const Adjacency*, std::shared_ptr<LocalAdjacency>>> plain;
    std::shared_ptr<LocalAdjacency> merged;
    const auto add = [&](const Adjacency& adjacency) {
      plain.emplace_back(&adjacency, StartPlain(rows, adjacency));
      return plain.back().second;
    };
    if (graph_.symmetric()) {
      if (options_.forward || options_.reverse) {
        const auto both = add(graph_.out());
        if (options_.forward) subgraph.forward = both;
        if (options_.reverse) subgraph.reverse = both;
      }
    } else if (options_.edges == Edges::kBoth) {
      if (options_.forward || options_.reverse) {
        merged = StartMerged(rows);
        if (options_.forward) subgraph.forward = merged;
        if (options_.reverse) subgraph.reverse = merged;
      }
    } else {
      const bool along = options_.edges == Edges::kOut;
      if (options_.forward) subgraph.forward = add(along ? graph_.out() : graph_.in());
      if (options_.reverse) subgraph.reverse = add(along ? graph_.in() : graph_.out());
    }

    if (subgraph.identity) {
      subgraph.local = rows.owned;
      subgraph.halo_begin.assign(std::size_t{subgraph.parts} + 1, rows.owned);
    } else {
      std::vector<const Adjacency*> lists;
      lists.reserve(plain.size());
      for (const auto& [adjacency, local] : plain) lists.push_back(adjacency);
      if (merged) lists = {&graph_.out(), &graph_.in()};
      if (NameByRows(lists)) {
        MarkByRows(rows, lists);
      } else {
        for (const auto& [adjacency, local] : plain) MarkPlain(rows, *adjacency, *local);
        if (merged) MarkMerged(rows, *merged);
      }
      NumberLocals(rows, subgraph);
      for (const auto& [adjacency, local] : plain) local->global = global_;
    }
    for (const auto& [adjacency, local] : plain) FinishPlain(rows, subgraph.identity, *adjacency, *local);
    if (merged) FinishMerged(rows, subgraph.identity, *merged);
    if (global_ && !subgraph.identity && !plain.empty()) {
      subgraph.halo_words = std::exchange(halo_words_, Array<HaloWord>(halo_words_.size()));
    }
  }

  void FillDegrees(const Rows& rows, Subgraph& subgraph) {
    const auto fill = [&](Array<EdgeIndex>& degrees, auto&& degree) {
      degrees = Array<EdgeIndex>::InHugePages(rows.owned);
      ParallelChunks(rows.owned, threads_, kVertexGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) degrees[row] = degree(GlobalOf(rows, row));
      });
    };
    fill(subgraph.out_degrees, [&](VertexId v) { return graph_.out().degree(v); });
    if (graph_.symmetric()) {
      subgraph.in_degrees = Array<EdgeIndex>::View(subgraph.out_degrees.data(), rows.owned);
    } else if (graph_.has_in_edges()) {
      fill(subgraph.in_degrees, [&](VertexId v) { return graph_.in().degree(v); });
    } else {
      fill(subgraph.in_degrees, [degrees = graph_.in_degrees()](VertexId v) { return degrees[v]; });
    }
  }

  /// Offsets of the owned rows in one of the graph's adjacencies; the graph's own array if they start from 0.
  std::shared_ptr<LocalAdjacency> StartPlain(const Rows& rows, const Adjacency& adjacency) {
    auto local = std::make_shared<LocalAdjacency>();
    const auto degree = [&](std::size_t row) { return adjacency.degree(GlobalOf(rows, row)); };
    if (rows.consecutive && rows.first == 0 && rows.owned < adjacency.offsets.size()) {
      local->offsets = adjacency.offsets.span().first(std::size_t{rows.owned} + 1);
      local->max_degree = Largest(rows.owned, threads_, degree);
    } else {
      AdoptOffsets(ExclusiveScan(rows.owned, threads_, degree), *local);
    }
    return local;
  }

  std::shared_ptr<LocalAdjacency> StartMerged(const Rows& rows) {
    auto local = std::make_shared<LocalAdjacency>();
    AdoptOffsets(ExclusiveScan(rows.owned, threads_,
                               [&](std::size_t row) {
                                 const VertexId v = GlobalOf(rows, row);
                                 return graph_.out().degree(v) + graph_.in().degree(v);
                               }),
                 *local);
    return local;
  }

  static void AdoptOffsets(Scan scan, LocalAdjacency& local) {
    local.offsets_storage = std::move(scan.sums);
    local.offsets = local.offsets_storage.span();
    local.max_degree = scan.largest;
  }

  /// Calls body(to, from, count) for runs of edges that are consecutive both in the part, from `to` on, and in the graph,
  /// from `from` on. Chunks consist of edges, so that several threads share a hub's row.
  template <class Body>
  void ForEachRun(const Rows& rows, const Adjacency& adjacency, const LocalAdjacency& local, Body&& body) {
    const std::span<const EdgeIndex> offsets = local.offsets;
    ParallelChunks(offsets.back(), threads_, kEdgeGrain, [&](EdgeIndex begin, EdgeIndex end) {
      if (rows.consecutive) {
        body(begin, adjacency.offsets[rows.first] + begin, end - begin);
        return;
      }
      auto row = static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), begin) - offsets.begin() - 1);
      while (begin < end) {
        const EdgeIndex stop = std::min(end, offsets[row + 1]);
        if (begin < stop) body(begin, adjacency.offsets[GlobalOf(rows, row)] + (begin - offsets[row]), stop - begin);
        begin = stop;
        ++row;
      }
    });
  }

  /// Calls body(row) for every owned row, in chunks of about equally many edges.
  template <class Body>
  void ForEachRow(const LocalAdjacency& local, Body&& body) {
    const std::span<const EdgeIndex> offsets = local.offsets;
    ParallelChunks(offsets.back(), threads_, kEdgeGrain, [&](EdgeIndex begin, EdgeIndex end) {
      // A chunk processes the rows that start in it.
      auto row = static_cast<std::size_t>(std::lower_bound(offsets.begin(), offsets.end(), begin) - offsets.begin());
      for (; offsets[row] < end; ++row) body(row);  // terminates, because offsets.back() is not below any end
    });
  }

  /// Replaces the part's lists by the graph's opposite lists, which have the same edges at their other ends. Only if these
  /// lists exist, and a search in each row is cheaper than a pass over the part's edges.
  bool NameByRows(std::vector<const Adjacency*>& lists) const {
    if (!partition_.contiguous()) return false;
    EdgeIndex edges = 0;
    for (const Adjacency*& list : lists) {
      edges += list->neighbours.size();
      if (graph_.symmetric()) continue;
      if (!graph_.has_in_edges()) return false;
      list = list == &graph_.out() ? &graph_.in() : &graph_.out();
    }
    constexpr EdgeIndex kSearch = 2;  // approximate cost of a search, in edges
    return kSearch * lists.size() * partition_.parts() * graph_.vertices() < edges;
  }

  /// Marks the vertices of other parts whose rows contain a vertex of this part. Rows ascend, so a search in each row
  /// suffices.
  void MarkByRows(const Rows& rows, const std::vector<const Adjacency*>& lists) {
    const std::size_t words = MarkSet::Words(graph_.vertices());
    ParallelChunks(words, threads_, kVertexGrain / 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t w = begin; w < end; ++w) {
        std::uint64_t marks = 0;
        const std::size_t last = std::min<std::size_t>(graph_.vertices(), (w + 1) * 64);
        for (std::size_t v = w * 64; v < last; ++v) {
          if (static_cast<VertexId>(v) - rows.first < rows.owned) continue;
          for (const Adjacency* list : lists) {
            const std::span<const VertexId> row = (*list)[static_cast<VertexId>(v)];
            const auto found = std::lower_bound(row.begin(), row.end(), rows.first);
            if (found != row.end() && *found - rows.first < rows.owned) marks |= std::uint64_t{1} << (v % 64);
          }
        }
        marks_.Set(w, marks);
      }
    });
  }

  void MarkPlain(const Rows& rows, const Adjacency& adjacency, const LocalAdjacency& local) {
    ForEachRun(rows, adjacency, local, [&](EdgeIndex, EdgeIndex from, EdgeIndex count) {
      for (const VertexId u : adjacency.neighbours.span().subspan(from, count)) Mark(rows, u);
    });
  }

  /// In a contiguous part, the ids identify own vertices, which need no mark.
  void Mark(const Rows& rows, VertexId u) {
    if (!rows.consecutive || u - rows.first >= rows.owned) marks_.Add(u);
  }

  void MarkMerged(const Rows& rows, const LocalAdjacency& local) {
    ForEachRow(local, [&](std::size_t row) {
      const VertexId v = GlobalOf(rows, row);
      for (const VertexId u : graph_.out()[v]) Mark(rows, u);
      for (const VertexId u : graph_.in()[v]) Mark(rows, u);
    });
  }

  /// Calls body(v, owner), in ascending order, for the marked vertices in words [first_word, last_word) with an owner other
  /// than `part`.
  template <class Body>
  void ForEachHalo(PartId part, std::size_t first_word, std::size_t last_word, Body&& body) const {
    if (!partition_.contiguous()) {
      marks_.ForEach(first_word, last_word, [&](std::size_t v) {
        const PartId owner = partition_.Owner(static_cast<VertexId>(v));
        if (owner != part) body(static_cast<VertexId>(v), owner);
      });
      return;
    }
    // Owners of ascending vertices ascend: a look-up is necessary only at the end of an owner's range.
    PartId owner = 0;
    std::size_t owner_end = 0;
    marks_.ForEach(first_word, last_word, [&](std::size_t v) {
      if (v >= owner_end) {
        owner = partition_.Owner(static_cast<VertexId>(v));
        owner_end = std::size_t{partition_.Global(owner, 0)} + partition_.OwnedCount(owner);
      }
      if (owner != part) body(static_cast<VertexId>(v), owner);
    });
  }

  /// Converts the marks to the halo: local ids, by owner and then ascending, in `subgraph` and in the tables of LocalOf.
  /// Clears the marks.
  void NumberLocals(const Rows& rows, Subgraph& subgraph) {
    if (partition_.contiguous()) {
      NumberByRank(rows, subgraph);
    } else {
      NumberByOwner(rows, subgraph);
    }
    marks_.Clear(graph_.vertices(), threads_);
  }

  /// The local id of a vertex of the current part or its halo.
  LocalId LocalOf(const Rows& rows, VertexId u) const {
    if (halo_words_.empty()) return local_of_[u];
    if (u - rows.first < rows.owned) return static_cast<LocalId>(u - rows.first);
    const HaloWord& word = halo_words_[u / 64];
    return static_cast<LocalId>(word.before) +
           static_cast<LocalId>(std::popcount(word.marks & ((std::uint64_t{1} << (u % 64)) - 1)));
  }

  void CheckLocals(const Rows& rows, std::uint64_t local) const {
    if (local <= kNoLocal) return;
    Throw<CapabilityError>(
        "part {} of {} has {} vertices of its own and {} in its halo, and 32-bit local ids name at most {}: divide "
        "the graph "
        "into more parts, or by a partitioner that cuts fewer edges",
        rows.part, partition_.parts(), rows.owned, local - rows.owned, kNoLocal);
  }

  /// For contiguous partitions: owners of ascending vertices ascend, so a halo vertex's position is its rank among the
  /// marks. The rank is the count before its word plus the marks below it in the word. This takes 2 bits per vertex of the
  /// graph and fits a cache; a table of local ids would take 32.
  void NumberByRank(const Rows& rows, Subgraph& subgraph) {
    const std::size_t words = MarkSet::Words(graph_.vertices());
    const Scan before =
        ExclusiveScan(words, threads_, [&](std::size_t w) { return static_cast<EdgeIndex>(std::popcount(marks_.word(w))); });
    CheckLocals(rows, rows.owned + before.sums[words]);
    subgraph.local = rows.owned + static_cast<LocalId>(before.sums[words]);
    subgraph.global_ids = Array<VertexId>(subgraph.local);
    ParallelChunks(rows.owned, threads_, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) subgraph.global_ids[row] = static_cast<VertexId>(rows.first + row);
    });
    ParallelChunks(words, threads_, CoarseGrain(words, threads_, 1 << 10), [&](std::size_t begin, std::size_t end) {
      for (std::size_t w = begin; w < end; ++w) halo_words_[w] = {marks_.word(w), rows.owned + before.sums[w]};
      VertexId* next = subgraph.global_ids.data() + rows.owned + before.sums[begin];
      marks_.ForEach(begin, end, [&](std::size_t v) { *next++ = static_cast<VertexId>(v); });
    });
    const VertexId* const halo = subgraph.global_ids.data() + rows.owned;
    subgraph.halo_begin.resize(std::size_t{subgraph.parts} + 1);
    for (PartId q = 0; q <= subgraph.parts; ++q) {
      const VertexId* const end = subgraph.global_ids.end();
      const VertexId* const first = q == subgraph.parts ? end : std::lower_bound(halo, end, FirstOf(q));
      subgraph.halo_begin[q] = rows.owned + static_cast<LocalId>(first - halo);
    }
  }

  /// For a contiguous partition: the first vertex of part q or of a later part.
  VertexId FirstOf(PartId q) const {
    for (; q < partition_.parts(); ++q) {
      if (partition_.OwnedCount(q) > 0) return partition_.Global(q, 0);
    }
    return graph_.vertices();
  }

  /// A counting sort by owner; the input is sorted by id.
  void NumberByOwner(const Rows& rows, Subgraph& subgraph) {
    const PartId parts = subgraph.parts;
    const std::size_t words = MarkSet::Words(graph_.vertices());
    const std::size_t grain = CoarseGrain(words, threads_, 1 << 10);
    const std::size_t chunks = (words + grain - 1) / grain;
    Array<std::uint64_t> places(chunks * parts, 0);
    ParallelChunks(chunks, threads_, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) {
        std::uint64_t* counts = places.data() + c * parts;
        ForEachHalo(rows.part, c * grain, std::min(words, (c + 1) * grain),
                    [&](VertexId, PartId owner) { ++counts[owner]; });
      }
    });

    std::uint64_t next = rows.owned;
    std::vector<std::uint64_t> begins(std::size_t{parts} + 1);
    for (PartId q = 0; q < parts; ++q) {
      begins[q] = next;
      for (std::size_t c = 0; c < chunks; ++c) next += std::exchange(places[c * parts + q], next);
    }
    begins[parts] = next;
    CheckLocals(rows, next);
    subgraph.local = static_cast<LocalId>(next);
    subgraph.halo_begin.assign(begins.begin(), begins.end());

    subgraph.global_ids = Array<VertexId>(subgraph.local);
    ParallelChunks(rows.owned, threads_, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const VertexId v = GlobalOf(rows, row);
        subgraph.global_ids[row] = v;
        local_of_[v] = static_cast<LocalId>(row);
      }
    });
    ParallelChunks(chunks, threads_, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) {
        std::uint64_t* place = places.data() + c * parts;
        ForEachHalo(rows.part, c * grain, std::min(words, (c + 1) * grain), [&](VertexId v, PartId owner) {
          const auto local = static_cast<LocalId>(place[owner]++);
          subgraph.global_ids[local] = v;
          local_of_[v] = local;
        });
      }
    });
  }

  void FinishPlain(const Rows& rows, bool identity, const Adjacency& adjacency, LocalAdjacency& local) {
    const EdgeIndex begin = rows.owned > 0 ? adjacency.offsets[rows.first] : 0;
    const bool as_they_are = identity || local.global;
    if (!as_they_are || !ViewAsLocal(adjacency.neighbours.span().subspan(begin, local.offsets.back()), local.neighbours)) {
      local.neighbours_storage = Array<LocalId>::InHugePages(local.offsets.back());
      const VertexId* const source = adjacency.neighbours.data();
      LocalId* const target = local.neighbours_storage.data();
      ForEachRun(rows, adjacency, local, [&](EdgeIndex to, EdgeIndex from, EdgeIndex count) {
        if (identity) {
          for (EdgeIndex i = 0; i < count; ++i) target[to + i] = static_cast<LocalId>(source[from + i]);
        } else {
          for (EdgeIndex i = 0; i < count; ++i) target[to + i] = LocalOf(rows, source[from + i]);
        }
      });
      local.neighbours = local.neighbours_storage.span();
    }

    WithWeightType(options_.weights, [&]<class W>(W) {
      const auto* own = std::get_if<Array<W>>(&adjacency.weights);
      if (own != nullptr && rows.consecutive) {
        local.weights = own->span().subspan(begin, local.offsets.back());
        return;
      }
      auto weights = Array<W>::InHugePages(local.offsets.back());
      WithWeightReader<W>(graph_, adjacency, [&](auto read) {
        ForEachRun(rows, adjacency, local, [&](EdgeIndex to, EdgeIndex from, EdgeIndex count) {
          for (EdgeIndex i = 0; i < count; ++i) weights[to + i] = read(from + i);
        });
      });
      AdoptWeights(std::move(weights), local);
    });
  }

  void FinishMerged(const Rows& rows, bool identity, LocalAdjacency& local) {
    local.neighbours_storage = Array<LocalId>::InHugePages(local.offsets.back());
    local.neighbours = local.neighbours_storage.span();
    // Calls place(to, from_out, from): edge `from` of the out- or in-edges becomes local edge `to`.
    const auto merge = [&](auto place) {
      ForEachRow(local, [&](std::size_t row) {
        const VertexId v = GlobalOf(rows, row);
        const VertexId* const out = graph_.out().neighbours.data();
        const VertexId* const in = graph_.in().neighbours.data();
        EdgeIndex i = graph_.out().offsets[v], j = graph_.in().offsets[v];
        const EdgeIndex i_end = graph_.out().offsets[v + 1], j_end = graph_.in().offsets[v + 1];
        for (EdgeIndex to = local.offsets[row]; i < i_end || j < j_end; ++to) {
          const bool from_out = j == j_end || (i < i_end && out[i] <= in[j]);
          const EdgeIndex from = from_out ? i++ : j++;
          const VertexId u = from_out ? out[from] : in[from];
          local.neighbours_storage[to] = identity ? static_cast<LocalId>(u) : LocalOf(rows, u);
          place(to, from_out, from);
        }
      });
    };
    if (options_.weights == WeightKind::kNone) merge([](EdgeIndex, bool, EdgeIndex) {});
    WithWeightType(options_.weights, [&]<class W>(W) {
      auto weights = Array<W>::InHugePages(local.offsets.back());
      WithWeightReader<W>(graph_, graph_.out(), [&](auto read_out) {
        WithWeightReader<W>(graph_, graph_.in(), [&](auto read_in) {
          merge(
              [&](EdgeIndex to, bool from_out, EdgeIndex from) { weights[to] = from_out ? read_out(from) : read_in(from); });
        });
      });
      AdoptWeights(std::move(weights), local);
    });
  }

  template <class W>
  static void AdoptWeights(Array<W> weights, LocalAdjacency& local) {
    local.weights = std::span<const W>(weights.span());  // moving an Array keeps its memory
    local.weights_storage = std::move(weights);
  }

  const Graph& graph_;
  const Partition& partition_;
  const SubgraphOptions& options_;
  const int threads_;
  const bool global_;           // neighbours keep the graph's ids
  MarkSet marks_;               // the graph's vertices that the current part's lists contain; empty between parts
  Array<HaloWord> halo_words_;  // for a contiguous partition: the halo of the current part
  Array<LocalId> local_of_;     // for other partitions: local ids of the current part's own and halo vertices; undefined for
                                // other vertices
};

}  // namespace

bool PartsAreRanges(const Subgraph& subgraph) {
  if (subgraph.identity || subgraph.owned == 0) return false;
  const VertexId first = subgraph.Global(0), last = subgraph.Global(subgraph.owned - 1);
  if (last - first != subgraph.owned - 1) return false;
  for (PartId q = 0; q < subgraph.parts; ++q) {  // the halo of each owner ascends
    if (subgraph.halo_count(q) == 0) continue;
    if (q < subgraph.part && subgraph.Global(subgraph.halo_begin[q + 1] - 1) > first) return false;
    if (q > subgraph.part && subgraph.Global(subgraph.halo_begin[q]) < last) return false;
  }
  return true;
}

void AddOwnBegins(std::span<Subgraph> subgraphs, int threads) try {
  for (Subgraph& subgraph : subgraphs) {
    const LocalAdjacency* const rows = subgraph.forward ? subgraph.forward.get() : subgraph.reverse.get();
    const LocalId owned = subgraph.owned, lesser_end = subgraph.halo_begin[subgraph.part];
    if (!subgraph.own_begins.empty() || !subgraph.symmetric || rows == nullptr) continue;
    if (lesser_end == owned || !PartsAreRanges(subgraph)) continue;
    // By search: the pass that renames edges does not know rows, and this function may be called for existing subgraphs.
    Array<EdgeIndex> begins(owned);
    const VertexId first_id = subgraph.Global(0);
    ParallelChunks(owned, ThreadCount(threads), kVertexGrain, [&](std::size_t first, std::size_t last) {
      const LocalId* const neighbours = rows->neighbours.data();
      for (std::size_t row = first; row < last; ++row) {
        const LocalId* const found =
            std::partition_point(neighbours + rows->offsets[row], neighbours + rows->offsets[row + 1],
                                 [&](LocalId u) { return rows->global ? u < first_id : u >= owned && u < lesser_end; });
        begins[row] = static_cast<EdgeIndex>(found - neighbours);
      }
    });
    subgraph.own_begins = std::move(begins);
  }
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("finding where rows have come to a part's own vertices");
}

std::vector<Subgraph> BuildSubgraphs(const Graph& graph, const Partition& partition, const SubgraphOptions& options) try {
  if (partition.vertices() != graph.vertices() || partition.parts() == 0) {
    Throw<UsageError>("a partition of {} vertices into {} parts was given for a graph of {} vertices", partition.vertices(),
                      partition.parts(), graph.vertices());
  }
  // A single part views the graph, except for merged lists: there is nothing to store.
  const bool merges = options.edges == Edges::kBoth && !graph.symmetric() && (options.forward || options.reverse);
  if (graph.store() == nullptr || (partition.parts() == 1 && !merges)) return Builder(graph, partition, options).Build();
  const std::string key = SubgraphsKey(partition, options);
  std::optional<std::vector<Subgraph>> kept = LoadSubgraphs(graph, partition, key);
  if (!kept) {
    kept = Builder(graph, partition, options).Build();
    SaveSubgraphs(graph, key, *kept);
  }
  if (options.own_begins) AddOwnBegins(*kept, options.threads);
  return *std::move(kept);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("building the devices' parts of a graph");
}

}  // namespace chatty
