#include "chatty/cli/compare/transfers.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include "chatty/cli/times.h"
#include "chatty/comm/transport.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"

namespace chatty::cli {
namespace {

/// The bytes of the devices that begin; none is 0.
std::uint8_t PatternAt(std::size_t offset) {
  return static_cast<std::uint8_t>(1 + (offset * 131 + (offset >> 12) * 7) % 255);
}

class Transfers {
 public:
  Transfers(std::span<Device* const> devices, std::string_view comm, const Schedule& schedule,
            const TransferOptions& options)
      : devices_(devices), comm_(comm), schedule_(schedule), options_(options) {}

  void Prepare() {
    PairBytesTable capacities(devices_.size(), std::vector<std::size_t>(devices_.size(), 0));
    TransportOptions transport;
    std::vector<std::size_t>& broadcasts = transport.broadcast;
    broadcasts.resize(devices_.size(), 0);
    transport.links = options_.links;
    transport.packet = options_.packet;
    transport.timeout = options_.timeout;
    for (const auto& moves : schedule_) {
      for (const Move& move : moves) {
        std::size_t& capacity = move.to == kAll ? broadcasts[move.from] : capacities[move.from][move.to];
        capacity = std::max(capacity, move.bytes);
        block_ = std::max(block_, move.offset + move.bytes);
      }
    }
    transport_ = MakeTransport(comm_, devices_, capacities, transport);
    pattern_.resize(block_);
    for (std::size_t i = 0; i < block_; ++i) pattern_[i] = PatternAt(i);
    for (PartId at = 0; at < count(); ++at) {
      Device* const device = devices_[at];
      device->MakeCurrent();
      data_.emplace_back(*device, block_);
      work_.emplace_back(*device, options_.work);
      if (Begins(at)) {
        device->CopyIn(data_.back().data(), pattern_.data(), block_, device->stream());
      } else {
        device->Fill(data_.back().data(), 0, block_, device->stream());
      }
      device->stream().Synchronize(Wait());
    }
  }

