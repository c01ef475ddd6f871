// Widths of widest paths from a source, which are bottleneck shortest paths (Pollack, Operations Research 8, 1960), on a
// distributed worklist. The result is compared with a serial search that always continues at the widest vertex.
//
//   bottleneck_paths [GRAPH|- [DEVICES [SOURCE]]]      bottleneck_paths road.gr host:4 17      bottleneck_paths road.gr cuda
//
// A path is as wide as its narrowest edge. An item is a vertex with the width of a path to it; the search continues there.
// The order of items, the widest first, is not strict: a vertex may improve several times.
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "../reference.h"
#include "chatty/framework/named_parameters.h"
#include "ranges.h"

struct BottleneckPaths {
  struct Item {
    chatty::VertexId vertex;
    float width;
  };
  using Message = Item;

  worklists::Rows rows;
  const float* weights;  // by own edge
  worklists::Ranges ranges;
  float* widths;  // by own vertex
  float* sent;    // by vertex of other devices: the widest that this device has sent

  template <class Context>
  CHATTY_FN void Process(const Item& item, Context& context) const {
    if (chatty::atomics::Load(widths + (item.vertex - rows.begin)) > item.width) return;  // a wider path came meanwhile
    const chatty::EdgeIndex end = rows.End(item.vertex);
    for (chatty::EdgeIndex e = rows.Begin(item.vertex); e < end; ++e) {
      const chatty::VertexId v = rows.neighbours[e];
      context.Send(ranges.Owner(v), {v, item.width < weights[e] ? item.width : weights[e]});
    }
  }
  CHATTY_FN double Priority(const Item& item) const { return -item.width; }
  CHATTY_FN bool OnSend(const Item& item, std::uint32_t) const {
    return chatty::atomics::Max<true>(sent + item.vertex, item.width);
  }
  CHATTY_FN Message Pack(const Item& item) const { return item; }
  CHATTY_FN Item Unpack(const Message& message) const { return message; }
  CHATTY_FN bool OnReceive(const Item& item) const {
    return chatty::atomics::Max<true>(widths + (item.vertex - rows.begin), item.width);
  }
};

int main(int argc, char** argv) try {
  worklists::CheckArguments(argc, argv, 3, "bottleneck_paths [GRAPH|- [DEVICES [SOURCE]]]");
  chatty::GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 13;
  spec.weights = chatty::WeightKind::kInt32;
  spec.max_weight = 1000;
  const chatty::Graph graph = worklists::IsNamed(argc, argv) ? chatty::ReadGraph(argv[1]) : chatty::Generate(spec);
  worklists::Devices devices(graph, argc > 2 ? argv[2] : "host:2");
  const std::size_t count = devices.all.size();
  const auto source = chatty::SourceChoice::Parse(argc > 3 ? argv[3] : "max-degree", graph).Pick(graph, 0);

  std::vector<float> weights;  // by edge
  chatty::VisitWeights<float>(graph, [&](auto weight_of) {
    for (chatty::EdgeIndex e = 0; e < graph.edges(); ++e) weights.push_back(weight_of(e));
  });
  std::vector<worklists::OwnRows> rows;
  std::vector<worklists::OnDevice<float>> weights_on, widths_on, sent_on;
  std::vector<BottleneckPaths> programs;
  std::vector<std::vector<BottleneckPaths::Item>> seeds(count);
  std::vector<float> widths(graph.vertices(), 0.0f);
  widths[source] = chatty::kInfinity<float>;
  for (std::size_t d = 0; d < count; ++d) {
    chatty::Device& device = *devices.all[d];
    rows.emplace_back(devices, d, graph);
    const auto first = graph.out().offsets[rows[d].begin()], last = graph.out().offsets[rows[d].end()];
    weights_on.emplace_back(device, std::span<const float>(weights.data() + first, last - first));
    widths_on.emplace_back(device, std::span<const float>(widths.data() + rows[d].begin(), rows[d].vertices()));
    sent_on.emplace_back(device, graph.vertices(), 0.0f);
    programs.push_back({rows[d].ref(), weights_on[d].data(), devices.ranges, widths_on[d].data(), sent_on[d].data()});
  }
  seeds[devices.ranges.Owner(source)].push_back({source, widths[source]});
  const auto statistics = chatty::RunWorklist<BottleneckPaths>(devices.all, programs, seeds, {.width = 32});
  for (std::size_t d = 0; d < count; ++d) std::ranges::copy(widths_on[d].Read(), widths.data() + rows[d].begin());

  const chatty::Verdict verdict = reference::Same<float>("width", graph, widths, reference::Widths(graph, source));
  if (!verdict) {
    std::printf("WRONG: %s\n", verdict.message.c_str());
    return 3;
  }
  std::printf("%ju vertices: %ju items, %ju messages, %u steps, %.1f ms; verified\n", std::uintmax_t{graph.vertices()},
              std::uintmax_t{statistics.processed}, std::uintmax_t{statistics.sent}, statistics.steps, statistics.time_ms);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
} catch (const std::exception& error) {
  std::fprintf(stderr, "bottleneck_paths: %s\n", error.what());
  return 1;
}
