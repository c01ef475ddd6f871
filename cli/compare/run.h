/// \file
/// Carries out a comparison: measures what a plan asks for, within its time, and writes each result down at once.
#pragma once

#include <cstddef>
#include <string>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/stop.h"
#include "chatty/framework/registry.h"

namespace chatty::cli {

/// How a comparison ended.
struct CompareEnd {
  bool out_of_time = false;  ///< the budget ended it
  std::size_t dropped = 0;   ///< combinations of which something was measured by other costs than are known now
  bool give_up = false;      ///< a GPU may be held for good by a kernel: whatever waits for it waits for ever
};

/// Measures what `comparison` lacks of the plan until `stop` asks for an end, adds it there and to the journal. Failures of
/// a run are results; throws UsageError, before anything is measured, for a source that is no vertex of one of the graphs,
/// and else only where the journal cannot be written.
CompareEnd Measure(const Registry& registry, const CompareOptions& options, const ComparePlan& plan, Journal& journal,
                   const CompareStop& stop, Comparison& comparison);

}  // namespace chatty::cli
