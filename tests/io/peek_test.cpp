// What a file's begin says of its graph, against what reading it gives.
#include "chatty/io/peek.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/generators.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty::test {
namespace {

class Peek : public WithFiles {
 protected:
  static long PeakKilobytes() {
    rusage usage{};
    EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
  }
  static GraphPeek Of(const std::string& path, const ReadOptions& options = {}) {
    const std::optional<GraphPeek> peek = PeekGraph(path, options);
    EXPECT_TRUE(peek.has_value());
    return peek.value_or(GraphPeek{});
  }
  /// The bounds enclose what is read.
  static void ExpectEncloses(const std::string& path, const ReadOptions& options) {
    const GraphPeek peek = Of(path, options);
    const Graph graph = ReadGraph(path, options);
    EXPECT_EQ(peek.vertices, graph.vertices());
    EXPECT_LE(peek.edges_least, graph.edges());
    EXPECT_GE(peek.edges_most, graph.edges());
    EXPECT_EQ(peek.symmetric, graph.symmetric());
    if (peek.exact()) {
      EXPECT_EQ(peek.edges_most, graph.edges());
    }
  }
};

TEST_F(Peek, BoundsEncloseWhatIsRead) {
  GeneratorSpec spec;
  spec.family = "uniform";
  spec.scale = 8;
  spec.edge_factor = 4;
  spec.keep_loops = true;  // for the readers to drop
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  const Graph plain = graph.WithWeights(WeightKind::kNone);
  std::vector<std::string> paths;
  for (const char* name : {"a.mtx", "a.mtx.gz", "a.mtx.zst", "a.gr", "a.gr.gz", "a.chatty", "a.chatty.zst", "a.chatty.gz"}) {
    WriteGraph(graph, Path(name));
    paths.push_back(Path(name));
  }
  WriteGraph(plain, Path("b.mtx"));
  paths.push_back(Path("b.mtx"));
  paths.push_back(Write(
      "general.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n\n4 4 5\n1 1 .5\n1 2 1\n2 1 1\n3 4 2\n4 4 1\n"));
  for (const std::string& path : paths) {
    for (const bool symmetrise : {false, true}) {
      for (const bool directed : {false, true}) {
        if (symmetrise && directed) continue;
        for (const bool keep_loops : {false, true}) {
          for (const bool keep_parallel : {false, true}) {
            SCOPED_TRACE(path + (symmetrise ? " symmetrise" : "") + (directed ? " directed" : "") +
                         (keep_loops ? " loops" : "") + (keep_parallel ? " parallel" : ""));
            ReadOptions options;
            options.symmetrise = symmetrise;
            options.directed = directed;
            options.keep_loops = keep_loops;
            options.keep_parallel = keep_parallel;
            ExpectEncloses(path, options);
          }
        }
      }
    }
  }
}

TEST_F(Peek, HeadersStateTheirCounts) {
  const GraphPeek mm =
      Of(Write("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n% a comment\n\n7 7 3\n2 1 5\n3 1 5\n4 1 5\n"));
  EXPECT_EQ(mm.format, GraphFormat::kMatrixMarket);
  EXPECT_EQ(mm.vertices, 7u);
  EXPECT_EQ(mm.stored, 3u);
  EXPECT_EQ(mm.edges_most, 6u) << "each goes both ways";
  EXPECT_EQ(mm.edges_least, 0u) << "all may be loops";
  EXPECT_TRUE(mm.symmetric);
  EXPECT_EQ(mm.weights, WeightKind::kInt32);
  EXPECT_EQ(mm.from, "line 4 of " + Path("a.mtx"));
  ReadOptions keep;
  keep.keep_loops = true;
  keep.directed = true;
  EXPECT_TRUE(Of(Path("a.mtx"), keep).exact());
  EXPECT_EQ(Of(Path("a.mtx"), keep).edges_least, 3u);

  const GraphPeek gr = Of(Write("a.gr.gz", Gzip("c x\np sp 9 2\na 1 2 3\na 9 1 4\n")));
  EXPECT_EQ(gr.format, GraphFormat::kDimacs);
  EXPECT_EQ(gr.compression, Compression::kGzip);
  EXPECT_EQ(gr.vertices, 9u);
  EXPECT_EQ(gr.edges_most, 2u);
  EXPECT_FALSE(gr.symmetric);
}

TEST_F(Peek, AnEdgeListHasNoHeader) {
  const GraphPeek list = Of(Write("a.el", "0 1\n1 2\n2 3"));
  EXPECT_FALSE(list.vertices.has_value());
  EXPECT_FALSE(list.exact());
  EXPECT_EQ(list.edges_least, 0u);
  EXPECT_GE(list.edges_most, 3u);
  EXPECT_LE(list.edges_most, 4u);
}

TEST_F(Peek, WhatCanBeReadOnceIsLeftAlone) {
  EXPECT_FALSE(PeekGraph("-").has_value());
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(PeekGraph(Path("pipe")).has_value()) << "nor does it wait for somebody to write";
}

TEST_F(Peek, AHeaderIsBelievedAsFarAsTheFileCanHold) {
  const std::string mtx = "%%MatrixMarket matrix coordinate pattern general\n5 5 1000000000000\n1 2\n2 3\n3 4\n";
  const std::string gr = "p sp 5 1000000000000\na 1 2 1\n";
  const long before = PeakKilobytes();
  for (const auto& [name, text, promise] : {std::tuple{"l.mtx", mtx, "entries"},
                                            {"l.mtx.gz", Gzip(mtx), "entries"},
                                            {"l.mtx.zst", Zstd(mtx), "entries"},
                                            {"l.gr", gr, "arcs"},
                                            {"l.gr.gz", Gzip(gr), "arcs"}}) {
    SCOPED_TRACE(name);
    const std::string path = Write(name, text);
    const GraphPeek peek = Of(path);
    EXPECT_EQ(peek.stored, 1000000000000u);
    EXPECT_EQ(peek.edges_least, 0u);
    EXPECT_LT(peek.edges_most, 10000000u);
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path); });
    EXPECT_NE(error.find("the header promises 1000000000000 " + std::string(promise)), std::string::npos) << error;
  }
  EXPECT_LT(PeakKilobytes() - before, 256 << 10) << "of memory, of terabytes that are promised";
}

