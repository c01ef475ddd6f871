#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/framework/steps/cuda/steps.cuh"

namespace chatty {
namespace {

template <class T>
CHATTY_FN Slot<T> DevicePayload(std::size_t i) {
  Slot<T> slot{};
  const std::uint64_t key = i * 0x9e3779b97f4a7c15ull + 1;
  if constexpr (!std::is_empty_v<T>) memcpy(&slot.message, &key, sizeof(T) < sizeof(key) ? sizeof(T) : sizeof(key));
  return slot;
}

template <class T>
__global__ void PackBox(BoxForm form, std::size_t size, const std::uint32_t* set, std::byte* box, Control* control) {
  using namespace steps::cuda;
  const auto bit = [&](std::size_t i) { return bits::Test(set, static_cast<LocalId>(i)); };
  const auto value = [](std::size_t i) { return DevicePayload<T>(i); };
  std::uint32_t* const count = &control->box_count[1];
  if (form == BoxForm::kBitmap) return steps::cuda::detail::PackBitmap<Slot<T>>(Grid{}, box, count, size, bit, value);
  if (form == BoxForm::kWhole) return steps::cuda::detail::PackWhole<Slot<T>>(Grid{}, box, count, size, value);
  for (std::size_t base = blockIdx.x * kBlock; base < size; base += gridDim.x * kBlock) {
    const std::size_t i = base + threadIdx.x;
    const bool keep = i < size && bit(i);
    steps::cuda::detail::PackRecord(control, box, 1, static_cast<std::uint32_t>(i), DevicePayload<T>(i), keep);
  }
}

template <class T>
__global__ void UnpackBox(InboxRef inbox, std::uint32_t* seen, Slot<T>* values) {
  steps::cuda::detail::ForEachEntry<Slot<T>>(steps::cuda::Grid{}, inbox,
                                             [&](bool present, std::uint32_t index, const Slot<T>& payload) {
                                               if (!present) return;
                                               atomicAdd(&seen[index], 1u);
                                               values[index] = payload;
                                             });
}

template <class T>
Slot<T> PayloadOf(std::size_t i);

/// A grid of three blocks on the first GPU.
struct Backend {
  static bool Available() { return CudaDeviceCount() > 0; }
  static Device& device() {
    static const std::unique_ptr<Device> one = MakeCudaDevice(0);
    return *one;
  }
  static cudaStream_t stream() { return static_cast<cudaStream_t>(device().stream().native()); }

  template <class T>
  static std::pair<std::uint32_t, std::vector<std::byte>> Pack(BoxForm form, std::size_t size,
                                                               const std::vector<std::uint32_t>& set, std::size_t,
                                                               std::size_t room) {
    Device& gpu = device();
    gpu.MakeCurrent();
    Buffer<std::byte> box(gpu, room);
    Buffer<std::uint32_t> words(gpu, set.size());
    Buffer<Control> control(gpu, 1);
    gpu.Fill(box.data(), 0xa5, room, gpu.stream());
    gpu.Fill(control.data(), 0, sizeof(Control), gpu.stream());
    gpu.CopyIn(words.data(), set.data(), words.bytes(), gpu.stream());
    PackBox<T><<<3, steps::cuda::kBlock, 0, stream()>>>(form, size, words.data(), box.data(), control.data());
    CHATTY_CUDA(cudaGetLastError());
    std::vector<std::byte> out(room);
    Control counters;
    gpu.CopyOut(out.data(), box.data(), room, gpu.stream());
    gpu.CopyOut(&counters, control.data(), sizeof(counters), gpu.stream());
    gpu.stream().Synchronize();
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
