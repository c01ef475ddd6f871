// Galois', GAP's and GBBS' files of rows: against bytes put together here, and through round trips.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binary_formats_fixture.h"
#include "chatty/core/error.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty::test {
namespace {

TEST_F(BinaryFormats, AreKnownByContentAndReadWhateverTheirRowsOrder) {
  for (const Golden& golden : DirectedGoldens()) {
    for (const std::string& bytes : {golden.bytes, Zstd(golden.bytes), Gzip(golden.bytes)}) {
      SCOPED_TRACE(golden.name);
      ReadReport report;
      const Graph graph = ReadGraph(Write("file.txt", bytes), kAllEdges, &report);
      EXPECT_EQ(report.format, golden.format);
      EXPECT_EQ(report.bytes, golden.bytes.size());
      EXPECT_EQ(RowsOf(graph), golden.weighted ? kWeightedRows : kRows);
      EXPECT_EQ(graph.weight_kind(), golden.weighted ? WeightKind::kInt32 : WeightKind::kNone);
      EXPECT_FALSE(graph.symmetric());
      EXPECT_EQ(graph.first_id(), 0);
      // The same where the length is not known beforehand, and nothing of it has been seen.
      ExpectSame(Read(bytes, Named(golden.format)), graph);
    }
  }
}

TEST_F(BinaryFormats, SimplifyByDefault) {
  for (const Golden& golden : DirectedGoldens()) {
    SCOPED_TRACE(golden.name);
    ReadReport report;
    const Graph graph = ReadGraph(Write("file", golden.bytes), {}, &report);
    EXPECT_EQ(graph.edges(), 3u);
    EXPECT_EQ(report.build.loops_removed, 1u);
    EXPECT_EQ(report.build.parallel_merged, 1u);
    if (golden.weighted) {
      EXPECT_EQ(RowsOf(graph)[2], (std::vector<std::pair<VertexId, double>>{{0, 5}})) << "the lightest stays";
    }
    const Graph both = ReadGraph(Path("file"), {.symmetrise = true});
    EXPECT_TRUE(both.symmetric());
    EXPECT_EQ(both.edges(), 4u) << "0 - 1 and 0 - 2";
  }
}

TEST_F(BinaryFormats, AreWrittenByteByByte) {
  const std::string sorted = Packed().U64({1, 0, 4, 5}).U64({2, 2, 5, 5}).U32({1, 2, 0, 0, 2}).U32({0});
  const Graph graph = Read(kGapDirected), weighted = Read(kGapDirectedWeighted);
  WriteGraph(graph, Path("a.gr"), "galois");
  EXPECT_EQ(Slurp(Path("a.gr")), sorted);
  WriteGraph(weighted, Path("a.gr"), "bgr");
  EXPECT_EQ(Slurp(Path("a.gr")),
            std::string(Packed().U64({1, 4, 4, 5}).U64({2, 2, 5, 5}).U32({1, 2, 0, 0, 2, 0}).U32({9, 7, 5, 8, 6})));
  WriteGraph(graph, Path("a.sg"));
  EXPECT_EQ(
      Slurp(Path("a.sg")),
      std::string(
          Packed().U8(1).U64({5, 4}).U64({0, 2, 2, 5, 5}).U32({1, 2, 0, 0, 2}).U64({0, 2, 3, 5, 5}).U32({2, 2, 0, 0, 2})));
  WriteGraph(weighted, Path("a.wsg"));
  EXPECT_EQ(Slurp(Path("a.wsg")), std::string(Packed()
                                                  .U8(1)
                                                  .U64({5, 4})
                                                  .U64({0, 2, 2, 5, 5})
                                                  .U32({1, 9, 2, 7, 0, 5, 0, 8, 2, 6})
                                                  .U64({0, 2, 3, 5, 5})
                                                  .U32({2, 5, 2, 8, 0, 9, 0, 7, 2, 6})));
  const Graph path = Read(kGapUndirected), weighted_path = Read(kGapUndirectedWeighted);
  EXPECT_TRUE(path.symmetric());
  EXPECT_TRUE(weighted_path.symmetric());
  WriteGraph(path, Path("b.sg"));
  EXPECT_EQ(Slurp(Path("b.sg")), kGapUndirected);
  WriteGraph(weighted_path, Path("b.wsg"));
  EXPECT_EQ(Slurp(Path("b.wsg")), kGapUndirectedWeighted);
  WriteGraph(graph, Path("a.bin"));
  EXPECT_EQ(Slurp(Path("a.bin")), std::string(Packed().U64({4, 5, 84}).U64({0, 2, 2, 5, 5}).U32({1, 2, 0, 0, 2})));
  WriteGraph(graph, Path("a.adj"));
  EXPECT_EQ(Slurp(Path("a.adj")), "AdjacencyGraph\n4\n5\n0\n2\n2\n5\n1\n2\n0\n0\n2\n");
  WriteGraph(weighted, Path("a.adj"));
  EXPECT_EQ(Slurp(Path("a.adj")), "WeightedAdjacencyGraph\n4\n5\n0\n2\n2\n5\n1\n2\n0\n0\n2\n9\n7\n5\n8\n6\n");
}

TEST_F(BinaryFormats, NamesAndSuffixes) {
  for (const auto& [name, format] : std::vector<std::pair<std::string, GraphFormat>>{{"galois", GraphFormat::kGalois},
                                                                                     {"bgr", GraphFormat::kGalois},
                                                                                     {"gap", GraphFormat::kGap},
                                                                                     {"sg", GraphFormat::kGap},
                                                                                     {"gbbs", GraphFormat::kGbbs},
                                                                                     {"bin", GraphFormat::kGbbs}}) {
    EXPECT_EQ(ParseFormat(name), format);
  }
  for (const auto& [path, format] : std::vector<std::pair<std::string, GraphFormat>>{{"a/b.sg", GraphFormat::kGap},
                                                                                     {"b.wsg.zst", GraphFormat::kGap},
                                                                                     {"b.bin", GraphFormat::kGbbs},
                                                                                     {"b.adj.gz", GraphFormat::kGbbs},
                                                                                     {"b.gr", GraphFormat::kDimacs}}) {
    EXPECT_EQ(FormatOfSuffix(path), format);
  }
  EXPECT_EQ(ReadGraph(Write("road.wsg", kGapDirectedWeighted)).name(), "road");
}

TEST_F(BinaryFormats, RoundTripsGiveTheIdenticalGraph) {
  // From none to more than what is seen of an input before it is known; a vertex without edges comes last.
  const Shape shapes[] = {{1, 0, true},      {7, 0, true},        {1, 3, true},        {9, 21, false},
                          {9, 20, true},     {40, 64, false},     {300, 20001, false}, {300, 20000, false},
                          {300, 9999, true}, {20000, 501, false}, {20000, 501, true}};
  unsigned seed = 0;
  for (const Shape& shape : shapes) {
    for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32}) {
      const Graph graph = RandomRows(++seed, shape, kind);
      for (const std::string suffix : {".galois", ".sg", ".wsg", ".bin", ".adj"}) {
        if (kind != WeightKind::kNone && (suffix == ".sg" || suffix == ".bin")) continue;
        if (kind == WeightKind::kNone && suffix == ".wsg") continue;
        for (const char* packing : {"", ".zst", ".gz"}) {
          SCOPED_TRACE(fmt::format("seed {} {}{}", seed, suffix, packing));
          const std::string path = Path("file" + suffix + packing);
          WriteGraph(graph, path, suffix == ".galois" ? std::optional<std::string>("galois") : std::nullopt);
          ReadReport report;
          const Graph read = ReadGraph(path, kAllEdges, &report);
          if (kind != WeightKind::kNone && graph.edges() == 0 && suffix == ".wsg") {
            EXPECT_EQ(read.weight_kind(), WeightKind::kNone) << "no edge has any";
            ExpectSame(read, graph.WithWeights(WeightKind::kNone));
          } else {
            ExpectSame(read, graph);
          }
          EXPECT_EQ(report.symmetrised, false);
        }
      }
    }
  }
}

