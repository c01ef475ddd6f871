#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/framework/steps/cuda/pack.cuh"
#include "chatty/framework/steps/cuda/unpack.cuh"

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

/// Whose places are packed: of a queue, a record at a time; halo vertices with messages; border vertices that are active.
enum class Way { kQueue, kHalo, kBorder };
/// @{
/// Where they are: other bits are before and between them.
constexpr LocalId kFirstOfHalo = 45;
/// In every other stretch of the border they follow each other for long.
LocalId BorderVertex(std::size_t i) {
  const std::size_t gaps = i / 300 % 2 == 0 ? i / 300 : i / 300 + i % 300 / 3;
  return static_cast<LocalId>(i + 100 * (i / 600) + gaps + 5);
}
/// @}

template <class T>
__global__ void PackBuffer(Encoding encoding, Way way, std::size_t size, std::uint32_t* halo, const std::uint32_t* active,
                           const LocalId* border, bool all, std::byte* buffer, Control* control) {
  using Payload = Slot<T>;
  __shared__ packing::PackTempStorage temp_storage;
  const steps::cuda::Grid grid;
  const auto value = [](std::size_t i) { return DevicePayload<T>(i); };
  std::uint32_t* const count = &control->buffer_count[1];
  const auto done = [&](std::uint32_t i) { atomicAdd(&control->buffer_count[2], i + 1); };
  const auto pack = [&](const auto& places) {
    if (encoding == Encoding::kSparse)
      return packing::PackBitmap<Payload, /*kSparse=*/true>(grid, temp_storage, buffer, count, places, value, done);
    if constexpr (kWireBytes < Payload >> 0)
      return packing::PackBitmap<Payload>(grid, temp_storage, buffer, count, places, value, done);
    packing::PackBits(grid, buffer, count, places);
  };
  if (encoding == Encoding::kDense) return packing::PackDense<Payload>(grid, buffer, count, size, value, done);
  if (way == Way::kHalo) return pack(packing::TouchedHalo{halo, kFirstOfHalo, static_cast<LocalId>(size)});
  if (way == Way::kBorder) return pack(packing::ActiveBorder{active, border, static_cast<LocalId>(size), all});
  const auto bit = [&](std::size_t i) { return bits::Test(active, border[i]); };
  for (std::size_t base = blockIdx.x * steps::cuda::kBlock; base < size; base += gridDim.x * steps::cuda::kBlock) {
    const std::size_t i = base + threadIdx.x;
    const bool keep = i < size && bit(i);
    packing::PackRecord(control, buffer, 1, static_cast<std::uint32_t>(i), DevicePayload<T>(i), keep);
  }
}

/// `in_order`: a lane for each index, in order, rather than a lane for each entry.
template <class T>
__global__ void UnpackBuffer(InboxRef inbox, bool in_order, std::uint32_t* seen, Slot<T>* values) {
  __shared__ std::uint16_t lists[steps::cuda::kWarps][kBufferSegment];
  const steps::cuda::Grid grid;
  const auto take_in = [&](const auto& batch) {
    for (unsigned k = 0; k < std::decay_t<decltype(batch)>::kCount; ++k) {
      const std::uint32_t of_first = __shfl_sync(steps::cuda::kFull, batch.index[k], 0);
      if (in_order && inbox.encoding != Encoding::kSparse && batch.index[k] - of_first != steps::cuda::Lane()) {
        atomicAdd(&seen[inbox.size], 1u);
      }
      if (!batch.present[k]) continue;
      atomicAdd(&seen[batch.index[k]], 1u);
      values[batch.index[k]] = batch.payload[k];
    }
  };
  if (inbox.encoding == Encoding::kSparse) return packing::ForEachPair<Slot<T>>(grid, inbox, take_in);
  if (in_order) return packing::ForEachIndex<Slot<T>>(grid, inbox, take_in);
  packing::ForEachSet<Slot<T>>(grid, inbox, lists, take_in);
}

template <class T>
Slot<T> PayloadOf(std::size_t i);

/// A grid of three blocks on the first GPU.
struct Backend {
  static constexpr std::pair<Encoding, Way> kWays[] = {{Encoding::kBitmap, Way::kHalo},   {Encoding::kBitmap, Way::kBorder},
                                                       {Encoding::kSparse, Way::kQueue},  {Encoding::kSparse, Way::kHalo},
                                                       {Encoding::kSparse, Way::kBorder}, {Encoding::kDense, Way::kHalo}};

