// CUB calls a method of an object without members, which some versions of gcc take for a use of what is not set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <array>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "chatty/core/bitmap.h"
#include "chatty/core/cuda.h"
#include "chatty/framework/steps/cuda/packed_rows.h"

namespace chatty::steps::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// One edge of so many is sampled to find the sources that are read often.
constexpr EdgeIndex kSampled = 16;
constexpr std::uint32_t kCounts = SourceOrder::kCounts;

cudaStream_t StreamOf(Device& device) { return static_cast<cudaStream_t>(device.stream().native()); }
unsigned Blocks(const Device& device, std::size_t items) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  return static_cast<unsigned>(std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, most));
}
__device__ std::size_t First() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t Stride() { return std::size_t{gridDim.x} * blockDim.x; }

/// How often each local vertex is the source of a sampled edge.
__global__ void __launch_bounds__(kThreads) CountSources(const LocalId* neighbours, EdgeIndex edges, std::uint32_t* counts) {
  for (std::size_t i = First(); i < edges / kSampled; i += Stride()) {
    atomicAdd(&counts[neighbours[i * kSampled + i % kSampled]], 1u);  // not the same columns of all short rows
  }
}
/// How many vertices have each count.
__global__ void __launch_bounds__(kThreads)
    CountCounts(const std::uint32_t* counts, std::size_t local, std::uint32_t* vertices) {
  __shared__ std::uint32_t mine[kCounts];
  for (unsigned c = threadIdx.x; c < kCounts; c += kThreads) mine[c] = 0;
  __syncthreads();
  for (std::size_t v = First(); v < local; v += Stride()) atomicAdd(&mine[SourceOrder::Capped(counts[v])], 1u);
  __syncthreads();
  for (unsigned c = threadIdx.x; c < kCounts; c += kThreads) {
    if (mine[c] != 0) atomicAdd(&vertices[c], mine[c]);
  }
}

/// Hubs in the upper half of a word, others that have been counted in the lower.
struct Classify {
  const std::uint32_t* counts;
  SourceOrder order;
  __host__ __device__ std::uint64_t operator()(std::size_t v) const {
    return order.IsHub(counts[v]) ? std::uint64_t{1} << 32 : counts[v] > 0 ? 1 : 0;
  }
};
/// The position of each vertex, and the vertex at each position: hubs, then others that have been counted, then the rest,
/// each group in the order of ids.
__global__ void __launch_bounds__(kThreads)
    FindPositions(Classify classify, const std::uint64_t* before, std::size_t local, LocalId* positions, LocalId* ids) {
  const auto hubs = static_cast<LocalId>(classify.order.hubs), counted = static_cast<LocalId>(classify.order.counted);
  for (std::size_t v = First(); v < local; v += Stride()) {
    const std::uint64_t kind = classify(v), below = before[v];
    const auto hubs_below = static_cast<LocalId>(below >> 32), counted_below = static_cast<LocalId>(below);
    const LocalId position = kind > 1    ? hubs_below
                             : kind == 1 ? hubs + counted_below
                                         : hubs + counted + (static_cast<LocalId>(v) - hubs_below - counted_below);
    positions[v] = position;
    ids[position] = static_cast<LocalId>(v);
  }
}
__global__ void __launch_bounds__(kThreads)
    FindSourcePositions(const LocalId* neighbours, const LocalId* positions, std::size_t edges, LocalId* sources) {
  for (std::size_t e = First(); e < edges; e += Stride()) sources[e] = positions[neighbours[e]];
}

/// How far sources are from targets, a lane a row; and the words of vertices for which 16 bits cannot say it.
__global__ void __launch_bounds__(kThreads)
    FindDistances(AdjacencyRef rows, LocalId owned, std::int16_t* near, std::uint32_t* far) {
  for (std::size_t base = First() - threadIdx.x % 32; base < owned; base += Stride()) {
    const std::size_t i = base + threadIdx.x % 32;
    bool is_far = false;
    if (i < owned) {
      const auto v = static_cast<LocalId>(i);
      const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
      is_far = end - begin > PackedRows::kNearEdges;
      for (EdgeIndex e = begin; e < end && !is_far; ++e) {
        const std::int64_t distance = std::int64_t{rows.neighbours[e]} - std::int64_t{v};
        near[e] = static_cast<std::int16_t>(distance);
        is_far = near[e] != distance;
      }
    }
    if (__any_sync(0xffffffffu, is_far) && threadIdx.x % 32 == 0) bits::Set<true>(far, base / 32);
  }
}

