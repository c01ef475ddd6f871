#include "chatty/comm/symmetric/backend.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

constexpr std::array kBackends{
    SymmetricBackend{.name = "host",
                     .host = true,
                     .addressable = true,
                     .description = "host devices share their process's memory: a put is a copy by the thread itself"},
    SymmetricBackend{.name = "p2p",
                     .cuda = true,
                     .addressable = true,
                     .description = "GPUs of one process map each other's memory: a put is a store over the link"},
    SymmetricBackend{
        .name = "lsa",
        .cuda = true,
        .distinct = true,
        .addressable = true,
        .description = "windows of NCCL's device API, 2.28 and later, map the memory: a put is a store over the link"},
    SymmetricBackend{
        .name = "proxy",
        .host = true,
        .cuda = true,
        .description = "a kernel writes requests into host memory, and a thread of the host copies: the baseline"},
};

std::vector<std::string_view> NamesFor(DeviceKind kind) {
  std::vector<std::string_view> names{"auto"};
  for (const SymmetricBackend& backend : kBackends) {
    if (kind == DeviceKind::kHost ? backend.host : backend.cuda) names.push_back(backend.name);
  }
  return names;
}

}  // namespace

std::span<const SymmetricBackend> SymmetricBackends() { return kBackends; }

const SymmetricBackend& FindSymmetricBackend(std::string_view name, DeviceKind kind) {
  if (name == "auto") name = kind == DeviceKind::kHost ? "host" : "p2p";
  const auto* const found = std::find_if(kBackends.begin(), kBackends.end(),
                                         [&](const SymmetricBackend& backend) { return backend.name == name; });
  const std::vector<std::string_view> names = NamesFor(kind);
  if (found == kBackends.end()) {
    Throw<UsageError>("symmetric heaps have no backend '{}'{}; choose one of {}", name, DidYouMean(name, names),
                      fmt::join(names, ", "));
  }
  if (!(kind == DeviceKind::kHost ? found->host : found->cuda)) {
    Throw<UsageError>("backend '{}' of symmetric heaps is for {}, and these are {}; choose one of {}", name,
                      found->host ? "host devices" : "GPUs", kind == DeviceKind::kHost ? "host devices" : "GPUs",
                      fmt::join(names, ", "));
  }
  return *found;
}

}  // namespace chatty
