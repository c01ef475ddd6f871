// Apart from the rounds of vertex programs: what a compiler takes into a function depends on all that is compiled with it,
// and counts of instructions are to change with their own kernels alone.
#include <memory>
#include <utility>
#include <vector>

#include "chatty/framework/device_graph.h"
#include "chatty/framework/operators/host_operators.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"
#include "chatty/programs/bc.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/triangles.h"
#include "kernels.h"

namespace chatty::bench {
namespace {

/// A program written on operators, whole.
template <class P>
Kernel OperatedKernel(const char* name, const std::shared_ptr<const Graph>& graph, int threads, const P& program) {
  struct Operated {
    Operated(const Graph& graph, int threads)
        : device(MakeHostDevice(0, threads)),
          devices{device.get()},
          subgraphs(BuildSubgraphs(graph, Partition::FromBounds({0, graph.vertices()}, ""), Options(threads))),
          device_graph(*device, subgraphs[0]),
          group(devices, options),
          output(*device, graph.vertices()) {}
    static SubgraphOptions Options(int threads) {
      SubgraphOptions options;
      options.threads = threads;
      return options;
    }
    std::unique_ptr<Device> device;
    Device* devices[1];
    RunOptions options;
    std::vector<Subgraph> subgraphs;
    DeviceGraph device_graph;
    OperatorGroup group;
    Buffer<typename P::Output> output;
  };
  const auto operated = std::make_shared<Operated>(*graph, threads);
  return {name, graph->edges(), 0, [graph] {},
          [operated, program] {
            DeviceStatistics account;
            HostOperators operators(operated->group, operated->device_graph, account);
            program.Run(operators, operated->output.data());
          }};
}

}  // namespace

void AddOperatorPrograms(const std::shared_ptr<const Graph>& graph, int threads, std::vector<Kernel>& kernels) {
  kernels.push_back(OperatedKernel("cc", graph, threads, ConnectedComponents{}));
  BetweennessCentrality from_leaf;  // more levels, and both ways of finding them
  while (from_leaf.source + 1 < graph->vertices() && graph->out_degree(from_leaf.source) != 1) ++from_leaf.source;
  kernels.push_back(OperatedKernel("bc", graph, threads, from_leaf));
  kernels.push_back(OperatedKernel("triangles", graph, threads, Triangles{}));
}

}  // namespace chatty::bench
