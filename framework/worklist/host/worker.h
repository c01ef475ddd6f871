/// \file
/// One thread's part in a distributed worklist on host devices.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/steps/vertex_ops.h"
#include "chatty/framework/worklist/program.h"

namespace chatty::worklist::host {

/// What a worker did since it last became idle. The names are those of fused::StepCounts.
struct WorkerCount {
  std::uint64_t below = 0;      ///< items of its next list that are below the limit: its local queue had no room
  std::uint64_t done = 0;       ///< items processed
  std::uint64_t first = 0;      ///< none: worklists do not adapt their width
  std::uint64_t first_far = 0;  ///< PriorityKey of the first item of its far list
};

/// A worker, which is the context that Process gets (see WorklistContext). Items below the limit go into its local queue,
/// which it empties. Others go into the list of the next step, or if they lie beyond the next limit, too, into its far list.
template <class P>
class Worker {
 public:
  using Item = typename P::Item;

  /// All must outlive it. `room`: items of the local queue. `timeout`: the longest wait for room in a ring; 0: no limit.
  Worker(const P& program, const fused::TeamRef& team, std::vector<Item>* far, std::size_t room,
         std::chrono::milliseconds timeout)
      : program_(program), team_(team), far_(far), queue_(room), timeout_(timeout) {}

  /// @{
  /// As of WorklistContext.
  CHATTY_NO_EXEC_CHECK
  CHATTY_FN void Push(const Item& item) { Put(item); }
  CHATTY_NO_EXEC_CHECK
  CHATTY_FN void Send(std::uint32_t device, const Item& item) { SendTo(device, item); }
  CHATTY_FN std::uint32_t device() const { return team_.heap.me; }
  CHATTY_FN std::uint32_t devices() const { return team_.heap.size; }
  /// @}

  /// Before a step: the list of the next one, which items are below, and the step's number.
  void Begin(std::vector<Item>* next, double limit, double width, std::uint64_t step) {
    next_ = next;
    limit_ = limit;
    near_limit_ = limit + width;
    step_ = step;
    spills_ = false;
    done_ = 0;
  }

  /// Takes a slice of a list and what comes of it, until nothing below the limit is left.
  void Work(std::span<const Item> slice) {
    while (!slice.empty() || head_ != tail_) {
      if (head_ == tail_) {
        const std::size_t some = std::min(slice.size(), queue_.size() / 2);
        for (const Item& item : slice.first(some)) Queue(tail_++) = item;
        slice = slice.subspan(some);
      }
      const Item item = Queue(head_++);
      if (const double priority = PriorityOf(program_, item); !steps::GoesNow(priority, limit_)) {
        PutOut(item, priority);
        continue;
      }
      count.done += 1;
      if (++done_ > fused::kMostItems) spills_ = true;
      program_.Process(item, *this);
      if (done_ % symmetric::kTurnsPerAbortCheck == 0) CheckAborted();
    }
  }

  /// Claims messages and does the work that they are and that comes of it. Returns whether there were any.
  /// `was_idle`: the worker was idle, and is busy if there were.
  bool WorkOnMessages(bool was_idle) {
    const bool any = Claim(was_idle);
    if (any) Work({});
    return any;
  }

  /// Moves the far items that are below `limit` into `list`.
  void TakeFar(double limit, std::vector<Item>* list) {
    std::size_t kept = 0;
    for (const Item& item : *far_) {
      const double priority = PriorityOf(program_, item);
      if (steps::GoesNow(priority, limit)) {
        list->push_back(item);
      } else {
        count.first_far = std::max(count.first_far, PriorityKey(priority));
        (*far_)[kept++] = item;
      }
    }
    far_->resize(kept);
  }
  /// Adds an item to the far list, before the first limit is known.
  void PutFar(const Item& item) {
    count.first_far = std::max(count.first_far, PriorityKey(PriorityOf(program_, item)));
    far_->push_back(item);
  }

  WorkerCount count;

 private:
  static constexpr std::uint32_t kTogether = 64;  ///< messages that are claimed at once

  void SendTo(std::uint32_t device, const Item& item) {
    if (device == team_.heap.me) {
      Item received = item;
      if (program_.OnReceive(received)) Put(received);
      return;
    }
    if (!program_.OnSend(item, device)) return;
    std::uint64_t position = symmetric::ReserveInRing(team_.heap, team_.rings, device, 1);
    if (position == symmetric::Rings::kFull) position = AwaitRoom(device);
    symmetric::WriteToRing(team_.heap, team_.rings, device, position, EntryOf(program_.Pack(item), step_));
  }
  void CheckAborted() const {
    if (team_.IsAborted()) Throw<AbortedError>("a worklist has ended on another device");
  }
  Item& Queue(std::size_t at) { return queue_[at % queue_.size()]; }

  void Put(const Item& item) {
    if (const double priority = PriorityOf(program_, item); !steps::GoesNow(priority, limit_)) return PutOut(item, priority);
    if (spills_ || tail_ - head_ >= queue_.size()) {  // much work: all members shall have a part of it
      spills_ = true;
      count.below += 1;
      next_->push_back(item);
      return;
    }
    Queue(tail_++) = item;
  }
  void PutOut(const Item& item, double priority) {
    if (steps::GoesNow(priority, near_limit_)) {
      next_->push_back(item);
      return;
    }
    count.first_far = std::max(count.first_far, PriorityKey(priority));
    far_->push_back(item);
  }

  bool Claim(bool was_idle) {
    bool any = false;
    std::array<symmetric::RingEntry, kTogether> entries;
    for (std::uint32_t i = 1; i < devices(); ++i) {
      const std::uint32_t from = (device() + i) % devices();
      const std::uint64_t next = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);
      std::uint32_t some = 0;
      while (some < kTogether && symmetric::ReadFromRing(team_.heap, team_.rings, from, next + some, &entries[some]) &&
             fused::TeamRef::IsOf(entries[some], step_)) {
        ++some;
      }
      if (some == 0 || !symmetric::ClaimFromRing(team_.heap, team_.rings, from, next, some)) continue;
      team_.CountReceived(some, was_idle && !any);
      any = true;
      for (std::uint32_t k = 0; k < some; ++k) {
        Item item = program_.Unpack(MessageIn<typename P::Message>(entries[k]));
        if (program_.OnReceive(item)) Put(item);
      }
    }
    return any;
  }

  /// Waits for a slot in the ring to `device`. Takes messages meanwhile, or two devices could wait for each other; their
  /// items wait for the next step.
  std::uint64_t AwaitRoom(std::uint32_t device) {
    const bool spilled = spills_;
    spills_ = true;
    const Clock::time_point begin = Clock::now();
    while (true) {
      const std::uint64_t position = symmetric::ReserveInRing(team_.heap, team_.rings, device, 1);
      if (position != symmetric::Rings::kFull) {
        spills_ = spilled;
        return position;
      }
      CheckAborted();
      if (timeout_.count() > 0 && Clock::now() - begin > timeout_) {
        Throw<TimeoutError>("waited {} ms for room in the ring to device {} of the worklist", timeout_.count(), device);
      }
      if (!Claim(/*was_idle=*/false)) std::this_thread::yield();
    }
  }

  const P& program_;
  const fused::TeamRef& team_;
  std::vector<Item>*far_, *next_ = nullptr;
  std::vector<Item> queue_;
  const std::chrono::milliseconds timeout_;
  std::uint64_t step_ = 0;
  std::size_t head_ = 0, tail_ = 0;
  double limit_ = 0, near_limit_ = 0;
  std::uint64_t done_ = 0;  // items of this step
  bool spills_ = false;
};

}  // namespace chatty::worklist::host
