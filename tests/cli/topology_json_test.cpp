#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../comm/machines.h"
#include "../sanitized.h"
#include "chatty/cli/topology/json.h"
#include "chatty/cli/topology/page.h"
#include "chatty/core/error.h"

namespace chatty::cli {
namespace {

namespace fs = std::filesystem;

TEST(TopologyJson, DescribedMachinesAreWhatTheirFilesSay) {
  const fs::path folder = CHATTY_SOURCE_DIR "/tests/comm/topologies";
  std::set<std::string> files;
  for (const auto& file : fs::directory_iterator(folder)) files.insert(file.path().filename().string());
  for (const auto& [file, topology] : machines::All()) {
    EXPECT_EQ(files.erase(file), 1u) << file << " is missing";
    const Topology read = ReadTopology((folder / file).string());
    EXPECT_EQ(TopologyJson(read).dump(1), TopologyJson(topology).dump(1)) << file;
    EXPECT_EQ(read, topology) << file;
  }
  EXPECT_TRUE(files.empty()) << *files.begin() << " is described nowhere";
}

TEST(TopologyJson, WhatIsWrittenIsRead) {
  for (const auto& [file, topology] : machines::All()) {
    EXPECT_EQ(ParseTopology(TopologyJson(topology).dump(), "x"), topology) << file;
    const Topology masked = Masked(topology, LinkMask::Parse("pairs {0,1}", topology.size()));
    EXPECT_EQ(ParseTopology(TopologyJson(masked).dump(2), "x"), masked) << file;
    Json record;
    record["topology"] = TopologyJson(topology);
    record["rings"] = RingsJson(FindRings(topology));
    EXPECT_EQ(ParseTopology(record.dump(), "x"), topology) << file << ", as a record";
  }
  const Topology host = DiscoverTopology(ParseDevices("host:3"), 3);
  EXPECT_EQ(ParseTopology(TopologyJson(host).dump(), "x"), host);
  const Topology shared = machines::OneGpu(2);
  EXPECT_EQ(ParseTopology(TopologyJson(shared).dump(), "x"), shared);
  EXPECT_NE(TopologyJson(shared).dump().find("same-gpu"), std::string::npos);
  EXPECT_EQ(LinkCell(shared.link(0, 1)), "GPU");
  const Topology full("", machines::Gpus(64, "GPU", ~std::uint64_t{0}, 1, 3));
  EXPECT_EQ(ParseTopology(TopologyJson(full).dump(), "x"), full);
}

TEST(TopologyJson, OddBandwidthsKeepTheirBits) {
  Topology topology = machines::NoPeers();
  std::mt19937_64 random(1);
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      if (from != to) topology.link(from, to).bandwidth = static_cast<double>(random() >> 11) / 8192.0;
    }
  }
  EXPECT_EQ(ParseTopology(TopologyJson(topology).dump(), "x"), topology);
}

TEST(TopologyJson, PairsThatAreNotListedGoThroughTheHost) {
  const Topology topology = ParseTopology(R"({"schema": "chatty-topology-1", "devices": [
    {"label": "a", "kind": "cuda", "host_path": {"nominal_bytes_per_s": 3e9}},
    {"label": "b", "kind": "cuda", "numa_node": null, "host_path": {"nominal_bytes_per_s": 2e9}}]})",
                                          "x");
  ASSERT_EQ(topology.size(), 2u);
  EXPECT_EQ(topology.link(0, 1), HostLink(topology, 0, 1));
  EXPECT_EQ(topology.link(0, 1).bandwidth, 2e9);
  EXPECT_EQ(topology.devices()[1].numa_node, -1);
  EXPECT_EQ(topology.name(), "");
}

