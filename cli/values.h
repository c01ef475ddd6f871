/// \file
/// Results of programs, in files and out of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/framework/registry.h"
#include "chatty/io/results.h"

namespace chatty::cli {

/// How the forms of results are described in help texts.
inline constexpr std::string_view kResultsHelp =
    "Results are lines `id value`, one a vertex in id order; or a NumPy array if the name ends in .npy, entry 0 being\n"
    "the first vertex; or a JSON object with first_id, or ids where they leave gaps, and values if it ends in .json.\n"
    "Ids, and values that are vertices, are the file's own (--ids zero: counted from 0). What is not reached has level\n"
    "or distance `infinity` (in integer arrays the type's largest value, in JSON null) and parent -1.";

/// In which form results are written.
struct ValueForm {
  std::string name;     ///< text, ldbc, npy or json; empty: by the name of the file
  std::string program;  ///< that computed them, for the forms that say so
};
/// Writes results, as kResultsHelp says.
void WriteValues(const std::string& path, const Graph& graph, const ErasedValues& values, const ValueForm& form);
/// Reads what WriteValues or another tool wrote. `shape` is what RegisteredProgram::OutputShape says. Components may be
/// called by any whole numbers: they come back by their least vertices. What other tools write for unreached or none is
/// marked in `marks`, and there is none of it without. Throws InputError; ImpossibleValueError (io/results.h) for a
/// well-formed file with a value that cannot be right.
ErasedValues ReadValues(const std::string& path, const Graph& graph, const ErasedValues& shape,
                        ForeignMarks* marks = nullptr);
/// Complains of a wrong answer on standard error.
void ReportWrongAnswer(std::string_view message);

}  // namespace chatty::cli
