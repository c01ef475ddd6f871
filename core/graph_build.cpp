// From arcs in any order to rows.
//
// Three passes: count the arcs of each bucket, a range of rows; scatter the arcs into their buckets; order each bucket
// in cache. The source is read twice, in blocks, and every block knows from the counts where its arcs go, so neither
// pass needs an atomic and the arcs of a bucket keep the order of the source. Memory of a pass's input goes back as it
// is consumed.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/graph_detail.h"
#include "chatty/core/parallel.h"
#include "chatty/core/progress.h"

namespace chatty {
namespace {

using detail::Arc;
using detail::LighterArc;
using detail::WeightCount;
using detail::WeightReader;
using detail::WithWeightType;

/// Gives the whole pages inside [begin, begin + bytes) back to the system; their contents are lost. The range stays
/// owned and is freed as usual. Lets the output of a pass grow into the memory that its input shrinks out of.
void ReleasePages(void* begin, std::size_t bytes) {
#ifdef __linux__
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t kWorthwhile = std::size_t{32} << 10;
  if (bytes < kWorthwhile) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + page - 1) / page * page;
  const std::uintptr_t last = (address + bytes) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
  (void)begin;
  (void)bytes;
#endif
}

/// At most so many blocks are handed to threads: each has a cursor for each bucket.
constexpr std::size_t kMaxBlocks = 512;
constexpr std::size_t kBlockItems = std::size_t{1} << 17;  // at least, of what can be cut anywhere

/// Arcs of an edge list in pieces: loops dropped and reverse edges added if so asked for.
template <class W>
class ListSource {
 public:
  ListSource(VertexId vertices, std::vector<EdgeList>& pieces, const BuildOptions& options)
      : vertices_(vertices), pieces_(pieces), symmetrise_(options.symmetrise), remove_loops_(options.remove_loops) {
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const std::size_t items = pieces[p].sources.size();
      if (items == 0) continue;
      const std::size_t cuts = std::clamp<std::size_t>(items / kBlockItems, 1, kMaxBlocks);
      for (std::size_t c = 0; c < cuts; ++c) {
        const auto cut = [&](std::size_t i) { return items / cuts * i + std::min(i, items % cuts); };
        ranges_.push_back({p, cut(c), cut(c + 1), size_ + cut(c)});
      }
      size_ += items;
    }
  }

  std::size_t size() const { return size_; }
  std::size_t max_arcs() const { return symmetrise_ ? 2 * size() : size(); }
  EdgeIndex loops() const { return loops_.load(std::memory_order_relaxed); }

  std::size_t blocks() const { return std::clamp<std::size_t>(ranges_.size(), 1, kMaxBlocks); }
  std::size_t items(std::size_t block) const {
    std::size_t count = 0;
    ForRanges(block, [&](const Range& range) { count += range.end - range.begin; });
    return count;
  }

  /// Checks the entries of a block and counts their loops.
  void Check(std::size_t block) {
    ForRanges(block, [&](const Range& range) {
      const VertexId* const sources = pieces_[range.piece].sources.data();
      const VertexId* const targets = pieces_[range.piece].targets.data();
      VertexId largest = 0;
      std::size_t loops = 0;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        largest = std::max(largest, std::max(sources[i], targets[i]));
        loops += sources[i] == targets[i];
      }
      loops_.fetch_add(loops, std::memory_order_relaxed);
      if (largest < vertices_) return;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (sources[i] >= vertices_ || targets[i] >= vertices_) {
          Throw<InputError>("edge {} of the list ({} -> {}, counting from 0) leaves the graph: it has {} vertices",
                            range.before + i - range.begin, sources[i], targets[i], vertices_);
        }
      }
    });
  }

  template <class Emit>
  void Visit(std::size_t block, Emit&& emit) const {
    ForRanges(block, [&](const Range& range) {
      const VertexId* const sources = pieces_[range.piece].sources.data();
      const VertexId* const targets = pieces_[range.piece].targets.data();
      const WeightReader<W> weights(pieces_[range.piece].weights);
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const VertexId u = sources[i];
        const VertexId v = targets[i];
        if (u == v) {
          if (!remove_loops_) emit(u, v, weights[i]);
          continue;
        }
        emit(u, v, weights[i]);
        if (symmetrise_) emit(v, u, weights[i]);
      }
    });
  }

  void Release(std::size_t block) {
    ForRanges(block, [&](const Range& range) {
      EdgeList& piece = pieces_[range.piece];
      ReleaseEntries(piece.sources, range);
      ReleaseEntries(piece.targets, range);
      std::visit(
          [&](auto& weights) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) ReleaseEntries(weights, range);
          },
          piece.weights);
    });
  }
  void Free() { pieces_.clear(); }

 private:
  struct Range {
    std::size_t piece, begin, end;
    std::size_t before;  // entries of the whole list before it
  };

  template <class Body>
  void ForRanges(std::size_t block, Body&& body) const {
    const std::size_t first = ranges_.size() * block / blocks(), last = ranges_.size() * (block + 1) / blocks();
    for (std::size_t r = first; r < last; ++r) body(ranges_[r]);
  }
  template <class T>
  static void ReleaseEntries(Array<T>& array, const Range& range) {
    ReleasePages(array.data() + range.begin, (range.end - range.begin) * sizeof(T));
  }

  const VertexId vertices_;
  std::vector<EdgeList>& pieces_;
  const bool symmetrise_;
  const bool remove_loops_;
  std::vector<Range> ranges_;  // of all pieces, in order
  std::size_t size_ = 0;
  std::atomic<EdgeIndex> loops_{0};
};