TEST(TopologyJson, ThePagesExampleIsRead) {
  std::ifstream page(CHATTY_SOURCE_DIR "/docs/topology.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const std::size_t begin = text.find("```json\n"), end = text.find("\n```", begin);
  ASSERT_NE(end, std::string::npos);
  const Topology topology = ParseTopology(text.substr(begin + 8, end - begin - 8), "docs/topology.md");
  EXPECT_EQ(topology.size(), 2u);
  EXPECT_EQ(topology.link(1, 0).nvlinks, 2);
  EXPECT_EQ(topology.devices()[1].copy_engines, 0);
}

TEST(TopologyJson, BandwidthsThatAreLeftOutAreTheStandards) {
  Json json = TopologyJson(machines::UnequalRing());
  for (Json& link : json["links"]) link.erase("nominal_bytes_per_s");
  for (Json& device : json["devices"]) device["host_path"].erase("nominal_bytes_per_s");
  EXPECT_EQ(ParseTopology(json.dump(), "x"), machines::UnequalRing());
  json = TopologyJson(machines::TwoQuads());
  for (Json& link : json["links"]) link["nominal_bytes_per_s"] = nullptr;
  EXPECT_EQ(ParseTopology(json.dump(), "x"), machines::TwoQuads());

  // Without that, this ring went through host memory twice, and none was said to be wider.
  std::vector<TopologyDevice> devices = machines::Gpus(4, "V100", 1, 80, 3);
  Topology ring("", devices);
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(2, 1), std::pair(1, 3), std::pair(3, 0)}) {
    machines::JoinByNvlinks(ring, a, b, 2, 2);
  }
  json = TopologyJson(ring);
  for (Json& link : json["links"]) {
    if (link["type"] == "nvlink") link.erase("nominal_bytes_per_s");
  }
  const Rings found = FindRings(ParseTopology(json.dump(), "x"));
  EXPECT_EQ(found.best.order, (std::vector<std::size_t>{0, 2, 1, 3}));
  EXPECT_EQ(found.best.bandwidth, 50e9);
  EXPECT_TRUE(found.known);

  for (Json& link : json["links"]) link.erase("version");  // the generation is then unknown
  const Topology unknown = ParseTopology(json.dump(), "x");
  EXPECT_EQ(unknown.link(0, 2).bandwidth, 0);
  EXPECT_FALSE(FindRings(unknown).known);
  EXPECT_NE(TopologyText(unknown, FindRings(unknown), "x").find("whether one is wider cannot be told"), std::string::npos);
  EXPECT_NE(TopologyPage(unknown, FindRings(unknown), "x").find("whether one is wider cannot be told"), std::string::npos);
  EXPECT_EQ(RingsJson(FindRings(unknown)).at("known"), false);
}

TEST(TopologyJson, RecordsKeepTheirMask) {
  Json record;
  record["mask"] = "pairs {0,1}";
  record["topology"] = TopologyJson(machines::NvSwitch(4));
  LinkMask mask;
  ParseTopology(record.dump(), "x", &mask);
  EXPECT_EQ(mask.text(), "pairs {0,1}");
  ParseTopology(record["topology"].dump(), "x", &mask);
  EXPECT_EQ(mask.text(), "all");
}

TEST(TopologyJson, RingsSayWhatTheyAre) {
  const Json json = RingsJson(FindRings(machines::UnequalRing()));
  EXPECT_EQ(
      json.dump(),
      R"({"best":{"order":[0,1,2,3],"nominal_bytes_per_s":25000000000,"narrowest":[1,2]},"known":true,"exact":true,)"
      R"("disjoint":[{"order":[0,1,2,3],"nominal_bytes_per_s":25000000000,"narrowest":[0,1]}],"disjoint_exact":true})");
  const Json one = RingsJson(FindRings(Topology("", machines::Gpus(1, "GPU", 1, 1, 3))));
  EXPECT_TRUE(one.at("best").at("narrowest").is_null());
}

// ------------------------------------------------------------------- errors ----

