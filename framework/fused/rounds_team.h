/// \file
/// Exact rounds of several GPUs, each of which has a part of the graph, in resident kernels that meet without the host: what
/// the devices share. Pregel's supersteps (SIGMOD'10) in persistent kernels as in the CPU-Free model (Ismayilov et al.,
/// ICS'23). `fused/cuda/rounds_team.cuh` has the kernel, and `tests/model/rounds.pml` a model of it.
///
/// A GPU that has the whole graph is a team of one, where rounds are asked for.
///
/// A round, on each GPU:
///
///   barrier over all blocks of all GPUs, which carries each block's active vertices and edges; each block loads the first
///     vertices that it keeps while it waits
///   all blocks of all GPUs compute the same sums, and so decide alike: one more round, or the end
///   edges of the frontier deliver messages: to own vertices into inboxes, to others into a list at the owner
///   barrier over all blocks of all GPUs, which carries the lengths of the lists, and the edges of the round
///   messages of the lists are delivered to inboxes; then a barrier of the GPU's own blocks, if there was any
///   vertices with messages are updated: the next frontier
///
/// A list is of one sender and one owner, in the owner's memory. It has one entry for each edge that crosses, without those
/// that the sender's copy of the vertex filters (monotone programs). A copy that combined first would have its message only
/// behind a barrier of the sender's blocks, which takes longer than the entries that it saves: a round has few edges. A list
/// has room for as many entries as a round may have edges, and cannot overflow.
///
/// The first barrier of a round carries edges in units, rounded in each block, so that all counts fit into a word. What the
/// rounding may hide adds to the room of a list.
///
/// A barrier costs one addition over the link and one poll. Each block adds its counts to a word at each GPU, so no block
/// counts arrivals and passes on what others have done. The words only grow, and a block subtracts what it has seen. No
/// barrier reads or clears other counters, but the length of the list of all blocks where one has spilled. No barrier waits
/// until a peer has acknowledged a store, because entries say by themselves that they have arrived.
///
/// Memory orders (PTX; host devices have no such engine, because their rounds meet in shared memory):
///
/// - An entry is one store of 16 bytes, `st.relaxed.sys.b128`, and has the number of its barrier. Its reader knows from
///   the barrier how many entries there are, and polls each, `ld.relaxed.sys.b128`, until it has that number. Links are to
///   execute atomics and not to divide 16 bytes: NVLink does so.
/// - A barrier over GPUs: a block's threads meet (`bar.sync`), and lanes of one warp add to the words: to that of the own
///   GPU by `red.release.gpu`, to others by `red.relaxed.sys`. A warp of each block polls the words at home,
///   `ld.acquire.sys`, and the block's threads meet again. So what a thread did before is seen by all threads of its own
///   GPU behind the barrier. Of other GPUs a block knows what words, entries and numbers of blocks say, and nothing else.
/// - Two words of each GPU take turns. To the word of barrier e, others add for e + 2 once they have passed e + 1, where
///   all blocks of this GPU had arrived: they had read e.
/// - Entries are overwritten in the next round. Their readers meet at the barrier of the GPU's own blocks. Behind it a
///   warp of the first block calls `fence.acq_rel.sys` before it adds to others' words. That fence alone waits for
///   acknowledgements, while other warps update.
/// - A barrier of the GPU's own blocks: `red.release.gpu` on a counter that only grows, which blocks poll by
///   `ld.acquire.gpu`.
/// - Places in a list come from a counter of the sender. Its first block resets the counter behind the barrier that
///   carries the lengths: all blocks have their places then, and take others behind the next barrier.
/// - A kernel stores how many blocks it has at each GPU, with the number of its first barrier, `st.relaxed.sys`, which
///   others poll. The host's all-reduce between two kernels keeps it until all have read it. Words that were seen are
///   written by the first block when the kernel ends, and read by the next kernel.
/// - The abort word is host memory. The first block of a GPU reads it while it waits, and tells the other blocks by a word
///   of the GPU (relaxed: a block that sees it leaves, and orders nothing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chatty/comm/symmetric/heap.h"
#include "chatty/comm/symmetric/ring.h"
#include "chatty/core/macros.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/cuda/barrier_words.h"
#include "chatty/framework/fused/heap_reader.h"

