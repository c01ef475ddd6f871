// Files that nearly look like a format, or are called like one: they are read as it, or refused with the line and what to
// do.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/core/abbreviated.h"
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

/// An edge by the file's ids, with its weight; 0 where there is none.
using NamedEdge = std::tuple<std::uint64_t, std::uint64_t, double>;

std::vector<NamedEdge> NamedEdges(const Graph& graph) {
  std::vector<NamedEdge> edges;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      double weight = 0;
      if (const auto* integers = std::get_if<Array<std::int32_t>>(&graph.out().weights)) weight = (*integers)[e];
      if (const auto* reals = std::get_if<Array<float>>(&graph.out().weights)) weight = (*reals)[e];
      edges.emplace_back(graph.id(v), graph.id(graph.out().neighbours[e]), weight);
    }
  }
  return edges;
}

class Recognition : public test::WithFiles {
 protected:
  struct Read {
    Graph graph;
    ReadReport report;
    std::string said;  ///< the warnings
  };
  Read Of(const std::string& name, std::string_view text, const ReadOptions& options = {}) {
    Read read;
    ::testing::internal::CaptureStderr();
    try {
      read.graph = ReadGraph(Write(name, text), options, &read.report);
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what() << '\n' << text;
    }
    read.said = ::testing::internal::GetCapturedStderr();
    return read;
  }
  /// Reading and peeking both refuse the file, with an error that contains all of `expected`.
  void Refused(const std::string& name, std::string_view text, const std::vector<std::string>& expected,
               bool peeked = true) {
    const std::string path = Write(name, text);
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path); });
    SCOPED_TRACE(name + ": " + error);
    EXPECT_TRUE(error.starts_with(path));
    for (const std::string& words : expected) EXPECT_NE(error.find(words), std::string::npos) << "should say: " << words;
    if (peeked) {
      EXPECT_EQ(ErrorOf<InputError>([&] { PeekGraph(path); }), error);
    }
  }
};

// ---- Matrix Market ----

constexpr std::string_view kRing = "5 5 5\n2 1 7\n3 2 7\n4 3 7\n5 4 7\n5 1 50\n";

TEST_F(Recognition, AnInexactBannerIsTakenForOneAndWarnedOf) {
  const std::string words = "matrix coordinate integer symmetric\n", rows(kRing);
  const std::vector<NamedEdge> expected = NamedEdges(Of("exact.mtx", "%%MatrixMarket " + words + rows).graph);
  ASSERT_EQ(expected.size(), 10u);
  int line = 0;
  for (const auto& [begin, at] : {std::pair<std::string, int>{"%MatrixMarket ", 1},
                                  {"% %MatrixMarket ", 1},
                                  {" %%MatrixMarket ", 1},
                                  {"%% MatrixMarket ", 1},
                                  {"%%%MatrixMarket ", 1},
                                  {"MatrixMarket ", 1},
                                  {"%%Matrix Market ", 1},
                                  {"%%MatrixMarkt ", 1},
                                  {"#MatrixMarket ", 1},
                                  {"\n%%MatrixMarket ", 2},
                                  {"% a comment\n\n%%MatrixMarket ", 3},
                                  {"# a comment\n%MATRIXMARKET ", 2}}) {
    for (const std::string name : {"x.mtx", "x.txt", "x"}) {
      std::string text = begin + words + rows;
      if (++line % 2 == 0) {
        for (std::size_t end = 0; (end = text.find('\n', end)) != std::string::npos; end += 2) text.insert(end, 1, '\r');
      }
      const Read read = Of(name, text);
      EXPECT_EQ(read.report.format, GraphFormat::kMatrixMarket) << text;
      EXPECT_EQ(NamedEdges(read.graph), expected) << text;
      EXPECT_TRUE(read.graph.symmetric());
      EXPECT_NE(read.said.find(fmt::format("{}:{}: is nearly a banner of Matrix Market", Path(name), at)), std::string::npos)
          << read.said;
    }
  }
  for (const std::string begin : {"%%MatrixMarket ", "%%matrixmarket ", "\xef\xbb\xbf%%MatrixMarket "}) {
    const Read read = Of("x", begin + words + rows);
    EXPECT_EQ(NamedEdges(read.graph), expected) << begin;
    EXPECT_EQ(read.said, "") << begin;
  }
  EXPECT_EQ(NamedEdges(Of("x.mtx.gz", Gzip("%MatrixMarket " + words + rows)).graph), expected);
}

