// `chatty generate`, `convert`, `info` and `programs`, help and versions; weights that are converted.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, GenerateIsReproducible) {
  for (const Arguments& family : std::vector<Arguments>{{"kron", "7"},
                                                        {"rmat", "7", "--a", "0.4", "--b", "0.3", "--c", "0.2"},
                                                        {"uniform", "7", "--degree", "5"},
                                                        {"rgg", "7", "--radius", "0.2"},
                                                        {"road", "9", "7"},
                                                        {"ba", "60", "--edges-per-vertex", "3"},
                                                        {"small-world", "60", "--neighbours", "4", "--rewire", "0.3"},
                                                        {"grid", "9", "7"},
                                                        {"grid", "4", "5", "3"},
                                                        {"debruijn", "6"},
                                                        {"chain", "30"},
                                                        {"star", "30"},
                                                        {"complete", "12"},
                                                        {"binary-tree", "30"}}) {
    for (const std::string weights : {"none", "1:9", "float", "float:2:3"}) {
      std::set<std::string> files;
      for (const std::string threads : {"1", "2"}) {
        Succeed(Join(Join({"generate"}, family),
                     {"-o", Path("g.mtx"), "--weights", weights, "--seed", "5", "--threads", threads}));
        files.insert(ReadAll(folder_ / "g.mtx"));
      }
      EXPECT_EQ(files.size(), 1) << family[0] << ' ' << weights;
    }
  }
}

TEST_F(CliTest, GenerateMakesGapsGraphs) {
  Succeed({"generate", "gap-kron", "10", "-o", Path("g.chatty")});
  EXPECT_EQ(Json::parse(Succeed({"info", Path("g.chatty"), "--json", "-"})).at("graph").at("edges"), 2 * 10496);
  Succeed({"generate", "gap-urand", "10", "--weights", "own", "-o", Path("g.chatty")});
  EXPECT_EQ(Json::parse(Succeed({"info", Path("g.chatty"), "--json", "-"})).at("graph").at("edges"), 2 * 16125);
  Succeed({"generate", "gap-urand", "10", "--weights", "1:255", "-o", Path("same.chatty")});
  EXPECT_EQ(ReadAll(folder_ / "g.chatty"), ReadAll(folder_ / "same.chatty"));
}

TEST_F(CliTest, GeneratedRoadsHaveTravelTimes) {
  Succeed({"generate", "road", "12", "9", "-o", Path("timed.gr")});
  Succeed({"generate", "road", "12", "9", "--weights", "own", "-o", Path("own.gr")});
  Succeed({"generate", "road", "12", "9", "--weights", "unit", "-o", Path("unit.gr")});
  EXPECT_EQ(ReadAll(folder_ / "timed.gr"), ReadAll(folder_ / "own.gr"));
  EXPECT_NE(ReadAll(folder_ / "timed.gr"), ReadAll(folder_ / "unit.gr"));
  Succeed({"generate", "road", "12", "9", "--weights", "none", "-o", Path("bare.mtx")});
  EXPECT_NE(ReadAll(folder_ / "bare.mtx").find("pattern"), std::string::npos);
}

TEST_F(CliTest, IsolatedVerticesOfAGridStay) {
  Succeed({"generate", "grid", "30", "20", "--drop", "0.9", "-o", Path("g.mtx")});
  const Json json = Json::parse(Succeed({"info", Path("g.mtx"), "--json", "-"}));
  EXPECT_EQ(json.at("graph").at("vertices"), 600);
  EXPECT_GT(json.at("isolated").get<int>(), 100);
}

TEST_F(CliTest, ConvertKeepsTheGraph) {
  const std::string graph = Small();
  const std::string expected = Chatty({"run", "sssp", graph, "--ids", "zero", "-o", "-"}).out;
  ASSERT_FALSE(expected.empty());
  std::string from = graph;
  for (const std::string name : {"a.chatty", "b.gr", "c.gr.gz", "d.mtx.zst", "e.chatty"}) {
    Succeed({"convert", from, Path(name)});
    from = Path(name);
    EXPECT_EQ(Chatty({"run", "sssp", from, "--ids", "zero", "-o", "-"}).out, expected) << name;
  }
  EXPECT_EQ(Succeed({"convert", graph, "-", "--format", "edge-list"}), Succeed({"convert", from, "-", "--format", "el"}));
}

TEST_F(CliTest, InfoCounts) {
  const std::string graph = Write("g.el", "0 0\n0 1\n0 1\n0 2\n4 2\n");
  const Json json = Json::parse(Succeed({"info", graph, "--json", "-"}));
  EXPECT_EQ(json.at("graph").at("vertices"), 5);
  EXPECT_EQ(json.at("graph").at("edges"), 3);
  EXPECT_EQ(json.at("graph").at("symmetric"), false);
  EXPECT_EQ(json.at("file").at("format"), "edge-list");
  EXPECT_EQ(json.at("file").at("loops_removed"), 1);
  EXPECT_EQ(json.at("file").at("parallel_merged"), 1);
  EXPECT_EQ(json.at("out_degree").at("max"), 2);
  EXPECT_EQ(json.at("out_degree").at("max_vertex"), 0);
  EXPECT_EQ(json.at("out_degree").at("min"), 0);
  EXPECT_DOUBLE_EQ(json.at("out_degree").at("mean").get<double>(), 0.6);
  EXPECT_EQ(json.at("in_degree").at("max_vertex"), 2);
  EXPECT_EQ(json.at("isolated"), 1);
  EXPECT_EQ(json.at("components").at("count"), 2);
  EXPECT_EQ(json.at("components").at("largest"), 4);
  EXPECT_TRUE(json.at("weight_range").is_null());
  const std::string text = Succeed({"info", graph});
  EXPECT_NE(text.find("1 loops dropped; 1 parallel edges merged"), std::string::npos) << text;
  const Json kept = Json::parse(Succeed({"info", graph, "--keep-loops", "--keep-parallel", "--json", "-"}));
  EXPECT_EQ(kept.at("graph").at("edges"), 5);
  const Json both = Json::parse(Succeed({"info", graph, "--symmetrise", "--json", "-"}));
  EXPECT_EQ(both.at("graph").at("edges"), 6);
  EXPECT_EQ(both.at("graph").at("symmetric"), true);
}

