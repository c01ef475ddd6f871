/// \file
/// A comparison as a page: charts drawn here, nothing loaded from anywhere.
#pragma once

#include <string>

#include "chatty/cli/compare/data.h"

namespace chatty::cli {

/// A whole HTML document, light and dark, for wide and narrow screens. Each chart stands in a `figure` whose id is one of
/// `time`, `scaling`, `pairs`, `shares`, `sizes`, `model`, `crossovers`, `regret`, and has one sentence that says how to
/// read it; one without data says what is missing.
std::string ComparisonPage(const Comparison& comparison);

}  // namespace chatty::cli
