#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/load.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/error.h"
#include "chatty/core/progress.h"
#include "chatty/core/suggestion.h"
#include "chatty/io/generators.h"
#include "chatty/io/writer.h"

namespace chatty::cli {
namespace {

struct GenerateOptions {
  std::vector<std::string> arguments;
  GeneratorSpec spec;
  std::string family, output, format;
  std::optional<std::string> weights;
  bool lossy = false;
};

const std::vector<GeneratorFamily>& Families() {
  static const std::vector<GeneratorFamily> families = GeneratorFamilies();
  return families;
}

const GeneratorFamily& FindFamily(std::string_view name) {
  for (const GeneratorFamily& family : Families()) {
    if (family.name == name) return family;
  }
  const std::vector<std::string_view> names = GeneratorNames();
  Throw<UsageError>("there is no family '{}'{}; choose one of {}", name, DidYouMean(name, names), fmt::join(names, ", "));
}

/// "kron, uniform", for the help of an option: the families that read it.
std::string FamiliesWith(std::string_view option) {
  std::vector<std::string_view> names;
  for (const GeneratorFamily& family : Families()) {
    if (fmt::format(" {} ", family.options).find(fmt::format(" {} ", option)) != std::string::npos)
      names.push_back(family.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Sets kind and range of the spec's weights from "own", "none", "unit", "LO:HI", "float" or "float:LO:HI".
void ParseWeights(std::string_view text, GeneratorSpec& spec) {
  const auto fail = [&] {
    Throw<UsageError>("--weights {}: write none, own, unit, LO:HI (say 1:255), float or float:LO:HI", text);
  };
  if (text == "none") return;
  if (text == "own") {
    spec.own_weights = true;
    return;
  }
  std::string_view range = text;
  spec.weights = WeightKind::kInt32;
  if (text == "unit") {
    spec.min_weight = spec.max_weight = 1;
    return;
  }
  if (text == "float") {
    spec.weights = WeightKind::kFloat32;
    spec.min_weight = 0;
    spec.max_weight = 1;
    return;
  }
  if (text.starts_with("float:")) {
    spec.weights = WeightKind::kFloat32;
    range.remove_prefix(6);
  }
  const std::size_t colon = range.find(':');
  if (colon == std::string_view::npos) fail();
  const auto bound = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || error != std::errc() || end != part.data() + part.size()) fail();
    return value;
  };
  spec.min_weight = bound(range.substr(0, colon));
  spec.max_weight = bound(range.substr(colon + 1));
}

std::uint64_t ParseSize(std::string_view name, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    Throw<UsageError>("{} '{}' is no whole number that fits", name, text);
  }
  return value;
}

/// Fills in the sizes that follow the family's name.
void ParseArguments(const std::vector<std::string>& arguments, const GeneratorFamily& family, GeneratorSpec& spec) {
  const std::vector<std::string_view> choices = Split(family.sizes, '|');
  for (const std::string_view choice : choices) {
    const std::vector<std::string_view> names = Split(choice, ' ');
    if (names.size() != arguments.size()) continue;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::uint64_t size = ParseSize(names[i], arguments[i]);
      if (names[i] == "WIDTH") {
        spec.width = size;
      } else if (names[i] == "HEIGHT") {
        spec.height = size;
      } else if (names[i] == "DEPTH") {
        spec.depth = size;
      } else if (names[i] == "COUNT") {
        spec.count = size;
      } else {
        spec.scale = static_cast<int>(std::min<std::uint64_t>(size, 1000));  // Generate refuses what is too large
      }
    }
    return;
  }
  Throw<UsageError>("write `generate {} {}`", family.name,
                    fmt::join(choices, fmt::format("` or `generate {} ", family.name)));
}

/// Throws UsageError for an option that other families read, but not this one.
void CheckOptions(const CLI::App& command, const GeneratorFamily& family) {
  const std::vector<std::string_view> mine = Split(family.options, ' ');
  for (const GeneratorFamily& other : Families()) {
    for (const std::string_view option : Split(other.options, ' ')) {
      if (option == "seed" && !family.name.starts_with("gap-")) continue;  // all others' weights hang on it
      if (std::ranges::find(mine, option) != mine.end()) continue;
      if (command.get_option(fmt::format("--{}", option))->count() == 0) continue;
      if (option == "seed") Throw<UsageError>("--seed: a {} graph is GAP's own, which has one seed", family.name);
      Throw<UsageError>("--{}: a {} graph has no use for it; it is for {}", option, family.name, FamiliesWith(option));
    }
  }
}

int GenerateGraph(const GenerateOptions& options, const CLI::App& command) {
  GeneratorSpec spec = options.spec;
  spec.family = options.family;
  const GeneratorFamily& family = FindFamily(options.family);
  ParseArguments(options.arguments, family, spec);
  CheckOptions(command, family);
  ParseWeights(options.weights.value_or(spec.family == "road" ? "own" : "none"), spec);
  std::optional<std::string> format;
  if (!options.format.empty()) format = FormatName(ParseFormat(options.format));
  if (!format && !FormatOfSuffix(options.output)) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", options.output, NameAFormat());
  }
  RefuseOtherSuffix("--output", options.output, "", {}, /*decided=*/true);
  for (const std::string& file : GraphOutputFiles(options.output, format)) PrepareOutput(file);
  PhaseLine phase("generating");
  const Stopwatch generate_watch;
  Graph graph = Generate(spec);
  graph.set_first_id(FirstIdOf(options.output, format).value_or(0));  // nobody has called its vertices anything
  const double generate_ms = generate_watch.ms();
  const std::vector<std::string> lost = TakeLosses(graph, options.output, format, options.lossy, "");
  phase.Begin("writing");
  const Stopwatch write_watch;
  WriteGraph(graph, options.output, format);
  phase.Finish();
  const std::string losses = DescribeLosses(lost, options.output, 10);
  if (options.output != "-") {
    PrintReport(fmt::format("{}\n  written    {} (generated in {}, written in {})\n{}", DescribeGraph(graph), options.output,
                            FormatMs(generate_ms), FormatMs(write_watch.ms()), losses));
  }
  return kSuccess;
}

}  // namespace

