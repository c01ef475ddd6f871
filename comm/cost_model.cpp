#include "chatty/comm/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "chatty/comm/rings.h"
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

// -------------------------------------------------------------------- fitting ----

namespace {

using Columns = std::array<double, 3>;  // of 1, bytes and messages

/// An equation of least squares: the value that row times solution should have.
struct Row {
  Columns row{};
  double value = 0;
};

/// Least squares over the columns in `used` by modified Gram-Schmidt; none if the columns depend on each other.
std::optional<Columns> Solve(std::span<const Row> rows, unsigned used) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < 3; ++c) {
    if ((used >> c & 1u) != 0) columns.push_back(c);
  }
  std::vector<std::vector<double>> q(columns.size(), std::vector<double>(rows.size()));
  std::array<std::array<double, 3>, 3> r{};
  Columns projected{};
  std::vector<double> rest(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rest[i] = rows[i].value;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    double whole = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      q[k][i] = rows[i].row[columns[k]];
      whole += q[k][i] * q[k][i];
    }
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t i = 0; i < rows.size(); ++i) r[j][k] += q[j][i] * q[k][i];
      for (std::size_t i = 0; i < rows.size(); ++i) q[k][i] -= r[j][k] * q[j][i];
    }
    double norm = 0;
    for (const double value : q[k]) norm += value * value;
    if (norm <= 1e-20 * whole || whole <= 0) return std::nullopt;
    r[k][k] = std::sqrt(norm);
    for (double& value : q[k]) value /= r[k][k];
    for (std::size_t i = 0; i < rows.size(); ++i) projected[k] += q[k][i] * rest[i];
    for (std::size_t i = 0; i < rows.size(); ++i) rest[i] -= projected[k] * q[k][i];
  }
  Columns solution{};
  for (std::size_t k = columns.size(); k-- > 0;) {
    double value = projected[k];
    for (std::size_t j = k + 1; j < columns.size(); ++j) value -= r[k][j] * solution[columns[j]];
    solution[columns[k]] = value / r[k][k];
  }
  return solution;
}

/// As Solve, without negative coefficients. With three coefficients, all sets of nonzero ones can be tried.
Cost SolveNonNegative(std::span<const Row> rows) {
  Columns best{};
  double least = std::numeric_limits<double>::infinity();
  for (const unsigned used : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {  // among equals the fewest coefficients, bytes before messages
    const std::optional<Columns> solved = Solve(rows, used);
    if (!solved || *std::min_element(solved->begin(), solved->end()) < 0) continue;
    double squares = 0;
    for (const Row& row : rows) {
      const double off = std::inner_product(row.row.begin(), row.row.end(), solved->begin(), -row.value);
      squares += off * off;
    }
    if (squares >= least - 1e-12) continue;
    best = *solved;
    least = squares;
  }
  return {best[0], best[1], best[2]};
}

double RelativeError(const Cost& cost, const CostSample& sample) {
  return std::abs(cost.Us(sample.bytes, sample.messages) / sample.us - 1);
}

/// Logarithms of predicted over measured times count by their squares up to here and by their size beyond. So samples with
/// threads that wake early or late do not bend the line.
constexpr double kOutlier = 0.25;

struct Line {
  Cost cost;
  double loss = std::numeric_limits<double>::infinity();
};

/// For each of sorted samples the median of five around it: a start that no single sample can spoil.
std::vector<double> Smoothed(std::span<const CostSample> samples) {
  const std::size_t window = std::min<std::size_t>(5, samples.size());
  std::vector<double> smoothed;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t first = std::min(i - std::min(i, window / 2), samples.size() - window);
    std::array<double, 5> times{};
    for (std::size_t j = 0; j < window; ++j) times[j] = samples[first + j].us;
    std::nth_element(times.begin(), times.begin() + window / 2, times.begin() + window);
    smoothed.push_back(times[window / 2]);
  }
  return smoothed;
}

