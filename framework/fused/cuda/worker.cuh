/// \file
/// One warp's part in a fused run: see relax.cuh. How it follows rows and sends messages is in worker_rows.cuh, and where it
/// puts items in worker_lists.cuh.
#pragma once

#include "chatty/framework/fused/cuda/messages.cuh"
#include "chatty/framework/fused/cuda/values.cuh"

namespace chatty::fused::cuda::detail {

/// Where warps of a block that have nothing to do wait for items of the others. Atomics alone touch it.
struct IdleWarps {
  unsigned mask;               ///< a bit a warp
  unsigned donations[kWarps];  ///< items donated to a warp, in its part of RelaxRef::donations
};

/// One warp's part in the kernel. All lanes call every function. `Peers` is None, or Messages<P> where the device has a part
/// of the graph: the warp then sends messages to the vertices of other devices.
template <class P, Rows kRows, class Peers = None>
class RelaxWorker : protected Values<P, kRows> {
  using Base = Values<P, kRows>;

 public:
  using typename Base::Message;
  using typename Base::Value;
  using Shared = SharedOf<P>;
  using typename Base::Weight;
  using Entry = ItemOf<P>;
  static constexpr bool kOrders = Traits<P>::kOrders;
  using Base::kWeighted;

  static constexpr bool kHasPeers = !std::is_same_v<Peers, None>;

  __device__ RelaxWorker(const RelaxRef<P>& a, unsigned char* shared, IdleWarps* idle, Peers peers = {})
      : Base(a), a_(a), s_(a.s), idle_(idle), peers_(peers) {
    auto* const queues = reinterpret_cast<QueueItem<P>*>(shared);
    auto* const nears = reinterpret_cast<Entry*>(queues + kWarps * kLocalQueue);
    queue_ = queues + Warp() * kLocalQueue;
    near_ = nears + Warp() * kNearBuffer;
    if constexpr (kOrders) far_ = nears + kWarps * kNearBuffer + Warp() * kFarBuffer;
  }

  __device__ Entry* DonationsTo(unsigned warp) const {
    return a_.donations + (std::size_t{blockIdx.x} * kWarps + warp) * kDonation;
  }
  /// Donates half of the local queue to an idle warp, if there is one.
  __device__ void Donate();
  /// Waits until another warp of the block donates items, or all have none. Returns the number of items.
  __device__ unsigned AwaitDonation();

  /// Before a step: where to put items, and which are below.
  __device__ void Begin(StepCounts* counts, Entry* next, unsigned far_list, double limit, double width,
                        std::uint32_t hop_limit, unsigned budget, std::uint64_t step = 0) {
    counts_ = counts;
    protocol_step_ = step;
    next_ = next;
    far_list_ = far_list;
    limit_ = limit;
    near_limit_ = limit + width;
    hop_limit_ = hop_limit;
    budget_ = min(budget, kMostItems);
    spills_ = false;
    step_items_ = step_improved_ = step_edges_ = 0;
    this->first = 0;
    work_ = 0;
    if constexpr (kOrders || kHasPeers) begun_ = static_cast<unsigned>(clock());
  }

  /// Takes items of a list and of the local queue and what comes of them, until nothing below the limit is left. The warp's
  /// instructions are part of its items' chain: if items are few, four lanes share one, a lane an edge; if they are many, a
  /// lane has one.
  __device__ void Drain(ItemSlice<Entry> items) {
    while (true) {
      const unsigned there = items.count + (tail_ - head_);
      if (there == 0) break;
      if (there <= kFew) {
        WorkOnFew(items);
      } else {
        WorkOnMany(items);
      }
      if constexpr (kHasPeers) {
        if (aborted_) {  // nobody reads what is left
          items.count = 0;
          head_ = tail_;
          return;
        }
      }
      if (tail_ - head_ > kFew) Donate();
      if ((budget_ < work_ && (tail_ - head_ >= kSpillFrom || work_ > kMostItems)) || IsLate()) Spill();
    }
  }
  /// Drains two lists and what other warps of the block donate.
  __device__ void Work(ItemSlice<Entry> items, ItemSlice<Entry> later) {
    while (true) {
      Drain(items);
      items = later;
      later.count = 0;
      if (items.count == 0) items = {DonationsTo(Warp()), AwaitDonation()};
      if (items.count == 0) return;
    }
  }

  /// All warps take part of every long row.
  __device__ void WorkOnHubs(unsigned hubs, unsigned warp, unsigned warps);

