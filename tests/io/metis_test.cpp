// METIS' graph format: by hand, against graphchk where that is installed, and against edge lists that look like it.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;
using test::Zstd;
using MetisArc = std::tuple<std::uint64_t, std::uint64_t, int>;

std::vector<MetisArc> ArcsFromOne(const Graph& graph) {
  std::vector<MetisArc> arcs;
  const auto* const weights = std::get_if<Array<std::int32_t>>(&graph.out().weights);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      arcs.emplace_back(graph.id(v), graph.id(graph.out().neighbours[e]), weights == nullptr ? 1 : (*weights)[e]);
    }
  }
  return arcs;
}

class MetisTest : public test::WithFiles {
 protected:
  Graph Read(std::string_view text, const ReadOptions& options = {}) const {
    return ReadGraph(Write("g.graph", text), options);
  }
  GraphFormat FormatOf(std::string_view text) const { return PeekGraph(Write("g", text))->format; }
  /// What is wrong with it as METIS, without the path.
  std::string Fault(std::string_view text, bool named = true) const {
    const std::string path = Write("g.graph", text);
    ReadOptions options;
    if (named) options.format = "metis";
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path, options); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
  /// A random symmetric graph's rows, with a weight of each edge.
  static std::string RandomText(std::uint64_t n, std::uint64_t m, bool weights, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::set<std::uint64_t>> rows(n + 1);
    std::uint64_t edges = 0;
    while (edges < m) {
      const std::uint64_t u = random() % n + 1, v = random() % n + 1;
      if (u == v || !rows[u].insert(v).second) continue;
      rows[v].insert(u);
      ++edges;
    }
    std::string text = fmt::format("{} {}{}\n", n, m, weights ? " 1" : "");
    for (std::uint64_t v = 1; v <= n; ++v) {
      for (const std::uint64_t u : rows[v])
        text += weights ? fmt::format(" {} {}", u, u * v % 97 + 1) : fmt::format("{} ", u);
      text += '\n';
    }
    return text;
  }
};

// The four examples of the manual's shape: a path 1 - 2 - 3 with 4 alone.
TEST_F(MetisTest, EveryFormatCodeIsRead) {
  const std::vector<MetisArc> plain{{1, 2, 1}, {2, 1, 1}, {2, 3, 1}, {3, 2, 1}};
  const std::vector<MetisArc> weighted{{1, 2, 5}, {2, 1, 5}, {2, 3, 7}, {3, 2, 7}};
  for (const auto& [text, arcs] : std::vector<std::pair<std::string, std::vector<MetisArc>>>{
           {"4 2\n2\n1 3\n2\n\n", plain},
           {"% a comment\n4 2 0\n2\n% another\n1 3\n2\n\n", plain},
           {"4 2 000\n2 \n 1\t3\n2\n\n\n\n", plain},
           {"4 2 1\n2 5\n1 5 3 7\n2 7\n\n", weighted},
           {"4 2 001\n2 5\n3 7 1 5\n2 7\n\n", weighted},
           {"4 2 10\n9 2\n9 1 3\n9 2\n9\n", plain},
           {"4 2 010 2\n9 8 2\n9 8 1 3\n9 8 2\n9 8\n", plain},
           {"4 2 11\n9 2 5\n9 1 5 3 7\n9 2 7\n9\n", weighted},
           {"4 2 011 3\n9 9 9 2 5\n9 9 9 1 5 3 7\n9 9 9 2 7\n9 9 9\n", weighted},
           {"4 2 100\n6 2\n6 1 3\n6 2\n6\n", plain},
           {"4 2 101\n6 2 5\n6 1 5 3 7\n6 2 7\n6\n", weighted},
           {"4 2 110 2\n6 9 9 2\n6 9 9 1 3\n6 9 9 2\n6 9 9\n", plain},
           {"4 2 111\n6 9 2 5\n6 9 1 5 3 7\n6 9 2 7\n6 9\n", weighted}}) {
    SCOPED_TRACE(text);
    ReadOptions named;
    named.format = "metis";
    const Graph graph = Read(text, named);
    EXPECT_EQ(graph.vertices(), 4u);
    EXPECT_TRUE(graph.symmetric());
    EXPECT_EQ(graph.first_id(), 1);
    EXPECT_EQ(ArcsFromOne(graph), arcs);
    EXPECT_EQ(graph.weight_kind(), arcs == plain ? WeightKind::kNone : WeightKind::kInt32);
    EXPECT_EQ(ArcsFromOne(Read(Gzip(text), named)), arcs);
    EXPECT_EQ(ArcsFromOne(Read(Zstd(text), named)), arcs);
    const auto peek = PeekGraph(Path("g.graph"), named);
    EXPECT_EQ(peek->vertices, 4u);
    EXPECT_EQ(peek->stored, 4u);
    EXPECT_TRUE(peek->symmetric);
  }
}

