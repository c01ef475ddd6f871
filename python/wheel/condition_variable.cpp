// std::condition_variable::wait for wheels, so that they run with older C++ libraries than they are compiled with.
//
// gcc 12 calls the function in libstdc++'s version GLIBCXX_3.4.30, which it alone asks of a wheel, and which Linux
// distributions with glibc 2.34 do not have. The linker (`--wrap`) directs calls here. The code is what gcc inlines in other
// waits: POSIX' wait on the handles, which cannot fail for a mutex that the caller has locked.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(  // NOLINT(bugprone-reserved-identifier)
    std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  ::pthread_cond_wait(condition->native_handle(), lock.mutex()->native_handle());
}
