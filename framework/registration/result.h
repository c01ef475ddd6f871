/// \file
/// What a registered program computes: the type and name of its values, and whether it can verify them.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/registry.h"

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
std::string OutputName() {
  return InfoOf<P>().output_name;
}

template <class P>
ErasedValues Shape(std::string name) {
  ErasedValues shape;
  shape.type = ScalarTypeOf<ResultOf<P>>();
  shape.is_vertex = InfoOf<P>().output_is_vertex;
  shape.may_be_unreached = InfoOf<P>().output_may_be_unreached;
  shape.name = std::move(name);
  return shape;
}

}  // namespace chatty::registration
