// The command line program as scripts see it: the built binary, run as a subprocess.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

// -------------------------------------------------------------------- ids ----

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

// ------------------------------------------------------------- determinism ----

TEST_F(CliTest, UniqueAnswersAreTheSameBytesHoweverTheyAreMade) {
  const std::string kron = Path("kron.mtx"), road = Path("road.gr");
  Succeed({"generate", "kron", "9", "--edge-factor", "4", "--weights", "1:20", "-o", kron});
  Succeed({"generate", "grid", "23", "17", "--drop", "0.4", "--weights", "1:20", "-o", road});
  std::set<std::string> answers;
  for (const std::string& graph : {kron, road}) {
    for (const Arguments& program :
         std::vector<Arguments>{{"bfs"}, {"bfs", "--value", "parent"}, {"sssp"}, {"cc"}, {"triangles"}}) {
      std::string expected;
      for (const std::string devices : {"1", "2", "3", "8"}) {
        for (const std::string direction : {"auto", "push", "pull"}) {
          for (const std::string partition : {"contiguous", "edge-balanced", "random"}) {
            if (devices == "1" && partition != "contiguous") continue;
            if (CHATTY_TEST_SANITIZED && devices != "1" && devices != "3") continue;
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

// -------------------------------------------------------------------- JSON ----

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

/// Spans of a trace by process and row, checked on the way: in order of their start, and each within or after the others.
std::map<std::pair<std::string, std::string>, std::vector<Json>> SpansByRow(const Json& trace) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::pair<std::string, std::string>, std::vector<Json>> rows;
  for (const Json& event : trace.at("traceEvents")) {
    const int pid = event.at("pid");
    if (event.at("ph") == "M" && event.at("name") == "process_name") processes[pid] = event.at("args").at("name");
    if (event.at("ph") == "M" && event.at("name") == "thread_name") {
      threads[{pid, event.at("tid").get<int>()}] = event.at("args").at("name");
    }
    if (event.at("ph") == "X") rows[{processes.at(pid), threads.at({pid, event.at("tid").get<int>()})}].push_back(event);
  }
  const auto ns = [](const Json& number) { return std::llround(number.get<double>() * 1000); };
  for (const auto& [row, spans] : rows) {
    std::vector<long long> ends;  // of the spans that enclose the present one
    long long last = 0;
    for (const Json& span : spans) {
      const long long start = ns(span.at("ts")), end = start + ns(span.at("dur"));
      EXPECT_GE(start, last) << row.first << ", " << row.second << ": " << span;
      EXPECT_GE(end, start) << span;
      last = start;
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (!ends.empty()) {
        EXPECT_LE(end, ends.back()) << row.first << ", " << row.second << ": " << span;
      }
      ends.push_back(end);
    }
  }
  return rows;
}

TEST_F(CliTest, TraceHasALaneADeviceAndARowForEachUseOfTime) {
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "40", "30", "-o", graph});
  const Json record = Json::parse(Succeed({"run", "bfs", graph, "--source", "random:3", "--trials", "3", "--devices",
                                           "host:3", "--verify", "--trace", Path("trace.json"), "--json", "-"}));
  const Json trace = Json::parse(ReadAll(folder_ / "trace.json"));
  const Json& other = trace.at("otherData");
  EXPECT_EQ(other.at("program"), "bfs");
  EXPECT_EQ(other.at("graph"), graph);
  EXPECT_EQ(other.at("dropped_events"), 0);
  EXPECT_EQ(other.find("ended"), other.end());
  EXPECT_NE(other.at("command").get<std::string>().find(" run bfs " + graph + " --source random:3"), std::string::npos);
  EXPECT_TRUE(other.at("chatty").get<std::string>().starts_with("chatty "));
  auto rows = SpansByRow(trace);

  const auto names = [&](const std::string& lane, const std::string& row) {
    std::set<std::string> all;
    for (const Json& span : rows[{lane, row}]) all.insert(span.at("name").get<std::string>());
    return all;
  };
  const std::set<std::string> host = names("process", "host");
  for (const char* phase :
       {"load", "open devices", "partition", "build subgraphs", "upload", "prepare", "output", "verify"}) {
    EXPECT_TRUE(host.contains(phase)) << phase;
  }
  std::set<std::string> trials;
  for (std::size_t i = 0; i < 3; ++i) {
    trials.insert(fmt::format("trial {} (source {})", i, record.at("sources").at(i).get<int>()));
  }
  EXPECT_EQ(names("process", "rounds"), trials);

  std::map<std::pair<int, int>, std::uint64_t> bytes;  // of the last trial, as the statistics are
  for (int device = 0; device < 3; ++device) {
    const std::string lane = fmt::format("host:{}", device);
    const std::vector<Json>& rounds = rows[{lane, "rounds"}];
    double last_trial = 0;
    std::size_t rounds_of_last = 0;
    for (const Json& span : rounds) {
      const std::string name = span.at("name");
      if (trials.contains(name)) last_trial = span.at("ts");
      if (name.starts_with("trial")) rounds_of_last = 0;
      rounds_of_last += name.starts_with("round ");
    }
    EXPECT_EQ(rounds_of_last, record.at("statistics").at("rounds").get<std::size_t>());
    for (const auto& [row, account] : std::map<std::string, std::string>{
             {"compute", "compute_ms"}, {"communication", "communication_ms"}, {"waiting", "waiting_ms"}}) {
      double ms = 0;
      for (const Json& span : rows[{lane, row}]) {
        EXPECT_EQ(span.at("cat"), row);
        if (span.at("ts").get<double>() >= last_trial) ms += span.at("dur").get<double>() / 1000;
      }
      // The record is rounded to a nanosecond, the trace's spans are whole ones.
      EXPECT_NEAR(ms, record.at("statistics").at("devices").at(device).at(account).get<double>(), 2e-6)
          << lane << ' ' << row;
      EXPECT_GT(ms, 0) << lane << ' ' << row;
    }
    for (const Json& span : rows[{lane, "communication"}]) {
      if (span.at("ts").get<double>() < last_trial || !span.at("name").get<std::string>().starts_with("post to ")) continue;
      const int peer = span.at("args").at("peer");
      EXPECT_EQ(span.at("name"), fmt::format("post to {}", peer));
      bytes[{device, peer}] += span.at("args").at("bytes").get<std::uint64_t>();
    }
  }
  std::map<std::pair<int, int>, std::uint64_t> told;
  for (const Json& pair : record.at("statistics").at("pairs")) {
    if (pair.at("bytes") != 0) told[{pair.at("from").get<int>(), pair.at("to").get<int>()}] = pair.at("bytes");
  }
  EXPECT_EQ(bytes, told);
  EXPECT_FALSE(told.empty());
}

TEST_F(CliTest, TraceOfOperatorsHasTheirSteps) {
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "40", "30", "-o", graph});
  Succeed({"run", "cc", graph, "--devices", "host:2", "--trace", Path("trace.json")});
  auto rows = SpansByRow(Json::parse(ReadAll(folder_ / "trace.json")));
  std::set<std::string> names;
  for (const Json& span : rows[{"host:0", "compute"}]) names.insert(span.at("name").get<std::string>());
  for (const char* step : {"for", "for each vertex", "for each edge", "copy out", "program"}) {
    EXPECT_TRUE(names.contains(step)) << step;
  }
  EXPECT_FALSE((rows[{"host:1", "communication"}].empty()));
  EXPECT_FALSE((rows[{"host:1", "waiting"}].empty()));
}

TEST_F(CliTest, TraceOfAFailedRunHasWhatThereWas) {
  const std::string old = Write("trace.json", "old");
  Fail({"run", "bfs", Small(), "--source", "77", "--trace", old}, 2, "77");
  EXPECT_EQ(ReadAll(old), "old") << "nothing had been run";
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full to fail with";
  Fail({"run", "bfs", Small(), "--devices", "host", "--source", "1", "--trace", old, "--output", "/dev/full"}, 1,
       "/dev/full");
  const Json trace = Json::parse(ReadAll(old));
  EXPECT_EQ(trace.at("otherData").at("ended"), "the run failed");
  EXPECT_FALSE((SpansByRow(trace)[{"host:0", "compute"}].empty()));
}

TEST_F(CliTest, ARunThatFailsTellsWhatItHad) {
  const std::string graph = Path("kron.chatty"), record = Path("record.json"), trace = Path("trace.json");
  Succeed({"generate", "kron", "17", "-o", graph});
  // One device has all the work, so that the other waits for longer than a millisecond in the first of its rounds.
  std::string parts;
  for (int v = 1; v < 1 << 17; ++v) parts += "0\n";
  const std::string all_but_one = Write("all_but_one.part", parts + "1\n");
  Fail({"run", "pagerank", graph, "--devices", "host:2", "--partition", all_but_one, "--tolerance", "0", "--rounds", "1000",
        "--timeout", "0.001", "--json", record, "--trace", trace, "--output", Path("ranks.txt")},
       1, "raise --timeout");
  const Json json = Json::parse(ReadAll(record));
  EXPECT_EQ(json.at("ended"), "failed");
  EXPECT_NE(json.at("error").get<std::string>().find("waited 1 ms"), std::string::npos) << json.at("error");
  EXPECT_EQ(json.at("statistics").at("converged"), false);
  EXPECT_EQ(json.at("statistics").at("devices").size(), 2u);
  EXPECT_TRUE(json.at("verification").is_null());
  EXPECT_EQ(Json::parse(ReadAll(trace)).at("otherData").at("ended"), "the run failed");
  EXPECT_FALSE(fs::exists(Path("ranks.txt"))) << "values of a failed run mean nothing";
}

TEST_F(CliTest, TraceIsCompressedByItsName) {
  Succeed({"run", "bfs", Small(), "--source", "1", "--trace", Path("trace.json.gz")});
  EXPECT_TRUE(ReadAll(folder_ / "trace.json.gz").starts_with("\x1f\x8b"));
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
  EXPECT_NE(single.err.find("ended by the precision of float, in which ranks cannot settle below about 1.2e-07 "
                            "(--precision double can), before it converged"),
            std::string::npos)
      << single.err;
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

// ------------------------------------------------------------------ verify ----

TEST_F(CliTest, VerifyTellsRightFromWrong) {
  const std::string graph = Small();
  const std::string right = Write("right.txt", "# another tool's, in any order\n5 inf\n4 2\n3 1\n2 1\n1 0\n");
  const std::string wrong = Write("wrong.txt", "1 0\n2 1\n3 2\n4 3\n5 infinity\n");
  EXPECT_TRUE(Succeed({"verify", "bfs", graph, right, "--source", "1"}).starts_with("verified: "));
  Fail({"verify", "bfs", graph, wrong, "--source", "1"}, 3, "verification failed");
  Fail({"verify", "bfs", graph, right, "--source", "2"}, 3, "verification failed");
  const Json json = Json::parse(Succeed({"verify", "bfs", graph, right, "--json", "-"}));
  EXPECT_EQ(json.at("verification").at("passed"), true);
  EXPECT_EQ(json.at("parameters").at("source"), 1);
  Succeed({"verify", "cc", graph, Write("cc.txt", "1 1\n2 1\n3 1\n4 1\n5 5\n")});
  Fail({"verify", "cc", graph, Write("cc.txt", "1 1\n2 1\n3 1\n4 1\n5 1\n")}, 3, "verification failed");
}

TEST_F(CliTest, VerifyRefusesWhatIsNoAnswer) {
  const std::string graph = Small();
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 1\n3 1\n4 2\n")}, 2, "the first without a value is 5");
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 1\n3 1\n4 2\n6 2\n")}, 2, "vertex id 6");
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 one\n")}, 2, "v.txt:2");
  Fail({"verify", "bfs", graph, Path("absent.txt")}, 2, "absent.txt");
  Fail({"verify", "bfs", graph, graph, "--source", "random:1"}, 2, "name the vertex");
}

TEST_F(CliTest, VerifyTakesNumPysOwnTypes) {
  const std::string graph = Small();
  const auto npy = [&]<class T>(const std::string& type, const std::vector<T>& values) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, values.size());
    header.resize(118, ' ');
    header.back() = '\n';
    std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return Write("values.npy", bytes);
  };
  using Longs = std::vector<std::int64_t>;
  const Arguments levels{"--source", "1"}, parents{"--source", "1", "--value", "parent"};
  const auto verify = [&](const std::string& program, const std::string& values, const Arguments& more) {
    return Join({"verify", program, graph, values}, more);
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Succeed(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, -1}), levels));
  Succeed(verify("bfs", npy("|u1", std::vector<std::uint8_t>{0, 1, 1, 2, 255}), levels));
  Succeed(verify("bfs", npy("<i8", Longs{1, 1, 1, 3, -1}), parents));
  Succeed(verify("bfs", npy("|i1", std::vector<std::int8_t>{1, 1, 1, 3, -1}), parents));
  Succeed(verify("bfs", npy("<u8", std::vector<std::uint64_t>{1, 1, 1, 3, ~std::uint64_t{0}}), parents));
  Succeed(verify("cc", npy("<u2", std::vector<std::uint16_t>{1, 1, 1, 1, 5}), {}));
  Succeed(verify("sssp", npy("<i8", Longs{0, 1, 2, 9, -1}), levels));
  Succeed(verify("sssp", npy("<f8", std::vector<double>{0, 1, 2, 9, kNone}), levels));
  Succeed(Join(verify("sssp", npy("<f8", std::vector<double>{0, 1, 2, 9, kNone}), levels), {"--weights", "float"}));
  Succeed({"run", "pagerank", graph, "--output", Path("ranks.txt")});
  std::vector<double> ranks;
  std::ifstream file(folder_ / "ranks.txt");
  for (double id, rank; file >> id >> rank;) ranks.push_back(rank);
  ASSERT_EQ(ranks.size(), 5);
  Succeed({"verify", "pagerank", graph, npy("<f8", ranks)});

  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 3, -1}), levels), 3, "verification failed");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, 4294967296}), levels), 3, "entry 4 is 4294967296");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, -7}), levels), 3, "entry 4 is -7");
  for (const std::int64_t parent : {0, 6, -2}) {
    Fail(verify("bfs", npy("<i8", Longs{1, 1, 1, parent, -1}), parents), 3, "which is no vertex");
  }
  Succeed(verify("cc", npy("<i8", Longs{-4, -4, -4, -4, 6}), {}));  // components may be called anything
  Fail(verify("cc", npy("<i8", Longs{1, 1, 1, 7, 6}), {}), 3, "verification failed");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2}), levels), 2, "holds 4 values");
  Fail(verify("bfs", npy(">i8", Longs{0, 1, 1, 2, -1}), levels), 2, "'>i8'");
}

