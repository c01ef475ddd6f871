#include "chatty/cli/compare/run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/compare/costs.h"
#include "chatty/cli/load.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/comm/selector.h"
#include "chatty/core/array.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/framework/run_plan.h"
#include "chatty/framework/session.h"
#include "chatty/partition/part_file.h"

namespace chatty::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What ended one run early, and nothing is wrong with it.
struct Stopped {};

class Measurer {
 public:
  Measurer(const Registry& registry, const CompareOptions& options, const ComparePlan& plan, Journal& journal,
           const CompareStop& stop, Comparison& comparison)
      : registry_(registry), options_(options), plan_(plan), journal_(journal), stop_(stop), comparison_(comparison) {}

  CompareEnd Run() {
    CheckSources();
    DropOfOtherCosts();
    Progress progress("combinations", comparison_.measurements.size());
    progress_ = &progress;
    if (!limited()) {
      Pass(options_.trials, /*shared=*/false);
    } else {  // something of everything first
      Pass(1, /*shared=*/true);
      Pass(1, /*shared=*/false);
      // Many trials come in turns, so that none gets all of the time.
      for (std::uint32_t trials = 1; trials < options_.trials && !ended();) {
        trials = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(options_.trials, std::uint64_t{trials} * (trials == 1 ? 5 : 2)));
        Pass(trials, /*shared=*/false);
      }
    }
    end_of_it_.out_of_time = limited() && stop_.signal() == 0 && (out_of_time_ || stop_.requested());
    return end_of_it_;
  }

 private:
  /// What one graph's combinations share.
  struct Loaded {
    std::string name;
    LoadedGraph graph;
    /// An answer that was found right, of each program and its parameters: the same bytes are right again.
    std::map<std::pair<std::string, ParameterValues>, std::pair<Array<std::byte>, Verdict>> answers;
    std::uint64_t of_random_sources = 0;                  ///< bytes of those that grow in number with the trials
    std::map<std::string, VertexData, std::less<>> data;  ///< by program, read when it is first run
  };

  bool limited() const { return stop_.limited(); }
  bool ended() const { return stop_.requested() || end_of_it_.give_up; }
  static double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

  /// Whether a combination still lacks something that this pass would give it.
  bool Lacks(const Measurement& m, std::uint32_t trials) const {
    switch (m.outcome) {
      case Outcome::kNotReached:
        return true;
      case Outcome::kOk:
        return m.trials_ms.size() < trials || !m.verdict || !m.checked || m.buffers_dropped;
      case Outcome::kFailed:
        return m.again && failed_here_.count(m.combination) == 0;
      default:
        return false;
    }
  }

  /// Refuses a source that is no vertex of a graph on which something is to be measured. Throws UsageError.
  void CheckSources() {
    const auto named = std::find_if(plan_.programs.begin(), plan_.programs.end(), [&](const std::string& name) {
      const RegisteredProgram& program = registry_.Find(name, plan_.kind);
      return NamesVertex(program, ParametersFor(program, options_.parameters));
    });
    if (named == plan_.programs.end()) return;
    const RegisteredProgram& program = registry_.Find(*named, plan_.kind);
    std::vector<std::string> names = plan_.graphs;
    std::reverse(names.begin(), names.end());  // the first, which is measured first, is then in memory
    for (std::size_t i = 0; i < names.size() && !ended(); ++i) {
      const std::vector<Combination> all = CombinationsOn(plan_, names[i]);
      const bool lacks = std::any_of(all.begin(), all.end(), [&](const Combination& c) {
        const Measurement* const m = FindMeasurement(comparison_, c);
        return m != nullptr && c.program == *named && Lacks(*m, options_.trials);
      });
      if (!lacks) continue;
      const Loaded* loaded = nullptr;
      try {
        loaded = &LoadOnce(names[i]);
      } catch (const std::exception&) {  // its combinations report it
        continue;
      }
      try {
        static_cast<void>(
            ResolveParameters(program, loaded->graph.graph, ParametersFor(program, options_.parameters), options_.seed));
      } catch (const UsageError& error) {
        if (names.size() == 1) throw;
        Throw<UsageError>("{}: {}", loaded->graph.path, error.what());
      }
    }
  }

  /// Times that a choice of paths led to, and predictions, belong to the costs that they are from: none of two kinds in a
  /// row.
  void DropOfOtherCosts() {
    std::map<std::uint32_t, std::string> now;  // by devices
    for (const std::string& graph : plan_.graphs) {
      for (const Combination& combination : CombinationsOn(plan_, graph)) {
        const Measurement* const m = FindMeasurement(comparison_, combination);
        if (m == nullptr || combination.devices < 2 || (m->trials_ms.empty() && !m->buffers)) continue;
        const auto [known, added] = now.try_emplace(combination.devices);
        try {
          if (added) known->second = CostsOf(combination.devices);
        } catch (const Error&) {  // whoever wants the devices reports it
          continue;
        }
        if (!known->second.empty()) Drop(*m, known->second);
      }
    }
  }
  void Drop(const Measurement& m, const std::string& costs) {
    const bool trials = ByCosts(m.combination) && m.costs != costs && !m.trials_ms.empty() && m.outcome != Outcome::kWrong;
    const bool buffers = m.buffers && m.buffer_costs != costs && m.outcome != Outcome::kWrong;
    if (!trials && !buffers) return;
    Write({{"kind", "dropped"}, {"at", ToJson(m.combination)}, {"trials", trials}, {"buffers", buffers}});
    ++end_of_it_.dropped;
  }
  /// Whether paths are chosen by what they cost.
  bool ByCosts(const Combination& c) const { return c.devices > 1 && plan_.specs.at(c.comm).chooses(); }
  std::string CostsOf(std::uint32_t devices) const {
    return CostsName(plan_.Devices(devices), MaskFor(options_.links, devices), options_.load.read.threads);
  }

  void Pass(std::uint32_t trials, bool shared) {
    // The graph that is in memory already comes first.
    std::vector<std::string> names = plan_.graphs;
    if (loaded_) std::stable_partition(names.begin(), names.end(), [&](const auto& name) { return name == loaded_->name; });
    for (std::size_t i = 0; i < names.size() && !ended(); ++i) {
      Clock::time_point until = stop_.end();
      if (limited() && shared) {
        const Clock::time_point now = Clock::now();
        until = now + (stop_.end() - now) / static_cast<Clock::rep>(names.size() - i);
      }
      for (const Combination& combination : CombinationsOn(plan_, names[i])) {
        if (ended()) break;
        Measurement& m = *FindMeasurement(comparison_, combination);
        if (!Lacks(m, trials)) continue;
        if (limited() && Seconds(until - Clock::now()) < Estimate(m)) {
          out_of_time_ = out_of_time_ || !shared;
          continue;
        }
        const Clock::time_point begin = Clock::now();
        const bool first = m.outcome == Outcome::kNotReached;
        try {
          One(m, trials, until);
        } catch (const Stopped&) {
          break;
        }
        if (first) {
          Remember(combination, Seconds(Clock::now() - begin));
          progress_->Advance();
        }
      }
      DropSession();
    }
  }

  // ---------------------------------------------------------------- planning ----

  /// Seconds that this visit may take; 0 where nothing like it was measured yet.
  double Estimate(const Measurement& m) const {
    const Combination& c = m.combination;
    if (m.outcome == Outcome::kOk) {
      const double trial = SpreadOf(m.trials_ms).median / 1000;
      const double around = std::max(0.0, Known(c).value_or(trial) - 2 * trial);  // preparing, as the first time
      return around + 2 * trial;
    }
    return Known(c).value_or(0);
  }
  std::optional<double> Known(const Combination& c) const {
    const auto nearest = seconds_.find({c.graph, c.program, c.devices});
    if (nearest != seconds_.end()) return nearest->second;
    const auto any = seconds_.find({c.graph, c.program, 0});
    return any == seconds_.end() ? std::nullopt : std::optional(any->second);
  }
  void Remember(const Combination& c, double seconds) {
    seconds_[{c.graph, c.program, c.devices}] = seconds;
    seconds_[{c.graph, c.program, 0}] = seconds;
  }

  // --------------------------------------------------------------- measuring ----

  /// One visit. Throws Stopped.
  void One(Measurement& m, std::uint32_t trials, Clock::time_point until) {
    const Combination& c = m.combination;
    const Clock::time_point begin = Clock::now();
    std::unique_ptr<RegisteredJob> job;  // outlives what it throws
    try {
      const RegisteredProgram& program = registry_.Find(c.program, plan_.kind);
      RunOptions run = plan_.OptionsOf(c);
      run.links = LinkMask::Parse(MaskFor(options_.links, c.devices), c.devices);
      run.timeout = TimeoutOf(options_);
      run.stop = stop_.token();
      CheckRunOptions(run, plan_.Devices(c.devices));
      Loaded& loaded = LoadOnce(c.graph);
      if (c.devices > 1) {
        static_cast<void>(SessionFor(c));
        Drop(m, session_costs_);  // somebody may have measured them since the last visit
      }
      ResolvedParameters parameters =
          ResolveParameters(program, loaded.graph.graph, ParametersFor(program, options_.parameters), options_.seed);
      ChooseSource(parameters, loaded, static_cast<std::uint32_t>(m.trials_ms.size()));
      run.vertex_data = DataOf(program, loaded);

      // None of the runs before the trials is timed: the first one would pay for what is made once.
      if (c.devices > 1 && !m.buffers) {
        RunOptions explained = run;
        explained.explain = true;
        job = Prepare(program, c, parameters, explained);
        static_cast<void>(Execute(*job));  // buffers that are written for the first time are slow
        const RunStatistics statistics = Execute(*job);
        BufferSummary buffers = SummariseBuffers(statistics.buffers);
        if (!buffers.paths.empty() || m.buffers_dropped) {
          Write({{"kind", "buffers"}, {"at", ToJson(c)}, {"costs", session_costs_}, {"buffers", ToJson(buffers)}});
        }
        job.reset();
      }
      job = Prepare(program, c, parameters, run);
      if (run.execution == Execution::kAsync && job->plan().programs.front().engine != EngineKind::kAsync) {
        throw UsageError("execution async: one device runs this program in rounds, as bsp does");
      }
      const RunStatistics untimed = Execute(*job);
      constexpr double kPart = 0.125;  // of a visit, which is as good as nothing
      // A check leaves caches and clocks cold, and the run after it a quarter slower at a millisecond.
      const auto warm = [&] {
        if (untimed.time_ms / 1000 < kPart * Seconds(Clock::now() - begin)) static_cast<void>(Execute(*job));
      };
      const auto check = [&](const RunStatistics& statistics) {
        const Verdict verdict = Check(program, loaded, parameters, job->Output(), statistics);
        Write({{"kind", "verdict"}, {"at", ToJson(c)}, {"passed", verdict.passed}, {"message", verdict.message}});
        return verdict.passed;
      };
      if (!m.verdict) {                   // before there are times, so that none is of an answer that nobody has looked at
        if (!check(untimed)) trials = 1;  // to show what is wrong with a time
        warm();
      }
      // Within a budget, trials that take nothing beside what this visit took to prepare are made in it: one trial of a run
      // of a millisecond says little.
      std::optional<double> so_far_s;
      const auto cheap = [&] {
        if (m.trials_ms.size() >= options_.trials || m.trials_ms.empty() || m.outcome != Outcome::kOk) return false;
        const double now_s = Seconds(Clock::now() - begin);
        if (!so_far_s) so_far_s = now_s;
        return now_s + SpreadOf(m.trials_ms).median / 1000 < *so_far_s * (1 + kPart);
      };
      RunStatistics last = untimed;
      bool cold = false;
      while (m.trials_ms.size() < trials || cheap()) {
        if (!m.trials_ms.empty() && limited() && Seconds(until - Clock::now()) < SpreadOf(m.trials_ms).median / 1000) {
          out_of_time_ = out_of_time_ || m.trials_ms.size() < trials;
          break;
        }
        const bool elsewhere = ChooseSource(parameters, loaded, static_cast<std::uint32_t>(m.trials_ms.size()));
        if (elsewhere) job->Set("source", parameters.values.at("source"));
        if (cold) warm();
        last = Execute(*job);
        Json line{{"kind", "trial"}, {"at", ToJson(c)}, {"ms", RoundedMs(last.time_ms)}, {"statistics", ToJson(last)}};
        if (ByCosts(c)) line["costs"] = session_costs_;
        Write(line);
        if (elsewhere && m.outcome == Outcome::kOk) {  // an answer of its own, which the next trial's does not show
          if (!check(last)) break;
          cold = true;
        }
      }
      // Runs may differ in what they come to: the last one of the visit stands for those after the first.
      if (m.outcome == Outcome::kOk && !m.checked) static_cast<void>(check(last));
    } catch (const UsageError& error) {
      Refuse(c, error.what());
    } catch (const CapabilityError& error) {
      Refuse(c, error.what());
    } catch (const TimeoutError& error) {
      // A kernel may hold its GPU for good, and whatever gives back what was allocated there waits for it.
      end_of_it_.give_up = plan_.kind == DeviceKind::kCuda;
      if (end_of_it_.give_up) {
        static_cast<void>(job.release());
        static_cast<void>(session_.release());
      }
      job.reset();
      Fail(c, error.what(), /*again=*/!end_of_it_.give_up);
    } catch (const std::bad_alloc&) {
      job.reset();
      Fail(c, "out of host memory", /*again=*/true);
    } catch (const std::exception& error) {
      job.reset();  // before the session that it refers to
      Fail(c, error.what(), /*again=*/true);
    }
  }

  void Write(const Json& line) {
    journal_.Append(line);
    Replay(line, comparison_);
  }
  void Refuse(const Combination& c, const std::string& why) {
    Write({{"kind", "failure"}, {"at", ToJson(c)}, {"applicable", false}, {"again", false}, {"reason", why}});
  }
  void Fail(const Combination& c, const std::string& why, bool again) {
    failed_here_.insert(c);
    session_.reset();  // what a failure leaves behind is not for the next one
    Log().warn("{}: {}", Describe(c), why);
    Write({{"kind", "failure"}, {"at", ToJson(c)}, {"applicable", true}, {"again", again}, {"reason", why}});
  }

  RunStatistics Execute(RegisteredJob& job) {
    RunStatistics statistics = job.Execute();
    if (statistics.ended == Ended::kStopped) throw Stopped();
    return statistics;
  }

  /// Whether there is a source, and another one than in the trial before.
  static bool ChooseSource(ResolvedParameters& parameters, const Loaded& loaded, std::uint32_t trial) {
    if (!parameters.source) return false;
    parameters.values["source"] = fmt::format("{}", parameters.source->Pick(loaded.graph.graph, trial));
    return parameters.source->random();
  }

  const VertexData& DataOf(const RegisteredProgram& program, Loaded& loaded) {
    const auto known = loaded.data.find(program.name());
    if (known != loaded.data.end()) return known->second;
    VertexData data =
        ReadVertexData(VertexDataFiles(program, ParametersFor(program, options_.parameters)), loaded.graph.graph);
    return loaded.data.emplace(std::string(program.name()), std::move(data)).first->second;
  }

  Verdict Check(const RegisteredProgram& program, Loaded& loaded, const ResolvedParameters& parameters,
                const ErasedValues& values, const RunStatistics& statistics) {
    auto& known = loaded.answers[{std::string(program.name()), parameters.values}];
    if (known.second.passed && known.first.bytes() == values.bytes.bytes() &&
        std::memcmp(known.first.data(), values.bytes.data(), known.first.bytes()) == 0) {
      return {true, "the same bytes as an answer that was verified: " + known.second.message};
    }
    Verdict verdict = program.Verify(loaded.graph.graph, parameters.values, values, &statistics, DataOf(program, loaded));
    const bool random = parameters.source && parameters.source->random();
    const bool room = !random || loaded.of_random_sources + values.bytes.bytes() <= loaded.graph.graph.bytes();
    if (verdict.passed && !known.second.passed && room) {
      if (random) loaded.of_random_sources += values.bytes.bytes();
      Array<std::byte> copy(values.bytes.bytes());
      if (copy.bytes() > 0) std::memcpy(copy.data(), values.bytes.data(), copy.bytes());
      known = {std::move(copy), verdict};
    }
    return verdict;
  }

  // ------------------------------------------------------- graphs and devices ----

  Loaded& LoadOnce(const std::string& name) {
    if (loaded_ && loaded_->name == name) return *loaded_;
    DropSession();
    loaded_.reset();
    if (const auto broken = unloadable_.find(name); broken != unloadable_.end()) std::rethrow_exception(broken->second);
    ComparedGraph graph = *comparison_.Find(name);
    auto loaded = std::make_unique<Loaded>();
    loaded->name = name;
    try {
      loaded->graph = Load(graph.path, options_.load);
    } catch (const std::exception&) {
      unloadable_[name] = std::current_exception();  // once is enough
      throw;
    }
    loaded_ = std::move(loaded);
    if (!graph.loaded) {
      graph.loaded = true;
      graph.vertices = loaded_->graph.graph.vertices();
      graph.edges = loaded_->graph.graph.edges();
      graph.symmetric = loaded_->graph.graph.symmetric();
      graph.weights = WeightName(loaded_->graph.graph.weight_kind());
      Json line = ToJson(graph);
      line["kind"] = "graph";
      Write(line);
    }
    return *loaded_;
  }

  void DropSession() { session_.reset(); }

  Session& SessionFor(const Combination& c) {
    if (session_ && session_devices_ == c.devices && session_partition_ == c.partition) return *session_;
    session_.reset();
    if (plan_.pool.indices.size() < c.devices) Throw<CapabilityError>("there are {} devices", plan_.pool.indices.size());
    SessionOptions session;
    if (c.devices > 1) session.partition = c.partition;
    session.partition_fallback = false;
    session.seed = options_.seed;
    session.threads = options_.load.read.threads;
    session.host_memory_limit = options_.load.host_memory_limit;
    session_costs_ = c.devices > 1 ? CostsOf(c.devices) : "";
    auto devices = OpenDevices(plan_.Devices(c.devices), options_.load.read.threads);
    try {
      session_ = std::make_unique<Session>(loaded_->graph.graph, std::move(devices), session);
    } catch (const InputError& error) {
      if (IsPartFilePath(c.partition) && ReadPartFile(c.partition).owners.size() != loaded_->graph.graph.vertices()) {
        throw CapabilityError(error.what());  // of several graphs a part file goes with one
      }
      throw;
    }
    session_devices_ = c.devices;
    session_partition_ = c.partition;
    session_served_ = 0;
    return *session_;
  }

  std::unique_ptr<RegisteredJob> Prepare(const RegisteredProgram& program, const Combination& c,
                                         const ResolvedParameters& parameters, const RunOptions& run) {
    Session& session = SessionFor(c);
    const std::size_t served = session_served_++;
    if (served > 0) {
      try {
        return program.Prepare(session, parameters.values, "", run);
      } catch (const OutOfMemoryError&) {  // beside the copies of the graph that other programs needed
        session_.reset();
      }
    }
    return program.Prepare(SessionFor(c), parameters.values, "", run);
  }

  const Registry& registry_;
  const CompareOptions& options_;
  const ComparePlan& plan_;
  Journal& journal_;
  const CompareStop& stop_;
  Comparison& comparison_;
  Progress* progress_ = nullptr;
  bool out_of_time_ = false;
  CompareEnd end_of_it_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, double> seconds_;  // of first visits; 0 devices: the last
  std::set<Combination> failed_here_;
  std::map<std::string, std::exception_ptr> unloadable_;  // by graph: what reading it threw
  std::unique_ptr<Loaded> loaded_;                        // before the session, which refers to its graph
  std::unique_ptr<Session> session_;
  std::uint32_t session_devices_ = 0;
  std::string session_partition_, session_costs_;
  std::size_t session_served_ = 0;
};

}  // namespace

CompareEnd Measure(const Registry& registry, const CompareOptions& options, const ComparePlan& plan, Journal& journal,
                   const CompareStop& stop, Comparison& comparison) {
  // A budget or a deadline may leave devices in use; then nothing of this is given back.
  auto measurer = std::make_unique<Measurer>(registry, options, plan, journal, stop, comparison);
  const CompareEnd end = measurer->Run();
  if (end.give_up) static_cast<void>(measurer.release());
  return end;
}

}  // namespace chatty::cli
