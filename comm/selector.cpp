#include "chatty/comm/selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace chatty {
namespace {

constexpr std::size_t kMaxPaths = 4;
/// Bounds of the relative error by which a choice goes. The model states that of a block of middle size. Long buffers, which
/// take most of a run, lie on the line: a larger error must not keep them on a slow path.
constexpr double kMinError = 0.15, kMaxError = 0.3;
ZeroCopyPaths FindZeroCopyPaths(const CostModel& model) {
  return {model.Find("host"), model.Find("p2p-direct"), model.Find("uva")};
}

/// Whether a time is less than another by more than the predictions' error.
bool IsClearlyLess(const PathChoice& one, const PathChoice& other) {
  return one.us < (1 - std::clamp(std::max(one.error, other.error), kMinError, kMaxError)) * other.us;
}

/// The path of a pair that is left only for a clear gain: the first zero-copy path that joins it. kNoPath if none does.
std::size_t DefaultPath(const CostModel& model, const ZeroCopyPaths& paths, PartId from, PartId to) noexcept {
  for (const std::size_t path : paths) {
    if (model.Joins(path, from, to)) return path;
  }
  return CostModel::kNoPath;
}

/// The load while all devices send to each other.
Load AllToAll(std::size_t devices) { return {static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)}; }

}  // namespace

std::vector<std::string_view> SelectPaths(const CommSpec& spec, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool collectives) {
  const std::string_view named = spec.TransportFor(kind);
  if (named != "auto") {
    const TransportInfo* const info = FindTransport(named);
    CHATTY_CHECK(info != nullptr, "transport '{}' was not checked", named);
    return {info->name};  // a name that outlives `spec`
  }
  std::vector<std::string_view> usable, chosen;
  for (const std::string& path : model.paths()) {
    const TransportInfo* const info = FindTransport(path);  // a model may name a path that this build lacks
    if (info != nullptr && AutoMayTake(path, kind) && (collectives || !info->collective)) usable.push_back(info->name);
  }
  const CostModel costs = model.Of(usable);
  CostModel of_chosen;
  const auto choose = [&](std::size_t path) {
    if (std::find(chosen.begin(), chosen.end(), usable[path]) != chosen.end()) return;
    chosen.push_back(usable[path]);
    of_chosen = costs.Of(chosen);
  };
  const auto for_each_pair = [&](const auto& body) {
    for (PartId from = 0; from < capacities.size(); ++from) {
      for (PartId to = 0; to < capacities.size(); ++to) {
        if (from != to && capacities[from][to] != 0) body(from, to, capacities[from][to]);
      }
    }
  };
  // The default path of each pair.
  const ZeroCopyPaths zero_copy = FindZeroCopyPaths(costs);
  for (const std::size_t path : zero_copy) {
    for_each_pair([&](PartId from, PartId to, std::size_t) {
      if (path != CostModel::kNoPath && DefaultPath(costs, zero_copy, from, to) == path) choose(path);
    });
  }
  // And each that is clearly better for some size, from long buffers, which take most of a run, to short ones.
  for_each_pair([&](PartId from, PartId to, std::size_t capacity) {
    for (std::size_t bytes = capacity; bytes >= std::min<std::size_t>(capacity, 256); bytes /= 16) {
      // A bitmap above a quarter of the capacity, and below it a sparse buffer with entries of 8 bytes.
      const bool swept = bytes > capacity / 4;
      const BufferShape buffer{swept ? Encoding::kBitmap : Encoding::kSparse, bytes, (swept ? capacity : bytes) / 8, true};
      const Load load = AllToAll(capacities.size());
      const PathChoice best = costs.Best(from, to, buffer, load);
      if (chosen.size() < kMaxPaths && IsClearlyLess(best, of_chosen.Best(from, to, buffer, load))) choose(best.path);
    }
  });
  if (chosen.empty()) chosen.push_back("auto");  // no pair exchanges data, or no cost is known
  return chosen;
}

