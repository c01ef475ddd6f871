#include <cuda_runtime.h>

#include <cstddef>

#include "chatty/core/cuda.h"

namespace chatty::test {

/// Page-locked host memory, mapped: the test and the kernel see it at one address.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t size) { CHATTY_CUDA(cudaMallocHost(reinterpret_cast<void**>(&data_), size * sizeof(T))); }
  ~Memory() { cudaFreeHost(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
};

template <class F>
__global__ void RunThreads(unsigned threads, F f) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) f(i);
}

struct Backend {
  static constexpr unsigned kThreads = 2048;
  template <class F>
  static void Run(unsigned threads, F f) {
    RunThreads<<<(threads + 127) / 128, 128>>>(threads, f);
    CHATTY_CUDA(cudaGetLastError());
    CHATTY_CUDA(cudaDeviceSynchronize());
  }
};

}  // namespace chatty::test

#include "atomics_test_body.h"
