#include "chatty/core/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/config.h"
#include "chatty/core/memory_resources.h"

namespace chatty {
namespace {

std::vector<int> UpTo(int n) {
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(i);
  return all;
}

TEST(ParseDevices, HostSelections) {
  for (const auto& [text, count] :
       std::vector<std::pair<std::string, int>>{{"host", 1}, {"host:1", 1}, {"host:3", 3}, {"host:64", 64}}) {
    const DeviceSelection selection = ParseDevices(text);
    EXPECT_EQ(selection.kind, DeviceKind::kHost) << text;
    EXPECT_EQ(selection.indices, UpTo(count)) << text;
  }
}

TEST(ParseDevices, AutoIsWhatIsThere) {
  const DeviceSelection selection = ParseDevices("auto");
  const int gpus = CudaDeviceCount();
  EXPECT_EQ(selection.kind, gpus > 0 ? DeviceKind::kCuda : DeviceKind::kHost);
  EXPECT_EQ(selection.indices, UpTo(gpus > 0 ? std::min(gpus, kMaxDevices) : 1));
}

TEST(ParseDevices, BadTextIsAUsageErrorThatShowsIt) {
  for (const char* text : {"",
                           "gpu",
                           "hosts",
                           ":",
                           "host:",
                           "host:0",
                           "host:-1",
                           "host:65",
                           "host:x",
                           "host:2x",
                           "host: 2",
                           "host:1,2",
                           "host:99999999999",
                           "auto:2",
                           "Host",
                           "cuda:",
                           "cuda:x",
                           "cuda:0,",
                           "cuda:,0",
                           "cuda:0,,1",
                           "cuda:-1",
                           "cuda:0,0",
                           "cuda:1,2,1",
                           "cuda:@0",
                           "cuda:2@",
                           "cuda:0@0",
                           "cuda:-1@0",
                           "cuda:2@0@0",
                           "cuda:65@0",
                           "cuda:60@0,5@1",
                           "cuda:4000000000@0",
                           "cuda:2@0,0",
                           "cuda:0,2@0",
                           "2@0",
                           "cuda:0;1",
                           "cuda:99999999999",
                           "cuda:0 "}) {
    try {
      ParseDevices(text);
      ADD_FAILURE() << "'" << text << "' was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("--devices ") + text), std::string::npos) << error.what();
    }
  }
  std::string many = "cuda:0";
  for (int i = 1; i <= kMaxDevices; ++i) many += "," + std::to_string(i);
  EXPECT_THROW(ParseDevices(many), UsageError);
}

TEST(ParseDevices, AGpuThatIsNotThereIsACapabilityError) {
  EXPECT_THROW(ParseDevices("cuda:4711"), CapabilityError);
  const int gpus = CudaDeviceCount();
  EXPECT_THROW(ParseDevices("cuda:" + std::to_string(gpus)), CapabilityError);
  if (gpus == 0) {
    EXPECT_THROW(ParseDevices("cuda"), CapabilityError);
  } else {
    EXPECT_EQ(ParseDevices("cuda").indices, UpTo(std::min(gpus, kMaxDevices)));
    EXPECT_EQ(ParseDevices("cuda:" + std::to_string(gpus - 1)).indices, std::vector<int>{gpus - 1});
  }
#if !CHATTY_WITH_CUDA
  EXPECT_THROW(MakeCudaDevice(0), CapabilityError);
#endif
}

TEST(ParseDevices, AGpuMayStandForSeveral) {
  const int gpus = CudaDeviceCount();
  if (gpus == 0) {
    EXPECT_THROW(ParseDevices("cuda:2@0"), CapabilityError);
    return;
  }
  EXPECT_THROW(ParseDevices("cuda:2@" + std::to_string(gpus)), CapabilityError);
  EXPECT_EQ(ParseDevices("cuda:3@0").indices, (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(ParseDevices("cuda:1@0").indices, (std::vector<int>{0}));
  EXPECT_EQ(ParseDevices("cuda:64@0").indices.size(), 64u);
  const DeviceSelection selection = ParseDevices("cuda:3@0");
  const auto devices = OpenDevices(selection);
  const std::vector<std::string> labels = LabelsOf(selection);
  ASSERT_EQ(devices.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(devices[i]->index(), 0);
    EXPECT_EQ(devices[i]->label(), labels[i]);
    EXPECT_NE(&devices[i]->memory(), &devices[(i + 1) % 3]->memory()) << "each has memory of its own";
  }
  EXPECT_TRUE(devices[0]->AllowAccessBy(*devices[2]));
}

TEST(DeviceSelection, TellsWhichShareAGpu) {
  const DeviceSelection host{DeviceKind::kHost, {0, 1, 2}}, apart{DeviceKind::kCuda, {2, 0}};
  const DeviceSelection mixed{DeviceKind::kCuda, {0, 3, 1, 3}};
  EXPECT_EQ(SharedGpu(host), std::nullopt);
  EXPECT_EQ(SharedGpu(apart), std::nullopt);
  EXPECT_EQ(SharedGpu(mixed), 3);
  EXPECT_EQ(SharedGpu(mixed.First(3)), std::nullopt);
  EXPECT_EQ(SharedGpu({DeviceKind::kHost, {0, 0}}), std::nullopt) << "only GPUs are shared";
  EXPECT_EQ(LabelsOf(host), (std::vector<std::string>{"host:0", "host:1", "host:2"}));
  EXPECT_EQ(LabelsOf(apart), (std::vector<std::string>{"cuda:2", "cuda:0"}));
  EXPECT_EQ(LabelsOf(mixed), (std::vector<std::string>{"cuda:0", "cuda:3.0", "cuda:1", "cuda:3.1"}));
  EXPECT_EQ(mixed.First(2).indices, (std::vector<int>{0, 3}));
  EXPECT_EQ(mixed.First(9).indices, mixed.indices);
  EXPECT_EQ(mixed.First(0).kind, DeviceKind::kCuda);
}

TEST(OpenDevices, HostDevicesShareTheThreads) {
  const auto sizes = [](const char* text, int threads) {
    std::vector<int> all;
    for (const auto& device : OpenDevices(ParseDevices(text), threads)) {
      EXPECT_EQ(device->team()->size(), device->info().multiprocessors);
      all.push_back(device->team()->size());
    }
    return all;
  };
  EXPECT_EQ(sizes("host:3", 8), (std::vector<int>{3, 3, 2}));
  EXPECT_EQ(sizes("host:4", 4), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(sizes("host:3", 2), (std::vector<int>{1, 1, 1})) << "at least one each";
  EXPECT_EQ(sizes("host:1", 5), (std::vector<int>{5}));
}

/// The same expectations of every device: host, and the first GPU where there is one.
class DeviceTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DeviceKind::kCuda) {
      if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
      device_ = MakeCudaDevice(0);
    } else {
      device_ = MakeHostDevice(0, 2);
    }
  }
  std::unique_ptr<Device> device_;
};

TEST_P(DeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->kind(), GetParam());
  EXPECT_EQ(device_->label(), GetParam() == DeviceKind::kHost ? "host:0" : "cuda:0");
  EXPECT_FALSE(device_->info().name.empty());
  EXPECT_EQ(device_->team() != nullptr, GetParam() == DeviceKind::kHost);
}

TEST_P(DeviceTest, CopiesAndFills) {
  constexpr std::size_t kCount = 1000;
  std::vector<std::uint32_t> in(kCount), out(kCount, 0);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = static_cast<std::uint32_t>(i * 2654435761u);
  Buffer<std::uint32_t> a(*device_, kCount), b(*device_, kCount);
  Stream& stream = device_->stream();
  device_->CopyIn(a.data(), in.data(), a.bytes(), stream);
  device_->CopyWithin(b.data(), a.data(), b.bytes(), stream);
  device_->Fill(a.data(), 0xab, a.bytes(), stream);
  device_->CopyOut(out.data(), b.data(), b.bytes(), stream);
  stream.Synchronize();
  EXPECT_EQ(out, in);
  device_->CopyOut(out.data(), a.data(), a.bytes(), stream);
  stream.Synchronize();
  EXPECT_EQ(out, std::vector<std::uint32_t>(kCount, 0xabababab));
  device_->CopyIn(nullptr, nullptr, 0, stream);
  device_->CopyOut(nullptr, nullptr, 0, stream);
  device_->CopyWithin(nullptr, nullptr, 0, stream);
  device_->Fill(nullptr, 0, 0, stream);
  stream.Synchronize();
}

TEST_P(DeviceTest, EventsOrderStreamsAndTellTime) {
  const std::unique_ptr<Stream> other = device_->NewStream();
  const std::unique_ptr<Event> begin = device_->NewEvent(), end = device_->NewEvent();
  Buffer<std::uint8_t> data(*device_, 1 << 20);
  device_->stream().Synchronize();  // allocation is ordered on the main stream
  std::vector<std::uint8_t> out(data.size());
  begin->Record(device_->stream());
  device_->Fill(data.data(), 7, data.bytes(), device_->stream());
  end->Record(device_->stream());
  end->MakeWait(*other);
  device_->CopyOut(out.data(), data.data(), data.bytes(), *other);
  other->Synchronize();
  EXPECT_EQ(out, std::vector<std::uint8_t>(data.size(), 7));
  EXPECT_GE(end->ElapsedMs(*begin), 0.0);
  EXPECT_LT(end->ElapsedMs(*begin), 60000.0);
}

TEST_P(DeviceTest, SynchronizeHeedsTheAbortToken) {
  AbortToken abort;
  device_->stream().Synchronize({&abort, std::chrono::milliseconds(60000)});
  abort.Fail(std::make_exception_ptr(UsageError("the cause")));
  // An idle GPU stream has nothing to give up; a host stream is where a host device notices.
  if (GetParam() == DeviceKind::kHost) {
    EXPECT_THROW(device_->stream().Synchronize({&abort, {}}), AbortedError);
  } else {
    EXPECT_NO_THROW(device_->stream().Synchronize({&abort, {}}));
  }
}

TEST_P(DeviceTest, BuffersComeFromTheResourceAndGoBackToIt) {
  CountingMemory memory(device_->memory());
  device_->set_memory(&memory);
  {
    Buffer<std::uint64_t> empty(*device_, 0);
    EXPECT_TRUE(empty.empty());
    EXPECT_EQ(empty.data(), nullptr);
    EXPECT_EQ(memory.allocations(), 0u) << "nothing is asked for nothing";

    Buffer<std::uint64_t> first(*device_, 100);
    EXPECT_EQ(first.size(), 100u);
    EXPECT_EQ(first.bytes(), 800u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 256, 0u);
    EXPECT_EQ(memory.live(), 1);
    EXPECT_EQ(memory.live_bytes(), 800u);

    std::uint64_t* const data = first.data();
    Buffer<std::uint64_t> second(std::move(first));
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): moved-from buffers are empty
    EXPECT_EQ(memory.live(), 1);

    second = Buffer<std::uint64_t>(*device_, 3);
    EXPECT_EQ(second.size(), 3u);
    EXPECT_EQ(memory.live(), 1) << "assignment frees what was there";

    device_->set_memory(nullptr);
    Buffer<std::uint64_t> own(*device_, 5);
    EXPECT_EQ(memory.live(), 1) << "null restores the device's own";
  }
  EXPECT_EQ(memory.live(), 0) << "buffers go back to where they came from, whatever is set now";
  EXPECT_EQ(memory.live_bytes(), 0u);
}

