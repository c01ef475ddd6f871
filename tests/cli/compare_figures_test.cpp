// `chatty compare --figure`: figures of papers, measured here and from a journal.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/figures.h"
#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/stop.h"
#include "chatty/cli/json.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/topology.h"
#include "chatty/framework/registry.h"
#include "compare_fixture.h"
#include "compare_made_up.h"

namespace chatty::cli {
namespace {

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

// Engines on graphs over numbers of devices, and the paper's own numbers beside.
TEST_F(CompareTest, FiguresOfEngines) {
  const auto measure = [&](const char* figure, const Arguments& more) {
    const std::string out = Path(figure);
    Arguments arguments{"compare", Path("grid.el"), "--figure", figure,     "--on", "host",  "--devices",
                        "1,2",     "--threads",     "1",        "--trials", "1",    "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ChildEnd run = Chatty(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    std::map<std::string, std::set<std::string>> here;
    std::set<std::string> published;
    for (const auto& row : ParseCsv(ReadAll(out + "/" + figure + ".csv"))) {
      if (row[2] == "no") here[row[1]].insert(row[3]);
      if (row[2] == "yes") published.insert(row[1]);
    }
    EXPECT_EQ(Unbalanced(ReadAll(out + "/index.html")), "");
    return std::pair(here, published);
  };
  std::ofstream grid(Path("grid.el"));
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 20; ++x) {
      const int v = 20 * y + x;
      if (x < 19) grid << v << ' ' << v + 1 << ' ' << 1 + (x * y) % 7 << '\n';
      if (y < 19) grid << v << ' ' << v + 20 << ' ' << 1 + (x + y) % 5 << '\n';
    }
  }
  grid.close();
  const Arguments symmetric{"--symmetrise"};
  const std::set<std::string> both{"1", "2"};
  using Series = std::map<std::string, std::set<std::string>>;
  const auto [times, groutes] = measure("groute-10b", symmetric);
  EXPECT_EQ(times, (Series{{"async, sssp on grid", both}, {"bsp, sssp on grid", both}}));
  EXPECT_EQ(groutes.size(), 10u);
  const auto [optimised, unoptimised] = measure("groute-5", symmetric);
  EXPECT_EQ(optimised, (Series{{"no priority, sssp on grid", both},
                               {"soft priority, sssp on grid", both},
                               {"soft priority, fused, sssp on grid", both}}));
  EXPECT_EQ(unoptimised.count("Groute, no priority, USA"), 1u);
  EXPECT_EQ(Json::parse(ReadAll(Path("groute-5/results.json"))).at("measurements").size(), 6u) << "a run a point";
  const auto [searches, systems] = measure("groute-10a", symmetric);
  EXPECT_EQ(searches, (Series{{"async, bfs on grid", both}, {"bsp, bfs on grid", both}}));
  EXPECT_EQ(systems.count("B40C, USA"), 1u);
  const auto [ranks, ranked] = measure("groute-11", symmetric);  // one device has rounds alone
  EXPECT_EQ(ranks, (Series{{"async, pagerank_push on grid", {"2"}}, {"bsp, pagerank_push on grid", both}}));
  EXPECT_EQ(ranked.count("Gunrock, USA"), 1u);
  const auto [components, connected] = measure("groute-12", symmetric);
  EXPECT_EQ(components, (Series{{"async, label_propagation on grid", both},
                                {"bsp, cc on grid", both},
                                {"bsp, label_propagation on grid", both}}));
  EXPECT_EQ(connected.count("Groute, USA"), 1u);
  const auto [work, quoted] = measure("groute-3", {"--symmetrise", "--programs", "bfs", "--execution", "bsp"});
  EXPECT_EQ(work, (Series{{"bsp, bfs on grid", both}}));
  EXPECT_EQ(quoted, (std::set<std::string>{"Groute, bfs, METIS", "Groute, sssp, METIS"}));
  const std::string items = Path("groute-3") + "/groute-3.csv";
  EXPECT_EQ(ParseCsv(ReadAll(items)).at(0).back(), "items a vertex");
  for (const auto& row : ParseCsv(ReadAll(items))) {
    if (row[2] == "no") {
      EXPECT_EQ(std::stod(row[4]), 1) << "rounds follow each vertex once";
    }
  }
  const ChildEnd other = Chatty({"compare", Path("grid.el"), "--figure", "groute-10a", "--symmetrise", "--programs", "cc",
                                 "--on", "host", "--devices", "1", "--trials", "1", "--out", Path("groute-10c")});
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_NE(ReadAll(Path("groute-10c/index.html")).find("The figure shows bfs, not cc"), std::string::npos);
  // Two devices have no fused worker for a graph of few levels.
  const ChildEnd few = Chatty({"generate", "kron", "16", "--weights", "1:9", "-o", Path("kron.chatty")});
  EXPECT_EQ(few.status, 0) << few.err;
  const ChildEnd unfused = Chatty({"compare", Path("kron.chatty"), "--figure", "groute-5", "--on", "host", "--devices", "2",
                                   "--trials", "1", "--out", Path("groute-5k")});
  EXPECT_EQ(unfused.status, 0) << unfused.err;
  const std::string drawn = ReadAll(Path("groute-5k/groute-5.csv"));
  EXPECT_NE(drawn.find("\"soft priority, sssp on kron\",no,2,"), std::string::npos) << drawn;
  EXPECT_EQ(drawn.find("fused, sssp on kron"), std::string::npos) << drawn;
  const ChildEnd again = Chatty({"compare", Path("grid.el"), "--figure", "groute-5", "--symmetrise", "--execution", "bsp",
                                 "--on", "host", "--devices", "1", "--trials", "1", "--out", Path("groute-5b")});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(ReadAll(Path("groute-5b/index.html")).find("The figure also shows async:delta=off: add it to --execution."),
            std::string::npos);
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
  // On a busy machine all points may be there before the signal: then the figure begins again.
  ChildEnd run;
  for (int attempt = 0; attempt < 50 && run.status != -SIGINT; ++attempt) {
    std::filesystem::remove_all(Path("out"));
    const pid_t child = StartChatty(options);
    for (int i = 0; i < 60000 && points_in_the_journal() < 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(child, SIGINT);
    run = Wait(child);
  }
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
                          "3",       "--threads", "1",         "--resume", "--out", Path("out")};
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

TEST(CompareFigures, HaveTheirSourcesAndNumbers) {
  const auto packets = PublishedSeries("groute-2b");
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].points.front(), (std::pair<std::string, double>("1024", 1696.56908)));
  for (const std::string_view name : FigureNames()) EXPECT_FALSE(PublishedSource(name).empty()) << name;
  EXPECT_TRUE(PublishedSeries("chatty-fig9").empty());
  EXPECT_EQ(PublishedSeries("groute-12").front().points.size(), 8u);
  const auto items = PublishedSeries("groute-3");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].points.front().second, 1.01);
  EXPECT_EQ(items[1].points.front().second, 2.46);
  EXPECT_NE(PublishedSource("groute-3").find("were not verified"), std::string::npos);
  EXPECT_EQ(PublishedSource("groute-12").find("were not verified"), std::string::npos);
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

