#include "chatty/core/suggestion.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace chatty {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"bfs",  "sssp",      "pagerank",  "cc",
                                                    "cdlp", "triangles", "--devices", "auto"};

TEST(NearestName, FindsWhatOneSlipAwayWasMeant) {
  EXPECT_EQ(NearestName("bsf", kNames), "bfs") << "two swapped";
  EXPECT_EQ(NearestName("sss", kNames), "sssp") << "one left out";
  EXPECT_EQ(NearestName("pagerrank", kNames), "pagerank") << "one too many";
  EXPECT_EQ(NearestName("cdip", kNames), "cdlp") << "another";
  EXPECT_EQ(NearestName("PageRank", kNames), "pagerank") << "case";
  EXPECT_EQ(NearestName("--devces", kNames), "--devices");
  EXPECT_EQ(NearestName("triangls", kNames), "triangles");
}

TEST(NearestName, FindsTheOnlyOneThatBeginsSo) {
  EXPECT_EQ(NearestName("tri", kNames), "triangles");
  EXPECT_EQ(NearestName("page", kNames), "pagerank");
  constexpr std::array<std::string_view, 2> kTwo = {"edge-balanced", "edge-factor"};
  EXPECT_EQ(NearestName("edge", kTwo), "") << "it may be either";
}

TEST(NearestName, GuessesNothingFarOff) {
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("quicksort", kNames), "");
  EXPECT_EQ(NearestName("x", kNames), "");
  EXPECT_EQ(NearestName("xy", kNames), "") << "all letters are others";
  EXPECT_EQ(NearestName(std::string(100000, 'b'), kNames), "") << "whatever its length";
  EXPECT_EQ(NearestName("bfs", {}), "");
}

TEST(DidYouMean, StandsBehindTheName) {
  EXPECT_EQ(DidYouMean("bsf", kNames), " (did you mean 'bfs'?)");
  EXPECT_EQ(DidYouMean("quicksort", kNames), "");
  EXPECT_EQ(DidYouMean("dampign", std::vector<std::string>{"damping", "rounds"}), " (did you mean 'damping'?)");
}

}  // namespace
}  // namespace chatty
