#include "chatty/framework/operators/device_operators.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "chatty/framework/memory_plan.h"

namespace chatty {

OperatorGroup::OperatorGroup(std::span<Device* const> devices, const RunOptions& options, CostModel costs)
    : devices_(devices),
      options_(options),
      costs_(std::move(costs)),
      arrivals_(devices.size()),
      capacities_(devices.size(), std::vector<std::size_t>(devices.size(), 0)) {
  Reset();
}

void OperatorGroup::Fail(std::exception_ptr error) noexcept {
  if (!failed_.exchange(true)) {
    for (Arrivals& device : arrivals_) device.at_failure = device.now.load(std::memory_order_relaxed);
  }
  control_->Fail(std::move(error));
  const std::lock_guard lock(paths_change_);
  if (paths_) paths_.selector()->Abort();
}

void OperatorGroup::Reset() {
  stopped_ = failed_ = false;
  for (Arrivals& device : arrivals_) device.now = device.at_failure = 0;
  if (paths_ && !paths_.selector()->reusable()) paths_ = {};  // an abort has made it unusable
  paths_.Begin();
  for (PairBytesTable& sizes : sizes_) sizes.assign(devices_.size(), std::vector<std::size_t>(devices_.size(), 0));
  for (auto& begun : begun_) begun.assign(devices_.size(), std::vector<Clock::time_point>(devices_.size()));
  if (!paths_) {  // first run, or after a failed allocation of buffers
    for (auto& row : capacities_) std::fill(row.begin(), row.end(), 0);
  }
  control_ = std::make_unique<ThreadControlPlanes>(devices_.size(), options_.timeout);
}

std::string OperatorGroup::LastOperation() const {
  constexpr std::size_t kMax = 4;  // in one error line
  if (devices_.size() < 2) return "";
  std::string where = paths_.LastOperation();
  if (!paths_ && !options_.transport_factory) {
    const CommPlan plan = PlanExchanges(reserved_.empty() ? capacities_ : reserved_, options_, devices_[0]->kind(), costs_);
    where = fmt::format("nothing had been asked of transport {} yet", fmt::join(plan.paths, "+"));
  }
  std::uint64_t last = 0;
  for (const Arrivals& device : arrivals_) last = std::max(last, device.at_failure);
  std::string absent;
  std::size_t count = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (arrivals_[d].at_failure == last || ++count > kMax) continue;
    absent += (count == 1 ? "" : ", ") + devices_[d]->label();
  }
  if (count == 0) return where;
  return fmt::format("{}{}{}{} had not come", where, where.empty() ? "" : "; ", absent, count > kMax ? " and more" : "");
}

void DeviceOperators::AllGather(OperatorGroup::CollectiveValue mine,
                                const std::function<void(int, const OperatorGroup::CollectiveValue&)>& fold) {
  // One device checks, because results may differ between devices.
  if (rank() == 0) mine.stop = group_->options_.stop.stop_requested();
  const auto fold_all = [&](PartId r, const OperatorGroup::CollectiveValue& m) {
    if (r == 0) stop_ = m.stop;
    fold(static_cast<int>(r), m);
  };
  if (devices() == 1) return fold_all(0, mine);
  const Step step(*this, spans::kBarrier);
  group_->arrivals_[rank()].now.store(++barriers_, std::memory_order_relaxed);
  (*group_->control_)[rank()].AllReduce(mine, "all devices to exchange", fold_all);
}

bool DeviceOperators::StopRequested() {
  if (asked_at_ == barriers_) AllGather();
  asked_at_ = barriers_;
  if (stop_) group_->stopped_ = true;
  return stop_;
}

