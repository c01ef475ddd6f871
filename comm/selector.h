/// \file
/// Selects the path of each message: `--comm` names it, or the cost model predicts which path is fastest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// What carries data and state, as `--comm` states it.
struct CommChoice {
  std::string data = "auto";   ///< for messages and values: a transport's name, or "auto"
  std::string state = "auto";  ///< for a round's counters: "host", "uva", "nccl", or "auto"
  bool broadcast = false;      ///< each device broadcasts to all others, whatever it costs

  /// Parses a transport's name, "auto", "data=NAME", "state=NAME", both with a comma between, or "chattygraph".
  /// "chattygraph" is the published algorithm: NCCL broadcasts for data (shared memory between host devices), mapped host
  /// memory for state. Throws UsageError for other text. CheckComm checks whether devices can use the choice.
  static CommChoice Parse(std::string_view text);
};

/// Throws UsageError for text that CommChoice::Parse refuses, an unknown name, or a transport that devices of this kind
/// cannot use. Needs no device.
void CheckComm(std::string_view text, DeviceKind kind, std::size_t devices);
/// As above, for these devices. Throws CapabilityError for data or state over NCCL where two devices share a GPU.
void CheckComm(std::string_view text, const DeviceSelection& devices);
/// The values of `--comm` in this build, "auto" first.
std::vector<std::string_view> CommNames();

/// The transports that a run makes: the one that `choice` names, or at most four between which a choice may pay by the
/// model. A path is included if a pair has no other, or if it saves over 15 % of the time of every other at some size.
/// `meets`: the run calls Transport::BeginCollective. Without it, collective paths are used only by name: their costs are
/// measured with BeginCollective, and NCCL has a communicator for each pair, whose sends may wait for each other.
std::vector<std::string_view> SelectPaths(const CommChoice& choice, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool meets);

/// What MakeTransport would allocate for all of these paths.
TransportMemory MeasurePaths(std::span<const std::string_view> paths, DeviceKind kind, const PairBytesTable& capacities,
                             const TransportOptions& options);

/// The properties of a buffer that determine its time.
struct BufferShape {
  std::size_t bytes = 0;    ///< its length
  std::size_t entries = 0;  ///< messages or values in it
  std::size_t places = 0;   ///< of the numbering that packing and unpacking sweep; 0: they visit entries alone
  BufferContent content = BufferContent::kList;  ///< selects the costs, where they were measured
};

/// When a device sends one buffer to all others, which each of them searches, instead of one buffer to each.
enum class Broadcasts : std::uint8_t {
  kNever,
  kChosen,  ///< values of the border, where broadcasts are predicted to be faster
  kAlways,  ///< messages, too: as the published algorithm does, and all that some paths can do
};

/// Whether broadcasts may pay: whether some device's whole border, `broadcast[d]` bytes, arrives sooner in a broadcast than
/// in buffers of these capacities for each pair.
bool BroadcastsMayPay(std::span<const std::string_view> paths, DeviceKind kind, const CostModel& model,
                      const PairBytesTable& capacities, std::span<const std::size_t> broadcast);

/// The paths of one run, made, and the choice between them. Choosing is const and takes well under a microsecond. The other
/// calls belong to the threads that Transport states.
class Selector {
 public:
  /// The path of one message, and its predicted time in microseconds: infinite where the model has none.
  struct Choice {
    std::uint8_t path = 0;  ///< by index
    double us = 0;          ///< infinite: unknown
  };

  /// Takes ownership of the paths. `meets`: the run calls BeginCollective. `kind`: of the devices.
  Selector(std::vector<std::unique_ptr<Transport>> paths, DeviceKind kind, Broadcasts broadcasts, bool meets,
           const CostModel& model);

  /// The names of the paths, joined by plus signs.
  const std::string& name() const noexcept { return name_; }
  std::size_t size() const noexcept { return paths_.size(); }                       ///< number of paths
  Transport& operator[](std::size_t path) const noexcept { return *paths_[path]; }  ///< a path
  /// The name of a path. It outlives this object if it is one of Transports().
  std::string_view path_name(std::size_t path) const {
    const TransportInfo* const info = FindTransport(paths_[path]->name());
    return info != nullptr ? info->name : paths_[path]->name();
  }
  Broadcasts broadcasts() const noexcept { return broadcasts_; }  ///< when a device broadcasts
  bool collective() const noexcept { return collective_; }        ///< some path needs BeginCollective

  /// The path of least predicted time for one buffer.
  Choice Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept;
  /// As Choose, for all buffers that `from` sends at once, under their joint load. Buffer i goes to to[i]. Where links are
  /// apart from ways to host memory (CostModel::links_apart) and the choices use both, each buffer is chosen again beside
  /// those that go its way. The choices whose slowest buffer arrives sooner are kept.
  void ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers, std::uint32_t senders,
                 std::span<Choice> choices) const noexcept;
  /// How many of a sender's buffers share the way of `path` (host memory or links), if `paths` are their paths.
  std::uint32_t BuffersBeside(std::size_t path, std::span<const std::uint8_t> paths) const noexcept;
  /// As Choose, for a broadcast.
  Choice ChooseBroadcast(PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept;

  /// @{
  /// The model's prediction for a path of this run; infinite where the model has none.
  double PredictUs(std::size_t path, PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept;
  double PredictBroadcastUs(std::size_t path, PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept;
  /// @}

  /// As Transport::BeginCollective, for all paths: `incoming[from]` or `broadcast[from]` bytes travel on `path[from]`.
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::span<const std::uint8_t> path, std::uint64_t epoch) const;
  /// Calls Abort of all paths.
  void Abort() const noexcept;
  bool reusable() const noexcept;  ///< all paths are

 private:
  /// @{
  /// For content that was not measured: whether it costs as a list or a block does, and for how many entries. GPUs move
  /// words of bits as any block of memory.
  bool IsList(const BufferShape& buffer) const noexcept {
    return buffer.places == 0 || sweep_us_ == 0 || buffer.content == BufferContent::kBits;
  }
  std::size_t EntriesOf(const BufferShape& buffer) const noexcept {
    return buffer.content == BufferContent::kBits && sweep_us_ != 0 ? 0 : buffer.entries;
  }
  /// @}

  std::vector<std::unique_ptr<Transport>> paths_;
  std::vector<std::size_t> in_model_;  // index of each path
  std::vector<double> byte_factor_;    // of each path, where packing sweeps a numbering
  std::vector<bool> through_host_;     // of each path: its buffers wait for those through host memory
  double sweep_us_ = 0;                // time of a place; 0: entries count instead
  double engine_us_;                   // extra time of buffers over measured ones
  CostModel model_;
  std::string name_;
  Broadcasts broadcasts_ = Broadcasts::kNever;
  bool collective_ = false;
};

}  // namespace chatty