TEST_P(DeviceTest, ExhaustionIsAnOutOfMemoryError) {
  CountingMemory memory(device_->memory());
  FailingMemory failing(memory);
  device_->set_memory(&failing);
  failing.FailAt(2);
  Buffer<int> fits(*device_, 10);
  EXPECT_THROW(Buffer<int>(*device_, 10), OutOfMemoryError);
  EXPECT_THROW(fits = Buffer<int>(*device_, 20), OutOfMemoryError);
  EXPECT_EQ(fits.size(), 10u) << "a failed assignment leaves the buffer as it was";
  EXPECT_EQ(memory.live(), 1);
  failing.FailAt(0);
  EXPECT_NO_THROW(fits = Buffer<int>(*device_, 20));
  fits = Buffer<int>();
  EXPECT_EQ(memory.live(), 0);
  device_->set_memory(nullptr);
}

TEST_P(DeviceTest, PinnedMemoryComesFromAResourceOfItsOwn) {
  CountingMemory memory(device_->memory()), pinned(device_->pinned_memory());
  FailingMemory failing(pinned);
  device_->set_memory(&memory);
  device_->set_pinned_memory(&failing);
  {
    Pinned<std::uint64_t> words(*device_, 100);
    words[99] = 7;
    EXPECT_EQ(words.size(), 100u);
    EXPECT_EQ(pinned.live(), 1);
    EXPECT_EQ(pinned.live_bytes(), 800u);
    EXPECT_EQ(memory.allocations(), 0u);
    std::uint64_t* const data = words.data();
    Pinned<std::uint64_t> moved(std::move(words));
    EXPECT_EQ(moved.data(), data);
    EXPECT_EQ(moved[99], 7u);
    failing.FailAt(1);
    EXPECT_THROW(Pinned<int>(*device_, 10), OutOfMemoryError);
    EXPECT_THROW(moved = Pinned<std::uint64_t>(*device_, 10), OutOfMemoryError);
    EXPECT_EQ(moved.size(), 100u) << "a failed assignment leaves the buffer as it was";
    failing.FailAt(0);
    moved = Pinned<std::uint64_t>(*device_, 3);
    EXPECT_EQ(pinned.live(), 1) << "assignment frees what was there";
    device_->set_pinned_memory(nullptr);
    const Pinned<std::uint64_t> own(*device_, 5);
    EXPECT_EQ(pinned.live(), 1) << "null restores the device's own";
  }
  EXPECT_EQ(pinned.live(), 0);
  EXPECT_EQ(pinned.live_bytes(), 0u);
  device_->set_memory(nullptr);
}

