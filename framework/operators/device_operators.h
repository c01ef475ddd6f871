/// \file
/// The common base of all backends' operators: a device's rank, memory and exchanges with other devices.
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
#include "chatty/framework/engines/control_plane.h"
#include "chatty/framework/options.h"
#include "chatty/framework/run_paths.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/statistics.h"

namespace chatty {

/// No device as sender or receiver.
inline constexpr PartId kNoPart = ~PartId{0};

namespace operators {

/// Skip::kCheckAfter, or 0 without one.
template <class Skip>
constexpr EdgeIndex CheckAfterOf() {
  static_assert(
      !requires { Skip::kAskedAfter; }, "a Skip's kAskedAfter is called kCheckAfter now");
  if constexpr (requires { Skip::kCheckAfter; }) {
    return Skip::kCheckAfter;
  } else {
    return 0;
  }
}
/// After this many edges of a row ForEachEdge checks whether to skip the rest; 0: no check.
template <class Skip>
inline constexpr EdgeIndex kCheckAfter = CheckAfterOf<Skip>();

}  // namespace operators

/// Shared state of an operator program's devices. Kept between runs, so that buffers are allocated once.
class OperatorGroup {
 public:
  /// For these devices, which must outlive it; transport, its factory, timeout and stop as in RunOptions. Each payload takes
  /// the fastest path by `costs`.
  OperatorGroup(std::span<Device* const> devices, const RunOptions& options, CostModel costs = {});

  /// Sets minimum capacities in bytes, [from][to], from the first exchange on, so that no later exchange up to them
  /// replaces buffers.
  void Reserve(PairBytesTable bytes) { reserved_ = std::move(bytes); }
  /// What the devices' waits watch: a failure of any device, and the deadline.
  const WaitContext& wait() const { return control_->wait(); }
  /// Rethrows the first failure of the last run, if there was one.
  void RethrowFirst() const { control_->RethrowFirst(); }
  /// Records one device's failure and wakes all others, also inside a transport.
  void Fail(std::exception_ptr error) noexcept;
  /// Makes the group usable after a failed run.
  void Reset();
  /// The transports, joined by plus signs; "none" on one device.
  std::string_view transport_name() const { return paths_ ? std::string_view(paths_.selector()->name()) : "none"; }
  /// As RunPaths::LastOperation, also before paths exist. Adds the devices that were missing at the last barrier of all at
  /// the first failure. Empty on one device.
  std::string LastOperation() const;
  bool stopped() const { return stopped_; }  ///< whether the program received a stop request

 private:
  friend class DeviceOperators;
  struct CollectiveValue {
    std::array<std::byte, 64> value{};  ///< for AllReduce
    bool stop = false;                  ///< the first device checks
  };
  /// A device's number of arrivals at barriers.
  struct alignas(64) Arrivals {
    std::atomic<std::uint64_t> now{0};
    std::uint64_t at_failure = 0;
  };
  std::span<Device* const> devices_;
  RunOptions options_;
  CostModel costs_;
  std::atomic<bool> stopped_{false}, failed_{false};
  std::vector<Arrivals> arrivals_;
  PairBytesTable capacities_, reserved_;  // of existing buffers; empty: none
  std::array<PairBytesTable, 2> sizes_;   // payload sizes, by exchange parity; only its device writes a row
  std::array<std::vector<std::vector<Clock::time_point>>, 2> begun_;  // start of each payload's copy, indexed alike
  std::mutex paths_change_;                                           // another device may fail while paths change
  RunPaths paths_;
  std::unique_ptr<ThreadControlPlanes> control_;  // of this run
};

/// One device's part of an operator program, which runs on all devices at once, one thread per device (the SPMD style of
/// MPI). All devices call functions with `All` or `Exchange` in their names together.
class DeviceOperators {
 public:
  /// Operators on `graph`'s device. `account` receives their time; `track` may be null. All four must outlive it. During its
  /// life, time outside waits and communication counts as the program's compute.
  DeviceOperators(OperatorGroup& group, const DeviceGraph& graph, DeviceStatistics& account, TraceTrack* track = nullptr)
      : group_(&group), graph_(&graph), account_(&account), span_(track, &account.compute_ms, spans::kProgram) {}

  /// @{
  /// This device's rank among the program's devices.
  PartId rank() const { return graph_->ref().part; }
  PartId devices() const { return graph_->ref().parts; }
  /// @}
  const GraphRef& graph() const { return graph_->ref(); }  ///< pointers into device memory
  bool symmetric() const { return graph().symmetric; }     ///< every edge has its reverse
  /// Forward edges of owned vertices.
  EdgeIndex subgraph_edges() const { return graph_->subgraph().forward->neighbours.size(); }
  /// Edges to owned vertices, if the program requests them (kReverse).
  EdgeIndex reverse_edges() const { return graph_->subgraph().reverse->neighbours.size(); }
  /// The device of this part.
  Device& device() const { return graph_->device(); }

