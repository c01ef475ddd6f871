#include "chatty/core/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "waits.h"

namespace chatty {
namespace {

using std::chrono::milliseconds;

/// A pseudo terminal: bars draw on its one end as on any terminal, the test reads at the other.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 80) {
    screen_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (screen_ < 0 || ::grantpt(screen_) != 0 || ::unlockpt(screen_) != 0) return;
    descriptor_ = ::open(::ptsname(screen_), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    ::ioctl(descriptor_, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (screen_ >= 0) ::close(screen_);
  }
  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  /// What was written since the last call. The system may take its time to hand it over: it is read up to a mark behind it.
  std::string Read() {
    constexpr char kMark = '\x06';
    std::string text;
    if (::write(descriptor_, &kMark, 1) != 1) return "no mark could be written";
    while (text.empty() || text.back() != kMark) {
      char buffer[4096];
      const ssize_t got = ::read(screen_, buffer, sizeof buffer);
      if (got <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    text.pop_back();
    return text;
  }
  /// Waits until something has been written, and takes what there is of it.
  std::string Wait() {
    char buffer[4096];
    const ssize_t got = ::read(screen_, buffer, sizeof buffer);
    return got <= 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(got));
  }

 private:
  int screen_ = -1;
  int descriptor_ = -1;
};

/// Goes on only where a test says so.
Progress::Clock::time_point g_now;
Progress::Clock::time_point Now() { return g_now; }
void Pass(milliseconds time) { g_now += time; }

constexpr char kWipe[] = "\r\x1b[K";

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

#define SKIP_WITHOUT_TERMINAL(terminal) \
  if (!(terminal).ok()) GTEST_SKIP() << "this system gives no pseudo terminals"

TEST(Progress, DrawsOnATerminalAndWipesItsLine) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  {
    Progress progress("Reading", 1000, terminal.descriptor(), Now);
    Pass(milliseconds(250));
    progress.Advance(500);
    const std::string text = terminal.Read();
    EXPECT_NE(text.find("Reading"), std::string::npos) << text;
    EXPECT_NE(text.find("50 %"), std::string::npos) << text;
    EXPECT_NE(text.find("[====="), std::string::npos) << text;
  }
  EXPECT_EQ(terminal.Read(), kWipe);
}

TEST(Progress, ShortWorkShowsNothing) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  {
    Progress progress("Reading", 100, terminal.descriptor(), Now);
    for (int i = 0; i < 99; ++i) {
      Pass(milliseconds(2));
      progress.Advance();
    }
  }
  EXPECT_EQ(terminal.Read(), "");
}

TEST(Progress, RedrawsAreRateLimited) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress progress("Reading", 0, terminal.descriptor(), Now);
  for (int i = 0; i < 450; ++i) {
    Pass(milliseconds(1));
    progress.Advance();
  }
  const std::string text = terminal.Read();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 3) << "after 200, 300 and 400 ms";
}

TEST(Progress, GoesByTheRealClockUnlessToldOtherwise) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress progress("Reading", 0, terminal.descriptor());
  test::waits::Advance(milliseconds(200));
  progress.Advance();
  EXPECT_NE(terminal.Read(), "");
}

TEST(Progress, FitsANarrowTerminal) {
  Terminal terminal(20);
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress progress("A label that is far longer than the line", 10, terminal.descriptor(), Now);
  Pass(milliseconds(250));
  progress.Advance();
  EXPECT_EQ(terminal.Read(), "\rA label that is far\x1b[K");  // 19 columns: the last stays free
}

TEST(Progress, StaysSilentElsewhere) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  {
    Progress progress("Reading", 10, pipe[1], Now);
    Pass(milliseconds(250));
    progress.Advance(10);
    EXPECT_EQ(progress.done(), 10u);
  }
  ::close(pipe[1]);
  char byte;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 0) << "something was written to a pipe";
  ::close(pipe[0]);
}

/// Reads until `text` has been drawn, as long as that takes.
std::string ReadUntil(Terminal& terminal, std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) all += terminal.Wait();  // a line that goes on leaves no mark last
  return all;
}

TEST(PhaseLine, TellsWhatIsDoneAndHowFarItIs) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  {
    PhaseLine line("loading", terminal.descriptor(), milliseconds(0));
    EXPECT_TRUE(line.shown());
    ReadUntil(terminal, "\rloading  ");
    line.Begin("running");
    line.ShowRound(12, 3000, 0.5);
    ReadUntil(terminal, "\rrunning, round 12, change 5e-01  ");
    line.ShowRound(13, 3000, std::nan(""));
    ReadUntil(terminal, "\rrunning, round 13, 3 k active  ");
    line.Begin("verifying");
    ReadUntil(terminal, "\rverifying  ");
  }
  EXPECT_TRUE(terminal.Read().ends_with("\r\x1b[K"));
}

TEST(PhaseLine, ShowsNoShortPhase) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  { const PhaseLine line("loading", terminal.descriptor(), std::chrono::hours(1)); }
  EXPECT_EQ(terminal.Read(), "");
}

TEST(PhaseLine, StaysSilentElsewhere) {
  Progress::SetEnabled(false);
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  EXPECT_FALSE(PhaseLine("loading", terminal.descriptor(), milliseconds(0)).shown());
  Progress::SetEnabled(true);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_FALSE(PhaseLine("loading", pipe[1], milliseconds(0)).shown());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Progress, CanBeSwitchedOff) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress::SetEnabled(false);
  {
    Progress progress("Reading", 10, terminal.descriptor(), Now);
    Pass(milliseconds(250));
    progress.Advance(10);
  }
  Progress::SetEnabled(true);
  EXPECT_EQ(terminal.Read(), "");
}

TEST(Progress, WipedLineComesBack) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress progress("Reading", 10, terminal.descriptor(), Now);
  Pass(milliseconds(250));
  progress.Advance();
  Progress::WipeLine();
  EXPECT_TRUE(EndsWith(terminal.Read(), kWipe));
  Progress::WipeLine();
  EXPECT_EQ(terminal.Read(), "") << "wiped a line that was wiped already";
  Pass(milliseconds(150));
  progress.Advance();
  EXPECT_NE(terminal.Read().find("20 %"), std::string::npos);
}

TEST(Progress, CountsFromManyThreads) {
  Terminal terminal;
  SKIP_WITHOUT_TERMINAL(terminal);
  Progress progress("Reading", 40000, terminal.descriptor(), Now);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) progress.Advance();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(progress.done(), 40000u);
}

}  // namespace
}  // namespace chatty
