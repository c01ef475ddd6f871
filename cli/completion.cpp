#include "chatty/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/compare/figures.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/comm/selector.h"
#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "chatty/framework/run_plan.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

/// What could stand in one place.
struct Choices {
  std::vector<std::pair<std::string, std::string>> words;  ///< with their descriptions
  bool files = false;

  void Add(std::string_view word, std::string_view description = "") { words.emplace_back(word, description); }
  template <class Words>
  void AddAll(const Words& all) {
    for (const auto& word : all) Add(word);
  }
};

using Names = std::initializer_list<std::string_view>;

/// The choices that a type's name spells out: of "N|random:SEED|max-degree" these are `random:` and `max-degree`.
void AddSpelled(std::string_view type, Choices& choices) {
  while (!type.empty()) {
    const std::size_t bar = std::min(type.find('|'), type.size());
    std::string_view word = type.substr(0, bar);
    type.remove_prefix(std::min(bar + 1, type.size()));
    if (word.starts_with("FILE")) choices.files = true;
    word = word.substr(0, word.find(':') == std::string_view::npos ? word.size() : word.find(':') + 1);
    if (!word.empty() && std::islower(static_cast<unsigned char>(word.front())) != 0) choices.Add(word);
  }
}

/// The place for which choices are sought.
struct CursorPlace {
  const CLI::App* app;               ///< the whole command line
  const CLI::App* command;           ///< the subcommand, or the whole
  const CLI::Option* option;         ///< what takes the value
  const RegisteredProgram* program;  ///< named on the line, or null
  const Registry* registry;
};

Choices ValuesAt(const CursorPlace& place) {
  Choices choices;
  const CLI::Option& option = *place.option;
  const bool positional = option.get_positional();
  const std::string name = positional ? option.get_name(true) : option.get_lnames().front();
  const std::vector<const RegisteredProgram*> programs =
      place.program != nullptr ? std::vector{place.program} : place.registry->All();

  if (name == "PROGRAM" || name == "only") {
    for (const RegisteredProgram* program : place.registry->All()) choices.Add(program->name(), program->summary());
  } else if (name == "programs") {
    choices.Add("pr", "pagerank");
    choices.Add("ppr", "personalised_pagerank");
    for (const RegisteredProgram* program : place.registry->All()) choices.Add(program->name(), program->summary());
  } else if (name == "figure") {
    choices.AddAll(FigureNames());
  } else if (name == "precision") {
    choices.AddAll(Names{"float", "double"});
  } else if (name == "COMMAND") {
    for (const CLI::App* command : place.app->get_subcommands({}))
      choices.Add(command->get_name(), command->get_description());
  } else if (name == "SHELL") {
    choices.AddAll(Names{"bash", "zsh", "fish"});
  } else if (name == "FAMILY") {
    choices.AddAll(GeneratorNames());
  } else if (name == "GRAPH" || name == "IN" || name == "OUT" || name == "VALUES" || name == "out") {
    choices.files = true;
  } else if (name == "devices" && option.get_type_name() == "N,...") {
    choices.AddAll(Names{"1", "2", "4"});
  } else if (name == "devices") {
    choices.Add("auto", "GPUs if present, else the host");
    choices.Add("host", "all cores as one device");
    choices.Add("host:", "so many host devices");
    if (CHATTY_WITH_CUDA) {
      choices.Add("cuda", "all GPUs");
      choices.Add("cuda:", "these GPUs");
    }
  } else if (name == "partition") {
    choices.AddAll(PartitionerNames());
    choices.files = option.get_type_name().find("FILE") != std::string::npos;  // part files
  } else if (name == "comm") {
    if (option.get_type_name().starts_with("all")) choices.Add("all", "what can join the devices");
    choices.AddAll(CommNames());
  } else if (name == "execution") {
    choices.Add(option.get_type_name() == "NAME" ? "auto" : "all");
    for (const NamedEngine& engine : Engines()) {
      if (engine.execution) choices.Add(engine.name);
    }
  } else if (name == "log") {
    choices.AddAll(Names{"trace", "debug", "info", "warning", "error", "critical", "off"});
  } else if (option.get_type_name() == "FORMAT") {
    choices.AddAll(FormatNames());
  } else if (option.get_type_name() == "WEIGHTS") {
    choices.AddAll(Names{"none", "unit", "float", "float:", "own"});
  } else if (name == "value") {
    std::set<std::string> values;
    for (const RegisteredProgram* program : programs) {
      for (const std::string& value : program->values()) {
        if (values.insert(value).second) choices.Add(value);
      }
    }
  } else if (name == "vertex-data") {
    std::set<std::string> names;
    for (const RegisteredProgram* program : programs) {
      for (const VertexDataInfo& data : program->vertex_data()) {
        if (names.insert(data.name).second) choices.Add(data.name + "=", data.help);
      }
    }
  } else if (name == "set") {
    std::set<std::string> names;
    for (const RegisteredProgram* program : programs) {
      for (const ParameterInfo& parameter : program->parameters()) {
        if (names.insert(parameter.name).second) choices.Add(parameter.name + "=", parameter.help);
      }
    }
  } else {
    AddSpelled(option.get_type_name(), choices);
  }
  return choices;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

/// The option that `word` names on the command line, or null. `--name=value` names --name.
const CLI::Option* Find(const CLI::App& app, const CLI::App& command, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  for (const CLI::App* place : {&command, &app}) {  // options of the whole may follow a command
    for (const CLI::Option* option : place->get_options()) {
      if (option->nonpositional() && option->check_name(name)) return option;
    }
  }
  return nullptr;
}

std::vector<const CLI::Option*> Positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

Choices OptionsOf(const CLI::App& app, const CLI::App& command, const std::set<const CLI::Option*>& given) {
  Choices choices;
  const auto add = [&](const CLI::App& place) {
    for (const CLI::Option* option : place.get_options()) {
      if (!option->nonpositional() || option->get_lnames().empty()) continue;
      const std::string name = "--" + option->get_lnames().front();
      const bool again = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll && TakesValue(*option);
      const bool of_the_whole_alone = &place != &command && name == "--version";
      if ((again || given.count(option) == 0) && !of_the_whole_alone) choices.Add(name, option->get_description());
    }
  };
  add(command);
  if (&app != &command) add(app);
  // Both have --help.
  std::set<std::string> names;
  std::erase_if(choices.words, [&](const auto& word) { return !names.insert(word.first).second; });
  return choices;
}

}  // namespace

