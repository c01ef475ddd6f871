// Every verifier in the registry against every way to spoil one entry of a right answer. A program whose answers are real
// numbers, or not unique, says below what is right; one with exact and unique integers needs no entry; one without a
// verifier has to be named with the reason.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../registered_programs.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/framework/session.h"
#include "chatty/programs/reference.h"
#include "test_graphs.h"

namespace chatty::test {

/// How far entries may be off before a verifier has to say so.
struct Leeway {
  double of_run = 0;     ///< of the answer of a run, relative to the entry
  double of_answer = 0;  ///< of an answer of unknown origin, likewise
  double absolute = 0;  ///< or as a number, where a norm of all entries decides: one that is off by this much is too far off
  bool of_zero = false;  ///< also where 0 is right: what iterations make of it is small, but not 0
};

/// What is known of a value of a program beside that it is exact and unique.
struct Known {
  Leeway leeway;
  ParameterValues parameters;
  /// Whether an answer is right, where several are; `of_run`: that of a run.
  std::function<bool(const Graph&, VertexId source, const std::vector<double>& values, bool of_run)> right;
};

/// Any in-neighbour one level up will do. Of unknown origin, the source may have none.
inline bool AreParents(const Graph& graph, VertexId source, const std::vector<double>& parents, bool of_run) {
  const Array<std::uint32_t> levels = SerialBfs(graph, source);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto parent = static_cast<VertexId>(parents[v]);
    if (levels[v] == kFar || v == source) {
      const bool none = parent == kNoVertex;
      if (v == source ? parent != source && (of_run || !none) : !none) return false;
      continue;
    }
    if (parent >= graph.vertices() || levels[parent] == kFar || levels[parent] + 1 != levels[v]) return false;
    const std::span<const VertexId> row = graph.out()[parent];
    if (std::find(row.begin(), row.end(), v) == row.end()) return false;
  }
  return true;
}

/// Members are no neighbours, and every other vertex has one.
inline bool IsMaximalSet(const Graph& graph, VertexId /*source*/, const std::vector<double>& members, bool /*of_run*/) {
  std::vector<bool> covered(graph.vertices(), false);
  for (VertexId u = 0; u < graph.vertices(); ++u) {
    if (members[u] != 0 && members[u] != 1) return false;
    for (const VertexId v : graph.out()[u]) {
      if (u == v) continue;
      if (members[u] == 1 && members[v] == 1) return false;
      covered[u] = covered[u] || members[v] == 1;
      covered[v] = covered[v] || members[u] == 1;
    }
  }
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (members[v] == 0 && !covered[v]) return false;
  }
  return true;
}

/// By program and value.
inline const std::map<std::string, Known>& AllKnown() {
  constexpr double kLdbc = 1e-4;
  static const std::map<std::string, Known> all{
      {"bfs parent", {{}, {}, AreParents}},
      {"sssp distance", {{0, kLdbc, 0}, {}, nullptr}},  // to the bit in a run
      {"lcc coefficient", {{1e-12, kLdbc, 0}, {}, nullptr}},
      {"bc centrality", {{1e-9, kLdbc, 0}, {{"sources", "0"}}, nullptr}},
      // A residual of at most 1e-5 in L1, of which an entry's own part is at least 1 - damping.
      {"pagerank rank", {{0, 0, 3e-4}, {}, nullptr}},
      {"pagerank rank of seven rounds", {{1e-5, kLdbc, 0}, {{"rounds", "7"}, {"tolerance", "0"}}, nullptr}},
      {"pagerank_double rank", {{0, 0, 3e-4}, {}, nullptr}},
      {"pagerank_push rank", {{0, 0, 1.5e-2}, {}, nullptr}},  // and here of 7e-4
      {"widest_path width", {{0, kLdbc, 0}, {}, nullptr}},
      {"personalised_pagerank rank", {{0, 0, 3e-4}, {}, nullptr}},
      {"personalised_push rank", {{0, 0, 2e-4}, {}, nullptr}},  // within 8e-5 of the exact ones in L1
      {"hits authority", {{0, 0, 1e-4, true}, {}, nullptr}},
      {"hits hub", {{0, 0, 1e-4, true}, {}, nullptr}},
      {"betweenness paths", {{1e-9, kLdbc, 0}, {}, nullptr}},
      {"betweenness dependency", {{1e-9, kLdbc, 0}, {}, nullptr}},
      {"mis member", {{}, {}, IsMaximalSet}},
  };
  return all;
}

