#include "chatty/partition/partition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

/// Local ids are below kNoLocal, so a part may own that many vertices.
void CheckOwnedCount(PartId part, std::uint64_t owned) {
  if (owned > kNoLocal) {
    Throw<CapabilityError>(
        "part {} would own {} vertices, and 32-bit local ids name at most {}: divide the graph into more parts", part, owned,
        kNoLocal);
  }
}

}  // namespace

Partition Partition::FromBounds(std::vector<VertexId> bounds, std::string name) {
  if (bounds.size() < 2)
    Throw<UsageError>("a partition needs at least one part, that is two bounds; {} given", bounds.size());
  if (bounds.size() - 1 > std::numeric_limits<PartId>::max()) {
    Throw<UsageError>("a partition has at most {} parts; {} given", std::numeric_limits<PartId>::max(), bounds.size() - 1);
  }
  if (bounds.front() != 0) Throw<UsageError>("the bounds of a partition begin at vertex 0, not at {}", bounds.front());
  for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
    if (bounds[p + 1] < bounds[p]) {
      Throw<UsageError>("the bounds of a partition ascend, but part {} would be [{}, {})", p, bounds[p], bounds[p + 1]);
    }
    CheckOwnedCount(static_cast<PartId>(p), bounds[p + 1] - bounds[p]);
  }
  Partition result;
  result.parts_ = static_cast<PartId>(bounds.size() - 1);
  result.vertices_ = bounds.back();
  result.name_ = std::move(name);
  result.bounds_ = std::move(bounds);
  return result;
}

Partition Partition::FromOwners(Array<PartId> owners, PartId parts, std::string name, int threads) {
  if (parts == 0) Throw<UsageError>("a partition needs at least one part; 0 given");
  if (owners.size() > kNoVertex) {
    Throw<UsageError>("{} owners given, but vertex ids are {} bits wide", owners.size(), CHATTY_VERTEX_BITS);
  }
  threads = ThreadCount(threads);
  const std::size_t n = owners.size();

  // A counting sort by owner: each chunk counts its vertices, a scan over the chunks of each part turns counts into
  // positions, and each chunk writes its vertices. So vertices of a part keep their order.
  const std::size_t grain = std::max<std::size_t>(n / (static_cast<std::size_t>(threads) * 4) + 1, 1 << 14);
  const std::size_t chunks = (n + grain - 1) / grain;
  Array<VertexId> places(chunks * parts, 0);
  ParallelChunks(chunks, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      VertexId* counts = places.data() + c * parts;
      for (std::size_t v = c * grain, end = std::min(n, v + grain); v < end; ++v) {
        if (owners[v] >= parts) {
          Throw<UsageError>("vertex {} is given to part {}, but there are {} parts, numbered from 0", v, owners[v], parts);
        }
        ++counts[owners[v]];
      }
    }
  });

  Partition result;
  result.parts_ = parts;
  result.vertices_ = static_cast<VertexId>(n);
  result.name_ = std::move(name);
  result.locals_ = Array<LocalId>(n);
  result.globals_.reserve(parts);
  for (PartId p = 0; p < parts; ++p) {
    VertexId owned = 0;
    for (std::size_t c = 0; c < chunks; ++c) owned += std::exchange(places[c * parts + p], owned);
    CheckOwnedCount(p, owned);
    result.globals_.emplace_back(owned);
  }
  ParallelChunks(chunks, threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      VertexId* next = places.data() + c * parts;
      for (std::size_t v = c * grain, end = std::min(n, v + grain); v < end; ++v) {
        const PartId owner = owners[v];
        const VertexId local = next[owner]++;
        result.locals_[v] = static_cast<LocalId>(local);
        result.globals_[owner][local] = static_cast<VertexId>(v);
      }
    }
  });
  result.owners_ = std::move(owners);
  return result;
}

}  // namespace chatty
