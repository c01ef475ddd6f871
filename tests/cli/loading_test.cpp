// What loading a graph tells, keeps and costs, and that the page on formats shows what works.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, LoadingSaysByWhatRules) {
  const std::string list = Write("g.el", "0 1 5\n1 0 3\n1 1 1\n0 1 4\n");
  const std::string stored = Succeed({"info", list});
  EXPECT_NE(stored.find("read as"), std::string::npos) << stored;
  EXPECT_NE(stored.find("4 edges as stored"), std::string::npos) << stored;
  EXPECT_NE(stored.find("1 loops dropped; 1 parallel edges merged into the lightest"), std::string::npos) << stored;
  EXPECT_NE(stored.find("ids that no edge names kept, without edges (--compact-ids"), std::string::npos) << stored;
  EXPECT_NE(Succeed({"info", list, "--compact-ids"}).find("ids that no edge names left out"), std::string::npos);
  EXPECT_NE(Succeed({"info", Small()}).find("vertices without edges kept"), std::string::npos);
  EXPECT_NE(Succeed({"info", list, "--keep-loops", "--keep-parallel"}).find("loops kept; parallel edges kept"),
            std::string::npos);
  EXPECT_NE(Succeed({"run", "bfs", list, "--symmetrise"}).find("4 edges both ways (--symmetrise)"), std::string::npos);
  EXPECT_NE(Succeed({"convert", Small(), Path("small.chatty")}).find("4 edges as stored"), std::string::npos);
}

TEST_F(CliTest, OfRealDistancesTheOneThatIsOffIsNamed) {
  const std::string graph = Write("g.el", "0 1 0.1\n1 2 0.2\n2 3 0.3\n3 4 0.4\n");
  Succeed({"verify", "sssp", graph, Write("right", "0 0\n1 0.1\n2 0.30000003\n3 0.59999999\n4 1\n"), "--source", "0"});
  Fail({"verify", "sssp", graph, Write("wrong", "0 0\n1 0.1\n2 0.30000003\n3 0.59999999\n4 2\n"), "--source", "0"}, 3,
       "vertex 4 is said to be at distance 2; it is 1");
}

TEST_F(CliTest, TheCacheIsVisible) {
  const std::string graph = Path("g.mtx"), cache = Path("cache");
  Succeed({"generate", "kron", "8", "-o", graph});
  const auto use = [&](const Arguments& more) {
    const Json record = Json::parse(Succeed(Join({"run", "bfs", graph, "--json", "-", "--verify"}, more)));
    const Json& json = record.at("graph");
    return json.contains("cache") ? json.at("cache").at("use").get<std::string>() : std::string("off");
  };
  EXPECT_EQ(use({}), "off");
  EXPECT_EQ(use({"--cache", "off"}), "off");
  EXPECT_FALSE(fs::exists(cache));
  EXPECT_EQ(use({"--cache", cache}), "filled");
  EXPECT_EQ(use({"--cache", cache}), "read");
  EXPECT_EQ(use({"--cache", cache, "--keep-loops"}), "filled");
  EXPECT_NE(Succeed({"info", graph, "--cache", cache}).find("loaded from the cache"), std::string::npos);
  std::ofstream(graph, std::ios::app) << "% edited\n";
  EXPECT_EQ(use({"--cache", cache}), "filled");
  for (const auto& entry : fs::directory_iterator(cache)) {
    EXPECT_EQ(entry.path().extension(), ".chatty") << "nothing half-done is left";
    fs::resize_file(entry.path(), fs::file_size(entry.path()) - 1);
  }
  EXPECT_EQ(use({"--cache", cache}), "filled") << "a damaged entry is replaced";
  EXPECT_EQ(use({"--cache", cache}), "read");
  Fail({"run", "bfs", graph, "--cache", ""}, 2, "--cache");
  const std::string file = Write("file", "no folder");
  const Outcome blocked = Chatty({"run", "bfs", graph, "--cache", file + "/cache"});
  EXPECT_EQ(blocked.status, 0);
  EXPECT_NE((blocked.out + blocked.err).find(file + "/cache: cannot be created: Not a directory"), std::string::npos)
      << blocked.out << blocked.err;
}

