#include "chatty/io/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/output.h"
#include "chatty/io/reader.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;
using test::Zstd;

class WriterTest : public test::WithFiles {};

const ReadOptions kAsItIs{.keep_loops = true, .keep_parallel = true};

void ExpectEqual(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.vertices(), b.vertices());
  EXPECT_EQ(test::Copy(a.out().offsets), test::Copy(b.out().offsets));
  EXPECT_EQ(test::Copy(a.out().neighbours), test::Copy(b.out().neighbours));
  ASSERT_EQ(a.weight_kind(), b.weight_kind());
  if (a.weight_kind() == WeightKind::kInt32) {
    EXPECT_EQ(test::Copy(std::get<Array<std::int32_t>>(a.out().weights)),
              test::Copy(std::get<Array<std::int32_t>>(b.out().weights)));
  }
  if (a.weight_kind() == WeightKind::kFloat32) {
    EXPECT_EQ(test::Copy(std::get<Array<float>>(a.out().weights)), test::Copy(std::get<Array<float>>(b.out().weights)));
  }
}

/// A random graph with loops and parallel edges whose last vertex has an edge.
Graph RandomGraph(unsigned seed, VertexId vertices, std::size_t edges, WeightKind kind, bool symmetric) {
  std::mt19937 random(seed);
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  Array<std::int32_t> integers(kind == WeightKind::kInt32 ? edges : 0);
  Array<float> reals(kind == WeightKind::kFloat32 ? edges : 0);
  for (std::size_t i = 0; i < edges; ++i) {
    list.sources[i] = i == 0 ? vertices - 1 : random() % vertices;
    list.targets[i] = random() % 4 == 0 ? list.sources[i] : random() % vertices;
    if (!integers.empty()) integers[i] = static_cast<std::int32_t>(random());
    if (!reals.empty()) reals[i] = std::ldexp(static_cast<float>(random()) - 2e9f, static_cast<int>(random() % 160) - 110);
  }
  if (kind == WeightKind::kInt32) list.weights = std::move(integers);
  if (kind == WeightKind::kFloat32) list.weights = std::move(reals);
  return BuildGraph(std::move(list), {.symmetrise = symmetric});
}

Graph Triangle() {
  EdgeList list;
  list.vertices = 4;
  list.sources = {0, 1, 2};
  list.targets = {1, 2, 0};
  list.weights = Array<std::int32_t>{5, 6, 7};
  return BuildGraph(std::move(list), {});
}

TEST_F(WriterTest, Texts) {
  const Graph graph = Triangle();
  WriteGraph(graph, Path("g.mtx"));
  EXPECT_EQ(Slurp(Path("g.mtx")), "%%MatrixMarket matrix coordinate integer general\n4 4 3\n1 2 5\n2 3 6\n3 1 7\n");
  WriteGraph(graph, Path("g.el"));
  EXPECT_EQ(Slurp(Path("g.el")), "# vertices: 4\n0 1 5\n1 2 6\n2 0 7\n");
  WriteGraph(graph, Path("g.gr"));
  EXPECT_EQ(Slurp(Path("g.gr")), "p sp 4 3\na 1 2 5\na 2 3 6\na 3 1 7\n");
  WriteGraph(graph, Path("any name"), "dimacs");
  EXPECT_EQ(Slurp(Path("any name")), Slurp(Path("g.gr")));
}

TEST_F(WriterTest, AnEdgeListNamesVerticesAsTheGraphDoes) {
  Graph graph = Triangle();
  graph.set_first_id(1);
  WriteGraph(graph, Path("g.el"));
  EXPECT_EQ(Slurp(Path("g.el")), "# vertices: 4, from 1\n1 2 5\n2 3 6\n3 1 7\n");
  graph.set_ids({5, 6, 9, 12});
  WriteGraph(graph, Path("g.el"));
  EXPECT_EQ(Slurp(Path("g.el")), "# vertices: 4, as named\n# vertex: 12\n5 6 5\n6 9 6\n9 5 7\n");
}

