// Galois', GAP's and GBBS' files of rows, damaged in every way, and peeked at.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binary_formats_fixture.h"
#include "chatty/core/error.h"
#include "chatty/io/peek.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty::test {
namespace {

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
