#include "chatty/framework/operators/device_operators.h"

#include <algorithm>
#include <utility>

#include "chatty/framework/memory_plan.h"

namespace chatty {

OperatorGroup::OperatorGroup(std::span<Device* const> devices, const RunOptions& options)
    : devices_(devices), options_(options), capacities_(devices.size(), std::vector<std::size_t>(devices.size(), 0)) {
  Reset();
}

void OperatorGroup::Fail(std::exception_ptr error) noexcept {
  abort.Fail(std::move(error));
  meeting_->Poison();
  const std::lock_guard lock(transport_changes_);
  if (transport_ != nullptr) transport_->Abort();
}

void OperatorGroup::Reset() {
  abort.Reset();
  stopped_ = false;
  if (transport_ != nullptr && !transport_->reusable()) transport_.reset();  // torn down to end a failed run
  if (transport_ != nullptr) transport_->Begin();
  if (transport_ == nullptr) {  // as at the beginning, or after a run that failed while it allocated boxes
    for (auto& row : capacities_) std::fill(row.begin(), row.end(), 0);
  }
  meeting_ = std::make_unique<Rendezvous<Manifest>>(static_cast<int>(devices_.size()));
}

template <class Fold>
void DeviceOperators::Meet(OperatorGroup::Manifest mine, Fold&& fold) {
  if (rank() == 0) mine.stop = group_->options_.stop.stop_requested();  // one looks, or devices could see different things
  const auto fold_all = [&](int r, const OperatorGroup::Manifest& m) {
    if (r == 0) stop_ = m.stop;
    fold(r, m);
  };
  if (devices() == 1) return fold_all(0, mine);
  const Step step(*this, spans::kMeetAll);
  group_->meeting_->Exchange(static_cast<int>(rank()), meetings_++, mine, wait(), "all devices to exchange", fold_all);
}

bool DeviceOperators::StopRequested() {
  if (asked_at_ == meetings_) Meet({}, [](int, const OperatorGroup::Manifest&) {});
  asked_at_ = meetings_;
  if (stop_) group_->stopped_ = true;
  return stop_;
}

double DeviceOperators::FirstOfAll(double number) {
  double first = number;
  Meet({kNoPart, 0, number, false}, [&](int r, const OperatorGroup::Manifest& m) {
    if (r == 0) first = m.number;
  });
  return first;
}

double DeviceOperators::SumOfAll(double number) {
  double sum = 0;
  Meet({kNoPart, 0, number, false}, [&](int, const OperatorGroup::Manifest& m) { sum += m.number; });
  return sum;
}

const std::byte* DeviceOperators::ExchangeBytes(PartId to, const std::byte* data, std::size_t bytes, PartId from) {
  if (devices() == 1) return nullptr;
  if (sent_bytes_.empty()) sent_bytes_.resize(devices(), 0);
  // Whoever still reads the box of the last Exchange but one must be done before it is written again.
  {
    const Step step(*this, spans::kSynchronise);
    device().stream().Synchronize(wait());
  }
  std::size_t incoming = 0;
  bool grow = false;
  std::vector<OperatorGroup::Manifest> all(devices());
  Meet({to, bytes, 0, false}, [&](int r, const OperatorGroup::Manifest& m) {
    all[r] = m;
    if (m.to == kNoPart) return;
    if (m.to == rank() && static_cast<PartId>(r) == from) incoming = m.bytes;
    grow = grow || group_->capacities_[r][m.to] < m.bytes;
  });
  if (grow) {
    Meet({}, [](int, const OperatorGroup::Manifest&) {});  // all have read the capacities
    if (rank() == 0) {
      const Step step(*this, spans::kAllocateBoxes);
      PairBytesTable capacities = group_->capacities_;  // the group's own stay those of the boxes that are there
      for (PartId r = 0; r < devices(); ++r) {
        if (all[r].to == kNoPart) continue;
        std::size_t& capacity = capacities[r][all[r].to];
        capacity = std::max(capacity, all[r].bytes);
      }
      for (std::size_t r = 0; r < group_->reserved_.size(); ++r) {
        for (std::size_t q = 0; q < capacities[r].size(); ++q)
          capacities[r][q] = std::max(capacities[r][q], group_->reserved_[r][q]);
      }
      const auto [name, transport] =
          OperatorTransport(group_->options_, device().kind(), static_cast<std::size_t>(devices()));
      const auto replace = [this](std::unique_ptr<WatchedTransport> by) {
        const std::lock_guard lock(group_->transport_changes_);
        group_->transport_ = std::move(by);
      };
      replace(nullptr);  // gives its memory back first
      replace(OpenTransport(group_->options_, name, group_->devices_, capacities, transport));
      group_->capacities_ = std::move(capacities);
      for (Device* other : group_->devices_) {
        other->MakeCurrent();
        other->stream().Synchronize(wait());  // boxes are allocated in stream order
      }
      device().MakeCurrent();
    }
    Meet({}, [](int, const OperatorGroup::Manifest&) {});
  }
  if (to != kNoPart && bytes > 0) {
    const Step step(*this, spans::kPost, {to, bytes, 1});
    device().CopyWithin(group_->transport_->Outbox(rank(), to, epoch_), data, bytes, device().stream());
    group_->transport_->Post(rank(), to, bytes, epoch_);
    sent_bytes_[to] += bytes;
  }
  Meet({}, [](int, const OperatorGroup::Manifest&) {});
  const std::byte* received = nullptr;
  if (from != kNoPart && incoming > 0) {
    const Step step(*this, spans::kReceive, {from, incoming, 1});
    received = group_->transport_->Receive(rank(), from, incoming, epoch_);
  }
  ++epoch_;
  return received;
}

}  // namespace chatty
