/// \file
/// What `chatty run` prints at its end.
#pragma once

#include <string>

#include "chatty/cli/load.h"
#include "chatty/cli/run/options.h"
#include "chatty/cli/run/record.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"

namespace chatty::cli {
/// A line for the program and the graph, and one for each thing to know of the run; with --explain a table of its messages.
/// `colours`: on a terminal.
std::string RunSummary(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                       const Session& session, const RunResults& results, bool colours);

}  // namespace chatty::cli
