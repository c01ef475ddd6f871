#include "chatty/cli/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/compare/compare.h"
#include "chatty/cli/compare/figures.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/interrupt.h"
#include "chatty/comm/transport.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {

void AddCompare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Compare programs, engines, paths and device counts on graphs");
  command->add_option("GRAPH", options->graphs, "Graph files in any format that `chatty convert` reads; plain, .gz or .zst")
      ->type_name("FILE");
  command->add_option("--out", options->out, "Folder for the results, made if it is not there")
      ->type_name("FOLDER")
      ->required()
      ->check(NotEmpty());

  const std::string what = "What is compared";
  command
      ->add_option("--programs", options->programs,
                   "Programs to run (default: bfs,sssp,pr,cc); `pr` is pagerank, `chatty programs` lists them")
      ->type_name("NAME,...")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option(
          "--execution", options->execution,
          "Engines: of bsp, async and auto, or `all`, which are bsp and async (default: bsp,async); `async:delta=off`: with "
          "buckets as `chatty run --delta` takes them")
      ->type_name("NAME,...")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option("--comm", options->comm,
                   fmt::format("Communication paths: of {}, what `chatty run` takes besides, or `all` that can join the "
                               "devices (default)",
                               fmt::join(TransportNames(), ", ")))
      ->type_name("all|NAME,...")
      ->check(NotEmpty())
      ->group(what);
  command->add_option("--devices", options->devices, "Numbers of devices (default: 1, 2, 4 and so on, up to what there is)")
      ->type_name("N,...")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option("--on", options->on,
                   "Kind of the devices: `host`, `cuda`, or `auto` (default): GPUs if present; or which GPUs, as `chatty "
                   "run --devices` names them")
      ->type_name("auto|host|cuda|cuda:")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option("--partition", options->partition,
                   fmt::format("How vertices are divided: of {}, or part files (default: edge-balanced)",
                               fmt::join(PartitionerNames(), ", ")))
      ->type_name("NAME,...")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option("--links", options->links,
                   "Leave only some links: all (default), none, or those within groups of devices, 'pairs {0,1}{2,3}', "
                   "counted from 0")
      ->type_name("all|none|pairs")
      ->check(NotEmpty())
      ->group(what);
  command
      ->add_option("--figure", options->figure,
                   fmt::format("Measure what a figure of a paper shows, and put the paper's numbers beside: {}",
                               fmt::join(FigureNames(), ", ")))
      ->type_name("NAME")
      ->group(what);

  const std::string how = "How it is measured";
  AddTrialsOption(*command, options->trials, "Timed runs of each combination (default: 3)")->group(how);
  command
      ->add_option("--budget", options->budget_s,
                   "Time for all of it: first one trial of each combination, or more where they cost next to nothing, then "
                   "more while it lasts")
      ->type_name("SECONDS")
      ->check(SecondsBetween(0.001, 1e7))
      ->group(how);
  command->add_flag("--resume", options->resume, "Go on with what is in the folder; what was measured is kept")->group(how);
  AddTimeoutOption(*command, options->timeout_s,
                   "Longest wait of a device for another before a run counts as failed, 0.001 to 1000000 (default: 60)")
      ->group(how);
  AddSeedOption(*command, options->seed)->group(how);
  AddRunParameters(
      *command, options->parameters,
      {"Vertex to start from, for programs that have one: its id, `random:SEED` (another one in each trial, of "
       "those with out-edges) or `max-degree` (default)",
       "Set a parameter of the programs that have it", "An array with a number for each vertex, for programs that take it"});
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);

  command->footer(
      "Examples:\n"
      "  chatty compare road.chatty kron.chatty --out comparison\n"
      "  chatty compare kron.chatty --programs bfs,pr --devices 1,2,4 --on cuda --trials 5 --out kron\n"
      "  chatty compare *.chatty --comm auto,p2p-copy --links 'pairs {0,1}{2,3}' --budget 300 --out pairs\n"
      "  chatty compare *.chatty --budget 300 --out pairs --resume\n"
      "  chatty compare --figure groute-2b --out packets\n"
      "  chatty compare road.chatty --figure groute-5 --devices 1,2 --out soft-priority\n"
      "\n"
      "The folder gets index.html, a page with charts that loads nothing; results.csv, a row a combination;\n"
      "results.json, everything; journal.jsonl, from which --resume goes on; and a figure's CSV. docs/comparing.md\n"
      "describes them.\n"
      "\n"
      "Each combination runs untimed, its answer is verified, and then come the trials, whose last answer is verified\n"
      "as well. What a program or the machine cannot do is listed with the reason, and what fails does not end the\n"
      "comparison. The first SIGINT (Ctrl-C) or SIGTERM ends it after the round at hand, and what was measured is\n"
      "written; the next one, unless it comes within 200 ms, ends it at once. A source that is no vertex of one of the\n"
      "graphs is refused before anything is measured.\n"
      "\n"
      "Exit codes: 0 success; 1 something failed that should have run; 2 wrong usage or input; 3 an answer was wrong;\n"
      "interrupted, the signal's.");
  command->callback([&context, options, command] {
    context.action = [&context, options, command] {
      if (!options->figure.empty()) {
        ApplyPreset(options->figure, *options,
                    [&](std::string_view name) { return command->get_option(fmt::format("--{}", name))->count() > 0; });
      }
      const int code = CompareCommand(context.registry, *options, context.command_line);
      if (code < 0) EndBySignal(-code);  // all that it held has been given back
      return code;
    };
  });
}

}  // namespace chatty::cli
