#include "chatty/core/graph.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/graph_detail.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

using detail::kGrain;
using detail::kVertexGrain;
using detail::WeightCount;

template <class T>
Array<T> ParallelClone(const Array<T>& from, int threads) {
  Array<T> to(from.size());
  ParallelChunks(from.size(), threads, kGrain, [&](std::size_t begin, std::size_t end) {
    std::copy(from.data() + begin, from.data() + end, to.data() + begin);
  });
  return to;
}

}  // namespace

std::string_view WeightName(WeightKind kind) {
  switch (kind) {
    case WeightKind::kNone:
      return "none";
    case WeightKind::kInt32:
      return "int32";
    case WeightKind::kFloat32:
      return "float32";
  }
  return "unknown";
}

WeightKind KindOf(const Weights& weights) {
  if (std::holds_alternative<Array<std::int32_t>>(weights)) return WeightKind::kInt32;
  if (std::holds_alternative<Array<float>>(weights)) return WeightKind::kFloat32;
  return WeightKind::kNone;
}

Weights Clone(const Weights& weights) {
  return std::visit(
      [](const auto& held) -> Weights {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return std::monostate{};
        } else {
          return ParallelClone(held, 0);
        }
      },
      weights);
}

inline namespace CHATTY_ABI {

Graph Graph::OfChecked(Adjacency out, bool symmetric) {
  Graph graph;
  graph.Adopt(std::move(out), symmetric);
  return graph;
}

void Graph::Adopt(Adjacency out, bool symmetric) {
  out_ = std::move(out);
  symmetric_ = symmetric;
  if (out_.offsets.empty()) {
    if (!out_.neighbours.empty()) Throw<InputError>("an adjacency of {} edges has no offsets", out_.neighbours.size());
    out_.offsets = {0};
  }
  const Array<EdgeIndex>& offsets = out_.offsets;
  const Array<VertexId>& neighbours = out_.neighbours;
  const std::size_t n = offsets.size() - 1;
  if (n > kNoVertex) {
    Throw<CapabilityError>("{} vertices are more than {}-bit vertex ids can name; build with CHATTY_VERTEX_BITS=64", n,
                           CHATTY_VERTEX_BITS);
  }
  vertices_ = static_cast<VertexId>(n);
  if (offsets[0] != 0) Throw<InputError>("the offsets of an adjacency begin at {} instead of 0", offsets[0]);
  if (offsets[n] != neighbours.size()) {
    Throw<InputError>("the offsets of an adjacency end at {}, but it has {} neighbours", offsets[n], neighbours.size());
  }
  if (KindOf(out_.weights) != WeightKind::kNone && WeightCount(out_.weights) != neighbours.size()) {
    Throw<InputError>("an adjacency of {} edges has {} weights", neighbours.size(), WeightCount(out_.weights));
  }
}

Graph::Graph(Adjacency out, bool symmetric, int first_id, std::string name) : first_id_(first_id), name_(std::move(name)) {
  Adopt(std::move(out), symmetric);
  const Array<EdgeIndex>& offsets = out_.offsets;
  const Array<VertexId>& neighbours = out_.neighbours;
  const std::size_t n = vertices_;
  ParallelChunks(n, 0, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (offsets[v] > offsets[v + 1] || offsets[v + 1] > neighbours.size()) {
        Throw<InputError>("the offsets of an adjacency do not ascend: vertex {} has [{}, {}) of {} edges", v, offsets[v],
                          offsets[v + 1], neighbours.size());
      }
      const VertexId* const list = neighbours.data() + offsets[v];
      const auto degree = static_cast<std::size_t>(offsets[v + 1] - offsets[v]);
      bool falls = false;
      for (std::size_t i = 1; i < degree; ++i) falls |= list[i - 1] > list[i];
      if (falls) {
        Throw<InputError>("the neighbours of vertex {} are not sorted; sort each list ascending, or use BuildGraph", v);
      }
      if (degree > 0 && list[degree - 1] >= n) {
        Throw<InputError>("vertex {} has the neighbour {}, but the graph has {} vertices", v, list[degree - 1], n);
      }
    }
  });
}

void Graph::set_ids(Array<std::uint64_t> ids) {
  if (!ids.empty() && ids.size() != vertices_) Throw<InputError>("{} ids for {} vertices", ids.size(), vertices_);
  if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end()) {
    throw InputError("the ids of a graph's vertices do not ascend");
  }
  ids_ = std::move(ids);
}

std::optional<VertexId> Graph::find(std::uint64_t id) const {
  if (ids_.empty()) {
    const std::uint64_t v = id - static_cast<std::uint64_t>(first_id_);  // an id below first_id() wraps around
    if (v >= vertices_) return std::nullopt;
    return static_cast<VertexId>(v);
  }
  const std::uint64_t* const found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<VertexId>(found - ids_.begin());
}

const Adjacency& Graph::in() const {
  if (symmetric_) return out_;
  if (!lazy_->in_built.load(std::memory_order_acquire)) {
    const std::lock_guard lock(lazy_->in_mutex);
    if (!lazy_->in_built.load(std::memory_order_relaxed)) {
      std::optional<Adjacency> kept;
      if (lazy_->store) kept = lazy_->store->LoadInEdges();
      const bool fits = kept && kept->offsets.size() == out_.offsets.size() && kept->neighbours.size() == edges() &&
                        KindOf(kept->weights) == weight_kind();
      lazy_->in = fits ? std::move(*kept) : Transpose(vertices_, out_);
      lazy_->in_built.store(true, std::memory_order_release);
      if (lazy_->store && !fits) lazy_->store->SaveInEdges(lazy_->in);
    }
  }
  return lazy_->in;
}

