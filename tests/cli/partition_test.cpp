// `chatty partition` and `--partition`: divisions compared, written and read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

constexpr const char* kMetis = CHATTY_WITH_METIS ? "metis" : "edge-balanced";  // what `metis` comes to

TEST_F(CliTest, PartitionsAreComparedAndWritten) {
  const std::string graph = Path("grid.mtx"), file = Path("grid.part.4");
  Succeed({"generate", "grid", "40", "30", "-o", graph});
  const Outcome outcome =
      Chatty({"partition", graph, "--parts", "4", "--partition", "metis,edge-balanced,random", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("parts"), 4);
  const Json& rows = json.at("partitions");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].at("asked"), "metis");
  EXPECT_EQ(rows[0].at("name"), kMetis);
  EXPECT_EQ(rows[1].at("name"), "edge-balanced");
  EXPECT_EQ(rows[2].at("name"), "random");
  EXPECT_LT(rows[1].at("edge_cut").get<int>(), rows[2].at("edge_cut").get<int>());
  EXPECT_LE(rows[0].at("edge_cut").get<int>(), rows[1].at("edge_cut").get<int>());
  // Rows of 40 in four ranges: three cuts of 40 edges and a few, both ways; each side of a cut is border and halo.
  EXPECT_NEAR(rows[1].at("edge_cut").get<int>(), 240, 8);
  EXPECT_EQ(rows[1].at("border_total"), rows[1].at("halo_total"));
  EXPECT_GT(rows[2].at("halo_total").get<int>(), rows[2].at("border_total").get<int>());

  const Outcome table = Chatty({"partition", graph, "--parts", "4", "--partition", "edge-balanced,random"});
  EXPECT_NE(table.out.find("\nedge-balanced "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\nrandom "), std::string::npos) << table.out;

  EXPECT_NE(Chatty({"partition", graph, "--parts", "4", "-o", file}).out.find(kMetis), std::string::npos);
  const Json read = Json::parse(Succeed({"partition", graph, "--partition", file, "--json", "-"}));
  EXPECT_EQ(read.at("parts"), 4);
  EXPECT_EQ(read.at("partitions")[0].at("name"), file);
  EXPECT_EQ(read.at("partitions")[0].at("edge_cut"), rows[0].at("edge_cut"));
  EXPECT_EQ(read.at("partitions")[0].at("owned"), rows[0].at("owned"));
  EXPECT_EQ(Chatty({"partition", graph, "--partition", file, "-o", "-", "-q"}).out, ReadAll(file));
}

TEST_F(CliTest, AnswersDoNotDependOnAMetisPartition) {
  const std::string kron = Path("kron.mtx"), road = Path("road.gr");
  Succeed({"generate", "kron", "9", "--edge-factor", "4", "-o", kron});
  Succeed({"generate", "grid", "23", "17", "--drop", "0.4", "-o", road});
  for (const std::string& graph : {kron, road}) {
    const std::string file = graph + ".part.4";
    ASSERT_EQ(Chatty({"partition", graph, "--parts", "4", "-o", file}).status, 0);
    for (const std::string program : {"bfs", "cc"}) {
      const std::string expected = Chatty({"run", program, graph, "--devices", "host:1", "--output", "-"}).out;
      EXPECT_GT(expected.size(), 100);
      for (const std::string& partition : {std::string("metis"), file}) {
        const Outcome outcome = Chatty({"run", program, graph, "--devices", "host:4", "--partition", partition, "--verify",
                                        "--output", Path("values.txt"), "--json", "-"});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(ReadAll(Path("values.txt")), expected) << program << ' ' << partition;
        EXPECT_EQ(Json::parse(outcome.out).at("partition"), partition == "metis" ? kMetis : partition);
        EXPECT_EQ(Json::parse(outcome.out).at("partition_asked"), partition);
      }
    }
  }
}

TEST_F(CliTest, WhatWasUsedInPlaceOfMetisIsTold) {
  const Arguments run{"run", "bfs", Small(), "--source", "1", "--devices", "host:8", "--partition", "metis"};
  const Outcome outcome = Chatty(Join(run, {"--verify", "--json", "-"}));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.err.starts_with("warning: partition metis: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("partition"), "edge-balanced");
  EXPECT_EQ(Json::parse(outcome.out).at("partition_asked"), "metis");
  EXPECT_NE(Chatty(run).out.find(", edge-balanced partition, "), std::string::npos);
  Fail(Join(run, {"--no-fallback"}), 1, "partition metis into 8 parts");
  Fail({"partition", Small(), "--parts", "8", "--no-fallback"}, 1, "partition metis into 8 parts");
  Fail({"info", Small(), "--parts", "8", "--partition", "metis", "--no-fallback"}, 1, "partition metis into 8 parts");
  EXPECT_NE(Chatty({"partition", Small(), "--parts", "8"}).out.find("edge-balanced (metis was asked for)"),
            std::string::npos);
}

TEST_F(CliTest, PartFilesAreChecked) {
  const std::string graph = Small(), file = Write("small.part.2", "0\n0\n1\n1\n1\n"), absent = Path("absent.mtx");
  Succeed({"run", "bfs", graph, "--devices", "host:2", "--partition", file, "--verify"});
  Succeed({"info", graph, "--parts", "2", "--partition", file});
  // Before the graph is looked for.
  Fail({"run", "bfs", absent, "--devices", "host:4", "--partition", file}, 2, "does not go with 4 devices");
  Fail({"partition", absent, "--parts", "3", "--partition", file}, 2, "does not go with 3 parts");
  Fail({"partition", absent, "--partition", file + "," + Write("x", "0\n1\n2\n")}, 2, "does not go with 2 parts");
  Fail({"info", absent, "--parts", "3", "--partition", file}, 2, "does not go with --parts 3");
  EXPECT_NE(Succeed({"info", graph, "--partition", file}).find("edge cut"), std::string::npos) << "it says how many parts";
  Fail({"info", absent, "--partition", "metis"}, 2, "Add --parts");
  for (const char* parts : {"-1", "0", "65", "two"}) Fail({"info", absent, "--parts", parts}, 2, "--parts");
  Fail({"run", "bfs", absent, "--partition", Path("absent.part.2")}, 2, "absent.part.2");
  Fail({"partition", absent, "--partition", Write("bad.part.2", "0\n2\n")}, 2, "bad.part.2:2");
  Fail({"partition", absent}, 2, "--parts");
  Fail({"partition", absent, "--parts", "0"}, 2, "--parts");
  Fail({"partition", absent, "--parts", "5000"}, 2, "--parts");
  Fail({"partition", absent, "--parts", "2", "--partition", "fair"}, 2, "fair");
  Fail({"partition", absent, "--parts", "2", "--partition", "random,metis", "-o", Path("o")}, 2, "one partition");
  Fail({"partition", absent, "--parts", "2", "-o", Path("o.part.3")}, 2, "a file of 3 parts");
  Fail({"partition", absent, "--partition", file, "-o", file}, 2, "the same file");
  Fail({"partition", graph, "--parts", "2", "-o", graph}, 2, "no .mtx file is written here");
  Fail({"partition", absent, "--parts", "2", "-o", "-", "--json", "-"}, 2, "standard output");
  // Five vertices.
  Fail({"run", "bfs", graph, "--devices", "host:2", "--partition", Write("short.part.2", "0\n1\n")}, 2, "2 lines for the 5");
  Fail({"partition", graph, "--partition", Write("long.part.2", "0\n1\n0\n0\n0\n0\n")}, 2, "6 lines for the 5");
}

TEST_F(CliTest, ReadsWhatGpmetisWrites) {
  if (std::system("command -v gpmetis >/dev/null 2>&1") != 0) GTEST_SKIP() << "gpmetis (Debian: metis) is not on PATH";
  // A grid of 30 x 20 in METIS' format: a line a vertex with its neighbours, counted from 1; and as an edge list.
  constexpr int kWidth = 30, kHeight = 20;
  std::string metis = fmt::format("{} {}\n", kWidth * kHeight, 2 * kWidth * kHeight - kWidth - kHeight), edges;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int v = y * kWidth + x;
      const std::pair<bool, int> around[] = {
          {x > 0, v - 1}, {x + 1 < kWidth, v + 1}, {y > 0, v - kWidth}, {y + 1 < kHeight, v + kWidth}};
      for (const auto& [there, u] : around) {
        if (!there) continue;
        metis += fmt::format("{} ", u + 1);
        edges += fmt::format("{} {}\n", v, u);
      }
      metis += '\n';
    }
  }
  const std::string graph = Write("grid.el", edges), metis_graph = Write("grid.graph", metis);
  const std::string command = fmt::format("gpmetis -seed=3 '{}' 5 >'{}'", metis_graph, Path("log"));
  ASSERT_EQ(std::system(command.c_str()), 0) << ReadAll(Path("log"));
  const std::string log = ReadAll(Path("log"));
  const std::size_t at = log.find("Edgecut: ");
  ASSERT_NE(at, std::string::npos) << log;
  const int cut = std::atoi(log.c_str() + at + 9);
  ASSERT_GT(cut, 0);
  const Json json = Json::parse(Succeed({"partition", graph, "--partition", metis_graph + ".part.5", "--json", "-"}));
  EXPECT_EQ(json.at("parts"), 5);
  EXPECT_EQ(json.at("partitions")[0].at("edge_cut"), 2 * cut) << "gpmetis counts an edge once";
  EXPECT_LT(json.at("partitions")[0].at("vertex_balance").get<double>(), 1.04);
  Succeed({"run", "cc", graph, "--devices", "host:5", "--partition", metis_graph + ".part.5", "--verify"});
}

}  // namespace
}  // namespace chatty::cli::test
