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

using Choice = TransportSelector::Choice;

/// Whether a time is less than another by more than the predictions' error.
bool IsClearlyLess(const Choice& one, const Choice& other) {
  return one.us < (1 - std::max({one.error, other.error, kLeastError})) * other.us;
}

/// The prediction of path `p` of the model for a buffer, as the choice of `path`.
Choice PredictedBy(const CostModel& model, std::size_t p, std::uint8_t path, PartId from, PartId to,
                   const BufferShape& buffer, Load load) noexcept {
  const Cost cost = model.CostUnder(p, from, to, buffer.encoding, load);
  return {path, cost.Us(static_cast<double>(buffer.bytes), static_cast<double>(buffer.entries)), cost.error};
}

/// The paths that move no bytes between packing and unpacking, in the order in which they are preferred.
constexpr std::array<std::string_view, 3> kZeroCopyPaths = {"host", "p2p-direct", "uva"};

/// Whether the path moves every buffer through host memory. NCCL does so for all pairs if one pair has no link; other paths
/// do so for pairs without a link.
bool GoesThroughHost(std::string_view path, const CostModel& model) {
  return path == "uva" || path == "staged" || path == "uva-hub" || (path == "nccl" && !model.all_reach());
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
  std::vector<const TransportInfo*> infos;  // null: may not be taken
  for (const std::string& path : model.paths()) {
    const TransportInfo* const info = FindTransport(path);
    const bool may = info != nullptr && AutoMayTake(path, kind);  // a model may name a path that this build lacks
    infos.push_back(may && (collectives || !info->collective) ? info : nullptr);
  }
  // Every path for some sizes of every pair that exchanges data.
  std::vector<std::vector<Choice>> cases;
  const std::size_t devices = capacities.size();
  const Load all{static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)};
  for (PartId from = 0; from < devices; ++from) {
    for (PartId to = 0; to < devices; ++to) {
      const std::size_t capacity = capacities[from][to];
      for (std::size_t bytes = 256; from != to && capacity != 0; bytes *= 16) {
        const std::size_t size = std::min(bytes, capacity);
        // Assumes a bitmap above a quarter of the capacity, and below it a sparse buffer with entries of 8 bytes.
        const bool swept = size > capacity / 4;
        const BufferShape buffer{swept ? Encoding::kBitmap : Encoding::kSparse, size, (swept ? capacity : size) / 8};
        std::vector<Choice>& one = cases.emplace_back();
        for (std::size_t p = 0; p < infos.size(); ++p) {
          const auto path = static_cast<std::uint8_t>(p);
          one.push_back(infos[p] == nullptr ? Choice{path, kInfinite} : PredictedBy(model, p, path, from, to, buffer, all));
        }
        if (size == capacity) break;
      }
    }
  }
  std::vector<std::size_t> chosen;
  const auto best = [&](const std::vector<Choice>& one) {
    Choice least{0, kInfinite};
    for (const std::size_t p : chosen) least = one[p].us < least.us ? one[p] : least;
    return least;
  };
  // First every pair's default path.
  for (const std::string_view name : kZeroCopyPaths) {
    const std::size_t p = model.Find(name);
    if (p != CostModel::kNoPath && std::any_of(cases.begin(), cases.end(), [&](const std::vector<Choice>& one) {
          return one[p].us != kInfinite && best(one).us == kInfinite;
        })) {
      chosen.push_back(p);
    }
  }
  while (chosen.size() < kMaxPaths) {
    // The path with the largest total gain over all cases. Where a case has no path yet, any path is better than none.
    std::size_t next = CostModel::kNoPath;
    double most = 0;
    for (std::size_t p = 0; p < infos.size(); ++p) {
      double gain = 0;
      for (const std::vector<Choice>& one : cases) {
        const Choice now = best(one);
        if (one[p].us == kInfinite) continue;
        if (now.us == kInfinite) {
          gain += 1e6 + 1e3 / (1 + one[p].us);
        } else if (IsClearlyLess(one[p], now)) {
          gain += 1 - one[p].us / now.us;
        }
      }
      if (gain > most) {
        most = gain;
        next = p;
      }
    }
    if (next == CostModel::kNoPath) break;
    chosen.push_back(next);
  }
  std::vector<std::string_view> names;
  names.reserve(chosen.size());
  for (const std::size_t p : chosen) names.push_back(infos[p]->name);
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
  const Load all{static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)};
  const auto least = [&](PartId from, PartId to, std::size_t bytes) {
    Choice least{0, kInfinite};
    for (const std::string_view path : paths) {
      const std::size_t p = model.Find(path);
      if (p == CostModel::kNoPath) continue;
      const Choice one = PredictedBy(model, p, 0, from, to, {Encoding::kBitmap, bytes, bytes / 8}, all);
      if (one.us < least.us) least = one;
    }
    return least;
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
    shares_host_links_.push_back(!model_.links_apart() || GoesThroughHost(path->name(), model_));
    const TransportInfo* const info = FindTransport(path->name());
    collective_ = collective_ || (collectives && (info == nullptr || info->collective));
  }
  name_ = fmt::format("{}", fmt::join(names, "+"));
}