TEST_P(DeviceTest, SizesBeyondTheAddressSpaceNameTheDevice) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  for (const std::size_t size : {kAll, kAll / 8}) {
    if (size != kAll && GetParam() == DeviceKind::kCuda) continue;  // what a driver says of 2^64 - 8 bytes is its own affair
    try {
      Buffer<std::uint64_t> buffer(*device_, size);
      ADD_FAILURE() << size << " elements were granted";
    } catch (const OutOfMemoryError& error) {
      EXPECT_NE(std::string(error.what()).find(device_->label()), std::string::npos) << error.what();
    }
  }
}

TEST_P(DeviceTest, PinnedMemoryMoves) {
  Pinned<int> none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(Pinned<int>(*device_, 0).data(), nullptr);
  Pinned<int> a(*device_, 4);
  for (int i = 0; i < 4; ++i) a[i] = i * i;
  Pinned<int> b(std::move(a));
  EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  ASSERT_EQ(b.size(), 4u);
  EXPECT_EQ(b[3], 9);
  none = std::move(b);
  EXPECT_EQ(none[2], 4);
  Buffer<int> there(*device_, 4);
  int back[4] = {};
  device_->CopyIn(there.data(), none.data(), there.bytes(), device_->stream());
  device_->CopyOut(back, there.data(), there.bytes(), device_->stream());
  device_->stream().Synchronize();
  EXPECT_EQ(back[3], 9);
}

std::string KindName(const testing::TestParamInfo<DeviceKind>& info) {
  return info.param == DeviceKind::kHost ? "host" : "cuda";
}
INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::Values(DeviceKind::kHost, DeviceKind::kCuda), KindName);

}  // namespace
}  // namespace chatty
