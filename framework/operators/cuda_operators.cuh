/// \file
/// Operators on a GPU.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>

#include "chatty/core/cuda.h"
#include "chatty/framework/operators/device_operators.h"
#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty {
namespace operators::cuda {

using steps::cuda::kBlock;
using steps::cuda::kFull;
using steps::cuda::kWarps;

template <class F>
__global__ void __launch_bounds__(kBlock) For(std::size_t n, F f) {
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += std::size_t{gridDim.x} * kBlock) f(i);
}

/// Makes ForEachEdge process the rows of all owned vertices.
struct AllOwned {
  LocalId owned;
  __device__ LocalId size() const { return owned; }
  __device__ LocalId operator[](std::size_t i) const { return static_cast<LocalId>(i); }
};
/// Makes ForEachEdge process the rows of a list of vertices.
struct Listed {
  const LocalId* list;
  const LocalId* count;
  __device__ LocalId size() const { return *count; }
  __device__ LocalId operator[](std::size_t i) const { return list[i]; }
};

/// Concatenates the rows of a warp's vertices; the whole warp processes longer rows; hubs remain as slices. The second check
/// of `skip` follows the first edges of all rows of a warp.
template <class Vertices, class Skip, class F>
__global__ void __launch_bounds__(kBlock)
    ForEachEdge(GraphRef graph, Vertices vertices, Skip skip, F f, Slice* slices, std::uint32_t* slice_count) {
  __shared__ EdgeIndex row_begin[kBlock];
  constexpr EdgeIndex kFirst = kCheckAfter<Skip>;
  const AdjacencyRef rows = graph.forward;
  const unsigned t = threadIdx.x, lane = steps::cuda::Lane(), warp = steps::cuda::Warp();
  const std::size_t size = vertices.size();
  for (std::size_t base = std::size_t{blockIdx.x} * kBlock + warp * 32; base < size;
       base += std::size_t{gridDim.x} * kBlock) {
    const std::size_t i = base + lane;
    LocalId v = 0;
    EdgeIndex begin = 0, count = 0;
    if (i < size) {
      v = vertices[i];
      begin = rows.offsets[v];
      const EdgeIndex skipped = skip(v);  // before the degree, so that the check need not wait for it
      const EdgeIndex degree = rows.offsets[v + 1] - begin;
      if (skipped < degree) {
        begin += skipped;
        count = degree - skipped;
      }
    }
    if (!__any_sync(kFull, count != 0)) continue;
    const auto lay = [&](EdgeIndex edges) {
      row_begin[t] = begin;
      const steps::cuda::WarpRows laid(static_cast<unsigned>(edges));
      __syncwarp();
      for (unsigned k = 0; k < laid.total(); k += 32) {
        unsigned place;
        const unsigned owner = laid.Owner(k + lane, &place);
        if (k + lane < laid.total()) {
          const EdgeIndex e = row_begin[warp * 32 + owner] + place;
          f(vertices[base + owner], rows.neighbours[e], e);
        }
        __syncwarp();
      }
    };
    if constexpr (kFirst > 0) {
      const EdgeIndex few = count < kFirst ? count : kFirst;
      lay(few);
      begin += few;
      count -= few;
      if (count != 0 && skip.Settled(v)) count = 0;
      if (!__any_sync(kFull, count != 0)) continue;
    }
    if (count >= kHubDegree) {
      steps::cuda::CutIntoSlices(slices, slice_count, v, rows.degree(v));
      count = 0;
    }
    unsigned wide = __ballot_sync(kFull, count >= steps::cuda::kWarpDegree);
    while (wide != 0) {
      const unsigned owner = __ffs(wide) - 1;
      wide &= wide - 1;
      const EdgeIndex first = __shfl_sync(kFull, begin, owner), last = first + __shfl_sync(kFull, count, owner);
      const LocalId source = vertices[base + owner];
      for (EdgeIndex e = first + lane; e < last; e += 32) f(source, rows.neighbours[e], e);
      __syncwarp();
    }
    lay(count < steps::cuda::kWarpDegree ? count : 0);
  }
}
template <class Skip, class F>
__global__ void __launch_bounds__(kBlock)
    ForEachSlicedEdge(GraphRef graph, Skip skip, F f, const Slice* slices, const std::uint32_t* slice_count) {
  const AdjacencyRef rows = graph.forward;
  for (std::uint32_t i = blockIdx.x; i < *slice_count; i += gridDim.x) {
    const Slice slice = slices[i];
    const EdgeIndex row = rows.offsets[slice.vertex], row_end = rows.offsets[slice.vertex + 1];
    const EdgeIndex from = row + skip(slice.vertex) + kCheckAfter<Skip>, begin = row + slice.index * kSliceEdges;
    const EdgeIndex end = begin + kSliceEdges < row_end ? begin + kSliceEdges : row_end;
    for (EdgeIndex e = (begin < from ? from : begin) + threadIdx.x; e < end; e += kBlock)
      f(slice.vertex, rows.neighbours[e], e);
  }
}

