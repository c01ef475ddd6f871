#include "chatty/cli/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "chatty/core/bytes.h"
#include "chatty/core/error.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/suggestion.h"
#include "chatty/partition/part_file.h"

namespace chatty::cli {

CLI::Validator NotEmpty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "is empty; write a value" : ""; }, "");
}

CLI::Validator OneOf(std::vector<std::string_view> names) {
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        return fmt::format("there is no '{}'{}; choose one of {}", text, DidYouMean(text, names), fmt::join(names, ", "));
      },
      "");
}

CLI::Validator Unnamed(const CLI::Validator& validator) { return validator.description(""); }

CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        if (!digits) return fmt::format("'{}' is not a whole number", text);
        std::uint64_t value = 0;
        const bool fits = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
        return fits ? std::string() : fmt::format("{} is beyond 64 bits", text);
      },
      "");
}

CLI::Validator SecondsBetween(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double seconds = 0;
        const bool valid = CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= most;
        return valid ? std::string() : fmt::format("'{}' is no number of seconds from {} to {}", text, least, most);
      },
      "");
}

CLI::Option* AddBytesOption(CLI::App& command, const std::string& name, std::uint64_t& bytes, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [name, &bytes](const std::string& text) {
            const std::optional<std::uint64_t> parsed = ParseBytes(text);
            if (!parsed) {
              throw CLI::ValidationError(name, fmt::format("'{}' is no size; write, say, 500M, 2G or 1.5GiB", text));
            }
            bytes = *parsed;
          },
          help)
      ->type_name("SIZE");
}

CLI::Option* AddJsonOption(CLI::App& command, std::string& path) {
  return command
      .add_option("--json", path, "Write a record as JSON; - for standard output, and then nothing else goes there")
      ->type_name("FILE|-")
      ->check(NotEmpty());
}

void AddLossyOption(CLI::App& command, bool& lossy) {
  command.add_flag("--lossy", lossy, "Write also where the format cannot say all of the graph; what is lost is printed");
}

CLI::Option* AddFallbackOption(CLI::App& command, bool& allow_fallback) {
  return command.add_flag_callback(
      "--no-fallback", [&allow_fallback] { allow_fallback = false; },
      "Fail where partition metis cannot be had, rather than warn and use edge-balanced");
}

void CheckParts(const Partitioner& partitioner, PartId parts, std::string_view whose) {
  if (partitioner.parts() == 0 || partitioner.parts() == parts) return;
  const std::string note = DescribeEmptyParts(partitioner);
  Throw<UsageError>("--partition {} divides into {} parts, which does not go with {}{}{}", partitioner.name(),
                    partitioner.parts(), whose, note.empty() ? "" : "; ", note);
}

CLI::Option* AddValueFormOption(CLI::App& command, std::string& name) {
  return command
      .add_option("--output-format", name,
                  "Form of the results, which otherwise goes by the name of the file: `text`; `ldbc`, text as LDBC "
                  "Graphalytics has it, reals as %.15e, unreached levels 9223372036854775807; `npy`; `json`")
      ->type_name("text|ldbc|npy|json")
      ->check(OneOf({"text", "ldbc", "npy", "json"}));
}

CLI::Option* AddLdbcOption(CLI::App& command, std::string& path) {
  return command
      .add_option("--ldbc", path,
                  "In place of GRAPH: a properties file of LDBC Graphalytics, which names the graph's files and says with "
                  "which parameters bfs, cdlp, lcc, pr, sssp and wcc run; options given besides go first")
      ->type_name("FILE.properties")
      ->check(NotEmpty());
}

