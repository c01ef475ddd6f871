#include "chatty/io/vertex_ids.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"

namespace chatty::io {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;
constexpr VertexId kAbsent = kNoVertex;

/// From an id to its place in an ascending list of them: a hash table with linear probing, filled by all threads at once.
class IdTable {
 public:
  IdTable(const Array<std::uint64_t>& ids, int threads)
      : ids_(ids), shift_(64 - std::bit_width(std::max<std::size_t>(2 * ids.size(), 2))) {
    const std::size_t slots = std::size_t{1} << (64 - shift_);
    places_ = Array<VertexId>(slots);
    ParallelFor(slots, threads, [&](std::size_t i) { places_[i] = kAbsent; });
    ParallelFor(ids.size(), threads, [&](std::size_t place) {
      for (std::size_t slot = Slot(ids[place]);; slot = (slot + 1) & (places_.size() - 1)) {
        VertexId expected = kAbsent;
        if (std::atomic_ref(places_[slot]).compare_exchange_strong(expected, static_cast<VertexId>(place))) return;
      }
    });
  }

  VertexId operator[](std::uint64_t id) const {
    for (std::size_t slot = Slot(id);; slot = (slot + 1) & (places_.size() - 1)) {
      const VertexId place = places_[slot];
      if (place == kAbsent || ids_[place] == id) return place;
    }
  }

 private:
  std::size_t Slot(std::uint64_t id) const { return static_cast<std::size_t>((id * 0x9e3779b97f4a7c15u) >> shift_); }

  const Array<std::uint64_t>& ids_;
  int shift_;
  Array<VertexId> places_;
};

/// The ids that occur in the arrays, ascending, each once: blocks are sorted in parallel and lose what they repeat, most of
/// it, before they are merged.
Array<std::uint64_t> Distinct(std::initializer_list<const Array<std::uint64_t>*> arrays, int threads) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<std::vector<std::uint64_t>> blocks;
  std::vector<std::span<const std::uint64_t>> parts;
  for (const Array<std::uint64_t>* array : arrays) {
    for (std::size_t at = 0; at < array->size(); at += kBlock) {
      parts.push_back(array->span().subspan(at, std::min(kBlock, array->size() - at)));
    }
  }
  blocks.resize(parts.size());
  const auto simplify = [](std::vector<std::uint64_t>& ids) { ids.erase(std::unique(ids.begin(), ids.end()), ids.end()); };
  ParallelChunks(parts.size(), threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      blocks[i].assign(parts[i].begin(), parts[i].end());
      std::sort(blocks[i].begin(), blocks[i].end());
      simplify(blocks[i]);
    }
  });
  for (std::size_t step = 1; step < blocks.size(); step *= 2) {
    const std::size_t pairs = (blocks.size() + 2 * step - 1) / (2 * step);
    ParallelChunks(pairs, threads, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t left = i * 2 * step, right = left + step;
        if (right >= blocks.size()) continue;
        std::vector<std::uint64_t> merged(blocks[left].size() + blocks[right].size());
        std::merge(blocks[left].begin(), blocks[left].end(), blocks[right].begin(), blocks[right].end(), merged.begin());
        simplify(merged);
        blocks[left] = std::move(merged);
        blocks[right] = {};
      }
    });
  }
  return blocks.empty() ? Array<std::uint64_t>() : Array<std::uint64_t>(std::span<const std::uint64_t>(blocks[0]));
}

CompactEdges Renumber(const std::string& name, Edges<std::uint64_t> edges, Array<std::uint64_t> ids, int threads) {
  CheckVertexCount(name, ids.size());
  CompactEdges compact;
  compact.ids = std::move(ids);
  const IdTable table(compact.ids, threads);
  const std::size_t count = edges.sources.size();
  compact.list.vertices = static_cast<VertexId>(compact.ids.size());
  compact.list.sources = Array<VertexId>(count);
  compact.list.targets = Array<VertexId>(count);
  ParallelChunks(count, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const VertexId source = table[edges.sources[e]], target = table[edges.targets[e]];
      if (source == kAbsent || target == kAbsent) {
        Throw<InputError>("{}: edge {} of the file goes from {} to {}, but {} is no vertex of the graph", name, e + 1,
                          edges.sources[e], edges.targets[e], source == kAbsent ? edges.sources[e] : edges.targets[e]);
      }
      compact.list.sources[e] = source;
      compact.list.targets[e] = target;
    }
  });
  compact.list.weights = std::move(edges.weights);
  return compact;
}

}  // namespace

CompactEdges CompactIds(const std::string& name, Edges<std::uint64_t> edges, int threads) {
  Array<std::uint64_t> ids = Distinct({&edges.sources, &edges.targets}, threads);
  return Renumber(name, std::move(edges), std::move(ids), threads);
}

CompactEdges CompactIds(const std::string& name, Edges<std::uint64_t> edges, Array<std::uint64_t> vertices, int threads) {
  std::sort(vertices.begin(), vertices.end());
  const std::uint64_t* const twice = std::adjacent_find(vertices.begin(), vertices.end());
  if (twice != vertices.end()) Throw<InputError>("{}: vertex {} is listed twice", name, *twice);
  return Renumber(name, std::move(edges), std::move(vertices), threads);
}

}  // namespace chatty::io
