// The call of METIS, in a separate process. METIS 5 is not safe to call from a library within an arbitrary process:
//
// - During a call it handles SIGABRT and SIGTERM of the whole process, with a handler that jumps out of METIS through a
//   buffer of the calling thread (GKlib's gk_sigtrap). A SIGTERM from outside would be lost, or jump to an invalid address
//   on another thread. If the signal is blocked, METIS' own raise(SIGTERM) after a failed allocation does not stop METIS.
//   Two concurrent calls leave the handler installed permanently.
// - It seeds and uses rand(), which belongs to the process: other threads' calls would change the result.
// - It writes to stdout and stderr, and crashes on some graphs.
//
// A child process has its own signal handlers, rand() and files. A crash or the out-of-memory killer ends only the child.
// The child reads the arrays by copy-on-write, writes the result to shared memory, and ends with its parent.
#include <fcntl.h>
#include <metis.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "chatty/core/bytes.h"
#include "chatty/core/logging.h"
#include "chatty/partition/metis_partitioner.h"

namespace chatty::metis {
namespace {

/// The child's result code. `status` is METIS' return code, or 0 before METIS returns.
struct Header {
  std::atomic<int> status;
  static_assert(std::atomic<int>::is_always_lock_free && METIS_OK != 0);
};
constexpr std::size_t kPartsAt = 64;  // offset of the owners from the header; a cache line

/// Zeroed memory, shared with a child process.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(bytes), memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) {
      Throw<OutOfMemoryError>("out of host memory: {} bytes of shared memory were requested: {}", bytes, ErrnoText(errno));
    }
    new (memory_) Header{0};
  }
  ~SharedMemory() { ::munmap(memory_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Header& header() const { return *static_cast<Header*>(memory_); }
  idx_t* parts() const { return reinterpret_cast<idx_t*>(static_cast<std::byte*>(memory_) + kPartsAt); }

 private:
  std::size_t bytes_;
  void* memory_;
};

/// Seeds below 2^31, including the default, are METIS' own seeds, as in `gpmetis -seed`. Larger ones are folded.
idx_t Seed(std::uint64_t seed) { return static_cast<idx_t>((seed ^ (seed >> 31) ^ (seed >> 62)) & 0x7fffffff); }

/// Bytes allocated here before the call of METIS: the working graph and the result.
std::uint64_t WorkingBytes(std::uint64_t vertices, EdgeIndex entries) {
  return (3 * vertices + 1 + entries) * sizeof(idx_t);
}
/// Minimum that METIS 5.1 allocates: edge weights, and a coarser graph with room for as many edges.
std::uint64_t LeastOfMetis(std::uint64_t vertices, EdgeIndex entries) { return (vertices + 3 * entries) * sizeof(idx_t); }

/// Limits the calling process to `bytes` more address space than it has. A failure here does not affect the result.
void AllowMemory([[maybe_unused]] std::uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process if an allocation fails
  unsigned long long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  if (pages == 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes);
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

/// The child's work: only system calls and METIS, which uses little of the library except malloc. `room`: bytes that METIS
/// may take; 0: no limit.
[[noreturn]] void Child(pid_t parent, WorkingGraph<idx_t>& graph, idx_t parts, idx_t seed, std::uint64_t room,
                        const SharedMemory& shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // the parent ended before the call of prctl
  // An interrupt from the terminal reaches both processes; the parent decides whether to end. The signals that METIS raises
  // must be delivered.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGABRT, SIG_DFL);
  sigset_t raised;
  sigemptyset(&raised);
  sigaddset(&raised, SIGTERM);
  sigaddset(&raised, SIGABRT);
  ::sigprocmask(SIG_UNBLOCK, &raised, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (room > 0) AllowMemory(room);
  if (const int null = ::open("/dev/null", O_WRONLY); null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }

  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  auto vertices = static_cast<idx_t>(graph.offsets.size() - 1);
  idx_t constraints = 1, cut = 0;
  const int status = METIS_PartGraphKway(&vertices, &constraints, graph.offsets.data(), graph.neighbours.data(),
                                         graph.vertex_weights.data(), nullptr,
                                         graph.edge_weights.empty() ? nullptr : graph.edge_weights.data(), &parts, nullptr,
                                         nullptr, options, &cut, shared.parts());
  shared.header().status = status;
  ::_exit(0);
}

/// The reason for the child's failure; "" for success.
std::string Await(pid_t child, const SharedMemory& shared) {
  int end = 0;
  pid_t waited = 0;
  while ((waited = ::waitpid(child, &end, 0)) < 0 && errno == EINTR) {
  }
  switch (shared.header().status) {
    case METIS_OK:
      return {};
    case METIS_ERROR_MEMORY:
      return "METIS ran out of memory";
    case METIS_ERROR_INPUT:
      return "METIS calls the graph or its options wrong (METIS_ERROR_INPUT)";
    case METIS_ERROR:
      return "METIS failed, which mostly means that it ran out of memory (METIS_ERROR)";
    case 0:  // no result; `end` is valid only if the process keeps the status of its children
      return waited == child && WIFSIGNALED(end)
                 ? fmt::format("METIS was ended by signal {} ({})", WTERMSIG(end), ::strsignal(WTERMSIG(end)))
                 : "METIS ended without an answer";
    default:
      return fmt::format("METIS failed with code {}", shared.header().status.load());
  }
}

}  // namespace

std::string PartGraphKway(const Graph& graph, const PartitionOptions& options, Array<PartId>* owners) {
  const std::size_t n = graph.vertices();
  std::string why = WhyNot(n, /*entries=*/1, options.parts, IDX_MAX);  // checks that do not need the edges come first
  if (!why.empty()) return why;
  const EdgeIndex entries = CountEntries(graph, options.threads);
  why = WhyNot(n, entries, options.parts, IDX_MAX);
  if (!why.empty()) return why;

  const std::uint64_t here = WorkingBytes(n, entries), needed = here + LeastOfMetis(n, entries);
  const std::uint64_t allowed = options.memory_limit;
  if (allowed > 0 && needed > allowed) {
    return fmt::format("METIS needs at least {} besides the graph, but only {} is available", ExactBytes(needed),
                       ExactBytes(allowed));
  }
  WorkingGraph<idx_t> working = BuildWorkingGraph<idx_t>(graph, entries, IDX_MAX, options.threads);
  const SharedMemory shared(kPartsAt + n * sizeof(idx_t));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fmt::format("no process for METIS could be started: {}", ErrnoText(errno));
  if (child == 0) {
    Child(parent, working, static_cast<idx_t>(options.parts), Seed(options.seed), allowed > 0 ? allowed - here : 0, shared);
  }
  why = Await(child, shared);
  if (!why.empty()) return allowed > 0 ? fmt::format("{}; it had room for {}", why, FormatBytes(allowed)) : why;

  Array<PartId> found(n);
  std::atomic<bool> wrong{false};
  ParallelFor(n, options.threads, [&](std::size_t v) {
    const idx_t part = shared.parts()[v];
    found[v] = static_cast<PartId>(part);
    if (part < 0 || static_cast<std::uint64_t>(part) >= options.parts) wrong.store(true, std::memory_order_relaxed);
  });
  if (wrong) return fmt::format("METIS gave a vertex to a part that is not among the {}", options.parts);
  if (const PartId empty = FillEmptyParts(graph, options.parts, found.span()); empty > 0) {
    Log().info("partition metis: {} of {} parts were left empty and got vertices of the largest", empty, options.parts);
  }
  *owners = std::move(found);
  return {};
}

}  // namespace chatty::metis
