// Widths of widest paths from a source, which are bottleneck shortest paths (Pollack, Operations Research 8, 1960), on a
// distributed worklist. Compared with a serial search that goes on at the widest vertex.
//
//   bottleneck_paths [GRAPH [DEVICES [SOURCE]]]      bottleneck_paths road.gr host:4 17
//
// A path is as wide as its narrowest edge. An item is a vertex with the width of a path to it, and stands for the search to
// go on there. Wide items go first, softly: a vertex may improve several times.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "../reference.h"
#include "ranges.h"

template <class WeightOf>
struct BottleneckPaths {
  struct Item {
    chatty::VertexId vertex;
    float width;
  };
  using Message = Item;

  const chatty::Graph* graph;
  WeightOf weight_of;  // of an edge, by its number
  worklists::Ranges ranges;
  float* widths;  // by vertex; a device changes those of its own
  float* sent;    // by vertex of other devices: the widest that this device has sent

  template <class Context>
  void Process(const Item& item, Context& context) const {
    if (chatty::atomics::Load(widths + item.vertex) > item.width) return;  // a wider path came meanwhile
    const auto& rows = graph->out();
    for (chatty::EdgeIndex e = rows.offsets[item.vertex]; e < rows.offsets[item.vertex + 1]; ++e) {
      const chatty::VertexId v = rows.neighbours[e];
      context.Send(ranges.Owner(v), {v, std::min<float>(item.width, weight_of(e))});
    }
  }
  double Priority(const Item& item) const { return -item.width; }
  bool OnSend(const Item& item, std::uint32_t) const { return chatty::atomics::Max<true>(sent + item.vertex, item.width); }
  Message Pack(const Item& item) const { return item; }
  Item Unpack(const Message& message) const { return message; }
  bool OnReceive(const Item& item) const { return chatty::atomics::Max<true>(widths + item.vertex, item.width); }
};

int main(int argc, char** argv) try {
  chatty::GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 13;
  spec.weights = chatty::WeightKind::kInt32;
  spec.max_weight = 1000;
  const chatty::Graph graph = argc > 1 ? chatty::ReadGraph(argv[1]) : chatty::Generate(spec);
  worklists::Devices devices(graph, argc > 2 ? argv[2] : "host:2");
  const std::size_t count = devices.all.size();
  const auto source = argc > 3 ? static_cast<chatty::VertexId>(std::atoll(argv[3])) : graph.max_degree_vertex();
  if (source >= graph.vertices()) throw chatty::UsageError("SOURCE is not a vertex; vertices count from 0 here");

  std::vector<float> widths(graph.vertices(), 0.0f);
  std::vector<std::vector<float>> sent(count, widths);
  widths[source] = chatty::kInfinity<float>;
  chatty::WorklistStatistics statistics;
  chatty::VisitWeights<float>(graph, [&](auto weight_of) {
    using Program = BottleneckPaths<decltype(weight_of)>;
    std::vector<Program> programs;
    for (std::size_t d = 0; d < count; ++d) {
      programs.push_back({&graph, weight_of, devices.ranges, widths.data(), sent[d].data()});
    }
    std::vector<std::vector<typename Program::Item>> seeds(count);
    seeds[devices.ranges.Owner(source)].push_back({source, widths[source]});
    statistics = chatty::RunWorklist<Program>(devices.all, programs, seeds, {.width = 32});
  });

  const chatty::Verdict verdict = reference::Same<float>("width", graph, widths, reference::Widths(graph, source));
  if (!verdict) {
    std::printf("WRONG: %s\n", verdict.message.c_str());
    return 3;
  }
  std::printf("%ju vertices: %ju items, %ju messages, %u steps, %.1f ms; verified\n", std::uintmax_t{graph.vertices()},
              std::uintmax_t{statistics.processed}, std::uintmax_t{statistics.sent}, statistics.steps, statistics.time_ms);
} catch (const std::exception& error) {
  std::fprintf(stderr, "bottleneck_paths: %s\n", error.what());
  return 1;
}
