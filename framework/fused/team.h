/// \file
/// A fused run over several devices, each of which has a part of the graph and relaxes edges on its own. The file has what
/// the devices share, and how they agree that a step has ended and what the next one does. This is Groute's distributed
/// worklist with soft priority (Ben-Nun et al., PPoPP'17), inside persistent kernels as in the CPU-Free model (Ismayilov et
/// al., ICS'23).
///
/// A device that improves its copy of another one's vertex writes the message into its owner's ring (comm/symmetric/ring.h).
/// Workers without items read the rings of their device. Each device has one word of state: its step, how many of its
/// workers are busy, and how many messages it has received. An idle worker that has claimed messages counts them and itself
/// by one addition, before which they are on the way. The first device's leader reads all states, and then how many messages
/// all have sent. The step has ended everywhere if no worker was busy, and as many messages were received as were sent after
/// that. Nobody could become busy between the two without a message, and none was on the way (Mattern's counters, 1987;
/// `tests/model/team.pml` checks it). The leader then sums the devices' counts, and stores the next step's order at each.
///
/// A device begins the step by one addition to its state, which also makes all its workers busy: a later look cannot find it
/// idle before it has begun. Messages carry their step. A device that has not begun it leaves them in the ring.
///
/// Memory orders. Workers become idle with release and the leader reads states with acquire: it sees their counts and what
/// they sent. A device that has become busy since is seen by the counters alone. Its entry reaches the receiver, whose count
/// the leader sees, after the device's own counter of sent messages. Hosts release and acquire entries. A GPU stores an
/// entry at a place that is the counter's old value, which it has only once the counter has changed where the leader reads
/// it. PTX does not promise that order, the hardware keeps it. Orders travel as entries of rings do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "chatty/comm/symmetric/heap.h"
#include "chatty/comm/symmetric/ring.h"
#include "chatty/core/atomics.h"
#include "chatty/core/macros.h"
#include "chatty/core/sync.h"
#include "chatty/framework/fused/heap_reader.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/options.h"

namespace chatty::fused {

/// Whether several devices may relax P's edges together: a message and its target travel in one entry of a ring.
template <class P>
inline constexpr bool kRelaxesTogether = [] {
  if constexpr (kRelaxes<P>) {
    return std::is_trivially_copyable_v<MessageOf<P>> && (sizeof(MessageOf<P>) == 4 || sizeof(MessageOf<P>) == 8) &&
           sizeof(MessageOf<P>) <= sizeof(ValueOf<P>);
  } else {
    return false;
  }
}();

/// Fields of a device's word of state. The messages are its upper bits: what they carry is lost, and changes no other field.
struct TeamState {
  static constexpr std::uint64_t kOneActive = std::uint64_t{1} << 8;     ///< one more busy worker
  static constexpr std::uint64_t kOneReceived = std::uint64_t{1} << 24;  ///< one more message
  std::uint64_t word;                                                    ///< all of it

  CHATTY_FN std::uint64_t step() const { return word & 0xff; }                   ///< modulo 256
  CHATTY_FN std::uint64_t active() const { return word / kOneActive & 0xffff; }  ///< workers that are busy
  CHATTY_FN std::uint64_t received() const { return word / kOneReceived; }       ///< messages, modulo 2^40
  /// Whether so many messages were sent as the devices have received together. Fewer than 2^40 are on the way.
  CHATTY_FN static bool AllReceived(std::uint64_t sent, std::uint64_t received) {
    return (sent - received) * kOneReceived == 0;
  }
};

/// What a kernel gets of a team, by value.
struct TeamRef {
  SymmetricRef heap;                        ///< of the devices
  symmetric::Rings rings;                   ///< between them
  Symmetric<symmetric::RingCounter> state;  ///< one: a TeamState
  Symmetric<symmetric::RingEntry> order;    ///< two: the next step's order
  Symmetric<StepCounts> counts;             ///< three, which take turns
  /// One, of the last window. A device clears it at an order that the leader gives after it has read it, and counts in it
  /// in that step.
  Symmetric<WindowCounts> windows;

  /// Bits of a message's hops.
  static constexpr unsigned kHopBits = symmetric::kRingEntryBits - 32 - 2;

  CHATTY_FN bool IsLeader() const { return heap.me == 0; }  ///< whether this device decides
  /// Whether the run has failed on a device. A GPU reads host memory for it.
  CHATTY_FN bool IsAborted() const { return detail::LoadRelaxed(heap.abort) != 0; }
  /// A device's state, acquired.
  CHATTY_FN TeamState StateOf(std::uint32_t device) const { return {detail::LoadAcquire(&heap.At(state, device)->count)}; }

  /// @{
  /// A worker of this device counts messages that it has claimed. One that was idle becomes busy with the same addition:
  /// until then they are on the way. It becomes idle again once it has done what they bring.
  CHATTY_FN void CountReceived(std::uint64_t received, bool was_idle) const {
    detail::SystemAtomic<std::uint64_t>(*Word()).fetch_add(
        received * TeamState::kOneReceived + (was_idle ? TeamState::kOneActive : 0), detail::order::kRelaxed);
  }
  CHATTY_FN void BecomeIdle() const {
    detail::SystemAtomic<std::uint64_t>(*Word()).fetch_sub(TeamState::kOneActive, detail::order::kRelease);
  }
  /// @}
  /// This device begins the next step with so many busy workers. By one thread, which acquires what the workers did in the
  /// step before.
  CHATTY_FN void BeginStep(std::uint64_t workers) const {
    const std::uint64_t step = TeamState{detail::LoadRelaxed(Word())}.step();  // which no other thread changes
    detail::SystemAtomic<std::uint64_t>(*Word()).fetch_add(((step + 1) & 0xff) - step + workers * TeamState::kOneActive,
                                                           detail::order::kAcqRel);
  }

