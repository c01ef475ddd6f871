// `chatty compare`: the built binary as a subprocess; and the command line with programs that go wrong, in a child.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/cli/app.h"
#include "chatty/cli/compare/costs.h"
#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/figures.h"
#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/page/page.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/stop.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/compare/transfers.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/topology.h"
#include "chatty/core/error.h"
#include "chatty/framework/registry.h"
#include "cli_fixture.h"

namespace chatty::cli {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::Binary;
using test::ReadAll;

/// Fields of a CSV's lines, as RFC 4180 has them.
std::vector<std::vector<std::string>> ParseCsv(std::string_view text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "the last line does not end";
  rows.pop_back();
  return rows;
}

/// What is wrong with a page's elements; empty if each is closed in its turn.
std::string Unbalanced(std::string_view html) {
  std::vector<std::string> open;
  std::size_t at = html.find("<html");
  while ((at = html.find('<', at)) != std::string_view::npos) {
    const std::size_t end = html.find('>', at);
    if (end == std::string_view::npos) return "an element does not end";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    const std::string name(
        tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" \n/", 1) - (tag.starts_with('/') ? 1 : 0)));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name)
        return fmt::format("</{}> closes {}", name, open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
      if (name == "style") at = html.find("</style>", at);
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

constexpr std::string_view kCharts[] = {"time", "scaling", "pairs", "shares", "sizes", "model", "crossovers", "regret"};

void ExpectPage(const std::string& html) {
  EXPECT_EQ(Unbalanced(html), "");
  for (const std::string_view chart : kCharts) {
    const std::size_t at = html.find(fmt::format("<figure id=\"{}\">", chart));
    ASSERT_NE(at, std::string::npos) << chart;
    const std::size_t read = html.find("<p class=\"read\">", at);
    EXPECT_LT(read, html.find("</figure>", at)) << chart << " does not say how to read it";
  }
  for (const std::string_view loads : {"http:", "https:", "src=", "url(", "@import", "<script", "nan", "inf\""}) {
    EXPECT_EQ(html.find(loads), std::string::npos) << loads;
  }
}

/// How a child ended.
struct ChildEnd {
  int status = -1;  // exit code; minus the signal that ended it
  std::string out, err;
};

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(Binary())) FAIL() << Binary() << " is not there; build the target chatty_cli, or set CHATTY_BINARY";
    std::string pattern = (fs::temp_directory_path() / "chatty-compare-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_EQ(Chatty({"generate", "kron", "7", "--edge-factor", "8", "--weights", "1:9", "-o", Path("kron.chatty")}).status,
              0);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  pid_t Start(const std::function<int()>& child) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int files[] = {::open("/dev/null", O_RDONLY), ::open(Path(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                         ::open(Path(".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
    for (int i = 0; i < 3; ++i) {
      if (files[i] < 0 || ::dup2(files[i], i) < 0) ::_exit(126);
    }
    ::_exit(child());
  }
  ChildEnd Wait(pid_t pid) const {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ReadAll(Path(".out")), ReadAll(Path(".err"))};
  }
  /// `before`: what the child does first; another status than 0 ends it.
  pid_t StartChatty(
      const Arguments& arguments, const std::function<int()>& before = [] { return 0; }) const {
    std::vector<std::string> words{Binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Start([&] {
      if (const int status = before(); status != 0) return status;
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      return 127;
    });
  }
  ChildEnd Chatty(const Arguments& arguments) const { return Wait(StartChatty(arguments)); }
  /// The command line in a child, with programs of the test's own.
  ChildEnd With(const Registry& registry, const Arguments& arguments) const {
    return Wait(Start([&] {
      std::vector<const char*> argv{"chatty"};
      for (const std::string& word : arguments) argv.push_back(word.c_str());
      return RunCommandLine(static_cast<int>(argv.size()), argv.data(), registry);
    }));
  }
  Arguments Compare(const Arguments& more) const {
    Arguments all{"compare", Path("kron.chatty"), "--on", "host", "--threads", "2", "--out", Path("out")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json Results() const { return Json::parse(ReadAll(folder_ / "out" / "results.json")); }
  fs::path JournalPath() const { return folder_ / "out" / "journal.jsonl"; }
  /// What each timed trial was of, in the order in which they were made.
  std::vector<std::string> TrialsInTheJournal() const {
    std::vector<std::string> trials;
    std::ifstream journal(JournalPath());
    for (std::string text; std::getline(journal, text);) {
      const Json line = Json::parse(text);
      if (line.at("kind") == "trial") trials.push_back(line.at("at").dump());
    }
    return trials;
  }

  fs::path folder_;
};

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
  CostFit fit;
  fit.small = fit.large = {3, 1e-3, 0};
  fit.samples = 9;
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    calibration.model.set_fit(0, from, to, LoadCorner::kAlone, fit);
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

/// Gives so many right answers, and wrong ones from then on.
class SpoiledJob final : public RegisteredJob {
 public:
  SpoiledJob(std::unique_ptr<RegisteredJob> inner, int right) : inner_(std::move(inner)), right_(right) {}
  RunStatistics Execute() override { return inner_->Execute(); }
  RunStatistics statistics() const override { return inner_->statistics(); }
  ErasedValues Output() override {
    ErasedValues values = inner_->Output();
    if (right_-- <= 0) std::fill(values.bytes.begin(), values.bytes.end(), std::byte{1});
    return values;
  }
  void Set(std::string_view name, std::string_view value) override { inner_->Set(name, value); }

 private:
  std::unique_ptr<RegisteredJob> inner_;
  int right_;
};

/// bfs, but for what is done to it.
class Spoiled final : public RegisteredProgram {
 public:
  /// kWrongAfterwards: of each job all answers but the first that is looked at are wrong. kWrongAlways: that one, too.
  enum class How { kNothing, kWrong, kNoMemory, kFails, kTimesOut, kWrongAfterwards, kWrongAlways };
  Spoiled(const RegisteredProgram& inner, How how) : inner_(inner), how_(how) {}
  std::string_view name() const override { return "spoiled"; }
  std::string_view summary() const override { return inner_.summary(); }
  std::vector<ParameterInfo> parameters() const override { return inner_.parameters(); }
  std::vector<std::string> values() const override { return inner_.values(); }
  std::string_view safety() const override { return inner_.safety(); }
  std::string_view reduction() const override { return inner_.reduction(); }
  bool traverses() const override { return inner_.traverses(); }
  void Check(const ParameterValues& parameters) const override { inner_.Check(parameters); }
  std::unique_ptr<RegisteredJob> Prepare(Session& session, const ParameterValues& parameters, std::string_view value,
                                         const RunOptions& options) const override {
    if (how_ == How::kNoMemory) throw OutOfMemoryError("host:0: 1 TiB was asked for");
    if (how_ == How::kFails) throw DeviceError("host:1: a step failed");
    if (how_ == How::kTimesOut) throw TimeoutError("waited 1 ms for host:1");
    std::unique_ptr<RegisteredJob> job = inner_.Prepare(session, parameters, value, options);
    if (how_ != How::kWrongAfterwards && how_ != How::kWrongAlways) return job;
    return std::make_unique<SpoiledJob>(std::move(job), how_ == How::kWrongAfterwards ? 1 : 0);
  }
  std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value,
                                                 const RunOptions& options) const override {
    return inner_.Memory(graph, value, options);
  }
  Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                 const RunStatistics* statistics, const VertexData& data) const override {
    if (how_ == How::kWrong) return Failed("vertex 3 has level 7, and 2 is right");
    return inner_.Verify(graph, parameters, values, statistics, data);
  }
  ErasedValues OutputShape(const Graph& graph, std::string_view value) const override {
    return inner_.OutputShape(graph, value);
  }

 private:
  const RegisteredProgram& inner_;
  const How how_;
};

TEST_F(CompareTest, WrongAnswersAreToldAndDoNotEndIt) {
  Registry registry;
  RegisterPrograms(registry);
  registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(registry.Find("bfs", DeviceKind::kHost), Spoiled::How::kWrong));
  const ChildEnd run = With(registry, Compare({"--programs", "spoiled,sssp", "--execution", "bsp", "--devices", "1,2",
                                               "--comm", "auto,host", "--trials", "2"}));
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_NE(run.err.find("vertex 3 has level 7"), std::string::npos) << run.err;
  const Json results = Results();
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), m.at("program") == "spoiled" ? "wrong" : "ok") << m;
    EXPECT_EQ(m.at("time").at("trials_ms").size(), m.at("program") == "spoiled" ? 1u : 2u) << m;
  }
  EXPECT_NE(ReadAll(folder_ / "out" / "index.html").find("WRONG"), std::string::npos);
  for (const Json& regret : results.at("regret").at("cases")) EXPECT_EQ(regret.at("program"), "sssp");
}