TransportSelector::Choice TransportSelector::Predict(std::size_t path, PartId from, PartId to, const BufferShape& buffer,
                                                     Load load) const noexcept {
  const auto index = static_cast<std::uint8_t>(path);
  if (in_model_[path] == CostModel::kNoPath) return {index, kInfinite};
  Choice choice = PredictedBy(model_, in_model_[path], index, from, to, buffer, load);
  if (!buffer.payload) choice.us += model_.engine_us();
  return choice;
}

std::size_t TransportSelector::DefaultPath(PartId from, PartId to) const noexcept {
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const bool joins = in_model_[p] != CostModel::kNoPath && model_.Joins(in_model_[p], from, to);
    if (joins && paths_[p]->IsZeroCopyReceive(from, to)) return p;
  }
  return CostModel::kNoPath;
}

template <class LoadOf>
TransportSelector::Choice TransportSelector::ChooseUnder(PartId from, PartId to, const BufferShape& buffer,
                                                         const LoadOf& load_of) const noexcept {
  Choice choice{0, kInfinite};
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const Choice one = Predict(p, from, to, buffer, load_of(p));
    if (one.us < choice.us) choice = one;
  }
  const std::size_t otherwise = DefaultPath(from, to);
  if (otherwise == CostModel::kNoPath || otherwise == choice.path) return choice;
  const Choice stays = Predict(otherwise, from, to, buffer, load_of(otherwise));
  return IsClearlyLess(choice, stays) ? choice : stays;
}

TransportSelector::Choice TransportSelector::Choose(PartId from, PartId to, const BufferShape& buffer,
                                                    Load load) const noexcept {
  return ChooseUnder(from, to, buffer, [load](std::size_t) { return load; });
}

bool TransportSelector::BroadcastPays(const Choice& broadcast, const Choice& slowest) noexcept {
  return IsClearlyLess(broadcast, slowest);
}

std::uint32_t TransportSelector::ContendingBuffers(std::size_t path, std::span<const std::uint8_t> paths) const noexcept {
  return static_cast<std::uint32_t>(std::count_if(paths.begin(), paths.end(), [&](std::uint8_t other) {
    return shares_host_links_[other] == shares_host_links_[path];
  }));
}

void TransportSelector::ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers,
                                  std::uint32_t senders, std::span<Choice> choices) const noexcept {
  const auto all = static_cast<std::uint32_t>(buffers.size());
  std::array<std::uint8_t, kMaxDevices> paths{};
  const std::span<std::uint8_t> chosen = std::span(paths).first(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    choices[i] = Choose(from, to[i], buffers[i], {.buffers = all, .senders = senders});
    chosen[i] = choices[i].path;
  }
  const std::uint32_t with_first = all == 0 ? 0 : ContendingBuffers(chosen[0], chosen);
  if (with_first == all) return;
  // Predicts each buffer under the load of those that contend with it. Returns the time of the slowest.
  const auto predict = [&](std::span<Choice> choice) {
    double slowest = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      choice[i] =
          Predict(chosen[i], from, to[i], buffers[i], {.buffers = ContendingBuffers(chosen[i], chosen), .senders = senders});
      slowest = std::max(slowest, choice[i].us);
    }
    return slowest;
  };
  const double before = predict(choices);
  std::array<Choice, kMaxDevices> again{};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    again[i] = ChooseUnder(from, to[i], buffers[i], [&](std::size_t p) {
      const std::uint32_t contending =
          ContendingBuffers(p, chosen) + (shares_host_links_[p] != shares_host_links_[chosen[i]] ? 1 : 0);
      return Load{.buffers = contending, .senders = senders};
    });
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) chosen[i] = again[i].path;
  if (predict(std::span(again).first(buffers.size())) < before) std::copy_n(again.begin(), buffers.size(), choices.begin());
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