/// The reversed arcs of an adjacency, which stays as it is.
template <class W>
class TransposeSource {
 public:
  explicit TransposeSource(const Adjacency& adjacency) : adjacency_(adjacency), weights_(adjacency.weights) {}

  std::size_t size() const { return adjacency_.neighbours.size(); }
  std::size_t max_arcs() const { return size(); }
  std::size_t blocks() const { return std::clamp<std::size_t>(size() / kBlockItems, 1, kMaxBlocks); }
  std::size_t items(std::size_t block) const { return Begin(block + 1) - Begin(block); }
  void Check(std::size_t) {}

  template <class Emit>
  void Visit(std::size_t block, Emit&& emit) const {
    const std::size_t begin = Begin(block), end = Begin(block + 1);
    const Array<EdgeIndex>& offsets = adjacency_.offsets;
    // The last vertex whose list begins at or before `begin`.
    auto v = static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), begin) - offsets.begin()) - 1;
    for (std::size_t i = begin; i < end; ++v) {
      const std::size_t stop = std::min<std::size_t>(end, offsets[v + 1]);
      for (; i < stop; ++i) emit(adjacency_.neighbours[i], static_cast<VertexId>(v), weights_[i]);
    }
  }

  void Release(std::size_t) {}
  void Free() {}

 private:
  std::size_t Begin(std::size_t block) const { return size() / blocks() * block + std::min(block, size() % blocks()); }

  const Adjacency& adjacency_;
  WeightReader<W> weights_;
};

/// What one thread needs to order buckets.
template <class W>
struct BucketScratch {
  Array<Arc<W>> arcs;
  Array<EdgeIndex> starts;
  Array<EdgeIndex> digits;

  template <class T>
  static T* AtLeast(Array<T>& array, std::size_t size) {
    if (array.size() < size) {
      array = Array<T>();  // before the new one is made, so that the two never coexist
      array = Array<T>(size);
    }
    return array.data();
  }
};

/// Sorts `arcs` stably by neighbour, least significant digit first, in an even number of passes between `arcs` and
/// `other`: the result is in `arcs` again. `id_bits` is the width of the largest id.
template <class W>
void RadixSortByNeighbour(Arc<W>* arcs, Arc<W>* other, std::size_t count, int id_bits, BucketScratch<W>& scratch) {
  constexpr int kMaxDigit = 12;  // 2^12 counters fill a first-level cache
  int passes = 2;
  while ((id_bits + passes - 1) / passes > kMaxDigit) passes += 2;
  const int digit = (id_bits + passes - 1) / passes;
  const std::size_t values = std::size_t{1} << digit;
  EdgeIndex* const counts = scratch.AtLeast(scratch.digits, values * static_cast<std::size_t>(passes));
  std::fill_n(counts, values * static_cast<std::size_t>(passes), 0);
  for (std::size_t i = 0; i < count; ++i) {
    VertexId rest = arcs[i].neighbour;
    for (int pass = 0; pass < passes; ++pass, rest >>= digit) {
      ++counts[static_cast<std::size_t>(pass) * values + (rest & (values - 1))];
    }
  }
  for (int pass = 0; pass < passes; ++pass) {
    EdgeIndex* const next = counts + static_cast<std::size_t>(pass) * values;
    std::exclusive_scan(next, next + values, next, EdgeIndex{0});
    const int shift = pass * digit;
    for (std::size_t i = 0; i < count; ++i) other[next[(arcs[i].neighbour >> shift) & (values - 1)]++] = arcs[i];
    std::swap(arcs, other);
  }
}

