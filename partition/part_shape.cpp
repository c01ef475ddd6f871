#include "chatty/partition/part_shape.h"

#include <algorithm>

namespace chatty {
namespace {

PartShape::Rows RowsOf(const std::shared_ptr<const LocalAdjacency>& adjacency) {
  if (adjacency == nullptr) return {};
  return {true, adjacency->neighbours.size(), adjacency->max_degree};
}

/// Size of share `part` if `total` is divided into `parts`.
std::uint64_t Share(std::uint64_t total, PartId part, PartId parts) {
  return total / parts + (part < total % parts ? 1 : 0);
}

}  // namespace

PartShape ShapeOf(const Subgraph& subgraph) {
  PartShape shape;
  shape.vertices = subgraph.vertices;
  shape.part = subgraph.part;
  shape.parts = subgraph.parts;
  shape.symmetric = subgraph.symmetric;
  shape.identity = subgraph.identity;
  shape.owned = subgraph.owned;
  shape.local = subgraph.local;
  shape.forward = RowsOf(subgraph.forward);
  shape.reverse = RowsOf(subgraph.reverse);
  shape.one_list = subgraph.forward != nullptr && subgraph.forward == subgraph.reverse;
  const auto& rows = subgraph.forward != nullptr ? subgraph.forward : subgraph.reverse;
  if (rows != nullptr) {
    if (std::holds_alternative<std::span<const std::int32_t>>(rows->weights)) shape.weights = WeightKind::kInt32;
    if (std::holds_alternative<std::span<const float>>(rows->weights)) shape.weights = WeightKind::kFloat32;
  }
  shape.own_begins = !subgraph.own_begins.empty();
  for (const Array<LocalId>& border : subgraph.border) shape.border += border.size();
  return shape;
}

PartShape BoundShape(const GraphCounts& counts, const SubgraphOptions& options, PartId part, PartId parts, Bound bound) {
  PartShape shape;
  shape.vertices = counts.vertices;
  shape.part = part;
  shape.parts = parts;
  shape.symmetric = counts.symmetric;
  shape.identity = parts == 1;
  shape.owned = Share(counts.vertices, part, parts);
  shape.weights = options.weights;

  const bool merged = !counts.symmetric && options.edges == Edges::kBoth;
  const EdgeIndex all = merged ? 2 * counts.edges : counts.edges;
  const EdgeIndex row = merged ? 2 * counts.max_degree : counts.max_degree;
  const bool most = bound == Bound::kMax;
  EdgeIndex edges = Share(all, part, parts);
  if (most && parts > 1) edges = std::min(all, edges + row);  // the part with the heaviest vertex
  const PartShape::Rows rows{true, edges, !most ? 0 : row == 0 ? edges : std::min(edges, row)};
  if (options.forward) shape.forward = rows;
  if (options.reverse) shape.reverse = rows;
  shape.one_list = options.forward && options.reverse && (counts.symmetric || merged);

  shape.local = shape.owned;
  if (most && parts > 1) {
    shape.own_begins = options.own_begins && counts.symmetric && (options.forward || options.reverse);
    const std::uint64_t others = counts.vertices - shape.owned;
    const std::uint64_t named = options.forward && options.reverse && !shape.one_list ? 2 * edges : edges;
    shape.local += std::min(others, named);
    shape.border = std::min({named, shape.owned * (parts - 1)});
  }
  return shape;
}

}  // namespace chatty
