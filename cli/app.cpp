#include "chatty/cli/app.h"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/commands.h"
#include "chatty/cli/completion.h"
#include "chatty/cli/help.h"
#include "chatty/cli/interrupt.h"
#include "chatty/cli/manual.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/core/suggestion.h"
#include "chatty/core/version.h"
#include "chatty/io/text_parser.h"

namespace chatty::cli {
namespace {

/// What the command line was given that is too long to be repeated: whole arguments, and what stands between the signs that
/// part names from values, the longest first.
std::vector<std::string> long_arguments;

void NoteLongArguments(int argc, const char* const* argv) {
  const auto note = [](std::string_view text) {
    if (text.size() > kMaxRepeated) long_arguments.emplace_back(text);
  };
  long_arguments.clear();
  for (int i = 1; i < argc; ++i) {
    std::string_view rest = argv[i];
    note(rest);
    for (std::size_t end = 0; (end = rest.find_first_of("=,:@/")) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      note(rest.substr(0, end));
    }
    note(rest);
  }
  std::sort(long_arguments.begin(), long_arguments.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

/// The text with what it repeats of long arguments abbreviated.
std::string WithShortArguments(std::string_view text) {
  std::string shorter(text);
  for (const std::string& argument : long_arguments) {
    for (std::size_t at = 0; (at = shorter.find(argument, at)) != std::string::npos;) {
      const std::string abbreviated = Abbreviated(argument);
      shorter.replace(at, argument.size(), abbreviated);
      at += abbreviated.size();
    }
  }
  return shorter;
}

/// One line, whatever the text: scripts read errors by lines. Names of files may hold what a terminal would obey.
int Complain(std::string_view message, int code) {
  const std::string shorter = WithShortArguments(message);
  std::string_view text = shorter;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string line;
  for (;;) {
    const std::size_t end = text.find('\n');
    line += io::Printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    line += "; ";
    text.remove_prefix(end + 1);
  }
  PrintError(fmt::format("chatty: error: {}\n", line));
  return code;
}

std::string CommandName(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "chatty" : "chatty " + chosen.front()->get_name();
}

/// What DidYouMean says of a word that is no command. Who leaves out `run` names a program.
std::string MeantCommand(const CLI::App& app, const Registry& registry, std::string_view word) {
  const std::vector<const RegisteredProgram*> programs = registry.All();
  const std::string_view program = FullProgramName(registry, word);
  if (std::any_of(programs.begin(), programs.end(), [&](const RegisteredProgram* p) { return p->name() == program; })) {
    return fmt::format(" (did you mean 'run {}'?)", word);
  }
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return DidYouMean(word, names);
}

/// What DidYouMean says of a word that is no option of the chosen command, nor of all.
std::string MeantOption(const CLI::App& app, std::string_view word) {
  std::vector<const CLI::App*> places{&app};
  for (const CLI::App* command : app.get_subcommands()) places.push_back(command);
  std::vector<std::string> names;
  for (const CLI::App* place : places) {
    for (const CLI::Option* option : place->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return DidYouMean(word.substr(0, word.find('=')), names);
}

/// The same of the first word that nobody took and that looks like an option.
std::string MeantByRest(const CLI::App& app) {
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (word.starts_with('-') && word.size() > 1) return MeantOption(app, word);
  }
  return {};
}

/// Errors of the library by their kind, as core/error.h documents it.
template <class Body>
int Guarded(Body&& body) {
  try {
    return body();
  } catch (const UsageError& error) {
    return Complain(error.what(), kUsage);
  } catch (const InputError& error) {
    return Complain(error.what(), kUsage);
  } catch (const InternalError& error) {
    return Complain(
        fmt::format("{} (this is a bug in chatty; please report it with this line and the command)", error.what()),
        kRunFailed);
  } catch (const std::bad_alloc&) {
    return Complain("out of host memory; use a smaller graph or a machine with more memory", kRunFailed);
  } catch (const std::exception& error) {
    return Complain(error.what(), kRunFailed);
  }
}

/// No file that is opened later shall be taken for a standard stream that the caller closed. Each is opened the wrong way
/// round, so that using it fails as it would have closed.
void OccupyStandardStreams() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Descriptor `fd`, the lowest that is free. Flags are constants for the checks of _FORTIFY_SOURCE.
    const int opened = fd == 0 ? ::open("/dev/null", O_WRONLY) : ::open("/dev/null", O_RDONLY);
    if (opened < 0) return;
  }
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, const Registry& registry) {
  OccupyStandardStreams();
  TakeShrinkingFiles();
  NoteLongArguments(argc, argv);
  CLI::App app(
      "ChattyGraph runs vertex programs on CPU cores and GPUs that talk to each other.\n"
      "From a graph file to a verified answer in one command.",
      "chatty");
  app.set_version_flag("--version", BuildDescription(), "Print version, commit, compiler and width of vertex ids, and exit");
  app.set_help_flag("-h,--help", "Print this help, or with a command that command's, and exit");
  app.require_subcommand(1);
  app.fallthrough();
  app.formatter(MakeHelpFormatter());
  bool quiet = false;
  std::string log_level;
  app.add_flag("-q,--quiet", quiet, "Nothing but errors and what goes to `-`: no report, no progress, no warnings");
  app.add_option("--log", log_level, "What to log on stderr: trace, debug, info (default), warning, error, critical or off")
      ->type_name("LEVEL");
  app.footer(
      "Examples:\n"
      "  chatty generate grid 1000 1000 --drop 0.38 --weights 1:100 -o road.chatty\n"
      "  chatty info road.chatty\n"
      "  chatty run bfs road.chatty --source 500500 --verify\n"
      "  chatty run sssp road.chatty --devices host:4 --output distances.txt\n"
      "  chatty help run\n"
      "\n"
      "Exit codes: 0 success; 1 the run failed; 2 wrong usage or input; 3 verification failed; interrupted, the signal's.");

  Context context{registry, {}};
  for (int i = 0; i < argc; ++i) context.command_line += i == 0 ? argv[i] : fmt::format(" {}", argv[i]);
  if (argc > 0) context.name = std::filesystem::path(argv[0]).filename().string();
  AddRun(app, context);
  AddVerify(app, context);
  AddInfo(app, context);
  AddGenerate(app, context);
  AddConvert(app, context);
  AddPartition(app, context);
  AddPrograms(app, context);
  AddTopology(app, context);
  AddCompare(app, context);
  AddCompletion(app, context);
  std::string topic;
  CLI::App* help = app.add_subcommand("help", "Print the help of a command");
  help->add_option("COMMAND", topic,
                   "run, verify, info, generate, convert, partition, programs, topology, compare or completion");
  help->callback([&] {
    context.action = [&] {
      if (topic.empty()) {
        // app.help() would be that of the chosen command, `help`.
        PrintText(app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
        return kSuccess;
      }
      const auto found = app.get_subcommands([&](CLI::App* command) { return command->get_name() == topic; });
      if (found.empty()) {
        Throw<UsageError>("there is no command '{}'{}; `chatty --help` lists them", topic,
                          MeantCommand(app, registry, topic));
      }
      PrintText(found.front()->help("chatty"));
      return kSuccess;
    };
  });

  // What shells and the build ask, not users; never parsed, since its words are unfinished command lines.
  if (argc > 1 && argv[1] == kCompleteCommand) {
    return Guarded([&] {
      PrintText(CompleteWords(app, registry, std::vector<std::string>(argv + 2, argv + argc)));
      return kSuccess;
    });
  }
  if (argc == 3 && argv[1] == kManualCommand) {
    return Guarded([&] {
      WriteManual(app, argv[2]);
      return kSuccess;
    });
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Guarded([&] {
      const auto chosen = app.get_subcommands();
      PrintText(chosen.empty() ? app.help() : chosen.front()->help("chatty"));
      return kSuccess;
    });
  } catch (const CLI::CallForVersion& version) {
    return Guarded([&] {
      PrintText(fmt::format("{}\n", version.what()));
      return kSuccess;
    });
  } catch (const CLI::ParseError& error) {
    if (argc <= 1) return Complain("which command? `chatty --help` lists them", kUsage);
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      const std::string word = app.remaining().front();
      const bool option = word.starts_with('-');
      return Complain(fmt::format("there is no {} '{}'{}; `chatty --help` lists them", option ? "option" : "command", word,
                                  option ? MeantOption(app, word) : MeantCommand(app, registry, word)),
                      kUsage);
    }
    return Complain(fmt::format("{}{}; see `{} --help`", error.what(), MeantByRest(app), CommandName(app)), kUsage);
  } catch (const std::exception& error) {
    return Complain(error.what(), kUsage);
  }

  return Guarded([&] {
    SetQuiet(quiet);
    if (quiet) {
      Progress::SetEnabled(false);
      SetLogLevel("error");
    }
    if (!log_level.empty()) SetLogLevel(log_level);
    CheckThreadVariables();
    return context.action();
  });
}

}  // namespace chatty::cli
