#include "chatty/comm/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace chatty {

std::string_view LoadName(MeasuredLoad load) { return load == MeasuredLoad::kAlone ? "alone" : "all-to-all"; }

// -------------------------------------------------------------- predictions ----

CostModel::CostModel(std::vector<std::string> paths, std::size_t devices)
    : paths_(std::move(paths)), devices_(devices), costs_(paths_.size() * devices * devices * kEncodings * kMeasuredLoads) {}

std::size_t CostModel::Find(std::string_view name) const noexcept {
  const auto found = std::find(paths_.begin(), paths_.end(), name);
  return found == paths_.end() ? kNoPath : static_cast<std::size_t>(found - paths_.begin());
}

const Cost& CostModel::KnownCost(std::size_t path, std::size_t from, std::size_t to, Encoding encoding,
                                 MeasuredLoad load) const noexcept {
  if (!cost(path, from, to, encoding).exists()) encoding = Encoding::kDense;
  const Cost& known = cost(path, from, to, encoding, load);
  return known.exists() ? known : cost(path, from, to, encoding);
}

Cost CostModel::CostUnder(std::size_t path, std::size_t from, std::size_t to, Encoding encoding, Load load) const noexcept {
  const Cost& alone = KnownCost(path, from, to, encoding);
  const bool broadcast = from == to;
  const std::size_t most = devices_ * (broadcast ? 1 : devices_ - 1);
  const std::size_t senders = std::clamp<std::size_t>(load.senders, 1, devices_);
  const std::size_t buffers = senders * (broadcast ? 1 : std::clamp<std::size_t>(load.buffers, 1, devices_ - 1));
  if (buffers <= 1 || !alone.exists()) return alone;
  // The share of all buffers that the machine can have under way at once, less the one alone.
  const double busy = static_cast<double>(buffers - 1) / static_cast<double>(most - 1);
  const Cost& all = KnownCost(path, from, to, encoding, MeasuredLoad::kAllToAll);
  const auto between = [busy](double a, double b) { return (1 - busy) * a + busy * b; };
  return {between(alone.alpha_us, all.alpha_us), between(alone.beta_us_per_byte, all.beta_us_per_byte),
          between(alone.gamma_us_per_entry, all.gamma_us_per_entry), between(alone.error, all.error)};
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

Cost FitCost(std::span<const CostSample> samples) {
  // Sums of products of the columns (1, bytes, entries), each divided by the measured time, and of a column and 1.
  std::array<std::array<double, 3>, 3> gram{};
  std::array<double, 3> target{}, x{};
  Cost cost;
  bool sizes = false;
  for (const CostSample& sample : samples) {
    const std::array<double, 3> row{1 / sample.us, sample.bytes / sample.us, sample.entries / sample.us};
    for (std::size_t i = 0; i < 3; ++i) {
      target[i] += row[i];
      for (std::size_t j = 0; j < 3; ++j) gram[i][j] += row[i] * row[j];
    }
    cost.largest = std::max(cost.largest, sample.bytes);
    sizes = sizes || sample.bytes != samples.front().bytes;
  }
  if (!sizes) gram[1][1] = gram[2][2] = 0;  // only a constant is determined
  // Non-negative least squares by coordinate descent: each coefficient in turn takes its best value, or 0.
  constexpr int kSweeps = 2000;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < 3; ++i) {
      double rest = target[i];
      for (std::size_t j = 0; j < 3; ++j) rest -= j == i ? 0 : gram[i][j] * x[j];
      x[i] = gram[i][i] > 0 ? std::max(0.0, rest / gram[i][i]) : 0;
    }
  }
  cost.alpha_us = x[0];
  cost.beta_us_per_byte = x[1];
  cost.gamma_us_per_entry = x[2];
  std::vector<double> errors;
  for (const CostSample& sample : samples) {
    errors.push_back(std::abs(cost.Us(sample.bytes, sample.entries) / sample.us - 1));
  }
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  cost.error = *middle;
  cost.samples = static_cast<std::uint32_t>(samples.size());
  if (sizes && x[1] == 0) cost.beta_us_per_byte = std::min(cost.error, 1.0) * cost.alpha_us / cost.largest;
  return cost;
}

}  // namespace chatty
