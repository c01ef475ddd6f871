/// \file
/// The errors that the library throws. There are few classes, and each text states what to do. The command line maps the
/// class to an exit code. The library never calls exit().
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

// Under nvcc, fmt disables constexpr for some functions only, and its other constexpr functions then do not compile.
#if defined(__CUDACC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1
#endif
#include <fmt/format.h>

namespace chatty {

/// The system's text for an errno.
inline std::string ErrnoText(int number) { return std::generic_category().message(number); }

/// Base of every error thrown by the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's request is invalid: a bad option, an unknown program, a source outside the graph. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A file is missing, malformed or inconsistent. The text names file and line or byte. Exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The machine, the build or the graph does not allow the request: no such device, or more local vertices than 32-bit ids
/// hold. Exit code 1.
class CapabilityError : public Error {
 public:
  using Error::Error;
};

/// An allocation failed. The text names the device and the bytes requested, if there is enough memory to format it. Exit
/// code 1.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// A device or a path failed during a run, or the system started no thread for it. The text names device, operation and
/// cause. Exit code 1.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A wait passed its deadline. The text names the operation waited for. Exit code 1.
class TimeoutError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Another device failed first, so this one stopped. Reported only if no other error is known.
class AbortedError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// An invariant of the library does not hold: a bug in the library.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// Throws an OutOfMemoryError with a text that was allocated at the start of the process: it needs no further memory.
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

/// Converts a std::bad_alloc to an OutOfMemoryError whose text contains `doing`, such as "preparing a program". Public entry
/// points of the library call it in a catch clause. Internal functions do not; worker threads and OpenMP regions pass the
/// std::bad_alloc up to the entry point.
[[noreturn]] void ThrowOutOfHostMemory(std::string_view doing);

}  // namespace chatty

/// Throws InternalError when `condition` is false. For invariants of the library, never for the user's data.
#define CHATTY_CHECK(condition, ...)                                                                               \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]] {                                                                               \
      throw ::chatty::InternalError(                                                                               \
          fmt::format("{}:{}: `{}` does not hold: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__))); \
    }                                                                                                              \
  } while (false)