/// Programs that have no verifier, and why.
inline const std::map<std::string, std::string>& WithoutVerifier() {
  static const std::map<std::string, std::string> none;
  return none;
}

/// Small graphs with all that answers differ by, for a kind of weights.
inline std::vector<std::pair<std::string, Graph>> MutationGraphs(WeightKind kind) {
  const double tenth = kind == WeightKind::kFloat32 ? 0.1 : 1, more = kind == WeightKind::kFloat32 ? 3.7 : 3;
  std::vector<std::pair<std::string, Graph>> graphs;
  // From 0: ties by 1 and 2, a dangling vertex 4; 5 leads in but is not reached; 6 is isolated; 7 and 8 are a part of their
  // own.
  graphs.emplace_back("apart", MakeGraph(9,
                                         {{0, 1, tenth},
                                          {0, 2, tenth},
                                          {1, 3, tenth},
                                          {2, 3, tenth},
                                          {3, 4, more},
                                          {5, 3, tenth},
                                          {7, 8, more},
                                          {8, 7, tenth}},
                                         kind));
  // Zero weights, in a circle that is reached and in one that is not; a loop, and two edges of one pair.
  graphs.emplace_back("zeros", MakeGraph(8,
                                         {{0, 1, 0},
                                          {1, 2, 0},
                                          {2, 1, 0},
                                          {2, 3, more},
                                          {2, 3, more},
                                          {3, 3, 0},
                                          {3, 0, tenth},
                                          {5, 6, 0},
                                          {6, 5, 0},
                                          {6, 7, tenth}},
                                         kind));
  graphs.emplace_back(
      "triangles",
      MakeSymmetric(
          9,
          {{0, 1, tenth}, {1, 2, more}, {0, 2, tenth}, {2, 3, 0}, {3, 4, more}, {4, 2, tenth}, {5, 6, more}, {6, 7, tenth}},
          kind));
  graphs.emplace_back("no edges", MakeGraph(3, {}, kind));
  graphs.emplace_back("one vertex", MakeGraph(1, {}, kind));
  graphs.emplace_back("directed", RandomGraph(11, 12, 1.5, kind, /*symmetric=*/false));
  graphs.emplace_back("symmetric", RandomGraph(12, 12, 0.9, kind, /*symmetric=*/true));
  return graphs;
}

/// Other values for an entry that is `right`, which may be off by `relative` or `absolute`.
template <class T>
std::vector<T> Mutants(T right, VertexId vertices, double relative, double absolute) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all{Limits::max(), Limits::lowest(), T{0}, T{1}, static_cast<T>(2147483647), static_cast<T>(-1)};
  if constexpr (std::is_integral_v<T>) {
    for (const T off : {T{1}, T{2}, T{1000}})
      all.insert(all.end(), {static_cast<T>(right + off), static_cast<T>(right - off)});
    all.push_back(static_cast<T>(Limits::max() - 1));
    for (VertexId v = 0; v <= vertices; ++v) all.push_back(static_cast<T>(v));
  } else {
    all.insert(all.end(), {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                           static_cast<T>(right + 1), static_cast<T>(right - 1), static_cast<T>(1e30), -right});
    // Just beyond what is allowed, and ten times as far. What is exact differs in the last bit.
    for (const double times : {1.1, 10.0}) {
      const double off = times * std::max(relative * std::abs(static_cast<double>(right)), absolute);
      all.insert(all.end(), {static_cast<T>(right + off), static_cast<T>(right - off)});
    }
    all.insert(all.end(), {std::nextafter(right, Limits::infinity()), std::nextafter(right, -Limits::infinity())});
  }
  return all;
}

