#include "chatty/cli/compare/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>

#include "chatty/cli/compare/engine_figures.h"
#include "chatty/cli/run/options.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "chatty/framework/session.h"
#include "chatty/io/reader.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

std::vector<std::uint32_t> ParseCounts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  for (const std::string& word : SplitList("--devices", text)) {
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc() || end != word.data() + word.size() || count == 0 ||
        count > static_cast<std::uint32_t>(kMaxDevices)) {
      Throw<UsageError>(
          "--devices {}: '{}' is no number of devices from 1 to {}; write, say, 1,2,4, and say by --on of which kind", text,
          word, kMaxDevices);
    }
    counts.push_back(count);
  }
  std::sort(counts.begin(), counts.end());
  if (const auto twice = std::adjacent_find(counts.begin(), counts.end()); twice != counts.end()) {  // 2,02
    Throw<UsageError>("--devices {}: {} stands there twice", text, *twice);
  }
  return counts;
}

std::vector<std::uint32_t> DefaultCounts(const DeviceSelection& pool) {
  const auto there = pool.kind == DeviceKind::kCuda ? static_cast<std::uint32_t>(pool.indices.size())
                                                    : std::clamp(std::thread::hardware_concurrency(), 2u, 4u);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count <= there; count *= 2) counts.push_back(count);
  return counts;
}

/// What ParseDevices says of `--devices`, of `--on`.
std::string OfOn(std::string text) {
  constexpr std::string_view kOption = "--devices";
  if (text.starts_with(kOption)) text.replace(0, kOption.size(), "--on");
  return text;
}

/// What `--on` names: GPUs, all or some, else as many host devices as a run takes.
DeviceSelection PoolOf(std::string_view on) {
  if (on == "cuda" || on.starts_with("cuda:")) {
    try {
      return ParseDevices(on);
    } catch (const UsageError& error) {  // the message names the option as well
      throw UsageError(OfOn(error.what()));
    } catch (const CapabilityError& error) {
      throw CapabilityError(OfOn(error.what()));
    }
  }
  if (on == "auto" && CudaDeviceCount() > 0) return ParseDevices("cuda");
  if (on != "auto" && on != "host") {
    Throw<UsageError>(
        "--on {}: write auto, host, cuda, or which GPUs: cuda:0,1, or cuda:4@0 for four devices that share one", on);
  }
  return ParseDevices(fmt::format("host:{}", kMaxDevices));
}

/// A parameter that one of the programs has goes to that one; what none has would change nothing, and nobody would see.
void CheckGiven(const Registry& registry, const ComparePlan& plan, const ParameterOptions& given) {
  std::vector<std::string> names;
  for (const std::string& program : plan.programs) {
    for (const ParameterInfo& parameter : registry.Find(program, plan.kind).parameters()) names.push_back(parameter.name);
  }
  const auto has = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const std::string programs = fmt::format("{}", fmt::join(plan.programs, ", "));
  if (!given.source.empty() && !has("source")) {
    Throw<UsageError>("--source {}: no program of {} starts from a vertex; leave it out", given.source, programs);
  }
  for (const std::string& set : given.set) {
    const std::string name = set.substr(0, set.find('='));
    if (has(name)) continue;
    Throw<UsageError>("--set {}: no program of {} has such a parameter{}; `chatty programs` lists them", set, programs,
                      DidYouMean(name, names));
  }
  std::vector<std::string> arrays;
  for (const std::string& program : plan.programs) {
    for (const VertexDataInfo& data : registry.Find(program, plan.kind).vertex_data()) arrays.push_back(data.name);
  }
  for (const std::string& pair : given.vertex_data) {
    const std::string name = pair.substr(0, pair.find('='));
    if (std::find(arrays.begin(), arrays.end(), name) != arrays.end()) continue;
    Throw<UsageError>("--vertex-data {}: no program of {} takes such an array{}; `chatty programs` lists them", pair,
                      programs, DidYouMean(name, arrays));
  }
}

}  // namespace

