#include "chatty/core/device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <system_error>
#include <thread>

#include "chatty/core/bytes.h"
#include "chatty/core/config.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/huge_pages.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

class HostMemory final : public MemoryResource {
 public:
  explicit HostMemory(std::string label) : label_(std::move(label)) {}
  void* Allocate(std::size_t bytes, Stream&) override {
    constexpr std::size_t kAlign = 256;
    void* pointer = bytes > static_cast<std::size_t>(-1) - kAlign ? nullptr : AllocateAligned(kAlign, bytes);
    if (pointer == nullptr) Throw<OutOfMemoryError>("{}: out of memory: an allocation needs {}", label_, ExactBytes(bytes));
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t, Stream&) noexcept override { std::free(pointer); }

 private:
  std::string label_;
};

class HostStream final : public Stream {
 public:
  void Synchronize(const WaitContext& context) override {
    if (context.abort != nullptr) context.abort->ThrowIfAborted("a host stream");
  }
  bool IsIdle() override { return true; }
  void* native() const override { return nullptr; }
};

class HostEvent final : public Event {
 public:
  void Record(Stream&) override { time_ = Clock::now(); }
  void MakeWait(Stream&) override {}
  double ElapsedMs(const Event& earlier) const override {
    return std::chrono::duration<double, std::milli>(time_ - static_cast<const HostEvent&>(earlier).time_).count();
  }

 private:
  Clock::time_point time_{};
};

class HostDevice final : public Device {
 public:
  HostDevice(int index, int threads) : index_(index), team_(threads), memory_(fmt::format("host:{}", index)) {
    info_.name = fmt::format("{} CPU thread{}", threads, threads == 1 ? "" : "s");
    info_.multiprocessors = threads;
    info_.memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  DeviceKind kind() const override { return DeviceKind::kHost; }
  int index() const override { return index_; }
  const DeviceInfo& info() const override { return info_; }
  std::uint64_t free_memory() override { return AvailableHostMemory(); }
  MemoryResource& memory() override { return resource_ != nullptr ? *resource_ : memory_; }
  void set_memory(MemoryResource* resource) override { resource_ = resource; }
  MemoryResource& pinned_memory() override { return pinned_resource_ != nullptr ? *pinned_resource_ : memory_; }
  void set_pinned_memory(MemoryResource* resource) override { pinned_resource_ = resource; }
  void MakeCurrent() override {}
  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<HostStream>(); }
  std::unique_ptr<Event> NewEvent() override { return std::make_unique<HostEvent>(); }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memset(device, byte, bytes);
  }
  WorkerTeam* team() override { return &team_; }

 private:
  int index_;
  WorkerTeam team_;
  HostMemory memory_;
  MemoryResource *resource_ = nullptr, *pinned_resource_ = nullptr;
  HostStream stream_;
  DeviceInfo info_;
};

std::string LabelOf(DeviceKind kind, int index, int share) {
  const std::string label = fmt::format("{}:{}", kind == DeviceKind::kHost ? "host" : "cuda", index);
  return share == Device::kAlone ? label : fmt::format("{}.{}", label, share);
}

/// For each device, its number among the devices on the same GPU; kAlone where no other device is there.
std::vector<int> SharesOf(const DeviceSelection& selection) {
  std::vector<int> shares(selection.indices.size(), Device::kAlone);
  if (selection.kind == DeviceKind::kHost) return shares;
  std::map<int, int> all, seen;
  for (const int index : selection.indices) ++all[index];
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const int index = selection.indices[i];
    if (all[index] > 1) shares[i] = seen[index]++;
  }
  return shares;
}

int ParseCount(std::string_view text, std::string_view whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    Throw<UsageError>("--devices {}: '{}' is not a number; write auto, 4, host:4, cuda:0,1 or cuda:2@0", whole, text);
  }
  return value;
}

/// Parses "4": the first four devices of the kind that `auto` takes.
DeviceSelection FirstDevices(std::string_view text) {
  const int count = ParseCount(text, text), present = CudaDeviceCount();
  if (count < 1 || count > kMaxDevices) Throw<UsageError>("--devices {}: a run takes 1 to {} devices", text, kMaxDevices);
  if (present > 0 && count > present) {
    Throw<CapabilityError>("--devices {}: this machine has {} GPU{}; write cuda:{}@0 for devices that share one, or host:{}",
                           text, present, present == 1 ? "" : "s", count, count);
  }
  DeviceSelection selection;
  selection.kind = present > 0 ? DeviceKind::kCuda : DeviceKind::kHost;
  for (int i = 0; i < count; ++i) selection.indices.push_back(i);
  return selection;
}

}  // namespace

std::string Device::label() const { return LabelOf(kind(), index(), share_); }

void Device::CopyToPeer(Device&, void* to, const void* from, std::size_t bytes, Stream& stream) {
  CopyWithin(to, from, bytes, stream);
}

bool Device::AllowAccessBy(Device& peer) { return kind() == DeviceKind::kHost && peer.kind() == DeviceKind::kHost; }

bool Device::HasNativeAtomics(Device& peer) { return kind() == DeviceKind::kHost && peer.kind() == DeviceKind::kHost; }

std::unique_ptr<Device> MakeHostDevice(int index, int threads) try {
  return std::make_unique<HostDevice>(index, threads);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("opening a host device");
}

#if !CHATTY_WITH_CUDA
int CudaDeviceCount() { return 0; }
std::unique_ptr<Device> MakeCudaDevice(int ordinal) {
  Throw<CapabilityError>("cuda:{}: this build has no CUDA support; configure with -DCHATTY_ENABLE_CUDA=ON and nvcc",
                         ordinal);
}
#endif

