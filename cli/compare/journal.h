/// \file
/// What keeps `chatty compare` from losing a measurement: one line of JSON each, on the disk before the next begins.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/compare/data.h"

namespace chatty::cli {

/// What a journal holds.
struct JournalText {
  std::vector<Json> lines;  ///< the whole ones
  std::size_t bytes = 0;    ///< that they take; what follows was being written when the process ended
};
/// Throws InputError, naming the line, for a line in the midst that is no JSON object with a `kind`, or a file that cannot
/// be read. A last line that is cut short is left out.
JournalText ReadJournal(const std::string& path);

/// A journal being written. Throws CapabilityError where writing fails.
class Journal {
 public:
  /// Goes on after the first `keep` bytes and drops the rest; 0: begins anew.
  Journal(const std::string& path, std::size_t keep);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void Append(const Json& line);  ///< on the disk when it returns

 private:
  const std::string path_;
  int fd_ = -1;
};

/// Throws InputError for a comparison of another machine, version or setting: `now` and `then` are the journals' first
/// lines, which hold `build`, `machine` and `settings`.
void CheckSameComparison(const Json& then, const Json& now, std::string_view folder);
/// @{
/// Throws InputError for a graph or part file that has changed since, or a name of a part file that is another one's now.
void CheckSame(const ComparedGraph& then, const ComparedGraph& now, std::string_view folder);
void CheckSame(const ComparedParts& then, const ComparedParts& now, std::string_view folder);
/// @}

/// Carries out what a line says: adds to the measurement that it is about, making one at need, or to the graph. Throws
/// InputError or nlohmann's exceptions for a line that says nothing, or what cannot be.
void Replay(const Json& line, Comparison& comparison);

/// The measurement of a combination; null if there is none.
Measurement* FindMeasurement(Comparison& comparison, const Combination& combination);

}  // namespace chatty::cli
