// Times of the host kernels of bench/kernels.h, by Google Benchmark, whose options it takes, and some of its own:
//
//   chatty_pieces [--scale S] [--threads N] [--benchmark_filter=REGEX] [--benchmark_out=FILE.json] ...
//
// Graphs have 2^S vertices (18), and host devices N threads (one a core). Rates are of edges or bytes that a run works on.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/sync.h"
#include "chatty/core/version.h"
#include "kernels.h"

namespace {

void Time(benchmark::State& state, const chatty::bench::Kernel& kernel) {
  using Clock = std::chrono::steady_clock;
  for ([[maybe_unused]] auto _ : state) {
    kernel.prepare();
    const Clock::time_point start = Clock::now();
    kernel.run();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const auto runs = static_cast<std::int64_t>(state.iterations());
  if (kernel.edges > 0) {
    state.SetItemsProcessed(runs * static_cast<std::int64_t>(kernel.edges));
  } else {
    state.SetBytesProcessed(runs * static_cast<std::int64_t>(kernel.bytes));
  }
}

/// The number behind an option of ours, which is taken out of `arguments`; `number` if it is not given.
int Take(std::vector<char*>& arguments, std::string_view option, int number, int most) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] != option) continue;
    const std::string_view text = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most) {
      throw std::invalid_argument(fmt::format("{} takes a number from 1 to {}, not `{}`", option, most, text));
    }
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + 2);
    return number;
  }
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  std::string scratch;
  try {
    std::vector<char*> arguments(argv, argv + argc);
    const int scale = Take(arguments, "--scale", 18, 26), threads = Take(arguments, "--threads", chatty::Cores(), 1024);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    benchmark::AddCustomContext("scale", std::to_string(scale));
    benchmark::AddCustomContext("threads", std::to_string(threads));
    benchmark::AddCustomContext("commit", std::string(chatty::GitCommit()));
    scratch = (std::filesystem::temp_directory_path() / fmt::format("chatty_pieces.{}", getpid())).string();
    for (const chatty::bench::Kernel& kernel : chatty::bench::MakeKernels(scale, threads, scratch)) {
      benchmark::RegisterBenchmark(kernel.name.c_str(), Time, kernel)->UseManualTime()->Unit(benchmark::kMicrosecond);
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();  // and with it the kernels, the last of which removes the file
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "chatty_pieces: {}\n", error.what());
    return 2;
  }
}
