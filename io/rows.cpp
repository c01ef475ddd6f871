#include "chatty/io/rows.h"

#include <atomic>
#include <bit>
#include <cmath>

#include "chatty/core/logging.h"

namespace chatty::io {
namespace {

constexpr std::size_t kRowsGrain = std::size_t{1} << 16;

}  // namespace

void CheckOffsets(const std::string& name, const Array<EdgeIndex>& offsets, std::uint64_t edges, int threads) {
  const std::size_t vertices = offsets.empty() ? 0 : offsets.size() - 1;
  if (offsets.empty() ? edges != 0 : offsets[0] != 0 || offsets[vertices] != edges) {
    Throw<InputError>("{}: its offsets go from {} to {}, but it has {} edges: the file is damaged", name,
                      offsets.empty() ? 0 : offsets[0], offsets.empty() ? 0 : offsets[vertices], edges);
  }
  ParallelChunks(vertices, threads, kRowsGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (offsets[v] > offsets[v + 1]) {
        Throw<InputError>("{}: the edges of vertex {} end before they begin ({} to {}): the file is damaged", name, v,
                          offsets[v], offsets[v + 1]);
      }
    }
  });
}

void CheckWeights(const std::string& name, const Adjacency& rows, int threads) {
  if (const auto* weights = std::get_if<Array<float>>(&rows.weights)) {
    ParallelChunks(weights->size(), threads, kRowsGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e) {
        if (!std::isfinite((*weights)[e])) {
          Throw<InputError>("{}: the weight of edge {} is not finite; remove the edge or give it a number", name, e);
        }
      }
    });
  }
}

void CheckRows(const std::string& name, const Adjacency& rows, int threads) {
  const std::size_t vertices = rows.offsets.empty() ? 0 : rows.offsets.size() - 1;
  const std::size_t edges = rows.neighbours.size();
  CheckOffsets(name, rows.offsets, edges, threads);
  ParallelChunks(edges, threads, kRowsGrain, [&](std::size_t begin, std::size_t end) {
    VertexId largest = 0;
    for (std::size_t e = begin; e < end; ++e) largest = std::max(largest, rows.neighbours[e]);
    if (begin < end && largest >= vertices) {
      Throw<InputError>("{}: contains vertex {}, but the graph has {} vertices (counted from 0): the file is damaged", name,
                        largest, vertices);
    }
  });
  CheckWeights(name, rows, threads);
}

void WarnOfRoundedWeights(const std::string& name, double extreme) {
  Log().warn(
      "{}: holds integer weights as large as {:.0f}, which do not fit 32 bits; they are read as float32, which rounds "
      "those above 2^24",
      name, extreme);
}

void WarnOfFloatBits(const std::string& name, const Weights& weights, int threads) {
  const auto* const integers = std::get_if<Array<std::int32_t>>(&weights);
  if (integers == nullptr || integers->empty()) return;
  constexpr std::int32_t kMin = 0x2f800000, kMax = 0x4f000000;  // the bits of 2^-32 and 2^31
  std::atomic<bool> others{false}, any{false};
  ParallelChunks(integers->size(), threads, kRowsGrain, [&](std::size_t begin, std::size_t end) {
    bool some = false;
    for (std::size_t e = begin; e < end && !others.load(std::memory_order_relaxed); ++e) {
      const std::int32_t weight = (*integers)[e];
      if (weight != 0 && (weight < kMin || weight > kMax)) others = true;
      some = some || weight != 0;
    }
    if (some) any = true;
  });
  if (others || !any) return;
  Log().warn(
      "{}: its weights are read as int32, and look like float32, the first as {}; the file does not say which they are, and "
      "if "
      "they are, they are wrong here: write the graph in another format",
      name, std::bit_cast<float>((*integers)[0]));
}

IntegerWeights::IntegerWeights(const Adjacency& rows, const std::string& path) {
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&rows.weights)) integers_ = integers->data();
  const auto* reals = std::get_if<Array<float>>(&rows.weights);
  if (reals == nullptr) return;
  reals_ = reals->data();
  ParallelFor(reals->size(), 0, [&](std::size_t e) {
    const float weight = reals_[e];
    if (weight >= -0x1p31f && weight < 0x1p31f && std::trunc(weight) == weight) return;
    const auto next = std::upper_bound(rows.offsets.begin(), rows.offsets.end(), e);
    Throw<UsageError>(
        "{}: weights of this format are 32-bit integers, but the edge from vertex {} to {} (counted from 0) weighs {}; "
        "files that end in .mtx, .el or .chatty keep reals",
        path == "-" ? "standard output" : path, next - rows.offsets.begin() - 1, rows.neighbours[e], weight);
  });
}

}  // namespace chatty::io