  /// At a step's end: all items are in lists.
  __device__ void Flush() {
    FlushNear();
    if constexpr (kOrders) FlushFar();
  }

  /// Items since the last call, and improvements of vertices that had the identity, of all lanes.
  __device__ unsigned long long StepDone() {
    const unsigned done = __reduce_add_sync(kFull, step_items_), first = __reduce_add_sync(kFull, this->first);
    done_ += step_items_;
    improved += step_improved_;
    edges += step_edges_;
    step_items_ = step_improved_ = step_edges_ = 0;
    this->first = 0;
    return static_cast<unsigned long long>(first) << 32 | done;
  }

  /// A lane's, of the whole run.
  std::uint32_t hops = 0;
  unsigned long long edges = 0, improved = 0;
  __device__ unsigned long long done() const { return done_; }

 protected:
  using Base::CurrentValue;
  using Base::FetchRow;
  using Base::FetchWeight;
  using Base::FetchWeights;
  using Base::FetchWord;
  using Base::HasRecords;
  using Base::Improves;
  using Base::IsNan;
  using Base::Update;
  using Base::UpdateBySwap;
  using Base::WordOf;
  using typename Base::Word;
  /// A local queue with fewer items is not dealt out: they are a chain.
  static constexpr unsigned kSpillFrom = 16;
  /// Rows of so many edges and more look at their targets before updates: most of them improve nothing.
  static constexpr unsigned kLook = 64;
  /// Items with a lane for each of their edges.
  static constexpr unsigned kFew = 32 / RowRecord::kEdges;

  /// Whether the step has lasted so long that the warp hands its items out.
  __device__ bool IsLate() const {
    if constexpr (kOrders) {
      // Lanes read the clock apart, and have to agree.
      return a_.patience != ~0u && __any_sync(kFull, static_cast<unsigned>(clock()) - begun_ > a_.patience);
    } else {
      return false;
    }
  }
  __device__ Shared ShareOf(LocalId v, const Value& value) const {
    if constexpr (Traits<P>::kHasShare) {
      return s_.program.Share(value, s_.At(v));
    } else {
      return value;
    }
  }
  __device__ static Value ValueIn(const Entry& item) { return atomics::BitCast<Value>(item.value); }
  __device__ bool IsBelow(const Entry& item) const {
    if constexpr (kOrders) {
      return steps::GoesNow(steps::PriorityOf(s_.program, ValueIn(item)), limit_);
    } else {
      return item.hops < hop_limit_;
    }
  }
  __device__ Message MessageOver(LocalId source, LocalId target, const Shared& share, const Weight& weight) const {
    const Edge<Weight> edge{s_.graph.Global(source), s_.graph.Global(target), weight};
    return CallComputeScatter(s_.program, share, edge, a_.round());
  }
  /// The item of a target that was improved to `value`.
  __device__ static Entry Next(const Entry& from, LocalId target, Word value) {
    if constexpr (kOrders) {
      return {target, value};
    } else {
      return {target, from.hops + 1, value};
    }
  }

  /// Lanes' items: from the list, then from the local queue.
  struct Taken {
    unsigned listed, all;
  };
  __device__ Taken Take(unsigned most, ItemSlice<Entry>& items) {
    const unsigned listed = min(most, items.count), ringed = min(most - listed, tail_ - head_);
    items = {items.items + listed, items.count - listed};
    head_ += ringed;
    work_ += listed + ringed;
    return {listed, listed + ringed};
  }
  /// After an item and its row are there: whether it is to be followed now, or waits for a higher limit.
  __device__ void Judge(const Entry& item, bool& live, bool& waits) const {
    live = atomics::Load(WordOf(item.vertex)) == item.value;
    waits = live && !IsBelow(item);
    live = live && !waits;
  }
  __device__ void CountItem(const Entry& item, bool live) {
    step_items_ += live;
    if constexpr (!kOrders) hops = live ? max(hops, item.hops + 1) : hops;
  }

