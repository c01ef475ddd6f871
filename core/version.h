/// \file
/// Which build this is. Records of runs carry it, so that a number can be traced to the code that made it.
#pragma once

#include <string>
#include <string_view>

#include "chatty/core/config.h"

namespace chatty {

/// The library's version, "0.1.0".
std::string_view Version();

/// The full commit hash that the library was built from, followed by "-dirty" if the tree had changes that were not
/// committed; "unknown" when it was not built from a git checkout.
std::string_view GitCommit();

/// The compiler and its version, "gcc 12.2.0" or "clang 14.0.6".
std::string CompilerVersion();

/// The CUDA toolkit that the library was compiled with, "13.0.88"; empty in a host-only build.
std::string CudaVersion();

/// One line for people: version, commit, compiler, CUDA and width of vertex ids.
std::string BuildDescription();

}  // namespace chatty