TEST_F(Peek, StoredIsTheHeadersOwnCount) {
  GeneratorSpec spec;
  spec.family = "star";
  spec.count = 1000;
  const Graph star = Generate(spec);
  WriteGraph(star, Path("star.chatty"));
  const GraphPeek peek = Of(Path("star.chatty"));
  EXPECT_EQ(peek.stored, star.edges());
  EXPECT_EQ(peek.most().edges, star.edges());
  EXPECT_EQ(peek.least().edges, star.edges() - 1000) << "as many may be loops";
}

TEST_F(Peek, ALyingBinaryHeaderToo) {
  GeneratorSpec spec;
  spec.family = "chain";
  spec.count = 1000;
  WriteGraph(Generate(spec), Path("a.chatty"));
  const std::string whole = Slurp(Path("a.chatty"));
  const GraphPeek cut = Of(Write("cut.chatty", whole.substr(0, whole.size() / 4 * 3)));
  EXPECT_EQ(cut.stored, 1998u);
  EXPECT_EQ(cut.edges_least, 0u);
  EXPECT_LT(cut.edges_most, 1998u);
}

TEST_F(Peek, ThrowsWhatTheReaderThrows) {
  std::vector<std::string> paths = {Path("absent"), Path("")};
  paths.push_back(Write("empty", ""));
  paths.push_back(Write("oblong.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 1\n"));
  paths.push_back(Write("odd.mtx", "%%MatrixMarket matrix coordinate pattern general\nx\n"));
  paths.push_back(Write("kind.gr", "p max 3 3\n"));
  paths.push_back(Write("cut.gz", Gzip(std::string(1000, '%')).substr(0, 15)));
  paths.push_back(Write("cut.chatty",
                        "\x89"
                        "CGR\r\n\x1a\nxx"));
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string expected = ErrorOf<InputError>([&] { ReadGraph(path); });
    EXPECT_EQ(ErrorOf<InputError>([&] { PeekGraph(path); }), expected);
  }
  ReadOptions both;
  both.directed = both.symmetrise = true;
  ErrorOf<UsageError>([&] { PeekGraph(Path("absent"), both); });
}

}  // namespace
}  // namespace chatty::test
