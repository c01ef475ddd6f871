#include "chatty/framework/bucket_plan.h"

#include <variant>

namespace chatty {
namespace {

/// Size of the sample of weights.
constexpr std::size_t kSample = 4096;
/// Work that takes as long as the fixed cost of a round: vertices visited on a GPU, where vertices of small degree cost as
/// much as others; edges relaxed on several host devices, and on a single one.
constexpr double kGpuVertices = 10000, kHostRound = 4000, kHostTeamRound = 400;
/// The same of a sweep of host devices that do not wait for each other.
constexpr double kHostSweep = 500;
/// Edges of mean weight along a path through the first bucket of a fused run.
constexpr double kFusedHops = 8;
/// How far its width may grow.
constexpr double kFusedGrowth = 16;
/// Buckets up to the mean weight where values are weights (CarriesValues).
constexpr double kCarriedLevels = 64;
/// Buckets do not matter for a graph with fewer edges than this number of rounds could process.
constexpr double kFewRounds = 16;

/// The mean of evenly sampled weights, and whether all are equal.
struct MeanWeight {
  double mean = 0;
  bool same = true;
};
template <class Weight>
MeanWeight MeanOf(const Array<Weight>& weights) {
  double sum = 0, least = kInfinity<double>, most = 0;
  const std::size_t count = std::min(weights.size(), kSample);
  for (std::size_t i = 0; i < count; ++i) {
    const auto weight = static_cast<double>(weights[weights.size() / count * i + i * (weights.size() % count) / count]);
    if (!(weight >= 0 && weight < kInfinity<double>)) continue;
    sum += weight;
    least = std::min(least, weight);
    most = std::max(most, weight);
  }
  return {count == 0 ? 0 : sum / static_cast<double>(count), !(least < most)};
}
MeanWeight MeanOf(const std::monostate&) { return {1, true}; }

}  // namespace

BucketPlan PlanBuckets(const Graph& graph, const ProgramTraits& traits, const RunOptions& options, DeviceKind kind,
                       std::size_t devices) {
  BucketPlan plan;
  if (!traits.orders) return plan;
  if (options.delta != kAutoDelta) {
    plan.width = plan.fused_width = options.delta;
    return plan;
  }
  if (options.direction == Direction::kPull)
    return plan;  // a pull reads every edge in each round, so the fewest rounds are best
  const auto edges = static_cast<double>(graph.edges()), vertices = static_cast<double>(graph.vertices());
  if (edges == 0) return plan;
  if (traits.carries && traits.weights == WeightKind::kNone) {  // values are ids or the like
    plan.fused_width = 1;
    plan.fused_adapts = true;
    plan.fused_max_width = std::max(vertices, 1.0);
  }
  if (traits.weights == WeightKind::kNone) return plan;
  const MeanWeight weight = std::visit([](const auto& weights) { return MeanOf(weights); }, graph.out().weights);
  if (!(weight.mean > 0)) return plan;
  if (traits
          .carries) {  // values are weights: what is improved twice in a bucket is followed twice, however far it is carried
    plan.fused_width = weight.mean / kCarriedLevels;
    return plan;
  }
  plan.fused_width = kFusedHops * weight.mean;
  plan.fused_max_width = plan.fused_width * kFusedGrowth;
  plan.fused_adapts = true;
  const double degree = edges / vertices;
  // A GPU's round waits for launches and counters, and longer for other devices. A host's round, within one job of its team,
  // waits for a barrier. A sweep of `async` waits for no other device.
  const bool sweeps = options.execution == Execution::kAsync && devices > 1;
  const auto several = static_cast<double>(devices > 1 && !sweeps ? 2 * devices : 1);
  if (kind == DeviceKind::kCuda) {
    plan.round_edges = kGpuVertices * degree * several;
  } else if (sweeps) {
    plan.round_edges = kHostSweep;
  } else {
    plan.round_edges = devices > 1 ? kHostRound * several / 2 : kHostTeamRound;
  }
  if (edges < kFewRounds * plan.round_edges) return plan;  // the number of rounds determines the time
  if (weight.same) return plan;  // with equal weights, rounds already process vertices in order of distance
  plan.early_edges = kind == DeviceKind::kCuda || devices > 1 ? plan.round_edges : 0;
  plan.width = weight.mean / degree;
  plan.graph_edges = edges;
  plan.adapts = true;
  return plan;
}

}  // namespace chatty
