/// \file
/// Graphs of LDBC Graphalytics by their properties files: `--ldbc`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/framework/registry.h"
#include "chatty/io/ldbc.h"

namespace chatty::cli {

/// `--ldbc`: a graph of LDBC Graphalytics and the parameters that come with it.
struct LdbcChoice {
  LdbcProperties properties;
  std::vector<std::pair<std::string, std::string>> taken;  ///< parameters and values that are from the file
};
/// Reads the file and sets what the options leave open: the input's format, and the program's parameters. Throws UsageError
/// for a program that LDBC Graphalytics knows no parameters of, and for options that contradict it.
LdbcChoice TakeLdbc(const std::string& path, const RegisteredProgram& program, ParameterOptions& parameters,
                    LoadOptions& load);
/// "source 1, from road.properties"; which parameters were taken.
std::string DescribeLdbc(const LdbcChoice& ldbc);

}  // namespace chatty::cli
