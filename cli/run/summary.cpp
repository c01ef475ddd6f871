#include "chatty/cli/run/summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "chatty/cli/ldbc_input.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/device.h"

namespace chatty::cli {
namespace {

/// "bsp: the default"; of programs with different engines or reasons "level async: asked for; parent bsp: the default".
std::string DescribeEngines(const RunPlan& plan) {
  std::vector<std::string> engines, named;
  for (const ProgramPlan& program : plan.programs) {
    engines.push_back(fmt::format("{}: {}", EngineName(program.engine), program.why));
    named.push_back(fmt::format("{} {}", program.name, engines.back()));
  }
  const bool same = std::adjacent_find(engines.begin(), engines.end(), std::not_equal_to<>()) == engines.end();
  return same ? engines.front() : fmt::format("{}", fmt::join(named, "; "));
}

std::string DescribeDevices(const Session& session) {
  std::vector<std::string> groups;
  for (std::size_t i = 0, j = 0; i < session.device_count(); i = j) {
    const std::string& name = session.device(i).info().name;
    while (j < session.device_count() && session.device(j).info().name == name) ++j;
    std::set<int> indices;
    for (std::size_t d = i; d < j; ++d) indices.insert(session.device(d).index());
    const bool shared = indices.size() < j - i;
    std::string labels = session.device(i).label();
    if (shared) {
      labels += fmt::format(" to {}", session.device(j - 1).label());
    } else if (j - i > 1) {
      labels += fmt::format(" to {}", session.device(j - 1).index());
    }
    groups.push_back(fmt::format("{} ({}{}{})", labels, indices.size() == 1 ? "" : fmt::format("{} × ", indices.size()),
                                 name, shared ? ", shared" : ""));
  }
  return fmt::format("{}", fmt::join(groups, ", "));
}

/// `--explain`: each message with the path that it took, what was predicted and what it took; of many alike the first and
/// the last rounds.
std::string Explanation(const RunStatistics& statistics) {
  constexpr std::size_t kRounds = 40;
  std::string text = fmt::format("  {:>7} {:>9} {:<12} {:<8} {:>12} {:>12} {:>12} {:>12} {:>8}\n", "round", "pair", "path",
                                 "encoding", "entries", "bytes", "predicted", "measured", "error");
  std::uint32_t rounds = 0;
  std::vector<const BufferRecord*> buffers;
  for (const BufferRecord& buffer : statistics.buffers) {
    buffers.push_back(&buffer);
    rounds = std::max(rounds, buffer.round + 1);
  }
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const BufferRecord* a, const BufferRecord* b) { return a->round < b->round; });
  std::vector<double> errors;
  bool left_out = false;
  for (const BufferRecord* const buffer : buffers) {
    const bool known = std::isfinite(buffer->predicted_us) && buffer->measured_us > 0;
    if (known && buffer->bytes > 64 * 1024) errors.push_back(std::abs(buffer->predicted_us / buffer->measured_us - 1));
    if (buffer->round >= kRounds / 2 && buffer->round + kRounds / 2 < rounds) {
      if (!left_out) text += "        …\n";
      left_out = true;
      continue;
    }
    text += fmt::format(
        "  {:>7} {:>9} {:<12} {:<8} {:>12} {:>12} {:>12} {:>12} {:>8}\n", buffer->round,
        fmt::format("{}→{}{}", buffer->from, buffer->to, buffer->broadcast ? " all" : ""), buffer->path, buffer->encoding,
        Grouped(buffer->entries), Grouped(buffer->bytes),
        std::isfinite(buffer->predicted_us) ? FormatMs(buffer->predicted_us / 1e3) : std::string("?"),
        buffer->measured_us >= 0 ? FormatMs(buffer->measured_us / 1e3) : std::string("?"),
        known ? fmt::format("{:+.0f} %", 100 * (buffer->predicted_us / buffer->measured_us - 1)) : std::string("?"));
  }
  if (!errors.empty()) {
    text += fmt::format("  of {} messages over 64 KiB the prediction was off by {:.0f} % in the median, {:.0f} % at most\n",
                        Grouped(errors.size()), 100 * Median(errors), 100 * *std::max_element(errors.begin(), errors.end()));
  }
  return text;
}

}  // namespace

