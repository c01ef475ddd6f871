/// \file
/// What operators of every backend share: one device's place in a run, memory, and exchange with other devices.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/sync.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/options.h"
#include "chatty/framework/run_paths.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/statistics.h"

namespace chatty {

/// No device: nobody to send to, or to receive from.
inline constexpr PartId kNoPart = ~PartId{0};

namespace operators {

/// Skip::kAskedAfter, or 0 where there is none.
template <class Skip>
constexpr EdgeIndex AskedAfterOf() {
  if constexpr (requires { Skip::kAskedAfter; }) {
    return Skip::kAskedAfter;
  } else {
    return 0;
  }
}
/// After so many edges of a row ForEachEdge asks whether to leave out the rest; 0: it does not.
template <class Skip>
inline constexpr EdgeIndex kAskedAfter = AskedAfterOf<Skip>();

}  // namespace operators

/// What the devices of an operator program's run share. Kept from run to run, so that buffers are allocated once.
class OperatorGroup {
 public:
  /// For these devices, which must outlive it; transport, its factory, timeout and stop as in RunOptions. Of several paths
  /// each payload takes the one that `costs` predicts to be the fastest.
  OperatorGroup(std::span<Device* const> devices, const RunOptions& options, CostModel costs = {});

  /// Message buffers hold at least so many bytes, [from][to], from the first exchange on, so that no later one replaces
  /// them.
  void Reserve(PairBytesTable bytes) { reserved_ = std::move(bytes); }
  /// How one device's failure reaches the others.
  AbortToken abort;
  /// Records the failure of one device and wakes all others, also those within a transport.
  void Fail(std::exception_ptr error) noexcept;
  /// Makes the group usable again after a failed run.
  void Reset();
  /// What moved bytes, joined by plus signs; "none" on one device.
  std::string_view transport_name() const { return paths_ ? std::string_view(paths_.selector()->name()) : "none"; }
  /// As RunPaths::Whereabouts, also before there are paths, and which devices had not come where others waited for all, when
  /// the first one failed. Empty on one device.
  std::string Whereabouts() const;
  bool stopped() const { return stopped_; }  ///< whether the program was told of a request to stop

 private:
  friend class DeviceOperators;
  struct ExchangeHeader {
    std::array<std::byte, 64> value{};  ///< what AllReduce folds
    bool stop = false;                  ///< asked for; the first device looks
  };
  /// How often a device has come to where all meet.
  struct alignas(64) Arrivals {
    std::atomic<std::uint64_t> now{0};
    std::uint64_t at_failure = 0;
  };
  std::span<Device* const> devices_;
  RunOptions options_;
  CostModel costs_;
  std::atomic<bool> stopped_{false}, failed_{false};
  std::vector<Arrivals> arrivals_;
  PairBytesTable capacities_, reserved_;  // of the buffers that are there; empty: none
  std::array<PairBytesTable, 2> sizes_;  // what devices hand over, by parity of the exchange; a row is its device's to write
  std::array<std::vector<std::vector<Clock::time_point>>, 2>
      begun_;                // likewise: since when each payload is put into its buffer
  std::mutex paths_change_;  // while they are replaced another device may fail
  RunPaths paths_;
  std::unique_ptr<AllGatherBarrier<ExchangeHeader>> meeting_;
};

/// One device's part in an operator program, which runs on all devices at once, each on its own thread (the SPMD style of
/// MPI). Everything that has `All` or `Exchange` in its name is called by all devices together.
class DeviceOperators {
 public:
  /// Operators on `graph`'s device, whose time goes to `account`; `track` may be null. All four must outlive it. Accounts
  /// for its life: what is neither waiting nor communication is the program's, and so compute.
  DeviceOperators(OperatorGroup& group, const DeviceGraph& graph, DeviceStatistics& account, TraceTrack* track = nullptr)
      : group_(&group), graph_(&graph), account_(&account), span_(track, &account.compute_ms, spans::kProgram) {}

