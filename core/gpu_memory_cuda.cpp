#include <cuda.h>

#include <array>
#include <cstdint>

#include "chatty/core/cuda.h"
#include "chatty/core/gpu_memory.h"

namespace chatty {
namespace {

/// A function of the driver, by way of the runtime: a build does not need the driver's library, nor does a machine without a
/// GPU. Null where there is no driver.
template <class Function>
Function DriverFunction(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
}

/// The driver's functions on contexts.
struct Driver {
  decltype(&cuCtxGetCurrent) current = DriverFunction<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent");
  decltype(&cuCtxSetCurrent) set_current = DriverFunction<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent");
  decltype(&cuCtxPushCurrent) push = DriverFunction<decltype(&cuCtxPushCurrent)>("cuCtxPushCurrent");
  decltype(&cuCtxPopCurrent) pop = DriverFunction<decltype(&cuCtxPopCurrent)>("cuCtxPopCurrent");
  decltype(&cuDeviceGet) device = DriverFunction<decltype(&cuDeviceGet)>("cuDeviceGet");
  decltype(&cuDevicePrimaryCtxGetState) state =
      DriverFunction<decltype(&cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  decltype(&cuDevicePrimaryCtxRetain) retain =
      DriverFunction<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxRelease) release =
      DriverFunction<decltype(&cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease");
  decltype(&cuPointerGetAttributes) attributes = DriverFunction<decltype(&cuPointerGetAttributes)>("cuPointerGetAttributes");

  bool complete() const {
    return current != nullptr && set_current != nullptr && push != nullptr && pop != nullptr && device != nullptr &&
           state != nullptr && retain != nullptr && release != nullptr && attributes != nullptr;
  }
};

const Driver& TheDriver() {
  static const Driver driver;
  return driver;
}

/// The calling thread's current context; null for none.
CUcontext CurrentContext() {
  CUcontext context = nullptr;
  return TheDriver().complete() && TheDriver().current(&context) == CUDA_SUCCESS ? context : nullptr;
}

}  // namespace

namespace detail {

bool HasPrimaryContext(int ordinal) {
  const Driver& driver = TheDriver();
  if (!driver.complete()) return true;
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 0;
  // They fail where the driver was not initialised, in a process without any context.
  return driver.device(&device, ordinal) == CUDA_SUCCESS && driver.state(device, &flags, &active) == CUDA_SUCCESS &&
         active != 0;
}

void PushPrimaryContext(int ordinal) {
#if CUDART_VERSION >= 12000
  CHATTY_CUDA(cudaInitDevice(ordinal, 0, 0));  // the runtime keeps the context then, and none is made current
#endif
  const Driver& driver = TheDriver();
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult result = driver.device(&device, ordinal);
  if (result == CUDA_SUCCESS) result = driver.retain(&context, device);
  if (result != CUDA_SUCCESS)
    Throw<DeviceError>("cuda:{}: the driver gives no context: error {}", ordinal, static_cast<int>(result));
  result = driver.push(context);
  if (result == CUDA_SUCCESS) return;
  driver.release(device);
  Throw<DeviceError>("cuda:{}: the driver does not make its context current: error {}", ordinal, static_cast<int>(result));
}

void PopPrimaryContext(int ordinal) noexcept {
  const Driver& driver = TheDriver();
  CUdevice device = 0;
  CUcontext context = nullptr;
  driver.pop(&context);
  if (driver.device(&device, ordinal) == CUDA_SUCCESS) driver.release(device);
}

}  // namespace detail

std::optional<int> GpuOf(const void* address) {
  // The runtime's cudaPointerGetAttributes also says where the current GPU finds the address, for which it creates a
  // context.
  const Driver& driver = TheDriver();
  if (!driver.complete()) return std::nullopt;
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  std::array<CUpointer_attribute, 3> names = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                              CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 3> values = {&type, &managed, &ordinal};
  if (driver.attributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                        reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS) {
    return std::nullopt;  // a process without a GPU
  }
  if (type != CU_MEMORYTYPE_DEVICE && managed == 0) return std::nullopt;
  return ordinal;
}

std::shared_ptr<std::byte> AllocateGpuMemory(int ordinal, std::size_t bytes) {
  const AsCurrent owner(ordinal);
  void* pointer = nullptr;
  const cudaError_t error = cudaMalloc(&pointer, bytes > 0 ? bytes : 1);
  if (error == cudaErrorMemoryAllocation) detail::ThrowOutOfGpuMemory(ordinal, bytes);
  CHATTY_CUDA(error);
  // cudaFree waits for the GPU, so consumers on streams of their own have read what they enqueued. On a thread without a
  // context it would create that of the current GPU, which may be another one.
  return {static_cast<std::byte*>(pointer), [ordinal](std::byte* memory) {
            try {
              const AsCurrent its_own(ordinal);
              if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
            } catch (const Error&) {  // where the process ends, CUDA may have ended before
            }
          }};
}

void CopyFromGpu(void* host, int ordinal, const void* gpu, std::size_t count, std::size_t width, std::size_t pitch,
                 void* stream) {
  if (count == 0) return;
  const AsCurrent owner(ordinal);
  const auto native = static_cast<cudaStream_t>(stream);
  if (pitch == width) {
    CHATTY_CUDA(cudaMemcpyAsync(host, gpu, count * width, cudaMemcpyDefault, native));
  } else {
    CHATTY_CUDA(cudaMemcpy2DAsync(host, width, gpu, pitch, width, count, cudaMemcpyDefault, native));
  }
  CHATTY_CUDA(cudaStreamSynchronize(native));
}

bool KeepCurrentGpu::IsPossible() {
  if (CurrentContext() != nullptr) return true;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    cudaGetLastError();  // a process without a GPU
    return true;
  }
  return detail::HasPrimaryContext(device);
}

KeepCurrentGpu::KeepCurrentGpu() : context_(CurrentContext()) {
  if (cudaGetDevice(&before_) == cudaSuccess) return;
  cudaGetLastError();  // a process without a GPU
  before_ = -1;
}

KeepCurrentGpu::~KeepCurrentGpu() {
  int now = -1;
  if (before_ >= 0 && (cudaGetDevice(&now) != cudaSuccess || now != before_) && detail::HasPrimaryContext(before_)) {
    if (cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();  // a lost context, which other calls report
  }
  const auto context = static_cast<CUcontext>(context_);
  if (context != nullptr && CurrentContext() != context) TheDriver().set_current(context);
}

}  // namespace chatty
