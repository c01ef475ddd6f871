/// The work that a calibration times, on GPUs: small kernels, each a loop over a grid.
#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/comm/calibration/probes.h"
#include "chatty/core/cuda.h"
#include "chatty/core/hash.h"

namespace chatty::probes::cuda {
namespace {

constexpr unsigned kBlock = 256;

__device__ std::size_t First() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t Stride() { return std::size_t{gridDim.x} * blockDim.x; }

__global__ void __launch_bounds__(kBlock) PrepareKernel(State state) {
  const std::size_t size = std::size_t{1} << state.bits;
  for (std::size_t i = First(); i < size; i += Stride()) {
    state.values[i] = static_cast<std::uint32_t>(Hash(i) >> 32) | 0x80000000u;  // far from 0, the least value
    state.order[i] = Permuted(static_cast<std::uint32_t>(i), state.bits);
    state.queue[i] = ~0u;
    if (i % 32 == 0) state.marks[i / 32] = 0;
  }
}

__global__ void __launch_bounds__(kBlock)
    PackDenseKernel(const std::uint32_t* values, std::uint32_t* buffer, std::size_t words) {
  const auto* const from = reinterpret_cast<const uint4*>(values);
  auto* const to = reinterpret_cast<uint4*>(buffer);
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const uint4 four = from[i];
    to[i] = make_uint4(four.x - 1, four.y - 1, four.z - 1, four.w - 1);
  }
  for (std::size_t i = words / 4 * 4 + First(); i < words; i += Stride()) buffer[i] = values[i] - 1;
}

__global__ void __launch_bounds__(kBlock)
    UnpackDenseKernel(std::uint32_t* values, const std::uint32_t* buffer, std::size_t words) {
  const auto* const from = reinterpret_cast<const uint4*>(buffer);
  auto* const to = reinterpret_cast<uint4*>(values);
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const uint4 candidate = from[i], old = to[i];
    to[i] = make_uint4(min(old.x, candidate.x), min(old.y, candidate.y), min(old.z, candidate.z), min(old.w, candidate.w));
  }
  for (std::size_t i = words / 4 * 4 + First(); i < words; i += Stride()) values[i] = min(values[i], buffer[i]);
}

constexpr unsigned kFull = 0xffffffffu, kWarps = kBlock / 32;
__device__ unsigned Lane() { return threadIdx.x % 32; }

__global__ void __launch_bounds__(kBlock)
    PackSparseKernel(State state, Entry* buffer, std::size_t entries, std::size_t apart) {
  for (std::size_t base = First() - Lane(); base < entries; base += Stride()) {
    const std::size_t i = base + Lane();
    const bool mine = i < entries;
    unsigned place = 0;
    const unsigned taken = __ballot_sync(kFull, mine);
    if (Lane() == 0) place = atomicAdd(&state.counts[1], __popc(taken));
    place = __shfl_sync(kFull, place, 0) + __popc(taken & ((1u << Lane()) - 1));
    if (!mine) continue;
    const auto index = static_cast<std::uint32_t>(i * apart);
    atomicAnd(&state.marks[index >> 5], ~(1u << (index & 31)));
    reinterpret_cast<uint2*>(buffer)[place] = make_uint2(index, state.values[index] - 1);
  }
}

__global__ void __launch_bounds__(kBlock) UnpackSparseKernel(State state, const Entry* buffer, std::size_t entries) {
  for (std::size_t base = First() - Lane(); base < entries; base += Stride()) {
    const std::size_t i = base + Lane();
    const bool mine = i < entries;
    std::uint32_t at = 0;
    if (mine) {
      const uint2 entry = reinterpret_cast<const uint2*>(buffer)[i];
      at = entry.x + (state.order[entry.x] >> state.bits);  // looks up the target
      atomicMin(&state.values[at], entry.y);
      atomicOr(&state.marks[at >> 5], 1u << (at & 31));
    }
    const unsigned noted = __ballot_sync(kFull, mine);
    unsigned place = 0;
    if (Lane() == 0) place = atomicAdd(&state.counts[0], __popc(noted));
    place = __shfl_sync(kFull, place, 0) + __popc(noted & ((1u << Lane()) - 1));
    if (mine) state.queue[place & ((1u << state.bits) - 1)] = at;
  }
}

__global__ void ClearCountsKernel(State state) {
  if (threadIdx.x < 2) state.counts[threadIdx.x] = 0;
}

