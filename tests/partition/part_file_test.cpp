#include "chatty/partition/part_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chatty/core/error.h"
#include "checks.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;
using test::GraphOf;

class PartFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "chatty-part-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return Path(name);
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::vector<PartId> Owners(const PartFile& file) { return {file.owners.begin(), file.owners.end()}; }
  /// Expects that `text` in a file of this name is refused with words that hold all of `expected`.
  void ExpectRefused(const std::string& name, std::string_view text, const std::vector<std::string>& expected) const {
    const std::string path = Write(name, text);
    try {
      ReadPartFile(path);
      ADD_FAILURE() << "taken: " << text;
    } catch (const InputError& error) {
      for (const std::string& words : expected) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what() << "\nshould say: " << words;
      }
    }
  }

  fs::path folder_;
};

using Parts = std::vector<PartId>;

TEST_F(PartFileTest, ReadsLines) {
  const PartFile file = ReadPartFile(Write("a.txt", "0\n2\n1\n2\n"));
  EXPECT_EQ(Owners(file), (Parts{0, 2, 1, 2}));
  EXPECT_EQ(file.parts, 3u);
  EXPECT_EQ(Owners(ReadPartFile(Write("b.txt", "1\r\n0\r\n1\r\n"))), (Parts{1, 0, 1}));
  EXPECT_EQ(Owners(ReadPartFile(Write("c.txt", "1\n0"))), (Parts{1, 0})) << "the last line may have no end";
  EXPECT_EQ(Owners(ReadPartFile(Write("d.txt", "% parts\n 1 \n\n0\n# end\n"))), (Parts{1, 0}));
  const PartFile empty = ReadPartFile(Write("e.txt", ""));
  EXPECT_TRUE(empty.owners.empty());
  EXPECT_EQ(empty.parts, 0u);
}

TEST_F(PartFileTest, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(Owners(ReadPartFile(Write("marked",
                                      "\xef\xbb\xbf"
                                      "0\r\n1\r\n"))),
            (Parts{0, 1}));
}

TEST_F(PartFileTest, TheNameMayTellTheNumberOfParts) {
  EXPECT_EQ(PartsInName("road.part.4"), 4u);
  EXPECT_EQ(PartsInName("/tmp/x.part.2/road.graph.part.64.zst"), 64u);
  EXPECT_EQ(PartsInName("road.part.12.gz"), 12u);
  for (const char* path : {"", "road", "road.part", "road.part.", "road.part.x", "road.part.4x", "road.part.-4",
                           "road.part.0", "road.part.4097", "road.part.99999999999", "x.part.4/road", "road.4", "part.4"}) {
    EXPECT_EQ(PartsInName(path), 0u) << path;
  }
  EXPECT_EQ(ReadPartFile(Write("a.part.8", "0\n2\n")).parts, 8u);
  EXPECT_EQ(ReadPartFile(Write("a.part.8", "")).parts, 8u);
  ExpectRefused("a.part.2", "0\n1\n2\n", {"a.part.2:3: ", "part 2", "2 parts"});
}

TEST_F(PartFileTest, RefusesWhatIsNoPart) {
  ExpectRefused("a", "0\n-1\n", {"a:2: ", "'-1' is negative"});
  ExpectRefused("a", "0\nx\n", {"a:2: ", "'x'"});
  ExpectRefused("a", "0\n1.5\n", {"a:2: ", "'1.5'"});
  ExpectRefused("a", "0\n\n1 2\n", {"a:3: ", "'2'"});
  ExpectRefused("a", "0\n4096\n", {"a:2: ", "4096", "too large"});
  ExpectRefused("a", "99999999999999999999999\n", {"a:1: ", "beyond 64 bits"});
  ExpectRefused("a", std::string_view("0\n\0\n", 4), {"a:2: "});
  ExpectRefused("a", "0\r0\n", {"a:1: "});
  EXPECT_THROW(ReadPartFile(Path("absent")), InputError);
  EXPECT_THROW(ReadPartFile(folder_.string()), InputError);
  ExpectRefused("cut.gz", std::string_view("\x1f\x8b\x08\x00\x00\x00", 6), {"cut.gz"});
}

TEST_F(PartFileTest, NamesTheLineInALongFile) {
  std::string text;
  for (int line = 0; line < 3'000'000; ++line) text += "1\n";  // more than a chunk
  EXPECT_EQ(ReadPartFile(Write("long", text)).owners.size(), 3'000'000u);
  ExpectRefused("long", text + "-2\n", {"long:3000001: "});
}

