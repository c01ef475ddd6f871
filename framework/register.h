/// \file
/// Makes a registry entry from a program's type. chatty_add_program generates the translation units that include it, one for
/// each program and backend.
#pragma once

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>

#include "chatty/core/suggestion.h"
#include "chatty/framework/derived.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/typed_program.h"

namespace chatty::registration {

template <class T>
constexpr ScalarType ScalarTypeOf() {
  if constexpr (std::is_same_v<T, float>) {
    return ScalarType::kFloat32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ScalarType::kFloat64;
  } else if constexpr (std::is_same_v<T, None>) {
    return ScalarType::kUint32;  // for an invalid program, on which CheckProgram reports an error
  } else {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "a registered program's Output is a 4- or 8-byte number; give it an Output member that returns one");
    return sizeof(T) == 4 ? (std::is_signed_v<T> ? ScalarType::kInt32 : ScalarType::kUint32)
                          : (std::is_signed_v<T> ? ScalarType::kInt64 : ScalarType::kUint64);
  }
}

template <class P>
struct ResultOfImpl {
  using type = OutputOf<P>;
};
template <class P>
requires(OperatorProgram<P> || SequenceProgram<P>) struct ResultOfImpl<P> {
  using type = typename P::Output;
};
template <class P>
using ResultOf = typename ResultOfImpl<P>::type;

/// Whether P has a verifier that takes vertex data.
template <class P>
constexpr bool VerifiesWithData() {
  if constexpr (requires { typename P::Data; }) {
    return requires(const P& program, const Graph& graph, std::span<const ResultOf<P>> answer,
                    std::span<const typename P::Data> data) {
      program.Verify(graph, answer, data);
    }
    || requires(const P& program, const Graph& graph, std::span<const ResultOf<P>> answer,
                std::span<const typename P::Data> data, const RunStatistics& statistics) {
      program.Verify(graph, answer, data, statistics);
    };
  } else {
    return false;
  }
}
/// Whether P has a verifier, and whether its VerifyAnswer takes AnswerRules.
template <class P>
inline constexpr bool kVerifies = requires(const P& program, const Graph& graph, std::span<const ResultOf<P>> answer,
                                           const RunStatistics& statistics) {
  program.Verify(graph, answer);
}
|| requires(const P& program, const Graph& graph, std::span<const ResultOf<P>> answer, const RunStatistics& statistics) {
  program.Verify(graph, answer, statistics);
}
|| VerifiesWithData<P>();
template <class P>
inline constexpr bool kVerifiesByRules = requires(const P& program, const Graph& graph, std::span<const ResultOf<P>> answer,
                                                  const AnswerRules& rules) {
  program.VerifyAnswer(graph, answer, rules);
};

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

/// The FusedWith of D, a derived program or void, if it is applicable; otherwise void.
template <class D, class Backends>
struct FusedWithOf {
  using type = void;
};
template <class D, class Backends>
requires(kHasHost<Backends>&& requires { typename D::FusedWith; }) struct FusedWithOf<D, Backends> {
  using type = std::conditional_t<fused::host::kRunsInPlace<typename D::FusedWith>, typename D::FusedWith, void>;
};
/// Whether FusedWith runs on so many devices of this kind.
inline bool RunsFused(DeviceKind kind, std::size_t devices, const RunOptions& options) {
  return kind == DeviceKind::kHost && devices == 1 && options.execution != Execution::kAsync;
}

/// Parses a parameter with the default `preset` from text. Throws UsageError, also for a number that is not finite unless
/// the default is not finite either: few programs support one.
template <class T>
void ParseParameter(std::string_view name, std::string_view text, [[maybe_unused]] T preset, T* value) {
  T parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw<UsageError>("parameter {}: '{}' is not a {} that fits", name, text,
                      std::is_floating_point_v<T> ? "number" : "whole number");
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(parsed) || (!std::isfinite(parsed) && std::isfinite(preset))) {
      Throw<UsageError>("parameter {}: '{}' is not a finite number", name, text);
    }
  }
  *value = parsed;
}