  __device__ void WorkOnFew(ItemSlice<Entry>& items) {
    const unsigned which = Lane() / RowRecord::kEdges, edge = Lane() % RowRecord::kEdges;
    const Entry* const at = items.items;
    const unsigned head = head_;
    const Taken taken = Take(kFew, items);
    const bool is_listed = which < taken.listed;
    bool live = which < taken.all, waits = false;
    Entry item{};
    std::uint32_t word = RowRecord::kNone;
    [[maybe_unused]] RowRecord place{};  // without records
    if (is_listed) {
      item = LoadItem(at + which);
    } else if (live) {
      const QueueItem<P>& entry = queue_[(head + which - taken.listed) % kLocalQueue];
      item = entry.item;
      if constexpr (!kOrders) {
        if (HasRecords()) {
          word = entry.row.words[edge];
        } else {
          place = entry.row;
        }
      }
    }
    __syncwarp();  // the local queue's places are free
    Weight weight{};
    if (kOrders ? live : is_listed) {
      if (HasRecords()) {
        word = FetchWord(item.vertex, edge);
        if constexpr (kWeighted) weight = FetchWeight(item.vertex, edge);
      } else {
        place = FetchRow(item.vertex);
      }
      Judge(item, live, waits);
    } else if constexpr (kWeighted) {
      if (live && HasRecords()) weight = FetchWeight(item.vertex, edge);
    }
    if (live && !HasRecords()) {
      word = this->WordOfRow(place, edge);
      if constexpr (kWeighted) weight = this->WeightOfRow(place, edge);
    }
    const std::uint32_t last_word = __shfl_sync(kFull, word, Lane() | (RowRecord::kEdges - 1));
    const bool is_long = live && last_word == RowRecord::kLong;
    if (edge == 0) CountItem(item, live);
    Shared share{};
    if (live) share = ShareOf(item.vertex, ValueIn(item));
    Word value{};
    RowRecord row{};
    bool improves = false;
    bool sends = false;
    Message message{};
    if (live && !is_long && word != RowRecord::kNone) {
      step_edges_ += 1;
      message = MessageOver(item.vertex, word, share, weight);
      if (IsHalo(word)) {
        sends = ImprovesHalo(word, message);
      } else {
        improves = Update(word, message, &value, /*look=*/false, [&] {
          if constexpr (!kOrders) row = FetchRow(word);
        });
      }
    }
    Put(improves, Next(item, word, value), row);
    Send(sends, item, word, message);
    if (__any_sync(kFull, is_long || waits)) {
      const unsigned first = Lane() & ~(RowRecord::kEdges - 1);
      const RowRecord range = {{__shfl_sync(kFull, word, first), __shfl_sync(kFull, word, first | 1),
                                __shfl_sync(kFull, word, first | 2), last_word}};
      FollowLong(item, share, range, is_long && edge == 0);
      PutOut(waits && edge == 0, item, /*below=*/false);
    }
  }

  __device__ void WorkOnMany(ItemSlice<Entry>& items) {
    const Entry* const at = items.items;
    const unsigned head = head_;
    const Taken taken = Take(32, items);
    const bool is_listed = Lane() < taken.listed;
    bool live = Lane() < taken.all, waits = false;
    Entry item{};
    RowRecord row{{RowRecord::kNone, RowRecord::kNone, RowRecord::kNone, RowRecord::kNone}};
    if (is_listed) {
      item = LoadItem(at + Lane());
    } else if (live) {
      const QueueItem<P>& entry = queue_[(head + Lane() - taken.listed) % kLocalQueue];
      item = entry.item;
      if constexpr (!kOrders) row = entry.row;
    }
    __syncwarp();  // the local queue's places are free
    RowRecord weights{};
    if (kOrders ? live : is_listed) {
      row = FetchRow(item.vertex);
      if constexpr (kWeighted) {
        if (HasRecords()) weights = FetchWeights(item.vertex);
      }
      Judge(item, live, waits);
    } else if constexpr (kWeighted) {
      if (live && HasRecords()) weights = FetchWeights(item.vertex);
    }
    if (live && !HasRecords()) {
      const RowRecord place = row;
#pragma unroll
      for (unsigned j = 0; j < RowRecord::kEdges; ++j) {
        row.words[j] = this->WordOfRow(place, j);
        if constexpr (kWeighted) weights.words[j] = atomics::BitCast<std::uint32_t>(this->WeightOfRow(place, j));
      }
    }
    const bool is_long = live && row.words[RowRecord::kEdges - 1] == RowRecord::kLong;
    CountItem(item, live);
    Shared share{};
    if (live) share = ShareOf(item.vertex, ValueIn(item));
    // In the order of a Priority the vote takes longer than it saves.
    if (kOrders || __any_sync(kFull, live && !is_long)) FollowShort(item, share, row, weights, live && !is_long);
    if (__any_sync(kFull, is_long || waits)) {
      FollowLong(item, share, row, is_long);
      PutOut(waits, item, /*below=*/false);
    }
  }

