#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/row_records.h"

namespace chatty::fused::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    MakeRecords(AdjacencyRef rows, LocalId owned, bool weighted, RowRecord* records) {
  const auto* const weights = static_cast<const std::uint32_t*>(rows.weights);  // bits of int32 or float
  const std::size_t stride = std::size_t{gridDim.x} * kThreads, each = weighted ? 2 : 1;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < owned; i += stride) {
    const auto v = static_cast<LocalId>(i);
    const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
    RowRecord row, weight{};
    if (end - begin > RowRecord::kEdges) {
      row = {{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin >> 32),
              static_cast<std::uint32_t>(end - begin), RowRecord::kLong}};
    } else {
      for (std::uint32_t j = 0; j < RowRecord::kEdges; ++j) {
        const bool there = begin + j < end;
        row.words[j] = there ? rows.neighbours[begin + j] : RowRecord::kNone;
        if (there && weights != nullptr) weight.words[j] = weights[begin + j];
      }
    }
    records[i * each] = row;
    if (weighted) records[i * each + 1] = weight;
  }
}

}  // namespace

RowRecords::RowRecords(const DeviceGraph& graph, bool weighted) {
  Device& device = graph.device();
  const GraphRef& g = graph.ref();
  const std::size_t each = weighted ? 2 : 1;
  records_ = Buffer<RowRecord>(device, g.owned * each);
  if (g.owned == 0) return;
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::min(most, (g.owned + kThreads - 1) / std::size_t{kThreads}));
  MakeRecords<<<blocks, kThreads, 0, static_cast<cudaStream_t>(device.stream().native())>>>(g.forward, g.owned, weighted,
                                                                                            records_.data());
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace chatty::fused::cuda