TEST_F(CompareTest, AnswersOfTrialsAreVerified) {
  Registry registry, later;
  for (Registry* to : {&registry, &later}) RegisterPrograms(*to);
  const RegisteredProgram& bfs = registry.Find("bfs", DeviceKind::kHost);
  registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kWrongAfterwards));
  later.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kWrongAlways));
  const auto compare = [&](const Registry& programs, const Arguments& more) {
    return With(programs, test::Join(Compare({"--programs", "spoiled,bfs", "--execution", "bsp", "--devices", "1"}), more));
  };
  const auto outcomes = [&](std::size_t times) {
    const Json results = Results();
    for (const Json& m : results.at("measurements")) {
      const bool spoiled = m.at("program") == "spoiled";
      EXPECT_EQ(m.at("outcome"), spoiled ? "wrong" : "ok") << m;
      EXPECT_EQ(m.at("verification").at("passed"), !spoiled) << m;
      EXPECT_EQ(m.at("time").at("trials_ms").size(), spoiled ? times : 3u) << m;
    }
  };
  // The last trial's of a visit, and each one's where each one starts elsewhere.
  EXPECT_EQ(compare(registry, {"--trials", "3"}).status, 3);
  outcomes(3);
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(registry, {"--trials", "3", "--source", "random:5"}).status, 3);
  outcomes(1);

  // A later visit's as well.
  fs::remove_all(folder_ / "out");
  Registry right;
  RegisterPrograms(right);
  right.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kNothing));
  EXPECT_EQ(compare(right, {"--trials", "2"}).status, 0);
  EXPECT_EQ(compare(later, {"--trials", "3", "--resume"}).status, 3);
  outcomes(3);

  // What ended before it was looked at is looked at when the comparison goes on, though it lacks no trial.
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(right, {"--trials", "3"}).status, 0);
  std::string journal = ReadAll(JournalPath());
  const std::size_t of_bfs = journal.rfind("\"kind\":\"trial\"", journal.find("\"program\":\"bfs\""));
  const std::size_t cut = journal.find('\n', of_bfs) + 1;  // behind the last trial of the other one
  ASSERT_NE(journal.substr(cut).find("\"kind\":\"verdict\""), std::string::npos);
  fs::resize_file(JournalPath(), cut);
  EXPECT_EQ(compare(later, {"--trials", "3", "--resume"}).status, 3);
  outcomes(3);
}

TEST_F(CompareTest, FailuresDoNotEndIt) {
  for (const auto& [how, why] :
       {std::pair(Spoiled::How::kNoMemory, "1 TiB was asked for"), std::pair(Spoiled::How::kFails, "a step failed"),
        std::pair(Spoiled::How::kTimesOut, "waited 1 ms")}) {
    fs::remove_all(folder_ / "out");
    Registry registry;
    RegisterPrograms(registry);
    registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(registry.Find("bfs", DeviceKind::kHost), how));
    const Arguments options = Compare({"--programs", "spoiled,bfs", "--execution", "bsp", "--devices", "1,2", "--comm",
                                       "auto", "--trials", "1", "--resume"});
    const ChildEnd run = With(registry, options);
    EXPECT_EQ(run.status, 1) << run.err;
    const Json results = Results();
    for (const Json& m : results.at("measurements")) {
      const bool spoiled = m.at("program") == "spoiled";
      EXPECT_EQ(m.at("outcome"), spoiled ? "failed" : "ok") << m;
      EXPECT_EQ(m.value("reason", "").find(why) != std::string::npos, spoiled) << m;
    }
    // What failed is tried again, once what was missing is there.
    Registry mended;
    RegisterPrograms(mended);
    mended.Add(DeviceKind::kHost, std::make_unique<Spoiled>(mended.Find("bfs", DeviceKind::kHost), Spoiled::How::kNothing));
    const ChildEnd again = With(mended, options);
    EXPECT_EQ(again.status, 0) << again.err;
    const Json all = Results();
    for (const Json& m : all.at("measurements")) EXPECT_EQ(m.at("outcome"), "ok") << m;
  }
}

#if !CHATTY_TEST_SANITIZED  // which take more room than this leaves
TEST_F(CompareTest, AShortageOfThreadsIsAFailure) {
  ASSERT_EQ(Chatty({"generate", "grid", "60", "60", "-o", Path("kron.chatty")}).status, 0);
  const Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1", "--trials", "1"});
  const auto within = [&](std::size_t stack_gib) {
    return Wait(StartChatty(options, [&] {
      ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // whose driver would start threads of its own
      rlimit stack{}, room{};
      stack.rlim_cur = stack.rlim_max = stack_gib << 30;  // of each thread
      room.rlim_cur = room.rlim_max = std::size_t{16} << 30;
      return ::setrlimit(RLIMIT_STACK, &stack) == 0 && ::setrlimit(RLIMIT_AS, &room) == 0 ? 0 : 126;
    }));
  };
  // One has room, which waits for signals; a second one, to prepare the graph, but no third; none besides for the device.
  for (const std::size_t stack_gib : {12, 7, 5}) {
    fs::remove_all(folder_ / "out");
    const ChildEnd run = within(stack_gib);
    if (run.status >= 126) GTEST_SKIP() << "this machine refuses such limits";
    EXPECT_EQ(run.status, 1) << run.out << run.err;
    ASSERT_TRUE(fs::exists(folder_ / "out" / "results.json")) << "the process was ended: " << run.err;
    const Json results = Results();
    ASSERT_EQ(results.at("measurements").size(), 1u);
    EXPECT_EQ(results.at("measurements")[0].at("outcome"), "failed") << stack_gib;
    const std::string reason = results.at("measurements")[0].value("reason", "");
    EXPECT_NE(reason.find("of 2 threads could be started"), std::string::npos) << reason;
    const ChildEnd again = Chatty(test::Join(options, {"--resume"}));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(Results().at("measurements").at(0).at("outcome"), "ok");
  }
}
#endif

TEST_F(CompareTest, AGraphThatCannotBeHadIsSoForEachCombination) {
  if (sizeof(VertexId) > 4) GTEST_SKIP() << "this build can name them all";
  const std::uint64_t header[] = {2, 0, (std::uint64_t{1} << 32) + 2, 1};  // of Galois: version, bytes, vertices, edges
  std::ofstream(Path("huge.gr"), std::ios::binary).write(reinterpret_cast<const char*>(header), sizeof(header));
  std::error_code full;
  fs::resize_file(Path("huge.gr"), std::uint64_t{40} << 30, full);  // takes no room
  if (full) GTEST_SKIP() << "this file system refuses such a file";
  const ChildEnd run = Chatty({"compare", Path("huge.gr"), "--on", "host", "--threads", "2", "--programs", "bfs,cc",
                               "--devices", "1,2", "--comm", "host", "--execution", "bsp", "--out", Path("out")});
  const Json results = Results();
  ASSERT_EQ(results.at("measurements").size(), 4u);
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), "not applicable") << m;
    EXPECT_EQ(m.at("reason"), results.at("measurements")[0].at("reason"));
  }
  EXPECT_EQ(run.status, 0) << run.err;
  // What no graph could be read by is no finding.
  const ChildEnd unknown =
      Chatty({"compare", Path("kron.chatty"), "--on", "host", "--format", "xyz", "--out", Path("none")});
  EXPECT_EQ(unknown.status, 2) << unknown.out;
  EXPECT_NE(unknown.err.find("unknown graph format 'xyz'"), std::string::npos) << unknown.err;
  EXPECT_FALSE(fs::exists(Path("none")));
}

TEST_F(CompareTest, ABrokenGraphDoesNotEndIt) {
  std::ofstream(Path("broken.mtx")) << "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 7\n";
  Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1,2", "--trials", "1"});
  options.insert(options.begin() + 1, Path("broken.mtx"));
  const ChildEnd run = Chatty(options);
  EXPECT_EQ(run.status, 1) << run.err;
  const Json results = Results();
  for (const Json& m : results.at("measurements"))
    EXPECT_EQ(m.at("outcome"), m.at("graph") == "kron" ? "ok" : "failed") << m;
}

TEST_F(CompareTest, APartFileGoesWithOneGraphOfSeveral) {
  std::ofstream(Path("path.el")) << "0 1\n1 2\n";
  std::ofstream parts(Path("kron.part.2"));
  for (int v = 0; v < 128; ++v) parts << v % 2 << '\n';
  parts.close();
  Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "2", "--comm", "host", "--trials",
                               "1", "--partition", Path("kron.part.2")});
  options.insert(options.begin() + 1, Path("path.el"));
  const ChildEnd run = Chatty(options);
  EXPECT_EQ(run.status, 0) << run.err;
  const Json results = Results();
  ASSERT_EQ(results.at("measurements").size(), 2u);
  for (const Json& m : results.at("measurements")) {
    const bool fits = m.at("graph") == "kron";
    EXPECT_EQ(m.at("outcome"), fits ? "ok" : "not applicable") << m;
    EXPECT_EQ(m.value("reason", "").find("128 lines for the 3 vertices") != std::string::npos, !fits) << m;
  }
}

TEST_F(CompareTest, ASourceThatIsNoVertexIsRefused) {
  std::ofstream(Path("path.el")) << "0 1\n1 2\n";
  const auto compare = [&](const std::string& graph, const Arguments& more, const std::string& programs = "cc,bfs") {
    Arguments all = Compare({"--programs", programs, "--execution", "bsp", "--devices", "1,2", "--comm", "auto"});
    if (!graph.empty()) all.insert(all.begin() + 2, graph);
    all.insert(all.end(), more.begin(), more.end());
    return Chatty(all);
  };
  for (const Arguments& source : {Arguments{"--source", "128"}, Arguments{"--set", "source=128"}}) {
    const ChildEnd alone = compare("", source);
    EXPECT_EQ(alone.status, 2) << alone.out;
    EXPECT_NE(alone.err.find("--source 128: not a vertex; the graph's are 0 to 127"), std::string::npos) << alone.err;
    EXPECT_EQ(alone.err.find("kron"), std::string::npos) << alone.err;
  }
  // Of the first graph 5 is one; yet nothing is measured on it.
  const ChildEnd both = compare(Path("path.el"), {"--source", "5"});
  EXPECT_EQ(both.status, 2) << both.out;
  EXPECT_NE(both.err.find("path.el: --source 5: not a vertex; the graph's are 0 to 2"), std::string::npos) << both.err;
  EXPECT_FALSE(fs::exists(JournalPath())) << "the folder cannot be used for what was meant";
  EXPECT_FALSE(fs::exists(folder_ / "out" / "results.json"));

  const ChildEnd right = compare("", {"--source", "5"});
  EXPECT_EQ(right.status, 0) << right.err;
  const std::string journal = ReadAll(JournalPath());
  const ChildEnd further = compare(Path("path.el"), {"--source", "5", "--resume"});
  EXPECT_EQ(further.status, 2) << further.out;
  EXPECT_NE(further.err.find("path.el: --source 5"), std::string::npos) << further.err;
  EXPECT_EQ(ReadAll(JournalPath()), journal) << "what was measured is kept, and nothing else";
  // Programs without a source have no use for one, and what every graph has is fine.
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(Path("path.el"), {"--source", "2"}).status, 0);
}

