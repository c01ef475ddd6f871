/// \file
/// The steps of a run that relaxes edges in any order: what a step reports, and the limit of the next one by it. One source
/// for the resident kernel of a GPU, for host threads and for runs of several devices.
#pragma once

#include <cstdint>
#include <cstring>

#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/fused/relaxes.h"

namespace chatty::fused {

/// Why a run ended.
enum class End : std::uint32_t {
  kDone,      ///< no items are left
  kStopped,   ///< by the host
  kWide,      ///< rounds suit the frontier better
  kOverflow,  ///< a list was full; the items beyond are in the frontier's bitmap
};

/// Counters of one step on one device, which the next one reads. Three take turns: one is read, one is counted in, one is
/// cleared.
struct StepCounts {
  std::uint32_t near = 0;      ///< items of the next list
  std::uint32_t below = 0;     ///< of these, below the limit: what local queues and warps had no room or time for
  std::uint32_t hubs = 0;      ///< items with long rows
  std::uint32_t stop = 0;      ///< 1: the host has asked for a stop
  std::uint32_t overflow = 0;  ///< 1: a list was full
  /// Of runs of several devices: items put into the far list.
  std::uint32_t far = 0;
  /// Items done, and in the upper half improvements of vertices that had the identity: no message before.
  unsigned long long done = 0;
  /// Of runs of several devices: PriorityKey of the first of `far`.
  unsigned long long far_first = 0;

  /// Another device's counts of the same step.
  CHATTY_FN void Add(const StepCounts& other) {
    near = near > ~other.near ? ~0u : near + other.near;
    below |= other.below;
    hubs += other.hubs;
    stop |= other.stop;
    overflow |= other.overflow;
    far = far > ~other.far ? ~0u : far + other.far;
    done += other.done;
    far_first = far_first > other.far_first ? far_first : other.far_first;
  }
};

/// What all devices do in a step.
struct StepOrder {
  bool ends = false;            ///< the run ends instead
  End end = End::kDone;         ///< why
  bool takes_far = false;       ///< far items are looked at
  std::uint32_t hop_limit = 0;  ///< without a Priority: items with fewer hops are followed
  double limit = 0;             ///< with one: items of a Priority below it
  double width = 0;             ///< of the bucket, in hops or the Priority's unit
  std::uint32_t mean = 0;       ///< items of a worker in the step before
};

/// Decides the steps of a run of several devices from the sums of their counts. One thread of the run has one.
template <bool kOrders>
class StepLeader {
 public:
  /// `workers`: of all devices. `width`: of the first step, between `least` and `most`, which are equal if it is fixed.
  CHATTY_FN StepLeader(const WidthRule& widths, unsigned workers, double width, double least, double most)
      : widths_(widths), workers_(workers), least_(least), most_(most) {
    order_.limit = -kInfinity<double>;
    order_.width = width;
  }

  /// The next step, after one in which all devices counted `sum`.
  CHATTY_FN const StepOrder& Next(const StepCounts& sum) {
    if (order_.takes_far) far_ = first_far_ = 0;  // what is left has been counted again
    far_ += sum.far;
    first_far_ = first_far_ > sum.far_first ? first_far_ : sum.far_first;
    order_.takes_far = false;
    order_.ends = true;
    if (sum.overflow != 0) return End(End::kOverflow);
    if (sum.near == 0 && far_ == 0) return End(End::kDone);
    if (sum.stop != 0) return End(End::kStopped);
    order_.ends = false;
    const auto done = static_cast<std::uint32_t>(sum.done), first = static_cast<std::uint32_t>(sum.done >> 32);
    order_.mean = done / workers_;
    counts_first_ = counts_first_ || first != 0;
    done_ += done;
    first_ += first;
    if (sum.below != 0) return order_;
    if (done_ != 0 && least_ < most_) {
      order_.width = widths_.Next(order_.width, done_, first_, counts_first_, workers_, least_, most_);
    }
    done_ = first_ = 0;
    if constexpr (kOrders) {
      const double first_far = far_ == 0 ? kInfinity<double> : PriorityOfKey(first_far_);
      if (sum.near == 0) {
        const double from = order_.limit > first_far ? order_.limit : first_far;
        const double past = ::nextafter(first_far, kInfinity<double>);
        order_.limit = from + order_.width > past ? from + order_.width : past;
      } else {
        order_.limit += order_.width;
      }
      order_.takes_far = far_ != 0 && (sum.near == 0 || first_far < order_.limit);
    } else {
      const auto hops = static_cast<std::uint32_t>(order_.width > 1 ? order_.width : 1.0);
      order_.hop_limit = order_.hop_limit > ~hops ? ~0u : order_.hop_limit + hops;
    }
    return order_;
  }

 private:
  CHATTY_FN const StepOrder& End(fused::End why) {
    order_.end = why;
    return order_;
  }

  WidthRule widths_;
  unsigned workers_;
  double least_, most_;  // widths
  StepOrder order_;
  std::uint64_t far_ = 0, first_far_ = 0;
  std::uint64_t done_ = 0, first_ = 0;  // since the limit rose
  bool counts_first_ = false;
};

}  // namespace chatty::fused
