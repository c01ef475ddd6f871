#include "chatty/comm/selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

namespace chatty {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxPaths = 4;
/// The least relative error assumed of any prediction. The model may state a larger one.
constexpr double kLeastError = 0.15;
/// The paths that move no bytes between packing and unpacking, in the order in which they are preferred.
constexpr std::array<std::string_view, 3> kZeroCopyPaths = {"host", "p2p-direct", "uva"};

using Choice = TransportSelector::Choice;

/// Whether a time is less than another by more than the predictions' error.
bool IsClearlyLess(const Choice& one, const Choice& other) {
  return one.us < (1 - std::max({one.error, other.error, kLeastError})) * other.us;
}

/// The load while all devices send to each other.
Load AllToAll(std::size_t devices) { return {static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)}; }

/// The prediction of a path of the model, which chooses path 0.
Choice PredictedBy(const CostModel& model, std::size_t path, PartId from, PartId to, const BufferShape& buffer,
                   Load load) noexcept {
  if (path == CostModel::kNoPath) return {0, kInfinite, 0, load};
  const Cost cost = model.CostUnder(path, from, to, load);
  const double us = cost.Us(buffer.encoding, static_cast<double>(buffer.bytes), static_cast<double>(buffer.entries));
  return {0, us + (buffer.payload ? 0 : model.engine_us()), cost.error, load};
}

/// The one of some of the model's paths that takes least time, by its place among them.
Choice LeastOf(const CostModel& model, std::span<const std::size_t> paths, PartId from, PartId to, const BufferShape& buffer,
               Load load) noexcept {
  Choice least{0, kInfinite, 0, load};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Choice one = PredictedBy(model, paths[i], from, to, buffer, load);
    if (!(one.us < least.us)) continue;
    least = one;
    least.path = static_cast<std::uint8_t>(i);
  }
  return least;
}

}  // namespace

std::vector<std::string_view> SelectPaths(const CommSpec& spec, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool collectives) {
  const std::string_view named = spec.TransportFor(kind);
  if (named != "auto") {
    const TransportInfo* const info = FindTransport(named);
    CHATTY_CHECK(info != nullptr, "transport '{}' was not checked", named);
    return {info->name};  // a name that outlives `spec`
  }
  std::vector<std::size_t> usable, chosen;
  for (std::size_t p = 0; p < model.paths().size(); ++p) {
    const TransportInfo* const info = FindTransport(model.paths()[p]);  // a model may name a path that this build lacks
    if (info != nullptr && AutoMayTake(info->name, kind) && (collectives || !info->collective)) usable.push_back(p);
  }
  const auto for_each_pair = [&](const auto& body) {
    for (PartId from = 0; from < capacities.size(); ++from) {
      for (PartId to = 0; to < capacities.size(); ++to) {
        if (from != to && capacities[from][to] != 0) body(from, to, capacities[from][to]);
      }
    }
  };
  const auto choose = [&](std::size_t p) {
    if (std::find(chosen.begin(), chosen.end(), p) == chosen.end()) chosen.push_back(p);
  };
  // The default path of each pair: its first zero-copy path.
  for (const std::string_view name : kZeroCopyPaths) {
    const std::size_t p = model.Find(name);
    if (std::find(usable.begin(), usable.end(), p) == usable.end()) continue;
    for_each_pair([&](PartId from, PartId to, std::size_t) {
      const auto joins = [&](std::size_t other) { return model.Joins(other, from, to); };
      if (joins(p) && std::none_of(chosen.begin(), chosen.end(), joins)) choose(p);
    });
  }
  // And each that is clearly better for some size, from long buffers, which take most of a run, to short ones.
  for_each_pair([&](PartId from, PartId to, std::size_t capacity) {
    for (std::size_t bytes = capacity; bytes >= std::min<std::size_t>(capacity, 256); bytes /= 16) {
      // A bitmap above a quarter of the capacity, and below it a sparse buffer with entries of 8 bytes.
      const bool swept = bytes > capacity / 4;
      const BufferShape buffer{swept ? Encoding::kBitmap : Encoding::kSparse, bytes, (swept ? capacity : bytes) / 8, true};
      const Load load = AllToAll(capacities.size());
      const Choice best = LeastOf(model, usable, from, to, buffer, load);
      if (chosen.size() < kMaxPaths && IsClearlyLess(best, LeastOf(model, chosen, from, to, buffer, load)))
        choose(usable[best.path]);
    }
  });
  std::vector<std::string_view> names;
  names.reserve(chosen.size());
  for (const std::size_t p : chosen) names.push_back(FindTransport(model.paths()[p])->name);
  if (names.empty()) names.push_back("auto");  // no pair exchanges data, or no cost is known
  return names;
}

