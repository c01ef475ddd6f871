#include "chatty/io/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "chatty/core/error.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;
using test::Zstd;

class ReaderTest : public test::WithFiles {
 protected:
  Graph Read(const std::string& text, const ReadOptions& options = {}, ReadReport* report = nullptr) {
    return ReadGraph(Write("file", text), options, report);
  }
  /// The error that reading `text` gives, without the file's name: ":LINE: what".
  std::string Fault(const std::string& text) {
    const std::string path = Write("file", text);
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
};

using Arc = std::tuple<VertexId, VertexId, double>;

std::vector<Arc> Arcs(const Graph& graph) {
  std::vector<Arc> arcs;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      double weight = 0;
      if (const auto* integers = std::get_if<Array<std::int32_t>>(&graph.out().weights)) weight = (*integers)[e];
      if (const auto* reals = std::get_if<Array<float>>(&graph.out().weights)) weight = (*reals)[e];
      arcs.emplace_back(v, graph.out().neighbours[e], weight);
    }
  }
  return arcs;
}

const std::string kGeneral = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string kSymmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n";
const std::string kIntegers = "%%MatrixMarket matrix coordinate integer general\n";
const std::string kReals = "%%MatrixMarket matrix coordinate real general\n";

// ---- Matrix Market ----

TEST_F(ReaderTest, MatrixMarketGeneral) {
  ReadReport report;
  const Graph graph = Read(kGeneral + "% a comment\n\n4 4 3\n1 2\n% another\n 4\t1 \n2 1\n", {}, &report);
  EXPECT_EQ(graph.vertices(), 4u);
  EXPECT_FALSE(graph.symmetric());
  EXPECT_EQ(graph.first_id(), 1);
  EXPECT_EQ(graph.name(), "file");
  EXPECT_EQ(graph.weight_kind(), WeightKind::kNone);
  EXPECT_EQ(Arcs(graph), (std::vector<Arc>{{0, 1, 0}, {1, 0, 0}, {3, 0, 0}}));
  EXPECT_EQ(report.format, GraphFormat::kMatrixMarket);
  EXPECT_EQ(report.lines, 8u);
}

TEST_F(ReaderTest, MatrixMarketSymmetricGoesBothWays) {
  const std::string text = kSymmetric + "3 3 2\n2 1\n3 3\n";
  const Graph graph = Read(text);
  EXPECT_TRUE(graph.symmetric());
  EXPECT_EQ(Arcs(graph), (std::vector<Arc>{{0, 1, 0}, {1, 0, 0}}));
  EXPECT_EQ(Arcs(Read(text, {.keep_loops = true})), (std::vector<Arc>{{0, 1, 0}, {1, 0, 0}, {2, 2, 0}}));
  const Graph directed = Read(text, {.directed = true});
  EXPECT_FALSE(directed.symmetric());
  EXPECT_EQ(Arcs(directed), (std::vector<Arc>{{1, 0, 0}}));
}

