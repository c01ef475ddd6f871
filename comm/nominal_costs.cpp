// Costs before anything is measured: from the links of a topology and constants of known machines. All machine constants of
// the cost model are here.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"

namespace chatty {

namespace {

/// A way between GPUs: latency beyond launches and a wait, and the achieved share of the nominal bandwidth. 0: there is
/// none.
struct Way {
  double us = 0, share = 0;
};
/// What is known of a path.
struct KnownPath {
  std::string_view name;
  Way link, host;     ///< between GPUs: over their link, or else by the slower of two ways to host memory
  int copies = -1;    ///< between host devices: copies of a buffer beside packing and unpacking; -1: does not join them
  bool once = false;  ///< a broadcast is packed, or sent, once for all
};
// Measured on H200s with CUDA 13.0 for 4 KB and for long buffers; other GPUs differ less from these than paths from each
// other. Over NVLink a copy gets 394 of 450 GB/s and a kernel that stores 369, alone. The faster one differs by machine, and
// packing into the peer's memory saves a pass: so both have one share. Over PCIe 5 copies get 55 of 63 GB/s and kernels 52.
// Kernels cross it twice, and packets of a staged buffer overlap, at a loss of a tenth. NCCL's latency is from its own
// tuning tables: the base latency of its ring with the low-latency protocol, and a hop. The hop is over NVLink, or half of a
// flag's round trip in host memory, where both GPUs cross PCIe in small steps.
constexpr KnownPath kPaths[] = {{"host", {}, {}, 0, true},
                                {"p2p-direct", {3.5, 0.85}, {}, 0},
                                {"p2p-copy", {5.2, 0.85}, {}},
                                {"nccl", {7.4, 0.72}, {8.3, 0.35}, -1, true},
                                {"uva", {}, {7.8, 0.82 / 2}, 0, true},
                                {"staged", {}, {11, 0.87 / 1.1}, 2}};
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

bool OnHosts(const Topology& topology) { return topology.devices().front().kind == DeviceKind::kHost; }

/// The cost of a pair while its sender has so many buffers under way. With `all`, its receiver unpacks as many.
Cost NominalOfPair(const Topology& topology, const KnownPath& path, std::size_t from, std::size_t to, double buffers,
                   bool all) {
  const bool over_link = path.link.share > 0 && ReachEachOther(topology, from, to);
  const double unpacked = all ? buffers : 1;
  if (OnHosts(topology)) {  // memory is shared: paths differ in how often bytes are copied; threads pack buffers one by one
    if (path.copies < 0 || (path.link.share > 0 && !over_link)) return {};
    return {kWakeUs + 0.2 * path.copies, (2 + path.copies) / kHostBytesPerUs * buffers, kHostEntryUs * unpacked,
            kHostPlaceUs * unpacked};
  }
  const Way& way = over_link ? path.link : path.host;
  if (way.share == 0) return {};
  const Link& link = topology.link(from, to);
  const auto bytes_per_us = [](double bandwidth) { return (bandwidth > 0 ? bandwidth : kAssumedBandwidth) / 1e6; };
  const auto to_host = [&](std::size_t device) { return bytes_per_us(topology.devices()[device].host.bandwidth); };
  const double width = over_link ? bytes_per_us(link.bandwidth) : std::min(to_host(from), to_host(to));
  const double launches = 2 + (all ? 2 : 1) * (buffers - 1);
  Cost cost{launches * kLaunchUs + kSynchroniseUs + way.us, 1 / (way.share * width), kEntryUs * unpacked,
            kPlaceUs * unpacked, path.name == "uva" ? kBitmapFactor : 1};
  if (path.name == "staged") cost.alpha_us += kFirstPacketBytes * cost.beta_us_per_byte;
  const bool own_way = over_link && link.type == LinkType::kNvlink && !link.switched;  // no other buffer takes it
  if (!own_way) cost.beta_us_per_byte *= buffers;
  return cost;
}

/// The cost of a pair; `to` equal to `from`: of a broadcast, the slowest of the ways to all others.
Cost NominalOf(const Topology& topology, const KnownPath& path, std::size_t from, std::size_t to, bool all) {
  const auto others = static_cast<double>(topology.size() - 1);
  if (from != to) return NominalOfPair(topology, path, from, to, all ? others : 1, all);
  double buffers = path.once && !all ? 1 : others;
  if (OnHosts(topology) && path.once && all) buffers = (1 + others) / 2;  // and unpacked by each
  Cost worst{0};
  for (std::size_t other = 0; other < topology.size(); ++other) {
    if (other == from) continue;
    Cost cost = NominalOfPair(topology, path, from, other, buffers, all);
    if (path.name == "nccl") cost.alpha_us += kNcclRankUs * (others - 1);
    for (const auto figure : Cost::kFigures) worst.*figure = std::max(worst.*figure, cost.*figure);
  }
  return worst;
}

}  // namespace

void CostModel::SetMachine(const Topology& topology) {
  links_apart_ = LinksApart(topology);
  engine_us_ = !topology.devices().empty() && topology.devices().front().kind == DeviceKind::kCuda ? kEngineUs : 0;
}

CostModel CostModel::Nominal(const Topology& topology) {
  const std::size_t devices = topology.size();
  std::vector<std::string> names;
  for (const KnownPath& path : kPaths) names.emplace_back(path.name);
  CostModel model(std::move(names), devices);
  model.SetMachine(topology);
  bool distinct = true;  // each device has a GPU of its own, as NCCL's communicators require
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) distinct = distinct && !OnOneGpu(topology, a, b);
  }
  for (std::size_t path = 0; path < std::size(kPaths) && devices > 1; ++path) {
    if (kPaths[path].name == "nccl" && !distinct) continue;
    for (std::size_t from = 0; from < devices; ++from) {
      for (std::size_t to = 0; to < devices; ++to) {
        for (const MeasuredLoad load : kAllLoads) {
          model.set_cost(path, from, to, load, NominalOf(topology, kPaths[path], from, to, load == MeasuredLoad::kAllToAll));
        }
      }
    }
  }
  return model;
}

}  // namespace chatty
