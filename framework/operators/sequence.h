/// \file
/// Programs one after another over shared values, which stay on the devices in between.
#pragma once

#include <memory>

#include "chatty/framework/run.h"

namespace chatty {

/// Runs programs in turn on one session. A program with `using Prior = First::Value` starts each vertex from the value that
/// the program before it left there. Betweenness is two programs so; BFS parents are one after BFS levels. After a stop
/// (RunOptions::stop) the programs that follow only initialise; what a program that throws followed is still there.
class Sequence {
 public:
  /// On `session`, which must outlive it; `options` hold for every program.
  explicit Sequence(Session& session, const RunOptions& options = {}) : session_(&session), options_(options) {}

  /// Runs `program` on what came before. Throws UsageError if its Prior is not the last program's Value.
  template <class P, class Backends = CompiledBackends>
  Sequence& Then(const P& program) try {
    std::unique_ptr<Job> job = session_->Prepare(std::make_shared<TypedProgram<P, Backends>>(program), options_);
    statistics_ += job->Execute(last_.get());
    last_ = std::move(job);
    return *this;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running a program");
  }

  /// How the last program, a P, ended.
  template <class P>
  RoundOf<P> Round() const {
    return last_->round().template As<GlobalOf<P>>();
  }
  /// Results of the last program, a P, one a vertex in id order.
  template <class P>
  Array<OutputOf<P>> Output() const {
    CHATTY_CHECK(last_ != nullptr && last_->traits().output_bytes == sizeof(OutputOf<P>), "the last program is another one");
    Array<OutputOf<P>> out(session_->graph().vertices());
    last_->CopyOutput(reinterpret_cast<std::byte*>(out.data()));
    return out;
  }
  /// Of all programs together.
  const RunStatistics& statistics() const { return statistics_; }

 private:
  Session* session_;
  RunOptions options_;
  std::unique_ptr<Job> last_;
  RunStatistics statistics_ = [] {
    RunStatistics empty;
    empty.phases = 0;
    return empty;
  }();
};

}  // namespace chatty