TEST_F(MetisTest, PeekingAllowsForLoopsHoweverTheyAreCounted) {
  for (const std::string_view text :
       {"2 0\n1\n2\n", "2 1\n1\n2\n", "2 2\n1 2\n1 2\n", "2 3\n1 2\n1 2\n", "2 1\n1 2\n1 2\n"}) {
    SCOPED_TRACE(text);
    for (const bool keep : {false, true}) {
      ReadOptions options;
      options.format = "metis";
      options.keep_loops = options.keep_parallel = keep;
      const Graph graph = Read(text, options);
      const auto peek = PeekGraph(Path("g.graph"), options);
      EXPECT_LE(peek->edges_least, graph.edges());
      EXPECT_GE(peek->edges_most, graph.edges());
    }
  }
}

TEST_F(MetisTest, IsRecognisedThoughItLooksLikeAnEdgeList) {
  EXPECT_EQ(FormatOf("4 2\n2\n1 3\n2\n\n"), GraphFormat::kMetis) << "a row with one neighbour";
  EXPECT_EQ(FormatOf("5 4\n2 3 4 5\n1\n1\n1\n1\n"), GraphFormat::kMetis);
  EXPECT_EQ(FormatOf("% by somebody\n5 4\n% rows\n2 3 4 5\r\n1\r\n1\r\n1\r\n1"), GraphFormat::kMetis);
  EXPECT_EQ(FormatOf("3 3\n2 3\n1 3\n1 2\n"), GraphFormat::kMetis) << "a triangle: all of it fits";
  EXPECT_EQ(FormatOf("5 4 1\n2 7 4 7\n1 7\n\n1 7 5 7\n4 7\n"), GraphFormat::kMetis) << "wrong, and the reader says where";
  EXPECT_EQ(FormatOf(RandomText(3000, 20000, false, 1)), GraphFormat::kMetis);
  EXPECT_EQ(FormatOf(RandomText(30000, 15000, false, 2)), GraphFormat::kMetis) << "sparse: rows of nobody, one, two";
  EXPECT_EQ(FormatOf(RandomText(3000, 20000, true, 3)), GraphFormat::kMetis);
  EXPECT_EQ(FormatOf(Gzip(RandomText(3000, 20000, false, 4))), GraphFormat::kMetis);
  EXPECT_EQ(FormatOf("4 0\n\n\n\n\n"), GraphFormat::kMetis) << "nobody has a neighbour";
  EXPECT_EQ(FormatOf("200000 0\n" + std::string(200000, '\n')), GraphFormat::kMetis) << "more rows than are looked at";
  EXPECT_EQ(FormatOf("1 0 000 0\n\n"), GraphFormat::kMetis) << "a first line of four numbers";
  EXPECT_EQ(FormatOf("0 0 000 0\n"), GraphFormat::kMetis);
}

