/// \file
/// Which path carries which message: what `--comm` says, and where it leaves the choice, what the cost model predicts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/nccl_transport.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// What carries what, as `--comm` says it.
struct CommChoice {
  std::string data = "auto";   ///< of messages and values: a transport's name, or "auto"
  std::string state = "auto";  ///< of a round's counters: "host", "uva", "nccl", or "auto"
  bool broadcast = false;      ///< each device tells all others at once, whatever it costs

  /// Parses a transport's name, "auto", "data=NAME", "state=NAME", both with a comma between, or "chattygraph": the
  /// published algorithm, which is NCCL broadcasts for data (shared memory between host devices) and mapped host memory for
  /// state. Throws UsageError for other text; whether devices can do so is CheckComm's.
  static CommChoice Parse(std::string_view text);
};

/// Throws UsageError for text that CommChoice::Parse refuses, an unknown name, or a transport that devices of this kind
/// cannot use. Needs no device.
void CheckComm(std::string_view text, DeviceKind kind, std::size_t devices);
/// The same of these devices, and throws CapabilityError for what goes over NCCL, data or state, where two share a GPU.
void CheckComm(std::string_view text, const DeviceSelection& devices);
/// What `--comm` takes in this build, "auto" first.
std::vector<std::string_view> CommNames();

/// The transports that a run makes: the one that `choice` names, or those between which choosing may pay by the model. A
/// path is taken along if some pair has no other, or for some size no other comes within 15 % of it. At most four. `meets`:
/// Transport::BeginCollective will be called; without, collective paths are taken by name alone, for what they cost is
/// measured where devices meet, and NCCL has a communicator a pair, whose sends may wait for each other.
std::vector<std::string_view> SelectPaths(const CommChoice& choice, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool meets);

/// What MakeTransport would allocate for all of these.
TransportMemory MeasurePaths(std::span<const std::string_view> paths, DeviceKind kind, const PairBytesTable& capacities,
                             const TransportOptions& options);

/// What a buffer holds, as far as its time depends on it.
struct BufferShape {
  std::size_t bytes = 0;    ///< its length
  std::size_t entries = 0;  ///< messages or values in it
  std::size_t places = 0;   ///< of the numbering that is swept to pack and to unpack it; 0: its entries alone are looked at
  BufferContent content = BufferContent::kList;  ///< whose costs count, where they were measured
};

/// When a device tells all others at once, in one buffer that each of them looks through, and not each one in a buffer of
/// its own.
enum class Broadcasts : std::uint8_t {
  kNever,
  kChosen,  ///< values of the border, where it is predicted to be faster
  kAlways,  ///< messages, too: what the published algorithm does, and all that some paths know
};

/// Whether telling all others at once may pay: whether some device's whole border, `broadcast[d]` bytes, is there sooner so
/// than in buffers of these capacities for each pair.
bool BroadcastsMayPay(std::span<const std::string_view> paths, DeviceKind kind, const CostModel& model,
                      const PairBytesTable& capacities, std::span<const std::size_t> broadcast);

/// The paths of one run, made, and the choice between them. Choosing is const and takes well under a microsecond; the rest
/// is for the threads that Transport says.
class Selector {
 public:
  /// One message's path, and the microseconds that it was predicted to take: infinite where nothing is known.
  struct Choice {
    std::uint8_t path = 0;  ///< by index
    double us = 0;          ///< infinite: unknown
  };

  /// Takes the paths. `meets`: BeginCollective is called. `kind`: of the devices.
  Selector(std::vector<std::unique_ptr<Transport>> paths, DeviceKind kind, Broadcasts broadcasts, bool meets,
           const CostModel& model);

