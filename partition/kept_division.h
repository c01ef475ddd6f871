/// \file
/// Divisions that a graph's store keeps: subgraphs as arrays and back, and under which keys. Internal to partition/.
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

/// What names these subgraphs in a store: who owns which vertex, and what BuildSubgraphs was asked for, own_begins aside.
std::string SubgraphsKey(const Partition& partition, const SubgraphOptions& options);

/// The subgraphs of this key, without own_begins; none if the graph's store has none. Arrays view what the store has, and
/// the graph where BuildSubgraphs would. Throws OutOfMemoryError.
std::optional<std::vector<Subgraph>> LoadSubgraphs(const Graph& graph, const Partition& partition, const std::string& key);
/// Keeps them, in a graph with a store.
void SaveSubgraphs(const Graph& graph, const std::string& key, const std::vector<Subgraph>& subgraphs);

/// Owners of all vertices that the graph's store has for `key`, each below `parts`; none if it has none.
std::optional<Array<PartId>> LoadOwners(const Graph& graph, const std::string& key, PartId parts);
/// Keeps them, if the graph has a store.
void SaveOwners(const Graph& graph, const std::string& key, const Array<PartId>& owners);

}  // namespace chatty
