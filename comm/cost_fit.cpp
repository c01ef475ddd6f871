// Fits of measured costs: one line of latency, bytes and messages, or two, for small and large buffers. Lines minimise
// Huber's function of the logarithm of predicted over measured times, so that a few late threads do not bend them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/core/error.h"

namespace chatty {

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

}  // namespace chatty
