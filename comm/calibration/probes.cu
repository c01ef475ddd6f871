/// The work that a calibration times, on GPUs: small kernels, each a loop over a grid.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "chatty/comm/calibration/probes.h"
#include "chatty/core/cuda.h"
#include "chatty/core/hash.h"
#include "chatty/core/sync.h"

namespace chatty::probes::cuda {
namespace {

constexpr unsigned kBlock = 256;

cudaStream_t StreamOf(Device& device) { return static_cast<cudaStream_t>(device.stream().native()); }

/// Blocks for this many items: enough for all, at most what the device runs at once.
unsigned Blocks(const Device& device, std::size_t items) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  return static_cast<unsigned>(std::clamp<std::size_t>((items + kBlock - 1) / kBlock, 1, most));
}

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
    PackBlockKernel(const std::uint32_t* values, std::uint32_t* buffer, std::size_t words) {
  const auto* const from = reinterpret_cast<const uint4*>(values);
  auto* const to = reinterpret_cast<uint4*>(buffer);
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const uint4 four = from[i];
    to[i] = make_uint4(four.x - 1, four.y - 1, four.z - 1, four.w - 1);
  }
  for (std::size_t i = words / 4 * 4 + First(); i < words; i += Stride()) buffer[i] = values[i] - 1;
}

__global__ void __launch_bounds__(kBlock)
    UnpackBlockKernel(std::uint32_t* values, const std::uint32_t* buffer, std::size_t words) {
  const auto* const from = reinterpret_cast<const uint4*>(buffer);
  auto* const to = reinterpret_cast<uint4*>(values);
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const uint4 candidate = from[i], old = to[i];
    to[i] = make_uint4(min(old.x, candidate.x), min(old.y, candidate.y), min(old.z, candidate.z), min(old.w, candidate.w));
  }
  for (std::size_t i = words / 4 * 4 + First(); i < words; i += Stride()) values[i] = min(values[i], buffer[i]);
}

/// A sum that no memory has. Kernels compare with it to use what they read.
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr unsigned kFull = 0xffffffffu, kWarps = kBlock / 32;
__device__ unsigned Lane() { return threadIdx.x % 32; }

/// The first `sizeof(Record)` bytes of an entry of a list.
template <class Record>
__device__ Record RecordOf(std::uint32_t index, std::uint32_t value) {
  if constexpr (sizeof(Record) == 4) {
    return index;
  } else {
    return make_uint2(index, value);
  }
}

template <class Record>
__global__ void __launch_bounds__(kBlock)
    PackListKernel(State state, Record* buffer, std::size_t entries, std::size_t apart) {
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
    buffer[place] = RecordOf<Record>(index, sizeof(Record) == 4 ? 0 : state.values[index] - 1);
  }
}

template <class Record>
__global__ void __launch_bounds__(kBlock) UnpackListKernel(State state, const Record* buffer, std::size_t entries) {
  for (std::size_t base = First() - Lane(); base < entries; base += Stride()) {
    const std::size_t i = base + Lane();
    const bool mine = i < entries;
    std::uint32_t at = 0;
    if (mine) {
      const Record entry = buffer[i];
      if constexpr (sizeof(Record) == 4) {
        at = entry + (state.order[entry] >> state.bits);  // looks up the target
      } else {
        at = entry.x + (state.order[entry.x] >> state.bits);
        atomicMin(&state.values[at], entry.y);
      }
      atomicOr(&state.marks[at >> 5], 1u << (at & 31));
    }
    const unsigned noted = __ballot_sync(kFull, mine);
    unsigned place = 0;
    if (Lane() == 0) place = atomicAdd(&state.counts[0], __popc(noted));
    place = __shfl_sync(kFull, place, 0) + __popc(noted & ((1u << Lane()) - 1));
    if (mine) state.queue[place & ((1u << state.bits) - 1)] = at;
  }
}

__global__ void ClearCountsKernel(State state) { state.counts[threadIdx.x] = 0; }