TEST_F(CliTest, VerifyTellsWrongNumbersFromBrokenText) {
  const std::string graph = Small();
  const auto levels = [&](const std::string& last) {
    return Arguments{"verify", "bfs", graph, Write("v.txt", "1 0\n2 1.0\n3 1\n4 2\n5 " + last + "\n"), "--source", "1"};
  };
  const auto parents = [&](const std::string& last) {
    return Arguments{"verify",   "bfs", graph,     Write("v.txt", "1 1\n2 1\n3 1\n4 3\n5 " + last + "\n"),
                     "--source", "1",   "--value", "parent"};
  };
  for (const char* unreached : {"-1", "inf", "infinity", "-1.0"}) Succeed(levels(unreached));
  Succeed(parents("-1"));
  for (const char* wrong : {"-2", "4294967296", "4294967294", "99999999999999999999999", "0.5", "3"}) {
    Fail(levels(wrong), 3, "verification failed");
  }
  for (const char* wrong : {"0", "6", "-2", "99999", "4294967296"}) Fail(parents(wrong), 3, "verification failed");
  for (const char* other : {"0", "6", "-2", "4294967296"}) {  // components may be called anything
    Succeed({"verify", "cc", graph, Write("v.txt", fmt::format("1 1\n2 1\n3 1\n4 1\n5 {}\n", other))});
    Fail({"verify", "cc", graph, Write("v.txt", fmt::format("1 1\n2 1\n3 1\n4 {}\n5 9\n", other))}, 3,
         "verification failed");
  }
  for (const char* broken : {"x", "1x", "nan", ""}) Fail(levels(broken), 2, "v.txt:5");
  const Outcome outcome = Chatty(Join(levels("-2"), {"--json", "-"}));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(Json::parse(outcome.out).at("verification").at("passed"), false);
}

TEST_F(CliTest, EachProgramsOwnAnswersPassTheVerifier) {
  const std::string graph = Path("kron.mtx");
  Succeed({"generate", "kron", "8", "--weights", "1:9", "-o", graph});
  for (const std::string extension : {".txt", ".npy"}) {
    for (const std::string ids : {"file", "zero"}) {
      for (const Arguments& program : std::vector<Arguments>{{"bfs"},
                                                             {"bfs", "--value", "parent"},
                                                             {"sssp"},
                                                             {"cc"},
                                                             {"label_propagation"},
                                                             {"pagerank_push"},
                                                             {"triangles"},
                                                             {"bc"},
                                                             {"bc", "--set", "sources=3"}}) {
        const std::string values = Path("values" + extension);
        Succeed(Join({"run", program[0], graph, "--ids", ids, "--verify", "--output", values}, Options(program)));
        Succeed(Join({"verify", program[0], graph, values, "--ids", ids}, Options(program)));
      }
    }
  }
}

TEST_F(CliTest, NpyHoldsTheNumbersOfTheText) {
  const std::string npy = Path("parents.npy");
  Succeed({"run", "bfs", Small(), "--source", "1", "--value", "parent", "--output", npy});
  const std::string bytes = ReadAll(npy);
  ASSERT_GT(bytes.size(), 5 * sizeof(std::int64_t));
  EXPECT_NE(bytes.find("'<i8'"), std::string::npos);
  std::vector<std::int64_t> parents(5);
  std::memcpy(parents.data(), bytes.data() + bytes.size() - 5 * sizeof(std::int64_t), 5 * sizeof(std::int64_t));
  EXPECT_EQ(parents, (std::vector<std::int64_t>{1, 1, 1, 3, -1}));
}

// --------------------------------------------- generate, convert, info, list ----

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

// --------------------------------------------------------------- partition ----

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

// ------------------------------------------------------------------ errors ----

TEST_F(CliTest, OneFileIsNotUsedTwice) {
  const std::string graph = Small(), before = ReadAll(graph), same = Path("same");
  fs::create_directory(folder_ / "d");
  fs::create_symlink(graph, Path("link.mtx"));
  fs::create_hard_link(graph, Path("hard.mtx"));
  Fail({"run", "bfs", graph, "--output", same, "--json", same}, 2, "the same file");
  Fail({"run", "bfs", graph, "--output", same, "--json", Path("d/../same")}, 2, "the same file");
  Fail({"run", "bfs", graph, "--trace", same, "--json", Path("d/../same")}, 2, "the same file");
  Fail({"run", "bfs", graph, "--trace", same, "--output", Path("d/../same")}, 2, "the same file");
  for (const std::string name : {"small.mtx", "d/../small.mtx", "link.mtx", "hard.mtx"}) {
    Fail({"run", "bfs", graph, "--output", Path(name)}, 2, "the same file");
    Fail({"run", "bfs", graph, "--json", Path(name)}, 2, "the same file");
    Fail({"run", "bfs", graph, "--trace", Path(name)}, 2, "the same file");
  }
  Fail({"verify", "bfs", graph, same, "--json", same}, 2, "the same file");
  for (const std::string name : {"small.mtx", "d/../small.mtx", "link.mtx", "hard.mtx"}) {
    Fail({"info", graph, "--json", Path(name)}, 2, "the same file");
    Fail({"convert", graph, Path(name)}, 2, "the same file");
  }
  const std::string part = Write("small.part.2", "0\n0\n1\n1\n1\n"), parts = ReadAll(part);
  for (const std::string option : {"--output", "--json", "--trace"}) {
    Fail({"run", "bfs", graph, "--devices", "host:2", "--partition", part, option, Path("d/../small.part.2")}, 2,
         "the same file");
  }
  Fail({"info", graph, "--parts", "2", "--partition", part, "--json", part}, 2, "the same file");
  EXPECT_EQ(ReadAll(part), parts);
  EXPECT_EQ(ReadAll(graph), before);
  EXPECT_FALSE(fs::exists(same));
  Succeed({"run", "bfs", graph, "--output", "/dev/null", "--json", "/dev/null"});
}

