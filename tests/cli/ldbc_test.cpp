// LDBC Graphalytics from end to end, ids with gaps, and results in every form.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

/// Lines `id value`.
using Lines = std::vector<std::pair<std::string, std::string>>;
Lines ParseLines(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string id, value; stream >> id >> value;) lines.emplace_back(id, value);
  return lines;
}

class LdbcCliTest : public CliTest {
 protected:
  /// 10 -> 20 -> 40 and 20 -> 30, weighted, and 50 alone; 7 * 10^18 is the largest.
  std::string Gaps() const {
    Write("g.v", "10\n20\n30\n50\n7000000000000000000\n");
    Write("g.e", "10 20 1\n20 7000000000000000000 2\n20 30 4\n");
    return Write("g.properties",
                 "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.meta.vertices = 5\ngraph.g.meta.edges = 3\n"
                 "graph.g.directed = true\ngraph.g.edge-properties.names = w\ngraph.g.edge-properties.types = integer\n"
                 "graph.g.bfs.source-vertex = 20\ngraph.g.sssp.source-vertex = 10\ngraph.g.pr.damping-factor = 0.5\n"
                 "graph.g.pr.num-iterations = 3\ngraph.g.cdlp.max-iterations = 2\n");
  }
  std::string Out(const Arguments& arguments) const {
    const Outcome outcome = Chatty(Join(arguments, {"-o", "-"}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_F(LdbcCliTest, TheExamplesGiveWhatIsPublishedOnAnyDevices) {
  const char* const set = std::getenv("CHATTY_DATA");
  const fs::path folder = fs::path(set != nullptr ? set : CHATTY_SOURCE_DIR "/../shared/data") / "ldbc-examples";
  if (!fs::exists(folder)) GTEST_SKIP() << "no LDBC examples at " << folder << "; set CHATTY_DATA";
  const std::vector<std::string> all{"contiguous", "edge-balanced", "random"};
  for (const std::string example : {"example-directed", "example-undirected"}) {
    const std::string properties = (folder / (example + ".properties")).string();
    for (const std::string algorithm : {"bfs", "cdlp", "lcc", "pr", "sssp", "wcc"}) {
      std::string suffix = algorithm;
      for (char& c : suffix) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      const std::string published = (folder / (example + "-" + suffix)).string();
      const Lines expected = ParseLines(ReadAll(published));
      ASSERT_EQ(expected.size(), example == "example-directed" ? 10u : 9u);
      for (const std::string devices : {"1", "2", "3", "4", "8"}) {
        for (const std::string& partition : all) {
          if (devices == "1" && partition != all.front()) continue;
          if (CHATTY_TEST_SANITIZED && devices != "1" && devices != "3") continue;
          SCOPED_TRACE(algorithm + " on " + example + ", host:" + devices + ", " + partition);
          const std::string output = Path("out.txt");
          Succeed({"run", algorithm, "--ldbc", properties, "--devices", "host:" + devices, "--partition", partition,
                   "--verify", "--output", output});
          const Lines values = ParseLines(ReadAll(output));
          ASSERT_EQ(values.size(), expected.size());
          std::set<std::pair<std::string, std::string>> pairs;
          for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_EQ(values[i].first, expected[i].first);
            const std::string &given = values[i].second, &right = expected[i].second;
            pairs.emplace(given, right);
            if (algorithm == "bfs" || algorithm == "cdlp") {
              EXPECT_EQ(given, right);
            } else if (algorithm != "wcc" && right != "Infinity") {
              EXPECT_LE(std::abs(std::stod(given) - std::stod(right)), 1e-4 * std::stod(right));
            } else if (algorithm != "wcc") {
              EXPECT_EQ(given, "infinity");
            }
          }
          if (algorithm == "wcc") {  // the same sets, whatever they are called
            std::set<std::string> labels, others;
            for (const auto& [given, right] : pairs) labels.insert(given), others.insert(right);
            EXPECT_EQ(pairs.size(), labels.size());
            EXPECT_EQ(pairs.size(), others.size());
          }
        }
      }
      EXPECT_TRUE(Succeed({"verify", algorithm, "--ldbc", properties, published}).starts_with("verified: "));
    }
  }
}

TEST_F(LdbcCliTest, ParametersAreTheFilesUnlessOptionsSayOtherwise) {
  const std::string graph = Gaps();
  EXPECT_EQ(Out({"run", "bfs", "--ldbc", graph}),
            "10 9223372036854775807\n20 0\n30 1\n50 9223372036854775807\n"
            "7000000000000000000 1\n");
  EXPECT_EQ(Out({"run", "bfs", "--ldbc", graph, "--source", "50"}),
            "10 9223372036854775807\n20 9223372036854775807\n30 9223372036854775807\n50 0\n"
            "7000000000000000000 9223372036854775807\n");
  EXPECT_EQ(Out({"run", "sssp", "--ldbc", graph}),
            "10 0.000000000000000e+00\n20 1.000000000000000e+00\n30 5.000000000000000e+00\n50 infinity\n"
            "7000000000000000000 3.000000000000000e+00\n");
  EXPECT_EQ(Out({"run", "wcc", "--ldbc", graph}), "10 10\n20 10\n30 10\n50 50\n7000000000000000000 10\n");
  EXPECT_EQ(Out({"run", "cdlp", "--ldbc", graph, "--rounds", "1"}), "10 20\n20 10\n30 20\n50 50\n7000000000000000000 20\n");

  const Json json = Json::parse(Succeed({"run", "pr", "--ldbc", graph, "--set", "damping=0.25", "--json", "-"}));
  EXPECT_EQ(json.at("program"), "pagerank");
  EXPECT_EQ(json.at("ldbc").at("properties"), graph);
  EXPECT_EQ(json.at("ldbc").at("taken"), Json({{"rounds", 3}}));
  EXPECT_EQ(json.at("parameters").at("damping"), 0.25);
  EXPECT_EQ(json.at("parameters").at("tolerance"), 0);
  EXPECT_EQ(json.at("statistics").at("rounds"), 3);
  const Json bfs = Json::parse(Succeed({"run", "bfs", "--ldbc", graph, "--json", "-"}));
  EXPECT_EQ(bfs.at("sources"), Json({20}));
  EXPECT_EQ(bfs.at("parameters").at("source"), 20);
  EXPECT_EQ(bfs.at("graph").at("least_id"), 10);
  EXPECT_EQ(bfs.at("graph").at("largest_id"), 7000000000000000000);
  EXPECT_TRUE(bfs.at("graph").at("first_id").is_null());
  EXPECT_NE(Succeed({"run", "bfs", "--ldbc", graph}).find("source 20, from " + graph), std::string::npos);
  EXPECT_NE(Succeed({"run", "lcc", "--ldbc", graph}).find("no parameters from " + graph), std::string::npos);
  EXPECT_TRUE(Json::parse(Succeed({"run", "bfs", Small(), "--json", "-"})).at("ldbc").is_null());
}

TEST_F(LdbcCliTest, WhatContradictsThePropertiesIsRefused) {
  const std::string graph = Gaps();
  Fail({"run", "bfs", graph, "--ldbc", graph}, 2, "give one of the two");
  Fail({"run", "bfs"}, 2, "GRAPH is required; see `chatty run --help`");
  Fail({"verify", "bfs", "--ldbc", graph}, 2, "VALUES is required");
  Fail({"verify", "bfs", graph}, 2, "VALUES is required");
  Fail({"verify", "bfs", graph, Path("v"), "--ldbc", graph}, 2, "give one of the two");
  Fail({"run", "pagerank_push", "--ldbc", graph}, 2, "has bfs, cdlp, lcc, pr, sssp and wcc, not pagerank_push");
  Fail({"run", "bfs", "--ldbc", graph, "--format", "mtx"}, 2, "contradicts --ldbc");
  Fail({"run", "bfs", "--ldbc", graph, "--ids", "zero"}, 2, "contradicts --ldbc");
  Fail({"run", "bfs", "--ldbc", "-"}, 2, "give its path");
  Fail({"run", "bfs", "--ldbc", Small()}, 2, "not a properties file of LDBC");
  Fail({"run", "bfs", "--ldbc", graph, "--output", Path("g.e")}, 2, "are the same file");
  Fail({"convert", graph, Path("g.e")}, 2, "are the same file");
  Fail({"convert", Path("g.e"), Path("g.properties")}, 2, "are the same file");
  const std::string text = ReadAll(graph);
  const auto without = [&](std::string_view line) {
    std::string cut = text;
    const std::size_t at = cut.find(line);
    return Write("g.properties", cut.erase(at, cut.find('\n', at) + 1 - at));
  };
  Fail({"run", "bfs", "--ldbc", without("graph.g.bfs")}, 2,
       "does not say graph.g.bfs.source-vertex; add the line, or give --source");
  Succeed({"run", "bfs", "--ldbc", graph, "--source", "10"});
  Fail({"run", "cdlp", "--ldbc", without("graph.g.cdlp")}, 2, "give --rounds");
  Fail({"run", "pr", "--ldbc", without("graph.g.pr.damping")}, 2, "give --damping");
  Write("g.properties", text + "graph.g.bfs.source-vertex = 21\n");
  Fail({"run", "bfs", "--ldbc", graph}, 2, "not a vertex; the graph's are 10 to 7000000000000000000, with gaps");
}

TEST_F(LdbcCliTest, IdsWithGapsAreTheFilesOwnEverywhere) {
  const std::string graph = Gaps();
  EXPECT_EQ(Out({"run", "bfs", graph, "--source", "10"}), "10 0\n20 1\n30 2\n50 infinity\n7000000000000000000 2\n");
  EXPECT_EQ(Out({"run", "bfs", graph, "--source", "10", "--value", "parent"}),
            "10 10\n20 10\n30 20\n50 -1\n7000000000000000000 20\n");
  EXPECT_EQ(Out({"run", "bfs", graph, "--source", "0", "--ids", "zero"}), "0 0\n1 1\n2 2\n3 infinity\n4 2\n");
  EXPECT_EQ(Out({"run", "bfs", graph, "--set", "source=10"}), Out({"run", "bfs", graph, "--source", "10"}));
  Fail({"run", "bfs", graph, "--source", "40"}, 2, "--source 40: not a vertex; the graph's are 10 to 7000000000000000000");
  const std::string info = Succeed({"info", graph});
  EXPECT_NE(info.find("10 to 7000000000000000000, with gaps"), std::string::npos) << info;
  EXPECT_NE(info.find("largest at vertex 20"), std::string::npos) << info;
  const Json json = Json::parse(Succeed({"info", graph, "--json", "-"}));
  EXPECT_EQ(json.at("out_degree").at("max_vertex"), 20);

  const std::string right = Write("right", "7000000000000000000 2\n50 -1\n10 0\n30 2\n20 1\n");
  Succeed({"verify", "bfs", graph, right, "--source", "10"});
  const std::string wrong = Write("wrong", "7000000000000000000 3\n50 -1\n10 0\n30 2\n20 1\n");
  Fail({"verify", "bfs", graph, wrong, "--source", "10"}, 3, "vertex 7000000000000000000, which is at level 3");
  Fail({"verify", "bfs", graph, Write("other", "40 2\n"), "--source", "10"}, 2, "vertex id 40 is not one of the graph's");
  Fail({"verify", "sssp", graph, Write("minus", "10 0\n20 1\n30 4\n50 inf\n7000000000000000000 3\n"), "--source", "10"}, 3,
       "vertex 30 is said to be at distance 4");

  // A sparse edge list, and back again through LDBC's format.
  const std::string list = Write("sparse.el", "7000000000000000000 20\n20 10\n");
  EXPECT_EQ(Out({"run", "cc", list, "--compact-ids"}), "10 10\n20 10\n7000000000000000000 10\n");
  Fail({"run", "cc", list}, 2, "--compact-ids");
  Succeed({"convert", list, Path("copy.properties"), "--compact-ids"});
  EXPECT_EQ(ReadAll(Path("copy.v")), "10\n20\n7000000000000000000\n");
  EXPECT_EQ(ReadAll(Path("copy.e")), "20 10\n7000000000000000000 20\n");
  EXPECT_EQ(Out({"run", "cc", Path("copy.properties")}), Out({"run", "cc", list, "--compact-ids"}));
}

TEST_F(LdbcCliTest, ResultsComeInEveryFormAndAreVerifiedInEach) {
  const std::string graph = Gaps();
  for (const Arguments& program : std::vector<Arguments>{{"bfs", "--source", "10"},
                                                         {"bfs", "--source", "10", "--value", "parent"},
                                                         {"sssp", "--source", "10"},
                                                         {"sssp", "--source", "10", "--weights", "float"},
                                                         {"cc"},
                                                         {"lcc"},
                                                         {"cdlp", "--rounds", "3"},
                                                         {"pr", "--rounds", "4", "--tolerance", "0"}}) {
    for (const Arguments& form : std::vector<Arguments>{{"v.txt"},
                                                        {"v.npy"},
                                                        {"v.json"},
                                                        {"v.json.gz"},
                                                        {"v.zst", "--output-format", "json"},
                                                        {"v", "--output-format", "ldbc"},
                                                        {"v", "--output-format", "npy"},
                                                        {"v.json", "--output-format", "text"}}) {
      const std::string values = Path(form[0]);
      Succeed(Join(Join({"run", program[0], graph, "-o", values, "--verify"}, Options(program)), Options(form)));
      EXPECT_TRUE(Succeed(Join({"verify", program[0], graph, values}, Options(program))).starts_with("verified: "));
    }
  }
  Succeed({"run", "bfs", graph, "--source", "10", "--value", "parent", "-o", Path("p.json")});
  const Json json = Json::parse(ReadAll(Path("p.json")));
  EXPECT_EQ(json.at("program"), "bfs");
  EXPECT_EQ(json.at("value"), "parent");
  EXPECT_EQ(json.at("ids"), Json({10, 20, 30, 50, 7000000000000000000}));
  EXPECT_EQ(json.at("values"), Json({10, 10, 20, nullptr, 20}));
  Fail({"run", "bfs", graph, "--output-format", "xml"}, 2, "--output-format");
}

TEST_F(LdbcCliTest, AnswersOfOtherToolsAreHeldToWhatTheirKindAllows) {
  const std::string graph = Gaps();
  // Components by any name; another set is none.
  Succeed({"verify", "wcc", graph, Write("a", "10 -3\n20 -3\n30 -3\n50 0\n7000000000000000000 -3\n")});
  Succeed({"verify", "wcc", graph, Write("a.json", R"({"10": 1, "20": 1, "30": 1, "50": 99, "7000000000000000000": 1})")});
  Fail({"verify", "wcc", graph, Write("b", "10 1\n20 1\n30 1\n50 1\n7000000000000000000 1\n")}, 3, "verification failed");
  Fail({"verify", "wcc", graph, Write("c", "10 1\n20 1\n30 2\n50 3\n7000000000000000000 1\n")}, 3, "joins the labels");
  // Real distances summed in another way: 0.01 % is allowed, more is not; integers are exact.
  const std::string reals = Write("r.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.1\n2 3 0.7\n");
  const auto verify = [&](const std::string& last) {
    return Arguments{"verify", "sssp", reals, Write("d", "1 0\n2 0.1\n3 " + last + "\n"), "--source", "1"};
  };
  Succeed(verify("0.8"));
  Succeed(verify("7.999999999999999e-01"));
  Succeed(verify("0.80007"));
  Fail(verify("0.8001"), 3, "verification failed");
  Fail(verify("inf"), 3, "verification failed");
  Fail({"verify", "sssp", graph, Write("e", "10 0\n20 1\n30 5.0001\n50 inf\n7000000000000000000 3\n"), "--source", "10"}, 3,
       "no correct answer");
}

TEST_F(LdbcCliTest, CoordinatesTellTheExtent) {
  const std::string graph = Write("g.gr", "p sp 3 3\na 1 2 5\na 2 3 5\na 3 1 9\n");
  const std::string places = Write("g.co", "c here\np aux sp co 3\nv 1 0 0\nv 2 3 4\nv 3 3 -8\n");
  const std::string text = Succeed({"info", graph, "--coordinates", places});
  EXPECT_NE(text.find("x 0 to 3, y -8 to 4"), std::string::npos) << text;
  EXPECT_NE(text.find("longest 12.0 (2 to 3)"), std::string::npos) << text;
  const Json json = Json::parse(Succeed({"info", graph, "--coordinates", places, "--json", "-"})).at("coordinates");
  EXPECT_EQ(json.at("x"), Json({0.0, 3.0}));
  EXPECT_EQ(json.at("y"), Json({-8.0, 4.0}));
  EXPECT_NEAR(json.at("mean_edge").get<double>(), (5 + 12 + std::sqrt(73.0)) / 3, 1e-12);
  EXPECT_EQ(json.at("longest_edge"), 12.0);
  EXPECT_EQ(json.at("longest_from"), 2);
  Fail({"info", Small(), "--coordinates", places}, 2, "holds 3 positions, but the graph 5 vertices");
  Fail({"info", graph, "--coordinates", Write("bad.co", "p aux sp co 3\nv 1 0 0\n")}, 2, "bad.co:1: the header promises 3");
}

}  // namespace
}  // namespace chatty::cli::test
