#include "chatty/comm/topology.h"

#include <memory>
#include <string>
#include <utility>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/common.h"
#include "chatty/cli/topology_json.h"
#include "chatty/cli/topology_page.h"
#include "chatty/comm/rings.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/io/output.h"

namespace chatty::cli {
namespace {

struct TopologyOptions {
  std::string devices = "auto", simulate, links = "all", json, html;
};

int ShowTopology(const TopologyOptions& options) {
  if (options.json == "-" && options.html == "-") throw UsageError("--json and --html cannot both go to standard output");
  RefuseSameFile("--json", options.json, "--html", options.html);
  for (const auto& [option, path] : {std::pair("--json", &options.json), std::pair("--html", &options.html)}) {
    RefuseSameFile(option, *path, "--simulate", options.simulate);
    PrepareOutput(*path);
  }
  const bool simulated = !options.simulate.empty();
  const Topology found = simulated ? ReadTopology(options.simulate) : DiscoverTopology(ParseDevices(options.devices));
  const LinkMask mask = LinkMask::Parse(options.links, found.size());
  const Topology topology = Masked(found, mask);
  const Rings rings = FindRings(topology);

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
    WriteJson(options.json, json);
  }
  if (!options.html.empty()) {
    OutputFile page(options.html);
    page.Write(TopologyPage(topology, rings, heading));
    page.Commit();
  }
  if (options.json != "-" && options.html != "-") PrintText(TopologyText(topology, rings, heading));
  return kSuccess;
}

}  // namespace

void AddTopology(CLI::App& app, Context& context) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App* command = app.add_subcommand("topology", "Show devices, the links between them and the widest ring");
  CLI::Option* devices = command
                             ->add_option("--devices", options->devices,
                                          "`host:N`: N host devices sharing the cores; `cuda:0,1`: these GPUs; `cuda`: all "
                                          "GPUs; `auto` (default): GPUs if present, else the host")
                             ->type_name("DEVICES")
                             ->check(NotEmpty());
  command
      ->add_option("--simulate", options->simulate,
                   "Show the machine that a JSON file describes instead, one that --json wrote or one made up")
      ->type_name("FILE|-")
      ->check(NotEmpty())
      ->excludes(devices);
  command
      ->add_option("--links", options->links,
                   "Leave only some links: all (default), none, or those within groups of devices, 'pairs {0,1}{2,3}', "
                   "counted from 0; other pairs go through host memory")
      ->type_name("all|none|pairs")
      ->check(NotEmpty());
  AddJsonOption(*command, options->json);
  command
      ->add_option("--html", options->html, "Write a page with the links drawn, which loads nothing; - for standard output")
      ->type_name("FILE|-")
      ->check(NotEmpty());
  command->footer(
      "Examples:\n"
      "  chatty topology\n"
      "  chatty topology --devices cuda:0,1 --html links.html\n"
      "  chatty topology --json machine.json\n"
      "  chatty topology --simulate machine.json --links 'pairs {0,1}{2,3}'\n"
      "\n"
      "Bandwidths are nominal, by the links' standards; nothing is measured. The ring is the cycle over all devices whose\n"
      "narrowest hop is widest. docs/topology.md describes the file.");
  command->callback([&context, options] { context.action = [options] { return ShowTopology(*options); }; });
}

}  // namespace chatty::cli