TEST_F(CliTest, AClosedStandardOutputTakesNoFile) {
  const std::string graph = Small(), closed = Write("closed", ""), expected = Path("expected.el"),
                    written = Path("written.el");
  Succeed({"convert", graph, expected});
  const auto run = [&](const Arguments& arguments, int close) {
    const pid_t child = Start(arguments, closed, Path(".err"), "/dev/null", close);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(run({"convert", graph, written}, STDOUT_FILENO), 1) << "the summary had nowhere to go";
  EXPECT_NE(ReadAll(Path(".err")).find("standard output: cannot be written"), std::string::npos) << ReadAll(Path(".err"));
  EXPECT_EQ(ReadAll(written), ReadAll(expected));
  EXPECT_EQ(run({"run", "bfs", graph, "--source", "1", "-o", "-"}, STDOUT_FILENO), 1) << "the values had nowhere to go";
  const std::string values = Path("values.txt"), record = Path("record.json");
  EXPECT_EQ(run({"run", "bfs", graph, "--source", "1", "-o", values, "--json", record}, STDOUT_FILENO), 1);
  EXPECT_EQ(ReadAll(values), "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
  EXPECT_EQ(Json::parse(ReadAll(record)).at("program"), "bfs");
  fs::remove(written);
  EXPECT_EQ(run({"convert", graph, written}, STDERR_FILENO), 0);
  EXPECT_EQ(ReadAll(written), ReadAll(expected));
  fs::remove(written);
  EXPECT_EQ(run({"convert", graph, written}, STDIN_FILENO), 0);
  EXPECT_EQ(ReadAll(written), ReadAll(expected));
  EXPECT_EQ(run({"info", "-"}, STDIN_FILENO), 2);
}

TEST_F(CliTest, ExitCodesHoldWhereStandardErrorTakesNothing) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const std::string graph = Small(), wrong = Write("wrong.txt", "1 0\n2 1\n3 1\n4 3\n5 infinity\n");
  const std::string chain = Path("chain.el");
  Succeed({"generate", "chain", "50", "-o", chain});
  const auto run = [&](const Arguments& arguments) {
    const pid_t child = Start(arguments, Path(".out"), "/dev/full");
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(run({"fly"}), 2);
  EXPECT_EQ(run({"info", Path("absent.mtx")}), 2);
  EXPECT_EQ(run({"verify", "bfs", graph, wrong, "--source", "1"}), 3);
  EXPECT_EQ(run({"partition", graph, "--parts", "2", "--partition", "contiguous", "-o", "-"}), 0);
  EXPECT_EQ(run({"run", "bfs", chain, "--source", "0", "--max-rounds", "3", "--verify", "-o", Path("levels.txt")}), 0);
  EXPECT_EQ(run({"run", "bfs", graph, "--source", "1", "-o", "-"}), 0);
  EXPECT_EQ(ReadAll(Path(".out")), "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
}

TEST_F(CliTest, UsageErrorsExitWithTwo) {
  const std::string graph = Small();
  Fail({}, 2, "which command");
  Fail({"fly"}, 2, "no command 'fly'");
  Fail({"--fly"}, 2, "no option '--fly'");
  Fail({"run"}, 2, "PROGRAM");
  Fail({"run", "bfs"}, 2, "GRAPH");
  Fail({"run", "bfs", graph, "extra"}, 2, "extra");
  Fail({"run", "bfs", graph, "--fast"}, 2, "--fast");
  Fail({"run", "flood", graph}, 2, "choose one of");
  Fail({"run", "bfs", graph, "--value", "colour"}, 2, "it has level, parent");
  Fail({"run", "bfs", graph, "--direction", "up"}, 2, "--direction");
  Fail({"run", "bfs", graph, "--bind", "there"}, 2, "--bind");
  Fail({"run", "bfs", graph, "--partition", "fair"}, 2, "fair");
  Fail({"run", "bfs", graph, "--execution", "dream"}, 2, "dream");
  Fail({"run", "bfs", graph, "--execution", "async", "--direction", "pull"}, 2, "the asynchronous engine pushes");
  Fail({"run", "pagerank_push", graph, "--execution", "async"}, 2, "takes kMonotone programs");
  Fail({"run", "pagerank", graph, "--execution", "async"}, 2, "is kSynchronous, so it cannot run asynchronously");
  Fail({"run", "bfs", graph, "--transport", "pigeon", "--devices", "host:2"}, 2, "pigeon");
  Fail({"run", "bfs", Path("absent.mtx"), "--transport", "pigeon", "--devices", "host:1"}, 2, "pigeon");
  for (const std::string option : {"--source", "-o", "--output", "--json"}) {
    Fail({"run", "bfs", graph, option, ""}, 2, "empty");
    Fail({"run", "bfs", graph, option + (option == "-o" ? "" : "=")}, 2, "");
  }
  Fail({"run", "bfs", graph, "--ids", "two"}, 2, "--ids");
  Fail({"run", "bfs", graph, "--format", "pdf"}, 2, "pdf");
  for (const std::string devices :
       {"", "tpu", "host:0", "host:-1", "host:65", "host:x", "host:99999999999", "cuda:", "cuda:0,0"}) {
    Fail({"run", "bfs", graph, "--devices", devices}, 2, "");
  }
  for (const std::string trials : {"0", "-1", "many", "1e3", "99999999999"})
    Fail({"run", "bfs", graph, "--trials", trials}, 2, "--trials");
  for (const std::string threads : {"0", "-1", "x"}) Fail({"run", "bfs", graph, "--threads", threads}, 2, "--threads");
  for (const std::string timeout : {"0", "-1", "soon", "nan", "1e7"}) {
    Fail({"run", "bfs", graph, "--timeout", timeout}, 2,
         "--timeout: '" + timeout + "' is no number of seconds from 0.001 to 1000000");
  }
  for (const std::string delta : {"0", "-1", "nan", "inf", "1e999", "wide", "3x"})
    Fail({"run", "sssp", graph, "--delta", delta}, 2, "--delta");
  for (const std::string delta : {"auto", "off", "0.5"}) {
    const std::string record = Path("delta.json");
    Succeed({"run", "sssp", graph, "--devices", "host", "--delta", delta, "--verify", "--json", record});
    EXPECT_EQ(Json::parse(ReadAll(record)).at("delta"), delta);
  }
  Fail({"run", "bfs", graph, "--seed", "-1"}, 2, "--seed");
  Fail({"run", "bfs", graph, "--json", "-", "--output", "-"}, 2, "standard output");
  Fail({"run", "bfs", graph, "--trace", "-"}, 2, "--trace");
  Fail({"run", "bfs", graph, "--trace", ""}, 2, "empty");
  Fail({"run", "bfs", graph, "--log", "loud"}, 2, "loud");
  Fail({"help", "fly"}, 2, "fly");
}

/// Lines of a text that hold `what`.
std::vector<std::string> LinesWith(const std::string& text, const std::string& what) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(what) != std::string::npos) found.push_back(line);
  }
  return found;
}

TEST_F(CliTest, WhatIsNearlyANameIsTold) {
  const std::string graph = Path("g.chatty");
  Succeed({"generate", "grid", "4", "4", "-o", graph});
  const auto meant = [&](const Arguments& arguments, std::string_view name) {
    Fail(arguments, 2, fmt::format("(did you mean '{}'?)", name));
  };
  meant({"rnu", "bfs", graph}, "run");
  meant({"pr", graph}, "run pr");
  meant({"help", "generte"}, "generate");
  meant({"run", "bsf", graph}, "bfs");
  meant({"run", "bfs", graph, "--devces", "host:2"}, "--devices");
  meant({"run", "bfs", "--sorce=3", graph}, "--source");
  meant({"info", graph, "--jsno"}, "--json");
  meant({"--quite", "info", graph}, "--quiet");
  meant({"run", "bfs", graph, "--devices", "hots:2"}, "host");
  meant({"run", "bfs", graph, "--partition", "metsi"}, "metis");
  meant({"run", "bfs", graph, "--comm", "stagd"}, "staged");
  meant({"run", "bfs", graph, "--execution", "aysnc"}, "async");
  meant({"run", "bfs", graph, "--direction", "pul"}, "pull");
  meant({"run", "bfs", graph, "--value", "parnet"}, "parent");
  meant({"run", "bfs", graph, "--set", "sorce=3"}, "source");
  meant({"run", "bfs", graph, "--format", "matrix-markt"}, "matrix-market");
  meant({"run", "bfs", graph, "--output-format", "jsno"}, "json");
  meant({"generate", "gird", "4", "4", "-o", graph}, "grid");
  meant({"convert", graph, Path("g.el"), "--format", "edge_list"}, "edge-list");
  meant({"partition", graph, "--parts", "2", "--partition", "randon"}, "random");
  meant({"programs", "--only", "pagernak"}, "pagerank");
  meant({"completion", "bsh"}, "bash");
  meant({"info", graph, "--log", "debgu"}, "debug");
  meant({"compare", graph, "--out", Path("out"), "--programs", "bfs,ssps"}, "sssp");
  meant({"compare", graph, "--out", Path("out"), "--programs", "pr", "--set", "dampnig=0.5"}, "damping");
  meant({"compare", "--out", Path("out"), "--figure", "groute-2A"}, "groute-2a");
  Fail({"run", "quicksort", graph}, 2, "there is no program 'quicksort'; choose one of ");
}

TEST_F(CliTest, ACountOfDevicesIsThatManyOfTheUsualKind) {
  const std::string graph = Path("g.chatty"), record = Path("record.json");
  Succeed({"generate", "grid", "4", "4", "-o", graph});
  Succeed({"run", "bfs", graph, "--devices", "3", "--verify", "--json", record});
  const Json json = Json::parse(ReadAll(record));
  ASSERT_EQ(json.at("devices").size(), 3u);
  Fail({"run", "bfs", graph, "--devices", "0"}, 2, "--devices 0: a run takes 1 to ");
  Fail({"run", "bfs", graph, "--devices", "100000"}, 2, "--devices 100000: a run takes 1 to ");
  Fail({"run", "bfs", graph, "--devices", "4x"}, 2, "--devices 4x: unknown kind '4x'");
  Fail({"compare", graph, "--out", Path("out"), "--devices", "host:2"}, 2, "and say by --on of which kind");
}

TEST_F(CliTest, QuietIsQuiet) {
  const std::string graph = Path("g.chatty"), text = Path("g.el"), values = Path("v.txt");
  const auto quiet = [&](Arguments arguments) {
    arguments.emplace_back("-q");
    EXPECT_EQ(Succeed(arguments), "") << arguments.front();
  };
  quiet({"generate", "grid", "4", "4", "-o", graph});
  quiet({"convert", graph, text});
  quiet({"info", graph, "--parts", "2"});
  quiet({"partition", graph, "--parts", "2", "-o", Path("g.part.2")});
  quiet({"run", "bfs", graph, "--source", "0", "--verify", "--output", values, "--json", Path("r.json"), "--explain"});
  quiet({"run", "bfs", graph, "--max-rounds", "1", "--verify", "--output", Path("cut.txt")});
  quiet({"verify", "bfs", graph, values, "--source", "0"});
  quiet({"topology", "--devices", "host:2"});
  quiet({"compare", graph, "--out", Path("out"), "--programs", "bfs", "--devices", "1,2", "--trials", "1"});
  EXPECT_EQ(Succeed({"run", "bfs", graph, "--source", "0", "--output", "-", "-q"}), ReadAll(values));
  EXPECT_EQ(Json::parse(Succeed({"info", graph, "--json", "-", "-q"})).at("graph").at("vertices"), 16);
  Write("v.txt", "0 7\n");
  Fail({"verify", "bfs", graph, values, "--source", "0", "-q"}, 2, "v.txt");
  Fail({"run", "bsf", graph, "-q"}, 2, "there is no program 'bsf'");
  EXPECT_NE(Succeed({"programs", "-q"}), "") << "what is asked for is told";
}

