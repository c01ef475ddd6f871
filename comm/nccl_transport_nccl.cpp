#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/buffered_transport.h"
#include "chatty/comm/nccl_communicator.h"
#include "chatty/comm/nccl_transport.h"
#include "chatty/core/cuda.h"

namespace chatty {
namespace {

using detail::Deadline, detail::LinkSetting, detail::Native, detail::Rank, detail::TakesAway;

class NcclTransport final : public BufferedTransport {
 public:
  NcclTransport(std::span<Device* const> devices, const ChannelPlan& plan, const TransportOptions& options)
      : BufferedTransport("nccl", devices, plan.buffers),
        plan_(plan),
        collectives_(options.collectives),
        deadline_{options.timeout, &aborted_},
        nodes_(plan.parts),
        pairs_(plan.pairs.size()),
        broadcasts_(plan.broadcasts.size()) {
    const LinkSetting setting(TakesAway(options.links, plan_.parts));
    try {
      if (collectives_) {
        ConnectAll();
      } else {
        for (PartId from = 0; from < plan_.parts; ++from) {
          for (PartId to = 0; to < plan_.parts; ++to) {
            const std::size_t channel = Index(from, to);
            if (plan_.pairs[channel].inbox != kNoBuffer) ConnectPair(pairs_[channel], plan_.pairs[channel], from, to);
            if (plan_.broadcasts[channel].inbox != kNoBuffer)
              ConnectPair(broadcasts_[channel], plan_.broadcasts[channel], from, to);
          }
        }
      }
    } catch (...) {
      Abort();  // half-made communicators cannot be destroyed normally
      ForEachStream([](Stream& stream) { Drain(&stream); });
      throw;
    }
  }
  ~NcclTransport() override {
    // A send without a receiver never ends by itself.
    if (!aborted_) {
      try {
        ForEachStream([](Stream& stream) { stream.Synchronize({nullptr, std::chrono::seconds(10)}); });
      } catch (...) {  // the wait for that work reports it
        Abort();
      }
    }
    if (failed_) Abort();
    DrainDevices();
    ForEachStream([](Stream& stream) { Drain(&stream); });
    // The last rank of a communicator destroys the others, too: reset all ranks before any stream that they worked on.
    for (Node& node : nodes_) node.rank.reset();
    for (std::vector<Pair>* pairs : {&pairs_, &broadcasts_}) {
      for (Pair& pair : *pairs) {
        pair.sender.reset();
        pair.receiver.reset();
      }
    }
  }
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    if (collectives_) {
      Free(nodes_[from], from, epoch);
    } else {
      Free(pairs_[Index(from, to)], from, epoch);
    }
    return buffers().At(plan_.pairs[Index(from, to)].outbox, epoch);
  }

  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0) return;
    const Channel& channel = plan_.pairs[Index(from, to)];
    CheckFits(bytes, channel.outbox, from, to);
    if (!collectives_) return Send(pairs_[Index(from, to)], channel, from, to, bytes, epoch);
    Node& node = nodes_[from];
    WithContext(from, to, bytes, [&] { node.packed->Record(main(from)); });
    node.sends[to] = bytes;
    node.posted = true;
  }

  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override {
    CHATTY_CHECK(collectives_, "transport nccl was made without collectives");
    Node& node = nodes_[at];
    const std::vector<std::size_t> sends = std::exchange(node.sends, std::vector<std::size_t>(plan_.parts, 0));
    const std::size_t broadcast_bytes = std::exchange(node.broadcast_bytes, 0);
    const bool posted = std::exchange(node.posted, false);
    CHATTY_CHECK(incoming.size() == plan_.parts && (broadcast.empty() || broadcast.size() == plan_.parts),
                 "transport nccl: counts of {} and {} devices, and there are {}", incoming.size(), broadcast.size(),
                 plan_.parts);
    CHATTY_CHECK((broadcast.empty() ? 0 : broadcast[at]) == broadcast_bytes,
                 "transport nccl: {} broadcasts {} bytes and announces {}", device(at).label(), broadcast_bytes,
                 broadcast.empty() ? 0 : broadcast[at]);
    std::size_t all = 0;
    for (PartId i = 0; i < plan_.parts; ++i) {
      if (i == at) continue;
      all += sends[i] + incoming[i];
      CheckFits(incoming[i], plan_.pairs[Index(i, at)].inbox, i, at);
    }
    for (PartId root = 0; root < broadcast.size(); ++root) {
      all += broadcast[root];
      if (root != at) CheckFits(broadcast[root], plan_.broadcasts[Index(root, at)].inbox, root, kAllParts);
    }
    if (all == 0) return;

    if (posted) node.packed->MakeWait(*node.stream);
    const auto what = [&] { return DescribeCollective(at, sends, incoming, broadcast); };
    Guarded([&] {
      node.rank->Group(
          deadline_,
          [&](ncclComm_t comm) {
            cudaStream_t stream = Native(*node.stream);
            for (PartId i = 1; i < plan_.parts; ++i) {
              const auto to = static_cast<PartId>((at + i) % plan_.parts);
              const auto from = static_cast<PartId>((at + plan_.parts - i) % plan_.parts);
              if (sends[to] > 0) {
                Rank::Check(ncclSend(buffers().At(plan_.pairs[Index(at, to)].outbox, epoch), sends[to], ncclUint8,
                                     static_cast<int>(to), comm, stream),
                            comm, [&] { return Describe(at, to, sends[to]); });
              }
              if (incoming[from] > 0) {
                Rank::Check(ncclRecv(buffers().At(plan_.pairs[Index(from, at)].inbox, epoch), incoming[from], ncclUint8,
                                     static_cast<int>(from), comm, stream),
                            comm, [&] { return Describe(from, at, incoming[from]); });
              }
            }
            for (PartId root = 0; root < broadcast.size(); ++root) {  // the same order on all devices
              if (broadcast[root] == 0) continue;
              std::byte* const buffer = root == at ? buffers().At(BroadcastOutbox(root), epoch)
                                                   : buffers().At(plan_.broadcasts[Index(root, at)].inbox, epoch);
              Rank::Check(ncclBroadcast(buffer, buffer, broadcast[root], ncclUint8, static_cast<int>(root), comm, stream),
                          comm, [&] { return Describe(root, kAllParts, broadcast[root]); });
            }
          },
          what);
    });
    node.slots[Slot(epoch)].done->Record(*node.stream);
    node.slots[Slot(epoch)].busy = true;
  }

  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return ReceiveOn(main(at), at, from, bytes, epoch);
  }
  bool receives_on_streams() const override { return true; }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return Fetch(stream, pairs_[Index(from, at)], plan_.pairs[Index(from, at)], at, from, bytes, epoch);
  }

  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override {
    if (collectives_) {
      Free(nodes_[from], from, epoch);
    } else {
      for (PartId to = 0; to < plan_.parts; ++to) Free(broadcasts_[Index(from, to)], from, epoch);
    }
    return buffers().At(BroadcastOutbox(from), epoch);
  }

  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0) return;
    CheckFits(bytes, BroadcastOutbox(from), from, kAllParts);
    if (!collectives_) {
      for (PartId i = 1; i < plan_.parts; ++i) {
        const auto to = static_cast<PartId>((from + i) % plan_.parts);
        Send(broadcasts_[Index(from, to)], plan_.broadcasts[Index(from, to)], from, to, bytes, epoch);
      }
      return;
    }
    Node& node = nodes_[from];
    WithContext(from, kAllParts, bytes, [&] { node.packed->Record(main(from)); });
    node.broadcast_bytes = bytes;
    node.posted = true;
  }

  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return Fetch(main(at), broadcasts_[Index(from, at)], plan_.broadcasts[Index(from, at)], at, from, bytes, epoch);
  }

  void Abort() noexcept override {
    if (aborted_.exchange(true)) return;
    for (const Node& node : nodes_) {
      if (node.rank != nullptr) node.rank->Abort();
    }
    for (std::vector<Pair>* pairs : {&pairs_, &broadcasts_}) {
      for (const Pair& pair : *pairs) {
        if (pair.sender != nullptr) pair.sender->Abort();
        if (pair.receiver != nullptr) pair.receiver->Abort();
      }
    }
  }
  bool reusable() const override { return !aborted_ && !failed_; }

 private:
  /// Work of an epoch under way.
  struct NcclSlot {
    std::unique_ptr<Event> done;     // on the sender's device; of all its work, with collectives
    std::unique_ptr<Event> arrived;  // on the receiver's, without collectives
    bool busy = false;               // the sender's main stream does not wait for it yet
  };
  /// A device, with collectives.
  struct Node {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> packed;
    std::vector<NcclSlot> slots;
    std::vector<std::size_t> sends;   // bytes posted for each device since the last collective
    std::size_t broadcast_bytes = 0;  // and for a broadcast
    bool posted = false;
    std::unique_ptr<Rank> rank;
  };
  /// A channel, without collectives.
  struct Pair {
    std::unique_ptr<Stream> out, in;
    std::unique_ptr<Event> packed, ready;  // the sender has packed; the reading stream has reached the receipt
    std::vector<NcclSlot> slots;
    std::unique_ptr<Rank> sender, receiver;
  };

  BufferId BroadcastOutbox(PartId from) const { return plan_.broadcasts[Index(from, from == 0 ? 1 : 0)].outbox; }

  void ConnectAll() {
    std::vector<Rank*> ranks;
    std::vector<Device*> all;
    for (PartId i = 0; i < plan_.parts; ++i) {
      Node& node = nodes_[i];
      node.stream = device(i).NewStream();
      node.packed = device(i).NewEvent();
      node.slots.resize(slots());
      for (NcclSlot& slot : node.slots) slot.done = device(i).NewEvent();
      node.sends.assign(plan_.parts, 0);
      node.rank = std::make_unique<Rank>();
      ranks.push_back(node.rank.get());
      all.push_back(&device(i));
    }
    Rank::Connect(ranks, all, deadline_);
  }

  void ConnectPair(Pair& pair, const Channel& channel, PartId from, PartId to) {
    pair.out = device(from).NewStream();
    pair.in = device(to).NewStream();
    pair.packed = device(from).NewEvent();
    pair.ready = device(to).NewEvent();
    pair.slots.resize(slots());
    for (NcclSlot& slot : pair.slots) {
      slot.done = device(from).NewEvent();
      slot.arrived = device(to).NewEvent();
    }
    pair.sender = std::make_unique<Rank>();
    pair.receiver = std::make_unique<Rank>();
    Rank* const ranks[] = {pair.sender.get(), pair.receiver.get()};
    Device* const ends[] = {&device(from), &device(to)};
    Rank::Connect(ranks, ends, deadline_);
    // The first byte makes the connection, for which NCCL needs both ends. Later sends must not wait for the receiver's
    // thread.
    const auto what = [&] { return Describe(from, to, 1); };
    pair.sender->Group(
        deadline_,
        [&](ncclComm_t comm) {
          Rank::Check(ncclSend(buffers().At(channel.outbox, 0), 1, ncclUint8, 1, comm, Native(*pair.out)), comm, what);
          pair.receiver->Within([&](ncclComm_t other) {
            Rank::Check(ncclRecv(buffers().At(channel.inbox, 0), 1, ncclUint8, 0, other, Native(*pair.in)), other, what);
          });
        },
        what);
    pair.receiver->Await(deadline_, what);
    pair.out->Synchronize({nullptr, deadline_.timeout});
    pair.in->Synchronize({nullptr, deadline_.timeout});
  }

  template <class Side>
  void Free(Side& side, PartId from, std::uint64_t epoch) {
    if (side.slots.empty()) return;
    NcclSlot& slot = side.slots[Slot(epoch)];
    if (!slot.busy) return;
    slot.done->MakeWait(main(from));
    slot.busy = false;
  }

  /// Runs `work`; a failure leaves the communicators in an unknown state.
  template <class Work>
  void Guarded(Work&& work) {
    try {
      std::forward<Work>(work)();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void Send(Pair& pair, const Channel& channel, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
    const auto what = [&] { return Describe(from, to, bytes); };
    Guarded([&] {
      pair.packed->Record(main(from));
      pair.packed->MakeWait(*pair.out);
      pair.sender->Group(
          deadline_,
          [&](ncclComm_t comm) {
            Rank::Check(ncclSend(buffers().At(channel.outbox, epoch), bytes, ncclUint8, 1, comm, Native(*pair.out)), comm,
                        what);
          },
          what);
      pair.slots[Slot(epoch)].done->Record(*pair.out);
    });
    pair.slots[Slot(epoch)].busy = true;
  }

  /// `reader`: the stream of device `at` that waits. The receipt follows the reader's earlier work, which may still read the
  /// slot's last message.
  const std::byte* Fetch(Stream& reader, Pair& pair, const Channel& channel, PartId at, PartId from, std::size_t bytes,
                         std::uint64_t epoch) {
    std::byte* const inbox = buffers().At(channel.inbox, epoch);
    if (bytes == 0) return inbox;
    CheckFits(bytes, channel.inbox, from, at);
    if (collectives_) {
      WithContext(from, at, bytes, [&] { nodes_[at].slots[Slot(epoch)].done->MakeWait(reader); });
      return inbox;
    }
    const auto what = [&] { return Describe(from, at, bytes); };
    Guarded([&] {
      pair.ready->Record(reader);
      pair.ready->MakeWait(*pair.in);
      pair.receiver->Group(
          deadline_,
          [&](ncclComm_t comm) { Rank::Check(ncclRecv(inbox, bytes, ncclUint8, 0, comm, Native(*pair.in)), comm, what); },
          what);
      Event& arrived = *pair.slots[Slot(epoch)].arrived;
      arrived.Record(*pair.in);
      arrived.MakeWait(reader);
    });
    return inbox;
  }

  std::string DescribeCollective(PartId at, std::span<const std::size_t> sends, std::span<const std::size_t> incoming,
                                 std::span<const std::size_t> broadcast) const {
    std::string text = fmt::format("transport nccl: {} in an exchange of", device(at).label());
    const char* comma = " ";
    const auto add = [&](std::string_view verb, std::size_t bytes, PartId who) {
      if (bytes == 0) return;
      text += fmt::format("{}{} bytes {} {}", std::exchange(comma, ", "), bytes, verb, device(who).label());
    };
    for (PartId i = 0; i < plan_.parts; ++i) {
      if (i == at) continue;
      add("to", sends[i], i);
      add("from", incoming[i], i);
    }
    for (PartId root = 0; root < broadcast.size(); ++root) add("from root", broadcast[root], root);
    return text;
  }

  template <class Use>
  void ForEachStream(Use&& use) const {
    for (const Node& node : nodes_) {
      if (node.stream != nullptr) use(*node.stream);
    }
    for (const std::vector<Pair>* pairs : {&pairs_, &broadcasts_}) {
      for (const Pair& pair : *pairs) {
        if (pair.out != nullptr) use(*pair.out);
        if (pair.in != nullptr) use(*pair.in);
      }
    }
  }

  ChannelPlan plan_;
  bool collectives_;
  std::atomic<bool> aborted_{false}, failed_{false};
  Deadline deadline_;
  std::vector<Node> nodes_;
  std::vector<Pair> pairs_, broadcasts_;
};

}  // namespace

std::unique_ptr<Transport> MakeNcclTransport(std::span<Device* const> devices, const ChannelPlan& plan,
                                             const TransportOptions& options) {
  return std::make_unique<NcclTransport>(devices, plan, options);
}

}  // namespace chatty
