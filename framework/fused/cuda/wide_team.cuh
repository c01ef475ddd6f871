/// \file
/// The steps by which GPUs that make rounds of any width together exchange bits and counters: see fused/wide_team.h for the
/// algorithm and its memory orders.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/bitmap.h"
#include "chatty/framework/fused/cuda/grid_barrier.cuh"
#include "chatty/framework/fused/cuda/wide_rounds_memory.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/framework/fused/wide_team.h"
#include "chatty/framework/steps/cuda/frontier.cuh"
#include "chatty/framework/steps/cuda/unpack.cuh"

namespace chatty::fused::cuda {

/// What this GPU has of the rounds of several.
struct WideShare {
  std::uint64_t active_vertices = 0, active_edges = 0;
  std::int64_t candidate_edges = 0;  ///< by how much they have changed since the kernel began
  bool skips = false;                ///< the last round has been counted without being made
};

/// What the kernel gets of the other GPUs, by value.
struct WideTeamRef {
  RoundsTeamRef team;
  const HaloBits* peers = nullptr;  ///< one a device
  WideTeamWords* words = nullptr;   ///< of this GPU
  TeamTraffic* report = nullptr;    ///< mapped host memory, one a device: gets words->traffic
  std::uint32_t epoch = 0;          ///< barriers over GPUs that have been passed
  WideShare share;                  ///< before
  bool stops = false;               ///< a stop has been asked for before the kernel
};

namespace detail {

/// A GPU that has no others.
struct NoPeers {
  static constexpr bool kSeveral = false;
};

/// The other GPUs, as one thread of the kernel sees them. All threads have one and call its functions together.
class WidePeers {
 public:
  static constexpr bool kSeveral = true;

  /// `share`: in the block's shared memory, for its first thread.
  __device__ WidePeers(const WideTeamRef& a, WideShare* share) : a_(a), share_(*share), epoch_(a.epoch) {}

  /// A barrier over all blocks of all GPUs; `barrier` is of this GPU's. With kSums, the counters of all are added to sums().
  /// Returns false if the run has failed, the same for all blocks of the GPU.
  template <bool kSums>
  __device__ bool Sync(PlainGridBarrier& barrier, const WideControl& control) {
    ++epoch_;
    barrier.Arrive();
    if (blockIdx.x == 0 && steps::cuda::Warp() == 0) {
      barrier.AwaitArrivals();
      __syncwarp();
      Lead<kSums>(control, barrier.barriers());
    }
    if constexpr (kSums) pulls_ = false;
    bool failed = false;
    if (threadIdx.x == 0) {
      unsigned long long word;
      do {
        word = LoadAcquire(&a_.words->released);
      } while (word >> 1 != barrier.barriers());
      failed = (word & 1) != 0;
    }
    return __syncthreads_or(failed) == 0;
  }
  /// Of the last barrier with sums. By a block's first thread, until the next barrier.
  __device__ const WideSums& sums() const { return a_.words->sums; }
  __device__ std::uint32_t epoch() const { return epoch_; }
  __device__ WideShare& share() const { return share_; }