std::string CompleteWords(const CLI::App& app, const Registry& registry, std::span<const std::string> words) {
  const std::string current = words.empty() ? "" : words.back();
  const CLI::App* command = &app;
  const CLI::Option* pending = nullptr;  // the option whose value comes next
  std::set<const CLI::Option*> given;
  std::vector<std::string> positionals;
  bool options_over = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (pending != nullptr && (pending->get_items_expected_min() > 0 || !word.starts_with('-'))) {
      pending = nullptr;
    } else if (!options_over && word == "--") {
      options_over = true;
    } else if (!options_over && word.size() > 1 && word.starts_with('-')) {
      const CLI::Option* option = Find(app, *command, word);
      if (option == nullptr) continue;
      given.insert(option);
      pending = TakesValue(*option) && word.find('=') == std::string::npos ? option : nullptr;
    } else if (command == &app) {
      const auto found = app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
      if (found.empty()) return "";
      command = found.front();
    } else {
      positionals.push_back(word);
    }
  }

  CursorPlace place{&app, command, nullptr, nullptr, &registry};
  const std::vector<const CLI::Option*> expected = Positionals(*command);
  if (!expected.empty() && !positionals.empty() && expected.front()->get_name(true) == "PROGRAM") {
    for (const RegisteredProgram* program : registry.All()) {
      if (program->name() == FullProgramName(registry, positionals.front())) place.program = program;
    }
  }

  Choices choices;
  std::string before;  // what of the current word is not to be completed
  const std::size_t equals = current.starts_with("--") ? current.find('=') : std::string::npos;
  if (pending != nullptr && !(pending->get_items_expected_min() == 0 && current.starts_with('-'))) {
    place.option = pending;
    choices = ValuesAt(place);
  } else if (!options_over && equals != std::string::npos) {
    place.option = Find(app, *command, current);
    if (place.option != nullptr && TakesValue(*place.option)) {
      choices = ValuesAt(place);
      before = current.substr(0, equals + 1);
    }
  } else if (!options_over && current.starts_with('-')) {
    choices = OptionsOf(app, *command, given);
  } else if (command == &app) {
    for (const CLI::App* sub : app.get_subcommands({})) choices.Add(sub->get_name(), sub->get_description());
  } else {
    std::size_t next = positionals.size();
    if (!expected.empty() && next >= expected.size() && expected.back()->get_expected_max() > 1) next = expected.size() - 1;
    if (next < expected.size()) {
      place.option = expected[next];
      choices = ValuesAt(place);
    }
  }

  // A list's further elements are completed like its first.
  if (const std::size_t comma = current.rfind(','); comma != std::string::npos && comma >= before.size()) {
    before = current.substr(0, comma + 1);
  }
  std::string text;
  for (const auto& [word, description] : choices.words) {
    const std::string whole = before + word;
    if (!whole.starts_with(current)) continue;
    if (whole == current && (whole.ends_with(':') || whole.ends_with('='))) continue;  // what follows is the user's to say
    std::string line = description.empty() ? whole : fmt::format("{}\t{}", whole, description);
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += line + '\n';
  }
  if (choices.files) text += ":files\n";
  return text;
}

