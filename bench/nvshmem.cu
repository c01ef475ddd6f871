// Symmetric memory between processes: the measurements of symmetric_work.h, one process a GPU, on a heap of NVSHMEM:
//
//   NVSHMEM_DISABLE_NVLS=1 chatty_nvshmem --gpus 0,1
//
// NVSHMEM allocates the heap, and nvshmem_ptr resolves every process's part into an address. From there on the kernels are
// those of all other backends: nothing of NVSHMEM is linked into them. A process that has no such address, such as one of
// another node without a link, ends the program with words.
//
// The processes share a page of memory with a barrier and the abort word. A wrong result ends the program with an error.
// Times are not judged.
#include <cuda_runtime.h>
#include <nvshmem_host.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "../tests/comm/symmetric_launch.h"
#include "chatty/comm/symmetric/heap.h"
#include "chatty/core/cuda.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "symmetric_work.h"

namespace chatty::bench {
namespace {

/// How much is measured.
struct Plan {
  std::vector<int> gpus;
  std::uint64_t repetitions = 10'000;
  unsigned trials = 5, threads = 256;
};

/// What the processes share: a page of memory, mapped before they part.
struct Page {
  pthread_barrier_t barrier;
  nvshmemx_uniqueid_t id;
  double us[kMaxDevices];
  alignas(4096) std::uint32_t abort;
};

/// Lays out arrays behind the words of barriers, at the same offset in every process.
class Layout {
 public:
  template <class T>
  Symmetric<T> Take(std::size_t count) {
    const Symmetric<T> array{end_, count};
    end_ = RoundUp(end_ + count * sizeof(T));
    return array;
  }
  std::size_t bytes() const { return end_; }

