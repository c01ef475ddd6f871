// What is written says all of the graph, or is refused; what is read keeps to its limits.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, ConvertKeepsVerticesThatNoEdgeNames) {
  Write("gap.v", "4\n5\n9\n");
  Write("gap.e", "4 5\n");
  const std::string gap = Write("gap.properties",
                                "graph.gap.vertex-file = gap.v\ngraph.gap.edge-file = gap.e\ngraph.gap.meta.vertices = 3\n"
                                "graph.gap.meta.edges = 1\ngraph.gap.directed = true\n");
  const std::string levels = "4 0\n5 1\n9 infinity\n";
  ASSERT_EQ(Chatty({"run", "bfs", gap, "--source", "4", "-o", "-"}).out, levels);
  std::string from = gap;
  for (const std::string name : {"gap.el", "gap.csv.zst", "again.properties", "last.e.gz", "gap.chatty"}) {
    Succeed({"convert", from, Path(name)});
    from = Path(name);
    EXPECT_EQ(Json::parse(Succeed({"info", from, "--json", "-"})).at("graph").at("vertices"), 3) << name;
    EXPECT_EQ(Chatty({"run", "bfs", from, "--source", "4", "-o", "-"}).out, levels) << name;
  }
  // Without edges nothing is left but the comment.
  Write("gap.e", "");
  Write("gap.properties", "graph.gap.vertex-file = gap.v\ngraph.gap.edge-file = gap.e\ngraph.gap.directed = true\n");
  Succeed({"convert", gap, Path("none.el")});
  EXPECT_EQ(Chatty({"run", "cc", Path("none.el"), "-o", "-"}).out, "4 4\n5 5\n9 9\n");
}

TEST_F(CliTest, ConvertKeepsTheKindOfWeights) {
  const std::string whole =
      Write("whole.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 16777216\n2 3 1\n");
  const Arguments run = {"--ids", "zero", "--source", "0", "-o", "-"};
  const std::string distances = "0 0\n1 16777216\n2 16777216\n";  // a float's
  ASSERT_EQ(Chatty(Join({"run", "sssp", whole}, run)).out, distances);
  std::string from = whole;
  for (const std::string name : {"w.gr", "w.mtx", "w.el", "w.properties", "w.gr.gz"}) {
    Succeed({"convert", from, Path(name)});
    from = Path(name);
    EXPECT_EQ(Chatty(Join({"run", "sssp", from}, run)).out, distances) << name;
  }
  Succeed({"convert", whole, Path("w.adj"), "--ids", "zero"});
  EXPECT_EQ(Chatty(Join({"run", "sssp", Path("w.adj")}, run)).out, distances);
}

TEST_F(CliTest, WhatAFormatCannotSayIsToldAndNotWritten) {
  const std::string graph = Small(), out = Path("g.sg");
  Fail({"convert", graph, Path("g.wsg")}, 2,
       "cannot say all of the graph: ids: its 5 vertices are called 1 to 5, and would");
  EXPECT_FALSE(fs::exists(Path("g.wsg")));
  Fail({"convert", graph, Path("g.wsg"), "--ids", "zero", "--weights", "float"}, 2,
       "weights: they are float32, and would be int32");
  Write("old.wsg", "old");
  Fail({"convert", graph, Path("old.wsg")}, 2, "--lossy writes it so");
  EXPECT_EQ(ReadAll(Path("old.wsg")), "old");
  const std::string told = Succeed({"convert", graph, Path("g.wsg"), "--lossy"});
  EXPECT_NE(told.find("\n  lost       ids: its 5 vertices are called 1 to 5, and would be 0 to 4\n"), std::string::npos)
      << told;
  const std::string silent = Succeed({"convert", graph, Path("z.wsg"), "--ids", "zero"});
  EXPECT_EQ(silent.find("lost"), std::string::npos) << silent;
  EXPECT_EQ(ReadAll(Path("z.wsg")), ReadAll(Path("g.wsg")));
  Fail({"convert", Path("z.wsg"), Path("z.mtx")}, 2, "called 0 to 4, and would be 1 to 5");
  Succeed({"convert", Path("z.wsg"), Path("z.mtx"), "--ids", "one"});
  EXPECT_EQ(ReadAll(Path("z.mtx")), "%%MatrixMarket matrix coordinate integer general\n5 5 4\n1 2 1\n1 3 5\n2 3 1\n3 4 7\n");
  const Outcome piped = Chatty({"convert", graph, "-", "--format", "gap", "--lossy"});
  EXPECT_EQ(piped.status, 0);
  EXPECT_NE(piped.err.find("cannot say all of the graph: ids: its 5"), std::string::npos) << piped.err;
  Succeed({"generate", "chain", "5", "-o", Path("chain.mtx")});  // the graph has no ids of its own
  Succeed({"generate", "chain", "5", "-o", Path("chain.sg")});
  Fail({"generate", "chain", "5", "-o", Path("chain.wsg")}, 2, "weights: there are none, and every edge would weigh 1");
}

