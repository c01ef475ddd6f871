// Copies of pageable memory in page-locked pieces, on every kind of device.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "chatty/core/upload.h"

namespace chatty::test {

inline std::vector<std::uint32_t> Fetch(Device& device, const Buffer<std::uint32_t>& buffer) {
  std::vector<std::uint32_t> values(buffer.size());
  device.CopyOut(values.data(), buffer.data(), buffer.bytes(), device.stream());
  device.stream().Synchronize();
  return values;
}

/// Sizes from nothing to many pieces a thread, the last one short.
inline void ExpectUploads(Device& device) {
  for (const int threads : {1, 3}) {
    Uploader uploader(device, threads);
    for (const std::size_t size : {0u, 1u, 1000u, 1u << 19, (1u << 19) + 1, 5'000'000u}) {
      SCOPED_TRACE(testing::Message() << size << " elements, " << threads << " threads");
      std::vector<std::uint32_t> values(size);
      std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(size));
      const Buffer<std::uint32_t> buffer(device, size);
      uploader.Copy(buffer.data(), values.data(), size);
      EXPECT_EQ(Fetch(device, buffer), values);
      uploader.CopyFilled(buffer.data(), size, [&](std::uint32_t* piece, std::size_t begin, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) piece[i] = ~values[begin + i];
      });
      for (std::uint32_t& value : values) value = ~value;
      EXPECT_EQ(Fetch(device, buffer), values);
    }
  }
}

/// A fill that throws ends the copy, and the next one is whole again.
inline void ExpectAFailedUploadEnds(Device& device) {
  constexpr std::size_t kSize = 4'000'000;
  Uploader uploader(device, 2);
  const Buffer<std::uint32_t> buffer(device, kSize);
  EXPECT_THROW(uploader.CopyFilled(buffer.data(), kSize,
                                   [](std::uint32_t*, std::size_t begin, std::size_t) {
                                     if (begin > kSize / 2) throw InputError("half of it");
                                   }),
               InputError);
  const std::vector<std::uint32_t> values(kSize, 3);
  uploader.Copy(buffer.data(), values.data(), kSize);
  EXPECT_EQ(Fetch(device, buffer), values);
}

}  // namespace chatty::test
