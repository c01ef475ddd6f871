#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/io/results.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;

class VertexNumbersTest : public test::WithFiles {
 protected:
  template <class T>
  std::vector<T> Read(const std::string& text, bool needed = true) {
    const Array<T> values = ReadVertexNumbers<T>(Write("numbers", text), 3, 1, needed).values;
    return {values.begin(), values.end()};
  }
  template <class T>
  std::string Fault(const std::string& text, bool needed = false) {
    const std::string path = Write("numbers", text);
    const std::string error = ErrorOf<InputError>([&] { ReadVertexNumbers<T>(path, 3, 1, needed); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
};

TEST_F(VertexNumbersTest, LinesAreOfIdsOrInTheirOrder) {
  EXPECT_EQ(Read<std::int32_t>("3 -7\n1,5\n# x\n2\t0\n"), (std::vector<std::int32_t>{5, 0, -7}));
  EXPECT_EQ(Read<std::int32_t>("5\n0\n-7\n"), (std::vector<std::int32_t>{5, 0, -7}));
  EXPECT_EQ(Read<std::uint64_t>("18446744073709551615\r\n0\r\n% x\r\n1"), (std::vector<std::uint64_t>{~0ull, 0, 1}));
  EXPECT_EQ(Read<std::int64_t>("1.0\n-2e3\n0\n"), (std::vector<std::int64_t>{1, -2000, 0}));
  EXPECT_EQ(Read<float>("0.5\ninf\n-inf\n"), (std::vector<float>{0.5f, kInfinity<float>, -kInfinity<float>}));
  EXPECT_TRUE(std::isnan(Read<double>("nan\n1\n2\n")[0]));
  EXPECT_EQ(Read<std::int32_t>(Gzip("1\n2\n3\n")), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST_F(VertexNumbersTest, VerticesMayBeMissingWhereTheyAreNotNeeded) {
  const auto some = ReadVertexNumbers<std::int32_t>(Write("numbers", "3 9\n"), 3, 1, /*needed=*/false);
  EXPECT_EQ(some.values[2], 9);
  EXPECT_EQ((std::vector<bool>(some.present.begin(), some.present.end())), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(some.values[0], 0);
  EXPECT_TRUE(ReadVertexNumbers<float>(Write("numbers", "1 1\n2 1\n3 1\n"), 3, 1, false).present.empty());
  EXPECT_EQ(ReadVertexNumbers<float>(Write("numbers", ""), 3, 1, false).present.size(), 3u);
  EXPECT_EQ(Fault<float>("3 9\n", /*needed=*/true), ":1: ends with 1 of 3 vertices; the first without a value is 1");
  EXPECT_EQ(Fault<float>("", /*needed=*/true), ": ends with 0 of 3 vertices; the first without a value is 1");
  EXPECT_EQ(Fault<float>("1\n2\n"), ":2: ends with 2 of 3 vertices; the first without a value is 3");
}

TEST_F(VertexNumbersTest, WhatIsNoSuchNumberIsRefused) {
  EXPECT_EQ(Fault<std::int32_t>("1 3.5\n"), ":1: vertex 1 has the value '3.5', which is not of type int32");
  EXPECT_EQ(Fault<std::int32_t>("1 2147483648\n"), ":1: vertex 1 has the value '2147483648', which is not of type int32");
  EXPECT_EQ(Fault<std::uint32_t>("7\n-1\n"), ":2: vertex 2 has the value '-1', which is not of type uint32");
  EXPECT_EQ(Fault<std::uint64_t>("1 abc\n"), ":1: vertex 1 has the value 'abc', which is not of type uint64");
  for (const char* const word : {"inf", "Infinity", "+inf", "nan", "-inf"}) {
    EXPECT_EQ(Fault<std::int64_t>(std::string("1 ") + word + "\n"),
              std::string(":1: vertex 1 has the value '") + word + "', which is not of type int64");
  }
  EXPECT_EQ(Fault<float>("1 1e39\n"), ":1: vertex 1 has the value '1e39', which is not of type float");
  EXPECT_EQ(Fault<double>("1 0x10\n"), ":1: vertex 1 has the value '0x10', which is not of type double");
}

TEST_F(VertexNumbersTest, LinesThatAreNoneAreRefused) {
  EXPECT_EQ(Fault<float>("4 1\n"), ":1: vertex id 4 is not one of the graph's, which go from 1 to 3");
  EXPECT_EQ(Fault<float>("1 1\n1 1\n"), ":2: vertex 1 has a value already");
  EXPECT_EQ(Fault<float>("1\n2\n3\n4\n"), ":4: there are more values than the graph has vertices, 3");
  EXPECT_EQ(Fault<float>("1 1\n2\n"), ":2: one number where the lines before have an id and a value");
  EXPECT_EQ(Fault<float>("1\n2 2\n"), ":2: a second number where the lines before have one");
  EXPECT_EQ(Fault<float>("x 1\n"), ":1: 'x' is not a vertex id; a line has an id and a value, or a value alone");
  EXPECT_EQ(Fault<float>("[1, 2, 3]"), ": is JSON; vertex data are lines \"id value\", a value a line, or a NumPy array");
}

TEST_F(VertexNumbersTest, ArraysAreConvertedWhereNothingIsLost) {
  const auto npy = [&]<class T>(const std::vector<T>& values) {
    const std::string path = Path("numbers.npy");
    WriteResultNpy(path, std::span<const T>(values));
    return path;
  };
  const auto read = [&]<class T>(const std::string& path, T) {
    const Array<T> values = ReadVertexNumbers<T>(path, 3, 1, true).values;
    return std::vector<T>(values.begin(), values.end());
  };
  EXPECT_EQ(read(npy(std::vector<std::int64_t>{-1, 2, 3}), std::int32_t{}), (std::vector<std::int32_t>{-1, 2, 3}));
  EXPECT_EQ(read(npy(std::vector<double>{1, 0.5, kInfinity<double>}), float{}),
            (std::vector<float>{1, 0.5f, kInfinity<float>}));
  // What stands for unreached among results is a number like any other.
  EXPECT_EQ(read(npy(std::vector<std::uint32_t>{~0u, 2, 3}), std::uint64_t{}), (std::vector<std::uint64_t>{~0u, 2, 3}));
  const auto fault = [&]<class T>(const std::string& path, T) {
    return ErrorOf<InputError>([&] { ReadVertexNumbers<T>(path, 3, 1, true); }).substr(path.size());
  };
  EXPECT_EQ(fault(npy(std::vector<double>{1, 3.5, 2}), std::int32_t{}), ": entry 1 is 3.5, which is not of type int32");
  EXPECT_EQ(fault(npy(std::vector<float>{1, 1, kInfinity<float>}), std::uint32_t{}),
            ": entry 2 is inf, which is not of type uint32");
  EXPECT_EQ(fault(npy(std::vector<std::int32_t>{-1, 1, 1}), std::uint64_t{}),
            ": entry 0 is -1, which is not of type uint64");
  EXPECT_EQ(fault(npy(std::vector<std::int32_t>{1, 1}), std::int32_t{}), ": holds 2 values for a graph of 3 vertices");
}

TEST_F(VertexNumbersTest, IdsMayLeaveGaps) {
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(4, 0);
  Graph graph(std::move(rows), true);
  graph.set_ids(Array<std::uint64_t>{7, 100, std::uint64_t{1} << 40});
  const auto numbers = ReadVertexNumbers<float>(Write("numbers", "1099511627776 3\n7 1\n100 2\n"), 3, graph, true);
  EXPECT_EQ(numbers.values[0], 1);
  EXPECT_EQ(numbers.values[2], 3);
  EXPECT_EQ(ReadVertexNumbers<float>(Write("numbers", "1\n2\n3\n"), 3, graph, true).values[1], 2);
}

}  // namespace
}  // namespace chatty
