/// \file
/// The library's log: one spdlog logger on stderr. Stdout is left to the caller's results.
#pragma once

#include <spdlog/logger.h>

#include <string_view>

namespace chatty {

/// The logger of the whole library. Its initial level is that of the environment variable CHATTY_LOG, or "info".
/// Thread-safe. A line never mixes with a progress bar: the bar is wiped first and reappears at its next redraw.
spdlog::logger& Log();

/// Sets the level: "trace", "debug", "info", "warning", "error", "critical" or "off". Overrides CHATTY_LOG. Throws
/// UsageError with the list of levels for any other text.
void SetLogLevel(std::string_view level);

}  // namespace chatty