TEST_F(WriterTest, WhoeverEndsTheProcessLeavesNoUnfinishedFile) {
  const auto left = [&] { return FileCount(); };
  Write("old.txt", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile kept(Path("kept.txt"));
    kept.Commit();
    OutputFile first(Path("old.txt")), third(Path("new.txt.gz"));
    { OutputFile second(Path("given up.txt")); }
    const bool begun = left() == 4;
    RemoveUnfinishedOutputs();
    ::_exit(begun && left() == 2 ? 0 : 1);  // as at an interrupt: no destructor runs
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Slurp(Path("old.txt")), "old");
  EXPECT_EQ(left(), 2u);
}

TEST_F(WriterTest, SymmetricMatrixMarketHoldsTheLowerTriangle) {
  EdgeList list;
  list.vertices = 3;
  list.sources = {0, 1, 2};
  list.targets = {1, 2, 2};
  WriteGraph(BuildGraph(std::move(list), {.symmetrise = true}), Path("g.mtx"));
  EXPECT_EQ(Slurp(Path("g.mtx")), "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 3\n");
}

TEST_F(WriterTest, RoundTripsInEveryFormat) {
  unsigned seed = 1;
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const bool symmetric : {false, true}) {
      const Graph graph = RandomGraph(seed++, 300, 2000, kind, symmetric);
      for (const std::string name :
           {"g.mtx", "g.mtx.gz", "g.el", "g.el.zst", "g.gr", "g.chatty", "g.chatty.gz", "g.chatty.zst"}) {
        SCOPED_TRACE(fmt::format("{}, {} weights, symmetric {}", name, WeightName(kind), symmetric));
        WriteGraph(graph, Path(name));
        const Graph read = ReadGraph(Path(name), kAsItIs);
        EXPECT_EQ(read.name(), "g");
        ExpectEqual(read, graph);
        EXPECT_EQ(read.symmetric(), symmetric);
      }
    }
  }
}

/// A graph of the next test: a shape, called and weighted in one of the ways below.
Graph Shape(int shape, VertexId* vertices) {
  EdgeList list;
  switch (shape) {
    case 0:  // nothing at all
      break;
    case 1:  // one vertex
      list.vertices = 1;
      break;
    case 2:  // one vertex with a loop, twice
      list.vertices = 1;
      list.sources = {0, 0};
      list.targets = {0, 0};
      break;
    case 3:  // no edges
      list.vertices = 5;
      break;
    case 4:  // vertices without edges at both ends and between; loops and parallel edges
      list.vertices = 9;
      list.sources = {1, 1, 1, 4, 6, 6, 7};
      list.targets = {4, 4, 1, 6, 6, 6, 1};
      break;
    default:
      list.vertices = 4;
      list.sources = {0, 1, 2, 3};
      list.targets = {1, 2, 3, 0};
  }
  *vertices = list.vertices;
  return BuildGraph(std::move(list), {});
}

constexpr int kShapes = 6;

/// Ids of so many vertices: none, or with gaps.
std::vector<std::vector<std::uint64_t>> WaysToCall(VertexId vertices) {
  std::vector<std::vector<std::uint64_t>> ways(1);
  if (vertices == 0) return ways;
  constexpr std::uint64_t k32 = std::uint64_t{1} << 32, k63 = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> shifted, gaps, large, largest;
  for (VertexId v = 0; v < vertices; ++v) {
    shifted.push_back(7 + v);
    gaps.push_back(v == 0 ? 0 : 3 * v + v % 2);
    large.push_back(v == 0 ? 1 : k32 - 2 + v);
    largest.push_back(v + 1 == vertices ? ~std::uint64_t{0} : k63 - 1 + v);
  }
  ways.insert(ways.end(), {shifted, gaps, large, largest});
  return ways;
}

