// `--vertex-data`: files to programs, in the ids of the graph's file; what does not fit is refused before anything runs.
#include <cstring>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

class VertexDataCli : public CliTest {
 protected:
  /// 17 -> 18 -> 40 -> 17 and 40 -> 41: ids with gaps once they are compact.
  std::string Gaps() const { return Write("gaps.el", "17 18\n18 40\n40 17\n40 41\n"); }
  std::string Data(const std::string& text) const { return "teleport=" + Write("data", text); }
  /// A NumPy array of the type that `name` says.
  template <class T>
  std::string Npy(const std::string& name, const std::vector<T>& values) const {
    std::string header =
        "{'descr': '" + name + "', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
    header.resize(118, ' ');
    header.back() = '\n';
    std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return "teleport=" + Write("data.npy", bytes);
  }
  static Arguments Ppr(const std::string& graph, const Arguments& more) {
    return Join({"run", "ppr", graph, "--compact-ids"}, more);
  }
};

TEST_F(VertexDataCli, FormsSayTheSameInTheFilesIds) {
  const std::string graph = Gaps();
  const std::string by_source = Path("by_source.txt");
  Succeed(Ppr(graph, {"--source", "40", "--verify", "--rounds", "5", "--tolerance", "0", "--output", by_source}));
  for (const std::string& data : {Data("40 3\n"), Data("# all\n41,0\n17 0\n40 0.25\n18 0\n"), Data("0\n0\n7\n0\n"),
                                  Npy<float>("<f4", {0, 0, 2, 0}), Npy<std::int8_t>("|i1", {0, 0, 1, 0})}) {
    for (const char* devices : {"host:1", "host:3"}) {
      const std::string values = Path("values.txt");
      Succeed(Ppr(graph, {"--vertex-data", data, "--verify", "--rounds", "5", "--tolerance", "0", "--devices", devices,
                          "--output", values}));
      EXPECT_EQ(ReadAll(values), ReadAll(by_source)) << data;
      Succeed({"verify", "ppr", graph, values, "--compact-ids", "--vertex-data", data, "--rounds", "5", "--tolerance", "0"});
      Fail({"verify", "ppr", graph, values, "--compact-ids", "--source", "17", "--rounds", "5", "--tolerance", "0"}, 3,
           "the rank of vertex");
    }
  }
}

TEST_F(VertexDataCli, RecordsSayWhatWasGiven) {
  const std::string graph = Gaps(), data = Data("17 1\n41 1\n");
  const Json json = Json::parse(Succeed(Ppr(graph, {"--vertex-data", data, "--json", "-"})));
  EXPECT_EQ(json.at("vertex_data").at("teleport"), Path("data"));
  EXPECT_TRUE(json.at("parameters").at("source").is_null());
  EXPECT_TRUE(json.at("sources").empty());
  EXPECT_NE(Succeed(Ppr(graph, {"--vertex-data", data})).find("  data       teleport from " + Path("data")),
            std::string::npos);
  const Json plain = Json::parse(Succeed(Ppr(graph, {"--json", "-"})));
  EXPECT_TRUE(plain.at("vertex_data").empty());
  EXPECT_EQ(plain.at("parameters").at("source"), 40);
}

TEST_F(VertexDataCli, TrialsWithOtherSourcesPrepareAnew) {
  const Json json = Json::parse(Succeed(Ppr(Gaps(), {"--source", "random:3", "--trials", "4", "--verify", "--json", "-"})));
  EXPECT_EQ(json.at("sources").size(), 4u);
  EXPECT_EQ(json.at("verification").at("passed"), true);
}

TEST_F(VertexDataCli, NumbersThatDoNotFitAreRefusedWithTheirLine) {
  const std::string graph = Gaps();
  const auto refused = [&](const std::string& data, const std::string& says) {
    for (const char* devices : {"host:1", "host:2"})
      Fail(Ppr(graph, {"--vertex-data", data, "--devices", devices}), 2, says);
  };
  refused(Data("17 abc\n"), "data:1: vertex 17 has the value 'abc', which is not of type float");
  refused(Data("17 1\n18 1e300\n"), "data:2: vertex 18 has the value '1e300', which is not of type float");
  refused(Data("17 nan\n"), "the teleport vector has nan at vertex 17");
  refused(Data("18 inf\n"), "the teleport vector has inf at vertex 18");
  refused(Data("40 -0.5\n"), "the teleport vector has -0.5 at vertex 40");
  refused(Data("17 0\n"), "the teleport vector is 0 at all vertices: walks begin nowhere");
  refused(Data(""), "walks begin nowhere");
  refused(Data("0 1\n"), "data:1: vertex id 0 is not one of the graph's, which go from 17 to 41 with gaps");
  refused(Data("17 1\n17 2\n"), "data:2: vertex 17 has a value already");
  refused(Data("1\n2\n3\n"), "data:3: ends with 3 of 4 vertices; the first without a value is 41");
  refused(Data("1\n2\n3\n4\n5\n"), "data:5: there are more values than the graph has vertices, 4");
  refused(Data("17 1\n5\n"), "data:2: one number where the lines before have an id and a value");
  refused(Data("5\n17 1\n"), "data:2: a second number where the lines before have one");
  refused(Data("17 1 1\n"), "data:1: '1' follows where the line should end");
  refused(Data("{\"17\": 1}"), "data: is JSON");
  refused(Npy<float>("<f4", {1, 2, 3}), "data.npy: holds 3 values for a graph of 4 vertices");
  refused(Npy<double>("<f8", {1, 2, 1e300, 4}), "data.npy: entry 2 is 1e+300, which is not of type float");
}

