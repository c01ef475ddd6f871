/// \file
/// What a run tells of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chatty/core/types.h"

namespace chatty {

/// Traffic from one device to another.
struct PairStatistics {
  PartId from = 0, to = 0;
  std::uint64_t messages_before = 0;  ///< edges that sent across (messages), or values that changed (shared values)
  std::uint64_t messages = 0;         ///< what travelled, after combining: at most one a halo vertex and round
  std::uint64_t bytes = 0;
};

/// Where one device's host thread spent its time, in milliseconds. On a GPU compute includes waiting for its kernels.
struct DeviceStatistics {
  std::string device;
  VertexId vertices = 0;
  double compute_ms = 0, communication_ms = 0, waiting_ms = 0;
};

struct RunStatistics {
  std::string execution = "bsp";
  std::string transport;  ///< "none" on one device
  std::uint32_t rounds = 0;
  std::uint32_t phases = 1;
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  std::uint64_t edges_touched = 0;     ///< edges that any round looked at
  std::uint64_t vertices_updated = 0;  ///< vertices that an update changed, summed over rounds
  bool converged = true;               ///< false if max_rounds ended the run
  double time_ms = 0;                  ///< InitVertex to convergence, launches and read-backs included
  std::vector<DeviceStatistics> devices;
  std::vector<PairStatistics> pairs;  ///< pairs that talked

  RunStatistics& operator+=(const RunStatistics& next);  ///< a sequence of programs, as one
};

}  // namespace chatty
