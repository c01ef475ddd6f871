/// \file
/// The CPUs on which each device's threads run: near its GPU, or distributed over NUMA nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/device.h"

namespace chatty {

/// The best place among `allowed` for the threads of these devices, all of one kind. Threads of a GPU get the CPUs of its
/// NUMA node. Host devices get one node each, in order, if there are no fewer devices than nodes and each node has a CPU for
/// each of its threads. Threads are not bound where that would leave no CPU or all CPUs, or where nodes are not known. Binds
/// no thread itself: see Device::Place.
std::vector<CpuPlacement> PlaceDevices(std::span<Device* const> devices, const CpuSet& allowed);

namespace detail {

/// As PlaceDevices, for GPUs on these PCI buses, as CUDA writes them. Tests put `root` before /sys.
std::vector<CpuPlacement> PlaceGpus(std::span<const std::string> bus_ids, const CpuSet& allowed,
                                    const std::string& root = "");
/// As PlaceDevices, for host devices with these numbers of threads.
std::vector<CpuPlacement> PlaceHosts(std::span<const int> threads, const CpuSet& allowed, const std::string& root = "");

}  // namespace detail
}  // namespace chatty
