/// \file
/// What a message costs on each communication path: T = alpha + beta * bytes + gamma * messages, for each path and ordered
/// pair of devices, alone and beside others. A value: engines copy it and query it before each message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/topology.h"

namespace chatty {

/// Coefficients of a line, in microseconds. Infinite alpha: the path does not join the pair.
struct Cost {
  double alpha_us = std::numeric_limits<double>::infinity();  ///< of a message without bytes
  double beta_us_per_byte = 0;                                ///< 1e-6 / beta is the bandwidth in bytes/s
  double gamma_us_per_message = 0;  ///< of each entry gathered and scattered singly; 0 entries for a block of memory
  /// The time in microseconds.
  double Us(double bytes, double messages) const noexcept {
    return alpha_us + beta_us_per_byte * bytes + gamma_us_per_message * messages;
  }
  bool operator==(const Cost&) const = default;  ///< all members
};

/// The fit of one path, pair and load: a line for small messages, a line for large ones, and their errors.
struct CostFit {
  Cost small;  ///< below `split` bytes
  Cost large;  ///< at least `split` bytes; equal to `small` where one line fits well enough
  double split = std::numeric_limits<double>::infinity();  ///< bytes
  double median_error = 0;       ///< of |fitted - measured| / measured over the samples; 0 for nominal costs
  double worst_error = 0;        ///< the largest of them
  double worst_large_error = 0;  ///< the largest among messages over 64 KiB
  std::uint32_t samples = 0;     ///< 0: nominal, nothing was measured
  double largest = 0;            ///< bytes of the largest sample: beyond it the line is extrapolated; 0 for nominal costs
  /// The line for this length.
  const Cost& At(double bytes) const noexcept { return bytes < split ? small : large; }
  /// The time in microseconds.
  double Us(double bytes, double messages) const noexcept { return At(bytes).Us(bytes, messages); }
  /// Whether messages of this length are longer than any that was measured.
  bool Extrapolates(double bytes) const noexcept { return samples > 0 && bytes > largest; }
  /// Whether the path joins the pair.
  bool exists() const noexcept { return small.alpha_us < std::numeric_limits<double>::infinity(); }
  bool operator==(const CostFit&) const = default;  ///< all members
};

/// What else is under way at the same time. A predicted time runs from the start of packing until the receiver has unpacked
/// all buffers of that load that come to it. For buffers sent at once, take the maximum and not the sum.
struct Load {
  std::uint32_t buffers = 1;  ///< of this sender under way at once, this one included: 1 to devices - 1
  std::uint32_t senders = 1;  ///< devices that send at once, this sender included: 1 to devices
};

/// The loads that are measured. All other loads lie between.
enum class LoadCorner : std::uint8_t {
  kAlone,     ///< one buffer on the machine
  kFanOut,    ///< one device to all others
  kRing,      ///< each device to its next
  kAllToAll,  ///< each device to each other
};
inline constexpr std::size_t kLoadCorners = 4;  ///< number of corners
/// "alone", "fan-out", "ring" or "all-to-all".
std::string_view LoadCornerName(LoadCorner corner);

/// What a buffer holds, where the content affects the time of packing and unpacking.
enum class BufferContent : std::uint8_t {
  kList,      ///< a block of memory, or entries that are gathered and scattered one by one
  kMarks,     ///< indices alone: arrival is the whole message
  kValues,    ///< a bit for each place of a numbering, and values of the set places, which are stored where they belong
  kMessages,  ///< as kValues, but each payload is combined with the present value
  kBits,      ///< as kValues, but bits alone, without payloads
  kPayload,   ///< a block of memory, until it arrives and before it is unpacked
};
inline constexpr std::size_t kBufferContents = 6;  ///< number of contents
/// "lists", "marks", "values", "messages", "bits" or "payloads".
std::string_view BufferContentName(BufferContent content);

/// A size at which another path becomes the fastest.
struct Crossover {
  double bytes = 0;                                   ///< from here on
  std::size_t before = 0;                             ///< the fastest path below, by index
  std::size_t after = 0;                              ///< the fastest path from here on
  bool operator==(const Crossover&) const = default;  ///< all members
};

/// The costs of all paths of a run's devices. A path has an index while a run lasts: `Find` turns names into indices.
/// Predictions read flat tables alone: no text, no allocation, some tens of nanoseconds.
class CostModel {
 public:
  static constexpr std::size_t kNoPath = static_cast<std::size_t>(-1);  ///< result of Find for an unknown name

  CostModel() = default;  ///< no paths between no devices
  /// These paths between so many devices. No path joins any pair yet.
  CostModel(std::vector<std::string> paths, std::size_t devices);
  /// Costs without measurement, from nominal bandwidths of the topology and published latencies; cost_model.cpp cites each
  /// constant. Good for the order of paths, not for their times. `paths`: names of transports. A name that is unknown, or
  /// has no meaning between these devices, joins no pair. Empty: all known transports.
  static CostModel Nominal(const Topology& topology, std::span<const std::string_view> paths = {});

  const std::vector<std::string>& paths() const noexcept { return paths_; }  ///< names of transports
  std::size_t devices() const noexcept { return devices_; }                  ///< number of devices
  bool measured() const noexcept { return measured_; }                       ///< false: nominal
  void set_measured(bool measured) noexcept { measured_ = measured; }        ///< as measured()
  /// @{
  /// Whether links between devices are apart from their ways to host memory: NVLinks are, PCIe is not. If apart, traffic
  /// over one does not wait for traffic over the other. Not kept with a calibration: the topology determines it
  /// (LinksApart).
  bool links_apart() const noexcept { return links_apart_; }
  void set_links_apart(bool apart) noexcept { links_apart_ = apart; }
  /// @}
  /// @{
  /// Whether all pairs reach each other's memory. If not, NCCL goes through host memory: it takes no list of pairs. Not kept
  /// with a calibration either (AllReach).
  bool all_reach() const noexcept { return all_reach_; }
  void set_all_reach(bool reach) noexcept { all_reach_ = reach; }
  /// @}
  /// The index of a path; kNoPath for another name.
  std::size_t Find(std::string_view name) const noexcept;

