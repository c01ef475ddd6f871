#include "chatty/cli/manual.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/version.h"
#include "chatty/io/output.h"

namespace chatty::cli {
namespace {

/// Text as roff shows it: backslashes, dashes that are to be typed, and dots and quotes where a line begins with them, which
/// would be requests. `words in backquotes` become bold.
std::string Escaped(std::string_view text) {
  std::string roff;
  bool line_begins = true, bold = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (line_begins && (c == '.' || c == '\'')) roff += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if (c == '^') {
      roff += "\\(ha";
    } else if (c == '~') {
      roff += "\\(ti";
    } else if (c == '\'') {
      roff += "\\(aq";
    } else if (c == '`' && (bold || text.find('`', at + 1) != std::string_view::npos)) {
      bold = !bold;
      roff += bold ? "\\fB" : "\\fR";
    } else {
      roff += c;
    }
  }
  return roff;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::vector<std::string> Split(const std::string& text, std::string_view by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + by.size();
  }
  return parts;
}

/// A paragraph with a hanging tag.
std::string Item(const std::string& tag, std::string_view text) { return fmt::format(".TP\n{}\n{}\n", tag, Escaped(text)); }

/// `--name TYPE`, short name first, names bold, the type's words in italics.
std::string OptionTag(const CLI::Option& option) {
  std::string tag;
  for (const std::string& name : option.get_snames())
    tag += fmt::format("{}\\fB\\-{}\\fR", tag.empty() ? "" : ", ", Escaped(name));
  for (const std::string& name : option.get_lnames())
    tag += fmt::format("{}\\fB\\-\\-{}\\fR", tag.empty() ? "" : ", ", Escaped(name));
  if (option.get_items_expected_max() != 0) tag += fmt::format(" \\fI{}\\fR", Escaped(option.get_type_name()));
  return tag;
}

/// What help shows below the options: blocks with a blank line in between. One whose first line ends in a colon and whose
/// others are indented is a section of its own, with its lines as they are; "Exit codes:" too, and the rest are notes.
std::string Footer(const std::string& footer) {
  std::string sections, notes;
  for (const std::string& block : Split(footer, "\n\n")) {
    constexpr std::string_view kExit = "Exit codes: ";
    const std::size_t end = block.find(":\n  ");
    if (block.empty()) continue;
    if (end != std::string::npos && end < block.find('\n')) {
      const std::string title = block.substr(0, std::min(end, block.find(',')));
      const std::string lines = block.substr(end + 2);
      sections += fmt::format(".SH {}\n.nf\n{}\n.fi\n", Upper(title), Escaped(lines));
    } else if (block.starts_with(kExit)) {
      sections += ".SH EXIT STATUS\n";
      for (const std::string& code : Split(block.substr(kExit.size()), "; ")) {
        if (!code.empty() && std::isdigit(static_cast<unsigned char>(code.front())) != 0 && code.find(' ') == 1) {
          sections += Item(fmt::format("\\fB{}\\fR", code.front()), code.substr(2));
        } else {
          sections += Escaped(code) + '\n';
        }
      }
    } else {
      notes += fmt::format(".PP\n{}\n", Escaped(block));
    }
  }
  return notes.empty() ? sections : fmt::format(".SH NOTES\n{}{}", notes, sections);
}

std::string Options(const CLI::App& app, std::string_view title, const CLI::App* but_not) {
  std::string text;
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group == "Options"; });
  std::erase(groups, "");  // of options that are gone
  std::set<std::string> known;
  if (but_not != nullptr) {
    for (const CLI::Option* option : but_not->get_options()) known.insert(option->get_name());
  }
  for (const std::string& group : groups) {
    std::string items;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || !option->nonpositional() || known.count(option->get_name()) != 0) continue;
      std::string description = option->get_description();
      if (option->get_required()) description += " (required)";
      items += Item(OptionTag(*option), description);
    }
    if (items.empty()) continue;
    if (group != "Options") text += fmt::format(".SS {}\n", group);
    text += items;
  }
  return text.empty() ? text : fmt::format(".SH {}\n{}", title, text);
}

}  // namespace

std::string ManualPage(const CLI::App& app, const CLI::App* command) {
  const std::string name = command != nullptr ? app.get_name() + '-' + command->get_name() : app.get_name();
  const CLI::App& described = command != nullptr ? *command : app;
  const std::vector<std::string> description = Split(described.get_description(), "\n");
  std::string summary = description.front();
  while (summary.ends_with('.')) summary.pop_back();
  if (command == nullptr) summary = "run vertex programs on CPU cores and GPUs that talk to each other";
  if (std::isupper(static_cast<unsigned char>(summary.front())) != 0) {
    summary.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(summary.front())));
  }

  std::string page =
      fmt::format(".\\\" Made from the command line's own description.\n.TH {} 1 \"\" \"chatty {}\" \"ChattyGraph\"\n",
                  Upper(Escaped(name)), Version());
  page += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", Escaped(name), Escaped(summary));
  if (command == nullptr) {
    page += fmt::format("\\fB{}\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...] [\\fIOPTION\\fR...]\n", app.get_name());
  } else {
    page += fmt::format("\\fB{} {}\\fR", app.get_name(), command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) continue;
      const std::string one =
          fmt::format("\\fI{}\\fR{}", option->get_name(true), option->get_expected_max() > 1 ? "..." : "");
      page += option->get_required() ? ' ' + one : fmt::format(" [{}]", one);
    }
    page += " [\\fIOPTION\\fR...]\n";
  }
  page += ".SH DESCRIPTION\n";
  for (const std::string& line : description) page += Escaped(line) + (line.ends_with('.') ? "\n" : ".\n");
  for (const CLI::Option* option : described.get_options()) {
    if (option->get_positional()) page += Item(fmt::format("\\fI{}\\fR", option->get_name(true)), option->get_description());
  }
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (command == nullptr) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* one : commands) {
      page += Item(fmt::format("\\fB{}\\fR", one->get_name()), one->get_description());
    }
  }
  page += Options(described, "OPTIONS", /*but_not=*/nullptr);
  if (command != nullptr) page += Options(app, "OPTIONS OF EVERY COMMAND", command);
  page += Footer(described.get_footer());
  page += ".SH ENVIRONMENT\n" + Item("\\fBCHATTY_LOG\\fR", "What to log, as --log says, where that is not given.");
  page += ".SH SEE ALSO\n";
  std::vector<std::string> others;
  if (command != nullptr) others.push_back(app.get_name());
  for (const CLI::App* one : commands) {
    if (one != command) others.push_back(app.get_name() + '-' + one->get_name());
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    page += fmt::format(".BR {} (1){}\n", Escaped(others[i]), i + 1 < others.size() ? "," : "");
  }
  return page;
}

void WriteManual(const CLI::App& app, const std::string& folder) {
  const auto write = [&](const CLI::App* command) {
    OutputFile file(fmt::format("{}/{}{}.1", folder, app.get_name(), command != nullptr ? '-' + command->get_name() : ""));
    file.Write(ManualPage(app, command));
    file.Commit();
  };
  write(nullptr);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) write(command);
}

}  // namespace chatty::cli