  /// Sends the halo's messages to their owners, and clears them here. `settles`: pushes have left out no vertex whose owner
  /// has had a message (as steps::cuda::SettleHalo).
  template <class P>
  __device__ void SendHalo(const steps::cuda::Grid& grid, const StateRef<P>& s, bool settles) const {
    using steps::cuda::kBlock;
    using steps::cuda::kFull;
    using steps::cuda::Lane;
    __shared__ LocalId halo_begin[kMaxDevices + 1];
    __shared__ unsigned sent[kMaxDevices], stored[kMaxDevices];
    const std::uint32_t parts = s.graph.parts;
    for (unsigned i = threadIdx.x; i <= parts; i += kBlock) halo_begin[i] = s.graph.halo_begin[i];
    for (unsigned i = threadIdx.x; i < parts; i += kBlock) sent[i] = stored[i] = 0;
    __syncthreads();
    const std::size_t begin = s.SentWord(), words = bits::Words(s.graph.local);
    for (std::size_t base = begin + std::size_t{steps::cuda::BlockRank(grid)} * kBlock; base < words;
         base += std::size_t{steps::cuda::BlockCount(grid)} * kBlock) {
      const std::size_t w = base + threadIdx.x;
      std::uint32_t left = w < words ? s.touched[w] & ~bits::Mask(w, s.graph.owned) : 0;
      if (left != 0) {
        s.touched[w] &= bits::Mask(w, s.graph.owned);
        if constexpr (Traits<P>::kSendsOnce) {
          if (settles) {
            const std::uint32_t before = s.sent[w - begin];
            left &= ~before;
            if (left != 0) s.sent[w - begin] = before | left;
          }
        }
      }
      for (unsigned some = __ballot_sync(kFull, left != 0); some != 0; some = __ballot_sync(kFull, left != 0)) {
        std::uint32_t owner = 0;
        if (left != 0) {
          const auto h = static_cast<LocalId>(w * 32 + __ffs(left) - 1);
          while (halo_begin[owner + 1] <= h) ++owner;
        }
        owner = __shfl_sync(kFull, owner, __ffs(some) - 1);
        const LocalId first = halo_begin[owner];
        const std::uint32_t mine = left & bits::Mask(w, halo_begin[owner + 1]) & ~bits::Mask(w, first);
        if (mine != 0) a_.peers[owner].messages_to[w - first / 32] = mine;
        const unsigned bits_sent = __reduce_add_sync(kFull, static_cast<unsigned>(__popc(mine)));
        const unsigned words_sent = __popc(__ballot_sync(kFull, mine != 0));
        if (Lane() == 0) {
          atomicAdd(&sent[owner], bits_sent);
          atomicAdd(&stored[owner], words_sent);
        }
        left &= ~mine;
      }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < parts; i += kBlock) {
      if (sent[i] == 0) continue;
      atomics::Add<true>(&s.control->buffer_count[i], std::uint32_t{sent[i]});
      AddBytes(i, std::uint64_t{stored[i]} * sizeof(std::uint32_t));
    }
  }

  /// Takes in what the others have sent, and clears it. `queues`: vertices with a first message are queued.
  template <class P>
  __device__ void TakeIn(const steps::cuda::Grid& grid, const StateRef<P>& s, bool queues) const {
    for (std::uint32_t peer = 0; peer < s.graph.parts; ++peer) {
      if (peer == s.graph.part) continue;
      const LocalId begin = s.border.begin[peer], size = s.border.begin[peer + 1] - begin;
      if (size == 0) continue;
      const HaloBits& bits = a_.peers[peer];
      if (queues) {
        TakeInQueued(grid, s, bits, s.border.vertices + begin, size);
        continue;
      }
      InboxRef inbox;
      inbox.buffer = reinterpret_cast<const std::byte*>(bits.messages_from);
      inbox.encoding = Encoding::kBitmap;
      inbox.first = bits.first;
      inbox.last = inbox.size = bits.first + size;
      steps::cuda::detail::ScatterBits</*kClears=*/true>(grid, inbox, s.border.vertices + begin, s.touched);
    }
  }

  /// Sends the frontier's bits of border vertices to the GPUs that have them in their halo, and clears the halo's bits here.
  template <class P>
  __device__ void SendFrontier(const steps::cuda::Grid& grid, const StateRef<P>& s) {
    steps::cuda::ClearActive(grid, s, /*halo_only=*/true);
    for (std::uint32_t peer = 0; peer < s.graph.parts; ++peer) {
      const LocalId size = s.border.begin[peer + 1] - s.border.begin[peer];
      if (peer == s.graph.part || size == 0) continue;
      const std::uint32_t sent = SendBorder(grid, s.active, a_.peers[peer], size);
      steps::cuda::AddFromBlock(&s.control->buffer_count[peer], sent);
    }
    pulls_ = true;
  }