void ExpectRefused(const std::string& text, const std::string& what) {
  try {
    ParseTopology(text, "machine.json");
    ADD_FAILURE() << "was read: " << text.substr(0, 200);
  } catch (const InputError& error) {
    const std::string said = error.what();
    EXPECT_TRUE(said.starts_with("machine.json: ")) << said;
    EXPECT_NE(said.find(what), std::string::npos) << said << "\nshould say: " << what;
    EXPECT_LT(said.size(), 400u) << said;
    EXPECT_EQ(said.find("json.exception"), std::string::npos) << said;
  }
}

TEST(TopologyJson, RefusesWhatIsNoJson) {
  ExpectRefused("", "is no JSON");
  ExpectRefused("{", "is no JSON");
  ExpectRefused("\x7f", "last read: '\\x7f'");
  ExpectRefused("{\"schema\": \"\\u001b\"}", "schema: is \"\\u001b\"");
  ExpectRefused("{\"a\": NaN}", "is no JSON");
  ExpectRefused("{\"a\": 1e400}", "is no JSON: number overflow parsing '1e400'");
  ExpectRefused("{\"a\": \"\xff\"}", "is no JSON");
  ExpectRefused("[]", "array and not an object");
  ExpectRefused("null", "null and not an object");
  ExpectRefused("7", "number and not an object");
  constexpr std::size_t kDeep = CHATTY_TEST_SANITIZED ? 1 << 15 : 1 << 20;
  ExpectRefused(std::string(kDeep, '['), "is no JSON");
  ExpectRefused("{\"costs\":" + std::string(kDeep, '['), "is no JSON");
  ExpectRefused("{\"schema\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}", "schema: is array");
}

TEST(TopologyJson, CostsOfARecordAreSkipped) {
  Json record;
  record["topology"] = TopologyJson(machines::UnequalRing());
  std::string text = record.dump();
  text.insert(text.size() - 1, R"(,"costs":{"fits":[{"a":1},[]],"b":{}},"rings":{})");
  EXPECT_EQ(ParseTopology(text, "x"), machines::UnequalRing());
}

/// Changes the DGX-1's file at one place and expects that the place is named.
template <class Change>
void ExpectRefusedAfter(Change&& change, const std::string& what) {
  Json json = TopologyJson(machines::Dgx1());
  change(json);
  ExpectRefused(json.dump(), what);
}

TEST(TopologyJson, RefusesWrongDevices) {
  const auto device = [](const char* name, const Json& value, const std::string& what) {
    ExpectRefusedAfter([&](Json& json) { json["devices"][3][name] = value; }, what);
  };
  device("label", 7, "devices[3].label: is 7, and has to be a text");
  device("label", "", "devices[3]: label is empty");
  device("label", "cuda:0", "devices[3]: label 'cuda:0' is another device's");
  device("label", nullptr, "devices[3]: 'label' is missing");
  device("label", "\x1b[31m", "devices[3]: label has control characters");
  device("label", "\u009b31m", "devices[3]: label has control characters");
  device("name", "a\u202eb", "devices[3]: name has control characters");
  device("kind", "\u202etpu", "devices[3].kind: is \"\\u202etpu\"");
  device("kind", "tpu", "devices[3].kind: is \"tpu\"");
  device("kind", true, "devices[3].kind: is true");
  device("name", Json::array(), "devices[3].name: is array");
  device("memory_bytes", -5, "devices[3].memory_bytes: is -5, and has to be a whole number from 0");
  device("memory_bytes", 1.5, "devices[3].memory_bytes: is 1.5");
  device("memory_bytes", "32G", "devices[3].memory_bytes: is \"32G\"");
  device("processors", 1u << 31, "devices[3].processors: is 2147483648, and has to be a whole number from 0 to 2147483647");
  device("processors", 1u << 30, "devices[3]: processors is 1073741824");
  device("numa_node", -1, "devices[3].numa_node: is -1");
  device("socket", 1000000, "devices[3]: socket");
  device("copy_engines", 5000, "devices[3]: copy_engines");
  device("pci_bus_id", 6, "devices[3].pci_bus_id");
  device("host_path", 6, "devices[3].host_path: is number and not an object");
  device("host_path", {{"nominal_bytes_per_s", -1}}, "devices[3]: host_path.nominal_bytes_per_s is -1");
  device("host_path", {{"nominal_bytes_per_s", "fast"}}, "devices[3].host_path.nominal_bytes_per_s: is \"fast\"");
  device("host_path", {{"pcie_lanes", 99}}, "devices[3]: host_path.pcie_lanes is 99");
  device("host_path", {{"lanes", 16}}, "devices[3].host_path: has a member \"lanes\" that means nothing");
  device("colour", "green", "devices[3]: has a member \"colour\" that means nothing");
  device("a\nb", 1, "devices[3]: has a member \"a\\nb\"");
}