  static bool Available() { return CudaDeviceCount() > 0; }
  static Device& device() {
    static const std::unique_ptr<Device> one = MakeCudaDevice(0);
    return *one;
  }
  static cudaStream_t stream() { return static_cast<cudaStream_t>(device().stream().native()); }

  template <class T>
  static std::pair<std::uint32_t, std::vector<std::byte>> Pack(Encoding encoding, Way way, std::size_t size,
                                                               const std::vector<std::uint32_t>& set, std::size_t room) {
    const auto is_set = [&](std::size_t i) { return (set[i / 32] >> (i & 31) & 1) != 0; };
    std::vector<LocalId> vertices(size);
    for (std::size_t i = 0; i < size; ++i) vertices[i] = BorderVertex(i);
    // Others' bits, all set, and among them those of the halo and of the border.
    std::vector<std::uint32_t> touched(bits::Words(kFirstOfHalo + size) + 1, ~0u), others = touched;
    std::vector<std::uint32_t> active(vertices.back() / 32 + 1, ~0u);
    // Then who packs all of the border need not look, and here would find nothing.
    const bool all = encoding == Encoding::kSparse && way == Way::kBorder && [&] {
      for (std::size_t i = 0; i < size; ++i) {
        if (!is_set(i)) return false;
      }
      return true;
    }();
    const auto clear = [](std::vector<std::uint32_t>& words, std::size_t i) { words[i / 32] &= ~(1u << (i & 31)); };
    for (std::size_t i = 0; i < size; ++i) {
      clear(others, kFirstOfHalo + i);
      if (!is_set(i)) clear(touched, kFirstOfHalo + i);
      if (all || !is_set(i)) clear(active, vertices[i]);
    }
    Device& gpu = device();
    gpu.MakeCurrent();
    Buffer<std::byte> buffer(gpu, room);
    Buffer<std::uint32_t> of_halo(gpu, touched.size()), of_border(gpu, active.size());
    Buffer<LocalId> border(gpu, size);
    Buffer<Control> control(gpu, 1);
    gpu.Fill(buffer.data(), 0xa5, room, gpu.stream());
    gpu.Fill(control.data(), 0, sizeof(Control), gpu.stream());
    gpu.CopyIn(of_halo.data(), touched.data(), of_halo.bytes(), gpu.stream());
    gpu.CopyIn(of_border.data(), active.data(), of_border.bytes(), gpu.stream());
    gpu.CopyIn(border.data(), vertices.data(), border.bytes(), gpu.stream());
    PackBuffer<T><<<3, steps::cuda::kBlock, 0, stream()>>>(encoding, way, size, of_halo.data(), of_border.data(),
                                                           border.data(), all, buffer.data(), control.data());
    CHATTY_CUDA(cudaGetLastError());
    std::vector<std::byte> out(room);
    Control counters;
    std::vector<std::uint32_t> left(touched.size());
    gpu.CopyOut(out.data(), buffer.data(), room, gpu.stream());
    gpu.CopyOut(&counters, control.data(), sizeof(counters), gpu.stream());
    gpu.CopyOut(left.data(), of_halo.data(), of_halo.bytes(), gpu.stream());
    gpu.stream().Synchronize();
    EXPECT_EQ(left, way == Way::kHalo && encoding != Encoding::kDense ? others : touched)
        << "bits that have been taken, and no others";
    std::uint32_t taken = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (is_set(i) || encoding == Encoding::kDense) taken += static_cast<std::uint32_t>(i + 1);
    }
    const bool tells = way != Way::kQueue && (encoding != Encoding::kBitmap || kWireBytes<Slot<T>> > 0);
    EXPECT_EQ(counters.buffer_count[2], tells ? taken : 0) << "each is said to have been read, once";
    return {counters.buffer_count[1], std::move(out)};
  }

  template <class T>
  static std::pair<std::vector<std::uint32_t>, std::vector<Slot<T>>> Unpack(InboxRef inbox,
                                                                            const std::vector<std::byte>& from) {
    Device& gpu = device();
    gpu.MakeCurrent();
    Buffer<std::byte> buffer(gpu, from.size());
    gpu.CopyIn(buffer.data(), from.data(), from.size(), gpu.stream());
    inbox.buffer = buffer.data();
    Buffer<std::uint32_t> seen(gpu, inbox.size + 1);
    Buffer<Slot<T>> values(gpu, inbox.size + 1);
    std::pair<std::vector<std::uint32_t>, std::vector<Slot<T>>> outs[2];
    for (const bool places : {false, true}) {
      auto& out = outs[places ? 1 : 0] = {std::vector<std::uint32_t>(inbox.size + 1), std::vector<Slot<T>>(inbox.size + 1)};
      gpu.Fill(seen.data(), 0, seen.bytes(), gpu.stream());
      gpu.Fill(values.data(), 0, values.bytes(), gpu.stream());
      UnpackBuffer<T><<<3, steps::cuda::kBlock, 0, stream()>>>(inbox, places, seen.data(), values.data());
      CHATTY_CUDA(cudaGetLastError());
      gpu.CopyOut(out.first.data(), seen.data(), seen.bytes(), gpu.stream());
      gpu.CopyOut(out.second.data(), values.data(), values.bytes(), gpu.stream());
      gpu.stream().Synchronize();
    }
    EXPECT_EQ(outs[0].first, outs[1].first) << "a lane an entry, and a lane a place";
    EXPECT_EQ(std::memcmp(outs[0].second.data(), outs[1].second.data(), outs[0].second.size() * sizeof(Slot<T>)), 0);
    return std::move(outs[0]);
  }
};

