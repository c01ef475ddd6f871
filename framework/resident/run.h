/// \file
/// Starts a resident loop on a device: one kernel, or one job of a worker team.
#pragma once

#include "chatty/framework/program_state.h"
#include "chatty/framework/resident/loop.h"
#include "chatty/framework/typed_program.h"
#if CHATTY_CUDA_COMPILER
#include "chatty/framework/resident/kernel.cuh"
#endif

namespace chatty::resident {

/// On how much of a GPU the loop runs. A host team always runs on all its threads.
enum class Extent : std::uint8_t {
  kGrid,   ///< all multiprocessors; a round costs a grid barrier
  kBlock,  ///< one block, whose barriers are fast, for graphs whose rounds are small
};

/// Result of a resident run.
template <class P>
struct ResidentResult {
  Array<OutputOf<P>> values;
  Outcome outcome;
};

/// Runs `program` on one device that holds the whole graph. `data`: of a program with a Data, as AssembleVertexData makes
/// them. Throws UsageError for a graph divided among several, or data of another number of vertices; DeviceError,
/// OutOfMemoryError.
template <class P>
ResidentResult<P> Run(const DeviceGraph& graph, const P& program, [[maybe_unused]] Extent extent = Extent::kGrid,
                      std::span<const DataOf<P>> data = {}) try {
  static_assert(
      CheckProgram<P>() && !Traits<P>::kEveryRound && !Traits<P>::kHasMeasure && !Traits<P>::kHasEndRound &&
          !Traits<P>::kHasPrior && Traits<P>::kCanPush && !Traits<P>::kSharesSeparately,
      "the resident loop takes on-message programs without Share, Consume, Measure, EndRound, Prior or wide messages");
  if (graph.ref().parts != 1) throw UsageError("the resident loop runs on one device that holds the whole graph");
  if (const std::size_t wanted = Traits<P>::kHasData ? graph.ref().vertices : 0; data.size() != wanted) {
    Throw<UsageError>("the resident loop takes data of {} vertices for this program and graph, not {}", wanted, data.size());
  }
  Device& device = graph.device();
  device.MakeCurrent();
  ProgramState<P> state(graph, program);
  state.SetData(device, data.data());
  Buffer<Control> controls(device, 2);
  Buffer<Outcome> outcome(device, 1);
  device.Fill(controls.data(), 0, controls.bytes(), device.stream());
  device.Fill(outcome.data(), 0, outcome.bytes(), device.stream());
  ResidentResult<P> result;
  result.values = Array<OutputOf<P>>(graph.ref().owned);
  Array<ValueOf<P>> values(graph.ref().owned);
  if (device.kind() == DeviceKind::kHost) {
    steps::host::Cursors cursors;
    WorkerTeam& team = *device.team();
    team.Run(team.size(), [&](TeamMember& member) {
      steps::host::Group group(member, cursors, 0);
      Loop<P>(group, state.ref(), controls.data(), outcome.data());
    });
  } else {
#if CHATTY_CUDA_COMPILER
    Launch(device, state.ref(), controls.data(), outcome.data(), extent == Extent::kGrid);
#else
    Throw<CapabilityError>("{}: this program was compiled for host devices only; compile it with nvcc", device.label());
#endif
  }
  device.CopyOut(&result.outcome, outcome.data(), sizeof(Outcome), device.stream());
  device.CopyOut(values.data(), state.ref().values, values.bytes(), device.stream());
  device.stream().Synchronize();
  RoundOf<P> round;
  round.index = result.outcome.rounds;
  round.vertices = graph.ref().vertices;
  for (std::size_t v = 0; v < values.size(); ++v)
    result.values[v] = chatty::detail::OutputOfValue<P>(program, values[v], round);
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running a resident loop");
}

}  // namespace chatty::resident
