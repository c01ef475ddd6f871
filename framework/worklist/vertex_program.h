/// \file
/// A vertex program on a distributed worklist: the worklist's functions derived from the program's members, as Groute's
/// applications have them (Ben-Nun et al., PPoPP'17; TOPC'20). A user may replace one of them, say the order of items.
///
/// An item is a vertex of a device. A vertex of another device is an item of this one's halo until it is sent:
///
/// - Process: Share and ComputeScatter along the vertex's out-edges. Each message is sent to its target's owner.
/// - Priority: the program's, of the vertex's value. Without one all items are equal.
/// - OnSend: the halo keeps the best message that it has sent, and drops what does not improve on it.
/// - Pack, Unpack: the vertex's number at its owner, and the message.
/// - OnReceive: Filter and UpdateStatus. The vertex is work if its value has changed. The item then has the new value, and
///   no longer counts once the vertex has another one.
///
/// A program with a Consume has residuals, of which none may be lost or sent twice. Messages to a vertex wait at it,
/// combined by the program's reduction, and the first of them makes the item. So OnSend and OnReceive do the same. Pack
/// takes what waits in the halo, Process what waits at the vertex: UpdateStatus, Consume and ComputeScatter.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/atomics.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/graph_ref.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/program.h"
#include "chatty/framework/session.h"
#include "chatty/framework/state.h"
#include "chatty/framework/steps/vertex_ops.h"
#include "chatty/framework/typed_program.h"
#include "chatty/framework/vertex_data.h"
#include "chatty/framework/worklist/worklist.h"

#if CHATTY_CUDA_COMPILER
// A program's member without CHATTY_FN is left out of device code with a warning: answers would be wrong.
#pragma nv_diagnostic push
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#endif

namespace chatty {

/// A vertex program that a worklist can run: its updates may run in any order, and hardware swaps a value whole.
template <class P>
concept WorklistVertexProgram =
    AsynchronousProgram<P> && !Traits<P>::kHasInput && (sizeof(ValueOf<P>) == 4 || sizeof(ValueOf<P>) == 8);

/// Fails to compile, with one sentence, for a vertex program that a worklist cannot run. Returns whether it can.
template <class P>
constexpr bool CheckOnWorklist() {
  constexpr bool kFits = CheckAsynchronous<P>();
  if constexpr (kFits) {
    static_assert(
        WorklistVertexProgram<P>,
        "a worklist changes a vertex's value in one atomic operation, and starts from InitVertex alone: Value has 4 or 8 "
        "bytes, and the program has no Input");
  }
  return WorklistVertexProgram<P>;
}

/// The program on a worklist that a vertex program is: see the file. A program derived from it replaces a function by one of
/// the same name, for GPUs as CHATTY_FN. VertexWorklist makes one for each device.
template <class P>
struct VertexItems {
  static_assert(CheckOnWorklist<P>());

  using Value = ValueOf<P>;                             ///< of a vertex
  using MessageSlot = Slot<MessageOf<P>>;               ///< a message along an edge, in memory
  using ValueWord = atomics::Word<sizeof(Value)>;       ///< a value's bits
  using SlotWord = atomics::Word<sizeof(MessageSlot)>;  ///< a slot's bits
  /// Whether messages wait at their vertices, combined.
  static constexpr bool kConsumes = Traits<P>::kHasConsume;

  /// A vertex that is to send; or while it is sent and received, the target of a message.
  struct Item {
    LocalId vertex;  ///< of the device that has the item, owned or halo
    /// The bits of the vertex's value, or of the message's slot. With a Consume, of nothing once it is received.
    std::conditional_t<sizeof(ValueWord) < sizeof(SlotWord), SlotWord, ValueWord> word;
  };
  /// A message on its way.
  struct Message {
    LocalId vertex;                                ///< its target, at its owner
    std::uint32_t words[sizeof(MessageSlot) / 4];  ///< the bits of its slot
  };