template <class F>
__global__ void __launch_bounds__(kBlock) ForEachNeighbourPair(GraphRef graph, F f) {
  const AdjacencyRef rows = graph.forward;
  for (std::size_t i = std::size_t{blockIdx.x} * kWarps + steps::cuda::Warp(); i < graph.owned;
       i += std::size_t{gridDim.x} * kWarps) {
    const auto v = static_cast<LocalId>(i);
    const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
    for (EdgeIndex a = begin; a < end; ++a) {
      for (EdgeIndex b = a + 1 + steps::cuda::Lane(); b < end; b += 32) f(v, rows.neighbours[a], rows.neighbours[b]);
    }
  }
}

/// The threads of one call of ForEachGroup: a block of kThreads. See operators::host::ThreadGroup for the members.
template <unsigned kThreads>
class ThreadGroup {
 public:
  static constexpr bool kMany = true;
  static constexpr unsigned kRowThreads = 1;

  // Host code cannot name threads; it is compiled but never called.
#if CHATTY_DEVICE_CODE
#define CHATTY_IN_KERNEL(value) return value
#else
#define CHATTY_IN_KERNEL(value) \
  return {}
#endif
  CHATTY_FN std::size_t index() const { CHATTY_IN_KERNEL(blockIdx.x); }
  CHATTY_FN unsigned thread() const { CHATTY_IN_KERNEL(threadIdx.x); }
  CHATTY_FN unsigned warp() const { CHATTY_IN_KERNEL(threadIdx.x / 32); }
  CHATTY_FN unsigned lane() const { CHATTY_IN_KERNEL(threadIdx.x % 32); }
#undef CHATTY_IN_KERNEL
  template <class T>
  CHATTY_FN T* Scratch() const {
#if CHATTY_DEVICE_CODE
    extern __shared__ __align__(16) unsigned char group_scratch[];
    return reinterpret_cast<T*>(group_scratch);
#else
    return nullptr;
#endif
  }
  CHATTY_FN void Sync() const {
#if CHATTY_DEVICE_CODE
    __syncthreads();
#endif
  }
  CHATTY_FN std::uint32_t SumOfWarp(std::uint32_t value) const {
#if CHATTY_DEVICE_CODE
    for (unsigned d = 16; d > 0; d /= 2) value += __shfl_xor_sync(kFull, value, d);
#endif
    return value;
  }
  template <class T>
  CHATTY_FN T OfFirstLane(const T& value) const {
#if CHATTY_DEVICE_CODE
    return steps::cuda::Shuffle(value, 0);
#else
    return value;
#endif
  }
  template <class T, class Add>
  CHATTY_FN T SumOfWarp(T value, Add add) const {
#if CHATTY_DEVICE_CODE
    for (unsigned d = 16; d > 0; d /= 2) {
      // Both lanes of a pair add in the same order, so that all lanes have the same sum to the bit.
      const T other = steps::cuda::Shuffle(value, steps::cuda::Lane() ^ d);
      T sum = (steps::cuda::Lane() & d) != 0 ? other : value;
      add(sum, (steps::cuda::Lane() & d) != 0 ? value : other);
      value = sum;
    }
#endif
    return value;
  }
  template <unsigned kLanes, class T, class Add>
  CHATTY_FN T SumOfLanes(T value, Add add) const {
#if CHATTY_DEVICE_CODE
    if constexpr (kLanes > 1) {
      const unsigned lane = steps::cuda::Lane(), mask = ((kLanes == 32 ? 0 : 1u << kLanes) - 1) << (lane & ~(kLanes - 1));
      for (unsigned d = kLanes / 2; d > 0; d /= 2) {
        const T other = steps::cuda::Shuffle(value, lane ^ d, mask);
        T sum = (lane & d) != 0 ? other : value;  // both lanes of a pair add in the same order
        add(sum, (lane & d) != 0 ? value : other);
        value = sum;
      }
    }
#endif
    return value;
  }
  CHATTY_FN std::uint32_t AppendIndex(bool appends, std::uint32_t* count) const {
#if CHATTY_DEVICE_CODE
    const unsigned mask = __ballot_sync(kFull, appends);
    if (mask == 0) return 0;
    unsigned first = 0;
    if (lane() == 0) first = atomicAdd(count, __popc(mask));
    return __shfl_sync(kFull, first, 0) + __popc(mask & ((1u << lane()) - 1));
#else
    return 0;
#endif
  }
  template <class T, class Add>
  CHATTY_FN T Sum(T value, Add add) const {
#if CHATTY_DEVICE_CODE
    __shared__ steps::cuda::SharedArray<T, warps()> temp_storage;
    value = SumOfWarp(value, add);
    __syncthreads();  // all threads have read the previous contents
    if (lane() == 0) temp_storage[warp()] = value;
    __syncthreads();
    value = temp_storage[0];
    for (unsigned w = 1; w < warps(); ++w) add(value, temp_storage[w]);
#endif
    return value;
  }
  CHATTY_FN static constexpr unsigned threads() { return kThreads; }
  CHATTY_FN static constexpr unsigned warps() { return kThreads / 32; }
  CHATTY_FN static constexpr unsigned lanes() { return 32; }
};