TEST_F(CliTest, ProgramsAreListed) {
  const Json json = Json::parse(Succeed({"programs", "--json"}));
  std::set<std::string> names;
  for (const Json& program : json.at("programs")) {
    names.insert(program.at("name").get<std::string>());
    EXPECT_FALSE(program.at("summary").get<std::string>().empty());
    EXPECT_FALSE(program.at("values").empty());
    EXPECT_EQ(program.at("devices")[0], "host");
  }
  for (const char* name : {"bfs", "sssp", "pagerank", "pagerank_push", "cc", "label_propagation", "triangles", "bc"})
    EXPECT_TRUE(names.contains(name)) << name;
  const std::string text = Succeed({"programs"});
  for (const std::string& name : names) EXPECT_NE(text.find("\n" + name + " "), std::string::npos) << text;
  EXPECT_NE(text.find("damping=0.85"), std::string::npos);
}

TEST_F(CliTest, HelpAndVersionGoToStandardOutput) {
  for (const Arguments& arguments : std::vector<Arguments>{{"--help"}, {"help"}}) {
    const std::string text = Succeed(arguments);
    EXPECT_NE(text.find("Examples:"), std::string::npos) << text;
    EXPECT_NE(text.find("Usage: chatty COMMAND ..."), std::string::npos) << text;
    EXPECT_NE(text.find("\n  convert  "), std::string::npos) << "the commands: " << text;
  }
  EXPECT_EQ(Succeed({"help"}), Succeed({"--help"}));
  EXPECT_NE(Succeed({"help", "help"}).find("Usage: chatty help"), std::string::npos);
  for (const std::string command : {"run", "verify", "info", "generate", "convert", "partition", "programs", "topology"}) {
    const std::string text = Succeed({command, "--help"});
    EXPECT_NE(text.find("Usage: chatty " + command), std::string::npos) << text;
    EXPECT_NE(text.find("Examples:\n  chatty " + command), std::string::npos) << text;
    EXPECT_EQ(Succeed({"help", command}), text);
    EXPECT_EQ(text.find("\n:"), std::string::npos) << "options that are gone: " << text;
    EXPECT_EQ(text.find(":{"), std::string::npos) << "the parser's own list of values: " << text;
  }
  const std::string run = Succeed({"run", "--help"});
  EXPECT_NE(run.find("the last trial's answer"), std::string::npos) << run;
  EXPECT_NE(run.find("1 the run failed, or a device\nthat was asked for is not there"), std::string::npos) << run;
  std::istringstream lines(run);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_TRUE(Succeed({"--version"}).starts_with("chatty "));
}

TEST_F(CliTest, WeightsAreConvertedAsAsked) {
  const auto distances = [&](const std::string& weights) {
    return Chatty({"run", "sssp", Small(), "--source", "1", "-o", "-", "--verify", "--weights", weights}).out;
  };
  EXPECT_EQ(distances("file"), "1 0\n2 1\n3 2\n4 9\n5 infinity\n");
  EXPECT_EQ(distances("float"), distances("file"));
  EXPECT_EQ(distances("none"), "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
  const std::string far = Write("far.el", "0 1 2000000000\n1 2 2000000000\n2 3 2000000000\n");
  Fail({"run", "sssp", far, "--source", "0", "--verify"}, 1, "float weights");
  EXPECT_EQ(Chatty({"run", "sssp", far, "--source", "0", "-o", "-", "--weights", "float"}).out,
            "0 0\n1 2e+09\n2 4e+09\n3 6e+09\n");
  Fail({"run", "sssp", Write("half.el", "0 1 0.5\n"), "--weights", "int"}, 2, "0.5");
  Fail({"run", "sssp", far, "--weights", "double"}, 2, "--weights");
}

TEST_F(CliTest, RoundedIntegerWeightsAreWarnedOf) {
  const auto warning = [&](std::string_view edges, std::string_view kind = "float32") {
    const Outcome outcome = Chatty({"run", "sssp", Write("g.el", edges), "--source", "0", "--json", "-"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(Json::parse(outcome.out).at("graph").at("weights"), kind);
    return outcome.err;
  };
  EXPECT_NE(warning("0 1 3000000001\n1 2 1\n").find("do not fit 32 bits"), std::string::npos);
  EXPECT_EQ(warning("0 1 2147483647\n", "int32"), "");
  EXPECT_EQ(warning("0 1 2.5\n1 2 3000000000\n"), "") << "reals were asked for";
}

}  // namespace
}  // namespace chatty::cli::test
