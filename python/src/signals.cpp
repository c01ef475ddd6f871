#include "signals.h"

#include <nanobind/nanobind.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

namespace chatty::python {
namespace {

namespace nb = nanobind;

using Handler = void (*)(int);

sem_t arrived;                          // a SIGINT; the one call that wakes a thread and is allowed in a handler
std::atomic<Handler> handler_before{};  // Python's
std::atomic<unsigned> run{0};           // counts what was watched
std::atomic<unsigned> noted{0};         // the run in which the last SIGINT arrived
std::mutex watched_mutex;
std::stop_source* watched = nullptr;  // guarded by watched_mutex

/// The handler of SIGINT during a run.
void Note(int signal) {
  const int kept = errno;
  noted.store(run.load());
  sem_post(&arrived);
  if (const Handler before = handler_before.load(std::memory_order_relaxed); before != nullptr) before(signal);
  errno = kept;
}

/// Requests the stop of what is watched, for each SIGINT. Never ends: the process ends it.
void Forward() {
  for (;;) {
    while (sem_wait(&arrived) != 0) {
    }
    const std::scoped_lock lock(watched_mutex);
    if (watched != nullptr && noted.load() == run.load()) watched->request_stop();  // not for one that came too late
  }
}

void StartForwarding() {
  static const bool started = [] {
    sem_init(&arrived, /*pshared=*/0, 0);
    std::thread(Forward).detach();
    return true;
  }();
  static_cast<void>(started);
}

struct sigaction ActionOf(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, nullptr, &action);
  return action;
}

}  // namespace

Attention NeededAttention() {
  static const nb::object* const getsignal = new nb::object(nb::module_::import_("signal").attr("getsignal"));
  static const nb::object* const raises = new nb::object(nb::module_::import_("signal").attr("default_int_handler"));
  const nb::object own = (*getsignal)(SIGINT);
  const bool interrupts = own.is(*raises);
  if (!interrupts && PyCallable_Check(own.ptr()) != 0) return Attention::kHandlers;
  const struct sigaction interrupt = ActionOf(SIGINT);
  if ((interrupt.sa_flags & SA_SIGINFO) != 0) return Attention::kHandlers;  // not Python's, and called otherwise
  // Python has one function in C for all signals. Where SIGINT is not its, any handler may be.
  const Handler python = interrupts ? interrupt.sa_handler : nullptr;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal == SIGINT || signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
        signal == SIGABRT) {
      continue;  // for the rest: of faults, which end the process
    }
    const struct sigaction action = ActionOf(signal);
    if ((action.sa_flags & SA_SIGINFO) != 0) continue;  // not Python's
    const Handler handler = action.sa_handler;
    if (handler == SIG_DFL || handler == SIG_IGN) continue;
    if (python == nullptr || handler == python) return Attention::kHandlers;
  }
  return interrupts ? Attention::kInterrupt : Attention::kNone;
}

InterruptWatch::InterruptWatch(std::stop_source& stop) {
  StartForwarding();
  {
    const std::scoped_lock lock(watched_mutex);
    watched = &stop;
    ++run;
  }
  ::sigaction(SIGINT, nullptr, &before_);
  handler_before.store(before_.sa_handler, std::memory_order_relaxed);
  struct sigaction own = before_;
  own.sa_handler = Note;
  ::sigaction(SIGINT, &own, nullptr);
}

InterruptWatch::~InterruptWatch() {
  // Whoever has taken the signal meanwhile keeps it.
  if (ActionOf(SIGINT).sa_handler == Note) ::sigaction(SIGINT, &before_, nullptr);
  const std::scoped_lock lock(watched_mutex);
  watched = nullptr;
}

}  // namespace chatty::python