TEST_F(BinaryFormats, AGraphWithoutVerticesIsOne) {
  const Graph none;
  for (const std::string suffix : {".galois", ".sg", ".wsg", ".bin", ".adj"}) {
    SCOPED_TRACE(suffix);
    for (const char* packing : {"", ".zst"}) {
      const std::string path = Path("none" + suffix + packing);
      WriteGraph(none, path, suffix == ".galois" ? std::optional<std::string>("galois") : std::nullopt);
      EXPECT_EQ(ReadGraph(path).vertices(), 0u);
      EXPECT_EQ(ReadGraph(path).edges(), 0u);
    }
  }
  EXPECT_EQ(Slurp(Path("none.galois")).size(), 32u);
  const std::string directed = Packed().U8(1).U64({0, 0, 0, 0});
  ReadReport report;
  EXPECT_EQ(ReadGraph(Write("file", directed), {}, &report).vertices(), 0u);
  EXPECT_EQ(report.format, GraphFormat::kGap) << "33 bytes, of which Galois would have 32";
}

TEST_F(BinaryFormats, SmallGraphsAreNotTakenForAnotherFormat) {
  // Galois' version and size of data look like a GBBS graph of one or two vertices, and its vertices may fit.
  for (std::uint64_t version : {1, 2}) {
    for (const std::uint64_t data : {0, 4, 8}) {
      const std::uint64_t vertices = 24 + (version + 1) * 8 + data * 4;
      Packed packed;
      packed.U64({version, data, vertices, 0});
      for (std::uint64_t v = 0; v < vertices; ++v) packed.U64({0});
      ReadReport report;
      EXPECT_EQ(ReadGraph(Write("file", std::string(packed)), {}, &report).vertices(), vertices);
      EXPECT_EQ(report.format, GraphFormat::kGalois);
    }
  }
  // And the other way round, for every graph of few vertices without edges or with loops.
  for (std::uint64_t vertices = 1; vertices < 4; ++vertices) {
    for (std::uint64_t edges = 0; edges < 10; ++edges) {
      Packed packed;
      packed.U64({vertices, edges, 24 + 8 * (vertices + 1) + 4 * edges, 0});
      for (std::uint64_t v = 0; v < vertices; ++v) packed.U64({edges});
      for (std::uint64_t e = 0; e < edges; ++e) packed.U32({0});
      for (const bool twice : {false, true}) {
        std::string bytes = packed;
        if (twice) bytes += bytes;
        for (const std::string& file : {bytes, Zstd(bytes)}) {
          ReadReport report;
          EXPECT_EQ(ReadGraph(Put(file), kAllEdges, &report).edges(), edges);
          EXPECT_EQ(report.format, GraphFormat::kGbbs);
        }
      }
    }
  }
}

