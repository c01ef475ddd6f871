#include "chatty/framework/fused/team.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "chatty/core/error.h"

namespace chatty::fused {
namespace {

/// Entries of a ring: what a band of a grid sends in some steps. A full ring costs its sender time alone.
constexpr std::uint32_t kRingEntries = 1u << 12;

std::uint32_t RingEntries(std::uint32_t list_items) {
  return list_items == 0 ? kRingEntries : std::bit_floor(std::clamp<std::uint32_t>(list_items, 64, kRingEntries));
}

std::size_t ArrayBytes(std::size_t devices, std::uint32_t list_items) {
  return symmetric::Rings::Bytes(devices, RingEntries(list_items)) + sizeof(symmetric::RingCounter) + 4 * symmetric::kLine +
         2 * sizeof(symmetric::RingEntry);
}

/// "a", "a and b" or "a, b and c".
std::string Listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace

void ThrowAborted(const WaitContext& context, std::string_view what) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  while (context.abort != nullptr && Clock::now() < end) {
    context.abort->ThrowIfAborted(what);
    std::this_thread::yield();
  }
  Throw<AbortedError>("gave up waiting for {}: another device failed first", what);
}

std::uint64_t Team::Bytes(std::size_t devices, std::uint32_t list_items) {
  return SymmetricHeap::BlockBytes(ArrayBytes(devices, list_items));
}

Team::Team(std::span<Device* const> devices, std::uint32_t list_items)
    : heap_(devices, ArrayBytes(devices.size(), list_items)), reader_(heap_, 1) {
  ref_.rings = symmetric::MakeRings(heap_, RingEntries(list_items));
  ref_.state = heap_.Allocate<symmetric::RingCounter>(1);
  ref_.counts = heap_.Allocate<StepCounts>(3);
  ref_.order = heap_.Allocate<symmetric::RingEntry>(2);
  ref_.windows = heap_.Allocate<WindowCounts>(1);
}

Team::~Team() {
  heap_.Abort();
  for (std::size_t d = 0; d < size(); ++d) {
    try {
      heap_.device(d).MakeCurrent();
      heap_.device(d).stream().Synchronize();
    } catch (const Error&) {  // a lost device writes nothing
    }
  }
}

std::size_t Team::SharingWith(std::size_t index) const {
  std::size_t sharing = 0;
  for (std::size_t d = 0; d < size(); ++d) sharing += heap_.device(d).index() == heap_.device(index).index() ? 1 : 0;
  return sharing;
}

TeamRef Team::ref(std::size_t index) const {
  TeamRef ref = ref_;
  ref.heap = heap_.ref(index);
  return ref;
}

void Team::Begin() {
  heap_.BeginRun();
  heap_.Clear();
  heap_.device(0).MakeCurrent();
}

std::vector<std::uint64_t> Team::Sent(std::size_t index) const {
  Device& device = heap_.device(index);
  std::vector<symmetric::RingCounter> counters(size());
  device.CopyOut(counters.data(), heap_.data(ref_.rings.reserved, index), size() * sizeof(symmetric::RingCounter),
                 device.stream());
  device.stream().Synchronize();
  std::vector<std::uint64_t> sent;
  sent.reserve(size());
  for (const symmetric::RingCounter& counter : counters) sent.push_back(counter.count);
  return sent;
}

std::string Team::DescribeWait(std::size_t index) {
  std::vector<TeamState> states;
  std::vector<bool> answers;
  for (std::size_t d = 0; d < size(); ++d) {
    const std::vector<std::uint64_t> word = reader_.Read(ref_.state, 1, d);
    answers.push_back(!word.empty());
    states.push_back({word.empty() ? 0 : word[0]});
  }
  // Steps are modulo 256, and no two devices are more than one step apart. Before its first step a device is in step 0.
  const auto is_behind = [](const TeamState& a, const TeamState& b) { return ((b.step() - a.step()) & 0xff) == 1; };
  const auto why_late = [&](std::size_t d) -> std::string {
    if (!answers[d]) return "does not answer";
    for (std::size_t other = 0; other < size(); ++other) {
      if (answers[other] && is_behind(states[d], states[other])) return "has not begun the step";
    }
    const std::uint64_t busy = states[d].active();
    return busy == 0 ? "" : fmt::format("has {} busy worker{}", busy, busy == 1 ? "" : "s");
  };
  std::vector<std::string> late;
  for (std::size_t i = 1; i < size(); ++i) {
    const std::size_t d = (index + i) % size();
    if (const std::string why = why_late(d); !why.empty()) {
      late.push_back(fmt::format("{}, which {}", heap_.device(d).label(), why));
    }
  }
  const std::string me = heap_.device(index).label();
  if (!late.empty()) return fmt::format("{} waited for {}", me, Listed(late));
  if (const std::string why = why_late(index); !why.empty()) return fmt::format("{} itself {}", me, why);
  return fmt::format("no device is busy, and {} is to order the next step", heap_.device(0).label());
}

std::exception_ptr Team::FailureOf(std::size_t index) noexcept {
  std::exception_ptr failure = std::current_exception();
  try {
    std::rethrow_exception(failure);
  } catch (const TimeoutError& error) {
    try {
      Throw<TimeoutError>("{}; {}", error.what(), DescribeWait(index));
    } catch (...) {
      return std::current_exception();
    }
  } catch (...) {
    return failure;
  }
}

}  // namespace chatty::fused
