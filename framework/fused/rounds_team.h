/// \file
/// Exact rounds of several GPUs, each of which has a part of the graph, in resident kernels that meet without the host: what
/// the devices share. Pregel's supersteps (SIGMOD'10) in persistent kernels as in the CPU-Free model (Ismayilov et al.,
/// ICS'23). `fused/cuda/rounds_team.cuh` has the kernel, and `tests/model/rounds.pml` a model of it.
///
/// A round, on each GPU:
///
///   barrier over all blocks of all GPUs, which carries each GPU's active vertices and edges; each block loads the
///     first vertices that it keeps while it waits; once the GPU's own blocks have met, it knows what they have spilled
///   all blocks of all GPUs compute the same sums, and so decide alike: one more round, or the end
///   edges of the frontier deliver messages: to own vertices into inboxes, to others into a list at the owner
///   barrier over all blocks of all GPUs, which carries the lengths of the lists
///   messages of the lists are delivered to inboxes; then the GPU's own blocks meet, if there was any
///   vertices with messages are updated: the next frontier
///
/// A list is of one sender and one owner, in the owner's memory. It has one entry for each edge that crosses, without those
/// that the sender's copy of the vertex filters (monotone programs). A copy that combined first would have its message only
/// when all blocks of the sender have met, which takes longer than the entries that it saves: a round has few edges. So a
/// list has room for as many entries as a round may have edges, and cannot overflow.
///
/// Memory orders (PTX; host devices have no such engine, because their rounds meet in shared memory):
///
/// - An entry is stored by `st.relaxed.sys` and loaded by `ld.relaxed.sys`. Between them is a barrier.
/// - A barrier over GPUs: a block's threads meet (`bar.sync`), and one thread counts the block by `atom.acq_rel.gpu`. The
///   last block's last warp calls `fence.acq_rel.sys` and stores a word at each GPU, `st.relaxed.sys`. All blocks poll the
///   words at home, `ld.acquire.sys`, by a warp, and meet again. So what any thread of any GPU did before is seen by all
///   threads of all GPUs behind it. A block that has seen its own GPU's word alone may read what its own GPU's blocks wrote.
/// - A word has the number of its barrier, and counts of its sender: one store carries both. Two places take turns. The
///   word of barrier e is overwritten by that of e + 2, whose sender has passed e + 1, where all blocks of this GPU had
///   arrived: they had read e.
/// - A barrier of the GPU's own blocks: `atom.acq_rel.gpu` on a counter that only grows, which blocks poll by
///   `ld.acquire.gpu`.
/// - Counters that all blocks change are touched by atomics of device scope. The last block that arrives reads and resets
///   the lengths of the lists: the others have counted before, and count again behind the barrier.
/// - The abort word is host memory. One warp of a GPU's first block reads it, in waits, and tells the other blocks by a word
/// of the
///   GPU (relaxed: a block that sees it leaves, and orders nothing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/comm/symmetric/heap.h"
#include "chatty/comm/symmetric/ring.h"
#include "chatty/core/macros.h"
#include "chatty/framework/frontier_policy.h"

namespace chatty::fused {

/// Most edges of a round of so many devices together, with more of which rounds of many launches do better: entries of a
/// list. Of many devices each list is shorter, because a device has one from each.
constexpr std::uint32_t TeamRoundEdges(std::size_t devices) {
  constexpr std::size_t kFew = 8;
  return static_cast<std::uint32_t>(devices <= kFew ? kRoundsPolicy.wide : kRoundsPolicy.wide * kFew / devices);
}
/// Bytes of a list's entry whose message has so many: a number of a vertex, and the message.
constexpr std::size_t TeamEntryBytes(std::size_t message) { return message <= 4 ? 8 : 16; }

/// What a GPU tells all others of its frontier, in the word of a barrier. Edges beyond kMaxEdges count as so many.
struct TeamFrontier {
  static constexpr unsigned kEpochBits = 16;                         ///< of the barrier's number
  static constexpr unsigned kActiveBits = 18;                        ///< of `active`
  static constexpr unsigned kEdgeBits = 28;                          ///< of `edges`
  static constexpr std::uint32_t kMaxEdges = (1u << kEdgeBits) - 1;  ///< see above
  std::uint32_t active = 0;  ///< vertices: at most TeamRoundEdges, as many as edges of the round before
  std::uint64_t edges = 0;   ///< of these
  bool wide = false;         ///< one of them has a long row, or all have too many edges
  bool stop = false;         ///< the host has asked for a stop