TEST_F(CliTest, TheFirstAnswerIsToldBesideTheMedian) {
  const std::string graph = Path("g.chatty");
  Succeed({"generate", "grid", "20", "20", "-o", graph});
  const std::string record = Path("record.json");
  const std::string text = Succeed({"run", "bfs", graph, "--trials", "3", "--json", record});
  EXPECT_EQ(LinesWith(text, "  first      answer ").size(), 1u) << text;
  const Json json = Json::parse(ReadAll(record));
  double before = json.at("time").at("trials_ms").at(0).get<double>();
  for (const char* phase : {"load", "open_devices", "partition", "upload", "prepare"}) {
    before += json.at("phases_ms").at(phase).get<double>();
  }
  EXPECT_GE(json.at("time").at("first_answer_ms").get<double>(), before) << "they are in it";
}

TEST_F(CliTest, HostDevicesThatOnlyWaitAreAdvisedAgainst) {
  const std::string graph = Path("g.chatty");
  Succeed({"generate", "grid", "60", "60", "-o", graph});
  const auto advised = [&](const Arguments& arguments) {
    return LinesWith(Succeed(Join({"run", arguments[0], graph}, Options(arguments))), "  advice     --devices host:1 ")
        .size();
  };
  EXPECT_EQ(advised({"bfs", "--devices", "host:2"}), 1u);
  EXPECT_EQ(advised({"bfs", "--devices", "host:1"}), 0u);
  EXPECT_EQ(advised({"pagerank", "--devices", "host:2"}), 0u) << "it looks at all edges in every round";
}

TEST_F(CliTest, ATopologyOfOneDeviceTellsWhatItHas) {
  const std::string page = Succeed({"topology", "--devices", "host:1", "--html", "-"});
  EXPECT_EQ(page.find("<svg"), std::string::npos) << "nothing to draw";
  EXPECT_EQ(page.find("class=\"matrix\""), std::string::npos);
  for (const char* fact : {"<dt>Machine</dt>", "<dt>Device</dt><dd>host:0: ", "<dt>Threads</dt>", "<dt>Memory</dt>",
                           "--devices host:4</code>"}) {
    EXPECT_NE(page.find(fact), std::string::npos) << fact << '\n' << page;
  }
  EXPECT_TRUE(page.ends_with("</html>\n"));
  const std::string text = Succeed({"topology", "--devices", "host:1"});
  EXPECT_EQ(text.find(" X"), std::string::npos) << "a matrix of one: " << text;
}

TEST_F(CliTest, SourcesOutsideTheGraphAreRefused) {
  const std::string graph = Small();
  Fail({"run", "bfs", graph, "--source", "0"}, 2, "1 to 5");
  Fail({"run", "bfs", graph, "--source", "6"}, 2, "1 to 5");
  Fail({"run", "bfs", graph, "--source", "5", "--ids", "zero"}, 2, "0 to 4");
  for (const std::string source :
       {"4294967296", "4294967297", "18446744073709551616", "-1", "2.5", "0x1", "two", " 1", "random:", "random:x", "max"}) {
    Fail({"run", "bfs", graph, "--source=" + source}, 2, "--source");
  }
  Fail({"run", "cc", graph, "--source", "1"}, 2, "no parameter 'source'");
  const std::string empty = Write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n");
  Fail({"run", "bfs", empty}, 2, "no vertices");
}

TEST_F(CliTest, ParametersAreChecked) {
  const std::string graph = Small();
  Fail({"run", "pagerank", graph, "--set", "damping"}, 2, "NAME=VALUE");
  Fail({"run", "pagerank", graph, "--set", "=1"}, 2, "NAME=VALUE");
  Fail({"run", "pagerank", graph, "--set", "damping="}, 2, "damping");
  Fail({"run", "pagerank", graph, "--set", "speed=1"}, 2, "it has damping, rounds, tolerance");
  Fail({"run", "pagerank", graph, "--set", "damping=1.5"}, 2, "damping");
  Fail({"run", "pagerank", graph, "--damping", "nan"}, 2, "damping");
  Fail({"run", "pagerank", graph, "--damping", "0.5x"}, 2, "damping");
  Fail({"run", "pagerank", graph, "--rounds=-3"}, 2, "rounds");
  Fail({"run", "pagerank", graph, "--rounds", "4294967296"}, 2, "rounds");
  Fail({"run", "pagerank", graph, "--damping", "0.5", "--set", "damping=0.6"}, 2, "twice");
  Fail({"run", "bfs", graph, "--source", "1", "--set", "source=2"}, 2, "twice");
  Fail({"run", "bfs", graph, "--set", "source=9"}, 2, "1 to 5");
}

TEST_F(CliTest, RealParametersAreFinite) {
  const std::string graph = Small(), ranks = Path("ranks.txt");
  for (const std::string program : {"pagerank", "pagerank_push"}) {
    for (const std::string value : {"inf", "infinity", "-inf", "nan", "1e999", "-1"}) {
      Fail({"run", program, graph, "--tolerance=" + value}, 2, "tolerance");
      Fail({"run", program, graph, "--set", "tolerance=" + value}, 2, "tolerance");
      Fail({"run", program, graph, "--damping=" + value}, 2, "damping");
    }
  }
  Succeed({"run", "pagerank", graph, "--tolerance", "0", "--output", ranks});
  Succeed({"run", "pagerank", graph, "--tolerance", "1e300", "--damping", "0"});
  Fail({"verify", "pagerank", graph, ranks, "--tolerance", "inf"}, 2, "tolerance");
  Fail({"compare", graph, "--programs", "pr", "--out", Path("out"), "--set", "tolerance=inf"}, 2, "tolerance");
}

TEST_F(CliTest, BadInputsExitWithTwo) {
  const std::string graph = Small();
  Fail({"run", "bfs", Path("absent.mtx")}, 2, "absent.mtx");
  Fail({"info", folder_.string()}, 2, "directory");
  Fail({"info", Write("bad.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n3 1\n")}, 2, "bad.mtx:3");
  Fail({"info", Write("cut.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n")}, 2, "cut.mtx");
  Fail({"info", Write("noise.el", std::string("\x00\x01\xff\xfe", 4))}, 2, "noise.el");
  Fail({"info", graph, "--symmetrise", "--directed"}, 2, "");
  Fail({"run", "bfs", graph, "--output", Path("no/such/folder.txt")}, 2, "no/such");
  Fail({"run", "bfs", graph, "--output", folder_.string()}, 2, "directory");
  Fail({"run", "bfs", graph, "--json", Path("no/such/folder.json")}, 2, "no/such");
  Fail({"run", "sssp", Write("minus.el", "0 1 -4\n1 2 3\n")}, 2, "weight -4");
}

TEST_F(CliTest, GenerateAndConvertCheckTheirArguments) {
  const std::string out = Path("g.mtx");
  Fail({"generate", "kron", "-o", out}, 2, "ARGS");
  Fail({"generate", "kron", "5"}, 2, "--output");
  Fail({"generate", "tree", "5", "-o", out}, 2, "choose one of");
  Fail({"generate", "kron", "5", "6", "-o", out}, 2, "SCALE");
  Fail({"generate", "kron", "99", "-o", out}, 2, "scale");
  Fail({"generate", "kron", "x", "-o", out}, 2, "SCALE");
  Fail({"generate", "grid", "5", "-o", out}, 2, "WIDTH HEIGHT");
  Fail({"generate", "grid", "5", "5", "5", "5", "-o", out}, 2, "generate grid WIDTH HEIGHT DEPTH");
  Fail({"generate", "grid", "5", "5", "0", "-o", out}, 2, "no vertices");
  Fail({"generate", "road", "5", "5", "5", "-o", out}, 2, "generate road COUNT");
  Fail({"generate", "debruijn", "5", "6", "-o", out}, 2, "BITS");
  Fail({"generate", "gap-kron", "10", "--seed", "3", "-o", out}, 2, "one seed");
  Fail({"generate", "chain", "5", "--edge-factor", "3", "-o", out}, 2, "it is for kron, rmat, uniform");
  Fail({"generate", "chain", "5", "--weights", "own", "-o", out}, 2, "no weights of its own");
  Fail({"generate", "rmat", "5", "--a", "0.9", "-o", out}, 2, "more than 1");
  Fail({"generate", "small-world", "9", "--neighbours", "3", "-o", out}, 2, "even number");
  Fail({"generate", "ba", "9", "--edges-per-vertex", "9", "-o", out}, 2, "edges per vertex");
  Fail({"generate", "complete", "4294967294", "-o", out}, 2, "more edges than make sense");
  for (const std::string radius : {"0", "-1", "2", "nan", "far"}) {
    Fail({"generate", "rgg", "5", "--radius", radius, "-o", out}, 2, "radius");
  }
  Fail({"generate", "grid", "5", "0", "-o", out}, 2, "");
  Fail({"generate", "grid", "4294967296", "4294967296", "-o", out}, 2, "");
  Fail({"generate", "grid", "5", "5", "--drop", "1.5", "-o", out}, 2, "--drop");
  for (const std::string weights :
       {"", "1", "9:1", "a:b", "1:", "nan:nan", "float:0:inf", "float:", "float:1", "1.5:2", "1:99999999999"}) {
    Fail({"generate", "chain", "5", "--weights", weights, "-o", out}, 2, "");
  }
  for (const std::string factor : {"0", "-1", "1.5", "nan"})
    Fail({"generate", "kron", "5", "--edge-factor", factor, "-o", out}, 2, "");
  for (const std::string drop : {"-0.1", "nan", "half"})
    Fail({"generate", "grid", "5", "5", "--drop", drop, "-o", out}, 2, "");
  Fail({"generate", "kron", "5", "--seed", "-1", "-o", out}, 2, "--seed");
  Fail({"generate", "chain", "5", "-o", Path("g.pdf")}, 2, "--format");
  Fail({"generate", "chain", "5", "-o", out, "--format", "pdf"}, 2, "pdf");
  Fail({"convert", Small(), Path("g.pdf")}, 2, "--format");
  Fail({"convert", Path("absent.mtx"), out}, 2, "absent.mtx");
  EXPECT_FALSE(fs::exists(out)) << "a refused command has left a file";
}

TEST_F(CliTest, WhatTheMachineLacksExitsWithOne) {
#if CHATTY_WITH_CUDA
  Fail({"run", "bfs", Small(), "--devices", "cuda:99"}, 1, "cuda:99");
#else
  Fail({"run", "bfs", Small(), "--devices", "cuda:0"}, 1, "no CUDA support");
#endif
  if (fs::exists("/dev/full")) Fail({"run", "bfs", Small(), "--output", "/dev/full"}, 1, "/dev/full");
}

