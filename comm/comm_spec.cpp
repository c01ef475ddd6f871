#include "chatty/comm/comm_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "chatty/comm/transport.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

constexpr std::array<std::pair<std::string_view, StatePath>, 4> kStatePaths = {
    {{"auto", StatePath::kAuto}, {"host", StatePath::kHost}, {"uva", StatePath::kUva}, {"nccl", StatePath::kNccl}}};

[[noreturn]] void ThrowNoState(std::string_view state) {
  Throw<UsageError>("--comm state={}: write host, uva{} or auto", state, FindTransport("nccl") != nullptr ? ", nccl" : "");
}

StatePath ParseState(std::string_view text) {
  const auto* const found =
      std::find_if(kStatePaths.begin(), kStatePaths.end(), [&](const auto& path) { return path.first == text; });
  if (found == kStatePaths.end()) ThrowNoState(text);
  return found->second;
}

}  // namespace

std::string_view CommSpec::TransportFor(DeviceKind kind) const {
  if (broadcast && data == "auto") return kind == DeviceKind::kHost ? "host" : "nccl";
  return data;
}

CommSpec ParseCommSpec(std::string_view text) {
  CommSpec spec;
  if (text == "chattygraph") {
    spec.broadcast = true;
    return spec;
  }
  if (text.find('=') == std::string_view::npos) {
    if (text.empty()) throw UsageError("--comm is empty; name a transport, or leave the option out");
    if (text != "auto" && FindTransport(text) == nullptr) {
      Throw<UsageError>("there is no transport '{}' in this build{}; choose one of {}", text, DidYouMean(text, CommNames()),
                        fmt::join(CommNames(), ", "));
    }
    spec.data = text;
    return spec;
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
    if (key == "data") {
      spec.data = value;
    } else {
      spec.state = ParseState(value);
    }
  }
  return spec;
}

std::vector<std::string_view> CommNames() {
  std::vector<std::string_view> names = TransportNames();
  names.insert(names.begin() + 1, "chattygraph");
  return names;
}

void CheckComm(const CommSpec& spec, DeviceKind kind, std::size_t devices) {
  CheckTransport(spec.TransportFor(kind), kind, devices);
  if (spec.state == StatePath::kNccl && FindTransport("nccl") == nullptr) ThrowNoState("nccl");
  if (devices > 1 && (spec.state == StatePath::kUva || spec.state == StatePath::kNccl) && kind == DeviceKind::kHost) {
    Throw<UsageError>("--comm state={}: host devices meet in host memory; write state=host or auto",
                      spec.state == StatePath::kUva ? "uva" : "nccl");
  }
  if (devices > 1 && spec.state == StatePath::kHost && kind == DeviceKind::kCuda) {
    throw UsageError("--comm state=host: GPUs write their counters to mapped host memory; write state=uva, nccl or auto");
  }
}

void CheckComm(const CommSpec& spec, const DeviceSelection& devices) {
  CheckComm(spec, devices.kind, devices.indices.size());
  CheckTransport(spec.TransportFor(devices.kind), devices);
  if (devices.indices.size() > 1 && spec.state == StatePath::kNccl) CheckTransport("nccl", devices);
}

}  // namespace chatty
