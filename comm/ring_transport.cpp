#include "chatty/comm/ring_transport.h"

#include <algorithm>
#include <utility>

#include "chatty/comm/buffered_transport.h"

namespace chatty {

RingPlan::RingPlan(const PairBytesTable& capacities, const TransportOptions& options, std::vector<PartId> order,
                   const std::function<bool(PartId from, PartId to)>& reach)
    : buffers(options.slots), pairs(capacities.size() * capacities.size()), broadcasts(capacities.size()) {
  const std::size_t parts = capacities.size();
  std::vector<std::size_t> position(parts, parts);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= parts || position[order[i]] != parts) {
      Throw<UsageError>("transport ring: the order names device {} twice, or there is none; it has to name each of {} once",
                        order[i], parts);
    }
    position[order[i]] = i;
  }
  if (order.size() != parts) {
    Throw<UsageError>("transport ring: the order names {} devices; it has to name each of {} once", order.size(), parts);
  }
  CHATTY_CHECK(options.broadcast.size() <= parts, "{} devices broadcast, of {}", options.broadcast.size(), parts);
  if (parts < 2) return;
  for (std::size_t i = 0; i < parts; ++i) {
    const PartId from = order[i], to = order[(i + 1) % parts];
    hops.push_back({from, to, !reach(from, to)});
  }
  const auto route = [&](PartId from, std::size_t legs, std::size_t bytes) {
    Trip trip;
    trip.source = buffers.OnDevice(from, bytes);
    for (std::size_t leg = 0; leg < legs; ++leg) {
      const std::size_t hop = (position[from] + leg) % parts;
      trip.legs.push_back({hop, hops[hop].staged ? buffers.InHostMemory(hops[hop].from, bytes) : kNoBuffer,
                           buffers.OnDevice(hops[hop].to, bytes)});
    }
    return trip;
  };
  for (PartId from = 0; from < parts; ++from) {
    for (PartId to = 0; to < parts; ++to) {
      if (from == to || capacities[from][to] == 0) continue;
      pairs[from * parts + to] = route(from, (position[to] + parts - position[from]) % parts, capacities[from][to]);
    }
    if (from < options.broadcast.size() && options.broadcast[from] > 0) {
      broadcasts[from] = route(from, parts - 1, options.broadcast[from]);
    }
  }
}