/// The line through sorted samples of least loss by Huber's function of those logarithms, by iteratively reweighted least
/// squares. A factor too high counts as one too low, and larger factors do not pull harder.
Line FitLine(std::span<const CostSample> samples) {
  constexpr int kMaxRounds = 30;
  std::vector<double> predicted = Smoothed(samples);
  std::vector<Row> rows(samples.size());
  Line best;
  for (int round = 0; round < kMaxRounds; ++round) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const CostSample& sample = samples[i];
      // With this weight the square has the slope of the loss.
      const double ratio = predicted[i] / sample.us, off = std::log(ratio);
      const double slope = std::abs(ratio - 1) < 1e-6 ? 1 : off / (ratio - 1);
      const double weight = std::sqrt(slope * std::min(1.0, kOutlier / std::abs(off)) / ratio) / sample.us;
      rows[i] = {{weight, weight * sample.bytes, weight * sample.messages}, weight * sample.us};
    }
    const Cost cost = SolveNonNegative(rows);
    double loss = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const CostSample& sample = samples[i];
      predicted[i] = std::max(cost.Us(sample.bytes, sample.messages), 1e-9 * sample.us);
      const double off = std::abs(std::log(predicted[i] / sample.us));
      loss += off <= kOutlier ? off * off : kOutlier * (2 * off - kOutlier);
    }
    const double before = best.loss;
    if (loss < best.loss) best = {cost, loss};
    if (loss >= before * (1 - 1e-6) - 1e-12) break;
  }
  return best;
}

constexpr double kLargeBytes = 64 * 1024;
/// Relative errors up to this do not justify a second line.
constexpr double kGoodEnough = 0.1;

/// Records how far samples are off a fit, for reports.
void NoteErrors(CostFit& fit, std::span<const CostSample> samples) {
  std::vector<double> errors;
  fit.worst_large_error = 0;
  for (const CostSample& sample : samples) {
    errors.push_back(RelativeError(fit.At(sample.bytes), sample));
    if (sample.bytes > kLargeBytes) fit.worst_large_error = std::max(fit.worst_large_error, errors.back());
  }
  std::sort(errors.begin(), errors.end());
  fit.median_error = errors[errors.size() / 2];
  fit.worst_error = errors.back();
  fit.samples = static_cast<std::uint32_t>(samples.size());
}

/// The end of the small line: where both lines meet, if that is between the last small sample and the first large one.
double SplitBetween(const Cost& small, const Cost& large, double last, double first) {
  const double meet = (large.alpha_us - small.alpha_us) / (small.beta_us_per_byte - large.beta_us_per_byte);
  return meet > last && meet <= first ? meet : std::sqrt(std::max(last, 1.0) * first);
}

}  // namespace

