/// \file
/// LDBC Graphalytics properties files: the files of a graph, and parameters of algorithms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chatty {

/// The contents of a properties file. Missing properties are absent.
struct LdbcProperties {
  /// A property of edges: `weight`, of type `real`.
  struct EdgeProperty {
    std::string name;  ///< such as weight
    std::string type;  ///< in the file's spelling: real, int, ...
  };

  std::string path;         ///< path of the properties file
  std::string name;         ///< name of the graph: its properties begin with graph.NAME.
  std::string vertex_path;  ///< the vertex file, beside the properties file; with .zst or .gz if only that exists
  std::string edge_path;    ///< the edge file, found in the same way
  std::optional<std::uint64_t> vertices;      ///< meta.vertices
  std::optional<std::uint64_t> edges;         ///< meta.edges; an undirected edge counts once
  bool directed = false;                      ///< directed
  std::uint64_t vertex_properties = 0;        ///< columns of the vertex file after the ids
  std::vector<EdgeProperty> edge_properties;  ///< columns of the edge file after the two ids
  std::optional<std::size_t> weight;    ///< index of the weight in edge_properties: sssp.weight-property, or else the first
  std::vector<std::string> algorithms;  ///< algorithms
  std::optional<std::uint64_t> bfs_source;                  ///< bfs.source-vertex, a vertex id of the file
  std::optional<std::uint64_t> sssp_source;                 ///< sssp.source-vertex, a vertex id of the file
  std::optional<std::uint64_t> cdlp_rounds;                 ///< cdlp.max-iterations
  std::optional<std::uint64_t> pr_rounds;                   ///< pr.num-iterations
  std::optional<double> pr_damping;                         ///< pr.damping-factor
  std::map<std::string, std::uint64_t, std::less<>> lines;  ///< line number of each property; keys without graph.NAME.
};

/// Reads a properties file, plain, .gz or .zst. Throws InputError with file and line for a missing or invalid property, and
/// if the vertex or the edge file does not exist.
LdbcProperties ReadLdbcProperties(const std::string& path);

/// The paths of the vertex and the edge file for a new properties file `path`: NAME.v and NAME.e beside NAME.properties,
/// with the same compression.
std::pair<std::string, std::string> LdbcFilesBeside(const std::string& path);

}  // namespace chatty