  /// The halo's bits that the others have sent join the frontier's.
  template <class P>
  __device__ void TakeFrontier(const steps::cuda::Grid& grid, const StateRef<P>& s) const {
    for (std::uint32_t peer = 0; peer < s.graph.parts; ++peer) {
      const LocalId begin = s.graph.halo_begin[peer], size = s.graph.halo_begin[peer + 1] - begin;
      if (peer == s.graph.part || size == 0) continue;
      InboxRef inbox;
      inbox.buffer = reinterpret_cast<const std::byte*>(a_.peers[peer].frontier_from);
      inbox.encoding = Encoding::kBitmap;
      inbox.last = inbox.size = size;
      steps::cuda::detail::JoinBits(grid, inbox, s.active, begin);
    }
  }

  /// Reports what this GPU has sent. By the first block, when the others have left.
  __device__ void ReportTraffic() const {
    for (unsigned i = threadIdx.x; i < a_.team.heap.size; i += steps::cuda::kBlock) {
      a_.report[i] = a_.words->traffic[i];
      a_.words->traffic[i] = {};
    }
  }

 private:
  __device__ void AddBytes(std::uint32_t peer, std::uint64_t bytes) const {
    atomics::Add<true>(&a_.words->traffic[peer].bytes, bytes);
  }

  /// A lane takes a word at a time, and the warp its vertices together: most words are zero.
  template <class P>
  static __device__ void TakeInQueued(const steps::cuda::Grid& grid, const StateRef<P>& s, const HaloBits& bits,
                                      const LocalId* vertices, LocalId size) {
    using steps::cuda::Lane;
    const std::size_t words = bits::Words(std::size_t{bits.first} + size);
    const unsigned together = steps::cuda::WordsOfWarp(grid, words);
    const std::size_t warps = std::size_t{steps::cuda::BlockCount(grid)} * steps::cuda::kWarps;
    const std::size_t warp = std::size_t{steps::cuda::BlockRank(grid)} * steps::cuda::kWarps + steps::cuda::Warp();
    for (std::size_t base = warp * together; base < words; base += warps * together) {
      const std::size_t w = base + Lane();
      const std::uint32_t word = Lane() < together && w < words ? bits.messages_from[w] : 0;
      if (word != 0) bits.messages_from[w] = 0;
      const steps::cuda::WarpBits all(word);
      for (unsigned k = 0; k < all.total(); k += 32) {
        const bool mine = k + Lane() < all.total();
        unsigned bit;
        const unsigned owner = all.Owner(mine ? k + Lane() : all.total() - 1, &bit);
        LocalId v = 0;
        bool first = false;
        if (mine) {
          v = vertices[(base + owner) * 32 + bit - bits.first];
          first = steps::DeliverBit<P, true>(s, v, /*ask=*/true) == steps::Delivery::kFirst;
        }
        steps::cuda::Append(s.touched_queue, &s.control->touched_count, v, first);
      }
    }
  }

  /// The bits of `word` that `mask` has set, moved together to the lowest places: Hacker's Delight, 7-4.
  static __device__ std::uint32_t Compress(std::uint32_t word, std::uint32_t mask) {
    word &= mask;
    std::uint32_t zeros = ~mask << 1;  // to the right of each bit
#pragma unroll
    for (unsigned i = 0; i < 5; ++i) {
      std::uint32_t odd = zeros ^ (zeros << 1);
      odd ^= odd << 2;
      odd ^= odd << 4;
      odd ^= odd << 8;
      odd ^= odd << 16;
      const std::uint32_t moves = odd & mask, moved = word & moves;
      mask = (mask ^ moves) | (moves >> (1u << i));
      word = (word ^ moved) | (moved >> (1u << i));
      zeros &= ~odd;
    }
    return word;
  }

