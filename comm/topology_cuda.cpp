/// What the CUDA driver and NVML know of GPUs and their links. NVML is loaded on demand, never linked: it comes with
/// the driver, and a machine or container may lack it.
#include <dlfcn.h>

#include <array>
#include <string>
#include <vector>

#include "chatty/comm/machine.h"
#include "chatty/core/cuda.h"
#include "chatty/core/logging.h"

namespace chatty::detail {
namespace {

// NVML's binary interface, as nvml.h has it, which toolkits install apart from the compiler. Functions with a number in
// their name keep their meaning; so do the others used here since they exist.
using NvmlDevice = struct NvmlOpaque*;
struct NvmlPciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlMaxLinks = 64;  // more than any GPU has; a query beyond its links returns an error

class Nvml {
 public:
  Nvml() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    int (*init)() = nullptr;
    if (!Load(init, "nvmlInit_v2") || init() != kNvmlSuccess) return;
    Load(shutdown_, "nvmlShutdown");
    Load(handle_, "nvmlDeviceGetHandleByPciBusId_v2");
    Load(link_state_, "nvmlDeviceGetNvLinkState");
    Load(link_version_, "nvmlDeviceGetNvLinkVersion");
    Load(link_remote_, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    Load(link_remote_type_, "nvmlDeviceGetNvLinkRemoteDeviceType");
    Load(ancestor_, "nvmlDeviceGetTopologyCommonAncestor");
    Load(generation_, "nvmlDeviceGetMaxPcieLinkGeneration");
    Load(width_, "nvmlDeviceGetMaxPcieLinkWidth");
    ready_ = handle_ != nullptr;
  }
  ~Nvml() {
    if (shutdown_ != nullptr) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool ready() const { return ready_; }
  NvmlDevice Find(const std::string& bus_id) const {
    NvmlDevice device = nullptr;
    return ready_ && handle_(bus_id.c_str(), &device) == kNvmlSuccess ? device : nullptr;
  }
  /// The NVLinks that are up, and their generation; nothing if NVML does not report them.
  void ReadPorts(NvmlDevice device, GpuFacts& gpu) const {
    if (link_state_ == nullptr) return;
    for (unsigned int i = 0; i < kNvmlMaxLinks; ++i) {
      int active = 0;
      if (link_state_(device, i, &active) != kNvmlSuccess) break;
      gpu.ports_known = true;
      if (active == 0) continue;
      int type = -1;
      if (link_remote_type_ == nullptr || link_remote_type_(device, i, &type) != kNvmlSuccess) type = -1;
      NvmlPciInfo remote{};
      if (link_remote_ == nullptr || link_remote_(device, i, &remote) != kNvmlSuccess) remote = {};
      remote.bus_id.back() = '\0';
      gpu.ports.push_back(MakeNvlinkPort(type, remote.bus_id.data()));
      unsigned int version = 0;
      if (gpu.nvlink_version == 0 && link_version_ != nullptr && link_version_(device, i, &version) == kNvmlSuccess) {
        constexpr std::array<int, 8> kGenerations = {0, 1, 2, 2, 3, 3, 4, 5};  // of 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0
        if (version < kGenerations.size()) gpu.nvlink_version = kGenerations[version];
      }
    }
  }
  PciDistance Distance(NvmlDevice a, NvmlDevice b) const {
    int level = -1;
    if (ancestor_ == nullptr || ancestor_(a, b, &level) != kNvmlSuccess) return PciDistance::kUnknown;
    if (level >= 0 && level <= 20) return PciDistance::kSwitch;          // one board, one or several switches
    if (level == 30 || level == 40) return PciDistance::kHostBridge;     // one host bridge, or several of a NUMA node
    return level == 50 ? PciDistance::kSockets : PciDistance::kUnknown;  // the interconnect between NUMA nodes
  }
  void ReadPcie(NvmlDevice device, PciFacts& pci) const {
    unsigned int generation = 0, lanes = 0;
    if (generation_ == nullptr || generation_(device, &generation) != kNvmlSuccess) return;
    if (width_ == nullptr || width_(device, &lanes) != kNvmlSuccess) return;
    if (PcieBandwidth(static_cast<int>(generation), static_cast<int>(lanes)) == 0) return;
    pci.generation = static_cast<int>(generation);
    pci.lanes = static_cast<int>(lanes);
  }

 private:
  template <class Function>
  bool Load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr;
  }