  /// The word of a barrier.
  CHATTY_FN std::uint64_t Pack(std::uint32_t epoch) const {
    const std::uint64_t bounded = edges < kMaxEdges ? edges : kMaxEdges;
    return (epoch & ((1u << kEpochBits) - 1)) | std::uint64_t{stop} << kEpochBits | std::uint64_t{wide} << (kEpochBits + 1) |
           std::uint64_t{active} << (kEpochBits + 2) | bounded << (kEpochBits + 2 + kActiveBits);
  }
  /// Adds what a word says.
  CHATTY_FN void Add(std::uint64_t word) {
    stop = stop || (word >> kEpochBits & 1) != 0;
    wide = wide || (word >> (kEpochBits + 1) & 1) != 0;
    active += ActiveIn(word);
    edges += word >> (kEpochBits + 2 + kActiveBits);
  }
  /// Its sender's active vertices.
  CHATTY_FN static std::uint32_t ActiveIn(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> (kEpochBits + 2)) & ((1u << kActiveBits) - 1);
  }
};
static_assert(TeamFrontier::kEpochBits + 2 + TeamFrontier::kActiveBits + TeamFrontier::kEdgeBits == 64);
static_assert(kRoundsPolicy.wide < 1u << TeamFrontier::kActiveBits);

/// The length of a list, in the word of a barrier.
struct TeamListLength {
  /// The word.
  CHATTY_FN static std::uint64_t Pack(std::uint32_t epoch, std::uint32_t entries) {
    return (epoch & ((1u << TeamFrontier::kEpochBits) - 1)) | std::uint64_t{entries} << TeamFrontier::kEpochBits;
  }
  /// The entries.
  CHATTY_FN static std::uint32_t In(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> TeamFrontier::kEpochBits);
  }
};
/// Whether a word is of this barrier.
CHATTY_FN bool IsOfBarrier(std::uint64_t word, std::uint32_t epoch) {
  return ((word ^ epoch) & ((1u << TeamFrontier::kEpochBits) - 1)) == 0;
}

/// What a kernel gets of a team, by value.
struct RoundsTeamRef {
  SymmetricRef heap;                        ///< of the devices
  Symmetric<symmetric::RingCounter> words;  ///< of barriers: two of each device
  Symmetric<std::byte> lists;               ///< at the owner: one of each sender
  std::uint32_t capacity = 0;               ///< entries of each list: most edges of a round
  std::uint32_t entry_bytes = 0;            ///< TeamEntryBytes

  /// The word that `from` writes at `to` for a barrier.
  CHATTY_FN std::uint64_t* Word(std::uint32_t epoch, std::uint32_t from, std::uint32_t to) const {
    return &heap.At(words, to)[(epoch & 1) * heap.size + from].count;
  }
  /// The list from one device to another.
  CHATTY_FN std::byte* List(std::uint32_t from, std::uint32_t to) const {
    return heap.At(lists, to) + std::uint64_t{from} * capacity * entry_bytes;
  }
};

/// Messages that a device has sent to another in rounds of a team.
struct TeamTraffic {
  std::uint64_t messages = 0;  ///< entries of lists
  std::uint64_t before = 0;    ///< edges that crossed
};

/// The memory that devices share which make rounds together. The devices must outlive it.
class RoundsTeam {
 public:
  /// For messages of so many bytes. Throws as SymmetricHeap.
  RoundsTeam(std::span<Device* const> devices, std::size_t message_bytes);
  /// Ends and awaits what a failed run has left on the devices: a kernel may still write to another device's memory.
  ~RoundsTeam();
  RoundsTeam(const RoundsTeam&) = delete;
  RoundsTeam& operator=(const RoundsTeam&) = delete;
  /// Bytes on each of so many devices.
  static std::uint64_t Bytes(std::size_t devices, std::size_t message_bytes);

  std::size_t size() const { return heap_.size(); }  ///< devices
  /// Devices of the team that share one GPU with this one, itself included.
  std::size_t SharingWith(std::size_t index) const;
  RoundsTeamRef ref(std::size_t index) const;  ///< what device `index` gets
  /// A run begins: after a failed one, empties the words of barriers. On the first device's thread, before any device uses
  /// the team.
  void Begin();
  void Abort() noexcept { heap_.Abort(); }  ///< ends all waits of the run
  /// @{
  /// Barriers that device `index` has passed, on its own thread. As many as all others, if nothing failed.
  std::uint32_t epoch(std::size_t index) const { return epochs_[index].value; }
  void SetEpoch(std::size_t index, std::uint32_t epoch) { epochs_[index].value = epoch; }
  /// @}

 private:
  struct alignas(symmetric::kLine) Epoch {
    std::uint32_t value = 0;
  };

  SymmetricHeap heap_;
  RoundsTeamRef ref_;
  std::vector<Epoch> epochs_;  // one a device
};

}  // namespace chatty::fused