// ----------------------------------------------------------------- scripts ----

namespace {

// @NAME@ is the command, @ID@ the command as an identifier.
constexpr std::string_view kBash =
    R"script(# bash completion for @NAME@: asks the program itself. Made by `@NAME@ completion bash`.
_@ID@_complete() {
  # readline splits words at : and =, too: what no blank separates on the line is one word.
  local line=${COMP_LINE:0:COMP_POINT} words=() word i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
      ((i == COMP_CWORD)) && word=$line
      words[${#words[@]} - 1]+=$word
    else
      line=${line#"${line%%[![:space:]]*}"}
      ((i == COMP_CWORD)) && word=$line
      words+=("$word")
    fi
    line=${line#"$word"}
  done
  local command=${words[0]/#\~/$HOME} current=${words[${#words[@]} - 1]}
  command=$(type -P -- "$command") || return

  # readline replaces what follows the last : or = of the word.
  local kept='' rest=$current value=$current break
  for break in : =; do
    if [[ $COMP_WORDBREAKS == *"$break"* && $rest == *"$break"* ]]; then
      kept=${current%"${rest##*"$break"}"} rest=${rest##*"$break"}
    fi
  done
  [[ $current == --*=* ]] && value=${current#*=}

  COMPREPLY=()
  local found open=0
  while IFS= read -r found; do
    if [[ $found == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r found; do
        found=${current%"$value"}$found
        COMPREPLY+=("${found#"$kept"}")
      done < <(compgen -f -- "$value")
    else
      found=${found%%$'\t'*}
      [[ $found == *[:=] ]] && open=1  # more belongs to it
      COMPREPLY+=("${found#"$kept"}")
    fi
  done < <("$command" __complete "${words[@]:1}" 2>/dev/null)
  ((open)) && ((${#COMPREPLY[@]} == 1)) && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _@ID@_complete @NAME@
)script";

constexpr std::string_view kZsh = R"script(#compdef @NAME@
# zsh completion for @NAME@: asks the program itself. Made by `@NAME@ completion zsh`.
_@ID@() {
  local command=${~words[1]} line word
  local -a closed open
  for line in "${(@f)$(${command} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    if [[ -z $word ]]; then
      continue
    elif [[ $line == :files ]]; then
      compset -P '--*='
      _files
      continue
    fi
    [[ $line == *$'\t'* ]] && line=${word//:/\\:}:${line#*$'\t'} || line=${word//:/\\:}
    [[ $word == *[:=] ]] && open+=("$line") || closed+=("$line")
  done
  (($#closed)) && _describe -V '@NAME@' closed
  (($#open)) && _describe -V '@NAME@' open -S ''
  return 0
}
if [[ $funcstack[1] == _@ID@ ]]; then
  _@ID@ "$@"
else
  compdef _@ID@ @NAME@
fi
)script";

constexpr std::string_view kFish =
    R"script(# fish completion for @NAME@: asks the program itself. Made by `@NAME@ completion fish`.
function __@ID@_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete $words "$current" 2>/dev/null)
        if test "$line" = :files
            set -l option (string match -r -- '^--[^=]*=' $current)
            __fish_complete_path (string replace -r -- '^--[^=]*=' '' $current) | string replace -r -- '^' "$option"
        else
            echo $line
        end
    end
end
complete -c @NAME@ -f -a '(__@ID@_complete)'
)script";

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

std::string CompletionScript(std::string_view shell, std::string_view name) {
  std::string text;
  if (shell == "bash") {
    text = kBash;
  } else if (shell == "zsh") {
    text = kZsh;
  } else if (shell == "fish") {
    text = kFish;
  } else {
    constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};
    Throw<UsageError>("there is no completion for the shell '{}'{}; choose bash, zsh or fish", shell,
                      DidYouMean(shell, kShells));
  }
  std::string id(name);
  for (char& c : id) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return Replaced(Replaced(std::move(text), "@NAME@", name), "@ID@", id);
}

void AddCompletion(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that has a shell complete commands, options and names");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->footer(
      "Examples:\n"
      "  source <(chatty completion bash)\n"
      "  chatty completion zsh >\"${fpath[1]}/_chatty\"\n"
      "  chatty completion fish >~/.config/fish/completions/chatty.fish\n"
      "\n"
      "An installed chatty has them in place. The script asks the program that is completed: an executable of your own\n"
      "completes its own programs.");
  command->callback([&context, shell] {
    context.action = [&context, shell] {
      PrintText(CompletionScript(*shell, context.name));
      return kSuccess;
    };
  });
}

}  // namespace chatty::cli