  P program;                          ///< the vertex program
  GraphRef graph;                     ///< the device's part
  Value* values = nullptr;            ///< by owned vertex
  MessageSlot* messages = nullptr;    ///< by halo vertex, the best that was sent; with a Consume by local vertex, what waits
  const LocalId* at_owner = nullptr;  ///< by halo vertex, its number at its owner
  /// By owned vertex, if the program has a Data. Else with an address of its own: see CheckParameters in core/launch.cuh.
  std::conditional_t<Traits<P>::kHasData, const DataOf<P>*, NoData> data{};

  /// What the vertex program's members see: always the first.
  CHATTY_FN RoundOf<P> FirstRound() const {
    RoundOf<P> round{};
    round.vertices = graph.vertices;
    return round;
  }

  /// @{
  /// As of WorklistProgram.
  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    SharedOf<P> shared{};
    if (!TakeShared(item, &shared)) return;
    const VertexId source = graph.Global(item.vertex);
    const AdjacencyRef& rows = graph.forward;
    const EdgeIndex end = rows.offsets[item.vertex + 1];
    for (EdgeIndex e = rows.offsets[item.vertex]; e < end; ++e) {
      const LocalId target = rows.neighbours[e];
      const Edge<WeightOf<P>> edge{source, graph.Global(target), rows.template weight<WeightOf<P>>(e)};
      const MessageSlot slot = SlotOf(CallComputeScatter(program, shared, edge, FirstRound()));
      context.Send(target < graph.owned ? graph.part : graph.HaloOwner(target), {target, BitsOf(slot)});
    }
  }
  CHATTY_FN double Priority([[maybe_unused]] const Item& item) const {
    if constexpr (Traits<P>::kHasPriority) {
      return static_cast<double>(program.Priority(ValueIn(item)));
    } else {
      return 0;
    }
  }
  CHATTY_FN bool OnSend(const Item& item, std::uint32_t) const {
    if constexpr (kConsumes) {
      return Combine(item.vertex, SlotIn(item));
    } else {
      return steps::ReduceInto<P, true>(program, SlotAt(item.vertex), SlotIn(item).message);
    }
  }
  CHATTY_FN Message Pack(const Item& item) const {
    const MessageSlot slot = kConsumes ? atomics::Exchange(SlotAt(item.vertex), Empty()) : SlotIn(item);
    Message message{};
    message.vertex = at_owner[item.vertex - graph.owned];
    memcpy(message.words, &slot, sizeof(slot));
    return message;
  }
  CHATTY_FN Item Unpack(const Message& message) const {
    SlotWord word;
    memcpy(&word, message.words, sizeof(word));
    return {message.vertex, word};
  }
  CHATTY_FN bool OnReceive(Item& item) const {
    if constexpr (kConsumes) {
      return Combine(item.vertex, SlotIn(item));
    } else {
      return Improve(item);
    }
  }
  /// @}

  /// The value of an item that waits or is processed. With a Consume, what the vertex has now.
  CHATTY_FN Value ValueIn(const Item& item) const {
    if constexpr (kConsumes) {
      return atomics::BitCast<Value>(atomics::Load(WordAt(item.vertex)));
    } else {
      return atomics::BitCast<Value>(static_cast<ValueWord>(item.word));
    }
  }
  /// The message of an item that is sent or received.
  CHATTY_FN MessageOf<P> MessageIn(const Item& item) const { return SlotIn(item).message; }
  /// A slot without a message.
  CHATTY_FN static MessageSlot Empty() { return SlotOf(IdentityOf<P>()); }

 private:
  /// Padding is zero, so that equal messages are equal words.
  CHATTY_FN static MessageSlot SlotOf(const MessageOf<P>& message) {
    MessageSlot slot{};
    slot.message = message;
    return slot;
  }
  CHATTY_FN static MessageSlot SlotIn(const Item& item) {
    return atomics::BitCast<MessageSlot>(static_cast<SlotWord>(item.word));
  }
  CHATTY_FN static SlotWord BitsOf(const MessageSlot& slot) { return atomics::BitCast<SlotWord>(slot); }
  CHATTY_FN static bool IsEmpty(const MessageSlot& slot) { return BitsOf(slot) == BitsOf(Empty()); }
  CHATTY_FN MessageSlot* SlotAt(LocalId v) const { return messages + (kConsumes ? v : v - graph.owned); }
  CHATTY_FN ValueWord* WordAt(LocalId v) const { return reinterpret_cast<ValueWord*>(values + v); }

