/// \file
/// Measurements of symmetric memory: what is measured, and what comes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chatty/core/device.h"

namespace chatty::bench {

/// How much is measured.
struct SymmetricPlan {
  std::string backend = "auto";                      ///< SymmetricOptions::backend
  std::uint64_t repetitions = 10'000;                ///< of an operation in one trial, at most
  unsigned trials = 5;                               ///< behind one that is not counted
  unsigned threads = 256;                            ///< of a block, where each multiprocessor has one block
  std::uint64_t max_bytes = std::uint64_t{1} << 24;  ///< longest put
};

/// One measured operation.
struct SymmetricRow {
  std::string operation;     ///< "barrier", "put-signal", "put, block"
  std::uint64_t words = 0;   ///< of 8 bytes, put to each peer before a barrier
  std::uint64_t bytes = 0;   ///< that one operation moves from device to device; 0 if it moves none
  std::vector<double> us{};  ///< microseconds an operation, by trial
  double of_copies = 0;      ///< bandwidth over that of the copy engine; 0 if they are not compared

  double median_us() const;                                                           ///< of the trials
  double gb_per_s() const { return static_cast<double>(bytes) / median_us() / 1e3; }  ///< bytes over the median
  double million_per_s() const { return 1 / median_us(); }                            ///< operations
};

/// Measures barriers, put-signals, puts, copies and fetch-adds on these devices, and reports each when it is done. Throws
/// InternalError if what was put, signalled or added is not what arrived. With one device only barriers are measured.
void MeasureSymmetric(std::span<Device* const> devices, const SymmetricPlan& plan,
                      const std::function<void(const SymmetricRow&)>& report);

}  // namespace chatty::bench
