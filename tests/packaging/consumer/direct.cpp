// Uses the library without the command line: runs the program on one device and on three, and checks both.
#include <chatty/chatty.h>

#include <cstdio>

#include "nearest.h"

int main() {
  chatty::GeneratorSpec streets;
  streets.family = "grid";
  streets.width = streets.height = 40;
  streets.drop = 0.3;
  const chatty::Graph graph = chatty::Generate(streets);

  consumer::Nearest program;
  program.every = 97;
  for (const char* devices : {"host:1", "host:3"}) {
    const auto result = chatty::Run(graph, program, devices);
    const chatty::Verdict verdict = program.Verify(graph, result.values.span(), result.statistics);
    std::printf("%s: %d-bit ids, %s\n", devices, static_cast<int>(sizeof(chatty::VertexId) * 8), verdict.message.c_str());
    if (!verdict) return 1;
  }
}
