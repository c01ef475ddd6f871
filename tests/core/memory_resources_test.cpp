// The adaptors of memory resources: figures right to the byte, also when allocations fail and threads meet.
#include "chatty/core/memory_resources.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace chatty {
namespace {

/// Hands out host memory as long as it is told to.
class Source final : public MemoryResource {
 public:
  bool dry = false;
  std::uint64_t bytes_back = 0;  ///< given back
  void* Allocate(std::size_t bytes, Stream&) override {
    if (dry) Throw<OutOfMemoryError>("the source is dry: {} bytes", bytes);
    return std::malloc(bytes);
  }
  void Deallocate(void* pointer, std::size_t bytes, Stream&) noexcept override {
    bytes_back += bytes;
    std::free(pointer);
  }
};

class MemoryResources : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = MakeHostDevice(0, 1);
  Stream& stream_ = device_->stream();
  Source source_;
};

TEST_F(MemoryResources, CountingCounts) {
  CountingMemory counting(source_);
  void* const a = counting.Allocate(100, stream_);
  void* const b = counting.Allocate(1, stream_);
  EXPECT_EQ(counting.allocations(), 2u);
  EXPECT_EQ(counting.live(), 2);
  EXPECT_EQ(counting.live_bytes(), 101u);
  counting.Deallocate(a, 100, stream_);
  EXPECT_EQ(counting.live(), 1);
  EXPECT_EQ(counting.live_bytes(), 1u);
  EXPECT_EQ(counting.peak_bytes(), 101u);
  void* const c = counting.Allocate(99, stream_);
  EXPECT_EQ(counting.peak_bytes(), 101u) << "100 bytes are less than the peak";
  void* const d = counting.Allocate(2, stream_);
  EXPECT_EQ(counting.peak_bytes(), 102u);
  counting.Deallocate(b, 1, stream_);
  counting.Deallocate(c, 99, stream_);
  counting.Deallocate(d, 2, stream_);
  EXPECT_EQ(counting.allocations(), 4u);
  EXPECT_EQ(counting.live(), 0);
  EXPECT_EQ(counting.live_bytes(), 0u);
  EXPECT_EQ(counting.peak_bytes(), 102u);
  EXPECT_EQ(source_.bytes_back, 202u);
}

TEST_F(MemoryResources, CountingDoesNotCountWhatFailed) {
  CountingMemory counting(source_);
  void* const a = counting.Allocate(10, stream_);
  source_.dry = true;
  EXPECT_THROW(counting.Allocate(1000, stream_), OutOfMemoryError);
  EXPECT_EQ(counting.allocations(), 1u);
  EXPECT_EQ(counting.live(), 1);
  EXPECT_EQ(counting.live_bytes(), 10u);
  EXPECT_EQ(counting.peak_bytes(), 10u);
  counting.Deallocate(a, 10, stream_);
  EXPECT_EQ(counting.live_bytes(), 0u);
}

