/// \file
/// A trace as a file that Perfetto (https://ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chatty/core/trace.h"

namespace chatty {

/// What a trace file says of the run besides its events: names and texts.
using TraceNotes = std::vector<std::pair<std::string, std::string>>;

/// Writes `trace` in Chrome's trace event format: a process a track, a thread a row, times in microseconds with three
/// decimals. `notes`, the version of this build and the numbers of events kept and dropped stand under "otherData". The file
/// appears once it is complete and is compressed if its name ends in .gz or .zst, see OutputFile. Not while a run writes the
/// trace. Throws InputError where the file cannot be created, CapabilityError where writing fails, OutOfMemoryError.
void WriteTraceFile(const std::string& path, const Trace& trace, const TraceNotes& notes = {});

}  // namespace chatty