 private:
  static std::size_t RoundUp(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t end_ = RoundUp(sizeof(sym::Control));
};

void CheckNvshmem(int status, const char* call) {
  if (status != 0) Throw<DeviceError>("{} failed with {}; NVSHMEM_DEBUG=INFO says more", call, status);
}

/// One process with its GPU.
class Process {
 public:
  Process(const Plan& plan, Page& page, std::uint32_t me)
      : plan_(plan), page_(page), device_(MakeCudaDevice(plan.gpus[me])), report_(*device_, 1) {
    device_->MakeCurrent();
    CHATTY_CUDA(cudaHostRegister(&page_.abort, 4096, cudaHostRegisterMapped | cudaHostRegisterPortable));
    Connect(me);
    blocks_ = static_cast<unsigned>(device_->info().multiprocessors);
    inbox_ = layout_.Take<Word>(2 * plan.gpus.size() * kWords);
    values_ = layout_.Take<Word>(PingPong::kValues);
    to_ = layout_.Take<Word>(1);
    signal_ = layout_.Take<Word>(1);
    counters_ = layout_.Take<Word>(1);
    ns_ = layout_.Take<Word>(1);
    wrong_ = layout_.Take<Word>(1);
    from_ = layout_.Take<std::uint8_t>(kBytes);
    target_ = layout_.Take<std::uint8_t>(kBytes);
    block_ = static_cast<std::byte*>(nvshmem_calloc(1, layout_.bytes()));
    if (block_ == nullptr) {
      Throw<OutOfMemoryError>("NVSHMEM has no {} bytes for the symmetric heap; set NVSHMEM_SYMMETRIC_SIZE", layout_.bytes());
    }
    ref_.me = me;
    ref_.size = static_cast<std::uint32_t>(plan.gpus.size());
    for (std::uint32_t i = 0; i < ref_.size; ++i) {
      ref_.base[i] = static_cast<std::byte*>(nvshmem_ptr(block_, static_cast<int>(i)));
      if (ref_.base[i] == nullptr) {
        Throw<CapabilityError>(
            "{} cannot address the part of NVSHMEM's heap on cuda:{}; take GPUs with a link between each two",
            device_->label(), plan.gpus[i]);
      }
    }
    void* abort = nullptr;
    CHATTY_CUDA(cudaHostGetDevicePointer(&abort, &page_.abort, 0));
    ref_.abort = static_cast<std::uint32_t*>(abort);
    ref_.report = report_.data();
    ref_.timeout_ns = 10'000'000'000;
  }
  ~Process() {
    nvshmem_free(block_);
    nvshmemx_hostlib_finalize();
    cudaHostUnregister(&page_.abort);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Run() {
    const std::uint64_t n = plan_.repetitions;
    Measure("barrier", n, Barriers{n, 0, inbox_}, blocks_, plan_.threads);
    Measure("barrier, 1024 words to each peer", n, Barriers{n, kWords, inbox_}, blocks_, plan_.threads);
    if (ref_.size < 2) return;
    Measure("put-signal, data read", 2 * n, PingPong{n, true, values_, to_, signal_}, 1, 32);
    const std::uint64_t few = std::max<std::uint64_t>(n / 100, 1);
    Measure("put of 1 MiB, grid", few, Puts{few, kBytes, 1, false, from_, target_}, blocks_, plan_.threads);
    CheckPuts();
    Measure("fetch-add, one thread", n, FetchAdds{n, 0, counters_}, 1, 1);
  }

 private:
  static constexpr std::uint32_t kWords = 1024;
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

  void Barrier() { pthread_barrier_wait(&page_.barrier); }

  void Connect(std::uint32_t me) {
    if (me == 0) CheckNvshmem(nvshmemx_get_uniqueid(&page_.id), "nvshmemx_get_uniqueid");
    Barrier();
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    CheckNvshmem(
        nvshmemx_set_attr_uniqueid_args(static_cast<int>(me), static_cast<int>(plan_.gpus.size()), &page_.id, &attributes),
        "nvshmemx_set_attr_uniqueid_args");
    CheckNvshmem(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_hostlib_init_attr");
  }

  template <class T>
  T Read(Symmetric<T> at) {
    T value;
    CHATTY_CUDA(cudaMemcpy(&value, ref_.Own(at), sizeof(T), cudaMemcpyDeviceToHost));
    return value;
  }
  template <class T>
  void Clear(Symmetric<T> array) {
    CHATTY_CUDA(cudaMemset(ref_.Own(array), 0, array.count * sizeof(T)));
  }

  /// The kernels of all processes begin between two barriers. The first follows their loading, which may wait for a kernel.
  template <class Work>
  double RunOnce(const Work& work, unsigned blocks, unsigned threads) {
    const Timed<Work> timed{work, ns_, wrong_};
    auto* const kernel = &test::RunFunction<Timed<Work>>;
    const auto* const code = reinterpret_cast<const void*>(kernel);
    cudaFuncAttributes attributes = {};
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, code));
    CHATTY_CUDA(cudaMemset(block_, 0, sizeof(sym::Control)));
    for (const Symmetric<Word>& array : {signal_, counters_, ns_, wrong_}) Clear(array);
    report_[0] = sym::WaitReport();
    CHATTY_CUDA(cudaDeviceSynchronize());
    Barrier();
    SymmetricRef ref = ref_;
    Timed<Work> copy = timed;
    void* arguments[] = {&ref, &copy};
    CHATTY_CUDA(cudaLaunchCooperativeKernel(code, dim3(blocks), dim3(threads), arguments, 0,
                                            static_cast<cudaStream_t>(device_->stream().native())));
    device_->stream().Synchronize();
    if (detail::LoadAcquire(&report_[0].end) != sym::WaitEnd::kNone) {
      Throw<TimeoutError>("{} waited {} ms in vain for process {}", device_->label(), report_[0].waited_ns / 1'000'000,
                          report_[0].from);
    }
    if (const Word wrong = Read(wrong_); wrong != 0) Throw<InternalError>("{} saw {} wrong values", device_->label(), wrong);
    page_.us[ref_.me] = static_cast<double>(Read(ns_)) / 1e3;
    Barrier();
    double us = 0;
    for (std::uint32_t i = 0; i < ref_.size; ++i) us = std::max(us, page_.us[i]);
    return us;
  }

  template <class Work>
  void Measure(std::string_view operation, std::uint64_t operations, const Work& work, unsigned blocks, unsigned threads) {
    std::vector<double> us;
    for (unsigned trial = 0; trial <= plan_.trials; ++trial) {
      const double one = RunOnce(work, blocks, threads) / static_cast<double>(operations);
      if (trial > 0) us.push_back(one);
    }
    std::sort(us.begin(), us.end());
    if (ref_.me == 0) {
      fmt::print("| {:<35} | {:>12.4f} | {:>12.4f} | {:>12.4f} |\n", operation, us[us.size() / 2], us.front(), us.back());
      std::fflush(stdout);
    }
  }

