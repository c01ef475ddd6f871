#include "chatty/core/logging.h"

#include <gtest/gtest.h>

#include <string>

#include "chatty/core/error.h"

namespace chatty {
namespace {

TEST(Logging, WritesToStderrFromTheLevelUp) {
  SetLogLevel("warning");
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  Log().info("not shown");
  Log().warn("{} vertices", 42);
  Log().flush();
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(shown.find("not shown"), std::string::npos) << shown;
  EXPECT_NE(shown.find("42 vertices"), std::string::npos) << shown;
  EXPECT_NE(shown.find("warning"), std::string::npos) << shown;
  SetLogLevel("info");
}

TEST(Logging, OffIsSilent) {
  SetLogLevel("off");
  testing::internal::CaptureStderr();
  Log().critical("not shown");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  SetLogLevel("info");
}

TEST(Logging, UnknownLevelNamesTheChoices) {
  try {
    SetLogLevel("loud");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("loud"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("debug"), std::string::npos);
  }
}

}  // namespace
}  // namespace chatty
