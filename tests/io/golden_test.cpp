// Files that the tools wrote which own their formats (golden/make.py says how), read and held against what these tools say
// that the files hold.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "chatty/io/reader.h"
#include "test_files.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using GoldenArc = std::tuple<std::uint64_t, std::uint64_t, float>;

std::vector<GoldenArc> ArcsOf(const Graph& graph) {
  std::vector<GoldenArc> arcs;
  const auto* const integers = std::get_if<Array<std::int32_t>>(&graph.out().weights);
  const auto* const reals = std::get_if<Array<float>>(&graph.out().weights);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = graph.out().offsets[v]; e < graph.out().offsets[v + 1]; ++e) {
      const float weight = integers != nullptr ? static_cast<float>((*integers)[e]) : reals != nullptr ? (*reals)[e] : 0.0f;
      arcs.emplace_back(v, graph.out().neighbours[e], weight);
    }
  }
  return arcs;
}

class GoldenFile : public test::WithFiles, public testing::WithParamInterface<std::string> {
 protected:
  static fs::path Folder() { return fs::path(CHATTY_SOURCE_DIR) / "tests/io/golden"; }
  static Json Expected() { return Json::parse(std::ifstream(Folder() / "expected.json")).at(GetParam()); }
  static Graph Read() {
    ReadOptions options;
    options.compact_ids = Expected().contains("ids");
    return ReadGraph((Folder() / GetParam()).string(), options);
  }
};

TEST_P(GoldenFile, HoldsWhatItsToolSays) {
  const Json expected = Expected();
  const Graph graph = Read();
  EXPECT_EQ(graph.vertices(), expected.at("vertices").get<std::uint64_t>());
  EXPECT_EQ(graph.first_id(), expected.at("first_id").get<int>());
  EXPECT_EQ(graph.symmetric(), expected.at("symmetric").get<bool>());
  std::vector<GoldenArc> arcs;
  for (const Json& arc : expected.at("arcs")) {
    arcs.emplace_back(arc[0].get<std::uint64_t>(), arc[1].get<std::uint64_t>(),
                      arc.size() == 3 ? arc[2].get<float>() : 0.0f);
  }
  EXPECT_EQ(ArcsOf(graph), arcs);
  EXPECT_EQ(graph.weight_kind() != WeightKind::kNone, expected.at("arcs")[0].size() == 3);
  if (expected.contains("ids")) {
    EXPECT_EQ(test::Copy(graph.ids()), expected.at("ids").get<std::vector<std::uint64_t>>());
  } else {
    EXPECT_TRUE(graph.ids().empty());
  }
}

TEST_P(GoldenFile, IsTheSameGraphPackedAndWithOtherLineEnds) {
  const std::string text = Slurp((Folder() / GetParam()).string());
  const std::vector<GoldenArc> arcs = ArcsOf(Read());
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  ReadOptions options;
  options.compact_ids = Expected().contains("ids");
  for (const std::string& other : {test::Gzip(text), test::Zstd(text), crlf, "\xef\xbb\xbf" + text}) {
    EXPECT_EQ(ArcsOf(ReadGraph(Write("other", other), options)), arcs);
  }
}

std::vector<std::string> Files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(CHATTY_SOURCE_DIR) / "tests/io/golden")) {
    const std::string name = entry.path().filename().string();
    if (name != "make.py" && name != "expected.json") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFile, testing::ValuesIn(Files()), [](const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace chatty