TEST_F(VertexDataCli, NumbersThatBecomeZeroAreWarnedOf) {
  const std::string graph = Gaps();
  const auto warned = [&](const std::string& data, const std::string& says) {
    const Outcome outcome = Chatty(Ppr(graph, {"--vertex-data", data}));
    SCOPED_TRACE(outcome.err);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one line";
    EXPECT_NE(outcome.err.find(says), std::string::npos) << says;
  };
  const std::string zero = " is too small for 32-bit floating point and becomes 0";
  warned(Data("# some\n17 1\n40 1e-60\n"), "data:3: vertex 40 has the value '1e-60', which" + zero + "\n");
  warned(Data("17 1\n18 -1e-320\n40 1e-400\n41 1e-46\n"),
         "data:2: vertex 18 has the value '-1e-320', which" + zero + ", as do 2 more of the file\n");
  warned(Data("1\n1e-60\n1\n1\n"), "data:2: vertex 18 has the value '1e-60', which" + zero + "\n");
  warned(Npy<double>("<f8", {1, 2, 1e-60, 1e-61}),
         "data.npy: entry 2 is 1e-60, which" + zero + ", as do 1 more of the file\n");
  Succeed(Ppr(graph, {"--vertex-data", Data("17 1\n18 0e-60\n40 1e-40\n")}));  // which float has
}

TEST_F(VertexDataCli, NamesAreCheckedBeforeTheGraphIsLoaded) {
  const std::string absent = Path("absent.el"), data = Data("17 1\n");
  const auto refused = [&](const std::string& program, const Arguments& more, const std::string& says) {
    Fail(Join({"run", program, absent}, more), 2, says);
    Fail(Join({"verify", program, absent, absent}, more), 2, says);
  };
  refused("ppr", {"--vertex-data", "teleport"}, "--vertex-data teleport: write NAME=FILE");
  refused("ppr", {"--vertex-data", "teleport="}, "write NAME=FILE");
  refused("ppr", {"--vertex-data", "=x"}, "write NAME=FILE");
  refused("ppr", {"--vertex-data", "teleport=-"}, "data are read from a file; name one");
  refused("ppr", {"--vertex-data", "teleport=" + Path("none")}, "cannot be opened");
  refused("ppr", {"--vertex-data", "seed=" + Path("data")},
          "program 'personalised_pagerank' takes no such array; it takes teleport");
  refused("bfs", {"--vertex-data", data}, "program 'bfs' takes no such array; it takes none");
  refused("cc", {"--vertex-data", data}, "program 'cc' takes no such array; it takes none");
  refused("ppr", {"--vertex-data", data, "--vertex-data", data}, "'teleport' is given twice");
  refused("ppr", {"--vertex-data", data, "--source", "17"}, "parameter 'source' has no meaning beside it");
  refused("ppr", {"--vertex-data", data, "--set", "sources=3"}, "parameter 'sources' has no meaning beside it");
  Fail({"run", "ppr", Gaps(), "--vertex-data", data, "--output", Path("data")}, 2, "are the same file");
}

TEST_F(VertexDataCli, IsListedAndCompleted) {
  const std::string text = Succeed({"programs", "--only", "ppr"});
  EXPECT_NE(text.find("--vertex-data teleport=FILE  how often walks begin"), std::string::npos) << text;
  EXPECT_NE(text.find("(float, optional; vertices may be left out; in place of source, sources, seed)"), std::string::npos);
  const Json json = Json::parse(Succeed({"programs", "--only", "ppr", "--json"}));
  const Json& data = json.at("programs")[0].at("vertex_data")[0];
  EXPECT_EQ(data.at("name"), "teleport");
  EXPECT_EQ(data.at("type"), "float");
  EXPECT_EQ(data.at("required"), false);
  EXPECT_NE(Succeed({"__complete", "run", "ppr", "x.el", "--vertex-data", ""}).find("teleport="), std::string::npos);
  EXPECT_NE(Succeed({"run", "--help"}).find("--vertex-data NAME=FILE"), std::string::npos);
}

}  // namespace
}  // namespace chatty::cli::test
