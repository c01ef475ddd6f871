#include "process.h"

#include <unistd.h>

#include <atomic>

#include "chatty/core/error.h"

namespace chatty::python {
namespace {

std::atomic<pid_t> own_process{0};

}  // namespace

void CheckProcess() {
  const pid_t here = ::getpid();
  pid_t owner = 0;
  if (own_process.compare_exchange_strong(owner, here) || owner == here) return;
  throw UsageError(
      "this process was forked from one that uses chattygraph, whose threads it does not have; use multiprocessing's start "
      "method "
      "\"spawn\" or \"forkserver\", or fork before the first use");
}

pid_t OwnProcess() { return own_process.load(); }

}  // namespace chatty::python