// -------------------------------------------------- before anything is done ----

TEST_F(CliTest, WhatCannotWorkIsToldBeforeTheGraphIsOpened) {
  const std::string absent = Path("absent.mtx");
#if CHATTY_WITH_CUDA
  Fail({"run", "bfs", absent, "--devices", "cuda:98,99"}, 1, "cuda:98,99");
#else
  Fail({"run", "bfs", absent, "--devices", "cuda:0,1"}, 1, "no CUDA support");
#endif
  Fail({"run", "bfs", absent, "--devices", "host:65"}, 2, "1 to 64 devices");
  Fail({"run", "bfs", absent, "--devices", "host:2", "--transport", "p2p-copy"}, 2, "p2p-copy");
  Fail({"run", "bfs", absent, "--transport", "pigeon"}, 2, "pigeon");
  Fail({"run", "bfs", absent, "--execution", "slow"}, 2, "slow");
  Fail({"run", "bfs", absent, "--partition", "fair"}, 2, "fair");
  Fail({"run", "bfs", absent, "--value", "colour"}, 2, "it has level, parent");
  Fail({"run", "crawl", absent}, 2, "crawl");
  Fail({"run", "pagerank", absent, "--set", "speed=1"}, 2, "it has damping, rounds, tolerance");
  Fail({"run", "pagerank", absent, "--damping", "0.5x"}, 2, "damping");
  Fail({"run", "pagerank", absent, "--damping", "1.5"}, 2, "below 1");
  Fail({"run", "sssp", absent, "--source", "random:x"}, 2, "the seed is no whole number");
  Fail({"run", "bfs", absent, "--source", "middle"}, 2, "random:SEED or max-degree");
  Fail({"run", "bfs", absent, "--source", "17"}, 2, "absent.mtx");
  Fail({"verify", "pagerank", absent, absent, "--damping", "1.5"}, 2, "below 1");
  for (const std::string size : {"0", "-1", "lots", "5Q", ""}) {
    Fail({"run", "bfs", absent, "--memory-limit=" + size}, 2, "--memory-limit");
  }
  ASSERT_EQ(::setenv("OMP_THREAD_LIMIT", "2", 1), 0);
  Fail({"run", "bfs", absent, "--devices", "host:3"}, 1, "OMP_THREAD_LIMIT");
  ASSERT_EQ(::unsetenv("OMP_THREAD_LIMIT"), 0);
  Fail({"run", "bfs", absent, "--devices", "host:3"}, 2, "absent.mtx");
}

TEST_F(CliTest, MoreDevicesThanVerticesOrThreadsWork) {
  const std::string graph = Small();
  const std::string expected = Chatty({"run", "bfs", graph, "-o", "-", "--source", "1"}).out;
  EXPECT_EQ(Chatty({"run", "bfs", graph, "-o", "-", "--source", "1", "--devices", "host:9", "--threads", "2"}).out,
            expected);
}

TEST_F(CliTest, ARunThatCannotFitIsRefusedByItsHeader) {
  // Only the begin of this file is there: who reads on would say so.
  const std::string header = "%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 4\n";
  const std::string graph = Write("large.mtx", header + "1 2\nand this is no edge\n");
  Fail({"run", "bfs", graph}, 2, "large.mtx:4");
  for (const Arguments& devices : std::vector<Arguments>{{}, {"--devices", "host:3"}}) {
    Fail(Join({"run", "bfs", graph, "--memory-limit", "2M"}, devices), 1, "line 2 of " + graph);
    Fail(Join({"run", "bfs", graph, "--memory-limit", "2M"}, devices), 1, "2,097,152 bytes (2.00 MiB)");
    Fail(Join({"run", "bfs", graph, "--memory-limit", "2M"}, devices), 1, "fit on");
    Fail(Join({"run", "bfs", graph, "--host-memory-limit", "9M"}, devices), 1, "host memory");
  }
  Fail({"run", "bfs", graph, "--memory-limit", "100M"}, 2, "large.mtx:4");
  // An edge list has no header: refused once it is read, and before anything is allocated on a device.
  const std::string list = Write("list.el", "0 1\n999999 3\n");
  Fail({"run", "bfs", list, "--memory-limit", "2M"}, 1, "(in memory)");
  Fail({"run", "pagerank", list, "--devices", "host:2", "--memory-limit", "2M"}, 1, "state ");
  Succeed({"run", "bfs", list, "--memory-limit", "100M"});
}

TEST_F(CliTest, ALyingHeaderIsRefusedAtOnce) {
  const std::string lie =
      Write("lie.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 1000000000000\n1 2\n2 3\n");
  const std::string tall = Write("lie.gr", "p sp 5 1000000000000\na 1 2 3\n");
  const std::string wide = Write("wide.gr", "p sp 4000000000 1\na 1 2 3\n");
  Fail({"run", "bfs", lie}, 2, "the header promises 1000000000000 entries");
  Fail({"run", "bfs", tall}, 2, "the header promises 1000000000000 arcs");
  Fail({"run", "bfs", wide, "--host-memory-limit", "30G"}, 2, "4000000000");
  // At once: before it gets memory for what is promised, gigabytes to terabytes.
  const std::size_t usual = Chatty({"info", Small()}).peak_bytes;
  for (const std::string& path : {lie, tall, wide}) {
    EXPECT_LT(Chatty({"run", "bfs", path, "--host-memory-limit", "30G"}).peak_bytes, usual + (std::size_t{256} << 20))
        << path;
  }
}

TEST_F(CliTest, InfoTellsDiameterDegreesAndMemory) {
  const std::string graph = Path("chain.mtx");
  Succeed({"generate", "chain", "100", "-o", graph});
  const Json json = Json::parse(Succeed({"info", graph, "--device-kind", "cuda", "--json", "-"}));
  EXPECT_EQ(json.at("diameter").at("at_least"), 99);
  EXPECT_EQ(json.at("out_degree").at("median"), 2);
  EXPECT_EQ(json.at("out_degree").at("percentile_99"), 2);
  const Json& histogram = json.at("out_degree").at("histogram");
  ASSERT_EQ(histogram.size(), 3);
  EXPECT_EQ(histogram[1].at("vertices"), 2);
  EXPECT_EQ(histogram[2].at("vertices"), 98);
  EXPECT_EQ(histogram[2].at("to"), 3);
  const Json& needed = json.at("memory_needed");
  EXPECT_EQ(needed.at("device_kind"), "cuda");
  std::set<std::string> programs;
  for (const Json& program : needed.at("programs")) {
    programs.insert(program.at("program").get<std::string>());
    const Json& rows = program.at("needs");
    ASSERT_EQ(rows.size(), 4);
    EXPECT_EQ(rows[0].at("bound"), "exact");
    EXPECT_EQ(rows[0].at("buffers"), 0);
    // Narrow offsets, neighbours, degrees, where halo and border begin; sssp has weights besides.
    EXPECT_EQ(rows[0].at("graph"), 101 * 4 + 198 * (program.at("program") == "sssp" ? 8 : 4) + 100 * 8 + 16);
    EXPECT_EQ(rows[3].at("devices"), 8);
    EXPECT_EQ(rows[3].at("bound"), "equal-parts");
    EXPECT_GT(rows[3].at("buffers"), 0);
    for (const Json& row : rows) {
      EXPECT_EQ(row.at("device"), row.at("graph").get<int>() + row.at("state").get<int>() + row.at("buffers").get<int>());
    }
  }
  EXPECT_TRUE(programs.contains("bfs") && programs.contains("cc"));
  const std::string text = Succeed({"info", graph, "--device-kind", "host"});
  for (const char* part : {"at least 99", "median 2", "1: 2.0, 2-3: 98.0", "host devices", "\n  bfs "}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const std::string empty = Write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n");
  EXPECT_EQ(Json::parse(Succeed({"info", empty, "--json", "-"})).at("diameter").at("sweeps"), 0);
}

TEST_F(CliTest, WhatInfoTellsIsWhatALimitHasToBe) {
  const std::string graph = Path("kron.chatty");
  Succeed({"generate", "kron", "9", "-o", graph});
  const Json info = Json::parse(Succeed({"info", graph, "--device-kind", "host", "--json", "-"}));
  for (const Json& program : info.at("memory_needed").at("programs")) {
    const auto name = program.at("program").get<std::string>();
    const auto need = program.at("needs")[0].at("device").get<std::uint64_t>();
    Succeed({"run", name, graph, "--devices", "host:1", "--memory-limit", fmt::format("{}", need)});
    Fail({"run", name, graph, "--devices", "host:1", "--memory-limit", fmt::format("{}", need - 1)}, 1, "out of memory");
  }
}

TEST_F(CliTest, AFailureLeavesAnOldFileAsItWas) {
  const std::string graph = Small(), values = Write("values.txt", "old\n");
  Fail({"run", "bfs", graph, "--source", "77", "--output", values}, 2, "77");
  EXPECT_EQ(ReadAll(values), "old\n");
  Succeed({"run", "bfs", graph, "--output", values});
  EXPECT_NE(ReadAll(values), "old\n");
}

TEST_F(CliTest, AnInterruptLeavesNothingBehind) {
  const fs::path output = folder_ / "out";
  fs::create_directory(output);
  // Compressing this takes far longer than it takes to see the file begun.
  const pid_t child =
      Start({"generate", "chain", "6000000", "-o", (output / "chain.mtx.gz").string()}, folder_ / ".out", folder_ / ".err");
  int status = 0;
  bool begun = false;
  while (!begun && ::waitpid(child, &status, WNOHANG) == 0) {
    begun = !fs::is_empty(output);
    ::poll(nullptr, 0, 2);
  }
  ASSERT_TRUE(begun) << ReadAll(folder_ / ".err");
  ASSERT_EQ(::kill(child, SIGINT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the interrupt came";
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(fs::is_empty(output));
}

#if CHATTY_WITH_METIS
/// The first child of a process' first thread, 0 if it has none.
pid_t ChildOf(pid_t parent) {
  pid_t child = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", parent)) >> child;
  return child;
}

/// Returns once a process has a handler of its own for SIGTERM, or is gone.
void AwaitHandler(pid_t process) {
  for (;;) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    std::string word;
    unsigned long long caught = 0;
    while (status >> word && word != "SigCgt:") {
    }
    if (!(status >> std::hex >> caught) || (caught >> (SIGTERM - 1) & 1) != 0) return;
    ::poll(nullptr, 0, 1);
  }
}

TEST_F(CliTest, AnInterruptEndsAMetisPartition) {
  if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "no /proc";
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "1200", "1200", "-o", graph});  // a second or more of METIS
  // With a file to clean up, signals have a thread of their own; without, they come to any.
  for (const bool with_output : {true, false}) {
    for (const int signal : {SIGTERM, SIGINT}) {
      SCOPED_TRACE(fmt::format("signal {}, {}", signal, with_output));
      Arguments arguments{"partition", graph, "--parts", "8"};
      if (with_output) arguments = Join(arguments, {"-o", Path("grid.part.8")});
      const pid_t chatty = Start(arguments, folder_ / ".out", folder_ / ".err");
      int status = 0;
      pid_t metis = 0;
      while ((metis = ChildOf(chatty)) == 0 && ::waitpid(chatty, &status, WNOHANG) == 0) ::poll(nullptr, 0, 1);
      ASSERT_NE(metis, 0) << "METIS was not seen: " << ReadAll(folder_ / ".err");
      AwaitHandler(metis);  // METIS is at work
      ASSERT_EQ(::kill(chatty, signal), 0);
      ASSERT_EQ(::waitpid(chatty, &status, 0), chatty);
      ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the interrupt came";
      EXPECT_EQ(WTERMSIG(status), signal);
      EXPECT_EQ(ReadAll(folder_ / ".out"), "");
      EXPECT_EQ(ReadAll(folder_ / ".err"), "");
      EXPECT_FALSE(fs::exists(Path("grid.part.8")));
      // Ended with its parent. Who adopts it may never ask how: then a zombie stays.
      for (int wait = 0; wait < 6000; ++wait) {  // a minute: a hang
        std::string stat = ReadAll(fmt::format("/proc/{}/stat", metis));
        if (stat.empty() || stat.find(") Z ") != std::string::npos || stat.find(") X ") != std::string::npos) {
          metis = 0;
          break;
        }
        ::poll(nullptr, 0, 10);
      }
      EXPECT_EQ(metis, 0) << "METIS goes on";
    }
  }
}