TEST(CompareFigures, AccessIsMeasuredOnceAndKept) {
  Registry registry;
  RegisterPrograms(registry);
  CompareOptions options;
  options.on = "host";
  options.devices = "2";
  options.load.read.threads = 2;
  const CompareStop spent(1e-9), none(0);
  Comparison all;
  const auto make = [&](const CompareStop& stop) {
    const auto keep = [&](const FigurePoints& points) { all.points.push_back(points); };
    return MakeFigure("groute-2a", options, MakePlan(registry, options), all, stop, keep).figure;
  };
  const Figure cut = make(spent);
  ASSERT_FALSE(cut.notes.empty());
  for (const std::string& note : cut.notes) EXPECT_EQ(note, "1 of its measurements was not reached; --resume goes on");
  for (const CompareStop* stop : {&none, &spent}) {
    const Figure figure = make(*stop);
    EXPECT_TRUE(figure.notes.empty()) << figure.notes.front();
    EXPECT_EQ(std::count_if(figure.series.begin(), figure.series.end(), [](const auto& s) { return !s.published; }), 2);
    for (const FigureSeries& series : figure.series) {
      if (series.published) continue;
      ASSERT_EQ(series.points.size(), 2u) << "host memory, and the other device's";
      EXPECT_EQ(series.points[0].first, "host to device");
      EXPECT_EQ(series.points[1].first, "device 0 from device 1");
      for (const auto& [x, rate] : series.points) EXPECT_GT(rate, 1) << series.name << ", MB/s";
    }
  }
  ASSERT_EQ(all.points.size(), 1u);
}

}  // namespace
}  // namespace chatty::cli
