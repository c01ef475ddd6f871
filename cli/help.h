/// \file
/// How help texts look.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace chatty::cli {

/// CLI11's help, wrapped to 100 columns, with a subcommand's own options first and those of every command last.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace chatty::cli
