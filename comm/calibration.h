/// \file
/// Measuring what communication costs on this machine, and keeping it: through the transports themselves, so that what is
/// measured is what engines pay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/topology.h"
#include "chatty/core/device.h"

namespace chatty {

/// One measured figure that belongs to no path: "launch-sync" in "us", "peer-atomic-random" in "1/s".
struct ProbeResult {
  static constexpr std::int32_t kNone = -1;             ///< no device
  std::string name;                                     ///< what was measured; docs/topology.md lists them
  std::int32_t from = kNone;                            ///< the device that acts
  std::int32_t to = kNone;                              ///< the device whose memory it acts on; kNone: host memory, or none
  double value = 0;                                     ///< in `unit`
  std::string unit;                                     ///< "us", "bytes/s" or "1/s"
  bool operator==(const ProbeResult&) const = default;  ///< all members
};

/// What a calibration found.
struct Calibration {
  CostModel model;                                      ///< the fits
  std::vector<ProbeResult> probes;                      ///< the further figures
  bool quick = false;                                   ///< fewer and smaller sizes
  double seconds = 0;                                   ///< that measuring took
  std::vector<std::string> notes;                       ///< paths that could not be measured, and why
  bool operator==(const Calibration&) const = default;  ///< all members
};

/// How to measure.
struct CalibrationOptions {
  bool quick = false;                   ///< up to 16 MiB rather than 256, few repetitions: under 5 s for two devices
  LinkMask links;                       ///< pairs that may use the links between them
  std::vector<std::string_view> paths;  ///< names of transports; empty: all that can join the devices
  /// Called with what is being measured, from the calling thread; may be empty.
  std::function<void(std::string_view)> progress;
};

/// Measures all paths between these devices, which must be idle and are left so. A path that fails is left out and noted.
/// Throws UsageError for fewer than two devices or a path that is not there, OutOfMemoryError, DeviceError.
Calibration Calibrate(std::span<Device* const> devices, const CalibrationOptions& options = {});

/// What a calibration is valid for: devices, what joins them, the mask, and the versions of the driver, CUDA, NCCL and this
/// library. Some lines of text; no name of a host in it.
std::string MachineFingerprint(const Topology& topology, const LinkMask& links = {});
/// $CHATTY_CACHE_DIR, or chatty under $XDG_CACHE_HOME, or .cache/chatty under $HOME; empty where none is set.
std::string CacheFolder();
/// Where the calibration of a machine is kept: one file a fingerprint. Empty without a folder.
std::string CalibrationFile(std::string_view fingerprint);

/// What LoadCalibration found: a calibration, or why there is none.
struct LoadedCalibration {
  std::optional<Calibration> calibration;  ///< never one that is damaged or another machine's
  std::string why;                         ///< where there is none: "FILE: is cut short"; empty if nothing was ever kept
};
/// Reads the calibration that is kept for a fingerprint. Never throws for what is in the file.
LoadedCalibration LoadCalibration(std::string_view fingerprint);
/// Keeps a calibration: written beside and renamed, so that readers see all or nothing. Throws InputError if the folder
/// cannot be written.
void SaveCalibration(std::string_view fingerprint, const Calibration& calibration);

/// @{
/// The text of a kept calibration, and back: lines of words and numbers, with a checksum. Parsing throws InputError, saying
/// what is wrong, for text that is not exactly what was written for this fingerprint by this version.
std::string CalibrationText(std::string_view fingerprint, const Calibration& calibration);
Calibration ParseCalibration(std::string_view text, std::string_view fingerprint);
/// @}

/// What a run starts from: the costs that are kept for this machine, else nominal ones. Never measures.
CostModel KnownCosts(const Topology& topology, const LinkMask& links = {});

}  // namespace chatty
