// What may go wrong in a run: transports that stall or throw, devices that halt, programs that fail at a chosen place.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../core/waits.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/framework/options.h"
#include "chatty/framework/program.h"

namespace chatty::test::faults {

using namespace std::chrono_literals;

/// Of what goes well, which is never so late, however busy the machine is. What stalls sets the clock forward, instead of
/// letting it pass.
inline constexpr std::chrono::milliseconds kDeadline = 60s;
/// An operation that no event ends gives up after this number of fifths of a deadline, and the test fails.
inline constexpr int kGiveUp = 500;

/// Lets a fifth of the deadline pass for all waiting threads, after they have begun to wait, so that no other thread is
/// late.
inline void PassTime() {
  if (!waits::AwaitQuiet()) throw std::logic_error("somebody spins");
  waits::Advance(kDeadline / 5);
  std::this_thread::sleep_for(1ms);
}

enum class At : std::uint8_t { kNowhere, kPost, kCollective, kReceive };
enum class Do : std::uint8_t {
  kThrow,        ///< what no transport of this library throws
  kStall,        ///< until the run is aborted
  kTimeOut,      ///< until the deadline that the transport was given
  kOutOfMemory,  ///< as one that allocates
};

/// What a FaultyTransport does, and what became of it. Set while no run goes on.
struct Faults {
  At at = At::kNowhere;
  Do what = Do::kThrow;
  PartId device = 0;       ///< on whose thread
  std::uint32_t nth = 0;   ///< number of its calls of that kind since Set
  bool tear_down = false;  ///< Abort leaves it unusable, as an aborted communicator is
  bool in_place = true;    ///< what is read in place is said to be; otherwise engines that go by rounds tell lengths first

  std::array<std::array<std::atomic<std::uint32_t>, 8>, 4> calls{};  ///< by kind and device
  std::atomic<int> made{0}, aborts{0};
  std::atomic<bool> struck{false};
  std::atomic<bool> gave_up{false};     ///< no event ended the stalled operation
  std::atomic<bool> time_passes{true};  ///< while something stalls

  void Set(At where, Do fault, PartId on, std::uint32_t call) {
    at = where;
    what = fault;
    device = on;
    nth = call;
    struck = false;
    aborts = 0;
    for (auto& kind : calls) {
      for (auto& count : kind) count = 0;
    }
  }
  void Heal() { Set(At::kNowhere, Do::kThrow, 0, 0); }
};

/// Passes on what another transport does, but for what Faults says.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, Faults& faults, std::chrono::milliseconds timeout)
      : inner_(std::move(inner)), faults_(faults), timeout_(timeout) {
    ++faults_.made;
  }
  std::string_view name() const override { return "faulty"; }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kPost, from, bytes);
    inner_->Post(from, to, bytes, epoch);
  }
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override {
    Maybe(At::kCollective, at, 0);
    inner_->BeginCollective(at, incoming, broadcast, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kReceive, at, bytes);
    return inner_->Receive(at, from, bytes, epoch);
  }
  bool has_broadcasts() const override { return inner_->has_broadcasts(); }
  bool IsZeroCopyReceive(PartId from, PartId to) const override {
    return faults_.in_place && inner_->IsZeroCopyReceive(from, to);
  }
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override { return inner_->BroadcastOutbox(from, epoch); }
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kPost, from, bytes);
    inner_->Broadcast(from, bytes, epoch);
  }
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    Maybe(At::kReceive, at, bytes);
    return inner_->ReceiveBroadcast(at, from, bytes, epoch);
  }
  void Abort() noexcept override {
    ++faults_.aborts;
    torn_ = faults_.tear_down;
    aborted_ = true;
    inner_->Abort();
  }
  bool reusable() const override { return !torn_ && inner_->reusable(); }

 private:
  void Maybe(At at, PartId device, std::size_t bytes) {
    const std::uint32_t call = ++faults_.calls[static_cast<std::size_t>(at)][device];
    if (faults_.at != at || faults_.device != device || call != faults_.nth) return;
    faults_.struck = true;
    switch (faults_.what) {
      case Do::kThrow:
        throw std::runtime_error("the cable is cut");
      case Do::kOutOfMemory:
        Throw<OutOfMemoryError>("transport faulty: out of memory on host:{}: {} bytes were asked for", device, bytes);
      case Do::kStall:
      case Do::kTimeOut:
        break;
    }
    aborted_ = false;  // of this run
    const Clock::time_point start = Clock::now();
    for (int patience = kGiveUp; !aborted_; --patience) {
      if (patience == 0) {
        faults_.gave_up = true;
        throw std::logic_error("what stalls was not aborted");
      }
      if (faults_.what == Do::kTimeOut && Clock::now() - start >= timeout_) {
        Throw<TimeoutError>("transport faulty: host:{} waited {} ms for {} bytes", device, timeout_.count(), bytes);
      }
      while (!faults_.time_passes) std::this_thread::sleep_for(1ms);
      PassTime();
    }
    throw AbortedError("transport faulty: gave up");
  }

  std::unique_ptr<Transport> inner_;
  Faults& faults_;
  const std::chrono::milliseconds timeout_;
  std::atomic<bool> aborted_{false}, torn_{false};
};

