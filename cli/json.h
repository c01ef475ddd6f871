/// \file
/// Records as JSON: how they are written, and the parts that several subcommands have in theirs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/statistics.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {

using Json = nlohmann::ordered_json;

struct DataFile;
struct LdbcChoice;
struct LoadedGraph;

void WriteJson(const std::string& path, const Json& json);  ///< indented, to a file that appears once complete, or "-"
/// The same with a line for each element of an array: a third of the bytes where there are many.
void WriteJsonLines(const std::string& path, const Json& json);

Json BuildJson();                           ///< version, commit, compiler: which program made the record
Json GraphJson(const LoadedGraph& loaded);  ///< path, name, sizes, kind of weights, ids
/// How the graph calls v, or null for kNoVertex.
Json IdJson(const Graph& graph, VertexId v);
Json QualityJson(const Partition& partition, const PartitionQuality& quality);
Json LdbcJson(const std::optional<LdbcChoice>& ldbc);  ///< null without
/// All parameters, defaults included, as numbers; vertices in the graph's ids. Those in whose place data were given are
/// null.
Json ParametersJson(const RegisteredProgram& program, const Graph& graph, const ParameterValues& values,
                    const std::vector<DataFile>& data);
Json VertexDataJson(const std::vector<DataFile>& files);  ///< paths by name
Json VerdictJson(const Verdict& verdict);
/// Counters, and the tables of devices and pairs.
Json StatisticsJson(const RunStatistics& statistics);
/// "converged", "limit", "max-rounds", "stopped" or "failed".
std::string_view EndedName(Ended ended);

}  // namespace chatty::cli
