/// \file
/// For which devices a compiler instantiates programs.
#pragma once

#include <type_traits>

#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/macros.h"

namespace chatty {

/// Which backends a program is instantiated for. A tag in the type, so that a program compiled by the host compiler and the
/// same program compiled by nvcc are two types and not two definitions of one.
struct HostOnly {};
struct CudaOnly {};  ///< for translation units that leave the host to another
struct HostAndCuda {};
/// The backends that nvcc instantiates. A translation unit that runs its programs on GPUs alone is compiled with
/// -DCHATTY_NVCC_BACKENDS=CudaOnly: the host's steps are half of its compile time.
#ifndef CHATTY_NVCC_BACKENDS
#define CHATTY_NVCC_BACKENDS HostAndCuda
#endif
/// What the compiler at hand instantiates.
using CompiledBackends = std::conditional_t<CHATTY_CUDA_COMPILER, CHATTY_NVCC_BACKENDS, HostOnly>;
/// Whether a set of backends has the host.
template <class Backends>
inline constexpr bool kHasHost = !std::is_same_v<Backends, CudaOnly>;
/// Whether a set of backends has CUDA.
template <class Backends>
inline constexpr bool kHasCuda = !std::is_same_v<Backends, HostOnly>;

namespace detail {

[[noreturn]] inline void ThrowNotCompiled(const Device& device) {
  Throw<CapabilityError>(
      "{}: this program was not compiled for such devices; compile it with nvcc, or add it with "
      "chatty_add_program",
      device.label());
}

}  // namespace detail

}  // namespace chatty
