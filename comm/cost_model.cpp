#include "chatty/comm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chatty {

std::string_view LoadName(MeasuredLoad load) { return load == MeasuredLoad::kAlone ? "alone" : "all-to-all"; }

// -------------------------------------------------------------- predictions ----

CostModel::CostModel(std::vector<std::string> paths, std::size_t devices)
    : paths_(std::move(paths)), devices_(devices), costs_(paths_.size() * devices * devices * kMeasuredLoads) {}

std::size_t CostModel::Find(std::string_view name) const noexcept {
  const auto found = std::find(paths_.begin(), paths_.end(), name);
  return found == paths_.end() ? kNoPath : static_cast<std::size_t>(found - paths_.begin());
}

Cost CostModel::CostUnder(std::size_t path, std::size_t from, std::size_t to, Load load) const noexcept {
  const Cost& alone = cost(path, from, to);
  const bool broadcast = from == to;
  const std::size_t most = devices_ * (broadcast ? 1 : devices_ - 1);
  const std::size_t senders = std::clamp<std::size_t>(load.senders, 1, devices_);
  const std::size_t buffers = senders * (broadcast ? 1 : std::clamp<std::size_t>(load.buffers, 1, devices_ - 1));
  if (buffers <= 1 || !alone.exists()) return alone;
  // The share of all buffers that the machine can have under way at once, less the one alone.
  const double busy = static_cast<double>(buffers - 1) / static_cast<double>(most - 1);
  const Cost& all = cost(path, from, to, MeasuredLoad::kAllToAll);
  const auto between = [busy](double a, double b) { return (1 - busy) * a + busy * b; };
  return {between(alone.alpha_us, all.alpha_us),           between(alone.beta_us_per_byte, all.beta_us_per_byte),
          between(alone.entry_us, all.entry_us),           between(alone.place_us, all.place_us),
          between(alone.bitmap_factor, all.bitmap_factor), between(alone.error, all.error)};
}

std::size_t CostModel::Best(std::size_t from, std::size_t to, Encoding encoding, std::size_t bytes, std::size_t entries,
                            Load load) const noexcept {
  std::size_t best = kNoPath;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    const double us = PredictUs(path, from, to, encoding, bytes, entries, load);
    if (us < least) {
      least = us;
      best = path;
    }
  }
  return best;
}

// --------------------------------------------------------------------- fits ----

Cost FitCost(const CostSamples& samples) {
  const auto& [shortest, middle, longest, sparse, empty, full] = samples;
  Cost cost;
  cost.alpha_us = std::min(shortest.us, longest.us);
  cost.beta_us_per_byte = std::max(longest.us - shortest.us, 0.1 * longest.us) / longest.bytes;
  cost.largest = longest.bytes;
  const auto block_us = [&](double bytes) { return cost.Us(Encoding::kDense, bytes, 0); };
  for (const CostSample& block : {shortest, middle, longest}) {
    cost.error += std::abs(block_us(block.bytes) / block.us - 1) / 3;
  }
  cost.entry_us = std::max(0.0, sparse.us - block_us(sparse.bytes)) / sparse.entries;
  cost.place_us = std::max(0.0, empty.us - block_us(empty.bytes)) / empty.entries;
  const double of_bytes = full.us - cost.alpha_us - cost.place_us * full.entries;
  cost.bitmap_factor = std::max(1.0, of_bytes / (cost.beta_us_per_byte * full.bytes));
  return cost;
}

}  // namespace chatty
