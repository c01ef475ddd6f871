/// \file
/// One sentence for each fault of a program, where it is compiled. Part of program.h.
#pragma once

#include "chatty/framework/program/faults.h"

namespace chatty {

/// For a program that does not fit, fails to compile with one sentence, about its first fault. Returns whether P fits.
/// Callers then skip code whose errors would follow from that fault.
template <class P>
constexpr bool CheckProgram() {
  using detail::Fault;
  constexpr Fault kFault = detail::FindFault<P>();
  // One at a time: a change that corrects the first often corrects the next, and the sentence is on the first line of
  // output.
  static_assert(kFault != Fault::kProgramNotPlain,
                "a vertex program is copied to devices by value: it is a struct that holds plain parameters only (no "
                "std::string, no std::vector, no virtual functions)");
  if constexpr (kFault == Fault::kRetired) detail::RejectRetired<P>();
  if constexpr (kFault == Fault::kMisspelt) detail::RejectMisspelling<P>();
  static_assert(kFault != Fault::kNoValue, "a vertex program has a public `using Value = …;`, what a vertex keeps");
  static_assert(kFault != Fault::kNoMessage, "a vertex program has a public `using Message = …;`, what an edge carries");
  static_assert(kFault != Fault::kNotStatic,
                "what is called kReduction, kSafety, kIdentity, kEdges, kActivity, kHints, kInfo or kParameters is a "
                "constant of the program's type: write `static constexpr` before it");
  static_assert(kFault != Fault::kHintsUnfit,
                "kHints is not a chatty::Hints: write `static constexpr chatty::Hints kHints{.any_message_suffices = "
                "true};`, with the promises that the program makes");
  static_assert(
      kFault != Fault::kInfoUnfit,
      "kInfo is not a chatty::Info: write `static constexpr chatty::Info kInfo{.summary = \"…\", .output_name = \"…\"};`");
  static_assert(kFault != Fault::kNoReduction,
                "a vertex program has `static constexpr auto kReduction = chatty::Reduction::…;`, how two messages to one "
                "vertex become one: kMin, kMax, kSum, kOr, kCustom or kCount");
  static_assert(
      kFault != Fault::kReductionAny,
      "kReduction = kAny is gone: write kMin, and `static constexpr chatty::Hints kHints{.any_message_suffices = true};`");
  static_assert(kFault != Fault::kReductionCollect,
                "kReduction = kCollect is gone: write kCount, and chatty::Counts<Message> in place of "
                "chatty::Messages<Message>: each different message once, with its number, in no order");
  static_assert(kFault != Fault::kNoSafety,
                "a vertex program has `static constexpr auto kSafety = chatty::Safety::…;`, a promise about the order of "
                "updates: kSynchronous if it makes none, kMonotone or kAccumulative");
  static_assert(kFault != Fault::kValueNotPlain,
                "Value must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(kFault != Fault::kMessageNotPlain,
                "Message must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(kFault != Fault::kSharedNotPlain,
                "Shared must be trivially copyable and default constructible, for it is moved as bytes: no std::vector, no "
                "std::string, nothing that owns memory");
  static_assert(
      kFault != Fault::kPointer,
      "Value, Message and Shared hold no pointers: they are copied to other devices, where an address means nothing; "
      "keep an id or the data itself");
  static_assert(kFault != Fault::kDataNotPlain,
                "Data must be trivially copyable and default constructible: it is moved as bytes, and vertices without an "
                "entry get what `Data{}` has");
  static_assert(kFault != Fault::kDataNotListed,
                "the program has a Data, and nothing fills it: name its members in `static constexpr auto kVertexData = "
                "std::make_tuple(chatty::VertexDatum{\"name\", &Data::member, \"what it is\"}, …);`");
  static_assert(kFault != Fault::kVertexDataWithoutData,
                "the program has a kVertexData, and no `struct Data { … };` whose members it names");
  static_assert(
      kFault != Fault::kVertexDataUnfit,
      "kVertexData has to be a std::make_tuple of chatty::VertexDatum{\"name\", &Data::member, \"what it is\"}, of "
      "members of the program's Data alone");
  static_assert(
      kFault != Fault::kVertexDataType,
      "kVertexData names members of Data that are std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float or "
      "double: what an array of a file may hold");
  static_assert(kFault != Fault::kWeight, "Weight is float or std::int32_t; a program without weights leaves it out");
  static_assert(kFault != Fault::kGlobalNotPlain,
                "Global must be trivially copyable and default constructible: it is moved as bytes, and `Global{}` is its "
                "identity");
  static_assert(kFault != Fault::kGlobalSize,
                "Global is larger than 64 bytes: measure fewer sums, or spread them over phases");
  static_assert(kFault != Fault::kMessageSize,
                "Message is larger than 16 bytes: send less, or split it over two phases (at most 8 bytes are pushed or "
                "pulled, 9 to 16 are pulled)");
  static_assert(kFault != Fault::kMonotoneSize,
                "Message is larger than 8 bytes, but kSafety = kMonotone promises asynchronous updates, which are atomic on "
                "at most 8: send less, or say kSynchronous");
  static_assert(
      kFault != Fault::kAccumulativeSize,
      "Message is larger than 8 bytes, but kSafety = kAccumulative promises asynchronous updates, which are atomic "
      "on at most 8: send less, or say kSynchronous");
  static_assert(kFault != Fault::kShareUnfit,
                "the program has a Share that does not fit: `Shared Share(const Value&, chatty::Vertex) const`, with `using "
                "Shared = …;` for what it returns");
  static_assert(kFault != Fault::kConsumeUnfit,
                "the program has a Consume that does not fit: `Shared Consume(Value&, chatty::Vertex) const`, with `using "
                "Shared = …;` for what it returns");
  static_assert(kFault != Fault::kSharedFromNowhere,
                "the program names a Shared, and nothing makes one: add `Shared Share(const Value&, chatty::Vertex) const`");
  static_assert(kFault != Fault::kSharedSize,
                "Shared is larger than 16 bytes: give the program a `Share` that returns only what neighbours need (without "
                "one, they see the whole Value)");
  static_assert(kFault != Fault::kNoInitVertex,
                "a vertex program has a public `Value InitVertex(chatty::Vertex) const` (or, with `using Input = …;`, "
                "`InitVertex(chatty::Vertex, const Input&) const`)");
  static_assert(kFault != Fault::kInitVertexNotConst,
                "InitVertex lacks a const: `Value InitVertex(chatty::Vertex) const`; many threads share one program");
  static_assert(kFault != Fault::kInitVertexUnfit,
                "the program has an InitVertex that does not fit: `Value InitVertex(chatty::Vertex) const` (or, with `using "
                "Input = …;`, `InitVertex(chatty::Vertex, const Input&) const`); a program with a Data may take a `const "
                "Data&` as the last parameter");
  static_assert(kFault != Fault::kNoComputeScatter,
                "a vertex program has a public `Message ComputeScatter(const Shared&, chatty::Edge<Weight>, const "
                "chatty::Round<Global>&) const`, whose Round may be left out; Shared is Value, Weight and Global are "
                "chatty::None unless the program names others");
  static_assert(kFault != Fault::kComputeScatterNotConst,
                "ComputeScatter lacks a const: `Message ComputeScatter(…) const`; many threads share one program");
  static_assert(
      kFault != Fault::kComputeScatterUnfit,
      "the program has a ComputeScatter that does not fit: `Message ComputeScatter(const Shared&, chatty::Edge<Weight>, "
      "const chatty::Round<Global>&) const`, whose Round may be left out, where Shared is what `Share` returns, or Value "
      "without one, and Weight and Global are chatty::None unless the program names others");
  static_assert(kFault != Fault::kNoComputeReduce,
                "kReduction = kCustom needs `Message ComputeReduce(Message, Message) const`, associative and commutative");
  static_assert(kFault != Fault::kComputeReduceNotConst,
                "ComputeReduce lacks a const: `Message ComputeReduce(Message, Message) const`; many threads share one "
                "program");
  static_assert(kFault != Fault::kComputeReduceUnfit,
                "the program has a ComputeReduce that does not fit: `Message ComputeReduce(Message, Message) const`");
  static_assert(kFault != Fault::kComputeReduceUnused,
                "the program has a ComputeReduce, which only kReduction = kCustom calls: say kCustom, or remove it");
  static_assert(kFault != Fault::kNoIdentity,
                "kReduction = kCustom needs `static constexpr Message kIdentity = …;`, the message that changes nothing");
  static_assert(kFault != Fault::kArithmetic,
                "kMin, kMax and kSum reduce messages that are numbers; for a struct use kCustom with ComputeReduce and "
                "kIdentity");
  static_assert(kFault != Fault::kIntegral, "kOr reduces messages that are integers");
  static_assert(kFault != Fault::kCountMessage, "kReduction = kCount counts messages that are integers of 4 or 8 bytes");
  static_assert(kFault != Fault::kCountSafety,
                "kReduction = kCount sees all messages of a round, so kSafety must be kSynchronous");
  static_assert(
      kFault != Fault::kNoUpdateStatus,
      "a vertex program has a public `bool UpdateStatus(Value&, Message, chatty::Vertex, const chatty::Round<Global>&) "
      "const` (with kCount, chatty::Counts<Message> in place of Message); the Round may be left out");
  static_assert(
      kFault != Fault::kUpdateStatusNotConst,
      "UpdateStatus lacks a const: `bool UpdateStatus(…) const`; what changes is the Value, not the program, which "
      "many threads share");
  static_assert(kFault != Fault::kCountUpdateUnfit,
                "kReduction = kCount needs `bool UpdateStatus(Value&, chatty::Counts<Message>, chatty::Vertex, const "
                "chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kUpdateStatusUnfit,
                "the program has an UpdateStatus that does not fit: `bool UpdateStatus(Value&, Message, chatty::Vertex, "
                "const chatty::Round<Global>&) const`, whose Round may be left out; a program with a Data may take a `const "
                "Data&` as the last parameter");
  static_assert(kFault != Fault::kUpdateStatusReturn,
                "UpdateStatus returns a bool: whether the vertex sends in the next round");
  static_assert(kFault != Fault::kUpdateStatusCopies,
                "UpdateStatus changes the value in place: it takes a `Value&`, not a copy and not a const reference");
  static_assert(
      kFault != Fault::kDataUnused,
      "the program has a Data that no member takes: InitVertex, UpdateStatus and IsActive may take a `const Data&` "
      "as their last parameter");
  static_assert(
      kFault != Fault::kPrepareDataUnfit,
      "the program has a PrepareData that does not fit and would never be called: `void PrepareData(const "
      "chatty::Graph&, std::span<Data>, std::span<const std::string_view> given) const`, of a program with a Data");
  static_assert(
      kFault != Fault::kAnyMessageSuffices,
      "the hint any_message_suffices says that one message stands for all of a round; kSum and kCount need them all");
  static_assert(kFault != Fault::kFirstInRowSuffices,
                "the hint first_in_row_suffices says that the wanted message of the least source stands for all of a round; "
                "kSum and kCount need them all");
  static_assert(kFault != Fault::kRoundMessage,
                "RoundMessage has to be `Message RoundMessage(const chatty::Round<Global>&) const`, whose Round may be left "
                "out, of a program with the hint any_message_suffices and messages of at most 8 bytes, without kEveryRound, "
                "Consume and Filter(value, message)");
  static_assert(kFault != Fault::kNoConsume,
                "kSafety = kAccumulative needs `Shared Consume(Value&, chatty::Vertex) const`, which takes the residual");
  static_assert(kFault != Fault::kAccumulativeReduction,
                "kSafety = kAccumulative promises that nothing is lost, and this kReduction drops messages: it is kSum, or "
                "a kCustom that adds");
  static_assert(
      kFault != Fault::kFilterUnfit,
      "the program has a Filter that does not fit and would never be called: `bool Filter(const Value&) const`, `bool "
      "Filter(const Value&, Message) const`, or both");
  static_assert(kFault != Fault::kConsumeFilter,
                "a program with Consume has no Filter: while some vertices give their residual away, others would read the "
                "values that change");
  static_assert(
      kFault != Fault::kIsActiveUnfit,
      "the program has an IsActive that does not fit and would never be called: `bool IsActive(const Value&, const "
      "chatty::Round<Global>&) const`, whose Round may be left out; a program with a Data may take a `const "
      "Data&` as the last parameter");
  static_assert(kFault != Fault::kEndRoundUnfit,
                "the program has an EndRound that does not fit and would never be called: `chatty::Next "
                "EndRound(chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kNoEndRound,
                "kActivity = kEveryRound never becomes inactive by itself: give the program `chatty::Next "
                "EndRound(chatty::Round<Global>&) const`");
  static_assert(
      kFault != Fault::kMeasureUnfit,
      "the program has a Measure that does not fit: `Global Measure(const Value&, chatty::Vertex) const` or, with a "
      "last parameter, `const chatty::Round<Global>&`; where every vertex is updated in every round it may begin with the "
      "value before; with `using Global = …;` for what it returns");
  static_assert(kFault != Fault::kNoMeasure,
                "a program with a Global has `Global Measure(const Value&, chatty::Vertex) const`, or with a third "
                "parameter `const chatty::Round<Global>&`");
  static_assert(kFault != Fault::kMeasuresChange,
                "a Measure that takes the value before, too, measures updates: it is for kActivity = kEveryRound, without "
                "kCount or Consume");
  static_assert(kFault != Fault::kMeasureWhenQuiet,
                "the hint measure_when_quiet is for a program with a Measure that becomes inactive by itself: not for "
                "kActivity = kEveryRound");
  static_assert(kFault != Fault::kContinuesWhileActive,
                "the hint continues_while_active is for a program with an EndRound that becomes inactive by itself: not for "
                "kActivity = kEveryRound");
  static_assert(kFault != Fault::kStationary,
                "the hint stationary is for kCount with kActivity = kEveryRound, without Filter and Consume, by which the "
                "same neighbours might send something else");
  static_assert(kFault != Fault::kAllowsGaussSeidel,
                "AllowsGaussSeidel has to be `bool AllowsGaussSeidel() const`, of a program with kActivity = kEveryRound "
                "and a Share, without Filter, that does not see all messages");
  static_assert(kFault != Fault::kCombine,
                "Measure needs a way to combine: `static Global Combine(Global, Global)` or operator+ on Global; `Global{}` "
                "is its identity");
  static_assert(
      kFault != Fault::kOutputUnfit,
      "the program has an Output that does not fit: `T Output(const Value&) const` or `T Output(const Value&, const "
      "chatty::Round<Global>&) const`");
  static_assert(kFault != Fault::kOutputNotPlain,
                "Output returns what is copied from the devices, one a vertex: a number or a plain struct (not void, no "
                "std::string, nothing that owns memory)");
  static_assert(kFault != Fault::kPriorityUnfit,
                "the program has a Priority that does not fit and would never be called: a number `Priority(const Value&) "
                "const`");
  return kFault == Fault::kNone;
}

}  // namespace chatty