TEST_F(CompareTest, WhatNobodyHasIsRefused) {
  const auto refused = [&](const Arguments& more, std::string_view why) {
    const ChildEnd run = Chatty(Compare(test::Join({"--devices", "1", "--execution", "bsp", "--trials", "1"}, more)));
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_NE(run.err.find(why), std::string::npos) << run.err;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  };
  refused({"--programs", "bfs,pr", "--set", "foo=1"}, "--set foo=1: no program of bfs, pagerank has such a parameter");
  refused({"--programs", "cc,pr", "--source", "5"}, "--source 5: no program of cc, pagerank starts from a vertex");
  refused({"--programs", "cc", "--set", "source=5"}, "--set source=5: no program of cc");
  refused({"--programs", "pr,cc,pagerank"}, "pagerank stands there twice");
  refused({"--programs", "bfs,ppr", "--vertex-data", "teleprot=x.txt"},
          "--vertex-data teleprot=x.txt: no program of bfs, personalised_pagerank takes such an array (did you mean "
          "'teleport'?)");
  refused({"--programs", "ppr", "--vertex-data", "teleport=" + Path("none.txt")}, Path("none.txt"));
  refused({"--programs", "cc", "--comm", "all,all"}, "'all' stands there twice");
  // What one of them has is that one's.
  const ChildEnd run = Chatty(Compare({"--programs", "bfs,pr", "--set", "rounds=3", "--source", "5", "--execution", "bsp",
                                       "--devices", "1", "--trials", "1"}));
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(CompareTest, VertexDataGoToTheProgramsThatTakeThem) {
  std::ofstream(Path("teleport.txt")) << "3 1\n7 2\n";
  std::ofstream(Path("far.txt")) << "128 1\n";  // the graph has 128 vertices
  const auto compare = [&](const std::string& file, const Arguments& more) {
    return Chatty(Compare(test::Join({"--programs", "bfs,ppr", "--vertex-data", "teleport=" + Path(file), "--execution",
                                      "bsp", "--devices", "1,2", "--comm", "auto", "--trials", "1"},
                                     more)));
  };
  const ChildEnd run = compare("teleport.txt", {});
  EXPECT_EQ(run.status, 0) << run.err;
  const Json results = Results();
  EXPECT_EQ(results.at("settings").at("vertex-data"), Json::array({"teleport=" + Path("teleport.txt")}));
  std::size_t verified = 0;
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), "ok") << m;
    verified += m.at("program") == "personalised_pagerank" ? 1 : 0;
  }
  EXPECT_EQ(verified, 2u);
  // Other data are other measurements: the folder is not gone on with.
  EXPECT_EQ(compare("far.txt", {"--resume"}).status, 2);
  EXPECT_EQ(compare("teleport.txt", {"--resume"}).status, 0);
  std::ofstream(Path("teleport.txt")) << "3 1\n7 1\n11 1\n";  // under the same name
  const ChildEnd changed = compare("teleport.txt", {"--resume"});
  EXPECT_EQ(changed.status, 2);
  EXPECT_NE(changed.err.find("a file of --vertex-data has changed"), std::string::npos) << changed.err;
  fs::remove_all(folder_ / "out");
  const ChildEnd beyond = compare("far.txt", {});
  EXPECT_NE(beyond.status, 0);
  EXPECT_NE((beyond.err + beyond.out).find("128"), std::string::npos) << beyond.err;
}

TEST_F(CompareTest, PlansWithinABudget) {
  const Arguments options = Compare({"--programs", "bfs,cc,sssp", "--devices", "1,2", "--trials", "1000000"});
  Arguments short_one = options;
  short_one.insert(short_one.end(), {"--budget", "0.001"});
  const ChildEnd nothing = Chatty(short_one);
  ASSERT_EQ(nothing.status, 0) << nothing.err;
  EXPECT_NE(nothing.out.find("not reached"), std::string::npos) << nothing.out;
  ExpectPage(ReadAll(folder_ / "out" / "index.html"));

  // As many budgets as it takes here until something is visited again.
  Arguments longer = options;
  longer.insert(longer.end(), {"--budget", "6", "--resume"});
  bool again = false;
  for (int attempt = 0; attempt < 50 && !again; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    const ChildEnd run = Chatty(longer);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(3)) << "the budget does not end it";
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("the budget of 6 s ended it"), std::string::npos) << run.out;
    // All are visited before any is visited again.
    std::set<std::string> seen;
    std::string last;
    for (const std::string& at : TrialsInTheJournal()) {
      if (at == last) continue;
      const bool is_new = seen.insert(at).second;
      EXPECT_FALSE(is_new && again) << at;
      again = again || !is_new;
      last = at;
    }
  }
  EXPECT_TRUE(again);
}

TEST_F(CompareTest, TrialsThatTakeNothingBesideTheirPreparationAreMadeAtOnce) {
  std::ofstream star(Path("star.el"));  // a while to read, and nothing to search from a leaf
  for (int leaf = 1; leaf < 600'000; ++leaf) star << "0 " << leaf << '\n';
  star.close();
  // What takes nothing may take a while beside other work, but not whenever it is tried.
  bool at_once = false;
  for (int attempt = 0; attempt < 10 && !at_once; ++attempt) {
    const std::string out = Path(fmt::format("out-{}", attempt));
    const ChildEnd run = Chatty({"compare",     Path("star.el"), "--on",     "host",     "--threads", "2",         "--out",
                                 out,           "--programs",    "bfs,cc",   "--source", "7",         "--devices", "1",
                                 "--execution", "bsp",           "--trials", "5",        "--budget",  "60"});
    ASSERT_EQ(run.status, 0) << run.err;
    std::vector<std::string> trials;
    std::set<std::string> verified;
    for (const Json& line : ReadJournal(out + "/journal.jsonl").lines) {
      if (line.at("kind") == "verdict") verified.insert(line.at("at").dump());
      if (line.at("kind") != "trial") continue;
      trials.push_back(line.at("at").dump());
      EXPECT_TRUE(verified.count(trials.back()) == 1) << "a time of an answer that nobody has looked at";
    }
    ASSERT_EQ(trials.size(), 10u);
    at_once = trials[1] == trials[0];  // and not the other program's first
  }
  EXPECT_TRUE(at_once);
}

TEST_F(CompareTest, AnInterruptKeepsWhatThereIs) {
  const Arguments options =
      Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1,2", "--trials", "1000000", "--comm", "auto"});
  const pid_t child = StartChatty(options);
  for (int i = 0; i < 600; ++i) {  // until there is something to keep
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string journal = ReadAll(JournalPath());
    if (std::count(journal.begin(), journal.end(), '\n') > 20) break;
  }
  ::kill(child, SIGINT);
  const ChildEnd run = Wait(child);
  EXPECT_EQ(run.status, -SIGINT) << run.err;
  EXPECT_NE(run.out.find("ended by SIGINT"), std::string::npos) << run.out;
  const Json results = Results();
  EXPECT_EQ(results.at("measurements").at(0).at("outcome"), "ok");
  EXPECT_GE(results.at("measurements").at(0).at("time").at("trials_ms").size(), 10u);
  for (const Json& m : results.at("measurements")) {
    EXPECT_TRUE(m.at("outcome") != "ok" || m.at("verification").at("passed") == true) << m;
  }
  const JournalText journal = ReadJournal(JournalPath());
  EXPECT_EQ(journal.bytes, fs::file_size(JournalPath())) << "the last line was cut";
}

TEST_F(CompareTest, Figures) {
  const ChildEnd run =
      Chatty({"compare", "--figure", "groute-2d", "--on", "host", "--devices", "3", "--threads", "2", "--out", Path("out")});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = ParseCsv(ReadAll(folder_ / "out" / "groute-2d.csv"));
  EXPECT_EQ(rows[0], (std::vector<std::string>{"figure", "series", "published", "broadcast", "ms"}));
  std::set<std::string> here, published;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    (rows[i][2] == "yes" ? published : here).insert(rows[i][3]);
    EXPECT_GT(std::stod(rows[i][4]), 0);
  }
  EXPECT_EQ(here, (std::set<std::string>{"one to all", "ring", "ring in packets of 2 MiB", "the path's own"}));
  EXPECT_EQ(published.size(), 4u);
  EXPECT_EQ(Unbalanced(ReadAll(folder_ / "out" / "index.html")), "");
  EXPECT_TRUE(Results().at("figure").at("notes").size() < 2u) << Results().at("figure").at("notes");

  const ChildEnd scaling = Chatty(Compare({"--figure", "chatty-fig5", "--devices", "1,2", "--trials", "1", "--resume"}));
  EXPECT_EQ(scaling.status, 0) << scaling.err;
  std::set<std::string> counts;
  const auto points = ParseCsv(ReadAll(folder_ / "out" / "chatty-fig5.csv"));
  for (std::size_t i = 1; i < points.size(); ++i) counts.insert(points[i][3]);
  EXPECT_EQ(counts, (std::set<std::string>{"1", "2"}));

  // A later call draws none, and those of earlier ones stay: what measurements make of them goes with these.
  const std::string drawn = ReadAll(folder_ / "out" / "chatty-fig5.csv"), moved = ReadAll(folder_ / "out" / "groute-2d.csv");
  std::ofstream(folder_ / "out" / "chatty-fig5.csv") << "of older times\n";
  EXPECT_EQ(
      Chatty(Compare({"--devices", "1,2", "--trials", "1", "--execution", "bsp", "--comm", "auto", "--resume"})).status, 0);
  EXPECT_TRUE(Results().at("figure").is_null());
  EXPECT_EQ(ReadAll(folder_ / "out" / "chatty-fig5.csv"), drawn);
  EXPECT_EQ(ReadAll(folder_ / "out" / "groute-2d.csv"), moved);
  EXPECT_FALSE(fs::exists(folder_ / "out" / "chatty-fig4.csv"));
  EXPECT_EQ(Chatty({"compare", "--figure", "fig7", "--out", Path("x")}).status, 2);
  EXPECT_EQ(Chatty({"compare", "--out", Path("x")}).status, 2);
}