bool Graph::has_in_edges() const { return symmetric_ || lazy_->in_built.load(std::memory_order_acquire); }

std::span<const EdgeIndex> Graph::in_degrees() const {
  if (symmetric_) return {};
  if (lazy_->degrees_built.load(std::memory_order_acquire)) return lazy_->in_degrees.span();
  const std::lock_guard lock(lazy_->degrees_mutex);
  if (!lazy_->degrees_built.load(std::memory_order_relaxed)) {
    Array<EdgeIndex> degrees(vertices_);
    if (has_in_edges()) {
      ParallelFor(vertices_, 0, [&](std::size_t v) { degrees[v] = lazy_->in.degree(static_cast<VertexId>(v)); });
    } else {
      ParallelFor(vertices_, 0, [&](std::size_t v) { degrees[v] = 0; });
      ParallelChunks(out_.neighbours.size(), 0, kGrain, [&](std::size_t begin, std::size_t end) {
        // Runs are added at once: where most edges lead to one hub, threads would otherwise queue at its counter.
        for (std::size_t i = begin; i < end;) {
          const VertexId target = out_.neighbours[i];
          const std::size_t run = i;
          while (i < end && out_.neighbours[i] == target) ++i;
          std::atomic_ref(degrees[target]).fetch_add(i - run, std::memory_order_relaxed);
        }
      });
    }
    lazy_->in_degrees = std::move(degrees);
    lazy_->degrees_built.store(true, std::memory_order_release);
  }
  return lazy_->in_degrees.span();
}

VertexId Graph::max_degree_vertex() const {
  if (vertices_ == 0) return kNoVertex;
  std::mutex mutex;
  VertexId best = kNoVertex;
  EdgeIndex best_degree = 0;
  ParallelChunks(vertices_, 0, kGrain, [&](std::size_t begin, std::size_t end) {
    auto mine = static_cast<VertexId>(begin);
    for (std::size_t v = begin + 1; v < end; ++v) {
      if (out_.degree(static_cast<VertexId>(v)) > out_.degree(mine)) mine = static_cast<VertexId>(v);
    }
    const EdgeIndex degree = out_.degree(mine);
    const std::lock_guard lock(mutex);
    if (best == kNoVertex || degree > best_degree || (degree == best_degree && mine < best)) {
      best = mine;
      best_degree = degree;
    }
  });
  return best;
}

std::size_t Graph::bytes() const {
  const auto bytes_of = [](const Adjacency& adjacency) {
    return adjacency.offsets.bytes() + adjacency.neighbours.bytes() + 4 * WeightCount(adjacency.weights);
  };
  std::size_t bytes = bytes_of(out_) + ids_.bytes();
  for (const std::string& label : labels_) bytes += sizeof(std::string) + label.capacity();
  if (lazy_->in_built.load(std::memory_order_acquire)) bytes += bytes_of(lazy_->in);
  if (lazy_->degrees_built.load(std::memory_order_acquire)) bytes += lazy_->in_degrees.bytes();
  return bytes;
}

Graph Graph::WithWeights(WeightKind kind) const {
  static_assert(sizeof(std::int32_t) == sizeof(float));
  const std::size_t m = out_.neighbours.size();
  Weights converted;
  if (kind == weight_kind()) {
    converted = chatty::Clone(out_.weights);
  } else if (kind == WeightKind::kInt32) {
    Array<std::int32_t> to(m);
    if (const auto* from = std::get_if<Array<float>>(&out_.weights)) {
      ParallelFor(m, 0, [&](std::size_t i) {
        const float weight = (*from)[i];
        // -2^31 is a float and an int32; 2^31 is the first float above the range. Negated, so that a NaN fails too.
        if (!(weight >= -0x1p31f && weight < 0x1p31f) || std::trunc(weight) != weight) {
          Throw<InputError>("edge {} has the weight {}, which no 32-bit integer equals; use float weights", i, weight);
        }
        to[i] = static_cast<std::int32_t>(weight);
      });
    } else {
      ParallelFor(m, 0, [&](std::size_t i) { to[i] = 1; });
    }
    converted = std::move(to);
  } else if (kind == WeightKind::kFloat32) {
    Array<float> to(m);
    if (const auto* from = std::get_if<Array<std::int32_t>>(&out_.weights)) {
      ParallelFor(m, 0, [&](std::size_t i) { to[i] = static_cast<float>((*from)[i]); });
    } else {
      ParallelFor(m, 0, [&](std::size_t i) { to[i] = 1.0f; });
    }
    converted = std::move(to);
  }

  Graph graph;  // the structure was checked when this graph was made
  graph.vertices_ = vertices_;
  graph.out_.offsets = ParallelClone(out_.offsets, 0);
  graph.out_.neighbours = ParallelClone(out_.neighbours, 0);
  graph.out_.weights = std::move(converted);
  graph.symmetric_ = symmetric_;
  graph.first_id_ = first_id_;
  graph.ids_ = ids_.Clone();
  graph.name_ = name_;
  graph.labels_ = labels_;
  return graph;
}

}  // namespace CHATTY_ABI
}  // namespace chatty
