/// \file
/// How help texts look.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}  // namespace CLI

namespace chatty::cli {

/// CLI11's help, wrapped to 100 columns, with a subcommand's own options first and those of every command last.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace chatty::cli
