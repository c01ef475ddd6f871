// The call of METIS itself, in a process of its own. METIS 5 was not made to be called by a library in somebody's process:
//
// - For the time of a call it takes over SIGABRT and SIGTERM of the whole process, with a handler that jumps out of METIS
//   through a buffer of the calling thread (GKlib's gk_sigtrap). A SIGTERM from outside would so be swallowed, or jump into
//   nowhere on any other thread; blocked, METIS' own raise(SIGTERM) after a failed allocation would not stop it. Two
//   calls at once leave the handler installed for good.
// - It draws from rand() and seeds it, which belongs to the process: another thread's draws would change the answer.
// - It writes to stdout and stderr, and some graphs make it crash.
//
// A child process has signals, rand() and files of its own, and a crash or the machine's out-of-memory killer ends the child
// alone. It reads the arrays by copy-on-write, writes the answer to shared memory, and dies with its parent.
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

/// What the child leaves to its parent. `status` is METIS' return code, 0 before there is one.
struct Header {
  std::atomic<int> status;
  static_assert(std::atomic<int>::is_always_lock_free && METIS_OK != 0);
};
constexpr std::size_t kPartsAt = 64;  // bytes from the header; a cache line

/// Zeroed memory that a child shares.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(bytes), memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) {
      Throw<OutOfMemoryError>("out of host memory: {} bytes of shared memory were asked for: {}", bytes, ErrnoText(errno));
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

/// Numbers below 2^31, the default among them, are METIS' own seeds, as `gpmetis -seed` takes them; longer ones are folded.
idx_t Seed(std::uint64_t seed) { return static_cast<idx_t>((seed ^ (seed >> 31) ^ (seed >> 62)) & 0x7fffffff); }

/// What is allocated here before METIS is called: the working graph and the answer.
std::uint64_t WorkingBytes(std::uint64_t vertices, EdgeIndex entries) {
  return (3 * vertices + 1 + entries) * sizeof(idx_t);
}
/// The least that METIS 5.1 itself takes: edge weights, and a coarser graph with room for as many edges.
std::uint64_t LeastOfMetis(std::uint64_t vertices, EdgeIndex entries) { return (vertices + 3 * entries) * sizeof(idx_t); }

/// Lets the calling process map `bytes` more than it has. Nothing that fails here makes the answer wrong.
void AllowMemory([[maybe_unused]] std::uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which die of what malloc would return null for
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

/// What the child does: nothing but system calls and METIS, which of the library calls memory from malloc and little else.
/// `room`: bytes that METIS may take; 0: what there is.
[[noreturn]] void Child(pid_t parent, WorkingGraph<idx_t>& graph, idx_t parts, idx_t seed, std::uint64_t room,
                        const SharedMemory& shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // gone before the line above
  // Interrupts from a terminal go to both processes, and to end is the parent's decision. The signals that METIS raises at
  // itself must arrive.
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

/// The child's end in words, "" for success.
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
    case 0:  // no answer; without a status to look at where the process has its children's thrown away
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
  std::string why = WhyNot(n, /*entries=*/1, options.parts, IDX_MAX);  // what needs no look at the edges comes first
  if (!why.empty()) return why;
  const EdgeIndex entries = CountEntries(graph, options.threads);
  why = WhyNot(n, entries, options.parts, IDX_MAX);
  if (!why.empty()) return why;

  const std::uint64_t here = WorkingBytes(n, entries), needed = here + LeastOfMetis(n, entries);
  const std::uint64_t allowed = options.memory_limit;
  if (allowed > 0 && needed > allowed) {
    return fmt::format("METIS needs at least {} beside the graph, and there is room for {}", ExactBytes(needed),
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