TEST_F(BinaryFormats, ACountMayLookLikeTextOrAnotherFilesMagic) {
  // The first bytes of a .bin are its number of vertices: a blank, a digit, UTF-16's mark, bzip2's magic.
  for (const VertexId vertices : {0x20u, 0x0au, 0x30u, 0x23u, 0x25u, 0x0920u, 0xfeffu, 0xfffeu, 0x685a42u}) {
    EdgeList list;
    list.vertices = vertices;
    list.sources = {0};
    list.targets = {vertices - 1};
    const Graph graph = BuildGraph(std::move(list), {});
    WriteGraph(graph, Path("a.bin"));
    ReadReport report;
    const Graph read = ReadGraph(Path("a.bin"), {}, &report);
    EXPECT_EQ(report.format, GraphFormat::kGbbs) << vertices;
    EXPECT_EQ(read.vertices(), vertices);
    EXPECT_EQ(read.out()[0].front(), vertices - 1);
  }
  EXPECT_NE(Fault("\xff\xfe"
                  "0\0 \0001\0\n")
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(Fault("BZh91AY&SY").find("bzip2"), std::string::npos);
}

TEST_F(BinaryFormats, SymmetryIsSeenWhereItIsNotStated) {
  const Graph path = Read(kGapUndirected), weighted = Read(kGapUndirectedWeighted);
  for (const char* file : {"a.bin", "a.adj"}) {
    WriteGraph(path, Path(file));
    EXPECT_TRUE(ReadGraph(Path(file)).symmetric());
    EXPECT_FALSE(ReadGraph(Path(file), {.directed = true}).symmetric());
  }
  WriteGraph(weighted, Path("a.gr"), "galois");
  EXPECT_TRUE(ReadGraph(Path("a.gr")).symmetric());
  EXPECT_FALSE(ReadGraph(Path("a.gr"), {.directed = true}).symmetric());
  EXPECT_FALSE(Read(kGapUndirected, {.directed = true}).symmetric());
  const std::string lopsided = With(Slurp(Path("a.gr")), Slurp(Path("a.gr")).size() - 4, 81, 4);
  EXPECT_FALSE(Read(lopsided).symmetric()) << "2 -> 1 weighs more than 1 -> 2";
}

TEST_F(BinaryFormats, GaloisPadsOrNot) {
  const Graph plain = Read(kGalois1), weighted = Read(kGalois1Weighted);
  ExpectSame(Read(kGalois1.substr(0, kGalois1.size() - 4)), plain);  // some writers of no data
  // Version 2: eight bytes before the data, by some of Galois' own code.
  const std::size_t data = kGalois2Weighted.size() - 20;
  ExpectSame(Read(kGalois2Weighted.substr(0, data) + std::string(8, 'x') + kGalois2Weighted.substr(data)), weighted);
  const std::string wide = Packed().U64({2, 8, 1, 1}).U64({1}).U64({0});
  EXPECT_EQ(RowsOf(Read(wide + std::string(Packed().U64({77})))), (Rows{{{0, 77}}}));
  EXPECT_EQ(RowsOf(Read(wide + std::string(Packed().U64({1234, 77})))), (Rows{{{0, 77}}}));
  const std::string narrow = Packed().U64({2, 4, 1, 1}).U64({1}).U64({0});
  EXPECT_EQ(RowsOf(Read(narrow + std::string(Packed().U32({1234, 4321, 77})))), (Rows{{{0, 77}}}));
  ExpectFault(narrow + std::string(Packed().U32({1, 2})), "longer than its header says");
  ExpectFault(kGalois2Weighted + std::string(8, 'x') + "y", "longer than its header says");
}

TEST_F(BinaryFormats, GaloisDataAreIntegers) {
  const auto wide = [](std::uint64_t a, std::uint64_t b) {
    return std::string(Packed().U64({1, 8, 2, 2}).U64({2, 2}).U32({0, 1}).U64({a, b}));
  };
  const Graph small = Read(wide(0x7fffffff, ~std::uint64_t{0} - 4));
  EXPECT_EQ(small.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(RowsOf(small)[0], (std::vector<std::pair<VertexId, double>>{{0, 0x7fffffff}, {1, -5}}));
  const Graph large = Read(wide(std::uint64_t{1} << 40, 3));
  EXPECT_EQ(large.weight_kind(), WeightKind::kFloat32);
  EXPECT_NE(Warning(wide(std::uint64_t{1} << 40, 3)).find("as large as 1099511627776"), std::string::npos);
  EXPECT_EQ(Warning(wide(9, 3)), "");
  EXPECT_EQ(RowsOf(large)[0], (std::vector<std::pair<VertexId, double>>{{0, 0x1p40}, {1, 3}}));
  for (const double real : {1.0, 0.5, -1.0, 1e-300, 1e300}) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &real, sizeof bits);
    ExpectFault(wide(bits, 3), "look like floating point");
  }
  const std::string negative = Packed().U64({1, 4, 2, 2}).U64({2, 2}).U32({0, 1}).U32({0x80000000, 5});
  EXPECT_EQ(RowsOf(Read(negative))[0][0].second, -0x1p31);
  EXPECT_NE(Warning(negative).find(Path("file") + ": 1 of its edges have negative weights"), std::string::npos);
  EXPECT_EQ(Warning(kGalois1Weighted), "");
  for (const std::uint64_t bytes : {1, 2, 12, 16, 64}) {
    ExpectFault(With(kGalois1Weighted, 8, bytes), fmt::format("has {} bytes of data an edge", bytes));
  }
}

