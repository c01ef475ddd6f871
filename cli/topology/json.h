/// \file
/// Topologies as JSON, which docs/topology.md describes: to keep what was discovered, and to describe machines that are not
/// there.
#pragma once

#include <string>
#include <string_view>

#include "chatty/cli/json.h"
#include "chatty/comm/rings.h"
#include "chatty/comm/topology.h"

namespace chatty::cli {

/// What ParseTopology reads; null stands for what is not known.
Json TopologyJson(const Topology& topology);
/// The rings, devices by index.
Json RingsJson(const Rings& rings);

/// Reads a topology, or a record of `chatty topology --json` that holds one; `mask`, if it is there, becomes the record's.
/// Bandwidths that are left out are what standards say of generations and counts, where these are known. Throws InputError,
/// naming `file` and the field, for what is no JSON, lacks something, holds what cannot be (FindFault), or has members that
/// nobody reads.
Topology ParseTopology(std::string_view text, const std::string& file, LinkMask* mask = nullptr);
/// The same of a file, plain or packed, or of standard input for "-". Throws InputError also for one of more than 16 MiB
/// beside its costs, or 256 with them: twice what 64 devices may have.
Topology ReadTopology(const std::string& path, LinkMask* mask = nullptr);

}  // namespace chatty::cli