/// Whether `given` says something else than `right`. -0.0 is 0.0. Of 0, no part is a bound, and a number only if of_zero.
template <class T>
bool Differs(T given, T right, double relative, double absolute, bool of_zero) {
  if (given == right) return false;
  if ((right == T{0} && !of_zero) || !std::isfinite(static_cast<double>(given)) ||
      !std::isfinite(static_cast<double>(right)))
    return true;
  const double off = std::abs(static_cast<double>(given) - static_cast<double>(right));
  // The right value is itself off by rounding: what lies between is left to the tests of each bound.
  return off > std::max(1.05 * relative * std::abs(static_cast<double>(right)), 0.99 * absolute);
}

/// Spoils each entry of the answer of a run in every way, and returns how many times the verifier was asked.
class Mutation {
 public:
  Mutation(const RegisteredProgram& program, const Graph& graph, const std::string& value, const std::string& known)
      : program_(program), graph_(graph) {
    if (const auto found = AllKnown().find(known); found != AllKnown().end()) known_ = found->second;
    parameters_ = known_.parameters;
    for (const ParameterInfo& parameter : program.parameters()) {
      if (parameter.name == "source") parameters_.emplace("source", "0");
    }
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(MakeHostDevice(0, 1));
    Session session(graph, std::move(devices));
    RunOptions options;
    options.vertex_data = data_ = NeededData(program, graph);
    const std::unique_ptr<RegisteredJob> job = program.Prepare(session, parameters_, value, options);
    statistics_ = job->Execute();
    right_ = job->Output();
  }

  std::uint64_t Run() {
    return WithType(right_.type, [&]<class T>(T) { return All<T>(); });
  }