/// Of the figure in the folder: what was measured here, series and x.
std::vector<std::string> PointsHere(const std::string& csv) {
  std::vector<std::string> points;
  for (const auto& row : ParseCsv(ReadAll(csv))) {
    if (row[2] == "no") points.push_back(row[1] + ": " + row[3]);
  }
  return points;
}

TEST_F(CompareTest, AnInterruptedFigureKeepsItsPoints) {
  const Arguments options{"compare", "--figure", "groute-2d", "--on",      "host",      "--devices", "8",
                          "--comm",  "all",      "--out",     Path("out"), "--threads", "1"};
  const auto points_in_the_journal = [&] {
    const std::string journal = ReadAll(JournalPath());
    std::size_t points = 0;
    for (std::size_t at = 0; (at = journal.find("\"kind\":\"points\"", at)) != std::string::npos; ++at) ++points;
    return points;
  };
  const pid_t child = StartChatty(options);
  for (int i = 0; i < 6000 && points_in_the_journal() < 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGINT);
  const ChildEnd run = Wait(child);
  EXPECT_EQ(run.status, -SIGINT) << run.err;
  EXPECT_NE(run.out.find("ended by SIGINT"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("not reached; --resume goes on"), std::string::npos) << run.out;
  EXPECT_EQ(PointsHere(Path("out/groute-2d.csv")).size(), points_in_the_journal());
  EXPECT_EQ(Unbalanced(ReadAll(Path("out/index.html"))), "");
  EXPECT_TRUE(Results().at("figure").is_object());

  // A budget that is spent at once adds nothing and takes nothing.
  const std::string journal = ReadAll(JournalPath());
  const ChildEnd spent = Chatty(test::Join(options, {"--resume", "--budget", "0.001"}));
  EXPECT_EQ(spent.status, 0) << spent.err;
  EXPECT_NE(spent.out.find("not reached; --resume goes on"), std::string::npos) << spent.out;
  EXPECT_EQ(ReadAll(JournalPath()), journal);

  const ChildEnd resumed = Chatty(test::Join(options, {"--resume"}));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(ReadAll(JournalPath()).starts_with(journal)) << "a finished point was lost";
  const std::vector<std::string> all = PointsHere(Path("out/groute-2d.csv"));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all.size(), points_in_the_journal()) << "a point was measured twice";
  EXPECT_EQ(all.size() % 4, 0u);
  EXPECT_EQ(resumed.out.find("not reached"), std::string::npos) << resumed.out;
}

TEST_F(CompareTest, AFigureThatFailsIsAFailure) {
  const Arguments options{"compare", "--figure",  "groute-2d", "--on",     "host",  "--devices",
                          "8",       "--threads", "1",         "--resume", "--out", Path("out")};
  // No machine copies 70 MB in a millisecond, for which the other devices wait.
  const ChildEnd late = Chatty(test::Join(options, {"--timeout", "0.001"}));
  EXPECT_EQ(late.status, 1) << late.out;
  EXPECT_NE(late.err.find("not all of figure groute-2d could be measured"), std::string::npos) << late.err;
  EXPECT_NE(late.out.find("waited 1 ms for"), std::string::npos) << late.out;
  EXPECT_GT(Results().at("figure").at("failed"), 0);
  EXPECT_EQ(Unbalanced(ReadAll(Path("out/index.html"))), "");
  const ChildEnd mended = Chatty(options);  // what failed is tried again
  EXPECT_EQ(mended.status, 0) << mended.err;
  EXPECT_EQ(Results().at("figure").at("failed"), 0);
  // What a machine cannot do is none.
  const ChildEnd alone =
      Chatty({"compare", "--figure", "groute-2d", "--on", "host", "--devices", "1", "--out", Path("alone")});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_NE(alone.out.find("It takes two devices"), std::string::npos) << alone.out;
}

#if !CHATTY_TEST_SANITIZED  // which take more room than this leaves
TEST_F(CompareTest, AFigureWithoutMemoryKeepsThePage) {
  const auto within = [&](const Arguments& arguments) {
    return Wait(Start([&] {
      rlimit room{};
      room.rlim_cur = room.rlim_max = std::size_t{500} << 20;  // 64 devices have 10 MiB each, and buffers
      if (::setrlimit(RLIMIT_AS, &room) != 0) return 126;
      std::vector<std::string> words = test::Join({Binary()}, arguments);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      return 127;
    }));
  };
  if (within({"--version"}).status != 0) GTEST_SKIP() << "this program needs more than that for itself";
  const ChildEnd run = within(
      {"compare", "--figure", "groute-2d", "--on", "host", "--devices", "64", "--threads", "1", "--out", Path("out")});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_NE(run.err.find("not all of figure groute-2d could be measured"), std::string::npos) << run.err;
  EXPECT_GT(Results().at("figure").at("failed"), 0);
  EXPECT_EQ(Unbalanced(ReadAll(Path("out/index.html"))), "");
}
#endif

TEST_F(CompareTest, TheScriptCalibratesWhatItCompares) {
  // In place of chatty: writes down what it is asked for, cannot measure between five devices, and has the GPUs that there
  // is a file about; without any it fails, as chatty does.
  std::ofstream(Path("chatty")) << "#!/bin/sh\n"
                                   "echo \"$*\" >>'" +
                                       Path("asked") +
                                       "'\n"
                                       "case \"$*\" in\n"
                                       "*host:5*) echo 'five are too many' >&2; exit 1;;\n"
                                       "*--json*) test -s '" +
                                       Path("gpus") + "' || exit 1; cat '" + Path("gpus") + "';;\nesac\n";
  fs::permissions(Path("chatty"), fs::perms::owner_all);
  std::ofstream(Path("gpus")).close();
  const auto measure = [&](const Arguments& options) {
    fs::remove(Path("asked"));
    const ChildEnd run = Wait(Start([&] {
      setenv("CHATTY", Path("chatty").c_str(), 1);
      std::vector<std::string> words{CHATTY_SOURCE_DIR "/scripts/measure", "--out", Path("measured"), "--links",
                                     "pairs {0,1}{2,3}"};
      words.insert(words.end(), options.begin(), options.end());
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      return 127;
    }));
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<std::string> calibrated;
    std::ifstream asked(Path("asked"));
    for (std::string line; std::getline(asked, line);) {
      if (line.find("--measure") != std::string::npos) calibrated.push_back(line);
    }
    return std::pair(calibrated, run.err);
  };
  const auto line = [](std::string_view devices, std::string_view links) {
    return fmt::format("topology --devices {} --links {} --measure --quick --quiet", devices, links);
  };
  using Lines = std::vector<std::string>;
  const auto [three, nothing] = measure({"--", "--devices", "1,2,3,8", "--programs", "bfs"});
  EXPECT_EQ(three,
            (Lines{line("host:2", "pairs {0,1}"), line("host:3", "pairs {0,1}"), line("host:8", "pairs {0,1}{2,3}")}));
  EXPECT_EQ(nothing, "");
  const auto [five, told] = measure({"--", "--on=host", "--devices=5"});
  EXPECT_EQ(five, (Lines{line("host:5", "pairs {0,1}{2,3}")}));
  EXPECT_NE(told.find("five are too many"), std::string::npos) << told;
  EXPECT_NE(told.find("costs between host:5"), std::string::npos) << told;
  const auto [shared, quiet] = measure({"--", "--on", "cuda:1,3@0", "--devices", "1,2,3,4,5"});
  EXPECT_EQ(shared, (Lines{line("cuda:1,0", "pairs {0,1}"), line("cuda:1,2@0", "pairs {0,1}"),
                           line("cuda:1,3@0", "pairs {0,1}{2,3}")}));
  EXPECT_EQ(quiet, "");
  const auto [all, silent] = measure({});
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0], line("host:2", "pairs {0,1}"));
  EXPECT_EQ(silent, "");
  // GPUs are found in what chatty itself writes.
  std::string topology = Chatty({"topology", "--devices", "host:3", "--json", "-"}).out;
  for (std::size_t at; (at = topology.find("host:")) != std::string::npos;) topology.replace(at, 4, "cuda");
  std::ofstream(Path("gpus")) << topology;
  const auto [gpus, still] = measure({"--", "--devices", "2,3,4"});
  EXPECT_EQ(gpus, (Lines{line("cuda:0,1", "pairs {0,1}"), line("cuda:0,1,2", "pairs {0,1}")}));
  EXPECT_EQ(still, "");
}

TEST_F(CompareTest, OnSaysWhichDevices) {
  const auto refused = [&](const char* on, const std::vector<const char*>& why) {
    const ChildEnd run = Chatty({"compare", Path("kron.chatty"), "--on", on, "--out", Path("out")});
    EXPECT_NE(run.status, 0) << on;
    for (const char* words : why) EXPECT_NE(run.err.find(words), std::string::npos) << on << ": " << run.err;
    EXPECT_EQ(run.err.find("--devices"), std::string::npos) << "another option: " << run.err;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  };
  for (const char* on : {"gpu", "cudax", "host:4", "Cuda"}) refused(on, {"--on", on, "cuda:4@0"});
  for (const char* on : {"cuda:x", "cuda:2@0,0", "cuda:"}) refused(on, {"--on", on});
  if (CudaDeviceCount() == 0) refused("cuda:2@0", {"--on cuda:2@0"});
  if (CudaDeviceCount() == 0) refused("cuda", {"--on cuda"});

  ComparePlan plan;
  plan.kind = DeviceKind::kCuda;
  plan.pool = {DeviceKind::kCuda, {5, 5, 2}};
  EXPECT_EQ(plan.Devices(2).indices, (std::vector<int>{5, 5}));
  EXPECT_EQ(plan.Devices(3).indices, (std::vector<int>{5, 5, 2}));
  const std::vector<int> more = plan.Devices(5).indices;
  ASSERT_EQ(more.size(), 5u);
  EXPECT_GE(more[3], CudaDeviceCount()) << "not there";
  EXPECT_FALSE(CanJoin("nccl", plan.Devices(2)));
  EXPECT_EQ(CanJoin("host", plan.Devices(3)), false);
  EXPECT_TRUE(CanJoin("auto", plan.Devices(3)));
}

