#include "chatty/programs/checks.h"

#include <cmath>

namespace chatty {

std::string VertexName(const Graph& graph, VertexId v) {
  if (v >= graph.vertices())
    return fmt::format("vertex {}", std::uint64_t{v} + static_cast<std::uint64_t>(graph.first_id()));
  const std::uint64_t id = graph.id(v);
  if (v < graph.labels().size()) return fmt::format("vertex {} ({})", id, graph.labels()[v]);
  return fmt::format("vertex {}", id);
}

void CheckSource(const Graph& graph, VertexId source) {
  if (source < graph.vertices()) return;
  if (graph.vertices() == 0) throw UsageError("a source is asked for in a graph without vertices");
  Throw<UsageError>("source {} is not a vertex: ids go from {} to {}",
                    std::uint64_t{source} + static_cast<std::uint64_t>(graph.first_id()), graph.id(0),
                    graph.id(graph.vertices() - 1));
}

void CheckDamping(double damping) {
  if (damping >= 0.0 && damping < 1.0) return;
  Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
}

bool IsWithin(double given, double right, double relative_bound) {
  return given == right || (std::isfinite(right) && std::abs(given - right) <= relative_bound * std::abs(right));
}

Array<double> NormalisedTeleport(const Graph& graph, std::span<const double> teleport) {
  if (teleport.size() != graph.vertices()) {
    Throw<UsageError>("the teleport vector has {} numbers, the graph {} vertices", teleport.size(), graph.vertices());
  }
  const double sum = SumOfTeleport(graph, [&](VertexId v) { return teleport[v]; });
  Array<double> scaled(teleport);
  for (double& number : scaled) number /= sum;
  return scaled;
}

void CheckWeights(const Graph& graph) {
  const Adjacency& out = graph.out();
  std::visit(
      [&]<class W>(const W& weights) {
        if constexpr (!std::is_same_v<W, std::monostate>) {
          const std::string fault = FirstFault(graph.vertices(), [&](VertexId u) -> std::string {
            for (EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
              if (weights[e] >= 0) [[likely]]
                continue;
              return fmt::format("the edge from {} to {} has weight {}; shortest paths need weights of at least 0",
                                 VertexName(graph, u), VertexName(graph, out.neighbours[e]), weights[e]);
            }
            return {};
          });
          if (!fault.empty()) throw UsageError(fault);
        }
      },
      out.weights);
}

}  // namespace chatty
