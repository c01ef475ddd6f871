/// \file
/// `chatty compare`: programs, engines, paths and numbers of devices on graphs.
#pragma once

#include <string>

#include "chatty/cli/compare/plan.h"
#include "chatty/framework/registry.h"

namespace chatty::cli {

/// Measures, or goes on with what was measured, and writes the folder. Returns an ExitCode, or minus the signal that
/// interrupted it.
int CompareCommand(const Registry& registry, const CompareOptions& options, const std::string& command_line);

}  // namespace chatty::cli
