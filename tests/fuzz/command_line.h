/// \file
/// Runs command lines of the program in this process.
#pragma once

#include <string>
#include <vector>

namespace chatty::fuzz {

/// Runs `chatty WORDS...` within the folder of Files(), which it cannot leave by itself: whoever calls sees to that. Reports
/// an exit code that is none, an error that is not one line, and unfinished files that are left. Returns what went to
/// standard output, and the exit code in `code`.
std::string RunChatty(const std::vector<std::string>& words, int* code);

}  // namespace chatty::fuzz
