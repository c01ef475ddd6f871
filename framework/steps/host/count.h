/// \file
/// Counting equal messages on a CPU thread: what a kCount program sees instead of sorted ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chatty/framework/program.h"

namespace chatty::steps::host {

/// Counts messages of one vertex after the other: a table of open addressing that holds nothing between two vertices.
template <class Message>
class MessageCounter {
 public:
  /// Tables do not grow beyond: messages of a vertex that has more different ones are better sorted, in memory that is
  /// there.
  static constexpr std::size_t kMaxTable = std::size_t{1} << 20;

  /// Begins a vertex of at most `messages`, fewer than 2^32.
  void Begin(std::uint64_t messages) {
    messages_ = 0;
    // No more of the table than the vertex needs, so that it stays in the nearest cache; and a quarter full at most, so that
    // the first probe mostly finds the slot.
    const std::size_t needed = std::bit_ceil(static_cast<std::size_t>(4 * messages));
    const std::size_t slots = std::min(std::max(needed, kMinTable), std::max(table_.size(), kFirstTable));
    Reserve(slots);
    Use(slots);
  }
  /// Adds messages. False if there are too many different ones, and then it holds nothing.
  bool Add(const Message* messages, std::size_t count) {
    messages_ += count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = Find(messages[i]);
      // Whether the slot was free is no branch: it could not be predicted.
      TableSlot& slot = table_[at];
      taken_[runs_] = static_cast<std::uint32_t>(at);
      runs_ += slot.count == 0;
      slot.value = messages[i];
      slot.count += 1;
      if (runs_ > mask_ / 2 && !Grow()) return false;
    }
    return true;
  }
  /// What has been added, until the next call; the table is free for the next vertex.
  Counts<Message> End() {
    for (std::size_t i = 0; i < runs_; ++i) {
      TableSlot& slot = table_[taken_[i]];
      values_[i] = slot.value;
      counts_[i] = slot.count;
      slot.count = 0;
    }
    return {values_.data(), counts_.data(), std::exchange(runs_, 0), messages_};
  }

 private:
  static constexpr std::size_t kMinTable = 32, kFirstTable = 4096;
  struct TableSlot {
    Message value;
    std::uint32_t count;  ///< 0: free
  };

  void Reserve(std::size_t slots) {
    if (slots <= table_.size()) return;
    table_.resize(slots);
    taken_.resize(slots / 2 + 1);
    values_.resize(slots / 2 + 1);
    counts_.resize(slots / 2 + 1);
  }
  void Use(std::size_t slots) {
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
  }
  /// The slot of the message, or the free slot that is for it.
  std::size_t Find(Message message) const {
    std::size_t at = (static_cast<std::uint64_t>(message) * 0x9e3779b97f4a7c15ull) >> shift_;
    while (table_[at].count != 0 && table_[at].value != message) at = (at + 1) & mask_;
    return at;
  }
  /// A larger table with the same messages.
  bool Grow() {
    const std::size_t slots = 4 * (mask_ + 1);
    const std::size_t runs = runs_;
    End();
    if (slots > kMaxTable) return false;
    Reserve(slots);
    Use(slots);
    for (; runs_ < runs; ++runs_) {
      const std::size_t at = Find(values_[runs_]);
      table_[at] = {values_[runs_], counts_[runs_]};
      taken_[runs_] = static_cast<std::uint32_t>(at);
    }
    return true;
  }

  std::vector<TableSlot> table_;      ///< all free between two vertices, and beyond mask_ always
  std::vector<std::uint32_t> taken_;  ///< the first runs_: slots that are not free
  std::vector<Message> values_;
  std::vector<std::uint32_t> counts_;
  std::size_t mask_ = 0, runs_ = 0;
  int shift_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace chatty::steps::host
