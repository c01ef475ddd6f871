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
// Host devices: a thread that wakes another by futex, and one thread's copying.
constexpr double kWakeUs = 5, kHostBytesPerUs = 10e3, kHostGatherUs = 5e-3, kHostSweepUs = 2e-3;
/// Extra time of engines' buffers between GPUs over those of a calibration. Engines' kernels do more for each entry, one
/// after the other, and must be fetched, while a calibration repeats its kernels. The median of 248 buffers of `bfs`, `sssp`
/// and `pagerank` between two H100s (docs/performance/exchange-and-paths.md).
constexpr double kEngineUs = 8;

constexpr std::array<std::string_view, 6> kKnownPaths = {"host", "p2p-direct", "p2p-copy", "nccl", "uva", "staged"};

class Nominals {
 public:
  explicit Nominals(const Topology& topology) : topology_(topology), ring_(FindRings(topology).best) {
    for (std::size_t a = 0; a < topology.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) distinct_ = distinct_ && !OnOneGpu(topology, a, b);
    }
  }

  /// The cost of sparse buffers. `to` equal to `from`: of a broadcast, the slowest of the ways to all others.
  Cost Of(std::string_view path, std::size_t from, std::size_t to, MeasuredLoad load) const {
    const bool all = load == MeasuredLoad::kAllToAll;
    if (from != to) return all ? Under(Pair(path, from, to), true) : Pair(path, from, to).cost;
    const bool once = path == "uva" || path == "host";  // written once, and read by all at the same time
    Cost worst{0, 0, 0};
    for (std::size_t other = 0; other < topology_.size(); ++other) {
      if (other == from) continue;
      const Way way = Pair(path, from, other);
      Cost cost = way.cost;
      if (path == "nccl") {  // pipelined around its ring, at the ring's narrowest hop
        cost.alpha_us += kNcclRankUs * (others() - 1);
        for (std::size_t hop = 0; hop < ring_.order.size(); ++hop) {
          cost.beta_us_per_byte =
              std::max(cost.beta_us_per_byte, Pair(path, ring_.order[hop], ring_.Next(hop)).cost.beta_us_per_byte);
        }
        if (all) cost.beta_us_per_byte *= others();
      } else if (all || !once) {
        cost = Under(way, all && !(once && host()));  // on the host each receiver still unpacks as many as there are senders
      }
      worst.alpha_us = std::max(worst.alpha_us, cost.alpha_us);
      worst.beta_us_per_byte = std::max(worst.beta_us_per_byte, cost.beta_us_per_byte);
      worst.gamma_us_per_entry = std::max(worst.gamma_us_per_entry, cost.gamma_us_per_entry);
    }
    return worst;
  }

  /// The cost of another encoding where sparse buffers have this one.
  Cost As(Encoding encoding, std::string_view path, Cost cost) const {
    if (encoding == Encoding::kSparse) return cost;
    cost.gamma_us_per_entry *= encoding == Encoding::kDense ? 0
                               : host()                     ? kHostSweepUs / (2 * kHostGatherUs)
                                                            : kSweepUs / (kGatherUs + kScatterUs);
    if (encoding == Encoding::kBitmap && !host() && path == "uva") cost.beta_us_per_byte *= kZeroCopyFactor;
    return cost;
  }

 private:
  /// The cost of a pair alone, and whether a sender's buffers share one way out.
  struct Way {
    Cost cost;
    bool shared_out = true;
  };

  bool host() const { return topology_.devices().front().kind == DeviceKind::kHost; }
  double others() const { return static_cast<double>(topology_.size() - 1); }

  /// A way while its sender has a buffer to each other device under way, and with `all` each other device, too.
  Cost Under(const Way& way, bool all) const {
    Cost cost = way.cost;
    if (host()) {  // senders pack buffers one by one; in all-to-all, receivers unpack as many
      cost.beta_us_per_byte *= all ? others() : (1 + others()) / 2;
      cost.gamma_us_per_entry *= all ? others() : (1 + others()) / 2;
      return cost;
    }
    cost.alpha_us += (all ? 2 : 1) * kLaunchUs * (others() - 1);
    if (way.shared_out) cost.beta_us_per_byte *= others();
    if (all) cost.gamma_us_per_entry *= others();  // the receiver unpacks as many
    return cost;
  }

  Way Pair(std::string_view path, std::size_t from, std::size_t to) const {
    const Link& link = topology_.link(from, to);
    const bool peers = ReachEachOther(topology_, from, to), direct = path == "p2p-direct" && peers,
               copy = path == "p2p-copy" && peers;
    if (host()) {  // memory is shared: paths differ in how often bytes are copied
      const double copies = path == "staged" ? 2 : copy ? 1 : 0;
      if (copies == 0 && !direct && path != "host" && path != "uva") return {};
      return {{kWakeUs + 0.2 * copies, (2 + copies) / kHostBytesPerUs, 2 * kHostGatherUs}};
    }
    const auto bytes_per_us = [](double bandwidth) { return (bandwidth > 0 ? bandwidth : kAssumedBandwidth) / 1e6; };
    const double width = bytes_per_us(link.bandwidth), out = bytes_per_us(topology_.devices()[from].host.bandwidth),
                 in = bytes_per_us(topology_.devices()[to].host.bandwidth), narrow = std::min(out, in);
    // Of each path: its time beyond two launches and a wait, and its time for a byte between packing and unpacking.
    double us = 0, us_per_byte = 0;
    if (direct) {
      us = kPushUs, us_per_byte = 1 / (kPeerShare * width);
    } else if (copy) {
      us = kCopyUs, us_per_byte = 1 / (kPeerShare * width);
    } else if (path == "nccl" && distinct_) {
      us = kNcclUs + (peers ? kNcclHopUs : kHostFlagUs);
      us_per_byte = 1 / (peers ? kNcclShare * width : kNcclHostShare * narrow);
    } else if (path == "uva") {
      us = 2 * kZeroCopyUs, us_per_byte = 1 / (kZeroCopyShare * out) + 1 / (kZeroCopyShare * in);
    } else if (path == "staged") {
      us_per_byte = kPacketLoss / (kHostCopyShare * narrow);
      us = 2 * kHostCopyUs + us_per_byte * kFirstPacketBytes * (2 / kPacketLoss - 1);
    } else {
      return {};
    }
    if (path != "uva" && !direct) us_per_byte += 1 / kLocalBytesPerUs;  // packed in the sender's memory, and not there
    const bool through_host = path == "uva" || path == "staged" || (path == "nccl" && !peers);
    return {{2 * kLaunchUs + kSynchroniseUs + us, us_per_byte, kGatherUs + kScatterUs},
            through_host || link.type != LinkType::kNvlink || link.switched};
  }

  const Topology& topology_;
  Ring ring_;
  bool distinct_ = true;  ///< each device has a GPU of its own, as NCCL's communicators require
};

}  // namespace

void CostModel::SetMachine(const Topology& topology) {
  links_apart_ = LinksApart(topology);
  engine_us_ = !topology.devices().empty() && topology.devices().front().kind == DeviceKind::kCuda ? kEngineUs : 0;
}

CostModel CostModel::Nominal(const Topology& topology, std::span<const std::string_view> paths) {
  if (paths.empty()) paths = kKnownPaths;
  CostModel model(std::vector<std::string>(paths.begin(), paths.end()), topology.size());
  model.SetMachine(topology);
  if (topology.size() < 2) return model;
  const Nominals nominals(topology);
  for (std::size_t path = 0; path < paths.size(); ++path) {
    for (std::size_t from = 0; from < topology.size(); ++from) {
      for (std::size_t to = 0; to < topology.size(); ++to) {
        for (const MeasuredLoad load : kAllLoads) {
          const Cost cost = nominals.Of(paths[path], from, to, load);
          if (!cost.exists()) continue;
          for (const Encoding encoding : kAllEncodings) {
            model.set_cost(path, from, to, encoding, load, nominals.As(encoding, paths[path], cost));
          }
        }
      }
    }
  }
  return model;
}

}  // namespace chatty
