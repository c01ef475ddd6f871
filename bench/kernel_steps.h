/// \file
/// Steps of a program, called as engines call them: what the kernels of rounds are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/typed_program.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"

namespace chatty::bench {

/// A program on one part of a graph, its steps called as engines call them.
template <class P>
class Steps {
 public:
  Steps(const Graph& graph, const P& program, int threads, Tiling tiling = Tiling::kNever, PartId part = 0,
        const Partition* partition = nullptr)
      : device_(MakeHostDevice(0, threads)) {
    const Partition whole = Partition::FromBounds({0, graph.vertices()}, "");
    SubgraphOptions options;
    options.weights = TypedProgram<P, HostOnly>(program).traits().weights;
    options.threads = threads;
    subgraphs_ = BuildSubgraphs(graph, partition == nullptr ? whole : *partition, options);
    graph_ = std::make_unique<DeviceGraph>(*device_, subgraphs_[part]);
    steps_ = TypedProgram<P, HostOnly>(program).MakeSteps(*graph_, {tiling});
    first_suffices_ = Traits<P>::kAnyMessageSuffices;
    owned_ = subgraphs_[part].owned;
    round_.vertices = graph.vertices();
  }

  /// Before the first round, with buckets or without.
  void Start(const Buckets& buckets = {}) {
    round_.index = 0;
    steps_->ClearControl();
    steps_->SetLimit(buckets.limit());
    steps_->Init(nullptr, round_);
    Read();
  }
  /// A round of pushes from a bitmap.
  void Push() {
    Advance();
    steps_->Apply(round_, Form::kBitmap, owned_);
    EndRound();
  }
  /// Its first half: messages are delivered, to the halo, too.
  void Advance() { steps_->Advance(round_, Form::kBitmap, owned_, active_edges_, /*queue_out=*/false); }
  /// A round of pulls by those who still want something.
  void Pull() {
    steps_->Publish(Form::kBitmap);
    steps_->Gather(round_, /*all_active=*/false);
    steps_->Apply(round_, Form::kBitmap, owned_);
    EndRound();
  }
  /// A round of a program that is active in every one.
  void PullAll() {
    steps_->Publish(Form::kAll);
    if (steps_->HasPullRound()) {
      steps_->PullRound(round_);
    } else {
      steps_->Gather(round_, /*all_active=*/true);
      steps_->Apply(round_, Form::kAll, owned_);
    }
    steps_->MeasureInto(round_, round_.global, {});
    EndRound();
  }
  /// A round of a program that collects or counts messages.
  void CollectAll() {
    steps_->Publish(Form::kAll);
    steps_->Collect(round_, /*all_active=*/true);
    EndRound();
  }
  /// Rounds of pushes from queues, until nothing is active.
  void PushQueues() {
    QueueFrontier();
    for (std::size_t count = active_vertices_; count > 0;) {
      steps_->Advance(round_, Form::kQueue, count, active_edges_, /*queue_out=*/true);
      steps_->Apply(round_, Form::kQueue, std::min<std::size_t>(owned_, active_edges_));
      EndRound();
      steps_->SwapFrontier();
      count = next_count_;
    }
  }
  /// The frontier, a bitmap, as a queue.
  void QueueFrontier() {
    steps_->BitmapToQueue();
    steps_->SwapFrontier();
    steps_->ClearControl();
  }
  /// And back.
  void UnqueueFrontier() { steps_->QueueToBitmap(active_vertices_); }
  /// All rounds, by the device itself: in buckets, or in place.
  void RunFused(const Buckets& buckets = {}) {
    FusedRun job;
    job.max_rounds = ~0u;
    const std::stop_token never;
    job.stop = &never;
    job.round = round_;
    job.buckets = buckets;
    job.chooser = DirectionChooser({true, true, first_suffices_, false, buckets.on(), Direction::kAuto});
    job.active_vertices = active_vertices_;
    job.ahead = {active_edges_, candidate_edges_};
    if (steps_->fused() == nullptr || !steps_->fused()->Run(job, {}))
      throw InternalError("host devices no longer run this kernel's program by themselves");
    edges_ += job.edges_touched;
  }

  StepSet& steps() { return *steps_; }
  Device& device() { return *device_; }
  const DeviceGraph& graph() const { return *graph_; }
  std::uint64_t active_vertices() const { return active_vertices_; }
  /// Edges that rounds have looked at since this was last asked.
  std::uint64_t TakeEdges() { return std::exchange(edges_, 0); }

 private:
  void Read() {
    const Control& control = steps_->Read({}, /*clear=*/true);
    active_vertices_ = control.active_vertices;
    active_edges_ = control.active_edges;
    candidate_edges_ = control.candidate_edges;
    next_count_ = control.next_count;
    edges_ += control.edges_touched;
  }
  void EndRound() {
    Read();
    round_.index += 1;
  }

  std::unique_ptr<Device> device_;
  std::vector<Subgraph> subgraphs_;
  std::unique_ptr<DeviceGraph> graph_;
  std::unique_ptr<StepSet> steps_;
  std::size_t owned_ = 0, next_count_ = 0;
  RoundState round_;
  std::uint64_t active_vertices_ = 0, active_edges_ = 0, edges_ = 0;
  std::int64_t candidate_edges_ = 0;  // right before the first round
  bool first_suffices_ = false;
};

}  // namespace chatty::bench
