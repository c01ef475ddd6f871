/// \file
/// The errors that the library throws: few kinds, each with a text that says what to do. The command line turns the kind
/// into an exit code. Nothing here ever calls exit().
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

// fmt turns constexpr off for nvcc, half of it: its own constexpr functions then fail to compile.
#if defined(__CUDACC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1
#endif
#include <fmt/format.h>

namespace chatty {

/// What the system calls an error of its own, given its errno.
inline std::string ErrnoText(int number) { return std::generic_category().message(number); }

/// Base of every error thrown by the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that makes no sense: a bad option, an unknown program, a source outside the graph. Exit
/// code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A file is missing, malformed or inconsistent. The text names file and line or byte. Exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The machine or the graph lacks something: no such device, more local vertices than 32-bit ids hold. Exit code 1.
class CapabilityError : public Error {
 public:
  using Error::Error;
};

/// An allocation failed. The text says on which device and how many bytes were asked for, where there is memory enough for
/// such a text. Exit code 1.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// A device or a path failed while running, or got no thread. The text names device, operation and cause. Exit code 1.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A wait ran past its deadline. The text names what was waited for. Exit code 1.
class TimeoutError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Another device failed first and this one gave up; reported only if no better error is known.
class AbortedError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// An invariant of the library itself does not hold: a bug of ours.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// Throws an OutOfMemoryError whose text was made when the process started: where memory has run out, words take none.
[[noreturn]] void ThrowOutOfMemoryUnformatted();

}  // namespace detail

/// Throws E with a formatted text.
template <class E, class... Args>
[[noreturn]] void Throw(fmt::format_string<Args...> text, Args&&... args) {
  if constexpr (std::is_same_v<E, OutOfMemoryError>) {
    try {
      throw E(fmt::format(text, std::forward<Args>(args)...));
    } catch (const std::bad_alloc&) {
      detail::ThrowOutOfMemoryUnformatted();
    }
  } else {
    throw E(fmt::format(text, std::forward<Args>(args)...));
  }
}

/// What becomes of a std::bad_alloc where the library is entered: an OutOfMemoryError that says what was being done, such as
/// "preparing a program". Called by the handlers of functions that callers of the library call; functions below need none,
/// and worker threads and OpenMP regions carry the std::bad_alloc up to them.
[[noreturn]] void ThrowOutOfHostMemory(std::string_view doing);

}  // namespace chatty

/// Throws InternalError when `condition` is false. Guards invariants of the library, never the user's data.
#define CHATTY_CHECK(condition, ...)                                                                               \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]] {                                                                               \
      throw ::chatty::InternalError(                                                                               \
          fmt::format("{}:{}: `{}` does not hold: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__))); \
    }                                                                                                              \
  } while (false)
