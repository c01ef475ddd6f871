#include "chatty/framework/bucket_plan.h"

#include <cstdlib>
#include <variant>

namespace chatty {
namespace {

/// Weights that are looked at.
constexpr std::size_t kSample = 4096;

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
  if (!traits.orders || options.execution == "async") return plan;
  if (options.delta != kAutoDelta) {
    plan.width = options.delta;
    return plan;
  }
  plan.round_edges = kind == DeviceKind::kCuda ? 1e6 : 4e3;
  if (const char* e = std::getenv("RE")) plan.round_edges = std::atof(e);
  if (const char* e = std::getenv("EARLY")) Buckets::kEarly = std::atof(e);
  if (const char* e = std::getenv("STEP")) Buckets::kStep = std::atof(e);
  if (const char* e = std::getenv("TOL")) Buckets::kTolerance = std::atof(e);
  if (const char* e = std::getenv("MEM")) Buckets::kMemory = std::atof(e);
  plan.round_edges *= static_cast<double>(devices > 1 ? 2 * devices : 1);
  const auto edges = static_cast<double>(graph.edges());
  if (traits.weights == WeightKind::kNone || edges < 16 * plan.round_edges) return plan;  // a few rounds do it all
  const double mean = std::visit([](const auto& weights) { return MeanOf(weights); }, graph.out().weights);
  if (mean == 0) return plan;  // whoever is fewer edges away is nearer: rounds are in order
  double scale = 2;
  if (const char* e = std::getenv("SCALE")) scale = std::atof(e);
  plan.width = scale * mean * static_cast<double>(graph.vertices()) / edges;
  plan.adapts = true;
  return plan;
}

}  // namespace chatty
