/// \file
/// `chatty compare` in a child: the built binary, or the command line with programs of the test's own; and what a page has
/// to be.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/json.h"
#include "chatty/framework/registry.h"
#include "cli_fixture.h"

namespace chatty::cli {

namespace fs = std::filesystem;
using test::Arguments;
using test::Binary;
using test::ReadAll;

/// Fields of a CSV's lines, as RFC 4180 has them.
inline std::vector<std::vector<std::string>> ParseCsv(std::string_view text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "the last line does not end";
  rows.pop_back();
  return rows;
}

/// What is wrong with a page's elements; empty if each is closed in its turn.
inline std::string Unbalanced(std::string_view html) {
  std::vector<std::string> open;
  std::size_t at = html.find("<html");
  while ((at = html.find('<', at)) != std::string_view::npos) {
    const std::size_t end = html.find('>', at);
    if (end == std::string_view::npos) return "an element does not end";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    const std::string name(
        tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" \n/", 1) - (tag.starts_with('/') ? 1 : 0)));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name)
        return fmt::format("</{}> closes {}", name, open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
      if (name == "style") at = html.find("</style>", at);
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

inline constexpr std::string_view kCharts[] = {"time",  "scaling", "pairs",      "shares",
                                               "sizes", "model",   "crossovers", "regret"};

inline void ExpectPage(const std::string& html) {
  EXPECT_EQ(Unbalanced(html), "");
  for (const std::string_view chart : kCharts) {
    const std::size_t at = html.find(fmt::format("<figure id=\"{}\">", chart));
    ASSERT_NE(at, std::string::npos) << chart;
    const std::size_t read = html.find("<p class=\"read\">", at);
    EXPECT_LT(read, html.find("</figure>", at)) << chart << " does not say how to read it";
  }
  for (const std::string_view loads : {"http:", "https:", "src=", "url(", "@import", "<script", "nan", "inf\""}) {
    EXPECT_EQ(html.find(loads), std::string::npos) << loads;
  }
}

/// How a child ended.
struct ChildEnd {
  int status = -1;  // exit code; minus the signal that ended it
  std::string out, err;
};

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(Binary())) FAIL() << Binary() << " is not there; build the target chatty_cli, or set CHATTY_BINARY";
    std::string pattern = (fs::temp_directory_path() / "chatty-compare-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_EQ(Chatty({"generate", "kron", "7", "--edge-factor", "8", "--weights", "1:9", "-o", Path("kron.chatty")}).status,
              0);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  pid_t Start(const std::function<int()>& child) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int files[] = {::open("/dev/null", O_RDONLY), ::open(Path(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                         ::open(Path(".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
    for (int i = 0; i < 3; ++i) {
      if (files[i] < 0 || ::dup2(files[i], i) < 0) ::_exit(126);
    }
    ::_exit(child());
  }
  ChildEnd Wait(pid_t pid) const {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ReadAll(Path(".out")), ReadAll(Path(".err"))};
  }
  /// `before`: what the child does first; another status than 0 ends it.
  pid_t StartChatty(
      const Arguments& arguments, const std::function<int()>& before = [] { return 0; }) const {
    std::vector<std::string> words{Binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Start([&] {
      if (const int status = before(); status != 0) return status;
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      return 127;
    });
  }
  ChildEnd Chatty(const Arguments& arguments) const { return Wait(StartChatty(arguments)); }
  /// The command line in a child, with programs of the test's own.
  ChildEnd With(const Registry& registry, const Arguments& arguments) const {
    return Wait(Start([&] {
      std::vector<const char*> argv{"chatty"};
      for (const std::string& word : arguments) argv.push_back(word.c_str());
      return RunCommandLine(static_cast<int>(argv.size()), argv.data(), registry);
    }));
  }
  Arguments Compare(const Arguments& more) const {
    Arguments all{"compare", Path("kron.chatty"), "--on", "host", "--threads", "2", "--out", Path("out")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json Results() const { return Json::parse(ReadAll(folder_ / "out" / "results.json")); }
  fs::path JournalPath() const { return folder_ / "out" / "journal.jsonl"; }
  /// What each timed trial was of, in the order in which they were made.
  std::vector<std::string> TrialsInTheJournal() const {
    std::vector<std::string> trials;
    std::ifstream journal(JournalPath());
    for (std::string text; std::getline(journal, text);) {
      const Json line = Json::parse(text);
      if (line.at("kind") == "trial") trials.push_back(line.at("at").dump());
    }
    return trials;
  }

  fs::path folder_;
};

}  // namespace chatty::cli
