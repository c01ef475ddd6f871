// Costs before anything is measured: from the links of a topology and constants of known machines. All machine constants of
// the cost model are here.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/rings.h"

namespace chatty {

namespace {

// Measured on H200s with CUDA 13.0 unless stated otherwise; other GPUs differ less from these than paths from each other.
constexpr double kLaunchUs = 2.9;        // a kernel behind another
constexpr double kSynchroniseUs = 5.6;   // launch and synchronise 8.5 us, less the launch
constexpr double kPushUs = 3.5;          // a kernel that stores 4 KB into a peer's memory: 6.4 us, less a launch
constexpr double kCopyUs = 5.2;          // cudaMemcpyPeerAsync of 4 KB
constexpr double kHostCopyUs = 5.5;      // cudaMemcpyAsync of 4 KB from or to pinned memory
constexpr double kZeroCopyUs = 3.9;      // a kernel that reads or writes 4 KB of host memory: 6.8 us, less a launch
constexpr double kHostFlagUs = 1.5;      // half of a flag's round trip in host memory, 3.0 us
constexpr double kNcclUs = 6.8;          // NCCL's own tuning tables: base latency of its ring with the low-latency protocol
constexpr double kNcclHopUs = 0.6;       // also from there, for each NVLink hop
constexpr double kNcclRankUs = 5;        // broadcasts of 4 KB: 18 us to one other, 29 to three
constexpr double kSweepUs = 2.8e-5;      // a place of a bitmap, packed and unpacked (docs/performance/exchange-and-paths.md)
constexpr double kZeroCopyFactor = 1.5;  // values behind bits cross PCIe one by one where kernels use host memory
constexpr double kGatherUs = 1 / 38e3;   // random 4-byte reads over more than the L2: 38 G/s
constexpr double kScatterUs = 1 / 16e3;  // random atomicMin over as much: 16 G/s
constexpr double kLocalBytesPerUs = 2.0e6;  // packing into the device's own memory: a copy counts both ways, 3.99 TB/s
// Achieved shares of nominal bandwidths. Over NVLink a copy gets 394 of 450 GB/s and a kernel that stores 369, alone. The
// faster one differs by machine, and packing into the peer's memory saves a pass: so both have one share here.
constexpr double kPeerShare = 0.85;
constexpr double kHostCopyShare = 0.87, kZeroCopyShare = 0.82;  // 55 and 52 of 63 GB/s over PCIe
// A staged buffer travels in packets, whose ways out and in overlap: the first goes alone, and each has a start of its own.
constexpr double kFirstPacketBytes = 1 << 20, kPacketLoss = 1.1;
constexpr double kNcclShare = 0.72;      // 128 MB broadcast to one other GPU in 404 us, of 450 GB/s
constexpr double kNcclHostShare = 0.35;  // NCCL's shared memory transport: both GPUs cross PCIe, in small steps
constexpr double kPcieGuess = kAssumedBandwidth;
// Host devices: a thread that wakes another by futex, and one thread's copying.
constexpr double kWakeUs = 5, kHostBytesPerUs = 10e3, kHostGatherUs = 5e-3, kHostSweepUs = 2e-3, kHubUs = 10;
/// Extra time of engines' buffers between GPUs over those of a calibration. Engines' kernels do more for each entry, one
/// after the other, and must be fetched, while a calibration repeats its kernels. The median of 248 buffers of `bfs`, `sssp`
/// and `pagerank` between two H100s (docs/performance/exchange-and-paths.md).
constexpr double kEngineUs = 8;

constexpr std::array<std::string_view, 8> kKnownPaths = {"host", "p2p-direct", "p2p-copy", "nccl",
                                                         "ring", "uva",        "staged",   "uva-hub"};

/// A point-to-point cost of sparse buffers, and whether its bytes share one way with a sender's other buffers.
struct Way {
  Cost cost;
  bool shared_out = true;  ///< a sender's buffers share one way out
};

class Nominals {
 public:
  explicit Nominals(const Topology& topology) : topology_(topology), ring_(FindRings(topology).best) {
    for (std::size_t a = 0; a < topology.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) distinct_ = distinct_ && !OnOneGpu(topology, a, b);
    }
  }

