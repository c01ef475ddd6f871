#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/framework/steps/cuda/steps.cuh"

namespace chatty {
namespace {

namespace packing = steps::cuda::detail;

template <class T>
CHATTY_FN Slot<T> DevicePayload(std::size_t i) {
  Slot<T> slot{};
  const std::uint64_t key = i * 0x9e3779b97f4a7c15ull + 1;
  if constexpr (!std::is_empty_v<T>) memcpy(&slot.message, &key, sizeof(T) < sizeof(key) ? sizeof(T) : sizeof(key));
  return slot;
}

/// Ways to pack pairs: of queued places, a record at a time, and of set bits, by segments.
enum class Pairs { kQueued, kSegments };

/// `left`: bits that packing by segments has not told of.
template <class T>
__global__ void PackBox(BoxForm form, Pairs pairs, std::size_t size, const std::uint32_t* set, std::byte* box,
                        Control* control, std::uint32_t* left) {
  __shared__ packing::PackShelf<Slot<T>> shelf;
  const auto bit = [&](std::size_t i) { return bits::Test(set, static_cast<LocalId>(i)); };
  const auto value = [](std::size_t i) { return DevicePayload<T>(i); };
  const auto taken = [&](std::size_t i, std::uint32_t word) { atomicAnd(&left[i / 32], ~word); };
  std::uint32_t* const count = &control->box_count[1];
  if (form == BoxForm::kBitmap)
    return packing::PackBitmap<Slot<T>>(steps::cuda::Grid{}, shelf, box, count, size, bit, value, taken);
  if (form == BoxForm::kWhole) return packing::PackWhole<Slot<T>>(steps::cuda::Grid{}, box, count, size, value);
  if (pairs == Pairs::kSegments) {
    return packing::PackBitmap<Slot<T>, /*kPairs=*/true>(steps::cuda::Grid{}, shelf, box, count, size, bit, value, taken);
  }
  for (std::size_t base = blockIdx.x * steps::cuda::kBlock; base < size; base += gridDim.x * steps::cuda::kBlock) {
    const std::size_t i = base + threadIdx.x;
    const bool keep = i < size && bit(i);
    packing::PackRecord(control, box, 1, static_cast<std::uint32_t>(i), DevicePayload<T>(i), keep);
  }
}

template <class T>
__global__ void UnpackBox(InboxRef inbox, std::uint32_t* seen, Slot<T>* values) {
  packing::ForEachEntry<Slot<T>>(steps::cuda::Grid{}, inbox, [&](const auto& batch) {
    for (unsigned k = 0; k < std::decay_t<decltype(batch)>::kCount; ++k) {
      if (!batch.present[k]) continue;
      atomicAdd(&seen[batch.index[k]], 1u);
      values[batch.index[k]] = batch.payload[k];
    }
  });
}

template <class T>
Slot<T> PayloadOf(std::size_t i);

/// A grid of three blocks on the first GPU.
struct Backend {
  static constexpr Pairs kPairs[] = {Pairs::kQueued, Pairs::kSegments};

  static bool Available() { return CudaDeviceCount() > 0; }
  static Device& device() {
    static const std::unique_ptr<Device> one = MakeCudaDevice(0);
    return *one;
  }
  static cudaStream_t stream() { return static_cast<cudaStream_t>(device().stream().native()); }

  template <class T>
  static std::pair<std::uint32_t, std::vector<std::byte>> Pack(BoxForm form, Pairs pairs, std::size_t size,
                                                               const std::vector<std::uint32_t>& set, std::size_t room) {
    Device& gpu = device();
    gpu.MakeCurrent();
    Buffer<std::byte> box(gpu, room);
    Buffer<std::uint32_t> words(gpu, set.size());
    Buffer<std::uint32_t> left(gpu, set.size());
    Buffer<Control> control(gpu, 1);
    gpu.Fill(box.data(), 0xa5, room, gpu.stream());
    gpu.Fill(control.data(), 0, sizeof(Control), gpu.stream());
    gpu.CopyIn(words.data(), set.data(), words.bytes(), gpu.stream());
    gpu.CopyIn(left.data(), set.data(), left.bytes(), gpu.stream());
    PackBox<T>
        <<<3, steps::cuda::kBlock, 0, stream()>>>(form, pairs, size, words.data(), box.data(), control.data(), left.data());
    CHATTY_CUDA(cudaGetLastError());
    std::vector<std::byte> out(room);
    Control counters;
    gpu.CopyOut(out.data(), box.data(), room, gpu.stream());
    std::vector<std::uint32_t> untold(set.size());
    gpu.CopyOut(&counters, control.data(), sizeof(counters), gpu.stream());
    gpu.CopyOut(untold.data(), left.data(), left.bytes(), gpu.stream());
    gpu.stream().Synchronize();
    if (form == BoxForm::kBitmap || (form == BoxForm::kPairs && pairs == Pairs::kSegments)) {
      EXPECT_EQ(untold, std::vector<std::uint32_t>(set.size(), 0)) << "whoever packs was not told what was taken";
    } else {
      EXPECT_EQ(untold, set);
    }
    return {counters.box_count[1], std::move(out)};
  }

  template <class T>
  static std::pair<std::vector<std::uint32_t>, std::vector<Slot<T>>> Unpack(InboxRef inbox,
                                                                            const std::vector<std::byte>& from) {
    Device& gpu = device();
    gpu.MakeCurrent();
    Buffer<std::byte> box(gpu, from.size());
    Buffer<std::uint32_t> seen(gpu, inbox.size + 1);
    Buffer<Slot<T>> values(gpu, inbox.size + 1);
    gpu.CopyIn(box.data(), from.data(), from.size(), gpu.stream());
    gpu.Fill(seen.data(), 0, seen.bytes(), gpu.stream());
    gpu.Fill(values.data(), 0, values.bytes(), gpu.stream());
    inbox.box = box.data();
    UnpackBox<T><<<3, steps::cuda::kBlock, 0, stream()>>>(inbox, seen.data(), values.data());
    CHATTY_CUDA(cudaGetLastError());
    std::pair<std::vector<std::uint32_t>, std::vector<Slot<T>>> out(inbox.size + 1, inbox.size + 1);
    gpu.CopyOut(out.first.data(), seen.data(), seen.bytes(), gpu.stream());
    gpu.CopyOut(out.second.data(), values.data(), values.bytes(), gpu.stream());
    gpu.stream().Synchronize();
    return out;
  }
};

}  // namespace
}  // namespace chatty

#include "boxes_test_body.h"
