/// \file
/// Measures what communication costs on this machine, and keeps the result. It measures through the transports themselves,
/// so that engines pay the measured costs.
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

/// What a calibration found.
struct Calibration {
  CostModel model;                                      ///< the fits
  bool quick = false;                                   ///< fewer and smaller sizes
  double seconds = 0;                                   ///< duration of the measurement
  std::vector<std::string> notes;                       ///< paths that could not be measured, and why
  bool operator==(const Calibration&) const = default;  ///< all members
};

/// How to measure.
struct CalibrationOptions {
  bool quick = false;  ///< up to 16 MiB rather than 256, few repetitions: under 5 s for two devices
  LinkMask links;      ///< pairs that may use the links between them
  /// Reports the current step, from the calling thread; may be empty.
  std::function<void(std::string_view)> progress;
};

/// Measures the paths that `auto` may take between these devices (PathsOfAuto), which must be idle and are idle afterwards.
/// A path that fails is left out and noted. Throws UsageError for fewer than two devices, OutOfMemoryError, DeviceError.
Calibration Calibrate(std::span<Device* const> devices, const CalibrationOptions& options = {});

/// The machine that a calibration is valid for: devices, what joins them, the mask, and the versions of the driver, CUDA,
/// NCCL and this library. Some lines of text, without a host's name.
std::string MachineFingerprint(const Topology& topology, const LinkMask& links = {});
/// $CHATTY_CACHE_DIR, or chatty under $XDG_CACHE_HOME, or .cache/chatty under $HOME; empty where none is set.
std::string CacheFolder();
/// The file of a machine's calibration: one for each fingerprint. Empty without a folder.
std::string CalibrationFile(std::string_view fingerprint);

/// The result of LoadCalibration: a calibration, or why there is none.
struct LoadedCalibration {
  std::optional<Calibration> calibration;  ///< never one that is damaged or another machine's
  std::string why;                         ///< where there is none: "FILE is damaged: …"; empty if nothing was ever kept
};
/// Reads the calibration that is kept for a fingerprint, of so many `devices`; 0: of any number. Never throws for the
/// content of the file.
LoadedCalibration LoadCalibration(std::string_view fingerprint, std::size_t devices = 0);
/// Keeps a calibration. Writes a file beside and renames it, so that readers see all or nothing. Throws InputError if the
/// folder cannot be written.
void SaveCalibration(std::string_view fingerprint, const Calibration& calibration);

/// @{
/// The text of a kept calibration, and back: lines of numbers, with a checksum. Parsing throws InputError, naming the fault,
/// for any text that this version did not write for this fingerprint.
std::string CalibrationText(std::string_view fingerprint, const Calibration& calibration);
Calibration ParseCalibration(std::string_view text, std::string_view fingerprint);
/// @}

/// The costs that a run starts from: those kept for this machine, else nominal ones. Never measures.
CostModel KnownCosts(const Topology& topology, const LinkMask& links = {});

}  // namespace chatty
