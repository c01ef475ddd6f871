// What waiting threads do, counted, and a clock that a test sets forward: so that no test compares times, which depend on
// what else the machine does.
//
// The linker leads calls of syscall() and of std::chrono::steady_clock::now() to waits.cpp (--wrap, see
// tests/CMakeLists.txt): those of the objects linked into the executable, and so all waits of core/sync.h. Threads of
// OpenMP's runtime and of the standard library are not seen. Google Test goes by the same clock: what it says that a test
// took includes what was set forward.
#pragma once

#include <chrono>
#include <cstdint>

namespace chatty::test::waits {

/// Futex waits of core/sync.h that have begun since the program did.
std::uint64_t Sleeps();
/// Looks at the clock since the program began. A wait that spins looks every few polls.
std::uint64_t Looks();
/// The longest time that a futex wait asked for since the last call; 0 if none did.
std::chrono::nanoseconds LongestSleep();

/// Returns once all other threads of the process sleep, so that nothing more happens until the caller does something or a
/// deadline passes; false if they did not within a minute, which is a hang: one spins. A thread that waits for a core, or
/// was joined and is still in the system's lists, does not sleep.
bool AwaitQuiet();

/// Sets the clock forward, for all threads and for good.
void Advance(std::chrono::nanoseconds time);

/// While one lives, the clock stands still but for `step` at each look, and for what Advance adds: so waits spin for a
/// number of looks that is known. Afterwards the clock goes on from where it came to.
class SteppingClock {
 public:
  explicit SteppingClock(std::chrono::nanoseconds step);
  ~SteppingClock();
  SteppingClock(const SteppingClock&) = delete;
  SteppingClock& operator=(const SteppingClock&) = delete;
};

}  // namespace chatty::test::waits
