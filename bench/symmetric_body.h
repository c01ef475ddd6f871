/// \file
/// The measurements of symmetric memory, for host devices and for GPUs. Each is a function that all devices of the run
/// execute between two barriers; the time between these is taken inside the kernel, so that launches do not count.
///
/// Every measurement checks what it measures: entries put before a barrier, the data behind a signal, each byte put, and the
/// values and sums of fetch-adds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../tests/comm/symmetric_launch.h"
#include "chatty/comm/symmetric/heap.h"
#include "chatty/core/hash.h"
#include "symmetric.h"
#include "symmetric_work.h"

namespace chatty::bench {
namespace {

/// The heap, its arrays and one run after the other.
class Measurement {
 public:
  Measurement(std::span<Device* const> devices, const SymmetricPlan& plan,
              const std::function<void(const SymmetricRow&)>& report)
      : plan_(plan),
        report_(report),
        shape_(OneBlockEach(devices, plan.threads)),
        heap_(devices, HeapBytes(), Options(plan)) {
    ns_ = heap_.Allocate<Word>(1);
    wrong_ = heap_.Allocate<Word>(1);
    inbox_ = heap_.Allocate<Word>(std::size_t{2} * kMaxDevices * kMaxWords);
    values_ = heap_.Allocate<Word>(PingPong::kValues);
    pair_ = heap_.Allocate<Word>(2);
    signal_ = heap_.Allocate<Word>(1);
    counters_ = heap_.Allocate<Word>(std::uint64_t{shape_.blocks} * shape_.threads);
    source_ = heap_.Allocate<std::uint8_t>(plan.max_bytes);
    target_ = heap_.Allocate<std::uint8_t>(plan.max_bytes);
    pattern_.resize(plan.max_bytes / sizeof(Word));
    for (std::size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = Hash(i);
  }

  void Run() {
    for (const std::uint32_t words : {0u, 16u, kMaxWords}) MeasureBarriers(words);
    if (heap_.size() < 2) return;
    MeasurePingPong("put-signal", false, signal_);
    MeasurePingPong("put-signal, data read", true, signal_);
    MeasurePingPong("put-signal beside its data", false, pair_ + 1);
    MeasurePingPong("put-signal beside its data, read", true, pair_ + 1);
    Device& device = heap_.device(0);
    device.MakeCurrent();
    device.CopyIn(heap_.data(source_, 0), pattern_.data(), plan_.max_bytes, device.stream());
    device.stream().Synchronize();
    for (const std::uint64_t bytes : Sizes()) MeasurePuts(bytes);
    MeasureFetchAdds();
  }

 private:
  static constexpr std::uint32_t kMaxWords = 1024;  // put to each peer before a barrier
  static constexpr std::uint64_t kTrialBytes = std::uint64_t{1} << 28, kMaxPlaces = 64;

  static SymmetricOptions Options(const SymmetricPlan& plan) {
    SymmetricOptions options;
    options.backend = plan.backend;
    options.timeout = std::chrono::minutes(1);  // host devices may wait for cores
    return options;
  }
  std::size_t HeapBytes() const {
    constexpr std::size_t kLines = 1 << 16;  // the small arrays, and what alignment leaves
    const std::size_t words = std::size_t{2} * kMaxDevices * kMaxWords + std::size_t{shape_.blocks} * shape_.threads;
    return 2 * plan_.max_bytes + words * sizeof(Word) + kLines;
  }
  /// One block on each multiprocessor; devices that share a GPU share them.
  static test::GridShape OneBlockEach(std::span<Device* const> devices, unsigned threads) {
    if (devices[0]->kind() == DeviceKind::kHost) return {1, 1};
    std::int64_t blocks = devices[0]->info().multiprocessors;
    for (Device* const device : devices) {
      const auto sharing =
          std::count_if(devices.begin(), devices.end(), [&](Device* other) { return other->index() == device->index(); });
      blocks = std::min<std::int64_t>(blocks, device->info().multiprocessors / sharing);
    }
    return {static_cast<unsigned>(std::max<std::int64_t>(blocks, 1)), threads};
  }
  /// 8 bytes to the longest put, by factors of 8, and 64 KiB.
  std::vector<std::uint64_t> Sizes() const {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = 8; bytes < plan_.max_bytes; bytes *= 8) sizes.push_back(bytes);
    if (plan_.max_bytes > 1 << 16) sizes.push_back(1 << 16);
    sizes.push_back(plan_.max_bytes);
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  }

  template <class T>
  void Clear(Symmetric<T> array) {
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      Device& device = heap_.device(i);
      device.MakeCurrent();
      device.Fill(heap_.data(array, i), 0, array.count * sizeof(T), device.stream());
      device.stream().Synchronize();
    }
  }
  template <class T, class U>
  void Read(Symmetric<T> array, std::size_t index, std::vector<U>& to) {
    Device& device = heap_.device(index);
    device.MakeCurrent();
    device.CopyOut(to.data(), heap_.data(array, index), to.size() * sizeof(U), device.stream());
    device.stream().Synchronize();
  }

  /// Microseconds of one run on all devices.
  template <class Work>
  double RunOnce(const Work& work, test::GridShape shape) {
    Clear(wrong_);
    test::RunOnAll(heap_, Timed<Work>{work, ns_, wrong_}, shape);
    heap_.Check();
    double us = 0;
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      std::vector<Word> value(1);
      Read(wrong_, i, value);
      CHATTY_CHECK(value[0] == 0, "{} saw {} wrong values", heap_.device(i).label(), value[0]);
      Read(ns_, i, value);
      us = std::max(us, static_cast<double>(value[0]) / 1e3);
    }
    return us;
  }
  /// Calls `run` for each trial, behind one that is not counted, and divides its microseconds by `operations`.
  template <class Run>
  std::vector<double> Trials(double operations, const Run& run) const {
    std::vector<double> us;
    for (unsigned trial = 0; trial <= plan_.trials; ++trial) {
      const double one = run() / operations;
      if (trial > 0) us.push_back(one);
    }
    return us;
  }

