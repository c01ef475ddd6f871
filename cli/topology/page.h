/// \file
/// A topology as people read it: a table and a matrix in text, and a page with the links drawn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/rings.h"
#include "chatty/comm/topology.h"

namespace chatty::cli {

/// What stands in a matrix for a link: "NV2", "PIX", "SYS*"; a star where there is no peer access.
std::string LinkCell(const Link& link);
/// The same in words: "2 NVLinks of generation 2".
std::string DescribeLink(const Link& link);
/// "25.0 GB/s", in powers of 1000; "unknown" for 0.
std::string FormatBandwidth(double bytes_per_s);

/// The matrix of links, its legend and the rings, as `chatty topology` prints them. `heading` comes first.
std::string TopologyText(const Topology& topology, const Rings& rings, std::string_view heading);

/// A page of its own, which loads nothing: the links drawn, the matrix, devices and rings; light or dark as the reader's
/// browser is. `heading` says what machine this is; `costs` is what CostsSection (topology_costs.h) made, or empty.
std::string TopologyPage(const Topology& topology, const Rings& rings, std::string_view heading,
                         std::string_view costs = {});

/// Rows of a table, the first of which has the titles of its columns.
using Rows = std::vector<std::vector<std::string>>;
std::string Columns(const Rows& rows);    ///< as columns of a text: two spaces between, a line a row
std::string HtmlTable(const Rows& rows);  ///< as an element of a page

}  // namespace chatty::cli
