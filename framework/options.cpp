#include "chatty/framework/options.h"

#include <fmt/format.h>

#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "chatty/framework/run_plan.h"

namespace chatty {

std::string_view ExecutionName(Execution execution) {
  if (execution == Execution::kAuto) return "auto";
  for (const NamedEngine& engine : Engines()) {
    if (engine.execution == execution) return engine.name;
  }
  throw InternalError("an unknown execution");
}

Execution ParseExecution(std::string_view name) {
  if (name == "auto") return Execution::kAuto;
  std::vector<std::string_view> names{"auto"};
  for (const NamedEngine& engine : Engines()) {
    if (!engine.execution) continue;
    if (name == engine.name) return *engine.execution;
    names.push_back(engine.name);
  }
  Throw<UsageError>("there is no execution '{}'{}; choose auto, bsp or async", name, DidYouMean(name, names));
}

}  // namespace chatty