 private:
  /// Small numbers for every array that the program cannot do without.
  static VertexData NeededData(const RegisteredProgram& program, const Graph& graph) {
    VertexData data;
    for (const VertexDataInfo& info : program.vertex_data()) {
      if (!info.required) continue;
      const auto fill = [&]<class T>(T) {
        std::vector<T> numbers;
        for (VertexId v = 0; v < graph.vertices(); ++v) numbers.push_back(static_cast<T>(v % 3));
        data.emplace(info.name, VertexArray(numbers));
      };
      if (info.type == ScalarType::kUint32) fill(std::uint32_t{});
      if (info.type == ScalarType::kInt32) fill(std::int32_t{});
      if (info.type == ScalarType::kUint64) fill(std::uint64_t{});
      if (info.type == ScalarType::kInt64) fill(std::int64_t{});
      if (info.type == ScalarType::kFloat32) fill(float{});
      if (info.type == ScalarType::kFloat64) fill(double{});
    }
    return data;
  }
  template <class T>
  ErasedValues Pack(const std::vector<T>& values) const {
    ErasedValues packed;
    packed.type = right_.type;
    packed.is_vertex = right_.is_vertex;
    packed.name = right_.name;
    packed.bytes = Array<std::byte>(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(packed.bytes.data(), values.data(), packed.bytes.size());
    return packed;
  }
  /// What the verifier says; it may refuse an answer of another length.
  template <class T>
  bool Passes(const std::vector<T>& values, bool of_run) {
    ++asked_;
    try {
      return program_.Verify(graph_, parameters_, Pack(values), of_run ? &statistics_ : nullptr, data_).passed;
    } catch (const UsageError&) {
      return false;
    }
  }
  template <class T>
  std::uint64_t All() {
    if (std::is_floating_point_v<T> && known_.leeway.of_answer == 0 && known_.leeway.absolute == 0) {
      ADD_FAILURE() << "real values: AllKnown() has to say how far they may be off";
      return 0;
    }
    const std::vector<T> right(right_.As<T>().begin(), right_.As<T>().end());
    for (const bool of_run : {true, false}) {
      SCOPED_TRACE(of_run ? "of a run" : "of unknown origin");
      const bool accepted = Passes(right, of_run);
      EXPECT_TRUE(accepted);
      if (!accepted) continue;
      const double real = of_run ? known_.leeway.of_run : known_.leeway.of_answer;
      const double relative = std::is_integral_v<T> ? 0 : real;
      const double absolute = std::is_integral_v<T> ? 0 : known_.leeway.absolute;
      for (VertexId v = 0; v < graph_.vertices(); ++v) {
        for (const T mutant : Mutants(right[v], graph_.vertices(), relative, absolute)) {
          if (!Differs(mutant, right[v], relative, absolute, known_.leeway.of_zero)) continue;
          std::vector<T> spoilt = right;
          spoilt[v] = mutant;
          Expect(spoilt, right, of_run);
        }
        for (VertexId u = 0; u < graph_.vertices(); ++u) {
          if (!Differs(right[u], right[v], relative, absolute, known_.leeway.of_zero)) continue;
          std::vector<T> spoilt = right;
          spoilt[v] = right[u];
          Expect(spoilt, right, of_run);
          spoilt[u] = right[v];
          Expect(spoilt, right, of_run);
        }
        std::vector<T> missing = right, twice = right;
        missing.erase(missing.begin() + v);
        twice.insert(twice.begin() + v, right[v]);
        EXPECT_FALSE(Passes(missing, of_run)) << "without entry " << v;
        EXPECT_FALSE(Passes(twice, of_run)) << "with entry " << v << " twice";
      }
    }
    return asked_;
  }
  template <class T>
  void Expect(const std::vector<T>& spoilt, const std::vector<T>& right, bool of_run) {
    if (known_.right) {
      const std::vector<double> values(spoilt.begin(), spoilt.end());
      const VertexId source = 0;
      EXPECT_EQ(Passes(spoilt, of_run), known_.right(graph_, source, values, of_run)) << Show(spoilt, right);
    } else {
      EXPECT_FALSE(Passes(spoilt, of_run)) << Show(spoilt, right);
    }
  }
  template <class T>
  static std::string Show(const std::vector<T>& spoilt, const std::vector<T>& right) {
    std::string text;
    for (std::size_t v = 0; v < right.size(); ++v) {
      if (spoilt[v] != right[v]) text += fmt::format("entry {}: {} instead of {}; ", v, spoilt[v], right[v]);
    }
    return text;
  }

  const RegisteredProgram& program_;
  const Graph& graph_;
  Known known_;
  ParameterValues parameters_;
  VertexData data_;
  RunStatistics statistics_;
  ErasedValues right_;
  std::uint64_t asked_ = 0;
};

/// All programs of this executable on all graphs.
inline void SpoilEveryAnswer() {
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    SCOPED_TRACE(fmt::format("weights {}", static_cast<int>(kind)));
    const std::vector<std::pair<std::string, Graph>> graphs = MutationGraphs(kind);
    for (const RegisteredProgram* const program : Programs().All()) {
      for (const std::string& value : program->values()) {
        const std::string name = fmt::format("{} {}", program->name(), value);
        SCOPED_TRACE(name);
        if (!program->has_verifier(value)) {
          EXPECT_TRUE(WithoutVerifier().contains(name)) << "a verifier, or the reason in WithoutVerifier(), is missing";
          continue;
        }
        std::set<std::string> variants{name};  // the same value with other parameters
        for (const auto& [known, what] : AllKnown()) {
          if (known.starts_with(name + ' ')) variants.insert(known);
        }
        for (const std::string& variant : variants) {
          std::uint64_t asked = 0;
          for (const auto& [graph_name, graph] : graphs) {
            SCOPED_TRACE(variant + " on " + graph_name);
            asked += Mutation(*program, graph, value, variant).Run();
            if (testing::Test::HasFailure()) return;  // one is enough to read
          }
          EXPECT_GT(asked, 1000u);
        }
      }
    }
  }
}

}  // namespace chatty::test