TEST_F(CompareTest, Completion) {
  EXPECT_EQ(Chatty({"__complete", "compare", "--figure", "chatty-t"}).out, "chatty-table2\n");
  EXPECT_NE(Chatty({"__complete", "compare", "--programs", "bfs,"}).out.find("bfs,pr\tpagerank\n"), std::string::npos);
  EXPECT_NE(Chatty({"__complete", "compare", "--comm", "a"}).out.find("all\t"), std::string::npos);
  EXPECT_EQ(Chatty({"__complete", "compare", "--on", "h"}).out, "host\n");
  EXPECT_EQ(Chatty({"__complete", "compare", "--execution", "auto,a"}).out, "auto,all\nauto,async\n");
  EXPECT_NE(Chatty({"help", "compare"}).out.find("--budget"), std::string::npos);
}

// ------------------------------------------------------------------ made-up ----

Measurement Made(const std::string& program, std::uint32_t devices, const std::string& comm, std::vector<double> trials,
                 bool passed = true) {
  Measurement m;
  m.combination = {
      "g",    program, "bsp", devices == 1 ? std::string(kNothing) : comm, devices == 1 ? std::string(kNothing) : "metis",
      devices};
  m.trials_ms = std::move(trials);
  m.outcome = passed ? Outcome::kOk : Outcome::kWrong;
  m.verdict = Verdict{passed, ""};
  return m;
}

TEST(CompareFindings, RegretIsAgainstTheBestRightFixedPath) {
  Comparison comparison;
  comparison.measurements = {
      Made("bfs", 1, "", {8, 9, 10}),         Made("bfs", 2, "auto", {6, 5.9, 6.1}),  // median 6
      Made("bfs", 2, "host", {5, 5, 5.1}),                                            // median 5: regret 0.2
      Made("bfs", 2, "staged", {12, 12, 12}),                                         //
      Made("bfs", 2, "wrong", {1}, false),                                            // fast and wrong
      Made("bfs", 4, "auto", {2, 2, 2}),                                              // faster than any
      Made("bfs", 4, "host", {4, 4, 4}),                                              //
      Made("sssp", 2, "auto", {3}),                                                   // nothing beside it
      Made("cc", 2, "auto", {3, 3, 3}),                                               //
      Made("cc", 2, "staged", {2.9, 3, 3.1}),                                         // the same
  };
  Measurement unchecked = Made("cc", 2, "host", {1});
  unchecked.verdict.reset();
  comparison.measurements.push_back(unchecked);
  const std::vector<Regret> regrets = Regrets(comparison);
  ASSERT_EQ(regrets.size(), 3u);
  EXPECT_EQ(regrets[0].best, "host");
  EXPECT_EQ(regrets[0].standing, Standing::kSlower);
  EXPECT_NEAR(regrets[0].regret, 0.2, 1e-12);
  EXPECT_EQ(regrets[1].standing, Standing::kFaster);
  EXPECT_EQ(regrets[1].regret, 0);
  EXPECT_EQ(regrets[2].best, "staged");
  EXPECT_EQ(regrets[2].standing, Standing::kSame);
  EXPECT_EQ(regrets[2].regret, 0);
  const RegretSummary summary = Summarise(regrets);
  EXPECT_EQ(summary.median, 0);
  EXPECT_NEAR(summary.worst, 0.2, 1e-12);
  EXPECT_EQ(summary.clear(), 3u);
  EXPECT_EQ(Summarise({}).worst, 0);

  const std::vector<AgainstFixed> against = AutoAgainstFixed(comparison);
  ASSERT_EQ(against.size(), 2u);
  EXPECT_EQ(against[0].comm, "host");
  EXPECT_NEAR(against[0].ratio, std::sqrt(5.0 / 6 * 4 / 2), 1e-12);
  EXPECT_EQ(against[0].cases, 2u);
  EXPECT_EQ(against[1].comm, "staged");
  EXPECT_NEAR(against[1].ratio, std::sqrt(12.0 / 6 * 3 / 3), 1e-12);
  EXPECT_EQ(BestSingleMs(comparison, "g", "bfs"), 9.0);
  EXPECT_FALSE(BestSingleMs(comparison, "g", "cc"));
}

// Coverages from exact binomial sums; those of 6, 9, 16 and 100 are in tables of order statistics.
TEST(CompareFindings, AMedianLiesBetweenOrderStatistics) {
  struct Known {
    std::size_t count, low, high;
    double coverage;
  };
  for (const Known& known :
       {Known{1, 1, 1, 0}, Known{2, 1, 2, 0.5}, Known{3, 1, 3, 0.75}, Known{4, 1, 4, 0.875}, Known{5, 1, 5, 0.9375},
        Known{6, 1, 6, 0.96875}, Known{7, 1, 7, 0.984375}, Known{8, 1, 8, 0.9921875}, Known{9, 2, 8, 0.9609375},
        Known{10, 2, 9, 0.978515625}, Known{16, 4, 13, 0.978729248046875}, Known{25, 8, 18, 0.9567147493362427},
        Known{100, 40, 61, 0.9647997997822951}, Known{1000, 469, 532, 0.9537088026395019},
        Known{1000000, 499020, 500981, 0.9501210307958124}}) {
    const MedianRanks ranks = RanksOfMedian(known.count);
    EXPECT_EQ(ranks.low, known.low) << known.count;
    EXPECT_EQ(ranks.high, known.high) << known.count;
    EXPECT_NEAR(ranks.coverage, known.coverage, 1e-9) << known.count;
  }
  EXPECT_EQ(RanksOfMedian(0).high, 0u);

  const auto ends = [](const Interval& interval) { return std::pair(interval.low, interval.high); };
  EXPECT_EQ(ends(MedianInterval({9, 1, 8, 2, 7, 3, 6, 4, 5})), (std::pair<double, double>{2, 8}));
  EXPECT_EQ(ends(MedianInterval({3, 1, 2})), (std::pair<double, double>{1, 3}));
  EXPECT_EQ(ends(MedianInterval({})), (std::pair<double, double>{0, 0}));
  EXPECT_EQ(ends(SpreadOf({9, 1, 8, 2, 7, 3, 6, 4, 5}).interval), (std::pair<double, double>{2, 8}));
}

TEST(CompareFindings, TimesAreToldApartByTheIntervalsOfTheirMedians) {
  const auto standing = [](const std::vector<double>& first, const std::vector<double>& second) {
    const Standing one = StandingOf(SpreadOf(first), SpreadOf(second));
    const Standing other = StandingOf(SpreadOf(second), SpreadOf(first));
    const bool mirrored = one == Standing::kFaster   ? other == Standing::kSlower
                          : one == Standing::kSlower ? other == Standing::kFaster
                                                     : other == one;
    EXPECT_TRUE(mirrored) << StandingName(one) << " and " << StandingName(other);
    return StandingName(one);
  };
  // The ends of nine trials are no part of the interval.
  EXPECT_EQ(standing({1, 10, 10, 10, 10, 10, 10, 10, 90}, {1, 11, 11, 11, 11, 11, 11, 11, 90}), "faster");
  EXPECT_EQ(standing({12, 12.5, 13}, {10, 10.5, 11}), "slower");
  EXPECT_EQ(standing({10, 10.1, 10.2}, {10.3, 10.35, 10.4}), "same") << "disjoint, but less than 3 % apart";
  EXPECT_EQ(standing({100, 100, 100}, {103, 103, 103}), "same") << "exactly 3 %";
  EXPECT_EQ(standing({100, 100, 100}, {103.01, 103.01, 103.01}), "faster");
  EXPECT_EQ(standing({19, 20, 21}, {19.5, 20, 21.5}), "same") << "half-widths of exactly 5 %";
  EXPECT_EQ(standing({19, 20, 21}, {19.5, 20, 21.75}), "unclear") << "one half-width is a little more";
  EXPECT_EQ(standing({1, 5, 90}, {1, 2, 80}), "unclear");
  EXPECT_EQ(standing({9, 10, 11}, {11, 12, 13}), "unclear") << "they touch";
  EXPECT_EQ(standing({5, 10, 15}, {9.99, 10, 10.01}), "unclear") << "one is known well, the other is not";
  EXPECT_EQ(standing({10, 10}, {20, 20, 20}), "unclear") << "two trials";
  EXPECT_EQ(standing({10}, {10}), "unclear") << "one trial";
}

TEST(CompareFindings, MoreTrialsNarrowAnInterval) {
  const auto trials = [](std::vector<double> times) {
    const std::size_t count = times.size();
    return TrialsToKnowWell(SpreadOf(std::move(times)), count);
  };
  EXPECT_EQ(trials({10, 10, 10.5}), 3u) << "known well";
  EXPECT_EQ(trials({9.3, 10, 10.7}), 6u) << "7 % instead of 5, but an interval takes six";
  EXPECT_EQ(trials({8, 10, 10, 10, 10, 10, 10, 12}), 128u) << "20 % are four times 5 %: sixteen times eight";
}

