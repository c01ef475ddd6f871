/// \file
/// Sequences: programs that take turns over one set of values, which stays on the devices; and programs that consist of such
/// turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/framework/run.h"

namespace chatty {

/// Runs programs in turn on one session. A program with `using Input = First::Value` starts each vertex from the previous
/// program's value. Betweenness consists of two such programs; BFS parents follow BFS levels. Each program has its own
/// kEdges, so that one turn may follow edges and the next reverse edges. A program is planned once: its job keeps memory and
/// plan (Job::plan) for its next turn until the sequence ends. After an exception, the previous program's values remain.
template <class Backends = CompiledBackends>
class BasicSequence {
 public:
  /// A sequence on `session`, which must outlive it. `options` apply to each program, but max_rounds to all together.
  /// Throws OutOfMemoryError.
  explicit BasicSequence(Session& session, const RunOptions& options = {}) : session_(&session), options_(options) {
    if (options_.on_round) CountRounds();
  }

  /// Allocates memory for a turn of P now; otherwise Then allocates it. A program that directly follows itself needs two
  /// calls.
  template <class P>
  void Prepare() try {
    Add<P>(std::make_shared<TypedProgram<P, Backends>>(P{}));
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing a program");
  }
  /// As above, by the decisions of a plan (PlanRun) that has all programs of the sequence; its options are
  /// RunPlan::Fitted.
  template <class P>
  void Prepare(ProgramPlan plan) try {
    turns_.push_back(
        {typeid(P), session_->Prepare(std::make_shared<TypedProgram<P, Backends>>(P{}), options_, std::move(plan))});
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing a program");
  }
  /// Runs `program` on the last values. After a stop (RunOptions::stop) or max_rounds rounds, it only initialises. Throws
  /// UsageError if its Input is not the last program's Value.
  template <class P>
  BasicSequence& Then(const P& program) try {
    Job& job = JobOf(program);
    if (OutOfRounds()) {
      EndEarly(Ended::kMaxRounds);
      std::stop_source at_once;
      at_once.request_stop();
      job.SetLimits(0, at_once.get_token());
    } else {
      job.SetLimits(options_.max_rounds == 0 ? 0 : options_.max_rounds - statistics_.rounds, options_.stop);
    }
    if (rounds_before_ != nullptr) *rounds_before_ = statistics_.rounds;
    try {
      statistics_ += job.Execute(last_);
    } catch (...) {
      if (job.statistics().ended == Ended::kFailed) statistics_ += job.statistics();
      throw;
    }
    last_ = &job;
    return *this;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running a program");
  }
  /// Whether the sequence must end early: after a stop or max_rounds rounds. A loop over programs checks it after each turn
  /// and ends; the statistics then have the reason.
  bool StopRequested() {
    if (options_.stop.stop_requested()) {
      EndEarly(Ended::kStopped);
    } else if (OutOfRounds()) {
      EndEarly(Ended::kMaxRounds);
    }
    return statistics_.ended == Ended::kStopped || statistics_.ended == Ended::kMaxRounds;
  }
  /// Clears values and statistics and keeps memory: the next program is the first.
  void Restart() {
    last_ = nullptr;
    statistics_ = Empty();
  }

  /// The session's devices.
  const Graph& graph() const { return session_->graph(); }
  /// The last round of the last program, a P.
  template <class P>
  RoundOf<P> Round() const {
    CHATTY_CHECK(last_ != nullptr && last_->traits().value_bytes == sizeof(ValueOf<P>), "the last program is another one");
    return last_->round().template As<GlobalOf<P>>();
  }
  /// As above, by `program`'s type.
  template <class P>
  RoundOf<P> Round([[maybe_unused]] const P& program) const {
    return Round<P>();
  }
  /// Results of the last program, a P, in vertex id order.
  template <class P>
  Array<OutputOf<P>> Output() const {
    Array<OutputOf<P>> out(session_->graph().vertices());
    CopyOutput(std::span<OutputOf<P>>(out.data(), out.size()));
    return out;
  }
  /// Writes the last program's results: one per vertex in id order, of its Output type.
  template <class T>
  void CopyOutput(std::span<T> out) const {
    CHATTY_CHECK(last_ != nullptr && last_->traits().output_bytes == sizeof(T), "the last program is another one");
    last_->CopyOutput(reinterpret_cast<std::byte*>(out.data()));
  }
  /// The last program, a possible prior for a program of the same session; null before the first.
  const Job* last() const { return last_; }
  /// Of all programs. After an exception, of the part until then.
  const RunStatistics& statistics() const { return statistics_; }

 private:
  /// Lets on_round count the rounds of all turns.
  void CountRounds() try {
    rounds_before_ = std::make_shared<std::uint32_t>(0);
    options_.on_round = [before = rounds_before_, report = options_.on_round](RoundProgress progress) {
      progress.rounds += *before;
      report(progress);
    };
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("making a sequence");
  }

  struct Turn {
    std::type_index program;
    std::unique_ptr<Job> job;
  };

  static RunStatistics Empty() {
    RunStatistics empty;
    empty.phases = 0;
    return empty;
  }
  bool OutOfRounds() const { return options_.max_rounds != 0 && statistics_.rounds >= options_.max_rounds; }
  void EndEarly(Ended why) {
    if (statistics_.converged) statistics_.ended = why;
    statistics_.converged = false;
  }
  template <class P>
  Job& Add(std::shared_ptr<const TypedProgram<P, Backends>> program) {
    turns_.push_back({typeid(P), session_->Prepare(std::move(program), options_)});
    return *turns_.back().job;
  }
  /// A job for P other than the last one, whose values are its start values.
  template <class P>
  Job& JobOf(const P& program) {
    auto typed = std::make_shared<TypedProgram<P, Backends>>(program);
    for (const Turn& turn : turns_) {
      if (turn.program != typeid(P) || turn.job.get() == last_) continue;
      turn.job->SetProgram(std::move(typed));
      return *turn.job;
    }
    return Add<P>(std::move(typed));
  }

