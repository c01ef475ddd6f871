// `chatty topology`: devices and links, described machines, costs and choices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

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
  machine += R"(], "links": [)";  // so that all paths join all pairs
  for (int i = 0; i < kDevices * kDevices; ++i) {
    if (i / kDevices == i % kDevices) continue;
    machine += fmt::format(R"({}{{"from": {}, "to": {}, "type": "pcie-switch", "peer_access": true}})", i == 1 ? "" : ",",
                           i / kDevices, i % kDevices);
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
  EXPECT_EQ(nominal.find(" ERROR"), std::string::npos) << "there is none: " << nominal;
  Succeed(Join(plain, {"--measure", "--quick"}));
  const std::string kept = Succeed(plain);
  EXPECT_EQ(LinesWith(kept, "Costs, kept, measured in ").size(), 1u) << kept;
  EXPECT_NE(kept.find(" ERROR"), std::string::npos) << kept;
  const Json costs = Json::parse(Succeed(Join(plain, {"--json", "-"}))).at("costs");
  EXPECT_EQ(costs.at("measured"), true);
  EXPECT_EQ(costs.at("kept"), true);

  // A quick calibration goes to 1 MiB at most; figures beyond that are not measured.
  EXPECT_EQ(LinesWith(kept, "~: longer than any buffer that was measured").size(), 1u) << kept;
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
  for (const Json& cost : costs.at("costs")) EXPECT_LE(cost.at("measured_up_to_bytes"), 1 << 20) << cost;
}

TEST_F(CliTest, TopologyShowsWhatAutoMayTakeAlone) {
  const auto expect_choosable = [](const Json& costs, const std::string& machine) {
    EXPECT_FALSE(costs.at("choices").empty()) << machine;
    for (const std::string never : {"ring", "uva-hub"}) {
      EXPECT_EQ(costs.dump().find("\"" + never + "\""), std::string::npos) << machine;
    }
  };
  for (const auto& file : fs::directory_iterator(CHATTY_SOURCE_DIR "/tests/comm/topologies")) {
    const std::string machine = file.path().string(), page = Path("page.html"), record = Path("record.json");
    const std::string text = Succeed({"topology", "--simulate", machine, "--json", record, "--html", page});
    expect_choosable(Json::parse(ReadAll(record)).at("costs"), machine);
    EXPECT_EQ(text.find("uva-hub"), std::string::npos) << machine << text;
    EXPECT_EQ(ReadAll(page).find("uva-hub"), std::string::npos) << machine;
    EXPECT_NE(text.find("\nCrossovers"), std::string::npos) << text;
    EXPECT_EQ(LinesWith(text, "runs choose beside all buffers that are under way").size(), 1u) << text;
    EXPECT_EQ(LinesWith(text, "> cuda:").size() <= 60, true) << "it is a page and not a book: " << text;
  }
  expect_choosable(Json::parse(Succeed({"topology", "--devices", "host:3", "--json", "-"})).at("costs"), "host");
}

TEST_F(CliTest, TopologyMeasuresCosts) {
  const Arguments measure{"topology", "--measure", "--quick", "--devices", "host:2"};
  const std::string record = Path("costs.json"), page = Path("costs.html");
  const std::string text = Succeed(Join(measure, {"--json", record, "--html", page}));
  EXPECT_NE(text.find("Costs, measured in"), std::string::npos) << text;
  EXPECT_NE(text.find("ALPHA us"), std::string::npos) << text;
  EXPECT_NE(text.find("Crossovers"), std::string::npos) << text;
  const Json costs = Json::parse(ReadAll(record)).at("costs");
  EXPECT_EQ(costs.at("measured"), true);
  EXPECT_EQ(costs.at("quick"), true);
  EXPECT_EQ(costs.at("kept"), false);
  std::map<std::string, std::size_t> alone;
  std::size_t broadcasts = 0;
  for (const Json& cost : costs.at("costs")) {
    EXPECT_GE(cost.at("alpha_us"), 0);
    EXPECT_GT(cost.at("measured_up_to_bytes"), 0);
    broadcasts += cost.at("to").is_null() ? 1 : 0;
    if (cost.at("load") == "alone") ++alone[cost.at("encoding")];
  }
  const std::size_t each = 4 * costs.at("paths").size();  // there and back, and a broadcast of either device
  EXPECT_EQ(alone, (std::map<std::string, std::size_t>{{"sparse", each}, {"bitmap", each}, {"dense", each}}));
  EXPECT_EQ(broadcasts, 3 * each);
  EXPECT_EQ(costs.at("choices").size(), 12u);
  const std::string html = ReadAll(page);
  EXPECT_NE(html.find("class=\"l p0\""), std::string::npos);
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
  const std::size_t crossovers = text.find("Crossovers");
  const std::vector<std::string> across =
      LinesWith(text.substr(crossovers, text.find("T = alpha") - crossovers), "cuda:0 > cuda:4");
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