void AddLoadOptions(CLI::App& command, LoadOptions& options, const std::string& format_flag, bool uses) {
  const std::string group = "Loading";
  command
      .add_option(format_flag, options.format,
                  fmt::format("The input's format, which is otherwise seen from its content: {}", DescribeFormats()))
      ->type_name("FORMAT")
      ->group(group);
  if (uses) {
    command
        .add_option("--ids", options.ids,
                    "`file`: vertex ids are the file's own (default); `zero`, `one`: counted from 0 or 1")
        ->type_name("file|zero|one")
        ->check(OneOf({"file", "zero", "one"}))
        ->group(group);
    command
        .add_option("--weights", options.weights,
                    "`file`: as the file has them (default); `int`, `float`: converted, 1 where there are none; `none`: "
                    "dropped")
        ->type_name("file|int|float|none")
        ->check(OneOf({"file", "int", "float", "none"}))
        ->group(group);
  }
  command.add_flag("--symmetrise", options.read.symmetrise, "Every edge goes both ways, whatever the file says")
      ->group(group);
  command
      .add_flag("--directed", options.read.directed, "Edges go as stored, even where the file says that they go both ways")
      ->group(group);
  command.add_flag("--keep-loops", options.read.keep_loops, "Keep edges from a vertex to itself")->group(group);
  command
      .add_flag("--keep-parallel", options.read.keep_parallel,
                "Keep all edges between the same two vertices, not only the lightest")
      ->group(group);
  command
      .add_option(
          "--cache", options.cache,
          "Keep the graph in DIR as it is in memory, with its division among devices, and read both from there next time; "
          "`off` (default): do not")
      ->type_name("DIR|off")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_flag("--compact-ids", options.read.compact_ids,
                "Of an edge list: only ids that an edge names are vertices, so that gaps between ids take no memory")
      ->group(group);
  AddBytesOption(command, "--host-memory-limit", options.host_memory_limit,
                 "Memory that the host may hold, host devices included, say 500M, 2G or 1.5GiB; what needs more is refused "
                 "(default: what is available)")
      ->group(group);
  command.add_option("--threads", options.read.threads, "CPU threads to use (default: one a core)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(1, kMaxThreads)))
      ->group(group);
}

void AddRunParameters(CLI::App& command, ParameterOptions& options, const RunParameterHelp& help,
                      const std::string& source_type) {
  const std::string group = "Program";
  command.add_option("--source", options.source, help.source)->type_name(source_type)->check(NotEmpty())->group(group);
  command.add_option("--set", options.set, help.set)
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--vertex-data", options.vertex_data, help.vertex_data)
      ->type_name("NAME=FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
}

CLI::Option* AddTimeoutOption(CLI::App& command, double& seconds, const std::string& help) {
  return command.add_option("--timeout", seconds, help)->type_name("SECONDS")->check(SecondsBetween(0.001, 1e6));
}

CLI::Option* AddSeedOption(CLI::App& command, std::uint64_t& seed) {
  return command.add_option("--seed", seed, "Seed of partitions random and metis and of `--source random` (default: 1)")
      ->type_name("N")
      ->check(WholeNumber());
}

CLI::Option* AddTrialsOption(CLI::App& command, std::uint32_t& trials, const std::string& help) {
  return command.add_option("--trials", trials, help)->type_name("N")->check(Unnamed(CLI::Range(1, 1000000)));
}

void AddParameterOptions(CLI::App& command, ParameterOptions& options, bool runs) {
  const std::string group = "Program";
  command
      .add_option("--value", options.value,
                  fmt::format("Which of the program's values {}, say `parent` for bfs", runs ? "to compute" : "it is"))
      ->type_name("NAME")
      ->group(group);
  AddRunParameters(command, options,
                   {fmt::format("Vertex to start from: its id{} or `max-degree` (default; the least id among equals)",
                                runs ? ", `random:SEED` (another one in each trial, of those with out-edges)" : ""),
                    "Set any of the program's parameters; `chatty programs` lists them",
                    "An array with a number for each vertex that the program takes, `chatty programs` says which: lines `id "
                    "value`, a value a line in the order of ids, or a NumPy array"},
                   runs ? "N|random:SEED|max-degree" : "N|max-degree");
  command.add_option("--damping", options.damping, "Short for --set damping=...")
      ->type_name("X")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_option(
          "--tolerance", options.tolerance,
          runs ? "Short for --set tolerance=..."
               : "How far real values may be off, relative to each, above 0 and below 1 (default: 1e-4); of a program "
                 "with a parameter `tolerance`, short for --set tolerance=...")
      ->type_name("X")
      ->check(NotEmpty())
      ->group(group);
  command.add_option("--rounds", options.rounds, "Short for --set rounds=...")
      ->type_name("N")
      ->check(NotEmpty())
      ->group(group);
  command
      .add_option("--precision", options.precision,
                  "What pagerank keeps ranks in: `float` (default), whose rounding ends near 1e-7, or `double`")
      ->type_name("float|double")
      ->check(OneOf({"float", "double"}))
      ->group(group);
}

}  // namespace chatty::cli