  /// Sends the bits of a border of `size` vertices. Returns how many of this lane's are set. A warp takes kChunk vertices,
  /// so each word is written once, a line at a time.
  static __device__ std::uint32_t SendBorder(const steps::cuda::Grid& grid, const std::uint32_t* active,
                                             const HaloBits& bits, LocalId size) {
    using steps::cuda::kFull;
    using steps::cuda::Lane;
    __shared__ std::uint32_t chunks[steps::cuda::kWarps][32];
    static_assert(sizeof(chunks[0]) * 8 == BorderWords::kChunk);
    std::uint32_t* const chunk = chunks[steps::cuda::Warp()];
    const BorderWords& border = bits.border;
    const std::size_t warps = std::size_t{steps::cuda::BlockCount(grid)} * steps::cuda::kWarps;
    const std::size_t warp = std::size_t{steps::cuda::BlockRank(grid)} * steps::cuda::kWarps + steps::cuda::Warp();
    std::uint32_t set = 0;
    for (std::size_t c = warp; c * BorderWords::kChunk < size; c += warps) {
      const auto begin = static_cast<std::int64_t>(c * BorderWords::kChunk);
      chunk[Lane()] = 0;
      __syncwarp();
      for (std::uint32_t base = border.first[c];; base += 32) {
        const std::uint32_t entry = base + Lane();
        const std::int64_t rank = entry < border.entries ? std::int64_t{border.rank[entry]} - begin : BorderWords::kChunk;
        const bool mine = rank < static_cast<std::int64_t>(BorderWords::kChunk);
        if (!__any_sync(kFull, mine)) break;
        if (!mine) continue;
        const std::uint32_t mask = border.mask[entry];
        std::uint32_t word = active[border.word[entry]] & mask;
        if (word == 0) continue;
        if (mask != kFull) word = Compress(word, mask);
        // The chunk's first entry may begin in the chunk before, and its last one end in the next.
        const std::uint64_t placed = rank < 0 ? word >> -rank : std::uint64_t{word} << (rank % 32);
        const std::int64_t at = rank < 0 ? 0 : rank / 32;
        const auto low = static_cast<std::uint32_t>(placed), high = static_cast<std::uint32_t>(placed >> 32);
        if (low != 0) atomicOr(&chunk[at], low);
        if (high != 0 && at + 1 < 32) atomicOr(&chunk[at + 1], high);
      }
      __syncwarp();
      const std::size_t w = c * (BorderWords::kChunk / 32) + Lane();
      const std::uint32_t out = chunk[Lane()];
      __syncwarp();
      if (w < bits::Words(size)) bits.frontier_to[w] = out;
      set += static_cast<std::uint32_t>(__popc(out));
    }
    return set;
  }

  /// The first warp's part of a barrier over GPUs, once all blocks of this one have arrived.
  template <bool kSums>
  __device__ void Lead(const WideControl& control, std::uint64_t barrier) {
    using steps::cuda::Lane;
    const SymmetricRef& heap = a_.team.heap;
    WideSums mine;
    if constexpr (kSums) {
      mine.active_vertices = atomics::Load(&control.control.active_vertices);
      mine.active_edges = atomics::Load(&control.control.active_edges);
      mine.candidate_edges = static_cast<std::uint64_t>(atomics::Load(&control.control.candidate_edges));
      mine.edges_touched = atomics::Load(&control.control.edges_touched);
      mine.stops = atomics::Load(&control.stop);
    }
    chatty::detail::FenceAcqRel();
    for (std::uint32_t peer = Lane(); peer < heap.size; peer += 32) {
      if (peer != heap.me) StoreSums<kSums>(peer, mine);
      if constexpr (kSums) CountTraffic(peer, control.control);
    }
    WideSums sums;
    bool failed = false;
    for (std::uint32_t base = 0; base < heap.size && !failed; base += 32) {
      const std::uint32_t peer = base + Lane();
      WideSums theirs = peer == heap.me ? mine : WideSums{};
      const bool waits = peer < heap.size && peer != heap.me;
      failed = !Poll([&] { return !waits || LoadSums<kSums>(peer, &theirs); });
      Add(&sums, theirs);
    }
    chatty::detail::FenceAcqRel();
    __syncwarp();  // before one lane releases what all have polled
    for (unsigned d = 16; d > 0; d /= 2) Add(&sums, Shuffled(sums, d));
    if (Lane() == 0) {
      if constexpr (kSums) a_.words->sums = sums;
      StoreRelease(&a_.words->released, barrier << 1 | (failed ? 1 : 0));
    }
  }

