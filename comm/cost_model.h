/// \file
/// What a message buffer costs on each communication path, in microseconds: T = alpha + beta * bytes + gamma * entries. Each
/// path, ordered pair of devices and encoding has a cost alone and one while all pairs are busy. This is Hockney's model
/// with a term for packing and unpacking. A value: engines copy it and query it before each message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/encoding.h"
#include "chatty/comm/topology.h"

namespace chatty {

/// The lines of a pair's encodings, in microseconds, and how well they are known. Infinite alpha: the path does not join the
/// pair.
struct Cost {
  double alpha_us = std::numeric_limits<double>::infinity();  ///< of a buffer without bytes
  double beta_us_per_byte = 0;                                ///< 1e-6 / beta is the bandwidth in bytes/s
  double entry_us = 0;       ///< gamma of a sparse buffer: of each entry, packed and unpacked
  double place_us = 0;       ///< gamma of a bitmap: of each place, packed and unpacked
  double bitmap_factor = 1;  ///< times that a byte of a bitmap takes: its values may be read one by one
  double error = 0;          ///< |predicted - measured| / measured of a block of middle size; 0 for nominal costs
  double largest = 0;  ///< bytes of the largest measured block: beyond it the line is extrapolated; 0 for nominal costs

  /// All members, in the order in which they are kept.
  static constexpr std::array<double Cost::*, 7> kFigures = {&Cost::alpha_us, &Cost::beta_us_per_byte, &Cost::entry_us,
                                                             &Cost::place_us, &Cost::bitmap_factor,    &Cost::error,
                                                             &Cost::largest};
  /// @{
  /// Of an encoding. Dense buffers have no gamma.
  double Beta(Encoding encoding) const noexcept {
    return beta_us_per_byte * (encoding == Encoding::kBitmap ? bitmap_factor : 1);
  }
  double Gamma(Encoding encoding) const noexcept {
    return encoding == Encoding::kSparse ? entry_us : encoding == Encoding::kBitmap ? place_us : 0;
  }
  /// @}
  /// The time in microseconds.
  double Us(Encoding encoding, double bytes, double entries) const noexcept {
    return alpha_us + Beta(encoding) * bytes + Gamma(encoding) * entries;
  }
  /// Whether buffers of this length are longer than any that was measured.
  bool Extrapolates(double bytes) const noexcept { return largest > 0 && bytes > largest; }
  /// Whether the path joins the pair.
  bool exists() const noexcept { return alpha_us < std::numeric_limits<double>::infinity(); }
  bool operator==(const Cost&) const = default;  ///< all members
};

/// The properties of a buffer that determine its time.
struct BufferShape {
  Encoding encoding = Encoding::kDense;  ///< of its entries
  std::size_t bytes = 0;                 ///< its length
  std::size_t entries = 0;               ///< of a sparse buffer, or places of a bitmap
  bool payload = false;  ///< of an operator program, which unpacks later; else packed and unpacked by an engine's steps
};

/// What else is under way at the same time. A predicted time runs from the start of packing until the receiver has unpacked
/// all buffers of that load that come to it. For buffers sent at once, take the maximum and not the sum.
struct Load {
  std::uint32_t buffers = 1;  ///< of this sender under way at once, this one included: 1 to devices - 1
  std::uint32_t senders = 1;  ///< devices that send at once, this sender included: 1 to devices
};

/// The path of one buffer, and its predicted time.
struct PathChoice {
  std::uint8_t path = 0;  ///< by index
  double us = 0;          ///< microseconds; infinite where the path does not join the pair
  double error = 0;       ///< relative, of the prediction
  Load load = {};         ///< that the prediction assumes
};

/// The loads that are measured. All other loads lie between.
enum class MeasuredLoad : std::uint8_t {
  kAlone,     ///< one buffer on the machine
  kAllToAll,  ///< each device to each other
};
inline constexpr std::size_t kMeasuredLoads = 2;                                              ///< number of measured loads
inline constexpr MeasuredLoad kAllLoads[] = {MeasuredLoad::kAlone, MeasuredLoad::kAllToAll};  ///< all of them
/// "alone" or "all-to-all".
std::string_view LoadName(MeasuredLoad load);

/// The costs of some paths between a run's devices. A path has an index while a run lasts: `Find` turns names into indices.
/// The pair of a device and itself stands for its broadcasts to all others. Predictions read flat tables alone: no text, no
/// allocation, some tens of nanoseconds.
class CostModel {
 public:
  static constexpr std::size_t kNoPath = static_cast<std::size_t>(-1);  ///< result of Find for an unknown name

  CostModel() = default;  ///< no paths between no devices
  /// These paths between so many devices. No path joins any pair yet.
  CostModel(std::vector<std::string> paths, std::size_t devices);
  /// Costs without measurement, from nominal bandwidths of the topology and published latencies; nominal_costs.cpp cites
  /// each constant. Good for the order of paths, not for their times. Of all known transports; one that has no meaning
  /// between these devices joins no pair.
  static CostModel Nominal(const Topology& topology);
  /// The costs of these paths alone, in this order. One that the model lacks joins no pair. Of no devices, no paths.
  CostModel Of(std::span<const std::string_view> paths) const;

