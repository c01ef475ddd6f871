/// \file
/// What a message costs on each communication path: T = alpha + beta * bytes + gamma * messages, for each path and ordered
/// pair of devices, alone and beside others. A value: engines copy it and ask it before each message.
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
  double gamma_us_per_message = 0;  ///< of each entry that is gathered and scattered singly; 0 entries for a block of memory
  /// The time in microseconds.
  double Us(double bytes, double messages) const noexcept {
    return alpha_us + beta_us_per_byte * bytes + gamma_us_per_message * messages;
  }
  bool operator==(const Cost&) const = default;  ///< all members
};

/// One path, one pair, one load: a line for small messages and one for large, and how well they fit what was measured.
struct CostFit {
  Cost small;  ///< below `split` bytes
  Cost large;  ///< from there on; the same as `small` where one line is good enough
  double split = std::numeric_limits<double>::infinity();  ///< bytes
  double median_error = 0;       ///< of |fitted - measured| / measured over the samples; 0 for nominal costs
  double worst_error = 0;        ///< the largest of them
  double worst_large_error = 0;  ///< the largest among messages over 64 KiB
  std::uint32_t samples = 0;     ///< 0: nominal, nothing was measured
  double largest = 0;            ///< bytes of the largest sample: beyond it the line merely goes on; 0 for nominal costs
  /// The line that counts for so many bytes.
  const Cost& At(double bytes) const noexcept { return bytes < split ? small : large; }
  /// The time in microseconds.
  double Us(double bytes, double messages) const noexcept { return At(bytes).Us(bytes, messages); }
  /// Whether messages of so many bytes are longer than any that was measured.
  bool Extrapolates(double bytes) const noexcept { return samples > 0 && bytes > largest; }
  /// Whether the path joins the pair.
  bool exists() const noexcept { return small.alpha_us < std::numeric_limits<double>::infinity(); }
  bool operator==(const CostFit&) const = default;  ///< all members
};

/// What else is under way at the same time. A predicted time runs from the begin of packing until the receiver has unpacked
/// all buffers of that load that come to it: of buffers sent at once, take the maximum and not the sum.
struct Load {
  std::uint32_t buffers = 1;  ///< that this sender has under way at once, this one included: 1 to devices - 1
  std::uint32_t senders = 1;  ///< devices that send at once, this one included: 1 to devices
};

/// The loads that are measured. All others lie between.
enum class LoadCorner : std::uint8_t {
  kAlone,     ///< one buffer on the machine
  kFanOut,    ///< one device to all others
  kRing,      ///< each device to its next
  kAllToAll,  ///< each device to each other
};
inline constexpr std::size_t kLoadCorners = 4;  ///< how many there are
/// "alone", "fan-out", "ring" or "all-to-all".
std::string_view LoadCornerName(LoadCorner corner);

/// What a buffer holds, where that makes packing and unpacking it take other times.
enum class BufferContent : std::uint8_t {
  kList,      ///< a block of memory, or entries that are gathered and scattered one by one
  kMarks,     ///< indices alone, whose arrival says all
  kValues,    ///< a bit for each place of a numbering, and what those that are set have, which is stored where it belongs
  kMessages,  ///< likewise, and it is combined with what is there
  kBits,      ///< likewise, and bits are all
  kPayload,   ///< a block of memory, until it is there, and before anybody takes it in
};
inline constexpr std::size_t kBufferContents = 6;  ///< how many there are
/// "lists", "marks", "values", "messages", "bits" or "payloads".
std::string_view BufferContentName(BufferContent content);

/// A size at which another path becomes the fastest.
struct Crossover {
  double bytes = 0;                                   ///< from here on
  std::size_t before = 0;                             ///< the fastest path below, by index
  std::size_t after = 0;                              ///< the fastest path from here on
  bool operator==(const Crossover&) const = default;  ///< all members
};

/// The costs of all paths of a run's devices. Paths are known by index while a run lasts: `Find` turns names into indices.
/// Predictions touch flat tables alone: no text, no allocation, some tens of nanoseconds.
class CostModel {
 public:
  static constexpr std::size_t kNoPath = static_cast<std::size_t>(-1);  ///< what Find returns for an unknown name

  CostModel() = default;  ///< no paths between no devices
  /// These paths between so many devices, none of which joins any pair yet.
  CostModel(std::vector<std::string> paths, std::size_t devices);
  /// Without measurement, from nominal bandwidths of the topology and published latencies; cost_model.cpp says where each
  /// constant comes from. Good for the order of paths, not for their times. `paths`: names of transports; those that
  /// are not known, or mean nothing between such devices, join no pair. Empty: all that are known.
  static CostModel Nominal(const Topology& topology, std::span<const std::string_view> paths = {});