/// A warp has a segment at a time. A block reserves room for the segments of its warps, and writes line by line. `messages`:
/// takes their bits; else looks up a border's vertices.
__global__ void __launch_bounds__(kBlock) PackSweepKernel(State state, std::byte* buffer, ProbeBuffer sweep, bool messages) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  __shared__ unsigned held[kWarps], begins[kWarps], shelf_words[kWarps * kWords];
  __shared__ std::uint32_t temp_storage[kWarps * ProbeBuffer::kSegment];
  __shared__ unsigned begin, in_block;
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + sweep.segments_at());
  auto* const values = reinterpret_cast<std::uint32_t*>(buffer + sweep.values_at());
  const std::size_t all = sweep.count / ProbeBuffer::kSegment;
  const unsigned warp = threadIdx.x / 32;
  for (std::size_t base = std::size_t{blockIdx.x} * kWarps; base < all; base += std::size_t{gridDim.x} * kWarps) {
    const std::size_t segment = base + warp, first = segment * ProbeBuffer::kSegment;
    unsigned word[kWords], mine = 0, count = 0;
    std::uint32_t never = 0;
    if (!messages) {
#pragma unroll
      for (unsigned k = 0; k < kWords; ++k) {
        if (segment < all) never |= state.order[first + k * 32 + Lane()] >> state.bits;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      word[k] = __ballot_sync(kFull, segment < all && ((first + k * 32 + Lane()) % sweep.every == 0 || never != 0));
      if (Lane() == k) mine = word[k];
      count += __popc(word[k]);
    }
    if (messages && mine != 0) atomicAnd(&state.marks[first / 32 + Lane()], ~mine);
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

__global__ void __launch_bounds__(kBlock) UnpackSweepKernel(State state, const std::byte* buffer, ProbeBuffer sweep) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(buffer + sweep.segments_at());
  const auto* const values = reinterpret_cast<const std::uint32_t*>(buffer + sweep.values_at());
  const std::size_t all = sweep.count / ProbeBuffer::kSegment, warps = Stride() / 32;
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

/// Messages: a lane has one held message. It looks up the target, reads its value, and combines the message with what waits
/// there. The queue's places stand for waiting messages.
__global__ void __launch_bounds__(kBlock) DeliverSweepKernel(State state, const std::byte* buffer, ProbeBuffer sweep) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(buffer + sweep.segments_at());
  const auto* const values = reinterpret_cast<const std::uint32_t*>(buffer + sweep.values_at());
  const std::size_t all = sweep.count / ProbeBuffer::kSegment, warps = Stride() / 32;
  for (std::size_t segment = First() / 32; segment < all; segment += warps) {
    const std::size_t first = segment * ProbeBuffer::kSegment;
    const std::uint32_t place = segments[segment];
    for (unsigned j = Lane(); j < ProbeBuffer::kSegment / sweep.every; j += 32) {
      const std::size_t i = first + j * sweep.every;
      if ((words[i / 32] >> (i % 32) & 1u) == 0) continue;
      const std::uint32_t message = values[place + j];
      const std::size_t at = i + (state.order[i] >> state.bits);
      const std::uint32_t waiting = state.queue[at] | 0x80000000u;  // uses what is read
      atomicMin(&state.queue[at], min(min(message, state.values[at]), waiting));
      atomicOr(&state.marks[at >> 5], 1u << (at & 31));
    }
  }
}

/// A warp has a segment, and looks up a border's vertices of all its places together, and their bits. `never` is kNever.
__global__ void __launch_bounds__(kBlock)
    PackBitsKernel(State state, std::uint32_t* buffer, std::size_t places, std::uint64_t never) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  std::uint64_t sum = 0;
  for (std::size_t first = First() / 32 * ProbeBuffer::kSegment; first < places;
       first += Stride() / 32 * ProbeBuffer::kSegment) {
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      const std::size_t i = first + k * 32 + Lane(), at = i + (state.order[i] >> state.bits);
      sum += state.marks[at >> 5] >> (at & 31) & 1u;
      const unsigned word = __ballot_sync(kFull, at == i);
      if (Lane() == k) mine = word;
    }
    if (Lane() < kWords) buffer[first / 32 + Lane()] = mine;
  }
  if (sum == never) buffer[0] = 0;
}
__global__ void __launch_bounds__(kBlock) UnpackBitsKernel(State state, const std::uint32_t* buffer, std::size_t places) {
  constexpr unsigned kWords = ProbeBuffer::kSegment / 32;
  for (std::size_t first = First() / 32 * ProbeBuffer::kSegment; first < places;
       first += Stride() / 32 * ProbeBuffer::kSegment) {
    const std::uint32_t held = Lane() < kWords ? buffer[first / 32 + Lane()] : 0;
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned k = 0; k < kWords; ++k) {
      const std::size_t i = first + k * 32 + Lane(), at = i + (state.order[i] >> state.bits);
      const std::uint32_t word = __shfl_sync(kFull, held, k);
      const unsigned of_word = __ballot_sync(kFull, (word >> Lane() & 1u) != 0 && at == i);
      if (Lane() == k) mine = of_word;
    }
    if (Lane() < kWords && mine != 0) atomicOr(&state.marks[first / 32 + Lane()], mine);
  }
}

