/// \file
/// The subcommands, one file each: what main.cpp's dispatcher needs of them.
#pragma once

#include <functional>
#include <string>

#include "chatty/framework/registry.h"

namespace CLI {
class App;
}  // namespace CLI

namespace chatty::cli {

/// What subcommands share while one command line is carried out.
struct Context {
  const Registry& registry;
  /// Set by the parsed subcommand; called once parsing is over, and returns an ExitCode.
  std::function<int()> action;
  std::string command_line{};   ///< as it was typed, words apart by spaces
  std::string name = "chatty";  ///< what this executable is called
};

void AddRun(CLI::App& app, Context& context);
void AddVerify(CLI::App& app, Context& context);
void AddInfo(CLI::App& app, Context& context);
void AddGenerate(CLI::App& app, Context& context);
void AddConvert(CLI::App& app, Context& context);
void AddPartition(CLI::App& app, Context& context);
void AddPrograms(CLI::App& app, Context& context);
void AddTopology(CLI::App& app, Context& context);
void AddCompare(CLI::App& app, Context& context);
void AddCompletion(CLI::App& app, Context& context);

}  // namespace chatty::cli
