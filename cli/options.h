/// \file
/// Options that several subcommands have, and checks of their values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/partition/partition.h"

namespace CLI {  // parsed by those alone that add options: it takes a compiler seconds
class App;
class Option;
class Validator;
}  // namespace CLI

namespace chatty::cli {

/// A validator that help does not print beside the option's type.
CLI::Validator Unnamed(const CLI::Validator& validator);
/// Digits only: CLI11 alone would take -1 for the largest number there is.
CLI::Validator WholeNumber();
/// Refuses what is no number of seconds from `least` to `most`.
CLI::Validator SecondsBetween(double least, double most);
/// One of these names; the refusal of another lists them, and says which is near.
CLI::Validator OneOf(std::vector<std::string_view> names);
/// Not empty: what a script's unset variable gives is no value.
CLI::Validator NotEmpty();

/// Adds an option for an amount of memory, as ParseBytes reads it. `bytes` must outlive the parsing.
CLI::Option* AddBytesOption(CLI::App& command, const std::string& name, std::uint64_t& bytes, const std::string& help);
/// Adds `--json FILE|-`.
CLI::Option* AddJsonOption(CLI::App& command, std::string& path);
/// Adds `--lossy`.
void AddLossyOption(CLI::App& command, bool& lossy);
/// Adds `--no-fallback`.
CLI::Option* AddFallbackOption(CLI::App& command, bool& allow_fallback);
/// Throws UsageError if a partition, say one from a file, does not go with `parts` parts, which `whose` calls "4 devices".
/// For use before a long load.
void CheckParts(const Partitioner& partitioner, PartId parts, std::string_view whose);
/// Adds `--output-format`.
CLI::Option* AddValueFormOption(CLI::App& command, std::string& name);
/// Adds `--ldbc`.
CLI::Option* AddLdbcOption(CLI::App& command, std::string& path);
/// `format_flag` names the option for the input's format; `uses`: whether the command itself uses ids and weights, and
/// so has a choice of them.
void AddLoadOptions(CLI::App& command, LoadOptions& options, const std::string& format_flag, bool uses);
/// `runs`: the options are those of a run to be made, not of one that was.
void AddParameterOptions(CLI::App& command, ParameterOptions& options, bool runs);
/// Help of the options that AddRunParameters adds.
struct RunParameterHelp {
  std::string source, set, vertex_data;
};
/// Adds `--source`, `--set` and `--vertex-data`, for runs to be made; or, as `source_type` says, for one that was.
void AddRunParameters(CLI::App& command, ParameterOptions& options, const RunParameterHelp& help,
                      const std::string& source_type = "N|random:SEED|max-degree");
/// Adds `--timeout`.
CLI::Option* AddTimeoutOption(CLI::App& command, double& seconds, const std::string& help);
/// Adds `--seed`.
CLI::Option* AddSeedOption(CLI::App& command, std::uint64_t& seed);
/// Adds `--trials`.
CLI::Option* AddTrialsOption(CLI::App& command, std::uint32_t& trials, const std::string& help);

}  // namespace chatty::cli
