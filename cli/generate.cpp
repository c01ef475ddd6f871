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
#include "chatty/cli/common.h"
#include "chatty/core/error.h"
#include "chatty/io/generators.h"
#include "chatty/io/writer.h"

namespace chatty::cli {
namespace {

struct GenerateOptions {
  std::vector<std::string> arguments;
  GeneratorSpec spec;
  std::string family, weights = "none", output, format;
};

/// Sets kind and range of the spec's weights from "none", "LO:HI", "float" or "float:LO:HI".
void ParseWeights(std::string_view text, GeneratorSpec& spec) {
  const auto fail = [&] { Throw<UsageError>("--weights {}: write none, LO:HI (say 1:255), float or float:LO:HI", text); };
  if (text == "none") return;
  std::string_view range = text;
  spec.weights = WeightKind::kInt32;
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
void ParseArguments(const GenerateOptions& options, GeneratorSpec& spec) {
  const std::vector<std::string>& arguments = options.arguments;
  const auto expect = [&](std::size_t count, std::string_view what) {
    if (arguments.size() != count) Throw<UsageError>("write `generate {} {}`", spec.family, what);
  };
  if (spec.family == "kron" || spec.family == "uniform") {
    expect(1, "SCALE");
    const std::uint64_t scale = ParseSize("SCALE", arguments[0]);
    spec.scale = static_cast<int>(std::min<std::uint64_t>(scale, 1000));  // Generate refuses what is too large
  } else if (spec.family == "grid") {
    expect(2, "WIDTH HEIGHT");
    spec.width = ParseSize("WIDTH", arguments[0]);
    spec.height = ParseSize("HEIGHT", arguments[1]);
  } else if (spec.family == "chain" || spec.family == "star") {
    expect(1, "COUNT");
    spec.count = ParseSize("COUNT", arguments[0]);
  } else {
    Throw<UsageError>("there is no family '{}'; choose one of {}", spec.family, fmt::join(GeneratorNames(), ", "));
  }
}

int GenerateGraph(const GenerateOptions& options) {
  GeneratorSpec spec = options.spec;
  spec.family = options.family;
  ParseArguments(options, spec);
  ParseWeights(options.weights, spec);
  std::optional<std::string> format;
  if (!options.format.empty()) format = FormatName(ParseFormat(options.format));
  if (!format && !FormatOfSuffix(options.output)) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", options.output, NameAFormat());
  }
  PrepareOutput(options.output);
  const Stopwatch generate_watch;
  const Graph graph = Generate(spec);
  const double generate_ms = generate_watch.ms();
  const Stopwatch write_watch;
  WriteGraph(graph, options.output, format);
  if (options.output != "-") {
    PrintText(fmt::format("{}\n  written    {} (generated in {}, written in {})\n", DescribeGraph(graph), options.output,
                          FormatMs(generate_ms), FormatMs(write_watch.ms())));
  }
  return kSuccess;
}

}  // namespace

void AddGenerate(CLI::App& app, Context& context) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Make a graph from a formula, the same on every machine");
  command->add_option("FAMILY", options->family, fmt::format("{}", fmt::join(GeneratorNames(), ", ")))->required();
  command->add_option("ARGS", options->arguments, "kron, uniform: SCALE; grid: WIDTH HEIGHT; chain, star: COUNT")
      ->required();
  command->add_option("-o,--output", options->output, "File to write, or - for standard output; .gz and .zst compress")
      ->type_name("FILE|-")
      ->required();
  command
      ->add_option("--format", options->format,
                   "The output's format, which otherwise goes by its ending: matrix-market (.mtx), edge-list (.el), dimacs "
                   "(.gr) or binary (.chatty)")
      ->type_name("FORMAT");
  command->add_option("--seed", options->spec.seed, "Another seed, another graph (default: 1)")
      ->type_name("N")
      ->check(WholeNumber());
  command
      ->add_option("--weights", options->weights,
                   "`none` (default); `LO:HI`: whole numbers from LO to HI; `float`: reals from 0 to 1; `float:LO:HI`")
      ->type_name("WEIGHTS");
  command->add_option("--edge-factor", options->spec.edge_factor, "kron, uniform: edges generated a vertex (default: 16)")
      ->type_name("N")
      ->check(WholeNumber());
  command->add_option("--drop", options->spec.drop, "grid: probability that an edge is left out (default: 0)")
      ->type_name("P")
      ->check(Unnamed(CLI::Range(0.0, 1.0)));
  command->add_flag("--keep-loops", options->spec.keep_loops, "kron, uniform: keep edges from a vertex to itself");
  command->add_flag("--keep-parallel", options->spec.keep_parallel, "kron, uniform: keep edges that were generated twice");
  command->add_option("--threads", options->spec.threads, "CPU threads to use (default: one a core)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(1, 4096)));
  command->footer(
      "Families, all undirected:\n"
      "  kron SCALE         R-MAT with Graph500's parameters: 2^SCALE vertices, a few of huge degree\n"
      "  uniform SCALE      2^SCALE vertices, ends of edges drawn uniformly\n"
      "  grid WIDTH HEIGHT  like streets: neighbours right and below; --drop closes some; vertices all stay\n"
      "  chain COUNT        each vertex with the next: as deep as a graph can be\n"
      "  star COUNT         the first vertex with all others: as skewed as a graph can be\n"
      "\n"
      "Examples:\n"
      "  chatty generate kron 21 --edge-factor 48 -o kron21.chatty\n"
      "  chatty generate grid 1000 1000 --drop 0.38 --weights 1:100 -o road.gr.gz\n"
      "  chatty generate uniform 16 --weights float --seed 7 -o uniform.mtx\n"
      "\n"
      "FILE appears once it is complete.");
  command->callback([&context, options] { context.action = [options] { return GenerateGraph(*options); }; });
}

}  // namespace chatty::cli
