#include "chatty/partition/borders.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/core/parallel.h"
#include "chatty/partition/scan.h"

namespace chatty {
namespace {

/// A range of the table of part `part` for part `other`.
struct Piece {
  PartId part = 0, other = 0;
  std::size_t begin = 0, end = 0;
};

void Cut(PartId part, PartId other, std::size_t size, std::size_t step, std::vector<Piece>& pieces) {
  for (std::size_t begin = 0; begin < size; begin += step) {
    pieces.push_back({part, other, begin, std::min(size, begin + step)});
  }
}

/// Calls body(piece) for all pieces, in chunks of about `step` entries: a chunk may have a hundred small pieces.
template <class Body>
void ForEachPiece(const std::vector<Piece>& pieces, std::size_t step, int threads, Body&& body) {
  std::size_t entries = 0;
  for (const Piece& piece : pieces) entries += piece.end - piece.begin;
  ParallelChunks(pieces.size(), threads, pieces.size() / (entries / step + 1) + 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) body(pieces[i]);
  });
}

}  // namespace

void BuildBorders(std::span<Subgraph> all, const Partition& partition, int threads) {
  using detail::ExclusiveScan, detail::kVertexGrain, detail::MarkSet, detail::Scan;
  const PartId parts = partition.parts();
  std::vector<Piece> pieces;  // of border[other] of `part`
  // One set of marks for all owned vertices. Each part's marks begin at a word boundary.
  std::vector<std::size_t> first_word(std::size_t{parts} + 1);
  for (PartId p = 0; p < parts; ++p) {
    Subgraph& s = all[p];
    first_word[p + 1] = first_word[p] + MarkSet::Words(s.owned);
    s.border.resize(parts);
    s.border_to_union.resize(parts);
    s.union_to_halo.resize(parts);
    for (PartId q = 0; q < parts; ++q) {
      s.border[q] = Array<LocalId>(all[q].halo_count(p));
      s.border_to_union[q] = Array<LocalId>(s.border[q].size());
      Cut(p, q, s.border[q].size(), kVertexGrain, pieces);
    }
  }
  if (pieces.empty()) return;  // the unions are also empty

  MarkSet marks(first_word[parts] * 64, threads);
  ForEachPiece(pieces, kVertexGrain, threads, [&](const Piece& piece) {
    const Subgraph& holder = all[piece.other];
    const VertexId* const halo = holder.global_ids.data() + holder.halo_begin[piece.part];
    const VertexId first = partition.Global(piece.part, 0);
    LocalId* const border = all[piece.part].border[piece.other].data();
    for (std::size_t i = piece.begin; i < piece.end; ++i) {
      border[i] = partition.contiguous() ? static_cast<LocalId>(halo[i] - first) : partition.Local(halo[i]);
      marks.Add(first_word[piece.part] * 64 + border[i]);
    }
  });

  // Rank among all marks: the marks in earlier words, plus the lower ones in the same word.
  const Scan before = ExclusiveScan(first_word[parts], threads, [&](std::size_t w) -> EdgeIndex {
    return static_cast<EdgeIndex>(std::popcount(marks.word(w)));
  });
  std::vector<Piece> words;
  for (PartId p = 0; p < parts; ++p) {
    all[p].border_union = Array<LocalId>(before.sums[first_word[p + 1]] - before.sums[first_word[p]]);
    Cut(p, p, first_word[p + 1] - first_word[p], kVertexGrain / 64, words);
  }
  ForEachPiece(words, kVertexGrain / 64, threads, [&](const Piece& piece) {
    const std::size_t base = first_word[piece.part];
    LocalId* next = all[piece.part].border_union.data() + (before.sums[base + piece.begin] - before.sums[base]);
    marks.ForEach(base + piece.begin, base + piece.end,
                  [&](std::size_t i) { *next++ = static_cast<LocalId>(i - base * 64); });
  });
  ForEachPiece(pieces, kVertexGrain, threads, [&](const Piece& piece) {
    const std::size_t base = first_word[piece.part];
    const LocalId* const border = all[piece.part].border[piece.other].data();
    LocalId* const position = all[piece.part].border_to_union[piece.other].data();
    for (std::size_t i = piece.begin; i < piece.end; ++i) {
      const std::size_t word = base + border[i] / 64;
      const std::uint64_t below = marks.word(word) & ((std::uint64_t{1} << (border[i] % 64)) - 1);
      position[i] = static_cast<LocalId>(before.sums[word] - before.sums[base]) + static_cast<LocalId>(std::popcount(below));
    }
  });

  std::vector<Piece> unions;  // of union_to_halo[other] of `part`
  for (PartId q = 0; q < parts; ++q) {
    for (PartId p = 0; p < parts; ++p) {
      if (p == q) continue;
      all[q].union_to_halo[p] = Array<LocalId>(all[p].border_union.size());
      Cut(q, p, all[p].border_union.size(), kVertexGrain, unions);
    }
  }
  ForEachPiece(unions, kVertexGrain, threads, [&](const Piece& piece) {
    Subgraph& holder = all[piece.part];
    const Array<LocalId>& position = all[piece.other].border_to_union[piece.part];  // ascending, as border is
    const LocalId halo_begin = holder.halo_begin[piece.other];
    LocalId* const to_halo = holder.union_to_halo[piece.other].data();
    auto i = static_cast<std::size_t>(std::lower_bound(position.begin(), position.end(), piece.begin) - position.begin());
    for (std::size_t j = piece.begin; j < piece.end; ++j) {
      const bool held = i < position.size() && position[i] == j;
      to_halo[j] = held ? halo_begin + static_cast<LocalId>(i++) : kNoLocal;
    }
  });
}

}  // namespace chatty