/// Cases of each standing: on 2, 4 and so on devices.
Comparison EachStanding() {
  Comparison comparison;
  comparison.measurements = {
      Made("bfs", 2, "auto", {10, 10.1, 10.2}),  Made("bfs", 2, "host", {10, 10.1, 10.2}),  // the same
      Made("bfs", 4, "auto", {8, 8, 8.1}),       Made("bfs", 4, "host", {10, 10.1, 10.2}),  // faster
      Made("bfs", 8, "auto", {11, 11, 11.1}),    Made("bfs", 8, "host", {10, 10, 10.2}),    // slower by a tenth
      Made("bfs", 16, "auto", {1, 1.5, 2.5}),    Made("bfs", 16, "host", {0.9, 1, 3}),      // unclear: 50 % by medians
      Made("sssp", 2, "auto", {12.5, 12.5, 13}), Made("sssp", 2, "host", {10, 10, 10}),     // slower by a quarter
  };
  return comparison;
}

TEST(CompareFindings, OnlyWhatIsClearCounts) {
  Comparison comparison = EachStanding();
  const std::vector<Regret> regrets = Regrets(comparison);
  ASSERT_EQ(regrets.size(), 5u);
  RegretSummary summary = Summarise(regrets);
  EXPECT_EQ(summary.same, 1u);
  EXPECT_EQ(summary.faster, 1u);
  EXPECT_EQ(summary.slower, 2u);
  EXPECT_EQ(summary.unclear, 1u);
  EXPECT_NEAR(summary.median, 0.05, 1e-12) << "of 0, 0, 0.1 and 0.25";
  EXPECT_NEAR(summary.worst, 0.25, 1e-12) << "not the half of the case that is unclear";
  EXPECT_EQ(DescribeRegret(summary), "5.0 % in the median of 4, 25.0 % at worst, 1 unclear");
  for (const Regret& regret : regrets) {
    EXPECT_EQ(regret.more_trials > 0, regret.standing == Standing::kUnclear) << regret.chosen.devices;
  }

  summary = {};
  summary.same = 18, summary.unclear = 3;
  EXPECT_EQ(DescribeRegret(summary), "none in 18 cases, 3 unclear");
  summary.unclear = 0;
  EXPECT_EQ(DescribeRegret(summary), "none in 18 cases");
  summary = {};
  summary.unclear = 1;
  EXPECT_EQ(DescribeRegret(summary), "unclear in 1 case");
  summary = {};
  summary.same = 19, summary.slower = 1, summary.worst = 0.096;
  EXPECT_EQ(DescribeRegret(summary), "none in the median of 20, 9.6 % at worst");

  const Json json = ToJson(comparison).at("regret");
  EXPECT_EQ(json.at("same"), 1);
  EXPECT_EQ(json.at("faster"), 1);
  EXPECT_EQ(json.at("slower"), 2);
  EXPECT_EQ(json.at("unclear"), 1);
  EXPECT_EQ(json.at("worst"), 0.25);
  std::map<std::pair<std::string, int>, Json> cases;
  for (const Json& one : json.at("cases")) cases[{one.at("program"), one.at("devices")}] = one;
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ((cases[{"bfs", 2}].at("verdict")), "same");
  EXPECT_EQ((cases[{"bfs", 4}].at("verdict")), "faster");
  EXPECT_EQ((cases[{"bfs", 4}].at("regret")), 0);
  EXPECT_EQ((cases[{"sssp", 2}].at("verdict")), "slower");
  EXPECT_EQ((cases[{"sssp", 2}].at("regret")), 0.25);
  EXPECT_EQ((cases[{"sssp", 2}].at("auto_interval_ms")), Json::array({12.5, 13.0}));
  EXPECT_EQ((cases[{"sssp", 2}].at("best_interval_ms")), Json::array({10.0, 10.0}));
  EXPECT_FALSE((cases[{"sssp", 2}].contains("more_trials")));
  EXPECT_EQ((cases[{"bfs", 16}].at("verdict")), "unclear");
  EXPECT_EQ((cases[{"bfs", 16}].at("regret")), 0);
  EXPECT_GT((cases[{"bfs", 16}].at("more_trials")), 3);
  EXPECT_EQ(ToJson(comparison).at("measurements").at(0).at("time").at("interval_ms"), Json::array({10.0, 10.2}));
}

TEST(CompareFindings, BuffersAreSummed) {
  std::vector<BufferRecord> buffers(3);
  buffers[0] = {0, 0, 1, false, "host", "bitmap", 5, 100, 100, 2, 3};        // 64 to 128 bytes; not judged
  buffers[1] = {1, 0, 1, false, "host", "bitmap", 5, 1 << 20, 1, 75, 100};   // just within
  buffers[2] = {1, 1, 0, false, "staged", "pairs", 5, 1 << 20, 1, 70, 100};  // not
  buffers.push_back({2, 1, 0, false, "host", "bitmap", 0, 0, 0, 1, -1});     // time not known
  const BufferSummary summary = SummariseBuffers(buffers, 2);
  ASSERT_EQ(summary.paths.size(), 2u);
  EXPECT_EQ(summary.paths[0].buffers, 3u);
  EXPECT_EQ(summary.paths[0].bytes, 100u + (1u << 20));
  EXPECT_EQ(summary.paths[0].histogram.at(6), 1u);
  EXPECT_EQ(summary.paths[0].histogram.at(20), 1u);
  EXPECT_EQ(summary.paths[0].histogram.at(0), 1u);
  EXPECT_EQ(summary.judged, 2u);
  EXPECT_EQ(summary.within, 1u);
  EXPECT_EQ(summary.samples.size(), 2u);
  const BufferSummary back = BuffersFrom(ToJson(summary));
  EXPECT_EQ(ToJson(back), ToJson(summary));
}

TEST(ComparePlanning, ListsAndMasks) {
  EXPECT_EQ(SplitList("--comm", "auto,data=nccl,state=uva,host"),
            (std::vector<std::string>{"auto", "data=nccl,state=uva", "host"}));
  EXPECT_EQ(SplitList("--comm", "data=a,data=b"), (std::vector<std::string>{"data=a", "data=b"}));
  EXPECT_THROW(SplitList("--comm", "auto,,host"), UsageError);
  EXPECT_THROW(SplitList("--comm", "auto,auto"), UsageError);
  EXPECT_EQ(MaskFor("pairs {0,1}{2,3}", 4), "pairs {0,1}{2,3}");
  EXPECT_EQ(MaskFor("pairs {0,1}{2,3}", 2), "pairs {0,1}");
  EXPECT_EQ(MaskFor("pairs {0,2}", 2), "none");
  EXPECT_EQ(MaskFor("none", 2), "none");
  EXPECT_EQ(MaskFor("none", 1), "all");
}

TEST(ComparePlanning, NumbersOfDevicesStandThereOnce) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "4,02,1";
  EXPECT_EQ(MakePlan(registry, options).devices, (std::vector<std::uint32_t>{1, 2, 4}));
  for (const char* twice : {"2,2", "2,02", "1,2,01"}) {
    options.devices = twice;
    EXPECT_THROW(MakePlan(registry, options), UsageError) << twice;
  }
}

TEST(ComparePlanning, AllIsAnEntryOfAList) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "2";
  const ComparePlan every = MakePlan(registry, options);
  options.comm = "data=host,state=uva,all,auto";
  options.execution = "async,all";
  const ComparePlan more = MakePlan(registry, options);
  EXPECT_EQ(more.comms.size(), every.comms.size() + 1);
  EXPECT_EQ(std::set<std::string>(more.comms.begin(), more.comms.end()).size(), more.comms.size());
  EXPECT_EQ(std::count(more.comms.begin(), more.comms.end(), "data=host,state=uva"), 1);
  EXPECT_EQ(more.executions, (std::vector<std::string>{"async", "bsp"}));
}

TEST(CompareTransfers, SchedulesMoveEveryByteOnce) {
  const Schedule ring = RingSchedule(4, 10, 3);
  std::vector<std::size_t> came(4, 0);
  std::vector<std::vector<bool>> has(4, std::vector<bool>(10, false));
  has[0].assign(10, true);
  for (const auto& moves : ring) {
    auto after = has;
    for (const Move& move : moves) {
      came[move.to] += move.bytes;
      for (std::size_t i = move.offset; i < move.offset + move.bytes; ++i) {
        EXPECT_TRUE(has[move.from][i]) << "sent before it came";
        after[move.to][i] = true;
      }
    }
    has = after;
  }
  EXPECT_EQ(came, (std::vector<std::size_t>{0, 10, 10, 10}));
  EXPECT_EQ(PeerSchedule(0, 1, 10, 4).size(), 3u);
  EXPECT_EQ(PeerSchedule(0, 1, 10, 4).back().front().bytes, 2u);
}

TEST(CompareTransfers, AreStoppedAfterAnEpoch) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  TransferOptions options;
  options.repetitions = 1;
  EXPECT_GT(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), 0);
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_THROW(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), AbortedError);
  options.one_thread = true;
  EXPECT_THROW(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), AbortedError);
}

TEST(CompareFigures, HaveTheirSourcesAndNumbers) {
  const auto packets = PublishedSeries("groute-2b");
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].points.front(), (std::pair<std::string, double>("1024", 1696.56908)));
  for (const std::string_view name : FigureNames()) EXPECT_FALSE(PublishedSource(name).empty()) << name;
  EXPECT_TRUE(PublishedSeries("chatty-fig9").empty());
}

