/// \file
/// CPU affinity of threads. The library only narrows masks: a limit set by the user, a cgroup or a batch system stays in
/// force.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

namespace chatty {

/// CPUs by Linux's numbers. Its size is that of a cpu_set_t.
using CpuSet = std::bitset<1024>;

/// Parses a CPU list in Linux's format: "0-3,8" is 0, 1, 2, 3 and 8. Parsing stops at the first character that does not
/// belong to a list. Numbers that CpuSet cannot hold are left out.
CpuSet ParseCpuList(std::string_view text);
/// Writes a CPU list in the same format, such as "0-3,8"; "" for an empty set.
std::string CpuListText(const CpuSet& cpus);

/// CPUs that the calling thread may run on; empty if the system call fails.
CpuSet AllowedCpus() noexcept;
/// Whether environment variables set the places of OpenMP's threads: OMP_PROC_BIND, OMP_PLACES, or the variables of libgomp
/// and libomp. The library then leaves their affinity unchanged.
bool OpenMpPlacesThreads() noexcept;
/// Restricts the calling thread to these CPUs. Returns whether the system accepted the mask. An empty set changes nothing.
bool RunOn(const CpuSet& cpus) noexcept;

/// A device's place in the machine, and the CPUs for its threads.
struct CpuPlacement {
  int numa_node = -1;  ///< -1: unknown, or not on a single node
  CpuSet cpus;         ///< empty: not bound
};

/// Binds the calling thread to the CPUs near a device and restores its own mask at the end. Threads started meanwhile
/// inherit the mask, unless an Unbound is alive. An inner BoundTo replaces an outer one. Empty sets bind nothing.
class BoundTo {
 public:
  /// Binds to `cpus`. If the system refuses, the thread stays unbound: that costs time only.
  explicit BoundTo(const CpuSet& cpus) noexcept;
  ~BoundTo();
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

 private:
  friend class Unbound;
  const BoundTo* outer_ = nullptr;
  CpuSet home_, during_;  // the thread's own mask; the mask while bound
  bool bound_ = false;
};

/// Suspends the calling thread's BoundTo, if there is one. Use it to start threads that serve more than one device.
class Unbound {
 public:
  Unbound() noexcept;
  ~Unbound();
  Unbound(const Unbound&) = delete;
  Unbound& operator=(const Unbound&) = delete;

 private:
  const BoundTo* suspended_;
};

}  // namespace chatty
