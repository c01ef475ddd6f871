/// \file
/// `chatty run`: a program on a graph.
#pragma once

#include <string>

#include "chatty/cli/run/options.h"
#include "chatty/framework/registry.h"

namespace chatty::cli {
/// Runs the program and reports. Returns an ExitCode, or minus the signal that interrupted the trials.
int RunCommand(const Registry& registry, const RunCommandOptions& given, const std::string& command_line);

}  // namespace chatty::cli
