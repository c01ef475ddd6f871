#include "chatty/comm/symmetric/heap.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/lsa.h"
#include "chatty/comm/symmetric/proxy_server.h"
#include "chatty/core/bytes.h"

namespace chatty {
namespace {

constexpr std::size_t kAlign = 256;  // what MemoryResource gives

constexpr std::size_t RoundUp(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Where arrays begin in a block: behind the words of barriers.
constexpr std::size_t kArrays = RoundUp(sizeof(symmetric::Control), kAlign);

/// Whether two devices allocate from one memory.
bool ShareMemory(const Device& a, const Device& b) { return a.kind() == DeviceKind::kHost || a.index() == b.index(); }

void CheckDevices(std::span<Device* const> devices) {
  if (devices.empty() || devices.size() > kMaxDevices) {
    Throw<UsageError>("a symmetric heap takes 1 to {} devices, not {}", kMaxDevices, devices.size());
  }
  for (Device* const a : devices) {
    if (a->kind() != devices[0]->kind()) {
      Throw<UsageError>("a symmetric heap takes devices of one kind, not {} and {}", devices[0]->label(), a->label());
    }
  }
}

DeviceKind KindOf(std::span<Device* const> devices) {
  CheckDevices(devices);
  return devices[0]->kind();
}

/// Throws CapabilityError where the backend cannot join these devices.
void CheckReach(std::span<Device* const> devices, const SymmetricBackend& backend) {
  for (Device* const owner : devices) {
    for (Device* const peer : devices) {
      if (owner == peer) continue;
      if (backend.distinct && ShareMemory(*owner, *peer)) {
        Throw<CapabilityError>(
            "backend '{}' of symmetric heaps joins each GPU once, and {} and {} share one; name every GPU once, or choose "
            "p2p or proxy",
            backend.name, owner->label(), peer->label());
      }
      if (backend.addressable && !owner->AllowAccessBy(*peer)) {
        Throw<CapabilityError>(
            "a symmetric heap needs devices that address each other's memory, and {} cannot address that of {}; take "
            "devices with a link between each two (`chatty topology`), exchange through a transport, or choose backend "
            "proxy",
            peer->label(), owner->label());
      }
    }
  }
}

void CheckMemory(std::span<Device* const> devices, std::size_t block) {
  for (Device* const device : devices) {
    const auto sharing = static_cast<std::uint64_t>(
        std::count_if(devices.begin(), devices.end(), [&](Device* other) { return ShareMemory(*device, *other); }));
    const std::uint64_t free = device->free_memory();
    if (free != 0 && block > free / sharing) {
      Throw<OutOfMemoryError>("{}: the symmetric heap needs {}{}, but only {} are free", device->label(), ExactBytes(block),
                              sharing > 1 ? fmt::format(" for each of {} devices", sharing) : "", ExactBytes(free));
    }
  }
}

std::string_view TextOf(symmetric::Compare compare) {
  constexpr std::string_view kTexts[] = {"==", "!=", ">", ">=", "<", "<="};
  return kTexts[static_cast<std::size_t>(compare)];
}

std::string NumberText(std::uint64_t value, bool is_signed) {
  return is_signed ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value);
}

}  // namespace

SymmetricHeap::SymmetricHeap(std::span<Device* const> devices, std::size_t bytes, SymmetricOptions options) try
    : devices_(devices.begin(), devices.end()),
      options_(std::move(options)),
      backend_(FindSymmetricBackend(options_.backend, KindOf(devices))),
      bytes_(bytes) {
  CheckReach(devices, backend_);
  if (options_.timeout.count() < 1) {
    Throw<UsageError>("a symmetric heap's waits have a bound of at least 1 ms, not {} ms", options_.timeout.count());
  }
  if (options_.delays != nullptr && backend_.name != "host") {
    Throw<UsageError>("stores are delayed with backend host only, not with {}", backend_.name);
  }
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    Throw<OutOfMemoryError>("a symmetric heap of {} bytes is larger than the address space", bytes);
  }
  bytes_ = RoundUp(bytes, kAlign);
  const bool by_proxy = backend_.name == "proxy";
  CheckMemory(devices, kArrays + bytes_ + (by_proxy ? detail::SymmetricProxy::PortBytes() : 0));
  if (backend_.name == "lsa") {
    lsa_ = detail::MakeLsaMemory(devices, kArrays + bytes_);
    for (std::size_t i = 0; i < devices_.size(); ++i) bases_.push_back(lsa_->base(i, i));
  } else {
    for (Device* const device : devices_) {
      device->MakeCurrent();
      bases_.push_back(blocks_.emplace_back(*device, kArrays + bytes_).data());
    }
  }
  for (Device* const device : devices_) {
    device->MakeCurrent();
    reports_.emplace_back(*device, 1);
  }
  abort_ = Pinned<std::uint32_t>(*devices_[0], 1);
  if (by_proxy) proxy_ = std::make_unique<detail::SymmetricProxy>(devices_, bases_, abort_.data());
  FreeAll();
  BeginRun();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("making a symmetric heap");
}

SymmetricHeap::~SymmetricHeap() = default;

std::size_t SymmetricHeap::BlockBytes(std::size_t bytes) { return kArrays + RoundUp(bytes, kAlign); }

