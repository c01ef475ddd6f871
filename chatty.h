/// \file
/// All that a vertex program and the code that runs it need. Prebuilt programs have headers of their own, in
/// chatty/programs/.
///
/// A complete program: how far every vertex is from vertex 0 over weighted edges, on four devices made of CPU cores.
///
///     #include <chatty/chatty.h>
///     #include <cstdio>
///
///     struct Distance {
///       using Value = float;    // what a vertex keeps
///       using Message = float;  // what an edge carries
///       using Weight = float;   // what the graph says of an edge
///       static constexpr auto kReduction = chatty::Reduction::kMin;
///       static constexpr auto kSafety = chatty::Safety::kMonotone;
///
///       CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == 0 ? 0.0f : chatty::kInfinity<float>; }
///       CHATTY_FN Message ComputeScatter(const Value& d, chatty::Edge<Weight> e) const { return d + e.weight; }
///       CHATTY_FN bool UpdateStatus(Value& d, Message m, chatty::Vertex) const {
///         if (m >= d) return false;  // unchanged: not active in the next round
///         d = m;
///         return true;               // changed: it sends in the next round
///       }
///     };
///
///     int main() {
///       const chatty::Graph graph = chatty::ReadGraph("road.mtx");
///       const auto result = chatty::Run(graph, Distance{}, "host:4");
///       std::printf("vertex 7: %g, after %u rounds\n", result.values[7], result.statistics.rounds);
///     }
///
/// Compiled by nvcc, the same file runs with "cuda:0,1" in place of "host:4". docs/writing-a-program.md says the rest.
#pragma once

#include "chatty/core/array.h"
#include "chatty/core/atomics.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/hash.h"
#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/core/verdict.h"
#include "chatty/core/version.h"
#include "chatty/framework/derived.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/program.h"
#include "chatty/framework/run.h"
#include "chatty/framework/session.h"
#include "chatty/framework/statistics.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
