#include "chatty/comm/symmetric/proxy_server.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/sync.h"

namespace chatty::detail {
namespace {

using symmetric::ProxyOp;
using symmetric::ProxyPort;
using symmetric::ProxyRequest;
using symmetric::ProxyType;

/// Requests between two copies of the count: a kernel that waits for an early one of many does not wait for all.
constexpr std::uint64_t kBatch = 32;

template <class T>
T FromBits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
std::uint64_t ToBits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T Changed(ProxyOp op, T old, T value, T expected) {
  switch (op) {
    case ProxyOp::kSet:
    case ProxyOp::kSwap:
      return value;
    case ProxyOp::kCompareSwap:
      return old == expected ? value : old;
    case ProxyOp::kAdd:
      return static_cast<T>(old + value);
    case ProxyOp::kMin:
      return value < old ? value : old;
    case ProxyOp::kMax:
      return old < value ? value : old;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ProxyOp::kAnd) return old & value;
    if (op == ProxyOp::kOr) return old | value;
    if (op == ProxyOp::kXor) return old ^ value;
  }
  Throw<InternalError>("the proxy of a symmetric heap was asked for operation {}", static_cast<int>(op));
}

template <class T>
std::uint64_t ChangedBits(const ProxyRequest& request, std::uint64_t old) {
  return ToBits(Changed(request.op(), FromBits<T>(old), FromBits<T>(request.values[0]), FromBits<T>(request.values[1])));
}

/// The word after an operation on it. The type matters to sums of reals and to what orders; else words are bits.
std::uint64_t NewBits(const ProxyRequest& request, std::uint64_t old) {
  const bool orders = request.op() == ProxyOp::kMin || request.op() == ProxyOp::kMax;
  const bool typed = orders || (request.op() == ProxyOp::kAdd && request.type() == ProxyType::kReal);
  const ProxyType type = typed ? request.type() : ProxyType::kUnsigned;
  const bool wide = request.bytes == 8;
  switch (type) {
    case ProxyType::kSigned:
      return wide ? ChangedBits<std::int64_t>(request, old) : ChangedBits<std::int32_t>(request, old);
    case ProxyType::kReal:
      return wide ? ChangedBits<double>(request, old) : ChangedBits<float>(request, old);
    case ProxyType::kUnsigned:
      break;
  }
  return wide ? ChangedBits<std::uint64_t>(request, old) : ChangedBits<std::uint32_t>(request, old);
}

std::uint64_t LoadWord(const std::byte* from, std::size_t bytes) {
  if (bytes == 8) return LoadAcquire(reinterpret_cast<const std::uint64_t*>(from));
  return LoadAcquire(reinterpret_cast<const std::uint32_t*>(from));
}

void StoreWord(std::byte* to, std::size_t bytes, std::uint64_t value) {
  if (bytes == 8) return StoreRelease(reinterpret_cast<std::uint64_t*>(to), value);
  StoreRelease(reinterpret_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(value));
}

bool IsWord(const std::byte* address, std::size_t bytes) {
  return (bytes == 4 || bytes == 8) && reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

}  // namespace

SymmetricProxy::SymmetricProxy(std::span<Device* const> devices, std::vector<std::byte*> blocks, std::uint32_t* abort)
    : devices_(devices.begin(), devices.end()),
      blocks_(std::move(blocks)),
      abort_(abort),
      on_hosts_(devices[0]->kind() == DeviceKind::kHost),
      reaches_(devices.size(), std::vector<bool>(devices.size(), true)),
      per_device_(devices.size()) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i]->MakeCurrent();
    per_device_[i].port = Buffer<ProxyPort>(*devices_[i], 1);
    per_device_[i].requests = Pinned<ProxyRequest>(*devices_[i], ProxyPort::kCapacity);
    per_device_[i].stream = devices_[i]->NewStream();
    for (std::size_t j = 0; j < devices_.size() && !on_hosts_; ++j) {
      if (i != j) reaches_[i][j] = devices_[j]->AllowAccessBy(*devices_[i]);
    }
  }
  for (Device* const device : devices_) {
    device->MakeCurrent();
    device->stream().Synchronize();  // the memory is ready
  }
  // The first copy of a kind may take memory, which could wait for a kernel. Neither blocks nor rings are filled yet.
  for (std::size_t i = 0; i < devices_.size() && !on_hosts_; ++i) {
    Device& mine = *devices_[i];
    Stream& stream = *per_device_[i].stream;
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    mine.CopyOut(per_device_[i].requests.data(), blocks_[i], kWord, stream);
    for (std::size_t j = 0; j < devices_.size(); ++j) {
      mine.CopyToPeer(*devices_[j], blocks_[j] + kWord, blocks_[i], kWord, stream);
      if (!reaches_[i][j]) continue;
      mine.CopyIn(blocks_[j], per_device_[i].requests.data(), kWord, stream);
      mine.CopyWithin(blocks_[j] + kWord, blocks_[i], kWord, stream);
      mine.CopyWithin(per_device_[i].port.data(), blocks_[j], kWord, stream);
    }
    Wait(i);
  }
  Empty();
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (const std::system_error& error) {
    Throw<DeviceError>("the thread that serves a symmetric heap's proxy could not be started: {}", error.what());
  }
}