  bool host() const { return topology_.devices().front().kind == DeviceKind::kHost; }

  Way Pair(std::string_view path, std::size_t from, std::size_t to) const {
    return host() ? HostPair(path, from, to) : GpuPair(path, from, to);
  }

  /// The same under a load.
  Cost Pair(std::string_view path, std::size_t from, std::size_t to, MeasuredLoad load) const {
    const Way way = Pair(path, from, to);
    return load == MeasuredLoad::kAlone ? way.cost : Under(way, static_cast<double>(topology_.size() - 1), true);
  }

  /// The cost of another encoding where sparse buffers have this one.
  Cost As(Encoding encoding, std::string_view path, Cost cost) const {
    if (encoding == Encoding::kSparse) return cost;
    cost.gamma_us_per_entry *= encoding == Encoding::kDense ? 0
                               : host()                     ? kHostSweepUs / (2 * kHostGatherUs)
                                                            : kSweepUs / (kGatherUs + kScatterUs);
    if (encoding == Encoding::kBitmap && !host() && (path == "uva" || path == "uva-hub")) {
      cost.beta_us_per_byte *= kZeroCopyFactor;
    }
    return cost;
  }

  /// From `from` to all others, alone or while all broadcast.
  Cost Broadcast(std::string_view path, std::size_t from, bool all_at_once) const {
    const auto others = static_cast<double>(topology_.size() - 1);
    Cost worst{0, 0, 0};
    for (std::size_t to = 0; to < topology_.size(); ++to) {
      if (to == from) continue;
      const Way way = Pair(path, from, to);
      Cost cost = Under(way, others, all_at_once);
      if (path == "nccl") {  // pipelined around its ring, at the ring's narrowest hop
        cost = way.cost;
        cost.alpha_us += kNcclRankUs * (others - 1);
        for (std::size_t hop = 0; hop < ring_.order.size(); ++hop) {
          cost.beta_us_per_byte =
              std::max(cost.beta_us_per_byte, Pair(path, ring_.order[hop], ring_.Next(hop)).cost.beta_us_per_byte);
        }
        if (all_at_once) cost.beta_us_per_byte *= others;
      } else if (path == "ring") {  // the ring passes all data; the farthest device has it last
        cost = way.cost;
        if (all_at_once) cost.beta_us_per_byte *= others;
      } else if ((path == "uva" || path == "uva-hub") && !all_at_once) {
        cost = way.cost;  // written once, read by all at the same time
      } else if (host() && (path == "host" || path == "uva")) {
        cost = way.cost;  // packed once, and unpacked by each receiver as often as there are senders
        if (all_at_once) {
          cost.beta_us_per_byte *= (1 + others) / 2;
          cost.gamma_us_per_entry *= (1 + others) / 2;
        }
      }
      worst.alpha_us = std::max(worst.alpha_us, cost.alpha_us);
      worst.beta_us_per_byte = std::max(worst.beta_us_per_byte, cost.beta_us_per_byte);
      worst.gamma_us_per_entry = std::max(worst.gamma_us_per_entry, cost.gamma_us_per_entry);
    }
    return worst;
  }

  /// A way while its sender has so many buffers under way, and with `all` each other device, too.
  Cost Under(const Way& way, double buffers, bool all) const {
    Cost cost = way.cost;
    if (host()) {  // senders pack buffers one by one; in all-to-all, receivers unpack as many
      const double times = all ? buffers : (1 + buffers) / 2;
      cost.beta_us_per_byte *= times;
      cost.gamma_us_per_entry *= times;
      return cost;
    }
    cost.alpha_us += kLaunchUs * (buffers - 1);
    if (way.shared_out) cost.beta_us_per_byte *= buffers;
    if (all && buffers > 1) {  // and the receiver unpacks as many
      cost.gamma_us_per_entry *= buffers;
      cost.alpha_us += kLaunchUs * (buffers - 1);
    }
    return cost;
  }