  double Median() {
    std::vector<double> times;
    for (std::size_t i = 0; i <= options_.repetitions; ++i) {
      const double ms = options_.one_thread ? OneThread() : ThreadEach();
      if (i > 0) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    Check();
    return times[times.size() / 2];
  }

 private:
  void Send(PartId at, const std::vector<Move>& moves, std::uint64_t epoch) {
    Device& device = *devices_[at];
    device.MakeCurrent();
    if (options_.work > 0) device.Fill(work_[at].data(), 1, options_.work, device.stream());
    for (const Move& move : moves) {
      if (move.from != at) continue;
      const bool all = move.to == kAll;
      std::byte* const buffer = all ? transport_->BroadcastOutbox(at, epoch) : transport_->Outbox(at, move.to, epoch);
      device.CopyWithin(buffer, data_[at].data() + move.offset, move.bytes, device.stream());
      if (all) {
        transport_->Broadcast(at, move.bytes, epoch);
      } else {
        transport_->Post(at, move.to, move.bytes, epoch);
      }
    }
  }
  void Receive(PartId at, const std::vector<Move>& moves, std::uint64_t epoch) {
    Device& device = *devices_[at];
    device.MakeCurrent();
    std::vector<std::size_t> incoming(devices_.size(), 0), broadcast(devices_.size(), 0);
    for (const Move& move : moves) {
      if (move.to == at) incoming[move.from] = move.bytes;
      if (move.to == kAll) broadcast[move.from] = move.bytes;
    }
    transport_->BeginCollective(at, incoming, broadcast, epoch);
    for (const Move& move : moves) {
      if (!Receives(move, at)) continue;
      const std::byte* const buffer = move.to == kAll ? transport_->ReceiveBroadcast(at, move.from, move.bytes, epoch)
                                                      : transport_->Receive(at, move.from, move.bytes, epoch);
      device.CopyWithin(data_[at].data() + move.offset, buffer, move.bytes, device.stream());
    }
  }
  static bool Receives(const Move& move, PartId at) { return move.to == at || (move.to == kAll && move.from != at); }
  /// What a device still reads must not be overwritten two epochs later.
  void Finish(PartId at) {
    devices_[at]->MakeCurrent();
    devices_[at]->stream().Synchronize(Wait());
  }
  /// What ends each wait, so that one that would never end fails as any other step does.
  WaitContext Wait() const { return {&abort_, options_.timeout}; }
  [[noreturn]] static void ThrowStopped() { throw AbortedError("a stop was asked for"); }
  /// Whether it sends before it could have received.
  bool Begins(PartId at) const {
    return !schedule_.empty() && std::any_of(schedule_.front().begin(), schedule_.front().end(),
                                             [&](const Move& move) { return move.from == at; });
  }
  PartId count() const { return static_cast<PartId>(devices_.size()); }

  double OneThread() {
    const Stopwatch watch;
    for (const auto& moves : schedule_) {
      for (PartId at = 0; at < count(); ++at) Send(at, moves, epoch_);
      for (PartId at = 0; at < count(); ++at) Receive(at, moves, epoch_);
      for (PartId at = 0; at < count(); ++at) Finish(at);
      ++epoch_;
      if (options_.stop.stop_requested()) ThrowStopped();
    }
    return watch.ms();
  }

  double ThreadEach() {
    AllGatherBarrier<bool> meet(static_cast<int>(devices_.size()));
    double ms = 0;
    bool stopped = false;  // written by one thread, read once all have ended
    const auto fail = [&] {
      abort_.Fail(std::current_exception());
      meet.Poison();
      transport_->Abort();  // the others may wait in it
    };
    const auto drive = [&](PartId at) {
      try {
        UseAllCores();
        std::uint64_t meeting = 0, epoch = epoch_;
        // Returns whether somebody has seen that a stop is asked for: the same for all.
        const auto all_met = [&] {
          bool stop = false;
          meet.Exchange(static_cast<int>(at), meeting++, options_.stop.stop_requested(), Wait(),
                        "the threads of the other devices", [&](int, bool asked) { stop = stop || asked; });
          return stop;
        };
        all_met();
        const Stopwatch watch;
        for (const auto& moves : schedule_) {
          Send(at, moves, epoch);
          const bool stop = all_met();
          Receive(at, moves, epoch);
          Finish(at);
          ++epoch;
          if (stop) {
            if (at == 0) stopped = true;
            return;
          }
        }
        all_met();
        if (at == 0) ms = watch.ms();
      } catch (...) {
        fail();
      }
    };
    {
      std::vector<std::jthread> threads;
      threads.reserve(devices_.size());
      try {
        for (PartId at = 0; at < count(); ++at) threads.emplace_back(drive, at);
      } catch (...) {  // those that there are wait for one that never comes
        fail();
      }
    }
    abort_.RethrowFirst();
    if (stopped) ThrowStopped();
    epoch_ += schedule_.size();
    return ms;
  }

  void Check() {
    for (PartId at = 0; at < count(); ++at) {
      if (Begins(at)) continue;  // had it from the begin
      there_.resize(block_);
      Device& device = *devices_[at];
      device.MakeCurrent();
      device.CopyOut(there_.data(), data_[at].data(), block_, device.stream());
      device.stream().Synchronize(Wait());
      for (const auto& moves : schedule_) {
        for (const Move& move : moves) {
          if (!Receives(move, at)) continue;
          for (const std::size_t i : {move.offset, move.offset + move.bytes - 1}) {
            CHATTY_CHECK(there_[i] == PatternAt(i), "{} sent byte {} to {}, and {} came", transport_->name(), i,
                         device.label(), there_[i]);
          }
        }
      }
    }
  }

  std::span<Device* const> devices_;
  std::string_view comm_;
  const Schedule& schedule_;
  const TransferOptions& options_;
  std::size_t block_ = 1;
  std::uint64_t epoch_ = 0;
  AbortToken abort_;
  std::vector<std::uint8_t> pattern_, there_;  // as long-lived as what copies them
  std::vector<Buffer<std::byte>> data_, work_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace

Schedule PeerSchedule(PartId from, PartId to, std::size_t bytes, std::size_t packet) {
  Schedule schedule;
  for (std::size_t at = 0; at < bytes; at += packet) schedule.push_back({{from, to, at, std::min(packet, bytes - at)}});
  return schedule;
}

Schedule FanOutSchedule(PartId devices, std::size_t bytes) {
  Schedule schedule(1);
  for (PartId to = 1; to < devices; ++to) schedule[0].push_back({0, to, 0, bytes});
  return schedule;
}

Schedule RingSchedule(PartId devices, std::size_t bytes, std::size_t packet) {
  const std::size_t packets = (bytes + packet - 1) / packet;
  Schedule schedule(packets + devices - 2);
  for (PartId hop = 0; hop + 1 < devices; ++hop) {
    for (std::size_t i = 0; i < packets; ++i) {
      schedule[i + hop].push_back({hop, hop + 1, i * packet, std::min(packet, bytes - i * packet)});
    }
  }
  return schedule;
}

Schedule BroadcastSchedule(std::size_t bytes) { return {{{0, kAll, 0, bytes}}}; }

Schedule ExchangeSchedule(PartId devices, std::size_t bytes, std::size_t rounds) {
  std::vector<Move> round;
  for (PartId from = 0; from < devices; ++from) {
    for (PartId to = 0; to < devices; ++to) {
      if (from != to) round.push_back({from, to, 0, bytes});
    }
  }
  return Schedule(rounds, round);
}

double TransferMs(std::span<Device* const> devices, std::string_view comm, const Schedule& schedule,
                  const TransferOptions& options) {
  auto transfers = std::make_unique<Transfers>(devices, comm, schedule, options);
  try {
    transfers->Prepare();
    return transfers->Median();
  } catch (const TimeoutError&) {  // whatever gives back what a GPU may be using for good waits for it
    if (devices.front()->kind() == DeviceKind::kCuda) static_cast<void>(transfers.release());
    throw;
  }
}

}  // namespace chatty::cli
