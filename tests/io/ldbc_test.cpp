#include "chatty/io/ldbc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::Copy;
using test::ErrorOf;
using test::Gzip;
using test::Zstd;

/// An edge in the ids of its file.
using LdbcArc = std::tuple<std::uint64_t, std::uint64_t, float>;

std::vector<LdbcArc> ArcsById(const Graph& graph) {
  std::vector<LdbcArc> arcs;
  const auto* const integers = std::get_if<Array<std::int32_t>>(&graph.out().weights);
  const auto* const reals = std::get_if<Array<float>>(&graph.out().weights);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      const float weight = integers != nullptr ? static_cast<float>((*integers)[e]) : reals != nullptr ? (*reals)[e] : 0.0f;
      arcs.emplace_back(graph.id(v), graph.id(graph.out().neighbours[e]), weight);
    }
  }
  return arcs;
}

/// A graph named `g`, whose ids leave gaps and of which 7 is isolated.
class LdbcTest : public test::WithFiles {
 protected:
  static constexpr std::string_view kVertices = "2\n7\n9223372036854775806\n40\n";
  static constexpr std::string_view kEdges = "2 40 0.5\n40 9223372036854775806 1\n";

  std::string Graph3(std::string_view properties, std::string_view vertices = kVertices,
                     std::string_view edges = kEdges) const {
    Write("g.v", vertices);
    Write("g.e", edges);
    return Write("g.properties", properties);
  }
  static std::string Properties(std::string_view more = "", std::string_view directed = "true") {
    return fmt::format(
        "# A graph\n\ngraph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.meta.vertices = 4\ngraph.g.meta.edges = "
        "2\n"
        "graph.g.directed = {}\ngraph.g.edge-properties.names = weight\ngraph.g.edge-properties.types = real\n{}",
        directed, more);
  }
  /// What ReadGraph says is wrong, without the folder.
  std::string Fault(const std::string& path) const {
    std::string error = ErrorOf<InputError>([&] { ReadGraph(path); });
    const std::string folder = Path("");
    for (std::size_t at = 0; (at = error.find(folder, at)) != std::string::npos;) error.erase(at, folder.size());
    return error;
  }
};

TEST_F(LdbcTest, IdsHaveGapsAndVerticesNeedNoEdges) {
  ReadReport report;
  const Graph graph = ReadGraph(Graph3(Properties()), {}, &report);
  EXPECT_EQ(report.format, GraphFormat::kLdbc);
  EXPECT_EQ(report.files, (std::vector<std::string>{Path("g.v"), Path("g.e")}));
  EXPECT_EQ(report.bytes, Properties().size() + kVertices.size() + kEdges.size());
  EXPECT_EQ(graph.name(), "g");
  EXPECT_FALSE(graph.symmetric());
  EXPECT_EQ(Copy(graph.ids()), (std::vector<std::uint64_t>{2, 7, 40, 9223372036854775806u}));
  EXPECT_EQ(ArcsById(graph), (std::vector<LdbcArc>{{2, 40, 0.5f}, {40, 9223372036854775806u, 1.0f}}));
  EXPECT_EQ(graph.weight_kind(), WeightKind::kFloat32);

  const Graph both = ReadGraph(Graph3(Properties("", "false")));
  EXPECT_TRUE(both.symmetric());
  EXPECT_EQ(both.edges(), 4u) << "an undirected edge is stored once";
  ReadOptions directed;
  directed.directed = true;
  EXPECT_EQ(ReadGraph(Path("g.properties"), directed).edges(), 2u);
}

TEST_F(LdbcTest, IdsWithoutGapsAreAFirstId) {
  for (const std::uint64_t first : {0, 1, 2}) {
    const Graph graph = ReadGraph(Graph3("graph.g.vertex-file=g.v\ngraph.g.edge-file=g.e\ngraph.g.directed=true\n",
                                         fmt::format("{}\n{}\n{}\n", first + 2, first, first + 1),
                                         fmt::format("{} {}\n", first, first + 2)));
    EXPECT_EQ(graph.ids().empty(), first < 2);
    EXPECT_EQ(graph.id(0), first);
    EXPECT_EQ(ArcsById(graph), (std::vector<LdbcArc>{{first, first + 2, 0}}));
  }
}

