/// \file
/// Members that programs of earlier versions had, and what has taken their place. Part of program.h.
#pragma once

#include "chatty/framework/program/member_names.h"

namespace chatty::detail {

// Whether P has such a member. The language gives no list of the names that a struct has.
template <class P>
constexpr bool HasRetiredMember() {
  return (requires { P::kFirstSuffices; }) || (requires { P::kFirstInRowSuffices; }) ||
         (requires { P::kUpdateIsReduction; }) || (requires { P::kMeasureWhenQuiet; }) || (requires { P::kSameAgain; }) ||
         (requires { P::kSummary; }) || (requires { P::kOutputName; }) || (requires { P::kOutputIsVertex; }) ||
         NamesWants<P>() || NamesTakesFresh<P>() || (requires { typename P::Prior; }) || (requires { typename P::AtOnce; });
}

template <class P>
inline constexpr bool kNever = false;

// Fails to compile for the first such member of P, a program of any kind.
template <class P>
constexpr void RejectRetired() {
  if constexpr (requires { P::kFirstSuffices; }) {
    static_assert(kNever<P>,
                  "kFirstSuffices is a hint now: write `static constexpr chatty::Hints kHints{.any_message_suffices = "
                  "true};`, with other hints in the same braces");
  } else if constexpr (requires { P::kFirstInRowSuffices; }) {
    static_assert(kNever<P>,
                  "kFirstInRowSuffices is a hint now: write `static constexpr chatty::Hints kHints{.first_in_row_suffices = "
                  "true};`, with other hints in the same braces");
  } else if constexpr (requires { P::kUpdateIsReduction; }) {
    static_assert(kNever<P>,
                  "kUpdateIsReduction is a hint now: write `static constexpr chatty::Hints kHints{.update_is_reduction = "
                  "true};`, with other hints in the same braces");
  } else if constexpr (requires { P::kMeasureWhenQuiet; }) {
    static_assert(kNever<P>,
                  "kMeasureWhenQuiet is a hint now: write `static constexpr chatty::Hints kHints{.measure_when_quiet = "
                  "true};`, with other hints in the same braces");
  } else if constexpr (requires { P::kSameAgain; }) {
    static_assert(kNever<P>,
                  "kSameAgain is a hint now: write `static constexpr chatty::Hints kHints{.stationary = true};`, with other "
                  "hints in the same braces");
  } else if constexpr (requires { P::kSummary; }) {
    static_assert(kNever<P>,
                  "kSummary is a part of kInfo now: write `static constexpr chatty::Info kInfo{.summary = \"…\"};`, with "
                  "other texts in the same braces");
  } else if constexpr (requires { P::kOutputName; }) {
    static_assert(kNever<P>,
                  "kOutputName is a part of kInfo now: write `static constexpr chatty::Info kInfo{.output_name = \"…\"};`, "
                  "with other texts in the same braces");
  } else if constexpr (requires { P::kOutputIsVertex; }) {
    static_assert(kNever<P>,
                  "kOutputIsVertex is a part of kInfo now: write `static constexpr chatty::Info kInfo{.output_is_vertex = "
                  "true};`, with other texts in the same braces");
  } else if constexpr (NamesWants<P>()) {
    static_assert(kNever<P>,
                  "Wants is called Filter now: write `bool Filter(const Value&) const`, `bool Filter(const Value&, Message) "
                  "const`, or both");
  } else if constexpr (NamesTakesFresh<P>()) {
    static_assert(kNever<P>, "TakesFresh is called AllowsGaussSeidel now: write `bool AllowsGaussSeidel() const`");
  } else if constexpr (requires { typename P::Prior; }) {
    static_assert(kNever<P>, "Prior is called Input now: write `using Input = …;`");
  } else if constexpr (requires { typename P::AtOnce; }) {
    static_assert(kNever<P>, "AtOnce is called FusedWith now: write `using FusedWith = …;`");
  }
}

}  // namespace chatty::detail
