/// \file
/// Selects the path of each message: a CommSpec names it, or the cost model predicts which path is fastest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/comm_spec.h"
#include "chatty/comm/cost_model.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// The transports that a run makes: the one that `spec` names, or at most four between which a choice may pay by the
/// model. The default path of every pair is included. Another is included if a pair has no path, or if at some size it is
/// faster than every included one by more than the model's error. `collectives`: the run calls Transport::BeginCollective.
/// Without it, collective paths are used only by name. Their costs are measured with BeginCollective, and NCCL then has a
/// communicator for each pair, whose sends may wait for each other.
std::vector<std::string_view> SelectPaths(const CommSpec& spec, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool collectives);

/// When a device sends one buffer to all others, which each of them searches, instead of one buffer to each.
enum class Broadcasts : std::uint8_t {
  kNever,
  kChosen,  ///< values of the border, where broadcasts are predicted to be faster
  kAlways,  ///< messages, too: as the published algorithm does, and all that some paths can do
};

/// Whether broadcasts may pay: whether some device's whole border, `broadcast[d]` bytes, arrives sooner in a broadcast than
/// in buffers of these capacities for each pair.
bool BroadcastsMayPay(std::span<const std::string_view> paths, const CostModel& model, const PairBytesTable& capacities,
                      std::span<const std::size_t> broadcast);

/// The paths of a model that move no bytes between packing and unpacking, in the order in which they are preferred;
/// CostModel::kNoPath for one that the model lacks.
using ZeroCopyPaths = std::array<std::size_t, 3>;

/// The paths of one run, made, and the choice between them. Choosing is const and takes well under a microsecond. The other
/// calls belong to the threads that Transport states.
class TransportSelector {
 public:
  using Choice = PathChoice;  ///< of a path of this run

  /// Takes ownership of the paths. `collectives`: the run calls BeginCollective.
  TransportSelector(std::vector<std::unique_ptr<Transport>> paths, Broadcasts broadcasts, bool collectives,
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

  /// The path for one buffer: the pair's default path, or the one of least predicted time if that saves more than the error
  /// of the predictions. The default is the first zero-copy path that joins the pair. A buffer on it has its header with it,
  /// so that the sender waits for no length.
  Choice Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept;
  /// As Choose, for all buffers that `from` sends at once, under their joint load. Buffer i goes to to[i]. Where links are
  /// apart from ways to host memory (CostModel::links_apart), buffers of pairs with a link are no load for the others.
  void ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers, std::uint32_t senders,
                 std::span<Choice> choices) const noexcept;
  /// As Choose, for a broadcast. It replaces buffers of pairs if BroadcastPays.
  Choice ChooseBroadcast(PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept {
    return Choose(from, from, buffer, {.buffers = 1, .senders = senders});
  }
  /// Whether a broadcast is faster than the slowest of the buffers of pairs by more than the error of the predictions.
  static bool BroadcastPays(const Choice& broadcast, const Choice& slowest) noexcept;

  /// The choice of a path of this run, whether it is good or not. `to` equal to `from`: a broadcast.
  Choice Predict(std::size_t path, PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept {
    return model_.Predict(path, from, to, buffer, load);
  }

  /// As Transport::BeginCollective, for all paths: `incoming[from]` or `broadcast[from]` bytes travel on `path[from]`.
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::span<const std::uint8_t> path, std::uint64_t epoch) const;
  /// Calls Abort of all paths.
  void Abort() const noexcept;
  bool reusable() const noexcept;  ///< all paths are

 private:
  std::vector<std::unique_ptr<Transport>> paths_;
  CostModel model_;  // of these paths
  ZeroCopyPaths zero_copy_{};
  std::string name_;
  Broadcasts broadcasts_ = Broadcasts::kNever;
  bool collective_ = false;
};

}  // namespace chatty