std::vector<std::string> SplitList(std::string_view option, std::string_view text) {
  std::vector<std::string> words;
  std::vector<std::string_view> keys;  // of the word being put together
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) Throw<UsageError>("{} '{}': there is nothing between two commas; write names", option, text);
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals == std::string_view::npos ? 0 : equals);
    const bool begins = key.find(':') != std::string_view::npos;  // an engine and its setting
    if (!begins && !key.empty() && !keys.empty() && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      words.back() += fmt::format(",{}", word);
      keys.push_back(key);
      continue;
    }
    keys.clear();
    if (!key.empty()) keys.push_back(key);
    words.emplace_back(word);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<std::ptrdiff_t>(i)) {
      Throw<UsageError>("{} {}: '{}' stands there twice", option, text, words[i]);
    }
  }
  return words;
}

EngineChoice ParseEngine(std::string_view text) {
  const std::size_t colon = text.find(':');
  EngineChoice engine;
  engine.execution = ParseExecution(text.substr(0, colon));
  if (colon == std::string_view::npos) return engine;
  constexpr std::string_view kDelta = "delta=";
  const std::string_view setting = text.substr(colon + 1);
  if (!setting.starts_with(kDelta)) {
    Throw<UsageError>("--execution {}: the setting of an engine is delta=WIDTH, as of `chatty run --delta`; not '{}'", text,
                      setting);
  }
  try {
    engine.delta = ParseDelta(std::string(setting.substr(kDelta.size())));
  } catch (const UsageError& error) {
    Throw<UsageError>("--execution {}: {}", text, error.what());
  }
  return engine;
}

std::chrono::milliseconds TimeoutOf(const CompareOptions& options) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(options.timeout_s * 1000)));
}

DeviceSelection ComparePlan::Devices(std::size_t count) const {
  DeviceSelection devices = pool.First(count);
  for (int index = CudaDeviceCount(); devices.indices.size() < count; ++index) devices.indices.push_back(index);
  return devices;
}

RunOptions ComparePlan::OptionsOf(const Combination& combination) const {
  RunOptions run;
  const EngineChoice& engine = engines.at(combination.execution);
  run.execution = engine.execution;
  run.delta = engine.delta;
  if (combination.devices > 1) run.comm = specs.at(combination.comm);
  return run;
}

bool CanJoin(const CommSpec& comm, const DeviceSelection& devices) {
  try {
    RunOptions run;
    run.comm = comm;
    CheckRunOptions(run, devices);
    return true;
  } catch (const UsageError&) {
    return false;
  } catch (const CapabilityError&) {
    return false;
  }
}

ComparePlan MakePlan(const Registry& registry, const CompareOptions& options) {
  ComparePlan plan;
  plan.pool = PoolOf(options.on);
  plan.kind = plan.pool.kind;
  plan.on = options.on.find(':') != std::string::npos ? options.on : plan.kind == DeviceKind::kCuda ? "cuda" : "host";
  plan.devices = options.devices.empty() ? DefaultCounts(plan.pool) : ParseCounts(options.devices);

  for (const std::string& word : SplitList("--programs", options.programs)) {
    const RegisteredProgram& program = FindProgram(registry, word, plan.kind);
    const ParameterOptions own = ParametersFor(program, options.parameters);
    CheckParameters(program, own);
    static_cast<void>(VertexDataFiles(program, own));
    CheckVerifier(program, options.parameters.value, "compare verifies each answer");
    if (std::find(plan.programs.begin(), plan.programs.end(), program.name()) != plan.programs.end()) {
      Throw<UsageError>("--programs {}: {} stands there twice", options.programs, program.name());
    }
    plan.programs.emplace_back(program.name());
  }
  CheckGiven(registry, plan, options.parameters);
  plan.executions = SplitList("--execution", options.execution);
  if (std::erase(plan.executions, "all") > 0) {
    for (const NamedEngine& engine : Engines()) {
      const bool absent = std::find(plan.executions.begin(), plan.executions.end(), engine.name) == plan.executions.end();
      if (engine.execution && absent) plan.executions.emplace_back(engine.name);
    }
  }
  for (const std::string& execution : plan.executions) plan.engines[execution] = ParseEngine(execution);
  plan.comms = SplitList("--comm", options.comm);
  const bool every_comm = std::erase(plan.comms, "all") > 0;
  for (const std::string& comm : plan.comms) {
    RunOptions run;
    run.comm = plan.specs[comm] = ParseCommSpec(comm);
    CheckRunOptions(run, plan.kind, 1);  // the name; whether it can join the devices is a finding
  }
  if (every_comm) {
    std::vector<std::string> every;
    for (const std::string_view name : TransportNames()) every.emplace_back(name);
    if (std::find(every.begin(), every.end(), "chattygraph") == every.end()) every.emplace_back("chattygraph");
    for (const std::string& comm : every) plan.specs[comm] = ParseCommSpec(comm);
    std::erase_if(every, [&](const std::string& comm) {
      return std::find(plan.comms.begin(), plan.comms.end(), comm) != plan.comms.end() ||
             !CanJoin(plan.specs[comm], plan.Devices(plan.most()));
    });
    plan.optional = every;
    plan.comms.insert(plan.comms.begin(), every.begin(), every.end());
  }
  plan.partitions = SplitList("--partition", options.partition);
  if (options.figure_alone) plan.figure = FindEngineFigure(options.figure);
  for (const std::string& partition : plan.partitions) static_cast<void>(MakePartitioner(partition));
  static_cast<void>(LinkMask::Parse(options.links, plan.most()));
  if (!options.load.format.empty()) static_cast<void>(ParseFormat(options.load.format));
  return plan;
}