TEST(CompareFigures, TakeWhatAJournalHas) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "2";
  options.comm = "host";
  Comparison comparison;
  const FigurePoints measured{"groute-2c", 2, {{"host", "whole", 12.5}}, ""};
  const FigurePoints failed{"groute-2c", 2, {{"host", "in packets of 2 MiB", 0}}, "waited for a GPU"};
  for (const FigurePoints& points : {measured, failed}) {
    Json line = ToJson(points);
    line["kind"] = "points";
    Replay(line, comparison);
  }
  const CompareStop spent(1e-9);
  std::size_t kept = 0;
  const auto keep = [&](const FigurePoints&) { ++kept; };
  const MadeFigure made = MakeFigure("groute-2c", options, MakePlan(registry, options), comparison, spent, keep);
  ASSERT_FALSE(made.figure.series.empty());
  EXPECT_EQ(made.figure.series[0].name, "host");
  EXPECT_EQ(made.figure.series[0].points, (std::vector{std::pair<std::string, double>("whole", 12.5)}));
  EXPECT_EQ(made.figure.failed, 1u);
  EXPECT_EQ(made.figure.notes, std::vector<std::string>{"host, in packets of 2 MiB: waited for a GPU"});
  // Of other devices it has nothing, and there is no time to measure them.
  options.devices = "3";
  const MadeFigure none = MakeFigure("groute-2d", options, MakePlan(registry, options), comparison, spent, keep);
  EXPECT_EQ(none.figure.failed, 0u);
  EXPECT_EQ(none.figure.notes.at(0), "Moved here: 10485760 bytes, a tenth of the published.");
  EXPECT_EQ(none.figure.notes.at(1), "4 of its measurements were not reached; --resume goes on");
  EXPECT_EQ(kept, 0u);
}

TEST(CompareFigures, ScalingHasAPointForEachNumberOfDevices) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "1,2";
  Comparison comparison;
  comparison.measurements = {Made("bfs", 1, "", {8}), Made("bfs", 2, "auto", {5}), Made("bfs", 2, "auto", {4})};
  comparison.measurements[2].combination.partition = "random";
  const CompareStop never(0);
  const MadeFigure made =
      MakeFigure("chatty-fig5", options, MakePlan(registry, options), comparison, never, [](const FigurePoints&) {});
  ASSERT_EQ(made.figure.series.size(), 1u);
  EXPECT_EQ(made.figure.series[0].points, (std::vector<std::pair<std::string, double>>{{"1", 1}, {"2", 2}}));
  EXPECT_TRUE(made.figure.notes.empty()) << made.figure.notes.front();
}

TEST(CompareFigures, SayWhatTheCommandLineLeftOut) {
  Registry registry;
  RegisterPrograms(registry);
  const CompareStop never(0);
  const Comparison nothing;
  const auto notes = [&](const char* figure, const char* devices, const char* execution, const char* comm,
                         const Comparison& comparison) {
    CompareOptions options;
    options.on = "host";
    options.devices = devices;
    options.execution = execution;
    options.comm = comm;
    const auto keep = [](const FigurePoints&) {};
    const MadeFigure made = MakeFigure(figure, options, MakePlan(registry, options), comparison, never, keep);
    return made.figure.notes.empty() ? "" : made.figure.notes.back();
  };
  for (const char* figure : {"chatty-fig4", "chatty-fig5"}) {
    EXPECT_EQ(notes(figure, "1", "bsp", "all", nothing), "It takes two devices: see --devices.");
    EXPECT_EQ(notes(figure, "1,2", "async", "all", nothing), "It is of engine bsp: see --execution.");
    EXPECT_EQ(notes(figure, "1,2", "bsp", "all", nothing), "") << "it was asked for, and says itself why it is not there";
  }
  EXPECT_EQ(notes("chatty-fig4", "1,2", "bsp", "host", nothing), "It takes two paths: see --comm.");
  EXPECT_EQ(notes("chatty-fig5", "1,2", "bsp", "host", nothing), "It is of path auto: see --comm.");
  EXPECT_EQ(notes("chatty-fig5", "2", "bsp", "auto", nothing), "It takes times on one device: see --devices.");
  Comparison earlier;  // what an earlier call measured is there
  earlier.measurements = {Made("bfs", 1, "", {8}), Made("bfs", 2, "auto", {5})};
  EXPECT_EQ(notes("chatty-fig5", "1", "async", "host", earlier), "");
}

TEST(CompareFigures, AccessIsFromTheCalibrationOfAsManyThreads) {
  std::string folder = (fs::temp_directory_path() / "chatty-access-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(setenv("CHATTY_CACHE_DIR", folder.c_str(), 1), 0);
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "2";
  options.load.read.threads = 6;
  const CompareStop spent(1e-9);
  const auto make = [&] {
    return MakeFigure("groute-2a", options, MakePlan(registry, options), Comparison(), spent, [](const FigurePoints&) {})
        .figure;
  };
  const Figure cut = make();
  ASSERT_FALSE(cut.notes.empty());
  for (const std::string& note : cut.notes) EXPECT_EQ(note, "1 of its measurements was not reached; --resume goes on");

  Calibration calibration;
  calibration.model = CostModel({"host"}, 2);
  calibration.probes = {{"host-read", 0, ProbeResult::kNone, 5e6, "bytes/s"}};
  SaveCalibration(MachineFingerprint(DiscoverTopology(ParseDevices("host:2"), 6), LinkMask::Parse("all", 2)), calibration);
  const Figure kept = make();
  EXPECT_TRUE(kept.notes.empty()) << kept.notes.front();
  ASSERT_FALSE(kept.series.empty());
  EXPECT_EQ(kept.series[0].points, (std::vector<std::pair<std::string, double>>{{"host to device", 5}}));
  unsetenv("CHATTY_CACHE_DIR");
  fs::remove_all(folder);
}

TEST(CompareCosts, CurvesCrossWhereTheModelSays) {
  CostModel model({"quick", "wide", "absent"}, 2);
  CostFit quick, wide;
  quick.small = quick.large = {1, 1e-3, 0};
  wide.small = wide.large = {11, 1e-4, 0};
  model.set_fit(0, 0, 1, LoadCorner::kAlone, quick);
  model.set_fit(1, 0, 1, LoadCorner::kAlone, wide);
  const CostCurves curves = CurvesOf(model, "a to b");
  ASSERT_EQ(curves.lines.size(), 2u);
  EXPECT_EQ(curves.lines[1].path, "wide");
  EXPECT_NEAR(curves.lines[0].points.front().second, 1.004, 1e-9);
  ASSERT_EQ(curves.crossings.size(), 1u);
  EXPECT_NEAR(curves.crossings[0].bytes, 10 / 9e-4, 1);
  EXPECT_EQ(curves.crossings[0].after, "wide");
}

TEST(CompareCosts, CurvesAreOfPathsThatJoin) {
  ASSERT_EQ(setenv("CHATTY_CACHE_DIR", "/nowhere", 1), 0);
  const std::optional<CostCurves> curves = KnownCurves(ParseDevices("host:2"), "all", 2);
  unsetenv("CHATTY_CACHE_DIR");
  ASSERT_TRUE(curves);
  EXPECT_FALSE(curves->lines.empty());
  const auto joins = [](const std::string& path) { return CanJoin(path, ParseDevices("host:2")); };
  for (const CostLine& line : curves->lines) EXPECT_TRUE(joins(line.path)) << line.path;
  for (const auto& crossing : curves->crossings) EXPECT_TRUE(joins(crossing.before) && joins(crossing.after));
}

/// Something in every chart.
Comparison Everything() {
  Comparison all;
  all.kind = "host";
  all.machine = {{"processor", "a <fast> one"}, {"threads", 8}};
  all.graphs.push_back({"g", "/g", 1, 1, true, 1000, 5000, true, "none"});
  all.measurements = {Made("bfs", 1, "", {8, 9, 10}), Made("bfs", 2, "auto", {5, 5.2, 5.1}),
                      Made("bfs", 2, "host", {5.5, 5, 6}), Made("bfs", 2, "staged", {12, 13, 12.5}),
                      Made("bfs", 4, "auto", {2.9, 3, 3.4})};
  for (Measurement& m : all.measurements) {
    if (m.combination.devices < 2) continue;
    m.profiled = true;
    for (std::uint32_t i = 0; i < m.combination.devices; ++i) {
      m.statistics.devices.push_back({fmt::format("host:{}", i), 10, 3, 1, 0.5});
      for (std::uint32_t j = 0; j < m.combination.devices; ++j) {
        if (i != j) m.statistics.pairs.push_back({i, j, 500, 100 + i, 4000 * (i + j)});
      }
    }
    std::vector<BufferRecord> buffers;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const double us = 5 + i * i * 0.3;
      buffers.push_back(
          {i, 0, 1, false, i % 3 == 0 ? "staged" : "host", "pairs", i, std::uint64_t{40} << (i / 4), 0, us * 1.1, us});
    }
    m.buffers = SummariseBuffers(buffers);
  }
  all.costs = CostCurves{true, "host:0 to host:1", {}, {{5000, "host", "staged"}}};
  for (const char* path : {"host", "staged"}) {
    CostLine line{path, {}};
    for (double bytes = 4; bytes < 3e8; bytes *= 2)
      line.points.emplace_back(bytes, 3 + bytes * (path[0] == 'h' ? 1e-3 : 4e-4));
    all.costs->lines.push_back(std::move(line));
  }
  return all;
}

TEST(ComparePage, HasEachChartDrawn) {
  const std::string page = ComparisonPage(Everything());
  ExpectPage(page);
  EXPECT_EQ(page.find("class=\"missing\""), std::string::npos);
  EXPECT_EQ(page.find("<fast>"), std::string::npos) << "not escaped";
  EXPECT_NE(page.find("a pair may have bytes but no messages"), std::string::npos);
  for (const std::string_view chart : kCharts) {
    const std::size_t begin = page.find(fmt::format("<figure id=\"{}\">", chart));
    const std::string part = page.substr(begin, page.find("</figure>", begin) - begin);
    EXPECT_NE(part.find(chart == "regret" ? "<table>" : "<svg"), std::string::npos) << chart;
  }
}

