// `chatty run --json`: what the record tells of a run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, ThreadsAreNotBoundWhereTheUserSaysSo) {
  const Json json =
      Json::parse(Succeed({"run", "bfs", Small(), "--source", "1", "--devices", "host:2", "--bind", "off", "--json", "-"}));
  for (const Json& device : json.at("devices")) {
    EXPECT_TRUE(device.at("numa_node").is_null()) << device;
    EXPECT_TRUE(device.at("cpus").is_null()) << device;
  }
}

TEST_F(CliTest, JsonTellsTheRun) {
  const Outcome outcome = Chatty({"run", "bfs", Small(), "--source", "random:3", "--trials", "5", "--devices", "host:2",
                                  "--seed", "9", "--direction", "push", "--partition", "random", "--verify", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);  // nothing else is there
  EXPECT_TRUE(json.at("chatty").at("version").is_string());
  EXPECT_TRUE(json.at("chatty").at("commit").is_string());
  EXPECT_TRUE(json.at("chatty").at("compiler").is_string());
  EXPECT_EQ(json.at("program"), "bfs");
  EXPECT_EQ(json.at("value"), "level");
  EXPECT_EQ(json.at("graph").at("name"), "small");
  EXPECT_EQ(json.at("graph").at("vertices"), 5);
  EXPECT_EQ(json.at("graph").at("edges"), 4);
  EXPECT_EQ(json.at("graph").at("symmetric"), false);
  EXPECT_EQ(json.at("graph").at("weights"), "int32");
  EXPECT_EQ(json.at("graph").at("first_id"), 1);
  EXPECT_EQ(json.at("devices").size(), 2);
  EXPECT_EQ(json.at("devices")[1].at("label"), "host:1");
  for (const Json& device : json.at("devices")) {
    EXPECT_TRUE(device.at("numa_node").is_null() || device.at("numa_node").is_number_unsigned()) << device;
    EXPECT_TRUE(device.at("cpus").is_null() || device.at("cpus").is_string()) << device;
  }
  EXPECT_EQ(json.at("partition"), "random");
  EXPECT_EQ(json.at("partition_asked"), "random");
  EXPECT_EQ(json.at("direction"), "push");
  EXPECT_EQ(json.at("execution"), "bsp");
  EXPECT_EQ(json.at("transport"), "host");
  EXPECT_EQ(json.at("seed"), 9);
  for (const char* phase : {"load", "partition", "upload", "prepare", "output", "verify"}) {
    EXPECT_GE(json.at("phases_ms").at(phase).get<double>(), 0) << phase;
  }
  const Json& time = json.at("time");
  auto trials = time.at("trials_ms").get<std::vector<double>>();
  ASSERT_EQ(trials.size(), 5);
  std::sort(trials.begin(), trials.end());
  EXPECT_EQ(time.at("min_ms").get<double>(), trials[0]);
  EXPECT_EQ(time.at("median_ms").get<double>(), trials[2]);
  EXPECT_EQ(time.at("max_ms").get<double>(), trials[4]);
  ASSERT_EQ(json.at("sources").size(), 5);
  for (const Json& source : json.at("sources")) {  // those that have out-edges
    EXPECT_GE(source.get<int>(), 1);
    EXPECT_LE(source.get<int>(), 3);
  }
  EXPECT_EQ(json.at("parameters").at("source"), json.at("sources")[4]);
  const Json& statistics = json.at("statistics");
  EXPECT_GE(statistics.at("rounds").get<int>(), 1);
  EXPECT_EQ(statistics.at("push_rounds"), statistics.at("rounds"));
  EXPECT_EQ(statistics.at("pull_rounds"), 0);
  EXPECT_GE(statistics.at("edges_touched").get<int>(), 1);
  ASSERT_EQ(statistics.at("devices").size(), 2);
  EXPECT_TRUE(statistics.at("devices")[0].at("compute_ms").is_number());
  EXPECT_TRUE(statistics.at("devices")[0].at("communication_ms").is_number());
  EXPECT_TRUE(statistics.at("devices")[0].at("waiting_ms").is_number());
  EXPECT_TRUE(statistics.at("pairs").is_array());
  EXPECT_EQ(json.at("verification").at("passed"), true);
}

TEST_F(CliTest, APlanIsPrintedInPlaceOfARun) {
  const Arguments run{"run", "bfs", Small(), "--value", "parent", "--devices", "host:2", "--direction", "push"};
  const std::string text = Succeed(Join(run, {"--plan"}));
  for (const char* part : {"level       bsp: the graph is small\n", "parent      bsp: the default", "  direction push\n",
                           "  transport host; 2 buffers", "host:1      "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "is not in\n" << text;
  }
  EXPECT_EQ(text.find("time"), std::string::npos) << text;
  const Json planned = Json::parse(Succeed(Join(run, {"--plan", "--json", "-"})));
  EXPECT_EQ(planned.at("schema"), "chatty-plan-1");
  const Json& plan = planned.at("plan");
  ASSERT_EQ(plan.at("programs").size(), 2);
  EXPECT_EQ(plan.at("programs")[0].at("directions"), Json::array({"push"}));
  EXPECT_EQ(plan.at("programs")[0].at("transports"), Json::array({"host"}));
  EXPECT_GT(plan.at("memory_bytes")[1].at("state").get<int>(), 0);
  EXPECT_EQ(Json::parse(Succeed(Join(run, {"--json", "-"}))).at("plan"), plan) << "the run keeps to it";
  const Outcome refused = Chatty(Join(run, {"--plan", "--output", Path("levels.txt")}));
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_FALSE(fs::exists(Path("levels.txt")));
}

/// Progress is shown where standard error is a terminal.
TEST_F(CliTest, ProgressOnATerminalLeavesThePlan) {
  const std::string graph = Path("grid.chatty"), record = Path("run.json");
  Succeed({"generate", "grid", "100", "100", "-o", graph});
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(screen, 0);
  ASSERT_EQ(::grantpt(screen), 0);
  ASSERT_EQ(::unlockpt(screen), 0);
  const char* const terminal = ::ptsname(screen);
  ASSERT_NE(terminal, nullptr);
  const Arguments run{"run", "bfs", graph, "--source", "0", "--devices", "host:2"};
  const pid_t child = Start(Join(run, {"--json", record}), folder_ / ".out", terminal);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(screen);
  EXPECT_EQ(status, 0);
  const Json watched = Json::parse(ReadAll(record));
  EXPECT_EQ(watched.at("execution"), "async");
  EXPECT_EQ(watched.at("plan"), Json::parse(Succeed(Join(run, {"--plan", "--json", "-"}))).at("plan"));
}

TEST_F(CliTest, TheSummaryNamesTheEngineAndTheReason) {
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "100", "100", "-o", graph});
  const auto has = [&](const Arguments& options, const std::string& start) {
    const std::string text = Succeed(Join({"run", "bfs", graph, "--source", "0"}, options));
    EXPECT_EQ(LinesWith(text, "  engine     " + start).size(), 1u) << text;
  };
  has({"--devices", "host:1"}, "bsp: the default");
  has({"--devices", "host:2"}, "async: the graph has about ");
  has({"--devices", "host:2", "--explain"},
      "bsp: explain records each message of a round; auto prefers async otherwise: the graph has about ");
  has({"--devices", "host:2", "--value", "parent", "--execution", "async"}, "level async: asked for; parent bsp: ");
}