struct IsLong {
  OffsetsRef offsets;
  __host__ __device__ bool operator()(LocalId v) const { return offsets[v + 1] - offsets[v] >= PackedRows::kLongRow; }
};
struct Pieces {
  OffsetsRef offsets;
  const LocalId* vertices;
  __host__ __device__ std::uint32_t operator()(std::uint32_t i) const {
    const LocalId v = vertices[i];
    return static_cast<std::uint32_t>((offsets[v + 1] - offsets[v] + PackedRows::kLongRow - 1) / PackedRows::kLongRow);
  }
};
__global__ void __launch_bounds__(kThreads)
    MakeLongRows(Pieces pieces, const std::uint32_t* first, std::uint32_t count, LongRow* rows) {
  for (std::size_t i = First(); i < count; i += Stride()) {
    const auto row = static_cast<std::uint32_t>(i);
    rows[i] = {pieces.vertices[i], first[i], pieces(row)};
  }
}
__global__ void __launch_bounds__(kThreads) NamePieces(const LongRow* rows, std::uint32_t count, std::uint32_t* row_of) {
  for (std::size_t i = blockIdx.x; i < count; i += gridDim.x) {
    for (std::uint32_t p = threadIdx.x; p < rows[i].pieces; p += kThreads) row_of[rows[i].first + p] = i;
  }
}

/// Runs one of CUB's algorithms, which return the size of their temporary storage when they are given none.
template <class Call>
void WithScratch(Device& device, Call&& call) {
  std::size_t bytes = 0;
  CHATTY_CUDA(call(nullptr, bytes));
  Buffer<std::byte> scratch(device, bytes);
  CHATTY_CUDA(call(scratch.data(), bytes));
  device.stream().Synchronize();  // before `scratch` goes
}

/// An array's last entry, or one before, on the host.
template <class T>
T Fetch(Device& device, const T* from) {
  T value;
  device.CopyOut(&value, from, sizeof(T), device.stream());
  device.stream().Synchronize();
  return value;
}

}  // namespace

std::size_t PackedRows::HubBytes(const Device& device) {
  constexpr int kOther = 2048;  // what else a block keeps there
  // What shared memory leaves of an SM's fast memory is its L1, and a gather that is on its way holds a line of it: with all
  // the shared memory that a block may have, 28 KB, there are too few on their way at once.
  constexpr int kL1 = 64 << 10;
  int bytes = 0;
  CHATTY_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index()));
  return static_cast<std::size_t>(std::max(0, bytes - kOther - kL1));
}

PackedRows::PackedRows(const DeviceGraph& graph, Tiling tiling, std::size_t shared_bytes) {
  Device& device = graph.device();
  device.MakeCurrent();
  const PartShape shape = ShapeOf(graph.subgraph());
  ref_.edges = shape.reverse.edges;
  ref_.sources = graph.ref().reverse.neighbours;
  claimed_ = Buffer<std::uint32_t>(device, 1);
  device.Fill(claimed_.data(), 0, claimed_.bytes(), device.stream());
  ref_.claimed = claimed_.data();
  if (Orders(shape, tiling)) Order(graph, shared_bytes);
  if (shape.reverse.max_degree >= kLongRow) CutLongRows(graph);
  if (AreShort(shape, tiling)) MakeNear(graph);
  device.stream().Synchronize();
}

