/// \file
/// Rounds of any width of several GPUs, each of which has a part of the graph, in resident kernels: what the devices share
/// besides a RoundsTeam. `fused/cuda/wide_team.cuh` has the kernel's part, and `tests/model/wide.pml` a model of it.
/// Persistent kernels that exchange halos by themselves are the CPU-Free model's (Ismayilov et al., ICS'23).
///
/// Messages of these programs are bits, so a halo is a bitmap on the way to its owners, and a border a bitmap on the way
/// back. A round, on each GPU:
///
///   push: edges of the frontier set bits of inboxes, those of the halo included; a barrier of the GPU's blocks
///     words of the halo with a bit go to the owners' memory and are cleared here; a barrier over all GPUs
///     owners take the words in and clear them; a barrier of the GPU's blocks
///   pull: bits of the frontier's border vertices go to each GPU that has these in its halo, numbered as there: words of the
///     frontier are compressed by a mask of the border (Warren, Hacker's Delight, 7-4); a barrier over all GPUs
///     the bits of the halo join the frontier's; a barrier of the GPU's blocks
///     vertices look for active sources; a barrier of the GPU's blocks
///   vertices with messages are updated: the next frontier
///   barrier over all GPUs, which carries the round's counters: all GPUs have the same sums, and so decide alike
///
/// A barrier over GPUs: all blocks arrive at words of their own GPU. One warp of the first block awaits them, stores the
/// barrier's number, with its GPU's counters if they are wanted, at each other GPU, and polls for theirs. Then it releases
/// its GPU's blocks by a word that says whether the run has failed. So all blocks of a GPU leave together, and no wait of
/// theirs needs to know of other GPUs. The alternative, in which all blocks look at all GPUs' words, is for rounds of
/// microseconds (rounds_team.h).
///
/// Memory orders (PTX): blocks arrive by `red.release.gpu`, and the warp polls by `ld.acquire.gpu`, then calls
/// `fence.acq_rel.sys`, which orders what all blocks have stored at other GPUs before the stores of the counters (causality
/// order is transitive over scopes). An entry of counters is one store of 16 bytes with the barrier's number. The lanes call
/// the fence again behind their polls and meet (`bar.warp.sync`), and one of them releases by `st.release.gpu`, which each
/// block's first thread polls by `ld.acquire.gpu`. Entries of two barriers take turns: a GPU writes those of barrier e + 2
/// after all have arrived at e + 1, where their warps had read those of e.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/partition/subgraph.h"

namespace chatty::fused {

/// The border towards another device as words of a bitmap of owned vertices, without those that have none. All arrays are
/// in device memory.
struct BorderWords {
  static constexpr std::size_t kChunk = 1024;  ///< bits that a warp sends at a time
  const std::uint32_t* word = nullptr;         ///< index of the word
  const std::uint32_t* mask = nullptr;         ///< vertices of the word that are in the border; not 0
  const std::uint32_t* rank = nullptr;         ///< vertices of the border in words before
  const std::uint32_t* first = nullptr;        ///< of each kChunk vertices of the border: the entry that has the first
  std::uint32_t entries = 0;                   ///< of word, mask and rank
  LocalId vertices = 0;                        ///< of the border
};

/// Another device, as a device sees it: where their bits go, and where that device's come. All are addresses that the
/// device's kernels use.
struct HaloBits {
  /// Words of this device's bitmaps with its halo vertices of that owner, the first of them at 0: at the owner.
  std::uint32_t* messages_to = nullptr;
  std::uint32_t* messages_from = nullptr;        ///< what that device has sent to this one; bit `first` is border vertex 0
  std::uint32_t first = 0;                       ///< below 32
  BorderWords border;                            ///< this device's vertices in the other one's halo
  std::uint32_t* frontier_to = nullptr;          ///< a bit for each of them: there
  const std::uint32_t* frontier_from = nullptr;  ///< a bit for each halo vertex that the other device owns
};

/// The memory for bits on the way between devices that make rounds of any width together. The devices must outlive it.
class WideTeam {
 public:
  /// Throws OutOfMemoryError. Each device can address the others' memory. `parts`: of the same devices, in their order; not
  /// used afterwards.
  WideTeam(std::span<Device* const> devices, std::span<const Subgraph> parts);
  /// Most bytes on a device with so many vertices of its own, in its halo, and in all borders together.
  static std::uint64_t Bytes(std::size_t devices, std::uint64_t owned, std::uint64_t halo, std::uint64_t border);

  /// After a failed run, whose bits may be left. No kernel runs.
  void Clear();
  /// What device `index` gets: an entry a device, in its memory.
  const HaloBits* peers(std::size_t index) const { return tables_[index].data(); }

 private:
  std::vector<Device*> devices_;
  std::vector<Buffer<std::uint32_t>> bits_;     // of each device: from each other one, messages and frontier
  std::vector<Buffer<std::uint32_t>> borders_;  // arrays of BorderWords
  std::vector<Buffer<HaloBits>> tables_;
};

}  // namespace chatty::fused
