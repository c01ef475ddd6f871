// Galois', GAP's and GBBS' files of rows: against bytes put together here, through round trips, and damaged in every way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty::test {
namespace {

const ReadOptions kAllEdges{.keep_loops = true, .keep_parallel = true};

/// Little-endian numbers, one after the other, a byte at a time: shares nothing with the writers.
class Packed {
 public:
  Packed& U8(std::uint64_t value) { return Put(value, 1); }
  Packed& U32(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) Put(value, 4);
    return *this;
  }
  Packed& U64(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) Put(value, 8);
    return *this;
  }
  operator std::string() const { return bytes_; }  // NOLINT(google-explicit-constructor)

 private:
  Packed& Put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
};

using Rows = std::vector<std::vector<std::pair<VertexId, double>>>;

/// Every vertex' edges: target and weight, 0 where there is none.
Rows RowsOf(const Graph& graph) {
  Rows rows(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      double weight = 0;
      if (const auto* integers = std::get_if<Array<std::int32_t>>(&graph.out().weights)) weight = (*integers)[e];
      if (const auto* reals = std::get_if<Array<float>>(&graph.out().weights)) weight = (*reals)[e];
      rows[v].emplace_back(graph.out().neighbours[e], weight);
    }
  }
  return rows;
}

void ExpectSame(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.vertices(), b.vertices());
  EXPECT_EQ(a.symmetric(), b.symmetric());
  EXPECT_EQ(a.weight_kind(), b.weight_kind());
  EXPECT_EQ(a.first_id(), b.first_id());
  EXPECT_EQ(RowsOf(a), RowsOf(b));
}

struct Shape {
  VertexId vertices;
  std::size_t edges;
  bool symmetric;
};

/// A random graph with loops, parallel edges and vertices without edges, the last among them. Weights are of this kind, and
/// whole.
Graph RandomRows(unsigned seed, const Shape& shape, WeightKind kind) {
  std::mt19937 random(seed);
  EdgeList list;
  list.vertices = shape.vertices;
  list.sources = Array<VertexId>(shape.edges);
  list.targets = Array<VertexId>(shape.edges);
  Array<std::int32_t> integers(kind == WeightKind::kInt32 ? shape.edges : 0);
  Array<float> reals(kind == WeightKind::kFloat32 ? shape.edges : 0);
  const VertexId used = shape.vertices > 1 ? shape.vertices - 1 : shape.vertices;
  for (std::size_t i = 0; i < shape.edges; ++i) {
    list.sources[i] = random() % used;
    list.targets[i] = random() % 8 == 0 ? list.sources[i] : random() % used;
    // Negative ones for some, of which the reader of Galois' files warns.
    if (!integers.empty()) integers[i] = static_cast<std::int32_t>(seed % 8 == 4 ? random() : random() >> 1);
    if (!reals.empty()) reals[i] = static_cast<float>(random() % 1000);
  }
  if (kind == WeightKind::kInt32) list.weights = std::move(integers);
  if (kind == WeightKind::kFloat32) list.weights = std::move(reals);
  return BuildGraph(std::move(list), {.symmetrise = shape.symmetric});
}

/// 0 -> 2 (weight 7), 0 -> 1 (9), 2 -> 0 (8), 2 -> 2 (6), 2 -> 0 (5) of four vertices, as the rows of files have it: in
/// another order than a graph's lists.
const Rows kRows = {{{1, 0}, {2, 0}}, {}, {{0, 0}, {0, 0}, {2, 0}}, {}};
const Rows kWeightedRows = {{{1, 9}, {2, 7}}, {}, {{0, 5}, {0, 8}, {2, 6}}, {}};

