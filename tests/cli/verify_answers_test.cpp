// `chatty verify`: right answers, wrong ones, and what is no answer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

TEST_F(CliTest, VerifyTellsRightFromWrong) {
  const std::string graph = Small();
  const std::string right = Write("right.txt", "# another tool's, in any order\n5 inf\n4 2\n3 1\n2 1\n1 0\n");
  const std::string wrong = Write("wrong.txt", "1 0\n2 1\n3 2\n4 3\n5 infinity\n");
  EXPECT_TRUE(Succeed({"verify", "bfs", graph, right, "--source", "1"}).starts_with("verified: "));
  Fail({"verify", "bfs", graph, wrong, "--source", "1"}, 3, "verification failed");
  Fail({"verify", "bfs", graph, right, "--source", "2"}, 3, "verification failed");
  const Json json = Json::parse(Succeed({"verify", "bfs", graph, right, "--json", "-"}));
  EXPECT_EQ(json.at("verification").at("passed"), true);
  EXPECT_EQ(json.at("parameters").at("source"), 1);
  Succeed({"verify", "cc", graph, Write("cc.txt", "1 1\n2 1\n3 1\n4 1\n5 5\n")});
  Fail({"verify", "cc", graph, Write("cc.txt", "1 1\n2 1\n3 1\n4 1\n5 1\n")}, 3, "verification failed");
}

TEST_F(CliTest, VerifyRefusesWhatIsNoAnswer) {
  const std::string graph = Small();
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 1\n3 1\n4 2\n")}, 2, "the first without a value is 5");
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 1\n3 1\n4 2\n6 2\n")}, 2, "vertex id 6");
  Fail({"verify", "bfs", graph, Write("v.txt", "1 0\n2 one\n")}, 2, "v.txt:2");
  Fail({"verify", "bfs", graph, Path("absent.txt")}, 2, "absent.txt");
  Fail({"verify", "bfs", graph, graph, "--source", "random:1"}, 2, "name the vertex");
}

TEST_F(CliTest, VerifyTakesNumPysOwnTypes) {
  const std::string graph = Small();
  const auto npy = [&]<class T>(const std::string& type, const std::vector<T>& values) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, values.size());
    header.resize(118, ' ');
    header.back() = '\n';
    std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return Write("values.npy", bytes);
  };
  using Longs = std::vector<std::int64_t>;
  const Arguments levels{"--source", "1"}, parents{"--source", "1", "--value", "parent"};
  const auto verify = [&](const std::string& program, const std::string& values, const Arguments& more) {
    return Join({"verify", program, graph, values}, more);
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Succeed(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, -1}), levels));
  Succeed(verify("bfs", npy("|u1", std::vector<std::uint8_t>{0, 1, 1, 2, 255}), levels));
  Succeed(verify("bfs", npy("<i8", Longs{1, 1, 1, 3, -1}), parents));
  Succeed(verify("bfs", npy("|i1", std::vector<std::int8_t>{1, 1, 1, 3, -1}), parents));
  Succeed(verify("bfs", npy("<u8", std::vector<std::uint64_t>{1, 1, 1, 3, ~std::uint64_t{0}}), parents));
  Succeed(verify("cc", npy("<u2", std::vector<std::uint16_t>{1, 1, 1, 1, 5}), {}));
  Succeed(verify("sssp", npy("<i8", Longs{0, 1, 2, 9, -1}), levels));
  Succeed(verify("sssp", npy("<f8", std::vector<double>{0, 1, 2, 9, kNone}), levels));
  Succeed(Join(verify("sssp", npy("<f8", std::vector<double>{0, 1, 2, 9, kNone}), levels), {"--weights", "float"}));
  Succeed({"run", "pagerank", graph, "--output", Path("ranks.txt")});
  std::vector<double> ranks;
  std::ifstream file(folder_ / "ranks.txt");
  for (double id, rank; file >> id >> rank;) ranks.push_back(rank);
  ASSERT_EQ(ranks.size(), 5);
  Succeed({"verify", "pagerank", graph, npy("<f8", ranks)});

  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 3, -1}), levels), 3, "verification failed");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, 4294967296}), levels), 3, "entry 4 is 4294967296");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2, -7}), levels), 3, "entry 4 is -7");
  for (const std::int64_t parent : {0, 6, -2}) {
    Fail(verify("bfs", npy("<i8", Longs{1, 1, 1, parent, -1}), parents), 3, "which is no vertex");
  }
  Succeed(verify("cc", npy("<i8", Longs{-4, -4, -4, -4, 6}), {}));  // components may be called anything
  Fail(verify("cc", npy("<i8", Longs{1, 1, 1, 7, 6}), {}), 3, "verification failed");
  Fail(verify("bfs", npy("<i8", Longs{0, 1, 1, 2}), levels), 2, "holds 4 values");
  Fail(verify("bfs", npy(">i8", Longs{0, 1, 1, 2, -1}), levels), 2, "'>i8'");
}