TEST_F(Recognition, ABannerThatSaysTooLittleIsRefusedByItsLine) {
  Refused("x.txt", "%MatrixMarket\n3 3 1\n1 2\n", {":1: ", "%%MatrixMarket matrix coordinate FIELD SYMMETRY"});
  Refused("x.txt", "# x\n% MatrixMarket matrix\n3 3 1\n1 2\n", {":2: ", "%%MatrixMarket matrix coordinate FIELD SYMMETRY"});
  Refused("x.txt", "%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", {":1: 'array' is not supported"});
  Refused("x", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 0 1\n", {":1: 'complex' is not supported"});
  Refused("x", "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 1\n", {":1: 'hermitian' is not supported"});
}

TEST_F(Recognition, SizesWithoutBannerAreNoEdge) {
  const std::vector<std::string> says = {":1: begins with '5 5 5'", "%%MatrixMarket", "--format edge-list"};
  for (const std::string name : {"x.mtx", "x.MTX", "x.mtx.gz", "x.mtx.zst"}) {
    const std::string text(kRing);
    Refused(name, name.ends_with(".gz") ? Gzip(text) : name.ends_with(".zst") ? Zstd(text) : text, says);
  }
  Refused("x.mtx", "% c\n3 3 2\n2 1\n3 1\n", {":2: begins with '3 3 2'"});
  Refused("x.txt", kRing,
          {":1: '5 5 5' looks like the sizes of a Matrix Market file", "5 lines follow", "--format edge-list"},
          /*peeked=*/false);
  Refused("x.txt", "3 3 2\n2 1\n3 1\n", {":2: the line ends where a weight belongs; line 1, '3 3 2', looks like the sizes"},
          /*peeked=*/false);
  ReadOptions list;
  list.format = "edge-list";
  EXPECT_EQ(Of("x.mtx", kRing, list).graph.edges(), 5u) << "--format decides";
  // Edges that are no sizes.
  for (const std::string_view text : {"5 5 4\n2 1 7\n3 2 7\n4 3 7\n5 4 7\n5 1 5\n", "5 5 1\n6 1 7\n",
                                      "5 5 2\n0 1 7\n3 2 7\n", "4 8 3\n8 6 3\n4 5 1\n5 6 1\n6 9 2\n", "1 2 1\n3 4 5\n"}) {
    const Read read = Of("x.wel", text);
    EXPECT_EQ(read.report.format, GraphFormat::kEdgeList) << text;
    EXPECT_EQ(read.said, "") << text;
  }
}

TEST_F(Recognition, CountsOfVerticesAndEdgesAreHintedAt) {
  EXPECT_NE(Of("x.txt", "4 4\n0 1\n1 2\n2 3\n3 0\n").said.find(":1: '4 4' was read as an edge, but looks like counts"),
            std::string::npos);
  for (const std::string_view text : {"4 1\n2 3\n", "0 1\n1 2\n2 3\n3 0\n", "3 3\n1 2\n4 5\n1 5\n"}) {
    EXPECT_EQ(Of("x.txt", text).said, "") << text;
  }
}

// ---- Names of other formats ----

TEST_F(Recognition, NumbersThatAreCalledOtherwiseAreRefused) {
  for (const std::string name :
       {"x.gr", "x.sg", "x.wsg", "x.adj", "x.bin", "x.properties", "x.chatty", "x.v", "x.gr.gz", "X.GR"}) {
    const std::string text = "# c\n0 1\n1 2\n";
    Refused(name, name.ends_with(".gz") ? Gzip(text) : text, {":2: begins with '0 1'", "--format edge-list"});
    ReadOptions list;
    list.format = "edge-list";
    EXPECT_EQ(ReadGraph(Path(name), list).edges(), 2u) << name;
  }
  for (const std::string name :
       {"x.el", "x.wel", "x.txt", "x.tsv", "x.csv", "y.e", "x.edges", "x", "x.out", "out.el", "out.txt", "out.csv"}) {
    EXPECT_EQ(Of(name, "# c\n% d\n0 1\n1 2\n").graph.edges(), 2u) << name;
    EXPECT_EQ(Of(name, "0 1\n").said, "") << name;
  }
}

TEST_F(Recognition, WhatMayBeOneOfKonectsFilesIsReadAndTold) {
  const Read read = Of("out.moreno", "0 1\n1 2\n");
  EXPECT_EQ(read.graph.edges(), 2u);
  EXPECT_NE(read.said.find("not with the header of KONECT"), std::string::npos) << read.said;
}

TEST_F(Recognition, OrdinaryListsAreNotTakenForSomethingElse) {
  for (const std::string_view text : {"% Matrix Market version of foo\n1 2\n2 3\n", "% MatrixMarket origin: foo\n1 2\n2 3\n",
                                      "2 2 1\n1 2 1\n", "10 9 3\n10 9 10\n9 8 9\n8 7 8\n", "0 1 3e+09\n1 2 5\n"}) {
    const Read read = Of("x.txt", std::string(text));
    EXPECT_EQ(read.said, "") << text;
    EXPECT_GE(read.graph.edges(), 1u) << text;
  }
}

TEST_F(Recognition, ANameOfMetisDecidesWhatItsLinesDoNot) {
  std::string ring = "30000 30000\n";  // longer than what is looked at to tell
  for (int v = 1; v <= 30000; ++v) ring += fmt::format("{} {}\n", v == 1 ? 30000 : v - 1, v == 30000 ? 1 : v + 1);
  const Read read = Of("ring.graph", ring);
  EXPECT_EQ(read.report.format, GraphFormat::kMetis);
  EXPECT_EQ(read.graph.vertices(), 30000u);
  EXPECT_EQ(read.graph.edges(), 60000u);
  Refused("ring.txt", ring, {":1: '30000 30000' looks like the sizes of a METIS file", "--format metis"}, /*peeked=*/false);
  Refused("x.graph", "0 1\n1 2\n", {":2: ", "by its name the file was taken for metis", "--format edge-list"},
          /*peeked=*/false);
}

TEST_F(Recognition, TheEdgesOfAGraphOfThreeFilesAreNotReadAlone) {
  Write("gap.v", "4\n5\n9\n");
  Write("gap.e", "4 5\n");
  EXPECT_EQ(ReadGraph(Path("gap.e")).vertices(), 6u) << "without properties beside it is a list";
  Write("gap.properties",
        "graph.gap.vertex-file = gap.v\ngraph.gap.edge-file = gap.e\ngraph.gap.meta.vertices = 3\ngraph.gap.meta.edges = 1\n"
        "graph.gap.directed = true\n");
  EXPECT_EQ(ReadGraph(Path("gap.properties")).vertices(), 3u);
  Refused("gap.e", "4 5\n", {"is the file of edges of " + Abbreviated(Path("gap.properties")), "--format edge-list"});
}

TEST_F(Recognition, LinesOfOtherFormatsAmongEdgesAreCalledWhatTheyAre) {
  Refused("x.txt", "# c\np sp 3 3\na 1 2 3\n", {":2: ", "--format dimacs"}, false);
  Refused("x.txt", "# c\nAdjacencyGraph\n1\n", {":2: ", "GBBS"}, false);
  Refused("x.txt", "0 infinity\n1 3\n", {":1: ", "are results"}, false);
  Refused("x.txt", "0 0\n1 -1\n", {":2: ", "are results"}, false);
  Refused("x.txt", "1 2 5 1082008561\n", {":1: ", "KONECT"}, false);
  Refused("x.txt", "0.0000e+00 1.0e+00\n", {":1: '0.0000e+00' is not a source id", "numpy.savetxt"}, false);
  for (const std::string word : {"AdjacencyHypergraph", "WeightedAdjacencyHypergraph", "adjacencygraph", "EdgeArray"}) {
    Refused("x.adj", word + "\n2\n1\n0\n1\n1\n", {":1: begins with '" + word + "'", "AdjacencyGraph"});
  }
}

TEST_F(Recognition, RowsOfWordsAreToldWhatAnEdgeListIs) {
  const std::string columns =
      " looks like the names of columns; an edge list is lines \"SOURCE TARGET [WEIGHT]\" of numbers "
      "alone: remove the line";
  for (const char* name : {"x.csv", "x.txt", "x.el", "x"}) {
    Refused(name, "source,target\n1,2\n2,3\n", {":1: 'source,target'" + columns}, false);
  }
  Refused("x.tsv", "\nfrom\tto\tweight\r\n1\t2\t3\r\n", {":2: 'from", columns}, false);
  Refused("x.csv", "# made by hand\nid,source,target\n7,1,2\n", {":2: 'id,source,target'" + columns}, false);
  Refused("x.csv", "a,b\n1,2\n", {":1: 'a,b'" + columns}, false);
  const std::string names =
      " has words for ids; an edge list is lines \"SOURCE TARGET [WEIGHT]\" whose ids are whole numbers: "
      "number the vertices and write their numbers instead";
  for (const char* text : {"a b\nb c\n", "alice bob\n", "alice,bob,2.5\nbob,carol,1\n"}) {
    Refused("x.txt", std::string("# names\n") + text, {":2: '", names}, false);
  }
  Refused("x.el", "a b\nb c\n", {":1: 'a b'" + names}, false);
  Refused("x.el", "1 2\nx y\n", {":2: 'x' is not a source id", "the line has words for ids"}, false);
  Refused("x.txt", "This is a text of words.\nAnd more.\n", {"which is not a known graph format"}, false);
  Refused("x.gr", "a 1 2 3\n", {"comes before the line \"p sp"}, false);
}

// ---- Other files ----

TEST_F(Recognition, FilesOfOtherKindsGetASentenceThatHelps) {
  std::string tar(512, '\0');
  std::memcpy(tar.data(), "1 2.txt", 7);
  std::memcpy(tar.data() + 257, "ustar", 5);
  std::string npz = "PK\x03\x04" + std::string(22, '\0') + std::string("\x0b\0\0\0", 4) + "indices.npy";
  std::string zip = "PK\x03\x04" + std::string(22, '\0') + std::string("\x05\0\0\0", 4) + "a.mtx";
  for (const auto& [name, text, words] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"g.tar", tar, "tar xf"},
           {"g.npz", npz, "scipy.io.mmwrite"},
           {"g.zip", zip, "unzip"},
           {"g.npy", "\x93NUMPY\x01", "is a NumPy array"},
           {"g.parquet", "PAR1....", "pandas.read_parquet"},
           {"g.h5", "\x89HDF\r\n\x1a\n", "is an HDF5 file"},
           {"g.mat", "MATLAB 5.0 MAT-file, Platform", "scipy.io.loadmat"},
           {"g.bz2", "BZh91AY", "bzip2"},
           {"g.json", "{\"values\": [1]}", "is JSON"},
           {"g.el", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
           {"g.el", "<!DOCTYPE html><html>", "a page of the web"},
           {"g.el", Gzip(Gzip("0 1\n")).substr(0), "is packed twice"},
           {"g.net", "*Vertices 3\n", "Pajek"}}) {
    Refused(name, text, {words});
    if (!words.starts_with("is packed")) Refused(name + ".gz", Gzip(text), {words});
  }
}

