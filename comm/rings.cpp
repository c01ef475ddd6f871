#include "chatty/comm/rings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "chatty/core/error.h"

namespace chatty {
namespace {

/// Bandwidths in whole bytes/s: sums are exact, so that equal rings are seen to be equal in whatever order they are added.
/// 64 of the largest, times kWorth, still fit.
class Widths {
 public:
  explicit Widths(const Topology& topology) : size_(topology.size()), widths_(size_ * size_), direct_(size_ * size_) {
    for (std::size_t from = 0; from < size_; ++from) {
      for (std::size_t to = 0; to < size_; ++to) {
        if (from == to) continue;
        const double bandwidth = topology.link(from, to).bandwidth;
        known_ = known_ && bandwidth > 0;
        widths_[from * size_ + to] = std::llround(bandwidth > 0 ? bandwidth : kAssumedBandwidth);
        direct_[from * size_ + to] = topology.link(from, to).peer_access;
      }
    }
  }
  std::size_t size() const { return size_; }
  /// Whether each of them is the link's own.
  bool known() const { return known_; }
  std::int64_t operator()(std::size_t from, std::size_t to) const { return widths_[from * size_ + to]; }
  /// What a hop adds to the sum that rings are compared by: its width and, where sums of those are equal, whether it is
  /// direct.
  std::int64_t Worth(std::size_t from, std::size_t to) const {
    return widths_[from * size_ + to] * kWorth + (direct_[from * size_ + to] ? 1 : 0);
  }

 private:
  static constexpr std::int64_t kWorth = 128;  // more than a ring has hops
  static_assert(kMaxDevices < kWorth && kMaxLinkBandwidth * kMaxDevices * kWorth < 9e18);

