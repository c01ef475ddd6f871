#include "chatty/framework/bucket_plan.h"

#include <variant>

namespace chatty {
namespace {

/// Weights that are looked at.
constexpr std::size_t kSample = 4096;
/// What could be done in the time that a round takes however small it is: vertices visited on a GPU, where those of small
/// degree cost as much as others; edges relaxed on host devices that meet, and on one alone.
constexpr double kGpuVertices = 10000, kHostRound = 4000, kHostTeamRound = 400;
/// A graph of edges for fewer rounds than that is no matter.
constexpr double kFewRounds = 16;

/// The mean of some weights, evenly chosen; 0 if they are all the same.
template <class Weight>
double MeanOf(const Array<Weight>& weights) {
  double sum = 0, least = kInfinity<double>, most = 0;
  const std::size_t count = std::min(weights.size(), kSample);
  for (std::size_t i = 0; i < count; ++i) {
    const auto weight = static_cast<double>(weights[weights.size() / count * i + i * (weights.size() % count) / count]);
    if (!(weight >= 0 && weight < kInfinity<double>)) continue;
    sum += weight;
    least = std::min(least, weight);
    most = std::max(most, weight);
  }
  return least < most ? sum / static_cast<double>(count) : 0;
}
double MeanOf(const std::monostate&) { return 0; }

}  // namespace

BucketPlan PlanBuckets(const Graph& graph, const ProgramTraits& traits, const RunOptions& options, DeviceKind kind,
                       std::size_t devices) {
  BucketPlan plan;
  if (!traits.orders || options.execution == Execution::kAsync) return plan;
  if (options.delta != kAutoDelta) {
    plan.width = options.delta;
    return plan;
  }
  if (options.direction == Direction::kPull) return plan;  // which looks at every edge in each round: the fewer, the better
  const auto edges = static_cast<double>(graph.edges()), vertices = static_cast<double>(graph.vertices());
  if (traits.weights == WeightKind::kNone || edges == 0) return plan;
  const double degree = edges / vertices;
  // A GPU's round waits some 20 us for launches and counters, and longer for other devices. A host's, within one job of its
  // team, waits for a barrier.
  const auto several = static_cast<double>(devices > 1 ? 2 * devices : 1);
  if (kind == DeviceKind::kCuda) {
    plan.round_edges = kGpuVertices * degree * several;
  } else {
    plan.round_edges = devices > 1 ? kHostRound * several / 2 : kHostTeamRound;
  }
  if (edges < kFewRounds * plan.round_edges) return plan;  // what rounds cost is all that counts
  const double mean = std::visit([](const auto& weights) { return MeanOf(weights); }, graph.out().weights);
  if (mean == 0) return plan;  // whoever is fewer edges away is nearer: rounds are in order already
  plan.early_edges = kind == DeviceKind::kCuda || devices > 1 ? plan.round_edges : 0;
  plan.width = mean / degree;
  plan.adapts = true;
  return plan;
}

}  // namespace chatty