  /// How many messages device `from` has sent to device `to`.
  CHATTY_FN std::uint64_t SentTo(std::uint32_t from, std::uint32_t to) const {
    return detail::LoadRelaxed(&heap.At(rings.reserved, from)[to].count);
  }
  /// The leader's order of `step`, for all devices.
  CHATTY_FN void GiveOrder(std::uint64_t step, const StepOrder& what) const {
    const std::uint64_t flags =
        (what.ends ? 1u : 0u) | (what.takes_far ? 2u : 0u) | (what.takes_window ? 4u : 0u) | std::uint64_t(what.end) << 3;
    const symmetric::RingEntry first = {
        {flags | std::uint64_t{what.hop_limit} << 8, atomics::BitCast<std::uint64_t>(what.limit)}};
    const symmetric::RingEntry second = {{what.mean, atomics::BitCast<std::uint64_t>(what.width)}};
    for (std::uint32_t d = 0; d < heap.size; ++d) {
      detail::StoreTagged(heap.At(order, d), first, step & 0xff);
      detail::StoreTagged(heap.At(order, d) + 1, second, step & 0xff);
    }
  }
  /// Whether the order of `step` has come.
  CHATTY_FN bool TakeOrder(std::uint64_t step, StepOrder* what) const {
    symmetric::RingEntry first{}, second{};
    if (!detail::LoadTagged(heap.Own(order), step & 0xff, &first)) return false;
    if (!detail::LoadTagged(heap.Own(order) + 1, step & 0xff, &second)) return false;
    what->ends = (first.words[0] & 1) != 0;
    what->takes_far = (first.words[0] & 2) != 0;
    what->takes_window = (first.words[0] & 4) != 0;
    what->end = static_cast<End>(first.words[0] >> 3 & 0x1f);
    what->hop_limit = static_cast<std::uint32_t>(first.words[0] >> 8);
    what->limit = atomics::BitCast<double>(first.words[1]);
    what->width = atomics::BitCast<double>(second.words[1]);
    what->mean = static_cast<std::uint32_t>(second.words[0]);
    return true;
  }

  /// A message for the `index`th vertex that two devices share: see BorderRef. Hops beyond their bits order less exactly.
  CHATTY_FN static symmetric::RingEntry Pack(std::uint32_t index, std::uint32_t hops, std::uint64_t step,
                                             std::uint64_t message) {
    constexpr std::uint32_t kMax = (1u << kHopBits) - 1;
    return {{index | std::uint64_t{hops < kMax ? hops : kMax} << 32 | (step & 3) << (32 + kHopBits), message}};
  }
  /// @{
  /// A message's parts, and whether it is of this step.
  CHATTY_FN static std::uint32_t IndexIn(const symmetric::RingEntry& entry) {
    return static_cast<std::uint32_t>(entry.words[0]);
  }
  CHATTY_FN static std::uint32_t HopsIn(const symmetric::RingEntry& entry) {
    return static_cast<std::uint32_t>(entry.words[0] >> 32) & ((1u << kHopBits) - 1);
  }
  CHATTY_FN static bool IsOf(const symmetric::RingEntry& entry, std::uint64_t step) {
    return entry.words[0] >> (32 + kHopBits) == (step & 3);
  }
  /// @}

 private:
  CHATTY_FN std::uint64_t* Word() const { return &heap.Own(state)->count; }
};

/// Throws AbortedError on a device whose wait for `what` has ended because another device failed. Waits for 10 s at most
/// until the run knows the error of the device that failed, which is to come first.
[[noreturn]] void ThrowAborted(const WaitContext& context, std::string_view what);

/// The memory that the devices of a fused run share. The devices must outlive it.
class Team {
 public:
  /// Throws as SymmetricHeap. `list_items`: RowOptions::list_items, which shortens rings.
  Team(std::span<Device* const> devices, std::uint32_t list_items);
  /// Ends and awaits what a failed run has left on the devices: a kernel may still write to another device's memory.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  /// Bytes on each of so many devices.
  static std::uint64_t Bytes(std::size_t devices, std::uint32_t list_items);

  std::size_t size() const { return heap_.size(); }  ///< devices
  /// Devices of the team that share one GPU with this one, itself included.
  std::size_t SharingWith(std::size_t index) const;
  TeamRef ref(std::size_t index) const;  ///< what device `index` gets
  /// A run begins: empties rings and counters, before the devices' threads begin.
  void Begin();
  void Abort() noexcept { heap_.Abort(); }  ///< ends all waits of the run
  /// Messages of the run that device `index` has sent to each device. On the device's own thread, once it has ended.
  std::vector<std::uint64_t> Sent(std::size_t index) const;
  /// For whom device `index` waited when its wait for the end of a step passed the deadline: which devices were busy, or had
  /// not begun the step. For the error's text. Any thread may call it, also while kernels run.
  std::string DescribeWait(std::size_t index);
  /// The exception that the caller is handling on device `index`. The text of a TimeoutError then ends with DescribeWait.
  std::exception_ptr FailureOf(std::size_t index) noexcept;

 private:
  SymmetricHeap heap_;
  TeamRef ref_;
  HeapReader reader_;
};

}  // namespace chatty::fused
