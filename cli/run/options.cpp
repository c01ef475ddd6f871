#include "chatty/cli/run/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/interrupt.h"
#include "chatty/cli/options.h"
#include "chatty/cli/run/run.h"
#include "chatty/cli/values.h"
#include "chatty/comm/selector.h"
#include "chatty/core/error.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

Direction ParseDirection(const std::string& text) {
  return text == "push" ? Direction::kPush : text == "pull" ? Direction::kPull : Direction::kAuto;
}

Tiling ParseTiling(std::string_view text) {
  return text == "never" ? Tiling::kNever : text == "always" ? Tiling::kAlways : Tiling::kAuto;
}

Records ParseRecords(std::string_view text) {
  return text == "never" ? Records::kNever : text == "always" ? Records::kAlways : Records::kAuto;
}

}  // namespace

double ParseDelta(const std::string& text) {
  if (text == "auto") return kAutoDelta;
  if (text == "off") return kInfinity<double>;
  double width = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, width);
  if (error != std::errc() || stop != end || !(width > 0) || !std::isfinite(width)) {
    Throw<UsageError>("'{}' is no width of buckets; give auto, off or a positive number", text);
  }
  return width;
}

RunOptions ParseRunOptions(const RunCommandOptions& options) {
  RunOptions run;
  run.direction = ParseDirection(options.direction);
  run.execution = ParseExecution(options.execution);
  run.comm = ParseCommSpec(options.transport);
  run.tiling = ParseTiling(options.tiles);
  run.records = ParseRecords(options.records);
  run.delta = ParseDelta(options.delta);
  run.explain = options.explain;
  run.max_rounds = options.max_rounds;
  run.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(options.timeout_s * 1000)));
  return run;
}

