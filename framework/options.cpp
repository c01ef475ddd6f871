#include "chatty/framework/options.h"

#include <fmt/format.h>

#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"

namespace chatty {

std::string_view ExecutionName(Execution execution) {
  switch (execution) {
    case Execution::kAuto:
      return "auto";
    case Execution::kBsp:
      return "bsp";
    case Execution::kAsync:
      return "async";
  }
  throw InternalError("an unknown execution");
}

Execution ParseExecution(std::string_view name) {
  constexpr std::string_view kNames[] = {"auto", "bsp", "async"};
  for (const Execution execution : {Execution::kAuto, Execution::kBsp, Execution::kAsync}) {
    if (name == ExecutionName(execution)) return execution;
  }
  Throw<UsageError>("there is no execution '{}'{}; choose auto, bsp or async", name, DidYouMean(name, kNames));
}

}  // namespace chatty