  const std::vector<std::string>& paths() const noexcept { return paths_; }  ///< names of transports
  std::size_t devices() const noexcept { return devices_; }                  ///< number of devices
  bool measured() const noexcept { return measured_; }                       ///< false: nominal
  void set_measured(bool measured) noexcept { measured_ = measured; }        ///< as measured()
  /// Sets links_apart and the extra time of engines' buffers, which are not kept with a calibration, from the masked
  /// topology.
  void SetMachine(const Topology& topology);
  /// Whether links between devices are apart from their ways to host memory: NVLinks are, PCIe is not. If apart, traffic
  /// over one does not wait for traffic over the other (LinksApart).
  bool links_apart() const noexcept { return links_apart_; }
  /// Extra time of engines' buffers over those of a calibration, on any path, in microseconds; 0 for nominal costs.
  double engine_us() const noexcept { return measured_ ? engine_us_ : 0; }
  /// The index of a path; kNoPath for another name.
  std::size_t Find(std::string_view name) const noexcept;

  /// Whether a path joins a pair. kNoPath joins none.
  bool Joins(std::size_t path, std::size_t from, std::size_t to) const noexcept {
    return path < paths_.size() && cost(path, from, to).exists();
  }
  /// The cost of a path and pair under a load, as it was set. Indices are not checked.
  const Cost& cost(std::size_t path, std::size_t from, std::size_t to,
                   MeasuredLoad load = MeasuredLoad::kAlone) const noexcept {
    return costs_[Index(path, from, to, load)];
  }
  void set_cost(std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) noexcept {
    costs_[Index(path, from, to, load)] = cost;
  }  ///< sets what cost() returns; a path without a cost of kAllToAll joins no pair under a load
  /// Calls body(path, from, to, load, cost) for each cost that exists.
  template <class Body>
  void ForEachCost(const Body& body) const {
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (!costs_[i].exists()) continue;
      const std::size_t pair = i / kMeasuredLoads;
      body(pair / devices_ / devices_, pair / devices_ % devices_, pair % devices_,
           static_cast<MeasuredLoad>(i % kMeasuredLoads), costs_[i]);
    }
  }
  /// The time until a buffer on this path has gone from `from` to `to` and is unpacked. `to` equal to `from`: until all
  /// others have unpacked a broadcast. Infinite where the path does not join the pair. Time and error under a load lie
  /// between those of the measured loads, by the share of all buffers that are under way. A load beyond the devices' largest
  /// counts as the largest.
  PathChoice Predict(std::size_t path, std::size_t from, std::size_t to, const BufferShape& buffer,
                     Load load = {}) const noexcept {
    return Least(path, std::min(path + 1, paths_.size()), from, to, buffer, load);
  }
  /// The path of least predicted time, the first among equals. The time is infinite where none joins the pair.
  PathChoice Best(std::size_t from, std::size_t to, const BufferShape& buffer, Load load = {}) const noexcept {
    return Least(0, paths_.size(), from, to, buffer, load);
  }

  bool operator==(const CostModel&) const = default;  ///< all members

 private:
  PathChoice Least(std::size_t first, std::size_t last, std::size_t from, std::size_t to, const BufferShape& buffer,
                   Load load) const noexcept;
  std::size_t Index(std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load) const noexcept {
    return ((path * devices_ + from) * devices_ + to) * kMeasuredLoads + static_cast<std::size_t>(load);
  }

  std::vector<std::string> paths_;
  std::size_t devices_ = 0;
  bool measured_ = false, links_apart_ = false;
  double engine_us_ = 0;
  std::vector<Cost> costs_;  // [path][from][to][load]
};

/// One measured time.
struct CostSample {
  double bytes = 0;    ///< of the buffer
  double entries = 0;  ///< entries, or places of a bitmap; 0 for a block of memory
  double us = 0;       ///< positive
};
/// The times of a pair's buffers.
struct CostSamples {
  CostSample shortest;  ///< a block of memory of few bytes
  CostSample middle;    ///< a block between the other two
  CostSample longest;   ///< a block long enough that its bytes take most of the time
  CostSample sparse;    ///< a sparse buffer
  CostSample empty;     ///< a bitmap in which few places are set
  CostSample full;      ///< a bitmap in which many are
};
/// The line through the shortest block and the longest one. Its error is that of the block between them, as the line
/// contains the other two. Bytes take at least a tenth of the longest block's time, so that no path carries longer ones in
/// no time. The time of a sparse buffer and of an almost empty bitmap beyond their bytes is due to entries and places. The
/// time of a full bitmap beyond its places is due to its bytes.
Cost FitCost(const CostSamples& samples);

}  // namespace chatty