TEST_F(MetisTest, NoEdgeListIsTakenForIt) {
  std::mt19937 random(5);
  const auto list = [&](std::uint64_t n, std::uint64_t m, int columns, std::string_view separator) {
    std::string text;
    for (std::uint64_t e = 0; e < m; ++e) {
      text += fmt::format("{}{}{}", random() % n, separator, random() % n);
      if (columns == 3) text += fmt::format("{}{}", separator, random() % 9 + 1);
      text += '\n';
    }
    return text;
  };
  std::vector<std::string> lists;
  for (const std::string_view head :
       {"", "# comment\n", "% comment\n", "100 1000\n", "50 50\n", "3 3 1\n", "20 19\n\n", "\n\n"}) {
    for (const std::string_view separator : {" ", "\t", ","}) {
      for (const int columns : {2, 3}) {
        for (const std::uint64_t n : {3, 20, 100, 5000}) {
          for (const std::uint64_t m : {1, 3, 20, 50, 1000, 20000}) {
            if (m == 20000 && (n != 5000 || separator == ",")) continue;
            lists.push_back(std::string(head) + list(n, m, columns, separator));
          }
        }
      }
    }
  }
  for (const std::string_view text :
       {"1 0\n\n", "4 0\n", "4 0\n\n", "4 0\n\n\n\n\n\n", "0 0\n", "2 1\n1 2\n", "2 1\n\n\n", "1 1\n1 1\n",
        "3 3\n1 2\n2 3\n3 1\n", "1 2\n3 4\n\n5 6\n", "1 2 0.5\n2 3 0.5\n", "5 5\n1 2\n1 3\n1 4\n1 5\n2 3\n", "0 1\n1 2\n"}) {
    lists.emplace_back(text);
  }
  // Chains and cycles in order, both ways, with and without counts before them.
  for (const std::uint64_t n : {4, 5, 1000, 30000}) {
    for (const bool counts : {false, true}) {
      for (const bool both : {false, true}) {
        for (const std::uint64_t first : {0, 1}) {
          std::string text = counts ? fmt::format("{} {}\n", n, both ? 2 * n : n) : "";
          for (std::uint64_t v = 0; v < n; ++v) {
            text += fmt::format("{} {}\n", v + first, (v + 1) % n + first);
            if (both) text += fmt::format("{} {}\n", (v + 1) % n + first, v + first);
          }
          lists.push_back(text);
        }
      }
    }
  }
  for (const std::string& text : lists) {
    if (text.find_first_of("0123456789") == std::string::npos) continue;
    EXPECT_EQ(FormatOf(text), GraphFormat::kEdgeList) << text.substr(0, 200);
  }
}

