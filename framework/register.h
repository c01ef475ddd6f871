/// \file
/// Makes a registry entry from a program's type. chatty_add_program generates the translation units that include it, one for
/// each program and backend.
#pragma once

#include <fmt/ranges.h>

#include <exception>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>

#include "chatty/core/suggestion.h"
#include "chatty/framework/registration/typed_job.h"

namespace chatty::registration {

template <class P>
concept HasVariants = requires {
  typename P::Variants;
};

template <class P>
struct VariantsOf {
  using type = std::tuple<P>;
};
template <HasVariants P>
struct VariantsOf<P> {
  using type = typename P::Variants;
};

template <class P>
struct DerivedOf {
  using type = std::tuple<>;
};
template <class P>
requires requires { typename P::Derived; }
struct DerivedOf<P> {
  using type = typename P::Derived;
};

/// The registry's entry for P, its variants and their derived programs.
template <class P, class Backends>
class Entry final : public RegisteredProgram {
  using Variants = typename VariantsOf<P>::type;
  using Representative = std::tuple_element_t<0, Variants>;
  static constexpr bool kTotals = requires(std::span<const ResultOf<Representative>> values) {
    Representative::Total(values);
  };
  static_assert(!kTotals || std::tuple_size_v<Variants> == 1, "variants may have values of different types");

