/// \file
/// The built command line as scripts see it: a subprocess with files for its output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace chatty::cli::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

/// The program under test.
inline std::string Binary() {
  if (const char* path = std::getenv("CHATTY_BINARY"); path != nullptr && *path != '\0') return path;
  return CHATTY_BINARY_DIR "/bin/chatty";
}

inline std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Arguments Join(Arguments words, const Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Lines of a text that hold `what`.
inline std::vector<std::string> LinesWith(const std::string& text, const std::string& what) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(what) != std::string::npos) found.push_back(line);
  }
  return found;
}

/// What follows a program's name.
inline Arguments Options(const Arguments& program) { return {program.begin() + 1, program.end()}; }

struct Outcome {
  int status = -1;  ///< exit code, or -1 when a signal ended it
  std::string out, err;
  std::size_t peak_bytes = 0;  ///< of its memory
};

/// A running child, whose output goes to files; without the descriptor `closed`, if that is one.
inline pid_t Start(const Arguments& arguments, const fs::path& out, const fs::path& err, const fs::path& in = "/dev/null",
                   int closed = -1) {
  std::vector<std::string> words{Binary()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int files[] = {::open(in.c_str(), O_RDONLY), ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                         ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
    for (int i = 0; i < 3; ++i) {
      if (files[i] < 0 || ::dup2(files[i], i) < 0) ::_exit(126);
      if (files[i] > 2) ::close(files[i]);
    }
    if (closed >= 0) ::close(closed);
    // A shell that starts a suite in the background has it ignore these, and an ignored signal stays so.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_DFL);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return child;
}

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(Binary())) FAIL() << Binary() << " is not there; build the target chatty_cli, or set CHATTY_BINARY";
    std::string pattern = (fs::temp_directory_path() / "chatty-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    SetCacheFolder(Path(".costs"));  // costs measured on this machine would choose other paths than tests expect
  }
  void TearDown() override {
    unsetenv("CHATTY_CACHE_DIR");
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  /// Where the program keeps costs, from now on.
  static void SetCacheFolder(const std::string& path) { ASSERT_EQ(setenv("CHATTY_CACHE_DIR", path.c_str(), 1), 0); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return Path(name);
  }
  Outcome Chatty(const Arguments& arguments, const fs::path& in = "/dev/null") const {
    const pid_t child = Start(arguments, folder_ / ".out", folder_ / ".err", in);
    int status = 0;
    rusage usage{};
    EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadAll(folder_ / ".out"), ReadAll(folder_ / ".err"),
            static_cast<std::size_t>(usage.ru_maxrss) * 1024};
  }
  /// Runs and expects success; returns standard output.
  std::string Succeed(const Arguments& arguments, const fs::path& in = "/dev/null") const {
    const Outcome outcome = Chatty(arguments, in);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  /// Runs and expects this exit code and one line of error that holds `text`.
  void Fail(const Arguments& arguments, int status, std::string_view text) const {
    const Outcome outcome = Chatty(arguments);
    std::string command;
    for (const std::string& word : arguments) command += ' ' + word;
    SCOPED_TRACE(command + '\n' + outcome.err);
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("chatty: error: "));
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "should say: " << text;
    for (const std::string_view leak : {"std::", "terminate", "CLI::", "what()"}) {
      EXPECT_EQ(outcome.err.find(leak), std::string::npos);
    }
  }

  /// 1 -> 2 -> 3 -> 4, 1 -> 3, and 5 alone, in a format that counts from 1.
  std::string Small() const {
    return Write("small.mtx", "%%MatrixMarket matrix coordinate integer general\n5 5 4\n1 2 1\n2 3 1\n3 4 7\n1 3 5\n");
  }

  fs::path folder_;
};

}  // namespace chatty::cli::test
