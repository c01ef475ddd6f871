/// \file
/// The command line of `chatty run`.
#pragma once

#include <cstdint>
#include <string>

#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/framework/options.h"

namespace chatty::cli {
/// The options of `chatty run`, as text where a name has a meaning of its own.
struct RunCommandOptions {
  std::string program, graph, ldbc;
  LoadOptions load;
  ParameterOptions parameters;
  std::string devices = "auto";
  std::string partition = "edge-balanced";
  bool partition_fallback = true;
  std::string direction = "auto";
  std::string execution = "auto";
  std::string transport = "auto", links = "all", tiles = "auto", records = "auto", delta = "auto";
  bool explain = false;
  bool plan = false;  // print the plan of the run in place of running it
  std::uint32_t max_rounds = 0;
  std::string bind = "auto";
  double timeout_s = 0;
  std::uint32_t trials = 1;
  std::uint64_t seed = 1;
  std::uint64_t memory_limit = 0;  // bytes; 0: what there is
  bool verify = false;
  std::string output, output_format, json, trace;
};

/// The text of `--delta`, as RunOptions::delta: "auto", "off" or a positive number. Throws UsageError.
double ParseDelta(const std::string& text);

/// What a program is run with, from the text of the options; but for `links`, which count devices that are not known yet.
/// Throws UsageError.
RunOptions ParseRunOptions(const RunCommandOptions& options);

}  // namespace chatty::cli
