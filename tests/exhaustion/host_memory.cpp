#include "host_memory.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_set>

// What the linker calls free, aligned_alloc and the executable's code once it wraps the first two.
extern "C" {
void __real_free(void* pointer) noexcept;     // NOLINT(bugprone-reserved-identifier)
extern const char __executable_start, etext;  // NOLINT(bugprone-reserved-identifier)
}

namespace chatty::test::host_memory {
namespace {

// Constant-initialised: operator new is called before any constructor runs.
constinit std::atomic<bool> g_armed{false}, g_only_once{false};
constinit std::atomic<std::uint64_t> g_requests{0}, g_fail_at{0};
constinit std::atomic<std::int64_t> g_live{0};
constinit std::array<std::atomic<std::uintptr_t>, 4096> g_known{};  // code outside the executable, and whether it is foreign

/// Whether `code` belongs to a library whose allocations are not ours to fail: CUDA's driver, which is loaded while the
/// process runs, and OpenMP runtimes.
bool IsFromForeignLibrary(const void* code) noexcept {
  Dl_info info{};
  if (::dladdr(code, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view path = info.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);  // all of it where there is none
  for (const std::string_view foreign : {"libcuda", "libnvidia", "libgomp", "libomp"}) {
    if (file.starts_with(foreign)) return true;
  }
  return false;
}

bool IsForeign(const void* code) noexcept {
  const auto* const at = static_cast<const char*>(code);
  if (at >= &__executable_start && at < &etext) return false;  // most are; what follows takes its time
  // dladdr looks through all of a library's symbols, and callers are few: what it said of them is kept.
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  std::atomic<std::uintptr_t>& known = g_known[address / 4 % g_known.size()];
  if (const std::uintptr_t said = known.load(std::memory_order_relaxed); said >> 1 == address) return (said & 1) != 0;
  const bool foreign = IsFromForeignLibrary(code);
  known.store(address << 1 | (foreign ? 1 : 0), std::memory_order_relaxed);
  return foreign;
}

/// Whether the request at hand, which `caller` makes, is one that fails.
bool Refused(const void* caller) noexcept {
  if (!g_armed.load(std::memory_order_relaxed) || IsForeign(caller)) return false;
  const std::uint64_t nth = ++g_requests;
  return g_only_once ? nth == g_fail_at : nth >= g_fail_at;
}

/// What the set below is made of: memory that is not counted.
template <class T>
struct Uncounted {
  using value_type = T;
  Uncounted() = default;
  template <class U>
  explicit(false) Uncounted(const Uncounted<U>&) {}  // as allocators convert
  T* allocate(std::size_t size) { return static_cast<T*>(std::malloc(size * sizeof(T))); }
  void deallocate(T* pointer, std::size_t) { __real_free(pointer); }
  bool operator==(const Uncounted&) const = default;
};

/// Which blocks are aligned_alloc's: free gets those of malloc, too, which realpath hands out.
class Aligned {
 public:
  void Add(void* pointer) {
    const std::lock_guard lock(mutex_);
    blocks_.insert(pointer);
  }
  bool Remove(void* pointer) {
    const std::lock_guard lock(mutex_);
    return blocks_.erase(pointer) > 0;
  }
  /// Never destroyed: destructors of other static objects still free.
  static Aligned& Instance() {
    alignas(Aligned) static std::byte room[sizeof(Aligned)];
    static auto* const instance = new (room) Aligned;
    return *instance;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*, std::hash<void*>, std::equal_to<>, Uncounted<void*>> blocks_;
};

void* New(std::size_t bytes, std::size_t align, const void* caller) {
  void* pointer = nullptr;
  if (Refused(caller) || ::posix_memalign(&pointer, align, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}
void Delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  g_live.fetch_sub(1, std::memory_order_relaxed);
  __real_free(pointer);
}

}  // namespace

void FailAt(std::uint64_t nth, bool only_once) {
  g_fail_at = nth;
  g_only_once = only_once;
  g_requests = 0;
  g_armed = nth != 0;
}
std::uint64_t Requests() { return g_requests; }
std::int64_t Live() { return g_live; }

}  // namespace chatty::test::host_memory

using namespace chatty::test::host_memory;  // NOLINT(google-build-using-namespace): what follows belongs to no namespace

// All other forms call these.
void* operator new(std::size_t bytes) { return New(bytes, alignof(std::max_align_t), __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return New(bytes, static_cast<std::size_t>(align), __builtin_return_address(0));
}
// AddressSanitizer's own would not, and what it gives the ones below do not take back.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return New(bytes, alignof(std::max_align_t), __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* pointer) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { Delete(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { Delete(pointer); }

extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name
void* __wrap_aligned_alloc(std::size_t align, std::size_t bytes) noexcept {
  void* pointer = nullptr;
  if (Refused(__builtin_return_address(0))) return nullptr;
  if (::posix_memalign(&pointer, align < sizeof(void*) ? sizeof(void*) : align, bytes) != 0) return nullptr;
  Aligned::Instance().Add(pointer);
  g_live.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name
void __wrap_free(void* pointer) noexcept {
  if (pointer != nullptr && Aligned::Instance().Remove(pointer)) g_live.fetch_sub(1, std::memory_order_relaxed);
  __real_free(pointer);
}
}