/// The blocks of a cooperative launch. See operators::host::Grid for the members.
class Grid {
 public:
#if CHATTY_DEVICE_CODE
  CHATTY_FN std::size_t rank() const { return blockIdx.x; }
  CHATTY_FN std::size_t size() const { return gridDim.x; }
  CHATTY_FN void Sync() const {
    if (gridDim.x == 1) {
      __syncthreads();
    } else {
      cooperative_groups::this_grid().sync();
    }
  }
#else
  CHATTY_FN std::size_t rank() const { return 0; }
  CHATTY_FN std::size_t size() const { return 1; }
  CHATTY_FN void Sync() const {}
#endif
};

template <class F>
__global__ void __launch_bounds__(kBlock) Cooperative(F f) {
  f(ThreadGroup<kBlock>{}, Grid{});
}

/// Threads of a block with scratch: two such blocks have as many threads as an SM can hold.
inline constexpr unsigned kWideBlock = 1024;

template <unsigned kThreads, class F>
__global__ void __launch_bounds__(kThreads, kThreads == kWideBlock ? 2 : 1) ForEachGroup(std::size_t n, F f) {
  for (std::size_t i = blockIdx.x; i < n; i += gridDim.x) {
    f(i, ThreadGroup<kThreads>{});
    __syncthreads();
  }
}

template <class T, class Op, class Map>
__global__ void __launch_bounds__(kBlock) Reduce(std::size_t n, T identity, Op op, Map map, T* partials) {
  __shared__ steps::cuda::SharedArray<T, kBlock> temp_storage;
  T mine = identity;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += std::size_t{gridDim.x} * kBlock) {
    mine = op(mine, map(i));
  }
  temp_storage[threadIdx.x] = mine;
  for (unsigned d = kBlock / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) temp_storage[threadIdx.x] = op(temp_storage[threadIdx.x], temp_storage[threadIdx.x + d]);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = temp_storage[0];
}

