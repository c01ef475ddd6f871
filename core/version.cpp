#include "chatty/core/version.h"

#include <fmt/format.h>

#include "chatty/core/macros.h"

namespace chatty {

std::string CompilerVersion() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

std::string CudaVersion() { return CHATTY_CUDA_TOOLKIT_VERSION; }

std::string BuildDescription() {
  const std::string cuda = CudaVersion();
  return fmt::format("chatty {} ({}), {}, {}, {}-bit vertex ids", Version(), GitCommit(), CompilerVersion(),
                     cuda.empty() ? std::string("no CUDA") : "CUDA " + cuda, CHATTY_VERTEX_BITS);
}

}  // namespace chatty