const std::string kGalois1 = Packed().U64({1, 0, 4, 5}).U64({2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U32({0});
const std::string kGalois1Weighted =
    Packed().U64({1, 4, 4, 5}).U64({2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U32({0}).U32({7, 9, 8, 6, 5});
const std::string kGalois2 = Packed().U64({2, 0, 4, 5}).U64({2, 2, 5, 5}).U64({2, 1, 0, 2, 0});
const std::string kGalois2Weighted = Packed().U64({2, 4, 4, 5}).U64({2, 2, 5, 5}).U64({2, 1, 0, 2, 0}).U32({7, 9, 8, 6, 5});
const std::string kGapDirected =
    Packed().U8(1).U64({5, 4}).U64({0, 2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U64({0, 2, 3, 5, 5}).U32({2, 2, 0, 0, 2});
const std::string kGapDirectedWeighted = Packed()
                                             .U8(1)
                                             .U64({5, 4})
                                             .U64({0, 2, 2, 5, 5})
                                             .U32({2, 7, 1, 9, 0, 8, 2, 6, 0, 5})
                                             .U64({0, 2, 3, 5, 5})
                                             .U32({2, 8, 2, 5, 0, 9, 0, 7, 2, 6});
const std::string kGbbsBinary = Packed().U64({4, 5, 24 + 40 + 20}).U64({0, 2, 2, 5, 5}).U32({2, 1, 0, 2, 0});
const std::string kGbbsBothWays =
    kGbbsBinary + std::string(Packed().U64({4, 5, 24 + 40 + 20}).U64({0, 2, 3, 5, 5}).U32({2, 2, 0, 0, 2}));
const std::string kAdjacency = "AdjacencyGraph\n4\n5\n0\n2\n2\n5\n2\n1\n0\n2\n0\n";
const std::string kWeightedAdjacency = "WeightedAdjacencyGraph\n4\n5\n0\n2\n2\n5\n2\n1\n0\n2\n0\n7\n9\n8\n6\n5\n";
/// A path of three vertices, its edges both ways.
const std::string kGapUndirected = Packed().U8(0).U64({4, 4}).U64({0, 1, 3, 4, 4}).U32({1, 0, 2, 1});
const std::string kGapUndirectedWeighted = Packed().U8(0).U64({4, 4}).U64({0, 1, 3, 4, 4}).U32({1, 70, 0, 70, 2, 80, 1, 80});

struct Golden {
  const char* name;
  std::string bytes;
  GraphFormat format;
  bool weighted;
};

const std::vector<Golden>& DirectedGoldens() {
  static const std::vector<Golden> goldens = {
      {"galois 1", kGalois1, GraphFormat::kGalois, false},
      {"galois 1 weighted", kGalois1Weighted, GraphFormat::kGalois, true},
      {"galois 2", kGalois2, GraphFormat::kGalois, false},
      {"galois 2 weighted", kGalois2Weighted, GraphFormat::kGalois, true},
      {"gap", kGapDirected, GraphFormat::kGap, false},
      {"gap weighted", kGapDirectedWeighted, GraphFormat::kGap, true},
      {"gbbs binary", kGbbsBinary, GraphFormat::kGbbs, false},
      {"gbbs binary, both directions", kGbbsBothWays, GraphFormat::kGbbs, false},
      {"gbbs text", kAdjacency, GraphFormat::kGbbs, false},
      {"gbbs text weighted", kWeightedAdjacency, GraphFormat::kGbbs, true},
  };
  return goldens;
}

class BinaryFormats : public WithFiles {
 protected:
  BinaryFormats() { SetLogLevel("off"); }
  ~BinaryFormats() override { SetLogLevel("info"); }

  /// What reading warns of.
  std::string Warning(std::string_view bytes) {
    SetLogLevel("warning");
    ::testing::internal::CaptureStderr();
    Read(bytes);
    Log().flush();
    SetLogLevel("off");
    return ::testing::internal::GetCapturedStderr();
  }

  /// Writes to a new file: some file systems flush one that is truncated and written again, which takes its time.
  std::string Put(std::string_view bytes) {
    std::filesystem::remove(Path("file"));
    return Write("file", bytes);
  }
  Graph Read(std::string_view bytes, const ReadOptions& options = kAllEdges) { return ReadGraph(Put(bytes), options); }
  /// The InputError that reading gives, without the file's name.
  std::string Fault(std::string_view bytes, const ReadOptions& options = kAllEdges) {
    const std::string path = Put(bytes);
    const std::string error = ErrorOf<InputError>([&] { ReadGraph(path, options); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
  void ExpectFault(std::string_view bytes, std::string_view text, const ReadOptions& options = kAllEdges) {
    for (const std::string& packed : {std::string(bytes), Zstd(bytes)}) {
      const std::string fault = Fault(packed, options);
      EXPECT_NE(fault.find(text), std::string::npos) << fault;
    }
  }
};

ReadOptions Named(GraphFormat format) {
  ReadOptions options = kAllEdges;
  options.format = std::string(FormatName(format));
  return options;
}

/// `bytes` with the little-endian number of `size` bytes at `at` made `value`.
std::string With(std::string bytes, std::size_t at, std::uint64_t value, int size = 8) {
  for (int i = 0; i < size; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

// ---- Bytes made by hand ----

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

// ---- Round trips ----

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

// ---- Galois ----

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

// ---- Weights on the way out ----

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

// ---- Text ----

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

// ---- Damage ----

TEST_F(BinaryFormats, EveryTruncationIsAnError) {
  std::vector<Golden> goldens = DirectedGoldens();
  goldens.push_back({"gap undirected", kGapUndirected, GraphFormat::kGap, false});
  goldens.push_back({"gap undirected weighted", kGapUndirectedWeighted, GraphFormat::kGap, true});
  for (const Golden& golden : goldens) {
    const bool text = golden.bytes.find("AdjacencyGraph") != std::string::npos;
    for (std::size_t size = 0; size < golden.bytes.size(); ++size) {
      // What is still whole: without padding, without the in-edges, without the last line end.
      if (golden.bytes == kGalois1 && size == golden.bytes.size() - 4) continue;
      if (golden.bytes == kGbbsBothWays && size == kGbbsBinary.size()) continue;
      if (text && size == golden.bytes.size() - 1) continue;
      const std::string cut = golden.bytes.substr(0, size);
      SCOPED_TRACE(fmt::format("{}, cut after {} bytes", golden.name, size));
      for (const std::string& bytes : {cut, Zstd(cut)}) {
        EXPECT_FALSE(Fault(bytes).empty());
        EXPECT_FALSE(Fault(bytes, Named(golden.format)).empty());
      }
    }
    const std::string packed = Zstd(golden.bytes);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      SCOPED_TRACE(fmt::format("{}, packed and cut after {} bytes", golden.name, size));
      EXPECT_FALSE(Fault(packed.substr(0, size), Named(golden.format)).empty());
    }
    SCOPED_TRACE(golden.name);
    for (const std::size_t more : {1, 4, 8, 100}) {
      if (more == 8 && golden.bytes == kGalois2Weighted) continue;  // padding
      ExpectFault(golden.bytes + std::string(more, text ? '7' : '\0'), "", Named(golden.format));
    }
  }
}

TEST_F(BinaryFormats, LongFilesAreToldWhatIsWrongWithThem) {
  const Graph graph = RandomRows(3, {400, 30001, false}, WeightKind::kInt32), plain = graph.WithWeights(WeightKind::kNone);
  for (const std::string name : {"a.sg", "a.wsg", "a.bin", "a.galois"}) {
    SCOPED_TRACE(name);
    WriteGraph(name == "a.wsg" || name == "a.galois" ? graph : plain, Path(name),
               name == "a.galois" ? std::optional<std::string>("galois") : std::nullopt);
    const std::string whole = Slurp(Path(name));
    const std::string cut = whole.substr(0, whole.size() - 5);
    EXPECT_NE(Fault(cut).find("truncated"), std::string::npos);
    EXPECT_NE(Fault(Zstd(cut)).find("truncated"), std::string::npos);
    const std::string half = whole.substr(0, whole.size() / 2);
    EXPECT_NE(Fault(half).find("truncated"), std::string::npos);
    EXPECT_FALSE(Fault(Zstd(half)).empty());
    EXPECT_FALSE(Fault(whole + "x").empty());
    EXPECT_FALSE(Fault(Zstd(whole + "x")).empty());
  }
}

TEST_F(BinaryFormats, CountsThatNoFileHoldsAreNotBelieved) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  struct Place {
    std::string bytes;
    std::size_t vertices, edges;  // where they stand
    GraphFormat format;
  };
  const Place places[] = {{kGalois1, 16, 24, GraphFormat::kGalois},  {kGalois2Weighted, 16, 24, GraphFormat::kGalois},
                          {kGapDirected, 9, 1, GraphFormat::kGap},   {kGapDirectedWeighted, 9, 1, GraphFormat::kGap},
                          {kGapUndirected, 9, 1, GraphFormat::kGap}, {kGbbsBinary, 0, 8, GraphFormat::kGbbs}};
  for (const Place& place : places) {
    for (const std::uint64_t count :
         {kTop - 1, kTop, kTop + 1, ~std::uint64_t{0}, ~std::uint64_t{0} / 4, kTop / 2 + 5, kTop / 4 + 1, kTop / 8 - 1}) {
      SCOPED_TRACE(fmt::format("{} at {}", count, place.vertices));
      const std::string vertices = With(place.bytes, place.vertices, count);
      const std::string edges = With(place.bytes, place.edges, count);
      for (const std::string& bytes : {vertices, edges}) {
        EXPECT_FALSE(Fault(bytes).empty());
        EXPECT_FALSE(Fault(bytes, Named(place.format)).empty());
      }
      EXPECT_FALSE(Fault(Zstd(edges), Named(place.format)).empty());
      const std::string path = Write("file.zst", Zstd(vertices));  // more than the machine holds, or than the file does
      EXPECT_THROW(ReadGraph(path, Named(place.format)), Error);
    }
    // Sizes that a format allows and this file does not have: there is no allocation of that size.
    const std::uint64_t large = std::uint64_t{1} << 40;
    EXPECT_FALSE(Fault(With(place.bytes, place.edges, large), Named(place.format)).empty());
    EXPECT_FALSE(Fault(Zstd(With(place.bytes, place.edges, large)), Named(place.format)).empty());
  }
  // GBBS' third number says the same again, and may lie along.
  const std::uint64_t edges = std::uint64_t{1} << 40;
  const std::string lie = With(With(kGbbsBinary, 8, edges), 16, 24 + 40 + edges * 4);
  ExpectFault(lie, "offsets go from 0 to 5, but it has 1099511627776 edges");
  // And the last offset, too.
  ExpectFault(With(lie, 56, edges), "shorter than its header says");
  ExpectFault(With(kGbbsBinary, 16, 85), "do not fit each other", Named(GraphFormat::kGbbs));
}

TEST_F(BinaryFormats, OffsetsAndNeighboursAreChecked) {
  for (const Golden& golden : DirectedGoldens()) {
    if (golden.bytes.find("AdjacencyGraph") != std::string::npos) continue;
    SCOPED_TRACE(golden.name);
    const bool galois = golden.format == GraphFormat::kGalois;
    // The offset behind vertex 1's edges, then the last.
    const std::size_t second = galois ? 40 : golden.format == GraphFormat::kGap ? 33 : 40;
    const std::size_t last = galois ? 56 : golden.format == GraphFormat::kGap ? 49 : 56;
    ExpectFault(With(golden.bytes, second, 1), "end before they begin (2 to 1)");
    ExpectFault(With(golden.bytes, second, 6), "end before they begin (6 to 5)");
    ExpectFault(With(golden.bytes, second, ~std::uint64_t{0}), "end before they begin");
    ExpectFault(With(golden.bytes, last, 6), "but it has 5 edges");
    ExpectFault(With(golden.bytes, last, 4), "but it has 5 edges");
    const int id_bytes = golden.bytes == kGalois2 || golden.bytes == kGalois2Weighted ? 8 : 4;
    ExpectFault(With(golden.bytes, last + 8, 4, id_bytes), "contains vertex 4, but the graph has 4");
    ExpectFault(With(golden.bytes, last + 8, 0xffffffff, id_bytes), "contains vertex 4294967295, but the graph has 4");
  }
  ExpectFault(With(kGalois2, 64, std::uint64_t{1} << 32), "contains vertex 4294967296, but the graph has 4");
  // Those of the in-edges.
  ExpectFault(With(kGapDirected, 57 + 20 + 8, 6), "end before they begin");
  ExpectFault(With(kGapDirectedWeighted, 57 + 40 + 32, 4), "but it has 5 edges");
  ExpectFault(With(kGbbsBothWays, 84, 5), "not with the in-edges of the same graph");
  ExpectFault(With(kGbbsBothWays, 84 + 24 + 8, 6), "end before they begin");
}

TEST_F(BinaryFormats, WhatSaysThatItIsUndirectedMustBe) {
  ExpectFault(With(kGapUndirected, 57, 2, 4), "undirected, but holds edges without their reverse");
  ExpectFault(With(kGapUndirectedWeighted, 57 + 4, 71, 4), "or with another weight");
  ExpectFault(With(kGapUndirected, 0, 2, 1), "is not a known graph format");
  ExpectFault(With(kGapUndirected, 0, 2, 1), "where 0 or 1 says", Named(GraphFormat::kGap));
}

TEST_F(BinaryFormats, OtherFilesAreNotClaimed) {
  for (const std::string& bytes : {std::string(100, '\0'), std::string(33, '\0'), std::string(32, '\0'),
                                   std::string("\x01\0\0\0", 4), std::string(5000, '\x01'),
                                   "\x7f"
                                   "ELF\x02\x01\x01" +
                                       std::string(60, '\0'),
                                   "\x89PNG\r\n\x1a\n" + std::string(40, 'x')}) {
    EXPECT_NE(Fault(bytes).find("is not a known graph format"), std::string::npos);
  }
  EXPECT_NE(Fault("\x93NUMPY" + std::string("\x01\0v\0", 4)).find("is a NumPy array"), std::string::npos);
  EXPECT_NE(Fault("AdjacencyGraphs\n1\n0\n0\n").find("begins with 'AdjacencyGraphs'"), std::string::npos);
  ExpectFault("1 2\n3 4\n5 6\n7 8\n9 10\n11 12\n13 14\n", "is not a Galois graph", Named(GraphFormat::kGalois));
}

TEST_F(BinaryFormats, NoDamageOfASmallFileGoesFurtherThanAnError) {
  // Each byte of each file made another: an error, or a graph that holds together, which Graph's constructor sees to.
  std::vector<Golden> goldens = DirectedGoldens();
  goldens.push_back({"gap undirected weighted", kGapUndirectedWeighted, GraphFormat::kGap, true});
  int read = 0, refused = 0;
  for (const Golden& golden : goldens) {
    for (std::size_t at = 0; at < golden.bytes.size(); ++at) {
      for (const int flip : {1, 4, 0x80}) {
        std::string bytes = golden.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        const std::string path = Put(bytes);
        try {
          const Graph graph = ReadGraph(path, kAllEdges);
          EXPECT_EQ(graph.out().offsets[graph.vertices()], graph.edges());
          ++read;
        } catch (const InputError& error) {
          EXPECT_TRUE(std::string_view(error.what()).starts_with(path)) << error.what();
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(read, 100) << "weights and padding are any";
  EXPECT_GT(refused, 500);
}

// ---- Peeking ----

TEST_F(BinaryFormats, PeekEnclosesWhatIsRead) {
  std::vector<Golden> goldens = DirectedGoldens();
  goldens.push_back({"gap undirected", kGapUndirected, GraphFormat::kGap, false});
  goldens.push_back({"gap undirected weighted", kGapUndirectedWeighted, GraphFormat::kGap, true});
  WriteGraph(RandomRows(9, {3000, 40001, true}, WeightKind::kInt32), Path("multi.wsg"));
  const Graph large = ReadGraph(Path("multi.wsg"), {.keep_loops = true});  // at most one a vertex, as Peek has it
  for (const char* name : {"large.wsg", "large.adj"}) {
    WriteGraph(large, Path(name));
    goldens.push_back(
        {name, Slurp(Path(name)), name == std::string("large.wsg") ? GraphFormat::kGap : GraphFormat::kGbbs, true});
  }
  WriteGraph(large, Path("large.gr"), "galois");
  goldens.push_back({"large galois", Slurp(Path("large.gr")), GraphFormat::kGalois, true});
  for (const Golden& golden : goldens) {
    for (const std::string& bytes : {golden.bytes, Zstd(golden.bytes), Gzip(golden.bytes)}) {
      const std::string path = Put(bytes);
      for (const int options_bits : {0, 1, 2, 4, 6, 8, 12, 14, 9}) {
        SCOPED_TRACE(fmt::format("{}, options {}", golden.name, options_bits));
        ReadOptions options;
        options.directed = (options_bits & 1) != 0;
        options.symmetrise = (options_bits & 2) != 0;
        options.keep_parallel = (options_bits & 4) != 0;
        options.keep_loops = (options_bits & 8) != 0;
        const GraphPeek peek = PeekGraph(path, options).value();
        const Graph graph = ReadGraph(path, options);
        EXPECT_EQ(peek.format, golden.format);
        EXPECT_EQ(peek.vertices, graph.vertices());
        EXPECT_GE(peek.edges_most, graph.edges());
        if (options.keep_parallel) {
          EXPECT_LE(peek.edges_least, graph.edges());
        }
        EXPECT_TRUE(peek.symmetric == graph.symmetric() || (peek.maybe_symmetric && !peek.symmetric));
        EXPECT_TRUE(peek.weights == graph.weight_kind() || golden.format == GraphFormat::kGap);
        if (bytes == golden.bytes) {
          EXPECT_EQ(peek.weights, graph.weight_kind());
        }
      }
    }
  }
  const GraphPeek exact = PeekGraph(Write("file", kGapUndirected), kAllEdges).value();
  EXPECT_TRUE(exact.exact());
  EXPECT_EQ(exact.edges_most, 4u);
  EXPECT_EQ(exact.from, "the header of " + Path("file"));
  EXPECT_EQ(PeekGraph(Write("file", kAdjacency))->from, "line 3 of " + Path("file"));
}

TEST_F(BinaryFormats, PeekBelievesAHeaderAsFarAsTheFileCanHold) {
  const std::uint64_t edges = std::uint64_t{1} << 40;
  for (const std::string& bytes : {With(kGalois1, 24, edges), With(kGapUndirected, 1, edges), With(kGapDirected, 1, edges),
                                   With(With(kGbbsBinary, 8, edges), 16, 24 + 40 + edges * 4)}) {
    const GraphPeek peek = PeekGraph(Write("file", bytes)).value();
    EXPECT_EQ(peek.vertices, 4u);
    EXPECT_EQ(peek.stored, edges);
    EXPECT_LE(peek.edges_most, 16u);
    EXPECT_EQ(peek.edges_least, 0u);
  }
}

}  // namespace
}  // namespace chatty::test
