// The file to copy: a vertex program of one's own, and a main() that runs it, checks it and prints. How many edges is every
// vertex from a source?   first_program [GRAPH [DEVICES [SOURCE]]]      first_program road.mtx host:4 17

/* Compile it against an installed ChattyGraph, on CPUs (g++) or on CPUs and GPUs (nvcc; then DEVICES may be cuda:0,1):

  g++ -std=c++20 -O2 -fopenmp first_program.cpp $(pkg-config --cflags --libs chatty) -o first_program

  nvcc -std=c++20 -O2 -arch=native --extended-lambda --expt-relaxed-constexpr -Xcompiler=-fopenmp \
    -x cu first_program.cpp $(pkg-config --cflags --libs chatty) -o first_program

where pkg-config finds it (installed in ~/.local: export PKG_CONFIG_PATH=~/.local/lib/pkgconfig). Or with CMake:

  find_package(chatty REQUIRED)
  add_executable(first_program first_program.cpp)
  target_link_libraries(first_program PRIVATE chatty::chatty)
*/
#include <chatty/chatty.h>
#include <chatty/framework/named_parameters.h>

#include <cstdio>
#include <queue>
#include <vector>

struct Hops {
  using Value = std::uint32_t;                                 // a vertex's value: number of edges from the source
  using Message = std::uint32_t;                               // an edge's message: the same for the vertex at its end
  static constexpr auto kReduction = chatty::Reduction::kMin;  // the minimum of all messages to a vertex is kept
  static constexpr auto kSafety = chatty::Safety::kMonotone;   // values only decrease: late messages do no harm

  chatty::VertexId source = 0;  // parameters are members; the program is copied to the devices

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& hops) const { return hops == 0; }  // vertices that send first
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex) const {
    if (m >= hops) return false;  // no shorter path
    hops = m;
    return true;  // the vertex sends in the next round
  }
};

// The same result by a loop with a queue.
std::vector<std::uint32_t> SerialHops(const chatty::Graph& graph, chatty::VertexId source) {
  std::vector<std::uint32_t> hops(graph.vertices(), chatty::kInfinity<std::uint32_t>);
  std::queue<chatty::VertexId> open({source});
  for (hops[source] = 0; !open.empty(); open.pop()) {
    for (const chatty::VertexId v : graph.out()[open.front()]) {
      if (hops[v] != chatty::kInfinity<std::uint32_t>) continue;
      hops[v] = hops[open.front()] + 1;
      open.push(v);
    }
  }
  return hops;
}

int main(int argc, char** argv) try {
  chatty::GeneratorSpec spec;  // without a file: a grid of streets
  spec.family = "grid";
  spec.width = spec.height = 300;
  const chatty::Graph graph = argc > 1 ? chatty::ReadGraph(argv[1]) : chatty::Generate(spec);
  Hops program;
  program.source = chatty::SourceChoice::Parse(argc > 3 ? argv[3] : "max-degree", graph).Pick(graph, 0);
  const auto result = chatty::Run(graph, program, argc > 2 ? argv[2] : "host:2");

  const std::vector<std::uint32_t> expected = SerialHops(graph, program.source);
  std::uint32_t reached = 0;
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    if (result.values[v] != expected[v]) {
      std::printf("WRONG: vertex %ju: %u instead of %u\n", std::uintmax_t{v}, result.values[v], expected[v]);
      return 3;
    }
    if (expected[v] != chatty::kInfinity<std::uint32_t>) ++reached;
  }
  std::printf("%u of %ju vertices reached in %u rounds, %.2f ms; verified\n", reached, std::uintmax_t{graph.vertices()},
              result.statistics.rounds, result.statistics.time_ms);
} catch (const std::exception& error) {
  std::fprintf(stderr, "first_program: %s\n", error.what());
  return 1;
}