  /// @{
  /// This device's place among all that run the program.
  PartId rank() const { return graph_->ref().part; }
  PartId devices() const { return graph_->ref().parts; }
  /// @}
  const GraphRef& graph() const { return graph_->ref(); }  ///< pointers of this device's memory
  bool symmetric() const { return graph().symmetric; }     ///< every edge of the graph has its reverse
  /// Forward edges of owned vertices.
  EdgeIndex subgraph_edges() const { return graph_->subgraph().forward->neighbours.size(); }
  /// Edges that lead to owned vertices, where the program asks for these (kReverse).
  EdgeIndex reverse_edges() const { return graph_->subgraph().reverse->neighbours.size(); }
  /// Where this part of the program runs.
  Device& device() const { return graph_->device(); }

  /// Memory of this device, with indeterminate contents. Throws OutOfMemoryError.
  template <class T>
  Buffer<T> Allocate(std::size_t size) const {
    return Buffer<T>(device(), size);
  }
  /// Copies to host memory and waits.
  template <class T>
  void CopyOut(T* host, const T* from, std::size_t count) const {
    const Step step(*this, spans::kCopyOut, {count * sizeof(T)});
    device().stream().Synchronize(wait());  // a copy to pageable memory itself waits without a deadline
    device().CopyOut(host, from, count * sizeof(T), device().stream());
    device().stream().Synchronize(wait());
  }

