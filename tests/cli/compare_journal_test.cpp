// `chatty compare` from end to end, and what goes on from a journal that was cut.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/json.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/topology.h"
#include "chatty/core/error.h"
#include "compare_fixture.h"

namespace chatty::cli {
namespace {

TEST_F(CompareTest, EndToEnd) {
  const ChildEnd run = Chatty(Compare({"--programs", "bfs,pr", "--devices", "2,1", "--trials", "2"}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("regret of auto"), std::string::npos) << run.out;

  const Json results = Results();
  EXPECT_EQ(results.at("graphs").at(0).at("vertices"), 128);
  std::set<std::string> comms;
  std::size_t refused = 0;
  for (const Json& m : results.at("measurements")) {
    if (m.at("program") == "pagerank" && m.at("execution") == "async") {
      EXPECT_EQ(m.at("outcome"), "not applicable") << m;
      EXPECT_NE(m.at("reason").get<std::string>().find("execution async"), std::string::npos) << m;
      ++refused;
      continue;
    }
    EXPECT_EQ(m.at("outcome"), "ok") << m;
    EXPECT_EQ(m.at("time").at("trials_ms").size(), 2u) << m;
    EXPECT_EQ(m.at("verification").at("passed"), true) << m;
    EXPECT_EQ(m.at("comm") == "none", m.at("devices") == 1) << m;
    if (m.at("devices") == 2) {
      comms.insert(m.at("comm"));
      EXPECT_EQ(m.at("statistics").at("devices").size(), 2u);
      EXPECT_FALSE(m.at("statistics").at("pairs").empty()) << m;
    }
  }
  EXPECT_GE(refused, 2u);
  EXPECT_TRUE(comms.count("auto") == 1 && comms.count("host") == 1 && comms.size() >= 3) << fmt::format("{}", comms.size());
  EXPECT_FALSE(results.at("regret").at("cases").empty());
  for (const Json& one : results.at("regret").at("cases")) {
    EXPECT_TRUE(one.contains("verdict") && one.at("auto_interval_ms").size() == 2 && one.at("best_interval_ms").size() == 2)
        << one;
  }
  EXPECT_NE(results.at("command").get<std::string>().find("--trials 2"), std::string::npos);

  const auto rows = ParseCsv(ReadAll(folder_ / "out" / "results.csv"));
  ASSERT_EQ(rows.size(), results.at("measurements").size() + 1);
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  for (const auto& row : rows) ASSERT_EQ(row.size(), rows[0].size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i][column("outcome")] != "ok") continue;
    const double median = std::stod(rows[i][column("median_ms")]);
    EXPECT_LE(std::stod(rows[i][column("min_ms")]), median);
    EXPECT_GE(std::stod(rows[i][column("max_ms")]), median);
    EXPECT_EQ(rows[i][column("verified")], "yes");
    EXPECT_GT(std::stod(rows[i][column("speedup")]), 0);
  }
  ExpectPage(ReadAll(folder_ / "out" / "index.html"));
}

TEST_F(CompareTest, ResumesAfterACutJournal) {
  const Arguments options = Compare({"--programs", "bfs,cc", "--execution", "bsp", "--devices", "1,2", "--trials", "3"});
  ASSERT_EQ(Chatty(options).status, 0);
  const std::string whole = ReadAll(JournalPath());
  const std::size_t measured = Results().at("measurements").size();

  // ChildEnd in the midst of a line, by whatever ends processes.
  const std::size_t cut = whole.find('\n', whole.size() / 2) + 20;
  fs::resize_file(JournalPath(), cut);
  const std::size_t kept = whole.rfind('\n', cut - 1) + 1;
  ChildEnd refused = Chatty(options);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  Arguments resume = options;
  resume.emplace_back("--resume");
  const ChildEnd resumed = Chatty(resume);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const std::string after = ReadAll(JournalPath());
  EXPECT_EQ(after.substr(0, kept), whole.substr(0, kept)) << "a finished measurement was lost";
  const Json results = Results();
  EXPECT_EQ(results.at("measurements").size(), measured);
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), "ok") << m;
    EXPECT_EQ(m.at("time").at("trials_ms").size(), 3u) << m;
  }
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), std::count(whole.begin(), whole.end(), '\n'));

  ASSERT_EQ(Chatty(resume).status, 0);
  EXPECT_EQ(ReadAll(JournalPath()), after) << "what was measured was measured again";
}

