/// \file
/// Run(): runs a program on a graph.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "chatty/core/array.h"
#include "chatty/framework/session.h"
#include "chatty/framework/typed_program.h"

namespace chatty {

/// Results of a program, in vertex id order.
template <class P>
struct Result {
  /// Entry v is vertex v's.
  Array<OutputOf<P>> values;
  /// Times and traffic.
  RunStatistics statistics;
  RoundOf<P> round;  ///< the run's end: rounds, phase, global aggregate
};

/// Runs `program` on the session's devices. In a file compiled by nvcc it runs on GPUs too; elsewhere only on host devices.
/// Throws what the program's CheckInput and CheckOutput throw, if any, and what a run throws.
template <class P, class Backends = CompiledBackends>
Result<P> Run(Session& session, const P& program, const RunOptions& options = {}) try {
  Result<P> result;
  if constexpr (CheckProgram<P>()) {
    CheckProgramInput(session.graph(), program);
    const std::unique_ptr<Job> job = session.Prepare(std::make_shared<TypedProgram<P, Backends>>(program), options);
    result.statistics = job->Execute();
    result.values = Array<OutputOf<P>>(session.graph().vertices());
    job->CopyOutput(reinterpret_cast<std::byte*>(result.values.data()));
    result.round = job->round().template As<GlobalOf<P>>();
    if constexpr (requires(std::span<const OutputOf<P>> values) { P::CheckOutput(values); }) {
      P::CheckOutput(std::span<const OutputOf<P>>(result.values.data(), result.values.size()));
    }
  }
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running a program");
}

/// As above, on devices for this run only. `devices` as in ParseDevices.
template <class P, class Backends = CompiledBackends>
Result<P> Run(const Graph& graph, const P& program, std::string_view devices = "host", const RunOptions& options = {}) {
  Session session(graph, devices);
  return Run<P, Backends>(session, program, options);
}

}  // namespace chatty