void AddRun(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunCommandOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program on a graph, time it, verify it, write its results");
  command->add_option("PROGRAM", options->program, "Program to run; `chatty programs` lists them")->required();
  command->add_option("GRAPH", options->graph,
                      "Graph file, or - for standard input, in any format that --format lists; plain, .gz or .zst; left "
                      "out with --ldbc");
  AddLdbcOption(*command, options->ldbc);

  AddParameterOptions(*command, options->parameters, /*runs=*/true);

  const std::string how = "Execution";
  command
      ->add_option("--devices", options->devices,
                   "`N`: so many GPUs, or host devices where there are none; `host:N`: N host devices sharing the cores; "
                   "`cuda:0,1`: these GPUs; `cuda:4@0`: four devices that share GPU 0; `cuda`: all GPUs; `auto` (default): "
                   "GPUs if present, one of them where more would make a traversal slower, else the host")
      ->type_name("N|DEVICES")
      ->group(how);
  command
      ->add_option("--partition", options->partition,
                   fmt::format("How vertices are divided among devices: {} (default: edge-balanced), or the path, with a / "
                               "or a . in it, of a part file of METIS or `chatty partition`",
                               fmt::join(PartitionerNames(), ", ")))
      ->type_name("NAME|FILE")
      ->group(how);
  AddFallbackOption(*command, options->partition_fallback)->group(how);
  command
      ->add_option("--direction", options->direction,
                   "`push` along out-edges of what changed, `pull` along in-edges of what may change, or `auto` (default): "
                   "whichever looks at fewer edges, round by round")
      ->type_name("auto|push|pull")
      ->check(OneOf({"auto", "push", "pull"}))
      ->group(how);
  command
      ->add_option(
          "--execution", options->execution,
          "Who drives the run: `bsp`, in rounds; `async`, each device at its own pace, for programs that `chatty programs` "
          "calls monotone or accumulative; `auto` (default): on several devices async where it suits the program and the "
          "graph has many levels, else bsp")
      ->type_name("NAME")
      ->group(how);
  command
      ->add_option(
          "--comm,--transport", options->transport,
          fmt::format("What carries messages between devices: {}; or data=NAME,state=NAME (default: auto, the fastest "
                      "by this machine's costs, message by message; `chatty topology --measure` measures them)",
                      fmt::join(CommNames(), ", ")))
      ->type_name("NAME")
      ->group(how);
  command
      ->add_option("--links", options->links,
                   "Links between devices that may be used: `all` (default), `none`, or `pairs {0,1}{2,3}`: those within a "
                   "group; others go through host memory")
      ->type_name("all|none|pairs")
      ->group(how);
  command
      ->add_option(
          "--bind", options->bind,
          "`auto` (default): a device's threads run on the CPUs of its NUMA node, or of one node a host device, unless "
          "OMP_PROC_BIND or OMP_PLACES says where; `off`: wherever the system has them")
      ->type_name("auto|off")
      ->check(OneOf({"auto", "off"}))
      ->group(how);
  command->add_option("--max-rounds", options->max_rounds, "Stop after so many rounds (default: when the program is done)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max())))
      ->group(how);
  AddTimeoutOption(*command, options->timeout_s,
                   "Longest wait for another device before the run fails, 0.001 to 1000000 (default: none)")
      ->group(how);
  AddSeedOption(*command, options->seed)->group(how);

  command
      ->add_option_function<std::string>(
          "--remote-atomics",
          [](const std::string&) {
            throw UsageError(
                "--remote-atomics is gone: all messages go in message buffers; leave it out (--comm chooses their path)");
          })
      ->group("");
  command
      ->add_option("--tiles", options->tiles,
                   "Rows of programs that are active in every round, such as pagerank, are prepared for the caches: host "
                   "devices cut them into tiles, GPUs order what sources share and keep that of hubs in shared memory; it "
                   "takes the time of some rounds, in `prepare`: `auto` (default), where what vertices share does not fit, "
                   "or there are hubs")
      ->type_name("auto|never|always")
      ->check(OneOf({"auto", "never", "always"}))
      ->group(how);
  command
      ->add_option(
          "--records", options->records,
          "GPUs keep rows of up to four edges as records of 16 bytes, and 16 for weights, for programs that "
          "relax edges in any order, such as bfs and sssp: `auto` (default), if most rows are short and memory suffices")
      ->type_name("auto|never|always")
      ->check(OneOf({"auto", "never", "always"}))
      ->group(how);
  command
      ->add_option(
          "--delta", options->delta,
          "Width of buckets. Programs with a priority, such as sssp, take vertices bucket by bucket, nearest first: "
          "`auto` (default), as weights and degrees suggest, and adapted during the run; `off`: no buckets, each "
          "changed vertex is in the next round; or a width, say 25, in the unit of the priority")
      ->type_name("auto|off|X")
      ->check(Unnamed(CLI::Validator(
          [](const std::string& text) {
            try {
              ParseDelta(text);
            } catch (const UsageError& error) {
              return std::string(error.what());
            }
            return std::string();
          },
          "")))
      ->group(how);
  command
      ->add_flag("--explain", options->explain,
                 "Print for each message of the last trial its path, its predicted time and its measured time; "
                 "slows the run down. Where `auto` takes async, the run has rounds instead. On GPUs the first trial pays "
                 "for what is used first: add --trials 2")
      ->group(how);

  command
      ->add_flag("--plan", options->plan,
                 "Print what the run would do, and end: its engine and why, directions, buckets, transports and memory; "
                 "as JSON with --json. The graph is loaded and divided, and nothing is allocated on a GPU")
      ->group(how);

  AddBytesOption(*command, "--memory-limit", options->memory_limit,
                 "Memory that each device may hold, say 500M, 2G or 1.5GiB (default: what it has free)")
      ->group(how);

  const std::string what = "Measurement and results";
  AddTrialsOption(*command, options->trials, "Run so often; the results are the last trial's (default: 1)")->group(what);
  command
      ->add_flag("--verify", options->verify,
                 "Check the last trial's answer, unless the run was ended early; exit with 3 if it is wrong")
      ->group(what);
  command->add_option("-o,--output", options->output, "Write the results, as said below; - for standard output")
      ->type_name("FILE|-")
      ->check(NotEmpty())
      ->group(what);
  AddValueFormOption(*command, options->output_format)->group(what);
  AddJsonOption(*command, options->json)->group(what);
  command
      ->add_option("--trace", options->trace,
                   "Write what ran when, a track a device, for https://ui.perfetto.dev; compressed if the name ends in .gz")
      ->type_name("FILE")
      ->check(NotEmpty())
      ->group(what);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);

  command->footer(
      "Examples:\n"
      "  chatty run bfs road.chatty --source 500500 --verify --output levels.txt\n"
      "  chatty run bfs road.chatty --source 500500 --value parent --output parents.npy\n"
      "  chatty run sssp USA-road-d.NY.gr.zst --devices host:4 --source random:7 --trials 16 --verify\n"
      "  chatty run pagerank web.mtx.gz --devices cuda:0,1 --damping 0.9 --tolerance 1e-6 --json record.json\n"
      "  chatty run bfs road.chatty --devices host:4 --trace timeline.json\n"
      "  chatty run pr --ldbc datagen-7_5-fb.properties --output ranks.txt\n"
      "  chatty run cc social.el --symmetrise --direction push --partition random --json -\n"
      "\n" +
      std::string(kResultsHelp) +
      "\n"
      "`cc` is weak connectivity: a component is called by its least id. `sssp` takes weight 1 where the graph has "
      "none.\n"
      "Unique answers are the same bytes on any devices, partition and direction.\n"
      "\n"
      "The time is that of the run alone, from initialising the vertices to convergence, with all launches and\n"
      "read-backs; loading, partition, upload and copying out have times of their own.\n"
      "\n"
      "What cannot fit is refused before it is loaded, by the counts in the graph's header, or at the latest before\n"
      "anything is allocated on a device; the error says what is needed and on how many devices it may fit.\n"
      "`chatty info` prints it beforehand.\n"
      "\n"
      "The first SIGINT (Ctrl-C) or SIGTERM during the trials ends the run after its round: the summary, --json (with\n"
      "`\"ended\": \"interrupt\"`) and --output hold what it had, --verify is left out, and standard error says that the\n"
      "values are not final; the process then ends by the signal, which is 130 (SIGINT) or 143 (SIGTERM) in a shell.\n"
      "The next one, or one before or after the trials, ends the process at once: files that are complete by then\n"
      "stay, unfinished ones are removed. Within 200 ms of the first it counts as the same, as `timeout` sends it twice.\n"
      "\n"
      "Exit codes: 0 success, also if --max-rounds ended the run, which is then not verified; 1 the run failed, or a "
      "device\n"
      "that was asked for is not there; 2 wrong usage or input; 3 verification failed.");
  command->callback([&context, options] {
    context.action = [&context, options] {
      const int code = RunCommand(context.registry, *options, context.command_line);
      if (code < 0) EndBySignal(-code);  // all that the run held has been given back
      return code;
    };
  });
}

}  // namespace chatty::cli
