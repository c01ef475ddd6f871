/// \file
/// What a call of `chatty run` found, and its record as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chatty/cli/ldbc_input.h"
#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/run/options.h"
#include "chatty/core/graph.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"
#include "chatty/framework/statistics.h"

namespace chatty::cli {
/// What a call of `chatty run` found.
struct RunResults {
  std::string started;
  std::vector<DataFile> data;
  std::string value;
  std::optional<LdbcChoice> ldbc;
  double first_answer_ms = 0;  // since the command began, with all that came before the first run
  double open_ms = 0, partition_ms = 0, upload_ms = 0, prepare_ms = 0, output_ms = 0, verify_ms = 0;
  std::vector<double> trials_ms;
  bool weighted = false;          // the program uses weights of edges
  std::string devices_why;        // `--devices auto` left some idle; else empty
  std::string devices_advice;     // on fewer devices it may be faster, and why; else empty
  std::vector<VertexId> sources;  // one a trial, also a cut off one; 0-based; empty for programs without a source
  ParameterValues parameters;     // of the last trial
  std::string limit_reason;       // RegisteredProgram::LimitReason
  RunPlan plan;
  RunStatistics statistics;            // of the last trial
  int signal = 0;                      // that interrupted the trials; 0: none
  std::string error;                   // that ended the trials; empty: none did
  std::optional<std::uint64_t> total;  // of the last trial's values, of a program that has one
  std::optional<Verdict> verdict;
};

/// What ended the trials early, and what that makes of the values; empty if nothing did.
std::string WhyNotFinal(const RunResults& results);
/// Writes the record of `--json` with `--plan`: schema chatty-plan-1.
void WritePlan(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
               const RunPlan& plan);
/// Writes the record of `--json`: schema chatty-run-2.
void WriteRecord(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                 const Session& session, const RunResults& results);

}  // namespace chatty::cli
