// `chatty run --trace`: rows, spans and steps, also of a run that fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

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

TEST_F(CliTest, TraceHasATrackADeviceAndARowForEachUseOfTime) {
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

  const auto names = [&](const std::string& track, const std::string& row) {
    std::set<std::string> all;
    for (const Json& span : rows[{track, row}]) all.insert(span.at("name").get<std::string>());
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
    const std::string track = fmt::format("host:{}", device);
    const std::vector<Json>& rounds = rows[{track, "rounds"}];
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
      for (const Json& span : rows[{track, row}]) {
        EXPECT_EQ(span.at("cat"), row);
        if (span.at("ts").get<double>() >= last_trial) ms += span.at("dur").get<double>() / 1000;
      }
      // The record is rounded to a nanosecond, the trace's spans are whole ones.
      EXPECT_NEAR(ms, record.at("statistics").at("devices").at(device).at(account).get<double>(), 2e-6)
          << track << ' ' << row;
      EXPECT_GT(ms, 0) << track << ' ' << row;
    }
    for (const Json& span : rows[{track, "communication"}]) {
      if (span.at("ts").get<double>() < last_trial || !span.at("name").get<std::string>().starts_with("post to ")) continue;
      const int peer = span.at("args").at("peer");
      EXPECT_EQ(span.at("name"), fmt::format("post to {}", peer));
      bytes[{device, peer}] += span.at("args").at("bytes").get<std::uint64_t>();
    }
  }
  std::map<std::pair<int, int>, std::uint64_t> recorded;
  for (const Json& pair : record.at("statistics").at("pairs")) {
    if (pair.at("bytes") != 0) recorded[{pair.at("from").get<int>(), pair.at("to").get<int>()}] = pair.at("bytes");
  }
  EXPECT_EQ(bytes, recorded);
  EXPECT_FALSE(recorded.empty());
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

}  // namespace
}  // namespace chatty::cli::test