TEST_F(MemoryResources, LimitsHoldToTheByte) {
  LimitingMemory limited(source_, 100, "host:7");
  EXPECT_EQ(limited.limit(), 100u);
  void* const all = limited.Allocate(100, stream_);
  EXPECT_EQ(limited.used(), 100u);
  EXPECT_THROW(limited.Allocate(1, stream_), OutOfMemoryError);
  EXPECT_EQ(limited.used(), 100u) << "what was refused is not in use";
  limited.Deallocate(all, 100, stream_);
  EXPECT_THROW(limited.Allocate(101, stream_), OutOfMemoryError);
  EXPECT_THROW(limited.Allocate(~std::size_t{0}, stream_), OutOfMemoryError) << "the sum must not wrap";
  void* const most = limited.Allocate(99, stream_);
  EXPECT_THROW(limited.Allocate(~std::size_t{0} - 50, stream_), OutOfMemoryError);
  try {
    limited.Allocate(2, stream_);
    ADD_FAILURE() << "2 bytes fit where 1 is left";
  } catch (const OutOfMemoryError& error) {
    for (const char* part : {"host:7", " 2 bytes", "99 bytes of its memory limit of 100 bytes"}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  void* const last = limited.Allocate(1, stream_);
  EXPECT_EQ(limited.used(), 100u);
  limited.Deallocate(most, 99, stream_);
  limited.Deallocate(last, 1, stream_);
  EXPECT_EQ(limited.used(), 0u);
}

TEST_F(MemoryResources, AFailingUpstreamLeavesTheLimitsFiguresRight) {
  LimitingMemory limited(source_, 100, "host:0");
  source_.dry = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(limited.Allocate(60, stream_), OutOfMemoryError);
    EXPECT_EQ(limited.used(), 0u);
  }
  source_.dry = false;
  void* const a = limited.Allocate(60, stream_);
  source_.dry = true;
  EXPECT_THROW(limited.Allocate(40, stream_), OutOfMemoryError);
  EXPECT_EQ(limited.used(), 60u);
  limited.Deallocate(a, 60, stream_);
  EXPECT_EQ(limited.used(), 0u);
}

TEST_F(MemoryResources, FailingFailsFromTheNthOn) {
  CountingMemory counting(source_);
  FailingMemory failing(counting);
  std::vector<void*> granted;
  granted.push_back(failing.Allocate(8, stream_));
  EXPECT_EQ(failing.requests(), 1u) << "none fails unless asked to";
  failing.FailAt(3);
  EXPECT_EQ(failing.requests(), 0u);
  granted.push_back(failing.Allocate(8, stream_));
  granted.push_back(failing.Allocate(8, stream_));
  EXPECT_THROW(failing.Allocate(8, stream_), OutOfMemoryError);
  EXPECT_THROW(failing.Allocate(8, stream_), OutOfMemoryError) << "an exhausted device stays so";
  EXPECT_EQ(failing.requests(), 4u) << "granted or not";
  EXPECT_EQ(counting.allocations(), 3u) << "what fails does not reach the upstream";
  failing.FailAt(0);
  granted.push_back(failing.Allocate(8, stream_));
  for (void* pointer : granted) failing.Deallocate(pointer, 8, stream_);
  EXPECT_EQ(counting.live(), 0);
}

TEST_F(MemoryResources, FailingFailsTheNthAloneIfToldTo) {
  CountingMemory counting(source_);
  FailingMemory failing(counting);
  failing.FailAt(2, /*only_once=*/true);
  std::vector<void*> granted{failing.Allocate(8, stream_)};
  EXPECT_THROW(failing.Allocate(8, stream_), OutOfMemoryError);
  granted.push_back(failing.Allocate(8, stream_));
  granted.push_back(failing.Allocate(8, stream_));
  EXPECT_EQ(failing.requests(), 4u);
  EXPECT_EQ(counting.allocations(), 3u);
  failing.FailAt(1);
  EXPECT_THROW(failing.Allocate(8, stream_), OutOfMemoryError);
  EXPECT_THROW(failing.Allocate(8, stream_), OutOfMemoryError) << "once is not remembered";
  for (void* pointer : granted) failing.Deallocate(pointer, 8, stream_);
  EXPECT_EQ(counting.live(), 0);
}

/// Runs body(thread) on several threads at once.
template <class Body>
void TogetherOn(int threads, Body&& body) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : all) thread.join();
}

TEST_F(MemoryResources, FiguresAreRightWhenThreadsMeet) {
  constexpr int kThreads = 6, kTurns = 3000;
  constexpr std::uint64_t kLimit = 500;
  MemoryResource& upstream = device_->memory();  // Source is for one thread
  CountingMemory counting(upstream);
  LimitingMemory limited(counting, kLimit, "host:0");
  std::atomic<int> refused{0}, granted{0};
  TogetherOn(kThreads, [&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(50 + (t * 37 + i) % 200);
      void* pointer = nullptr;
      try {
        pointer = limited.Allocate(bytes, stream_);
      } catch (const OutOfMemoryError&) {
        ++refused;
        continue;
      }
      ++granted;
      if (i % 16 == 0) std::this_thread::yield();
      limited.Deallocate(pointer, bytes, stream_);
    }
  });
  EXPECT_EQ(granted + refused, kThreads * kTurns);
  EXPECT_EQ(counting.allocations(), static_cast<std::uint64_t>(granted));
  EXPECT_EQ(counting.live(), 0);
  EXPECT_EQ(counting.live_bytes(), 0u);
  EXPECT_EQ(limited.used(), 0u);
  EXPECT_LE(counting.peak_bytes(), kLimit);
  EXPECT_GE(counting.peak_bytes(), 50u);
}

TEST_F(MemoryResources, ExactlyAsManyAreGrantedAsAreLeft) {
  FailingMemory failing(device_->memory());
  failing.FailAt(1001);
  std::atomic<int> granted{0};
  TogetherOn(5, [&](int) {
    for (int i = 0; i < 400; ++i) {
      try {
        void* const pointer = failing.Allocate(16, stream_);
        ++granted;
        failing.Deallocate(pointer, 16, stream_);
      } catch (const OutOfMemoryError&) {
      }
    }
  });
  EXPECT_EQ(granted, 1000);
  EXPECT_EQ(failing.requests(), 2000u);
}

}  // namespace
}  // namespace chatty