  std::size_t size_;
  std::vector<std::int64_t> widths_;
  std::vector<bool> direct_;
  bool known_ = true;
};

using Order = std::vector<std::size_t>;

/// What rings are compared by.
struct Score {
  std::int64_t narrowest = 0, worth = 0;
  bool operator>(const Score& other) const { return std::pair(narrowest, worth) > std::pair(other.narrowest, other.worth); }
};

Score ScoreOf(const Widths& widths, const Order& order) {
  Score score{widths(order.back(), order.front())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t next = order[i + 1 == order.size() ? 0 : i + 1];
    score.narrowest = std::min(score.narrowest, widths(order[i], next));
    score.worth += widths.Worth(order[i], next);
  }
  return score;
}

/// `hop_bandwidth(from, to)` in bytes/s.
template <class HopBandwidth>
Ring MakeRing(Order order, HopBandwidth&& hop_bandwidth) {
  Ring ring;
  ring.order = std::move(order);
  if (ring.order.size() < 2) return ring;
  for (std::size_t hop = 0; hop < ring.order.size(); ++hop) {
    const double bandwidth = hop_bandwidth(ring.order[hop], ring.Next(hop));
    ring.total += bandwidth;
    if (hop == 0 || bandwidth < ring.bandwidth) {
      ring.bandwidth = bandwidth;
      ring.narrowest = hop;
    }
  }
  return ring;
}

/// Held and Karp's recursion over subsets, twice: first how wide the narrowest hop can be, then the largest sum among rings
/// that are as wide. Walking the second table forwards gives the least order.
Order FindExactly(const Widths& widths) {
  const std::size_t n = widths.size();
  const std::size_t full = (std::size_t{1} << n) - 1;
  constexpr std::int64_t kImpossible = -1;
  // Entry [visited][last]: the best that can be had on the way from `last` through all that is not visited back to 0.
  std::vector<std::int64_t> best((full + 1) * n, kImpossible);
  const auto fill = [&](auto&& allowed, auto&& value, auto&& join) {
    for (std::size_t visited = full + 1; visited-- > 0;) {
      if ((visited & 1) == 0) continue;
      for (std::size_t last = 0; last < n; ++last) {
        if ((visited >> last & 1) == 0) continue;
        std::int64_t& entry = best[visited * n + last];
        entry = kImpossible;
        if (visited == full) {
          if (allowed(last, 0)) entry = value(last, 0);
          continue;
        }
        for (std::size_t next = 1; next < n; ++next) {
          if ((visited >> next & 1) != 0 || !allowed(last, next)) continue;
          const std::int64_t rest = best[(visited | std::size_t{1} << next) * n + next];
          if (rest != kImpossible) entry = std::max(entry, join(value(last, next), rest));
        }
      }
    }
    return best[1 * n + 0];
  };
  const std::int64_t narrowest = fill([](std::size_t, std::size_t) { return true; }, widths,
                                      [](std::int64_t hop, std::int64_t rest) { return std::min(hop, rest); });
  const auto wide = [&](std::size_t from, std::size_t to) { return widths(from, to) >= narrowest; };
  const auto worth = [&](std::size_t from, std::size_t to) { return widths.Worth(from, to); };
  fill(wide, worth, [](std::int64_t hop, std::int64_t rest) { return hop + rest; });

  Order order{0};
  for (std::size_t visited = 1, last = 0; visited != full;) {
    for (std::size_t next = 1; next < n; ++next) {
      if ((visited >> next & 1) != 0 || !wide(last, next)) continue;
      const std::int64_t rest = best[(visited | std::size_t{1} << next) * n + next];
      if (rest == kImpossible || worth(last, next) + rest != best[visited * n + last]) continue;
      order.push_back(next);
      visited |= std::size_t{1} << next;
      last = next;
      break;
    }
  }
  return order;
}

/// From each start the widest hop that is left, then moves of stretches and reversals until none improves.
Order FindGreedily(const Widths& widths) {
  const std::size_t n = widths.size();
  const auto improve = [&](Order& order) {
    Score score = ScoreOf(widths, order);
    Order trial;
    const auto accept = [&] {
      const Score now = ScoreOf(widths, trial);
      if (!(now > score)) return false;
      score = now;
      order = trial;
      return true;
    };
    for (bool improved = true; improved;) {
      improved = false;
      for (std::size_t begin = 0; begin + 1 < n; ++begin) {
        for (std::size_t end = begin + 2; end <= n; ++end) {
          trial = order;
          std::reverse(trial.begin() + static_cast<std::ptrdiff_t>(begin), trial.begin() + static_cast<std::ptrdiff_t>(end));
          improved |= accept();
          trial = order;  // the stretch's first device goes behind it
          std::rotate(trial.begin() + static_cast<std::ptrdiff_t>(begin),
                      trial.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                      trial.begin() + static_cast<std::ptrdiff_t>(end));
          improved |= accept();
          trial = order;  // and its last before it
          std::rotate(trial.begin() + static_cast<std::ptrdiff_t>(begin),
                      trial.begin() + static_cast<std::ptrdiff_t>(end) - 1,
                      trial.begin() + static_cast<std::ptrdiff_t>(end));
          improved |= accept();
        }
      }
    }
    return score;
  };

  Order best;
  Score best_score;
  const std::size_t stride = std::max<std::size_t>(1, n / 8);  // eight starts or so: a second at 64 devices
  for (std::size_t start = 0; start < n; start += stride) {
    Order order{start};
    std::vector<bool> visited(n, false);
    visited[start] = true;
    while (order.size() < n) {
      std::size_t next = n;
      for (std::size_t i = 0; i < n; ++i) {
        if (!visited[i] && (next == n || widths(order.back(), i) > widths(order.back(), next))) next = i;
      }
      visited[next] = true;
      order.push_back(next);
    }
    const Score score = improve(order);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    if (best.empty() || score > best_score || (!(best_score > score) && order < best)) {
      best = std::move(order);
      best_score = score;
    }
  }
  return best;
}

/// The largest set of rings that share no NVLink. Rings go both ways round, so links are taken as undirected.
class DisjointSearch {
 public:
  explicit DisjointSearch(std::size_t n) : n_(n), left_(n * n, 0), order_{0}, visited_(n, false) { visited_[0] = true; }

  void SetLinks(std::size_t a, std::size_t b, int count) { left_[a * n_ + b] = count; }
  /// Returns the rings; `*exact`: whether the search went to the end.
  std::vector<Order> Run(bool* exact) {
    bound_ = Bound();
    Extend(Order{});
    *exact = steps_ < kMaxSteps;
    return best_;
  }

