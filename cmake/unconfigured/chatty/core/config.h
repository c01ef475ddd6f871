/// \file
/// What stands for the generated header of this name where nothing has been configured: editors and tools read it through
/// compile_flags.txt. No build does.
#pragma once

#define CHATTY_VERSION "unconfigured"
#define CHATTY_VERSION_MAJOR 0
#define CHATTY_VERSION_MINOR 0
#define CHATTY_VERSION_PATCH 0

#define CHATTY_WITH_CUDA 0
#define CHATTY_WITH_NCCL 0
#define CHATTY_WITH_METIS 0
#define CHATTY_WITH_HWLOC 0
#define CHATTY_WITH_LIBDEFLATE 0

#define CHATTY_CUDA_TOOLKIT_VERSION ""
