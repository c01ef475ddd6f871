#include "chatty/framework/run_lifecycle.h"

#include "chatty/core/config.h"
#if CHATTY_WITH_CUDA
#include "chatty/core/gpu_memory.h"
#include "chatty/framework/scatter.h"
#endif

namespace chatty {

void CopyResults(Device& device, std::byte* to, const std::byte* from, std::size_t bytes, const WaitContext& wait) {
  device.stream().Synchronize(wait);  // a copy to pageable memory itself waits without a deadline
  device.CopyOut(to, from, bytes, device.stream());
  device.stream().Synchronize(wait);
}

void RunLifecycle::EndFailedWork(const RunStatistics& last) const {
  if (last.ended != Ended::kFailed) return;
  for (Device* const device : devices_) {
    device->MakeCurrent();
    device->stream().Synchronize({nullptr, timeout_});
  }
}

void RunLifecycle::Begin(std::string_view execution, std::string_view transport, RunStatistics* statistics) const {
  *statistics = {};
  statistics->execution = execution;
  statistics->transport = transport;
  statistics->converged = false;
  statistics->ended = Ended::kFailed;
  statistics->devices.assign(devices_.size(), {});
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    statistics->devices[d].device = devices_[d]->label();
    statistics->devices[d].vertices = parts_[d].owned;
  }
  statistics->pairs.reserve(devices_.size() * devices_.size());  // so that a failure has room for its figures
}

#if CHATTY_WITH_CUDA
const VertexId* RunLifecycle::IdsOn(Device& target, std::size_t d) const {
  if (ids_on_ != target.index()) {
    ids_.assign(devices_.size(), nullptr);
    ids_on_ = target.index();
  }
  const Subgraph& part = parts_[d];
  if (ids_[d] == nullptr) {
    const std::size_t bytes = part.owned * sizeof(VertexId);
    std::shared_ptr<std::byte> ids = AllocateGpuMemory(target.index(), bytes);
    target.CopyIn(ids.get(), part.global_ids.data(), bytes, target.stream());
    target.stream().Synchronize({nullptr, timeout_});
    ids_[d] = std::move(ids);
  }
  return reinterpret_cast<const VertexId*>(ids_[d].get());
}

void RunLifecycle::PlaceScattered(Device& target, std::byte* out, std::size_t bytes,
                                  const std::function<void(std::size_t, std::byte*)>& write) const {
  const WaitContext wait{nullptr, timeout_};
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const Subgraph& part = parts_[d];
    if (part.owned == 0) continue;
    Device& device = *devices_[d];
    const bool here = device.index() == target.index();
    const VertexId first = part.Global(0);
    const bool is_range = part.Global(part.owned - 1) - first + 1 == part.owned;  // local ids ascend with global ones
    device.MakeCurrent();
    if (here && is_range) {
      write(d, out + first * bytes);
      device.stream().Synchronize(wait);
      continue;
    }
    const Buffer<std::byte> local(device, part.owned * bytes);
    write(d, local.data());
    if (is_range) {
      device.CopyToPeer(target, out + first * bytes, local.data(), local.bytes(), device.stream());
    } else if (here) {  // perhaps another device on the same GPU
      ScatterValues(device, out, local.data(), IdsOn(target, d), part.owned, bytes);
    } else {
      const Buffer<std::byte> there(target, part.owned * bytes);
      target.stream().Synchronize(wait);  // the buffer may have had another use before
      device.CopyToPeer(target, there.data(), local.data(), local.bytes(), device.stream());
      const std::unique_ptr<Event> copied = device.NewEvent();
      copied->Record(device.stream());
      copied->MakeWait(target.stream());  // also before the buffer is freed there
      ScatterValues(target, out, there.data(), IdsOn(target, d), part.owned, bytes);
      target.stream().Synchronize(wait);
    }
    device.stream().Synchronize(wait);
  }
}
#else
void RunLifecycle::PlaceScattered(Device& target, std::byte*, std::size_t,
                                  const std::function<void(std::size_t, std::byte*)>&) const {
  Throw<CapabilityError>("{}: results are placed in a GPU's memory by builds with CUDA alone", target.label());
}
#endif

void RunLifecycle::ThrowTimeout(const TimeoutError& error, const std::string& where) {
  if (where.empty()) throw;
  Throw<TimeoutError>("{}; {}", error.what(), where);
}

}  // namespace chatty
