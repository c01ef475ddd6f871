#include "runner.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace chatty::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals{50};

/// One thread that waits for work. It never ends: the process ends it.
class Runner {
 public:
  Runner() {
    std::thread([this] { Loop(); }).detach();
  }

  /// Runs `work`, and calls `attend` again and again meanwhile. Does nothing and returns false if it has other work.
  bool Run(const std::function<void()>& work, const std::function<void()>& attend) {
    std::unique_lock lock(mutex_);
    if (work_ != nullptr) return false;
    work_ = &work;
    changed_.notify_all();
    while (!done_.wait_for(lock, kBetweenSignals, [&] { return work_ == nullptr; })) {
      lock.unlock();
      attend();
      lock.lock();
    }
    return true;
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return work_ != nullptr; });
      const std::function<void()>& work = *work_;
      lock.unlock();
      work();
      lock.lock();
      work_ = nullptr;
      done_.notify_all();
    }
  }

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_, done_;
  const std::function<void()>* work_ = nullptr;
};

}  // namespace

void RunAttended(const std::function<void()>& work, const std::function<void()>& attend) {
  static Runner* const runner = new Runner();  // outlives static destructors, as its thread does
  if (!runner->Run(work, attend)) work();
}

void RunElsewhere(const std::function<void()>& work) {
  static Runner* const runner = new Runner();
  std::exception_ptr failure;
  const std::function<void()> caught = [&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  if (!runner->Run(caught, [] {})) std::thread(caught).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace chatty::python
