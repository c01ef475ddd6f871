/// \file
/// Runs a function on all devices of a symmetric heap at once: one thread a host device, one kernel a GPU. For tests and for
/// bench/symmetric.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/comm/symmetric/heap.h"
#include "chatty/comm/symmetric/team.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "unlinked_device.h"

#if CHATTY_CUDA_COMPILER
#include "chatty/core/cuda.h"
#endif

namespace chatty::test {

namespace sym = chatty::symmetric;

/// Blocks and threads a block of each GPU's kernel.
struct GridShape {
  unsigned blocks = 32, threads = 128;
};

/// "cuda:0,1", "cuda:0,1 proxy" or "cuda:0,1 proxy unlinked": devices, the backend of their heap if it is not the usual one,
/// and whether their links are masked off.
struct Place {
  explicit Place(const std::string& text) {
    std::istringstream words(text);
    words >> devices;
    if (!(words >> backend)) backend = "auto";
    std::string word;
    unlinked = words >> word && word == "unlinked";
  }
  std::string devices, backend;
  bool unlinked = false;  ///< no device addresses another one's memory
};

/// Devices and their symmetric heap.
struct Heap {
  Heap(const std::string& place, std::size_t bytes, SymmetricOptions options)
      : owners(OpenDevices(ParseDevices(Place(place).devices), 1)) {
    if (Place(place).unlinked) {
      for (auto& owner : owners) owner = std::make_unique<Unlinked>(std::move(owner));
    }
    for (const auto& owner : owners) devices.push_back(owner.get());
    options.backend = Place(place).backend;
    heap.emplace(devices, bytes, options);
  }
  SymmetricHeap* operator->() { return &*heap; }
  SymmetricHeap& operator*() { return *heap; }

  /// The array as device `index` has it.
  template <class T>
  std::vector<T> Read(Symmetric<T> array, std::size_t index) {
    std::vector<T> values(array.count);
    Device& device = *devices[index];
    device.MakeCurrent();
    device.CopyOut(values.data(), heap->data(array, index), values.size() * sizeof(T), device.stream());
    device.stream().Synchronize();
    return values;
  }

  std::vector<std::unique_ptr<Device>> owners;
  std::vector<Device*> devices;
  std::optional<SymmetricHeap> heap;
};

#if CHATTY_CUDA_COMPILER

template <class Function>
__global__ void RunFunction(const __grid_constant__ SymmetricRef heap, const __grid_constant__ Function function) {
  function(heap);
}

/// Kernels are loaded on all devices before the first is launched: loading may wait for a running kernel. Cooperative
/// launches make all blocks resident; kernels that share a GPU are launched without, with fewer blocks than fit together.
template <class Function>
void Launch(SymmetricHeap& heap, const Function& function, GridShape shape) {
  auto* const kernel = &RunFunction<Function>;
  bool shares = false;
  for (std::size_t i = 0; i < heap.size(); ++i) {
    Device& device = heap.device(i);
    device.MakeCurrent();
    cudaFuncAttributes attributes = {};
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
    int blocks = 0;
    CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(shape.threads), 0));
    std::size_t sharing = 0;
    for (std::size_t j = 0; j < heap.size(); ++j) sharing += heap.device(j).index() == device.index() ? 1 : 0;
    shares = shares || sharing > 1;
    const auto most = static_cast<std::size_t>(blocks * device.info().multiprocessors);
    CHATTY_CHECK(shape.blocks * sharing <= most, "{} kernels of {} blocks, but {} fit on {}", sharing, shape.blocks, most,
                 device.label());
  }
  for (std::size_t i = 0; i < heap.size(); ++i) {
    Device& device = heap.device(i);
    device.MakeCurrent();
    SymmetricRef ref = heap.ref(i);
    Function copy = function;
    void* arguments[] = {&ref, &copy};
    auto* const stream = static_cast<cudaStream_t>(device.stream().native());
    const auto* const code = reinterpret_cast<const void*>(kernel);
    if (shares) {
      CHATTY_CUDA(cudaLaunchKernel(code, dim3(shape.blocks), dim3(shape.threads), arguments, 0, stream));
    } else {
      CHATTY_CUDA(cudaLaunchCooperativeKernel(code, dim3(shape.blocks), dim3(shape.threads), arguments, 0, stream));
    }
  }
  for (std::size_t i = 0; i < heap.size(); ++i) heap.device(i).stream().Synchronize();
}

#endif

/// Returns when the function has ended on all devices.
template <class Function>
void RunOnAll(SymmetricHeap& heap, const Function& function, [[maybe_unused]] GridShape shape = {}) {
  heap.BeginRun();
  if (heap.device(0).kind() == DeviceKind::kCuda) {
#if CHATTY_CUDA_COMPILER
    Launch(heap, function, shape);
    heap.Complete();
#endif
    return;
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < heap.size(); ++i) {
    threads.emplace_back([&heap, &function, i] {
      const SymmetricRef ref = heap.ref(i);
      function(ref);
      if (ref.delays != nullptr) ref.delays->PerformAll(ref.me);
    });
  }
  for (std::thread& thread : threads) thread.join();
  heap.Complete();
}

}  // namespace chatty::test
