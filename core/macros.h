/// \file
/// What lets one function serve a CPU thread and a GPU thread.
#pragma once

/// Marks a function that runs on host and CUDA devices alike. A vertex program's members carry it.
#if defined(__CUDACC__)
#define CHATTY_FN __host__ __device__ inline
#define CHATTY_HD __host__ __device__
#else
#define CHATTY_FN inline
/// As CHATTY_FN, without `inline`.
#define CHATTY_HD
#endif

/// Defined where the compiler at hand can instantiate the CUDA steps.
#if defined(__CUDACC__)
#define CHATTY_CUDA_COMPILER 1
#else
#define CHATTY_CUDA_COMPILER 0
#endif

/// 1 in the pass of nvcc that compiles for GPUs, 0 otherwise.
#if defined(__CUDA_ARCH__)
#define CHATTY_DEVICE_CODE 1
#else
#define CHATTY_DEVICE_CODE 0
#endif

/// Width of a global vertex id in bits, 32 or 64. One binary holds one width: `Graph` lives in an inline namespace named
/// after it, so that mixing the two fails to link instead of misreading memory. The library's own sources that know no
/// global ids are compiled once for both, with CHATTY_ANY_WIDTH: there `VertexId` is not declared, and its use fails to
/// compile.
#ifdef CHATTY_ANY_WIDTH
#ifdef CHATTY_VERTEX_BITS
#error "CHATTY_ANY_WIDTH and CHATTY_VERTEX_BITS exclude each other"
#endif
#else
#ifndef CHATTY_VERTEX_BITS
#define CHATTY_VERTEX_BITS 32
#endif
#if CHATTY_VERTEX_BITS == 32
#define CHATTY_ABI ids32
#elif CHATTY_VERTEX_BITS == 64
#define CHATTY_ABI ids64
#else
#error "CHATTY_VERTEX_BITS is 32 or 64"
#endif
#endif
