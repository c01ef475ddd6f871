/// \file
/// On which CPUs threads run. Masks are only ever narrowed: what the user, a cgroup or a batch system has set stays the
/// limit.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

namespace chatty {

/// CPUs by Linux's numbers: as many as a plain affinity mask holds.
using CpuSet = std::bitset<1024>;

/// Reads Linux's lists: "0-3,8" is 0, 1, 2, 3 and 8. Stops at what is no list; leaves out what CpuSet cannot hold.
CpuSet ParseCpuList(std::string_view text);
/// Writes them: "0-3,8"; "" for none.
std::string CpuListText(const CpuSet& cpus);

/// CPUs that the calling thread may run on; none where the system does not tell.
CpuSet AllowedCpus() noexcept;
/// Whether the user has told OpenMP where its threads run (OMP_PROC_BIND, OMP_PLACES, and what libgomp and libomp have of
/// their own), which is then not to be meddled with.
bool OpenMpPlacesThreads() noexcept;
/// Has the calling thread run on these CPUs alone. Returns whether the system did so. Empty: does nothing.
bool RunOn(const CpuSet& cpus) noexcept;

/// Where a device is in the machine, and where its threads are to run.
struct CpuPlacement {
  int numa_node = -1;  ///< -1: not known, or of no one node
  CpuSet cpus;         ///< empty: not bound
};

/// Has the calling thread run near a device while it lives, and as before afterwards. Threads that it starts meanwhile stay
/// there, unless they are started under an Unbound. An inner one takes the place of an outer one. Empty sets bind nothing.
class BoundTo {
 public:
  /// On `cpus`, or anywhere if the system refuses: it costs time only.
  explicit BoundTo(const CpuSet& cpus) noexcept;
  ~BoundTo();
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

 private:
  friend class Unbound;
  const BoundTo* outer_ = nullptr;
  CpuSet home_, during_;  // the thread's own mask; the one that it has now
  bool bound_ = false;
};

/// Suspends the calling thread's BoundTo, if there is one, while it lives: for starting threads that are for everything.
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
