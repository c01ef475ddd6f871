/// \file
/// Galois', GAP's and GBBS' files of rows as bytes put together here, and random graphs to write as such.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/reader.h"
#include "test_files.h"

namespace chatty::test {

inline const ReadOptions kAllEdges{.keep_loops = true, .keep_parallel = true};

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
inline Rows RowsOf(const Graph& graph) {
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

inline void ExpectSame(const Graph& a, const Graph& b) {
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
inline Graph RandomRows(unsigned seed, const Shape& shape, WeightKind kind) {
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
inline const Rows kRows = {{{1, 0}, {2, 0}}, {}, {{0, 0}, {0, 0}, {2, 0}}, {}};
inline const Rows kWeightedRows = {{{1, 9}, {2, 7}}, {}, {{0, 5}, {0, 8}, {2, 6}}, {}};

inline const std::string kGalois1 = Packed().U64({1, 0, 4, 5}).U64({2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U32({0});
inline const std::string kGalois1Weighted =
    Packed().U64({1, 4, 4, 5}).U64({2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U32({0}).U32({7, 9, 8, 6, 5});
inline const std::string kGalois2 = Packed().U64({2, 0, 4, 5}).U64({2, 2, 5, 5}).U64({2, 1, 0, 2, 0});
inline const std::string kGalois2Weighted =
    Packed().U64({2, 4, 4, 5}).U64({2, 2, 5, 5}).U64({2, 1, 0, 2, 0}).U32({7, 9, 8, 6, 5});
inline const std::string kGapDirected =
    Packed().U8(1).U64({5, 4}).U64({0, 2, 2, 5, 5}).U32({2, 1, 0, 2, 0}).U64({0, 2, 3, 5, 5}).U32({2, 2, 0, 0, 2});
inline const std::string kGapDirectedWeighted = Packed()
                                                    .U8(1)
                                                    .U64({5, 4})
                                                    .U64({0, 2, 2, 5, 5})
                                                    .U32({2, 7, 1, 9, 0, 8, 2, 6, 0, 5})
                                                    .U64({0, 2, 3, 5, 5})
                                                    .U32({2, 8, 2, 5, 0, 9, 0, 7, 2, 6});
inline const std::string kGbbsBinary = Packed().U64({4, 5, 24 + 40 + 20}).U64({0, 2, 2, 5, 5}).U32({2, 1, 0, 2, 0});
inline const std::string kGbbsBothWays =
    kGbbsBinary + std::string(Packed().U64({4, 5, 24 + 40 + 20}).U64({0, 2, 3, 5, 5}).U32({2, 2, 0, 0, 2}));
inline const std::string kAdjacency = "AdjacencyGraph\n4\n5\n0\n2\n2\n5\n2\n1\n0\n2\n0\n";
inline const std::string kWeightedAdjacency = "WeightedAdjacencyGraph\n4\n5\n0\n2\n2\n5\n2\n1\n0\n2\n0\n7\n9\n8\n6\n5\n";
/// A path of three vertices, its edges both ways.
inline const std::string kGapUndirected = Packed().U8(0).U64({4, 4}).U64({0, 1, 3, 4, 4}).U32({1, 0, 2, 1});
inline const std::string kGapUndirectedWeighted =
    Packed().U8(0).U64({4, 4}).U64({0, 1, 3, 4, 4}).U32({1, 70, 0, 70, 2, 80, 1, 80});

struct Golden {
  const char* name;
  std::string bytes;
  GraphFormat format;
  bool weighted;
};

inline const std::vector<Golden>& DirectedGoldens() {
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

inline ReadOptions Named(GraphFormat format) {
  ReadOptions options = kAllEdges;
  options.format = std::string(FormatName(format));
  return options;
}

/// `bytes` with the little-endian number of `size` bytes at `at` made `value`.
inline std::string With(std::string bytes, std::size_t at, std::uint64_t value, int size = 8) {
  for (int i = 0; i < size; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace chatty::test
