#include "chatty/comm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chatty {

std::string_view LoadName(MeasuredLoad load) { return load == MeasuredLoad::kAlone ? "alone" : "all-to-all"; }

CostModel::CostModel(std::vector<std::string> paths, std::size_t devices)
    : paths_(std::move(paths)), devices_(devices), costs_(paths_.size() * devices * devices * kMeasuredLoads) {}

CostModel CostModel::Of(std::span<const std::string_view> paths) const {
  if (devices_ == 0) return {};
  CostModel model = *this;
  const std::size_t each = devices_ * devices_ * kMeasuredLoads;
  model.paths_.assign(paths.begin(), paths.end());
  model.costs_.assign(paths.size() * each, Cost{});
  for (std::size_t path = 0; path < paths.size(); ++path) {
    const std::size_t found = Find(paths[path]);
    if (found != kNoPath) std::copy_n(&costs_[found * each], each, &model.costs_[path * each]);
  }
  return model;
}

std::size_t CostModel::Find(std::string_view name) const noexcept {
  const auto found = std::find(paths_.begin(), paths_.end(), name);
  return found == paths_.end() ? kNoPath : static_cast<std::size_t>(found - paths_.begin());
}

PathChoice CostModel::Least(std::size_t first, std::size_t last, std::size_t from, std::size_t to, const BufferShape& buffer,
                            Load load) const noexcept {
  PathChoice least{static_cast<std::uint8_t>(first), std::numeric_limits<double>::infinity(), 0, load};
  if (devices_ < 2) return least;
  const std::size_t others = from == to ? 1 : devices_ - 1;  // buffers of a sender: one broadcast, or one to each
  const std::size_t senders = std::clamp<std::size_t>(load.senders, 1, devices_);
  const std::size_t buffers = senders * std::clamp<std::size_t>(load.buffers, 1, others);
  // The share of all buffers that the machine can have under way at once, less the one alone.
  const double busy = static_cast<double>(buffers - 1) / static_cast<double>(devices_ * others - 1);
  const auto between = [busy](double a, double b) { return (1 - busy) * a + busy * b; };
  const auto bytes = static_cast<double>(buffer.bytes), entries = static_cast<double>(buffer.entries);
  for (std::size_t path = first; path < last; ++path) {
    Cost line = cost(path, from, to);
    if (!line.exists()) continue;
    if (busy > 0) {
      const Cost& all = cost(path, from, to, MeasuredLoad::kAllToAll);
      line = {between(line.alpha_us, all.alpha_us),           between(line.beta_us_per_byte, all.beta_us_per_byte),
              between(line.entry_us, all.entry_us),           between(line.place_us, all.place_us),
              between(line.bitmap_factor, all.bitmap_factor), between(line.error, all.error)};
    }
    const double us = line.Us(buffer.encoding, bytes, entries);
    if (us < least.us) least = {static_cast<std::uint8_t>(path), us, line.error, load};
  }
  if (!buffer.payload) least.us += engine_us();
  return least;
}

Cost FitCost(const CostSamples& samples) {
  const auto& [shortest, middle, longest, sparse, empty, full] = samples;
  Cost cost;
  cost.alpha_us = std::min(shortest.us, longest.us);
  cost.beta_us_per_byte = std::max(longest.us - shortest.us, 0.1 * longest.us) / longest.bytes;
  cost.largest = longest.bytes;
  const auto block_us = [&](double bytes) { return cost.Us(Encoding::kDense, bytes, 0); };
  cost.error = std::abs(block_us(middle.bytes) / middle.us - 1);
  cost.entry_us = std::max(0.0, sparse.us - block_us(sparse.bytes)) / sparse.entries;
  cost.place_us = std::max(0.0, empty.us - block_us(empty.bytes)) / empty.entries;
  const double of_bytes = full.us - cost.alpha_us - cost.place_us * full.entries;
  cost.bitmap_factor = std::max(1.0, of_bytes / (cost.beta_us_per_byte * full.bytes));
  return cost;
}

}  // namespace chatty
