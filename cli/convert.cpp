#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
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
#include "chatty/io/writer.h"

namespace chatty::cli {
namespace {

struct ConvertOptions {
  std::string input, output, format;
  bool lossy = false;
  LoadOptions load;
};

int Convert(const ConvertOptions& options) {
  std::optional<std::string> format;
  if (!options.format.empty()) format = FormatName(ParseFormat(options.format));
  if (!format && !FormatOfSuffix(options.output)) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", options.output, NameAFormat());
  }
  RefuseOtherSuffix("OUT", options.output, "", {}, /*decided=*/true);
  const std::vector<std::string> files = GraphOutputFiles(options.output, format);
  for (const std::string& file : files) {
    RefuseSameFile("OUT", file, "IN", options.input);
    PrepareOutput(file);
  }
  const LoadedGraph loaded = Load(options.input, options.load);
  for (const std::string& read : loaded.report.files) {  // beside IN
    for (const std::string& file : files) RefuseSameFile("OUT", file, "IN", read);
  }
  const std::vector<std::string> lost =
      TakeLosses(loaded.graph, options.output, format, options.lossy,
                 "--ids zero|one and --weights int|float change the graph into what can be said, ");
  PhaseLine phase("writing");
  const Stopwatch watch;
  WriteGraph(loaded.graph, options.output, format);
  phase.Finish();

  std::string text = DescribeGraph(loaded.graph) + "\n" + DescribeLoad(loaded, options.load, 10);
  text += fmt::format("  written    {} in {}\n", options.output, FormatMs(watch.ms()));
  text += DescribeLosses(lost, options.output, 10);
  if (options.output != "-") PrintReport(text);
  return kSuccess;
}

}  // namespace

void AddConvert(CLI::App& app, Context& context) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "Write a graph in another format");
  command->add_option("IN", options->input, "Graph file, or - for standard input")->required();
  command->add_option("OUT", options->output, "File to write, or - for standard output; .gz and .zst compress")->required();
  command
      ->add_option("--format", options->format,
                   fmt::format("The output's format, which otherwise goes by OUT's ending: {}", DescribeFormats()))
      ->type_name("FORMAT");
  AddLossyOption(*command, options->lossy);
  AddLoadOptions(*command, options->load, "--from", /*uses=*/true);
  command->footer(
      "Examples:\n"
      "  chatty convert web.mtx.gz web.chatty\n"
      "  chatty convert USA-road-d.NY.gr.zst road.mtx --symmetrise\n"
      "  zcat edges.txt.gz | chatty convert - edges.chatty --from edge-list\n"
      "\n"
      "The binary format loads fastest and loses nothing. Nor does an edge list or LDBC Graphalytics, labels aside. The\n"
      "others count vertices from 1 (Matrix Market, DIMACS, METIS) or from 0, and some have int32 weights only. What a\n"
      "format cannot say is printed, and nothing is written without --lossy; --ids and --weights change the graph to what\n"
      "it can say. LDBC Graphalytics has three files: beside OUT.properties OUT.v and OUT.e. OUT appears once it is "
      "complete.");
  command->callback([&context, options] { context.action = [options] { return Convert(*options); }; });
}

}  // namespace chatty::cli
