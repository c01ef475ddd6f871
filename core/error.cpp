#include "chatty/core/error.h"

namespace chatty {
namespace {

// A throw copies the exception, and copies share the text: no allocation.
const OutOfMemoryError kUnformatted("out of host memory; use a smaller graph or a machine with more memory");

}  // namespace

void detail::ThrowOutOfMemoryUnformatted() { throw OutOfMemoryError(kUnformatted); }

void ThrowOutOfHostMemory(std::string_view doing) {
  Throw<OutOfMemoryError>("out of host memory while {}; use a smaller graph or a machine with more memory", doing);
}

}  // namespace chatty