std::uint64_t SymmetricHeap::Take(std::size_t count, std::size_t object, std::size_t alignment) {
  CHATTY_CHECK(std::has_single_bit(alignment) && alignment <= kAlign, "an alignment of {} bytes", alignment);
  const std::size_t begin = std::min(RoundUp(used_, alignment), bytes_);
  if (count > (bytes_ - begin) / object) {
    Throw<OutOfMemoryError>("the symmetric heap needs {} for {} objects, but only {} of its {} are free; make it larger",
                            count > std::numeric_limits<std::size_t>::max() / object ? "more than the address space"
                                                                                     : ExactBytes(count * object),
                            count, ExactBytes(bytes_ - begin), ExactBytes(bytes_));
  }
  used_ = begin + count * object;
  return kArrays + begin;
}

void SymmetricHeap::FreeAll() {
  Clear();
  used_ = 0;
}

void SymmetricHeap::Clear() {
  for (std::size_t i = 0; i < size(); ++i) {
    devices_[i]->MakeCurrent();
    devices_[i]->Fill(bases_[i] + kArrays, 0, bytes_, devices_[i]->stream());
  }
  Synchronize();
}

SymmetricRef SymmetricHeap::ref(std::size_t index) const {
  SymmetricRef ref;
  ref.me = static_cast<std::uint32_t>(index);
  ref.size = static_cast<std::uint32_t>(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (lsa_ != nullptr) {
      ref.base[i] = lsa_->base(index, i);
    } else if (backend_.addressable || i == index) {
      ref.base[i] = bases_[i];
    }
  }
  ref.abort = abort_.data();
  ref.report = reports_[index].data();
  ref.timeout_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.timeout).count());
  // NVLink has atomic operations, and moves 16 bytes at once; PCIe promises neither.
  ref.pairs_are_whole = std::all_of(devices_.begin(), devices_.end(), [&](Device* peer) {
    return peer == devices_[index] || devices_[index]->HasNativeAtomics(*peer);
  });
  ref.delays = options_.delays;
  if (proxy_ != nullptr) ref.proxy = proxy_->port(index);
  return ref;
}

void SymmetricHeap::BeginRun() {
  if (proxy_ != nullptr) proxy_->BeginRun();
  for (std::size_t i = 0; i < size(); ++i) {
    reports_[i][0] = symmetric::WaitReport();
    devices_[i]->MakeCurrent();
    devices_[i]->Fill(bases_[i], 0, sizeof(symmetric::Control), devices_[i]->stream());
  }
  detail::StoreRelaxed(abort_.data(), 0u);
  Synchronize();
}

void SymmetricHeap::Synchronize() {
  for (Device* const device : devices_) {
    device->MakeCurrent();
    device->stream().Synchronize();
  }
}

void SymmetricHeap::Abort() noexcept { detail::StoreRelaxed(abort_.data(), 1u); }

void SymmetricHeap::Complete() const {
  if (proxy_ != nullptr) proxy_->Complete();
}

void SymmetricHeap::Check() const {
  Complete();
  constexpr symmetric::WaitEnd kEnds[] = {symmetric::WaitEnd::kTimeout,
                                          symmetric::WaitEnd::kAbort};  // the cause comes first
  for (const symmetric::WaitEnd end : kEnds) {
    for (std::size_t i = 0; i < size(); ++i) {
      if (detail::LoadAcquire(&reports_[i][0].end) != end) continue;
      if (end == symmetric::WaitEnd::kTimeout) Throw<TimeoutError>("{}", Describe(i));
      Throw<AbortedError>("{}", Describe(i));
    }
  }
}

std::string SymmetricHeap::Describe(std::size_t index) const {
  const symmetric::WaitReport& report = reports_[index][0];
  const symmetric::WaitEnd end = detail::LoadAcquire(&report.end);
  if (end == symmetric::WaitEnd::kNone) return "";
  const bool by_proxy = report.kind == symmetric::WaitKind::kProxy || report.kind == symmetric::WaitKind::kReplyCell;
  const std::string whom = by_proxy               ? "its proxy"
                           : report.from < size() ? devices_[report.from]->label()
                                                  : "a device that writes it";
  const std::string seen = NumberText(report.seen, report.is_signed), wanted = NumberText(report.wanted, report.is_signed);
  std::string text =
      fmt::format("{} waited {:.1f} ms for {}", devices_[index]->label(), static_cast<double>(report.waited_ns) / 1e6, whom);
  if (report.kind == symmetric::WaitKind::kBarrier) {
    text += fmt::format(" at barrier {}: it is at barrier {}", wanted, seen);
  } else if (report.kind == symmetric::WaitKind::kProxy) {
    text += fmt::format(": {} of its requests are complete, not {}", seen, wanted);
  } else if (report.kind == symmetric::WaitKind::kReplyCell) {
    text += fmt::format(": {} threads of the device wait for replies, and the next one waits for a reply cell",
                        symmetric::ProxyPort::kCells);
  } else {
    text += fmt::format(": the word at byte {} of the symmetric heap is {}, not {} {}", report.offset - kArrays, seen,
                        TextOf(report.compare), wanted);
  }
  return text + (end == symmetric::WaitEnd::kTimeout
                     ? fmt::format("; the longest wait is {} ms (SymmetricOptions::timeout)", options_.timeout.count())
                     : "; it gave up, because another device failed first");
}

}  // namespace chatty