TEST_F(BinaryFormats, FloatsGoWhereTheyFit) {
  const Graph whole = RandomRows(5, {30, 100, false}, WeightKind::kFloat32);
  for (const std::string path : {"a.wsg", "a.galois"}) {
    WriteGraph(whole, Path(path), path == "a.galois" ? std::optional<std::string>("galois") : std::nullopt);
    ExpectSame(ReadGraph(Path(path), kAllEdges), whole.WithWeights(WeightKind::kInt32));
  }
  for (const float weight : {0.5f, 0x1p31f, -0x1.8p31f, 1e30f}) {
    EdgeList list;
    list.vertices = 3;
    list.sources = {0, 1, 1};
    list.targets = {1, 0, 2};
    list.weights = Array<float>{1, 2, weight};
    const Graph graph = BuildGraph(std::move(list), {});
    for (const char* format : {"gap", "galois"}) {
      const std::string error = ErrorOf<UsageError>([&] { WriteGraph(graph, Path("out"), format); });
      EXPECT_TRUE(error.starts_with(Path("out"))) << error;
      EXPECT_NE(error.find("from vertex 1 to 2 "), std::string::npos) << error;
      EXPECT_NE(error.find("keep reals"), std::string::npos) << error;
    }
    EXPECT_EQ(FileCount(), 2u) << "no file is left";
    WriteGraph(graph, Path("out.adj"));
    ExpectSame(ReadGraph(Path("out.adj")), graph);
    std::filesystem::remove(Path("out.adj"));
  }
}

