// Runs that run out of memory: the nth allocation fails, for every n from the first to the last of a run. Each failure has
// to be an OutOfMemoryError that leaves nothing behind, and the session, or a new one where it was not finished, has to give
// the right answer afterwards. Includers say on which devices, and what runs out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "../programs/test_graphs.h"
#include "../sanitized.h"
#include "chatty/core/device.h"
#include "chatty/core/memory_resources.h"
#include "chatty/core/trace.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/run.h"
#include "chatty/framework/session.h"
#include "host_memory.h"

namespace chatty::test {

/// A program, by its name, on a graph that suits it.
struct SweepCase {
  const char* name;
  const char* program;
  const char* value;  ///< "": the default
  WeightKind weights;
  bool symmetric;
  ParameterValues parameters;
  const char* execution = "auto";
};

inline void PrintTo(const SweepCase& c, std::ostream* out) { *out << c.name; }

inline const std::vector<SweepCase>& SweepCases() {
  static const std::vector<SweepCase> cases{
      {"bfs", "bfs", "", WeightKind::kNone, false, {{"source", "0"}}},
      {"bfs_parents", "bfs", "parent", WeightKind::kNone, false, {{"source", "0"}}},
      {"sssp_int", "sssp", "", WeightKind::kInt32, false, {{"source", "0"}}},
      {"sssp_float", "sssp", "", WeightKind::kFloat32, false, {{"source", "0"}}},
      {"pagerank", "pagerank", "", WeightKind::kNone, false, {{"rounds", "3"}}},
      {"pagerank_double", "pagerank_double", "", WeightKind::kNone, false, {{"rounds", "3"}}},
      {"pagerank_push", "pagerank_push", "", WeightKind::kNone, false, {{"tolerance", "1e-3"}}},
      {"cc", "cc", "", WeightKind::kNone, true, {}},
      {"cc_directed", "cc", "", WeightKind::kNone, false, {}},
      {"label_propagation", "label_propagation", "", WeightKind::kNone, false, {}},
      {"cdlp", "cdlp", "", WeightKind::kNone, false, {{"rounds", "2"}}},
      {"lcc", "lcc", "", WeightKind::kNone, true, {}},
      {"lcc_directed", "lcc", "", WeightKind::kNone, false, {}},
      {"triangles", "triangles", "", WeightKind::kNone, true, {}},
      {"triangles_directed", "triangles", "", WeightKind::kNone, false, {}},
      {"bc", "bc", "", WeightKind::kNone, true, {{"source", "0"}, {"sources", "2"}}},
      {"bc_directed", "bc", "", WeightKind::kNone, false, {{"source", "0"}}},
      {"kcore", "kcore", "", WeightKind::kNone, true, {}},
      {"mis", "mis", "", WeightKind::kNone, true, {}},
      {"paths", "betweenness", "", WeightKind::kNone, false, {{"source", "0"}}},
      {"betweenness", "betweenness", "dependency", WeightKind::kNone, false, {{"source", "0"}}},
      {"reach", "reach", "", WeightKind::kNone, false, {}},
      {"farness", "multi_source_bfs", "farness", WeightKind::kNone, false, {{"source", "0"}}},
      {"widest_path", "widest_path", "", WeightKind::kFloat32, false, {{"source", "0"}}},
      {"personalised_pagerank", "personalised_pagerank", "", WeightKind::kNone, false, {{"source", "0"}, {"rounds", "3"}}},
      {"personalised_push", "personalised_push", "", WeightKind::kNone, false, {{"source", "0"}}},
      {"hits", "hits", "hub", WeightKind::kNone, false, {{"rounds", "3"}}},
      {"scc", "scc", "", WeightKind::kNone, false, {}},
      {"bfs_async", "bfs", "", WeightKind::kNone, false, {{"source", "0"}}, "async"},
      {"sssp_async", "sssp", "", WeightKind::kFloat32, false, {{"source", "0"}}, "async"},
  };
  return cases;
}

/// Every part of a division into three has vertices, a border and a halo.
inline Graph SweepGraph(WeightKind weights, bool symmetric) {
  const std::vector<TestEdge> edges{{0, 5, 2}, {0, 8, 9}, {5, 2, 1}, {2, 7, 3}, {7, 4, 1}, {8, 4, 2}, {4, 1, 5},
                                    {1, 3, 1}, {3, 6, 2}, {6, 0, 4}, {2, 3, 6}, {5, 8, 1}, {7, 7, 1}, {1, 2, 2}};
  return symmetric ? MakeSymmetric(10, edges, weights) : MakeGraph(10, edges, weights);
}

/// Whether two answers are the same; floating-point sums come in any order on a GPU.
inline bool SameAnswer(const ErasedValues& a, const ErasedValues& b) {
  if (a.type != b.type || a.size() != b.size()) return false;
  const auto near = [](auto x, auto y) {
    for (std::size_t v = 0; v < x.size(); ++v) {
      if (x[v] != y[v] && !(std::abs(x[v] - y[v]) <= 1e-4 * std::abs(x[v]))) return false;
    }
    return true;
  };
  if (a.type == ScalarType::kFloat32) return near(a.As<float>(), b.As<float>());
  if (a.type == ScalarType::kFloat64) return near(a.As<double>(), b.As<double>());
  return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
}

/// A device that outlives those who use it: sessions own the devices that they get, and GPUs take long to open. Has memory
/// resources of its own, which come from the other's.
class BorrowedDevice : public Device {
 public:
  /// `lender` is not owned.
  explicit BorrowedDevice(Device& lender) : lender_(&lender) { set_share(lender.share()); }
  /// Nothing of this one's is under way when another borrows.
  ~BorrowedDevice() override {
    try {
      lender_->MakeCurrent();
      lender_->stream().Synchronize();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "a device is given back broken: " << error.what();
    }
  }
  DeviceKind kind() const override { return lender_->kind(); }
  int index() const override { return lender_->index(); }
  const DeviceInfo& info() const override { return lender_->info(); }
  std::uint64_t free_memory() override { return lender_->free_memory(); }
  MemoryResource& memory() override { return memory_ != nullptr ? *memory_ : lender_->memory(); }
  void set_memory(MemoryResource* resource) override { memory_ = resource; }
  MemoryResource& pinned_memory() override { return pinned_ != nullptr ? *pinned_ : lender_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { pinned_ = resource; }
  void MakeCurrent() override { lender_->MakeCurrent(); }
  Stream& stream() override { return lender_->stream(); }
  std::unique_ptr<Stream> NewStream() override { return lender_->NewStream(); }
  std::unique_ptr<Event> NewEvent() override { return lender_->NewEvent(); }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
    lender_->CopyIn(device, host, bytes, stream);
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
    lender_->CopyOut(host, device, bytes, stream);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    lender_->CopyWithin(to, from, bytes, stream);
  }
  void CopyToPeer(Device& peer, void* to, const void* from, std::size_t bytes, Stream& stream) override {
    lender_->CopyToPeer(peer, to, from, bytes, stream);
  }
  bool AllowAccessBy(Device& peer) override { return lender_->AllowAccessBy(peer); }
  bool HasNativeAtomics(Device& peer) override { return lender_->HasNativeAtomics(peer); }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    lender_->Fill(device, byte, bytes, stream);
  }
  WorkerTeam* team() override { return lender_->team(); }

