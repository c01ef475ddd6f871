/// \file
/// What an interrupt leaves behind: nothing.
#pragma once

#include <string>

namespace chatty::cli {

/// From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored, first remove what OutputFile has begun to write
/// beside `path`, and then end the process as they would have. Call it before the process starts threads, which inherit
/// that these signals go to a thread of their own.
void CleanUpOnInterrupt(const std::string& path);

}  // namespace chatty::cli