TEST_F(CliTest, WhatEndsMetisDoesNotEndTheRun) {
  if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "no /proc";
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "1200", "1200", "-o", graph});
  for (const int signal : {SIGKILL, SIGTERM}) {  // as the out-of-memory killer ends it, and as METIS ends itself
    const pid_t chatty = Start({"partition", graph, "--parts", "8"}, folder_ / ".out", folder_ / ".err");
    int status = 0;
    pid_t metis = 0;
    while ((metis = ChildOf(chatty)) == 0 && ::waitpid(chatty, &status, WNOHANG) == 0) ::poll(nullptr, 0, 1);
    ASSERT_NE(metis, 0) << "METIS was not seen: " << ReadAll(folder_ / ".err");
    AwaitHandler(metis);
    ASSERT_EQ(::kill(metis, signal), 0);
    ASSERT_EQ(::waitpid(chatty, &status, 0), chatty);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(ReadAll(folder_ / ".err").starts_with("warning: partition metis: METIS ")) << ReadAll(folder_ / ".err");
    EXPECT_NE(ReadAll(folder_ / ".out").find("edge-balanced (metis was asked for)"), std::string::npos);
  }
}

TEST_F(CliTest, MetisWithoutMemoryFallsBack) {
#if CHATTY_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers take terabytes of addresses";
#endif
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "700", "700", "-o", graph});
  // From a limit in which nothing starts to one in which METIS has enough: on the way it has too little.
  bool divided = false, told = false;
  for (int kib = 30'000; !divided && kib < 4'000'000; kib += kib / 8) {
    const std::string command =
        fmt::format("ulimit -v {}; OMP_NUM_THREADS=1 exec '{}' partition '{}' --parts 8 >'{}' 2>'{}'", kib, Binary(), graph,
                    Path("out"), Path("err"));
    const int status = std::system(command.c_str());
    const std::string out = ReadAll(Path("out")), err = ReadAll(Path("err"));
    SCOPED_TRACE(fmt::format("{} KiB: {}", kib, err));
    EXPECT_TRUE(WIFEXITED(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) continue;  // the command itself is short of memory, and says so
    if (err.find("METIS ran out of memory") != std::string::npos) {
      told = true;
      EXPECT_NE(out.find("edge-balanced (metis was asked for)"), std::string::npos) << out;
    } else if (err.empty()) {
      divided = true;
      EXPECT_NE(out.find("partition       metis, 8 parts"), std::string::npos) << out;
    }
  }
  EXPECT_TRUE(divided);
  EXPECT_TRUE(told);
}

TEST_F(CliTest, MetisKeepsToTheHostsMemoryLimit) {
  const std::string graph = Path("grid.chatty");
  Succeed({"generate", "grid", "400", "400", "-o", graph});
  // From a limit in which not even the run fits to one in which METIS does: first the graph's counts say that it cannot,
  // then METIS itself finds that it has too little.
  bool refused = false, counted = false, divided = false;
  for (int kib = 2000; !divided && kib < 4'000'000; kib += kib / 4) {
    const Outcome outcome = Chatty({"run", "bfs", graph, "--devices", "host:4", "--partition", "metis", "--verify",
                                    "--host-memory-limit", fmt::format("{}K", kib), "--json", "-"});
    SCOPED_TRACE(fmt::format("{} K: {}", kib, outcome.err));
    if (outcome.status != 0) {
      EXPECT_NE(outcome.err.find("the host's limit allows"), std::string::npos);
      refused = true;
      continue;
    }
    const Json json = Json::parse(outcome.out);
    divided = json.at("partition") == "metis";
    EXPECT_EQ(divided, outcome.err.empty());
    EXPECT_TRUE(divided || outcome.err.find("edge-balanced is used instead") != std::string::npos);
    counted = counted || outcome.err.find("METIS needs at least ") != std::string::npos;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(counted);
  EXPECT_TRUE(divided);
}
#endif  // CHATTY_WITH_METIS

/// Returns once a process has taken a signal that it was sent, or is gone.
void AwaitTaken(pid_t process, int signal) {
  for (;;) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    std::string word;
    unsigned long long pending = 0;
    while (status >> word && word != "ShdPnd:") {
    }
    if (!(status >> std::hex >> pending) || (pending >> (signal - 1) & 1) == 0) return;
    std::this_thread::yield();
  }
}

/// Starts a run that never ends by itself, sends `signal` so many times, each when the one before was taken, once its rounds
/// are likely to have begun, and waits for it. Tries again, more patiently, as long as it was too early: only a run that was
/// stopped writes `record`, and its rounds tell whether any was finished. Returns what waitpid gives.
int InterruptedRun(const Arguments& arguments, int signal, const fs::path& record, const fs::path& out, const fs::path& err,
                   int times = 1) {
  int status = 0;
  for (int patience_ms = 100; patience_ms < 30000; patience_ms *= 2) {
    const pid_t child = Start(arguments, out, err);
    ::poll(nullptr, 0, patience_ms);
    for (int sent = 0; sent < times; ++sent) {
      EXPECT_EQ(::kill(child, signal), 0);
      AwaitTaken(child, signal);
    }
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (fs::exists(record) && Json::parse(ReadAll(record)).at("statistics").at("rounds") != 0) return status;
  }
  ADD_FAILURE() << "no round was ever finished: " << ReadAll(err);
  return status;
}

TEST_F(CliTest, AnInterruptEndsARunWithWhatItHad) {
  const std::string graph = Path("kron.chatty");
  Succeed({"generate", "kron", "10", "-o", graph});
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
    SCOPED_TRACE(name);
    const fs::path output = folder_ / name;
    fs::create_directory(output);
    const std::string values = output / "ranks.txt", record = output / "record.json";
    const int status = InterruptedRun({"run", "pagerank", graph, "--rounds", "1000000000", "--tolerance", "0", "--devices",
                                       "host:2", "--verify", "--trials", "3", "--output", values, "--json", record},
                                      signal, record, folder_ / ".out", folder_ / ".err");
    ASSERT_TRUE(WIFSIGNALED(status)) << "the parent sees what ended it; exit code " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);

    const Json json = Json::parse(ReadAll(record));
    EXPECT_EQ(json.at("ended"), "interrupt");
    EXPECT_EQ(json.at("statistics").at("converged"), false);
    const auto rounds = json.at("statistics").at("rounds").get<std::uint64_t>();
    EXPECT_GT(rounds, 0u);
    EXPECT_GT(json.at("statistics").at("edges_touched").get<std::uint64_t>(), 0u);
    EXPECT_EQ(json.at("time").at("trials_ms").size(), 1u) << "the other trials are left out";
    EXPECT_TRUE(json.at("verification").is_null());

    const std::string text = ReadAll(values);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1024);
    double sum = 0;
    std::istringstream lines(text);
    for (double id = 0, rank = 0; lines >> id >> rank;) sum += rank;
    EXPECT_NEAR(sum, 1.0, 1e-3) << "the ranks of a whole round";

    const std::string err = ReadAll(folder_ / ".err"), out = ReadAll(folder_ / ".out");
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    for (const std::string& part : {name, std::string("not final"), std::string("not verified")}) {
      EXPECT_NE(err.find(part), std::string::npos) << err;
    }
    EXPECT_NE(out.find("ended by " + name), std::string::npos) << "the summary: " << out;
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(output)) ++files;
    EXPECT_EQ(files, 2u) << "something unfinished is left";
  }
}

TEST_F(CliTest, AnInterruptEndsAnAsynchronousRun) {
  const std::string graph = Path("chain.chatty"), record = Path("record.json");
  Succeed({"generate", "chain", "20000", "-o", graph});
  const int status = InterruptedRun({"run", "bfs", graph, "--source", "0", "--devices", "host:4", "--partition", "random",
                                     "--execution", "async", "--trials", "1000000", "--json", record},
                                    SIGINT, record, folder_ / ".out", folder_ / ".err");
  ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  const Json json = Json::parse(ReadAll(record));
  EXPECT_EQ(json.at("ended"), "interrupt");
  EXPECT_EQ(json.at("execution"), "async");
  const std::string err = ReadAll(folder_ / ".err");
  EXPECT_LE(std::count(err.begin(), err.end(), '\n'), 1) << err;
}

// As `timeout` sends it, to its child and to the group that the child is in.
TEST_F(CliTest, AnInterruptThatComesTwiceAtOnceIsOne) {
  const std::string graph = Path("chain.chatty"), record = Path("record.json"), values = Path("ranks.txt.gz");
  Succeed({"generate", "chain", CHATTY_TEST_SANITIZED ? "100000" : "600000", "-o", graph});
  for (const int signal : {SIGTERM, SIGINT}) {
    fs::remove(record);
    fs::remove(values);
    // After the first signal values are written, and compressing them takes longer than the others need to come.
    const int status = InterruptedRun(
        {"run", "pagerank", graph, "--rounds", "1000000000", "--tolerance", "0", "--output", values, "--json", record},
        signal, record, folder_ / ".out", folder_ / ".err", /*times=*/3);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(Json::parse(ReadAll(record)).at("ended"), "interrupt");
    EXPECT_TRUE(fs::exists(values));
    EXPECT_NE(ReadAll(folder_ / ".err").find("not final"), std::string::npos);
  }
}

