// What is refused before anything is done, and the memory that `info` tells.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

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

}  // namespace
}  // namespace chatty::cli::test