/// The sum of the block's values, on all its threads.
template <class T>
__device__ T SumOfBlock(T value, T* temp_storage) {
  __syncthreads();  // all threads have read the previous contents
  temp_storage[threadIdx.x] = value;
  for (unsigned d = kBlock / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) temp_storage[threadIdx.x] += temp_storage[threadIdx.x + d];
  }
  __syncthreads();
  return temp_storage[0];
}
/// Each block sums its own range.
template <class T>
__global__ void __launch_bounds__(kBlock) SumRanges(const T* data, std::size_t n, std::size_t range, T* sums) {
  __shared__ T temp_storage[kBlock];
  const std::size_t begin = blockIdx.x * range, end = begin + range < n ? begin + range : n;
  T mine{};
  for (std::size_t i = begin + threadIdx.x; i < end; i += kBlock) mine += data[i];
  const T sum = SumOfBlock(mine, temp_storage);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
/// Replaces each number in a block's range by the sum of its predecessors, tile by tile.
template <class T>
__global__ void __launch_bounds__(kBlock) SumBefore(T* data, std::size_t n, std::size_t range, const T* sums) {
  __shared__ T temp_storage[kBlock];
  __shared__ T of_warps[kWarps];
  const std::size_t begin = blockIdx.x * range, end = begin + range < n ? begin + range : n;
  T mine{};
  for (unsigned b = threadIdx.x; b < blockIdx.x; b += kBlock) mine += sums[b];
  T before = SumOfBlock(mine, temp_storage);
  for (std::size_t tile = begin; tile < end; tile += kBlock) {
    const std::size_t i = tile + threadIdx.x;
    const T value = i < end ? data[i] : T{};
    T inclusive = value;
    for (unsigned d = 1; d < 32; d *= 2) {
      const T below = steps::cuda::ShuffleUp(inclusive, d);
      if (steps::cuda::Lane() >= d) inclusive += below;
    }
    if (steps::cuda::Lane() == 31) of_warps[steps::cuda::Warp()] = inclusive;
    __syncthreads();
    T lower{}, all{};  // sums of the warps below this one, and of all warps
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w < steps::cuda::Warp()) lower += of_warps[w];
      all += of_warps[w];
    }
    if (i < end) data[i] = before + lower + (inclusive - value);
    before += all;
    __syncthreads();
  }
}

// Functors for kernels are outside of classes: a kernel's template arguments must be accessible types.
template <class F>
struct ByLocalId {
  F f;
  CHATTY_FN void operator()(std::size_t v) const { f(static_cast<LocalId>(v)); }
};
struct SkipNothing {
  CHATTY_FN EdgeIndex operator()(LocalId) const { return 0; }
};

}  // namespace operators::cuda

/// The operators on a GPU; see HostOperators for their meaning. Functions are objects with a CHATTY_FN call operator, or
/// lambdas marked CHATTY_FN. Calls enqueue work on the device's stream; Reduce and CopyOut wait for it.
class CudaOperators : public DeviceOperators {
 public:
  using DeviceOperators::DeviceOperators;
  static constexpr bool kMassivelyParallel = true;