  /// Puts a new pattern from process 0 to process 1, and checks there that it has arrived.
  void CheckPuts() {
    std::vector<std::uint8_t> pattern(kBytes), there(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) pattern[i] = static_cast<std::uint8_t>(Hash(i));
    if (ref_.me == 0) {
      CHATTY_CUDA(cudaMemcpy(ref_.Own(from_), pattern.data(), kBytes, cudaMemcpyHostToDevice));
    }
    RunOnce(Puts{1, kBytes, 1, true, from_, target_}, blocks_, plan_.threads);
    if (ref_.me != 1) return;
    CHATTY_CUDA(cudaMemcpy(there.data(), ref_.Own(target_), kBytes, cudaMemcpyDeviceToHost));
    if (there != pattern) Throw<InternalError>("a put of {} bytes did not arrive whole", kBytes);
  }

  const Plan& plan_;
  Page& page_;
  std::unique_ptr<Device> device_;
  Pinned<sym::WaitReport> report_;
  Layout layout_;
  std::byte* block_ = nullptr;
  SymmetricRef ref_;
  unsigned blocks_ = 0;
  Symmetric<Word> inbox_, values_, to_, signal_, counters_, ns_, wrong_;
  Symmetric<std::uint8_t> from_, target_;
};

/// The exit code of a child, which reports its error itself.
int RunChild(const Plan& plan, Page& page, std::uint32_t me) {
  try {
    Process(plan, page, me).Run();
    return 0;
  } catch (const std::exception& error) {
    detail::StoreRelaxed(&page.abort, 1u);  // the others' kernels end
    fmt::print(stderr, "chatty_nvshmem: process {}: {}\n", me, error.what());
    return 1;
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Measures symmetric memory between processes, one a GPU, on a heap of NVSHMEM", "chatty_nvshmem");
  Plan plan;
  app.add_option("--gpus", plan.gpus, "Ordinals of GPUs, each once")->delimiter(',')->required();
  app.add_option("--repetitions", plan.repetitions, "Operations in a trial")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--trials", plan.trials, "Trials of which the median is taken")->check(CLI::Range(1u, 1000u));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<int> sorted = plan.gpus;
  std::sort(sorted.begin(), sorted.end());
  if (plan.gpus.size() > kMaxDevices || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    Throw<UsageError>("--gpus takes 1 to {} different GPUs", kMaxDevices);
  }
  const char* const off = std::getenv("NVSHMEM_DISABLE_NVLS");
  if (off == nullptr || std::string_view(off) != "1") {
    Throw<CapabilityError>("this program uses no NVLink multicast, which NVSHMEM would set up; set NVSHMEM_DISABLE_NVLS=1");
  }
  // No call of CUDA comes before the processes part: a child cannot use its parent's context.
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    Throw<OutOfMemoryError>("no shared memory for {} processes: {}", plan.gpus.size(), ErrnoText(errno));
  Page& page = *new (memory) Page{};
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&page.barrier, &attributes, static_cast<unsigned>(plan.gpus.size()));
  fmt::print("| {:<35} | {:>12} | {:>12} | {:>12} |\n|---|---|---|---|\n", "operation", "us, median", "least", "most");
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (std::uint32_t me = 0; me < plan.gpus.size(); ++me) {
    const pid_t child = fork();
    if (child == 0) std::_Exit(RunChild(plan, page, me));
    if (child > 0) children.push_back(child);
    if (child < 0) page.abort = 1;
  }
  int failures = static_cast<int>(plan.gpus.size() - children.size());
  const auto end_others = [&] {
    for (const pid_t child : children) kill(child, SIGTERM);  // they wait for one that is gone
  };
  if (failures > 0) end_others();
  while (!children.empty()) {
    int status = 0;
    const pid_t child = wait(&status);
    if (child < 0) break;
    children.erase(std::remove(children.begin(), children.end(), child), children.end());
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (failures++ == 0) end_others();
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chatty::bench

int main(int argc, char** argv) {
  try {
    return chatty::bench::Main(argc, argv);
  } catch (const chatty::UsageError& error) {
    fmt::print(stderr, "chatty_nvshmem: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "chatty_nvshmem: {}\n", error.what());
    return 1;
  }
}