  CHATTY_FN bool Update(LocalId v, Value& value, const MessageOf<P>& message) const {
    if constexpr (kUpdateTakesData<P>) {
      return CallUpdateStatus(program, value, message, VertexAt(graph, v), FirstRound(), data[v]);
    } else {
      return CallUpdateStatus(program, value, message, VertexAt(graph, v), FirstRound());
    }
  }
  /// Applies an item's message to its vertex, and gives the item the new value. Returns whether there is one. A value that
  /// changes without activating the vertex makes an item, too: an earlier item of it no longer counts.
  CHATTY_FN bool Improve(Item& item) const {
    const MessageOf<P> message = MessageIn(item);
    ValueWord before = atomics::Load(WordAt(item.vertex));
    while (true) {
      Value value = atomics::BitCast<Value>(before);
      if constexpr (Traits<P>::kHasFilterMessage) {
        if (!program.Filter(value, message)) return false;
      }
      const bool active = Update(item.vertex, value, message);
      const auto after = atomics::BitCast<ValueWord>(value);
      if (!active && after == before) return false;
      const ValueWord found = after == before ? before : atomics::CompareSwap(WordAt(item.vertex), before, after);
      if (found == before) {
        item.word = after;
        return true;
      }
      before = found;
    }
  }
  /// Adds a message to those that wait at a vertex. Returns whether none has waited: who adds the first one makes the item
  /// that takes all.
  CHATTY_FN bool Combine(LocalId v, const MessageSlot& message) const {
    using M = MessageOf<P>;
    if (IsEmpty(message)) return false;
    if constexpr (P::kReduction == Reduction::kSum && (sizeof(M) == 4 || sizeof(M) == 8)) {
      return IsEmpty(SlotOf(atomics::Add<true>(&SlotAt(v)->message, message.message)));
    } else {
      auto* const word = reinterpret_cast<SlotWord*>(SlotAt(v));
      SlotWord before = atomics::Load(word);
      while (true) {
        const auto waiting = atomics::BitCast<MessageSlot>(before);
        const SlotWord after = BitsOf(SlotOf(Reduce(program, waiting.message, message.message)));
        const SlotWord found = atomics::CompareSwap(word, before, after);
        if (found == before) return IsEmpty(waiting);
        before = found;
      }
    }
  }
  /// What the vertex of an item sends. Returns false if it does not send: the vertex has another value than the item; or,
  /// with a Consume, what waited at the vertex has not activated it.
  CHATTY_FN bool TakeShared(const Item& item, SharedOf<P>* shared) const {
    const LocalId v = item.vertex;
    ValueWord before = atomics::Load(WordAt(v));
    if constexpr (kConsumes) {
      const MessageSlot waiting = atomics::Exchange(SlotAt(v), Empty());
      while (true) {
        Value value = atomics::BitCast<Value>(before);
        // Where nothing waits, the vertex is active from the start, or messages have added up to none.
        const bool sends = IsEmpty(waiting) || Update(v, value, waiting.message);
        if (sends) *shared = program.Consume(value, VertexAt(graph, v));
        const ValueWord found = atomics::CompareSwap(WordAt(v), before, atomics::BitCast<ValueWord>(value));
        if (found == before) return sends;
        before = found;
      }
    } else {
      if (before != static_cast<ValueWord>(item.word)) return false;
      if constexpr (Traits<P>::kHasShare) {
        *shared = program.Share(ValueIn(item), VertexAt(graph, v));
      } else {
        *shared = ValueIn(item);
      }
      return true;
    }
  }
};