namespace chatty::fused {

/// Most edges of a round of so many devices together, with more of which rounds of many launches do better. Of many devices
/// they are fewer, because a device has a list from each.
constexpr std::uint32_t TeamRoundEdges(std::size_t devices) {
  constexpr std::size_t kFew = 8;
  return static_cast<std::uint32_t>(devices <= kFew ? kRoundsPolicy.wide : kRoundsPolicy.wide * kFew / devices);
}
/// Entries of a list: no round has more edges. A barrier sums units of edges, which may hide some of each device.
constexpr std::uint32_t TeamListEntries(std::size_t devices) {
  return TeamRoundEdges(devices) + static_cast<std::uint32_t>(devices) * cuda::BlockSums::kUnitError;
}
/// Bytes of a list's entry: the number of a vertex, that of a barrier, and a message of at most 8 bytes.
inline constexpr std::size_t kTeamEntryBytes = 16;

/// A GPU's counters of a round of any width: see fused/wide_team.h. Sums of all GPUs are of the same type.
struct WideSums {
  std::uint64_t active_vertices = 0;  ///< that the round has changed
  std::uint64_t active_edges = 0;     ///< from these
  std::uint64_t candidate_edges = 0;  ///< their change, in two's complement
  std::uint64_t edges_touched = 0;    ///< that the round has read
  std::uint64_t stops = 0;            ///< GPUs whose hosts have asked for a stop
};
/// Entries of 16 bytes for WideSums, each of which has the number of its barrier.
inline constexpr std::size_t kWideEntries = sizeof(WideSums) / sizeof(std::uint64_t);

/// What a kernel gets of a team, by value.
struct RoundsTeamRef {
  SymmetricRef heap;                        ///< of the devices
  Symmetric<symmetric::RingCounter> words;  ///< of barriers: two of each device; only grow
  Symmetric<std::uint64_t> seen;            ///< of a device: the words when its last kernel ended
  Symmetric<std::uint64_t> blocks;          ///< of each device, with the barrier before which its kernel began
  Symmetric<std::byte> lists;               ///< at the owner: one of each sender
  Symmetric<std::byte> sums;                ///< WideSums of each device, of two barriers
  std::uint32_t capacity = 0;               ///< entries of each list
  std::uint32_t max_edges = 0;              ///< most edges of a round, by the barriers' units

  /// The word to which the blocks of `from` add at `to`, for a barrier.
  CHATTY_FN unsigned long long* Word(std::uint32_t epoch, std::uint32_t from, std::uint32_t to) const {
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    return reinterpret_cast<unsigned long long*>(&heap.At(words, to)[(epoch & 1) * heap.size + from].count);
  }
  /// Of this device: the words of barriers of that parity from `from`, when its last kernel ended.
  CHATTY_FN std::uint64_t* Seen(unsigned parity, std::uint32_t from) const {
    return heap.At(seen, heap.me) + (parity * heap.size + from);
  }
  /// At `to`: the number of the first barrier of the kernel of `from`, and its blocks in the lower half.
  CHATTY_FN std::uint64_t* Blocks(std::uint32_t from, std::uint32_t to) const { return heap.At(blocks, to) + from; }
  /// At `to`: entries of the counters of `from`, of a barrier of rounds of any width.
  CHATTY_FN std::byte* Sums(std::uint32_t epoch, std::uint32_t from, std::uint32_t to) const {
    return heap.At(sums, to) + ((epoch & 1) * std::size_t{heap.size} + from) * kWideEntries * kTeamEntryBytes;
  }
  /// The list from one device to another.
  CHATTY_FN std::byte* List(std::uint32_t from, std::uint32_t to) const {
    return heap.At(lists, to) + std::size_t{from} * capacity * kTeamEntryBytes;
  }
};

/// What a device has sent to another in rounds of a team.
struct TeamTraffic {
  std::uint64_t messages = 0;  ///< entries of lists, or bits
  std::uint64_t before = 0;    ///< edges that crossed
  std::uint64_t bytes = 0;     ///< of entries, or of words of bitmaps
};

/// The memory that devices share which make rounds together. The devices must outlive it.
class RoundsTeam {
 public:
  /// Throws as SymmetricHeap. Links between devices execute atomics (Device::HasNativeAtomics).
  explicit RoundsTeam(std::span<Device* const> devices);
  /// Ends and awaits what a failed run has left on the devices: a kernel may still write to another device's memory.
  ~RoundsTeam();
  RoundsTeam(const RoundsTeam&) = delete;
  RoundsTeam& operator=(const RoundsTeam&) = delete;
  /// Bytes on each of so many devices.
  static std::uint64_t Bytes(std::size_t devices);

  std::size_t size() const { return heap_.size(); }  ///< devices
  /// Devices of the team that share one GPU with this one, itself included.
  std::size_t SharingWith(std::size_t index) const;
  RoundsTeamRef ref(std::size_t index) const;  ///< what device `index` gets
  /// A run begins. After a failed one, and when numbers of barriers could come again, clears words, lists and what was seen:
  /// the numbers begin anew. Returns whether they do. Before any device uses the team.
  bool Begin();
  void Abort() noexcept { heap_.Abort(); }  ///< ends all waits of the run
  /// @{
  /// Barriers that device `index` has passed, on its own thread. As many as all others, if nothing failed.
  std::uint32_t epoch(std::size_t index) const { return epochs_[index].value; }
  void SetEpoch(std::size_t index, std::uint32_t epoch) { epochs_[index].value = epoch; }
  /// @}
  /// For whom device `index` waited when its kernel passed the deadline: which devices had not begun theirs, or else whose
  /// blocks were at another barrier. For the error's text. On the device's own thread, also while kernels run.
  std::string DescribeWait(std::size_t index);
  /// The same of rounds of any width: who has not reached the barrier of device `index`.
  std::string DescribeWideWait(std::size_t index);

 private:
  /// The last barrier of rounds of any width at which `from` has sent its counters to `to`; nothing if `to` does not answer.
  std::optional<std::uint64_t> LastSums(std::size_t from, std::size_t to);

  struct alignas(symmetric::kLine) Epoch {
    std::uint32_t value = 0;
  };

  SymmetricHeap heap_;
  RoundsTeamRef ref_;
  HeapReader reader_;
  std::vector<Epoch> epochs_;  // one a device
};

}  // namespace chatty::fused
