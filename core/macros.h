/// \file
/// Macros for functions that run on CPU threads and GPU threads.
#pragma once

/// Marks a function that runs on host and CUDA devices. A vertex program's members carry it.
#if defined(__CUDACC__)
#define CHATTY_FN __host__ __device__ inline
#define CHATTY_HD __host__ __device__
#else
#define CHATTY_FN inline
/// As CHATTY_FN, without `inline`.
#define CHATTY_HD
#endif

/// Before a template that is CHATTY_FN and calls functions of the host: it is called on hosts alone, from a function that is
/// CHATTY_FN. nvcc does not warn of the calls then.
#if defined(__CUDACC__)
#define CHATTY_NO_EXEC_CHECK _Pragma("nv_exec_check_disable")
#else
#define CHATTY_NO_EXEC_CHECK
#endif

/// 1 if this compiler can instantiate the CUDA steps, otherwise 0.
#if defined(__CUDACC__)
#define CHATTY_CUDA_COMPILER 1
#else
#define CHATTY_CUDA_COMPILER 0
#endif

/// 1 in nvcc's pass for GPU code, otherwise 0.
#if defined(__CUDA_ARCH__)
#define CHATTY_DEVICE_CODE 1
#else
#define CHATTY_DEVICE_CODE 0
#endif

/// Width of a global vertex id in bits, 32 or 64. A binary has one width: `Graph` is in an inline namespace named after it,
/// so that code of both widths fails to link. Library sources without global ids are compiled once, for both widths, with
/// CHATTY_ANY_WIDTH. `VertexId` is then undeclared, so that its use fails to compile.
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
