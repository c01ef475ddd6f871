// Interrupts: what a run keeps that is ended by a signal, and what it leaves behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "../sanitized.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, AnInterruptLeavesNothingBehind) {
  const fs::path output = folder_ / "out";
  fs::create_directory(output);
  // Compressing this takes far longer than it takes to see the file begun.
  const pid_t child =
      Start({"generate", "chain", "6000000", "-o", (output / "chain.mtx.gz").string()}, folder_ / ".out", folder_ / ".err");
  int status = 0;
  bool begun = false;
  while (!begun && ::waitpid(child, &status, WNOHANG) == 0) {
    begun = !fs::is_empty(output);
    ::poll(nullptr, 0, 2);
  }
  ASSERT_TRUE(begun) << ReadAll(folder_ / ".err");
  ASSERT_EQ(::kill(child, SIGINT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the interrupt came";
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(fs::is_empty(output));
}

/// Returns once a process has taken a signal that it was sent, or is gone.
void AwaitTaken(pid_t process, int signal) {
  for (;;) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    std::string word;
    unsigned long long pending = 0;
    while (status >> word && word != "ShdPnd:") {
      // What a signal has ended before its handler was there keeps the signal for ever.
      if (word == "State:" && status >> word && word == "Z") return;
    }
    if (!(status >> std::hex >> pending) || (pending >> (signal - 1) & 1) == 0) return;
    std::this_thread::yield();
  }
}

/// Starts a run that never ends by itself, sends `signal` so many times, each when the one before was taken, once its rounds
/// are likely to have begun, and waits for it. Tries again, more patiently, as long as it was too early: only a run that was
/// stopped writes `record`, and its rounds tell whether any was finished. Returns what waitpid gives.
int InterruptedRun(const Arguments& arguments, int signal, const fs::path& record, const fs::path& out, const fs::path& err,
                   int times = 1) {
  int status = 0;
  for (int patience_ms = 100; patience_ms < 30000; patience_ms *= 2) {
    const pid_t child = Start(arguments, out, err);
    ::poll(nullptr, 0, patience_ms);
    for (int sent = 0; sent < times; ++sent) {
      EXPECT_EQ(::kill(child, signal), 0);
      AwaitTaken(child, signal);
    }
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (fs::exists(record) && Json::parse(ReadAll(record)).at("statistics").at("rounds") != 0) return status;
  }
  ADD_FAILURE() << "no round was ever finished: " << ReadAll(err);
  return status;
}

TEST_F(CliTest, AnInterruptEndsARunWithWhatItHad) {
  const std::string graph = Path("kron.chatty");
  Succeed({"generate", "kron", "10", "-o", graph});
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
    SCOPED_TRACE(name);
    const fs::path output = folder_ / name;
    fs::create_directory(output);
    const std::string values = output / "ranks.txt", record = output / "record.json";
    const int status = InterruptedRun({"run", "pagerank", graph, "--rounds", "1000000000", "--tolerance", "0", "--devices",
                                       "host:2", "--verify", "--trials", "3", "--output", values, "--json", record},
                                      signal, record, folder_ / ".out", folder_ / ".err");
    ASSERT_TRUE(WIFSIGNALED(status)) << "the parent sees what ended it; exit code " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);

    const Json json = Json::parse(ReadAll(record));
    EXPECT_EQ(json.at("ended"), "interrupt");
    EXPECT_EQ(json.at("statistics").at("converged"), false);
    const auto rounds = json.at("statistics").at("rounds").get<std::uint64_t>();
    EXPECT_GT(rounds, 0u);
    EXPECT_GT(json.at("statistics").at("edges_touched").get<std::uint64_t>(), 0u);
    EXPECT_EQ(json.at("time").at("trials_ms").size(), 1u) << "the other trials are left out";
    EXPECT_TRUE(json.at("verification").is_null());

    const std::string text = ReadAll(values);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1024);
    double sum = 0;
    std::istringstream lines(text);
    for (double id = 0, rank = 0; lines >> id >> rank;) sum += rank;
    EXPECT_NEAR(sum, 1.0, 1e-3) << "the ranks of a whole round";

    const std::string err = ReadAll(folder_ / ".err"), out = ReadAll(folder_ / ".out");
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    for (const std::string& part : {name, std::string("not final"), std::string("not verified")}) {
      EXPECT_NE(err.find(part), std::string::npos) << err;
    }
    EXPECT_NE(out.find("ended by " + name), std::string::npos) << "the summary: " << out;
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(output)) ++files;
    EXPECT_EQ(files, 2u) << "something unfinished is left";
  }
}