TEST_F(MetisTest, WhatIsWrongIsToldWithItsLine) {
  EXPECT_TRUE(Fault("5 3\n2 3\n1\n1 5\n\n% here\n\n").starts_with(":4: vertex 3 lists 5, which does not list it"));
  EXPECT_TRUE(Fault("5 3\n2 3\n1\n% here\n1 5\n\n\n").starts_with(":5: vertex 3 lists 5, which does not list it"));
  EXPECT_TRUE(Fault("5 3\n2 3\n1\n1 5\n\n\n", false).starts_with(":4: vertex 3 lists 5")) << "recognised all the same";
  EXPECT_EQ(Fault("3 2\n2\n1 x\n2\n", false), ":3: 'x' is not a neighbour's id: expected a whole number");
  EXPECT_EQ(Fault("3 2\n2\n1 -3\n2\n", false), ":3: neighbour's id '-3' is negative");
  EXPECT_TRUE(Fault("2 1 1\n2 5\n1 6\n").starts_with(":2: vertex 1 lists 2 with weight 5, which lists it with weight 6"));
  EXPECT_TRUE(Fault("2 1\n2 2\n1\n").starts_with(":2: vertex 1 lists 2 2 times, which lists it 1 times"));
  EXPECT_EQ(
      Fault("2 2\n2\n1\n"),
      ":1: the header promises 2 edges, but the rows list 2 neighbours where they should list twice as many: the file is "
      "truncated, or the header is wrong");
  EXPECT_TRUE(
      Fault("4 1\n2\n1\n").starts_with(":1: the header promises 4 vertices, but the file has 2 rows in its 3 lines"));
  EXPECT_TRUE(Fault("2 1\n2\n1\n1\n").starts_with(":1: the header promises 2 vertices, but the file has 3 rows"));
  EXPECT_EQ(Fault("2 1\n2\n3\n"), ":3: id 3 exceeds the 2 vertices of the header (line 1)");
  EXPECT_EQ(Fault("2 1\n0\n1\n"), ":2: id 0 in a file that numbers from 1");
  EXPECT_EQ(Fault("2 1\n-2\n1\n"), ":2: neighbour's id '-2' is negative");
  EXPECT_EQ(Fault("2 1\nx\n1\n"), ":2: 'x' is not a neighbour's id: expected a whole number");
  EXPECT_EQ(Fault("2 1 1\n2\n1 5\n"), ":2: the line ends where a weight belongs");
  EXPECT_EQ(Fault("2 1 1\n2 0\n1 0\n"), ":2: the edge to 2 has weight 0; METIS' are positive");
  EXPECT_EQ(Fault("2 1 1\n2 2147483648\n1 2147483648\n"), ":2: weight 2147483648 does not fit 32 bits");
  EXPECT_EQ(Fault("2 1 1\n2 1.5\n1 1.5\n"), ":2: '1.5' is not a weight: expected a whole number");
  EXPECT_EQ(Fault("2 1 10 2\n7 7 2\n7\n"), ":3: the line ends where a vertex weight belongs");
  EXPECT_TRUE(Fault("2 1 12\n2\n1\n").starts_with(":1: '12' is not a format of METIS"));
  EXPECT_TRUE(Fault("2 1 0 3\n2\n1\n").starts_with(":1: 3 weights a vertex, but the format states none"));
  EXPECT_TRUE(Fault("2 1 10 18446744073709551615\n2\n1\n").starts_with(":1: 18446744073709551615 weights a vertex"));
  EXPECT_TRUE(Fault("2\n2\n1\n").starts_with(":1: the line ends where a number of edges belongs"));
  EXPECT_TRUE(Fault("1000000000000 5\n2\n1\n").starts_with(":1: the header promises 1000000000000 vertices"));
  EXPECT_TRUE(
      Fault("5 1000000000000\n2\n1\n\n\n\n").starts_with(":1: the header promises 5 vertices and 1000000000000 edges"));
  EXPECT_TRUE(Fault("5 18446744073709551615\n2\n1\n\n\n\n").starts_with(":1: the header promises"));
  EXPECT_TRUE(Fault(Gzip("1000000000000 1\n2\n1\n")).starts_with(":1: the header promises 1000000000000 vertices"));
  EXPECT_TRUE(Fault("% nothing but this\n").starts_with(":1: the file ends before"));
}

TEST_F(MetisTest, ATruncatedFileIsAnErrorAtEveryByte) {
  const std::string text = "6 6 1\n2 11 3 12\n1 11 3 13\n1 12 2 13 4 14\n3 14 5 15\n4 15 6 16\n5 16\n";
  EXPECT_EQ(Read(text).edges(), 12u);
  for (std::size_t kept = 0; kept + 1 < text.size(); ++kept) {  // the last line end may be missing
    if (kept + 2 == text.size()) continue;                      // "5 1": another weight than in row 5
    EXPECT_FALSE(Fault(text.substr(0, kept)).empty()) << kept;
  }
  for (const std::string& packed : {Gzip(text), Zstd(text)}) {
    for (std::size_t kept = 5; kept < packed.size(); ++kept) EXPECT_FALSE(Fault(packed.substr(0, kept)).empty()) << kept;
  }
}

TEST_F(MetisTest, LoopsFollowThePolicy) {
  for (const std::string_view text : {"2 2\n1 2\n1\n", "2 1\n1 2\n1\n", "2 2\n1 1 2\n1\n"}) {
    ReadOptions options;
    options.format = "metis";
    EXPECT_EQ(ArcsFromOne(Read(text, options)), (std::vector<MetisArc>{{1, 2, 1}, {2, 1, 1}})) << text;
    options.keep_loops = true;
    EXPECT_EQ(Read(text, options).edges(), 3u) << text;
  }
}