/// Whether each row's arcs come by ascending neighbour, as those of a file do whose edges are in order, and both ways of
/// edges that it lists once by their lesser end. Ends at the first that do not. `last`: room for so many rows.
template <class W>
bool RowsAscend(const Arc<W>* arcs, std::size_t count, VertexId first_row, std::size_t rows, EdgeIndex* last) {
  std::fill_n(last, rows, 0);
  for (std::size_t i = 0; i < count; ++i) {
    EdgeIndex& before = last[arcs[i].row - first_row];
    if (arcs[i].neighbour < before) return false;
    before = arcs[i].neighbour;
  }
  return true;
}

/// Orders the arcs of one bucket by row, neighbour and weight, merges parallel ones if asked to, and leaves at the
/// front of the bucket's own memory the neighbours and, `count` ids further, the weights. Writes where each row begins
/// within the bucket to `offsets`. Returns how many arcs are left.
template <class W>
std::size_t OrderBucket(Arc<W>* arcs, std::size_t count, VertexId first_row, std::size_t rows, int id_bits, bool sorted,
                        bool merge, EdgeIndex* offsets, BucketScratch<W>& scratch) {
  Arc<W>* const ordered = scratch.AtLeast(scratch.arcs, count);
  // Dense rows: sort the whole bucket by neighbour, then deal it out stably to rows. Sparse ones: deal out, then sort
  // lists.
  EdgeIndex* const starts = scratch.AtLeast(scratch.starts, rows + 2);
  const bool ascending = !sorted && RowsAscend(arcs, count, first_row, rows, starts);
  const bool radix = !sorted && !ascending && count >= 4096 && count / rows >= 4;
  if (radix) RadixSortByNeighbour(arcs, ordered, count, id_bits, scratch);

  // Counting row r at r + 2 makes starts[r + 1] row r's cursor while dealing, and leaves starts[r], starts[r + 1] its
  // bounds.
  std::fill_n(starts, rows + 2, 0);
  for (std::size_t i = 0; i < count; ++i) ++starts[arcs[i].row - first_row + 2];
  std::inclusive_scan(starts, starts + rows + 2, starts);
  for (std::size_t i = 0; i < count; ++i) ordered[starts[arcs[i].row - first_row + 1]++] = arcs[i];

  auto* const ids = reinterpret_cast<VertexId*>(arcs);
  [[maybe_unused]] auto* const weights = reinterpret_cast<W*>(ids + count);
  std::size_t kept = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    offsets[r] = kept;
    Arc<W>* const begin = ordered + starts[r];
    Arc<W>* const end = ordered + starts[r + 1];
    if (!sorted && !ascending && !radix) std::sort(begin, end, LighterArc<W>{});
    for (Arc<W>* run = begin; run != end;) {
      Arc<W>* run_end = run + 1;
      while (run_end != end && run_end->neighbour == run->neighbour) ++run_end;
      if ((ascending || radix) && !std::is_same_v<W, None> && run_end - run > 1) std::sort(run, run_end, LighterArc<W>{});
      for (Arc<W>* arc = run; arc != (merge ? run + 1 : run_end); ++arc, ++kept) {
        ids[kept] = arc->neighbour;
        if constexpr (!std::is_same_v<W, None>) weights[kept] = arc->weight;
      }
      run = run_end;
    }
  }
  return kept;
}