TEST_F(CliTest, ASuffixThatMeansSomethingElseIsRefusedBeforeAnythingRuns) {
  const std::string absent = Path("absent.mtx");
  for (const std::string suffix : {".parquet", ".csv", ".TSV", ".xlsx", ".npz", ".h5", ".csv.gz", ".mtx", ".el", ".pkl"}) {
    Fail({"run", "bfs", absent, "--output", Path("x" + suffix)}, 2,
         "file is written here; results are lines of text (.txt)");
    Fail({"partition", absent, "--parts", "2", "--output", Path("x" + suffix)}, 2, "a partition is lines of text");
  }
  for (const std::string suffix : {".xz", ".txt.bz2", ".zip", ".tar", ".tgz", ".txt.7z", ".tar.gz", ".zip.zst", ".BZ2.gz"}) {
    Fail({"run", "bfs", absent, "--output", Path("x" + suffix), "--output-format", "text"}, 2, "end it in .gz or .zst");
    Fail({"convert", absent, Path("x.mtx" + suffix), "--format", "mtx"}, 2, "end it in .gz or .zst");
  }
  for (const std::string suffix : {".parquet", ".npz", ".xlsx", ".json"}) {
    Fail({"convert", absent, Path("x" + suffix)}, 2, "no format is known by this name's ending");
  }
  for (const auto& [suffix, own] : std::initializer_list<std::pair<std::string, std::string>>{
           {".NPY", ".npy"}, {".Json", ".json"}, {".txt.GZ", ".gz"}, {".Json.gz", ".json.gz"}, {".npy.ZST", ".npy.zst"}}) {
    Fail({"run", "bfs", absent, "--output", Path("x" + suffix)}, 2, "suffixes are in lower case: end it in " + own);
  }
  for (const std::string name : {"x", "x.txt", "x.txt.gz", "x.levels", "x.npy", "x.json", "x.v2.1"}) {
    Succeed({"run", "bfs", Small(), "--output", Path(name)});
  }
  Succeed({"run", "bfs", Small(), "--output", Path("x.csv"), "--output-format", "text"});
}

TEST_F(CliTest, ARecordATraceAndAPageHaveNoOtherSuffixEither) {
  const std::string absent = Path("absent.mtx");
  for (const std::string suffix : {".parquet", ".csv.gz", ".npy", ".mtx", ".html", ".jsonl", ".xz", ".json.zip"}) {
    const std::string path = Path("x" + suffix);
    const bool packed = suffix == ".xz" || suffix == ".json.zip";
    const auto refused = [&](const Arguments& command, const std::string& option, const std::string& forms) {
      Fail(Join(command, {option, path}), 2, packed ? "end it in .gz or .zst" : forms);
    };
    const std::string json = "file is written here; the record is JSON (.json)";
    refused({"run", "bfs", absent}, "--json", json);
    refused({"run", "bfs", absent}, "--trace", "file is written here; a trace is JSON (.json)");
    refused({"verify", "bfs", absent, absent}, "--json", json);
    refused({"info", absent}, "--json", json);
    refused({"partition", absent, "--parts", "2"}, "--json", json);
    refused({"programs"}, "--json", json);
    refused({"topology"}, "--json", json);
    if (suffix != ".html") refused({"topology"}, "--html", "file is written here; the page is HTML (.html)");
  }
  Fail({"topology", "--html", Path("x.json")}, 2, "the page is HTML");
  for (const std::string suffix : {".npy", ".json"}) {
    Fail({"partition", absent, "--parts", "2", "--output", Path("x" + suffix)}, 2, "a partition is lines of text");
  }
  for (const std::string name : {"r", "r.txt", "r.json", "r.JSON.gz", "r.record", "r.v2.1"}) {
    Succeed({"run", "bfs", Small(), "--json", Path(name), "--trace", Path("t" + name)});
  }
  Succeed({"topology", "--devices", "host", "--json", Path("t.json"), "--html", Path("t.htm")});
}

TEST_F(CliTest, AWarningRepeatsNoLongNameOfAnOutput) {
  const std::string graph = Small(), name(3000, 'x');
  for (const std::string& folder : {name, Path(name), graph + "/" + name}) {
    const Outcome outcome = Chatty({"info", graph, "--cache", folder});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.err.find("the cache could not be filled: "), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 400u);
    EXPECT_NE(outcome.out.find("not used: "), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find(std::string(101, 'x')), std::string::npos);
  }
}

