#include "chatty/io/writer.h"

#include <string_view>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/rows.h"

namespace chatty {

std::string NameAFormat() {
  std::string endings;
  for (const io::FormatEntry& entry : io::Formats()) {
    if (entry.suffixes.empty()) continue;
    endings += fmt::format("{}{} ({})", endings.empty() ? "" : ", ", entry.suffixes.substr(0, entry.suffixes.find(' ')),
                           entry.name);
  }
  return fmt::format("end it in one of {}, or give --format", endings);
}

namespace {

const io::FormatEntry& ChooseFormat(const std::string& path, const std::optional<std::string>& format) {
  const std::optional<GraphFormat> chosen = format ? ParseFormat(*format) : FormatOfSuffix(path);
  if (!chosen) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", path, NameAFormat());
  }
  if (io::Format(*chosen).write == nullptr) {
    Throw<UsageError>("{}: the format {} is read and not written; {}", path, FormatName(*chosen), NameAFormat());
  }
  return io::Format(*chosen);
}

}  // namespace

std::optional<int> FirstIdOf(const std::string& path, const std::optional<std::string>& format) {
  const int first_id = ChooseFormat(path, format).first_id;
  return first_id < 0 ? std::nullopt : std::optional(first_id);
}

std::vector<std::string> LossesOf(const Graph& graph, const std::string& path, const std::optional<std::string>& format) {
  const io::FormatEntry& chosen = ChooseFormat(path, format);
  std::vector<std::string> lost;
  const VertexId n = graph.vertices();
  const auto first = static_cast<std::uint64_t>(chosen.first_id);
  if (n > 0 && chosen.first_id >= 0 && (graph.id(0) != first || graph.id(n - 1) != first + n - 1)) {
    lost.push_back(fmt::format("ids: its {} vertices are called {} to {}, and would be {} to {}", n, graph.id(0),
                               graph.id(n - 1), first, first + n - 1));
  }
  const WeightKind kind = graph.weight_kind();
  if (graph.edges() > 0 && chosen.integer_weights && kind == WeightKind::kFloat32) {
    lost.emplace_back("weights: they are float32, and would be int32");
  }
  if (graph.edges() > 0 && chosen.format == GraphFormat::kGap && io::EndsIn(path, ".wsg") && kind == WeightKind::kNone) {
    lost.emplace_back("weights: there are none, and every edge would weigh 1");
  }
  if (!graph.labels().empty() && chosen.format != GraphFormat::kBinary) {
    lost.emplace_back("labels: names of vertices would be gone");
  }
  return lost;
}

void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format) try {
  const io::FormatEntry& chosen = ChooseFormat(path, format);
  io::CheckWeights(graph.name().empty() ? "the graph" : graph.name(), graph.out(), 0);  // no reader accepts other weights
  OutputFile output(path);
  chosen.write(graph, output, path);
  output.Commit();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing a graph");
}

}  // namespace chatty
