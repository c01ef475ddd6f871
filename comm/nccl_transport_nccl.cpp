#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/comm/buffered_transport.h"
#include "chatty/comm/nccl_transport.h"
#include "chatty/core/cuda.h"

namespace chatty {
namespace {

/// While this object lives, new communicators use links between GPUs, or do not.
class LinkSetting {
 public:
  explicit LinkSetting(bool without) : lock_(mutex_) {
    const char* const set = std::getenv(kVariable);
    const bool already = set != nullptr && std::string_view(set) == "1";  // set before the process started
    if (without_.has_value()) {
      if (*without_ != (without || already)) {
        Throw<CapabilityError>(
            "transport nccl: NCCL decides once a process whether it uses links between GPUs, and its first communicator "
            "here {}; run this in a process of its own",
            *without_ ? "was made without (--links takes some away)" : "was made with all of them");
      }
      return;
    }
    without_ = without || already;
    if (!without || already) return;
    if (set != nullptr) before_ = set;
    restore_ = true;
    ::setenv(kVariable, "1", 1);
  }
  ~LinkSetting() {
    if (!restore_) return;
    if (before_.has_value()) {
      ::setenv(kVariable, before_->c_str(), 1);
    } else {
      ::unsetenv(kVariable);
    }
  }
  LinkSetting(const LinkSetting&) = delete;
  LinkSetting& operator=(const LinkSetting&) = delete;

 private:
  static constexpr const char* kVariable = "NCCL_P2P_DISABLE";
  static std::mutex mutex_;
  static std::optional<bool> without_;  // setting of the process's first communicator
  std::lock_guard<std::mutex> lock_;
  std::optional<std::string> before_;
  bool restore_ = false;
};
std::mutex LinkSetting::mutex_;
std::optional<bool> LinkSetting::without_;

/// Whether a mask removes any link between these devices.
bool TakesAway(const LinkMask& links, std::size_t parts) {
  for (std::size_t a = 0; a < parts; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (!links.Allows(a, b)) return true;
    }
  }
  return false;
}

/// How waits on communicators end.
struct Patience {
  std::chrono::milliseconds timeout{0};  // 0: for ever
  const std::atomic<bool>* aborted = nullptr;
};

/// One device's end of a communicator. The device's thread uses it; any thread may abort it.
class Rank {
 public:
  Rank() = default;
  ~Rank() {
    if (comm_ == nullptr) return;
    // Destruction waits for work under way, and needs a communicator at rest.
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess) {
      ncclCommDestroy(comm_);
    } else {
      ncclCommAbort(comm_);
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Makes the communicator of `ranks`, whose devices are `devices`, and waits for its completion.
  static void Connect(std::span<Rank* const> ranks, std::span<Device* const> devices, const Patience& patience) {
    const auto what = [&] {
      std::string labels;
      for (const Device* device : devices) labels += (labels.empty() ? "" : ", ") + device->label();
      return "transport nccl: a communicator of " + labels;
    };
    ncclUniqueId id;
    Check(ncclGetUniqueId(&id), nullptr, what);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // every wait is in this file and has a deadline
    Check(ncclGroupStart(), nullptr, what);
    ncclResult_t result = ncclSuccess;
    for (std::size_t i = 0; i < ranks.size() && Went(result); ++i) {
      devices[i]->MakeCurrent();
      result = ncclCommInitRankConfig(&ranks[i]->comm_, static_cast<int>(ranks.size()), id, static_cast<int>(i), &config);
    }
    const ncclResult_t end = ncclGroupEnd();
    Check(result, nullptr, what);
    Check(end, nullptr, what);
    for (Rank* rank : ranks) rank->Await(patience, what);
  }

  /// Enqueues a group of calls, `enqueue(comm)`, and returns when all of them are on their streams. `what()` names the work
  /// in errors.
  template <class Enqueue, class What>
  void Group(const Patience& patience, Enqueue&& enqueue, const What& what) {
    {
      const std::lock_guard lock(mutex_);
      ThrowIfAborted(patience, what);
      Check(ncclGroupStart(), comm_, what);
      try {
        std::forward<Enqueue>(enqueue)(comm_);
      } catch (...) {
        ncclGroupEnd();
        throw;
      }
      Check(ncclGroupEnd(), comm_, what);
    }
    Await(patience, what);
  }

  /// Runs `enqueue(comm)` within the group of another rank of this process.
  template <class Enqueue>
  void Within(Enqueue&& enqueue) {
    const std::lock_guard lock(mutex_);
    std::forward<Enqueue>(enqueue)(comm_);
  }

  /// Waits until NCCL has enqueued the requested work, not until the work is done.
  template <class What>
  void Await(const Patience& patience, const What& what) {
    const Clock::time_point start = Clock::now();
    for (std::uint32_t polls = 1;; ++polls) {
      ncclResult_t state = ncclSuccess;
      {
        ThrowIfAborted(patience, what);  // before the lock, which an abort waits for
        const std::lock_guard lock(mutex_);
        ThrowIfAborted(patience, what);
        Check(ncclCommGetAsyncError(comm_, &state), comm_, what);
        Check(state, comm_, what);
      }
      if (state == ncclSuccess) return;
      if (polls % 16 != 0) continue;
      std::this_thread::yield();  // NCCL works in its own thread, perhaps on this core
      if (patience.timeout.count() > 0 && Clock::now() - start > patience.timeout) {
        Throw<TimeoutError>("{}: waited {} ms for NCCL; raise --timeout if the others are known to take longer", what(),
                            patience.timeout.count());
      }
    }
  }

  void Abort() noexcept {
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) ncclCommAbort(comm_);
    comm_ = nullptr;
  }

