// What `chatty compare` measures: lists and masks, budgets, vertex data, interrupts, and costs that are kept.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/json.h"
#include "chatty/core/error.h"
#include "chatty/framework/registry.h"
#include "compare_fixture.h"

namespace chatty::cli {
namespace {

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
  bool again = false;
  for (int attempt = 0; attempt < 50 && !again; ++attempt) {
    const std::string budget = attempt < 4 ? "3" : "12";  // a busy machine visits nothing in little time
    Arguments longer = options;
    longer.insert(longer.end(), {"--budget", budget, "--resume"});
    const ChildEnd run = Chatty(longer);  // without an end it would be ended by ctest: there are a million trials
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("the budget of " + budget + " s ended it"), std::string::npos) << run.out;
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
  EXPECT_FALSE(CanJoin(CommSpec{.data = "nccl"}, plan.Devices(2)));
  EXPECT_EQ(CanJoin(CommSpec{.data = "host"}, plan.Devices(3)), false);
  EXPECT_TRUE(CanJoin(CommSpec{}, plan.Devices(3)));
}

TEST_F(CompareTest, Completion) {
  EXPECT_EQ(Chatty({"__complete", "compare", "--figure", "chatty-t"}).out, "chatty-table2\n");
  EXPECT_NE(Chatty({"__complete", "compare", "--programs", "bfs,"}).out.find("bfs,pr\tpagerank\n"), std::string::npos);
  EXPECT_NE(Chatty({"__complete", "compare", "--comm", "a"}).out.find("all\t"), std::string::npos);
  EXPECT_EQ(Chatty({"__complete", "compare", "--on", "h"}).out, "host\n");
  EXPECT_EQ(Chatty({"__complete", "compare", "--execution", "auto,a"}).out, "auto,all\nauto,async\n");
  EXPECT_NE(Chatty({"help", "compare"}).out.find("--budget"), std::string::npos);
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

TEST(ComparePlanTest, EnginesWithBuckets) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "1";
  options.execution = "bsp:delta=off,async:delta=2.5,bsp";
  const ComparePlan plan = MakePlan(registry, options);
  EXPECT_EQ(plan.executions, (std::vector<std::string>{"bsp:delta=off", "async:delta=2.5", "bsp"}));
  const auto run = [&](const char* execution) { return plan.OptionsOf({"g", "bfs", execution, "none", "none", 1}); };
  EXPECT_EQ(run("bsp:delta=off").execution, Execution::kBsp);
  EXPECT_EQ(run("bsp:delta=off").delta, kInfinity<double>);
  EXPECT_EQ(run("async:delta=2.5").execution, Execution::kAsync);
  EXPECT_EQ(run("async:delta=2.5").delta, 2.5);
  EXPECT_EQ(run("bsp").delta, kAutoDelta);
  for (const char* wrong :
       {"bsp:", "bsp:delta", "bsp:delta=", "bsp:delta=-1", "bsp:width=2", ":delta=off", "sync:delta=off"}) {
    EXPECT_THROW(static_cast<void>(ParseEngine(wrong)), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace chatty::cli
