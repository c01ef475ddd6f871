// Costs before anything is measured: from the links of a topology and constants of known machines. All machine constants of
// the cost model are here.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/cost_model.h"

namespace chatty {

namespace {

/// A way between GPUs: latency beyond launches and a wait, and the achieved share of the nominal bandwidth. 0: there is
/// none.
struct Way {
  double us = 0, share = 0;
};
/// The ways of a path: the link, or else the slower of two ways to host memory.
struct GpuPath {
  std::string_view name;
  Way link, host;
};
// Measured on H200s with CUDA 13.0 for 4 KB and for long buffers; other GPUs differ less from these than paths from each
// other. Over NVLink a copy gets 394 of 450 GB/s and a kernel that stores 369, alone. The faster one differs by machine, and
// packing into the peer's memory saves a pass: so both have one share. Over PCIe 5 copies get 55 of 63 GB/s and kernels 52;
// kernels cross it twice, and packets of a staged buffer overlap, at a loss of a tenth. NCCL's latency is from its own
// tuning tables: the base latency of its ring with the low-latency protocol, and a hop over NVLink or half of a flag's round
// trip in host memory. There both GPUs cross PCIe in small steps.
constexpr GpuPath kGpuPaths[] = {{"p2p-direct", {3.5, 0.85}, {}},
                                 {"p2p-copy", {5.2, 0.85}, {}},
                                 {"nccl", {7.4, 0.72}, {8.3, 0.35}},
                                 {"uva", {}, {7.8, 0.82 / 2}},
                                 {"staged", {}, {11, 0.87 / 1.1}}};
constexpr double kLaunchUs = 2.9;       // a kernel behind another
constexpr double kSynchroniseUs = 5.6;  // launch and synchronise 8.5 us, less the launch
constexpr double kNcclRankUs = 5;       // broadcasts of 4 KB: 18 us to one other, 29 to three
/// The first packet of a staged buffer, whose ways out and in do not overlap.
constexpr double kFirstPacketBytes = 860e3;
/// Values behind bits cross PCIe one by one where kernels use host memory.
constexpr double kBitmapFactor = 1.5;
/// Random 4-byte reads over more than the L2, 38 G/s, and random atomicMin over as much, 16 G/s.
constexpr double kEntryUs = 1 / 38e3 + 1 / 16e3;
constexpr double kPlaceUs = 2.8e-5;  // of a bitmap, packed and unpacked (docs/performance/exchange-and-paths.md)
/// Host devices: a thread that wakes another by futex, one thread's copying, and its packing and unpacking.
constexpr double kWakeUs = 5, kHostBytesPerUs = 10e3, kHostEntryUs = 1e-2, kHostPlaceUs = 2e-3;
/// Extra time of engines' buffers between GPUs over those of a calibration. Engines' kernels do more for each entry, one
/// after the other, and must be fetched, while a calibration repeats its kernels. The median of 248 buffers of `bfs`, `sssp`
/// and `pagerank` between two H100s (docs/performance/exchange-and-paths.md).
constexpr double kEngineUs = 8;

constexpr std::string_view kKnownPaths[] = {"host", "p2p-direct", "p2p-copy", "nccl", "uva", "staged"};

class Nominals {
 public:
  explicit Nominals(const Topology& topology) : topology_(topology) {
    for (std::size_t a = 0; a < topology.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) distinct_ = distinct_ && !OnOneGpu(topology, a, b);
    }
  }

  /// `to` equal to `from`: of a broadcast, the slowest of the ways to all others.
  Cost Of(std::string_view path, std::size_t from, std::size_t to, bool all) const {
    const auto others = static_cast<double>(topology_.size() - 1);
    if (from != to) return Pair(path, from, to, all ? others : 1, all);
    const bool once = path == "uva" || path == "host" || path == "nccl";  // packed or sent once for all
    double buffers = once && !all ? 1 : others;
    if (host() && once && all) buffers = (1 + others) / 2;  // and unpacked by each
    Cost worst{0};
    for (std::size_t other = 0; other < topology_.size(); ++other) {
      if (other == from) continue;
      const Cost cost = Pair(path, from, other, buffers, all);
      worst.alpha_us = std::max(worst.alpha_us, cost.alpha_us + (path == "nccl" ? kNcclRankUs * (others - 1) : 0));
      worst.beta_us_per_byte = std::max(worst.beta_us_per_byte, cost.beta_us_per_byte);
      worst.entry_us = std::max(worst.entry_us, cost.entry_us);
      worst.place_us = std::max(worst.place_us, cost.place_us);
      worst.bitmap_factor = cost.bitmap_factor;
    }
    return worst;
  }

 private:
  bool host() const { return topology_.devices().front().kind == DeviceKind::kHost; }

  /// The cost of a pair while its sender has so many buffers under way. With `all`, its receiver unpacks as many.
  Cost Pair(std::string_view path, std::size_t from, std::size_t to, double buffers, bool all) const {
    const bool peers = ReachEachOther(topology_, from, to);
    const double unpacked = all ? buffers : 1;
    if (host()) {  // memory is shared: paths differ in how often bytes are copied; threads pack buffers one by one
      const double copies = path == "staged" ? 2 : 0;
      if (path == "p2p-copy" || path == "nccl" || (path == "p2p-direct" && !peers)) return {};
      return {kWakeUs + 0.2 * copies, (2 + copies) / kHostBytesPerUs * buffers, kHostEntryUs * unpacked,
              kHostPlaceUs * unpacked};
    }
    const auto known =
        std::find_if(std::begin(kGpuPaths), std::end(kGpuPaths), [&](const GpuPath& one) { return one.name == path; });
    if (known == std::end(kGpuPaths) || (path == "nccl" && !distinct_)) return {};
    const bool over_link = peers && known->link.share > 0;
    const Way& way = over_link ? known->link : known->host;
    if (way.share == 0) return {};
    const auto bytes_per_us = [](double bandwidth) { return (bandwidth > 0 ? bandwidth : kAssumedBandwidth) / 1e6; };
    const Link& link = topology_.link(from, to);
    const double width = over_link ? bytes_per_us(link.bandwidth)
                                   : std::min(bytes_per_us(topology_.devices()[from].host.bandwidth),
                                              bytes_per_us(topology_.devices()[to].host.bandwidth));
    const double launches = 2 + (all ? 2 : 1) * (buffers - 1);
    Cost cost{launches * kLaunchUs + kSynchroniseUs + way.us, 1 / (way.share * width), kEntryUs * unpacked,
              kPlaceUs * unpacked, path == "uva" ? kBitmapFactor : 1};
    if (path == "staged") cost.alpha_us += kFirstPacketBytes * cost.beta_us_per_byte;
    const bool own_way = over_link && link.type == LinkType::kNvlink && !link.switched;  // no other buffer takes it
    if (!own_way) cost.beta_us_per_byte *= buffers;
    return cost;
  }

  const Topology& topology_;
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
          model.set_cost(path, from, to, load, nominals.Of(paths[path], from, to, load == MeasuredLoad::kAllToAll));
        }
      }
    }
  }
  return model;
}

}  // namespace chatty
