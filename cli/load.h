/// \file
/// Graphs from files: how they are read, and what is reported of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/io/graph_cache.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"

namespace chatty::cli {

/// How a graph is read. The graph's ids are the file's own, unless `--ids zero` has it counted from 0.
struct LoadOptions {
  std::string format;
  std::string ids = "file";  ///< or zero, or one
  std::string weights = "file";
  std::string cache = "off";            ///< or a folder
  std::uint64_t host_memory_limit = 0;  ///< bytes that the host may hold; 0: what there is
  ReadOptions read;
};

struct LoadedGraph {
  std::string path;
  Graph graph;  ///< id() is how vertices are called
  ReadReport report;
  CacheReport cache;
  double ms = 0;
};
/// What the file's begin says of the graph that Load would make.
std::optional<GraphPeek> Peek(const std::string& path, const LoadOptions& options);
/// Also holds OpenMP, and so all host-side preparation, to `--threads`.
LoadedGraph Load(const std::string& path, const LoadOptions& options);

/// What was read and by what rules it became the graph, for people: lines "file ...", "cache ...", "read as ...", their
/// names `width` wide.
std::string DescribeLoad(const LoadedGraph& loaded, const LoadOptions& options, int width);
/// "road: 1,000 vertices, 3,800 edges, undirected, int32 weights". `unweighted` is the program that runs on it, if that does
/// not use weights.
std::string DescribeGraph(const Graph& graph, std::string_view unweighted = {});

}  // namespace chatty::cli
