/// \file
/// RunByName(): runs a registered program once, with parameters by name. For C++ callers that know a program by name. The
/// command line and the bindings to Python, which keep jobs for further runs, share FindProgram and NamedParameters.
#pragma once

#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/framework/named_parameters.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"

namespace chatty {

/// The name that a program is registered under, for its full name or a second one: `pr` for pagerank, `wcc` for cc, `ppr`
/// for personalised_pagerank. Other names come back as they are.
std::string_view FullProgramName(const Registry& registry, std::string_view name);

/// A program by its full name or a second one. Throws as Registry::Find.
const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind);

/// Results of a registered program.
struct NamedResult {
  RunStatistics statistics;    ///< times and traffic
  ErasedValues values;         ///< one per vertex, in id order
  ParameterValues parameters;  ///< that were set or chosen, in the registry's form: Verify takes them
};

/// Runs the program called `name` on the session's devices. `parameters` are those of NamedParameters; the others keep their
/// defaults, and a source is then the vertex of maximum degree. `value` is one of RegisteredProgram::values; empty: the
/// first. Throws UsageError for a wrong program, parameter, value or option, with the nearest name, and what a run throws.
NamedResult RunByName(const Registry& registry, Session& session, std::string_view name,
                      const ParameterValues& parameters = {}, const RunOptions& options = {}, std::string_view value = {});

/// As above, on devices for this run only. `devices` as in ParseDevices. Names are checked before the devices are opened.
NamedResult RunByName(const Registry& registry, const Graph& graph, std::string_view name,
                      const ParameterValues& parameters = {}, std::string_view devices = "host",
                      const RunOptions& options = {}, std::string_view value = {});

}  // namespace chatty
