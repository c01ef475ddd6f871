#include "chatty/cli/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "chatty/cli/app.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"

namespace chatty::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// So soon after the first signal a further one is its echo: `timeout` signals its child and then the group that the child
/// is in. Nobody presses Ctrl-C again so fast.
constexpr std::chrono::milliseconds kEcho{200};

struct Waiting {
  std::mutex mutex;
  std::stop_source* stop = nullptr;  // a StopOnInterrupt's, between its Begin and End
  int stopped_by = 0;                // the signal that asked for that stop
  Clock::time_point stopped_at;      // and when
};

/// Never destroyed: the thread that waits for signals outlives main().
Waiting& Begun() {
  static Waiting& waiting = *new Waiting;
  return waiting;
}

/// Whether `signal` is the first one that a StopOnInterrupt waits for, and the stop is requested then; or that one's echo,
/// which may come when what was asked to stop has ended already.
bool AskedToStop(int signal) {
  if (signal != SIGINT && signal != SIGTERM) return false;
  const std::lock_guard lock(Begun().mutex);
  if (Begun().stopped_by != 0) return Clock::now() - Begun().stopped_at < kEcho;
  if (Begun().stop == nullptr) return false;
  Begun().stopped_by = signal;
  Begun().stopped_at = Clock::now();
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
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its largest is then an error of writing, and goes like after any other
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  std::thread([signals] {
    int signal = 0;
    do {
      if (::sigwait(&signals, &signal) != 0) return;
    } while (AskedToStop(signal));
    RemoveUnfinishedOutputs();
    Raise(signal);
  }).detach();
}

/// Handles SIGBUS: only what a signal handler may do, but for the lock in RemoveUnfinishedOutputs, which nobody holds who
/// reads a file.
void EndOnShrunkFile(int /*signal*/, siginfo_t* info, void* /*context*/) {
  static std::atomic<bool> reported{false};
  const char* name = MappedInputAt(info->si_addr);
  if (name == nullptr) {  // a fault of another kind: it comes again, and ends the process
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  if (reported.exchange(true)) {
    for (;;) ::pause();  // another thread is at it
  }
  char line[1024];
  std::size_t size = 0;
  const auto append = [&](const char* text) {
    for (; *text != '\0' && size < sizeof line; ++text)
      line[size++] = static_cast<unsigned char>(*text) < 0x20 ? '?' : *text;
  };
  append("chatty: error: ");
  append(name);
  append(": shrank while it was read: somebody is writing it; read it again once it is complete");
  size = std::min(size, sizeof line - 1);
  line[size++] = '\n';
  if (::write(STDERR_FILENO, line, size) < 0) {  // there is nowhere to report it
  }
  RemoveUnfinishedOutputs();
  std::_Exit(kUsage);
}

}  // namespace

void TakeInterrupts() {
  static std::once_flag once;
  std::call_once(once, WaitForSignals);
}

void TakeShrinkingFiles() {
  struct sigaction action {};
  action.sa_sigaction = EndOnShrunkFile;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
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
  RemoveUnfinishedOutputs();
  std::fflush(nullptr);
  std::_Exit(code);
}

void EndBySignal(int signal) {
  std::fflush(nullptr);
  Raise(signal);
  std::_Exit(128 + signal);  // not reached: what a shell makes of the signal
}

}  // namespace chatty::cli