TEST_F(ReaderTest, MatrixMarketWeights) {
  const Graph integers = Read(kIntegers + "2 2 2\n1 2 -7\n2 1 +5\n");
  EXPECT_EQ(integers.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(Arcs(integers), (std::vector<Arc>{{0, 1, -7}, {1, 0, 5}}));
  const Graph reals = Read(kReals + "2 2 2\n1 2 3\n2 1 2.5e-1\n");
  EXPECT_EQ(reals.weight_kind(), WeightKind::kFloat32);
  EXPECT_EQ(Arcs(reals), (std::vector<Arc>{{0, 1, 3}, {1, 0, 0.25}}));
  const Graph large = Read(kIntegers + "2 2 2\n1 2 4294967296\n2 1 5\n");
  EXPECT_EQ(large.weight_kind(), WeightKind::kFloat32) << "an integer beyond int32 turns all weights to float";
  EXPECT_EQ(Arcs(large), (std::vector<Arc>{{0, 1, 4294967296.0}, {1, 0, 5}}));
  EXPECT_EQ(Arcs(Read(kReals + "2 2 1\n1 2 1e-45\n"))[0], (Arc{0, 1, 1e-45f})) << "a tiny real is no error";
  EXPECT_EQ(Arcs(Read(kReals + "2 2 1\n1 2 1e-60\n"))[0], (Arc{0, 1, 0})) << "nor is one that rounds to 0";
}

TEST_F(ReaderTest, MatrixMarketBannerInAnyCase) {
  EXPECT_EQ(Read("%%matrixmarket MATRIX Coordinate Pattern GENERAL\r\n2 2 1\r\n1 2\r\n").edges(), 1u);
}

TEST_F(ReaderTest, MatrixMarketFaults) {
  const auto expect = [&](const std::string& text, std::string_view line, std::string_view words) {
    const std::string fault = Fault(text);
    EXPECT_TRUE(fault.starts_with(line)) << fault;
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  };
  expect("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", ":1:", "coordinate");
  expect("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 0 1\n", ":1:", "complex");
  expect("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n", ":1:", "skew-symmetric");
  expect("%%MatrixMarket vector coordinate real general\n2 2 1\n2 1 1\n", ":1:", "vector");
  expect("%%MatrixMarket matrix coordinate\n", ":1:", "first line");
  expect(kGeneral, ":1:", "truncated");
  expect(kGeneral + "% only\n% comments\n", ":3:", "truncated");
  expect(kGeneral + "3 3\n1 2\n", ":2:", "rows columns entries");
  expect(kGeneral + "3 3 1 1\n1 2\n", ":2:", "rows columns entries");
  expect(kGeneral + "3 4 1\n1 2\n", ":2:", "square");
  expect(kGeneral + "3 3 3\n1 2\n2 1\n", ":2:", "truncated");
  expect(kGeneral + "3 3 1\n1 2\n2 1\n", ":2:", "holds 2");
  expect(kGeneral + "3 3 1000000000000\n1 2\n2 1\n", ":2:", "1000000000000");
  expect(kGeneral + "3 3 18446744073709551615\n1 2\n", ":2:", "18446744073709551615");
  expect(kGeneral + "3 3 18446744073709551616\n1 2\n", ":2:", "rows columns entries");
  expect(kGeneral + "3 3 2\n1 2\n0 1\n", ":4:", "id 0");
  expect(kGeneral + "3 3 2\n1 2\n1 4\n", ":4:", "id 4 exceeds");
  expect(kGeneral + "3 3 2\n1 2\n1 -1\n", ":4:", "negative");
  expect(kGeneral + "3 3 2\n1 2\n1 99999999999999999999\n", ":4:", "99999999999999999999");
  expect(kGeneral + "3 3 2\n1 2\n1 two\n", ":4:", "'two'");
  expect(kGeneral + "3 3 2\n1 2\n1 2.5\n", ":4:", "'2.5'");
  expect(kGeneral + "3 3 2\n1 2\n1\n", ":4:", "ends");
  expect(kGeneral + "3 3 2\n1 2\n1 2 3\n", ":4:", "'3'");
  expect(kGeneral + "3 3 1\n1,2\n", ":3:", "','");
  expect(kGeneral + "3 3 1\n1 2" + std::string(1, '\0') + "\n", ":3:", "\\x00");
  expect(kIntegers + "3 3 2\n1 2 3\n1 3\n", ":4:", "weight");
  expect(kIntegers + "3 3 2\n1 2 3\n1 3 1.5\n", ":4:", "integer");
  expect(kIntegers + "3 3 2\n1 2 5000000000\n1 3 1.5\n", ":4:", "integer");
  expect(kReals + "3 3 2\n1 2 3\n1 3 nan\n", ":4:", "finite");
  expect(kReals + "3 3 2\n1 2 3\n1 3 -inf\n", ":4:", "finite");
  expect(kReals + "3 3 2\n1 2 3\n1 3 1e39\n", ":4:", "range");
  expect(kReals + "3 3 2\n1 2 3\n1 3 1e999\n", ":4:", "range");
  expect(kReals + "3 3 2\n1 2 3\n1 3 heavy\n", ":4:", "'heavy'");
  expect(kReals + "3 3 2\n1 2 3\n1 3 --1\n", ":4:", "'--1'");
}

TEST_F(ReaderTest, ClaimsOfVerticesBeyondIdsOrMemoryAreRefusedAtOnce) {
  for (const std::string count : {"1000000000000000", "18446744073709551615"}) {
    const std::string path = Write("file", kGeneral + count + " " + count + " 1\n1 2\n");
    EXPECT_NE(ErrorOf<InputError>([&] { ReadGraph(path); }).find("file:2: the header states " + count), std::string::npos);
  }
}

TEST_F(ReaderTest, ManyVerticesWithHardlyAnEdgeAreAWrongNumber) {
  const auto fault = [&](const std::string& text) {
    const std::string path = Write("file", text);
    return ErrorOf<InputError>([&] { ReadGraph(path); }).substr(path.size());
  };
  const std::string says = "the header states 1500000000 vertices";
  EXPECT_TRUE(fault(kGeneral + "1500000000 1500000000 1\n1 2\n").starts_with(":2: " + says));
  EXPECT_TRUE(fault(kGeneral + "1500000000 1500000000 1500000000\n1 2\n").starts_with(":2: " + says)) << "nor room for them";
  EXPECT_TRUE(fault("c\np sp 1500000000 9\na 1 2 1\n").starts_with(":2: " + says));
  const std::string path = Write("file.gz", test::Gzip("p sp 1500000000 1500000000\na 1 2 1\n"));
  EXPECT_NE(ErrorOf<InputError>([&] { ReadGraph(path); }).find(":1: " + says), std::string::npos);
  const std::string list = fault("0 1\n7 1999999999\n");
  EXPECT_TRUE(list.starts_with(": its largest id, 1999999999, makes for 2000000000 vertices")) << list;
  EXPECT_NE(list.find("--compact-ids"), std::string::npos);
  // Few edges alone are no fault.
  EXPECT_EQ(ReadGraph(Write("file", kGeneral + "100000 100000 1\n1 2\n")).vertices(), 100000u);
  EXPECT_EQ(ReadGraph(Write("file", "0 100000\n")).vertices(), 100001u);
}

// ---- Edge lists ----

TEST_F(ReaderTest, EdgeListSeparatorsCommentsAndLineEnds) {
  const std::vector<Arc> expected = {{0, 3, 0}, {1, 2, 0}};
  for (const std::string text :
       {"1 2\n0 3\n", "1\t2\n0\t3", "1,2\n0, 3\n", "1 , 2\r\n0  3\r\n", "# Nodes: 9 Edges: 9\n% x\n\n 1 2 \n#\n0 3\n",
        "\xef\xbb\xbf"
        "1 2\n0 3\n",
        "\r\n\r\n1 2\r\n\r\n0 3\r"}) {
    const Graph graph = Read(text);
    EXPECT_EQ(Arcs(graph), expected) << text;
    EXPECT_EQ(graph.vertices(), 4u);
    EXPECT_EQ(graph.first_id(), 0);
    EXPECT_FALSE(graph.symmetric());
  }
}

TEST_F(ReaderTest, EdgeListWeights) {
  EXPECT_EQ(Read("0 1 7\n1 0 -2147483648\n").weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(Arcs(Read("0 1 7\n1 0 -2147483648\n")), (std::vector<Arc>{{0, 1, 7}, {1, 0, -2147483648.0}}));
  const Graph mixed = Read("0,1,7\n1,0,0.5\n1,2,8\n");
  EXPECT_EQ(mixed.weight_kind(), WeightKind::kFloat32);
  EXPECT_EQ(Arcs(mixed), (std::vector<Arc>{{0, 1, 7}, {1, 0, 0.5}, {1, 2, 8}}));
  EXPECT_EQ(Read("0 1 2147483648\n").weight_kind(), WeightKind::kFloat32);
}

TEST_F(ReaderTest, LoopsAndParallelEdges) {
  const std::string text = "0 1 5\n0 1 3\n0 1 4\n1 1 9\n2 0 1\n";
  ReadReport report;
  EXPECT_EQ(Arcs(Read(text, {}, &report)), (std::vector<Arc>{{0, 1, 3}, {2, 0, 1}})) << "the lightest stays";
  EXPECT_EQ(report.build.edges_given, 5u);
  EXPECT_EQ(report.build.loops_removed, 1u);
  EXPECT_EQ(report.build.parallel_merged, 2u);
  EXPECT_EQ(report.build.edges_kept, 2u);
  EXPECT_EQ(Read(text, {.keep_loops = true}).edges(), 3u);
  EXPECT_EQ(Read(text, {.keep_parallel = true}).edges(), 4u);
  EXPECT_EQ(Read(text, {.keep_loops = true, .keep_parallel = true}).edges(), 5u);
}

TEST_F(ReaderTest, Symmetrise) {
  const Graph graph = Read("0 1 5\n1 0 3\n2 1 7\n", {.symmetrise = true});
  EXPECT_TRUE(graph.symmetric());
  EXPECT_EQ(Arcs(graph), (std::vector<Arc>{{0, 1, 3}, {1, 0, 3}, {1, 2, 7}, {2, 1, 7}}));
  EXPECT_THROW(Read("0 1\n", {.symmetrise = true, .directed = true}), UsageError);
}

TEST_F(ReaderTest, EdgeListFaults) {
  EXPECT_TRUE(Fault("0 1\n1 2\n1 -2\n").starts_with(":3: target id '-2' is negative"));
  EXPECT_TRUE(Fault("0 1\n1\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\n1 2 3\n").starts_with(":2:")) << "a weight where the first edge has none";
  EXPECT_TRUE(Fault("0 1 2\n1 2\n").starts_with(":2:")) << "no weight where the first edge has one";
  EXPECT_TRUE(Fault("0 1 2 3\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("0 1\n1,,2\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\n1 2,\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\n0x1 2\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\n+1 2\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\n1 2 # no comment here\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("0 1\r1 2\r").starts_with(":1:")) << "carriage returns alone end no line";
  EXPECT_TRUE(Fault("0 1\n1 18446744073709551615\n").starts_with(":2:")) << "the id that stands for no vertex";
  EXPECT_NE(Fault("# only a comment\n").find("no edges"), std::string::npos);
  if constexpr (sizeof(VertexId) == 4) {
    EXPECT_TRUE(Fault("0 1\n1 4294967295\n").starts_with(":2: id 4294967295 does not fit 32-bit"));
    EXPECT_TRUE(Fault("0 4294967295\n").starts_with(":1: id 4294967295 does not fit 32-bit"));
  }
}

TEST_F(ReaderTest, AnEdgeListMaySayHowManyVerticesItHas) {
  EXPECT_EQ(Read("# vertices: 7\n1 2\n0 3\n").vertices(), 7u);
  EXPECT_EQ(Read("\xef\xbb\xbf# vertices: 7\r\n1 2\r\n").vertices(), 7u);
  EXPECT_EQ(Read("# vertices: 3\n1 2\n").vertices(), 3u);
  EXPECT_EQ(Read("# vertices: 5\n").vertices(), 5u);
  EXPECT_EQ(Read("# vertices: 0\n").vertices(), 0u);
  EXPECT_EQ(Read("# vertices: 7\n1 2\n", {.compact_ids = true}).vertices(), 2u);
  for (const std::string text : {"# vertices: seven\n1 2\n", "# vertices: 7 or so\n1 2\n", "# vertices:7\n1 2\n",
                                 "#\n# vertices: 7\n1 2\n", "1 2\n# vertices: 7\n", "# vertices: -7\n1 2\n"}) {
    EXPECT_EQ(Read(text).vertices(), 3u) << text;
  }
  EXPECT_TRUE(Fault("# vertices: 2\n1 2\n").starts_with(":1: states 2 vertices, but an edge names vertex 2"));
  EXPECT_TRUE(Fault("# vertices: 1000000000000\n1 2\n").starts_with(":1: the header states 1000000000000 vertices"));
}

TEST_F(ReaderTest, FarMoreThanTheHeaderPromisesIsNotReadToTheEnd) {
  const auto repeated = [](std::string text, std::string_view line) {
    for (int i = 0; i < 3'000'000; ++i) text += line;
    return Zstd(text + "what comes here is never looked at\n");
  };
  EXPECT_TRUE(Fault(repeated(kGeneral + "3 3 3\n", "1 2\n")).starts_with(":2: promises 3 entries, but the file holds "));
  EXPECT_TRUE(Fault(repeated("p sp 3 3\n", "a 1 2 1\n")).starts_with(":1: promises 3 arcs, but the file holds "));
  EXPECT_TRUE(Fault(repeated("3 2 000 0\n2\n1 3\n2\n", "\n")).starts_with(":1: promises 3 vertices, but the file holds "));
  EXPECT_TRUE(Fault(repeated("2000000 2 000 0\n", "2 2 2 2\n")).starts_with(":1: promises 4000004 neighbours, but "));
}

TEST_F(ReaderTest, IntegersThatDoNotFitAreWarnedOfWhateverTheFormat) {
  for (const std::string text : {"0 1 3000000001\n", "p sp 2 1\na 1 2 3000000001\n",
                                 "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3000000001\n"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Read(text).weight_kind(), WeightKind::kFloat32);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("integer weights as large as 3000000"), std::string::npos) << text << said;
  }
}

TEST_F(ReaderTest, LongLinesAndCarriageReturnsAreCalledWhatTheyAre) {
  const std::string blanks(3 << 20, ' '), digits(3 << 20, '1');
  EXPECT_TRUE(Fault("1 2\n1" + blanks + "3\n").starts_with(":2: the line is longer than"));
  EXPECT_TRUE(Fault("1 2\n3 4\n" + digits).starts_with(":3: the line is longer than"));
  EXPECT_TRUE(Fault("1 2 3\n3 4 " + digits).starts_with(":2: the line is longer than"));
  EXPECT_TRUE(Fault(Zstd("1 2\n3 4\n" + digits)).starts_with(":3: the line is longer than"));
  EXPECT_TRUE(Fault("0 1\r1 2\r").starts_with(":1: a carriage return alone does not end a line"));
  EXPECT_TRUE(Fault("0 1\n1 2\r3 4\n").starts_with(":2: a carriage return alone does not end a line"));
}

TEST_F(ReaderTest, WhatErrorsQuoteIsText) {
  EXPECT_TRUE(Fault("0 1\n1 \xff\xfe\n").starts_with(":2: '\\xff\\xfe' is not a target id"));
  EXPECT_TRUE(Fault("0 1\n1 \xc3\xa4\n").starts_with(":2: '\xc3\xa4' is not a target id")) << "UTF-8 stays";
  for (const auto& [bytes, shown] : {std::pair<std::string, std::string>{"\xc2\x9b", "\\xc2\\x9b"},
                                     {"\xc0\x80", "\\xc0\\x80"},
                                     {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                                     {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
                                     {"\xe2\x82", "\\xe2\\x82"},
                                     {"\xe2\x82\xac", "\xe2\x82\xac"},
                                     {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}}) {
    EXPECT_TRUE(Fault("0 1\n1 " + bytes + "\n").starts_with(":2: '" + shown + "' is no")) << shown;
  }
}

TEST_F(ReaderTest, AStrayIdDoesNotTakeAllMemory) {
  const std::string path = Write("file", sizeof(VertexId) == 8 ? "0 1\n1 1000000000000000\n" : "0 1\n1 9999999999\n");
  EXPECT_THROW(ReadGraph(path), InputError);
}

// ---- DIMACS ----

TEST_F(ReaderTest, Dimacs) {
  const Graph graph = Read("c a comment\nc\np sp 3 3\na 1 2 10\nc another\na 3 1 5\na 1 2 7\n");
  EXPECT_EQ(graph.vertices(), 3u);
  EXPECT_EQ(graph.first_id(), 1);
  EXPECT_FALSE(graph.symmetric());
  EXPECT_EQ(graph.weight_kind(), WeightKind::kInt32);
  EXPECT_EQ(Arcs(graph), (std::vector<Arc>{{0, 1, 7}, {2, 0, 5}}));
  EXPECT_EQ(Read("p sp 5 0\n").vertices(), 5u);
}

TEST_F(ReaderTest, DimacsFaults) {
  EXPECT_TRUE(Fault("c x\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("c x\na 1 2 3\np sp 2 1\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("p col 2 1\na 1 2 3\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("p\na 1 2 3\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("p sp 2\na 1 2 3\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("p sp 2 2\na 1 2 3\n").starts_with(":1: the header promises 2 arcs"));
  EXPECT_TRUE(Fault("p sp 2 1\na 1 2 3\na 2 1 3\n").starts_with(":1: the header promises 1 arcs"));
  EXPECT_TRUE(Fault("p sp 2 1000000000000\na 1 2 3\na 2 1 3\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("p sp 2 1\na 1 2\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("p sp 2 1\na 0 2 1\n").starts_with(":2: id 0"));
  EXPECT_TRUE(Fault("p sp 2 1\na 1 3 1\n").starts_with(":2: id 3"));
  EXPECT_TRUE(Fault("p sp 2 1\nc\nq 1 3 1\n").starts_with(":3:"));
  EXPECT_TRUE(Fault("p sp 2 1\np sp 2 1\na 1 2 1\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("p sp 2 1\nabc 1 2 1\n").starts_with(":2:"));
}

// ---- Any format ----

TEST_F(ReaderTest, WhatIsNoGraphIsSaidToBeNone) {
  EXPECT_NE(Fault("").find("empty"), std::string::npos);
  EXPECT_NE(Fault(Gzip("")).find("empty"), std::string::npos);
  EXPECT_NE(Fault("\n \n").find("empty"), std::string::npos);
  EXPECT_NE(Fault("\xef\xbb\xbf").find("empty"), std::string::npos);
  EXPECT_NE(Fault("<graphml>").find("'<graphml>'"), std::string::npos);
  EXPECT_NE(Fault("what is this\nthing\n").find("comments"), std::string::npos);
  EXPECT_NE(Fault("\xff\xfe"
                  "1\0 \0")
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(Fault("BZh91AY").find("bzip2"), std::string::npos);
  EXPECT_THROW(ReadGraph(Path("absent")), InputError);
}

TEST_F(ReaderTest, TheFormatMayBeGiven) {
  EXPECT_EQ(Read("1 2\n", {.format = "edge-list"}).edges(), 1u);
  EXPECT_THROW(Read("1 2\n", {.format = "dimacs"}), InputError);
  EXPECT_THROW(Read("1 2\n", {.format = "matrix-market"}), InputError);
  EXPECT_THROW(Read("1 2\n", {.format = "binary"}), InputError);
  EXPECT_THROW(Read("1 2\n", {.format = "metis"}), InputError);
  EXPECT_THROW(Read("1 2\n", {.format = "nonsense"}), UsageError);
}

TEST_F(ReaderTest, LongLinesAreRefusedWithTheirNumber) {
  const std::string longest(kMaxLineBytes - 3, ' '), too_long(kMaxLineBytes + 100, ' ');
  EXPECT_EQ(Read("0 1\n1 2" + longest + "\n3 4\n").edges(), 3u);
  for (const std::string& line :
       {"1 2" + too_long, "#" + too_long, too_long, too_long + "1 2", "1 2\n3 4" + std::string(9u << 20, ' ')}) {
    const std::string fault = Fault("0 1\n2 3\n" + line + "\n5 6\n");
    EXPECT_NE(fault.find("longer than"), std::string::npos) << fault;
    EXPECT_TRUE(fault.starts_with(line.starts_with("1 2\n") ? ":4:" : ":3:")) << fault;
    EXPECT_NE(Fault(Gzip("0 1\n2 3\n" + line + "\n5 6\n")).find("longer than"), std::string::npos);
  }
}

/// Blanks make few edges fill several chunks.
TEST_F(ReaderTest, ManyChunksOnAnyNumberOfThreadsGiveTheSameGraph) {
  std::mt19937 random(11);
  std::string text;
  constexpr std::size_t kEdges = 150000;
  for (std::size_t i = 0; i < kEdges; ++i) {
    text += fmt::format("{} {} {:60}\n", random() % 5000, random() % 5000, random() % 1000);
  }
  text += "4999 4998 0.25\n";  // the last edge alone makes all weights float
  ASSERT_GT(text.size(), 2 * Input::kDefaultChunkBytes);
  const Graph serial = Read(text, {.keep_loops = true, .keep_parallel = true, .threads = 1});
  EXPECT_EQ(serial.edges(), kEdges + 1);
  EXPECT_EQ(serial.weight_kind(), WeightKind::kFloat32);
  const auto expected = Arcs(serial);
  for (const std::string& content : {text, Gzip(text), Zstd(text)}) {
    EXPECT_EQ(Arcs(Read(content, {.keep_loops = true, .keep_parallel = true, .threads = 4})), expected);
  }
}

TEST_F(ReaderTest, TheFirstFaultOfManyIsReportedWithItsLine) {
  std::string text;
  std::vector<std::size_t> starts;
  for (int i = 0; i < 1200000; ++i) {
    starts.push_back(text.size());
    text += "12345 67890\n";
  }
  ASSERT_GT(text.size(), 3 * Input::kDefaultChunkBytes);
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 4; ++repeat) {
    std::string broken = text;
    std::set<std::size_t> lines;
    for (int k = 0; k < 5; ++k) lines.insert(random() % starts.size());
    for (const std::size_t line : lines) broken[starts[line]] = 'x';
    if (*lines.begin() == 0) continue;
    const std::string path = Write("file", repeat % 2 == 0 ? broken : Zstd(broken));
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path, {.threads = 4}); });
    EXPECT_TRUE(error.starts_with(fmt::format("{}:{}:", path, *lines.begin() + 1))) << error;
  }
}

/// Digits of the longest run of them.
int LongestNumber(std::string_view text) {
  int longest = 0, run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// Whatever is done to a file, reading it either works or gives an Error; never anything else. Run with sanitizers it
/// also shows that no bytes beyond the file are looked at.
TEST_F(ReaderTest, MutatedFilesGiveAGraphOrAnError) {
  const std::vector<std::string> seeds = {
      kReals + "4 4 3\n1 2 0.5\n3 4 1e3\n4 1 -2\n",
      kSymmetric + "% c\n4 4 3\n2 1\n3 1\n4 4\n",
      "# c\n0 1 5\n1,2,7\r\n3\t4\t8\n",
      "c x\np sp 4 3\na 1 2 3\na 2 3 4\na 4 1 9\n",
  };
  std::mt19937 random(3);
  const std::string alphabet = "0123456789-+.eE,# %acp\t\r\n\xff";
  int graphs = 0, errors = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        case 2:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        default:
          text.resize(at);
          break;
      }
    }
    // Ids in an edge list are legitimate up to the memory of the machine, which is no business of this test.
    if (LongestNumber(text) > 5) continue;
    try {
      const Graph graph = Read(text, {.threads = 1});
      for (const VertexId v : graph.out().neighbours) ASSERT_LT(v, graph.vertices());
      ++graphs;
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(graphs, 100);
  EXPECT_GT(errors, 100);
}

// ---- Ids with gaps ----

TEST_F(ReaderTest, IdsWithGapsCanBeClosed) {
  const std::string text = "# as SNAP has them\n18446744073709551615 7\n7 9000000000\n4294967296 7\n7 7\n";
  const Graph graph = Read(text, {.compact_ids = true});
  EXPECT_EQ(test::Copy(graph.ids()), (std::vector<std::uint64_t>{7, 4294967296, 9000000000, 18446744073709551615u}));
  EXPECT_EQ(Arcs(graph), (std::vector<Arc>{{0, 2, 0}, {1, 0, 0}, {3, 0, 0}}));
  EXPECT_EQ(graph.id(2), 9000000000u);
  EXPECT_EQ(graph.find(9000000000), VertexId{2});
  EXPECT_FALSE(graph.find(8).has_value());
  EXPECT_EQ(Read("3 4 1.5\n4 3 2\n", {.symmetrise = true, .compact_ids = true}).edges(), 2u);
  EXPECT_NE(Fault("5 4294967296\n").find("--compact-ids"), std::string::npos);
}

TEST_F(ReaderTest, IdsWithGapsAreTheSameAtAnyThreadCount) {
  std::mt19937_64 random(11);
  std::string text;
  std::set<std::uint64_t> ids;
  for (int e = 0; e < 200000; ++e) {
    std::uint64_t ends[2];
    for (std::uint64_t& id : ends) ids.insert(id = (random() % 50000) * 0x9e3779b97f4a7c15u);
    text += std::to_string(ends[0]) + '\t' + std::to_string(ends[1]) + ' ' + std::to_string(e % 100) + '\n';
  }
  ASSERT_GT(text.size(), 2 * Input::kDefaultChunkBytes);
  const Graph one = Read(text, {.compact_ids = true, .threads = 1});
  EXPECT_EQ(test::Copy(one.ids()), std::vector<std::uint64_t>(ids.begin(), ids.end()));
  for (const int threads : {2, 5}) {
    const Graph many = Read(text, {.compact_ids = true, .threads = threads});
    EXPECT_EQ(test::Copy(many.ids()), test::Copy(one.ids()));
    EXPECT_EQ(Arcs(many), Arcs(one));
  }
}

// ---- The shared graphs ----

TEST(SharedGraphs, HaveThePublishedSizes) {
  const char* set = std::getenv("CHATTY_DATA");
  const std::filesystem::path folder = set != nullptr ? set : CHATTY_SOURCE_DIR "/../shared/data";
  std::ifstream file(folder / "reference-results.json");
  if (!file) GTEST_SKIP() << "no reference-results.json in " << folder << "; set CHATTY_DATA";
  const nlohmann::json reference = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".co.gz") || !(path.ends_with(".gz") || path.ends_with(".zst"))) continue;
    SCOPED_TRACE(path);
    ReadReport report;
    const Graph graph = ReadGraph(path, {}, &report);
    EXPECT_EQ(graph.first_id(), 1);
    EXPECT_EQ(report.build.edges_kept, graph.edges());
    if (graph.name() == "Trefethen_20000") {  // a matrix rather than a graph: its diagonal is loops
      EXPECT_EQ(graph.vertices(), 20000u);
      EXPECT_EQ(graph.edges(), 554466u - 20000u);
      EXPECT_EQ(report.build.loops_removed, 20000u);
      EXPECT_EQ(ReadGraph(path, {.keep_loops = true}).edges(), 554466u);
      continue;
    }
    ASSERT_TRUE(reference.contains(graph.name()));
    const auto& expected = reference[graph.name()];
    EXPECT_EQ(graph.vertices(), expected["n"].get<std::uint64_t>());
    EXPECT_EQ(graph.edges(), expected["arcs"].get<std::uint64_t>());
    EXPECT_EQ(graph.symmetric(), !expected["directed"].get<bool>());
    EXPECT_EQ(graph.weight_kind() == WeightKind::kInt32, expected.contains("sssp_sum"));
    ++checked;
  }
  EXPECT_EQ(checked, static_cast<int>(reference.size()));
}

}  // namespace
}  // namespace chatty
