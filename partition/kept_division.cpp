// A subgraph is stored as numbers and arrays. The numbers of all subgraphs are the store's first array. The other arrays
// follow in the order of Transfer, which lists a subgraph's members once for both directions. An array that is a view of the
// graph is stored as its position there.

#include "chatty/partition/kept_division.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "chatty/core/logging.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

constexpr int kLayoutVersion =
    1;  // version of Transfer's layout: increase it when Transfer, or the result of BuildSubgraphs, changes

/// The place of a list's elements.
enum class Place : std::uint8_t { kKept, kOfOutEdges, kOfInEdges };

/// The corresponding array of an adjacency.
enum class Role : std::uint8_t { kOffsets, kNeighbours, kWeights };

std::span<const std::byte> BytesOf(const Adjacency& adjacency, Role role) {
  if (role == Role::kOffsets) return std::as_bytes(adjacency.offsets.span());
  if (role == Role::kNeighbours) return std::as_bytes(adjacency.neighbours.span());
  return std::visit(
      [](const auto& weights) -> std::span<const std::byte> {
        if constexpr (std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
          return {};
        } else {
          return std::as_bytes(weights.span());
        }
      },
      adjacency.weights);
}

bool IsWithin(const void* begin, std::span<const std::byte> bytes) {
  return !std::less<>()(begin, static_cast<const void*>(bytes.data())) &&
         std::less<>()(begin, static_cast<const void*>(bytes.data() + bytes.size()));
}

class Packer {
 public:
  explicit Packer(const Graph& graph) : graph_(graph) {}

  template <class T>
  void Number(T number) {
    numbers_.push_back(static_cast<std::uint64_t>(number));
  }
  template <class T>
  void Keep(std::span<const T> elements) {
    Number(elements.size());
    if (!elements.empty()) arrays_.push_back(std::as_bytes(elements));
  }
  template <class T>
  void Keep(const Array<T>& array) {
    Keep(array.span());
  }
  void Keep(const std::vector<LocalId>& elements) { Keep(std::span<const LocalId>(elements)); }
  template <class T>
  void Keep(const std::vector<Array<T>>& arrays) {
    Number(arrays.size());
    for (const Array<T>& array : arrays) Keep(array);
  }

  void InDegrees(const Subgraph& subgraph) {
    if (!subgraph.symmetric) Keep(subgraph.in_degrees);
  }
  void Lists(const Subgraph& subgraph) {
    Number(subgraph.forward != nullptr);
    Number(subgraph.reverse == subgraph.forward ? 1 : subgraph.reverse != nullptr ? 2 : 0);
    if (subgraph.forward) Rows(*subgraph.forward);
    if (subgraph.reverse && subgraph.reverse != subgraph.forward) Rows(*subgraph.reverse);
  }

  void Save(const std::string& key) {
    arrays_.insert(arrays_.begin(), std::as_bytes(std::span<const std::uint64_t>(numbers_)));
    graph_.store()->SaveArrays(key, arrays_);
  }

 private:
  void Rows(const LocalAdjacency& rows) {
    Number(rows.max_degree);
    Number(rows.global);
    List(rows.offsets, !rows.offsets_storage.empty(), Role::kOffsets);
    List(rows.neighbours, !rows.neighbours_storage.empty(), Role::kNeighbours);
    Number(rows.weights.index());
    std::visit(
        [&](const auto& weights) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
            List(weights, rows.weights_storage.index() != 0, Role::kWeights);
          }
        },
        rows.weights);
  }

  /// A list with elements of its own, or a view of the graph's.
  template <class T>
  void List(std::span<const T> list, bool own, Role role) {
    // Offsets of in-edges are copied: if they are the only view of the in-edges, a later load needs no in-edges.
    const bool is_of_in_edges = role == Role::kOffsets && !graph_.symmetric() && graph_.has_in_edges() &&
                                IsWithin(list.data(), BytesOf(graph_.in(), role));
    if (own || list.empty() || is_of_in_edges) {
      Number(Place::kKept);
      Keep(list);
      return;
    }
    for (const Place place : {Place::kOfOutEdges, Place::kOfInEdges}) {
      if (place == Place::kOfInEdges && !graph_.has_in_edges()) continue;
      const auto graphs = BytesOf(place == Place::kOfOutEdges ? graph_.out() : graph_.in(), role);
      if (!IsWithin(list.data(), graphs)) continue;
      Number(place);
      Number(reinterpret_cast<const std::byte*>(list.data()) - graphs.data());
      Number(list.size());
      return;
    }
    CHATTY_CHECK(false, "a list of {} elements is neither its subgraph's nor the graph's", list.size());
  }

  const Graph& graph_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::span<const std::byte>> arrays_;
};

