#include "chatty/comm/selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxPaths = 4;
/// A smaller gain is within the error of the model.
constexpr double kWorthwhile = 0.85;

/// For buffers whose packing and unpacking sweep a numbering, where no calibration has measured them. They cost by place,
/// the same on every path: microseconds a place on an H200 (docs/performance/exchange-and-paths.md).
constexpr double kSweepUs = 2.8e-5;
/// Where kernels write and read host memory, payloads of four bytes behind bits cross PCIe one by one. Each byte then costs
/// this factor more than in a calibration's records.
constexpr double kZeroCopyFactor = 1.5;
/// Extra time of engines' buffers between GPUs over those of a calibration, on any path. Engines' kernels do more for each
/// entry, one after the other, and must be fetched, while a calibration repeats its kernels. The median of 248 buffers of
/// `bfs`, `sssp` and `pagerank` between two H100s (docs/performance/exchange-and-paths.md).
constexpr double kEngineUs = 8;

double ByteFactor(std::string_view path, DeviceKind kind) {
  return kind == DeviceKind::kCuda && (path == "uva" || path == "uva-hub") ? kZeroCopyFactor : 1.0;
}

/// Whether all that the path carries goes through host memory. Other paths go there only for pairs without a link; NCCL for
/// all pairs, where some pair has no link.
bool GoesThroughHost(std::string_view path, const CostModel& model) {
  return path == "uva" || path == "staged" || path == "uva-hub" || (path == "nccl" && !model.all_reach());
}

std::string_view Named(const CommChoice& choice, DeviceKind kind) {
  if (choice.broadcast && choice.data == "chattygraph") return kind == DeviceKind::kHost ? "host" : "nccl";
  return choice.data;
}

}  // namespace

CommChoice CommChoice::Parse(std::string_view text) {
  CommChoice choice;
  if (text == "chattygraph") return {"chattygraph", "auto", true};
  if (text.find('=') == std::string_view::npos) {
    if (text.empty()) throw UsageError("--comm is empty; name a transport, or leave the option out");
    choice.data = text;
    return choice;
  }
  bool seen_data = false, seen_state = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    bool& seen = key == "data" ? seen_data : seen_state;
    if ((key != "data" && key != "state") || value.empty() || seen || (rest.empty() && comma != std::string_view::npos)) {
      Throw<UsageError>(
          "--comm {}: write a transport's name, auto, chattygraph, or data=NAME,state=NAME with each at most once", text);
    }
    if (key == "data" && value == "chattygraph") {
      Throw<UsageError>(
          "--comm {}: chattygraph is no transport but says what carries data and state; write --comm chattygraph", text);
    }
    seen = true;
    (key == "data" ? choice.data : choice.state) = value;
  }
  return choice;
}

std::vector<std::string_view> CommNames() {
  std::vector<std::string_view> names = TransportNames();
  names.insert(names.begin() + 1, "chattygraph");
  return names;
}

void CheckComm(std::string_view text, DeviceKind kind, std::size_t devices) {
  const CommChoice choice = CommChoice::Parse(text);
  const std::string_view data = Named(choice, kind);
  if (text == data && data != "auto" && FindTransport(data) == nullptr) {
    Throw<UsageError>("there is no transport '{}' in this build{}; choose one of {}", data, DidYouMean(data, CommNames()),
                      fmt::join(CommNames(), ", "));
  }
  CheckTransport(data, kind, devices);
  const std::string_view state = choice.state;
  const bool nccl = FindTransport("nccl") != nullptr;
  if (state != "auto" && state != "host" && state != "uva" && (state != "nccl" || !nccl)) {
    Throw<UsageError>("--comm state={}: write host, uva{} or auto", state, nccl ? ", nccl" : "");
  }
  if (devices > 1 && state != "auto" && state != "host" && kind == DeviceKind::kHost) {
    Throw<UsageError>("--comm state={}: host devices meet in host memory; write state=host or auto", state);
  }
  if (devices > 1 && state == "host" && kind == DeviceKind::kCuda) {
    throw UsageError("--comm state=host: GPUs write their counters to mapped host memory; write state=uva, nccl or auto");
  }
}

void CheckComm(std::string_view text, const DeviceSelection& devices) {
  CheckComm(text, devices.kind, devices.indices.size());
  const CommChoice choice = CommChoice::Parse(text);
  CheckTransport(Named(choice, devices.kind), devices);
  if (devices.indices.size() > 1 && choice.state == "nccl") CheckTransport("nccl", devices);
}

