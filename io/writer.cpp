#include "chatty/io/writer.h"

#include <string_view>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"

namespace chatty {

std::optional<GraphFormat> FormatOfSuffix(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  if (name.ends_with(".mtx")) return GraphFormat::kMatrixMarket;
  if (name.ends_with(".gr")) return GraphFormat::kDimacs;
  if (name.ends_with(".chatty")) return GraphFormat::kBinary;
  for (const std::string_view suffix : {".el", ".wel", ".txt", ".tsv", ".e"}) {
    if (name.ends_with(suffix)) return GraphFormat::kEdgeList;
  }
  return std::nullopt;
}

void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format) try {
  const std::optional<GraphFormat> chosen = format ? ParseFormat(*format) : FormatOfSuffix(path);
  if (!chosen) {
    Throw<UsageError>(
        "{}: no format is known by this name's ending; end it in .mtx, .gr, .el or .chatty, or name the format", path);
  }
  OutputFile output(path);
  switch (*chosen) {
    case GraphFormat::kMatrixMarket:
      io::WriteMatrixMarket(graph, output);
      break;
    case GraphFormat::kEdgeList:
      io::WriteEdgeList(graph, output);
      break;
    case GraphFormat::kDimacs:
      io::WriteDimacs(graph, output);
      break;
    case GraphFormat::kBinary:
      io::WriteBinary(graph, output);
      break;
  }
  output.Commit();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing a graph");
}

}  // namespace chatty
