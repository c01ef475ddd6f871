#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/core/cuda.h"
#include "chatty/framework/rename.h"

namespace chatty {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    Rename(LocalId* neighbours, EdgeIndex edges, VertexId first, LocalId owned, const HaloWord* words) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; e < edges; e += stride) {
    const VertexId u = neighbours[e];
    if (u - first < owned) {
      neighbours[e] = static_cast<LocalId>(u - first);
    } else {
      const ulonglong2 word = reinterpret_cast<const ulonglong2*>(words)[u / 64];  // of 16 bytes: one load
      const unsigned below = __popcll(word.x & ((1ull << (u % 64)) - 1));
      neighbours[e] = static_cast<LocalId>(word.y) + below;
    }
  }
}

}  // namespace

void RenameNeighbours(Device& device, LocalId* neighbours, EdgeIndex edges, VertexId first, LocalId owned,
                      const HaloWord* words) {
  if (edges == 0) return;
  const auto most = static_cast<EdgeIndex>(device.info().multiprocessors) * 16;
  const auto blocks = static_cast<unsigned>(std::min<EdgeIndex>((edges + kThreads - 1) / kThreads, most));
  Rename<<<blocks, kThreads, 0, static_cast<cudaStream_t>(device.stream().native())>>>(neighbours, edges, first, owned,
                                                                                       words);
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace chatty
