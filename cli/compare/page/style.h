/// \file
/// The style sheet of a comparison's page: style.css, as it was when this was built.
#pragma once

#include <string_view>

namespace chatty::cli {

/// Its text. Written by CMake.
extern const std::string_view kComparisonStyle;

}  // namespace chatty::cli