std::string MaskFor(std::string_view links, std::size_t devices) {
  if (links == "all" || links == "none" || devices < 2) return std::string(devices < 2 ? "all" : links);
  std::string masked;
  for (std::size_t open = links.find('{'); open != std::string_view::npos; open = links.find('{', open + 1)) {
    std::vector<std::string> group;
    const std::string_view inside = links.substr(open + 1, std::min(links.find('}', open), links.size()) - open - 1);
    for (std::size_t begin = 0; begin <= inside.size();) {
      const std::size_t end = std::min(inside.find(',', begin), inside.size());
      std::size_t index = devices;
      std::string_view word = inside.substr(begin, end - begin);
      while (word.starts_with(' ')) word.remove_prefix(1);
      std::from_chars(word.data(), word.data() + word.size(), index);
      if (index < devices) group.push_back(fmt::format("{}", index));
      begin = end + 1;
    }
    if (group.size() < 2) continue;
    masked += '{';
    for (std::size_t i = 0; i < group.size(); ++i) masked += (i == 0 ? "" : ",") + group[i];
    masked += '}';
  }
  return masked.empty() ? "none" : "pairs " + masked;
}

std::vector<Combination> CombinationsOn(const ComparePlan& plan, const std::string& graph) {
  std::vector<Combination> all;
  std::vector<std::uint32_t> order(plan.devices.rbegin(), plan.devices.rend());
  if (order.back() == 1) std::rotate(order.rbegin(), order.rbegin() + 1, order.rend());
  for (const std::uint32_t devices : order) {
    const std::vector<std::string> one{std::string(kNothing)};
    for (const std::string& partition : devices == 1 ? one : plan.partitions) {
      for (const std::string& program : plan.programs) {
        for (const std::string& execution : plan.executions) {
          for (const std::string& comm : devices == 1 ? one : plan.comms) {
            const bool optional = std::find(plan.optional.begin(), plan.optional.end(), comm) != plan.optional.end();
            if (devices > 1 && optional && !CanJoin(plan.specs.at(comm), plan.Devices(devices))) continue;
            Combination combination{graph, program, execution, comm, partition, devices};
            if (plan.figure != nullptr && !Shows(*plan.figure, combination, plan.kind)) continue;
            all.push_back(std::move(combination));
          }
        }
      }
    }
  }
  return all;
}

ParameterOptions ParametersFor(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<ParameterInfo> known = program.parameters();
  const auto has = [&](std::string_view name) {
    return std::any_of(known.begin(), known.end(), [&](const ParameterInfo& p) { return p.name == name; });
  };
  ParameterOptions own;
  if (has("source")) own.source = options.source;
  if (has("damping")) own.damping = options.damping;
  if (has("tolerance")) own.tolerance = options.tolerance;
  if (has("rounds")) own.rounds = options.rounds;
  for (const std::string& set : options.set) {
    const std::string name = set.substr(0, set.find('='));
    if (has(name)) own.set.push_back(set);
  }
  const std::vector<VertexDataInfo> arrays = program.vertex_data();
  for (const std::string& pair : options.vertex_data) {
    const std::string_view name = std::string_view(pair).substr(0, pair.find('='));
    if (std::any_of(arrays.begin(), arrays.end(), [&](const VertexDataInfo& data) { return data.name == name; })) {
      own.vertex_data.push_back(pair);
    }
  }
  return own;
}

}  // namespace chatty::cli