 public:
  explicit Entry(std::string name) : name_(std::move(name)) { detail::RejectRetired<Representative>(); }
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return InfoOf<Representative>().summary; }
  std::vector<ParameterInfo> parameters() const override {
    std::vector<ParameterInfo> all;
    if constexpr (requires { Representative::kParameters; }) {
      const Representative defaults{};
      std::apply(
          [&](const auto&... parameter) {
            (all.push_back({parameter.name, parameter.help, fmt::format("{}", defaults.*(parameter.member)),
                            std::string_view(parameter.name) == "source"}),
             ...);
          },
          Representative::kParameters);
    }
    return all;
  }
  std::vector<VertexDataInfo> vertex_data() const override {
    std::vector<VertexDataInfo> all;
    if constexpr (!OperatorProgram<Representative>) {
      if constexpr (Traits<Representative>::kHasData) {
        const auto add = [&]<class T>(const VertexDatum<DataOf<Representative>, T>& datum) {
          all.push_back({datum.name,
                         datum.help,
                         ScalarTypeOf<T>(),
                         datum.presence == Presence::kRequired,
                         datum.missing == Missing::kRefused,
                         {}});
          std::istringstream names(datum.instead_of);
          for (std::string one; names >> one;) all.back().instead_of.push_back(one);
        };
        std::apply([&](const auto&... datum) { (add(datum), ...); }, Representative::kVertexData);
      }
    }
    return all;
  }
  std::vector<std::string> values() const override {
    std::vector<std::string> names{OutputName<Representative>()};
    std::apply([&](auto... derived) { (names.push_back(OutputName<typename decltype(derived)::type>()), ...); },
               typename DerivedOf<Representative>::type{});
    return names;
  }
  bool traverses() const override {
    if constexpr (OperatorProgram<Representative> || SequenceProgram<Representative>) {
      return false;
    } else {
      using T = Traits<Representative>;
      return !T::kEveryRound && !T::kCounts && T::kSafety != Safety::kAccumulative;
    }
  }
  std::string_view safety() const override {
    if constexpr (OperatorProgram<Representative>) {
      return "operators";
    } else if constexpr (SequenceProgram<Representative>) {
      return "sequence";
    } else {
      switch (Representative::kSafety) {
        case Safety::kSynchronous:
          return "synchronous";
        case Safety::kMonotone:
          return "monotone";
        case Safety::kAccumulative:
          return "accumulative";
      }
      return "";
    }
  }
  std::string_view reduction() const override {
    if constexpr (OperatorProgram<Representative> || SequenceProgram<Representative>) {
      return "-";
    } else {
      switch (Representative::kReduction) {
        case Reduction::kMin:
          return "min";
        case Reduction::kMax:
          return "max";
        case Reduction::kSum:
          return "sum";
        case Reduction::kOr:
          return "or";
        case Reduction::kCustom:
          return "custom";
        case Reduction::kCount:
          return "count";
        default:  // no program has it
          return "";
      }
      return "";
    }
  }
  std::unique_ptr<RegisteredJob> Prepare(Session& session, const ParameterValues& parameters, std::string_view value,
                                         const RunOptions& options) const override try {
    std::unique_ptr<RegisteredJob> job;
    VisitJob(session, parameters, value, options, [&]<class Made, class V>(const V& program, std::string name) {
      job = std::make_unique<Made>(session, program, std::move(name), options);
    });
    return job;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing a program");
  }
  RunPlan Plan(Session& session, const ParameterValues& parameters, std::string_view value,
               const RunOptions& options) const override try {
    RunPlan plan;
    VisitJob(session, parameters, value, options, [&]<class Made, class V>(const V& program, const std::string&) {
      plan = Made::Plan(session, program, options);
    });
    return plan;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("planning a run");
  }
  void Check(const ParameterValues& parameters) const override {
    OfAnyVariant([&]<class V>(std::type_identity<V>) {
      V program{};
      for (const auto& [name, text] : parameters) SetParameter(&program, name, text);
      CheckParameters(program);
    });
  }
  void CheckOptions(std::string_view value, const RunOptions& options, std::size_t devices) const override {
    OfAnyVariant([&]<class V>(std::type_identity<V>) {
      VisitValue<V>(value, [&]<class W, class D>(const std::string&) {
        for (const ProgramOfRun& program : TypedJob<W, D, Backends>::Programs(W{}, options, devices)) {
          CheckProgramOptions(program, devices);
        }
      });
    });
  }
  std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value, const RunOptions& options,
                                                 std::size_t devices) const override {
    std::vector<std::vector<ProgramMemory>> alternatives;
    const auto add = [&]<class V, class D>(const std::string&) {
      alternatives.push_back(TypedJob<V, D, Backends>::Memory(V{}, options, devices));
    };
    if (graph != nullptr) {
      Visit(*graph, value, add);
    } else {
      OfAnyVariant([&]<class V>(std::type_identity<V>) { VisitValue<V>(value, add); });
    }
    return alternatives;
  }
  Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                 const RunStatistics* statistics, const VertexData& data) const override try {
    return VerifyBy(graph, parameters, values, statistics, {0, parameters.contains("rounds")}, data);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("verifying an answer");
  }
  Verdict VerifyAnswer(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values, double tolerance,
                       const VertexData& data) const override try {
    return VerifyBy(graph, parameters, values, nullptr, {tolerance, parameters.contains("rounds")}, data);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("verifying an answer");
  }
  bool has_verifier(std::string_view value) const override {
    return AnyHas(value, []<class V>(std::type_identity<V>) { return kVerifies<V>; });
  }
  bool takes_tolerance(std::string_view value) const override {
    return AnyHas(
        value, []<class V>(std::type_identity<V>) { return std::is_floating_point_v<ResultOf<V>> && kVerifiesByRules<V>; });
  }
  std::string LimitReason(const ParameterValues& parameters) const override {
    if constexpr (requires(const Representative program) { program.LimitReason(); }) {
      Representative program{};
      for (const auto& [name, text] : parameters) SetParameter(&program, name, text);
      return program.LimitReason();
    } else {
      return RegisteredProgram::LimitReason(parameters);
    }
  }
  bool has_total() const override { return kTotals; }
  std::uint64_t Total(const ErasedValues& values) const override {
    if constexpr (kTotals) {
      return Representative::Total(values.template As<ResultOf<Representative>>());
    } else {
      return RegisteredProgram::Total(values);
    }
  }
  ErasedValues OutputShape(const Graph& graph, std::string_view value) const override {
    ErasedValues shape;
    Visit(graph, value, [&]<class V, class D>(std::string name) {
      shape = Shape<std::conditional_t<std::is_void_v<D>, V, D>>(std::move(name));
    });
    return shape;
  }

 private:
  /// Calls body<a TypedJob>(program, name of its value) for the job that computes `value` in this session.
  template <class Body>
  void VisitJob(const Session& session, const ParameterValues& parameters, std::string_view value, const RunOptions& options,
                Body&& body) const {
    Visit(session.graph(), value, [&]<class V, class D>(std::string name) {
      const V program = Configure<V>(session.graph(), parameters);
      using A = typename FusedWithOf<D, Backends>::type;
      if constexpr (!std::is_void_v<A>) {
        if (RunsFused(session.devices()[0]->kind(), session.device_count(), options)) {
          body.template operator()<TypedJob<A, void, Backends>>(A(program), std::move(name));
          return;
        }
      }
      body.template operator()<TypedJob<V, D, Backends>>(program, std::move(name));
    });
  }
  template <class V, class D>
  Verdict VerifyAs(const Graph& graph, const V& program, const ErasedValues& values, const RunStatistics* statistics,
                   const AnswerRules& rules, const VertexData& given) const {
    if constexpr (!std::is_void_v<D>) {
      return VerifyAs<D, void>(graph, D(program), values, statistics, rules, given);
    } else {
      using Answer = ResultOf<V>;
      if (values.type != ScalarTypeOf<Answer>() || values.size() != graph.vertices()) {
        Throw<UsageError>(
            "program '{}' computes one {}-byte number for each of {} vertices; these values have another type or number",
            name_, sizeof(Answer), graph.vertices());
      }
      const std::span<const Answer> answer = values.template As<Answer>();
      if constexpr (!OperatorProgram<V>) {
        if constexpr (Traits<V>::kHasData) {  // the verifier takes the data, too
          const Array<DataOf<V>> all = AssembleVertexData<V>(graph, program, given);
          const std::span<const DataOf<V>> data = all.span();
          if (statistics == nullptr) {
            if constexpr (requires { program.VerifyAnswer(graph, answer, data); })
              return program.VerifyAnswer(graph, answer, data);
          }
          if constexpr (requires { program.Verify(graph, answer, data); }) {
            return program.Verify(graph, answer, data);
          } else if constexpr (requires { program.Verify(graph, answer, data, *statistics); }) {
            return program.Verify(graph, answer, data, statistics != nullptr ? *statistics : RunStatistics{});
          }
        }
      }
      if (statistics == nullptr) {
        if constexpr (kVerifiesByRules<V>) {
          return program.VerifyAnswer(graph, answer, rules);
        } else if constexpr (requires { program.VerifyAnswer(graph, answer); }) {
          return program.VerifyAnswer(graph, answer);
        }
      }
      if constexpr (requires { program.Verify(graph, answer); }) {
        return program.Verify(graph, answer);
      } else if constexpr (requires { program.Verify(graph, answer, *statistics); }) {
        return program.Verify(graph, answer, statistics != nullptr ? *statistics : RunStatistics{});
      } else {
        Throw<UsageError>("program '{}' has no verifier", name_);
      }
    }
  }
  Verdict VerifyBy(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                   const RunStatistics* statistics, const AnswerRules& rules, const VertexData& data) const {
    Verdict verdict;
    Visit(graph, values.name, [&]<class V, class D>(const std::string&) {
      static_cast<void>(verdict = VerifyAs<V, D>(graph, Configure<V>(graph, parameters), values, statistics, rules, data));
    });
    return verdict;
  }
  /// Whether has(type) is true for the program that computes `value`, for any variant.
  template <class Has>
  bool AnyHas(std::string_view value, Has&& has) const {
    bool any = false;
    OfAnyVariant([&]<class V>(std::type_identity<V>) {
      VisitValue<V>(value, [&]<class W, class D>(const std::string&) {
        any = any || has(std::type_identity<std::conditional_t<std::is_void_v<D>, W, D>>{});
      });
    });
    return any;
  }

  /// Calls body(variant) for each variant, because the choice depends on a graph that is not loaded yet. Throws the first
  /// variant's exception if all variants throw.
  template <class Body>
  static void OfAnyVariant(Body&& body) {
    std::exception_ptr first;
    bool any = false;
    const auto one = [&]<class V>(std::type_identity<V> variant) {
      try {
        body(variant);
        any = true;
      } catch (const UsageError&) {
        if (!first) first = std::current_exception();
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) { (one(std::type_identity<std::tuple_element_t<I, Variants>>{}), ...); }
    (std::make_index_sequence<std::tuple_size_v<Variants>>{});
    if (!any) std::rethrow_exception(first);
  }
  /// Calls body<Variant, Derived or void>(value name) for the graph's variant and the program that computes `value`.
  template <class Body>
  void Visit(const Graph& graph, std::string_view value, Body&& body) const {
    std::size_t chosen = 0;
    if constexpr (HasVariants<P>) chosen = P::Choose(graph);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == chosen ? VisitValue<std::tuple_element_t<I, Variants>>(value, body) : void()), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Variants>>{});
  }
  template <class V, class Body>
  void VisitValue(std::string_view value, Body&& body) const {
    if (value.empty() || value == OutputName<V>()) {
      body.template operator()<V, void>(OutputName<V>());
      return;
    }
    bool found = false;
    std::apply(
        [&](auto... derived) {
          [[maybe_unused]] const auto one = [&]<class D>(std::type_identity<D>) {
            if (value != OutputName<D>()) return;
            found = true;
            body.template operator()<V, D>(OutputName<D>());
          };
          (one(derived), ...);
        },
        typename DerivedOf<V>::type{});
    if (!found) {
      Throw<UsageError>("program '{}' has no value '{}'{}; it has {}", name_, value, DidYouMean(value, values()),
                        fmt::join(values(), ", "));
    }
  }

  std::string name_;
};

}  // namespace chatty::registration

/// Defines the functions that a generated registry calls. Used by generated files only.
#define CHATTY_REGISTER_HOST(name, ...)                                                                   \
  namespace chatty {                                                                                      \
  void RegisterProgram_##name##_host(Registry& registry);                                                 \
  void RegisterProgram_##name##_host(Registry& registry) {                                                \
    registry.Add(DeviceKind::kHost, std::make_unique<registration::Entry<__VA_ARGS__, HostOnly>>(#name)); \
  }                                                                                                       \
  }
#define CHATTY_REGISTER_CUDA(name, ...)                                                                   \
  namespace chatty {                                                                                      \
  void RegisterProgram_##name##_cuda(Registry& registry);                                                 \
  void RegisterProgram_##name##_cuda(Registry& registry) {                                                \
    registry.Add(DeviceKind::kCuda, std::make_unique<registration::Entry<__VA_ARGS__, CudaOnly>>(#name)); \
  }                                                                                                       \
  }
