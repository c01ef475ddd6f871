#include "chatty/io/vertex_ids.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"

namespace chatty::io {
namespace {

/// The distinct ids in the arrays, ascending. Blocks are sorted in parallel and lose their duplicates, which are most of
/// them, before the merge.
Array<std::uint64_t> Distinct(const std::vector<WideEdges>& edges, std::span<const std::uint64_t> more, int threads) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<std::vector<std::uint64_t>> blocks;
  std::vector<std::span<const std::uint64_t>> parts;
  const auto add = [&](std::span<const std::uint64_t> ids) {
    for (std::size_t at = 0; at < ids.size(); at += kBlock)
      parts.push_back(ids.subspan(at, std::min(kBlock, ids.size() - at)));
  };
  add(more);
  for (const WideEdges& piece : edges) {
    add(piece.sources.span());
    add(piece.targets.span());
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

RawGraph Renumber(const std::string& name, std::vector<WideEdges> edges, Array<std::uint64_t> ids, int threads) {
  CheckVertexCount(name, ids.size());
  RawGraph raw;
  raw.vertices = static_cast<VertexId>(ids.size());
  raw.edges.resize(edges.size());
  const IdTable table(ids, threads);
  ParallelChunks(edges.size(), threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      const Array<std::uint64_t> sources = std::move(edges[p].sources),
                                 targets = std::move(edges[p].targets);  // freed at the end of this iteration
      EdgeList& narrow = raw.edges[p];
      const std::size_t count = sources.size();
      narrow.sources = Array<VertexId>(count);
      narrow.targets = Array<VertexId>(count);
      for (std::size_t e = 0; e < count; ++e) {
        narrow.sources[e] = table[sources[e]];
        narrow.targets[e] = table[targets[e]];
      }
      narrow.weights = std::move(edges[p].weights);
    }
  });
  raw.ids = std::move(ids);
  return raw;
}

}  // namespace

IdTable::IdTable(const Array<std::uint64_t>& ids, int threads) : ids_(ids.data()), size_(ids.size()) {
  constexpr std::uint64_t kFew = 4;  // slots per id: the array is then as small as the hash table
  if (size_ == 0) return;
  const std::uint64_t range = ids[size_ - 1] - ids[0];
  if (range == size_ - 1) return;
  kind_ = range / kFew < size_ ? Kind::kFewGaps : Kind::kGaps;
  shift_ = 64 - std::bit_width(std::max<std::size_t>(2 * size_, 2));
  const std::size_t slots = kind_ == Kind::kFewGaps ? static_cast<std::size_t>(range) + 1 : std::size_t{1} << (64 - shift_);
  places_ = Array<VertexId>(slots);
  ParallelFor(slots, threads, [&](std::size_t i) { places_[i] = kNoVertex; });
  ParallelFor(size_, threads, [&](std::size_t place) {
    if (kind_ == Kind::kFewGaps) {
      places_[ids[place] - ids[0]] = static_cast<VertexId>(place);
      return;
    }
    for (std::size_t slot = Slot(ids[place]);; slot = (slot + 1) & (places_.size() - 1)) {
      VertexId expected = kNoVertex;
      if (std::atomic_ref(places_[slot]).compare_exchange_strong(expected, static_cast<VertexId>(place))) return;
    }
  });
}

RawGraph CompactIds(const std::string& name, std::vector<WideEdges> edges, int threads,
                    std::span<const std::uint64_t> more) {
  Array<std::uint64_t> ids = Distinct(edges, more, threads);
  return Renumber(name, std::move(edges), std::move(ids), threads);
}

}  // namespace chatty::io