SymmetricProxy::~SymmetricProxy() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  left_.notify_all();
  thread_.join();
  for (std::size_t i = 0; i < per_device_.size(); ++i) {
    try {
      devices_[i]->MakeCurrent();
      per_device_[i].stream->Synchronize();
    } catch (const Error&) {  // a lost device copies nothing
    }
  }
}

void SymmetricProxy::Wait(std::size_t index) {
  devices_[index]->MakeCurrent();
  per_device_[index].stream->Synchronize();
  per_device_[index].words_behind = false;
}

void SymmetricProxy::Loop() {
  UseAllCores();
  // A thread of a host device needs the core that this one polls on; a GPU does not. After its polls this thread gives its
  // core away, and then sleeps, longer and longer: nobody wakes it.
  const std::uint64_t polls = on_hosts_ ? 64 : 100'000, yields = on_hosts_ ? 1'000 : 10'000;
  while (true) {
    std::uint64_t idle = 0;
    {
      std::unique_lock lock(mutex_);
      left_.wait(lock, [this] { return visitors_ == 0 || ends_; });
      if (ends_) return;
      idle_ = TryToServeAll() ? 0 : idle_ + 1;
      idle = idle_;
    }
    if (idle > polls + yields) {
      const std::uint64_t us = std::min<std::uint64_t>(50 * (1 + (idle - polls - yields) / 100), 1'000);
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    } else if (idle > polls) {
      std::this_thread::yield();
    }
  }
}

template <class Work>
void SymmetricProxy::Visit(const Work& work) {
  ++visitors_;
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    --visitors_;
  }
  left_.notify_all();
  if (error != nullptr) std::rethrow_exception(error);
}

void SymmetricProxy::BeginRun() {
  Visit([this] {
    while (TryToServeAll()) {  // what the last run has left
    }
    failure_ = nullptr;
    idle_ = 0;
    Empty();
  });
}

void SymmetricProxy::Empty() {
  const auto image = std::make_unique<ProxyPort>();
  for (std::size_t i = 0; i < per_device_.size(); ++i) {
    PerDevice& own = per_device_[i];
    Wait(i);
    std::fill_n(own.requests.data(), ProxyPort::kCapacity, ProxyRequest());
    own.served = 0;
    image->requests = own.requests.data();
    devices_[i]->CopyIn(own.port.data(), image.get(), sizeof(ProxyPort), *own.stream);
    Wait(i);
  }
}

