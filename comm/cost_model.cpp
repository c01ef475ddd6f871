#include "chatty/comm/cost_model.h"

#include <algorithm>
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

Cost CostModel::CostUnder(std::size_t path, std::size_t from, std::size_t to, Encoding encoding, Load load) const noexcept {
  const Cost& alone = cost(path, from, to, encoding);
  const bool broadcast = from == to;
  const std::size_t most = devices_ * (broadcast ? 1 : devices_ - 1);
  const std::size_t senders = std::clamp<std::size_t>(load.senders, 1, devices_);
  const std::size_t buffers = senders * (broadcast ? 1 : std::clamp<std::size_t>(load.buffers, 1, devices_ - 1));
  if (buffers <= 1 || !alone.exists()) return alone;
  // The share of all buffers that the machine can have under way at once, less the one alone.
  const double busy = static_cast<double>(buffers - 1) / static_cast<double>(most - 1);
  const Cost& all = cost(path, from, to, encoding, MeasuredLoad::kAllToAll);
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

Cost FitBlocks(const CostSample& shortest, const CostSample& middle, const CostSample& longest) {
  Cost line;
  line.beta_us_per_byte = std::max(longest.us - shortest.us, 0.1 * longest.us) / longest.bytes;
  line.alpha_us = std::min(shortest.us, longest.us);
  for (const CostSample& block : {shortest, middle, longest}) {
    line.error += std::abs(line.Us(block.bytes, 0) / block.us - 1) / 3;
  }
  line.largest = longest.bytes;
  return line;
}

Cost FitEntries(Cost line, const CostSample& buffer) {
  line.gamma_us_per_entry = std::max(buffer.us - line.Us(buffer.bytes, 0), 0.0) / buffer.entries;
  return line;
}

}  // namespace chatty
