#include "chatty/cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace chatty::cli {
namespace {

constexpr std::size_t kColumn = 26, kWidth = 100;

/// "  name      description", the description wrapped and indented.
std::string Entry(const std::string& name, std::string_view description) {
  std::string text = "  " + name;
  std::size_t at = text.size();
  if (at + 2 > kColumn) {
    text += '\n';
    at = 0;
  }
  text.append(kColumn - at, ' ');
  at = kColumn;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find(' '), description.size());
    if (at + end > kWidth && at > kColumn) {
      text.pop_back();  // the blank after the last word
      text += '\n';
      text.append(kColumn, ' ');
      at = kColumn;
    }
    text.append(description.substr(0, end));
    at += end + 1;
    description.remove_prefix(std::min(end + 1, description.size()));
    if (!description.empty()) text += ' ';
  }
  return text + '\n';
}

using OptionList = std::vector<const CLI::Option*>;

OptionList Positionals(const CLI::App* app) {
  return app->get_options([](const CLI::Option* option) { return option->get_positional(); });
}

/// A group's options: --help, or all others.
OptionList Named(const CLI::App* app, const std::string& group, bool help) {
  return app->get_options([&](const CLI::Option* option) {
    return option->get_group() == group && option->nonpositional() && (option == app->get_help_ptr()) == help;
  });
}

std::string Group(const std::string& title, const OptionList& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    std::string name = option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    for (std::size_t at = 0; (at = name.find(",-", at)) != std::string::npos;) name.insert(at + 1, " ");
    if (!option->get_positional() && option->get_type_size() != 0) name += ' ' + option->get_type_name();
    std::string description = option->get_description();
    if (!option->get_positional() && option->get_required()) description += " (required)";
    text += Entry(name, description);
  }
  return text.empty() ? text : fmt::format("\n{}:\n{}", title, text);
}

// Derived from the base alone, whose one function is the same in all versions of CLI11.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const auto commands = app->get_subcommands({});
    std::string text = fmt::format("{}\n\nUsage: {}", app->get_description(), name);
    for (const CLI::Option* option : Positionals(app)) {
      const std::string one = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
      text += option->get_required() ? ' ' + one : fmt::format(" [{}]", one);
    }
    text += commands.empty() ? " [OPTIONS]\n" : " COMMAND ...\n";
    if (!commands.empty()) text += "\nCommands:\n";
    for (const CLI::App* command : commands) text += Entry(command->get_name(), command->get_description());
    text += Group("Arguments", Positionals(app));

    // A command's ungrouped options come first; --help stands with the options of every command, last.
    std::vector<std::string> groups = app->get_groups();
    std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group == "Options"; });
    std::erase(groups, "");  // of options that are gone, whose use explains what replaces them
    for (const std::string& group : groups) text += Group(group, Named(app, group, /*help=*/false));
    OptionList everywhere;
    if (app->get_parent() != nullptr) {
      const OptionList all = Named(app->get_parent(), "Options", /*help=*/false);
      std::copy_if(all.begin(), all.end(), std::back_inserter(everywhere),
                   [](const CLI::Option* option) { return option->get_name() != "--version"; });
    }
    for (const CLI::Option* help : Named(app, "Options", /*help=*/true)) everywhere.push_back(help);
    text += Group("Every command", everywhere);
    return fmt::format("{}\n{}\n", text, app->get_footer());
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace chatty::cli