std::vector<std::string_view> SelectPaths(const CommChoice& choice, DeviceKind kind, const CostModel& model,
                                          const PairBytesTable& capacities, bool meets) {
  const std::string_view named = Named(choice, kind);
  if (named != "auto") {
    const TransportInfo* const info = FindTransport(named);
    CHATTY_CHECK(info != nullptr, "transport '{}' was not checked", named);
    return {info->name};  // a name that outlives `choice`
  }
  // The cost of every candidate, for some sizes of every pair that exchanges data.
  struct Case {
    std::vector<double> us;  // of each path of the model
  };
  std::vector<Case> cases;
  const std::size_t devices = capacities.size();
  std::vector<const TransportInfo*> infos;
  for (const std::string& path : model.paths()) {
    const TransportInfo* const info = FindTransport(path);
    const bool may = info != nullptr && AutoMayTake(path, kind);  // a model may name a path that this build lacks
    infos.push_back(may && (meets || !info->collective) ? info : nullptr);
  }
  for (PartId from = 0; from < devices; ++from) {
    for (PartId to = 0; to < devices; ++to) {
      if (from == to || capacities[from][to] == 0) continue;
      for (std::size_t bytes = 256;; bytes *= 16) {
        const std::size_t size = std::min(bytes, capacities[from][to]);
        Case& one = cases.emplace_back();
        for (std::size_t p = 0; p < infos.size(); ++p) {
          const Load all{static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)};
          // Long buffers list a numbering's places, short ones records of eight bytes.
          const bool swept = kind == DeviceKind::kCuda && size > capacities[from][to] / 4;
          const auto bytes_there = static_cast<std::size_t>(
              static_cast<double>(size) * (swept && infos[p] != nullptr ? ByteFactor(infos[p]->name, kind) : 1.0));
          one.us.push_back(infos[p] == nullptr ? kInfinite
                                               : model.PredictUs(p, from, to, bytes_there, swept ? 0 : size / 8, all));
        }
        if (size == capacities[from][to]) break;
      }
    }
  }
  std::vector<std::size_t> chosen;
  const auto best = [&](const Case& one) {
    double least = kInfinite;
    for (const std::size_t p : chosen) least = std::min(least, one.us[p]);
    return least;
  };
  while (chosen.size() < kMaxPaths) {
    // The path with the largest total gain over all cases. Where a case has no path yet, any path is better than none.
    std::size_t next = CostModel::kNoPath;
    double most = 0;
    for (std::size_t p = 0; p < infos.size(); ++p) {
      double gain = 0;
      for (const Case& one : cases) {
        const double now = best(one);
        if (one.us[p] == kInfinite) continue;
        if (now == kInfinite) {
          gain += 1e6 + 1e3 / (1 + one.us[p]);
        } else if (one.us[p] < kWorthwhile * now) {
          gain += 1 - one.us[p] / now;
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

bool BroadcastsMayPay(std::span<const std::string_view> paths, DeviceKind kind, const CostModel& model,
                      const PairBytesTable& capacities, std::span<const std::size_t> broadcast) {
  const std::size_t devices = capacities.size();
  if (devices < 3) return false;  // between two devices both are the same buffer
  const Load all{static_cast<std::uint32_t>(devices - 1), static_cast<std::uint32_t>(devices)};
  for (PartId from = 0; from < devices; ++from) {
    if (broadcast[from] == 0) continue;
    double of_pairs = 0, for_all = kInfinite;
    for (PartId to = 0; to < devices; ++to) {
      if (to == from || capacities[from][to] == 0) continue;
      double least = kInfinite;
      for (const std::string_view path : paths) {
        const std::size_t p = model.Find(path);
        const auto bytes = static_cast<std::size_t>(static_cast<double>(capacities[from][to]) * ByteFactor(path, kind));
        if (p != CostModel::kNoPath) least = std::min(least, model.PredictUs(p, from, to, bytes, 0, all));
      }
      of_pairs = std::max(of_pairs, least);
    }
    for (const std::string_view path : paths) {
      const std::size_t p = model.Find(path);
      if (p == CostModel::kNoPath) continue;
      const auto bytes = static_cast<std::size_t>(static_cast<double>(broadcast[from]) * ByteFactor(path, kind));
      for_all = std::min(for_all, model.PredictBroadcastUs(p, from, bytes, 0, static_cast<std::uint32_t>(devices)));
    }
    if (for_all < kWorthwhile * of_pairs) return true;
  }
  return false;
}

Selector::Selector(std::vector<std::unique_ptr<Transport>> paths, DeviceKind kind, Broadcasts broadcasts, bool meets,
                   const CostModel& model)
    : paths_(std::move(paths)),
      sweep_us_(kind == DeviceKind::kCuda ? kSweepUs : 0),
      engine_us_(kind == DeviceKind::kCuda && model.measured() ? kEngineUs : 0),
      model_(model),
      broadcasts_(broadcasts) {
  std::vector<std::string_view> names;
  for (const auto& path : paths_) {
    names.push_back(path->name());
    in_model_.push_back(model_.Find(path->name()));
    byte_factor_.push_back(ByteFactor(path->name(), kind));
    through_host_.push_back(!model_.links_apart() || GoesThroughHost(path->name(), model_));
    const TransportInfo* const info = FindTransport(path->name());
    collective_ = collective_ || (meets && (info == nullptr || info->collective));
  }
  name_ = fmt::format("{}", fmt::join(names, "+"));
}

double Selector::PredictUs(std::size_t path, PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept {
  if (in_model_[path] == CostModel::kNoPath) return kInfinite;
  const double more = buffer.content == BufferContent::kPayload ? 0 : engine_us_;
  if (buffer.content != BufferContent::kList) {
    const std::size_t count = buffer.places != 0 ? buffer.places : buffer.entries;
    const double us = model_.PredictContentUs(buffer.content, in_model_[path], from, to, buffer.bytes, count, load);
    if (!std::isnan(us)) return us + more;
  }
  if (IsList(buffer)) return model_.PredictUs(in_model_[path], from, to, buffer.bytes, EntriesOf(buffer), load) + more;
  const auto bytes = static_cast<std::size_t>(static_cast<double>(buffer.bytes) * byte_factor_[path]);
  return model_.PredictUs(in_model_[path], from, to, bytes, 0, load) + sweep_us_ * static_cast<double>(buffer.places) + more;
}

double Selector::PredictBroadcastUs(std::size_t path, PartId from, const BufferShape& buffer,
                                    std::uint32_t senders) const noexcept {
  if (in_model_[path] == CostModel::kNoPath) return kInfinite;
  if (IsList(buffer))
    return model_.PredictBroadcastUs(in_model_[path], from, buffer.bytes, EntriesOf(buffer), senders) + engine_us_;
  const auto bytes = static_cast<std::size_t>(static_cast<double>(buffer.bytes) * byte_factor_[path]);
  return model_.PredictBroadcastUs(in_model_[path], from, bytes, 0, senders) +
         sweep_us_ * static_cast<double>(buffer.places) + engine_us_;
}

Selector::Choice Selector::Choose(PartId from, PartId to, const BufferShape& buffer, Load load) const noexcept {
  Choice choice{0, kInfinite};
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const double us = PredictUs(p, from, to, buffer, load);
    if (us < choice.us) choice = {static_cast<std::uint8_t>(p), us};
  }
  return choice;
}

std::uint32_t Selector::BuffersBeside(std::size_t path, std::span<const std::uint8_t> paths) const noexcept {
  return static_cast<std::uint32_t>(std::count_if(
      paths.begin(), paths.end(), [&](std::uint8_t other) { return through_host_[other] == through_host_[path]; }));
}

void Selector::ChooseAll(PartId from, std::span<const PartId> to, std::span<const BufferShape> buffers,
                         std::uint32_t senders, std::span<Choice> choices) const noexcept {
  const auto all = static_cast<std::uint32_t>(buffers.size());
  std::array<std::uint8_t, kMaxDevices> paths{};
  const std::span<std::uint8_t> chosen = std::span(paths).first(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    choices[i] = Choose(from, to[i], buffers[i], {.buffers = all, .senders = senders});
    chosen[i] = choices[i].path;
  }
  const std::uint32_t beside_first = all == 0 ? 0 : BuffersBeside(chosen[0], chosen);
  if (beside_first == all) return;
  // Predicts each buffer beside those that go its way. Returns the time of the slowest.
  const auto predict = [&](std::span<Choice> choice) {
    double slowest = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      choice[i].us =
          PredictUs(chosen[i], from, to[i], buffers[i], {.buffers = BuffersBeside(chosen[i], chosen), .senders = senders});
      slowest = std::max(slowest, choice[i].us);
    }
    return slowest;
  };
  const double before = predict(choices);
  std::array<Choice, kMaxDevices> again{};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    again[i] = choices[i];
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      const std::uint32_t beside = BuffersBeside(p, chosen) + (through_host_[p] != through_host_[chosen[i]] ? 1 : 0);
      const double us = PredictUs(p, from, to[i], buffers[i], {.buffers = beside, .senders = senders});
      if (us < again[i].us) again[i] = {static_cast<std::uint8_t>(p), us};
    }
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) chosen[i] = again[i].path;
  if (predict(std::span(again).first(buffers.size())) < before) std::copy_n(again.begin(), buffers.size(), choices.begin());
}

Selector::Choice Selector::ChooseBroadcast(PartId from, const BufferShape& buffer, std::uint32_t senders) const noexcept {
  Choice choice{0, kInfinite};
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const double us = PredictBroadcastUs(p, from, buffer, senders);
    if (us < choice.us) choice = {static_cast<std::uint8_t>(p), us};
  }
  return choice;
}

void Selector::BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                               std::span<const std::uint8_t> path, std::uint64_t epoch) const {
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

void Selector::Abort() const noexcept {
  for (const auto& path : paths_) path->Abort();
}

bool Selector::reusable() const noexcept {
  return std::all_of(paths_.begin(), paths_.end(), [](const auto& path) { return path->reusable(); });
}

}  // namespace chatty
