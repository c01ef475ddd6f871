/// \file
/// The host kernels that matter, each with its input: what chatty_pieces times and chatty_gate counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chatty/core/graph.h"

namespace chatty::bench {

/// A kernel on an input of its own, which is the same whatever else runs.
struct Kernel {
  /// What tables and the baseline call it.
  std::string name;
  std::uint64_t edges = 0;        ///< that a run works on; 0: rates of bytes say more
  std::uint64_t bytes = 0;        ///< that a run reads or writes, where that is what counts
  std::function<void()> prepare;  ///< before each run, and no part of it
  /// What is measured.
  std::function<void()> run;
};

/// All kernels, on graphs of 2^scale vertices and on devices of `threads` threads. `scratch` is a file that is written for
/// the parser, and removed again with the last kernel.
std::vector<Kernel> MakeKernels(int scale, int threads, const std::string& scratch);
/// Those among them for which direction matters, on the directed graph of a list, which `chatty generate kron --directed`
/// has, too: BFS pushes along out-edges, pulls along in-edges, and does both in place; PageRank has dangling vertices;
/// in-edges are made of out-edges.
void AddDirected(const EdgeList& list, int threads, std::vector<Kernel>& kernels);
/// Those among them that are whole programs written on operators, on `graph`.
void AddOperatorPrograms(const std::shared_ptr<const Graph>& graph, int threads, std::vector<Kernel>& kernels);

}  // namespace chatty::bench