CostFit FitCost(std::span<const CostSample> samples) {
  if (samples.empty()) throw UsageError("a cost cannot be fitted to no samples");
  for (const CostSample& sample : samples) {
    const bool valid = std::isfinite(sample.us) && sample.us > 0 && std::isfinite(sample.bytes) && sample.bytes >= 0 &&
                       std::isfinite(sample.messages) && sample.messages >= 0;
    if (!valid) {
      Throw<UsageError>(
          "a sample of {} bytes and {} messages in {} us is none; all have to be finite, and the time positive",
          sample.bytes, sample.messages, sample.us);
    }
  }
  std::vector<CostSample> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end(), [](const CostSample& a, const CostSample& b) {
    return std::pair(a.bytes, a.messages) < std::pair(b.bytes, b.messages);
  });
  std::vector<std::size_t> begins;  // of each size; sizes that differ by less than a factor of four are one
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].bytes >= 4 * std::max(sorted[begins.back()].bytes, 1.0)) begins.push_back(i);
  }

  CostFit fit;
  const Line whole = FitLine(sorted);
  fit.small = fit.large = whole.cost;
  const bool good = std::all_of(sorted.begin(), sorted.end(),
                                [&](const CostSample& sample) { return RelativeError(whole.cost, sample) <= kGoodEnough; });
  double densest = 0;  // messages a byte
  for (const CostSample& sample : sorted) densest = std::max(densest, sample.messages / std::max(sample.bytes, 1.0));
  double least = whole.loss / 2;  // two lines must be clearly better
  for (std::size_t size = 2; size + 2 <= begins.size() && !good; ++size) {
    const std::span<const CostSample> all(sorted);
    const Line small = FitLine(all.first(begins[size])), large = FitLine(all.subspan(begins[size]));
    if (small.loss + large.loss >= least) continue;
    const double split = SplitBetween(small.cost, large.cost, sorted[begins[size] - 1].bytes, sorted[begins[size]].bytes);
    // Only noise makes larger messages faster, blocks or entries.
    const auto faster = [&](double messages) {
      return large.cost.Us(split, messages) < (1 - kGoodEnough) * small.cost.Us(split, messages);
    };
    // Only noise makes bytes free from some size on. Messages larger than the measured ones would profit most.
    const bool free = large.cost.beta_us_per_byte == 0 && whole.cost.beta_us_per_byte > 0;
    if (free || faster(0) || faster(densest * split)) continue;
    least = small.loss + large.loss;
    fit.small = small.cost;
    fit.large = large.cost;
    fit.split = split;
  }

  NoteErrors(fit, sorted);
  if (fit.large.beta_us_per_byte == 0 && fit.worst_error > kGoodEnough && begins.size() > 1) {
    // The cost of bytes is hidden if it is below the error of the fit. That error is taken, so that no path carries bytes
    // beyond the samples in no time.
    const bool one_line = fit.small == fit.large;
    fit.large.beta_us_per_byte = std::min(fit.median_error, 1.0) * fit.large.alpha_us / sorted.back().bytes;
    if (one_line) fit.small = fit.large;
    NoteErrors(fit, sorted);
  }
  fit.largest = sorted.back().bytes;
  return fit;
}

// -------------------------------------------------------------- nominal costs ----

namespace {

// Measured on H200s with CUDA 13.0 unless stated otherwise; other GPUs differ less from these than paths from each other.
constexpr double kLaunchUs = 2.9;        // a kernel behind another
constexpr double kSynchroniseUs = 5.6;   // launch and synchronise 8.5 us, less the launch
constexpr double kPushUs = 3.5;          // a kernel that stores 4 KB into a peer's memory: 6.4 us, less a launch
constexpr double kCopyUs = 5.2;          // cudaMemcpyPeerAsync of 4 KB
constexpr double kHostCopyUs = 5.5;      // cudaMemcpyAsync of 4 KB from or to pinned memory
constexpr double kZeroCopyUs = 3.9;      // a kernel that reads or writes 4 KB of host memory: 6.8 us, less a launch
constexpr double kHostFlagUs = 1.5;      // half of a flag's round trip in host memory, 3.0 us
constexpr double kNcclUs = 6.8;          // NCCL's own tuning tables: base latency of its ring with the low-latency protocol
constexpr double kNcclHopUs = 0.6;       // also from there, for each NVLink hop
constexpr double kNcclRankUs = 5;        // broadcasts of 4 KB: 18 us to one other, 29 to three
constexpr double kGatherUs = 1 / 38e3;   // random 4-byte reads over more than the L2: 38 G/s
constexpr double kScatterUs = 1 / 16e3;  // random atomicMin over as much: 16 G/s
constexpr double kLocalBytesPerUs = 2.0e6;  // packing into the device's own memory: a copy counts both ways, 3.99 TB/s
// Achieved shares of nominal bandwidths. Over NVLink a copy gets 394 of 450 GB/s and a kernel that stores 369, alone. The
// faster one differs by machine, and packing into the peer's memory saves a pass: so both have one share here.
constexpr double kPeerShare = 0.85;
constexpr double kHostCopyShare = 0.87, kZeroCopyShare = 0.82;  // 55 and 52 of 63 GB/s over PCIe
constexpr double kPacketLoss = 1.1;                             // packets of a staged buffer, each with a start of its own
constexpr double kNcclShare = 0.72;                             // 128 MB broadcast to one other GPU in 404 us, of 450 GB/s
constexpr double kNcclHostShare = 0.35;  // NCCL's shared memory transport: both GPUs cross PCIe, in small steps
constexpr double kPcieGuess = kAssumedBandwidth;
// Host devices: a thread that wakes another by futex, and one thread's copying.
constexpr double kWakeUs = 5, kHostBytesPerUs = 10e3, kHostGatherUs = 5e-3, kHubUs = 10;

constexpr std::array<std::string_view, 8> kKnownPaths = {"host", "p2p-direct", "p2p-copy", "nccl",
                                                         "ring", "uva",        "staged",   "uva-hub"};

/// From here on staged buffers travel in packets, whose ways out and in overlap.
constexpr double kWholeBytes = 1 << 20;

/// A point-to-point cost, and whether its bytes share one way with a sender's other buffers.
struct Way {
  Cost cost;
  Cost large;              ///< from kWholeBytes on, where buffers are cut into packets; else none
  bool shared_out = true;  ///< a sender's buffers share one way out
};

class Nominals {
 public:
  explicit Nominals(const Topology& topology) : topology_(topology), ring_(FindRings(topology).best) {
    for (std::size_t a = 0; a < topology.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) distinct_ = distinct_ && !OnOneGpu(topology, a, b);
    }
  }