/// Makes rows of a source's arcs. `sorted`: the source gives each row's arcs in their final order already. `merged` is
/// set to how many arcs were merged into others.
template <class W, class Source>
Adjacency BuildRows(VertexId vertices, Source& source, bool sorted, bool merge, int threads, EdgeIndex& merged) {
  constexpr std::size_t kLine = 8;  // arcs that a thread gathers for a bucket before it writes them out together
  threads = ThreadCount(threads);

  // Buckets small enough to be ordered in a second-level cache, yet not more than the scatter can keep a line each of.
  const int id_bits = vertices == 0 ? 0 : static_cast<int>(std::bit_width(vertices - 1));
  const std::size_t load = std::max<std::size_t>(source.max_arcs(), vertices);
  const int bucket_bits = std::min({static_cast<int>(std::bit_width(load >> 15)), id_bits, 12});
  const int shift = std::min(id_bits - bucket_bits, CHATTY_VERTEX_BITS - 1);
  const std::size_t buckets = vertices == 0 ? 0 : static_cast<std::size_t>((vertices - 1) >> shift) + 1;
  const std::size_t items = source.size();
  const std::size_t blocks = source.blocks();

  Progress progress("Sorting edges", 2 * items + source.max_arcs());

  Array<EdgeIndex> cursors(blocks * buckets);  // first counts, then where a block's arcs of a bucket go
  ParallelChunks(blocks, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      EdgeIndex* const counts = cursors.data() + block * buckets;
      source.Check(block);
      std::fill_n(counts, buckets, 0);
      source.Visit(block, [&](VertexId row, VertexId, W) { ++counts[row >> shift]; });
      progress.Advance(source.items(block));
    }
  });

  Array<EdgeIndex> bucket_starts(buckets + 1, 0);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t b = 0; b < buckets; ++b) bucket_starts[b + 1] += cursors[block * buckets + b];
  }
  std::inclusive_scan(bucket_starts.begin(), bucket_starts.end(), bucket_starts.begin());
  {
    Array<EdgeIndex> next = bucket_starts.Clone();
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::size_t b = 0; b < buckets; ++b) next[b] += std::exchange(cursors[block * buckets + b], next[b]);
    }
  }

  const EdgeIndex total = bucket_starts[buckets];
  Array<Arc<W>> arcs(total);
  struct Gather {
    Array<Arc<W>> lines;
    Array<std::uint8_t> fill;
  };
  ParallelChunksWithState(
      blocks, threads, 1,
      [&] {
        return Gather{Array<Arc<W>>(buckets * kLine), Array<std::uint8_t>(buckets, 0)};
      },
      [&](Gather& gather, std::size_t first, std::size_t last) {
        for (std::size_t block = first; block < last; ++block) {
          EdgeIndex* const cursor = cursors.data() + block * buckets;
          source.Visit(block, [&](VertexId row, VertexId neighbour, W weight) {
            const auto b = static_cast<std::size_t>(row >> shift);
            Arc<W>* const line = gather.lines.data() + b * kLine;
            line[gather.fill[b]++] = Arc<W>{row, neighbour, weight};
            if (gather.fill[b] == kLine) {
              std::memcpy(arcs.data() + cursor[b], line, kLine * sizeof(Arc<W>));
              cursor[b] += kLine;
              gather.fill[b] = 0;
            }
          });
          for (std::size_t b = 0; b < buckets; ++b) {
            std::copy_n(gather.lines.data() + b * kLine, gather.fill[b], arcs.data() + cursor[b]);
            gather.fill[b] = 0;
          }
          source.Release(block);
          progress.Advance(source.items(block));
        }
      });
  source.Free();
  cursors = Array<EdgeIndex>();

  // Largest first: one heavy bucket begun last would keep all other threads waiting.
  Array<std::size_t> order(buckets);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto bucket_size = [&](std::size_t b) { return static_cast<std::size_t>(bucket_starts[b + 1] - bucket_starts[b]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bucket_size(a) != bucket_size(b) ? bucket_size(a) > bucket_size(b) : a < b;
  });
  const auto row_begin = [&](std::size_t b) { return std::min<std::size_t>(b << shift, vertices); };

  Adjacency result;
  result.offsets = Array<EdgeIndex>(static_cast<std::size_t>(vertices) + 1);
  Array<EdgeIndex> kept_starts(buckets + 1);
  kept_starts[0] = 0;
  ParallelChunksWithState(
      buckets, threads, 1, [] { return BucketScratch<W>{}; },
      [&](BucketScratch<W>& scratch, std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          const std::size_t b = order[i];
          const std::size_t count = bucket_size(b);
          Arc<W>* const bucket = arcs.data() + bucket_starts[b];
          const std::size_t kept =
              OrderBucket(bucket, count, static_cast<VertexId>(row_begin(b)), row_begin(b + 1) - row_begin(b), id_bits,
                          sorted, merge, result.offsets.data() + row_begin(b), scratch);
          kept_starts[b + 1] = kept;
          const std::size_t used = count * sizeof(VertexId) + (std::is_same_v<W, None> ? 0 : kept * sizeof(W));
          ReleasePages(reinterpret_cast<std::byte*>(bucket) + used, count * sizeof(Arc<W>) - used);
          progress.Advance(count);
        }
      });
  std::inclusive_scan(kept_starts.begin(), kept_starts.end(), kept_starts.begin());

  const EdgeIndex kept = kept_starts[buckets];
  merged = total - kept;
  result.neighbours = Array<VertexId>(kept);
  if constexpr (!std::is_same_v<W, None>) result.weights = Array<W>(kept);
  result.offsets[vertices] = kept;
  ParallelChunks(buckets, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      const EdgeIndex start = kept_starts[b];
      const auto size = static_cast<std::size_t>(kept_starts[b + 1] - start);
      for (std::size_t r = row_begin(b); r < row_begin(b + 1); ++r) result.offsets[r] += start;
      Arc<W>* const bucket = arcs.data() + bucket_starts[b];
      const auto* const ids = reinterpret_cast<const VertexId*>(bucket);
      std::copy_n(ids, size, result.neighbours.data() + start);
      if constexpr (!std::is_same_v<W, None>) {
        std::copy_n(reinterpret_cast<const W*>(ids + bucket_size(b)), size,
                    std::get<Array<W>>(result.weights).data() + start);
      }
      ReleasePages(bucket, bucket_size(b) * sizeof(Arc<W>));
    }
  });
  return result;
}

}  // namespace

