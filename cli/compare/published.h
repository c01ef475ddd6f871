/// \file
/// The files of bench/published/, as they were when this was built.
#pragma once

#include <span>
#include <string_view>

namespace chatty::cli {

/// Their texts, in order of their names. Written by CMake.
extern const std::span<const std::string_view> kPublishedFiles;

}  // namespace chatty::cli
