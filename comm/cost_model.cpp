#include "chatty/comm/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "chatty/core/error.h"

namespace chatty {

std::string_view LoadCornerName(LoadCorner corner) {
  constexpr std::array<std::string_view, kLoadCorners> kNames = {"alone", "fan-out", "ring", "all-to-all"};
  return kNames.at(static_cast<std::size_t>(corner));
}

std::string_view BufferContentName(BufferContent content) {
  constexpr std::array<std::string_view, kBufferContents> kNames = {"lists",    "marks", "values",
                                                                    "messages", "bits",  "payloads"};
  return kNames.at(static_cast<std::size_t>(content));
}

// -------------------------------------------------------------- predictions ----

CostModel::CostModel(std::vector<std::string> paths, std::size_t devices)
    : paths_(std::move(paths)), devices_(devices), broadcasts_(paths_.size() * devices * 2) {
  pairs_[static_cast<std::size_t>(BufferContent::kList)].resize(paths_.size() * devices * devices * kLoadCorners);
}

std::size_t CostModel::Find(std::string_view name) const noexcept {
  const auto found = std::find(paths_.begin(), paths_.end(), name);
  return found == paths_.end() ? kNoPath : static_cast<std::size_t>(found - paths_.begin());
}

double CostModel::PredictUs(std::size_t path, std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages,
                            Load load) const noexcept {
  const CostFit* const fits = &fit(path, from, to);
  if (!fits[0].exists()) return std::numeric_limits<double>::infinity();
  return Between(fits, static_cast<double>(bytes), static_cast<double>(messages), load);
}

double CostModel::PredictContentUs(BufferContent content, std::size_t path, std::size_t from, std::size_t to,
                                   std::size_t bytes, std::size_t count, Load load) const noexcept {
  const CostFit* const fits = &fit(path, from, to, LoadCorner::kAlone, content);
  if (!fits[0].exists()) return std::numeric_limits<double>::quiet_NaN();
  return Between(fits, static_cast<double>(bytes), static_cast<double>(count), load);
}

double CostModel::Between(const CostFit* fits, double b, double m, Load load) const noexcept {
  const double alone = fits[0].Us(b, m);
  if (load.buffers <= 1 && load.senders <= 1) return alone;
  const auto share = [](std::uint32_t count, std::size_t most) {
    return most < 2 || count <= 1
               ? 0.0
               : static_cast<double>(std::min<std::size_t>(count, most) - 1) / static_cast<double>(most - 1);
  };
  const double wide = share(load.buffers, devices_ - 1), many = share(load.senders, devices_);
  const auto at = [&](LoadCorner corner, double otherwise) {
    const CostFit& fit = fits[static_cast<std::size_t>(corner)];
    return fit.exists() ? fit.Us(b, m) : otherwise;
  };
  const double fan_out = at(LoadCorner::kFanOut, alone), ring = at(LoadCorner::kRing, alone);
  const double all = at(LoadCorner::kAllToAll, std::max(fan_out, ring));
  return (1 - many) * ((1 - wide) * alone + wide * fan_out) + many * ((1 - wide) * ring + wide * all);
}

double CostModel::PredictBroadcastUs(std::size_t path, std::size_t from, std::size_t bytes, std::size_t messages,
                                     std::uint32_t senders) const noexcept {
  const CostFit* const fits = &broadcasts_[Root(path, from)];
  const auto b = static_cast<double>(bytes), m = static_cast<double>(messages);
  if (!fits[0].exists()) return std::numeric_limits<double>::infinity();
  const double alone = fits[0].Us(b, m);
  if (senders <= 1 || devices_ < 2 || !fits[1].exists()) return alone;
  const double many = static_cast<double>(std::min<std::size_t>(senders, devices_) - 1) / static_cast<double>(devices_ - 1);
  return (1 - many) * alone + many * fits[1].Us(b, m);
}

std::size_t CostModel::Best(std::size_t from, std::size_t to, std::size_t bytes, std::size_t messages,
                            Load load) const noexcept {
  std::size_t best = kNoPath;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    const double us = PredictUs(path, from, to, bytes, messages, load);
    if (us < least) {
      least = us;
      best = path;
    }
  }
  return best;
}

std::size_t CostModel::BestBroadcast(std::size_t from, std::size_t bytes, std::size_t messages,
                                     std::uint32_t senders) const noexcept {
  std::size_t best = kNoPath;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    const double us = PredictBroadcastUs(path, from, bytes, messages, senders);
    if (us < least) {
      least = us;
      best = path;
    }
  }
  return best;
}

Load CostModel::LoadOf(LoadCorner corner, std::size_t devices) noexcept {
  const auto all = static_cast<std::uint32_t>(devices);
  Load load;
  if (corner == LoadCorner::kFanOut || corner == LoadCorner::kAllToAll) load.buffers = std::max(1u, all - 1);
  if (corner == LoadCorner::kRing || corner == LoadCorner::kAllToAll) load.senders = all;
  return load;
}

std::vector<Crossover> CostModel::Crossovers(std::size_t from, std::size_t to, LoadCorner corner, double bytes_per_message,
                                             double most) const {
  if (from >= devices_ || to >= devices_ || from == to) {
    Throw<UsageError>("there is no pair of devices {} and {}; the {} are counted from 0", from, to, devices_);
  }
  // Piecewise linear costs change places at the ends of pieces and where two lines meet.
  struct Path {
    std::size_t index;
    const CostFit* fit;
  };
  std::vector<Path> present;
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    const CostFit* chosen = &fit(path, from, to, corner);
    if (!chosen->exists()) chosen = &fit(path, from, to);
    if (chosen->exists()) present.push_back({path, chosen});
  }
  const double per_byte = bytes_per_message > 0 ? 1 / bytes_per_message : 0;
  const auto slope = [per_byte](const Cost& cost) { return cost.beta_us_per_byte + cost.gamma_us_per_message * per_byte; };
  std::vector<double> ends{1, most};
  for (const Path& a : present) {
    if (a.fit->split < most) ends.push_back(a.fit->split);
    for (const Path& b : present) {
      if (a.index >= b.index) continue;
      for (const Cost* line : {&a.fit->small, &a.fit->large}) {
        for (const Cost* other : {&b.fit->small, &b.fit->large}) {
          const double steeper = slope(*line) - slope(*other);
          const double meet = (other->alpha_us - line->alpha_us) / steeper;
          if (steeper != 0 && meet > 1 && meet < most) ends.push_back(meet);
        }
      }
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<Crossover> crossovers;
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i + 1 < ends.size() && !present.empty(); ++i) {
    if (ends[i] < 1 || ends[i] >= most) continue;
    const double inside = ends[i] + (ends[i + 1] - ends[i]) / 2;  // no two lines meet between two ends
    const auto us = [&](const Path& path) { return path.fit->Us(inside, inside * per_byte); };
    const Path& now =
        *std::min_element(present.begin(), present.end(), [&](const Path& a, const Path& b) { return us(a) < us(b); });
    if (fastest && *fastest != now.index) crossovers.push_back({ends[i], *fastest, now.index});
    fastest = now.index;
  }
  return crossovers;
}
}  // namespace chatty
