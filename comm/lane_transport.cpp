#include "chatty/comm/lane_transport.h"

#include <algorithm>
#include <array>

#include "chatty/comm/box_transport.h"
#include "chatty/comm/probes.h"

namespace chatty {

namespace {

/// @{
/// Where a route has a box.
bool HasOutbox(Route route) { return route == Route::kCopy || route == Route::kStaged || route == Route::kHub; }
bool HasMiddle(Route route) { return route == Route::kZeroCopy || route == Route::kStaged || route == Route::kHub; }
bool HasInbox(Route route) { return route == Route::kCopy || route == Route::kStaged; }
/// @}

}  // namespace

LanePlan::LanePlan(const PairBytesTable& capacities, const TransportOptions& options, const RouteTable& route)
    : parts(capacities.size()), pairs(parts * parts), broadcasts(parts * parts) {
  for (PartId from = 0; from < parts; ++from) {
    for (PartId to = 0; to < parts; ++to) {
      const std::size_t bytes = capacities[from][to];
      if (from == to || bytes == 0) continue;
      Lane& lane = pairs[from * parts + to];
      lane.route = route(from, to);
      if (HasOutbox(lane.route)) lane.outbox = boxes.OnDevice(from, bytes);
      if (HasMiddle(lane.route)) lane.middle = boxes.InHostMemory(from, bytes);
      if (HasInbox(lane.route) || lane.route == Route::kInPlace) lane.inbox = boxes.OnDevice(to, bytes);
    }
  }
  CHATTY_CHECK(options.broadcast.size() <= parts, "{} devices tell all, of {}", options.broadcast.size(), parts);
  for (PartId from = 0; from < options.broadcast.size(); ++from) {
    const std::size_t bytes = options.broadcast[from];
    if (bytes == 0) continue;
    BoxId outbox = kNoBox, middle = kNoBox;
    for (PartId to = 0; to < parts; ++to) {
      if (from == to) continue;
      Lane& lane = broadcasts[from * parts + to];
      lane.route = route(from, to);
      if (lane.route != Route::kZeroCopy && outbox == kNoBox) outbox = boxes.OnDevice(from, bytes);
      if (HasMiddle(lane.route) && middle == kNoBox) middle = boxes.InHostMemory(from, bytes);
      if (HasInbox(lane.route)) lane.inbox = boxes.OnDevice(to, bytes);
    }
    for (PartId to = 0; to < parts; ++to) {
      if (from == to) continue;
      broadcasts[from * parts + to].outbox = outbox;
      broadcasts[from * parts + to].middle = middle;
    }
  }
}

namespace {

class LaneTransport final : public BoxTransport {
 public:
  LaneTransport(std::string_view name, std::span<Device* const> devices, const LanePlan& plan, std::size_t packet)
      : BoxTransport(name, devices, plan.boxes),
        packet_(packet),
        plan_(plan),
        pairs_(plan.pairs.size()),
        broadcasts_(plan.broadcasts.size()),
        roots_(plan.parts),
        streams_(plan.pairs.size()) {
    for (PartId from = 0; from < plan_.parts; ++from) {
      bool tells = false;
      for (PartId to = 0; to < plan_.parts; ++to) {
        const std::size_t lane = Index(from, to);
        if (IsUsed(plan_.pairs[lane])) {
          const Route route = plan_.pairs[lane].route;
          Prepare(pairs_[lane], plan_.pairs[lane], from, to, HasOutbox(route));
          pairs_[lane].atomics = route == Route::kInPlace && probes::NativeAtomics(device(from), device(to));
        }
        if (IsUsed(plan_.broadcasts[lane])) {
          const Route route = plan_.broadcasts[lane].route;
          Prepare(broadcasts_[lane], plan_.broadcasts[lane], from, to, HasInbox(route));
          roots_[from].fetched = roots_[from].fetched || route == Route::kStaged;
          tells = true;
        }
      }
      if (!tells) continue;
      roots_[from].packed = device(from).NewEvent();
      roots_[from].stream = device(from).NewStream();
      roots_[from].packet = device(from).NewEvent();
    }
  }
  ~LaneTransport() override {
    SettleDevices();
    for (const Root& root : roots_) Settle(root.stream.get());
    for (const Streams& streams : streams_) {
      Settle(streams.out.get());
      Settle(streams.in.get());
    }
  }
  LaneTransport(const LaneTransport&) = delete;
  LaneTransport& operator=(const LaneTransport&) = delete;

  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    const Lane& lane = plan_.pairs[Index(from, to)];
    Free(pairs_[Index(from, to)], from, epoch);
    return Take(Written(lane, /*broadcast=*/false), epoch);
  }

  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0) return;
    const Lane& lane = plan_.pairs[Index(from, to)];
    Track& track = pairs_[Index(from, to)];
    CheckFits(bytes, Written(lane, false), from, to);
    Told(from, to, bytes, [&] {
      if (lane.route == Route::kInPlace || lane.route == Route::kZeroCopy) {
        track.arrived[epoch & 1]->Record(main(from));
        return;
      }
      Stream& out = *streams_[Index(from, to)].out;
      track.packed->Record(main(from));
      track.packed->MakeWait(out);
      Move(lane, track, from, to, bytes, epoch);
    });
  }

  bool Reaches(PartId from, PartId to) const override { return pairs_[Index(from, to)].atomics; }

  bool InPlace(PartId from, PartId to) const override {
    // What leaves an outbox of the sender's is copied.
    if (from != to) return IsUsed(plan_.pairs[Index(from, to)]) && !HasOutbox(plan_.pairs[Index(from, to)].route);
    if (roots_[from].packed == nullptr) return false;
    // So is what some read in host memory and others in the sender's.
    const Route first = AnyOf(from).route;
    bool same = !HasOutbox(first);
    for (PartId other = 0; other < plan_.parts; ++other) {
      same = same && (other == from || plan_.broadcasts[Index(from, other)].route == first);
    }
    return same;
  }

  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    const Lane& lane = plan_.pairs[Index(from, at)];
    return Arrived(pairs_[Index(from, at)], at, from, bytes, epoch, lane.inbox != kNoBox ? lane.inbox : lane.middle);
  }

  std::byte* BroadcastBox(PartId from, std::uint64_t epoch) override {
    if (roots_[from].packed == nullptr) return nullptr;
    for (PartId to = 0; to < plan_.parts; ++to) Free(broadcasts_[Index(from, to)], from, epoch);
    return Take(Written(AnyOf(from), /*broadcast=*/true), epoch);
  }

  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    if (bytes == 0 || plan_.parts < 2) return;
    Root& root = roots_[from];
    const Lane& any = AnyOf(from);
    CheckFits(bytes, Written(any, true), from, kEverybody);
    Told(from, kEverybody, bytes, [&] {
      root.packed->Record(main(from));
      if (any.outbox != kNoBox && any.middle != kNoBox) root.packed->MakeWait(*root.stream);
    });
    // Once into host memory for all whose way leads through it, each packet being fetched as soon as it is there.
    if (any.outbox != kNoBox && any.middle != kNoBox) {
      const std::size_t packet = root.fetched ? PacketOf(bytes, /*staged=*/true) : bytes;
      std::byte* const middle = Take(any.middle, epoch);
      for (std::size_t begin = 0; begin < bytes; begin += packet) {
        const std::size_t size = std::min(packet, bytes - begin);
        Told(from, kEverybody, size, [&] {
          device(from).CopyOut(middle + begin, boxes().At(any.outbox, epoch) + begin, size, *root.stream);
          root.packet->Record(*root.stream);
        });
        for (PartId to = 0; to < plan_.parts; ++to) {
          const Lane& lane = plan_.broadcasts[Index(from, to)];
          if (to == from || lane.route != Route::kStaged) continue;
          Told(from, to, size, [&] {
            Stream& in = *streams_[Index(from, to)].in;
            root.packet->MakeWait(in);
            device(to).CopyIn(boxes().At(lane.inbox, epoch) + begin, middle + begin, size, in);
          });
        }
      }
    }
    for (PartId i = 1; i < plan_.parts; ++i) {
      const auto to = static_cast<PartId>((from + i) % plan_.parts);  // not everybody to the same receiver first
      const Lane& lane = plan_.broadcasts[Index(from, to)];
      Track& track = broadcasts_[Index(from, to)];
      Event& arrived = *track.arrived[epoch & 1];
      Told(from, to, bytes, [&] {
        switch (lane.route) {
          case Route::kInPlace:
            arrived.Record(main(from));
            break;
          case Route::kHub:
          case Route::kZeroCopy:
            arrived.Record(any.outbox != kNoBox ? *root.stream : main(from));
            break;
          case Route::kStaged:
            arrived.Record(*streams_[Index(from, to)].in);
            break;
          case Route::kCopy:
            root.packed->MakeWait(*streams_[Index(from, to)].out);
            Move(lane, track, from, to, bytes, epoch);
            break;
        }
        track.busy[epoch & 1] = any.outbox != kNoBox && lane.route != Route::kInPlace;
      });
    }
  }

  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    const Lane& lane = plan_.broadcasts[Index(from, at)];
    const BoxId box = lane.inbox != kNoBox ? lane.inbox : HasMiddle(lane.route) ? lane.middle : lane.outbox;
    return Arrived(broadcasts_[Index(from, at)], at, from, bytes, epoch, box);
  }

 private:
  /// What a lane has on its way, by parity of the epoch.
  struct Track {
    std::unique_ptr<Event> packed, packet;          // on the sender's device: the box is ready to go; a packet has gone
    std::array<std::unique_ptr<Event>, 2> arrived;  // the receiver may read
    bool atomics = false;                           // of the sender's device are whole in the receiver's memory
    std::array<bool, 2> busy{};  // it is copied there, and the sender's thread has not had its stream wait for that
  };
  /// What a device tells all has on its way.
  struct Root {
    std::unique_ptr<Event> packed, packet;  // as those of a lane
    std::unique_ptr<Stream> stream;         // copies to host memory for all
    bool fetched = false;                   // somebody copies from there, packet by packet
  };
  struct Streams {
    std::unique_ptr<Stream> out, in;  // of the sender's device, of the receiver's
  };

  static bool IsUsed(const Lane& lane) { return lane.outbox != kNoBox || lane.middle != kNoBox || lane.inbox != kNoBox; }
  /// The box that packing writes.
  static BoxId Written(const Lane& lane, bool broadcast) {
    if (lane.outbox != kNoBox) return lane.outbox;
    return broadcast || lane.inbox == kNoBox ? lane.middle : lane.inbox;
  }
  /// A lane of `from` to somebody: all of them know the boxes on the sender's side.
  const Lane& AnyOf(PartId from) const { return plan_.broadcasts[Index(from, from == 0 ? 1 : 0)]; }

  /// `copies`: the lane has copies of its own, not only a share of those of all.
  void Prepare(Track& track, const Lane& lane, PartId from, PartId to, bool copies) {
    const bool staged = lane.route == Route::kStaged;
    Device& last = device(staged ? to : from);  // whose stream the arrival is recorded on
    for (auto& event : track.arrived) event = last.NewEvent();
    if (!copies) return;
    track.packed = device(from).NewEvent();
    track.packet = device(from).NewEvent();
    Streams& streams = streams_[Index(from, to)];
    if (streams.out == nullptr) streams.out = device(from).NewStream();
    if (staged && streams.in == nullptr) streams.in = device(to).NewStream();
  }

  /// The sender's stream goes on to write a box only when the copies of what it last held are over. A receiver that has
  /// finished with epoch e has waited for them, so between two epochs of one run this never has to wait; it does where a run
  /// that failed left copies behind.
  void Free(Track& track, PartId from, std::uint64_t epoch) {
    if (!track.busy[epoch & 1]) return;
    track.arrived[epoch & 1]->MakeWait(main(from));
    track.busy[epoch & 1] = false;
  }

  std::size_t PacketOf(std::size_t bytes, bool staged) const {
    if (packet_ != 0) return packet_;
    return staged ? PacketSize(bytes, 2, kHostBytesAStart) : bytes;
  }

  /// Enqueues the copies of one box on the lane's own streams.
  void Move(const Lane& lane, Track& track, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
    Device& sender = device(from);
    Streams& streams = streams_[Index(from, to)];
    const bool staged = lane.route == Route::kStaged;
    const bool hub = lane.route == Route::kHub;
    const std::byte* const outbox = boxes().At(lane.outbox, epoch);
    std::byte* const inbox = boxes().At(lane.inbox, epoch);
    std::byte* const middle = Take(lane.middle, epoch);
    const std::size_t packet = hub ? bytes : PacketOf(bytes, staged);
    for (std::size_t begin = 0; begin < bytes; begin += packet) {
      const std::size_t size = std::min(packet, bytes - begin);
      if (lane.route == Route::kCopy) {
        sender.CopyToPeer(device(to), inbox + begin, outbox + begin, size, *streams.out);
        continue;
      }
      sender.CopyOut(middle + begin, outbox + begin, size, *streams.out);
      if (hub) continue;
      track.packet->Record(*streams.out);  // a stream waits for the latest record before its call, so one event does
      track.packet->MakeWait(*streams.in);
      device(to).CopyIn(inbox + begin, middle + begin, size, *streams.in);
    }
    track.busy[epoch & 1] = true;
    track.arrived[epoch & 1]->Record(staged ? *streams.in : *streams.out);
  }

  const std::byte* Arrived(Track& track, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch, BoxId box) {
    if (bytes > 0) {
      CheckFits(bytes, box, from, at);
      Told(from, at, bytes, [&] { track.arrived[epoch & 1]->MakeWait(main(at)); });
    }
    return boxes().At(box, epoch);
  }

  std::size_t packet_;
  LanePlan plan_;
  std::vector<Track> pairs_, broadcasts_;
  std::vector<Root> roots_;
  std::vector<Streams> streams_;
};

}  // namespace

std::unique_ptr<Transport> MakeLaneTransport(std::string_view name, std::span<Device* const> devices, const LanePlan& plan,
                                             const TransportOptions& options) {
  return std::make_unique<LaneTransport>(name, devices, plan, options.packet);
}

}  // namespace chatty