/// Weights of so many edges.
std::vector<Weights> WaysToWeigh(std::size_t edges) {
  using Real = std::numeric_limits<float>;
  std::vector<Weights> ways;
  ways.emplace_back();
  if (edges == 0) return ways;
  const auto add = [&]<class T>(std::initializer_list<T> values) {
    Array<T> weights(edges);
    for (std::size_t e = 0; e < edges; ++e) weights[e] = values.begin()[e % values.size()];
    ways.emplace_back(std::move(weights));
  };
  add({1});
  add({-3, 0, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 16777217});
  add({1.0f});
  add({16777216.0f, 0.0f, 3.0f});
  add({-0.0f, 1.0f});
  add({Real::denorm_min(), Real::min(), -3e-42f, 0.1f});
  add({Real::max(), Real::lowest(), 1e20f, 4294967296.0f});
  return ways;
}

/// What is written and not told to be lost is read again: vertices, edges, directions, ids, kinds and values of weights.
TEST_F(WriterTest, EveryWriterThroughEveryReaderGivesTheSameGraph) {
  SetLogLevel("error");  // Galois' reader warns of every negative weight
  int same = 0, lossy = 0, refused = 0;
  const auto check = [&](const Graph& graph, const std::string& name, const std::string& format) {
    const std::optional<std::string> chosen = format.empty() ? std::nullopt : std::optional(format);
    const std::vector<std::string> lost = LossesOf(graph, Path(name), chosen);
    try {
      WriteGraph(graph, Path(name), chosen);
    } catch (const UsageError&) {
      ++refused;
      EXPECT_EQ(FileCount(), 0u) << "half a file";
      return;
    }
    const Graph read = ReadGraph(Path(name), kAsItIs);
    std::filesystem::remove_all(Path(""));
    std::filesystem::create_directory(Path(""));
    ASSERT_EQ(read.vertices(), graph.vertices());
    EXPECT_EQ(test::Copy(read.out().neighbours), test::Copy(graph.out().neighbours));
    if (!lost.empty()) {
      ++lossy;
      bool differs = read.weight_kind() != graph.weight_kind();
      for (VertexId v = 0; v < graph.vertices(); ++v) differs |= read.id(v) != graph.id(v);
      EXPECT_TRUE(differs) << "nothing was lost but: " << lost[0];
      return;
    }
    ++same;
    for (VertexId v = 0; v < graph.vertices(); ++v) EXPECT_EQ(read.id(v), graph.id(v));
    EXPECT_TRUE(read.symmetric() == graph.symmetric() || (read.symmetric() && IsSymmetric(graph.out())));
    if (graph.edges() == 0) return;
    ASSERT_EQ(read.weight_kind(), graph.weight_kind());
    ExpectEqual(read, graph);
    if (const auto* reals = std::get_if<Array<float>>(&graph.out().weights)) {
      const auto& again = std::get<Array<float>>(read.out().weights);
      for (std::size_t e = 0; e < reals->size(); ++e) EXPECT_EQ(std::signbit(again[e]), std::signbit((*reals)[e]));
    }
  };
  for (int shape = 0; shape < kShapes; ++shape) {
    VertexId vertices = 0;
    const std::size_t edges = Shape(shape, &vertices).edges();
    for (const Weights& weights : WaysToWeigh(edges)) {
      for (const bool symmetric : {false, true}) {
        const auto make = [&] {
          const Graph bare = Shape(shape, &vertices);
          EdgeList list;
          list.vertices = vertices;
          list.sources = Array<VertexId>(edges);
          list.targets = bare.out().neighbours.Clone();
          for (VertexId v = 0; v < vertices; ++v) {
            std::fill(list.sources.begin() + bare.out().offsets[v], list.sources.begin() + bare.out().offsets[v + 1], v);
          }
          list.weights = Clone(weights);
          return BuildGraph(std::move(list), {.symmetrise = symmetric});
        };
        for (const std::vector<std::uint64_t>& ids : WaysToCall(vertices)) {
          for (const int first_id : {0, 1}) {
            if (!ids.empty() && first_id == 1) continue;
            Graph graph = make();
            graph.set_first_id(first_id);
            graph.set_ids(Array<std::uint64_t>(std::span<const std::uint64_t>(ids)));
            for (const auto& [name, format] : std::vector<std::pair<std::string, std::string>>{
                     {"g.mtx", ""},    {"g.mtx.gz", ""},    {"g.el", ""},         {"g.el.zst", ""},
                     {"g.wel", ""},    {"g.csv", ""},       {"g.gr", ""},         {"g.gr.gz", ""},
                     {"g.graph", ""},  {"g.graph.zst", ""}, {"g.sg", ""},         {"g.wsg", ""},
                     {"g.sg.gz", ""},  {"g.wsg.zst", ""},   {"g.bin", ""},        {"g.bin.gz", ""},
                     {"g.adj", ""},    {"g.adj.zst", ""},   {"g.bgr", "galois"},  {"g.bgr.gz", "galois"},
                     {"g.chatty", ""}, {"g.chatty.gz", ""}, {"g.properties", ""}, {"g.properties.zst", ""}}) {
              SCOPED_TRACE(fmt::format("{}, shape {}, {} weights from {}, {}, ids {}", name, shape,
                                       WeightName(KindOf(weights)), weights.index(), symmetric ? "symmetric" : "directed",
                                       ids.empty() ? fmt::format("from {}", first_id) : fmt::format("{}", ids.back())));
              ASSERT_NO_FATAL_FAILURE(check(graph, name, format));
              if (HasFailure()) return;  // one is enough
            }
          }
        }
      }
    }
  }
  SetLogLevel("info");
  EXPECT_GT(same, 3000);
  EXPECT_GT(lossy, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_F(WriterTest, WhatAFormatLosesIsTold) {
  const auto lost = [&](const Graph& graph, const std::string& name) {
    const std::vector<std::string> all = LossesOf(graph, Path(name));
    return all.empty() ? std::string() : all[0];
  };
  Graph graph = Triangle();
  EXPECT_EQ(lost(graph, "g.mtx"), "ids: its 4 vertices are called 0 to 3, and would be 1 to 4");
  EXPECT_EQ(lost(graph, "g.el"), "");
  EXPECT_EQ(lost(graph, "g.wsg"), "");
  graph.set_first_id(1);
  EXPECT_EQ(lost(graph, "g.mtx"), "");
  EXPECT_EQ(lost(graph, "g.wsg.gz"), "ids: its 4 vertices are called 1 to 4, and would be 0 to 3");
  graph.set_ids({5, 6, 9, 12});
  EXPECT_EQ(lost(graph, "g.gr"), "ids: its 4 vertices are called 5 to 12, and would be 1 to 4");
  EXPECT_EQ(lost(graph, "g.e"), "");
  EXPECT_EQ(lost(graph, "g.properties"), "");
  EXPECT_EQ(lost(Triangle().WithWeights(WeightKind::kNone), "g.wsg"),
            "weights: there are none, and every edge would weigh 1");
  EXPECT_EQ(lost(Triangle().WithWeights(WeightKind::kFloat32), "g.wsg"), "weights: they are float32, and would be int32");
  graph = Triangle();
  graph.set_labels({"a", "b", "c", "d"});
  EXPECT_EQ(lost(graph, "g.el"), "labels: names of vertices would be gone");
  EXPECT_EQ(lost(graph, "g.chatty"), "");
}

TEST_F(WriterTest, WeightsThatNoReaderTakesAreNotWritten) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EdgeList list;
    list.vertices = 2;
    list.sources = {0};
    list.targets = {1};
    list.weights = Array<float>{bad};
    const Graph graph = BuildGraph(std::move(list), {});
    for (const std::string name : {"g.mtx", "g.el", "g.gr", "g.adj", "g.wsg", "g.chatty", "g.properties"}) {
      EXPECT_NE(ErrorOf<InputError>([&] { WriteGraph(graph, Path(name)); }).find("not finite"), std::string::npos) << name;
    }
  }
  EXPECT_EQ(FileCount(), 0u);
}