/// A warp has a segment at a time. A block reserves room for the segments of its warps, and writes line by line.
__global__ void __launch_bounds__(kBlock) PackBitmapKernel(State state, std::byte* buffer, ProbeBuffer bitmap) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  __shared__ unsigned held[kWarps], begins[kWarps], shelf_words[kWarps * kWords];
  __shared__ std::uint32_t temp_storage[kWarps * ProbeBuffer::kSegment];
  __shared__ unsigned begin, in_block;
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + bitmap.segments_at());
  auto* const values = reinterpret_cast<std::uint32_t*>(buffer + bitmap.values_at());
  const std::size_t all = bitmap.count / ProbeBuffer::kSegment;
  const unsigned warp = threadIdx.x / 32;
  for (std::size_t base = std::size_t{blockIdx.x} * kWarps; base < all; base += std::size_t{gridDim.x} * kWarps) {
    const std::size_t segment = base + warp, first = segment * ProbeBuffer::kSegment;
    unsigned word[kWords], mine = 0, count = 0;
    std::uint32_t never = 0;  // looks up a border's vertices
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      if (segment < all) never |= state.order[first + k * 32 + Lane()] >> state.bits;
    }
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      word[k] = __ballot_sync(kFull, segment < all && ((first + k * 32 + Lane()) % bitmap.every == 0 || never != 0));
      if (Lane() == k) mine = word[k];
      count += __popc(word[k]);
    }
    if (Lane() < kWords) shelf_words[warp * kWords + Lane()] = mine;
    if (Lane() == 0) held[warp] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
      in_block = 0;
      for (unsigned w = 0; w < kWarps; ++w) {
        begins[w] = in_block;
        in_block += held[w];
      }
      begin = atomicAdd(&state.counts[1], in_block);
    }
    __syncthreads();
    if (threadIdx.x < kWarps * kWords && base * kWords + threadIdx.x < all * kWords) {
      words[base * kWords + threadIdx.x] = shelf_words[threadIdx.x];
    }
    if (threadIdx.x < kWarps && base + threadIdx.x < all) segments[base + threadIdx.x] = begin + begins[threadIdx.x];
    unsigned place = begins[warp];
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      if ((word[k] >> Lane() & 1u) != 0) {
        temp_storage[place + __popc(word[k] & ((1u << Lane()) - 1))] = state.values[first + k * 32 + Lane()] - 1;
      }
      place += __popc(word[k]);
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < in_block; at += kBlock) values[begin + at] = temp_storage[at];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kBlock) UnpackBitmapKernel(State state, const std::byte* buffer, ProbeBuffer bitmap) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(buffer + bitmap.segments_at());
  const auto* const values = reinterpret_cast<const std::uint32_t*>(buffer + bitmap.values_at());
  const std::size_t all = bitmap.count / ProbeBuffer::kSegment, warps = Stride() / 32;
  for (std::size_t segment = First() / 32; segment < all; segment += warps) {
    const std::size_t first = segment * ProbeBuffer::kSegment;
    const unsigned held = Lane() < kWords ? words[first / 32 + Lane()] : 0;
    unsigned place = segments[segment];
    std::uint32_t candidate[kWords];
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      const unsigned word = __shfl_sync(kFull, held, k);
      if ((word >> Lane() & 1u) != 0) candidate[k] = values[place + __popc(word & ((1u << Lane()) - 1))];
      place += __popc(word);
    }
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      const unsigned word = __shfl_sync(kFull, held, k);
      const std::size_t i = first + k * 32 + Lane();
      if ((word >> Lane() & 1u) != 0) state.values[i] = min(state.values[i], candidate[k]);
      if (Lane() == 0 && word != 0) atomicOr(&state.marks[i >> 5], word);
    }
  }
}

/// Enqueues a kernel with so many threads, or as many as the device runs at once.
template <class... Parameters, class... Arguments>
void Launch(Device& device, std::size_t threads, void (*kernel)(Parameters...), const Arguments&... arguments) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>((threads + kBlock - 1) / kBlock, 1, most));
  kernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(device.stream().native())>>>(arguments...);
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace

void Prepare(Device& device, const State& state) { Launch(device, std::size_t{1} << state.bits, PrepareKernel, state); }

void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape) {
  const std::size_t count = shape.count;
  if (shape.encoding == Encoding::kDense) {
    return Launch(device, count / 4, PackDenseKernel, state.values, reinterpret_cast<std::uint32_t*>(buffer), count);
  }
  Launch(device, 1, ClearCountsKernel, state);
  if (shape.encoding == Encoding::kSparse) {
    auto* const entries = reinterpret_cast<Entry*>(buffer);
    return Launch(device, count, PackSparseKernel, state, entries, count, EntriesApart(state, shape));
  }
  Launch(device, count / ProbeBuffer::kSegment * 32, PackBitmapKernel, state, buffer, shape);
}

void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape) {
  const std::size_t count = shape.count;
  if (shape.encoding == Encoding::kDense) {
    return Launch(device, count / 4, UnpackDenseKernel, state.values, reinterpret_cast<const std::uint32_t*>(buffer), count);
  }
  if (shape.encoding == Encoding::kSparse) {
    return Launch(device, count, UnpackSparseKernel, state, reinterpret_cast<const Entry*>(buffer), count);
  }
  Launch(device, count / ProbeBuffer::kSegment * 32, UnpackBitmapKernel, state, buffer, shape);
}

std::string SoftwareVersions() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess) return "";
  return "driver " + std::to_string(driver) + " cuda " + std::to_string(runtime);
}

}  // namespace chatty::probes::cuda
