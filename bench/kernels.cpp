#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/topology.h"
#include "chatty/core/graph.h"
#include "chatty/io/input.h"
#include "chatty/io/text_parser.h"
#include "chatty/io/vertex_ids.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/cdlp.h"
#include "chatty/programs/pagerank.h"
#include "chatty/programs/sssp.h"
#include "kernel_steps.h"

namespace chatty::bench {
namespace {

constexpr int kEdgeFactor = 16;
constexpr std::int32_t kMaxWeight = 100;

/// splitmix64: the draws stay what they are, so that only kernels change their counts.
std::uint64_t Draw(std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A Kronecker graph's edges, as Graph500 draws them, with weights from 1 to kMaxWeight.
EdgeList DrawEdges(int scale) {
  EdgeList list;
  list.vertices = VertexId{1} << scale;
  const std::size_t edges = std::size_t{kEdgeFactor} << scale;
  list.sources = Array<VertexId>(edges, 0);
  list.targets = Array<VertexId>(edges, 0);
  Array<std::int32_t> weights(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    for (int level = 0; level < scale; ++level) {
      const std::uint64_t percent = Draw(e * 64 + static_cast<std::uint64_t>(level)) % 100;
      const int quadrant = percent < 57 ? 0 : percent < 76 ? 1 : percent < 95 ? 2 : 3;
      list.sources[e] = list.sources[e] << 1 | static_cast<VertexId>(quadrant >> 1);
      list.targets[e] = list.targets[e] << 1 | static_cast<VertexId>(quadrant & 1);
    }
    weights[e] = 1 + static_cast<std::int32_t>(Draw(e * 64 + 63) % kMaxWeight);
  }
  list.weights = std::move(weights);
  return list;
}

EdgeList Copy(const EdgeList& list) {
  return {list.vertices, list.sources.Clone(), list.targets.Clone(), Clone(list.weights)};
}

/// What kernels work on. They share it, so that it lives as long as any of them.
struct Inputs {
  Inputs(int scale, std::string scratch_file) : list(DrawEdges(scale)), scratch(std::move(scratch_file)) {
    BuildOptions options;
    options.symmetrise = options.remove_loops = options.merge_parallel = true;
    graph = BuildGraph(Copy(list), options);
    hub = graph.max_degree_vertex();
  }
  ~Inputs() {
    if (!text.empty()) std::remove(scratch.c_str());
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  EdgeList list;
  Graph graph;
  VertexId hub = 0;
  std::string scratch, text;
};

using SharedInputs = std::shared_ptr<Inputs>;

void AddRounds(const SharedInputs& inputs, int threads, std::vector<Kernel>& kernels) {
  const Graph& graph = inputs->graph;
  // Two rounds after its start a search from a hub sees most of the graph.
  const auto bfs = std::make_shared<Steps<Bfs>>(graph, Bfs{inputs->hub}, threads);
  const auto reach = [inputs, bfs] {
    bfs->Start();
    bfs->Push();
    bfs->TakeEdges();
  };
  // edges_of: what a kernel's first run looks at.
  const auto edges_of = [](auto& steps, const Kernel& kernel) {
    kernel.prepare();
    steps.TakeEdges();
    kernel.run();
    return steps.TakeEdges();
  };
  const auto add = [&](const auto& steps, std::string name, std::function<void()> prepare, std::function<void()> run) {
    Kernel kernel{std::move(name), 0, 0, std::move(prepare), std::move(run)};
    kernel.edges = edges_of(*steps, kernel);
    kernels.push_back(std::move(kernel));
  };
  add(bfs, "bfs_push", reach, [bfs] { bfs->Push(); });
  add(bfs, "bfs_pull", reach, [bfs] { bfs->Pull(); });
  add(
      bfs, "bfs_queues", [inputs, bfs] { bfs->Start(); }, [bfs] { bfs->PushQueues(); });
  add(
      bfs, "bfs_in_place", [inputs, bfs] { bfs->Start(); }, [bfs] { bfs->RunFused(); });

  BucketPlan plan;
  plan.width = kMaxWeight / 4.0;
  plan.adapts = true;
  plan.round_edges = 4096;
  plan.early_edges = 64;
  const Buckets buckets(plan);
  const auto sssp = std::make_shared<Steps<SsspOf<std::int32_t>>>(graph, SsspOf<std::int32_t>{inputs->hub}, threads);
  add(
      sssp, "sssp_buckets", [inputs, sssp, buckets] { sssp->Start(buckets); }, [sssp, buckets] { sssp->RunFused(buckets); });

  for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
    const auto pagerank = std::make_shared<Steps<PageRank>>(graph, PageRank{}, threads, tiling);
    pagerank->Start();
    add(
        pagerank, tiling == Tiling::kNever ? "pagerank" : "pagerank_tiled", [inputs, pagerank] { pagerank->Start(); },
        [pagerank] { pagerank->PullAll(); });
  }

  const auto communities = std::make_shared<Steps<Cdlp>>(graph, Cdlp{}, threads);
  add(
      communities, "cdlp", [inputs, communities] { communities->Start(); }, [communities] { communities->CollectAll(); });

  const std::uint64_t queue_bytes = [&] {
    reach();
    return bfs->active_vertices() * sizeof(LocalId) + bits::Words(graph.vertices()) * sizeof(std::uint32_t);
  }();
  kernels.push_back({"bitmap_to_queue", 0, queue_bytes, reach, [bfs] { bfs->QueueFrontier(); }});
  kernels.push_back({"queue_to_bitmap", 0, queue_bytes,
                     [reach, bfs] {
                       reach();
                       bfs->QueueFrontier();
                     },
                     [bfs] { bfs->UnqueueFrontier(); }});
}

/// A search whose messages are levels as such, and not a bit each: what borders are packed of.
struct Levels {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.any_message_suffices = true};
  VertexId source = 0;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& level) const { return level != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& level, Edge<>) const { return level + 1; }
  CHATTY_FN bool Filter(const Value& level) const { return level == kInfinity<Value>; }
  CHATTY_FN bool UpdateStatus(Value& level, Message m, Vertex) const {
    if (m >= level) return false;
    level = m;
    return true;
  }
};

/// Messages and shared values of one of two parts, into a buffer and out of it.
void AddBorders(const SharedInputs& inputs, int threads, std::vector<Kernel>& kernels) {
  struct Border {
    Border(const Graph& graph, const Levels& program, int threads, const Partition& halves)
        : sender(graph, program, threads, Tiling::kNever, 0, &halves),
          receiver(graph, program, threads, Tiling::kNever, 1, &halves) {
      const Subgraph& from = sender.graph().subgraph();
      const std::size_t most = std::max<std::size_t>(from.halo_count(1), from.border[1].size());
      buffer = Array<std::byte>(BufferCapacity(most, sizeof(Levels::Message)), std::byte{0});
      outbox.buffer[1] = buffer.data();
    }
    /// The halo has messages, and none has been packed.
    void Fill() {
      sender.Start();
      sender.Push();
      sender.Advance();
    }
    Steps<Levels> sender, receiver;
    Array<std::byte> buffer;
    OutboxRef outbox;
    InboxRef inbox;
  };
  const VertexId vertices = inputs->graph.vertices();
  const auto halves = Partition::FromBounds({0, vertices / 2, vertices}, "");
  VertexId hub = 0;
  for (VertexId v = 0; v < vertices / 2; ++v) {
    if (inputs->graph.out_degree(v) > inputs->graph.out_degree(hub)) hub = v;
  }
  const auto border = std::make_shared<Border>(inputs->graph, Levels{hub}, threads, halves);
  const auto pack = [border] {
    border->sender.steps().PackMessages(border->outbox, /*queued=*/false, border->sender.graph().ref().local);
  };
  border->Fill();
  pack();
  const Control packed = border->sender.steps().Read({}, /*clear=*/true);
  border->inbox.buffer = border->buffer.data();
  border->inbox.encoding = static_cast<Encoding>(packed.buffer_encoding[1]);
  border->inbox.count = packed.buffer_count[1];
  border->inbox.size = border->inbox.last = border->sender.graph().subgraph().halo_count(1);
  const std::uint64_t bytes =
      BufferBytes(border->inbox.encoding, border->inbox.size, border->inbox.count, sizeof(Levels::Message));
  kernels.push_back({"pack_messages", 0, bytes, [inputs, border] { border->Fill(); }, pack});
  kernels.push_back({"unpack_messages", 0, bytes,
                     [inputs, border, pack] {
                       border->Fill();
                       pack();
                       border->receiver.Start();
                     },
                     [border] { border->receiver.steps().UnpackMessages(border->inbox, 0, /*queue_out=*/false); }});
  SharedPlan plan;
  plan.all = true;
  plan.encoding[1] = Encoding::kDense;
  const std::size_t shared = border->sender.graph().subgraph().border[1].size();
  kernels.push_back({"pack_shared", 0, DenseBytes(shared, sizeof(Levels::Value)),
                     [inputs, border] {
                       border->sender.Start();
                       border->sender.steps().Publish(Form::kBitmap);
                     },
                     [border, plan] { border->sender.steps().PackShared(border->outbox, plan); }});
}

void AddPreparation(const SharedInputs& inputs, int threads, std::vector<Kernel>& kernels) {
  const EdgeList& list = inputs->list;
  const std::size_t edges = list.sources.size();
  const auto copy = std::make_shared<EdgeList>();
  BuildOptions options;
  options.symmetrise = options.remove_loops = options.merge_parallel = true;
  options.threads = threads;
  kernels.push_back({"build_csr", edges, 0, [inputs, copy] { *copy = Copy(inputs->list); },
                     [copy, options] { BuildAdjacency(std::move(*copy), options); }});

  const auto& weights = std::get<Array<std::int32_t>>(list.weights);
  for (std::size_t e = 0; e < edges; ++e) {
    fmt::format_to(std::back_inserter(inputs->text), "{} {} {}\n", list.sources[e], list.targets[e], weights[e]);
  }
  std::FILE* const file = std::fopen(inputs->scratch.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(inputs->text.data(), 1, inputs->text.size(), file) == inputs->text.size();
  if (file == nullptr || std::fclose(file) != 0 || !written) Throw<InputError>("{}: cannot be written", inputs->scratch);
  kernels.push_back({"parse_text", 0, inputs->text.size(), [] {},
                     [inputs, threads] {
                       Input input(inputs->scratch);
                       io::ParseChunks(input, io::WeightText::kInteger, threads,
                                       [](io::LineCursor& cursor, io::EdgeSink& sink) {
                                         while (cursor.NextLine<'#'>()) {
                                           const auto source = static_cast<VertexId>(cursor.Unsigned("source id"));
                                           const auto target = static_cast<VertexId>(cursor.Unsigned("target id"));
                                           sink.AddWeighted(source, target, cursor);
                                           cursor.FinishLine();
                                         }
                                       });
                     }});

  const auto named = std::make_shared<std::vector<io::WideEdges>>();
  kernels.push_back(
      {"compact_ids", edges, 0,
       [inputs, named] {
         const EdgeList& from = inputs->list;
         io::WideEdges wide{Array<std::uint64_t>(from.sources.size()), Array<std::uint64_t>(from.sources.size()), {}};
         for (std::size_t e = 0; e < from.sources.size(); ++e) {  // names far apart
           wide.sources[e] = std::uint64_t{from.sources[e]} * 1000003;
           wide.targets[e] = std::uint64_t{from.targets[e]} * 1000003;
         }
         named->clear();
         named->push_back(std::move(wide));
       },
       [named, threads] { io::CompactIds("names", std::move(*named), threads); }});
}

/// Which path a buffer takes, as engines ask for each pair and round: among those of eight GPUs on NVSwitches.
void AddChoice(std::vector<Kernel>& kernels) {
  constexpr std::size_t kDevices = 8;
  constexpr std::uint32_t kChoices = 20000;
  std::vector<TopologyDevice> devices(kDevices);
  for (std::size_t d = 0; d < kDevices; ++d) {
    devices[d].label = fmt::format("cuda:{}", d);
    devices[d].kind = DeviceKind::kCuda;
    devices[d].memory = std::uint64_t{80} << 30;
    devices[d].processors = 132;
    devices[d].host = {5, 16, false, PcieBandwidth(5, 16)};
  }
  Topology topology("NVSwitches", std::move(devices));
  for (std::size_t a = 0; a < kDevices; ++a) {
    for (std::size_t b = 0; b < kDevices; ++b) {
      if (a != b) topology.link(a, b) = {LinkType::kNvlink, 18, 4, true, true, true, 18 * NvlinkBandwidth(4)};
    }
  }
  const auto model = std::make_shared<const CostModel>(CostModel::Nominal(topology));
  kernels.push_back(
      {"choose_paths", kChoices, 0, [] {},
       [model] {
         std::size_t chosen = 0;
         for (std::uint32_t i = 0; i < kChoices; ++i) {
           chosen +=
               model->Best(i % 7, 7, {Encoding::kSparse, std::size_t{i % 2000} * 977, 100}, {i % 7 + 1, i % 8 + 1}).path;
         }
         volatile std::size_t result = chosen;
         static_cast<void>(result);
       }});
}

}  // namespace

std::vector<Kernel> MakeKernels(int scale, int threads, const std::string& scratch) {
  const auto inputs = std::make_shared<Inputs>(scale, scratch);
  std::vector<Kernel> kernels;
  AddRounds(inputs, threads, kernels);
  AddDirected(inputs->list, threads, kernels);
  AddOperatorPrograms({inputs, &inputs->graph}, threads, kernels);
  AddBorders(inputs, threads, kernels);
  AddPreparation(inputs, threads, kernels);
  AddChoice(kernels);
  return kernels;
}

}  // namespace chatty::bench