/// What the comments of edge lists and DIMACS files say is held against the edges.
TEST_F(WriterTest, FirstLinesThatAreNotTrueAreRefused) {
  for (const auto& [content, says] : std::vector<std::pair<std::string, std::string>>{
           {"# vertices: 2, from 1\n1 2\n0 1\n", ":3: id 0 in a file that numbers from 1"},
           {"# vertices: 2, from 1\n1 3\n", ":1: states 2 vertices, but an edge names vertex 3"},
           {"# vertices: 2, as named\n# vertex: 9\n4 8\n", ":1: states 2 vertices, but 3 are named"},
           {"# vertices: 3, symmetric\n0 1\n1 0\n1 2\n", "but some edge has no reverse"},
           {"# vertices: 2, symmetric\n0 1 5\n1 0 6\n", "but some edge has no reverse, or one of another weight"},
           {"c edges: symmetric\np sp 2 1\na 1 2 3\n", "but some edge has no reverse"},
           {"c edges: unweighted\np sp 2 1\na 1 2 3\n", ":1: says \"unweighted\", but some arc has another weight"}}) {
    const std::string error = ErrorOf<InputError>([&, &text = content] { ReadGraph(Write("g", text)); });
    EXPECT_NE(error.find(says), std::string::npos) << error;
  }
  const std::string both = Write("both.el", "# vertices: 3, symmetric\n0 1\n1 0\n");
  EXPECT_TRUE(ReadGraph(both).symmetric());
  EXPECT_FALSE(ReadGraph(both, {.directed = true}).symmetric());
  EXPECT_EQ(ReadGraph(both, {.symmetrise = true, .keep_parallel = true}).edges(), 2u);
  EXPECT_EQ(ReadGraph(Write("n.el", "# vertices: 3, as named\n# vertex: 9\n4 8\n"), {.compact_ids = true}).vertices(), 2u)
      << "asked for are those that edges name";
  EXPECT_EQ(ReadGraph(Write("o.el", "# vertices: 3, or so\n0 1\n")).vertices(), 2u) << "an ordinary comment";
}