  Session* session_;
  RunOptions options_;
  std::vector<Turn> turns_;
  const Job* last_ = nullptr;  // points into turns_
  RunStatistics statistics_ = Empty();
  // Rounds of earlier turns, for RunOptions::on_round; null without. Jobs hold it, so that a sequence can move.
  std::shared_ptr<std::uint32_t> rounds_before_;
};

/// A sequence for the backends of this compiler.
using Sequence = BasicSequence<>;

/// A sequence program's `using Programs = SequencePrograms<…>;`: the programs that take turns in it.
template <class... Ps>
using SequencePrograms = std::tuple<std::type_identity<Ps>...>;

/// A program of programs: `using Output = …;`, `using Programs = SequencePrograms<…>;` and `template <class Steps> void
/// Run(Steps& steps) const`. Run calls `steps.Then(program)`, once or until convergence, on the host; `steps` is a
/// BasicSequence. Output is the last program's. Programs names each type of the sequence, default constructible, and twice
/// if it follows itself: memory is then known and allocated before the first turn. Parameters, CheckInput, Verify and
/// Derived are as in vertex programs; Derived programs start from the last program's values.
template <class P>
concept SequenceProgram = requires(const P p, BasicSequence<HostOnly>& steps) {
  typename P::Output;
  typename P::Programs;
  p.Run(steps);
};

/// Calls f(std::type_identity<S>) for each program S of a sequence program.
template <SequenceProgram P, class F>
void ForEachProgram(F&& f) {
  std::apply([&](auto... program) { (f(program), ...); }, typename P::Programs{});
}

/// The programs of a sequence program for PlanRun: each of them keeps its state.
template <SequenceProgram P, class Backends>
std::vector<ProgramOfRun> ProgramsOfSequence(const RunOptions& options, std::size_t devices) {
  std::vector<ProgramOfRun> programs;
  ForEachProgram<P>([&]<class S>(std::type_identity<S>) {
    auto typed = std::make_shared<TypedProgram<S, Backends>>(S{});
    ProgramMemory memory = MemoryOf(typed, options, devices);
    programs.push_back({std::string(InfoOf<S>().output_name), std::move(typed), std::move(memory), options});
  });
  return programs;
}

/// A sequence program prepared on a session; see Job.
template <SequenceProgram P, class Backends = CompiledBackends>
class SequenceJob {
 public:
  /// Plans all of its programs together, and allocates. Throws what PlanRun and Session::Prepare throw.
  SequenceJob(Session& session, const P& program, const RunOptions& options)
      : SequenceJob(session, program, options, PlanRun(session, options, ProgramsOfSequence<P, Backends>)) {}
  /// Allocates by a plan that begins with its programs (ProgramsOfSequence), in their order. Each turn's job keeps its part.
  SequenceJob(Session& session, const P& program, const RunOptions& options, const RunPlan& plan)
      : program_(program), steps_(session, plan.Fitted(options)) {
    std::size_t turn = 0;
    ForEachProgram<P>([&]<class S>(std::type_identity<S>) { steps_.template Prepare<S>(plan.programs.at(turn++)); });
  }
  /// Runs the program. Throws what its programs throw; the job may execute again.
  RunStatistics Execute() {
    steps_.Restart();
    program_.Run(steps_);
    return steps_.statistics();
  }
  /// Sets the next run's program: the same type, other parameters.
  void SetProgram(const P& program) { program_ = program; }
  /// Of the last run; if it threw, of its part until then.
  const RunStatistics& statistics() const { return steps_.statistics(); }
  /// Results of the last run, one per vertex in id order. Throws UsageError if it failed or there was none.
  void CopyOutput(std::byte* out) const {
    CheckResults();
    steps_.CopyOutput(std::span(reinterpret_cast<typename P::Output*>(out), steps_.graph().vertices()));
  }
  /// As Job::PlaceOutput.
  void PlaceOutput(Device& target, std::byte* out) const {
    CheckResults();
    CHATTY_CHECK(last()->traits().output_bytes == sizeof(typename P::Output), "the last program is another one");
    last()->PlaceOutput(target, out);
  }
  /// The program of the last turn; null before a run.
  const Job* last() const { return steps_.last(); }

 private:
  /// Throws UsageError if the last run left no results.
  void CheckResults() const {
    if (steps_.last() == nullptr || statistics().ended == Ended::kFailed) {
      throw UsageError("there are no results: the job has not been executed, or its last run failed");
    }
  }

  P program_;
  BasicSequence<Backends> steps_;
};

/// Results of a sequence program, in vertex id order.
template <class P>
struct SequenceResult {
  /// Entry v is vertex v's.
  Array<typename P::Output> values;
  /// Over all turns together.
  RunStatistics statistics;
};

/// Runs a sequence program on the session's devices; the counterpart of Run for vertex programs.
template <SequenceProgram P, class Backends = CompiledBackends>
SequenceResult<P> Run(Session& session, const P& program, const RunOptions& options = {}) try {
  CheckProgramInput(session.graph(), program);
  SequenceJob<P, Backends> job(session, program, options);
  SequenceResult<P> result;
  result.statistics = job.Execute();
  result.values = Array<typename P::Output>(session.graph().vertices());
  job.CopyOutput(reinterpret_cast<std::byte*>(result.values.data()));
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running a sequence of programs");
}

}  // namespace chatty