TransportMemory MeasurePaths(std::span<const std::string_view> paths, DeviceKind kind, const PairBytesTable& capacities,
                             const TransportOptions& options) {
  TransportMemory sum;
  sum.devices.resize(capacities.size());
  for (const std::string_view path : paths) {
    const TransportMemory one = MeasureTransport(path, kind, capacities, options);
    for (std::size_t d = 0; d < sum.devices.size(); ++d) sum.devices[d] += one.devices[d];
    sum.host += one.host;
  }
  return sum;
}

bool BroadcastsMayPay(std::span<const std::string_view> paths, const CostModel& model, const PairBytesTable& capacities,
                      std::span<const std::size_t> broadcast) {
  const std::size_t devices = capacities.size();
  if (devices < 3) return false;  // between two devices both are the same buffer
  std::vector<std::size_t> known;
  for (const std::string_view path : paths) {
    if (const std::size_t p = model.Find(path); p != CostModel::kNoPath) known.push_back(p);
  }
  const auto least = [&](PartId from, PartId to, std::size_t bytes) {
    return LeastOf(model, known, from, to, {Encoding::kBitmap, bytes, bytes / 8, true}, AllToAll(devices));
  };
  for (PartId from = 0; from < devices; ++from) {
    if (broadcast[from] == 0) continue;
    Choice slowest;
    for (PartId to = 0; to < devices; ++to) {
      if (to == from || capacities[from][to] == 0) continue;
      const Choice of_pair = least(from, to, capacities[from][to]);
      if (of_pair.us > slowest.us) slowest = of_pair;
    }
    if (IsClearlyLess(least(from, from, broadcast[from]), slowest)) return true;
  }
  return false;
}

TransportSelector::TransportSelector(std::vector<std::unique_ptr<Transport>> paths, Broadcasts broadcasts, bool collectives,
                                     const CostModel& model)
    : paths_(std::move(paths)), model_(model), broadcasts_(broadcasts) {
  std::vector<std::string_view> names;
  for (const auto& path : paths_) {
    names.push_back(path->name());
    in_model_.push_back(model_.Find(path->name()));
    const TransportInfo* const info = FindTransport(path->name());
    collective_ = collective_ || (collectives && (info == nullptr || info->collective));
  }
  name_ = fmt::format("{}", fmt::join(names, "+"));
}

Choice TransportSelector::Predict(std::size_t path, PartId from, PartId to, const BufferShape& buffer,
                                  Load load) const noexcept {
  Choice choice = PredictedBy(model_, in_model_[path], from, to, buffer, load);
  choice.path = static_cast<std::uint8_t>(path);
  return choice;
}

std::size_t TransportSelector::DefaultPath(PartId from, PartId to) const noexcept {
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const bool joins = in_model_[p] != CostModel::kNoPath && model_.Joins(in_model_[p], from, to);
    if (joins && paths_[p]->IsZeroCopyReceive(from, to)) return p;
  }
  return CostModel::kNoPath;
}

Choice TransportSelector::Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept {
  const Choice choice = LeastOf(model_, in_model_, from, to, buffer, load);
  const std::size_t otherwise = DefaultPath(from, to);
  if (otherwise == CostModel::kNoPath || otherwise == choice.path) return choice;
  const Choice stays = Predict(otherwise, from, to, buffer, load);
  return IsClearlyLess(choice, stays) ? choice : stays;
}

bool TransportSelector::BroadcastPays(const Choice& broadcast, const Choice& slowest) noexcept {
  return IsClearlyLess(broadcast, slowest);
}

void TransportSelector::ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers,
                                  std::uint32_t senders, std::span<Choice> choices) const noexcept {
  const auto has_link = [&](PartId q) {
    const std::size_t p = model_.links_apart() ? DefaultPath(from, q) : CostModel::kNoPath;
    return p != CostModel::kNoPath && paths_[p]->name() == "p2p-direct";
  };
  std::array<bool, kMaxDevices> linked{};
  std::uint32_t over_links = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) over_links += (linked[i] = has_link(to[i])) ? 1 : 0;
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