std::string RunSummary(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                       const Session& session, const RunResults& results, bool colours) {
  const RunStatistics& statistics = results.statistics;
  const double median = Median(results.trials_ms);
  std::string text =
      fmt::format("{} on {}\n", program.name(), DescribeGraph(loaded.graph, results.weighted ? "" : program.name()));
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };

  text += DescribeLoad(loaded, options.load, 10);
  line("devices", DescribeDevices(session) + (results.devices_why.empty() ? "" : ", " + results.devices_why) +
                      (session.device_count() == 1
                           ? ""
                           : fmt::format(", {} partition, transport {}", session.partition().name(), statistics.transport)));
  line("engine", DescribeEngines(results.plan));
  if (!results.devices_advice.empty()) line("advice", results.devices_advice);
  if (!results.sources.empty()) {
    const Graph& graph = loaded.graph;
    line("source",
         results.sources.front() == results.sources.back() && results.sources.size() == 1
             ? fmt::format("{} (out-degree {})", graph.id(results.sources[0]), Grouped(graph.out_degree(results.sources[0])))
             : fmt::format("{}, the last of {} trials", graph.id(results.sources.back()), results.sources.size()));
  }
  for (const DataFile& file : results.data) line("data", fmt::format("{} from {}", file.info.name, file.path));
  if (results.ldbc) line("ldbc", DescribeLdbc(*results.ldbc));
  std::string time = FormatMs(median);
  if (results.trials_ms.size() > 1) {
    time += fmt::format(", median of {} trials ({} to {})", results.trials_ms.size(),
                        FormatMs(*std::min_element(results.trials_ms.begin(), results.trials_ms.end())),
                        FormatMs(*std::max_element(results.trials_ms.begin(), results.trials_ms.end())));
  }
  line("time", time);
  line("first",
       fmt::format("answer {} after the command began, loading and preparing included", FormatMs(results.first_answer_ms)));
  std::string rounds = Grouped(statistics.rounds);
  if (statistics.push_rounds + statistics.pull_rounds > 0) {
    rounds += fmt::format(" ({} push, {} pull{})", Grouped(statistics.push_rounds), Grouped(statistics.pull_rounds),
                          statistics.gauss_seidel_rounds > 0 ? " in place" : "");
  }
  if (statistics.fused_steps > 0) {
    rounds += fmt::format(", of them fused in {} steps", Grouped(statistics.fused_steps));
  }
  if (statistics.wide_rounds > 0) {
    rounds += fmt::format(", {} of any width in a resident kernel", Grouped(statistics.wide_rounds));
  }
  if (statistics.phases > 1) rounds += fmt::format(" in {} phases", Grouped(statistics.phases));
  if (const std::string why = WhyNotFinal(results); !why.empty()) rounds += ", " + why;
  line("rounds", rounds);
  if (results.total) line("total", fmt::format("{} {}", Grouped(*results.total), results.value));
  if (statistics.edges_touched > 0) {
    std::string edges = fmt::format("{} examined", Grouped(statistics.edges_touched));
    if (statistics.time_ms > 0) {
      edges +=
          fmt::format(", {:.3g} million a second", static_cast<double>(statistics.edges_touched) / statistics.time_ms / 1e3);
    }
    line("edges", edges);
  }
  if (!statistics.pairs.empty()) {
    std::uint64_t before = 0, messages = 0, bytes = 0;
    for (const PairStatistics& pair : statistics.pairs) {
      before += pair.messages_before;
      messages += pair.messages;
      bytes += pair.bytes;
    }
    line("traffic", fmt::format("{} in {} messages{}", FormatBytes(bytes), Grouped(messages),
                                before > messages ? fmt::format(", combined from {}", Grouped(before)) : ""));
  }
  std::string other = results.open_ms < 1 ? "" : fmt::format("open devices {}, ", FormatMs(results.open_ms));
  other += fmt::format("load {}, partition {}, upload {}, prepare {}", FormatMs(loaded.ms), FormatMs(results.partition_ms),
                       FormatMs(results.upload_ms), FormatMs(results.prepare_ms));
  if (results.output_ms > 0) other += fmt::format(", output {}", FormatMs(results.output_ms));
  if (results.verdict) other += fmt::format(", verify {}", FormatMs(results.verify_ms));
  line("other", other);
  if (!options.output.empty() && options.output != "-")
    line("values", fmt::format("{} in {}", results.value, options.output));
  if (results.verdict) {
    const std::string name = fmt::format("{:<10}", results.verdict->passed ? "verified" : "WRONG");
    text += fmt::format("  {} {}\n", colours ? Coloured(name, results.verdict->passed) : name, results.verdict->message);
  }
  if (options.explain) {
    text += session.device_count() == 1 ? "  one device: no messages to explain\n" : Explanation(statistics);
    const std::vector<ProgramPlan>& programs = results.plan.programs;
    const bool async = std::any_of(programs.begin(), programs.end(),
                                   [](const ProgramPlan& program) { return program.engine == EngineKind::kAsync; });
    if (async && session.device_count() > 1) {
      text += "  without rounds a message has no time of its own: --trace shows when each travelled\n";
    }
  }
  return text;
}

}  // namespace chatty::cli
