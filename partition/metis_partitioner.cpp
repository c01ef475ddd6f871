#include "chatty/partition/metis_partitioner.h"

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/partition/kept_division.h"

namespace chatty {
namespace metis {

EdgeIndex CountEntries(const Graph& graph, int threads) {
  std::atomic<EdgeIndex> entries{0};
  ParallelChunks(graph.vertices(), threads, 1 << 10, [&](std::size_t begin, std::size_t end) {
    EdgeIndex chunk = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = static_cast<VertexId>(i);
      VertexId last = v;  // excludes loops
      for (const VertexId u : graph.out()[v]) {
        if (u == last || u == v) continue;
        last = u;
        // An edge has two entries, one at each end. A pair of opposite edges shares them.
        const auto back = graph.out()[u];
        chunk += graph.symmetric() || std::binary_search(back.begin(), back.end(), v) ? 1 : 2;
      }
    }
    entries.fetch_add(chunk, std::memory_order_relaxed);
  });
  return entries;
}

std::string WhyNot(std::uint64_t vertices, EdgeIndex entries, PartId parts, std::uint64_t largest) {
  if (parts > vertices) return fmt::format("{} vertices are too few for {} parts", vertices, parts);
  if (vertices > largest || entries > largest) {
    return fmt::format("{} vertices and {} edges, each counted both ways, are more than this build of METIS can number ({})",
                       vertices, entries, largest);
  }
  if (entries == 0) return "no edge joins two vertices, so there is nothing to cut";
  return {};
}

PartId FillEmptyParts(const Graph& graph, PartId parts, std::span<PartId> owners) {
  struct Load {
    std::uint64_t work = 0;
    VertexId vertices = 0;
  };
  const auto work_of = [&](std::size_t v) { return 1 + graph.out_degree(static_cast<VertexId>(v)); };
  std::vector<Load> loads(parts);
  for (std::size_t v = 0; v < owners.size(); ++v) {
    loads[owners[v]].work += work_of(v);
    ++loads[owners[v]].vertices;
  }
  PartId empty = 0;
  for (PartId p = 0; p < parts; ++p) {
    if (loads[p].vertices > 0) continue;
    ++empty;
    PartId donor = p;
    for (PartId q = 0; q < parts; ++q) {
      if (loads[q].vertices > 1 && (donor == p || loads[q].work > loads[donor].work)) donor = q;
    }
    CHATTY_CHECK(donor != p, "{} vertices for {} parts", owners.size(), parts);
    const std::uint64_t half = loads[donor].work / 2;
    for (std::size_t v = owners.size(); v-- > 0 && loads[donor].vertices > 1;) {
      if (owners[v] != donor) continue;
      if (loads[p].vertices > 0 && loads[p].work + work_of(v) > half) continue;
      owners[v] = p;
      loads[p].work += work_of(v);
      loads[donor].work -= work_of(v);
      ++loads[p].vertices;
      --loads[donor].vertices;
    }
  }
  return empty;
}

#if !CHATTY_WITH_METIS
std::string PartGraphKway(const Graph&, const PartitionOptions&, Array<PartId>*) {
  return "this build of the library is without METIS (configure with -DCHATTY_ENABLE_METIS=ON)";
}
#endif

}  // namespace metis

namespace {

class MetisPartitioner final : public Partitioner {
 public:
  static constexpr std::string_view kName = "metis";
  static constexpr std::string_view kFallback = "edge-balanced";
  std::string_view name() const override { return kName; }

  Partition Divide(const Graph& graph, const PartitionOptions& options) const override try {
    if (options.parts == 0) Throw<UsageError>("a graph cannot be divided into 0 parts: ask for at least 1");
    // One part needs no division. METIS 5.1 divides by the logarithm of the number of parts.
    if (options.parts == 1) return Partition::FromBounds({0, graph.vertices()}, std::string(kName));
    // For one version of METIS and one machine, these determine the division. A division from another version is equally
    // good.
    const std::string key = fmt::format("metis 1, {} parts, seed {}", options.parts, options.seed);
    if (std::optional<Array<PartId>> kept = LoadOwners(graph, key, options.parts)) {
      return Partition::FromOwners(*std::move(kept), options.parts, std::string(kName), options.threads);
    }
    Array<PartId> owners;
    std::string why;
    try {
      why = metis::PartGraphKway(graph, options, &owners);
    } catch (
        const OutOfMemoryError& error) {  // METIS takes several times the graph's memory; the fallback takes very little
      why = error.what();
    } catch (const std::bad_alloc&) {
      why = "out of host memory while the graph was made ready for METIS";
    }
    if (why.empty()) {
      SaveOwners(graph, key, owners);
      return Partition::FromOwners(std::move(owners), options.parts, std::string(kName), options.threads);
    }
    if (!options.allow_fallback) {
      Throw<CapabilityError>("partition metis into {} parts: {}; choose another partition, or allow a fallback to {}",
                             options.parts, why, kFallback);
    }
    Log().warn("partition metis: {}; {} is used instead", why, kFallback);
    return MakePartitioner(kFallback)->Divide(graph, options);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("dividing a graph");
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeMetisPartitioner() { return std::make_unique<MetisPartitioner>(); }

}  // namespace chatty