TEST_F(CliTest, AnInterruptEndsAnAsynchronousRun) {
  const std::string graph = Path("chain.chatty"), record = Path("record.json");
  Succeed({"generate", "chain", "20000", "-o", graph});
  const int status = InterruptedRun({"run", "bfs", graph, "--source", "0", "--devices", "host:4", "--partition", "random",
                                     "--execution", "async", "--trials", "1000000", "--json", record},
                                    SIGINT, record, folder_ / ".out", folder_ / ".err");
  ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  const Json json = Json::parse(ReadAll(record));
  EXPECT_EQ(json.at("ended"), "interrupt");
  EXPECT_EQ(json.at("execution"), "async");
  const std::string err = ReadAll(folder_ / ".err");
  EXPECT_LE(std::count(err.begin(), err.end(), '\n'), 1) << err;
}

// As `timeout` sends it, to its child and to the group that the child is in.
TEST_F(CliTest, AnInterruptThatComesTwiceAtOnceIsOne) {
  const std::string graph = Path("chain.chatty"), record = Path("record.json"), values = Path("ranks.txt.gz");
  Succeed({"generate", "chain", CHATTY_TEST_SANITIZED ? "100000" : "600000", "-o", graph});
  for (const int signal : {SIGTERM, SIGINT}) {
    fs::remove(record);
    fs::remove(values);
    // After the first signal values are written, and compressing them takes longer than the others need to come.
    const int status = InterruptedRun(
        {"run", "pagerank", graph, "--rounds", "1000000000", "--tolerance", "0", "--output", values, "--json", record},
        signal, record, folder_ / ".out", folder_ / ".err", /*times=*/3);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(Json::parse(ReadAll(record)).at("ended"), "interrupt");
    EXPECT_TRUE(fs::exists(values));
    EXPECT_NE(ReadAll(folder_ / ".err").find("not final"), std::string::npos);
  }
}

TEST_F(CliTest, ASecondInterruptEndsARunAtOnce) {
  const std::string graph = Path("chain.chatty");
  Succeed({"generate", "chain", CHATTY_TEST_SANITIZED ? "400000" : "3000000", "-o", graph});
  const fs::path output = folder_ / "out";
  fs::create_directory(output);
  // After the first signal values are written; compressing them takes far longer than seeing the file begun. Then the run is
  // held, so that it cannot be done before the time is over within which a second signal is taken for the first one's echo.
  const Arguments arguments{"run",      "pagerank",   graph,
                            "--rounds", "1000000000", "--tolerance",
                            "0",        "--output",   (output / "ranks.txt.gz").string()};
  int status = 0;
  bool begun = false;
  for (int patience_ms = 200; !begun && patience_ms < 30000; patience_ms *= 2) {
    const pid_t child = Start(arguments, folder_ / ".out", folder_ / ".err");
    ::poll(nullptr, 0, patience_ms);
    ASSERT_EQ(::kill(child, SIGINT), 0);
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (!begun && !fs::is_empty(output)) {
        begun = true;
        ASSERT_EQ(::kill(child, SIGSTOP), 0);
        ::poll(nullptr, 0, 250);
        ASSERT_EQ(::kill(child, SIGINT), 0);
        ASSERT_EQ(::kill(child, SIGCONT), 0);
      }
      ::poll(nullptr, 0, 1);
    }
  }
  ASSERT_TRUE(begun) << ReadAll(folder_ / ".err");
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the second interrupt came";
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(fs::is_empty(output)) << fs::directory_iterator(output)->path();
}

TEST_F(CliTest, AnInterruptWhileLoadingLeavesNothing) {
  const std::string pipe = Path("pipe"), record = Path("record.json");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::write(writer, "0 1\n", 4), 4);
  const pid_t child = Start({"run", "bfs", "-", "--json", record}, folder_ / ".out", folder_ / ".err", pipe);
  int status = 0, unread = 1;
  while (unread > 0 && ::waitpid(child, &status, WNOHANG) == 0) {  // then it waits for the rest of the graph
    ::poll(nullptr, 0, 1);
    ASSERT_EQ(::ioctl(writer, FIONREAD, &unread), 0);
  }
  ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << ReadAll(folder_ / ".err");
  ASSERT_EQ(::kill(child, SIGINT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_FALSE(fs::exists(record));
  EXPECT_EQ(ReadAll(folder_ / ".out"), "");
}

}  // namespace
}  // namespace chatty::cli::test