  void* library_ = nullptr;
  bool ready_ = false;
  int (*shutdown_)() = nullptr;
  int (*handle_)(const char*, NvmlDevice*) = nullptr;
  int (*link_state_)(NvmlDevice, unsigned int, int*) = nullptr;
  int (*link_version_)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
  int (*link_remote_)(NvmlDevice, unsigned int, NvmlPciInfo*) = nullptr;
  int (*link_remote_type_)(NvmlDevice, unsigned int, int*) = nullptr;
  int (*ancestor_)(NvmlDevice, NvmlDevice, int*) = nullptr;
  int (*generation_)(NvmlDevice, unsigned int*) = nullptr;
  int (*width_)(NvmlDevice, unsigned int*) = nullptr;
};

int Attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  CHATTY_CUDA(cudaDeviceGetAttribute(&value, attribute, ordinal));
  return value;
}

GpuFacts ReadGpu(int ordinal) {
  GpuFacts gpu;
  cudaDeviceProp properties = {};
  CHATTY_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  gpu.device.kind = DeviceKind::kCuda;
  gpu.device.name = properties.name;
  gpu.device.memory = properties.totalGlobalMem;
  gpu.device.processors = properties.multiProcessorCount;
  gpu.device.copy_engines = Attribute(cudaDevAttrAsyncEngineCount, ordinal);
  gpu.device.host.native_atomics = Attribute(cudaDevAttrHostNativeAtomicSupported, ordinal) != 0;
  std::array<char, 32> bus_id{};
  CHATTY_CUDA(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), ordinal));
  gpu.device.pci_bus_id = LinuxBusId(bus_id.data());
  gpu.pci = ReadPci(gpu.device.pci_bus_id);
  const double kilohertz = Attribute(cudaDevAttrMemoryClockRate, ordinal);
  gpu.memory_bandwidth = 2e3 * kilohertz * Attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8;  // two a clock, bits
  return gpu;
}

bool Peer(cudaDeviceP2PAttr attribute, int from, int to) {
  int value = 0;
  CHATTY_CUDA(cudaDeviceGetP2PAttribute(&value, attribute, from, to));
  return value != 0;
}

}  // namespace

GpusFacts ReadGpus(const std::vector<int>& ordinals) {
  GpusFacts facts;
  const Nvml nvml;
  if (!nvml.ready()) Log().debug("NVML (libnvidia-ml.so.1) is not there: how many NVLinks there are is not known");
  std::vector<NvmlDevice> handles;
  for (const int ordinal : ordinals) {
    GpuFacts gpu = ReadGpu(ordinal);
    const int capability =
        10 * Attribute(cudaDevAttrComputeCapabilityMajor, ordinal) + Attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
    handles.push_back(nvml.Find(gpu.device.pci_bus_id));
    if (handles.back() != nullptr) {
      nvml.ReadPorts(handles.back(), gpu);
      nvml.ReadPcie(handles.back(), gpu.pci);
    }
    if (gpu.nvlink_version == 0) gpu.nvlink_version = NvlinkGeneration(capability);
    facts.gpus.push_back(std::move(gpu));
  }
  for (std::size_t from = 0; from < ordinals.size(); ++from) {
    for (std::size_t to = 0; to < ordinals.size(); ++to) {
      GpuPair pair;
      if (from != to && ordinals[from] == ordinals[to]) {
        pair.peer_access = pair.native_atomics = true;
      } else if (from != to) {
        pair.peer_access = Peer(cudaDevP2PAttrAccessSupported, ordinals[from], ordinals[to]);
        pair.native_atomics = pair.peer_access && Peer(cudaDevP2PAttrNativeAtomicSupported, ordinals[from], ordinals[to]);
        if (handles[from] != nullptr && handles[to] != nullptr) pair.distance = nvml.Distance(handles[from], handles[to]);
        if (pair.distance == PciDistance::kUnknown) pair.distance = DistanceOf(facts.gpus[from].pci, facts.gpus[to].pci);
      }
      facts.pairs.push_back(pair);
    }
  }
  return facts;
}

}  // namespace chatty::detail
