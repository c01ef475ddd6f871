// What a vertex program means, one vertex and one edge after another: the definition that engines are compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/framework/program.h"

namespace chatty::test {

template <class P>
struct Interpretation {
  std::vector<ValueOf<P>> values;
  RoundOf<P> round;
  std::uint32_t phases = 1;
  bool converged = true;

  std::vector<OutputOf<P>> Output(const P& program) const {
    std::vector<OutputOf<P>> out;
    for (const ValueOf<P>& value : values) out.push_back(chatty::detail::OutputOfValue<P>(program, value, round));
    return out;
  }
};

template <class P>
Interpretation<P> Interpret(const Graph& graph, const P& program, const std::vector<InputOf<P>>* prior = nullptr,
                            std::uint32_t max_rounds = 0) {
  using T = Traits<P>;
  using Message = MessageOf<P>;
  using W = WeightOf<P>;
  const VertexId n = graph.vertices();

  std::vector<EdgeIndex> out_degree(n, 0), in_degree(n, 0);
  std::vector<Edge<W>> edges;
  const auto weight = [&](EdgeIndex e) -> W {
    if constexpr (std::is_same_v<W, None>) {
      return {};
    } else {
      return std::visit(
          [e](const auto& weights) -> W {
            if constexpr (std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
              return W{1};
            } else {
              return static_cast<W>(weights[e]);
            }
          },
          graph.out().weights);
    }
  };
  for (VertexId u = 0; u < n; ++u) {
    for (EdgeIndex e = graph.out().offsets[u]; e < graph.out().offsets[u + 1]; ++e) {
      const VertexId v = graph.out().neighbours[e];
      ++out_degree[u];
      ++in_degree[v];
      // Of a symmetric graph every direction is the same set of edges.
      if (graph.symmetric() || T::kEdges != Edges::kIn) edges.push_back({u, v, weight(e)});
      if (!graph.symmetric() && T::kEdges != Edges::kOut) edges.push_back({v, u, weight(e)});
    }
  }
  const auto at = [&](VertexId v) {
    return Vertex{v, out_degree[v], in_degree[v], out_degree[v] + (graph.symmetric() ? 0 : in_degree[v])};
  };

  Interpretation<P> result;
  RoundOf<P>& round = result.round;
  std::vector<ValueOf<P>>& values = result.values;
  round.vertices = n;
  for (VertexId v = 0; v < n; ++v) {
    if constexpr (T::kHasInput) {
      values.push_back(program.InitVertex(at(v), (*prior)[v]));
    } else {
      values.push_back(program.InitVertex(at(v)));
    }
  }

  std::vector<bool> active(n);
  std::vector<ValueOf<P>> befores = values;  // the last update
  const auto measure = [&] {
    round.active = static_cast<std::uint64_t>(std::count(active.begin(), active.end(), true));
    if constexpr (T::kHasMeasure) {
      GlobalOf<P> global{};
      for (VertexId v = 0; v < n && !(T::kMeasureWhenQuiet && round.active > 0); ++v) {
        if constexpr (T::kMeasuresChangeInRound) {
          global = CombineGlobal<P>(global, program.Measure(befores[v], values[v], at(v), round));
        } else if constexpr (T::kMeasuresChange) {
          global = CombineGlobal<P>(global, program.Measure(befores[v], values[v], at(v)));
        } else if constexpr (T::kMeasureTakesRound) {
          global = CombineGlobal<P>(global, program.Measure(values[v], at(v), round));
        } else {
          global = CombineGlobal<P>(global, program.Measure(values[v], at(v)));
        }
      }
      round.global = global;
    }
  };
  const auto activate = [&] {
    for (VertexId v = 0; v < n; ++v) {
      if constexpr (T::kEveryRound) {
        active[v] = true;
      } else if constexpr (T::kHasIsActive) {
        active[v] = CallIsActive(program, values[v], round);
      } else {
        active[v] = true;
      }
    }
    befores = values;
    measure();
  };
  const auto quiet = [&] { return round.active == 0 && !T::kEveryRound; };
  activate();

  for (bool ask = quiet();; ask = true) {
    if (ask) {
      Next next = Next::kContinue;
      const std::uint32_t phase = round.phase;
      if constexpr (T::kHasEndRound) next = program.EndRound(round);
      if (next == Next::kStop) break;
      if (next == Next::kLimit) {
        result.converged = false;
        break;
      }
      if (next == Next::kNextPhase) {
        if (round.phase == phase) ++round.phase;
        ++result.phases;
        activate();
        if (quiet()) continue;
      } else if (quiet()) {
        break;
      }
    }
    if (max_rounds != 0 && round.index == max_rounds) {
      result.converged = false;
      break;
    }

    std::vector<SharedOf<P>> shared(n);
    for (VertexId v = 0; v < n; ++v) {
      if (!active[v] && !T::kEveryRound) continue;
      if constexpr (T::kHasConsume) {
        shared[v] = program.Consume(values[v], at(v));
      } else if constexpr (T::kHasShare) {
        shared[v] = program.Share(values[v], at(v));
      } else {
        shared[v] = values[v];
      }
    }
    std::vector<std::vector<Message>> inbox(n);
    for (const Edge<W>& edge : edges) {
      if (!active[edge.source] && !T::kEveryRound) continue;
      const Message message = CallComputeScatter(program, shared[edge.source], edge, round);
      if constexpr (T::kHasFilter) {
        if (!program.Filter(values[edge.target])) continue;
      }
      if constexpr (T::kHasFilterMessage) {
        if (!program.Filter(values[edge.target], message)) continue;
      }
      inbox[edge.target].push_back(message);
    }
    befores = values;
    for (VertexId v = 0; v < n; ++v) {
      std::vector<Message>& messages = inbox[v];
      active[v] = false;
      if (messages.empty() && !T::kEveryRound) continue;
      if constexpr (T::kCounts) {
        std::sort(messages.begin(), messages.end());
        active[v] = CallUpdateStatus(program, values[v], Counts<Message>(messages.data(), messages.size()), at(v), round);
      } else {
        Message all = IdentityOf<P>();
        for (std::size_t i = 0; i < messages.size(); ++i) {
          if constexpr (P::kReduction == Reduction::kMin) {
            all = std::min(all, messages[i]);
          } else if constexpr (P::kReduction == Reduction::kMax) {
            all = std::max(all, messages[i]);
          } else if constexpr (P::kReduction == Reduction::kSum) {
            all = static_cast<Message>(all + messages[i]);
          } else if constexpr (P::kReduction == Reduction::kOr) {
            all = static_cast<Message>(all | messages[i]);
          } else {
            all = program.ComputeReduce(all, messages[i]);
          }
        }
        active[v] = CallUpdateStatus(program, values[v], all, at(v), round);
      }
    }
    measure();
    ++round.index;
  }
  return result;
}

}  // namespace chatty::test
