/// \file
/// What carries a run's data and state: a typed value, which the command line parses from the text of `--comm`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/device.h"

namespace chatty {

/// What carries the values that devices agree by, such as a round's counters.
enum class StatePath : std::uint8_t {
  kAuto,  ///< kHost between host devices, kUva between GPUs
  kHost,  ///< the memory that host devices share
  kUva,   ///< mapped host memory
  kNccl,  ///< NCCL's all-reduce
};

/// What carries data and state.
struct CommSpec {
  std::string data = "auto";           ///< for messages and values: a transport's name, or "auto"
  StatePath state = StatePath::kAuto;  ///< for a round's counters
  /// The published algorithm: each device broadcasts to all others, whatever it costs. With data "auto", by NCCL between
  /// GPUs and in shared memory between host devices.
  bool broadcast = false;

  /// Whether costs choose the path of each message.
  bool chooses() const { return data == "auto" && !broadcast; }
  /// The transport that is named for devices of this kind, or "auto".
  std::string_view TransportFor(DeviceKind kind) const;
  bool operator==(const CommSpec&) const = default;  ///< all members
};

/// Parses a transport's name, "auto", "data=NAME", "state=NAME", both with a comma between, or "chattygraph": broadcasts for
/// data, and mapped host memory for state. Throws UsageError for other text. CheckComm checks whether devices can use it.
CommSpec ParseCommSpec(std::string_view text);
/// The texts without "=" that ParseCommSpec takes in this build, "auto" first.
std::vector<std::string_view> CommNames();

/// Throws UsageError for an unknown transport, or a transport or state path that devices of this kind cannot use. Needs no
/// device.
void CheckComm(const CommSpec& spec, DeviceKind kind, std::size_t devices);
/// As above, for these devices. Throws CapabilityError for data or state over NCCL where two devices share a GPU.
void CheckComm(const CommSpec& spec, const DeviceSelection& devices);

}  // namespace chatty
