/// \file
/// Devices, a partition and the graphs on them, kept over many runs.
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

#include "chatty/comm/selector.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/options.h"
#include "chatty/framework/run_paths.h"
#include "chatty/framework/statistics.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/union_map.h"
#include "chatty/partition/partition.h"

namespace chatty {

class Session;

/// A program ready to run on a session's devices: memory allocated, graphs in place. May be executed any number of times;
/// the last run's values stay on the devices until the next. The session must outlive it.
class Job {
 public:
  /// Runs the program from InitVertex on. `prior`: the job whose values a program with a Prior starts from, of this session.
  /// Throws what the devices throw, or what the program's functions threw; the job may be executed again. What a failed run
  /// has left of the transport, if that cannot be used again, is made anew then.
  RunStatistics Execute(const Job* prior = nullptr);

  /// Replaces the program by another of the same type with other parameters; memory and graphs are kept.
  void SetProgram(std::shared_ptr<const ErasedProgram> program);
  /// Replaces RunOptions::max_rounds and RunOptions::stop for the runs that follow.
  void SetLimits(std::uint32_t max_rounds, std::stop_token stop);
  /// What the job was prepared with, or has been told since.
  const RunOptions& options() const { return options_; }
  const RoundState& round() const { return last_.round; }  ///< the last round that the last run finished
  /// Of the last run; of one that threw, what it did until then.
  const RunStatistics& statistics() const { return last_.statistics; }
  /// Results of the last run, one a vertex in id order: `vertices() * output_bytes` bytes. Throws UsageError if it failed,
  /// or if there was none.
  void CopyOutput(std::byte* out) const;
  /// Raw values instead: `vertices() * value_bytes` bytes. After a failed run they belong to no one round: some vertices
  /// have their value of the last round that was finished, others one of the round after. Throws UsageError if the run
  /// failed before all vertices had a value, or if there was none.
  void CopyValues(std::byte* out) const;
  /// What engines know of the program.
  const ProgramTraits& traits() const { return program_->traits(); }

 private:
  friend class Session;
  Job(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options);
  /// Throws UsageError if there are no values of the last run, or if they are wanted of one round and are not.
  void CheckValues(bool of_one_round) const;
  /// Tells each device's steps those of all others, where rounds may go by remote atomics, unless they know.
  void ConnectSteps();
  /// Gives each device its vertices' part of the program's data; as AssembleData has them.
  void PlaceData(const Array<std::byte>& data);
  /// Makes the paths between the devices, unless they are there and fit for another run.
  void MakePaths();
  template <class Copy>
  void CopyScattered(std::byte* out, std::size_t bytes, Copy&& copy) const;

