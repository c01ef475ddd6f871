#include "chatty/cli/interrupt.h"

#include <fmt/format.h>
#include <glob.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace chatty::cli {
namespace {

struct Outputs {
  std::mutex mutex;
  std::vector<std::string> paths;
  std::stop_source* stop = nullptr;  // a StopOnInterrupt's, between its Begin and End
  int stopped_by = 0;                // the signal that asked for that stop
};

/// Never destroyed: the thread that waits for signals outlives main().
Outputs& Begun() {
  static Outputs& outputs = *new Outputs;
  return outputs;
}

/// `path` for a glob pattern, its own special characters taken literally.
std::string Literally(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

void RemoveUnfinished() {
  const std::lock_guard lock(Begun().mutex);
  for (const std::string& path : Begun().paths) {
    // OutputFile writes to TARGET.PID-NUMBER.tmp until it commits.
    const std::string pattern = fmt::format("{}.{}-*.tmp", Literally(path), ::getpid());
    glob_t found{};
    // Only here, and under the lock.
    if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {  // NOLINT(concurrency-mt-unsafe)
      for (std::size_t i = 0; i < found.gl_pathc; ++i) ::unlink(found.gl_pathv[i]);
    }
    ::globfree(&found);
  }
}

/// Whether `signal` is the first one that a StopOnInterrupt waits for; then the stop is requested.
bool AskedToStop(int signal) {
  const std::lock_guard lock(Begun().mutex);
  if (Begun().stop == nullptr || Begun().stopped_by != 0 || signal == SIGHUP) return false;
  Begun().stopped_by = signal;
  Begun().stop->request_stop();
  return true;
}

/// The parent shall see what ended the process.
void Raise(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  std::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(signal);
}

void WaitForSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  std::thread([signals] {
    int signal = 0;
    do {
      if (::sigwait(&signals, &signal) != 0) return;
    } while (AskedToStop(signal));
    RemoveUnfinished();
    Raise(signal);
  }).detach();
}

}  // namespace

void TakeInterrupts() {
  static std::once_flag once;
  std::call_once(once, WaitForSignals);
}

void StopOnInterrupt::Begin() {
  const std::lock_guard lock(Begun().mutex);
  Begun().stop = &stop_;
  Begun().stopped_by = 0;
}

void StopOnInterrupt::End() noexcept {
  const std::lock_guard lock(Begun().mutex);
  Begun().stop = nullptr;
}

int StopOnInterrupt::signal() const {
  const std::lock_guard lock(Begun().mutex);
  return Begun().stopped_by;
}

std::string SignalName(int signal) { return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "a signal"; }

void EndAtOnce(int code) {
  RemoveUnfinished();
  std::fflush(nullptr);
  std::_Exit(code);
}

void EndBySignal(int signal) {
  std::fflush(nullptr);
  Raise(signal);
  std::_Exit(128 + signal);  // not reached: what a shell makes of the signal
}

void CleanUpOnInterrupt(const std::string& path) {
  TakeInterrupts();
  const std::lock_guard lock(Begun().mutex);
  Begun().paths.push_back(path);
  if (char* resolved = ::realpath(path.c_str(), nullptr)) {  // a link's target is replaced, not the link
    Begun().paths.emplace_back(resolved);
    std::free(resolved);
  }
}

}  // namespace chatty::cli
