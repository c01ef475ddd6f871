#include "chatty/comm/channel_transport.h"

#include <algorithm>

#include "chatty/comm/buffered_transport.h"

namespace chatty {

namespace {

/// @{
/// Whether a route has this buffer.
bool HasOutbox(Route route) { return route == Route::kCopy || route == Route::kStaged || route == Route::kHostHub; }
bool HasStaging(Route route) { return route == Route::kZeroCopy || route == Route::kStaged || route == Route::kHostHub; }
bool HasInbox(Route route) { return route == Route::kCopy || route == Route::kStaged; }
/// @}

}  // namespace

ChannelPlan::ChannelPlan(const PairBytesTable& capacities, const TransportOptions& options, const RouteTable& route)
    : parts(capacities.size()), buffers(options.slots), pairs(parts * parts), broadcasts(parts * parts) {
  for (PartId from = 0; from < parts; ++from) {
    for (PartId to = 0; to < parts; ++to) {
      const std::size_t bytes = capacities[from][to];
      if (from == to || bytes == 0) continue;
      Channel& channel = pairs[from * parts + to];
      channel.route = route(from, to);
      if (HasOutbox(channel.route)) channel.outbox = buffers.OnDevice(from, bytes);
      if (HasStaging(channel.route)) channel.staging = buffers.InHostMemory(from, bytes);
      if (HasInbox(channel.route) || channel.route == Route::kDirect) channel.inbox = buffers.OnDevice(to, bytes);
    }
  }
  CHATTY_CHECK(options.broadcast.size() <= parts, "{} devices broadcast, of {}", options.broadcast.size(), parts);
  for (PartId from = 0; from < options.broadcast.size(); ++from) {
    const std::size_t bytes = options.broadcast[from];
    if (bytes == 0) continue;
    BufferId outbox = kNoBuffer, staging = kNoBuffer;
    for (PartId to = 0; to < parts; ++to) {
      if (from == to) continue;
      Channel& channel = broadcasts[from * parts + to];
      channel.route = route(from, to);
      if (channel.route != Route::kZeroCopy && outbox == kNoBuffer) outbox = buffers.OnDevice(from, bytes);
      if (HasStaging(channel.route) && staging == kNoBuffer) staging = buffers.InHostMemory(from, bytes);
      if (HasInbox(channel.route)) channel.inbox = buffers.OnDevice(to, bytes);
    }
    for (PartId to = 0; to < parts; ++to) {
      if (from == to) continue;
      broadcasts[from * parts + to].outbox = outbox;
      broadcasts[from * parts + to].staging = staging;
    }
  }
}

namespace {

class ChannelTransport final : public BufferedTransport {
 public:
  ChannelTransport(std::string_view name, std::span<Device* const> devices, const ChannelPlan& plan, std::size_t packet)
      : BufferedTransport(name, devices, plan.buffers),
        packet_(packet),
        plan_(plan),
        pairs_(plan.pairs.size()),
        broadcasts_(plan.broadcasts.size()),
        roots_(plan.parts),
        streams_(plan.pairs.size()) {
    for (PartId from = 0; from < plan_.parts; ++from) {
      bool broadcasts = false;
      for (PartId to = 0; to < plan_.parts; ++to) {
        const std::size_t channel = Index(from, to);
        if (IsUsed(plan_.pairs[channel])) {
          const Route route = plan_.pairs[channel].route;
          Prepare(pairs_[channel], plan_.pairs[channel], from, to, HasOutbox(route));
        }
        if (IsUsed(plan_.broadcasts[channel])) {
          const Route route = plan_.broadcasts[channel].route;
          Prepare(broadcasts_[channel], plan_.broadcasts[channel], from, to, HasInbox(route));
          roots_[from].fetched = roots_[from].fetched || route == Route::kStaged;
          broadcasts = true;
        }
      }
      if (!broadcasts) continue;
      roots_[from].packed = device(from).NewEvent();
      roots_[from].stream = device(from).NewStream();
      roots_[from].packet = device(from).NewEvent();
    }
  }
  ~ChannelTransport() override {
    DrainDevices();
    for (const Root& root : roots_) Drain(root.stream.get());
    for (const Streams& streams : streams_) {
      Drain(streams.out.get());
      Drain(streams.in.get());
    }
  }
  ChannelTransport(const ChannelTransport&) = delete;
  ChannelTransport& operator=(const ChannelTransport&) = delete;

  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    const Channel& channel = plan_.pairs[Index(from, to)];
    Free(pairs_[Index(from, to)], from, epoch);
    return Take(Written(channel, /*broadcast=*/false), epoch);
  }

  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0) return;
    const Channel& channel = plan_.pairs[Index(from, to)];
    Track& track = pairs_[Index(from, to)];
    CheckFits(bytes, Written(channel, false), from, to);
    WithContext(from, to, bytes, [&] {
      if (channel.route == Route::kDirect || channel.route == Route::kZeroCopy) {
        track.slots[Slot(epoch)].arrived->Record(main(from));
        return;
      }
      Stream& out = *streams_[Index(from, to)].out;
      track.packed->Record(main(from));
      track.packed->MakeWait(out);
      Move(channel, track, from, to, bytes, epoch);
    });
  }

  bool IsZeroCopyReceive(PartId from, PartId to) const override {
    // A receiver gets a copy of what leaves the sender's outbox.
    if (from != to) return IsUsed(plan_.pairs[Index(from, to)]) && !HasOutbox(plan_.pairs[Index(from, to)].route);
    if (roots_[from].packed == nullptr) return false;
    // A broadcast with several routes counts as copied, too.
    const Route first = AnyOf(from).route;
    bool same = !HasOutbox(first);
    for (PartId other = 0; other < plan_.parts; ++other) {
      same = same && (other == from || plan_.broadcasts[Index(from, other)].route == first);
    }
    return same;
  }

  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return ReceiveOn(main(at), at, from, bytes, epoch);
  }
  bool receives_on_streams() const override { return true; }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    const Channel& channel = plan_.pairs[Index(from, at)];
    return Arrived(stream, pairs_[Index(from, at)], at, from, bytes, epoch,
                   channel.inbox != kNoBuffer ? channel.inbox : channel.staging);
  }

  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override {
    if (roots_[from].packed == nullptr) return nullptr;
    for (PartId to = 0; to < plan_.parts; ++to) Free(broadcasts_[Index(from, to)], from, epoch);
    return Take(Written(AnyOf(from), /*broadcast=*/true), epoch);
  }

  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0 || plan_.parts < 2) return;
    Root& root = roots_[from];
    const Channel& any = AnyOf(from);
    CheckFits(bytes, Written(any, true), from, kAllParts);
    WithContext(from, kAllParts, bytes, [&] {
      root.packed->Record(main(from));
      if (any.outbox != kNoBuffer && any.staging != kNoBuffer) root.packed->MakeWait(*root.stream);
    });
    // One copy into host memory for all routes through it. Each packet is fetched as soon as it arrives.
    if (any.outbox != kNoBuffer && any.staging != kNoBuffer) {
      const std::size_t packet = root.fetched ? PacketOf(bytes, /*staged=*/true) : bytes;
      std::byte* const staging = Take(any.staging, epoch);
      for (std::size_t begin = 0; begin < bytes; begin += packet) {
        const std::size_t size = std::min(packet, bytes - begin);
        WithContext(from, kAllParts, size, [&] {
          device(from).CopyOut(staging + begin, buffers().At(any.outbox, epoch) + begin, size, *root.stream);
          root.packet->Record(*root.stream);
        });
        for (PartId to = 0; to < plan_.parts; ++to) {
          const Channel& channel = plan_.broadcasts[Index(from, to)];
          if (to == from || channel.route != Route::kStaged) continue;
          WithContext(from, to, size, [&] {
            Stream& in = *streams_[Index(from, to)].in;
            root.packet->MakeWait(in);
            device(to).CopyIn(buffers().At(channel.inbox, epoch) + begin, staging + begin, size, in);
          });
        }
      }
    }
    for (PartId i = 1; i < plan_.parts; ++i) {
      const auto to = static_cast<PartId>((from + i) % plan_.parts);  // senders start with different receivers
      const Channel& channel = plan_.broadcasts[Index(from, to)];
      Track& track = broadcasts_[Index(from, to)];
      TrackSlot& slot = track.slots[Slot(epoch)];
      Event& arrived = *slot.arrived;
      WithContext(from, to, bytes, [&] {
        switch (channel.route) {
          case Route::kDirect:
            arrived.Record(main(from));
            break;
          case Route::kHostHub:
          case Route::kZeroCopy:
            arrived.Record(any.outbox != kNoBuffer ? *root.stream : main(from));
            break;
          case Route::kStaged:
            arrived.Record(*streams_[Index(from, to)].in);
            break;
          case Route::kCopy:
            root.packed->MakeWait(*streams_[Index(from, to)].out);
            Move(channel, track, from, to, bytes, epoch);
            break;
        }
        slot.busy = any.outbox != kNoBuffer && channel.route != Route::kDirect;
      });
    }
  }

  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    const Channel& channel = plan_.broadcasts[Index(from, at)];
    const BufferId buffer = channel.inbox != kNoBuffer  ? channel.inbox
                            : HasStaging(channel.route) ? channel.staging
                                                        : channel.outbox;
    return Arrived(main(at), broadcasts_[Index(from, at)], at, from, bytes, epoch, buffer);
  }

 private:
  /// A transfer of a channel under way.
  struct TrackSlot {
    std::unique_ptr<Event> arrived;  // the receiver may read
    bool busy = false;               // its buffer is copied, and the sender's stream does not wait for the copy yet
  };
  struct Track {
    std::unique_ptr<Event> packed, packet;  // on the sender's device: the buffer is packed; a packet has left
    std::vector<TrackSlot> slots;           // none: no buffer travels
  };
  /// Broadcasts of a device under way.
  struct Root {
    std::unique_ptr<Event> packed, packet;  // as in Track
    std::unique_ptr<Stream> stream;         // copies to host memory for all
    bool fetched = false;                   // a receiver copies from there, packet by packet
  };
  struct Streams {
    std::unique_ptr<Stream> out, in;  // of the sender's device, of the receiver's
  };

  static bool IsUsed(const Channel& channel) {
    return channel.outbox != kNoBuffer || channel.staging != kNoBuffer || channel.inbox != kNoBuffer;
  }
  /// The buffer that packing writes.
  static BufferId Written(const Channel& channel, bool broadcast) {
    if (channel.outbox != kNoBuffer) return channel.outbox;
    return broadcast || channel.inbox == kNoBuffer ? channel.staging : channel.inbox;
  }
  /// A broadcast channel of `from`: all of them have the same buffers on the sender's side.
  const Channel& AnyOf(PartId from) const { return plan_.broadcasts[Index(from, from == 0 ? 1 : 0)]; }

  /// `copies`: the channel has copies of its own, not only shared ones.
  void Prepare(Track& track, const Channel& channel, PartId from, PartId to, bool copies) {
    const bool staged = channel.route == Route::kStaged;
    Device& last = device(staged ? to : from);  // its stream records the arrival
    track.slots.resize(slots());
    for (TrackSlot& slot : track.slots) slot.arrived = last.NewEvent();
    if (!copies) return;
    track.packed = device(from).NewEvent();
    track.packet = device(from).NewEvent();
    Streams& streams = streams_[Index(from, to)];
    if (streams.out == nullptr) streams.out = device(from).NewStream();
    if (staged && streams.in == nullptr) streams.in = device(to).NewStream();
  }

  /// The sender's stream writes a buffer only after all copies of its last content. A receiver that has finished with epoch
  /// e has waited for these copies, so between two epochs of one run Free never waits. It waits where a failed run left
  /// copies behind.
  void Free(Track& track, PartId from, std::uint64_t epoch) {
    if (track.slots.empty()) return;
    TrackSlot& slot = track.slots[Slot(epoch)];
    if (!slot.busy) return;
    slot.arrived->MakeWait(main(from));
    slot.busy = false;
  }

  std::size_t PacketOf(std::size_t bytes, bool staged) const {
    if (packet_ != 0) return packet_;
    return staged ? PacketSize(bytes, 2, kHostBytesAStart) : bytes;
  }

  /// Enqueues the copies of one buffer on the channel's own streams.
  void Move(const Channel& channel, Track& track, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
    Device& sender = device(from);
    Streams& streams = streams_[Index(from, to)];
    const bool staged = channel.route == Route::kStaged;
    const bool hub = channel.route == Route::kHostHub;
    const std::byte* const outbox = buffers().At(channel.outbox, epoch);
    std::byte* const inbox = buffers().At(channel.inbox, epoch);
    std::byte* const staging = Take(channel.staging, epoch);
    const std::size_t packet = hub ? bytes : PacketOf(bytes, staged);
    for (std::size_t begin = 0; begin < bytes; begin += packet) {
      const std::size_t size = std::min(packet, bytes - begin);
      if (channel.route == Route::kCopy) {
        sender.CopyToPeer(device(to), inbox + begin, outbox + begin, size, *streams.out);
        continue;
      }
      sender.CopyOut(staging + begin, outbox + begin, size, *streams.out);
      if (hub) continue;
      track.packet->Record(*streams.out);  // a wait takes the latest record before it, so one event suffices
      track.packet->MakeWait(*streams.in);
      device(to).CopyIn(inbox + begin, staging + begin, size, *streams.in);
    }
    TrackSlot& slot = track.slots[Slot(epoch)];
    slot.busy = true;
    slot.arrived->Record(staged ? *streams.in : *streams.out);
  }

  /// `reader`: the stream of device `at` that waits.
  const std::byte* Arrived(Stream& reader, Track& track, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch,
                           BufferId buffer) {
    if (bytes > 0) {
      CheckFits(bytes, buffer, from, at);
      WithContext(from, at, bytes, [&] { track.slots[Slot(epoch)].arrived->MakeWait(reader); });
    }
    return buffers().At(buffer, epoch);
  }

  std::size_t packet_;
  ChannelPlan plan_;
  std::vector<Track> pairs_, broadcasts_;
  std::vector<Root> roots_;
  std::vector<Streams> streams_;
};

}  // namespace

std::unique_ptr<Transport> MakeChannelTransport(std::string_view name, std::span<Device* const> devices,
                                                const ChannelPlan& plan, const TransportOptions& options) {
  return std::make_unique<ChannelTransport>(name, devices, plan, options.packet);
}

}  // namespace chatty