TEST_F(CliTest, AGraphIsReadWithinItsLimit) {
#if CHATTY_TEST_SANITIZED
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  Succeed({"generate", "uniform", "15", "--edge-factor", "12", "--weights", "1:255", "-o", Path("g.chatty")});
  const Json info = Json::parse(Succeed({"info", Path("g.chatty"), "--json", "-"}));
  const std::size_t rows = info.at("memory");
  ASSERT_GT(rows, 3u << 20);
  const auto load = [&](const std::string& name, std::size_t limit, const Arguments& more = {}) {
    return Chatty(Join(
        {"convert", Path(name), "/dev/null", "--format", "binary", "--host-memory-limit", std::to_string(limit)}, more));
  };
  for (const std::string name : {"g.chatty", "g.chatty.gz", "g.el", "g.el.gz", "g.mtx", "g.mtx.zst", "g.gr", "g.gr.zst",
                                 "g.graph", "g.graph.gz", "g.wsg", "g.wsg.gz", "g.adj", "g.adj.gz", "g.properties"}) {
    if (!fs::exists(Path(name))) Succeed({"convert", Path("g.chatty"), Path(name), "--lossy"});
    const Outcome refused = load(name, rows / 2);
    EXPECT_EQ(refused.status, 1) << name << refused.err;
    EXPECT_NE(refused.err.find("out of"), std::string::npos) << name << refused.err;
    EXPECT_NE(refused.err.find("the host's limit allows"), std::string::npos) << name << refused.err;
    const Outcome loaded = load(name, 4 * rows);
    EXPECT_EQ(loaded.status, 0) << name << loaded.err;
  }
  // What a file's begin tells is enough to refuse it; what it does not tell is found out on the way.
  EXPECT_NE(load("g.el", rows / 2).err.find("nothing was allocated"), std::string::npos);
  EXPECT_NE(load("g.mtx", rows / 2).err.find("nothing was allocated"), std::string::npos);
  EXPECT_NE(load("g.el.gz", rows / 2).err.find("while it is read"), std::string::npos);
  EXPECT_EQ(load("g.chatty", rows * 5 / 4).status, 0);
  EXPECT_EQ(load("g.gr", rows * 5 / 2, {"--directed"}).status, 0);
  EXPECT_EQ(load("g.el.gz", rows, {"--compact-ids"}).status, 1) << "ids are sorted to be numbered";
  Succeed({"info", Path("g.el"), "--cache", Path("cache")});
  const Outcome cached = Chatty({"info", Path("g.el"), "--cache", Path("cache"), "--host-memory-limit", "1M"});
  EXPECT_EQ(cached.status, 1) << cached.err;
  const Outcome run = Chatty({"run", "bfs", Path("g.el"), "--host-memory-limit", "1M"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("(nothing was allocated): " + Path("g.el") + " has about"), std::string::npos) << run.err;
}

TEST_F(CliTest, ThreadsOfTheEnvironmentAreBoundedAsTheOptionIs) {
  const std::string graph = Small();
  Fail({"run", "bfs", graph, "--threads", "20000"}, 2, "4096");
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{{"OMP_NUM_THREADS", "20000"},
                                                                                    {"OMP_NUM_THREADS", "0"},
                                                                                    {"OMP_NUM_THREADS", "many"},
                                                                                    {"OMP_THREAD_LIMIT", "-3"}}) {
    ::setenv(name, value, 1);
    const Outcome refused = Chatty({"run", "bfs", graph});
    ::unsetenv(name);
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_NE(refused.err.find(fmt::format("chatty: error: {} is ", name)), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("1 to 4096"), std::string::npos) << refused.err;
  }
  ::setenv("OMP_NUM_THREADS", "2,4", 1);
  Succeed({"run", "bfs", graph});
  ::unsetenv("OMP_NUM_THREADS");
}

/// Runs as a user with few processes: the limit does not apply to root.
TEST_F(CliTest, TheLimitOfThreadsIsNamed) {
#if CHATTY_TEST_SANITIZED
  GTEST_SKIP() << "a sanitizer has threads of its own";
#endif
  constexpr uid_t kNobody = 61234;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
  const std::string graph = Small();
  ASSERT_EQ(::chmod(Path("").c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{3, 3};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 ||
        ::access(Binary().c_str(), X_OK) != 0) {
      ::_exit(77);
    }
    const Outcome refused = Chatty({"run", "bfs", graph, "--devices", "host:1", "--threads", "16"});
    const bool named =
        refused.status == 1 && refused.err.find("the limit is RLIMIT_NPROC, 3 for this user, with ") != std::string::npos;
    if (!named && ::write(STDERR_FILENO, refused.err.data(), refused.err.size()) < 0) ::_exit(2);
    ::_exit(named ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "another user cannot run it here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace chatty::cli::test