  /// Counts what a round has sent to another GPU. A pull sends changed vertices, one by one as before.
  __device__ void CountTraffic(std::uint32_t peer, const Control& control) const {
    TeamTraffic& traffic = a_.words->traffic[peer];
    const std::uint64_t sent = atomics::Load(&control.buffer_count[peer]);
    traffic.messages += sent;
    traffic.before += pulls_ ? sent : atomics::Load(&control.raw_messages[peer]);
    if (pulls_ && sent != 0) AddBytes(peer, bits::Words(a_.peers[peer].border.vertices) * sizeof(std::uint32_t));
  }

  /// Polls until arrived() is true of all lanes of the warp. Returns false if the run has failed.
  template <class Arrived>
  __device__ bool Poll(const Arrived& arrived) const {
    for (unsigned tries = 1; !__all_sync(steps::cuda::kFull, arrived()); ++tries) {
      if (tries % symmetric::kTurnsPerAbortCheck != 0) continue;
      const bool aborted = steps::cuda::Lane() == 0 && chatty::detail::LoadRelaxed(a_.team.heap.abort) != 0;
      if (__any_sync(steps::cuda::kFull, aborted)) return false;
    }
    return true;
  }
  /// @{
  /// The counters of a GPU. A barrier without sums has the first entry alone.
  template <bool kSums>
  __device__ void StoreSums(std::uint32_t to, const WideSums& sums) const {
    std::uint64_t words[kWideEntries];
    memcpy(words, &sums, sizeof(sums));
    std::byte* const entries = a_.team.Sums(epoch_, a_.team.heap.me, to);
#pragma unroll
    for (std::size_t i = 0; i < (kSums ? kWideEntries : 1); ++i) {
      chatty::detail::StorePair(entries + i * kTeamEntryBytes, epoch_, words[i]);
    }
  }
  template <bool kSums>
  __device__ bool LoadSums(std::uint32_t from, WideSums* sums) const {
    std::uint64_t words[kWideEntries] = {};
    const std::byte* const entries = a_.team.Sums(epoch_, from, a_.team.heap.me);
    bool all = true;
#pragma unroll
    for (std::size_t i = 0; i < (kSums ? kWideEntries : 1); ++i) {
      const ulonglong2 entry = chatty::detail::LoadPair(entries + i * kTeamEntryBytes);
      all = all && entry.x == epoch_;
      words[i] = entry.y;
    }
    memcpy(sums, words, sizeof(words));
    return all;
  }
  /// @}
  static __device__ void Add(WideSums* sums, const WideSums& more) {
    sums->active_vertices += more.active_vertices;
    sums->active_edges += more.active_edges;
    sums->candidate_edges += more.candidate_edges;
    sums->edges_touched += more.edges_touched;
    sums->stops += more.stops;
  }
  static __device__ WideSums Shuffled(const WideSums& sums, unsigned distance) {
    unsigned long long words[kWideEntries];
    memcpy(words, &sums, sizeof(sums));
    for (unsigned long long& word : words) word = __shfl_xor_sync(steps::cuda::kFull, word, distance);
    WideSums other;
    memcpy(&other, words, sizeof(other));
    return other;
  }

  const WideTeamRef& a_;
  WideShare& share_;
  std::uint32_t epoch_;
  bool pulls_ = false;  // the round is a pull that has sent its frontier
};

}  // namespace detail

}  // namespace chatty::fused::cuda