  /// The names of the paths, joined by plus signs.
  const std::string& name() const noexcept { return name_; }
  std::size_t size() const noexcept { return paths_.size(); }                       ///< how many there are
  Transport& operator[](std::size_t path) const noexcept { return *paths_[path]; }  ///< a path
  /// And its name, which outlives this if it is one of Transports().
  std::string_view path_name(std::size_t path) const {
    const TransportInfo* const info = FindTransport(paths_[path]->name());
    return info != nullptr ? info->name : paths_[path]->name();
  }
  Broadcasts broadcasts() const noexcept { return broadcasts_; }  ///< when a device tells all others at once
  bool collective() const noexcept { return collective_; }        ///< some path needs BeginCollective

  /// The path of least predicted time for one buffer.
  Choice Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept;
  /// The same for all buffers that `from` sends at once, buffer i to to[i]: as Choose, under a load of all of them. Where
  /// links are apart from ways to host memory (CostModel::links_apart), and some buffers then take the one and some the
  /// other, each is chosen again beside those that go its way, and what is there sooner in all stays.
  void ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers, std::uint32_t senders,
                 std::span<Choice> choices) const noexcept;
  /// How many of a sender's buffers go the way of `path`, through host memory or over links, if these are their paths.
  std::uint32_t BuffersBeside(std::size_t path, std::span<const std::uint8_t> paths) const noexcept;
  /// As Choose, for what is told to all.
  Choice ChooseBroadcast(PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept;

  /// Whether messages that go by atomics into the owner's state, and in no buffer, are predicted to be there sooner: only
  /// where they are few. `messages`: of all devices; the same answer on each.
  bool AtomicsPay(std::uint64_t messages) const noexcept { return static_cast<double>(messages) * atomic_us_ < saved_us_; }
  /// What is predicted of so many of them, where a buffer of as many pairs of index and message goes by this path: no less
  /// than the atomics themselves take, however soon the buffer would be there.
  double PredictAtomicsUs(std::size_t path, PartId from, PartId to, const BufferShape& pairs, Load load) const noexcept {
    return std::max(PredictUs(path, from, to, pairs, load) - saved_us_, 0.0) +
           static_cast<double>(pairs.entries) * atomic_us_;
  }

  /// @{
  /// What the model says of a path at hand; infinite where it knows nothing.
  double PredictUs(std::size_t path, PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept;
  double PredictBroadcastUs(std::size_t path, PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept;
  /// @}

  /// @{
  /// What sums a round's counters, if they do not go through host memory; else null.
  void set_state(std::unique_ptr<NcclState> state) { state_ = std::move(state); }
  NcclState* state() const noexcept { return state_.get(); }
  /// @}

  /// As Transport::BeginCollective, for all paths: `path[from]` says on which `incoming[from]` or `broadcast[from]` bytes
  /// travel.
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::span<const std::uint8_t> path, std::uint64_t epoch) const;
  /// Transport::Abort of all.
  void Abort() const noexcept;
  bool reusable() const noexcept;  ///< all paths are

 private:
  /// @{
  /// Where its content was not measured: whether it costs as a list or a block does, and of how many entries. GPUs move
  /// words of bits as any block of memory.
  bool IsList(const BufferShape& buffer) const noexcept {
    return buffer.places == 0 || sweep_us_ == 0 || buffer.content == BufferContent::kBits;
  }
  std::size_t EntriesOf(const BufferShape& buffer) const noexcept {
    return buffer.content == BufferContent::kBits && sweep_us_ != 0 ? 0 : buffer.entries;
  }
  /// @}

  std::vector<std::unique_ptr<Transport>> paths_;
  std::vector<std::size_t> in_model_;  // of each path
  std::vector<double> byte_factor_;    // of each path, where a numbering is swept
  std::vector<bool> through_host_;     // each path: what it carries waits for what goes through host memory
  double sweep_us_ = 0;                // of a place; 0: entries tell
  double saved_us_, atomic_us_;        // by atomics a round, and what each message costs more than one in a buffer
  double engine_us_;                   // that buffers take longer than measured ones
  std::unique_ptr<NcclState> state_;
  mutable std::atomic<bool> state_aborted_{false};
  CostModel model_;
  std::string name_;
  Broadcasts broadcasts_ = Broadcasts::kNever;
  bool collective_ = false;
};

}  // namespace chatty
