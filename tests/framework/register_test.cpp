// Parameters from text, for programs of any kind.
#include "chatty/framework/register.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace chatty::test {
namespace {

/// As far as parameters go, a program.
struct Ball {
  float radius = std::numeric_limits<float>::infinity();  // that of all there is
  double share = 0.5;
  std::uint32_t rounds = 3;
  static constexpr auto kParameters =
      std::make_tuple(Parameter{"radius", &Ball::radius, "how far it reaches"}, Parameter{"share", &Ball::share, "of what"},
                      Parameter{"rounds", &Ball::rounds, "how many"});
};

TEST(Parameters, AreFiniteUnlessTheirPresetIsNot) {
  Ball ball;
  const auto set = [&](std::string_view name, std::string_view text) { registration::SetParameter(&ball, name, text); };
  for (const std::string text : {"inf", "-inf", "infinity", "nan", "-nan", "1e999"}) {
    SCOPED_TRACE(text);
    try {
      set("share", text);
      ADD_FAILURE() << "not refused";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("parameter share: '" + text + "'"), std::string::npos) << error.what();
    }
    EXPECT_EQ(ball.share, 0.5) << "a refused value leaves what was";
  }
  set("radius", "2.5");
  EXPECT_EQ(ball.radius, 2.5f);
  set("radius", "inf");
  EXPECT_TRUE(std::isinf(ball.radius)) << "as it was by itself";
  for (const std::string text : {"0", "-0.0", "-3", "1e300"}) {
    set("share", text);
    EXPECT_EQ(ball.share, std::stod(text)) << "whether that makes sense, the program knows";
  }
  set("rounds", "7");
  EXPECT_EQ(ball.rounds, 7u);
  EXPECT_THROW(set("rounds", "inf"), UsageError);
}

}  // namespace
}  // namespace chatty::test
