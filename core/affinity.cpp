#include "chatty/core/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "chatty/core/sync.h"

namespace chatty {
namespace {

thread_local const BoundTo* bound_here = nullptr;

}  // namespace

CpuSet ParseCpuList(std::string_view text) {
  CpuSet cpus;
  while (!text.empty()) {
    std::size_t first = 0;
    const char* const whole = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), whole, first);
    if (error != std::errc()) break;
    std::size_t last = first;
    if (end != whole && *end == '-') {
      const auto range = std::from_chars(end + 1, whole, last);
      if (range.ec != std::errc()) break;
      end = range.ptr;
    }
    for (std::size_t i = first; i <= std::min(last, cpus.size() - 1); ++i) cpus.set(i);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return cpus;
}

std::string CpuListText(const CpuSet& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size(); ++first) {
    if (!cpus[first]) continue;
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1]) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return text;
}

CpuSet AllowedCpus() noexcept {
  CpuSet cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cpus;  // fails on a machine with more CPUs than the mask holds
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) cpus[cpu] = CPU_ISSET(cpu, &mask);
  return cpus;
}

bool OpenMpPlacesThreads() noexcept {
  constexpr std::array kNames{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  return std::any_of(kNames.begin(), kNames.end(), [](const char* name) {
    return std::getenv(name) != nullptr;  // NOLINT(concurrency-mt-unsafe)
  });
}

bool RunOn(const CpuSet& cpus) noexcept {
  if (cpus.none()) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    if (cpus[cpu]) CPU_SET(cpu, &mask);
  }
  return sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

BoundTo::BoundTo(const CpuSet& cpus) noexcept : outer_(bound_here) {
  if (cpus.none()) return;
  Cores();  // counts the cores before OpenMP sees the narrower mask
  home_ = outer_ != nullptr ? outer_->home_ : AllowedCpus();
  during_ = cpus & home_;
  bound_ = RunOn(during_);
  if (bound_) bound_here = this;
}

BoundTo::~BoundTo() {
  if (!bound_) return;
  bound_here = outer_;
  RunOn(outer_ != nullptr ? outer_->during_ : home_);
}

Unbound::Unbound() noexcept : suspended_(bound_here) {
  if (suspended_ != nullptr) RunOn(suspended_->home_);
}

Unbound::~Unbound() {
  if (suspended_ != nullptr) RunOn(suspended_->during_);
}

}  // namespace chatty
