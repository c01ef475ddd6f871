// The kernels of bench/kernels.h for callgrind to count, one after the other: what bench/gate starts.
//
//   chatty_gate SCRATCH     each kernel's instructions become a dump of callgrind's, which bears its name; SCRATCH is a file
//                           to write
//   chatty_gate --compiler  says what compiled it
#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <exception>
#include <string_view>

#include "../kernels.h"
#include "chatty/core/version.h"

namespace {

constexpr int kScale = 14;        // caches do not count here, only instructions
constexpr int kUnsupported = 77;  // what ctest takes for skipped

int Count(const char* scratch) {
  for (const chatty::bench::Kernel& kernel : chatty::bench::MakeKernels(kScale, /*threads=*/1, scratch)) {
    // The first run finds what is made once: memory, tables, symbols of shared libraries.
    for (const bool counted : {false, true}) {
      kernel.prepare();
      if (counted) CALLGRIND_START_INSTRUMENTATION;
      kernel.run();
      if (counted) CALLGRIND_STOP_INSTRUMENTATION;
    }
    CALLGRIND_DUMP_STATS_AT(kernel.name.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "chatty_gate SCRATCH | --compiler\n");
    return 2;
  }
  if (std::string_view(argv[1]) == "--compiler") {
    fmt::print("{}\n", chatty::CompilerVersion());
    return 0;
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) {
    fmt::print(stderr, "chatty_gate: compiled for x86-64-v3, which this processor is not\n");
    return kUnsupported;
  }
  try {
    return Count(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "chatty_gate: {}\n", error.what());
    return 1;
  }
}