TEST_F(WriterTest, EveryFormatKeepsVerticesWithoutEdges) {
  for (const VertexId vertices : {0, 1, 2, 7}) {
    for (const bool edges : {false, true}) {
      EdgeList list;
      list.vertices = vertices;
      if (edges && vertices > 2) {
        list.sources = {1};
        list.targets = {2};
      }
      const Graph graph = BuildGraph(std::move(list), {.symmetrise = true});
      for (const std::string name :
           {"g.mtx", "g.el", "g.el.gz", "g.gr", "g.graph", "g.sg", "g.bin", "g.adj", "g.properties", "g.chatty"}) {
        SCOPED_TRACE(fmt::format("{}, {} vertices", name, vertices));
        WriteGraph(graph, Path(name));
        ExpectEqual(ReadGraph(Path(name)), graph);
      }
      WriteGraph(graph, Path("g.bgr"), "galois");
      ExpectEqual(ReadGraph(Path("g.bgr")), graph);
    }
  }
}

TEST_F(WriterTest, RealWeightsOfAnEdgeListStayRealWhereAllAreWhole) {
  EdgeList list;
  list.vertices = 3;
  list.sources = {0, 0, 1, 2};
  list.targets = {1, 2, 2, 0};
  list.weights = Array<float>{2, -0.0f, 1e20f, -3};
  const Graph graph = BuildGraph(std::move(list), {});
  WriteGraph(graph, Path("g.el"));
  EXPECT_EQ(Slurp(Path("g.el")), "0 1 2.0\n0 2 -0.0\n1 2 1e+20\n2 0 -3.0\n");
  ExpectEqual(ReadGraph(Path("g.el")), graph);
}

TEST_F(WriterTest, BinaryKeepsWhatTextsCannot) {
  Graph graph = Triangle();
  graph.set_first_id(1);
  graph.set_labels({"libc6", "", "a name with blanks", "\xc3\xa4"});
  WriteGraph(graph, Path("g.chatty"));
  const Graph read = ReadGraph(Path("g.chatty"));
  ExpectEqual(read, graph);
  EXPECT_EQ(read.first_id(), 1);
  EXPECT_EQ(read.labels(), graph.labels());
  EXPECT_EQ(read.vertices(), 4u) << "the last vertex has no edges";

  WriteGraph(Graph(), Path("empty.chatty"));
  EXPECT_EQ(ReadGraph(Path("empty.chatty")).vertices(), 0u);
}