__global__ void CountAndLabel(Control* control, std::byte* buffer, std::size_t size, std::size_t payload) {
  if (threadIdx.x % 3 == blockIdx.x % 3) atomicAdd(&control->buffer_count[2], 1u);
  if (blockIdx.x == 0 && threadIdx.x == 0) control->buffer_encoding[2] = static_cast<std::uint32_t>(Encoding::kBitmap);
  packing::WriteHeaders(steps::cuda::Grid{}, control, payload, [&](auto&& label) { label(2, buffer, size); });
}
__global__ void OpenWithHeader(InboxRef inbox, std::size_t payload, InboxRef* opened) {
  const InboxRef open = packing::OpenBuffer(inbox, payload);
  if (threadIdx.x == 37) *opened = open;
}

/// Whatever the number of blocks, the last one has seen what all have counted, and the next kernel counts anew.
TEST(BufferHeaders, SayWhatAllBlocksHavePacked) {
  if (!Backend::Available()) GTEST_SKIP() << "no GPU on this machine";
  Device& gpu = Backend::device();
  gpu.MakeCurrent();
  Buffer<Control> control(gpu, 1);
  Buffer<InboxRef> opened(gpu, 1);
  constexpr std::size_t kSize = 1000;
  for (const std::size_t payload : {0, 4, 8, 16}) {
    Buffer<std::byte> buffer(gpu, BufferCapacity(kSize, payload));
    for (const unsigned blocks : {1u, 2u, 30u, 31u, 32u, 33u, 61u, 62u, 63u, 100u, 1056u}) {
      gpu.Fill(control.data(), 0, control.bytes(), gpu.stream());
      std::uint32_t expected = 0;
      for (int again = 0; again < 20; ++again) {
        for (unsigned b = 0; b < blocks; ++b) expected += (steps::cuda::kBlock + 2 - b % 3) / 3;
        gpu.Fill(buffer.data(), 0xa5, buffer.bytes(), gpu.stream());
        CountAndLabel<<<blocks, steps::cuda::kBlock, 0, Backend::stream()>>>(control.data(), buffer.data(), kSize, payload);
        InboxRef inbox;
        inbox.buffer = buffer.data();
        inbox.size = kSize;
        inbox.last = kSize;
        inbox.has_header = true;
        OpenWithHeader<<<2, steps::cuda::kBlock, 0, Backend::stream()>>>(inbox, payload, opened.data());
        CHATTY_CUDA(cudaGetLastError());
        InboxRef open;
        Control counters;
        gpu.CopyOut(&open, opened.data(), sizeof(open), gpu.stream());
        gpu.CopyOut(&counters, control.data(), sizeof(counters), gpu.stream());
        gpu.stream().Synchronize();
        ASSERT_EQ(open.count, expected) << blocks << " blocks, payload " << payload;
        ASSERT_EQ(open.encoding, Encoding::kBitmap);
        ASSERT_EQ(open.buffer, buffer.data());
        for (const std::uint32_t taken : counters.packed.blocks) ASSERT_EQ(taken, 0u);
        ASSERT_EQ(counters.packed.groups, 0u);
      }
    }
  }
}

