#include "waits.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "chatty/core/sync.h"

// Their names are the linker's. A time_point is a number in a register, whatever C thinks of its type.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
long __real_syscall(long number, ...);
std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv() noexcept;
}

namespace chatty::test::waits {
namespace {

using std::chrono::nanoseconds;

std::atomic<std::uint64_t> g_sleeps{0}, g_looks{0};
std::atomic<std::int64_t> g_longest{0};
std::atomic<std::int64_t> g_ahead{0};  // of the real clock, while that one goes
std::atomic<std::int64_t> g_now{0};    // while it stands
std::atomic<std::int64_t> g_step{0};   // 0: the real clock goes

std::int64_t RealNow() { return __real__ZNSt6chrono3_V212steady_clock3nowEv().time_since_epoch().count(); }

std::int64_t Now() {
  const std::int64_t step = g_step;
  return step > 0 ? g_now.fetch_add(step) + step : RealNow() + g_ahead;
}

/// Whether each thread but the calling one sleeps, by the system's own account: what was preempted or was just started runs.
bool OthersSleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == own) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    const std::size_t name_ends = line.rfind(')');
    if (name_ends == std::string::npos) continue;  // it has ended
    const char state = name_ends + 2 < line.size() ? line[name_ends + 2] : 'R';
    if (state != 'S') return false;  // it runs, waits for a core, or is on its way out
  }
  return true;
}

}  // namespace

std::uint64_t Sleeps() { return g_sleeps; }
std::uint64_t Looks() { return g_looks; }
nanoseconds LongestSleep() { return nanoseconds(g_longest.exchange(0)); }

bool AwaitQuiet() {
  constexpr std::int64_t kMinute = 60'000'000'000;
  const std::int64_t start = RealNow();
  std::uint64_t sleeps = 0;
  for (int quiet = 0; quiet < 2;) {  // twice, for the second thread may wake the first after that one was looked at
    const std::uint64_t now = g_sleeps;
    quiet = OthersSleep() && (quiet == 0 || sleeps == now) ? quiet + 1 : 0;
    sleeps = now;
    if (RealNow() - start > kMinute) return false;
    constexpr std::timespec kMoment{0, 20'000};
    if (quiet == 0) ::nanosleep(&kMoment, nullptr);
  }
  return true;
}

void Advance(nanoseconds time) {
  g_ahead += time.count();
  g_now += time.count();
}

SteppingClock::SteppingClock(nanoseconds step) {
  g_now = RealNow() + g_ahead;
  g_step = step.count();
}

SteppingClock::~SteppingClock() {
  g_ahead = std::max(g_ahead.load(), g_now - RealNow());  // it never goes back
  g_step = 0;
}

}  // namespace chatty::test::waits

extern "C" {

std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() noexcept {
  using namespace chatty::test::waits;
  ++g_looks;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(Now()));
}

long __wrap_syscall(long number, ...) {
  using namespace chatty::test::waits;
  long arguments[6];  // more may be read than were given, as the C library's own does
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex && (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) {
    if (const auto* const limit = reinterpret_cast<const std::timespec*>(arguments[3]); limit != nullptr) {
      const std::int64_t asked = limit->tv_sec * 1'000'000'000 + limit->tv_nsec;
      std::int64_t longest = g_longest;
      while (asked > longest && !g_longest.compare_exchange_weak(longest, asked)) {
      }
    }
    ++g_sleeps;
  }
  return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