TEST_F(WriterTest, ABinaryFileIsReadInPlace) {
  const std::string path = Path("in-place.chatty");
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const bool loops : {false, true}) {  // which the file keeps, and reading drops
      const Adjacency rows = BuildAdjacency({4, {3, 0, 0, 2}, {1, 2, 1, loops ? VertexId{2} : VertexId{3}}, {}}, {});
      const Graph written = Graph({rows.offsets.Clone(), rows.neighbours.Clone(), {}}, false).WithWeights(kind);
      WriteGraph(written, path);
      const Graph copied = ReadGraph(path);
      Graph viewed = ReadGraph(path, {.in_place = true});
      ExpectEqual(viewed, copied);
      EXPECT_EQ(viewed.edges(), loops ? 3u : 4u);
      viewed = ReadGraph(path, {.symmetrise = true, .in_place = true});  // which sorts lists anew
      ExpectEqual(viewed, ReadGraph(path, {.symmetrise = true}));
      viewed = ReadGraph(path, {.in_place = true});
      std::filesystem::remove(path);  // the graph keeps what it views
      ExpectEqual(viewed, copied);
    }
  }
}

TEST_F(WriterTest, OptionsHoldForTheBinaryFormatToo) {
  EdgeList list;
  list.vertices = 3;
  list.sources = {0, 0, 1, 1};
  list.targets = {1, 1, 1, 2};
  list.weights = Array<float>{2, 1, 5, 3};
  Graph graph = BuildGraph(std::move(list), {});
  graph.set_labels({"a", "b", "c"});
  graph.set_first_id(1);
  WriteGraph(graph, Path("g.chatty"));
  ReadReport report;
  const Graph simple = ReadGraph(Path("g.chatty"), {}, &report);
  EXPECT_EQ(simple.edges(), 2u);
  EXPECT_EQ(std::get<Array<float>>(simple.out().weights)[0], 1);
  EXPECT_EQ(report.build.loops_removed, 1u);
  EXPECT_EQ(report.build.parallel_merged, 1u);
  EXPECT_EQ(simple.labels(), graph.labels());
  EXPECT_EQ(simple.first_id(), 1);
  const Graph both_ways = ReadGraph(Path("g.chatty"), {.symmetrise = true});
  EXPECT_TRUE(both_ways.symmetric());
  EXPECT_EQ(both_ways.edges(), 4u);
  WriteGraph(both_ways, Path("s.chatty"));
  EXPECT_TRUE(ReadGraph(Path("s.chatty")).symmetric());
  const Graph directed = ReadGraph(Path("s.chatty"), {.directed = true});
  EXPECT_FALSE(directed.symmetric());
  EXPECT_EQ(directed.edges(), 4u);
}

TEST_F(WriterTest, NoDamagedBinaryIsAccepted) {
  Graph graph = RandomGraph(5, 40, 100, WeightKind::kFloat32, false);
  graph.set_labels(std::vector<std::string>(40, "label"));
  const std::string path = Path("g.chatty");
  WriteGraph(graph, path);
  const std::string good = Slurp(path);
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const std::size_t at = random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    Write("bad", i % 3 == 0 ? Gzip(bad) : bad);
    EXPECT_THROW(ReadGraph(Path("bad"), {.format = "binary", .in_place = i % 2 == 0}), InputError) << "byte " << at;
  }
  for (int i = 0; i < 60; ++i) {
    const std::string cut = good.substr(0, random() % good.size());
    Write("bad", i % 3 == 0 ? Zstd(cut) : cut);
    EXPECT_THROW(ReadGraph(Path("bad"), {.format = "binary"}), InputError) << cut.size() << " bytes";
  }
  EXPECT_THROW(ReadGraph(Write("bad", good + "x")), InputError);
  EXPECT_THROW(ReadGraph(Write("bad", Gzip(good + "x"))), InputError);
}