void DeviceOperators::ExchangeBytes(const std::function<std::span<const std::byte>(PartId)>& payload,
                                    const std::function<void(PartId, std::span<const std::byte>)>& take) {
  if (devices() == 1) return;
  const bool explain = group_->options_.explain;
  if (traffic_.pairs.empty()) {
    traffic_.pairs.resize(devices());
    for (PartId to = 0; to < devices(); ++to) {
      traffic_.pairs[to].from = rank();
      traffic_.pairs[to].to = to;
    }
  }
  // Readers of the buffer of two exchanges ago must finish before this exchange overwrites it.
  {
    const Step step(*this, spans::kSynchronise);
    device().stream().Synchronize(wait());
  }
  // No device reads this table now: all passed a barrier since the exchange that used it.
  PairBytesTable& sizes = group_->sizes_[epoch_ % 2];
  for (PartId p = 0; p < devices(); ++p) sizes[rank()][p] = p == rank() ? 0 : payload(p).size();
  AllGather();
  bool any = false, grow = false;
  for (PartId r = 0; r < devices(); ++r) {
    for (PartId p = 0; p < devices(); ++p) {
      any = any || sizes[r][p] > 0;
      grow = grow || group_->capacities_[r][p] < sizes[r][p];
    }
  }
  if (grow) {
    AllGather();  // all devices have read the capacities
    if (rank() == 0) ReplaceBuffers(sizes);
    AllGather();
  }
  Clock::time_point begun{};  // when this device's last payload was posted
  for (PartId step = 1; any && step < devices(); ++step) {
    const PartId to = (rank() + step) % devices();
    const std::span<const std::byte> mine = payload(to);
    if (mine.empty()) continue;
    const Step posting(*this, spans::kPost, {to, mine.size(), 1});
    Transport& path = PathOf(sizes, rank(), to);
    if (explain) [[unlikely]] {
      device().stream().Synchronize(wait());
      begun = group_->begun_[epoch_ % 2][rank()][to] = Clock::now();
    }
    device().CopyWithin(path.Outbox(rank(), to, epoch_), mine.data(), mine.size(), device().stream());
    path.Post(rank(), to, mine.size(), epoch_);
    PairStatistics& pair = traffic_.pairs[to];
    pair.messages_before += 1;
    pair.messages += 1;
    pair.bytes += mine.size();
  }
  if (any) AllGather();
  const std::uint64_t epoch = epoch_++;
  for (PartId step = 1; any && step < devices(); ++step) {
    const PartId from = (rank() + devices() - step) % devices();
    const std::size_t bytes = sizes[from][rank()];
    if (bytes == 0) continue;
    const std::byte* received = nullptr;
    {
      const Step receiving(*this, spans::kReceive, {from, bytes, 1});
      received = PathOf(sizes, from, rank()).Receive(rank(), from, bytes, epoch);
    }
    if (explain) [[unlikely]] {
      device().stream().Synchronize(wait());
      const Clock::time_point there = Clock::now();
      const Clock::time_point since = std::max(begun, group_->begun_[epoch % 2][from][rank()]);
      const TransportSelector::Choice choice = ChoiceFor(sizes, from, rank());
      BufferRecord& record = traffic_.buffers.emplace_back();
      record.round = static_cast<std::uint32_t>(epoch);
      record.from = from;
      record.to = rank();
      record.path = group_->paths_.selector()->path_name(choice.path);
      record.encoding = "payload";
      record.entries = 1;
      record.bytes = record.expected_bytes = bytes;
      record.predicted_us = choice.us;
      record.measured_us = std::chrono::duration<double, std::micro>(there - since).count();
    }
    take(from, {received, bytes});
  }
}

TransportSelector::Choice DeviceOperators::ChoiceFor(const PairBytesTable& sizes, PartId from, PartId to) const {
  const TransportSelector& paths = *group_->paths_.selector();
  const auto senders = static_cast<std::uint32_t>(std::count_if(sizes.begin(), sizes.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](std::size_t bytes) { return bytes > 0; });
  }));
  std::array<PartId, kMaxDevices> receivers{};
  std::array<BufferShape, kMaxDevices> shapes{};
  std::array<TransportSelector::Choice, kMaxDevices> choices{};
  std::size_t buffers = 0, at = 0;
  for (PartId q = 0; q < sizes.size(); ++q) {
    if (sizes[from][q] == 0) continue;
    if (q == to) at = buffers;
    shapes[buffers] = {.bytes = sizes[from][q], .payload = true};
    receivers[buffers++] = q;
  }
  paths.ChooseAll(from, {receivers.data(), buffers}, {shapes.data(), buffers}, senders, choices);
  return choices[at];
}

Transport& DeviceOperators::PathOf(const PairBytesTable& sizes, PartId from, PartId to) const {
  const TransportSelector& paths = *group_->paths_.selector();
  return paths[paths.size() == 1 ? 0 : ChoiceFor(sizes, from, to).path];
}

void DeviceOperators::ReplaceBuffers(const PairBytesTable& sizes) {
  const Step step(*this, spans::kAllocateBuffers);
  PairBytesTable capacities = group_->capacities_;  // the group's copy still describes the existing buffers
  for (std::size_t r = 0; r < capacities.size(); ++r) {
    for (std::size_t q = 0; q < capacities[r].size(); ++q) {
      capacities[r][q] = std::max(capacities[r][q], sizes[r][q]);
      if (r < group_->reserved_.size()) capacities[r][q] = std::max(capacities[r][q], group_->reserved_[r][q]);
    }
  }
  CommPlan plan = PlanExchanges(std::move(capacities), group_->options_, device().kind(), group_->costs_);
  const auto replace = [this](RunPaths by) {
    const std::lock_guard lock(group_->paths_change_);
    group_->paths_ = std::move(by);
  };
  replace({});  // frees the buffers first
  replace(RunPaths(group_->options_, plan, group_->devices_, group_->costs_));
  group_->capacities_ = std::move(plan.capacities);
  for (Device* other : group_->devices_) {
    other->MakeCurrent();
    other->stream().Synchronize(wait());  // buffers are allocated in stream order
  }
  device().MakeCurrent();
}

}  // namespace chatty