/// Inverse of a Packer. Throws InputError for arrays that no Packer has made of such a graph.
class Unpacker {
 public:
  Unpacker(const Graph& graph, KeptArrays kept) : graph_(graph), kept_(std::move(kept)) {
    Expect(!kept_.arrays.empty() && kept_.arrays[0].size() % sizeof(std::uint64_t) == 0);
    numbers_ = {reinterpret_cast<const std::uint64_t*>(kept_.arrays[0].data()),
                kept_.arrays[0].size() / sizeof(std::uint64_t)};
    next_array_ = 1;
  }

  template <class T>
  void Number(T& number) {
    number = static_cast<T>(Next());
  }
  template <class T>
  void Keep(Array<T>& array) {
    const std::uint64_t size = Next();
    array = {};
    if (size == 0) return;
    Expect(next_array_ < kept_.arrays.size());
    const std::span<std::byte> bytes = kept_.arrays[next_array_++];
    Expect(bytes.size() / sizeof(T) == size && bytes.size() % sizeof(T) == 0);
    array = Array<T>::View(reinterpret_cast<T*>(bytes.data()), size, kept_.owner);
  }
  void Keep(std::vector<LocalId>& elements) {
    Array<LocalId> array;
    Keep(array);
    elements.assign(array.begin(), array.end());
  }
  template <class T>
  void Keep(std::vector<Array<T>>& arrays) {
    const std::uint64_t size = Next();
    Expect(size <= numbers_.size());
    arrays.resize(size);
    for (Array<T>& array : arrays) Keep(array);
  }

  void InDegrees(Subgraph& subgraph) {
    if (subgraph.symmetric) {
      subgraph.in_degrees = Array<EdgeIndex>::View(subgraph.out_degrees.data(), subgraph.out_degrees.size());
    } else {
      Keep(subgraph.in_degrees);
    }
  }
  void Lists(Subgraph& subgraph) {
    const bool forward = Next() != 0;
    const std::uint64_t reverse = Next();
    if (forward) subgraph.forward = Rows(subgraph.owned);
    subgraph.reverse = reverse == 1 ? subgraph.forward : reverse == 2 ? Rows(subgraph.owned) : nullptr;
  }

  void ExpectEnd() const { Expect(numbers_.empty() && next_array_ == kept_.arrays.size()); }
  static void Expect(bool sound) {
    if (!sound) Throw<InputError>("the stored data is not a division of this graph");
  }

 private:
  std::uint64_t Next() {
    Expect(!numbers_.empty());
    const std::uint64_t number = numbers_.front();
    numbers_ = numbers_.subspan(1);
    return number;
  }

  std::shared_ptr<LocalAdjacency> Rows(LocalId owned) {
    auto rows = std::make_shared<LocalAdjacency>();
    Number(rows->max_degree);
    Number(rows->global);
    rows->offsets = List(rows->offsets_storage, Role::kOffsets);
    Expect(rows->offsets.size() == std::size_t{owned} + 1);
    rows->neighbours = List(rows->neighbours_storage, Role::kNeighbours);
    Expect(rows->neighbours.size() == rows->offsets.back());
    switch (Next()) {
      case 0:
        break;
      case 1:
        Weigh<std::int32_t>(*rows);
        break;
      case 2:
        Weigh<float>(*rows);
        break;
      default:
        Expect(false);
    }
    return rows;
  }

  template <class W>
  void Weigh(LocalAdjacency& rows) {
    Array<W> storage;
    const std::span<const W> weights = List(storage, Role::kWeights);
    Expect(weights.size() == rows.neighbours.size());
    if (!storage.empty()) rows.weights_storage = std::move(storage);
    rows.weights = weights;
  }

  template <class T>
  std::span<const T> List(Array<T>& storage, Role role) {
    const auto place = static_cast<Place>(Next());
    if (place == Place::kKept) {
      Keep(storage);
      return storage.span();
    }
    Expect(place == Place::kOfOutEdges || place == Place::kOfInEdges);
    const std::uint64_t begin = Next(), size = Next();
    const auto graphs = BytesOf(place == Place::kOfOutEdges ? graph_.out() : graph_.in(), role);
    Expect(begin <= graphs.size() && begin % sizeof(T) == 0 && size <= (graphs.size() - begin) / sizeof(T));
    return {reinterpret_cast<const T*>(graphs.data() + begin), size};
  }

  const Graph& graph_;
  KeptArrays kept_;
  std::span<const std::uint64_t> numbers_;  // the numbers not yet read
  std::size_t next_array_ = 0;
};

