/// \file
/// The command line program as a function, so that a project of one's own can carry it with its own programs:
///
///     int main(int argc, char** argv) {
///       chatty::Registry registry;
///       chatty::RegisterPrograms(registry);
///       return chatty::cli::RunCommandLine(argc, argv, registry);
///     }
#pragma once

#include "chatty/framework/registry.h"

namespace chatty::cli {

/// What scripts can rely on.
enum ExitCode : int {
  kSuccess = 0,
  kRunFailed = 1,    ///< the machine lacks something, or a device, a transport or a write failed
  kUsage = 2,        ///< the command line or an input makes no sense
  kWrongAnswer = 3,  ///< verification failed
};

/// Parses and carries out one command line. Results go to standard output, everything else to standard error; an error
/// is one line that begins with `chatty: error: `. Catches whatever is thrown. Returns an ExitCode. Once per process,
/// from its only thread: a command that writes files has interrupts remove unfinished ones.
int RunCommandLine(int argc, const char* const* argv, const Registry& registry);

}  // namespace chatty::cli