/// `never` is kNever.
__global__ void __launch_bounds__(kBlock) ReadKernel(std::uint32_t* memory, std::size_t words, std::uint64_t never) {
  const auto* const fours = reinterpret_cast<const uint4*>(memory);
  std::uint64_t sum = 0;
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const uint4 four = fours[i];
    sum += std::uint64_t{four.x} + four.y + four.z + four.w;
  }
  if (sum == never) memory[0] = 0;
}
__global__ void __launch_bounds__(kBlock) WriteKernel(std::uint32_t* memory, std::size_t words) {
  auto* const fours = reinterpret_cast<uint4*>(memory);
  for (std::size_t i = First(); i < words / 4; i += Stride()) {
    const auto x = static_cast<std::uint32_t>(i);
    fours[i] = make_uint4(x, x, x, x);
  }
}
__global__ void __launch_bounds__(kBlock) AtomicKernel(std::uint32_t* memory, std::size_t words) {
  for (std::size_t i = First(); i < words; i += Stride()) atomicMin(&memory[i], static_cast<std::uint32_t>(i));
}
__global__ void __launch_bounds__(kBlock)
    ReadRandomKernel(std::uint32_t* memory, std::size_t words, const std::uint32_t* order, std::uint64_t never) {
  std::uint64_t sum = 0;
  for (std::size_t i = First(); i < words; i += Stride()) sum += memory[order[i]];
  if (sum == never) memory[0] = 0;
}
__global__ void __launch_bounds__(kBlock)
    WriteRandomKernel(std::uint32_t* memory, std::size_t words, const std::uint32_t* order) {
  for (std::size_t i = First(); i < words; i += Stride()) memory[order[i]] = static_cast<std::uint32_t>(i);
}
__global__ void __launch_bounds__(kBlock)
    AtomicRandomKernel(std::uint32_t* memory, std::size_t words, const std::uint32_t* order) {
  for (std::size_t i = First(); i < words; i += Stride()) atomicMin(&memory[order[i]], static_cast<std::uint32_t>(i));
}

__global__ void NothingKernel() {}
__global__ void LowerKernel(std::uint32_t* flag) { *flag = 0; }