bool BroadcastsMayPay(std::span<const std::string_view> paths, const CostModel& model, const PairBytesTable& capacities,
                      std::span<const std::size_t> broadcast) {
  const std::size_t devices = capacities.size();
  if (devices < 3) return false;  // between two devices both are the same buffer
  const CostModel costs = model.Of(paths);
  const auto least = [&](PartId from, PartId to, std::size_t bytes) {
    return costs.Best(from, to, {Encoding::kBitmap, bytes, bytes / 8, true}, AllToAll(devices));
  };
  for (PartId from = 0; from < devices; ++from) {
    if (broadcast[from] == 0) continue;
    PathChoice slowest;
    for (PartId to = 0; to < devices; ++to) {
      if (to == from || capacities[from][to] == 0) continue;
      const PathChoice of_pair = least(from, to, capacities[from][to]);
      if (of_pair.us > slowest.us) slowest = of_pair;
    }
    if (IsClearlyLess(least(from, from, broadcast[from]), slowest)) return true;
  }
  return false;
}

TransportSelector::TransportSelector(std::vector<std::unique_ptr<Transport>> paths, Broadcasts broadcasts, bool collectives,
                                     const CostModel& model)
    : paths_(std::move(paths)), broadcasts_(broadcasts) {
  std::vector<std::string_view> names;
  for (const auto& path : paths_) {
    names.push_back(path->name());
    const TransportInfo* const info = FindTransport(path->name());
    collective_ = collective_ || (collectives && (info == nullptr || info->collective));
  }
  model_ = model.Of(names);
  zero_copy_ = FindZeroCopyPaths(model_);
  name_ = fmt::format("{}", fmt::join(names, "+"));
}

PathChoice TransportSelector::Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept {
  const PathChoice best = model_.Best(from, to, buffer, load);
  const std::size_t otherwise = DefaultPath(model_, zero_copy_, from, to);
  if (otherwise == CostModel::kNoPath || otherwise == best.path) return best;
  const PathChoice stays = model_.Predict(otherwise, from, to, buffer, load);
  return IsClearlyLess(best, stays) ? best : stays;
}

bool TransportSelector::BroadcastPays(const Choice& broadcast, const Choice& slowest) noexcept {
  return IsClearlyLess(broadcast, slowest);
}

void TransportSelector::ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers,
                                  std::uint32_t senders, std::span<Choice> choices) const noexcept {
  const std::size_t direct = model_.Find("p2p-direct");
  std::array<bool, kMaxDevices> linked{};
  std::uint32_t over_links = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    linked[i] = model_.links_apart() && model_.Joins(direct, from, to[i]);
    over_links += linked[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::uint32_t contending = linked[i] ? over_links : static_cast<std::uint32_t>(buffers.size()) - over_links;
    choices[i] = Choose(from, to[i], buffers[i], {.buffers = contending, .senders = senders});
  }
}

void TransportSelector::BeginCollective(PartId at, std::span<const std::size_t> incoming,
                                        std::span<const std::size_t> broadcast, std::span<const std::uint8_t> path,
                                        std::uint64_t epoch) const {
  if (!collective_) return;
  // What travels on one path, and zero for the others.
  const std::size_t devices = std::max(incoming.size(), broadcast.size());
  std::array<std::size_t, kMaxDevices> of_pairs{}, for_all{};
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    for (std::size_t d = 0; d < devices; ++d) {
      of_pairs[d] = !incoming.empty() && path[d] == p ? incoming[d] : 0;
      for_all[d] = !broadcast.empty() && path[d] == p ? broadcast[d] : 0;
    }
    paths_[p]->BeginCollective(at, {of_pairs.data(), devices}, {for_all.data(), broadcast.empty() ? 0 : devices}, epoch);
  }
}

void TransportSelector::Abort() const noexcept {
  for (const auto& path : paths_) path->Abort();
}

bool TransportSelector::reusable() const noexcept {
  return std::all_of(paths_.begin(), paths_.end(), [](const auto& path) { return path->reusable(); });
}

}  // namespace chatty