  bool host() const { return topology_.devices().front().kind == DeviceKind::kHost; }

  Way Pair(std::string_view path, std::size_t from, std::size_t to) const {
    return host() ? HostPair(path, from, to) : GpuPair(path, from, to);
  }

  /// From `from` to all others, alone or while all broadcast.
  Cost Broadcast(std::string_view path, std::size_t from, bool all_at_once) const {
    const auto others = static_cast<double>(topology_.size() - 1);
    Cost worst{0, 0, 0};
    for (std::size_t to = 0; to < topology_.size(); ++to) {
      if (to == from) continue;
      const Way way = Pair(path, from, to);
      Cost cost = Under(way, way.cost, all_at_once ? LoadCorner::kAllToAll : LoadCorner::kFanOut);
      if (path == "nccl") {  // pipelined around its ring, at the ring's narrowest hop
        cost = way.cost;
        cost.alpha_us += kNcclRankUs * (others - 1);
        for (std::size_t hop = 0; hop < ring_.order.size(); ++hop) {
          cost.beta_us_per_byte =
              std::max(cost.beta_us_per_byte, Pair(path, ring_.order[hop], ring_.Next(hop)).cost.beta_us_per_byte);
        }
        if (all_at_once) cost.beta_us_per_byte *= others;
      } else if (path == "ring") {  // the ring passes all data; the farthest device has it last
        cost = way.cost;
        if (all_at_once) cost.beta_us_per_byte *= others;
      } else if ((path == "uva" || path == "uva-hub") && !all_at_once) {
        cost = way.cost;  // written once, read by all at the same time
      } else if (host() && (path == "host" || path == "uva")) {
        cost = way.cost;  // packed once, and unpacked by each receiver as often as there are senders
        if (all_at_once) {
          cost.beta_us_per_byte *= (1 + others) / 2;
          cost.gamma_us_per_message *= (1 + others) / 2;
        }
      }
      worst.alpha_us = std::max(worst.alpha_us, cost.alpha_us);
      worst.beta_us_per_byte = std::max(worst.beta_us_per_byte, cost.beta_us_per_byte);
      worst.gamma_us_per_message = std::max(worst.gamma_us_per_message, cost.gamma_us_per_message);
    }
    return worst;
  }

  /// A line of a way under a load.
  Cost Under(const Way& way, Cost cost, LoadCorner corner) const {
    const auto buffers = static_cast<double>(CostModel::LoadOf(corner, topology_.size()).buffers);
    if (host()) {  // senders pack buffers one by one; in all-to-all, receivers unpack as many
      const double times = corner == LoadCorner::kAllToAll ? buffers : (1 + buffers) / 2;
      cost.beta_us_per_byte *= times;
      cost.gamma_us_per_message *= times;
      return cost;
    }
    cost.alpha_us += kLaunchUs * (buffers - 1);
    if (way.shared_out) cost.beta_us_per_byte *= buffers;
    if (corner == LoadCorner::kAllToAll && buffers > 1) {  // and the receiver unpacks as many
      cost.gamma_us_per_message *= buffers;
      cost.alpha_us += kLaunchUs * (buffers - 1);
    }
    return cost;
  }

