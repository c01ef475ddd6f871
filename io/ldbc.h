/// \file
/// What an LDBC Graphalytics properties file says: where a graph is, and with which parameters algorithms run on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chatty {

/// A properties file of LDBC Graphalytics. What it does not say is absent.
struct LdbcProperties {
  /// A property of edges: `weight`, of type `real`.
  struct EdgeProperty {
    std::string name;  ///< such as weight
    std::string type;  ///< as the file spells it: real, int, ...
  };

  std::string path;         ///< of the properties file
  std::string name;         ///< of the graph: its properties begin with graph.NAME.
  std::string vertex_path;  ///< the vertex file, beside the properties file; with .zst or .gz where only that is there
  std::string edge_path;    ///< likewise
  std::optional<std::uint64_t> vertices;      ///< meta.vertices
  std::optional<std::uint64_t> edges;         ///< meta.edges: an undirected edge counts once
  bool directed = false;                      ///< directed
  std::uint64_t vertex_properties = 0;        ///< columns of the vertex file after the ids
  std::vector<EdgeProperty> edge_properties;  ///< columns of the edge file after the two ids
  std::optional<std::size_t> weight;          ///< which of them is the weight: sssp.weight-property, or else the first
  std::vector<std::string> algorithms;        ///< algorithms
  std::optional<std::uint64_t> bfs_source;    ///< bfs.source-vertex, a vertex id of the file
  std::optional<std::uint64_t> sssp_source;   ///< sssp.source-vertex, likewise
  std::optional<std::uint64_t> cdlp_rounds;   ///< cdlp.max-iterations
  std::optional<std::uint64_t> pr_rounds;     ///< pr.num-iterations
  std::optional<double> pr_damping;           ///< pr.damping-factor
  std::map<std::string, std::uint64_t, std::less<>> lines;  ///< of a property, without graph.NAME., the line that sets it
};

/// Reads a properties file, plain, .gz or .zst. Throws InputError, with file and line, for what is missing or means nothing,
/// also if the vertex or the edge file is not there.
LdbcProperties ReadLdbcProperties(const std::string& path);

/// The vertex and the edge file that are written beside the properties file `path`: NAME.v and NAME.e beside
/// NAME.properties, packed as it is.
std::pair<std::string, std::string> LdbcFilesBeside(const std::string& path);

}  // namespace chatty
