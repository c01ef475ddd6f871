// Errors of the command line: exit codes, one line that says what is wrong, and where output cannot go.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

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

TEST_F(CliTest, OptionsThatAreGoneSayWhatToDo) {
  for (const char* when : {"auto", "never", "always"}) {
    Fail({"run", "bfs", Small(), "--remote-atomics", when}, 2,
         "--remote-atomics is gone: all messages go in message buffers");
  }
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
  // Refused before the graph is read.
  const std::string absent = Path("absent.mtx");
  Fail({"run", "pagerank", absent, "--execution", "async", "--devices", "host:2"}, 2,
       "error: execution async: this program is kSynchronous, so it cannot run asynchronously");
  Fail({"run", "pagerank_push", absent, "--execution", "async", "--devices", "host:2"}, 2, absent);
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
  Fail({"run", "bfs", graph, "--seed", "18446744073709551616"}, 2, "18446744073709551616 is beyond 64 bits");
  Fail({"run", "bfs", graph, "--json", "-", "--output", "-"}, 2, "standard output");
  Fail({"run", "bfs", graph, "--trace", "-"}, 2, "--trace");
  Fail({"run", "bfs", graph, "--trace", ""}, 2, "empty");
  Fail({"run", "bfs", graph, "--log", "loud"}, 2, "loud");
  Fail({"help", "fly"}, 2, "fly");
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

}  // namespace
}  // namespace chatty::cli::test