TEST(TopologyJson, RefusesWrongLinks) {
  // Entry 2 is from 0 to 3, two NVLinks.
  const auto link = [](const char* name, const Json& value, const std::string& what) {
    ExpectRefusedAfter([&](Json& json) { json["links"][2][name] = value; }, what);
  };
  link("from", 8, "links[2].from: is 8, and there are 8 devices, counted from 0");
  link("to", -1, "links[2].to: is -1, and has to be a whole number");
  link("to", ~std::uint64_t{0}, "links[2].to: is 18446744073709551615");
  link("to", nullptr, "links[2]: 'to' is missing");
  link("to", 0, "links[2]: leads from device 0 to itself");
  link("to", 1, "links[2]: is the second from 0 to 1");
  link("type", "carrier-pigeon", "links[2].type: is \"carrier-pigeon\"; there are same-gpu");
  link("type", "self", "links[2]: type, from 0 to 3, is `self`");
  link("type", "sockets", "links[2]: type, from 0 to 3, is sockets here and nvlink the other way");
  link("type", nullptr, "links[2]: 'type' is missing");
  link("count", 3, "links[2]: count, from 0 to 3, is 3 here and 2 the other way");
  link("count", -2, "links[2].count: is -2");
  link("count", 5000, "links[2]: count, from 0 to 3, is 5000");
  link("version", 3, "links[2]: version, from 0 to 3, is 3 here and 2 the other way");
  link("version", "two", "links[2].version");
  link("switched", 1, "links[2].switched: is 1, and has to be true or false");
  link("switched", true, "links[2]: switched");
  link("peer_access", false, "links[2]: native_atomics, from 0 to 3, needs peer_access");
  link("nominal_bytes_per_s", -1, "links[2]: nominal_bytes_per_s, from 0 to 3, is -1");
  link("nominal_bytes_per_s", 1e300, "links[2]: nominal_bytes_per_s");
  link("nominal_bytes_per_s", "NaN", "links[2].nominal_bytes_per_s: is \"NaN\", and has to be a number");
  link("bandwidth", 5, "links[2]: has a member \"bandwidth\" that means nothing");
  ExpectRefusedAfter([](Json& json) { json["links"].erase(2); }, "is listed, and the link from 0 to 3 is not: type is");
  ExpectRefusedAfter([](Json& json) { json["links"][5] = "none"; }, "links[5]: is string and not an object");
  ExpectRefusedAfter([](Json& json) { json["links"] = "none"; }, "links: is \"none\" and not an array");
}

TEST(TopologyJson, RefusesWrongWholes) {
  ExpectRefusedAfter([](Json& json) { json["schema"] = "chatty-topology-9"; }, "schema: is \"chatty-topology-9\"");
  ExpectRefusedAfter([](Json& json) { json.erase("schema"); }, "'schema' is missing");
  ExpectRefusedAfter([](Json& json) { json.erase("devices"); }, "devices: is missing");
  ExpectRefusedAfter([](Json& json) { json["devices"] = 8; }, "devices: is 8 and not an array");
  ExpectRefusedAfter([](Json& json) { json["devices"] = Json::array(); }, "devices: are 0; a run takes 1 to 64");
  ExpectRefusedAfter([](Json& json) { json["name"] = 8; }, "name: is 8");
  ExpectRefusedAfter([](Json& json) { json["name"] = "a\tb"; }, "name has control characters");
  ExpectRefusedAfter([](Json& json) { json["nodes"] = 8; }, "has a member \"nodes\" that means nothing");
  ExpectRefusedAfter([](Json& json) { json["topology"] = 8; }, "that means nothing");
  ExpectRefused(R"({"topology": null})", "'topology' is missing");
  ExpectRefused(R"({"topology": {"devices": []}})", "topology: 'schema' is missing");
  ExpectRefusedAfter(
      [](Json& json) {
        for (int i = 8; i <= 64; ++i) {
          json["devices"].push_back(json["devices"][0]);
          json["devices"].back()["label"] = "cuda:" + std::to_string(i);
        }
      },
      "devices: are 65; a run takes 1 to 64");
}