TEST_F(LdbcTest, PropertiesAreReadAsJavaHasThem) {
  const std::string text =
      "\t! a comment\r\ngraph.g.vertex-file:g.v\r\n  graph.g.edge-file   g.e\ngraph.g.directed = \\\n    true\n"
      "graph.g.bfs.source-vertex=7\ngraph.g.bfs.source-vertex = 40  \ngraph.g.sssp.source-vertex=2\n"
      "graph.g.pr.damping-factor=0.85\ngraph.g.pr.num-iterations=12\ngraph.g.cdlp.max-iterations=3\n"
      "graph.g.algorithms = bfs, cdlp ,lcc\ngraph.g.edge-properties.names = time, weight\n"
      "graph.g.edge-properties.types = integer, real\ngraph.g.sssp.weight-property = weight\nother.key = anything\n";
  const LdbcProperties ldbc = ReadLdbcProperties(Graph3(text));
  EXPECT_EQ(ldbc.name, "g");
  EXPECT_EQ(ldbc.vertex_path, Path("g.v"));
  EXPECT_EQ(ldbc.edge_path, Path("g.e"));
  EXPECT_TRUE(ldbc.directed);
  EXPECT_FALSE(ldbc.vertices.has_value());
  EXPECT_EQ(ldbc.bfs_source, 40u) << "of several the last";
  EXPECT_EQ(ldbc.sssp_source, 2u);
  EXPECT_EQ(ldbc.pr_damping, 0.85);
  EXPECT_EQ(ldbc.pr_rounds, 12u);
  EXPECT_EQ(ldbc.cdlp_rounds, 3u);
  EXPECT_EQ(ldbc.algorithms, (std::vector<std::string>{"bfs", "cdlp", "lcc"}));
  EXPECT_EQ(ldbc.weight, 1u);
  EXPECT_EQ(ldbc.lines.at("sssp.weight-property"), 15u);

  // A name with dots, blanks and colons in it; files elsewhere.
  Write("x.v", "1\n");
  Write("x.e", "");
  const LdbcProperties odd = ReadLdbcProperties(
      Write("odd.properties", fmt::format("\xef\xbb\xbfgraph.my\\ graph\\:\\ v1.0.vertex-file = {}\ngraph.my\\ graph\\:\\ "
                                          "v1.0.edge-file = {}\ngraph.my\\ graph\\:\\ v1.0.directed = false",
                                          Path("x.v"), Path("x.e"))));
  EXPECT_EQ(odd.name, "my graph: v1.0");
  EXPECT_EQ(odd.vertex_path, Path("x.v"));
}