/// Transfers a subgraph's members to a Packer or from an Unpacker, except `own_begins`, which AddOwnBegins computes.
template <class Archive, class S>
void Transfer(Archive& archive, S& subgraph) {
  archive.Number(subgraph.part);
  archive.Number(subgraph.parts);
  archive.Number(subgraph.vertices);
  archive.Number(subgraph.symmetric);
  archive.Number(subgraph.owned);
  archive.Number(subgraph.local);
  archive.Number(subgraph.identity);
  archive.Keep(subgraph.global_ids);
  archive.Keep(subgraph.out_degrees);
  archive.InDegrees(subgraph);
  archive.Keep(subgraph.halo_words);
  archive.Lists(subgraph);
  archive.Keep(subgraph.halo_begin);
  archive.Keep(subgraph.border);
  archive.Keep(subgraph.border_union);
  archive.Keep(subgraph.border_to_union);
  archive.Keep(subgraph.union_to_halo);
}

/// A digest of the owners of all vertices, as text.
std::string Digest(const Partition& partition) {
  std::string bounds;
  if (partition.contiguous()) {
    VertexId bound = 0;
    for (PartId p = 0; p < partition.parts(); ++p) bounds += fmt::format(" {}", bound += partition.OwnedCount(p));
    return fmt::format("ranges to{}", bounds);
  }
  std::atomic<std::uint64_t> sum{0};  // sum of a hash of each pair of vertex and owner, independent of the order
  ParallelChunks(partition.vertices(), 0, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    std::uint64_t chunk = 0;
    for (std::size_t v = begin; v < end; ++v) chunk += Hash(v, partition.Owner(static_cast<VertexId>(v)));
    sum.fetch_add(chunk, std::memory_order_relaxed);
  });
  return fmt::format("owners {:016x}", sum.load());
}

}  // namespace

std::string SubgraphsKey(const Partition& partition, const SubgraphOptions& options) {
  return fmt::format("subgraphs {}, {} parts, {}, edges {}, forward {}, reverse {}, weights {}, rename {}", kLayoutVersion,
                     partition.parts(), Digest(partition), static_cast<int>(options.edges), options.forward, options.reverse,
                     WeightName(options.weights), options.rename);
}

std::optional<std::vector<Subgraph>> LoadSubgraphs(const Graph& graph, const Partition& partition,
                                                   const std::string& key) try {
  std::optional<KeptArrays> kept = graph.store()->LoadArrays(key);
  if (!kept) return std::nullopt;
  Unpacker unpacker(graph, *std::move(kept));
  std::vector<Subgraph> subgraphs(partition.parts());
  for (PartId p = 0; p < partition.parts(); ++p) {
    Subgraph& s = subgraphs[p];
    Transfer(unpacker, s);
    Unpacker::Expect(s.part == p && s.parts == partition.parts() && s.vertices == graph.vertices() &&
                     s.symmetric == graph.symmetric() && s.owned == partition.OwnedCount(p) &&
                     s.halo_begin.size() == std::size_t{s.parts} + 1 && s.halo_begin.back() == s.local);
  }
  unpacker.ExpectEnd();
  return subgraphs;
} catch (const InputError& error) {
  Log().warn("the division is computed again: {}", error.what());
  return std::nullopt;
}

void SaveSubgraphs(const Graph& graph, const std::string& key, const std::vector<Subgraph>& subgraphs) try {
  Packer packer(graph);
  for (const Subgraph& subgraph : subgraphs) Transfer(packer, subgraph);
  packer.Save(key);
} catch (const std::bad_alloc&) {  // the subgraphs are usable without the store
  Log().warn("the cache cannot store the division: out of host memory");
}

std::optional<Array<PartId>> LoadOwners(const Graph& graph, const std::string& key, PartId parts) {
  if (graph.store() == nullptr) return std::nullopt;
  const std::optional<KeptArrays> kept = graph.store()->LoadArrays(key);
  if (!kept || kept->arrays.size() != 1 || kept->arrays[0].size() != graph.vertices() * sizeof(PartId)) return std::nullopt;
  auto* const owners = reinterpret_cast<PartId*>(kept->arrays[0].data());
  if (std::any_of(owners, owners + graph.vertices(), [&](PartId owner) { return owner >= parts; })) return std::nullopt;
  return Array<PartId>::View(owners, graph.vertices(), kept->owner);
}

void SaveOwners(const Graph& graph, const std::string& key, const Array<PartId>& owners) {
  if (graph.store() == nullptr) return;
  const std::span<const std::byte> bytes = std::as_bytes(owners.span());
  graph.store()->SaveArrays(key, {&bytes, 1});
}

}  // namespace chatty