  /// Throws DeviceError for a call that failed, with NCCL's message.
  template <class What>
  static void Check(ncclResult_t result, ncclComm_t comm, const What& what) {
    if (Went(result)) [[likely]]
      return;
    const char* const last = ncclGetLastError(comm);
    Throw<DeviceError>("{}: {} ({})", what(), ncclGetErrorString(result),
                       last == nullptr || *last == '\0' ? "NCCL says no more; NCCL_DEBUG=WARN makes it" : last);
  }

 private:
  static bool Went(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
  template <class What>
  void ThrowIfAborted(const Patience& patience, const What& what) const {
    if (patience.aborted->load(std::memory_order_acquire)) [[unlikely]]
      Throw<AbortedError>("{}: gave up, because the run has been ended", what());
  }

  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
};

cudaStream_t Native(const Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

class NcclTransport final : public BufferedTransport {
 public:
  NcclTransport(std::span<Device* const> devices, const ChannelPlan& plan, const TransportOptions& options)
      : BufferedTransport("nccl", devices, plan.buffers),
        plan_(plan),
        meets_(options.collectives),
        patience_{options.timeout, &aborted_},
        nodes_(plan.parts),
        pairs_(plan.pairs.size()),
        broadcasts_(plan.broadcasts.size()) {
    const LinkSetting setting(TakesAway(options.links, plan_.parts));
    try {
      if (meets_) {
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
    if (meets_) {
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
    if (!meets_) return Send(pairs_[Index(from, to)], channel, from, to, bytes, epoch);
    Node& node = nodes_[from];
    WithContext(from, to, bytes, [&] { node.packed->Record(main(from)); });
    node.sends[to] = bytes;
    node.posted = true;
  }

  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override {
    CHATTY_CHECK(meets_, "transport nccl was made for devices that do not meet");
    Node& node = nodes_[at];
    const std::vector<std::size_t> sends = std::exchange(node.sends, std::vector<std::size_t>(plan_.parts, 0));
    const std::size_t tells = std::exchange(node.tells, 0);
    const bool posted = std::exchange(node.posted, false);
    CHATTY_CHECK(incoming.size() == plan_.parts && (broadcast.empty() || broadcast.size() == plan_.parts),
                 "transport nccl: counts of {} and {} devices, and there are {}", incoming.size(), broadcast.size(),
                 plan_.parts);
    CHATTY_CHECK((broadcast.empty() ? 0 : broadcast[at]) == tells, "transport nccl: {} told all {} bytes and says {}",
                 device(at).label(), tells, broadcast.empty() ? 0 : broadcast[at]);
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
    const auto what = [&] { return DescribeMeeting(at, sends, incoming, broadcast); };
    Guarded([&] {
      node.rank->Group(
          patience_,
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
    return Fetch(pairs_[Index(from, at)], plan_.pairs[Index(from, at)], at, from, bytes, epoch);
  }

  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override {
    if (meets_) {
      Free(nodes_[from], from, epoch);
    } else {
      for (PartId to = 0; to < plan_.parts; ++to) Free(broadcasts_[Index(from, to)], from, epoch);
    }
    return buffers().At(BroadcastOutbox(from), epoch);
  }

  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0) return;
    CheckFits(bytes, BroadcastOutbox(from), from, kAllParts);
    if (!meets_) {
      for (PartId i = 1; i < plan_.parts; ++i) {
        const auto to = static_cast<PartId>((from + i) % plan_.parts);
        Send(broadcasts_[Index(from, to)], plan_.broadcasts[Index(from, to)], from, to, bytes, epoch);
      }
      return;
    }
    Node& node = nodes_[from];
    WithContext(from, kAllParts, bytes, [&] { node.packed->Record(main(from)); });
    node.tells = bytes;
    node.posted = true;
  }

  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return Fetch(broadcasts_[Index(from, at)], plan_.broadcasts[Index(from, at)], at, from, bytes, epoch);
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
    std::vector<std::size_t> sends;  // bytes posted for each device since the last collective
    std::size_t tells = 0;           // and for a broadcast
    bool posted = false;
    std::unique_ptr<Rank> rank;
  };
  /// A channel, without collectives.
  struct Pair {
    std::unique_ptr<Stream> out, in;
    std::unique_ptr<Event> packed, ready;  // the sender has packed; the receiver's stream has reached the receipt
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
    Rank::Connect(ranks, all, patience_);
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
    Rank::Connect(ranks, ends, patience_);
    // The first byte makes the connection, for which NCCL needs both ends. Later sends must not wait for the receiver's
    // thread.
    const auto what = [&] { return Describe(from, to, 1); };
    pair.sender->Group(
        patience_,
        [&](ncclComm_t comm) {
          Rank::Check(ncclSend(buffers().At(channel.outbox, 0), 1, ncclUint8, 1, comm, Native(*pair.out)), comm, what);
          pair.receiver->Within([&](ncclComm_t other) {
            Rank::Check(ncclRecv(buffers().At(channel.inbox, 0), 1, ncclUint8, 0, other, Native(*pair.in)), other, what);
          });
        },
        what);
    pair.receiver->Await(patience_, what);
    pair.out->Synchronize({nullptr, patience_.timeout});
    pair.in->Synchronize({nullptr, patience_.timeout});
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
          patience_,
          [&](ncclComm_t comm) {
            Rank::Check(ncclSend(buffers().At(channel.outbox, epoch), bytes, ncclUint8, 1, comm, Native(*pair.out)), comm,
                        what);
          },
          what);
      pair.slots[Slot(epoch)].done->Record(*pair.out);
    });
    pair.slots[Slot(epoch)].busy = true;
  }

  const std::byte* Fetch(Pair& pair, const Channel& channel, PartId at, PartId from, std::size_t bytes,
                         std::uint64_t epoch) {
    std::byte* const inbox = buffers().At(channel.inbox, epoch);
    if (bytes == 0) return inbox;
    CheckFits(bytes, channel.inbox, from, at);
    if (meets_) {
      WithContext(from, at, bytes, [&] { nodes_[at].slots[Slot(epoch)].done->MakeWait(main(at)); });
      return inbox;
    }
    const auto what = [&] { return Describe(from, at, bytes); };
    Guarded([&] {
      pair.ready->Record(main(at));
      pair.ready->MakeWait(*pair.in);
      pair.receiver->Group(
          patience_,
          [&](ncclComm_t comm) { Rank::Check(ncclRecv(inbox, bytes, ncclUint8, 0, comm, Native(*pair.in)), comm, what); },
          what);
      Event& arrived = *pair.slots[Slot(epoch)].arrived;
      arrived.Record(*pair.in);
      arrived.MakeWait(main(at));
    });
    return inbox;
  }

  std::string DescribeMeeting(PartId at, std::span<const std::size_t> sends, std::span<const std::size_t> incoming,
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
  bool meets_;
  std::atomic<bool> aborted_{false}, failed_{false};
  Patience patience_;
  std::vector<Node> nodes_;
  std::vector<Pair> pairs_, broadcasts_;
};

class NcclSums final : public NcclState {
 public:
  NcclSums(std::span<Device* const> devices, std::size_t counters, const TransportOptions& options)
      : counters_(counters), patience_{options.timeout, &aborted_}, seats_(devices.size()) {
    std::vector<Rank*> ranks;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Seat& seat = seats_[i];
      seat.device = devices[i];
      devices[i]->MakeCurrent();
      seat.there = Buffer<std::uint64_t>(*devices[i], counters);
      seat.here = Pinned<std::uint64_t>(*devices[i], counters);
      seat.stream = devices[i]->NewStream();
      seat.rank = std::make_unique<Rank>();
      ranks.push_back(seat.rank.get());
    }
    for (Device* device : devices) device->stream().Synchronize();  // the memory is ready
    const LinkSetting setting(TakesAway(options.links, devices.size()));
    try {
      Rank::Connect(ranks, devices, patience_);
    } catch (...) {
      Abort();
      throw;
    }
  }
  ~NcclSums() override {
    if (failed_) Abort();
    for (const Seat& seat : seats_) {
      try {
        seat.stream->Synchronize({nullptr, std::chrono::seconds(10)});
      } catch (...) {  // the wait for that work reports it
        Abort();
      }
    }
    for (Seat& seat : seats_) seat.rank.reset();  // all ranks before any stream; see NcclTransport
  }
  NcclSums(const NcclSums&) = delete;
  NcclSums& operator=(const NcclSums&) = delete;

  void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) override {
    const Seat& seat = seats_[at];
    CHATTY_CHECK(values.size() <= counters_, "{} counters, and there is room for {}", values.size(), counters_);
    const std::size_t bytes = values.size_bytes();
    if (bytes == 0) return;
    const auto what = [&] {
      return fmt::format("state over NCCL: the sum of {} bytes of counters on {}", bytes, seat.device->label());
    };
    try {
      std::copy(values.begin(), values.end(), seat.here.data());
      seat.device->CopyIn(seat.there.data(), seat.here.data(), bytes, *seat.stream);
      seat.rank->Group(
          patience_,
          [&](ncclComm_t comm) {
            Rank::Check(ncclAllReduce(seat.there.data(), seat.there.data(), values.size(), ncclUint64, ncclSum, comm,
                                      Native(*seat.stream)),
                        comm, what);
          },
          what);
      seat.device->CopyOut(seat.here.data(), seat.there.data(), bytes, *seat.stream);
      seat.stream->Synchronize(wait);
      std::copy_n(seat.here.data(), values.size(), values.begin());
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  void Abort() noexcept override {
    if (aborted_.exchange(true)) return;
    for (const Seat& seat : seats_) {
      if (seat.rank != nullptr) seat.rank->Abort();
    }
  }
  bool reusable() const noexcept override { return !aborted_ && !failed_; }

 private:
  struct Seat {
    Device* device = nullptr;
    Buffer<std::uint64_t> there;
    Pinned<std::uint64_t> here;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Rank> rank;
  };
  std::size_t counters_;
  std::atomic<bool> aborted_{false}, failed_{false};
  Patience patience_;
  std::vector<Seat> seats_;
};

}  // namespace

std::unique_ptr<Transport> MakeNcclTransport(std::span<Device* const> devices, const ChannelPlan& plan,
                                             const TransportOptions& options) {
  return std::make_unique<NcclTransport>(devices, plan, options);
}

std::unique_ptr<NcclState> MakeNcclState(std::span<Device* const> devices, std::size_t counters,
                                         const TransportOptions& options) {
  CheckTransport("nccl", SelectionOf(devices));
  return std::make_unique<NcclSums>(devices, counters, options);
}

}  // namespace chatty
