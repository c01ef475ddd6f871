// What the commands say of files that nearly are something else, of what programs leave unused, and of long arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../io/test_files.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

class Reading : public CliTest {
 protected:
  /// `run PROGRAM FILE OPTIONS... -o -`: the values; `said` is standard error.
  std::string Values(const Arguments& arguments, std::string* said = nullptr) const {
    const Outcome outcome = Chatty(Join(Join({"run"}, arguments), {"--devices", "host:1", "-o", "-"}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    if (said != nullptr) *said = outcome.err;
    return outcome.out;
  }
};

TEST_F(Reading, ABannerWithOnePercentSign) {
  const std::string path =
      Write("one.mtx", "%MatrixMarket matrix coordinate integer symmetric\n5 5 5\n2 1 7\n3 2 7\n4 3 7\n5 4 7\n5 1 50\n");
  std::string said;
  EXPECT_EQ(Values({"sssp", path, "--source", "1", "--verify"}, &said), "1 0\n2 7\n3 14\n4 21\n5 28\n");
  EXPECT_NE(said.find("one.mtx:1: is nearly a banner"), std::string::npos) << said;
  Fail({"run", "sssp", Write("none.mtx", "5 5 4\n2 1 3\n3 2 3\n4 3 3\n5 4 3\n"), "--source", "1"}, 2,
       "none.mtx:1: begins with '5 5 4', not with the banner of Matrix Market");
}

TEST_F(Reading, KonectsColumnsAndDirection) {
  std::string said;
  const std::string path = Write(
      "k.out", "% asym posweighted\n% 4 4 4\n1 2 5 1082008561\n2 3 2 1082008561\n3 4 1 1082008590\n1 4 9 1082008600\n");
  EXPECT_EQ(Values({"sssp", path, "--source", "1"}, &said), "1 0\n2 5\n3 7\n4 8\n");
  EXPECT_NE(said.find("times (column 4) left out"), std::string::npos) << said;
  EXPECT_NE(Succeed({"info", path}).find("times (column 4) left out"), std::string::npos);
  const Arguments cached = {"info", path, "--cache", Path("cache")};
  Succeed(cached);
  EXPECT_NE(Succeed(cached).find("times (column 4) left out"), std::string::npos) << "from the cache, too";
  const std::string sym = Write("sym.out", "% sym unweighted\n% 3 4 4\n1 2\n2 3\n3 4\n");
  EXPECT_EQ(Values({"bfs", sym, "--source", "4"}), "1 3\n2 2\n3 1\n4 0\n");
  const std::string bip = Write("bip.out", "% bip unweighted\n% 3 2 2\n1 1\n2 1\n2 2\n");
  EXPECT_EQ(Values({"bfs", bip, "--source", "1"}, &said), "1 0\n2 2\n3 1\n4 3\n");
  EXPECT_NE(said.find("id k of the right one is 2 + k"), std::string::npos) << said;
  Fail({"convert", sym, Path("x"), "--format", "konect"}, 2, "is read and not written");
}

TEST_F(Reading, AnArchiveIsCalledOne) {
  std::string tar(1024, '\0');
  tar.replace(0, 13, "tiny/tiny.mtx");
  tar.replace(257, 5, "ustar");
  Fail({"info", Write("archive.tar.gz", chatty::test::Gzip(tar))}, 2, "is a tar archive; unpack it (tar xf ");
}

TEST_F(Reading, WeightsThatAProgramDoesNotUseAreSaidToBeUnused) {
  const std::string path = Write("w.wel", "4 8 3\n8 6 3\n4 5 1\n5 6 1\n6 9 2\n");
  for (const std::string program : {"bc", "bfs", "cc", "pagerank"}) {
    const std::string text = Succeed({"run", program, path, "--symmetrise", "--devices", "host:1"});
    EXPECT_NE(text.find("int32 weights, which " + program + " does not use\n"), std::string::npos) << text;
  }
  const std::string used = Succeed({"run", "sssp", path, "--symmetrise", "--devices", "host:1"});
  EXPECT_NE(used.find("int32 weights\n"), std::string::npos) << used;
  EXPECT_EQ(Succeed({"run", "bfs", Write("p.el", "0 1\n"), "--devices", "host:1"}).find("does not use"), std::string::npos);
}

TEST_F(Reading, PartsThatCountFromOneAndEmptyParts) {
  const std::string path = Write("path.graph", "3 2\n2\n1 3\n2\n"), parts = Write("one.txt", "1\n2\n2\n");
  Fail({"run", "bfs", path, "--devices", "host:2", "--partition", parts, "--source", "1"}, 2,
       "no vertex is in part 0: parts count from 0");
  const Outcome taken = Chatty({"run", "bfs", path, "--devices", "host:3", "--partition", parts, "--source", "1"});
  EXPECT_EQ(taken.status, 0) << taken.err;
  EXPECT_NE(taken.err.find("no vertex is in part 0"), std::string::npos) << taken.err;
  const Outcome middle =
      Chatty({"run", "bfs", path, "--devices", "host:3", "--partition", Write("gap.txt", "0\n2\n2\n"), "--source", "1"});
  EXPECT_EQ(middle.status, 0) << middle.err;
  EXPECT_NE(middle.err.find("no vertex is in part 1\n"), std::string::npos) << middle.err;
}

TEST_F(Reading, LongArgumentsAreNotRepeated) {
  const std::string graph = Write("g.el", "0 1\n"), lengthy(100'000, 'x'), blanks(100'000, ' ');
  for (const Arguments& arguments : std::vector<Arguments>{{"info", lengthy},
                                                           {"info", lengthy.substr(0, 5000) + "/" + lengthy},
                                                           {lengthy},
                                                           {"--" + lengthy},
                                                           {"run", lengthy, graph},
                                                           {"run", "bfs", graph, "--set", lengthy + "=1"},
                                                           {"run", "bfs", graph, "--set", "source=" + lengthy},
                                                           {"run", "bfs", graph, "--set", lengthy},
                                                           {"run", "bfs", graph, "--source", blanks + "x"},
                                                           {"run", "bfs", graph, "--devices", "host:" + lengthy},
                                                           {"run", "bfs", graph, "--partition", lengthy},
                                                           {"run", "bfs", graph, "--partition", "./" + lengthy},
                                                           {"run", "bfs", graph, "--comm", lengthy},
                                                           {"run", "bfs", graph, "--links", lengthy},
                                                           {"run", "bfs", graph, "--threads", lengthy},
                                                           {"run", "bfs", graph, "--format", lengthy},
                                                           {"run", "bfs", graph, "--value", lengthy},
                                                           {"run", "bfs", graph, "--delta", lengthy},
                                                           {"run", "bfs", graph, "--host-memory-limit", lengthy},
                                                           {"run", "bfs", graph, "-o", "./" + lengthy + "/x"},
                                                           {"run", "bfs", graph, "--" + lengthy, "1"},
                                                           {"verify", "bfs", graph, lengthy},
                                                           {"generate", lengthy, "3"},
                                                           {"convert", graph, lengthy},
                                                           {"help", lengthy}}) {
    const Outcome outcome = Chatty(arguments);
    std::string command;
    for (const std::string& word : arguments) command += ' ' + word.substr(0, 20);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_LT(outcome.err.size(), 1000u) << command;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << command;
  }
  // Nor what files hold.
  EXPECT_LT(Chatty({"info", Write("l.el", "0 1\n1 " + lengthy + "\n")}).err.size(), 500u);
  EXPECT_LT(Chatty({"info", Write("l.properties", "graph." + lengthy + ".vertex-file = x\n")}).err.size(), 500u);
  EXPECT_LT(Chatty({"info", Write("m.properties", "graph.g.vertex-file = " + lengthy + "\n")}).err.size(), 500u);
}

}  // namespace
}  // namespace chatty::cli::test
