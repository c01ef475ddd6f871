#include "chatty/cli/ldbc_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "chatty/core/error.h"
#include "chatty/io/reader.h"

namespace chatty::cli {

LdbcChoice TakeLdbc(const std::string& path, const RegisteredProgram& program, ParameterOptions& parameters,
                    LoadOptions& load) {
  constexpr std::string_view kKnown[] = {"bfs", "cdlp", "lcc", "pagerank", "pagerank_double", "sssp", "cc"};
  const std::string_view name = program.name();
  if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
    Throw<UsageError>("--ldbc: LDBC Graphalytics has bfs, cdlp, lcc, pr, sssp and wcc, not {}; give GRAPH instead", name);
  }
  if (path == "-") throw UsageError("--ldbc -: the file names others beside it; give its path");
  if (!load.format.empty() && ParseFormat(load.format) != GraphFormat::kLdbc) {
    Throw<UsageError>("--format {} contradicts --ldbc; leave it out", load.format);
  }
  if (load.ids != "file") Throw<UsageError>("--ids {} contradicts --ldbc, whose parameters are in the file's ids", load.ids);
  load.format = FormatName(GraphFormat::kLdbc);
  LdbcChoice ldbc;
  ldbc.properties = ReadLdbcProperties(path);
  const LdbcProperties& file = ldbc.properties;
  const auto take = [&](std::string_view parameter, const auto& value, std::string_view property) {
    if (IsGiven(parameters, parameter)) return;
    if (!value) {
      Throw<InputError>("{}: does not say graph.{}.{}; add the line, or give --{}", path, file.name, property, parameter);
    }
    ldbc.taken.emplace_back(parameter, fmt::format("{}", *value));
    parameters.set.push_back(fmt::format("{}={}", parameter, *value));
  };
  if (name == "bfs") {
    take("source", file.bfs_source, "bfs.source-vertex");
  } else if (name == "sssp") {
    take("source", file.sssp_source, "sssp.source-vertex");
  } else if (name == "cdlp") {
    take("rounds", file.cdlp_rounds, "cdlp.max-iterations");
  } else if (name == "pagerank" || name == "pagerank_double") {
    take("damping", file.pr_damping, "pr.damping-factor");
    take("rounds", file.pr_rounds, "pr.num-iterations");
  }
  return ldbc;
}

std::string DescribeLdbc(const LdbcChoice& ldbc) {
  std::string text;
  for (const auto& [name, value] : ldbc.taken) text += fmt::format("{} {}, ", name, value);
  return text + (ldbc.taken.empty() ? "no parameters " : "") + "from " + ldbc.properties.path;
}

}  // namespace chatty::cli
