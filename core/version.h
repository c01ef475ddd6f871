/// \file
/// The version of this build. Records of runs contain it, so that results can be traced to the code.
#pragma once

#include <string>
#include <string_view>

#include "chatty/core/config.h"

namespace chatty {

/// The library's version, "0.1.0".
std::string_view Version();

/// The full commit hash of the build, followed by "-dirty" if the tree had uncommitted changes; "unknown" outside a git
/// checkout.
std::string_view GitCommit();

/// The compiler and its version, "gcc 12.2.0" or "clang 14.0.6".
std::string CompilerVersion();

/// The CUDA toolkit of the build, "13.0.88"; empty in a host-only build.
std::string CudaVersion();

/// One line: version, commit, compiler, CUDA and width of vertex ids.
std::string BuildDescription();

}  // namespace chatty