void SymmetricProxy::Complete() {
  Visit([this] {
    while (TryToServeAll()) {
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    for (std::size_t i = 0; i < per_device_.size(); ++i) Wait(i);
  });
}

bool SymmetricProxy::TryToServeAll() noexcept {
  if (failure_ != nullptr) return false;
  try {
    return ServeAll();
  } catch (...) {
    failure_ = std::current_exception();
    StoreRelaxed(abort_, 1u);
    return false;
  }
}

bool SymmetricProxy::ServeAll() {
  bool any = false;
  for (std::size_t me = 0; me < per_device_.size(); ++me) {
    PerDevice& own = per_device_[me];
    const std::uint64_t begin = own.served;
    while (own.served - begin < kBatch) {
      ProxyRequest& request = own.requests[own.served % ProxyPort::kCapacity];
      if (LoadAcquire(&request.ready) != own.served + 1) break;
      if (on_hosts_) {
        ServeOnHost(me, request);
        StoreRelease(&own.port.data()->complete, ++own.served);
      } else {
        ServeOnGpu(me, request);
        ++own.served;
      }
    }
    if (own.served == begin) continue;
    any = true;
    if (on_hosts_) continue;
    // The descriptor has the ticket, and is not written again before the device has seen the count.
    const ProxyRequest& last = own.requests[(own.served - 1) % ProxyPort::kCapacity];
    devices_[me]->CopyIn(&own.port.data()->complete, &last.ready, sizeof(last.ready), *own.stream);
  }
  return any;
}

void SymmetricProxy::ServeOnHost(std::size_t me, const ProxyRequest& request) {
  std::byte* const there = blocks_[request.device()] + request.offset;
  auto* const here = reinterpret_cast<std::byte*>(request.local);  // NOLINT(performance-no-int-to-ptr): a kernel's pointer
  const auto reply = [&](std::uint64_t value) {
    if (request.local != ProxyRequest::kNoCell)
      StoreRelaxed(&per_device_[me].port.data()->cells[request.local].value, value);
  };
  switch (request.op()) {
    case ProxyOp::kPut:
      std::memcpy(there, here, request.bytes);
      return;
    case ProxyOp::kPutValues:
      std::memcpy(there, request.values, request.bytes);
      return;
    case ProxyOp::kGet:
      std::memcpy(here, there, request.bytes);
      return;
    case ProxyOp::kFetch: {
      std::uint64_t value = 0;
      if (IsWord(there, request.bytes)) {
        value = LoadWord(there, request.bytes);
      } else {
        std::memcpy(&value, there, request.bytes);
      }
      reply(value);
      return;
    }
    default: {
      const std::uint64_t old = request.op() == ProxyOp::kSet ? 0 : LoadWord(there, request.bytes);
      StoreWord(there, request.bytes, NewBits(request, old));
      reply(old);
    }
  }
}

void SymmetricProxy::ServeOnGpu(std::size_t me, ProxyRequest& request) {
  const std::size_t to = request.device();
  Device &mine = *devices_[me], &other = *devices_[to];
  Stream& stream = *per_device_[me].stream;
  std::byte* const there = blocks_[to] + request.offset;
  auto* const here = reinterpret_cast<std::byte*>(request.local);  // NOLINT(performance-no-int-to-ptr): a kernel's pointer
  // Copies of a device's stream address its own memory and that of devices with a link. To others the driver finds a way if
  // it gets both devices, and words go by the stream of their owner.
  const bool reaches = reaches_[me][to];
  switch (request.op()) {
    case ProxyOp::kPut:
      if (reaches) {
        mine.CopyWithin(there, here, request.bytes, stream);
      } else {
        mine.CopyToPeer(other, there, here, request.bytes, stream);
      }
      return;
    case ProxyOp::kPutValues:
    case ProxyOp::kSet:
      if (reaches) {
        mine.CopyIn(there, request.values, request.bytes, stream);
        if (request.op() == ProxyOp::kSet) per_device_[me].words_behind = true;
      } else {
        Wait(me);
        other.CopyIn(there, request.values, request.bytes, *per_device_[to].stream);
        Wait(to);
      }
      return;
    case ProxyOp::kGet:
      if (reaches) {
        mine.CopyWithin(here, there, request.bytes, stream);
      } else {
        Wait(me);
        other.CopyToPeer(mine, here, there, request.bytes, *per_device_[to].stream);
        Wait(to);
      }
      return;
    case ProxyOp::kFetch:
      if (reaches) {
        mine.CopyWithin(&per_device_[me].port.data()->cells[request.local].value, there, request.bytes, stream);
      } else {
        Wait(me);
        request.values[2] = 0;
        other.CopyOut(&request.values[2], there, request.bytes, *per_device_[to].stream);
        Wait(to);
        ReplyOnGpu(me, request, &request.values[2]);
      }
      return;
    default:
      ChangeOnGpu(me, request);
  }
}

void SymmetricProxy::ChangeOnGpu(std::size_t me, ProxyRequest& request) {
  const std::size_t to = request.device();
  std::byte* const there = blocks_[to] + request.offset;
  Wait(me);  // what the device has requested before
  for (std::size_t i = 0; i < per_device_.size(); ++i) {
    if (per_device_[i].words_behind) Wait(i);
  }
  Stream& stream = *per_device_[to].stream;
  request.values[2] = 0;
  devices_[to]->CopyOut(&request.values[2], there, request.bytes, stream);
  Wait(to);
  const std::uint64_t old = request.values[2];
  request.values[0] = NewBits(request, old);
  devices_[to]->CopyIn(there, request.values, request.bytes, stream);
  Wait(to);
  if (request.local != ProxyRequest::kNoCell) ReplyOnGpu(me, request, &request.values[2]);
}

/// The reply's bytes beyond those of the word are not read.
void SymmetricProxy::ReplyOnGpu(std::size_t me, const ProxyRequest& request, const std::uint64_t* value) {
  devices_[me]->CopyIn(&per_device_[me].port.data()->cells[request.local].value, value, sizeof(*value),
                       *per_device_[me].stream);
}

}  // namespace chatty::detail
