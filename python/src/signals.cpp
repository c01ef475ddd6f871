#include "signals.h"

#include <nanobind/nanobind.h>
#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

namespace chatty::python {
namespace {

namespace nb = nanobind;

using Handler = void (*)(int);

sem_t arrived;                             // a SIGINT; the one call that wakes a thread and is allowed in a handler
std::atomic<Handler> python_handler{};     // Python's in C, for all signals; null: not seen yet
std::atomic<unsigned> run{0};              // counts what was watched
std::atomic<unsigned> interrupted_run{0};  // the run in which the last SIGINT arrived
std::mutex watched_mutex;
std::stop_source* watched = nullptr;  // guarded by watched_mutex

/// The handler of SIGINT during a run. May be called after it: system() can restore it then.
void HandleInterrupt(int signal) {
  const int kept = errno;
  const unsigned arrived_in = run.load();
  python_handler.load()(signal);  // before the stop, so that the end of the run finds the signal
  interrupted_run.store(arrived_in);
  sem_post(&arrived);
  errno = kept;
}

/// Requests the stop of what is watched, for each SIGINT. Never ends: the process ends it.
void RequestStops() {
  for (;;) {
    while (sem_wait(&arrived) != 0) {
    }
    const std::scoped_lock lock(watched_mutex);
    // Not for a signal that came too late for its run.
    if (watched != nullptr && interrupted_run.load() == run.load()) watched->request_stop();
  }
}

void StartRequestingStops() {
  static const bool started = [] {
    sem_init(&arrived, /*pshared=*/0, 0);
    std::thread(RequestStops).detach();
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

/// Whether SIGINT comes to Python: to its own handler, or to that of a run, which calls it.
bool ReachesPython(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return false;
  return action.sa_handler == HandleInterrupt ||
         (action.sa_handler != nullptr && action.sa_handler == python_handler.load());
}

/// Records Python's handler in C, if `action` of SIGINT has it. Only while Python says that SIGINT is its own.
void RecordPythonHandler(const struct sigaction& action) {
  if (python_handler.load() != nullptr || (action.sa_flags & SA_SIGINFO) != 0) return;
  const Handler handler = action.sa_handler;
  if (handler != SIG_DFL && handler != SIG_IGN && handler != HandleInterrupt) python_handler.store(handler);
}

}  // namespace

Attention NeededAttention() {
  static const nb::object* const getsignal = new nb::object(nb::module_::import_("signal").attr("getsignal"));
  static const nb::object* const raises = new nb::object(nb::module_::import_("signal").attr("default_int_handler"));
  const nb::object own = (*getsignal)(SIGINT);
  const bool interrupts = own.is(*raises);
  if (!interrupts && PyCallable_Check(own.ptr()) != 0) return Attention::kHandlers;
  const struct sigaction interrupt = ActionOf(SIGINT);
  if (interrupts) {
    RecordPythonHandler(interrupt);
    if (!ReachesPython(interrupt)) return Attention::kHandlers;  // of C code, or ignored until system() of a thread ends
  } else if ((interrupt.sa_flags & SA_SIGINFO) != 0) {
    return Attention::kHandlers;  // not Python's, and called otherwise
  }
  // Python has one function in C for all signals. Where it is not known, any handler may be.
  const Handler python = python_handler.load();
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
  struct sigaction own = ActionOf(SIGINT);
  if (!ReachesPython(own)) return;
  StartRequestingStops();
  {
    const std::scoped_lock lock(watched_mutex);
    watched = &stop;
    ++run;
  }
  own.sa_handler = HandleInterrupt;
  struct sigaction before = {};
  ::sigaction(SIGINT, &own, &before);
  installed_ = ReachesPython(before);  // else system() has begun after the test, and restores Python's handler at its end
}

InterruptWatch::~InterruptWatch() {
  // Whoever has taken the signal meanwhile keeps it.
  if (struct sigaction now = ActionOf(SIGINT); now.sa_handler == HandleInterrupt) {
    now.sa_handler = python_handler.load();
    ::sigaction(SIGINT, &now, nullptr);
  }
  const std::scoped_lock lock(watched_mutex);
  watched = nullptr;
}

}  // namespace chatty::python