TEST_F(CliTest, ASecondInterruptEndsARunAtOnce) {
  const std::string graph = Path("chain.chatty");
  Succeed({"generate", "chain", CHATTY_TEST_SANITIZED ? "400000" : "3000000", "-o", graph});
  const fs::path output = folder_ / "out";
  fs::create_directory(output);
  // After the first signal values are written; compressing them takes far longer than seeing the file begun. Then the run is
  // held, so that it cannot be done before the time is over within which a second signal is taken for the first one's echo.
  const Arguments arguments{"run",      "pagerank",   graph,
                            "--rounds", "1000000000", "--tolerance",
                            "0",        "--output",   (output / "ranks.txt.gz").string()};
  int status = 0;
  bool begun = false;
  for (int patience_ms = 200; !begun && patience_ms < 30000; patience_ms *= 2) {
    const pid_t child = Start(arguments, folder_ / ".out", folder_ / ".err");
    ::poll(nullptr, 0, patience_ms);
    ASSERT_EQ(::kill(child, SIGINT), 0);
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (!begun && !fs::is_empty(output)) {
        begun = true;
        ASSERT_EQ(::kill(child, SIGSTOP), 0);
        ::poll(nullptr, 0, 250);
        ASSERT_EQ(::kill(child, SIGINT), 0);
        ASSERT_EQ(::kill(child, SIGCONT), 0);
      }
      ::poll(nullptr, 0, 1);
    }
  }
  ASSERT_TRUE(begun) << ReadAll(folder_ / ".err");
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before the second interrupt came";
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(fs::is_empty(output)) << fs::directory_iterator(output)->path();
}