template <class P>
void SetParameter(P* program, std::string_view name, std::string_view text) {
  bool found = false;
  std::string names;
  if constexpr (requires { P::kParameters; }) {
    std::apply(
        [&](const auto&... parameter) {
          const auto one = [&](const auto& p) {
            names += names.empty() ? p.name : fmt::format(", {}", p.name);
            if (name != p.name) return;
            ParseParameter(name, text, P{}.*p.member, &(program->*p.member));
            found = true;
          };
          (one(parameter), ...);
        },
        P::kParameters);
  }
  if (!found) {
    Throw<UsageError>("the program has no parameter '{}'; it has {}", name, names.empty() ? "none" : names);
  }
}

template <class P>
P Configure(const Graph& graph, const ParameterValues& parameters) {
  P program{};
  for (const auto& [name, text] : parameters) SetParameter(&program, name, text);
  CheckProgramInput(graph, program);
  return program;
}

template <class P>
std::string OutputName() {
  return InfoOf<P>().output_name;
}

template <class P>
ErasedValues Shape(std::string name) {
  ErasedValues shape;
  shape.type = ScalarTypeOf<ResultOf<P>>();
  shape.is_vertex = InfoOf<P>().output_is_vertex;
  shape.name = std::move(name);
  return shape;
}

/// The type of P's job.
template <class P, class Backends>
struct JobFor {
  using type = Job;
};
template <OperatorProgram P, class Backends>
struct JobFor<P, Backends> {
  using type = OperatorJob<P, Backends>;
};
template <SequenceProgram P, class Backends>
struct JobFor<P, Backends> {
  using type = SequenceJob<P, Backends>;
};

/// Executes P and, if it is not void, the program D derived from it.
template <class P, class D, class Backends>
class TypedJob final : public RegisteredJob {
 public:
  using Final = std::conditional_t<std::is_void_v<D>, P, D>;
  using First = typename JobFor<P, Backends>::type;

  TypedJob(Session& session, const P& program, std::string value_name, const RunOptions& options)
      : session_(&session),
        program_(program),
        value_name_(std::move(value_name)),
        plan_(Plan(session, program, options)),  // for both programs, before either allocates
        options_(plan_.Fitted(options)) {
    Rebuild();
  }
  /// The plan of P, and of D after it.
  static RunPlan Plan(Session& session, const P& program, const RunOptions& options) {
    return PlanRun(session, options, [&](const RunOptions& run) { return Programs(program, run); });
  }
  /// P, and D after it. Throws UsageError for a direction or an execution that either does not support.
  static std::vector<ProgramOfRun> Programs(const P& program, const RunOptions& options) {
    std::vector<ProgramOfRun> programs;
    if constexpr (OperatorProgram<P>) {
      static_cast<void>(PlanProgram(nullptr, options));
      programs.push_back({OutputName<P>(), nullptr, OperatorMemory<P>(), options});
    } else if constexpr (SequenceProgram<P>) {
      programs = ProgramsOfSequence<P, Backends>(options);
    } else {
      auto typed = std::make_shared<TypedProgram<P, Backends>>(program);
      ProgramMemory memory = MemoryOf(typed, options);
      programs.push_back({OutputName<P>(), std::move(typed), std::move(memory), options});
    }
    if constexpr (!std::is_void_v<D>) {
      auto typed = std::make_shared<TypedProgram<D, Backends>>(D(program));
      RunOptions derived = DerivedOptions(options);
      ProgramMemory memory = MemoryOf(typed, derived);
      programs.push_back({OutputName<D>(), std::move(typed), std::move(memory), std::move(derived)});
    }
    return programs;
  }
  /// The memory facts of P, and of D after it.
  static std::vector<ProgramMemory> Memory(const P& program, const RunOptions& options) {
    std::vector<ProgramMemory> memory;
    for (ProgramOfRun& one : Programs(program, options)) memory.push_back(std::move(one.memory));
    using A = typename FusedWithOf<D, Backends>::type;
    if constexpr (!std::is_void_v<A>) {
      const auto in_place_of = [&options](auto both, auto instead) {
        return [both = std::move(both), instead = std::move(instead), options](DeviceKind kind, int threads,
                                                                               const PartShape& part) {
          return RunsFused(kind, part.parts, options) ? instead(kind, threads, part) : both(kind, threads, part);
        };
      };
      const ProgramMemory alone = MemoryOf(std::make_shared<TypedProgram<A, Backends>>(A(program)), options);
      memory[0].state = in_place_of(std::move(memory[0].state), alone.state);
      memory[1].state =
          in_place_of(std::move(memory[1].state), [](DeviceKind, int, const PartShape&) { return std::uint64_t{0}; });
    }
    return memory;
  }
  RunStatistics Execute() override try {
    followed_ = false;
    RunStatistics statistics = first_->Execute();
    if constexpr (!std::is_void_v<D>) {
      followed_ = true;
      if constexpr (SequenceProgram<P>) {
        statistics += second_->Execute(first_->last());
      } else {
        statistics += second_->Execute(first_.get());
      }
    }
    return statistics;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running a program");
  }
  const RunPlan& plan() const override { return plan_; }
  RunStatistics statistics() const override {
    RunStatistics statistics = first_->statistics();
    if (followed_) statistics += second_->statistics();
    return statistics;
  }
  ErasedValues Output() override try {
    ErasedValues values = Shape<Final>(value_name_);
    values.bytes = Array<std::byte>(session_->graph().vertices() * SizeOf(values.type));
    if constexpr (std::is_void_v<D>) {
      first_->CopyOutput(values.bytes.data());
    } else {
      second_->CopyOutput(values.bytes.data());
    }
    if constexpr (requires { Final::CheckOutput(values.As<ResultOf<Final>>()); })
      Final::CheckOutput(values.As<ResultOf<Final>>());
    return values;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("copying out values");
  }
  void Set(std::string_view name, std::string_view value) override try {
    P changed = program_;
    SetParameter(&changed, name, value);
    CheckProgramInput(session_->graph(), changed);
    program_ = changed;
    Rebuild();
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing a program");
  }