TEST_F(CliTest, JsonTellsTrafficByPair) {
  const std::string graph = Path("chain.el");
  Succeed({"generate", "chain", "100", "-o", graph});
  const Json json = Json::parse(Succeed(
      {"run", "bfs", graph, "--source", "0", "--devices", "host:2", "--direction", "push", "--symmetrise", "--json", "-"}));
  const Json& pairs = json.at("statistics").at("pairs");
  ASSERT_FALSE(pairs.empty());
  for (const Json& pair : pairs) {
    EXPECT_NE(pair.at("from"), pair.at("to"));
    EXPECT_GE(pair.at("messages_before").get<int>(), pair.at("messages").get<int>());
    EXPECT_GT(pair.at("bytes").get<int>(), 0);
  }
  EXPECT_TRUE(json.at("verification").is_null());
}

TEST_F(CliTest, JsonGoesToAFileBesideTheSummary) {
  const std::string out = Succeed({"run", "pagerank", Small(), "--damping", "0.5", "--set", "rounds=7", "--tolerance", "0",
                                   "--json", Path("record.json")});
  EXPECT_TRUE(out.starts_with("pagerank on small: 5 vertices, 4 edges")) << out;
  const Json json = Json::parse(ReadAll(folder_ / "record.json"));
  EXPECT_DOUBLE_EQ(json.at("parameters").at("damping").get<double>(), 0.5);
  EXPECT_EQ(json.at("parameters").at("rounds"), 7);
  EXPECT_EQ(json.at("statistics").at("rounds"), 7);
  EXPECT_TRUE(json.at("sources").empty());
}

}  // namespace
}  // namespace chatty::cli::test