 private:
  double HostBandwidth(std::size_t device) const {
    const double known = topology_.devices()[device].host.bandwidth;
    return (known > 0 ? known : kPcieGuess) / 1e6;
  }
  /// Microseconds a byte between a device and host memory, both ways one after the other.
  double ThroughHost(std::size_t from, std::size_t to, double share) const {
    return 1 / (share * HostBandwidth(from)) + 1 / (share * HostBandwidth(to));
  }

  Way GpuPair(std::string_view path, std::size_t from, std::size_t to) const {
    const Link& link = topology_.link(from, to);
    const bool peers = ReachEachOther(topology_, from, to);
    const double bandwidth = (link.bandwidth > 0 ? link.bandwidth : kPcieGuess) / 1e6;  // bytes a microsecond
    const double base = 2 * kLaunchUs + kSynchroniseUs;  // packing, unpacking, and the wait for it
    Way way;
    way.cost = {base, 1 / kLocalBytesPerUs, kGatherUs + kScatterUs};
    way.shared_out = link.type != LinkType::kNvlink || link.switched;
    Cost& cost = way.cost;
    if (path == "p2p-direct" && peers) {
      cost.alpha_us += kPushUs;
      cost.beta_us_per_byte += 1 / (kPeerShare * bandwidth);  // packs there rather than here
      cost.beta_us_per_byte -= 1 / kLocalBytesPerUs;
    } else if (path == "p2p-copy" && peers) {
      cost.alpha_us += kCopyUs;
      cost.beta_us_per_byte += 1 / (kPeerShare * bandwidth);
    } else if (path == "nccl" && distinct_) {
      cost.alpha_us += kNcclUs + (peers ? kNcclHopUs : kHostFlagUs);
      cost.beta_us_per_byte +=
          peers ? 1 / (kNcclShare * bandwidth) : 1 / (kNcclHostShare * std::min(HostBandwidth(from), HostBandwidth(to)));
      way.shared_out = way.shared_out || !peers;
    } else if (path == "uva") {
      cost.alpha_us += 2 * kZeroCopyUs;
      cost.beta_us_per_byte = ThroughHost(from, to, kZeroCopyShare);
      way.shared_out = true;
    } else if (path == "staged") {
      cost.alpha_us += 2 * kHostCopyUs;
      const double narrow = 1 / (kHostCopyShare * std::min(HostBandwidth(from), HostBandwidth(to)));
      way.large = cost;  // the first packet goes alone
      way.large.alpha_us += narrow * kWholeBytes * (2 - kPacketLoss);
      way.large.beta_us_per_byte += narrow * kPacketLoss;
      cost.beta_us_per_byte += ThroughHost(from, to, kHostCopyShare);
      way.shared_out = true;
    } else if (path == "uva-hub") {  // a host thread takes the buffer from one and gives it to the other
      cost.alpha_us += 2 * kZeroCopyUs + kHubUs + kHostFlagUs;
      cost.beta_us_per_byte = ThroughHost(from, to, kZeroCopyShare) + 1 / kHostBytesPerUs;
      way.shared_out = true;
    } else if (path == "ring") {
      AddRing(from, to, cost);
      way.shared_out = true;  // all buffers leave by the same hop
    } else {
      cost = {};
    }
    return way;
  }

