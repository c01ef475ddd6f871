// METIS in its child process: interrupts, its end, and too little memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

#if CHATTY_WITH_METIS
/// The first child of a process' first thread, 0 if it has none.
pid_t ChildOf(pid_t parent) {
  pid_t child = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", parent)) >> child;
  return child;
}

/// Returns once a process has a handler of its own for SIGTERM, or is gone.
void AwaitHandler(pid_t process) {
  for (;;) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    std::string word;
    unsigned long long caught = 0;
    while (status >> word && word != "SigCgt:") {
    }
    if (!(status >> std::hex >> caught) || (caught >> (SIGTERM - 1) & 1) != 0) return;
    ::poll(nullptr, 0, 1);
  }
}

TEST_F(CliTest, AnInterruptEndsAMetisPartition) {
  if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "no /proc";
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "1200", "1200", "-o", graph});  // a second or more of METIS
  // With a file to clean up, signals have a thread of their own; without, they come to any.
  for (const bool with_output : {true, false}) {
    for (const int signal : {SIGTERM, SIGINT}) {
      SCOPED_TRACE(fmt::format("signal {}, {}", signal, with_output));
      Arguments arguments{"partition", graph, "--parts", "8"};
      if (with_output) arguments = Join(arguments, {"-o", Path("grid.part.8")});
      const pid_t chatty = Start(arguments, folder_ / ".out", folder_ / ".err");
      int status = 0;
      pid_t metis = 0;
      while ((metis = ChildOf(chatty)) == 0 && ::waitpid(chatty, &status, WNOHANG) == 0) ::poll(nullptr, 0, 1);
      ASSERT_NE(metis, 0) << "METIS was not seen: " << ReadAll(folder_ / ".err");
      AwaitHandler(metis);  // METIS is at work
      ASSERT_EQ(::kill(chatty, signal), 0);
      ASSERT_EQ(::waitpid(chatty, &status, 0), chatty);
      ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the interrupt came";
      EXPECT_EQ(WTERMSIG(status), signal);
      EXPECT_EQ(ReadAll(folder_ / ".out"), "");
      EXPECT_EQ(ReadAll(folder_ / ".err"), "");
      EXPECT_FALSE(fs::exists(Path("grid.part.8")));
      // Ended with its parent. Who adopts it may never ask how: then a zombie stays.
      for (int wait = 0; wait < 6000; ++wait) {  // a minute: a hang
        std::string stat = ReadAll(fmt::format("/proc/{}/stat", metis));
        if (stat.empty() || stat.find(") Z ") != std::string::npos || stat.find(") X ") != std::string::npos) {
          metis = 0;
          break;
        }
        ::poll(nullptr, 0, 10);
      }
      EXPECT_EQ(metis, 0) << "METIS goes on";
    }
  }
}

TEST_F(CliTest, WhatEndsMetisDoesNotEndTheRun) {
  if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "no /proc";
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "1200", "1200", "-o", graph});
  for (const int signal : {SIGKILL, SIGTERM}) {  // as the out-of-memory killer ends it, and as METIS ends itself
    const pid_t chatty = Start({"partition", graph, "--parts", "8"}, folder_ / ".out", folder_ / ".err");
    int status = 0;
    pid_t metis = 0;
    while ((metis = ChildOf(chatty)) == 0 && ::waitpid(chatty, &status, WNOHANG) == 0) ::poll(nullptr, 0, 1);
    ASSERT_NE(metis, 0) << "METIS was not seen: " << ReadAll(folder_ / ".err");
    AwaitHandler(metis);
    ASSERT_EQ(::kill(metis, signal), 0);
    ASSERT_EQ(::waitpid(chatty, &status, 0), chatty);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(ReadAll(folder_ / ".err").starts_with("warning: partition metis: METIS ")) << ReadAll(folder_ / ".err");
    EXPECT_NE(ReadAll(folder_ / ".out").find("edge-balanced (metis was asked for)"), std::string::npos);
  }
}

TEST_F(CliTest, MetisWithoutMemoryFallsBack) {
#if CHATTY_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers take terabytes of addresses";
#endif
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "700", "700", "-o", graph});
  // From a limit in which nothing starts to one in which METIS has enough: on the way it has too little.
  bool divided = false, told = false;
  for (int kib = 30'000; !divided && kib < 4'000'000; kib += kib / 8) {
    const std::string command =
        fmt::format("ulimit -v {}; OMP_NUM_THREADS=1 exec '{}' partition '{}' --parts 8 >'{}' 2>'{}'", kib, Binary(), graph,
                    Path("out"), Path("err"));
    const int status = std::system(command.c_str());
    const std::string out = ReadAll(Path("out")), err = ReadAll(Path("err"));
    SCOPED_TRACE(fmt::format("{} KiB: {}", kib, err));
    EXPECT_TRUE(WIFEXITED(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) continue;  // the command itself is short of memory, and says so
    if (err.find("METIS ran out of memory") != std::string::npos) {
      told = true;
      EXPECT_NE(out.find("edge-balanced (metis was asked for)"), std::string::npos) << out;
    } else if (err.empty()) {
      divided = true;
      EXPECT_NE(out.find("partition       metis, 8 parts"), std::string::npos) << out;
    }
  }
  EXPECT_TRUE(divided);
  EXPECT_TRUE(told);
}

TEST_F(CliTest, MetisKeepsToTheHostsMemoryLimit) {
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "400", "400", "-o", graph});
  // From a limit in which not even the run fits to one in which METIS does: first the graph's counts say that it cannot,
  // then METIS itself finds that it has too little.
  bool refused = false, counted = false, divided = false;
  for (int kib = 2000; !divided && kib < 4'000'000; kib += kib / 4) {
    const Outcome outcome = Chatty({"run", "bfs", graph, "--devices", "host:4", "--partition", "metis", "--verify",
                                    "--host-memory-limit", fmt::format("{}K", kib), "--json", "-"});
    SCOPED_TRACE(fmt::format("{} K: {}", kib, outcome.err));
    if (outcome.status != 0) {
      EXPECT_NE(outcome.err.find("the host's limit allows"), std::string::npos);
      refused = true;
      continue;
    }
    const Json json = Json::parse(outcome.out);
    divided = json.at("partition") == "metis";
    EXPECT_EQ(divided, outcome.err.empty());
    EXPECT_TRUE(divided || outcome.err.find("edge-balanced is used instead") != std::string::npos);
    counted = counted || outcome.err.find("METIS needs at least ") != std::string::npos;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(counted);
  EXPECT_TRUE(divided);
}
#endif  // CHATTY_WITH_METIS

}  // namespace
}  // namespace chatty::cli::test
