/// \file
/// The backends of symmetric heaps: where the memory comes from, and how a kernel reaches that of other devices.
#pragma once

#include <span>
#include <string_view>

#include "chatty/core/device.h"

namespace chatty {

/// What a backend is.
struct SymmetricBackend {
  std::string_view name;         ///< for SymmetricOptions::backend
  bool host = false;             ///< between host devices
  bool cuda = false;             ///< between GPUs
  bool distinct = false;         ///< each GPU once: several devices of one GPU are refused
  bool addressable = false;      ///< kernels address all devices' memory: rings (comm/symmetric/ring.h) need it
  std::string_view description;  ///< one sentence, without a full stop
};

/// All backends, also those that this build or machine lacks: a heap with one of them throws CapabilityError, which says
/// why.
std::span<const SymmetricBackend> SymmetricBackends();

/// The backend that a name means for devices of this kind. "auto" is `host` or `p2p`, never one that has to be chosen.
/// Throws UsageError for an unknown name, or a backend of another kind of device.
const SymmetricBackend& FindSymmetricBackend(std::string_view name, DeviceKind kind);

}  // namespace chatty