TEST_F(CompareTest, DropsWhatOtherCostsLedTo) {
  ASSERT_EQ(setenv("CHATTY_CACHE_DIR", Path("costs").c_str(), 1), 0);
  const auto compare = [&](const std::string& trials) {
    return Chatty(Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1,2", "--comm", "auto,host", "--trials",
                           trials, "--resume"}));
  };
  const auto trials = [&](std::string_view comm) {
    const std::vector<std::string> all = TrialsInTheJournal();
    return std::count_if(all.begin(), all.end(), [&](const std::string& at) {
      return at.find(fmt::format("\"comm\":\"{}\"", comm)) != std::string::npos;
    });
  };
  ASSERT_EQ(compare("2").status, 0);
  const std::string nominal = ReadAll(JournalPath());
  EXPECT_NE(nominal.find("\"costs\":\"nominal\""), std::string::npos);

  // Somebody measures what messages cost between two devices of two threads.
  const Topology topology = DiscoverTopology(ParseDevices("host:2"), 2);
  Calibration calibration;
  calibration.model = CostModel({"host"}, 2);
  const Cost cost{.alpha_us = 3, .beta_us_per_byte = 1e-3, .largest = 1 << 24};
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    for (const MeasuredLoad load : kAllLoads) calibration.model.set_cost(0, from, to, load, cost);
  }
  SaveCalibration(MachineFingerprint(topology, LinkMask::Parse("all", 2)), calibration);
  const ChildEnd resumed = compare("3");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("2 combinations were measured by other costs"), std::string::npos)
      << resumed.out << resumed.err;
  EXPECT_TRUE(ReadAll(JournalPath()).starts_with(nominal));
  EXPECT_EQ(trials("auto"), 2 + 3) << "times of two kinds of costs are in one row";
  EXPECT_EQ(trials("host"), 3) << "what does not depend on costs was measured again";
  EXPECT_EQ(trials("none"), 3);
  const Json results = Results();
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), "ok") << m;
    EXPECT_EQ(m.at("time").at("trials_ms").size(), 3u) << m;
    EXPECT_EQ(m.contains("buffers"), m.at("devices") == 2) << m;
  }
  const std::string measured = ReadAll(JournalPath());
  const ChildEnd again = compare("3");
  EXPECT_EQ(again.out.find("other costs"), std::string::npos) << again.out;
  EXPECT_EQ(ReadAll(JournalPath()), measured);
  unsetenv("CHATTY_CACHE_DIR");
}

TEST_F(CompareTest, RefusesToGoOnWithSomethingElse) {
  const Arguments options =
      Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1", "--trials", "1", "--resume"});
  ASSERT_EQ(Chatty(options).status, 0);
  const std::string journal = ReadAll(JournalPath());
  const auto refused = [&](const Arguments& arguments, std::string_view why) {
    const ChildEnd run = Chatty(arguments);
    EXPECT_EQ(run.status, 2) << why;
    EXPECT_NE(run.err.find(why), std::string::npos) << run.err;
  };
  Arguments other = options;
  other.insert(other.end(), {"--seed", "7"});
  refused(other, "--seed 1, and this is 7");
  refused(test::Join(options, {"--ids", "zero"}), "--ids \"file\", and this is \"zero\"");
  refused(test::Join(options, {"--compact-ids"}), "--compact-ids false, and this is true");

  const auto edited = [&](std::string_view from, std::string_view to) {
    std::string text = journal;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::ofstream(JournalPath(), std::ios::binary) << text.replace(at, from.size(), to);
  };
  edited("\"version\":\"", "\"version\":\"9");
  refused(options, "another build");
  edited("\"processor\":\"", "\"processor\":\"no ");
  refused(options, "another machine");
  edited("\"kind\":\"graph\"", "\"kind\":graph");
  refused(options, "line 2");
  for (const auto& [from, to] :
       {std::pair("\"at\":", "\"then\":"), std::pair("\"ms\":", "\"ms\":-"), std::pair("\"ms\":", "\"ms\":0,\"s\":"),
        std::pair("\"devices\":", "\"devices\":-"), std::pair("\"graph\":\"", "\"graph\":\"no "),
        std::pair("\"kind\":\"trial\"", "\"kind\":\"tries\""), std::pair("\"statistics\":", "\"numbers\":")}) {
    std::string text = journal;
    const std::size_t line = text.find("\"kind\":\"trial\"");
    const std::size_t begin = text.rfind('\n', line) + 1;
    const std::size_t at = text.find(from, begin);
    ASSERT_LT(at, text.find('\n', begin)) << from;
    const auto number = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1;
    std::ofstream(JournalPath(), std::ios::binary) << text.replace(at, std::string_view(from).size(), to);
    refused(options, fmt::format("journal.jsonl, line {}: is no line of a journal", number));
  }
  std::ofstream(JournalPath(), std::ios::binary) << journal;
  ASSERT_EQ(Chatty(options).status, 0);
  ASSERT_EQ(Chatty({"generate", "kron", "8", "-o", Path("kron.chatty")}).status, 0);
  refused(options, "has changed since");
}

