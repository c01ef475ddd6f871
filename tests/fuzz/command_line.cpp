#include "command_line.h"

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "chatty/cli/app.h"
#include "chatty/core/logging.h"
#include "fuzz.h"

namespace chatty::fuzz {
namespace {

/// Standard output and error, to files in memory and back.
class Captured {
 public:
  Captured() {
    for (int i = 0; i < 2; ++i) {
      saved_[i] = ::dup(1 + i);
      files_[i] = ::memfd_create("output", 0);
      if (saved_[i] < 0 || files_[i] < 0) Report("standard output cannot be kept");
    }
    // What the sanitizers have to say goes where it always goes.
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(saved_[1])));  // NOLINT
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }

  void Begin() {
    for (int i = 0; i < 2; ++i) {
      if (::ftruncate(files_[i], 0) != 0 || ::lseek(files_[i], 0, SEEK_SET) != 0) Report("standard output cannot be kept");
      ::dup2(files_[i], 1 + i);
    }
  }
  void End(std::string* out, std::string* err) {
    std::fflush(stdout);
    std::fflush(stderr);
    for (int i = 0; i < 2; ++i) {
      ::dup2(saved_[i], 1 + i);
      std::string& text = *(i == 0 ? out : err);
      text.resize(static_cast<std::size_t>(::lseek(files_[i], 0, SEEK_END)));
      if (::pread(files_[i], text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) Report("no output");
    }
  }

 private:
  int saved_[2], files_[2];
};

const Registry& Programs() {
  static const Registry& programs = [&]() -> const Registry& {
    static Registry registry;
    RegisterPrograms(registry);
    return registry;
  }();
  return programs;
}

}  // namespace

std::string RunChatty(const std::vector<std::string>& words, int* code) {
  static Captured captured;
  std::vector<const char*> argv{"chatty"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  if (::chdir(Files().folder().c_str()) != 0) Report("the folder is gone");
  ::setenv("CHATTY_CACHE_DIR", Files().Path("costs").c_str(), 1);  // NOLINT(concurrency-mt-unsafe): between runs
  std::string out, err;
  captured.Begin();
  *code = cli::RunCommandLine(static_cast<int>(argv.size()), argv.data(), Programs());
  captured.End(&out, &err);
  SetLogLevel("off");
  Expect(*code >= cli::kSuccess && *code <= cli::kWrongAnswer, "exit code {}", *code);
  // What is logged or explained may come before it: lines, too.
  std::string_view last = err;
  if (!last.empty()) last.remove_suffix(1);
  last = last.substr(last.rfind('\n') + 1);
  Expect(err.empty() || err.back() == '\n', "standard error ends within a line: {}", err);
  Expect((*code == cli::kSuccess) != last.starts_with("chatty: error: "), "exit code {} with: {}", *code, err);
  if (*code != cli::kSuccess) CheckText(last);
  Expect(!last.ends_with("(this is a bug in chatty; please report it with this line and the command)"), "{}", err);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Files().folder())) {
    Expect(entry.path().extension() != ".tmp", "{} is left", entry.path().string());
  }
  return out;
}

}  // namespace chatty::fuzz