TEST_F(BinaryFormats, WeightsAreNotLostInSilence) {
  const Graph weighted = Read(kGapUndirectedWeighted), plain = Read(kGapUndirected);
  EXPECT_NE(ErrorOf<UsageError>([&] { WriteGraph(weighted, Path("a.sg")); }).find("name it .wsg"), std::string::npos);
  EXPECT_NE(ErrorOf<UsageError>([&] { WriteGraph(weighted, Path("a.sg.zst")); }).find("name it .wsg"), std::string::npos);
  EXPECT_NE(ErrorOf<UsageError>([&] { WriteGraph(weighted, Path("a.bin")); }).find("name it .adj"), std::string::npos);
  WriteGraph(weighted, Path("a"), "gap");
  EXPECT_EQ(Slurp(Path("a")), kGapUndirectedWeighted) << "a name that says nothing";
  WriteGraph(plain, Path("a.wsg"));
  ExpectSame(ReadGraph(Path("a.wsg")), plain.WithWeights(WeightKind::kInt32));
}

TEST_F(BinaryFormats, AdjacencyTextTakesAnyBlanks) {
  ExpectSame(Read("\n AdjacencyGraph \r\n4\r\n\n5\r\n0 2\t2 5\r\n 2 1\n\n0 2 0"), Read(kAdjacency));
  ExpectSame(Read("\xef\xbb\xbf" + kAdjacency), Read(kAdjacency));
  ReadReport report;
  ReadGraph(Write("file", kAdjacency), kAllEdges, &report);
  EXPECT_EQ(report.lines, 12u);
  const Graph reals = Read("WeightedAdjacencyGraph\n2\n3\n0\n2\n0\n1\n0\n5\n-.25\n1e3\n");
  EXPECT_EQ(reals.weight_kind(), WeightKind::kFloat32);
  EXPECT_EQ(RowsOf(reals), (Rows{{{0, 5}, {1, -.25}}, {{0, 1000}}}));
  const std::string large = "WeightedAdjacencyGraph\n1\n2\n0\n0\n0\n1\n3000000000\n";
  EXPECT_EQ(RowsOf(Read(large)), (Rows{{{0, 1}, {0, 3e9}}}));
  EXPECT_NE(Warning(large).find("as large as 3000000000"), std::string::npos);
}