TEST_F(LdbcTest, TheWeightIsThePropertyThatSsspNamesOrTheFirst) {
  const std::string head =
      "graph.g.vertex-file=g.v\ngraph.g.edge-file=g.e\ngraph.g.directed=true\n"
      "graph.g.edge-properties.names=hops,word,cost\ngraph.g.edge-properties.types=integer,string,real\n";
  const std::string_view edges = "2 40 3 abc 1.5\n40 2 4 x 2.5\n";
  const Graph first = ReadGraph(Graph3(head, kVertices, edges));
  EXPECT_EQ(first.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(ArcsById(first), (std::vector<LdbcArc>{{2, 40, 3}, {40, 2, 4}}));
  const Graph named = ReadGraph(Graph3(head + "graph.g.sssp.weight-property = cost\n", kVertices, edges));
  EXPECT_EQ(named.weight_kind(), WeightKind::kFloat32);
  EXPECT_EQ(ArcsById(named), (std::vector<LdbcArc>{{2, 40, 1.5f}, {40, 2, 2.5f}}));
  EXPECT_NE(Fault(Graph3(head + "graph.g.sssp.weight-property = word\n", kVertices, edges)).find("'string'"),
            std::string::npos);
  EXPECT_EQ(Fault(Graph3(head + "graph.g.sssp.weight-property = time\n", kVertices, edges)),
            "g.properties:6: graph.g.sssp.weight-property is 'time', which is not one of the edges' properties");
  EXPECT_EQ(Fault(Graph3(head, kVertices, "2 40 3\n")), "g.e:1: the line ends where the property 'word' belongs");
}

TEST_F(LdbcTest, FilesMayBePackedEachInItsWay) {
  const std::vector<LdbcArc> arcs = ArcsById(ReadGraph(Graph3(Properties())));
  std::filesystem::remove(Path("g.v"));
  std::filesystem::remove(Path("g.e"));
  EXPECT_EQ(
      Fault(Path("g.properties")),
      "g.properties:3: graph.g.vertex-file is 'g.v', but there is no file g.v, nor one with .zst or .gz; put it there");
  Write("g.v.zst", Zstd(kVertices));
  Write("g.e.gz", Gzip(kEdges));
  EXPECT_EQ(ArcsById(ReadGraph(Path("g.properties"))), arcs);
  Write("packed", Gzip(Properties()));
  EXPECT_EQ(ArcsById(ReadGraph(Path("packed"))), arcs) << "whatever it is called";
}

TEST_F(LdbcTest, WhatIsWrongIsToldWithFileAndLine) {
  const auto fault = [&](std::string_view properties, std::string_view vertices = kVertices,
                         std::string_view edges = kEdges) { return Fault(Graph3(properties, vertices, edges)); };
  const std::string good = Properties();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(fault(with("vertices = 4", "vertices = 5")),
            "g.properties:5: graph.g.meta.vertices is 5, but g.v holds 4 vertices: it is truncated, or the number is wrong");
  EXPECT_EQ(
      fault(with("edges = 2", "edges = 1")),
      "g.properties:6: graph.g.meta.edges is 1, but g.e holds 2 edges: it is of another graph, or the number is wrong");
  EXPECT_NE(
      fault(with("vertices = 4", "vertices = 1000000000000")).find("g.properties:5: graph.g.meta.vertices is 1000000000000"),
      std::string::npos);
  EXPECT_NE(fault(with("edges = 2", "edges = 1000000000000")).find("cannot hold so many"), std::string::npos);
  EXPECT_NE(fault(with("vertices = 4", "vertices = -4")).find("g.properties:5: graph.g.meta.vertices is '-4'"),
            std::string::npos);
  EXPECT_NE(fault(with("vertices = 4", "vertices = 99999999999999999999")).find("g.properties:5:"), std::string::npos);
  EXPECT_EQ(fault(with("= true", "= yes")), "g.properties:7: graph.g.directed is 'yes': true or false belongs here");
  EXPECT_EQ(fault(with("graph.g.directed = true\n", "")), "g.properties: does not say graph.g.directed; add the line");
  EXPECT_EQ(fault(with("graph.g.edge-file = g.e\n", "")), "g.properties: does not say graph.g.edge-file; add the line");
  EXPECT_NE(fault(with("types = real", "types = real, integer")).find("1 names and 2 types"), std::string::npos);
  EXPECT_NE(fault(good + "graph.h.vertex-file = h.v\n").find("several graphs"), std::string::npos);
  EXPECT_NE(fault(good + "graph.g.pr.damping-factor = nan\n").find("g.properties:10: graph.g.pr.damping-factor is 'nan'"),
            std::string::npos);
  EXPECT_NE(fault(good + "graph.g.x = \\").find("truncated"), std::string::npos);
  EXPECT_NE(fault("graph.g.edge-file = g.e\n").find("does not say graph.NAME.vertex-file"), std::string::npos);

  EXPECT_EQ(fault(good, "2\n7\n2\n40\n"), "g.v:3: vertex 2 is listed already");
  EXPECT_EQ(fault(good, "2\n-7\n9\n40\n"), "g.v:2: vertex id '-7' is negative");
  EXPECT_EQ(fault(good, "2\n7\n9 x\n40\n"), "g.v:3: 'x' follows where the line should end");
  EXPECT_EQ(fault(good, "2\n7\n40\n18446744073709551616\n"), "g.v:4: vertex id '18446744073709551616' is beyond 64 bits");
  EXPECT_EQ(fault(good, kVertices, "2 40 1\n40 8 1\n"),
            "g.e:2: the edge's target id 8 is not a vertex of the graph: g.v does not list it");
  EXPECT_EQ(fault(good, kVertices, "2 40 1\n40 2\n"), "g.e:2: the line ends where a weight belongs");
  EXPECT_NE(fault(good, kVertices, "2 40 1\n40 2 nan\n").find("g.e:2: weight 'nan' is not finite"), std::string::npos);
  EXPECT_EQ(fault(good, kVertices, "2 40 1\n40 two 1\n"), "g.e:2: 'two' is not a target id: expected a whole number");
  EXPECT_EQ(fault("graph.g.vertex-file=g.v\ngraph.g.edge-file=g.e\ngraph.g.directed=true\n", kVertices, "2 40 1\n"),
            "g.e:1: '1' follows the two ids, but g.properties names no property of edges (graph.g.edge-properties.names)");
}

TEST_F(LdbcTest, ATruncatedFileIsAnErrorAtEveryByte) {
  // Cut within a number, the count is the same and the number another: no reader can know. Cut anywhere else, it shows.
  const std::string good = Properties();
  for (std::size_t kept = 0; kept + 2 < kVertices.size(); ++kept) {
    const std::string error = Fault(Graph3(good, kVertices.substr(0, kept)));
    EXPECT_TRUE(error.starts_with("g.")) << kept << error;
  }
  for (std::size_t kept = 0; kept + 2 < kEdges.size(); ++kept) {
    const std::string error = Fault(Graph3(good, kVertices, kEdges.substr(0, kept)));
    EXPECT_TRUE(error.starts_with("g.")) << kept << error;
  }
  Graph3(good);
  std::filesystem::remove(Path("g.v"));
  for (const std::string& packed : {Gzip(kVertices), Zstd(kVertices)}) {
    for (std::size_t kept = 1; kept < packed.size(); ++kept) {
      Write("g.v.zst", packed.substr(0, kept));
      EXPECT_FALSE(Fault(Path("g.properties")).empty()) << kept;
    }
  }
  const std::string needed = good.substr(0, good.find("types") - 1);
  for (std::size_t kept = 1; kept + 1 < needed.size(); ++kept) {
    const std::string path = Write("cut.properties", good.substr(0, kept));
    ReadOptions named;
    named.format = "ldbc";
    EXPECT_THROW(ReadGraph(path, named), InputError) << kept;
  }
}

TEST_F(LdbcTest, NothingElseIsTakenForProperties) {
  for (const std::string_view text :
       {"# graph.g.vertex-file = g.v\n1 2\n", "1 2\ngraph.g.vertex-file\n", "%graph.\n0 1\n"}) {
    const auto peek = PeekGraph(Write("other", text));
    ASSERT_TRUE(peek.has_value());
    EXPECT_EQ(peek->format, GraphFormat::kEdgeList) << text;
  }
  const std::string endless = Write("endless.properties", "graph.g.x = 1\n" + std::string(3 << 19, '#') + "\n");
  EXPECT_NE(Fault(endless).find("longer than"), std::string::npos);
  std::string many = "graph.g.x = 1\n";
  while (many.size() < std::size_t{3} << 19) many += "# and on it goes, line after line, without an end in sight\n";
  EXPECT_NE(Fault(Write("endless.properties", Gzip(many))).find("longer than 1 MiB"), std::string::npos);
}

TEST_F(LdbcTest, PeekingTellsTheCounts) {
  const auto peek = PeekGraph(Graph3(Properties("", "false")));
  ASSERT_TRUE(peek.has_value());
  EXPECT_EQ(peek->vertices, 4u);
  EXPECT_EQ(peek->stored, 2u);
  EXPECT_EQ(peek->edges_most, 4u);
  EXPECT_TRUE(peek->symmetric);
  EXPECT_EQ(peek->weights, WeightKind::kFloat32);
  EXPECT_EQ(peek->from, "line 6 of " + Path("g.properties"));
  std::string lie = Properties();
  lie.replace(lie.find("= 4"), 3, "= 4000000000000");
  EXPECT_THROW(PeekGraph(Graph3(lie)), InputError);
}

TEST_F(LdbcTest, WithoutCountsPeekingTellsBounds) {
  const std::string properties = "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.directed = false\n";
  const std::string path = Graph3(properties, "1\n2\n3\n", "1 2\n2 3\n");
  const auto check = [&] {
    const GraphPeek peek = PeekGraph(path).value();
    const Graph graph = ReadGraph(path);
    EXPECT_FALSE(peek.vertices.has_value()) << "nothing says so";
    EXPECT_EQ(peek.edges_least, 0u);
    EXPECT_GE(peek.edges_most, graph.edges());
    EXPECT_FALSE(peek.exact());
    EXPECT_TRUE(peek.symmetric);
  };
  check();
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "1 2\n1 3\n";
  std::filesystem::remove(Path("g.e"));
  Write("g.e.zst", Zstd(many));  // holds more edges than it has bytes
  check();
  const std::string some = Graph3(properties + "graph.g.meta.vertices = 3\n", "1\n2\n3\n", "1 2\n2 3\n");
  EXPECT_EQ(PeekGraph(some).value().vertices, 3u);
  EXPECT_EQ(PeekGraph(some).value().edges_least, 0u);
}

TEST_F(LdbcTest, APropertyThatDoesNotPrintIsRefused) {
  EXPECT_EQ(Fault(Graph3("graph.g.vertex-file = g\x1b.v\n")),
            "g.properties:1: 'g\\x1b.v' holds a character that does not print: it is not a property");
  EXPECT_EQ(Fault(Graph3("# c\ngraph.g\x01.edge-file = g.e\n")).substr(0, 16), "g.properties:2: ");
  EXPECT_EQ(Fault(Graph3("graph.g.vertex-file = g\\n.v\n")).substr(0, 16), "g.properties:1: ");
}

TEST_F(LdbcTest, WhatIsWrittenIsReadAgain) {
  for (const std::string_view directed : {"true", "false"}) {
    for (const bool weighted : {true, false}) {
      for (const std::string suffix : {"", ".gz", ".zst"}) {
        Graph graph = ReadGraph(Graph3(Properties("", directed)));
        if (!weighted) graph = graph.WithWeights(WeightKind::kNone);
        const std::string path = Path("out put.properties" + suffix);
        WriteGraph(graph, path);
        EXPECT_EQ(LdbcFilesBeside(path), (std::pair{Path("out put.v" + suffix), Path("out put.e" + suffix)}));
        const Graph read = ReadGraph(path);
        EXPECT_EQ(Copy(read.ids()), Copy(graph.ids()));
        EXPECT_EQ(ArcsById(read), ArcsById(graph));
        EXPECT_EQ(read.symmetric(), graph.symmetric());
        EXPECT_EQ(read.weight_kind(), graph.weight_kind());
        const LdbcProperties ldbc = ReadLdbcProperties(path);
        EXPECT_EQ(ldbc.name, "out put");
        EXPECT_EQ(ldbc.vertices, 4u);
        EXPECT_EQ(ldbc.edges, 2u) << "an undirected edge counts once";
        EXPECT_EQ(ldbc.algorithms.size(), weighted ? 6u : 5u);
        EXPECT_TRUE(graph.find(*ldbc.bfs_source).has_value());
      }
    }
  }
  EXPECT_THROW(WriteGraph(ReadGraph(Path("g.properties")), "-", "ldbc"), UsageError);
  EXPECT_THROW(WriteGraph(ReadGraph(Path("g.properties")), Path("no/g.properties")), InputError);
}

TEST_F(LdbcTest, ManyVerticesAndEdgesAreTheSameOnAnyNumberOfThreads) {
  std::string vertices, edges;
  constexpr std::uint64_t kCount = 700'000;  // vertices in two chunks, edges in three
  for (std::uint64_t i = 0; i < kCount; ++i) vertices += fmt::format("{}\n", 3 * (kCount - i));
  for (std::uint64_t i = 0; i < kCount; ++i) edges += fmt::format("{} {}\n", 3 * (i + 1), 3 * ((i * 7919) % kCount + 1));
  const std::string path =
      Graph3("graph.g.vertex-file=g.v\ngraph.g.edge-file=g.e\ngraph.g.directed=true\n", vertices, edges);
  ReadOptions options;
  options.keep_loops = options.keep_parallel = true;
  options.threads = 1;
  const Graph one = ReadGraph(path, options);
  EXPECT_EQ(one.vertices(), kCount);
  EXPECT_EQ(one.id(1), 6u);
  EXPECT_EQ(one.edges(), kCount);
  options.threads = 4;
  EXPECT_EQ(ArcsById(ReadGraph(path, options)), ArcsById(one));
}

}  // namespace
}  // namespace chatty