 private:
  /// Options for the derived program. A direction and an execution apply to the named program only, if the derived one does
  /// not support them.
  static RunOptions DerivedOptions(RunOptions options) {
    if constexpr (!std::is_void_v<D>) {
      if constexpr (!Traits<D>::kHasData) options.vertex_data.clear();
      if (!AsynchronousProgram<D> && options.execution == Execution::kAsync) options.execution = Execution::kAuto;
      if (!Traits<D>::kCanPush && options.direction == Direction::kPush) options.direction = Direction::kAuto;
    }
    return options;
  }
  void Rebuild() {
    if constexpr (OperatorProgram<P>) {
      if (first_ == nullptr) {
        first_ = std::make_unique<First>(*session_, program_, options_, plan_.programs.front());
      } else {
        first_->SetProgram(program_);
      }
    } else if constexpr (SequenceProgram<P>) {
      if (first_ == nullptr) {
        first_ = std::make_unique<First>(*session_, program_, options_);
      } else {
        first_->SetProgram(program_);
      }
    } else if (first_ == nullptr) {
      first_ = session_->Prepare(std::make_shared<TypedProgram<P, Backends>>(program_), options_, plan_.programs.front());
    } else {
      first_->SetProgram(std::make_shared<TypedProgram<P, Backends>>(program_));
    }
    if constexpr (!std::is_void_v<D>) {
      auto derived = std::make_shared<TypedProgram<D, Backends>>(D(program_));
      if (second_ == nullptr) {
        second_ = session_->Prepare(std::move(derived), DerivedOptions(options_), plan_.programs.back());
      } else {
        second_->SetProgram(std::move(derived));
      }
    }
  }
  struct None {};
  Session* session_;
  P program_;
  std::string value_name_;
  RunPlan plan_;
  RunOptions options_;
  std::unique_ptr<First> first_;
  std::unique_ptr<Job> second_;
  bool followed_ = false;  // second_ was executed after first_
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
  explicit Entry(std::string name) : name_(std::move(name)) { detail::TellOfRetired<Representative>(); }
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
      return !Traits<Representative>::kEveryRound && !Traits<Representative>::kCounts;
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
  std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value,
                                                 const RunOptions& options) const override {
    std::vector<std::vector<ProgramMemory>> alternatives;
    const auto add = [&]<class V, class D>(const std::string&) {
      alternatives.push_back(TypedJob<V, D, Backends>::Memory(V{}, options));
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
