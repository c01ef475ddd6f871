#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/framework/steps/cuda/push.cuh"

namespace chatty {
namespace {

namespace pushing = steps::cuda::detail;
using State = StateRef<Bfs>;

/// Whether edge i's message is the first for its target.
CHATTY_FN bool IsFirst(std::size_t i) { return i % 3 == 1; }

__global__ void CountAll(State s, const LocalId* targets, std::size_t edges) {
  __shared__ pushing::PushTempStorage<Bfs> temp_storage;
  pushing::StartCount(s, temp_storage);
  __syncthreads();
  const std::size_t stride = std::size_t{gridDim.x} * steps::cuda::kBlock;
  for (std::size_t base = std::size_t{blockIdx.x} * steps::cuda::kBlock + steps::cuda::Warp() * 32; base < edges;
       base += stride) {
    const std::size_t i = base + steps::cuda::Lane();
    const bool valid = i < edges && i % 7 != 0;
    const LocalId target = valid ? targets[i] : 0;
    const unsigned firsts = __ballot_sync(steps::cuda::kFull, valid && target >= s.graph.owned && IsFirst(i));
    pushing::CountEdges(s, temp_storage, target, valid, firsts);
  }
  pushing::FlushCount(s, temp_storage);
}

// Edges of a push are counted by whose halo vertices they lead to, however many parts there are, some of them with none.
TEST(PushCounts, EdgesAreCountedByOwner) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
  const std::unique_ptr<Device> gpu = MakeCudaDevice(0);
  gpu->MakeCurrent();
  for (const std::uint32_t parts : {1u, 2u, 3u, 31u, 32u, 33u, 64u}) {
    for (const std::uint32_t own : {0u, parts / 2, parts - 1}) {
      constexpr LocalId kOwned = 500;
      std::vector<LocalId> halo_begin = {kOwned};
      for (std::uint32_t p = 0; p < parts; ++p) {
        const bool none = p == own || p % 5 == 3;
        halo_begin.push_back(halo_begin.back() + (none ? 0 : 10 + p * 7 % 50));
      }
      const LocalId local = halo_begin.back();
      std::vector<LocalId> targets(10007);
      std::vector<std::uint64_t> raw(parts), first(parts);
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const LocalId target = targets[i] = static_cast<LocalId>(i * 2654435761u % local);
        if (i % 7 == 0 || target < kOwned) continue;
        std::uint32_t p = 0;
        while (halo_begin[p + 1] <= target) ++p;
        raw[p] += 1;
        first[p] += IsFirst(i) ? 1 : 0;
      }
      Buffer<LocalId> begins(*gpu, halo_begin.size()), list(*gpu, targets.size());
      Buffer<Control> control(*gpu, 1);
      gpu->CopyIn(begins.data(), halo_begin.data(), begins.bytes(), gpu->stream());
      gpu->CopyIn(list.data(), targets.data(), list.bytes(), gpu->stream());
      gpu->Fill(control.data(), 0, sizeof(Control), gpu->stream());
      State s;
      s.graph.owned = kOwned;
      s.graph.local = local;
      s.graph.part = own;
      s.graph.parts = parts;
      s.graph.halo_begin = begins.data();
      s.control = control.data();
      CountAll<<<3, steps::cuda::kBlock, 0, static_cast<cudaStream_t>(gpu->stream().native())>>>(s, list.data(),
                                                                                                 targets.size());
      CHATTY_CUDA(cudaGetLastError());
      Control counted;
      gpu->CopyOut(&counted, control.data(), sizeof(counted), gpu->stream());
      gpu->stream().Synchronize();
      for (std::uint32_t p = 0; p < parts; ++p) {
        EXPECT_EQ(counted.raw_messages[p], raw[p]) << "part " << p << " of " << parts;
        EXPECT_EQ(counted.halo_count[p], first[p]) << "part " << p << " of " << parts;
      }
    }
  }
}

}  // namespace
}  // namespace chatty