TEST_F(CliTest, VerifyReadsAnAnswerFromAPipe) {
  for (const std::string name : {"levels.txt", "levels.npy", "levels.json"}) {
    Succeed({"run", "bfs", Small(), "--source", "1", "--output", Path(name)});
    ASSERT_EQ(::mkfifo((Path(name) + ".pipe").c_str(), 0600), 0);
    const std::string answer = ReadAll(Path(name));
    std::thread writer([&] { std::ofstream(Path(name) + ".pipe", std::ios::binary) << answer; });
    Succeed({"verify", "bfs", Small(), Path(name) + ".pipe", "--source", "1"});
    writer.join();
  }
}

TEST_F(CliTest, VerifyTellsWrongNumbersFromBrokenText) {
  const std::string graph = Small();
  const auto levels = [&](const std::string& last) {
    return Arguments{"verify", "bfs", graph, Write("v.txt", "1 0\n2 1.0\n3 1\n4 2\n5 " + last + "\n"), "--source", "1"};
  };
  const auto parents = [&](const std::string& last) {
    return Arguments{"verify",   "bfs", graph,     Write("v.txt", "1 1\n2 1\n3 1\n4 3\n5 " + last + "\n"),
                     "--source", "1",   "--value", "parent"};
  };
  for (const char* unreached : {"-1", "inf", "infinity", "-1.0"}) Succeed(levels(unreached));
  Succeed(parents("-1"));
  for (const char* wrong : {"-2", "4294967296", "4294967294", "99999999999999999999999", "0.5", "3"}) {
    Fail(levels(wrong), 3, "verification failed");
  }
  for (const char* wrong : {"0", "6", "-2", "99999", "4294967296"}) Fail(parents(wrong), 3, "verification failed");
  for (const char* other : {"0", "6", "-2", "4294967296"}) {  // components may be called anything
    Succeed({"verify", "cc", graph, Write("v.txt", fmt::format("1 1\n2 1\n3 1\n4 1\n5 {}\n", other))});
    Fail({"verify", "cc", graph, Write("v.txt", fmt::format("1 1\n2 1\n3 1\n4 {}\n5 9\n", other))}, 3,
         "verification failed");
  }
  for (const char* broken : {"x", "1x", "nan", ""}) Fail(levels(broken), 2, "v.txt:5");
  const Outcome outcome = Chatty(Join(levels("-2"), {"--json", "-"}));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(Json::parse(outcome.out).at("verification").at("passed"), false);
}

TEST_F(CliTest, EachProgramsOwnAnswersPassTheVerifier) {
  const std::string graph = Path("kron.mtx");
  Succeed({"generate", "kron", "8", "--weights", "1:9", "-o", graph});
  for (const std::string extension : {".txt", ".npy"}) {
    for (const std::string ids : {"file", "zero"}) {
      for (const Arguments& program : std::vector<Arguments>{{"bfs"},
                                                             {"bfs", "--value", "parent"},
                                                             {"sssp"},
                                                             {"cc"},
                                                             {"label_propagation"},
                                                             {"pagerank_push"},
                                                             {"triangles"},
                                                             {"bc"},
                                                             {"bc", "--set", "sources=3"}}) {
        const std::string values = Path("values" + extension);
        Succeed(Join({"run", program[0], graph, "--ids", ids, "--verify", "--output", values}, Options(program)));
        Succeed(Join({"verify", program[0], graph, values, "--ids", ids}, Options(program)));
      }
    }
  }
}

TEST_F(CliTest, NpyHoldsTheNumbersOfTheText) {
  const std::string npy = Path("parents.npy");
  Succeed({"run", "bfs", Small(), "--source", "1", "--value", "parent", "--output", npy});
  const std::string bytes = ReadAll(npy);
  ASSERT_GT(bytes.size(), 5 * sizeof(std::int64_t));
  EXPECT_NE(bytes.find("'<i8'"), std::string::npos);
  std::vector<std::int64_t> parents(5);
  std::memcpy(parents.data(), bytes.data() + bytes.size() - 5 * sizeof(std::int64_t), 5 * sizeof(std::int64_t));
  EXPECT_EQ(parents, (std::vector<std::int64_t>{1, 1, 1, 3, -1}));
}

}  // namespace
}  // namespace chatty::cli::test
