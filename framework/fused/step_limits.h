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

/// Items of a thread of a host device, or of a warp, in one step. What follows from later ones waits for the next step.
/// Values that improve for ever would leave a step without an end, and a stop is looked for between steps. A chain of so
/// many takes a warp some 60 ms.
inline constexpr std::uint32_t kMostItems = 1u << 16;
/// Likewise clocks of a GPU, some 70 ms, for warps that take messages: a chain between devices has another warp at each
/// turn.
inline constexpr std::uint32_t kMostClocks = 1u << 27;

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

/// What a device counts of its vertices that wait, while it takes those of a window: see Windows.
struct WindowCounts {
  std::uint32_t left = 0;        ///< vertices that wait for a later window
  std::uint32_t full = 0;        ///< vertices that had no room in this one
  unsigned long long first = 0;  ///< PriorityKey of the first that is left

  /// Another device's counts of the same window.
  CHATTY_FN void Add(const WindowCounts& other) {
    left = left > ~other.left ? ~0u : left + other.left;
    full |= other.full;
    first = first > other.first ? first : other.first;
  }
};

/// Windows of priorities. A frontier with more vertices than a list has room for waits in a bitmap. A window takes those of
/// a Priority from `from` to below `limit` into the list, and the run goes on until nothing else is active. Vertices that
/// wait are improved meanwhile: who is found before the window has been taken, or improved and followed. A window is twice
/// as wide as the last one, if that made little work.
class Windows {
 public:
  /// Before the first window, which takes nothing: what waits is counted. Less than `few` items done is little work.
  CHATTY_FN Windows(double width, std::uint64_t few) : few_(few), width_(width) {}

  /// @{
  /// The window, and how wide it is made.
  CHATTY_FN double from() const { return from_; }
  CHATTY_FN double limit() const { return limit_; }
  CHATTY_FN double width() const { return width_; }
  /// @}

  /// The next window, after one with these counts, since when so many items were `done`. The same one again, if a list was
  /// full.
  CHATTY_FN void Next(const WindowCounts& counts, std::uint64_t done) {
    if (counts.full != 0) return;
    if (from_ > -kInfinity<double> && done < few_) width_ *= 2;
    from_ = limit_;
    const double first = PriorityOfKey(counts.first), past = ::nextafter(first, kInfinity<double>);
    limit_ = (first > limit_ ? first : limit_) + width_;
    if (limit_ < past) limit_ = past;
  }

 private:
  std::uint64_t few_;
  double width_;
  double from_ = -kInfinity<double>, limit_ = -kInfinity<double>;
};

/// What all devices do in a step.
struct StepOrder {
  bool ends = false;            ///< the run ends instead
  End end = End::kDone;         ///< why
  bool takes_far = false;       ///< far items are looked at
  bool takes_window = false;    ///< vertices that wait become far items, and that is all: a window from `width` to `limit`
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
  /// `few_of_window`: see Windows.
  CHATTY_FN StepLeader(const WidthRule& widths, unsigned workers, double width, double least, double most,
                       std::uint64_t few_of_window = 0)
      : widths_(widths), workers_(workers), least_(least), most_(most), windows_(width, few_of_window) {
    order_.limit = -kInfinity<double>;
    order_.width = width;
  }

  /// Whether nothing is left after a step with this sum, but vertices that wait for windows.
  CHATTY_FN bool IsOut(const StepCounts& sum) const {
    return sum.near == 0 && sum.far == 0 && (far_ == 0 || order_.takes_far);
  }
  /// The next step, after one in which all devices counted `sum`. `waits`: what they counted in the last window, if IsOut.
  /// Before the first window it may say no more than that some wait.
  CHATTY_FN const StepOrder& Next(const StepCounts& sum, const WindowCounts& waits = {}) {
    if (order_.takes_window) {  // its items begin anew
      order_.takes_window = false;
      order_.limit = -kInfinity<double>;
      order_.width = !(least_ < most_) ? bucket_width_ : windows_.width() < most_ ? windows_.width() : most_;
    }
    if (order_.takes_far) far_ = first_far_ = 0;  // what is left has been counted again
    far_ += sum.far;
    first_far_ = first_far_ > sum.far_first ? first_far_ : sum.far_first;
    order_.takes_far = false;
    order_.ends = true;
    if (sum.overflow != 0) return End(End::kOverflow);
    const auto done = static_cast<std::uint32_t>(sum.done), first = static_cast<std::uint32_t>(sum.done >> 32);
    if (sum.near == 0 && far_ == 0) {
      if (waits.left == 0) return End(End::kDone);
      if (sum.stop != 0) return End(End::kStopped);
      return TakeWindow(waits, done);
    }
    if (sum.stop != 0) return End(End::kStopped);
    order_.ends = false;
    in_window_ += done;
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
  CHATTY_FN const StepOrder& TakeWindow(const WindowCounts& waits, std::uint32_t done) {
    if (in_windows_) windows_.Next(waits, in_window_ + done);
    in_windows_ = true;
    in_window_ = 0;
    order_.ends = false;
    order_.takes_window = true;
    order_.limit = windows_.limit();
    bucket_width_ = order_.width;
    order_.width = windows_.from();
    order_.mean = 0;
    done_ = first_ = 0;
    return order_;
  }

  WidthRule widths_;
  unsigned workers_;
  double least_, most_;  // widths
  StepOrder order_;
  std::uint64_t far_ = 0, first_far_ = 0;
  std::uint64_t done_ = 0, first_ = 0;  // since the limit rose
  bool counts_first_ = false;
  Windows windows_;
  bool in_windows_ = false;      // there has been one
  std::uint64_t in_window_ = 0;  // items done since
  double bucket_width_ = 0;      // before the window
};

}  // namespace chatty::fused
