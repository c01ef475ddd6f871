#include "chatty/comm/topology.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/json.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/text.h"
#include "chatty/cli/topology/costs.h"
#include "chatty/cli/topology/json.h"
#include "chatty/cli/topology/page.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/rings.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/io/output.h"

namespace chatty::cli {
namespace {

struct TopologyOptions {
  std::string devices = "auto", simulate, links = "all", json, html;
  bool measure = false, quick = false, recalibrate = false;
};

Calibration Measure(const TopologyOptions& options, const DeviceSelection& selection, const LinkMask& mask) {
  const std::vector<std::unique_ptr<Device>> devices = OpenDevices(selection);
  std::vector<Device*> pointers;
  pointers.reserve(devices.size());
  for (const auto& device : devices) pointers.push_back(device.get());
  Progress bar("Measuring", PathsOfAuto(selection).size());
  const auto progress = [&bar](std::string_view what) {
    Log().debug("measuring {}", what);
    bar.Advance();
  };
  Calibration calibration = Calibrate(pointers, {.quick = options.quick, .links = mask, .progress = progress});
  bar.Finish();
  return calibration;
}

/// What is kept for this machine, else new costs where `--measure` asks for them, else nominal ones; as runs choose by
/// (KnownCosts).
CostReport CostsOf(const TopologyOptions& options, const DeviceSelection& selection, const Topology& found,
                   const LinkMask& mask) {
  const std::string fingerprint = MachineFingerprint(found, mask);
  CostReport report{.calibration = {}, .file = CalibrationFile(fingerprint)};
  LoadedCalibration loaded;
  if (!options.recalibrate) loaded = LoadCalibration(fingerprint, found.size());
  // A quick one will not do where a thorough one was asked for.
  report.kept = loaded.calibration && (!options.measure || options.quick || !loaded.calibration->quick);
  if (report.kept) {
    report.calibration = std::move(*loaded.calibration);
    return report;
  }
  if (!loaded.why.empty()) {
    Log().warn("{}; {}", loaded.why,
               options.measure ? "measuring anew" : "costs are nominal until `chatty topology --measure` measures them");
  }
  if (!options.measure) {
    report.calibration.model = CostModel::Nominal(Masked(found, mask)).Of(PathsOfAuto(selection));
    return report;
  }
  report.calibration = Measure(options, selection, mask);
  try {
    SaveCalibration(fingerprint, report.calibration);
  } catch (const Error& error) {  // the figures are as good
    Log().warn("{}", error.what());
    report.file.clear();
  }
  return report;
}

/// The pairs that two masks both leave: as one of them says it, where it says it all.
LinkMask Both(const LinkMask& a, const LinkMask& b, std::size_t devices) {
  std::string pairs;
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = from + 1; to < devices; ++to) {
      if (a.Allows(from, to) && b.Allows(from, to)) pairs += fmt::format("{{{},{}}}", from, to);
    }
  }
  LinkMask both = LinkMask::Parse(pairs.empty() ? "none" : "pairs " + pairs, devices);
  for (const LinkMask& mask : {b, a}) {
    if (mask.CanonicalText(devices) == both.CanonicalText(devices)) return mask;
  }
  return both;
}