__global__ void ScatterBuffer(InboxRef inbox, const LocalId* vertices, std::uint32_t* to) {
  packing::ScatterBits(steps::cuda::Grid{}, inbox, vertices, to);
}
__global__ void JoinBuffer(InboxRef inbox, std::uint32_t* to, LocalId first) {
  packing::JoinBits(steps::cuda::Grid{}, inbox, to, first);
}

/// Bitmaps without payloads, straight into bitmaps of vertices.
TEST(BitBuffers, BitsComeToTheirVertices) {
  if (!Backend::Available()) GTEST_SKIP() << "no GPU on this machine";
  Device& gpu = Backend::device();
  gpu.MakeCurrent();
  for (const std::size_t size : {1, 31, 32, 33, 255, 256, 257, 1000, 70001}) {
    for (const std::size_t run : {1, 3, 40, 5000}) {  // one in so many, or so many at a time
      const auto is_set = [&](std::size_t i) { return run < 5 ? i % run == 0 : i / run % 2 == 0; };
      std::vector<std::uint32_t> words(bits::Words(size));
      for (std::size_t i = 0; i < size; ++i) words[i / 32] |= std::uint32_t{is_set(i)} << (i & 31);
      std::vector<LocalId> vertices(size);
      for (std::size_t i = 0; i < size; ++i) vertices[i] = BorderVertex(i);
      const std::size_t local = vertices.back() + 100;
      Buffer<std::uint32_t> buffer(gpu, words.size()), to(gpu, bits::Words(local));
      Buffer<LocalId> list(gpu, size);
      gpu.CopyIn(buffer.data(), words.data(), buffer.bytes(), gpu.stream());
      gpu.CopyIn(list.data(), vertices.data(), list.bytes(), gpu.stream());
      InboxRef inbox;
      inbox.buffer = reinterpret_cast<const std::byte*>(buffer.data());
      inbox.encoding = Encoding::kBitmap;
      inbox.size = static_cast<std::uint32_t>(size);
      const auto expect = [&](const std::vector<std::uint32_t>& expected, const char* what) {
        std::vector<std::uint32_t> got(expected.size());
        gpu.CopyOut(got.data(), to.data(), to.bytes(), gpu.stream());
        gpu.stream().Synchronize();
        ASSERT_EQ(got, expected) << what << ", " << size << " places, " << run;
      };
      for (const auto& [first, last] :
           {std::pair{std::size_t{0}, size}, {size / 3, size - size / 3}, {size / 2, size / 2}}) {
        inbox.first = static_cast<std::uint32_t>(first);
        inbox.last = static_cast<std::uint32_t>(last);
        std::vector<std::uint32_t> expected(bits::Words(local), 0x80000001u);
        for (std::size_t i = first; i < last; ++i) {
          const LocalId v = vertices[i - first];
          expected[v / 32] |= std::uint32_t{is_set(i)} << (v & 31);
        }
        std::vector<std::uint32_t> before(bits::Words(local), 0x80000001u);
        gpu.CopyIn(to.data(), before.data(), to.bytes(), gpu.stream());
        ScatterBuffer<<<3, steps::cuda::kBlock, 0, Backend::stream()>>>(inbox, list.data(), to.data());
        expect(expected, "scattered");
      }
      inbox.first = 0;
      inbox.last = inbox.size;
      for (const LocalId first : {0, 1, 31, 32, 45, 64}) {
        std::vector<std::uint32_t> before(bits::Words(local), ~0u);  // set around the stretch, and clear in it
        for (std::size_t i = 0; i < size; ++i) before[(first + i) / 32] &= ~(1u << ((first + i) & 31));
        std::vector<std::uint32_t> expected = before;
        for (std::size_t i = 0; i < size; ++i) expected[(first + i) / 32] |= std::uint32_t{is_set(i)} << ((first + i) & 31);
        gpu.CopyIn(to.data(), before.data(), to.bytes(), gpu.stream());
        JoinBuffer<<<3, steps::cuda::kBlock, 0, Backend::stream()>>>(inbox, to.data(), first);
        expect(expected, "joined");
      }
    }
  }
}

}  // namespace
}  // namespace chatty

#include "buffers_test_body.h"
