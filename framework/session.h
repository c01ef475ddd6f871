/// \file
/// Devices, a partition and the devices' parts of the graph, kept for many runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chatty/comm/nccl_state.h"
#include "chatty/comm/selector.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/engines/peer_table.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/options.h"
#include "chatty/framework/run_lifecycle.h"
#include "chatty/framework/run_paths.h"
#include "chatty/framework/run_plan.h"
#include "chatty/framework/statistics.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/union_map.h"
#include "chatty/partition/partition.h"

namespace chatty {

class Session;

/// A program prepared on a session's devices: memory is allocated, graphs are in place. It may execute repeatedly; the last
/// run's values stay on the devices until the next run. The session must outlive it.
class Job {
 public:
  /// Runs the program from InitVertex. `prior`: a job of this session with the start values of a program with an `Input`.
  /// Throws what the devices or the program's functions throw; the job may execute again. It then rebuilds a transport that
  /// a failed run left unusable.
  RunStatistics Execute(const Job* prior = nullptr);

  /// Replaces the program by one of the same type with other parameters; keeps memory and graphs.
  void SetProgram(std::shared_ptr<const ErasedProgram> program);
  /// Replaces RunOptions::max_rounds and RunOptions::stop for later runs.
  void SetLimits(std::uint32_t max_rounds, std::stop_token stop);
  /// The options from Prepare or later setters.
  const RunOptions& options() const { return options_; }
  const RoundState& round() const { return last_.round; }  ///< the last finished round of the last run
  /// Of the last run; if it threw, of its part until then.
  const RunStatistics& statistics() const { return last_.statistics; }
  /// Results of the last run, one per vertex in id order: `vertices() * output_bytes` bytes. Throws UsageError if it failed
  /// or there was none.
  void CopyOutput(std::byte* out) const;
  /// As CopyOutput, to `out` in the memory of `target`, a GPU. The program copies nothing to the host; between GPUs without
  /// a link the driver chooses the way. For sessions on GPUs, and results of 4 or 8 bytes. `target` need not be of the
  /// session. Throws CapabilityError in a build without CUDA.
  void PlaceOutput(Device& target, std::byte* out) const;
  /// Raw values: `vertices() * value_bytes` bytes. After a failed run, they mix two rounds: some vertices have the value of
  /// the last finished round, others of the next round. Throws UsageError if the run failed before all vertices had a value,
  /// or there was none.
  void CopyValues(std::byte* out) const;
  /// The program's traits.
  const ProgramTraits& traits() const { return program_->traits(); }
  /// The decisions by which it runs.
  const ProgramPlan& plan() const { return plan_; }

 private:
  friend class Session;
  Job(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options, ProgramPlan plan);
  /// Throws UsageError if the last run left no values, or if one round's values are required and missing.
  void CheckValues(bool of_one_round) const;
  /// Gives each device its vertices' part of the program's data, from AssembleData.
  void PlaceData(const Array<std::byte>& data);
  /// A run begins: empties the team's rings, and clears what a failed run has left in the memory of rounds of all devices.
  void BeginTeams();
  /// Makes the paths between the devices, and NCCL's sums if they are asked for, unless usable ones exist.
  void MakePaths();
  Session* session_;
  std::shared_ptr<const ErasedProgram> program_;
  RunOptions options_;
  ProgramPlan plan_;
  const struct PreparedGraphs* graphs_;
  RunLifecycle lifecycle_;
  PeerTable peers_;
  std::vector<std::unique_ptr<StepSet>> steps_;
  std::vector<UnionMap> unions_;  // one per device, if broadcasts are possible
  RunPaths paths_;
  std::unique_ptr<fused::Team> team_;           // of a fused run of all devices
  std::unique_ptr<fused::WideTeam> wide_team_;  // of rounds of any width; kernels write to it until rounds_team_ has ended
  std::unique_ptr<fused::RoundsTeam> rounds_team_;  // of rounds that all devices make together
  std::unique_ptr<NcclState> sums_;                 // for the control plane; null where counters go through host memory
  RunRecord last_;
};

/// How a Session divides its graph.
struct SessionOptions {
  std::string partition = "edge-balanced";  ///< see MakePartitioner
  /// If set, replaces the partitioner that `partition` names.
  std::shared_ptr<const Partitioner> partitioner;
  bool partition_fallback = true;  ///< PartitionOptions::allow_fallback
  /// The seed of partitioners "random" and "metis".
  std::uint64_t seed = 1;
  int threads = 0;  ///< threads for preparation; 0: one per core
  /// Bytes that each device may hold; 0: its free memory. A run that needs more is refused before any allocation on the
  /// devices. A run that exceeds the limit anyway fails (LimitingMemory).
  std::uint64_t memory_limit = 0;
  /// Bytes that the host may hold, including the graph and host devices; 0: the available memory (AvailableHostMemory).
  /// Checked against a run's minimum, not enforced.
  std::uint64_t host_memory_limit = 0;
  /// Binds each device's threads to one NUMA node's CPUs: a GPU's to its own node, host devices' spread over nodes
  /// (PlaceDevices). The calling thread is bound only while it works for a device. Never uses CPUs that the calling thread
  /// may not use now. No binding if OMP_PROC_BIND or OMP_PLACES places threads. Device::placement() returns it.
  bool bind = true;
  Trace* trace = nullptr;  ///< records division and upload, if not null; not owned, used while the session lives
  /// If set, gets each phase at its begin: "partitioning", "uploading", "preparing". On the session's calling thread.
  std::function<void(std::string_view)> on_phase{};
};

/// One graph divided among devices, in one variant that programs need.
struct PreparedGraphs {
  /// The subgraphs in host memory, by device.
  std::vector<Subgraph> subgraphs;
  bool own_begins = false;  ///< AddOwnBegins has been called
  /// The copies on the devices.
  std::vector<std::unique_ptr<DeviceGraph>> devices;
};

/// Options that memory allows, and what they need.
struct FittedMemory {
  RunOptions options;                 ///< as asked for, or with less
  std::vector<DeviceMemory> devices;  ///< of each
};

/// Owns devices and their parts of one graph. The graph must outlive it. One thread at a time may use it.
class Session {
 public:
  /// Throws UsageError for an unknown partition, a different number of parts, or too many devices; InputError for a
  /// partition file of another graph; CapabilityError for an unavailable partition without fallback.
  Session(const Graph& graph, std::vector<std::unique_ptr<Device>> devices, const SessionOptions& options = {});
  /// Opens the devices that `devices` names, as ParseDevices.
  Session(const Graph& graph, std::string_view devices, const SessionOptions& options = {});