namespace {

class RingTransport final : public BufferedTransport {
 public:
  RingTransport(std::span<Device* const> devices, const RingPlan& plan, std::size_t packet)
      : BufferedTransport("ring", devices, plan.buffers), plan_(plan), packet_(packet), lines_(plan.hops.size()) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      lines_[i].out = device(plan_.hops[i].from).NewStream();
      if (plan_.hops[i].staged) lines_[i].in = device(plan_.hops[i].to).NewStream();
    }
    pairs_.resize(plan_.pairs.size());
    for (std::size_t i = 0; i < pairs_.size(); ++i) Prepare(pairs_[i], plan_.pairs[i]);
    broadcasts_.resize(plan_.broadcasts.size());
    for (std::size_t i = 0; i < broadcasts_.size(); ++i) Prepare(broadcasts_[i], plan_.broadcasts[i]);
  }
  ~RingTransport() override {
    DrainDevices();
    for (const Line& line : lines_) {
      Drain(line.out.get());
      Drain(line.in.get());
    }
  }
  RingTransport(const RingTransport&) = delete;
  RingTransport& operator=(const RingTransport&) = delete;

  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override {
    return Source(plan_.pairs[Index(from, to)], pairs_[Index(from, to)], from, epoch);
  }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    Send(plan_.pairs[Index(from, to)], pairs_[Index(from, to)], from, to, bytes, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return ReceiveOn(main(at), at, from, bytes, epoch);
  }
  bool receives_on_streams() const override { return true; }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return Arrived(stream, plan_.pairs[Index(from, at)], pairs_[Index(from, at)], at, from, bytes, epoch);
  }
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override {
    return Source(plan_.broadcasts[from], broadcasts_[from], from, epoch);
  }
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Send(plan_.broadcasts[from], broadcasts_[from], from, kAllParts, bytes, epoch);
  }
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return Arrived(main(at), plan_.broadcasts[from], broadcasts_[from], at, from, bytes, epoch);
  }

 private:
  /// The streams of a hop. All buffers that take the hop share them in the order of their posts. Copies wait only for copies
  /// that were enqueued before, so streams cannot wait for each other in a circle.
  struct Line {
    std::unique_ptr<Stream> out, in;  // of the hop's near and far device; `in` if it is staged
    Stream& last() const { return in != nullptr ? *in : *out; }
  };
  /// Transfers of a leg under way.
  struct LegEvents {
    std::unique_ptr<Event> staged, packet;        // a packet is in host memory; it is on the far side
    std::vector<std::unique_ptr<Event>> arrived;  // the buffer has arrived, by slot
  };
  struct TripEvents {
    std::unique_ptr<Event> packed;
    std::vector<bool> busy;  // by slot: it travels, and the sender's stream does not wait for its arrival yet
    std::vector<LegEvents> legs;
  };

  void Prepare(TripEvents& events, const RingPlan::Trip& trip) {
    events.busy.resize(slots());
    if (trip.legs.empty()) return;
    Device& sender = device(plan_.hops[trip.legs.front().hop].from);
    events.packed = sender.NewEvent();
    events.legs.resize(trip.legs.size());
    for (std::size_t i = 0; i < trip.legs.size(); ++i) {
      const RingPlan::Hop& hop = plan_.hops[trip.legs[i].hop];
      Device& last = device(hop.staged ? hop.to : hop.from);  // its stream records the arrival
      LegEvents& leg = events.legs[i];
      if (hop.staged) leg.staged = device(hop.from).NewEvent();
      leg.packet = last.NewEvent();
      leg.arrived.resize(slots());
      for (auto& event : leg.arrived) event = last.NewEvent();
    }
  }

  std::byte* Source(const RingPlan::Trip& trip, TripEvents& events, PartId from, std::uint64_t epoch) {
    if (events.busy[Slot(epoch)]) {  // only where a failed run left copies behind; see ChannelTransport
      events.legs.back().arrived[Slot(epoch)]->MakeWait(main(from));
      events.busy[Slot(epoch)] = false;
    }
    return buffers().At(trip.source, epoch);
  }

  std::size_t PacketOf(const RingPlan::Trip& trip, std::size_t bytes) const {
    if (packet_ != 0) return packet_;
    std::size_t stages = 0;
    bool staged = false;
    for (const RingPlan::Leg& leg : trip.legs) {
      stages += plan_.hops[leg.hop].staged ? 2 : 1;
      staged = staged || plan_.hops[leg.hop].staged;
    }
    return PacketSize(bytes, stages, staged ? kHostBytesAStart : kPeerBytesAStart);
  }

  void Send(const RingPlan::Trip& trip, TripEvents& events, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
    if (bytes == 0) return;
    CheckFits(bytes, trip.source, from, to);
    WithContext(from, to, bytes, [&] {
      events.packed->Record(main(from));
      events.packed->MakeWait(*lines_[trip.legs.front().hop].out);
      const std::size_t packet = PacketOf(trip, bytes);
      for (std::size_t begin = 0; begin < bytes; begin += packet) {
        const std::size_t size = std::min(packet, bytes - begin);
        const std::byte* source = buffers().At(trip.source, epoch) + begin;
        for (std::size_t i = 0; i < trip.legs.size(); ++i) {
          if (i > 0) events.legs[i - 1].packet->MakeWait(*lines_[trip.legs[i].hop].out);
          std::byte* const arrival = buffers().At(trip.legs[i].arrival, epoch) + begin;
          Move(trip.legs[i], events.legs[i], source, arrival, begin, size, epoch);
          events.legs[i].packet->Record(lines_[trip.legs[i].hop].last());
          source = arrival;
        }
      }
      for (std::size_t i = 0; i < trip.legs.size(); ++i) {
        events.legs[i].arrived[Slot(epoch)]->Record(lines_[trip.legs[i].hop].last());
      }
      events.busy[Slot(epoch)] = true;
    });
  }

  /// Enqueues one packet's hop.
  void Move(const RingPlan::Leg& leg, const LegEvents& events, const std::byte* source, std::byte* arrival,
            std::size_t begin, std::size_t size, std::uint64_t epoch) {
    const RingPlan::Hop& hop = plan_.hops[leg.hop];
    const Line& line = lines_[leg.hop];
    Device& near = device(hop.from);
    Device& far = device(hop.to);
    if (!hop.staged) {
      near.CopyToPeer(far, arrival, source, size, *line.out);
      return;
    }
    std::byte* const middle = Take(leg.middle, epoch) + begin;
    near.CopyOut(middle, source, size, *line.out);
    events.staged->Record(*line.out);
    events.staged->MakeWait(*line.in);
    far.CopyIn(arrival, middle, size, *line.in);
  }

  /// `reader`: the stream of device `at` that waits.
  const std::byte* Arrived(Stream& reader, const RingPlan::Trip& trip, TripEvents& events, PartId at, PartId from,
                           std::size_t bytes, std::uint64_t epoch) {
    for (std::size_t i = 0; i < trip.legs.size(); ++i) {
      if (plan_.hops[trip.legs[i].hop].to != at) continue;
      if (bytes > 0) {
        CheckFits(bytes, trip.legs[i].arrival, from, at);
        WithContext(from, at, bytes, [&] { events.legs[i].arrived[Slot(epoch)]->MakeWait(reader); });
      }
      return buffers().At(trip.legs[i].arrival, epoch);
    }
    CheckFits(bytes, kNoBuffer, from, at);
    return nullptr;
  }

  RingPlan plan_;
  std::size_t packet_;
  std::vector<Line> lines_;
  std::vector<TripEvents> pairs_, broadcasts_;
};

}  // namespace

std::unique_ptr<Transport> MakeRingTransport(std::span<Device* const> devices, const RingPlan& plan,
                                             const TransportOptions& options) {
  return std::make_unique<RingTransport>(devices, plan, options.packet);
}

}  // namespace chatty