TEST_F(CliTest, DivisionsAreKeptInACache) {
  const std::string graph = Path("g.chatty"), cache = Path("cache");
  Succeed({"generate", "kron", "9", "-o", graph});
  const auto kept = [&] {
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(cache)) files += entry.path().extension() == ".arrays" ? 1 : 0;
    return files;
  };
  const auto run = [&](const std::string& program, const std::string& devices, const std::string& partition) {
    Succeed({"run", program, graph, "--cache", cache, "--devices", devices, "--partition", partition, "--verify", "--comm",
             "staged"});
    return kept();
  };
  for (const int again : {0, 1}) {
    SCOPED_TRACE(again);
    std::size_t files = again == 0 ? 0 : 4;
    const auto expect_more = [&](std::size_t found, std::size_t more) {
      files += again == 0 ? more : 0;
      EXPECT_EQ(found, files);
    };
    expect_more(run("bfs", "host:2", "edge-balanced"), 1);
    expect_more(run("pagerank", "host:2", "edge-balanced"), 0);
    expect_more(run("sssp", "host:2", "edge-balanced"), 1);
    expect_more(run("cc", "host:3", "random"), 1);
    expect_more(run("bfs", "host:3", "edge-balanced"), 1);
  }
}

TEST_F(CliTest, TheCacheKeepsInEdgesOfWhatPulls) {
  const std::string graph = Path("g.el"), cache = Path("cache");
  Succeed({"generate", "kron", "8", "--directed", "-o", graph});
  const auto files = [&] { return std::distance(fs::directory_iterator(cache), fs::directory_iterator{}); };
  Succeed({"convert", graph, Path("g.chatty"), "--cache", cache});
  EXPECT_EQ(files(), 1) << "nobody has asked for in-edges";
  const auto ranks = [&](const Arguments& more) {
    Succeed(Join({"run", "pagerank", graph, "--devices", "host:2", "--verify", "-o", Path("ranks")}, more));
    std::ifstream file(Path("ranks"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string expected = ranks({});
  for (const char* when : {"made", "read"}) {
    EXPECT_EQ(ranks({"--cache", cache}), expected) << when;
    EXPECT_EQ(files(), 3) << when << ": the graph, its in-edges, its division";
  }
}

/// What loading may take: two and a half times the rows, and a share of what threads parse with.
TEST_F(CliTest, LoadingStaysWithinItsMemory) {
#if CHATTY_TEST_SANITIZED
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  const std::size_t idle = Chatty({"info", Small()}).peak_bytes;
  ASSERT_GT(idle, 0u);
  constexpr std::size_t kOfThreads = 24u << 20;
  for (const Arguments& weights : std::vector<Arguments>{{}, {"--weights", "1:255"}}) {
    Succeed(Join({"generate", "kron", "17", "--edge-factor", "24", "-o", Path("made.chatty")}, weights));
    const Json info = Json::parse(Succeed({"info", Path("made.chatty"), "--json", "-"}));
    const std::size_t rows = info.at("memory");
    // Each reader once, and the plainest with and without weights.
    const std::vector<std::string> names = weights.empty() ? std::vector<std::string>{"kron.el", "kron.el.gz", "kron.chatty"}
                                                           : std::vector<std::string>{"kron.el", "kron.mtx", "kron.gr"};
    for (const std::string& name : names) {
      const bool both_ways = name == "kron.mtx";
      const std::string ids = name == "kron.mtx" || name == "kron.gr" ? "one" : "file";  // which they count from
      Succeed(Join({"convert", Path("made.chatty"), Path(name), "--ids", ids},
                   both_ways ? Arguments{"--symmetrise"} : Arguments{}));
      const Outcome loaded = Chatty({"convert", Path(name), "/dev/null", "--format", "binary"});
      EXPECT_EQ(loaded.status, 0) << loaded.err;
      EXPECT_LE(loaded.peak_bytes, idle + kOfThreads + rows * 5 / 2) << name << ", whose rows take " << rows << " bytes";
    }
  }
}

/// Every command of docs/formats.md, as it stands there.
TEST_F(CliTest, ThePageOnFormatsShowsWhatWorks) {
  std::ifstream page(CHATTY_SOURCE_DIR "/docs/formats.md");
  ASSERT_TRUE(page);
  const fs::path bin = Path("bin");
  fs::create_directory(bin);
  fs::create_symlink(Binary(), bin / "chatty");
  std::string line, script = "set -e\ncd '" + folder_.string() + "'\nPATH='" + bin.string() + "':$PATH\n";
  bool inside = false;
  int commands = 0;
  while (std::getline(page, line)) {
    if (line == "```sh" || (inside && line == "```")) {
      inside = !inside;
    } else if (inside) {
      script += line + "\n";
      commands += line.starts_with("chatty ") ? 1 : 0;
    }
  }
  EXPECT_GE(commands, 5);
  const std::string file = Write("page.sh", script), log = Path("page.log");
  EXPECT_EQ(std::system(("sh " + file + " >" + log + " 2>&1").c_str()), 0) << ReadAll(log);
}

}  // namespace
}  // namespace chatty::cli::test