int ShowTopology(const TopologyOptions& options) {
  if (options.json == "-" && options.html == "-") throw UsageError("--json and --html cannot both go to standard output");
  RefuseSameFile("--json", options.json, "--html", options.html);
  for (const auto& [option, path] : {std::pair("--json", &options.json), std::pair("--html", &options.html)}) {
    RefuseSameFile(option, *path, "--simulate", options.simulate);
  }
  RefuseOtherSuffix("--html", options.html, "the page is HTML (.html)", {".html", ".htm"});
  PrepareOutput(options.html);
  PrepareJson(options.json);
  const bool simulated = !options.simulate.empty();
  const DeviceSelection selection = simulated ? DeviceSelection{} : ParseDevices(options.devices);
  LinkMask recorded;  // what a record was made with, whose links are as it left them
  const Topology found = simulated ? ReadTopology(options.simulate, &recorded) : DiscoverTopology(selection);
  const LinkMask mask = Both(recorded, LinkMask::Parse(options.links, found.size()), found.size());
  const Topology topology = Masked(found, mask);
  const Rings rings = FindRings(topology);
  std::optional<CostReport> costs;
  if (simulated && topology.size() > 1) {
    // Of a machine that is described all paths, whatever this build has, that such devices have.
    CostModel& model = costs.emplace().calibration.model = CostModel::Nominal(topology);
    if (topology.devices().front().kind == DeviceKind::kHost) model = model.Of(PathsOfAuto({DeviceKind::kHost, {}}));
  } else if (options.measure || topology.size() > 1) {
    costs = CostsOf(options, selection, found, mask);
  }

  std::string heading = topology.name().empty() ? "a machine" : topology.name();
  if (simulated) heading += fmt::format(", as {} describes it", options.simulate);
  if (mask.text() != "all") heading += fmt::format(", links: {}", mask.text());
  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["simulated"] = simulated ? Json(options.simulate) : Json(nullptr);
    json["mask"] = mask.text();
    json["topology"] = TopologyJson(topology);
    json["rings"] = RingsJson(rings);
    if (costs) json["costs"] = CostsJson(*costs);
    WriteJsonLines(options.json, json);
  }
  if (!options.html.empty()) {
    OutputFile page(options.html);
    page.Write(TopologyPage(topology, rings, heading, costs ? CostsSection(topology, *costs) : ""));
    page.Commit();
  }
  if (options.json != "-" && options.html != "-") {
    PrintReport(TopologyText(topology, rings, heading) + (costs ? CostsText(topology, *costs) : ""));
  }
  return kSuccess;
}

}  // namespace

void AddTopology(CLI::App& app, Context& context) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App* command = app.add_subcommand("topology", "Show devices, the links between them and the widest ring");
  const auto add_text = [&](const char* name, std::string& value, const char* type, const char* help) {
    return command->add_option(name, value, help)->type_name(type)->check(NotEmpty());
  };
  CLI::Option* devices =
      add_text("--devices", options->devices, "N|DEVICES",
               "`N`: so many GPUs, or host devices where there are none; `host:N`: N host devices sharing the cores; "
               "`cuda:0,1`: these GPUs; `cuda:4@0`: four devices that share GPU 0; `cuda`: all GPUs; `auto` (default): "
               "GPUs if present, else the host");
  CLI::Option* measure =
      command->add_flag("--measure", options->measure,
                        "Measure what messages cost on each path between the devices, or show what was measured earlier");
  command->add_flag("--quick", options->quick, "Measure fewer sizes, in a few seconds")->needs(measure);
  command->add_flag("--recalibrate", options->recalibrate, "Measure anew even if it was done before")->needs(measure);
  add_text("--simulate", options->simulate, "FILE|-",
           "Show the machine that a JSON file describes instead, one that --json wrote or one made up, and what would be "
           "chosen there")
      ->excludes(devices)
      ->excludes(measure);
  add_text("--links", options->links, "all|none|pairs",
           "Leave only some links: all (default), none, or those within groups of devices, 'pairs {0,1}{2,3}', counted from "
           "0; other pairs go through host memory");
  AddJsonOption(*command, options->json);
  add_text("--html", options->html, "FILE|-",
           "Write a page with the links drawn, which loads nothing; - for standard output");
  command->footer(
      "Examples:\n"
      "  chatty topology\n"
      "  chatty topology --devices cuda:0,1 --html links.html\n"
      "  chatty topology --measure --html costs.html\n"
      "  chatty topology --measure --quick --devices host:2\n"
      "  chatty topology --json machine.json\n"
      "  chatty topology --simulate machine.json --links 'pairs {0,1}{2,3}'\n"
      "\n"
      "Bandwidths of links are nominal, by their standards; so are costs until --measure times what messages cost\n"
      "and keeps it in the user's cache folder. The ring is the cycle over all devices whose narrowest hop is widest.\n"
      "docs/topology.md describes the files.");
  command->callback([&context, options] { context.action = [options] { return ShowTopology(*options); }; });
}

}  // namespace chatty::cli