  /// All updates of a lane are under way together, and with them the fetches of the targets' rows.
  __device__ void FollowShort(const Entry& item, const Shared& share, const RowRecord& row, const RowRecord& weights,
                              bool live);
  __device__ void FetchRows(const RowRecord& row, const bool (&there)[RowRecord::kEdges],
                            RowRecord (&rows)[RowRecord::kEdges]) const;
  /// Brings into the L2 what a local queue lacks of the row of an item that goes there. In the order of hops, where `row`
  /// came with the item, these are the row's first edges, if `row` only says where they are.
  __device__ void PrefetchRow(LocalId v, [[maybe_unused]] const RowRecord& row) const;
  /// Puts a lane's improved targets into the local queue, if all lanes' fit, and what lies beyond the limit into lists.
  __device__ void PutAll(const Entry& item, const RowRecord& row, const Word (&value)[RowRecord::kEdges],
                         const RowRecord (&rows)[RowRecord::kEdges], const bool (&improves)[RowRecord::kEdges]);
  /// The long rows of lanes' items end to end, 32 edges at a time; the longest go to the list of hubs.
  __device__ void FollowLong(const Entry& item, const Shared& share, const RowRecord& row, bool is_long);
  __device__ static Entry ShuffleItem(const Entry& item, unsigned lane);
  /// Follows edge e of every lane's item, if `live`. `looks`: at the target's value before the update. Otherwise the update
  /// and the target's row are on the way together.
  __device__ void FollowEdge(bool live, const Entry& item, const Shared& share, EdgeIndex e, bool looks);

  /// Whether another device owns v.
  __device__ bool IsHalo(LocalId v) const { return kHasPeers && v >= s_.graph.owned; }
  /// Whether a message to halo vertex v is better than all that this device has sent (Groute's filter).
  __device__ bool ImprovesHalo(LocalId v, const Message& message) const;
  /// Sends lanes' messages to the owners of halo vertices. Where an owner's ring is full, takes messages meanwhile: else two
  /// devices could wait for each other. Their items wait.
  __device__ void Send(bool send, const Entry& from, LocalId v, const Message& message);
  /// Claims messages, and puts their vertices into the local queue, or else into the next list. Returns whether there were
  /// any. `was_idle`: the warp's block was idle, and is busy if there were.
  __device__ bool TakeMessages(bool follow, bool was_idle);

  /// Puts the lanes' improved items into the local queue, or where they go otherwise.
  __device__ void Put(bool put, const Entry& item, const RowRecord& row);
  /// Puts items into the next list or, beyond the next limit, into the far list.
  __device__ void PutOut(bool put, const Entry& item, bool below);
  /// Deals the local queue's items out again: they go to the next list, which the limit does not rise for.
  __device__ void Spill();
  __device__ void PutHub(bool put, const Entry& item);
  /// A list is full. The frontier's bitmap has room for every vertex, and values are at home.
  __device__ void Overflow(const Entry& item);
  __device__ void FlushNear();
  __device__ void FlushFar();
  __device__ void Store(const Entry* from, unsigned count, Entry* list, std::uint32_t* length);

  const RelaxRef<P>& a_;
  const StateRef<P>& s_;
  IdleWarps* const idle_;
  [[no_unique_address]] Peers peers_;
  std::uint64_t protocol_step_ = 0;  // of all devices: see fused/team.h
  QueueItem<P>* queue_;
  Entry *near_, *far_ = nullptr;
  unsigned head_ = 0, tail_ = 0, near_count_ = 0, far_count_ = 0, below_ = 0;
  unsigned long long far_first_ = 0, done_ = 0;
  StepCounts* counts_ = nullptr;
  Entry* next_ = nullptr;
  unsigned far_list_ = 0;
  double limit_ = 0, near_limit_ = 0;
  std::uint32_t hop_limit_ = 0;
  unsigned budget_ = 0;
  bool spills_ = false;                                           // for the rest of the step nothing goes to the local queue
  bool aborted_ = false;                                          // the run has failed on a device
  unsigned begun_ = 0;                                            // the SM's clock at the step's begin
  unsigned work_ = 0;                                             // items of this step, of all lanes
  unsigned step_items_ = 0, step_improved_ = 0, step_edges_ = 0;  // a lane's
};

}  // namespace chatty::fused::cuda::detail