__device__ std::uint32_t LoadAcquire(const std::uint32_t* flag) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ void StoreRelease(std::uint32_t* flag, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ unsigned long long Nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

constexpr unsigned long long kPatienceNs = 1000000000;

/// One thread. Waits for `mine` and then raises `theirs`; with `begins`, in the other order. Sets `lost` when a turn does
/// not come.
__global__ void FlagKernel(const std::uint32_t* mine, std::uint32_t* theirs, unsigned rounds, bool begins,
                           std::uint32_t* lost) {
  const unsigned long long start = Nanoseconds();
  for (std::uint32_t turn = 1; turn <= rounds; ++turn) {
    if (begins) StoreRelease(theirs, turn);
    for (unsigned polls = 1; LoadAcquire(mine) != turn; ++polls) {
      if (polls % 1024 == 0 && Nanoseconds() - start > kPatienceNs) {
        *lost = 1;
        return;
      }
    }
    if (!begins) StoreRelease(theirs, turn);
  }
}

__global__ void BarrierKernel(unsigned rounds) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (unsigned i = 0; i < rounds; ++i) grid.sync();
}

/// Threads that pack and unpack a buffer: one for four words in order, one an entry of a list, a warp a segment.
std::size_t ThreadsFor(const ProbeBuffer& buffer) {
  if (buffer.kind == Kind::kBlock || buffer.kind == Kind::kPayload) return buffer.count / 4;
  return buffer.swept() ? buffer.count / ProbeBuffer::kSegment * 32 : buffer.count;
}

double Microseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

void Prepare(Device& device, const State& state) {
  PrepareKernel<<<Blocks(device, std::size_t{1} << state.bits), kBlock, 0, StreamOf(device)>>>(state);
  CHATTY_CUDA(cudaGetLastError());
}

void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape) {
  const cudaStream_t stream = StreamOf(device);
  const unsigned blocks = Blocks(device, ThreadsFor(shape));
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  if (shape.kind != Kind::kBlock && shape.kind != Kind::kBits && shape.kind != Kind::kPayload)
    ClearCountsKernel<<<1, 2, 0, stream>>>(state);
  switch (shape.kind) {
    case Kind::kBlock:
      PackBlockKernel<<<blocks, kBlock, 0, stream>>>(state.values, words, shape.count);
      break;
    case Kind::kEntries:
      PackListKernel<<<blocks, kBlock, 0, stream>>>(state, reinterpret_cast<uint2*>(buffer), shape.count,
                                                    EntriesApart(state, shape));
      break;
    case Kind::kMarks:
      PackListKernel<<<blocks, kBlock, 0, stream>>>(state, words, shape.count, EntriesApart(state, shape));
      break;
    case Kind::kValues:
    case Kind::kMessages:
      PackSweepKernel<<<blocks, kBlock, 0, stream>>>(state, buffer, shape, shape.kind == Kind::kMessages);
      break;
    case Kind::kPayload:
      device.CopyWithin(buffer, reinterpret_cast<const std::byte*>(state.values), shape.bytes(), device.stream());
      break;
    case Kind::kBits:
      PackBitsKernel<<<blocks, kBlock, 0, stream>>>(state, words, shape.count, kNever);
      break;
  }
  CHATTY_CUDA(cudaGetLastError());
}

void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape) {
  const cudaStream_t stream = StreamOf(device);
  const unsigned blocks = Blocks(device, ThreadsFor(shape));
  const auto* const words = reinterpret_cast<const std::uint32_t*>(buffer);
  switch (shape.kind) {
    case Kind::kBlock:
      UnpackBlockKernel<<<blocks, kBlock, 0, stream>>>(state.values, words, shape.count);
      break;
    case Kind::kEntries:
      UnpackListKernel<<<blocks, kBlock, 0, stream>>>(state, reinterpret_cast<const uint2*>(buffer), shape.count);
      break;
    case Kind::kMarks:
      UnpackListKernel<<<blocks, kBlock, 0, stream>>>(state, words, shape.count);
      break;
    case Kind::kValues:
      UnpackSweepKernel<<<blocks, kBlock, 0, stream>>>(state, buffer, shape);
      break;
    case Kind::kMessages:
      DeliverSweepKernel<<<blocks, kBlock, 0, stream>>>(state, buffer, shape);
      break;
    case Kind::kPayload:
      break;
    case Kind::kBits:
      UnpackBitsKernel<<<blocks, kBlock, 0, stream>>>(state, words, shape.count);
      break;
  }
  CHATTY_CUDA(cudaGetLastError());
}

