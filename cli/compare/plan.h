/// \file
/// What `chatty compare` is asked for, and the combinations that follow from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/comm/comm_spec.h"
#include "chatty/core/device.h"
#include "chatty/framework/options.h"
#include "chatty/framework/registry.h"

namespace chatty::cli {

struct EngineFigure;

/// The command line of `chatty compare`.
struct CompareOptions {
  std::vector<std::string> graphs;
  LoadOptions load;
  ParameterOptions parameters;
  std::string programs = "bfs,sssp,pr,cc";
  std::string execution = "bsp,async";
  std::string comm = "all";
  std::string devices;      ///< empty: 1, 2, 4, … up to what there is
  std::string on = "auto";  ///< a kind, or GPUs as ParseDevices reads them
  std::string partition = "edge-balanced";
  std::string links = "all";
  std::string figure;
  bool figure_alone = false;  ///< only what the figure shows is measured: engines and paths are its own
  std::string out;
  std::uint32_t trials = 3;
  std::uint64_t seed = 1;
  double budget_s = 0;  ///< 0: no limit
  double timeout_s = 60;
  bool resume = false;
};

/// `--timeout` as waits take it.
std::chrono::milliseconds TimeoutOf(const CompareOptions& options);

/// What an entry of `--execution` means.
struct EngineChoice {
  Execution execution = Execution::kBsp;
  double delta = kAutoDelta;                             ///< as RunOptions::delta
  bool operator==(const EngineChoice&) const = default;  ///< all members
};
/// Reads "bsp", "async", or either with a width of buckets: "async:delta=off". Throws UsageError.
EngineChoice ParseEngine(std::string_view text);

/// What is to be measured.
struct ComparePlan {
  DeviceKind kind = DeviceKind::kHost;
  std::vector<std::string> programs, executions, comms, partitions;
  std::map<std::string, EngineChoice> engines;  ///< what the entries of `executions` mean
  std::map<std::string, CommSpec> specs;        ///< what the entries of `comms` mean
  std::vector<std::uint32_t> devices;           ///< how many at a time, ascending
  DeviceSelection pool;                         ///< what there is to take them from, the first so many
  std::string on;                               ///< its kind, or how it was named
  const EngineFigure* figure = nullptr;         ///< nothing that it cannot show is measured; may be null
  std::vector<std::string> optional;            ///< paths of `--comm all`: one that cannot join the devices is left out
  std::vector<std::string> graphs;  ///< as the comparison calls those of the command line; MakePlan leaves it empty

  std::uint32_t most() const { return devices.back(); }
  /// How a combination of this plan runs: engine, and what carries messages. No more than one device: nothing does.
  RunOptions OptionsOf(const Combination& combination) const;
  /// The first `count` of the pool. Beyond it, GPUs that are not there: whether a path could join so many is another
  /// question.
  DeviceSelection Devices(std::size_t count) const;
};

/// Splits at commas; but what has a `=` belongs together where keys differ: "auto,data=nccl,state=uva" are two. Throws
/// UsageError, naming `option`, for nothing between commas, or the same twice.
std::vector<std::string> SplitList(std::string_view option, std::string_view text);

/// Throws UsageError for names that do not exist, also of `--format`, a program that is named twice, and a source or
/// parameter that none of the programs has; CapabilityError for GPUs that are not there.
ComparePlan MakePlan(const Registry& registry, const CompareOptions& options);

/// The mask for the first `devices` of them: groups lose what is not there, and go with fewer than two left.
std::string MaskFor(std::string_view links, std::size_t devices);

/// All combinations on one graph, in the order in which they are measured: one device first, then the most.
std::vector<Combination> CombinationsOn(const ComparePlan& plan, const std::string& graph);

/// Whether what carries messages goes between these devices in this build.
bool CanJoin(const CommSpec& comm, const DeviceSelection& devices);

/// The parameters that a program has, of those given for all programs.
ParameterOptions ParametersFor(const RegisteredProgram& program, const ParameterOptions& options);

}  // namespace chatty::cli