  /// Whether a path joins a pair.
  bool Joins(std::size_t path, std::size_t from, std::size_t to) const noexcept { return fit(path, from, to).exists(); }
  /// Microseconds until `bytes` bytes have gone from `from` to `to` and are unpacked. They hold `messages` entries that are
  /// gathered and scattered one by one (0: a block of memory). Infinite where the path does not join the pair. Indices are
  /// not checked; a load beyond the devices' largest counts as the largest.
  double PredictUs(std::size_t path, std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages,
                   Load load = {}) const noexcept;
  /// As above, until all other devices have a broadcast of `from`, while `senders` devices broadcast. Infinite where the
  /// path does not reach all.
  double PredictBroadcastUs(std::size_t path, std::size_t from, std::size_t bytes, std::size_t messages,
                            std::uint32_t senders = 1) const noexcept;
  /// As PredictUs, for a buffer of this content. `count`: entries or, for contents with bits, places in its numbering. Not a
  /// number where that content was not measured.
  double PredictContentUs(BufferContent content, std::size_t path, std::size_t from, std::size_t to, std::size_t bytes,
                          std::size_t count, Load load = {}) const noexcept;
  /// The path of least PredictUs, the first among equals; kNoPath where none joins the pair.
  std::size_t Best(std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages, Load load = {}) const noexcept;
  /// As Best, by PredictBroadcastUs.
  std::size_t BestBroadcast(std::size_t from, std::size_t bytes, std::size_t messages,
                            std::uint32_t senders = 1) const noexcept;

  /// @{
  /// The fit of a path and pair under a load, as it was set. One that was not measured does not exist; predictions take the
  /// nearest measured one. Gamma is of an entry or, for contents with bits, of a place.
  const CostFit& fit(std::size_t path, std::size_t from, std::size_t to, LoadCorner corner = LoadCorner::kAlone,
                     BufferContent content = BufferContent::kList) const noexcept {
    const std::vector<CostFit>& fits = pairs_[static_cast<std::size_t>(content)];
    static const CostFit kNone;
    return fits.empty() ? kNone : fits[Pair(path, from, to) + static_cast<std::size_t>(corner)];
  }
  void set_fit(std::size_t path, std::size_t from, std::size_t to, LoadCorner corner, const CostFit& fit,
               BufferContent content = BufferContent::kList) {
    std::vector<CostFit>& fits = pairs_[static_cast<std::size_t>(content)];
    if (fits.empty()) fits.resize(paths_.size() * devices_ * devices_ * kLoadCorners);
    fits[Pair(path, from, to) + static_cast<std::size_t>(corner)] = fit;
  }
  /// @}
  /// @{
  /// The fit of broadcasts: one device alone, or all at once.
  const CostFit& broadcast_fit(std::size_t path, std::size_t from, bool all_at_once) const noexcept {
    return broadcasts_[Root(path, from) + (all_at_once ? 1 : 0)];
  }
  void set_broadcast_fit(std::size_t path, std::size_t from, bool all_at_once, const CostFit& fit) noexcept {
    broadcasts_[Root(path, from) + (all_at_once ? 1 : 0)] = fit;
  }
  /// @}

  /// The sizes, from 1 byte to `most` bytes, at which the fastest path of a pair changes under a load. `bytes_per_message`:
  /// size of a message's entries; 0: blocks of memory. Exact for the fitted lines. Throws UsageError for a device out of
  /// range.
  std::vector<Crossover> Crossovers(std::size_t from, std::size_t to, LoadCorner corner = LoadCorner::kAlone,
                                    double bytes_per_message = 0, double most = 1e12) const;

  /// The load of a corner between so many devices.
  static Load LoadOf(LoadCorner corner, std::size_t devices) noexcept;

  bool operator==(const CostModel&) const = default;  ///< all members

 private:
  std::size_t Pair(std::size_t path, std::size_t from, std::size_t to) const noexcept {
    return ((path * devices_ + from) * devices_ + to) * kLoadCorners;
  }
  std::size_t Root(std::size_t path, std::size_t from) const noexcept { return (path * devices_ + from) * 2; }

  /// Interpolates the fits of the corners for a load between them.
  double Between(const CostFit* fits, double bytes, double messages, Load load) const noexcept;

  std::vector<std::string> paths_;
  std::size_t devices_ = 0;
  bool measured_ = false, links_apart_ = false, all_reach_ = true;
  std::array<std::vector<CostFit>, kBufferContents> pairs_;  // [content]: [path][from][to][corner], or none of that content
  std::vector<CostFit> broadcasts_;                          // [path][from][all at once]
};

/// One measured time.
struct CostSample {
  double bytes = 0;     ///< of the message
  double messages = 0;  ///< entries gathered and scattered singly
  double us = 0;        ///< positive
};
/// Fits one line, or two where two fit clearly better, to samples. The error is the logarithm of predicted over measured
/// time, so that small and large messages, and factors too high and too low, count alike. Small errors count by their
/// squares, large ones by their size (Huber's loss), so that a few outliers do not bend the line. No coefficient is
/// negative. Samples at one size alone give a constant. Throws UsageError for no samples, or times and sizes that are
/// negative or not finite.
CostFit FitCost(std::span<const CostSample> samples);

}  // namespace chatty
