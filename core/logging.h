/// \file
/// The library's log: one spdlog logger on stderr, so that stdout stays the caller's for results.
#pragma once

#include <spdlog/logger.h>

#include <string_view>

namespace chatty {

/// The logger that the whole library writes to. Starts at the level that the environment variable CHATTY_LOG names,
/// "info" without it. Thread-safe. A line never tears a progress bar: the bar is wiped first and comes back at its next
/// redraw.
spdlog::logger& Log();

/// Sets what is shown: "trace", "debug", "info", "warning", "error", "critical" or "off". Wins over CHATTY_LOG. Throws
/// UsageError, naming the choices, for anything else.
void SetLogLevel(std::string_view level);

}  // namespace chatty