 private:
  static constexpr std::size_t kMaxSteps = 5'000'000;  // a second or so

  /// A ring takes two links of each device.
  std::size_t Bound() const {
    int least = -1;
    for (std::size_t a = 0; a < n_; ++a) {
      const int links = std::accumulate(left_.begin() + static_cast<std::ptrdiff_t>(a * n_),
                                        left_.begin() + static_cast<std::ptrdiff_t>((a + 1) * n_), 0);
      if (least < 0 || links < least) least = links;
    }
    return static_cast<std::size_t>(std::max(least, 0)) / 2;
  }
  bool Done() const { return best_.size() >= bound_ || steps_ >= kMaxSteps; }
  void Take(std::size_t a, std::size_t b, int count) {
    left_[a * n_ + b] -= count;
    left_[b * n_ + a] -= count;
  }
  /// Adds one more ring, not before `least`: a set of rings is found in one order alone.
  void Extend(const Order& least) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    if (Done() || chosen_.size() + Bound() <= best_.size()) return;
    Step(least);
  }
  /// The ring that is being made, one device further.
  void Step(const Order& least) {
    ++steps_;
    const std::size_t last = order_.back();
    if (order_.size() == n_) {
      // Of a ring's two directions the one whose second device is less than its last.
      if (order_[1] > last || left_[last * n_] == 0 || order_ < least) return;
      Take(last, 0, 1);
      chosen_.push_back(order_);
      const Order finished = std::exchange(order_, Order{0});
      std::vector<bool> visited(n_, false);
      visited[0] = true;
      std::swap(visited, visited_);
      Extend(finished);
      std::swap(visited, visited_);
      order_ = finished;
      chosen_.pop_back();
      Take(last, 0, -1);
      return;
    }
    for (std::size_t next = 1; next < n_ && !Done(); ++next) {
      if (visited_[next] || left_[last * n_ + next] == 0) continue;
      visited_[next] = true;
      order_.push_back(next);
      Take(last, next, 1);
      Step(least);
      Take(last, next, -1);
      order_.pop_back();
      visited_[next] = false;
    }
  }

  std::size_t n_;
  std::vector<int> left_;  // NVLinks of a pair in no ring yet
  Order order_;
  std::vector<bool> visited_;
  std::vector<Order> chosen_, best_;
  std::size_t bound_ = 0, steps_ = 0;
};

void FindDisjoint(const Topology& topology, Rings& rings) {
  const std::size_t n = topology.size();
  if (n < 3 || n > kExactRingDevices) return;
  DisjointSearch search(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      const Link& link = topology.link(a, b);
      if (link.switched) continue;
      if (link.type == LinkType::kNvlink && link.peer_access && topology.link(b, a).peer_access) {
        search.SetLinks(a, b, link.nvlinks);
      }
    }
  }
  for (Order& order : search.Run(&rings.disjoint_exact)) {
    rings.disjoint.push_back(MakeRing(std::move(order), [&](std::size_t from, std::size_t to) {
      const Link &there = topology.link(from, to), &back = topology.link(to, from);
      return std::min(there.bandwidth, back.bandwidth) / there.nvlinks;
    }));
  }
}

}  // namespace

Rings FindRings(const Topology& topology) {
  if (const std::optional<TopologyFault> fault = FindFault(topology)) {
    Throw<UsageError>("no ring through a topology whose {} {}", fault->field, fault->what);
  }
  const Widths widths(topology);
  Rings rings;
  const bool hosts = topology.devices().front().kind == DeviceKind::kHost;  // no path between these is a ring's
  rings.known = topology.size() < 3 || hosts || widths.known();
  rings.exact = topology.size() <= kExactRingDevices;
  rings.best = MakeRing(rings.exact ? FindExactly(widths) : FindGreedily(widths),
                        [&](std::size_t from, std::size_t to) { return topology.link(from, to).bandwidth; });
  FindDisjoint(topology, rings);
  return rings;
}

}  // namespace chatty
