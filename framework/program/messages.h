/// \file
/// All messages to one vertex in one round, counted, as UpdateStatus takes them in place of their reduction.
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"

namespace chatty {

/// The different messages to one vertex in one round, each with how often it came, for kCount programs. In no order, which
/// may be another on every device and in every run: what a program makes of them must not depend on it.
template <class Message>
class Counts {
 public:
  /// `count` messages with value `value`.
  struct Run {
    /// A message,
    Message value;
    /// and how often it was sent.
    std::uint64_t count;
  };
  /// Goes from run to run.
  class Iterator {
   public:
    /// At the first run in places [at, end); `counts` may be null, as Counts says.
    CHATTY_FN Iterator(const Message* values, const std::uint32_t* counts, std::uint64_t at, std::uint64_t end)
        : values_(values), counts_(counts), at_(at), end_(end) {
      Measure();
    }
    /// The run that it stands at.
    CHATTY_FN Run operator*() const { return {values_[at_], counts_ != nullptr ? counts_[at_] : next_ - at_}; }
    /// To the next run.
    CHATTY_FN Iterator& operator++() {
      at_ = next_;
      Measure();
      return *this;
    }
    /// Whether they stand at different runs.
    CHATTY_FN bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    CHATTY_FN void Measure() {
      if (counts_ != nullptr) {
        while (at_ != end_ && counts_[at_] == 0) ++at_;
        next_ = at_ + 1;
      } else {
        next_ = at_;
        while (next_ != end_ && values_[next_] == values_[at_]) ++next_;
      }
    }
    const Message* values_;
    const std::uint32_t* counts_;
    std::uint64_t at_, end_, next_ = 0;
  };

  /// A view of `places` places: values[i] came counts[i] times, and where that is 0, place i is free. `messages` came in
  /// all.
  CHATTY_FN Counts(const Message* values, const std::uint32_t* counts, std::uint64_t places, std::uint64_t messages)
      : values_(values), counts_(counts), places_(places), messages_(messages) {}
  /// A view of `messages` messages of which equal ones are next to each other.
  CHATTY_FN Counts(const Message* grouped, std::uint64_t messages) : Counts(grouped, nullptr, messages, messages) {}
  CHATTY_FN std::uint64_t size() const { return messages_; }  ///< messages, not runs
  /// Whether no message came.
  CHATTY_FN bool empty() const { return messages_ == 0; }
  /// @{
  /// Over different messages, for range-based for.
  CHATTY_FN Iterator begin() const { return {values_, counts_, 0, places_}; }
  CHATTY_FN Iterator end() const { return {values_, counts_, places_, places_}; }
  /// @}

 private:
  const Message* values_;
  const std::uint32_t* counts_;
  std::uint64_t places_, messages_;
};

}  // namespace chatty