  /// Allocates a program's state. Throws UsageError for options that the program or the devices cannot meet,
  /// CapabilityError, OutOfMemoryError: with CheckMemory's figures if the program does not fit.
  std::unique_ptr<Job> Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options = {});
  /// As above, by the decisions of a plan (PlanRun) of this session that has the program, with options that its memory
  /// allows (RunPlan::Fitted).
  std::unique_ptr<Job> Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options, ProgramPlan plan);

  /// Throws OutOfMemoryError if these programs with `options` do not all fit beside the session's memory. The error has the
  /// needed and available bytes of a device and the number of devices that would suffice. Divides the graph, which takes
  /// host memory; allocates nothing on the devices. Returns the needs of each device.
  std::vector<DeviceMemory> CheckMemory(std::span<const ProgramMemory> programs, const RunOptions& options);
  /// CheckMemory of what `programs` returns for `options`. What a fused run on a GPU needs is left out, if it does not fit:
  /// first records (Records::kAuto), then the run itself (Execution::kAuto).
  FittedMemory FitMemory(RunOptions options, const std::function<std::vector<ProgramMemory>(const RunOptions&)>& programs);
  /// Message costs between the session's devices under this mask: as measured on this machine, else
  /// nominal figures. One lookup per mask.
  const CostModel& Costs(const LinkMask& links);

  /// @{
  /// The graph, its partition and the devices.
  const Graph& graph() const { return *graph_; }
  const Partition& partition() const { return partition_; }
  std::size_t device_count() const { return devices_.size(); }
  Device& device(std::size_t i) const { return *devices_[i]; }
  std::span<Device* const> devices() const { return pointers_; }
  /// @}

  /// The graph for programs with these needs; built on first use and kept. If it lacks only `own_begins`, these are added.
  /// Checks no memory: see CheckMemory.
  const PreparedGraphs& Graphs(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins = false);

  /// The devices' parts of the graph for such programs, in host memory; built on first use and kept. Allocates nothing on
  /// the devices.
  std::span<const Subgraph> Parts(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins = false) {
    return Divide(edges, weights, forward, reverse, own_begins).subgraphs;
  }

  double partition_ms() const { return partition_ms_; }  ///< time spent so far on division
  double upload_ms() const { return upload_ms_; }        ///< time spent so far on copies to devices

 private:
  /// Divides the graph, or returns an existing division; `devices` may still be empty.
  PreparedGraphs& Divide(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins);

  const Graph* graph_;
  SessionOptions options_;
  std::vector<std::unique_ptr<LimitingMemory>>
      limits_;  // declared before the members that allocate from them; empty without memory_limit
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
  Partition partition_;
  std::map<std::tuple<Edges, WeightKind, bool, bool>, std::unique_ptr<PreparedGraphs>> graphs_;
  std::map<std::string, CostModel> costs_;
  double partition_ms_ = 0, upload_ms_ = 0;
};

}  // namespace chatty