TEST_F(MetisTest, IsTheSameOnAnyNumberOfThreadsAndChunks) {
  for (const bool weights : {false, true}) {
    const std::string text = RandomText(100'000, 300'000, weights, 7);  // some chunks
    ReadOptions options;
    options.threads = 1;
    const Graph one = Read(text, options);
    EXPECT_EQ(one.vertices(), 100'000u);
    EXPECT_EQ(one.edges(), 600'000u);
    options.threads = 4;
    EXPECT_EQ(ArcsFromOne(Read(text, options)), ArcsFromOne(one));
    EXPECT_EQ(ArcsFromOne(Read(Zstd(text), options)), ArcsFromOne(one));
  }
}

TEST_F(MetisTest, WhatIsWrittenIsReadAgain) {
  for (const bool weights : {false, true}) {
    const Graph graph = Read(RandomText(500, 700, weights, 9));
    for (const std::string name : {"out.graph", "out.graph.gz", "out.graph.zst"}) {
      WriteGraph(graph, Path(name));
      const Graph read = ReadGraph(Path(name));
      EXPECT_EQ(read.vertices(), 500u);
      EXPECT_EQ(ArcsFromOne(read), ArcsFromOne(graph));
    }
  }
}

TEST_F(MetisTest, AGraphWithoutEdgesIsReadAgain) {
  for (const VertexId vertices : {0, 1, 2, 5}) {
    EdgeList list;
    list.vertices = vertices;
    const Graph graph = BuildGraph(std::move(list), {.symmetrise = true});
    for (const WeightKind weights : {WeightKind::kNone, WeightKind::kInt32}) {
      WriteGraph(graph.WithWeights(weights), Path("out.graph"));
      ReadReport report;
      const Graph read = ReadGraph(Path("out.graph"), {}, &report);
      EXPECT_EQ(report.format, GraphFormat::kMetis) << vertices;
      EXPECT_EQ(read.vertices(), vertices);
      EXPECT_EQ(read.edges(), 0u);
      EXPECT_EQ(read.weight_kind(), weights);
    }
  }
}

TEST_F(MetisTest, GraphchkAcceptsWhatIsWritten) {
  if (std::system("command -v graphchk > /dev/null") != 0) GTEST_SKIP() << "graphchk is not there; install METIS' programs";
  const auto accepted = [&] {
    const std::string log = Path("log");
    EXPECT_EQ(std::system(fmt::format("graphchk '{}' > '{}' 2>&1", Path("out.graph"), log).c_str()), 0);
    const std::string said = Slurp(log);
    EXPECT_NE(said.find("The format of the graph is correct"), std::string::npos) << said;
  };
  for (const bool weights : {false, true}) {
    WriteGraph(Read(RandomText(300, 500, weights, 11)), Path("out.graph"));
    accepted();
  }
  WriteGraph(Read("4 2\n2\n1 3\n2\n\n"), Path("out.graph"));
  accepted();
}

TEST_F(MetisTest, WhatItCannotSayIsRefused) {
  const auto refused = [&](std::string_view text, const ReadOptions& options) {
    const Graph graph = ReadGraph(Write("g.mtx", text), options);
    const std::string error = ErrorOf<UsageError>([&] { WriteGraph(graph, Path("out.graph")); });
    EXPECT_FALSE(std::filesystem::exists(Path("out.graph")));
    return error;
  };
  ReadOptions all;
  all.keep_loops = all.keep_parallel = true;
  const std::string head = "%%MatrixMarket matrix coordinate ";
  EXPECT_NE(refused(head + "pattern general\n2 2 1\n1 2\n", {}).find("--symmetrise"), std::string::npos);
  EXPECT_NE(refused(head + "pattern symmetric\n2 2 2\n1 1\n2 1\n", all).find("vertex 1 has one"), std::string::npos);
  EXPECT_NE(refused(head + "pattern symmetric\n2 2 2\n2 1\n2 1\n", all).find("several between 1 and 2"), std::string::npos);
  EXPECT_NE(refused(head + "real symmetric\n2 2 1\n2 1 1.5\n", {}).find("--weights int"), std::string::npos);
  EXPECT_NE(refused(head + "integer symmetric\n2 2 1\n2 1 0\n", {}).find("has weight 0"), std::string::npos);
}

}  // namespace
}  // namespace chatty
