// What host devices lose when other work holds the cores.
//
//   host_load [--repeats N] [--grid W] [--scale S]
//
// On two of the cores that it may use (or the one), the program runs a BFS of a W x W grid, whose rounds are tiny, and ten
// rounds of PageRank on a Kronecker graph of 2^S vertices, whose rounds are large, on 1, 2 and 8 host devices: alone, beside
// a busy process that holds one core, and beside one on every core. The three take turns, and the least of N is printed, so
// that what others do to the machine falls on all alike: times, processor time, how often threads gave their core away, and
// ratios. Two cores less one leave half, and so do two cores shared with as many busy processes: a ratio of two is what the
// cores lose. More devices than cores lose none, but meet more often.
//
// Nothing is judged: times depend on what else the machine does. That nobody spins who waits for a core is counted by the
// tests Barrier.WhereMoreMeetThanThereAreCoresAllSleepAtOnce and Waits.OfMoreDevicesThanCoresDoNotSpin.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "chatty/core/sync.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"
#include "chatty/io/generators.h"

namespace chatty {
namespace {

/// A child that does nothing but compute. Stopped except while a Hold lives; ends with its parent.
class BusyProcess {
 public:
  BusyProcess() : child_(fork()) {
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile unsigned long i = 0;;) i = i + 1;
    }
    if (child_ < 0) Throw<CapabilityError>("the process that makes the load could not be started");
    kill(child_, SIGSTOP);
  }
  ~BusyProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;
  void Go() const { kill(child_, SIGCONT); }
  void Stop() const { kill(child_, SIGSTOP); }

 private:
  pid_t child_;
};

struct Usage {
  double cpu_ms;
  long waits, preemptions;
};

Usage Used() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3;
  };
  return {ms(usage.ru_utime) + ms(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
}

/// The best of several runs under one load.
struct Best {
  double ms = 1e300, cpu_ms = 1e300;
  long waits = 0, preemptions = 0;
  std::uint32_t rounds = 0;
};

constexpr std::array<int, 3> kDevices{1, 2, 8};
constexpr std::size_t kTwoDevices = 1;  ///< where two stand there

/// A program on a graph, prepared for each number of devices.
struct Subject {
  std::string name;
  Graph graph;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::unique_ptr<RegisteredJob>> jobs;
};

/// Runs everything `repeats` times under each number of busy processes, and prints the least.
void Measure(std::vector<Subject>& subjects, const std::vector<std::unique_ptr<BusyProcess>>& busy, int repeats) {
  const int cores = static_cast<int>(busy.size());
  for (Subject& subject : subjects) {
    std::vector<std::vector<Best>> best(subject.jobs.size(), std::vector<Best>(busy.size() + 1));
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (std::size_t j = 0; j < subject.jobs.size(); ++j) {
        for (int load = 0; load <= cores; ++load) {
          for (int b = 0; b < load; ++b) busy[b]->Go();
          if (load > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          const Usage before = Used();
          const RunStatistics statistics = subject.jobs[j]->Execute();
          const Usage after = Used();
          for (int b = 0; b < load; ++b) busy[b]->Stop();
          Best& entry = best[j][load];
          entry.cpu_ms = std::min(entry.cpu_ms, after.cpu_ms - before.cpu_ms);
          if (statistics.time_ms < entry.ms) {
            entry.ms = statistics.time_ms;
            entry.waits = after.waits - before.waits;
            entry.preemptions = after.preemptions - before.preemptions;
            entry.rounds = statistics.rounds;
          }
        }
      }
    }
    for (std::size_t j = 0; j < subject.jobs.size(); ++j) {
      const Best& alone = best[j][0];
      for (int load = 0; load <= cores; ++load) {
        const Best& b = best[j][load];
        fmt::print(
            "{:<9} host:{} beside {} busy: {:8.2f} ms, {:4.2f} x alone; {:8.2f} ms of processor time, {:4.2f} x alone, "
            "{:4.2f} x host:2; {} rounds, {} waits, {} preemptions\n",
            subject.name, kDevices[j], load, b.ms, b.ms / alone.ms, b.cpu_ms, b.cpu_ms / alone.cpu_ms,
            b.cpu_ms / best[kTwoDevices][load].cpu_ms, b.rounds, b.waits, b.preemptions);
      }
    }
  }
}

int Main(int argc, char** argv) {
  int repeats = 4, grid = 600, scale = 15;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    int* const number = option == "--repeats" ? &repeats
                        : option == "--grid"  ? &grid
                        : option == "--scale" ? &scale
                                              : nullptr;
    if (number == nullptr || i + 1 == argc || (*number = std::atoi(argv[++i])) < 1) {
      fmt::print(stderr, "host_load [--repeats N] [--grid W] [--scale S]\n");
      return 2;
    }
  }

  // Two cores, on whatever machine, so that ratios compare.
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&chosen) < 2; ++c) {
      if (CPU_ISSET(c, &allowed)) CPU_SET(c, &chosen);
    }
    sched_setaffinity(0, sizeof(chosen), &chosen);
  }
  std::vector<std::unique_ptr<BusyProcess>> busy;
  busy.reserve(Cores());
  for (int c = 0; c < Cores(); ++c) busy.push_back(std::make_unique<BusyProcess>());

  Registry registry;
  RegisterPrograms(registry);
  std::vector<Subject> subjects(2);
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = static_cast<std::uint64_t>(grid);
  spec.threads = Cores();
  subjects[0].name = "bfs";
  subjects[0].graph = Generate(spec);
  spec.family = "kron";
  spec.scale = scale;
  subjects[1].name = "pagerank";
  subjects[1].graph = Generate(spec);
  for (Subject& subject : subjects) {
    ParameterValues parameters;
    RunOptions options;
    if (subject.name == "bfs") {
      parameters["source"] = std::to_string(static_cast<std::uint64_t>(grid) * (grid / 2) + grid / 2);  // the middle
    } else {
      options.max_rounds = 10;
    }
    for (const int devices : kDevices) {
      auto opened = OpenDevices(ParseDevices(fmt::format("host:{}", devices)), Cores());
      subject.sessions.push_back(std::make_unique<Session>(subject.graph, std::move(opened)));
      const RegisteredProgram& program = registry.Find(subject.name, DeviceKind::kHost);
      subject.jobs.push_back(program.Prepare(*subject.sessions.back(), parameters, "", options));
    }
  }

  fmt::print("{} core{}\n", Cores(), Cores() == 1 ? "" : "s");
  Measure(subjects, busy, repeats);
  return 0;
}

}  // namespace
}  // namespace chatty

int main(int argc, char** argv) {
  try {
    return chatty::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "host_load: {}\n", error.what());
    return 1;
  }
}
