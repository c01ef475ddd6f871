#include "chatty/core/gpu_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/error.h"

namespace chatty {
namespace {

TEST(GpuMemory, HostMemoryIsOnNoGpu) {
  const std::vector<int> values(10);
  EXPECT_EQ(GpuOf(values.data()), std::nullopt);
  EXPECT_EQ(GpuOf(nullptr), std::nullopt);
  EXPECT_EQ(GpuOf(reinterpret_cast<const void*>(std::uintptr_t{4096})), std::nullopt);
}

TEST(GpuMemory, ErrorsWithoutAGpuNameIt) {
  if (CudaDeviceCount() > 0) GTEST_SKIP() << "there is a GPU";
  const KeepCurrentGpu none;
  std::uint32_t value = 0;
  try {
    static_cast<void>(AllocateGpuMemory(3, 100));
    FAIL() << "memory of no GPU";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos) << error.what();
  }
  EXPECT_THROW(CopyFromGpu(&value, 0, &value, 1, sizeof(value), sizeof(value), nullptr), Error);
  EXPECT_NO_THROW(CopyFromGpu(&value, 0, nullptr, 0, sizeof(value), sizeof(value), nullptr)) << "nothing to copy";
}

TEST(GpuMemory, CopiesComeInOrder) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU";
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  constexpr std::size_t kCount = 1000;
  std::vector<std::uint32_t> values(2 * kCount), all(2 * kCount), column(kCount);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i);
  const std::shared_ptr<std::byte> memory = AllocateGpuMemory(0, values.size() * sizeof(values[0]));
  EXPECT_EQ(GpuOf(memory.get()), 0);
  const HostCopies before = device->host_copies();
  device->CopyIn(memory.get(), values.data(), values.size() * sizeof(values[0]), device->stream());
  device->stream().Synchronize();
  EXPECT_EQ((device->host_copies() - before).in, values.size() * sizeof(values[0]));
  EXPECT_EQ((device->host_copies() - before).out, 0U);
  CopyFromGpu(all.data(), 0, memory.get(), all.size(), sizeof(all[0]), sizeof(all[0]), nullptr);
  EXPECT_EQ(all, values);
  CopyFromGpu(column.data(), 0, memory.get() + sizeof(column[0]), kCount, sizeof(column[0]), 2 * sizeof(column[0]), nullptr);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(column[i], 2 * i + 1);
}

TEST(GpuMemory, WhatAPoolKeepsIsGivenBack) {
  const std::unique_ptr<Device> host = MakeHostDevice(0, 1);
  host->ReleaseKeptMemory();
  EXPECT_EQ(host->kept_memory(), 0U);
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU";
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  device->MakeCurrent();
  { const Buffer<std::byte> freed(*device, kBytes); }
  device->stream().Synchronize();
  EXPECT_GE(device->kept_memory(), kBytes);
  device->ReleaseKeptMemory();
  EXPECT_LT(device->kept_memory(), kBytes);
}

}  // namespace
}  // namespace chatty
