/// \file
/// A resident kernel seen from the host: it is launched cooperatively, stopped by a word in mapped memory, and watched by
/// another that it counts on.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/launch.cuh"
#include "chatty/core/sync.h"

namespace chatty::fused::cuda {

/// What the errors of a resident kernel advise.
struct ResidentAdvice {
  std::string_view no_room = "use execution bsp";  ///< where a block needs too much shared memory
  std::string_view timeout = "raise --timeout if the work is known to take longer";  ///< after a step that takes too long
};

/// Launches resident kernels on a device's stream, one at a time. The device must outlive it.
class ResidentKernel {
 public:
  explicit ResidentKernel(Device& device, ResidentAdvice advice = {})
      : device_(device), advice_(advice), words_(device, 2) {}

  /// Blocks of a launch: one a multiprocessor. Throws CapabilityError where `kernel` cannot have them all resident, or has
  /// another layout of its parameters than the host.
  template <class Kernel>
  unsigned Blocks(Kernel* kernel, unsigned threads, std::size_t shared_bytes) const {
    BlocksOfOne(kernel, threads, shared_bytes);
    return static_cast<unsigned>(device_.info().multiprocessors);
  }
  /// Blocks of a launch: as many as are resident at once. Throws likewise.
  template <class Kernel>
  unsigned MaxBlocks(Kernel* kernel, unsigned threads, std::size_t shared_bytes) const {
    return BlocksOfOne(kernel, threads, shared_bytes) * static_cast<unsigned>(device_.info().multiprocessors);
  }

  /// Mapped memory for the kernel: whether to stop, which it reads; and its step, which it writes and which restarts the
  /// deadline.
  volatile std::uint32_t* words() { return words_.data(); }

  /// Enqueues the kernel.
  template <class Kernel, class... Arguments>
  void Launch(Kernel* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes, Arguments&... arguments) {
    words_[0] = words_[1] = 0;
    void* list[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    CHATTY_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), list,
                                            shared_bytes, stream()));
  }

  /// Enqueues the kernel on a GPU where kernels of other devices run beside it, all of whose blocks fit together.
  template <class Kernel, class... Arguments>
  void LaunchBeside(Kernel* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes, Arguments&... arguments) {
    words_[0] = words_[1] = 0;
    void* list[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    CHATTY_CUDA(
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), list, shared_bytes, stream()));
  }

  /// Waits for the stream. Passes a stop request on to the kernel, which also ends by itself after an error or a deadline.
  /// Throws TimeoutError after a step of more than the context's timeout, AbortedError and DeviceError.
  void Await(const std::stop_token* stop_token, const WaitContext& context) {
    Watch watch{Clock::now()};
    while (!HasEnded()) Look(watch, stop_token, context);
  }

  /// Waits likewise until the kernel has stored `value` to *word, mapped memory: sooner than the stream says so.
  void AwaitWord(const std::uint32_t* word, std::uint32_t value, const std::stop_token* stop_token,
                 const WaitContext& context) {
    constexpr std::uint32_t kPolls = 256;  // of the word for each look at all else
    Watch watch{Clock::now()};
    const auto arrived = [&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; };
    for (std::uint32_t polls = 1; !arrived(); ++polls) {
      if (polls % kPolls != 0) continue;
      if (HasEnded() && !arrived()) throw InternalError("a resident kernel has ended without its report");
      Look(watch, stop_token, context);
    }
  }

 private:
  /// Blocks that one multiprocessor holds.
  template <class Kernel>
  unsigned BlocksOfOne(Kernel* kernel, unsigned threads, std::size_t shared_bytes) const {
    CheckParameters(kernel, device_.label());
    if (shared_bytes > 0) {
      CHATTY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    }
    int blocks = 0;
    CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes));
    if (blocks < 1) {
      Throw<CapabilityError>("{}: the resident kernel needs {} bytes of shared memory a block; {}", device_.label(),
                             shared_bytes, advice_.no_room);
    }
    return static_cast<unsigned>(blocks);
  }
  /// Since when a step is waited for, and which.
  struct Watch {
    Clock::time_point start;
    std::uint32_t step = 0;
  };

  bool HasEnded() const {
    const cudaError_t state = cudaStreamQuery(stream());
    if (state == cudaErrorNotReady) return false;
    if (state != cudaSuccess) chatty::detail::ThrowCudaWork(state, device_.label(), "a resident kernel");
    return true;
  }
  void Look(Watch& watch, const std::stop_token* stop_token, const WaitContext& context) {
    const auto stop = [&] { __atomic_store_n(&words_[0], 1u, __ATOMIC_RELAXED); };
    if (stop_token != nullptr && stop_token->stop_requested()) stop();
    if (const std::uint32_t now = __atomic_load_n(&words_[1], __ATOMIC_RELAXED); now != watch.step) {
      watch = {Clock::now(), now};  // a deadline is of a step, as it is of a round
    }
    if (context.timeout.count() > 0 && Clock::now() - watch.start > context.timeout) {
      stop();
      Throw<TimeoutError>("{}: waited {} ms for a resident kernel; {}", device_.label(), context.timeout.count(),
                          advice_.timeout);
    }
    try {
      if (context.abort != nullptr) context.abort->ThrowIfAborted("a resident kernel");
    } catch (...) {
      stop();
      throw;
    }
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }

  Device& device_;
  const ResidentAdvice advice_;
  Pinned<std::uint32_t> words_;
};

}  // namespace chatty::fused::cuda
