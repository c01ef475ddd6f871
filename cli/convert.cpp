#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/common.h"
#include "chatty/core/error.h"
#include "chatty/io/writer.h"

namespace chatty::cli {
namespace {

struct ConvertOptions {
  std::string input, output, format;
  LoadOptions load;
};

int Convert(const ConvertOptions& options) {
  std::optional<std::string> format;
  if (!options.format.empty()) format = FormatName(ParseFormat(options.format));
  if (!format && !FormatOfSuffix(options.output)) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", options.output, NameAFormat());
  }
  const std::vector<std::string> files = GraphOutputFiles(options.output, format);
  for (const std::string& file : files) {
    RefuseSameFile("OUT", file, "IN", options.input);
    PrepareOutput(file);
  }
  const LoadedGraph loaded = Load(options.input, options.load);
  for (const std::string& read : loaded.report.files) {  // beside IN
    for (const std::string& file : files) RefuseSameFile("OUT", file, "IN", read);
  }
  const Stopwatch watch;
  WriteGraph(loaded.graph, options.output, format);

  std::string text = DescribeGraph(loaded.graph) + "\n" + DescribeLoad(loaded, options.load, 10);
  text += fmt::format("  written    {} in {}\n", options.output, FormatMs(watch.ms()));
  if (options.output != "-") PrintText(text);
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
  AddLoadOptions(*command, options->load, "--from", /*uses=*/true);
  command->footer(
      "Examples:\n"
      "  chatty convert web.mtx.gz web.chatty\n"
      "  chatty convert USA-road-d.NY.gr.zst road.mtx --symmetrise\n"
      "  zcat edges.txt.gz | chatty convert - edges.chatty --from edge-list\n"
      "\n"
      "The binary format loads fastest and loses nothing. The others number vertices their own way (Matrix Market, DIMACS\n"
      "and METIS from 1, edge lists from 0, LDBC Graphalytics as they are called). LDBC Graphalytics has three files:\n"
      "beside OUT.properties OUT.v and OUT.e. OUT appears once it is complete.");
  command->callback([&context, options] { context.action = [options] { return Convert(*options); }; });
}

}  // namespace chatty::cli
