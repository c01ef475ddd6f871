// No verifier of a prebuilt program accepts an answer that is wrong in one entry.
#include "chatty/programs/checks.h"
#include "mutations.h"

namespace chatty::test {
namespace {

TEST(Verifiers, AcceptNoAnswerThatIsWrongInOneEntry) { SpoilEveryAnswer(); }

TEST(IsWithin, EndsAtTheBoundToTheBit) {
  constexpr double kBound = 0.25, kInfinite = kInfinity<double>, kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double right : {4.0, -4.0}) {
    EXPECT_TRUE(IsWithin(right + 1, right, kBound));
    EXPECT_TRUE(IsWithin(right - 1, right, kBound));
    EXPECT_FALSE(IsWithin(std::nextafter(right + 1, kInfinite), right, kBound));
    EXPECT_FALSE(IsWithin(std::nextafter(right - 1, -kInfinite), right, kBound));
  }
  EXPECT_TRUE(IsWithin(-0.0, 0.0, kBound));
  EXPECT_FALSE(IsWithin(std::numeric_limits<double>::denorm_min(), 0.0, kBound));
  EXPECT_TRUE(IsWithin(kInfinite, kInfinite, kBound));
  for (const double right : {0.0, 1.0, 1e308, -kInfinite}) EXPECT_FALSE(IsWithin(kInfinite, right, kBound));
  for (const double given : {0.0, 1e308, -kInfinite, kNan}) EXPECT_FALSE(IsWithin(given, kInfinite, kBound));
  for (const double given : {0.0, kInfinite, kNan}) EXPECT_FALSE(IsWithin(given, kNan, kBound));
  for (const double right : {0.0, 1.0, kInfinite}) EXPECT_FALSE(IsWithin(kNan, right, kBound));
}

}  // namespace
}  // namespace chatty::test