void Touch(Device& device, std::uint32_t* memory, std::size_t words, const std::uint32_t* order, Access access) {
  const cudaStream_t stream = StreamOf(device);
  const unsigned blocks = Blocks(device, words);
  switch (access) {
    case Access::kRead:
      if (order == nullptr) {
        ReadKernel<<<blocks, kBlock, 0, stream>>>(memory, words, kNever);
      } else {
        ReadRandomKernel<<<blocks, kBlock, 0, stream>>>(memory, words, order, kNever);
      }
      break;
    case Access::kWrite:
      if (order == nullptr) {
        WriteKernel<<<blocks, kBlock, 0, stream>>>(memory, words);
      } else {
        WriteRandomKernel<<<blocks, kBlock, 0, stream>>>(memory, words, order);
      }
      break;
    case Access::kAtomic:
      if (order == nullptr) {
        AtomicKernel<<<blocks, kBlock, 0, stream>>>(memory, words);
      } else {
        AtomicRandomKernel<<<blocks, kBlock, 0, stream>>>(memory, words, order);
      }
      break;
  }
  CHATTY_CUDA(cudaGetLastError());
}

void LaunchNothing(Device& device) {
  NothingKernel<<<1, 32, 0, StreamOf(device)>>>();
  CHATTY_CUDA(cudaGetLastError());
}

double FlagRoundTripUs(Device& a, Device& b, std::uint32_t* flag_a, std::uint32_t* flag_b, unsigned rounds) {
  Pinned<std::uint32_t> lost(a, 1);
  lost[0] = 0;
  double us = 0;
  // The first pass loads the kernel. A load may wait for running work, so no kernel may wait for a flag then.
  for (const unsigned turns : {0u, rounds}) {
    for (auto [device, flag] : {std::pair(&a, flag_a), std::pair(&b, flag_b)}) {
      device->MakeCurrent();
      LowerKernel<<<1, 1, 0, StreamOf(*device)>>>(flag);  // the flag may be in host memory
      CHATTY_CUDA(cudaGetLastError());
      device->stream().Synchronize();
    }
    const Clock::time_point start = Clock::now();
    b.MakeCurrent();
    FlagKernel<<<1, 1, 0, StreamOf(b)>>>(flag_b, flag_a, turns, false, lost.data());
    CHATTY_CUDA(cudaGetLastError());
    a.MakeCurrent();
    FlagKernel<<<1, 1, 0, StreamOf(a)>>>(flag_a, flag_b, turns, true, lost.data());
    CHATTY_CUDA(cudaGetLastError());
    a.stream().Synchronize();
    b.stream().Synchronize();
    us = Microseconds(start);
  }
  if (lost[0] != 0) {
    Throw<DeviceError>("a flag between {} and {} did not arrive within a second", a.label(), b.label());
  }
  return us / rounds;
}

double DeviceBarrierUs(Device& device, unsigned rounds) {
  double us = 0;
  for (unsigned turns : {0u, rounds}) {
    std::array<void*, 1> arguments{&turns};
    const Clock::time_point start = Clock::now();
    CHATTY_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&BarrierKernel),
                                            dim3(static_cast<unsigned>(device.info().multiprocessors)), dim3(kBlock),
                                            arguments.data(), 0, StreamOf(device)));
    device.stream().Synchronize();
    us = Microseconds(start);
  }
  return us / rounds;
}

bool NativeAtomics(Device& from, Device& to) {
  if (from.index() == to.index()) return true;  // one GPU: the driver need not be asked
  int native = 0;
  CHATTY_CUDA(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, from.index(), to.index()));
  return native != 0;
}

Versions SoftwareVersions() {
  Versions versions;
  if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
  if (cudaRuntimeGetVersion(&versions.runtime) != cudaSuccess) versions.runtime = 0;
  return versions;
}

}  // namespace chatty::probes::cuda
