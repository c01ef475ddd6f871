/// \file
/// Manual pages, from the same description that help texts are made from.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace chatty::cli {

/// The word that, as a command's first argument, has the manual pages written into the folder that follows: what the build
/// calls to install them.
inline constexpr std::string_view kManualCommand = "__manual";

/// The page of the whole (`chatty.1`), or with a subcommand that one's (`chatty-run.1`), for man(7)'s macros.
std::string ManualPage(const CLI::App& app, const CLI::App* command);
/// Writes all pages, NAME.1 each. Throws InputError if the folder does not take them.
void WriteManual(const CLI::App& app, const std::string& folder);

}  // namespace chatty::cli