/// Headers with right checksums and wrong claims, as no accident but an attacker makes them.
TEST_F(WriterTest, BinaryClaimsAreCheckedBeforeMemoryIsTaken) {
  const std::string path = Path("g.chatty");
  WriteGraph(RandomGraph(5, 40, 100, WeightKind::kInt32, false), path);
  const std::string good = Slurp(path);
  const auto forge = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string forged = good;
    std::memcpy(forged.data() + at, &value, bytes);
    const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(forged.data()), 92));
    std::memcpy(forged.data() + 92, &sum, sizeof sum);
    return forged;
  };
  EXPECT_EQ(ReadGraph(Write("same", forge(32, 40, 8)), kAsItIs).edges(), 100u) << "the forger's checksum is right";
  for (const auto& [at, value, bytes] :
       std::vector<std::tuple<std::size_t, std::uint64_t, std::size_t>>{{12, 1, 4},  // version
                                                                        {16, 3, 4},  // width of ids
                                                                        {20, 9, 4},  // kind of weights
                                                                        {24, 8, 4},  // flags
                                                                        {28, 2, 4},  // first id
                                                                        {32, 41, 8},
                                                                        {32, 39, 8},
                                                                        {32, std::uint64_t{1} << 28, 8},  // vertices
                                                                        {40, 101, 8},
                                                                        {40, 1, 8},
                                                                        {40, std::uint64_t{1} << 60, 8},
                                                                        {40, ~std::uint64_t{0}, 8}}) {  // edges
    for (const bool packed : {false, true}) {
      const std::string forged = forge(at, value, bytes);
      EXPECT_THROW(ReadGraph(Write("forged", packed ? Zstd(forged) : forged)), InputError)
          << "offset " << at << " set to " << value;
    }
  }
  EXPECT_THROW(ReadGraph(Write("forged", forge(32, ~std::uint64_t{0}, 8))), InputError);
}

/// A build of one id width reads what a build of the other has written.
TEST_F(WriterTest, BinaryOfTheOtherIdWidthIsConverted) {
  using Other = std::conditional_t<sizeof(VertexId) == 4, std::uint64_t, std::uint32_t>;
  const Graph graph = RandomGraph(8, 50, 200, WeightKind::kInt32, false);
  WriteGraph(graph, Path("g.chatty"));
  const std::string bytes = Slurp(Path("g.chatty"));
  const std::size_t offsets_end = 96 + 8 * (std::size_t{graph.vertices()} + 1);
  const auto with_ids = [&](std::vector<Other> ids) {
    const std::string_view raw(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(Other));
    std::string other =
        bytes.substr(0, offsets_end).append(raw).append(bytes.substr(offsets_end + graph.out().neighbours.bytes()));
    const auto put = [&](std::size_t at, std::uint32_t value) { std::memcpy(other.data() + at, &value, sizeof value); };
    const auto sum = [](std::string_view of) {
      return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(of.data()), of.size()));
    };
    put(16, sizeof(Other));
    put(68, sum(raw));
    put(92, sum(std::string_view(other).substr(0, 92)));
    return Write("other", other);
  };
  std::vector<Other> ids(graph.out().neighbours.begin(), graph.out().neighbours.end());
  ExpectEqual(ReadGraph(with_ids(ids), kAsItIs), graph);
  ids[7] = static_cast<Other>(ids[7] + (std::uint64_t{1} << 32));  // narrowed carelessly it would be a vertex of the graph
  if (sizeof(Other) == 4) ids[7] = 50;
  EXPECT_THROW(ReadGraph(with_ids(ids), kAsItIs), InputError);
}

TEST_F(WriterTest, UnknownNamesAndFormats) {
  EXPECT_THROW(WriteGraph(Triangle(), Path("g")), UsageError);
  EXPECT_THROW(WriteGraph(Triangle(), Path("g.mtx"), "no-such"), UsageError);
  EXPECT_EQ(FileCount(), 0u);
}

}  // namespace
}  // namespace chatty