void PackedRows::Order(const DeviceGraph& graph, std::size_t shared_bytes) {
  Device& device = graph.device();
  const cudaStream_t stream = StreamOf(device);
  const std::size_t local = graph.ref().local;
  const LocalId* const neighbours = graph.ref().reverse.neighbours;
  positions_ = Buffer<LocalId>(device, local);
  ids_ = Buffer<LocalId>(device, local);
  {
    Buffer<std::uint32_t> counts(device, local), vertices(device, kCounts);
    device.Fill(counts.data(), 0, counts.bytes(), device.stream());
    device.Fill(vertices.data(), 0, vertices.bytes(), device.stream());
    CountSources<<<Blocks(device, ref_.edges / kSampled), kThreads, 0, stream>>>(neighbours, ref_.edges, counts.data());
    CHATTY_CUDA(cudaGetLastError());
    CountCounts<<<Blocks(device, local), kThreads, 0, stream>>>(counts.data(), local, vertices.data());
    CHATTY_CUDA(cudaGetLastError());
    std::array<std::uint32_t, kCounts> with{};
    device.CopyOut(with.data(), vertices.data(), vertices.bytes(), device.stream());
    device.stream().Synchronize();

    const SourceOrder order = SourceOrder::Of(with, HubBytes(device) / shared_bytes);
    const Classify classify{counts.data(), order};
    Buffer<std::uint64_t> before(device, local);
    const auto kinds = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), classify);
    WithScratch(device, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(scratch, bytes, kinds, before.data(), static_cast<std::int64_t>(local), stream);
    });
    FindPositions<<<Blocks(device, local), kThreads, 0, stream>>>(classify, before.data(), local, positions_.data(),
                                                                  ids_.data());
    CHATTY_CUDA(cudaGetLastError());
    ref_.hubs = static_cast<LocalId>(order.hubs);
    device.stream().Synchronize();  // before what is not kept goes
  }
  sources_ = Buffer<LocalId>(device, ref_.edges);
  FindSourcePositions<<<Blocks(device, ref_.edges), kThreads, 0, stream>>>(neighbours, positions_.data(), ref_.edges,
                                                                           sources_.data());
  CHATTY_CUDA(cudaGetLastError());
  ref_.positions = positions_.data();
  ref_.ids = ids_.data();
  ref_.sources = sources_.data();
}

void PackedRows::MakeNear(const DeviceGraph& graph) {
  Device& device = graph.device();
  const LocalId owned = graph.ref().owned;
  near_ = Buffer<std::uint32_t>(device, NearUnits(ref_.edges));
  far_ = Buffer<std::uint32_t>(device, FarWords(owned));
  device.Fill(far_.data(), 0, far_.bytes(), device.stream());
  auto* const near = reinterpret_cast<std::int16_t*>(near_.data());
  FindDistances<<<Blocks(device, owned), kThreads, 0, StreamOf(device)>>>(graph.ref().reverse, owned, near, far_.data());
  CHATTY_CUDA(cudaGetLastError());
  ref_.near = near;
  ref_.far = far_.data();
}

void PackedRows::CutLongRows(const DeviceGraph& graph) {
  Device& device = graph.device();
  const cudaStream_t stream = StreamOf(device);
  const OffsetsRef offsets = graph.ref().reverse.offsets;
  const std::size_t most = std::min<std::size_t>(graph.ref().owned, ref_.edges / kLongRow);
  Buffer<LocalId> found(device, most);
  Buffer<std::uint32_t> count(device, 1);
  // In the order of their ids, so that sums over them are the same in every run.
  WithScratch(device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<LocalId>(0), found.data(), count.data(),
                                 static_cast<std::int64_t>(graph.ref().owned), IsLong{offsets}, stream);
  });
  const std::uint32_t rows = Fetch(device, count.data());
  if (rows == 0) return;
  const Pieces pieces{offsets, found.data()};
  Buffer<std::uint32_t> first(device, rows);
  WithScratch(device, [&](void* scratch, std::size_t& bytes) {
    const auto sizes = thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0), pieces);
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, sizes, first.data(), static_cast<std::int64_t>(rows), stream);
  });
  long_rows_ = Buffer<LongRow>(device, rows);
  MakeLongRows<<<Blocks(device, rows), kThreads, 0, stream>>>(pieces, first.data(), rows, long_rows_.data());
  CHATTY_CUDA(cudaGetLastError());
  const LongRow last = Fetch(device, long_rows_.data() + rows - 1);
  long_row_of_ = Buffer<std::uint32_t>(device, last.first + last.pieces);
  NamePieces<<<Blocks(device, std::size_t{rows} * kThreads), kThreads, 0, stream>>>(long_rows_.data(), rows,
                                                                                    long_row_of_.data());
  CHATTY_CUDA(cudaGetLastError());
  device.stream().Synchronize();
  ref_.long_rows = long_rows_.data();
  ref_.long_row_of = long_row_of_.data();
  ref_.long_row_count = rows;
  ref_.pieces = last.first + last.pieces;
}

}  // namespace chatty::steps::cuda