DeviceSelection SelectionOf(std::span<Device* const> devices) {
  DeviceSelection selection;
  if (!devices.empty()) selection.kind = devices[0]->kind();
  for (const Device* device : devices) selection.indices.push_back(device->index());
  return selection;
}

DeviceSelection DeviceSelection::First(std::size_t count) const {
  DeviceSelection first{kind, indices};
  first.indices.resize(std::min(count, indices.size()));
  return first;
}

std::optional<int> SharedGpu(const DeviceSelection& selection) {
  const std::vector<int> shares = SharesOf(selection);
  const auto found = std::find_if(shares.begin(), shares.end(), [](int share) { return share != Device::kAlone; });
  if (found == shares.end()) return std::nullopt;
  return selection.indices[static_cast<std::size_t>(found - shares.begin())];
}

std::vector<std::string> LabelsOf(const DeviceSelection& selection) {
  const std::vector<int> shares = SharesOf(selection);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    labels.push_back(LabelOf(selection.kind, selection.indices[i], shares[i]));
  }
  return labels;
}

DeviceSelection ParseDevices(std::string_view text) try {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) return FirstDevices(text);
  DeviceSelection selection;
  const std::string_view whole = text;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool listed = colon != std::string_view::npos;
  const std::string_view rest = listed ? text.substr(colon + 1) : std::string_view{};
  if (kind == "auto" && !listed) {
    selection.kind = CudaDeviceCount() > 0 ? DeviceKind::kCuda : DeviceKind::kHost;
  } else if (kind == "cuda") {
    selection.kind = DeviceKind::kCuda;
  } else if (kind != "host") {
    constexpr std::string_view kKinds[] = {"auto", "host", "cuda"};
    Throw<UsageError>("--devices {}: unknown kind '{}'{}; write auto, 4, host:4, cuda:0,1 or cuda:2@0", whole, kind,
                      DidYouMean(kind, kKinds));
  }
  if (selection.kind == DeviceKind::kHost) {
    const int count = listed ? ParseCount(rest, whole) : 1;
    if (count < 1 || count > kMaxDevices) {
      Throw<UsageError>("--devices {}: a run takes 1 to {} devices", whole, kMaxDevices);
    }
    for (int i = 0; i < count; ++i) selection.indices.push_back(i);
    return selection;
  }
  const int present = CudaDeviceCount();
  if (!listed) {
    for (int i = 0; i < std::min(present, kMaxDevices); ++i) selection.indices.push_back(i);
  } else {
    for (std::size_t begin = 0; begin <= rest.size();) {
      const std::size_t comma = std::min(rest.find(',', begin), rest.size());
      const std::string_view word = rest.substr(begin, comma - begin);
      const std::size_t at = word.find('@');
      const bool shared = at != std::string_view::npos;
      const int ordinal = ParseCount(shared ? word.substr(at + 1) : word, whole);
      const int count = shared ? ParseCount(word.substr(0, at), whole) : 1;
      if (std::find(selection.indices.begin(), selection.indices.end(), ordinal) != selection.indices.end()) {
        Throw<UsageError>("--devices {}: GPU {} is named twice; write N@{} once for N devices that share it", whole, ordinal,
                          ordinal);
      }
      if (count < 1 || count > kMaxDevices - static_cast<int>(selection.indices.size())) {
        Throw<UsageError>("--devices {}: a run takes 1 to {} devices", whole, kMaxDevices);
      }
      selection.indices.insert(selection.indices.end(), static_cast<std::size_t>(count), ordinal);
      begin = comma + 1;
    }
  }
  if (!CHATTY_WITH_CUDA) {
    Throw<CapabilityError>("--devices {}: this build has no CUDA support; use host:N, or build with nvcc", whole);
  }
  if (present == 0) Throw<CapabilityError>("--devices {}: no usable GPU on this machine; use host:N", whole);
  for (const int ordinal : selection.indices) {
    if (ordinal >= present) {
      Throw<CapabilityError>("--devices {}: there is no GPU {}; this machine has {} (0 to {})", whole, ordinal, present,
                             present - 1);
    }
  }
  return selection;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("opening devices");
}

int ThreadsOfHostDevice(int index, int count, int threads) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // The remainder goes to the first `threads % count` devices.
  return std::max(1, threads / count + (index < threads % count ? 1 : 0));
}

std::vector<std::unique_ptr<Device>> OpenDevices(const DeviceSelection& selection, int threads) try {
  std::vector<std::unique_ptr<Device>> devices;
  const int count = static_cast<int>(selection.indices.size());
  if (selection.kind == DeviceKind::kHost) {
    for (int i = 0; i < count; ++i) devices.push_back(MakeHostDevice(i, ThreadsOfHostDevice(i, count, threads)));
    return devices;
  }
  // Creating a GPU's context takes long, so all are created at once.
  std::vector<std::future<std::unique_ptr<Device>>> opening;
  for (const int index : selection.indices) {
    opening.push_back(std::async(count == 1 ? std::launch::deferred : std::launch::async, MakeCudaDevice, index));
  }
  const std::vector<int> shares = SharesOf(selection);
  for (int i = 0; i < count; ++i) {
    devices.push_back(opening[i].get());
    devices.back()->set_share(shares[i]);
  }
  return devices;
} catch (const std::system_error& error) {
  Throw<DeviceError>("no thread could be started to open a GPU: {}", error.what());
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("opening devices");
}

}  // namespace chatty