 private:
  double HostBandwidth(std::size_t device) const {
    const double known = topology_.devices()[device].host.bandwidth;
    return (known > 0 ? known : kPcieGuess) / 1e6;
  }
  /// Microseconds a byte between a device and host memory, both ways one after the other.
  double ThroughHost(std::size_t from, std::size_t to, double share) const {
    return 1 / (share * HostBandwidth(from)) + 1 / (share * HostBandwidth(to));
  }

  Way GpuPair(std::string_view path, std::size_t from, std::size_t to) const {
    const Link& link = topology_.link(from, to);
    const bool peers = ReachEachOther(topology_, from, to);
    const double bandwidth = (link.bandwidth > 0 ? link.bandwidth : kPcieGuess) / 1e6;  // bytes a microsecond
    const double base = 2 * kLaunchUs + kSynchroniseUs;  // packing, unpacking, and the wait for it
    Way way;
    way.cost = {base, 1 / kLocalBytesPerUs, kGatherUs + kScatterUs};
    way.shared_out = link.type != LinkType::kNvlink || link.switched;
    Cost& cost = way.cost;
    if (path == "p2p-direct" && peers) {
      cost.alpha_us += kPushUs;
      cost.beta_us_per_byte += 1 / (kPeerShare * bandwidth);  // packs there rather than here
      cost.beta_us_per_byte -= 1 / kLocalBytesPerUs;
    } else if (path == "p2p-copy" && peers) {
      cost.alpha_us += kCopyUs;
      cost.beta_us_per_byte += 1 / (kPeerShare * bandwidth);
    } else if (path == "nccl" && distinct_) {
      cost.alpha_us += kNcclUs + (peers ? kNcclHopUs : kHostFlagUs);
      cost.beta_us_per_byte +=
          peers ? 1 / (kNcclShare * bandwidth) : 1 / (kNcclHostShare * std::min(HostBandwidth(from), HostBandwidth(to)));
      way.shared_out = way.shared_out || !peers;
    } else if (path == "uva") {
      cost.alpha_us += 2 * kZeroCopyUs;
      cost.beta_us_per_byte = ThroughHost(from, to, kZeroCopyShare);
      way.shared_out = true;
    } else if (path == "staged") {
      cost.alpha_us += 2 * kHostCopyUs;
      const double narrow = 1 / (kHostCopyShare * std::min(HostBandwidth(from), HostBandwidth(to)));
      cost.alpha_us += narrow * kFirstPacketBytes * (2 - kPacketLoss);
      cost.beta_us_per_byte += narrow * kPacketLoss;
      way.shared_out = true;
    } else if (path == "uva-hub") {  // a host thread takes the buffer from one and gives it to the other
      cost.alpha_us += 2 * kZeroCopyUs + kHubUs + kHostFlagUs;
      cost.beta_us_per_byte = ThroughHost(from, to, kZeroCopyShare) + 1 / kHostBytesPerUs;
      way.shared_out = true;
    } else if (path == "ring") {
      AddRing(from, to, cost);
      way.shared_out = true;  // all buffers leave by the same hop
    } else {
      cost = {};
    }
    return way;
  }