TEST_F(CompareTest, GoesOnWithTheGraphsThatAreNamedAlone) {
  for (const char* name : {"first.el", "second.el"}) std::ofstream(Path(name)) << "0 1\n1 2\n";
  const auto compare = [&](const char* graph, const char* trials) {
    return Chatty({"compare", Path(graph), "--on", "host", "--threads", "2", "--programs", "bfs,sssp", "--devices", "1,2",
                   "--source", "1", "--out", Path("out"), "--resume", "--trials", trials});
  };
  const auto expect = [&](std::string_view when) {
    const Json results = Results();
    EXPECT_GT(results.at("measurements").size(), 8u);
    for (const Json& m : results.at("measurements")) {
      EXPECT_EQ(m.at("outcome"), "ok") << when << m;
      EXPECT_EQ(m.at("time").at("trials_ms").size(), m.at("graph") == "first" ? 1u : 2u) << when << m;
    }
  };
  ASSERT_EQ(compare("first.el", "1").status, 0);
  ASSERT_EQ(compare("second.el", "2").status, 0);
  expect("as it was: ");
  std::ofstream(Path("first.el")) << "0 1\n1 2\n2 3\n";
  EXPECT_EQ(compare("second.el", "2").status, 0);
  expect("changed: ");
  fs::remove(Path("first.el"));
  EXPECT_EQ(compare("second.el", "2").status, 0);
  expect("removed: ");
}

TEST_F(CompareTest, PartFilesAreTheSameWhenItGoesOn) {
  const auto divide = [&](int parts) {
    std::ofstream file(Path("kron.part"));
    for (int v = 0; v < 128; ++v) file << v % parts << '\n';
  };
  divide(2);
  const Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "2", "--comm", "host",
                                     "--trials", "1", "--resume", "--partition"});
  const Arguments with = test::Join(options, {Path("kron.part")});
  ASSERT_EQ(Chatty(with).status, 0);
  EXPECT_EQ(Results().at("part_files").at(0).at("path"), Path("kron.part"));
  EXPECT_EQ(Chatty(with).status, 0);
  std::ofstream(Path("kron.part"), std::ios::app) << "\n";
  const ChildEnd changed = Chatty(with);
  EXPECT_EQ(changed.status, 2) << changed.out;
  EXPECT_NE(changed.err.find("kron.part has changed since"), std::string::npos) << changed.err;
  EXPECT_EQ(Chatty(test::Join(options, {"contiguous"})).status, 0) << "it is not named, and keeps what it has";

  const ComparedParts then{"./p", "/a/p", 8, 1}, elsewhere{"./p", "/b/p", 8, 1};
  EXPECT_NO_THROW(CheckSame(then, then, "out"));
  EXPECT_THROW(CheckSame(then, elsewhere, "out"), InputError) << "called from another folder";
}

TEST_F(CompareTest, NamesThatTheJournalCannotHoldAreRefused) {
  for (const char* name : {"caf\xE9.el", "caf\xE9.part"}) std::ofstream(Path(name)) << "0\n1\n";
  std::ofstream(Path("café.el")) << "0 1\n1 2\n";
  const auto compare = [&](const char* graph, const Arguments& more) {
    return Chatty(test::Join({"compare", Path(graph), "--on", "host", "--threads", "2", "--programs", "bfs", "--devices",
                              "1,2", "--comm", "host", "--execution", "bsp", "--trials", "1"},
                             more.empty() || more[0] != "--out" ? test::Join(more, {"--out", Path("out")}) : more));
  };
  for (const ChildEnd& run : {compare("caf\xE9.el", {}), compare("café.el", {"--partition", Path("caf\xE9.part")})}) {
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_NE(run.err.find("is no UTF-8"), std::string::npos) << run.err;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  ASSERT_EQ(compare("café.el", {}).status, 0);
  const std::size_t trials = TrialsInTheJournal().size();
  ASSERT_EQ(compare("café.el", {"--resume"}).status, 0);
  EXPECT_EQ(TrialsInTheJournal().size(), trials);
  ASSERT_EQ(compare("café.el", {"--out", Path("caf\xE9")}).status, 0) << "results may be anywhere";
  EXPECT_NO_THROW(static_cast<void>(Json(ReadAll(Path("caf\xE9/index.html"))).dump()));
}

TEST_F(CompareTest, FewerCpusAreAnotherMachine) {
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(cpus), &cpus), 0);
  if (CPU_COUNT(&cpus) < 2) GTEST_SKIP() << "there is one CPU";
  const Arguments options =
      Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1", "--trials", "1", "--resume"});
  ASSERT_EQ(Chatty(options).status, 0);
  EXPECT_EQ(Results().at("machine").at("threads"), CPU_COUNT(&cpus));
  for (int cpu = 0; CPU_COUNT(&cpus) > 1; ++cpu) CPU_CLR(cpu, &cpus);
  const ChildEnd run = Wait(StartChatty(options, [&] { return -::sched_setaffinity(0, sizeof(cpus), &cpus); }));
  EXPECT_EQ(run.status, 2) << run.out;
  EXPECT_NE(run.err.find("on another machine"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace chatty::cli