TEST_F(BinaryFormats, AdjacencyTextIsHeldToItsHeaderAndFaultsNameTheirLine) {
  ExpectFault("AdjacencyGraph\n", ":1: the file ends inside its header");
  ExpectFault("AdjacencyGraph\nx\n", ":2: 'x' is not a vertex count");
  ExpectFault("AdjacencyGraph 4\n5\n", ":1: '4' follows");
  ExpectFault("AdjacencyGraph\n4 5\n0\n", ":2: '5' follows");
  ExpectFault("AdjacencyGraph\n4\n-5\n", ":3: edge count '-5' is negative");
  ExpectFault("AdjacencyGraph\n0\n5\n1\n2\n3\n4\n5\n6\n", ":3: 5 edges in a graph without vertices");
  ExpectFault("AdjacencyGraph\n2\n2\n1\n2\n0\n1\n", ":4: the edges of vertex 0 begin at 1");
  ExpectFault("AdjacencyGraph\n3\n3\n0\n2\n1\n0\n1\n2\n", ":6: the edges of vertex 2 begin at 1");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n3\n0\n1\n", ":5: the edges of vertex 1 begin at 3");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n1\n0\n2\n", ":7: vertex 2 in a graph of 2");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n1\n0\nx\n", ":7: 'x' is not a vertex");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n1\n0\n-1\n", ":7: vertex '-1' is negative");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n1\n0\n1\n7\n", ":8: '7' follows what the header promises");
  ExpectFault("AdjacencyGraph\n2\n2\n0\n1\n00000000000\n", ":6: the file ends after 1 of 2 edges");
  ExpectFault("WeightedAdjacencyGraph\n2\n2\n0\n1\n0\n1\n5\nnan\n", ":9: weight 'nan' is not finite");
  ExpectFault("WeightedAdjacencyGraph\n2\n2\n0\n1\n0\n1\n5\n1e99\n", ":9: weight '1e99' is beyond");
  ExpectFault("AdjacencyGraph\n2\n1000000000000\n0\n1\n0\n1\n", ":7: the file ends after 2 of 1000000000000 edges");
  ExpectFault("AdjacencyGraph\n2\n18446744073709551615\n0\n1\n0\n1\n", ":3: 18446744073709551615 edges are more than");
  ExpectFault("AdjacencyGraph\n2\n2\n0,1\n0\n1\n", ":4: ',' is no");
  ExpectFault("AdjacencyGraph\n2\n2\n0\r1\n0\n1\n", ":4: ");
  ExpectFault("WeightedAdjacencyGraph\n2\n2\n0\n1\n0\n1\n5,6\n", ":8: ");
  // Far into the file, where chunks have passed.
  std::string text = "AdjacencyGraph\n3\n700000\n0\n0\n0\n";
  for (int i = 0; i < 700000; ++i) text += i == 650000 ? "3\n" : "2\n";
  ExpectFault(text, ":650007: vertex 3 in a graph of 3");
  text = "AdjacencyGraph\n700000\n1\n";
  for (int i = 0; i < 700000; ++i) text += i > 650000 ? "1\n" : i == 650000 ? "2\n" : "0\n";
  ExpectFault(text + "5\n", ":650004: the edges of vertex 650000 begin at 2");
  text[text.find('2')] = '1';
  ExpectFault(text, ":700003: the file ends after 0 of 1 edges");
}

}  // namespace
}  // namespace chatty::test