TEST(ComparePage, SaysWhatPathsAndColoursAre) {
  Comparison all = Everything();
  all.kind = "host";
  const std::string page = ComparisonPage(all);
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_NE(page.find("Host devices share the machine&#39;s cores"), std::string::npos);
  EXPECT_NE(page.find("A colour is a path"), std::string::npos);
  for (const char* line : {"</i>auto</dt><dd>the program chooses", "</i>host</dt><dd>shared memory between host devices",
                           "</i>staged</dt><dd>copies to page-locked host memory"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  all.kind = "cuda";
  EXPECT_EQ(ComparisonPage(all).find("Host devices share"), std::string::npos);
}

TEST(ComparePage, GreysWhatIsUnclear) {
  Comparison comparison = EachStanding();
  comparison.kind = "host";
  const std::string page = ComparisonPage(comparison);
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_NE(
      page.find("Regret of auto: <b>5.0 % in the median of 4, 25.0 % at worst, 1 unclear</b>. It is slower in 2, the same "
                "in 1 and faster in 1."),
      std::string::npos);
  EXPECT_NE(page.find("<div><b>5.0 %</b><span>regret of auto"), std::string::npos);
  EXPECT_NE(page.find("<div><b>1</b><span>cases of auto unclear"), std::string::npos);
  const std::size_t grey = page.find("<tr class=\"unclear\">");
  ASSERT_NE(grey, std::string::npos);
  const std::string row = page.substr(grey, page.find("</tr>", grey) - grey);
  EXPECT_NE(row.find("<td class=\"n\">16</td>"), std::string::npos) << row;
  EXPECT_NE(row.find("<td>unclear</td>"), std::string::npos) << row;
  EXPECT_NE(row.find(" more trials</td>"), std::string::npos) << row;
  EXPECT_EQ(row.find(" %"), std::string::npos) << "a regret: " << row;
  EXPECT_EQ(page.find("<tr class=\"unclear\">", grey + 1), std::string::npos) << "one case is";
  EXPECT_NE(page.find("<span class=\"i\">12.5 ms to 13.0 ms</span>"), std::string::npos) << "the interval of auto";
  EXPECT_NE(page.find("<td>slower</td><td class=\"n bad\">25.0 %</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>faster</td><td class=\"n good\">0.0 %</td>"), std::string::npos);

  for (Measurement& m : comparison.measurements) m.trials_ms = {1, 2, 4};
  const std::string unclear = ComparisonPage(comparison);
  EXPECT_NE(unclear.find("<b>unclear in 5 cases</b>"), std::string::npos);
  EXPECT_EQ(unclear.find("<span>regret of auto"), std::string::npos) << "a headline of noise";
}

TEST(ComparePage, SaysWhatIsMissing) {
  Comparison nothing;
  nothing.graphs.push_back({"g", "/g", 1, 1, false, 0, 0, false, ""});
  nothing.measurements.emplace_back();
  nothing.measurements.back().combination = {"g", "bfs", "bsp", "auto", "metis", 2};
  const std::string page = ComparisonPage(nothing);
  ExpectPage(page);
  std::size_t missing = 0;
  for (std::size_t at = 0; (at = page.find("<p class=\"missing\"", at)) != std::string::npos; ++at) ++missing;
  EXPECT_EQ(missing, std::size(kCharts));
}

/// What stands between `begin` and `end`, each time.
std::vector<std::string> Between(std::string_view text, std::string_view begin, std::string_view end) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string_view::npos;) {
    at += begin.size();
    found.emplace_back(text.substr(at, text.find(end, at) - at));
  }
  return found;
}

TEST(ComparePage, SeriesOfAFigureAreToldApart) {
  constexpr std::size_t kSeries = 24;
  for (const bool lines : {false, true}) {
    Comparison comparison;
    Figure figure;
    figure.name = figure.title = "many";
    figure.lines = lines;
    for (std::size_t i = 0; i < kSeries + 3; ++i) {
      const bool published = i >= kSeries;
      figure.series.push_back({fmt::format("series-{}", i), published, {{"1", 2.0}, {"4", 7.0}}});
    }
    comparison.figure = figure;
    const std::string page = ComparisonPage(comparison);
    EXPECT_EQ(Unbalanced(page), "");
    // Line or bar, and its sample in the legend.
    std::map<std::string, std::set<std::string>> series;  // by class
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      const std::string name = figure.series[i].name + (i >= kSeries ? " (published)" : "");
      const std::size_t sample = page.find(fmt::format("aria-label=\"{}\"", name));
      ASSERT_NE(sample, std::string::npos) << name;
      const std::string css = Between(page.substr(sample), "class=\"", "\"").front();
      series[css].insert(name);
      EXPECT_NE(page.find(fmt::format("class=\"{}\"><title>{}{}", css, name, lines ? "<" : ", 4: 7<")), std::string::npos)
          << "the legend shows another one: " << name;
      EXPECT_EQ(page.find(fmt::format(">series-{}</text>", i)) != std::string::npos, !lines) << "a bar without its name";
    }
    EXPECT_EQ(series.size(), figure.series.size());
    // Classes differ in what they look like, too.
    for (const char* rule : {"svg .q9 {", "svg .q9d {", "svg .t1 {", "svg .t2 {", "svg rect.t1 {", "svg rect.t2 {",
                             "svg rect.published {", "svg .dash {"}) {
      EXPECT_NE(page.find(rule), std::string::npos) << rule;
    }
  }
}

TEST(ComparePage, LongNamesStayInTheirCharts) {
  Comparison all = Everything();
  const std::string folder = "/a/quite/long/folder/on/some/network/drive/with/日本語日本語日本語日本語日本語/in/its/name/";
  for (Measurement& m : all.measurements) {
    if (m.combination.devices > 1) m.combination.partition = folder + "p1.part";
    if (m.combination.comm == "host") m.combination.partition = folder + "p2.part";
  }
  Figure figure;
  figure.name = figure.title = "names";
  figure.series = {{"a-series-" + std::string(80, 'x'), false, {{"bfs on " + std::string(90, 'y'), 3}}}};
  all.figure = figure;
  const std::string page = ComparisonPage(all);
  EXPECT_NO_THROW(static_cast<void>(Json(page).dump())) << "letters are cut in two";
  std::size_t texts = 0;
  for (const std::string& text : Between(page, "<text ", "</text>")) {
    const std::string_view letters = std::string_view(text).substr(text.find('>') + 1);
    EXPECT_EQ(Fitted(letters, 60), letters);
    ++texts;
  }
  EXPECT_GT(texts, 30u);
  EXPECT_NE(page.find(">bsp auto p1.part</text>"), std::string::npos);
  EXPECT_NE(page.find(">bsp host p2.part</text>"), std::string::npos);
  for (Measurement& m : all.measurements) {
    if (m.combination.devices > 1) m.combination.partition = m.combination.comm == "host" ? "a/p.part" : "b/p.part";
  }
  const std::string alike = ComparisonPage(all);
  EXPECT_NE(alike.find(">bsp auto b/p.part</text>"), std::string::npos) << "one name in two folders";
  EXPECT_NE(alike.find(">bsp host a/p.part</text>"), std::string::npos);
}

TEST(ComparePage, HeadingsOfPairsDoNotOverlap) {
  for (const std::uint32_t devices : {2u, 8u, 9u, 12u, 16u, 20u, 64u}) {
    Comparison all = Everything();
    Measurement& m = all.measurements.back();
    m.combination.devices = devices;
    const std::string page = ComparisonPage(all);
    const std::size_t begin = page.find("<figure id=\"pairs\">");
    const std::string part = page.substr(begin, page.find("</figure>", begin) - begin);
    double right = 0, bottom = 0;
    std::size_t columns = 0, rows = 0;
    for (const std::string& text : Between(part, "<text x=\"", "</text>")) {
      double x = 0, y = 0;
      char css[8] = "", letters[64] = "";
      if (std::sscanf(text.c_str(), "%lf\" y=\"%lf\" class=\"%7[^\"]\">%63[^<]", &x, &y, css, letters) != 4) continue;
      if (std::string_view(css) == "m f" && y == 14) {
        const double half = 2.8 * static_cast<double>(std::string_view(letters).size());
        EXPECT_GT(x - half, right) << letters << " of " << devices;
        right = x + half;
        ++columns;
      } else if (std::string_view(css) == "e f" && x == 28 && y != 14) {
        EXPECT_GE(y - bottom, 10.9) << letters << " of " << devices;
        bottom = y;
        ++rows;
      }
    }
    EXPECT_GE(columns, std::min<std::size_t>(devices, 12)) << devices;
    EXPECT_EQ(rows, columns);
    EXPECT_LE(columns, devices);
  }
}

TEST(CompareSvg, TextsAreCutInTheirMiddle) {
  EXPECT_EQ(Fitted("p2p-copy", 8), "p2p-copy");
  EXPECT_EQ(Fitted("bsp host a-long-name.part", 13), "bsp …ame.part");
  EXPECT_EQ(Fitted("日本語日本語", 12), "日本語日本語");
  EXPECT_EQ(Fitted("日本語日本語", 11), "日…日本語");
  EXPECT_EQ(Fitted("ééééé", 4), "é…éé");
  EXPECT_EQ(Fitted("abc", 1), "…");
  EXPECT_EQ(Fitted("", 5), "");
}

TEST(CompareSvg, TicksAndTexts) {
  const Scale log = Scale::Log(0.3, 250, 0, 100);
  EXPECT_EQ(log.Ticks(), (std::vector<double>{0.1, 1, 10, 100, 1000}));
  EXPECT_NEAR(log(1), 25, 1e-9);
  const Scale linear = Scale::Linear(0, 7.2, 0, 80);
  EXPECT_EQ(linear.Ticks(), (std::vector<double>{0, 2, 4, 6, 8}));
  EXPECT_NEAR(linear(6), 60, 1e-9);
  EXPECT_EQ(SizeText(65536), "64 KiB");
  EXPECT_EQ(SizeText(1536), "1.5 KiB");
  EXPECT_EQ(TickText(12000), "12,000");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
}

}  // namespace
}  // namespace chatty::cli
