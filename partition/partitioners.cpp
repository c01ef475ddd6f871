#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/suggestion.h"
#include "chatty/partition/metis_partitioner.h"
#include "chatty/partition/part_file.h"
#include "chatty/partition/partition.h"

namespace chatty {
namespace {

void CheckParts(const PartitionOptions& options) {
  if (options.parts == 0) Throw<UsageError>("a graph cannot be divided into 0 parts: ask for at least 1");
}

/// floor(total * part / parts), without overflow.
std::uint64_t ShareBegin(std::uint64_t total, PartId part, PartId parts) {
  return total / parts * part + total % parts * part / parts;
}

class ContiguousPartitioner final : public Partitioner {
 public:
  static constexpr std::string_view kName = "contiguous";
  std::string_view name() const override { return kName; }

  Partition Divide(const Graph& graph, const PartitionOptions& options) const override try {
    CheckParts(options);
    const VertexId each = graph.vertices() / options.parts;
    const VertexId longer = graph.vertices() % options.parts;
    std::vector<VertexId> bounds(std::size_t{options.parts} + 1);
    for (std::size_t p = 0; p < bounds.size(); ++p) {
      bounds[p] = static_cast<VertexId>(each * p + std::min<std::uint64_t>(p, longer));
    }
    return Partition::FromBounds(std::move(bounds), std::string(kName));
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("dividing a graph");
  }
};

class EdgeBalancedPartitioner final : public Partitioner {
 public:
  static constexpr std::string_view kName = "edge-balanced";
  std::string_view name() const override { return kName; }

  Partition Divide(const Graph& graph, const PartitionOptions& options) const override try {
    CheckParts(options);
    const VertexId n = graph.vertices();
    std::vector<VertexId> bounds(std::size_t{options.parts} + 1, n);
    bounds.front() = 0;
    // Work before vertex v: the number of earlier vertices and their out-edges. It ascends strictly, so a binary search
    // finds each bound.
    const auto work = [&](VertexId v) -> std::uint64_t { return n == 0 ? 0 : graph.out().offsets[v] + v; };
    const std::uint64_t total = work(n);
    for (PartId p = 1; p < options.parts; ++p) {
      const std::uint64_t target = ShareBegin(total, p, options.parts);
      VertexId low = bounds[p - 1];
      for (VertexId high = n; low < high;) {
        const VertexId middle = low + (high - low) / 2;
        if (work(middle) < target) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      // `low` is the first vertex at or past the target; the previous one may be nearer.
      if (low > bounds[p - 1] && target - work(low - 1) < work(low) - target) --low;
      bounds[p] = low;
    }
    return Partition::FromBounds(std::move(bounds), std::string(kName));
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("dividing a graph");
  }
};

class RandomPartitioner final : public Partitioner {
 public:
  static constexpr std::string_view kName = "random";
  std::string_view name() const override { return kName; }

  Partition Divide(const Graph& graph, const PartitionOptions& options) const override try {
    CheckParts(options);
    if (options.parts == 1)
      return Partition::FromBounds({0, graph.vertices()}, std::string(kName));  // a single part needs no table of owners
    const std::uint64_t key = Mix(options.seed);
    Array<PartId> owners(graph.vertices());
    ParallelFor(owners.size(), options.threads, [&](std::size_t v) {
      // The upper half of the hash, scaled to [0, parts): no division, and a bias below parts / 2^32.
      owners[v] = static_cast<PartId>((Mix(key ^ v) >> 32) * options.parts >> 32);
    });
    return Partition::FromOwners(std::move(owners), options.parts, std::string(kName), options.threads);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("dividing a graph");
  }

 private:
  /// The step and finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  static std::uint64_t Mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};

struct Registered {
  std::string_view name;
  std::unique_ptr<Partitioner> (*make)();
};

template <class T>
constexpr Registered Register() {
  return {T::kName, []() -> std::unique_ptr<Partitioner> { return std::make_unique<T>(); }};
}

constexpr std::array kPartitioners = {Register<ContiguousPartitioner>(), Register<EdgeBalancedPartitioner>(),
                                      Register<RandomPartitioner>(), Registered{"metis", MakeMetisPartitioner}};

}  // namespace

std::vector<std::string_view> PartitionerNames() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kPartitioners));
  for (const Registered& entry : kPartitioners) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Partitioner> MakePartitioner(std::string_view name) try {
  for (const Registered& entry : kPartitioners) {
    if (entry.name == name) return entry.make();
  }
  if (IsPartFilePath(name)) return MakePartFilePartitioner(std::string(name));
  const std::vector<std::string_view> names = PartitionerNames();
  Throw<UsageError>(
      "there is no partitioner \"{}\"{}; choose one of {}, or a METIS part file by a path with a / or a . in it",
      Abbreviated(name), DidYouMean(name, names), fmt::join(names, ", "));
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("choosing a partitioner");
}

}  // namespace chatty