 private:
  Device* lender_;
  MemoryResource *memory_ = nullptr, *pinned_ = nullptr;
};

/// Opens devices for one attempt.
using MakeDevices = std::function<std::vector<std::unique_ptr<Device>>()>;

/// Devices that are opened once and lent to any number of sessions, one after the other.
class Lender {
 public:
  explicit Lender(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {}
  std::vector<std::unique_ptr<Device>> operator()() const {
    std::vector<std::unique_ptr<Device>> borrowed;
    for (const auto& device : devices_) borrowed.push_back(std::make_unique<BorrowedDevice>(*device));
    return borrowed;
  }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

/// How far apart the requests are that fail while a whole program is run: all of them fail once; under a sanitizer, which
/// makes the sweeps over all programs take minutes, every third.
inline constexpr std::uint64_t kStep = CHATTY_TEST_SANITIZED ? 3 : 1;

/// The step for the program of `c`. Engines ask for memory on behalf of programs, so one program an engine and shape of
/// state is swept in full: programs that differ from it in types alone would fail at the same requests.
inline std::uint64_t StepOf(const SweepCase& c) {
  constexpr std::string_view kInFull[] = {"bfs", "sssp_int", "pagerank", "cc", "cdlp", "lcc", "bc", "scc", "sssp_async"};
  constexpr std::uint64_t kElsewhere = 4;
  if (c.name == std::string_view("scc")) return 3;  // one program after another, whose requests are alike
  return std::ranges::find(kInFull, c.name) != std::end(kInFull) ? kStep : std::max(kStep, kElsewhere);
}

/// Which requests fail: the nth and all after it, as where memory has run out for good, or the nth alone, as where others
/// give theirs back. Only after the second does anything ask again, so that it shows what the first failure left half done.
enum class Failing { kFromThere, kOnce };

/// What runs out.
class Scarce {
 public:
  virtual ~Scarce() = default;
  virtual const char* name() const = 0;
  /// Opens devices that use it, nothing failing yet. Called before every attempt, never while the last one's live.
  virtual std::vector<std::unique_ptr<Device>> Open() = 0;
  /// How many separate supplies there are; one of them fails at a time.
  virtual std::size_t supplies() const = 0;
  /// The nth request from now on fails, and as Failing has it those that follow; 0: none.
  virtual void FailAt(std::size_t supply, std::uint64_t nth) = 0;
  /// Blocks handed out and not given back.
  virtual std::int64_t live() const = 0;
  /// Whether each supply has anything to give, so that it has to fail at least once.
  virtual bool asked(std::size_t supply) const = 0;
  /// Whether the request that FailAt named has come: it may fail and be got over, as reading /proc/meminfo is.
  virtual bool reached(std::size_t supply) const = 0;
};

/// The memory of devices, and their pinned memory: two supplies a device.
class ScarceDeviceMemory final : public Scarce {
 public:
  /// `pinned`: whether pinned memory is used at all.
  ScarceDeviceMemory(MakeDevices make, bool pinned, Failing failing)
      : make_(std::move(make)), pinned_(pinned), failing_(failing) {
    Open();
  }

  const char* name() const override {
    return failing_ == Failing::kOnce ? "device and pinned memory, once" : "device and pinned memory";
  }
  std::vector<std::unique_ptr<Device>> Open() override {
    std::vector<std::unique_ptr<Device>> devices = make_();
    chains_.clear();
    for (const auto& device : devices) {
      chains_.push_back(std::make_unique<Chain>(device->memory()));
      device->set_memory(&chains_.back()->failing);
      chains_.push_back(std::make_unique<Chain>(device->pinned_memory()));
      device->set_pinned_memory(&chains_.back()->failing);
    }
    return devices;
  }
  std::size_t supplies() const override { return chains_.size(); }
  void FailAt(std::size_t supply, std::uint64_t nth) override {
    chains_[supply]->failing.FailAt(nth, failing_ == Failing::kOnce);
  }
  std::int64_t live() const override {
    std::int64_t live = 0;
    for (const auto& chain : chains_) live += chain->counting.live();
    return live;
  }
  bool asked(std::size_t supply) const override { return supply % 2 == 0 || pinned_; }
  bool reached(std::size_t supply) const override {
    const FailingMemory& failing = chains_[supply]->failing;
    return failing.requests() >= failing.fail_at();
  }

 private:
  struct Chain {
    explicit Chain(MemoryResource& upstream) : counting(upstream), failing(counting) {}
    CountingMemory counting;
    FailingMemory failing;
  };
  MakeDevices make_;
  bool pinned_;
  Failing failing_;
  std::vector<std::unique_ptr<Chain>> chains_;  // outlive what the devices handed out
};

/// The process's memory, as runs on devices that `make` opens use it.
class ScarceHostMemory final : public Scarce {
 public:
  ScarceHostMemory(MakeDevices make, Failing failing) : make_(std::move(make)), failing_(failing) {}
  const char* name() const override { return failing_ == Failing::kOnce ? "host memory, once" : "host memory"; }
  std::vector<std::unique_ptr<Device>> Open() override { return make_(); }
  std::size_t supplies() const override { return 1; }
  void FailAt(std::size_t, std::uint64_t nth) override {
    nth_ = nth;
    host_memory::FailAt(nth, failing_ == Failing::kOnce);
  }
  std::int64_t live() const override { return host_memory::Live(); }
  bool asked(std::size_t) const override { return true; }
  bool reached(std::size_t) const override { return host_memory::Requests() >= nth_; }

 private:
  MakeDevices make_;
  Failing failing_;
  std::uint64_t nth_ = 0;
};

/// Runs attempt(made) with ever later failures of host memory until none comes any more, each time on what make() has just
/// made, whose allocations do not fail. Returns how often it failed.
template <class Make, class Attempt>
int FailEverywhereOn(const char* what, Failing failing, Make&& make, Attempt&& attempt) {
  SCOPED_TRACE(what);
  {
    auto made = make();
    attempt(made);  // whatever is made once in a process
  }
  int failures = 0;
  std::string other;
  other.reserve(4096);  // no block more or less than before, whatever happens
  for (std::uint64_t nth = 1; nth < 20000; ++nth) {
    const std::int64_t before = host_memory::Live();
    bool reached = false;
    {
      auto made = make();
      host_memory::FailAt(nth, failing == Failing::kOnce);
      try {
        attempt(made);
        reached = host_memory::Requests() >= nth;
      } catch (const OutOfMemoryError&) {
        reached = true;
        ++failures;
      } catch (const std::exception& error) {
        host_memory::FailAt(0, false);
        other = error.what();
      }
      host_memory::FailAt(0, false);
    }
    if (!other.empty()) {
      ADD_FAILURE() << "failure " << nth << " is no OutOfMemoryError: " << other;
      return failures;
    }
    if (host_memory::Live() != before) {
      ADD_FAILURE() << "failure " << nth << " leaves " << host_memory::Live() - before << " blocks";
      return failures;
    }
    if (!reached) return failures;
  }
  ADD_FAILURE() << "never gets through";
  return failures;
}

/// The same of an attempt that needs nothing made for it.
template <class Attempt>
int FailEverywhere(const char* what, Failing failing, Attempt&& attempt) {
  return FailEverywhereOn(
      what, failing, [] { return 0; }, [&](int) { attempt(); });
}

/// What a sweep does besides running the program.
struct SweepOptions {
  std::string transport = "auto";
  bool open_in_attempt = false;  ///< opening devices may fail, too
  bool trace = false;            ///< the session and the run are recorded
  std::uint64_t step = 0;        ///< from one request that fails to the next; 0: that of the program
};

/// The sweep itself. Returns how many failures there were.
inline int Sweep(const Registry& registry, DeviceKind kind, const SweepCase& c, Scarce& scarce,
                 const SweepOptions& sweep = {}) {
  SCOPED_TRACE(std::string(c.name) + ", out of " + scarce.name());
  const std::uint64_t step = sweep.step == 0 ? StepOf(c) : sweep.step;
  const Graph graph = SweepGraph(c.weights, c.symmetric);
  const RegisteredProgram& program = registry.Find(c.program, kind);
  SessionOptions session_options;
  session_options.partition = "contiguous";
  session_options.threads = 1;
  RunOptions options;
  options.comm = ParseCommSpec(sweep.transport);
  options.execution = ParseExecution(c.execution);
  options.timeout = std::chrono::seconds(60);  // a device that waits for one that failed is a hang, and no OutOfMemoryError

  constexpr std::size_t kTraceEvents = 10000;
  ErasedValues expected;
  for (int warm = 0; warm < 2; ++warm) {  // twice: whatever is made once in a process is there, and leaks are told from it
    Trace trace(kTraceEvents, /*events_on_hosts=*/true);
    session_options.trace = options.trace = sweep.trace ? &trace : nullptr;
    Session session(graph, scarce.Open(), session_options);
    const auto job = program.Prepare(session, c.parameters, c.value, options);
    const RunStatistics statistics = job->Execute();
    expected = job->Output();
    const Verdict verdict = program.Verify(graph, c.parameters, expected, &statistics);
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }

  session_options.trace = options.trace = nullptr;

  int failures = 0;
  std::string words;
  words.reserve(4096);
  for (std::size_t supply = 0; supply < scarce.supplies(); ++supply) {
    int failed_here = 0;
    for (std::uint64_t nth = 1;; nth += step) {
      if (nth > 5000) {
        ADD_FAILURE() << "supply " << supply << " never lasts";
        return failures;
      }
      const std::int64_t before = scarce.live();
      std::vector<std::unique_ptr<Device>> devices;
      if (!sweep.open_in_attempt) devices = scarce.Open();
      bool failed = false, reached = false;
      {
        std::optional<Trace> trace;
        std::optional<Session> session;
        std::unique_ptr<RegisteredJob> job;
        ErasedValues values;
        scarce.FailAt(supply, nth);
        try {
          if (sweep.open_in_attempt) devices = scarce.Open();
          if (sweep.trace) session_options.trace = options.trace = &trace.emplace(kTraceEvents, /*events_on_hosts=*/true);
          session.emplace(graph, std::move(devices), session_options);
          job = program.Prepare(*session, c.parameters, c.value, options);
          job->Execute();
          values = job->Output();
          reached = scarce.reached(supply);
        } catch (const OutOfMemoryError& error) {
          scarce.FailAt(supply, 0);
          failed = true;
          words = error.what();
        } catch (const std::exception& error) {
          scarce.FailAt(supply, 0);
          ADD_FAILURE() << "failure " << nth << " of supply " << supply << " is no OutOfMemoryError: " << error.what();
          return failures;
        }
        scarce.FailAt(supply, 0);
        if (failed) {
          EXPECT_TRUE(words.find("memory") != std::string::npos || words.find("bytes") != std::string::npos)
              << "failure " << nth << " says nothing of memory: " << words;
          if (!session) {
            devices.clear();  // where recording could not even begin
            devices.shrink_to_fit();
            trace.reset();
            session_options.trace = options.trace = nullptr;
            EXPECT_EQ(scarce.live(), before) << "half a session is left after failure " << nth << " of supply " << supply;
            session.emplace(graph, scarce.Open(), session_options);
          }
          if (!job) job = program.Prepare(*session, c.parameters, c.value, options);
          job->Execute();
          values = job->Output();
        }
        EXPECT_TRUE(SameAnswer(values, expected)) << "after failure " << nth << " of supply " << supply;
      }
      devices.clear();
      devices.shrink_to_fit();
      if (scarce.live() != before) {
        ADD_FAILURE() << "failure " << nth << " of supply " << supply << " leaves " << scarce.live() - before << " blocks";
        return failures;
      }
      if (!failed && !reached) break;
      failed_here += failed ? 1 : 0;
    }
    EXPECT_TRUE(failed_here > 0 || !scarce.asked(supply)) << "supply " << supply << " was hardly asked";
    failures += failed_here;
  }
  return failures;
}

/// A fused run on the one device that `scarce` opens: preparation and run.
template <class P>
int SweepFused(const char* name, WeightKind weights, const P& program, Scarce& scarce, std::uint64_t step = kStep) {
  SCOPED_TRACE(std::string(name) + " fused, out of " + scarce.name());
  const Graph graph = SweepGraph(weights, false);
  RunOptions options;
  options.execution = Execution::kAsync;
  options.list_items = 64;
  const auto run = [&](std::vector<std::unique_ptr<Device>> devices) {
    SessionOptions session_options;
    session_options.threads = 1;
    Session session(graph, std::move(devices), session_options);
    return Run(session, program, options).values;
  };
  Array<OutputOf<P>> expected;
  for (int warm = 0; warm < 2; ++warm) expected = run(scarce.Open());
  int failures = 0;
  for (std::size_t supply = 0; supply < scarce.supplies(); ++supply) {
    for (std::uint64_t nth = 1;; nth += step) {
      if (nth > 5000) {
        ADD_FAILURE() << "never lasts";
        return failures;
      }
      static_cast<void>(scarce.Open());  // whose counters begin anew, and are of no device
      const std::int64_t before = scarce.live();
      bool failed = false, reached = false;
      {
        std::vector<std::unique_ptr<Device>> devices = scarce.Open();
        Array<OutputOf<P>> values;
        scarce.FailAt(supply, nth);
        try {
          values = run(std::move(devices));
          reached = scarce.reached(supply);
        } catch (const OutOfMemoryError&) {
          failed = true;
        } catch (const std::exception& error) {
          scarce.FailAt(supply, 0);
          ADD_FAILURE() << "failure " << nth << " is no OutOfMemoryError: " << error.what();
          return failures;
        }
        scarce.FailAt(supply, 0);
        devices.clear();
        devices.shrink_to_fit();
        if (!failed) {
          EXPECT_TRUE(std::equal(values.begin(), values.end(), expected.begin(), expected.end())) << nth;
        }
      }
      if (scarce.live() != before) {
        ADD_FAILURE() << "failure " << nth << " leaves " << scarce.live() - before << " blocks";
        return failures;
      }
      if (failed) {
        const Array<OutputOf<P>> values = run(scarce.Open());
        EXPECT_TRUE(std::equal(values.begin(), values.end(), expected.begin(), expected.end())) << "after failure " << nth;
      }
      if (!failed && !reached) break;
      failures += failed ? 1 : 0;
    }
  }
  EXPECT_GT(failures, step == 1 ? 5 : 0);
  return failures;
}

inline int SweepAllFused(Scarce& scarce) {
  return SweepFused("bfs", WeightKind::kNone, Bfs{}, scarce) +
         SweepFused("sssp, int", WeightKind::kInt32, SsspOf<std::int32_t>{}, scarce) +
         SweepFused("sssp, float", WeightKind::kFloat32, SsspOf<float>{}, scarce) +
         SweepFused("label propagation", WeightKind::kNone, LabelPropagation{}, scarce);
}

}  // namespace chatty::test
