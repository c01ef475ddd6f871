/// \file
/// On which CPUs each device's threads are to run: near its GPU, or dealt out over NUMA nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/device.h"

namespace chatty {

/// Where the threads of these devices, all of one kind, are best off among `allowed`: those of a GPU on the CPUs of its NUMA
/// node; those of host devices on one node a device, in order, if there are no fewer devices than nodes and each node has a
/// CPU for each of its threads. Nothing is bound where that would leave no CPU, or leaves all of them, or where the system
/// does not tell. Binds nothing itself: see Device::Place.
std::vector<CpuPlacement> PlaceDevices(std::span<Device* const> devices, const CpuSet& allowed);

namespace detail {

/// The same for GPUs on these PCI buses, as CUDA writes them. `root` is put before /sys, for tests.
std::vector<CpuPlacement> PlaceGpus(std::span<const std::string> bus_ids, const CpuSet& allowed,
                                    const std::string& root = "");
/// The same for host devices with so many threads each.
std::vector<CpuPlacement> PlaceHosts(std::span<const int> threads, const CpuSet& allowed, const std::string& root = "");

}  // namespace detail
}  // namespace chatty
