#include "chatty/cli/compare/costs.h"

#include <exception>
#include <filesystem>
#include <string>

#include "chatty/cli/compare/plan.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"

namespace chatty::cli {

std::optional<CostCurves> KnownCurves(const DeviceSelection& selection, std::string_view links, int threads) {
  const std::size_t devices = selection.indices.size();
  if (devices < 2) return std::nullopt;
  try {
    const Topology topology = DiscoverTopology(selection, threads);
    // Nominal costs have a line for some paths that cannot join the devices.
    const CostModel model =
        KnownCosts(topology, LinkMask::Parse(MaskFor(links, devices), devices)).Of(PathsOfAuto(selection));
    return CurvesOf(model, fmt::format("{} to {}", topology.devices()[0].label, topology.devices()[1].label), 0, 1);
  } catch (const std::exception&) {  // the page says that there are none, and is not lost for them
    return std::nullopt;
  }
}

std::string CostsName(const DeviceSelection& devices, std::string_view links, int threads) {
  const LinkMask mask = LinkMask::Parse(links, devices.indices.size());
  const std::string fingerprint = MachineFingerprint(DiscoverTopology(devices, threads), mask);
  const LoadedCalibration kept = LoadCalibration(fingerprint);
  if (!kept.calibration) return "nominal";
  const std::string text = CalibrationText(fingerprint, *kept.calibration);  // ends with its checksum, 16 digits
  return fmt::format("{}-{}", std::filesystem::path(CalibrationFile(fingerprint)).stem().string(),
                     text.substr(text.size() - 17, 16));
}

}  // namespace chatty::cli
