/// \file
/// Files that a subcommand is about to write: whether they can be written, and what their formats lose.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"

namespace chatty::cli {

/// Announces that `path` will be written: throws InputError now, before a long run, if it could not be then; and has an
/// interrupt clean up. "-" and empty paths pass.
void PrepareOutput(const std::string& path);
/// Throws UsageError for the value of `option` if files that end so are something else than what is written, or packed as
/// nothing here packs. `forms` says what there is, and `own` which of the known endings it has. `decided`: the form was
/// given, and only packing matters.
void RefuseOtherSuffix(std::string_view option, const std::string& path, std::string_view forms,
                       std::initializer_list<std::string_view> own, bool decided = false);
/// Both for the path of `--json`.
void PrepareJson(const std::string& path);
/// Throws UsageError if two named files are the same one, whatever they are called. Empty paths, "-" and devices are
/// none.
void RefuseSameFile(std::string_view option, const std::string& path, std::string_view other_option,
                    const std::string& other);
/// The files that WriteGraph makes of a graph: `path`, and those beside it that its format has.
std::vector<std::string> GraphOutputFiles(const std::string& path, const std::optional<std::string>& format);
/// What WriteGraph will lose of the graph. Throws UsageError, with what else can be done, if that is anything and `lossy` is
/// not set.
std::vector<std::string> TakeLosses(const Graph& graph, const std::string& path, const std::optional<std::string>& format,
                                    bool lossy, std::string_view remedy);
/// Lines "lost ..." of a command's summary, names `width` wide; on standard error instead where the graph goes to "-".
std::string DescribeLosses(const std::vector<std::string>& lost, const std::string& path, int width);

}  // namespace chatty::cli
