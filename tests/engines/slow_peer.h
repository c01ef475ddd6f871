// A transport that keeps one device in Receive, so that it takes its messages late.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "chatty/comm/checked_transport.h"
#include "engines.h"

namespace chatty::test {

/// What a slow device waits for before it returns a buffer's credit.
struct SlowPeer {
  PartId slow = 0;
  std::uint64_t others = 0;  ///< buffers that the other devices must have received from each other
  int yields = 0;            ///< and as often it gives way to other threads
};

/// A transport that keeps the slow device in Receive.
class LateTransport final : public Transport {
 public:
  LateTransport(std::unique_ptr<Transport> inner, const SlowPeer& late) : inner_(std::move(inner)), late_(late) {}
  std::string_view name() const override { return inner_->name(); }
  std::uint32_t slots() const override { return inner_->slots(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    inner_->Post(from, to, bytes, epoch);
  }
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    HoldUp(at, from);
    return inner_->Receive(at, from, bytes, epoch);
  }
  bool receives_on_streams() const override { return inner_->receives_on_streams(); }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    HoldUp(at, from);
    return inner_->ReceiveOn(stream, at, from, bytes, epoch);
  }
  void Abort() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      aborted_ = true;
    }
    changed_.notify_all();
    inner_->Abort();
  }
  bool reusable() const override { return !aborted_ && inner_->reusable(); }

 private:
  void HoldUp(PartId at, PartId from) {
    if (at == late_.slow) {
      for (int i = 0; i < late_.yields; ++i) std::this_thread::yield();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return others_ >= late_.others || aborted_; });
    } else if (from != late_.slow) {
      const std::lock_guard lock(mutex_);
      ++others_;
      changed_.notify_all();
    }
  }

  std::unique_ptr<Transport> inner_;
  const SlowPeer late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t others_ = 0;
  bool aborted_ = false;
};

inline RunOptions WithSlowPeer(const SlowPeer& late, std::uint32_t slots) {
  RunOptions options;
  options.execution = Execution::kAsync;
  options.slots = slots;
  options.timeout = std::chrono::seconds(60);  // bounds a hang
  options.transport_factory = [late](std::span<Device* const> devices, const PairBytesTable& capacities,
                                     const TransportOptions& made) -> std::unique_ptr<Transport> {
    auto checked = std::make_unique<CheckedTransport>(MakeTransport("auto", devices, capacities, made), capacities, made);
    return std::make_unique<LateTransport>(std::move(checked), late);
  };
  return options;
}

inline std::string DevicesNamed(int count) {
  return std::string(kKind == DeviceKind::kHost ? "host:" : "cuda:") + std::to_string(count);
}

}  // namespace chatty::test