  const std::vector<std::string>& paths() const noexcept { return paths_; }  ///< names of transports
  std::size_t devices() const noexcept { return devices_; }                  ///< how many there are
  bool measured() const noexcept { return measured_; }                       ///< false: nominal
  void set_measured(bool measured) noexcept { measured_ = measured; }        ///< as measured()
  /// @{
  /// Whether links between devices are apart from their ways to host memory, as NVLinks are and PCIe is not: then what goes
  /// over either does not wait for the other. Not kept with a calibration: topologies tell (LinksApart).
  bool links_apart() const noexcept { return links_apart_; }
  void set_links_apart(bool apart) noexcept { links_apart_ = apart; }
  /// @}
  /// @{
  /// Whether all pairs reach each other's memory. NCCL goes through host memory where some do not: nobody can tell it of
  /// pairs. Not kept with a calibration either (AllReach).
  bool all_reach() const noexcept { return all_reach_; }
  void set_all_reach(bool reach) noexcept { all_reach_ = reach; }
  /// @}
  /// The index of a path; kNoPath for another name.
  std::size_t Find(std::string_view name) const noexcept;

  /// Whether a path joins a pair.
  bool Joins(std::size_t path, std::size_t from, std::size_t to) const noexcept { return fit(path, from, to).exists(); }
  /// Microseconds until `bytes` bytes, holding `messages` entries that are gathered and scattered one by one (0: a block of
  /// memory), have gone from `from` to `to` and been unpacked. Infinite where the path does not join the pair. Indices are
  /// not checked; a load beyond what the devices can do counts as the most that they can.
  double PredictUs(std::size_t path, std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages,
                   Load load = {}) const noexcept;
  /// The same until all other devices have what `from` tells all at once, while `senders` devices do so. Infinite where
  /// the path does not reach all.
  double PredictBroadcastUs(std::size_t path, std::size_t from, std::size_t bytes, std::size_t messages,
                            std::uint32_t senders = 1) const noexcept;
  /// The same of a buffer of this content, with so many entries or, of contents that have bits, places in its numbering. Not
  /// a number where that was not measured.
  double PredictContentUs(BufferContent content, std::size_t path, std::size_t from, std::size_t to, std::size_t bytes,
                          std::size_t count, Load load = {}) const noexcept;
  /// The path of least PredictUs, the first among equals; kNoPath where none joins the pair.
  std::size_t Best(std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages, Load load = {}) const noexcept;
  /// Likewise of PredictBroadcastUs.
  std::size_t BestBroadcast(std::size_t from, std::size_t bytes, std::size_t messages,
                            std::uint32_t senders = 1) const noexcept;

  /// @{
  /// The fit of a path and pair under a load, as it was set; one that was not measured does not exist, and predictions take
  /// the nearest that was. Gamma is of an entry or, of contents that have bits, of a place.
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
  /// The fit of broadcasts: of one device alone, or of all at once.
  const CostFit& broadcast_fit(std::size_t path, std::size_t from, bool all_at_once) const noexcept {
    return broadcasts_[Root(path, from) + (all_at_once ? 1 : 0)];
  }
  void set_broadcast_fit(std::size_t path, std::size_t from, bool all_at_once, const CostFit& fit) noexcept {
    broadcasts_[Root(path, from) + (all_at_once ? 1 : 0)] = fit;
  }
  /// @}

  /// At which sizes, from 1 byte to `most` bytes, the fastest path of a pair changes under a load. `bytes_per_message`: size
  /// of the entries that messages consist of; 0: blocks of memory. Exact for the fitted lines. Throws UsageError for a
  /// device that is not there.
  std::vector<Crossover> Crossovers(std::size_t from, std::size_t to, LoadCorner corner = LoadCorner::kAlone,
                                    double bytes_per_message = 0, double most = 1e12) const;

  /// The load that a corner stands for between so many devices.
  static Load LoadOf(LoadCorner corner, std::size_t devices) noexcept;

  bool operator==(const CostModel&) const = default;  ///< all members

 private:
  std::size_t Pair(std::size_t path, std::size_t from, std::size_t to) const noexcept {
    return ((path * devices_ + from) * devices_ + to) * kLoadCorners;
  }
  std::size_t Root(std::size_t path, std::size_t from) const noexcept { return (path * devices_ + from) * 2; }

  /// What fits of the corners say of a load between them.
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
/// Fits one line, or two where that is clearly better, to samples. Logarithms of predicted over measured times are what
/// counts, so that small messages count as large ones do and a factor too much as a factor too little: small ones by their
/// squares, large ones by their size (Huber's loss), so that a few samples from elsewhere do not bend the line. No
/// coefficient is negative. Samples at one size alone give a constant. Throws UsageError for no samples, or times and sizes
/// that are negative or not finite.
CostFit FitCost(std::span<const CostSample> samples);

}  // namespace chatty