  /// Device memory with indeterminate contents. Throws OutOfMemoryError.
  template <class T>
  Buffer<T> Allocate(std::size_t size) const {
    return Buffer<T>(device(), size);
  }
  /// Copies to host memory and waits.
  template <class T>
  void CopyOut(T* host, const T* from, std::size_t count) const {
    const Step step(*this, spans::kCopyOut, {count * sizeof(T)});
    device().stream().Synchronize(wait());  // a direct copy to pageable memory waits without a deadline
    device().CopyOut(host, from, count * sizeof(T), device().stream());
    device().stream().Synchronize(wait());
  }

  /// Sends `count` objects at `data` to device `to` and returns the objects from `from`, in this device's memory until the
  /// next exchange. `received`, if not null, receives their number. kNoPart: no device. All devices call it, with matching
  /// names.
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
  /// Sends the objects payload(p), a span of this device's memory, to each other device p. Then calls take(p, span) for each
  /// device p that sent any, with objects in this device's memory until the next exchange. Two barriers for any number of
  /// devices, four where buffers grow; one if no device sends. All devices call it.
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
  /// op over all devices' values, in device order; T is a few numbers.
  template <class T, class Op>
  T AllReduce(const T& value, Op op) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(OperatorGroup::CollectiveValue::value));
    OperatorGroup::CollectiveValue mine;
    std::memcpy(mine.value.data(), &value, sizeof(T));
    T all = value;
    AllGather(mine, [&](int r, const OperatorGroup::CollectiveValue& m) {
      T theirs = value;
      std::memcpy(static_cast<void*>(&theirs), m.value.data(), sizeof(T));
      all = r == 0 ? theirs : op(all, theirs);
    });
    return all;
  }
  /// Each device's value, in device order, on all; T is a few numbers. Only the first devices() are valid.
  template <class T>
  std::array<T, kMaxDevices> AllGather(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(OperatorGroup::CollectiveValue::value));
    OperatorGroup::CollectiveValue mine;
    std::memcpy(mine.value.data(), &value, sizeof(T));
    std::array<T, kMaxDevices> all{};
    AllGather(mine, [&](int r, const OperatorGroup::CollectiveValue& m) {
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
  /// Whether the run must end early (RunOptions::stop). If so, the program fills its output with its current values and
  /// returns. A program that never calls it runs to its end. All devices call it together and get the same result: the first
  /// device's at the last exchange, or at a new barrier if none was since the last call.
  bool StopRequested();

  /// This device's sent bytes in Exchange and, with RunOptions::explain, a record of each received payload.
  struct Traffic {
    std::vector<PairStatistics> pairs;  ///< one per receiver
    std::vector<BufferRecord> buffers;  ///< by exchange number
  };
  /// So far.
  Traffic TakeTraffic() {
    std::erase_if(traffic_.pairs, [](const PairStatistics& pair) { return pair.messages == 0; });
    return std::move(traffic_);
  }

 protected:
  /// Abort token and timeout.
  const WaitContext& wait() const { return group_->wait(); }

  /// The scope of an operator: interrupts the span of the program, which resumes afterwards. Does not nest.
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
  /// The path of a payload of this exchange and its expected time; the same on both ends.
  TransportSelector::Choice ChoiceFor(const PairBytesTable& sizes, PartId from, PartId to) const;
  /// The path itself.
  Transport& PathOf(const PairBytesTable& sizes, PartId from, PartId to) const;
  /// Enlarges buffers to these sizes; the first device calls it while the others wait.
  void ReplaceBuffers(const PairBytesTable& sizes);
  /// A barrier; then calls fold(device, its value) in device order.
  void AllGather(OperatorGroup::CollectiveValue mine,
                 const std::function<void(int, const OperatorGroup::CollectiveValue&)>& fold);
  void AllGather() {
    AllGather({}, [](int, const OperatorGroup::CollectiveValue&) {});
  }
  template <class T>
  static std::span<const std::byte> Bytes(const T* data, std::size_t count) {
    return {reinterpret_cast<const std::byte*>(data), count * sizeof(T)};
  }

  OperatorGroup* group_;
  const DeviceGraph* graph_;
  DeviceStatistics* account_;
  mutable Span span_;  // one for the run, in parts
  std::uint64_t epoch_ = 0, barriers_ = 0, asked_at_ = 0;
  bool stop_ = false;  // as of the last barrier
  Traffic traffic_;
};

}  // namespace chatty