  /// Hop after hop along the ring: a copy for each, and the bandwidth of the narrowest.
  void AddRing(std::size_t from, std::size_t to, Cost& cost) const {
    const std::vector<std::size_t>& order = ring_.order;
    auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), from) - order.begin());
    double slowest = 0;
    for (bool there = false; !there; at = (at + 1) % order.size()) {
      const std::size_t a = order[at], b = ring_.Next(at);
      const Link& link = topology_.link(a, b);
      const bool peers = ReachEachOther(topology_, a, b);
      const double bandwidth = (link.bandwidth > 0 ? link.bandwidth : kPcieGuess) / 1e6;
      cost.alpha_us += kHostFlagUs + (peers ? kCopyUs : 2 * kHostCopyUs);
      slowest = std::max(slowest, peers ? 1 / (kPeerShare * bandwidth) : ThroughHost(a, b, kHostCopyShare));
      there = b == to;
    }
    cost.beta_us_per_byte += slowest;
  }

  /// Between host devices memory is shared: paths differ in how often bytes are copied.
  Way HostPair(std::string_view path, std::size_t from, std::size_t to) const {
    Way way;
    way.cost = {kWakeUs, 2 / kHostBytesPerUs, 2 * kHostGatherUs};  // packed and unpacked
    double copies = 0;
    const bool peers = ReachEachOther(topology_, from, to);
    if (path == "host" || path == "uva" || (path == "p2p-direct" && peers)) {
      copies = 0;
    } else if (path == "p2p-copy" && peers) {
      copies = 1;
    } else if (path == "staged") {
      copies = 2;
    } else if (path == "uva-hub") {
      copies = 1;
      way.cost.alpha_us += kWakeUs;
    } else if (path == "ring") {
      const std::vector<std::size_t>& order = ring_.order;
      const auto place = [&](std::size_t device) {
        return static_cast<std::size_t>(std::find(order.begin(), order.end(), device) - order.begin());
      };
      copies = static_cast<double>((place(to) + order.size() - place(from)) % order.size());
      way.cost.alpha_us += kWakeUs * (copies - 1);
    } else {
      way.cost = {};
    }
    way.cost.alpha_us += 0.2 * copies;
    way.cost.beta_us_per_byte += copies / kHostBytesPerUs;
    return way;
  }

  const Topology& topology_;
  Ring ring_;
  bool distinct_ = true;  ///< each device has a GPU of its own, as NCCL's communicators require
};

}  // namespace

CostModel CostModel::Nominal(const Topology& topology, std::span<const std::string_view> paths) {
  if (paths.empty()) paths = kKnownPaths;
  CostModel model(std::vector<std::string>(paths.begin(), paths.end()), topology.size());
  model.set_links_apart(LinksApart(topology));
  model.set_all_reach(AllReach(topology));
  if (topology.size() < 2) return model;
  const Nominals nominals(topology);
  const auto known = [](const Cost& cost) {
    CostFit fit;
    fit.small = fit.large = cost;
    return fit;
  };
  const auto of_way = [&](const Way& way, LoadCorner corner) {
    CostFit fit = known(nominals.Under(way, way.cost, corner));
    if (!std::isfinite(way.large.alpha_us)) return fit;
    fit.large = nominals.Under(way, way.large, corner);
    fit.split = kWholeBytes;
    return fit;
  };
  for (std::size_t path = 0; path < paths.size(); ++path) {
    bool reaches_all = true;
    for (std::size_t from = 0; from < topology.size(); ++from) {
      bool reaches = true;
      for (std::size_t to = 0; to < topology.size(); ++to) {
        if (from == to) continue;
        const Way way = nominals.Pair(paths[path], from, to);
        reaches = reaches && std::isfinite(way.cost.alpha_us);
        if (!std::isfinite(way.cost.alpha_us)) continue;
        for (std::size_t corner = 0; corner < kLoadCorners; ++corner) {
          const auto load = static_cast<LoadCorner>(corner);
          model.set_fit(path, from, to, load, of_way(way, load));
        }
      }
      reaches_all = reaches_all && reaches;
      if (reaches) model.set_broadcast_fit(path, from, false, known(nominals.Broadcast(paths[path], from, false)));
    }
    for (std::size_t from = 0; from < topology.size() && reaches_all; ++from) {
      model.set_broadcast_fit(path, from, true, known(nominals.Broadcast(paths[path], from, true)));
    }
  }
  return model;
}

}  // namespace chatty