/// A vertex program on a worklist of a session's devices: its memory there, and its runs. `Items` is VertexItems<P>, or a
/// program derived from it that an object of VertexItems<P> initialises. The session must outlive it, and its devices do one
/// thing at a time.
///
/// A lane of a GPU or a thread follows a vertex's row alone. Where few rows are very long, `--execution async` is better.
template <class P, class Items = VertexItems<P>>
class VertexWorklist {
  using Value = ValueOf<P>;

 public:
  /// Divides the graph, if the session has not, and allocates memory on the devices. `data`: of the program's vertices.
  /// Throws UsageError for a program whose messages depend on the round; what the program's CheckInput throws; what
  /// AssembleVertexData and Session::Graphs throw; OutOfMemoryError.
  explicit VertexWorklist(Session& session, const P& program = {}, const VertexData& data = {}) : session_(&session) {
    static_assert(std::derived_from<Items, VertexItems<P>> && WorklistProgram<Items>,
                  "Items is a program on a worklist, derived from VertexItems of the vertex program");
    CheckProgramInput(session.graph(), program);
    if constexpr (!Traits<P>::kHasConsume) {
      if (fused::ReadsRound(program)) {
        throw UsageError("messages or updates of this program depend on the round, and a worklist has no rounds");
      }
    }
    data_ = AssembleVertexData<P>(session.graph(), program, data);
    const PreparedGraphs& graphs =
        session.Graphs(Traits<P>::kEdges, WeightKindOf<WeightOf<P>>(), /*forward=*/true, /*reverse=*/false);
    parts_ = graphs.subgraphs;
    for (std::size_t d = 0; d < parts_.size(); ++d) {
      Device& device = session.device(d);
      device.MakeCurrent();
      const std::size_t owned = parts_[d].owned, halo = parts_[d].local - owned;
      Memory memory{Buffer<Value>(device, owned), Buffer<MessageSlot>(device, Traits<P>::kHasConsume ? owned + halo : halo),
                    Buffer<LocalId>(device, halo), Buffer<DataOf<P>>(device, Traits<P>::kHasData ? owned : 0)};
      VertexItems<P> items{.program = program, .graph = graphs.devices[d]->ref()};
      items.values = memory.values.data();
      items.messages = memory.messages.data();
      items.at_owner = memory.at_owner.data();
      if constexpr (Traits<P>::kHasData) items.data = memory.data.data();
      CopyIn(device, memory.at_owner, NumbersAtOwners(d));
      CopyIn(device, memory.data, OwnData(d));
      if constexpr (std::is_same_v<Items, VertexItems<P>>) {
        programs_.push_back(items);
      } else {
        programs_.push_back(Items{{items}});
      }
      memory_.push_back(std::move(memory));
    }
  }

  /// The programs, one a device: for parameters, and for members that Items has beside those of VertexItems.
  std::span<Items> programs() { return programs_; }

  /// Runs the program from InitVertex to its end. Throws the errors of RunWorklist.
  template <class Backends = CompiledBackends>
  WorklistStatistics Run(const WorklistOptions& options = {}) {
    std::vector<std::vector<Item>> seeds(parts_.size());
    for (std::size_t d = 0; d < parts_.size(); ++d) Begin(d, &seeds[d]);
    return RunWorklist<Items, Backends>(session_->devices(), std::span<const Items>(programs_), seeds, options);
  }