inline namespace CHATTY_ABI {

Adjacency BuildAdjacency(VertexId vertices, std::vector<EdgeList> pieces, const BuildOptions& options, BuildReport* report) {
  std::size_t given = 0;
  WeightKind kind = pieces.empty() ? WeightKind::kNone : KindOf(pieces.front().weights);
  for (const EdgeList& piece : pieces) {
    const std::size_t edges = piece.sources.size();
    const WeightKind own = KindOf(piece.weights);
    if (piece.targets.size() != edges || (own != WeightKind::kNone && WeightCount(piece.weights) != edges) ||
        (own == WeightKind::kNone) != (kind == WeightKind::kNone)) {
      Throw<InputError>("an edge list has {} sources, {} targets and {} weights; they must be as many", edges,
                        piece.targets.size(), WeightCount(piece.weights));
    }
    if (own == WeightKind::kFloat32) kind = own;
    given += edges;
  }
  return WithWeightType(kind, [&](auto type) {
    using W = decltype(type);
    ListSource<W> source(vertices, pieces, options);
    EdgeIndex merged = 0;
    Adjacency adjacency = BuildRows<W>(vertices, source, /*sorted=*/false, options.merge_parallel, options.threads, merged);
    if (report != nullptr) {
      report->edges_given = given;
      report->loops_removed = options.remove_loops ? source.loops() : 0;
      report->parallel_merged = merged;
      report->edges_kept = adjacency.neighbours.size();
    }
    return adjacency;
  });
}

Adjacency BuildAdjacency(EdgeList list, const BuildOptions& options, BuildReport* report) {
  const VertexId vertices = list.vertices;
  std::vector<EdgeList> pieces;
  pieces.push_back(std::move(list));
  return BuildAdjacency(vertices, std::move(pieces), options, report);
}

Graph BuildGraph(EdgeList list, const BuildOptions& options, BuildReport* report) try {
  return Graph(BuildAdjacency(std::move(list), options, report), options.symmetrise || options.assume_symmetric);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("building a graph");
}

Adjacency Transpose(VertexId vertices, const Adjacency& adjacency, int threads) {
  return WithWeightType(KindOf(adjacency.weights), [&](auto type) {
    using W = decltype(type);
    TransposeSource<W> source(adjacency);
    EdgeIndex merged = 0;
    return BuildRows<W>(vertices, source, /*sorted=*/true, /*merge=*/false, threads, merged);
  });
}

}  // namespace CHATTY_ABI
}  // namespace chatty
