/// \file
/// Writes a trace as a file for Perfetto (https://ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chatty/core/trace.h"

namespace chatty {

/// Metadata of a trace file: names and texts.
using TraceNotes = std::vector<std::pair<std::string, std::string>>;

/// Writes `trace` in Chrome's trace event format: a process for each track, a thread for each row, times in microseconds
/// with three decimals. "otherData" contains `notes`, the version of this build and the numbers of events kept and dropped.
/// The file appears when it is complete; it is compressed if its name ends in .gz or .zst, see OutputFile. Not while a run
/// writes the trace. Throws InputError if the file cannot be created, CapabilityError if a write fails, OutOfMemoryError.
void WriteTraceFile(const std::string& path, const Trace& trace, const TraceNotes& notes = {});

}  // namespace chatty