  template <class F>
  void For(std::size_t n, F f) {
    const Step step(*this, spans::kFor, {n});
    LaunchFor(n, f);
  }
  template <class F>
  void ForEachVertex(F f) {
    const Step step(*this, spans::kForEachVertex, {graph().owned});
    LaunchFor(graph().owned, operators::cuda::ByLocalId<F>{f});
  }
  template <class Skip, class F>
  void ForEachEdge(Skip skip, F f) {
    LaunchForEachEdge(operators::cuda::AllOwned{graph().owned}, skip, f);
  }
  template <class Skip, class F>
  void ForEachEdgeOf(const LocalId* list, const LocalId* count, Skip skip, F f) {
    LaunchForEachEdge(operators::cuda::Listed{list, count}, skip, f);
  }
  template <class F>
  void ForEachEdge(F f) {
    ForEachEdge(operators::cuda::SkipNothing{}, f);
  }
  template <class F>
  void ForEachNeighbourPair(F f) {
    const Step step(*this, spans::kForEachNeighbourPair, {graph().owned});
    operators::cuda::ForEachNeighbourPair<<<Blocks(graph().owned * std::size_t{32}), steps::cuda::kBlock, 0, stream()>>>(
        graph(), f);
    Check("ForEachNeighbourPair");
  }
  std::size_t groups() const { return Blocks(~std::size_t{0} / 2); }
  template <class F>
  void ForEachGroup(std::size_t n, std::size_t most, F f) {
    LaunchTogether<steps::cuda::kBlock>(n, most, 0, f);
  }
  std::size_t max_shared_bytes() const {
    constexpr int kOther = 4096;  // further shared memory of a block
    int bytes = 0;
    CHATTY_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device().index()));
    return static_cast<std::size_t>(std::max(0, bytes - kOther));
  }
  template <class F>
  void ForEachGroup(std::size_t n, std::size_t most, std::size_t scratch, F f) {
    LaunchTogether<operators::cuda::kWideBlock>(n, most, scratch, f);
  }
  template <class F>
  void LaunchCooperative(std::size_t most, F f) {
    const Step step(*this, spans::kForEachGroup, {most});
    const auto kernel = operators::cuda::Cooperative<F>;
    int resident = 0;
    CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, steps::cuda::kBlock, 0));
    const std::size_t limit = static_cast<std::size_t>(resident) * static_cast<std::size_t>(device().info().multiprocessors);
    const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(most, 1, std::max<std::size_t>(limit, 1)));
    if (blocks == 1) {
      kernel<<<1, steps::cuda::kBlock, 0, stream()>>>(f);
    } else {
      void* arguments[] = {&f};
      CHATTY_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(steps::cuda::kBlock),
                                              arguments, 0, stream()));
    }
    Check("LaunchCooperative");
  }
  template <class T>
  void ExclusiveSum(T* data, std::size_t n) {
    if (n == 0) return;
    const Step step(*this, spans::kExclusiveSum, {n});
    const std::size_t tiles = (n + steps::cuda::kBlock - 1) / steps::cuda::kBlock, most = Blocks(n);
    const std::size_t range = (tiles + most - 1) / most * steps::cuda::kBlock;
    const auto blocks = static_cast<unsigned>((n + range - 1) / range);
    const Buffer<T> sums(device(), blocks);
    operators::cuda::SumRanges<<<blocks, steps::cuda::kBlock, 0, stream()>>>(data, n, range, sums.data());
    operators::cuda::SumBefore<<<blocks, steps::cuda::kBlock, 0, stream()>>>(data, n, range, sums.data());
    Check("ExclusiveSum");
  }
  template <class T, class Op, class Map>
  T Reduce(std::size_t n, T identity, Op op, Map map) {
    const unsigned blocks = Blocks(n);
    Buffer<T> partials(device(), blocks);
    {
      const Step step(*this, spans::kReduce, {n});
      operators::cuda::Reduce<<<blocks, steps::cuda::kBlock, 0, stream()>>>(n, identity, op, map, partials.data());
      Check("Reduce");
    }
    std::vector<T> host(blocks, identity);
    CopyOut(host.data(), partials.data(), blocks);
    T total = identity;
    for (const T& partial : host) total = op(total, partial);
    return total;
  }

 private:
  template <class Vertices, class Skip, class F>
  void LaunchForEachEdge(const Vertices& vertices, const Skip& skip, const F& f) {
    const Step step(*this, spans::kForEachEdge, {graph().owned});
    const bool hubs = graph().forward.max_degree >= kHubDegree;
    if (hubs && slices_.empty()) {
      slices_ = Buffer<Slice>(device(), SliceBound(subgraph_edges(), graph().forward.max_degree));
      slice_count_ = Buffer<std::uint32_t>(device(), 1);
    }
    if (hubs) device().Fill(slice_count_.data(), 0, sizeof(std::uint32_t), device().stream());
    operators::cuda::ForEachEdge<<<Blocks(graph().owned), steps::cuda::kBlock, 0, stream()>>>(
        graph(), vertices, skip, f, slices_.data(), slice_count_.data());
    Check("ForEachEdge");
    if (!hubs) return;
    operators::cuda::ForEachSlicedEdge<<<Blocks(~std::size_t{0} / 2), steps::cuda::kBlock, 0, stream()>>>(
        graph(), skip, f, slices_.data(), slice_count_.data());
    Check("ForEachEdge");
  }
  template <unsigned kThreads, class F>
  void LaunchTogether(std::size_t n, std::size_t most, std::size_t scratch, const F& f) {
    const Step step(*this, spans::kForEachGroup, {n});
    const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(std::min(most, n), 1, groups()));
    const auto kernel = operators::cuda::ForEachGroup<kThreads, F>;
    if (scratch > 0) {  // beyond the default limit of shared memory
      CHATTY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(scratch)));
    }
    kernel<<<blocks, kThreads, scratch, stream()>>>(n, f);
    Check("ForEachGroup");
  }
  template <class F>
  void LaunchFor(std::size_t n, F f) {
    operators::cuda::For<<<Blocks(n), steps::cuda::kBlock, 0, stream()>>>(n, f);
    Check("For");
  }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(device().stream().native()); }
  void Check(const char* name) const {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) [[unlikely]] {
      chatty::detail::ThrowCudaWork(error, device().label(), fmt::format("launching {} (or an operator before it)", name));
    }
  }
  unsigned Blocks(std::size_t threads) const {
    const auto most = static_cast<std::size_t>(device().info().multiprocessors) * 8;
    return static_cast<unsigned>(
        std::clamp<std::size_t>((threads + steps::cuda::kBlock - 1) / steps::cuda::kBlock, 1, most));
  }

  Buffer<Slice> slices_;
  Buffer<std::uint32_t> slice_count_;
};

}  // namespace chatty
