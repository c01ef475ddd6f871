// `chatty run`: values in the ids of the file, the same however they are made, and what options make of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../sanitized.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, ResultsAreInTheFilesOwnIds) {
  const std::string graph = Small();
  const auto values = [&](const Arguments& more) {
    const Outcome outcome = Chatty(Join({"run", "bfs", graph, "--output", "-", "--verify"}, more));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(values({"--source", "1"}), "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
  EXPECT_EQ(values({"--source", "0", "--ids", "zero"}), "0 0\n1 1\n2 1\n3 2\n4 infinity\n");
  EXPECT_EQ(values({"--source", "2"}), "1 infinity\n2 0\n3 1\n4 2\n5 infinity\n");
  EXPECT_EQ(values({"--source", "1", "--value", "parent"}), "1 1\n2 1\n3 1\n4 3\n5 -1\n");
  EXPECT_EQ(values({"--source", "0", "--value", "parent", "--ids", "zero"}), "0 0\n1 0\n2 0\n3 2\n4 -1\n");
  EXPECT_EQ(values({"--set", "source=2"}), values({"--source", "2"}));
  EXPECT_EQ(values({}), values({"--source", "1"})) << "vertex 1 has the most out-edges";
}

TEST_F(CliTest, ComponentsAreWeakAndCalledByTheirLeastId) {
  const std::string graph = Small();
  EXPECT_EQ(Chatty({"run", "cc", graph, "-o", "-"}).out, "1 1\n2 1\n3 1\n4 1\n5 5\n");
  EXPECT_EQ(Chatty({"run", "cc", graph, "-o", "-", "--ids", "zero"}).out, "0 0\n1 0\n2 0\n3 0\n4 4\n");
}

TEST_F(CliTest, TrianglesAreToldOfVerticesAndInAll) {
  // Two of them share an edge; one edge is there both ways, there is a loop, and 5 has but one neighbour.
  const std::string graph = Write("edges.el", "0 1\n1 2\n2 0\n0 2\n1 3\n3 2\n3 3\n5 3\n");
  const std::string json = Path("run.json");
  for (const std::string devices : {"host:1", "host:2"}) {
    const Arguments run{"run", "triangles", graph, "--devices", devices};
    EXPECT_EQ(Chatty(Join(run, {"-o", "-", "--verify"})).out, "0 1\n1 2\n2 2\n3 1\n4 0\n5 0\n");
    EXPECT_NE(Succeed(Join(run, {"--json", json})).find("  total      2 triangles\n"), std::string::npos);
    EXPECT_EQ(Json::parse(ReadAll(json)).at("total"), 2u);
  }
  Succeed({"run", "cc", graph, "--json", json});
  EXPECT_TRUE(Json::parse(ReadAll(json)).at("total").is_null());
  Fail({"verify", "triangles", graph, Write("wrong.txt", "0 1\n1 2\n2 1\n3 1\n4 0\n5 0\n")}, 3,
       "2 is said to be in 1 triangles, and is in 2");
}

TEST_F(CliTest, DistancesUseWeightsOrOne) {
  EXPECT_EQ(Chatty({"run", "sssp", Small(), "-o", "-", "--source", "1"}).out, "1 0\n2 1\n3 2\n4 9\n5 infinity\n");
  const std::string bare = Write("bare.el", "0 1\n1 2\n0 2\n");
  EXPECT_EQ(Chatty({"run", "sssp", bare, "-o", "-", "--source", "0"}).out, "0 0\n1 1\n2 1\n");
}

TEST_F(CliTest, ADistanceThatDoesNotFitIsAnError) {
  const std::string far = Write("far.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 3e38\n2 3 3e38\n");
  Fail({"run", "sssp", far, "--source", "1", "--verify", "--output", Path("d.txt")}, 1, "the most that a float holds");
  const std::string longer = Write("longer.el", "0 1 2147483647\n1 2 2147483647\n2 3 2147483647\n");
  Fail({"run", "sssp", longer, "--source", "0", "--output", Path("d.txt")}, 1, "--weights float");
  EXPECT_FALSE(fs::exists(Path("d.txt")));
  Succeed({"run", "sssp", longer, "--source", "0", "--weights", "float", "--verify"});
}

TEST_F(CliTest, MaxDegreeTakesTheLeastIdAmongEquals) {
  const std::string graph = Write("ties.el", "3 0\n3 1\n2 0\n2 1\n");
  EXPECT_EQ(Chatty({"run", "bfs", graph, "-o", "-"}).out, "0 1\n1 1\n2 0\n3 infinity\n");
}

TEST_F(CliTest, ReadsStandardInput) {
  EXPECT_EQ(Chatty({"run", "bfs", "-", "-o", "-", "--source", "1"}, Small()).out, "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
}

TEST_F(CliTest, UniqueAnswersAreTheSameBytesHoweverTheyAreMade) {
  const std::string kron = Path("kron.mtx"), road = Path("road.gr");
  Succeed({"generate", "kron", "9", "--edge-factor", "4", "--weights", "1:20", "-o", kron});
  Succeed({"generate", "grid", "23", "17", "--drop", "0.4", "--weights", "1:20", "-o", road});
  std::set<std::string> answers;
  for (const std::string& graph : {kron, road}) {
    for (const Arguments& program :
         std::vector<Arguments>{{"bfs"}, {"bfs", "--value", "parent"}, {"sssp"}, {"cc"}, {"triangles"}}) {
      std::string expected;
      for (const std::string devices : {"1", "3", "8"}) {
        for (const std::string direction : {"auto", "push", "pull"}) {
          for (const std::string partition : {"contiguous", "edge-balanced", "random"}) {
            if (devices == "1" && partition != "contiguous") continue;
            if (CHATTY_TEST_SANITIZED && devices == "8") continue;
            const std::string output = Path("values.txt");
            Succeed(Join({"run", program[0], graph, "--devices", "host:" + devices, "--direction", direction, "--partition",
                          partition, "--verify", "--output", output},
                         Options(program)));
            const std::string answer = ReadAll(output);
            if (expected.empty()) expected = answer;
            ASSERT_EQ(answer, expected) << program[0] << " on host:" << devices << ", " << direction << ", " << partition;
          }
        }
      }
      EXPECT_TRUE(answers.insert(expected).second) << "two different questions have one answer";
    }
  }
}

TEST_F(CliTest, MaxRoundsEndsARun) {
  const std::string graph = Path("chain.el");
  Succeed({"generate", "chain", "50", "-o", graph});
  const Arguments arguments{"run", "bfs", graph, "--source", "0", "--max-rounds", "3", "--json", "-"};
  const Json json = Json::parse(Succeed(arguments));
  EXPECT_EQ(json.at("statistics").at("rounds"), 3);
  EXPECT_EQ(json.at("statistics").at("converged"), false);
  EXPECT_EQ(json.at("ended"), "max-rounds");
  const Outcome written =
      Chatty({"run", "bfs", graph, "--source", "0", "--max-rounds", "3", "--output", Path("levels.txt")});
  EXPECT_EQ(written.status, 0);
  EXPECT_EQ(written.err,
            "chatty: ended by --max-rounds before it converged: the values are those of round 3 and not final\n");
  EXPECT_NE(written.out.find("those of round 3 and not final"), std::string::npos) << written.out;
  EXPECT_EQ(Json::parse(Succeed({"run", "bfs", graph, "--source", "0", "--json", "-"})).at("ended"), "converged");
  // Without rounds there is none that values could be of.
  EXPECT_NE(Chatty({"run", "bfs", graph, "--source", "0", "--max-rounds", "3", "--execution", "async"})
                .out.find("ended by --max-rounds before it converged: the values are what had been found and not final"),
            std::string::npos);
  const Outcome outcome = Chatty(Join(arguments, {"--verify"}));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(Json::parse(outcome.out).at("verification").is_null());
  EXPECT_EQ(outcome.err, "chatty: not verified: --max-rounds ended the run before it converged\n");
}

TEST_F(CliTest, APageRankCutByItsRoundsHasNotConverged) {
  const std::string graph = Path("kron.chatty"), ranks = Path("ranks.txt");
  Succeed({"generate", "kron", "8", "-o", graph});
  const Arguments run{"run", "pagerank", graph, "--rounds", "3", "--tolerance", "1e-9", "--verify"};
  const Json json = Json::parse(Succeed(Join(run, {"--json", "-"})));
  EXPECT_EQ(json.at("ended"), "limit");
  EXPECT_EQ(json.at("statistics").at("converged"), false);
  EXPECT_EQ(json.at("verification").at("passed"), true) << "of as many rounds in fp64";
  const Outcome outcome = Chatty(Join(run, {"--output", ranks}));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("ended by the program's own limit of rounds"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("the values are those of round 3 and not final"), std::string::npos) << outcome.err;
  // Ranks from a file are those of so many rounds where these are given, or else settled.
  Succeed({"run", "pagerank", graph, "--rounds", "3", "--tolerance", "0", "--output", ranks});
  Succeed({"verify", "pagerank", graph, ranks, "--rounds", "3"});
  EXPECT_EQ(Chatty({"verify", "pagerank", graph, ranks}).status, 3);
  EXPECT_EQ(Chatty({"verify", "pagerank", graph, ranks, "--rounds", "4"}).status, 3);
  // So many rounds and no tolerance: that is all that was asked for.
  const Json fixed = Json::parse(Succeed({"run", "pagerank", graph, "--rounds", "3", "--tolerance", "0", "--json", "-"}));
  EXPECT_EQ(fixed.at("ended"), "converged");
}

TEST_F(CliTest, RoundsOfPageRankAreThoseOfTheDefinition) {
  const std::string graph = Write("dangling.el", "0 1\n1 2\n3 2\n4 1\n");
  for (const std::string devices : {"host:1", "host:2", "host:3"}) {
    for (const Arguments& tolerance : {Arguments{}, Arguments{"--tolerance", "1e-9"}, Arguments{"--tiles", "always"}}) {
      const std::string out =
          Chatty(Join({"run", "pagerank", graph, "--rounds", "1", "--devices", devices, "-o", "-"}, tolerance)).out;
      std::istringstream lines(out);
      for (const double expected : {0.064, 0.404, 0.404, 0.064, 0.064}) {
        std::uint64_t id = 0;
        double rank = 0;
        ASSERT_TRUE(lines >> id >> rank) << out;
        EXPECT_NEAR(rank, expected, 1e-7) << out;
      }
    }
  }
}

TEST_F(CliTest, PrecisionIsThatOfTheRanks) {
  const std::string graph = Path("kron.chatty"), ranks = Path("ranks.txt");
  Succeed({"generate", "kron", "8", "--directed", "-o", graph});
  // Where nothing changes, the run has converged whatever the precision.
  const std::string ring = Write("ring.el", "0 1\n1 2\n2 3\n3 0\n");
  const std::string still = Succeed({"run", "pagerank", ring, "--tolerance", "1e-12", "--output", Path("ring.txt")});
  EXPECT_EQ(still.find("precision of float"), std::string::npos) << still;
  EXPECT_EQ(ReadAll(Path("ring.txt")), "0 0.25\n1 0.25\n2 0.25\n3 0.25\n");
  const Outcome single = Chatty({"run", "pagerank", graph, "--tolerance", "1e-12", "--output", ranks});
  EXPECT_EQ(single.status, 0);
  EXPECT_NE(single.err.find("ended by the precision of float, in which ranks settle to a change of 1.2e-07 or a few times "
                            "that (--precision double: to less), before it converged"),
            std::string::npos)
      << single.err;
  // The change of a round stays above the precision, because errors of earlier rounds add up.
  const std::string grid = Path("grid.chatty");
  Succeed({"generate", "grid", "100", "100", "--drop", "0.38", "-o", grid});
  for (const char* const tolerance : {"1e-7", "1.3e-7"}) {
    const Json rounded = Json::parse(Succeed({"run", "pr", grid, "--tolerance", tolerance, "--json", "-"}));
    EXPECT_EQ(rounded.at("ended"), "limit");
    EXPECT_LT(rounded.at("statistics").at("rounds"), 400);
  }
  const std::string small = Path("small.chatty");  // damping so near 1 takes more rounds than there are
  Succeed({"generate", "grid", "20", "20", "--drop", "0.38", "-o", small});
  EXPECT_NE(Succeed({"run", "pr", small, "--damping", "0.99999", "--tolerance", "1e-6"}).find("own limit of rounds"),
            std::string::npos);
  const Json json =
      Json::parse(Succeed({"run", "pr", graph, "--tolerance", "1e-12", "--precision", "double", "--verify", "--json", "-"}));
  EXPECT_EQ(json.at("ended"), "converged");
  EXPECT_EQ(json.at("verification").at("passed"), true);
  Succeed({"run", "pagerank", graph, "--precision", "double", "--output", ranks});
  Succeed({"verify", "pagerank", graph, ranks, "--precision", "double"});
  Fail({"run", "bfs", graph, "--precision", "double"}, 2,
       "program 'bfs' has one precision; those that have two are pagerank");
  Fail({"run", "pagerank", graph, "--precision", "half"}, 2, "half");
}

TEST_F(CliTest, RandomSourcesAreThoseOfTheSeed) {
  const std::string graph = Path("kron.chatty");
  Succeed({"generate", "kron", "8", "-o", graph});
  const auto sources = [&](const std::string& seed) {
    return Json::parse(Succeed({"run", "bfs", graph, "--source", "random:" + seed, "--trials", "12", "--json", "-"}))
        .at("sources");
  };
  const Json once = sources("1");
  EXPECT_EQ(once, sources("1"));
  EXPECT_NE(once, sources("2"));
  EXPECT_GT(std::set<int>(once.begin(), once.end()).size(), 3);
}

TEST_F(CliTest, OutputIsTheLastTrials) {
  const std::string graph = Path("kron.chatty"), values = Path("values.txt");
  Succeed({"generate", "kron", "8", "-o", graph});
  const Json json = Json::parse(Succeed(
      {"run", "bfs", graph, "--source", "random:5", "--trials", "4", "--verify", "--output", values, "--json", "-"}));
  EXPECT_EQ(json.at("verification").at("passed"), true);
  Succeed({"verify", "bfs", graph, values, "--source", fmt::format("{}", json.at("sources")[3].get<int>())});
}

}  // namespace
}  // namespace chatty::cli::test
