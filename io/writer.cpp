#include "chatty/io/writer.h"

#include <string_view>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"

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

void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format) try {
  const std::optional<GraphFormat> chosen = format ? ParseFormat(*format) : FormatOfSuffix(path);
  if (!chosen) {
    Throw<UsageError>("{}: no format is known by this name's ending; {}", path, NameAFormat());
  }
  OutputFile output(path);
  io::Format(*chosen).write(graph, output, path);
  output.Commit();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing a graph");
}

}  // namespace chatty