  /// Hands `count` objects at `data` to device `to` and returns what `from` hands to this one, in this device's memory until
  /// the next exchange; `received`, if not null, is told how many objects these are. kNoPart: nobody. All devices call it,
  /// and name each other consistently.
  template <class T>
  const T* Exchange(PartId to, const T* data, std::size_t count, PartId from, std::size_t* received = nullptr) {
    const std::byte* theirs = nullptr;
    std::size_t bytes = 0;
    ExchangeBytes([&](PartId p) { return p == to ? Bytes(data, count) : std::span<const std::byte>(); },
                  [&](PartId p, std::span<const std::byte> payload) {
                    if (p == from) theirs = payload.data(), bytes = payload.size();
                  });
    if (received != nullptr) *received = bytes / sizeof(T);
    return reinterpret_cast<const T*>(theirs);
  }
  /// Hands each other device p the objects payload(p), a span of this device's memory, and calls take(p, span) for each that
  /// hands any to this one, whose objects are in this device's memory until the next exchange. Two meetings of all devices,
  /// however many these are, and one where nobody has anything. All devices call it.
  template <class T, class PayloadFor, class Take>
  void AllToAllv(PayloadFor&& payload, Take&& take) {
    ExchangeBytes(
        [&](PartId p) {
          const std::span<const T> objects = payload(p);
          return Bytes(objects.data(), objects.size());
        },
        [&](PartId p, std::span<const std::byte> theirs) {
          take(p, std::span<const T>(reinterpret_cast<const T*>(theirs.data()), theirs.size() / sizeof(T)));
        });
  }
  /// op over all devices' values, in device order, on all of them; T is a few numbers.
  template <class T, class Op>
  T AllReduce(const T& value, Op op) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(OperatorGroup::ExchangeHeader::value));
    OperatorGroup::ExchangeHeader mine;
    std::memcpy(mine.value.data(), &value, sizeof(T));
    T all = value;
    MeetAll(mine, [&](int r, const OperatorGroup::ExchangeHeader& m) {
      T theirs = value;
      std::memcpy(static_cast<void*>(&theirs), m.value.data(), sizeof(T));
      all = r == 0 ? theirs : op(all, theirs);
    });
    return all;
  }
  /// Each device's value, in device order, on all of them; T is a few numbers. Only the first devices() are any.
  template <class T>
  std::array<T, kMaxDevices> AllGather(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(OperatorGroup::ExchangeHeader::value));
    OperatorGroup::ExchangeHeader mine;
    std::memcpy(mine.value.data(), &value, sizeof(T));
    std::array<T, kMaxDevices> all{};
    MeetAll(mine, [&](int r, const OperatorGroup::ExchangeHeader& m) {
      std::memcpy(static_cast<void*>(&all[static_cast<std::size_t>(r)]), m.value.data(), sizeof(T));
    });
    return all;
  }
  /// The first device's number, on all devices.
  double BroadcastFirst(double number) {
    return AllReduce(number, [](double first, double) { return first; });
  }
  /// The sum over all devices, added in device order.
  double AllReduceSum(double number) {
    return AllReduce(number, [](double sum, double other) { return sum + other; });
  }
  /// Whether the run is to end early (RunOptions::stop). A program that is told so fills its output with what it has, and
  /// returns; one that never asks runs to its end. All devices call it together and get the same answer: what the first one
  /// saw at the last exchange, or in a meeting of its own if there was none since the last question.
  bool StopRequested();

  /// What Exchange has sent to other devices and, with RunOptions::explain, how each payload travelled that it has received.
  struct Traffic {
    std::vector<PairStatistics> pairs;  ///< one a device to which anything was sent
    std::vector<BufferRecord> buffers;  ///< by the number of the exchange
  };
  /// So far.
  Traffic TakeTraffic() {
    std::erase_if(traffic_.pairs, [](const PairStatistics& pair) { return pair.messages == 0; });
    return std::move(traffic_);
  }

 protected:
  /// What this device's waits watch.
  WaitContext wait() const { return {&group_->abort, group_->options_.timeout}; }

  /// An operator, while it lives: interrupts the span of the program, which goes on afterwards. Does not nest.
  class Step {
   public:
    /// Interrupts the program's span by one of `kind`.
    Step(const DeviceOperators& operators, const SpanKind& kind, const SpanArguments& arguments = {})
        : operators_(operators), compute_(kind.category == SpanCategory::kCompute) {
      if (compute_) {
        operators_.span_.Next(kind, arguments);
      } else {
        DeviceStatistics& account = *operators_.account_;
        operators_.span_.Next(kind.category == SpanCategory::kWaiting ? &account.waiting_ms : &account.communication_ms,
                              kind, arguments);
      }
    }
    ~Step() {
      if (compute_) {
        operators_.span_.Next(spans::kProgram);
      } else {
        operators_.span_.Next(&operators_.account_->compute_ms, spans::kProgram);
      }
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    const DeviceOperators& operators_;
    const bool compute_;
  };

 private:
  /// What AllToAllv does, in bytes.
  void ExchangeBytes(const std::function<std::span<const std::byte>(PartId)>& payload,
                     const std::function<void(PartId, std::span<const std::byte>)>& take);
  /// Which of the paths carries a payload of this exchange, and what it is expected to take; the same on both its ends.
  Selector::Choice ChoiceFor(const PairBytesTable& sizes, PartId from, PartId to) const;
  /// The path itself.
  Transport& PathOf(const PairBytesTable& sizes, PartId from, PartId to) const;
  /// Has buffers that hold so much, too; the first device calls it, while the others wait.
  void ReplaceBuffers(const PairBytesTable& sizes);
  /// Meets all devices; then calls fold(device, header) in device order.
  void MeetAll(OperatorGroup::ExchangeHeader mine,
               const std::function<void(int, const OperatorGroup::ExchangeHeader&)>& fold);
  void MeetAll() {
    MeetAll({}, [](int, const OperatorGroup::ExchangeHeader&) {});
  }
  template <class T>
  static std::span<const std::byte> Bytes(const T* data, std::size_t count) {
    return {reinterpret_cast<const std::byte*>(data), count * sizeof(T)};
  }

  OperatorGroup* group_;
  const DeviceGraph* graph_;
  DeviceStatistics* account_;
  mutable Span span_;  // one for the whole run, in parts
  std::uint64_t epoch_ = 0, meetings_ = 0, asked_at_ = 0;
  bool stop_ = false;  // as of the last meeting
  Traffic traffic_;
};

}  // namespace chatty
