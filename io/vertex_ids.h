/// \file
/// Maps a file's vertex ids, which may have gaps, to vertices without gaps. Internal to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/types.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {

/// Maps an id to its index in an ascending list: arithmetic if the list has no gaps, an array if it has few, otherwise a
/// hash table with linear probing. A view of the list.
class IdTable {
 public:
  /// `ids` are distinct.
  IdTable(const Array<std::uint64_t>& ids, int threads);

  /// kNoVertex for an id that is not in the list.
  VertexId operator[](std::uint64_t id) const {
    if (size_ == 0) return kNoVertex;
    const std::uint64_t offset = id - ids_[0];  // an id below the first wraps to a large value
    if (kind_ == Kind::kNoGaps) return offset < size_ ? static_cast<VertexId>(offset) : kNoVertex;
    if (kind_ == Kind::kFewGaps) return offset < places_.size() ? places_[offset] : kNoVertex;
    for (std::size_t slot = Slot(id);; slot = (slot + 1) & (places_.size() - 1)) {
      const VertexId place = places_[slot];
      if (place == kNoVertex || ids_[place] == id) return place;
    }
  }

 private:
  enum class Kind : std::uint8_t { kNoGaps, kFewGaps, kGaps };
  std::size_t Slot(std::uint64_t id) const { return static_cast<std::size_t>((id * 0x9e3779b97f4a7c15u) >> shift_); }

  const std::uint64_t* ids_;
  std::size_t size_;
  Kind kind_ = Kind::kNoGaps;
  int shift_ = 0;
  Array<VertexId> places_;
};

/// Numbers vertices by ascending id. Vertices are the ends of edges, and `more`. Sets vertices, edges and ids of the result.
/// Throws CapabilityError if this build's ids cannot number them.
RawGraph CompactIds(const std::string& name, std::vector<WideEdges> edges, int threads,
                    std::span<const std::uint64_t> more = {});

}  // namespace chatty::io