inline TransportFactory FactoryOf(Faults& faults) {
  return [&faults](std::span<Device* const> devices, const PairBytesTable& capacities, const TransportOptions& options) {
    return std::make_unique<FaultyTransport>(MakeTransport("auto", devices, capacities), faults, options.timeout);
  };
}

/// A host device whose streams may come to a halt, as a GPU's do behind a kernel that never ends.
class HaltingDevice final : public Device {
 public:
  explicit HaltingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)), stream_(*this) {}
  void Halt(bool on) { halted_ = on; }

  DeviceKind kind() const override { return inner_->kind(); }
  int index() const override { return inner_->index(); }
  const DeviceInfo& info() const override { return inner_->info(); }
  MemoryResource& memory() override { return inner_->memory(); }
  void set_memory(MemoryResource* resource) override { inner_->set_memory(resource); }
  MemoryResource& pinned_memory() override { return inner_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { inner_->set_pinned_memory(resource); }
  void MakeCurrent() override { inner_->MakeCurrent(); }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<HaltingStream>(*this); }
  std::unique_ptr<Event> NewEvent() override { return inner_->NewEvent(); }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
    inner_->CopyIn(device, host, bytes, stream);
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
    inner_->CopyOut(host, device, bytes, stream);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    inner_->CopyWithin(to, from, bytes, stream);
  }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    inner_->Fill(device, byte, bytes, stream);
  }
  WorkerTeam* team() override { return inner_->team(); }

 private:
  class HaltingStream final : public Stream {
   public:
    explicit HaltingStream(HaltingDevice& owner) : owner_(owner) {}
    void Synchronize(const WaitContext& context) override {
      const Clock::time_point start = Clock::now();
      while (owner_.halted_) {
        if (context.abort != nullptr) context.abort->ThrowIfAborted("a stream that is halted");
        const auto waited = Clock::now() - start;
        if (context.timeout.count() > 0 && waited > context.timeout) Throw<TimeoutError>("waited for a halted stream");
        if (waited > 2 * kDeadline) throw std::logic_error("a stream was waited for without a deadline");
        std::this_thread::sleep_for(1ms);
        waits::Advance(kDeadline / 20);
      }
    }
    bool IsIdle() override { return !owner_.halted_; }
    void* native() const override { return nullptr; }

   private:
    HaltingDevice& owner_;
  };

  std::unique_ptr<Device> inner_;
  std::atomic<bool> halted_{false};
  HaltingStream stream_;
};

/// Spreads least ids; throws, or halts a device, at a chosen place. Programs hold plain data: the switches are outside.
inline constexpr VertexId kNoVertex = ~VertexId{0};
inline std::atomic<VertexId> g_bad_vertex{kNoVertex};
inline std::atomic<std::uint32_t> g_bad_round{0};
inline std::function<void()> g_bad_act;  // set while no run goes on
struct Spread {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>& round) const {
    if (v.id == g_bad_vertex && round.index >= g_bad_round) g_bad_act();
    if (m >= value) return false;
    value = m;
    return true;
  }
};

}  // namespace chatty::test::faults