TEST_F(PartFileTest, WhatIsWrittenIsRead) {
  const Graph graph = test::RandomGraph(1, 5000, 20'000, false);
  for (const char* name : {"contiguous", "edge-balanced", "random"}) {
    const Partition partition = MakePartitioner(name)->Divide(graph, {.parts = 7});
    std::string plain;
    for (const char* file : {"x.part.7", "x.part.7.gz", "x.part.7.zst", "x.txt"}) {
      const std::string path = Path(file);
      WritePartFile(path, partition);
      const auto read = MakePartitioner(path);
      EXPECT_EQ(read->name(), path);
      ASSERT_EQ(read->parts(), 7u);
      const Partition again = read->Divide(graph, {.parts = 7});
      EXPECT_EQ(again.name(), path);
      for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(again.Owner(v), partition.Owner(v)) << name << ' ' << v;
      if (plain.empty()) plain = Bytes(path);
    }
    EXPECT_EQ(Bytes(Path("x.txt")), plain);
    EXPECT_LT(fs::file_size(Path("x.part.7.gz")), plain.size());
  }
}

TEST_F(PartFileTest, EmptyPartsSurviveAFileNamedAfterTheirNumber) {
  const Graph graph = GraphOf(4, {{0, 1}, {0, 2}, {0, 3}}, false);
  const Partition partition = Partition::FromOwners({0, 1, 1, 0}, 5, "by hand");
  WritePartFile(Path("star.part.5"), partition);
  EXPECT_EQ(Bytes(Path("star.part.5")), "0\n1\n1\n0\n");
  EXPECT_EQ(MakePartitioner(Path("star.part.5"))->Divide(graph, {.parts = 5}).parts(), 5u);
  WritePartFile(Path("star.txt"), partition);
  EXPECT_EQ(MakePartitioner(Path("star.txt"))->parts(), 2u);
}

TEST_F(PartFileTest, EmptyPartsAreToldAndThoseThatCountFromOne) {
  const Graph graph = GraphOf(3, {}, true);
  const std::string from_one = Write("one.txt", "1\n2\n2\n"), middle = Write("middle.txt", "0\n3\n3\n");
  EXPECT_EQ(ReadPartFile(from_one).empty, Parts{0});
  EXPECT_EQ(ReadPartFile(middle).empty, (Parts{1, 2}));
  EXPECT_TRUE(ReadPartFile(Write("all.txt", "0\n1\n1\n")).empty.empty());
  try {
    MakePartitioner(from_one)->Divide(graph, {.parts = 2});
    ADD_FAILURE() << "divided";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("no vertex is in part 0: parts count from 0"), std::string::npos);
  }
  for (const auto& [path, parts, words] : {std::tuple{from_one, PartId{3}, "no vertex is in part 0"},
                                           {middle, PartId{4}, "no vertex is in 2 of the parts, the first of which is 1"}}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(MakePartitioner(path)->Divide(graph, {.parts = parts}).parts(), parts);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(words), std::string::npos) << said;
  }
  EXPECT_EQ(DescribeEmptyParts(*MakePartitioner("contiguous")), "");
  ExpectRefused("b.part.2", "1\n2\n2\n", {"b.part.2:2: ", "if they are from 1, subtract 1 from each"});
}

TEST_F(PartFileTest, OtherGraphsAndOtherNumbersOfPartsAreRefused) {
  const auto partitioner = MakePartitioner(Write("a", "0\n1\n1\n"));
  EXPECT_NO_THROW(partitioner->Divide(GraphOf(3, {}, true), {.parts = 2}));
  EXPECT_THROW(partitioner->Divide(GraphOf(3, {}, true), {.parts = 3}), UsageError);
  EXPECT_THROW(partitioner->Divide(GraphOf(3, {}, true), {.parts = 1}), UsageError);
  EXPECT_THROW(partitioner->Divide(GraphOf(3, {}, true), {.parts = 0}), UsageError);
  for (const VertexId n : {0, 2, 4}) {
    try {
      partitioner->Divide(GraphOf(n, {}, true), {.parts = 2});
      ADD_FAILURE() << n << " vertices";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(fmt::format("3 lines for the {} vertices", n)), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find(Path("a")), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(MakePartitioner(Write("empty", "")), InputError);
  EXPECT_EQ(MakePartitioner(Write("empty.part.2", ""))->Divide(GraphOf(0, {}, true), {.parts = 2}).parts(), 2u);
}

TEST_F(PartFileTest, WhatCannotBeWrittenIsRefused) {
  EXPECT_THROW(WritePartFile(Path("no/folder"), Partition::FromBounds({0, 3}, "")), InputError);
  EXPECT_THROW(WritePartFile(folder_.string(), Partition::FromBounds({0, 3}, "")), InputError);
}

TEST(PartFile, PathsAreKnownByASlashOrADot) {
  for (const char* path : {"./x", "x.part.4", "a/b", "/x", "."}) EXPECT_TRUE(IsPartFilePath(path)) << path;
  for (const std::string_view name : PartitionerNames()) EXPECT_FALSE(IsPartFilePath(name)) << name;
  EXPECT_FALSE(IsPartFilePath(""));
}

}  // namespace
}  // namespace chatty