  void MeasureBarriers(std::uint32_t words) {
    const Barriers work{plan_.repetitions, words, inbox_};
    SymmetricRow row{"barrier", words};
    row.us = Trials(static_cast<double>(work.repetitions), [&] { return RunOnce(work, shape_); });
    report_(row);
  }

  void MeasurePingPong(std::string operation, bool reads, Symmetric<Word> signal) {
    const PingPong work{plan_.repetitions, reads, values_, pair_, signal};
    SymmetricRow row{std::move(operation), 0, sizeof(Word)};
    row.us = Trials(2 * static_cast<double>(work.repetitions), [&] {
      Clear(signal);
      return RunOnce(work, {1, 32});
    });
    report_(row);
  }

  void MeasurePuts(std::uint64_t bytes) {
    const std::uint64_t places = std::clamp<std::uint64_t>(plan_.max_bytes / bytes, 1, kMaxPlaces);
    const std::uint64_t repetitions =
        std::max(places, std::min(plan_.repetitions, std::max<std::uint64_t>(kTrialBytes / bytes, 1)));
    const auto measure = [&](std::string operation, const auto& run) {
      Clear(target_);
      SymmetricRow row{std::move(operation), 0, bytes};
      row.us = Trials(static_cast<double>(repetitions), run);
      CheckTarget(row.operation, bytes * places);
      return row;
    };
    const SymmetricRow copies = measure("copy engine", [&] { return CopyOnce(repetitions, bytes, places); });
    report_(copies);
    const bool on_hosts = heap_.device(0).kind() == DeviceKind::kHost;  // whose grid is one block
    const test::GridShape block = {1, on_hosts ? 1u : 1024u};
    for (const bool quiet : {false, true}) {
      for (const bool by_grid : {false, true}) {
        if (by_grid && on_hosts) continue;
        const Puts work{repetitions, bytes, places, quiet, source_, target_};
        SymmetricRow row = measure(std::string(quiet ? "put and quiet" : "put") + (by_grid ? ", grid" : ", block"),
                                   [&] { return RunOnce(work, by_grid ? shape_ : block); });
        row.of_copies = copies.median_us() / row.median_us();
        report_(row);
      }
    }
  }
  /// Microseconds of copies from device 0 to device 1 on one stream.
  double CopyOnce(std::uint64_t repetitions, std::uint64_t bytes, std::uint64_t places) {
    Device& device = heap_.device(0);
    device.MakeCurrent();
    const std::unique_ptr<Event> begin = device.NewEvent(), end = device.NewEvent();
    begin->Record(device.stream());
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      const std::uint64_t at = i % places * bytes;
      device.CopyToPeer(heap_.device(1), heap_.data(target_ + at, 1), heap_.data(source_ + at, 0), bytes, device.stream());
    }
    end->Record(device.stream());
    device.stream().Synchronize();
    return end->ElapsedMs(*begin) * 1e3;
  }
  void CheckTarget(const std::string& operation, std::uint64_t bytes) {
    std::vector<Word> arrived(bytes / sizeof(Word));
    Read(target_, 1, arrived);
    const auto wrong = std::mismatch(arrived.begin(), arrived.end(), pattern_.begin());
    CHATTY_CHECK(wrong.first == arrived.end(), "{}: the word at byte {} did not arrive", operation,
                 (wrong.first - arrived.begin()) * sizeof(Word));
  }

  void MeasureFetchAdds() {
    const std::uint64_t shared = std::max<std::uint64_t>(plan_.repetitions / 100, 1);
    MeasureFetchAdd("fetch-add, one thread", {plan_.repetitions, 0, counters_}, {1, 1});
    MeasureFetchAdd("fetch-add, all threads, one word", {shared, 0, counters_}, shape_);
    MeasureFetchAdd("fetch-add, all threads, a word each", {shared, 1, counters_}, shape_);
  }
  void MeasureFetchAdd(const std::string& operation, const FetchAdds& work, test::GridShape shape) {
    const std::uint64_t operations = std::uint64_t{shape.blocks} * shape.threads * work.repetitions;
    SymmetricRow row{operation};
    row.us = Trials(static_cast<double>(operations), [&] {
      Clear(counters_);
      const double us = RunOnce(work, shape);
      std::vector<Word> counters(counters_.count);
      Read(counters_, 1, counters);
      const Word sum = std::accumulate(counters.begin(), counters.end(), Word{0});
      CHATTY_CHECK(sum == operations, "{}: {} of {} arrived", operation, sum, operations);
      return us;
    });
    report_(row);
  }

  const SymmetricPlan& plan_;
  const std::function<void(const SymmetricRow&)>& report_;
  test::GridShape shape_;
  SymmetricHeap heap_;
  Symmetric<Word> ns_, wrong_, inbox_, values_, pair_, signal_, counters_;
  Symmetric<std::uint8_t> source_, target_;
  std::vector<Word> pattern_;  // what source_ contains on device 0
};

}  // namespace

void MeasureSymmetric(std::span<Device* const> devices, const SymmetricPlan& plan,
                      const std::function<void(const SymmetricRow&)>& report) {
  Measurement(devices, plan, report).Run();
}

}  // namespace chatty::bench
