// `chatty verify` and `run --verify`: what they accept of other tools, what they refuse, and what they say.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/core/error.h"
#include "chatty/framework/register.h"
#include "chatty/framework/registry.h"
#include "chatty/io/results.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

/// Hops from a source, which nothing verifies.
struct Hops {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Info kInfo{.output_name = "hops"};
  VertexId source = 0;
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &Hops::source, "vertex to start from"});

  Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  bool IsActive(const Value& hops, const Round<>&) const { return hops != kInfinity<Value>; }
  Message ComputeScatter(const Value& hops, Edge<>, const Round<>&) const { return hops + 1; }
  bool UpdateStatus(Value& hops, Message m, Vertex, const Round<>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};

class VerifyTest : public CliTest {
 protected:
  /// A graph of LDBC Graphalytics: ids with gaps, a dangling vertex 4, and 77 and the largest isolated.
  std::string Gappy() const {
    Write("gappy.v", "2\n3\n4\n5\n6\n9\n77\n9223372036854775807\n");
    Write("gappy.e", "2 3 0.5\n2 4 0.25\n3 4 0.125\n5 6 1.5\n6 5 1.5\n9 2 2\n");
    return Write("gappy.properties",
                 "graph.gappy.vertex-file = gappy.v\ngraph.gappy.edge-file = gappy.e\ngraph.gappy.meta.vertices = 8\n"
                 "graph.gappy.meta.edges = 6\ngraph.gappy.directed = true\ngraph.gappy.edge-properties.names = weight\n"
                 "graph.gappy.edge-properties.types = real\ngraph.gappy.pr.damping-factor = 0.85\n"
                 "graph.gappy.pr.num-iterations = 7\ngraph.gappy.cdlp.max-iterations = 5\n");
  }
  std::string SevenRounds() const {
    return Write("seven.txt",
                 "2 0.08615881648025153\n3 0.08367947823294844\n4 0.1572095233771223\n5 0.26734795405979683\n"
                 "6 0.26734795405979683\n9 0.046085424596694624\n77 0.046085424596694624\n"
                 "9223372036854775807 0.046085424596694624\n");
  }
  std::string Settled() const {
    return Write("settled.txt",
                 "2 0.07948734244633038\n3 0.07674825159176088\n4 0.14198426544475762\n5 0.2864408736804697\n"
                 "6 0.2864408736804697\n9 0.04296613105207048\n77 0.04296613105207048\n"
                 "9223372036854775807 0.04296613105207048\n");
  }
  template <class T>
  std::string Npy(const std::vector<T>& values) const {
    const std::string path = Path("values.npy");
    if constexpr (sizeof(T) >= 4) {
      WriteResultNpy(path, std::span<const T>(values));
      return path;
    } else {
      std::string header = fmt::format("{{'descr': '|{}1', 'fortran_order': False, 'shape': ({},), }}",
                                       std::is_signed_v<T> ? 'i' : 'u', values.size());
      header.resize(118, ' ');
      header.back() = '\n';
      std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size());
      return Write("values.npy", bytes);
    }
  }
  /// The command line in a child, with programs of the test's own.
  Outcome With(const Registry& registry, const Arguments& arguments) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int files[] = {::open("/dev/null", O_RDONLY), ::open(Path(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                           ::open(Path(".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
      for (int i = 0; i < 3; ++i) {
        if (files[i] < 0 || ::dup2(files[i], i) < 0) ::_exit(126);
      }
      std::vector<const char*> argv{"chatty"};
      for (const std::string& word : arguments) argv.push_back(word.c_str());
      ::_exit(RunCommandLine(static_cast<int>(argv.size()), argv.data(), registry));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadAll(Path(".out")), ReadAll(Path(".err"))};
  }
};

// ------------------------------------------------------------- unreached ----

TEST_F(VerifyTest, NoDistanceIsRightForAVertexWithoutAPath) {
  const std::string graph = Write("one-way.wel", "1 2 3.5\n3 1 2.0\n");
  const auto verify = [&](const std::string& last) {
    return Arguments{"verify",   "sssp", graph,          Write("d.txt", "1 0\n2 3.5\n3 " + last + "\n"),
                     "--source", "1",    "--compact-ids"};
  };
  Succeed(verify("inf"));
  for (const char* wrong : {"17", "0", "-0.0", "1e30", "1e-30", "nan", "-inf", "-2", "2147483646", "3.5"}) {
    SCOPED_TRACE(wrong);
    Fail(verify(wrong), 3, "verification failed: ");
  }
  Fail(verify("17"), 3, "vertex 3 is said to be at distance 17, but no path leads there");
  // Where there is one, a tool's word for unreached is wrong.
  for (const char* wrong : {"inf", "2147483647", "-1", "3.40282e+38", "1.797e308"}) {
    Fail({"verify", "sssp", graph, Write("d.txt", fmt::format("1 0\n2 {}\n3 inf\n", wrong)), "--source", "1",
          "--compact-ids"},
         3, "verification failed: ");
  }
}

TEST_F(VerifyTest, WhatOtherToolsWriteForUnreachedIsTakenAsThatAndTold) {
  const std::string graph = Write("pairs.el", "3 4\n20 21\n"), weighted = Write("pairs.wel", "3 4 1.5\n20 21 2.5\n");
  const std::vector<std::pair<std::string, std::string>> marks{{"2147483647", "2147483647"},
                                                               {"2147483647.0", "2147483647"},
                                                               {"2.147483648000000000e+09", "2147483647"},
                                                               {"2.14748e+09", "2147483647"},
                                                               {"4294967295", "4294967295"},
                                                               {"4.29497e+09", "4294967295"},
                                                               {"9223372036854775807", "9223372036854775807"},
                                                               {"9.22337e+18", "9223372036854775807"},
                                                               {"18446744073709551615", "18446744073709551615"},
                                                               {"-1", "-1"},
                                                               {"-1.0", "-1"},
                                                               {"-1.000000e+00", "-1"},
                                                               {"inf", "inf"},
                                                               {"+INF", "inf"},
                                                               {"3.40282e+38", "3.40282e+38"},
                                                               {"3.4028234663852886e+38", "3.40282e+38"},
                                                               {"3.4028235e38", "3.40282e+38"},
                                                               {"1.797e308", "1.79769e+308"},
                                                               {"1.7977e+308", "1.79769e+308"},
                                                               {"1.7976931348623157e+308", "1.79769e+308"}};
  for (const auto& [mark, printed] : marks) {
    const std::string& written = mark;  // clang 14 captures no structured binding
    SCOPED_TRACE(written);
    const Arguments more{"--source", "3", "--compact-ids"};
    const std::string taken = "; " + printed + " at 2 vertices was taken as ";
    for (const std::string name : {"v.txt", "v.json"}) {
      const auto file = [&](const std::string& here, const std::string& near) {
        if (name == "v.txt") return Write(name, fmt::format("3 {0}\n4 {1}\n20 {2}\n21 {2}\n", here, near, written));
        return Write(name, fmt::format(R"({{"3": {0}, "4": {1}, "20": "{2}", "21": "{2}"}})", here, near, written));
      };
      EXPECT_TRUE(Succeed(Join({"verify", "bfs", graph, file("0", "1")}, more)).ends_with(taken + "unreached\n"));
      EXPECT_TRUE(Succeed(Join({"verify", "sssp", graph, file("0", "1")}, more)).ends_with(taken + "unreached\n"));
      EXPECT_TRUE(Succeed(Join({"verify", "sssp", weighted, file("0", "1.5")}, more)).ends_with(taken + "unreached\n"));
      const std::string parents =
          Succeed(Join({"verify", "bfs", graph, file("3", "3"), "--value", "parent"}, more));  // -1 is its own word
      EXPECT_TRUE(parents.ends_with(printed == "-1" ? "2 edges checked\n" : taken + "no parent\n")) << parents;
    }
    Fail(Join({"verify", "bfs", graph, Write("v.txt", fmt::format("3 0\n4 {0}\n20 {0}\n21 {0}\n", written))}, more), 3,
         printed + " at ");
  }
  // The program's own words need no telling.
  EXPECT_TRUE(Succeed({"verify", "bfs", graph, Write("v.txt", "3 0\n4 1\n20 infinity\n21 infinity\n"), "--source", "3",
                       "--compact-ids"})
                  .ends_with("2 edges checked\n"));
  EXPECT_TRUE(
      Succeed({"verify", "bfs", graph, Write("v.txt", "3 0\n4 1\n20 2147483647\n21 -1\n"), "--source", "3", "--compact-ids"})
          .ends_with("; -1 at 1 vertex and 2147483647 at 1 vertex were taken as unreached\n"));
  // Other numbers are not marks.
  for (const char* wrong : {"2147483646", "2147483648", "2147483646.0", "2.1e9", "2.15e9", "3.4e38", "-1.5", "-10", "127",
                            "255", "65535", "1e308"}) {
    Fail({"verify", "bfs", graph, Write("v.txt", fmt::format("3 0\n4 1\n20 {}\n21 inf\n", wrong)), "--source", "3",
          "--compact-ids"},
         3, "verification failed: ");
  }
}

TEST_F(VerifyTest, ArraysOfEveryTypeSayUnreachedInTheirWay) {
  const std::string graph = Write("pairs.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n3 4\n");
  const std::string weighted = Write("w.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 2\n1 2 1.0\n3 4 2.5\n");
  const auto accept = [&]<class T>(T mark, const std::string& told) {
    SCOPED_TRACE(told + " in " + std::to_string(sizeof(T)) + " bytes");
    const std::string end = told.empty() ? " edges checked\n" : "; " + told + " at 2 vertices was taken as unreached\n";
    const std::vector<T> levels{0, 1, mark, mark}, parents{1, 1, mark, mark};
    EXPECT_TRUE(Succeed({"verify", "bfs", graph, Npy(levels), "--source", "1"}).ends_with(end));
    EXPECT_TRUE(Succeed({"verify", "sssp", weighted, Npy(levels), "--source", "1"}).starts_with("verified: "));
    EXPECT_TRUE(
        Succeed({"verify", "bfs", graph, Npy(parents), "--source", "1", "--value", "parent"}).starts_with("verified"));
  };
  accept(std::int32_t{-1}, "-1");
  accept(std::numeric_limits<std::int32_t>::max(), "2147483647");
  accept(std::int64_t{2147483647}, "2147483647");
  accept(std::uint32_t{2147483647}, "2147483647");
  accept(std::numeric_limits<std::uint32_t>::max(), "");  // as this program writes it
  accept(std::int64_t{4294967295}, "4294967295");
  accept(std::numeric_limits<std::int64_t>::max(), "9223372036854775807");
  accept(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  accept(std::numeric_limits<std::int8_t>::max(), "127");
  accept(std::numeric_limits<std::uint8_t>::max(), "255");
  accept(2147483647.0f, "2147483647");
  accept(std::numeric_limits<float>::max(), "3.40282e+38");
  accept(std::numeric_limits<double>::max(), "1.79769e+308");
  accept(2147483647.0, "2147483647");
  accept(1.797e308, "1.79769e+308");  // cut off, as a text may have it
  accept(3.40282e38, "3.40282e+38");
  accept(3.40282e38f, "3.40282e+38");
  accept(-1.0, "-1");
  accept(std::numeric_limits<double>::infinity(), "inf");
  Fail({"verify", "bfs", graph, Npy(std::vector<std::int32_t>{0, 1, 127, 127}), "--source", "1"}, 3, "level 127");
}

TEST_F(VerifyTest, ANumberThatIsRightIsNoWordForUnreached) {
  // 1 -> 2 is as long as the largest int32, and 3 is not reached.
  const std::string graph = Write("far.wel", "1 2 2147483647\n3 1 1\n");
  const Arguments more{"--source", "1", "--compact-ids"};
  EXPECT_TRUE(Succeed(Join({"verify", "sssp", graph, Write("d.txt", "1 0\n2 2147483647\n3 2147483647\n")}, more))
                  .ends_with("; 2147483647 at 1 vertex was taken as unreached\n"));
  EXPECT_TRUE(Succeed(Join({"verify", "sssp", graph, Write("d.txt", "1 0\n2 2147483647\n3 infinity\n")}, more))
                  .ends_with(" edges checked\n"));
  Fail(Join({"verify", "sssp", graph, Write("d.txt", "1 0\n2 2147483646\n3 2147483647\n")}, more), 3, "vertex 2");
  Fail(Join({"verify", "sssp", graph, Write("d.txt", "1 0\n2 infinity\n3 infinity\n")}, more), 3, "vertex 2");
  // Level 127 of a path, in an array whose type has no larger number.
  std::string path;
  std::vector<std::int8_t> levels;
  for (int v = 0; v < 128; ++v) {
    if (v < 127) path += fmt::format("{} {}\n", v, v + 1);
    levels.push_back(static_cast<std::int8_t>(v));
  }
  const std::string chain = Write("chain.el", path);
  EXPECT_TRUE(Succeed({"verify", "bfs", chain, Npy(levels), "--source", "0"}).ends_with(" edges checked\n"));
  // A vertex that is called so is a parent, and a number that is a count is none of this.
  const std::string called = Write("called.el", "2147483647 5\n2147483647 6\n8 5\n");
  Succeed({"verify", "bfs", called, Write("p.txt", "2147483647 2147483647\n5 2147483647\n6 2147483647\n8 -1\n"), "--source",
           "2147483647", "--value", "parent", "--compact-ids"});
  Fail({"verify", "triangles", called, Write("t.txt", "2147483647 0\n5 -1\n6 0\n8 0\n"), "--compact-ids"}, 3,
       "is said to be in");
}

TEST_F(VerifyTest, ComponentsAndLabelsAreNeverUnreached) {
  const std::string graph = Write("pairs.el", "0 1\n2 3\n");
  const std::vector<double> array{0, 0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (const char* program : {"cc", "wcc", "label_propagation"}) {
    Succeed({"verify", program, graph, Write("c.txt", "0 -7\n1 -7\n2 2147483647\n3 2147483647\n")});  // any names do
    const std::string hash = "18446744073709551615", other = "9223372036854775808";                   // without a sign
    Succeed({"verify", program, graph, Write("c.txt", fmt::format("0 {0}\n1 {0}\n2 {1}\n3 {1}\n", hash, other))});
    Fail({"verify", program, graph, Write("c.txt", fmt::format("0 {0}\n1 {1}\n2 5\n3 5\n", hash, other))}, 3,
         "verification failed");
    Fail({"verify", program, graph, Write("c.txt", fmt::format("0 {0}\n1 {0}\n2 {0}\n3 {0}\n", hash))}, 3,
         "verification failed");
    for (const char* infinity : {"inf", "+INF", "Infinity", "-inf", "nan"}) {
      const std::string says = fmt::format("'{}' is not the name of a component: expected a whole number", infinity);
      Fail({"verify", program, graph, Write("c.txt", fmt::format("0 0\n1 0\n2 {0}\n3 {0}\n", infinity))}, 2, says);
    }
    Fail({"verify", program, graph, Write("c.json", "[0, 0, Infinity, Infinity]")}, 2, "not the name of a component");
    Fail({"verify", program, graph, Write("c.json", "[0, 0, null, null]")}, 2, "not the name of a component");
    Fail({"verify", program, graph, Npy(array)}, 2, "entry 2 is inf, not the name of a component");
  }
  Fail({"verify", "cdlp", graph, Write("c.txt", "0 1\n1 0\n2 inf\n3 2\n"), "--rounds", "1"}, 2,
       "'inf' is not a vertex id: expected a whole number");
  Fail({"verify", "cdlp", graph, Npy(array), "--rounds", "2"}, 3, "verification failed: ");
}

TEST_F(VerifyTest, TheSourceIsItsOwnParentOrHasNone) {
  const std::string graph = Write("diamond.el", "0 1\n0 2\n1 3\n2 3\n4 5\n");
  const auto verify = [&](const std::string& of_source, const std::string& none) {
    return Arguments{
        "verify",   "bfs", graph,     Write("p.txt", fmt::format("0 {0}\n1 0\n2 0\n3 2\n4 {1}\n5 {1}\n", of_source, none)),
        "--source", "0",   "--value", "parent"};
  };
  EXPECT_TRUE(Succeed(verify("0", "-1")).ends_with("5 edges checked\n"));
  EXPECT_TRUE(Succeed(verify("-1", "-1")).ends_with("; the source has no parent, which was taken as itself\n"));
  EXPECT_TRUE(Succeed(verify("4294967295", "4294967295"))
                  .ends_with("; the source has no parent, which was taken as itself; "
                             "4294967295 at 3 vertices was taken as no parent\n"));
  for (const char* wrong : {"1", "3", "4", "99"}) Fail(verify(wrong, "-1"), 3, "verification failed: ");
  Fail(verify("0", "4"), 3, "verification failed: ");
  Fail({"verify", "bfs", graph, Write("p.txt", "0 0\n1 -1\n2 0\n3 2\n4 -1\n5 -1\n"), "--source", "0", "--value", "parent"},
       3, "vertex 1, which is said to be unreached");
  Succeed(
      {"verify", "bfs", graph, Npy(std::vector<std::int32_t>{-1, 0, 0, 1, -1, -1}), "--source", "0", "--value", "parent"});
}

TEST_F(VerifyTest, EachVertexHasOneValue) {
  const std::string graph = Write("g.el", "0 1\n1 2\n");
  const auto verify = [&](const std::string& values) { return Arguments{"verify", "bfs", graph, values, "--source", "0"}; };
  Succeed(verify(Write("v", "2 2\n0 0\n1 1\n")));
  Fail(verify(Write("v", "0 0\n2 2\n")), 2, "the first without a value is 1");
  Fail(verify(Write("v", "0 0\n1 1\n1 1\n2 2\n")), 2, "vertex 1 has a value already");
  Fail(verify(Write("v", "0 0\n1 1\n1 inf\n")), 2, "vertex 1 has a value already");
  Fail(verify(Write("v", "[0, 1]")), 2, "the first without a value is 2");
  Fail(verify(Write("v", "[0, 1, 2, 3]")), 2, "holds more values");
  Fail(verify(Write("v", R"({"0": 0, "1": 1, "1": 1})")), 2, "vertex 1 has a value already");
  Fail(verify(Npy(std::vector<std::int32_t>{0, 1})), 2, "holds 2 values for a graph of 3 vertices");
  Fail(verify(Npy(std::vector<std::int32_t>{0, 1, 2, 2})), 2, "holds 4 values for a graph of 3 vertices");
}

// ----------------------------------------------------------- definitions ----

TEST_F(VerifyTest, WherePageRanksRoundsAreGivenNoOtherRanksAreRight) {
  const std::string graph = Gappy();
  Succeed({"verify", "pr", "--ldbc", graph, SevenRounds()});
  Fail({"verify", "pr", "--ldbc", graph, Settled()}, 3, "the rank of vertex 2 after 7 rounds is 0.0794");
  Fail({"verify", "pr", "--ldbc", graph, SevenRounds(), "--rounds", "6"}, 3, "after 6 rounds");
  for (const Arguments& seven : std::vector<Arguments>{{"--rounds", "7"},
                                                       {"--set", "rounds=7"},
                                                       {"--rounds", "7", "--tolerance", "1e-6"},
                                                       {"--rounds", "7", "--tolerance", "0"}}) {
    Succeed(Join({"verify", "pagerank", graph, SevenRounds()}, seven));
    Fail(Join({"verify", "pagerank", graph, Settled()}, seven), 3, "after 7 rounds");
  }
  // Without rounds, those that have settled; a tolerance of 0 is the default one.
  Succeed({"verify", "pagerank", graph, Settled()});
  Fail({"verify", "pagerank", graph, SevenRounds()}, 3, "the residual is");
  Succeed({"verify", "pagerank", graph, Settled(), "--tolerance", "0"});
  Fail({"verify", "pagerank", graph, SevenRounds(), "--tolerance", "0"}, 3, "the residual is");
  // How far off they may be.
  std::string off = ReadAll(SevenRounds());
  off.replace(off.find("0.0861588"), 9, "0.0861688");  // by 1.2e-4 of it
  off = Write("off.txt", off);
  Fail({"verify", "pr", "--ldbc", graph, off}, 3, "a relative error above 0.0001");
  Succeed({"verify", "pr", "--ldbc", graph, off, "--tolerance", "1e-3"});
}

TEST_F(VerifyTest, CommunitiesAreThoseOfSoManyRounds) {
  const std::string graph = Path("social.mtx"), labels = Path("labels.txt");
  Succeed({"generate", "kron", "6", "-o", graph});
  Succeed({"run", "cdlp", graph, "--rounds", "1", "--output", labels});
  Succeed({"verify", "cdlp", graph, labels, "--rounds", "1"});
  Fail({"verify", "cdlp", graph, labels, "--rounds", "2"}, 3, "after 2 rounds");
  Fail({"verify", "cdlp", graph, labels}, 3, "after 10 rounds");
}

// ------------------------------------------------------------- tolerance ----

TEST_F(VerifyTest, RealValuesMayBeOffByTheTolerance) {
  // Each of 2, 3 and 5 is on one of the three paths from 1 to 4.
  const std::string graph = Write("ties.el", "1 2\n1 3\n1 5\n2 4\n3 4\n5 4\n");
  const auto verify = [&](const std::string& value, const Arguments& more = {}) {
    return Join({"verify", "bc", graph, Write("c.txt", fmt::format("1 0\n2 {0}\n3 {0}\n4 0\n5 {0}\n", value)), "--source",
                 "1", "--compact-ids"},
                more);
  };
  for (const char* right : {"0.3333333333333333", "0.33333334", "0.333333", "0.33333"}) Succeed(verify(right));
  EXPECT_NE(Succeed(verify("0.333333")).find("from 1 source, to 0.0001"), std::string::npos);
  Fail(verify("0.3334"), 3, "verification failed: ");
  Succeed(verify("0.3334", {"--tolerance", "1e-3"}));
  Fail(verify("0.333333", {"--tolerance", "1e-9"}), 3, "verification failed: ");
  Succeed(verify("0.3333333333333333", {"--tolerance", "1e-9"}));
  for (const char* bad : {"0", "-1e-3", "1", "2", "inf", "nan", "x", "1e-3x"}) {
    Fail(verify("0.333333", {fmt::format("--tolerance={}", bad)}), 2, "give a number above 0 and below 1");
  }
  // An exact 0 and what is undefined are held to no part of anything.
  for (const char* wrong : {"1e-12", "-1e-12", "inf", "nan"}) {
    Fail({"verify", "bc", graph, Write("c.txt", fmt::format("1 0\n2 0.333333\n3 0.333333\n4 {}\n5 0.333333\n", wrong)),
          "--source", "1", "--compact-ids", "--tolerance", "0.5"},
         3, "verification failed: ");
  }

  const std::string reals = Write("r.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.1\n2 3 0.7\n");
  const std::string distances = Write("d.txt", "1 0\n2 0.1\n3 0.805\n");
  Fail({"verify", "sssp", reals, distances, "--source", "1"}, 3, "vertex 3 is said to be at distance 0.805");
  Succeed({"verify", "sssp", reals, distances, "--source", "1", "--tolerance", "0.01"});
  const std::string triangle = Write("t.el", "0 1\n1 2\n2 0\n0 2\n");
  Succeed({"run", "lcc", triangle, "--output", Path("l.txt")});
  Succeed({"verify", "lcc", triangle, Path("l.txt"), "--tolerance", "1e-12"});
}

TEST_F(VerifyTest, NoValueBecomesZeroOrInfinityByItsWidth) {
  const std::string graph = Write("w.wel", "0 1 1.5\n1 2 2.5\n");
  const auto distances = [&](const std::string& first, const std::string& last) {
    return Arguments{"verify",   "sssp", graph, Write("d.txt", fmt::format("0 {}\n1 1.5\n2 {}\n", first, last)),
                     "--source", "0"};
  };
  Succeed(distances("0", "4"));
  for (const char* wrong : {"1e-320", "-1e-320", "1e-46", "1e-400"}) {
    Fail(distances(wrong, "4"), 3, fmt::format("vertex 0 has the value '{}', which no correct answer contains", wrong));
  }
  for (const char* wrong : {"1e39", "1e400"}) {
    Fail(distances("0", wrong), 3, fmt::format("vertex 2 has the value '{}', which no correct answer contains", wrong));
  }
  const std::vector<double> array{1e-320, 1.5, 4};
  Fail({"verify", "sssp", graph, Npy(array), "--source", "0"}, 3, "entry 0 is 1e-320, which no correct answer contains");
  // A float may be too small to represent a rank, but the rank of a vertex that no walk reaches is exactly 0.
  const std::string chain = Write("chain.el", "0 1\n1 2\n2 3\n4 0\n");
  const auto ranks = [&](const char* third, const char* fourth) {
    return Arguments{
        "verify",   "ppr", chain,       Write("r.txt", fmt::format("0 1\n1 1e-20\n2 1e-40\n3 {}\n4 {}\n", third, fourth)),
        "--source", "0",   "--damping", "1e-20"};
  };
  Succeed(ranks("1e-60", "0"));
  Succeed(ranks("1e-400", "0"));
  Fail(ranks("1e-60", "1e-320"), 3, "the rank of vertex 4");
  Fail(ranks("-1e-60", "0"), 3, "the rank of vertex 3");
  Fail({"verify", "pagerank", graph, Write("r.txt", "0 1e-320\n1 0.3\n2 0.5\n")}, 3, "verification failed: ");
  for (const char* program : {"lcc", "bc"}) {  // of which 0 is right here
    Fail({"verify", program, Write("edge.el", "0 1\n"), Write("c.txt", "0 1e-320\n1 0\n")}, 3, "vertex 0");
    Fail({"verify", program, Write("edge.el", "0 1\n"), Write("c.txt", "0 1e-400\n1 0\n")}, 3, "vertex 0");
  }
}

TEST_F(VerifyTest, IntegersHaveNoTolerance) {
  const std::string absent = Path("absent");  // nothing is loaded to find that out
  for (const char* program : {"bfs", "cc", "cdlp", "label_propagation", "triangles"}) {
    Fail({"verify", program, absent, absent, "--tolerance", "0.1"}, 2, "has no real values");
  }
  Fail({"verify", "bfs", absent, absent, "--tolerance", "0.1", "--value", "parent"}, 2, "has no real values");
  const std::string integers = Write("i.wel", "0 1 3\n1 2 4\n");
  Fail({"verify", "sssp", integers, Write("d.txt", "0 0\n1 3\n2 7\n"), "--source", "0", "--tolerance", "0.1"}, 2,
       "on this graph are integers");
}

// ------------------------------------------------------------ no verifier ----

TEST_F(VerifyTest, AProgramWithoutAVerifierIsRefusedBeforeAnythingIsLoaded) {
  Registry registry;
  registry.Add(DeviceKind::kHost, std::make_unique<registration::Entry<Hops, HostOnly>>("hops"));
  const RegisteredProgram& hops = registry.Find("hops", DeviceKind::kHost);
  EXPECT_FALSE(hops.has_verifier(""));
  EXPECT_FALSE(hops.has_verifier("hops"));
  EXPECT_THROW(static_cast<void>(hops.has_verifier("leaps")), UsageError);
  const std::string absent = Path("absent"), graph = Write("g.el", "0 1\n1 2\n"), out = Path("out.txt");
  const std::string why = "program 'hops' has no verifier, so nothing can tell whether an answer is right; ";
  for (const std::string& file : {absent, graph}) {
    for (const Arguments& arguments :
         std::vector<Arguments>{{"verify", "hops", file, absent},
                                {"run", "hops", file, "--devices", "host", "--verify", "--output", out},
                                {"compare", file, "--programs", "hops", "--on", "host", "--out", Path("compared")}}) {
      const Outcome outcome = With(registry, arguments);
      SCOPED_TRACE(arguments[0] + ": " + outcome.err);
      EXPECT_EQ(outcome.status, 2);
      EXPECT_EQ(outcome.out, "");
      EXPECT_TRUE(outcome.err.starts_with("chatty: error: " + why));
      EXPECT_FALSE(fs::exists(out));
    }
  }
  EXPECT_EQ(With(registry, {"run", "hops", graph, "--devices", "host", "--source", "0", "--output", out}).status, 0);
  EXPECT_EQ(ReadAll(out), "0 0\n1 1\n2 2\n");
}

}  // namespace
}  // namespace chatty::cli::test
