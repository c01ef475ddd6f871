#include <nccl.h>

#include "chatty/comm/symmetric/lsa_windows.h"
#include "chatty/core/cuda.h"

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)

#include <nccl_device.h>

namespace chatty::detail {
namespace {

__global__ void Resolve(ncclWindow_t window, unsigned size, std::byte** bases) {
  const unsigned rank = threadIdx.x;
  if (rank < size) bases[rank] = static_cast<std::byte*>(ncclGetLsaPointer(window, 0, static_cast<int>(rank)));
}

}  // namespace

void ResolveWindow(void* window, std::size_t size, std::byte** bases, void* stream) {
  Resolve<<<1, static_cast<unsigned>(size), 0, static_cast<cudaStream_t>(stream)>>>(static_cast<ncclWindow_t>(window),
                                                                                    static_cast<unsigned>(size), bases);
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace chatty::detail

#endif
