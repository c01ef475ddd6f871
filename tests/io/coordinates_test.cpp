#include "chatty/io/coordinates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "chatty/core/error.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::Copy;
using test::ErrorOf;
using test::Gzip;
using test::Zstd;

class CoordinatesTest : public test::WithFiles {
 protected:
  std::string Fault(std::string_view text) const {
    const std::string path = Write("g.co", text);
    const std::string error = ErrorOf<InputError>([&] { ReadCoordinates(path); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
};

TEST_F(CoordinatesTest, EachVertexHasItsOwnWhateverTheOrder) {
  const std::string text = "c a comment\np aux sp co 3\nv 2 -73530767 41085396\nc\nv 3 1.5 -2e3\r\nv 1 0 7";
  for (const std::string& content : {text, Gzip(text), Zstd(text), "\xef\xbb\xbf" + text}) {
    const Coordinates read = ReadCoordinates(Write("g.co", content));
    EXPECT_EQ(Copy(read.x), (std::vector<double>{0, -73530767, 1.5}));
    EXPECT_EQ(Copy(read.y), (std::vector<double>{7, 41085396, -2000}));
  }
  EXPECT_EQ(ReadCoordinates(Write("g.co", "p aux sp co 0\n")).x.size(), 0u);
}

TEST_F(CoordinatesTest, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(Fault("p aux sp co 2\nv 1 0 0\nv 1 0 0\n"), ":3: vertex 1 has a position already");
  EXPECT_EQ(Fault("p aux sp co 2\nv 1 0 0\nv 3 0 0\n"), ":3: id 3 exceeds the 2 vertices of the header (line 1)");
  EXPECT_EQ(Fault("p aux sp co 2\nv 0 0 0\nv 1 0 0\n"), ":2: id 0 in a file that numbers from 1");
  EXPECT_EQ(Fault("p aux sp co 1\nv 1 0\n"), ":2: the line ends where a y belongs");
  EXPECT_EQ(Fault("p aux sp co 1\nv 1 0 nan\n"), ":2: 'nan' is not a coordinate: expected a number");
  EXPECT_EQ(Fault("p aux sp co 1\nv 1 0 1e999\n"), ":2: '1e999' is not a coordinate: expected a number");
  EXPECT_EQ(Fault("p aux sp co 1\nv 1 0 0 0\n"), ":2: '0' follows where the line should end");
  EXPECT_EQ(Fault("p aux sp co 1\na 1 0 0\n"), ":2: 'a' is not a line of a .co file; lines begin with c, p or v");
  EXPECT_EQ(Fault("p aux sp co 1\np aux sp co 1\n"), ":2: a second \"p\" line; the first is line 1");
  EXPECT_NE(Fault("p sp 2 1\na 1 2 3\n").find(":1: 'p sp 2 1' should be the line"), std::string::npos);
  EXPECT_NE(Fault("v 1 0 0\n").find("comes before the line"), std::string::npos);
  EXPECT_NE(Fault("p aux sp co 1000000000000\nv 1 0 0\n").find(":1: the header promises 1000000000000"), std::string::npos);
  EXPECT_NE(Fault(Gzip("p aux sp co 1000000000000\nv 1 0 0\n")).find(":1: the header promises 1000000000000"),
            std::string::npos);
  EXPECT_NE(Fault("").find("the file ends before"), std::string::npos);
  const std::string good = "p aux sp co 3\nv 1 10 20\nv 2 30 40\nv 3 50 60\n";
  for (std::size_t kept = 0; kept + 3 < good.size(); ++kept) EXPECT_FALSE(Fault(good.substr(0, kept)).empty()) << kept;
  const std::string packed = Gzip(good);
  for (std::size_t kept = 1; kept < packed.size(); ++kept) EXPECT_FALSE(Fault(packed.substr(0, kept)).empty()) << kept;
}

TEST_F(CoordinatesTest, AndorraLiesWhereItDoes) {
  const char* const set = std::getenv("CHATTY_DATA");
  const std::filesystem::path file =
      std::filesystem::path(set != nullptr ? set : CHATTY_SOURCE_DIR "/../shared/data") / "osm-andorra.co.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there; set CHATTY_DATA";
  const Coordinates read = ReadCoordinates(file.string());
  ASSERT_EQ(read.x.size(), 26755u);
  EXPECT_EQ(read.x[0], 1552724);
  EXPECT_EQ(read.y[0], 42514213);
  const auto [west, east] = std::minmax_element(read.x.begin(), read.x.end());
  const auto [south, north] = std::minmax_element(read.y.begin(), read.y.end());
  EXPECT_GT(*west, 1.3e6);
  EXPECT_LT(*east, 1.9e6);
  EXPECT_GT(*south, 42.4e6);
  EXPECT_LT(*north, 42.7e6);
}

}  // namespace
}  // namespace chatty