  /// Results of the last Run, which has not failed, by vertex. A Measure is of the values at the end. Throws what the
  /// program's CheckOutput throws.
  Array<OutputOf<P>> Output() const {
    const VertexId vertices = session_->graph().vertices();
    const P& program = programs_[0].program;
    const RoundOf<P> first = programs_[0].FirstRound();
    RoundOf<P> last = first;
    Array<Value> values(vertices);
    for (std::size_t d = 0; d < parts_.size(); ++d) {
      Device& device = session_->device(d);
      const Subgraph& part = parts_[d];
      std::vector<Value> own(part.owned);
      device.MakeCurrent();
      device.CopyOut(own.data(), memory_[d].values.data(), memory_[d].values.bytes(), device.stream());
      device.stream().Synchronize();
      for (LocalId v = 0; v < part.owned; ++v) {
        values[part.Global(v)] = own[v];
        if constexpr (Traits<P>::kHasMeasure) {
          last.global = CombineGlobal<P>(last.global, MeasureOf(program, own[v], own[v], VertexOf(part, v), first));
        }
      }
    }
    Array<OutputOf<P>> output(vertices);
    for (VertexId v = 0; v < vertices; ++v) output[v] = detail::OutputOfValue(program, values[v], last);
    if constexpr (requires(std::span<const OutputOf<P>> all) { P::CheckOutput(all); }) {
      P::CheckOutput(std::span<const OutputOf<P>>(output.data(), output.size()));
    }
    return output;
  }

 private:
  using Item = typename VertexItems<P>::Item;
  using MessageSlot = typename VertexItems<P>::MessageSlot;

  /// A device's.
  struct Memory {
    Buffer<Value> values;
    Buffer<MessageSlot> messages;
    Buffer<LocalId> at_owner;
    Buffer<DataOf<P>> data;
  };

  template <class T>
  static void CopyIn(Device& device, const Buffer<T>& to, const std::vector<T>& from) {
    if (from.empty()) return;
    device.CopyIn(to.data(), from.data(), to.bytes(), device.stream());
    device.stream().Synchronize();
  }
  static Vertex VertexOf(const Subgraph& part, LocalId v) {
    const EdgeIndex out = part.out_degrees[v], in = part.symmetric ? out : part.in_degrees[v];
    return {part.Global(v), out, in, part.symmetric ? out : out + in};
  }
  /// By halo vertex of device d.
  std::vector<LocalId> NumbersAtOwners(std::size_t d) const {
    std::vector<LocalId> numbers;
    for (std::size_t owner = 0; owner < parts_.size(); ++owner) {
      if (owner == d) continue;
      const Array<LocalId>& border = parts_[owner].border[d];
      numbers.insert(numbers.end(), border.begin(), border.end());
    }
    return numbers;
  }
  /// By owned vertex of device d, if the program has a Data.
  std::vector<DataOf<P>> OwnData(std::size_t d) const {
    std::vector<DataOf<P>> own;
    if constexpr (Traits<P>::kHasData) {
      for (LocalId v = 0; v < parts_[d].owned; ++v) own.push_back(data_[parts_[d].Global(v)]);
    }
    return own;
  }

  /// Gives device d its first values and items, and no messages.
  void Begin(std::size_t d, std::vector<Item>* seeds) {
    Device& device = session_->device(d);
    const Items& items = programs_[d];
    std::vector<Value> values;
    for (LocalId v = 0; v < parts_[d].owned; ++v) {
      const Vertex vertex = VertexOf(parts_[d], v);
      bool active = true;
      if constexpr (Traits<P>::kInitTakesData) {
        values.push_back(items.program.InitVertex(vertex, data_[vertex.id]));
      } else {
        values.push_back(items.program.InitVertex(vertex));
      }
      if constexpr (Traits<P>::kIsActiveTakesData) {
        active = CallIsActive(items.program, values[v], items.FirstRound(), data_[vertex.id]);
      } else if constexpr (Traits<P>::kHasIsActive) {
        active = CallIsActive(items.program, values[v], items.FirstRound());
      }
      if (active) seeds->push_back({v, atomics::BitCast<typename VertexItems<P>::ValueWord>(values[v])});
    }
    const std::vector<MessageSlot> none(memory_[d].messages.size(), VertexItems<P>::Empty());
    device.MakeCurrent();
    CopyIn(device, memory_[d].values, values);
    CopyIn(device, memory_[d].messages, none);
  }

  Session* session_;
  std::span<const Subgraph> parts_;
  Array<DataOf<P>> data_;  // by vertex
  std::vector<Memory> memory_;
  std::vector<Items> programs_;
};

}  // namespace chatty

#if CHATTY_CUDA_COMPILER
#pragma nv_diagnostic pop
#endif
