/// \file
/// Single-source shortest paths over nonnegative weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>

#include "chatty/framework/derived.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/checks.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Distances from `source` by relaxation until nothing changes (Bellman and Ford), nearer vertices first. W is int32_t, with
/// distances in uint32_t, or float, with distances in float: rounded addition is monotone, so both results are unique to the
/// bit.
template <class W>
struct SsspOf {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Weight = W;
  using Value = std::conditional_t<std::is_same_v<W, float>, float, std::uint32_t>;
  using Message = Value;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.update_is_reduction = true};
  static constexpr Info kInfo{
      .summary = "single-source shortest paths from --source; weight 1 where the graph has none",
      .output_name = "distance",
  };
  /// @}
  /// The value of a sum that does not fit: the largest finite distance, which is never a result.
  static constexpr Value kOverflow = [] {
    if constexpr (std::is_same_v<W, float>) {
      return std::numeric_limits<float>::max();
    } else {
      return kInfinity<std::uint32_t> - 1;
    }
  }();

  /// The only value that CheckOutput refuses, so that a GPU can look for it.
  static constexpr Value kRefusedOutput = kOverflow;

  /// The source of paths.
  VertexId source = 0;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &SsspOf::source, "vertex to start from"});

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? Value{0} : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& d) const { return d != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& d, Edge<W> e) const {
    if constexpr (std::is_same_v<W, float>) {
      const float sum = d + e.weight;
      return sum < kOverflow ? sum : kOverflow;
    } else {
      const auto w = static_cast<std::uint32_t>(e.weight);
      return w < kOverflow - d ? d + w : kOverflow;
    }
  }
  CHATTY_FN bool Filter(const Value& d, Message m) const { return m < d; }
  CHATTY_FN bool UpdateStatus(Value& d, Message m, Vertex) const {
    if (!(m < d)) return false;
    d = m;
    return true;
  }
  CHATTY_FN Value Priority(const Value& d) const { return d; }
  /// @}

  /// Throws UsageError for negative or undefined weights.
  void CheckInput(const Graph& graph) const { CheckWeights(graph); }
  /// Throws CapabilityError if a distance did not fit.
  static void CheckOutput(std::span<const Value> distances) {
    if (std::find(distances.begin(), distances.end(), kOverflow) == distances.end()) return;
    if constexpr (std::is_same_v<W, float>) {
      Throw<CapabilityError>("a distance is {} or more, the most that a float holds; scale the weights down", kOverflow);
    } else {
      Throw<CapabilityError>(
          "a distance is larger than {}, the most that 32 bits hold here; take float weights (--weights float)",
          kOverflow - 1);
    }
  }
  /// Checks every edge and every vertex: VerifySssp.
  Verdict Verify(const Graph& graph, std::span<const Value> distances, const RunStatistics&) const {
    return VerifySssp<Value>(graph, source, distances);
  }
  /// As Verify, for an answer of unknown origin. Float distances, summed in any precision and order, may also be within the
  /// given tolerance, or else within that of LDBC Graphalytics.
  Verdict VerifyAnswer(const Graph& graph, std::span<const Value> distances, const AnswerRules& rules) const {
    Verdict exact = VerifySssp<Value>(graph, source, distances);
    if constexpr (std::is_same_v<W, float>) {
      if (!exact)
        return VerifySsspWithin(graph, source, distances,
                                ToleranceOf(rules));  // names a distance that exceeds the tolerance
    }
    return exact;
  }
};

/// SSSP over the graph's kind of weights.
struct Sssp : ProgramVariants<SsspOf<std::int32_t>, SsspOf<float>> {
  /// The variant for the graph's weights: float, or else integers.
  static std::size_t Choose(const Graph& graph) { return graph.weight_kind() == WeightKind::kFloat32 ? 1 : 0; }
};

}  // namespace chatty
