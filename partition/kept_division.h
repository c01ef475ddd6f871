/// \file
/// Stores divisions in a graph's store: converts subgraphs to arrays and back, and makes keys. Internal to partition/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// The key of these subgraphs in a store. It depends on the owners of vertices and on the options, except own_begins.
std::string SubgraphsKey(const Partition& partition, const SubgraphOptions& options);

/// The subgraphs with this key, without own_begins; nothing if the graph's store has none. Arrays are views of the store's
/// arrays, and of the graph where those of BuildSubgraphs are. Throws OutOfMemoryError.
std::optional<std::vector<Subgraph>> LoadSubgraphs(const Graph& graph, const Partition& partition, const std::string& key);
/// Stores the subgraphs. The graph must have a store.
void SaveSubgraphs(const Graph& graph, const std::string& key, const std::vector<Subgraph>& subgraphs);

/// The owners of all vertices that the graph's store has for `key`, each below `parts`; nothing if it has none.
std::optional<Array<PartId>> LoadOwners(const Graph& graph, const std::string& key, PartId parts);
/// Stores the owners, if the graph has a store.
void SaveOwners(const Graph& graph, const std::string& key, const Array<PartId>& owners);

}  // namespace chatty