  /// Hop after hop along the ring: a copy for each, and the bandwidth of the narrowest.
  void AddRing(std::size_t from, std::size_t to, Cost& cost) const {
    const std::vector<std::size_t>& order = ring_.order;
    auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), from) - order.begin());
    double slowest = 0;
    for (bool there = false; !there; at = (at + 1) % order.size()) {
      const std::size_t a = order[at], b = ring_.Next(at);
      const Link& link = topology_.link(a, b);
      const bool peers = ReachEachOther(topology_, a, b);
      const double bandwidth = (link.bandwidth > 0 ? link.bandwidth : kPcieGuess) / 1e6;
      cost.alpha_us += kHostFlagUs + (peers ? kCopyUs : 2 * kHostCopyUs);
      slowest = std::max(slowest, peers ? 1 / (kPeerShare * bandwidth) : ThroughHost(a, b, kHostCopyShare));
      there = b == to;
    }
    cost.beta_us_per_byte += slowest;
  }

  /// Between host devices memory is shared: paths differ in how often bytes are copied.
  Way HostPair(std::string_view path, std::size_t from, std::size_t to) const {
    Way way;
    way.cost = {kWakeUs, 2 / kHostBytesPerUs, 2 * kHostGatherUs};  // packed and unpacked
    double copies = 0;
    const bool peers = ReachEachOther(topology_, from, to);
    if (path == "host" || path == "uva" || (path == "p2p-direct" && peers)) {
      copies = 0;
    } else if (path == "p2p-copy" && peers) {
      copies = 1;
    } else if (path == "staged") {
      copies = 2;
    } else if (path == "uva-hub") {
      copies = 1;
      way.cost.alpha_us += kWakeUs;
    } else if (path == "ring") {
      const std::vector<std::size_t>& order = ring_.order;
      const auto place = [&](std::size_t device) {
        return static_cast<std::size_t>(std::find(order.begin(), order.end(), device) - order.begin());
      };
      copies = static_cast<double>((place(to) + order.size() - place(from)) % order.size());
      way.cost.alpha_us += kWakeUs * (copies - 1);
    } else {
      way.cost = {};
    }
    way.cost.alpha_us += 0.2 * copies;
    way.cost.beta_us_per_byte += copies / kHostBytesPerUs;
    return way;
  }

  const Topology& topology_;
  Ring ring_;
  bool distinct_ = true;  ///< each device has a GPU of its own, as NCCL's communicators require
};

}  // namespace

void CostModel::SetMachine(const Topology& topology) {
  links_apart_ = LinksApart(topology);
  all_reach_ = AllReach(topology);
  engine_us_ = !topology.devices().empty() && topology.devices().front().kind == DeviceKind::kCuda ? kEngineUs : 0;
}

CostModel CostModel::Nominal(const Topology& topology, std::span<const std::string_view> paths) {
  if (paths.empty()) paths = kKnownPaths;
  CostModel model(std::vector<std::string>(paths.begin(), paths.end()), topology.size());
  model.SetMachine(topology);
  if (topology.size() < 2) return model;
  const Nominals nominals(topology);
  constexpr std::array kEncodingsOf = {Encoding::kSparse, Encoding::kBitmap, Encoding::kDense};
  for (std::size_t path = 0; path < paths.size(); ++path) {
    const auto set = [&](std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) {
      for (const Encoding encoding : kEncodingsOf) {
        model.set_cost(path, from, to, encoding, load, nominals.As(encoding, paths[path], cost));
      }
    };
    bool reaches_all = true;
    for (std::size_t from = 0; from < topology.size(); ++from) {
      bool reaches = true;
      for (std::size_t to = 0; to < topology.size(); ++to) {
        if (from == to) continue;
        for (const MeasuredLoad load : {MeasuredLoad::kAlone, MeasuredLoad::kAllToAll}) {
          const Cost cost = nominals.Pair(paths[path], from, to, load);
          if (cost.exists()) set(from, to, load, cost);
          reaches = reaches && cost.exists();
        }
      }
      reaches_all = reaches_all && reaches;
      if (reaches) set(from, from, MeasuredLoad::kAlone, nominals.Broadcast(paths[path], from, false));
    }
    for (std::size_t from = 0; from < topology.size() && reaches_all; ++from) {
      set(from, from, MeasuredLoad::kAllToAll, nominals.Broadcast(paths[path], from, true));
    }
  }
  return model;
}

}  // namespace chatty