TEST(TopologyJson, ManyMembersTakeNoTime) {
  std::string text = R"({"schema":"chatty-topology-1","devices":[],)";
  for (int i = 0; i < (CHATTY_TEST_SANITIZED ? 50000 : 500000); ++i) text += "\"m" + std::to_string(i) + "\":0,";
  ExpectRefused(text + "\"z\":0}", "that means nothing");
}

TEST(TopologyJson, BytesAtRandomAreRefusedOrRead) {
  const std::string good = TopologyJson(machines::UnequalRing()).dump();
  std::mt19937 random(1);
  int read = 0;
  for (int trial = 0; trial < (CHATTY_TEST_SANITIZED ? 500 : 3000); ++trial) {
    std::string text = good;
    for (unsigned i = 0; i <= random() % 3; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    try {
      EXPECT_FALSE(FindFault(ParseTopology(text, "x")).has_value());
      ++read;
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(read, 0) << "a digit may change into another";
}

class TopologyFile : public testing::Test {
 protected:
  void SetUp() override { path_ = fs::temp_directory_path() / ("chatty-topology-" + std::to_string(::getpid()) + ".json"); }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(TopologyFile, MustBeThereAndOfSensibleSize) {
  EXPECT_THROW(ReadTopology(path_.string()), InputError);
  EXPECT_THROW(ReadTopology("/"), InputError);
  std::ofstream(path_) << std::string((17 << 20), ' ');
  try {
    ReadTopology(path_.string());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(path_.string() + ": is larger than"), std::string::npos) << error.what();
  }
  std::ofstream(path_) << std::string(10 << 20, ' ') << TopologyJson(machines::Dgx1()).dump();
  EXPECT_EQ(ReadTopology(path_.string()), machines::Dgx1());
}

// --------------------------------------------------------------------- pages ----

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

TEST(TopologyPage, CellsAndWords) {
  const Topology dgx = machines::Dgx1(), quads = machines::TwoQuads();
  EXPECT_EQ(LinkCell(dgx.link(0, 0)), "X");
  EXPECT_EQ(LinkCell(dgx.link(0, 3)), "NV2");
  EXPECT_EQ(LinkCell(dgx.link(0, 5)), "SYS*");
  EXPECT_EQ(LinkCell(machines::NvSwitch(4).link(0, 1)), "NVS18");
  EXPECT_EQ(LinkCell(quads.link(0, 1)), "PIX");
  EXPECT_EQ(LinkCell(quads.link(0, 2)), "PHB");
  EXPECT_EQ(LinkCell(machines::NoPeers().link(0, 2)), "MEM*");
  Link uncounted = dgx.link(0, 3);
  uncounted.nvlinks = 0;
  EXPECT_EQ(LinkCell(uncounted), "NV?");
  EXPECT_NE(DescribeLink(uncounted).find("nobody says how many"), std::string::npos);
  EXPECT_EQ(DescribeLink(dgx.link(0, 1)), "1 NVLink of generation 2");
  EXPECT_EQ(DescribeLink(machines::NvSwitch(4).link(0, 1)), "18 NVLinks of generation 4, through an NVSwitch");
  EXPECT_EQ(FormatBandwidth(0), "unknown");
  EXPECT_EQ(FormatBandwidth(15753846153), "15.8 GB/s");
  EXPECT_EQ(FormatBandwidth(4.8e12), "4.80 TB/s");
}

TEST(TopologyPage, LegendTellsLinksApart) {
  Topology mixed("", machines::Gpus(3, "GPU", 1, 1, 3));
  machines::JoinByNvlinks(mixed, 0, 1, 4, 3);
  machines::JoinByNvlinks(mixed, 1, 2, 4, 3);
  machines::JoinByNvlinks(mixed, 0, 2, 4, 4);
  mixed.link(1, 2).switched = mixed.link(2, 1).switched = true;
  const std::string text = TopologyText(mixed, FindRings(mixed), "x");
  EXPECT_EQ(Count(text, "  NV4   4 NVLinks of generation 3: 100.0 GB/s\n"), 1u) << text;
  EXPECT_EQ(Count(text, "  NV4   4 NVLinks of generation 4: 100.0 GB/s\n"), 1u) << text;
  EXPECT_EQ(Count(text, "  NVS4  4 NVLinks of generation 3, through an NVSwitch: 100.0 GB/s\n"), 1u) << text;
}

TEST(TopologyPage, DrawsEveryLinkOnce) {
  for (const auto& [file, topology] : machines::All()) {
    const std::string page = TopologyPage(topology, FindRings(topology), "x");
    const std::size_t n = topology.size();
    const bool switched = topology.link(0, 1).switched;
    EXPECT_EQ(Count(page, "<line "), switched ? n : n * (n - 1) / 2) << file;
    EXPECT_EQ(Count(page, "<circle class=\"device\""), n) << file;
    EXPECT_EQ(Count(page, "NVSwitch</text>"), switched ? 1u : 0u) << file;
    EXPECT_EQ(Count(page, "<polygon class=\"ring\""), 1u) << file;
    EXPECT_EQ(Count(page, "<td ") - Count(page, "<td class=\"number\""), n * n) << file;
    EXPECT_EQ(Count(page, "<b class=\"nvlink\">") > 0, Count(page, "class=\"nvlink\" x1") > 0) << file;
    EXPECT_EQ(Count(page, "<b class=\"staged\">") > 0, Count(page, "class=\"staged\" x1") > 0) << file;
  }
  const std::string one = TopologyPage(Topology("", machines::Gpus(1, "GPU", 1, 1, 3)),
                                       FindRings(Topology("", machines::Gpus(1, "GPU", 1, 1, 3))), "x");
  EXPECT_EQ(Count(one, "<polygon"), 0u);
  EXPECT_EQ(Count(one, "<circle class=\"device\""), 0u) << "a drawing of one device shows nothing";
}

TEST(TopologyPage, LoadsNothingAndRunsNothing) {
  std::vector<TopologyDevice> devices = machines::Gpus(3, "<script>alert(1)</script>", 1, 1, 3);
  devices[1].label = "\"><img src=x>";
  devices[2].pci_bus_id = "a&b'c";
  const Topology topology("<b>", devices);
  const std::string page = TopologyPage(topology, FindRings(topology), topology.name());
  for (const char* what : {"<script", "<img", "<b></", "http:", "https:", "src=\"", "href=", "@import", "url("}) {
    EXPECT_EQ(page.find(what), std::string::npos) << what;
  }
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("a&amp;b&#39;c"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(TopologyPage, OfManyDevicesIsWhole) {
  const Topology topology("", machines::Gpus(64, "GPU", 1, 1, 3));
  const Rings rings = FindRings(topology);
  EXPECT_EQ(Count(TopologyPage(topology, rings, "x"), "<circle class=\"device\""), 64u);
  EXPECT_NE(TopologyPage(topology, rings, "x").find("a wider one may exist."), std::string::npos);
  EXPECT_NE(TopologyText(topology, rings, "x").find("a wider one may exist"), std::string::npos);
}

}  // namespace
}  // namespace chatty::cli