// ---- SNAP ----

TEST_F(Recognition, SnapsCommentsAreHeard) {
  const std::string snap =
      "# Undirected graph: ../com-x.ungraph.txt\n# x\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n";
  const Read read = Of("x.ungraph.txt", snap);
  EXPECT_TRUE(read.graph.symmetric());
  EXPECT_EQ(read.graph.edges(), 4u);
  EXPECT_EQ(read.said, "");
  EXPECT_TRUE(PeekGraph(Path("x.ungraph.txt"))->symmetric);
  EXPECT_GE(PeekGraph(Path("x.ungraph.txt"))->edges_most, 4u);
  ReadOptions directed;
  directed.directed = true;
  EXPECT_FALSE(Of("x.ungraph.txt", snap, directed).graph.symmetric());
  EXPECT_FALSE(Of("y", "# Directed graph (each unordered pair of nodes is saved once): y\n0 1\n1 0\n").graph.symmetric());
  EXPECT_NE(Of("z", "# Nodes: 3 Edges: 9\n0 1\n1 2\n").said.find("says 9 edges, and 2 lines"), std::string::npos);
}

// ---- Weights ----

TEST_F(Recognition, IntegersInFloatingNotationAreIntegers) {
  const std::string head = "%%MatrixMarket matrix coordinate integer general\n3 3 2\n";
  const Read read = Of("x", head + "1 2 1e5\n2 3 5.0\n");
  EXPECT_EQ(read.graph.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(NamedEdges(read.graph), (std::vector<NamedEdge>{{1, 2, 100000}, {2, 3, 5}}));
  const Read large = Of("x", head + "1 2 3e+09\n2 3 -7.0\n");
  EXPECT_EQ(large.graph.weight_kind(), WeightKind::kFloat32);
  EXPECT_NE(large.said.find("integer weights as large as 3000000000"), std::string::npos) << large.said;
  Refused("x", head + "1 2 1.5\n2 3 1\n", {":3: weight '1.5' is not an integer"}, false);
  Refused("x", head + "1 2 1e99\n2 3 1\n", {":3: weight '1e99' is beyond the range"}, false);
  Refused("x", head + "1 2 1e-400\n2 3 1\n", {":3: weight '1e-400' is not an integer"}, false);
  EXPECT_EQ(NamedEdges(Of("x.graph", "2 1 001\n2 5.0\n1 5\n").graph), (std::vector<NamedEdge>{{1, 2, 5}, {2, 1, 5}}));
  EXPECT_EQ(Of("x.el", "0 1 5.0\n").graph.weight_kind(), WeightKind::kFloat32)
      << "where no header says that they are integers";
}

TEST_F(Recognition, WeightsThatBecomeZeroAreTold) {
  for (const std::string weight : {"1e-60", "-1e-46", "1e-400", "0.00000000000000000000000000000000000000000000000001"}) {
    const Read read = Of("x.el", "0 1 1.5\n1 2 " + weight + "\n2 3 " + weight + "\n");
    EXPECT_EQ(std::get<2>(NamedEdges(read.graph)[1]), 0) << weight;
    EXPECT_NE(read.said.find("x.el:2: weight '" + weight.substr(0, 40)), std::string::npos) << read.said;
    EXPECT_NE(read.said.find("becomes 0, as do 1 more"), std::string::npos) << read.said;
  }
  for (const std::string weight : {"1e-45", "0", "-0.0", "1e-38"}) {
    EXPECT_EQ(Of("x.el", "0 1 1.5\n1 2 " + weight + "\n").said, "") << weight;
  }
  EXPECT_NE(Of("x.adj", "WeightedAdjacencyGraph\n2\n1\n0\n1\n1\n1e-60\n").said.find("x.adj:7: weight '1e-60'"),
            std::string::npos);
}

TEST_F(Recognition, FloatsThatAFormatMayHoldAsIntegersAreWarnedOf) {
  const float weights[] = {0.5f, 2.0f};
  std::string gap("\1\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 17);
  const auto append = [&](auto value) { gap.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (int direction = 0; direction < 2; ++direction) {
    for (const std::uint64_t offset : {0, 1, 2}) append(offset);
    for (const std::uint32_t v : {1, 0}) {
      append(v);
      append(weights[direction == 0 ? 1 - v : v]);
    }
  }
  EXPECT_NE(Of("x.wsg", gap).said.find("look like float32, the first as 0.5"), std::string::npos);
}

TEST_F(Recognition, VertexWeightsThatAreLeftOutAreTold) {
  const Read read = Of("x.graph", "2 1 011 2\n7 7 2 5\n7 7 1 5\n");
  EXPECT_EQ(NamedEdges(read.graph), (std::vector<NamedEdge>{{1, 2, 5}, {2, 1, 5}}));
  EXPECT_EQ(read.report.notes, (std::vector<std::string>{"weights and sizes of vertices (2 a row) left out"}));
}

// ---- KONECT ----

TEST_F(Recognition, KonectsHeaderSaysWhatTheColumnsAre) {
  const Read weighted = Of(
      "konect.out", "% asym posweighted\n% 4 4 4\n1 2 5 1082008561\n2 3 2 1082008561\n3 4 1 1082008590\n1 4 9 1082008600\n");
  EXPECT_EQ(weighted.report.format, GraphFormat::kKonect);
  EXPECT_FALSE(weighted.graph.symmetric());
  EXPECT_EQ(weighted.graph.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(NamedEdges(weighted.graph), (std::vector<NamedEdge>{{1, 2, 5}, {1, 4, 9}, {2, 3, 2}, {3, 4, 1}}));
  EXPECT_EQ(weighted.report.notes, (std::vector<std::string>{"times (column 4) left out"}));
  EXPECT_EQ(PeekGraph(Path("konect.out"))->vertices, 4u);

  const Read sym = Of("out.x", "% sym unweighted\n% 3 5 5\n1 2\n2 3\n3 4\n");
  EXPECT_TRUE(sym.graph.symmetric());
  EXPECT_EQ(sym.graph.vertices(), 5u) << "as the header says";
  EXPECT_EQ(NamedEdges(sym.graph),
            (std::vector<NamedEdge>{{1, 2, 0}, {2, 1, 0}, {2, 3, 0}, {3, 2, 0}, {3, 4, 0}, {4, 3, 0}}));
  EXPECT_TRUE(sym.report.notes.empty());

  EXPECT_EQ(NamedEdges(Of("x", "% a word before\n%asym signed\n1\t2\t-1\n2\t1\t0.5\n").graph),
            (std::vector<NamedEdge>{{1, 2, -1}, {2, 1, 0.5}}));
  EXPECT_EQ(Of("x.gz", Gzip("% asym unweighted\n1 2 1 5\n")).graph.weight_kind(), WeightKind::kNone);
}

TEST_F(Recognition, KonectsTwoSidesStayApart) {
  for (const std::string sizes : {"% 4 2 3\n", ""}) {
    const Read read = Of("out.bip", "% bip unweighted\n" + sizes + "1 1\n2 1\n2 3\n1 2\n");
    EXPECT_EQ(read.graph.vertices(), 5u);
    EXPECT_TRUE(read.graph.symmetric());
    EXPECT_EQ(
        NamedEdges(read.graph),
        (std::vector<NamedEdge>{{1, 3, 0}, {1, 4, 0}, {2, 3, 0}, {2, 5, 0}, {3, 1, 0}, {3, 2, 0}, {4, 1, 0}, {5, 2, 0}}));
    EXPECT_EQ(read.report.notes,
              (std::vector<std::string>{"two sides: ids 1 to 2 are the left one's, and id k of the right one is 2 + k"}));
  }
}

TEST_F(Recognition, KonectsParallelEdgesAreOneEdgeALine) {
  const std::string text = "% asym positive\n% 4 3 3\n1 2 3\n2 3 1\n";  // four edges in two lines
  const Read read = Of("out.p", text);
  EXPECT_EQ(read.graph.edges(), 2u);
  EXPECT_EQ(read.report.notes,
            (std::vector<std::string>{"numbers of parallel edges (column 3) left out: each line is one edge"}));
  ReadOptions parallel;
  parallel.keep_parallel = true;
  EXPECT_NE(ErrorOf<InputError>([&] { ReadGraph(Path("out.p"), parallel); }).find(":3: a line for 3 parallel edges"),
            std::string::npos);
}

TEST_F(Recognition, KonectsFaultsAreToldByTheirLine) {
  Refused("x", "% sym\n1 2\n", {":1: '% sym' should be KONECT's header", "posweighted"});
  Refused("x", "% sym heavy\n1 2\n", {":1: '% sym heavy' should be KONECT's header"});
  Refused("x", "% asym dynamic\n1 2 1 5\n", {":1: a dynamic network"});
  Refused("x", "% asym unweighted\n% 2 3 3\n1 2\n", {":2: the header promises 2 edges, but the file holds 1"}, false);
  Refused("x", "% asym unweighted\n% 1 3 3\n1 4\n", {":3: target id 4 exceeds the 3 of the header (line 2)"}, false);
  Refused("x", "% bip unweighted\n% 1 2 3\n3 1\n", {":3: source id 3 exceeds the 2 of the header (line 2)"}, false);
  Refused("x", "% asym unweighted\n0 1\n", {":2: id 0"}, false);
  Refused("x", "% asym unweighted\n1 2 3\n", {":2: 3 parallel edges"}, false);
  Refused("x", "% asym posweighted\n1 2\n", {":2: the line ends where a weight belongs"}, false);
  Refused("x", "% asym posweighted\n1 2 3 soon\n", {":2: 'soon' is not a time"}, false);
  Refused("x", "% asym posweighted\n1 2 3 4 5\n", {":2: '5' follows"}, false);
  // Comments that are none.
  for (const std::string comment : {"% symmetric graph", "# sym", "% asymmetric", "% bipartite unweighted graph of words"}) {
    EXPECT_EQ(Of("x", comment + "\n1 2\n").report.format, GraphFormat::kEdgeList) << comment;
  }
  EXPECT_THROW(WriteGraph(ReadGraph(Path("x")), Path("out"), "konect"), UsageError) << "it is not written";
}

// ---- Long names ----

TEST(AbbreviatedText, LeavesOutTheMiddle) {
  EXPECT_EQ(Abbreviated("short"), "short");
  EXPECT_EQ(Abbreviated(std::string(kMaxRepeated, 'a')), std::string(kMaxRepeated, 'a'));
  const std::string text = Abbreviated("begin" + std::string(100000, 'x') + "end");
  EXPECT_LE(text.size(), kMaxRepeated);
  EXPECT_TRUE(text.starts_with("beginxx"));
  EXPECT_TRUE(text.ends_with("xxend"));
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\xe2\x82\xac";
  for (const std::string lead : {"", "a", "aa"}) {
    const std::string cut = Abbreviated(lead + wide);
    for (std::size_t at = 0; at < cut.size(); ++at) {  // only whole characters
      if (cut[at] == '\xe2') {
        EXPECT_EQ(cut.substr(at, 3), "\xe2\x82\xac");
        at += 2;
      } else {
        EXPECT_TRUE(cut[at] == 'a' || cut[at] == '.') << at;
      }
    }
  }
}

TEST_F(Recognition, ErrorsRepeatALittleOfALongName) {
  const std::string error = ErrorOf<InputError>([&] { ReadGraph(std::string(100000, 'x')); });
  EXPECT_LT(error.size(), 300u);
  const std::string format = ErrorOf<UsageError>([&] { ReadGraph(Path("x"), {.format = std::string(100000, 'y')}); });
  EXPECT_LT(format.size(), 400u);
}

}  // namespace
}  // namespace chatty
