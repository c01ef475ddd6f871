/// \file
/// Completion of command lines in shells: what could stand where the cursor is, from the description of the command line
/// itself, so that the two cannot differ.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "chatty/framework/registry.h"

namespace CLI {
class App;
}  // namespace CLI

namespace chatty::cli {

/// The word that, as a command's first argument, asks for completions in place of running it. The scripts call
/// `chatty __complete WORD...`; the words are those after the command's name up to the cursor, the last one unfinished and
/// perhaps empty. (Asking the program instead of writing its options into a script is cobra's idea.)
inline constexpr std::string_view kCompleteCommand = "__complete";

/// Lines `WORD`, or `WORD<tab>DESCRIPTION`, each a word that could stand in place of the last of `words`; and a line
/// `:files` where a file's name could. Empty where nothing is known, as for numbers.
std::string CompleteWords(const CLI::App& app, const Registry& registry, std::span<const std::string> words);

/// The script that has `shell`, one of "bash", "zsh" and "fish", complete the command called `name`. Throws UsageError for
/// another shell.
std::string CompletionScript(std::string_view shell, std::string_view name);

}  // namespace chatty::cli
