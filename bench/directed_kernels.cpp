// Kernels on a directed graph, apart from the others for the reason that operator_kernels.cpp has.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/pagerank.h"
#include "kernel_steps.h"
#include "kernels.h"

namespace chatty::bench {
namespace {

/// A kernel that calls `steps`, with the edges that its first run looks at.
template <class P>
void AddSteps(Steps<P>& steps, Kernel kernel, std::vector<Kernel>& kernels) {
  kernel.prepare();
  steps.TakeEdges();
  kernel.run();
  kernel.edges = steps.TakeEdges();
  kernels.push_back(std::move(kernel));
}

}  // namespace

void AddDirected(const EdgeList& list, int threads, std::vector<Kernel>& kernels) {
  BuildOptions options;
  options.remove_loops = options.merge_parallel = true;
  const auto graph = std::make_shared<const Graph>(
      BuildGraph({list.vertices, list.sources.Clone(), list.targets.Clone(), Clone(list.weights)}, options));
  const auto bfs = std::make_shared<Steps<Bfs>>(*graph, Bfs{graph->max_degree_vertex()}, threads);
  const auto start = [graph, bfs] { bfs->Start(); };
  const auto reach = [graph, bfs] {
    bfs->Start();
    bfs->Push();
  };
  AddSteps(*bfs, {"bfs_push_directed", 0, 0, reach, [bfs] { bfs->Push(); }}, kernels);
  AddSteps(*bfs, {"bfs_pull_directed", 0, 0, reach, [bfs] { bfs->Pull(); }}, kernels);
  AddSteps(*bfs, {"bfs_in_place_directed", 0, 0, start, [bfs] { bfs->RunFused(); }}, kernels);

  const auto pagerank = std::make_shared<Steps<PageRank>>(*graph, PageRank{}, threads);
  AddSteps(*pagerank,
           {"pagerank_directed", 0, 0, [graph, pagerank] { pagerank->Start(); }, [pagerank] { pagerank->PullAll(); }},
           kernels);

  kernels.push_back(
      {"transpose", graph->edges(), 0, [] {}, [graph, threads] { Transpose(graph->vertices(), graph->out(), threads); }});
}

}  // namespace chatty::bench
