/// \file
/// The trace of `chatty run`.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "chatty/cli/run/options.h"
#include "chatty/core/abbreviated.h"
#include "chatty/core/logging.h"
#include "chatty/core/trace.h"
#include "chatty/io/trace_file.h"

namespace chatty::cli {
/// `--trace`: the recording, and the file that it becomes, also when the run fails.
class TraceOutput {
 public:
  TraceOutput(const RunCommandOptions& options, const std::string& command_line)
      : path_(options.trace),
        notes_{{"command", command_line},
               {"program", options.program},
               {"graph", options.graph},
               {"devices", options.devices}} {
    if (!path_.empty()) trace_.emplace();
  }
  ~TraceOutput() {
    if (!trace_ || !started_) return;
    notes_.emplace_back("ended", "the run failed");
    try {
      WriteTraceFile(path_, *trace_, notes_);
    } catch (const std::exception& error) {  // what made the run fail is the news
      Log().warn("the trace of the failed run was not written: {}", error.what());
    }
  }
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  Trace* trace() { return trace_ ? &*trace_ : nullptr; }
  void Start() { started_ = true; }  ///< from here on a failure leaves a trace
  void Write() {
    if (!trace_) return;
    if (trace_->dropped() > 0) {
      Log().warn("{}: holds the first {} events; {} more were dropped", Abbreviated(path_), trace_->limit(),
                 trace_->dropped());
    }
    try {
      WriteTraceFile(path_, *trace_, notes_);
    } catch (...) {
      trace_.reset();  // the error comes once
      throw;
    }
    trace_.reset();
  }

 private:
  const std::string path_;
  TraceNotes notes_;
  std::optional<Trace> trace_;
  bool started_ = false;
};

}  // namespace chatty::cli
