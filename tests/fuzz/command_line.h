/// \file
/// Runs command lines of the program in this process.
#pragma once

#include <string>
#include <vector>

namespace chatty::fuzz {

/// Runs `chatty WORDS...` in the folder of Files(). The caller ensures that the command does not leave it. Reports an
/// invalid exit code, an error of more than one line, and unfinished files. Returns the standard output, and the exit code
/// in `code`.
std::string RunChatty(const std::vector<std::string>& words, int* code);

}  // namespace chatty::fuzz
