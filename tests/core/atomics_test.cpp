#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace chatty::test {

template <class T>
using Memory = std::vector<T>;

struct Backend {
  static constexpr unsigned kThreads = 8;
  template <class F>
  static void Run(unsigned threads, F f) {
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        ++ready;
        while (ready < threads) std::this_thread::yield();  // or the first would be done before the last begins
        f(i);
      });
    }
    for (std::thread& thread : all) thread.join();
  }
};

}  // namespace chatty::test

#include "atomics_test_body.h"