TEST_F(CliTest, AnInterruptWhileLoadingLeavesNothing) {
  const std::string pipe = Path("pipe"), record = Path("record.json");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::write(writer, "0 1\n", 4), 4);
  const pid_t child = Start({"run", "bfs", "-", "--json", record}, folder_ / ".out", folder_ / ".err", pipe);
  int status = 0, unread = 1;
  while (unread > 0 && ::waitpid(child, &status, WNOHANG) == 0) {  // then it waits for the rest of the graph
    ::poll(nullptr, 0, 1);
    ASSERT_EQ(::ioctl(writer, FIONREAD, &unread), 0);
  }
  ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << ReadAll(folder_ / ".err");
  ASSERT_EQ(::kill(child, SIGINT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_FALSE(fs::exists(record));
  EXPECT_EQ(ReadAll(folder_ / ".out"), "");
}

// ---------------------------------------------------------------- topology ----

std::string Machine(const std::string& name) { return CHATTY_SOURCE_DIR "/tests/comm/topologies/" + name + ".json"; }

TEST_F(CliTest, TopologyShowsHostDevices) {
  const std::string text = Succeed({"topology", "--devices", "host:3"});
  const std::string links = text.substr(0, text.find("\nCosts, "));
  EXPECT_EQ(LinesWith(links, "host:1").size(), 5u) << "a device, a head, a row, the ring and its hop: " << text;
  EXPECT_EQ(LinesWith(text, "host:2  MEM     MEM     X").size(), 1u) << text;
  EXPECT_EQ(LinesWith(links, "nominal").size(), 2u) << text;
  const std::string one = Succeed({"topology", "--devices", "host"});
  EXPECT_EQ(one.find("ring"), std::string::npos) << "of one device there is none: " << one;
}

TEST_F(CliTest, TopologyShowsDescribedMachines) {
  const std::string dgx = Succeed({"topology", "--simulate", Machine("dgx1-v100-8")});
  EXPECT_EQ(LinesWith(dgx, "cuda:0  X       NV1     NV1     NV2     NV2     SYS*    SYS*    SYS*").size(), 1u) << dgx;
  EXPECT_EQ(LinesWith(dgx, "2 NVLinks of generation 2: 50.0 GB/s").size(), 1u) << dgx;
  EXPECT_EQ(LinesWith(dgx, "no peer access: copies are staged").size(), 1u) << dgx;
  EXPECT_EQ(LinesWith(dgx, "cuda:0 > cuda:3 > cuda:2 > cuda:1 > cuda:5 > cuda:6 > cuda:7 > cuda:4 > cuda:0").size(), 2u)
      << dgx;
  EXPECT_EQ(LinesWith(dgx, "narrowest hop   cuda:0 to cuda:3 (NV2), nominally 50.0 GB/s").size(), 1u) << dgx;
  EXPECT_EQ(LinesWith(dgx, "3 rings without a common NVLink").size(), 1u) << dgx;
  const std::string quads = Succeed({"topology", "--simulate", Machine("two-pcie-quads-8")});
  EXPECT_EQ(LinesWith(quads, "across CPU sockets").size(), 1u) << quads;
  EXPECT_EQ(LinesWith(quads, "without a common NVLink").size(), 0u) << quads;
  EXPECT_EQ(LinesWith(Succeed({"topology", "--simulate", "-"}, Machine("no-peers-4")), "(MEM*)").size(), 1u);
}

TEST_F(CliTest, TopologyMasksLinks) {
  const auto cells = [&](const std::string& mask) {
    const Json json =
        Json::parse(Succeed({"topology", "--simulate", Machine("nvswitch-h200-4"), "--links", mask, "--json", "-"}));
    EXPECT_EQ(json.at("mask"), mask);
    std::size_t peers = 0;
    for (const Json& link : json.at("topology").at("links")) peers += link.at("peer_access") == true ? 1 : 0;
    return peers;
  };
  EXPECT_EQ(cells("all"), 12u);
  EXPECT_EQ(cells("pairs {0,1}{2,3}"), 4u);
  EXPECT_EQ(cells("none"), 0u);
  const std::string text = Succeed({"topology", "--devices", "host:2", "--links", "none"});
  EXPECT_EQ(LinesWith(text, "host:0  X       MEM*").size(), 1u) << text;
  EXPECT_EQ(LinesWith(text, ", links: none").size(), 1u) << text;
}

TEST_F(CliTest, TopologyRecordsAreReadBack) {
  const std::string record = Path("record.json"), page = Path("page.html");
  Succeed({"topology", "--simulate", Machine("dgx1-v100-8"), "--json", record, "--html", page});
  const Json json = Json::parse(ReadAll(record));
  EXPECT_EQ(json.at("topology").at("devices").size(), 8u);
  EXPECT_EQ(json.at("rings").at("best").at("order"), (Json{0, 3, 2, 1, 5, 6, 7, 4}));
  EXPECT_EQ(json.at("rings").at("disjoint").size(), 3u);
  EXPECT_EQ(json.at("simulated"), Machine("dgx1-v100-8"));
  EXPECT_TRUE(json.contains("chatty"));
  const Json again = Json::parse(Succeed({"topology", "--simulate", record, "--json", "-"}));
  EXPECT_EQ(again.at("topology"), json.at("topology"));
  EXPECT_EQ(again.at("rings"), json.at("rings"));
  const Json here = Json::parse(Succeed({"topology", "--devices", "host:2", "--json", "-"}));
  EXPECT_TRUE(here.at("simulated").is_null());
  EXPECT_TRUE(here.at("topology").at("devices")[0].at("pci_bus_id").is_null());

  const std::string html = ReadAll(page);
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>")) << html.substr(0, 100);
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_NE(html.find("<svg "), std::string::npos);
  EXPECT_EQ(Succeed({"topology", "--simulate", Machine("dgx1-v100-8"), "--html", "-"}), html);
}

TEST_F(CliTest, TopologyRefusesWhatMakesNoSense) {
  const std::string good = Machine("unequal-ring-4"), broken = Write("broken.json", "{\"schema\": 1}");
  Fail({"topology", "--simulate", Path("absent.json")}, 2, "absent.json");
  Fail({"topology", "--simulate", broken}, 2, "broken.json: schema");
  Fail({"topology", "--simulate", Write("nan.json", "{\"schema\": NaN}")}, 2, "nan.json: is no JSON");
  const std::string head = R"({"schema": "chatty-topology-1", "devices": [)";
  const std::string host = R"({"label": "host:0", "kind": "host"})", gpu = R"({"label": "cuda:0", "kind": "cuda"})";
  for (const auto& [first, second] : {std::pair(host, gpu), std::pair(gpu, host)}) {
    Fail({"topology", "--simulate", Write("mixed.json", head + first + ", " + second + "]}")}, 2, "devices[1]: kind is not");
  }
  Fail({"topology", "--simulate", good, "--devices", "host:2"}, 2, "--devices");
  Fail({"topology", "--simulate", ""}, 2, "--simulate");
  Fail({"topology", "--simulate", good, "--links", "pairs {0,4}"}, 2, "there is no device 4");
  Fail({"topology", "--simulate", good, "--links", "some"}, 2, "pairs {0,1}{2,3}");
  Fail({"topology", "--simulate", good, "--json", good}, 2, "the same file");
  Fail({"topology", "--simulate", good, "--json", Path("x"), "--html", Path("x")}, 2, "the same file");
  Fail({"topology", "--simulate", good, "--json", "-", "--html", "-"}, 2, "standard output");
  Fail({"topology", "--simulate", good, "--html", Path("no/such/folder.html")}, 2, "folder.html");
  Fail({"topology", "--devices", "host:0"}, 2, "host:0");
  Fail({"topology", "--devices", "host:99"}, 2, "64");
  Fail({"topology", "extra"}, 2, "extra");
  if (!CHATTY_WITH_CUDA) Fail({"topology", "--devices", "cuda:0"}, 1, "CUDA");
}

TEST_F(CliTest, TopologyKeepsTheMaskOfWhatItSimulates) {
  const std::string record = Path("none.json"), four = Path("four.json");
  Succeed({"topology", "--simulate", Machine("nvswitch-h200-4"), "--links", "none", "--json", record});
  EXPECT_EQ(LinesWith(Succeed({"topology", "--simulate", record}), ", links: none").size(), 1u);
  const auto mask = [&](const std::string& file, const std::string& links) {
    return Json::parse(Succeed({"topology", "--simulate", file, "--links", links, "--json", "-"})).at("mask");
  };
  EXPECT_EQ(mask(record, "all"), "none");
  EXPECT_EQ(mask(record, "pairs {0,1}"), "none") << "what the record lacks does not come back";
  Succeed({"topology", "--simulate", Machine("nvswitch-h200-4"), "--links", "pairs {0,1,2}", "--json", four});
  EXPECT_EQ(mask(four, "all"), "pairs {0,1,2}");
  EXPECT_EQ(mask(four, "pairs {0,1}"), "pairs {0,1}");
  EXPECT_EQ(mask(four, "pairs {0,1,3}{2,3}"), "pairs {0,1}");
  EXPECT_EQ(mask(four, "none"), "none");
  std::string text = ReadAll(four);
  text.replace(text.find("{0,1,2}"), 7, "{0,1,9}");
  Fail({"topology", "--simulate", Write("wrong.json", text)}, 2, "wrong.json: mask: ");
}

TEST_F(CliTest, TopologyReadsTheLargestRecordsThatItWrites) {
  std::string machine = R"({"schema": "chatty-topology-1", "devices": [)";
  constexpr int kDevices = CHATTY_TEST_SANITIZED ? 24 : 64;
  for (int i = 0; i < kDevices; ++i) {
    machine += fmt::format(R"({}{{"label": "cuda:{}", "kind": "cuda", "host_path": {{"nominal_bytes_per_s": {}}}}})",
                           i == 0 ? "" : ",", i, 15.75e9 + 1e8 / (i + 3));
  }
  const std::string file = Write("many.json", machine + "]}"), record = Path("record.json"), again = Path("again.json");
  Succeed({"topology", "--simulate", file, "--json", record});
  EXPECT_GT(fs::file_size(record), CHATTY_TEST_SANITIZED ? 1u << 20 : 17u << 20) << "it is larger than topologies are";
  const Outcome outcome = Chatty({"topology", "--simulate", record, "--json", again});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(outcome.out.size(), 100u << 10) << "nobody reads more";
  const std::string before = ReadAll(record), after = ReadAll(again);
  const std::size_t begin = before.find("\"mask\""), there = after.find("\"mask\"");
  ASSERT_NE(there, std::string::npos);
  EXPECT_TRUE(before.substr(begin) == after.substr(there)) << "another machine was read than was written";
}

TEST_F(CliTest, TopologyShowsCostsThatAreKeptElseNominalOnes) {
  const Arguments plain{"topology", "--devices", "host:2"};
  const std::string nominal = Succeed(plain);
  EXPECT_EQ(LinesWith(nominal, "Costs, nominal: ").size(), 1u) << nominal;
  EXPECT_NE(nominal.find("GAMMA ns"), std::string::npos) << nominal;
  EXPECT_NE(nominal.find("Crossovers"), std::string::npos) << nominal;
  EXPECT_EQ(nominal.find("WORST ERROR"), std::string::npos) << "there is none: " << nominal;
  Succeed(Join(plain, {"--measure", "--quick"}));
  const std::string kept = Succeed(plain);
  EXPECT_EQ(LinesWith(kept, "Costs, kept, measured in ").size(), 1u) << kept;
  EXPECT_NE(kept.find("WORST ERROR"), std::string::npos) << kept;
  const Json costs = Json::parse(Succeed(Join(plain, {"--json", "-"}))).at("costs");
  EXPECT_EQ(costs.at("measured"), true);
  EXPECT_EQ(costs.at("kept"), true);

  // A quick calibration goes to 16 MiB at most; columns and figures beyond that are not measured.
  EXPECT_EQ(LinesWith(kept, "measured up to ").size(), 1u) << kept;
  const std::vector<std::string> fastest = LinesWith(kept.substr(kept.find("Fastest for")), "host:0 > host:1");
  ASSERT_FALSE(fastest.empty()) << kept;
  EXPECT_TRUE(fastest[0].ends_with("~")) << "256 MiB: " << fastest[0];
  bool beyond = false;
  for (const Json& choice : costs.at("choices")) {
    if (choice.at("bytes") == 64) {
      EXPECT_EQ(choice.at("extrapolated"), false) << choice;
    }
    if (choice.at("bytes") == 256 << 20) {
      EXPECT_EQ(choice.at("extrapolated"), true) << choice;
      beyond = true;
    }
  }
  EXPECT_TRUE(beyond);
  for (const Json& fit : costs.at("fits")) EXPECT_LE(fit.at("measured_up_to_bytes"), 16 << 20) << fit;
}

TEST_F(CliTest, TopologyShowsWhatAutoMayTakeAlone) {
  const auto paths = [](const Json& costs) {
    std::set<std::string> found;
    for (const Json& choice : costs.at("choices")) found.insert(choice.at("path").get<std::string>());
    for (const Json& crossover : costs.at("crossovers")) {
      found.insert(crossover.at("before").get<std::string>());
      found.insert(crossover.at("after").get<std::string>());
    }
    return found;
  };
  for (const auto& file : fs::directory_iterator(CHATTY_SOURCE_DIR "/tests/comm/topologies")) {
    const std::string machine = file.path().string(), page = Path("page.html"), record = Path("record.json");
    const std::string text = Succeed({"topology", "--simulate", machine, "--json", record, "--html", page});
    const Json costs = Json::parse(ReadAll(record)).at("costs");
    for (const std::string never : {"ring", "uva-hub"}) {
      EXPECT_EQ(paths(costs).count(never), 0u) << machine;
      const auto described = text.find("Crossovers");
      ASSERT_NE(described, std::string::npos) << text;
      EXPECT_EQ(text.find(" " + never, described), std::string::npos) << machine << text;
      EXPECT_EQ(ReadAll(page).find(": " + never + " rather than"), std::string::npos) << machine;
    }
    EXPECT_EQ(LinesWith(text, "runs choose beside all buffers that are under way").size(), 1u) << text;
    EXPECT_EQ(LinesWith(text, "> cuda:").size() <= 40, true) << "it is a page and not a book: " << text;
  }
  const Json host = Json::parse(Succeed({"topology", "--devices", "host:3", "--json", "-"}));
  EXPECT_EQ(paths(host.at("costs")).count("uva-hub"), 0u);
}

TEST_F(CliTest, TopologyMeasuresCosts) {
  const Arguments measure{"topology", "--measure", "--quick", "--devices", "host:2"};
  const std::string record = Path("costs.json"), page = Path("costs.html");
  const std::string text = Succeed(Join(measure, {"--json", record, "--html", page}));
  EXPECT_NE(text.find("Costs, measured in"), std::string::npos) << text;
  EXPECT_NE(text.find("ALPHA us"), std::string::npos) << text;
  EXPECT_NE(text.find("Crossovers"), std::string::npos) << text;
  EXPECT_NE(text.find("flag-round-trip"), std::string::npos) << text;
  const Json costs = Json::parse(ReadAll(record)).at("costs");
  EXPECT_EQ(costs.at("measured"), true);
  EXPECT_EQ(costs.at("quick"), true);
  EXPECT_EQ(costs.at("kept"), false);
  std::map<std::string, std::size_t> alone;
  for (const Json& fit : costs.at("fits")) {
    EXPECT_GE(fit.at("small").at("alpha_us"), 0);
    EXPECT_GT(fit.at("samples"), 0);
    if (fit.at("load") == "alone") ++alone[fit.at("content")];
  }
  const std::size_t each = 2 * costs.at("paths").size();  // there and back
  EXPECT_EQ(alone, (std::map<std::string, std::size_t>{{"lists", each}, {"values", each}}));
  EXPECT_EQ(costs.at("broadcasts").size(), 4 * costs.at("paths").size());
  EXPECT_GT(costs.at("probes").size(), 20u);
  EXPECT_EQ(costs.at("choices").size(), 12u);
  const std::string html = ReadAll(page);
  EXPECT_NE(html.find("<polyline class=\"p0\""), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "the page loads nothing";
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);

  const auto kept = [&](const Arguments& more) {
    return Json::parse(Succeed(Join(Join(measure, more), {"--json", "-"}))).at("costs").at("kept").get<bool>();
  };
  EXPECT_TRUE(kept({}));
  EXPECT_FALSE(kept({"--links", "none"})) << "another mask has other costs";
  EXPECT_FALSE(kept({"--recalibrate"}));
  EXPECT_TRUE(kept({}));
  const std::string file = costs.at("file");
  fs::resize_file(file, fs::file_size(file) / 2);
  const Outcome damaged = Chatty(measure);
  EXPECT_EQ(damaged.status, 0) << damaged.err;
  EXPECT_NE(damaged.err.find("is damaged"), std::string::npos) << damaged.err;
  EXPECT_TRUE(kept({}));

  SetCacheFolder(record);
  const Outcome unwritable = Chatty(measure);  // the figures are as good
  EXPECT_EQ(unwritable.status, 0) << unwritable.err;
  EXPECT_NE(unwritable.err.find("CHATTY_CACHE_DIR"), std::string::npos) << unwritable.err;
  SetCacheFolder(Path(".costs"));

  Fail({"topology", "--measure", "--devices", "host:1"}, 2, "two devices");
  Fail({"topology", "--quick"}, 2, "--measure");
  Fail({"topology", "--measure", "--simulate", Machine("dgx1-v100-8")}, 2, "--measure");
}

TEST_F(CliTest, TopologySimulatesChoices) {
  const Arguments quads{"topology", "--simulate", Machine("two-pcie-quads-8")};
  const std::string text = Succeed(quads);
  EXPECT_NE(text.find("nominal"), std::string::npos) << text;
  const std::size_t fastest = text.find("Fastest for");
  const std::vector<std::string> across = LinesWith(text.substr(fastest, text.find("T = ") - fastest), "cuda:0 > cuda:4");
  ASSERT_EQ(across.size(), 1u) << text;
  EXPECT_NE(across[0].find("staged"), std::string::npos) << text;
  const auto choice = [&](const std::string& mask, int to, std::int64_t bytes) {
    const Json costs =
        Json::parse(Succeed({"topology", "--simulate", Machine("nvswitch-h200-4"), "--links", mask, "--json", "-"}))
            .at("costs");
    EXPECT_EQ(costs.at("measured"), false);
    for (const Json& one : costs.at("choices")) {
      if (one.at("from") == 0 && one.at("to") == to && one.at("bytes") == bytes) return one.at("path").get<std::string>();
    }
    return std::string();
  };
  EXPECT_EQ(choice("all", 2, 1 << 20), "p2p-direct");
  EXPECT_EQ(choice("pairs {0,1}{2,3}", 1, 1 << 20), "p2p-direct");
  EXPECT_EQ(choice("pairs {0,1}{2,3}", 2, 1 << 24), "staged");
  EXPECT_EQ(choice("none", 1, 64), "uva");
}

TEST_F(CliTest, TopologyIsDescribedAndCompleted) {
  const std::string help = Succeed({"topology", "--help"});
  EXPECT_NE(help.find("Examples:\n  chatty topology"), std::string::npos) << help;
  EXPECT_EQ(Succeed({"__complete", "topology", "--links", ""}), "all\nnone\npairs\n");
  EXPECT_EQ(Succeed({"__complete", "topology", "--simulate", ""}), ":files\n");
  EXPECT_NE(Succeed({"__complete", "topology", "--devices", "h"}).find("host"), std::string::npos);
  EXPECT_NE(Succeed({"help"}).find("\n  topology  "), std::string::npos);
}

}  // namespace
}  // namespace chatty::cli::test