void AddGenerate(CLI::App& app, Context& context) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Make a graph from a formula, the same on every machine");
  command->add_option("FAMILY", options->family, fmt::format("{}", fmt::join(GeneratorNames(), ", ")))->required();
  command->add_option("ARGS", options->arguments, "Sizes, as the family wants them: see below")->required();
  command->add_option("-o,--output", options->output, "File to write, or - for standard output; .gz and .zst compress")
      ->type_name("FILE|-")
      ->required();
  command
      ->add_option("--format", options->format,
                   fmt::format("The output's format, which otherwise goes by its ending: {}", DescribeFormats()))
      ->type_name("FORMAT");
  AddLossyOption(*command, options->lossy);
  command->add_option("--seed", options->spec.seed, "Another seed, another graph (default: 1)")
      ->type_name("N")
      ->check(WholeNumber());
  command
      ->add_option("--weights", options->weights,
                   "`none` (default); `unit`: 1; `LO:HI`: whole numbers from LO to HI; `float`: reals from 0 to 1; "
                   "`float:LO:HI`; `own`: road: travel times (its default), gap-kron and gap-urand: GAP's, as for 1:255")
      ->type_name("WEIGHTS");
  const auto for_families = [](std::string_view option, std::string_view says) {
    return fmt::format("{}: {}", FamiliesWith(option), says);
  };
  command
      ->add_option("--edge-factor,--degree", options->spec.edge_factor,
                   for_families("edge-factor", "edges generated a vertex (default: 16)"))
      ->type_name("N")
      ->check(WholeNumber());
  const auto probability = [&](const std::string& name, double& value, std::string_view says) {
    command->add_option(name, value, for_families(name.substr(2), says))
        ->type_name("P")
        ->check(Unnamed(CLI::Range(0.0, 1.0)));
  };
  probability("--a", options->spec.a, "odds of the upper left quadrant (default: 0.57)");
  probability("--b", options->spec.b, "odds of the upper right one (default: 0.19)");
  probability("--c", options->spec.c, "odds of the lower left one (default: 0.19); the lower right has the rest");
  command
      ->add_option("--radius", options->spec.radius,
                   for_families("radius",
                                "how far neighbours are apart, the square's side being 1 (default: "
                                "0.55 sqrt(ln n / n))"))
      ->type_name("X")
      ->check([](const std::string& text) {
        double radius = 0;
        const bool good = CLI::detail::lexical_cast(text, radius) && radius > 0 && radius <= 1.5;
        return good ? std::string() : fmt::format("'{}' is no radius; give a number above 0 and up to 1.5", text);
      });
  command
      ->add_option("--edges-per-vertex", options->spec.edges_per_vertex,
                   for_families("edges-per-vertex", "edges that each vertex comes with; web: about so many (default: 8)"))
      ->type_name("N")
      ->check(WholeNumber());
  command
      ->add_option("--neighbours", options->spec.neighbours,
                   for_families("neighbours", "each vertex's on the ring, half of them on either side (default: 8)"))
      ->type_name("N")
      ->check(WholeNumber());
  probability("--rewire", options->spec.rewire, "probability that an edge leads elsewhere (default: 0.1)");
  probability("--dangling", options->spec.dangling, "share of pages without a link (default: 0.3)");
  probability("--local", options->spec.local, "share of links within a host (default: 0.7)");
  probability("--drop", options->spec.drop, "probability that an edge is left out (default: 0)");
  command->add_flag("--directed", options->spec.directed,
                    for_families("directed", "edges lead one way, as they are generated"));
  command->add_flag("--keep-loops", options->spec.keep_loops,
                    for_families("keep-loops", "keep edges from a vertex to itself"));
  command->add_flag("--keep-parallel", options->spec.keep_parallel,
                    for_families("keep-parallel", "keep edges that were generated twice"));
  command->add_option("--threads", options->spec.threads, "CPU threads to use (default: one a core)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(1, 4096)));
  std::string families;
  for (const GeneratorFamily& family : Families()) {
    for (const std::string_view sizes : Split(family.sizes, '|')) {
      families += fmt::format("  {} {}\n", family.name, sizes);
    }
    families += fmt::format("      {}\n", family.says);
  }
  command->footer("Families, undirected but for those that say so:\n" + families +
                  "\n"
                  "Examples:\n"
                  "  chatty generate kron 21 --edge-factor 48 -o kron21.chatty\n"
                  "  chatty generate grid 1000 1000 --drop 0.38 --weights 1:100 -o road.gr.gz\n"
                  "  chatty generate uniform 16 --weights float --seed 7 -o uniform.mtx\n"
                  "  chatty generate kron 17 --directed -o rmat17.chatty\n"
                  "  chatty generate web 1000000 --dangling 0.4 -o web.chatty\n"
                  "  chatty generate gap-kron 20 --weights 1:255 -o kron20.chatty\n"
                  "\n"
                  "FILE appears once it is complete.");
  command->callback(
      [&context, options, command] { context.action = [options, command] { return GenerateGraph(*options, *command); }; });
}

}  // namespace chatty::cli
