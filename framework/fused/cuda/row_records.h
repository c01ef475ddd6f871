/// \file
/// Rows of up to four edges as records of 16 bytes, and 16 more for their weights. A kernel that follows edges one after the
/// other then waits for one access a vertex, instead of one for offsets and one for neighbours. A record of a longer row
/// says where the row is.
#pragma once

#include <cstdint>

#include "chatty/core/device.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/options.h"
#include "chatty/partition/part_shape.h"

namespace chatty::fused::cuda {

/// A row. With up to kEdges edges: the neighbours, then kNone; beyond: the row's first edge in words 0 and 1, its length in
/// word 2, and kLong in word 3.
struct alignas(16) RowRecord {
  static constexpr std::uint32_t kEdges = 4, kNone = ~std::uint32_t{0}, kLong = kNone - 1;
  std::uint32_t words[kEdges];
};

/// The records of a device's forward rows. Of a weighted graph, record 2v is vertex v's row and record 2v + 1 has the
/// weights' bits, so that both are in one sector of 32 bytes.
class RowRecords {
 public:
  /// None.
  RowRecords() = default;
  /// Enqueues the work that makes them. Throws OutOfMemoryError.
  RowRecords(const DeviceGraph& graph, bool weighted);

  /// Null if there are none.
  const RowRecord* data() const { return records_.data(); }

  /// Whether most rows of such a part are short enough, and a row can be found by 32 bits of a length.
  static bool Pay(const PartShape& part, Records records) {
    constexpr std::uint64_t kMeanEdges = 8, kMaxDegree = std::uint64_t{1} << 31;
    return records != Records::kNever && part.forward.built && part.local < RowRecord::kLong &&
           part.forward.max_degree < kMaxDegree &&
           (records == Records::kAlways || part.forward.edges <= kMeanEdges * part.owned);
  }
  static std::uint64_t Bytes(const PartShape& part, bool weighted) {
    return part.owned * sizeof(RowRecord) * (weighted ? 2 : 1);
  }

 private:
  Buffer<RowRecord> records_;
};

}  // namespace chatty::fused::cuda