  Session* session_;
  std::shared_ptr<const ErasedProgram> program_;
  RunOptions options_;
  BuiltDirections built_;
  BucketPlan buckets_;
  const struct PreparedGraphs* graphs_;
  std::vector<std::unique_ptr<StepSet>> steps_;
  std::vector<UnionMap> unions_;  // one a device, where something may be told to all
  RunPaths paths_;
  bool connected_ = false;  // ConnectSteps has been done since the program was set
  RunRecord last_;
};

/// How a Session divides its graph.
struct SessionOptions {
  std::string partition = "edge-balanced";  ///< see MakePartitioner
  /// If set, divides in place of the one that `partition` names.
  std::shared_ptr<const Partitioner> partitioner;
  bool partition_fallback = true;  ///< PartitionOptions::allow_fallback
  /// Of partitions random and metis.
  std::uint64_t seed = 1;
  int threads = 0;  ///< of preparation; 0: one a core
  /// Bytes that each device may hold; 0: what it has free. A run that needs more is refused before anything is allocated on
  /// the devices, and one that should take more after all fails (LimitingMemory).
  std::uint64_t memory_limit = 0;
  /// Bytes that the host may hold, the graph and host devices included; 0: what is available (AvailableHostMemory). Checked
  /// against the least that a run needs, not enforced.
  std::uint64_t host_memory_limit = 0;
  /// Each device's threads run on the CPUs of one NUMA node: a GPU's on its own node's, host devices' dealt out over the
  /// nodes (PlaceDevices); the calling thread only while it works for a device. Never on CPUs that the calling thread may
  /// not use now, and not at all where OMP_PROC_BIND or OMP_PLACES says where threads run. Device::placement() tells.
  bool bind = true;
  Trace* trace = nullptr;  ///< records dividing and uploading, if not null; not owned, used while the session lives
  /// If set, is told what begins: "partitioning", "uploading", "preparing". Called by the thread that calls the session.
  std::function<void(std::string_view)> on_phase{};
};

/// Throws for what a run would be refused for whatever the graph: UsageError for an unknown execution or transport, or a
/// transport that such devices cannot use; CapabilityError if OpenMP will not grant a thread a device.
void CheckRunOptions(const RunOptions& options, DeviceKind kind, std::size_t devices);
/// The same of these devices, and throws CapabilityError for a transport that cannot join a GPU with itself where one is
/// shared by several devices.
void CheckRunOptions(const RunOptions& options, const DeviceSelection& devices);

/// One graph divided among devices, with a copy there for each way in which programs need it.
struct PreparedGraphs {
  /// One a device, in host memory.
  std::vector<Subgraph> subgraphs;
  bool own_begins = false;  ///< with AddOwnBegins
  /// The same in the devices' memory.
  std::vector<std::unique_ptr<DeviceGraph>> devices;
};

/// Owner of devices and of what they hold of one graph. The graph must outlive it. For one thread at a time.
class Session {
 public:
  /// Throws UsageError for an unknown partition, one of another number of parts, or too many devices; InputError for a
  /// partition in a file that is none of this graph's; CapabilityError for one that cannot be had and has no fallback.
  Session(const Graph& graph, std::vector<std::unique_ptr<Device>> devices, const SessionOptions& options = {});
  /// Opens the devices that `devices` names, as ParseDevices.
  Session(const Graph& graph, std::string_view devices, const SessionOptions& options = {});

  /// Allocates a program's state. Throws UsageError for options that the program or the devices cannot meet,
  /// CapabilityError, OutOfMemoryError: with the figures of CheckMemory if the program does not fit.
  std::unique_ptr<Job> Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options = {});

  /// Throws OutOfMemoryError, with what is needed on a device, what there is, and on how many devices it would fit, if these
  /// programs, run with `options`, do not all fit beside what the session holds. Divides the graph as they need it, and so
  /// takes host memory; nothing is allocated on the devices.
  void CheckMemory(std::span<const ProgramMemory> programs, const RunOptions& options);
  /// What messages cost between the session's devices under such a mask (LinkMask::Parse): as measured on this machine if it
  /// has been, else by nominal figures. Looked up once a mask.
  const CostModel& Costs(const std::string& links);

  /// @{
  /// What was divided, how, and among which devices.
  const Graph& graph() const { return *graph_; }
  const Partition& partition() const { return partition_; }
  std::size_t device_count() const { return devices_.size(); }
  Device& device(std::size_t i) const { return *devices_[i]; }
  std::span<Device* const> devices() const { return pointers_; }
  /// @}

  /// The graph as programs with these needs see it; built on first demand and kept, and where it lacks no more than
  /// `own_begins`, these are added to it. Checks no memory: see CheckMemory.
  const PreparedGraphs& Graphs(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins = false);

  double partition_ms() const { return partition_ms_; }  ///< time spent so far on dividing
  double upload_ms() const { return upload_ms_; }        ///< and on copying to devices

 private:
  /// Divides the graph, or finds it divided; `devices` may be empty still.
  PreparedGraphs& Divide(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins);

  const Graph* graph_;
  SessionOptions options_;
  std::vector<std::unique_ptr<LimitingMemory>> limits_;  // before what allocates from them; empty without memory_limit
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
  Partition partition_;
  std::map<std::tuple<Edges, WeightKind, bool, bool>, std::unique_ptr<PreparedGraphs>> graphs_;
  std::map<std::string, CostModel> costs_;
  double partition_ms_ = 0, upload_ms_ = 0;
};

/// Whether an engine of this name exists and may run a program with these traits; null: one that is written on operators.
/// Throws UsageError that says which of the two it is.
void CheckExecution(std::string_view execution, const ProgramTraits* traits);

}  // namespace chatty
