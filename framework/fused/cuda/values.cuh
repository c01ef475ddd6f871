/// \file
/// How a fused run reads rows and changes values.
#pragma once

#include "chatty/framework/fused/cuda/relax_ref.cuh"

namespace chatty::fused::cuda::detail {

/// Brings a line into the L2, so that who needs it soon does not wait for memory.
__device__ inline void PrefetchToL2(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

/// Combines `message` into the value at `address` by one atomic operation of the hardware; returns the value before.
template <class P, class Value>
__device__ Value UpdateNatively(Value* address, Value message) {
  using Native = std::conditional_t<
      std::is_integral_v<Value>,
      std::conditional_t<sizeof(Value) == 8, std::conditional_t<std::is_signed_v<Value>, long long, unsigned long long>,
                         std::conditional_t<std::is_signed_v<Value>, int, unsigned int>>,
      std::conditional_t<sizeof(Value) == 8, long long, int>>;
  if constexpr (std::is_integral_v<Value>) {
    auto* const native = reinterpret_cast<Native*>(address);
    if constexpr (P::kReduction == Reduction::kMin) {
      return static_cast<Value>(atomicMin(native, static_cast<Native>(message)));
    } else if constexpr (P::kReduction == Reduction::kMax) {
      return static_cast<Value>(atomicMax(native, static_cast<Native>(message)));
    } else {
      using Bits = atomics::Word<sizeof(Value)>;
      return static_cast<Value>(atomicOr(reinterpret_cast<Bits*>(address), static_cast<Bits>(message)));
    }
  } else {  // IEEE order is the order of integers for numbers without a sign, and the reverse order of unsigned ones with it
    using Bits = atomics::Word<sizeof(Value)>;
    constexpr bool kMin = P::kReduction == Reduction::kMin;
    if (signbit(message) != 0) {
      const Bits bits = atomics::BitCast<Bits>(message);
      auto* const unsigned_words = reinterpret_cast<Bits*>(address);
      return atomics::BitCast<Value>(kMin ? atomicMax(unsigned_words, bits) : atomicMin(unsigned_words, bits));
    }
    const Native bits = atomics::BitCast<Native>(message);
    auto* const words = reinterpret_cast<Native*>(address);
    return atomics::BitCast<Value>(kMin ? atomicMin(words, bits) : atomicMax(words, bits));
  }
}

/// Rows and values of P. A lane calls for itself.
template <class P, Rows kRows>
class Values {
 public:
  using Value = ValueOf<P>;
  using Message = MessageOf<P>;
  using Weight = WeightOf<P>;
  using Word = atomics::Word<sizeof(Value)>;
  static constexpr bool kWeighted = !std::is_same_v<Weight, None>;
  static constexpr std::size_t kEach = kWeighted ? 2 : 1;  ///< records of a vertex

  explicit __device__ Values(const RelaxRef<P>& a) : a_(a), s_(a.s) {}

  /// Whether rows have records.
  __device__ bool HasRecords() const { return kRows == Rows::kEither ? a_.records != nullptr : kRows == Rows::kRecords; }
  /// v's record. Without records: where its row is, in the form of a long row's record.
  __device__ RowRecord FetchRow(LocalId v) const {
    if (HasRecords()) return LoadRecord(a_.records + kEach * v);
    const EdgeIndex begin = s_.graph.forward.offsets[v], end = s_.graph.forward.offsets[v + 1];
    return {{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin >> 32),
             static_cast<std::uint32_t>(end - begin), RowRecord::kLong}};
  }
  /// Brings v's record, or where its row begins, into the L2.
  __device__ void Prefetch(LocalId v) const {
    const OffsetsRef& offsets = s_.graph.forward.offsets;
    PrefetchToL2(HasRecords()                ? static_cast<const void*>(a_.records + kEach * v)
                 : offsets.narrow != nullptr ? static_cast<const void*>(offsets.narrow + v)
                                             : static_cast<const void*>(offsets.wide + v));
  }
  /// @{
  /// With records: word `edge` of v's record; the weights of its row, and one of them.
  __device__ std::uint32_t FetchWord(LocalId v, unsigned edge) const { return __ldg(a_.records[kEach * v].words + edge); }
  __device__ RowRecord FetchWeights(LocalId v) const { return LoadRecord(a_.records + kEach * v + 1); }
  __device__ Weight FetchWeight(LocalId v, unsigned edge) const {
    return atomics::BitCast<Weight>(__ldg(a_.records[kEach * v + 1].words + edge));
  }
  /// @}
  /// @{
  /// Without records: word `edge` of the record that the row at `place` would have, and the edge's weight.
  __device__ std::uint32_t WordOfRow(const RowRecord& place, unsigned edge) const {
    if (place.words[2] > RowRecord::kEdges) {
      return edge == 0 ? place.words[0] : edge == 1 ? place.words[1] : edge == 2 ? place.words[2] : RowRecord::kLong;
    }
    return edge < place.words[2] ? __ldg(s_.graph.forward.neighbours + BeginOf(place) + edge) : RowRecord::kNone;
  }
  __device__ Weight WeightOfRow(const RowRecord& place, unsigned edge) const {
    const bool there = place.words[2] <= RowRecord::kEdges && edge < place.words[2];
    return there ? s_.graph.forward.template weight<Weight>(BeginOf(place) + edge) : Weight{};
  }
  /// @}
  /// Brings the first edges of the row at `place` into the L2.
  __device__ void PrefetchEdges(const RowRecord& place) const {
    if (place.words[2] != 0) PrefetchToL2(s_.graph.forward.neighbours + BeginOf(place));
  }
  /// Where the row at `place` begins.
  __device__ static EdgeIndex BeginOf(const RowRecord& place) {
    return place.words[0] | std::uint64_t{place.words[1]} << 32;
  }
  __device__ Value CurrentValue(LocalId v) const { return atomics::BitCast<Value>(atomics::Load(WordOf(v))); }

  /// Combines a message into a vertex's value. Returns whether the vertex becomes active, and its value's bits then. `look`:
  /// loads the value first, because most edges of long rows improve nothing, and a load of a line that nobody writes is far
  /// cheaper than an atomic operation. `meanwhile` is called while the update is on the way.
  template <class Meanwhile>
  __device__ bool Update(LocalId v, const Message& message, Word* word, bool look, Meanwhile&& meanwhile) {
    if constexpr (kUpdatesNatively<P>) {
      if (a_.natively) {
        if (IsNan(message) || (look && !Improves(CurrentValue(v), message))) return false;
        Value value = UpdateNatively<P>(s_.values + v, message);
        meanwhile();
        const bool was_identity = steps::SameBytes(value, IdentityOf<P>());
        const bool improves = Improves(value, message);
        *word = atomics::BitCast<Word>(value);
        first += improves && was_identity;
        return improves;
      }
    }
    const Word before = atomics::Load(WordOf(v));
    meanwhile();
    const bool improves = UpdateBySwap(v, before, message, word);
    if constexpr (std::is_same_v<Value, Message>) {
      first += improves && steps::SameBytes(before, atomics::BitCast<Word>(IdentityOf<P>()));
    }
    return improves;
  }

  /// Hardware compares numbers of floating point as integers, for which NaN is a number and -0 is less than 0. Updates leave
  /// NaN out, and a zero that replaces the other one counts as an improvement.
  __device__ static bool IsNan(const Message& message) {
    if constexpr (std::is_floating_point_v<Message>) {
      return message != message;
    } else {
      return false;
    }
  }
  __device__ static bool IsOtherZero(const Value& before, const Message& message) {
    if constexpr (std::is_floating_point_v<Message>) {
      return before == message && !steps::SameBytes(before, message);
    } else {
      return false;
    }
  }
  /// Whether a value improves by a message; it is then what both become.
  __device__ static bool Improves(Value& value, const Message& message) {
    if constexpr (kUpdatesNatively<P>) {
      const Value before = value;
      if constexpr (P::kReduction == Reduction::kMin) {
        value = message;
        return message < before || IsOtherZero(before, message);
      } else if constexpr (P::kReduction == Reduction::kMax) {
        value = message;
        return before < message || IsOtherZero(before, message);
      } else {
        value = before | message;
        return value != before;
      }
    }
    return false;
  }
  __device__ static bool Improves(Value&& value, const Message& message) { return Improves(value, message); }

  /// Runs UpdateStatus on a copy and swaps it in. Returns whether the vertex becomes active, and its value's bits then.
  __device__ bool UpdateBySwap(LocalId v, Word before, const Message& message, Word* result) const {
    while (true) {
      Value value = atomics::BitCast<Value>(before);
      if constexpr (Traits<P>::kHasFilterMessage) {
        if (!s_.program.Filter(value, message)) return false;
      }
      const bool active = steps::UpdateValue(s_, v, value, message, s_.At(v), a_.round());
      const Word after = atomics::BitCast<Word>(value);
      if (after != before) {
        const Word found = atomics::CompareSwap(WordOf(v), before, after);
        if (found != before) {
          before = found;
          continue;
        }
      }
      *result = after;
      // A value that changed without activating the vertex makes an item, too: an earlier item of it no longer counts.
      return active || after != before;
    }
  }

  __device__ Word* WordOf(LocalId v) const { return reinterpret_cast<Word*>(s_.values + v); }

  unsigned first = 0;  ///< improvements of values that were the identity

 private:
  const RelaxRef<P>& a_;
  const StateRef<P>& s_;
};

}  // namespace chatty::fused::cuda::detail
